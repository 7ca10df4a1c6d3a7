//! Barrier instructions: hardware ids to objects, arrivals, waits. Source: LLVM AMDGPUUsage,
//! "AMDGPU Execution Synchronization"; RDNA4 and gfx12.5 instruction set, chapters on barriers.

use super::inst::Barrier;
use super::operand::sgpr;
use super::program::{Kernel, next};
use super::wave::Wave;
use crate::barrier::Name;
use crate::clock::Order;
use crate::context::Context;
use crate::finding::FindingKind;
use crate::program::Step;

impl Kernel {
    pub(super) fn barrier(
        &self,
        wave: &mut Wave,
        barrier: Barrier,
        pc: u32,
        cx: &mut Context<'_>,
    ) -> Step {
        match barrier {
            Barrier::Full => {
                self.release(wave, cx);
                if !wave.arrived.iter().any(|(n, _)| *n == Name::Workgroup)
                    && !arrive(wave, Name::Workgroup, pc, cx)
                {
                    return Step::Ran(1);
                }
                return wait(wave, Name::Workgroup, cx);
            }
            Barrier::Signal { id, first } => {
                self.release(wave, cx);
                signal(wave, id, first, pc, cx);
            }
            Barrier::Wait { id } => return signal_wait(wave, id, pc, cx),
            Barrier::Init { id } => {
                let m0 = wave.s(sgpr::M0);
                if let Some(name) = name(id.unwrap_or((m0 & 63) as i32), pc, cx) {
                    cx.group.barriers.make(name, m0 >> 16 & 127);
                    cx.changed();
                }
            }
            Barrier::Join { id } => {
                let m0 = wave.s(sgpr::M0);
                wave.joined = name(id.unwrap_or((m0 & 63) as i32), pc, cx);
            }
            Barrier::Leave => leave(wave, pc, cx),
            Barrier::Wake => {}
        }
        next(wave)
    }
}

/// `s_barrier_signal`: arrives at the barrier `id`, or at the one that M0 names, whose members it
/// then sets.
fn signal(wave: &mut Wave, id: Option<i32>, first: bool, pc: u32, cx: &mut Context<'_>) {
    let m0 = wave.s(sgpr::M0);
    let Some(name) = name(id.unwrap_or((m0 & 63) as i32), pc, cx) else {
        return;
    };
    let members = m0 >> 16 & 127;
    if id.is_none()
        && members != 0
        && let Some(object) = cx.group.barriers.get_mut(name)
    {
        object.expect(members);
    }
    let nobody = cx
        .group
        .barriers
        .get(name)
        .is_some_and(|b| b.arrived() == 0);
    if wave.arrived.iter().any(|(n, _)| *n == name) && name == Name::Workgroup {
        cx.report(FindingKind::BarrierMisuse, pc, None, || {
            format!("the wave signals {name} again before it has waited for it")
        });
        wave.arrived.retain(|(n, _)| *n != name);
    }
    arrive(wave, name, pc, cx);
    if first {
        wave.scc = nobody;
    }
}

/// `s_barrier_wait`: waits for the barrier `id`, or for the named one that the wave has joined.
fn signal_wait(wave: &mut Wave, id: i32, pc: u32, cx: &mut Context<'_>) -> Step {
    let name = match id {
        1.. => wave.joined,
        _ => name(id, pc, cx),
    };
    let Some(name) = name else {
        if id > 0 {
            cx.report(FindingKind::BarrierMisuse, pc, None, || {
                "the wave waits for a named barrier but has joined none".to_owned()
            });
        }
        return next(wave);
    };
    if !wave.arrived.iter().any(|(n, _)| *n == name) {
        if name == Name::Workgroup {
            cx.report(FindingKind::BarrierMisuse, pc, None, || {
                format!("the wave waits for {name} without having signalled it")
            });
        }
        let object = cx.group.barriers.get(name);
        let phase = match name {
            Name::Cluster => wave.cluster_phase,
            _ => object.map_or(0, crate::barrier::Barrier::phase),
        };
        wave.arrived.push((name, phase));
    }
    wait(wave, name, cx)
}

/// `s_barrier_leave`: the wave is no member of its named barrier any more.
fn leave(wave: &mut Wave, pc: u32, cx: &mut Context<'_>) {
    // "For every barrier drop": a join before it, and no arrival of the wave whose phase is not
    // complete.
    let joined = wave.joined.take();
    let barrier = joined.and_then(|name| cx.group.barriers.get(name));
    let open = wave
        .arrived
        .iter()
        .any(|(name, phase)| Some(*name) == joined && barrier.is_some_and(|b| !b.passed(*phase)));
    if open {
        cx.report(FindingKind::BarrierMisuse, pc, None, || {
            "the wave leaves a barrier with an arrival that is not complete".to_owned()
        });
    }
    match joined.and_then(|name| cx.group.barriers.get_mut(name)) {
        Some(barrier) => {
            barrier.leave(1);
            cx.changed();
        }
        None => cx.report(FindingKind::BarrierMisuse, pc, None, || {
            "the wave leaves a named barrier but has joined none".to_owned()
        }),
    }
    wave.scc = false;
}

/// The object with this hardware id; `None` for the null barrier and, with a finding, for ids that
/// are not simulated.
fn name(id: i32, pc: u32, cx: &mut Context<'_>) -> Option<Name> {
    match id {
        -1 => Some(Name::Workgroup),
        -3 => Some(Name::Cluster),
        1..=16 => Some(Name::Named(id as u32)),
        0 => None,
        _ => {
            cx.report(FindingKind::UnsupportedInstruction, pc, None, || {
                format!("barrier id {id}")
            });
            None
        }
    }
}

/// Arrives at a barrier object; `false` after a finding.
fn arrive(wave: &mut Wave, name: Name, pc: u32, cx: &mut Context<'_>) -> bool {
    match cx.arrive(name, 1, Order::Release) {
        Some(Ok(phase)) => {
            wave.arrived.retain(|(n, _)| *n != name);
            wave.arrived.push((name, phase));
            true
        }
        Some(Err(problem)) => {
            cx.report(FindingKind::BarrierMisuse, pc, None, || {
                format!("{name}: {problem}")
            });
            false
        }
        None => {
            cx.report(FindingKind::BarrierMisuse, pc, None, || {
                format!("{name} is not initialised")
            });
            false
        }
    }
}

/// Goes on when the phase is complete that the wave arrived for.
fn wait(wave: &mut Wave, name: Name, cx: &mut Context<'_>) -> Step {
    let phase = wave
        .arrived
        .iter()
        .find(|(n, _)| *n == name)
        .map_or(0, |(_, p)| *p);
    if !cx.pass(name, phase, Order::Acquire) {
        return Step::Blocked;
    }
    wave.arrived.retain(|(n, _)| *n != name);
    if name == Name::Cluster {
        wave.cluster_phase = phase + 1;
    }
    next(wave)
}
