//! A module in the other byte order is the same module.

use crate::support::{compile_bytes, told, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture::Fixture;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    fixtures
        .iter()
        .map(|fixture| {
            let fixture = fixture.clone();
            trial(format!("endianness/{}", fixture.name), move || {
                swapped(&fixture)
            })
        })
        .collect()
}

fn swapped(fixture: &Fixture) -> Result<()> {
    let module = fixture.module()?;
    let other: Vec<u8> = module
        .chunks_exact(4)
        .flat_map(|word| word.iter().rev().copied())
        .collect();
    ensure!(
        other.len() == module.len() && other != module,
        "nothing was swapped"
    );
    for target in ["gfx1201", "sm_90"] {
        let outputs = |bytes: &[u8]| -> Result<_> {
            let output = compile_bytes(bytes, target, |_| {})?;
            Ok((
                output.plan(),
                output.ir(),
                output.reflect(),
                told(output.assembly())?,
            ))
        };
        ensure!(
            outputs(&module)? == outputs(&other)?,
            "{target}: the outputs differ"
        );
    }
    Ok(())
}
