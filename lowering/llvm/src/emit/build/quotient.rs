//! Divisions and square roots, as exact as the environment of the kernel asks for.
//!
//! | environment | quotient | square root |
//! |---|---|---|
//! | Vulkan, appendix "Precision and Operation of SPIR-V Instructions" | 2.5 ULP for divisors in [2^-126, 2^126] (16 bits: [2^-14, 2^14]); subnormal numbers may be flushed | as `1 / inversesqrt(x)`: 2 ULP and the quotient's |
//! | OpenCL C 3.0, section 7.4, without `-cl-fp32-correctly-rounded-divide-sqrt` | 2.5 ULP | 3 ULP |
//!
//! [`Quotient::Approximate`] multiplies by the hardware's reciprocal (1 ULP, AMDGPUUsage and the
//! instruction set manuals), or is `div.approx` (2 ULP in that range) and `sqrt.approx` (2^-23
//! relative; PTX ISA, "div", "sqrt"). [`Quotient::Bounded`] keeps its bound for every operand:
//! `!fpmath` on AMDGPU, `div.full` (2 ULP) and `sqrt.approx` on NVPTX.
//!
//! What a module says of its floats comes first (SPV_KHR_float_controls and its second version): a
//! width whose subnormal numbers, zeros, infinities and NaNs are to be kept is bounded, one with a
//! rounding mode is rounded.

use crate::ffi::Ty;
use spirv::{Capability, ExecutionMode};
use splitbar_passes::module::{Declarations, Id};
use splitbar_plan::target::Arch;

/// How divisions and square roots of one width are computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Quotient {
    /// Correctly rounded.
    #[default]
    Rounded,
    /// Within OpenCL's bounds, whatever the operands are.
    Bounded,
    /// Within Vulkan's bounds, where the divisor and its reciprocal are normal numbers.
    Approximate,
}

/// What is done for the widths that have a choice; doubles are always rounded.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Quotients {
    /// Of 16-bit numbers.
    pub(crate) half: Quotient,
    /// Of 32-bit numbers.
    pub(crate) single: Quotient,
    /// True if the target is an NVIDIA GPU.
    pub(super) nvptx: bool,
}

impl Quotients {
    /// What the entry point `function` allows. `rounded` is the option for correctly rounded ones.
    pub(crate) fn analyze(
        declarations: &Declarations<'_>,
        function: Id,
        arch: &Arch,
        rounded: bool,
    ) -> Quotients {
        let nvptx = matches!(arch, Arch::Nvptx(_));
        let width = |bits: u32| match bits {
            _ if rounded => Quotient::Rounded,
            // OpenCL asks for more of halves than of floats: cl_khr_fp16 has them rounded.
            16 if declarations.has_capability(Capability::Kernel) => Quotient::Rounded,
            _ => allowed(declarations, function, bits),
        };
        Quotients {
            half: width(16),
            single: width(32),
            nvptx,
        }
    }

    pub(super) fn of_type(self, ty: Ty<'_>, brain: bool) -> Quotient {
        match ty.scalar_bits() {
            16 if !brain => self.half,
            32 => self.single,
            _ => Quotient::Rounded,
        }
    }
}

/// What the modes of `function` leave of what the environment allows for numbers of `bits` bits.
fn allowed(declarations: &Declarations<'_>, function: Id, bits: u32) -> Quotient {
    use ExecutionMode as Mode;
    let entries = declarations.entry_points.iter();
    let entries = entries.filter(|entry| entry.function == function);
    let modes: Vec<_> = entries.flat_map(|entry| &entry.modes).collect();
    let has = |wanted: Mode| {
        modes.iter().any(|mode| {
            let words = mode.operands();
            words.get(1) == Some(&(wanted as u32)) && words.get(2) == Some(&bits)
        })
    };
    let rounds = [
        Mode::RoundingModeRTE,
        Mode::RoundingModeRTZ,
        Mode::FloatingPointModeIEEEINTEL,
    ];
    let keeps = [Mode::DenormPreserve, Mode::SignedZeroInfNanPreserve];
    if rounds.into_iter().any(has) {
        Quotient::Rounded
    } else if declarations.has_capability(Capability::Kernel)
        || declarations.has_capability(Capability::FloatControls2)
        || keeps.into_iter().any(has)
    {
        Quotient::Bounded
    } else {
        Quotient::Approximate
    }
}
