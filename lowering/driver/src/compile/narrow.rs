//! Barriers of the workgroup that keep only accesses of one wave apart: they become barriers of the
//! subgroup, so that waves do not wait for each other (`narrow-barriers-to-subgroups`).
//!
//! That happens where the sizes of waves and of the workgroup are known. A smaller subgroup is a
//! part of a wave, and what conflicts in it alone conflicts in one wave alone.

use super::fates::{executed, is_of_workgroup};
use super::source::Source;
use crate::options::Options;
use spirv::Op;
use splitbar_passes::module::{EntryPoint, WordOffset};
use splitbar_passes::pipeline::Step;
use splitbar_passes::transform::registry::{NARROW_BARRIERS_TO_SUBGROUPS, PassOptions};
use splitbar_plan::target::Arch;
use std::collections::BTreeSet;

/// It is the reason why a barrier is one of the subgroup.
pub(super) const OF_ONE_WAVE: &str = "only accesses of one wave conflict around it";

/// Invocations of a wave, and of a subgroup, if no entry point requires another size. An entry
/// point that requires a larger subgroup has larger waves.
fn sizes(options: &Options) -> [u32; 2] {
    let default = options.target.default_wave_size();
    let subgroup = options.subgroup_size;
    let is_wave = |size: &u32| options.target.wave_sizes.contains(size);
    let wave = options.wave_size.or(subgroup.filter(is_wave));
    let wave = wave.unwrap_or(default);
    [wave, subgroup.unwrap_or(wave).min(wave)]
}

/// Returns true if barriers of `source` may keep only accesses of one wave apart: if an entry point
/// of several waves has a barrier of the workgroup.
pub(super) fn may_narrow(source: &Source<'_>, options: &Options) -> bool {
    let (declarations, constants) = (source.declarations, source.constants);
    let mut insts = declarations.module.instructions();
    // A barrier of the subgroup does not wait for reads of LDS, and a copy to LDS could overtake
    // them.
    let copies = options.promotes_async_copies() && matches!(options.target.arch, Arch::Amdgpu(_));
    if source.is_skeleton
        || copies
        || options.narrowing().is_none()
        || !insts.any(|inst| inst.op() == Some(Op::ControlBarrier))
    {
        return false;
    }
    let [wave, _] = sizes(options);
    let has_waves = |entry: &EntryPoint<'_>| {
        let size = declarations.workgroup_size(entry, constants);
        let count = size.map(|size| size.iter().map(|axis| u64::from(*axis)).product::<u64>());
        count.is_some_and(|count| count > wave.into())
    };
    let mut entries = declarations.entry_points.iter();
    entries.any(|entry| {
        entry.is_compute()
            && has_waves(entry)
            && !executed(declarations, constants, entry).is_empty()
    })
}

/// The pass, with barriers that stay at the words `kept`.
pub(super) fn narrowing(options: &Options, kept: BTreeSet<WordOffset>) -> Step {
    let [_, size] = sizes(options);
    Step {
        pass: NARROW_BARRIERS_TO_SUBGROUPS,
        options: PassOptions::Subgroups { size, kept },
    }
}

/// Returns true if the instruction of `source` at `word` is an OpControlBarrier of the workgroup.
pub(super) fn was_of_workgroup(source: &Source<'_>, word: WordOffset) -> bool {
    let inst = source.module().at(word);
    inst.is_some_and(|inst| is_of_workgroup(source.constants, inst))
}
