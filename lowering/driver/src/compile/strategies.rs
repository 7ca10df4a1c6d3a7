//! The choice among all strategies that split, where a launch is given to decide.
//!
//! The target has a usual strategy, which `select.rs` compares with full barriers. Others can be
//! faster in a kernel, for example where waves differ much in time: then the simulator shows it,
//! if it has the launch. Each other strategy is compiled too, and the one that takes the fewest
//! cycles is taken, if it saves more than the error of the model.

use super::expected::By;
use super::output::Output;
use super::recorder::Recorder;
use super::request::Request;
use super::select::Expect;
use super::versions::{self, Compiled, Decided, Versions};
use crate::failure::Failure;
use crate::options::Options;
use crate::stage::Observer;
use splitbar_passes::module::Scope;
use splitbar_plan::{Overlap, Strategy};

/// Decides about the strategy; `None` where no launch is given or the options name a strategy.
/// `compiled` is the version with the usual one, if it was compiled already. `compile` compiles the
/// module by other options, and `observer` holds back what it shows.
///
/// # Errors
/// The problems of the module.
pub(super) fn decide(
    request: Request<'_>,
    compiled: &mut Option<Compiled>,
    expect: Expect,
    observer: &mut Recorder<'_>,
    compile: impl Fn(Request<'_>, &mut dyn Observer) -> Result<Output, Failure>,
) -> Result<Option<Decided>, Failure> {
    let options = request.options;
    let by = By::from_options(options);
    if options.strategy.is_some() || matches!(by, By::MadeUp(_)) {
        return Ok(None);
    }
    let with = |strategy| Options {
        strategy,
        ..options.clone()
    };
    let mut version = |strategy| versions::compiled(request, with(strategy), observer, &compile);
    let first = match compiled.take() {
        Some(compiled) => compiled,
        None => version(None)?,
    };
    let others = others(&first.0, options);
    let mut versions = Versions::new(None, first, expect);
    for strategy in others {
        // It may not be possible in this kernel.
        let version = version(Some(strategy)).ok();
        if let Some(version) = version.filter(|(output, _)| splits(output, strategy)) {
            versions.push(Some(strategy), version);
        }
    }
    let is_alone = versions.len() == 1;
    let (chosen, why) = versions.choose(by, "with the usual strategy");
    let (strategy, compiled) = versions.take(chosen);
    let why = match strategy {
        Some(strategy) => format!("{strategy}, {why}"),
        None if is_alone => "the usual one; no other one is possible or saves cycles".to_owned(),
        None => format!("the usual one; the best other one: {why}"),
    };
    Ok(Some(Decided {
        options: with(strategy),
        why,
        compiled: Some(compiled),
    }))
}

/// Returns true if `strategy` splits a barrier of the kernels.
fn splits(output: &Output, strategy: Strategy) -> bool {
    let mut pairs = output.entries().iter().flat_map(|entry| &entry.plan.pairs);
    pairs.any(|pair| pair.strategy == strategy)
}

/// The strategies that split and were not compared with full barriers in `first`; none if nothing
/// is to be split.
fn others(first: &Output, options: &Options) -> Vec<Strategy> {
    let mut tried = Vec::new();
    for entry in first.entries() {
        let pairs = entry.plan.pairs.iter();
        let pairs = pairs.filter(|pair| pair.scope == Scope::Workgroup);
        tried.extend(pairs.map(|pair| pair.strategy.name()));
        let decided = entry.decisions.iter().flat_map(|all| &all.barriers);
        tried.extend(decided.map(|barrier| barrier.strategy));
    }
    if tried.is_empty() {
        return Vec::new();
    }
    let strategies = Strategy::all_of_target(options.target).into_iter();
    let splitting =
        strategies.filter(|one| one.scope() == Scope::Workgroup && one.overlap() == Overlap::Split);
    splitting
        .filter(|one| !tried.contains(&one.name()))
        .collect()
}
