//! Compute modules on a Vulkan driver for the CPU (lavapipe): a second opinion on the meaning of a
//! module.
//!
//! Each launch has a process of its own: [`run`] starts the program, which calls [`serve`]. A
//! driver that hangs is ended, one that crashes is an answer.

mod image;

pub use image::{Compare, Image, Outside, Sampler, Shape};

use crate::ffi::vulkan::{Bound, Descriptor, Launch, Trouble, run as launch};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::FUSE_SPLIT_BARRIERS;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The module's words. It has no split barriers, because no Vulkan driver for CPUs supports
    /// them.
    pub module: Vec<u32>,
    /// The entry point.
    pub entry: String,
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The sampled images.
    pub images: Vec<Image>,
    /// The samplers.
    pub samplers: Vec<Sampler>,
    /// The push-constant block.
    pub push: Vec<u8>,
    /// Specialization constants of four bytes, by SpecId.
    pub spec: Vec<(u32, u32)>,
}

/// A buffer of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// The descriptor set.
    pub set: u32,
    /// The binding.
    pub binding: u32,
    /// True for a uniform buffer, false for a storage buffer.
    pub uniform: bool,
    /// Its content.
    pub words: Vec<u32>,
}

/// The outcome of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It ran on this device; the words of the buffers afterwards.
    Done(String, Vec<Vec<u32>>),
    /// There is no such driver, and why.
    NoDevice(String),
    /// The driver does not take it, crashes or hangs.
    Failed(String),
}

/// The module with its split barriers made whole, as words.
///
/// # Errors
/// The bytes are no module, or its pairs cannot be fused.
pub fn fused(bytes: &[u8]) -> Result<Vec<u32>> {
    let told = |problems: Diagnostics| anyhow::anyhow!("{problems}");
    let pass = FUSE_SPLIT_BARRIERS;
    let options = pass.options(None).map_err(anyhow::Error::msg)?;
    let module = Module::parse(bytes).map_err(told)?.into_owned();
    let steps = [Step { pass, options }];
    let outcome = pipeline::run(module, &steps, Settings::default(), &mut |_, _| {});
    Ok(outcome.map_err(told)?.module.words().to_vec())
}

/// Runs a launch in a child process: `program` with the argument `vulkan`.
///
/// # Errors
/// The program cannot be started or answers something else.
pub fn run(program: &Path, job: &Job, limit: Duration) -> Result<Answer> {
    let mut child = Command::new(program)
        .arg("vulkan")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| program.display().to_string())?;
    let mut input = child.stdin.take().context("no input")?;
    let mut output = child.stdout.take().context("no output")?;
    let text = serde_json::to_vec(job)?;
    let writer = std::thread::spawn(move || {
        // A child that ended early reads nothing; its status says so.
        let _ = input.write_all(&text);
    });
    let (sender, answers) = channel();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.read_to_end(&mut text);
        let _ = sender.send(read.map(|_| text));
    });
    let answer = match answers.recv_timeout(limit) {
        Ok(text) => {
            let (text, status) = (text?, child.wait()?);
            match (status.success(), text.is_empty()) {
                (true, false) => serde_json::from_slice(&text)?,
                _ => Answer::Failed(format!("the driver's process ended: {status}")),
            }
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Answer::Failed(format!("no end after {} s", limit.as_secs()))
        }
    };
    let _ = child.kill();
    child.wait()?;
    let _ = (writer.join(), reader.join());
    Ok(answer)
}

/// The child: reads a launch, runs it, writes the answer.
///
/// # Errors
/// The input is no launch, or nobody reads the answer.
pub fn serve(input: &mut dyn Read, output: &mut dyn Write, limit: Duration) -> Result<()> {
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    let job: Job = serde_json::from_slice(&text)?;
    let mut buffers: Vec<Bound> = job
        .buffers
        .iter()
        .map(|buffer| Bound {
            set: buffer.set,
            binding: buffer.binding,
            descriptor: if buffer.uniform {
                Descriptor::Uniform
            } else {
                Descriptor::Storage
            },
            bytes: crate::check::bytes(&buffer.words),
        })
        .collect();
    let order = Launch {
        module: &job.module,
        entry: &job.entry,
        groups: job.groups,
        constants: &job.push,
        images: &job.images,
        samplers: &job.samplers,
        spec: &job.spec,
        limit,
    };
    let answer = match launch(&order, &mut buffers) {
        Ok(device) => {
            let words = buffers
                .iter()
                .map(|buffer| crate::check::words(&buffer.bytes));
            Answer::Done(device, words.collect())
        }
        Err(Trouble::NoDevice(why)) => Answer::NoDevice(why),
        Err(Trouble::Refused(why)) => Answer::Failed(why),
    };
    Ok(serde_json::to_writer(output, &answer)?)
}
