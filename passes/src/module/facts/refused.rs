//! Instructions that are refused by name: a GLCompute or Kernel module can have some of them, and
//! none is lowered. Each names what it belongs to.

use super::{Class, Facts, facts};
use spirv::Op;

/// Instructions with one reason, and their source.
struct Refused {
    facts: Facts,
    ops: &'static [Op],
}

const fn refused(reason: &'static str, source: &'static str, ops: &'static [Op]) -> Refused {
    Refused {
        facts: facts(Class::Refused(reason), source),
        ops,
    }
}

/// The refused instructions by opcode.
pub(super) fn rows() -> impl Iterator<Item = (u16, &'static Facts)> {
    let rows = REFUSED.iter();
    rows.flat_map(|row| row.ops.iter().map(|op| (*op as u16, &row.facts)))
}

#[rustfmt::skip]
const REFUSED: &[Refused] = &[
    refused("geometry shaders", "3.52.19", &[
        Op::EmitVertex, Op::EndPrimitive, Op::EmitStreamVertex, Op::EndStreamPrimitive,
    ]),
    refused("pipes", "3.52.23", &[
        Op::ReadPipe, Op::WritePipe, Op::ReservedReadPipe, Op::ReservedWritePipe, Op::ReserveReadPipePackets, Op::ReserveWritePipePackets,
        Op::CommitReadPipe, Op::CommitWritePipe, Op::IsValidReserveId, Op::GetNumPipePackets, Op::GetMaxPipePackets,
        Op::GroupReserveReadPipePackets, Op::GroupReserveWritePipePackets, Op::GroupCommitReadPipe, Op::GroupCommitWritePipe,
        Op::CreatePipeFromPipeStorage,
    ]),
    refused("device-side enqueue", "3.52.22", &[
        Op::EnqueueMarker, Op::EnqueueKernel, Op::GetKernelNDrangeSubGroupCount, Op::GetKernelNDrangeMaxSubGroupSize,
        Op::GetKernelWorkGroupSize, Op::GetKernelPreferredWorkGroupSizeMultiple, Op::RetainEvent, Op::ReleaseEvent, Op::CreateUserEvent,
        Op::IsValidEvent, Op::SetUserEventStatus, Op::CaptureEventProfilingInfo, Op::GetDefaultQueue, Op::BuildNDRange,
        Op::GetKernelLocalSizeForSubgroupCount, Op::GetKernelMaxNumSubgroups,
    ]),
    refused("attachments of a fragment shader", "SPV_EXT_shader_tile_image", &[
        Op::ColorAttachmentReadEXT, Op::DepthAttachmentReadEXT, Op::StencilAttachmentReadEXT,
    ]),
    refused("graphs", "SPV_ARM_graph", &[
        Op::GraphConstantARM, Op::GraphEntryPointARM, Op::GraphARM, Op::GraphInputARM, Op::GraphSetOutputARM, Op::GraphEndARM,
        Op::TypeGraphARM,
    ]),
    refused("ray tracing", "SPV_KHR_ray_tracing, SPV_KHR_ray_query and their extensions", &[
        Op::TraceRayKHR, Op::ExecuteCallableKHR, Op::ConvertUToAccelerationStructureKHR, Op::IgnoreIntersectionKHR, Op::TerminateRayKHR,
        Op::TypeRayQueryKHR, Op::RayQueryInitializeKHR, Op::RayQueryTerminateKHR, Op::RayQueryGenerateIntersectionKHR,
        Op::RayQueryConfirmIntersectionKHR, Op::RayQueryProceedKHR, Op::RayQueryGetIntersectionTypeKHR, Op::HitObjectRecordHitMotionNV,
        Op::HitObjectRecordHitWithIndexMotionNV, Op::HitObjectRecordMissMotionNV, Op::HitObjectGetWorldToObjectNV,
        Op::HitObjectGetObjectToWorldNV, Op::HitObjectGetObjectRayDirectionNV, Op::HitObjectGetObjectRayOriginNV,
        Op::HitObjectTraceRayMotionNV, Op::HitObjectGetShaderRecordBufferHandleNV, Op::HitObjectGetShaderBindingTableRecordIndexNV,
        Op::HitObjectRecordEmptyNV, Op::HitObjectTraceRayNV, Op::HitObjectRecordHitNV, Op::HitObjectRecordHitWithIndexNV,
        Op::HitObjectRecordMissNV, Op::HitObjectExecuteShaderNV, Op::HitObjectGetCurrentTimeNV, Op::HitObjectGetAttributesNV,
        Op::HitObjectGetHitKindNV, Op::HitObjectGetPrimitiveIndexNV, Op::HitObjectGetGeometryIndexNV, Op::HitObjectGetInstanceIdNV,
        Op::HitObjectGetInstanceCustomIndexNV, Op::HitObjectGetWorldRayDirectionNV, Op::HitObjectGetWorldRayOriginNV,
        Op::HitObjectGetRayTMaxNV, Op::HitObjectGetRayTMinNV, Op::HitObjectIsEmptyNV, Op::HitObjectIsHitNV, Op::HitObjectIsMissNV,
        Op::ReorderThreadWithHitObjectNV, Op::ReorderThreadWithHintNV, Op::TypeHitObjectNV, Op::FetchMicroTriangleVertexPositionNV,
        Op::FetchMicroTriangleVertexBarycentricNV, Op::HitObjectRecordFromQueryEXT, Op::HitObjectRecordMissEXT,
        Op::HitObjectRecordMissMotionEXT, Op::HitObjectGetIntersectionTriangleVertexPositionsEXT, Op::HitObjectGetRayFlagsEXT,
        Op::HitObjectSetShaderBindingTableRecordIndexEXT, Op::HitObjectReorderExecuteShaderEXT, Op::HitObjectTraceReorderExecuteEXT,
        Op::HitObjectTraceMotionReorderExecuteEXT, Op::TypeHitObjectEXT, Op::ReorderThreadWithHintEXT, Op::ReorderThreadWithHitObjectEXT,
        Op::HitObjectTraceRayEXT, Op::HitObjectTraceRayMotionEXT, Op::HitObjectRecordEmptyEXT, Op::HitObjectExecuteShaderEXT,
        Op::HitObjectGetCurrentTimeEXT, Op::HitObjectGetAttributesEXT, Op::HitObjectGetHitKindEXT, Op::HitObjectGetPrimitiveIndexEXT,
        Op::HitObjectGetGeometryIndexEXT, Op::HitObjectGetInstanceIdEXT, Op::HitObjectGetInstanceCustomIndexEXT,
        Op::HitObjectGetObjectRayOriginEXT, Op::HitObjectGetObjectRayDirectionEXT, Op::HitObjectGetWorldRayDirectionEXT,
        Op::HitObjectGetWorldRayOriginEXT, Op::HitObjectGetObjectToWorldEXT, Op::HitObjectGetWorldToObjectEXT, Op::HitObjectGetRayTMaxEXT,
        Op::ReportIntersectionKHR, Op::IgnoreIntersectionNV, Op::TerminateRayNV, Op::TraceNV, Op::TraceMotionNV, Op::TraceRayMotionNV,
        Op::RayQueryGetIntersectionTriangleVertexPositionsKHR, Op::TypeAccelerationStructureKHR, Op::ExecuteCallableNV,
        Op::RayQueryGetIntersectionClusterIdNV, Op::HitObjectGetClusterIdNV, Op::HitObjectGetRayTMinEXT,
        Op::HitObjectGetShaderBindingTableRecordIndexEXT, Op::HitObjectGetShaderRecordBufferHandleEXT, Op::HitObjectIsEmptyEXT,
        Op::HitObjectIsHitEXT, Op::HitObjectIsMissEXT, Op::RayQueryGetIntersectionSpherePositionNV,
        Op::RayQueryGetIntersectionSphereRadiusNV, Op::RayQueryGetIntersectionLSSPositionsNV, Op::RayQueryGetIntersectionLSSRadiiNV,
        Op::RayQueryGetIntersectionLSSHitValueNV, Op::HitObjectGetSpherePositionNV, Op::HitObjectGetSphereRadiusNV,
        Op::HitObjectGetLSSPositionsNV, Op::HitObjectGetLSSRadiiNV, Op::HitObjectIsSphereHitNV, Op::HitObjectIsLSSHitNV,
        Op::RayQueryIsSphereHitNV, Op::RayQueryIsLSSHitNV, Op::RayQueryGetRayTMinKHR, Op::RayQueryGetRayFlagsKHR,
        Op::RayQueryGetIntersectionTKHR, Op::RayQueryGetIntersectionInstanceCustomIndexKHR, Op::RayQueryGetIntersectionInstanceIdKHR,
        Op::RayQueryGetIntersectionInstanceShaderBindingTableRecordOffsetKHR, Op::RayQueryGetIntersectionGeometryIndexKHR,
        Op::RayQueryGetIntersectionPrimitiveIndexKHR, Op::RayQueryGetIntersectionBarycentricsKHR, Op::RayQueryGetIntersectionFrontFaceKHR,
        Op::RayQueryGetIntersectionCandidateAABBOpaqueKHR, Op::RayQueryGetIntersectionObjectRayDirectionKHR,
        Op::RayQueryGetIntersectionObjectRayOriginKHR, Op::RayQueryGetWorldRayDirectionKHR, Op::RayQueryGetWorldRayOriginKHR,
        Op::RayQueryGetIntersectionObjectToWorldKHR, Op::RayQueryGetIntersectionWorldToObjectKHR,
    ]),
    refused("instructions of one vendor: image processing and matrices", "SPV_QCOM_image_processing, SPV_QCOM_cooperative_matrix_conversion", &[
        Op::ImageSampleWeightedQCOM, Op::ImageBoxFilterQCOM, Op::ImageBlockMatchSSDQCOM, Op::ImageBlockMatchSADQCOM, Op::BitCastArrayQCOM,
        Op::ImageBlockMatchWindowSSDQCOM, Op::ImageBlockMatchWindowSADQCOM, Op::ImageBlockMatchGatherSSDQCOM,
        Op::ImageBlockMatchGatherSADQCOM, Op::CompositeConstructCoopMatQCOM, Op::CompositeExtractCoopMatQCOM, Op::ExtractSubArrayQCOM,
    ]),
    refused("fragment shaders", "extensions for fragment shaders", &[
        Op::FragmentMaskFetchAMD, Op::FragmentFetchAMD, Op::ImageSampleFootprintNV, Op::BeginInvocationInterlockEXT,
        Op::EndInvocationInterlockEXT, Op::DemoteToHelperInvocation, Op::IsHelperInvocationEXT,
    ]),
    refused("work graphs", "SPV_AMDX_shader_enqueue", &[
        Op::AllocateNodePayloadsAMDX, Op::EnqueueNodePayloadsAMDX, Op::TypeNodePayloadArrayAMDX, Op::FinishWritingNodePayloadAMDX,
        Op::NodePayloadArrayLengthAMDX, Op::IsNodePayloadValidAMDX, Op::ConstantStringAMDX, Op::SpecConstantStringAMDX,
    ]),
    refused("descriptor heaps", "SPV_EXT_descriptor_heap", &[
        Op::TypeBufferEXT, Op::BufferPointerEXT, Op::UntypedImageTexelPointerEXT, Op::MemberDecorateIdEXT, Op::ConstantSizeOfEXT,
    ]),
    refused("mesh shaders", "SPV_EXT_mesh_shader", &[
        Op::EmitMeshTasksEXT, Op::SetMeshOutputsEXT, Op::WritePackedPrimitiveIndices4x8NV,
    ]),
    refused("handles of images and samplers as integers", "SPV_NV_bindless_texture, SPV_INTEL_bindless_images", &[
        Op::ConvertUToImageNV, Op::ConvertUToSamplerNV, Op::ConvertImageToUNV, Op::ConvertSamplerToUNV, Op::ConvertUToSampledImageNV,
        Op::ConvertSampledImageToUNV, Op::SamplerImageAddressingModeNV, Op::ConvertHandleToImageINTEL, Op::ConvertHandleToSamplerINTEL,
        Op::ConvertHandleToSampledImageINTEL,
    ]),
    refused("block accesses to images", "SPV_INTEL_subgroups", &[
        Op::SubgroupImageBlockReadINTEL, Op::SubgroupImageBlockWriteINTEL,
    ]),
    refused("media blocks and motion estimation", "SPV_INTEL_media_block_io, SPV_INTEL_device_side_avc_motion_estimation", &[
        Op::SubgroupImageMediaBlockReadINTEL, Op::SubgroupImageMediaBlockWriteINTEL, Op::VmeImageINTEL, Op::TypeVmeImageINTEL,
        Op::TypeAvcImePayloadINTEL, Op::TypeAvcRefPayloadINTEL, Op::TypeAvcSicPayloadINTEL, Op::TypeAvcMcePayloadINTEL,
        Op::TypeAvcMceResultINTEL, Op::TypeAvcImeResultINTEL, Op::TypeAvcImeResultSingleReferenceStreamoutINTEL,
        Op::TypeAvcImeResultDualReferenceStreamoutINTEL, Op::TypeAvcImeSingleReferenceStreaminINTEL,
        Op::TypeAvcImeDualReferenceStreaminINTEL, Op::TypeAvcRefResultINTEL, Op::TypeAvcSicResultINTEL,
        Op::SubgroupAvcMceGetDefaultInterBaseMultiReferencePenaltyINTEL, Op::SubgroupAvcMceSetInterBaseMultiReferencePenaltyINTEL,
        Op::SubgroupAvcMceGetDefaultInterShapePenaltyINTEL, Op::SubgroupAvcMceSetInterShapePenaltyINTEL,
        Op::SubgroupAvcMceGetDefaultInterDirectionPenaltyINTEL, Op::SubgroupAvcMceSetInterDirectionPenaltyINTEL,
        Op::SubgroupAvcMceGetDefaultIntraLumaShapePenaltyINTEL, Op::SubgroupAvcMceGetDefaultInterMotionVectorCostTableINTEL,
        Op::SubgroupAvcMceGetDefaultHighPenaltyCostTableINTEL, Op::SubgroupAvcMceGetDefaultMediumPenaltyCostTableINTEL,
        Op::SubgroupAvcMceGetDefaultLowPenaltyCostTableINTEL, Op::SubgroupAvcMceSetMotionVectorCostFunctionINTEL,
        Op::SubgroupAvcMceGetDefaultIntraLumaModePenaltyINTEL, Op::SubgroupAvcMceGetDefaultNonDcLumaIntraPenaltyINTEL,
        Op::SubgroupAvcMceGetDefaultIntraChromaModeBasePenaltyINTEL, Op::SubgroupAvcMceSetAcOnlyHaarINTEL,
        Op::SubgroupAvcMceSetSourceInterlacedFieldPolarityINTEL, Op::SubgroupAvcMceSetSingleReferenceInterlacedFieldPolarityINTEL,
        Op::SubgroupAvcMceSetDualReferenceInterlacedFieldPolaritiesINTEL, Op::SubgroupAvcMceConvertToImePayloadINTEL,
        Op::SubgroupAvcMceConvertToImeResultINTEL, Op::SubgroupAvcMceConvertToRefPayloadINTEL, Op::SubgroupAvcMceConvertToRefResultINTEL,
        Op::SubgroupAvcMceConvertToSicPayloadINTEL, Op::SubgroupAvcMceConvertToSicResultINTEL, Op::SubgroupAvcMceGetMotionVectorsINTEL,
        Op::SubgroupAvcMceGetInterDistortionsINTEL, Op::SubgroupAvcMceGetBestInterDistortionsINTEL,
        Op::SubgroupAvcMceGetInterMajorShapeINTEL, Op::SubgroupAvcMceGetInterMinorShapeINTEL, Op::SubgroupAvcMceGetInterDirectionsINTEL,
        Op::SubgroupAvcMceGetInterMotionVectorCountINTEL, Op::SubgroupAvcMceGetInterReferenceIdsINTEL,
        Op::SubgroupAvcMceGetInterReferenceInterlacedFieldPolaritiesINTEL, Op::SubgroupAvcImeInitializeINTEL,
        Op::SubgroupAvcImeSetSingleReferenceINTEL, Op::SubgroupAvcImeSetDualReferenceINTEL, Op::SubgroupAvcImeRefWindowSizeINTEL,
        Op::SubgroupAvcImeAdjustRefOffsetINTEL, Op::SubgroupAvcImeConvertToMcePayloadINTEL, Op::SubgroupAvcImeSetMaxMotionVectorCountINTEL,
        Op::SubgroupAvcImeSetUnidirectionalMixDisableINTEL, Op::SubgroupAvcImeSetEarlySearchTerminationThresholdINTEL,
        Op::SubgroupAvcImeSetWeightedSadINTEL, Op::SubgroupAvcImeEvaluateWithSingleReferenceINTEL,
        Op::SubgroupAvcImeEvaluateWithDualReferenceINTEL, Op::SubgroupAvcImeEvaluateWithSingleReferenceStreaminINTEL,
        Op::SubgroupAvcImeEvaluateWithDualReferenceStreaminINTEL, Op::SubgroupAvcImeEvaluateWithSingleReferenceStreamoutINTEL,
        Op::SubgroupAvcImeEvaluateWithDualReferenceStreamoutINTEL, Op::SubgroupAvcImeEvaluateWithSingleReferenceStreaminoutINTEL,
        Op::SubgroupAvcImeEvaluateWithDualReferenceStreaminoutINTEL, Op::SubgroupAvcImeConvertToMceResultINTEL,
        Op::SubgroupAvcImeGetSingleReferenceStreaminINTEL, Op::SubgroupAvcImeGetDualReferenceStreaminINTEL,
        Op::SubgroupAvcImeStripSingleReferenceStreamoutINTEL, Op::SubgroupAvcImeStripDualReferenceStreamoutINTEL,
        Op::SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeMotionVectorsINTEL,
        Op::SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeDistortionsINTEL,
        Op::SubgroupAvcImeGetStreamoutSingleReferenceMajorShapeReferenceIdsINTEL,
        Op::SubgroupAvcImeGetStreamoutDualReferenceMajorShapeMotionVectorsINTEL,
        Op::SubgroupAvcImeGetStreamoutDualReferenceMajorShapeDistortionsINTEL,
        Op::SubgroupAvcImeGetStreamoutDualReferenceMajorShapeReferenceIdsINTEL, Op::SubgroupAvcImeGetBorderReachedINTEL,
        Op::SubgroupAvcImeGetTruncatedSearchIndicationINTEL, Op::SubgroupAvcImeGetUnidirectionalEarlySearchTerminationINTEL,
        Op::SubgroupAvcImeGetWeightingPatternMinimumMotionVectorINTEL, Op::SubgroupAvcImeGetWeightingPatternMinimumDistortionINTEL,
        Op::SubgroupAvcFmeInitializeINTEL, Op::SubgroupAvcBmeInitializeINTEL, Op::SubgroupAvcRefConvertToMcePayloadINTEL,
        Op::SubgroupAvcRefSetBidirectionalMixDisableINTEL, Op::SubgroupAvcRefSetBilinearFilterEnableINTEL,
        Op::SubgroupAvcRefEvaluateWithSingleReferenceINTEL, Op::SubgroupAvcRefEvaluateWithDualReferenceINTEL,
        Op::SubgroupAvcRefEvaluateWithMultiReferenceINTEL, Op::SubgroupAvcRefEvaluateWithMultiReferenceInterlacedINTEL,
        Op::SubgroupAvcRefConvertToMceResultINTEL, Op::SubgroupAvcSicInitializeINTEL, Op::SubgroupAvcSicConfigureSkcINTEL,
        Op::SubgroupAvcSicConfigureIpeLumaINTEL, Op::SubgroupAvcSicConfigureIpeLumaChromaINTEL, Op::SubgroupAvcSicGetMotionVectorMaskINTEL,
        Op::SubgroupAvcSicConvertToMcePayloadINTEL, Op::SubgroupAvcSicSetIntraLumaShapePenaltyINTEL,
        Op::SubgroupAvcSicSetIntraLumaModeCostFunctionINTEL, Op::SubgroupAvcSicSetIntraChromaModeCostFunctionINTEL,
        Op::SubgroupAvcSicSetBilinearFilterEnableINTEL, Op::SubgroupAvcSicSetSkcForwardTransformEnableINTEL,
        Op::SubgroupAvcSicSetBlockBasedRawSkipSadINTEL, Op::SubgroupAvcSicEvaluateIpeINTEL,
        Op::SubgroupAvcSicEvaluateWithSingleReferenceINTEL, Op::SubgroupAvcSicEvaluateWithDualReferenceINTEL,
        Op::SubgroupAvcSicEvaluateWithMultiReferenceINTEL, Op::SubgroupAvcSicEvaluateWithMultiReferenceInterlacedINTEL,
        Op::SubgroupAvcSicConvertToMceResultINTEL, Op::SubgroupAvcSicGetIpeLumaShapeINTEL, Op::SubgroupAvcSicGetBestIpeLumaDistortionINTEL,
        Op::SubgroupAvcSicGetBestIpeChromaDistortionINTEL, Op::SubgroupAvcSicGetPackedIpeLumaModesINTEL,
        Op::SubgroupAvcSicGetIpeChromaModeINTEL, Op::SubgroupAvcSicGetPackedSkcLumaCountThresholdINTEL,
        Op::SubgroupAvcSicGetPackedSkcLumaSumThresholdINTEL, Op::SubgroupAvcSicGetInterRawSadsINTEL,
    ]),
    refused("function pointers", "SPV_INTEL_function_pointers", &[
        Op::ConstantFunctionPointerINTEL, Op::FunctionPointerCallINTEL,
    ]),
    refused("inline assembly", "SPV_INTEL_inline_assembly", &[
        Op::AsmCallINTEL,
    ]),
    refused("a stack of variables", "SPV_INTEL_variable_length_array", &[
        Op::SaveMemoryINTEL, Op::RestoreMemoryINTEL,
    ]),
    refused("FPGAs", "extensions for FPGAs", &[
        Op::ArbitraryFloatSinCosPiALTERA, Op::ArbitraryFloatCastALTERA, Op::ArbitraryFloatCastFromIntALTERA,
        Op::ArbitraryFloatCastToIntALTERA, Op::ArbitraryFloatAddALTERA, Op::ArbitraryFloatSubALTERA, Op::ArbitraryFloatMulALTERA,
        Op::ArbitraryFloatDivALTERA, Op::ArbitraryFloatGTALTERA, Op::ArbitraryFloatGEALTERA, Op::ArbitraryFloatLTALTERA,
        Op::ArbitraryFloatLEALTERA, Op::ArbitraryFloatEQALTERA, Op::ArbitraryFloatRecipALTERA, Op::ArbitraryFloatRSqrtALTERA,
        Op::ArbitraryFloatCbrtALTERA, Op::ArbitraryFloatHypotALTERA, Op::ArbitraryFloatSqrtALTERA, Op::ArbitraryFloatLogINTEL,
        Op::ArbitraryFloatLog2INTEL, Op::ArbitraryFloatLog10INTEL, Op::ArbitraryFloatLog1pINTEL, Op::ArbitraryFloatExpINTEL,
        Op::ArbitraryFloatExp2INTEL, Op::ArbitraryFloatExp10INTEL, Op::ArbitraryFloatExpm1INTEL, Op::ArbitraryFloatSinINTEL,
        Op::ArbitraryFloatCosINTEL, Op::ArbitraryFloatSinCosINTEL, Op::ArbitraryFloatSinPiINTEL, Op::ArbitraryFloatCosPiINTEL,
        Op::ArbitraryFloatASinINTEL, Op::ArbitraryFloatASinPiINTEL, Op::ArbitraryFloatACosINTEL, Op::ArbitraryFloatACosPiINTEL,
        Op::ArbitraryFloatATanINTEL, Op::ArbitraryFloatATanPiINTEL, Op::ArbitraryFloatATan2INTEL, Op::ArbitraryFloatPowINTEL,
        Op::ArbitraryFloatPowRINTEL, Op::ArbitraryFloatPowNINTEL, Op::FixedSqrtALTERA, Op::FixedRecipALTERA, Op::FixedRsqrtALTERA,
        Op::FixedSinALTERA, Op::FixedCosALTERA, Op::FixedSinCosALTERA, Op::FixedSinPiALTERA, Op::FixedCosPiALTERA, Op::FixedSinCosPiALTERA,
        Op::FixedLogALTERA, Op::FixedExpALTERA, Op::PtrCastToCrossWorkgroupALTERA, Op::CrossWorkgroupCastToPtrALTERA,
        Op::ReadPipeBlockingALTERA, Op::WritePipeBlockingALTERA, Op::FPGARegALTERA, Op::TaskSequenceCreateALTERA,
        Op::TaskSequenceAsyncALTERA, Op::TaskSequenceGetALTERA, Op::TaskSequenceReleaseALTERA, Op::TypeTaskSequenceALTERA,
    ]),
    refused("two-dimensional block accesses", "SPV_INTEL_2d_block_io", &[
        Op::Subgroup2DBlockLoadINTEL, Op::Subgroup2DBlockLoadTransformINTEL, Op::Subgroup2DBlockLoadTransposeINTEL,
        Op::Subgroup2DBlockStoreINTEL,
    ]),
    refused("variants of functions", "SPV_INTEL_function_variants", &[
        Op::ConditionalCopyObjectINTEL,
    ]),
];
