//! The command line as build systems use it: response files, several outputs of one run,
//! dependency files, warnings as errors, colour.

use crate::cli::{expect, path};
use crate::support::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::{fixture, tools};
use std::path::Path;
use std::process::Command;

/// A test of the command line.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 9] = [
        ("targets_have_variants", variants),
        ("the_version_names_commit_and_llvm", version),
        ("several_outputs_are_those_of_single_runs", several_outputs),
        ("outputs_need_places", outputs_need_places),
        ("response_files_are_arguments", response_files),
        ("dependency_files_name_all_modules", dependency_files),
        ("warnings_can_be_errors_or_nothing", warnings),
        ("colour_is_asked_for", colour),
        ("the_action_of_github_checks", action),
    ];
    let trials = tests.into_iter();
    let trials = trials.map(|(name, test)| trial(format!("build_systems/{name}"), test));
    trials.collect()
}

/// The last step of the action, as its runner starts it.
fn action() -> Result<()> {
    let file = fixture::root().join("bindings/github-action/action.yml");
    let text = std::fs::read_to_string(file)?;
    let (_, script) = text.rsplit_once("run: |\n").context("no script")?;
    let (good, doubtful) = (path("reduction")?, path("dangling_arrive")?);
    let no_module = fixture::root().join("LICENSE-MIT").display().to_string();
    for (modules, is_good, said) in [
        ([&good, &good], true, ""),
        ([&good, &doubtful], true, "::warning file="),
        ([&good, &no_module], false, "::error file="),
    ] {
        let mut command = Command::new("bash");
        // The flags with which the runner starts the shell `bash`.
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
        command.env("PROGRAM", tools::splitbar()?);
        command.env("MODULES", modules.map(String::as_str).join(" "));
        command
            .env("TARGETS", "gfx1201,sm_90")
            .env("STRICT", "false");
        let ran = command.output()?;
        let output = [ran.stdout, ran.stderr].concat();
        let output = String::from_utf8_lossy(&output);
        ensure!(ran.status.success() == is_good, "{}: {output}", ran.status);
        ensure!(output.contains(said), "{output}");
    }
    Ok(())
}

fn read(folder: &Path, name: &str) -> Result<String> {
    let file = folder.join(name);
    std::fs::read_to_string(&file).with_context(|| file.display().to_string())
}

fn several_outputs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kernel = path("reduction")?;
    let lower = ["lower", &kernel, "--target", "sm_90"];
    let place = |name: &str| folder.path().join(name).display().to_string();
    let reflect = format!("reflect={}", place("k.json"));
    let plan = format!("plan={}", place("k.plan"));
    let more = ["--emit", "ptx", "--emit", &reflect, "--emit", &plan];
    let ran = expect(&[&lower[..], &more].concat(), b"", 0)?;
    let alone = |kind| expect(&[&lower[..], &["--emit", kind]].concat(), b"", 0);
    ensure!(ran.stdout == alone("asm")?.stdout, "PTX differs");
    ensure!(read(folder.path(), "k.json")?.as_bytes() == alone("reflect")?.stdout);
    // Windows are measured with a reflection, and the plan shows them.
    let planned = [&lower[..], &["--emit", "plan", "--measure"]].concat();
    ensure!(read(folder.path(), "k.plan")?.as_bytes() == expect(&planned, b"", 0)?.stdout);
    Ok(())
}

fn outputs_need_places() -> Result<()> {
    let kernel = path("reduction")?;
    let wrong: [(&[&str], &str); 8] = [
        (
            &["--emit", "asm", "--emit", "plan"],
            "two outputs go to the standard output",
        ),
        (
            &["--emit", "asm=k.s", "-o", "other.s"],
            "nothing is written to other.s",
        ),
        (&["--emit", "ptx"], "gfx1201 has no PTX"),
        (
            &["--emit", "asm=k.s", "--emit", "plan=./k.s"],
            "k.s and ./k.s are the same file",
        ),
        (&["-o", "k.d", "-MD"], "k.d and k.d are the same file"),
        (
            &["-o", "k.s", "-MD", "-MF", "./k.s"],
            "k.s and ./k.s are the same file",
        ),
        (&["-MD"], "has no name"),
        (&["-MD", "-MF", "k.d"], "has no target"),
    ];
    for (arguments, says) in wrong {
        let all = [&["lower", &kernel, "--target", "gfx1201"], arguments].concat();
        let ran = expect(&all, b"", 2)?;
        ensure!(ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
    }
    Ok(())
}

/// Each variant of a row is in the code, and no other is taken.
fn variants() -> Result<()> {
    let kernel = path("reduction")?;
    for target in splitbar::Target::all() {
        let (row, is_amdgpu) = (target.name, target.amdgpu().is_some());
        let names = target.variants.iter().flat_map(|variant| {
            if is_amdgpu {
                vec![format!("{row}:{variant}+"), format!("{row}:{variant}-")]
            } else {
                vec![format!("{row}{variant}")]
            }
        });
        for name in names {
            let lower = ["lower", &kernel, "--target", &name, "-O0"];
            let code = String::from_utf8(expect(&lower, b"", 0)?.stdout)?;
            let says = if is_amdgpu {
                format!(".amdgcn_target \"amdgcn-amd-amdhsa-unknown-{name}\"")
            } else {
                format!(".target {name}\n")
            };
            ensure!(code.contains(&says), "{name}: no {says}");
        }
    }
    for (name, says) in [
        (
            "gfx1100:xnack+",
            "gfx1100 has no selectable feature \"xnack\"",
        ),
        ("gfx90a:xnack", "is not a feature followed by + or -"),
        ("sm_80a", "sm_80 has no suffix \"a\""),
        ("gfx9999:xnack+", "no such target"),
    ] {
        let lower = ["lower", &kernel, "--target", name, "--format", "json"];
        let said = expect(&lower, b"", 2)?.stderr;
        let said: serde_json::Value = serde_json::from_str(&said)?;
        let message = said["message"].as_str().unwrap_or_default();
        ensure!(said["code"] == "SB0386" && message.contains(says), "{said}");
    }
    Ok(())
}

fn version() -> Result<()> {
    let ran = expect(&["--version"], b"", 0)?;
    let said = String::from_utf8(ran.stdout)?;
    let form = r"^splitbar \d+\.\d+\.\d+ \(commit (?:[0-9a-f]{12}|unknown|of a development build); LLVM 23\.1\.\d+\)\n$";
    ensure!(regex::Regex::new(form)?.is_match(&said), "{said}");
    Ok(())
}

fn response_files() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kernel = path("reduction")?;
    let file = folder.path().join("lower.rsp");
    std::fs::write(&file, format!("lower '{kernel}'\n--target gfx1201\n"))?;
    let at = format!("@{}", file.display());
    let plain = expect(&["lower", &kernel, "--target", "gfx1201"], b"", 0)?;
    ensure!(expect(&[&at], b"", 0)?.stdout == plain.stdout);
    // A command that runs in a process of its own gets what the file holds.
    std::fs::write(&file, format!("\"{kernel}\" --strict"))?;
    let said = expect(&["check", &at], b"", 0)?.stderr;
    ensure!(said == expect(&["check", &kernel, "--strict"], b"", 0)?.stderr);
    std::fs::write(&file, &at)?;
    let ran = expect(&[&at], b"", 2)?;
    ensure!(
        ran.stderr.contains("are nested more than"),
        "{}",
        ran.stderr
    );
    Ok(())
}

fn dependency_files() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kernel = path("reduction")?;
    let code = folder.path().join("k.s").display().to_string();
    let lower = ["lower", &kernel, "--target", "gfx1201", "-o", &code, "-MD"];
    expect(&lower, b"", 0)?;
    let rule = format!("{code}: \\\n  {kernel}\n");
    ensure!(read(folder.path(), "k.d")? == rule);
    let other = folder.path().join("other.d").display().to_string();
    let named = ["-MF", &other, "-MT", "all of it"];
    expect(&[&lower[..], &named].concat(), b"", 0)?;
    ensure!(read(folder.path(), "other.d")? == format!("all\\ of\\ it: \\\n  {kernel}\n"));
    // The module must not be lost.
    let over = expect(&[&lower[..], &["-MF", &kernel]].concat(), b"", 2)?;
    ensure!(over.stderr.contains("would replace the input"));
    Ok(())
}

fn warnings() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let module = path("dangling_arrive")?;
    let output = folder.path().join("k.s");
    let code = output.display().to_string();
    let lower = ["lower", &module, "--target", "gfx1201", "-o", &code];
    let with = |more: &[&str], code| expect(&[&lower[..], more].concat(), b"", code);
    let found = with(&[], 0)?.stderr;
    ensure!(found.contains("warning[SB2010]"), "{found}");
    std::fs::remove_file(&output)?;
    let refused = with(&["-Werror"], 1)?.stderr;
    ensure!(refused.contains("error[SB2010]"), "{refused}");
    ensure!(!output.exists(), "an output was written in spite of errors");
    for quiet in [&["-w"][..], &["-Werror", "--allow", "SB2010"]] {
        let said = with(quiet, 0)?.stderr;
        ensure!(!said.contains("SB2010"), "{quiet:?}: {said}");
    }
    for command in ["check", "model"] {
        let target: &[&str] = &["--target", "gfx1201"];
        let all = [&[command, &module, "-Werror"], target].concat();
        let said = expect(&all, b"", 1)?.stderr;
        ensure!(said.contains("error[SB2010]"), "{command}: {said}");
    }
    Ok(())
}

fn colour() -> Result<()> {
    let kernel = path("arrive_barrier_wait")?;
    let said = |when: &[&str]| -> Result<String> {
        Ok(expect(&[&["check", &kernel], when].concat(), b"", 0)?.stderr)
    };
    ensure!(said(&["--color", "always"])?.contains('\u{1b}'));
    ensure!(!said(&["--color", "never"])?.contains('\u{1b}'));
    ensure!(!said(&[])?.contains('\u{1b}'), "a pipe is no terminal");
    Ok(())
}
