//! The description of a GPU: the form of a row.

use super::counter::Counter;
use super::scope::FenceScope;

/// One GPU that code can be generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The name as LLVM spells it: `gfx1201`, `gfx11-generic`, `sm_90`; of a variant with what
    /// makes it one: `gfx90a:xnack+`, `sm_90a`.
    pub name: &'static str,
    /// Vendor-specific facts.
    pub arch: Arch,
    /// The endings of its name: features of the target id of AMD GPUs (`xnack`, written `:xnack+`
    /// or `:xnack-`), suffixes of NVIDIA's (`a`).
    pub variants: &'static [&'static str],
    /// Lanes per wave (warp), the default first. Never empty.
    pub wave_sizes: &'static [u32],
    /// Workgroup memory that one workgroup can have, in bytes. On NVPTX: static and dynamic shared
    /// memory together.
    pub lds_bytes: u32,
    /// Most invocations that a workgroup may have.
    pub max_workgroup_size: u32,
    /// Cycles that a full barrier takes though all waves arrive at once.
    pub barrier_cycles: u32,
    /// The costs of strategies, by name; others have not been measured.
    pub costs: &'static [Cost],
}

/// The cost of one strategy on one GPU, for the choice among strategies. Sources: `costs` in
/// `fixtures/targets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The strategy's name.
    pub strategy: &'static str,
    /// Cycles that a phase takes longer than with a full barrier where all waves do the same: the
    /// cheapest kernel measured and the most expensive one; `None` if it has not been measured.
    pub cycles: Option<(i32, i32)>,
    /// Machine instructions that must be left between arrive and wait so that the split pays;
    /// `None` if no window is known to.
    pub window: Option<u32>,
    /// The same for a pair that goes around a loop, where that is another number.
    pub rotated: Option<u32>,
}

/// The vendor of a target, with the facts that only this vendor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "rows of a static table, which are not moved"
)]
pub enum Arch {
    /// AMD, through LLVM's AMDGPU back end.
    Amdgpu(Amdgpu),
    /// NVIDIA, through LLVM's NVPTX back end.
    Nvptx(Nvptx),
}

/// The features of an AMD GPU. Sources: `fixtures/targets/amdgpu.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amdgpu {
    /// The processor name for LLVM (`-mcpu`).
    pub cpu: &'static str,
    /// The generation (`gfx9`, `gfx12.5`). For printing only: decisions use the facts below.
    pub generation: &'static str,
    /// `s_barrier_signal` and `s_barrier_wait` exist. Where they do not, LLVM 23.1 crashes on their
    /// intrinsics.
    pub split_barrier: bool,
    /// Named barrier objects of a workgroup; their ids are `1..=named_barriers`. 0: none.
    pub named_barriers: u32,
    /// The barrier of a workgroup cluster (id -3).
    pub cluster_barrier: bool,
    /// Memory operations may stay outstanding over `s_barrier`; without it LLVM drains all of them
    /// first.
    pub back_off_barrier: bool,
    /// Scalar loads are counted apart (KMcnt) and do not share LGKMcnt with LDS.
    pub kmcnt: bool,
    /// The vector memory operations of one workgroup pass one cache in order, so that a release at
    /// workgroup scope waits for none of them.
    pub ordered_vmem: bool,
    /// LLVM's `cumode` feature exists and changes what workgroup fences do.
    pub cumode_feature: bool,
    /// Waves of one workgroup may be spread over compute units (threadgroup split); a workgroup
    /// that is has no LDS.
    pub tg_split: bool,
    /// Memory can be accessed through a generic pointer (FLAT instructions).
    pub generic_access: bool,
    /// Wave sizes in which any lane can read any other lane's register with one instruction.
    pub wave_shuffle: &'static [u32],
    /// Vector instructions of three operands take a constant of 32 bits.
    pub vop3_literals: bool,
    /// The immediate of `s_waitcnt`; `None` where every counter has a wait of its own
    /// (`s_wait_loadcnt` and so on).
    pub waitcnt: Option<Waitcnt>,
    /// The counters of outstanding operations, and the largest count that each holds.
    pub counters: &'static [(Counter, u32)],
    /// Matrix multiply-add.
    pub matrix: Matrix,
    /// Dot products of four bytes in one instruction.
    pub byte_dots: ByteDots,
    /// Conversions between `f32` and the 8-bit floats of OCP.
    pub float8_conversions: bool,
    /// Image loads, stores and size queries. Where there are none, LLVM 23.1 may crash on their
    /// intrinsics.
    pub images: bool,
    /// Formatted buffer accesses; the same.
    pub texel_buffers: bool,
    /// The bits of the largest level of detail in the second word of a sampler resource, with 8
    /// fraction bits; no bits if there are no samplers.
    pub sampler_max_lod: Field,
    /// A clock that counts in a constant rate, for all waves of the device. Where there is none,
    /// LLVM 23.1 reads 0.
    pub real_time_clock: bool,
    /// Sizes in bytes of a global to LDS copy that passes no register. Empty: no such copy.
    pub lds_dma_bytes: &'static [u32],
    /// `asyncmark` and `wait.asyncmark` select. Where they do not, LLVM 23.1 aborts on them.
    pub async_marks: bool,
    /// Asynchronous copies have a counter of their own (ASYNCcnt).
    pub async_counter: bool,
    /// The invalidation for an acquire of global memory. That of workgroup scope is for placements
    /// in which the waves of a workgroup load through several caches.
    pub acquire: CacheOps,
    /// The write-back for a release of global memory.
    pub release: CacheOps,
    /// True if an invalidation takes effect only after a wait for the counter of loads.
    pub invalidation_waits: bool,
    /// The behaviour of the machine that a program can observe; `None` if it cannot be simulated.
    pub execution: Option<Execution>,
}

/// The behaviour of an AMD GPU, except its memory, that a program can observe: the input of a
/// simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// The three work-item ids come packed in v0, 10 bits each.
    pub packed_ids: bool,
    /// True if workgroup ids are in ttmp9 and ttmp7, not in scalar registers after the user's.
    pub ids_in_ttmp: bool,
    /// Private memory needs no set-up by the program.
    pub architected_scratch: bool,
    /// True if a kernel whose arguments are preloaded into registers begins with 256 bytes for
    /// firmware that does not preload; hardware that preloads starts after them.
    pub preload_prologue: bool,
    /// 16-bit results clear the upper half of the register; otherwise they keep it.
    pub clears_high_half: bool,
    /// `v_cmpx` writes a mask beside EXEC.
    pub cmpx_writes_mask: bool,
    /// `ds_bpermute_b32` and `ds_permute_b32` reach the 32 lanes of a half of a wave of 64.
    pub permutes_halves: bool,
    /// Between the nearest cache and the one that the device shares is another one.
    pub far_cache: bool,
    /// True if an image store writes its first component for omitted components; otherwise it
    /// writes 0.
    pub repeats_components: bool,
}

/// Instructions that look after caches, by the scope that they are for, as assembly has them. Those
/// of one scope are all needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOps {
    /// At workgroup scope.
    pub workgroup: &'static [&'static str],
    /// At device scope.
    pub device: &'static [&'static str],
    /// At system scope.
    pub system: &'static [&'static str],
}

impl CacheOps {
    /// Those of a scope; none for a subgroup, whose lanes load through one cache.
    pub fn at(&self, scope: FenceScope) -> &'static [&'static str] {
        match scope {
            FenceScope::Subgroup => &[],
            FenceScope::Workgroup => self.workgroup,
            FenceScope::Device => self.device,
            FenceScope::System => self.system,
        }
    }
}

/// A field of an immediate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its lowest bit.
    pub bit: u32,
    /// Its number of bits.
    pub bits: u32,
}

impl Field {
    /// The bits of the field.
    pub fn mask(self) -> u32 {
        ((1 << self.bits) - 1) << self.bit
    }
}

impl Amdgpu {
    /// The largest count that `counter` holds; `None` where there is no such counter.
    pub fn most_outstanding(&self, counter: Counter) -> Option<u32> {
        self.counters
            .iter()
            .find(|(c, _)| *c == counter)
            .map(|(_, most)| *most)
    }

    /// Returns true if stores have a counter of their own (VScnt, STOREcnt) and do not share one
    /// with loads.
    pub fn counts_stores_apart(&self) -> bool {
        [Counter::Vscnt, Counter::Storecnt]
            .iter()
            .any(|counter| self.most_outstanding(*counter).is_some())
    }
}

/// The fields of the counts in `s_waitcnt`. A field of all ones does not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waitcnt {
    /// VMcnt, its parts from low to high.
    pub vm: &'static [Field],
    /// EXPcnt.
    pub exp: Field,
    /// LGKMcnt.
    pub lgkm: Field,
}

impl Waitcnt {
    /// The immediate that waits until each of `counters` is zero, and for no other counter.
    pub fn zero(&self, counters: &[Counter]) -> u32 {
        let vm = self.vm.iter().map(|field| (Counter::Vmcnt, field));
        vm.chain([(Counter::Expcnt, &self.exp), (Counter::Lgkmcnt, &self.lgkm)])
            .filter(|(counter, _)| !counters.contains(counter))
            .fold(0, |immediate, (_, field)| immediate | field.mask())
    }
}

/// Dot products of four bytes with a sum of 32 bits, in one instruction of an AMD GPU.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ByteDots {
    /// There are none.
    None,
    /// Of two signed vectors, or of two unsigned ones: `v_dot4_i32_i8`, `v_dot4_u32_u8`.
    SameSigns,
    /// Of signed and unsigned ones in any combination: `v_dot4_i32_iu8`.
    AnySigns,
}

/// Matrix multiply-add with results of 16 x 16, by the instructions and the way that lanes hold
/// their operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matrix {
    /// There is none.
    None,
    /// MFMA of gfx908: f16, bf16 (8 deep), f32, i8.
    MfmaCdna1,
    /// MFMA of gfx90a: bf16 16 deep, f64.
    MfmaCdna2,
    /// MFMA of gfx942: i8 32 deep.
    MfmaCdna3,
    /// MFMA of gfx950: 16-bit floats 32 deep, i8 64 deep, the 8-bit floats of OCP.
    MfmaCdna4,
    /// WMMA, 16 deep, every element of A and B in two lanes, or four in waves of 64 (gfx11).
    WmmaDuplicated,
    /// WMMA, 16 deep.
    Wmma,
    /// WMMA, 32 deep and no other.
    WmmaK32,
}

/// The features of an NVIDIA GPU. Sources: `fixtures/targets/nvptx.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nvptx {
    /// The compute capability as one number: 90 is sm_90.
    pub sm: u32,
    /// The PTX version to ask LLVM for, as in its feature name: 86 is PTX 8.6 (`+ptx86`).
    pub ptx: u32,
    /// The strongest way to wait for an mbarrier phase.
    pub mbarrier: Mbarrier,
    /// `barrier.cluster` exists.
    pub cluster: bool,
    /// `fence.acquire` and `fence.release` exist apart from `fence.acq_rel`.
    pub one_sided_fences: bool,
    /// Fences are spelled `fence.*`; where this is false they are `membar.*`.
    pub volta_fences: bool,
    /// `cp.async` with commit and wait groups.
    pub cp_async: bool,
    /// `cp.async.bulk` from global to shared memory, complete on an mbarrier (PTX 8.6 for the form
    /// to `.shared::cta`).
    pub bulk_copy: bool,
    /// Matrix multiply-add, `mma.sync`.
    pub mma: Mma,
    /// `cvt` from pairs of `f32` or `f16` to pairs of the 8-bit floats of OCP, which saturates, and
    /// from these to `f16x2`.
    pub float8_conversions: bool,
    /// `redux.sync`: a warp reduces integers of 32 bits by one instruction.
    pub redux: bool,
    /// Hardware barriers of a workgroup, id 0 (the workgroup barrier itself) included.
    pub named_barriers: u32,
    /// The barriers that a kernel reserves limit how many workgroups share an SM.
    pub barriers_limit_occupancy: bool,
    /// Threads are scheduled independently, so that a thread that polls does not keep others from
    /// running, and `nanosleep` exists.
    pub nanosleep: bool,
    /// Static shared memory that one workgroup can have, in bytes.
    pub static_shared_bytes: u32,
}

/// The `mma.sync` instructions of an NVIDIA GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mma {
    /// There are none.
    None,
    /// m8n8k4 of f16: four products, of eight lanes each.
    K4,
    /// m16n8k8 of f16, m8n8k16 of 8-bit integers.
    K8,
    /// m16n8k16 of f16 and bf16, m16n8k32 of 8-bit integers, and half as deep; m8n8k4 of f64.
    K16,
    /// All that and m16n8k32 of 8-bit floats.
    Float8,
}

/// The ways in which an NVIDIA GPU can wait for an mbarrier phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mbarrier {
    /// It has no mbarrier.
    None,
    /// `mbarrier.test_wait` (sm_80): asks and does not block, so the wait is a loop.
    TestWait,
    /// `mbarrier.try_wait` (sm_90): may suspend the thread for a while, so the loop is cheap.
    TryWait,
}
