//! The measurements that a profile has of the barriers of a module.

use super::source::Source;
use crate::failure::Failure;
use crate::options::Options;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::WordOffset;
use splitbar_passes::profile::{Gpu, Profile, Site};
use splitbar_plan::{EntryPlan, Target};
use std::collections::BTreeMap;

/// The measurements of a profile.
#[derive(Debug, Default)]
pub(crate) struct ProfileSites {
    /// By word of an arrive or OpControlBarrier.
    by_word: BTreeMap<WordOffset, Site>,
    /// The GPU that it was recorded on.
    gpu: Option<Gpu>,
    /// The warning about a profile that names no GPU.
    pub(crate) doubts: Diagnostics,
}

impl ProfileSites {
    /// The measurements of the barrier at `word`.
    pub(crate) fn at(&self, word: WordOffset) -> Option<&Site> {
        self.by_word.get(&word)
    }

    /// Reads the profile of the options, which is one of the module `source`.
    ///
    /// # Errors
    /// As [`Profile::read`] and [`Profile::check`].
    pub(crate) fn read(options: &Options, source: &Source<'_>) -> Result<ProfileSites, Failure> {
        let Some(dump) = &options.profile else {
            return Ok(ProfileSites::default());
        };
        let profile = Profile::read(dump).and_then(|profile| {
            profile.check(source.declarations)?;
            Ok(profile)
        });
        let profile = profile.map_err(|refused| source.problems().and(refused.into()))?;
        Ok(ProfileSites::from_profile(profile))
    }

    fn from_profile(profile: Profile) -> ProfileSites {
        let mut sites = ProfileSites {
            gpu: profile.gpu,
            ..ProfileSites::default()
        };
        if profile.gpu.is_none() {
            sites.doubts.push(
                Diagnostic::warning(
                    Code::ProfileWithoutTarget,
                    "the profile does not name the target on which it was recorded",
                )
                .because("the clock of one GPU says little about another GPU")
                .help("name the target when the module is instrumented"),
            );
        }
        for site in profile.sites {
            let word = site.arrive;
            // An arrive with several waits: what was measured most often.
            let known = sites.by_word.entry(word).or_insert_with(|| site.clone());
            if known.phases < site.phases {
                *known = site;
            }
        }
        sites
    }

    /// That the profile was recorded on the target of `plan`, with waves as many and as large as
    /// those that the kernel has there.
    ///
    /// # Errors
    /// `ProfileTarget`.
    pub(crate) fn check(&self, plan: &EntryPlan) -> Result<(), Diagnostic> {
        let foreign = |why| {
            Diagnostic::error(
                Code::ProfileTarget,
                "the profile was recorded on another target",
            )
            .because(why)
            .help("record a profile on the target that the code is for, with its wave size")
        };
        let name = Target::by_name(plan.target).map_or(plan.target, Target::gpu);
        if let Some(gpu) = self.gpu
            && (gpu.name().as_str(), gpu.wave_size()) != (name, plan.wave_size)
        {
            return Err(foreign(format!(
                "it comes from {gpu}, and {} is compiled for {name}, waves of {}",
                plan.entry, plan.wave_size
            )));
        }
        let Some([x, y, z]) = plan.workgroup_size else {
            return Ok(());
        };
        let invocations = u64::from(x) * u64::from(y) * u64::from(z);
        let subgroups = invocations.div_ceil(u64::from(plan.subgroup_size));
        let mut sites = self.by_word.values();
        match sites.find(|site| u64::from(site.subgroups) != subgroups) {
            None => Ok(()),
            Some(site) => Err(foreign(format!(
                "workgroups had {} subgroups there, and those of {} on {} have {subgroups}",
                site.subgroups, plan.entry, plan.target
            ))
            .at_word(site.arrive)),
        }
    }
}
