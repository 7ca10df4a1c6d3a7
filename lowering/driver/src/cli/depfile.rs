//! `-MD`: the files that an output was made of, as make and ninja read them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The text of a dependency file: one rule that makes `targets` depend on `inputs`.
///
/// # Errors
/// A name that the form cannot hold: one that is not UTF-8, or has a line break.
pub(super) fn text(targets: &[&Path], inputs: &[&Path]) -> Result<String, String> {
    let mut text = String::new();
    for (number, target) in targets.iter().enumerate() {
        let space = if number == 0 { "" } else { " " };
        let _ = write!(text, "{space}{}", escaped(target)?);
    }
    text.push(':');
    for input in inputs {
        let _ = write!(text, " \\\n  {}", escaped(input)?);
    }
    text.push('\n');
    Ok(text)
}

/// The dependency file beside `output`: its name with the extension `d`.
pub(super) fn beside(output: &Path) -> PathBuf {
    output.with_extension("d")
}

/// As GCC writes names: a backslash before a blank or `#`, backslashes in front of a blank and
/// dollars twice.
fn escaped(file: &Path) -> Result<String, String> {
    let not_utf8 = || format!("{}: the name is not UTF-8", file.display());
    let name = file.to_str().ok_or_else(not_utf8)?;
    let mut escaped = String::with_capacity(name.len());
    let mut backslashes = 0;
    for c in name.chars() {
        match c {
            '\n' | '\r' => return Err(format!("{name:?}: a line break cannot be written")),
            ' ' | '\t' => {
                escaped.extend(std::iter::repeat_n('\\', backslashes + 1));
                escaped.push(c);
            }
            '#' => escaped.extend(['\\', c]),
            '$' => escaped.push_str("$$"),
            _ => escaped.push(c),
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    Ok(escaped)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let inputs = [Path::new("a b.spv"), Path::new("c#$.spv")];
        let outputs = [Path::new("out put.s"), Path::new("k.json")];
        let made = text(&outputs, &inputs).unwrap();
        let rule = "out\\ put.s k.json: \\\n  a\\ b.spv \\\n  c\\#$$.spv\n";
        assert_eq!(made, rule);
        let blanks = text(&[Path::new("a\tb\\ c\\d")], &[]);
        assert_eq!(blanks.as_deref(), Ok("a\\\tb\\\\\\ c\\d:\n"));
        assert!(text(&[Path::new("a\nb")], &[]).is_err());
        assert_eq!(beside(Path::new("x/k.s")), Path::new("x/k.d"));
    }
}
