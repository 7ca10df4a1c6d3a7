//! Diagnostics: a message, its place, its reasons and help. They are collected during the work and
//! rendered at the end.

mod code;
mod fix;
pub mod json;
mod kind;
mod line_column;
mod place;
mod subject;
pub mod text;
mod word;

pub use code::Code;
pub use fix::{Change, Edit, Fix, Help};
pub use kind::Kind;
pub use line_column::LineColumn;
pub use subject::Subject;
pub use word::WordOffset;

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The severity of a diagnostic.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// The operation cannot go on.
    Error,
    /// It can go on, but somebody should look.
    Warning,
    /// A fact worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// The place of a diagnostic in the module. Every known field is filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Offset of the instruction's first word, counted in words from the start of the module (the
    /// header is 0 to 4).
    pub word: Option<WordOffset>,
    /// The function's name (OpName) or `%id`.
    pub function: Option<String>,
    /// The block's label, `%id`.
    pub block: Option<String>,
    /// The instruction in the notation of the disassembler, on one line.
    pub instruction: Option<String>,
    /// The operand that the problem is about, counted from 0 without result type and result.
    pub operand: Option<u32>,
    /// The span of that operand in `instruction`.
    pub marked: Option<Span>,
    /// Source position from OpLine.
    pub source: Option<SourcePosition>,
}

/// A part of a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

/// A position in a source: from OpLine, from DebugLine, or in the assembly text of the module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourcePosition {
    /// File name (OpString).
    pub file: String,
    /// Line, 1-based.
    pub line: u32,
    /// Column, 1-based; 0 if the module has none, as with many compilers.
    pub column: u32,
    /// The end of the range, one column after its last character; `None` if the module gives only
    /// the start.
    pub end: Option<LineColumn>,
    /// The line itself, when the module carries its source (OpSource, DebugSource).
    pub text: Option<String>,
    /// The calls that the instruction was inlined through (DebugInlinedAt), the innermost first.
    pub inlined_at: Vec<SourcePosition>,
}

/// A place that an execution passes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WitnessStep {
    /// A sentence about this place.
    pub text: String,
    /// Word offset of the instruction.
    pub word: Option<WordOffset>,
    /// The instruction; [`crate::module::Declarations::locate`] fills it in.
    pub instruction: Option<String>,
    /// Its position in the source, filled in as the instruction.
    pub source: Option<SourcePosition>,
}

impl WitnessStep {
    /// A step at the instruction at `word`.
    pub fn at(word: WordOffset, text: impl Into<String>) -> Self {
        WitnessStep {
            text: text.into(),
            word: Some(word),
            ..WitnessStep::default()
        }
    }
}

impl From<String> for WitnessStep {
    fn from(text: String) -> Self {
        WitnessStep {
            text,
            ..WitnessStep::default()
        }
    }
}

/// An identifier of a rule of Vulkan's specification.
pub type Vuid = &'static str;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The place (boxed, so that a `Result` with a diagnostic stays small).
    pub location: Box<Location>,
    /// The severity of a diagnostic.
    pub severity: Severity,
    /// The stable code.
    pub code: Code,
    /// One sentence, no full stop.
    pub message: String,
    /// Why: a chain of reasons, outermost first.
    pub reasons: Vec<String>,
    /// The advice (boxed for the same reason as `location`).
    pub help: Option<Box<Help>>,
    /// The rule of Vulkan's specification that is broken, by its identifier (`VUID-...`).
    #[serde(deserialize_with = "interned")]
    pub vuid: Option<Vuid>,
    /// Places that an execution passes on its way to the problem, in their order.
    pub witness: Vec<WitnessStep>,
}

/// Reads an identifier. It is kept for as long as the process lives, once: there are only as many
/// as the specification has.
fn interned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'static str>, D::Error> {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Some(match known.get(text.as_str()) {
        Some(kept) => kept,
        None => {
            let kept: &'static str = Box::leak(text.into_boxed_str());
            known.insert(kept);
            kept
        }
    }))
}

impl Diagnostic {
    /// An error with `code` and `message` at no place yet.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            location: Box::default(),
            severity: Severity::Error,
            code,
            message: message.into(),
            reasons: Vec::new(),
            help: None,
            vuid: None,
            witness: Vec::new(),
        }
    }

    /// An `Internal` error: `message` names the broken invariant.
    pub fn bug(message: impl Into<String>) -> Self {
        Diagnostic::error(Code::Internal, message).help("please report this with the module")
    }

    /// A warning with `code` and `message` at no place yet.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, message)
        }
    }

    /// Places it at the instruction that starts at `word`, or nowhere without one;
    /// [`crate::module::Declarations::locate`] fills in the rest.
    #[must_use]
    pub fn at_word(mut self, word: impl Into<Option<WordOffset>>) -> Self {
        self.location.word = word.into();
        self
    }

    /// Says which operand of the instruction it is about, counted from 0 without result type and
    /// result.
    #[must_use]
    pub fn at_operand(mut self, operand: usize) -> Self {
        self.location.operand = u32::try_from(operand).ok();
        self
    }

    /// Adds a reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    /// A note with `code` and `message` at no place yet.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Note,
            ..Diagnostic::error(code, message)
        }
    }

    /// Names the rule of Vulkan's specification that is broken.
    #[must_use]
    pub fn vuid(mut self, vuid: &'static str) -> Self {
        self.vuid = Some(vuid);
        self
    }

    /// Adds a place to the path that an execution takes to the problem.
    #[must_use]
    pub fn passing(mut self, place: impl Into<WitnessStep>) -> Self {
        self.witness.push(place.into());
        self
    }

    /// Sets the text of the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.get_or_insert_default().text = help.into();
        self
    }

    /// Adds a change of the module that removes the problem. Without other advice, the change is
    /// the advice.
    #[must_use]
    pub fn fix(mut self, change: Change) -> Self {
        let help = self.help.get_or_insert_with(|| {
            Box::new(Help {
                text: change.to_string(),
                fixes: Vec::new(),
            })
        });
        help.fixes.push(Fix::new(change));
        self
    }

    /// Adds a fix for each of `values`: the operand of the location becomes a constant with it.
    #[must_use]
    pub fn set_to(self, values: impl IntoIterator<Item = u32>) -> Self {
        values.into_iter().fold(self, |problem, value| {
            problem.fix(Change::SetOperand { value })
        })
    }

    /// Adds the declarations that are missing as a fix.
    #[must_use]
    pub fn declare(self, capability: Option<&str>, extension: Option<&str>) -> Self {
        self.fix(Change::Declare {
            capability: capability.map(str::to_owned),
            extension: extension.map(str::to_owned),
        })
    }

    /// The text of the advice.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_ref().map(|help| help.text.as_str())
    }

    /// The fixes, in order of preference.
    pub fn fixes(&self) -> &[Fix] {
        self.help.as_ref().map_or(&[], |help| &help.fixes)
    }
}

/// Problems of one run: collected while the work goes on, sorted and rendered at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }
    /// Adds all of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }
    /// All of them, in the order of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }
    /// All of them, to change (for example to fill in locations).
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Diagnostic> {
        self.0.iter_mut()
    }
    /// The number of diagnostics.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Returns true if nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Returns true if an error is among them.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }
    /// The errors among them, in the same order.
    #[must_use]
    pub fn errors(mut self) -> Self {
        self.0.retain(|d| d.severity == Severity::Error);
        self
    }
    /// The same at other places, those on the way to a problem too: `place` gives the new word of
    /// each, or `None` for nowhere.
    #[must_use]
    pub fn moved(mut self, place: impl Fn(WordOffset) -> Option<WordOffset>) -> Self {
        for problem in &mut self.0 {
            let passed = problem.witness.iter_mut().map(|step| &mut step.word);
            for word in passed.chain([&mut problem.location.word]) {
                *word = word.and_then(&place);
            }
        }
        self
    }
    /// Sorted by place, then severity and code; repeats removed.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.0.sort();
        self.0.dedup();
        self
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(problems: I) -> Self {
        Diagnostics(problems.into_iter().collect())
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic])
    }
}

impl From<Box<Diagnostic>> for Diagnostics {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        Diagnostics::from(*diagnostic)
    }
}

impl fmt::Display for Diagnostics {
    /// A line for each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for d in &self.0 {
            writeln!(f, "{d}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl fmt::Display for Diagnostic {
    /// Code and message; [`text::render`] shows the rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_goes_by_place_and_drops_repeats() {
        let mut problems = Diagnostics::new();
        for word in [9, 3, 9] {
            problems.push(Diagnostic::error(Code::ZeroId, "zero").at_word(WordOffset::new(word)));
        }
        let places: Vec<Option<u32>> = problems
            .sorted()
            .iter()
            .map(|problem| problem.location.word.map(WordOffset::get))
            .collect();
        assert_eq!(places, [Some(3), Some(9)]);
    }

    #[test]
    fn places_on_the_way_move_with_the_problem() {
        let step = |word| WitnessStep::at(WordOffset::new(word), "passed");
        let problem = Diagnostic::bug("late").at_word(WordOffset::new(9));
        let problems = Diagnostics::from(problem.passing(step(5)).passing(step(7)));
        let moved =
            problems.moved(|word| (word.get() != 7).then(|| WordOffset::new(word.get() + 1)));
        let words: Vec<Option<u32>> = moved
            .iter()
            .flat_map(|problem| {
                let passed = problem.witness.iter().map(|step| step.word);
                passed.chain([problem.location.word])
            })
            .map(|word| word.map(WordOffset::get))
            .collect();
        assert_eq!(words, [Some(6), None, Some(10)]);
    }

    #[test]
    fn numbers_of_codes_rise_and_are_never_given_twice() {
        assert!(
            Code::ALL
                .windows(2)
                .all(|pair| matches!(pair, [a, b] if a.number() < b.number()))
        );
    }

    #[test]
    fn a_result_with_a_diagnostic_stays_small() {
        assert!(size_of::<Diagnostic>() <= 128);
    }
}
