//! The pages of the documentation: their commands are run, and their outputs are compared.
//!
//! The fenced blocks of a page are done in their order, in one folder that has only
//! `bindings`, `docs` and `fixtures`. Their first line says how:
//!
//! | line | what happens |
//! | --- | --- |
//! | `LANGUAGE file=NAME` | the block is written to the file NAME |
//! | `sh run` | the commands run, each of which must succeed |
//! | `sh run code=N` | the last command exits with N |
//! | `sh run same=NAME,...` | the commands write the files that stand beside the page; `cargo xtask bless` takes them over |
//! | `sh run or=NAME,...` | without the programs that it needs, these files are taken from docs/examples |
//! | `text output` | the last commands have printed these lines; `...` stands for any, or for the rest of one |
//! | `sh not run: WHY` | nothing |
//!
//! A row of a table that begins with a command of splitbar is run like `sh run`. Other blocks in
//! `sh` are an error. A page that needs a program which is not there is ignored.

use crate::support::{compile_bytes, confirm, instruction, linkable, ptxas, trial};
use anyhow::{Context, Result, anyhow, bail, ensure};
use libtest_mimic::Trial;
use splitbar::SplitBarriers;
use splitbar_tests::fixture::{Fixture, root};
use splitbar_tests::harness::Missing;
use splitbar_tests::tools;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of others that pages use, by their names on PATH.
const PROGRAMS: [&str; 7] = [
    "glslangValidator",
    "clang-22",
    "clang-15",
    "llvm-spirv-15",
    "slangc",
    "dxc",
    "ninja",
];

/// Pages with tests of their own, which need more than a shell: `batch/page_runs`,
/// `c_api/page_compiles`, `python/page`.
const OTHERS: [&str; 3] = ["docs/batch.md", "docs/c.md", "docs/python.md"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/guide"] {
        let files = std::fs::read_dir(root().join(folder)).into_iter().flatten();
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let names = names.filter(|name| name.ends_with(".md"));
        pages.extend(names.map(|name| format!("{folder}/{name}")));
    }
    pages.retain(|page| !OTHERS.contains(&page.as_str()) && !blocks(&read(page)).is_empty());
    pages.sort();
    let pages = pages.into_iter();
    let windows = trial("pages/windows".to_owned(), windows);
    pages
        .map(|page| trial(format!("pages/{page}"), move || run(&page)))
        .chain([windows])
        .collect()
}

/// A window that a page shows.
struct Window {
    page: &'static str,
    kernel: &'static str,
    target: &'static str,
    split: SplitBarriers,
    /// The instructions that begin and end the window.
    between: [&'static str; 2],
}

const WINDOWS: [Window; 5] = [
    Window {
        page: "README.md",
        kernel: "tiled_matmul",
        target: "gfx1201",
        split: SplitBarriers::Never,
        between: ["s_barrier_signal", "s_barrier_wait"],
    },
    Window {
        page: "README.md",
        kernel: "tiled_matmul",
        target: "gfx1100",
        split: SplitBarriers::Never,
        between: ["s_barrier", "s_barrier"],
    },
    Window {
        page: "README.md",
        kernel: "tiled_matmul",
        target: "sm_90",
        split: SplitBarriers::Never,
        between: ["mbarrier.arrive", "mbarrier.try_wait"],
    },
    Window {
        page: "docs/splitting.md",
        kernel: "plain_matmul",
        target: "gfx1201",
        split: SplitBarriers::Always,
        between: ["s_barrier_signal", "s_barrier_wait"],
    },
    Window {
        page: "docs/splitting.md",
        kernel: "plain_matmul",
        target: "sm_90",
        split: SplitBarriers::Always,
        between: ["mbarrier.arrive", "mbarrier.try_wait"],
    },
];

/// The numbers of instructions in windows that pages show agree with the code.
fn windows() -> Result<()> {
    for window in WINDOWS {
        let Window {
            page,
            kernel,
            target,
            split,
            between: [begin, end],
        } = window;
        let output = compile_bytes(&Fixture::load(kernel)?.module()?, target, |options| {
            options.split_barriers = split;
        })?;
        let widest = widest(
            &output.assembly().map_err(|error| anyhow!("{error}"))?,
            begin,
            end,
        );
        let shown = format!("... {widest}, with ");
        ensure!(
            read(page).lines().any(|line| line.contains(&shown)),
            "{page}: {kernel} on {target} has {widest} instructions in its widest window"
        );
    }
    Ok(())
}

/// The most instructions from one that begins with `begin` to the next that begins with `end`.
fn widest(assembly: &str, begin: &str, end: &str) -> usize {
    let code = assembly
        .split(".amdgpu_metadata")
        .next()
        .unwrap_or_default();
    let (mut widest, mut open) = (0, None);
    for line in code.lines().map(instruction) {
        let mnemonic = line.split(' ').find(|word| !word.starts_with('@'));
        let mnemonic = mnemonic.unwrap_or_default();
        let is_instruction = mnemonic.starts_with(|c: char| c.is_ascii_lowercase());
        if !is_instruction || line.ends_with(':') {
            continue;
        }
        if let Some(count) = open.filter(|_| mnemonic.starts_with(end)) {
            widest = widest.max(count);
            open = None;
        }
        match open.as_mut() {
            _ if mnemonic.starts_with(begin) => open = Some(0),
            Some(count) => *count += 1,
            None => {}
        }
    }
    widest
}

/// A page; an empty text where it cannot be read.
fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_default()
}

/// A fenced block, or a row of a table: its first line, its text, and the number of that line.
struct Block<'p> {
    says: &'p str,
    text: String,
    line: usize,
}

/// The fenced blocks of a page.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), is_open, blocks.last_mut()) {
            (Some(_), true, _) => is_open = false,
            (Some(says), false, _) => {
                is_open = true;
                blocks.push(Block {
                    says,
                    text: String::new(),
                    line: number + 1,
                });
            }
            (None, true, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, _, _) => blocks.extend(row(line).map(|command| Block {
                says: "sh run",
                text: command.to_owned(),
                line: number + 1,
            })),
        }
    }
    blocks
}

/// The command that a row of a table begins with.
fn row(line: &str) -> Option<&str> {
    let command = line.strip_prefix("| `")?.split('`').next()?;
    let program = command.split(' ').next()?;
    ["splitbar", "splitbar-opt"]
        .contains(&program)
        .then_some(command)
}

fn run(page: &str) -> Result<()> {
    let text = read(page);
    // Code objects are linked and simulated.
    linkable("gfx1201")?;
    let folder = tempfile::tempdir()?;
    // Pages name files as they are in a clone.
    for name in ["bindings", "docs", "fixtures"] {
        link(&root().join(name), &folder.path().join(name))?;
    }
    let mut said = String::new();
    for block in blocks(&text) {
        let beside = root().join(page);
        let beside = beside.parent().context("no folder")?;
        let done = step(&block, folder.path(), beside, &mut said);
        done.with_context(|| format!("{page}, line {}", block.line))?;
    }
    Ok(())
}

/// Does one block in `folder`, of a page in the folder `beside`; `said` is what the last commands
/// printed.
fn step(block: &Block<'_>, folder: &Path, beside: &Path, said: &mut String) -> Result<()> {
    let (language, how) = block.says.split_once(' ').unwrap_or((block.says, ""));
    match (language, how) {
        (_, how) if how.starts_with("file=") => {
            let name = how.trim_start_matches("file=");
            ensure!(!name.contains(['/', '\\']), "{name} is not in the folder");
            std::fs::write(folder.join(name), &block.text)?;
        }
        ("text", "output") => printed(&block.text, said)?,
        ("sh", how) if how.starts_with("not run: ") => {}
        ("sh", how) => {
            let how = how
                .strip_prefix("run")
                .context("a block that is neither run nor said not to be")?;
            *said = commands(&block.text, how.trim(), folder)?;
            let files = how.trim().strip_prefix("same=").unwrap_or_default();
            for name in files.split(',').filter(|name| !name.is_empty()) {
                let made = std::fs::read_to_string(folder.join(name)).context(name.to_owned())?;
                confirm(&beside.join(name), &made)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Runs commands, and returns their output on both streams.
fn commands(text: &str, how: &str, folder: &Path) -> Result<String> {
    let mut path: Vec<PathBuf> = tools::splitbar()?
        .parent()
        .into_iter()
        .map(Path::to_path_buf)
        .collect();
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    if let Some(name) = missing(text, &path) {
        let Some(modules) = how.strip_prefix("or=") else {
            return Err(Missing::new(format!("no {name} on PATH")).into());
        };
        for module in modules.split(',') {
            let made = root().join("docs/examples").join(module);
            std::fs::copy(made, folder.join(module)).context(module.to_owned())?;
        }
        return Ok(String::new());
    }
    if text.contains("cubin") {
        ptxas("sm_90")?;
    }
    let code: i32 = match how.strip_prefix("code=") {
        Some(code) => code.parse()?,
        None => 0,
    };
    let result = Command::new("sh")
        .args(["-e", "-c", &format!("exec 2>&1\n{text}")])
        .env("PATH", std::env::join_paths(path)?)
        .current_dir(folder)
        .output()?;
    let said = String::from_utf8_lossy(&result.stdout).into_owned();
    ensure!(
        result.status.code() == Some(code),
        "{:?} instead of {code}:\n{said}",
        result.status
    );
    Ok(said)
}

/// The first program that the commands name and that is in no folder of `path`.
fn missing<'t>(text: &'t str, path: &[PathBuf]) -> Option<&'t str> {
    let is_there = |name: &str| path.iter().any(|folder| folder.join(name).is_file());
    let mut words = text.split_whitespace();
    words.find(|word| (PROGRAMS.contains(word) || *word == "splitbar-opt") && !is_there(word))
}

/// Makes `name` another name of `place`.
fn link(place: &Path, name: &Path) -> Result<()> {
    if let Some(folder) = name.parent() {
        std::fs::create_dir_all(folder)?;
    }
    #[cfg(unix)]
    if !name.exists() {
        std::os::unix::fs::symlink(std::fs::canonicalize(place)?, name)?;
    }
    #[cfg(not(unix))]
    if !name.exists() {
        return Err(Missing::new("no symbolic links").into());
    }
    Ok(())
}

/// Checks that `said` has the lines of `shown` in this order. They must be adjacent, except at
/// `...`.
fn printed(shown: &str, said: &str) -> Result<()> {
    let mut lines = said.lines().map(str::trim_end).peekable();
    let mut skips = true;
    for wanted in shown.lines().map(str::trim_end) {
        if wanted.trim() == "..." {
            skips = true;
            continue;
        }
        let fits = |line: &str| match wanted.strip_suffix("...") {
            Some(beginning) => line.starts_with(beginning),
            None => line == wanted,
        };
        let found = if skips {
            lines.by_ref().any(fits)
        } else {
            lines.next().is_some_and(fits)
        };
        if !found {
            bail!("not printed: {wanted:?}\n{said}");
        }
        skips = false;
    }
    Ok(())
}
