//! `cargo xtask ci`: everything that must hold before a change lands. It writes nothing into the
//! tree.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::{
    book, disk, features, linker, llvm, nvidia, package, page, portable, shell, spelling, system,
    test, tidy,
};

/// The disk space of a run, in tenths of a gigabyte: 3.0 in cargo's target folder, and 1.0 in
/// the tree and in temporary folders of the suite (archives, wheel, Python environment).
const TAKEN: u64 = 40;

/// Runs every step, also after one has failed; the last line counts the tests.
pub(crate) fn run() -> Result<()> {
    let target = shell::target_directory()?;
    std::fs::create_dir_all(&target)?;
    if let Some(free) = disk::free(&target) {
        has_room(disk::used(&target), free)?;
    }
    llvm::ensure()?;
    linker::ensure()?;
    system::ensure();
    // Their tests are ignored, and counted so, where they cannot be had.
    if let Err(error) = nvidia::ensure() {
        eprintln!("no programs of NVIDIA: {error:#}");
    }
    if let Err(error) = page::ensure() {
        eprintln!("no axe-core: {error:#}");
    }
    let mut failed: Vec<&str> = Vec::new();
    let mut times: Vec<String> = Vec::new();
    let mut sizes: Vec<String> = Vec::new();
    let mut begun = (Instant::now(), processor_seconds());
    let mut step = |name: &'static str, result: Result<()>| {
        let seconds = begun.0.elapsed().as_secs();
        let worked = match (begun.1, processor_seconds()) {
            (Some(before), Some(now)) => format!(" ({})", now - before),
            _ => String::new(),
        };
        times.push(format!("{name} {seconds}{worked}"));
        sizes.push(format!("{name} {}", disk::gigabytes(disk::used(&target))));
        begun = (Instant::now(), processor_seconds());
        if let Err(e) = result {
            eprintln!("error: {name}: {e:#}");
            failed.push(name);
        }
    };

    step(
        "format",
        shell::run(shell::cargo(&["fmt", "--all", "--check"])),
    );
    step("tidy", tidy::run());
    step("spelling", spelling::check());
    step("book", book::run());
    step(
        "lints",
        shell::run(shell::cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ])),
    );
    step("features", features::build());
    let mut doc = shell::cargo(&["doc", "--workspace", "--no-deps"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    step("documentation", shell::run(doc));
    step("packages", package::packages(false));
    step("wasm32", portable::wasm().map(|_| ()));
    step("licences and sources", package::deny());
    let (mut counts, result) = test::run_counting(&test::Options::of_ci());
    step("test", result);
    let (others, result) = test::run_without_llvm();
    step("test without LLVM", result);
    counts.add(others);
    if counts.passed + counts.failed == 0 {
        step("test", Err(anyhow::anyhow!("no test ran")));
    }

    if failed.is_empty() {
        println!("format, tidy, spelling, book, lints, features, documentation and tests hold");
    } else {
        println!("failed: {}", failed.join(", "));
    }
    println!("seconds by step (of processors): {}", times.join(", "));
    println!(
        "gigabytes in the target folder after each step: {}",
        sizes.join(", ")
    );
    println!("{}", counts.summary());
    if !failed.is_empty() {
        bail!("{} did not hold", failed.join(", "));
    }
    Ok(())
}

/// Fails where a run would fill the disk: there are `used` bytes in the target folder, and `free`
/// bytes on its disk.
fn has_room(used: u64, free: u64) -> Result<()> {
    let needed = (TAKEN * disk::GIGABYTE / 10).saturating_sub(used);
    if free < needed {
        bail!(
            "{} GB are free for cargo's target folder, and `cargo xtask ci` needs {} GB there; remove other builds, or name a folder on another disk in CARGO_TARGET_DIR",
            disk::gigabytes(free),
            disk::gigabytes(needed)
        );
    }
    Ok(())
}

/// The seconds that processors have worked for the processes that this one has started and that
/// have ended; `None` where the system does not say. Unlike the time that passes, they hardly
/// depend on what else the machine does.
fn processor_seconds() -> Option<u64> {
    const TICKS: u64 = 100; // a second, on every Linux: USER_HZ
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have blanks in it.
    let (_, rest) = stat.rsplit_once(')')?;
    // proc(5): cutime and cstime are fields 16 and 17, and the first one here is field 3.
    let mut fields = rest.split_whitespace().skip(13);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_before_the_first_step() {
        let all = TAKEN * disk::GIGABYTE / 10;
        assert!(has_room(0, all).is_ok() && has_room(all, 0).is_ok());
        let error = has_room(all / 2, all / 2 - 1).unwrap_err().to_string();
        assert!(error.contains("needs 2.0 GB"), "{error}");
    }

    #[test]
    fn the_time_of_processes_is_known() {
        assert!(processor_seconds().is_some_and(|seconds| seconds < 1_000_000));
    }
}
