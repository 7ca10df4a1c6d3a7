//! Diagnostics as text for a person at a terminal: the instruction with what is wrong in it
//! underlined, the path there, the source line.

use super::place::{around, plain};
use super::{
    Diagnostic, Diagnostics, Location, Severity, SourcePosition, Span, Subject, WitnessStep,
    WordOffset,
};
use crate::boundary;
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle,
};
use std::ops::Range;

/// The use of terminal colours in text.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Colour {
    /// Plain text, the same bytes everywhere.
    #[default]
    Off,
    /// ANSI escape sequences around severity, code and marks.
    On,
}

/// Columns of a line; what is longer is cut around its marks.
const WIDTH: usize = 160;

/// All of `problems`, one after the other in their order, about the module `of`; plain text that
/// ends with a line feed (empty when there are none).
pub fn render<'s>(problems: &Diagnostics, of: impl Into<Subject<'s>>) -> String {
    render_with(problems, of, Colour::Off)
}

/// As [`render`], with a choice of colour. The numbers at the left are word offsets in the module,
/// and line numbers in a source.
///
/// ```text
/// error[SB2001]: OpControlBarrierWaitEXT is executed without an arrive before it
///     |
/// 431 | OpControlBarrierWaitEXT %uint_2 %uint_2 %uint_258
///     | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in function main, block %25
///    ::: tiled.spv: word 431
///     |
///    ::: tiled.comp:12:3
///     |
///  12 |     controlBarrierWait();
///     |     -
///     = because: no path from the entry block passes an arrive
///     = help: put OpControlBarrierArriveEXT before it
/// ```
pub fn render_with<'s>(
    problems: &Diagnostics,
    of: impl Into<Subject<'s>>,
    colour: Colour,
) -> String {
    let of = of.into();
    let renderer = match colour {
        Colour::Off => Renderer::plain(),
        Colour::On => Renderer::styled(),
    };
    let renderer = renderer.term_width(WIDTH).decor_style(DecorStyle::Ascii);
    let file = plain(of.file);
    let mut text = String::new();
    for (number, problem) in problems.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        text.push_str(&renderer.render(&groups(problem, &file, of.target)));
        text.push('\n');
    }
    text
}

/// The problem, and the path of an execution that meets it.
fn groups<'t>(problem: &'t Diagnostic, file: &'t str, target: Option<&'t str>) -> Vec<Group<'t>> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(plain(&problem.message))
        .id(problem.code.to_string());
    let place = &problem.location;
    let mut first = Group::with_title(title);
    first = match written(&place.source, file) {
        Some(text) => {
            let mark = AnnotationKind::Primary.span(text.span).label(around(place));
            first.element(line(text.line, text.number, mark).path(file))
        }
        None => located(first, place, file),
    };
    if let Some(source) = &place.source {
        if written(&place.source, file).is_none() {
            first = sourced(first, source);
        }
        for call in &source.inlined_at {
            let at = Level::NOTE.with_name(Some("inlined at"));
            first = first.element(at.message(call.to_string()));
        }
    }
    if let Some(target) = target {
        let name = Level::NOTE.with_name(Some("target"));
        first = first.element(name.message(plain(target)));
    }
    for reason in &problem.reasons {
        first = first.element(
            Level::NOTE
                .with_name(Some("because"))
                .message(plain(reason)),
        );
    }
    if let Some(vuid) = problem.vuid {
        first = first.element(Level::NOTE.with_name(Some("rule")).message(vuid));
    }
    if let Some(help) = problem.help_text() {
        first = first.element(Level::HELP.message(plain(help)));
    }
    let mut all = vec![first];
    if !problem.witness.is_empty() {
        let title = Level::NOTE.secondary_title("an execution that reaches this point");
        all.push(
            problem
                .witness
                .iter()
                .zip(1..)
                .fold(Group::with_title(title), |group, (place, number)| {
                    passed(group, place, number, file)
                }),
        );
    }
    all
}

/// Adds where the problem is.
fn located<'t>(group: Group<'t>, location: &'t Location, file: &'t str) -> Group<'t> {
    let Some((word, instruction)) = location.word.zip(location.instruction.as_deref()) else {
        let place = match location.word {
            Some(word) => format!("{file}: word {word}"),
            None => file.to_owned(),
        };
        let group = group.element(Origin::path(place));
        // What has no words, such as LLVM IR.
        let instruction = location
            .instruction
            .as_deref()
            .map(|text| plain(text.trim()));
        let parts: Vec<String> = instruction.into_iter().chain(around(location)).collect();
        return if parts.is_empty() || location.word.is_some() {
            group
        } else {
            group.element(Level::NOTE.with_name(Some("at")).message(parts.join(", ")))
        };
    };
    let label = around(location);
    let marked = location.marked.unwrap_or(whole(instruction));
    let mark = AnnotationKind::Primary
        .span(marked.start..marked.end)
        .label(label);
    group
        .element(line(instruction, word.get(), mark))
        .element(origin(file, word))
}

/// A line of the assembly text, with the range of an instruction or an operand.
struct Written<'t> {
    line: &'t str,
    number: u32,
    span: Range<usize>,
}

/// The line of a `source` that is the assembly text `file` of the module itself.
fn written<'t>(source: &'t Option<SourcePosition>, file: &str) -> Option<Written<'t>> {
    let source = source.as_ref().filter(|source| source.file == file)?;
    let line = source.text.as_deref()?;
    Some(Written {
        line,
        number: source.line,
        span: range(source, line),
    })
}

/// The bytes of the range of `source` in its line `text`; one character if the end is unknown.
fn range(source: &SourcePosition, text: &str) -> Range<usize> {
    // Columns are counted in characters or bytes, depending on the compiler; the start of the
    // line is used when they are outside of it.
    let byte = |column: u32| {
        let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        starts.nth((column as usize).saturating_sub(1))
    };
    let start =
        byte(source.shown_column().unwrap_or(1)).unwrap_or(text.len() - text.trim_start().len());
    let one = boundary::ceil(text, start + 1);
    let end = source.end.and_then(|end| {
        if end.line == source.line {
            byte(end.column)
        } else {
            Some(text.trim_end().len())
        }
    });
    start..end.map_or(one, |end| end.max(one))
}

/// Adds the line of the source, or its place.
fn sourced<'t>(group: Group<'t>, source: &'t SourcePosition) -> Group<'t> {
    let file = plain(&source.file);
    match &source.text {
        Some(text) => {
            let mark = AnnotationKind::Context.span(range(source, text));
            group.element(line(text, source.line, mark).path(file))
        }
        None => {
            let place = Origin::path(file).line(source.line as usize);
            group.element(match source.shown_column() {
                Some(column) => place.char_column(column as usize),
                None => place,
            })
        }
    }
}

/// Adds a place of the path.
fn passed<'t>(group: Group<'t>, place: &'t WitnessStep, number: u32, file: &'t str) -> Group<'t> {
    let text = format!("{number}: {}", plain(&place.text));
    match place.word.zip(place.instruction.as_deref()) {
        Some((word, instruction)) => {
            if let Some(at) = written(&place.source, file) {
                let mark = AnnotationKind::Context.span(at.span).label(text);
                return group.element(line(at.line, at.number, mark).path(file));
            }
            let mark = whole(instruction);
            let mark = AnnotationKind::Context.span(mark.start..mark.end);
            let group = group
                .element(line(instruction, word.get(), mark.label(text)))
                .element(origin(file, word));
            match &place.source {
                Some(source) => sourced(group, source),
                None => group,
            }
        }
        None => group.element(Level::NOTE.no_name().message(text)),
    }
}

fn line<'t>(text: &'t str, number: u32, mark: Annotation<'t>) -> Snippet<'t, Annotation<'t>> {
    Snippet::source(text)
        .line_start(number as usize)
        .annotation(mark)
}

/// The place of an instruction in the module, which is no line of a file.
fn origin<'t>(file: &str, word: WordOffset) -> Origin<'t> {
    Origin::path(format!("{file}: word {word}"))
}

fn whole(text: &str) -> Span {
    Span {
        start: 0,
        end: text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Code;
    use super::*;
    use expect_test::expect;

    fn full() -> Diagnostic {
        let mut problem =
            Diagnostic::error(Code::WaitWithoutArrive, "the wait has no arrive before it")
                .at_word(WordOffset::new(431))
                .because("no path passes an arrive")
                .vuid("VUID-a")
                .passing("the invocation with LocalInvocationIndex 0".to_owned())
                .passing(WitnessStep {
                    instruction: Some("OpBranchConditional %7 %8 %9".to_owned()),
                    source: Some(SourcePosition {
                        file: "a.comp".to_owned(),
                        line: 9,
                        column: 5,
                        end: None,
                        text: None,
                        inlined_at: Vec::new(),
                    }),
                    ..WitnessStep::at(WordOffset::new(120), "block %5 goes to %8")
                })
                .help("arrive first");
        *problem.location = Location {
            function: Some("main\n".to_owned()),
            block: Some("%25".to_owned()),
            instruction: Some("OpControlBarrierWaitEXT %2 %2 %9".to_owned()),
            marked: Some(Span { start: 30, end: 32 }),
            source: Some(SourcePosition {
                file: "a.comp".to_owned(),
                line: 12,
                column: 3,
                end: None,
                text: None,
                inlined_at: Vec::new(),
            }),
            ..*problem.location
        };
        problem
    }

    #[test]
    fn a_full_diagnostic_says_what_where_why_and_what_to_do() {
        let expected = expect![[r#"
            error[SB0205]: the wait has no arrive before it
                |
            431 | OpControlBarrierWaitEXT %2 %2 %9
                |                               ^^ in function main\n, block %25
               ::: a.spv: word 431
               ::: a.comp:12:3
                = because: no path passes an arrive
                = rule: VUID-a
                = help: arrive first
            note: an execution that reaches this point
                |
                = 1: the invocation with LocalInvocationIndex 0
                |
            120 | OpBranchConditional %7 %8 %9
                | ---------------------------- 2: block %5 goes to %8
               ::: a.spv: word 120
               ::: a.comp:9:5
        "#]];
        expected.assert_eq(&render(&full().into(), "a.spv"));
    }

    #[test]
    fn a_source_that_the_module_carries_is_shown() {
        let mut problem = full();
        problem.witness.clear();
        if let Some(source) = &mut problem.location.source {
            source.text = Some("\tbarrier(\x1b);".to_owned());
            source.column = 0;
        }
        let expected = expect![[r#"
            error[SB0205]: the wait has no arrive before it
                |
            431 | OpControlBarrierWaitEXT %2 %2 %9
                |                               ^^ in function main\n, block %25
               ::: a.spv: word 431
                |
               ::: a.comp:12:2
                |
             12 |     barrier(␛);
                |     -
                |
                = because: no path passes an arrive
                = rule: VUID-a
                = help: arrive first
        "#]];
        expected.assert_eq(&render(&problem.into(), "a.spv"));
    }

    #[test]
    fn colour_is_asked_for() {
        let problems = Diagnostics::from(Diagnostic::warning(Code::BadMagic, "no\x1b[2J"));
        let expected = expect![[r#"
            warning[SB0001]: no\u{1b}[2J
            --> a\nb
        "#]];
        expected.assert_eq(&render(&problems, "a\nb"));
        assert!(render_with(&problems, "a", Colour::On).contains("\x1b[1m"));
        assert_eq!(render(&Diagnostics::new(), "a"), "");
    }

    #[test]
    fn marks_that_lead_nowhere_do_no_harm() {
        let mut problem = full();
        problem.location.instruction = Some(String::new());
        problem.location.marked = None;
        problem.location.word = Some(WordOffset::END);
        if let Some(source) = &mut problem.location.source {
            (source.line, source.column, source.text) = (u32::MAX, u32::MAX, Some("é".to_owned()));
        }
        assert!(render(&problem.into(), "").contains("SB0205"));
    }
}
