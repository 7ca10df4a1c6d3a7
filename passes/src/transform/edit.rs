//! Changes to a module by places: insertions before and after instructions of the old module,
//! replacements, and additions to its sections.
//!
//! A pass notes changes in any order; [`Edit::finish`] writes the new module in one walk and says
//! `None` when its words are those of the old one.

use super::rewrite::{RewrittenModule, Writer, instruction, numbered};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Declarations, EntryPoint, Id, Inst, Module, WordOffset};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// An instruction's words.
type Words = Vec<u32>;

/// Changes of one module.
pub(super) struct Edit<'d, 'm> {
    pub(super) declarations: &'d Declarations<'m>,
    writer: Writer,
    /// With the instruction that each stands in for.
    before: BTreeMap<WordOffset, Vec<(WordOffset, Words)>>,
    after: BTreeMap<WordOffset, Vec<Words>>,
    /// `None`: the instruction goes.
    instead: BTreeMap<WordOffset, Option<Words>>,
    capabilities: Vec<Words>,
    extensions: Vec<Words>,
    names: Vec<Words>,
    annotations: Vec<Words>,
    globals: Vec<Words>,
    functions: Vec<Words>,
    /// Types and constants that can be used again: words with a zero for the result.
    known: BTreeMap<Words, Id>,
}

/// Where sections of the old module end: the offset of the first instruction behind them; `None` at
/// the end of the module.
#[derive(Default)]
struct Sections {
    capabilities: Option<WordOffset>,
    extensions: Option<WordOffset>,
    names: Option<WordOffset>,
    annotations: Option<WordOffset>,
    globals: Option<WordOffset>,
}

impl<'d, 'm> Edit<'d, 'm> {
    pub(super) fn new(declarations: &'d Declarations<'m>) -> Self {
        let mut known = BTreeMap::new();
        for inst in declarations.module.instructions() {
            if inst.op() == Some(Op::Function) {
                break;
            }
            if is_unique(inst.op())
                && let Some(id) = inst.result()
            {
                known.entry(nameless(inst)).or_insert(id);
            }
        }
        Edit {
            declarations,
            writer: Writer::new(declarations.module),
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            instead: BTreeMap::new(),
            capabilities: Vec::new(),
            extensions: Vec::new(),
            names: Vec::new(),
            annotations: Vec::new(),
            globals: Vec::new(),
            functions: Vec::new(),
            known,
        }
    }

    pub(super) fn module(&self) -> &'m Module<'m> {
        self.declarations.module
    }

    /// An id that nothing has yet.
    pub(super) fn fresh(&mut self) -> Result<u32, Diagnostic> {
        Ok(self.writer.fresh()?.0)
    }

    /// Puts an instruction before the one at `offset`; several come in the order of the calls.
    pub(super) fn before(
        &mut self,
        offset: WordOffset,
        op: Op,
        operands: &[u32],
    ) -> Result<(), Diagnostic> {
        self.before_from(offset, offset, op, operands)
    }

    /// As [`Edit::before`], for an opcode that the `spirv` crate has no name for.
    pub(super) fn before_numbered(
        &mut self,
        offset: WordOffset,
        opcode: u16,
        operands: &[u32],
    ) -> Result<(), Diagnostic> {
        let words = numbered(opcode.into(), operands)?;
        self.before.entry(offset).or_default().push((offset, words));
        Ok(())
    }

    /// As [`Edit::before`], for an instruction that comes from the one at `origin`.
    pub(super) fn before_from(
        &mut self,
        offset: WordOffset,
        origin: WordOffset,
        op: Op,
        operands: &[u32],
    ) -> Result<(), Diagnostic> {
        let words = instruction(op, operands)?;
        let before = self.before.entry(offset).or_default();
        before.push((origin, words));
        Ok(())
    }

    /// As [`Edit::before`], behind it.
    pub(super) fn after(
        &mut self,
        offset: WordOffset,
        op: Op,
        operands: &[u32],
    ) -> Result<(), Diagnostic> {
        let words = instruction(op, operands)?;
        self.after.entry(offset).or_default().push(words);
        Ok(())
    }

    /// Puts an instruction in the place of the one at `offset`.
    pub(super) fn replace(
        &mut self,
        offset: WordOffset,
        op: Op,
        operands: &[u32],
    ) -> Result<(), Diagnostic> {
        let words = instruction(op, operands)?;
        self.instead.insert(offset, Some(words));
        Ok(())
    }

    /// Takes the instruction at `offset` away.
    pub(super) fn remove(&mut self, offset: WordOffset) {
        self.instead.insert(offset, None);
    }

    /// Returns true if an instruction goes.
    pub(super) fn is_removed(&self, offset: WordOffset) -> bool {
        self.instead.get(&offset).is_some_and(Option::is_none)
    }

    /// An instruction of the old module as it is in the new one, if it stays.
    pub(super) fn current<'i>(&'i self, inst: Inst<'i>) -> Option<Inst<'i>> {
        match self.instead.get(&inst.offset) {
            None => Some(inst),
            Some(instead) => instead.as_deref().map(|words| Inst {
                offset: inst.offset,
                words,
            }),
        }
    }

    /// Declares a capability.
    pub(super) fn capability(&mut self, number: u32) -> Result<(), Diagnostic> {
        self.capabilities
            .push(instruction(Op::Capability, &[number])?);
        Ok(())
    }

    /// Declares an extension.
    pub(super) fn extension(&mut self, name: &str) -> Result<(), Diagnostic> {
        self.extensions
            .push(instruction(Op::Extension, &string(name))?);
        Ok(())
    }

    /// Imports a set of extended instructions: its id. To be called after [`Edit::extension`].
    pub(super) fn import(&mut self, name: &str) -> Result<u32, Diagnostic> {
        let id = self.fresh()?;
        let mut operands = vec![id];
        operands.extend(string(name));
        // Imports follow the extensions (SPIR-V 2.4).
        self.extensions
            .push(instruction(Op::ExtInstImport, &operands)?);
        Ok(id)
    }

    /// Adds a decoration.
    pub(super) fn annotation(&mut self, op: Op, operands: &[u32]) -> Result<(), Diagnostic> {
        self.annotations.push(instruction(op, operands)?);
        Ok(())
    }

    /// Gives an id a name: the id and the words of the string.
    pub(super) fn annotation_name(&mut self, operands: &[u32]) -> Result<(), Diagnostic> {
        self.names.push(instruction(Op::Name, operands)?);
        Ok(())
    }

    /// The id of a type (operands without the result) that the module has already, or that is added
    /// to it.
    pub(super) fn type_of(&mut self, op: Op, operands: &[u32]) -> Result<u32, Diagnostic> {
        let mut all = vec![0];
        all.extend(operands);
        self.global(op, &all, 0)
    }

    /// The id of a constant of type `ty`, as [`Edit::type_of`].
    pub(super) fn constant(
        &mut self,
        op: Op,
        ty: u32,
        operands: &[u32],
    ) -> Result<u32, Diagnostic> {
        let mut all = vec![ty, 0];
        all.extend(operands);
        self.global(op, &all, 1)
    }

    /// OpTypeInt 32 0.
    pub(super) fn uint(&mut self) -> Result<u32, Diagnostic> {
        self.type_of(Op::TypeInt, &[32, 0])
    }

    /// A constant of [`Edit::uint`].
    pub(super) fn number(&mut self, value: u32) -> Result<u32, Diagnostic> {
        let uint = self.uint()?;
        self.constant(Op::Constant, uint, &[value])
    }

    /// A module-scope instruction with a result of its own: `operands` has a 0 in the place of the
    /// result, which is index `result`.
    pub(super) fn global(
        &mut self,
        op: Op,
        operands: &[u32],
        result: usize,
    ) -> Result<u32, Diagnostic> {
        let mut words = instruction(op, operands)?;
        if is_unique(Some(op))
            && let Some(id) = self.known.get(&words)
        {
            return Ok(id.0);
        }
        let id = self.fresh()?;
        if is_unique(Some(op)) {
            self.known.insert(words.clone(), Id(id));
        }
        if let Some(slot) = words.get_mut(result + 1) {
            *slot = id;
        }
        self.globals.push(words);
        Ok(id)
    }

    /// A module-scope instruction under an id that the module has: the old one is to be removed.
    pub(super) fn declare(&mut self, op: Op, operands: &[u32]) -> Result<(), Diagnostic> {
        self.globals.push(instruction(op, operands)?);
        Ok(())
    }

    /// Adds an instruction to the functions at the end of the module.
    pub(super) fn function(&mut self, op: Op, operands: &[u32]) -> Result<(), Diagnostic> {
        self.functions.push(instruction(op, operands)?);
        Ok(())
    }

    /// The new module; `None` when it is the old one.
    pub(super) fn finish(mut self) -> Result<Option<RewrittenModule>, Diagnostics> {
        let module = self.declarations.module;
        let sections = sections(module);
        let mut last = WordOffset::FIRST;
        for inst in module.instructions() {
            let at = inst.offset;
            let here = |end: Option<WordOffset>| end == Some(at);
            let mut write = |list: &[Words]| {
                list.iter()
                    .try_for_each(|words| self.writer.push(words, at))
            };
            for (end, list) in [
                (sections.capabilities, &self.capabilities),
                (sections.extensions, &self.extensions),
                (sections.names, &self.names),
                (sections.annotations, &self.annotations),
                (sections.globals, &self.globals),
            ] {
                if here(end) {
                    write(list)?;
                }
            }
            for (origin, words) in self.before.get(&at).into_iter().flatten() {
                self.writer.push(words, *origin)?;
            }
            match self.instead.get(&at) {
                None => self.writer.push(inst.words, at)?,
                Some(Some(words)) => self.writer.push(words, at)?,
                Some(None) => {}
            }
            for words in self.after.get(&at).into_iter().flatten() {
                self.writer.push(words, at)?;
            }
            last = at;
        }
        for (end, list) in [
            (sections.capabilities, &self.capabilities),
            (sections.extensions, &self.extensions),
            (sections.names, &self.names),
            (sections.annotations, &self.annotations),
            (sections.globals, &self.globals),
            (None, &self.functions),
        ] {
            if end.is_none() {
                list.iter()
                    .try_for_each(|words| self.writer.push(words, last))?;
            }
        }
        let edited = self.writer.finish()?;
        Ok((edited.module.words() != module.words()).then_some(edited))
    }
}

/// The literal string `text` as words: UTF-8, a zero byte, filled up to whole words (SPIR-V 2.2.1).
pub(super) fn string(text: &str) -> Words {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
        .chunks_exact(4)
        .filter_map(|chunk| chunk.try_into().ok())
        .map(u32::from_le_bytes)
        .collect()
}

/// The instructions that declare a capability and an extension, each where there is one.
pub(super) fn declaring<'m>(
    module: &'m Module<'_>,
    capability: u32,
    extension: &str,
) -> Vec<Inst<'m>> {
    let name = string(extension);
    module
        .instructions()
        .take_while(|inst| inst.op() != Some(Op::Function))
        .filter(|inst| match inst.op() {
            Some(Op::Capability) => inst.operands() == [capability],
            Some(Op::Extension) => inst.operands() == name,
            _ => false,
        })
        .collect()
}

/// Returns true if a second instruction like this would be forbidden (types, SPIR-V 2.8) or of no
/// use (constants).
fn is_unique(op: Option<Op>) -> bool {
    matches!(
        op,
        Some(
            Op::TypeVoid
                | Op::TypeBool
                | Op::TypeInt
                | Op::TypeVector
                | Op::TypePointer
                | Op::TypeFunction
                | Op::Constant
                | Op::ConstantTrue
                | Op::ConstantFalse
        )
    )
}

/// The words with a zero for the result.
fn nameless(inst: Inst<'_>) -> Words {
    let mut words = inst.words.to_vec();
    let at = if inst.result_type().is_some() { 2 } else { 1 };
    if let Some(slot) = words.get_mut(at) {
        *slot = 0;
    }
    words
}

/// Finds the ends of the sections (SPIR-V 2.4).
fn sections(module: &Module<'_>) -> Sections {
    let mut sections = Sections::default();
    for inst in module.instructions() {
        let op = inst.op();
        if op != Some(Op::Capability) {
            sections.capabilities.get_or_insert(inst.offset);
            if op != Some(Op::Extension) {
                sections.extensions.get_or_insert(inst.offset);
            }
        }
        if ends_annotations(inst)
            || op.is_some_and(spirv::Op::is_annotation)
            || op == Some(Op::ModuleProcessed)
        {
            sections.names.get_or_insert(inst.offset);
        }
        if ends_annotations(inst) {
            sections.annotations.get_or_insert(inst.offset);
        }
        if op == Some(Op::Function) {
            sections.globals = Some(inst.offset);
            break;
        }
    }
    sections
}

/// Returns true if `inst` belongs behind names and decorations.
fn ends_annotations(inst: Inst<'_>) -> bool {
    inst.op().is_some_and(|op| {
        op.is_type()
            || op.is_constant()
            || matches!(
                op,
                Op::Variable
                    | Op::UntypedVariableKHR
                    | Op::Undef
                    | Op::Function
                    | Op::Line
                    | Op::NoLine
                    | Op::ExtInst
            )
    })
}

/// Adds `more` to the interface of every entry point that does not list them.
pub(super) fn extend_interface(edit: &mut Edit<'_, '_>, more: &[u32]) -> Result<(), Diagnostic> {
    let declarations = edit.declarations;
    for entry in &declarations.entry_points {
        extend_interface_of(edit, entry, more)?;
    }
    Ok(())
}

/// Adds `more` to the interface of `entry`, as far as it does not list them.
pub(super) fn extend_interface_of(
    edit: &mut Edit<'_, '_>,
    entry: &EntryPoint<'_>,
    more: &[u32],
) -> Result<(), Diagnostic> {
    let listed: BTreeSet<u32> = entry.interface.iter().map(|id| id.0).collect();
    let mut operands = entry.inst.operands().to_vec();
    operands.extend(more.iter().filter(|id| !listed.contains(id)));
    edit.replace(entry.inst.offset, Op::EntryPoint, &operands)
}
