//! The boundaries of characters in a text.

/// Returns the last place up to `at` where a character begins or the text ends.
///
/// `str::floor_char_boundary` needs Rust 1.91, which is newer than this crate's `rust-version`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let last = at.min(text.len());
    (0..=last)
        .rev()
        .find(|place| text.is_char_boundary(*place))
        .unwrap_or(0)
}

/// Returns the first place from `at` on where a character begins or the text ends.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len())
        .find(|place| text.is_char_boundary(*place))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_inside_of_characters_move() {
        let text = "a\u{20ac}b"; // three bytes in the middle
        let floors: Vec<usize> = (0..7).map(|at| floor(text, at)).collect();
        assert_eq!(floors, [0, 1, 1, 1, 4, 5, 5]);
        let ceils: Vec<usize> = (0..7).map(|at| ceil(text, at)).collect();
        assert_eq!(ceils, [0, 1, 4, 4, 4, 5, 5]);
    }
}
