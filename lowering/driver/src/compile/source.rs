//! The first stage: bytes to a module that is read, normal and declared.

use super::normalize::{NORMALIZATION, normalize};
use super::problems::Problems;
use super::slot::fill;
use crate::failure::Failure;
use crate::stage::{Artefact, Observer, Stage, show};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use std::cell::OnceCell;
use tracing::info_span;

/// The storage that a [`Source`] borrows from.
#[derive(Default)]
pub(crate) struct SourceSlots<'w> {
    given: OnceCell<Module<'w>>,
    normalized: OnceCell<Module<'static>>,
    declarations: OnceCell<Declarations<'w>>,
    constants: OnceCell<Constants>,
}

/// A module that was read.
#[derive(Clone)]
pub(crate) struct Source<'w> {
    /// Its declarations.
    pub(crate) declarations: &'w Declarations<'w>,
    /// Its constants under the specialization that is wanted.
    pub(crate) constants: &'w Constants,
    /// True for the skeleton of a module in LLVM IR: it has the barriers, and no accesses.
    pub(crate) is_skeleton: bool,
    /// Warnings and notes.
    pub(crate) found: Diagnostics,
}

impl<'w> Source<'w> {
    /// Reads a module: instructions, then declarations, then the constants that these
    /// specialization values give; each needs the one before.
    ///
    /// # Errors
    /// What makes declarations or constants less than whole: everything that follows relies on
    /// them.
    pub(crate) fn read(
        slots: &'w SourceSlots<'w>,
        bytes: &'w [u8],
        spec: &SpecValues,
        workgroup_size: Option<[u32; 3]>,
        observer: &mut dyn Observer,
    ) -> Result<Source<'w>, Failure> {
        let _span = info_span!("read").entered();
        observer.begin(Stage::Read);
        show(observer, Artefact::Input, || bytes.to_vec());
        let mut module = fill(&slots.given, Module::parse(bytes)?);
        let mut found = Diagnostics::new();
        let mut declarations = Declarations::new(module, &mut found);
        if !found.has_errors()
            && let Some(normalized) = normalize(&declarations)?
        {
            module = fill(&slots.normalized, normalized);
            declarations = Declarations::of_made(module, NORMALIZATION)?;
        }
        let declarations = fill(&slots.declarations, declarations);
        let constants = declarations.specialized(spec, workgroup_size, &mut found);
        let constants = fill(&slots.constants, constants);
        let mut problems = Problems::new(declarations, Diagnostics::new());
        problems.take(found)?;
        show(observer, Artefact::Disassembly, || {
            disassembly(module, declarations).into_bytes()
        });
        Ok(Source {
            declarations,
            constants,
            is_skeleton: false,
            found: problems.take_all(),
        })
    }

    /// The problems so far, to which later stages add.
    pub(crate) fn problems(&self) -> Problems<'w> {
        Problems::new(self.declarations, self.found.clone())
    }

    /// The module.
    pub(crate) fn module(&self) -> &'w Module<'w> {
        self.declarations.module
    }
}

/// One instruction on a line, its word offset in front.
fn disassembly(module: &Module<'_>, declarations: &Declarations<'_>) -> String {
    module
        .instructions()
        .map(|inst| format!("{:>8}  {}\n", inst.offset, declarations.disassemble(inst)))
        .collect()
}
