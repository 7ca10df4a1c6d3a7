//! The registers that an instruction reads and writes: outstanding loads poison them.

use super::super::bits::Ty;
use super::super::inst::{
    Barrier, Condition, File, Form, Inst, Op, Registers, Scalar, Use, Vector,
};
use super::super::operand::{Half, Kind, Operand, sgpr};
use super::{Decoder, memory};

impl Decoder<'_> {
    /// Adds which registers the instruction touches.
    pub(super) fn finish(&self, op: Op, operands: &[Operand]) -> Inst {
        let mut uses = Vec::new();
        let mut touch = |operand: &Operand, count: u16, written: bool| {
            let (file, first) = match operand.kind {
                Kind::Vgpr(first) => (File::Vector, first),
                Kind::Sgpr(sgpr::NULL) => return,
                Kind::Sgpr(first) => (File::Scalar, first),
                _ => return, // not a register
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
        match &op {
            Op::Vector(vector) => self.of_vector(vector, &mut touch),
            Op::Dual(both) => both
                .iter()
                .for_each(|vector| self.of_vector(vector, &mut touch)),
            // What it touches is known when M0 is (`indirect`).
            Op::Indirect(..) => {}
            Op::SetIndexing(to) => {
                if let Some((value, _)) = to {
                    touch(value, 1, false);
                    touch(&Operand::new(Kind::Sgpr(sgpr::M0), 1), 1, true);
                }
            }
            Op::Scalar(scalar) => {
                let Scalar { row, dst, src } = &**scalar;
                touch(dst, row.dst.registers(), true);
                for (source, ty) in src.iter().zip(row.src) {
                    touch(source, ty.registers(), false);
                }
            }
            Op::Memory(memory) => memory::uses(memory, &mut touch),
            Op::Matrix(matrix) => matrix.uses(self.wave_size, &mut touch),
            Op::Nothing
            | Op::Wait(_)
            | Op::LackingWait { .. }
            | Op::Cache { .. }
            | Op::End
            | Op::Trap
            | Op::Sleep
            | Op::Unknown => {}
            Op::SetRounding { value, .. } => touch(value, 1, false),
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

    /// Touches the registers of a vector instruction. Every field is named: a new one is an operand
    /// or is listed as none.
    fn of_vector(&self, vector: &Vector, touch: &mut impl FnMut(&Operand, u16, bool)) {
        let Vector {
            row,
            form,
            dst,
            src,
            mask_dst,
            mask_src,
            select,
            keeps_half,
            to_exec: _,
            clamp: _,
            scale: _,
            op_sel: _,
            op_sel_hi: _,
            neg_lo: _,
            neg_hi: _,
            lanes: _,
            rule: _,
        } = vector;
        let wide = matches!(form, Form::Pairs | Form::PairMove);
        let registers = |ty: Ty| if wide { 2 } else { ty.registers() };
        // Only instructions on one value of 16 bits leave the other half of a register alone;
        // SDWA says itself which part it means.
        let half = |operand: &Operand, ty: Ty| Operand {
            half: match operand.half {
                _ if !ty.is_half() || !form.is_single() || select.is_some() => Half::Whole,
                Half::High => Half::High,
                Half::Low | Half::Whole => Half::Low,
            },
            ..*operand
        };
        if mask_dst.is_none() || dst.kind != Kind::Off {
            let dst = if *keeps_half {
                half(dst, row.dst)
            } else {
                Operand {
                    half: Half::Whole,
                    ..*dst
                }
            };
            touch(&dst, registers(row.dst), true);
        }
        for (source, ty) in src.iter().zip(row.src) {
            touch(&half(source, *ty), registers(*ty), false);
        }
        for mask in mask_dst.iter() {
            touch(mask, self.mask_registers(), true);
        }
        for mask in mask_src.iter() {
            touch(mask, self.mask_registers(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::amdgpu::isa::Isa;
    use crate::amdgpu::text::Line;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeMap;

    /// The registers that an instruction writes, and those that it reads: `v3`, `s[4:5]`, `v1.l`.
    fn registers(gpu: &str, wave_size: u32, text: &str) -> [Vec<String>; 2] {
        let index = BTreeMap::new();
        let decoder = Decoder::new(Isa::by_name(gpu).unwrap(), wave_size, &index);
        let line = Line {
            address: 0,
            length: 4,
            text: text.to_owned(),
        };
        let inst = decoder.decode_all(&[line]).next().unwrap();
        assert!(!matches!(inst.op, Op::Unknown), "{text}");
        [true, false].map(|written| {
            let uses = inst.uses.iter().filter(|one| one.written == written);
            let mut all: Vec<String> = uses.map(|one| name(one.registers)).collect();
            all.sort();
            all
        })
    }

    fn name(registers: Registers) -> String {
        let Registers {
            file,
            first,
            count,
            half,
        } = registers;
        let file = match file {
            File::Vector => 'v',
            File::Scalar => 's',
        };
        let half = match half {
            Half::Whole => "",
            Half::Low => ".l",
            Half::High => ".h",
        };
        match count {
            1 => format!("{file}{first}{half}"),
            _ => format!("{file}[{first}:{}]{half}", first + count - 1),
        }
    }

    /// The instruction sets' documents say what each operand is. VCC is s106, M0 is s125.
    #[test]
    fn registers_are_those_of_the_instruction_sets() {
        for (gpu, wave_size, text, written, read) in [
            ("gfx1201", 32, "v_fma_f32 v0, v1, s2, v3", "v0", "s2 v1 v3"),
            (
                "gfx1201",
                32,
                "v_fma_f64 v[0:1], v[2:3], v[4:5], 1.0",
                "v[0:1]",
                "v[2:3] v[4:5]",
            ),
            (
                "gfx1201",
                32,
                "v_cmp_lt_u32_e32 vcc_lo, v1, v2",
                "s106",
                "v1 v2",
            ),
            (
                "gfx942",
                64,
                "v_cmp_lt_u32_e64 s[4:5], v1, v2",
                "s[4:5]",
                "v1 v2",
            ),
            (
                "gfx942",
                64,
                "v_cndmask_b32_e64 v0, v1, v2, s[4:5]",
                "v0",
                "s[4:5] v1 v2",
            ),
            (
                "gfx942",
                64,
                "v_add_co_u32_e32 v0, vcc, v1, v2",
                "s[106:107] v0",
                "v1 v2",
            ),
            ("gfx1201", 32, "s_add_co_u32 s0, s1, s2", "s0", "s1 s2"),
            (
                "gfx1201",
                32,
                "s_lshl_b64 s[0:1], s[2:3], 4",
                "s[0:1]",
                "s[2:3]",
            ),
            (
                "gfx1201",
                32,
                "s_load_b128 s[4:7], s[0:1], s9",
                "s[4:7]",
                "s9 s[0:1]",
            ),
            (
                "gfx1201",
                32,
                "global_load_b64 v[2:3], v1, s[0:1]",
                "v[2:3]",
                "s[0:1] v1",
            ),
            (
                "gfx942",
                64,
                "global_store_dwordx2 v1, v[2:3], s[0:1]",
                "",
                "s[0:1] v1 v[2:3]",
            ),
            (
                "gfx942",
                64,
                "global_load_short_d16_hi v2, v[0:1], off",
                "v2.h",
                "v[0:1]",
            ),
            (
                "gfx942",
                64,
                "global_load_lds_dword v[0:1], off",
                "",
                "s125 v[0:1]",
            ),
            (
                "gfx1201",
                32,
                "global_atomic_cmpswap_b32 v1, v[2:3], v[4:5], off th:TH_ATOMIC_RETURN",
                "v1",
                "v4 v5 v[2:3]",
            ),
            (
                "gfx1201",
                32,
                "ds_load_2addr_b32 v[0:1], v2 offset1:1",
                "v[0:1]",
                "v2",
            ),
            (
                "gfx1201",
                32,
                "ds_store_2addr_b64 v0, v[2:3], v[4:5]",
                "",
                "v0 v[2:3] v[4:5]",
            ),
            ("gfx1201", 32, "ds_store_b8 v0, v1", "", "v0 v1.l"),
            (
                "gfx1201",
                32,
                "buffer_load_b32 v0, v1, s[0:3], s4 offen",
                "v0",
                "s4 s[0:3] v1",
            ),
            ("gfx942", 64, "v_readfirstlane_b32 s4, v1", "s4", "v1"),
            ("gfx1201", 32, "s_barrier_signal m0", "", "s125"),
            (
                "gfx1201",
                32,
                "v_dual_mul_f32 v0, v2, v3 :: v_dual_mov_b32 v1, v4",
                "v0 v1",
                "v2 v3 v4",
            ),
        ] {
            let split = |names: &str| -> Vec<String> {
                names.split_whitespace().map(str::to_owned).collect()
            };
            assert_eq!(
                registers(gpu, wave_size, text),
                [split(written), split(read)],
                "{text}"
            );
        }
    }
}
