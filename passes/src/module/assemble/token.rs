//! One line of text to its tokens.

/// A piece of a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// As it is written; a string without its quotes, escapes still in it.
    pub text: &'t str,
    /// True if it stood in quotes.
    pub quoted: bool,
    /// Its first column, in bytes from 1.
    pub column: usize,
}

impl Token<'_> {
    /// A token without characters, at the start of a line.
    pub(super) const EMPTY: Token<'static> = Token {
        text: "",
        quoted: false,
        column: 1,
    };
}

/// What is wrong, and in which column.
pub(super) type Wrong = (usize, String);

/// The tokens of `line`, its comment left out.
pub(super) fn split(line: &str) -> Result<Vec<Token<'_>>, Wrong> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    loop {
        let column = line.len() - rest.len() + 1;
        if rest.is_empty() || rest.starts_with(';') {
            return Ok(tokens);
        }
        let (text, quoted, after) = match rest.strip_prefix('"') {
            Some(inside) => {
                let end = closing_quote(inside)
                    .ok_or_else(|| (column, "the string does not end".to_owned()))?;
                let (text, after) = inside.split_at(end);
                (text, true, after.strip_prefix('"').unwrap_or(after))
            }
            None => {
                let end = rest
                    .find(|c: char| c.is_whitespace() || c == ';')
                    .unwrap_or(rest.len());
                let (text, after) = rest.split_at(end);
                (text, false, after)
            }
        };
        tokens.push(Token {
            text,
            quoted,
            column,
        });
        rest = after.trim_start();
    }
}

/// Where the quote stands that ends the string; a backslash takes the next character as it is.
fn closing_quote(inside: &str) -> Option<usize> {
    let mut escaped = false;
    inside.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// The bytes of a quoted token, escapes resolved.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let mut plain = String::with_capacity(text.len());
    let mut escaped = false;
    for c in text.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            plain.push(c);
            escaped = false;
        }
    }
    plain.into_bytes()
}

/// The minor version in a comment `; Version: 1.3`.
pub(super) fn version(line: &str) -> Option<u32> {
    let comment = line.trim().strip_prefix(';')?.trim().to_ascii_lowercase();
    comment
        .strip_prefix("version: 1.")?
        .trim()
        .parse()
        .ok()
        .filter(|minor| *minor <= 0xff)
}
