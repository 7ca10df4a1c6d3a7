//! Compares the cost of all strategies for a kernel on a GPU, and recommends one.

mod advice;
mod plain;
mod strategies;
mod written;

pub use advice::{Advice, Candidate, Estimated, Estimator, Faster, Refused};

use crate::compile::{Known, ProfileSites, Source, SourceSlots};
use crate::failure::Failure;
use crate::options::{Options, SplitBarriers};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::Strategy;
use strategies::compiled;

/// Advises on each entry point with workgroup barriers: a strategy for its pairs and, with
/// [`SplitBarriers::Auto`], the effect of splitting its plain barriers. An entry point with both
/// gets an advice for each. The strategy in `options` is ignored. The `estimator` estimates the
/// time of each possible strategy.
///
/// # Errors
/// As [`Compiler::compile`](crate::Compiler::compile) with the strategy `fused`, or with another
/// one for a reason that lies not in the strategy.
pub fn advise(
    bytes: &[u8],
    options: &Options,
    mut estimator: Option<Estimator<'_>>,
) -> Result<(Vec<Advice>, Diagnostics), Failure> {
    let slots = SourceSlots::default();
    let (spec, size) = (&options.spec, options.workgroup_size);
    let source = Source::read(&slots, bytes, spec, size, &mut ())?;
    let sites = ProfileSites::read(options, &source)?;
    let as_written = Options {
        split_barriers: match options.split_barriers {
            SplitBarriers::Auto => SplitBarriers::Never,
            other => other,
        },
        ..options.clone()
    };
    let known = Known {
        given: source.module(),
        sites: &sites,
        options: &as_written,
    };
    let fused = compiled(bytes, &as_written, Strategy::Fused)?;
    for entry in fused.entries() {
        sites.check(&entry.plan).map_err(Failure::from)?;
    }
    let mut warnings = fused.warnings().clone();
    warnings.extend(sites.doubts.clone());
    let mut all = written::written(bytes, &as_written, &fused, known, &mut estimator)?;
    if options.split_barriers == SplitBarriers::Auto {
        let known = Known { options, ..known };
        all.extend(plain::plain(bytes, options, &fused, known, &mut estimator)?);
    }
    all.sort_by_key(|(index, _)| *index);
    Ok((
        all.into_iter().map(|(_, advice)| advice).collect(),
        warnings,
    ))
}
