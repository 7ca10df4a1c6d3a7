//! The run-time rules and lints as entries of the table: documentation and examples.

use crate::diagnostic::Code;
use crate::validate::{Check, Rule};

/// Checked by [`super::check`], for all of them together.
const CHECK: Check = Check::Module(|_, _| {});

/// Uniform control flow.
pub const UNIFORM: Rule = Rule {
    code: Code::NonUniformSplitBarrier,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13558"),
    documentation: "An arrive or a wait of scope Workgroup stands where either all invocations of the workgroup come or none does, equally often. \
        The hardware counts arrivals: an invocation that never comes leaves the others waiting for ever.\n\
        An error says that every execution breaks the rule, as constants and the size of the workgroup decide; a warning that some may. Its reasons lead from \
        the branch to the built-in or the load that makes it differ. Taken for granted: the module has no data race, invocations that went different ways are together \
        again where all ways meet, and a loop that can end does.",
    bad: "%lane = OpLoad %uint %index\n%some = OpULessThan %bool %lane %uint_16\nOpSelectionMerge %end None\nOpBranchConditional %some %then %end\n%then = OpLabel\n\
        OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102\nOpBranch %end\n%end = OpLabel",
    good: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    check: CHECK,
};

/// A wait has an arrive.
pub const UNARRIVED: Rule = Rule {
    code: Code::UnarrivedWait,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13559"),
    documentation: "An invocation that waits has arrived before, at the same execution scope. Pairs are made by time, not by place: arrive and wait may stand under two \
        branches on the same condition.\n\
        An error says that every execution breaks the rule, a warning that a path does which no correlation of conditions rules out; the witness is that path.",
    bad: "OpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    good: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    check: CHECK,
};

/// One wait for each arrive.
pub const REPEATED_WAIT: Rule = Rule {
    code: Code::RepeatedWait,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13560"),
    documentation: "Between two waits of one execution scope there is an arrive. The sentence in the specification forbids every second wait of an invocation, loops \
        over one pair among them; what is checked here is what it is meant to say.",
    bad: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    good: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102\n\
        OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    check: CHECK,
};

/// One arrive for each wait.
pub const REPEATED_ARRIVE: Rule = Rule {
    code: Code::RepeatedArrive,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13561"),
    documentation: "Between two arrives of one execution scope there is a wait: a second arrival would be counted for a barrier that others have not left yet.",
    bad: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    good: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    check: CHECK,
};

/// An arrive that nothing waits for.
pub const DANGLING: Rule = Rule {
    code: Code::DanglingArrive,
    vuid: None,
    documentation: "An arrive that nothing waits for is legal in Vulkan and orders nothing for the invocation; the lowering completes it before the shader ends. \
        A warning when no wait can follow, a note when only some paths have one.",
    bad: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104",
    good: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    check: CHECK,
};

/// Fences on the wrong side.
pub const FENCE: Rule = Rule {
    code: Code::FenceOutsideSplit,
    vuid: None,
    documentation: "With a relaxed arrive and wait, the order comes from fences: a release before the arrive, an acquire after the wait. A release directly after the arrive \
        or an acquire directly before the wait comes too late or too early to order anything through the barrier.",
    bad: "OpControlBarrierArriveEXT %workgroup %workgroup %s_0\nOpMemoryBarrier %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_0",
    good: "OpMemoryBarrier %workgroup %s_104\nOpControlBarrierArriveEXT %workgroup %workgroup %s_0\nOpControlBarrierWaitEXT %workgroup %workgroup %s_0\nOpMemoryBarrier %workgroup %s_102",
    check: CHECK,
};

/// Sides without a common storage class.
pub const DISJOINT: Rule = Rule {
    code: Code::DisjointClasses,
    vuid: None,
    documentation: "The two sides of a split barrier may name different storage classes; memory is ordered for those that both name. When there are none, the barrier makes \
        invocations wait and orders no memory.",
    bad: "OpControlBarrierArriveEXT %workgroup %workgroup %s_44\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    good: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    check: CHECK,
};

/// A window without work.
pub const EMPTY: Rule = Rule {
    code: Code::EmptyWindow,
    vuid: None,
    documentation: "A split barrier gains the time of the work between its sides. A note when there is none: OpControlBarrier does the same in one instruction.",
    bad: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    good: "OpControlBarrier %workgroup %workgroup %s_108",
    check: CHECK,
};

/// A control barrier inside of a window.
pub const INSIDE: Rule = Rule {
    code: Code::BarrierInWindow,
    vuid: None,
    documentation: "OpControlBarrier between an arrive and its wait is legal and closes nothing. A note, because a target with one barrier object for a workgroup has to \
        complete the split barrier before it, which costs the split.",
    bad: "OpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrier %workgroup %workgroup %s_108\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    good: "OpControlBarrier %workgroup %workgroup %s_108\nOpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    check: CHECK,
};

/// A data race inside of a window.
pub const RACE: Rule = Rule {
    code: Code::WindowRace,
    vuid: None,
    documentation: "What other invocations wrote before their arrive is visible after the wait. A load of another element of a workgroup variable between the two, where the invocation \
        has itself written the variable before its arrive, is likely to race with the writes of the others. Only simple cases are seen: store, arrive and load in one block.",
    bad: "OpStore %mine %value\nOpControlBarrierArriveEXT %workgroup %workgroup %s_104\n%x = OpLoad %uint %theirs\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102",
    good: "OpStore %mine %value\nOpControlBarrierArriveEXT %workgroup %workgroup %s_104\nOpControlBarrierWaitEXT %workgroup %workgroup %s_102\n%x = OpLoad %uint %theirs",
    check: CHECK,
};

/// All of them, in the order of their codes.
pub const RULES: &[&Rule] = &[
    &FENCE,
    &UNIFORM,
    &UNARRIVED,
    &REPEATED_WAIT,
    &REPEATED_ARRIVE,
    &DANGLING,
    &DISJOINT,
    &EMPTY,
    &INSIDE,
    &RACE,
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{LOADS, module, problems};
    use super::*;

    /// What is said of an example, in the terms of the tests' modules.
    fn codes(example: &str) -> Vec<Code> {
        let mut text = example
            .replace("EXT ", "INTEL ")
            .replace(" None", " 0")
            .replace("%workgroup", "%group")
            .replace("%uint_16", "%u16");
        for (name, id) in [
            ("%s_104", "%release"),
            ("%s_102", "%acquire"),
            ("%s_108", "%both"),
            ("%s_44", "%uniform_release"),
            ("%s_0", "%none"),
        ] {
            text = text.replace(name, id);
        }
        text = text
            .replace("%lane = OpLoad %uint %index\n", "")
            .replace("%value", "%pc");
        let elements = "%mine = OpAccessChain %shared_ptr %tile %lane\n%next = OpIAdd %uint %lane %u1\n%theirs = OpAccessChain %shared_ptr %tile %next\n";
        problems(&module(&[LOADS, elements, &text, "\nOpReturn"].concat()))
            .iter()
            .map(|problem| problem.code)
            .collect()
    }

    #[test]
    fn bad_examples_break_their_rule_and_good_ones_do_not() {
        for rule in RULES {
            assert!(
                codes(rule.bad).contains(&rule.code),
                "{}: {:?}",
                rule.code,
                codes(rule.bad)
            );
            assert!(
                !codes(rule.good).contains(&rule.code),
                "{}: {:?}",
                rule.code,
                codes(rule.good)
            );
            assert!(!rule.documentation.is_empty());
        }
    }
}
