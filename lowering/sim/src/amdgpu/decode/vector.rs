//! Vector instructions: rows of the tables, with their modifiers, lane moves (DPP) and parts of
//! registers (SDWA).

use super::super::bits::Row;
use super::super::inst::{Form, From, Indirect, Lanes, Op, Part, Select, Short, Unused, Vector};
use super::super::number::number;
use super::super::operand::{Half, Kind, Operand, sgpr};
use super::super::table::{compare, rounding, saturating};
use super::super::text::{Encoding, Parts};
use super::{Decoder, Shape, nowhere};

impl Decoder<'_> {
    pub(super) fn compare(&self, name: &str, to_exec: bool, parts: &Parts<'_>) -> Option<Op> {
        let row = compare::find(name)?;
        // `v_cmpx` of gfx10 and later has no destination.
        let (mask_dst, sources) = match parts.operands.as_slice() {
            [dst, sources @ ..] if !to_exec || self.isa.cmpx_writes_mask => (Some(*dst), sources),
            sources => (None, sources),
        };
        let mut vector = self.common(row, Form::Plain, nowhere(), sources, parts)?;
        vector.mask_dst = mask_dst;
        vector.to_exec = to_exec;
        Some(Op::Vector(Box::new(vector)))
    }

    pub(super) fn vector(&self, parts: &Parts<'_>) -> Option<Op> {
        if let Some(op) = self.mix_or_bits(parts) {
            return op;
        }
        let indirect = Indirect::of_move(parts.mnemonic);
        let name = indirect.map_or(parts.mnemonic, |_| "v_mov_b32");
        let small = name.contains("_fp8") || name.contains("_bf8");
        if small && !self.isa.float8_conversions {
            return None;
        }
        let (shape, row) = match name {
            "v_dot4_i32_iu8" => {
                let signs = parts.modifiers.bits("neg_lo", false);
                *self.rows.get(format!("{name}:{signs}").as_str())?
            }
            "v_cvt_f32_fp8" | "v_cvt_f32_bf8" => {
                let byte = parts.modifiers.number("byte_sel");
                *self.rows.get(format!("{name}:{byte}").as_str())?
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
        let vector = Box::new(vector);
        Some(match indirect {
            Some(which) => Op::Indirect(vector, which),
            None => Op::Vector(vector),
        })
    }

    /// Instructions whose sources have no types of their own.
    fn mix_or_bits(&self, parts: &Parts<'_>) -> Option<Option<Op>> {
        const MIX: &[Row] = super::super::bits::values! {
            "v_fma_mix_f32" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_mad_mix_f32" f32, (a: f32, b: f32, c: f32) => a * b + c;
            "v_fma_mixlo_f16" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_fma_mixhi_f16" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_mad_mixlo_f16" f32, (a: f32, b: f32, c: f32) => a * b + c;
            "v_mad_mixhi_f16" f32, (a: f32, b: f32, c: f32) => a * b + c;
            "v_fma_mix_f32_bf16" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_fma_mixlo_bf16" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
            "v_fma_mixhi_bf16" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
        };
        const BITS: &[Row] = super::super::bits::values! {
            "v_bitop3_b32" u32, (a: u32, _b: u32, _c: u32) => a;
            "v_bitop2_b32" u32, (a: u32, _b: u32) => a;
            "v_bitop3_b16" u16, (a: u16, _b: u16, _c: u16) => a;
        };
        let name = parts.mnemonic;
        let find = |rows: &'static [Row]| rows.iter().find(|row| row.name == name);
        let (row, form) = if let Some(row) = find(MIX) {
            let short = if name.ends_with("bf16") {
                Short::BFloat16
            } else {
                Short::F16
            };
            (row, Form::Mix(short))
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
        if matches!(form, Form::Mix(_)) {
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
        // Conversions to pairs of 8-bit floats write one half on all GPUs that have them.
        let halves = ["v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32"].contains(&row.name);
        let mut keeps_half = halves || !self.isa.clears_high_half;
        if form.is_single() && modifiers.has("op_sel") {
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
            rule: rounding::rule(row),
        })
    }
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
