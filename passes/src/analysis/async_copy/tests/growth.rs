//! Large functions cost about as much for each of their parts as small ones.

use super::{copy, found, module, read};
use std::time::{Duration, Instant};

/// A name, and what writes a part.
type Shape = (&'static str, fn(usize) -> String);

/// On a machine that is busy; a square law would make it ten.
const MOST_GROWTH: f64 = 6.0;

/// The least time that the function with `parts` parts takes.
fn time(part: impl Fn(usize) -> String, parts: usize) -> Duration {
    let body: String = (0..parts).map(part).collect();
    let assembled = module("", &format!("OpStore %i %u0\nOpStore %stage %u0\n{body}"));
    let runs = (0..2).map(|_| {
        let start = Instant::now();
        let copies = found(&assembled);
        assert!(!copies.copies.is_empty());
        start.elapsed()
    });
    runs.min().unwrap()
}

/// Copies into single rows and into stages, each published by a barrier.
fn straight(part: usize) -> String {
    let tag = format!("s{part}");
    copy(&tag, &format!("%ring %u{}", part % 4)) + "barrier\n" + &read(&tag, "%ring %u0")
}

/// Loops that go around the ring without a known end.
fn ring(part: usize) -> String {
    let t = format!("r{part}");
    let mut text = format!(
        "OpBranch %header{t}\n%header{t} = OpLabel\nOpLoopMerge %exit{t} %next{t} 0\nOpBranch %test{t}\n%test{t} = OpLabel\n"
    );
    text += &format!(
        "%in{t} = OpAccessChain %global_uint %source %u0 %u7\n%limit{t} = OpLoad %uint %in{t}\n%turn{t} = OpLoad %uint %i\n"
    );
    text += &format!(
        "%holds{t} = OpULessThan %bool %turn{t} %limit{t}\nOpBranchConditional %holds{t} %body{t} %exit{t}\n%body{t} = OpLabel\n"
    );
    text += &format!("%use{t} = OpUMod %uint %turn{t} %u4\nbarrier\n");
    text += &copy(&t, &format!("%ring %use{t}"));
    text += &format!(
        "OpBranch %next{t}\n%next{t} = OpLabel\n%new{t} = OpIAdd %uint %turn{t} %u1\nOpStore %i %new{t}\n"
    );
    text + &format!("OpBranch %header{t}\n%exit{t} = OpLabel\n")
}

#[test]
fn time_for_each_part_stays_about_the_same() {
    let shapes: [Shape; 2] = [("straight", straight), ("rings", ring)];
    for (name, part) in shapes {
        let [small, large] = [100, 1000].map(|parts| {
            let time = time(part, parts);
            println!("{name}: {parts} parts in {time:?}");
            time.as_secs_f64() / parts as f64
        });
        assert!(
            large / small < MOST_GROWTH,
            "{name}: {:.1} times as much for each part",
            large / small
        );
    }
}
