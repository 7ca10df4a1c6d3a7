//! Places as text: a position in the source, else an instruction with its function and block.

use super::{Location, SourcePosition};
use std::fmt;

impl SourcePosition {
    /// The column for output, 1-based: the module's own, or that of the first non-blank character
    /// if the module has no column but contains the line.
    pub fn shown_column(&self) -> Option<u32> {
        if self.column > 0 {
            return Some(self.column);
        }
        let text = self.text.as_ref()?;
        let blank = text.chars().take_while(|c| c.is_whitespace()).count();
        u32::try_from(blank + 1).ok()
    }
}

impl fmt::Display for SourcePosition {
    /// `tile.comp:12:3`, with `, inlined at tile.comp:40:5` for each call.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", plain(&self.file), self.line)?;
        if let Some(column) = self.shown_column() {
            write!(f, ":{column}")?;
        }
        for call in &self.inlined_at {
            write!(f, ", inlined at {call}")?;
        }
        Ok(())
    }
}

impl Location {
    /// The position in the source, with the text of the line where the module carries it; `None`
    /// without a position.
    pub fn source_text(&self) -> Option<String> {
        let source = self.source.as_ref()?;
        Some(match &source.text {
            Some(line) => format!("{source}: `{}`", line.trim().escape_debug()),
            None => source.to_string(),
        })
    }
}

impl fmt::Display for Location {
    /// The position in the source, else the instruction with its function and block; then the word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &self.instruction) {
            (Some(source), _) => write!(f, "{source}")?,
            (None, Some(instruction)) => {
                write!(f, "`{}`", plain(instruction.trim()))?;
                if let Some(around) = around(self) {
                    write!(f, " {around}")?;
                }
            }
            (None, None) => f.write_str("an unknown instruction")?,
        }
        match self.word {
            Some(word) => write!(f, " (word {word})"),
            None => Ok(()),
        }
    }
}

/// In which function and block it is.
pub(super) fn around(location: &Location) -> Option<String> {
    let function = location
        .function
        .as_ref()
        .map(|name| format!("function {}", plain(name)));
    let block = location
        .block
        .as_ref()
        .map(|name| format!("block {}", plain(name)));
    let parts: Vec<String> = function.into_iter().chain(block).collect();
    (!parts.is_empty()).then(|| format!("in {}", parts.join(", ")))
}

/// Names come from the module: no control character of theirs reaches a terminal.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}
