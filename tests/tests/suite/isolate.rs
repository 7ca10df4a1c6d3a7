//! Compilation in a worker process: the same bytes as in this process, limits, deaths, and owners
//! that end.

use crate::support::{always_split, assembled, compile, run, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::diagnostic::Code;
use splitbar::{Failure, Isolation, Optimization, Product, Source, Worker, compile_isolated, exit};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::tools;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A test of workers.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 13] = [
        ("bytes_are_the_same", bytes_are_the_same),
        ("threads_have_workers", threads_have_workers),
        ("other_releases_are_refused", other_releases_are_refused),
        ("a_crash_is_a_bug", a_crash_is_a_bug),
        ("time_is_limited", time_is_limited),
        ("memory_is_limited", memory_is_limited),
        (
            "the_owner_s_end_is_the_worker_s",
            the_owner_s_end_is_the_worker_s,
        ),
        ("every_command_has_limits", every_command_has_limits),
        ("limits_are_told_as_json", limits_are_told_as_json),
        ("tools_end_with_the_worker", tools_end_with_the_worker),
        ("no_folders_are_left", no_folders_are_left),
        (
            "long_compilations_name_the_pass",
            long_compilations_name_the_pass,
        ),
        (
            "the_worker_links_and_specializes",
            the_worker_links_and_specializes,
        ),
    ];
    tests
        .into_iter()
        .map(|(name, test)| trial(format!("isolate/{name}"), test))
        .collect()
}

pub(crate) fn isolation() -> Result<Isolation> {
    let mut isolation = Isolation::default();
    isolation.program = Some(tools::splitbar()?);
    Ok(isolation)
}

/// A kernel around `body`, which has the invocation's index `%i`, one word of a buffer at `%place`,
/// and the constants `%zero`, `%one` and `%two`.
pub(crate) fn kernel(body: &str) -> Result<Vec<u8>> {
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
pub(crate) fn branches(count: usize) -> Result<Vec<u8>> {
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
pub(crate) fn loops(depth: usize) -> Result<Vec<u8>> {
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
pub(crate) fn pairs(count: usize) -> Result<Vec<u8>> {
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
        let options = always_split(gpu)?;
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
            Code::BadMagic,
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
    let options = always_split("gfx1100")?;
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

/// A worker that greets with another release, and a program that does not greet.
#[cfg(unix)]
fn other_releases_are_refused() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    let module = Fixture::load("reduction")?.module()?;
    let options = always_split("gfx1201")?;
    for (says, words) in [
        ("splitbar worker 0.0.1", "is of splitbar 0.0.1"),
        ("12345678", "does not answer as splitbar"),
    ] {
        let program = folder.path().join("splitbar");
        std::fs::write(
            &program,
            format!("#!/bin/sh\necho '{says}'\ncat > /dev/null\n"),
        )?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        let mut isolation = Isolation::default();
        isolation.program = Some(program);
        let made = compile_isolated(&module[..], &options, &[Product::Assembly], &isolation);
        let failure = made.err().context("it was taken for a worker")?;
        ensure!(failure.to_string().contains(words), "{failure}");
        let problem = failure.diagnostics.iter().next().context("no problem")?;
        ensure!(problem.code == Code::WorkerMissing && problem.help.is_some());
    }
    Ok(())
}

#[cfg(not(unix))]
fn other_releases_are_refused() -> Result<()> {
    Err(splitbar_tests::harness::Missing::new("no shell").into())
}

/// And the next compilation has another process.
fn a_crash_is_a_bug() -> Result<()> {
    let module = Fixture::load("reduction")?.module()?;
    let options = always_split("gfx1201")?;
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
    let mut limited = isolation()?;
    limited.time = Some(Duration::from_millis(1500));
    let options = always_split("gfx1201")?;
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
    let mut limited = isolation()?;
    limited.memory = Some(1 << 20);
    let options = always_split("gfx1201")?;
    refused(
        compile_isolated(&branches(2_000)?, &options, &[Product::Assembly], &limited),
        Code::WorkerLimit,
        exit::UNSUPPORTED,
    )?;
    Ok(())
}

/// The program is killed while it waits for its worker: the worker ends, and there is no output.
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
    let worker = child(owner.id())?;
    // It is a copy, which has the owner's arguments; only Linux makes some.
    if cfg!(target_os = "linux") {
        let arguments = |process: &str| std::fs::read(format!("/proc/{process}/cmdline"));
        let (own, its) = (arguments(&owner.id().to_string())?, arguments(&worker)?);
        ensure!(own == its, "the worker was started anew");
    }
    // Into the middle of the work.
    std::thread::sleep(Duration::from_millis(500));
    owner.kill()?;
    owner.wait()?;
    ends(&worker)?;
    let left: Vec<_> = std::fs::read_dir(folder.path())?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    ensure!(left == ["k.spv"], "left behind: {left:?}");
    Ok(())
}

/// Checks that the process with this number ends.
fn ends(process: &str) -> Result<()> {
    let stat = format!("/proc/{process}/stat");
    until(&format!("process {process} ends"), || {
        let stat = std::fs::read_to_string(Path::new(&stat)).unwrap_or_default();
        // Gone, or a zombie that the first process of the system has yet to collect.
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    })
}

/// The first child of a process.
fn child(process: u32) -> Result<String> {
    let children = format!("/proc/{process}/task/{process}/children");
    until("a worker starts", || {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        text.split_whitespace().next().map(str::to_owned)
    })
}

/// Less time than any process needs to start; and work without an end.
fn every_command_has_limits() -> Result<()> {
    let kernel = Fixture::load("reduction")?.module_path();
    let kernel = kernel.display().to_string();
    let folder = tempfile::tempdir()?;
    let assembly = folder.path().join("k.ptx").display().to_string();
    let large = folder.path().join("large.spv").display().to_string();
    std::fs::write(&large, branches(2_000)?)?;
    let lower = ["lower", &kernel, "--target", "sm_80", "-o", &assembly];
    ensure!(run(&lower, b"", false)?.code == Some(0));
    let sim = ["sim", &kernel, "--target", "sm_80", "--groups", "1,1,1"];
    let endless = [
        "--buffer=0:0=zeros:2048",
        "--buffer=0:1=zeros:2048",
        "--buffer=0:2=zeros:2048",
        "--schedules=4294967295",
    ];
    let endless = [&sim[..], &endless].concat();
    let compiled = ["sim", &large, "--target", "sm_80", "--groups", "1,1,1"];
    let compiled = [&compiled[..], &["--buffer=0:0=zeros:4"]].concat();
    let at_once = ["--time-limit", "0.000001"];
    for (command, limit, says) in [
        (&lower[..], at_once, "within 0.000001 s"),
        (&["check", &kernel], at_once, "within 0.000001 s"),
        (
            &["audit", &assembly, "--target", "sm_80"],
            at_once,
            "within 0.000001 s",
        ),
        (
            &["model", &kernel, "--target", "sm_80"],
            at_once,
            "within 0.000001 s",
        ),
        (&sim, at_once, "within 0.000001 s"),
        (&endless, ["--time-limit", "2"], "within 2 s"),
        (&compiled, ["--memory-limit", "1"], "ran out of memory"),
    ] {
        let arguments = [command, &limit].concat();
        let begin = Instant::now();
        let ran = run(&arguments, b"", false)?;
        ensure!(
            ran.code == Some(3) && ran.stderr.contains("SB0387") && ran.stderr.contains(says),
            "{arguments:?}: {:?}\n{}",
            ran.code,
            ran.stderr
        );
        ensure!(ran.stdout.is_empty(), "{arguments:?}: output");
        let took = begin.elapsed();
        ensure!(took < Duration::from_secs(30), "{arguments:?}: {took:?}");
    }
    Ok(())
}

/// Standard error then has nothing else, whatever the dying process prints.
fn limits_are_told_as_json() -> Result<()> {
    let large = branches(2_000)?;
    let sim = ["sim", "-", "--target", "sm_80", "--groups", "1,1,1"];
    let sim = [&sim[..], &["--buffer=0:0=zeros:4", "--format=json"]].concat();
    for arguments in [
        [&sim[..], &["--memory-limit", "1"]].concat(),
        [&sim[..], &["--time-limit", "0.000001"]].concat(),
        vec!["check", "-", "--format=json", "--time-limit=0.000001"],
    ] {
        let ran = run(&arguments, &large, false)?;
        let said: Vec<serde_json::Value> = ran
            .stderr
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{arguments:?}: {}", ran.stderr))?;
        ensure!(
            said.len() == 1 && said[0]["code"] == "SB0387" && ran.code == Some(3),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    Ok(())
}

/// A tool that does not end: it ends with the worker, whichever process is killed.
fn tools_end_with_the_worker() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (tool, number) = (folder.path().join("tool"), folder.path().join("number"));
    let text = format!(
        "#!/bin/sh\necho $$ > {0}.new\nmv {0}.new {0}\nexec sleep 1000\n",
        number.display()
    );
    std::fs::write(&tool, text)?;
    #[cfg(unix)]
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let kernel = Fixture::load("reduction")?.module_path();
    // A compilation with ptxas, and a command that links.
    let cubin = [
        "lower",
        "--target=sm_90",
        "--emit=cubin",
        "--time-limit=600",
    ];
    let buffers = [
        "--buffer=0:0=zeros:2048",
        "--buffer=0:1=zeros:2048",
        "--buffer=0:2=zeros:2048",
    ];
    let sim = ["sim", "--target=gfx1100", "--groups=1,1,1"];
    let sim = [&sim[..], &buffers].concat();
    for (arguments, kills_owner) in [
        (&cubin[..], true),
        (&cubin, false),
        (&sim, true),
        (&sim, false),
    ] {
        let _ = std::fs::remove_file(&number);
        let mut owner = Command::new(tools::splitbar()?)
            .args(arguments)
            .arg(&kernel)
            .env("SPLITBAR_PTXAS", &tool)
            .env("SPLITBAR_LLD", &tool)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let worker = child(owner.id())?;
        let running = until("the tool starts", || std::fs::read_to_string(&number).ok())?;
        if kills_owner {
            owner.kill()?;
            owner.wait()?;
        } else {
            signal("KILL", worker.parse()?)?;
            let status = owner.wait()?;
            ensure!(status.code() == Some(3), "{arguments:?}: {status}");
        }
        ends(&worker)?;
        ends(running.trim())?;
    }
    // The limit is reached while the tool runs.
    let _ = std::fs::remove_file(&number);
    let mut options = always_split("sm_90")?;
    options.ptxas = Some(tool);
    let mut limited = isolation()?;
    limited.time = Some(Duration::from_secs(5));
    refused(
        compile_isolated(
            &Fixture::load("reduction")?.module()?,
            &options,
            &[Product::Cubin],
            &limited,
        ),
        Code::WorkerLimit,
        exit::UNSUPPORTED,
    )?;
    ends(std::fs::read_to_string(&number)?.trim())
}

/// Nothing is left of the files of a tool that does not end: signals, and the limit on time.
#[cfg(unix)]
fn no_folders_are_left() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (tool, files) = (folder.path().join("tool"), folder.path().join("files"));
    std::fs::write(&tool, "#!/bin/sh\nexec sleep 1000\n")?;
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    std::fs::create_dir(&files)?;
    let count = || std::fs::read_dir(&files).map_or(0, Iterator::count);
    let kernel = Fixture::load("reduction")?.module_path();
    let lower = ["lower", "--target=gfx1100", "--emit=hsaco"];
    let sim = [
        "sim",
        "--target=gfx1100",
        "--groups=1,1,1",
        "--buffer=0:0=zeros:2048",
        "--buffer=0:1=zeros:2048",
        "--buffer=0:2=zeros:2048",
    ];
    for arguments in [&lower[..], &sim] {
        for name in ["INT", "TERM", "none"] {
            let limit = match name {
                "none" => "--time-limit=5",
                _ => "--time-limit=600",
            };
            // What is started in the background of a shell ignores SIGINT, and so do its children.
            let mut owner = Command::new("env")
                .arg("--default-signal=INT,TERM")
                .arg(tools::splitbar()?)
                .args(arguments)
                .arg(limit)
                .arg(&kernel)
                .env("SPLITBAR_LLD", &tool)
                .env("TMPDIR", &files)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            until("the tool has files", || (count() > 0).then_some(()))?;
            if name != "none" {
                signal(name, owner.id())?;
            }
            let ended = until("it ends", || owner.try_wait().ok().flatten());
            if ended.is_err() {
                owner.kill()?;
            }
            let status = ended.with_context(|| format!("{arguments:?} {name}"))?;
            ensure!(!status.success(), "{arguments:?} {name}: {status}");
            until("its files go", || (count() == 0).then_some(()))
                .with_context(|| format!("{arguments:?} {name}"))?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn no_folders_are_left() -> Result<()> {
    Ok(())
}

/// The pass is named in the note on a stage that takes long, and in the diagnostic at the limit.
fn long_compilations_name_the_pass() -> Result<()> {
    let lower = [
        "lower",
        "-",
        "--target=gfx1201",
        "--time-limit=8",
        "--verbose",
    ];
    let ran = run(&lower, &loops(400)?, false)?;
    ensure!(ran.code == Some(3), "{:?}: {}", ran.code, ran.stderr);
    let says = |line: &str| line.contains("LLVM's pass `");
    let note = ran
        .stderr
        .lines()
        .find(|line| line.starts_with("note: stage `"));
    ensure!(note.is_some_and(says), "the note: {}", ran.stderr);
    let reason = ran
        .stderr
        .lines()
        .any(|line| says(line) && line.contains("was running"));
    ensure!(reason, "the reason: {}", ran.stderr);
    Ok(())
}

/// The worker reads several modules and values, and their errors are reported as without a worker.
fn the_worker_links_and_specializes() -> Result<()> {
    let module = Fixture::load("spec_size")?.module()?;
    let options = always_split("sm_80")?;
    let isolation = isolation()?;
    let compile = |modules: Vec<Vec<u8>>, setting: &str| {
        let settings = vec![setting.parse().map_err(anyhow::Error::msg)?];
        let source = Source::new(modules, settings);
        Ok::<_, anyhow::Error>(compile_isolated(
            source,
            &options,
            &[Product::Reflect],
            &isolation,
        ))
    };
    let made = compile(vec![module.clone()], "0=96")??;
    let reflection: serde_json::Value = serde_json::from_slice(&made.products[0])?;
    let size = &reflection[0]["workgroup_size"];
    ensure!(*size == serde_json::json!([96, 1, 1]), "{size}");
    refused(
        compile(vec![module.clone()], "0=1.5")?,
        Code::BadSpecValue,
        exit::USAGE,
    )?;
    refused(
        compile(vec![module, b"x".to_vec()], "0=96")?,
        Code::BadMagic,
        exit::INVALID,
    )?;
    Ok(())
}

/// Repeats `ask` until it has an answer, for some seconds.
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
