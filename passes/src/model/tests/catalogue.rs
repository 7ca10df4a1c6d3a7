//! Which protocols are right in which use, for two to four waves.

use crate::model::catalogue::{self, Known};
use crate::model::protocol::Usage;
use crate::model::{Verdict, explore};
use expect_test::expect;

/// Waves and phases that are explored.
const SIZES: [(u8, u8); 3] = [(2, 4), (3, 3), (4, 3)];

/// What holds for all sizes, or what goes wrong in the smallest where something does.
fn verdict(known: Known, usage: Usage) -> Verdict {
    SIZES
        .into_iter()
        .map(|(waves, phases)| explore(&usage.system(&known, waves, phases)).verdict)
        .find(|verdict| *verdict != Verdict::Proved)
        .unwrap_or(Verdict::Proved)
}

#[test]
fn the_table() {
    let mut table = String::new();
    for known in catalogue::ALL {
        let verdicts: Vec<&str> = Usage::ALL
            .iter()
            .map(|usage| match verdict(*known, *usage) {
                Verdict::Undefined { axiom, .. } => axiom.name(),
                other => other.name(),
            })
            .collect();
        table += &format!("{}: {}\n", known.name, verdicts.join(", "));
    }
    expect![[r#"
        fused at the wait: proved, proved, proved, proved, proved, deadlock, proved
        fused at the arrive: proved, proved, proved, proved, proved, proved, deadlock
        `bar.arrive` and `bar.sync` on one barrier, count N: early, early, proved, early, early, early, early
        `bar.arrive` and `bar.sync` on one barrier, count 2N: proved, proved, proved, deadlock, CompleteAtEnd, deadlock, proved
        named barrier per warp, one set: deadlock, proved, deadlock, deadlock, deadlock, proved, proved
        named barrier per warp, two sets: proved, proved, proved, deadlock, CompleteAtEnd, proved, proved
        named barrier per group, one set: deadlock, proved, deadlock, deadlock, deadlock, deadlock, proved
        named barrier per group, two sets: proved, proved, proved, deadlock, CompleteAtEnd, deadlock, proved
        counter, target raised at the arrive: proved, proved, proved, proved, proved, proved, proved
        counter, target raised at the wait: proved, proved, proved, early, proved, proved, proved
        counter, reset after use: deadlock, deadlock, deadlock, early, deadlock, deadlock, deadlock
        counter with named wake-ups: proved, proved, proved, deadlock, CompleteAtEnd, proved, proved
        mbarrier, parity tracked: proved, proved, proved, early, proved, proved, proved
        mbarrier, parity not flipped: early, early, deadlock, early, early, proved, proved
        signal and wait on the workgroup barrier: proved, proved, early, early, CompleteBeforeDrop, proved, proved
        named barrier object, init published: proved, proved, proved, early, proved, proved, proved
        named barrier object, init not published: Initialised, Initialised, Initialised, Initialised, Initialised, Initialised, Initialised
        cluster of one CTA: proved, proved, proved, early, proved, proved, proved
    "#]].assert_eq(&table);
}
