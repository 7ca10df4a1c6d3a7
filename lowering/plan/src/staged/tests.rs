//! Where the stores of small functions stand.

use super::*;
use Moment::{Copy, Mark, Wait};

const WORD: StagedShape = StagedShape {
    unit: 4,
    rounds: 1,
    units: None,
};

/// Blocks by their edges and moments. The moment at place `i` of block `b` has the offset
/// `100 * b + i`, the end of the block `100 * b + 99`.
fn held(edges: &[(usize, usize)], blocks: &[&[Moment]], shapes: &[StagedShape]) -> Staged {
    let cfg = Cfg::from_edges(blocks.len(), edges);
    let ends: BlockMap<WordOffset> = (0..)
        .map(|block| WordOffset::new(100 * block + 99))
        .take(blocks.len())
        .collect();
    let moments = blocks.iter().zip(0..).map(|(moments, block)| {
        let moments = moments.iter().zip(0..);
        moments
            .map(|(moment, at)| (WordOffset::new(100 * block + at), *moment))
            .collect()
    });
    let timeline = Timeline {
        cfg: &cfg,
        moments: moments.collect(),
        ends: &ends,
        shapes,
    };
    stage(timeline, MOST_REGISTERS)
}

fn stores(staged: &Staged) -> Vec<(u32, Vec<usize>)> {
    let stores = staged.stores.iter();
    stores
        .map(|(offset, slots)| (offset.get(), slots.iter().copied().collect()))
        .collect()
}

#[test]
fn a_store_stands_at_the_wait_that_completes_the_copy() {
    let found = held(
        &[],
        &[&[Copy(0), Mark, Copy(1), Mark, Wait(1), Wait(0), Copy(0)]],
        &[WORD; 2],
    );
    assert_eq!(found.of_copy, [Some(0), Some(1)]);
    assert_eq!(stores(&found), [(4, vec![0]), (5, vec![1])]);
}

#[test]
fn a_loop_stores_what_its_last_turn_has_loaded() {
    // Copies 0 and 1 before the loop, 2 in it: one mark may be outstanding.
    let found = held(
        &[(0, 1), (1, 1), (1, 2)],
        &[
            &[Copy(0), Mark, Copy(1), Mark, Wait(1)],
            &[Copy(2), Mark, Wait(1)],
            &[],
        ],
        &[WORD; 3],
    );
    // The loop's copy shares with the one before it, and is stored when it is made again.
    assert_eq!(found.of_copy, [Some(0), Some(1), Some(1)]);
    assert_eq!(stores(&found), [(4, vec![0]), (100, vec![1])]);
}

#[test]
fn two_copies_of_a_loop_share_with_two_before_it() {
    let found = held(
        &[(0, 1), (1, 1), (1, 2)],
        &[
            &[Copy(0), Copy(1), Mark],
            &[Copy(2), Copy(3), Mark, Wait(1)],
            &[],
        ],
        &[WORD; 4],
    );
    assert_eq!(found.of_copy, [Some(0), Some(1), Some(0), Some(1)]);
    assert_eq!(stores(&found), [(100, vec![0]), (101, vec![1])]);
}

#[test]
fn what_a_loop_stores_once_is_stored_before_it() {
    let other = StagedShape { unit: 8, ..WORD };
    let found = held(
        &[(0, 1), (1, 1), (1, 2)],
        &[&[Copy(0), Mark], &[Copy(1), Mark, Wait(1)], &[]],
        &[other, WORD],
    );
    assert_eq!(found.of_copy, [Some(0), Some(1)]);
    assert_eq!(stores(&found), [(99, vec![0]), (100, vec![1])]);
}

#[test]
fn a_copy_stays_on_its_way_over_a_loop_that_does_not_wait_for_it() {
    let found = held(
        &[(0, 1), (1, 1), (1, 2)],
        &[&[Copy(0), Mark], &[Wait(1)], &[Wait(0), Copy(0)]],
        &[WORD],
    );
    assert_eq!(stores(&found), [(200, vec![0])]);
}

#[test]
fn a_copy_behind_a_branch_is_stored_where_the_paths_meet() {
    let found = held(
        &[(0, 1), (0, 2), (1, 2)],
        &[&[], &[Copy(0), Mark], &[Wait(0), Mark]],
        &[WORD],
    );
    assert_eq!(stores(&found), [(200, vec![0])]);
}

#[test]
fn nothing_is_stored_before_a_return() {
    let cfg = Cfg::from_edges(1, &[]);
    let [copy, mark, wait] = [0, 1, 2].map(WordOffset::new);
    let timeline = Timeline {
        cfg: &cfg,
        moments: BlockMap::from([vec![(copy, Copy(0)), (mark, Mark), (wait, Wait(0))]]),
        ends: &BlockMap::from([wait]),
        shapes: &[WORD],
    };
    assert_eq!(stores(&stage(timeline, MOST_REGISTERS)), []);
}

#[test]
fn what_does_not_fit_is_not_held() {
    let wide = StagedShape {
        unit: 16,
        rounds: 4,
        units: Some(256),
    };
    let found = held(
        &[],
        &[&[Copy(0), Copy(1), Copy(2), Mark, Wait(0), Mark]],
        &[wide, wide, WORD],
    );
    assert_eq!(found.of_copy, [Some(0), None, Some(1)]);
    assert_eq!(stores(&found), [(4, vec![0, 1])]);
}
