//! How long a small kernel takes: as a process, in the library the first time and again, and with
//! further kernels in its module.
//!
//! Not criterion's: the first compilation of a process is part of the question. Times are medians
//! in ms; what the machine does beside counts too. `cargo bench -p splitbar-cli --bench latency`; words
//! on the command line are targets (default gfx1201 and sm_90).

use anyhow::{Context, Result, ensure};
use splitbar::{Options, Strategy, Target};
use splitbar_passes::module::assemble;
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often each is measured.
const TIMES: usize = 31;

/// Kernels of the larger module beyond the first.
const FURTHER: usize = 16;

/// The word on the command line of a process that says how long its first compilation took.
const FIRST: &str = "first";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let named: Vec<&'static Target> = words.iter().filter_map(|w| Target::by_name(w)).collect();
    let targets = if named.is_empty() {
        ["gfx1201", "sm_90"]
            .into_iter()
            .filter_map(Target::by_name)
            .collect()
    } else {
        named
    };
    let one = kernels(1)?;
    if words.iter().any(|word| word == FIRST) {
        let target = targets.first().context("no target")?;
        println!("{}", timed(|| in_library(&one, target, true))?.as_nanos());
        return Ok(());
    }
    let file = std::env::temp_dir().join(format!("splitbar-latency-{}.spv", std::process::id()));
    std::fs::write(&file, &one)?;
    let many = kernels(1 + FURTHER)?;
    println!(
        "| target | strategy | process | library, first | library, again | each further kernel |"
    );
    println!("|---|---|--:|--:|--:|--:|");
    for target in targets {
        for (name, fixed) in [("fused", true), ("auto", false)] {
            let process = median(|| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_splitbar"));
                command
                    .arg("lower")
                    .arg(&file)
                    .args(["--target", target.name]);
                command.args(["--strategy", name]).stdout(Stdio::null());
                let start = Instant::now();
                ensure!(command.status()?.success(), "splitbar failed");
                Ok(start.elapsed())
            })?;
            let first = if fixed {
                format!("{:.1}", milliseconds(median(|| first(target))?))
            } else {
                String::new()
            };
            let again = median(|| timed(|| in_library(&one, target, fixed)))?;
            let all = median(|| timed(|| in_library(&many, target, fixed)))?;
            println!(
                "| {} | {name} | {:.1} | {first} | {:.1} | {:.2} |",
                target.name,
                milliseconds(process),
                milliseconds(again),
                milliseconds(all.saturating_sub(again)) / FURTHER as f64,
            );
        }
    }
    std::fs::remove_file(&file)?;
    Ok(())
}

/// The first compilation of a process that is this program.
fn first(target: &Target) -> Result<Duration> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args([FIRST, target.name]).output()?;
    let nanoseconds = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}

fn in_library(module: &[u8], target: &'static Target, fixed: bool) -> Result<()> {
    let mut options = Options::new(target);
    options.strategy = fixed.then_some(Strategy::Fused);
    let output = splitbar::Compiler::new(&options).compile(module)?;
    ensure!(!output.assembly()?.is_empty(), "no assembly");
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn median(mut measure: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        times.push(measure()?);
    }
    times.sort();
    times.get(TIMES / 2).copied().context("nothing measured")
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A module of `count` kernels, each a sum of two neighbours with a split barrier between.
fn kernels(count: usize) -> Result<Vec<u8>> {
    let mut text = "OpCapability Shader
        OpCapability SplitBarrierEXT
        OpExtension \"SPV_EXT_split_barrier\"
        OpMemoryModel Logical GLSL450\n"
        .to_owned();
    let all = 0..count;
    for n in all.clone() {
        writeln!(text, "OpEntryPoint GLCompute %main{n} \"main{n}\" %index")?;
    }
    for n in all.clone() {
        writeln!(text, "OpExecutionMode %main{n} LocalSize 64 1 1")?;
    }
    text.push_str(
        "OpDecorate %index BuiltIn LocalInvocationIndex
        OpDecorate %words ArrayStride 4
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %buffer DescriptorSet 0
        OpDecorate %buffer Binding 0
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %p_index = OpTypePointer Input %uint
        %index = OpVariable %p_index Input
        %words = OpTypeRuntimeArray %uint
        %block = OpTypeStruct %words
        %p_block = OpTypePointer StorageBuffer %block
        %p_word = OpTypePointer StorageBuffer %uint
        %buffer = OpVariable %p_block StorageBuffer
        %size = OpConstant %uint 64
        %tile_type = OpTypeArray %uint %size
        %p_tile = OpTypePointer Workgroup %tile_type
        %p_place = OpTypePointer Workgroup %uint
        %tile = OpVariable %p_tile Workgroup
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %two = OpConstant %uint 2
        %last = OpConstant %uint 63
        %release = OpConstant %uint 260
        %acquire = OpConstant %uint 258\n",
    );
    for n in all {
        write!(
            text,
            "%main{n} = OpFunction %void None %fn
            %entry{n} = OpLabel
            %i{n} = OpLoad %uint %index
            %from{n} = OpAccessChain %p_word %buffer %zero %i{n}
            %value{n} = OpLoad %uint %from{n}
            %own{n} = OpAccessChain %p_place %tile %i{n}
            OpStore %own{n} %value{n}
            OpControlBarrierArriveEXT %two %two %release
            %square{n} = OpIMul %uint %value{n} %value{n}
            OpControlBarrierWaitEXT %two %two %acquire
            %next{n} = OpIAdd %uint %i{n} %one
            %other{n} = OpBitwiseAnd %uint %next{n} %last
            %there{n} = OpAccessChain %p_place %tile %other{n}
            %neighbour{n} = OpLoad %uint %there{n}
            %sum{n} = OpIAdd %uint %square{n} %neighbour{n}
            OpStore %from{n} %sum{n}
            OpReturn
            OpFunctionEnd\n"
        )?;
    }
    let module = assemble(&text)?;
    Ok(module
        .words
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect())
}
