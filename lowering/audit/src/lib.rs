//! Final assembly, read back: what the back end made of a plan.
//!
//! [`asm`] (the crate splitbar-assembly) reads the text, [`window`] counts what is left between
//! arrive and wait, [`waits`] finds what may be outstanding where, [`fences`] what is left of the
//! plan's fences, and [`verdict`] judges both.

pub mod fences;
pub mod verdict;
pub mod waits;
pub mod window;

pub use splitbar_assembly as asm;

use splitbar_passes::module::WordOffset;

/// Where in the module stands what `inst` came from.
fn word_of(inst: &asm::Instruction) -> Option<WordOffset> {
    inst.word.map(WordOffset::new)
}
