//! Random programs whose results depend on the set of invocations that executes a group operation
//! together. They have branches, loops of every form and switches, with all kinds of exits, nested
//! and in functions, and group operations anywhere.
//!
//! A program is a tree (`Statement`). [`run`] executes it on sets of invocations, as SPIR-V
//! defines tangles (SPV_KHR_maximal_reconvergence); [`text`] writes it as a module, [`shrink`]
//! makes it smaller.

mod found;
mod run;
mod shrink;
mod text;
mod walk;

pub use found::found;
pub use run::run;
pub use shrink::shrink;
pub use text::text;
pub use walk::program;

/// Iterations that a loop has at most.
pub(crate) const ITERATIONS: u32 = 4;

/// From this iteration on, a continue has no effect in a loop that only its tail leaves.
pub(crate) const MOST_CONTINUES: u32 = 2;

/// A program: each invocation has a word, which everything that it executes changes.
#[derive(Clone, Debug)]
pub struct Program {
    /// Invocations of the workgroup; the last subgroup need not be full.
    pub size: u32,
    /// The execution mode MaximallyReconvergesKHR.
    pub maximal: bool,
    pub(crate) main: Vec<Statement>,
    /// Functions of a word; each calls only those before it.
    pub(crate) functions: Vec<Vec<Statement>>,
}

impl Program {
    /// The program, a line for each statement.
    pub fn outline(&self) -> String {
        format!(
            "{} invocations, maximal: {}\nmain {:?}\nfunctions {:?}\n",
            self.size, self.maximal, self.main, self.functions
        )
    }
}

/// A statement of an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    /// The word becomes itself times an odd number, and this number more.
    Mix(u32),
    /// The result of a group operation is added to the word.
    Group(Group),
    /// A branch.
    If {
        when: Condition,
        yes: Vec<Statement>,
        no: Vec<Statement>,
        /// The merge block has a phi of two numbers, which is added to the word.
        phi: bool,
        /// A value of the header is added to the word in the merge block.
        header: bool,
        /// True if there is no merge instruction; only one side leaves the construct around it.
        bare: bool,
    },
    /// A loop with a counter, which is added to the word after it.
    Loop {
        form: Form,
        /// The maximum number of iterations.
        times: Times,
        body: Vec<Statement>,
        /// The statements of its continue construct, none of which leaves.
        again: Vec<Statement>,
    },
    /// On bits of the word from this one on; the last branch is the default. The numbers of cases
    /// go up, two lead to each branch.
    Switch {
        bit: u32,
        branches: Vec<Vec<Statement>>,
    },
    /// To the merge block of the loop or switch around.
    Break,
    /// A branch to the continue target of the enclosing loop. If only the tail leaves the loop, at
    /// most [`MOST_CONTINUES`] times.
    Continue,
    /// The end of the function.
    Return,
    /// The word is replaced by the result of this function.
    Call(usize),
}

/// The condition of a branch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Bits of the invocation's number have a value.
    Lane { mask: u32, value: u32 },
    /// A bit of the word.
    Bit(u32),
    /// The counter of the loop around is odd; false where there is none.
    Odd,
}

/// The place at which a loop exits when it has reached its number of iterations.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In its header, before the body.
    Header,
    /// In its body's first block.
    Body,
    /// At the end of its body, where a bit of the word may leave it too; the value that is added to
    /// the word after it is computed there.
    Tail,
    /// In its continue construct.
    Latch,
}

/// The number of iterations of a loop.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    /// So often.
    Constant(u32),
    /// Two bits of the word that it begins with.
    Bits(u32),
}

/// A group operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// The number of active invocations.
    Count,
    /// The active invocations that have this bit.
    Ballot(u32),
    /// The sum.
    Add,
    /// The sum of those before.
    ExclusiveAdd,
    /// The largest word.
    Max,
    /// 1 in the first, 0 in others.
    Elect,
    /// The word of the first.
    First,
    /// 1 if all have this bit.
    All(u32),
    /// 1 if one has it.
    Any(u32),
}

/// The initial word of invocation `id`.
pub(crate) fn first_word(id: u32) -> u32 {
    id.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995
}

#[cfg(test)]
mod tests {
    use super::{Program, program, run, shrink};

    #[test]
    fn programs_have_all_forms() {
        let all: String = (0..300).map(|seed| program(seed).outline()).collect();
        for form in [
            "Header",
            "Body",
            "Tail",
            "Latch",
            "Constant",
            "Bits",
            "Break",
            "Continue",
            "Return",
            "Call",
            "Switch",
            "Elect",
            "First",
            "ExclusiveAdd",
            "Odd",
            "bare: true",
            "phi: true",
            "maximal: true",
            "maximal: false",
        ] {
            assert!(all.matches(form).count() > 20, "{form}");
        }
    }

    #[test]
    fn results_depend_on_tangles() {
        // A program for which invocations of other subgroups are the same has nothing to test.
        let differs = |seed: &u64| {
            let program = program(*seed);
            run(&program, 32) != run(&program, 64)
        };
        let count = (0..200).filter(differs).count();
        assert!(count > 150, "{count}");
    }

    #[test]
    fn a_smaller_program_still_fails() {
        let has_switch = |program: &Program| program.outline().contains("Switch");
        let large = (0..100).map(program).find(has_switch);
        let large = large.unwrap_or_else(|| program(0));
        let small = shrink(&large, has_switch);
        assert!(has_switch(&small));
        // Of what is around the switch nothing is left but its branches.
        assert!(!small.outline().contains("Group"), "{}", small.outline());
        assert!(large.outline().contains("Group"), "{}", large.outline());
    }
}
