//! Every fixture compiles for every target, unoptimised and optimised, as far as the tools here can take it.

use crate::support::{compile, has_linker, is_nvptx, ptxas, told, trial};
use anyhow::{Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::Optimization;
use splitbar_tests::fixture::{Fixture, GRID};

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in GRID {
            let fixture = fixture.clone();
            trials.push(trial(
                format!("grid/{}/{target}", fixture.name),
                move || {
                    for level in [Optimization::O0, Optimization::O2] {
                        build(&fixture, target, level)
                            .map_err(|error| error.context(format!("{level:?}")))?;
                    }
                    Ok::<_, anyhow::Error>(())
                },
            ));
        }
    }
    trials
}

/// LLVM's verifier runs inside the compilation; what it refuses is an error.
fn build(fixture: &Fixture, target: &str, level: Optimization) -> Result<()> {
    let output = compile(fixture, target, level)?;
    if output.warnings().has_errors() {
        bail!("errors among the warnings: {}", output.warnings());
    }
    ensure!(output.bitcode().starts_with(b"BC"), "this is no bitcode");
    let assembly = told(output.assembly())?;
    if is_nvptx(target) {
        ensure!(
            assembly.contains(&format!(".target {target}")),
            "this is PTX for another target"
        );
        let folder = tempfile::tempdir()?;
        let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
        if let Some(tool) = ptxas().iter().find(|tool| tool.knows(target)) {
            std::fs::write(&ptx, assembly)?;
            tool.assemble(&ptx, target, &cubin)
                .map_err(anyhow::Error::msg)?;
        }
        return Ok(());
    }
    ensure!(
        assembly.contains(target),
        "this is assembly for another target"
    );
    ensure!(
        told(output.object())?.starts_with(b"\x7fELF"),
        "the object is no ELF"
    );
    if has_linker() {
        ensure!(
            told(output.hsaco())?.starts_with(b"\x7fELF"),
            "the code object is no ELF"
        );
    }
    Ok(())
}
