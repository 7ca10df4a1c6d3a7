//! Input that wants to break the reader: cut, flipped, made up, and small files that stand for a
//! lot.

use crate::asm::Asm;
use crate::corpus::{self, File};
use proptest::prelude::*;
use spirv::Op;
use splitbar_harness::cpu_time;
use splitbar_passes::diagnostic::{Code, Diagnostics};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues, targets};
use std::time::Duration;

/// Reads `bytes` as far as it goes and asks everything there is to ask; what is wrong.
fn read_all(bytes: &[u8]) -> Diagnostics {
    let module = match Module::parse(bytes) {
        Ok(module) => module,
        Err(problems) => {
            assert!(problems.has_errors());
            return problems;
        }
    };
    assert_eq!(module.to_bytes(), bytes);
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    declarations.locate_all(&mut problems);
    for entry in &declarations.entry_points {
        let _ = declarations.workgroup_size(entry, &constants);
        let _ = declarations.reachable_functions(entry.function);
    }
    for function in &declarations.functions {
        for block in &function.blocks {
            assert!(block.terminator().is_some());
            block.insts.last().map(|inst| targets(&module, *inst));
        }
    }
    for inst in module.instructions().step_by(7) {
        let _ = declarations.disassemble(inst);
    }
    problems
}

fn smallest(count: usize) -> Vec<File> {
    let mut modules = corpus::modules().unwrap();
    modules.sort_by(|a, b| (a.bytes.len(), &a.path).cmp(&(b.bytes.len(), &b.path)));
    modules.truncate(count);
    modules
}

#[test]
fn a_module_can_end_at_any_word_and_any_byte() {
    for file in smallest(3) {
        for end in (0..file.bytes.len()).filter(|end| end % 4 == 0 || *end < 64) {
            read_all(&file.bytes[..end]);
        }
    }
}

/// Numbers that look like noise and are the same in every run.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn flipped_bits_and_exchanged_words_never_break_it() {
    let modules = smallest(400);
    let mut noise = Noise(0x5eed);
    let mut refused = 0;
    let runs = 1000;
    for _ in 0..runs {
        let mut bytes = modules[noise.below(modules.len())].bytes.clone();
        for _ in 0..1 + noise.below(4) {
            let at = noise.below(bytes.len() / 4) * 4;
            match noise.below(4) {
                0 => bytes[at + noise.below(4)] ^= 1 << noise.below(8),
                1 => bytes[at] = noise.below(256) as u8,
                2 => bytes[at..at + 4].copy_from_slice(&[0xff; 4]),
                _ => {
                    let from = noise.below(bytes.len() / 4) * 4;
                    bytes.copy_within(from..from + 4, at);
                }
            }
        }
        refused += usize::from(read_all(&bytes).has_errors());
    }
    assert!(
        refused * 4 > runs,
        "{refused} of {runs} were refused: flips must reach something"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_instructions_never_break_it(
        bound in prop_oneof![1u32..40, Just(u32::MAX), any::<u32>()],
        insts in prop::collection::vec((0u16..420, prop::collection::vec(prop_oneof![4 => 0u32..30, 1 => any::<u32>()], 0..8)), 0..40),
    ) {
        let mut asm = Asm::new(bound);
        for (opcode, operands) in &insts {
            asm.raw(*opcode, operands);
        }
        read_all(&asm.bytes());
    }

    #[test]
    fn bytes_of_any_kind_never_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200), with_magic in any::<bool>()) {
        let mut bytes = bytes;
        if with_magic && bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&0x0723_0203u32.to_le_bytes());
        }
        read_all(&bytes);
    }
}

/// Runs `work`, which must be over in a time that only bounded work keeps.
fn quickly<T>(work: impl FnOnce() -> T) -> T {
    let (result, took) = cpu_time(work);
    assert!(took < Duration::from_secs(10), "it took {took:?}");
    result
}

fn codes(asm: &Asm) -> Vec<Code> {
    quickly(|| read_all(&asm.bytes()))
        .iter()
        .map(|problem| problem.code)
        .collect()
}

#[test]
fn an_absurd_bound_costs_nothing() {
    let mut asm = Asm::new(u32::MAX);
    asm.op(Op::TypeVoid, &[u32::MAX - 1]).op(Op::TypeBool, &[1]);
    assert_eq!(codes(&asm), []);
}

#[test]
fn deep_types_are_refused() {
    let mut asm = Asm::new(100_000);
    asm.op(Op::TypeInt, &[1, 32, 0]);
    for id in 2..90_000 {
        asm.op(Op::TypeStruct, &[id, id - 1]);
    }
    assert_eq!(codes(&asm), [Code::NestingTooDeep]);
}

#[test]
fn composites_of_composites_do_not_multiply() {
    let mut asm = Asm::new(1000);
    asm.op(Op::TypeInt, &[1, 32, 0])
        .op(Op::Constant, &[1, 2, 9]);
    for level in 0..100 {
        let (ty, value) = if level == 0 {
            (1, 2)
        } else {
            (100 + level - 1, 300 + level - 1)
        };
        asm.op(Op::TypeStruct, &[100 + level, ty, ty, ty, ty]).op(
            Op::ConstantComposite,
            &[100 + level, 300 + level, value, value, value, value],
        );
    }
    assert_eq!(codes(&asm), [Code::NestingTooDeep]);
}

#[test]
fn values_keep_the_shape_of_their_types() {
    // Every step would put the last value into itself and give it the type of a scalar.
    let mut asm = Asm::new(10_000);
    asm.op(Op::TypeInt, &[1, 32, 0])
        .op(Op::TypeStruct, &[2, 1])
        .op(Op::Constant, &[1, 10, 9]);
    for step in 0..1000 {
        asm.op(Op::ConstantComposite, &[2, 3000 + step, 10 + step])
            .op(
                Op::SpecConstantOp,
                &[1, 11 + step, Op::CompositeExtract as u32, 3000 + step],
            );
    }
    assert!(codes(&asm).contains(&Code::TypeMismatch));
    let mut asm = Asm::new(10_000);
    asm.op(Op::TypeInt, &[1, 32, 0])
        .op(Op::TypeStruct, &[2, 1])
        .op(Op::Constant, &[1, 9, 9])
        .op(Op::ConstantComposite, &[2, 10, 9]);
    for step in 0..1000 {
        asm.op(
            Op::SpecConstantOp,
            &[
                2,
                11 + step,
                Op::CompositeInsert as u32,
                10 + step,
                10 + step,
                0,
            ],
        );
    }
    assert!(codes(&asm).contains(&Code::TypeMismatch));
}

#[test]
fn groups_and_modes_do_not_multiply() {
    let mut asm = Asm::new(100_000);
    for kind in 0..5000 {
        asm.op(Op::Decorate, &[1, kind]);
    }
    let targets: Vec<u32> = (0..50_000).collect();
    asm.op(Op::DecorationGroup, &[1])
        .op(Op::GroupDecorate, &[&[1][..], &targets[1..]].concat());
    assert!(codes(&asm).contains(&Code::TooManyDecorations));
    let mut asm = Asm::new(10);
    for _ in 0..20_000 {
        asm.op(Op::EntryPoint, &[5, 1, 0])
            .op(Op::ExecutionMode, &[1, 17, 1, 1, 1]);
    }
    assert!(codes(&asm).contains(&Code::TooManyDecorations));
}
