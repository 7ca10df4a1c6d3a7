//! The reconvergence points of divergent lanes: the immediate post-dominator of each branch.
//!
//! Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed control-flow
//! graph of one function.

use crate::ptx::operand::Source;
use crate::ptx::program::{Coded, Op};

/// No place: the ways meet only where they end.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Sets `join` of every branch in `code[start..]`, which is one function. Targets are positions in
/// `code`.
pub(super) fn set(code: &mut [Coded], start: usize, lists: &[Source], constants: &[[u64; 32]]) {
    let count = code.len().saturating_sub(start);
    // The function's end is a node of its own, `count`.
    let successors: Vec<Vec<usize>> = (0..count)
        .map(|i| {
            code.get(start + i).map_or_else(Vec::new, |coded| {
                after(coded, i, start, count, lists, constants)
            })
        })
        .collect();
    let parents = immediate(&successors, count);
    for (i, coded) in code.iter_mut().skip(start).enumerate() {
        let parent = match parents.get(i) {
            Some(Some(parent)) if *parent < count => (start + parent) as u32,
            _ => NOWHERE,
        };
        match &mut coded.op {
            Op::Branch { join, .. } | Op::BranchIndexed { join, .. } => *join = parent,
            _ => {} // ways do not part here
        }
    }
}

fn after(
    coded: &Coded,
    i: usize,
    start: usize,
    count: usize,
    lists: &[Source],
    constants: &[[u64; 32]],
) -> Vec<usize> {
    let inside = |pc: usize| {
        if pc >= start && pc - start < count {
            pc - start
        } else {
            count
        }
    };
    let mut next = match coded.op {
        Op::Branch { target, .. } => vec![inside(target as usize)],
        Op::BranchIndexed { targets, .. } => lists
            .iter()
            .skip(targets.start as usize)
            .take(targets.count as usize)
            .filter_map(|source| match source {
                Source::Constant(index) => constants.get(*index as usize)?.first(),
                Source::Register(_) => None,
            })
            .map(|pc| inside(*pc as usize))
            .collect(),
        Op::Return | Op::Exit | Op::Trap => vec![count],
        _ => return vec![(i + 1).min(count)],
    };
    if coded.guard.is_some() {
        next.push((i + 1).min(count));
    }
    next
}

/// The immediate post-dominator of each node; `None` where the end cannot be reached. `end` is the
/// node after the last.
fn immediate(successors: &[Vec<usize>], end: usize) -> Vec<Option<usize>> {
    let mut predecessors = vec![Vec::new(); end + 1];
    for (node, nexts) in successors.iter().enumerate() {
        for next in nexts {
            if let Some(list) = predecessors.get_mut(*next) {
                list.push(node);
            }
        }
    }
    // Postorder of the reversed graph from the end.
    let mut number = vec![None; end + 1];
    let mut order = Vec::with_capacity(end + 1);
    let mut seen = vec![false; end + 1];
    let mut stack = vec![(end, 0usize)];
    if let Some(s) = seen.get_mut(end) {
        *s = true;
    }
    while let Some((node, child)) = stack.pop() {
        let next = predecessors
            .get(node)
            .and_then(|list| list.get(child))
            .copied();
        match next {
            Some(next) => {
                stack.push((node, child + 1));
                if let Some(s) = seen.get_mut(next)
                    && !std::mem::replace(s, true)
                {
                    stack.push((next, 0));
                }
            }
            None => {
                if let Some(n) = number.get_mut(node) {
                    *n = Some(order.len());
                }
                order.push(node);
            }
        }
    }
    // Only what the end can be reached from has a parent, and is asked for its rank.
    let rank = |node: usize| number.get(node).copied().flatten().unwrap_or(0);
    let mut parents: Vec<Option<usize>> = vec![None; end + 1];
    if let Some(p) = parents.get_mut(end) {
        *p = Some(end);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|n| **n != end) {
            let mut best: Option<usize> = None;
            for &next in successors.get(node).map_or(&[][..], Vec::as_slice) {
                if parents.get(next).copied().flatten().is_none() {
                    continue;
                }
                best = Some(match best {
                    None => next,
                    Some(other) => meet(next, other, &parents, rank),
                });
            }
            if let Some(p) = parents.get_mut(node)
                && *p != best
            {
                *p = best;
                changed = true;
            }
        }
    }
    parents
}

fn meet(
    mut a: usize,
    mut b: usize,
    parents: &[Option<usize>],
    rank: impl Fn(usize) -> usize,
) -> usize {
    let up = |node: usize| parents.get(node).copied().flatten().unwrap_or(node);
    while a != b {
        if rank(a) < rank(b) {
            a = up(a);
        } else {
            b = up(b);
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_meet_at_the_post_dominator() {
        // 0 -> 1, 2; 1 -> 3; 2 -> 3; 3 -> 0, 4; 4 -> end (5).
        let graph = [vec![1, 2], vec![3], vec![3], vec![0, 4], vec![5]];
        let parents = immediate(&graph, 5);
        assert_eq!(
            parents,
            [Some(3), Some(3), Some(3), Some(4), Some(5), Some(5)]
        );
        // 1 loops for ever.
        let graph = [vec![1, 2], vec![1], vec![3]];
        assert_eq!(immediate(&graph, 3), [Some(2), None, Some(3), Some(3)]);
    }
}
