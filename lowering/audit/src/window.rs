//! Counts the instructions of a pair's window in the final assembly.

use crate::asm::{Function, Instruction, Role};
use crate::word_of;
use serde::Serialize;
use splitbar_passes::module::WordOffset;
use splitbar_plan::{Overlap, Strategy};
use std::collections::BTreeSet;

/// The places of a pair in the SPIR-V module, and its strategy. Places are word offsets.
#[derive(Clone, Debug)]
pub struct Places {
    /// The strategy of the pair.
    pub strategy: Strategy,
    /// Its arrives.
    pub arrives: BTreeSet<WordOffset>,
    /// The instructions that can be executed between an arrive and a wait of the pair.
    pub window: BTreeSet<WordOffset>,
    /// Every barrier instruction of the entry point, those of other pairs included.
    pub barriers: BTreeSet<WordOffset>,
}

/// Instructions of a pair's window, counted in the final assembly of the kernel.
///
/// - `source` counts the machine instructions, anywhere in the kernel's own function, that came
///   from a SPIR-V instruction of the window ([`Places::window`]) and do work ([`Role::Work`]): the
///   barriers themselves, fences, waits for counters, branches, hints and, in PTX, copies between
///   registers do not count. An instruction that the compiler merged from several places, or moved
///   to another block before code generation, may have lost its origin; it does not count, neither
///   here nor in `kept`. A dual-issue instruction counts once.
/// - `kept` counts those of them that the wave can execute after it has arrived and before it
///   waits: they are reachable, through branches and fall-through but not into calls, from a
///   machine instruction that arrives for the pair without passing one that waits for a workgroup
///   barrier.
///
/// For NVIDIA GPUs the final assembly is the PTX, and the machine code that ptxas, which schedules
/// once more, makes of it ([`crate::asm::sass`]).
///
/// What follows from the strategy:
/// - [`Overlap::Split`]: as above.
/// - [`Overlap::Nothing`]: one full barrier stands in place of the pair, so `kept` is 0.
/// - [`Overlap::Everything`]: no instruction closes the window, so `kept` is `source`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Machine instructions of the window.
    pub source: u32,
    /// Those of them that are still inside it.
    pub kept: u32,
}

/// Measures the window of one pair in the assembly of its kernel.
pub fn measure(kernel: &Function, places: &Places) -> Window {
    let of_window: Vec<usize> = kernel
        .instructions
        .iter()
        .enumerate()
        .filter(|(_, i)| {
            i.role == Role::Work && word_of(i).is_some_and(|word| places.window.contains(&word))
        })
        .map(|(position, _)| position)
        .collect();
    let kept = match places.strategy.overlap() {
        Overlap::Split => {
            let open = open_region(kernel, places);
            of_window
                .iter()
                .filter(|position| open.contains(position))
                .count()
        }
        Overlap::Nothing => 0,
        Overlap::Everything => of_window.len(),
    };
    Window {
        source: count(of_window.len()),
        kept: count(kept),
    }
}

/// What `instruction` is to the pair's barrier. Where waves meet in workgroup memory, arrivals and
/// waits may be ordinary accesses of it: what came from an arrive and adds, what came from another
/// barrier instruction and loads. A counter's are, and in the machine code of sm_80 to sm_89 the
/// wait for an mbarrier.
fn role(instruction: &Instruction, places: &Places) -> Role {
    let may_access = places.strategy.shared_bytes() > 0
        && word_of(instruction).is_some_and(|word| places.barriers.contains(&word));
    match instruction.role {
        Role::Work if may_access && instruction.is_local_add() => Role::Arrive,
        Role::Work if may_access && instruction.is_local_load() => Role::Wait,
        role => role,
    }
}

/// Positions between an arrive of the pair and whatever waits next.
fn open_region(kernel: &Function, places: &Places) -> BTreeSet<usize> {
    let mut todo: Vec<usize> = arrivals(kernel, places)
        .into_iter()
        .flat_map(|p| kernel.successors(p))
        .collect();
    let mut open = BTreeSet::new();
    while let Some(position) = todo.pop() {
        let Some(instruction) = kernel.instructions.get(position) else {
            continue; // behind the last instruction
        };
        match role(instruction, places) {
            Role::Wait | Role::ArriveAndWait => continue,
            Role::Work | Role::Arrive | Role::Housekeeping => {}
        }
        if open.insert(position) {
            todo.extend(kernel.successors(position));
        }
    }
    open
}

/// Machine instructions that arrive for the pair. Where the compiler merged two arrives into one,
/// its origin is lost: then every arrival that belongs to no barrier of the module counts.
fn arrivals(kernel: &Function, places: &Places) -> Vec<usize> {
    let arrive = |accept: &dyn Fn(Option<WordOffset>) -> bool| -> Vec<usize> {
        kernel
            .instructions
            .iter()
            .enumerate()
            .filter(|(_, i)| role(i, places) == Role::Arrive && accept(word_of(i)))
            .map(|(position, _)| position)
            .collect()
    };
    let own = arrive(&|word| word.is_some_and(|word| places.arrives.contains(&word)));
    if own.is_empty() {
        arrive(&|word| word.is_none_or(|word| !places.barriers.contains(&word)))
    } else {
        own
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::asm::{amdgpu, ptx};
    use pretty_assertions::assert_eq;

    fn places(strategy: Strategy, arrive: u32, window: &[u32]) -> Places {
        Places {
            strategy,
            arrives: [WordOffset::new(arrive)].into(),
            window: window.iter().copied().map(WordOffset::new).collect(),
            barriers: [arrive, 60].map(WordOffset::new).into(),
        }
    }

    /// Words: 20 before, 30 arrive, 40 and 50 window, 60 wait. One of the three FMAs was hoisted
    /// over the signal, one sank below the wait.
    const GFX12: &str = "\
\t.type\tk,@function
k:
\t.loc\t1 21 0
\tds_store_b32 v0, v1
\t.loc\t1 41 0
\tv_fma_f32 v0, v1, v2, v3
\t.loc\t1 31 0
\ts_wait_dscnt 0x0
\ts_barrier_signal -1
\t.loc\t1 41 0
\tv_fma_f32 v0, v1, v2, v3
\t.loc\t1 51 0
\ts_wait_loadcnt 0x0
\ts_cbranch_scc1 .LBB0_2
\tv_add_f32 v0, v1, v2
.LBB0_2:
\t.loc\t1 61 0
\ts_barrier_wait -1
\t.loc\t1 41 0
\tv_fma_f32 v0, v1, v2, v3
\ts_endpgm
";

    #[test]
    fn amdgpu_counts_what_is_between_signal_and_wait() {
        let kernel = &amdgpu::parse(GFX12)[0];
        assert_eq!(
            measure(kernel, &places(Strategy::Native, 30, &[40, 50])),
            Window { source: 4, kept: 2 }
        );
    }

    #[test]
    fn strategies_without_a_hardware_window() {
        let kernel = &amdgpu::parse(GFX12)[0];
        assert_eq!(
            measure(kernel, &places(Strategy::Fused, 30, &[40, 50])),
            Window { source: 4, kept: 0 }
        );
        assert_eq!(
            measure(kernel, &places(Strategy::SingleWave, 30, &[40, 50])),
            Window { source: 4, kept: 4 }
        );
    }

    #[test]
    fn a_loop_leads_back_into_the_window() {
        // wait, then arrive, then the back edge: the head of the loop is inside the window.
        let text = "\
\t.type\tk,@function
k:
\t.loc\t1 31 0
\ts_barrier_signal -1
.LBB0_1:
\t.loc\t1 41 0
\tv_fma_f32 v0, v1, v2, v3
\t.loc\t1 61 0
\ts_barrier_wait -1
\t.loc\t1 51 0
\tv_fma_f32 v0, v1, v2, v3
\t.loc\t1 71 0
\ts_barrier_signal -1
\ts_cbranch_scc1 .LBB0_1
\ts_endpgm
";
        let kernel = &amdgpu::parse(text)[0];
        assert_eq!(
            measure(kernel, &places(Strategy::Native, 70, &[40, 50])),
            Window { source: 2, kept: 1 }
        );
    }

    #[test]
    fn an_arrive_without_origin_still_opens_the_window() {
        let text = GFX12.replace(".loc\t1 31 0", ".loc\t1 0 0");
        let kernel = &amdgpu::parse(&text)[0];
        assert_eq!(
            measure(kernel, &places(Strategy::Native, 30, &[40, 50])),
            Window { source: 4, kept: 2 }
        );
    }

    #[test]
    fn ptx_leader_arrives_and_all_go_on() {
        let text = "\
.visible .entry k(
\t.param .u64 k_param_0
)
{
\t.reg .pred \t%p<6>;
\t.loc\t1 41 0
\tfma.rn.f32 \t%r1, %r2, %r3, %r4;
\t.loc\t1 31 0
\tbar.warp.sync \t-1;
\t@%p2 bra \t$L__BB0_2;
\tmbarrier.arrive.shared.b64 %rd11, [mb];
$L__BB0_2:
\t.loc\t1 41 0
\tfma.rn.f32 \t%r1, %r2, %r3, %r4;
\tmov.b32 \t%r5, %r1;
$L__BB0_3:
\t.loc\t1 61 0
\tmbarrier.try_wait.parity.shared.b64 %p3, [mb], %r21;
\t@%p3 bra \t$L__BB0_3;
\t.loc\t1 51 0
\tfma.rn.f32 \t%r1, %r2, %r3, %r4;
\tret;
}
";
        let kernel = &ptx::functions(text).unwrap()[0];
        assert_eq!(
            measure(kernel, &places(Strategy::Mbarrier, 30, &[40, 50])),
            Window { source: 3, kept: 1 }
        );
    }
}
