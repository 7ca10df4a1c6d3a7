//! The operations that subgroup and group instructions reduce and scan with: how two values are
//! combined, and the value that changes nothing.

use super::Result;
use super::build::Build;
use crate::ffi::{Ty, Value};
use spirv::Op;

/// Undoes an operation.
pub(crate) type Inverse<'c> = fn(&Build<'c>, Value<'c>, Value<'c>) -> Result<Value<'c>>;

/// An associative operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Collective {
    IAdd,
    FAdd,
    IMul,
    FMul,
    SMin,
    UMin,
    FMin,
    SMax,
    UMax,
    FMax,
    /// Bitwise and logical.
    And,
    Or,
    Xor,
}

/// The operation of a reducing opcode.
pub(crate) fn collective(op: Op) -> Option<Collective> {
    use Collective::*;
    Some(match op {
        Op::GroupNonUniformIAdd | Op::GroupIAdd | Op::GroupIAddNonUniformAMD => IAdd,
        Op::GroupNonUniformFAdd | Op::GroupFAdd | Op::GroupFAddNonUniformAMD => FAdd,
        Op::GroupNonUniformIMul | Op::GroupIMulKHR => IMul,
        Op::GroupNonUniformFMul | Op::GroupFMulKHR => FMul,
        Op::GroupNonUniformSMin | Op::GroupSMin | Op::GroupSMinNonUniformAMD => SMin,
        Op::GroupNonUniformUMin | Op::GroupUMin | Op::GroupUMinNonUniformAMD => UMin,
        Op::GroupNonUniformFMin | Op::GroupFMin | Op::GroupFMinNonUniformAMD => FMin,
        Op::GroupNonUniformSMax | Op::GroupSMax | Op::GroupSMaxNonUniformAMD => SMax,
        Op::GroupNonUniformUMax | Op::GroupUMax | Op::GroupUMaxNonUniformAMD => UMax,
        Op::GroupNonUniformFMax | Op::GroupFMax | Op::GroupFMaxNonUniformAMD => FMax,
        Op::GroupNonUniformBitwiseAnd
        | Op::GroupNonUniformLogicalAnd
        | Op::GroupBitwiseAndKHR
        | Op::GroupLogicalAndKHR => And,
        Op::GroupNonUniformBitwiseOr
        | Op::GroupNonUniformLogicalOr
        | Op::GroupBitwiseOrKHR
        | Op::GroupLogicalOrKHR => Or,
        Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalXor
        | Op::GroupBitwiseXorKHR
        | Op::GroupLogicalXorKHR => Xor,
        _ => return None,
    })
}

impl Collective {
    /// `x` and `y` combined. Minimum and maximum prefer a number to a NaN.
    pub(crate) fn combine<'c>(
        self,
        b: &Build<'c>,
        x: Value<'c>,
        y: Value<'c>,
    ) -> Result<Value<'c>> {
        let call = |name: &'static str| b.intrinsic(name, &[x.ty()], &[x, y]);
        match self {
            Collective::IAdd => b.add(x, y),
            Collective::FAdd => b.fadd(x, y),
            Collective::IMul => b.mul(x, y),
            Collective::FMul => b.fmul(x, y),
            Collective::SMin => call("llvm.smin"),
            Collective::UMin => call("llvm.umin"),
            Collective::FMin => call("llvm.minnum"),
            Collective::SMax => call("llvm.smax"),
            Collective::UMax => call("llvm.umax"),
            Collective::FMax => call("llvm.maxnum"),
            Collective::And => b.and(x, y),
            Collective::Or => b.or(x, y),
            Collective::Xor => b.xor(x, y),
        }
    }

    /// The value that changes nothing (SPIR-V names it for each instruction).
    pub(crate) fn identity<'c>(self, b: &Build<'c>, ty: Ty<'c>) -> Result<Value<'c>> {
        let top = 1u64 << (ty.scalar_bits().max(1) - 1);
        match self {
            Collective::IAdd | Collective::Or | Collective::Xor | Collective::UMax => b.int(ty, 0),
            Collective::IMul => b.int(ty, 1),
            Collective::And | Collective::UMin => b.int(ty, u64::MAX),
            Collective::SMin => b.int(ty, top - 1),
            Collective::SMax => b.int(ty, top),
            Collective::FAdd => b.float(ty, 0.0),
            Collective::FMul => b.float(ty, 1.0),
            Collective::FMin => b.float(ty, f64::INFINITY),
            Collective::FMax => b.float(ty, f64::NEG_INFINITY),
        }
    }

    /// What takes `y` out of `x` combined with `y`, where that can be.
    pub(crate) fn inverse<'c>(self) -> Option<Inverse<'c>> {
        match self {
            Collective::IAdd => Some(|b, x, y| b.sub(x, y)),
            Collective::Xor => Some(|b, x, y| b.xor(x, y)),
            _ => None,
        }
    }

    /// Returns true if 0 changes no bit of another value.
    pub(crate) fn keeps_with_zero(self) -> bool {
        use Collective::*;
        matches!(self, IAdd | Or | Xor | UMax)
    }

    /// The value that changes no bit of another one: a sum of -0 and it is -0, and the minimum of a
    /// NaN and it a NaN.
    pub(crate) fn neutral<'c>(self, b: &Build<'c>, ty: Ty<'c>) -> Result<Value<'c>> {
        match self {
            Collective::FAdd => b.float(ty, -0.0),
            Collective::FMin | Collective::FMax => b.float(ty, f64::NAN),
            _ => self.identity(b, ty),
        }
    }

    /// The operation of `redux.sync` (PTX ISA, `redux.sync`: integers of 32 bits) for values of
    /// type `ty`; narrower integers are extended for it.
    pub(crate) fn redux(self, ty: Ty<'_>) -> Option<Redux> {
        if !ty.is_int() {
            return None;
        }
        let of = |intrinsic, signed, bitwise| Redux {
            intrinsic,
            signed,
            bitwise,
        };
        let redux = match self {
            Collective::IAdd => of("llvm.nvvm.redux.sync.add", false, false),
            Collective::SMin => of("llvm.nvvm.redux.sync.min", true, false),
            Collective::SMax => of("llvm.nvvm.redux.sync.max", true, false),
            Collective::UMin => of("llvm.nvvm.redux.sync.umin", false, false),
            Collective::UMax => of("llvm.nvvm.redux.sync.umax", false, false),
            Collective::And => of("llvm.nvvm.redux.sync.and", false, true),
            Collective::Or => of("llvm.nvvm.redux.sync.or", false, true),
            Collective::Xor => of("llvm.nvvm.redux.sync.xor", false, true),
            Collective::FAdd
            | Collective::IMul
            | Collective::FMul
            | Collective::FMin
            | Collective::FMax => return None,
        };
        (redux.bitwise || ty.scalar_bits() <= 32).then_some(redux)
    }
}

/// A reduction of a warp in one instruction.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Redux {
    /// What LLVM calls it.
    pub(crate) intrinsic: &'static str,
    /// Narrower integers are extended by their sign.
    pub(crate) signed: bool,
    /// Each bit goes for itself: integers may be cut into words.
    pub(crate) bitwise: bool,
}
