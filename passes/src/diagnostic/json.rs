//! Diagnostics as JSON for programs: one object on each line.

use super::{Diagnostic, Diagnostics};
use serde::Serialize;

/// The keys, in the order in which they are written; none is ever left out.
#[derive(Serialize)]
struct Line<'d> {
    severity: String,
    code: String,
    /// The rule of Vulkan's specification behind it, by its identifier.
    vuid: Option<&'d str>,
    message: &'d str,
    function: Option<&'d str>,
    block: Option<&'d str>,
    instruction: Option<&'d str>,
    word: Option<u32>,
    source: Option<Source<'d>>,
    reasons: &'d [String],
    /// Places that an execution passes on its way to the problem.
    witness: Vec<&'d str>,
}

#[derive(Serialize)]
struct Source<'d> {
    file: &'d str,
    line: u32,
}

impl<'d> Line<'d> {
    fn of(problem: &'d Diagnostic) -> Self {
        let location = &*problem.location;
        Line {
            severity: problem.severity.to_string(),
            code: problem.code.to_string(),
            vuid: problem.vuid,
            message: &problem.message,
            function: location.function.as_deref(),
            block: location.block.as_deref(),
            instruction: location.instruction.as_deref(),
            word: location.word,
            source: location.source.as_ref().map(|at| Source {
                file: &at.file,
                line: at.line,
            }),
            reasons: &problem.reasons,
            witness: problem
                .witness
                .iter()
                .map(|place| place.text.as_str())
                .collect(),
        }
    }
}

/// All of `problems` in their order, each an object on a line of its own: `severity` ("error", "warning", "note"), `code`, `vuid`, `message`, `function`, `block`,
/// `instruction`, `word`, `source` (`file` and `line`), `reasons` and `witness`. What is not known is `null`.
pub fn render(problems: &Diagnostics) -> String {
    let mut text = String::new();
    for problem in problems.iter() {
        // These types hold strings and numbers, which always serialize.
        text.extend(serde_json::to_string(&Line::of(problem)));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Code, SourcePosition};
    use super::*;

    #[test]
    fn every_key_is_there() {
        let mut problem = Diagnostic::error(Code::ZeroId, "say \"no\"")
            .at_word(7)
            .because("why");
        let expected = r#"{"severity":"error","code":"SB0006","vuid":null,"message":"say \"no\"","function":null,"block":null,"instruction":null,"word":7,"source":null,"reasons":["why"],"witness":[]}"#;
        assert_eq!(render(&problem.clone().into()), format!("{expected}\n"));
        problem.location.source = Some(SourcePosition {
            file: "a".to_owned(),
            line: 3,
            column: 1,
            text: None,
        });
        let problem = problem.vuid("VUID-x").passing("here".to_owned());
        let text = render(&problem.into());
        for expected in [
            r#""source":{"file":"a","line":3}"#,
            r#""vuid":"VUID-x""#,
            r#""witness":["here"]"#,
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }
}
