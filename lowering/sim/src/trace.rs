//! A trace of one step of a wave, as far as its time depends on it: the instruction, the memory
//! that it accessed, the barrier objects at which it arrived, and those after which it continues.

use crate::barrier::Name;
use crate::memory::Space;
use std::collections::BTreeSet;

/// The trace of the current step. Records nothing unless it is switched on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// True if anything is recorded.
    pub on: bool,
    /// The instruction; none where the wave found its way blocked before it came to one.
    pub pc: Option<u32>,
    /// The bytes that lanes touched, in the order of the lanes.
    pub touches: Vec<Touch>,
    /// The barrier objects at which the wave arrived.
    pub arrivals: Vec<Name>,
    /// The phase after which the wave continues, and the instruction that waited; `None` if that
    /// was in an older step.
    pub passes: Vec<(Name, Option<u32>)>,
    /// The kinds of access of all steps, by instruction, if they are kept.
    pub kept: Option<BTreeSet<(u32, Space, bool)>>,
}

/// Bytes that one lane touched.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    /// The instruction that the access belongs to, which may be older than the step.
    pub pc: u32,
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
    pub write: bool,
    pub atomic: bool,
}

impl Trace {
    /// Forgets the step before.
    pub(crate) fn clear(&mut self) {
        self.pc = None;
        self.touches.clear();
        self.arrivals.clear();
        self.passes.clear();
    }

    /// The step executes instruction `pc`.
    pub(crate) fn execute(&mut self, pc: u32) {
        if self.on {
            self.pc = Some(pc);
        }
    }

    /// A lane touches memory that the kernel can write.
    pub(crate) fn keep(&mut self, pc: u32, space: Space, write: bool) {
        if let Some(kept) = &mut self.kept {
            kept.insert((pc, space, write));
        }
    }

    /// A lane touches memory.
    pub(crate) fn touch(&mut self, touch: Touch) {
        if self.on {
            self.touches.push(touch);
        }
    }

    /// The wave, or one of its lanes, arrives at a barrier object.
    pub(crate) fn arrive(&mut self, name: Name) {
        if self.on && self.arrivals.last() != Some(&name) {
            self.arrivals.push(name);
        }
    }

    /// The wave, or one of its lanes, goes on after a phase of a barrier object.
    pub(crate) fn pass(&mut self, name: Name) {
        let pass = (name, self.pc);
        if self.on && self.passes.last() != Some(&pass) {
            self.passes.push(pass);
        }
    }
}
