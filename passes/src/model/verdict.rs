//! The verdict of an exploration.

use super::axiom::Axiom;
use super::program::Sequence;
use std::fmt;

/// The verdict about all interleavings of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All threads end in every interleaving, nothing is undefined, and no wait returns early.
    Proved,
    /// Threads wait for what cannot come any more.
    Deadlock {
        /// Those that have not ended, in ascending order.
        waiting: Vec<usize>,
    },
    /// The behaviour is undefined.
    Undefined {
        /// The rule that is broken.
        axiom: Axiom,
        /// The thread that breaks it.
        thread: usize,
    },
    /// A wait returned before everybody had arrived: the promise of a split barrier is broken.
    Early {
        /// The sequence that it belongs to.
        sequence: Sequence,
        /// Whose wait returned.
        thread: usize,
        /// Who had not arrived.
        missing: usize,
    },
    /// The question is too large, for the reason that is given; nothing is known.
    Limit(String),
}

impl Verdict {
    /// Returns true if some interleaving goes wrong.
    pub fn is_refutation(&self) -> bool {
        match self {
            Verdict::Proved | Verdict::Limit(_) => false,
            Verdict::Deadlock { .. } | Verdict::Undefined { .. } | Verdict::Early { .. } => true,
        }
    }

    /// One word for programs: `proved`, `deadlock`, `undefined`, `early` or `limit`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Deadlock { .. } => "deadlock",
            Verdict::Undefined { .. } => "undefined",
            Verdict::Early { .. } => "early",
            Verdict::Limit(_) => "limit",
        }
    }

    /// The same verdict with threads called by other numbers.
    pub(super) fn renamed(self, name: impl Fn(usize) -> usize) -> Verdict {
        match self {
            Verdict::Deadlock { waiting } => {
                let mut waiting: Vec<usize> = waiting.into_iter().map(name).collect();
                waiting.sort_unstable();
                Verdict::Deadlock { waiting }
            }
            Verdict::Undefined { axiom, thread } => Verdict::Undefined {
                axiom,
                thread: name(thread),
            },
            Verdict::Early {
                sequence,
                thread,
                missing,
            } => Verdict::Early {
                sequence,
                thread: name(thread),
                missing: name(missing),
            },
            Verdict::Proved | Verdict::Limit(_) => self,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Proved => f.write_str("proved"),
            Verdict::Deadlock { waiting } => {
                f.write_str("deadlock: ")?;
                for (index, thread) in waiting.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}wave {thread}")?;
                }
                f.write_str(if waiting.len() == 1 {
                    " waits for ever"
                } else {
                    " wait for ever"
                })
            }
            Verdict::Undefined { axiom, thread } => write!(
                f,
                "undefined: wave {thread} breaks {axiom} (under \"{}\"): {}",
                axiom.source(),
                axiom.text()
            ),
            Verdict::Early {
                sequence: _,
                thread,
                missing,
            } => write!(
                f,
                "early: wave {thread} returns from its wait before wave {missing} has arrived"
            ),
            Verdict::Limit(why) => write!(f, "limit: {why}"),
        }
    }
}
