//! Literal strings in the words of instructions.

/// Returns true if one of the four bytes of `word` is 0.
pub(super) fn has_zero_byte(word: u32) -> bool {
    word.wrapping_sub(0x0101_0101) & !word & 0x8080_8080 != 0
}

/// Words of the literal string at the start of `words`: up to and with the one that holds the zero
/// byte.
pub(super) fn string_words(words: &[u32]) -> usize {
    words
        .iter()
        .position(|word| has_zero_byte(*word))
        .map_or(words.len(), |last| last + 1)
}

/// The literal string at the start of `words`, and how many words it takes; bytes that are no UTF-8
/// are replaced.
pub(super) fn literal_string(words: &[u32]) -> (String, usize) {
    let len = string_words(words);
    let mut bytes: Vec<u8> = words
        .get(..len)
        .unwrap_or(words)
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    (
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        len,
    )
}

/// Returns true if the literal string at the start of `words` starts with `prefix` (with a zero
/// byte at its end: is it).
pub(super) fn string_starts_with(words: &[u32], prefix: &[u8]) -> bool {
    let mut bytes = words.iter().flat_map(|word| word.to_le_bytes());
    prefix
        .iter()
        .all(|expected| bytes.next() == Some(*expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn strings_end_at_the_zero_byte() {
        assert_eq!(
            literal_string(&[u32::from_le_bytes(*b"main"), 0, 7]),
            ("main".to_owned(), 2)
        );
        assert_eq!(
            literal_string(&[u32::from_le_bytes(*b"abc\0"), 7]),
            ("abc".to_owned(), 1)
        );
        assert!(has_zero_byte(0x1100_2233) && !has_zero_byte(0x8080_8080));
        assert!(string_starts_with(
            &[u32::from_le_bytes(*b"abc\0")],
            b"abc\0"
        ));
        assert!(!string_starts_with(
            &[u32::from_le_bytes(*b"abc\0")],
            b"abc\0\0"
        ));
    }
}
