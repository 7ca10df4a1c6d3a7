//! Protocols that are worth knowing, good ones and bad ones, written by hand. What splitbar lowers
//! is modelled from its own steps, in `splitbar-plan`.

use super::object::Object;
use super::program::{Op, Program, Register, Value, Word};
use super::protocol::{Protocol, Wave};

/// What a wave does at one place.
type Part = fn(&mut Program, Wave);

/// A protocol of this catalogue.
#[derive(Copy, Clone, Debug)]
pub struct Known {
    /// Its name in tables.
    pub name: &'static str,
    /// The objects beside object 0, which is the full barrier.
    objects: fn(u8) -> Vec<Object>,
    words: &'static [&'static str],
    entry: Part,
    arrive: Part,
    wait: Part,
}

/// The full barrier.
const FULL: u8 = 0;

/// The object of protocols that have one beside the full barrier.
const OWN: u8 = 1;

/// The shared counter of protocols that have one.
const COUNTER: Word = Word(0);

/// What shared memory holds at launch: anything.
const GARBAGE: u8 = 77;

/// Which set of barriers is next, which parity, or which target.
const PHASE: Register = Register(0);

/// What the counter was before a wave added to it.
const OLD: Register = Register(1);

/// All protocols of the catalogue.
pub const ALL: &[Known] = &[
    FUSED_AT_WAIT,
    FUSED_AT_ARRIVE,
    SYMMETRIC_NAMED,
    SYMMETRIC_NAMED_TWICE,
    WARP_NAMED,
    WARP_NAMED_DOUBLE,
    GROUP_NAMED,
    GROUP_NAMED_DOUBLE,
    COUNTER_AT_ARRIVE,
    COUNTER_AT_WAIT,
    COUNTER_RESET,
    COUNTER_WAKE,
    MBARRIER,
    MBARRIER_UNFLIPPED,
    SIGNAL_WAIT,
    NAMED_OBJECT,
    NAMED_OBJECT_UNPUBLISHED,
    CLUSTER_OF_ONE,
];

/// No objects, no words, nothing done.
const EMPTY: Known = Known {
    name: "",
    objects: |_| vec![],
    words: &[],
    entry: |_, _| {},
    arrive: |_, _| {},
    wait: |_, _| {},
};

/// One full barrier at the wait.
pub const FUSED_AT_WAIT: Known = Known {
    name: "fused at the wait",
    wait: |program, _| sync(program, FULL),
    ..EMPTY
};

/// One full barrier at the arrive.
pub const FUSED_AT_ARRIVE: Known = Known {
    name: "fused at the arrive",
    arrive: |program, _| sync(program, FULL),
    ..EMPTY
};

/// Every warp executes `bar.arrive 1, N` and later `bar.sync 1, N`. Wrong: a sync is an arrival
/// too.
pub const SYMMETRIC_NAMED: Known = Known {
    name: "`bar.arrive` and `bar.sync` on one barrier, count N",
    objects: |waves| vec![Object::cta(1, waves)],
    arrive: |program, _| arrive(program, OWN),
    wait: |program, _| sync(program, OWN),
    ..EMPTY
};

/// The same with a count of 2 N: right, and a full barrier at the wait.
pub const SYMMETRIC_NAMED_TWICE: Known = Known {
    name: "`bar.arrive` and `bar.sync` on one barrier, count 2N",
    objects: |waves| vec![Object::cta(1, 2 * waves)],
    ..SYMMETRIC_NAMED
};

/// A named barrier per warp: everybody else arrives on it, its owner syncs. One set of barriers.
pub const WARP_NAMED: Known = Known {
    name: "named barrier per warp, one set",
    objects: |waves| named(waves, waves),
    arrive: |program, wave| arrive_on_others(program, wave, wave.count, 1),
    wait: |program, wave| sync_own(program, wave, wave.count, 1),
    ..EMPTY
};

/// The same with two sets in turn.
pub const WARP_NAMED_DOUBLE: Known = Known {
    name: "named barrier per warp, two sets",
    objects: |waves| named(waves, 2 * waves),
    arrive: |program, wave| arrive_on_others(program, wave, wave.count, 2),
    wait: |program, wave| sync_own(program, wave, wave.count, 2),
    ..EMPTY
};

/// A named barrier per group of warps, in two groups. One set of barriers.
pub const GROUP_NAMED: Known = Known {
    name: "named barrier per group, one set",
    objects: |waves| named(waves, 2),
    arrive: |program, wave| arrive_on_others(program, wave, 2, 1),
    wait: |program, wave| sync_own(program, wave, 2, 1),
    ..EMPTY
};

/// The same with two sets in turn.
pub const GROUP_NAMED_DOUBLE: Known = Known {
    name: "named barrier per group, two sets",
    objects: |waves| named(waves, 4),
    arrive: |program, wave| arrive_on_others(program, wave, 2, 2),
    wait: |program, wave| sync_own(program, wave, 2, 2),
    ..EMPTY
};

/// A shared counter that only grows, and a target per wave that the arrive raises.
pub const COUNTER_AT_ARRIVE: Known = Known {
    name: "counter, target raised at the arrive",
    words: &["counter"],
    entry: clear_counter,
    arrive: |program, wave| {
        raise_target(program, wave);
        add_one(program, None);
    },
    wait: |program, _| {
        program.push(Op::AwaitReached(COUNTER, PHASE.into()));
    },
    ..EMPTY
};

/// The same with a target that the wait raises.
pub const COUNTER_AT_WAIT: Known = Known {
    name: "counter, target raised at the wait",
    arrive: |program, _| add_one(program, None),
    wait: |program, wave| {
        raise_target(program, wave);
        program.push(Op::AwaitReached(COUNTER, PHASE.into()));
    },
    ..COUNTER_AT_ARRIVE
};

/// A shared counter that whoever leaves sets back to zero. Wrong.
pub const COUNTER_RESET: Known = Known {
    name: "counter, reset after use",
    wait: |program, wave| {
        program.push(Op::AwaitEqual(COUNTER, wave.count.into()));
        program.push(Op::Store(COUNTER, 0.into()));
    },
    ..COUNTER_AT_WAIT
};

/// A shared counter; the last to arrive wakes every warp through a named barrier of the warp's own.
pub const COUNTER_WAKE: Known = Known {
    name: "counter with named wake-ups",
    objects: |waves| named(2, waves),
    arrive: |program, wave| {
        raise_target(program, wave);
        add_one(program, Some(OLD));
        // The last to arrive has found one less than the target: OLD becomes the difference.
        program.push(Op::Set(OLD, Value::affine(1, 1, OLD)));
        program.push(Op::Subtract(OLD, PHASE));
        program.when(OLD, 0, |program| {
            for other in 0..wave.count {
                arrive(program, OWN + other);
            }
        });
    },
    wait: |program, wave| sync(program, OWN + wave.index),
    ..COUNTER_AT_ARRIVE
};

/// An mbarrier, its phase parity tracked in a register.
pub const MBARRIER: Known = Known {
    name: "mbarrier, parity tracked",
    objects: |_| vec![Object::mbarrier()],
    entry: |program, wave| {
        init(program, wave);
        sync(program, FULL);
    },
    arrive: |program, _| arrive(program, OWN),
    wait: |program, _| {
        await_parity(program, PHASE);
        flip(program);
    },
    ..EMPTY
};

/// An mbarrier whose parity is never flipped. Wrong.
pub const MBARRIER_UNFLIPPED: Known = Known {
    name: "mbarrier, parity not flipped",
    wait: |program, _| await_parity(program, PHASE),
    ..MBARRIER
};

/// The workgroup barrier of gfx12, signal and wait apart. A full barrier uses the same object: with
/// one in between, the open phase has to be completed first.
pub const SIGNAL_WAIT: Known = Known {
    name: "signal and wait on the workgroup barrier",
    arrive: |program, _| arrive(program, FULL),
    wait: |program, _| {
        program.push(Op::Wait(FULL.into()));
    },
    ..EMPTY
};

/// A named barrier object of gfx12.5, joined by every wave at the entry.
pub const NAMED_OBJECT: Known = Known {
    name: "named barrier object, init published",
    objects: |_| vec![Object::named(1)],
    entry: |program, wave| {
        init(program, wave);
        sync(program, FULL);
        program.push(Op::Join(OWN.into()));
    },
    arrive: |program, _| arrive(program, OWN),
    wait: |program, _| {
        program.push(Op::Wait(OWN.into()));
    },
    ..EMPTY
};

/// The same without a barrier between the init and the first use. Wrong.
pub const NAMED_OBJECT_UNPUBLISHED: Known = Known {
    name: "named barrier object, init not published",
    entry: |program, wave| {
        init(program, wave);
        program.push(Op::Join(OWN.into()));
    },
    ..NAMED_OBJECT
};

/// The barrier of a PTX cluster of one CTA.
pub const CLUSTER_OF_ONE: Known = Known {
    name: "cluster of one CTA",
    objects: |waves| vec![Object::cta_cluster(waves)],
    arrive: |program, _| arrive(program, OWN),
    wait: |program, _| {
        program.push(Op::Wait(OWN.into()));
    },
    ..EMPTY
};

/// CTA barriers 1 to `count`.
fn named(warps: u8, count: u8) -> Vec<Object> {
    (1..=count).map(|id| Object::cta(id, warps)).collect()
}

/// The barrier of `group`, one of `groups`, in the set that [`PHASE`] names if there are two.
fn of_group(group: u8, groups: u8, sets: u8) -> Value {
    let stride = if sets == 2 { groups } else { 0 };
    Value::affine(OWN + group, stride.cast_signed(), PHASE)
}

/// Wave w belongs to group w modulo `groups`: it arrives on the barriers of all others.
fn arrive_on_others(program: &mut Program, wave: Wave, groups: u8, sets: u8) {
    for k in 1..groups {
        arrive(program, of_group((wave.index + k) % groups, groups, sets));
    }
}

fn sync_own(program: &mut Program, wave: Wave, groups: u8, sets: u8) {
    sync(program, of_group(wave.index % groups, groups, sets));
    if sets == 2 {
        flip(program);
    }
}

fn arrive(program: &mut Program, object: impl Into<Value>) {
    program.push(Op::Arrive {
        object: object.into(),
        expected: None,
    });
}

fn sync(program: &mut Program, object: impl Into<Value>) {
    let object = object.into();
    arrive(program, object);
    program.push(Op::Wait(object));
}

/// Wave 0 initialises the own object.
fn init(program: &mut Program, wave: Wave) {
    if wave.index == 0 {
        program.push(Op::Init {
            object: OWN.into(),
            count: wave.count,
        });
    }
}

fn clear_counter(program: &mut Program, wave: Wave) {
    if wave.index == 0 {
        program.push(Op::Store(COUNTER, 0.into()));
    }
    sync(program, FULL);
}

fn add_one(program: &mut Program, old: Option<Register>) {
    program.push(Op::Add {
        word: COUNTER,
        value: 1.into(),
        old,
    });
}

fn raise_target(program: &mut Program, wave: Wave) {
    program.push(Op::Set(PHASE, Value::affine(wave.count, 1, PHASE)));
}

fn await_parity(program: &mut Program, parity: Register) {
    program.push(Op::WaitParity {
        object: OWN.into(),
        parity: parity.into(),
    });
}

/// The other set, the other parity.
fn flip(program: &mut Program) {
    program.push(Op::Set(PHASE, Value::affine(1, -1, PHASE)));
}

impl Protocol for Known {
    fn objects(&self, waves: u8) -> Vec<Object> {
        let full = Object::workgroup(waves).called("full barrier");
        [vec![full], (self.objects)(waves)].concat()
    }

    fn words(&self) -> Vec<(String, u8)> {
        let word = |name: &&str| ((*name).to_owned(), GARBAGE);
        self.words.iter().map(word).collect()
    }

    fn entry(&self, program: &mut Program, wave: Wave) {
        (self.entry)(program, wave);
    }

    fn arrive(&self, program: &mut Program, wave: Wave) {
        (self.arrive)(program, wave);
    }

    fn wait(&self, program: &mut Program, wave: Wave) {
        (self.wait)(program, wave);
    }

    fn full(&self, program: &mut Program, _wave: Wave) {
        sync(program, FULL);
    }
}
