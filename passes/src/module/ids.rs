//! The ids of one instruction, found without the grammar if the shape of the opcode determines
//! their places.

use super::grammar::{self, Shape, Tail};
use super::operands::Operands;
use super::{Id, Inst, Module};

/// Walks over the ids of an instruction: each with its index in [`Inst::words`].
#[derive(Clone, Debug)]
pub struct Ids<'m>(Walk<'m>);

#[derive(Clone, Debug)]
enum Walk<'m> {
    /// Which words are ids is known: bit `i` of `ids` for word `i + 1` of those before `fixed`, all
    /// words from `tail` on.
    Shape {
        words: &'m [u32],
        at: usize,
        ids: u32,
        fixed: usize,
        tail: usize,
    },
    /// The operands before a word decide about it.
    Operands(Operands<'m>),
}

impl Module<'_> {
    /// Every id in an instruction of this module with its index in [`Inst::words`]; result type and
    /// result id included.
    pub fn ids<'m>(&self, inst: Inst<'m>) -> Ids<'m> {
        Ids::collect(self, inst)
    }

    /// Returns true if `f` holds for each of [`Module::ids`]: they are shown until it does not.
    #[inline]
    pub(crate) fn all_ids(&self, inst: Inst<'_>, f: impl FnMut(usize, Id) -> bool) -> bool {
        all(self, inst, f)
    }

    /// As [`Module::ids`], with a call for each.
    #[inline]
    pub(crate) fn for_each_id(&self, inst: Inst<'_>, mut f: impl FnMut(usize, Id)) {
        all(self, inst, |index, id| {
            f(index, id);
            true
        });
    }
}

impl<'m> Ids<'m> {
    fn collect(module: &Module<'_>, inst: Inst<'m>) -> Ids<'m> {
        let shape = &shape(inst);
        Ids(match tail(module, inst, shape) {
            Some(tail) => Walk::Shape {
                words: inst.words,
                at: 0,
                ids: shape.ids,
                fixed: usize::from(shape.fixed),
                tail,
            },
            None => Walk::Operands(module.operands(inst)),
        })
    }
}

/// Returns true if `f` holds for every id of `inst`, as [`Ids`] walks over them; for the loops that
/// look at each id of a module.
#[inline]
fn all(module: &Module<'_>, inst: Inst<'_>, mut f: impl FnMut(usize, Id) -> bool) -> bool {
    let shape = &shape(inst);
    let Some(tail) = tail(module, inst, shape) else {
        return Ids::collect(module, inst).all(|(index, id)| f(index, id));
    };
    let head = inst.words.get(..usize::from(shape.fixed));
    for (index, word) in head.unwrap_or(inst.words).iter().enumerate().skip(1) {
        if shape.ids >> (index - 1) & 1 == 1 && !f(index, Id(*word)) {
            return false;
        }
    }
    let mut tail = inst.words.iter().enumerate().skip(tail);
    tail.all(|(index, word)| f(index, Id(*word)))
}

/// The shape of `inst`, with that of its operation if it has one.
#[inline]
fn shape(inst: Inst<'_>) -> Shape {
    let shapes = grammar::shapes();
    let shape = *shapes.of(inst.opcode());
    match (shape.tail, inst.words.get(3)) {
        (Tail::Operation, Some(operation)) => shapes.operation(shape, *operation),
        _ => shape,
    }
}

/// The word of `inst` from which on all words are ids, where those in front of its tail are the
/// only others; `None` where the operands before a word decide about it.
#[inline]
fn tail(module: &Module<'_>, inst: Inst<'_>, shape: &Shape) -> Option<usize> {
    let fixed = usize::from(shape.fixed);
    let end = inst.words.len();
    let Some(next) = inst.words.get(fixed).copied() else {
        return Some(end);
    };
    match shape.tail {
        Tail::Literals | Tail::Text => Some(end),
        Tail::Ids => Some(fixed),
        Tail::Bits => (u64::from(next) & !shape.plain == 0).then_some(end),
        Tail::Number => (shape.plain.checked_shr(next).unwrap_or(0) & 1 == 1).then_some(end),
        Tail::Ext => module.ext_set(inst).has_only_ids().then_some(fixed + 1),
        Tail::Operation | Tail::Mixed => None,
    }
}

impl Iterator for Ids<'_> {
    type Item = (usize, Id);

    fn next(&mut self) -> Option<(usize, Id)> {
        match &mut self.0 {
            Walk::Shape {
                words,
                at,
                ids,
                fixed,
                tail,
            } => loop {
                *at += 1;
                if *at >= *fixed {
                    *at = (*at).max(*tail);
                    return words.get(*at).map(|word| (*at, Id(*word)));
                }
                let word = words.get(*at)?;
                if *ids >> (*at - 1) & 1 == 1 {
                    return Some((*at, Id(*word)));
                }
            },
            Walk::Operands(operands) => {
                operands.find_map(|operand| Some((operand.index, operand.id()?)))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The words of a module in which `%1` is GLSL.std.450, followed by `inst`.
    fn ids_both_ways(inst: &[u32]) -> [Vec<(usize, Id)>; 2] {
        let glsl = [
            6 << 16 | 11,
            1,
            u32::from_le_bytes(*b"GLSL"),
            u32::from_le_bytes(*b".std"),
            u32::from_le_bytes(*b".450"),
            0,
        ];
        let mut words = vec![0x0723_0203, 0x0001_0600, 0, 90, 0];
        words.extend(glsl);
        words.extend(inst);
        let module = Module::from_words(words).unwrap();
        let inst = module.instructions().last().unwrap();
        let slow = module
            .operands(inst)
            .filter_map(|operand| Some((operand.index, operand.id()?)))
            .collect();
        let quick: Vec<_> = Ids::collect(&module, inst).collect();
        let mut each = Vec::new();
        assert!(all(&module, inst, |index, id| {
            each.push((index, id));
            true
        }));
        assert_eq!(quick, each, "{inst:?}");
        [quick, slow]
    }

    #[test]
    fn equal_to_the_walk_over_operands() {
        let insts: &[&[u32]] = &[
            &[5 << 16 | 128, 10, 11, 12, 13],            // OpIAdd
            &[4 << 16 | 61, 10, 11, 12],                 // OpLoad
            &[6 << 16 | 61, 10, 11, 12, 2, 4],           // OpLoad Aligned 4
            &[6 << 16 | 61, 10, 11, 12, 0x10, 13],       // OpLoad MakePointerVisible %13
            &[7 << 16 | 65, 10, 11, 12, 13, 14, 15],     // OpAccessChain
            &[6 << 16 | 81, 10, 11, 12, 0, 1],           // OpCompositeExtract
            &[7 << 16 | 12, 10, 11, 1, 26, 12, 13],      // OpExtInst GLSL.std.450 Pow
            &[7 << 16 | 245, 10, 11, 12, 13, 14, 15],    // OpPhi
            &[4 << 16 | 250, 10, 11, 12],                // OpBranchConditional
            &[6 << 16 | 250, 10, 11, 12, 1, 1],          // with weights
            &[5 << 16 | 251, 10, 11, 7, 12],             // OpSwitch
            &[3 << 16 | 62, 10, 11],                     // OpStore
            &[4 << 16 | 59, 10, 11, 7],                  // OpVariable
            &[5 << 16 | 59, 10, 11, 7, 12],              // with an initializer
            &[4 << 16 | 71, 10, 11, 28],                 // OpDecorate
            &[3 << 16 | 71, 10, 19],                     // OpDecorate Restrict
            &[4 << 16 | 332, 10, 44, 12],                // OpDecorateId AlignmentId
            &[4 << 16 | 6142, 10, 11, 12],               // arrive
            &[1 << 16 | 253],                            // OpReturn
            &[3 << 16 | 60_000, 10, 11],                 // nobody knows
            &[6 << 16 | 52, 10, 11, 128, 12, 13],        // OpSpecConstantOp IAdd
            &[7 << 16 | 52, 10, 11, 81, 12, 0, 1],       // OpSpecConstantOp CompositeExtract
            &[8 << 16 | 52, 10, 11, 65, 12, 13, 14, 15], // OpSpecConstantOp AccessChain
            &[5 << 16 | 52, 10, 11, 128, 12],            // cut short
            &[6 << 16 | 52, 10, 11, 60_000, 12, 13],     // of something that nobody knows
            &[6 << 16 | 52, 10, 11, 62, 12, 13],         // of OpStore, which has no result
            &[6 << 16 | 52, 10, 11, 61, 12, 2],          // of OpLoad
            &[4 << 16 | 52, 10, 11, 128],                // of no operands
            &[6 << 16 | 63, 10, 11, 2, 4, 1],            // OpCopyMemory
        ];
        for inst in insts {
            let [quick, slow] = ids_both_ways(inst);
            assert_eq!(quick, slow, "{inst:?}");
        }
    }
}
