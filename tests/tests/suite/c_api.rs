//! The C interface, as a stranger's programs use it: out of the archive that `cargo xtask dist`
//! makes.

use crate::cli::{expect, path};
use crate::support::{done, linkable, made_by_xtask, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture;
use splitbar_tests::harness::{self, Missing};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A test of the interface.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 10] = [
        ("archives_are_the_same", archives_are_the_same),
        ("symbols_are_those_of_the_header", symbols),
        ("header_is_c99_and_cpp", header_is_c99_and_cpp),
        ("c_compiles_kernels", c_compiles_kernels),
        ("cpp_runs_passes", cpp_runs_passes),
        ("wrong_arguments_are_errors", wrong_arguments_are_errors),
        ("threads_compile_at_once", threads_compile_at_once),
        ("another_llvm_is_beside", another_llvm_is_beside),
        ("cmake_finds_the_package", cmake_finds_the_package),
        ("page_compiles", page_compiles),
    ];
    let trials = tests.into_iter();
    let trials = trials.map(|(name, test)| trial(format!("c_api/{name}"), test));
    trials.collect()
}

/// An archive that was unpacked: made once, by whichever test is first.
struct Dist {
    _folder: TempDir,
    archive: PathBuf,
    root: PathBuf,
}

fn dist() -> Result<&'static Dist> {
    static MADE: OnceLock<Result<Dist, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| make_dist().map_err(|error| format!("{error:#}")));
    made.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
}

fn make_dist() -> Result<Dist> {
    let folder = tempfile::tempdir()?;
    let archive = made_by_xtask("dist", folder.path())?;
    done(
        Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(folder.path()),
    )?;
    let name = archive.file_name().context("no name")?.to_string_lossy();
    let root = folder.path().join(name.trim_end_matches(".tar.gz"));
    Ok(Dist {
        _folder: folder,
        archive,
        root,
    })
}

fn compiler(name: &str) -> Result<PathBuf, Missing> {
    let variable = if name == "cc" { "CC" } else { "CXX" };
    harness::program(variable, name)
}

fn source(name: &str) -> PathBuf {
    fixture::root().join("bindings").join(name)
}

/// Compiles a C program of the bindings against the archive; where it is.
fn c_program(folder: &TempDir, file: &str, library: &str) -> Result<PathBuf> {
    let root = &dist()?.root;
    let (lib, output) = (root.join("lib"), folder.path().join("program"));
    let is_c = file.ends_with(".c");
    let (compiler, standard) = if is_c {
        (compiler("cc")?, "-std=c99")
    } else {
        (compiler("c++")?, "-std=c++11")
    };
    done(
        Command::new(compiler)
            .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-o"])
            .arg(&output)
            .arg(source(file))
            .arg("-I")
            .arg(root.join("include"))
            .arg("-L")
            .arg(&lib)
            .arg(format!("-l{library}"))
            .arg(format!("-Wl,-rpath,{}", lib.display()))
            .args(["-pthread", "-ldl"]),
    )?;
    Ok(output)
}

fn archives_are_the_same() -> Result<()> {
    let dist = dist()?;
    let folder = tempfile::tempdir()?;
    let again = made_by_xtask("dist", folder.path())?;
    ensure!(std::fs::read(again)? == std::fs::read(&dist.archive)?);
    for file in [
        "bin/splitbar",
        "bin/splitbar-opt",
        "lib/libsplitbar.so",
        "lib/pkgconfig/splitbar.pc",
        "lib/cmake/splitbar/splitbar-config.cmake",
        "share/man/man1/splitbar-lower.1",
        "share/bash-completion/completions/splitbar",
        "share/doc/splitbar/LICENSE-MIT",
        "share/doc/splitbar/licences/LIST",
    ] {
        ensure!(dist.root.join(file).is_file(), "{file} is missing");
    }
    Ok(())
}

/// A library exports the functions that the header declares, and nothing of LLVM, Rust or C++.
fn symbols() -> Result<()> {
    let header = std::fs::read_to_string(source("c/include/splitbar.h"))?;
    let names = regex::Regex::new(r"\b(splitbar_[a-z_]+)\(")?;
    let code = header
        .lines()
        .filter(|line| !line.trim_start().starts_with('*'));
    let code: String = code.flat_map(|line| [line, "\n"]).collect();
    let mut declared: Vec<&str> = names
        .captures_iter(&code)
        .filter_map(|found| Some(found.get(1)?.as_str()))
        .collect();
    declared.sort_unstable();
    declared.dedup();
    ensure!(declared.len() > 15, "{declared:?}");
    for library in ["libsplitbar.so", "libsplitbar_passes.so"] {
        let file = dist()?.root.join("lib").join(library);
        let ran = done(Command::new("nm").args(["-D", "--defined-only"]).arg(&file))?;
        let text = String::from_utf8(ran.stdout)?;
        let mut exported: Vec<&str> = text.lines().filter_map(|l| l.split(' ').nth(2)).collect();
        exported.sort_unstable();
        ensure!(exported == declared, "{library}: {exported:?}");
    }
    let library =
        |name: &str| std::fs::read(dist()?.root.join("lib").join(name)).context("no library");
    let bytes = library("libsplitbar_passes.so")?;
    let of_llvm = b"AMDGPUTargetMachine";
    ensure!(
        !bytes.windows(of_llvm.len()).any(|part| part == of_llvm),
        "LLVM is in it"
    );
    let with_llvm = library("libsplitbar.so")?.len();
    ensure!(
        bytes.len() * 4 < with_llvm,
        "{} of {with_llvm} bytes",
        bytes.len()
    );
    Ok(())
}

fn header_is_c99_and_cpp() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (name, compiler, standard) in [
        ("h.c", compiler("cc")?, "-std=c99"),
        ("h.cpp", compiler("c++")?, "-std=c++11"),
    ] {
        let file = folder.path().join(name);
        // Twice: it has a guard.
        std::fs::write(&file, "#include <splitbar.h>\n#include <splitbar.h>\n")?;
        done(
            Command::new(compiler)
                .args([
                    standard,
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-pedantic",
                    "-fsyntax-only",
                ])
                .arg("-I")
                .arg(source("c/include"))
                .arg(&file),
        )?;
    }
    Ok(())
}

fn c_compiles_kernels() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = c_program(&folder, "examples/c/compile.c", "splitbar")?;
    let module = path("reduction")?;
    for (target, setting) in [
        ("gfx1201", None),
        ("gfx1201", Some("O=2")),
        ("sm_90", Some("strategy=fused")),
        ("gfx1201", Some("strategy=auto")),
        ("sm_90", Some("strategy=auto=balanced")),
        ("gfx1201", Some("strategy=auto=fast")),
        ("sm_90", Some("strategy=auto=always-split")),
        ("gfx1201", Some("split-barriers=auto")),
    ] {
        let ran = done(Command::new(&program).args([&module, target]).args(setting))?;
        let flag = setting.map(|setting| match setting.strip_prefix("O=") {
            Some(level) => format!("-O{level}"),
            None => format!("--{setting}"),
        });
        let lower = ["lower", &module, "--target", target];
        let flag: Vec<&str> = flag.iter().map(String::as_str).collect();
        let alone = expect(&[&lower[..], &flag].concat(), b"", 0)?;
        ensure!(
            ran.stdout == alone.stdout,
            "{target} {setting:?}: the code differs"
        );
        let said = String::from_utf8_lossy(&ran.stderr);
        ensure!(said.contains("pair 0 of main: arrives at word"), "{said}");
    }
    let wrong = Command::new(&program).args([&module, "gfx9999"]).output()?;
    ensure!(wrong.status.code() == Some(2), "{:?}", wrong.status);
    Ok(())
}

fn cpp_runs_passes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = c_program(&folder, "examples/cpp/passes.cpp", "splitbar_passes")?;
    let (module, output) = (path("reduction")?, folder.path().join("out.spv"));
    let (pass, opt) = (
        "fuse-split-barriers=arrive",
        dist()?.root.join("bin/splitbar-opt"),
    );
    done(Command::new(&program).arg(&module).arg(&output).arg(pass))?;
    let other = folder.path().join("opt.spv");
    let flag = format!("--{pass}");
    done(
        Command::new(opt)
            .arg(&flag)
            .arg(&module)
            .arg("-o")
            .arg(&other),
    )?;
    ensure!(std::fs::read(&output)? == std::fs::read(&other)?);
    // No pass: the module as it was.
    done(Command::new(&program).arg(&module).arg(&output))?;
    ensure!(std::fs::read(&output)? == std::fs::read(&module)?);
    let wrong = Command::new(&program)
        .arg(&module)
        .arg(&output)
        .arg("poem")
        .output()?;
    ensure!(wrong.status.code() == Some(1) && !wrong.stderr.is_empty());
    let listed = done(&mut Command::new(&program))?;
    ensure!(String::from_utf8(listed.stdout)?.contains("fuse-split-barriers: "));
    Ok(())
}

fn wrong_arguments_are_errors() -> Result<()> {
    for library in ["splitbar", "splitbar_passes"] {
        let folder = tempfile::tempdir()?;
        let program = c_program(&folder, "c/tests/misuse.c", library)?;
        let worker = dist()?.root.join("bin/splitbar");
        let mut command = Command::new(program);
        done(command.arg(path("reduction")?).arg(worker)).context(library)?;
    }
    Ok(())
}

fn threads_compile_at_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = c_program(&folder, "c/tests/threads.c", "splitbar")?;
    let ran = done(Command::new(program).arg(path("reduction")?))?;
    let said = String::from_utf8(ran.stdout)?;
    ensure!(said == "0 of 16 threads differ\n", "{said}");
    Ok(())
}

/// The LLVM of the system, a shared library.
fn system_llvm() -> Result<PathBuf, Missing> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
    ];
    let files = folders
        .iter()
        .filter_map(|folder| Path::new(folder).read_dir().ok());
    let files = files.flatten().flatten().map(|file| file.path());
    let mut found: Vec<PathBuf> = files
        .filter(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libLLVM") && name.contains(".so")
        })
        .collect();
    found.sort();
    found
        .pop()
        .ok_or_else(|| Missing::new("no libLLVM of the system"))
}

fn another_llvm_is_beside() -> Result<()> {
    let llvm = system_llvm()?;
    let folder = tempfile::tempdir()?;
    let program = c_program(&folder, "c/tests/beside_llvm.c", "splitbar")?;
    let module = path("reduction")?;
    let alone = expect(&["lower", &module, "--target", "gfx1201"], b"", 0)?;
    for order in ["before", "after"] {
        let library = dist()?.root.join("lib/libsplitbar.so");
        let mut command = Command::new(&program);
        command.arg(&module).arg(library).arg(&llvm).arg(order);
        let ran = done(&mut command).context(order)?;
        ensure!(ran.stdout == alone.stdout, "{order}: the code differs");
    }
    Ok(())
}

fn cmake_finds_the_package() -> Result<()> {
    let cmake = harness::program("SPLITBAR_CMAKE", "cmake")?;
    linkable("gfx1201")?;
    let (folder, root) = (tempfile::tempdir()?, &dist()?.root);
    let (build, module) = (folder.path().join("build"), path("reduction")?);
    done(
        Command::new(&cmake)
            .arg("-S")
            .arg(source("examples/cmake-library"))
            .arg("-B")
            .arg(&build)
            .arg(format!("-DCMAKE_PREFIX_PATH={}", root.display()))
            .arg(format!("-DKERNEL={module}")),
    )?;
    done(Command::new(&cmake).arg("--build").arg(&build))?;
    let alone = expect(&["lower", &module, "--target", "gfx1201"], b"", 0)?;
    let ran = done(Command::new(build.join("compile")).args([&module, "gfx1201"]))?;
    ensure!(ran.stdout == alone.stdout);
    ensure!(std::fs::read(build.join("reduction.gfx1201.asm"))? == alone.stdout);
    ensure!(build.join("reduction.sm_90.ptx").is_file());
    for (vendor, gpu, kind) in [("amd", "gfx1201", "hsaco"), ("nvidia", "sm_90", "ptx")] {
        let ran = done(Command::new(build.join("embedded")).arg(vendor))?;
        let alone = expect(&["lower", &module, "--target", gpu, "--emit", kind], b"", 0)?;
        ensure!(ran.stdout == alone.stdout, "the embedded {kind} differs");
    }
    done(&mut Command::new(build.join("passes")))?;
    // The same place, by pkg-config.
    let pkg_config = harness::program("PKG_CONFIG", "pkg-config")?;
    let ran = done(
        Command::new(pkg_config)
            .args(["--cflags", "--libs", "splitbar"])
            .env("PKG_CONFIG_PATH", root.join("lib/pkgconfig")),
    )?;
    let flags = String::from_utf8(ran.stdout)?;
    ensure!(
        flags.contains("-lsplitbar") && flags.contains("include"),
        "{flags}"
    );
    Ok(())
}

/// The first example of docs/c.md, in a function.
fn page_compiles() -> Result<()> {
    let page = std::fs::read_to_string(fixture::root().join("docs/c.md"))?;
    let example = page
        .split("```c\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let example = example.context("docs/c.md has no example")?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("page.c");
    let head = "#include <splitbar.h>\n#include <stdio.h>\nvoid page(const uint8_t *, size_t);\n";
    let function = "void page(const uint8_t *module, size_t size) {\n";
    std::fs::write(&file, format!("{head}{function}{example}}}\n"))?;
    done(
        Command::new(compiler("cc")?)
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
            .arg("-Wno-missing-field-initializers")
            .arg("-I")
            .arg(source("c/include"))
            .arg(&file),
    )?;
    Ok(())
}
