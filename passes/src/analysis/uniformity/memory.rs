//! What the module as a whole does to memory: which variables it writes, and which functions depend
//! on their arguments alone.
//!
//! Assumptions, each granted by the specification: the module has no data race (one is undefined
//! behaviour: SPIR-V 2.18.1, Vulkan memory model), and memory objects without the decoration
//! Aliased do not overlap (SPIR-V 3.20, Restrict is the default).

use super::divergence::{Level, is_uniform_input};
use crate::analysis::callgraph::CallGraph;
use crate::analysis::qualifiers::{MemoryQualifiers, Qualifiers};
use crate::module::joint_matrix::CheckedAccess;
use crate::module::{Declarations, Function, Id, Inst, MOST_TYPE_DEPTH, Module, Type, callee};
use spirv::{Decoration, Op, StorageClass};
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
        at = match inst.op()? {
            Op::Variable => return Some(at),
            Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::RawAccessChainNV
            | Op::CopyObject => inst.id(0).ok()?,
            _ => return None, // a parameter, or an address from elsewhere
        };
    }
    None
}

/// The pointer that `inst` writes through, if it writes memory.
pub(in crate::analysis) fn written_pointer(inst: Inst<'_>) -> Option<Id> {
    if let Some(access) = CheckedAccess::of(inst) {
        return access.is_store.then_some(access.pointer);
    }
    let op = inst.op()?;
    match op {
        Op::Store | Op::CopyMemory | Op::CopyMemorySized | Op::AtomicStore => inst.id(0).ok(),
        Op::AtomicFlagClear => inst.id(0).ok(),
        Op::CooperativeMatrixStoreKHR | Op::CooperativeMatrixStoreTensorNV => inst.id(0).ok(),
        Op::CooperativeVectorStoreNV
        | Op::CooperativeVectorOuterProductAccumulateNV
        | Op::CooperativeVectorReduceSumAccumulateNV => inst.id(0).ok(),
        _ if is_atomic(op) => inst.id(0).ok(),
        _ => None, // it writes none
    }
}

/// Atomic instructions with a result.
pub(in crate::analysis) fn is_atomic(op: Op) -> bool {
    matches!(op as u32, 227 | 229..=242 | 318 | 5614 | 5615 | 6035)
}

impl Memory {
    /// Reads all functions of the module.
    pub fn of(declarations: &Declarations<'_>) -> Memory {
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
            qualifiers: MemoryQualifiers::of(declarations),
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
        let calls = CallGraph::of(declarations);
        memory.impure = calls.callers(memory.impure.iter().copied().collect::<Vec<_>>());
        memory
    }

    fn read(
        &mut self,
        declarations: &Declarations<'_>,
        module: &Module<'_>,
        function: &Function<'_>,
        private: &BTreeSet<u32>,
        loads: &mut Vec<(Id, Id)>,
    ) {
        let mut impure = function.blocks.is_empty();
        for inst in function.insts() {
            let pointer = written_pointer(inst);
            if let Some(pointer) = pointer {
                let class = class_of(declarations, pointer);
                match root(module, pointer) {
                    Some(variable) => {
                        self.written.insert(variable);
                    }
                    None => {
                        self.written_classes
                            .insert(class.map_or(u32::MAX, |class| class as u32));
                    }
                }
                impure |= class != Some(StorageClass::Function);
            }
            if !is_deterministic(declarations, inst) && pointer.is_none() {
                match buffer_load(declarations, inst) {
                    Some(pointer) => loads.push((function.id, pointer)),
                    None => impure = true,
                }
            }
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

    /// Whether the results of `function` depend on its arguments alone (and on memory that is never
    /// written, and built-ins of the workgroup), and it writes only through pointers of class
    /// Function.
    pub fn is_pure(&self, function: Id) -> bool {
        !self.impure.contains(&function)
    }

    /// Whether a function other than `function` names the Private variable.
    pub(super) fn is_shared_private(&self, variable: Id, function: Id) -> bool {
        self.private
            .range((variable, Id(0))..=(variable, Id(u32::MAX)))
            .any(|(_, other)| *other != function)
    }

    /// Whether no invocation writes what a load of `pointer`, whose variable is `variable`, reads.
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
    pub(super) fn workgroup_writes(&self, declarations: &Declarations<'_>, inst: Inst<'_>) -> u64 {
        if callee(inst).is_some() {
            return u64::MAX;
        }
        let Some(pointer) = written_pointer(inst) else {
            return 0;
        };
        match class_of(declarations, pointer) {
            Some(StorageClass::Workgroup) => self.workgroup_bit(root(declarations.module, pointer)),
            Some(StorageClass::Generic) | None => u64::MAX,
            Some(_) => 0,
        }
    }
}

pub(crate) fn class_of(declarations: &Declarations<'_>, pointer: Id) -> Option<StorageClass> {
    match declarations.ty(declarations.type_of(pointer)?)? {
        Type::Pointer { class, .. } => Some(*class),
        _ => None, // not a pointer
    }
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

/// The pointer that `inst` loads through, when it is one of a buffer and the load is not volatile.
fn buffer_load(declarations: &Declarations<'_>, inst: Inst<'_>) -> Option<Id> {
    let is_volatile = inst.operands().get(1).is_some_and(|access| access & 1 != 0);
    let pointer = inst.id(0).ok()?;
    let class = class_of(declarations, pointer);
    let is_buffer = matches!(
        class,
        Some(StorageClass::Uniform | StorageClass::StorageBuffer)
    );
    (inst.op() == Some(Op::Load) && is_buffer && !is_volatile).then_some(pointer)
}

/// Whether `pointer` leads to a built-in that has one value in a workgroup.
fn is_of_workgroup(declarations: &Declarations<'_>, pointer: Id) -> bool {
    let built_in = root(declarations.module, pointer)
        .and_then(|variable| declarations.decoration(variable, Decoration::BuiltIn));
    class_of(declarations, pointer) == Some(StorageClass::Input)
        && built_in.is_some_and(|built_in| is_uniform_input(built_in, Level::Workgroup))
}

/// Whether equal operands give equal results in a workgroup, for instructions that write no memory.
fn is_deterministic(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    let Some(op) = inst.op() else {
        return false;
    };
    match op {
        Op::Load => inst.id(0).is_ok_and(|pointer| {
            let class = class_of(declarations, pointer);
            let is_fixed = class.is_some_and(|class| {
                matches!(
                    class,
                    StorageClass::Function
                        | StorageClass::PushConstant
                        | StorageClass::UniformConstant
                )
            });
            is_fixed || is_of_workgroup(declarations, pointer)
        }),
        Op::FunctionCall => callee(inst).is_some(), // the callee answers for itself
        Op::Variable
        | Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::RawAccessChainNV
        | Op::Phi
        | Op::SelectionMerge
        | Op::LoopMerge
        | Op::Branch
        | Op::BranchConditional
        | Op::Switch
        | Op::Return
        | Op::ReturnValue
        | Op::Unreachable
        | Op::Undef
        | Op::NoLine
        | Op::Line
        | Op::Nop => true,
        Op::ExtInst => !declarations.is_printf(inst), // its writes go through pointers that it is given
        _ => is_pure_op(op),
    }
}

/// Instructions without effects, whose results depend on nothing but their operands.
pub(super) fn is_pure_op(op: Op) -> bool {
    is_arithmetic(op)
        || matches!(op as u32,
            68 // OpArrayLength
            | 86..=97 | 100 | 103..=107 // sampled images are read-only, queries
            | 305 | 401..=403 | 4450..=4455
            | 4166 // OpTensorQuerySizeARM
        )
}

/// Instructions that compute their results from values alone: no memory, no descriptor, no other
/// invocation.
pub(crate) fn is_arithmetic(op: Op) -> bool {
    matches!(op as u32,
        77..=84 // vectors and composites
        | 109..=152 // conversions and arithmetic
        | 154..=191 // comparisons
        | 194..=205 // bits
        | 400 // OpCopyLogical
        | 4427 | 4463 // OpFmaKHR, OpCompositeConstructReplicateEXT
        | 5585..=5598 // SPV_INTEL_shader_integer_functions2
        | 6116 | 6117 | 6426 // conversions of bfloat16 and TF32
        | 6145 | 6242 // OpArithmeticFenceEXT, OpBitwiseFunctionINTEL
    )
}
