//! The elements of workgroup arrays that each invocation may touch, and whether two invocations of
//! different subgroups may conflict there.

use super::invocation::{Invocations, Value};
use crate::analysis::phases::{Body, Effect, MemoryRegions, Role};
use crate::module::{BlockIndex, Declarations, Id, Inst, WordOffset};
use spirv::Op;
use std::collections::BTreeMap;

/// Longest way that is followed from a pointer to its variable.
const MOST_STEPS: usize = 64;

/// Elements of all accesses by all invocations.
const MOST_ELEMENTS: usize = 1 << 20;

/// Instructions that are looked at for all invocations.
const MOST_WORK: usize = 1 << 24;

/// The indices of an element, from its variable on: `None` where one is not known.
type Path = Vec<Option<u64>>;

/// An access to workgroup memory.
pub(super) struct Touched {
    effect: Effect,
    /// The variable, if it is known.
    variable: Option<Id>,
    /// The elements, by invocations that may execute it.
    elements: Vec<(usize, Path)>,
}

/// The accesses of a function to workgroup memory, by their places.
pub(super) struct Accesses(BTreeMap<WordOffset, Touched>);

impl Accesses {
    /// Those of `body` by `some` of its invocations; `None` if they are too many.
    pub(super) fn analyze<'m>(
        declarations: &Declarations<'m>,
        body: &Body,
        invocations: &Invocations<'_, 'm>,
        some: &[usize],
    ) -> Option<Accesses> {
        let mut accesses = BTreeMap::new();
        let mut found: Vec<(BlockIndex, WordOffset, Pointer)> = Vec::new();
        for (block, items) in body.blocks.iter() {
            for item in items {
                let effect = item.effect.within(MemoryRegions::WORKGROUP);
                if matches!(item.role, Role::Half(..)) || effect.touches().is_empty() {
                    continue;
                }
                let inst = declarations.module.at(item.offset)?;
                let pointer = Pointer::of(declarations, inst);
                let touched = Touched {
                    effect,
                    variable: pointer.variable,
                    elements: Vec::new(),
                };
                accesses.insert(item.offset, touched);
                found.push((block, item.offset, pointer));
            }
        }
        let mut work = MOST_WORK;
        let mut room = MOST_ELEMENTS;
        for &index in some {
            let invocation = invocations.run(index, &mut work)?;
            let value = |id: &Id| match invocation.value(*id) {
                Some(Value::Always(constant)) => constant.as_u64(),
                Some(Value::Varies) => None,
                None => invocations.constant(*id),
            };
            for (block, offset, pointer) in &found {
                if !invocation.comes_to(*block) {
                    continue;
                }
                let path: Path = pointer.indices.iter().map(value).collect();
                room = room.checked_sub(1 + path.len())?;
                let touched = accesses.get_mut(offset)?;
                touched.elements.push((index, path));
            }
        }
        Some(Accesses(accesses))
    }

    pub(super) fn get(&self, offset: WordOffset) -> Option<&Touched> {
        self.0.get(&offset)
    }
}

/// The variable and the indices of a pointer.
struct Pointer {
    variable: Option<Id>,
    indices: Vec<Id>,
}

impl Pointer {
    /// That of a load or a store; nothing is known of other accesses.
    fn of(declarations: &Declarations<'_>, inst: Inst<'_>) -> Pointer {
        let plain = matches!(inst.op(), Some(Op::Load | Op::Store));
        let pointer = inst.id(0).ok().filter(|_| plain);
        let known = pointer.and_then(|pointer| Pointer::followed(declarations, pointer));
        known.unwrap_or(Pointer {
            variable: None,
            indices: Vec::new(),
        })
    }

    fn followed(declarations: &Declarations<'_>, pointer: Id) -> Option<Pointer> {
        let mut at = pointer;
        // The last chain's come last.
        let mut chains: Vec<Vec<Id>> = Vec::new();
        for _ in 0..MOST_STEPS {
            let inst = declarations.module.def(at)?;
            match inst.op()? {
                Op::Variable => {
                    return Some(Pointer {
                        variable: Some(at),
                        indices: chains.into_iter().rev().flatten().collect(),
                    });
                }
                Op::AccessChain | Op::InBoundsAccessChain => {
                    let indices = inst.operands().get(1..)?.iter();
                    chains.push(indices.map(|id| Id(*id)).collect());
                }
                Op::CopyObject => {}
                _ => return None, // an address from elsewhere
            }
            at = inst.id(0).ok()?;
        }
        None
    }
}

impl Touched {
    /// Returns true if an invocation may touch by this what one of another subgroup of `size`
    /// invocations touches by `other`, and one of them writes.
    pub(super) fn crosses(&self, other: &Touched, size: usize) -> bool {
        if !self.effect.conflicts(other.effect) {
            return false;
        }
        let is_same = self.variable.is_some() && self.variable == other.variable;
        // Where both know an index in all invocations, elements with other indices are others.
        let known: Vec<usize> = if is_same {
            let both = || self.elements.iter().chain(&other.elements);
            let depth = both().map(|(_, path)| path.len()).min().unwrap_or(0);
            let is_known =
                |at: &usize| both().all(|(_, path)| matches!(path.get(*at), Some(Some(_))));
            (0..depth).filter(is_known).collect()
        } else {
            Vec::new()
        };
        let key = |path: &Path| -> Vec<u64> {
            let values = known
                .iter()
                .filter_map(|at| path.get(*at).copied().flatten());
            values.collect()
        };
        let mut subgroups: BTreeMap<Vec<u64>, Subgroups> = BTreeMap::new();
        for (index, path) in &self.elements {
            subgroups.entry(key(path)).or_default().add(index / size);
        }
        other.elements.iter().any(|(index, path)| {
            let subgroups = subgroups.get(&key(path));
            subgroups.is_some_and(|known| *known != Subgroups::One(index / size))
        })
    }
}

/// Subgroups that touch an element.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Subgroups {
    #[default]
    None,
    One(usize),
    Several,
}

impl Subgroups {
    fn add(&mut self, number: usize) {
        *self = match *self {
            Subgroups::None => Subgroups::One(number),
            Subgroups::One(known) if known == number => Subgroups::One(known),
            Subgroups::One(_) | Subgroups::Several => Subgroups::Several,
        }
    }
}
