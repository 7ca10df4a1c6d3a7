//! Pipelined modules with one mistake each.

use spirv::Op;
use splitbar_passes::module::{Declarations, Id, Inst, Module, WordOffset};
use std::collections::BTreeSet;

const NO_TURN: &str = "the buffers do not take turns";
const WRONG_BUFFER: &str = "a read of the other buffer";
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

/// The mutants of a module whose arrays `buffered` have two buffers.
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
    let next = insts.iter().find(|inst| {
        let phi = inst.id(1).ok().and_then(|id| module.def(id));
        is(inst, Op::ISub)
            && phi.is_some_and(|phi| is(&phi, Op::Phi) && phi.operands().contains(&inst.words[2]))
            && insts
                .iter()
                .any(|chain| is_buffer(chain) && inst.words[2..].contains(&chain.operands()[1]))
    });
    if let Some(next) = next {
        let (current, next) = (next.words[4], next.words[2]);
        let phi = module.def(Id(current)).unwrap();
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
    mutants
}
