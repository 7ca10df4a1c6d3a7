//! A rule of the validation.

use super::{Context, Operand, Operation};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::Inst;

/// The check of a rule.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub enum Check {
    /// Once for each barrier, fence, atomic and group instruction.
    Operation(fn(&Context<'_, '_>, &Operation<'_>, &mut Diagnostics)),
    /// Once for the module.
    Module(fn(&Context<'_, '_>, &mut Diagnostics)),
}

/// One rule, with its texts.
#[derive(Copy, Clone, Debug)]
pub struct Rule {
    /// The code of its diagnostics; no two rules share one.
    pub code: Code,
    /// The identifier in Vulkan's specification.
    pub vuid: Option<&'static str>,
    /// The requirement, the reason, and examples: the file `explain/SBnnnn.md`, whose first line is
    /// the code and its summary. The tests run the examples.
    pub text: &'static str,
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

    /// As [`Rule::error`], about an operand of `operation`.
    pub fn error_at(
        &self,
        context: &Context<'_, '_>,
        operation: &Operation<'_>,
        operand: Option<Operand>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let problem = self.error(context, operation.inst, message);
        match operand {
            Some(operand) => problem.at_operand(operand.number),
            None => problem,
        }
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
