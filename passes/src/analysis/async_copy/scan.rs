//! One look at every instruction of a function: which stores are copies, and what everything else does to memory that a copy touches.

use super::{Reason, Refused, effects::Effects};
use crate::analysis::cfg::Cfg;
use crate::analysis::pairing::SiteKind;
use crate::analysis::uniformity::memory::{self, Memory};
use crate::module::{
    Block, Constants, Declarations, Function, Id, Inst, Scope, Semantics, Type, called,
};
use spirv::{Decoration, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Copies of one function that are looked at; a bit each.
const MOST_COPIES: usize = 128;

/// Longest chain of address computations that is followed.
const MOST_STEPS: usize = 64;

/// A store that copies.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    pub(super) load: u32,
    pub(super) store: u32,
    /// The address that is stored to.
    pub(super) pointer: Id,
    /// The Workgroup variable that the address is in.
    pub(super) variable: Id,
    pub(super) bytes: u32,
    pub(super) block: usize,
    /// The type of what is copied.
    pub(super) element: Option<Id>,
    /// Nobody writes the source while the function runs.
    pub(super) is_stable: bool,
}

/// Something that touches Workgroup memory, and is no copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Access {
    /// The variable; `None`: any.
    pub(super) variable: Option<Id>,
    /// The address, where it is one of a load or store of a value; `None`: any part of the variable.
    pub(super) pointer: Option<Id>,
    /// The address is where it starts, and the innermost array where it ends (matrices that a subgroup loads and stores).
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
    /// A release that is no barrier of the workgroup, a call that may contain one, or the end of the function.
    Fence,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    pub(super) candidates: Vec<Candidate>,
    pub(super) refused: Vec<Refused>,
    pub(super) accesses: Vec<Access>,
    /// By block: word offset and what happens, in order.
    pub(super) acts: Vec<Vec<(u32, Act)>>,
}

/// A load from global memory.
#[derive(Copy, Clone)]
struct Load<'m> {
    inst: Inst<'m>,
    pointer: Id,
    /// How many separators and how many writes came before it in its block.
    separators: u32,
    writes: u32,
}

impl Scan {
    pub(super) fn of(
        declarations: &Declarations<'_>,
        constants: &Constants,
        memory: &Memory,
        function: &Function<'_>,
        cfg: &Cfg,
    ) -> Scan {
        let stores = stores_of_loads(declarations, function);
        if stores.is_empty() {
            return Scan::default();
        }
        let effects = Effects::of(declarations);
        let mut scanner = Scanner {
            declarations,
            constants,
            memory,
            effects,
            uses: uses(declarations, function, &stores),
            found: Scan::default(),
            access_numbers: BTreeMap::new(),
            releases_by_atomics: function.insts().any(|inst| {
                inst.op()
                    .is_some_and(|op| op == Op::AtomicStore || memory::is_atomic(op))
            }),
        };
        for (index, block) in function.blocks.iter().enumerate() {
            let acts = if cfg.is_reachable(index) {
                scanner.block(index, block)
            } else {
                Vec::new()
            };
            scanner.found.acts.push(acts);
        }
        scanner.found
    }
}

/// Word offsets of the stores to Workgroup memory of what a load has read from global memory, with the ids of the values.
fn stores_of_loads(declarations: &Declarations<'_>, function: &Function<'_>) -> BTreeMap<u32, Id> {
    function
        .insts()
        .filter(|inst| inst.op() == Some(Op::Store))
        .filter_map(|inst| {
            let (pointer, value) = (inst.id(0).ok()?, inst.id(1).ok()?);
            let load = declarations.module.def(value)?;
            let source = (load.op() == Some(Op::Load)).then(|| load.id(0).ok())??;
            (memory::class_of(declarations, pointer) == Some(StorageClass::Workgroup)
                && is_source(memory::class_of(declarations, source)))
            .then_some((inst.offset, value))
        })
        .collect()
}

fn is_source(class: Option<StorageClass>) -> bool {
    matches!(
        class,
        Some(
            StorageClass::StorageBuffer
                | StorageClass::Uniform
                | StorageClass::CrossWorkgroup
                | StorageClass::PhysicalStorageBuffer
        )
    )
}

/// How often the values of `stores` are used.
fn uses(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
    stores: &BTreeMap<u32, Id>,
) -> BTreeMap<Id, u32> {
    let mut uses: BTreeMap<Id, u32> = stores.values().map(|value| (*value, 0)).collect();
    for inst in function.insts() {
        for (_, id) in declarations.module.ids(inst) {
            if let Some(count) = uses.get_mut(&id)
                && inst.result() != Some(id)
            {
                *count += 1;
            }
        }
    }
    uses
}

struct Scanner<'s, 'm> {
    declarations: &'s Declarations<'m>,
    constants: &'s Constants,
    memory: &'s Memory,
    effects: Effects,
    uses: BTreeMap<Id, u32>,
    found: Scan,
    access_numbers: BTreeMap<Access, usize>,
    /// An atomic behind an arrive may tell others, who have not arrived, what the arrive has released.
    releases_by_atomics: bool,
}

impl<'m> Scanner<'_, 'm> {
    fn block(&mut self, index: usize, block: &Block<'m>) -> Vec<(u32, Act)> {
        let mut acts = Vec::new();
        let mut loads: BTreeMap<Id, Load<'m>> = BTreeMap::new();
        let (mut separators, mut writes) = (0, 0);
        for inst in &block.insts {
            let inst = *inst;
            let global_load = (inst.op() == Some(Op::Load))
                .then(|| inst.id(0).ok())
                .flatten()
                .filter(|pointer| is_source(memory::class_of(self.declarations, *pointer)));
            if let (Some(pointer), Some(value)) = (global_load, inst.result()) {
                let load = Load {
                    inst,
                    pointer,
                    separators,
                    writes,
                };
                if self.uses.contains_key(&value) {
                    loads.insert(value, load);
                }
                continue;
            }
            if inst.op() == Some(Op::Store)
                && let (Ok(pointer), Ok(value)) = (inst.id(0), inst.id(1))
                && self.uses.contains_key(&value)
                && memory::class_of(self.declarations, pointer) == Some(StorageClass::Workgroup)
            {
                match self.candidate(
                    index,
                    inst,
                    pointer,
                    value,
                    loads.get(&value),
                    (separators, writes),
                ) {
                    Ok(candidate) => {
                        acts.push((inst.offset, Act::Copy(self.found.candidates.len())));
                        self.found.candidates.push(candidate);
                        continue;
                    }
                    Err(reason) => self.found.refused.push(Refused {
                        store: inst.offset,
                        reason,
                    }),
                }
            }
            let before = acts.len();
            self.act(inst, &mut acts);
            for (_, act) in acts.get(before..).unwrap_or(&[]) {
                match act {
                    Act::Copy(_) | Act::Access(_) => {}
                    Act::Write => writes += 1,
                    Act::Arrive { .. } | Act::Wait | Act::Barrier { .. } | Act::Fence => {
                        separators += 1
                    }
                }
            }
        }
        acts
    }

    /// The store `inst` as a copy, or why it is none.
    fn candidate(
        &self,
        block: usize,
        inst: Inst<'m>,
        pointer: Id,
        value: Id,
        load: Option<&Load<'m>>,
        (separators, writes): (u32, u32),
    ) -> Result<Candidate, Reason> {
        let load = load.ok_or(Reason::OtherBlock)?;
        if self.uses.get(&value) != Some(&1) {
            return Err(Reason::UsedTwice);
        }
        let bytes = self.bytes(value)?;
        if is_qualified(load.inst, 1)
            || is_qualified(inst, 2)
            || self.is_volatile(load.pointer)
            || self.is_volatile(pointer)
        {
            return Err(Reason::Qualified);
        }
        if self.crosses_matrix(load.pointer) || self.crosses_matrix(pointer) {
            return Err(Reason::Shape);
        }
        let variable = memory::root(self.declarations.module, pointer)
            .filter(|variable| !self.is_aliased(*variable))
            .ok_or(Reason::Destination)?;
        let source = memory::root(self.declarations.module, load.pointer);
        let is_stable = source.is_some_and(|source| !self.is_aliased(source))
            && self
                .memory
                .is_constant(self.declarations, load.pointer, source);
        if load.separators != separators || (!is_stable && load.writes != writes) {
            return Err(Reason::Separated);
        }
        if self.found.candidates.len() >= MOST_COPIES {
            return Err(Reason::TooMany);
        }
        Ok(Candidate {
            load: load.inst.offset,
            store: inst.offset,
            pointer,
            variable,
            bytes,
            block,
            element: self.declarations.type_of(value),
            is_stable,
        })
    }

    /// The size of `value`, if it is a number or a vector of numbers of a size that is copied.
    fn bytes(&self, value: Id) -> Result<u32, Reason> {
        let number = |ty: &Type| match ty {
            Type::Int { width, .. } | Type::Float { width, .. } => Some(*width),
            _ => None, // a Boolean has no size, other types are not looked at
        };
        let ty = self
            .declarations
            .type_of(value)
            .and_then(|ty| self.declarations.ty(ty));
        let bits = match ty {
            Some(Type::Vector { component, count }) => {
                let component = self.declarations.ty(*component).and_then(number);
                component.map(|bits| bits.saturating_mul(*count))
            }
            ty => ty.and_then(number),
        };
        match bits.ok_or(Reason::Shape)? / 8 {
            bytes @ (4 | 8 | 16) => Ok(bytes),
            bytes => Err(Reason::Size(bytes)),
        }
    }

    fn is_aliased(&self, variable: Id) -> bool {
        self.declarations
            .decoration(variable, Decoration::Aliased)
            .is_some()
    }

    /// The access chains that lead to `pointer`, the last first.
    fn chains(&self, pointer: Id) -> Vec<Inst<'m>> {
        let mut chains = Vec::new();
        let mut at = pointer;
        while chains.len() < MOST_STEPS
            && let Some(inst) = self.declarations.module.def(at)
            && matches!(
                inst.op(),
                Some(
                    Op::AccessChain
                        | Op::InBoundsAccessChain
                        | Op::PtrAccessChain
                        | Op::InBoundsPtrAccessChain
                )
            )
            && let Ok(base) = inst.id(0)
        {
            chains.push(inst);
            at = base;
        }
        chains
    }

    /// The types that the access chains to `pointer` index into, with the index where it is a constant.
    fn indexed(&self, pointer: Id) -> Vec<(Id, Option<u32>)> {
        let mut indexed = Vec::new();
        for chain in self.chains(pointer) {
            let skip = match chain.op() {
                Some(Op::PtrAccessChain | Op::InBoundsPtrAccessChain) => 2,
                _ => 1, // the base alone comes before the indices
            };
            let base = chain.id(0).ok().and_then(|base| self.pointee(base));
            let mut ty = base;
            for index in chain.operands().get(skip..).unwrap_or(&[]) {
                let Some(at) = ty else { break };
                let index = self.constants.as_u32(Id(*index));
                indexed.push((at, index));
                ty = match self.declarations.ty(at) {
                    Some(Type::Struct { members }) => {
                        index.and_then(|index| members.get(index as usize).copied())
                    }
                    Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
                        Some(*element)
                    }
                    Some(Type::Matrix { column, .. }) => Some(*column),
                    Some(Type::Vector { component, .. }) => Some(*component),
                    _ => None, // nothing to index
                };
            }
        }
        indexed
    }

    fn pointee(&self, pointer: Id) -> Option<Id> {
        match self.declarations.ty(self.declarations.type_of(pointer)?)? {
            Type::Pointer { pointee, .. } => *pointee,
            _ => None, // not a pointer
        }
    }

    /// Whether a part of a matrix is addressed: its components need not follow each other in memory.
    fn crosses_matrix(&self, pointer: Id) -> bool {
        let is_matrix = |ty: Id| matches!(self.declarations.ty(ty), Some(Type::Matrix { .. }));
        self.indexed(pointer).iter().any(|(ty, _)| is_matrix(*ty))
    }

    /// Whether what is addressed is decorated Volatile or Coherent.
    fn is_volatile(&self, pointer: Id) -> bool {
        const KINDS: [Decoration; 2] = [Decoration::Volatile, Decoration::Coherent];
        let variable = memory::root(self.declarations.module, pointer);
        let by_variable = |kind| {
            variable.is_some_and(|variable| self.declarations.decoration(variable, kind).is_some())
        };
        let members = self.indexed(pointer);
        let by_member = |kind| {
            members.iter().any(|(ty, index)| {
                index.is_some_and(|index| {
                    self.declarations
                        .member_decoration(*ty, index, kind)
                        .is_some()
                })
            })
        };
        KINDS
            .into_iter()
            .any(|kind| by_variable(kind) || by_member(kind))
    }

    /// What `inst`, which is no copy, does.
    fn act(&mut self, inst: Inst<'m>, acts: &mut Vec<(u32, Act)>) {
        if let Some(kind) = SiteKind::of(inst) {
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
        let Some(op) = inst.op() else {
            self.unknown(inst, acts);
            return;
        };
        let is_atomic = op == Op::AtomicStore || op == Op::AtomicFlagClear || memory::is_atomic(op);
        match op {
            // Addresses and values.
            Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::CopyObject
            | Op::Phi
            | Op::Select
            | Op::Variable
            | Op::ArrayLength => {}
            // Who waits for events of copies may see what others have copied.
            Op::GroupAsyncCopy | Op::GroupWaitEvents => {
                let any = self.access(None, None, false);
                acts.extend([
                    (inst.offset, any),
                    (inst.offset, Act::Write),
                    (inst.offset, Act::Fence),
                ]);
            }
            Op::MemoryNamedBarrier => acts.push((inst.offset, Act::Fence)),
            Op::ImageWrite => acts.push((inst.offset, Act::Write)),
            _ if is_atomic => {
                self.touch(inst, false, acts);
                if self.atomic_releases(inst) {
                    acts.push((inst.offset, Act::Fence));
                }
            }
            Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR => {
                self.touch(inst, true, acts)
            }
            _ => self.touch(inst, false, acts),
        }
    }

    /// An instruction that nobody knows may do anything with the addresses that it is given.
    fn unknown(&mut self, inst: Inst<'m>, acts: &mut Vec<(u32, Act)>) {
        let any = self.access(None, None, false);
        acts.extend([
            (inst.offset, any),
            (inst.offset, Act::Write),
            (inst.offset, Act::Fence),
        ]);
    }

    /// Accesses through the addresses among the operands of `inst`.
    fn touch(&mut self, inst: Inst<'m>, is_row: bool, acts: &mut Vec<(u32, Act)>) {
        let is_value = matches!(inst.op(), Some(Op::Load | Op::Store));
        let written = memory::written_pointer(inst);
        for (_, id) in self.declarations.module.ids(inst) {
            if inst.result() == Some(id) {
                continue;
            }
            let class = memory::class_of(self.declarations, id);
            match class {
                Some(StorageClass::Workgroup) => {
                    let variable = memory::root(self.declarations.module, id)
                        .filter(|variable| !self.is_aliased(*variable));
                    let pointer = (is_value || is_row).then_some(id);
                    let act = self.access(variable, pointer, is_row);
                    acts.push((inst.offset, act));
                }
                Some(StorageClass::Generic) => {
                    let act = self.access(None, None, false);
                    acts.extend([(inst.offset, act), (inst.offset, Act::Write)]);
                }
                // Memory of the invocation's own, and what nobody writes.
                Some(
                    StorageClass::Function
                    | StorageClass::Private
                    | StorageClass::Input
                    | StorageClass::PushConstant
                    | StorageClass::UniformConstant,
                )
                | None => {}
                Some(_) if written == Some(id) || !is_value => acts.push((inst.offset, Act::Write)),
                Some(_) => {} // a load
            }
        }
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
            SiteKind::Arrive | SiteKind::Wait | SiteKind::ControlBarrier => self.scope(inst, 0),
        };
        let place = if kind == SiteKind::MemoryBarrier {
            1
        } else {
            2
        };
        let semantics = self.semantics(inst, place);
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
                let is_own = self.scope(inst, place - 1) == Some(Scope::Invocation);
                let releases = semantics.is_none_or(|semantics| semantics.order.releases());
                (is_workgroup || (releases && !is_own)).then_some(Act::Fence)
            }
        }
    }

    fn scope(&self, inst: Inst<'m>, place: usize) -> Option<Scope> {
        Scope::of(inst.id(place).ok()?, inst, self.constants).ok()
    }

    fn semantics(&self, inst: Inst<'m>, place: usize) -> Option<Semantics> {
        Semantics::of(inst.id(place).ok()?, inst, self.constants).ok()
    }

    fn atomic_releases(&self, inst: Inst<'m>) -> bool {
        let is_own = self.scope(inst, 1) == Some(Scope::Invocation);
        let releases = self
            .semantics(inst, 2)
            .is_none_or(|semantics| semantics.order.releases());
        releases && !is_own
    }
}

/// Whether the memory operands of `inst`, from operand `place` on, say more than how it is aligned, that others may touch the memory, and what it does
/// not overlap (SPIR-V 3.26).
fn is_qualified(inst: Inst<'_>, place: usize) -> bool {
    const VOLATILE: u32 = 1;
    const NONTEMPORAL: u32 = 4;
    const MAKE_AVAILABLE: u32 = 8;
    const MAKE_VISIBLE: u32 = 16;
    let mask = inst.operands().get(place).copied().unwrap_or(0);
    mask & (VOLATILE | NONTEMPORAL | MAKE_AVAILABLE | MAKE_VISIBLE) != 0
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
