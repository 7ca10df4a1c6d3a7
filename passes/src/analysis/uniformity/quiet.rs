//! Finds the places where no invocation can have written a Workgroup variable since the last
//! barrier of the workgroup.
//!
//! There, all invocations that load from one address get one value: a write in between would be a
//! data race, which is undefined behaviour. A wait only settles what was written before its arrive.

use super::memory::Memory;
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Direction, solve_any};
use crate::analysis::pairing::SiteKind;
use crate::module::{BlockIndex, BlockMap, Declarations, Function, Inst, WordOffset};
use std::ops::BitOr;

/// A bit for each Workgroup variable.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Writes {
    /// May have been written since the last barrier.
    since_barrier: u64,
    /// May have been written since the last arrive.
    since_arrive: u64,
}

impl BitOr for Writes {
    type Output = Writes;

    fn bitor(self, other: Writes) -> Writes {
        Writes {
            since_barrier: self.since_barrier | other.since_barrier,
            since_arrive: self.since_arrive | other.since_arrive,
        }
    }
}

/// What an instruction does to [`Writes`].
#[derive(Copy, Clone, Debug)]
enum Effect {
    Write(u64),
    ControlBarrier,
    Arrive,
    Wait,
}

impl Effect {
    fn analyze(declarations: &Declarations<'_>, memory: &Memory, inst: Inst<'_>) -> Option<Effect> {
        // Which scope a barrier has is looked up nowhere here: one of a subgroup is told by its
        // constant.
        let of_group = || {
            let scope = inst.id(0).ok().and_then(|id| declarations.module.def(id));
            scope.is_some_and(|scope| {
                scope.op() == Some(spirv::Op::Constant) && scope.operands() == [2]
            })
        };
        match SiteKind::from_inst(inst) {
            Some(SiteKind::ControlBarrier) => of_group().then_some(Effect::ControlBarrier),
            Some(SiteKind::Arrive) => of_group().then_some(Effect::Arrive),
            Some(SiteKind::Wait) => of_group().then_some(Effect::Wait),
            Some(SiteKind::MemoryBarrier) => None, // nobody waits
            None => match memory.workgroup_writes(declarations, inst) {
                0 => None,
                bits => Some(Effect::Write(bits)),
            },
        }
    }
}

impl Writes {
    fn pass(&mut self, effect: Effect) {
        match effect {
            Effect::Write(bits) => {
                self.since_barrier |= bits;
                self.since_arrive |= bits;
            }
            Effect::ControlBarrier => *self = Writes::default(),
            Effect::Arrive => self.since_arrive = 0,
            Effect::Wait => self.since_barrier = self.since_arrive,
        }
    }
}

/// By block: what its instructions do, with their offsets.
type Effects = BlockMap<Vec<(WordOffset, Effect)>>;

/// The answer, and a place in the function. The default is for functions without Workgroup
/// variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Quiet {
    effects: Effects,
    at_start: BlockMap<Writes>,
    now: Writes,
    block: BlockIndex,
    /// Effects of the block that lie behind.
    passed: usize,
}

impl Quiet {
    pub(super) fn analyze(
        declarations: &Declarations<'_>,
        memory: &Memory,
        function: &Function<'_>,
        cfg: &Cfg,
    ) -> Quiet {
        let effect =
            |inst: &Inst<'_>| Some((inst.offset, Effect::analyze(declarations, memory, *inst)?));
        let effects: Effects = function
            .blocks
            .iter()
            .map(|block| block.insts.iter().filter_map(effect).collect())
            .collect();
        let at_start = solve_any(cfg, Direction::Forward, |block, mut writes: Writes| {
            for (_, effect) in effects.get(block).into_iter().flatten() {
                writes.pass(*effect);
            }
            writes
        });
        Quiet {
            effects,
            at_start,
            ..Quiet::default()
        }
    }

    /// Goes to the start of a block.
    pub(super) fn enter(&mut self, block: BlockIndex) {
        self.now = self.at_start.get(block).copied().unwrap_or_default();
        (self.block, self.passed) = (block, 0);
    }

    /// Whether, before the instruction at `offset` of the block, none of the variables `bits` has
    /// been written since the last barrier. Places in a block come in order.
    pub(super) fn is_quiet(&mut self, offset: WordOffset, bits: u64) -> bool {
        let effects = self.effects.get(self.block).map_or(&[][..], Vec::as_slice);
        while let Some((_, effect)) = effects.get(self.passed).filter(|(at, _)| *at < offset) {
            self.now.pass(*effect);
            self.passed += 1;
        }
        self.now.since_barrier & bits == 0
    }
}
