//! What a rule is.

use super::{Context, Operation};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::Inst;
use std::fmt;

/// How a rule is checked.
#[derive(Copy, Clone, Debug)]
pub enum Check {
    /// Once for each barrier, fence and atomic.
    Operation(fn(&Context<'_, '_>, &Operation<'_>, &mut Diagnostics)),
    /// Once for the module.
    Module(fn(&Context<'_, '_>, &mut Diagnostics)),
}

/// One rule, with all that is to be said about it.
#[derive(Copy, Clone, Debug)]
pub struct Rule {
    /// The code of its diagnostics; no two rules share one.
    pub code: Code,
    /// The identifier in Vulkan's specification.
    pub vuid: Option<&'static str>,
    /// What it asks for, and why.
    pub documentation: &'static str,
    /// Lines of assembly that break it. They stand in the body of a compute shader for Vulkan 1.3, or are a whole module when they start with a comment.
    pub bad: &'static str,
    /// Lines that do not.
    pub good: &'static str,
    /// The check.
    pub check: Check,
}

impl Rule {
    /// An error against this rule at `inst`; the VUID comes with it in Vulkan's environments.
    pub fn error(
        &self,
        context: &Context<'_, '_>,
        inst: Inst<'_>,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.place(Diagnostic::error(self.code, message), context, inst)
    }

    /// As [`Rule::error`], a warning.
    pub fn warning(
        &self,
        context: &Context<'_, '_>,
        inst: Inst<'_>,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.place(Diagnostic::warning(self.code, message), context, inst)
    }

    fn place(
        &self,
        mut diagnostic: Diagnostic,
        context: &Context<'_, '_>,
        inst: Inst<'_>,
    ) -> Diagnostic {
        diagnostic.vuid = self
            .vuid
            .filter(|_| context.settings.environment.is_vulkan());
        diagnostic.at_word(inst.offset)
    }
}

impl fmt::Display for Rule {
    /// The documentation with its examples, as `splitbar explain` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indented = |text: &str| {
            text.trim_matches('\n')
                .lines()
                .map(|line| format!("    {}\n", line.trim()))
                .collect::<String>()
        };
        writeln!(f, "{}", self.documentation)?;
        if let Some(vuid) = self.vuid {
            writeln!(f, "\nRule: {vuid}")?;
        }
        write!(
            f,
            "\nWrong:\n\n{}\nRight:\n\n{}",
            indented(self.bad),
            indented(self.good)
        )
    }
}
