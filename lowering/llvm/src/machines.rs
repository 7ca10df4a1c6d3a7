//! Target machines, used again.
//!
//! A machine makes its tables when it is first used: which registers overlap, which types are
//! legal, what each operation becomes. For AMD GPUs that takes longer than the code of a small
//! kernel, and one compilation generates code up to three times. So a machine that has done its
//! work goes on a shelf, from which the next one with the same wishes takes it. It has one user at
//! a time: two threads have two machines.
//!
//! Machines of NVIDIA GPUs are used once: they number calls in their life, and the numbers stand in
//! comments of the code (`// callseq 2, 0`), which would tell what was compiled before.

use crate::Optimization;
use crate::ffi::{Idle, InUse};
use inkwell::targets::TargetMachine;
use splitbar_passes::diagnostic::Diagnostics;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// How many machines wait on the shelf. The one that was used least recently makes room.
const MOST_IDLE: usize = 4;

/// The machines that nobody uses; the one that was used last is the last one.
static SHELF: Mutex<Vec<(Key, Idle)>> = Mutex::new(Vec::new());

/// What a machine was made by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) triple: &'static str,
    pub(crate) cpu: &'static str,
    pub(crate) features: String,
    pub(crate) optimization: Optimization,
    /// True if the machine does the same for the second module as for the first.
    pub(crate) is_reused: bool,
}

/// A target machine, and the right to use it.
pub(crate) struct Machine(InUse<Box<dyn FnMut(Idle)>>);

impl Machine {
    /// A machine from the shelf, else one that `make` makes.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn take(
        key: Key,
        make: impl FnOnce(&Key) -> Result<TargetMachine, Diagnostics>,
    ) -> Result<Machine, Diagnostics> {
        let machine = match from_shelf(&key) {
            Some(machine) => machine,
            None => Idle::new(make(&key)?),
        };
        let give_back = move |machine| to_shelf(key.clone(), machine);
        Ok(Machine(InUse::new(machine, Box::new(give_back))))
    }
}

impl Deref for Machine {
    type Target = TargetMachine;

    fn deref(&self) -> &TargetMachine {
        &self.0
    }
}

fn from_shelf(key: &Key) -> Option<Idle> {
    let mut shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    let place = shelf.iter().rposition(|(of, _)| of == key)?;
    Some(shelf.remove(place).1)
}

fn to_shelf(key: Key, machine: Idle) {
    // What a panic has interrupted is not used again.
    if std::thread::panicking() || !key.is_reused {
        return;
    }
    let displaced = {
        let mut shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.push((key, machine));
        (shelf.len() > MOST_IDLE).then(|| shelf.remove(0))
    };
    // It is taken down while others use the shelf.
    drop(displaced);
}
