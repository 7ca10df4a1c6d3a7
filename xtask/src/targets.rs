//! `cargo xtask targets`: fixtures/targets/*.toml -> lowering/target/src/table.rs, timing/table.rs
//! for times, and products/table.rs for the names of products.
//!
//! The TOML holds one table per family of GPUs and one source per fact; the Rust holds one row per
//! GPU. An unknown or missing field, and a fact without a source, is an error here, so the table
//! cannot drift from its sources.

mod products;
mod timing;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::shell;

const TABLE: &str = "lowering/target/src/table.rs";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<T> {
    sources: BTreeMap<String, String>,
    /// By the name of a target.
    variants: BTreeMap<String, Vec<String>>,
    /// NVIDIA: by the name of a target.
    #[serde(default)]
    optin_bytes: BTreeMap<String, u32>,
    family: Vec<T>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Amdgpu {
    generation: String,
    targets: Vec<String>,
    wave_sizes: Vec<u32>,
    lds_bytes: u32,
    max_workgroup_size: u32,
    costs: BTreeMap<String, Cost>,
    barrier_cycles: u32,
    split_barrier: bool,
    named_barriers: u32,
    cluster_barrier: bool,
    back_off_barrier: bool,
    kmcnt: bool,
    ordered_vmem: bool,
    cumode: bool,
    tg_split: bool,
    generic_access: bool,
    wave_shuffle: Vec<u32>,
    vop3_literals: bool,
    waitcnt: Option<Waitcnt>,
    counters: BTreeMap<Counter, u32>,
    matrix: Matrix,
    /// By the name of a target.
    byte_dots: BTreeMap<String, ByteDots>,
    float8_conversions: bool,
    images: bool,
    texel_buffers: bool,
    sampler_max_lod: (u32, u32),
    real_time_clock: bool,
    lds_dma_bytes: Vec<u32>,
    async_marks: bool,
    async_counter: bool,
    acquire: CacheOps,
    release: CacheOps,
    invalidation_waits: bool,
    execution: Option<Execution>,
}

/// Dot products of four bytes; the file leaves out who has none.
#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum ByteDots {
    #[serde(skip)]
    None,
    SameSigns,
    AnySigns,
}

/// What the choice among strategies goes by, for one of them.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Cost {
    cycles: Option<(i32, i32)>,
    window: Option<u32>,
    rotated: Option<u32>,
}

/// The costs as Rust.
fn costs(costs: &BTreeMap<String, Cost>) -> String {
    let row = |(strategy, cost): (&String, &Cost)| {
        let Cost {
            cycles,
            window,
            rotated,
        } = cost;
        format!(
            "Cost {{ strategy: {strategy:?}, cycles: {cycles:?}, window: {window:?}, rotated: {rotated:?} }}"
        )
    };
    let rows: Vec<String> = costs.iter().map(row).collect();
    format!("&[{}]", rows.join(", "))
}

/// What a program can notice of the machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Execution {
    packed_ids: bool,
    ids_in_ttmp: bool,
    architected_scratch: bool,
    preload_prologue: bool,
    clears_high_half: bool,
    cmpx_writes_mask: bool,
    permutes_halves: bool,
    far_cache: bool,
    repeats_components: bool,
}

/// Instructions per scope.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheOps {
    workgroup: Vec<String>,
    device: Vec<String>,
    system: Vec<String>,
}

impl CacheOps {
    /// The instructions as Rust.
    fn rust(&self) -> String {
        let CacheOps {
            workgroup,
            device,
            system,
        } = self;
        format!(
            "CacheOps {{ workgroup: &{workgroup:?}, device: &{device:?}, system: &{system:?} }}"
        )
    }
}

/// First bit and number of bits of each field; the parts of a split field from low to high.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Waitcnt {
    vm: Vec<(u32, u32)>,
    exp: (u32, u32),
    lgkm: (u32, u32),
}

/// The names are those of the table's enumeration.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Counter {
    Vmcnt,
    Vscnt,
    Lgkmcnt,
    Expcnt,
    Loadcnt,
    Storecnt,
    Dscnt,
    Kmcnt,
    Samplecnt,
    Bvhcnt,
    Asynccnt,
    Tensorcnt,
}

/// The names are those of the table's enumeration.
#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Matrix {
    None,
    MfmaCdna1,
    MfmaCdna2,
    MfmaCdna3,
    MfmaCdna4,
    WmmaDuplicated,
    Wmma,
    WmmaK32,
}

impl Amdgpu {
    /// The layout of `s_waitcnt` as Rust.
    fn waitcnt(&self) -> String {
        let field = |(bit, bits): &(u32, u32)| format!("Field {{ bit: {bit}, bits: {bits} }}");
        self.waitcnt.as_ref().map_or_else(
            || "None".to_owned(),
            |w| {
                let vm: Vec<String> = w.vm.iter().map(field).collect();
                format!(
                    "Some(Waitcnt {{ vm: &[{}], exp: {}, lgkm: {} }})",
                    vm.join(", "),
                    field(&w.exp),
                    field(&w.lgkm)
                )
            },
        )
    }

    /// What the simulator goes by, as Rust.
    fn execution(&self) -> String {
        let Some(execution) = &self.execution else {
            return "None".to_owned();
        };
        let Execution {
            packed_ids,
            ids_in_ttmp,
            architected_scratch,
            preload_prologue,
            clears_high_half,
            cmpx_writes_mask,
            permutes_halves,
            far_cache,
            repeats_components,
        } = execution;
        format!(
            "Some(Execution {{ packed_ids: {packed_ids}, ids_in_ttmp: {ids_in_ttmp}, architected_scratch: {architected_scratch}, preload_prologue: {preload_prologue}, clears_high_half: {clears_high_half}, \
             cmpx_writes_mask: {cmpx_writes_mask}, permutes_halves: {permutes_halves}, far_cache: {far_cache}, repeats_components: {repeats_components} }})"
        )
    }

    /// The counters as Rust.
    fn counters(&self) -> String {
        let counters: Vec<String> = self
            .counters
            .iter()
            .map(|(counter, most)| format!("(Counter::{counter:?}, {most})"))
            .collect();
        format!("&[{}]", counters.join(", "))
    }
}

const AMDGPU_FACTS: &[&str] = &[
    "variants",
    "wave_sizes",
    "lds_bytes",
    "max_workgroup_size",
    "costs",
    "barrier_cycles",
    "split_barrier",
    "named_barriers",
    "cluster_barrier",
    "back_off_barrier",
    "kmcnt",
    "ordered_vmem",
    "cumode",
    "tg_split",
    "generic_access",
    "wave_shuffle",
    "vop3_literals",
    "waitcnt",
    "counters",
    "matrix",
    "byte_dots",
    "float8_conversions",
    "images",
    "texel_buffers",
    "sampler_max_lod",
    "real_time_clock",
    "lds_dma_bytes",
    "async_marks",
    "async_counter",
    "acquire",
    "release",
    "invalidation_waits",
    "execution",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nvptx {
    targets: Vec<String>,
    ptx: u32,
    shared_bytes: u32,
    max_workgroup_size: u32,
    costs: BTreeMap<String, Cost>,
    barrier_cycles: u32,
    mbarrier: Mbarrier,
    cluster: bool,
    one_sided_fences: bool,
    volta_fences: bool,
    cp_async: bool,
    bulk_copy: bool,
    mma: Mma,
    float8_conversions: bool,
    redux: bool,
    named_barriers: u32,
    barriers_limit_occupancy: bool,
    nanosleep: bool,
}

/// The names are those of the table's enumeration.
#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Mma {
    None,
    K4,
    K8,
    K16,
    Float8,
}

const NVPTX_FACTS: &[&str] = &[
    "variants",
    "optin_bytes",
    "ptx",
    "shared_bytes",
    "max_workgroup_size",
    "costs",
    "barrier_cycles",
    "mbarrier",
    "cluster",
    "one_sided_fences",
    "volta_fences",
    "cp_async",
    "bulk_copy",
    "mma",
    "float8_conversions",
    "redux",
    "named_barriers",
    "barriers_limit_occupancy",
    "nanosleep",
];

#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Mbarrier {
    None,
    TestWait,
    TryWait,
}

/// Writes the tables, or with `check` only says whether they are fresh.
pub(crate) fn run(check: bool) -> Result<()> {
    let tables = [
        (TABLE, generate()?),
        (timing::TABLE, timing::generate()?),
        (products::TABLE, products::generate()?),
    ];
    for (table, wanted) in tables {
        let path = shell::root().join(table);
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        if there == wanted {
            println!("{table} is fresh");
        } else if check {
            bail!("{table} is not what fixtures/targets says; run `cargo xtask targets`");
        } else {
            std::fs::write(&path, wanted).with_context(|| format!("cannot write {table}"))?;
            println!("{table} written");
        }
    }
    Ok(())
}

fn generate() -> Result<String> {
    let folder = shell::root().join("fixtures/targets");
    let amd: File<Amdgpu> = load(&folder, "amdgpu.toml", AMDGPU_FACTS)?;
    let nv: File<Nvptx> = load(&folder, "nvptx.toml", NVPTX_FACTS)?;
    known(&amd.variants, amd.family.iter().flat_map(|f| &f.targets))?;
    for f in &amd.family {
        known(&f.byte_dots, f.targets.iter())?;
    }
    known(&nv.variants, nv.family.iter().flat_map(|f| &f.targets))?;
    known(&nv.optin_bytes, nv.family.iter().flat_map(|f| &f.targets))?;

    let mut out = String::from(
        "//! One row per target. Generated from fixtures/targets by `cargo xtask targets`; change the data\n//! there.\n\n\
         use super::{\n    Amdgpu, Arch, ByteDots, CacheOps, Cost, Counter, Execution, Field, Matrix, Mbarrier, Mma,\n    Nvptx, Target, Waitcnt,\n};\n\n\
         /// Every target: AMD by generation, then NVIDIA by number.\n\
         #[rustfmt::skip] // one row a line\n\
         pub(super) static TARGETS: &[Target] = &[\n",
    );
    for f in &amd.family {
        for name in &f.targets {
            writeln!(
                out,
                "    Target {{ name: {name:?}, arch: Arch::Amdgpu(Amdgpu {{ cpu: {name:?}, generation: {:?}, split_barrier: {}, named_barriers: {}, \
                 cluster_barrier: {}, back_off_barrier: {}, kmcnt: {}, ordered_vmem: {}, cumode_feature: {}, \
                 tg_split: {}, generic_access: {}, wave_shuffle: &{:?}, vop3_literals: {}, waitcnt: {}, counters: {}, matrix: Matrix::{:?}, byte_dots: ByteDots::{:?}, float8_conversions: {}, images: {}, texel_buffers: {}, sampler_max_lod: Field {{ bit: {}, bits: {} }}, real_time_clock: {}, lds_dma_bytes: &{:?}, async_marks: {}, \
                 async_counter: {}, acquire: {}, release: {}, invalidation_waits: {}, execution: {} }}), variants: &{:?}, wave_sizes: &{:?}, lds_bytes: {}, max_workgroup_size: {}, barrier_cycles: {}, costs: {} }},",
                f.generation,
                f.split_barrier,
                f.named_barriers,
                f.cluster_barrier,
                f.back_off_barrier,
                f.kmcnt,
                f.ordered_vmem,
                f.cumode,
                f.tg_split,
                f.generic_access,
                f.wave_shuffle,
                f.vop3_literals,
                f.waitcnt(),
                f.counters(),
                f.matrix,
                f.byte_dots.get(name).copied().unwrap_or(ByteDots::None),
                f.float8_conversions,
                f.images,
                f.texel_buffers,
                f.sampler_max_lod.0,
                f.sampler_max_lod.1,
                f.real_time_clock,
                f.lds_dma_bytes,
                f.async_marks,
                f.async_counter,
                f.acquire.rust(),
                f.release.rust(),
                f.invalidation_waits,
                f.execution(),
                variants(&amd, name),
                f.wave_sizes,
                f.lds_bytes,
                f.max_workgroup_size,
                f.barrier_cycles,
                costs(&f.costs),
            )?;
        }
    }
    let mut rows = Vec::new();
    for f in &nv.family {
        for name in &f.targets {
            let sm: u32 = name
                .strip_prefix("sm_")
                .and_then(|n| n.parse().ok())
                .with_context(|| format!("nvptx.toml: `{name}` is not of the form sm_NN"))?;
            rows.push((sm, f));
        }
    }
    rows.sort_by_key(|(sm, _)| *sm);
    for (sm, f) in rows {
        writeln!(
            out,
            "    Target {{ name: \"sm_{sm}\", arch: Arch::Nvptx(Nvptx {{ sm: {sm}, ptx: {}, mbarrier: Mbarrier::{:?}, cluster: {}, \
             one_sided_fences: {}, volta_fences: {}, cp_async: {}, bulk_copy: {}, mma: Mma::{:?}, float8_conversions: {}, redux: {}, named_barriers: {}, barriers_limit_occupancy: {}, nanosleep: {}, static_shared_bytes: {} }}), variants: &{:?}, wave_sizes: &[32], lds_bytes: {}, \
             max_workgroup_size: {}, barrier_cycles: {}, costs: {} }},",
            f.ptx,
            f.mbarrier,
            f.cluster,
            f.one_sided_fences,
            f.volta_fences,
            f.cp_async,
            f.bulk_copy,
            f.mma,
            f.float8_conversions,
            f.redux,
            f.named_barriers,
            f.barriers_limit_occupancy,
            f.nanosleep,
            f.shared_bytes,
            variants(&nv, &format!("sm_{sm}")),
            nv.optin_bytes
                .get(&format!("sm_{sm}"))
                .unwrap_or(&f.shared_bytes),
            f.max_workgroup_size,
            f.barrier_cycles,
            costs(&f.costs),
        )?;
    }
    out.push_str("];\n");
    Ok(out)
}

/// That each fact by target is of one of `targets`.
fn known<'f, T>(
    facts: &BTreeMap<String, T>,
    targets: impl Iterator<Item = &'f String>,
) -> Result<()> {
    let targets: Vec<&String> = targets.collect();
    match facts.keys().find(|name| !targets.contains(name)) {
        Some(stray) => bail!("fixtures/targets: `{stray}` is no target"),
        None => Ok(()),
    }
}

/// The variants of the target `name`.
fn variants<'f, T>(file: &'f File<T>, name: &str) -> &'f [String] {
    file.variants.get(name).map_or(&[], Vec::as_slice)
}

fn load<T: DeserializeOwned>(folder: &Path, name: &str, facts: &[&str]) -> Result<File<T>> {
    let text = std::fs::read_to_string(folder.join(name))
        .with_context(|| format!("cannot read fixtures/targets/{name}"))?;
    let file: File<T> =
        toml::from_str(&text).with_context(|| format!("fixtures/targets/{name}"))?;
    let cited = &file.sources;
    for fact in facts {
        if cited.get(*fact).is_none_or(|s| s.trim().is_empty()) {
            bail!("fixtures/targets/{name}: `{fact}` has no line in [sources]");
        }
    }
    if let Some(stray) = cited.keys().find(|k| !facts.contains(&k.as_str())) {
        bail!("fixtures/targets/{name}: [sources] cites `{stray}`, which is no fact");
    }
    Ok(file)
}
