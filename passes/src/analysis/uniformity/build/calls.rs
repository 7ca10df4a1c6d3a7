//! Calls that are followed, and how far.

use crate::analysis::cfg::Cfg;
use crate::module::Id;
use std::collections::BTreeMap;

/// Most instructions that all calls of a function take.
const MOST_INSTRUCTIONS: usize = 1 << 12;

/// What is known of the callees of one function.
#[derive(Debug)]
pub(super) struct Calls {
    /// The graph of each callee that can be followed; `None` for the others.
    pub(super) callees: BTreeMap<Id, Option<Cfg>>,
    /// The calls that are being followed, outermost first.
    pub(super) inside: Vec<Id>,
    /// Instructions that may still be taken.
    pub(super) left: usize,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls {
            callees: BTreeMap::new(),
            inside: Vec::new(),
            left: MOST_INSTRUCTIONS,
        }
    }
}
