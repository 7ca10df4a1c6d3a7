//! Finds the origin of a stored value: a load of global memory, either unconditional or merged with
//! zeros from other paths.
//!
//! `tile[l] = g < n ? source[g] : 0` loads behind a branch; where the branch joins, a phi, or a
//! variable that nothing else uses, has the loaded value or zero. The copy is made where the store
//! stands, with zeros where control came another way. So each block on the way from the load to the
//! store leads to the next alone: whoever loads comes to the store next, and whoever comes there
//! from elsewhere stores zero.

use super::Choice;
use super::{Reason, Zeros};
use crate::analysis::cfg::Cfg;
use crate::analysis::uniformity::memory::{self};
use crate::module::{BlockIndex, Constants, Declarations, Id, Inst, Type, WordOffset};
use crate::module::{Constant, Function};
use spirv::Op;
use spirv::StorageClass;
use std::collections::{BTreeMap, BTreeSet};

/// Longest way from a store back to its load, in phis, variables and selections.
const MOST_STEPS: usize = 16;

/// A load of global memory whose value a store writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Word offset of the OpLoad.
    pub(super) load: WordOffset,
    /// The blocks on the way, that of the store first and that of the load last.
    pub(super) blocks: Vec<BlockIndex>,
    /// Where zeros are stored instead.
    pub(super) zeros: Zeros,
}

/// What a function does with its values and variables.
pub(super) struct Origins<'o, 'm> {
    declarations: &'o Declarations<'m>,
    constants: &'o Constants,
    cfg: &'o Cfg,
    /// The word offset of each block, ascending.
    starts: Vec<WordOffset>,
    /// By id: how often instructions use it.
    uses: BTreeMap<Id, u32>,
    /// Variables of class Function, by id.
    variables: BTreeMap<Id, Variable<'m>>,
}

/// A variable of class Function that is loaded and stored as a whole.
#[derive(Clone, Debug, Default)]
struct Variable<'m> {
    initializer: Option<Id>,
    stores: Vec<Inst<'m>>,
    loads: u32,
}

/// A value on its way, and where it is wanted.
struct Step {
    value: Id,
    /// It is wanted at the end of a block that leads to the last one alone; `None`: in that itself.
    from: Option<BlockIndex>,
    zeros: Zeros,
}

impl<'o, 'm> Origins<'o, 'm> {
    pub(super) fn analyze(
        declarations: &'o Declarations<'m>,
        constants: &'o Constants,
        function: &'o Function<'m>,
        cfg: &'o Cfg,
    ) -> Origins<'o, 'm> {
        let mut origins = Origins {
            declarations,
            constants,
            cfg,
            starts: function.blocks.iter().map(|block| block.offset).collect(),
            uses: BTreeMap::new(),
            variables: BTreeMap::new(),
        };
        function.insts().for_each(|inst| origins.note(inst));
        // One that is used in another way than these can be changed there.
        let uses = &origins.uses;
        origins.variables.retain(|id, variable| {
            let stores = u32::try_from(variable.stores.len()).unwrap_or(u32::MAX);
            uses.get(id).copied() == Some(stores.saturating_add(variable.loads))
        });
        origins
    }

    fn note(&mut self, inst: Inst<'m>) {
        for (_, id) in self.declarations.module.ids(inst) {
            if inst.result() != Some(id) {
                *self.uses.entry(id).or_default() += 1;
            }
        }
        let pointer = inst.id(0).ok();
        match inst.op() {
            Some(Op::Variable) => {
                if let Some(id) = inst.result() {
                    let variable = self.variables.entry(id).or_default();
                    variable.initializer = inst.id(1).ok();
                }
            }
            Some(Op::Load) => {
                let variable = pointer.and_then(|id| self.variables.get_mut(&id));
                if let Some(variable) = variable {
                    variable.loads = variable.loads.saturating_add(1);
                }
            }
            Some(Op::Store) => {
                let variable = pointer.and_then(|id| self.variables.get_mut(&id));
                if let Some(variable) = variable {
                    variable.stores.push(inst);
                }
            }
            _ => {} // what else is done with a variable counts as a use
        }
    }

    /// The load whose value `store` writes to Workgroup memory, or why it is none that can be
    /// copied; `None` for a store of anything else.
    pub(super) fn of_store(&self, store: Inst<'m>) -> Option<Result<Origin, Reason>> {
        let (pointer, stored) = (store.id(0).ok()?, store.id(1).ok()?);
        if store.op() != Some(Op::Store)
            || memory::class_of(self.declarations, pointer) != Some(StorageClass::Workgroup)
        {
            return None;
        }
        let mut blocks = vec![self.block(store)?];
        let (mut value, mut zeros, mut used_twice) = (stored, Zeros::default(), false);
        for _ in 0..MOST_STEPS {
            let inst = self.declarations.module.def(value)?;
            used_twice |= self.uses.get(&value) != Some(&1);
            let here = *blocks.last()?;
            let is_here = self.block(inst) == Some(here);
            if inst.op() == Some(Op::Load) && self.is_global(inst) {
                // Whoever reads the module in its order comes to the load before the store.
                return Some(if !is_here || inst.offset > store.offset {
                    Err(Reason::OtherBlock)
                } else if used_twice {
                    Err(Reason::UsedTwice)
                } else {
                    Ok(Origin {
                        load: inst.offset,
                        blocks,
                        zeros,
                    })
                });
            }
            let step = if is_here {
                self.step(inst, here, blocks.len() == 1)?
            } else {
                return None;
            };
            value = step.value;
            zeros = zeros.and(step.zeros)?;
            if let Some(from) = step.from {
                if self.cfg.succs(from) != [here] || blocks.contains(&from) {
                    return None;
                }
                blocks.push(from);
            }
        }
        None
    }

    fn is_global(&self, load: Inst<'_>) -> bool {
        let pointer = load.id(0).ok();
        let class = pointer.and_then(|pointer| memory::class_of(self.declarations, pointer));
        is_source(class)
    }

    /// Where `inst` in block `here`, that of the store if `is_last`, has its value from, if all
    /// else that it can be is zero.
    fn step(&self, inst: Inst<'m>, here: BlockIndex, is_last: bool) -> Option<Step> {
        match inst.op()? {
            Op::CopyObject => Some(Step {
                value: inst.id(0).ok()?,
                from: None,
                zeros: Zeros::default(),
            }),
            Op::Phi => self.phi(inst),
            Op::Select if is_last => self.select(inst),
            Op::Load => self.variable(inst, here),
            _ => None, // computed
        }
    }

    fn phi(&self, phi: Inst<'m>) -> Option<Step> {
        let (ways, _) = phi.operands().as_chunks();
        let mut loaded = ways.iter().filter(|[value, _]| !self.is_zero(Id(*value)));
        let (Some([value, from]), None) = (loaded.next(), loaded.next()) else {
            return None;
        };
        Some(Step {
            value: Id(*value),
            from: Some(self.cfg.index_of(Id(*from))?),
            zeros: Zeros::BY_BRANCH,
        })
    }

    fn select(&self, select: Inst<'m>) -> Option<Step> {
        let [condition, yes, no] = [select.id(0).ok()?, select.id(1).ok()?, select.id(2).ok()?];
        let is_scalar = self
            .declarations
            .type_of(condition)
            .is_some_and(|ty| matches!(self.declarations.ty(ty), Some(Type::Bool)));
        let (value, when) = match (self.is_zero(yes), self.is_zero(no)) {
            (false, true) => (yes, true),
            (true, false) => (no, false),
            _ => return None, // two values, or none
        };
        is_scalar.then_some(Step {
            value,
            from: None,
            zeros: Zeros {
                by_branch: false,
                by_select: Some(Choice {
                    select: select.offset,
                    when,
                }),
            },
        })
    }

    /// What the only load of a variable finds in block `here`: the one value that is stored there
    /// and is not zero.
    fn variable(&self, load: Inst<'m>, here: BlockIndex) -> Option<Step> {
        let variable = self.variables.get(&load.id(0).ok()?)?;
        let stores = variable.stores.iter();
        let (zeros, values): (Vec<Inst<'m>>, Vec<Inst<'m>>) =
            stores.partition(|store| store.id(1).is_ok_and(|value| self.is_zero(value)));
        let [store] = values.as_slice() else {
            return None;
        };
        let starts_with_zeros = variable.initializer.is_none_or(|value| self.is_zero(value));
        if variable.loads != 1 || !starts_with_zeros {
            return None;
        }
        let value = store.id(1).ok()?;
        let from = self.block(*store)?;
        // Zeros that are stored between the store and the load.
        let covers = |zero: &Inst<'m>| {
            let block = self.block(*zero);
            let behind_store = block == Some(from) && zero.offset > store.offset;
            let before_load = block == Some(here) && zero.offset < load.offset;
            if from == here {
                behind_store && before_load
            } else {
                behind_store || before_load
            }
        };
        if zeros.iter().any(covers) {
            return None;
        }
        if from == here {
            return (store.offset < load.offset).then_some(Step {
                value,
                from: None,
                zeros: Zeros::default(),
            });
        }
        let zeroed = zeros.iter().filter_map(|zero| self.block(*zero)).collect();
        (!self.comes_again(here, from, &zeroed)).then_some(Step {
            value,
            from: Some(from),
            zeros: Zeros::BY_BRANCH,
        })
    }

    /// Returns true if control can go from `here` to `here` again through neither `from` nor a
    /// block of `zeroed`: there it would find what was stored before.
    fn comes_again(
        &self,
        here: BlockIndex,
        from: BlockIndex,
        zeroed: &BTreeSet<BlockIndex>,
    ) -> bool {
        if zeroed.contains(&here) {
            return false;
        }
        let mut seen = BTreeSet::new();
        let mut work = vec![here];
        while let Some(at) = work.pop() {
            for next in self.cfg.succs(at) {
                if *next == here {
                    return true;
                }
                if *next != from && !zeroed.contains(next) && seen.insert(*next) {
                    work.push(*next);
                }
            }
        }
        false
    }

    /// Returns true if `id` is a number or a vector of numbers all of whose bits are zero, or
    /// undefined.
    fn is_zero(&self, id: Id) -> bool {
        let is_zero = |constant: &Constant| match constant {
            Constant::Int { bits, .. } | Constant::Float { bits, .. } => *bits == 0,
            Constant::Null | Constant::Undef => true,
            Constant::Bool(_) | Constant::Composite(_) => false,
        };
        match self.constants.get(id) {
            Some(Constant::Composite(parts)) => parts.iter().all(is_zero),
            Some(constant) => is_zero(constant),
            None => {
                let inst = self.declarations.module.def(id);
                inst.is_some_and(|inst| inst.op() == Some(Op::Undef))
            }
        }
    }

    /// The block of the function that `inst` stands in.
    fn block(&self, inst: Inst<'_>) -> Option<BlockIndex> {
        let end = self.starts.partition_point(|start| *start <= inst.offset);
        end.checked_sub(1).map(BlockIndex::new)
    }
}

pub(super) fn is_source(class: Option<StorageClass>) -> bool {
    matches!(
        class,
        Some(
            StorageClass::StorageBuffer
                | StorageClass::Uniform
                | StorageClass::CrossWorkgroup
                | StorageClass::PhysicalStorageBuffer
        )
    )
}
