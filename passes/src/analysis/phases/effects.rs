//! The effects of an instruction that other invocations of the workgroup can observe.

use super::aliasing::{Aliasing, separate};
use super::memory_regions::MemoryRegions;
use super::mutant::{Rule, is_out};
use crate::analysis::qualifiers::MemoryQualifiers;
use crate::analysis::uniformity::memory;
use crate::analysis::uses::is_shared_block;
use crate::module::facts::{Atomic, Class, Operand};
use crate::module::{
    Constants, Declarations, Function, Id, Inst, Scope, Semantics, TensorAccess, callee,
};
use rspirv::grammar::OperandKind;
use spirv::{Capability, Decoration, ImageOperands, MemoryAccess, Op, StorageClass};
use std::collections::BTreeMap;
use std::ops::BitOr;

/// Longest way that is followed from a pointer to its variable.
const MOST_STEPS: usize = 64;

/// The effect of one or several instructions.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The memory that they read.
    pub reads: MemoryRegions,
    /// The memory that they write.
    pub writes: MemoryRegions,
    /// Memory whose order atomic operations may make known to others, with no barrier: all memory,
    /// for those that order more than their own location.
    pub publishes: MemoryRegions,
    /// No half of a barrier may pass: they order memory or execution themselves, or nothing is
    /// known of them.
    pub ordering_barrier: bool,
}

impl Effect {
    /// Nothing that is noticed.
    pub const NONE: Effect = Effect {
        reads: MemoryRegions::NONE,
        writes: MemoryRegions::NONE,
        publishes: MemoryRegions::NONE,
        ordering_barrier: false,
    };
    /// Nothing that is noticed, and nothing may pass.
    pub const STOP: Effect = Effect {
        ordering_barrier: true,
        ..Effect::NONE
    };
    /// Anything.
    pub const UNKNOWN: Effect = Effect {
        reads: MemoryRegions::ALL,
        writes: MemoryRegions::ALL,
        publishes: MemoryRegions::ALL,
        ordering_barrier: true,
    };

    /// Returns true if `whole` does all that this does: the loads and stores of single pointers
    /// that take the place of one of a vector of pointers touch less.
    pub(super) fn is_part_of(self, whole: Effect) -> bool {
        let is_part = |part: MemoryRegions, whole| part.without(whole).is_empty();
        is_part(self.reads, whole.reads)
            && is_part(self.writes, whole.writes)
            && is_part(self.publishes, whole.publishes)
            && (whole.ordering_barrier || !self.ordering_barrier)
    }

    fn read(reads: MemoryRegions) -> Effect {
        Effect {
            reads,
            ..Effect::NONE
        }
    }

    fn write(writes: MemoryRegions) -> Effect {
        Effect {
            writes,
            ..Effect::NONE
        }
    }

    /// The memory that is read or written.
    pub fn touches(self) -> MemoryRegions {
        self.reads | self.writes
    }

    /// The part of it that happens in `places`.
    #[must_use]
    pub fn within(self, places: MemoryRegions) -> Effect {
        Effect {
            reads: self.reads & places,
            writes: self.writes & places,
            publishes: self.publishes & places,
            ordering_barrier: self.ordering_barrier,
        }
    }

    /// Returns true if the order of accesses of both can be told: they touch one memory and one of
    /// them writes it, or one of them may publish what the other did.
    pub fn conflicts(self, other: Effect) -> bool {
        self.writes.meets(other.touches())
            || other.writes.meets(self.touches())
            || (!is_out(Rule::Publishes)
                && (self.publishes.meets(other.touches()) || other.publishes.meets(self.touches())))
    }
}

impl BitOr for Effect {
    type Output = Effect;

    fn bitor(self, other: Effect) -> Effect {
        Effect {
            reads: self.reads | other.reads,
            writes: self.writes | other.writes,
            publishes: self.publishes | other.publishes,
            ordering_barrier: self.ordering_barrier || other.ordering_barrier,
        }
    }
}

/// The effects of the instructions of a module.
pub struct Effects<'e, 'm> {
    pub(super) declarations: &'e Declarations<'m>,
    constants: &'e Constants,
    pub(super) qualifiers: MemoryQualifiers,
    /// Regions of Workgroup variables, and of pointers to Workgroup memory that kernels are given.
    workgroup: BTreeMap<Id, MemoryRegions>,
    /// Regions of buffers, images and pointers that overlap no other.
    separate: BTreeMap<Id, MemoryRegions>,
    /// All of what a function and its callees do, for those that were asked for.
    functions: BTreeMap<Id, Effect>,
    /// Memory in which an invocation may learn of others' accesses by what it reads from an atomic
    /// operation, before it waits: what its fences and atomic operations acquire.
    acquired: MemoryRegions,
}

impl<'e, 'm> Effects<'e, 'm> {
    /// For the entry function `entry` and what it calls.
    pub fn analyze(
        declarations: &'e Declarations<'m>,
        constants: &'e Constants,
        entry: &Function<'m>,
        aliasing: Aliasing,
    ) -> Self {
        let mut effects = Effects {
            declarations,
            constants,
            qualifiers: MemoryQualifiers::analyze(declarations),
            workgroup: workgroup(declarations, entry),
            separate: match aliasing {
                Aliasing::Possible => BTreeMap::new(),
                Aliasing::Declared => separate(declarations, entry),
            },
            functions: BTreeMap::new(),
            acquired: MemoryRegions::NONE,
        };
        // A module with recursion is not valid: its calls stay unknown.
        let reached = declarations.reachable_functions(entry.id);
        let bodies = reached.iter().flatten();
        let bodies = bodies.filter_map(|id| declarations.function(*id));
        effects.acquired = bodies
            .flat_map(|function| function.insts())
            .map(|inst| effects.acquires(inst))
            .fold(MemoryRegions::NONE, BitOr::bitor);
        for id in reached.iter().flatten().filter(|id| **id != entry.id) {
            let effect = match declarations.function(*id) {
                Some(function) if !function.blocks.is_empty() => function
                    .insts()
                    .map(|inst| effects.instruction(inst))
                    .fold(Effect::NONE, BitOr::bitor),
                _ => Effect::UNKNOWN, // an import
            };
            effects.functions.insert(*id, effect);
        }
        effects
    }

    /// The effect of `inst`. Barriers stop other instructions; the memory that they order is not
    /// included.
    pub fn instruction(&self, inst: Inst<'m>) -> Effect {
        let facts = self.declarations.facts(inst);
        match facts.class {
            Class::Barrier(_) | Class::Fence => Effect::STOP,
            Class::Call => {
                // An instruction that calls for each element of a matrix has no order of calls.
                let known = callee(inst).and_then(|function| self.functions.get(&function));
                known.copied().unwrap_or(Effect::UNKNOWN)
            }
            Class::Atomic(_) => self.atomic(inst),
            Class::Memory if facts.is_guarded() => Effect::UNKNOWN,
            Class::Memory => match TensorAccess::from_inst(inst) {
                Some(access) => self.tensor(inst, access),
                None => self.accessed(inst),
            },
            Class::Sample => Effect::read(self.sampled(inst)),
            Class::Group(_) => match self.execution(inst) {
                Some(Scope::Subgroup | Scope::Invocation) => Effect::NONE,
                _ => Effect::STOP, // the workgroup meets there
            },
            Class::Exit => Effect::NONE,
            Class::Declaration | Class::NamedBarrier | Class::NamedBarrierWait => Effect::UNKNOWN,
            Class::AsyncCopy | Class::WaitEvents => Effect::UNKNOWN, // in flight for a time
            Class::Clock => Effect::UNKNOWN, // moving it changes what it measures
            Class::Print | Class::Extended | Class::Refused(_) | Class::Unknown => Effect::UNKNOWN,
            Class::Marker
            | Class::Value
            | Class::Undef
            | Class::Variable
            | Class::Address(_)
            | Class::Query
            | Class::Phi
            | Class::Merge
            | Class::Branch => Effect::NONE,
        }
    }

    /// The accesses that the row of `inst` names.
    fn accessed(&self, inst: Inst<'m>) -> Effect {
        let mut all = Effect::NONE;
        self.declarations.accesses(inst, |id, access| {
            let places = match access.kind {
                Operand::Pointer => self.places(id),
                Operand::Pointers => MemoryRegions::ALL, // their class is not looked up
                Operand::Image => self.image(id),
                // Elements lie in memory like that of buffers, and no specification says which
                // storage class of memory semantics speaks of them.
                Operand::Tensor => MemoryRegions::TENSORS,
            };
            let mut effect = Effect::NONE;
            if access.role.reads() {
                effect = effect | Effect::read(places);
            }
            if access.role.writes() {
                effect = effect | Effect::write(places);
            }
            let qualifiers = self.qualifiers.get(self.declarations, id);
            effect.ordering_barrier =
                !effect.touches().is_empty() && (self.is_volatile(inst) || qualifiers.volatile);
            all = all | effect;
        });
        all
    }

    /// The images that `inst` samples.
    fn sampled(&self, inst: Inst<'m>) -> MemoryRegions {
        let mut images = MemoryRegions::NONE;
        self.declarations
            .accesses(inst, |id, _| images |= self.image(id));
        if images.is_empty() {
            MemoryRegions::IMAGES // its row names none
        } else {
            images
        }
    }

    /// The execution scope of a group operation; the extensions without a scope operand work on
    /// the subgroup. `None` where a specialization decides.
    fn execution(&self, inst: Inst<'_>) -> Option<Scope> {
        match inst.sync_operands().execution {
            Some(operand) => Scope::from_u32(self.number(inst.id(operand.into()).ok()?)?),
            None => Some(Scope::Subgroup),
        }
    }

    /// The value of a constant that no specialization changes.
    fn number(&self, id: Id) -> Option<u32> {
        let is_fixed = !self.constants.is_default(id);
        self.constants.as_u32(id).filter(|_| is_fixed)
    }

    /// The semantics that operand `index` names; `None` where a specialization says it.
    fn semantics(&self, inst: Inst<'_>, index: usize) -> Option<Semantics> {
        Semantics::from_u32(self.number(inst.id(index).ok()?)?)
    }

    /// Memory in which other invocations' accesses are known after `inst`, if it reads what they
    /// have published. What barriers of the workgroup acquire is left out: all arrive there first.
    fn acquires(&self, inst: Inst<'_>) -> MemoryRegions {
        let is_read = match inst.facts().class {
            Class::Fence => true,
            Class::Atomic(kind) => kind != Atomic::Store,
            Class::Barrier(_) => self.execution(inst) != Some(Scope::Workgroup),
            _ => false,
        };
        if !is_read {
            return MemoryRegions::NONE;
        }
        let operands = inst.sync_operands();
        let of = |operand: u8| match self.semantics(inst, operand.into()) {
            Some(semantics) if semantics.order.acquires() => {
                MemoryRegions::from_classes(semantics.classes)
            }
            Some(_) => MemoryRegions::NONE,
            None => MemoryRegions::ALL,
        };
        let both = operands.semantics.into_iter().chain(operands.unequal);
        both.map(of).fold(MemoryRegions::NONE, BitOr::bitor)
    }

    /// An access through the pointer that is operand `index`.
    fn access(&self, inst: Inst<'m>, index: usize, kind: fn(MemoryRegions) -> Effect) -> Effect {
        let Ok(pointer) = inst.id(index) else {
            return Effect::UNKNOWN;
        };
        let effect = kind(self.places(pointer));
        let qualifiers = self.qualifiers.get(self.declarations, pointer);
        Effect {
            ordering_barrier: !effect.touches().is_empty()
                && (self.is_volatile(inst) || qualifiers.volatile),
            ..effect
        }
    }

    /// A load or a store through a tensor layout. A decode function is called in no order, so that
    /// more than reads of it would be unknown.
    fn tensor(&self, inst: Inst<'m>, access: TensorAccess) -> Effect {
        let kind = if access.is_store {
            Effect::write
        } else {
            Effect::read
        };
        let own = self.access(inst, 0, kind);
        match access.decode.map(|function| self.functions.get(&function)) {
            None => own,
            Some(Some(decode)) if decode.writes.is_empty() && !decode.ordering_barrier => {
                own | *decode
            }
            Some(_) => Effect::UNKNOWN,
        }
    }

    /// Returns true if the memory or image operands of an access say that it is volatile; for a
    /// copy, those of one side.
    pub(super) fn is_volatile(&self, inst: Inst<'m>) -> bool {
        let mut operands = self.declarations.module.operands(inst);
        operands.any(|operand| {
            let mask = operand.words.first().copied().unwrap_or(0);
            match operand.kind {
                OperandKind::MemoryAccess => mask & MemoryAccess::VOLATILE.bits() != 0,
                OperandKind::ImageOperands => mask & ImageOperands::VOLATILE_TEXEL.bits() != 0,
                _ => false,
            }
        })
    }

    /// An atomic operation stops: invocations may wait for each other by it. One on Workgroup
    /// memory that orders nothing else is a read and a write there, and makes known what is before
    /// a fence to those that have one as well.
    fn atomic(&self, inst: Inst<'_>) -> Effect {
        let Ok(pointer) = inst.id(0) else {
            return Effect::UNKNOWN;
        };
        let places = self.places(pointer);
        let relaxed = |index| {
            let semantics = self.semantics(inst, index);
            semantics.is_some_and(|of| !of.order.acquires() && !of.order.releases() && !of.volatile)
        };
        let operands = inst.sync_operands();
        let mut semantics = operands.semantics.into_iter().chain(operands.unequal);
        let is_relaxed = semantics.all(|operand| relaxed(operand.into()));
        let stays = places.without(MemoryRegions::WORKGROUP).is_empty();
        Effect {
            reads: places,
            writes: places,
            publishes: if is_relaxed && stays {
                places | self.acquired
            } else {
                MemoryRegions::ALL
            },
            ordering_barrier: true,
        }
    }

    /// The shared memory that `pointer` may lead to.
    fn places(&self, pointer: Id) -> MemoryRegions {
        match memory::class_of(self.declarations, pointer) {
            Some(class) if memory::is_unshared(class) => MemoryRegions::NONE,
            Some(StorageClass::Uniform) => match self.root(pointer) {
                Some(variable) if !self.is_written_block(variable) => MemoryRegions::NONE,
                variable => self.separate(variable, MemoryRegions::BUFFERS),
            },
            Some(StorageClass::StorageBuffer) => {
                self.separate(self.root(pointer), MemoryRegions::BUFFERS)
            }
            Some(StorageClass::PhysicalStorageBuffer) => MemoryRegions::BUFFERS,
            Some(StorageClass::CrossWorkgroup) => {
                self.separate(self.root(pointer), MemoryRegions::CROSS_WORKGROUP)
            }
            Some(StorageClass::Image) => MemoryRegions::IMAGES,
            Some(StorageClass::Workgroup) => {
                let root = self.root(pointer);
                let known = root.and_then(|root| self.workgroup.get(&root));
                known.copied().unwrap_or(MemoryRegions::WORKGROUP)
            }
            Some(StorageClass::Generic) => {
                MemoryRegions::WORKGROUP | MemoryRegions::CROSS_WORKGROUP
            }
            _ => MemoryRegions::ALL,
        }
    }

    /// The place of the variable or parameter `root`, which is one of `kind`.
    fn separate(&self, root: Option<Id>, kind: MemoryRegions) -> MemoryRegions {
        let place = root.and_then(|root| self.separate.get(&root));
        place.copied().unwrap_or(kind)
    }

    /// The image that `id` is, or is a part of, or is sampled from.
    fn image(&self, id: Id) -> MemoryRegions {
        let mut at = id;
        for _ in 0..MOST_STEPS {
            let Some(inst) = self.declarations.module.def(at) else {
                break;
            };
            let next = match inst.op() {
                Some(Op::Load) => {
                    let root = inst.id(0).ok().and_then(|pointer| self.root(pointer));
                    return self.separate(root, MemoryRegions::IMAGES);
                }
                Some(Op::SampledImage | Op::Image | Op::CopyObject) => inst.id(0),
                _ => break,
            };
            let Ok(next) = next else { break };
            at = next;
        }
        MemoryRegions::IMAGES
    }

    /// Returns true if a variable of class Uniform may be written: BufferBlock is the storage
    /// buffer of old modules, and what is Aliased may be one under another name.
    fn is_written_block(&self, variable: Id) -> bool {
        let has = |id, kind| self.declarations.decoration(id, kind).is_some();
        has(variable, Decoration::Aliased)
            || memory::pointee_struct(self.declarations, variable)
                .is_none_or(|ty| has(ty, Decoration::BufferBlock))
    }

    /// The variable or parameter that `pointer` was made from.
    pub(super) fn root(&self, pointer: Id) -> Option<Id> {
        let mut at = pointer;
        for _ in 0..MOST_STEPS {
            let inst = self.declarations.module.def(at)?;
            if inst.facts().class == Class::Variable || inst.op() == Some(Op::FunctionParameter) {
                return Some(at);
            }
            // A choice, or an address from elsewhere, has no single origin.
            at = inst.forwarded()?;
        }
        None
    }
}

/// Workgroup variables and the Workgroup pointers that the kernel `entry` is given, each in a place
/// of its own, unless the variables share their memory
/// (SPV_KHR_workgroup_memory_explicit_layout).
fn workgroup(declarations: &Declarations<'_>, entry: &Function<'_>) -> BTreeMap<Id, MemoryRegions> {
    let explicit = Capability::WorkgroupMemoryExplicitLayoutKHR;
    if declarations.has_capability(explicit)
        || declarations
            .variables
            .iter()
            .any(|variable| is_shared_block(declarations, variable))
    {
        return BTreeMap::new();
    }
    let variables = declarations.variables.iter();
    let variables = variables
        .filter(|variable| variable.class == StorageClass::Workgroup)
        .map(|variable| variable.id);
    let parameters = entry.params.iter().map(|(id, _)| *id);
    let parameters = parameters
        .filter(|id| memory::class_of(declarations, *id) == Some(StorageClass::Workgroup));
    variables
        .chain(parameters)
        .zip(0..)
        .map(|(id, number)| (id, MemoryRegions::variable(number)))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::analysis::testing::{assemble, declared};

    const GLOBALS: &str = "
        OpCapability 4
        %shared_ptr = OpTypePointer 4 %uint
        %one = OpVariable %shared_ptr 4
        %two = OpVariable %shared_ptr 4
        %buffer_ptr = OpTypePointer 12 %uint
        %buffer = OpVariable %buffer_ptr 12
    ";

    /// The effects of the instructions of a body.
    fn effects(body: &str) -> Vec<Effect> {
        let text = format!(
            "%main = OpFunction %void 0 %fn\n%entry = OpLabel\n{body}\nOpReturn\nOpFunctionEnd"
        );
        let module = assemble(GLOBALS, &text);
        let (declarations, constants) = declared(&module.module);
        let function = declarations.function(module.id("main")).unwrap();
        let effects = Effects::analyze(&declarations, &constants, function, Aliasing::Possible);
        function
            .insts()
            .map(|inst| effects.instruction(inst))
            .collect()
    }

    #[test]
    fn accesses() {
        let found = effects(
            "%a = OpLoad %uint %one\nOpStore %two %a\nOpStore %out %a\n%b = OpIAdd %uint %a %a\n%c = OpLoad %uint %buffer\nOpStore %one %b 1",
        );
        let expected = [
            Effect::read(MemoryRegions::variable(0)),
            Effect::write(MemoryRegions::variable(1)),
            Effect::NONE,
            Effect::NONE,
            Effect::read(MemoryRegions::BUFFERS),
            Effect {
                ordering_barrier: true,
                ..Effect::write(MemoryRegions::variable(0))
            },
            Effect::NONE,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_orders_stops() {
        let found = effects(
            "barrier\nOpMemoryBarrier %group %both\n%a = OpAtomicIAdd %uint %one %group %none %u1\n%b = OpAtomicIAdd %uint %buffer %group %none %u1\n%c = OpAtomicIAdd %uint %one %group %both %u1",
        );
        assert!(found.iter().take(5).all(|effect| effect.ordering_barrier));
        let publishes: Vec<MemoryRegions> = found.iter().map(|effect| effect.publishes).collect();
        let (none, all) = (MemoryRegions::NONE, MemoryRegions::ALL);
        // What the fence acquires is known to those that read from the relaxed one.
        let acquired = MemoryRegions::WORKGROUP;
        assert_eq!(publishes, [none, none, acquired, all, all, none]);
        let relaxed = "%a = OpAtomicIAdd %uint %one %group %none %u1";
        assert_eq!(effects(relaxed)[0].publishes, MemoryRegions::variable(0));
    }

    #[test]
    fn volatile_operands_stop() {
        let found = effects(
            "OpCopyMemory %one %two 2 4\nOpCopyMemory %one %two 2 4 3 4\nOpCopyMemory %one %two 1 0
            OpCopyMemorySized %one %two %u2 2 4 1\n%a = OpLoad %uint %one 2 4",
        );
        let stops: Vec<bool> = found.iter().map(|effect| effect.ordering_barrier).collect();
        assert_eq!(stops, [false, true, true, true, false, false]);
    }

    #[test]
    fn a_block_in_arrays_is_written_too() {
        let annotations = "OpDecorate %storage 3\nOpDecorate %same 20\n";
        let body = "
            %storage = OpTypeStruct %uint
            %constant = OpTypeStruct %uint %uint
            %row = OpTypeArray %storage %u2
            %grid = OpTypeArray %row %u2
            %grid_ptr = OpTypePointer 2 %grid
            %constant_ptr = OpTypePointer 2 %constant
            %member = OpTypePointer 2 %uint
            %buffers = OpVariable %grid_ptr 2
            %fixed = OpVariable %constant_ptr 2
            %same = OpVariable %constant_ptr 2
            %main = OpFunction %void 0 %fn
            %entry = OpLabel
            %a = OpAccessChain %member %buffers %u0 %u0 %u0
            %x = OpLoad %uint %a
            %b = OpAccessChain %member %fixed %u0
            %y = OpLoad %uint %b
            %c = OpAccessChain %member %same %u0
            %z = OpLoad %uint %c
            OpReturn
            OpFunctionEnd";
        let assembled = assemble(annotations, body);
        let (declarations, constants) = declared(&assembled.module);
        let function = declarations.function(assembled.id("main")).unwrap();
        let effects = Effects::analyze(&declarations, &constants, function, Aliasing::Possible);
        let loads = function.insts().filter(|inst| inst.op() == Some(Op::Load));
        let reads: Vec<MemoryRegions> = loads.map(|inst| effects.instruction(inst).reads).collect();
        assert_eq!(
            reads,
            [
                MemoryRegions::BUFFERS,
                MemoryRegions::NONE,
                MemoryRegions::BUFFERS
            ]
        );
    }

    #[test]
    fn conflicts_need_a_write_and_one_memory() {
        let (one, two) = (MemoryRegions::variable(0), MemoryRegions::variable(1));
        let (read, write) = (Effect::read(one), Effect::write(one));
        assert!(read.conflicts(write) && write.conflicts(read) && write.conflicts(write));
        assert!(!read.conflicts(read) && !read.conflicts(Effect::write(two)));
        let publishes = Effect {
            publishes: MemoryRegions::ALL,
            ..Effect::NONE
        };
        assert!(publishes.conflicts(read) && !publishes.conflicts(Effect::NONE));
        assert!(!publishes.within(two).conflicts(read));
    }
}
