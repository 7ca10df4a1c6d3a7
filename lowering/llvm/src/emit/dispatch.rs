//! From opcode to instruction family. To lower another opcode, add it to the row of its family (or add a row and a file).

use super::function::FunctionEmitter;
use super::{
    Handled, Result, arith, atomic, barrier, bits, compare, composite, control, convert, ext,
    image, linear, matrix, memory, place, subgroup,
};
use spirv::Op;
use splitbar_passes::module::Inst;

/// Lowers one instruction. OpPhi is the emitter's own.
///
/// # Errors
/// What the family reports.
pub(crate) fn emit<'c, 'm>(e: &mut FunctionEmitter<'_, 'c, 'm>, inst: Inst<'m>) -> Result<Handled> {
    let Some(op) = inst.op() else {
        // Opcodes that the `spirv` crate has no name for.
        return match inst.opcode() {
            linear::valve::FDOT2_MIX_ACC32 | linear::valve::FDOT2_MIX_ACC16 => {
                linear::mixed_dot(e, inst)
            }
            _ => Ok(Handled::No),
        };
    };
    #[rustfmt::skip]
    let handled = match op {
        Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL | Op::ControlBarrier | Op::MemoryBarrier => barrier::emit(e, inst)?,

        Op::Load | Op::Store | Op::CopyMemory | Op::CopyMemorySized => memory::emit(e, inst)?,

        Op::Variable | Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain
        | Op::UntypedAccessChainKHR | Op::UntypedInBoundsAccessChainKHR | Op::CopyObject | Op::ArrayLength
        | Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::GenericCastToPtrExplicit | Op::ConvertPtrToU | Op::ConvertUToPtr
        | Op::PtrEqual | Op::PtrNotEqual | Op::PtrDiff => place::emit(e, inst)?,

        Op::Branch | Op::BranchConditional | Op::Switch | Op::Return | Op::ReturnValue | Op::Unreachable | Op::FunctionCall | Op::Undef
        | Op::SelectionMerge | Op::LoopMerge | Op::LoopControlINTEL | Op::Nop | Op::Line | Op::NoLine
        | Op::LifetimeStart | Op::LifetimeStop | Op::AssumeTrueKHR | Op::ExpectKHR => control::emit(e, inst)?,

        Op::IAdd | Op::ISub | Op::IMul | Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod | Op::SNegate
        | Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod | Op::FNegate
        | Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => arith::emit(e, op, inst)?,

        Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic | Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor | Op::Not
        | Op::BitReverse | Op::BitCount | Op::BitFieldInsert | Op::BitFieldSExtract | Op::BitFieldUExtract => bits::emit(e, op, inst)?,

        Op::IEqual | Op::INotEqual | Op::LogicalEqual | Op::LogicalNotEqual | Op::LogicalAnd | Op::LogicalOr | Op::LogicalNot | Op::Any | Op::All
        | Op::UGreaterThan | Op::SGreaterThan | Op::UGreaterThanEqual | Op::SGreaterThanEqual
        | Op::ULessThan | Op::SLessThan | Op::ULessThanEqual | Op::SLessThanEqual
        | Op::FOrdEqual | Op::FUnordEqual | Op::FOrdNotEqual | Op::FUnordNotEqual | Op::LessOrGreater
        | Op::FOrdLessThan | Op::FUnordLessThan | Op::FOrdGreaterThan | Op::FUnordGreaterThan
        | Op::FOrdLessThanEqual | Op::FUnordLessThanEqual | Op::FOrdGreaterThanEqual | Op::FUnordGreaterThanEqual
        | Op::Ordered | Op::Unordered | Op::IsNan | Op::IsInf | Op::IsFinite | Op::IsNormal | Op::SignBitSet | Op::Select => compare::emit(e, op, inst)?,

        Op::ConvertFToU | Op::ConvertFToS | Op::ConvertUToF | Op::ConvertSToF | Op::UConvert | Op::SConvert | Op::FConvert
        | Op::SatConvertSToU | Op::SatConvertUToS | Op::QuantizeToF16 | Op::Bitcast
        | Op::ConvertFToBF16INTEL | Op::ConvertBF16ToFINTEL => convert::emit(e, op, inst)?,

        Op::CompositeConstruct | Op::CompositeExtract | Op::CompositeInsert | Op::CopyLogical
        | Op::VectorShuffle | Op::VectorExtractDynamic | Op::VectorInsertDynamic => composite::emit(e, op, inst)?,

        Op::Dot | Op::VectorTimesScalar | Op::MatrixTimesScalar | Op::MatrixTimesVector | Op::VectorTimesMatrix | Op::MatrixTimesMatrix
        | Op::OuterProduct | Op::Transpose | Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => linear::emit(e, op, inst)?,

        Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR | Op::CooperativeMatrixMulAddKHR | Op::CooperativeMatrixLengthKHR
        | Op::CooperativeMatrixConvertNV | Op::CooperativeMatrixTransposeNV | Op::CooperativeMatrixPerElementOpNV
        | Op::CooperativeMatrixReduceNV => matrix::emit(e, op, inst)?,

        Op::Image | Op::ImageFetch | Op::ImageRead | Op::ImageWrite | Op::ImageQuerySize | Op::ImageQuerySizeLod => image::emit(e, op, inst)?,

        Op::AtomicLoad | Op::AtomicStore | Op::AtomicExchange | Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak
        | Op::AtomicIIncrement | Op::AtomicIDecrement | Op::AtomicIAdd | Op::AtomicISub | Op::AtomicSMin | Op::AtomicUMin | Op::AtomicSMax
        | Op::AtomicUMax | Op::AtomicAnd | Op::AtomicOr | Op::AtomicXor | Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT
        | Op::AtomicFlagTestAndSet | Op::AtomicFlagClear => atomic::emit(e, op, inst)?,

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
        | Op::SubgroupBallotKHR | Op::SubgroupFirstInvocationKHR | Op::SubgroupAllKHR | Op::SubgroupAnyKHR | Op::SubgroupAllEqualKHR
        | Op::SubgroupReadInvocationKHR | Op::SubgroupShuffleINTEL | Op::SubgroupShuffleDownINTEL | Op::SubgroupShuffleUpINTEL
        | Op::SubgroupShuffleXorINTEL => subgroup::emit(e, op, inst)?,

        Op::ExtInst | Op::ExtInstWithForwardRefsKHR => ext::emit(e, inst)?,

        _ => Handled::No,
    };
    Ok(handled)
}
