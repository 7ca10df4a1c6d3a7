//! Compares code before and after the change: only signals and waits may have moved.

use super::super::parse;
use super::super::passable::{Ordered, Passage};
use super::bounds::{Bounds, add, hold};
use super::half::Half;
use super::regions::{Regions, targets};
use crate::{Function, Instruction};
use splitbar_target::Amdgpu;
use std::collections::{BTreeMap, BTreeSet};

/// Returns true if `widened` has the instructions of `text`, each with its place in the source, and
/// only signals and waits have moved. No signal or wait may have passed an instruction that is not
/// free, and after no wait may more operations be outstanding than before.
pub(super) fn differs_in_halves_alone(
    text: &str,
    widened: &str,
    gpu: &Amdgpu,
    kernels: &BTreeMap<String, Ordered>,
) -> bool {
    let (before, after) = (parse(text), parse(widened));
    before.len() == after.len()
        && before.iter().zip(&after).all(|(before, after)| {
            before.name == after.name
                && match kernels.get(&before.name) {
                    None => before == after,
                    Some(ordered) => {
                        let [before, after] =
                            [before, after].map(|function| Sight::analyze(function, gpu, *ordered));
                        before.is_kept_by(&after)
                    }
                }
        })
}

/// The identity of an instruction: its text, without the instructions that a delay counts, and its
/// origin.
type Identity<'f> = (&'f str, &'f str, Option<u32>, u32);

fn identity(inst: &Instruction) -> Identity<'_> {
    let operands = match inst.mnemonic.as_str() {
        "s_delay_alu" => "",
        _ => inst.operands.as_str(),
    };
    (&inst.mnemonic, operands, inst.word, inst.column)
}

/// The parts of a function that must not change.
struct Sight<'f> {
    /// All instructions but signals and waits, each with the operations that may be outstanding
    /// there. Branches have the number of such instructions before each of their targets.
    others: Vec<(Identity<'f>, Vec<usize>, Bounds)>,
    /// The instructions that no signal or wait may pass, including signals and waits, each with the
    /// operations that may be outstanding there. Branches outside regions have the number of such
    /// instructions before each of their targets.
    fixed: Vec<(Identity<'f>, Vec<usize>, Bounds)>,
    /// The waits, sorted.
    waits: Vec<Identity<'f>>,
}

impl<'f> Sight<'f> {
    fn analyze(function: &'f Function, gpu: &Amdgpu, ordered: Ordered) -> Self {
        let mut sight = Sight {
            others: Vec::new(),
            fixed: Vec::new(),
            waits: Vec::new(),
        };
        let passage =
            |inst: &Instruction| Passage::classify(gpu, ordered, &inst.mnemonic, &inst.operands);
        let regions = Regions::analyze(function, |inst| passage(inst) == Passage::Free);
        let all = || function.instructions.iter();
        let entered: BTreeSet<usize> = all().flat_map(targets).copied().collect();
        let mut bounds = Bounds::new();
        // How many of `others` and of `fixed` stand in front of a place.
        let mut ranks = Vec::new();
        for (at, inst) in all().enumerate() {
            // A region has no accesses that count.
            if entered.contains(&at) && !regions.have_label(at) {
                bounds.clear();
            }
            ranks.push((sight.others.len(), sight.fixed.len()));
            let half = Half::parse(&inst.mnemonic, &inst.operands);
            let passage = if regions.contain(at) {
                Passage::Free
            } else {
                passage(inst)
            };
            let here = || (identity(inst), Vec::new(), bounds.clone());
            if half.is_some() || passage == Passage::Stop {
                sight.fixed.push(here());
            }
            if half.is_none() && !matches!(passage, Passage::Waits(_)) {
                sight.others.push(here());
            }
            match passage {
                Passage::Waits(_) => {
                    add(&mut bounds, &passage);
                    sight.waits.push(identity(inst));
                }
                Passage::Stop if half.is_none() => bounds.clear(),
                Passage::Stop | Passage::Free => {}
            }
        }
        for (at, inst) in all().enumerate() {
            let Some((other, fixed)) = ranks.get(at).copied() else {
                continue; // each has a rank
            };
            let leads = targets(inst).iter();
            let leads: Vec<_> = leads.filter_map(|to| ranks.get(*to).copied()).collect();
            if leads.is_empty() {
                continue; // no branch
            }
            if let Some(other) = sight.others.get_mut(other) {
                other.1 = leads.iter().map(|(others, _)| *others).collect();
            }
            if !regions.contain(at)
                && let Some(fixed) = sight.fixed.get_mut(fixed)
            {
                fixed.1 = leads.iter().map(|(_, fixed)| *fixed).collect();
            }
        }
        sight.waits.sort_unstable();
        sight
    }

    fn is_kept_by(&self, other: &Sight<'_>) -> bool {
        let same = |before: &[(Identity<'_>, Vec<usize>, Bounds)],
                    after: &[(Identity<'_>, Vec<usize>, Bounds)]| {
            before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| {
                    (before.0, &before.1) == (after.0, &after.1) && hold(&before.2, &after.2)
                })
        };
        same(&self.others, &other.others)
            && same(&self.fixed, &other.fixed)
            && self.waits == other.waits
    }
}
