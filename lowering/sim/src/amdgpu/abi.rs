//! The initial registers of a wave. Source: LLVM's AMDGPUUsage, "Kernel Descriptor" and "Initial
//! Kernel Execution State".

use super::address::PRIVATE_DESCRIPTOR;
use super::descriptor::Descriptor;
use super::isa::Isa;
use super::operand::sgpr;
use super::wave::Wave;
use crate::lane::Lane;
use crate::program::WaveStart;

/// The initial state of all waves of a launch.
#[derive(Copy, Clone, Debug)]
pub struct Start {
    /// Address of the first instruction.
    pub entry: u64,
    /// Address of the kernel's arguments.
    pub arguments: u64,
    /// Address of the dispatch packet.
    pub packet: u64,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Bytes of private memory of a lane.
    pub private_bytes: u32,
    /// The kernel's descriptor.
    pub descriptor: Descriptor,
    /// The first dwords of the arguments, for kernels that have them preloaded into registers.
    pub preloaded: [u32; 16],
}

/// Bits of the descriptor's properties: which values come in the user's scalar registers, in this
/// order, and how many registers each takes.
const USER: [(u16, u16); 7] = [(0, 4), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 1)];

impl Start {
    /// Sets the registers of a wave.
    pub(super) fn registers(&self, wave: &mut Wave, start: &WaveStart, isa: Isa) {
        let exec = if start.lanes >= 64 {
            u64::MAX
        } else {
            (1 << start.lanes) - 1
        };
        wave.set_exec(exec);
        // FLOAT_ROUND_MODE_32 and FLOAT_ROUND_MODE_16_64.
        wave.rounding = (self.descriptor.rsrc1 >> 12 & 15) as u8;
        let mut at = 0;
        for (bit, count) in USER {
            if self.descriptor.properties >> bit & 1 == 0 {
                continue;
            }
            match bit {
                0 => {
                    // Base and size matter to nobody: the last word says that this is private
                    // memory.
                    for (n, word) in (at..).zip([0, 0, u32::MAX, PRIVATE_DESCRIPTOR]) {
                        wave.set_s(n, word);
                    }
                }
                1 => wave.set_pair(at, self.packet),
                3 => wave.set_pair(at, self.arguments),
                6 => wave.set_s(at, self.private_bytes),
                // Queue, dispatch id, scratch: nothing that a kernel computes with.
                _ => wave.set_pair(at, 0),
            }
            at += count;
        }
        let (preload, offset) = self.descriptor.preload();
        for n in 0..preload {
            // What lies behind the arguments is never read.
            let word = usize::from(offset + n);
            wave.set_s(at + n, self.preloaded.get(word).copied().unwrap_or(0));
        }
        let mut at = self.descriptor.user_registers().max(at + preload);
        let group = start.group;
        if isa.ids_in_ttmp {
            // gfx12.5: which cluster, and in TTMP6 the workgroup's place in it and the last place
            // in x, y and z, four bits each.
            let cluster = start.cluster.map(|n| n.max(1));
            let [x, y, z] = std::array::from_fn(|axis| group[axis] / cluster[axis]);
            wave.set_s(sgpr::TTMP + 9, x);
            wave.set_s(sgpr::TTMP + 7, (y & 0xffff) | z << 16);
            let place = (0..3).fold(0, |bits, axis| {
                let (at, last) = (group[axis] % cluster[axis], cluster[axis] - 1);
                bits | (at & 15) << (4 * axis) | (last & 15) << (12 + 4 * axis)
            });
            wave.set_s(sgpr::TTMP + 6, place);
        } else {
            for (bit, id) in (7..).zip(group) {
                if self.descriptor.rsrc2 >> bit & 1 == 1 {
                    wave.set_s(at, id);
                    at += 1;
                }
            }
            if self.descriptor.rsrc2 >> 10 & 1 == 1 {
                wave.set_s(at, start.waves.into());
                at += 1;
            }
            if self.descriptor.rsrc2 & 1 == 1 && !isa.architected_scratch {
                wave.set_s(at, 0);
            }
        }
        let [x, y, _] = start.workgroup_size.map(|n| n.max(1));
        for lane in Lane::all(64) {
            let linear = start.first + lane.number();
            let ids = [linear % x, linear / x % y, linear / x / y];
            let values = if isa.packed_ids {
                [ids[0] | ids[1] << 10 | ids[2] << 20, 0, 0]
            } else {
                ids
            };
            let count = if isa.packed_ids {
                1
            } else {
                (self.descriptor.rsrc2 >> 11 & 3) as usize + 1
            };
            for (register, value) in wave.vgpr.iter_mut().zip(values).take(count) {
                if let Some(slot) = register.get_mut(lane.index()) {
                    *slot = value;
                }
            }
        }
    }
}
