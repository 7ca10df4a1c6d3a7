//! Files that say something wrong, or nothing: each must fail.

use super::verdict::{blessed, judge};
use anyhow::{Context, Result, ensure};
use splitbar_harness::{Trial, trial};

/// A pair with a window, and after it what a file may expect.
const HEAD: &str = "; RUN: --fuse-split-barriers
; A pair becomes one barrier, where it waits.
OpCapability Shader
OpCapability SplitBarrierEXT
OpExtension \"SPV_EXT_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\"
OpExecutionMode %main LocalSize 64 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%group = OpConstant %uint 2
%release = OpConstant %uint 260
%acquire = OpConstant %uint 258
%main = OpFunction %void None %fn
%entry = OpLabel
OpControlBarrierArriveEXT %group %group %release
%sum = OpIAdd %uint %group %group
OpControlBarrierWaitEXT %group %group %acquire
OpReturn
OpFunctionEnd
";

/// The result of the pass.
const BECOMES: &str = "; BECOMES:
;   %entry = OpLabel
;   %sum = OpIAdd %uint %group %group
;   OpControlBarrier %group %group %uint_264
;   OpReturn
";

/// The tests.
pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, run: fn() -> Result<()>| trial(format!("runner/{name}"), run);
    vec![
        trial("what_is_right_passes", what_is_right_passes),
        trial("what_is_wrong_fails", what_is_wrong_fails),
        trial("blessing_writes_blocks", blessing_writes_blocks),
    ]
}

fn what_is_right_passes() -> Result<()> {
    for end in [
        BECOMES,
        "; CHECK: OpIAdd\n; NEXT: OpControlBarrier %group\n; NOT: OpControlBarrierWait\n",
        "; CHECK: OpLabel\n; COUNT: 1 OpControlBarrier\n; LEAST: 1 OpIAdd\n",
    ] {
        judge(&format!("{HEAD}{end}")).with_context(|| end.to_owned())?;
    }
    let unchanged = HEAD.replace("--fuse-split-barriers", "--split-control-barriers");
    judge(&format!("{unchanged}; UNCHANGED\n"))
}

/// Each end of the file, and each change of its head, with words of what is said then.
fn what_is_wrong_fails() -> Result<()> {
    for (end, words) in [
        ("", "expects nothing"),
        ("; UNCHANGED\n", "has changed"),
        ("; CHECK: OpControlBarrierWait\n", "is not found"),
        ("; NOT: OpControlBarrier\n", "no line wanted"),
        (
            "; CHECK: OpIAdd\n; NEXT: OpReturn\n",
            "not on the next line",
        ),
        ("; CHECK: (\n", "regex"),
        ("; EXPECT: OpIAdd\n", "no directive EXPECT"),
        ("; check: OpIAdd\n", "in capitals"),
        ("; BECOMES:\n", "differs in its line 1"),
        ("; MODULE:\n;   OpNop\n", "differs in its line 1"),
        ("; CHECK: OpIAdd\n;   OpNop\n", "in no block"),
        ("; error: SB0300\n; CHECK: OpIAdd\n", "expected"),
        ("; BREAKS: SB1104\n; CHECK: OpIAdd\n", "BREAKS says"),
        ("; RUN: --fuse-split-barriers\n; CHECK: OpIAdd\n", "one RUN"),
    ] {
        fails(&format!("{HEAD}{end}"), words)?;
    }
    for (line, other, words) in [
        ("--fuse-split-barriers", "--no-such-pass", "no pass"),
        ("--fuse-split-barriers", "--fuse-split-barriers=x", "value"),
        ("--fuse-split-barriers", "fuse-split-barriers", "not a flag"),
        ("--fuse-split-barriers", "", "no pass is run"),
        (
            "--fuse-split-barriers",
            "--split-control-barriers",
            "UNCHANGED",
        ),
        ("; RUN: --fuse-split-barriers", "", "no RUN"),
        (
            "; A pair becomes one barrier, where it waits.",
            "",
            "no sentence",
        ),
        ("OpCapability Shader", "OpNoSuch", "OpNoSuch"),
        ("%group %group %acquire", "%group %group %release", "BREAKS"),
    ] {
        ensure!(HEAD.contains(line), "{line}");
        fails(&format!("{}{BECOMES}", HEAD.replace(line, other)), words)?;
    }
    // One word of one line.
    for (right, wrong) in [("OpIAdd", "OpISub"), ("uint_264", "uint_8"), ("sum", "add")] {
        let end = BECOMES.replace(right, wrong);
        fails(&format!("{HEAD}{end}"), "differs in its line")?;
    }
    Ok(())
}

fn blessing_writes_blocks() -> Result<()> {
    let wrong = "; BECOMES:\n;   OpNop\n;   OpReturn\n";
    ensure!(blessed(&format!("{HEAD}{wrong}"))? == format!("{HEAD}{BECOMES}"));
    let right = format!("{HEAD}{BECOMES}\n; words");
    ensure!(blessed(&right)? == format!("{right}\n"));
    // What a person wrote stays, and may be wrong.
    let checked = format!("{HEAD}; CHECK: OpNop\n");
    ensure!(blessed(&checked)? == checked);
    Ok(())
}

fn fails(text: &str, words: &str) -> Result<()> {
    match judge(text) {
        Ok(()) => anyhow::bail!("it passes, and should say {words:?}:\n{text}"),
        Err(error) => {
            let said = format!("{error:#}");
            ensure!(
                said.contains(words),
                "{said}\nshould say {words:?}:\n{text}"
            );
            Ok(())
        }
    }
}
