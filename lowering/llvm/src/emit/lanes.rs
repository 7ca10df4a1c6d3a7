//! What the lanes of a subgroup can ask of each other, spelled for both vendors: who is active,
//! ballots, and reading another lane's value. Reductions and scans are made of those
//! ([`super::scan`]).
//!
//! A subgroup is a wave, or a part of one: a power of two of lanes that follow each other. Lanes
//! are counted in their wave here, and sets of lanes are sets of the wave's, but for what
//! [`Lanes::read`], [`Lanes::ballot`], [`Lanes::of_wave_set`] and [`Lanes::of_subgroup_set`] say.
//!
//! Only active lanes are ever read.
//!
//! NVPTX: the mask of every `.sync` operation is the tangle that [`super::tangle`] follows, or,
//! where nothing parts it, the set of lanes that are active at the start of the instruction.

use super::Result;
use super::build::Build;
use super::facts::{self, ActiveMask, LaneExchange};
use super::function::FunctionEmitter;
use crate::ffi::{IntPredicate, Opcode, Value};
use splitbar_passes::module::Inst;
use splitbar_plan::target::Arch;

/// The active lanes of a wave at one instruction, and how they are divided into subgroups. Sets of
/// lanes are `i64`, bit i for lane i.
pub(crate) struct Lanes<'e, 'c> {
    pub(super) b: &'e Build<'c>,
    pub(super) exchange: LaneExchange,
    /// AMDGPU: lanes read others of their 32, and of their quad.
    pub(super) permutes: bool,
    /// AMDGPU: inactive lanes may take part.
    pub(super) activates: bool,
    /// NVPTX: `redux.sync` is there.
    pub(super) redux: bool,
    pub(super) wave_size: u32,
    /// Lanes of a subgroup.
    pub(super) size: u32,
    /// NVPTX: the mask operand, `i32`.
    mask: Option<Value<'c>>,
    /// The active lanes of the wave, or of this lane's set where there are several.
    pub(super) active: Value<'c>,
    /// `active` is the same in all lanes.
    pub(super) one_set: bool,
    /// This lane's number in its wave, `i32`.
    pub(crate) id: Value<'c>,
}

impl<'e, 'c> Lanes<'e, 'c> {
    /// Asks who is active, for what subgroups do.
    pub(crate) fn new(e: &FunctionEmitter<'e, 'c, '_>, inst: Inst<'_>) -> Result<Lanes<'e, 'c>> {
        Ok(Lanes {
            size: e.subgroup_size(),
            ..Lanes::of_wave(e, inst)?
        })
    }

    /// Asks who is active, for what the wave does as a whole.
    pub(crate) fn of_wave(
        e: &FunctionEmitter<'e, 'c, '_>,
        inst: Inst<'_>,
    ) -> Result<Lanes<'e, 'c>> {
        let b = e.b;
        let (mask, active) = match &e.module.target.arch {
            Arch::Amdgpu(_) => (None, wave_ballot(b, e.wave_size(), b.bool(true))?),
            Arch::Nvptx(_) => {
                if facts::active_mask(e.module.target) == ActiveMask::Missing {
                    return Err(e.unsupported_on_target(
                        inst,
                        "the set of active lanes (activemask, PTX 6.2)",
                    ));
                }
                let mask = match e.tangle_mask() {
                    Some(mask) => mask,
                    None => e.active_lanes()?,
                };
                (Some(mask), b.int_resize(mask, b.int_type(64), false)?)
            }
        };
        Lanes::from_size(e, mask, active)
    }

    /// All lanes of the wave, where every one of them is known to be active.
    pub(crate) fn all_active(e: &FunctionEmitter<'e, 'c, '_>) -> Result<Lanes<'e, 'c>> {
        let b = e.b;
        let all = ones(e.wave_size());
        let mask = match &e.module.target.arch {
            Arch::Amdgpu(_) => None,
            Arch::Nvptx(_) => Some(b.i32(u32::MAX)),
        };
        Lanes::from_size(e, mask, b.i64(all))
    }

    fn from_size(
        e: &FunctionEmitter<'e, 'c, '_>,
        mask: Option<Value<'c>>,
        active: Value<'c>,
    ) -> Result<Lanes<'e, 'c>> {
        Ok(Lanes {
            b: e.b,
            exchange: facts::lane_exchange(e.module.target, e.wave_size()),
            permutes: facts::permutes_near_lanes(e.module.target),
            activates: facts::activates_lanes(e.module.target),
            redux: facts::reduces_words(e.module.target),
            wave_size: e.wave_size(),
            size: e.wave_size(),
            mask,
            active,
            one_set: true,
            id: lane_id(e)?,
        })
    }

    /// The same lanes in sets: what a lane scans and reduces are the active lanes of its `set`,
    /// which is one of its subgroup. The sets of two lanes are one, or have no lane in common.
    pub(crate) fn within(self, set: Value<'c>) -> Result<Self> {
        Ok(Lanes {
            active: self.b.and(self.active, self.of_subgroup_set(set)?)?,
            one_set: false,
            ..self
        })
    }

    /// Returns true if the wave is one subgroup.
    fn is_whole(&self) -> bool {
        self.size == self.wave_size
    }

    /// This lane's number in its subgroup, `i32`.
    pub(crate) fn place(&self) -> Result<Value<'c>> {
        place_of(self.b, self.id, self.size, self.wave_size)
    }

    /// The first lane of this lane's subgroup, `i64`: what sets are shifted by.
    fn corner(&self) -> Result<Value<'c>> {
        let b = self.b;
        let corner = b.and(self.id, b.i32(!(self.size - 1)))?;
        b.int_resize(corner, b.int_type(64), false)
    }

    /// Of a set of the wave's lanes those of this subgroup, counted from its first lane.
    pub(crate) fn of_wave_set(&self, set: Value<'c>) -> Result<Value<'c>> {
        if self.is_whole() {
            return Ok(set);
        }
        let b = self.b;
        b.and(b.lshr(set, self.corner()?)?, b.i64(ones(self.size)))
    }

    /// A set of lanes that are counted from the first one of this subgroup, as one of the wave's.
    pub(crate) fn of_subgroup_set(&self, set: Value<'c>) -> Result<Value<'c>> {
        if self.is_whole() {
            return Ok(set);
        }
        let b = self.b;
        b.shl(b.and(set, b.i64(ones(self.size)))?, self.corner()?)
    }

    /// The active lanes of the subgroup that hold the same bits as this one.
    pub(crate) fn partition(&self, value: Value<'c>) -> Result<Value<'c>> {
        let (b, ty) = (self.b, value.ty());
        let mut same = self.members()?;
        let integer = b.int_type(ty.scalar_bits());
        for component in 0..ty.lanes() {
            let bits = b.bitcast(b.lane(value, component)?, integer)?;
            for place in 0..ty.scalar_bits() {
                let shifted = b.lshr(bits, b.int(integer, place.into())?)?;
                let bit = b.int_resize(shifted, b.int_type(1), false)?;
                let ones = self.wave_ballot(bit)?;
                same = b.and(same, b.select(bit, ones, b.not(ones)?)?)?;
            }
        }
        Ok(same)
    }

    /// The active lanes of this lane's subgroup.
    pub(crate) fn members(&self) -> Result<Value<'c>> {
        self.cluster(None)
    }

    /// The active lanes of the subgroup for which `predicate` (`i1`) is true, counted from its
    /// first lane.
    pub(crate) fn ballot(&self, predicate: Value<'c>) -> Result<Value<'c>> {
        self.of_wave_set(self.wave_ballot(predicate)?)
    }

    /// The active lanes of the wave for which `predicate` (`i1`) is true.
    pub(crate) fn wave_ballot(&self, predicate: Value<'c>) -> Result<Value<'c>> {
        match self.mask {
            None => wave_ballot(self.b, self.wave_size, predicate),
            Some(mask) => {
                let ballot =
                    self.b
                        .intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[mask, predicate])?;
                self.b.int_resize(ballot, self.b.int_type(64), false)
            }
        }
    }

    /// Whether `predicate` is true in every active lane of the subgroup.
    pub(crate) fn all(&self, predicate: Value<'c>) -> Result<Value<'c>> {
        let not = self.ballot(self.b.not(predicate)?)?;
        self.b.icmp(IntPredicate::LLVMIntEQ, not, self.b.i64(0))
    }

    /// Whether `predicate` is true in an active lane of the subgroup.
    pub(crate) fn any(&self, predicate: Value<'c>) -> Result<Value<'c>> {
        let yes = self.ballot(predicate)?;
        self.b.icmp(IntPredicate::LLVMIntNE, yes, self.b.i64(0))
    }

    /// The lowest active lane of the subgroup, `i32`.
    pub(crate) fn first(&self) -> Result<Value<'c>> {
        lowest(self.b, self.members()?)
    }

    /// The value that lane `lane` (`i32`) of the subgroup holds: undefined when that lane is not
    /// active. Any scalar or vector, lane by lane and 32 bits at a time. Its number in the wave
    /// names a lane of the subgroup as well.
    pub(crate) fn read(&self, value: Value<'c>, lane: Value<'c>) -> Result<Value<'c>> {
        if self.is_whole() {
            return self.read_of_wave(value, lane);
        }
        let b = self.b;
        let corner = b.and(self.id, b.i32(!(self.size - 1)))?;
        let place = b.and(lane, b.i32(self.size - 1))?;
        self.read_of_wave(value, b.or(corner, place)?)
    }

    /// The same of lane `lane` of the wave.
    pub(super) fn read_of_wave(&self, value: Value<'c>, lane: Value<'c>) -> Result<Value<'c>> {
        words(self.b, value, &|word| self.read_word(word, lane))
    }

    fn read_word(&self, word: Value<'c>, lane: Value<'c>) -> Result<Value<'c>> {
        let b = self.b;
        match (self.exchange, self.mask) {
            (LaneExchange::Sync, Some(mask)) => b.intrinsic(
                "llvm.nvvm.shfl.sync.idx.i32",
                &[],
                &[mask, word, lane, b.i32(31)],
            ),
            (LaneExchange::ReadLane, _) => {
                // One scalar read per lane; the lane that was asked for wins.
                let mut result = word;
                for index in 0..self.wave_size {
                    let other = b.intrinsic(
                        "llvm.amdgcn.readlane",
                        &[b.int_type(32)],
                        &[word, b.i32(index)],
                    )?;
                    let wanted = b.icmp(IntPredicate::LLVMIntEQ, lane, b.i32(index))?;
                    result = b.select(wanted, other, result)?;
                }
                Ok(result)
            }
            (LaneExchange::Shuffle | LaneExchange::Sync, _) => {
                b.intrinsic("llvm.amdgcn.wave.shuffle", &[b.int_type(32)], &[word, lane])
            }
        }
    }

    /// The value of the lowest active lane of the subgroup.
    pub(crate) fn read_first(&self, value: Value<'c>) -> Result<Value<'c>> {
        if self.mask.is_some() || !self.is_whole() {
            return self.read_of_wave(value, self.first()?);
        }
        words(self.b, value, &|word| {
            self.b
                .intrinsic("llvm.amdgcn.readfirstlane", &[self.b.int_type(32)], &[word])
        })
    }

    /// The lanes of a cluster of `size` (a power of two) lanes, or of the subgroup.
    pub(super) fn span(&self, size: Option<u32>) -> u32 {
        size.unwrap_or(self.size).min(self.size)
    }

    /// The active lanes that share this lane's cluster of `size` (a power of two) lanes, and its
    /// subgroup.
    pub(super) fn cluster(&self, size: Option<u32>) -> Result<Value<'c>> {
        let b = self.b;
        let span = self.span(size);
        if span == self.wave_size {
            return Ok(self.active);
        }
        let start = b.and(self.id, b.i32(!(span - 1)))?;
        let lanes = b.shl(
            b.i64(ones(span)),
            b.int_resize(start, b.int_type(64), false)?,
        )?;
        b.and(self.active, lanes)
    }

    /// The lanes of `set` below this one.
    pub(crate) fn below(&self, set: Value<'c>) -> Result<Value<'c>> {
        let b = self.b;
        let bit = b.shl(b.i64(1), b.int_resize(self.id, b.int_type(64), false)?)?;
        b.and(set, b.sub(bit, b.i64(1))?)
    }

    /// The lanes of `set` below this one, and this one.
    pub(super) fn up_to(&self, set: Value<'c>) -> Result<Value<'c>> {
        let b = self.b;
        let bit = b.shl(b.i64(2), b.int_resize(self.id, b.int_type(64), false)?)?;
        b.and(set, b.sub(bit, b.i64(1))?)
    }
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// NVPTX: the lanes that are active, `i32`.
    pub(super) fn active_lanes(&self) -> Result<Value<'c>> {
        match facts::active_mask(self.module.target) {
            ActiveMask::Ballot => {
                self.b
                    .intrinsic("llvm.nvvm.vote.ballot", &[], &[self.b.bool(true)])
            }
            ActiveMask::Instruction | ActiveMask::Missing => {
                self.b.intrinsic("llvm.nvvm.activemask", &[], &[])
            }
        }
    }
}

/// NVPTX: the lanes of `mask` (`i32`), which are those that execute this, for which `predicate` is
/// true.
pub(super) fn vote<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    mask: Value<'c>,
    predicate: Value<'c>,
) -> Result<Value<'c>> {
    e.b.intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[mask, predicate])
}

/// AMDGPU: the lanes for which `predicate` is true, `i64`. Asked for as wide as the wave: a ballot
/// of 64 bits in a wave of 32 lanes reads EXEC whole at -O0 (LLVM 23.1), and its upper half is
/// nobody's.
fn wave_ballot<'c>(b: &Build<'c>, wave_size: u32, predicate: Value<'c>) -> Result<Value<'c>> {
    let lanes = b.intrinsic("llvm.amdgcn.ballot", &[b.int_type(wave_size)], &[predicate])?;
    b.int_resize(lanes, b.int_type(64), false)
}

/// The lowest `count` bits, 1 to 64.
pub(super) fn ones(count: u32) -> u64 {
    u64::MAX >> (64 - count.clamp(1, 64))
}

/// The number in a subgroup of `size` lanes of lane `id` of the wave.
fn place_of<'c>(b: &Build<'c>, id: Value<'c>, size: u32, wave_size: u32) -> Result<Value<'c>> {
    if size == wave_size {
        Ok(id)
    } else {
        b.and(id, b.i32(size - 1))
    }
}

/// This lane's number in its subgroup, `i32`.
pub(crate) fn place<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    place_of(e.b, lane_id(e)?, e.subgroup_size(), e.wave_size())
}

/// This lane's number in its wave, `i32`.
pub(crate) fn lane_id<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    let b = e.b;
    match e.module.target.arch {
        Arch::Nvptx(_) => b.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[]),
        Arch::Amdgpu(_) => {
            let ones = b.i32(u32::MAX);
            let low = b.intrinsic("llvm.amdgcn.mbcnt.lo", &[], &[ones, b.i32(0)])?;
            if e.wave_size() == 64 {
                b.intrinsic("llvm.amdgcn.mbcnt.hi", &[], &[ones, low])
            } else {
                Ok(low)
            }
        }
    }
}

/// Index of the lowest lane of a set that is not empty, `i32`.
pub(crate) fn lowest<'c>(b: &Build<'c>, set: Value<'c>) -> Result<Value<'c>> {
    let index = b.intrinsic("llvm.cttz", &[set.ty()], &[set, b.bool(false)])?;
    b.int_resize(index, b.int_type(32), false)
}

/// Index of the highest lane of a set that is not empty, `i32`.
pub(crate) fn highest<'c>(b: &Build<'c>, set: Value<'c>) -> Result<Value<'c>> {
    let leading = b.intrinsic("llvm.ctlz", &[set.ty()], &[set, b.bool(false)])?;
    let top = b.int(set.ty(), u64::from(set.ty().scalar_bits()) - 1)?;
    b.int_resize(b.sub(top, leading)?, b.int_type(32), false)
}

/// Applies `f` to the 32-bit words of a scalar or vector of any width; narrower values ride in one
/// word.
pub(super) fn words<'c>(
    b: &Build<'c>,
    value: Value<'c>,
    f: &dyn Fn(Value<'c>) -> Result<Value<'c>>,
) -> Result<Value<'c>> {
    let ty = value.ty();
    if ty.is_vector() {
        return b.each_lane(&[value], |&[lane]| words(b, lane, f));
    }
    let word = b.int_type(32);
    let pointer = ty.is_pointer();
    let bits = if pointer { 64 } else { ty.scalar_bits() };
    let integer = b.int_type(bits);
    let raw = if pointer {
        b.cast(Opcode::LLVMPtrToInt, value, integer)?
    } else {
        b.bitcast(value, integer)?
    };
    let moved = if bits <= 32 {
        b.int_resize(f(b.int_resize(raw, word, false)?)?, integer, false)?
    } else {
        let halves = b.bitcast(raw, word.vector(bits / 32))?;
        let moved = b.each_lane(&[halves], |&[half]| f(half))?;
        b.bitcast(moved, integer)?
    };
    if pointer {
        b.cast(Opcode::LLVMIntToPtr, moved, ty)
    } else {
        b.bitcast(moved, ty)
    }
}
