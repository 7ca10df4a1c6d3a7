//! The places in the source of lines of assembly.

use super::reading::FunctionLines;
use splitbar_passes::module::{FilePosition, Frame};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A place of a line of code: the frames of the source, the innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) frames: Vec<Frame>,
    /// True if the outermost frame is the function that has the code, not one that was inlined by
    /// a call that is not known.
    pub(super) is_whole: bool,
}

impl Place {
    /// The innermost position.
    pub(super) fn at(&self) -> Option<&FilePosition> {
        self.frames.first().map(|frame| &frame.at)
    }
}

/// A function with the places of its lines.
pub(super) struct Placed {
    pub(super) lines: FunctionLines,
    /// The name of the function in the source.
    pub(super) name: Arc<str>,
    /// Its position; `None` if the module does not say it.
    pub(super) at: Option<FilePosition>,
    /// The places by line, where they change.
    pub(super) places: BTreeMap<usize, Place>,
}
