//! From a line of disassembly to an instruction: tables looked up by mnemonic, then one short function per shape of operands.

use super::bits::{Row, Ty};
use super::decode_memory;
use super::inst::{
    Barrier, Condition, File, Form, From, Inst, Lanes, Op, Part, Registers, Scalar, Select,
    Special, Target, Unused, Use, Vector,
};
use super::isa::Isa;
use super::matrix;
use super::operand::{Half, Kind, Operand, sgpr};
use super::sync;
use super::table::{compare, float, integer, packed, saturating, scalar};
use super::text::{Encoding, Line, Parts, number, parse};
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

/// The parts of an instruction that synchronise: the counters that a wait waits for, or one operation on barriers or caches; 0 for other instructions.
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
    (Shape::Value(Form::Halves), packed::HALVES),
    (Shape::Value(Form::Pairs), packed::PAIRS),
    (Shape::Value(Form::Plain), packed::DOTS),
    (Shape::Carry, integer::CARRIES),
    (Shape::Carry, float::SCALES),
    (Shape::Select, integer::SELECTS),
    (Shape::Fmas, float::FMAS),
    (Shape::Scalar, scalar::VALUES),
    (Shape::ScalarTest, scalar::TESTS),
];

/// Instructions that this machine need not do anything for: hints, cache control (memory is coherent here), modes that change no result of ours.
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
    "s_round_mode",
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
    pub fn new(isa: Isa, wave_size: u32, index: &'d BTreeMap<u64, u32>) -> Decoder<'d> {
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

    /// Decodes a line; what is not known becomes [`Op::Unknown`].
    pub fn decode(&self, line: &Line) -> Inst {
        // Two instructions in one.
        if let Some((first, second)) = line.text.split_once("::") {
            let part = |text: &str| {
                let single = text.trim().replacen("v_dual_", "v_", 1);
                match self.vector(&parse(&single))? {
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
        let parts = parse(&line.text);
        let op = self.op(&parts, line).unwrap_or(Op::Unknown);
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
            "s_getreg_b32" => {
                return Some(Op::Special(
                    Special::GetRegister(hardware_register(parts.rest)),
                    operands.into(),
                ));
            }
            // Modes: rounding, denormals, exceptions. Results are computed in the mode that compilers ask for.
            "s_setreg_b32" | "s_setreg_imm32_b32" => {
                return (!parts.rest.contains("GPR_IDX")).then_some(Op::Nothing);
            }
            // High halves of register numbers (gfx12.5): none is the only one that is decoded.
            "s_set_vgpr_msb" => {
                return (parts.rest == "0" || parts.rest == "0x0").then_some(Op::Nothing);
            }
            _ => {}
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
        if let Some(op) = save_exec(name, operands) {
            return Some(op);
        }
        self.scalar(parts)
            .or_else(|| decode_memory::memory(parts, self.isa))
    }

    /// The instruction that a branch goes to: a distance in dwords from the end of this one, or an address.
    fn target(&self, text: &str, line: &Line) -> Option<u32> {
        let distance = number(text.split_whitespace().next()?)?;
        let signed = i64::from(distance as i16);
        let address = line
            .address
            .wrapping_add(line.length.into())
            .wrapping_add_signed(signed * 4);
        self.index.get(&address).copied()
    }

    fn compare(&self, name: &str, to_exec: bool, parts: &Parts<'_>) -> Option<Op> {
        let row = compare::find(name)?;
        // `v_cmpx` of gfx10 and later has no destination.
        let (mask_dst, sources) = match parts.operands.as_slice() {
            [dst, sources @ ..] if !to_exec || self.isa.cmpx_has_mask => (Some(*dst), sources),
            sources => (None, sources),
        };
        let mut vector = self.common(row, Form::Plain, nowhere(), sources, parts)?;
        vector.mask_dst = mask_dst;
        vector.to_exec = to_exec;
        Some(Op::Vector(Box::new(vector)))
    }

    fn vector(&self, parts: &Parts<'_>) -> Option<Op> {
        if let Some(op) = self.mix_or_bits(parts) {
            return op;
        }
        let name = parts.mnemonic;
        let (shape, row) = match name {
            "v_dot4_i32_iu8" => {
                let signs = parts.modifiers.bits("neg_lo", false);
                *self.rows.get(format!("{name}:{signs}").as_str())?
            }
            _ => *self.rows.get(name)?,
        };
        let [dst, rest @ ..] = parts.operands.as_slice() else {
            return None;
        };
        let mut vector = match shape {
            Shape::Value(form) => {
                let form = if name == "v_pk_mov_b32" {
                    Form::PairMove
                } else {
                    form
                };
                self.common(row, form, *dst, rest, parts)?
            }
            Shape::Carry => {
                let [mask, sources @ ..] = rest else {
                    return None;
                };
                let count = row.src.len();
                let mut vector =
                    self.common(row, Form::Plain, *dst, sources.get(..count)?, parts)?;
                vector.mask_dst = Some(*mask);
                vector.mask_src = sources.get(count).copied();
                vector
            }
            Shape::Select => {
                let mut vector = self.common(row, Form::Plain, *dst, rest.get(..2)?, parts)?;
                vector.mask_src = Some(
                    rest.get(2)
                        .copied()
                        .unwrap_or(Operand::new(Kind::Sgpr(sgpr::VCC), self.mask_registers())),
                );
                vector
            }
            Shape::Fmas => {
                let mut vector = self.common(row, Form::Plain, *dst, rest, parts)?;
                vector.mask_src = Some(Operand::new(Kind::Sgpr(sgpr::VCC), self.mask_registers()));
                vector
            }
            Shape::Scalar | Shape::ScalarTest => return None,
        };
        if let Some(mask) = &mut vector.mask_dst {
            mask.count = self.mask_registers();
        }
        Some(Op::Vector(Box::new(vector)))
    }

    /// Instructions whose sources have no types of their own.
    fn mix_or_bits(&self, parts: &Parts<'_>) -> Option<Option<Op>> {
        const MIX: &[Row] = super::bits::values! {
            "v_fma_mix_f32" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_mad_mix_f32" f32, (a: f32, b: f32, c: f32) => a * b + c;
            "v_fma_mixlo_f16" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_fma_mixhi_f16" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_mad_mixlo_f16" f32, (a: f32, b: f32, c: f32) => a * b + c;
            "v_mad_mixhi_f16" f32, (a: f32, b: f32, c: f32) => a * b + c;
        };
        const BITS: &[Row] = super::bits::values! {
            "v_bitop3_b32" u32, (a: u32, _b: u32, _c: u32) => a;
            "v_bitop2_b32" u32, (a: u32, _b: u32) => a;
        };
        let name = parts.mnemonic;
        let find = |rows: &'static [Row]| rows.iter().find(|row| row.name == name);
        let (row, form) = if let Some(row) = find(MIX) {
            (row, Form::Mix)
        } else {
            (
                find(BITS)?,
                Form::Bits(parts.modifiers.number("bitop3") as u8),
            )
        };
        let [dst, sources @ ..] = parts.operands.as_slice() else {
            return Some(None);
        };
        let mut vector = match self.common(row, form, *dst, sources, parts) {
            Some(vector) => vector,
            None => return Some(None),
        };
        if form == Form::Mix {
            vector.op_sel_hi = parts.modifiers.bits("op_sel_hi", false);
            vector.keeps_half = true;
            vector.dst.half = if name.contains("mixlo") {
                Half::Low
            } else if name.contains("mixhi") {
                Half::High
            } else {
                Half::Whole
            };
        }
        Some(Some(Op::Vector(Box::new(vector))))
    }

    /// What all vector instructions have: sources, modifiers, DPP, SDWA.
    fn common(
        &self,
        row: &'static Row,
        form: Form,
        dst: Operand,
        sources: &[Operand],
        parts: &Parts<'_>,
    ) -> Option<Vector> {
        let modifiers = &parts.modifiers;
        let float = row.dst.sign().is_some();
        let clamp = modifiers.has("clamp");
        // What saturates depends on the operation.
        let row = if clamp && !float {
            saturating::find(row.name)?
        } else {
            row
        };
        let mut src = [Operand::new(Kind::Integer(0), 0); 3];
        let wanted = row.src.len();
        if sources.len() > wanted || sources.iter().any(|s| s.kind == Kind::Other) {
            return None;
        }
        for (slot, source) in src.iter_mut().zip(sources) {
            *slot = *source;
        }
        // `fmac` and its like: what is not there is the destination.
        if sources.len() + 1 == wanted {
            *src.get_mut(sources.len())? = dst;
        } else if sources.len() != wanted {
            return None;
        }
        let op_sel = modifiers.bits("op_sel", false);
        let mut dst = dst;
        let mut keeps_half = !self.isa.clears_high_half;
        if form == Form::Plain && modifiers.has("op_sel") {
            for (i, (source, ty)) in src.iter_mut().zip(row.src).enumerate() {
                if ty.is_half() && op_sel >> i & 1 == 1 {
                    source.half = Half::High;
                }
            }
            if row.dst.is_half() && op_sel >> sources.len() & 1 == 1 {
                dst.half = Half::High;
            }
            keeps_half = true;
        }
        let scale = match (modifiers.get("mul"), modifiers.get("div")) {
            (Some("2"), _) => 2.0,
            (Some("4"), _) => 4.0,
            (_, Some("2")) => 0.5,
            _ => 1.0,
        };
        Some(Vector {
            row,
            form,
            dst,
            src,
            mask_dst: None,
            mask_src: None,
            to_exec: false,
            clamp: clamp && float,
            scale,
            op_sel,
            op_sel_hi: modifiers.bits("op_sel_hi", true),
            neg_lo: modifiers.bits("neg_lo", false),
            neg_hi: modifiers.bits("neg_hi", false),
            lanes: match parts.encoding {
                Encoding::Dpp => Some(Box::new(lanes(parts)?)),
                Encoding::Plain | Encoding::Sdwa => None,
            },
            select: match parts.encoding {
                Encoding::Sdwa => Some(Box::new(select(parts)?)),
                Encoding::Plain | Encoding::Dpp => None,
            },
            keeps_half,
        })
    }

    fn scalar(&self, parts: &Parts<'_>) -> Option<Op> {
        let operands = parts.operands.as_slice();
        let test;
        let (name, constant) = match parts.mnemonic {
            // A 16-bit constant, sign-extended but for unsigned comparisons.
            "s_movk_i32" => ("s_mov_b32", true),
            "s_cmovk_i32" => ("s_cmov_b32", true),
            "s_addk_i32" | "s_addk_co_i32" => ("s_add_i32", true),
            "s_mulk_i32" => ("s_mul_i32", true),
            name => match name.strip_prefix("s_cmpk_") {
                Some(rest) => {
                    test = format!("s_cmp_{rest}");
                    (test.as_str(), true)
                }
                None => (name, false),
            },
        };
        let (shape, row) = match self.rows.get(name) {
            Some(found) => *found,
            None => (
                Shape::ScalarTest,
                compare::find(name.strip_prefix("s_cmp_")?)?,
            ),
        };
        let signed = constant && !name.ends_with("_u32");
        let constant = |operand: Operand| match operand.kind {
            Kind::Literal(bits) if signed => Operand::new(Kind::Integer((bits as i16).into()), 0),
            Kind::Integer(bits) if signed => Operand::new(Kind::Integer((bits as i16).into()), 0),
            _ => operand,
        };
        let (dst, sources) = match shape {
            Shape::ScalarTest => (nowhere(), operands),
            Shape::Scalar => (*operands.first()?, operands.get(1..)?),
            Shape::Value(_) if name.starts_with("v_s_") => return None,
            Shape::Value(_) | Shape::Carry | Shape::Select | Shape::Fmas => return None,
        };
        let mut src = [Operand::new(Kind::Integer(0), 0); 3];
        for (slot, source) in src.iter_mut().zip(sources) {
            *slot = constant(*source);
        }
        if sources.iter().any(|s| s.kind == Kind::Other) {
            return None;
        }
        // `s_addk`, `s_cmov`, `s_fmac`: the destination is a source too.
        let wanted = row.src.len();
        if sources.len() + 1 == wanted {
            let old = src.get_mut(sources.len())?;
            *old = dst;
        } else if sources.len() != wanted {
            return None;
        }
        Some(Op::Scalar(Box::new(Scalar { row, dst, src })))
    }

    /// Adds which registers the instruction touches.
    fn finish(&self, op: Op, operands: &[Operand]) -> Inst {
        let mut uses = Vec::new();
        let mut touch = |operand: &Operand, count: u16, written: bool| {
            let (file, first) = match operand.kind {
                Kind::Vgpr(first) => (File::Vector, first),
                Kind::Sgpr(sgpr::NULL) => return,
                Kind::Sgpr(first) => (File::Scalar, first),
                _ => return,
            };
            uses.push(Use {
                registers: Registers {
                    file,
                    first,
                    count: count.max(1),
                    half: operand.half,
                },
                written,
            });
        };
        let mut of_vector = |vector: &Vector| {
            let wide = matches!(vector.form, Form::Pairs | Form::PairMove);
            let registers = |ty: Ty| if wide { 2 } else { ty.registers() };
            // Only instructions on one value of 16 bits leave the other half of a register alone; SDWA says itself which part it means.
            let half = |operand: &Operand, ty: Ty| Operand {
                half: match operand.half {
                    _ if !ty.is_half() || vector.form != Form::Plain || vector.select.is_some() => {
                        Half::Whole
                    }
                    Half::High => Half::High,
                    Half::Low | Half::Whole => Half::Low,
                },
                ..*operand
            };
            if vector.mask_dst.is_none() || vector.dst.kind != Kind::Off {
                let dst = if vector.keeps_half {
                    half(&vector.dst, vector.row.dst)
                } else {
                    Operand {
                        half: Half::Whole,
                        ..vector.dst
                    }
                };
                touch(&dst, registers(vector.row.dst), true);
            }
            for (source, ty) in vector.src.iter().zip(vector.row.src) {
                touch(&half(source, *ty), registers(*ty), false);
            }
            for mask in vector.mask_dst.iter() {
                touch(mask, self.mask_registers(), true);
            }
            for mask in vector.mask_src.iter() {
                touch(mask, self.mask_registers(), false);
            }
        };
        match &op {
            Op::Vector(vector) => of_vector(vector),
            Op::Dual(both) => both.iter().for_each(of_vector),
            Op::Scalar(scalar) => {
                touch(&scalar.dst, scalar.row.dst.registers(), true);
                for (source, ty) in scalar.src.iter().zip(scalar.row.src) {
                    touch(source, ty.registers(), false);
                }
            }
            Op::Memory(memory) => decode_memory::uses(memory, &mut touch),
            Op::Matrix(matrix) => matrix.uses(self.wave_size, &mut touch),
            Op::Nothing
            | Op::Wait(_)
            | Op::LackingWait { .. }
            | Op::Cache { .. }
            | Op::End
            | Op::Trap
            | Op::Sleep
            | Op::Unknown => {}
            Op::Barrier(barrier) => {
                let by_register = match barrier {
                    Barrier::Signal { id, .. } | Barrier::Init { id } | Barrier::Join { id } => {
                        id.is_none()
                    }
                    Barrier::Full | Barrier::Wait { .. } | Barrier::Leave | Barrier::Wake => false,
                };
                if by_register {
                    touch(&Operand::new(Kind::Sgpr(sgpr::M0), 1), 1, false);
                }
            }
            Op::Branch { condition, .. } => match condition {
                Condition::VccZero(_) => touch(
                    &Operand::new(Kind::Sgpr(sgpr::VCC), 1),
                    self.mask_registers(),
                    false,
                ),
                Condition::Always
                | Condition::Never
                | Condition::Scc(_)
                | Condition::ExecZero(_) => {}
            },
            Op::SaveExec { .. } | Op::Special(..) | Op::Jump { .. } => {
                for (position, operand) in operands.iter().enumerate() {
                    touch(operand, operand.count, position == 0);
                }
            }
        }
        Inst {
            op,
            uses: uses.into(),
        }
    }
}

const fn nowhere() -> Operand {
    Operand::new(Kind::Off, 0)
}

fn save_exec(name: &str, operands: &[Operand]) -> Option<Op> {
    let (stem, registers) = match (name.strip_suffix("_b32"), name.strip_suffix("_b64")) {
        (Some(stem), _) => (stem, 1),
        (_, Some(stem)) => (stem, 2),
        (None, None) => return None,
    };
    let stem = stem.strip_prefix("s_")?;
    let (stem, wrexec) = match (stem.strip_suffix("_saveexec"), stem.strip_suffix("_wrexec")) {
        (Some(stem), _) => (stem, false),
        (_, Some(stem)) => (stem, true),
        (None, None) => return None,
    };
    let (_, compute) = scalar::SAVE_EXEC.iter().find(|(name, _)| *name == stem)?;
    Some(Op::SaveExec {
        compute: *compute,
        dst: *operands.first()?,
        src: *operands.get(1)?,
        registers,
        wrexec,
    })
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

/// `hwreg(NAME, offset, size)`: what reading it gives. Everything is 0 here: the first wave slot of an idle machine.
fn hardware_register(_text: &str) -> u32 {
    0
}

fn lanes(parts: &Parts<'_>) -> Option<Lanes> {
    let modifiers = &parts.modifiers;
    let byte = |name: &str| modifiers.get(name).and_then(number).map(|n| n as u8);
    let list = |name: &str| -> Option<Vec<u8>> {
        Some(modifiers.list(name)?.into_iter().map(|n| n as u8).collect())
    };
    let from = if let Some(quad) = list("quad_perm") {
        From::Quad(quad.try_into().ok()?)
    } else if let Some(eight) = list("dpp8") {
        From::Eight(eight.try_into().ok()?)
    } else if let Some(n) = byte("row_shl") {
        From::RowShl(n)
    } else if let Some(n) = byte("row_shr") {
        From::RowShr(n)
    } else if let Some(n) = byte("row_ror") {
        From::RowRor(n)
    } else if let Some(n) = byte("row_share").or_else(|| byte("row_newbcast")) {
        From::RowShare(n)
    } else if let Some(n) = byte("row_xmask") {
        From::RowXmask(n)
    } else if modifiers.has("row_mirror") {
        From::RowMirror
    } else if modifiers.has("row_half_mirror") {
        From::RowHalfMirror
    } else if modifiers.has("wave_shl") {
        From::WaveShl
    } else if modifiers.has("wave_shr") {
        From::WaveShr
    } else if modifiers.has("wave_rol") {
        From::WaveRol
    } else if modifiers.has("wave_ror") {
        From::WaveRor
    } else {
        match byte("row_bcast")? {
            15 => From::Broadcast15,
            31 => From::Broadcast31,
            _ => return None,
        }
    };
    Some(Lanes {
        from,
        rows: byte("row_mask").unwrap_or(0xf),
        banks: byte("bank_mask").unwrap_or(0xf),
        // LLVM prints the bit when it is set, as 1 or, for old GPUs, as 0.
        zero: modifiers.has("bound_ctrl"),
        fetch_inactive: modifiers.has("fi") || matches!(from, From::Eight(_)),
    })
}

fn select(parts: &Parts<'_>) -> Option<Select> {
    let part = |name: &str| -> Option<Part> {
        Some(match parts.modifiers.get(name) {
            None | Some("DWORD") => Part::Whole,
            Some("BYTE_0") => Part::Byte(0),
            Some("BYTE_1") => Part::Byte(1),
            Some("BYTE_2") => Part::Byte(2),
            Some("BYTE_3") => Part::Byte(3),
            Some("WORD_0") => Part::Word(0),
            Some("WORD_1") => Part::Word(1),
            Some(_) => return None,
        })
    };
    Some(Select {
        src: [part("src0_sel")?, part("src1_sel")?],
        dst: part("dst_sel")?,
        unused: match parts.modifiers.get("dst_unused") {
            None | Some("UNUSED_PAD") => Unused::Zero,
            Some("UNUSED_SEXT") => Unused::Sign,
            Some("UNUSED_PRESERVE") => Unused::Keep,
            Some(_) => return None,
        },
    })
}
