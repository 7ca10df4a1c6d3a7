//! Problems as commands of GitHub's workflows: `::error file=F,line=L,col=C,title=T::MESSAGE`. A
//! pull request shows each at its line.

use super::Problem;
use splitbar::diagnostic::Severity;

/// A line for each problem.
pub(crate) fn render(problems: &[Problem]) -> String {
    problems.iter().map(line).collect()
}

fn line(problem: &Problem) -> String {
    let level = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let source = problem.location.source.as_ref();
    let file = source.map_or(&problem.file, |source| &source.file);
    let mut properties = vec![format!("file={}", property(file))];
    if let Some(source) = source.filter(|source| source.line > 0) {
        properties.push(format!("line={}", source.line));
        properties.extend(source.shown_column().map(|column| format!("col={column}")));
        if let Some(end) = source.end {
            properties.push(format!("endLine={},endColumn={}", end.line, end.column));
        }
    }
    let title = match problem.target {
        Some(target) => format!("{} ({target})", problem.rule),
        None => problem.rule.clone(),
    };
    properties.push(format!("title={}", property(&title)));
    let properties = properties.join(",");
    let mut text = problem.sentences();
    let place = &problem.location;
    if place.word.is_some() || place.instruction.is_some() {
        text.push_str(&format!("\nat: {place}"));
    }
    if source.is_some() {
        text.push_str(&format!("\nmodule: {}", problem.file));
    }
    for related in &problem.related {
        text.push_str(&format!("\n{}", related.text));
        if related.location.word.is_some() {
            text.push_str(&format!(", {}", related.location));
        }
    }
    format!("::{level} {properties}::{}\n", data(&text))
}

/// A message as a command has it.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The value of a property as a command has it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use splitbar::diagnostic::{Code, Diagnostic, SourcePosition};

    #[test]
    fn a_line_has_the_place_in_the_source_and_no_character_that_ends_it() {
        let mut problem = Diagnostic::warning(Code::ZeroId, "50% of\r\nit: a, b").help("do this");
        problem.location.source = Some(SourcePosition {
            file: "a,b:c%.comp".to_owned(),
            line: 3,
            column: 5,
            end: None,
            text: None,
            inlined_at: Vec::new(),
        });
        let problem = Problem::of_diagnostic(&problem, "k.spv", Some("sm_90"));
        assert_eq!(
            render(&[problem]),
            "::warning file=a%2Cb%3Ac%25.comp,line=3,col=5,title=SB0006 (sm_90)::\
             50%25 of%0D%0Ait: a, b%0Ahelp: do this%0Amodule: k.spv\n"
        );
    }

    #[test]
    fn without_a_source_it_is_about_the_module() {
        let problem = Diagnostic::note(Code::ZeroId, "no");
        let problem = Problem::of_diagnostic(&problem, "k.spv", None);
        assert_eq!(render(&[problem]), "::notice file=k.spv,title=SB0006::no\n");
    }
}
