//! The table of instruction facts agrees with final code: an instruction accesses only memory that
//! its row has. The simulator does not use the table.
//!
//! Of the published modules a plain run takes some; `SPLITBAR_CORPUS=all` takes all.

use crate::sim::inputs;
use crate::support::{compile_bytes, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use spirv::StorageClass;
use splitbar::Optimization;
use splitbar::simulate::machine::memory::Space;
use splitbar::simulate::machine::{Accessed, Schedule};
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::facts::{Class, Operand};
use splitbar_passes::module::{Declarations, Id, Inst, Module, SpecValues, Type, WordOffset};
use splitbar_tests::corpus;
use splitbar_tests::fixture::Fixture;
use splitbar_tests::launch::{self, GUESSES, Interface, Launch, On, Place};
use splitbar_tests::reference;
use std::collections::BTreeSet;

/// Most instructions that are looked at for one access.
const MOST_SOURCES: usize = 64;

/// Trials of the published modules for each GPU.
const PARTS: usize = 4;

/// A plain run uses one of so many published modules in each test.
const SAMPLE: usize = 320;

/// Instructions of waves that a launch of a published module may take: a guessed size can be a loop
/// without end.
const STEPS: u64 = 5_000;

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
    for target in TARGETS {
        for part in 0..PARTS {
            let name = format!("facts/corpus/{target}/{part}");
            trials.push(trial(name, move || {
                linkable(target)?;
                published_modules(target, part)
            }));
        }
    }
    trials
}

/// The accesses of published modules are described, at -O0.
fn published_modules(target: &str, part: usize) -> Result<()> {
    let step = if corpus::is_complete() { PARTS } else { SAMPLE };
    let modules = corpus::modules()?.iter();
    let (mut launched, mut described) = (0, 0);
    let mut wrong = Vec::new();
    for (name, module) in modules.skip(part).step_by(step) {
        match of_published(module, target) {
            Ok(0) => {}
            Ok(count) => (launched, described) = (launched + 1, described + count),
            Err(problem) => wrong.push(format!("{name}: {problem:#}")),
        }
    }
    println!("{target}: {described} accesses of {launched} modules");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(launched > 0, "no module was launched");
    Ok(())
}

/// The number of described accesses of a published module, in the first launch that has any; 0 if
/// no launch can be made. It does not matter whether the guess was a good one.
fn of_published(bytes: &[u8], target: &str) -> Result<usize> {
    let compiled = |spec: &[(u32, u32)], size: Option<[u32; 3]>| {
        compile_bytes(bytes, target, |options| {
            options.lines = true;
            options.optimization = Optimization::O0;
            options.workgroup_size = size;
            let values = spec.iter().map(|(id, value)| (*id, u64::from(*value)));
            options.spec = SpecValues(values.collect());
        })
    };
    let interface = if launch::is_kernel(bytes) {
        let Ok(output) = compiled(&[], Some([32, 1, 1])) else {
            return Ok(0); // not for this GPU
        };
        Some(serde_json::from_str::<Vec<Interface>>(&output.reflect())?)
    } else {
        None
    };
    let mut described = 0;
    for guess in GUESSES {
        let launch = match interface.as_ref().map(|all| all.first()) {
            Some(Some(interface)) => launch::of_kernel(bytes, interface, guess),
            Some(None) => return Ok(0),
            None => launch::of(bytes, guess, On::Simulator),
        };
        let Ok(launch) = launch else {
            return Ok(described);
        };
        let Ok(output) = compiled(&launch.spec, launch.size) else {
            return Ok(described);
        };
        let outcome = Job::compiled(&output, 0)
            .and_then(|job| job.run(&launch_inputs(&launch), Schedule::nth(0, 1)));
        let Ok(outcome) = outcome else {
            return Ok(described); // it has what the simulator lacks
        };
        described = are_described(bytes, &outcome.report.accesses)?;
        if described > 0 {
            break;
        }
    }
    Ok(described)
}

pub(crate) fn launch_inputs(launch: &Launch) -> Inputs {
    let name = |place| match place {
        Place::Binding { set, binding } => BufferName::Binding(set, binding),
        Place::Argument(index) => BufferName::Argument(index),
    };
    let buffers = launch.buffers.iter();
    let buffers = buffers.map(|one| (name(one.place), one.bytes.clone()));
    let mut inputs = Inputs::new(launch.groups, buffers.collect());
    inputs.workgroup_size = launch.size;
    inputs.push.clone_from(&launch.push);
    inputs.dynamic_shared = launch.dynamic_shared;
    inputs.limits.accesses = true;
    inputs.limits.steps = STEPS;
    inputs
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
    let described = are_described(&bytes, &outcome.report.accesses)?;
    ensure!(described > 0, "no access has an instruction");
    Ok(())
}

/// The number of accesses in the rows of their instructions. All accesses that have a row must be
/// in it.
fn are_described(bytes: &[u8], accesses: &[Accessed]) -> Result<usize> {
    let mut problems = Diagnostics::new();
    let module = Module::parse(bytes).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let declarations = Declarations::new(&module, &mut problems);
    let mut described = 0;
    for access in accesses {
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
    Ok(described)
}

/// Returns true if the row of `inst` has the access, or a row of the instructions that it is
/// computed from. LLVM narrows a load to the component that is extracted, and reads a value from
/// memory if a variable has it. The loop of an asynchronous copy has the place of a branch.
/// Instructions that LLVM moves to the end of a block have the place of the block's branch.
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
    // A constant that a variable begins with lies in global memory.
    let has_initializer = facts.class == Class::Declaration && inst.operands().len() > 1;
    if access.space == Space::Global && !access.write && has_initializer {
        return true;
    }
    let mut found = facts.class == Class::Print && access.write;
    declarations.accesses(inst, |id, one| {
        let role = if access.write {
            one.role.writes()
        } else {
            one.role.reads()
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
