//! The rules of the execution model by name. Breaking one is undefined behaviour.

use std::fmt;

/// Declares the axioms: name, what it demands, where it stands.
macro_rules! axioms {
    ($($(#[$doc:meta])* $name:ident: $text:literal, $source:literal;)*) => {
        /// A rule of the execution model.
        ///
        /// The source is LLVM's "AMDGPU Execution Synchronization", section "Execution Model",
        /// unless [`Axiom::source`], which says the part, names another.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Axiom {
            $($(#[$doc])* #[doc = concat!("Demands: ", $text, ".")] $name,)*
        }

        impl Axiom {
            /// All of them, in the order of the document.
            pub const ALL: &'static [Axiom] = &[$(Axiom::$name),*];

            /// Its requirement, as a sentence without full stop.
            pub fn text(self) -> &'static str {
                match self { $(Axiom::$name => $text,)* }
            }

            /// The part of the document that states it.
            pub fn source(self) -> &'static str {
                match self { $(Axiom::$name => $source,)* }
            }

            /// Its name, as reports print it.
            pub fn name(self) -> &'static str {
                match self { $(Axiom::$name => stringify!($name),)* }
            }
        }
    };
}

axioms! {
    ObjectInScope: "a thread operates only on objects of its own scope instance",
        "barrier objects exist within a scope";
    ExpectedAboveArrived: "the expected count that an arrive sets is above the arrive count",
        "barrier arrive";
    StrictTotalOrder: "the modification order of an object holds each of its inits, drops and arrives once, and nothing else",
        "barrier-modification-order";
    ThreadOrderKept: "two modifications by one thread have the same order in the modification order as in the thread",
        "barrier-modification-order";
    FirstIsInit: "the first modification of an object is its init",
        "barrier-modification-order";
    Initialised: "no thread joins or waits on an object that was never initialised",
        "informational notes";
    ExecutesBeforeConsistent: "executes-before has no cycle and agrees with every modification order",
        "barrier-executes-before";
    JoinedBeforeDrop: "a drop has a join before it in its thread that still holds",
        "barrier drop";
    ExpectedNotNegative: "a drop leaves the expected count at zero or above",
        "barrier drop";
    CompleteBeforeDrop: "a barrier that a thread arrived on has completed before the thread drops it",
        "barrier arrive and drop in one thread";
    JoinedBeforeWait: "a wait has a join before it in its thread that still holds",
        "barrier wait";
    JoinNotLost: "no join of a mutually exclusive object is between a join and its drop or wait",
        "barrier-joined-before";
    JoinedBeforeParticipant: "the join of a wait executes before an operation that takes part in the wait",
        "barrier wait";
    WaitCompletes: "every wait completes",
        "informational notes";
    PhasesSeparate: "between an arrive and the wait that it takes part in, nothing belongs to a phase without that wait",
        "barrier-phase-with";
    CompleteAtEnd: "no arrival on a CTA barrier is left over when all threads have ended",
        "PTX ISA, barrier.cta: the barrier is used again only when it has completed";
}

impl fmt::Display for Axiom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
