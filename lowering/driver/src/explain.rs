//! The meaning of steps of plans and of machine instructions that wait, order memory or
//! synchronise, in a few words.

/// Rows: what a line begins with, and what it means. The first row that fits counts.
type Rows = &'static [(&'static str, &'static str)];

/// Steps of plans, as [`splitbar_plan::EntryPlan`] prints them.
const STEPS: Rows = &[
    (
        "fence release",
        "earlier writes become visible to the other waves first",
    ),
    (
        "fence acquire",
        "later reads see what the other waves wrote",
    ),
    ("fence", "orders memory accesses before it and after it"),
    (
        "wait-zero",
        "waits until these operations of this wave are complete",
    ),
    (
        "workgroup-barrier",
        "arrives and waits until all waves of the workgroup have arrived",
    ),
    ("signal", "arrives at the barrier and continues"),
    (
        "wait-signal",
        "waits until all waves of the workgroup have arrived",
    ),
    (
        "open-window",
        "the window begins; the compiler moves nothing across",
    ),
    (
        "close-window",
        "the window ends; the compiler moves nothing across",
    ),
    (
        "leave-window",
        "the compiler moves nothing from after the wait up",
    ),
    (
        "mbarrier-init",
        "prepares the barrier object in workgroup memory",
    ),
    (
        "mbarrier-arrive",
        "arrives at the barrier object and continues",
    ),
    (
        "mbarrier-wait",
        "waits until the phase of the barrier object is complete",
    ),
    (
        "mbarrier",
        "works on the barrier object in workgroup memory",
    ),
    (
        "bar.sync",
        "arrives and waits until all waves of the workgroup have arrived",
    ),
    ("bar.arrive", "arrives at a numbered barrier and continues"),
    ("counter-init", "clears the counter in workgroup memory"),
    ("counter-arrive", "adds one to the counter and continues"),
    (
        "counter-wait",
        "reads the counter until all waves have arrived",
    ),
    ("async-mark", "closes a group of asynchronous copies"),
    (
        "async-wait",
        "waits until groups of asynchronous copies are complete",
    ),
];

/// Instructions of AMD GPUs.
const AMDGPU: Rows = &[
    ("s_barrier_signal", "arrives at the barrier and continues"),
    (
        "s_barrier_wait",
        "waits until all waves of the workgroup have arrived",
    ),
    (
        "s_barrier",
        "arrives and waits until all waves of the workgroup have arrived",
    ),
    (
        "s_wait_loadcnt_dscnt",
        "waits for loads, and for accesses to workgroup memory",
    ),
    (
        "s_wait_storecnt_dscnt",
        "waits for stores, and for accesses to workgroup memory",
    ),
    ("s_wait_loadcnt", "waits for loads from global memory"),
    ("s_wait_storecnt", "waits for stores to global memory"),
    ("s_wait_dscnt", "waits for accesses to workgroup memory"),
    ("s_wait_kmcnt", "waits for scalar loads"),
    ("s_waitcnt_vscnt", "waits for stores to global memory"),
    (
        "s_waitcnt_depctr",
        "waits for results of earlier instructions",
    ),
    (
        "s_waitcnt",
        "waits for the memory operations that are named",
    ),
    ("s_wait", "waits for operations of this kind"),
    ("s_sleep", "sleeps before it polls again"),
    (
        "global_inv",
        "acquire: drops lines of the cache that may be old",
    ),
    ("global_wb", "release: writes cached data back"),
    (
        "buffer_gl0_inv",
        "acquire: drops lines of the first cache that may be old",
    ),
    (
        "buffer_gl1_inv",
        "acquire: drops lines of the second cache that may be old",
    ),
    ("buffer_inv", "acquire: drops cache lines that may be old"),
    ("buffer_wb", "release: writes cached data back"),
];

/// Instructions of PTX.
const PTX: Rows = &[
    ("mbarrier.init", "prepares the barrier object"),
    (
        "mbarrier.arrive",
        "arrives at the barrier object and continues",
    ),
    ("mbarrier.test_wait", "asks if the phase is complete"),
    (
        "mbarrier.try_wait",
        "waits for a time until the phase is complete",
    ),
    ("mbarrier", "works on the barrier object"),
    (
        "bar.sync",
        "arrives and waits until all waves of the barrier have arrived",
    ),
    (
        "barrier.sync",
        "arrives and waits until all waves of the barrier have arrived",
    ),
    ("bar.arrive", "arrives at a numbered barrier and continues"),
    (
        "barrier.arrive",
        "arrives at a numbered barrier and continues",
    ),
    (
        "barrier.cluster.arrive",
        "arrives at the barrier of the cluster and continues",
    ),
    (
        "barrier.cluster.wait",
        "waits until all workgroups of the cluster have arrived",
    ),
    ("bar.warp.sync", "the lanes of the wave synchronise"),
    ("fence", "orders memory accesses before it and after it"),
    ("membar", "orders memory accesses before it and after it"),
    ("cp.async.wait", "waits for asynchronous copies"),
    (
        "cp.async.commit_group",
        "closes a group of asynchronous copies",
    ),
];

fn row(rows: Rows, text: &str) -> Option<&'static str> {
    let mut rows = rows.iter();
    let (_, note) = rows.find(|(prefix, _)| text.starts_with(prefix))?;
    Some(note)
}

/// The number of the site that a line of a plan is about: `  #3 wait ...`.
pub(crate) fn site(line: &str) -> Option<usize> {
    let number = line.strip_prefix("  #")?;
    number.split(' ').next()?.parse().ok()
}

/// The meaning of a step of a plan.
pub(crate) fn step(text: &str) -> Option<&'static str> {
    row(STEPS, text.trim_start())
}

/// The meaning of a machine instruction, by its mnemonic.
pub(crate) fn instruction(mnemonic: &str, is_amd: bool) -> Option<&'static str> {
    row([PTX, AMDGPU][usize::from(is_amd)], mnemonic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_hides_a_later_one() {
        for rows in [STEPS, AMDGPU, PTX] {
            for (position, (later, _)) in rows.iter().enumerate() {
                let mut earlier = rows.iter().take(position);
                let hides = earlier.find(|(prefix, _)| later.starts_with(prefix));
                assert_eq!(hides, None, "{later}");
            }
        }
    }

    #[test]
    fn meanings_go_by_the_start() {
        assert!(step("    fence release workgroup local").is_some_and(|t| t.contains("writes")));
        assert_eq!(step("  something else"), None);
        assert!(instruction("s_barrier_wait", true).is_some_and(|t| t.starts_with("waits")));
        assert_eq!(instruction("s_barrier_wait", false), None);
    }
}
