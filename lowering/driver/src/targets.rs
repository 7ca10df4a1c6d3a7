//! The features of each target, for the command line.

use serde::Serialize;
use splitbar_plan::target::Arch;
use splitbar_plan::{Strategy, Target};

/// One target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetRow {
    /// The name for `--target`.
    pub name: &'static str,
    /// Wave (warp) sizes, the default first.
    pub wave_sizes: &'static [u32],
    /// The strategy of a split barrier in a workgroup of more than one wave, while workgroup memory
    /// is left for it.
    pub strategy: &'static str,
    /// All strategies that it has for some pair, the names that `--strategy` takes; `subgroup` is
    /// what pairs of that scope get.
    pub strategies: Vec<&'static str>,
    /// The way in which the target copies to workgroup memory without registers: `async` (marks and
    /// a counter of its own), `dma`, `cp.async`, or null.
    pub async_copies: Option<&'static str>,
    /// The PTX version that the code needs, such as `8.0`; null for AMDGPU.
    pub minimum_ptx: Option<String>,
    /// Workgroup memory of one workgroup, in bytes.
    pub lds_bytes: u32,
    /// Invocations of one workgroup at the most.
    pub max_workgroup_size: u32,
    /// Products with this GPU, and its architecture; `--target` takes these names too.
    pub products: Vec<&'static str>,
}

/// Every target, in the order of the table.
pub fn targets() -> Vec<TargetRow> {
    Target::all().iter().map(row).collect()
}

fn row(target: &'static Target) -> TargetRow {
    let (async_copies, minimum_ptx) = match &target.arch {
        Arch::Amdgpu(gpu) => {
            let copies = match (gpu.async_counter, gpu.lds_dma_bytes.is_empty()) {
                (true, _) => Some("async"),
                (false, false) => Some("dma"),
                (false, true) => None,
            };
            (copies, None)
        }
        Arch::Nvptx(gpu) => (
            match (gpu.bulk_copy, gpu.cp_async) {
                (true, _) => Some("cp.async, bulk"),
                (false, true) => Some("cp.async"),
                (false, false) => None,
            },
            Some(format!("{}.{}", gpu.ptx / 10, gpu.ptx % 10)),
        ),
    };
    TargetRow {
        name: target.name,
        wave_sizes: target.wave_sizes,
        strategy: Strategy::of_target(target).name(),
        strategies: Strategy::all_of_target(target)
            .into_iter()
            .map(Strategy::name)
            .collect(),
        async_copies,
        minimum_ptx,
        lds_bytes: target.lds_bytes,
        max_workgroup_size: target.max_workgroup_size,
        products: target.products().collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn strategies_by_generation() {
        let of = |name: &str| {
            let row = targets().into_iter().find(|row| row.name == name);
            row.map(|row| row.strategies.join(" ")).unwrap_or_default()
        };
        assert_eq!(of("gfx906"), "counter fused single-wave subgroup");
        assert_eq!(of("gfx1201"), "native counter fused single-wave subgroup");
        assert_eq!(
            of("gfx1250"),
            "native named cluster counter fused single-wave subgroup"
        );
        assert_eq!(
            of("sm_60"),
            "warp-named warp-named-single group-named fused single-wave subgroup"
        );
        assert_eq!(
            of("sm_80"),
            "mbarrier warp-named warp-named-single group-named counter fused single-wave subgroup"
        );
        assert_eq!(
            of("sm_90"),
            "mbarrier cluster counter fused single-wave subgroup"
        );
    }

    /// The names of strategies in the second column of docs/support.md, "Barriers".
    fn listed_strategies() -> BTreeSet<&'static str> {
        let page = include_str!("../../../docs/support.md");
        let section = page.split("\n## Barriers\n").nth(1);
        let table = section
            .unwrap()
            .lines()
            .skip_while(|line| !line.starts_with('|'));
        let rows = table.take_while(|line| line.starts_with('|')).skip(2);
        rows.map(|row| {
            row.split('|')
                .nth(2)
                .and_then(|cell| cell.split('`').nth(1))
        })
        .map(|name| name.unwrap())
        .collect()
    }

    #[test]
    fn the_page_lists_every_strategy_and_no_other() {
        let all = Strategy::ALL.iter().map(|strategy| strategy.name());
        assert_eq!(listed_strategies(), all.collect());
    }

    #[test]
    fn every_target_has_a_row_and_only_nvptx_needs_ptx() {
        let rows = targets();
        assert_eq!(rows.len(), Target::all().len());
        for row in rows {
            assert_eq!(
                row.minimum_ptx.is_some(),
                row.name.starts_with("sm_"),
                "{}",
                row.name
            );
            assert!(!row.wave_sizes.is_empty(), "{}", row.name);
            assert!(row.strategies.contains(&row.strategy), "{}", row.name);
        }
    }
}
