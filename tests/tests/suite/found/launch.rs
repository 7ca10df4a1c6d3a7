//! A launch of a generated program, the results that it must leave, and both as a table.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use splitbar::BufferName;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{Inputs, Job};
use std::fmt::Write as _;

/// Words in one line of a table.
const WORDS_OF_A_LINE: usize = 8;

/// A word that may be anything.
const ANY: &str = "-";

/// A launch, and what it must leave.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The buffers are those of set 0, from binding 0.
    pub(crate) inputs: Inputs,
    /// The numbers of the schedules of `seed`.
    pub(crate) schedules: Vec<u32>,
    pub(crate) seed: u64,
    /// Bindings, each with its words in the end; `None` for one that may be anything.
    pub(crate) wanted: Vec<(usize, Vec<Option<u32>>)>,
}

impl Launch {
    /// A launch of `groups` workgroups in x with these buffers.
    pub(crate) fn new(groups: u32, buffers: Vec<Vec<u8>>, seed: u64) -> Launch {
        let places = (0..).map(|binding| BufferName::Binding(0, binding));
        Launch {
            inputs: Inputs::new([groups, 1, 1], places.zip(buffers).collect()),
            schedules: vec![0],
            seed,
            wanted: Vec::new(),
        }
    }

    /// Adds the words that must be in the end of buffer `binding`.
    pub(crate) fn leaves(mut self, binding: usize, words: &[u32]) -> Launch {
        let words = words.iter().copied().map(Some).collect();
        self.wanted.push((binding, words));
        self
    }

    /// That the kernel leaves what it must with each schedule, and nothing is found.
    pub(crate) fn is_right(&self, job: &Job) -> Result<()> {
        for number in &self.schedules {
            let schedule = Schedule::nth(*number, self.seed);
            let outcome = job.run(&self.inputs, schedule)?;
            if let Some(finding) = outcome.report.findings.first() {
                bail!("{schedule}: {finding}");
            }
            for (binding, wanted) in &self.wanted {
                let buffer = outcome.buffers.get(*binding).context("no such buffer")?;
                let found = words(buffer);
                ensure!(
                    found.len() == wanted.len(),
                    "binding {binding} has {} words instead of {}",
                    found.len(),
                    wanted.len()
                );
                for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                    if let Some(wanted) = wanted.filter(|wanted| wanted != found) {
                        bail!(
                            "{schedule}: word {at} of binding {binding} is {found:#x} instead of {wanted:#x}"
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the launch as tables.
    pub(super) fn write(&self, text: &mut String) -> Result<()> {
        writeln!(text, "[launch]\ngroups = {:?}", self.inputs.groups)?;
        writeln!(text, "schedules = {:?}", self.schedules)?;
        // The integers of TOML have 63 bits.
        writeln!(text, "seed = '{}'", self.seed)?;
        written(text, "push", words(&self.inputs.push).into_iter().map(Some))?;
        for (_, buffer) in &self.inputs.buffers {
            writeln!(text, "\n[[launch.buffers]]")?;
            written(text, "words", words(buffer).into_iter().map(Some))?;
        }
        for (binding, wanted) in &self.wanted {
            writeln!(text, "\n[[launch.wanted]]\nbinding = {binding}")?;
            written(text, "words", wanted.iter().copied())?;
        }
        Ok(())
    }
}

/// [`Launch`] in a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchTable {
    groups: [u32; 3],
    schedules: Vec<u32>,
    seed: String,
    push: String,
    buffers: Vec<Buffer>,
    #[serde(default)]
    wanted: Vec<Wanted>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Buffer {
    words: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    binding: usize,
    words: String,
}

impl LaunchTable {
    /// The launch of the table.
    pub(super) fn launch(&self) -> Result<Launch> {
        let buffers = self.buffers.iter().map(|buffer| bytes(&buffer.words));
        let mut launch = Launch::new(0, buffers.collect::<Result<_>>()?, self.seed.parse()?);
        launch.inputs.groups = self.groups;
        launch.inputs.push = bytes(&self.push)?;
        launch.schedules.clone_from(&self.schedules);
        for wanted in &self.wanted {
            launch.wanted.push((wanted.binding, read(&wanted.words)?));
        }
        Ok(launch)
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// Words as a text: hexadecimal digits, `-` for any word, `7*12` for twelve equal ones.
fn written(text: &mut String, name: &str, words: impl Iterator<Item = Option<u32>>) -> Result<()> {
    let mut runs: Vec<(Option<u32>, usize)> = Vec::new();
    for word in words {
        match runs.last_mut() {
            Some((last, count)) if *last == word => *count += 1,
            Some(_) | None => runs.push((word, 1)),
        }
    }
    let parts: Vec<String> = runs
        .iter()
        .map(|(word, count)| {
            let word = word.map_or(ANY.to_owned(), |word| format!("{word:x}"));
            match count {
                1 => word,
                count => format!("{word}*{count}"),
            }
        })
        .collect();
    let lines: Vec<String> = parts
        .chunks(WORDS_OF_A_LINE)
        .map(|line| line.join(" "))
        .collect();
    writeln!(text, "{name} = '''\n{}'''", lines.join("\n"))?;
    Ok(())
}

/// The words of a text of [`written`].
fn read(text: &str) -> Result<Vec<Option<u32>>> {
    let mut words = Vec::new();
    for part in text.split_whitespace() {
        let (word, count) = part.split_once('*').unwrap_or((part, "1"));
        let word = match word {
            ANY => None,
            word => Some(u32::from_str_radix(word, 16).with_context(|| word.to_owned())?),
        };
        words.extend(std::iter::repeat_n(word, count.parse()?));
    }
    Ok(words)
}

/// The bytes of a text of [`written`] in which each word is known.
fn bytes(text: &str) -> Result<Vec<u8>> {
    let words = read(text)?.into_iter();
    let words: Option<Vec<[u8; 4]>> = words.map(|word| word.map(u32::to_le_bytes)).collect();
    Ok(words.context("a word of a buffer is unknown")?.concat())
}
