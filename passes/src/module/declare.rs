//! Decodes the declarations of a module.

use super::constant::has_value;
use super::declarations::{Declarations, EntryPoint, ExtInstSet, Variable};
use super::decorations::Decorations;
use super::functions::{FunctionReader, stands_outside};
use super::grammar;
use super::id_map::IdMap;
use super::names::Names;
use super::report::Report;
use super::signatures;
use super::strings::literal_string;
use super::types::{Types, is_type, storage_class};
use super::uses;
use super::uses::unknown;
use super::{Id, Inst, Module};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, WordOffset};
use spirv::Op;
use std::collections::BTreeMap;

impl<'m> Declarations<'m> {
    /// Decodes the declarations of a module that the compiler step `step` (`inlining`) has written.
    ///
    /// # Errors
    /// The problems of the module, and a bug report for the step.
    pub fn of_made(module: &'m Module<'m>, step: &str) -> Result<Declarations<'m>, Diagnostics> {
        let mut found = Diagnostics::new();
        let declarations = Declarations::new(module, &mut found);
        if found.has_errors() {
            let message = format!("the module after {step} cannot be read");
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
    pub fn new(module: &'m Module<'m>, diagnostics: &mut Diagnostics) -> Declarations<'m> {
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
                        "the entry points have too many execution modes",
                    )
                    .at_word(entry.inst.offset),
                );
                return;
            };
            left = rest;
            entry.modes.clone_from(list);
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
