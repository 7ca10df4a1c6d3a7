//! The effects of the whole module on memory: the variables that it writes, and the functions that
//! depend only on their arguments.
//!
//! Assumptions, each granted by the specification: the module has no data race (one is undefined
//! behaviour: SPIR-V 2.18.1, Vulkan memory model), and memory objects without the decoration
//! Aliased do not overlap (SPIR-V 3.20, Restrict is the default).

use super::level::{Level, is_uniform_input};
use crate::analysis::callgraph::CallGraph;
use crate::analysis::qualifiers::{MemoryQualifiers, Qualifiers};
use crate::module::facts::{Class, Operand};
use crate::module::{Declarations, Function, Id, Inst, MOST_TYPE_DEPTH, Module, Type, callee};
use rspirv::grammar::OperandKind;
use spirv::{Decoration, MemoryAccess, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Longest chain of instructions that is followed from a pointer to its variable.
const MOST_STEPS: usize = 64;

/// Writes of a module.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Variables that something writes.
    written: BTreeSet<Id>,
    /// Classes (by number) that something writes through a pointer whose variable is not known.
    written_classes: BTreeSet<u32>,
    /// Functions whose results depend on more than their arguments, or that write more than what
    /// their parameters point to.
    impure: BTreeSet<Id>,
    /// Private variables that functions name, with the function; for deciding which calls can
    /// change them.
    private: BTreeSet<(Id, Id)>,
    /// Workgroup variables, numbered in module order.
    workgroup: BTreeMap<Id, u32>,
    /// Memory that others may change, by the decorations Coherent and Volatile.
    qualifiers: MemoryQualifiers,
}

/// The variable that `pointer` points into, if a short chain of accesses leads there.
pub(in crate::analysis) fn root(module: &Module<'_>, pointer: Id) -> Option<Id> {
    let mut at = pointer;
    for _ in 0..MOST_STEPS {
        let inst = module.def(at)?;
        if inst.facts().class == Class::Variable {
            return Some(at);
        }
        // A parameter, a choice, or an address from elsewhere has no single origin.
        at = inst.forwarded()?;
    }
    None
}

impl Memory {
    /// Reads all functions of the module.
    pub fn analyze(declarations: &Declarations<'_>) -> Memory {
        let module = declarations.module;
        let of_class = |class: StorageClass| {
            let variables = declarations.variables.iter();
            variables
                .filter(move |variable| variable.class == class)
                .map(|variable| variable.id)
        };
        let private: BTreeSet<u32> = of_class(StorageClass::Private).map(|id| id.0).collect();
        let mut memory = Memory {
            workgroup: of_class(StorageClass::Workgroup).zip(0..).collect(),
            qualifiers: MemoryQualifiers::analyze(declarations),
            ..Memory::default()
        };
        let mut loads = Vec::new();
        for function in &declarations.functions {
            memory.read(declarations, module, function, &private, &mut loads);
        }
        // Which memory is written is known now.
        for (function, pointer) in loads {
            if !memory.is_constant(declarations, pointer, root(module, pointer)) {
                memory.impure.insert(function);
            }
        }
        let calls = CallGraph::analyze(declarations);
        memory.impure = calls.callers(memory.impure.iter().copied().collect::<Vec<_>>());
        memory
    }

    fn read<'m>(
        &mut self,
        declarations: &Declarations<'m>,
        module: &Module<'_>,
        function: &Function<'m>,
        private: &BTreeSet<u32>,
        loads: &mut Vec<(Id, Id)>,
    ) {
        let mut impure = function.blocks.is_empty();
        for inst in function.insts() {
            let mut reads_more = !is_deterministic(declarations, inst);
            declarations.accesses(inst, |pointer, access| {
                if matches!(access.kind, Operand::Image | Operand::Tensor) {
                    return; // the class of the instruction decides
                }
                let class = class_of(declarations, pointer);
                if access.role.writes() {
                    self.note_write(module, pointer, class);
                    impure |= class != Some(StorageClass::Function);
                }
                if access.role.reads() && !is_fixed(declarations, pointer, class) {
                    if is_buffer(class) && !is_volatile(declarations, inst) {
                        loads.push((function.id, pointer))
                    } else {
                        reads_more = true
                    }
                }
            });
            impure |= reads_more;
            // Literals are looked at too: at worst a function is taken to name a variable that it
            // does not.
            if private.is_empty() {
                continue;
            }
            for word in inst.operands() {
                if private.contains(word) {
                    impure = true;
                    self.private.insert((Id(*word), function.id));
                }
            }
        }
        if impure {
            self.impure.insert(function.id);
        }
    }

    /// Notes that something writes through `pointer`, a pointer of `class`.
    fn note_write(&mut self, module: &Module<'_>, pointer: Id, class: Option<StorageClass>) {
        match root(module, pointer) {
            Some(variable) => {
                self.written.insert(variable);
            }
            None => {
                self.written_classes
                    .insert(class.map_or(u32::MAX, |class| class as u32));
            }
        }
    }

    /// Returns true if the results of `function` depend on its arguments alone (and on memory that
    /// is never written, and built-ins of the workgroup), and it writes only through pointers of
    /// class Function.
    pub fn is_pure(&self, function: Id) -> bool {
        !self.impure.contains(&function)
    }

    /// Returns true if a function other than `function` names the Private variable.
    pub(super) fn is_shared_private(&self, variable: Id, function: Id) -> bool {
        self.private
            .range((variable, Id(0))..=(variable, Id(u32::MAX)))
            .any(|(_, other)| *other != function)
    }

    /// Returns true if no invocation writes what a load of `pointer`, whose variable is `variable`,
    /// reads.
    pub(in crate::analysis) fn is_constant(
        &self,
        declarations: &Declarations<'_>,
        pointer: Id,
        variable: Option<Id>,
    ) -> bool {
        let Some(class) = class_of(declarations, pointer) else {
            return false;
        };
        match class {
            StorageClass::PushConstant | StorageClass::UniformConstant => true,
            _ if self.qualifiers(declarations, pointer).any() => false,
            StorageClass::Uniform | StorageClass::StorageBuffer => {
                variable.is_some_and(|variable| {
                    let ty = pointee_struct(declarations, variable);
                    let decorated = |kind| {
                        declarations.decoration(variable, kind).is_some()
                            || ty.is_some_and(|ty| declarations.decoration(ty, kind).is_some())
                    };
                    let read_only = decorated(Decoration::NonWritable)
                        || ty.is_some_and(|ty| all_members_read_only(declarations, ty))
                        || (class == StorageClass::Uniform
                            && ty.is_some()
                            && !decorated(Decoration::BufferBlock));
                    let aliased = decorated(Decoration::Aliased);
                    read_only || (!aliased && !self.is_written(variable, class))
                })
            }
            _ => false, // invocations write it
        }
    }

    /// What the decorations of the memory ask of accesses through `pointer`.
    pub(in crate::analysis) fn qualifiers(
        &self,
        declarations: &Declarations<'_>,
        pointer: Id,
    ) -> Qualifiers {
        self.qualifiers.get(declarations, pointer)
    }

    fn is_written(&self, variable: Id, class: StorageClass) -> bool {
        self.written.contains(&variable)
            || self.written_classes.contains(&(class as u32))
            || self.written_classes.contains(&u32::MAX)
            || self
                .written_classes
                .contains(&(StorageClass::Generic as u32))
    }

    /// A mask bit for the Workgroup variable `variable`; the last bit stands for all from the 64th
    /// on, all bits for one that is not known.
    pub(super) fn workgroup_bit(&self, variable: Option<Id>) -> u64 {
        match variable.and_then(|variable| self.workgroup.get(&variable)) {
            Some(number) => 1 << (*number).min(63),
            None => u64::MAX,
        }
    }

    /// What `inst` may write of the Workgroup variables, a bit for each.
    pub(super) fn workgroup_writes<'m>(
        &self,
        declarations: &Declarations<'m>,
        inst: Inst<'m>,
    ) -> u64 {
        if callee(inst).is_some() {
            return u64::MAX;
        }
        let mut bits = 0;
        declarations.accesses(inst, |pointer, access| {
            bits |= match class_of(declarations, pointer) {
                _ if !access.role.writes() => 0,
                Some(StorageClass::Workgroup) => {
                    self.workgroup_bit(root(declarations.module, pointer))
                }
                Some(StorageClass::Generic) => u64::MAX,
                None if access.kind != Operand::Image && access.kind != Operand::Tensor => u64::MAX,
                _ => 0,
            };
        });
        bits
    }
}

pub(crate) fn class_of(declarations: &Declarations<'_>, pointer: Id) -> Option<StorageClass> {
    match declarations.ty(declarations.type_of(pointer)?)? {
        Type::Pointer { class, .. } => Some(*class),
        _ => None, // not a pointer
    }
}

/// Returns true for the memory in which no invocation sees a write of another: the memory of one
/// invocation, and memory that is never written while a kernel runs.
pub(in crate::analysis) fn is_unshared(class: StorageClass) -> bool {
    matches!(
        class,
        StorageClass::Function
            | StorageClass::Private
            | StorageClass::Input
            | StorageClass::PushConstant
            | StorageClass::UniformConstant
    )
}

/// The struct that `variable`, or each element of an array of it at any depth, is: the type that
/// has the decorations of a block. `None` where there is none, as behind a pointer to a member.
pub(in crate::analysis) fn pointee_struct(
    declarations: &Declarations<'_>,
    variable: Id,
) -> Option<Id> {
    let Type::Pointer { pointee, .. } = declarations.ty(declarations.type_of(variable)?)? else {
        return None;
    };
    let mut at = (*pointee)?;
    for _ in 0..=MOST_TYPE_DEPTH {
        at = match declarations.ty(at)? {
            Type::Array { element, .. } | Type::RuntimeArray { element } => *element,
            Type::Struct { .. } => return Some(at),
            _ => return None,
        };
    }
    None
}

fn all_members_read_only(declarations: &Declarations<'_>, ty: Id) -> bool {
    let Some(Type::Struct { members }) = declarations.ty(ty) else {
        return false;
    };
    !members.is_empty()
        && (0u32..).zip(members).all(|(index, _)| {
            declarations
                .member_decoration(ty, index, Decoration::NonWritable)
                .is_some()
        })
}

/// Returns true for memory of buffers: whether it is written is known when all functions are read.
fn is_buffer(class: Option<StorageClass>) -> bool {
    matches!(
        class,
        Some(StorageClass::Uniform | StorageClass::StorageBuffer)
    )
}

/// Returns true if the memory operands of `inst` say that an access is volatile.
fn is_volatile(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    let mut operands = declarations.module.operands(inst);
    operands.any(|operand| {
        let mask = operand.words.first().copied().unwrap_or(0);
        operand.kind == OperandKind::MemoryAccess && mask & MemoryAccess::VOLATILE.bits() != 0
    })
}

/// Returns true if all invocations of a workgroup with equal arguments read equal values through
/// `pointer`, a pointer of `class`: memory of the function itself, constants, and built-ins of the
/// workgroup.
fn is_fixed(declarations: &Declarations<'_>, pointer: Id, class: Option<StorageClass>) -> bool {
    matches!(
        class,
        Some(StorageClass::Function | StorageClass::PushConstant | StorageClass::UniformConstant)
    ) || is_of_workgroup(declarations, pointer)
}

/// Returns true if `pointer` leads to a built-in that has one value in a workgroup.
fn is_of_workgroup(declarations: &Declarations<'_>, pointer: Id) -> bool {
    let built_in = root(declarations.module, pointer)
        .and_then(|variable| declarations.decoration(variable, Decoration::BuiltIn));
    class_of(declarations, pointer) == Some(StorageClass::Input)
        && built_in.is_some_and(|built_in| is_uniform_input(built_in, Level::Workgroup))
}

/// Returns true if equal operands, and equal memory where the instruction reads some, give equal
/// results in a workgroup, and the instruction has no effect but on the memory that its row names.
fn is_deterministic<'m>(declarations: &Declarations<'m>, inst: Inst<'m>) -> bool {
    let facts = declarations.facts(inst);
    match facts.class {
        Class::Call => callee(inst).is_some(), // the callee answers for itself
        // Images and tensors are memory of unknown contents.
        Class::Memory => {
            let mut accesses = facts.accesses.iter();
            !facts.active_lanes
                && !facts.calls.any()
                && accesses.all(|access| access.kind == Operand::Pointer)
        }
        Class::Exit | Class::Query | Class::Sample => true,
        _ => facts.touches_no_memory() && !facts.active_lanes,
    }
}
