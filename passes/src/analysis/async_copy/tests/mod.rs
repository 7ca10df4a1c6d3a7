//! Answers for small functions, and for random ones against a machine that looks at every copy in
//! flight.

mod cases;
mod growth;
mod machine;
mod program;
mod random;
mod zeros;

use super::{AsyncCopies, Input, find};
use crate::analysis::cfg::Cfg;
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::analysis::uniformity::memory::Memory;

const ANNOTATIONS: &str = "
    OpDecorate %index 11 29
    OpDecorate %group_number 11 26
    OpDecorate %block 2
    OpDecorate %numbers 6 4
    OpMemberDecorate %block 0 35 0
    OpDecorate %source 34 0
    OpDecorate %source 33 0
    OpDecorate %result 34 0
    OpDecorate %result 33 1
";

/// A ring of four rows and a single row of 64 words, a buffer to copy from and one to write to.
const GLOBALS: &str = "
    %u4 = OpConstant %uint 4
    %u64 = OpConstant %uint 64
    %row = OpTypeArray %uint %u64
    %rows = OpTypeArray %row %u4
    %rows_pointer = OpTypePointer 4 %rows
    %row_pointer = OpTypePointer 4 %row
    %shared_uint = OpTypePointer 4 %uint
    %ring = OpVariable %rows_pointer 4
    %single = OpVariable %row_pointer 4
    %numbers = OpTypeRuntimeArray %uint
    %block = OpTypeStruct %numbers
    %block_pointer = OpTypePointer 12 %block
    %global_uint = OpTypePointer 12 %uint
    %source = OpVariable %block_pointer 12
    %result = OpVariable %block_pointer 12
    %in_uint = OpTypePointer 1 %uint
    %index = OpVariable %in_uint 1
    %vector = OpTypeVector %uint 3
    %in_vector = OpTypePointer 1 %vector
    %group_number = OpVariable %in_vector 1
    %everything = OpConstant %uint 328
";

/// The module of `%main` with `body`, behind `%lane`, LocalInvocationIndex, and the variables `%i`
/// and `%stage`.
fn module(annotations: &str, body: &str) -> Assembled {
    module_with(annotations, "", body)
}

/// As [`module`], with more declarations.
fn module_with(annotations: &str, globals: &str, body: &str) -> Assembled {
    let text = format!(
        "{GLOBALS}{globals}
        %main = OpFunction %void 0 %fn
        %start = OpLabel
        %i = OpVariable %ptr 7
        %stage = OpVariable %ptr 7
        %lane = OpLoad %uint %index
        {body}
        OpReturn
        OpFunctionEnd"
    );
    assemble(&format!("{ANNOTATIONS}{annotations}"), &text)
}

/// What is found in it.
fn found(assembled: &Assembled) -> AsyncCopies {
    let (declarations, constants) = declared(&assembled.module);
    let entry = &declarations.entry_points[0];
    let size = declarations.workgroup_size(entry, &constants);
    let memory = Memory::analyze(&declarations);
    let function = declarations.function(entry.function).unwrap();
    let cfg = Cfg::analyze(declarations.module, function);
    find(Input {
        declarations: &declarations,
        constants: &constants,
        memory: &memory,
        function,
        cfg: &cfg,
        size,
    })
}

/// A copy of one word of each invocation from `%source` to `destination` (indices and all), with
/// ids that end in `tag`.
fn copy(tag: &str, destination: &str) -> String {
    format!(
        "%from{tag} = OpAccessChain %global_uint %source %u0 %lane
        %value{tag} = OpLoad %uint %from{tag}
        %to{tag} = OpAccessChain %shared_uint {destination} %lane
        OpStore %to{tag} %value{tag}\n"
    )
}

/// A load of one word of `place`.
fn read(tag: &str, place: &str) -> String {
    format!(
        "%at{tag} = OpAccessChain %shared_uint {place} %u7
        %read{tag} = OpLoad %uint %at{tag}\n"
    )
}
