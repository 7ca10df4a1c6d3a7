//! Workgroups of every kind of size, one to three dimensions, with every strategy, wave size and generation: full and partial last waves, one wave, the most that there
//! are, some that end before others. A strategy takes a size or says why it cannot; what it takes runs on the simulator and gives the reference's results.

use crate::sim;
use crate::support::{compile_bytes, has_linker, is_nvptx, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::Job;
use splitbar::simulate::machine::Schedule;
use splitbar::{Placement, Strategy};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference;

/// What is compiled for. AMD: gfx6 to gfx9 (waves of 64), both wave sizes, native and named barriers, CU mode; NVIDIA: named barriers, counter, both mbarriers, cluster.
const GPUS: [(&str, Placement); 11] = [
    ("gfx906", Placement::Default),
    ("gfx942", Placement::Default),
    ("gfx1030", Placement::Default),
    ("gfx1030", Placement::CuMode),
    ("gfx1100", Placement::Default),
    ("gfx1201", Placement::Default),
    ("gfx1250", Placement::Default),
    ("sm_60", Placement::Default),
    ("sm_75", Placement::Default),
    ("sm_80", Placement::Default),
    ("sm_90", Placement::Default),
];

/// Invocations of a workgroup. 224 and 480 are the most for two sets and for one set of a named barrier per warp, 256 is one more warp.
const SIZES: [[u32; 3]; 14] = [
    [1, 1, 1],
    [31, 1, 1],
    [32, 1, 1],
    [33, 1, 1],
    [1, 64, 1],
    [96, 1, 1],
    [100, 1, 1],
    [3, 5, 11],
    [224, 1, 1],
    [8, 8, 4],
    [480, 1, 1],
    [1000, 1, 1],
    [1024, 1, 1],
    [16, 4, 16],
];

pub fn trials() -> Vec<Trial> {
    GPUS.iter()
        .map(|(target, placement)| {
            let mode = match placement {
                Placement::Default => "",
                Placement::CuMode => "/cu-mode",
                Placement::ThreadgroupSplit => "/tgsplit",
            };
            trial(format!("sizes/{target}{mode}"), move || {
                every_size(target, *placement)
            })
        })
        .collect()
}

fn every_size(gpu: &str, placement: Placement) -> Result<()> {
    let target = crate::support::target(gpu)?;
    let module = Fixture::load("volume")?.module()?;
    for &wave in target.wave_sizes {
        for size in SIZES {
            let waves = size.iter().product::<u32>().div_ceil(wave);
            for strategy in Strategy::ALL {
                let case = format!("{strategy}, waves of {wave}, workgroup {size:?}");
                let compiled = compile_bytes(&module, gpu, |options| {
                    options.strategy = Some(*strategy);
                    options.wave_size = Some(wave);
                    options.workgroup_size = Some(size);
                    options.placement = placement;
                });
                ensure!(
                    compiled.is_ok() == takes(gpu, *strategy, waves),
                    "{case}: {}",
                    compiled
                        .map_or_else(|refusal| format!("{refusal:#}"), |_| "lowered".to_owned())
                );
                match compiled {
                    Ok(output) if is_nvptx(gpu) || has_linker() => {
                        agrees(&output, size).context(case)?;
                    }
                    Ok(output) => drop(told(output.object())?),
                    Err(refusal) => ensure!(
                        format!("{refusal:#}").contains("cannot lower the split barriers"),
                        "{case}: {refusal:#}"
                    ),
                }
            }
        }
    }
    Ok(())
}

/// Whether a strategy is for the GPU and for so many waves.
fn takes(gpu: &str, strategy: Strategy, waves: u32) -> bool {
    let named = ["sm_60", "sm_75", "sm_80"].contains(&gpu);
    match strategy {
        Strategy::Fused => true,
        Strategy::SingleWave => waves == 1,
        Strategy::Counter => gpu != "sm_60",
        Strategy::Native => ["gfx1201", "gfx1250"].contains(&gpu),
        Strategy::Named => gpu == "gfx1250",
        Strategy::Mbarrier => ["sm_80", "sm_90"].contains(&gpu),
        Strategy::Cluster => gpu == "sm_90",
        Strategy::WarpNamed => named && waves <= 7,
        Strategy::GroupNamed => named,
        // No full barrier stands between the turns.
        Strategy::WarpNamedSingle | Strategy::Subgroup => false,
    }
}

/// Runs the kernel: the more invocations, the fewer schedules.
fn agrees(output: &splitbar::Output, size: [u32; 3]) -> Result<()> {
    let invocations = size.iter().product::<u32>();
    let case = reference::volume([2, 1, 1], size);
    let inputs = sim::inputs(&case);
    let job = Job::compiled(output, 0)?;
    for index in 0..if invocations > 256 { 2 } else { 4 } {
        let schedule = Schedule::nth(index, u64::from(invocations));
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        if let Err(difference) = sim::compare(&case, &outcome) {
            bail!("{schedule}: {difference}");
        }
    }
    Ok(())
}
