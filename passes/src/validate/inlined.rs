//! A module and what inlining its barrier functions made of it.

use crate::analysis::program::Program;
use crate::diagnostic::Diagnostics;
use crate::module::Declarations;
use crate::transform::RewrittenModule;
use crate::transform::inline::inline_barrier_functions;

/// A module and what inlining its barrier functions made of it.
#[derive(Clone, Debug)]
pub struct Inlined<'d> {
    pub(super) original: &'d Declarations<'d>,
    edited: Option<RewrittenModule>,
}

impl<'d> Inlined<'d> {
    /// Inlines the barrier functions of the module of `declarations`.
    ///
    /// # Errors
    /// As [`inline_barrier_functions`].
    pub fn new(declarations: &'d Declarations<'d>) -> Result<Self, Diagnostics> {
        Ok(Inlined {
            original: declarations,
            edited: inline_barrier_functions(declarations.module, declarations)?,
        })
    }

    /// The module that was given.
    pub fn original(&self) -> &'d Declarations<'d> {
        self.original
    }

    /// The inlined module, and where its instructions come from; `None` when there was nothing to
    /// inline.
    pub fn edited(&self) -> Option<&RewrittenModule> {
        self.edited.as_ref()
    }

    /// Returns true if `program` is what this is now.
    pub(super) fn is(&self, program: &Program<'_>) -> bool {
        match &self.edited {
            Some(edited) => std::ptr::eq(program.declarations().module, &edited.module),
            None => std::ptr::eq(program.declarations().module, self.original.module),
        }
    }
}
