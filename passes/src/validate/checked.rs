//! The proof that a module may be lowered: the rules were checked, or somebody waived them by name.

use super::inlined::Inlined;
use super::{Environment, Settings, check_required, validate_program};
use crate::analysis::program::Program;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations};

/// The rules that a module must follow before it is lowered.
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

impl Validation {
    /// Whose rules those are; `None` for none but [`super::rules::REQUIRED`].
    fn environment(self, declarations: &Declarations<'_>) -> Option<Environment> {
        match self {
            Validation::Default => Some(Environment::for_lowering(declarations)),
            Validation::Environment(environment) => Some(environment),
            Validation::Waived => None,
        }
    }

    /// Checks the rules that need no control flow on a module that passes are about to change. The
    /// problems have words for places, and come in the order of the rules.
    pub fn check_static(
        self,
        declarations: &Declarations<'_>,
        constants: &Constants,
        found: &mut Diagnostics,
    ) {
        match self.environment(declarations) {
            Some(environment) => {
                let settings = Settings::new(environment);
                super::check_static(declarations, constants, &settings, found);
            }
            None => check_required(declarations, constants, found),
        }
    }

    /// Checks the rules on a module whose barrier functions cannot be inlined: those on one
    /// instruction, or the declarations.
    pub fn check_alone(
        self,
        declarations: &Declarations<'_>,
        constants: &Constants,
        found: &mut Diagnostics,
    ) {
        match self.environment(declarations) {
            Some(environment) => {
                super::validate(declarations, constants, &Settings::new(environment), found);
            }
            None => check_required(declarations, constants, found),
        }
    }
}

/// A module that may be lowered. Only [`Checked::validate`] makes one, from declarations and
/// constants without errors.
#[derive(Copy, Clone, Debug)]
pub struct Checked<'c> {
    program: &'c Program<'c>,
}

impl<'c> Checked<'c> {
    /// Checks the rules of `validation`: those for single instructions on the given module, those
    /// for control flow on `program`, the same module with its barrier functions inlined. Warnings
    /// and notes are included, and have their places.
    ///
    /// # Errors
    /// The rules that are broken, with the warnings; `Internal` for the program of another module.
    pub fn validate(
        inlined: &Inlined<'_>,
        program: &'c Program<'c>,
        validation: Validation,
    ) -> Result<(Checked<'c>, Diagnostics), Diagnostics> {
        if !inlined.is(program) {
            return Err(Diagnostic::bug("the program is not that of the inlined module").into());
        }
        let mut found = Diagnostics::new();
        match validation.environment(inlined.original) {
            Some(environment) => {
                validate_program(inlined, program, &Settings::new(environment), &mut found);
            }
            None => check_required(inlined.original, program.constants(), &mut found),
        }
        if found.has_errors() {
            return Err(found);
        }
        Ok((Checked { program }, found))
    }

    /// The module, with all barriers in entry functions.
    pub fn program(self) -> &'c Program<'c> {
        self.program
    }

    /// The declarations of the module.
    pub fn declarations(self) -> &'c Declarations<'c> {
        self.program.declarations()
    }

    /// Its constants.
    pub fn constants(self) -> &'c Constants {
        self.program.constants()
    }
}
