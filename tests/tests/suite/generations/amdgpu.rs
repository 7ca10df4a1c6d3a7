//! AMD GPUs. Sources: LLVM AMDGPUUsage (Memory Model of each generation, LLVM IR Intrinsics),
//! AMDGPUExecutionSynchronization (barrier objects), AMDGPUAsyncOperations.

use super::kernels::{self, ARRIVE, ARRIVE_ALL, FULL, LOAD, MULTIPLY, WAIT, WAIT_ALL, exchange};
use super::row::Expected::{self, Lines, Refused};
use super::row::{Row, asm, ir, nothing, promoted};
use crate::strategies::ENDS_EARLY;
use crate::support::{assembled, compile_bytes, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::{
    NarrowBarriers, Optimization, Options, Placement, Strategy, Target, Validation, Waits,
};

/// LLVM waits for all that is outstanding before `s_barrier`.
const WITHOUT_BACK_OFF: &str = "gfx[678].*|gfx90[024689c]|gfx9-generic";
/// gfx9 with BackOffBarrier.
const CDNA: &str = "gfx90a|gfx942|gfx950|gfx9-4-generic";
const GFX6_TO_8: &str = "gfx[678].*";
const GFX9: &str = "gfx9.*";
const GFX10: &str = "gfx10.*";
const GFX11: &str = "gfx11.*";
const GFX12_0: &str = "gfx120.|gfx12-generic";
const GFX12_5: &str = "gfx125.|gfx12-5-generic";
const GFX13: &str = "gfx13.*";

/// One `s_barrier` for the pair.
const WHOLE: &[&str] = &[GFX6_TO_8, GFX9, GFX10, GFX11];
/// Two instructions.
const SPLIT: &[&str] = &[GFX12_0, GFX12_5, GFX13];
const NOT_GFX12_5: &[&str] = &[GFX6_TO_8, GFX9, GFX10, GFX11, GFX12_0, GFX13];
/// No copy to LDS passes the registers by.
const REGISTERS: &[&str] = &[GFX6_TO_8, GFX11, GFX12_0, GFX13];

/// `s_barrier` as the only text of its line, except for a comment.
const BARRIER: &str = r"^\s+s_barrier\s*(;.*)?$";
/// A copy of LDS DMA, and none that has an offset, which would count for both addresses.
const DMA: &str = r"\bglobal_load(_lds_dword\s.*|_dword\s.*\blds)$";
const DMA_TWICE: &str = r"count: 2 \bglobal_load(_lds_dword\s.*|_dword\s.*\blds)$";
const DMA_FOUR_TIMES: &str = r"count: 4 \bglobal_load(_lds_dword\s.*|_dword\s.*\blds)$";
const DMA_SIX_TIMES: &str = r"count: 6 \bglobal_load(_lds_dword\s.*|_dword\s.*\blds)$";
const NO_DMA: &str = r"not: load_lds|\blds$|async|\boffset:.*\blds\b";

fn all_memory() -> Result<Vec<u8>> {
    exchange(256, ARRIVE_ALL, LOAD, WAIT_ALL)
}

/// A store to global memory that the pair releases to the workgroup, and the code after the wait.
fn stored_before(after: &str) -> Result<Vec<u8>> {
    let arrive = format!("OpStore %at %i\n{ARRIVE_ALL}");
    exchange(256, &arrive, MULTIPLY, &format!("{WAIT_ALL}\n{after}"))
}

fn one_wave() -> Result<Vec<u8>> {
    exchange(32, ARRIVE, MULTIPLY, WAIT)
}

fn pipeline() -> Result<Vec<u8>> {
    splitbar_tests::fixture::Fixture::load("async_pipeline")?.module()
}

/// Barriers order the memory that they name, even if no accesses conflict, and in all waves.
fn as_named(options: &mut Options) {
    options.narrow_barriers = NarrowBarriers::Never;
}

fn in_clusters(options: &mut Options) {
    options.strategy = Some(Strategy::Cluster);
    options.cluster = Some([2, 1, 1]);
}

#[rustfmt::skip] // a table
pub(super) const ROWS: &[Row] = &[
    // Barriers. From gfx12 on there is no whole one.
    asm("full_barrier", || exchange(256, "", MULTIPLY, FULL), as_named, &[
        (WHOLE, Lines(&[r"\bds_(write|store)", "not: s_barrier", r"s_waitcnt lgkmcnt\(0\)", BARRIER, "not: s_barrier", r"\bds_(read|load)"])),
        (SPLIT, Lines(&[r"\bds_store", "not: s_barrier", "s_wait_dscnt 0x0", "s_barrier_signal -1", r"not: s_barrier|\bds_|global_|s_wait", "s_barrier_wait -1", "not: s_barrier", r"\bds_load"])),
    ]),
    // A load in the window: drained where LLVM waits before `s_barrier`, else in flight until it is
    // used.
    asm("split_barrier", || exchange(256, ARRIVE, LOAD, WAIT), nothing, &[
        (&[WITHOUT_BACK_OFF], Lines(&[r"\bds_write", r"s_waitcnt lgkmcnt\(0\)", r"_load_dword\b", r"s_waitcnt vmcnt\(0\)", BARRIER, "not: s_barrier", r"\bds_read"])),
        (&[CDNA, GFX10, GFX11], Lines(&[r"\bds_(write|store)", r"s_waitcnt lgkmcnt\(0\)", r"global_load_(dword|b32)\b", "not: s_wait", BARRIER, "not: s_wait|buffer_", r"\bds_(read|load)", r"vmcnt\(0\)"])),
        (SPLIT, Lines(&[r"\bds_store", "s_wait_dscnt 0x0", "s_barrier_signal -1", "global_load_b32", "not: s_wait", "s_barrier_wait -1", "not: s_wait|_inv", r"\bds_load", "s_wait_loadcnt"])),
    ]),
    // The acquire of all memory: what gfx9 need not do within a workgroup, gfx10 to gfx12.0 and
    // gfx13 do with a cache, gfx12.5 without.
    asm("split_barrier/all_memory", all_memory, as_named, &[
        (&[WITHOUT_BACK_OFF], Lines(&[r"_load_dword\b", r"s_waitcnt vmcnt\(0\)", BARRIER, "not: buffer_", r"\bds_read"])),
        (&[CDNA], Lines(&[r"global_load_dword\b", "not: vmcnt", BARRIER, "not: vmcnt|buffer_", r"\bds_read", r"vmcnt\(0\)"])),
        (&[GFX10, GFX11], Lines(&[r"global_load_(dword|b32)\b", "not: vmcnt", BARRIER, r"s_waitcnt vmcnt\(0\)", "next: buffer_gl0_inv", r"\bds_(read|load)"])),
        (&[GFX12_0, GFX13], Lines(&["s_wait_kmcnt 0x0", "s_barrier_signal -1", "global_load_b32", "not: s_wait", "s_barrier_wait -1", "s_wait_loadcnt 0x0", "next: global_inv scope:SCOPE_SE", r"\bds_load"])),
        (&[GFX12_5], Lines(&["s_wait_kmcnt 0x0", "s_barrier_signal -1", "global_load_b32", "not: s_wait", "s_barrier_wait -1", "s_wait_loadcnt 0x0", "not: _inv", r"\bds_load"])),
    ]),
    // What is stored for the workgroup is in memory before another wave may release it to the
    // device; where no wave does, the store stays on its way.
    asm("releases_cumulatively", || stored_before("OpMemoryBarrier %one %release_all"), nothing, &[
        (&[GFX6_TO_8, GFX9], Lines(&[r"_store_dword\b", r"s_waitcnt .*\bvmcnt\(0\)", BARRIER])),
        (&[GFX10, GFX11], Lines(&[r"global_store_(dword|b32)\b", r"s_waitcnt_vscnt null, 0x0", BARRIER])),
        (SPLIT, Lines(&["global_store_b32", "s_wait_storecnt", "s_barrier_signal -1"])),
    ]),
    asm("not_passed_on", || stored_before(""), nothing, &[
        (&[WITHOUT_BACK_OFF], Lines(&[r"_store_dword\b", r"s_waitcnt .*\bvmcnt\(0\)", BARRIER])),
        (&[CDNA], Lines(&[r"_store_dword\b", "not: vmcnt", BARRIER])),
        (&[GFX10, GFX11], Lines(&[r"global_store_(dword|b32)\b", r"s_waitcnt_vscnt null, 0x0", BARRIER])),
        (SPLIT, Lines(&["global_store_b32", "s_wait_storecnt", "s_barrier_signal -1"])),
    ]),
    // In CU mode it neither waits nor invalidates.
    asm("split_barrier/all_memory/cu_mode", all_memory, |options| { as_named(options); options.placement = Placement::CuMode; }, &[
        (&[GFX10, GFX11], Lines(&[r"global_load_(dword|b32)\b", BARRIER, "not: vmcnt|buffer_", r"\bds_(read|load)", r"vmcnt\(0\)"])),
        (&[GFX12_0], Lines(&["s_barrier_signal -1", "global_load_b32", "s_barrier_wait -1", "not: s_wait|_inv", r"\bds_load", "s_wait_loadcnt"])),
        (&[GFX6_TO_8, GFX9, GFX12_5, GFX13], Refused("has no CU mode")),
    ]),
    // One wave waits for nobody, whatever the level of optimisation; its fences stay.
    asm("one_wave", one_wave, nothing, ONE_WAVE),
    asm("one_wave/unoptimised", one_wave, |options| options.optimization = Optimization::O0, ONE_WAVE),
    // A barrier object of the workgroup's own: set up, joined, and left by the wave that ends
    // before the others are done, which rule SB2000 does not allow.
    asm("named", || assembled(ENDS_EARLY), |options| (options.strategy, options.validation) = (Some(Strategy::Named), Validation::Waived), &[
        (&[GFX12_5], Lines(&[
            "s_barrier_init m0", "s_barrier_signal -1", "s_barrier_wait -1", "s_barrier_join m0", r"\bds_store", "s_wait_dscnt 0x0", "s_barrier_signal 1",
            "s_barrier_wait 1", r"\bds_load", "s_barrier_leave", r"\.amdhsa_named_barrier_count 1",
        ])),
        (NOT_GFX12_5, Refused("cannot lower the split barriers")),
    ]),
    // The first wave of a workgroup arrives for it; of one wave each is the first.
    asm("cluster", || exchange(256, ARRIVE, MULTIPLY, WAIT), in_clusters, &[
        (&[GFX12_5], Lines(&[
            "s_cmp_eq_u32 0, 0", "s_barrier_signal_isfirst -1", "s_barrier_wait -1", "s_cbranch", "s_barrier_signal -3", "s_barrier_wait -3",
            r"\.cluster_dims:", "next: - 2",
        ])),
        (NOT_GFX12_5, Refused("has no clusters of workgroups")),
    ]),
    asm("cluster/one_wave", one_wave, in_clusters, &[
        (&[GFX12_5], Lines(&["not: s_barrier", "s_barrier_signal -3", "s_barrier_wait -3", "not: s_barrier", "s_endpgm"])),
        (NOT_GFX12_5, Refused("has no clusters of workgroups")),
    ]),

    // `--waits explicit`: the immediate of each generation, and its counters. Where LLVM waits
    // before `s_barrier`, it does not see it.
    ir("explicit_waits", || exchange(256, ARRIVE, LOAD, WAIT), |options| options.waits = Waits::Explicit, &[
        (&[GFX6_TO_8], Lines(&[r"s\.waitcnt\(i32 127\)", r"next: fence .* release", r#"asm sideeffect "s_barrier", "~\{memory\}""#, r"s\.waitcnt\(i32 127\)", "next: fence .* acquire"])),
        (&["gfx90[024689c]|gfx9-generic"], Lines(&[r"s\.waitcnt\(i32 49279\)", r"next: fence .* release", r#"asm sideeffect "s_barrier", "~\{memory\}""#, r"s\.waitcnt\(i32 49279\)", "next: fence .* acquire"])),
        (&[CDNA, GFX10], Lines(&[r"s\.waitcnt\(i32 49279\)", r"next: fence .* release", r"@llvm\.amdgcn\.s\.barrier\(\)", r"s\.waitcnt\(i32 49279\)", "next: fence .* acquire"])),
        (&[GFX11], Lines(&[r"s\.waitcnt\(i32 64519\)", r"next: fence .* release", r"@llvm\.amdgcn\.s\.barrier\(\)", r"s\.waitcnt\(i32 64519\)", "next: fence .* acquire"])),
        (SPLIT, Lines(&[r"s\.wait\.dscnt\(i16 0\)", "next: fence .* release", r"s\.barrier\.signal\(i32 -1\)", r"s\.barrier\.wait\(i16 -1\)", r"s\.wait\.dscnt\(i16 0\)", "next: fence .* acquire"])),
    ]),
    // Of all memory: stores have a counter of their own from gfx10 on, loads from gfx12 on.
    ir("explicit_waits/all_memory", all_memory, |options| { as_named(options); options.waits = Waits::Explicit; }, &[
        (&[GFX6_TO_8], Lines(&[r"s\.waitcnt\(i32 127\)", "next: fence .* release"])),
        (&[GFX9], Lines(&[r"s\.waitcnt\(i32 49279\)", "next: fence .* release"])),
        (&[GFX10], Lines(&[r"s\.waitcnt\(i32 112\)", r#"next: asm sideeffect "s_waitcnt_vscnt null, 0x0""#, "next: fence .* release"])),
        (&[GFX11], Lines(&[r"s\.waitcnt\(i32 7\)", r#"next: asm sideeffect "s_waitcnt_vscnt null, 0x0""#, "next: fence .* release"])),
        (SPLIT, Lines(&[r"s\.wait\.loadcnt\(i16 0\)", r"next: s\.wait\.storecnt\(i16 0\)", r"next: s\.wait\.dscnt\(i16 0\)", r"next: s\.wait\.kmcnt\(i16 0\)", "next: fence .* release", r"s\.barrier\.signal"])),
    ]),

    // A copy to LDS by the size of its elements: an instruction for each, several, or registers.
    asm("copy_in/1_byte", || kernels::copy_in(1), nothing, &[
        (&[GFX12_5], Lines(&["s_wait_dscnt 0x0", r"global_load_async_to_lds_b8\b", "s_wait_asynccnt 0x0", "s_barrier_signal -1", r"\bds_load"])),
        (NOT_GFX12_5, Lines(&[NO_DMA, r"\bds_(write|store)_b8\b", "s_barrier"])),
    ]),
    asm("copy_in/2_bytes", || kernels::copy_in(2), nothing, &[
        (&["gfx.*"], Lines(&[NO_DMA, r"\bds_(write|store)_b16\b", "s_barrier"])),
    ]),
    asm("copy_in/4_bytes", || kernels::copy_in(4), nothing, &[
        (&[GFX9, GFX10], Lines(&["v_readfirstlane_b32", r"s_waitcnt lgkmcnt\(0\)", r"\bm0\b", DMA, r"s_waitcnt vmcnt\(0\)", BARRIER, r"\bds_read"])),
        (&[GFX12_5], Lines(&[r"not: \bm0\b", "s_wait_dscnt 0x0", r"global_load_async_to_lds_b32\b", "s_wait_asynccnt 0x0", "s_barrier_signal -1", r"\bds_load"])),
        (REGISTERS, Lines(&[NO_DMA, r"\bds_(write|store)_b32\b", "s_barrier"])),
    ]),
    asm("copy_in/8_bytes", || kernels::copy_in(8), nothing, &[
        (&[GFX9, GFX10], Lines(&[DMA_TWICE, r"s_waitcnt vmcnt\(0\)", BARRIER, r"\bds_read"])),
        (&[GFX12_5], Lines(&["s_wait_dscnt 0x0", r"global_load_async_to_lds_b64\b", "s_wait_asynccnt 0x0", "s_barrier_signal -1", r"\bds_load"])),
        (REGISTERS, Lines(&[NO_DMA, r"\bds_(write|store)_b64\b", "s_barrier"])),
    ]),
    asm("copy_in/16_bytes", || kernels::copy_in(16), nothing, &[
        (&["gfx90.|gfx942|gfx9-generic|gfx9-4-generic", GFX10], Lines(&[DMA_FOUR_TIMES, r"s_waitcnt vmcnt\(0\)", BARRIER, r"\bds_read"])),
        (&["gfx950"], Lines(&[r"global_load_lds_dwordx4\b", r"s_waitcnt vmcnt\(0\)", BARRIER, r"\bds_read"])),
        (&[GFX12_5], Lines(&["s_wait_dscnt 0x0", r"global_load_async_to_lds_b128\b", "s_wait_asynccnt 0x0", "s_barrier_signal -1", r"\bds_load"])),
        (REGISTERS, Lines(&[NO_DMA, r"\bds_(write|store)(_b128|2_b64|2_b32)\b", "s_barrier"])),
    ]),
    // And from LDS: gfx12.5 alone. No fence waits for such a store, so the wait for copies stands
    // before the barrier.
    asm("copy_out/4_bytes", || kernels::copy_out(4), nothing, &[
        (&[GFX12_5], Lines(&[r"\bds_store_b32", "s_barrier_wait -1", "s_wait_dscnt 0x0", r"global_store_async_from_lds_b32\b", "s_wait_asynccnt 0x0", "s_barrier_signal -1", "s_endpgm"])),
        (NOT_GFX12_5, Lines(&[r"\bds_(write|store)_b32", "s_barrier", r"\bds_(read|load)_b32", r"_store_(dword|b32)\b", "s_barrier", "s_endpgm"])),
    ]),
    asm("copy_out/16_bytes", || kernels::copy_out(16), nothing, &[
        (&[GFX12_5], Lines(&["s_barrier_wait -1", "s_wait_dscnt 0x0", r"global_store_async_from_lds_b128\b", "s_wait_asynccnt 0x0", "s_barrier_signal -1", "s_endpgm"])),
        (NOT_GFX12_5, Lines(&["not: async", "s_endpgm"])),
    ]),
    // Waits count the newest copies: of two, three and one, four and one stay in flight.
    asm("groups_of_copies", kernels::three_groups, nothing, &[
        (&[GFX9, GFX10], Lines(&[
            r"\bm0\b", DMA_SIX_TIMES, r"s_waitcnt vmcnt\(4\)", BARRIER, "not: vmcnt", r"s_waitcnt vmcnt\(1\)", BARRIER, "not: vmcnt", r"s_waitcnt vmcnt\(0\)", BARRIER, r"\bds_read",
        ])),
        (&[GFX12_5], Lines(&[
            r"s_wait_kmcnt", r"count: 6 global_load_async_to_lds_b32\b", "s_wait_asynccnt 0x4", "s_barrier_signal -1", "s_wait_asynccnt 0x1", "s_barrier_signal -1", "s_wait_asynccnt 0x0",
            "s_barrier_signal -1", r"\bds_load",
        ])),
        (REGISTERS, Lines(&[NO_DMA, "s_barrier"])),
    ]),
    // Other operations that use the same counter are counted: loads and stores on gfx9, loads on
    // gfx10, neither on gfx12.5.
    asm("copies_and_accesses", kernels::mixed, nothing, &[
        (&[GFX9], Lines(&[DMA, "global_load", "global_store", DMA, r"s_waitcnt vmcnt\(3\)", BARRIER, r"\bds_read", r"vmcnt\(2\)"])),
        (&[GFX10], Lines(&[DMA, "global_load", "global_store", DMA, r"s_waitcnt vmcnt\(2\)", BARRIER, r"\bds_read", r"vmcnt\(1\)"])),
        (&[GFX12_5], Lines(&["async_to_lds", "global_load_b32", "global_store_b32", "async_to_lds", "not: s_wait_(load|store)cnt", "s_wait_asynccnt 0x1", "s_barrier_signal -1", r"\bds_load", "s_wait_loadcnt"])),
        (REGISTERS, Lines(&[NO_DMA, "s_barrier"])),
    ]),
    // What is not known to be aligned is stored and has no mark: LLVM would wait for nothing at a
    // mark that covers nothing. The other copy is waited for as ever.
    asm("copy_beside_a_store", kernels::beside_a_store, promoted, &[
        (&[GFX12_5], Lines(&["async_to_lds_b32", r"\bds_store_b128", "s_wait_asynccnt 0x0", "s_barrier_signal -1"])),
        (NOT_GFX12_5, Lines(&["s_barrier"])),
    ]),
    // A ring in a loop: one stage of two copies stays in flight over the barrier, also where LLVM
    // would wait for all at `s_barrier`.
    asm("ring", pipeline, promoted, &[
        (&[GFX9, GFX10], Lines(&[DMA, r"s_waitcnt vmcnt\(2\)", r"^\.LBB", BARRIER, DMA, r"not: vmcnt\(0\)", r"s_waitcnt vmcnt\(2\)", "s_cbranch"])),
        (&[GFX12_5], Lines(&["async_to_lds_b32", "s_wait_asynccnt 0x2", "s_barrier_signal -1", r"^\.LBB", "s_barrier_wait -1", "async_to_lds_b32", "not: asynccnt 0x0", "s_wait_asynccnt 0x2", "s_barrier_signal -1"])),
        (REGISTERS, Lines(&[NO_DMA, r"^\.LBB", "s_barrier", r"vmcnt\(1\)|s_wait_loadcnt 0x1", r"\bds_(write|store)", r"vmcnt\(0\)|s_wait_loadcnt 0x0", r"\bds_(write|store)", "s_cbranch"])),
    ]),

    // The launch: waves of 64 before gfx10, one workgroup size in all places, no implicit argument.
    asm("launch", || exchange(256, ARRIVE, MULTIPLY, WAIT), nothing, &[
        (&[GFX6_TO_8, GFX9], Lines(&[
            r"\.amdhsa_group_segment_fixed_size 1024", r"\.amdhsa_kernarg_size 8", r"not: wavefront_size32 1", r"\.kernarg_segment_size: 8", r"\.max_flat_workgroup_size: 256",
            r"\.reqd_workgroup_size:", "next: - 256", "next: - 1", "next: - 1", r"\.uniform_work_group_size: 1", r"\.wavefront_size: 64", "amdhsa.version:", "next: - 1", "next: - 2",
        ])),
        (&[GFX10, GFX11, GFX12_0, GFX12_5, GFX13], Lines(&[
            r"\.amdhsa_group_segment_fixed_size 1024", r"\.amdhsa_kernarg_size 8", r"\.amdhsa_wavefront_size32 1", r"\.kernarg_segment_size: 8", r"\.max_flat_workgroup_size: 256",
            r"\.reqd_workgroup_size:", "next: - 256", "next: - 1", "next: - 1", r"\.uniform_work_group_size: 1", r"\.wavefront_size: 32", "amdhsa.version:", "next: - 1", "next: - 2",
        ])),
    ]),
];

const ONE_WAVE: &[(&[&str], Expected)] = &[
    (
        WHOLE,
        Lines(&[
            r"\bds_(write|store)",
            "not: s_barrier",
            r"s_waitcnt .*lgkmcnt\(0\)",
            "not: s_barrier",
            r"\bds_(read|load)",
            "not: s_barrier",
            "s_endpgm",
        ]),
    ),
    (
        SPLIT,
        Lines(&[
            r"\bds_store",
            "not: s_barrier",
            "s_wait_dscnt 0x0",
            "not: s_barrier",
            r"\bds_load",
            "not: s_barrier",
            "s_endpgm",
        ]),
    ),
];

/// Bytes of LDS that a workgroup has: the limit in LLVM's `local memory exceeds limit`.
const LDS: &[(&str, u32)] = &[
    ("gfx6.*", 32 << 10),
    (
        "gfx[78].*|gfx90.*|gfx942|gfx9-generic|gfx9-4-generic",
        64 << 10,
    ),
    ("gfx950", 160 << 10),
    ("gfx1[01].*|gfx120.|gfx12-generic|gfx13.*", 64 << 10),
    ("gfx125.|gfx12-5-generic", 320 << 10),
];

pub(super) fn trials() -> Vec<Trial> {
    vec![trial("generations/amdgpu/lds".to_owned(), lds)]
}

/// All of a target's LDS can be used, and not a word more.
fn lds() -> Result<()> {
    for target in Target::all().iter().filter(|t| t.amdgpu().is_some()) {
        let of = |names: &str| {
            regex::Regex::new(&format!("^({names})$")).map(|r| r.is_match(target.name))
        };
        let bytes = LDS.iter().find(|(names, _)| of(names).unwrap_or(false));
        let (_, bytes) = bytes.with_context(|| format!("{} has no row", target.name))?;
        let compiled = |words| -> Result<_> {
            let module = kernels::exchange_in(words, 256, ARRIVE, MULTIPLY, WAIT)?;
            Ok(compile_bytes(&module, target.name, |_| {}))
        };
        let whole = compiled(bytes / 4)??;
        ensure!(whole.entries()[0].abi.shared_memory_bytes == *bytes);
        let refusal = compiled(bytes / 4 + 1)?.err();
        let refusal = format!("{:#}", refusal.context(target.name)?);
        ensure!(refusal.contains("bytes of workgroup memory"), "{refusal}");
    }
    Ok(())
}
