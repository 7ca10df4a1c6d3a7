//! Diagnostics as JSON for programs: one object on each line.

use super::WordOffset;
use super::{Change, Diagnostic, Diagnostics, Fix, Location, SourcePosition, Subject, WitnessStep};
use serde::Serialize;

/// The keys, in the order in which they are written; none is ever left out.
#[derive(Serialize)]
struct Line<'d> {
    severity: String,
    code: String,
    /// The rule of Vulkan's specification behind it, by its identifier.
    vuid: Option<&'d str>,
    message: &'d str,
    /// The module.
    file: &'d str,
    /// The GPU, where there are several.
    target: Option<&'d str>,
    function: Option<&'d str>,
    block: Option<&'d str>,
    instruction: Option<&'d str>,
    word: Option<WordOffset>,
    operand: Option<u32>,
    /// The first byte, and the byte after the last.
    span: Option<[usize; 2]>,
    source: Option<Source<'d>>,
    reasons: &'d [String],
    help: Option<&'d str>,
    fixes: Vec<Repair<'d>>,
    witness: Vec<Passed<'d>>,
}

/// A position in the source as JSON has it everywhere.
#[derive(Clone, Debug, Serialize)]
pub struct Source<'d> {
    file: &'d str,
    line: u32,
    /// Counted from 1; null where it is not known.
    column: Option<u32>,
    /// The end of the range; neither is there if only the start is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    /// One after the last character.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u32>,
    text: Option<&'d str>,
    /// The calls that the instruction was inlined through, the innermost first; not there where
    /// there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inlined_at: Vec<Source<'d>>,
}

impl<'d> From<&'d SourcePosition> for Source<'d> {
    fn from(at: &'d SourcePosition) -> Self {
        Source {
            file: &at.file,
            line: at.line,
            column: at.shown_column(),
            end_line: at.end.map(|end| end.line),
            end_column: at.end.map(|end| end.column),
            text: at.text.as_deref(),
            inlined_at: at.inlined_at.iter().map(Source::from).collect(),
        }
    }
}

/// The place of an instruction as JSON has it everywhere.
#[derive(Clone, Debug, Serialize)]
pub struct Place<'d> {
    function: Option<&'d str>,
    block: Option<&'d str>,
    /// The SPIR-V instruction.
    spirv: Option<&'d str>,
    source: Option<Source<'d>>,
}

impl<'d> From<&'d Location> for Place<'d> {
    fn from(at: &'d Location) -> Self {
        Place {
            function: at.function.as_deref(),
            block: at.block.as_deref(),
            spirv: at.instruction.as_deref(),
            source: at.source.as_ref().map(Source::from),
        }
    }
}

/// A word of a module, and the place of its instruction.
#[derive(Clone, Debug, Serialize)]
pub struct WordPlace<'d> {
    /// The word.
    pub word: WordOffset,
    /// The place.
    #[serde(flatten)]
    pub place: Place<'d>,
}

/// A place that an execution passes on its way to the problem.
#[derive(Serialize)]
struct Passed<'d> {
    text: &'d str,
    word: Option<WordOffset>,
    instruction: Option<&'d str>,
    source: Option<Source<'d>>,
}

impl<'d> From<&'d WitnessStep> for Passed<'d> {
    fn from(place: &'d WitnessStep) -> Self {
        Passed {
            text: &place.text,
            word: place.word,
            instruction: place.instruction.as_deref(),
            source: place.source.as_ref().map(Source::from),
        }
    }
}

/// A change of the module that removes the problem.
#[derive(Serialize)]
struct Repair<'d> {
    /// The change as an instruction.
    text: String,
    #[serde(flatten)]
    action: Action<'d>,
    /// The edits of the assembly text; empty for a module in binary form.
    edits: Vec<Replacement<'d>>,
}

/// The change in the terms of SPIR-V.
#[derive(Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Action<'d> {
    SetOperand {
        value: u32,
    },
    Declare {
        capability: Option<&'d str>,
        extension: Option<&'d str>,
    },
}

/// A replacement in the assembly text.
#[derive(Serialize)]
struct Replacement<'d> {
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    text: &'d str,
}

impl<'d> From<&'d Fix> for Repair<'d> {
    fn from(fix: &'d Fix) -> Self {
        let edits = fix.edits.iter().map(|edit| Replacement {
            line: edit.start.line,
            column: edit.start.column,
            end_line: edit.end.line,
            end_column: edit.end.column,
            text: &edit.text,
        });
        Repair {
            text: fix.change.to_string(),
            action: match &fix.change {
                Change::SetOperand { value } => Action::SetOperand { value: *value },
                Change::Declare {
                    capability,
                    extension,
                } => Action::Declare {
                    capability: capability.as_deref(),
                    extension: extension.as_deref(),
                },
            },
            edits: edits.collect(),
        }
    }
}

impl<'d> Line<'d> {
    fn new(problem: &'d Diagnostic, of: Subject<'d>) -> Self {
        let location = &*problem.location;
        Line {
            severity: problem.severity.to_string(),
            code: problem.code.to_string(),
            vuid: problem.vuid,
            message: &problem.message,
            file: of.file,
            target: of.target,
            function: location.function.as_deref(),
            block: location.block.as_deref(),
            instruction: location.instruction.as_deref(),
            word: location.word,
            operand: location.operand,
            span: location.marked.map(|span| [span.start, span.end]),
            source: location.source.as_ref().map(Source::from),
            reasons: &problem.reasons,
            help: problem.help_text(),
            fixes: problem.fixes().iter().map(Repair::from).collect(),
            witness: problem.witness.iter().map(Passed::from).collect(),
        }
    }
}

/// All of `problems` of the module `of` in their order, each an object on a line of its own.
/// What is not known is `null`. The keys:
/// - `severity` ("error", "warning", "note"), `code`, `vuid`, `message`;
/// - `file`, `target`, `function`, `block`, `instruction`, `word`, `operand` (counted from 0
///   without result type and result), `span` (the operand in `instruction`: its first byte, and the
///   byte after its last);
/// - `source`: `file`, `line`, `column` (counted from 1), `end_line` and `end_column` (one after
///   the last character) if the end of the range is known, the line's `text` if the module
///   contains it, and `inlined_at`, the calls that it was inlined through;
/// - `reasons`, `help`, and `witness`, a list of `text`, `word`, `instruction` and
///   `source`;
/// - `fixes`, changes of the module each of which removes the problem: `text`, `action`
///   ("set_operand" with `value`; "declare" with `capability` and `extension`), and
///   `edits` of the assembly text: `line`, `column`, `end_line`, `end_column`, `text`.
pub fn render<'s>(problems: &Diagnostics, of: impl Into<Subject<'s>>) -> String {
    let of = of.into();
    let mut text = String::new();
    for problem in problems.iter() {
        // These types hold strings and numbers, which always serialize.
        text.extend(serde_json::to_string(&Line::new(problem, of)));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Code, Edit, LineColumn, Location, Span};
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_key_is_there() {
        let problem = Diagnostic::error(Code::ZeroId, "say \"no\"");
        let expected = r#"{"severity":"error","code":"SB0006","vuid":null,"message":"say \"no\"","file":"a.spv","target":null,"function":null,"block":null,"instruction":null,"word":null,"operand":null,"span":null,"source":null,"reasons":[],"help":null,"fixes":[],"witness":[]}"#;
        assert_eq!(render(&problem.into(), "a.spv"), format!("{expected}\n"));
    }

    /// Taken apart without `..`: a new field of a diagnostic asks for a place here.
    #[test]
    fn everything_is_carried() {
        let mut problem = Diagnostic::error(Code::ZeroId, "message")
            .at_word(WordOffset::new(7))
            .at_operand(2)
            .because("why")
            .vuid("VUID-x")
            .help("do this")
            .fix(Change::SetOperand { value: 260 })
            .declare(Some("Int64"), None)
            .passing(WitnessStep {
                text: "here".to_owned(),
                word: Some(WordOffset::new(9)),
                instruction: Some("OpNop".to_owned()),
                source: Some(SourcePosition {
                    file: "a.comp".to_owned(),
                    line: 2,
                    column: 1,
                    end: None,
                    text: None,
                    inlined_at: Vec::new(),
                }),
            });
        problem.location.function = Some("main".to_owned());
        problem.location.block = Some("%5".to_owned());
        problem.location.instruction = Some("OpStore %1 %2".to_owned());
        problem.location.marked = Some(Span { start: 11, end: 13 });
        problem.location.source = Some(SourcePosition {
            file: "a.comp".to_owned(),
            line: 3,
            column: 5,
            end: Some(LineColumn { line: 3, column: 9 }),
            text: Some("x = y;".to_owned()),
            inlined_at: Vec::new(),
        });
        let help = problem.help.iter_mut();
        for fix in help.flat_map(|help| help.fixes.first_mut()) {
            fix.edits = vec![Edit {
                start: LineColumn { line: 3, column: 5 },
                end: LineColumn { line: 3, column: 6 },
                text: "%x".to_owned(),
            }];
        }
        let Diagnostic {
            location: _,
            severity: _,
            code: _,
            message: _,
            reasons: _,
            help: _,
            vuid: _,
            witness: _,
        } = &problem;
        let Location {
            word: _,
            function: _,
            block: _,
            instruction: _,
            operand: _,
            marked: _,
            source: _,
        } = &*problem.location;
        let expected = r#"{"severity":"error","code":"SB0006","vuid":"VUID-x","message":"message","file":"a.spv","target":null,"function":"main","block":"%5","instruction":"OpStore %1 %2","word":7,"operand":2,"span":[11,13],"source":{"file":"a.comp","line":3,"column":5,"end_line":3,"end_column":9,"text":"x = y;"},"reasons":["why"],"help":"do this","fixes":[{"text":"use the constant 0x104","action":"set_operand","value":260,"edits":[{"line":3,"column":5,"end_line":3,"end_column":6,"text":"%x"}]},{"text":"declare OpCapability Int64","action":"declare","capability":"Int64","extension":null,"edits":[]}],"witness":[{"text":"here","word":9,"instruction":"OpNop","source":{"file":"a.comp","line":2,"column":1,"text":null}}]}"#;
        assert_eq!(render(&problem.into(), "a.spv"), format!("{expected}\n"));
    }
}
