//! Pipelines as people write them, and random graphs against an execution of all their paths.

use super::*;
use crate::module::{BlockIndex, BlockMap};
use proptest::prelude::*;
use std::collections::VecDeque;

const A: Group = Group(0);
const B: Group = Group(1);
const C: Group = Group(2);

fn need(group: Group) -> Event {
    Event::Need(vec![group])
}

/// One wait per need, in order of blocks and places.
fn waits(cfg: &Cfg, events: &BlockMap<Vec<Event>>, moves: &[Move]) -> Vec<Wait> {
    solve(cfg, events, moves).waits.into_values().collect()
}

#[test]
fn groups_are_waited_for_one_by_one() {
    // As the example of uneven groups in LLVM's document: how many copies a group has plays no
    // part.
    use Event::{Copy, Mark};
    let events = BlockMap::from([vec![
        Copy(A),
        Copy(A),
        Copy(A),
        Mark,
        Copy(B),
        Mark,
        Copy(C),
        Copy(C),
        Mark,
        need(A),
        need(C),
        need(B),
    ]]);
    let cfg = Cfg::from_edges(1, &[]);
    // B is complete when C is.
    let expected = [Wait::AtMost(2), Wait::AtMost(0), Wait::Nothing];
    assert_eq!(waits(&cfg, &events, &[]), expected);
}

/// A ring of `depth` stages: `depth - 1` copies ahead of the loop, in it one more for each that is
/// needed. The events move on by one per turn.
fn ring(depth: u32) -> (Cfg, BlockMap<Vec<Event>>, Vec<Move>) {
    let cfg = Cfg::from_edges(3, &[(0, 1), (1, 1), (1, 2)]);
    // 0.. are the copies of the prologue, 100.. the events in the loop, 200 the loop's own copy.
    let ahead = depth - 1;
    let prologue = (0..ahead).flat_map(|n| [Event::Copy(Group(n)), Event::Mark]);
    let turn = vec![Event::Copy(Group(200)), Event::Mark, need(Group(100))];
    let epilogue = (0..ahead).map(|n| need(Group(100 + n + 1)));
    let moves = (0..ahead)
        .map(|n| Move {
            block: BlockIndex::new(1),
            to: Group(100 + n),
            from: vec![
                (BlockIndex::ENTRY, Group(n)),
                (
                    BlockIndex::new(1),
                    Group(if n + 1 < ahead { 100 + n + 1 } else { 200 }),
                ),
            ],
        })
        .collect();
    // Behind the loop the last copy goes by its own name.
    let epilogue = epilogue
        .map(|event| {
            if event == need(Group(100 + ahead)) {
                need(Group(200))
            } else {
                event
            }
        })
        .collect();
    (
        cfg,
        BlockMap::from([prologue.collect(), turn, epilogue]),
        moves,
    )
}

#[test]
fn a_pipeline_waits_for_its_oldest_stage() {
    for depth in 2..40 {
        let (cfg, events, moves) = ring(depth);
        let marks = solve(&cfg, &events, &moves);
        let n = u8::try_from(depth - 1).unwrap();
        let mut expected = vec![Wait::AtMost(n)];
        expected.extend((0..n).rev().map(Wait::AtMost));
        assert_eq!(
            marks.waits.into_values().collect::<Vec<_>>(),
            expected,
            "depth {depth}"
        );
        assert!(marks.dead_marks.is_empty());
    }
}

#[test]
fn what_no_name_tells_apart_is_waited_for_at_once() {
    // One name for the copies of all iterations: the newest may be the one that is needed.
    let cfg = Cfg::from_edges(3, &[(0, 1), (1, 1), (1, 2)]);
    let turn = vec![Event::Copy(A), Event::Mark, need(A)];
    let events = BlockMap::from([vec![Event::Copy(A), Event::Mark], turn, vec![need(A)]]);
    let expected = [Wait::AtMost(0), Wait::Nothing];
    assert_eq!(waits(&cfg, &events, &[]), expected);
}

#[test]
fn the_path_with_the_fewest_marks_decides() {
    // if (c) { copy B; mark }, on one side only.
    let cfg = Cfg::from_edges(3, &[(0, 1), (0, 2), (1, 2)]);
    let events = BlockMap::from([
        vec![Event::Copy(A), Event::Mark],
        vec![Event::Copy(B), Event::Mark],
        vec![need(A)],
    ]);
    assert_eq!(waits(&cfg, &events, &[]), [Wait::AtMost(0)]);
}

#[test]
fn a_copy_without_a_mark_asks_for_one() {
    let cfg = Cfg::from_edges(1, &[]);
    let events = BlockMap::from([vec![
        Event::Copy(A),
        Event::Mark,
        Event::Copy(A),
        need(A),
        need(A),
    ]]);
    assert_eq!(waits(&cfg, &events, &[]), [Wait::Unmarked, Wait::Nothing]);
}

fn place(block: usize, index: usize) -> EventPlace {
    (BlockIndex::new(block), index)
}

#[test]
fn a_mark_that_nobody_waits_for_is_dead() {
    let cfg = Cfg::from_edges(3, &[(0, 1), (0, 2)]);
    let events = BlockMap::from([
        vec![Event::Copy(A), Event::Mark],
        vec![need(A), Event::Copy(B), Event::Mark],
        vec![Event::Copy(B), Event::Mark],
    ]);
    let marks = solve(&cfg, &events, &[]);
    assert_eq!(marks.dead_marks, BTreeSet::from([place(1, 2), place(2, 1)]));
}

#[test]
fn the_callee_of_the_document() {
    // foo() has a mark that its own waits never count: without it, the caller does not wait for
    // more once foo is inlined.
    let cfg = Cfg::from_edges(1, &[]);
    let foo = prune(&cfg, &BlockMap::from([vec![Tick::Mark]]));
    assert_eq!(foo.marks, BTreeSet::from([place(0, 0)]));
    let bar = prune(
        &cfg,
        &BlockMap::from([vec![Tick::Mark, Tick::Mark, Tick::Wait(1), Tick::Wait(1)]]),
    );
    assert_eq!(
        (bar.marks.len(), bar.waits),
        (0, BTreeSet::from([place(0, 3)]))
    );
}

#[test]
fn where_the_sequence_is_the_invocations_a_call_counts() {
    let cfg = Cfg::from_edges(1, &[]);
    let callee = BlockMap::from([vec![
        Tick::Unknown,
        Tick::Wait(2),
        Tick::Mark,
        Tick::Unknown,
    ]]);
    assert_eq!(prune(&cfg, &callee), Pruned::default());
}

#[test]
fn more_marks_than_are_counted() {
    let cfg = Cfg::from_edges(1, &[]);
    let mut events = vec![Event::Copy(A)];
    events.extend((0..200).map(|_| Event::Mark));
    events.push(need(A));
    assert_eq!(
        waits(&cfg, &BlockMap::from([events]), &[]),
        [Wait::AtMost(MAX_MARKS - 1)]
    );
    let mut ticks = vec![Tick::Mark; 200];
    ticks.push(Tick::Wait(180));
    assert!(
        prune(&cfg, &BlockMap::from([ticks])).waits.is_empty(),
        "200 marks are more than 180"
    );
}

#[test]
fn too_many_groups_count_as_one() {
    let blocks = 5_000;
    let edges: Vec<_> = (1..blocks).map(|to| (to - 1, to)).collect();
    let mut events: BlockMap<_> = (0..blocks)
        .map(|block| vec![Event::Copy(Group(block as u32)), Event::Mark])
        .collect();
    events[BlockIndex::new(blocks - 1)].push(need(A));
    let cfg = Cfg::from_edges(blocks, &edges);
    assert!(blocks * blocks > LIMIT);
    assert_eq!(waits(&cfg, &events, &[]), [Wait::AtMost(0)]);
}

const BLOCKS: usize = 4;
const GROUPS: u32 = 3;

/// Graphs of four blocks (any edges, at most two from a block), up to four events in each, and
/// moves that fit.
fn problem() -> impl Strategy<Value = (Cfg, BlockMap<Vec<Event>>, Vec<Move>)> {
    let group = || (0..GROUPS).prop_map(Group);
    let event = prop_oneof![
        3 => group().prop_map(Event::Copy),
        3 => Just(Event::Mark),
        3 => prop::collection::vec(group(), 1..3).prop_map(Event::Need),
        1 => Just(Event::NeedAll),
    ];
    let block = || (0..BLOCKS).prop_map(BlockIndex::new);
    let succs = prop::collection::vec(prop::collection::vec(0..BLOCKS, 0..=2), BLOCKS);
    let events = prop::collection::vec(prop::collection::vec(event, 0..5), BLOCKS);
    let given = (
        block(),
        group(),
        prop::collection::vec((block(), group()), 0..3),
    );
    let moves = prop::collection::vec(given, 0..3);
    (succs, events, moves).prop_map(|(succs, events, moves)| {
        let edges: Vec<_> = succs
            .iter()
            .enumerate()
            .flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
            .collect();
        let mut known = BTreeSet::new();
        let moves = moves
            .into_iter()
            .filter(|(block, to, _)| known.insert((*block, *to)))
            .map(|(block, to, from)| Move {
                block,
                to,
                // One name per predecessor.
                from: BTreeMap::from_iter(from).into_iter().collect(),
            })
            .collect();
        (Cfg::from_edges(BLOCKS, &edges), events.into(), moves)
    })
}

/// Ages are not told apart above this in the execution.
const CAP: u8 = 12;

/// What an execution knows at a place. Ages count all marks, or those that are left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    /// Per group: marks made since its newest copy; none when a need has asked for it since.
    age: Vec<Option<u8>>,
    /// The same with dead marks left out; none when some wait has completed it. `Some(0)` for a
    /// copy with no mark behind it.
    pending: Vec<Option<u8>>,
    /// Marks that no wait has completed.
    outstanding: u8,
}

/// Executes all paths from the entry; calls `at` at each need with what holds before it and after
/// its wait.
fn execute(
    cfg: &Cfg,
    events: &BlockMap<Vec<Event>>,
    moves: &[Move],
    marks: &Marks,
    mut at: impl FnMut(EventPlace, &Run, &Run),
) {
    let start = Run {
        age: vec![None; GROUPS as usize],
        pending: vec![None; GROUPS as usize],
        outstanding: 0,
    };
    let mark = |run: &mut Run| {
        for age in run.pending.iter_mut().flatten() {
            *age = (*age + 1).min(CAP);
        }
        run.outstanding = (run.outstanding + 1).min(CAP);
    };
    let mut seen = BTreeSet::from([(BlockIndex::ENTRY, start.clone())]);
    let mut work = VecDeque::from([(BlockIndex::ENTRY, start)]);
    while let Some((block, mut run)) = work.pop_front() {
        for (index, event) in events[block].iter().enumerate() {
            let place = (block, index);
            match event {
                Event::Copy(group) => {
                    run.age[group.0 as usize] = Some(0);
                    run.pending[group.0 as usize] = Some(0);
                }
                Event::Mark => {
                    for age in run.age.iter_mut().flatten() {
                        *age = (*age + 1).min(CAP);
                    }
                    if !marks.dead_marks.contains(&place) {
                        mark(&mut run);
                    }
                }
                Event::Need(_) | Event::NeedAll => {
                    let before = run.clone();
                    let allowed = match marks.waits[&place] {
                        Wait::Nothing => None,
                        Wait::AtMost(allowed) => Some(allowed),
                        Wait::Unmarked => {
                            mark(&mut run);
                            Some(0)
                        }
                    };
                    if let Some(allowed) = allowed {
                        for pending in &mut run.pending {
                            *pending = pending.filter(|age| *age <= allowed);
                        }
                        run.outstanding = run.outstanding.min(allowed);
                    }
                    at(place, &before, &run);
                    match event {
                        Event::Need(groups) => {
                            groups
                                .iter()
                                .for_each(|group| run.age[group.0 as usize] = None);
                        }
                        _ => run.age.fill(None),
                    }
                }
            }
        }
        for succ in cfg.succs(block) {
            let mut next = run.clone();
            for given in moves.iter().filter(|given| given.block == *succ) {
                let from = given.from.iter().find(|(pred, _)| *pred == block);
                let of = |ages: &[Option<u8>]| from.and_then(|(_, group)| ages[group.0 as usize]);
                next.age[given.to.0 as usize] = of(&run.age);
                next.pending[given.to.0 as usize] = of(&run.pending);
            }
            if seen.insert((*succ, next.clone())) {
                work.push_back((*succ, next));
            }
        }
    }
}

fn needed(event: &Event) -> Vec<usize> {
    match event {
        Event::Need(groups) => groups.iter().map(|group| group.0 as usize).collect(),
        _ => (0..GROUPS as usize).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]
    #[test]
    fn waits_are_enough_and_no_more_than_that((cfg, events, moves) in problem()) {
        let marks = solve(&cfg, &events, &moves);
        let mut least: BTreeMap<EventPlace, Option<u8>> = BTreeMap::new();
        let mut most: BTreeMap<EventPlace, u8> = BTreeMap::new();
        let mut missed = Vec::new();
        execute(&cfg, &events, &moves, &marks, |place, before, after| {
            let groups = needed(&events[place.0][place.1]);
            // Enough: with the dead marks gone and the idle waits left out, what is needed is
            // complete.
            missed.extend(groups.iter().filter(|group| after.pending[**group].is_some()).map(|_| place));
            let age = groups.iter().filter_map(|group| before.age[*group]).min();
            let known: &mut Option<u8> = least.entry(place).or_insert(None);
            *known = (*known).into_iter().chain(age).min();
            let most = most.entry(place).or_default();
            *most = (*most).max(before.outstanding);
        });
        prop_assert!(missed.is_empty(), "not complete at {missed:?}: {marks:?}");
        prop_assert_eq!(marks.waits.keys().collect::<Vec<_>>(), least.keys().collect::<Vec<_>>());
        // No more: the least age on any path, unless nothing can be outstanding that such a wait
        // would wait for.
        for (place, wait) in &marks.waits {
            let exact = match least[place] {
                None => Wait::Nothing,
                Some(0) => Wait::Unmarked,
                Some(age) => Wait::AtMost(age - 1),
            };
            match (wait, exact) {
                (Wait::Nothing, Wait::AtMost(allowed)) => prop_assert!(most[place] <= allowed),
                (Wait::AtMost(allowed), exact) => {
                    prop_assert_eq!(Wait::AtMost(*allowed), exact);
                    prop_assert!(most[place] > *allowed, "it never blocks: {place:?}");
                }
                (wait, exact) => prop_assert_eq!(*wait, exact),
            }
        }
    }
}
