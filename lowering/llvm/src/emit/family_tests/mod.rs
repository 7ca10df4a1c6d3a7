//! Tests of the instruction families: what they compute (kernels with constant operands, which LLVM
//! folds to the stored result), and that what they write selects on old and new targets of both
//! vendors (code generation would end the process otherwise).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::core_tests::lowered_at;
use crate::Optimization;
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use spirv::{
    AddressingModel, Capability, Decoration, ExecutionModel, GlslStd450Op as Glsl, GroupOperation,
    MemoryModel, OpenclStd100Op as Cl, StorageClass, Word,
};
use splitbar_passes::module::Module;
use splitbar_plan::backend::LoweredModule as _;

mod descriptors;
mod dots;
mod float8;
mod images;
mod prints;
mod program;
mod quotients;
mod rare;
mod samplers;
mod scalars;
mod selects;
mod tensors;

/// Old, middle and new targets of both vendors.
const TARGETS: [&str; 8] = [
    "gfx600", "gfx906", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_60", "sm_90",
];

/// A compute shader that stores words to a buffer.
struct Shader {
    b: Builder,
    void: Word,
    boolean: Word,
    u32: Word,
    i32: Word,
    u64: Word,
    f16: Word,
    f32: Word,
    f64: Word,
    glsl: Word,
    opencl: Word,
    out: Word,
    pointer: Word,
    stored: u32,
}

impl Shader {
    fn new() -> Shader {
        let mut b = Builder::new();
        b.set_version(1, 5);
        for capability in [
            Capability::Shader,
            Capability::Int64,
            Capability::Int16,
            Capability::Int8,
            Capability::Float16,
            Capability::Float64,
            Capability::GroupNonUniform,
            Capability::GroupNonUniformBallot,
            Capability::GroupNonUniformArithmetic,
            Capability::GroupNonUniformShuffle,
        ] {
            b.capability(capability);
        }
        let glsl = b.ext_inst_import("GLSL.std.450");
        let opencl = b.ext_inst_import("OpenCL.std");
        b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let void = b.type_void();
        let boolean = b.type_bool();
        let u32 = b.type_int(32, 0);
        let i32 = b.type_int(32, 1);
        let u64 = b.type_int(64, 0);
        let (f16, f32, f64) = (
            b.type_float(16, None),
            b.type_float(32, None),
            b.type_float(64, None),
        );
        let array = b.type_runtime_array(u32);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        let block = b.type_struct([array]);
        b.decorate(block, Decoration::Block, []);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        let block_pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
        let out = b.variable(block_pointer, None, StorageClass::StorageBuffer, None);
        b.decorate(out, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        b.decorate(out, Decoration::Binding, [Operand::LiteralBit32(0)]);
        let pointer = b.type_pointer(None, StorageClass::StorageBuffer, u32);
        let function_type = b.type_function(void, []);
        let main = b
            .begin_function(void, None, spirv::FunctionControl::NONE, function_type)
            .unwrap();
        b.entry_point(ExecutionModel::GLCompute, main, "main", [out]);
        b.execution_mode(main, spirv::ExecutionMode::LocalSize, [64, 1, 1]);
        b.begin_block(None).unwrap();
        Shader {
            b,
            void,
            boolean,
            u32,
            i32,
            u64,
            f16,
            f32,
            f64,
            glsl,
            opencl,
            out,
            pointer,
            stored: 0,
        }
    }

    fn u(&mut self, value: u32) -> Word {
        self.b.constant_bit32(self.u32, value)
    }

    fn f(&mut self, value: f32) -> Word {
        self.b.constant_bit32(self.f32, value.to_bits())
    }

    fn place(&mut self, index: u32) -> Word {
        let (zero, index) = (self.u(0), self.u(index));
        self.b
            .access_chain(self.pointer, None, self.out, [zero, index])
            .unwrap()
    }

    /// Stores a 32-bit word.
    fn store(&mut self, value: Word) {
        let place = self.place(self.stored);
        self.stored += 1;
        self.b.store(place, value, None, []).unwrap();
    }

    /// Stores the bits of a 32-bit number that is no `u32`.
    fn store_bits(&mut self, value: Word) {
        let word = self.b.bitcast(self.u32, None, value).unwrap();
        self.store(word);
    }

    /// Stores a Boolean as 0 or 1.
    fn store_bool(&mut self, value: Word) {
        let (one, zero) = (self.u(1), self.u(0));
        let word = self.b.select(self.u32, None, value, one, zero).unwrap();
        self.store(word);
    }

    /// A word that LLVM cannot know.
    fn load(&mut self) -> Word {
        let place = self.place(1000 + self.stored);
        self.b.load(self.u32, None, place, None, []).unwrap()
    }

    fn load_f(&mut self) -> Word {
        let word = self.load();
        self.b.bitcast(self.f32, None, word).unwrap()
    }

    fn ext(&mut self, ty: Word, op: Glsl, args: &[Word]) -> Word {
        let args: Vec<Operand> = args.iter().map(|id| Operand::IdRef(*id)).collect();
        self.b
            .ext_inst(ty, None, self.glsl, op as u32, args)
            .unwrap()
    }

    fn cl(&mut self, ty: Word, op: Cl, args: &[Word]) -> Word {
        let args: Vec<Operand> = args.iter().map(|id| Operand::IdRef(*id)).collect();
        self.b
            .ext_inst(ty, None, self.opencl, op as u32, args)
            .unwrap()
    }

    fn words(mut self) -> Vec<u32> {
        self.b.ret().unwrap();
        self.b.end_function().unwrap();
        let _ = self.void;
        self.b.module().assemble()
    }
}

/// Lowers the shader; `Err` with the codes and messages.
fn lowered(
    words: Vec<u32>,
    target: &str,
    optimization: Optimization,
) -> Result<crate::Lowered, String> {
    let module = Module::from_words(words).map_err(|d| d.to_string())?;
    lowered_at(&module, target, false, optimization).map_err(|d| d.to_string())
}

/// The words that the shader stores, in order, after LLVM has folded them.
fn folded(shader: Shader, target: &str) -> Vec<u32> {
    let count = shader.stored as usize;
    let ir = lowered(shader.words(), target, Optimization::O2)
        .unwrap()
        .ir();
    let mut words = vec![None; count];
    for line in ir
        .lines()
        .map(str::trim)
        .filter(|l| l.starts_with("store "))
    {
        read_store(line, &ir, &mut words);
    }
    words
        .into_iter()
        .enumerate()
        .map(|(i, w)| w.unwrap_or_else(|| panic!("word {i} was not folded:\n{ir}")))
        .collect()
}

/// The bits of a constant of type `i32` or `float`: `i32 -5`, `float 1.5`, `float f0x3F1C5889`.
fn constant(text: &str) -> Option<u32> {
    if let Some(number) = text.strip_prefix("i32 ") {
        return number.parse::<i64>().ok().map(|n| n as u32);
    }
    let number = text.strip_prefix("float ")?;
    match number.strip_prefix("f0x") {
        Some(bits) => u32::from_str_radix(bits, 16).ok(),
        None => number.parse::<f32>().ok().map(f32::to_bits),
    }
}

/// Reads one `store` of constants: scalars and vectors of `i32` or `float`, at the byte offset of
/// its address.
fn read_store(line: &str, ir: &str, words: &mut [Option<u32>]) {
    let Some((value, rest)) = line
        .trim_start_matches("store ")
        .split_once(", ptr addrspace(1) ")
    else {
        return;
    };
    let address = rest.split(',').next().unwrap_or("");
    let offset = if address.starts_with("%") {
        let definition = ir
            .lines()
            .find(|l| l.trim().starts_with(&format!("{address} = getelementptr")));
        definition
            .and_then(|d| {
                d.rsplit("i64 ")
                    .next()
                    .and_then(|n| n.trim().parse::<usize>().ok())
                    .or_else(|| d.rsplit("i32 ").next().and_then(|n| n.trim().parse().ok()))
            })
            .unwrap_or(0)
    } else {
        0
    };
    let (count, list) = match value.strip_prefix('<') {
        Some(vector) => {
            let (count, rest) = vector.split_once(" x ").unwrap();
            let (_, list) = rest.split_once("> ").unwrap();
            (count.parse().unwrap(), list.trim_matches(['<', '>']))
        }
        None => (1, value),
    };
    let splat = list
        .strip_prefix("splat (")
        .and_then(|l| l.strip_suffix(')'));
    let numbers: Vec<u32> = match splat {
        Some(splat) => constant(splat).map_or(vec![], |number| vec![number; count]),
        None if list == "zeroinitializer" => vec![0; count],
        None => list.split(", ").filter_map(constant).collect(),
    };
    for (i, number) in numbers.into_iter().enumerate() {
        if let Some(word) = words.get_mut(offset / 4 + i) {
            *word = Some(number);
        }
    }
}

#[test]
fn opencl_integer_functions() {
    let mut s = Shader::new();
    let mut expected = Vec::new();
    let cases: [(Cl, &[u32], u32); 22] = [
        (Cl::s_add_sat, &[0x7fff_ffff, 1], 0x7fff_ffff),
        (Cl::u_add_sat, &[u32::MAX, 1], u32::MAX),
        (Cl::s_sub_sat, &[0x8000_0000, 1], 0x8000_0000),
        (Cl::u_sub_sat, &[1, 2], 0),
        (Cl::s_hadd, &[u32::MAX, 2], 0),
        (Cl::u_hadd, &[u32::MAX, u32::MAX], u32::MAX),
        (Cl::s_rhadd, &[u32::MAX, 2], 1),
        (Cl::u_rhadd, &[u32::MAX, 0], 0x8000_0000),
        (Cl::s_abs, &[(-5i32) as u32], 5),
        (Cl::s_abs_diff, &[(-5i32) as u32, 3], 8),
        (Cl::u_abs_diff, &[3, 5], 2),
        (Cl::s_mul_hi, &[u32::MAX, 5], u32::MAX),
        (Cl::u_mul_hi, &[u32::MAX, 5], 4),
        (Cl::clz, &[1], 31),
        (Cl::ctz, &[0], 32),
        (Cl::popcount, &[0xf0f0], 8),
        (Cl::rotate, &[0x8000_0001, 1], 3),
        (Cl::s_mad_sat, &[0x7fff_ffff, 2, 1], 0x7fff_ffff),
        (Cl::u_mad_hi, &[0x8000_0000, 4, 7], 9),
        (Cl::s_clamp, &[9, 1, 5], 5),
        (Cl::bitselect, &[0x0f0f, 0xffff, 0x00ff], 0x0fff),
        (Cl::select, &[3, 4, 1], 4),
    ];
    for (op, args, result) in cases {
        let args: Vec<Word> = args.iter().map(|v| s.u(*v)).collect();
        let value = s.cl(s.u32, op, &args);
        s.store(value);
        expected.push(result);
    }
    // 64 bits take another way: the clamped sum of a product that does not fit, and one that does.
    let wide = s.u64;
    for (x, y, z, signed, result) in [
        (i64::MAX as u64, 2, 1, true, i64::MAX as u64),
        (i64::MIN as u64, 2, 1, true, i64::MIN as u64),
        ((-3i64) as u64, 5, 20, true, 5),
        (u64::MAX, 1, 1, false, u64::MAX),
        (3, 5, 20, false, 35),
    ] {
        let args = [
            s.b.constant_bit64(wide, x),
            s.b.constant_bit64(wide, y),
            s.b.constant_bit64(wide, z),
        ];
        let value = s.cl(
            wide,
            if signed { Cl::s_mad_sat } else { Cl::u_mad_sat },
            &args,
        );
        let low = s.b.u_convert(s.u32, None, value).unwrap();
        let shift = s.u(32);
        let high = s.b.shift_right_logical(wide, None, value, shift).unwrap();
        let high = s.b.u_convert(s.u32, None, high).unwrap();
        s.store(low);
        s.store(high);
        expected.extend([result as u32, (result >> 32) as u32]);
    }
    assert_eq!(folded(s, "gfx906"), expected);
}

/// A function of the library, where it is tried, and the host's function.
type Case = (Cl, f32, fn(f64) -> f64);

/// The library's functions, folded by LLVM after inlining: within a few units in the last place of
/// the host's.
#[test]
fn library_functions_are_precise() {
    let mut s = Shader::new();
    let mut expected: Vec<f32> = Vec::new();
    let cases: [Case; 12] = [
        (Cl::atan, 0.7, f64::atan),
        (Cl::asin, 0.7, f64::asin),
        (Cl::acos, 0.7, f64::acos),
        (Cl::tanh, 0.3, f64::tanh),
        (Cl::sinh, 1.3, f64::sinh),
        (Cl::cosh, 1.3, f64::cosh),
        (Cl::exp, 3.3, f64::exp),
        (Cl::log, 1.001, f64::ln),
        (Cl::log1p, 0.001, f64::ln_1p),
        (Cl::cbrt, 27.5, f64::cbrt),
        (Cl::sin, 3.0, f64::sin),
        (Cl::tan, 1.5, f64::tan),
    ];
    for (op, x, host) in cases {
        let argument = s.f(x);
        let value = s.cl(s.f32, op, &[argument]);
        s.store_bits(value);
        expected.push(host(f64::from(x)) as f32);
    }
    for (word, expected) in folded(s, "sm_90").into_iter().zip(expected) {
        let distance = i64::from(word).abs_diff(i64::from(expected.to_bits()));
        assert!(
            distance <= 2,
            "{} instead of {expected}",
            f32::from_bits(word)
        );
    }
}

#[test]
fn an_unknown_extended_instruction_is_named() {
    let mut s = Shader::new();
    let x = s.load_f();
    let value = s.ext(s.f32, Glsl::InterpolateAtCentroid, &[x]);
    s.store_bits(value);
    let problem = lowered(s.words(), "gfx1201", Optimization::O2)
        .err()
        .unwrap();
    assert!(
        problem.contains("SB0301") && problem.contains("InterpolateAtCentroid"),
        "{problem}"
    );
}

#[test]
fn votes_and_counts_of_a_workgroup_are_one_barrier_on_nvptx() {
    let mut s = Shader::new();
    s.b.capability(Capability::Groups);
    let (workgroup, one, zero) = (s.u(2), s.u(1), s.u(0));
    let word = s.load();
    let odd = s.b.u_less_than(s.boolean, None, zero, word).unwrap();
    let all = s.b.group_all(s.boolean, None, workgroup, odd).unwrap();
    s.store_bool(all);
    let any = s.b.group_any(s.boolean, None, workgroup, odd).unwrap();
    s.store_bool(any);
    let counted = s.b.select(s.u32, None, odd, one, zero).unwrap();
    let reduce = GroupOperation::Reduce;
    let count = s.b.group_i_add(s.u32, None, workgroup, reduce, counted);
    s.store(count.unwrap());
    let words = s.words();
    for target in ["sm_60", "sm_90"] {
        let lowered = lowered(words.clone(), target, Optimization::O2).unwrap();
        let ptx = lowered.assembly().unwrap();
        for kind in ["and.pred", "or.pred", "popc.u32"] {
            assert!(ptx.contains(&format!("bar.red.{kind}")), "{kind}:\n{ptx}");
        }
        assert!(!ptx.contains("bar.sync"), "{ptx}");
        // The hardware needs no memory for it.
        assert_eq!(lowered.kernels().first().unwrap().shared_memory_bytes, 0);
    }
}
