//! Compilation in a worker process: the same bytes as in this process, limits, deaths, and owners that end.

use crate::support::{assembled, compile, target, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::diagnostic::Code;
use splitbar::{
    Failure, Isolation, Optimization, Options, Product, Worker, compile_isolated, exit,
};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::tools;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A test of workers.
type Test = fn() -> Result<()>;

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 6] = [
        ("bytes_are_the_same", bytes_are_the_same),
        ("threads_have_workers", threads_have_workers),
        ("a_crash_is_a_bug", a_crash_is_a_bug),
        ("time_is_limited", time_is_limited),
        ("memory_is_limited", memory_is_limited),
        (
            "the_owner_s_end_is_the_worker_s",
            the_owner_s_end_is_the_worker_s,
        ),
    ];
    tests
        .into_iter()
        .map(|(name, test)| trial(format!("isolate/{name}"), test))
        .collect()
}

fn isolation() -> Result<Isolation> {
    Ok(Isolation {
        program: Some(tools::splitbar()?),
        ..Isolation::default()
    })
}

/// A kernel around `body`, which has the invocation's index `%i`, one word of a buffer at `%place`, and the constants `%zero`, `%one` and `%two`.
pub fn kernel(body: &str) -> Result<Vec<u8>> {
    assembled(&format!(
        "OpCapability Shader
         OpCapability SplitBarrierEXT
         OpExtension \"SPV_EXT_split_barrier\"
         OpMemoryModel Logical GLSL450
         OpEntryPoint GLCompute %1 \"main\" %index
         OpExecutionMode %1 LocalSize 64 1 1
         OpDecorate %index BuiltIn LocalInvocationIndex
         OpDecorate %block Block
         OpMemberDecorate %block 0 Offset 0
         OpDecorate %buffer DescriptorSet 0
         OpDecorate %buffer Binding 0
         %void = OpTypeVoid
         %fn = OpTypeFunction %void
         %bool = OpTypeBool
         %uint = OpTypeInt 32 0
         %p_index = OpTypePointer Input %uint
         %index = OpVariable %p_index Input
         %block = OpTypeStruct %uint
         %p_block = OpTypePointer StorageBuffer %block
         %p_uint = OpTypePointer StorageBuffer %uint
         %buffer = OpVariable %p_block StorageBuffer
         %zero = OpConstant %uint 0
         %one = OpConstant %uint 1
         %two = OpConstant %uint 2
         %release = OpConstant %uint 260
         %acquire = OpConstant %uint 258
         %1 = OpFunction %void None %fn
         %entry = OpLabel
         %i = OpLoad %uint %index
         %place = OpAccessChain %p_uint %buffer %zero
         {body}
         OpReturn
         OpFunctionEnd"
    ))
}

/// A kernel with so many branches after each other.
pub fn branches(count: usize) -> Result<Vec<u8>> {
    let mut body = String::new();
    for n in 0..count {
        write!(
            body,
            "%v{n} = OpLoad %uint %place
             %c{n} = OpULessThan %bool %v{n} %i
             OpSelectionMerge %m{n} None
             OpBranchConditional %c{n} %t{n} %m{n}
             %t{n} = OpLabel
             %s{n} = OpIAdd %uint %v{n} %i
             OpStore %place %s{n}
             OpBranch %m{n}
             %m{n} = OpLabel\n"
        )?;
    }
    kernel(&body)
}

/// A kernel with so many loops, each inside the one before.
pub fn loops(depth: usize) -> Result<Vec<u8>> {
    let (mut down, mut up) = (String::new(), String::new());
    for n in 0..depth {
        write!(
            down,
            "OpBranch %h{n}
             %h{n} = OpLabel
             OpLoopMerge %m{n} %n{n} None
             OpBranch %b{n}
             %b{n} = OpLabel
             %v{n} = OpLoad %uint %place
             %c{n} = OpULessThan %bool %v{n} %i
             OpBranchConditional %c{n} %d{n} %m{n}
             %d{n} = OpLabel\n"
        )?;
        up = format!(
            "OpBranch %n{n}
             %n{n} = OpLabel
             OpBranch %h{n}
             %m{n} = OpLabel\n{up}"
        );
    }
    kernel(&format!("{down}OpStore %place %i\n{up}"))
}

/// A kernel with so many pairs of arrive and wait.
pub fn pairs(count: usize) -> Result<Vec<u8>> {
    kernel(
        &"OpControlBarrierArriveEXT %two %two %release
          OpStore %place %i
          OpControlBarrierWaitEXT %two %two %acquire\n"
            .repeat(count),
    )
}

fn refused<T>(made: std::result::Result<T, Failure>, code: Code, exit: u8) -> Result<Failure> {
    let failure = made.err().context("it was compiled")?;
    ensure!(
        failure
            .diagnostics
            .iter()
            .any(|problem| problem.code == code)
            && failure.exit_code() == exit,
        "{failure}"
    );
    Ok(failure)
}

/// Two compilations in one process, a refusal between them.
fn bytes_are_the_same() -> Result<()> {
    let mut worker = Worker::new(isolation()?);
    let mut processes = Vec::new();
    for (kernel, gpu) in [("tiled_matmul", "gfx1201"), ("reduction", "sm_90")] {
        let fixture = Fixture::load(kernel)?;
        let output = compile(&fixture, gpu, Optimization::O2)?;
        let options = Options::new(target(gpu)?);
        let products = [Product::Assembly, Product::Bitcode, Product::Reflect];
        let made = worker.compile(&fixture.module()?, &options, &products, &mut ())?;
        let expected = [
            output.assembly()?.into_bytes(),
            output.bitcode(),
            output.reflect().into_bytes(),
        ];
        ensure!(made.products == expected, "{kernel} for {gpu} differs");
        ensure!(
            made.warnings == *output.warnings(),
            "{kernel}: the warnings differ"
        );
        refused(
            worker.compile(b"x", &options, &products, &mut ()),
            Code::BadLength,
            exit::INVALID,
        )?;
        processes.push(worker.process());
    }
    ensure!(
        processes[0].is_some() && processes[0] == processes[1],
        "not one process: {processes:?}"
    );
    Ok(())
}

fn threads_have_workers() -> Result<()> {
    let fixture = Fixture::load("reduction")?;
    let module = fixture.module()?;
    let expected = compile(&fixture, "gfx1100", Optimization::O2)?.assembly()?;
    let options = Options::new(target("gfx1100")?);
    let isolation = isolation()?;
    std::thread::scope(|scope| {
        let compile = || compile_isolated(&module, &options, &[Product::Assembly], &isolation);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(compile)).collect();
        for thread in threads {
            let made = thread.join().map_err(|_| anyhow::anyhow!("a panic"))??;
            ensure!(made.products == [expected.as_bytes()], "the code differs");
        }
        Ok(())
    })
}

fn signal(name: &str, process: u32) -> Result<()> {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status()?;
    ensure!(sent.success(), "no signal for {process}");
    Ok(())
}

/// And the next compilation has another process.
fn a_crash_is_a_bug() -> Result<()> {
    let module = Fixture::load("reduction")?.module()?;
    let options = Options::new(target("gfx1201")?);
    let products = [Product::Assembly];
    let mut worker = Worker::new(isolation()?);
    let first = worker.compile(&module, &options, &products, &mut ())?;
    signal("ABRT", worker.process().context("no process")?)?;
    let died = refused(
        worker.compile(&module, &options, &products, &mut ()),
        Code::Internal,
        exit::BUG,
    )?;
    ensure!(died.to_string().contains("signal: 6"), "{died}");
    let again = worker.compile(&module, &options, &products, &mut ())?;
    ensure!(again == first, "another process makes other code");
    signal("KILL", worker.process().context("no process")?)?;
    refused(
        worker.compile(&module, &options, &products, &mut ()),
        Code::WorkerLimit,
        exit::UNSUPPORTED,
    )?;
    Ok(())
}

fn time_is_limited() -> Result<()> {
    let limited = Isolation {
        time: Some(Duration::from_millis(1500)),
        ..isolation()?
    };
    let options = Options::new(target("gfx1201")?);
    let begin = Instant::now();
    let late = refused(
        compile_isolated(&branches(20_000)?, &options, &[Product::Assembly], &limited),
        Code::WorkerLimit,
        exit::UNSUPPORTED,
    )?;
    ensure!(late.to_string().contains("1.5 s"), "{late}");
    ensure!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
    Ok(())
}

fn memory_is_limited() -> Result<()> {
    let limited = Isolation {
        memory: Some(1 << 20),
        ..isolation()?
    };
    let options = Options::new(target("gfx1201")?);
    refused(
        compile_isolated(&branches(2_000)?, &options, &[Product::Assembly], &limited),
        Code::WorkerLimit,
        exit::UNSUPPORTED,
    )?;
    Ok(())
}

/// The program is killed while it waits for its worker: the worker ends, and no output is there.
fn the_owner_s_end_is_the_worker_s() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (module, output) = (folder.path().join("k.spv"), folder.path().join("k.s"));
    std::fs::write(&module, branches(20_000)?)?;
    let mut owner = Command::new(tools::splitbar()?)
        .arg("lower")
        .arg(&module)
        .args(["--target", "gfx1201", "-o"])
        .arg(&output)
        .stdin(Stdio::null())
        .spawn()?;
    let id = owner.id();
    let children = format!("/proc/{id}/task/{id}/children");
    let worker = until("a worker starts", || {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        text.split_whitespace().next().map(str::to_owned)
    })?;
    // Into the middle of the work.
    std::thread::sleep(Duration::from_millis(500));
    owner.kill()?;
    owner.wait()?;
    let process = format!("/proc/{worker}/stat");
    until("the worker ends", || {
        let stat = std::fs::read_to_string(Path::new(&process)).unwrap_or_default();
        // Gone, or a zombie that the first process of the system has yet to collect.
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    })?;
    let left: Vec<_> = std::fs::read_dir(folder.path())?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    ensure!(left == ["k.spv"], "left behind: {left:?}");
    Ok(())
}

/// Asks again until there is an answer, for some seconds.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("in vain: {what}")
}
