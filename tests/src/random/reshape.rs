//! Other forms of the same program: its results do not change, but the places of its statements do.

use super::order::flaw;
use super::share::{Count, Of, Scope};
use super::tree::{Program, Top};
use fastrand::Rng;

/// Puts parts of a program into functions and into both branches of selections, and begins loops in
/// the middle of their bodies, so that pairs stand across blocks, functions and iterations.
pub(super) fn reshape(program: &mut Program, rng: &mut Rng) {
    rotate_some(&mut program.tops, rng);
    for _ in 0..rng.usize(..4) {
        let before = program.tops.clone();
        let split = rng.bool();
        wrap(&mut program.tops, rng, split);
        if flaw(program).is_some() {
            program.tops = before;
        }
    }
}

/// Loops whose bodies have a pair: `(a; arrive; b; wait; c)*n` is
/// `a; arrive; (b; wait; c; a; arrive)*(n - 1); b; wait; c`.
fn rotate_some(tops: &mut Vec<Top>, rng: &mut Rng) {
    let mut at = 0;
    while at < tops.len() {
        match &mut tops[at] {
            Top::Repeat(count, body) => {
                rotate_some(body, rng);
                let least = match count.of {
                    Of::Number(number) => number,
                    Of::Push(_) => 1,
                };
                if least > count.less
                    && rng.u8(..3) != 0
                    && let Some(parts) = rotated(*count, body)
                {
                    let length = parts.len();
                    tops.splice(at..=at, parts);
                    at += length;
                    continue;
                }
            }
            Top::ByGroup(even, odd) => {
                rotate_some(even, rng);
                rotate_some(odd, rng);
            }
            _ => {}
        }
        at += 1;
    }
}

fn rotated(count: Count, body: &[Top]) -> Option<Vec<Top>> {
    let is_arrive = |top: &Top| matches!(top, Top::Arrive(Scope::Workgroup, _));
    let (first, second) = body.split_at(body.iter().position(is_arrive)? + 1);
    let again = second.iter().chain(first).cloned().collect();
    let less = Count {
        less: count.less + 1,
        ..count
    };
    let mut parts = first.to_vec();
    parts.push(Top::Repeat(less, again));
    parts.extend_from_slice(second);
    Some(parts)
}

/// Puts some neighbours into a function, or (`split`) into both branches of a selection.
fn wrap(tops: &mut Vec<Top>, rng: &mut Rng, split: bool) {
    let nested: Vec<usize> = (0..tops.len())
        .filter(|at| matches!(tops[*at], Top::Repeat(..) | Top::ByGroup(..)))
        .collect();
    if !nested.is_empty() && rng.bool() {
        match &mut tops[nested[rng.usize(..nested.len())]] {
            Top::Repeat(_, body) | Top::ByGroup(body, _) => wrap(body, rng, split),
            _ => {}
        }
        return;
    }
    if tops.is_empty() {
        return;
    }
    let begin = rng.usize(..tops.len());
    let end = (begin + rng.usize(1..4)).min(tops.len());
    let part = tops[begin..end].to_vec();
    if part.iter().any(|top| matches!(top, Top::EndOdd)) {
        return;
    }
    let whole = if split {
        Top::ByGroup(part.clone(), part)
    } else {
        Top::Inline(part)
    };
    tops.splice(begin..end, [whole]);
}
