//! Which registers an instruction reads and writes: outstanding loads poison them.

use super::super::bits::Ty;
use super::super::inst::{Barrier, Condition, File, Form, Inst, Op, Registers, Use, Vector};
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
        let mut of_vector = |vector: &Vector| {
            let wide = matches!(vector.form, Form::Pairs | Form::PairMove);
            let registers = |ty: Ty| if wide { 2 } else { ty.registers() };
            // Only instructions on one value of 16 bits leave the other half of a register alone;
            // SDWA says itself which part it means.
            let half = |operand: &Operand, ty: Ty| Operand {
                half: match operand.half {
                    _ if !ty.is_half() || !vector.form.is_single() || vector.select.is_some() => {
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
            // What it touches is known when M0 is (`indirect`).
            Op::Indirect(..) => {}
            Op::SetIndexing(to) => {
                if let Some((value, _)) = to {
                    touch(value, 1, false);
                    touch(&Operand::new(Kind::Sgpr(sgpr::M0), 1), 1, true);
                }
            }
            Op::Scalar(scalar) => {
                touch(&scalar.dst, scalar.row.dst.registers(), true);
                for (source, ty) in scalar.src.iter().zip(scalar.row.src) {
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
}
