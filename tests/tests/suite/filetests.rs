//! The checks of every `NAME.toml`, and the plan snapshots next to it.
//!
//! `cargo xtask bless` writes the snapshots; without it nothing is ever written.

use crate::support::{compile, compile_bytes, confirm, told, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar::{FuseAt, Optimization, Options, Placement, Waits};
use splitbar_tests::check::Check;
use splitbar_tests::fixture::{Choices, ChosenWaits, Emit, Fixture, SNAPSHOTS};

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for (number, table) in fixture.expectations.check.iter().enumerate() {
            for target in table.target.names() {
                let (fixture, table, target) = (fixture.clone(), table.clone(), target.to_owned());
                let emit = match table.emit {
                    Emit::Asm => "asm",
                    Emit::LlvmIr => "llvm-ir",
                    Emit::Plan => "plan",
                };
                let strategy = table.strategy.as_deref().unwrap_or("auto");
                let name = format!(
                    "filetest/{}/{target}/{strategy}/{emit}/{number}",
                    fixture.name
                );
                trials.push(trial(name, move || {
                    let check = Check::parse(&table.order).map_err(anyhow::Error::msg)?;
                    let choices = &table.options;
                    let strategy = table.strategy.as_deref().map(str::parse).transpose();
                    let strategy = strategy.map_err(anyhow::Error::msg)?;
                    let output = compile_bytes(&fixture.module()?, &target, |options| {
                        options.strategy = strategy;
                        apply(choices, options);
                    })?;
                    let text = match table.emit {
                        Emit::Asm => told(output.assembly())?,
                        Emit::LlvmIr => output.ir(),
                        Emit::Plan => output.plan(),
                    };
                    check.run(&text).map_err(anyhow::Error::msg)
                }));
            }
        }
        for target in SNAPSHOTS {
            let fixture = fixture.clone();
            trials.push(trial(
                format!("snapshot/{}/{target}", fixture.name),
                move || snapshot(&fixture, target),
            ));
        }
        let fixture = fixture.clone();
        trials.push(trial(format!("pairs/{}", fixture.name), move || {
            pairs(&fixture)
        }));
    }
    trials
}

fn apply(choices: &Choices, options: &mut Options) {
    if choices.fuse_at_arrive {
        options.fuse_at = FuseAt::Arrive;
    }
    options.promote_async_copies = choices.promote_async_copies;
    options.wave_size = choices.wave;
    options.waits = match choices.waits {
        ChosenWaits::Auto => Waits::Auto,
        ChosenWaits::Explicit => Waits::Explicit,
        ChosenWaits::Conservative => Waits::Conservative,
    };
    options.placement = match (choices.cu_mode, choices.tgsplit) {
        (true, _) => Placement::CuMode,
        (false, true) => Placement::ThreadgroupSplit,
        (false, false) => Placement::Default,
    };
}

fn snapshot(fixture: &Fixture, target: &str) -> Result<()> {
    let path = fixture.folder.join(format!("plan.{target}.txt"));
    let plan = compile(fixture, target, Optimization::O0)?.plan();
    confirm(&path, &plan)
}

/// The pairs are the same on every target, and those that are expected.
fn pairs(fixture: &Fixture) -> Result<()> {
    let expected: Vec<&str> = fixture
        .expectations
        .pairs
        .iter()
        .map(|pair| pair.scope.as_str())
        .collect();
    for target in ["gfx1100", "gfx1250", "sm_75", "sm_90"] {
        let output = compile(fixture, target, Optimization::O0)?;
        ensure!(
            output.entries().len() == 1,
            "{} entries",
            output.entries().len()
        );
        for entry in output.entries() {
            let found: Vec<String> = entry
                .plan
                .pairs
                .iter()
                .map(|pair| pair.scope.to_string().to_lowercase())
                .collect();
            ensure!(found == expected, "{target}: pairs {found:?}");
        }
    }
    Ok(())
}
