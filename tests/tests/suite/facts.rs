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
use splitbar_passes::module::{Declarations, Id, Inst, Module, Type, WordOffset};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference;
use std::collections::BTreeSet;

/// Most instructions that are looked at for one access.
const MOST_SOURCES: usize = 64;

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
        let Some(inst) = word.and_then(|word| module.at(WordOffset::new(word))) else {
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

/// Returns true if the row of `inst` has the access, or the rows of what it is computed from: LLVM
/// narrows a load to the component that is extracted, and takes a value from memory where a
/// variable has it. The loop of an asynchronous copy has the place of a branch, and what LLVM moves
/// to the end of a block has that of the block's branch.
fn is_described<'m>(declarations: &Declarations<'m>, inst: Inst<'m>, access: &Accessed) -> bool {
    let is_copy = |inst: Inst<'_>| inst.facts().class == Class::AsyncCopy;
    if inst.facts().class == Class::Branch {
        let function = declarations.function_at(inst.offset);
        let mut blocks = function.into_iter().flat_map(|function| &function.blocks);
        let block = blocks.find(|block| block.insts.iter().any(|one| one.offset == inst.offset));
        let mut insts = block.into_iter().flat_map(|block| &block.insts);
        return insts.any(|one| has_access(declarations, *one, access))
            || declarations.module.instructions().any(is_copy);
    }
    if access.write {
        return has_access(declarations, inst, access);
    }
    let mut seen = BTreeSet::from([inst.offset]);
    let mut work = vec![inst];
    while let Some(inst) = work.pop() {
        if has_access(declarations, inst, access) {
            return true;
        }
        if inst.facts().class == Class::Phi || seen.len() > MOST_SOURCES {
            continue;
        }
        for source in sources(declarations, inst) {
            if seen.insert(source.offset) {
                work.push(source);
            }
        }
    }
    false
}

/// The instructions that define the operands of `inst`, and for a load of a variable of its
/// invocation the stores to it.
fn sources<'m>(declarations: &Declarations<'m>, inst: Inst<'m>) -> Vec<Inst<'m>> {
    let module = declarations.module;
    let ids = module.ids(inst).map(|(_, id)| id);
    let mut sources: Vec<Inst<'m>> = ids.filter_map(|id| module.def(id)).collect();
    let loads = inst.facts().accesses.iter().any(|one| one.role.reads());
    let variable = inst
        .id(0)
        .ok()
        .filter(|_| loads)
        .map(|id| root(declarations, id));
    if let Some(variable) = variable {
        let stores = module.instructions().filter(|store| {
            let writes = store.facts().accesses.iter().any(|one| one.role.writes());
            let to = store.id(0).ok().filter(|_| writes);
            to.is_some_and(|to| root(declarations, to) == variable)
        });
        sources.extend(stores);
    }
    sources
}

/// The first pointer of the chain that leads to `pointer`.
fn root(declarations: &Declarations<'_>, pointer: Id) -> Id {
    let mut at = pointer;
    while let Some(from) = declarations.module.def(at).and_then(Inst::forwarded) {
        at = from;
    }
    at
}

/// Returns true if the row of `inst` has the access.
fn has_access<'m>(declarations: &Declarations<'m>, inst: Inst<'m>, access: &Accessed) -> bool {
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
