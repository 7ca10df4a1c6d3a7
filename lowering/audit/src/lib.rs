//! Audits final assembly: checks that the back end has implemented the plan.
//!
//! [`asm`] (the crate splitbar-assembly) reads the text. [`window`] counts the instructions that
//! are left between an arrive and its wait, [`waits`] finds the memory operations that may be
//! outstanding at each instruction, and [`fences`] finds the fences of the plan that are left.
//! [`verdict`] judges both; read [`verdict::audit`] first.
//!
//! ```
//! use splitbar_audit::{asm, verdict};
//! use splitbar_plan::{Placement, Target};
//! use std::collections::BTreeMap;
//!
//! let target = Target::by_name("gfx1201").ok_or("no such target")?;
//! let text = "\t.type k,@function\nk:\n\tds_store_b32 v0, v1\n\ts_barrier_signal -1\n\ts_barrier_wait -1\n\ts_endpgm\n";
//! let functions = asm::parse(text, &target.arch).map_err(|error| error.to_string())?;
//! let audit = verdict::audit(&functions[0], &target.arch, Placement::Default, &BTreeMap::new())?;
//! // The store may be outstanding when others are told that it has happened.
//! assert_eq!(audit.barriers[0].outstanding.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
