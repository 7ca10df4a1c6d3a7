//! The arguments as compilers and build systems write them: response files (`@FILE`) are put in
//! their place, and the spellings that GCC gave options of several letters after one dash become
//! the long ones.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Response files that may be open at once, one naming the other.
const DEEPEST: usize = 8;

/// The most arguments, those of response files and the names of these included.
const MOST: usize = 1 << 16;

/// Spellings of GCC and Clang that the parser of the command line does not know.
const SPELLINGS: [(&str, &str); 3] = [
    ("-MD", "--write-dependencies"),
    ("-MF", "--dependency-file"),
    ("-MT", "--dependency-target"),
];

static GIVEN: OnceLock<Vec<OsString>> = OnceLock::new();

/// The arguments of this process, the program's name among them, expanded. Before [`expand`] has
/// succeeded they are as they came.
pub(super) fn given() -> Vec<OsString> {
    let as_they_came = || std::env::args_os().collect();
    GIVEN.get().cloned().unwrap_or_else(as_they_came)
}

/// Expands the arguments of this process.
///
/// # Errors
/// A response file that cannot be read, ends inside of quotes, or names too many others.
pub(super) fn expand() -> Result<(), String> {
    let expanded = expanded(std::env::args_os())?;
    // Nobody else sets them, so the first value is the only one.
    let _ = GIVEN.set(expanded);
    Ok(())
}

/// Expands `arguments`. What follows `--` is left as it is.
fn expanded(arguments: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let (mut all, mut seen) = (Vec::new(), 0);
    let mut arguments = arguments;
    all.extend(arguments.next());
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            all.push(argument);
            all.extend(arguments);
            break;
        }
        push(argument, 0, &mut seen, &mut all)?;
    }
    Ok(all)
}

/// Adds `argument`, or those of the response file that it names; so many were `seen` before it.
fn push(
    argument: OsString,
    depth: usize,
    seen: &mut usize,
    all: &mut Vec<OsString>,
) -> Result<(), String> {
    *seen += 1;
    if *seen > MOST {
        return Err(format!("there are more than {MOST} arguments"));
    }
    let Some(file) = response_file(&argument) else {
        let spelling = SPELLINGS.iter().find(|(short, _)| argument == *short);
        all.push(spelling.map_or(argument, |(_, long)| OsString::from(long)));
        return Ok(());
    };
    if depth == DEEPEST {
        return Err(format!(
            "{}: response files are nested more than {DEEPEST} deep",
            file.display()
        ));
    }
    let bytes = super::input::read(&file)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("{}: the response file is not UTF-8", file.display()))?;
    let words = shlex::split(&text).ok_or_else(|| {
        let file = file.display();
        format!("{file}: the response file ends inside of quotes or after a backslash")
    })?;
    words
        .into_iter()
        .try_for_each(|word| push(word.into(), depth + 1, seen, all))
}

/// The file of an argument `@FILE`.
fn response_file(argument: &OsStr) -> Option<PathBuf> {
    let name = argument.to_str()?.strip_prefix('@')?;
    (!name.is_empty()).then(|| PathBuf::from(name))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn all(arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments = ["splitbar"].iter().chain(arguments).map(OsString::from);
        let expanded = expanded(arguments)?;
        let text = |argument: OsString| argument.into_string().unwrap();
        Ok(expanded.into_iter().skip(1).map(text).collect())
    }

    #[test]
    fn response_files_hold_arguments_as_a_shell_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner.rsp");
        std::fs::write(&inner, "--target sm_90").unwrap();
        let outer = folder.path().join("outer.rsp");
        let text = format!("lower 'a b.spv'\n-o \"c d.s\" @{}\n", inner.display());
        std::fs::write(&outer, text).unwrap();
        let at = format!("@{}", outer.display());
        let whole = ["lower", "a b.spv", "-o", "c d.s", "--target", "sm_90", "-w"];
        assert_eq!(all(&[&at, "-w"]).unwrap(), whole);
    }

    #[test]
    fn response_files_that_cannot_be_expanded_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.rsp");
        let at = format!("@{}", own.display());
        std::fs::write(&own, &at).unwrap();
        assert!(all(&[&at]).unwrap_err().contains("deep"));
        std::fs::write(&own, "'open").unwrap();
        assert!(all(&[&at]).unwrap_err().contains("quotes"));
        assert!(all(&["@/no/such/file"]).unwrap_err().contains("/no/such"));
        std::fs::write(&own, "x ".repeat(MOST + 1)).unwrap();
        assert!(all(&[&at]).unwrap_err().contains("arguments"));
        // Empty in the end, and named 40 * 40 * 40 * 40 times.
        let file = |level: usize| folder.path().join(format!("{level}.rsp"));
        for level in 0..4 {
            let inner = format!("@{} ", file(level + 1).display());
            std::fs::write(file(level), inner.repeat(40)).unwrap();
        }
        std::fs::write(file(4), "").unwrap();
        let first = format!("@{}", file(0).display());
        assert!(all(&[&first]).unwrap_err().contains("arguments"));
    }

    #[test]
    fn spellings_of_other_compilers() {
        let long = ["--write-dependencies", "--dependency-file", "k.d"];
        assert_eq!(all(&["-MD", "-MF", "k.d"]).unwrap(), long);
        assert_eq!(
            all(&["@", "--", "-MD", "@x"]).unwrap(),
            ["@", "--", "-MD", "@x"]
        );
    }
}
