//! From a line of disassembly to an instruction: tables looked up by mnemonic, then one short
//! function per shape of operands.

mod accesses;
mod hardware;
mod high;
mod image;
mod memory;
mod save_exec;
mod scalar;
mod uses;
mod vector;

#[cfg(test)]
mod agreement;

use super::bits::Row;
use super::inst::{Barrier, Condition, Form, Indirect, Inst, Op, Special, Target};
use super::isa::Isa;
use super::matrix;
use super::number::number;
use super::operand::{Kind, Operand, sgpr};
use super::sync;
use super::table::{float, float8, integer, packed, scalar as scalar_table};
use super::text::{Line, Parts, parse};
use high::HighBits;
use std::collections::BTreeMap;

/// What decoding needs to know besides the line.
pub(super) struct Decoder<'d> {
    pub isa: Isa,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Instructions by address.
    pub index: &'d BTreeMap<u64, u32>,
    rows: BTreeMap<&'static str, (Shape, &'static Row)>,
}

/// The parts of an instruction that synchronise: the counters that a wait waits for, or one
/// operation on barriers or caches; 0 for other instructions.
pub fn synchronising_parts(line: &Line) -> usize {
    let parts = parse(&line.text);
    match sync::wait(&parts) {
        Some(waits) => waits.len(),
        None => usize::from(
            sync::cache(&parts).is_some() || barrier(parts.mnemonic, &parts.operands).is_some(),
        ),
    }
}

/// How the operands of a table's instructions stand.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Shape {
    Value(Form),
    /// `dst, mask out, sources..., [mask in]`.
    Carry,
    /// `dst, sources..., mask in`.
    Select,
    /// As [`Shape::Value`], with VCC as the mask in.
    Fmas,
    Scalar,
    ScalarTest,
}

const TABLES: &[(Shape, &[Row])] = &[
    (Shape::Value(Form::Plain), integer::VALUES),
    (Shape::Value(Form::Plain), float::VALUES),
    (Shape::Value(Form::Plain), float8::VALUES),
    (Shape::Value(Form::Halves), packed::HALVES),
    (Shape::Value(Form::Pairs), packed::PAIRS),
    (Shape::Value(Form::Plain), packed::DOTS),
    (Shape::Carry, integer::CARRIES),
    (Shape::Carry, float::SCALES),
    (Shape::Select, integer::SELECTS),
    (Shape::Fmas, float::FMAS),
    (Shape::Scalar, scalar_table::VALUES),
    (Shape::ScalarTest, scalar_table::TESTS),
];

/// Instructions that this machine need not do anything for: hints, cache control (memory is
/// coherent here), modes that change no result of ours.
const NOTHING: &[&str] = &[
    "s_nop",
    "v_nop",
    "v_pipeflush",
    "s_delay_alu",
    "s_wait_alu",
    "s_waitcnt_depctr",
    "s_wait_event",
    "s_clause",
    "s_set_inst_prefetch_distance",
    "s_inst_prefetch",
    "s_code_end",
    "s_setprio",
    "s_setprio_inc_wg",
    "s_sethalt",
    "s_ttracedata",
    "s_ttracedata_imm",
    "s_denorm_mode",
    "s_icache_inv",
    "s_dcache_inv",
    "s_dcache_wb",
    "s_dcache_wb_vol",
    "s_dcache_inv_vol",
    "buffer_invl2",
    "s_prefetch_inst",
    "s_prefetch_inst_pc_rel",
    "s_prefetch_data",
    "s_prefetch_data_pc_rel",
    "s_sendmsg",
    "s_monitor_sleep",
    "s_incperflevel",
    "s_decperflevel",
    "s_wait_xcnt",
    "global_prefetch_b8",
    "flat_prefetch_b8",
    "s_setvskip",
];

/// Moves of lanes and other instructions without a table row.
const SPECIAL: &[(&str, Special)] = &[
    ("v_readlane_b32", Special::ReadLane),
    ("v_readfirstlane_b32", Special::ReadFirstLane),
    ("v_writelane_b32", Special::WriteLane),
    ("v_mbcnt_lo_u32_b32", Special::MbcntLow),
    ("v_mbcnt_hi_u32_b32", Special::MbcntHigh),
    ("v_swap_b32", Special::Swap),
    ("v_permlane16_b32", Special::PermLane16 { crossed: false }),
    ("v_permlanex16_b32", Special::PermLane16 { crossed: true }),
    ("v_permlane64_b32", Special::PermLane64),
    ("s_getpc_b64", Special::GetPc),
    ("s_get_pc_i64", Special::GetPc),
    ("s_get_shader_cycles_u64", Special::GetTime),
];

const BRANCHES: &[(&str, Condition)] = &[
    ("s_branch", Condition::Always),
    ("s_cbranch_scc0", Condition::Scc(false)),
    ("s_cbranch_scc1", Condition::Scc(true)),
    ("s_cbranch_vccz", Condition::VccZero(true)),
    ("s_cbranch_vccnz", Condition::VccZero(false)),
    ("s_cbranch_execz", Condition::ExecZero(true)),
    ("s_cbranch_execnz", Condition::ExecZero(false)),
    ("s_cbranch_cdbgsys", Condition::Never),
    ("s_cbranch_cdbguser", Condition::Never),
];

impl<'d> Decoder<'d> {
    pub(super) fn new(isa: Isa, wave_size: u32, index: &'d BTreeMap<u64, u32>) -> Decoder<'d> {
        let rows = TABLES
            .iter()
            .flat_map(|(shape, rows)| rows.iter().map(|row| (row.name, (*shape, row))))
            .collect();
        Decoder {
            isa,
            wave_size,
            index,
            rows,
        }
    }

    /// Decodes lines; what is not known becomes [`Op::Unknown`].
    pub(super) fn decode_all(&self, lines: &[Line]) -> impl Iterator<Item = Inst> {
        let mut high = HighBits::default();
        lines.iter().map(move |line| {
            let inst = self.decode(line, high);
            high = high.behind(line);
            inst
        })
    }

    /// Decodes a line in front of which the registers' numbers have these high bits.
    fn decode(&self, line: &Line, high: HighBits) -> Inst {
        // Two instructions in one.
        if let Some((first, second)) = line.text.split_once("::") {
            let part = |text: &str| {
                let single = text.trim().replacen("v_dual_", "v_", 1);
                let mut parts = parse(&single);
                high.add_to_vector(&mut parts);
                match self.vector(&parts)? {
                    Op::Vector(vector) => Some(*vector),
                    _ => None,
                }
            };
            let op = match (part(first), part(second)) {
                (Some(a), Some(b)) => Op::Dual(Box::new([a, b])),
                _ => Op::Unknown,
            };
            return self.finish(op, &[]);
        }
        let mut parts = parse(&line.text);
        high.add_to_vector(&mut parts);
        let mut op = self.op(&parts, line).unwrap_or(Op::Unknown);
        if let Op::Memory(memory) = &mut op {
            high.add_to_memory(memory);
        }
        self.finish(op, &parts.operands)
    }

    /// Registers per mask: 1 for waves of 32 lanes, 2 for 64.
    fn mask_registers(&self) -> u16 {
        (self.wave_size / 32) as u16
    }

    fn op(&self, parts: &Parts<'_>, line: &Line) -> Option<Op> {
        let name = parts.mnemonic;
        let operands = parts.operands.as_slice();
        if NOTHING.contains(&name) {
            return Some(Op::Nothing);
        }
        if let Some((_, condition)) = BRANCHES.iter().find(|(n, _)| *n == name) {
            return Some(Op::Branch {
                condition: *condition,
                target: self.target(parts.rest, line)?,
            });
        }
        if let Some((_, special)) = SPECIAL.iter().find(|(n, _)| *n == name) {
            return Some(Op::Special(*special, operands.into()));
        }
        if let Some(waits) = sync::wait(parts) {
            return Some(Op::Wait(waits));
        }
        if let Some(cache) = sync::cache(parts) {
            return Some(cache);
        }
        if let Some(barrier) = barrier(name, operands) {
            return Some(Op::Barrier(barrier));
        }
        match name {
            "s_endpgm" | "s_endpgm_saved" => return Some(Op::End),
            "s_trap" => return Some(Op::Trap),
            "s_sleep" | "s_sleep_var" => return Some(Op::Sleep),
            "s_setpc_b64" | "s_set_pc_i64" => {
                return Some(Op::Jump {
                    link: None,
                    target: Target::Registers(*operands.first()?),
                });
            }
            "s_swappc_b64" | "s_swap_pc_i64" => {
                return Some(Op::Jump {
                    link: operands.first().copied(),
                    target: Target::Registers(*operands.get(1)?),
                });
            }
            "s_call_b64" | "s_call_i64" => {
                let (_, target) = parts.rest.split_once(',')?;
                return Some(Op::Jump {
                    link: operands.first().copied(),
                    target: Target::Instruction(self.target(target, line)?),
                });
            }
            "s_set_gpr_idx_on" => {
                return Some(Op::SetIndexing(Some((
                    *operands.first()?,
                    Indirect::of_mode(parts)?,
                ))));
            }
            "s_set_gpr_idx_off" => return Some(Op::SetIndexing(None)),
            "s_getreg_b32" => {
                return Some(Op::Special(
                    Special::GetRegister(hardware::hardware_register(parts.rest)?),
                    operands.into(),
                ));
            }
            "s_setreg_b32" | "s_setreg_imm32_b32" => return hardware::set_register(parts),
            "s_round_mode" => {
                return Some(Op::SetRounding {
                    first: 0,
                    bits: 4,
                    value: *operands.first()?,
                });
            }
            // It takes effect when the lines behind it are decoded.
            "s_set_vgpr_msb" => return Some(Op::Nothing),
            _ => {} // one of the tables has it, or it is unknown
        }
        if let Some(row) = name.strip_prefix("v_cmpx_") {
            return self.compare(row, true, parts);
        }
        if let Some(row) = name.strip_prefix("v_cmp_") {
            return self.compare(row, false, parts);
        }
        if name.starts_with("v_mfma_") || name.starts_with("v_wmma_") {
            return matrix::decode(parts, self.isa, self.wave_size);
        }
        if name.starts_with("v_") {
            return self.vector(parts);
        }
        if let Some(op) = save_exec::save_exec(name, operands) {
            return Some(op);
        }
        self.scalar(parts)
            .or_else(|| memory::memory(parts, self.isa))
    }

    /// The instruction that a branch goes to: a distance in dwords from the end of this one, or an
    /// address.
    fn target(&self, text: &str, line: &Line) -> Option<u32> {
        let distance = number(text.split_whitespace().next()?)?;
        let signed = i64::from(distance as i16);
        let address = line
            .address
            .wrapping_add(line.length.into())
            .wrapping_add_signed(signed * 4);
        self.index.get(&address).copied()
    }
}

const fn nowhere() -> Operand {
    Operand::new(Kind::Off, 0)
}

fn barrier(name: &str, operands: &[Operand]) -> Option<Barrier> {
    let id = || -> Option<Option<i32>> {
        match operands.first()?.kind {
            Kind::Integer(id) => Some(Some(id as i32)),
            // A 16-bit constant: 0xffff is the workgroup's barrier.
            Kind::Literal(id) => Some(Some((id as i16).into())),
            Kind::Sgpr(sgpr::M0) => Some(None),
            _ => None,
        }
    };
    Some(match name {
        "s_barrier" => Barrier::Full,
        "s_barrier_signal" => Barrier::Signal {
            id: id()?,
            first: false,
        },
        "s_barrier_signal_isfirst" => Barrier::Signal {
            id: id()?,
            first: true,
        },
        "s_barrier_wait" => Barrier::Wait { id: id()?? },
        "s_barrier_init" => Barrier::Init { id: id()? },
        "s_barrier_join" => Barrier::Join { id: id()? },
        "s_barrier_leave" => Barrier::Leave,
        "s_wakeup_barrier" | "s_wakeup" => Barrier::Wake,
        _ => return None,
    })
}
