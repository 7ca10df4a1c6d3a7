//! Values of flags that several commands take, and how they are read.

use clap::ValueEnum;
use splitbar::{Placement, Target};
use std::time::Duration;

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

pub(crate) fn parse_size(text: &str) -> Result<[u32; 3], String> {
    let wrong = || format!("{text:?} is not X,Y,Z, three numbers from 1");
    let numbers = text
        .split(',')
        .map(|number| number.trim().parse::<u32>().ok().filter(|n| *n > 0))
        .collect::<Option<Vec<u32>>>()
        .ok_or_else(wrong)?;
    numbers.try_into().map_err(|_| wrong())
}
