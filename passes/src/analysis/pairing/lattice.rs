//! What can be outstanding at a place of the program, for one execution scope: a set of arrives, and whether none may be.
//!
//! The order of the lattice is that of sets: more arrives or "may be closed" is higher. The bottom, no arrive and not closed,
//! is a place that no path reaches. An arrive replaces the state by itself alone; a wait replaces it by "closed".

/// Whether an arrive is outstanding at a place: executed, and no wait of its scope executed since.
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
/// Arrives go by their number among the arrives of the scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// A bit per arrive; as long as the highest set bit asks for.
    bits: Vec<u64>,
    closed: bool,
}

impl State {
    /// No arrive is outstanding.
    pub(super) fn closed() -> State {
        State {
            bits: Vec::new(),
            closed: true,
        }
    }

    /// `arrive` is outstanding.
    pub(super) fn open(arrive: usize) -> State {
        let mut bits = vec![0; arrive / 64 + 1];
        if let Some(last) = bits.last_mut() {
            *last = 1 << (arrive % 64);
        }
        State {
            bits,
            closed: false,
        }
    }

    /// Adds what `other` knows; says whether that was new.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let mut changed = other.closed && !self.closed;
        self.closed |= other.closed;
        if self.bits.len() < other.bits.len() {
            self.bits.resize(other.bits.len(), 0);
        }
        for (mine, theirs) in self.bits.iter_mut().zip(&other.bits) {
            changed |= *theirs & !*mine != 0;
            *mine |= *theirs;
        }
        changed
    }

    /// The arrives that can be outstanding, ascending.
    pub(super) fn arrives(&self) -> impl Iterator<Item = usize> {
        self.bits.iter().enumerate().flat_map(|(word, bits)| {
            let bits = *bits;
            (0..64)
                .filter(move |bit| bits >> bit & 1 != 0)
                .map(move |bit| word * 64 + bit)
        })
    }

    /// The verdict.
    pub(super) fn verdict(&self) -> Open {
        let open = self.bits.iter().any(|bits| *bits != 0);
        match (open, self.closed) {
            (true, true) => Open::Sometimes,
            (true, false) => Open::Always,
            (false, _) => Open::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_state() -> impl Strategy<Value = State> {
        (prop::collection::vec(0usize..200, 0..4), any::<bool>()).prop_map(|(arrives, closed)| {
            let mut state = if closed {
                State::closed()
            } else {
                State::default()
            };
            for arrive in arrives {
                state.join(&State::open(arrive));
            }
            state
        })
    }

    fn joined(a: &State, b: &State) -> State {
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
            prop_assert_eq!(joined(&a, &State::default()), a.clone());
            let mut again = joined(&a, &b);
            prop_assert!(!again.join(&b), "what is known already is no change");
            prop_assert_eq!(a.clone().join(&b), joined(&a, &b) != a);
        }
    }

    #[test]
    fn verdicts() {
        assert_eq!(State::default().verdict(), Open::Never);
        assert_eq!(State::closed().verdict(), Open::Never);
        assert_eq!(State::open(70).verdict(), Open::Always);
        assert_eq!(
            joined(&State::open(3), &State::closed()).verdict(),
            Open::Sometimes
        );
    }

    #[test]
    fn arrives_are_ascending() {
        let state = joined(
            &State::open(130),
            &joined(&State::open(0), &State::open(63)),
        );
        assert_eq!(state.arrives().collect::<Vec<_>>(), [0, 63, 130]);
    }
}
