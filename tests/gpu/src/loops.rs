//! The modules with loops for pipelining, before and after: what a bundle has for Vulkan drivers.
//!
//! Results are whole barriers (`plain`), so that drivers without split barriers take them. Of the
//! corpus these are llama.cpp's matrix products, with the tile that its Vulkan backend gives them
//! on GPUs with subgroups of 32.

use anyhow::{Context, Result, anyhow};
use spirv::{Decoration, Op};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Module, SpecValues};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{
    FREEZE_SPECIALIZATION_CONSTANTS, PIPELINE_BARRIER_LOOPS, PassOptions,
};
use splitbar_passes::transform::{Ahead, PipelineLoops};
use splitbar_tests::{corpus, fixture};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The folder of a bundle that they are in.
pub const FOLDER: &str = "loops";

/// The forms of a module: the ends of their files' names, and what of a loop runs ahead.
const FORMS: [(&str, Ahead); 3] = [
    ("one-buffer", Ahead::LoadsOfOneBuffer),
    ("two-buffers", Ahead::Either),
    ("two-buffers-stage", Ahead::Stage),
];

/// The modules of this repository: their names in the bundle, and their files.
const OWN: [(&str, &str); 2] = [
    ("matmul_16x16", "docs/examples/matmul.spv"),
    (
        "matmul_64x64",
        "fixtures/kernels/plain_matmul/plain_matmul.spv",
    ),
];

/// SpecIds of llama.cpp's matrix products with the values of its medium tile: invocations, rows and
/// columns of a tile, those of a subgroup, repetitions, those of an invocation, the subgroup.
const TILE: [(u32, u64); 9] = [
    (0, 128),
    (1, 64),
    (2, 64),
    (4, 32),
    (5, 32),
    (6, 2),
    (7, 4),
    (8, 2),
    (10, 32),
];

/// The last SpecId of those shaders: theirs are steps of the loop and alignment.
const LAST: u32 = 11;

/// The folder of the corpus that they are in.
const SHADERS: &str = "glcompute/";

/// A module, and where it is from.
struct Given<'g> {
    name: String,
    source: String,
    bytes: &'g [u8],
    /// The values of specialization constants that it is made for.
    spec: SpecValues,
}

/// Writes the modules that a form changes into the folder of a bundle; the answer is their number.
///
/// # Errors
/// A module cannot be read, a pass has a bug, or a file cannot be written.
pub fn write(folder: &Path) -> Result<usize> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut page = INTRODUCTION.to_owned();
    let mut count = 0;
    for (name, path) in OWN {
        let file = fixture::root().join(path);
        let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
        let given = Given {
            name: name.to_owned(),
            source: format!("`{path}` of splitbar, MIT or Apache-2.0"),
            bytes: &bytes,
            spec: SpecValues::default(),
        };
        count += usize::from(write_forms(folder, &given, &mut page)?);
    }
    let values: BTreeMap<u32, u64> = TILE.into_iter().collect();
    for (path, bytes) in corpus::modules()? {
        let Some(name) = path.strip_prefix(SHADERS) else {
            continue;
        };
        if !has_barrier(bytes)? || !is_product(&spec_ids(bytes)?) {
            continue;
        }
        let given = Given {
            name: format!("mul_mm_{}", name.trim_end_matches(".spv")),
            source: "llama.cpp, in npm `@node-llama-cpp/linux-x64-vulkan` 3.22.1, MIT".to_owned(),
            bytes,
            spec: SpecValues(values.clone()),
        };
        count += usize::from(write_forms(folder, &given, &mut page)?);
    }
    std::fs::write(folder.join("README.md"), page)?;
    Ok(count)
}

/// Writes a module and its forms, and their line of the page, if a form differs from it.
fn write_forms(folder: &Path, given: &Given<'_>, page: &mut String) -> Result<bool> {
    let mut forms: Vec<(&str, Vec<u8>)> = Vec::new();
    for (form, ahead) in FORMS {
        let made = pipelined(given, ahead).with_context(|| given.name.clone())?;
        if let Some(made) = made.filter(|made| forms.iter().all(|(_, other)| other != made)) {
            forms.push((form, made));
        }
    }
    if forms.is_empty() {
        return Ok(false);
    }
    std::fs::write(folder.join(format!("{}.spv", given.name)), given.bytes)?;
    for (form, bytes) in &forms {
        std::fs::write(folder.join(format!("{}.{form}.spv", given.name)), bytes)?;
    }
    let names: Vec<&str> = forms.iter().map(|(form, _)| *form).collect();
    writeln!(
        page,
        "| `{}` | {} | {} |",
        given.name,
        names.join(", "),
        given.source
    )?;
    Ok(true)
}

/// The module with its loops pipelined; `None` where none is.
fn pipelined(given: &Given<'_>, ahead: Ahead) -> Result<Option<Vec<u8>>> {
    let refused = |found: Diagnostics| anyhow!("{found}");
    let module = Module::parse(given.bytes).map_err(refused)?;
    let steps = [
        Step {
            pass: FREEZE_SPECIALIZATION_CONSTANTS,
            options: PassOptions::Values {
                spec: given.spec.clone(),
                workgroup_size: None,
            },
        },
        Step {
            pass: PIPELINE_BARRIER_LOOPS,
            options: PassOptions::PipelineLoops(PipelineLoops {
                ahead,
                plain: true,
                ..PipelineLoops::default()
            }),
        },
    ];
    let module = module.into_owned();
    let done = pipeline::run(module, &steps, Settings::default(), &mut |_, _| ());
    let done = done.map_err(refused)?;
    let name = PIPELINE_BARRIER_LOOPS.name;
    let is_changed = done.ran.iter().any(|ran| ran.name == name && ran.changed);
    Ok(is_changed.then(|| done.module.to_bytes()))
}

/// Returns true if a module has an OpControlBarrier.
fn has_barrier(bytes: &[u8]) -> Result<bool> {
    let module = Module::parse(bytes).map_err(|found| anyhow!("{found}"))?;
    let mut instructions = module.instructions();
    Ok(instructions.any(|inst| inst.op() == Some(Op::ControlBarrier)))
}

/// The SpecIds of a module.
fn spec_ids(bytes: &[u8]) -> Result<BTreeSet<u32>> {
    let module = Module::parse(bytes).map_err(|found| anyhow!("{found}"))?;
    let decorations = module
        .instructions()
        .filter(|inst| inst.op() == Some(Op::Decorate));
    Ok(decorations
        .filter_map(|inst| match inst.operands() {
            [_, decoration, id] if *decoration == Decoration::SpecId as u32 => Some(*id),
            _ => None,
        })
        .collect())
}

/// Returns true if a module with these SpecIds is one of llama.cpp's matrix products.
fn is_product(ids: &BTreeSet<u32>) -> bool {
    TILE.iter().all(|(id, _)| ids.contains(id)) && ids.iter().all(|id| *id <= LAST)
}

const INTRODUCTION: &str = "\
# Loops before and after pipelining

`NAME.spv` is the module as it was published. `NAME.FORM.spv` is the same module after `splitbar-opt --pipeline-barrier-loops=FORM,plain`: `one-buffer`; `two-buffers` without a value; `two-buffers-stage` with `stage`.
The modules have no split barriers, so every Vulkan driver accepts them. A form is left out if it changes nothing or is the same as one before it.

The tile of each `mul_mm` module is fixed in its forms, so create the pipelines with these specialization constants (SpecId = value): 0 = 128, 1 = 64, 2 = 64, 4 = 32, 5 = 32, 6 = 2, 7 = 4, 8 = 2, 10 = 32. The others keep their default values.

| module | forms | source and licence |
| --- | --- | --- |
";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn own_products_have_all_forms() {
        for (name, path) in OWN {
            let bytes = std::fs::read(fixture::root().join(path)).unwrap();
            let given = Given {
                name: name.to_owned(),
                source: path.to_owned(),
                bytes: &bytes,
                spec: SpecValues::default(),
            };
            let folder = tempfile::tempdir().unwrap();
            let mut page = String::new();
            assert!(write_forms(folder.path(), &given, &mut page).unwrap());
            let line = "| one-buffer, two-buffers, two-buffers-stage |";
            assert!(page.contains(line), "{page}");
            let files = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(files, 4);
        }
    }

    #[test]
    fn products_have_the_constants_of_a_tile() {
        let ids: BTreeSet<u32> = (0..=LAST).collect();
        assert!(is_product(&ids));
        let others: BTreeSet<u32> = (0..=LAST + 1).collect();
        assert!(!is_product(&others));
        let fewer: BTreeSet<u32> = (1..=LAST).collect();
        assert!(!is_product(&fewer));
    }
}
