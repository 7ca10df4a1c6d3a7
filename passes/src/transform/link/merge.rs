//! One set of ids for all modules.
//!
//! Every id gets a new one. Types must not stand twice in a module (SPIR-V 1.6, section 2.8), and a
//! call needs the callee's own types: so a type, constant or imported instruction set that an
//! earlier module declares with the same operands and decorations gets the id that it has there.

use super::super::rewrite::instruction;
use super::sections::{SECTIONS, Section, section};
use super::symbols::{Symbol, Symbols};
use super::{conflict, sections};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Declarations, Inst, Module};
use spirv::Op;
use std::collections::{BTreeSet, HashMap};

/// The first word of a module.
const MAGIC: u32 = 0x0723_0203;

/// Words that a linked module may have: 64 MiB.
const MAX_WORDS: usize = 1 << 24;

type Words = Vec<u32>;

/// One of the modules.
struct Unit<'u, 'm> {
    declarations: &'u Declarations<'m>,
    /// New ids, by old id.
    ids: HashMap<u32, u32>,
    /// What is said about each id: annotations, without the id itself.
    annotations: HashMap<u32, Vec<Inst<'m>>>,
    /// Old ids that are decorated by groups.
    grouped: BTreeSet<u32>,
    /// Old ids that the new module does not declare from this one.
    gone: BTreeSet<u32>,
}

/// The module that is being made.
pub(super) struct Merge<'u, 'm> {
    units: Vec<Unit<'u, 'm>>,
    symbols: &'u Symbols,
    sections: [Words; SECTIONS],
    /// Words that stand once: capabilities, extensions, and declarations with 0 for the result and
    /// what is said about it.
    known: HashMap<(Words, Vec<Words>), u32>,
    next: u32,
    version: u32,
}

/// Returns true if an equal declaration of another module can stand in.
fn is_shared(op: Op) -> bool {
    op.is_type()
        || matches!(
            op,
            Op::ExtInstImport
                | Op::Constant
                | Op::ConstantTrue
                | Op::ConstantFalse
                | Op::ConstantNull
                | Op::ConstantComposite
        )
}

/// A name or annotation whose first operand is the id that it is about.
fn is_about_one(op: Op) -> bool {
    matches!(
        op,
        Op::Decorate
            | Op::DecorateId
            | Op::DecorateString
            | Op::MemberDecorate
            | Op::MemberDecorateString
            | Op::Name
            | Op::MemberName
    )
}

impl<'u, 'm> Merge<'u, 'm> {
    pub(super) fn new(units: &'u [Declarations<'m>], symbols: &'u Symbols) -> Self {
        let mut merge = Merge {
            units: units.iter().map(Unit::new).collect(),
            symbols,
            sections: Default::default(),
            known: HashMap::new(),
            next: 1,
            version: units
                .iter()
                .map(|unit| unit.module.header().version)
                .max()
                .unwrap_or(0), // no modules: `link` has refused that
        };
        for (replaced, by) in &symbols.replaced {
            let id = merge.id(by.unit, by.id.0);
            if let Some(unit) = merge.units.get_mut(replaced.unit) {
                unit.ids.insert(replaced.id.0, id);
                unit.gone.insert(replaced.id.0);
                // What stands inside of the function goes with it.
                let function = unit.declarations.function(replaced.id);
                let inside = function.into_iter().flat_map(|f| {
                    let blocks = f.blocks.iter();
                    let results = blocks.flat_map(|b| {
                        let insts = b.insts.iter().filter_map(|inst| inst.result());
                        insts.chain([b.label])
                    });
                    results.chain(f.params.iter().map(|(id, _)| *id))
                });
                unit.gone.extend(inside.map(|id| id.0));
            }
        }
        merge
    }

    /// The new id of `old`.
    fn id(&mut self, unit: usize, old: u32) -> u32 {
        let Some(unit) = self.units.get_mut(unit) else {
            return 0;
        };
        *unit.ids.entry(old).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// The words of `inst` with new ids, and 0 in word `but`.
    fn renamed(
        &mut self,
        unit: usize,
        inst: Inst<'m>,
        but: Option<usize>,
    ) -> Result<Words, Diagnostic> {
        if inst.op().is_none() && inst.result().is_none() && !inst.operands().is_empty() {
            return Err(Diagnostic::error(
                Code::UnsupportedInstruction,
                format!("{} of module {} cannot be linked", inst.name(), unit + 1),
            )
            .because("the operands of this opcode are unknown, so its ids cannot be renumbered"));
        }
        let mut words = inst.words.to_vec();
        let Some(module) = self.units.get(unit).map(|u| u.declarations.module) else {
            return Ok(words);
        };
        for (index, old) in module.ids(inst) {
            let new = if but == Some(index) {
                0
            } else {
                self.id(unit, old.0)
            };
            if let Some(word) = words.get_mut(index) {
                *word = new;
            }
        }
        Ok(words)
    }

    fn write(&mut self, section: Section, words: &[u32]) -> Result<(), Diagnostic> {
        let total: usize = self.sections.iter().map(Vec::len).sum();
        if total + words.len() > MAX_WORDS {
            return Err(Diagnostic::error(
                Code::ModuleTooLarge,
                format!("the linked module has more than {MAX_WORDS} words"),
            ));
        }
        if let Some(place) = self.sections.get_mut(section as usize) {
            place.extend_from_slice(words);
        }
        Ok(())
    }

    /// Writes what stands before the functions of module `unit`.
    pub(super) fn globals(&mut self, unit: usize) -> Result<(), Diagnostic> {
        let Some(module) = self.units.get(unit).map(|u| u.declarations.module) else {
            return Ok(());
        };
        let globals: Vec<Inst<'m>> = module
            .instructions()
            .take_while(|inst| inst.op() != Some(Op::Function))
            .collect();
        // Declarations first: which of them are shared decides what is said about them.
        for inst in globals.iter().copied() {
            if matches!(section(inst.op()), Section::Globals | Section::Imports) {
                self.declare(unit, inst)?;
            }
        }
        for inst in globals {
            let section = section(inst.op());
            match section {
                Section::Globals | Section::Imports => {}
                Section::Capabilities | Section::Extensions => {
                    let key = (inst.words.to_vec(), Vec::new());
                    if self.known.insert(key, 0).is_none() {
                        self.write(section, inst.words)?;
                    }
                }
                Section::MemoryModel => {
                    if self
                        .sections
                        .get(section as usize)
                        .is_some_and(Vec::is_empty)
                    {
                        self.write(section, inst.words)?;
                    }
                }
                Section::Names | Section::Annotations if self.is_gone(unit, inst) => {}
                Section::Annotations if inst.op() == Some(Op::GroupDecorate) => {
                    let words = self.group(unit, inst)?;
                    self.write(section, &words)?;
                }
                Section::EntryPoints
                | Section::Modes
                | Section::Strings
                | Section::Names
                | Section::Processed
                | Section::Annotations
                | Section::Declared
                | Section::Defined => {
                    let words = self.renamed(unit, inst, None)?;
                    self.write(section, &words)?;
                }
            }
        }
        Ok(())
    }

    /// Returns true if `inst` speaks of an id that the new module does not declare from this one.
    fn is_gone(&self, unit: usize, inst: Inst<'_>) -> bool {
        let gone = |id: &u32| {
            self.units
                .get(unit)
                .is_some_and(|unit| unit.gone.contains(id))
        };
        inst.op().is_some_and(is_about_one) && inst.operands().first().is_some_and(gone)
    }

    /// An OpGroupDecorate without the targets that the new module does not declare.
    fn group(&mut self, unit: usize, inst: Inst<'m>) -> Result<Words, Diagnostic> {
        let mut operands: Words = Vec::new();
        for (index, old) in inst.operands().iter().enumerate() {
            let gone = self.units.get(unit).is_some_and(|u| u.gone.contains(old));
            if index == 0 || !gone {
                operands.push(self.id(unit, *old));
            }
        }
        instruction(Op::GroupDecorate, &operands)
    }

    /// Writes a declaration, unless an equal one stands already.
    fn declare(&mut self, unit: usize, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let place = sections::section(inst.op());
        let Some(old) = inst.result() else {
            let words = self.renamed(unit, inst, None)?;
            return self.write(place, &words);
        };
        let Some(state) = self.units.get(unit) else {
            return Ok(());
        };
        if state.gone.contains(&old.0) {
            return Ok(());
        }
        // One that has an id was declared before its definition.
        let is_new = !state.ids.contains_key(&old.0) && !state.grouped.contains(&old.0);
        if !is_new || !inst.op().is_some_and(is_shared) {
            let words = self.renamed(unit, inst, None)?;
            return self.write(place, &words);
        }
        let result = 1 + usize::from(inst.result_type().is_some());
        let mut words = self.renamed(unit, inst, Some(result))?;
        let key = (words.clone(), self.said(unit, old.0)?);
        if let Some(id) = self.known.get(&key).copied() {
            if let Some(state) = self.units.get_mut(unit) {
                state.ids.insert(old.0, id);
                state.gone.insert(old.0);
            }
            return Ok(());
        }
        let id = self.id(unit, old.0);
        self.known.insert(key, id);
        if let Some(word) = words.get_mut(result) {
            *word = id;
        }
        self.write(place, &words)
    }

    /// What is said about the id `old`, its own number left out, in a fixed order; empty when it
    /// has no decorations.
    fn said(&mut self, unit: usize, old: u32) -> Result<Vec<Words>, Diagnostic> {
        let about = self.units.get(unit).and_then(|u| u.annotations.get(&old));
        let about = about.cloned().unwrap_or_default();
        let mut said = Vec::new();
        for annotation in about {
            said.push(self.renamed(unit, annotation, Some(1))?);
        }
        said.sort_unstable();
        Ok(said)
    }

    /// Writes the functions of module `unit`, but those that another module's stand in for.
    pub(super) fn functions(&mut self, unit: usize) -> Result<(), Diagnostic> {
        let Some(module) = self.units.get(unit).map(|u| u.declarations.module) else {
            return Ok(());
        };
        let functions = module
            .instructions()
            .skip_while(|inst| inst.op() != Some(Op::Function));
        let (mut words, mut goes, mut section) = (Vec::new(), false, Section::Declared);
        for inst in functions {
            if inst.op() == Some(Op::Function) {
                section = Section::Declared;
                goes = inst.result().is_some_and(|id| {
                    let state = self.units.get(unit);
                    state.is_some_and(|state| state.gone.contains(&id.0))
                });
            }
            if goes {
                continue;
            }
            if inst.op() == Some(Op::Label) {
                section = Section::Defined;
            }
            words.extend(self.renamed(unit, inst, None)?);
            if inst.op() == Some(Op::FunctionEnd) {
                self.write(section, &words)?;
                words.clear();
            }
        }
        // What follows the last function, such as a line.
        self.write(section, &words)
    }

    /// An import must have the type of what stands in for it.
    pub(super) fn check_types(&self, diagnostics: &mut Diagnostics) {
        for (replaced, by) in &self.symbols.replaced {
            if self.type_of(*replaced) != self.type_of(*by) {
                let name = self.symbols.names.get(by).map_or("", String::as_str);
                diagnostics.push(
                    conflict(format!(
                        "the type of {name} in module {} is not the type of its definition in module {}",
                        replaced.unit + 1,
                        by.unit + 1
                    ))
                    .help("use the same declaration in both"),
                );
            }
        }
    }

    /// The opcode that declares a function or variable, and its type in the new module.
    fn type_of(&self, symbol: Symbol) -> Option<(u16, u32)> {
        let unit = self.units.get(symbol.unit)?;
        let inst = unit.declarations.module.def(symbol.id)?;
        let ty = match inst.op() {
            Some(Op::Function) => inst.id(1).ok()?,
            _ => inst.result_type()?,
        };
        Some((inst.opcode(), *unit.ids.get(&ty.0)?))
    }

    /// The linked module.
    pub(super) fn finish(self) -> Result<Module<'static>, Diagnostics> {
        let mut words = vec![MAGIC, self.version, 0, self.next, 0];
        for section in &self.sections {
            words.extend_from_slice(section);
        }
        Module::from_words(words)
    }
}

impl<'u, 'm> Unit<'u, 'm> {
    fn new(declarations: &'u Declarations<'m>) -> Self {
        let mut unit = Unit {
            declarations,
            ids: HashMap::new(),
            annotations: HashMap::new(),
            grouped: BTreeSet::new(),
            gone: BTreeSet::new(),
        };
        for inst in declarations.module.instructions() {
            match inst.op() {
                Some(Op::Function) => break,
                Some(Op::GroupDecorate | Op::GroupMemberDecorate) => {
                    unit.grouped.extend(inst.operands().iter().skip(1));
                }
                Some(op) if is_about_one(op) && !matches!(op, Op::Name | Op::MemberName) => {
                    if let Some(target) = inst.operands().first() {
                        unit.annotations.entry(*target).or_default().push(inst);
                    }
                }
                _ => {} // neither an annotation nor a group of them
            }
        }
        unit
    }
}
