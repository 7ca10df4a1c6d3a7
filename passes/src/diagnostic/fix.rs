//! The advice of a diagnostic: its text, and changes of the module for editors.

use super::line_column::LineColumn;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A change, and how the assembly text is edited for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fix {
    /// The change of the module.
    pub change: Change,
    /// The edits of the assembly text, from the start of the text to its end, without overlaps.
    /// Empty for a module that was given in binary form.
    /// [`crate::module::AssemblyText::place`] fills them in.
    pub edits: Vec<Edit>,
}

/// A change of the module, in the terms of SPIR-V.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// The operand of the diagnostic's location becomes a constant with this value.
    SetOperand {
        /// The value, of the type that the operand has.
        value: u32,
    },
    /// OpCapability and OpExtension are added.
    Declare {
        /// The name of a capability.
        capability: Option<String>,
        /// The name of an extension.
        extension: Option<String>,
    },
}

/// A replacement in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Edit {
    /// The first character that is replaced.
    pub start: LineColumn,
    /// The first character after it; equal to `start` for an insertion.
    pub end: LineColumn,
    /// The new text.
    pub text: String,
}

/// The advice of a diagnostic.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Help {
    /// An instruction to the user.
    pub text: String,
    /// Changes of the module, each of which removes the problem, in order of preference.
    pub fixes: Vec<Fix>,
}

impl Fix {
    /// A fix without edits.
    pub fn new(change: Change) -> Self {
        Fix {
            change,
            edits: Vec::new(),
        }
    }
}

impl fmt::Display for Change {
    /// An instruction without a full stop, such as `declare OpCapability Int64Atomics`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::SetOperand { value } => write!(f, "use the constant {value:#x}"),
            Change::Declare {
                capability,
                extension,
            } => {
                let capability = capability.iter().map(|name| format!("OpCapability {name}"));
                let extension = extension.iter();
                let extension = extension.map(|name| format!("OpExtension \"{name}\""));
                let parts: Vec<String> = capability.chain(extension).collect();
                write!(f, "declare {}", parts.join(" and "))
            }
        }
    }
}
