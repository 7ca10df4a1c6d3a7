//! The programs of docs/examples: the simulator computes the documented results of their kernel,
//! and each launcher runs on a device if there is one, and on a driver that launches on the
//! simulator (`tests/launch`).

use crate::cli::expect;
use crate::support::{linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use splitbar_tests::fixture::root;
use splitbar_tests::harness::{self, Missing};
use splitbar_tests::tools::{self, GLSLANG_VARIABLE};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program that launches: its file, and the input to compile for it.
#[derive(Copy, Clone)]
struct Launcher {
    file: &'static str,
    target: &'static str,
    emit: &'static str,
    code: &'static str,
}

const CUDA: Launcher = Launcher {
    file: "cuda_driver.c",
    target: "sm_80",
    emit: "ptx",
    code: "exchange.ptx",
};
const HIP: Launcher = Launcher {
    file: "hip.c",
    target: "gfx1100",
    emit: "hsaco",
    code: "exchange.co",
};

/// The output of the programs.
const RIGHT: &str = "256 elements are right";

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("examples/kernel".to_owned(), kernel),
        trial("examples/source".to_owned(), source),
        trial("examples/launch_is_as_reflected".to_owned(), reflected),
        trial("examples/pipe_in_help".to_owned(), pipe),
        trial("examples/text_behind_a_module".to_owned(), text_behind),
        trial("examples/buffers_that_are_missing".to_owned(), no_buffers),
    ];
    for launcher in [CUDA, HIP] {
        let name = format!("examples/simulated/{}", launcher.file);
        trials.push(trial(name, move || simulated_c(launcher)));
    }
    for (file, of) in [("cuda_bindings.py", CUDA), ("hip_python.py", HIP)] {
        let launcher = Launcher { file, ..of };
        let name = format!("examples/simulated/{file}");
        trials.push(trial(name, move || simulated_python(launcher)));
    }
    trials.push(trial("examples/device/cuda_driver.c".to_owned(), || {
        device(CUDA, "-lcuda", "NO_DEVICE")
    }));
    trials.push(trial("examples/device/hip.c".to_owned(), || {
        device(HIP, "-lamdhip64", "NoDevice")
    }));
    trials
}

fn examples() -> PathBuf {
    root().join("docs/examples")
}

fn module() -> String {
    examples().join("exchange.spv").display().to_string()
}

/// The results of exchange.comp, one workgroup after the other.
fn expected() -> Vec<u8> {
    let mirror = |i: u32| i / 64 * 64 + 63 - i % 64;
    let words = (0..256u32).map(|i| mirror(i) + 7 * i);
    words.flat_map(u32::to_le_bytes).collect()
}

/// Simulates `module` as the programs launch it.
fn simulate(module: &str, target: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out.bin");
    let dump = format!("0:1={}", out.display());
    let launch = [
        "--target", target, "--groups", "4,1,1", "--push", "07000000",
    ];
    let buffers = ["--buffer", "0:0=seq:u32:256", "--buffer", "0:1=zeros:1024"];
    let all = [&["sim", module][..], &launch, &buffers, &["--dump", &dump]].concat();
    expect(&all, b"", 0)?;
    ensure!(
        std::fs::read(&out)? == expected(),
        "{target}: another result"
    );
    Ok(())
}

fn kernel() -> Result<()> {
    for target in ["gfx1100", "gfx1201", "sm_60", "sm_80", "sm_90"] {
        linkable(target)?;
        simulate(&module(), target)?;
    }
    Ok(())
}

/// The source compiles to a kernel that does the same, by the command that it names.
fn source() -> Result<()> {
    let glslang = harness::program(GLSLANG_VARIABLE, "glslangValidator")?;
    let folder = tempfile::tempdir()?;
    let source = examples().join("exchange.comp");
    let text = std::fs::read_to_string(&source)?;
    let mut lines = text.lines();
    let command = lines.find_map(|line| line.strip_prefix("// glslangValidator "));
    let command = command.context("the source names no command")?;
    std::fs::copy(&source, folder.path().join("exchange.comp"))?;
    let mut compiler = Command::new(glslang);
    compiler.args(command.split(' '));
    run(&mut compiler, folder.path())?;
    let module = folder.path().join("exchange.spv");
    simulate(&module.display().to_string(), "sm_90")
}

/// The pipe from glslang that `splitbar lower --help` shows.
fn pipe() -> Result<()> {
    let glslang = harness::program(GLSLANG_VARIABLE, "glslangValidator")?;
    let help = String::from_utf8(expect(&["lower", "--help"], b"", 0)?.stdout)?;
    let mut lines = help.lines().map(str::trim);
    let line = lines.find(|line| line.starts_with("glslangValidator "));
    let line = line.context("the help has no pipe")?;
    let folder = tempfile::tempdir()?;
    std::fs::copy(
        examples().join("exchange.comp"),
        folder.path().join("k.comp"),
    )?;
    let program = tools::splitbar()?;
    let folders = [glslang.parent(), program.parent()];
    let path = std::env::join_paths(folders.into_iter().flatten())?;
    let mut shell = Command::new("/bin/sh");
    let output = run(shell.args(["-c", line]).env("PATH", path), folder.path())?;
    let assembly = String::from_utf8_lossy(&output.stdout);
    ensure!(assembly.contains(".amdhsa_kernel main"), "{assembly}");
    Ok(())
}

/// Text that a compiler prints into the same pipe is distinguished from a truncated module.
fn text_behind() -> Result<()> {
    let module = std::fs::read(module())?;
    let both = [&module[..], b"rounds.comp\n"].concat();
    let said = expect(&["check", "-"], &both, 1)?.stderr;
    ensure!(said.contains("the rest is text"), "{said}");
    let said = expect(&["check", "-"], &module[..module.len() - 12], 1)?.stderr;
    ensure!(
        said.contains("has the size that its producer wrote"),
        "{said}"
    );
    Ok(())
}

/// A launch without a buffer is an error that lists the buffers.
fn no_buffers() -> Result<()> {
    let launch = [
        "--target", "sm_90", "--groups", "4,1,1", "--push", "07000000",
    ];
    for abi in ["arguments", "descriptor-sets"] {
        let module = module();
        let all = [&["sim", &module, "--abi", abi], &launch[..]].concat();
        let said = expect(&all, b"", 2)?.stderr;
        let says = "no buffer is given for 0:0; the kernel uses 0:0, 0:1";
        ensure!(said.contains(says), "{abi}: {said}");
    }
    Ok(())
}

/// The numbers that the C programs have from the reflection.
fn reflected() -> Result<()> {
    for target in ["gfx1100", "gfx1201", "sm_80", "sm_90"] {
        let module = module();
        let lower = ["lower", &module, "--target", target, "--emit", "reflect"];
        let entry: Value = serde_json::from_slice(&expect(&lower, b"", 0)?.stdout)?;
        let entry = &entry[0];
        let arguments = entry["arguments"].as_array().context("no arguments")?;
        let places: Vec<_> = arguments
            .iter()
            .map(|one| json!([one["kind"], one["binding"], one["offset"], one["size"]]))
            .collect();
        let says = json!([
            entry["symbol"],
            entry["workgroup_size"],
            entry["dynamic_shared_memory"],
            entry["kernarg_segment_size"],
            places
        ]);
        let known = json!([
            "main",
            [64, 1, 1],
            false,
            20,
            [
                ["global_buffer", 0, 0, 8],
                ["global_buffer", 1, 8, 8],
                ["push_constant", null, 16, 4]
            ]
        ]);
        ensure!(says == known, "{target}: {says}");
    }
    Ok(())
}

/// Runs `command` in `folder`, which must succeed.
fn run(command: &mut Command, folder: &Path) -> Result<Output> {
    let shown = format!("{command:?}");
    let output = command
        .current_dir(folder)
        .output()
        .context(shown.clone())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{shown}: {said}");
    Ok(output)
}

/// Writes the code and the reflection for `launcher` into `folder`.
fn lower(launcher: Launcher, folder: &Path) -> Result<()> {
    linkable(launcher.target)?;
    let place = |kind: &str, file: &str| format!("{kind}={}", folder.join(file).display());
    let (code, reflection) = (
        place(launcher.emit, launcher.code),
        place("reflect", "exchange.json"),
    );
    let module = module();
    let outputs = ["--emit", &code, "--emit", &reflection];
    let all = [
        &["lower", &module, "--target", launcher.target],
        &outputs[..],
    ]
    .concat();
    expect(&all, b"", 0)?;
    Ok(())
}

/// A C compiler, with the options that all programs are compiled with.
fn compiler() -> Result<Command, Missing> {
    let mut command = Command::new(harness::program("SPLITBAR_CC", "cc")?);
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror"]);
    command.arg("-D__HIP_PLATFORM_AMD__");
    Ok(command)
}

/// The declarations and the driver of `tests/launch`.
fn stand_in(file: &str) -> PathBuf {
    root().join("tests/launch").join(file)
}

/// Runs a launch on the simulator.
fn simulator(command: &mut Command, launcher: Launcher) -> Result<()> {
    let program = tools::splitbar()?;
    let sim = format!(
        "'{}' sim {} --target {}",
        program.display(),
        launcher.code,
        launcher.target
    );
    command.env("SPLITBAR_SIM", sim);
    Ok(())
}

fn is_right(output: &Output) -> Result<()> {
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(said.lines().any(|line| line == RIGHT), "{said}");
    Ok(())
}

fn simulated_c(launcher: Launcher) -> Result<()> {
    let folder = tempfile::tempdir()?;
    lower(launcher, folder.path())?;
    let mut compile = compiler()?;
    compile.arg("-I").arg(stand_in("include"));
    compile.args([examples().join(launcher.file), stand_in("driver.c")]);
    run(compile.args(["-o", "launcher"]), folder.path())?;
    let mut launch = Command::new(folder.path().join("launcher"));
    simulator(&mut launch, launcher)?;
    is_right(&run(launch.arg(launcher.code), folder.path())?)
}

fn simulated_python(launcher: Launcher) -> Result<()> {
    let python = harness::program("SPLITBAR_PYTHON", "python3")?;
    let folder = tempfile::tempdir()?;
    lower(launcher, folder.path())?;
    let mut compile = compiler()?;
    compile
        .args(["-shared", "-fPIC", "-I"])
        .arg(stand_in("include"));
    run(
        compile.arg(stand_in("driver.c")).args(["-o", "driver.so"]),
        folder.path(),
    )?;
    let mut launch = Command::new(python);
    simulator(&mut launch, launcher)?;
    launch
        .env("SPLITBAR_DRIVER", folder.path().join("driver.so"))
        .env("PYTHONPATH", stand_in("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(examples().join(launcher.file))
        .args([launcher.code, "exchange.json"]);
    is_right(&run(&mut launch, folder.path())?)
}

/// Runs the program with the vendor's header and library, on its GPU. Without a GPU the program
/// prints `none`.
fn device(launcher: Launcher, library: &str, none: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    lower(launcher, folder.path())?;
    let mut compile = compiler()?;
    compile.args([
        "-I/usr/local/cuda/include",
        "-I/opt/rocm/include",
        "-L/opt/rocm/lib",
    ]);
    compile.arg(examples().join(launcher.file));
    let compiled = compile.args([library, "-o", "launcher"]);
    if !compiled
        .current_dir(folder.path())
        .output()?
        .status
        .success()
    {
        let what = format!("no headers and library for {}", launcher.file);
        return Err(Missing::new(what).into());
    }
    let mut launch = Command::new(folder.path().join("launcher"));
    let output = launch
        .arg(launcher.code)
        .current_dir(folder.path())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.to_lowercase().contains(&none.to_lowercase()) {
        return Err(Missing::new(format!("no device for {}", launcher.file)).into());
    }
    ensure!(output.status.success(), "{said}");
    is_right(&output)
}
