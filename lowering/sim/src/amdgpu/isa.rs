//! The differences between generations of AMD GPUs that a program can observe, from the rows of the
//! targets.

use super::counters::bit;
use crate::queue::Counters;
use splitbar_target::{Arch, Counter, Matrix, Target};

/// The facts of one GPU. Their sources: `fixtures/targets/amdgpu.toml`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Isa {
    /// Scalar loads have a counter of their own (gfx12); before that they share LGKMcnt with LDS.
    pub kmcnt: bool,
    /// Stores have a counter of their own (gfx10); before that they share VMcnt with loads.
    pub vscnt: bool,
    /// Flat accesses are counted in order with those of global and private memory, and with those
    /// of LDS (gfx10). Source: LLVM, `GCNSubtarget::hasFlatLgkmVMemCountInOrder`.
    pub flat_in_order: bool,
    /// The waves of a workgroup see each other's vector memory operations in the order of issue:
    /// they pass one cache in order (gfx9).
    pub ordered_vmem: bool,
    /// 16-bit results clear the upper half of the register (gfx9); later generations keep it.
    pub clears_high_half: bool,
    /// `v_cmpx` writes a mask beside EXEC (gfx9).
    pub cmpx_writes_mask: bool,
    /// The three work-item ids come packed in v0, 10 bits each (gfx90a, gfx11).
    pub packed_ids: bool,
    /// Workgroup ids come in ttmp9 and ttmp7 (gfx12); before that in scalar registers behind the
    /// user's.
    pub ids_in_ttmp: bool,
    /// Private memory needs no set-up by the program (gfx942, gfx11).
    pub architected_scratch: bool,
    /// A kernel whose arguments are preloaded into registers begins with 256 bytes for firmware
    /// that does not preload; hardware that does begins behind them.
    pub preload_prologue: bool,
    /// `ds_bpermute_b32` and `ds_permute_b32` reach the 32 lanes of a half of a wave of 64 (gfx10,
    /// gfx11; LLVM's wave.shuffle).
    pub permutes_halves: bool,
    /// WMMA takes a copy of its factors in every 16 lanes (gfx11, but not gfx11.7).
    pub copied_factors: bool,
    /// The conversions of 8-bit floats are of OCP's formats (not on gfx942).
    pub float8_conversions: bool,
    /// Waves of a workgroup may load through caches of their own, in WGP mode (gfx10 to gfx12.0).
    pub wgp_mode: bool,
    /// Between the nearest cache and the one that the device shares is another one (gfx10 on).
    pub far_cache: bool,
    /// True if an image store writes its first component for omitted components (gfx12); earlier
    /// GPUs write 0. Source: LLVM, `GCNSubtarget::hasDefaultComponentBroadcast`.
    pub repeats_components: bool,
    /// Stores stay in a cache that a part of the device has for itself (gfx942, gfx12.5).
    pub writes_back: bool,
    /// The most operations that a counter holds, by the number of its bit in
    /// [`Counters`](crate::queue::Counters). A wave does not issue one more before one of them is
    /// complete.
    pub most_counted: [u32; 8],
    /// Lanes of a wave where the kernel's descriptor does not say (before gfx10).
    pub wave_size: u32,
}

impl Isa {
    /// The facts of a processor by LLVM's name for it; `None` for one that is not simulated (gfx6
    /// to gfx8, gfx13) or has no row.
    pub fn by_name(processor: &str) -> Option<Isa> {
        let target = Target::by_name(processor)?;
        let Arch::Amdgpu(gpu) = &target.arch else {
            return None;
        };
        let execution = gpu.execution?;
        let counts = |counter| gpu.counters.iter().any(|(one, _)| *one == counter);
        let vscnt = counts(Counter::Vscnt) || counts(Counter::Storecnt);
        Some(Isa {
            kmcnt: gpu.kmcnt,
            vscnt,
            // It came with that counter.
            flat_in_order: vscnt,
            ordered_vmem: gpu.ordered_vmem,
            clears_high_half: execution.clears_high_half,
            cmpx_writes_mask: execution.cmpx_writes_mask,
            packed_ids: execution.packed_ids,
            ids_in_ttmp: execution.ids_in_ttmp,
            architected_scratch: execution.architected_scratch,
            preload_prologue: execution.preload_prologue,
            permutes_halves: execution.permutes_halves,
            copied_factors: gpu.matrix == Matrix::WmmaDuplicated,
            float8_conversions: gpu.float8_conversions,
            wgp_mode: gpu.cumode_feature,
            far_cache: execution.far_cache,
            repeats_components: execution.repeats_components,
            writes_back: !gpu.release.device.is_empty(),
            most_counted: most_counted(gpu.counters),
            wave_size: if target.wave_sizes.contains(&32) {
                32
            } else {
                64
            },
        })
    }
}

/// See [`Isa::most_counted`].
fn most_counted(counters: &[(Counter, u32)]) -> [u32; 8] {
    let mut most = [u32::MAX; 8];
    for (counter, limit) in counters {
        let bit = bit(*counter).map(Counters::trailing_zeros);
        if let Some(slot) = bit.and_then(|bit| most.get_mut(bit as usize)) {
            *slot = *limit;
        }
    }
    most
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rows_without_facts_are_not_simulated() {
        for name in ["gfx803", "gfx1310", "sm_90", "gfx"] {
            assert_eq!(Isa::by_name(name), None, "{name}");
        }
    }

    #[test]
    fn counters_and_caches_follow_from_the_row() {
        let facts = |name| {
            let isa = Isa::by_name(name).unwrap();
            (
                isa.vscnt,
                isa.kmcnt,
                isa.wgp_mode,
                isa.writes_back,
                isa.wave_size,
            )
        };
        assert_eq!(facts("gfx906"), (false, false, false, false, 64));
        assert_eq!(facts("gfx90a"), (false, false, false, false, 64));
        assert_eq!(facts("gfx942"), (false, false, false, true, 64));
        assert_eq!(facts("gfx1100"), (true, false, true, false, 32));
        assert_eq!(facts("gfx1201"), (true, true, true, false, 32));
        assert_eq!(facts("gfx1250"), (true, true, false, true, 32));
        let most = |name| Isa::by_name(name).unwrap().most_counted;
        assert_eq!(most("gfx942")[..3], [63, u32::MAX, 15]);
        assert_eq!(most("gfx1100")[..3], [63, 63, 63]);
    }
}
