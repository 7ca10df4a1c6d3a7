//! The choice of `auto`, compared with every strategy by itself, for fixed launches: kernels of
//! fixtures, and published modules with the launches of `fixtures/choices/launches.toml`.
//!
//! A plain run measures one kernel on each GPU. `SPLITBAR_CHOICES=gfx1201,sm_90`, or `all`,
//! measures all kernels there and prints each result and a summary for each GPU:
//! `SPLITBAR_CHOICES=all cargo test -p splitbar-tests --test suite -- choices/ --nocapture`.

mod kernels;
mod measure;
mod summary;

use crate::support::{linkable, trial};
use anyhow::{Context, Result, bail, ensure};
use kernels::Kernel;
use libtest_mimic::Trial;
use measure::{Measured, TARGETS};
use splitbar_tests::fixture::Fixture;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A plain run uses one kernel on each GPU: the first that runs there of one in so many.
const STRIDE: usize = 70;

/// The most that a choice may take of the best candidate's cycles.
const MOST: f64 = 1.08;

/// The same of one that knows the launch, and of pipelined loops over full barriers.
const MOST_MEASURED: f64 = 1.03;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    if let Ok(asked) = std::env::var("SPLITBAR_CHOICES") {
        let fixtures = fixtures.to_vec();
        return vec![trial("choices/all".to_owned(), move || {
            whole(&fixtures, &asked)
        })];
    }
    let all = fixtures.to_vec();
    let sample = TARGETS.into_iter().zip(0..).map(|(on, share)| {
        let fixtures = fixtures.to_vec();
        trial(format!("choices/sample/{on}"), move || {
            sample(&fixtures, on, share)
        })
    });
    let other = trial("choices/measured/another_strategy".to_owned(), move || {
        another_strategy(&all)
    });
    sample.chain([other]).collect()
}

/// A kernel on one GPU: no choice needs much more time than the best candidate.
fn sample(fixtures: &[Fixture], on: &'static str, share: usize) -> Result<()> {
    linkable(on)?;
    let kernels = kernels::all(fixtures)?;
    let mine = kernels.iter().skip(share * 7 % STRIDE).step_by(STRIDE);
    for kernel in mine {
        if let Some(measured) = measure::measure(kernel, on)? {
            return within(kernel, on, &measured);
        }
    }
    bail!("no kernel of the sample runs on {on}");
}

/// Where one subgroup is late, the launch shows that another strategy is faster than the usual one
/// and full barriers.
fn another_strategy(fixtures: &[Fixture]) -> Result<()> {
    let kernels = kernels::all(fixtures)?;
    let mut kernels = kernels.iter();
    let late = kernels.find(|kernel| kernel.name == "uneven, one subgroup late");
    let why = measure::strategy(late.context("no such kernel")?, "sm_80")?;
    let words = [
        "warp-named, expected cycles: ",
        " with the usual strategy (-",
    ];
    ensure!(words.iter().all(|words| why.contains(words)), "{why}");
    Ok(())
}

fn within(kernel: &Kernel, on: &str, measured: &Measured) -> Result<()> {
    let name = &kernel.name;
    let of_best = measured.measured_of_best();
    ensure!(
        of_best <= MOST_MEASURED,
        "{name} on {on}: auto=measured takes {of_best:.3} of the best"
    );
    let of_full = measured.pipelined_measured_of_full();
    ensure!(
        of_full.is_none_or(|ratio| ratio <= MOST_MEASURED),
        "{name} on {on}: auto=measured and pipelined loops take {of_full:?} of full barriers"
    );
    ensure!(
        measured.of_best() <= MOST,
        "{name} on {on}: {} takes {} cycles, and {} takes {}",
        measured.choice,
        measured.chosen,
        measured.best_name,
        measured.best
    );
    Ok(())
}

/// All kernels on all GPUs, or on the GPUs in `asked`.
fn whole(fixtures: &[Fixture], asked: &str) -> Result<()> {
    let is_asked = |on: &&str| asked == "all" || asked.split(',').any(|name| name == *on);
    let targets: Vec<&'static str> = TARGETS.into_iter().filter(is_asked).collect();
    ensure!(!targets.is_empty(), "SPLITBAR_CHOICES={asked}: no such GPU");
    let kernels = kernels::all(fixtures)?;
    let pairs: Vec<(usize, &'static str)> = (0..kernels.len())
        .flat_map(|kernel| targets.iter().map(move |on| (kernel, *on)))
        .collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((kernel, on)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let kernel = &kernels[*kernel];
                    let measured = measure::measure(kernel, on)
                        .with_context(|| format!("{} on {on}", kernel.name));
                    let done = next.load(Ordering::Relaxed).min(pairs.len());
                    match &measured {
                        Ok(Some(one)) => eprintln!(
                            "{done} of {}: {} on {on}: {:.3} of the best ({}), {:.3} of full barriers; measured {:.3} of the best; pipelined {:?} and {:?} of full barriers; expected and estimated {:?}",
                            pairs.len(),
                            kernel.name,
                            one.of_best(),
                            one.best_name,
                            one.of_full(),
                            one.measured_of_best(),
                            one.pipelined_of_full(),
                            one.pipelined_measured_of_full(),
                            one.ratios
                        ),
                        Ok(None) => eprintln!("{done}: {} is not for {on}", kernel.name),
                        Err(error) => eprintln!("{done}: {error:#}"),
                    }
                    let mut found = found.lock().expect("no worker panics");
                    found.push((kernel.name.clone(), *on, measured));
                }
            });
        }
    });
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for (name, on, measured) in found.into_inner().expect("no worker panics") {
        match measured {
            Ok(Some(measured)) => rows.push((name, on, measured)),
            Ok(None) => {}
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{}", summary::text(&rows));
    Ok(())
}
