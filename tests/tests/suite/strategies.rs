//! Every fixture with every strategy that can lower it, on every kind of NVIDIA GPU: LLVM verifies, ptxas assembles and has nothing to say.

use crate::support::{ptxas, target, told, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar::diagnostic::Code;
use splitbar::{Options, Strategy};
use splitbar_tests::fixture::Fixture;
use std::collections::BTreeSet;

/// One of each kind: what they have differs, or how ptxas schedules for them.
const GPUS: [&str; 12] = [
    "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103",
    "sm_110", "sm_120",
];

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for gpu in GPUS {
            let fixture = fixture.clone();
            trials.push(trial(
                format!("strategies/{}/{gpu}", fixture.name),
                move || all_strategies(&fixture, gpu),
            ));
        }
    }
    trials.push(trial("strategies/every_one_is_used".to_owned(), every_one));
    trials
}

/// The assembly for each strategy that takes the fixture.
fn assemblies(fixture: &Fixture, gpu: &str) -> Result<Vec<(Strategy, String)>> {
    let module = fixture.module()?;
    let mut assemblies = Vec::new();
    for strategy in Strategy::ALL {
        let mut options = Options::new(target(gpu)?);
        options.strategy = Some(*strategy);
        match splitbar::compile(&module, &options) {
            Ok(output) => assemblies.push((*strategy, told(output.assembly())?)),
            Err(failure) => {
                let mut problems = failure.diagnostics.iter();
                if let Some(other) =
                    problems.find(|problem| problem.code != Code::UnsupportedStrategy)
                {
                    anyhow::bail!("{strategy}: {}", other.message);
                }
            }
        }
    }
    Ok(assemblies)
}

fn all_strategies(fixture: &Fixture, gpu: &str) -> Result<()> {
    let assemblies = assemblies(fixture, gpu)?;
    ensure!(
        assemblies
            .iter()
            .any(|(strategy, _)| *strategy == Strategy::Fused),
        "fused is refused"
    );
    let Some(tool) = ptxas().iter().find(|tool| tool.knows(gpu)) else {
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    let mut seen = BTreeSet::new();
    for (strategy, assembly) in assemblies {
        if !seen.insert(assembly.clone()) {
            continue;
        }
        std::fs::write(&ptx, assembly)?;
        let said = tool
            .assemble(&ptx, gpu, &cubin)
            .map_err(|why| anyhow::anyhow!("{strategy}: {why}"))?;
        ensure!(
            !said.to_lowercase().contains("performance loss"),
            "{strategy}: {said}"
        );
    }
    Ok(())
}

/// No strategy for NVIDIA GPUs is left out of the grid above.
fn every_one() -> Result<()> {
    let mut used = BTreeSet::new();
    for (kernel, gpu) in [
        ("odd_workgroup", "sm_75"),
        ("odd_workgroup", "sm_90"),
        ("one_wave", "sm_75"),
    ] {
        let fixture = Fixture::load(kernel)?;
        used.extend(
            assemblies(&fixture, gpu)?
                .into_iter()
                .map(|(strategy, _)| strategy),
        );
    }
    for strategy in [
        Strategy::Mbarrier,
        Strategy::Cluster,
        Strategy::WarpNamed,
        Strategy::WarpNamedSingle,
        Strategy::GroupNamed,
        Strategy::Counter,
        Strategy::Fused,
        Strategy::SingleWave,
    ] {
        ensure!(used.contains(&strategy), "{strategy} lowers nothing");
    }
    Ok(())
}
