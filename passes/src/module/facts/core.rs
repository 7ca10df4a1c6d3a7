//! The rows of the core instructions and of extensions, by the sections of the specification.

use super::{
    Access, Address, Atomic, Barrier, Calls, Class, Extent, Facts, Group, Operand, Role, Undefined,
    When, behaviour, facts, image, pointer, refused, tensor, value,
};
use crate::module::nameless;
use spirv::Op;
use std::sync::OnceLock;

/// Instructions with the same facts.
struct Row {
    ops: &'static [Op],
    facts: Facts,
}

const fn row(ops: &'static [Op], facts: Facts) -> Row {
    Row { ops, facts }
}

const MISCELLANEOUS: &str = "3.52.1";
const MEMORY: &str = "3.52.8";
const FUNCTIONS: &str = "3.52.9";
const IMAGES: &str = "3.52.10";
const CONVERSIONS: &str = "3.52.11";
const COMPOSITES: &str = "3.52.12";
const ARITHMETIC: &str = "3.52.13";
const BITS: &str = "3.52.14";
const LOGIC: &str = "3.52.15";
const DERIVATIVES: &str = "3.52.16";
const CONTROL: &str = "3.52.17";
const ATOMICS: &str = "3.52.18";
const BARRIERS: &str = "3.52.20";
const GROUPS: &str = "3.52.21";
const NON_UNIFORM: &str = "3.52.24";

const FORWARD: Access = pointer(0, Role::Forward, Extent::Any);
const READ: Access = pointer(0, Role::Read, Extent::Object);
const WRITE: Access = pointer(0, Role::Write, Extent::Object);
const UPDATE: Access = pointer(0, Role::Update, Extent::Object);
const READ_IMAGE: Access = image(0, Role::Read);
const FORWARD_IMAGE: Access = image(0, Role::Forward);

/// A value that is computed from values alone.
const fn pure(source: &'static str) -> Facts {
    facts(Class::Value, source)
}

/// A value of which each component is computed from the same component of each operand.
const fn by_component(source: &'static str) -> Facts {
    pure(source).by_component()
}

/// A value that invocations of a subgroup or a quad compute together.
const fn together(source: &'static str) -> Facts {
    pure(source).active_lanes()
}

const fn group(group: Group, source: &'static str) -> Facts {
    facts(Class::Group(group), source).active_lanes()
}

/// A group operation that all invocations of the group execute.
const fn uniform_group(group: Group, source: &'static str) -> Facts {
    const DIVERGED: &[Undefined] = &[behaviour(When::NotConverged)];
    facts(Class::Group(group), source).undefined(DIVERGED)
}

const fn query(source: &'static str) -> Facts {
    facts(Class::Query, source)
}

const fn address(address: Address, source: &'static str) -> Facts {
    facts(Class::Address(address), source)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Not executed.
    row(&[Op::SourceContinued, Op::Source, Op::SourceExtension, Op::Name, Op::MemberName, Op::String, Op::ModuleProcessed],
        facts(Class::Declaration, "3.52.2")),
    row(&[Op::Decorate, Op::MemberDecorate, Op::DecorationGroup, Op::GroupDecorate, Op::GroupMemberDecorate, Op::DecorateId,
          Op::DecorateString, Op::MemberDecorateString],
        facts(Class::Declaration, "3.52.3")),
    row(&[Op::Extension, Op::ExtInstImport, Op::MemoryModel, Op::EntryPoint, Op::ExecutionMode, Op::ExecutionModeId, Op::Capability],
        facts(Class::Declaration, "3.52.5")),
    row(&[Op::TypeVoid, Op::TypeBool, Op::TypeInt, Op::TypeFloat, Op::TypeVector, Op::TypeMatrix, Op::TypeImage, Op::TypeSampler,
          Op::TypeSampledImage, Op::TypeArray, Op::TypeRuntimeArray, Op::TypeStruct, Op::TypeOpaque, Op::TypePointer, Op::TypeFunction,
          Op::TypeEvent, Op::TypeDeviceEvent, Op::TypeReserveId, Op::TypeQueue, Op::TypePipe, Op::TypeForwardPointer,
          Op::TypePipeStorage, Op::TypeNamedBarrier],
        facts(Class::Declaration, "3.52.6")),
    row(&[Op::TypeTensorARM], facts(Class::Declaration, "SPV_ARM_tensors")),
    row(&[Op::TypeUntypedPointerKHR], facts(Class::Declaration, "SPV_KHR_untyped_pointers")),
    row(&[Op::TypeCooperativeMatrixKHR], facts(Class::Declaration, "SPV_KHR_cooperative_matrix")),
    row(&[Op::TypeCooperativeMatrixNV], facts(Class::Declaration, "SPV_NV_cooperative_matrix")),
    row(&[Op::TypeTensorLayoutNV, Op::TypeTensorViewNV], facts(Class::Declaration, "SPV_NV_tensor_addressing")),
    row(&[Op::TypeVectorIdEXT], facts(Class::Declaration, "SPV_NV_cooperative_vector")),
    row(&[Op::TypeBufferSurfaceINTEL], facts(Class::Declaration, "SPV_INTEL_vector_compute")),
    row(&[Op::TypeStructContinuedINTEL, Op::ConstantCompositeContinuedINTEL, Op::SpecConstantCompositeContinuedINTEL],
        facts(Class::Declaration, "SPV_INTEL_long_composites")),
    row(&[Op::AliasDomainDeclINTEL, Op::AliasScopeDeclINTEL, Op::AliasScopeListDeclINTEL],
        facts(Class::Declaration, "SPV_INTEL_memory_access_aliasing")),
    row(&[Op::AsmTargetINTEL, Op::AsmINTEL], facts(Class::Declaration, "SPV_INTEL_inline_assembly")),
    row(&[Op::ConstantTrue, Op::ConstantFalse, Op::Constant, Op::ConstantComposite, Op::ConstantSampler, Op::ConstantNull,
          Op::SpecConstantTrue, Op::SpecConstantFalse, Op::SpecConstant, Op::SpecConstantComposite, Op::SpecConstantOp,
          Op::ConstantPipeStorage],
        facts(Class::Declaration, "3.52.7")),
    row(&[Op::ConstantCompositeReplicateEXT, Op::SpecConstantCompositeReplicateEXT],
        facts(Class::Declaration, "SPV_EXT_replicated_composites")),
    row(&[Op::ConditionalExtensionINTEL, Op::ConditionalEntryPointINTEL, Op::ConditionalCapabilityINTEL, Op::SpecConstantTargetINTEL,
          Op::SpecConstantArchitectureINTEL, Op::SpecConstantCapabilitiesINTEL],
        facts(Class::Declaration, "SPV_INTEL_function_variants")),
    row(&[Op::Function, Op::FunctionParameter, Op::FunctionEnd], facts(Class::Declaration, FUNCTIONS)),
    row(&[Op::Label], facts(Class::Declaration, CONTROL)),

    // No effect on what is computed.
    row(&[Op::Nop], facts(Class::Marker, MISCELLANEOUS)),
    row(&[Op::Line, Op::NoLine], facts(Class::Marker, "3.52.2")),
    row(&[Op::LifetimeStart, Op::LifetimeStop], facts(Class::Marker, CONTROL)),
    row(&[Op::AssumeTrueKHR], facts(Class::Marker, "SPV_KHR_expect_assume").undefined(&[behaviour(When::ConditionFalse)])),
    row(&[Op::UntypedPrefetchKHR], facts(Class::Marker, "SPV_KHR_untyped_pointers")),
    row(&[Op::SubgroupBlockPrefetchINTEL], facts(Class::Marker, "SPV_INTEL_subgroup_buffer_prefetch")),
    row(&[Op::Subgroup2DBlockPrefetchINTEL], facts(Class::Marker, "SPV_INTEL_2d_block_io")),

    row(&[Op::Undef], facts(Class::Undef, MISCELLANEOUS).undefined(&[value(When::Always)])),
    row(&[Op::Phi], facts(Class::Phi, CONTROL)),
    row(&[Op::ExtInst], facts(Class::Extended, "3.52.4")),
    row(&[Op::ExtInstWithForwardRefsKHR], facts(Class::Extended, "SPV_KHR_relaxed_extended_instruction")),

    // Memory.
    row(&[Op::Variable], facts(Class::Variable, MEMORY).undefined(&[value(When::Unwritten)])),
    row(&[Op::UntypedVariableKHR], facts(Class::Variable, "SPV_KHR_untyped_pointers").undefined(&[value(When::Unwritten)])),
    row(&[Op::VariableLengthArrayINTEL, Op::UntypedVariableLengthArrayINTEL],
        facts(Class::Variable, "SPV_INTEL_variable_length_array").undefined(&[value(When::Unwritten)])),
    row(&[Op::Load], facts(Class::Memory, MEMORY).access(&[READ]).undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::Store], facts(Class::Memory, MEMORY).access(&[WRITE]).undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::CopyMemory],
        facts(Class::Memory, MEMORY).access(&[WRITE, pointer(1, Role::Read, Extent::Object)])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::CopyMemorySized],
        facts(Class::Memory, MEMORY)
            .access(&[pointer(0, Role::Write, Extent::Bytes(2)), pointer(1, Role::Read, Extent::Bytes(2))])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::AccessChain, Op::InBoundsAccessChain],
        address(Address::Members, MEMORY).access(&[FORWARD]).undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::PtrAccessChain, Op::InBoundsPtrAccessChain],
        address(Address::Element, MEMORY).access(&[FORWARD]).undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::UntypedAccessChainKHR, Op::UntypedInBoundsAccessChainKHR],
        address(Address::Members, "SPV_KHR_untyped_pointers").access(&[pointer(1, Role::Forward, Extent::Any)])
            .undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::UntypedPtrAccessChainKHR, Op::UntypedInBoundsPtrAccessChainKHR],
        address(Address::Element, "SPV_KHR_untyped_pointers").access(&[pointer(1, Role::Forward, Extent::Any)]).undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::RawAccessChainNV], address(Address::Bytes, "SPV_NV_raw_access_chains").access(&[FORWARD]).undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::ImageTexelPointer], address(Address::Texel, MEMORY).access(&[FORWARD]).undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::ArrayLength, Op::GenericPtrMemSemantics], query(MEMORY)),
    row(&[Op::UntypedArrayLengthKHR], query("SPV_KHR_untyped_pointers")),
    row(&[Op::SizeOf], query(MISCELLANEOUS)),
    row(&[Op::PtrEqual, Op::PtrNotEqual], query(MEMORY)),
    row(&[Op::PtrDiff], query(MEMORY).undefined(&[value(When::OtherArray)])),
    row(&[Op::MaskedGatherINTEL],
        facts(Class::Memory, "SPV_INTEL_masked_gather_scatter")
            .access(&[Access { operand: 0, role: Role::Read, kind: Operand::Pointers, extent: Extent::Object }])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::MaskedScatterINTEL],
        facts(Class::Memory, "SPV_INTEL_masked_gather_scatter")
            .access(&[Access { operand: 1, role: Role::Write, kind: Operand::Pointers, extent: Extent::Object }])
            .undefined(&[behaviour(When::OutOfBounds)])),

    // Functions.
    row(&[Op::FunctionCall], facts(Class::Call, FUNCTIONS).calls(Calls::Once(0))),

    // Images.
    row(&[Op::SampledImage, Op::Image], query(IMAGES).access(&[FORWARD_IMAGE])),
    row(&[Op::ImageQueryFormat, Op::ImageQueryOrder, Op::ImageQuerySizeLod, Op::ImageQuerySize, Op::ImageQueryLevels,
          Op::ImageQuerySamples],
        query(IMAGES)),
    row(&[Op::ImageQueryLod], query(IMAGES).active_lanes().undefined(&[value(When::NotConverged)])),
    row(&[Op::ImageSparseTexelsResident], pure(IMAGES)),
    row(&[Op::ImageSampleImplicitLod, Op::ImageSampleDrefImplicitLod, Op::ImageSampleProjImplicitLod, Op::ImageSampleProjDrefImplicitLod,
          Op::ImageSparseSampleImplicitLod, Op::ImageSparseSampleDrefImplicitLod, Op::ImageSparseSampleProjImplicitLod,
          Op::ImageSparseSampleProjDrefImplicitLod],
        facts(Class::Sample, IMAGES).access(&[READ_IMAGE]).active_lanes().undefined(&[value(When::NotConverged)])),
    row(&[Op::ImageSampleExplicitLod, Op::ImageSampleDrefExplicitLod, Op::ImageSampleProjExplicitLod, Op::ImageSampleProjDrefExplicitLod,
          Op::ImageFetch, Op::ImageGather, Op::ImageDrefGather,
          Op::ImageSparseSampleExplicitLod, Op::ImageSparseSampleDrefExplicitLod, Op::ImageSparseSampleProjExplicitLod,
          Op::ImageSparseSampleProjDrefExplicitLod, Op::ImageSparseFetch, Op::ImageSparseGather, Op::ImageSparseDrefGather],
        facts(Class::Sample, IMAGES).access(&[READ_IMAGE])),
    row(&[Op::ImageRead, Op::ImageSparseRead], facts(Class::Memory, IMAGES).access(&[READ_IMAGE])),
    row(&[Op::ImageWrite], facts(Class::Memory, IMAGES).access(&[image(0, Role::Write)])),

    // Conversions.
    row(&[Op::ConvertFToU, Op::ConvertFToS], by_component(CONVERSIONS).undefined(&[behaviour(When::NotRepresentable)])),
    row(&[Op::ConvertSToF, Op::ConvertUToF, Op::UConvert, Op::SConvert, Op::FConvert, Op::QuantizeToF16, Op::SatConvertSToU,
          Op::SatConvertUToS],
        by_component(CONVERSIONS)),
    row(&[Op::ConvertPtrToU, Op::ConvertUToPtr], pure(CONVERSIONS)),
    row(&[Op::PtrCastToGeneric, Op::GenericCastToPtrExplicit, Op::Bitcast], pure(CONVERSIONS).access(&[FORWARD])),
    row(&[Op::GenericCastToPtr], pure(CONVERSIONS).access(&[FORWARD]).undefined(&[behaviour(When::OtherStorageClass)])),
    row(&[Op::ConvertFToBF16INTEL, Op::ConvertBF16ToFINTEL], pure("SPV_INTEL_bfloat16_conversion")),
    row(&[Op::RoundFToTF32INTEL], pure("SPV_INTEL_tensor_float32_conversion")),

    // Composites.
    row(&[Op::VectorExtractDynamic, Op::VectorInsertDynamic], pure(COMPOSITES).undefined(&[behaviour(When::IndexBeyondComponents)])),
    row(&[Op::VectorShuffle], pure(COMPOSITES).undefined(&[value(When::ComponentLeftOut)])),
    row(&[Op::CompositeConstruct, Op::CompositeExtract, Op::CompositeInsert, Op::Transpose, Op::CopyLogical], pure(COMPOSITES)),
    row(&[Op::CopyObject], pure(COMPOSITES).access(&[FORWARD])),
    row(&[Op::CompositeConstructReplicateEXT], pure("SPV_EXT_replicated_composites")),
    row(&[Op::CompositeConstructContinuedINTEL], pure("SPV_INTEL_long_composites")),

    // Arithmetic.
    row(&[Op::SNegate, Op::FNegate, Op::IAdd, Op::FAdd, Op::ISub, Op::FSub, Op::IMul, Op::FMul, Op::FDiv],
        by_component(ARITHMETIC)),
    row(&[Op::VectorTimesScalar, Op::MatrixTimesScalar, Op::VectorTimesMatrix, Op::MatrixTimesVector, Op::MatrixTimesMatrix, Op::OuterProduct, Op::Dot,
          Op::IAddCarry, Op::ISubBorrow, Op::UMulExtended, Op::SMulExtended, Op::SDot, Op::UDot, Op::SUDot, Op::SDotAccSat,
          Op::UDotAccSat, Op::SUDotAccSat],
        pure(ARITHMETIC)),
    row(&[Op::UDiv, Op::UMod], by_component(ARITHMETIC).undefined(&[behaviour(When::DivisorZero)])),
    row(&[Op::SDiv, Op::SRem, Op::SMod], by_component(ARITHMETIC).undefined(&[behaviour(When::QuotientOverflow)])),
    row(&[Op::FRem, Op::FMod], by_component(ARITHMETIC).undefined(&[value(When::DivisorZero)])),
    row(&[Op::FmaKHR], pure("SPV_KHR_fma")),
    row(&[Op::ArithmeticFenceEXT], pure("SPV_EXT_arithmetic_fence")),
    row(&[Op::UCountLeadingZerosINTEL, Op::UCountTrailingZerosINTEL, Op::AbsISubINTEL, Op::AbsUSubINTEL, Op::IAddSatINTEL,
          Op::UAddSatINTEL, Op::IAverageINTEL, Op::UAverageINTEL, Op::IAverageRoundedINTEL, Op::UAverageRoundedINTEL,
          Op::ISubSatINTEL, Op::USubSatINTEL, Op::IMul32x16INTEL, Op::UMul32x16INTEL],
        pure("SPV_INTEL_shader_integer_functions2")),

    // Bits.
    row(&[Op::ShiftRightLogical, Op::ShiftRightArithmetic, Op::ShiftLeftLogical], by_component(BITS).undefined(&[value(When::ShiftBeyondWidth)])),
    row(&[Op::BitwiseOr, Op::BitwiseXor, Op::BitwiseAnd, Op::Not, Op::BitReverse, Op::BitCount], by_component(BITS)),
    row(&[Op::BitFieldInsert, Op::BitFieldSExtract, Op::BitFieldUExtract], by_component(BITS).undefined(&[value(When::FieldBeyondWidth)])),
    row(&[Op::BitwiseFunctionINTEL], pure("SPV_INTEL_ternary_bitwise_function")),

    // Comparisons and logic.
    row(&[Op::Any, Op::All], pure(LOGIC)),
    row(&[Op::IsNan, Op::IsInf, Op::IsFinite, Op::IsNormal, Op::SignBitSet, Op::LessOrGreater, Op::Ordered,
          Op::Unordered, Op::LogicalEqual, Op::LogicalNotEqual, Op::LogicalOr, Op::LogicalAnd, Op::LogicalNot,
          Op::IEqual, Op::INotEqual, Op::UGreaterThan, Op::SGreaterThan, Op::UGreaterThanEqual, Op::SGreaterThanEqual, Op::ULessThan,
          Op::SLessThan, Op::ULessThanEqual, Op::SLessThanEqual, Op::FOrdEqual, Op::FUnordEqual, Op::FOrdNotEqual, Op::FUnordNotEqual,
          Op::FOrdLessThan, Op::FUnordLessThan, Op::FOrdGreaterThan, Op::FUnordGreaterThan, Op::FOrdLessThanEqual,
          Op::FUnordLessThanEqual, Op::FOrdGreaterThanEqual, Op::FUnordGreaterThanEqual],
        by_component(LOGIC)),
    row(&[Op::Select],
        by_component(LOGIC).access(&[pointer(1, Role::Forward, Extent::Any), pointer(2, Role::Forward, Extent::Any)])),
    row(&[Op::ExpectKHR], pure("SPV_KHR_expect_assume")),

    row(&[Op::DPdx, Op::DPdy, Op::Fwidth, Op::DPdxFine, Op::DPdyFine, Op::FwidthFine, Op::DPdxCoarse, Op::DPdyCoarse, Op::FwidthCoarse],
        together(DERIVATIVES).undefined(&[value(When::NotConverged)])),

    // Control flow.
    row(&[Op::LoopMerge, Op::SelectionMerge], facts(Class::Merge, CONTROL)),
    row(&[Op::LoopControlINTEL], facts(Class::Merge, "SPV_INTEL_unstructured_loop_controls")),
    row(&[Op::Branch, Op::BranchConditional, Op::Switch], facts(Class::Branch, CONTROL)),
    row(&[Op::Kill, Op::Return, Op::ReturnValue, Op::TerminateInvocation], facts(Class::Exit, CONTROL)),
    row(&[Op::Unreachable], facts(Class::Exit, CONTROL).undefined(&[behaviour(When::Executed)])),

    // Atomics.
    row(&[Op::AtomicLoad],
        facts(Class::Atomic(Atomic::Load), ATOMICS).access(&[READ]).undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::AtomicStore, Op::AtomicFlagClear],
        facts(Class::Atomic(Atomic::Store), ATOMICS).access(&[WRITE]).undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::AtomicExchange, Op::AtomicIIncrement, Op::AtomicIDecrement, Op::AtomicIAdd, Op::AtomicISub, Op::AtomicSMin, Op::AtomicUMin,
          Op::AtomicSMax, Op::AtomicUMax, Op::AtomicAnd, Op::AtomicOr, Op::AtomicXor, Op::AtomicFlagTestAndSet],
        facts(Class::Atomic(Atomic::Update), ATOMICS).access(&[UPDATE])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::AtomicFMinEXT, Op::AtomicFMaxEXT],
        facts(Class::Atomic(Atomic::Update), "SPV_EXT_shader_atomic_float_min_max").access(&[UPDATE])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::AtomicFAddEXT],
        facts(Class::Atomic(Atomic::Update), "SPV_EXT_shader_atomic_float_add").access(&[UPDATE])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::AtomicCompareExchange, Op::AtomicCompareExchangeWeak],
        facts(Class::Atomic(Atomic::CompareExchange), ATOMICS).access(&[UPDATE])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),

    // Barriers.
    row(&[Op::ControlBarrier], facts(Class::Barrier(Barrier::Full), BARRIERS).undefined(&[behaviour(When::NotConverged)])),
    row(&[Op::ControlBarrierArriveINTEL],
        facts(Class::Barrier(Barrier::Arrive), "SPV_EXT_split_barrier").undefined(&[behaviour(When::NotConverged)])),
    row(&[Op::ControlBarrierWaitINTEL],
        facts(Class::Barrier(Barrier::Wait), "SPV_EXT_split_barrier").undefined(&[behaviour(When::NotConverged)])),
    row(&[Op::MemoryBarrier], facts(Class::Fence, BARRIERS)),
    row(&[Op::NamedBarrierInitialize], facts(Class::NamedBarrier, BARRIERS)),
    row(&[Op::MemoryNamedBarrier], facts(Class::NamedBarrierWait, BARRIERS).undefined(&[behaviour(When::NotConverged)])),

    // Groups.
    row(&[Op::GroupAsyncCopy],
        facts(Class::AsyncCopy, GROUPS)
            .access(&[pointer(1, Role::Write, Extent::Elements(3)), pointer(2, Role::Read, Extent::Elements(3))]).undefined(&[behaviour(When::NotConverged)])),
    row(&[Op::UntypedGroupAsyncCopyKHR],
        facts(Class::AsyncCopy, "SPV_KHR_untyped_pointers")
            .access(&[pointer(1, Role::Write, Extent::Any), pointer(2, Role::Read, Extent::Any)]).undefined(&[behaviour(When::NotConverged)])),
    row(&[Op::GroupWaitEvents], facts(Class::WaitEvents, GROUPS).undefined(&[behaviour(When::NotConverged)])),
    row(&[Op::GroupAll, Op::GroupAny, Op::GroupBroadcast], uniform_group(Group::Same, GROUPS)),
    row(&[Op::GroupIAdd, Op::GroupFAdd, Op::GroupFMin, Op::GroupUMin, Op::GroupSMin, Op::GroupFMax, Op::GroupUMax, Op::GroupSMax],
        uniform_group(Group::Reduction, GROUPS)),
    row(&[Op::GroupIMulKHR, Op::GroupFMulKHR, Op::GroupBitwiseAndKHR, Op::GroupBitwiseOrKHR, Op::GroupBitwiseXorKHR,
          Op::GroupLogicalAndKHR, Op::GroupLogicalOrKHR, Op::GroupLogicalXorKHR],
        uniform_group(Group::Reduction, "SPV_KHR_uniform_group_instructions")),
    row(&[Op::GroupNonUniformElect, Op::GroupNonUniformInverseBallot], group(Group::Own, NON_UNIFORM)),
    row(&[Op::GroupNonUniformBallotBitExtract], group(Group::Own, NON_UNIFORM).undefined(&[behaviour(When::BitBeyondBallot)])),
    row(&[Op::GroupNonUniformBallotFindLSB, Op::GroupNonUniformBallotFindMSB],
        group(Group::Own, NON_UNIFORM).undefined(&[value(When::NoBitSet)])),
    row(&[Op::GroupNonUniformAll, Op::GroupNonUniformAny, Op::GroupNonUniformAllEqual, Op::GroupNonUniformBroadcastFirst,
          Op::GroupNonUniformBallot],
        group(Group::Same, NON_UNIFORM)),
    row(&[Op::GroupNonUniformBroadcast], group(Group::Same, NON_UNIFORM).undefined(&[value(When::OtherInvocationInactive)])),
    row(&[Op::GroupNonUniformBallotBitCount, Op::GroupNonUniformIAdd, Op::GroupNonUniformFAdd, Op::GroupNonUniformIMul,
          Op::GroupNonUniformFMul, Op::GroupNonUniformSMin, Op::GroupNonUniformUMin, Op::GroupNonUniformFMin, Op::GroupNonUniformSMax,
          Op::GroupNonUniformUMax, Op::GroupNonUniformFMax, Op::GroupNonUniformBitwiseAnd, Op::GroupNonUniformBitwiseOr,
          Op::GroupNonUniformBitwiseXor, Op::GroupNonUniformLogicalAnd, Op::GroupNonUniformLogicalOr, Op::GroupNonUniformLogicalXor],
        group(Group::Reduction, NON_UNIFORM)),
    row(&[Op::GroupNonUniformShuffle, Op::GroupNonUniformShuffleXor, Op::GroupNonUniformShuffleUp, Op::GroupNonUniformShuffleDown,
          Op::GroupNonUniformQuadBroadcast, Op::GroupNonUniformQuadSwap],
        group(Group::Own, NON_UNIFORM).undefined(&[value(When::OtherInvocationInactive)])),
    row(&[Op::GroupNonUniformRotateKHR],
        group(Group::Own, "SPV_KHR_subgroup_rotate").undefined(&[value(When::OtherInvocationInactive)])),
    row(&[Op::GroupNonUniformQuadAllKHR, Op::GroupNonUniformQuadAnyKHR], group(Group::Own, "SPV_KHR_quad_control")),
    row(&[Op::GroupNonUniformPartitionEXT], group(Group::Own, "SPV_EXT_shader_subgroup_partitioned")),
    row(&[Op::GroupIAddNonUniformAMD, Op::GroupFAddNonUniformAMD, Op::GroupFMinNonUniformAMD, Op::GroupUMinNonUniformAMD,
          Op::GroupSMinNonUniformAMD, Op::GroupFMaxNonUniformAMD, Op::GroupUMaxNonUniformAMD, Op::GroupSMaxNonUniformAMD],
        group(Group::Reduction, "SPV_AMD_shader_ballot")),
    row(&[Op::SubgroupBallotKHR, Op::SubgroupFirstInvocationKHR], group(Group::Same, "SPV_KHR_shader_ballot")),
    row(&[Op::SubgroupReadInvocationKHR],
        group(Group::Same, "SPV_KHR_shader_ballot").undefined(&[value(When::OtherInvocationInactive)])),
    row(&[Op::SubgroupAllKHR, Op::SubgroupAnyKHR, Op::SubgroupAllEqualKHR], group(Group::Same, "SPV_KHR_subgroup_vote")),
    row(&[Op::SubgroupShuffleINTEL, Op::SubgroupShuffleDownINTEL, Op::SubgroupShuffleUpINTEL, Op::SubgroupShuffleXorINTEL],
        group(Group::Own, "SPV_INTEL_subgroups").undefined(&[value(When::OtherInvocationInactive)])),
    row(&[Op::SubgroupMatrixMultiplyAccumulateINTEL], group(Group::Own, "SPV_INTEL_subgroup_matrix_multiply_accumulate")),
    row(&[Op::SubgroupBlockReadINTEL],
        facts(Class::Memory, "SPV_INTEL_subgroups").access(&[pointer(0, Role::Read, Extent::Block)]).active_lanes()
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::SubgroupBlockWriteINTEL],
        facts(Class::Memory, "SPV_INTEL_subgroups").access(&[pointer(0, Role::Write, Extent::Block)]).active_lanes()
            .undefined(&[behaviour(When::OutOfBounds)])),

    row(&[Op::ReadClockKHR], facts(Class::Clock, "SPV_KHR_shader_clock")),

    // Tensors.
    row(&[Op::TensorReadARM], facts(Class::Memory, "SPV_ARM_tensors").access(&[tensor(0, Role::Read)])),
    row(&[Op::TensorWriteARM], facts(Class::Memory, "SPV_ARM_tensors").access(&[tensor(0, Role::Write)])),
    row(&[Op::TensorQuerySizeARM], query("SPV_ARM_tensors")),

    // Cooperative matrices and vectors.
    row(&[Op::CooperativeMatrixLoadKHR],
        facts(Class::Memory, "SPV_KHR_cooperative_matrix").access(&[pointer(0, Role::Read, Extent::Matrix)]).active_lanes()
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeMatrixStoreKHR],
        facts(Class::Memory, "SPV_KHR_cooperative_matrix").access(&[pointer(0, Role::Write, Extent::Matrix)]).active_lanes()
            .undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeMatrixMulAddKHR], together("SPV_KHR_cooperative_matrix")),
    row(&[Op::CooperativeMatrixLengthKHR], query("SPV_KHR_cooperative_matrix")),
    row(&[Op::CooperativeMatrixLoadNV],
        facts(Class::Memory, "SPV_NV_cooperative_matrix").access(&[pointer(0, Role::Read, Extent::Matrix)]).active_lanes()
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeMatrixStoreNV],
        facts(Class::Memory, "SPV_NV_cooperative_matrix").access(&[pointer(0, Role::Write, Extent::Matrix)]).active_lanes()
            .undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeMatrixMulAddNV], together("SPV_NV_cooperative_matrix")),
    row(&[Op::CooperativeMatrixLengthNV], query("SPV_NV_cooperative_matrix")),
    row(&[Op::CooperativeMatrixConvertNV, Op::CooperativeMatrixTransposeNV], together("SPV_NV_cooperative_matrix2")),
    row(&[Op::CooperativeMatrixPerElementOpNV],
        facts(Class::Call, "SPV_NV_cooperative_matrix2").calls(Calls::Elements(1)).active_lanes()),
    row(&[Op::CooperativeMatrixReduceNV],
        facts(Class::Call, "SPV_NV_cooperative_matrix2").calls(Calls::Elements(2)).active_lanes()),
    row(&[Op::CooperativeMatrixLoadTensorNV],
        facts(Class::Memory, "SPV_NV_cooperative_matrix2").access(&[pointer(0, Role::Read, Extent::Any)]).calls(Calls::Decode)
            .active_lanes().undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeMatrixStoreTensorNV],
        facts(Class::Memory, "SPV_NV_cooperative_matrix2").access(&[pointer(0, Role::Write, Extent::Any)]).active_lanes()
            .undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::CreateTensorLayoutNV, Op::TensorLayoutSetDimensionNV, Op::TensorLayoutSetStrideNV, Op::TensorLayoutSliceNV,
          Op::TensorLayoutSetClampValueNV, Op::CreateTensorViewNV, Op::TensorViewSetDimensionNV, Op::TensorViewSetStrideNV,
          Op::TensorViewSetClipNV, Op::TensorLayoutSetBlockSizeNV],
        pure("SPV_NV_tensor_addressing")),
    row(&[Op::CooperativeVectorLoadNV],
        facts(Class::Memory, "SPV_NV_cooperative_vector").access(&[pointer(0, Role::Read, Extent::Components)])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeVectorStoreNV],
        facts(Class::Memory, "SPV_NV_cooperative_vector").access(&[pointer(0, Role::Write, Extent::Components)])
            .undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeVectorMatrixMulNV],
        facts(Class::Memory, "SPV_NV_cooperative_vector").access(&[pointer(2, Role::Read, Extent::Any)])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeVectorMatrixMulAddNV],
        facts(Class::Memory, "SPV_NV_cooperative_vector")
            .access(&[pointer(2, Role::Read, Extent::Any), pointer(5, Role::Read, Extent::Components)])
            .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeVectorOuterProductAccumulateNV],
        facts(Class::Memory, "SPV_NV_cooperative_vector").access(&[pointer(0, Role::Update, Extent::Any)])
            .undefined(&[behaviour(When::OutOfBounds)])),
    row(&[Op::CooperativeVectorReduceSumAccumulateNV],
        facts(Class::Memory, "SPV_NV_cooperative_vector").access(&[pointer(0, Role::Update, Extent::Components)])
            .undefined(&[behaviour(When::OutOfBounds)])),
];

/// Rows of opcodes that the `spirv` crate does not name.
#[rustfmt::skip]
const NAMELESS: &[(u16, Facts)] = &[
    (nameless::BITCAST_EXTRACT, pure("SPV_EXT_ocp_microscaling_types")),
    (nameless::LOAD_CHECKED,
        facts(Class::Memory, "SPV_INTEL_joint_matrix").access(&[pointer(0, Role::Read, Extent::Any)]).active_lanes()
            .undefined(&[value(When::Unwritten)])),
    (nameless::STORE_CHECKED,
        facts(Class::Memory, "SPV_INTEL_joint_matrix").access(&[pointer(0, Role::Write, Extent::Any)]).active_lanes()),
    (nameless::CONSTRUCT_CHECKED, together("SPV_INTEL_joint_matrix")),
    (nameless::GET_ELEMENT_COORD, together("SPV_INTEL_joint_matrix")),
    (nameless::APPLY_FUNCTION, facts(Class::Refused("a function value is called for each element"), "SPV_INTEL_joint_matrix")),
    (nameless::PREFETCH, facts(Class::Marker, "SPV_INTEL_joint_matrix")),
    (nameless::PREDICATED_LOAD,
        facts(Class::Memory, "SPV_INTEL_predicated_io").access(&[pointer(0, Role::Read, Extent::Predicated)]).undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)])),
    (nameless::PREDICATED_STORE,
        facts(Class::Memory, "SPV_INTEL_predicated_io").access(&[pointer(0, Role::Write, Extent::Predicated)]).undefined(&[behaviour(When::OutOfBounds)])),
    (nameless::DOT2_MIX_ACC32, pure("SPV_VALVE_mixed_float_dot_product")),
    (nameless::DOT2_MIX_ACC16, pure("SPV_VALVE_mixed_float_dot_product")),
    (nameless::DOT4_MIX_ACC32, pure("SPV_VALVE_mixed_float_dot_product")),
];

/// The row of an opcode; [`Facts::UNKNOWN`] if it has none.
pub(super) fn row_of(opcode: u16) -> &'static Facts {
    table()
        .get(usize::from(opcode))
        .copied()
        .unwrap_or_default()
}

/// All rows by opcode.
pub(super) fn rows() -> impl Iterator<Item = (u16, &'static Facts)> {
    let named = ROWS
        .iter()
        .flat_map(|row| row.ops.iter().map(|op| (*op as u16, &row.facts)));
    let nameless = NAMELESS.iter().map(|(opcode, facts)| (*opcode, facts));
    named.chain(nameless).chain(refused::rows())
}

fn table() -> &'static [&'static Facts] {
    static TABLE: OnceLock<Vec<&'static Facts>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: Vec<&'static Facts> = Vec::new();
        for (opcode, facts) in rows() {
            let index = usize::from(opcode);
            if table.len() <= index {
                table.resize(index + 1, &Facts::UNKNOWN);
            }
            if let Some(slot) = table.get_mut(index) {
                *slot = facts;
            }
        }
        table
    })
}
