//! AMDGPU: reductions and scans in which all lanes of a wave take part, the inactive ones with a
//! value that changes nothing (LLVM AMDGPUUsage, `llvm.amdgcn.set.inactive`,
//! `llvm.amdgcn.strict.wwm`). Which lane reads which one is then known when the code is written:
//! moves inside of rows of 16 lanes (DPP) need no address and no set of lanes.
//!
//! Floating-point sums come out as in [`super::scan`]: a reduction combines neighbours first,
//! whatever lanes are active. A scan by shifts does not, so that only integers take it, and of
//! those the operations with which 0 does nothing: it comes in at the first lanes of a row.
//!
//! No constant is kept in a register for all lanes ([`super::facts::activates_lanes`]).

use super::Result;
use super::build::Build;
use super::collective::Collective;
use super::lanes::{Lanes, words};
use crate::ffi::{self, IntPredicate, Value};

/// Lanes of a row.
const ROW: u32 = 16;

/// DPP controls by which each lane of a block gets the total of the other half of its block, where
/// all lanes of a half have the same: `quad_perm:[1,0,3,2]`, `quad_perm:[2,3,0,1]`,
/// `row_half_mirror`, `row_mirror`.
const OTHER_HALF: [(u32, u32); 4] = [(2, 0xb1), (4, 0x4e), (8, 0x141), (ROW, 0x140)];

/// The control `row_shr:N` is this and N.
const ROW_SHR: u32 = 0x110;

impl<'c> Lanes<'_, 'c> {
    /// Returns true if [`Lanes::reduce_all`] takes clusters of `span` lanes.
    pub(super) fn reduces_all(&self, span: u32) -> bool {
        self.activates && self.one_set && (span <= ROW || span == self.wave_size)
    }

    /// Returns true if [`Lanes::scan_all`] takes clusters of `span` lanes.
    pub(super) fn scans_all(&self, span: u32, operation: Collective) -> bool {
        let whole = self.activates && self.one_set && span == self.wave_size;
        whole && operation.keeps_with_zero()
    }

    /// All active lanes of each cluster of `span` lanes combined.
    pub(super) fn reduce_all(
        &self,
        value: Value<'c>,
        span: u32,
        operation: Collective,
    ) -> Result<Value<'c>> {
        let b = self.b;
        let neutral = operation.neutral(b, value.ty())?;
        let mut sum = set_inactive(b, value, neutral)?;
        for (_, control) in OTHER_HALF.into_iter().filter(|(block, _)| *block <= span) {
            let other = moved(b, sum, control)?;
            sum = operation.combine(b, other, sum)?;
        }
        if span <= ROW {
            return whole(b, sum);
        }
        let mut totals = self.last_of_rows(sum)?;
        while totals.len() > 1 {
            let pairs = totals.chunks(2).map(|pair| match pair {
                [low, high] => operation.combine(b, *low, *high),
                other => other
                    .first()
                    .copied()
                    .ok_or_else(|| b.internal("a wave of no rows")),
            });
            totals = pairs.collect::<Result<_>>()?;
        }
        totals
            .first()
            .copied()
            .ok_or_else(|| b.internal("a wave of no rows"))
    }

    /// Inclusive scan of integers over the active lanes of the wave.
    pub(super) fn scan_all(&self, value: Value<'c>, operation: Collective) -> Result<Value<'c>> {
        let b = self.b;
        let neutral = operation.neutral(b, value.ty())?;
        let mut sum = set_inactive(b, value, neutral)?;
        for distance in [1, 2, 4, 8] {
            let before = moved(b, sum, ROW_SHR | distance)?;
            sum = operation.combine(b, before, sum)?;
        }
        let totals = self.last_of_rows(sum)?;
        let mut result = whole(b, sum)?;
        // What the rows in front have together.
        let mut before = neutral;
        let mut total = None;
        for (row, last) in (1..self.wave_size / ROW).zip(totals) {
            let sum = match total {
                None => last,
                Some(total) => operation.combine(b, total, last)?,
            };
            let here = b.icmp(IntPredicate::LLVMIntUGE, self.id, b.i32(row * ROW))?;
            before = b.select(here, sum, before)?;
            total = Some(sum);
        }
        result = operation.combine(b, before, result)?;
        Ok(result)
    }

    /// What the last lane of each row has, the same in all lanes.
    fn last_of_rows(&self, value: Value<'c>) -> Result<Vec<Value<'c>>> {
        let b = self.b;
        let rows = 0..self.wave_size / ROW;
        let last = rows.map(|row| {
            let lane = b.i32(row * ROW + ROW - 1);
            let read = |word| b.intrinsic("llvm.amdgcn.readlane", &[b.int_type(32)], &[word, lane]);
            whole(b, words(b, value, &read)?)
        });
        last.collect()
    }
}

/// `value` in active lanes, `neutral` in the others. The value passes through an empty assembly
/// statement into a vector register: beside one that lies in a scalar register, `neutral` could not
/// be an operand.
fn set_inactive<'c>(b: &Build<'c>, value: Value<'c>, neutral: Value<'c>) -> Result<Value<'c>> {
    both(b, value, neutral, &|word, neutral| {
        let ty = word.ty();
        let identity = ffi::inline_assembly(ty.function(&[ty]), "", "=v,0", false);
        let word = b.raw().call(ty.function(&[ty]), identity, &[word]);
        b.intrinsic("llvm.amdgcn.set.inactive", &[ty], &[word, neutral])
    })
}

/// Ends what all lanes take part in.
fn whole<'c>(b: &Build<'c>, value: Value<'c>) -> Result<Value<'c>> {
    words(b, value, &|word| {
        b.intrinsic("llvm.amdgcn.strict.wwm", &[b.int_type(32)], &[word])
    })
}

/// What a DPP move gives; 0 where there is no lane to read. LLVM merges it into arithmetic of its
/// own type.
fn moved<'c>(b: &Build<'c>, value: Value<'c>, control: u32) -> Result<Value<'c>> {
    let all = b.i32(0xf);
    let dpp = |part: Value<'c>| {
        let ty = part.ty();
        let operands = [ty.poison(), part, b.i32(control), all, all, b.bool(true)];
        b.intrinsic("llvm.amdgcn.update.dpp", &[ty], &operands)
    };
    b.each_lane(&[value], |&[part]| match part.ty().scalar_bits() {
        32 => dpp(part),
        _ => words(b, part, &dpp),
    })
}

/// Applies `f` to the 32-bit words of two values of one type, as [`words`] does to those of one.
fn both<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    y: Value<'c>,
    f: &dyn Fn(Value<'c>, Value<'c>) -> Result<Value<'c>>,
) -> Result<Value<'c>> {
    let ty = x.ty();
    if ty.is_vector() {
        return b.each_lane(&[x, y], |&[x, y]| both(b, x, y, f));
    }
    let (word, integer) = (b.int_type(32), b.int_type(ty.scalar_bits()));
    let (x, y) = (b.bitcast(x, integer)?, b.bitcast(y, integer)?);
    let result = if ty.scalar_bits() <= 32 {
        let (x, y) = (b.int_resize(x, word, false)?, b.int_resize(y, word, false)?);
        b.int_resize(f(x, y)?, integer, false)?
    } else {
        let halves = word.vector(ty.scalar_bits() / 32);
        let (x, y) = (b.bitcast(x, halves)?, b.bitcast(y, halves)?);
        b.bitcast(b.each_lane(&[x, y], |&[x, y]| f(x, y))?, integer)?
    };
    b.bitcast(result, ty)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::emit::core_tests::lowered_at;
    use splitbar_passes::module::{Module, assemble};
    use splitbar_plan::Optimization;
    use splitbar_plan::backend::LoweredModule as _;

    /// The least value of those lanes whose flag is set, of a value that is the same in all of
    /// them; in the others the largest number, which is what inactive lanes take part with.
    const KERNEL: &str = "OpCapability Shader
        OpCapability GroupNonUniformArithmetic
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %index
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %index BuiltIn LocalInvocationIndex
        OpDecorate %array ArrayStride 4
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %buffer DescriptorSet 0
        OpDecorate %buffer Binding 0
        %void = OpTypeVoid
        %u32 = OpTypeInt 32 0
        %bool = OpTypeBool
        %fn = OpTypeFunction %void
        %u0 = OpConstant %u32 0
        %u3 = OpConstant %u32 3
        %most = OpConstant %u32 2147483647
        %input = OpTypePointer Input %u32
        %index = OpVariable %input Input
        %array = OpTypeRuntimeArray %u32
        %block = OpTypeStruct %array
        %storage = OpTypePointer StorageBuffer %block
        %element = OpTypePointer StorageBuffer %u32
        %buffer = OpVariable %storage StorageBuffer
        %main = OpFunction %void None %fn
        %entry = OpLabel
        %i = OpLoad %u32 %index
        %own = OpAccessChain %element %buffer %u0 %i
        %flag = OpLoad %u32 %own
        %first = OpAccessChain %element %buffer %u0 %u0
        %same = OpLoad %u32 %first
        %set = OpINotEqual %bool %flag %u0
        OpSelectionMerge %join None
        OpBranchConditional %set %then %join
        %then = OpLabel
        %least = OpGroupNonUniformSMin %u32 %u3 Reduce %same
        OpBranch %join
        %join = OpLabel
        %result = OpPhi %u32 %most %entry %least %then
        OpStore %own %result
        OpReturn
        OpFunctionEnd";

    #[test]
    fn no_constant_lies_in_a_register_for_all_lanes() {
        let module = Module::from_words(assemble(KERNEL).unwrap().words).unwrap();
        for target in ["gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
            for optimization in [Optimization::O0, Optimization::O2] {
                let lowered = lowered_at(&module, target, false, optimization).unwrap();
                let text = lowered.assembly().unwrap();
                let (_, all) = text.split_once("s_or_saveexec_b").unwrap();
                let (all, _) = all.split_once("exec").unwrap();
                assert!(all.contains("v_cndmask_b32_e64"), "{target}: {all}");
                assert!(!all.contains("v_mov_b32_e32"), "{target}: {all}");
            }
        }
    }
}
