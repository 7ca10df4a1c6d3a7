//! The declarations of a module: capabilities, types, decorations, entry points, variables,
//! functions and their blocks.

use super::decorations::Decorations;
use super::id_map::IdMap;
use super::names::Names;
use super::types::Types;
use super::{Decoration, Function, Id, Inst, Module, Type};
use spirv::Op;
use std::collections::BTreeMap;

/// The alias of the split-barrier extension that the module declares; diagnostics use it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SplitBarrierExtension {
    /// SPV_EXT_split_barrier.
    Ext,
    /// SPV_INTEL_split_barrier.
    Intel,
}

/// An extended instruction set that is lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtInstSet {
    /// GLSL.std.450.
    Glsl450,
    /// OpenCL.std.
    OpenCl,
    /// A set of AMD's extensions, by name (`SPV_AMD_shader_ballot`).
    Amd(String),
    /// Debug and non-semantic sets: no effect on code.
    NonSemantic,
    /// Any other, by name.
    Other(String),
}

/// An OpEntryPoint with its execution modes.
#[derive(Clone, Debug)]
pub struct EntryPoint<'m> {
    /// The execution model, as the `spirv` crate numbers it; `None` if it does not know it.
    pub model: Option<spirv::ExecutionModel>,
    /// The function.
    pub function: Id,
    /// The name.
    pub name: String,
    /// Interface ids.
    pub interface: Vec<Id>,
    /// OpExecutionMode and OpExecutionModeId of this entry point.
    pub modes: Vec<Inst<'m>>,
    /// The OpEntryPoint itself.
    pub inst: Inst<'m>,
}

impl<'m> EntryPoint<'m> {
    /// The first OpExecutionMode or OpExecutionModeId with this mode.
    pub fn mode(&self, mode: spirv::ExecutionMode) -> Option<Inst<'m>> {
        self.modes
            .iter()
            .find(|inst| inst.operands().get(1) == Some(&(mode as u32)))
            .copied()
    }

    /// Returns true if it is a kernel: of the execution model GLCompute or Kernel.
    pub fn is_compute(&self) -> bool {
        use spirv::ExecutionModel::{GLCompute, Kernel};
        matches!(self.model, Some(GLCompute | Kernel))
    }

    /// Returns true if it is a compute shader: of the execution model GLCompute.
    pub fn is_shader(&self) -> bool {
        self.model == Some(spirv::ExecutionModel::GLCompute)
    }

    /// The number of invocations of a subgroup that the mode SubgroupSize requires (SPIR-V 3.6).
    pub fn subgroup_size(&self) -> Option<u32> {
        self.mode(spirv::ExecutionMode::SubgroupSize)?
            .operands()
            .get(2)
            .copied()
    }
}

/// A module-scope OpVariable.
#[derive(Copy, Clone, Debug)]
pub struct Variable<'m> {
    /// Its id.
    pub id: Id,
    /// The pointer type.
    pub pointer_type: Id,
    /// The storage class.
    pub class: spirv::StorageClass,
    /// The initializer.
    pub initializer: Option<Id>,
    /// The OpVariable.
    pub inst: Inst<'m>,
}

/// Everything that a module declares.
#[derive(Clone, Debug)]
pub struct Declarations<'m> {
    /// The module.
    pub module: &'m Module<'m>,
    /// Capability numbers, in order.
    pub capabilities: Vec<(u32, Inst<'m>)>,
    /// Extension strings, in order.
    pub extensions: Vec<String>,
    /// OpExtInstImport by id.
    pub ext_inst_sets: BTreeMap<Id, ExtInstSet>,
    /// Addressing model number of OpMemoryModel.
    pub addressing: u32,
    /// Memory model number of OpMemoryModel.
    pub memory_model: u32,
    /// Entry points, in order.
    pub entry_points: Vec<EntryPoint<'m>>,
    /// Module-scope variables, in order.
    pub variables: Vec<Variable<'m>>,
    /// Functions, in order.
    pub functions: Vec<Function<'m>>,
    /// Instructions in front of the functions whose values [`super::Constants`] knows, in order.
    pub(super) constants: Vec<Inst<'m>>,
    pub(super) types: Types,
    pub(super) decorations: Decorations<'m>,
    pub(super) names: Names<'m>,
    /// What the WorkgroupSize built-in decorates: a constant, or a variable of an OpenCL kernel.
    pub(super) workgroup_sizes: Vec<Id>,
    pub(super) variable_indices: IdMap<usize>,
}

impl<'m> Declarations<'m> {
    /// Returns true if `inst` is a printf of OpenCL.std: it writes memory that no operand points
    /// to, and its result is no function of its operands.
    #[inline]
    pub fn is_printf(&self, inst: Inst<'_>) -> bool {
        if inst.opcode() != spirv::Op::ExtInst as u16 {
            return false; // most are not
        }
        match inst.operands() {
            [set, number, ..] if *number == spirv::OpenclStd100Op::printf as u32 => {
                self.ext_inst_sets.get(&Id(*set)) == Some(&ExtInstSet::OpenCl)
            }
            _ => false,
        }
    }

    /// The type declared with `id`.
    pub fn ty(&self, id: Id) -> Option<&Type> {
        self.types.get(id)
    }

    /// The type that pointers of type `ty` point to; `None` for untyped pointers and other types.
    pub fn pointee(&self, ty: Id) -> Option<Id> {
        match self.ty(ty)? {
            Type::Pointer { pointee, .. } => *pointee,
            _ => None,
        }
    }

    /// The type that the pointer `id` points to, as [`Declarations::pointee`].
    pub fn pointee_of(&self, id: Id) -> Option<Id> {
        self.pointee(self.type_of(id)?)
    }

    /// All types in the order of their declarations.
    pub fn types(&self) -> impl Iterator<Item = (Id, &Type)> {
        self.types.iter()
    }

    /// The declarations of types that are [`Type::Other`] and whose opcode is one of `ops`.
    pub fn other_types<'d>(
        &'d self,
        ops: &'d [Op],
    ) -> impl Iterator<Item = (Inst<'m>, Op)> + use<'d, 'm> {
        self.types().filter_map(move |(id, ty)| {
            let Type::Other { opcode } = ty else {
                return None; // a type that has a name of its own
            };
            let op = *ops.iter().find(|op| **op as u16 == *opcode)?;
            Some((self.module.def(id)?, op))
        })
    }

    /// The type of the value `id`: its instruction's result type.
    pub fn type_of(&self, id: Id) -> Option<Id> {
        self.module.def(id)?.result_type()
    }

    /// Decorations of `id`, decoration groups resolved.
    pub fn decorations(&self, id: Id) -> &[Decoration<'m>] {
        self.decorations.of_id(id)
    }

    /// Decorations of member `member` of the structure `id`.
    pub fn member_decorations(&self, id: Id, member: u32) -> &[Decoration<'m>] {
        self.decorations.of_member(id, member)
    }

    /// The first operand of decoration `kind` on `id` (0 if it has none); `None` if it is not
    /// there.
    pub fn decoration(&self, id: Id, kind: spirv::Decoration) -> Option<u32> {
        self.decorations(id)
            .iter()
            .find(|d| d.kind == kind as u32)
            .map(|d| d.operands.first().copied().unwrap_or(0))
    }

    /// As [`Declarations::decoration`], of a member.
    pub fn member_decoration(&self, id: Id, member: u32, kind: spirv::Decoration) -> Option<u32> {
        self.member_decorations(id, member)
            .iter()
            .find(|d| d.kind == kind as u32)
            .map(|d| d.operands.first().copied().unwrap_or(0))
    }

    /// OpName of `id`.
    pub fn name(&self, id: Id) -> Option<&str> {
        self.names.read().of_id(id)
    }

    /// OpMemberName of member `member` of the structure `id`.
    pub fn member_name(&self, id: Id, member: u32) -> Option<&str> {
        self.names.read().of_member(id, member)
    }

    /// The text of the OpString `id`.
    pub fn string(&self, id: Id) -> Option<&str> {
        self.names.read().string(id)
    }

    /// The module-scope variable `id`.
    pub fn variable(&self, id: Id) -> Option<&Variable<'m>> {
        self.variables.get(*self.variable_indices.get(id)?)
    }

    /// The function `id`.
    pub fn function(&self, id: Id) -> Option<&Function<'m>> {
        let def = self.module.definition(id)?;
        let functions = &self.functions;
        let index = functions.binary_search_by_key(&def, |function| function.offset);
        functions.get(index.ok()?)
    }

    /// Returns true if capability `capability` is declared.
    pub fn has_capability(&self, capability: spirv::Capability) -> bool {
        self.capabilities
            .iter()
            .any(|(number, _)| *number == capability as u32)
    }

    /// The alias of the split-barrier extension that the module declares.
    pub fn split_barrier_extension(&self) -> SplitBarrierExtension {
        if self
            .extensions
            .iter()
            .any(|e| e == "SPV_INTEL_split_barrier")
        {
            SplitBarrierExtension::Intel
        } else {
            SplitBarrierExtension::Ext
        }
    }

    /// The name of an instruction by the alias that this module declares: as [`Inst::name`], with
    /// INTEL for EXT in the split-barrier instructions of a module that declares
    /// SPV_INTEL_split_barrier.
    pub fn op_name(&self, inst: Inst<'_>) -> String {
        match (inst.opcode(), self.split_barrier_extension()) {
            (6142, SplitBarrierExtension::Intel) => "OpControlBarrierArriveINTEL".to_owned(),
            (6143, SplitBarrierExtension::Intel) => "OpControlBarrierWaitINTEL".to_owned(),
            _ => inst.name(), // it has no alias
        }
    }
}
