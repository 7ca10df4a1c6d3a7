//! Published modules: none of them crashes the compiler. It may report them as unsupported, but
//! must not panic, abort or report a bug.
//!
//! Each module is compiled in a process of its own, without the command line's shield, so that a
//! crash is seen as one. Normally every module meets one of the targets, in turn;
//! `SPLITBAR_CORPUS=all` gives every module every target.

use crate::support::{run, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::corpus::{self, Module, modules};

/// The targets, each with its own share of the modules.
const TARGETS: [&str; 6] = ["gfx1201", "sm_90", "gfx1100", "gfx906", "sm_75", "gfx1250"];

/// The archive holds this many modules.
const MODULES: usize = 1070;

pub(crate) fn trials() -> Vec<Trial> {
    let everything = corpus::is_complete();
    let mut trials = vec![trial("corpus/complete".to_owned(), || {
        let count = modules()?.len();
        ensure!(count == MODULES, "{count} modules instead of {MODULES}");
        Ok(())
    })];
    for (share, target) in TARGETS.iter().enumerate() {
        trials.push(trial(format!("corpus/survives/{target}"), move || {
            survives(target, share, everything)
        }));
    }
    trials
}

fn survives(target: &'static str, share: usize, everything: bool) -> Result<()> {
    let modules = modules()?;
    let mine: Vec<&Module> = modules
        .iter()
        .enumerate()
        .filter(|(at, _)| everything || at % TARGETS.len() == share)
        .map(|(_, module)| module)
        .collect();
    ensure!(!mine.is_empty(), "no modules");
    let mut codes = [0usize; 4];
    let mut wrong = Vec::new();
    for (name, bytes) in &mine {
        let ran = run(
            &["lower", "-", "--target", target, "--emit", "asm"],
            bytes,
            true,
        )?;
        match ran.code {
            // Not 1: other compilers take these modules every day, so calling one invalid is our
            // mistake.
            Some(code @ (0 | 3)) => codes[code as usize] += 1,
            code => {
                let said: String = ran.stderr.chars().take(800).collect();
                wrong.push(format!("{name}: exit code {code:?}\n{said}"));
            }
        }
    }
    println!(
        "corpus on {target}: {} done, {} unsupported of {}",
        codes[0],
        codes[3],
        mine.len()
    );
    ensure!(
        wrong.is_empty(),
        "{} of {} modules:\n{}",
        wrong.len(),
        mine.len(),
        wrong.join("\n")
    );
    Ok(())
}
