//! Text of modules and of the system, as a reader is shown it.

#[cfg(any(feature = "llvm", feature = "sim"))]
use std::fmt::{self, Display};

/// Longest text that [`plain`] gives, in bytes.
const MOST: usize = 500;

/// Returns true for control characters, separators of lines and characters that change the
/// direction of text: a reader would not see what is there.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// The text on one line, not too long: hidden characters, and those that do not satisfy
/// `is_written`, are escapes.
pub(crate) fn plain(text: &str, is_written: impl Fn(char) -> bool) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if plain.len() >= MOST {
            plain.push_str(" ...");
            break;
        }
        match c {
            '\t' => plain.push_str("    "),
            c if is_hidden(c) || !is_written(c) => plain.extend(c.escape_default()),
            c => plain.push(c),
        }
    }
    plain
}

/// Text in HTML and SVG: markup in it is text, hidden characters are replaced.
#[cfg(any(feature = "llvm", feature = "sim"))]
pub(crate) struct Text<'t>(pub(crate) &'t str);

#[cfg(any(feature = "llvm", feature = "sim"))]
impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => write!(f, "{c}")?,
                c if is_hidden(c) => write!(f, "\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}
