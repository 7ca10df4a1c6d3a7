//! Diagnostics as text for a person at a terminal.

use super::{Diagnostic, Diagnostics, Location, Severity};
use std::fmt::Write;

/// Whether the text carries terminal colours.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// Plain text, the same bytes everywhere.
    #[default]
    Off,
    /// ANSI escape sequences around severity and code.
    On,
}

/// All of `problems`, one after the other in their order, about the module `file`; plain text that ends with a line feed (empty when there are none).
pub fn render(problems: &Diagnostics, file: &str) -> String {
    render_with(problems, file, Colour::Off)
}

/// As [`render`], with a choice of colour.
///
/// ```text
/// error[SB0205]: the wait has no arrive before it
///   --> tiled.spv: word 431, function main, block %25
///    | OpControlBarrierWaitEXT %uint_2 %uint_2 %uint_258
///    = source: tiled.comp:12:3
///    = because: no path from the entry block passes an arrive
///    = help: put OpControlBarrierArriveEXT before it
/// ```
pub fn render_with(problems: &Diagnostics, file: &str, colour: Colour) -> String {
    let mut text = String::new();
    for problem in problems.iter() {
        one(&mut text, problem, file, colour);
    }
    text
}

fn one(text: &mut String, problem: &Diagnostic, file: &str, colour: Colour) {
    let (start, end) = match (colour, problem.severity) {
        (Colour::Off, _) => ("", ""),
        (Colour::On, Severity::Error) => ("\x1b[1;31m", "\x1b[0m"),
        (Colour::On, Severity::Warning) => ("\x1b[1;33m", "\x1b[0m"),
        (Colour::On, Severity::Note) => ("\x1b[1;36m", "\x1b[0m"),
    };
    let Location {
        instruction,
        source,
        ..
    } = &*problem.location;
    let mut lines = vec![format!(
        "{start}{}[{}]{end}: {}",
        problem.severity,
        problem.code,
        plain(&problem.message)
    )];
    lines.push(format!("  --> {}", plain(&place(&problem.location, file))));
    lines.extend(
        instruction
            .iter()
            .map(|instruction| format!("   | {}", plain(instruction))),
    );
    lines.extend(
        source
            .iter()
            .map(|at| format!("   = source: {}:{}:{}", plain(&at.file), at.line, at.column)),
    );
    lines.extend(
        problem
            .reasons
            .iter()
            .map(|reason| format!("   = because: {}", plain(reason))),
    );
    lines.extend(problem.vuid.iter().map(|vuid| format!("   = rule: {vuid}")));
    lines.extend(
        problem
            .witness
            .iter()
            .zip(1..)
            .map(|(place, number): (_, u32)| format!("   = path {number}: {}", plain(place))),
    );
    lines.extend(
        problem
            .help
            .iter()
            .map(|help| format!("   = help: {}", plain(help))),
    );
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
}

/// `file: word 431, function main, block %25`, as far as it is known.
fn place(location: &Location, file: &str) -> String {
    let word = location.word.map(|word| format!("word {word}"));
    let function = location
        .function
        .as_ref()
        .map(|function| format!("function {function}"));
    let block = location
        .block
        .as_ref()
        .map(|block| format!("block {block}"));
    let parts: Vec<String> = [word, function, block].into_iter().flatten().collect();
    if parts.is_empty() {
        file.to_owned()
    } else {
        format!("{file}: {}", parts.join(", "))
    }
}

/// Names come from the module: no control character of theirs reaches a terminal.
fn plain(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect::<Vec<_>>()
            } else {
                vec![c]
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Code, SourcePosition};
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_full_diagnostic_says_what_where_why_and_what_to_do() {
        let mut problem =
            Diagnostic::error(Code::WaitWithoutArrive, "the wait has no arrive before it")
                .at_word(431)
                .because("no path passes an arrive")
                .vuid("VUID-a")
                .passing("%5")
                .help("arrive first");
        *problem.location = Location {
            function: Some("main\n".to_owned()),
            block: Some("%25".to_owned()),
            instruction: Some("OpControlBarrierWaitEXT %2 %2 %9".to_owned()),
            source: Some(SourcePosition {
                file: "a.comp".to_owned(),
                line: 12,
                column: 3,
            }),
            ..*problem.location
        };
        let expected = expect![[r#"
            error[SB0205]: the wait has no arrive before it
              --> a.spv: word 431, function main\n, block %25
               | OpControlBarrierWaitEXT %2 %2 %9
               = source: a.comp:12:3
               = because: no path passes an arrive
               = rule: VUID-a
               = path 1: %5
               = help: arrive first
        "#]];
        expected.assert_eq(&render(&problem.into(), "a.spv"));
    }

    #[test]
    fn colour_stands_around_severity_and_code_only() {
        let problems = Diagnostics::from(Diagnostic::warning(Code::BadMagic, "no"));
        assert_eq!(
            render_with(&problems, "a", Colour::On),
            "\u{1b}[1;33mwarning[SB0001]\u{1b}[0m: no\n  --> a\n"
        );
        assert_eq!(render(&Diagnostics::new(), "a"), "");
    }
}
