//! Checks that a full barrier separates one phase of a split barrier from the next.
//!
//! Some ways to lower a split barrier use one set of barrier objects for every phase. They are
//! right only if nobody can arrive for the next phase while somebody has still to wait for this
//! one, which a full barrier between the wait and the next arrive sees to.

use super::sites::{Site, SiteKind};
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Direction, solve_any};
use crate::module::{BlockIndex, BlockMap};

/// Returns true if every path from a wait to the next arrive crosses an OpControlBarrier. `sites`
/// are those of one execution scope, in module order.
pub(super) fn separated(cfg: &Cfg, sites: &[Site]) -> bool {
    let mut kinds = BlockMap::filled(cfg.len(), Vec::new());
    for site in sites {
        if let Some(kinds) = cfg
            .index_of(site.block)
            .and_then(|block| kinds.get_mut(block))
        {
            kinds.push(site.kind);
        }
    }
    let at_start = solve_any(cfg, Direction::Forward, |block: BlockIndex, waited| {
        let kinds = kinds.get(block).into_iter().flatten();
        kinds.copied().fold(waited, after)
    });
    at_start.values().zip(kinds.values()).all(|(start, kinds)| {
        let mut waited = *start;
        kinds.iter().all(|kind| {
            let meets = *kind == SiteKind::Arrive && waited;
            waited = after(waited, *kind);
            !meets
        })
    })
}

/// Returns true if a wait may have been passed with no full barrier since, after a site.
fn after(waited: bool, kind: SiteKind) -> bool {
    match kind {
        SiteKind::Wait => true,
        SiteKind::ControlBarrier | SiteKind::Arrive => false,
        SiteKind::MemoryBarrier => waited,
    }
}
