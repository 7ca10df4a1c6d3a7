//! The input of the rules: the operations of a module, and its declarations.

use super::{Environment, Settings};
use crate::analysis::cfg::Cfg;
use crate::module::facts::{Atomic, Barrier, Class};
use crate::module::{Constants, Declarations, Function, Id, Inst, Type, callee};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The kind of an operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// 6142.
    Arrive,
    /// 6143.
    Wait,
    /// OpControlBarrier.
    ControlBarrier,
    /// OpMemoryBarrier.
    MemoryBarrier,
    /// OpMemoryNamedBarrier.
    MemoryNamedBarrier,
    /// OpNamedBarrierInitialize.
    NamedBarrierInitialize,
    /// OpAtomicLoad and others that only read.
    AtomicLoad,
    /// OpAtomicStore and OpAtomicFlagClear, which only write.
    AtomicStore,
    /// An atomic that reads and writes.
    AtomicUpdate,
    /// OpAtomicCompareExchange and its weak form.
    AtomicCompare,
    /// A group operation.
    Group,
}

/// An operand of an operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its number, counted from 0 without result type and result.
    pub number: usize,
    /// The id.
    pub id: Id,
}

/// A barrier, fence, atomic or group instruction in a function.
#[derive(Clone, Debug)]
pub struct Operation<'m> {
    /// The instruction.
    pub inst: Inst<'m>,
    /// The kind.
    pub kind: Kind,
    /// Its function.
    pub function: Id,
    /// The operand that points to what an atomic works on.
    pub pointer: Option<Operand>,
    /// The operand that gives the execution scope.
    pub execution: Option<Operand>,
    /// The operand that gives the memory scope.
    pub memory: Option<Operand>,
    /// The operand that gives the memory semantics; of a compare-exchange, those of the equal case.
    pub semantics: Option<Operand>,
    /// The operand Unequal of a compare-exchange.
    pub unequal: Option<Operand>,
}

impl<'m> Operation<'m> {
    fn from_inst(inst: Inst<'m>, function: Id) -> Option<Self> {
        use Kind as K;
        let kind = match inst.facts().class {
            Class::Barrier(Barrier::Arrive) => K::Arrive,
            Class::Barrier(Barrier::Wait) => K::Wait,
            Class::Barrier(Barrier::Full) => K::ControlBarrier,
            Class::Fence => K::MemoryBarrier,
            Class::NamedBarrierWait => K::MemoryNamedBarrier,
            Class::NamedBarrier => K::NamedBarrierInitialize,
            Class::Atomic(Atomic::Load) => K::AtomicLoad,
            Class::Atomic(Atomic::Store) => K::AtomicStore,
            Class::Atomic(Atomic::CompareExchange) => K::AtomicCompare,
            Class::Atomic(Atomic::Update) => K::AtomicUpdate,
            Class::Group(_) => K::Group,
            _ => return None, // no barrier, no atomic, no group operation
        };
        let at = |number: usize| inst.id(number).ok().map(|id| Operand { number, id });
        let operand = |number: Option<u8>| number.and_then(|number| at(number.into()));
        let sync = inst.sync_operands();
        let (execution, memory) = (operand(sync.execution), operand(sync.memory));
        let (semantics, unequal) = (operand(sync.semantics), operand(sync.unequal));
        let is_atomic = inst.facts().is_atomic();
        Some(Operation {
            inst,
            kind,
            function,
            pointer: at(0).filter(|_| is_atomic),
            execution,
            memory,
            semantics,
            unequal,
        })
    }

    /// Returns true if it is one half of a split barrier.
    pub fn is_split(&self) -> bool {
        matches!(self.kind, Kind::Arrive | Kind::Wait)
    }

    /// Returns true if it is an atomic.
    pub fn is_atomic(&self) -> bool {
        self.pointer.is_some()
    }

    /// The scope operands, each with the word that the specification has for it.
    pub fn scopes(&self) -> impl Iterator<Item = (&'static str, Operand)> + use<> {
        [
            ("execution scope", self.execution),
            ("memory scope", self.memory),
        ]
        .into_iter()
        .filter_map(|(name, operand)| Some((name, operand?)))
    }

    /// The semantics operands, each with a word for it.
    pub fn all_semantics(&self) -> impl Iterator<Item = (&'static str, Operand)> + use<> {
        [
            ("memory semantics", self.semantics),
            ("Unequal memory semantics", self.unequal),
        ]
        .into_iter()
        .filter_map(|(name, operand)| Some((name, operand?)))
    }
}

/// An execution model, by number, and the name of an entry point that has it.
type Models = BTreeMap<u32, String>;

/// The module as rules see it.
#[derive(Clone, Debug)]
pub struct Context<'c, 'm> {
    /// Its declarations.
    pub declarations: &'c Declarations<'m>,
    /// Its constants.
    pub constants: &'c Constants,
    /// The settings of the validation.
    pub settings: &'c Settings,
    operations: Vec<Operation<'m>>,
    models: BTreeMap<Id, Models>,
    /// Made when a rule asks for them.
    cfgs: OnceCell<Vec<Cfg>>,
}

impl<'c, 'm> Context<'c, 'm> {
    /// Collects the operations of all functions, and which execution models reach each function.
    pub fn new(
        declarations: &'c Declarations<'m>,
        constants: &'c Constants,
        settings: &'c Settings,
    ) -> Self {
        let functions = &declarations.functions;
        let operations = functions
            .iter()
            .flat_map(|function| {
                let syncs = function.syncs.iter();
                syncs.filter_map(|inst| Operation::from_inst(*inst, function.id))
            })
            .collect();
        Context {
            declarations,
            constants,
            settings,
            operations,
            models: models(declarations),
            cfgs: OnceCell::new(),
        }
    }

    /// All barriers, fences, atomics and group instructions, in module order.
    pub fn operations(&self) -> &[Operation<'m>] {
        &self.operations
    }

    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &'c Function<'m>> {
        self.declarations.functions.iter()
    }

    /// The control-flow graphs of [`Context::functions`], in the same order.
    pub fn cfgs(&self) -> &[Cfg] {
        self.cfgs.get_or_init(|| {
            let module = self.declarations.module;
            let functions = self.functions();
            functions
                .map(|function| Cfg::analyze(module, function))
                .collect()
        })
    }

    /// The execution models of the entry points that reach `function`, each with the name of one
    /// entry point.
    pub fn models(&self, function: Id) -> impl Iterator<Item = (u32, &str)> {
        self.models
            .get(&function)
            .into_iter()
            .flatten()
            .map(|(model, name)| (*model, name.as_str()))
    }

    /// Returns true if a capability is declared.
    pub fn has(&self, capability: spirv::Capability) -> bool {
        self.declarations.has_capability(capability)
    }

    /// Returns true if the module uses Vulkan's memory model.
    pub fn vulkan_model(&self) -> bool {
        self.declarations.memory_model == spirv::MemoryModel::Vulkan as u32
    }

    /// Returns true if Vulkan's rules for memory semantics hold: in its environments, and under its
    /// memory model everywhere.
    pub fn vulkan_semantics(&self) -> bool {
        self.settings.environment.is_vulkan() || self.vulkan_model()
    }

    /// Returns true if this is OpenCL 1.2.
    pub fn is_opencl12(&self) -> bool {
        self.settings.environment == Environment::OpenCl12
    }

    /// The type of the value `id`.
    pub fn type_of(&self, id: Id) -> Option<&Type> {
        self.declarations.ty(self.declarations.type_of(id)?)
    }

    /// Returns true if `id` is a value of a 32-bit integer type.
    pub fn is_int32(&self, id: Id) -> bool {
        matches!(self.type_of(id), Some(Type::Int { width: 32, .. }))
    }

    /// The value of a scope or semantics operand: a constant of a 32-bit integer type.
    /// Specialization constants have the values that they are given.
    pub fn value(&self, id: Id) -> Option<u32> {
        if self.is_int32(id) {
            self.constants.as_u32(id)
        } else {
            None
        }
    }

    /// The value of an optional operand.
    pub fn value_of(&self, operand: Option<Operand>) -> Option<u32> {
        self.value(operand?.id)
    }

    /// The name of the instruction, by the module's own alias.
    pub fn name(&self, operation: &Operation<'_>) -> String {
        self.declarations.op_name(operation.inst)
    }

    /// An id as people know it.
    pub fn show(&self, id: Id) -> String {
        self.declarations.display_id(id)
    }
}

/// Follows calls from the entry points: each function gets each model once, so the cost is calls
/// times models.
fn models(declarations: &Declarations<'_>) -> BTreeMap<Id, Models> {
    let mut callees: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for function in &declarations.functions {
        let calls = function.calls.iter();
        callees.insert(
            function.id,
            calls.filter_map(|inst| callee(*inst)).collect(),
        );
    }
    let mut all: BTreeMap<Id, Models> = BTreeMap::new();
    for entry in &declarations.entry_points {
        let model = entry.inst.operands().first().copied().unwrap_or(u32::MAX);
        let mut stack = vec![entry.function];
        while let Some(function) = stack.pop() {
            let models = all.entry(function).or_default();
            if models.contains_key(&model) {
                continue;
            }
            models.insert(model, entry.name.clone());
            stack.extend(callees.get(&function).into_iter().flatten().copied());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::group_copies::is_group_copy;
    use crate::module::WordOffset;
    use crate::module::synchronizes;

    #[test]
    fn functions_list_all_operations() {
        let mut operations = 0;
        for opcode in 0..=u32::from(u16::MAX) {
            let words = [5 << 16 | opcode, 1, 2, 3, 4];
            let inst = Inst {
                offset: WordOffset::FIRST,
                words: &words,
            };
            if Operation::from_inst(inst, Id(1)).is_some() || is_group_copy(inst) {
                operations += 1;
                assert!(synchronizes(inst), "{opcode}");
            }
        }
        assert!(operations > 60, "{operations}");
    }
}
