//! A program as a tree: the statements of its workgroups, in order.

use super::share::{Access, Atomic, Count, Fence, Index, Scope, When};
use super::statement::Statement;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Invocations of a workgroup.
    pub size: usize,
    /// The rules that the module follows.
    pub(crate) dialect: Dialect,
    /// Push constants: how often loops are run.
    pub counts: [u32; 4],
    /// The statements of the invocations of a workgroup, in order.
    pub(crate) tops: Vec<Top>,
    /// The work of the last workgroup that reaches the end.
    pub(crate) last: Option<Last>,
    /// Functions; each calls only those before it.
    pub(crate) functions: Vec<Function>,
}

impl Program {
    /// A text with the statements of the invocations of a workgroup, one per line.
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

    /// Returns true if it is valid in Vulkan.
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

/// The rules that a module follows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The memory model GLSL450, in Vulkan: accesses have no marks.
    Glsl,
    /// The same, with orders that SPIR-V has and Vulkan forbids.
    Universal,
    /// Vulkan's memory model; each access makes its memory available or visible.
    VulkanAccess,
    /// Vulkan's memory model; the barriers do.
    VulkanBarrier,
}

impl Dialect {
    /// Returns true if the memory model is Vulkan's.
    pub(crate) fn has_vulkan_model(self) -> bool {
        matches!(self, Dialect::VulkanAccess | Dialect::VulkanBarrier)
    }
}

/// The last workgroup that reaches the end adds up the results of all workgroups in a buffer. Each
/// publishes its results at device scope, and counts itself with an atomic addition.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Last {
    /// The slot that is added up.
    pub from: usize,
    /// True if only the invocation that counts publishes at device scope. It sees the writes of the
    /// others after a workgroup barrier.
    pub by_one: bool,
}

/// A function of two words with its own variables and array, which are initialised like those of an
/// invocation.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The statements.
    pub(super) body: Vec<Statement>,
    /// The variable that it returns at its end.
    pub(super) result: usize,
}

/// A statement that all invocations of a workgroup execute together.
#[derive(Clone, Debug)]
pub(crate) enum Top {
    /// Each for itself.
    Local(Statement),
    /// `to` becomes the combination over the subgroup.
    Reduce {
        /// The operation that combines the values.
        with: Combine,
        /// True for a scan, false for a reduction.
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
    /// In a separate function, which has pointers to the variables.
    Inline(Vec<Top>),
    /// Workgroups with odd numbers end here.
    EndOdd,
}

/// The operation with which a subgroup combines values.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Add,
    Xor,
    Max,
}
