//! Decorations (SPIR-V 3.20).

use super::Outcome::{self, Honoured, NoEffect, Refused};
use crate::diagnostic::Code;

/// The outcome for a decoration.
pub fn decoration(one: spirv::Decoration) -> Outcome {
    use spirv::Decoration as E;
    // One table: without a row for a new decoration of the grammar this does not compile.
    match one {
        E::RelaxedPrecision => {
            NoEffect("a permission to compute with less precision, which is not used")
        }
        E::SpecId => Honoured("the values of specialization constants"),
        E::Block | E::BufferBlock => {
            Honoured("blocks and their class: arguments, arrays of descriptors, read-only buffers")
        }
        E::RowMajor | E::ColMajor | E::ArrayStride | E::MatrixStride | E::CPacked | E::Offset => {
            Honoured("the layout of types: layout.rs")
        }
        E::GLSLShared | E::GLSLPacked => {
            NoEffect("the offsets that the module gives are the layout")
        }
        E::BuiltIn => Honoured("built-in variables, by the table of built-ins"),
        E::NoPerspective
        | E::Flat
        | E::Patch
        | E::Centroid
        | E::Sample
        | E::Invariant
        | E::Stream
        | E::Location
        | E::Component
        | E::Index
        | E::XfbBuffer
        | E::XfbStride
        | E::InputAttachmentIndex => NoEffect(
            "about inputs and outputs of other stages; in a kernel an input that is not a built-in is SB0304",
        ),
        E::Restrict | E::RestrictPointer | E::AliasScopeINTEL | E::NoAliasINTEL => NoEffect(
            "a guarantee that no other variable refers to the memory; the lowering does not rely on it",
        ),
        E::Aliased => Honoured(
            "buffers that may be others are not read-only, and no copy of them is promoted",
        ),
        E::AliasedPointer => {
            NoEffect("no two pointers to buffers are assumed to be different memory")
        }
        E::Volatile | E::Coherent => {
            Honoured("every access that the decoration reaches: analysis/qualifiers.rs")
        }
        E::Constant => Honoured("strings of printf; otherwise a guarantee that is not used"),
        E::NonWritable => Honoured("read-only buffers, uniformity"),
        E::NonReadable
        | E::Uniform
        | E::UniformId
        | E::MaxByteOffset
        | E::MaxByteOffsetId
        | E::NoSignedWrap
        | E::NoUnsignedWrap => NoEffect("a guarantee that is not used"),
        E::SaturatedConversion
        | E::FPRoundingMode
        | E::SaturatedToLargestFloat8NormalConversionEXT => {
            Honoured("conversions: convert.rs; on other instructions SB0370")
        }
        E::Binding | E::DescriptorSet => Honoured("arguments and what a buffer is"),
        E::FuncParamAttr => {
            Honoured("ByVal: a copy for the callee; the others are guarantees that are not used")
        }
        E::FPFastMathMode | E::NoContraction => Honoured("the flags of floating-point operations"),
        E::LinkageAttributes => Honoured("linking; a missing import is SB0309"),
        E::Alignment => {
            Honoured("the alignment of a variable; for a pointer a guarantee that is not used")
        }
        E::NonUniform => Honoured("descriptors are loaded by each lane"),
        E::CounterBuffer | E::UserSemantic | E::UserTypeGOOGLE | E::HostAccessINTEL => {
            NoEffect("for the host's reflection")
        }
        E::CacheControlLoadINTEL | E::CacheControlStoreINTEL => {
            NoEffect("a hint or a guarantee about caches, which changes no result")
        }
        E::RegisterALTERA
        | E::MemoryALTERA
        | E::NumbanksALTERA
        | E::BankwidthALTERA
        | E::MaxPrivateCopiesALTERA
        | E::SinglepumpALTERA
        | E::DoublepumpALTERA
        | E::MaxReplicatesALTERA
        | E::SimpleDualPortALTERA
        | E::MergeALTERA
        | E::BankBitsALTERA
        | E::ForcePow2DepthALTERA
        | E::StridesizeALTERA
        | E::WordsizeALTERA
        | E::TrueDualPortALTERA
        | E::BurstCoalesceALTERA
        | E::CacheSizeALTERA
        | E::DontStaticallyCoalesceALTERA
        | E::PrefetchALTERA
        | E::StallEnableALTERA
        | E::FuseLoopsInFunctionALTERA
        | E::MathOpDSPModeALTERA
        | E::InitiationIntervalALTERA
        | E::MaxConcurrencyALTERA
        | E::PipelineEnableALTERA
        | E::BufferLocationALTERA
        | E::StallFreeALTERA
        | E::LatencyControlLabelALTERA
        | E::LatencyControlConstraintALTERA
        | E::ConduitKernelArgumentALTERA
        | E::RegisterMapKernelArgumentALTERA
        | E::MMHostInterfaceAddressWidthALTERA
        | E::MMHostInterfaceDataWidthALTERA
        | E::MMHostInterfaceLatencyALTERA
        | E::MMHostInterfaceReadWriteModeALTERA
        | E::MMHostInterfaceMaxBurstALTERA
        | E::MMHostInterfaceWaitRequestALTERA
        | E::StableKernelArgumentALTERA
        | E::ImplementInRegisterMapALTERA => {
            NoEffect("a hint for the layout of FPGAs, which changes no result")
        }
        E::AlignmentId
        | E::WeightTextureQCOM
        | E::BlockMatchTextureQCOM
        | E::BlockMatchSamplerQCOM
        | E::ExplicitInterpAMD
        | E::NodeSharesPayloadLimitsWithAMDX
        | E::NodeMaxPayloadsAMDX
        | E::TrackFinishWritingAMDX
        | E::PayloadNodeNameAMDX
        | E::PayloadNodeBaseIndexAMDX
        | E::PayloadNodeSparseArrayAMDX
        | E::PayloadNodeArraySizeAMDX
        | E::PayloadDispatchIndirectAMDX
        | E::ArrayStrideIdEXT
        | E::OffsetIdEXT
        | E::OverrideCoverageNV
        | E::PassthroughNV
        | E::ViewportRelativeNV
        | E::SecondaryViewportRelativeNV
        | E::PerPrimitiveEXT
        | E::PerViewNV
        | E::PerTaskNV
        | E::PerVertexKHR
        | E::MemberOffsetNV
        | E::HitObjectShaderRecordBufferNV
        | E::HitObjectShaderRecordBufferEXT
        | E::BankNV
        | E::BindlessSamplerNV
        | E::BindlessImageNV
        | E::BoundSamplerNV
        | E::BoundImageNV
        | E::SIMTCallINTEL
        | E::ReferencedIndirectlyINTEL
        | E::ClobberINTEL
        | E::SideEffectsINTEL
        | E::VectorComputeVariableINTEL
        | E::FuncParamIOKindINTEL
        | E::VectorComputeFunctionINTEL
        | E::StackCallINTEL
        | E::GlobalVariableOffsetINTEL
        | E::FunctionRoundingModeINTEL
        | E::FunctionDenormModeINTEL
        | E::IOPipeStorageALTERA
        | E::FunctionFloatingPointModeINTEL
        | E::SingleElementVectorINTEL
        | E::VectorComputeCallableFunctionINTEL
        | E::MediaBlockIOINTEL
        | E::FPMaxErrorDecorationINTEL
        | E::InitModeALTERA
        | E::ConditionalINTEL => Refused(Code::UnsupportedDecoration),
    }
}
