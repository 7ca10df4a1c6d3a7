//! The source text that a module carries, line by line: OpSource with its continuations, and DebugSource.

use super::{Declarations, Id, Inst};
use spirv::Op;

/// Bytes of source text that are looked at.
const MOST_BYTES: usize = 1 << 20;

/// Index of the file in OpSource, and of the text behind it.
const FILE: usize = 2;
const TEXT: usize = 3;

impl Declarations<'_> {
    /// Line `number` (1-based) of the text that OpSource gives for `file`.
    pub(super) fn line_of_file(&self, file: Id, number: u32) -> Option<String> {
        let mut insts = self
            .module
            .instructions()
            .take_while(|inst| is_before_names(*inst))
            .skip_while(|inst| inst.op() != Some(Op::Source) || inst.id(FILE) != Ok(file));
        let first = insts.next().filter(|inst| inst.operands().len() > TEXT)?;
        let mut text = first.string(TEXT);
        for more in insts.take_while(|inst| inst.op() == Some(Op::SourceContinued)) {
            if text.len() > MOST_BYTES {
                break;
            }
            text.push_str(&more.string(0));
        }
        line(&text, number)
    }

    /// Line `number` of the text of the DebugSource `id`.
    pub(super) fn line_of_debug_source(&self, id: Id, number: u32) -> Option<String> {
        let text = self.module.def(id)?.operands().get(TEXT)?;
        line(self.string(Id(*text))?, number)
    }
}

/// Whether `inst` stands in front of the names (SPIR-V 2.4): the sources do too.
fn is_before_names(inst: Inst<'_>) -> bool {
    matches!(
        inst.op(),
        Some(
            Op::Capability
                | Op::Extension
                | Op::ExtInstImport
                | Op::MemoryModel
                | Op::EntryPoint
                | Op::ExecutionMode
                | Op::ExecutionModeId
                | Op::String
                | Op::Source
                | Op::SourceExtension
                | Op::SourceContinued
        )
    )
}

/// glslang puts comments about itself and a #line in front of the text.
fn line(text: &str, number: u32) -> Option<String> {
    let mut lines = text.lines().peekable();
    while lines
        .next_if(|line| line.starts_with("// OpModuleProcessed "))
        .is_some()
    {}
    lines.next_if(|line| *line == "#line 1");
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    lines.nth(index).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_author() {
        let text = "// OpModuleProcessed entry-point main\n#line 1\nfirst\nsecond";
        assert_eq!(line(text, 2).as_deref(), Some("second"));
        assert_eq!(line("first\r\nsecond", 1).as_deref(), Some("first"));
        assert_eq!((line(text, 0), line(text, 3)), (None, None));
    }
}
