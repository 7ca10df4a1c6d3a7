//! Accesses under a predicate or a mask (SPV_INTEL_predicated_io,
//! SPV_INTEL_masked_gather_scatter).

use super::super::{Check, Context, Rule};
use crate::analysis::guarded;
use crate::diagnostic::{Code, Diagnostics};

/// Predicated loads and stores.
pub(super) const PREDICATED: Rule = Rule {
    code: Code::PredicatedAccess,
    vuid: None,
    text: include_str!("explain/SB1701.md"),
    check: Check::Module(|context, to| {
        let found = guarded::predicated(context.declarations);
        report(&PREDICATED, context, found, to);
    }),
};

/// Gathers and scatters.
pub(super) const MASKED: Rule = Rule {
    code: Code::MaskedAccess,
    vuid: None,
    text: include_str!("explain/SB1702.md"),
    check: Check::Module(|context, to| {
        let found = guarded::masked(context.declarations);
        report(&MASKED, context, found, to);
    }),
};

/// The capabilities of both extensions.
pub(super) const CAPABILITY: Rule = Rule {
    code: Code::GuardedCapability,
    vuid: None,
    text: include_str!("explain/SB1703.md"),
    check: Check::Module(|context, to| {
        let declarations = context.declarations;
        for found in [
            guarded::undeclared_predicated(declarations),
            guarded::undeclared_masked(declarations),
        ] {
            report(&CAPABILITY, context, found, to);
        }
    }),
};

fn report(
    rule: &Rule,
    context: &Context<'_, '_>,
    found: Vec<guarded::Problem<'_>>,
    to: &mut Diagnostics,
) {
    for (inst, message, help) in found {
        let error = rule.error(context, inst, message);
        to.push(guarded::advised(error, inst, help));
    }
}
