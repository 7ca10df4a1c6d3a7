//! Generated entry points of any size: shapes of control flow that are deep, wide or tangled, with
//! split barriers in them.

use std::fmt::Write;

const HEAD: &str = r#"; Version: 1.6
OpCapability Shader
OpCapability SplitBarrierEXT
OpExtension "SPV_EXT_split_barrier"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %index
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %push Block
OpMemberDecorate %push 0 Offset 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%in_uint = OpTypePointer Input %uint
%index = OpVariable %in_uint Input
%push = OpTypeStruct %uint
%push_ptr = OpTypePointer PushConstant %push
%push_uint = OpTypePointer PushConstant %uint
%constants = OpVariable %push_ptr PushConstant
%local = OpTypePointer Function %uint
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%none = OpConstant %uint 0
%u64 = OpConstant %uint 64
%tile_array = OpTypeArray %uint %u64
%tile_ptr = OpTypePointer Workgroup %tile_array
%shared = OpTypePointer Workgroup %uint
%tile = OpVariable %tile_ptr Workgroup
"#;

const START: &str = "%main = OpFunction %void None %fn
%start = OpLabel
%flag = OpVariable %local Function %u0
%lane = OpLoad %uint %index
%address = OpAccessChain %push_uint %constants %u0
%limit = OpLoad %uint %address
";

const RELAXED_PAIR: &str =
    "OpControlBarrierArriveEXT %u2 %u2 %none\nOpControlBarrierWaitEXT %u2 %u2 %none\n";

const PAIR: &str =
    "OpControlBarrierArriveEXT %u2 %u2 %release\nOpControlBarrierWaitEXT %u2 %u2 %acquire\n";

/// A name and what writes the entry point with about so many blocks.
pub(crate) type Shape = (&'static str, fn(usize) -> String);

/// All of them.
pub(crate) const SHAPES: &[Shape] = &[
    ("ifs one in the other", nested_ifs),
    ("ifs one after the other", ifs),
    ("loops one in the other", nested_loops),
    ("loops one after the other", loops),
    ("irreducible loops", irreducible),
    ("pairs in a row", pairs),
    ("cases of one switch", switch),
    ("calls of functions with barriers", calls),
    ("early returns", returns),
    ("pairs of one block", pairs_of_one_block),
    ("pairs around work in one block", work_of_one_block),
    ("arrives without a wait in one block", dangling),
    ("fences of one block", fences),
    ("control barriers in one window", barriers_in_a_window),
    ("arrives before one wait", arrives_before_a_wait),
    ("waits after one arrive", waits_after_an_arrive),
];

fn module(body: &str, functions: &str) -> String {
    [HEAD, START, body, "OpReturn\nOpFunctionEnd\n", functions].concat()
}

/// A condition on the dispatch for even `number`, on the invocation for odd ones.
fn condition(text: &mut String, number: usize) {
    let value = if number.is_multiple_of(2) {
        "limit"
    } else {
        "lane"
    };
    let _ = writeln!(text, "%c{number} = OpULessThan %bool %{value} %u1");
}

fn nested_ifs(blocks: usize) -> String {
    let depth = blocks / 2;
    let mut text = String::new();
    for at in 0..depth {
        condition(&mut text, at);
        let _ = writeln!(
            text,
            "OpSelectionMerge %e{at} None\nOpBranchConditional %c{at} %t{at} %e{at}\n%t{at} = OpLabel"
        );
    }
    text.push_str(PAIR);
    for at in (0..depth).rev() {
        let _ = writeln!(text, "OpBranch %e{at}\n%e{at} = OpLabel");
    }
    module(&text, "")
}

fn ifs(blocks: usize) -> String {
    let mut text = String::new();
    for at in 0..blocks / 2 {
        let _ = writeln!(
            text,
            "%v{at} = OpLoad %uint %flag\n%c{at} = OpIEqual %bool %v{at} %limit"
        );
        let _ = writeln!(
            text,
            "OpSelectionMerge %e{at} None\nOpBranchConditional %c{at} %t{at} %e{at}\n%t{at} = OpLabel\nOpStore %flag %limit\n{PAIR}OpBranch %e{at}\n%e{at} = OpLabel"
        );
    }
    module(&text, "")
}

fn open_loop(text: &mut String, at: usize) {
    let _ = writeln!(
        text,
        "OpBranch %h{at}\n%h{at} = OpLabel\nOpLoopMerge %e{at} %n{at} None\nOpBranch %b{at}\n%b{at} = OpLabel"
    );
}

fn close_loop(text: &mut String, at: usize) {
    let _ = writeln!(
        text,
        "OpBranch %n{at}\n%n{at} = OpLabel\n%v{at} = OpLoad %uint %flag\n%w{at} = OpIAdd %uint %v{at} %u1\nOpStore %flag %w{at}"
    );
    let _ = writeln!(
        text,
        "%c{at} = OpULessThan %bool %w{at} %limit\nOpBranchConditional %c{at} %h{at} %e{at}\n%e{at} = OpLabel"
    );
}

fn nested_loops(blocks: usize) -> String {
    let mut text = String::new();
    (0..blocks / 4).for_each(|at| open_loop(&mut text, at));
    text.push_str(PAIR);
    (0..blocks / 4)
        .rev()
        .for_each(|at| close_loop(&mut text, at));
    module(&text, "")
}

fn loops(blocks: usize) -> String {
    let mut text = String::new();
    for at in 0..blocks / 4 {
        open_loop(&mut text, at);
        text.push_str(PAIR);
        close_loop(&mut text, at);
    }
    module(&text, "")
}

/// Each block goes to the next but one or two, and every fourth one back into the middle of what
/// came before.
fn irreducible(blocks: usize) -> String {
    let mut text = "OpBranch %l0\n".to_owned();
    for at in 0..blocks {
        let _ = writeln!(text, "%l{at} = OpLabel");
        if at.is_multiple_of(16) {
            text.push_str(PAIR);
        }
        condition(&mut text, at);
        let (near, far) = (at + 1, at + 2);
        let far = if at % 4 == 3 { at - 2 } else { far.min(blocks) };
        let _ = writeln!(text, "OpBranchConditional %c{at} %l{near} %l{far}");
    }
    let _ = writeln!(text, "%l{blocks} = OpLabel");
    module(&text, "")
}

fn pairs(blocks: usize) -> String {
    let mut text = String::new();
    for at in 0..blocks {
        let _ = writeln!(text, "{PAIR}OpBranch %l{at}\n%l{at} = OpLabel");
    }
    module(&text, "")
}

fn switch(blocks: usize) -> String {
    module(&cases(blocks, PAIR), "")
}

/// Switches of many cases, each with `inside`: an instruction has at most 65,535 words.
fn cases(blocks: usize, inside: &str) -> String {
    const CASES: usize = 20_000;
    let mut text = String::new();
    for first in (0..blocks).step_by(CASES) {
        let cases = first..blocks.min(first + CASES);
        let _ = write!(
            text,
            "OpSelectionMerge %e{first} None\nOpSwitch %limit %e{first}"
        );
        for at in cases.clone() {
            let _ = write!(text, " {at} %l{at}");
        }
        text.push('\n');
        for at in cases {
            let _ = writeln!(text, "%l{at} = OpLabel\n{inside}OpBranch %e{first}");
        }
        let _ = writeln!(text, "%e{first} = OpLabel");
    }
    text
}

fn calls(blocks: usize) -> String {
    let mut text = String::new();
    for at in 0..blocks {
        let _ = writeln!(
            text,
            "%r{at} = OpFunctionCall %void %f{}\nOpBranch %l{at}\n%l{at} = OpLabel",
            at % 8
        );
    }
    let mut functions = String::new();
    for at in 0..8 {
        let _ = writeln!(
            functions,
            "%f{at} = OpFunction %void None %fn\n%s{at} = OpLabel\n{PAIR}OpReturn\nOpFunctionEnd"
        );
    }
    module(&text, &functions)
}

fn returns(blocks: usize) -> String {
    let mut text = String::new();
    for at in 0..blocks / 2 {
        condition(&mut text, at);
        let _ = writeln!(
            text,
            "OpSelectionMerge %e{at} None\nOpBranchConditional %c{at} %t{at} %e{at}\n%t{at} = OpLabel\nOpReturn\n%e{at} = OpLabel\n{PAIR}"
        );
    }
    module(&text, "")
}

fn pairs_of_one_block(pairs: usize) -> String {
    module(&PAIR.repeat(pairs), "")
}

/// Each pair has a store of an element before it and a load of another one inside.
fn work_of_one_block(pairs: usize) -> String {
    let mut text =
        "%mine = OpAccessChain %shared %tile %lane\n%first = OpAccessChain %shared %tile %u0\n"
            .to_owned();
    for at in 0..pairs {
        let _ = writeln!(
            text,
            "OpStore %mine %limit
OpControlBarrierArriveEXT %u2 %u2 %release
%v{at} = OpLoad %uint %first
OpControlBarrierWaitEXT %u2 %u2 %acquire"
        );
    }
    module(&text, "")
}

fn dangling(arrives: usize) -> String {
    let arrives = "OpControlBarrierArriveEXT %u2 %u2 %release\n".repeat(arrives);
    module(&arrives, "")
}

/// Fences on both sides of relaxed pairs.
fn fences(pairs: usize) -> String {
    let text =
        format!("OpMemoryBarrier %u2 %release\n{RELAXED_PAIR}OpMemoryBarrier %u2 %acquire\n");
    module(&text.repeat(pairs), "")
}

fn barriers_in_a_window(barriers: usize) -> String {
    let text = format!(
        "OpControlBarrierArriveEXT %u2 %u2 %release\n{}OpControlBarrierWaitEXT %u2 %u2 %acquire\n",
        "OpControlBarrier %u2 %u2 %none\n".repeat(barriers)
    );
    module(&text, "")
}

fn arrives_before_a_wait(arrives: usize) -> String {
    let text = cases(arrives, "OpControlBarrierArriveEXT %u2 %u2 %release\n");
    module(
        &format!("{text}OpControlBarrierWaitEXT %u2 %u2 %acquire\n"),
        "",
    )
}

fn waits_after_an_arrive(waits: usize) -> String {
    let text = cases(waits, "OpControlBarrierWaitEXT %u2 %u2 %acquire\n");
    module(
        &format!("OpControlBarrierArriveEXT %u2 %u2 %release\n{text}"),
        "",
    )
}
