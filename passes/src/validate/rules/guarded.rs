//! Accesses that a Boolean may leave out (SPV_INTEL_predicated_io,
//! SPV_INTEL_masked_gather_scatter).

use super::super::{Check, Rule};
use crate::analysis::guarded;
use crate::diagnostic::Code;

/// Predicated loads and stores.
pub(super) const PREDICATED: Rule = Rule {
    code: Code::PredicatedAccess,
    vuid: None,
    text: include_str!("explain/SB1701.md"),
    check: Check::Module(|context, to| {
        for (inst, message) in guarded::predicated(context.declarations) {
            to.push(PREDICATED.error(context, inst, message));
        }
    }),
};

/// Gathers and scatters.
pub(super) const MASKED: Rule = Rule {
    code: Code::MaskedAccess,
    vuid: None,
    text: include_str!("explain/SB1702.md"),
    check: Check::Module(|context, to| {
        for (inst, message) in guarded::masked(context.declarations) {
            to.push(MASKED.error(context, inst, message));
        }
    }),
};

/// Capabilities of both.
pub(super) const CAPABILITY: Rule = Rule {
    code: Code::GuardedCapability,
    vuid: None,
    text: include_str!("explain/SB1703.md"),
    check: Check::Module(|context, to| {
        let declarations = context.declarations;
        let found = guarded::undeclared_predicated(declarations);
        for (inst, message) in found
            .into_iter()
            .chain(guarded::undeclared_masked(declarations))
        {
            to.push(CAPABILITY.error(context, inst, message));
        }
    }),
};
