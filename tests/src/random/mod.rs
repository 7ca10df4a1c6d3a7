//! Random compute shaders from a seed: arithmetic of all widths, vectors, branches, loops and the
//! ways out of them, functions, subgroup operations, and exchanges through workgroup memory and
//! storage buffers, ordered by barriers in one piece and split and by memory barriers beside them.
//! They are free of races by construction.
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
mod statement;
mod text;
mod walk;

pub use order::flaw;
pub use run::{Memory, run};
pub use shrink::shrink;
pub use text::text;
pub use walk::program;

use fastrand::Rng;
use share::{Access, Atomic, Count, Fence, Index, Scope, When};
use statement::Statement;
pub(crate) use statement::{Expression, Leave, Operation};

/// Variables of an invocation.
pub const VARIABLES: usize = 6;
/// Elements of an invocation's array.
pub(crate) const ARRAY: u32 = 8;
/// Workgroups.
pub const GROUPS: usize = 2;
/// Arrays of workgroup memory: slots 0 to `SHARED - 1`. Each has a word for every invocation.
pub(crate) const SHARED: usize = 3;
/// All slots. Those from `SHARED` on are storage buffers, in which each workgroup has its own part.
pub(crate) const SLOTS: usize = 6;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Invocations of a workgroup.
    pub size: usize,
    /// Which rules the module follows.
    pub(crate) dialect: Dialect,
    /// Push constants: how often loops are run.
    pub counts: [u32; 4],
    /// What the invocations of a workgroup do, one thing after the other.
    pub(crate) tops: Vec<Top>,
    /// What happens to the last workgroup that comes to the end.
    pub(crate) last: Option<Last>,
    /// Functions; each calls only those before it.
    pub(crate) functions: Vec<Function>,
}

impl Program {
    /// What the invocations of a workgroup do, a line for each thing.
    pub fn outline(&self) -> String {
        let mut lines = format!(
            "{} invocations, {:?}, counts {:?}\n",
            self.size, self.dialect, self.counts
        );
        outline(&self.tops, 1, &mut lines);
        if let Some(last) = &self.last {
            lines += &format!("  {last:?}\n");
        }
        lines
    }

    /// Whether it is valid in Vulkan.
    pub fn is_for_vulkan(&self) -> bool {
        self.dialect != Dialect::Universal
    }
}

fn outline(tops: &[Top], depth: usize, lines: &mut String) {
    let indent = "  ".repeat(depth);
    for top in tops {
        let (name, parts) = match top {
            Top::ByGroup(even, odd) => ("by group".to_owned(), vec![even, odd]),
            Top::Repeat(count, body) => (format!("repeat {count:?}"), vec![body]),
            Top::Inline(body) => ("function".to_owned(), vec![body]),
            top => (format!("{top:?}"), Vec::new()),
        };
        *lines += &format!("{indent}{name}\n");
        for part in parts {
            *lines += &format!("{indent} {{\n");
            outline(part, depth + 1, lines);
            *lines += &format!("{indent} }}\n");
        }
    }
}

/// Which rules a module follows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The memory model GLSL450, in Vulkan: accesses have no marks.
    Glsl,
    /// The same, with orders that SPIR-V has and Vulkan forbids.
    Universal,
    /// Vulkan's memory model; each access makes available or visible what it accesses.
    VulkanAccess,
    /// Vulkan's memory model; the barriers do.
    VulkanBarrier,
}

impl Dialect {
    /// Whether the memory model is Vulkan's.
    pub(crate) fn has_vulkan_model(self) -> bool {
        matches!(self, Dialect::VulkanAccess | Dialect::VulkanBarrier)
    }
}

/// The last workgroup that comes to the end adds up what all of them left in a buffer. Each
/// publishes that at device scope, and counts itself by an atomic addition.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Last {
    /// What is added up.
    pub from: usize,
    /// Only the invocation that counts publishes at device scope: what the others wrote it knows by
    /// a barrier of the workgroup.
    pub by_one: bool,
}

/// A function of two words with variables and an array of its own, which begin as those of an
/// invocation do.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// What it does.
    body: Vec<Statement>,
    /// What it returns when it gets to its end.
    result: usize,
}

/// What all invocations of a workgroup do together.
#[derive(Clone, Debug)]
pub(crate) enum Top {
    /// Each for itself.
    Local(Statement),
    /// `to` becomes the combination over the subgroup.
    Reduce {
        /// How values are combined.
        with: Combine,
        /// Whether lane by lane, or over all.
        scan: bool,
        /// Destination and source.
        to: usize,
        from: usize,
    },
    /// `to` becomes the value of the lane whose number differs in these bits.
    ShuffleXor { to: usize, from: usize, mask: u32 },
    /// `to` becomes the value of one lane.
    Broadcast { to: usize, from: usize, lane: u32 },
    /// `to` becomes the number of lanes, before this one or in all, in whose `from` this bit is
    /// set.
    Count {
        to: usize,
        from: usize,
        bit: u32,
        before: bool,
    },
    /// A store to an element of a slot.
    Put {
        slot: usize,
        index: Index,
        from: usize,
        when: When,
        access: Access,
    },
    /// A load from an element of a slot.
    Take {
        slot: usize,
        index: Index,
        to: usize,
        when: When,
        access: Access,
    },
    /// The own element of one slot becomes an element of another.
    Copy {
        to: usize,
        from: usize,
        index: Index,
        access: Access,
    },
    /// An atomic operation on an element of a slot; its result is not looked at.
    Atomic {
        slot: usize,
        index: Index,
        from: usize,
        what: Atomic,
        fence: Fence,
    },
    /// OpMemoryBarrier.
    Fence(Fence),
    /// OpControlBarrier with this execution scope.
    Barrier(Scope, Fence),
    /// OpControlBarrierArriveEXT with this execution scope.
    Arrive(Scope, Fence),
    /// OpControlBarrierWaitEXT with this execution scope.
    Wait(Scope, Fence),
    /// The workgroups with even numbers do one thing, the others another.
    ByGroup(Vec<Top>, Vec<Top>),
    /// The same several times over.
    Repeat(Count, Vec<Top>),
    /// In a function of its own, which has pointers to the variables.
    Inline(Vec<Top>),
    /// Workgroups with odd numbers end here.
    EndOdd,
}

/// How a subgroup combines.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Add,
    Xor,
    Max,
}

/// The operands of all invocations of a program of this seed: two words each.
pub fn inputs(seed: u64, program: &Program) -> Vec<u32> {
    words(!seed, program.size * GROUPS * 2)
}

/// What the buffers of the slots hold at first.
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
    use super::*;

    /// Programs of which each form has to be met.
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
