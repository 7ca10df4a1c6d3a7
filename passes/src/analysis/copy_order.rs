//! Orders copies with other accesses to workgroup memory: only a fence orders an access before an
//! asynchronous copy to the same bytes.

use crate::module::facts::{Operand, Role};
use crate::module::{Declarations, Function, Inst, Type, WordOffset};
use spirv::StorageClass;
use std::collections::BTreeSet;

/// An instruction that matters to the order of copies and other accesses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mention {
    /// It may read or write workgroup memory.
    Access,
    /// The copy of this word offset.
    Copy(WordOffset),
}

/// Copies and other accesses of `function`, in order, per block that has copies; `copies` has the
/// word offsets of the copies.
pub fn order<'m>(
    declarations: &Declarations<'m>,
    function: &Function<'m>,
    copies: &BTreeSet<WordOffset>,
) -> Vec<Vec<Mention>> {
    let mention = |inst: &Inst<'m>| {
        if copies.contains(&inst.offset) {
            Some(Mention::Copy(inst.offset))
        } else {
            may_access(declarations, *inst).then_some(Mention::Access)
        }
    };
    let has_copies = |insts: &&Vec<Inst<'_>>| {
        let mut offsets = insts.iter().map(|inst| inst.offset);
        !copies.is_empty() && offsets.any(|offset| copies.contains(&offset))
    };
    let blocks = function.blocks.iter().map(|block| &block.insts);
    blocks
        .filter(has_copies)
        .map(|insts| insts.iter().filter_map(mention).collect())
        .collect()
}

/// Returns true if an instruction may read or write workgroup memory: it accesses it, or calls.
fn may_access<'m>(declarations: &Declarations<'m>, inst: Inst<'m>) -> bool {
    let mut found = declarations.facts(inst).calls.any();
    declarations.accesses(inst, |id, access| {
        let ty = declarations.type_of(id).and_then(|ty| declarations.ty(ty));
        found |= access.role != Role::Forward
            && match ty {
                Some(Type::Pointer { class, .. }) => {
                    matches!(class, StorageClass::Workgroup | StorageClass::Generic)
                }
                _ => access.kind == Operand::Pointers, // their class is not looked up
            };
    });
    found
}
