//! Loads, stores and atomics of one warp.

use super::agents::agent;
use super::lanes::{Lanes, each};
use super::warp::Warp;
use super::window;
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::lane::{Lane, runs};
use crate::memory::Space;
use crate::ptx::arith::sign_extend;
use crate::ptx::operand::{Address, Source, Where};
use crate::ptx::program::{Kernel, Op};
use crate::uses::{Label, NONE};

/// Where an access goes.
enum Target {
    Machine(Space, u64),
    Local(u64),
    Parameter(u64),
}

/// Resolves an address; windows of the generic address space are taken off.
fn target(space: Where, address: u64) -> Target {
    let inside = |base: u64| {
        address
            .checked_sub(base)
            .filter(|offset| *offset < window::LENGTH)
    };
    match space {
        Where::Global => Target::Machine(Space::Global, address),
        Where::Shared => Target::Machine(Space::Shared, address),
        Where::Local => Target::Local(address),
        Where::Param => match address.checked_sub(window::PARAM_IN_LOCAL) {
            Some(offset) => Target::Local(offset),
            None => Target::Parameter(address),
        },
        Where::Generic => {
            if let Some(offset) = inside(window::SHARED) {
                Target::Machine(Space::Shared, offset)
            } else if let Some(offset) = inside(window::LOCAL) {
                Target::Local(offset)
            } else if let Some(offset) = inside(window::PARAM) {
                target(Where::Param, offset)
            } else {
                Target::Machine(Space::Global, address)
            }
        }
    }
}

/// The most bytes that one lane's access moves: four times 64 bits, or eight times 32.
const MOST: usize = 64;

impl Kernel {
    fn address(&self, warp: &Warp, lane: Lane, address: Address) -> u64 {
        warp.value(self, address.base, lane)
            .wrapping_add_signed(address.offset)
    }

    /// The address in shared memory of what must lie there.
    pub(super) fn shared_address(
        &self,
        warp: &Warp,
        lane: Lane,
        space: Where,
        address: Address,
    ) -> u64 {
        match target(space, self.address(warp, lane, address)) {
            Target::Machine(Space::Shared, offset) => offset,
            // Outside of every shared memory, so that the access is reported.
            Target::Machine(Space::Global, _) | Target::Local(_) | Target::Parameter(_) => {
                u64::MAX - 16
            }
        }
    }

    /// Reads bytes of one lane.
    #[allow(clippy::too_many_arguments)] // one access in one place
    fn fetch(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        at: At,
        space: Where,
        address: u64,
        into: &mut [u8],
        access: Access,
        labels: &mut [Label],
    ) {
        let (pc, lane, all) = (at.pc, at.lane, into.len());
        match target(space, address) {
            Target::Machine(space, offset) => {
                context.load(space, offset, into, at, access, labels);
            }
            Target::Local(offset) => match self.local_range(lane, offset, all) {
                Some(range) => {
                    for (place, label) in range.clone().zip(labels) {
                        *label = warp.labels.local.get(&place).copied().unwrap_or(NONE);
                    }
                    if let Some(local) = warp.local.get(range) {
                        into.copy_from_slice(local);
                    }
                }
                None => outside(context, pc, lane, "local memory", offset, all),
            },
            Target::Parameter(offset) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                match self.parameter_block.get(start..start.saturating_add(all)) {
                    Some(block) => into.copy_from_slice(block),
                    None => outside(context, pc, lane, "the parameters", offset, all),
                }
            }
        }
    }

    /// `Op::Load`, `Op::Store` or `Op::Atomic`.
    pub(super) fn access(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        pc: u32,
        lanes: Lanes,
        op: &Op,
    ) {
        // One function: each arm is one loop over the lanes, by the fields of its operation.
        match *op {
            Op::Load {
                space,
                bytes,
                extend,
                to,
                address,
                access,
                used,
            } => {
                let all = (bytes * to.count) as usize;
                for lane in each(lanes) {
                    context.agent = agent(warp.index, lane);
                    let address = self.address(warp, lane, address);
                    let mut buffer = [0u8; MOST];
                    let mut labels = [NONE; MOST];
                    if !aligned(context, pc, lane, address, all) {
                        continue;
                    }
                    let at = At { pc, lane };
                    for run in runs(used.into(), to.count) {
                        let (first, end) = (run.start * bytes, run.end * bytes);
                        let Some(part) = buffer.get_mut(first as usize..end as usize) else {
                            debug_assert!(false, "{end} bytes are more than a load has");
                            return;
                        };
                        let address = address.wrapping_add(first.into());
                        // As long as the bytes.
                        let of = labels.get_mut(first as usize..).unwrap_or(&mut []);
                        self.fetch(warp, context, at, space, address, part, access, of);
                    }
                    let loaded = buffer.chunks(bytes as usize);
                    let loaded = loaded.zip(labels.chunks(bytes as usize));
                    for ((chunk, labels), register) in loaded.zip(self.list(to)) {
                        let value = from_bytes(chunk);
                        let value = match extend {
                            Some(width) => {
                                sign_extend(value, bytes * 8) as u64
                                    & crate::ptx::arith::mask(width)
                            }
                            None => value,
                        };
                        if let Source::Register(register) = register {
                            warp.set(*register, lane, value);
                            if context.uses.follows() {
                                let known = &mut *context.uses;
                                let signed = extend.is_some();
                                warp.label_loaded(*register, lane, labels, signed, known);
                            }
                        }
                    }
                }
            }
            Op::Store {
                space,
                bytes,
                from,
                address,
                access,
                ..
            } => {
                let all = (bytes * from.count) as usize;
                for lane in each(lanes) {
                    context.agent = agent(warp.index, lane);
                    let address = self.address(warp, lane, address);
                    let mut buffer = [0u8; MOST];
                    for (chunk, source) in buffer.chunks_mut(bytes as usize).zip(self.list(from)) {
                        for (to, from) in chunk
                            .iter_mut()
                            .zip(warp.value(self, *source, lane).to_le_bytes())
                        {
                            *to = from;
                        }
                    }
                    let Some(part) = buffer.get(..all) else {
                        debug_assert!(false, "{all} bytes are more than a store has");
                        return;
                    };
                    if !aligned(context, pc, lane, address, all) {
                        continue;
                    }
                    let labels = warp.stored_labels(self.list(from), bytes as usize, lane);
                    match target(space, address) {
                        Target::Machine(space, offset) => {
                            let at = At { pc, lane };
                            context.store(space, offset, part, at, access, &labels);
                        }
                        Target::Local(offset) => match self.local_range(lane, offset, all) {
                            Some(range) => warp.store_local(range, part, &labels),
                            None => outside(context, pc, lane, "local memory", offset, all),
                        },
                        Target::Parameter(offset) => {
                            outside(context, pc, lane, "the parameters", offset, all)
                        }
                    }
                }
            }
            Op::Atomic {
                space,
                bytes,
                function,
                mode,
                exchange,
                to,
                address,
                from,
                access,
            } => {
                for lane in each(lanes) {
                    context.agent = agent(warp.index, lane);
                    let address = self.address(warp, lane, address);
                    let [b, c] = from.map(|source| warp.value(self, source, lane));
                    let old = match target(space, address) {
                        Target::Machine(space, offset) => {
                            let at = At { pc, lane };
                            context.update(space, offset, bytes as usize, at, access, |old| {
                                if exchange {
                                    (old == b).then_some(c)
                                } else {
                                    Some(function(&mode, [old, b, c, 0]))
                                }
                            })
                        }
                        Target::Local(offset) | Target::Parameter(offset) => {
                            outside(
                                context,
                                pc,
                                lane,
                                "global and shared memory",
                                offset,
                                bytes as usize,
                            );
                            0
                        }
                    };
                    if let Some(to) = to {
                        warp.set(to, lane, old);
                    }
                }
            }
            _ => debug_assert!(false, "{op:?} is not an access"),
        }
    }

    pub(super) fn list(&self, list: crate::ptx::operand::List) -> &[Source] {
        let start = list.start as usize;
        self.lists
            .get(start..start + list.count as usize)
            .unwrap_or(&[])
    }

    fn local_range(&self, lane: Lane, offset: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
        let size = self.local_bytes as usize;
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(bytes).filter(|end| *end <= size)?;
        let own = lane.index() * size;
        Some(own + start..own + end)
    }

    /// Moves an argument or a result of a call.
    pub(super) fn copy_local(&self, warp: &mut Warp, lanes: Lanes, from: u32, to: u32, bytes: u32) {
        for lane in each(lanes) {
            let source = self.local_range(lane, from.into(), bytes as usize);
            let target = self.local_range(lane, to.into(), bytes as usize);
            if let (Some(source), Some(target)) = (source, target) {
                let labels: Vec<Label> = (source.clone())
                    .map(|place| warp.labels.local.get(&place).copied().unwrap_or(NONE))
                    .collect();
                warp.label_local(target.clone(), &labels);
                warp.local.copy_within(source, target.start);
            }
        }
    }
}

pub(super) fn from_bytes(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn aligned(context: &mut Context<'_>, pc: u32, lane: Lane, address: u64, bytes: usize) -> bool {
    let aligned = address.is_multiple_of(bytes.max(1) as u64);
    if !aligned {
        context.report(FindingKind::Misaligned, pc, Some(lane), || {
            format!("an access of {bytes} bytes at {address:#x}")
        });
    }
    aligned
}

fn outside(context: &mut Context<'_>, pc: u32, lane: Lane, what: &str, offset: u64, bytes: usize) {
    context.report(FindingKind::OutOfBounds, pc, Some(lane), || {
        format!("{bytes} bytes at {offset:#x}, outside of {what}")
    });
}
