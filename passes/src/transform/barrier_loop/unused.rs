//! What nothing uses any more when instructions of a loop go.

use super::shape::Shape;
use crate::analysis::phases::Effects;
use crate::module::{Inst, WordOffset};
use crate::transform::edit::Edit;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// Takes away what only `gone` has used, of the part before the first barrier. The instructions
/// `gone` themselves are others' business; `used` are words of new instructions, with ids that they
/// use.
pub(in crate::transform) fn remove_unused<'m>(
    edit: &mut Edit<'_, 'm>,
    shape: &Shape<'_, 'm>,
    effects: &Effects<'_, 'm>,
    gone: &[Inst<'m>],
    used: impl Iterator<Item = u32>,
) {
    let module = edit.module();
    let mut uses: BTreeMap<u32, usize> = BTreeMap::new();
    for inst in module.instructions() {
        let result = inst.result();
        for (_, id) in module.ids(inst).filter(|(_, id)| Some(*id) != result) {
            *uses.entry(id.0).or_default() += 1;
        }
    }
    for word in used {
        *uses.entry(word).or_default() += 1;
    }
    let mut free = gone.to_vec();
    let mut gone: BTreeSet<WordOffset> = gone.iter().map(|inst| inst.offset).collect();
    while let Some(inst) = free.pop() {
        for (_, id) in module.ids(inst) {
            let Some(left) = uses.get_mut(&id.0) else {
                continue;
            };
            *left = left.saturating_sub(1);
            let unused = *left == 0;
            let def = shape.of_region(id).filter(|_| unused);
            if let Some(def) = def.filter(|def| is_only_a_value(effects, *def))
                && gone.insert(def.offset)
            {
                edit.remove(def.offset);
                free.push(def);
            }
        }
    }
}

/// Whether nothing is lost with an instruction whose result nobody uses.
fn is_only_a_value<'m>(effects: &Effects<'_, 'm>, inst: Inst<'m>) -> bool {
    let effect = effects.instruction(inst);
    let is_quiet = !effect.ordering_barrier && effect.writes.is_empty();
    is_quiet && inst.op() != Some(Op::Store) && effects.own(inst).is_some()
}
