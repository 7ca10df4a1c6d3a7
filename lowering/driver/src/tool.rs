//! External programs that failed: was it the code, which is a bug of ours, or the program?

use splitbar_passes::diagnostic::{Code, Diagnostic};
use std::path::Path;
use std::process::Output;

/// Why a program gave nothing.
pub(crate) enum Refusal {
    /// It found a mistake in the code.
    Code(String),
    /// It could not be started, does not know the target, or is another program altogether.
    Tool(String),
}

impl Refusal {
    /// Of a program that ended without success; `is_about_code` knows its messages about the code.
    pub(crate) fn new(ended: &Output, said: &str, is_about_code: fn(&str) -> bool) -> Refusal {
        let said = said.trim();
        let why = match said {
            "" => format!("it ended with {} and no message", ended.status),
            said => format!("it ended with {}: {said}", ended.status),
        };
        if is_about_code(said) {
            Refusal::Code(why)
        } else {
            Refusal::Tool(why)
        }
    }

    /// The diagnostic: `code` if the program refused the code for `what`, else `ToolFailed` with
    /// `help`.
    pub(crate) fn diagnostic(
        self,
        program: &Path,
        code: Code,
        what: &str,
        help: String,
    ) -> Diagnostic {
        let program = program.display();
        match self {
            Refusal::Code(why) => {
                Diagnostic::error(code, format!("{program} rejected the code for {what}"))
                    .because(why)
                    .help("this is a bug in splitbar: please report it with the module")
            }
            Refusal::Tool(why) => Diagnostic::error(
                Code::ToolFailed,
                format!("{program} cannot be used for {what}"),
            )
            .because(why)
            .help(help),
        }
    }
}

/// That a file cannot be read or written, or that the program cannot be started.
impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Refusal::Tool(why)
    }
}
