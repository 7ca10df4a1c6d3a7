//! `docs/matrix.md`: the tables as people read them.

use super::{Factor, Instruction, of};
use expect_test::expect_file;
use splitbar_target::Target;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEAD: &str = "\
# Matrix instructions

This table lists the instructions for OpCooperativeMatrixMulAddKHR, by target, lanes of a wave and element types. A matrix is multiplied tile by tile if its
sides are powers of two and these tiles divide it. A matrix of workgroup scope is divided into blocks of rows, one for each subgroup. Other sizes and
types, saturating accumulation, and targets without a row use subgroup shuffles, which are correct but slow.

Sums of 16-bit floats are accumulated in 32 bits and rounded. A and B may each be signed or unsigned bytes, or 8-bit floats of either format. MFMA has only signed bytes. So unsigned
bytes are reduced by 128, and a product with ones corrects the result. `cargo test -p splitbar-tests --test suite -- matrices/` runs each instruction on the simulator.
`cargo xtask bless matrix` writes this page.

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
        _ => format!("`{name}` and variants"),
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
