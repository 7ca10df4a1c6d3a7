//! `splitbar audit`: what may be outstanding at each barrier of final AMDGPU code.

use super::input::read;
use super::{AuditArgs, Format, Release, write};
use serde::Deserialize;
use splitbar::asm::{Function, Role};
use splitbar::waits::{self, Audit, Demand};
use splitbar::{asm, exit, machine_code};
use splitbar_plan::{Fence, FenceMemory, FenceOrder, FenceScope};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Audits as `args` ask and gives the exit code: 1 if a barrier releases what may be outstanding.
pub fn run(args: &AuditArgs) -> u8 {
    match audit(args) {
        Ok(audits) => {
            let text = match args.report {
                Format::Text => audits
                    .iter()
                    .map(Audit::to_string)
                    .collect::<Vec<_>>()
                    .join("\n"),
                Format::Json => json(&audits),
            };
            let written = write::to_stdout(text.as_bytes());
            if audits.iter().all(Audit::is_clean) {
                written
            } else {
                exit::INVALID
            }
        }
        Err(why) => {
            eprintln!("error: {why}");
            exit::USAGE
        }
    }
}

fn audit(args: &AuditArgs) -> Result<Vec<Audit>, String> {
    let name = args.input.display();
    let gpu = args.target.amdgpu().ok_or_else(|| {
        format!(
            "{} is no AMD GPU: PTX has no counters to wait for, ptxas waits by itself",
            args.target.name
        )
    })?;
    let bytes = read(&args.input)?;
    let functions = if bytes.starts_with(b"\x7fELF") {
        machine_code::functions(&bytes, args.target).map_err(|why| format!("{name}: {why}"))?
    } else {
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("{name} is neither an object nor assembly text"))?;
        asm::amdgpu::parse(&text)
    };
    if functions.is_empty() {
        return Err(format!(
            "{name} has no function (`.type NAME,@function` announces one)"
        ));
    }
    let plan = args.plan.as_deref().map(plan).transpose()?;
    functions
        .iter()
        .map(|function| {
            let demands = match &plan {
                Some(plan) => planned(function, plan)?,
                None => args
                    .release
                    .map_or_else(BTreeMap::new, |release| assumed(function, release)),
            };
            waits::audit(function, gpu, &demands)
        })
        .collect()
}

/// What of `--emit reflect` is read back.
#[derive(Deserialize)]
struct Reflected {
    audit: Option<Audit>,
}

fn plan(path: &Path) -> Result<Vec<Audit>, String> {
    let name = path.display();
    let entries: Vec<Reflected> = serde_json::from_slice(&read(path)?).map_err(|error| {
        format!("{name} is not what `splitbar lower --audit --emit reflect` writes: {error}")
    })?;
    entries
        .into_iter()
        .map(|entry| {
            entry.audit.ok_or_else(|| {
                format!(
                    "{name} has no audit: write it with `splitbar lower --audit --emit reflect`"
                )
            })
        })
        .collect()
}

/// The demands that the plan has on this code, which must be the code that it was made with.
fn planned(function: &Function, plan: &[Audit]) -> Result<BTreeMap<usize, Demand>, String> {
    let Some(audit) = plan.iter().find(|audit| audit.kernel == function.name) else {
        return Ok(BTreeMap::new()); // a function that is no kernel
    };
    let fits = |barrier: &waits::Barrier| {
        function
            .instructions
            .get(barrier.at.position)
            .is_some_and(|inst| inst.mnemonic == barrier.at.mnemonic)
    };
    if !audit.barriers.iter().all(fits) {
        return Err(format!(
            "the plan is not of this code: the barriers of {} stand elsewhere (was it made with the same options?)",
            function.name
        ));
    }
    Ok(audit
        .barriers
        .iter()
        .filter_map(|barrier| Some((barrier.at.position, barrier.demand.clone()?)))
        .collect())
}

/// The same demand on every barrier.
fn assumed(function: &Function, release: Release) -> BTreeMap<usize, Demand> {
    let memory = match release {
        Release::Local => FenceMemory::Local,
        Release::Global => FenceMemory::Global,
        Release::All => FenceMemory::All,
    };
    let fence = Fence {
        order: FenceOrder::Release,
        scope: FenceScope::Workgroup,
        memory,
    };
    let demand = Demand {
        fences: vec![fence],
        exempt: BTreeSet::new(),
    };
    let arrives = |role| match role {
        Role::Arrive | Role::ArriveAndWait => true,
        Role::Wait | Role::Work | Role::Housekeeping => false,
    };
    function
        .instructions
        .iter()
        .enumerate()
        .filter(|(_, inst)| arrives(inst.role))
        .map(|(position, _)| (position, demand.clone()))
        .collect()
}

fn json(audits: &[Audit]) -> String {
    // Serialising plain structs to a string has no way to fail: no maps, no foreign impls.
    let mut text = serde_json::to_string_pretty(audits).unwrap_or_default();
    text.push('\n');
    text
}
