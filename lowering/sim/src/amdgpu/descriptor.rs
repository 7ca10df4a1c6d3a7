//! The descriptor of a kernel.

use super::isa::Isa;

/// The hardware's description of a kernel. Source: AMDGPUUsage, "Kernel Descriptor".
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Bytes of private memory of a lane.
    pub private_bytes: u32,
    /// From the descriptor to the first instruction, in bytes.
    pub entry_offset: i64,
    /// COMPUTE_PGM_RSRC1.
    pub rsrc1: u32,
    /// COMPUTE_PGM_RSRC2.
    pub rsrc2: u32,
    /// KERNEL_CODE_PROPERTIES.
    pub properties: u16,
    /// KERNARG_PRELOAD: a length and an offset in dwords.
    pub kernarg_preload: u16,
}

impl Descriptor {
    /// The 64 bytes of a descriptor.
    pub(super) fn read(bytes: &[u8]) -> Option<Descriptor> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        Some(Descriptor {
            shared_bytes: word(0)?,
            private_bytes: word(4)?,
            entry_offset: i64::from_le_bytes(bytes.get(16..24)?.try_into().ok()?),
            rsrc1: word(48)?,
            rsrc2: word(52)?,
            properties: half(56)?,
            kernarg_preload: half(58)?,
        })
    }

    /// Scalar registers that the packet processor fills for the user. (gfx12.5 has six bits for the
    /// number, others five and a zero.)
    pub(super) fn user_registers(&self) -> u16 {
        (self.rsrc2 >> 1 & 31) as u16
    }

    /// Dwords of the arguments that come in registers: how many, and from which on.
    pub(super) fn preload(&self) -> (u16, u16) {
        (self.kernarg_preload & 0x7f, self.kernarg_preload >> 7)
    }

    /// Lanes of a wave.
    pub fn wave_size(&self, isa: Isa) -> u32 {
        // The bit exists where waves of 32 lanes do.
        if isa.wave_size == 32 && self.properties >> 10 & 1 == 1 {
            32
        } else {
            64
        }
    }

    /// The waves of a workgroup may run on both compute units of a pair. (Where there are such
    /// pairs.)
    pub(super) fn wgp_mode(&self) -> bool {
        self.rsrc1 >> 29 & 1 == 1
    }

    /// Private memory grows at run time.
    pub(super) fn dynamic_stack(&self) -> bool {
        self.properties >> 11 & 1 == 1
    }
}
