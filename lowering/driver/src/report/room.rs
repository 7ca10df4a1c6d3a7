//! Divides the room of a report among kernels.

use splitbar_passes::module::Module;

/// Versions of a kernel whose code is shown, at most.
pub(super) const SHOWN: usize = 2;

/// The most slices of all timelines together.
const MOST_SLICES: usize = 36_000;

/// The most slices of one timeline.
const MOST_OF_TIMELINE: usize = 9_000;

/// The most lines of code of all versions together.
const MOST_LINES: usize = 16_000;

/// The most lines of code of one version.
const MOST_OF_VERSION: usize = 4_000;

/// The room for what a report has of each kernel.
#[derive(Copy, Clone, Debug)]
pub(super) struct Room {
    /// Slices of one timeline.
    pub(super) slices: usize,
    /// Lines of the code of one version.
    pub(super) lines: usize,
}

impl Room {
    /// The room in a report on `module` for so many GPUs.
    pub(super) fn new(module: &Module<'_>, targets: usize) -> Room {
        let instructions = module.instructions();
        let entries = instructions.filter(|inst| inst.op() == Some(spirv::Op::EntryPoint));
        let shown = entries.count().max(1) * targets.max(1) * SHOWN;
        Room {
            slices: (MOST_SLICES / shown).clamp(100, MOST_OF_TIMELINE),
            lines: (MOST_LINES / shown).clamp(100, MOST_OF_VERSION),
        }
    }
}
