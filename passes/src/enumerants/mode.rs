//! Execution modes (SPIR-V 3.6), and the modes of floating-point operations (3.16 to 3.18).

use super::Outcome::{self, Honoured, NoEffect, Refused};
use crate::diagnostic::Code;

/// The outcome for an execution mode.
pub fn execution_mode(one: spirv::ExecutionMode) -> Outcome {
    use spirv::ExecutionMode as E;
    // One table: without a row for a new mode of the grammar this does not compile.
    match one {
        E::LocalSize | E::LocalSizeId => Honoured("the size of the workgroup"),
        E::LocalSizeHint
        | E::VecTypeHint
        | E::LocalSizeHintId
        | E::MaxWorkgroupSizeINTEL
        | E::MaxWorkDimINTEL
        | E::NoGlobalOffsetINTEL => NoEffect("a hint or a guarantee about the launch"),
        E::ContractionOff => Honoured("the flags of floating-point operations"),
        E::FPFastMathDefault => {
            NoEffect("a permission: with FloatControls2 an operation has only its own flags")
        }
        E::DenormPreserve
        | E::SignedZeroInfNanPreserve
        | E::RoundingModeRTE
        | E::FloatingPointModeIEEEINTEL => {
            Honoured("both back ends always do this, except for divisions and roots: quotient.rs")
        }
        E::SubgroupUniformControlFlowKHR => NoEffect("a guarantee that is not used"),
        E::MaximallyReconvergesKHR => Honoured(
            "with and without the mode, invocations reconverge as structured control flow defines: tangle.rs",
        ),
        E::QuadDerivativesKHR | E::DerivativeGroupQuadsKHR | E::DerivativeGroupLinearKHR => {
            Honoured("derivatives: derivative.rs")
        }
        E::NumSIMDWorkitemsINTEL
        | E::SchedulerTargetFmaxMhzINTEL
        | E::MaximumRegistersINTEL
        | E::NamedMaximumRegistersINTEL => {
            NoEffect("a hint for code generation on another device, which changes no result")
        }
        E::SubgroupSize => Honoured(
            "a wave or a power of two of its invocations; a size above that of a wave is SB0310",
        ),
        E::SubgroupsPerWorkgroup | E::SubgroupsPerWorkgroupId => Honoured(
            "a fixed workgroup size with another number is SB0310; otherwise the launch must choose this number",
        ),
        E::Invocations
        | E::SpacingEqual
        | E::SpacingFractionalEven
        | E::SpacingFractionalOdd
        | E::VertexOrderCw
        | E::VertexOrderCcw
        | E::PixelCenterInteger
        | E::OriginUpperLeft
        | E::OriginLowerLeft
        | E::EarlyFragmentTests
        | E::PointMode
        | E::Xfb
        | E::DepthReplacing
        | E::DepthGreater
        | E::DepthLess
        | E::DepthUnchanged
        | E::InputPoints
        | E::InputLines
        | E::InputLinesAdjacency
        | E::Triangles
        | E::InputTrianglesAdjacency
        | E::Quads
        | E::Isolines
        | E::OutputVertices
        | E::OutputPoints
        | E::OutputLineStrip
        | E::OutputTriangleStrip
        | E::Initializer
        | E::Finalizer
        | E::NonCoherentColorAttachmentReadEXT
        | E::NonCoherentDepthAttachmentReadEXT
        | E::NonCoherentStencilAttachmentReadEXT
        | E::PostDepthCoverage
        | E::DenormFlushToZero
        | E::RoundingModeRTZ
        | E::NonCoherentTileAttachmentReadQCOM
        | E::TileShadingRateQCOM
        | E::EarlyAndLateFragmentTestsAMD
        | E::StencilRefReplacingEXT
        | E::CoalescingAMDX
        | E::IsApiEntryAMDX
        | E::MaxNodeRecursionAMDX
        | E::StaticNumWorkgroupsAMDX
        | E::ShaderIndexAMDX
        | E::MaxNumWorkgroupsAMDX
        | E::StencilRefUnchangedFrontAMD
        | E::StencilRefGreaterFrontAMD
        | E::StencilRefLessFrontAMD
        | E::StencilRefUnchangedBackAMD
        | E::StencilRefGreaterBackAMD
        | E::StencilRefLessBackAMD
        | E::RequireFullQuadsKHR
        | E::SharesInputWithAMDX
        | E::OutputLinesEXT
        | E::OutputPrimitivesEXT
        | E::OutputTrianglesEXT
        | E::PixelInterlockOrderedEXT
        | E::PixelInterlockUnorderedEXT
        | E::SampleInterlockOrderedEXT
        | E::SampleInterlockUnorderedEXT
        | E::ShadingRateInterlockOrderedEXT
        | E::ShadingRateInterlockUnorderedEXT
        | E::Shader64BitIndexingEXT
        | E::SharedLocalMemorySizeINTEL
        | E::RoundingModeRTPINTEL
        | E::RoundingModeRTNINTEL
        | E::FloatingPointModeALTINTEL
        | E::StreamingInterfaceINTEL
        | E::RegisterMapInterfaceINTEL
        | E::NamedBarrierCountINTEL
        | E::MaximumRegistersIdINTEL => Refused(Code::UnsupportedMode),
    }
}
/// The outcome for a rounding mode.
pub fn rounding_mode(one: spirv::FPRoundingMode) -> Outcome {
    use spirv::FPRoundingMode as E;
    match one {
        E::RTE | E::RTZ | E::RTP | E::RTN => Honoured(
            "conversions: convert.rs; to 8-bit floats, rounding that is not to nearest is SB0300",
        ),
    }
}
/// The outcome for a mode of denormalized numbers, which only FunctionDenormModeINTEL names.
pub fn denorm_mode(one: spirv::FPDenormMode) -> Outcome {
    use spirv::FPDenormMode as E;
    match one {
        E::Preserve | E::FlushToZero => Refused(Code::UnsupportedDecoration),
    }
}
/// The outcome for a mode of operation, which only FunctionFloatingPointModeINTEL names.
pub fn operation_mode(one: spirv::FPOperationMode) -> Outcome {
    use spirv::FPOperationMode as E;
    match one {
        E::IEEE | E::ALT => Refused(Code::UnsupportedDecoration),
    }
}
