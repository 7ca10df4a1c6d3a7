//! Bodies for the barrier functions, given after the mid-level optimiser has run and inlined at
//! once: `nvptx.rs` has those of NVPTX, `counter.rs` AMDGPU's.

mod counter;
mod nvptx;

use crate::codegen;
use crate::emit::Result;
use crate::emit::barrier::names;
use crate::ffi::{self, Block, Func, RawBuilder, Ty, Value};
use crate::late_functions;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_plan::Target;
use splitbar_plan::target::Arch;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most values that one guard holds.
const MAX_HELD: usize = 256;

/// The passes that inline the bodies, and functions that come late, and drop what is left of them.
fn passes(target: &Target) -> &'static str {
    match target.arch {
        // What a kernel does not ask its launch for is found out once more: before, there were
        // calls in it that might have asked.
        Arch::Amdgpu(_) => "always-inline,globaldce,amdgpu-attributor",
        Arch::Nvptx(_) => "always-inline,globaldce",
    }
}

struct Expansion<'c> {
    context: &'c Context,
    module: ffi::ModuleRef<'c>,
    b: RawBuilder<'c>,
}

/// Gives every barrier function of the module a body, and has LLVM inline them.
///
/// # Errors
/// `Internal` when LLVM or the module lacks what a body needs, or a body was not inlined.
pub(crate) fn expand<'c>(
    context: &'c Context,
    module: &Module<'c>,
    target: &Target,
    machine: &TargetMachine,
) -> std::result::Result<(), Diagnostics> {
    let has_bodies = has_bodies(context, module, target)?;
    let has_late = late_functions::release(context, module)?;
    if has_late || has_bodies {
        codegen::verify(module, "with its barriers expanded")?;
        codegen::run(module, machine, passes(target))?;
        if has_late {
            // They were given the addresses of built-in variables. This pass moves no arithmetic.
            codegen::run(module, machine, "function(sroa)")?;
        }
        none_left(module)?;
    }
    Ok(())
}

/// Whether there was a barrier function; each has a body now.
fn has_bodies<'c>(context: &'c Context, module: &Module<'c>, target: &Target) -> Result<bool> {
    let expansion = Expansion {
        context,
        module: ffi::module_ref(module),
        b: RawBuilder::new(context),
    };
    match &target.arch {
        Arch::Amdgpu(_) => expansion.counter(),
        Arch::Nvptx(gpu) => expansion.nvptx(gpu),
    }
}

/// That LLVM has inlined all the bodies: what it leaves would be compiled for another kernel than
/// its caller.
///
/// # Errors
/// `Internal` with the name of a function that is left.
fn none_left(module: &Module<'_>) -> Result<()> {
    let left = module.get_functions().find_map(|function| {
        let name = function.get_name().to_string_lossy().into_owned();
        (name.starts_with(names::PREFIX) && function.count_basic_blocks() > 0).then_some(name)
    });
    match left {
        None => Ok(()),
        Some(name) => Err(Box::new(Diagnostic::bug(format!("{name} was not inlined")))),
    }
}

fn missing(name: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::bug(format!("{name} is not there")))
}

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

/// The two parameters that each of the counter's functions has.
fn pair<'c>(function: Func<'c>) -> Result<(Value<'c>, Value<'c>)> {
    function
        .param(0)
        .zip(function.param(1))
        .ok_or_else(|| missing("an operand of the counter's functions"))
}

impl<'c> Expansion<'c> {
    /// The declared function, made internal and always inlined; `None` when nothing calls it.
    fn begin(&self, name: &str) -> Option<Func<'c>> {
        let function = ffi::declaration(self.module, name)?;
        function.set_internal();
        function.attribute(self.context, "alwaysinline");
        Some(function)
    }

    fn word(&self) -> Ty<'c> {
        ffi::int_type(self.context, 32)
    }

    fn intrinsic(&self, name: &str, args: &[Value<'c>]) -> Result<Value<'c>> {
        let (id, _) = ffi::intrinsic_id(name).ok_or_else(|| missing(name))?;
        let function = ffi::intrinsic(self.module, id, &[]);
        Ok(self.b.call(function.ty(), function.value(), args))
    }

    fn blocks<const N: usize>(&self, function: Func<'c>) -> [Block<'c>; N] {
        std::array::from_fn(|_| function.append(self.context))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
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
