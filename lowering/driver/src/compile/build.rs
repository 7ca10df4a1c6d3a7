//! The stages that make code of a candidate.

use super::output::Output;
use super::plan::Candidate;
use super::request::Request;
use super::{lower, measure};
use crate::failure::Failure;
use crate::stage::Observer;

/// A candidate to code that is measured. What the audit finds wrong stands in the output until it
/// is accepted.
///
/// # Errors
/// Unsupported instructions, at their places, and LLVM's own errors.
pub(super) fn build(
    candidate: Candidate<'_, '_>,
    request: Request<'_>,
    observer: &mut dyn Observer,
) -> Result<Output, Failure> {
    let mut code = lower::lower(candidate, request, observer)?;
    let measured = measure::measure(&mut code, request, observer);
    let measured = measured.map_err(|refused| code.candidate.problems.and(refused))?;
    Ok(Output::new(code, measured, request))
}
