//! Calls that are one instruction: of a core instruction by its name (`__spirv_IAddCarry`), or of
//! OpenCL.std (`__spirv_ocl_fmin`, and functions of C that the set has).

use super::signature::{Signature, Sort};
use crate::module::facts::{Address, Class, Facts};
use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind, OperandQuantifier};
use spirv::{Decoration, FPRoundingMode, Op, OpenclStd100Op as Cl};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A core instruction that a call becomes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Core {
    pub(super) op: Op,
    /// The operands behind result type and result.
    pub(super) operands: &'static [LogicalOperand],
    pub(super) has_result: bool,
    pub(super) capabilities: &'static [spirv::Capability],
}

/// Instructions that a call never is: those that are no operation on values, and those that end or
/// begin blocks.
fn is_call(op: Op) -> bool {
    match Facts::lookup(op).class {
        Class::Marker => op != Op::Nop && !op.is_debug(),
        Class::Declaration
        | Class::Undef
        | Class::Variable
        | Class::Phi
        | Class::Merge
        | Class::Branch
        | Class::Exit
        | Class::Call
        | Class::Extended
        | Class::Address(Address::Members) => false,
        _ => true,
    }
}

/// The core instruction of this name, without its `Op`.
pub(super) fn core(name: &str) -> Option<Core> {
    let name = match name {
        // What an older version of the extension called them.
        "ControlBarrierArriveEXT" => "ControlBarrierArriveINTEL",
        "ControlBarrierWaitEXT" => "ControlBarrierWaitINTEL",
        name => name,
    };
    let found = INSTRUCTION_TABLE.iter().find(|inst| inst.opname == name)?;
    if !is_call(found.opcode) {
        return None;
    }
    let is_value = |operand: &&LogicalOperand| {
        !matches!(
            operand.kind,
            OperandKind::IdResultType | OperandKind::IdResult
        )
    };
    let first = found.operands.iter().position(|o| is_value(&o));
    let (results, operands) = found
        .operands
        .split_at(first.unwrap_or(found.operands.len()));
    Some(Core {
        op: found.opcode,
        operands,
        has_result: !results.is_empty(),
        capabilities: found.capabilities,
    })
}

impl Core {
    /// The operand words for a call with these arguments; a literal comes from the constant
    /// argument that `literal` reads. `None` if the call does not fit.
    pub(super) fn operands(
        &self,
        arguments: &[u32],
        literal: impl Fn(u32) -> Option<u32>,
    ) -> Option<Vec<u32>> {
        let mut words = Vec::new();
        let mut pattern = self.operands;
        // Masks of operands name what follows them: ids, all of those that calls have.
        let mut is_mask_parameter = false;
        for argument in arguments {
            let kind = match pattern.split_first() {
                Some((first, rest)) => {
                    if first.quantifier != OperandQuantifier::ZeroOrMore {
                        pattern = rest;
                    }
                    first.kind
                }
                None if is_mask_parameter => OperandKind::IdRef,
                None => return None,
            };
            match kind {
                OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => {
                    words.push(*argument);
                }
                OperandKind::MemoryAccess | OperandKind::ImageOperands => {
                    is_mask_parameter = true;
                    words.push(literal(*argument)?);
                }
                OperandKind::GroupOperation
                | OperandKind::StorageClass
                | OperandKind::PackedVectorFormat
                | OperandKind::LiteralInteger => words.push(literal(*argument)?),
                _ => return None,
            }
        }
        let is_open = |operand: &LogicalOperand| operand.quantifier == OperandQuantifier::One;
        (!pattern.iter().any(is_open)).then_some(words)
    }
}

/// The decorations that the end of a name asks of the result: `_sat`, `_rte` and the like.
pub(super) fn decorations(suffix: &str) -> impl Iterator<Item = Vec<u32>> {
    suffix.split('_').filter_map(|part| {
        let mode = |mode: FPRoundingMode| vec![Decoration::FPRoundingMode as u32, mode as u32];
        Some(match part {
            "sat" => vec![Decoration::SaturatedConversion as u32],
            "rte" => mode(FPRoundingMode::RTE),
            "rtz" => mode(FPRoundingMode::RTZ),
            "rtp" => mode(FPRoundingMode::RTP),
            "rtn" => mode(FPRoundingMode::RTN),
            _ => return None,
        })
    })
}

/// The instruction of OpenCL.std of this name.
pub(super) fn open_cl(name: &str) -> Option<Cl> {
    static NAMES: OnceLock<BTreeMap<String, Cl>> = OnceLock::new();
    /// One more than the greatest number of the set.
    const NUMBERS: u32 = 256;
    let names = NAMES.get_or_init(|| {
        let all = (0..NUMBERS).filter_map(Cl::from_u32);
        all.map(|op| (format!("{op:?}"), op)).collect()
    });
    names.get(name).copied()
}

/// How a function of C is an instruction of OpenCL.std.
struct Row {
    /// As C calls the function for doubles, or for the integers that it has.
    name: &'static str,
    op: Cl,
    /// The result and the parameters, a letter each: [`Sort`].
    signature: &'static str,
}

const fn row(name: &'static str, op: Cl, signature: &'static str) -> Row {
    Row {
        name,
        op,
        signature,
    }
}

/// Functions of C and of the device library. `f` is the float of the function, `i` and `l` integers
/// of 32 and 64 bits, `I` and `F` a pointer to one.
#[rustfmt::skip] // a table
const FUNCTIONS: &[Row] = &[
    row("acos", Cl::acos, "ff"), row("acosh", Cl::acosh, "ff"), row("asin", Cl::asin, "ff"),
    row("asinh", Cl::asinh, "ff"), row("atan", Cl::atan, "ff"), row("atanh", Cl::atanh, "ff"),
    row("acospi", Cl::acospi, "ff"), row("asinpi", Cl::asinpi, "ff"), row("atanpi", Cl::atanpi, "ff"),
    row("cbrt", Cl::cbrt, "ff"), row("ceil", Cl::ceil, "ff"), row("cos", Cl::cos, "ff"),
    row("cosh", Cl::cosh, "ff"), row("cospi", Cl::cospi, "ff"), row("erf", Cl::erf, "ff"),
    row("erfc", Cl::erfc, "ff"), row("exp", Cl::exp, "ff"), row("exp2", Cl::exp2, "ff"),
    row("exp10", Cl::exp10, "ff"), row("expm1", Cl::expm1, "ff"), row("fabs", Cl::fabs, "ff"),
    row("floor", Cl::floor, "ff"), row("lgamma", Cl::lgamma, "ff"), row("log", Cl::log, "ff"),
    row("log10", Cl::log10, "ff"), row("log1p", Cl::log1p, "ff"), row("log2", Cl::log2, "ff"),
    row("logb", Cl::logb, "ff"), row("nearbyint", Cl::rint, "ff"), row("rint", Cl::rint, "ff"),
    row("round", Cl::round, "ff"), row("rsqrt", Cl::rsqrt, "ff"), row("sin", Cl::sin, "ff"),
    row("sinh", Cl::sinh, "ff"), row("sinpi", Cl::sinpi, "ff"), row("sqrt", Cl::sqrt, "ff"),
    row("tan", Cl::tan, "ff"), row("tanh", Cl::tanh, "ff"), row("tanpi", Cl::tanpi, "ff"),
    row("tgamma", Cl::tgamma, "ff"), row("trunc", Cl::trunc, "ff"),
    row("atan2", Cl::atan2, "fff"), row("atan2pi", Cl::atan2pi, "fff"),
    row("copysign", Cl::copysign, "fff"), row("fdim", Cl::fdim, "fff"), row("fmax", Cl::fmax, "fff"),
    row("fmin", Cl::fmin, "fff"), row("fmod", Cl::fmod, "fff"), row("hypot", Cl::hypot, "fff"),
    row("nextafter", Cl::nextafter, "fff"), row("pow", Cl::pow, "fff"), row("powr", Cl::powr, "fff"),
    row("remainder", Cl::remainder, "fff"),
    row("fma", Cl::fma, "ffff"),
    row("ilogb", Cl::ilogb, "if"), row("ldexp", Cl::ldexp, "ffi"), row("scalbn", Cl::ldexp, "ffi"),
    row("frexp", Cl::frexp, "ffI"), row("modf", Cl::modf, "ffF"), row("remquo", Cl::remquo, "fffI"),
    row("sincos", Cl::sincos, "ffF"),
    row("abs", Cl::s_abs, "ii"), row("labs", Cl::s_abs, "ll"), row("llabs", Cl::s_abs, "ll"),
    row("clz", Cl::clz, "ii"), row("popc", Cl::popcount, "ii"),
    row("hadd", Cl::s_hadd, "iii"), row("rhadd", Cl::s_rhadd, "iii"),
    row("uhadd", Cl::u_hadd, "iii"), row("urhadd", Cl::u_rhadd, "iii"),
    row("max", Cl::s_max, "iii"), row("min", Cl::s_min, "iii"), row("umax", Cl::u_max, "iii"),
    row("umin", Cl::u_min, "iii"), row("llmax", Cl::s_max, "lll"), row("llmin", Cl::s_min, "lll"),
    row("ullmax", Cl::u_max, "lll"), row("ullmin", Cl::u_min, "lll"),
    row("mul24", Cl::s_mul24, "iii"), row("umul24", Cl::u_mul24, "iii"),
    row("mulhi", Cl::s_mul_hi, "iii"), row("umulhi", Cl::u_mul_hi, "iii"),
    row("mul64hi", Cl::s_mul_hi, "lll"), row("umul64hi", Cl::u_mul_hi, "lll"),
];

/// Intrinsics of LLVM that its translator leaves as imports: the part of the name between `llvm.`
/// and the type.
#[rustfmt::skip] // a table
const INTRINSICS: &[(&str, Cl)] = &[
    ("sadd.sat", Cl::s_add_sat), ("uadd.sat", Cl::u_add_sat), ("ssub.sat", Cl::s_sub_sat),
    ("usub.sat", Cl::u_sub_sat), ("smax", Cl::s_max), ("smin", Cl::s_min), ("umax", Cl::u_max),
    ("umin", Cl::u_min), ("maxnum", Cl::fmax), ("minnum", Cl::fmin), ("copysign", Cl::copysign),
    ("fma", Cl::fma), ("ctpop", Cl::popcount), ("fabs", Cl::fabs), ("floor", Cl::floor),
    ("ceil", Cl::ceil), ("trunc", Cl::trunc), ("rint", Cl::rint), ("sqrt", Cl::sqrt),
];

/// The instruction of OpenCL.std that a function of C or of the device library is, if it has the
/// signature of that function.
pub(super) fn function(name: &str, signature: &Signature) -> Option<Cl> {
    if let Some(rest) = name.strip_prefix("llvm.") {
        let (operation, _) = rest.rsplit_once('.')?;
        let (_, op) = INTRINSICS.iter().find(|(own, _)| *own == operation)?;
        let whole = signature.result?;
        let fits = signature.params.iter().all(|param| *param == whole);
        return (fits && matches!(whole, Sort::Float(_) | Sort::Int(_))).then_some(*op);
    }
    let (row, bits) =
        super::signature::by_width(name, |name| FUNCTIONS.iter().find(|row| row.name == name))?;
    signature.is(row.signature, bits).then_some(row.op)
}
