//! The memory operations that may be outstanding at each place of AMDGPU machine code.
//!
//! One way: instructions -> operations and waits ([`operation`], [`counter`]) -> what is
//! outstanding before each instruction (`outstanding.rs`).

mod launch;
pub(crate) mod outstanding;

pub use crate::asm::amdgpu::{counter, operation};

use crate::asm::Function;
use crate::word_of;
use serde::{Deserialize, Serialize};
use splitbar_passes::module::WordOffset;
use std::fmt;

/// One machine instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodePlace {
    /// Its number in the kernel.
    pub position: usize,
    /// Its mnemonic.
    pub mnemonic: String,
    /// Word offset of its SPIR-V instruction, if the code has debug lines.
    pub word: Option<WordOffset>,
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at instruction {}", self.mnemonic, self.position)?;
        match self.word {
            Some(word) => write!(f, " (word {word})"),
            None => Ok(()),
        }
    }
}

pub(crate) fn place(function: &Function, position: usize) -> CodePlace {
    let inst = function.instructions.get(position);
    debug_assert!(inst.is_some(), "the function has no instruction {position}");
    CodePlace {
        position,
        mnemonic: inst.map(|inst| inst.mnemonic.clone()).unwrap_or_default(),
        word: inst.and_then(word_of),
    }
}
