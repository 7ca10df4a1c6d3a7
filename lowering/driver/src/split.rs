//! Splits the barriers that nobody split: OpControlBarriers that order nothing go, of the others
//! each becomes a pair, its halves move apart, and pairs whose window stays small become barriers
//! again.

use crate::options::Options;
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::Edited;
use splitbar_passes::transform::registry::{Pass, PassOptions};

/// Instructions of SPIR-V that a window must have: a smaller one hides less than the second half
/// costs.
const LEAST_WINDOW: u32 = 4;

/// The module with its barriers split; `None` when it stays as it is.
///
/// # Errors
/// What is wrong with the module, at its places.
pub(crate) fn split(module: &Module<'_>, options: &Options) -> Result<Option<Edited>, Diagnostics> {
    let memory = if options.barriers_order_all_memory {
        PassOptions::AllMemory
    } else {
        PassOptions::None
    };
    let steps = [
        ("eliminate-redundant-control-barriers", memory),
        ("split-control-barriers", PassOptions::None),
        ("move-split-barriers", memory),
        (
            "fuse-narrow-split-barriers",
            PassOptions::Narrow(LEAST_WINDOW),
        ),
    ];
    let step = |(name, options)| {
        let pass = Pass::named(name);
        let pass = pass.ok_or_else(|| Diagnostic::bug(format!("there is no pass {name}")))?;
        Ok(Step { pass, options })
    };
    let steps: Vec<Step> = steps
        .into_iter()
        .map(step)
        .collect::<Result<_, Diagnostic>>()?;
    let whole = module.clone().into_owned();
    let outcome = pipeline::run(whole, &steps, Settings::default(), &mut |_, _| ())?;
    let module = outcome.module;
    Ok(outcome.origin.map(|origin| Edited { module, origin }))
}
