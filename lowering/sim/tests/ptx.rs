//! Small PTX kernels, one feature each: what they compute, and what is found.
#![allow(clippy::unwrap_used, clippy::panic)]

use pretty_assertions::assert_eq;
use splitbar_sim::memory::Global;
use splitbar_sim::{Clocks, FindingKind, Launch, Limits, Schedule, ptx};

/// A kernel around `body`: `%out` points to 256 words, `%t` is the thread. Registers `%r`, `%rd`,
/// `%f`, `%p` up to 40; 1 KiB of shared memory `s`, which begins with what may be an mbarrier.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .func (.param .b32 result) twice(.param .b32 x)\n{{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [x];\n\
         add.s32 %r2, %r1, %r1;\nst.param.b32 [result], %r2;\nret;\n}}\n\
         .visible .entry k(.param .u64 .ptr .global .align 16 k_out)\n{{\n\
         .reg .pred %p<40>;\n.reg .b16 %rs<40>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .b64 %own;\n\
         .reg .b64 %out;\n.reg .b32 %t;\n.shared .align 16 .b8 s[1024];\n\
         ld.param.u64 %out, [k_out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %own, %t, 4;\nadd.s64 %own, %out, %own;\n\
         {body}\nret;\n}}\n"
    )
}

/// What a run left and found.
struct Ran {
    out: Vec<u32>,
    kinds: Vec<FindingKind>,
    notes: Vec<FindingKind>,
    messages: String,
}

fn run_with(body: &str, threads: u32, index: u32) -> Ran {
    run_groups(body, 1, threads, index)
}

fn run_groups(body: &str, groups: u32, threads: u32, index: u32) -> Ran {
    run_limited(body, groups, threads, index, 200_000)
}

fn run_limited(body: &str, groups: u32, threads: u32, index: u32, steps: u64) -> Ran {
    run_clocked(body, groups, threads, index, steps, Clocks::Machine)
}

fn run_clocked(
    body: &str,
    groups: u32,
    threads: u32,
    index: u32,
    steps: u64,
    clocks: Clocks,
) -> Ran {
    let mut kernel = ptx::kernel(&kernel(body), None).unwrap();
    let mut global = Global::default();
    let words: Vec<u8> = (0..256u32).flat_map(|i| i.to_le_bytes()).collect();
    let out = global.add("out", words, true);
    kernel.set_parameters(&global.base(out).to_le_bytes());
    kernel.load(&mut global);
    let launch = Launch {
        groups: [groups, 1, 1],
        cluster: [1; 3],
        workgroup_size: [threads, 1, 1],
        shared_bytes: kernel.shared_bytes() as usize,
        clocks,
        limits: Limits {
            steps,
            ..Limits::default()
        },
    };
    let report = splitbar_sim::run(&kernel, &mut global, &launch, Schedule::nth(index, 7));
    let bytes = global.region(out).unwrap().bytes();
    Ran {
        out: bytes
            .chunks(4)
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect(),
        kinds: report.findings.iter().map(|f| f.kind).collect(),
        notes: report.notes.iter().map(|f| f.kind).collect(),
        messages: report.findings.iter().map(ToString::to_string).collect(),
    }
}

/// Under every kind of schedule nothing is found, and the first words are these.
fn gives(body: &str, threads: u32, expected: impl Fn(u32) -> u32) {
    for index in 0..8 {
        let ran = run_with(body, threads, index);
        assert_eq!(ran.messages, "", "schedule {index}");
        let want: Vec<u32> = (0..threads).map(&expected).collect();
        assert_eq!(ran.out[..threads as usize], want, "schedule {index}");
    }
}

/// Under some schedule this is found; the text of the finding.
fn finds(body: &str, threads: u32, kind: FindingKind) -> String {
    let found = (0..16)
        .map(|index| run_with(body, threads, index))
        .find(|ran| ran.kinds.contains(&kind));
    found.map_or_else(
        || panic!("{kind:?} is not found in `{body}`"),
        |ran| ran.messages,
    )
}

/// The second warp waits for the first one, which has eight instructions more.
#[test]
fn a_wave_can_have_a_clock_of_its_own() {
    let work = "add.u32 %r2, %r2, 1; ".repeat(8);
    let body = format!(
        "setp.ge.u32 %p1, %t, 32; @%p1 bra MEET; {work}\nMEET: bar.sync 0;\n\
         mov.u64 %rd1, %clock64; cvt.u32.u64 %r1, %rd1; st.global.u32 [%own], %r1;"
    );
    let clocks = |index, clocks| {
        let ran = run_clocked(&body, 1, 64, index, 200_000, clocks);
        assert_eq!(ran.messages, "");
        (ran.out[0], ran.out[32])
    };
    let own: Vec<_> = (0..8).map(|index| clocks(index, Clocks::Wave)).collect();
    assert!(own.iter().all(|pair| *pair == own[0]), "{own:?}");
    assert_eq!(own[0].0, own[0].1 + 8);
    let of_machine: Vec<_> = (0..8).map(|index| clocks(index, Clocks::Machine)).collect();
    assert!(of_machine.iter().any(|pair| *pair != of_machine[0]));
}

#[test]
fn lanes_that_diverge_meet_again() {
    let body = "and.b32 %r1, %t, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra EVEN; mov.u32 %r2, 100; bra JOIN;\n\
                EVEN: mov.u32 %r2, 200;\nJOIN: activemask.b32 %r3; popc.b32 %r3, %r3; add.s32 %r2, %r2, %r3; st.global.u32 [%own], %r2;";
    gives(body, 64, |t| if t % 2 == 0 { 232 } else { 132 });
}

#[test]
fn lanes_leave_a_loop_one_after_the_other() {
    let body = "mov.u32 %r1, 0;\nLOOP: add.s32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %t; @%p1 bra LOOP;\n\
                activemask.b32 %r2; popc.b32 %r2, %r2; mad.lo.s32 %r3, %r1, 100, %r2; st.global.u32 [%own], %r3;";
    gives(body, 32, |t| (t + 1) * 100 + 32);
}

#[test]
fn a_lane_that_spins_does_not_starve_the_one_it_waits_for() {
    // Each lane takes a lock, adds, and gives it back: without independent progress of lanes this
    // never ends.
    let body = "mov.u64 %rd1, s; setp.ne.u32 %p1, %t, 0; @%p1 bra READY; st.shared.u64 [%rd1], 0;\n\
                READY: bar.warp.sync -1;\n\
                TRY: atom.acquire.cta.shared.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra TRY;\n\
                ld.shared.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1; st.shared.u32 [%rd1+4], %r2;\n\
                atom.release.cta.shared.exch.b32 %r3, [%rd1], 0; st.global.u32 [%own], %r2;";
    // Those that have left the loop wait for the others for a while, each time.
    for index in 0..4 {
        let ran = run_limited(body, 1, 6, index, 1_000_000);
        assert_eq!(ran.messages, "");
        let mut out = ran.out[..6].to_vec();
        out.sort_unstable();
        assert_eq!(out, (1..=6).collect::<Vec<_>>());
    }
}

#[test]
fn lanes_synchronise_with_bar_warp_sync_and_race_without() {
    let exchange = |sync: &str| {
        format!(
            "mov.u64 %rd1, s; mul.wide.u32 %rd2, %t, 4; add.s64 %rd2, %rd1, %rd2; st.shared.u32 [%rd2], %t; {sync}\n\
             xor.b32 %r1, %t, 1; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd3, %rd1, %rd3; ld.shared.u32 %r2, [%rd3]; st.global.u32 [%own], %r2;"
        )
    };
    gives(&exchange("bar.warp.sync -1;"), 32, |t| t ^ 1);
    gives(&exchange("bar.warp.sync -1;"), 20, |t| t ^ 1);
    gives(&exchange("bar.sync 0;"), 128, |t| t ^ 1);
    gives(&exchange("barrier.sync 3, 64;"), 64, |t| t ^ 1);
    let text = finds(&exchange(""), 32, FindingKind::SharedRace);
    assert!(
        text.contains("ld.shared.u32") && text.contains("st.shared.u32"),
        "{text}"
    );
    // A mask that names only one of the two.
    finds(
        &exchange("mov.u32 %r3, 1; shl.b32 %r3, %r3, %t; bar.warp.sync %r3;"),
        32,
        FindingKind::SharedRace,
    );
}

#[test]
fn sums_and_products_of_mixed_precision() {
    // 2 and 0.5 as numbers of 16 bits beside the thread's own number.
    let body = |instruction: &str, two: u32, half: u32| {
        format!(
            "mov.u32 %r1, {two}; cvt.u16.u32 %rs1, %r1; mov.u32 %r1, {half}; cvt.u16.u32 %rs2, %r1;\n\
             cvt.rn.f32.u32 %r2, %t; {instruction}; cvt.rni.s32.f32 %r3, %r3; st.global.u32 [%own], %r3;"
        )
    };
    let half = |instruction: &str| body(instruction, 0x4000, 0x3800);
    let brain = |instruction: &str| body(instruction, 0x4000, 0x3f00);
    gives(&half("add.rn.f32.f16 %r3, %rs1, %r2"), 32, |t| t + 2);
    gives(&brain("add.rn.f32.bf16 %r3, %rs1, %r2"), 32, |t| t + 2);
    gives(&half("sub.f32.f16 %r3, %rs1, %r2"), 32, |t| {
        2u32.wrapping_sub(t)
    });
    gives(&half("fma.rn.f32.f16 %r3, %rs1, %rs2, %r2"), 32, |t| t + 1);
    gives(
        &brain("fma.rn.ftz.f32.bf16 %r3, %rs1, %rs2, %r2"),
        32,
        |t| t + 1,
    );
}

#[test]
fn equal_writes_are_a_note() {
    let notes = |body: &str, threads: u32| {
        let ran = run_with(body, threads, 1);
        assert_eq!(ran.kinds, [], "{body}: {}", ran.messages);
        ran.notes
    };
    let own = "st.global.u32 [%own], %t;";
    let same = format!("mov.u32 %r1, 7; st.shared.u32 [s], %r1; {own}");
    assert_eq!(notes(&same, 64), [FindingKind::EqualWrites]);
    // In order: nothing to note.
    let ordered = format!(
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 7; bar.sync 0; setp.eq.u32 %p1, %t, 40; @%p1 st.shared.u32 [s], 7; {own}"
    );
    assert_eq!(notes(&ordered, 64), []);
    // Other values, a part of the bytes, and a read between.
    let other = format!("shr.u32 %r1, %t, 5; st.shared.u32 [s], %r1; {own}");
    finds(&other, 64, FindingKind::SharedRace);
    let read = "mov.u32 %r1, 7; st.shared.u32 [s], %r1; ld.shared.u32 %r2, [s]; st.global.u32 [%own], %r2;";
    finds(read, 64, FindingKind::SharedRace);
}

#[test]
fn shuffles_votes_and_reductions() {
    gives(
        "shfl.sync.bfly.b32 %r1|%p1, %t, 3, 31, -1; st.global.u32 [%own], %r1;",
        32,
        |t| t ^ 3,
    );
    gives(
        "shfl.sync.up.b32 %r1|%p1, %t, 2, 0, -1; selp.u32 %r1, %r1, 77, %p1; st.global.u32 [%own], %r1;",
        32,
        |t| {
            if t < 2 { 77 } else { t - 2 }
        },
    );
    // Segments of eight lanes.
    gives(
        "shfl.sync.idx.b32 %r1, %t, 1, 0x181f, -1; st.global.u32 [%own], %r1;",
        32,
        |t| (t & 24) + 1,
    );
    gives(
        "shfl.sync.down.b32 %r1, %t, 4, 0x1807, -1; st.global.u32 [%own], %r1;",
        32,
        |t| {
            if t % 8 < 4 { t + 4 } else { t }
        },
    );
    gives(
        "setp.lt.u32 %p1, %t, 5; vote.sync.ballot.b32 %r1, %p1, -1; st.global.u32 [%own], %r1;",
        32,
        |_| 31,
    );
    gives(
        "setp.lt.u32 %p1, %t, 5; vote.sync.any.pred %p2, !%p1, -1; selp.u32 %r1, 1, 0, %p2; st.global.u32 [%own], %r1;",
        32,
        |_| 1,
    );
    gives(
        "redux.sync.add.u32 %r1, %t, -1; st.global.u32 [%own], %r1;",
        32,
        |_| 496,
    );
    gives(
        "shr.u32 %r2, %t, 3; match.any.sync.b32 %r1, %r2, -1; st.global.u32 [%own], %r1;",
        32,
        |t| 0xff << (t & 24),
    );
    gives(
        "elect.sync _|%p1, -1; selp.u32 %r1, 1, 0, %p1; redux.sync.add.u32 %r2, %r1, -1; st.global.u32 [%own], %r2;",
        32,
        |_| 1,
    );
    // Two halves that came different ways, each with its own members.
    let halves = "setp.lt.u32 %p1, %t, 16; @%p1 bra LOW; shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xffff0000; bra DONE;\n\
                  LOW: shfl.sync.bfly.b32 %r1, %t, 2, 31, 0x0000ffff;\nDONE: st.global.u32 [%own], %r1;";
    gives(halves, 32, |t| if t < 16 { t ^ 2 } else { t ^ 1 });
}

#[test]
fn calls_tables_and_predication() {
    let call = "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %t; call.uni (r), twice, (a); ld.param.b32 %r1, [r]; }\n st.global.u32 [%own], %r1;";
    gives(call, 40, |t| 2 * t);
    let divergent = "and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %r1, 7; @%p1 bra SKIP;\n\
                     { .param .b32 a; .param .b32 r; st.param.b32 [a], %t; call (r), twice, (a); ld.param.b32 %r1, [r]; }\n\
                     SKIP: activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r1, %r1, 100, %r3; st.global.u32 [%own], %r1;";
    gives(divergent, 32, |t| {
        100 * if t % 2 == 0 { 7 } else { 2 * t } + 32
    });
    let table = "and.b32 %r1, %t, 3;\nT: .branchtargets A, B, C, D;\nbrx.idx %r1, T;\nA: mov.u32 %r2, 10; bra E;\nB: mov.u32 %r2, 11; bra E;\n\
                 C: mov.u32 %r2, 12; bra E;\nD: mov.u32 %r2, 13;\nE: activemask.b32 %r3; popc.b32 %r3, %r3; add.u32 %r2, %r2, %r3; st.global.u32 [%own], %r2;";
    gives(table, 32, |t| 42 + t % 4);
    gives(
        "setp.gt.u32 %p1|%p2, %t, 3; mov.u32 %r1, 0; @%p1 add.u32 %r1, %r1, 1; @!%p1 add.u32 %r1, %r1, 2; @%p2 add.u32 %r1, %r1, 4; st.global.u32 [%own], %r1;",
        32,
        |t| {
            if t > 3 { 1 } else { 6 }
        },
    );
}

#[test]
fn memory_of_all_spaces() {
    let local = "{ .local .align 8 .b8 frame[16]; mov.b64 %rd1, frame; cvta.local.u64 %rd2, %rd1; st.u32 [%rd2+4], %t; ld.local.u32 %r1, [%rd1+4];\n\
                 st.global.u32 [%own], %r1; }";
    gives(local, 32, |t| t);
    let narrow = "mov.u32 %r1, 0xfffffff0; st.global.u32 [%own], %r1; ld.global.s8 %r2, [%own]; ld.global.u8 %r3, [%own+1]; add.s32 %r4, %r2, %r3; st.global.u32 [%own], %r4;";
    gives(narrow, 32, |_| 0xff - 16);
    let vector = "mov.b64 %rd1, {%t, 5}; mov.b64 {%r1, %r2}, %rd1; mad.lo.u32 %r3, %r1, 10, %r2; st.global.u32 [%own], %r3;";
    gives(vector, 32, |t| 10 * t + 5);
    let atomic = "add.s64 %rd1, %out, 512; atom.global.add.u32 %r1, [%rd1], 1; bar.sync 0; ld.relaxed.gpu.global.u32 %r2, [%rd1]; st.global.u32 [%own], %r2;";
    gives(atomic, 96, |_| 128 + 96);
    let carry = "mov.u64 %rd1, -1; cvt.u64.u32 %rd2, %t; add.cc.u64 %rd3, %rd1, %rd2; addc.u64 %rd4, 0, 0; cvt.u32.u64 %r1, %rd4; st.global.u32 [%own], %r1;";
    gives(carry, 32, |t| u32::from(t > 0));
    gives(
        "cvt.s8.s32 %rs1, %t; cvt.s32.s16 %r1, %rs1; st.global.u32 [%own], %r1;",
        200,
        |t| t as u8 as i8 as i32 as u32,
    );
    finds(
        "st.global.u32 [%own+4096], %t;",
        32,
        FindingKind::OutOfBounds,
    );
    finds("st.shared.u32 [s+1024], %t;", 32, FindingKind::OutOfBounds);
    finds("st.global.u32 [%own+2], %t;", 32, FindingKind::Misaligned);
    // The last element is read by nobody, so it may be what nobody wrote; not so once it is stored.
    let wide = "mad.lo.u32 %r9, %t, 16, 0; cvt.u64.u32 %rd9, %r9; mov.u64 %rd8, s; add.s64 %rd9, %rd9, %rd8; st.shared.v2.u32 [%rd9], {%t, %t}; \
        ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%rd9]; add.u32 %r1, %r1, %r2; st.global.u32 [%own], %r1;";
    gives(wide, 32, |t| 2 * t);
    let used = format!("{wide} st.global.u32 [%own], %r3;");
    finds(&used, 32, FindingKind::UninitialisedShared);
    finds(
        "ld.shared.u32 %r1, [s]; st.global.u32 [%own], %r1;",
        32,
        FindingKind::UninitialisedShared,
    );
}

/// Findings about loaded bytes: none where nothing depends on the byte.
#[test]
fn bytes_count_where_something_depends_on_them() {
    let part = |last: &str| {
        format!(
            "mul.wide.u32 %rd1, %t, 8; mov.u64 %rd2, s; add.s64 %rd1, %rd1, %rd2; st.shared.u32 [%rd1], %t; cvt.u16.u32 %rs1, %t; st.shared.u16 [%rd1+4], %rs1;\n\
             ld.shared.v2.u32 {{%r1, %r2}}, [%rd1]; {last} st.global.u32 [%own], %r3;"
        )
    };
    for last in [
        "add.u32 %r3, %r1, 0;",
        "mov.b32 {%rs2, %rs3}, %r2; cvt.u32.u16 %r3, %rs2;",
        "and.b32 %r3, %r2, 65535;",
        "prmt.b32 %r3, %r2, 0, 0x4410;",
        "cvt.u16.u32 %rs2, %r2; setp.gt.u16 %p1, %rs2, 4; selp.u32 %r3, 1, 0, %p1;",
        "setp.gt.u32 %p1, %t, 100; selp.u32 %r3, %r2, %r1, %p1;",
    ] {
        let ran = run_with(&part(last), 32, 0);
        assert_eq!(ran.kinds, [], "{last}: {}", ran.messages);
    }
    for last in [
        "mov.u32 %r3, %r2;",
        "shr.u32 %r3, %r2, 31;",
        "prmt.b32 %r3, %r2, 0, 0x4413;",
        "setp.eq.u32 %p1, %r2, 12345; selp.u32 %r3, 1, 0, %p1;",
        "setp.gt.u32 %p1, %t, 30; selp.u32 %r3, %r2, %r1, %p1;",
        "mov.u32 %r3, 0; setp.lt.u32 %p1, %r2, 5; @%p1 mov.u32 %r3, 1;",
        "and.b32 %r4, %r2, 0x1000000; shr.u32 %r4, %r4, 22; cvt.u64.u32 %rd3, %r4; add.s64 %rd3, %rd3, %rd2; ld.shared.u8 %r3, [%rd3]; mov.u32 %r3, 0;",
    ] {
        finds(&part(last), 32, FindingKind::UninitialisedShared);
    }
    // A lane loads ahead what another one writes.
    let ahead = |lanes: u32| {
        format!(
            "setp.eq.u32 %p9, %t, 0; @%p9 st.shared.u32 [s], 0; bar.sync 0; ld.shared.u32 %r1, [s]; setp.eq.u32 %p1, %t, 40; @%p1 st.shared.u32 [s], 7;\n\
             setp.ge.u32 %p2, %t, {lanes}; add.u32 %r1, %r1, 5; selp.u32 %r2, 1, %r1, %p2; st.global.u32 [%own], %r2;"
        )
    };
    let ran = run_with(&ahead(0), 64, 0);
    assert_eq!(ran.kinds, [], "{}", ran.messages);
    finds(&ahead(2), 64, FindingKind::SharedRace);
}

const COPY: &str = "mov.u64 %rd1, s; mul.wide.u32 %rd2, %t, 4; add.s64 %rd2, %rd1, %rd2; cp.async.ca.shared.global [%rd2], [%own], 4; cp.async.commit_group;";
const USE: &str = "ld.shared.u32 %r1, [%rd2]; add.u32 %r1, %r1, 1000; st.global.u32 [%own], %r1;";

#[test]
fn copies_land_when_they_are_waited_for() {
    gives(&format!("{COPY} cp.async.wait_group 0; {USE}"), 64, |t| {
        t + 1000
    });
    gives(&format!("{COPY} cp.async.wait_all; {USE}"), 64, |t| {
        t + 1000
    });
    finds(&format!("{COPY} {USE}"), 64, FindingKind::MissingWait);
    finds(
        &format!("{COPY} cp.async.wait_group 1; {USE}"),
        64,
        FindingKind::MissingWait,
    );
    // A second group may stay outstanding.
    let second = "add.s64 %rd3, %rd2, 512; cp.async.ca.shared.global [%rd3], [%own], 4; cp.async.commit_group;";
    gives(
        &format!("{COPY} {second} cp.async.wait_group 1; {USE} cp.async.wait_all;"),
        64,
        |t| t + 1000,
    );
    // Waiting makes the data visible to the thread that waits, not to others.
    let neighbour = "xor.b32 %r9, %t, 1; mul.wide.u32 %rd4, %r9, 4; add.s64 %rd2, %rd1, %rd4;";
    finds(
        &format!("{COPY} cp.async.wait_all; {neighbour} {USE}"),
        64,
        FindingKind::SharedRace,
    );
    gives(
        &format!("{COPY} cp.async.wait_all; bar.sync 0; {neighbour} {USE}"),
        64,
        |t| (t ^ 1) + 1000,
    );
    // What is not copied is filled with zeros.
    let zeros = COPY.replace("[%own], 4", "[%own], 4, 0");
    gives(&format!("{zeros} cp.async.wait_all; {USE}"), 64, |_| 1000);
}

/// Thread 0 asks for a copy of the first 64 words to `s + 16`; thread t adds 1000 to word t of it,
/// behind `wait`.
fn bulk(published: &str, before: &str, expected: u32, size: u32, wait: &str) -> String {
    format!(
        "mov.u64 %rd1, s; add.s64 %rd2, %rd1, 16; setp.ne.u32 %p1, %t, 0; @%p1 bra READY; mbarrier.init.shared.b64 [%rd1], 1; {published}\n\
         READY: bar.sync 0; @%p1 bra ASKED; {before} mbarrier.arrive.expect_tx.shared.b64 %rd5, [%rd1], {expected};\n\
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%rd2], [%out], {size}, [%rd1];\n\
         ASKED: {wait}\n\
         mul.wide.u32 %rd3, %t, 4; add.s64 %rd3, %rd2, %rd3; ld.shared.u32 %r1, [%rd3]; add.u32 %r1, %r1, 1000; st.global.u32 [%own], %r1;"
    )
}

#[test]
fn bulk_copies_land_when_their_mbarrier_has_counted_them() {
    let fence = "fence.proxy.async;";
    let wait = "POLL: mbarrier.try_wait.parity.shared.b64 %p2, [%rd1], 0; @!%p2 bra POLL;";
    gives(&bulk(fence, "", 256, 256, wait), 64, |t| t + 1000);
    let finds = |body: String, kind| finds(&body, 64, kind);
    finds(bulk(fence, "", 256, 256, ""), FindingKind::MissingWait);
    // A barrier of the threads says nothing of the copy.
    finds(
        bulk(fence, "", 256, 256, "bar.sync 0;"),
        FindingKind::MissingWait,
    );
    // More bytes are expected than come.
    finds(bulk(fence, "", 272, 256, wait), FindingKind::StepLimit);
    finds(bulk(fence, "", 252, 252, wait), FindingKind::Misaligned);
    // The mbarrier, and what a thread has written where the copy goes, are known to the copy unit
    // behind a fence of the proxies.
    finds(bulk("", "", 256, 256, wait), FindingKind::MissingProxyFence);
    let store = "st.shared.u32 [%rd2], %t;";
    finds(
        bulk(fence, store, 256, 256, wait),
        FindingKind::MissingProxyFence,
    );
    let fenced = format!("{store} {fence}");
    gives(&bulk("", &fenced, 256, 256, wait), 64, |t| t + 1000);
    // The forms for one memory do not order the other.
    let (shared, global) = (
        "fence.proxy.async.shared::cta;",
        "fence.proxy.async.global;",
    );
    let fenced = format!("{store} {shared}");
    gives(&bulk("", &fenced, 256, 256, wait), 64, |t| t + 1000);
    let other = format!("{store} {global}");
    finds(
        bulk(shared, &other, 256, 256, wait),
        FindingKind::MissingProxyFence,
    );
    // So is what is copied, once a thread has written it.
    let store = "st.global.u32 [%out], %t;";
    gives(
        &bulk(shared, &format!("{store} {global}"), 256, 256, wait),
        64,
        |t| t + 1000,
    );
    finds(
        bulk(shared, &format!("{store} {shared}"), 256, 256, wait),
        FindingKind::MissingProxyFence,
    );
}

/// A split barrier of two warps on an mbarrier, as the lowering writes it.
fn mbarrier(init: &str, sync: &str, arrive: &str, wait: &str) -> String {
    format!(
        "mov.u64 %rd1, s; setp.ne.u32 %p1, %t, 0; @%p1 bra INIT; {init}\nINIT: bar.sync 0;\n\
         mul.wide.u32 %rd2, %t, 4; add.s64 %rd2, %rd1, %rd2; st.shared.u32 [%rd2+64], %t; {sync}\n\
         mov.u32 %r1, %laneid; setp.ne.u32 %p2, %r1, 0; @%p2 bra WAIT; {arrive}\n\
         WAIT: {wait} @!%p3 bra WAIT;\n\
         xor.b32 %r2, %t, 63; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; ld.shared.u32 %r3, [%rd3+64]; st.global.u32 [%own], %r3;"
    )
}

#[test]
fn a_split_barrier_on_an_mbarrier() {
    const INIT: &str = "mbarrier.init.shared.b64 [%rd1], 2;";
    const ARRIVE: &str = "mbarrier.arrive.shared.b64 %rd9, [%rd1];";
    for wait in [
        "mbarrier.test_wait.parity.shared.b64 %p3, [%rd1], 0;",
        "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%rd1], 0;",
    ] {
        gives(
            &mbarrier(INIT, "bar.warp.sync -1;", ARRIVE, wait),
            64,
            |t| t ^ 63,
        );
        finds(
            &mbarrier(INIT, "", ARRIVE, wait),
            64,
            FindingKind::SharedRace,
        );
        finds(
            &mbarrier("", "bar.warp.sync -1;", ARRIVE, wait),
            64,
            FindingKind::BarrierMisuse,
        );
        finds(
            &mbarrier(INIT, "bar.warp.sync -1;", "", wait),
            64,
            FindingKind::StepLimit,
        );
        finds(
            &mbarrier(
                INIT,
                "bar.warp.sync -1;",
                &format!("{ARRIVE} {ARRIVE}"),
                wait,
            ),
            64,
            FindingKind::SharedRace,
        );
    }
    // An arrival when the thread's copies are done.
    let copies = "mbarrier.init.shared.b64 [%rd1], 64;";
    let arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [%rd1];";
    let body = mbarrier(
        copies,
        "cp.async.ca.shared.global [%rd2+512], [%own], 4;",
        "",
        "mbarrier.test_wait.parity.shared.b64 %p3, [%rd1], 0;",
    )
    .replace(
        "mov.u32 %r1, %laneid;",
        &format!("{arrive} mov.u32 %r1, %laneid;"),
    )
    .replace(
        "ld.shared.u32 %r3, [%rd3+64];",
        "ld.shared.u32 %r3, [%rd3+512];",
    );
    gives(&body, 64, |t| t ^ 63);
}

#[test]
fn barriers_are_checked() {
    // Warp 1 ends first: those that are left are all.
    gives(
        "setp.ge.u32 %p1, %t, 32; st.global.u32 [%own], 5; @%p1 exit; bar.sync 0; st.global.u32 [%own], 6;",
        64,
        |t| if t < 32 { 6 } else { 5 },
    );
    finds(
        "setp.ge.u32 %p1, %t, 32; @%p1 exit; bar.sync 1, 64;",
        64,
        FindingKind::Deadlock,
    );
    finds("bar.sync 1, 40;", 64, FindingKind::BarrierMisuse);
    finds("bar.sync 16;", 64, FindingKind::BarrierMisuse);
    finds(
        "setp.ge.u32 %p1, %t, 16; @%p1 bra B; bar.sync 0; bra E;\nB: bar.sync 0;\nE:",
        32,
        FindingKind::BarrierMisuse,
    );
    finds(
        "setp.ge.u32 %p1, %t, 32; @%p1 bra B; bar.sync 1, 64; bra E;\nB: bar.sync 1, 96;\nE:",
        64,
        FindingKind::BarrierMisuse,
    );
    // bar.arrive and bar.sync of the same count: the phase is complete before the second warp's
    // data is there.
    let cluster = "st.shared.u32 [s], %t; barrier.cluster.wait.aligned;";
    finds(cluster, 1, FindingKind::BarrierMisuse);
    let split = "mov.u64 %rd1, s; mul.wide.u32 %rd2, %t, 4; add.s64 %rd2, %rd1, %rd2; st.shared.u32 [%rd2], %t;\n\
                 barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
                 xor.b32 %r2, %t, 63; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; ld.shared.u32 %r3, [%rd3]; st.global.u32 [%own], %r3;";
    gives(split, 64, |t| t ^ 63);
    finds(
        &split.replace("arrive.aligned", "arrive.relaxed.aligned"),
        64,
        FindingKind::SharedRace,
    );
    gives(
        &split.replace(
            "barrier.cluster.arrive.aligned",
            "fence.release.cta; barrier.cluster.arrive.relaxed.aligned",
        ),
        64,
        |t| t ^ 63,
    );
}

#[test]
fn fences_and_relaxed_atomics_order() {
    let message = |release: &str, acquire: &str| {
        format!(
            "mov.u64 %rd1, s; setp.ne.u32 %p1, %t, 0; @%p1 bra READY; st.relaxed.cta.shared.u32 [%rd1], 0;\nREADY: bar.sync 0;\n\
             setp.ge.u32 %p2, %t, 32; @%p2 bra CONSUME; setp.ne.u32 %p3, %t, 0; @%p3 bra DONE;\n\
             st.shared.u32 [%rd1+4], 42; {release} st.relaxed.cta.shared.u32 [%rd1], 1; bra DONE;\n\
             CONSUME: setp.ne.u32 %p4, %t, 32; @%p4 bra DONE;\n\
             SPIN: ld.relaxed.cta.shared.u32 %r1, [%rd1]; setp.eq.u32 %p5, %r1, 0; @%p5 bra SPIN; {acquire}\n\
             ld.shared.u32 %r2, [%rd1+4]; st.global.u32 [%own], %r2;\nDONE:"
        )
    };
    gives(
        &message("fence.acq_rel.cta;", "fence.acq_rel.cta;"),
        64,
        |t| if t == 32 { 42 } else { t },
    );
    finds(
        &message("", "fence.acq_rel.cta;"),
        64,
        FindingKind::SharedRace,
    );
    finds(
        &message("fence.acq_rel.cta;", ""),
        64,
        FindingKind::SharedRace,
    );
}

#[test]
fn what_is_not_known_is_named() {
    let text = finds(
        "wgmma.fence.sync.aligned;",
        32,
        FindingKind::UnsupportedInstruction,
    );
    assert!(text.contains("wgmma.fence.sync.aligned"), "{text}");
    let text = finds(
        "add.frob.s32 %r1, %t, %t;",
        32,
        FindingKind::UnsupportedInstruction,
    );
    assert!(text.contains("add.frob.s32"), "{text}");
    // Only what is reached counts.
    gives(
        "bra END; wgmma.fence.sync.aligned;\nEND: st.global.u32 [%own], 3;",
        32,
        |_| 3,
    );
    finds("trap;", 32, FindingKind::Trap);
    assert!(ptx::kernel("no PTX", None).is_err());
    assert!(ptx::kernel(&kernel("bra NOWHERE;"), None).is_err());
    assert!(ptx::kernel(&kernel(".reg .b32 %x<4000000000>;"), None).is_err());
}

/// A of `mma` holds the row in each element, B ones, so each element of the sum is its row times
/// the depth.
const FACTORS: &str = "shr.u32 %r1, %t, 2; and.b32 %r1, %r1, 7; cvt.rn.f16.u32 %rs1, %r1; mov.b32 %r2, {%rs1, %rs1}; \
                       add.u32 %r3, %r1, 8; cvt.rn.f16.u32 %rs2, %r3; mov.b32 %r4, {%rs2, %rs2}; mov.u32 %r5, 0x3c003c00; mov.u32 %r10, 0;";

#[test]
fn a_warp_multiplies_matrices() {
    let mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r12, %r13, %r14, %r15}, {%r2, %r4, %r2, %r4}, {%r5, %r5}, {%r10, %r10, %r10, %r10};";
    let store = "cvt.rzi.u32.f32 %r6, %r15; st.global.u32 [%own], %r6;";
    gives(&format!("{FACTORS} {mma} {store}"), 32, |t| {
        16 * (t / 4 + 8)
    });
    let half = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r7, %r8}, {%r2, %r4}, {%r5}, {%r9, %r9}; st.global.u32 [%own], %r7;";
    gives(&format!("{FACTORS} mov.u32 %r9, 0; {half}"), 32, |t| {
        let bits = u32::from(half::f16::from_f32(8.0 * (t / 4) as f32).to_bits());
        bits | bits << 16
    });
    let guarded = "setp.lt.u32 %p1, %t, 16; @%p1 ";
    finds(
        &format!("{FACTORS} {guarded} {mma} {store}"),
        32,
        FindingKind::MatrixLanes,
    );
    finds(
        &format!("{FACTORS} {mma} {store}"),
        24,
        FindingKind::MatrixLanes,
    );
    let sparse = mma.replace("mma.sync", "mma.sp.sync");
    finds(
        &format!("{FACTORS} {sparse} {store}"),
        32,
        FindingKind::UnsupportedInstruction,
    );
}

#[test]
fn a_warp_loads_matrices() {
    // Thread t writes its number as two neighbours: row t / 4 of eight rows of sixteen bytes.
    let fill = "mov.u64 %rd1, s; mul.wide.u32 %rd2, %t, 4; add.s64 %rd2, %rd1, %rd2; mad.lo.u32 %r1, %t, 65536, %t; st.shared.u32 [%rd2], %r1; \
                bar.warp.sync -1; and.b32 %r2, %t, 7; mul.wide.u32 %rd3, %r2, 16; add.s64 %rd3, %rd1, %rd3;";
    let load = |modifier: &str| {
        format!(
            "{fill} ldmatrix.sync.aligned.m8n8.x1{modifier}.shared.b16 {{%r3}}, [%rd3]; st.global.u32 [%own], %r3;"
        )
    };
    gives(&load(""), 32, |t| t | t << 16);
    gives(&load(".trans"), 32, |t| {
        let element = |row: u32, column: u32| row * 4 + column / 2;
        let (column, row) = (t / 4, t % 4 * 2);
        element(row, column) | element(row + 1, column) << 16
    });
}

#[test]
fn a_barrier_asks_all_threads() {
    let ask = |ask: &str| {
        format!(
            "setp.lt.u32 %p1, %t, 40; setp.lt.u32 %p2, %t, 96; {ask} st.global.u32 [%own], %r1;"
        )
    };
    let truth = "selp.u32 %r1, 1, 0, %p3;";
    gives(&ask("bar.red.popc.u32 %r1, 0, %p1;"), 96, |_| 40);
    gives(&ask("bar.red.popc.u32 %r1, 0, !%p1;"), 96, |_| 56);
    gives(
        &ask(&format!("bar.red.and.pred %p3, 0, %p1; {truth}")),
        96,
        |_| 0,
    );
    gives(
        &ask(&format!("bar.red.and.pred %p3, 0, %p2; {truth}")),
        96,
        |_| 1,
    );
    gives(
        &ask(&format!("barrier.cta.red.or.pred %p3, 1, 96, %p1; {truth}")),
        96,
        |_| 1,
    );
    let twice = "bar.red.popc.u32 %r1, 0, %p1; bar.red.popc.u32 %r2, 0, %p2; mad.lo.u32 %r1, %r2, 1000, %r1;";
    gives(&ask(twice), 128, |_| 96_040);
}

/// Workgroup `sender` writes 7 and raises a flag by `publish`; the other one waits for the flag by
/// `load` and what is `behind` it, reads, and gives what it read.
fn passing(sender: u32, publish: &str, load: &str, behind: &str) -> String {
    format!(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, {sender}; @%p1 bra send;
        wait: {load} %r2, [%out+804]; setp.ne.u32 %p2, %r2, 1; @%p2 bra wait; {behind}
        ld.global.u32 %r3, [%out+800]; st.global.u32 [%own], %r3; bra end;
        send: st.global.u32 [%out+800], 7; {publish} end:"
    )
}

/// One workgroup waits for a flag of another one, which may begin after it.
#[test]
fn workgroups_wait_for_each_other() {
    let release = "st.release.gpu.global.u32 [%out+804], 1;";
    let fenced = "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%out+804], 1;";
    let acquire = ("ld.acquire.gpu.global.u32", "");
    let then_fenced = ("ld.relaxed.gpu.global.u32", "fence.acq_rel.gpu;");
    for sender in 0..2 {
        for (publish, (load, behind)) in [(release, acquire), (fenced, then_fenced)] {
            let body = passing(sender, publish, load, behind);
            for index in 0..8 {
                let ran = run_groups(&body, 2, 1, index);
                assert_eq!(ran.messages, "", "{body}, schedule {index}");
                assert_eq!(ran.out[0], 7, "{body}, schedule {index}");
            }
        }
    }
}

/// What one workgroup does not publish for the device, another one does not know.
#[test]
fn workgroups_know_what_was_published_alone() {
    let raise = "st.relaxed.gpu.global.u32 [%out+804], 1;";
    let release = "st.release.gpu.global.u32 [%out+804], 1;";
    let late = format!("{release} st.global.u32 [%out+800], 8;");
    let own_fence = format!("fence.acq_rel.cta; {raise}");
    let acquire = ("ld.acquire.gpu.global.u32", "");
    for sender in 0..2 {
        for (publish, (load, behind)) in [
            (raise, acquire),
            (late.as_str(), acquire),
            (own_fence.as_str(), acquire),
            (release, ("ld.relaxed.gpu.global.u32", "fence.acq_rel.cta;")),
        ] {
            let body = passing(sender, publish, load, behind);
            for index in 0..8 {
                let ran = run_groups(&body, 2, 1, index);
                assert_eq!(ran.kinds, [FindingKind::GlobalRace], "{body}");
            }
        }
    }
}

#[test]
fn clocks_grow() {
    let body = "mov.u64 %rd1, %clock64; mov.u32 %r5, %t; mov.u64 %rd2, %globaltimer; sub.s64 %rd3, %rd2, %rd1;
        mov.u32 %r6, %clock_hi; cvt.u32.u64 %r7, %rd3; add.s32 %r7, %r7, %r6; st.global.u32 [%own], %r7;";
    gives(body, 32, |_| 2);
}
