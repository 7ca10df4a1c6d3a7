//! Runs of small programs before and after: the same stores, and no barrier in an open pair.

use super::*;
use crate::analysis::testing::{assemble, declared};
use crate::transform::inline::interpret::{Deed, Machine};

const ARRIVE: u16 = 6142;
const WAIT: u16 = 6143;
const BARRIER: u16 = 224;

/// Runs the pass on a function of `body` and compares runs; the module's waits and conditional
/// branches afterwards.
fn check(body: &str) -> [usize; 2] {
    let text = format!(
        "%main = OpFunction %void 0 %fn\n%entry = OpLabel\n%c = OpLoad %uint %cond\n%is = OpIEqual %bool %c %u1\n{body}\nOpFunctionEnd"
    );
    let old = assemble("", &text);
    let (before, _) = declared(&old.module);
    let edited = super::run(
        &old.module,
        &before,
        &PassOptions::None,
        &mut Diagnostics::new(),
    )
    .unwrap();
    let edited = edited.unwrap_or_else(|| panic!("nothing was done: {body}"));
    let (after, _) = declared(&edited.module);
    let again = super::run(
        &edited.module,
        &after,
        &PassOptions::None,
        &mut Diagnostics::new(),
    )
    .unwrap();
    assert!(again.is_none(), "a second run finds something: {body}");
    let stores = |deeds: &[Deed]| {
        deeds
            .iter()
            .filter(|deed| matches!(deed, Deed::Store(_)))
            .copied()
            .collect::<Vec<_>>()
    };
    let many = |deeds: &[Deed], opcode| {
        deeds
            .iter()
            .filter(|deed| **deed == Deed::Barrier(opcode))
            .count()
    };
    for cond in 0..3 {
        let first = Machine::run(&before, old.id("cond"), cond);
        let second = Machine::run(&after, old.id("cond"), cond);
        assert_eq!(stores(&first), stores(&second), "{body}");
        for opcode in [ARRIVE, BARRIER] {
            assert_eq!(
                many(&first, opcode),
                many(&second, opcode),
                "{opcode} {body}"
            );
        }
        assert_eq!(
            many(&second, ARRIVE),
            many(&second, WAIT),
            "every arrive is waited for: {body}"
        );
        let mut open = false;
        for deed in &second {
            let allowed = match deed {
                Deed::Barrier(ARRIVE) => !std::mem::replace(&mut open, true),
                Deed::Barrier(WAIT) => std::mem::replace(&mut open, false),
                Deed::Barrier(_) => !open,
                Deed::Store(_) => true,
            };
            assert!(allowed, "cond {cond}: {second:?} in {body}");
        }
    }
    let count = |opcode| {
        edited
            .module
            .instructions()
            .filter(|inst| inst.opcode() == opcode)
            .count()
    };
    [count(WAIT), count(250)]
}

#[test]
fn what_is_known_needs_no_flag() {
    assert_eq!(
        check("arrive\nOpStore %out %u1\nbarrier\nOpStore %out %u2\nwait\nOpReturn"),
        [1, 0]
    );
    assert_eq!(check("arrive\nOpStore %out %u1\nOpReturn"), [1, 0]);
    assert_eq!(
        check("arrive\nbarrier\nbarrier\nwait\narrive\nOpReturn"),
        [2, 0]
    );
}

const IF: &str = "OpSelectionMerge %end 0\nOpBranchConditional %is %then %end\n%then = OpLabel\n";
const END: &str = "\nOpBranch %end\n%end = OpLabel\n";

#[test]
fn what_depends_on_the_path_asks_a_flag() {
    // A barrier on one path only.
    assert_eq!(
        check(&format!(
            "arrive\n{IF}barrier{END}OpStore %out %u1\nwait\nOpReturn"
        )),
        [2, 2]
    );
    // An arrive on one path only, never waited for.
    assert_eq!(check(&format!("{IF}arrive{END}barrier\nOpReturn")), [1, 2]);
    // The pair under two equal conditions, a barrier between.
    let second = "OpSelectionMerge %done 0\nOpBranchConditional %is %late %done\n%late = OpLabel\nwait\nOpBranch %done\n%done = OpLabel\n";
    assert_eq!(
        check(&format!("{IF}arrive{END}barrier\n{second}OpReturn")),
        [1, 3]
    );
}

/// The wait of an arrive that is never waited for is one of all invocations, though some return
/// before others.
#[test]
fn some_return_before_others() {
    let globals = "
        OpDecorate %lane 11 29
        %built_in = OpTypePointer 1 %uint
        %lane = OpVariable %built_in 1
    ";
    let text = "%main = OpFunction %void 0 %fn
        %entry = OpLabel
        arrive
        %l = OpLoad %uint %lane
        %few = OpULessThan %bool %l %u3
        OpSelectionMerge %end 0
        OpBranchConditional %few %then %end
        %then = OpLabel
        OpReturn
        %end = OpLabel
        OpStore %out %u1
        OpReturn
        OpFunctionEnd";
    let old = assemble(globals, text);
    let (before, _) = declared(&old.module);
    let mut found = Diagnostics::new();
    let edited = super::run(&old.module, &before, &PassOptions::None, &mut found);
    let edited = edited.unwrap().unwrap();
    let ops = edited.module.instructions().filter_map(|inst| inst.op());
    let ops: Vec<Op> = ops.skip_while(|op| *op != Op::Label).take(6).collect();
    let expected = [
        Op::Label,
        Op::ControlBarrierArriveINTEL,
        Op::Load,
        Op::ULessThan,
        Op::ControlBarrierWaitINTEL,
        Op::SelectionMerge,
    ];
    assert_eq!(ops, expected);
    let waits = edited.module.instructions();
    let waits = waits.filter(|inst| inst.op() == Some(Op::ControlBarrierWaitINTEL));
    assert_eq!(waits.count(), 1);
    let (after, _) = declared(&edited.module);
    let again = super::run(&edited.module, &after, &PassOptions::None, &mut found);
    assert!(again.unwrap().is_none());
}
