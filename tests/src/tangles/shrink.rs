//! Makes a failing program smaller.

use super::{Program, Statement};

/// The smallest program that `fails` among those that are made from `program` by leaving out one
/// thing after the other.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let mut smaller = false;
        for body in 0..=best.functions.len() {
            let mut number = 0;
            loop {
                let list = match body.checked_sub(1) {
                    None => &best.main,
                    Some(function) => &best.functions[function],
                };
                let Some(lists) = variants(list, &mut number.clone()) else {
                    break;
                };
                let mut taken = false;
                for list in lists {
                    let mut candidate = best.clone();
                    match body.checked_sub(1) {
                        None => candidate.main = list,
                        Some(function) => candidate.functions[function] = list,
                    }
                    if fails(&candidate) {
                        best = candidate;
                        taken = true;
                        break;
                    }
                }
                smaller |= taken;
                number += usize::from(!taken);
            }
        }
        if !smaller {
            return best;
        }
    }
}

/// `list` with its `number`th statement left out or made simpler; `None` when there are not so
/// many. `number` goes down by what was passed.
fn variants(list: &[Statement], number: &mut usize) -> Option<Vec<Vec<Statement>>> {
    for (at, statement) in list.iter().enumerate() {
        let with = |parts: &[Statement]| {
            let mut list = list.to_vec();
            list.splice(at..=at, parts.iter().cloned());
            list
        };
        if *number == 0 {
            return Some(vec![with(&[])]);
        }
        *number -= 1;
        for (place, part) in parts(statement).into_iter().enumerate() {
            if let Some(found) = variants(part, number) {
                let all = found.into_iter().map(|part| {
                    let mut changed = statement.clone();
                    if let Some(slot) = parts_mut(&mut changed).into_iter().nth(place) {
                        *slot = part;
                    }
                    with(&[changed])
                });
                return Some(all.collect());
            }
        }
    }
    None
}

fn parts(statement: &Statement) -> Vec<&Vec<Statement>> {
    match statement {
        // The branch of a bare one is its leave.
        Statement::If { bare: true, .. } => Vec::new(),
        Statement::If { yes, no, .. } => vec![yes, no],
        Statement::Loop { body, again, .. } => vec![body, again],
        Statement::Switch { branches, .. } => branches.iter().collect(),
        _ => Vec::new(),
    }
}

fn parts_mut(statement: &mut Statement) -> Vec<&mut Vec<Statement>> {
    match statement {
        Statement::If { bare: true, .. } => Vec::new(),
        Statement::If { yes, no, .. } => vec![yes, no],
        Statement::Loop { body, again, .. } => vec![body, again],
        Statement::Switch { branches, .. } => branches.iter_mut().collect(),
        _ => Vec::new(),
    }
}
