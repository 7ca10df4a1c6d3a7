//! Profiles of barriers: how far apart the subgroups of a workgroup arrive at each one.
//!
//! The pass `instrument-barrier-skew` makes a kernel write clocks into a buffer, whose form
//! [`layout`] gives and `docs/profile.md` explains. [`Profile::read`] makes a [`Profile`] of a dump
//! of that buffer, and [`Profile::check`] holds it against the module that was instrumented.

mod distribution;
mod dump;
mod gpu;
mod hash;
pub mod layout;
mod retime;
mod sites;
#[cfg(test)]
mod tests;

pub use distribution::Distribution;
pub use gpu::Gpu;
pub use hash::module_hash;
pub use retime::retime;
pub use sites::{Site, SiteKind};

use crate::diagnostic::{Code, Diagnostic};
use crate::module::Declarations;
use dump::Dump;

/// The measurements of a dump, by barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// [`module_hash`] of the module that was instrumented.
    pub hash: u64,
    /// The GPU that it was recorded on; `None` if the dump does not contain it.
    pub gpu: Option<Gpu>,
    /// Records that the buffer can hold.
    pub capacity: u32,
    /// Records that the kernel made, modulo 2^32.
    pub written: u32,
    /// Records that newer ones have overwritten.
    pub lost: u32,
    /// The measured barriers, by the word offsets of arrive and wait.
    pub sites: Vec<Site>,
}

impl Profile {
    /// Reads a dump of the buffer: little-endian words from the first byte of the header on. Bytes
    /// behind the last record are not looked at. Takes time in proportion to `bytes.len()` (times
    /// its logarithm) and no more than twice its memory, whatever the header says.
    ///
    /// # Errors
    /// `NotAProfile`, `ProfileVersion`, `TruncatedProfile`, `DamagedProfile`, `RepeatedLaunch`:
    /// the first problem.
    pub fn read(bytes: &[u8]) -> Result<Profile, Diagnostic> {
        let dump = Dump::read(bytes)?;
        Ok(Profile {
            hash: dump.hash,
            gpu: dump.gpu,
            capacity: dump.capacity,
            written: dump.written,
            lost: dump.written.saturating_sub(dump.capacity),
            sites: sites::of(dump.records)?,
        })
    }

    /// Checks that the dump belongs to the module of `declarations`: the input of the
    /// instrumentation, not its output.
    ///
    /// # Errors
    /// `ForeignProfile` when the module has another hash, `DamagedProfile` when a site is not one
    /// of its barriers.
    pub fn check(&self, declarations: &Declarations<'_>) -> Result<(), Diagnostic> {
        let hash = module_hash(declarations.module);
        if hash != self.hash {
            return Err(Diagnostic::error(
                Code::ForeignProfile,
                "the dump belongs to another module",
            )
            .because(format!(
                "the hash of this module is {hash:#018x}, that of the dump's is {:#018x}",
                self.hash
            ))
            .help("give the module that was instrumented, not the one with the instrumentation"));
        }
        self.sites
            .iter()
            .try_for_each(|site| site.check(declarations.module))
    }
}
