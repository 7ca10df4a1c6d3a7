//! Rust source text as a row of tokens.

/// The names, marks and string literals of a source text, in order. Comments, characters and
/// lifetimes are left out, `::` is one token, and every other mark is one character.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let length = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' => 1,
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => comment(rest),
            b'\'' => character(rest),
            b'"' => {
                let length = string(rest);
                found.push(&rest[..length]);
                length
            }
            _ if word == 0 => {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                let length = if rest.starts_with("::") { 2 } else { first };
                found.push(&rest[..length]);
                length
            }
            _ if matches!(&rest[..word], "r" | "br" | "cr") => match raw(&rest[word..]) {
                Some(length) => word + length,
                // A raw name: its letters are what other files write.
                None if rest[word..].starts_with('#') => word + 1,
                None => {
                    found.push(&rest[..word]);
                    word
                }
            },
            // The prefix of a byte string says nothing.
            _ if matches!(&rest[..word], "b" | "c") && rest[word..].starts_with(['"', '\'']) => {
                word
            }
            _ => {
                found.push(&rest[..word]);
                word
            }
        };
        at += length;
    }
    found
}

/// Whether the token is a name or a keyword.
pub(super) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| is_word(c) && !c.is_ascii_digit())
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of a block comment, which may hold others.
fn comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a character literal or a lifetime.
fn character(rest: &str) -> usize {
    let mut inside = rest.char_indices().skip(1);
    match inside.next() {
        Some((_, '\\')) => {
            inside.next();
            let end = inside.find(|(_, c)| *c == '\'');
            end.map_or(rest.len(), |(at, _)| at + 1)
        }
        Some(_) => match inside.next() {
            Some((at, '\'')) => at + 1,
            _ => rest[1..]
                .find(|c| !is_word(c))
                .map_or(rest.len(), |length| length + 1),
        },
        None => 1,
    }
}

/// The length of a string literal.
fn string(rest: &str) -> usize {
    let mut inside = rest.char_indices().skip(1);
    while let Some((at, c)) = inside.next() {
        match c {
            '\\' => {
                inside.next();
            }
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a raw string literal after its `r`, if one stands there.
fn raw(rest: &str) -> Option<usize> {
    let marks = rest.len() - rest.trim_start_matches('#').len();
    let inside = rest[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let length = inside.find(&end)? + end.len();
    Some(marks + 1 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_hide_their_words() {
        let text = "/* a /* b */ c */ x::y // z\n('w', '\\'', 'l, r#\"u\"# r#fn b\"v\" r\"t\")";
        let expected = ["x", "::", "y", "(", ",", ",", ",", "fn", "\"v\"", ")"];
        assert_eq!(tokens(text), expected);
    }
}
