//! The effects of operations on a barrier object, and on a thread's seat at it.

use super::axiom::Axiom;
use super::machine::{Fault, Machine, Step};
use super::state::{flag, seat};

impl Machine {
    /// Barrier init.
    pub(super) fn init(&self, state: &mut [u8], object: usize, count: u8) {
        let layout = &self.layout;
        state[layout.expected(object)] = count;
        state[layout.arrived(object)] = 0;
        state[layout.flags(object)] = flag::INITIALISED;
        for other in 0..self.threads() {
            state[layout.seat(other, object)] &= !seat::ARRIVED;
        }
    }

    /// Barrier join.
    pub(super) fn join(&self, state: &mut [u8], thread: usize, object: usize) -> Result<(), Fault> {
        let layout = &self.layout;
        self.demand(state, object, Axiom::Initialised)?;
        if self.objects[object].exclusive {
            let objects = self.objects.iter().enumerate();
            for (other, _) in objects.filter(|(_, other)| other.exclusive) {
                let at = &mut state[layout.seat(thread, other)];
                if *at & seat::JOINED != 0 {
                    *at = *at & seat::ARRIVED | seat::LOST;
                }
            }
        }
        let at = &mut state[layout.seat(thread, object)];
        *at = *at & seat::ARRIVED | seat::JOINED;
        Ok(())
    }

    /// Barrier wait. Which of several completed phases it takes is not fixed: each is a way, oldest
    /// first.
    pub(super) fn wait(
        &self,
        state: &mut [u8],
        thread: usize,
        object: usize,
        way: u8,
    ) -> Result<Step, Fault> {
        self.demand(state, object, Axiom::Initialised)?;
        if self.objects[object].null {
            return Ok(Step::Done { ways: 1 });
        }
        let seat = self.joined(state, thread, object, Axiom::JoinedBeforeWait)?;
        let complete = seat >> seat::COMPLETE;
        let Some(left) = complete.checked_sub(1 + way) else {
            return Ok(Step::Blocked);
        };
        state[self.layout.seat(thread, object)] =
            seat & (seat::JOINED | seat::ARRIVED) | left << seat::COMPLETE;
        Ok(Step::Done { ways: complete })
    }

    /// Whether the phase of parity `parity` is complete: the one in progress has the other.
    pub(super) fn is_complete(
        &self,
        state: &[u8],
        object: usize,
        parity: u8,
    ) -> Result<bool, Fault> {
        self.demand(state, object, Axiom::Initialised)?;
        let current = u8::from(state[self.layout.flags(object)] & flag::PARITY != 0);
        Ok(current != parity & 1)
    }

    fn demand(&self, state: &[u8], object: usize, axiom: Axiom) -> Result<(), Fault> {
        if state[self.layout.flags(object)] & flag::INITIALISED == 0 {
            Err(Fault::Undefined(axiom))
        } else {
            Ok(())
        }
    }

    /// The thread's byte for an object that it must be joined to.
    fn joined(
        &self,
        state: &[u8],
        thread: usize,
        object: usize,
        axiom: Axiom,
    ) -> Result<u8, Fault> {
        let seat = state[self.layout.seat(thread, object)];
        if seat & seat::JOINED != 0 {
            Ok(seat)
        } else if seat & seat::LOST != 0 {
            Err(Fault::Undefined(Axiom::JoinNotLost))
        } else {
            Err(Fault::Undefined(axiom))
        }
    }

    /// Barrier arrive.
    pub(super) fn arrive(
        &self,
        state: &mut [u8],
        thread: usize,
        object: usize,
        expected: Option<u8>,
    ) -> Result<(), Fault> {
        let layout = &self.layout;
        self.demand(state, object, Axiom::FirstIsInit)?;
        if self.objects[object].null {
            return Ok(());
        }
        if let Some(expected) = expected {
            if expected <= state[layout.arrived(object)] {
                return Err(Fault::Undefined(Axiom::ExpectedAboveArrived));
            }
            state[layout.expected(object)] = expected;
        }
        // A wait after this arrive cannot take an earlier phase: this phase would lie between
        // (`PhasesSeparate`).
        let seat = &mut state[layout.seat(thread, object)];
        *seat &= (1 << seat::COMPLETE) - 1;
        if self.dropped[object] {
            *seat |= seat::ARRIVED;
        }
        state[layout.arrived(object)] = state[layout.arrived(object)].saturating_add(1);
        self.complete_if_full(state, object);
        Ok(())
    }

    /// Barrier drop.
    pub(super) fn drop(&self, state: &mut [u8], thread: usize, object: usize) -> Result<(), Fault> {
        let layout = &self.layout;
        self.demand(state, object, Axiom::FirstIsInit)?;
        if self.objects[object].null {
            return Ok(());
        }
        let seat = self.joined(state, thread, object, Axiom::JoinedBeforeDrop)?;
        if seat & seat::ARRIVED != 0 {
            return Err(Fault::Undefined(Axiom::CompleteBeforeDrop));
        }
        let expected = state[layout.expected(object)]
            .checked_sub(1)
            .ok_or(Fault::Undefined(Axiom::ExpectedNotNegative))?;
        state[layout.expected(object)] = expected;
        state[layout.seat(thread, object)] = 0;
        self.complete_if_full(state, object);
        Ok(())
    }

    fn complete_if_full(&self, state: &mut [u8], object: usize) {
        let layout = &self.layout;
        if state[layout.arrived(object)] != state[layout.expected(object)] {
            return;
        }
        state[layout.arrived(object)] = 0;
        if self.parity[object] {
            state[layout.flags(object)] ^= flag::PARITY;
        }
        for thread in 0..self.threads() {
            let seat = &mut state[layout.seat(thread, object)];
            *seat &= !seat::ARRIVED;
            if self.waited[object]
                && *seat & seat::JOINED != 0
                && *seat >> seat::COMPLETE < seat::MOST
            {
                *seat += 1 << seat::COMPLETE;
            }
        }
    }
}
