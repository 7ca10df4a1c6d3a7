//! fixtures/targets/timing.toml -> lowering/target/src/timing/table.rs.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fmt::Write as _;

use crate::shell;

pub(super) const TABLE: &str = "lowering/target/src/timing/table.rs";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    gpu: Vec<Gpu>,
}

/// A number with its source.
type One = (u32, String);
/// Interval and latency, or size and latency, with their source.
type Two = (u32, u32, String);

/// The names are those of the table's enumeration.
#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Order {
    Oldest,
    Youngest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gpu {
    targets: Vec<String>,
    #[serde(default)]
    estimated: bool,
    clock_mhz: One,
    schedulers: One,
    order: (Order, String),
    lanes: One,
    simple: Two,
    integer: Two,
    wide: Two,
    special: Two,
    matrix: Two,
    scalar: Two,
    branch: One,
    shared: Two,
    line_bytes: One,
    near: Two,
    far: Two,
    memory: One,
    far_bandwidth: One,
    memory_bandwidth: One,
    barrier: Two,
    object: Two,
    object_fence: One,
    fence: One,
    device_fence: One,
}

impl Gpu {
    fn ones(&self) -> [(&'static str, &One); 11] {
        [
            ("clock_mhz", &self.clock_mhz),
            ("schedulers", &self.schedulers),
            ("lanes", &self.lanes),
            ("branch", &self.branch),
            ("line_bytes", &self.line_bytes),
            ("memory", &self.memory),
            ("far_bandwidth", &self.far_bandwidth),
            ("memory_bandwidth", &self.memory_bandwidth),
            ("object_fence", &self.object_fence),
            ("fence", &self.fence),
            ("device_fence", &self.device_fence),
        ]
    }

    fn pipes(&self) -> [(&'static str, &Two); 9] {
        [
            ("simple", &self.simple),
            ("integer", &self.integer),
            ("wide", &self.wide),
            ("special", &self.special),
            ("matrix", &self.matrix),
            ("scalar", &self.scalar),
            ("shared", &self.shared),
            ("barrier", &self.barrier),
            ("object", &self.object),
        ]
    }

    fn caches(&self) -> [(&'static str, &Two); 2] {
        [("near", &self.near), ("far", &self.far)]
    }

    /// The row as Rust.
    fn rust(&self) -> Result<String> {
        let twos = self.pipes().into_iter().chain(self.caches());
        let sources = twos.map(|(fact, two)| (fact, &two.2));
        let sources = sources.chain(self.ones().into_iter().map(|(fact, one)| (fact, &one.1)));
        let sources = sources.chain([("order", &self.order.1)]);
        for (fact, source) in sources {
            if source.trim().is_empty() {
                bail!("timing.toml: `{fact}` of {:?} has no source", self.targets);
            }
        }
        let mut fields = vec![
            format!("estimated: {}", self.estimated),
            format!("order: Order::{:?}", self.order.0),
        ];
        fields.extend(self.ones().map(|(name, one)| format!("{name}: {}", one.0)));
        fields.extend(self.pipes().map(|(name, (interval, latency, _))| {
            format!("{name}: Pipe {{ interval: {interval}, latency: {latency} }}")
        }));
        fields.extend(self.caches().map(|(name, (kib, latency, _))| {
            format!(
                "{name}: Cache {{ bytes: {}, latency: {latency} }}",
                kib * 1024
            )
        }));
        Ok(format!(
            "(&{:?}, Timing {{ {} }})",
            self.targets,
            fields.join(", ")
        ))
    }
}

/// The table as Rust.
pub(super) fn generate() -> Result<String> {
    let path = shell::root().join("fixtures/targets/timing.toml");
    let text = std::fs::read_to_string(path).context("cannot read fixtures/targets/timing.toml")?;
    let file: File = toml::from_str(&text).context("fixtures/targets/timing.toml")?;
    let mut out = String::from(
        "//! The times of each GPU. Generated from fixtures/targets/timing.toml by `cargo xtask targets`;\n//! change the data there.\n\n\
         use super::{Cache, Order, Pipe, Timing};\n\n\
         /// By the names of targets.\n\
         #[rustfmt::skip] // one row a line\n\
         pub(super) static ROWS: &[(&[&str], Timing)] = &[\n",
    );
    for gpu in &file.gpu {
        writeln!(out, "    {},", gpu.rust()?)?;
    }
    out.push_str("];\n");
    Ok(out)
}
