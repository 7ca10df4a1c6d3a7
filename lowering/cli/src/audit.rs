//! `splitbar audit`: what may be outstanding at each barrier of final code, and what is missing of
//! the fences around it.

use super::input::read;
use super::stop::Stop;
use super::{AuditArgs, Format, Memory, report, write};
use serde::Deserialize;
use splitbar::asm::{Function, Role};
use splitbar::fences::{Clause, Demand};
use splitbar::verdict::{self, Audit};
use splitbar::{Placement, asm, exit, machine_code, require_llvm};
use splitbar_plan::target::Arch;
use splitbar_plan::{Fence, FenceOrder};
use std::collections::BTreeMap;
use std::path::Path;

/// Audits as `args` ask and gives the exit code: 1 if something is missing.
pub(super) fn run(args: &AuditArgs) -> u8 {
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
        Err(Stop::Problems(failure)) => {
            report::show(&failure.diagnostics, &args.input, Format::Text);
            failure.exit_code()
        }
        Err(Stop::Usage(why)) => {
            write::error(&why);
            exit::USAGE
        }
    }
}

fn audit(args: &AuditArgs) -> Result<Vec<Audit>, Stop> {
    let name = args.input.display();
    let arch = &args.target.arch;
    let bytes = read(&args.input)?;
    let functions = match arch {
        Arch::Amdgpu(_) if bytes.starts_with(b"\x7fELF") => {
            require_llvm("reading machine code")?;
            machine_code::functions(&bytes, args.target).map_err(|why| format!("{name}: {why}"))?
        }
        Arch::Amdgpu(_) | Arch::Nvptx(_) => {
            let text = String::from_utf8(bytes)
                .map_err(|_| format!("{name} is neither an object nor assembly text"))?;
            asm::parse(&text, arch).map_err(|error| format!("{name}: {error}"))?
        }
    };
    if functions.is_empty() {
        let announced = match arch {
            Arch::Amdgpu(_) => "`.type NAME,@function`",
            Arch::Nvptx(_) => "`.entry` or `.func`",
        };
        return Err(format!("{name} has no function ({announced} announces one)").into());
    }
    let plan = args.plan.as_deref().map(plan).transpose()?;
    let placement = super::placement(args.cu_mode, args.tgsplit);
    if !placement.exists_on(args.target) {
        return Err(format!("{} has no {}", args.target.name, placement.name()).into());
    }
    let audits = functions.iter().map(|function| match &plan {
        Some(plan) => planned(function, plan, arch),
        None => verdict::audit(function, arch, placement, &assumed(function, args)),
    });
    Ok(audits.collect::<Result<_, String>>()?)
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

/// Audits against the plan's demands on this code, which must be the code that the plan was made
/// with.
fn planned(function: &Function, plan: &[Audit], arch: &Arch) -> Result<Audit, String> {
    let Some(audit) = plan.iter().find(|audit| audit.kernel == function.name) else {
        // A function that is not a kernel.
        return verdict::audit(function, arch, Placement::Default, &BTreeMap::new());
    };
    let fits = |barrier: &verdict::Barrier| {
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
    audit.of_changed(function, arch)
}

/// The same demand on every barrier: what is to be released on its arriving side, and acquired on
/// its waiting side.
fn assumed(function: &Function, args: &AuditArgs) -> BTreeMap<usize, Demand> {
    let clauses = |order, memory: Option<Memory>, role: Role, sides: [Role; 2]| {
        let memory = memory.filter(|_| sides.contains(&role));
        let clause = memory.map(|memory| {
            Clause::everything(Fence {
                order,
                scope: args.scope.into(),
                memory: memory.into(),
            })
        });
        clause.into_iter().collect()
    };
    let demand = |role| Demand {
        release: clauses(
            FenceOrder::Release,
            args.release,
            role,
            [Role::Arrive, Role::ArriveAndWait],
        ),
        acquire: clauses(
            FenceOrder::Acquire,
            args.acquire,
            role,
            [Role::Wait, Role::ArriveAndWait],
        ),
    };
    let instructions = function.instructions.iter().enumerate();
    instructions
        .map(|(position, inst)| (position, demand(inst.role)))
        .filter(|(_, demand)| !demand.is_empty())
        .collect()
}

fn json(audits: &[Audit]) -> String {
    // Serialising plain structs to a string has no way to fail: no maps, no foreign impls.
    let mut text = serde_json::to_string_pretty(audits).unwrap_or_default();
    text.push('\n');
    text
}
