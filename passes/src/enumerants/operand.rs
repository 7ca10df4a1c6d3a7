//! Bits of operands: memory operands (SPIR-V 3.26), image operands (3.14), tensor operands
//! (SPV_ARM_tensors), controls of selections, loops and functions (3.22 to 3.24), fast-math modes
//! (3.15).

use super::Outcome::{self, Honoured, NoEffect};
use rspirv::grammar::OperandKind;
use spirv::{
    FPFastMathMode, FunctionControl, ImageOperands, LoopControl, MemoryAccess, SelectionControl,
    TensorOperands,
};

const HINT: Outcome = NoEffect("a hint");
const PROMISE: Outcome = NoEffect("a guarantee that is not used");
const FPGA: Outcome = NoEffect("a hint for FPGAs, which changes no result");

pub(super) const MEMORY: &[(MemoryAccess, Outcome)] = &[
    (MemoryAccess::VOLATILE, Honoured("memory.rs")),
    (MemoryAccess::ALIGNED, Honoured("memory.rs")),
    (MemoryAccess::NONTEMPORAL, HINT),
    (MemoryAccess::MAKE_POINTER_AVAILABLE, Honoured("memory.rs")),
    (MemoryAccess::MAKE_POINTER_VISIBLE, Honoured("memory.rs")),
    (
        MemoryAccess::NON_PRIVATE_POINTER,
        NoEffect("no access is assumed to be private: fences order all accesses"),
    ),
    (MemoryAccess::ALIAS_SCOPE_INTEL_MASK, PROMISE),
    (MemoryAccess::NO_ALIAS_INTEL_MASK, PROMISE),
];

pub(super) const IMAGE: &[(ImageOperands, Outcome)] = &[
    (ImageOperands::BIAS, Honoured("image/sample.rs")),
    (ImageOperands::LOD, Honoured("image/")),
    (ImageOperands::GRAD, Honoured("image/sample.rs")),
    (ImageOperands::CONST_OFFSET, Honoured("image/")),
    (ImageOperands::OFFSET, Honoured("image/")),
    (ImageOperands::CONST_OFFSETS, Honoured("image/sample.rs")),
    (ImageOperands::SAMPLE, Honoured("image/")),
    (ImageOperands::MIN_LOD, Honoured("image/sample.rs")),
    (ImageOperands::MAKE_TEXEL_AVAILABLE, Honoured("image/")),
    (ImageOperands::MAKE_TEXEL_VISIBLE, Honoured("image/")),
    (
        ImageOperands::NON_PRIVATE_TEXEL,
        NoEffect("no access is assumed to be private: fences order all accesses"),
    ),
    (ImageOperands::VOLATILE_TEXEL, Honoured("image/")),
    (
        ImageOperands::SIGN_EXTEND,
        NoEffect("the format says how components are extended"),
    ),
    (
        ImageOperands::ZERO_EXTEND,
        NoEffect("the format says how components are extended"),
    ),
    (ImageOperands::NONTEMPORAL, HINT),
    (ImageOperands::OFFSETS, Honoured("image/sample.rs")),
];

pub(super) const TENSOR: &[(TensorOperands, Outcome)] = &[
    (TensorOperands::NONTEMPORAL_ARM, HINT),
    (
        TensorOperands::OUT_OF_BOUNDS_VALUE_ARM,
        Honoured("tensor.rs"),
    ),
    (
        TensorOperands::MAKE_ELEMENT_AVAILABLE_ARM,
        Honoured("tensor.rs"),
    ),
    (
        TensorOperands::MAKE_ELEMENT_VISIBLE_ARM,
        Honoured("tensor.rs"),
    ),
    (
        TensorOperands::NON_PRIVATE_ELEMENT_ARM,
        NoEffect("no access is assumed to be private: fences order all accesses"),
    ),
];

pub(super) const LOOP: &[(LoopControl, Outcome)] = &[
    (LoopControl::UNROLL, Honoured("a hint to LLVM: unroll.rs")),
    (
        LoopControl::DONT_UNROLL,
        Honoured("a hint to LLVM: unroll.rs"),
    ),
    (LoopControl::DEPENDENCY_INFINITE, PROMISE),
    (LoopControl::DEPENDENCY_LENGTH, PROMISE),
    (LoopControl::MIN_ITERATIONS, PROMISE),
    (LoopControl::MAX_ITERATIONS, PROMISE),
    (LoopControl::ITERATION_MULTIPLE, PROMISE),
    (LoopControl::PEEL_COUNT, HINT),
    (
        LoopControl::PARTIAL_COUNT,
        Honoured("a hint to LLVM: unroll.rs"),
    ),
    (LoopControl::INITIATION_INTERVAL_ALTERA, FPGA),
    (LoopControl::MAX_CONCURRENCY_ALTERA, FPGA),
    (LoopControl::DEPENDENCY_ARRAY_ALTERA, PROMISE),
    (LoopControl::PIPELINE_ENABLE_ALTERA, FPGA),
    (LoopControl::LOOP_COALESCE_ALTERA, FPGA),
    (LoopControl::MAX_INTERLEAVING_ALTERA, FPGA),
    (LoopControl::SPECULATED_ITERATIONS_ALTERA, FPGA),
    (LoopControl::NO_FUSION_ALTERA, FPGA),
    (LoopControl::LOOP_COUNT_ALTERA, PROMISE),
    (LoopControl::MAX_REINVOCATION_DELAY_ALTERA, FPGA),
];

pub(super) const SELECTION: &[(SelectionControl, Outcome)] = &[
    (SelectionControl::FLATTEN, HINT),
    (SelectionControl::DONT_FLATTEN, HINT),
];

pub(super) const FUNCTION: &[(FunctionControl, Outcome)] = &[
    (FunctionControl::INLINE, HINT),
    (FunctionControl::DONT_INLINE, HINT),
    (FunctionControl::PURE, PROMISE),
    (FunctionControl::CONST, PROMISE),
    (FunctionControl::OPT_NONE_EXT, HINT),
];

pub(super) const FAST_MATH: &[(FPFastMathMode, Outcome)] = &[
    (FPFastMathMode::NOT_NAN, Honoured("control.rs")),
    (FPFastMathMode::NOT_INF, Honoured("control.rs")),
    (FPFastMathMode::NSZ, Honoured("control.rs")),
    (FPFastMathMode::ALLOW_RECIP, Honoured("control.rs")),
    (FPFastMathMode::FAST, Honoured("control.rs")),
    (FPFastMathMode::ALLOW_CONTRACT, Honoured("control.rs")),
    (FPFastMathMode::ALLOW_REASSOC, Honoured("control.rs")),
    (FPFastMathMode::ALLOW_TRANSFORM, Honoured("control.rs")),
];

/// The bits of an operand of this kind and what each does; `None` where the table has no bits of
/// the kind.
pub(super) fn bits(kind: OperandKind) -> Option<Vec<(u32, Outcome)>> {
    macro_rules! rows {
        ($table:ident) => {
            $table
                .iter()
                .map(|(bit, outcome)| (bit.bits(), *outcome))
                .collect()
        };
    }
    Some(match kind {
        OperandKind::MemoryAccess => rows!(MEMORY),
        OperandKind::ImageOperands => rows!(IMAGE),
        OperandKind::TensorOperands => rows!(TENSOR),
        OperandKind::LoopControl => rows!(LOOP),
        OperandKind::SelectionControl => rows!(SELECTION),
        OperandKind::FunctionControl => rows!(FUNCTION),
        OperandKind::FPFastMathMode => rows!(FAST_MATH),
        _ => return None, // another kind of operand
    })
}
