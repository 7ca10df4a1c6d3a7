//! Reports of FuzzX's folder `x86` that are about all targets.

use super::Verdict::{Fixed, Free, Guarded, NotTried, Right};
use super::{Folder, Origin, Report, Verdict};

/// What is not a number.
const NAN: Verdict = Free("the bits and the sign of a NaN, and whether it signals, are open");

/// Atomic operations in code.
const ATOMICS: Option<&str> = Some(
    "kernel with stores and additions that differ in order and scope on two branches: both stay, gfx942, gfx1201, gfx1250 and sm_90 at -O2",
);

const ALL: &str = "all";

const fn row(number: u32, what: &'static str, verdict: Verdict) -> Report {
    Report {
        origin: Origin::FuzzX {
            folder: Folder::X86,
            number,
        },
        what,
        gpus: ALL,
        verdict,
    }
}

/// The reports, by number.
#[rustfmt::skip] // One report is one line of the page.
pub(super) const REPORTS: &[Report] = &[
    row(12, "A 64-bit atomic store of two words becomes two plain stores.", Fixed { pull: 199592, tried: Some("kernel with such a store: one store of 64 bits, gfx942, gfx1201, gfx1250 and sm_90 at -O2") }),
    row(13, "The product of an odd number of true conditions, as -1, is 1.", Fixed { pull: 199401, tried: None }),
    row(35, "A product by -1 flips the sign of a NaN.", NAN),
    row(39, "A loaded value that is widened with and without its sign is widened with it in both places.", Right("kernel with bytes and 16-bit values, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 and -O2")),
    row(40, "Two words without common bits count as such after a shift, though they may have some then.", Right("kernel with such shifts, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 and -O2; bits that a shift of both drops cannot become common")),
    row(62, "-0 - x flips the sign of a NaN.", NAN),
    row(64, "Two branches on an undefined condition count as the same.", Guarded("undefined_values")),
    row(88, "A loop whose ends both move runs a wrong number of times.", Right("kernel with four such loops, signed, unsigned and with wrap-around, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O1 to -O3")),
    row(112, "A float that was widened and made narrow again still signals.", NAN),
    row(115, "A product by 1 still signals.", NAN),
    row(116, "A sum with -0 still signals.", NAN),
    row(117, "A quotient by -1 still signals.", NAN),
    row(123, "A constant NaN stays where a promise excludes it.", Free("the result is undefined where FPFastMathMode excludes the value")),
    row(156, "A comparison with a NaN that a promise excludes is a constant.", Free("the result is undefined where FPFastMathMode excludes the value")),
    row(181, "An address that leaves its object for a moment counts as one that does not.", NotTried("no module is known whose value or access this changes")),
    row(182, "Two equal fences at the ends of two branches become one after both.", Right("one fence after both orders what each ordered; a kernel with fences of two kinds of memory keeps both, gfx942, gfx1201 and sm_90 at -O1 and -O3")),
    row(195, "A number that is scaled twice by huge powers of two is small.", Right("kernel with Ldexp, where the result is defined")),
    row(207, "The positive difference of two infinities is NaN.", Right("OpenCL kernel with `fdim` of variables and constants, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 and -O2. The function is splitbar's own")),
    row(226, "Two atomic operations of different orders at the ends of two branches become one, of the weaker order.", Fixed { pull: 199892, tried: ATOMICS }),
    row(238, "As 226, for scopes.", Fixed { pull: 199892, tried: ATOMICS }),
    row(248, "A promise that a result is finite is taken for one of an operand.", Free("NotInf speaks of operands and results")),
    row(252, "A branch on an undefined condition comes into being.", Guarded("undefined_values")),
    row(253, "A sum of words without common bits is said not to overflow.", Right("it cannot: counted for all 8-bit values")),
    row(261, "A comparison moved out of a loop keeps a promise about signs.", Fixed { pull: 200344, tried: Some("kernels with recurrences, reductions and switches in loops are right") }),
];
