//! Splits PTX text into tokens. A token borrows from the text and has its line.
//!
//! PTX is ASCII, separated by white space, with C comments (PTX ISA, "Source Format"). An opcode
//! with its modifiers (`ld.shared::cta.b32`) is one word, as are directives (`.reg`), registers
//! (`%r1`, `%tid.x`) and labels. Only `.loc` and `.file` end with their line, which is why lines
//! are kept.

use super::error::SyntaxError;

/// The kind of a token.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Kind<'t> {
    /// An identifier, an opcode, a directive, a register or a label.
    Word(&'t str),
    /// An integer literal, as its 64-bit value.
    Integer(u64),
    /// `0fXXXXXXXX`: the bits of a single-precision number.
    Single(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal number with a point: the bits of a double-precision
    /// number.
    Double(u64),
    /// A string literal, without its quotes.
    Text(&'t str),
    /// Any other character: punctuation.
    Mark(char),
}

/// One token.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Token<'t> {
    /// Its kind.
    pub kind: Kind<'t>,
    /// The line that it begins on, from 1.
    pub line: u32,
    /// Its offset in the text, in bytes.
    pub at: usize,
}

/// Splits `text` into tokens.
///
/// # Errors
/// A comment or a string that does not end, or a number that is none.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SyntaxError> {
    let mut lexer = Lexer {
        text,
        rest: text,
        line: 1,
    };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'t> {
    text: &'t str,
    rest: &'t str,
    line: u32,
}

impl<'t> Lexer<'t> {
    fn next(&mut self) -> Result<Option<Token<'t>>, SyntaxError> {
        self.skip_blanks()?;
        let line = self.line;
        let at = self.text.len() - self.rest.len();
        let Some(first) = self.rest.chars().next() else {
            return Ok(None);
        };
        let kind = if first.is_ascii_digit() {
            let digits = self.take(|c| c.is_ascii_alphanumeric() || c == '.');
            number(digits)
                .ok_or_else(|| SyntaxError::new(line, format!("`{digits}` is not a number")))?
        } else if begins_word(first) {
            Kind::Word(self.word())
        } else if first == '"' {
            Kind::Text(self.text()?)
        } else {
            self.advance(first.len_utf8());
            Kind::Mark(first)
        };
        Ok(Some(Token { kind, line, at }))
    }

    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            let before = self.rest.len();
            let blanks = before - self.rest.trim_start().len();
            self.advance(blanks);
            if self.rest.starts_with("//") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.advance(end);
            } else if self.rest.starts_with("/*") {
                let end = self
                    .rest
                    .find("*/")
                    .ok_or_else(|| SyntaxError::new(self.line, "a comment that does not end"))?;
                self.advance(end + 2);
            }
            if self.rest.len() == before {
                return Ok(());
            }
        }
    }

    /// Moves on by `bytes`, which end at a character, and counts the lines in them.
    fn advance(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        let lines = taken.bytes().filter(|&b| b == b'\n').count();
        self.line = self
            .line
            .saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
        taken
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    /// A word; `::` belongs to it (`.shared::cta`), a single `:` ends a label.
    fn word(&mut self) -> &'t str {
        let mut end = 0;
        let bytes = self.rest.as_bytes();
        while let Some(&byte) = bytes.get(end) {
            if begins_word(char::from(byte)) || byte.is_ascii_digit() {
                end += 1;
            } else if bytes.get(end..end + 2) == Some(b"::") {
                end += 2;
            } else {
                break;
            }
        }
        self.advance(end)
    }

    fn text(&mut self) -> Result<&'t str, SyntaxError> {
        let line = self.line;
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|&(_, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (end, _) = end.ok_or_else(|| SyntaxError::new(line, "a string that does not end"))?;
        let quoted = self.advance(end + 1);
        Ok(quoted.get(1..end).unwrap_or(""))
    }
}

fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%' | '.')
}

/// A literal (PTX ISA, "Integer Constants", "Floating-Point Constants").
fn number(text: &str) -> Option<Kind<'static>> {
    if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
        return u32::from_str_radix(bits, 16).ok().map(Kind::Single);
    }
    if let Some(bits) = text.strip_prefix("0d").or_else(|| text.strip_prefix("0D")) {
        return u64::from_str_radix(bits, 16).ok().map(Kind::Double);
    }
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (text.get(2..)?, 16),
        Some("0b" | "0B") => (text.get(2..)?, 2),
        _ => (text, 10),
    };
    let digits = digits.trim_end_matches('U');
    if radix == 10 && digits.contains('.') {
        return digits
            .parse::<f64>()
            .ok()
            .map(|value| Kind::Double(value.to_bits()));
    }
    if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        return u64::from_str_radix(digits, 8).ok().map(Kind::Integer);
    }
    u64::from_str_radix(digits, radix).ok().map(Kind::Integer)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use Kind::{Double, Integer, Mark, Single, Text, Word};

    fn kinds(text: &str) -> Vec<Kind<'_>> {
        tokens(text).unwrap().into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn an_opcode_is_one_word_and_a_label_ends_at_its_colon() {
        assert_eq!(
            kinds("$L__BB0_2: ld.shared::cta.b32 %r1, [%rd1+-4];"),
            [
                Word("$L__BB0_2"),
                Mark(':'),
                Word("ld.shared::cta.b32"),
                Word("%r1"),
                Mark(','),
                Mark('['),
                Word("%rd1"),
                Mark('+'),
                Mark('-'),
                Integer(4),
                Mark(']'),
                Mark(';'),
            ]
        );
    }

    #[test]
    fn literals() {
        assert_eq!(
            kinds("0f3F800000 0d3FF0000000000000 0xffU 0b101 017 18446744073709551615 0.5"),
            [
                Single(0x3f80_0000),
                Double(0x3ff0_0000_0000_0000),
                Integer(255),
                Integer(5),
                Integer(15),
                Integer(u64::MAX),
                Double(0.5f64.to_bits()),
            ]
        );
        assert!(tokens("0xzz").is_err());
        assert!(tokens("18446744073709551616").is_err());
    }

    #[test]
    fn comments_strings_and_lines() {
        let tokens = tokens("a // x\n/* \n\n */ b \"q\\\"//\"\nc").unwrap();
        let seen: Vec<_> = tokens.iter().map(|t| (t.kind, t.line)).collect();
        assert_eq!(
            seen,
            [
                (Word("a"), 1),
                (Word("b"), 4),
                (Text("q\\\"//"), 4),
                (Word("c"), 5)
            ]
        );
        assert!(super::tokens("/* a").is_err());
        assert!(super::tokens("\"a").is_err());
    }
}
