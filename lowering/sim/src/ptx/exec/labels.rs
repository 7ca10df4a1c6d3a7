//! The dependences of the registers of lanes: labels of loaded bytes ([`crate::uses`]), through the
//! operations that compute.
//!
//! A result depends on what changes it: its function is called again with other values in place of
//! the labelled ones. Predicates depend on all that they are computed from. What other operations
//! read is used.

use super::labelled::OfBytes;
use super::lanes::{Lanes, each};
use super::warp::Warp;
use crate::context::Context;
use crate::lane::Lane;
use crate::ptx::arith::{Function, Mode};
use crate::ptx::operand::Source;
use crate::ptx::program::{Coded, Kernel, Op};
use crate::ptx::roles::Role;
use crate::uses::{Label, NONE, Uses};
use std::ops::Range;

/// Values that are put in place of labelled ones, the same in each byte; `None` for what is there.
const BASES: [Option<u64>; 4] = [
    None,
    Some(0),
    Some(0x5c39_e8a7_1d62_b4f3),
    Some(0xa3d1_4e7b_926c_0f58),
];
/// How a byte changes.
const CHANGES: [u64; 3] = [0xff, 0x01, 0xa6];

impl Warp {
    /// The labels of the bytes that a lane stores, each source `bytes` of them.
    pub(super) fn stored_labels(&self, from: &[Source], bytes: usize, lane: Lane) -> Vec<Label> {
        if self.labels.is_empty() {
            return Vec::new();
        }
        let sources = from.iter();
        sources
            .flat_map(|source| self.labels.of(*source, lane).into_iter().take(bytes))
            .collect()
    }

    /// Writes local memory, with its labels.
    pub(super) fn store_local(&mut self, range: Range<usize>, from: &[u8], labels: &[Label]) {
        self.label_local(range.clone(), labels);
        if let Some(to) = self.local.get_mut(range) {
            to.copy_from_slice(from);
        }
    }

    /// Bytes of local memory get labels; those behind the end of `labels` get none.
    pub(super) fn label_local(&mut self, range: Range<usize>, labels: &[Label]) {
        if self.labels.local.is_empty() && labels.iter().all(|label| *label == NONE) {
            return;
        }
        for (n, place) in range.enumerate() {
            match labels.get(n).copied().unwrap_or(NONE) {
                NONE => self.labels.local.remove(&place),
                label => self.labels.local.insert(place, label),
            };
        }
    }

    /// A register of a lane gets the labels of what was loaded; the sign of a narrow value goes on
    /// above it.
    pub(super) fn label_loaded(
        &mut self,
        register: u32,
        lane: Lane,
        loaded: &[Label],
        signed: bool,
        known: &mut Uses,
    ) {
        let mut labels = [NONE; 8];
        for (to, label) in labels.iter_mut().zip(loaded) {
            *to = known.join(*label, NONE);
        }
        if let (true, Some(last)) = (signed, loaded.last()) {
            let above = labels.iter_mut().skip(loaded.len());
            above.for_each(|to| *to = *last);
        }
        self.labels.set(register, lane, labels);
    }
}

impl Kernel {
    /// Labels of what an operation is about to write, by what it reads.
    pub(super) fn label(
        &self,
        warp: &mut Warp,
        coded: &Coded,
        lanes: Lanes,
        active: Lanes,
        context: &mut Context<'_>,
    ) {
        if warp.labels.is_empty() {
            return;
        }
        let known = &mut *context.uses;
        if let Some(guard) = coded.guard {
            warp.labels.spend(guard.register, lanes, known);
        }
        match coded.op {
            Op::Compute {
                function,
                mode,
                to,
                from,
            } => {
                let read = from.iter().any(|source| match source {
                    Source::Register(register) => warp.labels.has(*register, active),
                    Source::Constant(_) => false,
                });
                if !read && !warp.labels.has(to, active) {
                    return;
                }
                for lane in each(active) {
                    let values = from.map(|source| warp.value(self, source, lane));
                    let labels = from.map(|source| warp.labels.of(source, lane));
                    let labels = if labels.iter().flatten().all(|label| *label == NONE) {
                        [NONE; 8]
                    } else {
                        computed(function, &mode, values, &labels, known)
                    };
                    warp.labels.set(to, lane, labels);
                }
            }
            // Addresses decide; what is loaded and stored has its labels beside it.
            Op::Load { address, .. } | Op::Store { address, .. } => {
                if let Source::Register(register) = address.base {
                    warp.labels.spend(register, active, known);
                }
            }
            Op::CopyLocal { .. } => {}
            _ => {
                let (mut reads, mut writes) = (Vec::new(), Vec::new());
                coded.operands(&self.lists, &mut |role, register| match role {
                    Role::Definition => writes.push(register),
                    Role::Use | Role::Address => reads.push(register),
                    Role::Guard => {} // it decides before
                });
                for register in reads {
                    warp.labels.spend(register, active, known);
                }
                for register in writes {
                    for lane in each(active) {
                        warp.labels.set(register, lane, [NONE; 8]);
                    }
                }
            }
        }
    }
}

/// The labels of a result, by the labels of what it is computed from.
fn computed(
    function: Function,
    mode: &Mode,
    values: [u64; 4],
    labels: &[OfBytes; 4],
    known: &mut Uses,
) -> OfBytes {
    // A comparison is decided by all of its operands.
    if let Some(width) = mode.compared() {
        let read = labels.iter().flat_map(|labels| labels.iter().take(width));
        let all = known.join_all(read.copied());
        return [all; 8];
    }
    let mut result = [NONE; 8];
    for base in BASES {
        let start: [u64; 4] = std::array::from_fn(|n| {
            let (value, labels) = (values[n], labels[n]);
            let bytes = labels.iter().enumerate();
            let mask = bytes.fold(0u64, |mask, (byte, label)| {
                mask | if *label == NONE {
                    0
                } else {
                    0xff << (8 * byte)
                }
            });
            match base {
                None => value,
                Some(other) => value & !mask | other.rotate_left(8 * n as u32) & mask,
            }
        });
        let plain = function(mode, start);
        for (n, labels) in labels.iter().enumerate() {
            for (byte, label) in labels.iter().enumerate().filter(|(_, l)| **l != NONE) {
                for change in CHANGES {
                    let mut changed = start;
                    changed[n] ^= change << (8 * byte);
                    let differs = (function(mode, changed) ^ plain).to_le_bytes();
                    for (_, to) in differs.iter().zip(&mut result).filter(|(d, _)| **d != 0) {
                        *to = known.join(*to, *label);
                    }
                }
            }
        }
    }
    result
}
