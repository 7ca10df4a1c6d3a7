//! What the emitter may promise LLVM, and by which words of SPIR-V. A promise that does not hold
//! makes poison, or undefined behaviour, of which LLVM takes more than SPIR-V gives: so a flag that
//! is not here is not written.

use super::build::fast::{APPROXIMATE, CONTRACT, NO_SIGNED_ZEROS, REASSOC, RECIPROCAL};

/// Fast-math flags by the bits of FP Fast Math Mode (SPIR-V 1.6, section 3.15). NotNaN, NotInf and
/// what Fast says of both give none: where such a number occurs SPIR-V has a value, which is
/// undefined, and `nnan` and `ninf` have poison.
pub(super) const FAST_MATH: [(u32, u32); 6] = [
    (0x4, NO_SIGNED_ZEROS),
    (0x8, RECIPROCAL),
    (
        0x10,
        NO_SIGNED_ZEROS | RECIPROCAL | CONTRACT | REASSOC | APPROXIMATE,
    ),
    (0x10000, CONTRACT),
    (0x20000, REASSOC),
    (0x40000, REASSOC | CONTRACT),
];
