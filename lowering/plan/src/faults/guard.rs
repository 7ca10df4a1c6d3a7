//! Guards: what keeps code from a fault of LLVM and can be left out by tests.

/// A rewrite of LLVM IR, or a choice of the code generator's features, that keeps code from a fault
/// of LLVM.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// 32-bit offsets that may wrap around are opaque before they are widened.
    ScaledOffset,
    /// No dot product is made of multiplications of bytes.
    ByteProducts,
    /// 16-bit values are held in 32-bit registers.
    PackedHigh,
    /// Values that leave a loop with divergent exits leave it in vector registers.
    LoopExits,
    /// Invocation ids under a mask that is not constant are opaque.
    MaskedId,
    /// The constant of a comparison is opaque in a select.
    NanSelect,
    /// Differences of zero and something are opaque.
    ZeroMinus,
    /// Products that are rounded to 16 bits are opaque.
    RoundedProduct,
    /// Moves between lanes with several uses are opaque.
    LaneMoves,
    /// Free values that a block with several predecessors gives to a phi are opaque.
    SharedBlocks,
    /// Reads of other lanes are calls of opaque functions while the optimiser runs.
    HiddenLanes,
    /// Divisions under a mask are plain divisions.
    MaskedDivision,
    /// Private arrays are counts of bytes.
    PrivateArrays,
    /// Minima and maxima of vectors of 16-bit integers are opaque.
    PackedExtremes,
}

impl Guard {
    /// All of them.
    pub const ALL: [Guard; 14] = [
        Guard::ScaledOffset,
        Guard::ByteProducts,
        Guard::PackedHigh,
        Guard::LoopExits,
        Guard::MaskedId,
        Guard::NanSelect,
        Guard::ZeroMinus,
        Guard::RoundedProduct,
        Guard::LaneMoves,
        Guard::SharedBlocks,
        Guard::HiddenLanes,
        Guard::MaskedDivision,
        Guard::PrivateArrays,
        Guard::PackedExtremes,
    ];
}

/// The guards that are in force: all of them, unless a test leaves some out.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// A bit for each guard that is left out.
    left_out: u32,
}

impl Guards {
    /// All but `left_out`.
    pub fn without(left_out: &[Guard]) -> Guards {
        Guards {
            left_out: left_out.iter().fold(0, |bits, guard| bits | bit(*guard)),
        }
    }

    /// Returns true if `guard` is in force.
    pub fn has(self, guard: Guard) -> bool {
        self.left_out & bit(guard) == 0
    }
}

fn bit(guard: Guard) -> u32 {
    1 << guard as u32
}

#[cfg(test)]
mod tests {
    use super::{Guard, Guards};

    #[test]
    fn each_guard_is_left_out_alone() {
        for left_out in Guard::ALL {
            let guards = Guards::without(&[left_out]);
            for guard in Guard::ALL {
                assert_eq!(guards.has(guard), guard != left_out);
                assert!(Guards::default().has(guard));
            }
        }
    }
}
