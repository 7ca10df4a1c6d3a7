//! Compiling in process, running the command line, and the tools that tests need.

use anyhow::{Context, ensure};
use splitbar::diagnostic::{Code, Severity};
use splitbar::{Choice, Failure, Optimization, Options, Output, Target};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::harness::Missing;
pub(crate) use splitbar_tests::harness::trial;
use splitbar_tests::tools::{self, Ptxas};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The target of this name, which the tests take for granted.
pub(crate) fn target(name: &str) -> anyhow::Result<&'static Target> {
    Target::by_name(name).ok_or_else(|| anyhow::anyhow!("no target is called {name}"))
}

/// Options that split every pair if a strategy supports it, even if that does not pay off: most
/// tests are about split pairs.
pub(crate) fn always_split(target_name: &str) -> anyhow::Result<Options> {
    Ok(always_split_on(target(target_name)?))
}

/// As [`always_split`], for a known target.
pub(crate) fn always_split_on(target: &'static Target) -> Options {
    let mut options = Options::new(target);
    options.choice = Choice::AlwaysSplit;
    options
}

/// Compiles a fixture; diagnostics become the error's text.
pub(crate) fn compile(
    fixture: &Fixture,
    target_name: &str,
    optimization: Optimization,
) -> anyhow::Result<Output> {
    compile_bytes(&fixture.module()?, target_name, |options| {
        options.optimization = optimization;
    })
}

/// Compiles `bytes` with every pair split. `change` changes the options.
pub(crate) fn compile_bytes(
    bytes: &[u8],
    target_name: &str,
    change: impl FnOnce(&mut Options),
) -> anyhow::Result<Output> {
    let mut options = always_split(target_name)?;
    change(&mut options);
    splitbar::Compiler::new(&options)
        .compile(bytes)
        .map_err(|failure| anyhow::anyhow!("{target_name}: {failure}"))
}

/// Compiles with `options`, or, where the strategy cannot be had, as the planner likes.
pub(crate) fn compiled(bytes: &[u8], mut options: Options) -> anyhow::Result<Output> {
    let refused = match splitbar::Compiler::new(&options).compile(bytes) {
        Ok(output) => return Ok(output),
        Err(refused) => refused,
    };
    let unsupported = |code| code == Code::UnsupportedStrategy;
    if !refused.diagnostics.iter().any(|d| unsupported(d.code)) {
        return Err(errors(&refused));
    }
    options.strategy = None;
    options.cluster = None;
    splitbar::Compiler::new(&options)
        .compile(bytes)
        .map_err(|refused| errors(&refused))
}

/// The errors among the diagnostics.
pub(crate) fn errors(refused: &Failure) -> anyhow::Error {
    let all = refused.diagnostics.iter();
    let errors: Vec<String> = all
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| format!("{problem}: {}", problem.reasons.join("; ")))
        .collect();
    anyhow::anyhow!("{}", errors.join("\n"))
}

/// Checks that a generated file of the repository is up to date. `cargo xtask bless` writes it;
/// nothing else writes there.
pub(crate) fn confirm(path: &Path, text: &str) -> anyhow::Result<()> {
    if std::env::var_os("SPLITBAR_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    let blessed = std::fs::read_to_string(path)
        .with_context(|| format!("{}; `cargo xtask bless` writes it", path.display()))?;
    ensure!(
        text == blessed,
        "{} is not what the tests say (`cargo xtask bless` accepts it)\n{}",
        path.display(),
        pretty_assertions::StrComparison::new(&blessed, text)
    );
    Ok(())
}

/// The instruction in a line of assembly, its words one space apart; empty where there is none. A
/// semicolon ends instructions of PTX and begins comments of AMDGPU.
pub(crate) fn instruction(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    let code = code.split(';').next().unwrap_or_default();
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A module from its text.
pub(crate) fn assembled(text: &str) -> anyhow::Result<Vec<u8>> {
    let words = told(splitbar_passes::module::assemble(text))?.words;
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// Diagnostics as an error.
pub(crate) fn told<T>(result: Result<T, splitbar::diagnostic::Diagnostics>) -> anyhow::Result<T> {
    result.map_err(|diagnostics| anyhow::anyhow!("{diagnostics}"))
}

/// Returns true if the target is NVIDIA's, by its name.
pub(crate) fn is_nvptx(target_name: &str) -> bool {
    target_name.starts_with("sm_")
}

/// Returns true if the simulator runs code of a target.
pub(crate) fn is_simulated(target_name: &str) -> bool {
    is_nvptx(target_name) || splitbar_sim::amdgpu::Isa::by_name(target_name).is_some()
}

/// A ptxas that supports the GPU.
///
/// # Errors
/// [`Missing`].
pub(crate) fn ptxas(gpu: &str) -> Result<&'static Ptxas, Missing> {
    all_ptxas(gpu).map(|mut tools| tools.remove(0))
}

/// Every ptxas that supports the GPU; at least one.
///
/// # Errors
/// [`Missing`].
pub(crate) fn all_ptxas(gpu: &str) -> Result<Vec<&'static Ptxas>, Missing> {
    static FOUND: OnceLock<Vec<Ptxas>> = OnceLock::new();
    let found = FOUND.get_or_init(tools::ptxas);
    let tools: Vec<&Ptxas> = found.iter().filter(|tool| tool.knows(gpu)).collect();
    if tools.is_empty() {
        let variable = tools::PTXAS_VARIABLE;
        return Err(Missing::new(format!(
            "no ptxas for {gpu} (name one in {variable})"
        )));
    }
    Ok(tools)
}

/// Checks that this ptxas accepts the text without a performance warning.
pub(crate) fn assembles(tool: &Ptxas, assembly: &str, gpu: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&ptx, assembly)?;
    let said = tool
        .assemble(&ptx, gpu, &cubin)
        .map_err(anyhow::Error::msg)?;
    ensure!(!said.to_lowercase().contains("performance loss"), "{said}");
    Ok(())
}

/// Checks that code for the target can be linked, so that the simulator can run it: AMDGPU code
/// needs a linker.
///
/// # Errors
/// [`Missing`].
pub(crate) fn linkable(target_name: &str) -> Result<(), Missing> {
    // Found by linking nothing.
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = || {
        let fixture = Fixture::load("one_wave");
        fixture
            .and_then(|fixture| compile(&fixture, "gfx1100", Optimization::O0))
            .is_ok_and(|output| match output.hsaco() {
                Ok(_) => true,
                Err(problems) => !problems
                    .iter()
                    .any(|p| p.code == splitbar::diagnostic::Code::LinkerMissing),
            })
    };
    if is_nvptx(target_name) || *FOUND.get_or_init(found) {
        Ok(())
    } else {
        Err(Missing::new("no lld (name one in SPLITBAR_LLD)"))
    }
}

/// The result of a run of the command line.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: String,
}

/// Runs the command line with `stdin` on its standard input.
pub(crate) fn run(arguments: &[&str], stdin: &[u8], in_process: bool) -> anyhow::Result<Ran> {
    let mut command = Command::new(tools::splitbar()?);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if in_process {
        // No child that shields us: a crash of the compiler is seen as a signal.
        command.env("SPLITBAR_IN_PROCESS", "1");
    }
    let mut child = command.spawn()?;
    let mut pipe = child.stdin.take();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(mut pipe) = pipe.take() {
                // A command that refuses its arguments reads nothing.
                let _ = pipe.write_all(stdin);
            }
        });
        child.wait_with_output()
    })?;
    Ok(Ran {
        code: result.status.code(),
        stdout: result.stdout,
        stderr: String::from_utf8_lossy(&result.stderr).into_owned(),
    })
}

/// Runs a command, and wants success.
pub(crate) fn done(command: &mut Command) -> anyhow::Result<std::process::Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let ran = command.output().with_context(|| program.clone())?;
    ensure!(
        ran.status.success(),
        "{program}: {}\n{}{}",
        ran.status,
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
    Ok(ran)
}

/// The output of `cargo xtask COMMAND` in `folder`, with the tested profile.
pub(crate) fn made_by_xtask(command: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let program = tools::splitbar()?;
    let profile = program
        .parent()
        .and_then(Path::file_name)
        .context("no profile")?;
    let profile = profile.to_string_lossy().replace("debug", "dev");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = done(
        Command::new(cargo)
            .args(["run", "--quiet", "--package", "xtask", "--", command])
            .args(["--unified", "--profile", &profile, "--output"])
            .arg(folder)
            .current_dir(splitbar_tests::fixture::root()),
    )?;
    let said = String::from_utf8(ran.stdout)?;
    let made = said.lines().last();
    let made = made.with_context(|| format!("cargo xtask {command} names nothing"))?;
    Ok(made.into())
}

/// `sim --timing` on gfx1201 of `module`, which is a form of `tiled_matmul`.
pub(crate) fn timed_matmul(module: &str) -> [&str; 15] {
    [
        "sim",
        module,
        "--target",
        "gfx1201",
        "--groups",
        "1,1,1",
        "--push",
        "400000004000000010000000",
        "--buffer",
        "0:0=seq:f32:1024",
        "--buffer",
        "0:1=seq:f32:1024",
        "--buffer",
        "0:2=zeros:16384",
        "--timing",
    ]
}
