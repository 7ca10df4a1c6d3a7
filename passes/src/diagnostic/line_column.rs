//! A place in a text.

use serde::{Deserialize, Serialize};

/// A line and a column of a text.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineColumn {
    /// Line, 1-based.
    pub line: u32,
    /// Column, 1-based.
    pub column: u32,
}
