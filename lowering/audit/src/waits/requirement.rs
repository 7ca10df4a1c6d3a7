//! What a plan asks of the machine code at each barrier.

use crate::asm::Function;
use serde::{Deserialize, Serialize};
use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_plan::{EntryPlan, Fence, FenceOrder, Step, Strategy};
use std::collections::{BTreeMap, BTreeSet};

/// What must have finished before the barriers of one SPIR-V instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// What these fences release.
    pub fences: Vec<Fence>,
    /// Word offsets of SPIR-V instructions whose operations may be outstanding all the same: where the one barrier of a fused pair stands at the wait, what is in
    /// the window is not released by its arrive.
    pub exempt: BTreeSet<u32>,
}

/// The requirements of an entry point's barriers, by word offset of the SPIR-V instruction that the machine barrier came from.
///
/// A release by an OpMemoryBarrier that stands apart from the barrier is not among them: no machine instruction marks its place.
pub fn requirements(plan: &EntryPlan) -> BTreeMap<u32, Requirement> {
    let own = |word: u32| -> Vec<Fence> {
        plan.at_instruction
            .get(&word)
            .into_iter()
            .flatten()
            .filter_map(release)
            .collect()
    };
    let mut found: BTreeMap<u32, Requirement> = plan
        .sites
        .iter()
        .filter(|site| site.kind != SiteKind::MemoryBarrier)
        .map(|site| {
            let requirement = Requirement {
                fences: own(site.offset),
                exempt: BTreeSet::new(),
            };
            (site.offset, requirement)
        })
        .collect();
    let word = |id| {
        plan.sites
            .iter()
            .find(|site| site.id == id)
            .map(|site| site.offset)
    };
    for pair in plan
        .pairs
        .iter()
        .filter(|pair| pair.strategy == Strategy::Fused)
    {
        let arrives: Vec<u32> = pair.arrives.iter().filter_map(|id| word(*id)).collect();
        for wait in pair.waits.iter().filter_map(|id| word(*id)) {
            if let Some(requirement) = found.get_mut(&wait) {
                requirement
                    .fences
                    .extend(arrives.iter().flat_map(|arrive| own(*arrive)));
                requirement.fences.sort();
                requirement.fences.dedup();
                requirement.exempt.extend(&pair.window);
            }
        }
    }
    found
}

fn release(step: &Step) -> Option<Fence> {
    match step {
        Step::Fence(fence) => match fence.order {
            FenceOrder::Release
            | FenceOrder::AcquireRelease
            | FenceOrder::SequentiallyConsistent => Some(*fence),
            FenceOrder::Acquire => None,
        },
        _ => None, // no other step releases
    }
}

/// What must have finished before one machine barrier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// What these fences release.
    pub fences: Vec<Fence>,
    /// Positions of the instructions whose operations may be outstanding all the same.
    pub exempt: BTreeSet<usize>,
}

/// The demands on the barriers of `function` by position, from requirements by word. A barrier whose origin is lost has none.
pub fn demands(
    function: &Function,
    requirements: &BTreeMap<u32, Requirement>,
) -> BTreeMap<usize, Demand> {
    let of = |word: Option<u32>| word.and_then(|word| requirements.get(&word));
    function
        .instructions
        .iter()
        .enumerate()
        .filter_map(|(position, inst)| {
            let requirement = of(inst.word)?;
            let exempt = function
                .instructions
                .iter()
                .enumerate()
                .filter(|(_, other)| {
                    other
                        .word
                        .is_some_and(|word| requirement.exempt.contains(&word))
                })
                .map(|(other, _)| other)
                .collect();
            Some((
                position,
                Demand {
                    fences: requirement.fences.clone(),
                    exempt,
                },
            ))
        })
        .collect()
}
