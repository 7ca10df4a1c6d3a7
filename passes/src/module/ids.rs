//! The ids of one instruction, found without the grammar where the opcode's shape says where they
//! stand.

use super::grammar::{self, Tail};
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

impl<'m> Ids<'m> {
    pub(super) fn of(module: &Module<'_>, inst: Inst<'m>) -> Ids<'m> {
        let shape = grammar::shape(inst.opcode());
        let fixed = usize::from(shape.fixed);
        let next = inst.words.get(fixed).copied();
        let is_plain = match (shape.tail, next) {
            (Tail::Literals | Tail::Text, _) | (_, None) => Some(None),
            (Tail::Ids, Some(_)) => Some(Some(fixed)),
            (Tail::Bits, Some(mask)) => (u64::from(mask) & !shape.plain == 0).then_some(None),
            (Tail::Number, Some(value)) => {
                (shape.plain.checked_shr(value).unwrap_or(0) & 1 == 1).then_some(None)
            }
            (Tail::Ext, Some(_)) => module
                .ext_set(inst)
                .has_only_ids()
                .then_some(Some(fixed + 1)),
            (Tail::Mixed, Some(_)) => None,
        };
        Ids(match is_plain {
            Some(tail) => Walk::Shape {
                words: inst.words,
                at: 0,
                ids: shape.ids,
                fixed,
                tail: tail.unwrap_or(inst.words.len()),
            },
            None => Walk::Operands(module.operands(inst)),
        })
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
        [Ids::of(&module, inst).collect(), slow]
    }

    #[test]
    fn equal_to_the_walk_over_operands() {
        let insts: &[&[u32]] = &[
            &[5 << 16 | 128, 10, 11, 12, 13],         // OpIAdd
            &[4 << 16 | 61, 10, 11, 12],              // OpLoad
            &[6 << 16 | 61, 10, 11, 12, 2, 4],        // OpLoad Aligned 4
            &[6 << 16 | 61, 10, 11, 12, 0x10, 13],    // OpLoad MakePointerVisible %13
            &[7 << 16 | 65, 10, 11, 12, 13, 14, 15],  // OpAccessChain
            &[6 << 16 | 81, 10, 11, 12, 0, 1],        // OpCompositeExtract
            &[7 << 16 | 12, 10, 11, 1, 26, 12, 13],   // OpExtInst GLSL.std.450 Pow
            &[7 << 16 | 245, 10, 11, 12, 13, 14, 15], // OpPhi
            &[4 << 16 | 250, 10, 11, 12],             // OpBranchConditional
            &[6 << 16 | 250, 10, 11, 12, 1, 1],       // with weights
            &[5 << 16 | 251, 10, 11, 7, 12],          // OpSwitch
            &[3 << 16 | 62, 10, 11],                  // OpStore
            &[4 << 16 | 59, 10, 11, 7],               // OpVariable
            &[5 << 16 | 59, 10, 11, 7, 12],           // with an initializer
            &[4 << 16 | 71, 10, 11, 28],              // OpDecorate
            &[3 << 16 | 71, 10, 19],                  // OpDecorate Restrict
            &[4 << 16 | 332, 10, 44, 12],             // OpDecorateId AlignmentId
            &[4 << 16 | 6142, 10, 11, 12],            // arrive
            &[1 << 16 | 253],                         // OpReturn
            &[3 << 16 | 60_000, 10, 11],              // nobody knows
            &[6 << 16 | 52, 10, 11, 128, 12, 13],     // OpSpecConstantOp IAdd
            &[6 << 16 | 63, 10, 11, 2, 4, 1],         // OpCopyMemory
        ];
        for inst in insts {
            let [quick, slow] = ids_both_ways(inst);
            assert_eq!(quick, slow, "{inst:?}");
        }
    }
}
