//! Damage that leaves most of a module readable: ids are exchanged, instructions dropped, doubled
//! and moved, literals changed, barriers put in, functions taken from another module.

use fastrand::Rng;
use spirv::Op;
use splitbar_passes::module::{Id, Inst, Module, WordOffset};
use std::collections::BTreeMap;

/// A module as a list of instructions: all their words.
type Code = Vec<Vec<u32>>;

/// `module` after 1 to 4 damages. `other` gives functions to splice.
pub fn mutate(module: &Module<'_>, other: &Module<'_>, random: &mut Rng) -> Vec<u8> {
    let mut bound = module.header().bound;
    let mut code: Code = module
        .instructions()
        .map(|inst| inst.words.to_vec())
        .collect();
    let ids: Vec<u32> = module
        .instructions()
        .filter_map(Inst::result)
        .map(|id| id.0)
        .collect();
    for _ in 0..random.usize(1..=4) {
        damage(module, other, &ids, &mut code, &mut bound, random);
    }
    let mut words: Vec<u32> = module.words().get(..5).unwrap_or(&[]).to_vec();
    if let Some(word) = words.get_mut(3) {
        *word = bound;
    }
    words.extend(code.into_iter().flatten());
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn damage(
    module: &Module<'_>,
    other: &Module<'_>,
    ids: &[u32],
    code: &mut Code,
    bound: &mut u32,
    random: &mut Rng,
) {
    // Bodies are where barriers are: most damage goes there.
    let first = code
        .iter()
        .position(|words| opcode(words) == Op::Function as u32)
        .filter(|_| random.u8(..8) > 0)
        .unwrap_or(0);
    if first >= code.len() {
        return;
    }
    let at = random.usize(first..code.len());
    let target = random.usize(first..code.len());
    match random.u8(..9) {
        0 => exchange_operands(code, at, target, random),
        1 => {
            // An operand becomes another id of the module.
            if let (Some(word), Some(id)) = (operand(code, at, random), random.choice(ids)) {
                *word = *id;
            }
        }
        2 => drop(code.remove(at)),
        3 => {
            let copy = with_fresh_result(module, &code[at], bound);
            code.insert(at, copy);
        }
        4 => {
            let moved = code.remove(at);
            code.insert(target.min(code.len()), moved);
        }
        5 => {
            if let Some(word) = operand(code, at, random) {
                *word = match random.u8(..4) {
                    0 => word.wrapping_add(1),
                    1 => *word ^ 1 << random.u32(..32),
                    2 => random.u32(..0x200),
                    _ => random.u32(..),
                };
            }
        }
        6 | 7 => put_barrier(code, at, random),
        _ => splice(other, code, bound, random),
    }
}

fn opcode(words: &[u32]) -> u32 {
    words.first().map_or(0, |word| word & 0xffff)
}

fn operand<'c>(code: &'c mut Code, at: usize, random: &mut Rng) -> Option<&'c mut u32> {
    let words = code.get_mut(at)?;
    let index = random.usize(1..words.len().max(2));
    words.get_mut(index)
}

fn exchange_operands(code: &mut Code, one: usize, other: usize, random: &mut Rng) {
    let Some(old) = operand(code, one, random).copied() else {
        return;
    };
    let Some(word) = operand(code, other, random) else {
        return;
    };
    let new = std::mem::replace(word, old);
    if let Some(word) = operand(code, one, random) {
        *word = new;
    }
}

/// A copy that defines an id of its own.
fn with_fresh_result(module: &Module<'_>, words: &[u32], bound: &mut u32) -> Vec<u32> {
    let mut copy = words.to_vec();
    let result = module
        .instructions()
        .find(|inst| inst.words == words)
        .and_then(Inst::result);
    if let Some(Id(id)) = result
        && let Some(word) = copy.iter_mut().skip(1).find(|word| **word == id)
    {
        *word = *bound;
        *bound = bound.saturating_add(1);
    }
    copy
}

/// Puts an arrive, a wait, or both kinds of barrier, with the operands of one that is there, or of
/// any instruction with three.
fn put_barrier(code: &mut Code, at: usize, random: &mut Rng) {
    let barriers: Vec<&Vec<u32>> = code
        .iter()
        .filter(|words| words.len() == 4 && matches!(opcode(words), 224 | 6142 | 6143))
        .collect();
    let Some(model) = random.choice(&barriers).map(|words| (**words).clone()) else {
        return;
    };
    let Some(op) = random.choice([
        Op::ControlBarrier,
        Op::ControlBarrierArriveINTEL,
        Op::ControlBarrierWaitINTEL,
    ]) else {
        return;
    };
    let mut words = model;
    if let Some(first) = words.first_mut() {
        *first = 4 << 16 | op as u32;
    }
    code.insert(at, words);
}

/// Appends a function of `other`. Its own ids become new ones; those of its module stay as they are
/// and mean something else here.
fn splice(other: &Module<'_>, code: &mut Code, bound: &mut u32, random: &mut Rng) {
    let starts: Vec<WordOffset> = other
        .instructions()
        .filter(|inst| inst.op() == Some(Op::Function))
        .map(|inst| inst.offset)
        .collect();
    let Some(start) = random.choice(&starts) else {
        return;
    };
    let mut fresh: BTreeMap<u32, u32> = BTreeMap::new();
    let mut insts = Vec::new();
    for inst in other.instructions_from(*start) {
        if let Some(Id(id)) = inst.result() {
            fresh.insert(id, *bound);
            *bound = bound.saturating_add(1);
        }
        insts.push(inst);
        if inst.op() == Some(Op::FunctionEnd) {
            break;
        }
    }
    for inst in insts {
        let mut words = inst.words.to_vec();
        for (index, id) in other.ids(inst) {
            if let (Some(new), Some(word)) = (fresh.get(&id.0), words.get_mut(index)) {
                *word = *new;
            }
        }
        code.push(words);
    }
}
