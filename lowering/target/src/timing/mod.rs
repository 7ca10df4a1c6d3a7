//! The timing of instructions on each GPU, for estimates. Sources, fact by fact:
//! `fixtures/targets/timing.toml`, from which this table is generated. Many figures are estimates,
//! and the source marks them.
//!
//! A unit is a multiprocessor (NVIDIA), a compute unit, or a WGP (AMD, from gfx10 on).

mod rates;
mod table;

use super::Target;
pub use rates::{Cache, Order, Pipe, Timing};

impl Timing {
    /// The timing of `target`; `None` if it is unknown.
    pub fn for_target(target: &Target) -> Option<&'static Timing> {
        let row = (table::ROWS.iter()).find(|(names, _)| names.contains(&target.gpu()));
        row.map(|(_, timing)| timing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residency::Residency;

    #[test]
    fn rows_are_of_gpus_whose_residency_is_known() {
        let mut names: Vec<&str> = (table::ROWS.iter())
            .flat_map(|(names, _)| *names)
            .copied()
            .collect();
        for name in &names {
            let target = Target::by_name(name);
            assert!(
                target.and_then(Residency::for_estimates).is_some(),
                "{name}"
            );
        }
        let rows = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows, "a GPU has two rows");
    }

    #[test]
    fn all_latencies_are_scaled_and_nothing_else() {
        for (names, timing) in table::ROWS {
            assert_eq!(timing.with_latencies(3, 3), *timing, "{names:?}");
            let longer = timing.with_latencies(4, 3);
            assert_eq!(longer.memory, timing.memory * 4 / 3, "{names:?}");
            assert_eq!(longer.shared.latency, timing.shared.latency * 4 / 3);
            assert_eq!(longer.shared.interval, timing.shared.interval);
            assert_eq!(longer.near.bytes, timing.near.bytes);
        }
        let estimated = (table::ROWS.iter()).filter(|(_, timing)| timing.estimated);
        assert_eq!(estimated.count(), 1);
    }

    #[test]
    fn nothing_divides_by_zero_and_farther_is_slower() {
        for (names, timing) in table::ROWS {
            let pipes = [
                timing.simple,
                timing.integer,
                timing.wide,
                timing.special,
                timing.matrix,
                timing.scalar,
                timing.shared,
                timing.barrier,
                timing.object,
            ];
            assert!(pipes.iter().all(|pipe| pipe.interval > 0), "{names:?}");
            let counts = [
                timing.schedulers,
                timing.lanes,
                timing.line_bytes,
                timing.far_bandwidth,
                timing.memory_bandwidth,
            ];
            assert!(counts.iter().all(|count| *count > 0), "{names:?}");
            let latencies = [timing.near.latency, timing.far.latency, timing.memory];
            assert!(latencies.is_sorted(), "{names:?}");
            assert!(timing.near.bytes <= timing.far.bytes, "{names:?}");
        }
    }
}
