//! The kernels of fixtures/kernels in OpenCL C, as clang translates them for both vendors: through
//! the door for LLVM IR they give the same results as through that for SPIR-V, and their windows
//! are as wide.

use crate::sim::{compare, inputs};
use crate::support::{always_split, done, is_nvptx, linkable, target, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::Job;
use splitbar::simulate::machine::Schedule;
use splitbar::window::Window;
use splitbar::{Optimization, Options, Output};
use splitbar_tests::fixture::{Fixture, root};
use splitbar_tests::harness::Missing;
use splitbar_tests::reference::{self, BufferName, Case};
use std::path::Path;
use std::process::Command;

const TARGETS: [&str; 7] = [
    "gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80", "sm_90",
];
const LEVELS: [(&str, Optimization); 2] = [("O0", Optimization::O0), ("O2", Optimization::O2)];
/// The number of schedules of a kernel, half of the kinds.
const SCHEDULES: u32 = 4;

/// Kernels that OpenCL C cannot express, and why.
const OTHERS: [(&str, &str); 2] = [
    ("cooperative_matmul", "it has no cooperative matrices"),
    ("cooperative_tensors", "it has no cooperative matrices"),
];

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for name in names() {
        for target in TARGETS {
            for (level, optimization) in LEVELS {
                let kernel = name.clone();
                trials.push(trial(
                    format!("ir/kernels/{name}/{target}/{level}"),
                    move || both_doors(&kernel, target, optimization),
                ));
            }
        }
    }
    trials.push(trial("ir/kernels/all".to_owned(), all));
    for (vendor, target) in [("amdgcn", "gfx1201"), ("nvptx64", "sm_90")] {
        trials.push(trial(format!("ir/kernels/fresh/{vendor}"), move || {
            fresh(vendor, target)
        }));
    }
    trials
}

/// The kernels that are there in OpenCL C, sorted.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(root().join("fixtures/llvm_ir"))
        .into_iter()
        .flatten();
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".cl").map(str::to_owned))
        .filter(|name| reference::case(name).is_some())
        .collect();
    names.sort();
    names
}

/// Returns true if the kernel exists in OpenCL C.
pub(crate) fn is_there(name: &str) -> bool {
    !OTHERS.iter().any(|(other, _)| *other == name)
}

/// Every kernel of fixtures/kernels exists here, or is listed as the same as another one.
fn all() -> Result<()> {
    let there = names();
    for fixture in splitbar_tests::fixture::all()? {
        let is_other = OTHERS.iter().any(|(name, _)| *name == fixture.name);
        ensure!(
            there.contains(&fixture.name) != is_other,
            "{}: in OpenCL C or among the others",
            fixture.name
        );
    }
    Ok(())
}

/// The modules are what clang generates from their sources: the same bytes, or bytes of another
/// build of clang that have the same code.
fn fresh(vendor: &str, gpu: &str) -> Result<()> {
    const LIBRARIES: [&str; 2] = [
        "/usr/lib/clc/amdgcn-amd-amdhsa.bc",
        "/usr/lib/clc/nvptx64--nvidiacl.bc",
    ];
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("clang-22").is_file()) {
        return Err(Missing::new("no clang-22 on PATH").into());
    }
    if !LIBRARIES.iter().all(|file| Path::new(file).is_file()) {
        return Err(Missing::new("no libclc-22").into());
    }
    let folder = root().join("fixtures/llvm_ir");
    let made = tempfile::tempdir()?;
    for name in names().iter().map(String::as_str).chain(["cutlass_loop"]) {
        let file = made.path().join(name);
        done(
            Command::new("clang-22")
                .arg(format!("@{vendor}.flags"))
                .args(["-c", &format!("{name}.cl"), "-o"])
                .arg(&file)
                .current_dir(&folder),
        )?;
        let (new, old) = (std::fs::read(&file)?, module(name, gpu)?);
        if new == old {
            continue;
        }
        let options = options(gpu, Optimization::O0)?;
        let code = |bytes: &[u8]| {
            told(
                splitbar::Compiler::new(&options)
                    .compile(splitbar::Input::LlvmIr(bytes))?
                    .assembly(),
            )
        };
        ensure!(
            code(&new)? == code(&old)?,
            "{name}: `cargo xtask fixtures {name}` makes another module"
        );
    }
    Ok(())
}

/// The module that clang made of kernel `name` for the vendor of `target`.
pub(crate) fn module(name: &str, target: &str) -> Result<Vec<u8>> {
    let architecture = if is_nvptx(target) {
        "nvptx64"
    } else {
        "amdgcn"
    };
    let path = root().join(format!("fixtures/llvm_ir/{name}.{architecture}.bc"));
    std::fs::read(&path).with_context(|| path.display().to_string())
}

/// The launch of the SPIR-V kernel, with the buffers by position, followed by the buffers for the
/// other kernel's queries of its launch.
pub(crate) fn case(name: &str) -> Result<Case> {
    let mut case = reference::case(name).context("no host reference")?;
    for (index, buffer) in (0..).zip(&mut case.buffers) {
        buffer.place = BufferName::Argument(index);
    }
    match name {
        "message_passing" => case.push_constants.push(case.groups[0]),
        "volume" => case.push_constants.extend(&case.groups[..2]),
        "stencil_halo" => case
            .push_constants
            .push(case.buffers[0].before.len().try_into()?),
        _ => {}
    }
    Ok(case)
}

fn options(name: &str, optimization: Optimization) -> Result<Options> {
    let mut options = always_split(name)?;
    options.optimization = optimization;
    options.measure = true;
    options.audit = true;
    Ok(options)
}

/// The measured windows of the only kernel.
fn windows(output: &Output) -> Result<&[Window]> {
    let entry = output.entries().first().context("no kernel")?;
    Ok(entry.windows.as_deref().unwrap_or_default())
}

/// Returns true if `other` keeps as much as `one`: at most 5 % or one instruction less, or a share
/// that is at most 5 percentage points smaller. Front ends write different instructions into a
/// window.
fn is_as_wide(one: &Window, other: &Window) -> bool {
    let less = (one.kept / 20).max(1);
    let share = |window: &Window| window.kept * 100 / window.source.max(1);
    other.kept + less >= one.kept || share(other) + 5 >= share(one)
}

fn both_doors(name: &str, target: &'static str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let options = options(target, optimization)?;
    let spirv = Fixture::load(name)?.module()?;
    let one = splitbar::Compiler::new(&options).compile(&spirv)?;
    let other = splitbar::Compiler::new(&options)
        .compile(splitbar::Input::LlvmIr(&module(name, target)?))?;
    let case = case(name)?;
    agrees(&case, &other, target)?;
    if other.entries().is_empty() {
        return Ok(()); // nothing in it is split
    }
    let (one, other) = (windows(&one)?, windows(&other)?);
    ensure!(
        one.len() == other.len(),
        "{} pairs and {}",
        one.len(),
        other.len()
    );
    for (number, (one, other)) in one.iter().zip(other).enumerate() {
        ensure!(
            is_as_wide(one, other),
            "window {number} keeps {} of {} in SPIR-V, {} of {} in LLVM IR",
            one.kept,
            one.source,
            other.kept,
            other.source
        );
    }
    Ok(())
}

/// Checks that the kernel has the results of the host, without findings.
pub(super) fn agrees(case: &Case, output: &Output, gpu: &str) -> Result<()> {
    let gpu = target(gpu)?;
    let job = match (output.entries(), gpu.nvptx()) {
        // The door leaves a module without split barriers alone, and says nothing of it.
        ([], Some(_)) => Job::ptx(&told(output.assembly())?, gpu, None)?,
        ([], None) => Job::code_object(&told(output.hsaco())?, gpu, None)?,
        _ => Job::compiled(output, 0)?,
    };
    let inputs = inputs(case);
    job.takes(&inputs)?;
    for index in 0..SCHEDULES {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        if let Err(difference) = compare(case, &outcome) {
            bail!("{schedule}: {difference}");
        }
    }
    Ok(())
}
