//! Reductions and scans over the active lanes of a subgroup.
//!
//! A scan goes by halves (J. Sklansky, Conditional-Sum Addition Logic, 1960): lanes stand in blocks
//! of 2, 4, 8 and so on, and in each round the upper half of every block adds the total of the
//! lower half. That total is what the last active lane of the lower half holds, and which lane that
//! is follows from the set of active lanes: a round reads one value, none of an inactive lane, and
//! nothing is asked of inactive lanes. A reduction is the scan's value in the last active lane.
//!
//! | the last active lane of a block's first lanes is read by | where |
//! |---|---|
//! | moves inside of quads (DPP), as many as lanes come into question | AMDGPU from gfx8 on, blocks of 2 and 4 |
//! | `v_readlane` for each block | AMDGPU, one or two blocks; any number before gfx8 |
//! | `ds_bpermute` | AMDGPU from gfx8 on, blocks of 8 to 32 |
//! | `shfl.sync` | NVPTX |
//! | whatever reads any lane of the wave | AMDGPU, sets of lanes that differ from lane to lane |
//!
//! On AMD GPUs from gfx10 on, all lanes take part where that is possible ([`super::whole_wave`]):
//! in reductions of a wave or of up to 16 lanes, and in scans of some integers over a wave.
//! Exclusive scans are made of inclusive ones there if the operation can be undone.
//!
//! Booleans are counted in a ballot, and a whole warp reduces words by `redux.sync` where the
//! target has it.

use super::Result;
use super::collective::{Collective, Redux};
use super::facts::LaneExchange;
use super::lanes::{Lanes, highest, ones, words};
use crate::ffi::{IntPredicate, Value};

/// The first `lanes` lanes of every block of `block` lanes, both powers of two.
struct Part<'c> {
    block: u32,
    lanes: u32,
    /// Those of this lane's own block that are active, none in a lane that does not ask for them:
    /// `i32`, counted from lane 0 or 32, for blocks of up to 32 lanes; an integer as wide as the
    /// wave for larger ones.
    set: Value<'c>,
    /// `i1`: `set` is not empty. None: it never is.
    asks: Option<Value<'c>>,
}

/// How the last active lane of a part is read.
enum Way {
    /// Moves inside of quads.
    Quad,
    /// `v_readlane` for each block.
    Blocks,
    /// `ds_bpermute`.
    Permute,
    /// As any lane of the wave is.
    Any,
}

/// What booleans are combined to.
#[derive(Copy, Clone)]
enum Vote {
    /// Whether all are true.
    All,
    /// Whether one is.
    Any,
    /// Whether an odd number is.
    Odd,
}

impl<'c> Lanes<'_, 'c> {
    /// Inclusive scan over the active lanes of the cluster of `cluster` lanes (a power of two;
    /// None: the subgroup), in order of lane number.
    pub(crate) fn scan(
        &self,
        value: Value<'c>,
        cluster: Option<u32>,
        operation: Collective,
    ) -> Result<Value<'c>> {
        if let Some(vote) = vote(value, operation) {
            return self.votes(value, self.up_to(self.cluster(cluster)?)?, vote);
        }
        if self.scans_all(self.span(cluster), operation) {
            return self.scan_all(value, operation);
        }
        self.rounds(value, cluster, operation, &mut None)
    }

    /// The scan of the subgroup without the lane's own value; the identity in the first lane.
    pub(crate) fn exclusive_scan(
        &self,
        value: Value<'c>,
        operation: Collective,
    ) -> Result<Value<'c>> {
        Ok(self.both_scans(value, operation)?.1)
    }

    /// The inclusive and the exclusive scan of the subgroup.
    pub(crate) fn both_scans(
        &self,
        value: Value<'c>,
        operation: Collective,
    ) -> Result<(Value<'c>, Value<'c>)> {
        if let Some(vote) = vote(value, operation) {
            let members = self.members()?;
            return Ok((
                self.votes(value, self.up_to(members)?, vote)?,
                self.votes(value, self.below(members)?, vote)?,
            ));
        }
        if let Some(inverse) = operation.inverse()
            && self.scans_all(self.span(None), operation)
        {
            let inclusive = self.scan_all(value, operation)?;
            return Ok((inclusive, inverse(self.b, inclusive, value)?));
        }
        let identity = operation.identity(self.b, value.ty())?;
        let mut exclusive = Some(identity);
        let inclusive = self.rounds(value, None, operation, &mut exclusive)?;
        let exclusive = exclusive.ok_or_else(|| self.b.internal("a scan without its rounds"))?;
        Ok((inclusive, exclusive))
    }

    /// All active lanes of the cluster combined; every one of them gets the same value.
    pub(crate) fn reduce(
        &self,
        value: Value<'c>,
        cluster: Option<u32>,
        operation: Collective,
    ) -> Result<Value<'c>> {
        let span = self.span(cluster);
        if let Some(vote) = vote(value, operation) {
            return self.votes(value, self.cluster(cluster)?, vote);
        }
        // Lanes that name different sets to `redux.sync` go on apart.
        if self.redux
            && self.one_set
            && span == self.wave_size
            && let Some(redux) = operation.redux(value.ty())
        {
            return self.reduce_words(value, redux);
        }
        if span == 1 {
            return Ok(value);
        }
        if self.reduces_all(span) {
            return self.reduce_all(value, span, operation);
        }
        let sum = self.rounds(value, cluster, operation, &mut None)?;
        let whole = Part {
            block: span,
            lanes: span,
            set: self.part_of_block(span, span)?,
            asks: None,
        };
        self.read_last(sum, &whole)
    }

    /// The rounds of a scan: gives the inclusive one, and makes the exclusive one of an identity.
    fn rounds(
        &self,
        value: Value<'c>,
        cluster: Option<u32>,
        operation: Collective,
        exclusive: &mut Option<Value<'c>>,
    ) -> Result<Value<'c>> {
        let b = self.b;
        let mut sum = value;
        let mut half = 1;
        while half < self.span(cluster) {
            let set = self.part_of_block(half * 2, half)?;
            let asks = b.icmp(IntPredicate::LLVMIntNE, set, b.int(set.ty(), 0)?)?;
            let lower = Part {
                block: half * 2,
                lanes: half,
                set,
                asks: Some(asks),
            };
            let before = self.read_last(sum, &lower)?;
            if let Some(exclusive) = exclusive {
                let combined = if half == 1 {
                    before
                } else {
                    operation.combine(b, before, *exclusive)?
                };
                *exclusive = b.select(asks, combined, *exclusive)?;
            }
            sum = b.select(asks, operation.combine(b, before, sum)?, sum)?;
            half *= 2;
        }
        Ok(sum)
    }

    /// The active ones of the first `lanes` lanes of this lane's block, for a lane that is not one
    /// of them if there are others: see [`Part::set`].
    fn part_of_block(&self, block: u32, lanes: u32) -> Result<Value<'c>> {
        let b = self.b;
        let width = if block > 32 { self.wave_size } else { 32 };
        let ty = b.int_type(width);
        let mut active = b.int_resize(self.active, ty, false)?;
        if width < self.wave_size {
            let upper = b.int_resize(b.lshr(self.active, b.i64(32))?, ty, false)?;
            let is_upper = b.icmp(IntPredicate::LLVMIntUGE, self.id, b.i32(32))?;
            active = b.select(is_upper, upper, active)?;
        }
        // What follows is the same for all scans of a function but for the last line.
        let first = b.and(self.id, b.i32((width - 1) & !(block - 1)))?;
        let mut mask = b.shl(b.int(ty, ones(lanes))?, b.int_resize(first, ty, false)?)?;
        if lanes < block {
            let half = b.and(self.id, b.i32(lanes))?;
            let others = b.icmp(IntPredicate::LLVMIntNE, half, b.i32(0))?;
            mask = b.select(others, mask, b.int(ty, 0)?)?;
        }
        b.and(active, mask)
    }

    /// The value of the last lane of a part of this lane's block; anything in lanes that do not
    /// ask.
    fn read_last(&self, value: Value<'c>, part: &Part<'c>) -> Result<Value<'c>> {
        let b = self.b;
        match self.way(part) {
            Way::Quad => words(b, value, &|word| self.read_in_quad(word, part)),
            Way::Blocks => {
                let lanes = self.last_of_blocks(part)?;
                words(b, value, &|word| self.read_blocks(word, part.block, &lanes))
            }
            Way::Permute => {
                let lane = self.last(part)?;
                let address = b.shl(lane, b.i32(2))?;
                words(b, value, &|word| {
                    b.intrinsic("llvm.amdgcn.ds.bpermute", &[], &[address, word])
                })
            }
            Way::Any => self.read_of_wave(value, self.last(part)?),
        }
    }

    fn way(&self, part: &Part<'c>) -> Way {
        if self.exchange == LaneExchange::Sync {
            return Way::Any;
        }
        let few = part.block * 2 >= self.wave_size;
        match (self.one_set, self.permutes) {
            (true, true) if part.block <= 4 => Way::Quad,
            (true, permutes) if few || !permutes => Way::Blocks,
            (_, true) if part.block <= 32 => Way::Permute,
            _ => Way::Any,
        }
    }

    /// The number of the last lane of the part; this lane's own where it does not ask, since a lane
    /// that is read has to be active.
    fn last(&self, part: &Part<'c>) -> Result<Value<'c>> {
        let b = self.b;
        let mut lane = highest(b, part.set)?;
        if part.block <= 32 && self.wave_size > 32 {
            lane = b.or(lane, b.and(self.id, b.i32(32))?)?;
        }
        match part.asks {
            Some(asks) => b.select(asks, lane, self.id),
            None => Ok(lane),
        }
    }

    /// AMDGPU: one move for each lane of the part, the last one last. A move from an inactive lane
    /// changes nothing (`bound_ctrl` is not set).
    fn read_in_quad(&self, word: Value<'c>, part: &Part<'c>) -> Result<Value<'c>> {
        let b = self.b;
        let mut result = word;
        for lane in 0..part.lanes {
            // `quad_perm`: for each lane of a quad in two bits the lane that it reads.
            let from = |to: u32| (to & !(part.block - 1)) + lane;
            let order = (0..4).fold(0, |order, to| order | from(to) << (2 * to));
            result = b.intrinsic(
                "llvm.amdgcn.update.dpp",
                &[b.int_type(32)],
                &[
                    result,
                    word,
                    b.i32(order),
                    b.i32(0xf),
                    b.i32(0xf),
                    b.bool(false),
                ],
            )?;
        }
        Ok(result)
    }

    /// AMDGPU: the last lane of the part in every block, the same for all lanes; any one where
    /// there is none.
    fn last_of_blocks(&self, part: &Part<'c>) -> Result<Vec<Value<'c>>> {
        let b = self.b;
        let wave = b.int_type(self.wave_size);
        let active = b.int_resize(self.active, wave, false)?;
        (0..self.wave_size / part.block)
            .map(|block| {
                let lanes = ones(part.lanes) << (block * part.block);
                let set = b.and(active, b.int(wave, lanes)?)?;
                highest(b, b.or(set, b.int(wave, 1)?)?)
            })
            .collect()
    }

    /// AMDGPU: of lane `lanes[i]`, in block i of `size` lanes.
    fn read_blocks(&self, word: Value<'c>, size: u32, lanes: &[Value<'c>]) -> Result<Value<'c>> {
        let b = self.b;
        let mut result = None;
        for (block, lane) in (0..).zip(lanes) {
            let read = b.intrinsic("llvm.amdgcn.readlane", &[b.int_type(32)], &[word, *lane])?;
            result = Some(match result {
                None => read,
                Some(before) => {
                    let here = b.icmp(IntPredicate::LLVMIntUGE, self.id, b.i32(block * size))?;
                    b.select(here, read, before)?
                }
            });
        }
        result.ok_or_else(|| b.internal("a subgroup without blocks"))
    }

    /// Booleans of the lanes in `set` combined.
    fn votes(&self, value: Value<'c>, set: Value<'c>, vote: Vote) -> Result<Value<'c>> {
        let b = self.b;
        b.each_lane(&[value], |&[flag]| {
            let counted = match vote {
                Vote::All => b.not(flag)?,
                Vote::Any | Vote::Odd => flag,
            };
            let votes = b.and(self.wave_ballot(counted)?, set)?;
            match vote {
                Vote::All => b.icmp(IntPredicate::LLVMIntEQ, votes, b.i64(0)),
                Vote::Any => b.icmp(IntPredicate::LLVMIntNE, votes, b.i64(0)),
                Vote::Odd => {
                    let count = b.intrinsic("llvm.ctpop", &[votes.ty()], &[votes])?;
                    b.int_resize(count, b.int_type(1), false)
                }
            }
        })
    }

    /// NVPTX: `redux.sync` over the active lanes.
    fn reduce_words(&self, value: Value<'c>, redux: Redux) -> Result<Value<'c>> {
        let b = self.b;
        let word = b.int_type(32);
        let members = b.int_resize(self.active, word, false)?;
        let reduce = |word| b.intrinsic(redux.intrinsic, &[], &[word, members]);
        if redux.bitwise {
            return words(b, value, &reduce);
        }
        b.each_lane(&[value], |&[part]| {
            let reduced = reduce(b.int_resize(part, word, redux.signed)?)?;
            b.int_resize(reduced, part.ty(), false)
        })
    }
}

/// The operation on booleans that `operation` is.
fn vote(value: Value<'_>, operation: Collective) -> Option<Vote> {
    use Collective::*;
    if !value.ty().is_int() || value.ty().scalar_bits() != 1 {
        return None;
    }
    match operation {
        And => Some(Vote::All),
        Or => Some(Vote::Any),
        Xor => Some(Vote::Odd),
        IAdd | FAdd | IMul | FMul | SMin | UMin | FMin | SMax | UMax | FMax => None,
    }
}
