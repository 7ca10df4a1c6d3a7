//! Outputs as such: the same bytes every time, and a reflection that names the launch.

use crate::support::{compile, compile_bytes, is_nvptx, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use splitbar::{Optimization, Output};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::schema::Schemas;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in ["gfx1201", "sm_90"] {
            let again = fixture.clone();
            trials.push(trial(
                format!("deterministic/{}/{target}", fixture.name),
                move || deterministic(&again, target),
            ));
            let reflected = fixture.clone();
            trials.push(trial(
                format!("reflect/{}/{target}", fixture.name),
                move || reflect(&reflected, target),
            ));
        }
    }
    trials
}

fn deterministic(fixture: &Fixture, target: &str) -> Result<()> {
    let all = || -> Result<_> {
        let output = compile(fixture, target, Optimization::O2)?;
        let (plan, reflection, bitcode) = (output.plan(), output.reflect(), output.bitcode());
        Ok((plan, reflection, bitcode, code(&output)?))
    };
    let first = all()?;
    ensure!(
        first.3.object.is_some() != is_nvptx(target),
        "objects are for AMDGPU alone"
    );
    ensure!(first == all()?, "two runs differ");
    let measured = compile_bytes(&fixture.module()?, target, |options| {
        options.measure = true;
    })?;
    ensure!(
        first.3 == code(&measured)?,
        "the code is another one when its windows are measured"
    );
    Ok(())
}

/// The outputs that must not depend on a measurement. (Bitcode then numbers its types in another
/// order.)
#[derive(PartialEq)]
struct Code {
    ir: String,
    assembly: String,
    object: Option<Vec<u8>>,
}

fn code(output: &Output) -> Result<Code> {
    Ok(Code {
        ir: output.ir(),
        assembly: told(output.assembly())?,
        object: output.object().ok(),
    })
}

fn reflect(fixture: &Fixture, target: &str) -> Result<()> {
    let output = compile_bytes(&fixture.module()?, target, |options| {
        options.measure = true;
    })?;
    let reflection: Value = serde_json::from_str(&output.reflect())?;
    Schemas::read()?.check("reflection.json", &reflection)?;
    let [entry] = reflection.as_array().context("not an array")?.as_slice() else {
        anyhow::bail!("not one entry");
    };
    ensure!(entry["target"] == target, "target {}", entry["target"]);
    let launch = &fixture.expectations.reference;
    ensure!(
        entry["workgroup_size"] == serde_json::json!(launch.workgroup_size),
        "workgroup size {}",
        entry["workgroup_size"]
    );

    let arguments = entry["arguments"].as_array().context("no arguments")?;
    for (index, argument) in arguments.iter().enumerate() {
        ensure!(argument["index"] == index, "arguments out of order");
    }
    for buffer in &launch.buffers {
        let found = arguments.iter().any(|argument| match buffer.binding {
            Some([set, binding]) => {
                argument["kind"] == "global_buffer"
                    && argument["set"] == set
                    && argument["binding"] == binding
            }
            None => argument["index"] == serde_json::json!(buffer.argument),
        });
        ensure!(found, "no argument for {}: {arguments:?}", buffer.name);
    }
    let constants: Vec<&Value> = arguments
        .iter()
        .filter(|argument| argument["kind"] == "push_constant")
        .collect();
    let words = launch.push_constants.len();
    match constants.as_slice() {
        [] => ensure!(words == 0, "no push constants"),
        [block] => ensure!(
            block["size"] == words * 4,
            "{words} words of push constants, reflected as {block}"
        ),
        more => anyhow::bail!("{} push-constant blocks", more.len()),
    }

    launchable(entry)?;
    let pairs = entry["pairs"].as_array().context("no pairs")?;
    ensure!(
        pairs.len() == fixture.expectations.pairs.len(),
        "{} pairs",
        pairs.len()
    );
    for (pair, expected) in pairs.iter().zip(&fixture.expectations.pairs) {
        ensure!(
            pair["scope"] == expected.scope.as_str(),
            "scope {}",
            pair["scope"]
        );
        let window = &pair["window"];
        let (source, kept) = (window["source"].as_u64(), window["kept"].as_u64());
        ensure!(
            kept.context("kept")? <= source.context("source")?,
            "more kept than there was: {window}"
        );
    }
    Ok(())
}

/// Checks the values that a launcher computes with: the offset of every argument is a multiple of
/// its alignment, and the workgroup memory is that of the code object (AMDGPU).
fn launchable(entry: &Value) -> Result<()> {
    let number = |value: &Value| value.as_u64().context("no number");
    let (bytes, align) = (
        number(&entry["kernarg_segment_size"])?,
        number(&entry["kernarg_segment_align"])?,
    );
    let mut end = 0;
    for argument in entry["arguments"].as_array().context("no arguments")? {
        let (offset, own) = (number(&argument["offset"])?, number(&argument["align"])?);
        ensure!(
            offset >= end && offset.is_multiple_of(own) && align.is_multiple_of(own),
            "{argument} in a block aligned to {align}"
        );
        end = offset + number(&argument["size"])?;
        let by_value = ["push_constant", "by_value", "array_length", "work_dim"];
        let kind = argument["kind"].as_str().context("no kind")?;
        ensure!(
            by_value.contains(&kind) != argument["pointee_align"].is_u64(),
            "{argument}: an address without an alignment"
        );
    }
    ensure!(end == bytes, "the arguments end at {end}, not {bytes}");
    if let Some(used) = entry["resource_usage"]["shared_memory_bytes"].as_u64() {
        let says = number(&entry["shared_memory_bytes"])?
            + number(&entry["reserved_shared_memory_bytes"])?;
        ensure!(used == says, "{used} bytes of workgroup memory, not {says}");
    }
    Ok(())
}
