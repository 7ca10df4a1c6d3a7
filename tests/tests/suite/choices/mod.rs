//! The choice of `auto`, compared with every strategy by itself, for fixed launches: kernels of
//! fixtures, and published modules with the launches of `fixtures/choices/launches.toml`.
//!
//! A plain run measures some kernels on each GPU. `SPLITBAR_CHOICES=gfx1201,sm_90`, or `all`,
//! measures all kernels there and prints each result and a summary for each GPU:
//! `SPLITBAR_CHOICES=all cargo test -p splitbar-tests --test suite -- choices/ --nocapture`.

mod kernels;
mod measure;
mod summary;

use crate::support::{linkable, trial};
use anyhow::{Context, Result, ensure};
use kernels::Kernel;
use libtest_mimic::Trial;
use measure::{Measured, TARGETS};
use splitbar_tests::fixture::Fixture;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A plain run uses one of so many kernels on each GPU, each time another one.
const STRIDE: usize = 70;

/// The most that a choice may take of the best candidate's cycles.
const MOST: f64 = 1.08;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    if let Ok(asked) = std::env::var("SPLITBAR_CHOICES") {
        let fixtures = fixtures.to_vec();
        return vec![trial("choices/all".to_owned(), move || {
            whole(&fixtures, &asked)
        })];
    }
    let sample = TARGETS.into_iter().zip(0..).map(|(on, share)| {
        let fixtures = fixtures.to_vec();
        trial(format!("choices/sample/{on}"), move || {
            sample(&fixtures, on, share)
        })
    });
    sample.collect()
}

/// Some kernels on one GPU: no choice needs much more time than the best candidate.
fn sample(fixtures: &[Fixture], on: &'static str, share: usize) -> Result<()> {
    linkable(on)?;
    let kernels = kernels::all(fixtures)?;
    let mine = kernels.iter().skip(share * 7 % STRIDE).step_by(STRIDE);
    let mut looked = 0;
    for kernel in mine {
        if let Some(measured) = measure::measure(kernel, on)? {
            within(kernel, on, &measured)?;
            looked += 1;
        }
    }
    ensure!(looked > 0, "no kernel of the sample runs on {on}");
    Ok(())
}

fn within(kernel: &Kernel, on: &str, measured: &Measured) -> Result<()> {
    let name = &kernel.name;
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
                            "{done} of {}: {} on {on}: {:.3} of the best ({}), {:.3} of full barriers; pipelined {:?} of full barriers; expected and estimated {:?}",
                            pairs.len(),
                            kernel.name,
                            one.of_best(),
                            one.best_name,
                            one.of_full(),
                            one.pipelined_of_full(),
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
