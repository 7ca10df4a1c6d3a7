//! Computes the places where pairs of the workgroup are open.

use super::body::{Body, Role, Side};
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Direction, solve_any};
use crate::module::{BlockIndex, BlockMap};
use std::ops::BitOr;

/// The possible states of a place: the last barrier instruction before it, on some path, is an
/// arrive or a wait.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    may_be_open: bool,
    may_be_closed: bool,
}

impl Open {
    const OPEN: Open = Open {
        may_be_open: true,
        may_be_closed: false,
    };
    const CLOSED: Open = Open {
        may_be_open: false,
        may_be_closed: true,
    };

    /// Returns true if no path comes with an open pair.
    pub fn is_closed(self) -> bool {
        !self.may_be_open
    }

    fn pass(self, role: Role) -> Open {
        match role {
            Role::Half(_, Side::Arrive) => Open::OPEN,
            Role::Half(_, Side::Wait) => Open::CLOSED,
            Role::Half(_, Side::Both) | Role::First | Role::Plain | Role::Last => self,
        }
    }
}

impl BitOr for Open {
    type Output = Open;

    fn bitor(self, other: Open) -> Open {
        Open {
            may_be_open: self.may_be_open || other.may_be_open,
            may_be_closed: self.may_be_closed || other.may_be_closed,
        }
    }
}

/// The answer for each block of a body.
#[derive(Clone, Debug)]
pub struct Openness<'b> {
    body: &'b Body,
    at_start: BlockMap<Open>,
}

impl<'b> Openness<'b> {
    /// Analyses `body`, whose blocks are those of `cfg`.
    pub fn analyze(body: &'b Body, cfg: &Cfg) -> Openness<'b> {
        let pass = |block, open: Open| {
            let open = if block == BlockIndex::ENTRY {
                open | Open::CLOSED
            } else {
                open
            };
            let items = body.block(block).iter();
            items.fold(open, |open, item| open.pass(item.role))
        };
        let mut at_start = solve_any(cfg, Direction::Forward, pass);
        if let Some(first) = at_start.get_mut(BlockIndex::ENTRY) {
            *first = *first | Open::CLOSED;
        }
        Openness { body, at_start }
    }

    /// At the end of block `block`.
    pub fn at_end(&self, block: BlockIndex) -> Open {
        let start = self.at_start.get(block).copied().unwrap_or_default();
        let items = self.body.block(block).iter();
        items.fold(start, |open, item| open.pass(item.role))
    }

    /// Returns true if barrier `number`, an OpControlBarrier of the workgroup, may be in a window.
    pub fn is_in_a_window(&self, number: usize) -> bool {
        self.any(|open, role| open.may_be_open && role == Role::Half(number, Side::Both))
    }

    /// Returns true if arrives and waits alternate on all paths (VUIDs 13559 to 13561).
    pub fn alternates(&self) -> bool {
        !self.any(|open, role| match role {
            Role::Half(_, Side::Arrive) => open.may_be_open,
            Role::Half(_, Side::Wait) => open.may_be_closed,
            Role::Half(_, Side::Both) | Role::First | Role::Plain | Role::Last => false,
        })
    }

    fn any(&self, found: impl Fn(Open, Role) -> bool) -> bool {
        self.at_start.iter().any(|(block, open)| {
            let mut open = *open;
            self.body.block(block).iter().any(|item| {
                let is_found = found(open, item.role);
                open = open.pass(item.role);
                is_found
            })
        })
    }
}
