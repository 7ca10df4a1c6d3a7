//! Labels of the registers of a wave.

use super::inst::{File, Inst, Op};
use super::operand::sgpr;
use crate::uses::{Label, NONE};
use std::collections::BTreeMap;

/// The labels of the four bytes of a vector register, in each lane.
pub(super) type OfLanes = [[Label; 4]; 64];
/// The labels of the bits of a scalar register.
pub(super) type OfBits = [Label; 32];

/// Labels of the registers of a wave. Registers without an entry have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    pub(super) vector: BTreeMap<u16, Box<OfLanes>>,
    pub(super) scalar: BTreeMap<u16, Box<OfBits>>,
    pub(super) scc: Label,
}

impl Labels {
    /// Returns true if no register has any.
    pub(super) fn is_empty(&self) -> bool {
        self.vector.is_empty() && self.scalar.is_empty() && self.scc == NONE
    }

    pub(super) fn of_vector(&self, register: u16) -> Option<&OfLanes> {
        self.vector.get(&register).map(|labels| &**labels)
    }

    pub(super) fn vector_or_none(&self, register: u16) -> OfLanes {
        self.of_vector(register).copied().unwrap_or([[NONE; 4]; 64])
    }

    pub(super) fn scalar_or_none(&self, register: u16) -> OfBits {
        let labels = self.scalar.get(&register);
        labels.map_or([NONE; 32], |labels| **labels)
    }

    /// Bit `bit` of the registers from `first` on.
    pub(super) fn bit(&self, first: u16, bit: usize) -> Label {
        let register = first + (bit / 32) as u16;
        let labels = self.scalar.get(&register);
        labels.map_or(NONE, |labels| labels[bit % 32])
    }

    pub(super) fn set_vector(&mut self, register: u16, labels: &OfLanes) {
        if labels.iter().flatten().all(|label| *label == NONE) {
            self.vector.remove(&register);
        } else {
            self.vector.insert(register, Box::new(*labels));
        }
    }

    pub(super) fn set_scalar(&mut self, register: u16, labels: &OfBits) {
        if register == sgpr::NULL || labels.iter().all(|label| *label == NONE) {
            self.scalar.remove(&register);
        } else {
            self.scalar.insert(register, Box::new(*labels));
        }
    }

    /// Returns true if the instruction reads or writes a labelled register.
    pub(super) fn concerns(&self, inst: &Inst) -> bool {
        let touches_scc = self.scc != NONE
            && matches!(
                inst.op,
                Op::Scalar(_) | Op::SaveExec { .. } | Op::Branch { .. } | Op::Vector(_)
            );
        touches_scc
            || inst.uses.iter().any(|one| {
                let first = one.registers.first;
                let range = first..first.saturating_add(one.registers.count);
                match one.registers.file {
                    File::Vector => self.vector.range(range).next().is_some(),
                    File::Scalar => self.scalar.range(range).next().is_some(),
                }
            })
    }
}
