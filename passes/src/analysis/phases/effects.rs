//! What an instruction does that other invocations of the workgroup may notice.

use super::mutant::{Rule, is_out};
use super::places::Places;
use crate::analysis::pairing::SiteKind;
use crate::analysis::qualifiers::MemoryQualifiers;
use crate::analysis::uniformity::memory::{self, is_arithmetic, is_atomic};
use crate::analysis::uses::is_shared_block;
use crate::module::joint_matrix::{CONSTRUCT_CHECKED, CheckedAccess, GET_ELEMENT_COORD, PREFETCH};
use crate::module::{
    Constants, Declarations, ExtInstSet, Function, Id, Inst, Scope, Semantics, TensorAccess,
    called, callee,
};
use rspirv::grammar::OperandKind;
use spirv::{Capability, Decoration, ImageOperands, MemoryAccess, Op, StorageClass};
use std::collections::BTreeMap;
use std::ops::BitOr;

/// Longest way that is followed from a pointer to its variable.
const MOST_STEPS: usize = 64;

/// What one or several instructions do.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// What they read.
    pub reads: Places,
    /// What they write.
    pub writes: Places,
    /// Memory whose order atomic operations may make known to others, with no barrier: all memory,
    /// for those that order more than their own location.
    pub publishes: Places,
    /// No half of a barrier may pass: they order memory or execution themselves, or nothing is
    /// known of them.
    pub stops: bool,
}

impl Effect {
    /// Nothing that is noticed.
    pub const NONE: Effect = Effect {
        reads: Places::NONE,
        writes: Places::NONE,
        publishes: Places::NONE,
        stops: false,
    };
    /// Nothing that is noticed, and nothing may pass.
    pub const STOP: Effect = Effect {
        stops: true,
        ..Effect::NONE
    };
    /// Anything.
    pub const UNKNOWN: Effect = Effect {
        reads: Places::ALL,
        writes: Places::ALL,
        publishes: Places::ALL,
        stops: true,
    };

    fn read(reads: Places) -> Effect {
        Effect {
            reads,
            ..Effect::NONE
        }
    }

    fn write(writes: Places) -> Effect {
        Effect {
            writes,
            ..Effect::NONE
        }
    }

    /// What is read or written.
    pub fn touches(self) -> Places {
        self.reads | self.writes
    }

    /// The part of it that happens in `places`.
    #[must_use]
    pub fn within(self, places: Places) -> Effect {
        Effect {
            reads: self.reads & places,
            writes: self.writes & places,
            publishes: self.publishes & places,
            stops: self.stops,
        }
    }

    /// Whether the order of accesses of both can be told: they touch one memory and one of them
    /// writes it, or one of them may publish what the other did.
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
            stops: self.stops || other.stops,
        }
    }
}

/// What the instructions of a module do.
pub struct Effects<'e, 'm> {
    pub(super) declarations: &'e Declarations<'m>,
    constants: &'e Constants,
    pub(super) qualifiers: MemoryQualifiers,
    /// Places of Workgroup variables, and of pointers to Workgroup memory that kernels are given.
    workgroup: BTreeMap<Id, Places>,
    /// All of what a function and its callees do, for those that were asked for.
    functions: BTreeMap<Id, Effect>,
    /// Memory in which an invocation may learn of others' accesses by what it reads from an atomic
    /// operation, before it waits: what its fences and atomic operations acquire.
    acquired: Places,
}

impl<'e, 'm> Effects<'e, 'm> {
    /// For the entry function `entry` and what it calls.
    pub fn of(
        declarations: &'e Declarations<'m>,
        constants: &'e Constants,
        entry: &Function<'m>,
    ) -> Self {
        let mut effects = Effects {
            declarations,
            constants,
            qualifiers: MemoryQualifiers::of(declarations),
            workgroup: workgroup(declarations, entry),
            functions: BTreeMap::new(),
            acquired: Places::NONE,
        };
        // A module with recursion is not valid: its calls stay unknown.
        let reached = declarations.reachable_functions(entry.id);
        let bodies = reached.iter().flatten();
        let bodies = bodies.filter_map(|id| declarations.function(*id));
        effects.acquired = bodies
            .flat_map(|function| function.insts())
            .map(|inst| effects.acquires(inst))
            .fold(Places::NONE, BitOr::bitor);
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

    /// What `inst` does. Barriers stop; what they order is not told here.
    pub fn instruction(&self, inst: Inst<'m>) -> Effect {
        let Some(op) = inst.op() else {
            return self.nameless(inst);
        };
        if SiteKind::of(inst).is_some() {
            return Effect::STOP;
        }
        if let Some(access) = TensorAccess::of(inst) {
            return self.tensor(inst, access);
        }
        if let Some(function) = called(inst) {
            // An instruction that calls for each element of a matrix has no order of calls.
            let known = callee(inst).and_then(|_| self.functions.get(&function));
            return known.copied().unwrap_or(Effect::UNKNOWN);
        }
        match op {
            Op::Load | Op::CooperativeMatrixLoadKHR | Op::CooperativeVectorLoadNV => {
                self.access(inst, 0, Effect::read)
            }
            Op::Store | Op::CooperativeMatrixStoreKHR | Op::CooperativeVectorStoreNV => {
                self.access(inst, 0, Effect::write)
            }
            Op::CopyMemory | Op::CopyMemorySized => {
                self.access(inst, 0, Effect::write) | self.access(inst, 1, Effect::read)
            }
            Op::ImageRead | Op::ImageSparseRead => self.image(inst, Effect::read(Places::IMAGES)),
            Op::ImageWrite => self.image(inst, Effect::write(Places::IMAGES)),
            // Elements lie in memory like that of buffers, and no specification says which storage
            // class of memory semantics speaks of them.
            Op::TensorReadARM => self.image(inst, Effect::read(Places::TENSORS)),
            Op::TensorWriteARM => self.image(inst, Effect::write(Places::TENSORS)),
            Op::AtomicStore | Op::AtomicFlagClear => self.atomic(inst),
            _ if is_atomic(op) => self.atomic(inst),
            Op::ExtInst => self.extended(inst),
            _ if is_of_scope(op) => match self.scope(inst) {
                Some(Scope::Subgroup | Scope::Invocation) => Effect::NONE,
                _ => Effect::STOP, // the workgroup meets there
            },
            _ if is_free(op) => Effect::NONE,
            _ if is_sampling(op) => Effect::read(Places::IMAGES),
            _ => Effect::UNKNOWN,
        }
    }

    /// What an instruction does that the `spirv` crate has no name for.
    fn nameless(&self, inst: Inst<'m>) -> Effect {
        match (CheckedAccess::of(inst), inst.opcode()) {
            (Some(access), _) if access.is_store => self.access(inst, 0, Effect::write),
            (Some(_), _) => self.access(inst, 0, Effect::read),
            (_, CONSTRUCT_CHECKED | GET_ELEMENT_COORD | PREFETCH) => Effect::NONE,
            _ => Effect::UNKNOWN,
        }
    }

    fn scope(&self, inst: Inst<'_>) -> Option<Scope> {
        Scope::from_u32(self.number(inst.id(0).ok()?)?)
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

    /// Memory in which other invocations' accesses are known behind `inst`, if it reads what they
    /// have published. What barriers of the workgroup acquire is left out: all arrive there first.
    fn acquires(&self, inst: Inst<'_>) -> Places {
        let semantics: &[usize] = match (SiteKind::of(inst), inst.op()) {
            (Some(SiteKind::MemoryBarrier), _) => &[1],
            (Some(_), _) if self.scope(inst) == Some(Scope::Workgroup) => &[],
            (Some(_), _) => &[2],
            (None, Some(Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak)) => &[2, 3],
            (None, Some(op)) if is_atomic(op) => &[2],
            (None, _) => &[],
        };
        let of = |index: &usize| match self.semantics(inst, *index) {
            Some(semantics) if semantics.order.acquires() => Places::of(semantics.classes),
            Some(_) => Places::NONE,
            None => Places::ALL,
        };
        semantics.iter().map(of).fold(Places::NONE, BitOr::bitor)
    }

    /// An access through the pointer that is operand `index`.
    fn access(&self, inst: Inst<'m>, index: usize, kind: fn(Places) -> Effect) -> Effect {
        let Ok(pointer) = inst.id(index) else {
            return Effect::UNKNOWN;
        };
        let effect = kind(self.places(pointer));
        let qualifiers = self.qualifiers.get(self.declarations, pointer);
        Effect {
            stops: !effect.touches().is_empty() && (self.is_volatile(inst) || qualifiers.volatile),
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
            Some(Some(decode)) if decode.writes.is_empty() && !decode.stops => own | *decode,
            Some(_) => Effect::UNKNOWN,
        }
    }

    fn image(&self, inst: Inst<'m>, effect: Effect) -> Effect {
        let image = inst.id(0);
        let is_volatile = |image| self.qualifiers.get(self.declarations, image).volatile;
        Effect {
            stops: image.is_ok_and(is_volatile) || self.is_volatile(inst),
            ..effect
        }
    }

    /// Whether the memory or image operands of an access say that it is volatile; for a copy,
    /// those of one side.
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
        // Compare-exchange has semantics for both outcomes.
        let is_compare = matches!(
            inst.op(),
            Some(Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak)
        );
        let is_relaxed = relaxed(2) && (!is_compare || relaxed(3));
        let stays = places.without(Places::WORKGROUP).is_empty();
        Effect {
            reads: places,
            writes: places,
            publishes: if is_relaxed && stays {
                places | self.acquired
            } else {
                Places::ALL
            },
            stops: true,
        }
    }

    /// Instructions of extended sets write through pointers that they are given.
    fn extended(&self, inst: Inst<'_>) -> Effect {
        let set = inst
            .id(0)
            .ok()
            .and_then(|set| self.declarations.ext_inst_sets.get(&set));
        match set {
            Some(ExtInstSet::NonSemantic) => Effect::NONE,
            Some(ExtInstSet::Glsl450 | ExtInstSet::OpenCl)
                if !self.declarations.is_printf(inst) =>
            {
                let operands = inst.operands_from(2).iter();
                operands.fold(Effect::NONE, |all, word| {
                    let id = Id(*word);
                    match memory::class_of(self.declarations, id) {
                        None => all, // a value
                        Some(_) => {
                            let places = self.places(id);
                            let qualifiers = self.qualifiers.get(self.declarations, id);
                            all | Effect {
                                stops: qualifiers.volatile && !places.is_empty(),
                                ..Effect::read(places) | Effect::write(places)
                            }
                        }
                    }
                })
            }
            _ => Effect::UNKNOWN, // printf, and what nobody knows
        }
    }

    /// The shared memory that `pointer` may lead to.
    fn places(&self, pointer: Id) -> Places {
        match memory::class_of(self.declarations, pointer) {
            Some(
                StorageClass::Function
                | StorageClass::Private
                | StorageClass::Input
                | StorageClass::PushConstant
                | StorageClass::UniformConstant,
            ) => Places::NONE,
            Some(StorageClass::Uniform) => match self.root(pointer) {
                Some(variable) if !self.is_written_block(variable) => Places::NONE,
                _ => Places::BUFFERS,
            },
            Some(StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer) => {
                Places::BUFFERS
            }
            Some(StorageClass::CrossWorkgroup) => Places::CROSS_WORKGROUP,
            Some(StorageClass::Image) => Places::IMAGES,
            Some(StorageClass::Workgroup) => {
                let root = self.root(pointer);
                let known = root.and_then(|root| self.workgroup.get(&root));
                known.copied().unwrap_or(Places::WORKGROUP)
            }
            Some(StorageClass::Generic) => Places::WORKGROUP | Places::CROSS_WORKGROUP,
            _ => Places::ALL,
        }
    }

    /// Whether a variable of class Uniform may be written: BufferBlock is the storage buffer of old
    /// modules, and what is Aliased may be one under another name.
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
            at = match inst.op()? {
                Op::Variable | Op::FunctionParameter => return Some(at),
                Op::AccessChain
                | Op::InBoundsAccessChain
                | Op::PtrAccessChain
                | Op::InBoundsPtrAccessChain
                | Op::RawAccessChainNV
                | Op::Bitcast
                | Op::CopyObject => inst.id(0).ok()?,
                _ => return None, // an address from elsewhere
            };
        }
        None
    }
}

/// Workgroup variables and the Workgroup pointers that the kernel `entry` is given, each in a place
/// of its own, unless the variables share their memory
/// (SPV_KHR_workgroup_memory_explicit_layout).
fn workgroup(declarations: &Declarations<'_>, entry: &Function<'_>) -> BTreeMap<Id, Places> {
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
        .map(|(id, number)| (id, Places::variable(number)))
        .collect()
}

/// Instructions of a group whose first operand is its scope. None of them orders memory.
fn is_of_scope(op: Op) -> bool {
    matches!(op as u32,
        261..=271 // groups of OpenCL; asynchronous copies are not among them
        | 333..=366 // OpGroupNonUniform...
        | 4431 // OpGroupNonUniformRotateKHR
    )
}

/// Instructions that no other invocation can notice, or only those of its subgroup.
fn is_free(op: Op) -> bool {
    is_arithmetic(op)
        || matches!(op as u32,
            0 | 1 | 8 | 317 // OpNop, OpUndef, debug lines
            | 59 | 60 // OpVariable, OpImageTexelPointer
            | 65..=68 | 70 // access chains, OpArrayLength
            | 86 | 100 | 103..=107 // OpSampledImage, OpImage, queries
            | 245..=257 // control flow, lifetimes
            | 401..=403 // comparisons of pointers
            | 4421 | 4422 | 4428..=4430 | 4432 // ballots and votes of subgroups
            | 4450..=4455 // dot products
            | 4166 // OpTensorQuerySizeARM
            | 4459 | 4460 // cooperative matrices: multiply, length
            | 5372..=5379 | 5382 | 5384 // tensor layouts and views
            | 5571..=5574 | 6237 // shuffles and products of subgroups (INTEL)
            | 5630 | 5631 // assumptions
        )
}

/// Reads of images without a say about memory.
fn is_sampling(op: Op) -> bool {
    matches!(op as u32, 87..=97 | 305..=316)
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
        let effects = Effects::of(&declarations, &constants, function);
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
            Effect::read(Places::variable(0)),
            Effect::write(Places::variable(1)),
            Effect::NONE,
            Effect::NONE,
            Effect::read(Places::BUFFERS),
            Effect {
                stops: true,
                ..Effect::write(Places::variable(0))
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
        assert!(found.iter().take(5).all(|effect| effect.stops));
        let publishes: Vec<Places> = found.iter().map(|effect| effect.publishes).collect();
        let (none, all) = (Places::NONE, Places::ALL);
        // What the fence acquires is known to those that read from the relaxed one.
        let acquired = Places::WORKGROUP;
        assert_eq!(publishes, [none, none, acquired, all, all, none]);
        let relaxed = "%a = OpAtomicIAdd %uint %one %group %none %u1";
        assert_eq!(effects(relaxed)[0].publishes, Places::variable(0));
    }

    #[test]
    fn volatile_operands_stop() {
        let found = effects(
            "OpCopyMemory %one %two 2 4\nOpCopyMemory %one %two 2 4 3 4\nOpCopyMemory %one %two 1 0
            OpCopyMemorySized %one %two %u2 2 4 1\n%a = OpLoad %uint %one 2 4",
        );
        let stops: Vec<bool> = found.iter().map(|effect| effect.stops).collect();
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
        let effects = Effects::of(&declarations, &constants, function);
        let loads = function.insts().filter(|inst| inst.op() == Some(Op::Load));
        let reads: Vec<Places> = loads.map(|inst| effects.instruction(inst).reads).collect();
        assert_eq!(reads, [Places::BUFFERS, Places::NONE, Places::BUFFERS]);
    }

    #[test]
    fn conflicts_need_a_write_and_one_memory() {
        let (one, two) = (Places::variable(0), Places::variable(1));
        let (read, write) = (Effect::read(one), Effect::write(one));
        assert!(read.conflicts(write) && write.conflicts(read) && write.conflicts(write));
        assert!(!read.conflicts(read) && !read.conflicts(Effect::write(two)));
        let publishes = Effect {
            publishes: Places::ALL,
            ..Effect::NONE
        };
        assert!(publishes.conflicts(read) && !publishes.conflicts(Effect::NONE));
        assert!(!publishes.within(two).conflicts(read));
    }
}
