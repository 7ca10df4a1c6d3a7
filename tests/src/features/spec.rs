//! Specialization constants: every operation of OpSpecConstantOp that is one of run time too, on
//! operands from the module and from the launch.
//!
//! The features of the other families are taken: the operands of some of their rows become
//! specialization constants, and the host function stays.

use super::feature::Feature;
use super::launch::{INVOCATIONS, Launch};
use super::ty::{Bool, Scalar, Ty};
use super::want::Want;
use std::fmt::Write;

/// The instructions that shaders may use in OpSpecConstantOp (SPIR-V 1.6, 3.49.7), without those on
/// pointers.
const SHADER: [&str; 39] = [
    "OpSConvert",
    "OpUConvert",
    "OpFConvert",
    "OpSNegate",
    "OpNot",
    "OpIAdd",
    "OpISub",
    "OpIMul",
    "OpUDiv",
    "OpSDiv",
    "OpUMod",
    "OpSRem",
    "OpSMod",
    "OpShiftRightLogical",
    "OpShiftRightArithmetic",
    "OpShiftLeftLogical",
    "OpBitwiseOr",
    "OpBitwiseXor",
    "OpBitwiseAnd",
    "OpVectorShuffle",
    "OpCompositeExtract",
    "OpCompositeInsert",
    "OpLogicalOr",
    "OpLogicalAnd",
    "OpLogicalNot",
    "OpLogicalEqual",
    "OpLogicalNotEqual",
    "OpSelect",
    "OpIEqual",
    "OpINotEqual",
    "OpULessThan",
    "OpSLessThan",
    "OpUGreaterThan",
    "OpSGreaterThan",
    "OpULessThanEqual",
    "OpSLessThanEqual",
    "OpUGreaterThanEqual",
    "OpSGreaterThanEqual",
    "OpQuantizeToF16",
];

/// The instructions that only kernels may use there.
const KERNEL: [&str; 12] = [
    "OpConvertFToS",
    "OpConvertSToF",
    "OpConvertFToU",
    "OpConvertUToF",
    "OpBitcast",
    "OpFNegate",
    "OpFAdd",
    "OpFSub",
    "OpFMul",
    "OpFDiv",
    "OpFRem",
    "OpFMod",
];

/// The number of rows of operands in a feature, which is the number of results.
const ROWS: usize = 4;

/// The feature with constants instead of operands; none if its code is more than one instruction,
/// or its results are all undefined.
fn constant(feature: Feature) -> Option<Feature> {
    let [result] = feature.results[..] else {
        return None;
    };
    let line = feature.body.trim().strip_prefix("$r = Op")?;
    if line.contains('\n') || !feature.decorate.is_empty() || !feature.variables.is_empty() {
        return None;
    }
    let (operation, operands) = line.split_once(' ')?;
    let (ty, operands) = operands.split_once(' ')?;
    let launch = Launch { subgroup: 32 };
    let wanted = (feature.host)(launch, &feature.inputs);
    let defined = |row: usize| !wanted[row].contains(&Want::Any);
    // Not neighbours, which are alike.
    let rows: Vec<usize> = (0..INVOCATIONS)
        .map(|at| (at * 61 + 13) % INVOCATIONS)
        .filter(|row| defined(*row))
        .take(ROWS)
        .collect();
    if rows.len() < ROWS {
        return None;
    }
    let (mut globals, mut decorate, mut spec) = (String::new(), String::new(), Vec::new());
    let mut results = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let mut text = format!(" {operands} ");
        let mut values = feature.inputs[*row].iter();
        for (name, param) in ["a", "b", "c", "d"].iter().zip(&feature.params) {
            let id = format!("$k{number}{name}");
            let mut parts = String::new();
            for part in 0..param.components() {
                let own = if param.components() == 1 {
                    id.clone()
                } else {
                    format!("{id}{part}")
                };
                let _ = write!(parts, " {own}");
                one(
                    &mut globals,
                    &mut decorate,
                    &mut spec,
                    &own,
                    param.scalar,
                    *values.next()?,
                    number % 2 == 0,
                );
            }
            if param.components() > 1 {
                let _ = writeln!(
                    globals,
                    "{id} = OpSpecConstantComposite %{}{parts}",
                    param.name()
                );
            }
            text = text.replace(&format!(" ${name} "), &format!(" {id} "));
            // Neighbours share the space between them.
            text = text.replace(&format!(" ${name} "), &format!(" {id} "));
        }
        let result_name = ["r", "s", "t", "u"][number];
        let _ = writeln!(
            globals,
            "${result_name} = OpSpecConstantOp {ty} {operation}{}",
            text.trim_end()
        );
        results.extend(wanted[*row].iter().cloned());
    }
    let variant = format!("Op{operation}.{}", feature.variant);
    let mut constant = Feature::new("OpSpecConstantOp", &[], &[result; ROWS], "", move |_| {
        results.clone()
    });
    constant.inputs = vec![Vec::new(); INVOCATIONS];
    constant.spec = spec;
    Some(
        constant
            .called(&variant)
            .with_globals(globals)
            .decorated(decorate),
    )
}

/// A scalar constant: `written` in the module, or set by the launch instead of another one in the
/// module.
fn one(
    globals: &mut String,
    decorate: &mut String,
    spec: &mut Vec<u64>,
    id: &str,
    scalar: Scalar,
    value: u64,
    written: bool,
) {
    let name = scalar.name();
    let written = written && !scalar.is_float();
    let _ = match (scalar, written) {
        (Bool, true) if value != 0 => writeln!(globals, "{id} = OpSpecConstantTrue %bool"),
        (Bool, true) => writeln!(globals, "{id} = OpSpecConstantFalse %bool"),
        (Bool, false) if value != 0 => writeln!(globals, "{id} = OpSpecConstantFalse %bool"),
        (Bool, false) => writeln!(globals, "{id} = OpSpecConstantTrue %bool"),
        (_, true) => writeln!(globals, "{id} = OpSpecConstant %{name} {value}"),
        (_, false) => writeln!(globals, "{id} = OpSpecConstant %{name} 7"),
    };
    if !written {
        let _ = writeln!(decorate, "OpDecorate {id} SpecId ${}", spec.len());
        spec.push(value);
    }
}

fn of(allowed: &[&str], features: Vec<Feature>) -> Vec<Feature> {
    let named = |feature: &Feature| allowed.contains(&feature.op.as_str());
    features
        .into_iter()
        .filter(named)
        .filter_map(constant)
        .collect()
}

/// Constants as they are, at every width, and the composites of them.
fn plain(all: &mut Vec<Feature>) {
    use super::ty::{F16, F32, F64, INTEGERS};
    for s in INTEGERS.into_iter().chain([F16, F32, F64, Bool]) {
        let ty = Ty::vector(s, 2);
        let lanes = Feature::new(
            "OpVectorShuffle",
            &[ty, ty],
            &[ty],
            &format!("$r = OpVectorShuffle %{} $a $b 0 1", ty.name()),
            move |row| {
                row[..2]
                    .iter()
                    .map(|v| super::want::float_or_bits(s, *v))
                    .collect()
            },
        );
        all.extend(constant(lanes.called(&ty.name())));
    }
}

/// Of shaders.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    plain(&mut all);
    for family in [
        super::integer::features(),
        super::bits::features(),
        super::compare::features(),
        super::convert::features(),
        super::vector::features(),
    ] {
        all.extend(of(&SHADER, family));
    }
    all
}

/// Of kernels.
pub(super) fn kernel_features() -> Vec<Feature> {
    let mut all = Vec::new();
    for family in [super::convert::features(), super::float::features()] {
        all.extend(of(&KERNEL, family));
    }
    all
}
