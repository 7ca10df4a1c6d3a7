//! VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13558: an arrive or a wait of scope Workgroup is in
//! uniform control flow. SPIR-V requires the same of OpControlBarrier: behavior is undefined unless
//! all invocations of the workgroup execute the same dynamic instance.
//!
//! The hardware counts arrivals. If an invocation never arrives, the others wait forever; if it
//! arrives too often, they continue too early.
//!
//! Bad, in a workgroup of 64: `if (gl_LocalInvocationIndex < 16) controlBarrierWait(...)`. Good:
//! the same `if` around the work alone, or a condition that all invocations of the workgroup agree
//! on.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::flow::trace::Trace;
use super::flow::{Entry, severity};
use crate::analysis::uniformity::Cause;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::Scope;

/// The rule in the specification.
pub(super) const VUID: &str = "VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13558";

/// The rule for OpControlBarrier, which has no VUID.
const SPIRV: &str = "SPIR-V, Barrier Instructions, OpControlBarrier: with an execution scope of Workgroup, behavior is undefined unless all invocations of the workgroup execute the same dynamic instance of it";

pub(super) fn check(
    entry: &Entry<'_, '_>,
    trace: Option<&Trace>,
    strict: bool,
    diagnostics: &mut Diagnostics,
) {
    for (site, event) in entry.events.iter().enumerate() {
        if event.scope != Scope::Workgroup || entry.uniformity.block(event.block).is_none() {
            continue;
        }
        if trace.is_some_and(|trace| trace.is_alike(site)) {
            continue;
        }
        let differs = trace.and_then(|trace| trace.differs(site));
        let word = entry.word(event.offset);
        let name = entry
            .original
            .module
            .at(word)
            .map_or_else(String::new, |inst| entry.original.op_name(inst));
        let message = match differs {
            Some(_) => format!(
                "{name} is not in uniform control flow: in every workgroup, some invocations execute it and others do not"
            ),
            None => format!("{name} may not be in uniform control flow"),
        };
        let code = if event.pairs() {
            Code::NonUniformSplitBarrier
        } else {
            Code::NonUniformBarrier
        };
        let mut problem = severity(Diagnostic::error(code, message), differs.is_some(), strict)
            .at_word(word)
            .help("move it out of the branch, or use a condition that is uniform in the workgroup");
        problem.vuid = event.pairs().then_some(VUID);
        problem.reasons = entry.reasons_of_block(event.block);
        if let Some(Cause::Branch(block)) = entry.uniformity.block(event.block) {
            problem.reasons.extend(entry.open_constants(block));
        }
        if let Some((more, fewer)) = differs {
            problem.witness.extend([
                format!("the invocation with LocalInvocationIndex {more} executes it").into(),
                format!("the invocation with LocalInvocationIndex {fewer} does not, or less often")
                    .into(),
            ]);
        } else if !event.pairs() {
            problem.witness = entry.path_past(event);
        }
        if !event.pairs() {
            problem.reasons.push(SPIRV.to_owned());
        }
        diagnostics.push(problem);
    }
}
