//! Values of constants and specialization constants.

use crate::asm::Asm;
use spirv::{Decoration, Op};
use splitbar_passes::diagnostic::{Code, Diagnostics};
use splitbar_passes::module::{Constant, Constants, Declarations, Id, Module, SpecValues};
use std::collections::BTreeMap;

const BOOL: u32 = 1;
const UINT: u32 = 2;
const INT: u32 = 3;
const HALF: u32 = 4;
const FLOAT: u32 = 5;
const VEC2: u32 = 6;
const INT8: u32 = 7;
const BVEC2: u32 = 8;
const LONG: u32 = 9;

fn types() -> Asm {
    let mut asm = Asm::new(100);
    asm.op(Op::TypeBool, &[BOOL])
        .op(Op::TypeInt, &[UINT, 32, 0])
        .op(Op::TypeInt, &[INT, 32, 1]);
    asm.op(Op::TypeFloat, &[HALF, 16])
        .op(Op::TypeFloat, &[FLOAT, 32])
        .op(Op::TypeVector, &[VEC2, UINT, 2]);
    asm.op(Op::TypeInt, &[INT8, 8, 1])
        .op(Op::TypeVector, &[BVEC2, BOOL, 2])
        .op(Op::TypeInt, &[LONG, 64, 0]);
    asm
}

fn evaluate(asm: &Asm, spec: &[(u32, u64)]) -> (Constants, Vec<Code>) {
    let module = Module::from_words(asm.words()).unwrap();
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    let constants = Constants::evaluate(
        &declarations,
        &SpecValues(BTreeMap::from_iter(spec.iter().copied())),
        &mut problems,
    );
    (
        constants,
        problems.iter().map(|problem| problem.code).collect(),
    )
}

/// `op` of type `result` on 32-bit operands of the given types and bits.
fn fold(op: Op, result: u32, operands: &[(u32, u32)]) -> Constant {
    let mut asm = types();
    let mut words = vec![result, 50, op as u32];
    for ((ty, bits), id) in operands.iter().zip(20..) {
        match *ty {
            BOOL => asm.op(
                if *bits == 1 {
                    Op::ConstantTrue
                } else {
                    Op::ConstantFalse
                },
                &[BOOL, id],
            ),
            ty => asm.op(Op::Constant, &[ty, id, *bits]),
        };
        words.push(id);
    }
    asm.op(Op::SpecConstantOp, &words);
    let (constants, problems) = evaluate(&asm, &[]);
    assert_eq!(problems, []);
    constants
        .get(Id(50))
        .unwrap_or_else(|| panic!("{op:?} has no value"))
        .clone()
}

const fn int(bits: u64, width: u32) -> Constant {
    Constant::Int { bits, width }
}

#[test]
fn integer_operations() {
    let minus = |n: i32| n as u32;
    let cases: [(Op, u32, u32, u32, u32); 18] = [
        (Op::IAdd, UINT, u32::MAX, 2, 1),
        (Op::ISub, UINT, 1, 2, u32::MAX),
        (Op::IMul, UINT, 1 << 31, 3, 1 << 31),
        (Op::UDiv, UINT, u32::MAX, 16, 0x0fff_ffff),
        (Op::SDiv, INT, minus(-7), 2, minus(-3)),
        (Op::UMod, UINT, 7, 4, 3),
        (Op::SRem, INT, minus(-7), 3, minus(-1)),
        (Op::SMod, INT, minus(-7), 3, 2),
        (Op::SMod, INT, 7, minus(-3), minus(-2)),
        (Op::ShiftRightLogical, UINT, 1 << 31, 31, 1),
        (Op::ShiftRightArithmetic, INT, 1 << 31, 31, u32::MAX),
        (Op::ShiftLeftLogical, UINT, 3, 31, 1 << 31),
        (Op::BitwiseAnd, UINT, 12, 10, 8),
        (Op::BitwiseOr, UINT, 12, 10, 14),
        (Op::BitwiseXor, UINT, 12, 10, 6),
        (Op::SRem, INT, 1 << 31, minus(-1), 0),
        (Op::SDiv, INT, 1 << 31, 1, 1 << 31),
        (Op::UDiv, UINT, 0, 5, 0),
    ];
    for (op, ty, a, b, expected) in cases {
        assert_eq!(
            fold(op, ty, &[(ty, a), (ty, b)]),
            int(u64::from(expected), 32),
            "{op:?} {a} {b}"
        );
    }
    assert_eq!(fold(Op::Not, UINT, &[(UINT, 1)]), int(0xffff_fffe, 32));
    assert_eq!(fold(Op::SNegate, INT, &[(INT, 1)]), int(0xffff_ffff, 32));
}

#[test]
fn what_spirv_leaves_undefined_is_undefined() {
    for (op, a, b) in [
        (Op::UDiv, 1, 0),
        (Op::SDiv, 1, 0),
        (Op::SDiv, 1 << 31, u32::MAX),
        (Op::UMod, 1, 0),
        (Op::SMod, 1, 0),
        (Op::ShiftLeftLogical, 1, 32),
    ] {
        assert_eq!(
            fold(op, UINT, &[(UINT, a), (UINT, b)]),
            Constant::Undef,
            "{op:?}"
        );
    }
    assert_eq!(
        fold(Op::ConvertFToS, INT, &[(FLOAT, 3e9f32.to_bits())]),
        Constant::Undef
    );
}

#[test]
fn comparisons_and_logic() {
    for (op, expected) in [
        (Op::ULessThan, false),
        (Op::SLessThan, true),
        (Op::UGreaterThanEqual, true),
        (Op::SGreaterThan, false),
        (Op::IEqual, false),
        (Op::INotEqual, true),
    ] {
        assert_eq!(
            fold(op, BOOL, &[(INT, u32::MAX), (INT, 1)]),
            Constant::Bool(expected),
            "{op:?}"
        );
    }
    for (op, expected) in [
        (Op::LogicalAnd, false),
        (Op::LogicalOr, true),
        (Op::LogicalEqual, false),
        (Op::LogicalNotEqual, true),
    ] {
        assert_eq!(
            fold(op, BOOL, &[(BOOL, 1), (BOOL, 0)]),
            Constant::Bool(expected),
            "{op:?}"
        );
    }
    assert_eq!(
        fold(Op::LogicalNot, BOOL, &[(BOOL, 1)]),
        Constant::Bool(false)
    );
    assert_eq!(
        fold(Op::Select, UINT, &[(BOOL, 0), (UINT, 5), (UINT, 6)]),
        int(6, 32)
    );
}

#[test]
fn conversions() {
    assert_eq!(
        fold(Op::SConvert, LONG, &[(INT, (-2i32) as u32)]),
        int((-2i64) as u64, 64)
    );
    assert_eq!(
        fold(Op::UConvert, LONG, &[(UINT, u32::MAX)]),
        int(0xffff_ffff, 64)
    );
    assert_eq!(fold(Op::SConvert, INT8, &[(INT, 0x1ff)]), int(0xff, 8));
    assert_eq!(
        fold(Op::FConvert, HALF, &[(FLOAT, 1.5f32.to_bits())]),
        Constant::Float {
            bits: 0x3e00,
            width: 16
        }
    );
    assert_eq!(
        fold(Op::FConvert, FLOAT, &[(HALF, 0x3e00)]),
        Constant::Float {
            bits: u64::from(1.5f32.to_bits()),
            width: 32
        }
    );
    assert_eq!(
        fold(Op::ConvertFToS, INT, &[(FLOAT, (-2.9f32).to_bits())]),
        int(u64::from((-2i32) as u32), 32)
    );
    assert_eq!(
        fold(Op::ConvertSToF, FLOAT, &[(INT, (-3i32) as u32)]),
        Constant::Float {
            bits: u64::from((-3f32).to_bits()),
            width: 32
        }
    );
    assert_eq!(
        fold(Op::Bitcast, FLOAT, &[(UINT, 0x4000_0000)]),
        Constant::Float {
            bits: 0x4000_0000,
            width: 32
        }
    );
    assert_eq!(
        fold(Op::QuantizeToF16, FLOAT, &[(FLOAT, 1e-6f32.to_bits())]),
        Constant::Float { bits: 0, width: 32 }
    );
    assert_eq!(
        fold(Op::FNegate, FLOAT, &[(FLOAT, 2f32.to_bits())]),
        Constant::Float {
            bits: u64::from((-2f32).to_bits()),
            width: 32
        }
    );
    assert_eq!(
        fold(
            Op::FDiv,
            FLOAT,
            &[(FLOAT, 1f32.to_bits()), (FLOAT, 3f32.to_bits())]
        ),
        Constant::Float {
            bits: u64::from((1f32 / 3f32).to_bits()),
            width: 32
        }
    );
    assert_eq!(
        fold(
            Op::FMod,
            FLOAT,
            &[(FLOAT, (-7f32).to_bits()), (FLOAT, 3f32.to_bits())]
        ),
        Constant::Float {
            bits: u64::from(2f32.to_bits()),
            width: 32
        }
    );
}

#[test]
fn literals_of_narrow_signed_types_are_cut_to_their_width() {
    let mut asm = types();
    asm.op(Op::Constant, &[INT8, 20, 0xffff_fff0])
        .op(Op::Constant, &[LONG, 21, 1, 2])
        .op(Op::ConstantNull, &[UINT, 22]);
    let (constants, problems) = evaluate(&asm, &[]);
    assert_eq!(problems, []);
    assert_eq!(constants.get(Id(20)), Some(&int(0xf0, 8)));
    assert_eq!(constants.get(Id(21)), Some(&int(0x2_0000_0001, 64)));
    assert_eq!(constants.as_u32(Id(21)), None);
    assert_eq!(constants.as_u32(Id(22)), Some(0));
}

#[test]
fn vectors_are_folded_component_by_component() {
    let mut asm = types();
    asm.op(Op::Constant, &[UINT, 20, 6])
        .op(Op::Constant, &[UINT, 21, 0])
        .op(Op::ConstantComposite, &[VEC2, 22, 20, 21])
        .op(Op::ConstantNull, &[VEC2, 23]);
    asm.op(Op::SpecConstantOp, &[VEC2, 30, Op::IAdd as u32, 22, 22]);
    asm.op(Op::SpecConstantOp, &[VEC2, 31, Op::UDiv as u32, 22, 22]);
    asm.op(
        Op::SpecConstantOp,
        &[UINT, 32, Op::CompositeExtract as u32, 30, 0],
    );
    asm.op(
        Op::SpecConstantOp,
        &[VEC2, 33, Op::CompositeInsert as u32, 20, 23, 1],
    );
    asm.op(
        Op::SpecConstantOp,
        &[VEC2, 34, Op::VectorShuffle as u32, 22, 33, 3, 0],
    );
    asm.op(Op::SpecConstantOp, &[BVEC2, 35, Op::IEqual as u32, 22, 23]);
    asm.op(
        Op::SpecConstantOp,
        &[VEC2, 36, Op::Select as u32, 35, 22, 34],
    );
    asm.op(Op::SpecConstantOp, &[LONG, 37, Op::Bitcast as u32, 22]);
    let (constants, problems) = evaluate(&asm, &[]);
    assert_eq!(problems, []);
    let both = |a, b| Some(Constant::Composite(vec![a, b]));
    let get = |id| constants.get(Id(id)).cloned();
    assert_eq!(get(30), both(int(12, 32), int(0, 32)));
    assert_eq!(get(31), both(int(1, 32), Constant::Undef));
    assert_eq!(get(32), Some(int(12, 32)));
    assert_eq!(get(33), both(Constant::Null, int(6, 32)));
    assert_eq!(get(34), both(int(6, 32), int(6, 32)));
    assert_eq!(get(35), both(Constant::Bool(false), Constant::Bool(true)));
    assert_eq!(get(36), both(int(6, 32), int(0, 32)));
    assert_eq!(get(37), Some(int(6, 64)));
}

#[test]
fn specialization_values_reach_what_depends_on_them() {
    let mut asm = Asm::new(100);
    asm.op(Op::Decorate, &[20, Decoration::SpecId as u32, 3])
        .op(Op::Decorate, &[21, Decoration::SpecId as u32, 4]);
    asm.op(
        Op::Decorate,
        &[
            23,
            Decoration::BuiltIn as u32,
            spirv::BuiltIn::WorkgroupSize as u32,
        ],
    );
    asm.op(Op::EntryPoint, &[5, 40, 0])
        .op(Op::ExecutionMode, &[40, 17, 1, 1, 1]);
    asm.op(Op::TypeBool, &[1])
        .op(Op::TypeInt, &[2, 32, 0])
        .op(Op::TypeVector, &[3, 2, 3])
        .op(Op::TypeVoid, &[4])
        .op(Op::TypeFunction, &[5, 4]);
    asm.op(Op::SpecConstant, &[2, 20, 64])
        .op(Op::SpecConstantTrue, &[1, 21])
        .op(Op::Constant, &[2, 22, 2]);
    asm.op(Op::SpecConstantOp, &[2, 24, Op::IMul as u32, 20, 22]);
    asm.op(Op::SpecConstantComposite, &[3, 23, 24, 22, 22]);
    asm.op(Op::Function, &[4, 40, 0, 5])
        .op(Op::Label, &[41])
        .op(Op::Return, &[])
        .op(Op::FunctionEnd, &[]);
    let (constants, problems) = evaluate(&asm, &[]);
    assert_eq!(
        (constants.as_u32(Id(24)), constants.get(Id(21)), problems),
        (Some(128), Some(&Constant::Bool(true)), vec![])
    );
    let (constants, problems) = evaluate(&asm, &[(3, 16), (4, 0)]);
    assert_eq!(
        (constants.as_u32(Id(24)), constants.get(Id(21)), problems),
        (Some(32), Some(&Constant::Bool(false)), vec![])
    );
    let module = Module::from_words(asm.words()).unwrap();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    assert_eq!(
        declarations.workgroup_size(&declarations.entry_points[0], &constants),
        Some([32, 2, 2]),
        "the built-in goes before LocalSize"
    );
    assert_eq!(evaluate(&asm, &[(9, 0)]).1, [Code::UnknownSpecId]);
    assert_eq!(evaluate(&asm, &[(4, 2)]).1, [Code::BadConstant]);
    assert_eq!(evaluate(&asm, &[(3, 1 << 32)]).1, [Code::BadConstant]);
    assert_eq!(
        evaluate(&asm, &[(3, (-1i64) as u64)]).0.as_u32(Id(20)),
        Some(u32::MAX)
    );
}

#[test]
fn a_workgroup_size_reaches_the_constants_that_are_its_dimensions() {
    let mut asm = Asm::new(100);
    // Decorations first: WorkgroupSize on %40 = (%20 with SpecId 5, %21 with SpecId 6, %22 a
    // constant).
    asm.op(Op::Decorate, &[20, Decoration::SpecId as u32, 5])
        .op(Op::Decorate, &[21, Decoration::SpecId as u32, 6])
        .op(
            Op::Decorate,
            &[
                40,
                Decoration::BuiltIn as u32,
                spirv::BuiltIn::WorkgroupSize as u32,
            ],
        )
        .op(Op::TypeInt, &[UINT, 32, 0])
        .op(Op::TypeVector, &[VEC2, UINT, 3])
        .op(Op::SpecConstant, &[UINT, 20, 0])
        .op(Op::SpecConstant, &[UINT, 21, 0])
        .op(Op::Constant, &[UINT, 22, 1])
        .op(Op::SpecConstantComposite, &[VEC2, 40, 20, 21, 22]);
    let module = Module::from_words(asm.words()).unwrap();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    let mut values = SpecValues(BTreeMap::from([(6, 2)]));
    declarations.specialize_workgroup_size([64, 8, 1], &mut values);
    assert_eq!(values.0, BTreeMap::from([(5, 64), (6, 2)]));
}
