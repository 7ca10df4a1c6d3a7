//! Instructions that move data between the lanes of a wave, and others that no table has.

use super::bits::Ty;
use super::inst::{HardwareRegister, Special};
use super::operand::{Kind, Operand};
use super::program::Kernel;
use super::wave::Wave;
use crate::lane::Lane;

impl Kernel {
    pub(super) fn special(
        &self,
        wave: &mut Wave,
        special: Special,
        operands: &[Operand],
        pc: u32,
        time: u64,
    ) {
        let operand = |n: usize| {
            operands
                .get(n)
                .copied()
                .unwrap_or(Operand::new(Kind::Off, 0))
        };
        let scalar = |wave: &Wave, n: usize| wave.scalar(&operand(n), Ty::B32) as u32;
        let exec = wave.exec();
        match special {
            Special::ReadLane => {
                let lane = Lane::new(scalar(wave, 2) % wave.size);
                let value = wave.lanes(&operand(1), Ty::B32)[lane];
                wave.set_scalar(&operand(0), Ty::B32, value);
            }
            Special::ReadFirstLane => {
                let lane = Lane::first(exec).unwrap_or(Lane::new(0));
                let value = wave.lanes(&operand(1), Ty::B32)[lane];
                wave.set_scalar(&operand(0), Ty::B32, value);
            }
            Special::WriteLane => {
                let (value, lane) = (scalar(wave, 1), Lane::new(scalar(wave, 2) % wave.size));
                if let Kind::Vgpr(index) = operand(0).kind
                    && let Some(register) = wave.vgpr.get_mut(usize::from(index))
                {
                    register[lane] = value;
                }
            }
            Special::MbcntLow | Special::MbcntHigh => {
                let mask = wave.lanes(&operand(1), Ty::B32);
                let base = wave.lanes(&operand(2), Ty::B32);
                let values: [u32; 64] = std::array::from_fn(|lane| {
                    let below = (1u64 << lane) - 1;
                    let below = if special == Special::MbcntLow {
                        below & 0xffff_ffff
                    } else {
                        below >> 32
                    };
                    (base[lane] as u32).wrapping_add((mask[lane] & below).count_ones())
                });
                write(wave, operand(0), exec, &values);
            }
            Special::Swap => {
                let (Kind::Vgpr(a), Kind::Vgpr(b)) = (operand(0).kind, operand(1).kind) else {
                    debug_assert!(false, "only vector registers are swapped");
                    return;
                };
                let (first, second) = (wave.v(a), wave.v(b));
                write(wave, operand(0), exec, &second);
                write(wave, operand(1), exec, &first);
            }
            Special::PermLane16 { crossed } => {
                let source = wave.lanes(&operand(1), Ty::B32);
                let select = u64::from(scalar(wave, 2)) | u64::from(scalar(wave, 3)) << 32;
                let values: [u32; 64] = std::array::from_fn(|lane| {
                    let row = if crossed {
                        (lane & !15) ^ 16
                    } else {
                        lane & !15
                    };
                    source[row + (select >> (4 * (lane & 15)) & 15) as usize] as u32
                });
                write(wave, operand(0), exec, &values);
            }
            Special::PermLane64 => {
                let source = wave.lanes(&operand(1), Ty::B32);
                let values: [u32; 64] = std::array::from_fn(|lane| {
                    source[if wave.size == 64 { lane ^ 32 } else { lane }] as u32
                });
                write(wave, operand(0), exec, &values);
            }
            Special::GetPc => {
                let address = self.after(pc);
                wave.set_scalar(&operand(0), Ty::B64, address);
            }
            Special::GetRegister(register) => {
                let value = match register {
                    HardwareRegister::Zero => 0,
                    // Denormals are kept.
                    HardwareRegister::Mode { shift, mask } => {
                        u64::from((0xf0 | u32::from(wave.rounding)) >> shift & mask)
                    }
                    HardwareRegister::Time { shift, mask } => time >> shift & u64::from(mask),
                };
                wave.set_scalar(&operand(0), Ty::B32, value);
            }
            Special::GetTime => wave.set_scalar(&operand(0), Ty::B64, time),
        }
    }
}

/// Writes lanes of a vector register.
fn write(wave: &mut Wave, dst: Operand, lanes: u64, values: &[u32; 64]) {
    if let Kind::Vgpr(index) = dst.kind
        && let Some(register) = wave.vgpr.get_mut(usize::from(index))
    {
        for (lane, (old, new)) in register.iter_mut().zip(values).enumerate() {
            if lanes >> lane & 1 == 1 {
                *old = *new;
            }
        }
    }
}
