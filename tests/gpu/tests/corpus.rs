//! Published modules give the same results on the simulator as on a Vulkan driver that runs on the
//! processor.
//!
//! A plain run takes every tenth of the modules; `SPLITBAR_CORPUS=all` takes all, and
//! `SPLITBAR_CORPUS_ONLY=TEXT` those with TEXT in their names.
#![allow(clippy::unwrap_used, clippy::panic)]

use splitbar_gpu::corpus::simulate::{self, Code, Ran};
use splitbar_gpu::vulkan::{self, Answer, Buffer, Job};
use splitbar_tests::harness::{self, Missing, trial};
use splitbar_tests::launch::layout::difference;
use splitbar_tests::launch::{self, GUESSES, Launch, On, Place};
use splitbar_tests::{corpus, tools};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// Bytes of the largest module that is taken: a driver for processors takes minutes to compile
/// larger ones.
const LARGEST: usize = 40_000;

/// Modules that do not agree, and why.
const KNOWN: &[(&str, &str)] = &[(
    "1bfac2fc609f14a4",
    "LLVM selects an illegal copy of a register pair for gfx1201 without optimisation (SB0903)",
)];

/// NVIDIA first: there the simulator also sees races between the lanes of a warp.
const CODE: [Code; 4] = [
    Code {
        target: "sm_80",
        level: "0",
        splits: &[],
        schedules: 1,
    },
    Code {
        target: "sm_80",
        level: "2",
        splits: &[],
        schedules: 1,
    },
    Code {
        target: "gfx1201",
        level: "0",
        splits: &[],
        schedules: 1,
    },
    Code {
        target: "gfx1201",
        level: "2",
        splits: &[],
        schedules: 1,
    },
];

/// The findings that are allowed for a module that is launched with guessed sizes: races, reads of
/// unwritten shared bytes, accesses outside, unsupported instructions, and too many steps or bytes.
/// Every other finding is an error of the compiler or the simulator.
const EXCUSES: [&str; 7] = [
    "SB3003", "SB3004", "SB3005", "SB3006", "SB3011", "SB3013", "SB3014",
];

/// The outcome of a module.
enum Outcome {
    Same,
    Skipped(String),
    Wrong(String),
}

fn job(launch: &Launch, module: &[u8]) -> Result<Job, String> {
    let words = |bytes: &[u8]| {
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    Ok(Job {
        module: vulkan::fused(module).map_err(|why| why.to_string())?,
        entry: launch.entry.clone(),
        groups: launch.groups,
        buffers: launch
            .buffers
            .iter()
            .map(|buffer| {
                let Place::Binding { set, binding } = buffer.place else {
                    panic!("a shader has the argument {}", buffer.place);
                };
                Buffer {
                    set,
                    binding,
                    uniform: buffer.uniform,
                    words: words(&buffer.bytes),
                }
            })
            .collect(),
        images: Vec::new(),
        samplers: Vec::new(),
        push: launch.push.clone(),
        spec: launch.spec.clone(),
    })
}

/// The first launch that the simulator has nothing against and that changes something.
fn admitted(tool: &Path, file: &Path, module: &[u8]) -> Result<(Launch, Vec<Vec<u8>>), Outcome> {
    let mut why = String::new();
    for guess in GUESSES {
        let launch = launch::of(module, guess, On::Both).map_err(Outcome::Skipped)?;
        if launch.spec.is_empty() && guess.width > 1 {
            break;
        }
        match simulate::run(tool, file, &launch, CODE[0]) {
            Err(error) => return Err(Outcome::Wrong(format!("{error:#}"))),
            Ok(Ran::Unsupported(said)) => return Err(Outcome::Skipped(said)),
            Ok(Ran::Found(found, _)) => {
                let serious = found.iter().find(|f| !EXCUSES.contains(&f.0.as_str()));
                if let Some((code, message)) = serious {
                    return Err(Outcome::Wrong(format!("{code} {message}")));
                }
                why = found
                    .first()
                    .map_or(String::new(), |f| format!("{} {}", f.0, f.1));
            }
            Ok(Ran::Done(after)) => {
                if launch
                    .buffers
                    .iter()
                    .zip(&after)
                    .any(|(b, a)| b.bytes != *a)
                {
                    return Ok((launch, after));
                }
                why = "it changes nothing".to_owned();
            }
        }
    }
    Err(Outcome::Skipped(why))
}

fn compare(tool: &Path, driver: &Path, module: &[u8]) -> Result<Outcome, Missing> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), module).unwrap();
    let (launch, first) = match admitted(tool, file.path(), module) {
        Ok(admitted) => admitted,
        Err(outcome) => return Ok(outcome),
    };
    let job = match job(&launch, module) {
        Ok(job) => job,
        Err(why) => return Ok(Outcome::Wrong(why)),
    };
    let expected: Vec<Vec<u8>> = match vulkan::run(driver, &job, LIMIT).unwrap() {
        Answer::NoDevice(why) => return Err(Missing::new(why)),
        Answer::Failed(why) => return Ok(Outcome::Skipped(format!("the driver: {why}"))),
        Answer::Done(_, words) => {
            let bytes = |words: Vec<u32>| words.iter().flat_map(|w| w.to_le_bytes()).collect();
            words.into_iter().map(bytes).collect()
        }
    };
    let (mut wrong, mut serious) = (Vec::new(), false);
    for code in CODE {
        let ran = if code == CODE[0] {
            Ran::Done(first.clone())
        } else {
            match simulate::run(tool, file.path(), &launch, code) {
                Ok(ran) => ran,
                Err(error) => {
                    serious = true;
                    wrong.push(format!("{error:#}"));
                    continue;
                }
            }
        };
        match ran {
            Ran::Done(after) => {
                for ((buffer, want), got) in launch.buffers.iter().zip(&expected).zip(&after) {
                    if let Some(what) = difference(&buffer.fields, want, got) {
                        let place = buffer.place.to_string();
                        wrong.push(format!("{code:?}: buffer {place} {what}"));
                    }
                }
            }
            Ran::Found(found, _) => {
                serious |= !found.iter().all(|f| EXCUSES.contains(&f.0.as_str()));
                wrong.push(format!("{code:?}: {:?}", found.first()));
            }
            Ran::Unsupported(why) => wrong.push(format!("{code:?}: {why}")),
        }
    }
    let wrong = wrong.join("\n  ");
    Ok(match (wrong.is_empty(), launch.has_subgroups && !serious) {
        (true, _) => Outcome::Same,
        // It has subgroups of 8 lanes where the simulator has 32.
        (false, true) => Outcome::Skipped(format!(
            "its results depend on the size of a subgroup: {wrong}"
        )),
        (false, false) => Outcome::Wrong(wrong),
    })
}

fn main() -> ExitCode {
    harness::main(vec![trial(
        "modules_give_the_same_results_on_both_machines".to_owned(),
        modules_give_the_same_results_on_both_machines,
    )])
}

fn modules_give_the_same_results_on_both_machines() -> Result<(), Missing> {
    let driver = Path::new(env!("CARGO_BIN_EXE_splitbar-gpu"));
    let tool = tools::splitbar().unwrap();
    let only = std::env::var("SPLITBAR_CORPUS_ONLY").ok();
    let step = if corpus::is_complete() || only.is_some() {
        1
    } else {
        10
    };
    let modules = corpus::modules().unwrap().iter();
    let shaders = modules.filter(|(name, _)| name.starts_with("glcompute/"));
    let (mut same, mut wrong) = (0, Vec::new());
    for (name, module) in shaders.step_by(step) {
        if only.as_ref().is_some_and(|only| !name.contains(only)) {
            continue;
        }
        if module.len() > LARGEST {
            println!("skipped: {name}: {} bytes", module.len());
            continue;
        }
        if let Some((_, why)) = KNOWN.iter().find(|(known, _)| name.contains(known)) {
            println!("skipped: {name}: {why}");
            continue;
        }
        match compare(&tool, driver, module) {
            Err(missing) => return Err(missing),
            Ok(Outcome::Same) => {
                println!("same: {name}");
                same += 1;
            }
            Ok(Outcome::Skipped(why)) => println!("skipped: {name}: {why}"),
            Ok(Outcome::Wrong(what)) => {
                println!("wrong: {name}: {what}");
                wrong.push(format!("{name}:\n  {what}"));
            }
        }
    }
    println!("{same} modules give the same results");
    assert!(
        same > 5 || only.is_some(),
        "only {same} modules were compared"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
