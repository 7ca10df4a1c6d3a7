//! The arrives that can be outstanding at a place of the program, for one execution scope: a set of
//! arrives, and whether the set can be empty.
//!
//! The order of the lattice is that of sets: more arrives or "may be closed" is higher. The bottom,
//! no arrive and not closed, is a place that no path reaches. An arrive replaces the state by
//! itself alone; a wait replaces it by "closed".

use std::collections::HashSet;
use std::rc::Rc;

/// The possible states of a place: an arrive is outstanding if it was executed and no wait of its
/// scope was executed since.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Open {
    /// On no path; also at places that control cannot reach.
    Never,
    /// On every path.
    Always,
    /// On some paths.
    Sometimes,
}

/// The arrives that can be outstanding, and whether there can be none.
///
/// Arrives go by their number among the arrives of the scope. Most places have the set of a place
/// before: those share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenArrives {
    /// Ascending.
    arrives: Rc<[u32]>,
    closed: bool,
}

impl OpenArrives {
    /// No arrive is outstanding.
    pub(super) fn closed() -> OpenArrives {
        OpenArrives {
            closed: true,
            ..OpenArrives::default()
        }
    }

    /// `arrive` is outstanding.
    pub(super) fn open(arrive: usize) -> OpenArrives {
        OpenArrives {
            arrives: Rc::from([u32::try_from(arrive).unwrap_or(u32::MAX)]),
            closed: false,
        }
    }

    /// Adds what `other` knows; says whether that was new.
    #[cfg(test)]
    pub(super) fn join(&mut self, other: &OpenArrives) -> bool {
        let mut union = Union::default();
        union.add(self);
        union.add(other);
        let joined = union.state(&mut usize::MAX.clone());
        joined.is_some_and(|joined| std::mem::replace(self, joined.clone()) != joined)
    }

    /// The arrives that can be outstanding, ascending.
    pub(super) fn arrives(&self) -> impl Iterator<Item = usize> {
        self.arrives.iter().map(|arrive| *arrive as usize)
    }

    /// Equal for states that share their set; the address is looked up and never ordered by.
    pub(super) fn set(&self) -> *const u32 {
        self.arrives.as_ptr()
    }

    /// The verdict.
    pub(super) fn verdict(&self) -> Open {
        match (self.arrives.is_empty(), self.closed) {
            (false, true) => Open::Sometimes,
            (false, false) => Open::Always,
            (true, _) => Open::Never,
        }
    }
}

/// The least upper bound of states. One large set comes out as itself, so that what is only passed
/// on costs nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Union {
    closed: bool,
    /// Arrives on their own.
    single: Vec<u32>,
    /// Sets of several, none of them twice.
    sets: Vec<Rc<[u32]>>,
    known: HashSet<*const u32>, // looked up, never iterated
}

impl Union {
    /// Adds a state.
    pub(super) fn add(&mut self, state: &OpenArrives) {
        self.closed |= state.closed;
        match state.arrives.as_ref() {
            [] => {}
            [arrive] => self.single.push(*arrive),
            _ if self.known.insert(state.set()) => self.sets.push(state.arrives.clone()),
            _ => {} // it is there
        }
    }

    /// The state; `None` when it takes more than what is `left` of a bound on all of them.
    pub(super) fn state(self, left: &mut usize) -> Option<OpenArrives> {
        let closed = self.closed;
        if let ([], [set]) = (self.single.as_slice(), self.sets.as_slice()) {
            return Some(OpenArrives {
                arrives: set.clone(),
                closed,
            });
        }
        let count = self.single.len() + self.sets.iter().map(|set| set.len()).sum::<usize>();
        *left = left.checked_sub(count)?;
        let mut arrives = self.single;
        arrives.extend(self.sets.iter().flat_map(|set| set.iter()));
        arrives.sort_unstable();
        arrives.dedup();
        Some(OpenArrives {
            arrives: arrives.into(),
            closed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_state() -> impl Strategy<Value = OpenArrives> {
        (prop::collection::vec(0usize..200, 0..4), any::<bool>()).prop_map(|(arrives, closed)| {
            let mut state = if closed {
                OpenArrives::closed()
            } else {
                OpenArrives::default()
            };
            for arrive in arrives {
                state.join(&OpenArrives::open(arrive));
            }
            state
        })
    }

    fn joined(a: &OpenArrives, b: &OpenArrives) -> OpenArrives {
        let mut state = a.clone();
        state.join(b);
        state
    }

    proptest! {
        #[test]
        fn join_is_a_least_upper_bound(a in any_state(), b in any_state(), c in any_state()) {
            prop_assert_eq!(joined(&a, &b), joined(&b, &a));
            prop_assert_eq!(joined(&joined(&a, &b), &c), joined(&a, &joined(&b, &c)));
            prop_assert_eq!(joined(&a, &a), a.clone());
            prop_assert_eq!(joined(&a, &OpenArrives::default()), a.clone());
            let mut again = joined(&a, &b);
            prop_assert!(!again.join(&b), "what is known already is no change");
            prop_assert_eq!(a.clone().join(&b), joined(&a, &b) != a);
        }
    }

    #[test]
    fn verdicts() {
        assert_eq!(OpenArrives::default().verdict(), Open::Never);
        assert_eq!(OpenArrives::closed().verdict(), Open::Never);
        assert_eq!(OpenArrives::open(70).verdict(), Open::Always);
        assert_eq!(
            joined(&OpenArrives::open(3), &OpenArrives::closed()).verdict(),
            Open::Sometimes
        );
    }

    #[test]
    fn arrives_are_ascending() {
        let state = joined(
            &OpenArrives::open(130),
            &joined(&OpenArrives::open(0), &OpenArrives::open(63)),
        );
        assert_eq!(state.arrives().collect::<Vec<_>>(), [0, 63, 130]);
    }
}
