//! What a module declares: capabilities, types, decorations, entry points, variables, functions and
//! their blocks.

use super::constants::has_value;
use super::decorations::Decorations;
use super::functions::{FunctionReader, stands_outside};
use super::grammar;
use super::id_map::IdMap;
use super::names::Names;
use super::operands::literal_string;
use super::report::Report;
use super::signatures;
use super::types::{Types, is_type, storage_class};
use super::uses;
use super::{Decoration, Function, Id, Inst, Module, Type};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, WordOffset};
use spirv::Op;
use std::collections::BTreeMap;

/// Which spelling of the split-barrier extension the module declares; diagnostics use it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Spelling {
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

    /// Whether it is a kernel: of the execution model GLCompute or Kernel.
    pub fn is_compute(&self) -> bool {
        use spirv::ExecutionModel::{GLCompute, Kernel};
        matches!(self.model, Some(GLCompute | Kernel))
    }

    /// Whether it is a compute shader: of the execution model GLCompute.
    pub fn is_shader(&self) -> bool {
        self.model == Some(spirv::ExecutionModel::GLCompute)
    }

    /// The invocations of a subgroup that the SubgroupSize mode asks for (SPIR-V 3.6).
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
    types: Types,
    decorations: Decorations<'m>,
    pub(super) names: Names<'m>,
    /// What the WorkgroupSize built-in decorates: a constant, or a variable of an OpenCL kernel.
    pub(super) workgroup_sizes: Vec<Id>,
    variable_indices: IdMap<usize>,
}

impl<'m> Declarations<'m> {
    /// Decodes the declarations of a module that `step` of the compiler made: `inlining`.
    ///
    /// # Errors
    /// What is wrong with it, and that this is a bug of the step.
    pub fn of_made(module: &'m Module<'m>, step: &str) -> Result<Declarations<'m>, Diagnostics> {
        let mut found = Diagnostics::new();
        let declarations = Declarations::of(module, &mut found);
        if found.has_errors() {
            let message = format!("{step} gave a module that cannot be read");
            found.push(Diagnostic::bug(message));
            return Err(found);
        }
        Ok(declarations)
    }

    /// Decodes the declarations of `module`. What is wrong goes to `diagnostics` (at most a hundred
    /// problems); the rest is still decoded.
    ///
    /// After it, with no error reported: every id that an instruction uses is defined, result types
    /// are types, types are nested at most [`super::MOST_TYPE_DEPTH`] deep and contain themselves
    /// only through pointers, functions have their types' results and parameters, calls as many
    /// arguments, blocks end with a terminator, branches stay in their function, and entry points
    /// name functions.
    pub fn of(module: &'m Module<'m>, diagnostics: &mut Diagnostics) -> Declarations<'m> {
        let mut report = Report::new(diagnostics);
        let words = module.words().len();
        let mut this = Declarations {
            module,
            capabilities: Vec::new(),
            extensions: Vec::new(),
            ext_inst_sets: BTreeMap::new(),
            addressing: 0,
            memory_model: 0,
            entry_points: Vec::new(),
            variables: Vec::new(),
            functions: Vec::new(),
            constants: Vec::new(),
            types: Types::new(words),
            decorations: Decorations::new(words),
            names: Names::default(),
            workgroup_sizes: Vec::new(),
            variable_indices: IdMap::new(words),
        };
        this.read(&mut report);
        uses::check(&this, &mut report);
        signatures::check(&this, &mut report);
        this.check_entry_points(&mut report);
        this
    }

    fn read(&mut self, report: &mut Report<'_>) {
        let mut functions = FunctionReader::new(self.module);
        let mut modes: BTreeMap<Id, Vec<Inst<'m>>> = BTreeMap::new();
        let mut insts = self.module.instructions();
        while let Some(inst) = functions.skip_plain(&mut insts) {
            if functions.takes(inst) {
                functions.read(inst, report);
            } else if is_type(inst) {
                self.types.declare(self.module, inst, report);
            } else {
                self.read_global(inst, &mut modes, report)
                    .unwrap_or_else(|diagnostic| report.push(diagnostic));
            }
        }
        let size = spirv::BuiltIn::WorkgroupSize as u32;
        self.workgroup_sizes = self.decorations.ids_with(spirv::Decoration::BuiltIn, size);
        self.functions = functions.into_functions(report);
        let first = self
            .functions
            .first()
            .map_or(WordOffset::END, |first| first.offset);
        self.constants.retain(|inst| inst.offset < first);
        for (variable, index) in self.variables.iter().zip(0..) {
            self.variable_indices.insert(variable.id, index);
        }
        self.distribute_modes(&modes, report);
    }

    fn read_global(
        &mut self,
        inst: Inst<'m>,
        modes: &mut BTreeMap<Id, Vec<Inst<'m>>>,
        report: &mut Report<'_>,
    ) -> Result<(), Diagnostic> {
        match inst.op() {
            Some(Op::Name | Op::MemberName | Op::String) => self.names.take(inst),
            Some(op) if op.is_annotation() => {
                self.decorations.read(self.module, op, inst, report);
            }
            Some(Op::Capability) => self.capabilities.push((inst.operand(0)?, inst)),
            Some(Op::Extension) => self.extensions.push(inst.string(0)),
            Some(Op::ExtInstImport) => self
                .ext_inst_sets
                .extend(inst.result().map(|id| (id, ext_inst_set(inst)))),
            Some(Op::MemoryModel) => {
                (self.addressing, self.memory_model) = (inst.operand(0)?, inst.operand(1)?)
            }
            Some(Op::EntryPoint) => self.entry_points.push(entry_point(inst)?),
            Some(Op::ExecutionMode | Op::ExecutionModeId) => {
                modes.entry(inst.id(0)?).or_default().push(inst)
            }
            Some(Op::Variable) => {
                let class = storage_class(inst, inst.operand(0)?)?;
                if let Some((id, pointer_type)) = inst.result().zip(inst.result_type()) {
                    self.variables.push(Variable {
                        id,
                        pointer_type,
                        class,
                        initializer: inst.operands().get(1).copied().map(Id),
                        inst,
                    });
                }
            }
            Some(op) if has_value(op) => self.constants.push(inst),
            None if grammar::shape(inst.opcode()).is_unknown() => return Err(unknown(inst)),
            // constants are evaluated later, debug information is read when it is asked for
            _ => stands_outside(self.module, inst)?,
        }
        Ok(())
    }

    /// Gives every entry point the modes of its function. Many entry points may share one function:
    /// the copies are bounded.
    fn distribute_modes(&mut self, modes: &BTreeMap<Id, Vec<Inst<'m>>>, report: &mut Report<'_>) {
        let mut left = 4 * self.module.words().len();
        for entry in &mut self.entry_points {
            let Some(list) = modes.get(&entry.function) else {
                continue;
            };
            let Some(rest) = left.checked_sub(list.len()) else {
                report.push(
                    Diagnostic::error(
                        Code::TooManyDecorations,
                        "entry points share too many execution modes",
                    )
                    .at_word(entry.inst.offset),
                );
                return;
            };
            left = rest;
            entry.modes.clone_from(list);
        }
    }

    /// Whether `inst` is a printf of OpenCL.std: it writes memory that no operand points to, and
    /// its result is no function of its operands.
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

    fn check_entry_points(&self, report: &mut Report<'_>) {
        for entry in &self.entry_points {
            if self.function(entry.function).is_none() && self.module.def(entry.function).is_some()
            {
                let message = format!(
                    "the entry point {:?} names {}, which is not a function",
                    entry.name, entry.function
                );
                report.push(
                    Diagnostic::error(Code::WrongDefinition, message).at_word(entry.inst.offset),
                );
            }
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

    /// The declarations of types that [`Type::Other`] stands for and whose opcode is one of `ops`.
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

    /// Whether capability `capability` is declared.
    pub fn has_capability(&self, capability: spirv::Capability) -> bool {
        self.capabilities
            .iter()
            .any(|(number, _)| *number == capability as u32)
    }

    /// How the module spells the split-barrier extension.
    pub fn spelling(&self) -> Spelling {
        if self
            .extensions
            .iter()
            .any(|e| e == "SPV_INTEL_split_barrier")
        {
            Spelling::Intel
        } else {
            Spelling::Ext
        }
    }

    /// The name of an instruction as this module spells it: as [`Inst::name`], with INTEL for EXT
    /// in the split-barrier instructions of a module that declares SPV_INTEL_split_barrier.
    pub fn op_name(&self, inst: Inst<'_>) -> String {
        match (inst.opcode(), self.spelling()) {
            (6142, Spelling::Intel) => "OpControlBarrierArriveINTEL".to_owned(),
            (6143, Spelling::Intel) => "OpControlBarrierWaitINTEL".to_owned(),
            _ => inst.name(), // one spelling
        }
    }
}

fn ext_inst_set(inst: Inst<'_>) -> ExtInstSet {
    use super::ext::ExtSet;
    match ExtSet::named(inst.operands()) {
        ExtSet::Glsl450 => ExtInstSet::Glsl450,
        ExtSet::OpenCl => ExtInstSet::OpenCl,
        ExtSet::Amd => ExtInstSet::Amd(inst.string(0)),
        ExtSet::NonSemantic | ExtSet::OpenClDebugInfo | ExtSet::DebugInfo => {
            ExtInstSet::NonSemantic
        }
        ExtSet::Unknown => ExtInstSet::Other(inst.string(0)),
    }
}

fn entry_point(inst: Inst<'_>) -> Result<EntryPoint<'_>, Diagnostic> {
    let (name, len) = literal_string(inst.operands().get(2..).unwrap_or(&[]));
    let interface = inst
        .operands()
        .get(2 + len..)
        .unwrap_or(&[])
        .iter()
        .copied()
        .map(Id)
        .collect();
    Ok(EntryPoint {
        model: spirv::ExecutionModel::from_u32(inst.operand(0)?),
        function: inst.id(1)?,
        name,
        interface,
        modes: Vec::new(),
        inst,
    })
}

/// The problem with an instruction that no table knows: what it defines or changes cannot be said.
pub(super) fn unknown(inst: Inst<'_>) -> Diagnostic {
    Diagnostic::error(
        Code::UnsupportedInstruction,
        format!(
            "{} is not an instruction that this build knows",
            inst.name()
        ),
    )
    .at_word(inst.offset)
}
