//! Labels of the registers of a warp.

use super::lanes::{Lanes, each};
use crate::lane::Lane;
use crate::ptx::operand::Source;
use crate::uses::{Label, NONE, Uses};
use std::collections::BTreeMap;

/// The labels of the bytes of a register.
pub(super) type OfBytes = [Label; 8];

/// Labels of the registers of a warp, by register and lane. What has no entry has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    registers: BTreeMap<(u32, Lane), OfBytes>,
    /// Bytes of local memory.
    pub(super) local: BTreeMap<usize, Label>,
}

impl Labels {
    pub(super) fn is_empty(&self) -> bool {
        self.registers.is_empty()
    }

    pub(super) fn of(&self, source: Source, lane: Lane) -> OfBytes {
        let Source::Register(register) = source else {
            return [NONE; 8];
        };
        let labels = self.registers.get(&(register, lane));
        labels.copied().unwrap_or([NONE; 8])
    }

    pub(super) fn set(&mut self, register: u32, lane: Lane, labels: OfBytes) {
        if labels == [NONE; 8] {
            self.registers.remove(&(register, lane));
        } else {
            self.registers.insert((register, lane), labels);
        }
    }

    /// Returns true if a register has labels in one of the lanes.
    pub(super) fn has(&self, register: u32, lanes: Lanes) -> bool {
        let range = (register, Lane::new(0))..(register + 1, Lane::new(0));
        let mut all = self.registers.range(range);
        all.any(|((_, lane), _)| lanes >> *lane & 1 == 1)
    }

    /// Something is decided by a value in these lanes.
    pub(super) fn spend(&self, register: u32, lanes: Lanes, known: &mut Uses) {
        for lane in each(lanes) {
            let labels = self.of(Source::Register(register), lane);
            labels.into_iter().for_each(|label| known.spend(label));
        }
    }
}
