//! Bodies in short lines, and where the halves of barriers stand in them after a pass.

use super::registry::{Pass, PassOptions};
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::diagnostic::Diagnostics;
use crate::module::{Declarations, Module};
use spirv::Op;

const GLOBALS: &str = "
    OpCapability 4
    OpCapability 61
    %shared_ptr = OpTypePointer 4 %uint
    %one = OpVariable %shared_ptr 4
    %two = OpVariable %shared_ptr 4
    %buffer_ptr = OpTypePointer 12 %uint
    %data = OpVariable %buffer_ptr 12
    %built_in = OpTypePointer 1 %uint
    %lane = OpVariable %built_in 1
    %device = OpConstant %uint 1
    %buffers = OpConstant %uint 72
    %everything = OpConstant %uint 328
    %arrive_all = OpConstant %uint 324
    %wait_all = OpConstant %uint 322
    %arrive_cross = OpConstant %uint 580
    %wait_cross = OpConstant %uint 578
";

const GLOBAL_NAMES: [&str; 6] = ["one", "two", "data", "out", "cond", "lane"];

/// The entry function with this body.
pub(super) fn module(body: &str) -> Assembled {
    let text = format!(
        "%main = OpFunction %void 0 %fn\n%entry = OpLabel\n{body}\nOpReturn\nOpFunctionEnd"
    );
    let short = text
        .replace(
            "arrive.all",
            "OpControlBarrierArriveINTEL %group %group %arrive_all",
        )
        .replace(
            "wait.all",
            "OpControlBarrierWaitINTEL %group %group %wait_all",
        )
        .replace(
            "arrive.cross",
            "OpControlBarrierArriveINTEL %group %group %arrive_cross",
        )
        .replace(
            "wait.cross",
            "OpControlBarrierWaitINTEL %group %group %wait_cross",
        )
        .replace(
            "arrive.none",
            "OpControlBarrierArriveINTEL %group %group %none",
        )
        .replace("wait.none", "OpControlBarrierWaitINTEL %group %group %none");
    assemble(GLOBALS, &short)
}

/// What a pass makes of a module: `A` and `W` for halves, `r` and `w` with the name of a variable
/// for accesses (`own` for one of the pass), `a` for atomic operations, `m` for OpMemoryBarrier,
/// `.` for arithmetic, `|` for the begin of a block.
pub(super) fn short_of(
    pass: &Pass,
    assembled: &Assembled,
    options: &PassOptions,
) -> Result<String, Diagnostics> {
    let (declarations, _) = declared(&assembled.module);
    let mut found = Diagnostics::new();
    let run = |module: &Module<'_>, declarations: &Declarations<'_>, found: &mut Diagnostics| {
        pass.run(module, declarations, options, found)
    };
    let edited = run(&assembled.module, &declarations, &mut found)?;
    let new = edited
        .as_ref()
        .map_or(&assembled.module, |edited| &edited.module);
    let (again, _) = declared(new);
    assert!(
        run(new, &again, &mut found)?.is_none(),
        "a second run finds something"
    );
    let mut text = Vec::new();
    let instructions = new.instructions();
    for inst in instructions.skip_while(|inst| inst.op() != Some(Op::Function)) {
        let variable = || {
            let pointer = inst.id(0).unwrap();
            let name = GLOBAL_NAMES
                .iter()
                .find(|name| assembled.id(name) == pointer);
            name.copied().unwrap_or("own")
        };
        text.push(match inst.op() {
            Some(Op::ControlBarrierArriveINTEL) => "A".to_owned(),
            Some(Op::ControlBarrierWaitINTEL) => "W".to_owned(),
            Some(Op::ControlBarrier) => "B".to_owned(),
            Some(Op::MemoryBarrier) => "m".to_owned(),
            Some(Op::Load) => format!("r{}", variable()),
            Some(Op::Store) => format!("w{}", variable()),
            Some(Op::AtomicIAdd) => "a".to_owned(),
            Some(Op::IAdd | Op::GroupNonUniformIAdd) => ".".to_owned(),
            Some(Op::IMul) => "*".to_owned(),
            Some(Op::Label) => "|".to_owned(),
            _ => continue,
        });
    }
    Ok(text.join(" "))
}

/// Numbers the `%#` of a text, so that results have names of their own.
fn numbered(text: &str) -> String {
    let mut parts = text.split("%#");
    let mut out = parts.next().unwrap().to_owned();
    for (number, part) in parts.enumerate() {
        out.push_str(&format!("%n{number}{part}"));
    }
    out
}

/// A body of short lines: `r x`, `w x`, `rv x` (volatile), `.`, `atomic x`, `release x`, `use v`
/// (arithmetic with the value v), `keep x v` (writes the value v), and
/// whatever the assembler takes.
pub(super) fn body(lines: &str) -> String {
    let lines = lines.split([';', '\n']).map(str::trim);
    let lines = lines.filter(|line| !line.is_empty()).map(|line| {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "r" => format!("%# = OpLoad %uint %{rest}"),
            "rv" => format!("%# = OpLoad %uint %{rest} 1"),
            "w" => format!("OpStore %{rest} %u1"),
            "." => "%# = OpIAdd %uint %u1 %u2".to_owned(),
            "use" => format!("%# = OpIMul %uint %{rest} %u2"),
            "keep" => {
                let (variable, value) = rest.split_once(' ').unwrap();
                format!("OpStore %{variable} %{value}")
            }
            "atomic" => format!("%# = OpAtomicIAdd %uint %{rest} %group %none %u1"),
            "release" => format!("%# = OpAtomicIAdd %uint %{rest} %device %release %u1"),
            "subgroup" => "%# = OpGroupNonUniformIAdd %uint %subgroup 0 %u1".to_owned(),
            "workgroup" => "%# = OpGroupNonUniformIAdd %uint %group 0 %u1".to_owned(),
            _ => line.to_owned(),
        }
    });
    numbered(&lines.collect::<Vec<_>>().join("\n"))
}

/// A loop with `head` in its header and `work` in its body, whose condition is the same everywhere.
pub(super) fn around(before: &str, head: &str, work: &str, behind: &str) -> String {
    format!(
        "{before}; OpBranch %head; %head = OpLabel
        %v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0; {head}
        OpLoopMerge %end %next 0; OpBranchConditional %c %work %end
        %work = OpLabel; {work}; OpBranch %next
        %next = OpLabel; OpBranch %head
        %end = OpLabel; {behind}"
    )
}
