//! Where copies stand among what else may come to workgroup memory: nothing but a fence orders an
//! access before an asynchronous copy into the same bytes.

use crate::module::{Declarations, Function, Inst, Type, WordOffset};
use spirv::{Op, StorageClass};
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
pub fn order(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
    copies: &BTreeSet<WordOffset>,
) -> Vec<Vec<Mention>> {
    let mention = |inst: &Inst<'_>| {
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

/// Whether an instruction may read or write workgroup memory: it has a pointer into it, or calls.
fn may_access(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    match inst.op() {
        Some(
            Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::RawAccessChainNV
            | Op::Bitcast
            | Op::Phi
            | Op::Select
            | Op::CopyObject,
        ) => false,
        Some(Op::FunctionCall) => true,
        _ => declarations.module.ids(inst).any(|(_, id)| {
            let ty = declarations.type_of(id).and_then(|ty| declarations.ty(ty));
            matches!(
                ty,
                Some(Type::Pointer {
                    class: StorageClass::Workgroup | StorageClass::Generic,
                    ..
                })
            )
        }),
    }
}
