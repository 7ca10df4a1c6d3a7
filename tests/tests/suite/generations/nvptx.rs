//! NVIDIA GPUs. Sources: PTX ISA (bar, bar.warp.sync, mbarrier, barrier.cluster, cp.async,
//! cp.async.bulk, fence, kernel parameters, performance directives).

use super::kernels::{self, ARRIVE, FULL, LOAD, MULTIPLY, WAIT, exchange, exchange_in};
use super::row::Expected::{Lines, Refused};
use super::row::{Row, asm, nothing, promoted};
use crate::support::{compile_bytes, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::{FuseAt, Options, Strategy};
use splitbar_tests::fixture::Fixture;

/// No independent threads: `membar`, no counter.
const SM_5_6: &str = "sm_[56].";
/// Targets with only named barriers.
const SM_7: &str = "sm_7.";
/// mbarriers that are tested, `cp.async`.
const SM_8: &str = "sm_8.";
/// mbarriers that are waited for, clusters, bulk copies, fences of one side.
const SM_9: &str = "sm_9.|sm_1..";

const NAMED: &[&str] = &[SM_5_6, SM_7];
const MBARRIER: &[&str] = &[SM_8, SM_9];

/// Two pairs, one after the other.
fn twice(invocations: u32) -> Result<Vec<u8>> {
    exchange(
        invocations,
        ARRIVE,
        MULTIPLY,
        &[WAIT, ARRIVE, WAIT].join("\n"),
    )
}

/// Two pairs with a full barrier between them.
fn parted(invocations: u32) -> Result<Vec<u8>> {
    exchange(
        invocations,
        ARRIVE,
        MULTIPLY,
        &[WAIT, FULL, ARRIVE, WAIT].join("\n"),
    )
}

/// Two pairs in a workgroup that uses all shared memory.
fn full_memory() -> Result<Vec<u8>> {
    exchange_in(
        48 << 8,
        256,
        ARRIVE,
        MULTIPLY,
        &[WAIT, ARRIVE, WAIT].join("\n"),
    )
}

fn one_pair() -> Result<Vec<u8>> {
    exchange(256, ARRIVE, MULTIPLY, WAIT)
}

fn loading() -> Result<Vec<u8>> {
    exchange(256, ARRIVE, LOAD, WAIT)
}

fn forced(options: &mut Options, strategy: Strategy) {
    options.strategy = Some(strategy);
}

const CANNOT: &str = "cannot lower the split barriers";
/// A barrier of more than one warp.
const NO_BARRIER: &str = r"not: \bbar\.(sync|arrive)|barrier|trap";
/// A full barrier.
const SYNC: &str = r"\bbar\.sync\s+0;";
/// A guard of the window: a branch whose other side ends in a trap.
const GUARD: &str = r"^\s+trap;";
const ARRIVE_NO_COUNT: &str = r"mbarrier\.arrive\.shared\.b64\s+%rd\d+, \[splitbar_mbarrier\];";
const ARRIVE_ONE: &str = r"mbarrier\.arrive\.shared\.b64\s+%rd\d+, \[splitbar_mbarrier\], %r\d+;";

#[rustfmt::skip] // a table
pub(super) const ROWS: &[Row] = &[
    // One warp syncs its lanes; a part of one, those that there are.
    asm("one_warp", || exchange(32, ARRIVE, MULTIPLY, WAIT), nothing, &[
        (&["sm_.*"], Lines(&[r"\bst\.shared", NO_BARRIER, r"bar\.warp\.sync\s+-1;", NO_BARRIER, r"\bld\.shared", NO_BARRIER, r"\bret;"])),
    ]),
    asm("part_of_a_warp", || exchange(16, ARRIVE, MULTIPLY, WAIT), nothing, &[
        (&["sm_.*"], Lines(&[r"\bst\.shared", NO_BARRIER, r"bar\.warp\.sync\s+65535;", NO_BARRIER, r"\bld\.shared", NO_BARRIER, r"\bret;"])),
    ]),
    // What a GPU takes by itself: a barrier for each warp, or an mbarrier that expects one arrival
    // of each. No fence: bar and mbarrier order memory of the workgroup.
    asm("split_barrier", one_pair, nothing, &[
        (NAMED, Lines(&[r"\bst\.shared", r"count: 7 \bbar\.arrive\s+%r\d+, 256;", "not: fence|membar", GUARD, GUARD, r"\bbar\.sync\s+%r\d+, 256;", "not: fence|membar", r"\bld\.shared"])),
        (&[SM_8], Lines(&[
            r"mov\.b32\s+%r\d+, 8;", r"next: mbarrier\.init\.shared\.b64", SYNC, r"\bst\.shared", "not: fence|membar", r"bar\.warp\.sync\s+-1;", r"%laneid", ARRIVE_NO_COUNT, GUARD,
            "not: trap|fence|membar", r"mbarrier\.test_wait\.parity\.shared\.b64", "not: fence|membar", r"\bld\.shared",
        ])),
        (&[SM_9], Lines(&[
            r"mov\.b32\s+%r\d+, 8;", r"next: mbarrier\.init\.shared\.b64", SYNC, r"\bst\.shared", "not: fence|membar", r"bar\.warp\.sync\s+-1;", r"%laneid", r"mov\.b32\s+%r\d+, 1;",
            ARRIVE_ONE, GUARD, GUARD, "not: fence|membar", r"mbarrier\.try_wait\.parity\.shared\.b64", "not: fence|membar", r"\bld\.shared",
        ])),
    ]),
    // Again and again: two sets of named barriers for up to seven warps, groups of warps for more.
    asm("repeated/2_warps", || twice(64), nothing, &[
        (NAMED, Lines(&[r"\bbar\.arrive\s+%r\d+, 64;", r"next: (//.*|ld\.const.*)", r"\bbar\.sync\s+%r\d+, 64;", r"\bbar\.arrive\s+%r\d+, 64;", r"\bbar\.sync\s+%r\d+, 64;", r"not: \bbar\.", r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"mbarrier\.init", r"mbarrier\.arrive", r"mbarrier\.(test|try)_wait\.parity", r"mbarrier\.arrive", r"mbarrier\.(test|try)_wait\.parity", r"\bld\.shared"])),
    ]),
    asm("repeated/7_warps", || twice(224), nothing, &[
        (NAMED, Lines(&[r"\bst\.shared", r"count: 6 \bbar\.arrive\s+%r\d+, 224;", r"\bbar\.sync\s+%r\d+, 224;", r"count: 6 \bbar\.arrive\s+%r\d+, 224;", r"\bbar\.sync\s+%r\d+, 224;", r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"mov\.b32\s+%r\d+, 7;", r"next: mbarrier\.init", r"not: bar\.arrive", r"\bld\.shared"])),
    ]),
    asm("repeated/8_warps", || twice(256), nothing, &[
        (NAMED, Lines(&[r"\bst\.shared", r"count: 3 \bbar\.arrive\s+%r\d+, 256;", r"\bbar\.sync\s+%r\d+, 256;", r"count: 3 \bbar\.arrive\s+%r\d+, 256;", r"\bbar\.sync\s+%r\d+, 256;", r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"mov\.b32\s+%r\d+, 8;", r"next: mbarrier\.init", r"not: bar\.arrive", r"\bld\.shared"])),
    ]),
    asm("repeated/32_warps", || twice(1024), nothing, &[
        (NAMED, Lines(&[r"\bst\.shared", r"count: 3 \bbar\.arrive\s+%r\d+, 1024;", r"\bbar\.sync\s+%r\d+, 1024;", r"count: 3 \bbar\.arrive\s+%r\d+, 1024;", r"\bbar\.sync\s+%r\d+, 1024;", r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"mov\.b32\s+%r\d+, 32;", r"next: mbarrier\.init", r"not: bar\.arrive", r"\bld\.shared"])),
    ]),
    // One set is enough for up to fifteen warps where a full barrier stands between the phases.
    asm("parted/15_warps", || parted(480), nothing, &[
        (NAMED, Lines(&[r"\bst\.shared", r"count: 14 \bbar\.arrive\s+%r\d+, 480;", r"\bbar\.sync\s+%r\d+, 480;", SYNC, r"count: 14 \bbar\.arrive\s+%r\d+, 480;", r"\bbar\.sync\s+%r\d+, 480;", r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"mov\.b32\s+%r\d+, 15;", r"next: mbarrier\.init", r"mbarrier\.(test|try)_wait", SYNC, r"mbarrier\.(test|try)_wait", r"\bld\.shared"])),
    ]),
    asm("parted/16_warps", || parted(512), nothing, &[
        (NAMED, Lines(&[r"\bst\.shared", r"count: 3 \bbar\.arrive\s+%r\d+, 512;", r"\bbar\.sync\s+%r\d+, 512;", SYNC, r"count: 3 \bbar\.arrive\s+%r\d+, 512;", r"\bbar\.sync\s+%r\d+, 512;", r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"mov\.b32\s+%r\d+, 16;", r"next: mbarrier\.init", r"mbarrier\.(test|try)_wait", SYNC, r"mbarrier\.(test|try)_wait", r"\bld\.shared"])),
    ]),
    // Without the eight bytes of an mbarrier: the barrier of a cluster of one where there is one,
    // else named barriers.
    asm("no_shared_memory_left", full_memory, nothing, &[
        (&[SM_5_6, SM_7, SM_8], Lines(&["not: mbarrier", r"\bst\.shared", r"count: 3 \bbar\.arrive\s+%r\d+, 256;", r"\bbar\.sync\s+%r\d+, 256;", r"\bld\.shared"])),
        (&[SM_9], Lines(&[r"\.explicitcluster", r"\.reqnctapercluster 1, 1, 1", "not: mbarrier", r"\bst\.shared", r"barrier\.cluster\.arrive", r"barrier\.cluster\.wait", r"\bld\.shared"])),
    ]),
    // What only the launch knows cannot be counted on.
    asm("size_of_the_launch", kernels::open_size, nothing, &[
        (NAMED, Lines(&[r"not: bar\.arrive|reqntid", SYNC, r"not: bar\.", r"\bret;"])),
        (MBARRIER, Lines(&["not: reqntid", r"%ntid\.", r"mbarrier\.init", SYNC, r"mbarrier\.arrive", r"mbarrier\.(test|try)_wait", r"\bret;"])),
    ]),

    // By name.
    asm("warp_named", one_pair, |options| forced(options, Strategy::WarpNamedSingle), &[
        (&[SM_5_6, SM_7, SM_8], Lines(&["not: mbarrier", r"\bst\.shared", r"count: 7 \bbar\.arrive\s+%r\d+, 256;", GUARD, GUARD, r"\bbar\.sync\s+%r\d+, 256;", r"\bld\.shared"])),
        // A number in a register reserves all barriers, which limits the workgroups of a
        // multiprocessor there.
        (&[SM_9], Refused("reserves all 16 barriers")),
    ]),
    asm("counter", one_pair, |options| forced(options, Strategy::Counter), &[
        (&[SM_5_6], Refused("may keep the other warps from running")),
        (&[SM_7, SM_8], Lines(&[
            r"st\.shared\.b32\s+\[splitbar_counter\], 0;", SYNC, r"bar\.warp\.sync\s+-1;", r"@%p\d+ bra", r"next: fence\.acq_rel\.cta;", r"next: atom\.relaxed\.cta\.shared\.add\.u32", GUARD,
            r"ld\.relaxed\.cta\.shared\.b32\s+%r\d+, \[splitbar_counter\];", r"nanosleep\.u32", r"fence\.acq_rel\.cta;", r"\bld\.shared",
        ])),
        (&[SM_9], Lines(&[
            r"st\.shared\.b32\s+\[splitbar_counter\], 0;", SYNC, r"bar\.warp\.sync\s+-1;", r"@%p\d+ bra", r"next: fence\.release\.cta;", r"next: atom\.relaxed\.cta\.shared\.add\.u32", GUARD,
            r"ld\.relaxed\.cta\.shared\.b32\s+%r\d+, \[splitbar_counter\];", r"nanosleep\.u32", r"fence\.acquire\.cta;", r"\bld\.shared",
        ])),
    ]),
    // The cheap form of the arrive, with the fence that it leaves out; the cluster is explicit, or
    // ptxas makes it a full barrier.
    asm("cluster", one_pair, |options| forced(options, Strategy::Cluster), &[
        (&[SM_5_6, SM_7, SM_8], Refused(CANNOT)),
        (&[SM_9], Lines(&[
            r"^\.explicitcluster", r"^\.reqnctapercluster 1, 1, 1", r"not: mbarrier|\bbar\.", r"\bst\.shared", r"fence\.release\.cta;", r"next: barrier\.cluster\.arrive\.relaxed\.aligned;", GUARD,
            GUARD, r"barrier\.cluster\.wait\.aligned;", r"next: fence\.acquire\.cta;", r"\bld\.shared",
        ])),
    ]),
    asm("fused", loading, |options| forced(options, Strategy::Fused), &[
        (&["sm_.*"], Lines(&[r"\bst\.shared", r"\bld\.global", SYNC, r"\bld\.shared", r"not: \bbar\.|fence|membar|trap", r"\bret;"])),
    ]),
    asm("fused/at_the_arrive", loading, |options| { forced(options, Strategy::Fused); options.fuse_at = FuseAt::Arrive; }, &[
        (&["sm_.*"], Lines(&[r"\bst\.shared", SYNC, r"\bld\.global", r"\bld\.shared", r"not: \bbar\.|fence|membar|trap", r"\bret;"])),
    ]),
    asm("votes", kernels::votes, nothing, &[
        (&["sm_.*"], Lines(&[r"\bbar(rier)?\.(cta\.)?red\.and\.pred", r"\bbar(rier)?\.(cta\.)?red\.or\.pred", r"\bst\.global"])),
    ]),

    // A copy to shared memory by the size of its elements.
    asm("copy_in/2_bytes", || kernels::copy_in(2), nothing, &[
        (&["sm_.*"], Lines(&[r"not: cp\.async", r"\bst\.shared\.b16", SYNC, r"\bld\.shared"])),
    ]),
    asm("copy_in/4_bytes", || kernels::copy_in(4), nothing, &[
        (NAMED, Lines(&[r"not: cp\.async", r"\bst\.shared\.b32", SYNC, r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"cp\.async\.ca\.shared\.global \[.*\], \[.*\], 4;", r"cp\.async\.commit_group;", r"cp\.async\.wait_group\s+0;", SYNC, r"\bld\.shared"])),
    ]),
    asm("copy_in/8_bytes", || kernels::copy_in(8), nothing, &[
        (NAMED, Lines(&[r"not: cp\.async", r"\bst\.shared\.(v2\.b32|b64)", SYNC, r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"cp\.async\.ca\.shared\.global \[.*\], \[.*\], 8;", r"cp\.async\.commit_group;", r"cp\.async\.wait_group\s+0;", SYNC, r"\bld\.shared"])),
    ]),
    // Large ones of 16 bytes: one copy of one thread, behind a fence of the proxies for each
    // memory.
    asm("copy_in/16_bytes", || kernels::copy_in(16), nothing, &[
        (NAMED, Lines(&[r"not: cp\.async", r"\bst\.shared\.v4\.b32", SYNC, r"\bld\.shared"])),
        (&[SM_8], Lines(&[r"cp\.async\.cg\.shared\.global \[.*\], \[.*\], 16;", r"cp\.async\.commit_group;", r"cp\.async\.wait_group\s+0;", SYNC, r"\bld\.shared"])),
        (&[SM_9], Lines(&[
            r"mbarrier\.init\.shared\.b64", r"next: fence\.proxy\.async\.shared::cta;", SYNC, r"fence\.proxy\.async\.shared::cta;", r"next: fence\.proxy\.async\.global;", r"mbarrier\.arrive\.expect_tx",
            r"cp\.async\.bulk\.shared::cta\.global\.mbarrier::complete_tx::bytes", r"mbarrier\.try_wait\.parity", SYNC, r"\bld\.shared",
        ])),
    ]),
    asm("copy_out/4_bytes", || kernels::copy_out(4), nothing, &[
        (&["sm_.*"], Lines(&[r"not: cp\.async", r"\bst\.shared", SYNC, r"\bld\.shared", r"\bst\.global", SYNC, r"\bret;"])),
    ]),
    asm("groups_of_copies", kernels::three_groups, nothing, &[
        (NAMED, Lines(&[r"not: cp\.async", SYNC, SYNC, SYNC, r"\bld\.shared"])),
        (MBARRIER, Lines(&[r"^\{", r"count: 6 cp\.async\.commit_group;", r"cp\.async\.wait_group\s+4;", SYNC, r"cp\.async\.wait_group\s+1;", SYNC, r"cp\.async\.wait_group\s+0;", SYNC, r"\bld\.shared"])),
    ]),
    asm("ring", || Fixture::load("async_pipeline")?.module(), promoted, &[
        (NAMED, Lines(&[r"not: cp\.async", r"\bst\.shared", r"\bret;"])),
        (MBARRIER, Lines(&[r"cp\.async\.commit_group", r"cp\.async\.wait_group\s+1;", r"mbarrier\.arrive", r"cp\.async\.commit_group", r"cp\.async\.wait_group\s+1;", r"mbarrier\.arrive", r"cp\.async\.wait_group\s+0;"])),
    ]),
    // Where nothing asks for the copies before the wait, the mbarrier counts them: an arrival for
    // each warp and one for each thread.
    asm("copies_arrive", || Fixture::load("async_overlap")?.module(), promoted, &[
        (NAMED, Lines(&[r"not: cp\.async", r"\bst\.shared", r"\bret;"])),
        (MBARRIER, Lines(&[
            r"mov\.b32\s+%r\d+, 264;", r"next: mbarrier\.init", r"cp\.async\.ca\.shared\.global", r"not: cp\.async\.(wait|commit)", r"cp\.async\.mbarrier\.arrive\.noinc\.shared\.b64",
            r"bar\.warp\.sync", r"mbarrier\.arrive\.", r"mbarrier\.(test|try)_wait\.parity",
        ])),
    ]),

    // The launch: typed pointers, the workgroup's size, shared memory without an initialiser, which
    // LLVM would drop.
    asm("launch", one_pair, nothing, &[
        (&["sm_.*"], Lines(&[
            r"^\.visible \.entry main\($", r"next: \.param \.u64 \.ptr \.global \.align 16 main_param_0$", r"^\.reqntid 256, 1, 1$", r"\.shared \.align 16 \.b8 \S+\[1024\];$", r"not: %n?warpid", r"\bret;",
        ])),
    ]),
];

pub(super) fn trials() -> Vec<Trial> {
    let gpus = ["sm_70", "sm_75", "sm_80", "sm_89", "sm_90", "sm_120"];
    let products = gpus.map(|gpu| {
        let name = format!("generations/nvptx/convergent_products/{gpu}");
        trial(name, move || convergent_products(gpu))
    });
    products.into()
}

/// LLVM does not declare the matrix products of a warp convergent, and sinks them into branches. So
/// each call has the attribute.
fn convergent_products(gpu: &str) -> Result<()> {
    let module = Fixture::load("cooperative_matmul")?.module()?;
    let output = compile_bytes(&module, gpu, |_| {})?;
    let ir = output.ir();
    let mut products = 0;
    for line in ir
        .lines()
        .filter(|line| line.contains("call ") && line.contains("@llvm.nvvm.mma."))
    {
        let group = line.rsplit_once('#').map(|(_, group)| group.trim());
        let group = group.with_context(|| format!("no attributes: {line}"))?;
        let attributes = ir
            .lines()
            .find(|line| line.starts_with(&format!("attributes #{group} = ")));
        ensure!(
            attributes.is_some_and(|text| text.contains("convergent")),
            "{line}: {attributes:?}"
        );
        products += 1;
    }
    let assembly = told(output.assembly())?;
    ensure!(
        products > 0 && assembly.contains("mma.sync.aligned"),
        "nothing is multiplied"
    );
    Ok(())
}
