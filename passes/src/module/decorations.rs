//! Decorations of ids and members, groups resolved.

use super::id_map::IdMap;
use super::report::Report;
use super::{Id, Inst, Module};
use crate::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

/// A decoration on an id or a member.
#[derive(Copy, Clone, Debug)]
pub struct Decoration<'m> {
    /// The decoration's number (compare with `spirv::Decoration as u32`).
    pub kind: u32,
    /// Its extra operands.
    pub operands: &'m [u32],
}

/// All decorations of a module.
#[derive(Clone, Debug)]
pub(super) struct Decorations<'m> {
    of_ids: IdMap<Vec<Decoration<'m>>>,
    of_members: BTreeMap<(Id, u32), Vec<Decoration<'m>>>,
    /// How many decorations groups have copied so far.
    copied: usize,
}

impl<'m> Decorations<'m> {
    /// None, of a module of so many words.
    pub(super) fn new(words: usize) -> Self {
        Decorations {
            of_ids: IdMap::new(words),
            of_members: BTreeMap::new(),
            copied: 0,
        }
    }

    /// Takes `inst`, whose opcode is `op`, if it decorates.
    pub(super) fn read(
        &mut self,
        module: &'m Module<'m>,
        op: spirv::Op,
        inst: Inst<'m>,
        report: &mut Report<'_>,
    ) {
        use spirv::Op;
        match (op, inst.operands()) {
            (Op::Decorate | Op::DecorateId | Op::DecorateString, [target, kind, operands @ ..]) => {
                self.decorate(
                    *target,
                    &[Decoration {
                        kind: *kind,
                        operands,
                    }],
                )
            }
            (
                Op::MemberDecorate | Op::MemberDecorateString | Op::MemberDecorateIdEXT,
                [target, member, kind, operands @ ..],
            ) => {
                self.of_members
                    .entry((Id(*target), *member))
                    .or_default()
                    .push(Decoration {
                        kind: *kind,
                        operands,
                    });
            }
            (Op::GroupDecorate, [group, targets @ ..]) => {
                for target in targets {
                    let Some(copies) = self.of_group(module, inst, *group, report) else {
                        break;
                    };
                    self.decorate(*target, &copies);
                }
            }
            (Op::GroupMemberDecorate, [group, targets @ ..]) => {
                for target in targets.chunks_exact(2) {
                    let (Some(copies), [id, member]) =
                        (self.of_group(module, inst, *group, report), target)
                    else {
                        break;
                    };
                    self.of_members
                        .entry((Id(*id), *member))
                        .or_default()
                        .extend(copies);
                }
            }
            _ => {} // not a decoration
        }
    }

    fn decorate(&mut self, target: u32, more: &[Decoration<'m>]) {
        if let Some(list) = self.of_ids.or_default(Id(target)) {
            list.extend(more);
        }
    }

    /// The decorations of `group`; `None` when groups have copied more than the module's size
    /// allows (a small file must not become a large table).
    fn of_group(
        &mut self,
        module: &Module<'_>,
        inst: Inst<'_>,
        group: u32,
        report: &mut Report<'_>,
    ) -> Option<Vec<Decoration<'m>>> {
        let list = self.of_ids.get(Id(group)).cloned().unwrap_or_default();
        self.copied += list.len() + 1;
        if self.copied > 4 * module.words().len() {
            report.push(
                Diagnostic::error(
                    Code::TooManyDecorations,
                    "the decoration groups expand to too many decorations",
                )
                .at_word(inst.offset)
                .because("the limit is four decorations for each word of the module"),
            );
            return None;
        }
        Some(list)
    }

    pub(super) fn of_id(&self, id: Id) -> &[Decoration<'m>] {
        self.of_ids.get(id).map_or(&[], Vec::as_slice)
    }

    /// Ids whose decoration `kind` has `operand` first, in order.
    pub(super) fn ids_with(&self, kind: spirv::Decoration, operand: u32) -> Vec<Id> {
        let has = |list: &[Decoration<'m>]| {
            list.iter()
                .any(|d| d.kind == kind as u32 && d.operands.first() == Some(&operand))
        };
        self.of_ids
            .iter()
            .filter(|(_, list)| has(list))
            .map(|(id, _)| id)
            .collect()
    }

    pub(super) fn of_member(&self, id: Id, member: u32) -> &[Decoration<'m>] {
        self.of_members
            .get(&(id, member))
            .map_or(&[], Vec::as_slice)
    }
}
