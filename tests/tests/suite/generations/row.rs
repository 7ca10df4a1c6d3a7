//! One row of the tables: the code to compile, and the expectation for each target.

use splitbar::Options;

/// One thing that is compiled, everywhere.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) kernel: Kernel,
    pub(super) options: fn(&mut Options),
    pub(super) text: Text,
    pub(super) on: Cases,
}

/// Makes a module.
pub(super) type Kernel = fn() -> anyhow::Result<Vec<u8>>;

/// Targets, as regular expressions for the whole name, and their expectation.
pub(super) type Cases = &'static [(&'static [&'static str], Expected)];

/// The text to search.
#[derive(Copy, Clone)]
pub(super) enum Text {
    Assembly,
    Ir,
}

/// The expectation of a row for a target.
pub(super) enum Expected {
    /// Lines in this order (`splitbar_tests::check`).
    Lines(&'static [&'static str]),
    /// A diagnostic with this text.
    Refused(&'static str),
}

/// A row that looks at the assembly.
pub(super) const fn asm(
    name: &'static str,
    kernel: Kernel,
    options: fn(&mut Options),
    on: Cases,
) -> Row {
    Row {
        name,
        kernel,
        options,
        text: Text::Assembly,
        on,
    }
}

/// A row that looks at the LLVM IR.
pub(super) const fn ir(
    name: &'static str,
    kernel: Kernel,
    options: fn(&mut Options),
    on: Cases,
) -> Row {
    Row {
        text: Text::Ir,
        ..asm(name, kernel, options, on)
    }
}

pub(super) fn nothing(_: &mut Options) {}

pub(super) fn promoted(options: &mut Options) {
    options.promote_async_copies = true;
}
