//! Every id that is used has a definition where the use can see it.

use super::declarations::Declarations;
use super::grammar;
use super::report::Report;
use super::{Id, Inst};
use crate::diagnostic::{Code, Diagnostic, WordOffset};
use spirv::Op;
use std::collections::BTreeSet;
use std::ops::Range;

const LABEL: u16 = Op::Label as u16;

const FUNCTION: u16 = Op::Function as u16;

/// Opcodes from here on belong to extensions.
const FIRST_OF_EXTENSIONS: u16 = 4096;

/// Reports every id that is used and has no definition in its function or outside of all of them,
/// and every result type that is not a type. Names and decorations may be left over from what was
/// removed.
pub(super) fn check(declarations: &Declarations<'_>, report: &mut Report<'_>) {
    let module = declarations.module;
    let first = declarations.functions.first();
    let mut uses = Uses {
        declarations,
        first: first.map_or(WordOffset::END, |function| function.offset),
        guessed: BTreeSet::new(),
    };
    let first = uses.first;
    let mut functions = declarations.functions.iter().peekable();
    for inst in module.instructions() {
        let shape = grammar::shape(inst.opcode());
        if shape.is_note {
            continue;
        }
        while functions
            .next_if(|function| function.end < inst.offset)
            .is_some()
        {}
        let function = functions
            .peek()
            .filter(|function| function.offset <= inst.offset);
        let own = function.map_or(Range::default(), |function| function.offset..function.end);
        // Nearly all ids are declarations, or values of the same function.
        let are_fine = module.all_ids(inst, |_, id| match module.definition(id) {
            Some(def) if def < first => true,
            Some(def) if own.contains(&def) => match module.opcode_at(def) {
                LABEL => shape.takes_labels,
                opcode => opcode != FUNCTION,
            },
            _ => false,
        });
        if !are_fine {
            uses.explain(inst, &own, report);
        }
        if shape.has_type
            && let Some(id) = inst.result_type()
            && let Some(def) = module.definition(id)
            && !grammar::shape(module.opcode_at(def)).is_type
        {
            report.push(not_a_type(inst, id, grammar::name(module.opcode_at(def))));
        }
        if report.is_full() {
            return;
        }
    }
}

/// What one run knows of the module.
struct Uses<'u, 'm> {
    declarations: &'u Declarations<'m>,
    /// Offset of the first function.
    first: WordOffset,
    /// Offsets of the instructions that were reported as unknown.
    guessed: BTreeSet<WordOffset>,
}

impl Uses<'_, '_> {
    /// Reports what is wrong with the ids of `inst`, an instruction of the function at the words
    /// `own` (none: of no function), if something is.
    #[cold]
    fn explain(&mut self, inst: Inst<'_>, own: &Range<WordOffset>, report: &mut Report<'_>) {
        for (_, id) in self.declarations.module.ids(inst) {
            if let Some(problem) = self.problem(inst, own, id) {
                report.push(problem);
            }
        }
    }

    fn problem(&mut self, inst: Inst<'_>, own: &Range<WordOffset>, id: Id) -> Option<Diagnostic> {
        let module = self.declarations.module;
        let wrong = match module.definition(id) {
            Some(def) if def < self.first => return None,
            None => match module.guess(id) {
                Some(guess) => return self.guessed.insert(guess.offset).then(|| unknown(guess)),
                None => "which is not defined",
            },
            Some(def) if self.is_elsewhere(def, own) => "which is defined in another function",
            Some(_) if own.is_empty() => return None,
            Some(def) => return misuse(inst, module.opcode_at(def), id),
        };
        let message = format!("{} uses {id}, {wrong}", inst.name());
        Some(Diagnostic::error(Code::UndefinedId, message).at_word(inst.offset))
    }

    /// Returns true if the instruction at word `def`, after the declarations, is not visible in the
    /// function at the words `own`.
    fn is_elsewhere(&self, def: WordOffset, own: &Range<WordOffset>) -> bool {
        !own.contains(&def)
            && self.declarations.function_at(def).map_or(
                // NonSemantic instructions may follow the last function
                // (SPV_KHR_non_semantic_info); only each other use them.
                !own.is_empty(),
                |function| function.offset != def,
            )
    }
}

/// The problem of `inst` in a body that names `id`, defined by the opcode `def`. Only branches,
/// merges and phis can name labels; only calls (and instructions that start kernels) can name
/// functions. Debug information and extensions have other uses.
fn misuse(inst: Inst<'_>, def: u16, id: Id) -> Option<Diagnostic> {
    let op = inst.op().filter(|op| *op != Op::ExtInst)?;
    let (what, fits) = match def {
        LABEL => ("a label", grammar::shape(inst.opcode()).takes_labels),
        FUNCTION => (
            "a function",
            matches!(op, Op::Function | Op::FunctionCall)
                || (Op::EnqueueMarker..=Op::BuildNDRange).contains(&op),
        ),
        _ => return None, // a value, a type, or something that others look at
    };
    (!fits && inst.opcode() < FIRST_OF_EXTENSIONS).then(|| {
        let message = format!("{} uses {id}, which is {what}", inst.name());
        Diagnostic::error(Code::WrongDefinition, message).at_word(inst.offset)
    })
}

#[cold]
fn not_a_type(inst: Inst<'_>, id: Id, defined_by: String) -> Diagnostic {
    let message = format!("the result type {id} of {} is not a type", inst.name());
    Diagnostic::error(Code::WrongDefinition, message)
        .at_word(inst.offset)
        .because(format!("{id} is defined by {defined_by}"))
}

/// The problem of an instruction that no table has, so its results and effects are unknown.
pub(super) fn unknown(inst: Inst<'_>) -> Diagnostic {
    Diagnostic::error(
        Code::UnsupportedInstruction,
        format!("{} is unknown to this build", inst.name()),
    )
    .at_word(inst.offset)
}
