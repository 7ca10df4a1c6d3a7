//! Dataflow over the split graph: the copies, as bits, that must be complete at each event.
//!
//! The parts that copies write are numbered: a slot is a copy in the module and a place that it
//! writes. What the invocation itself does asks for the slots that it may touch. What others do is
//! bounded by the barriers: behind a wait they may come to whatever the code from there to the next
//! wait touches, and its arrive has released that. So an arrive asks for the slots that are touched
//! between its wait and the one after; the copies into other slots may stay outstanding.

use super::address::{Address, AddressValue, differ_by_a_constant};
use super::fill::Fills;
use super::scan::{Act, Scan};
use super::split::Split;
use crate::analysis::dataflow::{Direction, at, solve_any};
use crate::analysis::uniformity::Model;
use crate::module::{BlockIndex, BlockMap, WordOffset};
use std::collections::BTreeMap;
use std::ops::BitOr;

/// Slots that are told apart, a bit each; where there are more, a copy has one slot for all the
/// places that it writes.
const MOST_SLOTS: usize = 128;

/// A set of slots.
pub(super) type Slots = u128;

/// An event in a node of the split graph.
#[derive(Copy, Clone, Debug)]
pub(super) struct Event {
    /// Word offset of the instruction.
    pub(super) offset: WordOffset,
    pub(super) what: What,
    /// The slots that must be complete before it.
    pub(super) need: Slots,
    /// True if the invocation itself asks, and no release does.
    pub(super) is_own: bool,
}

/// What happens.
#[derive(Copy, Clone, Debug)]
pub(super) enum What {
    /// A copy into the slot with this number; the slots that others may meet there.
    Copy { slot: usize, touched: Slots },
    /// An access to the slots.
    Touch(Slots),
    /// Nothing that touches a slot.
    Release(Act),
}

/// The events of a function.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// By node of the split graph.
    pub(super) events: BlockMap<Vec<Event>>,
    /// The copy, by number among the candidates, that a slot belongs to.
    pub(super) copies: Vec<usize>,
    /// Behind each node's start: the slots that may be outstanding.
    pub(super) outstanding: BlockMap<Slots>,
    /// Slots of copies that fill in a loop, and may find what is left of an earlier run of the loop
    /// in their way.
    refilled: Slots,
}

/// What the flow is made from.
#[derive(Copy, Clone)]
pub(super) struct Input<'i> {
    pub(super) scan: &'i Scan,
    pub(super) model: &'i Model,
    pub(super) size: Option<[u32; 3]>,
    pub(super) split: &'i Split,
    /// Addresses of candidates and of accesses.
    pub(super) copies: &'i [Address],
    pub(super) accesses: &'i [Address],
    /// Candidates that fill a part in a loop.
    pub(super) fills: &'i Fills,
    /// Candidates that are copies; the others are accesses.
    pub(super) is_copy: &'i [bool],
}

impl Flow {
    pub(super) fn analyze(input: Input<'_>) -> Flow {
        let slots = SlotTable::analyze(input);
        let mut flow = Flow {
            events: input
                .split
                .nodes()
                .map(|node| slots.events(input, node))
                .collect(),
            copies: slots.copies.clone(),
            outstanding: BlockMap::default(),
            refilled: 0,
        };
        flow.ask(input);
        flow.outstanding = solve_any(&input.split.cfg, Direction::Forward, |node, mut state| {
            for event in flow.events.get(node).into_iter().flatten() {
                pass(&mut state, event);
            }
            state
        });
        flow.refilled = flow.refilled(input);
        flow
    }

    /// The slots of copies that fill, where a copy meets one from before its loop that may be
    /// outstanding still.
    fn refilled(&self, input: Input<'_>) -> Slots {
        let slots_of = |copy: usize| {
            let slots = self.copies.iter().enumerate();
            slots.fold(0, |mask: Slots, (slot, of)| {
                mask | Slots::from(*of == copy) << slot
            })
        };
        let blocks = &input.split.blocks;
        let entered = |node: BlockIndex| {
            let block = at(blocks, node);
            let copies = input.fills.entered_from(block);
            copies.fold(0, |mask: Slots, copy| mask | slots_of(copy))
        };
        // What was outstanding when control came into the loop.
        let before = |node: BlockIndex, mut before: Slots, met: &mut Slots| {
            let mut outstanding = at(&self.outstanding, node);
            for event in self.events.get(node).into_iter().flatten() {
                before &= !event.need;
                if let What::Copy { slot, touched } = event.what {
                    let copy = self.copies.get(slot).copied();
                    let own = copy.filter(|copy| input.fills.contains(*copy));
                    *met |= own.map_or(0, |copy| before & touched & slots_of(copy));
                }
                pass(&mut outstanding, event);
            }
            before | outstanding & entered(node)
        };
        let at_start = solve_any(&input.split.cfg, Direction::Forward, |node, state| {
            before(node, state, &mut 0)
        });
        let mut met = 0;
        for (node, state) in at_start.iter() {
            before(node, *state, &mut met);
        }
        met
    }

    /// Fills in what releases ask for.
    fn ask(&mut self, input: Input<'_>) {
        let ahead = solve_any(
            &input.split.cfg,
            Direction::Backward,
            |node, mut state: Ahead| {
                for event in self.events.get(node).into_iter().flatten().rev() {
                    state.pass(event);
                }
                state
            },
        );
        for (node, ahead) in ahead.iter() {
            let mut ahead = *ahead;
            for event in self.events.get_mut(node).into_iter().flatten().rev() {
                event.need |= ahead.pass(event);
            }
        }
    }

    /// For each event, in order, whether the invocation itself asks, and the slots that it asks for
    /// and that may be outstanding there.
    fn asked(&self) -> impl Iterator<Item = (bool, Slots)> {
        self.events
            .values()
            .zip(self.outstanding.values())
            .flat_map(|(events, outstanding)| {
                let mut outstanding = *outstanding;
                events.iter().map(move |event| {
                    let asked = event.need & outstanding;
                    pass(&mut outstanding, event);
                    (event.is_own, asked)
                })
            })
    }

    /// Candidates that the invocation itself would have to wait for, ascending.
    pub(super) fn waited_at_once(&self) -> Vec<usize> {
        let own = self
            .asked()
            .filter_map(|(is_own, asked)| is_own.then_some(asked));
        let slots = own.fold(self.refilled, |slots, asked| slots | asked);
        let copies = self.copies.iter().enumerate();
        let mut copies: Vec<usize> = copies
            .filter_map(|(slot, copy)| (slots >> slot & 1 == 1).then_some(*copy))
            .collect();
        copies.sort_unstable();
        copies.dedup();
        copies
    }

    /// Slots that are asked for at the same events, where they may be outstanding, have the same
    /// number.
    pub(super) fn classes(&self) -> Vec<usize> {
        let mut classes = vec![0; self.copies.len()];
        let mut masks: Vec<Slots> = self.asked().map(|(_, asked)| asked).collect();
        masks.sort_unstable();
        masks.dedup();
        for mask in masks {
            let mut numbers = BTreeMap::new();
            for (slot, class) in classes.iter_mut().enumerate() {
                let next = numbers.len();
                *class = *numbers.entry((*class, mask >> slot & 1)).or_insert(next);
            }
        }
        classes
    }
}

/// What an event does to the slots that may be outstanding.
pub(super) fn pass(outstanding: &mut Slots, event: &Event) {
    *outstanding &= !event.need;
    if let What::Copy { slot, .. } = event.what {
        *outstanding |= 1 << slot;
    }
}

/// The numbers of slots.
struct SlotTable {
    /// By copy and place.
    numbers: BTreeMap<(usize, AddressValue), usize>,
    /// By number: copy and place.
    places: Vec<(usize, AddressValue)>,
    copies: Vec<usize>,
    /// Slots of copies whose source may be written.
    unstable: Slots,
    /// Places are not told apart.
    is_coarse: bool,
}

impl SlotTable {
    fn analyze(input: Input<'_>) -> SlotTable {
        SlotTable::number(input, false).unwrap_or_else(|| {
            SlotTable::number(input, true).unwrap_or(SlotTable {
                numbers: BTreeMap::new(),
                places: Vec::new(),
                copies: Vec::new(),
                unstable: 0,
                is_coarse: true,
            })
        })
    }

    fn number(input: Input<'_>, is_coarse: bool) -> Option<SlotTable> {
        let mut table = SlotTable {
            numbers: BTreeMap::new(),
            places: Vec::new(),
            copies: Vec::new(),
            unstable: 0,
            is_coarse,
        };
        for (node, block) in input.split.blocks.iter() {
            for (_, act) in input.scan.acts.get(*block).into_iter().flatten() {
                let Act::Copy(copy) = *act else { continue };
                if !input.is_copy.get(copy).copied().unwrap_or(false) {
                    continue;
                }
                let place = table.place(input, copy, node)?;
                let next = table.places.len();
                if table.numbers.contains_key(&(copy, place.clone())) {
                    continue;
                }
                if next >= MOST_SLOTS {
                    return None;
                }
                table.numbers.insert((copy, place.clone()), next);
                table.places.push((copy, place));
                table.copies.push(copy);
                if input
                    .scan
                    .candidates
                    .get(copy)
                    .is_some_and(|copy| !copy.is_stable)
                {
                    table.unstable |= 1 << next;
                }
            }
        }
        Some(table)
    }

    fn place(&self, input: Input<'_>, copy: usize, node: BlockIndex) -> Option<AddressValue> {
        let address = input.copies.get(copy)?;
        Some(if self.is_coarse {
            AddressValue {
                variable: address.variable,
                indices: Vec::new(),
            }
        } else {
            address.place(input.model, input.size, input.split, node)
        })
    }

    /// The slots that `place` may overlap.
    fn overlapping(&self, place: &AddressValue) -> Slots {
        let slots = self.places.iter().enumerate();
        slots.fold(0, |mask, (slot, (_, other))| {
            mask | Slots::from(place.may_overlap(other)) << slot
        })
    }

    /// The events of `node`; what releases ask for is still to come, but for fences.
    fn events(&self, input: Input<'_>, node: BlockIndex) -> Vec<Event> {
        let block = at(&input.split.blocks, node);
        let acts = input.scan.acts.get(block).into_iter().flatten();
        let event = |(offset, act): &(WordOffset, Act)| {
            let (what, need, is_own) = match *act {
                Act::Copy(copy) => {
                    let address = input.copies.get(copy)?;
                    let place = address.place(input.model, input.size, input.split, node);
                    let touched = self.overlapping(&place);
                    let number = self
                        .place(input, copy, node)
                        .and_then(|place| self.numbers.get(&(copy, place)).copied());
                    match number {
                        Some(slot) => {
                            let own = touched & !self.beside(input, copy, address, node);
                            (What::Copy { slot, touched }, own, true)
                        }
                        None => (What::Touch(touched), touched, true),
                    }
                }
                Act::Access(access) => {
                    let address = input.accesses.get(access)?;
                    let place = address.place(input.model, input.size, input.split, node);
                    let touched = self.overlapping(&place);
                    (What::Touch(touched), touched, true)
                }
                Act::Write => (What::Release(*act), self.unstable, true),
                Act::Arrive { global } | Act::Barrier { global } => (
                    What::Release(*act),
                    if global { self.unstable } else { 0 },
                    false,
                ),
                Act::Wait => (What::Release(*act), 0, false),
                Act::Fence => (What::Release(*act), Slots::MAX, false),
            };
            Some(Event {
                offset: *offset,
                what,
                need,
                is_own,
            })
        };
        acts.filter_map(event).collect()
    }

    /// The slots that `copy` need not wait for in `node`, since they hold other bytes: what copies
    /// before it in its block have copied in the same run of the block, where the addresses differ
    /// by a constant. What is left in these slots from an earlier run has been asked for when they
    /// started again. Of a copy that fills, all of its own: what is left from an earlier iteration
    /// of the loop is elsewhere, and what is left from before the loop is looked for apart.
    fn beside(&self, input: Input<'_>, copy: usize, address: &Address, node: BlockIndex) -> Slots {
        let Some(this) = input.scan.candidates.get(copy) else {
            return 0;
        };
        let is_beside = |other: usize, place: &AddressValue| {
            if input.fills.contains(other) {
                return other == copy;
            }
            input
                .scan
                .candidates
                .get(other)
                .zip(input.copies.get(other))
                .is_some_and(|(that, there)| {
                    that.block == this.block
                        && that.store < this.store
                        && differ_by_a_constant(input.model, address, there)
                        && self.place(input, other, node).as_ref() == Some(place)
                })
        };
        let slots = self.places.iter().enumerate();
        slots.fold(0, |mask, (slot, (other, place))| {
            mask | Slots::from(is_beside(*other, place)) << slot
        })
    }
}

/// What lies ahead of a place.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Ahead {
    /// Touched before the next wait or barrier.
    here: Slots,
    /// Touched behind the next wait, before the one after it.
    behind_wait: Slots,
}

impl BitOr for Ahead {
    type Output = Ahead;

    fn bitor(self, other: Ahead) -> Ahead {
        Ahead {
            here: self.here | other.here,
            behind_wait: self.behind_wait | other.behind_wait,
        }
    }
}

impl Ahead {
    /// Goes back over `event`; what it asks for because of what lies ahead.
    fn pass(&mut self, event: &Event) -> Slots {
        match event.what {
            What::Copy { touched, .. } | What::Touch(touched) => {
                self.here |= touched;
                0
            }
            What::Release(Act::Wait) => {
                *self = Ahead {
                    here: 0,
                    behind_wait: self.here,
                };
                0
            }
            What::Release(Act::Arrive { .. }) => std::mem::take(&mut self.behind_wait),
            What::Release(Act::Barrier { .. }) => {
                // Inside of an open pair it orders what comes behind the wait as well.
                let asked = self.here | self.behind_wait;
                self.here = 0;
                asked
            }
            What::Release(Act::Copy(_) | Act::Access(_) | Act::Write | Act::Fence) => 0,
        }
    }
}
