//! Published modules with barriers or atomic operations: the audit has no findings in splitbar's
//! code. A plain run uses some of them, the same ones each time; `SPLITBAR_CORPUS=all` uses all.

use crate::support::{always_split, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar::Failure;
use splitbar::diagnostic::{Code, Severity};
use splitbar_passes::module::Module;
use splitbar_tests::corpus::{is_complete, modules};

const TARGETS: [&str; 4] = ["gfx942", "gfx1030", "gfx1201", "sm_90"];

/// A plain run uses one of so many modules, different ones for each target.
const ONE_OF: usize = 40;

/// Larger modules take LLVM many seconds; a plain run leaves them out.
const MOST_BYTES: usize = 24 << 10;

/// The codes that the audit reports.
const FOUND: [Code; 4] = [
    Code::MissingWait,
    Code::MissingInvalidation,
    Code::MissingWriteBack,
    Code::MissingFence,
];

pub(super) fn trials() -> Vec<Trial> {
    let names = TARGETS.into_iter().enumerate();
    let of = |(share, name)| trial(format!("audit/corpus/{name}"), move || clean(name, share));
    names.map(of).collect()
}

/// Every module of the sample is clean, or cannot be compiled for the target.
fn clean(name: &'static str, share: usize) -> Result<()> {
    let (first, one_of) = if is_complete() {
        (0, 1)
    } else {
        (share * ONE_OF / TARGETS.len(), ONE_OF)
    };
    let mut audited = 0;
    let mut wrong = Vec::new();
    let chosen = modules()?
        .iter()
        .filter(|(_, bytes)| (is_complete() || bytes.len() <= MOST_BYTES) && synchronises(bytes));
    for (module, bytes) in chosen.skip(first).step_by(one_of) {
        let mut options = always_split(name)?;
        options.audit = true;
        match splitbar::Compiler::new(&options).compile(bytes) {
            Ok(output) => audited += output.entries().len(),
            Err(failure) if found(&failure) => wrong.push(format!("{module}: {failure}")),
            Err(_) => {} // not for this target
        }
    }
    println!("audit/corpus: {audited} kernels for {name}");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(audited > 0, "nothing was audited");
    Ok(())
}

fn found(failure: &Failure) -> bool {
    let mut problems = failure.diagnostics.iter();
    problems.any(|problem| problem.severity == Severity::Error && FOUND.contains(&problem.code))
}

/// Returns true if a module has something to audit.
fn synchronises(bytes: &[u8]) -> bool {
    Module::parse(bytes).is_ok_and(|module| {
        let mut names = module
            .instructions()
            .filter_map(|inst| Some(format!("{:?}", inst.op()?)));
        names.any(|name| name.contains("Barrier") || name.starts_with("Atomic"))
    })
}
