//! The reasons why arrives and waits are at their places: the instruction that the arrive cannot
//! pass going up, and the one that the wait cannot pass going down. It analyses the module after
//! motion.

use super::motion::Motion;
use super::travel::{HalfPosition, Limit, Way};
use crate::analysis::cfg::Cfg;
use crate::analysis::pairing::Pairing;
use crate::analysis::phases::{Aliasing, Body, Effects, Item, Role, Side};
use crate::diagnostic::Diagnostics;
use crate::module::{Constants, Declarations, SpecValues, WordOffset};
use crate::transform::inlined::entries;
use std::fmt;

/// The reason why an arrive or a wait stops moving.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The access at this word, in memory that the barrier orders: the other side of the barrier
    /// may touch the same, and one of the two writes.
    Conflict(WordOffset),
    /// The instruction at this word orders memory or execution itself, or is volatile.
    Orders(WordOffset),
    /// The half of a barrier at this word.
    Barrier(WordOffset),
    /// The end of a block: from there control comes to no place as often as to the barrier, or
    /// something on the path there conflicts.
    Paths,
    /// The pair has several arrives or waits, or they are not passed equally often.
    Several,
    /// Its operands are not known, or it is volatile.
    Operands,
}

impl Stop {
    /// The word of the instruction, where it is one.
    pub fn word(self) -> Option<WordOffset> {
        match self {
            Stop::Conflict(word) | Stop::Orders(word) | Stop::Barrier(word) => Some(word),
            Stop::Paths | Stop::Several | Stop::Operands => None,
        }
    }

    /// The reason in words. `at` is the place of the instruction, where there is one.
    pub fn described(self, at: &dyn fmt::Display) -> String {
        match self {
            Stop::Conflict(_) => {
                format!("the access at {at}, which conflicts with the other side")
            }
            Stop::Orders(_) => format!("the instruction at {at}, which orders memory"),
            Stop::Barrier(_) => format!("the barrier at {at}"),
            Stop::Paths => "the end of a block, after which paths differ or conflict".to_owned(),
            Stop::Several => "a path around a loop, or several arrives or waits".to_owned(),
            Stop::Operands => "its operands".to_owned(),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.word().map(|word| format!("word {word}"));
        f.write_str(&self.described(&at.unwrap_or_default()))
    }
}

/// The place of a pair of the workgroup, and the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Words of its arrives and waits, the first arrive's first.
    pub words: Vec<WordOffset>,
    /// Why the arrive goes no further up.
    pub arrive: Stop,
    /// Why the wait goes no further down.
    pub wait: Stop,
}

/// The reasons for the places of the workgroup's pairs in entry functions. With `orders_all`, every
/// barrier is assumed to order all memory, as by the pass. Empty if barriers break rules.
pub fn stops(declarations: &Declarations<'_>, orders_all: bool) -> Vec<Stopped> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    let mut stopped = Vec::new();
    for (entry, function) in entries(declarations) {
        let pairing = Pairing::analyse(declarations, &constants, entry, &mut diagnostics);
        if diagnostics.has_errors() {
            return Vec::new();
        }
        let cfg = Cfg::analyze(declarations.module, function);
        let effects = Effects::analyze(declarations, &constants, function, Aliasing::Possible);
        let body = Body::analyze(declarations, function, &effects, &pairing, orders_all);
        let mut motion = Motion::analyze(&body, &cfg, &|_| false);
        let zones = motion.zones();
        for (number, barrier) in body.barriers.iter().enumerate() {
            if barrier.waits.is_empty() {
                continue; // OpControlBarrier
            }
            let stop = |side| {
                if !barrier.is_known {
                    return Stop::Operands;
                }
                let limit = motion.limit(number, side, &zones);
                match (motion.place(number, side), limit) {
                    (Some(from), Some(limit)) if motion.can_move(number) => {
                        next(&motion, from, side, limit)
                    }
                    _ => Stop::Several,
                }
            };
            stopped.push(Stopped {
                words: [&barrier.arrives[..], &barrier.waits].concat(),
                arrive: stop(Side::Arrive),
                wait: stop(Side::Wait),
            });
        }
    }
    stopped
}

/// What a half that stands at `from` cannot pass.
fn next(motion: &Motion<'_>, from: HalfPosition, side: Side, limit: Limit) -> Stop {
    let way = match side {
        Side::Arrive | Side::Both => Way::Up,
        Side::Wait => Way::Down,
    };
    let body = &motion.body;
    let travel = motion.terrain.travel(body, from, way, limit, &mut 0);
    let items = body.block(travel.to.block);
    let index = travel.to.index;
    let item: Option<&Item> = match way {
        Way::Up => index.checked_sub(1).and_then(|index| items.get(index)),
        Way::Down if travel.to == from => items.get(index + 1),
        Way::Down => items.get(index),
    };
    match item {
        Some(Item {
            offset,
            role: Role::Half(..),
            ..
        }) => Stop::Barrier(*offset),
        Some(item) if item.role == Role::Plain && !limit.lets(item) => {
            if item.effect.ordering_barrier {
                Stop::Orders(item.offset)
            } else {
                Stop::Conflict(item.offset)
            }
        }
        _ => Stop::Paths,
    }
}
