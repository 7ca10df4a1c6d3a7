//! The same options give the same code through every interface: the program, a batch, the library,
//! a worker process, and the simulator. C and Python have the same test in their own suites.

use crate::cli::{expect, path};
use crate::isolate::isolation;
use crate::support::{is_nvptx, linkable, trial};
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use splitbar::{Compiler, Options, Product, Target, compile_isolated};
use splitbar_tests::fixture::Fixture;
use std::collections::BTreeMap;

/// Kernels with pairs, with both kinds of barriers, and with plain barriers, on GPUs where the
/// options make a difference to them.
const CASES: [(&str, &str); 4] = [
    ("reduction", "gfx1201"),
    ("tiled_matmul", "gfx1201"),
    ("tiled_matmul", "sm_90"),
    ("plain_matmul", "gfx1201"),
];

/// GPUs of simulated launches.
const SIMULATED: [&str; 4] = ["gfx942", "gfx1201", "sm_80", "sm_90"];

/// Options, by their names and values.
type Settings = &'static [(&'static str, &'static str)];

/// The first four all mean the default.
const SETTINGS: [Settings; 8] = [
    &[],
    &[("strategy", "auto")],
    &[("strategy", "auto=balanced")],
    &[("split-barriers", "never")],
    &[("strategy", "auto=fast")],
    &[("strategy", "auto=always-split")],
    &[("split-barriers", "auto")],
    &[("split-barriers", "always"), ("strategy", "auto")],
];

/// The number of them that mean the default.
const DEFAULTS: usize = 4;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (kernel, target) in CASES {
        let name = format!("same_bytes/{kernel}/{target}");
        trials.push(trial(name, move || everywhere(kernel, target)));
    }
    for target in SIMULATED {
        let name = format!("same_bytes/simulated/{target}");
        trials.push(trial(name, move || simulated(target)));
    }
    trials
}

/// The flags of the program for `settings`.
fn flags(settings: Settings) -> Vec<String> {
    let flags = settings.iter();
    flags
        .map(|(name, value)| format!("--{name}={value}"))
        .collect()
}

/// The program, a batch, the library and a worker make the same assembly.
fn everywhere(kernel: &str, target: &'static str) -> Result<()> {
    let module = path(kernel)?;
    let bytes = Fixture::load(kernel)?.module()?;
    let extension = if is_nvptx(target) { "ptx" } else { "s" };
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("in");
    std::fs::create_dir(&input)?;
    std::fs::write(input.join(format!("{kernel}.spv")), &bytes)?;
    let input = input.to_str().context("the path is no text")?;
    let mut made = Vec::new();
    for (number, settings) in SETTINGS.into_iter().enumerate() {
        let flags = flags(settings);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let lower = ["lower", &module, "--target", target];
        let program = expect(&[&lower[..], &flags].concat(), b"", 0)?.stdout;

        let mut options = Options::new(Target::by_name(target).context("no such target")?);
        for (name, value) in settings {
            options.set(name, value).map_err(|why| anyhow!(why))?;
        }
        let refused = |failure: splitbar::Failure| anyhow!("{}", failure.diagnostics);
        let output = Compiler::new(&options)
            .compile(&bytes[..])
            .map_err(refused)?;
        let library = output.assembly().map_err(|found| anyhow!("{found}"))?;
        ensure!(library.as_bytes() == program, "the library: {settings:?}");

        let isolation = isolation()?;
        let products = [Product::Assembly];
        let isolated = compile_isolated(&bytes[..], &options, &products, &isolation);
        let isolated = isolated.map_err(refused)?.products;
        ensure!(isolated == [program.clone()], "a worker: {settings:?}");

        let out = folder.path().join(number.to_string());
        let out = out.to_str().context("the path is no text")?;
        let batch = ["batch", input, "--targets", target, "-o", out, "--"];
        expect(&[&batch[..], &flags].concat(), b"", 0)?;
        let file = format!("{out}/{target}/{kernel}.{extension}");
        let batch = std::fs::read(&file).context(file)?;
        ensure!(batch == program, "a batch: {settings:?}");
        made.push(program);
    }
    let [first, others @ ..] = &made[..] else {
        return Ok(());
    };
    for (other, settings) in others.iter().take(DEFAULTS - 1).zip(&SETTINGS[1..]) {
        ensure!(other == first, "not the default: {settings:?}");
    }
    let different: BTreeMap<&Vec<u8>, ()> = made.iter().map(|code| (code, ())).collect();
    ensure!(different.len() > 1, "the options change nothing");
    Ok(())
}

/// The simulator runs the code that the program generates: its estimate of a module is the estimate
/// of the code from `lower`.
fn simulated(target: &'static str) -> Result<()> {
    linkable(target)?;
    let module = path("reduction")?;
    let folder = tempfile::tempdir()?;
    let kind = if is_nvptx(target) { "asm" } else { "hsaco" };
    for settings in SETTINGS {
        let flags = flags(settings);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let code = folder.path().join("code");
        let code = code.to_str().context("the path is no text")?;
        let emit = format!("{kind}={code}");
        let lower = ["lower", &module, "--target", target, "--emit", &emit];
        expect(&[&lower[..], &flags].concat(), b"", 0)?;
        let time = |input: &str, names: [&str; 3], flags: &[&str]| -> Result<(Value, Value)> {
            let contents = ["seq:u32:384", "zeros:12", "zeros:1536"];
            let buffers = names.iter().zip(contents);
            let buffers: Vec<String> = buffers
                .map(|(name, content)| format!("--buffer={name}={content}"))
                .collect();
            let sim = ["sim", input, "--target", target, "--groups", "3,1,1"];
            let timing = ["--timing", "--resident", "1", "--format", "json"];
            let buffers: Vec<&str> = buffers.iter().map(String::as_str).collect();
            let size = ["--workgroup-size", "128,1,1"];
            let size = if input == code { &size[..] } else { &[] };
            let all = [&sim[..], &timing, &buffers, flags, size].concat();
            let report: Value = serde_json::from_slice(&expect(&all, b"", 0)?.stdout)?;
            let estimate = &report["estimate"];
            Ok((estimate["cycles"].clone(), estimate["issued"].clone()))
        };
        let of_module = time(&module, ["0:0", "0:1", "0:2"], &flags)?;
        let of_code = time(code, ["0", "1", "2"], &[])?;
        ensure!(
            of_module == of_code && of_module.0.is_u64(),
            "{settings:?}: {of_module:?}, and {of_code:?} of the code"
        );
    }
    Ok(())
}
