//! The analysis on whole modules.

use super::*;
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::module::{BlockIndex, WordOffset};
use spirv::Op;

fn analyse(module: &Assembled) -> (Pairing, Diagnostics) {
    let (declarations, constants) = declared(&module.module);
    let mut diagnostics = Diagnostics::new();
    let pairing = Pairing::analyse(
        &declarations,
        &constants,
        &declarations.entry_points[0],
        &mut diagnostics,
    );
    (pairing, diagnostics)
}

fn main(body: &str) -> Assembled {
    assemble(
        "",
        &format!("%main = OpFunction %void 0 %fn\n%start = OpLabel\n{body}\nOpFunctionEnd"),
    )
}

fn kinds(pairing: &Pairing, ids: &[SiteId]) -> Vec<SiteKind> {
    ids.iter()
        .map(|id| pairing.site(*id).unwrap().kind)
        .collect()
}

#[test]
fn a_pair_with_a_barrier_and_a_fence_inside() {
    let module = main(
        "arrive\n%x = OpLoad %uint %cond\nbarrier\nOpMemoryBarrier %group %acquire\n%y = OpLoad %uint %cond\nwait\n%z = OpLoad %uint %cond\nOpReturn",
    );
    let (pairing, diagnostics) = analyse(&module);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(pairing.pairs.len(), 1);
    let pair = &pairing.pairs[0];
    assert_eq!(
        (pair.arrives.as_slice(), pair.waits.as_slice()),
        (&[SiteId(0)][..], &[SiteId(3)][..])
    );
    assert_eq!(
        pair.window,
        [module.offset(Op::Load, 0), module.offset(Op::Load, 1)]
    );
    let open = |op| pairing.open_before(Scope::Workgroup, module.offset(op, 0));
    assert_eq!(open(Op::ControlBarrierArriveINTEL), Open::Never);
    assert_eq!(open(Op::ControlBarrier), Open::Always);
    assert_eq!(open(Op::ControlBarrierWaitINTEL), Open::Always);
    assert_eq!(open(Op::Return), Open::Never);
    assert_eq!(
        pairing.open_before(Scope::Subgroup, module.offset(Op::ControlBarrier, 0)),
        Open::Never
    );
    assert_eq!(
        pairing.reaching_arrives(SiteId(1)),
        [SiteId(0)],
        "the control barrier is inside"
    );
    assert_eq!(
        pairing.reaching_arrives(SiteId(2)),
        [],
        "a fence has no execution scope"
    );
    assert_eq!(pairing.returns, [module.offset(Op::Return, 0)]);
    assert!(
        pairing
            .sites
            .iter()
            .all(|site| site.reachable && !site.conditional)
    );
}

/// if (c) arrive; work; if (c) wait
const TWO_IFS: &str = "
    %c = OpINotEqual %bool %u0 %u1
    OpSelectionMerge %middle 0
    OpBranchConditional %c %first %middle
    %first = OpLabel
    arrive
    OpBranch %middle
    %middle = OpLabel
    %x = OpLoad %uint %cond
    OpSelectionMerge %end 0
    OpBranchConditional %c %second %end
    %second = OpLabel
    wait
    OpBranch %end
    %end = OpLabel
    OpReturn";

#[test]
fn a_pair_under_two_equal_conditions() {
    let module = main(TWO_IFS);
    let (pairing, diagnostics) = analyse(&module);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(pairing.pairs.len(), 1);
    assert!(
        pairing.pairs[0]
            .window
            .contains(&module.offset(Op::Load, 0))
    );
    assert!(
        !pairing.pairs[0]
            .window
            .contains(&module.offset(Op::INotEqual, 0))
    );
    let open = |op, nth| pairing.open_before(Scope::Workgroup, module.offset(op, nth));
    assert_eq!(open(Op::Load, 0), Open::Sometimes);
    assert_eq!(open(Op::ControlBarrierWaitINTEL, 0), Open::Sometimes);
    assert_eq!(
        open(Op::Return, 0),
        Open::Sometimes,
        "conditions are not compared"
    );
    assert!(pairing.sites.iter().all(|site| site.conditional));
}

#[test]
fn scopes_are_independent() {
    let module =
        main("arrive\narrive.sub\n%x = OpLoad %uint %cond\nwait\nwait.sub\narrive.sub\nOpReturn");
    let (pairing, diagnostics) = analyse(&module);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    let shape: Vec<_> = pairing
        .pairs
        .iter()
        .map(|p| {
            (
                p.id.0,
                p.scope,
                p.arrives.len(),
                p.waits.len(),
                p.window.len(),
            )
        })
        .collect();
    assert_eq!(
        shape,
        [
            (0, Scope::Workgroup, 1, 1, 1),
            (1, Scope::Subgroup, 1, 1, 1),
            (2, Scope::Subgroup, 1, 0, 0)
        ]
    );
    let end = module.offset(Op::Return, 0);
    assert_eq!(
        pairing.open_before(Scope::Subgroup, end),
        Open::Always,
        "a dangling arrive"
    );
    assert_eq!(pairing.open_before(Scope::Workgroup, end), Open::Never);
}

#[test]
fn a_pipelined_loop_is_one_pair() {
    let module = main(
        "arrive
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %end %next 0
        OpBranch %next
        %next = OpLabel
        wait
        %x = OpLoad %uint %cond
        arrive
        %y = OpLoad %uint %cond
        OpBranchConditional %true %head %end
        %end = OpLabel
        wait
        OpReturn",
    );
    let (pairing, diagnostics) = analyse(&module);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(pairing.pairs.len(), 1);
    assert_eq!(
        (pairing.pairs[0].arrives.len(), pairing.pairs[0].waits.len()),
        (2, 2)
    );
    assert!(
        pairing.pairs[0]
            .window
            .contains(&module.offset(Op::Load, 1))
    );
    assert!(
        !pairing.pairs[0]
            .window
            .contains(&module.offset(Op::Load, 0))
    );
    assert_eq!(
        kinds(&pairing, pairing.reaching_arrives(SiteId(1))),
        [SiteKind::Arrive, SiteKind::Arrive]
    );
    assert_eq!(pairing.reaching_arrives(SiteId(3)), [SiteId(2)]);
}

#[test]
fn a_wait_without_arrive_is_an_error_and_an_unreachable_one_is_not() {
    let module = main("wait\narrive\nwait\nwait\nOpReturn\n%dead = OpLabel\nwait\nOpReturn");
    let (pairing, diagnostics) = analyse(&module);
    let found: Vec<_> = diagnostics
        .iter()
        .map(|d| (d.code, d.location.word))
        .collect();
    let wait = |nth| Some(module.offset(Op::ControlBarrierWaitINTEL, nth));
    assert_eq!(
        found,
        [
            (Code::WaitWithoutArrive, wait(0)),
            (Code::WaitWithoutArrive, wait(2))
        ]
    );
    assert_eq!(pairing.pairs.len(), 1);
    assert_eq!(
        pairing.sites.iter().filter(|site| !site.reachable).count(),
        1
    );
}

#[test]
fn execution_scopes() {
    let module = main(
        "OpControlBarrierArriveINTEL %u1 %group %release
        OpControlBarrier %u1 %u1 %none
        OpControlBarrier %u7 %u1 %none
        %inv = OpLoad %uint %cond
        OpControlBarrier %inv %u1 %u7
        OpReturn",
    );
    let (pairing, diagnostics) = analyse(&module);
    let codes: Vec<_> = diagnostics.iter().map(|d| d.code).collect();
    use Code::{BadExecutionScope, BadScope, BadSemantics, UnsupportedExecutionScope};
    assert_eq!(
        codes,
        [
            BadExecutionScope,
            UnsupportedExecutionScope,
            BadScope,
            BadScope,
            BadSemantics
        ],
        "{diagnostics}"
    );
    assert!(pairing.sites.is_empty());
}

#[test]
fn a_barrier_of_one_invocation_is_legal() {
    let module = assemble(
        "",
        "%four = OpConstant %uint 4\n%main = OpFunction %void 0 %fn\n%start = OpLabel\nOpControlBarrier %four %four %none\nOpReturn\nOpFunctionEnd",
    );
    let (pairing, diagnostics) = analyse(&module);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(pairing.sites[0].execution, Some(Scope::Invocation));
}

#[test]
fn fences_in_callees_are_sites_and_control_barriers_there_are_not_overlooked() {
    let module = assemble(
        "",
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        arrive
        %r = OpFunctionCall %void %f
        wait
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void 0 %fn
        %fs = OpLabel
        OpMemoryBarrier %group %acquire
        barrier
        OpReturn
        OpFunctionEnd",
    );
    let (pairing, diagnostics) = analyse(&module);
    assert_eq!(
        diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(),
        [Code::Internal]
    );
    assert_eq!(
        pairing
            .sites
            .iter()
            .map(|site| (site.id.0, site.kind))
            .collect::<Vec<_>>(),
        [
            (0, SiteKind::MemoryBarrier),
            (1, SiteKind::Arrive),
            (2, SiteKind::Wait)
        ]
    );
    assert_eq!(pairing.sites[0].function, module.id("f"));
    assert_eq!(pairing.pairs[0].arrives, [SiteId(1)]);
    assert_eq!(
        pairing.open_before(Scope::Workgroup, pairing.sites[0].offset),
        Open::Sometimes
    );
}

#[test]
fn too_many_facts_are_a_limit() {
    // if (c) arrive, time and again: each join has one arrive more.
    let ifs: String = (0..1500)
        .map(|n| format!("OpSelectionMerge %e{n} 0\nOpBranchConditional %true %t{n} %e{n}\n%t{n} = OpLabel\narrive\nOpBranch %e{n}\n%e{n} = OpLabel\n"))
        .collect();
    let (pairing, diagnostics) = analyse(&main(&format!("{ifs}OpReturn")));
    assert_eq!(
        diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(),
        [Code::ModuleTooLarge]
    );
    assert!(pairing.pairs.is_empty());
}

#[test]
fn many_arrives_in_many_blocks_are_none() {
    let blocks: String = (0..20_000)
        .map(|n| {
            format!(
                "arrive\nOpBranch %a{n}\n%a{n} = OpLabel\nwait\nOpBranch %b{n}\n%b{n} = OpLabel\n"
            )
        })
        .collect();
    let (pairing, diagnostics) = analyse(&main(&format!("{blocks}OpReturn")));
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(pairing.pairs.len(), 20_000);
}

#[test]
fn many_waits_share_the_arrives_before_them() {
    let cases = |label: &str, what: &str| {
        let n = 6000;
        let table: String = (0..n).map(|at| format!(" {at} %{label}{at}")).collect();
        let blocks: String = (0..n)
            .map(|at| format!("%{label}{at} = OpLabel\n{what}\nOpBranch %{label}\n"))
            .collect();
        format!(
            "OpSelectionMerge %{label} 0\nOpSwitch %u1 %{label}{table}\n{blocks}%{label} = OpLabel\n"
        )
    };
    let text = format!("{}{}OpReturn", cases("a", "arrive"), cases("w", "wait"));
    let (pairing, diagnostics) = analyse(&main(&text));
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(pairing.pairs.len(), 1);
    assert_eq!(pairing.pairs[0].waits.len(), 6000);
    assert_eq!(pairing.sets.len(), 1, "36,000,000 arrives otherwise");
}

#[test]
fn many_barriers_in_one_block_are_none() {
    let (pairing, diagnostics) = analyse(&main(&format!(
        "{}OpReturn",
        "arrive\nbarrier\nwait\n".repeat(5000)
    )));
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(pairing.pairs.len(), 5000);
}

/// Random functions against all their paths.
mod paths {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::fmt::Write;

    const BLOCKS: usize = 4;

    #[derive(Clone, Debug)]
    struct Shape {
        /// Per block: 0 is a load, 1 an arrive, 2 a wait.
        insts: Vec<Vec<u8>>,
        succs: Vec<Vec<usize>>,
    }

    /// Four blocks of at most three instructions and two successors each; any graph, also with
    /// blocks that control cannot reach.
    fn shape() -> impl Strategy<Value = Shape> {
        let insts = prop::collection::vec(prop::collection::vec(0u8..3, 0..=3), BLOCKS);
        let succs = prop::collection::vec(prop::collection::vec(0..BLOCKS, 0..=2), BLOCKS);
        (insts, succs).prop_map(|(insts, succs)| Shape { insts, succs })
    }

    fn text(shape: &Shape) -> String {
        let mut text = "OpBranch %b0\n".to_owned();
        for (block, (insts, succs)) in shape.insts.iter().zip(&shape.succs).enumerate() {
            writeln!(text, "%b{block} = OpLabel").unwrap();
            for (index, inst) in insts.iter().enumerate() {
                match inst {
                    0 => writeln!(text, "%x{block}_{index} = OpLoad %uint %cond").unwrap(),
                    1 => text.push_str("arrive\n"),
                    _ => text.push_str("wait\n"),
                }
            }
            match succs.as_slice() {
                [] => text.push_str("OpReturn\n"),
                [one] => writeln!(text, "OpBranch %b{one}").unwrap(),
                [one, two, ..] => {
                    writeln!(text, "OpBranchConditional %true %b{one} %b{two}").unwrap()
                }
            }
        }
        text
    }

    /// What paths say: an arrive, a wait and what lies between; and waits that some path comes to
    /// closed.
    #[derive(Default)]
    struct Seen {
        connections: BTreeSet<(WordOffset, WordOffset)>,
        windows: BTreeSet<(WordOffset, WordOffset)>,
        reached: BTreeSet<WordOffset>,
    }

    fn walk(
        function: &Function<'_>,
        cfg: &Cfg,
        block: BlockIndex,
        mut since: Option<(WordOffset, Vec<WordOffset>)>,
        left: usize,
        seen: &mut Seen,
    ) {
        if left == 0 {
            return;
        }
        for inst in &function.block(block).unwrap().insts {
            match SiteKind::from_inst(*inst) {
                Some(SiteKind::Arrive) => since = Some((inst.offset, Vec::new())),
                Some(SiteKind::Wait) => {
                    seen.reached.insert(inst.offset);
                    if let Some((arrive, between)) = since.take() {
                        seen.connections.insert((arrive, inst.offset));
                        seen.windows
                            .extend(between.into_iter().map(|place| (arrive, place)));
                    }
                }
                _ => since
                    .iter_mut()
                    .for_each(|(_, between)| between.push(inst.offset)),
            }
        }
        for succ in cfg.succs(block) {
            walk(function, cfg, *succ, since.clone(), left - 1, seen);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn pairs_and_windows_are_what_paths_give(shape in shape()) {
            let module = main(&text(&shape));
            let (declarations, _) = declared(&module.module);
            let function = declarations.function(module.id("main")).unwrap();
            let (pairing, diagnostics) = analyse(&module);
            let mut seen = Seen::default();
            // From the start to an arrive, from there to a place, from there to a wait: three times
            // the blocks at most.
            walk(function, &Cfg::analyze(&module.module, function), BlockIndex::ENTRY, None, 3 * BLOCKS + 1, &mut seen);
            let offset = |id: &SiteId| pairing.site(*id).unwrap().offset;
            for site in &pairing.sites {
                if site.kind == SiteKind::Wait {
                    let reaching: Vec<WordOffset> = pairing.reaching_arrives(site.id).iter().map(&offset).collect();
                    let expected: Vec<WordOffset> = seen.connections.iter().filter(|(_, wait)| *wait == site.offset).map(|(arrive, _)| *arrive).collect();
                    let refused = diagnostics.iter().any(|d| d.location.word == Some(site.offset));
                    prop_assert_eq!(refused, seen.reached.contains(&site.offset) && expected.is_empty());
                    prop_assert_eq!(reaching, expected);
                }
            }
            let mut arrives = Vec::new();
            for pair in &pairing.pairs {
                let mine: BTreeSet<WordOffset> = pair.arrives.iter().map(&offset).collect();
                let waits: BTreeSet<WordOffset> = pair.waits.iter().map(&offset).collect();
                arrives.extend(mine.iter().copied());
                // A connected component: closed under connections, and one piece.
                for (arrive, wait) in &seen.connections {
                    prop_assert_eq!(mine.contains(arrive), waits.contains(wait));
                }
                let mut piece = BTreeSet::from([*mine.first().unwrap()]);
                loop {
                    let before = piece.len();
                    let links: Vec<_> = seen.connections.iter().filter(|(a, w)| piece.contains(a) || piece.contains(w)).collect();
                    piece.extend(links.into_iter().flat_map(|(a, w)| [*a, *w]));
                    if piece.len() == before {
                        break;
                    }
                }
                prop_assert_eq!(piece, mine.union(&waits).copied().collect::<BTreeSet<_>>());
                let window: BTreeSet<WordOffset> = seen.windows.iter().filter(|(arrive, _)| mine.contains(arrive)).map(|(_, place)| *place).collect();
                prop_assert_eq!(&pair.window, &window.into_iter().collect::<Vec<_>>());
            }
            arrives.sort_unstable();
            let all: Vec<WordOffset> = pairing.sites.iter().filter(|site| site.kind == SiteKind::Arrive).map(|site| site.offset).collect();
            prop_assert_eq!(arrives, all, "every arrive is in one pair");
        }
    }
}

fn between_phases(body: &str) -> bool {
    let (pairing, diagnostics) = analyse(&main(body));
    assert!(diagnostics.is_empty(), "{diagnostics}");
    pairing.barrier_between_phases(Scope::Workgroup)
}

/// A loop whose body is `inside`.
fn looped(before: &str, inside: &str, behind: &str) -> String {
    format!(
        "{before}
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %exit %latch 0
        OpBranch %body
        %body = OpLabel
        {inside}
        %c = OpINotEqual %bool %u0 %u1
        OpBranch %latch
        %latch = OpLabel
        OpBranchConditional %c %head %exit
        %exit = OpLabel
        {behind}
        OpReturn"
    )
}

#[test]
fn a_full_barrier_between_a_wait_and_the_next_arrive() {
    assert!(between_phases("arrive\nwait\nOpReturn"), "no next arrive");
    assert!(!between_phases("arrive\nwait\narrive\nwait\nOpReturn"));
    assert!(between_phases(
        "arrive\nwait\nbarrier\narrive\nwait\nOpReturn"
    ));
    assert!(
        !between_phases("arrive\nbarrier\nwait\narrive\nwait\nbarrier\nOpReturn"),
        "a barrier inside of the pair separates nothing"
    );
    assert!(between_phases(&looped("", "barrier\narrive\nwait", "")));
    assert!(between_phases(&looped("", "arrive\nwait\nbarrier", "")));
    assert!(
        !between_phases(&looped("", "arrive\nwait", "barrier")),
        "the way round the loop has none"
    );
    assert!(!between_phases(&looped("arrive", "wait\narrive", "wait")));
    assert!(
        !between_phases(&looped("", "barrier\narrive\nwait", "arrive\nwait")),
        "the way out of the loop has none"
    );
}

#[test]
fn a_full_barrier_under_a_condition_does_not_separate() {
    let body = |barrier: &str| {
        format!(
            "arrive
            wait
            %c = OpINotEqual %bool %u0 %u1
            OpSelectionMerge %end 0
            OpBranchConditional %c %first %end
            %first = OpLabel
            barrier
            OpBranch %end
            %end = OpLabel
            {barrier}
            arrive
            wait
            OpReturn"
        )
    };
    assert!(!between_phases(&body("")));
    assert!(between_phases(&body("barrier")));
}

#[test]
fn what_stands_in_a_loop_or_in_a_callee_repeats() {
    let module = assemble(
        "",
        "%f = OpFunction %void 0 %fn
         %f_start = OpLabel
         OpMemoryBarrier %group %both
         OpReturn
         OpFunctionEnd
         %main = OpFunction %void 0 %fn
         %start = OpLabel
         barrier
         OpBranch %head
         %head = OpLabel
         arrive
         OpLoopMerge %end %next 0
         OpBranchConditional %true %next %end
         %next = OpLabel
         wait
         OpBranch %head
         %end = OpLabel
         wait
         %called = OpFunctionCall %void %f
         OpReturn
         OpFunctionEnd",
    );
    let (pairing, _) = analyse(&module);
    let repeats: Vec<_> = pairing
        .sites
        .iter()
        .map(|site| (site.kind, site.repeats))
        .collect();
    assert_eq!(
        repeats,
        [
            (SiteKind::MemoryBarrier, true),
            (SiteKind::ControlBarrier, false),
            (SiteKind::Arrive, true),
            (SiteKind::Wait, true),
            (SiteKind::Wait, false),
        ]
    );
}

#[test]
fn a_release_beyond_the_workgroup_is_seen() {
    let releases = |body: &str| {
        let module = main(&format!("{body}\nOpReturn"));
        analyse(&module).0.releases_beyond_workgroup
    };
    assert!(!releases("barrier\nOpMemoryBarrier %group %acquire"));
    // Scope Device is 1.
    assert!(!releases("OpMemoryBarrier %u1 %acquire"));
    assert!(releases("OpMemoryBarrier %u1 %release"));
}

#[test]
fn sites_adjoin_where_nothing_between_them_touches_memory() {
    let module = main(
        "barrier\n%x = OpIAdd %uint %u0 %u1\nOpNop\nOpMemoryBarrier %group %acquire\narrive\n%y = OpLoad %uint %cond\nwait\nOpBranch %next\n%next = OpLabel\nOpMemoryBarrier %group %acquire\nOpReturn",
    );
    let (pairing, diagnostics) = analyse(&module);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    let adjoins: Vec<bool> = pairing.sites.iter().map(|site| site.adjoins).collect();
    assert_eq!(adjoins, [false, true, true, false, false]);
}

/// The call of a function for each element of a matrix cannot be inlined.
#[test]
fn a_barrier_in_a_function_of_elements_is_unsupported() {
    let module = assemble(
        "",
        "%element = OpTypeFunction %uint %uint
        %main = OpFunction %void 0 %fn
        %start = OpLabel
        %x = OpLoad %uint %cond
        %y = OpCooperativeMatrixPerElementOpNV %uint %x %each
        OpReturn
        OpFunctionEnd
        %each = OpFunction %uint 0 %element
        %e = OpFunctionParameter %uint
        %entry = OpLabel
        arrive
        wait
        OpReturnValue %e
        OpFunctionEnd",
    );
    let (pairing, diagnostics) = analyse(&module);
    assert_eq!(pairing.sites, []);
    let found: Vec<_> = diagnostics
        .iter()
        .map(|d| (d.code, d.location.word))
        .collect();
    let at = |op| Some(module.offset(op, 0));
    assert_eq!(
        found,
        [
            (
                Code::UnsupportedInstruction,
                at(Op::ControlBarrierArriveINTEL)
            ),
            (
                Code::UnsupportedInstruction,
                at(Op::ControlBarrierWaitINTEL)
            ),
        ]
    );
}
