//! A target machine that goes from one thread to another when nobody uses it.

use inkwell::targets::TargetMachine;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// A target machine that nobody uses.
pub(crate) struct Idle(TargetMachine);

// SAFETY: a target machine belongs to no context and to no thread; LLVM asks that one thread uses
// it at a time, and this one is used by none: all that can be done with it is to take it out.
unsafe impl Send for Idle {}

impl Idle {
    /// Puts `machine` away.
    pub(crate) fn new(machine: TargetMachine) -> Idle {
        Idle(machine)
    }
}

/// A target machine in use. Its user is one thread: it is not `Send`, as the machine is not.
pub(crate) struct InUse<B: FnMut(Idle)> {
    machine: ManuallyDrop<TargetMachine>,
    give_back: B,
}

impl<B: FnMut(Idle)> InUse<B> {
    /// Takes a machine out; `give_back` gets it when its use has ended.
    pub(crate) fn new(machine: Idle, give_back: B) -> InUse<B> {
        InUse {
            machine: ManuallyDrop::new(machine.0),
            give_back,
        }
    }
}

impl<B: FnMut(Idle)> Deref for InUse<B> {
    type Target = TargetMachine;

    fn deref(&self) -> &TargetMachine {
        &self.machine
    }
}

impl<B: FnMut(Idle)> Drop for InUse<B> {
    fn drop(&mut self) {
        // SAFETY: nobody sees the field behind this, which is the end of what owns it.
        let machine = unsafe { ManuallyDrop::take(&mut self.machine) };
        (self.give_back)(Idle(machine));
    }
}
