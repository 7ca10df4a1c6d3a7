//! One look at every instruction of a function: which stores are copies, and what everything else
//! does to memory that a copy touches.

use super::candidate::{self, Between, Candidate, StoreContext};
use super::effects::Effects;
use super::origin::{Origin, Origins};
use super::{Input, Reason, Refused};
use crate::analysis::pairing::SiteKind;
use crate::analysis::uniformity::memory;
use crate::module::facts::{Class, Extent, Operand, Role};
use crate::module::{Block, BlockIndex, BlockMap, Id, Inst, Scope, Semantics, WordOffset, called};
use spirv::StorageClass;
use std::collections::{BTreeMap, BTreeSet};

/// Something that touches Workgroup memory, and is no copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Access {
    /// The variable; `None`: any.
    pub(super) variable: Option<Id>,
    /// The address, where it is one of a load or store of a value; `None`: any part of the
    /// variable.
    pub(super) pointer: Option<Id>,
    /// The address is where it starts, and the innermost array where it ends (matrices that a
    /// subgroup loads and stores).
    pub(super) is_row: bool,
}

/// What an instruction does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The copy with this number.
    Copy(usize),
    /// An access to Workgroup memory, by its number.
    Access(usize),
    /// A write of global memory that a source may be in.
    Write,
    /// OpControlBarrierArriveEXT of the workgroup; whether it orders global memory as well.
    Arrive { global: bool },
    /// OpControlBarrierWaitEXT of the workgroup.
    Wait,
    /// OpControlBarrier of the workgroup.
    Barrier { global: bool },
    /// A release that is no barrier of the workgroup, a call that may contain one, or the end of
    /// the function.
    Fence,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    pub(super) candidates: Vec<Candidate>,
    pub(super) refused: Vec<Refused>,
    pub(super) accesses: Vec<Access>,
    /// By block: word offset and what happens, in order.
    pub(super) acts: BlockMap<Vec<(WordOffset, Act)>>,
}

impl Scan {
    pub(super) fn analyze(input: Input<'_, '_>) -> Scan {
        let (declarations, function) = (input.declarations, input.function);
        let origins = Origins::analyze(declarations, input.constants, function, input.cfg);
        let stores: BTreeMap<WordOffset, Result<Origin, Reason>> = function
            .insts()
            .filter_map(|inst| Some((inst.offset, origins.of_store(inst)?)))
            .collect();
        if stores.is_empty() {
            return Scan::default();
        }
        let effects = Effects::analyze(declarations);
        let mut scanner = Scanner {
            judge: StoreContext {
                declarations,
                constants: input.constants,
                memory: input.memory,
            },
            effects,
            stores,
            found: Scan::default(),
            access_numbers: BTreeMap::new(),
            releases_by_atomics: function.insts().any(|inst| inst.facts().is_atomic()),
        };
        for (index, block) in function.numbered() {
            let acts = if input.cfg.is_reachable(index) {
                scanner.block(index, block)
            } else {
                Vec::new()
            };
            scanner.found.acts.push(acts);
        }
        scanner.found
    }
}

struct Scanner<'s, 'm> {
    judge: StoreContext<'s, 'm>,
    effects: Effects,
    /// By word offset of a store to Workgroup memory of what was loaded from global memory: the
    /// load, or why it is none that can be copied.
    stores: BTreeMap<WordOffset, Result<Origin, Reason>>,
    found: Scan,
    access_numbers: BTreeMap<Access, usize>,
    /// An atomic behind an arrive may tell others, who have not arrived, what the arrive has
    /// released.
    releases_by_atomics: bool,
}

impl<'m> Scanner<'_, 'm> {
    fn block(&mut self, index: BlockIndex, block: &Block<'m>) -> Vec<(WordOffset, Act)> {
        let mut acts = Vec::new();
        for inst in &block.insts {
            let inst = *inst;
            match self.copy(index, inst, &acts) {
                Some(Ok(_)) if self.found.candidates.len() >= candidate::MOST_COPIES => {
                    self.refuse(inst, Reason::TooMany);
                }
                Some(Ok(candidate)) => {
                    acts.push((inst.offset, Act::Copy(self.found.candidates.len())));
                    self.found.candidates.push(candidate);
                    continue;
                }
                Some(Err(reason)) => self.refuse(inst, reason),
                None => {}
            }
            self.act(inst, &mut acts);
        }
        acts
    }

    fn refuse(&mut self, store: Inst<'m>, reason: Reason) {
        self.found.refused.push(Refused {
            store: store.offset,
            reason,
        });
    }

    /// The store `inst` in block `index`, behind `acts` in it, as a copy, or why it is none; `None`
    /// for what stores nothing that was loaded.
    fn copy(
        &self,
        index: BlockIndex,
        inst: Inst<'m>,
        acts: &[(WordOffset, Act)],
    ) -> Option<Result<Candidate, Reason>> {
        let origin = match self.stores.get(&inst.offset)? {
            Ok(origin) => origin,
            Err(reason) => return Some(Err(*reason)),
        };
        let between = self.between(origin, acts);
        Some(between.and_then(|between| self.judge.candidate(index, inst, origin, between)))
    }

    /// What happens between the load of `origin` and the store behind `acts` in its block.
    fn between(&self, origin: &Origin, acts: &[(WordOffset, Act)]) -> Result<Between, Reason> {
        let mut between = Between::default();
        let (Some((_, before)), Some(first)) = (origin.blocks.split_first(), origin.blocks.last())
        else {
            return Err(Reason::OtherBlock);
        };
        let mut ways = vec![acts];
        for block in before {
            // Blocks behind the store's have not been looked at.
            ways.push(self.found.acts.get(*block).ok_or(Reason::OtherBlock)?);
        }
        for (block, acts) in origin.blocks.iter().zip(ways) {
            let is_behind = |offset: WordOffset| block != first || offset > origin.load;
            for (_, act) in acts.iter().filter(|(offset, _)| is_behind(*offset)) {
                match act {
                    Act::Copy(_) | Act::Access(_) => {}
                    Act::Write => between.writes = true,
                    Act::Arrive { .. } | Act::Wait | Act::Barrier { .. } | Act::Fence => {
                        between.separators = true;
                    }
                }
            }
        }
        Ok(between)
    }

    /// What `inst`, which is no copy, does.
    fn act(&mut self, inst: Inst<'m>, acts: &mut Vec<(WordOffset, Act)>) {
        if let Some(kind) = SiteKind::from_inst(inst) {
            acts.extend(self.barrier(kind, inst).map(|act| (inst.offset, act)));
            return;
        }
        if crate::analysis::cfg::is_exit(inst) {
            acts.push((inst.offset, Act::Fence));
            return;
        }
        if let Some(function) = called(inst) {
            if self.effects.touches(function) {
                let any = self.access(None, None, false);
                acts.extend([
                    (inst.offset, any),
                    (inst.offset, Act::Write),
                    (inst.offset, Act::Fence),
                ]);
            }
            return;
        }
        let facts = self.judge.declarations.facts(inst);
        match facts.class {
            // A wait for events of copies may show what others have copied.
            Class::AsyncCopy | Class::WaitEvents => self.unknown(inst, acts),
            Class::NamedBarrierWait => acts.push((inst.offset, Act::Fence)),
            Class::Atomic(_) => {
                self.touch(inst, acts);
                if self.atomic_releases(inst) {
                    acts.push((inst.offset, Act::Fence));
                }
            }
            _ if facts.is_described() => self.touch(inst, acts),
            _ => self.unknown(inst, acts),
        }
    }

    /// An instruction that no row describes may do anything.
    fn unknown(&mut self, inst: Inst<'m>, acts: &mut Vec<(WordOffset, Act)>) {
        let any = self.access(None, None, false);
        acts.extend([
            (inst.offset, any),
            (inst.offset, Act::Write),
            (inst.offset, Act::Fence),
        ]);
    }

    /// The accesses of `inst`.
    fn touch(&mut self, inst: Inst<'m>, acts: &mut Vec<(WordOffset, Act)>) {
        let declarations = self.judge.declarations;
        let is_atomic = inst.facts().is_atomic();
        declarations.accesses(inst, |id, access| {
            if access.role == Role::Forward {
                return;
            }
            let class = match access.kind {
                Operand::Pointer => memory::class_of(declarations, id),
                Operand::Pointers => Some(StorageClass::Generic), // their class is not looked up
                Operand::Image | Operand::Tensor => Some(StorageClass::Image),
            };
            match class {
                Some(StorageClass::Workgroup) => {
                    let variable = memory::root(declarations.module, id)
                        .filter(|variable| !self.judge.is_aliased(*variable));
                    let is_row = access.extent == Extent::Matrix;
                    let is_value = access.extent == Extent::Object && !is_atomic;
                    let pointer = (is_value || is_row).then_some(id);
                    let act = self.access(variable, pointer, is_row);
                    acts.push((inst.offset, act));
                }
                Some(StorageClass::Generic) => {
                    let act = self.access(None, None, false);
                    acts.push((inst.offset, act));
                    if access.role.writes() {
                        acts.push((inst.offset, Act::Write));
                    }
                }
                None => {}
                Some(class) if memory::is_unshared(class) => {}
                Some(_) if access.role.writes() => acts.push((inst.offset, Act::Write)),
                Some(_) => {} // a load
            }
        });
    }

    fn access(&mut self, variable: Option<Id>, pointer: Option<Id>, is_row: bool) -> Act {
        let access = Access {
            variable,
            pointer: pointer.filter(|_| variable.is_some()),
            is_row,
        };
        let next = self.found.accesses.len();
        let number = *self.access_numbers.entry(access).or_insert(next);
        if number == next {
            self.found.accesses.push(access);
        }
        Act::Access(number)
    }

    /// What a barrier is here; `None` for one that releases nothing.
    fn barrier(&self, kind: SiteKind, inst: Inst<'m>) -> Option<Act> {
        let execution = match kind {
            SiteKind::MemoryBarrier => None,
            SiteKind::Arrive | SiteKind::Wait | SiteKind::ControlBarrier => {
                self.scope(inst, inst.sync_operands().execution)
            }
        };
        let semantics = self.semantics(inst);
        let global = semantics.is_none_or(|semantics| {
            semantics.classes.uniform
                || semantics.classes.cross_workgroup
                || semantics.classes.image
        });
        let is_workgroup = execution == Some(Scope::Workgroup);
        match kind {
            SiteKind::Arrive if is_workgroup && !self.releases_by_atomics => {
                Some(Act::Arrive { global })
            }
            SiteKind::Wait if is_workgroup => Some(Act::Wait),
            SiteKind::ControlBarrier if is_workgroup => Some(Act::Barrier { global }),
            SiteKind::Wait => None, // it acquires
            SiteKind::Arrive | SiteKind::ControlBarrier | SiteKind::MemoryBarrier => {
                let is_own = self.memory_scope(inst) == Some(Scope::Invocation);
                let releases = semantics.is_none_or(|semantics| semantics.order.releases());
                (is_workgroup || (releases && !is_own)).then_some(Act::Fence)
            }
        }
    }

    fn scope(&self, inst: Inst<'m>, operand: Option<u8>) -> Option<Scope> {
        Scope::evaluate(inst.id(operand?.into()).ok()?, inst, self.judge.constants).ok()
    }

    fn memory_scope(&self, inst: Inst<'m>) -> Option<Scope> {
        self.scope(inst, inst.sync_operands().memory)
    }

    fn semantics(&self, inst: Inst<'m>) -> Option<Semantics> {
        let operand = inst.sync_operands().semantics?;
        Semantics::evaluate(inst.id(operand.into()).ok()?, inst, self.judge.constants).ok()
    }

    fn atomic_releases(&self, inst: Inst<'m>) -> bool {
        let is_own = self.memory_scope(inst) == Some(Scope::Invocation);
        let releases = self
            .semantics(inst)
            .is_none_or(|semantics| semantics.order.releases());
        releases && !is_own
    }
}

impl Scan {
    /// The variables that copies go to.
    pub(super) fn destinations(&self) -> BTreeSet<Id> {
        self.candidates
            .iter()
            .map(|candidate| candidate.variable)
            .collect()
    }
}
