//! Damaged modules: one word replaced, swapped or removed. The answer is a diagnostic or code,
//! never a crash. Large ones, too: they are answered within a limit.
//!
//! The damage is the same in every run. `SPLITBAR_HOSTILE=N` tries N of them for each kernel.

use crate::isolate::{branches, loops, pairs};
use crate::support::{run, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture::Fixture;
use splitbar_tests::tools;
use std::time::{Duration, Instant};

/// Kernels with loops, calls and pointers of both kinds.
const KERNELS: [(&str, &str); 4] = [
    ("reduction", "gfx1201"),
    ("split_functions", "sm_90"),
    ("opencl_exchange", "gfx1100"),
    ("spec_size", "sm_75"),
];

/// Damages for each kernel, unless the environment has another number.
const DAMAGES: u32 = 60;

pub(crate) fn trials() -> Vec<Trial> {
    let damages = std::env::var("SPLITBAR_HOSTILE")
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(DAMAGES);
    KERNELS
        .into_iter()
        .map(|(kernel, target)| {
            trial(format!("hostile/{kernel}/{target}"), move || {
                survive(kernel, target, damages)
            })
        })
        .chain(LARGE.map(|(name, shape, count)| {
            trial(format!("hostile/{count}_{name}"), move || {
                answer(shape, count)
            })
        }))
        .collect()
}

/// A kernel of a size.
type Shape = fn(usize) -> Result<Vec<u8>>;

/// Large kernels, each of one kind of control flow.
const LARGE: [(&str, Shape, usize); 3] = [
    ("ifs", branches, 20_000),
    ("loops", loops, 400),
    ("pairs", pairs, 10_000),
];

/// The seconds that a large kernel may take.
const SECONDS: u32 = 10;

/// A large kernel is compiled, or a diagnostic reports that it needs too much time, soon after the
/// limit at the latest.
fn answer(shape: Shape, count: usize) -> Result<()> {
    let module = shape(count)?;
    let limit = SECONDS.to_string();
    tools::splitbar()?; // whose build does not count
    let begin = Instant::now();
    let arguments = ["lower", "-", "--target", "gfx1201", "--time-limit", &limit];
    let ran = run(&arguments, &module, false)?;
    ensure!(
        ran.code == Some(0) || ran.code == Some(3) && ran.stderr.contains("SB0387"),
        "exit code {:?}\n{}",
        ran.code,
        ran.stderr.chars().take(600).collect::<String>()
    );
    ensure!(
        begin.elapsed() < Duration::from_secs(3 * u64::from(SECONDS)),
        "{:?}",
        begin.elapsed()
    );
    Ok(())
}

fn survive(kernel: &str, target: &str, damages: u32) -> Result<()> {
    let module = Fixture::load(kernel)?.module()?;
    let mut wrong = Vec::new();
    let mut refused = 0;
    for number in 0..damages {
        let (damaged, what) = damage(&module, number);
        let ran = run(&["lower", "-", "--target", target], &damaged, true)?;
        match ran.code {
            Some(0) => {}
            Some(1 | 3) => refused += 1,
            code => {
                let said: String = ran.stderr.chars().take(600).collect();
                wrong.push(format!(
                    "damage {number}, {what}: exit code {code:?}\n{said}"
                ));
            }
        }
    }
    ensure!(
        refused > 0,
        "nothing was refused: the damage does no damage"
    );
    ensure!(
        wrong.is_empty(),
        "{} of {damages}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

/// The module with damage of this number, and a description of the damage.
fn damage(module: &[u8], number: u32) -> (Vec<u8>, String) {
    let mut state = number.wrapping_mul(0x9e37_79b9) ^ 0x5b17_ba12;
    let mut random = |below: u32| {
        // Xorshift: any sequence does, as long as it is always the same.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below.max(1)
    };
    let mut words: Vec<u32> = module
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let count = words.len() as u32;
    // The header is left alone: its damage is tried by the reader's own tests.
    let at = 5 + random(count - 5) as usize;
    let other = 5 + random(count - 5) as usize;
    let what = match number % 6 {
        0 => {
            words[at] = [0, 1, 0xffff, 0xffff_ffff, 0x7fff_ffff][random(5) as usize];
            format!("word {at} is {:#x}", words[at])
        }
        1 => {
            words[at] = random(120);
            format!("word {at} is the id or number {}", words[at])
        }
        2 => {
            words[at] = words[other];
            format!("word {at} is a copy of word {other}")
        }
        3 => {
            words.swap(at, other);
            format!("words {at} and {other} are swapped")
        }
        4 => {
            words.remove(at);
            format!("word {at} is gone")
        }
        _ => {
            words[at] ^= 1 << random(32);
            format!("word {at} has a flipped bit")
        }
    };
    (
        words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        what,
    )
}
