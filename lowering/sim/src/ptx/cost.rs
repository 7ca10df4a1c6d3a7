//! The resources of a multiprocessor that PTX instructions use. Classes depend on opcode and type
//! in the text: one PTX instruction counts as one machine instruction, except for a few that
//! `ptxas` expands.

use super::exec::warp::FragmentState;
use super::operand::Source;
use super::program::{Coded, Kernel, MbarrierKind, Op};
use super::roles::Role;
use crate::clock::Scope;
use crate::queue::Counters;
use crate::timing::{Cost, Timed, Unit};

/// Asynchronous copies that no group has yet.
const COPIES: Counters = 1;
/// Groups of copies.
const GROUPS: Counters = 2;

/// Instructions of the machine that a division of 32-bit floats is, and one of integers: about
/// what `ptxas` makes of them.
const DIVISION: u32 = 8;
const INTEGER_DIVISION: u32 = 20;

impl Timed for Kernel {
    fn costs(&self) -> Vec<Cost> {
        self.code.iter().map(|coded| self.cost(coded)).collect()
    }

    fn registers(&self) -> usize {
        self.registers as usize
    }

    fn next(&self, warp: &super::Warp) -> Option<u32> {
        let fragment = match warp.fragments.as_slice() {
            [only] => only,
            all => all.get(warp.running)?,
        };
        match fragment.state {
            FragmentState::Ready => Some(fragment.pc),
            // It goes on behind the barrier.
            FragmentState::Phase(..) if warp.fragments.len() == 1 => Some(fragment.pc + 1),
            FragmentState::Phase(..) | FragmentState::Parked(_) | FragmentState::Meeting(_) => None,
        }
    }
}

impl Kernel {
    fn cost(&self, coded: &Coded) -> Cost {
        let line = self.lines.get((coded.line as usize).wrapping_sub(1));
        let mut words = line.map_or("", String::as_str).split_whitespace();
        let opcode = words
            .find(|word| !word.starts_with('@'))
            .unwrap_or_default();
        let (unit, slots) = self.unit(coded, opcode.trim_end_matches(';'), words.next());
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        coded.operands(&self.lists, &mut |role, register| match role {
            Role::Definition => writes.push(register),
            Role::Use | Role::Address | Role::Guard => reads.push(register),
        });
        let copies = match coded.op {
            Op::CopyAsync { .. } => COPIES,
            _ => 0,
        };
        Cost {
            unit,
            slots,
            reads: reads.into(),
            writes: writes.into(),
            accesses: coded.op.accesses(),
            counters: copies,
            gathers: matches!(coded.op, Op::CopyCommit).then_some((COPIES, GROUPS)),
            waits: match coded.op {
                Op::CopyWait { left: Some(left) } => [(GROUPS, left)].into(),
                Op::CopyWait { left: None } => [(GROUPS | COPIES, 0)].into(),
                _ => [].into(),
            },
        }
    }

    fn unit(&self, coded: &Coded, opcode: &str, operand: Option<&str>) -> (Unit, u32) {
        match coded.op {
            Op::Compute { .. } | Op::MultiplyAdd { .. } => arithmetic(opcode),
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::Texel { .. }
            | Op::LoadMatrix { .. }
            | Op::CopyLocal { .. }
            | Op::CopyAsync { .. }
            | Op::CopyBulk { .. } => (Unit::Memory, 1),
            Op::Branch { .. }
            | Op::BranchIndexed { .. }
            | Op::Call { .. }
            | Op::Return
            | Op::Exit
            | Op::Trap => (Unit::Branch, 1),
            Op::Shuffle { .. } | Op::Match { .. } | Op::Reduce { .. } => (Unit::Exchange, 1),
            Op::Vote { .. } | Op::Elect { .. } | Op::ActiveMask { .. } | Op::Clock { .. } => {
                (Unit::Integer, 1)
            }
            // ptxas makes a NOP of it (sm_75 to sm_100), unless it cannot tell that all lanes are
            // there.
            Op::WarpSync {
                members: Source::Constant(_),
            } => (Unit::None, 1),
            Op::WarpSync { .. } => (Unit::Integer, 1),
            Op::Barrier { waits, .. } => (Unit::Barrier { waits }, 1),
            Op::ClusterArrive { .. } => (Unit::Barrier { waits: false }, 1),
            Op::ClusterWait => (Unit::Barrier { waits: true }, 1),
            Op::Fence { scope, .. } => match scope {
                Scope::Workgroup => (Unit::Fence, 1),
                Scope::Device => (Unit::DeviceFence, 1),
            },
            Op::ProxyFence { .. } => (Unit::Fence, 1),
            Op::Mbarrier { kind, relaxed, .. } => {
                let object = Unit::Object {
                    releases: matches!(kind, MbarrierKind::Arrive { .. }) && !relaxed,
                    suspends: matches!(kind, MbarrierKind::Test { .. })
                        && opcode.contains("try_wait"),
                };
                (object, 1)
            }
            Op::CopyArrive { .. } => (
                Unit::Object {
                    releases: false,
                    suspends: false,
                },
                1,
            ),
            Op::CopyCommit | Op::CopyWait { .. } => (Unit::None, 1),
            Op::Sleep => {
                let time = operand.map(|text| text.trim_end_matches(';'));
                (
                    Unit::SleepFor(time.and_then(|text| text.parse().ok()).unwrap_or(0)),
                    1,
                )
            }
            Op::Unsupported => (Unit::None, 1),
        }
    }
}

/// The unit of arithmetic, and how many instructions it is. Multiple passes of the last type: it is
/// the one that is read by conversions, and the only one of the rest.
fn arithmetic(opcode: &str) -> (Unit, u32) {
    let mut parts = opcode.split('.');
    let root = parts.next().unwrap_or_default();
    let is_float = |part: &str| part.starts_with('f') || part.starts_with("bf");
    let types: Vec<&str> = parts
        .filter(|part| {
            let width = part.trim_start_matches("bf");
            let width = width.trim_start_matches(['f', 's', 'u', 'b']);
            part.len() > 1 && width.starts_with(|c: char| c.is_ascii_digit())
        })
        .collect();
    let floats = types.iter().any(|part| is_float(part));
    let wide = types.iter().any(|part| part.ends_with("64"));
    match root {
        "mma" | "wmma" => (Unit::Matrix, 1),
        "rcp" | "rsqrt" | "sqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" if wide => {
            (Unit::Wide, DIVISION)
        }
        "rcp" | "rsqrt" | "sqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => (Unit::Special, 1),
        "div" | "rem" if floats && wide => (Unit::Wide, DIVISION),
        "div" if floats && opcode.contains(".approx") => (Unit::Special, 1),
        "div" if floats => (Unit::Simple, DIVISION),
        "div" | "rem" if wide => (Unit::Integer, 4 * INTEGER_DIVISION),
        "div" | "rem" => (Unit::Integer, INTEGER_DIVISION),
        "cvt" if floats && wide => (Unit::Wide, 1),
        "cvt" if floats => (Unit::Special, 1),
        // Two halves; a copy or a widening is none or one.
        "mov" | "cvt" | "cvta" => (Unit::Integer, 1),
        _ if floats && wide => (Unit::Wide, 1),
        _ if floats => (Unit::Simple, 1),
        "mul" | "mad" if wide && !opcode.contains(".wide") => (Unit::Integer, 4),
        _ if wide => (Unit::Integer, 2),
        _ => (Unit::Integer, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_by_opcode_and_type() {
        for (opcode, unit, slots) in [
            ("fma.rn.f32", Unit::Simple, 1),
            ("add.rn.f16x2", Unit::Simple, 1),
            ("fma.rn.f64", Unit::Wide, 1),
            ("add.s32", Unit::Integer, 1),
            ("add.s64", Unit::Integer, 2),
            ("mul.wide.u32", Unit::Integer, 1),
            ("setp.lt.f32", Unit::Simple, 1),
            ("rcp.approx.ftz.f32", Unit::Special, 1),
            ("div.rn.f32", Unit::Simple, DIVISION),
            ("rem.u32", Unit::Integer, INTEGER_DIVISION),
            ("cvt.rn.f32.u32", Unit::Special, 1),
            ("cvt.u64.u32", Unit::Integer, 1),
            (
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                Unit::Matrix,
                1,
            ),
        ] {
            assert_eq!(arithmetic(opcode), (unit, slots), "{opcode}");
        }
    }
}
