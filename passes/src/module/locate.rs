//! Where an instruction stands: function, block, source line.

use super::{Block, Declarations, Function};
use crate::diagnostic::{Diagnostic, SourcePosition};

impl<'m> Declarations<'m> {
    /// Fills in function, block, instruction text and source position of a diagnostic that has a word offset.
    pub fn locate(&self, diagnostic: &mut Diagnostic) {
        let Some(word) = diagnostic.location.word else { return };
        let location = &mut diagnostic.location;
        if let Some(function) = self.function_at(word) {
            location.function = Some(self.name(function.id).map_or_else(|| function.id.to_string(), str::to_owned));
            location.block = block_at(function, word).map(|block| block.label.to_string());
        }
        if let Some(inst) = self.module.at(word) {
            location.instruction = Some(self.disassemble(inst));
        }
        location.source = self.source_position(word);
    }

    /// The function that the instruction at word `word` belongs to.
    pub fn function_at(&self, word: u32) -> Option<&Function<'m>> {
        let after = self.functions.partition_point(|function| function.offset <= word);
        self.functions.get(after.checked_sub(1)?).filter(|function| word <= function.end)
    }

    /// The source position that is in force at the instruction at word `word`: the last OpLine before it, unless OpNoLine or the end of a block
    /// came later (SPIR-V 3.49.2).
    pub fn source_position(&self, word: u32) -> Option<SourcePosition> {
        use spirv::Op;
        let from = self.function_at(word).map_or(5, |function| function.offset);
        let mut line = None;
        for inst in self.module.instructions_from(from) {
            match inst.op() {
                Some(Op::Line) => line = Some(inst),
                Some(Op::NoLine) => line = None,
                _ => {} // the position stays in force
            }
            if inst.offset >= word {
                break;
            }
            if super::types::is_terminator(inst) {
                line = None;
            }
        }
        let line = line?;
        let [file, number, column, ..] = *line.operands() else { return None };
        let file = self.string(super::Id(file)).unwrap_or("?").to_owned();
        Some(SourcePosition { file, line: number, column })
    }
}

/// The block of `function` that the instruction at word `word` belongs to.
fn block_at<'f, 'm>(function: &'f Function<'m>, word: u32) -> Option<&'f Block<'m>> {
    let after = function.blocks.partition_point(|block| block.offset <= word);
    let block = function.blocks.get(after.checked_sub(1)?)?;
    let last = block.terminator().map_or(block.offset, |inst| inst.offset);
    (word <= last).then_some(block)
}
