//! Pairing, per invocation and execution scope.
//!
//! - 13559: a wait has an arrive before it.
//! - 13560: no other wait stands between that arrive and the wait. As worded, the rule would forbid
//!   every second wait of an invocation, the loops of the extension's own proposal among them; what
//!   it is meant to forbid is two waits for one arrive.
//! - 13561: between two arrives there is a wait.
//!
//! Bad: `arrive; wait; wait`. Good: `arrive; wait; arrive; wait`.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::flow::paths::Paths;
use super::flow::trace::{Step, Trace};
use super::flow::{Entry, Event, severity};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::BlockIndex;

struct Rule {
    code: Code,
    vuid: &'static str,
    refuted: &'static str,
    unknown: &'static str,
    help: &'static str,
}

const UNARRIVED: Rule = Rule {
    code: Code::UnarrivedWait,
    vuid: "VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13559",
    refuted: "is executed, but no arrive of its execution scope was executed before it",
    unknown: "may be executed without an arrive before it",
    help: "put an arrive on every path to this wait",
};
const REPEATED_WAIT: Rule = Rule {
    code: Code::RepeatedWait,
    vuid: "VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13560",
    refuted: "waits a second time for one arrive",
    unknown: "may wait a second time for one arrive",
    help: "arrive again before this wait, or remove one of the waits",
};
const REPEATED_ARRIVE: Rule = Rule {
    code: Code::RepeatedArrive,
    vuid: "VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13561",
    refuted: "arrives a second time without a wait for the first arrive",
    unknown: "may arrive a second time without a wait for the first arrive",
    help: "put a wait between the two arrives on every path",
};

fn rule(event: &Event, waited: bool) -> &'static Rule {
    match (event.arrives(), waited) {
        (true, _) => &REPEATED_ARRIVE,
        (false, true) => &REPEATED_WAIT,
        (false, false) => &UNARRIVED,
    }
}

pub(super) fn check(
    entry: &Entry<'_, '_>,
    paths: &Paths,
    trace: Option<&Trace>,
    strict: bool,
    diagnostics: &mut Diagnostics,
) {
    for (site, event) in entry.events.iter().enumerate() {
        let Some(witness) = paths.witness(site) else {
            continue;
        };
        if trace.is_some_and(|trace| trace.is_kept(site)) {
            continue;
        }
        let word = entry.word(event.offset);
        let name = entry
            .original
            .module
            .at(word)
            .map_or_else(String::new, |inst| entry.original.op_name(inst));
        if let Some(violation) = trace.and_then(|trace| trace.violation(site)) {
            let rule = rule(event, violation.waited);
            let mut problem = severity(Diagnostic::error(rule.code, format!("{name} {}", rule.refuted)), true, strict)
                .at_word(word)
                .because(format!("every execution takes this path; arrives and waits pair in execution order, separately for each invocation and execution scope ({})", event.scope))
                .help(rule.help);
            problem.vuid = Some(rule.vuid);
            problem.witness = entry.places(&violation.steps, violation.before);
            if let Some(lane) = violation.lane {
                problem.witness.insert(
                    0,
                    format!("the invocation with LocalInvocationIndex {lane}").into(),
                );
            }
            diagnostics.push(problem);
            continue;
        }
        let (steps, before) = entry.path_steps(&witness, site);
        let waited = steps.iter().any(|step| matches!(step, Step::Site(other) if *other != site && entry.events.get(*other).is_some_and(Event::waits)));
        let rule = rule(event, waited || repeats(&steps, site));
        let mut problem = severity(
            Diagnostic::error(rule.code, format!("{name} {}", rule.unknown)),
            false,
            strict,
        )
        .at_word(word)
        .help(rule.help);
        problem = match deciding(entry, &steps, &witness, site) {
            Some(block) => problem.because(format!(
                "the analysis cannot decide whether {} in block {} agrees with the other conditions on this path",
                entry.condition_name(block),
                entry.block_name(block)
            )),
            None => problem.because("the analysis cannot distinguish all paths to this instruction"),
        };
        let branches = steps.iter().filter_map(|step| match step {
            Step::Branch(block, _) => Some(*block),
            Step::Site(_) | Step::Gap(_) => None,
        });
        for open in branches
            .filter_map(|block| entry.open_constants(block))
            .take(1)
        {
            problem = problem
                .because(open)
                .help("set the specialization constants, or check with their default values");
        }
        problem.vuid = Some(rule.vuid);
        problem.witness = entry.places(&steps, before);
        diagnostics.push(problem);
    }
}

/// Returns true if the path passes the site before it ends there.
fn repeats(steps: &[Step], site: usize) -> bool {
    steps
        .iter()
        .filter(|step| **step == Step::Site(site))
        .count()
        > 1
}

/// Blocks that are looked at behind a branch that the path does not take.
const MOST_BLOCKS: usize = 32;
/// Branches of a path that are looked at.
const MOST_BRANCHES: usize = 8;

/// The branch of the path that decides about it: the last one whose other way leads past a barrier
/// of the scope before it comes back to the path; else the last one.
fn deciding(
    entry: &Entry<'_, '_>,
    steps: &[Step],
    path: &[BlockIndex],
    site: usize,
) -> Option<BlockIndex> {
    let scope = entry.events.get(site)?.scope;
    let branches = || {
        steps.iter().rev().filter_map(|step| match step {
            Step::Branch(block, to) => Some((*block, *to)),
            Step::Site(_) | Step::Gap(_) => None,
        })
    };
    let passes_one = |(block, to): &(BlockIndex, BlockIndex)| {
        let mut seen: Vec<BlockIndex> = Vec::new();
        let mut work: Vec<BlockIndex> = entry
            .model
            .cfg
            .succs(*block)
            .iter()
            .copied()
            .filter(|succ| succ != to)
            .collect();
        while let Some(at) = work.pop() {
            if path.contains(&at) || seen.contains(&at) || seen.len() >= MOST_BLOCKS {
                continue;
            }
            let sites = entry.by_block.get(at).into_iter().flatten();
            if sites
                .filter_map(|site| entry.events.get(*site))
                .any(|event| event.scope == scope && event.pairs())
            {
                return true;
            }
            seen.push(at);
            work.extend(entry.model.cfg.succs(at));
        }
        false
    };
    let last = branches().take(MOST_BRANCHES).find(passes_one);
    last.or_else(|| branches().next()).map(|(block, _)| block)
}
