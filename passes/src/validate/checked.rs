//! The proof that a module may be lowered: the rules were checked, or somebody waived them by name.

use super::{Environment, Settings, check_required, validate_inlining};
use crate::diagnostic::Diagnostics;
use crate::module::{Constants, Declarations};
use crate::transform::Edited;
use crate::transform::inline::inline_barrier_functions;
use std::cell::OnceCell;

/// Which rules a module has to keep before it is lowered.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Validation {
    /// Those of the environment that the module is meant for: [`Environment::for_lowering`].
    #[default]
    Default,
    /// Those of this environment.
    Environment(Environment),
    /// None but those that code cannot be made without ([`super::rules::REQUIRED`]). A module that
    /// breaks another rule may never end, or compute anything.
    Waived,
}

/// A module that may be lowered. Only [`Checked::of`] makes one, from declarations and constants
/// without errors.
#[derive(Copy, Clone, Debug)]
pub struct Checked<'c> {
    declarations: &'c Declarations<'c>,
    constants: &'c Constants,
}

/// A module that has passed.
pub struct Passed<'c> {
    /// The module.
    pub checked: Checked<'c>,
    /// The module with its barrier functions inlined, which the rules may have asked for already.
    pub inlining: Inlining<'c>,
    /// What should be looked at; it has its places.
    pub warnings: Diagnostics,
}

impl<'c> Checked<'c> {
    /// Checks the rules that `validation` asks for.
    ///
    /// # Errors
    /// The rules that are broken, with the warnings.
    pub fn of(
        declarations: &'c Declarations<'c>,
        constants: &'c Constants,
        validation: Validation,
    ) -> Result<Passed<'c>, Diagnostics> {
        let mut found = Diagnostics::new();
        let inlining = Inlining::of(declarations);
        match validation {
            Validation::Default => {
                let settings = Settings::new(Environment::for_lowering(declarations));
                validate_inlining(&inlining, constants, &settings, &mut found);
            }
            Validation::Environment(environment) => {
                let settings = Settings::new(environment);
                validate_inlining(&inlining, constants, &settings, &mut found);
            }
            Validation::Waived => check_required(declarations, constants, &mut found),
        }
        if found.has_errors() {
            return Err(found);
        }
        Ok(Passed {
            checked: Checked {
                declarations,
                constants,
            },
            inlining,
            warnings: found,
        })
    }

    /// What the module declares.
    pub fn declarations(self) -> &'c Declarations<'c> {
        self.declarations
    }

    /// Its constants.
    pub fn constants(self) -> &'c Constants {
        self.constants
    }
}

/// A module with its barrier functions inlined: made when it is asked for, and once.
pub struct Inlining<'d> {
    declarations: &'d Declarations<'d>,
    edited: OnceCell<Result<Option<Edited>, Diagnostics>>,
}

impl<'d> Inlining<'d> {
    /// That of the module behind `declarations`.
    pub(super) fn of(declarations: &'d Declarations<'d>) -> Self {
        Inlining {
            declarations,
            edited: OnceCell::new(),
        }
    }

    /// The module that is inlined into.
    pub(super) fn original(&self) -> &'d Declarations<'d> {
        self.declarations
    }

    /// The inlined module; `None` when there is nothing to inline.
    pub(super) fn edited(&self) -> &Result<Option<Edited>, Diagnostics> {
        let declarations = self.declarations;
        self.edited
            .get_or_init(|| inline_barrier_functions(declarations.module, declarations))
    }

    /// The inlined module, which keeps the rules that the module keeps; `None` when there is
    /// nothing to inline.
    ///
    /// # Errors
    /// As [`inline_barrier_functions`].
    pub fn inlined(self) -> Result<Option<Inlined>, Diagnostics> {
        self.edited();
        let edited = self.edited.into_inner().transpose()?.flatten();
        Ok(edited.map(|edited| Inlined { edited }))
    }
}

/// A checked module whose barrier functions were inlined.
#[derive(Clone, Debug)]
pub struct Inlined {
    edited: Edited,
}

impl Inlined {
    /// The module, and where its instructions come from.
    pub fn edited(&self) -> &Edited {
        &self.edited
    }

    /// The module as one that may be lowered; `None` when `declarations` are those of another
    /// module.
    pub fn checked<'n>(
        &'n self,
        declarations: &'n Declarations<'n>,
        constants: &'n Constants,
    ) -> Option<Checked<'n>> {
        std::ptr::eq(declarations.module, &self.edited.module).then_some(Checked {
            declarations,
            constants,
        })
    }
}
