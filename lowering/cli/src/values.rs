//! Values of flags that several commands take, and how they are read.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use splitbar::spec::Setting;
use splitbar::{FuseAt, Optimization, Placement, Target, Waits};
use splitbar_passes::validate::Environment;
use std::time::Duration;

pub(crate) fn parse_environment(text: &str) -> Result<Environment, String> {
    text.parse()
}

/// Where the waves of a workgroup run, by what was asked for.
pub(crate) fn placement(cu_mode: bool, tgsplit: bool) -> Placement {
    match (cu_mode, tgsplit) {
        (true, _) => Placement::CuMode,
        (false, true) => Placement::ThreadgroupSplit,
        (false, false) => Placement::Default,
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FuseAtArg {
    /// At the arrive: before the window
    Arrive,
    /// At the wait: after the window
    Wait,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitsArg {
    /// What the fences need, placed by LLVM
    Auto,
    /// The same as instructions ahead of each fence, and barriers without waits of LLVM's own
    Explicit,
    /// For everything, at every barrier, for comparison
    Conservative,
}

impl From<WaitsArg> for Waits {
    fn from(arg: WaitsArg) -> Waits {
        match arg {
            WaitsArg::Auto => Waits::Auto,
            WaitsArg::Explicit => Waits::Explicit,
            WaitsArg::Conservative => Waits::Conservative,
        }
    }
}

impl From<FuseAtArg> for FuseAt {
    fn from(arg: FuseAtArg) -> FuseAt {
        match arg {
            FuseAtArg::Arrive => FuseAt::Arrive,
            FuseAtArg::Wait => FuseAt::Wait,
        }
    }
}

pub(crate) fn levels() -> impl TypedValueParser<Value = Optimization> {
    PossibleValuesParser::new(["0", "1", "2", "3"]).map(|level| match level.as_str() {
        "0" => Optimization::O0,
        "1" => Optimization::O1,
        "3" => Optimization::O3,
        _ => Optimization::O2,
    })
}

pub(crate) fn wave_sizes() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["32", "64"]).map(|size| if size == "64" { 64 } else { 32 })
}

pub(crate) fn parse_target(name: &str) -> Result<&'static Target, String> {
    Target::spelled(name).map_err(|why| {
        if let Some(why) = why {
            return why;
        }
        let nearest: Vec<&str> = Target::nearest(name)
            .iter()
            .map(|target| target.name)
            .collect();
        let hint = if nearest.is_empty() {
            String::new()
        } else {
            format!("; did you mean {}?", nearest.join(" or "))
        };
        format!("no such target{hint} (`splitbar targets` lists them)")
    })
}

pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text:?} is not a number of seconds above 0"))
}

pub(crate) fn parse_setting(text: &str) -> Result<Setting, String> {
    text.parse()
}

pub(crate) fn parse_size(text: &str) -> Result<[u32; 3], String> {
    let wrong = || format!("{text:?} is not X,Y,Z, three numbers from 1");
    let numbers = text
        .split(',')
        .map(|number| number.trim().parse::<u32>().ok().filter(|n| *n > 0))
        .collect::<Option<Vec<u32>>>()
        .ok_or_else(wrong)?;
    numbers.try_into().map_err(|_| wrong())
}
