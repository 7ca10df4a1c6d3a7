//! `-MD`: the files that an output was made of, as make and ninja read them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The text of a dependency file: one rule that makes `targets` depend on `inputs`.
///
/// # Errors
/// A name that the form cannot hold: one that is not UTF-8, has a line break or ends in a colon, or
/// a target with `%`, of which make would make a pattern.
pub(super) fn text(targets: &[&Path], inputs: &[&Path]) -> Result<String, String> {
    let mut text = String::new();
    for (number, target) in targets.iter().enumerate() {
        let space = if number == 0 { "" } else { " " };
        let name = escaped(target)?;
        if name.contains('%') {
            return Err(format!("{name:?}: make would read `%` as a pattern"));
        }
        let _ = write!(text, "{space}{name}");
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

/// As GCC writes names: a backslash before a blank, `#` or a colon, backslashes in front of a blank
/// and dollars twice. The colon of a drive stays: make and ninja know it.
fn escaped(file: &Path) -> Result<String, String> {
    let not_utf8 = || format!("{}: the name is not UTF-8", file.display());
    let name = file.to_str().ok_or_else(not_utf8)?;
    let mut escaped = String::with_capacity(name.len());
    let mut backslashes = 0;
    if name.ends_with(':') {
        return Err(format!("{name:?}: a colon at the end cannot be written"));
    }
    for (at, c) in name.char_indices() {
        match c {
            '\n' | '\r' => return Err(format!("{name:?}: a line break cannot be written")),
            ':' if !(cfg!(windows) && at == 1) => escaped.push_str("\\:"),
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
        let colons = text(&[Path::new("out/a:b.s")], &[Path::new("c:d")]);
        assert_eq!(colons.as_deref(), Ok("out/a\\:b.s: \\\n  c\\:d\n"));
        for name in ["a\nb", "a%b", "a:"] {
            assert!(text(&[Path::new(name)], &[]).is_err());
        }
        assert!(text(&[], &[Path::new("a%b")]).is_ok());
        assert_eq!(beside(Path::new("x/k.s")), Path::new("x/k.d"));
    }
}
