//! Barriers of the workgroup that keep no accesses of different waves apart: they become barriers
//! of the subgroup.

use super::super::fates::is_of_workgroup;
use super::{Splitting, can_be_narrowed, freezing};
use crate::options::Options;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::RewrittenModule;
use splitbar_passes::transform::registry::{
    NARROW_BARRIERS_TO_SUBGROUPS, PassOptions, UNROLL_BARRIER_LOOPS,
};

/// Instructions of the iterations of a loop that is unrolled so that its barriers can be narrowed.
const MOST_UNROLLED: u32 = 1024;

/// The passes that narrow barriers to subgroups. A subgroup of the kernel consists of one or
/// several of those that they assume.
fn passes(options: &Options) -> [Step; 3] {
    let sizes = options.target.wave_sizes.iter().copied();
    let wave = options.wave_size.or(sizes.min());
    let size = options.subgroup_size.into_iter().chain(wave).min();
    [
        freezing(options),
        Step {
            pass: UNROLL_BARRIER_LOOPS,
            options: PassOptions::Unroll(MOST_UNROLLED),
        },
        Step {
            pass: NARROW_BARRIERS_TO_SUBGROUPS,
            options: PassOptions::Subgroups {
                size: size.unwrap_or(1),
                specialized: Some((options.spec.clone(), options.workgroup_size)),
            },
        },
    ]
}

impl Splitting<'_> {
    /// Narrows barriers to subgroups. Where it does not narrow all of them, loops are unrolled
    /// first, if that lets it narrow some.
    pub(super) fn narrow_to_subgroups(&mut self) -> Result<(), Diagnostics> {
        if !can_be_narrowed(&self.module, self.options) {
            return Ok(());
        }
        let [freeze, unroll, narrow] = passes(self.options);
        let narrowed = match self.narrowed(&[freeze.clone(), narrow.clone()])? {
            Some(narrowed) if !self.has_barriers_of_workgroup(&narrowed.module)? => Some(narrowed),
            some => self.narrowed(&[freeze, unroll, narrow])?.or(some),
        };
        if let Some(narrowed) = narrowed {
            self.take(narrowed.module, narrowed.source_map);
        }
        Ok(())
    }

    /// The module after `steps`, the last of which narrows barriers; `None` where it narrows none.
    fn narrowed(&self, steps: &[Step]) -> Result<Option<RewrittenModule>, Diagnostics> {
        let module = self.module.clone();
        let outcome = pipeline::run(module, steps, Settings::IN_COMPILATIONS, &mut |_, _| ())
            .map_err(|problems| self.map_to_source(problems))?;
        let has_narrowed = outcome.ran.last().is_some_and(|ran| ran.changed);
        let source_map = outcome.source_map.filter(|_| has_narrowed);
        Ok(source_map.map(|source_map| RewrittenModule {
            module: outcome.module,
            source_map,
        }))
    }

    fn has_barriers_of_workgroup(&self, module: &Module<'_>) -> Result<bool, Diagnostics> {
        let declarations = Declarations::of_made(module, "splitting")?;
        let (spec, size) = (&self.options.spec, self.options.workgroup_size);
        let constants = declarations.specialized(spec, size, &mut Diagnostics::new());
        let mut insts = module.instructions();
        Ok(insts.any(|inst| is_of_workgroup(&constants, inst)))
    }
}
