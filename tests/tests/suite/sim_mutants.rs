//! Mutants: every wait, every fence and every barrier is removed in turn, and the removal must be
//! detected.
//!
//! From the machine code of AMD GPUs (`amdgpu.rs`), from PTX (`ptx.rs`), and from the plan's steps
//! before they are lowered (`steps.rs`), of kernels in SPIR-V and in LLVM IR. A mutant is noticed
//! by a finding of the simulator, by a wrong result, by the audit of waits, or by the explorer of
//! barriers. One that is not noticed is equivalent where that can be proved ([`mutant::Fate`]);
//! whatever else survives stands in `survivors.toml` with its reason, and nothing else does.
//!
//! A plain run takes a third of the kernels on each target, another third on the next one.
//! `SPLITBAR_MUTANTS=all` takes all, asks that 95 of 100 be noticed, and compares with the tables
//! of docs/simulation.md (`cargo xtask bless` writes them).

mod amdgpu;
mod mutant;
mod ptx;
mod report;
mod rows;
mod steps;
mod subject;

use crate::support::trial;
use libtest_mimic::Trial;
use report::Tally;
use rows::{IR_ROWS, ROWS};
use splitbar_tests::fixture::Fixture;

/// One kernel in so many is taken on a target, unless all are.
const SAMPLE: usize = 3;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let all = std::env::var("SPLITBAR_MUTANTS").is_ok_and(|value| value == "all");
    let mut trials = vec![trial(
        "sim_mutants/survivors".to_owned(),
        report::survivors_are_documented,
    )];
    let rows = ROWS
        .iter()
        .chain(IR_ROWS)
        .flat_map(|(way, targets, maker)| targets.iter().map(move |target| (*way, *target, maker)));
    for (number, (way, target, maker)) in rows.enumerate() {
        let chosen: Vec<Fixture> = fixtures
            .iter()
            .enumerate()
            .filter(|(at, _)| all || (at + number).is_multiple_of(SAMPLE))
            .map(|(_, fixture)| fixture.clone())
            .collect();
        let row = format!("{way} {target}");
        let name = format!("sim_mutants/{}", row.replace(' ', "_"));
        trials.push(trial(name, move || {
            let mut tally = Tally::default();
            for fixture in &chosen {
                tally.add(&fixture.name, maker(fixture, target)?);
            }
            tally.judge(&row, all)
        }));
    }
    trials
}
