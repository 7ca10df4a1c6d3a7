//! Random compute shaders from a seed: arithmetic of all widths, vectors, branches, loops with all
//! kinds of exits, functions, subgroup operations, and exchanges through workgroup memory and
//! storage buffers. The exchanges are ordered by full and split barriers, and by memory barriers
//! next to them. They are free of races by construction.
//!
//! A program is a tree (`Top`, `Statement`, `Expression`). `order` says what its barriers order,
//! and so which programs are free of races; `walk` and `reshape` make programs that are, and
//! [`shrink`] makes them smaller. [`text`] writes one as a module, [`run`] executes it on the host.

mod expression;
mod order;
mod reshape;
mod run;
mod share;
mod shared_text;
mod shrink;
mod sizes;
mod statement;
mod text;
mod tree;
mod walk;

pub use order::flaw;
pub use run::{Memory, run};
pub use shrink::shrink;
pub use sizes::{GROUPS, VARIABLES};
pub use text::text;
pub use tree::Program;
pub use walk::program;

use fastrand::Rng;
use sizes::{SHARED, SLOTS};

/// The operands of all invocations of a program of this seed: two words each.
pub fn inputs(seed: u64, program: &Program) -> Vec<u32> {
    words(!seed, program.size * GROUPS * 2)
}

/// The initial contents of the slots' buffers.
pub fn buffers(seed: u64, program: &Program) -> Vec<u32> {
    let slots = SLOTS - SHARED;
    words(seed ^ 0x5eed, program.size * GROUPS * slots)
}

fn words(seed: u64, count: usize) -> Vec<u32> {
    let mut rng = Rng::with_seed(seed);
    (0..count).map(|_| rng.u32(..)).collect()
}

#[cfg(test)]
mod tests {
    use super::share::Scope;
    use super::tree::Top;
    use super::*;

    /// The number of programs in which each form must occur.
    const PROGRAMS: u64 = 400;

    #[test]
    fn programs_have_all_forms() {
        let mut forms = std::collections::BTreeMap::<String, u32>::new();
        for seed in 0..PROGRAMS {
            let program = program(seed);
            let mut note = |form: &str| *forms.entry(form.to_owned()).or_default() += 1;
            note(&format!("{:?}", program.dialect));
            note(if program.last.is_some() {
                "last"
            } else {
                "no last"
            });
            let mut lists = vec![program.tops.as_slice()];
            while let Some(tops) = lists.pop() {
                for pair in tops.windows(2) {
                    if let [Top::Fence(a), Top::Fence(b)] = pair {
                        note(if a.scope == b.scope {
                            "two alike"
                        } else {
                            "two scopes"
                        });
                    }
                }
                let mut open = false;
                for top in tops {
                    match top {
                        Top::Arrive(Scope::Workgroup, _) => open = true,
                        Top::Wait(Scope::Workgroup, _) if !open => note("wait begins"),
                        Top::Wait(Scope::Workgroup, _) => open = false,
                        Top::Arrive(_, _) => note("subgroup"),
                        Top::Barrier(..) if open => note("barrier in window"),
                        Top::Fence(_) if open => note("fence in window"),
                        Top::Atomic { .. } => note("atomic"),
                        Top::Copy { .. } => note("copy"),
                        Top::EndOdd => note("end"),
                        Top::ByGroup(even, odd) => lists.extend([even.as_slice(), odd]),
                        Top::Inline(body) => {
                            note("function");
                            lists.push(body);
                        }
                        Top::Repeat(_, body) => lists.push(body),
                        _ => {}
                    }
                }
                if open {
                    note("arrive ends");
                }
            }
        }
        for form in [
            "Glsl",
            "Universal",
            "VulkanAccess",
            "VulkanBarrier",
            "last",
            "no last",
            "two alike",
            "two scopes",
            "wait begins",
            "arrive ends",
            "subgroup",
            "barrier in window",
            "fence in window",
            "atomic",
            "copy",
            "end",
            "function",
        ] {
            let count = forms.get(form).copied().unwrap_or(0);
            assert!(count >= 8, "{form}: {count} in {PROGRAMS} programs");
        }
    }

    #[test]
    fn a_smaller_program_still_fails_and_has_nothing_to_spare() {
        // `outline` also says AtomicCounter, a bit of the semantics.
        let has_atomic = |program: &Program| program.outline().contains("Atomic {");
        let large = (0..)
            .map(program)
            .find(has_atomic)
            .unwrap_or_else(|| program(0));
        let small = shrink(&large, has_atomic);
        assert!(has_atomic(&small) && flaw(&small).is_none());
        // The head, the first store, a pair with a fence on either side, and the operation.
        assert!(small.outline().lines().count() <= 7, "{}", small.outline());
        assert!(large.outline().lines().count() > 14, "{}", large.outline());
    }
}
