//! From opcode to instruction family. To lower another opcode, add it to the row of its family in
//! [`family`] (or add a family: a row, a file, a line in [`emit`]). `docs/instructions.md` lists
//! the outcome; the test below keeps it fresh.

use super::function::FunctionEmitter;
use super::{
    Handled, Result, arith, async_copy, atomic, barrier, bits, clock, compare, composite, control,
    convert, cooperative_vector, derivative, ext, image, linear, matrix, memory, named, place,
    pointer, promoted_copy, subgroup, tensor,
};
use spirv::Op;
use splitbar_passes::module::{Inst, nameless};

/// Who lowers an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Barrier,
    NamedBarrier,
    AsyncCopy,
    Memory,
    Place,
    Pointer,
    Control,
    Arith,
    Bits,
    Compare,
    Convert,
    Composite,
    Linear,
    Matrix,
    CooperativeVector,
    Image,
    Tensor,
    Atomic,
    Subgroup,
    Clock,
    Derivative,
    /// An extended instruction: its set decides.
    Extended,
}

/// The family of an opcode; `None`: it is not lowered. OpPhi is the emitter's own.
#[rustfmt::skip] // one table, a row for each family: an opcode is found or added in one place
pub(crate) fn family(op: Op) -> Option<Family> {
    Some(match op {
        Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL | Op::ControlBarrier | Op::MemoryBarrier => Family::Barrier,

        Op::NamedBarrierInitialize | Op::MemoryNamedBarrier => Family::NamedBarrier,

        Op::GroupAsyncCopy | Op::GroupWaitEvents => Family::AsyncCopy,

        Op::Load | Op::Store | Op::CopyMemory | Op::CopyMemorySized => Family::Memory,

        Op::Variable | Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain
        | Op::UntypedAccessChainKHR | Op::UntypedInBoundsAccessChainKHR | Op::RawAccessChainNV | Op::CopyObject | Op::ArrayLength
        | Op::SizeOf => Family::Place,

        Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::GenericCastToPtrExplicit | Op::GenericPtrMemSemantics
        | Op::ConvertPtrToU | Op::ConvertUToPtr | Op::PtrEqual | Op::PtrNotEqual | Op::PtrDiff => Family::Pointer,

        Op::Branch | Op::BranchConditional | Op::Switch | Op::Return | Op::ReturnValue | Op::Unreachable | Op::FunctionCall | Op::Undef
        | Op::SelectionMerge | Op::LoopMerge | Op::LoopControlINTEL | Op::Nop | Op::Line | Op::NoLine
        | Op::LifetimeStart | Op::LifetimeStop | Op::AssumeTrueKHR | Op::ExpectKHR => Family::Control,

        Op::IAdd | Op::ISub | Op::IMul | Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod | Op::SNegate
        | Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod | Op::FNegate
        | Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended | Op::FmaKHR | Op::ArithmeticFenceEXT
        | Op::IMul32x16INTEL | Op::UMul32x16INTEL
        | Op::AbsISubINTEL | Op::AbsUSubINTEL | Op::IAddSatINTEL | Op::UAddSatINTEL | Op::ISubSatINTEL | Op::USubSatINTEL
        | Op::IAverageINTEL | Op::UAverageINTEL | Op::IAverageRoundedINTEL | Op::UAverageRoundedINTEL => Family::Arith,

        Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic | Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor | Op::Not
        | Op::BitReverse | Op::BitCount | Op::BitFieldInsert | Op::BitFieldSExtract | Op::BitFieldUExtract
        | Op::UCountLeadingZerosINTEL | Op::UCountTrailingZerosINTEL | Op::BitwiseFunctionINTEL => Family::Bits,

        Op::IEqual | Op::INotEqual | Op::LogicalEqual | Op::LogicalNotEqual | Op::LogicalAnd | Op::LogicalOr | Op::LogicalNot | Op::Any | Op::All
        | Op::UGreaterThan | Op::SGreaterThan | Op::UGreaterThanEqual | Op::SGreaterThanEqual
        | Op::ULessThan | Op::SLessThan | Op::ULessThanEqual | Op::SLessThanEqual
        | Op::FOrdEqual | Op::FUnordEqual | Op::FOrdNotEqual | Op::FUnordNotEqual | Op::LessOrGreater
        | Op::FOrdLessThan | Op::FUnordLessThan | Op::FOrdGreaterThan | Op::FUnordGreaterThan
        | Op::FOrdLessThanEqual | Op::FUnordLessThanEqual | Op::FOrdGreaterThanEqual | Op::FUnordGreaterThanEqual
        | Op::Ordered | Op::Unordered | Op::IsNan | Op::IsInf | Op::IsFinite | Op::IsNormal | Op::SignBitSet | Op::Select => Family::Compare,

        Op::ConvertFToU | Op::ConvertFToS | Op::ConvertUToF | Op::ConvertSToF | Op::UConvert | Op::SConvert | Op::FConvert
        | Op::SatConvertSToU | Op::SatConvertUToS | Op::QuantizeToF16 | Op::Bitcast
        | Op::ConvertFToBF16INTEL | Op::ConvertBF16ToFINTEL | Op::RoundFToTF32INTEL => Family::Convert,

        Op::CompositeConstruct | Op::CompositeConstructReplicateEXT | Op::CompositeExtract | Op::CompositeInsert | Op::CopyLogical
        | Op::VectorShuffle | Op::VectorExtractDynamic | Op::VectorInsertDynamic => Family::Composite,

        Op::Dot | Op::VectorTimesScalar | Op::MatrixTimesScalar | Op::MatrixTimesVector | Op::VectorTimesMatrix | Op::MatrixTimesMatrix
        | Op::OuterProduct | Op::Transpose | Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => Family::Linear,

        Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR | Op::CooperativeMatrixMulAddKHR | Op::CooperativeMatrixLengthKHR
        | Op::CooperativeMatrixConvertNV | Op::CooperativeMatrixTransposeNV | Op::CooperativeMatrixPerElementOpNV
        | Op::CooperativeMatrixReduceNV | Op::CooperativeMatrixLoadTensorNV | Op::CooperativeMatrixStoreTensorNV
        | Op::CreateTensorLayoutNV | Op::TensorLayoutSetDimensionNV | Op::TensorLayoutSetStrideNV | Op::TensorLayoutSliceNV
        | Op::TensorLayoutSetClampValueNV | Op::TensorLayoutSetBlockSizeNV | Op::CreateTensorViewNV | Op::TensorViewSetDimensionNV
        | Op::TensorViewSetStrideNV | Op::TensorViewSetClipNV => Family::Matrix,

        Op::CooperativeVectorLoadNV | Op::CooperativeVectorStoreNV | Op::CooperativeVectorMatrixMulNV | Op::CooperativeVectorMatrixMulAddNV
        | Op::CooperativeVectorOuterProductAccumulateNV | Op::CooperativeVectorReduceSumAccumulateNV => Family::CooperativeVector,

        Op::Image | Op::ImageFetch | Op::ImageRead | Op::ImageWrite | Op::ImageTexelPointer
        | Op::ImageQuerySize | Op::ImageQuerySizeLod | Op::ImageQueryLevels | Op::ImageQuerySamples
        | Op::ImageQueryFormat | Op::ImageQueryOrder
        | Op::SampledImage | Op::ImageQueryLod | Op::ImageSampleImplicitLod | Op::ImageSampleExplicitLod
        | Op::ImageSampleDrefImplicitLod | Op::ImageSampleDrefExplicitLod | Op::ImageSampleProjImplicitLod
        | Op::ImageSampleProjExplicitLod | Op::ImageSampleProjDrefImplicitLod | Op::ImageSampleProjDrefExplicitLod
        | Op::ImageGather | Op::ImageDrefGather => Family::Image,

        Op::TensorReadARM | Op::TensorWriteARM | Op::TensorQuerySizeARM => Family::Tensor,

        Op::AtomicLoad | Op::AtomicStore | Op::AtomicExchange | Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak
        | Op::AtomicIIncrement | Op::AtomicIDecrement | Op::AtomicIAdd | Op::AtomicISub | Op::AtomicSMin | Op::AtomicUMin | Op::AtomicSMax
        | Op::AtomicUMax | Op::AtomicAnd | Op::AtomicOr | Op::AtomicXor | Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT
        | Op::AtomicFlagTestAndSet | Op::AtomicFlagClear => Family::Atomic,

        Op::GroupNonUniformElect | Op::GroupNonUniformAll | Op::GroupNonUniformAny | Op::GroupNonUniformAllEqual
        | Op::GroupNonUniformBroadcast | Op::GroupNonUniformBroadcastFirst | Op::GroupNonUniformBallot | Op::GroupNonUniformInverseBallot
        | Op::GroupNonUniformBallotBitExtract | Op::GroupNonUniformBallotBitCount | Op::GroupNonUniformBallotFindLSB | Op::GroupNonUniformBallotFindMSB
        | Op::GroupNonUniformShuffle | Op::GroupNonUniformShuffleXor | Op::GroupNonUniformShuffleUp | Op::GroupNonUniformShuffleDown
        | Op::GroupNonUniformRotateKHR | Op::GroupNonUniformQuadBroadcast | Op::GroupNonUniformQuadSwap
        | Op::GroupNonUniformQuadAllKHR | Op::GroupNonUniformQuadAnyKHR
        | Op::GroupNonUniformIAdd | Op::GroupNonUniformFAdd | Op::GroupNonUniformIMul | Op::GroupNonUniformFMul
        | Op::GroupNonUniformSMin | Op::GroupNonUniformUMin | Op::GroupNonUniformFMin | Op::GroupNonUniformSMax | Op::GroupNonUniformUMax
        | Op::GroupNonUniformFMax | Op::GroupNonUniformBitwiseAnd | Op::GroupNonUniformBitwiseOr | Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalAnd | Op::GroupNonUniformLogicalOr | Op::GroupNonUniformLogicalXor
        | Op::GroupAll | Op::GroupAny | Op::GroupBroadcast | Op::GroupIAdd | Op::GroupFAdd | Op::GroupSMin | Op::GroupUMin | Op::GroupFMin
        | Op::GroupSMax | Op::GroupUMax | Op::GroupFMax | Op::GroupIMulKHR | Op::GroupFMulKHR | Op::GroupBitwiseAndKHR | Op::GroupBitwiseOrKHR
        | Op::GroupBitwiseXorKHR | Op::GroupLogicalAndKHR | Op::GroupLogicalOrKHR | Op::GroupLogicalXorKHR
        | Op::GroupIAddNonUniformAMD | Op::GroupFAddNonUniformAMD | Op::GroupFMinNonUniformAMD | Op::GroupUMinNonUniformAMD
        | Op::GroupSMinNonUniformAMD | Op::GroupFMaxNonUniformAMD | Op::GroupUMaxNonUniformAMD | Op::GroupSMaxNonUniformAMD
        | Op::SubgroupBallotKHR | Op::SubgroupFirstInvocationKHR | Op::SubgroupAllKHR | Op::SubgroupAnyKHR | Op::SubgroupAllEqualKHR
        | Op::SubgroupReadInvocationKHR | Op::SubgroupShuffleINTEL | Op::SubgroupShuffleDownINTEL | Op::SubgroupShuffleUpINTEL
        | Op::GroupNonUniformPartitionEXT
        | Op::SubgroupMatrixMultiplyAccumulateINTEL
        | Op::SubgroupShuffleXorINTEL | Op::SubgroupBlockReadINTEL | Op::SubgroupBlockWriteINTEL => Family::Subgroup,

        Op::ReadClockKHR => Family::Clock,

        Op::DPdx | Op::DPdy | Op::Fwidth | Op::DPdxFine | Op::DPdyFine | Op::FwidthFine | Op::DPdxCoarse | Op::DPdyCoarse
        | Op::FwidthCoarse => Family::Derivative,

        Op::ExtInst | Op::ExtInstWithForwardRefsKHR => Family::Extended,


        _ => return None,
    })
}

/// Lowers one instruction.
///
/// # Errors
/// What the family reports.
pub(crate) fn emit<'c, 'm>(e: &mut FunctionEmitter<'_, 'c, 'm>, inst: Inst<'m>) -> Result<Handled> {
    let Some(op) = inst.op() else {
        // Opcodes that the `spirv` crate has no name for.
        return match inst.opcode() {
            nameless::DOT2_MIX_ACC32 | nameless::DOT2_MIX_ACC16 => linear::mixed_dot(e, inst),
            nameless::BITCAST_EXTRACT => convert::bitcast_extract(e, inst),
            _ => matrix::emit_joint(e, inst),
        };
    };
    let Some(family) = family(op) else {
        return Ok(Handled::No);
    };
    match family {
        Family::Barrier => barrier::emit(e, inst),
        Family::NamedBarrier => named::emit(e, op, inst),
        Family::AsyncCopy => async_copy::emit(e, op, inst),
        Family::Memory if promoted_copy::is_copy(e, op, inst) => promoted_copy::emit(e, inst),
        Family::Memory => memory::emit(e, inst),
        Family::Place => place::emit(e, inst),
        Family::Pointer => pointer::emit(e, op, inst),
        Family::Control => control::emit(e, inst),
        Family::Arith => arith::emit(e, op, inst),
        Family::Bits => bits::emit(e, op, inst),
        Family::Compare => compare::emit(e, op, inst),
        Family::Convert => convert::emit(e, op, inst),
        Family::Composite => composite::emit(e, op, inst),
        Family::Linear => linear::emit(e, op, inst),
        Family::Matrix => matrix::emit(e, op, inst),
        Family::CooperativeVector => cooperative_vector::emit(e, op, inst),
        Family::Image => image::emit(e, op, inst),
        Family::Tensor => tensor::emit(e, op, inst),
        Family::Atomic if image::atomic::is_texel(e, inst) => image::atomic::emit(e, op, inst),
        Family::Atomic => atomic::emit(e, op, inst),
        Family::Subgroup => subgroup::emit(e, op, inst),
        Family::Clock => clock::emit(e, inst),
        Family::Derivative => derivative::emit(e, op, inst),
        Family::Extended => ext::emit(e, inst),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::family;
    use expect_test::expect_file;
    use spirv::Op;
    use splitbar_passes::module::facts::Class;
    use splitbar_passes::module::{Inst, WordOffset};
    use std::fmt::Write;

    /// An instruction that is lowered is described in the table of facts.
    #[test]
    fn every_lowered_instruction_has_facts() {
        for number in 0..=u32::from(u16::MAX) {
            let Some(op) = Op::from_u32(number).filter(|op| family(*op).is_some()) else {
                continue;
            };
            let words = [1 << 16 | number];
            let inst = Inst {
                offset: WordOffset::FIRST,
                words: &words,
            };
            let class = inst.facts().class;
            let is_described = inst.facts().is_described() || class == Class::Extended;
            assert!(is_described, "{op:?}: {class:?}");
        }
    }

    /// What becomes of an instruction; `None`: it is a declaration, which is read and not lowered.
    fn outcome(op: Op) -> Option<String> {
        let declared = op.is_type()
            || op.is_constant()
            || op.is_annotation()
            || op.is_debug()
            || matches!(
                op,
                Op::Capability
                    | Op::Extension
                    | Op::ExtInstImport
                    | Op::MemoryModel
                    | Op::EntryPoint
                    | Op::ExecutionMode
                    | Op::ExecutionModeId
                    | Op::Function
                    | Op::FunctionParameter
                    | Op::FunctionEnd
                    | Op::Label
                    | Op::Phi
                    | Op::AliasDomainDeclINTEL
                    | Op::AliasScopeDeclINTEL
                    | Op::AliasScopeListDeclINTEL
                    | Op::AsmTargetINTEL
                    | Op::AsmINTEL
            )
            || format!("{op:?}").starts_with("Type");
        if declared {
            return None;
        }
        Some(match family(op) {
            Some(family) => format!("{family:?}").to_lowercase(),
            None => "refused: SB0300".to_owned(),
        })
    }

    #[test]
    fn the_list_of_instructions_is_fresh() {
        let mut text = String::from(
            "# Instructions\n\n\
             This page lists every SPIR-V instruction that can be in a function body, as the `spirv` crate names it, and the family in `lowering/llvm/src/emit/` that lowers it.\n\
             A family may still reject an operand, a type or a target, with a code and a reason. `cargo xtask bless instructions` writes this page.\n\n\
             | number | instruction | outcome |\n|--:|---|---|\n",
        );
        for op in (0..=u32::from(u16::MAX)).filter_map(Op::from_u32) {
            if let Some(outcome) = outcome(op) {
                writeln!(text, "| {} | Op{op:?} | {outcome} |", op as u32).unwrap();
            }
        }
        expect_file!["../../../../docs/instructions.md"].assert_eq(&text);
    }
}
