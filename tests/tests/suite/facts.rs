//! The table of instruction facts against final code: the memory that the simulator sees an
//! instruction access lies within its row. The simulator knows nothing of the table.

use crate::sim::inputs;
use crate::support::{compile_bytes, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use spirv::StorageClass;
use splitbar::Optimization;
use splitbar::simulate::Job;
use splitbar::simulate::machine::memory::Space;
use splitbar::simulate::machine::{Accessed, Schedule};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::facts::{Class, Operand};
use splitbar_passes::module::{Declarations, Inst, Module, Type, WordOffset};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference;

const TARGETS: [&str; 3] = ["gfx942", "gfx1201", "sm_90"];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in TARGETS {
            for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
                let fixture = fixture.clone();
                let name = format!("facts/{}/{target}/O{level}", fixture.name);
                trials.push(trial(name, move || {
                    linkable(target)?;
                    accesses_are_described(&fixture, target, optimization)
                }));
            }
        }
    }
    trials
}

fn accesses_are_described(
    fixture: &Fixture,
    target: &str,
    optimization: Optimization,
) -> Result<()> {
    let case = reference::case(&fixture.name).context("no host reference")?;
    let bytes = fixture.module()?;
    let output = compile_bytes(&bytes, target, |options| {
        options.lines = true;
        options.optimization = optimization;
    })?;
    let mut inputs = inputs(&case);
    inputs.limits.accesses = true;
    let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
    let mut problems = Diagnostics::new();
    let module = Module::parse(&bytes).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let declarations = Declarations::of(&module, &mut problems);
    let mut described = 0;
    for access in &outcome.report.accesses {
        let word = access.place.word.filter(|word| *word > 0);
        let Some(inst) = word.and_then(|word| module.at(WordOffset(word))) else {
            continue; // code that belongs to no instruction
        };
        ensure!(
            is_described(&declarations, inst, access),
            "{} at word {} {} {}, and its row does not say so: {}",
            inst.name(),
            inst.offset,
            if access.write { "writes" } else { "reads" },
            access.space.name(),
            access.place.text
        );
        described += 1;
    }
    ensure!(described > 0, "no access has an instruction");
    Ok(())
}

fn is_described<'m>(declarations: &Declarations<'m>, inst: Inst<'m>, access: &Accessed) -> bool {
    let facts = declarations.facts(inst);
    let uses_reserved_memory = facts.is_synchronizing()
        || facts.active_lanes
        || facts.class == Class::Exit
        || facts.class == Class::Declaration;
    if access.space == Space::Shared && uses_reserved_memory {
        return true; // barrier objects and exchanges of the lowering
    }
    let mut found = facts.class == Class::Print && access.write;
    declarations.accesses(inst, |id, one| {
        let role = match access.write {
            true => one.role.writes(),
            false => one.role.reads(),
        };
        let class = match declarations.type_of(id).and_then(|ty| declarations.ty(ty)) {
            Some(Type::Pointer { class, .. }) => Some(*class),
            _ => None, // a vector of pointers, an image or a tensor
        };
        let space = match (one.kind, class) {
            (Operand::Image | Operand::Tensor, _) => access.space == Space::Global,
            (_, Some(StorageClass::Workgroup)) => access.space == Space::Shared,
            (_, Some(StorageClass::Generic) | None) => true,
            (_, Some(StorageClass::Function | StorageClass::Private | StorageClass::Input)) => {
                false
            }
            (_, Some(_)) => access.space == Space::Global,
        };
        found |= role && space;
    });
    found
}
