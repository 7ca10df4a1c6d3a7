//! Compilations of the sample in this process, and what came out.

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use splitbar::asm::{self, amdgpu, ptx};
use splitbar::{Options, Target};
use splitbar_harness::process_cpu_time;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// For modules whose workgroup size the application has to choose.
const WORKGROUP_SIZE: [u32; 3] = [64, 1, 1];

/// One module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// The CPU time in LLVM.
    pub time: Duration,
    /// Instructions of the assembly.
    pub instructions: usize,
    /// What its kernels take.
    pub registers: Registers,
    /// Which code it is.
    pub code: String,
}

/// The registers of kernels.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Registers {
    /// Vector registers (AMD), or what ptxas gives out; without ptxas what it takes at most.
    pub used: u32,
    /// Registers (AMD) or bytes (NVIDIA) that are spilled.
    pub spilled: u32,
}

/// Sets LLVM's `options`, and prints as JSON what the modules in `folder` take, in their order;
/// `null` for one that is not compiled any more.
pub(crate) fn run(
    target: &'static Target,
    folder: &Path,
    times: usize,
    options: &[String],
) -> Result<()> {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    splitbar_llvm::set_llvm_options(&options);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "spv") {
            files.push(path);
        }
    }
    files.sort();
    let modules = files.iter().map(|path| {
        let bytes = std::fs::read(path)?;
        module(&bytes, target, folder, times)
    });
    let all: Vec<Option<Measured>> = modules.collect::<Result<_>>()?;
    println!("{}", serde_json::to_string(&all)?);
    Ok(())
}

/// The assembly of a module, if it is compiled and leaves no more than its workgroup size open, and
/// the least CPU time that LLVM took for it, of `times`.
pub(crate) fn compiled(
    bytes: &[u8],
    target: &'static Target,
    times: usize,
) -> Option<(String, Duration)> {
    let mut options = Options::new(target);
    let (mut translated, mut compiled) = (Duration::MAX, Duration::MAX);
    let mut assembly = None;
    for _ in 0..times {
        let translate = |options: &Options| {
            process_cpu_time(|| {
                splitbar::Compiler::new(options)
                    .translate(bytes, splitbar::BarrierForm::Planned)
                    .is_ok()
            })
        };
        let (mut is_done, mut time) = translate(&options);
        if !is_done {
            options.workgroup_size = Some(WORKGROUP_SIZE);
            (is_done, time) = translate(&options);
        }
        if !is_done {
            return None;
        }
        translated = translated.min(time);
        let (text, time) = process_cpu_time(|| {
            let output = splitbar::Compiler::new(&options).compile(bytes).ok()?;
            output.assembly().ok()
        });
        compiled = compiled.min(time);
        assembly = Some(text?);
    }
    Some((assembly?, compiled.saturating_sub(translated)))
}

fn module(
    bytes: &[u8],
    target: &'static Target,
    folder: &Path,
    times: usize,
) -> Result<Option<Measured>> {
    let Some((assembly, time)) = compiled(bytes, target, times) else {
        return Ok(None);
    };
    let code = Sha256::digest(&assembly);
    let code: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(Measured {
        time,
        instructions: instructions(&assembly, target)?,
        registers: match target.amdgpu() {
            Some(_) => vector_registers(&assembly),
            None => nvidia_registers(&assembly, target, &folder.join(&code))?,
        },
        code,
    }))
}

/// How many instructions `assembly` has.
pub(crate) fn instructions(assembly: &str, target: &Target) -> Result<usize> {
    let functions = asm::parse(assembly, &target.arch);
    let functions = functions.map_err(|error| anyhow!("{error}"))?;
    Ok(functions
        .iter()
        .map(|function| function.instructions.len())
        .sum())
}

fn vector_registers(assembly: &str) -> Registers {
    let kernels = amdgpu::metadata::kernels(assembly);
    let mut sum = Registers::default();
    for kernel in kernels {
        sum.used += kernel.vector_registers;
        sum.spilled += kernel.spilled_vector_registers + kernel.spilled_scalar_registers;
    }
    sum
}

/// What ptxas says, which is kept in `file` for other runs; what is known without it where none is
/// named.
fn nvidia_registers(text: &str, target: &Target, file: &Path) -> Result<Registers> {
    let Some(ptxas) = std::env::var_os(splitbar::PTXAS_VARIABLE) else {
        let kernels = ptx::pressure(text).unwrap_or_default(); // LLVM's text is PTX
        let used = kernels.iter().map(|kernel| kernel.registers).sum();
        return Ok(Registers { used, spilled: 0 });
    };
    let kept = file.with_extension("json");
    if let Ok(known) = std::fs::read(&kept) {
        return Ok(serde_json::from_slice(&known)?);
    }
    let source = file.with_extension("ptx");
    std::fs::write(&source, text)?;
    let programs: Vec<PathBuf> = std::env::split_paths(&ptxas).collect();
    let program = programs.first().context("no ptxas")?;
    let output = Command::new(program)
        .args(["-v", "-arch", target.name, "-o"])
        .arg(file.with_extension("cubin"))
        .arg(&source)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let sum = |unit: &str| -> u32 {
        let numbers = said.lines().filter_map(|line| {
            let (number, _) = line.split_once(unit)?;
            number.split_whitespace().last()?.parse::<u32>().ok()
        });
        numbers.sum()
    };
    let registers = Registers {
        used: sum(" registers"),
        spilled: sum(" bytes spill stores"),
    };
    std::fs::write(&kept, serde_json::to_vec(&registers)?)?;
    Ok(registers)
}
