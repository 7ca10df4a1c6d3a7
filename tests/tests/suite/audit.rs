//! The audit of waits: nothing is missing in what we make, and what is taken away is missed.

use crate::support::{compile_bytes, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::asm::{self, Function, Role};
use splitbar::waits::counter::{Counter, waits};
use splitbar::waits::{Audit, Demand, audit};
use splitbar::{Optimization, Target};
use splitbar_plan::FenceMemory;
use splitbar_plan::target::Amdgpu;
use splitbar_tests::fixture::Fixture;
use std::collections::BTreeMap;

const TARGETS: [&str; 7] = [
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250",
];

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let clean = TARGETS.iter().map(|target| {
        let modules: Vec<(String, Result<Vec<u8>>)> = fixtures
            .iter()
            .map(|fixture| (fixture.name.clone(), fixture.module()))
            .collect();
        trial(format!("audit/{target}"), move || audited(target, modules))
    });
    clean
        .chain([
            trial("audit/foreign_code".to_owned(), foreign_code),
            trial("audit/objects".to_owned(), objects),
        ])
        .collect()
}

/// Every kernel is clean, and at least 95 of 100 waits that stand right before an arrival are missed when they are taken away.
fn audited(target: &'static str, modules: Vec<(String, Result<Vec<u8>>)>) -> Result<()> {
    let gpu = Target::by_name(target)
        .and_then(Target::amdgpu)
        .context("no AMD GPU")?;
    let (mut taken, mut survivors) = (0, Vec::new());
    for (kernel, module) in modules {
        let module = module?;
        for level in [Optimization::O0, Optimization::O2] {
            let output = compile_bytes(&module, target, |options| {
                options.audit = true;
                options.optimization = level;
            })?;
            let functions = asm::amdgpu::parse(&told(output.assembly())?);
            for entry in output.entries() {
                let audit = entry.audit.as_ref().context("there is no audit")?;
                ensure!(audit.is_clean(), "{kernel} {level:?}:\n{audit}");
                let function = functions
                    .iter()
                    .find(|function| function.name == audit.kernel)
                    .context("the audited kernel is not in the assembly")?;
                // Without BackOffBarrier LLVM puts a wait for everything before a barrier, whatever is released.
                let waits = release_waits(function, audit, gpu);
                for position in waits.into_iter().filter(|_| gpu.back_off_barrier) {
                    taken += 1;
                    if without(function, position, gpu, audit)?.is_clean() {
                        let wait = &function.instructions[position];
                        survivors.push(format!(
                            "{kernel} {level:?} {position}: {} {}",
                            wait.mnemonic, wait.operands
                        ));
                    }
                }
            }
        }
    }
    ensure!(
        taken >= 10 || !gpu.back_off_barrier,
        "only {taken} waits stand before an arrival"
    );
    ensure!(
        survivors.len() * 20 <= taken,
        "{} of {taken} waits are not missed:\n{}",
        survivors.len(),
        survivors.join("\n")
    );
    Ok(())
}

/// Waits with nothing but housekeeping between them and an arrival, that wait for what the arrival releases. A wait that retires nothing is no such wait, and
/// where only LDS is released, or vector memory is in order anyway, neither is one for the other counters (GPUs without BackOffBarrier wait for all of them).
fn release_waits(function: &Function, audit: &Audit, gpu: &Amdgpu) -> Vec<usize> {
    let mut found = Vec::new();
    for barrier in &audit.barriers {
        let fences = barrier
            .demand
            .as_ref()
            .map_or(&[][..], |demand| demand.fences.as_slice());
        let Some(only_lds) = fences
            .iter()
            .map(|fence| gpu.ordered_vmem || fence.memory == FenceMemory::Local)
            .reduce(|a, b| a && b)
        else {
            continue;
        };
        let is_release = |position: &usize| {
            let inst = &function.instructions[*position];
            waits(&inst.mnemonic, &inst.operands)
                .iter()
                .any(|wait| !only_lds || matches!(wait.counter, Counter::Ds | Counter::Lgkm))
                && !audit
                    .redundant_waits
                    .iter()
                    .any(|redundant| redundant.position == *position)
        };
        found.extend(
            (0..barrier.at.position)
                .rev()
                .take_while(|position| function.instructions[*position].role == Role::Housekeeping)
                .filter(is_release),
        );
    }
    found
}

/// The audit of the code with one wait taken out.
fn without(function: &Function, position: usize, gpu: &Amdgpu, whole: &Audit) -> Result<Audit> {
    let mut function = function.clone();
    "s_nop".clone_into(&mut function.instructions[position].mnemonic);
    let demands: BTreeMap<usize, Demand> = whole
        .barriers
        .iter()
        .filter_map(|barrier| Some((barrier.at.position, barrier.demand.clone()?)))
        .collect();
    audit(&function, gpu, &demands).map_err(anyhow::Error::msg)
}

/// The command on assembly of somebody else: one LDS store too many.
fn foreign_code() -> Result<()> {
    let text = "\t.type\tk,@function\nk:\n\tds_write_b32 v0, v1\n\ts_barrier\n\ts_waitcnt lgkmcnt(0)\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\ts_endpgm\n";
    let arguments = ["audit", "-", "--target", "gfx942"];
    let told = crate::support::run(&arguments, text.as_bytes(), false)?;
    ensure!(
        told.code == Some(0),
        "nothing is judged without a demand: {}",
        told.stderr
    );
    let judged = crate::support::run(
        &[&arguments[..], &["--release", "local"]].concat(),
        text.as_bytes(),
        false,
    )?;
    ensure!(
        judged.code == Some(1),
        "exit code {:?}: {}",
        judged.code,
        judged.stderr
    );
    let text = String::from_utf8(judged.stdout)?;
    ensure!(
        text.contains("VIOLATION: ds_write_b32 at instruction 0 may be outstanding")
            && text.contains("redundant: s_waitcnt at instruction 3")
            && text.matches("VIOLATION").count() == 1,
        "{text}"
    );
    Ok(())
}

/// What machine code says is what assembly text says: the same functions, instruction by instruction, and the same control flow.
fn objects() -> Result<()> {
    for target in TARGETS {
        for kernel in ["tiled_matmul_double_buffered", "reduction"] {
            let output = compile_bytes(&Fixture::load(kernel)?.module()?, target, |_| {})?;
            let shape = |functions: &[Function]| -> Vec<Vec<(String, Vec<usize>)>> {
                functions
                    .iter()
                    .map(|function| {
                        let kept = function
                            .instructions
                            .iter()
                            .enumerate()
                            .take_while(|(_, inst)| inst.mnemonic != "s_code_end");
                        kept.map(|(position, inst)| {
                            let mnemonic = inst.mnemonic.trim_end_matches("_e32").to_owned();
                            (mnemonic, function.successors(position))
                        })
                        .collect()
                    })
                    .collect()
            };
            let text = shape(&asm::amdgpu::parse(&told(output.assembly())?));
            let gpu = Target::by_name(target).context("no such target")?;
            let code = told(output.object())?;
            let code = splitbar::machine_code::functions(&code, gpu).map_err(anyhow::Error::msg)?;
            pretty_assertions::assert_eq!(shape(&code), text, "{kernel} for {target}");
        }
    }
    Ok(())
}
