//! Names and source text of modules, written into assembly.

use crate::shown::{self, is_hidden};
use std::fmt::Write;

/// The beginning of a comment.
pub(super) fn mark(is_amd: bool) -> &'static str {
    if is_amd { ";" } else { "//" }
}

/// The text for a comment: what would end the line, or change how it is read, is written as an
/// escape. PTX is ASCII.
pub(super) fn plain(text: &str, is_amd: bool) -> String {
    let mut plain = shown::plain(text, |c| is_amd || c.is_ascii());
    // A line that ends in a backslash may be read as one with the next.
    if plain.ends_with('\\') {
        plain.push(' ');
    }
    plain
}

/// The text as a string of the assembler, with its quotes.
pub(super) fn string(text: &str) -> String {
    let mut string = String::with_capacity(text.len() + 2);
    string.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' => string.push_str("\\\""),
            b'\\' => string.push_str("\\\\"),
            b'\n' => string.push_str("\\n"),
            b' '..=b'~' => string.push(char::from(byte)),
            byte => {
                // Writing to a string cannot fail.
                let _ = write!(string, "\\{byte:03o}");
            }
        }
    }
    string.push('"');
    string
}

/// The text as a string of PTX, with its quotes. These have no escapes: characters that would end
/// the string or the line are replaced, and so are backslashes, which some readers take for one.
pub(super) fn ptx_string(text: &str) -> String {
    let plain = text.chars().map(|c| match c {
        '\\' => '/',
        '"' => '\'',
        c if is_hidden(c) || !c.is_ascii() => '_',
        c => c,
    });
    format!("\"{}\"", plain.collect::<String>())
}

/// The bytes of a string that ends with zero, as operands of a directive.
pub(super) fn bytes(text: &str) -> String {
    let bytes = text.bytes().chain([0]).map(|byte| byte.to_string());
    bytes.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn texts_of_modules_stay_on_their_line() {
        assert_eq!(plain("a\r\tb\\", true), "a\\r    b\\ ");
        assert_eq!(plain("\u{202e}\u{e9}", true), "\\u{202e}\u{e9}");
        assert_eq!(plain("\u{e9}", false), "\\u{e9}");
        assert_eq!(string("a\"b\\c\nd\u{e9}"), "\"a\\\"b\\\\c\\nd\\303\\251\"");
        assert_eq!(ptx_string("C:\\a\"\n"), "\"C:/a'_\"");
        assert_eq!(bytes("ab"), "97, 98, 0");
    }
}
