//! What the generations of AMD GPUs do differently, as far as a program can notice.

/// The facts of one generation. Source, if nothing else is said: LLVM's AMDGPUUsage, sections "Memory Model" and "Initial Kernel Execution State".
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Isa {
    /// Scalar loads have a counter of their own (gfx12); before that they share LGKMcnt with LDS.
    pub kmcnt: bool,
    /// Stores have a counter of their own (gfx10); before that they share VMcnt with loads.
    pub vscnt: bool,
    /// The waves of a workgroup see each other's vector memory operations in the order of issue: they pass one cache in order (gfx9).
    pub ordered_vmem: bool,
    /// 16-bit results clear the upper half of the register (gfx9); later generations keep it.
    pub clears_high_half: bool,
    /// `v_cmpx` writes a mask beside EXEC (gfx9).
    pub cmpx_has_mask: bool,
    /// The three work-item ids come packed in v0, 10 bits each (gfx90a, gfx11).
    pub packed_ids: bool,
    /// Workgroup ids come in ttmp9 and ttmp7 (gfx12); before that in scalar registers behind the user's.
    pub ids_in_ttmp: bool,
    /// Private memory needs no set-up by the program (gfx942, gfx11).
    pub architected_scratch: bool,
    /// A kernel whose arguments are preloaded into registers begins with 256 bytes for firmware that does not preload; hardware that does begins behind them.
    pub preload_prologue: bool,
    /// `ds_bpermute_b32` and `ds_permute_b32` reach the 32 lanes of a half of a wave of 64 (gfx10, gfx11; LLVM's wave.shuffle).
    pub permutes_halves: bool,
    /// WMMA takes a copy of its factors in every 16 lanes (gfx11, but not gfx11.7).
    pub copied_factors: bool,
    /// Waves of a workgroup may load through caches of their own, in WGP mode (gfx10 to gfx12.0).
    pub wgp_mode: bool,
    /// Between the nearest cache and the one that the device shares is another one (gfx10 on).
    pub far_cache: bool,
    /// What an image store leaves out is stored as its first component (gfx12); before that as 0. Source: LLVM, `GCNSubtarget::hasDefaultComponentBroadcast`.
    pub repeats_components: bool,
    /// Stores stay in a cache that a part of the device has for itself (gfx942, gfx12.5).
    pub writes_back: bool,
    /// Lanes of a wave where the kernel's descriptor does not say (before gfx10).
    pub wave_size: u32,
}

const GFX9: Isa = Isa {
    kmcnt: false,
    vscnt: false,
    ordered_vmem: true,
    clears_high_half: true,
    cmpx_has_mask: true,
    packed_ids: false,
    ids_in_ttmp: false,
    architected_scratch: false,
    preload_prologue: true,
    permutes_halves: false,
    copied_factors: false,
    wgp_mode: false,
    far_cache: false,
    writes_back: false,
    repeats_components: false,
    wave_size: 64,
};
const GFX90A: Isa = Isa {
    packed_ids: true,
    ..GFX9
};
const GFX940: Isa = Isa {
    writes_back: true,
    architected_scratch: true,
    ..GFX90A
};
const GFX10: Isa = Isa {
    wgp_mode: true,
    far_cache: true,
    vscnt: true,
    ordered_vmem: false,
    clears_high_half: false,
    cmpx_has_mask: false,
    permutes_halves: true,
    wave_size: 32,
    ..GFX9
};
const GFX11: Isa = Isa {
    packed_ids: true,
    architected_scratch: true,
    copied_factors: true,
    ..GFX10
};
const GFX11_7: Isa = Isa {
    copied_factors: false,
    ..GFX11
};
const GFX12: Isa = Isa {
    kmcnt: true,
    repeats_components: true,
    ids_in_ttmp: true,
    permutes_halves: false,
    ..GFX11_7
};
const GFX12_5: Isa = Isa {
    wgp_mode: false,
    writes_back: true,
    preload_prologue: false,
    ..GFX12
};

/// By the beginning of the processor's name, the longest first.
const BY_NAME: [(&str, Isa); 15] = [
    ("gfx9-4-generic", GFX940),
    ("gfx12-5-generic", GFX12_5),
    ("gfx12-generic", GFX12),
    ("gfx11-7-generic", GFX11_7),
    ("gfx11-generic", GFX11),
    ("gfx90a", GFX90A),
    ("gfx94", GFX940),
    ("gfx95", GFX940),
    ("gfx125", GFX12_5),
    ("gfx120", GFX12),
    ("gfx117", GFX11_7),
    ("gfx11", GFX11),
    ("gfx10", GFX10),
    ("gfx90", GFX9),
    ("gfx9-generic", GFX9),
];

impl Isa {
    /// The facts of a processor by LLVM's name for it; `None` for one that is not simulated (gfx6 to gfx8, gfx13).
    pub fn by_name(processor: &str) -> Option<Isa> {
        BY_NAME
            .iter()
            .find(|(prefix, _)| processor.starts_with(prefix))
            .map(|(_, isa)| *isa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Isa::by_name("gfx906"), Some(GFX9));
        assert_eq!(Isa::by_name("gfx90a"), Some(GFX90A));
        assert_eq!(Isa::by_name("gfx942"), Some(GFX940));
        assert_eq!(Isa::by_name("gfx1201"), Some(GFX12));
        assert_eq!(Isa::by_name("gfx1250"), Some(GFX12_5));
        assert_eq!(Isa::by_name("gfx803"), None);
        assert_eq!(Isa::by_name("gfx1310"), None);
    }
}
