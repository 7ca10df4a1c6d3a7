//! Launches that no simulator can run are rejected immediately, with a code or as wrong usage, and
//! with little memory. Long runs report their progress.

use crate::support::{Ran, assembled, run, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture::Fixture;
use splitbar_tests::tools;
use std::path::Path;
use std::time::{Duration, Instant};

/// Far more than a rejection needs, and far less than the launch would.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A launch of the kernel that is right except for these arguments: its name, the arguments, the
/// exit code, and the message.
const REFUSED: [(&str, &[&str], i32, &str); 19] = [
    ("workgroups", &["--groups", "4294967295,1,1"], 3, "SB3020"),
    (
        "workgroups_that_overflow",
        &["--groups", "65536,65536,65536"],
        3,
        "SB3020",
    ),
    (
        "no_workgroups",
        &["--groups", "1,0,1"],
        2,
        "three numbers from 1",
    ),
    (
        "workgroup_size",
        &["--groups", "1,1,1", "--workgroup-size", "65536,65536,1"],
        3,
        "SB3020",
    ),
    (
        "dynamic_shared",
        &["--groups", "1,1,1", "--dynamic-shared", "4294967295"],
        3,
        "SB3020",
    ),
    (
        "print_capacity",
        &["--groups", "1,1,1", "--printf-buffer-size", "4294967295"],
        2,
        "is not in",
    ),
    (
        "no_schedules",
        &["--groups", "1,1,1", "--schedules", "0"],
        2,
        "is not in",
    ),
    (
        "buffer_without_end",
        &["--groups", "1,1,1", "--buffer", "0:9=/dev/zero"],
        2,
        "more than",
    ),
    (
        "buffer",
        &["--groups", "1,1,1", "--buffer", "0:9=zeros:99999999999"],
        2,
        "at most",
    ),
    (
        "buffers",
        &[
            "--groups",
            "1,1,1",
            "--buffer",
            "0:8=zeros:200000000",
            "--buffer",
            "0:9=seq:u32:50000000",
        ],
        2,
        "the buffers have more than",
    ),
    (
        "buffer_twice",
        &["--groups", "1,1,1", "--buffer", "0:0=zeros:4"],
        2,
        "given twice",
    ),
    (
        "push_without_end",
        &["--groups", "1,1,1", "--push", "/dev/zero"],
        2,
        "more than",
    ),
    (
        "push",
        &["--groups", "1,1,1", "--push", "LONG"],
        3,
        "SB3020",
    ),
    (
        "dump",
        &["--groups", "1,1,1", "--dump", "0:9=nowhere"],
        2,
        "no buffer 0:9",
    ),
    // What the kernel has no argument for would change nothing.
    (
        "unused_push",
        &["--groups", "1,1,1", "--push", "00112233"],
        2,
        "4 bytes of constants are given, but the kernel has 0",
    ),
    (
        "unused_buffer",
        &["--groups", "1,1,1", "--buffer", "0:9=zeros:4"],
        2,
        "uses no buffer 0:9",
    ),
    (
        "unused_image",
        &["--groups", "1,1,1", "--image", "0:1=r32ui:buffer:4"],
        2,
        "uses no image 0:1",
    ),
    (
        "image_twice",
        &[
            "--groups",
            "1,1,1",
            "--image",
            "0:1=r32ui:buffer:4",
            "--image",
            "0:1=r32ui:4x4",
        ],
        2,
        "given twice",
    ),
    (
        "unknown_spec",
        &["--groups", "1,1,1", "--spec", "77=1"],
        2,
        "SB0108",
    ),
];

/// Flags for PTX that contradict the PTX, or that affect only the compilation of a module; and the
/// message.
const OF_MODULES: [(&str, &str); 10] = [
    ("--spec=0=1", "--spec is for modules"),
    ("--strategy=fused", "--strategy is for modules"),
    ("-O2", "-O is for modules"),
    ("--wave=32", "--wavefront-size is for modules"),
    ("--no-validate", "--no-validate is for modules"),
    ("--target-env=universal", "--target-env is for modules"),
    ("--target=gfx1201", "gfx1201 is a GPU of AMD"),
    ("--target=sm_75", "for sm_80, which sm_75 cannot run"),
    ("--workgroup-size=32,1,1", "it cannot be [32, 1, 1]"),
    ("--buffer=9=zeros:4", "uses no buffer 9"),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = REFUSED
        .into_iter()
        .map(|(name, arguments, code, said)| {
            trial(format!("launches/{name}"), move || {
                refused(arguments, code, said)
            })
        })
        .collect();
    trials.push(trial("launches/input_without_end".to_owned(), || {
        let arguments = ["sim", "/dev/zero", "--target", "sm_80", "--groups", "1,1,1"];
        let ran = run(&arguments, b"", false)?;
        ensure!(
            ran.code == Some(2) && ran.stderr.contains("more than"),
            "{ran:?}"
        );
        Ok::<_, anyhow::Error>(())
    }));
    trials.push(trial("launches/progress".to_owned(), progress));
    trials.push(trial("launches/compiled".to_owned(), compiled));
    trials.push(trial("launches/code_object".to_owned(), code_object));
    trials.push(trial("launches/local_memory".to_owned(), local_memory));
    trials.push(trial(
        "launches/dump_over_input".to_owned(),
        dump_over_input,
    ));
    trials
}

/// Runs a kernel of three buffers.
fn simulated(arguments: &[&str]) -> Result<Ran> {
    let kernel = Fixture::load("reduction")?.module_path();
    simulated_of(&kernel, arguments)
}

/// As [`simulated`], for the kernel in the file `kernel`.
fn simulated_of(kernel: &Path, arguments: &[&str]) -> Result<Ran> {
    let kernel = kernel.display().to_string();
    let mut all = vec!["sim", kernel.as_str(), "--target", "sm_80"];
    for buffer in ["0:0=seq:u32:512", "0:1=zeros:2048", "0:2=zeros:2048"] {
        all.extend(["--buffer", buffer]);
    }
    all.extend(arguments);
    run(&all, b"", false)
}

fn refused(arguments: &[&str], code: i32, said: &str) -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), vec![0; (1 << 16) + 1])?;
    let long = file.path().display().to_string();
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| {
            if *argument == "LONG" {
                long.as_str()
            } else {
                argument
            }
        })
        .collect();
    tools::splitbar()?; // whose build does not count
    let start = Instant::now();
    let ran = simulated(&arguments)?;
    ensure!(ran.code == Some(code), "{:?}: {}", ran.code, ran.stderr);
    ensure!(ran.stderr.contains(said), "{}", ran.stderr);
    ensure!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    Ok(())
}

/// Neither the module nor the file of a buffer is replaced by a buffer.
fn dump_over_input() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let [module, buffer] = ["k.spv", "b.bin"].map(|name| folder.path().join(name));
    let bytes = Fixture::load("reduction")?.module()?;
    std::fs::write(&module, &bytes)?;
    std::fs::write(&buffer, [0; 4])?;
    let content = format!("0:3={}", buffer.display());
    for file in [&module, &buffer] {
        let dump = format!("0:1={}", file.display());
        let arguments = ["--groups=1,1,1", "--buffer", &content, "--dump", &dump];
        let ran = simulated_of(&module, &arguments)?;
        ensure!(
            ran.code == Some(2) && ran.stderr.contains("would replace the input"),
            "{:?}: {}",
            ran.code,
            ran.stderr
        );
    }
    ensure!(std::fs::read(&module)? == bytes && std::fs::read(&buffer)? == [0; 4]);
    Ok(())
}

/// PTX as an input: flags without an effect on it are rejected.
fn compiled() -> Result<()> {
    let kernel = Fixture::load("reduction")?.module_path();
    let kernel = kernel.display().to_string();
    let ptx = run(&["lower", &kernel, "--target", "sm_80"], b"", false)?.stdout;
    let sim = |flag: &str| {
        let buffers = [
            "--buffer=0=seq:u32:512",
            "--buffer=1=zeros:2048",
            "--buffer=2=zeros:2048",
        ];
        let target = if flag.starts_with("--target=") {
            &[][..]
        } else {
            &["--target=sm_80"]
        };
        let all = [&["sim", "-", "--groups=1,1,1", flag], &buffers[..], target].concat();
        run(&all, &ptx, false)
    };
    let ran = sim("--schedules=1")?;
    ensure!(ran.code == Some(0), "{:?}: {}", ran.code, ran.stderr);
    for (flag, said) in OF_MODULES {
        let ran = sim(flag)?;
        ensure!(
            ran.code == Some(2) && ran.stderr.contains(said),
            "{flag}: {:?}: {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

/// A kernel with 64 bytes of static local memory, and a pointer to memory that the launch adds.
const LOCAL_MEMORY: &str = "
    OpCapability Kernel
    OpCapability Addresses
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %main \"main\" %own
    OpExecutionMode %main LocalSize 1 1 1
    %void = OpTypeVoid
    %u32 = OpTypeInt 32 0
    %n16 = OpConstant %u32 16
    %two = OpConstant %u32 2
    %order = OpConstant %u32 264
    %array = OpTypeArray %u32 %n16
    %p_array = OpTypePointer Workgroup %array
    %local = OpTypePointer Workgroup %u32
    %global = OpTypePointer CrossWorkgroup %u32
    %own = OpVariable %p_array Workgroup
    %type = OpTypeFunction %void %local %global
    %main = OpFunction %void None %type
    %given = OpFunctionParameter %local
    %out = OpFunctionParameter %global
    %entry = OpLabel
    %first = OpInBoundsAccessChain %local %own %two
    OpStore %first %n16 Volatile|Aligned 4
    OpStore %given %two Aligned 4
    OpControlBarrier %two %two %order
    %value = OpLoad %u32 %first Volatile|Aligned 4
    OpStore %out %value Aligned 4
    OpReturn
    OpFunctionEnd";

/// Local memory that the launch adds is after the kernel's own, with its alignment.
fn local_memory() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), assembled(LOCAL_MEMORY)?)?;
    let kernel = file.path().display().to_string();
    for target in ["gfx1201", "sm_80"] {
        for (address, said) in [
            ("40000000", None),
            ("3c000000", Some("the kernel uses the bytes up to 64")),
            ("42000000", Some("it must be a multiple of 4")),
            ("81000000", Some("adds the bytes up to 128")),
        ] {
            // NVIDIA's pointers to local memory have 64 bits.
            let push = match target {
                "gfx1201" => address.to_owned(),
                _ => format!("{address}00000000"),
            };
            let arguments = [
                "--groups=1,1,1",
                "--dynamic-shared=64",
                "--buffer=1=zeros:4",
            ];
            let kernel = ["sim", &kernel, "--target", target, "--push", &push];
            let ran = run(&[&kernel[..], &arguments].concat(), b"", false)?;
            let refused = said.is_some_and(|said| ran.stderr.contains(said));
            ensure!(
                ran.code == Some(if refused { 2 } else { 0 }) && refused == said.is_some(),
                "{target}, {address}: {:?}: {}",
                ran.code,
                ran.stderr
            );
        }
    }
    Ok(())
}

/// A code object runs on the GPU that it was compiled for.
fn code_object() -> Result<()> {
    let kernel = Fixture::load("reduction")?.module_path();
    let kernel = kernel.display().to_string();
    let lower = ["lower", &kernel, "--target=gfx1201", "--emit=hsaco"];
    let object = run(&lower, b"", false)?.stdout;
    for (target, code, said) in [
        ("--target=gfx1201", 0, ""),
        ("--target=gfx1200", 2, "is for gfx1201, not gfx1200"),
        ("--target=gfx942", 2, "is for gfx1201, not gfx942"),
    ] {
        let buffers = ["0=seq:u32:512", "1=zeros:2048", "2=zeros:2048"];
        let buffers = buffers.map(|buffer| format!("--buffer={buffer}"));
        let mut all = vec!["sim", "-", "--groups=1,1,1", "--schedules=1", target];
        all.extend(buffers.iter().map(String::as_str));
        let ran = run(&all, &object, false)?;
        ensure!(
            ran.code == Some(code) && ran.stderr.contains(said),
            "{target}: {:?}: {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

/// With `--verbose` standard error shows the progress. Without it, and if the output is for
/// programs, it does not.
fn progress() -> Result<()> {
    let arguments = ["--groups", "2,1,1", "--schedules", "3"];
    for (more, lines) in [
        (&["--verbose"][..], 3),
        (&[], 0),
        (&["--verbose", "--format", "json"], 0),
    ] {
        let ran = simulated(&[&arguments, more].concat())?;
        ensure!(ran.code == Some(0), "{:?}: {}", ran.code, ran.stderr);
        let said = ran.stderr.lines().filter(|line| line.contains("schedule"));
        ensure!(said.count() == lines, "{more:?}: {}", ran.stderr);
        ensure!(lines > 0 || ran.stderr.is_empty(), "{}", ran.stderr);
    }
    Ok(())
}
