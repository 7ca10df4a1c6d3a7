//! `docs/matrix.md`: the tables as people read them.

use super::{Factor, Instruction, of};
use expect_test::expect_file;
use splitbar_target::Target;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEAD: &str = "# Matrix instructions

What OpCooperativeMatrixMulAddKHR becomes, by target, lanes of a wave and what the matrices are made of. A matrix of any size that these tiles divide, and whose
sides are powers of two, is multiplied tile by tile, a matrix of workgroup scope in blocks of rows, one for each subgroup. Everything else (other sizes and
types, saturating accumulation, targets that are not listed) is subgroup shuffles: right, and slow.

Sums of 16-bit floats are kept in 32 bits and rounded. Bytes may be signed or not, and 8-bit floats of either format, each factor by itself; MFMA, which has signed ones only, gets
unsigned ones less 128, and a product with ones makes up for it. `cargo test -p splitbar-tests --test suite -- matrices/` runs each on the simulator.
Written by `cargo xtask bless matrix`.

| GPUs | lanes | A and B | sum | rows x columns x depth | instruction |
|---|--:|---|---|--:|---|
";

impl Factor {
    /// Types of A and B, and of the sums that their products are added to.
    fn types(self) -> (&'static str, &'static str) {
        match self {
            Factor::F16 => ("f16", "f32, f16, bf16"),
            Factor::BF16 => ("bf16", "f32, f16, bf16"),
            Factor::F32 => ("f32", "f32"),
            Factor::F64 => ("f64", "f64"),
            Factor::F8 => ("e4m3, e5m2", "f32, f16, bf16"),
            Factor::I8 => ("i8, u8", "i32, u32"),
        }
    }
}

/// What LLVM calls it, without what all names begin with.
fn short(instruction: &Instruction) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in instruction.names {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let name = names.first().copied().unwrap_or_default();
    let name = name
        .trim_start_matches("llvm.amdgcn.")
        .trim_start_matches("llvm.nvvm.");
    match names.len() {
        0 | 1 => format!("`{name}`"),
        _ => format!("`{name}` and its like"),
    }
}

/// Targets that share a table, and the table.
type Shared = (Vec<&'static str>, &'static [Instruction]);

#[test]
fn the_list_of_matrix_instructions_is_fresh() {
    // By the first target that has them, those that share a table.
    let mut tables: BTreeMap<(usize, u32), Shared> = BTreeMap::new();
    for (number, target) in Target::all().iter().enumerate() {
        for wave in target.wave_sizes {
            let table = of(target, *wave);
            if table.is_empty() {
                continue;
            }
            let shared = tables
                .iter_mut()
                .find(|(key, value)| key.1 == *wave && std::ptr::eq(value.1, table));
            match shared {
                Some((_, (names, _))) => names.push(target.name),
                None => {
                    tables.insert((number, *wave), (vec![target.name], table));
                }
            }
        }
    }
    let mut text = HEAD.to_owned();
    for ((_, wave), (names, table)) in &tables {
        for i in *table {
            let (factors, sums) = i.factor.types();
            writeln!(
                text,
                "| {} | {wave} | {factors} | {sums} | {}x{}x{} | {} |",
                names.join(", "),
                i.rows,
                i.columns,
                i.depth,
                short(i)
            )
            .unwrap();
        }
    }
    expect_file!["../../../../../docs/matrix.md"].assert_eq(&text);
}
