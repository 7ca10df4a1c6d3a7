//! Times of waves, and lists of which one knows all that another does.

/// Time of one wave: it grows by one with every release, so that what a wave does after a release
/// is not covered by it. 0 is before everything.
pub type Time = u32;

/// Merges each entry of `its` into that of `mine`, which becomes as long.
pub(crate) fn join<T: Copy + Default>(mine: &mut Vec<T>, its: &[T], merge: impl Fn(&mut T, T)) {
    if mine.len() < its.len() {
        mine.resize(its.len(), T::default());
    }
    for (a, &b) in mine.iter_mut().zip(its) {
        merge(a, b);
    }
}

/// Returns true if `mine` has for each entry of `its` one that is `at_least` as late; nothing is
/// known of what lies behind the end of `mine`.
pub(crate) fn covers<T: Copy + Default>(
    mine: &[T],
    its: &[T],
    at_least: impl Fn(T, T) -> bool,
) -> bool {
    its.iter()
        .enumerate()
        .all(|(at, its)| at_least(mine.get(at).copied().unwrap_or_default(), *its))
}
