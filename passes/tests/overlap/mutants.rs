//! Pipelined modules with one mistake each.

use spirv::Op;
use splitbar_passes::module::{Declarations, Id, Inst, Module, WordOffset};
use std::collections::BTreeSet;

const NO_TURN: &str = "the buffers do not take turns";
const WRONG_BUFFER: &str = "a read of the other buffer";
const TOO_FEW: &str = "a buffer too few";
const WRONG_STORE: &str = "a stage that is stored to the buffer that is read";
const EARLY_ARRIVE: &str = "an arrive one access early";
const NO_BARRIER: &str = "a barrier too few";
const LATE_WAIT: &str = "a wait one access late";
const NO_TAIL: &str = "no wait after the loop";
const NO_FIRST: &str = "nothing stored before the loop";
/// For loops in which nothing moves. Only an access that conflicts with the work of the last
/// iteration shows it.
pub(crate) const NO_END: &str = "no barrier after the loop";

pub(crate) const KINDS: &[&str] = &[
    NO_TURN,
    WRONG_BUFFER,
    TOO_FEW,
    WRONG_STORE,
    EARLY_ARRIVE,
    NO_BARRIER,
    LATE_WAIT,
    NO_TAIL,
    NO_FIRST,
    NO_END,
];

/// A change of a module: instructions that go, and instructions with other words, which may be
/// several.
#[derive(Default)]
struct Change {
    gone: BTreeSet<WordOffset>,
    instead: Vec<(WordOffset, Vec<u32>)>,
}

impl Change {
    fn apply(&self, module: &Module<'_>) -> Module<'static> {
        let mut words = module.words()[..5].to_vec();
        for inst in module.instructions() {
            let instead = self
                .instead
                .iter()
                .find(|(offset, _)| *offset == inst.offset);
            if let Some((_, other)) = instead {
                words.extend(other);
            } else if !self.gone.contains(&inst.offset) {
                words.extend(inst.words);
            }
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Module::parse(&bytes).unwrap().into_owned()
    }
}

/// The mutants of a module whose arrays `buffered` have buffers.
pub(crate) fn of(
    made: &Declarations<'_>,
    buffered: &BTreeSet<Id>,
) -> Vec<(&'static str, Module<'static>)> {
    let module = made.module;
    let insts: Vec<Inst<'_>> = module.instructions().collect();
    let is = |inst: &Inst<'_>, op: Op| inst.op() == Some(op);
    let is_buffer = |inst: &Inst<'_>| {
        matches!(inst.op(), Some(Op::AccessChain | Op::InBoundsAccessChain))
            && inst.id(0).is_ok_and(|base| buffered.contains(&base))
    };
    let is_access = |inst: &Inst<'_>| {
        let pointer = inst
            .id(0)
            .ok()
            .filter(|_| is(inst, Op::Load) || is(inst, Op::Store));
        let def = pointer.and_then(|pointer| module.def(pointer));
        def.is_some_and(|def| is_buffer(&def))
    };
    let mut mutants = Vec::new();
    let mut add = |kind, change: Change| mutants.push((kind, change.apply(module)));

    // The number of the buffer, and of the next one.
    let is_index = |id: u32| {
        let mut chains = insts.iter().filter(|inst| is_buffer(inst));
        chains.any(|chain| chain.operands()[1] == id)
    };
    let phi = insts
        .iter()
        .find(|inst| is(inst, Op::Phi) && is_index(inst.words[2]));
    if let Some(phi) = phi {
        let current = phi.words[2];
        let mut values = phi.operands().iter().step_by(2);
        let is_made = |id: &&u32| {
            let def = module.def(Id(**id));
            def.is_some_and(|def| def.op() != Some(Op::Constant))
        };
        let next = *values.find(is_made).unwrap();
        let words = phi
            .words
            .iter()
            .map(|word| if *word == next { current } else { *word });
        let instead = vec![(phi.offset, words.collect())];
        add(
            NO_TURN,
            Change {
                instead,
                ..Change::default()
            },
        );
        let read = insts
            .iter()
            .find(|chain| is_buffer(chain) && chain.operands()[1] == current);
        if let Some(read) = read {
            let mut words = read.words.to_vec();
            words[4] = next;
            add(
                WRONG_BUFFER,
                Change {
                    instead: vec![(read.offset, words)],
                    ..Change::default()
                },
            );
        }
    }
    if let Some(change) = phi.and_then(|phi| with_a_buffer_less(made, phi.words[2])) {
        add(TOO_FEW, change);
    }
    // Between the work and the stores to the one buffer.
    let whole = insts.iter().find(|inst| is(inst, Op::ControlBarrier));
    if let Some(whole) = whole.filter(|_| buffered.is_empty()) {
        let gone = BTreeSet::from([whole.offset]);
        add(
            NO_BARRIER,
            Change {
                gone,
                ..Change::default()
            },
        );
    }
    let wholes = insts.iter().filter(|inst| is(inst, Op::ControlBarrier));
    let wholes: Vec<WordOffset> = wholes.map(|inst| inst.offset).collect();
    let is_half = |inst: &Inst<'_>| is(inst, Op::ControlBarrierArriveINTEL);
    let alternates = !buffered.is_empty() && !insts.iter().any(is_half);
    for (kind, offset) in [(NO_BARRIER, wholes.first()), (NO_END, wholes.get(1))] {
        if let Some(offset) = offset.filter(|_| alternates) {
            let gone = BTreeSet::from([*offset]);
            add(
                kind,
                Change {
                    gone,
                    ..Change::default()
                },
            );
        }
    }
    let arrives: Vec<&Inst<'_>> = insts
        .iter()
        .filter(|inst| is(inst, Op::ControlBarrierArriveINTEL))
        .collect();
    let waits: Vec<&Inst<'_>> = insts
        .iter()
        .filter(|inst| is(inst, Op::ControlBarrierWaitINTEL))
        .collect();
    if let ([_, arrive], [wait, last]) = (arrives.as_slice(), waits.as_slice()) {
        let gone = BTreeSet::from([arrive.offset, wait.offset]);
        // The first arrive has its wait after the loop then.
        add(
            NO_BARRIER,
            Change {
                gone,
                ..Change::default()
            },
        );
        add(
            NO_TAIL,
            Change {
                gone: BTreeSet::from([last.offset]),
                ..Change::default()
            },
        );
        let after = insts.iter().filter(|inst| inst.offset > wait.offset);
        let mut after = after.take_while(|inst| !is(inst, Op::Label));
        if let Some(access) = after.find(|inst| is_access(inst)) {
            let words = [access.words, wait.words].concat();
            let instead = vec![(access.offset, words)];
            add(
                LATE_WAIT,
                Change {
                    instead,
                    gone: BTreeSet::from([wait.offset]),
                },
            );
        }
        let first = insts
            .iter()
            .find(|inst| inst.offset < arrives[0].offset && is(inst, Op::Store) && is_access(inst));
        if let Some(first) = first {
            add(
                NO_FIRST,
                Change {
                    gone: BTreeSet::from([first.offset]),
                    ..Change::default()
                },
            );
        }
    }
    enclosing(&insts, &waits, &is_access, &mut add);
    if let Some(current) = phi.map(|phi| phi.words[2]) {
        let in_the_loop = |chain: &&Inst<'_>| {
            let index = module.def(Id(chain.operands()[1]));
            index.is_some_and(|index| index.op() != Some(Op::Constant))
        };
        let ahead = insts.iter().filter(|inst| is_buffer(inst));
        let mut ahead = ahead.filter(in_the_loop);
        if let Some(ahead) = ahead.find(|chain| chain.operands()[1] != current) {
            let mut words = ahead.words.to_vec();
            words[4] = current;
            let instead = vec![(ahead.offset, words)];
            add(
                WRONG_STORE,
                Change {
                    instead,
                    ..Change::default()
                },
            );
        }
    }
    mutants
}

/// The change that counts one buffer less than there are, where there are more than two.
fn with_a_buffer_less(made: &Declarations<'_>, current: u32) -> Option<Change> {
    let module = made.module;
    let insts: Vec<Inst<'_>> = module.instructions().collect();
    let is = |inst: &Inst<'_>, op: Op| inst.op() == Some(op);
    let one = module.instructions().find(|inst| {
        is(inst, Op::Constant) && inst.words[1..] == [inst.words[1], inst.words[2], 1]
    });
    let one = one?.words[2];
    let mut instead = Vec::new();
    for sum in &insts {
        if !is(sum, Op::IAdd) || sum.words[3] != current {
            continue;
        }
        let sum = sum.words[2];
        let result = insts.iter().find(|inst| {
            is(inst, Op::BitwiseAnd) && inst.words[3] == sum
                || is(inst, Op::Select) && inst.words[4] == sum
        });
        let Some(result) = result else { continue };
        // Of four: the remainder by three, the mask. Of three: the last bit.
        let (op, by) = if is(result, Op::BitwiseAnd) {
            (Op::UMod, result.words[4])
        } else {
            (Op::BitwiseAnd, one)
        };
        let words = vec![
            5 << 16 | op as u32,
            result.words[1],
            result.words[2],
            sum,
            by,
        ];
        instead.push((result.offset, words));
    }
    let gone = BTreeSet::new();
    (!instead.is_empty()).then_some(Change { gone, instead })
}

/// Mutants of loops whose window contains the work: the wait of an iteration follows its arrive, or
/// an arrive and a wait are before the loop.
fn enclosing(
    insts: &[Inst<'_>],
    waits: &[&Inst<'_>],
    is_access: &dyn Fn(&Inst<'_>) -> bool,
    add: &mut dyn FnMut(&'static str, Change),
) {
    let is = |inst: &Inst<'_>, op: Op| inst.op() == Some(op);
    let arrives = insts.iter();
    let arrives = arrives.filter(|inst| is(inst, Op::ControlBarrierArriveINTEL));
    let arrives: Vec<&Inst<'_>> = arrives.collect();
    let wholes = insts.iter().filter(|inst| is(inst, Op::ControlBarrier));
    let wholes: Vec<&Inst<'_>> = wholes.collect();
    // The arrive and the wait of an iteration; what follows the loop.
    let (arrive, wait, last) = match (arrives.as_slice(), waits, wholes.as_slice()) {
        ([_, _, arrive], [_, wait, last], []) => (arrive, wait, last),
        ([arrive], [wait], [_, last]) | ([_, arrive], [_, wait], [last]) => (arrive, wait, last),
        _ => return,
    };
    let gone = BTreeSet::from([arrive.offset, wait.offset]);
    add(
        NO_BARRIER,
        Change {
            gone,
            ..Change::default()
        },
    );
    let is_end = is(last, Op::ControlBarrier);
    add(
        if is_end { NO_END } else { NO_TAIL },
        Change {
            gone: BTreeSet::from([last.offset]),
            ..Change::default()
        },
    );
    let before = insts.iter().filter(|inst| inst.offset < arrive.offset);
    let store = before
        .filter(|inst| is(inst, Op::Store) && is_access(inst))
        .last();
    // With the stage before the work and two iterations ahead, it is early enough.
    let is_needed = !(is_end && arrives.len() == 2);
    if let Some(store) = store.filter(|_| is_needed) {
        let words = [arrive.words, store.words].concat();
        add(
            EARLY_ARRIVE,
            Change {
                instead: vec![(store.offset, words)],
                gone: BTreeSet::from([arrive.offset]),
            },
        );
    }
    // The stages before the loop: each ends with a store.
    let begin = arrive.offset.min(wait.offset);
    let stores = insts
        .iter()
        .filter(|inst| is(inst, Op::Store) && is_access(inst));
    let first = arrives.iter().chain(&wholes).map(|inst| inst.offset).min();
    let mut stores: Vec<WordOffset> = stores.map(|inst| inst.offset).collect();
    stores.retain(|offset| *offset < begin);
    let (early, late): (Vec<WordOffset>, Vec<WordOffset>) = stores
        .into_iter()
        .partition(|offset| first.is_some_and(|first| *offset < first));
    let second = insts.iter().find(|inst| is(inst, Op::LoopMerge));
    let late = late.into_iter();
    let late = late.filter(|offset| second.is_some_and(|merge| *offset < merge.offset));
    for offset in early.first().copied().into_iter().chain(late.take(1)) {
        add(
            NO_FIRST,
            Change {
                gone: BTreeSet::from([offset]),
                ..Change::default()
            },
        );
    }
}
