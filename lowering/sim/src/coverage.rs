//! The instructions that a run executed, and the synchronising ones that had an effect.
//!
//! A wait matters when it retires an operation, a fence when somebody learns something through it.
//! One that is executed and never matters could be left out of the same executions: that is a
//! proof, where a run without it that goes well is none.

/// The coverage of one run, by the program's numbers for its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    marks: Vec<u8>,
}

const EXECUTED: u8 = 1;
const MATTERED: u8 = 2;

impl Coverage {
    /// Returns true if an instruction was executed, by any wave.
    pub fn executed(&self, pc: u32) -> bool {
        self.has(pc, EXECUTED)
    }

    /// Returns true if a wait or a fence changed anything for any wave. Of one that a test leaves
    /// out: whether it would have.
    pub fn mattered(&self, pc: u32) -> bool {
        self.has(pc, MATTERED)
    }

    /// Adds what another run covered.
    pub fn join(&mut self, other: &Coverage) {
        if self.marks.len() < other.marks.len() {
            self.marks.resize(other.marks.len(), 0);
        }
        for (mine, its) in self.marks.iter_mut().zip(&other.marks) {
            *mine |= its;
        }
    }

    pub(crate) fn execute(&mut self, pc: u32) {
        self.mark(pc, EXECUTED);
    }

    pub(crate) fn matter(&mut self, pc: u32) {
        self.mark(pc, MATTERED);
    }

    fn has(&self, pc: u32, mark: u8) -> bool {
        self.marks.get(pc as usize).is_some_and(|m| m & mark != 0)
    }

    fn mark(&mut self, pc: u32, mark: u8) {
        let at = pc as usize;
        if at >= self.marks.len() {
            self.marks.resize(at + 1, 0);
        }
        if let Some(marks) = self.marks.get_mut(at) {
            *marks |= mark;
        }
    }
}
