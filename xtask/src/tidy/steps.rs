//! The functions that ARCHITECTURE.md names with their files are in these files.

use crate::shell;

/// The least number of functions that the page names: one for each stage of a compilation.
const STAGES: usize = 10;

/// Reports functions that are not where ARCHITECTURE.md says, and a page that names too few.
pub(super) fn check(problems: &mut Vec<String>) {
    let text = std::fs::read_to_string(shell::root().join("ARCHITECTURE.md")).unwrap_or_default();
    let named = functions(&text);
    if named.len() < STAGES {
        problems.push("ARCHITECTURE.md does not name the functions of a compilation".to_owned());
    }
    for (function, file) in named {
        let source = std::fs::read_to_string(shell::root().join(&file)).unwrap_or_default();
        let name = function.rsplit("::").next().unwrap_or(&function);
        let defines = |line: &str| {
            line.split_once(&format!("fn {name}"))
                .is_some_and(|(_, rest)| rest.starts_with(['(', '<']))
        };
        if !source.lines().any(defines) {
            problems.push(format!(
                "ARCHITECTURE.md: {file} has no function `{function}`"
            ));
        }
    }
}

/// Function and file of each `` `path::function` (`folder/file.rs`) ``, which may go over a line.
fn functions(text: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter_map(|pair| {
        let function = pair[0].strip_prefix('`')?.strip_suffix('`')?;
        let (file, _) = pair[1].strip_prefix("(`")?.split_once('`')?;
        file.ends_with(".rs")
            .then(|| (function.to_owned(), file.to_owned()))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn a_function_stands_before_its_file() {
        let text = "**Read**: `A::f` (`a/b.rs`), `g`\n(`c.rs`). `not` (this) and `h` (`d/`).";
        let named = [("A::f", "a/b.rs"), ("g", "c.rs")];
        assert_eq!(
            functions(text),
            named.map(|(f, p)| (f.to_owned(), p.to_owned()))
        );
    }
}
