//! No access meets a copy in flight, in random functions on random ways; and the machine notices
//! when a wait is gone.

use super::machine::run;
use super::program::Program;
use super::{found, module};
use crate::analysis::testing::declared;
use proptest::prelude::*;

fn check(bytes: &[u8], seed: u64) -> Result<usize, String> {
    let assembled = module("", &Program::from_bytes(bytes));
    let copies = found(&assembled);
    let (declarations, _) = declared(&assembled.module);
    let blocks = &declarations.functions[0].blocks;
    for run_number in 0..16 {
        let (defers, seed) = (run_number >= 8, seed.wrapping_add(run_number % 8));
        run(&assembled, blocks, &copies, defers, seed).map_err(|problem| {
            format!(
                "{problem}\n{defers}\n{copies:?}\n{}",
                Program::from_bytes(bytes)
            )
        })?;
    }
    Ok(copies.copies.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn no_access_meets_a_copy_in_flight(bytes in prop::collection::vec(any::<u8>(), 0..160), seed in any::<u64>()) {
        if let Err(problem) = check(&bytes, seed) {
            prop_assert!(false, "{problem}");
        }
    }
}

/// Without one of its waits, or with one that lets one more mark be outstanding, some run of some
/// function is wrong.
#[test]
fn the_machine_notices_missing_waits() {
    let mut noticed = [0, 0];
    let (mut functions, mut deferred, mut too_many) = (0, 0, 0);
    for number in 0..500u64 {
        let mut state = number.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
        let bytes: Vec<u8> = (0..120)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 24) as u8
            })
            .collect();
        let assembled = module("", &Program::from_bytes(&bytes));
        let copies = found(&assembled);
        let (declarations, _) = declared(&assembled.module);
        let blocks = &declarations.functions[0].blocks;
        functions += usize::from(!copies.copies.is_empty());
        for index in 0..copies.waits.len() {
            let mut without = copies.clone();
            without.waits.remove(index);
            let mut weaker = copies.clone();
            weaker.waits[index].outstanding += 1;
            for (copies, noticed) in [without, weaker].iter().zip(&mut noticed) {
                *noticed += usize::from(
                    (0..20).any(|seed| run(&assembled, blocks, copies, false, seed).is_err()),
                );
            }
        }
        // Nor may any other arrive defer what is waited for there.
        let mut more = copies.clone();
        more.deferred = copies.waits.iter().map(|wait| wait.before).collect();
        deferred += usize::from(more.deferred.iter().any(|at| copies.deferred.contains(at)));
        too_many +=
            usize::from((0..20).any(|seed| run(&assembled, blocks, &more, true, seed).is_err()));
    }
    assert!(deferred >= 8, "{deferred} functions may defer copies");
    assert!(too_many >= 8, "{too_many} functions deferred too many");
    assert!(functions >= 50, "{functions} functions have copies");
    assert!(
        noticed.iter().all(|noticed| *noticed >= 50),
        "{noticed:?} of the changes were noticed"
    );
}
