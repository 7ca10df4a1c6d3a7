//! Published modules give the same results on the simulator with their barriers split, or their
//! loops pipelined, as without, and nothing is found.
//!
//! A plain run takes every tenth of the modules with barriers, and a sample every 40th, from one
//! that its seed chooses; `SPLITBAR_CORPUS=all` takes all, and `SPLITBAR_CORPUS_ONLY=TEXT` those
//! with TEXT in their names.
#![allow(clippy::unwrap_used, clippy::panic)]

use spirv::Op;
use splitbar_gpu::corpus::simulate::{self, Code, Ran};
use splitbar_passes::module::Module;
use splitbar_tests::harness::{self, Missing, trial};
use splitbar_tests::launch::layout::difference;
use splitbar_tests::launch::{self, GUESSES, Launch, On};
use splitbar_tests::{corpus, tools};
use std::path::Path;
use std::process::ExitCode;

/// A GPU of each vendor that has a split barrier.
const TARGETS: [&str; 2] = ["gfx1201", "sm_90"];

/// Schedules with split barriers: one of each kind.
const SCHEDULES: u32 = 8;

/// The ways to split barriers: only arrives and waits move, all instructions move, and loops are
/// pipelined.
const WAYS: [&[&str]; 3] = [
    &["--split-barriers", "always"],
    &[
        "--split-barriers",
        "always",
        "--fill-windows",
        "--prefetch-loop-loads",
        "--unroll-barrier-loops=4096",
    ],
    &["--pipeline-loops", "2"],
];

/// Races. LLVM may make a load from a constant address before the branch that it stands behind,
/// which nothing reads then in waves that do not go there (docs/simulation.md). So a race counts
/// for nothing where the results are right, and the module has none before LLVM optimises it.
const RACES: [&str; 2] = ["SB3003", "SB3004"];

fn code(target: &'static str, splits: &'static [&'static str]) -> Code {
    code_at("2", target, splits)
}

fn code_at(level: &'static str, target: &'static str, splits: &'static [&'static str]) -> Code {
    Code {
        target,
        level,
        splits,
        schedules: SCHEDULES,
    }
}

/// The first launch that the simulator has nothing against and that changes something, with what it
/// leaves; or why there is none.
fn admitted(
    tool: &Path,
    file: &Path,
    module: &[u8],
    target: &'static str,
) -> Result<(Launch, Vec<Vec<u8>>), String> {
    let mut why = "there is no guess".to_owned();
    let interface = if launch::is_kernel(module) {
        Some(simulate::interface(tool, file, target)?)
    } else {
        None
    };
    for guess in GUESSES {
        let launch = match &interface {
            Some(interface) => launch::of_kernel(module, interface, guess)?,
            None => launch::of(module, guess, On::Simulator)?,
        };
        match simulate::run(tool, file, &launch, code(target, &[])) {
            Err(error) => why = format!("{error:#}"),
            Ok(Ran::Unsupported(said)) => return Err(said),
            Ok(Ran::Found(found, _)) => why = format!("{:?}", found.first()),
            Ok(Ran::Done(after)) => {
                let mut buffers = launch.buffers.iter().zip(&after);
                if buffers.any(|(buffer, after)| buffer.bytes != *after) {
                    return Ok((launch, after));
                }
                why = "it changes nothing".to_owned();
            }
        }
        if launch.spec.is_empty() && interface.is_none() {
            break; // the next guess is the same launch
        }
    }
    Err(why)
}

/// Compares the module with and without split barriers. Returns the difference, if any, or the
/// reason why they cannot be compared.
fn compare(tool: &Path, module: &[u8], target: &'static str) -> Result<Option<String>, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), module).unwrap();
    let (launch, expected) = admitted(tool, file.path(), module, target)?;
    let differs = |after: &[Vec<u8>]| {
        let buffers = launch.buffers.iter().zip(&expected).zip(after);
        let mut wrong = buffers.filter_map(|((buffer, want), got)| {
            let what = difference(&buffer.fields, want, got)?;
            Some(format!("buffer {} {what}", buffer.place))
        });
        wrong.next()
    };
    let runs = |code| simulate::run(tool, file.path(), &launch, code);
    let wrong = |way| match runs(code(target, way)) {
        Err(error) => Some(format!("{error:#}")),
        Ok(Ran::Unsupported(said)) => Some(said),
        Ok(Ran::Found(found, after)) => {
            let is_race = |(code, _): &(String, String)| RACES.contains(&code.as_str());
            let loads_ahead = found.iter().all(is_race)
                && differs(&after).is_none()
                && matches!(runs(code_at("0", target, way)), Ok(Ran::Done(after)) if differs(&after).is_none());
            if loads_ahead {
                println!("LLVM loads ahead: {:?}", found.first());
                return None;
            }
            Some(format!("{:?}", found.first()))
        }
        Ok(Ran::Done(after)) => differs(&after),
    };
    let told =
        |way: &&'static [&'static str]| wrong(way).map(|what| format!("{}: {what}", way.join(" ")));
    Ok(WAYS.iter().find_map(told))
}

/// A sample takes one of so many modules.
const OF_SAMPLE: usize = 40;

/// Returns true if the module has an OpControlBarrier.
fn has_barrier(module: &[u8]) -> bool {
    let module = Module::parse(module).ok();
    let has = |module: Module<'_>| {
        let mut all = module.instructions();
        all.any(|inst| inst.op() == Some(Op::ControlBarrier))
    };
    module.is_some_and(has)
}

fn main() -> ExitCode {
    let of_target = |target| {
        trial(format!("modules_with_split_barriers/{target}"), move || {
            modules_with_split_barriers(target)
        })
    };
    harness::main(TARGETS.into_iter().map(of_target).collect())
}

fn modules_with_split_barriers(target: &'static str) -> Result<(), Missing> {
    let tool = tools::splitbar().unwrap();
    let only = std::env::var("SPLITBAR_CORPUS_ONLY").ok();
    let is_whole = corpus::is_complete() || only.is_some();
    let modules = corpus::modules().unwrap().iter();
    let with_barriers = modules.filter(|(name, module)| {
        ["glcompute/", "kernel/"]
            .iter()
            .any(|set| name.starts_with(set))
            && has_barrier(module)
            && only.as_ref().is_none_or(|only| name.contains(only))
    });
    let (mut same, mut wrong) = (0, Vec::new());
    // The first module, the distance to the next one, and the least that must be compared.
    let (first, stride, least) = match harness::sample_seed() {
        _ if is_whole => (0, 1, 3),
        None => (0, 10, 3),
        Some(seed) => (seed as usize % OF_SAMPLE, OF_SAMPLE, 1),
    };
    for (name, module) in with_barriers.skip(first).step_by(stride) {
        match compare(&tool, module, target) {
            Err(why) => println!("skipped: {name}: {why}"),
            Ok(None) => {
                println!("same: {name}");
                same += 1;
            }
            Ok(Some(what)) => {
                println!("wrong: {name}: {what}");
                wrong.push(format!("{name}:\n  {what}"));
            }
        }
    }
    println!("{same} modules give the same results");
    assert!(
        same >= least || only.is_some(),
        "only {same} modules were compared"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
