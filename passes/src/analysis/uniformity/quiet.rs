//! Where no invocation can have written a Workgroup variable since the last barrier of the workgroup.
//!
//! There, all invocations that load from one address get one value: a write in between would be a data race, which is
//! undefined behaviour. A wait only settles what was written before its arrive.

use super::memory::workgroup_writes;
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Analysis, Direction, solve};
use crate::analysis::pairing::SiteKind;
use crate::module::{Declarations, Function, Inst};

/// A bit for each Workgroup variable.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Writes {
    /// May have been written since the last barrier.
    since_barrier: u64,
    /// May have been written since the last arrive.
    since_arrive: u64,
}

impl Writes {
    fn pass(&mut self, declarations: &Declarations<'_>, inst: Inst<'_>) {
        let writes = workgroup_writes(declarations, inst);
        self.since_barrier |= writes;
        self.since_arrive |= writes;
        // Which scope a barrier has is looked up nowhere here: one of a subgroup is told by its constant.
        let of_group = || {
            let scope = inst.id(0).ok().and_then(|id| declarations.module.def(id));
            scope.is_some_and(|scope| {
                scope.op() == Some(spirv::Op::Constant) && scope.operands() == [2]
            })
        };
        match SiteKind::of(inst) {
            Some(SiteKind::ControlBarrier) if of_group() => *self = Writes::default(),
            Some(SiteKind::Arrive) if of_group() => self.since_arrive = 0,
            Some(SiteKind::Wait) if of_group() => self.since_barrier = self.since_arrive,
            _ => {} // it orders nothing between the invocations of a workgroup
        }
    }
}

struct Problem<'p, 'm> {
    declarations: &'p Declarations<'m>,
    function: &'p Function<'m>,
}

impl Analysis for Problem<'_, '_> {
    type State = Writes;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Writes {
        Writes::default()
    }

    fn boundary(&self) -> Writes {
        Writes::default()
    }

    fn join(&self, state: &mut Writes, other: &Writes) -> bool {
        let before = *state;
        state.since_barrier |= other.since_barrier;
        state.since_arrive |= other.since_arrive;
        *state != before
    }

    fn transfer(&self, block: usize, mut state: Writes) -> Writes {
        for inst in self
            .function
            .blocks
            .get(block)
            .into_iter()
            .flat_map(|block| &block.insts)
        {
            state.pass(self.declarations, *inst);
        }
        state
    }
}

/// The answer, and a place in the function.
#[derive(Clone, Debug, Default)]
pub(super) struct Quiet {
    at_start: Vec<Writes>,
    now: Writes,
}

impl Quiet {
    pub(super) fn of(declarations: &Declarations<'_>, function: &Function<'_>, cfg: &Cfg) -> Quiet {
        let shared = declarations
            .variables
            .iter()
            .any(|variable| variable.class == spirv::StorageClass::Workgroup);
        let at_start = if shared {
            solve(
                cfg,
                &Problem {
                    declarations,
                    function,
                },
            )
        } else {
            Vec::new()
        };
        Quiet {
            at_start,
            now: Writes::default(),
        }
    }

    /// Goes to the start of a block.
    pub(super) fn enter(&mut self, block: usize) {
        self.now = self.at_start.get(block).copied().unwrap_or_default();
    }

    /// Goes past an instruction.
    pub(super) fn pass(&mut self, declarations: &Declarations<'_>, inst: Inst<'_>) {
        if !self.at_start.is_empty() {
            self.now.pass(declarations, inst);
        }
    }

    /// Whether none of the variables `bits` has been written since the last barrier.
    pub(super) fn is_quiet(&self, bits: u64) -> bool {
        self.now.since_barrier & bits == 0
    }
}
