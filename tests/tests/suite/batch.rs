//! `splitbar batch`: its outputs are the same as those of `lower`, even after an interruption, and
//! build systems rebuild only changed files.

use crate::cli::expect;
use crate::support::{Ran, assembled, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::harness;
use splitbar_tests::{corpus, tools};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A test of batches.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 11] = [
        ("outputs_are_those_of_lower", outputs_are_those_of_lower),
        ("jobs_have_arguments", jobs_have_arguments),
        ("wrong_jobs_are_usage_errors", wrong_jobs_are_usage_errors),
        ("nothing_is_replaced", nothing_is_replaced),
        ("a_failure_ends_it_or_not", a_failure_ends_it_or_not),
        ("interrupted_runs_go_on", interrupted_runs_go_on),
        ("killed_workers_lose_nothing", killed_workers_lose_nothing),
        ("late_jobs_are_not_kept", late_jobs_are_not_kept),
        ("ninja_makes_what_changed", ninja_makes_what_changed),
        ("cmake_makes_what_changed", cmake_makes_what_changed),
        ("page_runs", page_runs),
    ];
    let trials = tests.into_iter();
    let trials = trials.map(|(name, test)| trial(format!("batch/{name}"), test));
    trials.collect()
}

/// A folder with modules, and one for outputs.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// With these fixtures, each in a folder below `in` as `PATH.spv`.
    fn with(fixtures: &[(&str, &str)]) -> Result<Place> {
        let folder = tempfile::tempdir()?;
        for (path, kernel) in fixtures {
            put(
                &folder.path().join(format!("in/{path}.spv")),
                &Fixture::load(kernel)?.module()?,
            )?;
        }
        Ok(Place { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// `splitbar batch INPUT -o OUT MORE`.
    fn batch(&self, input: &str, out: &str, more: &[&str], code: i32) -> Result<Ran> {
        let (input, out) = (self.text(input), self.text(out));
        expect(&[&["batch", &input, "-o", &out], more].concat(), b"", code)
    }

    fn summary(&self, out: &str) -> Result<Value> {
        let text = std::fs::read(self.path(out).join("summary.json"))?;
        Ok(serde_json::from_slice(&text)?)
    }
}

fn put(file: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::create_dir_all(file.parent().context("no folder")?)?;
    Ok(std::fs::write(file, bytes)?)
}

/// Every file below `top` but for the store and the lock, by its path there.
fn files(top: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let (mut all, mut open) = (BTreeMap::new(), vec![top.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir()? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with(".store") {
                open.push(path);
            } else if path.is_file() && !path.ends_with(".lock") {
                all.insert(path.strip_prefix(top)?.to_owned(), std::fs::read(&path)?);
            }
        }
    }
    Ok(all)
}

/// The row `name` of the table: jobs, the six results, from the store.
fn row(ran: &Ran, name: &str) -> Result<Vec<usize>> {
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    let line = line.with_context(|| format!("no row {name}:\n{text}"))?;
    let cells = line.split_whitespace().skip(1);
    Ok(cells.map(str::parse).collect::<Result<_, _>>()?)
}

fn outputs_are_those_of_lower() -> Result<()> {
    let place = Place::with(&[("scan", "scan"), ("deep/er/sum", "reduction")])?;
    put(&place.path("in/notes.txt"), b"no module")?;
    let targets = ["--targets", "gfx1201,sm_90"];
    let kinds = ["--", "--emit", "asm", "--emit", "reflect", "-O1"];
    let all = [&targets[..], &kinds].concat();
    let ran = place.batch("in", "out", &all, 0)?;
    ensure!(row(&ran, "gfx1201")? == [2, 2, 0, 0, 0, 0, 0, 0]);
    ensure!(row(&ran, "all")? == [4, 4, 0, 0, 0, 0, 0, 0]);
    let made = files(&place.path("out"))?;
    ensure!(made.len() == 9, "{:?}", made.keys());
    for (name, target, extension) in [
        ("scan", "gfx1201", "s"),
        ("deep/er/sum", "sm_90", "ptx"),
        ("deep/er/sum", "gfx1201", "s"),
    ] {
        let module = place.text(&format!("in/{name}.spv"));
        for (kind, extension) in [("asm", extension), ("reflect", "json")] {
            // The assembly is the same with measurements and without.
            let lower = ["lower", &module, "--target", target, "-O1", "--emit", kind];
            let alone = expect(&lower, b"", 0)?.stdout;
            let file = format!("{target}/{name}.{extension}");
            ensure!(made.get(Path::new(&file)) == Some(&alone), "{file}");
        }
    }
    // Again: nothing is compiled, and no file is written.
    let before = place.path("out/sm_90/scan.ptx").metadata()?.modified()?;
    let ran = place.batch("in", "out", &all, 0)?;
    ensure!(row(&ran, "all")? == [4, 4, 0, 0, 0, 0, 0, 4]);
    ensure!(place.path("out/sm_90/scan.ptx").metadata()?.modified()? == before);
    ensure!(files(&place.path("out"))? == made);
    // Other options are other results.
    let ran = place.batch(
        "in",
        "out",
        &[&all[..], &["--strategy", "fused"]].concat(),
        0,
    )?;
    ensure!(row(&ran, "all")? == [4, 4, 0, 0, 0, 0, 0, 0]);
    Ok(())
}

fn jobs_have_arguments() -> Result<()> {
    let place = Place::with(&[("scan", "scan")])?;
    let jobs = r#"[
        {"module": "in/scan.spv", "targets": ["gfx1201", "gfx1100"]},
        {"module": "in/scan.spv", "name": "x/fused", "targets": ["gfx1201"],
         "arguments": ["--strategy", "fused", "--emit", "plan"]},
        {"module": "in/scan.spv", "name": "default"}
    ]"#;
    put(&place.path("jobs.json"), jobs.as_bytes())?;
    let more = ["--targets", "sm_90", "-j", "2", "--format", "json"];
    let depfile = place.text("out.d");
    let ran = place.batch(
        "jobs.json",
        "out",
        &[&more[..], &["-MD", "-MF", &depfile]].concat(),
        0,
    )?;
    let summary = place.summary("out")?;
    ensure!(serde_json::from_slice::<Value>(&ran.stdout)? == summary);
    let outputs: Vec<&Value> = summary["jobs"]
        .as_array()
        .context("no jobs")?
        .iter()
        .map(|job| &job["outputs"][0])
        .collect();
    ensure!(
        outputs
            == [
                "gfx1201/in/scan.s",
                "gfx1100/in/scan.s",
                "gfx1201/x/fused.plan",
                "sm_90/default.ptx"
            ],
        "{outputs:?}"
    );
    let module = place.text("in/scan.spv");
    let lower = ["lower", &module, "--target", "gfx1201"];
    let fused = [&lower[..], &["--strategy", "fused", "--emit", "plan"]].concat();
    let alone = expect(&fused, b"", 0)?.stdout;
    ensure!(std::fs::read(place.path("out/gfx1201/x/fused.plan"))? == alone);
    let rule = std::fs::read_to_string(&depfile)?;
    let (jobs, summary) = (place.text("jobs.json"), place.text("out/summary.json"));
    ensure!(
        rule == format!("{summary}: \\\n  {module} \\\n  {jobs}\n"),
        "{rule}"
    );
    Ok(())
}

fn wrong_jobs_are_usage_errors() -> Result<()> {
    let place = Place::with(&[("scan", "scan")])?;
    let module = r#""module": "in/scan.spv""#;
    for (jobs, says) in [
        ("[]", "there are no jobs"),
        ("{", "jobs.json"),
        (r#"[{"name": "a"}]"#, "missing field `module`"),
        (
            &format!(r#"[{{{module}, "emit": "asm"}}]"#),
            "unknown field `emit`",
        ),
        (
            &format!(r#"[{{{module}, "name": "../a"}}]"#),
            "cannot be the name",
        ),
        (
            &format!(r#"[{{{module}, "name": "/a"}}]"#),
            "cannot be the name",
        ),
        (r#"[{"module": "../scan.spv"}]"#, "cannot be the name"),
        (
            &format!(r#"[{{{module}}}, {{{module}}}]"#),
            "rename one of them",
        ),
        (
            &format!(r#"[{{{module}, "name": "a/b"}}, {{{module}, "name": "a/.//b"}}]"#),
            "two jobs for gfx1201 have the name a/b",
        ),
        (
            &format!(r#"[{{{module}, "targets": ["gfx99"]}}]"#),
            "no such target",
        ),
        (
            &format!(r#"[{{{module}, "targets": []}}]"#),
            "has no target",
        ),
        (
            &format!(r#"[{{{module}, "arguments": ["-o", "x"]}}]"#),
            "--output cannot",
        ),
        (
            &format!(r#"[{{{module}, "arguments": ["--emit=asm=x"]}}]"#),
            "the file of --emit",
        ),
        (
            &format!(r#"[{{{module}, "arguments": ["--poem"]}}]"#),
            "--poem",
        ),
        (
            &format!(r#"[{{{module}, "arguments": ["--time-limit", "1"]}}]"#),
            "the limits",
        ),
        (
            &format!(r#"[{{{module}, "arguments": ["-"]}}]"#),
            "cannot be an argument",
        ),
        (
            &format!(r#"[{{{module}, "arguments": ["--emit", "ptx"]}}]"#),
            "has no PTX",
        ),
        (
            &format!(r#"[{{{module}, "arguments": ["--help"]}}]"#),
            "in/scan.spv",
        ),
    ] {
        put(&place.path("jobs.json"), jobs.as_bytes())?;
        let ran = place.batch("jobs.json", "out", &["--targets", "gfx1201"], 2)?;
        ensure!(ran.stderr.contains(says), "{jobs}: {}", ran.stderr);
        ensure!(!place.path("out").exists(), "{jobs}: something was made");
    }
    place.batch("in", "out", &[], 2)?;
    place.batch("none", "out", &["--targets", "sm_90"], 2)?;
    Ok(())
}

/// Files that are read are not written, and no file is written twice.
fn nothing_is_replaced() -> Result<()> {
    let place = Place::with(&[("scan", "scan")])?;
    let jobs = r#"[{"module": "in/scan.spv"}]"#;
    put(&place.path("summary.json"), jobs.as_bytes())?;
    let before = files(&place.path(""))?;
    let module = place.text("in/scan.spv");
    let summary = place.text("out/./summary.json");
    for (input, out, file, says) in [
        ("summary.json", ".", "x.d", "would replace this input"),
        ("in", "out", &*module, "would replace this input"),
        ("in", "out", &*summary, "are the same file"),
    ] {
        let file = ["--targets", "gfx1201", "-MD", "-MF", file];
        let ran = place.batch(input, out, &file, 2)?;
        ensure!(ran.stderr.contains(says), "{input}: {}", ran.stderr);
        ensure!(files(&place.path(""))? == before, "{input}: files changed");
    }
    Ok(())
}

fn a_failure_ends_it_or_not() -> Result<()> {
    let kernels = [("a", "scan"), ("c", "scan"), ("d", "reduction")];
    let place = Place::with(&kernels)?;
    let targets = ["--targets", "gfx1201"];
    put(&place.path("in/b.spv"), &Fixture::load("scan")?.module()?)?;
    place.batch("in", "out", &targets, 0)?;
    put(&place.path("in/b.spv"), b"no module")?;
    // A file that cannot be read is one more failure.
    std::fs::remove_file(place.path("in/d.spv"))?;
    std::fs::create_dir_all(place.path("in/d.spv"))?;
    let jobs = r#"[{"module": "in/a.spv", "name": "a"}, {"module": "in/b.spv", "name": "b"},
                   {"module": "in/c.spv", "name": "c"}, {"module": "in/d.spv", "name": "d"}]"#;
    put(&place.path("jobs.json"), jobs.as_bytes())?;
    let one = [&targets[..], &["-j", "1"]].concat();
    let ran = place.batch("jobs.json", "out", &one, 1)?;
    ensure!(row(&ran, "gfx1201")? == [4, 1, 1, 0, 0, 0, 2, 1]);
    ensure!(ran.stderr.contains("error[SB"), "{}", ran.stderr);
    ensure!(!place.path("out/gfx1201/b.s").exists(), "a stale output");
    let going = [&one[..], &["--keep-going"]].concat();
    let ran = place.batch("jobs.json", "out", &going, 1)?;
    // What is invalid stays so, and the store has it.
    ensure!(row(&ran, "gfx1201")? == [4, 2, 1, 1, 0, 0, 0, 3]);
    let summary = place.summary("out")?;
    ensure!(summary["counts"]["invalid"] == 1, "{summary}");
    ensure!(
        summary["jobs"][1]["diagnostics"][0]["file"] == "in/b.spv",
        "{summary}"
    );
    ensure!(summary["jobs"][3]["result"] == "wrong usage", "{summary}");
    Ok(())
}

/// Some modules of the corpus below `in`, so many that a batch needs some time.
fn with_corpus(place: &Place, count: usize) -> Result<()> {
    let modules = corpus::modules()?;
    let some = modules.iter().step_by(modules.len() / count).take(count);
    for (number, (_, bytes)) in some.enumerate() {
        put(&place.path(&format!("in/{number:03}.spv")), bytes)?;
    }
    Ok(())
}

fn start(place: &Place, out: &str) -> Result<Child> {
    let mut command = Command::new(tools::splitbar()?);
    command.arg("batch").arg(place.path("in"));
    command.args(["--targets", "gfx1201", "--keep-going", "-j", "2", "-o"]);
    command.arg(place.path(out)).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?)
}

/// Waits until the store has so many results. A file that is being written is none: a batch that
/// is killed then does not keep it.
fn wait_for(store: &Path, count: usize) -> Result<()> {
    let begin = Instant::now();
    let kept = || {
        let folders = store.read_dir().into_iter().flatten().flatten();
        let folders = folders.filter_map(|folder| folder.path().read_dir().ok());
        let names = folders.flatten().flatten().map(|file| file.file_name());
        names
            .filter(|name| !name.to_string_lossy().starts_with('.'))
            .count()
    };
    while kept() < count {
        ensure!(begin.elapsed() < Duration::from_secs(120), "no results");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn interrupted_runs_go_on() -> Result<()> {
    let place = Place::with(&[])?;
    with_corpus(&place, 24)?;
    let mut first = start(&place, "out")?;
    wait_for(&place.path("out/.store"), 5)?;
    first.kill()?;
    first.wait()?;
    ensure!(
        !place.path("out/summary.json").exists(),
        "it was not interrupted"
    );
    // As a process leaves it that is killed while it writes an output.
    put(&place.path("out/gfx1201/.splitbar-batch-left"), b"half")?;
    let args = ["--targets", "gfx1201", "--keep-going"];
    let resumed = run_any(&place, "out", &args)?;
    let stored = row(&resumed, "gfx1201")?[7];
    ensure!((5..24).contains(&stored), "{stored} from the store");
    let whole = run_any(&place, "whole", &args)?;
    ensure!(row(&whole, "gfx1201")?[7] == 0);
    same_files(&place)
}

/// Checks that `out` and `whole` have the same files.
fn same_files(place: &Place) -> Result<()> {
    let (out, whole) = (files(&place.path("out"))?, files(&place.path("whole"))?);
    for path in out.keys().chain(whole.keys()) {
        let text = |bytes: Option<&Vec<u8>>| {
            bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let (one, other) = (out.get(path), whole.get(path));
        if one != other {
            let (one, other) = (text(one), text(other));
            bail!("{}:\n{one:?}\nand\n{other:?}", path.display());
        }
    }
    Ok(())
}

/// A batch of which some jobs may fail.
fn run_any(place: &Place, out: &str, more: &[&str]) -> Result<Ran> {
    let (input, out) = (place.text("in"), place.text(out));
    crate::support::run(&[&["batch", &input, "-o", &out], more].concat(), b"", false)
}

fn killed_workers_lose_nothing() -> Result<()> {
    let place = Place::with(&[])?;
    with_corpus(&place, 16)?;
    let mut batch = start(&place, "out")?;
    wait_for(&place.path("out/.store"), 3)?;
    let killed = kill_workers(batch.id())?;
    ensure!(killed > 0, "no worker was there");
    batch.wait()?;
    let args = ["--targets", "gfx1201", "--keep-going"];
    run_any(&place, "whole", &args)?;
    same_files(&place)
}

/// Kills the processes that `process` has started, and returns their number.
fn kill_workers(process: u32) -> Result<usize> {
    let mut killed = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread that has ended since has no children.
        let children = std::fs::read_to_string(thread?.path().join("children"));
        let children = children.unwrap_or_default();
        for child in children.split_whitespace() {
            let sent = Command::new("kill").args(["-KILL", child]).status()?;
            killed += usize::from(sent.success());
        }
    }
    Ok(killed)
}

fn late_jobs_are_not_kept() -> Result<()> {
    let place = Place::with(&[("a", "scan")])?;
    let targets = ["--targets", "gfx1201"];
    let late = [&targets[..], &["--time-limit", "0.000001"]].concat();
    place.batch("in", "out", &late, 3)?;
    let ran = place.batch("in", "out", &targets, 0)?;
    ensure!(row(&ran, "gfx1201")? == [1, 1, 0, 0, 0, 0, 0, 0]);
    Ok(())
}

/// The beginning of both modules.
const HEADER: &str = "OpCapability Kernel
OpCapability Addresses
OpCapability Linkage
OpMemoryModel Physical64 OpenCL
";

/// A kernel that calls a function of another module.
const IMPORTER: &str = "OpEntryPoint Kernel %main \"main\"
OpDecorate %twice LinkageAttributes \"twice\" Import
%uint = OpTypeInt 32 0
%void = OpTypeVoid
%place = OpTypePointer CrossWorkgroup %uint
%of_uint = OpTypeFunction %uint %uint
%kernel = OpTypeFunction %void %place
%twice = OpFunction %uint None %of_uint
%x = OpFunctionParameter %uint
OpFunctionEnd
%main = OpFunction %void None %kernel
%out = OpFunctionParameter %place
%entry = OpLabel
%old = OpLoad %uint %out Aligned 4
%new = OpFunctionCall %uint %twice %old
OpStore %out %new Aligned 4
OpReturn
OpFunctionEnd";

/// The library with that function.
const LIBRARY: &str = "OpDecorate %twice LinkageAttributes \"twice\" Export
%uint = OpTypeInt 32 0
%of_uint = OpTypeFunction %uint %uint
%twice = OpFunction %uint None %of_uint
%x = OpFunctionParameter %uint
%entry = OpLabel
%sum = OpIAdd %uint %x %x
OpReturnValue %sum
OpFunctionEnd";

/// Copies an example to a folder with kernels; the program that is tested is on PATH there.
fn example(name: &str) -> Result<Place> {
    let place = Place::with(&[])?;
    let from = fixture::root().join("bindings/examples").join(name);
    for entry in from.read_dir()? {
        let entry = entry?;
        std::fs::copy(entry.path(), place.path(".").join(entry.file_name()))?;
    }
    for kernel in ["reduction", "scan"] {
        let module = Fixture::load(kernel)?.module()?;
        put(&place.path(&format!("kernels/{kernel}.spv")), &module)?;
    }
    for (name, text) in [("importer", IMPORTER), ("library", LIBRARY)] {
        let module = assembled(&format!("{HEADER}{text}"))?;
        put(&place.path(&format!("kernels/{name}.spv")), &module)?;
    }
    Ok(place)
}

/// Runs a build tool in `place`, and returns its output.
fn build(place: &Place, program: &Path, arguments: &[&str]) -> Result<String> {
    let splitbar = tools::splitbar()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folder = splitbar.parent().context("no folder")?.to_owned();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    let ran = Command::new(program)
        .args(arguments)
        .current_dir(place.folder.path())
        .env("PATH", std::env::join_paths(folders)?)
        .output()?;
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    ensure!(ran.status.success(), "{}: {said}", program.display());
    Ok(said)
}

/// Changes a module: another generator in its header.
fn touch(file: &Path) -> Result<()> {
    let mut bytes = std::fs::read(file)?;
    bytes[8] ^= 1;
    // Times of files have a granularity.
    std::thread::sleep(Duration::from_millis(20));
    Ok(std::fs::write(file, bytes)?)
}

fn ninja_makes_what_changed() -> Result<()> {
    let ninja = harness::program("SPLITBAR_NINJA", "ninja")?;
    let place = example("ninja")?;
    let made = |said: &str| said.lines().filter(|line| line.starts_with('[')).count();
    let say = || build(&place, &ninja, &["-v"]);
    ensure!(made(&say()?) == 4);
    let said = say()?;
    ensure!(said.contains("no work to do"), "{said}");
    // Only the dependency files know of these.
    touch(&place.path("kernels/library.spv"))?;
    let said = say()?;
    ensure!(made(&said) == 1 && said.contains("linked.s"), "{said}");
    touch(&place.path("kernels/scan.spv"))?;
    let said = say()?;
    ensure!(made(&said) == 1 && said.contains("batch"), "{said}");
    // Two of the four jobs are of the other module.
    ensure!(said.contains("gfx1201"), "{said}");
    let table = said
        .lines()
        .find(|line| line.starts_with("all "))
        .context("no table")?;
    let stored = table.split_whitespace().last();
    ensure!(stored == Some("2"), "{said}");
    ensure!(say()?.contains("no work to do"));
    Ok(())
}

fn cmake_makes_what_changed() -> Result<()> {
    let cmake = harness::program("SPLITBAR_CMAKE", "cmake")?;
    let place = example("cmake")?;
    build(&place, &cmake, &["-S", ".", "-B", "build"])?;
    let say = || build(&place, &cmake, &["--build", "build"]);
    let made = |said: &str| said.lines().filter(|line| line.contains(" lower ")).count();
    let said = say()?;
    ensure!(made(&said) == 4, "{said}");
    let said = say()?;
    ensure!(made(&said) == 0, "{said}");
    touch(&place.path("kernels/scan.spv"))?;
    let said = say()?;
    ensure!(
        made(&said) == 2 && said.contains("lower scan sm_90"),
        "{said}"
    );
    Ok(())
}

/// The commands and the jobs of docs/batch.md.
fn page_runs() -> Result<()> {
    let page = std::fs::read_to_string(fixture::root().join("docs/batch.md"))?;
    let block = |kind: &str| {
        let block = page.split(&format!("```{kind}\n")).nth(1);
        let block = block.and_then(|rest| rest.split("```").next());
        block.with_context(|| format!("docs/batch.md has no {kind}"))
    };
    let place = example("ninja")?;
    for name in ["importer", "library"] {
        // No kernel stands alone in them.
        std::fs::remove_file(place.path(&format!("kernels/{name}.spv")))?;
    }
    build(&place, Path::new("sh"), &["-c", block("sh")?])?;
    ensure!(place.path("out/sm_90/scan.ptx").is_file());
    ensure!(place.path("out/gfx1201/reduction.json").is_file());
    put(&place.path("kernels/jobs.json"), block("json")?.as_bytes())?;
    place.batch("kernels/jobs.json", "jobs", &["--targets", "gfx1201"], 0)?;
    ensure!(place.path("jobs/sm_80/scan-fused.ptx").is_file());
    Ok(())
}
