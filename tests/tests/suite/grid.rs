//! Every fixture compiles for every target, unoptimised and optimised; ptxas and the linker take
//! the code.

use crate::support::{compile, is_nvptx, linkable, ptxas, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::{Optimization, Output};
use splitbar_tests::fixture::{Fixture, GRID};

/// The test of one fixture on one target at one level.
type Step = fn(&Fixture, &str, Optimization) -> Result<()>;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in GRID {
            let (binary, makes): (_, Step) = if is_nvptx(target) {
                ("cubin", assembles)
            } else {
                ("hsaco", links)
            };
            for (kind, step) in [
                ("grid".to_owned(), builds as Step),
                (format!("grid_{binary}"), makes),
            ] {
                let fixture = fixture.clone();
                let name = format!("{kind}/{}/{target}", fixture.name);
                trials.push(trial(name, move || {
                    for level in [Optimization::O0, Optimization::O2] {
                        step(&fixture, target, level)
                            .map_err(|error| error.context(format!("{level:?}")))?;
                    }
                    Ok::<_, anyhow::Error>(())
                }));
            }
        }
    }
    trials
}

/// LLVM's verifier runs inside the compilation; code that it rejects is an error.
fn built(fixture: &Fixture, target: &str, level: Optimization) -> Result<Output> {
    let output = compile(fixture, target, level)?;
    if output.warnings().has_errors() {
        bail!("errors among the warnings: {}", output.warnings());
    }
    Ok(output)
}

fn builds(fixture: &Fixture, target: &str, level: Optimization) -> Result<()> {
    let output = built(fixture, target, level)?;
    ensure!(output.bitcode().starts_with(b"BC"), "this is not bitcode");
    let assembly = told(output.assembly())?;
    let named = if is_nvptx(target) {
        format!(".target {target}")
    } else {
        target.to_owned()
    };
    ensure!(
        assembly.contains(&named),
        "this is assembly for another target"
    );
    if !is_nvptx(target) {
        ensure!(
            told(output.object())?.starts_with(b"\x7fELF"),
            "the object is not an ELF"
        );
    }
    Ok(())
}

fn assembles(fixture: &Fixture, target: &str, level: Optimization) -> Result<()> {
    let tool = ptxas(target)?;
    let output = built(fixture, target, level)?;
    let folder = tempfile::tempdir()?;
    let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    let assembly = told(output.assembly())?;
    std::fs::write(&ptx, &assembly)?;
    let said = tool
        .assemble(&ptx, target, &cubin)
        .map_err(anyhow::Error::msg)?;
    // The bound that stands for the registers where there is no ptxas.
    for most in splitbar::asm::ptx::pressure(&assembly)? {
        let (_, of_kernel) = said
            .split_once(&format!("Compiling entry function '{}'", most.name))
            .with_context(|| format!("ptxas does not speak of {}: {said}", most.name))?;
        let taken = number_before(" registers", of_kernel).context("no number of registers")?;
        let barriers = number_before(" barriers", of_kernel.lines().nth(3).unwrap_or(""));
        ensure!(
            taken <= most.registers && barriers.unwrap_or(0) <= most.barriers,
            "ptxas takes more than {most:?}: {of_kernel}"
        );
    }
    Ok(())
}

fn number_before(what: &str, text: &str) -> Option<u32> {
    let (before, _) = text.split_once(what)?;
    before.split_whitespace().last()?.parse().ok()
}

fn links(fixture: &Fixture, target: &str, level: Optimization) -> Result<()> {
    linkable(target)?;
    let output = built(fixture, target, level)?;
    ensure!(
        told(output.hsaco())?.starts_with(b"\x7fELF"),
        "the code object is not an ELF"
    );
    Ok(())
}
