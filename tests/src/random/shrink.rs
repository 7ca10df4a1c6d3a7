//! Makes a failing program smaller.

use super::order::flaw;
use super::share::Scope;
use super::tree::{Last, Program, Top};

/// The smallest program that `fails` among those that are made from `program` by leaving out one
/// thing after the other. It stays free of races.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut try_it = |candidate: Program, best: &mut Program| {
        let better = flaw(&candidate).is_none() && fails(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let mut smaller = false;
        let last: Option<Last> = None;
        if best.last.is_some() {
            let candidate = Program {
                last,
                ..best.clone()
            };
            smaller |= try_it(candidate, &mut best);
        }
        let mut number = 0;
        // Leaving something out gives what follows its number.
        while let Some(candidates) = variants(&best.tops, &mut number.clone()) {
            let taken = candidates.into_iter().any(|tops| {
                let candidate = Program {
                    tops,
                    ..best.clone()
                };
                try_it(candidate, &mut best)
            });
            smaller |= taken;
            number += usize::from(!taken);
        }
        if !smaller {
            return best;
        }
    }
}

/// `tops` with its `number`th part, in the order of the text, left out, or replaced by what is in
/// it; `None` when there are not so many. `number` goes down by what was passed.
fn variants(tops: &[Top], number: &mut usize) -> Option<Vec<Vec<Top>>> {
    for (at, top) in tops.iter().enumerate() {
        let with = |parts: &[Top]| {
            let mut tops = tops.to_vec();
            tops.splice(at..=at, parts.iter().cloned());
            tops
        };
        if *number == 0 {
            let mut all = vec![with(&[])];
            match top {
                Top::Repeat(_, body) | Top::Inline(body) => all.push(with(body)),
                Top::ByGroup(even, odd) => all.extend([with(even), with(odd)]),
                // An arrive can often not go without its wait.
                Top::Arrive(scope, _) => all.extend(without_pair(tops, at, *scope)),
                _ => {}
            }
            return Some(all);
        }
        *number -= 1;
        let mut inside = |body: &[Top], whole: &dyn Fn(Vec<Top>) -> Top| {
            let parts = variants(body, number)?;
            Some(parts.into_iter().map(|part| with(&[whole(part)])).collect())
        };
        let found = match top {
            Top::Repeat(count, body) => inside(body, &|body| Top::Repeat(*count, body)),
            Top::Inline(body) => inside(body, &Top::Inline),
            Top::ByGroup(even, odd) => inside(even, &|even| Top::ByGroup(even, odd.clone()))
                .or_else(|| inside(odd, &|odd| Top::ByGroup(even.clone(), odd))),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// `tops` without the arrive `at` and the next wait of its scope.
fn without_pair(tops: &[Top], at: usize, scope: Scope) -> Option<Vec<Top>> {
    let wait = tops[at..]
        .iter()
        .position(|top| matches!(top, Top::Wait(waits, _) if *waits == scope))?;
    let mut rest = tops.to_vec();
    rest.remove(at + wait);
    rest.remove(at);
    Some(rest)
}
