//! Values that a window leaves: computed before a call that ends it, and used after it.

use crate::ffi::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most values that one guard holds.
const MAX_HELD: usize = 256;

/// The values that the window before each of `calls` leaves, by call: what was computed before it
/// in its block and is used behind it, in order. Phis are among them: they stand for what was
/// computed, or loaded, under a condition that ends before the call. Every block is walked once,
/// however many of the calls it has.
pub(crate) fn leaving<'c>(calls: &[Value<'c>]) -> HashMap<Value<'c>, Vec<Value<'c>>> {
    let wanted: HashSet<Value<'c>> = calls.iter().copied().collect();
    let mut done = HashSet::new();
    let blocks = calls.iter().map(|call| call.block());
    blocks
        .filter(|block| done.insert(*block))
        .flat_map(|block| leaving_in_block(&block.instructions(), &wanted))
        .collect()
}

/// As [`leaving`], for those of `calls` that are among the `instructions` of one block.
fn leaving_in_block<'c>(
    instructions: &[Value<'c>],
    calls: &HashSet<Value<'c>>,
) -> Vec<(Value<'c>, Vec<Value<'c>>)> {
    let places: HashMap<Value<'c>, usize> = instructions.iter().copied().zip(0..).collect();
    // The values that are used further on, by place, and which of them have their last use at each
    // place.
    let mut live = BTreeMap::new();
    let mut ends: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut left = Vec::new();
    for (place, value) in instructions.iter().copied().enumerate() {
        if calls.contains(&value) {
            left.push((value, live.values().copied().take(MAX_HELD).collect()));
        }
        for ended in ends.remove(&place).unwrap_or_default() {
            live.remove(&ended);
        }
        if !can_be_held(value) {
            continue;
        }
        // A phi of the block is one of the next iteration.
        let here = |user: &Value<'c>| places.get(user).copied().filter(|_| !user.is_phi());
        let uses: Option<Vec<usize>> = value.users().iter().map(here).collect();
        match uses.map(|uses| uses.into_iter().max()) {
            Some(None) => {}
            Some(Some(last)) => {
                live.insert(place, value);
                ends.entry(last).or_default().push(place);
            }
            None => {
                live.insert(place, value);
            }
        }
    }
    left
}

fn can_be_held(value: Value<'_>) -> bool {
    let ty = value.ty();
    (ty.is_int() || ty.is_float()) && matches!(ty.scalar_bits(), 16 | 32 | 64)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::ffi;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use pretty_assertions::assert_eq;
    use splitbar_harness::cpu_time;
    use std::fmt::Write;
    use std::time::Duration;

    /// What [`leaving`] says of one call, by its definition.
    fn leaving_one<'c>(call: Value<'c>) -> Vec<Value<'c>> {
        let all = call.block().instructions();
        let earlier: Vec<_> = all.into_iter().take_while(|value| *value != call).collect();
        let leaves = |value: &Value<'c>| {
            let behind = |user: &Value<'c>| user.is_phi() || !earlier.contains(user);
            can_be_held(*value) && value.users().iter().any(behind)
        };
        let left = earlier.iter().copied().filter(leaves);
        left.take(MAX_HELD).collect()
    }

    /// Does `with` to the calls of `@close` in a function that has `body`.
    fn calls<R>(body: &str, with: impl FnOnce(&[Value<'_>]) -> R) -> R {
        let context = Context::create();
        let text = format!(
            "declare void @close()\ndefine void @f(i32 %p, ptr %to) {{\nentry:\n br label %loop\n{body}}}\n\0"
        );
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        let close = ffi::declaration(ffi::module_ref(&module), "close").unwrap();
        with(&close.value().users())
    }

    #[test]
    fn what_a_window_leaves() {
        let body = "loop:
 %phi = phi i32 [ %p, %entry ], [ %next, %loop ]
 %unused = add i32 %p, 1
 %before = add i32 %p, 2
 %narrow = icmp eq i32 %p, 3
 call void @close()
 %inside = add i32 %before, %phi
 %across = add i32 %inside, 4
 call void @close()
 %sum = add i32 %across, %across
 %next = add i32 %sum, 5
 call void @close()
 store i32 %across, ptr %to
 br i1 %narrow, label %loop, label %done
done:
 call void @close()
 store i32 %sum, ptr %to
 call void @close()
 ret void
";
        calls(body, |calls| {
            let left = leaving(calls);
            let counts: Vec<usize> = calls.iter().rev().map(|call| left[call].len()).collect();
            // `before` and `phi`; `across`; `across`, `sum` and `next`; nothing in the other block.
            assert_eq!(counts, [2, 1, 3, 0, 0]);
            for call in calls {
                assert_eq!(left[call], leaving_one(*call));
            }
        });
    }

    /// A value of each call that the next one finds, and one that is used at the end.
    fn many(count: usize) -> String {
        let mut body = "loop:\n".to_owned();
        for at in 0..count {
            let _ = write!(
                body,
                " %a{at} = add i32 %p, {at}\n call void @close()\n store i32 %a{at}, ptr %to\n"
            );
        }
        body + " ret void\n"
    }

    #[test]
    fn time_for_each_window_stays_about_the_same() {
        let [small, large] = [500, 10_000].map(|count| {
            calls(&many(count), |calls| {
                let mut least = Duration::MAX;
                for _ in 0..3 {
                    let (left, took) = cpu_time(|| leaving(calls));
                    assert!(left.values().all(|left| left.len() == 1));
                    least = least.min(took);
                }
                least.as_secs_f64() / count as f64
            })
        });
        // A square law would make it twenty.
        assert!(large / small < 10.0, "{:.1} times as much", large / small);
    }
}
