//! The run-time rules and lints as entries of the table: documentation and examples.

use crate::diagnostic::Code;
use crate::validate::{Check, Rule};

/// Checked by [`super::check`], for all of them together.
const CHECK: Check = Check::Module(|_, _| {});

/// An execution scope that is known at run time only.
pub const OPEN_SCOPE: Rule = Rule {
    code: Code::UndecidedScope,
    vuid: None,
    text: include_str!("../rules/explain/SB0195.md"),
    check: CHECK,
};

/// Uniform control flow.
pub const UNIFORM: Rule = Rule {
    code: Code::NonUniformSplitBarrier,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13558"),
    text: include_str!("../rules/explain/SB2000.md"),
    check: CHECK,
};

/// Uniform control flow of control barriers.
pub const UNIFORM_CONTROL_BARRIER: Rule = Rule {
    code: Code::NonUniformBarrier,
    vuid: None,
    text: include_str!("../rules/explain/SB2004.md"),
    check: CHECK,
};

/// A wait has an arrive.
pub const UNARRIVED: Rule = Rule {
    code: Code::UnarrivedWait,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13559"),
    text: include_str!("../rules/explain/SB2001.md"),
    check: CHECK,
};

/// One wait for each arrive.
pub const REPEATED_WAIT: Rule = Rule {
    code: Code::RepeatedWait,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13560"),
    text: include_str!("../rules/explain/SB2002.md"),
    check: CHECK,
};

/// One arrive for each wait.
pub const REPEATED_ARRIVE: Rule = Rule {
    code: Code::RepeatedArrive,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13561"),
    text: include_str!("../rules/explain/SB2003.md"),
    check: CHECK,
};

/// An arrive that nothing waits for.
pub const DANGLING: Rule = Rule {
    code: Code::DanglingArrive,
    vuid: None,
    text: include_str!("../rules/explain/SB2010.md"),
    check: CHECK,
};

/// Fences on the wrong side.
pub const FENCE: Rule = Rule {
    code: Code::FenceOutsideSplit,
    vuid: None,
    text: include_str!("../rules/explain/SB0204.md"),
    check: CHECK,
};

/// Sides without a common storage class.
pub const DISJOINT: Rule = Rule {
    code: Code::DisjointClasses,
    vuid: None,
    text: include_str!("../rules/explain/SB2011.md"),
    check: CHECK,
};

/// A window without work.
pub const EMPTY: Rule = Rule {
    code: Code::EmptyWindow,
    vuid: None,
    text: include_str!("../rules/explain/SB2012.md"),
    check: CHECK,
};

/// A control barrier inside of a window.
pub const INSIDE: Rule = Rule {
    code: Code::BarrierInWindow,
    vuid: None,
    text: include_str!("../rules/explain/SB2013.md"),
    check: CHECK,
};

/// A data race inside of a window.
pub const RACE: Rule = Rule {
    code: Code::WindowRace,
    vuid: None,
    text: include_str!("../rules/explain/SB2014.md"),
    check: CHECK,
};

/// A write inside of a window that is read after it.
pub const WRITE: Rule = Rule {
    code: Code::WindowWrite,
    vuid: None,
    text: include_str!("../rules/explain/SB2015.md"),
    check: CHECK,
};

/// All of them, in the order of their codes.
pub const RULES: &[&Rule] = &[
    &OPEN_SCOPE,
    &FENCE,
    &UNIFORM,
    &UNARRIVED,
    &REPEATED_WAIT,
    &REPEATED_ARRIVE,
    &UNIFORM_CONTROL_BARRIER,
    &DANGLING,
    &DISJOINT,
    &EMPTY,
    &INSIDE,
    &RACE,
    &WRITE,
];
