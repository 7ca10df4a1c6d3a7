//! Profiles of barriers from the simulator: a module with clocks around its barriers, the buffer
//! that it writes, and the dump of that buffer in one time for each workgroup.
//!
//! The launch has [`Clocks::Wave`](splitbar_sim::Clocks::Wave), so that the schedule is in no
//! figure: skew is the work by which waves differ before they arrive.

use super::job::Job;
use crate::launch::BufferName;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::profile::layout::{HEADER_WORDS, RECORD_WORDS};
use splitbar_passes::profile::retime;
use splitbar_passes::transform::registry::{INSTRUMENT_BARRIER_SKEW, PassOptions};
use std::collections::BTreeSet;

/// A module with clocks around its barriers.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The module.
    pub module: Vec<u8>,
    /// The place of its buffer.
    pub place: BufferName,
}

/// Puts the clocks into the module `bytes`, and their buffer into the first descriptor set that it
/// does not use.
///
/// # Errors
/// What is wrong with the module; `NotAProfile` when it has no barrier of a workgroup; what the
/// pass `instrument-barrier-skew` refuses.
pub fn instrument(bytes: &[u8]) -> Result<Measured, Diagnostics> {
    let module = Module::parse(bytes)?.into_owned();
    let set = free_set(&module)?;
    let pass = INSTRUMENT_BARRIER_SKEW;
    // The dump names the GPU: only the code that comes of the module knows its waves.
    let options = PassOptions::Clocks {
        set,
        binding: 0,
        gpu: None,
    };
    let step = Step { pass, options };
    let outcome = pipeline::run(module, &[step], Settings::IN_COMPILATIONS, &mut |_, _| {})?;
    if !outcome.ran.iter().any(|ran| ran.changed) {
        return Err(Diagnostic::error(
            Code::NotAProfile,
            "the module has no barrier that can be measured",
        )
        .because("only barriers with the execution scope Workgroup can be measured")
        .help("simulate the module without a profile")
        .into());
    }
    Ok(Measured {
        module: outcome.module.to_bytes(),
        place: BufferName::Binding(set, 0),
    })
}

/// The smallest descriptor set that no variable is in.
fn free_set(module: &Module<'_>) -> Result<u32, Diagnostics> {
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(module, &mut problems);
    if problems.has_errors() {
        return Err(problems);
    }
    let set = spirv::Decoration::DescriptorSet;
    let sets = declarations.variables.iter();
    let used: BTreeSet<u32> = sets
        .filter_map(|variable| declarations.decoration(variable.id, set))
        .collect();
    let free = (0..u32::MAX).find(|set| !used.contains(set));
    Ok(free.unwrap_or(u32::MAX)) // a module has fewer variables
}

/// The buffer for so many records, as the host gives it to the kernel.
pub fn empty_buffer(records: u32) -> Vec<u8> {
    let words = HEADER_WORDS as usize + records as usize * RECORD_WORDS as usize;
    vec![0; 4 * words]
}

/// The dump of the buffer that a launch of `job` with
/// [`Clocks::Wave`](splitbar_sim::Clocks::Wave) left.
///
/// # Errors
/// As [`retime`].
pub fn dump(buffer: &[u8], job: &Job) -> Result<Vec<u8>, Diagnostic> {
    retime(buffer, job.gpu())
}
