//! One instruction, one test: on the simulated machine, as code for an AMD and an NVIDIA GPU,
//! against functions on the host.
//!
//! `cargo test -p splitbar-tests --test suite -- features/integer` runs a family. Features of a
//! family share modules; a module that fails is taken apart, so that each failure has the name of
//! its feature.

use crate::support::{assembled, compile_bytes, confirm, linkable, trial};
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use spirv::{GlslStd450Op, OpenclStd100Op};
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar_sim::memory::Global;
use splitbar_tests::features::module::{Own, batch, results};
use splitbar_tests::features::page::{self, Row};
use splitbar_tests::features::want::Worst;
use splitbar_tests::features::{
    self, Family, Feature, Flavour, INVOCATIONS, Launch, WORKGROUP, coverage,
};
use splitbar_tests::fixture;
use std::sync::{Arc, OnceLock};

/// One GPU of each vendor, and one of AMD's that has waves of 64 and other instructions.
const TARGETS: [&str; 3] = ["gfx1201", "sm_80", "gfx906"];

/// Targets on which lanes communicate in other ways. Reductions and scans of subgroups run there
/// too.
const OTHER_LANES: [Lanes; 4] = [
    Lanes::new("gfx1030", Some(64), None),
    Lanes::new("gfx1100", Some(64), None),
    Lanes::new("gfx1201", Some(64), None),
    Lanes::new("sm_75", None, None),
];

/// Targets on which a subgroup is part of a wave. All subgroup and group instructions run there
/// too.
const PARTS: [Lanes; 10] = [
    Lanes::new("gfx1201", None, Some(8)),
    Lanes::new("gfx1201", None, Some(16)),
    Lanes::new("gfx1201", Some(64), Some(32)),
    Lanes::new("gfx1030", Some(64), Some(16)),
    Lanes::new("gfx942", None, Some(16)),
    Lanes::new("gfx942", None, Some(32)),
    Lanes::new("gfx906", None, Some(8)),
    Lanes::new("sm_75", None, Some(16)),
    Lanes::new("sm_90", None, Some(8)),
    Lanes::new("sm_90", None, Some(16)),
];

/// The families of [`PARTS`].
const OF_SUBGROUPS: [&str; 7] = [
    "subgroup",
    "subgroup_product",
    "subgroup_kernel",
    "subgroup_apart",
    "subgroup_apart_kernel",
    "group",
    "amd",
];

/// Targets with instructions to convert 8-bit floats, and gfx942, whose instructions have other
/// formats. Features with such floats run there too.
const OTHER_FLOATS: [Lanes; 6] = [
    Lanes::new("gfx942", None, None),
    Lanes::new("gfx950", None, None),
    Lanes::new("gfx1170", None, None),
    Lanes::new("gfx1250", None, None),
    Lanes::new("sm_89", None, None),
    Lanes::new("sm_90", None, None),
];

/// The families of [`OTHER_FLOATS`].
const OF_FLOATS: [&str; 2] = ["float8", "cooperative_vector"];

/// The division of invocations into waves and subgroups.
#[derive(Copy, Clone)]
struct Lanes {
    target: &'static str,
    /// Invocations of a wave; none is the target's.
    wave: Option<u32>,
    /// Invocations of a subgroup; `None` for the wave size.
    subgroup: Option<u32>,
}

impl Lanes {
    const fn new(target: &'static str, wave: Option<u32>, subgroup: Option<u32>) -> Lanes {
        Lanes {
            target,
            wave,
            subgroup,
        }
    }

    /// The name of a test.
    fn name(self) -> String {
        let part = |name: &str, size: Option<u32>| {
            size.map_or_else(String::new, |size| format!(".{name}{size}"))
        };
        let (wave, subgroup) = (part("wave", self.wave), part("subgroup", self.subgroup));
        format!("{}{wave}{subgroup}", self.target)
    }
}

/// Above every number of an extended instruction set.
const MOST: u32 = 1024;

/// Features of a module.
const TOGETHER: usize = 32;

/// A module with features on one target. It is run when the first of its tests needs the result.
struct Chunk {
    family: Arc<Family>,
    first: usize,
    count: usize,
    target: &'static str,
    outcome: OnceLock<Vec<Result<Worst, String>>>,
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut columns: Vec<Vec<Trial>> = Vec::new();
    let mut chunks = Vec::new();
    for family in features::families() {
        let family = Arc::new(family);
        for target in TARGETS {
            for first in (0..family.features.len()).step_by(TOGETHER) {
                let chunk = Arc::new(Chunk {
                    family: family.clone(),
                    first,
                    count: TOGETHER.min(family.features.len() - first),
                    target,
                    outcome: OnceLock::new(),
                });
                columns.push((0..chunk.count).map(|at| chunk.trial(at)).collect());
                chunks.push(chunk);
            }
        }
    }
    // The tests of one module wait for the first of them: neighbours are of different modules.
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let together = [
        trial("features/coverage".to_owned(), coverage),
        trial("features/no_quads_in_pairs".to_owned(), no_quads_in_pairs),
        trial("features/page".to_owned(), move || errors(&chunks)),
    ];
    (0..longest)
        .flat_map(|_| {
            columns
                .iter_mut()
                .filter_map(Iterator::next)
                .collect::<Vec<_>>()
        })
        .chain(together)
        .chain(other_lanes())
        .collect()
}

/// Reductions and scans of subgroups on [`OTHER_LANES`], and families on [`PARTS`] and
/// [`OTHER_FLOATS`].
fn other_lanes() -> Vec<Trial> {
    let combines = |feature: &Feature| {
        let name = feature.name();
        name.contains("Reduce") || name.contains("Scan")
    };
    let mut trials = Vec::new();
    for family in features::families() {
        let (subgroups, floats) = (
            OF_SUBGROUPS.contains(&family.name),
            OF_FLOATS.contains(&family.name),
        );
        if !subgroups && !floats {
            continue;
        }
        let family = Arc::new(family);
        let all: Vec<usize> = (0..family.features.len()).collect();
        if floats {
            for lanes in &OTHER_FLOATS {
                let chunks = all.chunks(TOGETHER);
                trials.extend(chunks.map(|chunk| on_lanes(&family, chunk.to_vec(), *lanes)));
            }
            continue;
        }
        let combining: Vec<usize> = if family.name == "subgroup" {
            let chosen = all.iter().filter(|at| combines(&family.features[**at]));
            chosen.copied().collect()
        } else {
            Vec::new()
        };
        for (rows, chosen) in [(&OTHER_LANES[..], combining), (&PARTS[..], all)] {
            for lanes in rows {
                let chunks = chosen.chunks(TOGETHER);
                trials.extend(chunks.map(|chunk| on_lanes(&family, chunk.to_vec(), *lanes)));
            }
        }
    }
    trials
}

/// Some features of a family on `lanes`.
fn on_lanes(family: &Arc<Family>, chunk: Vec<usize>, lanes: Lanes) -> Trial {
    let family = family.clone();
    let first = family.features[chunk[0]].name();
    let name = format!(
        "features/other_lanes/{}/{first}/{}",
        family.name,
        lanes.name()
    );
    trial(name, move || -> Result<()> {
        linkable(lanes.target)?;
        let features: Vec<&Feature> = chunk.iter().map(|at| &family.features[*at]).collect();
        for (feature, outcome) in features
            .iter()
            .zip(outcomes(&features, family.flavour, lanes))
        {
            outcome.map_err(|error| anyhow!("{}: {error}", feature.name()))?;
        }
        Ok(())
    })
}

/// A subgroup of two invocations has no quads, so quad instructions are rejected.
fn no_quads_in_pairs() -> Result<()> {
    let family = features::families()
        .into_iter()
        .find(|family| family.name == "subgroup")
        .context("no such family")?;
    let quads: Vec<&Feature> = family
        .features
        .iter()
        .filter(|feature| feature.op.contains("Quad"))
        .collect();
    ensure!(quads.len() > 1, "no instruction works on quads");
    for target in TARGETS {
        linkable(target)?;
        let lanes = Lanes::new(target, None, Some(2));
        for feature in &quads {
            let problem = match execute(&[*feature], family.flavour, lanes) {
                Ok(_) => anyhow::bail!("{} is compiled for {target}", feature.name()),
                Err(problem) => format!("{problem:#}"),
            };
            ensure!(
                problem.contains("SB0300") && problem.contains("a subgroup of 2 has no quads"),
                "{} for {target}: {problem}",
                feature.name()
            );
        }
    }
    Ok(())
}

/// Every instruction that is lowered has a feature, or a reason to have none.
fn coverage() -> Result<()> {
    let page = std::fs::read_to_string(fixture::root().join("docs/instructions.md"))?;
    let core = coverage::lowered(&page).into_iter().map(str::to_owned);
    let glsl = (0..=MOST).filter_map(GlslStd450Op::from_u32);
    let opencl = (0..=MOST).filter_map(OpenclStd100Op::from_u32);
    let wanted: Vec<String> = core
        .chain(glsl.map(|op| format!("GLSL.std.450 {op:?}")))
        .chain(opencl.map(|op| format!("OpenCL.std {op:?}")))
        .collect();
    ensure!(wanted.len() > 500, "the lists of instructions are not read");
    let problems = coverage::problems(&features::families(), &wanted);
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// The worst errors of all features that have a bound, in `docs/features.md`.
fn errors(chunks: &[Arc<Chunk>]) -> Result<()> {
    linkable(TARGETS[0])?;
    let bounded = |feature: &Feature| !feature.requirement.is_empty();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for name in families_in_order(chunks) {
        let of = |target: &'static str| {
            chunks
                .iter()
                .filter(move |c| c.family.name == name && c.target == target)
        };
        let firsts: Vec<&Arc<Chunk>> = of(TARGETS[0]).collect();
        for first in firsts {
            let features = &first.family.features[first.first..first.first + first.count];
            for (at, feature) in features.iter().enumerate().filter(|(_, f)| bounded(f)) {
                let worst = TARGETS.iter().map(|target| {
                    let chunk = of(target)
                        .find(|c| c.first == first.first)
                        .context("no such module")?;
                    let outcome = &chunk.outcome.get_or_init(|| chunk.run())[at];
                    outcome
                        .clone()
                        .map_err(|error| anyhow!("{target}: {error}"))
                });
                rows.push(Row {
                    feature,
                    worst: worst.collect::<Result<_>>().context(feature.name())?,
                });
            }
        }
    }
    let path = fixture::root().join("docs/features.md");
    confirm(&path, &page::page(&TARGETS, &rows))
}

/// The names of the families, each once.
fn families_in_order(chunks: &[Arc<Chunk>]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = chunks.iter().map(|chunk| chunk.family.name).collect();
    names.dedup();
    names
}

impl Chunk {
    fn trial(self: &Arc<Chunk>, at: usize) -> Trial {
        let chunk = self.clone();
        let feature = &self.family.features[self.first + at];
        let name = format!(
            "features/{}/{}/{}",
            self.family.name,
            feature.name(),
            self.target
        );
        trial(name, move || {
            linkable(chunk.target)?;
            let outcome = chunk.outcome.get_or_init(|| chunk.run());
            outcome[at]
                .clone()
                .map(|_| ())
                .map_err(|error| anyhow!(error))
        })
    }

    fn run(&self) -> Vec<Result<Worst, String>> {
        let features: Vec<&Feature> = self.family.features[self.first..self.first + self.count]
            .iter()
            .collect();
        outcomes(
            &features,
            self.family.flavour,
            Lanes::new(self.target, None, None),
        )
    }
}

/// The outcome of each feature: all in one module, or each in a separate module if that fails.
fn outcomes(features: &[&Feature], flavour: Flavour, lanes: Lanes) -> Vec<Result<Worst, String>> {
    if let Ok(outcome) = execute(features, flavour, lanes) {
        return outcome;
    }
    let alone = |feature: &&Feature| {
        let outcome = execute(&[*feature], flavour, lanes);
        outcome
            .map_err(|error| format!("{error:#}"))
            .and_then(|mut all| all.pop().unwrap_or(Err("nothing came out".to_owned())))
    };
    features.iter().map(alone).collect()
}

/// The outcome of each feature in one module.
fn execute(
    features: &[&Feature],
    flavour: Flavour,
    lanes: Lanes,
) -> Result<Vec<Result<Worst, String>>> {
    let module = batch(features, flavour);
    if let Some(folder) = std::env::var_os("SPLITBAR_FEATURES_DUMP") {
        let name = format!("{}.spvasm", features[0].name());
        std::fs::write(std::path::Path::new(&folder).join(name), &module.text)?;
    }
    let bytes = assembled(&module.text)?;
    let output = compile_bytes(&bytes, lanes.target, |options| {
        options.wave_size = lanes.wave;
        options.subgroup_size = lanes.subgroup;
        options
            .spec
            .0
            .extend((0..).zip(module.spec.iter().copied()));
    })?;
    let job = Job::compiled(&output, 0)?;
    let place = |at: usize| match flavour {
        Flavour::Shader | Flavour::VulkanModel | Flavour::Addresses => {
            BufferName::Binding(0, at as u32)
        }
        Flavour::Kernel => BufferName::Argument(at as u32),
    };
    let inputs = Inputs::new(
        [(INVOCATIONS / WORKGROUP) as u32, 1, 1],
        module
            .buffers
            .iter()
            .map(|buffer| buffer.bytes.clone())
            .chain(module.memory.iter().map(linked))
            .enumerate()
            .map(|(at, bytes)| (place(at), bytes))
            .collect(),
    );
    let outcome = job.run(&inputs, Schedule::nth(0, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        return Err(anyhow!("{finding}"));
    }
    ensure!(outcome.report.steps > 0);
    let outputs: Vec<_> = module
        .buffers
        .iter()
        .zip(&outcome.buffers)
        .filter(|(buffer, _)| buffer.output)
        .map(|(buffer, bytes)| (buffer.scalar, bytes.clone()))
        .collect();
    let subgroup = output
        .entries()
        .first()
        .context("no entry point")?
        .plan
        .subgroup_size;
    let launch = Launch {
        subgroup: subgroup as usize,
    };
    let found = results(features, &outputs);
    let owned: Vec<_> = module
        .memory
        .iter()
        .zip(outcome.buffers.iter().skip(module.buffers.len()))
        .collect();
    Ok(features
        .iter()
        .zip(found)
        .enumerate()
        .map(|(at, (feature, found))| {
            let memory: Vec<&[u8]> = owned
                .iter()
                .filter(|(own, _)| own.feature == at)
                .map(|(_, bytes)| bytes.as_slice())
                .collect();
            feature.judge(launch, &found, &memory)
        })
        .collect())
}

/// The bytes of a buffer with the addresses of others in it. The simulator places each buffer
/// directly after the previous one.
fn linked(own: &Own) -> Vec<u8> {
    let mut bytes = own.bytes.clone();
    for (at, buffer, plus) in &own.links {
        let mut global = Global::default();
        let mut base = 0;
        for _ in 0..=*buffer {
            let id = global.add("", Vec::new(), true);
            base = global.base(id);
        }
        bytes[*at..*at + 8].copy_from_slice(&(base + plus).to_le_bytes());
    }
    bytes
}
