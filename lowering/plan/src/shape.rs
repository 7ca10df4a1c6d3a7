//! The division of invocations into waves, whose size depends on the hardware, and into subgroups,
//! each of which is a wave or a part of one.

use crate::options::PlanOptions;
use splitbar_layout::Kernel;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};

/// Invocations of waves and of subgroups.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubgroupShape {
    /// Invocations of a wave.
    pub(crate) wave: u32,
    /// Invocations of a subgroup: a power of two, at most `wave`.
    pub(crate) size: u32,
}

impl SubgroupShape {
    /// The shape that `options` ask for, else the one that the entry point needs (SubgroupSize),
    /// else the target's. The wave has the size of a subgroup where the target has such waves.
    ///
    /// What the target does not have goes to `diagnostics`, but for a size that the module asks
    /// for: the emitter refuses that one where it stands.
    pub(crate) fn choose(
        kernel: &Kernel<'_>,
        options: &PlanOptions,
        diagnostics: &mut Diagnostics,
    ) -> SubgroupShape {
        let target = kernel.target;
        let has = |size: &u32| target.wave_sizes.contains(size);
        let size = options.subgroup_size.or(kernel.entry.subgroup_size());
        let default = target.default_wave_size();
        let wave = match options.wave_size {
            Some(wave) if !has(&wave) => {
                let sizes: Vec<String> = target.wave_sizes.iter().map(u32::to_string).collect();
                diagnostics.push(
                    Diagnostic::error(
                        Code::UnsupportedOnTarget,
                        format!("{} has no waves of {wave}", target.name),
                    )
                    .help(format!("its wave sizes are {}", sizes.join(", "))),
                );
                default
            }
            Some(wave) => wave,
            None => size.filter(has).unwrap_or(default),
        };
        let fits = |size: &u32| size.is_power_of_two() && *size <= wave;
        if let Some(size) = options.subgroup_size.filter(|size| !fits(size)) {
            diagnostics.push(
                Diagnostic::error(
                    Code::UnsupportedOnTarget,
                    format!(
                        "{} has no subgroups of {size} in waves of {wave}",
                        target.name
                    ),
                )
                .help(format!("use a power of two up to {wave}")),
            );
        }
        SubgroupShape {
            wave,
            size: size.filter(fits).unwrap_or(wave),
        }
    }

    /// Returns true if a subgroup is a whole wave.
    pub(crate) fn is_wave(self) -> bool {
        self.size == self.wave
    }
}
