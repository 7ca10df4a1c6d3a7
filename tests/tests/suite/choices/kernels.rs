//! The kernels and their launches.

use crate::facts::launch_inputs;
use crate::sim::inputs;
use crate::timing;
use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;
use splitbar::simulate::Inputs;
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::launch::{self, Guess, On};
use splitbar_tests::{corpus, reference};

/// Instructions of waves that a launch may take.
const STEPS: u64 = 3_000_000;

/// A kernel with its launch.
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) module: Vec<u8>,
    pub(super) inputs: Inputs,
    /// Values of specialization constants, by SpecId.
    pub(super) spec: Vec<(u32, u32)>,
}

/// `fixtures/choices/launches.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Launches {
    launch: Vec<Row>,
}

/// The launch of a published module: its buffers and push constants are those that
/// [`launch::of`] makes of these numbers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    module: String,
    most: u32,
    width: u32,
    groups: [u32; 3],
}

/// The kernels of the fixtures, in the order of their names, then published modules.
pub(super) fn all(fixtures: &[Fixture]) -> Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    for fixture in fixtures {
        let name = &fixture.name;
        let case = reference::case(name).with_context(|| format!("{name}: no host reference"))?;
        kernels.push(Kernel {
            name: name.clone(),
            module: fixture.module()?,
            inputs: inputs(&case),
            spec: Vec::new(),
        });
    }
    for launched in timing::launches()? {
        kernels.push(Kernel {
            name: launched.name.to_owned(),
            module: launched.module,
            inputs: launched.inputs,
            spec: launched.spec,
        });
    }
    let path = fixture::root().join("fixtures/choices/launches.toml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let Launches { launch: rows } = toml::from_str(&text)?;
    let modules = corpus::modules()?;
    for row in rows {
        let mut modules = modules.iter();
        let module = modules.find(|(name, _)| *name == row.module);
        let (name, bytes) = module.with_context(|| format!("no module {}", row.module))?;
        kernels.push(published(name, bytes, &row).with_context(|| name.clone())?);
    }
    for kernel in &mut kernels {
        kernel.inputs.limits.steps = STEPS;
        kernel.inputs.limits.accesses = false;
    }
    Ok(kernels)
}

fn published(name: &str, bytes: &[u8], row: &Row) -> Result<Kernel> {
    let guess = Guess {
        most: row.most,
        width: row.width,
    };
    let mut launch = launch::of(bytes, guess, On::Simulator).map_err(|why| anyhow!("{why}"))?;
    ensure!(launch.size.is_none(), "its workgroup size is open");
    launch.groups = row.groups;
    let name = name.rsplit('/').next().unwrap_or(name);
    Ok(Kernel {
        name: name.trim_end_matches(".spv").to_owned(),
        module: bytes.to_vec(),
        inputs: launch_inputs(&launch),
        spec: launch.spec.clone(),
    })
}
