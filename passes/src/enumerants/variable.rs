//! Storage classes (SPIR-V 3.7) and built-in variables (3.21).

use super::Outcome::{self, Honoured, Refused};
use crate::diagnostic::Code;

/// The outcome for a storage class.
pub fn storage_class(one: spirv::StorageClass) -> Outcome {
    use spirv::StorageClass as E;
    match one {
        E::UniformConstant
        | E::Input
        | E::Uniform
        | E::Workgroup
        | E::CrossWorkgroup
        | E::Private
        | E::Function
        | E::Generic
        | E::PushConstant
        | E::StorageBuffer
        | E::PhysicalStorageBuffer => {
            Honoured("memory, or values of the kernel: abi.rs, globals.rs, prologue.rs")
        }
        E::Image => Honoured("texels that atomic operations change: image/atomic.rs"),
        E::Output
        | E::AtomicCounter
        | E::TileImageEXT
        | E::TileAttachmentQCOM
        | E::NodePayloadAMDX
        | E::CallableDataKHR
        | E::IncomingCallableDataKHR
        | E::RayPayloadKHR
        | E::HitAttributeKHR
        | E::IncomingRayPayloadKHR
        | E::ShaderRecordBufferKHR
        | E::HitObjectAttributeNV
        | E::TaskPayloadWorkgroupEXT
        | E::HitObjectAttributeEXT
        | E::CodeSectionINTEL
        | E::DeviceOnlyALTERA
        | E::HostOnlyALTERA => Refused(Code::UnsupportedStorageClass),
    }
}
/// The outcome for a built-in variable.
pub fn built_in(one: spirv::BuiltIn) -> Outcome {
    use spirv::BuiltIn as E;
    // One table: without a row for a new built-in of the grammar this does not compile.
    match one {
        E::NumWorkgroups
        | E::WorkgroupSize
        | E::WorkgroupId
        | E::LocalInvocationId
        | E::GlobalInvocationId
        | E::LocalInvocationIndex
        | E::WorkDim
        | E::GlobalSize
        | E::EnqueuedWorkgroupSize
        | E::GlobalOffset
        | E::GlobalLinearId
        | E::SubgroupSize
        | E::SubgroupMaxSize
        | E::NumSubgroups
        | E::NumEnqueuedSubgroups
        | E::SubgroupId
        | E::SubgroupLocalInvocationId
        | E::SubgroupEqMask
        | E::SubgroupGeMask
        | E::SubgroupGtMask
        | E::SubgroupLeMask
        | E::SubgroupLtMask
        | E::DeviceIndex => Honoured("builtin.rs"),
        E::Position
        | E::PointSize
        | E::ClipDistance
        | E::CullDistance
        | E::VertexId
        | E::InstanceId
        | E::PrimitiveId
        | E::InvocationId
        | E::Layer
        | E::ViewportIndex
        | E::TessLevelOuter
        | E::TessLevelInner
        | E::TessCoord
        | E::PatchVertices
        | E::FragCoord
        | E::PointCoord
        | E::FrontFacing
        | E::SampleId
        | E::SamplePosition
        | E::SampleMask
        | E::FragDepth
        | E::HelperInvocation
        | E::VertexIndex
        | E::InstanceIndex
        | E::CoreIDARM
        | E::CoreCountARM
        | E::CoreMaxIDARM
        | E::WarpIDARM
        | E::WarpMaxIDARM
        | E::BaseVertex
        | E::BaseInstance
        | E::DrawIndex
        | E::PrimitiveShadingRateKHR
        | E::ViewIndex
        | E::ShadingRateKHR
        | E::TileOffsetQCOM
        | E::TileDimensionQCOM
        | E::TileApronSizeQCOM
        | E::BaryCoordNoPerspAMD
        | E::BaryCoordNoPerspCentroidAMD
        | E::BaryCoordNoPerspSampleAMD
        | E::BaryCoordSmoothAMD
        | E::BaryCoordSmoothCentroidAMD
        | E::BaryCoordSmoothSampleAMD
        | E::BaryCoordPullModelAMD
        | E::FragStencilRefEXT
        | E::RemainingRecursionLevelsAMDX
        | E::ShaderIndexAMDX
        | E::SamplerHeapEXT
        | E::ResourceHeapEXT
        | E::ViewportMaskNV
        | E::SecondaryPositionNV
        | E::SecondaryViewportMaskNV
        | E::PositionPerViewNV
        | E::ViewportMaskPerViewNV
        | E::FullyCoveredEXT
        | E::TaskCountNV
        | E::PrimitiveCountNV
        | E::PrimitiveIndicesNV
        | E::ClipDistancePerViewNV
        | E::CullDistancePerViewNV
        | E::LayerPerViewNV
        | E::MeshViewCountNV
        | E::MeshViewIndicesNV
        | E::BaryCoordKHR
        | E::BaryCoordNoPerspKHR
        | E::FragSizeEXT
        | E::FragInvocationCountEXT
        | E::PrimitivePointIndicesEXT
        | E::PrimitiveLineIndicesEXT
        | E::PrimitiveTriangleIndicesEXT
        | E::CullPrimitiveEXT
        | E::LaunchIdKHR
        | E::LaunchSizeKHR
        | E::WorldRayOriginKHR
        | E::WorldRayDirectionKHR
        | E::ObjectRayOriginKHR
        | E::ObjectRayDirectionKHR
        | E::RayTminKHR
        | E::RayTmaxKHR
        | E::InstanceCustomIndexKHR
        | E::ObjectToWorldKHR
        | E::WorldToObjectKHR
        | E::HitTNV
        | E::HitKindKHR
        | E::CurrentRayTimeNV
        | E::HitTriangleVertexPositionsKHR
        | E::HitMicroTriangleVertexPositionsNV
        | E::HitMicroTriangleVertexBarycentricsNV
        | E::IncomingRayFlagsKHR
        | E::RayGeometryIndexKHR
        | E::HitIsSphereNV
        | E::HitIsLSSNV
        | E::HitSpherePositionNV
        | E::WarpsPerSMNV
        | E::SMCountNV
        | E::WarpIDNV
        | E::SMIDNV
        | E::HitLSSPositionsNV
        | E::HitKindFrontFacingMicroTriangleNV
        | E::HitKindBackFacingMicroTriangleNV
        | E::HitSphereRadiusNV
        | E::HitLSSRadiiNV
        | E::ClusterIDNV
        | E::CullMaskKHR => Refused(Code::UnsupportedBuiltIn),
    }
}
