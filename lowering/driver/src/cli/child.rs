//! Compiles in a child process, because LLVM ends its process on some inputs: with an abort, a segmentation fault, or an exit code of its own.
//!
//! The parent starts this program once more with the same arguments and [`VARIABLE`] set. The child reads and writes the files itself; on its standard error,
//! among what it has to say, lines that begin with [`MARK`] tell the parent which stage began and, at the end, the exit code. A child that
//! ends without that last line died, and the parent says in which stage.

use super::{LowerArgs, report};
use splitbar::Stage;
use splitbar::diagnostic::{Code, Diagnostic};
use splitbar::exit;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Command, ExitStatus, Stdio};

/// Set in the child. Whoever sets it by hand gets the compilation in one process, for a debugger.
const VARIABLE: &str = "SPLITBAR_IN_PROCESS";

/// What the lines for the parent begin with; no text that people read has this control character.
const MARK: &str = "\u{1}splitbar ";

/// How many lines of what a dying child said go into the report.
const LAST_WORDS: usize = 8;

/// Whether this process is the child.
pub fn is_child() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// What the parent sets [`VARIABLE`] to: plainly, or when its standard error is a terminal that takes colours.
const PLAIN: &str = "child";
const COLOURED: &str = "child-in-colour";

/// Whether a parent reads the marks; not so when somebody set the variable by hand to another value.
fn has_parent() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|value| value == PLAIN || value == COLOURED)
}

/// Whether problems are printed in colour: to a terminal, unless NO_COLOR (no-color.org) forbids it.
pub fn in_colour() -> bool {
    match std::env::var_os(VARIABLE) {
        Some(value) if value == PLAIN => false,
        Some(value) if value == COLOURED => true,
        _ => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}

/// Tells the parent that `stage` begins.
pub fn begin(stage: Stage) {
    if has_parent() {
        eprintln!("{MARK}stage {stage}");
    }
}

/// Tells the parent that all is done, and passes the exit code on.
pub fn finish(code: u8) -> u8 {
    if has_parent() {
        eprintln!("{MARK}done {code}");
    }
    code
}

/// Runs the command in a child and gives its exit code; `None` if no child can be started.
pub fn run(args: &LowerArgs) -> Option<u8> {
    let program = std::env::current_exe().ok()?;
    let role = if in_colour() { COLOURED } else { PLAIN };
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(VARIABLE, role)
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let stderr = child.stderr.take()?;
    let heard = listen(BufReader::new(stderr), args.verbose);
    let status = child.wait().ok()?;
    let mut out = std::io::stderr().lock();
    match heard.done {
        // The child has said all that there is to say. Nobody is left to tell if the standard error is closed.
        Some(code) => {
            let _ = out.write_all(heard.text.as_bytes());
            Some(code)
        }
        None => {
            drop(out);
            report::print(&death(&heard, status).into(), args);
            Some(exit::BUG)
        }
    }
}

/// What came over the child's standard error.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    /// The last stage that began.
    stage: Option<String>,
    /// The exit code, if the child came to its end.
    done: Option<u8>,
    /// Everything else, unless it was passed on at once.
    text: String,
}

/// Reads until the child closes its standard error. `live` passes text on at once instead of keeping it.
fn listen(mut from: impl BufRead, live: bool) -> Heard {
    let mut heard = Heard::default();
    let mut line = Vec::new();
    while let Ok(1..) = from.read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line);
        match text
            .strip_prefix(MARK)
            .map(|mark| mark.trim_end().split_once(' ').unwrap_or((mark, "")))
        {
            Some(("stage", stage)) => heard.stage = Some(stage.to_owned()),
            Some(("done", code)) => heard.done = code.parse().ok(),
            Some(_) => {}
            None if live => eprint!("{text}"),
            None => heard.text.push_str(&text),
        }
        line.clear();
    }
    heard
}

/// The diagnostic for a child that died.
fn death(heard: &Heard, status: ExitStatus) -> Diagnostic {
    let in_llvm = [Stage::Lower, Stage::Measure, Stage::Generate]
        .iter()
        .any(|stage| heard.stage.as_deref() == Some(stage.name()));
    let code = if in_llvm {
        Code::LlvmFailed
    } else {
        Code::Internal
    };
    let stage = heard.stage.as_deref().unwrap_or("start");
    let mut diagnostic = Diagnostic::error(
        code,
        format!("the compiling process died in stage `{stage}` ({status})"),
    );
    for line in heard
        .text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(LAST_WORDS)
    {
        diagnostic = diagnostic.because(line);
    }
    diagnostic.help(format!(
        "this is a bug in splitbar {}: please report it with the module and the command line; --emit-dir DIR keeps what every stage before this one made",
        env!("CARGO_PKG_VERSION")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn marks_are_told_from_text() {
        let said =
            format!("warning: x\n{MARK}stage plan\n{MARK}stage lower\nLLVM ERROR: Cannot select\n");
        let heard = listen(said.as_bytes(), false);
        assert_eq!(
            heard,
            Heard {
                stage: Some("lower".to_owned()),
                done: None,
                text: "warning: x\nLLVM ERROR: Cannot select\n".to_owned()
            }
        );
        let heard = listen(
            format!("{MARK}stage read\n{MARK}done 3\n").as_bytes(),
            false,
        );
        assert_eq!(heard.done, Some(3));
    }

    #[test]
    #[cfg(unix)]
    fn a_death_in_llvm_is_llvm_s() {
        use std::os::unix::process::ExitStatusExt;
        let heard = |stage: &str| Heard {
            stage: Some(stage.to_owned()),
            ..Heard::default()
        };
        let killed = ExitStatus::from_raw(11);
        assert_eq!(death(&heard("generate"), killed).code, Code::LlvmFailed);
        assert!(
            death(&heard("generate"), killed)
                .message
                .contains("signal: 11")
        );
        assert_eq!(death(&heard("plan"), killed).code, Code::Internal);
    }
}
