//! The place of an instruction of an LLVM module, for diagnostics.

use crate::ffi::{Func, Value};
use splitbar_passes::diagnostic::{Diagnostic, SourcePosition};

/// Points a diagnostic at an instruction of `function`.
pub(super) fn at<'c>(
    diagnostic: Diagnostic,
    function: Func<'c>,
    instruction: Value<'c>,
) -> Diagnostic {
    let mut located = diagnostic;
    located.location.function = Some(function.name());
    let block = instruction.block().name();
    located.location.block = (!block.is_empty()).then_some(block);
    located.location.instruction = Some(instruction.print());
    located.location.source = source(instruction);
    located
}

/// Where the source of `instruction` stands.
pub(super) fn source(instruction: Value<'_>) -> Option<SourcePosition> {
    let place = instruction.source_place()?;
    Some(SourcePosition {
        file: place.file,
        line: place.line,
        column: place.column,
        end: None,
        text: None,
        inlined_at: Vec::new(),
    })
}
