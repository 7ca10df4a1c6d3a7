//! Each fix of a diagnostic removes it: its edits are applied to the text of the module, and the
//! result is checked again.

use crate::fixtures;
use crate::found;
use splitbar_passes::diagnostic::{Change, Code, Diagnostics, Edit, LineColumn};
use splitbar_passes::module::{AssemblyText, assemble};
use std::collections::BTreeMap;

/// The byte of a position.
fn byte(text: &str, at: LineColumn) -> usize {
    let lines = text.split_inclusive('\n');
    let before: usize = lines.take(at.line as usize - 1).map(str::len).sum();
    let columns = text[before..].char_indices().map(|(byte, _)| byte);
    let column = columns.chain([text.len() - before]);
    before + column.into_iter().nth(at.column as usize - 1).unwrap()
}

/// The text after `edits`, which are in the order of their positions.
fn edited(text: &str, edits: &[Edit]) -> String {
    let (mut result, mut at) = (String::new(), 0);
    for edit in edits {
        let (start, end) = (byte(text, edit.start), byte(text, edit.end));
        assert!(at <= start && start <= end, "{edits:?}");
        result.push_str(&text[at..start]);
        result.push_str(&edit.text);
        at = end;
    }
    result + &text[at..]
}

fn number_of(problems: &Diagnostics, code: Code) -> usize {
    problems
        .iter()
        .filter(|problem| problem.code == code)
        .count()
}

#[test]
fn every_fix_removes_its_problem() {
    let (mut wrong, mut applied, mut without) = (Vec::new(), BTreeMap::new(), Vec::new());
    for path in fixtures::files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let source = AssemblyText::new("a", &text, &assemble(&text).unwrap());
        let (_, problems) = found(&text);
        for problem in problems.iter() {
            let mut problem = problem.clone();
            source.place(&mut problem);
            for fix in problem.fixes() {
                let name = format!("{}: {problem}: {}", path.display(), fix.change);
                if fix.edits.is_empty() {
                    without.push(name);
                    continue;
                }
                let (_, after) = found(&edited(&text, &fix.edits));
                if number_of(&after, problem.code) >= number_of(&problems, problem.code) {
                    wrong.push(format!("{name}: {:?}\n{after}", fix.edits));
                }
                let action = match fix.change {
                    Change::SetOperand { .. } => "set",
                    Change::Declare { .. } => "declare",
                    _ => panic!("{name}"),
                };
                *applied.entry(action).or_insert(0) += 1;
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} fixes:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let expected = BTreeMap::from([("declare", 28), ("set", 138)]);
    assert_eq!(applied, expected);
    assert!(without.is_empty(), "without edits:\n{}", without.join("\n"));
}
