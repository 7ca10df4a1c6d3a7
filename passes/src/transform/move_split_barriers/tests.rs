//! Bodies in short lines, and where the halves stand in them afterwards.

use super::*;
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::transform::registry::{MOVE_SPLIT_BARRIERS, Pass};
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

pub(in crate::transform) fn module(body: &str) -> Assembled {
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

/// What the pass makes of a body.
fn moved_with(body: &str, options: &PassOptions) -> String {
    let pass = MOVE_SPLIT_BARRIERS;
    short_after(pass, body, options)
}

/// What a pass makes of a body: `A` and `W` for halves, `r` and `w` with the name of a variable
/// for accesses (`own` for one of the pass), `a` for atomic operations, `m` for OpMemoryBarrier,
/// `.` for arithmetic, `|` for the begin of a block.
pub(in crate::transform) fn short_after(pass: &Pass, body: &str, options: &PassOptions) -> String {
    let assembled = module(body);
    short_of(pass, &assembled, options).unwrap()
}

/// As [`short_after`], of a module with the names that it has.
pub(in crate::transform) fn short_of(
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

fn moved(body: &str) -> String {
    moved_with(body, &PassOptions::None)
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
pub(in crate::transform) fn body(lines: &str) -> String {
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

fn short(lines: &str) -> String {
    moved(&body(lines))
}

#[test]
fn halves_go_as_far_as_nothing_conflicts() {
    assert_eq!(
        short("w one; .; w out; arrive; wait; .; r cond; r one"),
        "| wone A . wout . rcond W rone"
    );
    // A write that others may still read the old value of, and a read that comes before a write.
    assert_eq!(short("r one; arrive; wait; w one"), "| rone A W wone");
    assert_eq!(short("w one; arrive; wait; w one"), "| wone A W wone");
    // Two reads are free.
    assert_eq!(short("r one; arrive; wait; r one; ."), "| A rone rone . W");
}

#[test]
fn variables_of_the_workgroup_do_not_overlap() {
    assert_eq!(
        short("w one; w two; arrive; wait; r cond; r one"),
        "| wone A wtwo rcond W rone"
    );
}

#[test]
fn memory_that_the_barrier_does_not_name_is_free() {
    assert_eq!(
        short("w one; w data; arrive; wait; r data; r one"),
        "| wone A wdata rdata W rone"
    );
    let text = body("w one; w data; arrive; wait; r data; r one");
    assert_eq!(
        moved_with(&text, &PassOptions::AllMemory),
        "| wone wdata A W rdata rone"
    );
    assert_eq!(
        short("w one; w data; arrive.all; wait.all; r data; r one"),
        "| wone wdata A W rdata rone"
    );
}

#[test]
fn the_end_of_a_function_reads_nothing() {
    let text = body("arrive; wait; w data");
    assert_eq!(moved_with(&text, &PassOptions::AllMemory), "| A wdata W");
}

#[test]
fn neighbours_compose() {
    // The load comes into the first window; the store must not come into the second.
    assert_eq!(
        short("arrive; wait; r one; arrive; wait; w one"),
        "| A rone W A W wone"
    );
    // The other way round: the store comes into the second window first.
    assert_eq!(
        short("w one; arrive; wait; .; .; r one; .; .; .; arrive; wait; w two; .; r two"),
        "| wone A W A . . rone . . . wtwo . rtwo W"
    );
}

#[test]
fn a_barrier_of_one_class_orders_its_accesses_beside_one_of_two() {
    // Buffers are ordered by the first barrier, though it does not order CrossWorkgroup memory.
    assert_eq!(
        short("rv data; arrive.all; wait.all; arrive.cross; wait.cross; w data"),
        "| rdata A W A wdata W"
    );
}

#[test]
fn a_memory_barrier_beside_a_barrier_without_semantics() {
    assert_eq!(
        short("w data; OpMemoryBarrier %group %buffers; .; arrive.none; wait.none; .; r data"),
        "| wdata m A . . W rdata"
    );
    // Without it nothing is ordered.
    assert_eq!(
        short("w data; .; arrive.none; wait.none; .; r data"),
        "| A wdata . . rdata W"
    );
}

#[test]
fn an_atomic_operation_may_publish_what_others_did() {
    // What is written before the barrier is known to whoever sees the counter behind it.
    assert_eq!(
        short("w data; .; arrive.all; wait.all; .; release two"),
        "| wdata A . . W a"
    );
    assert_eq!(
        short("w one; .; arrive; wait; .; release two"),
        "| wone A . . W a"
    );
    // A counter of the workgroup that orders nothing is only a read and a write of itself.
    assert_eq!(
        short("w one; .; arrive; wait; .; atomic two"),
        "| A wone . . W a"
    );
    assert_eq!(
        short("atomic two; .; arrive; wait; .; w two"),
        "| a A . . W wtwo"
    );
    // Unless fences beside it order the rest: an invocation may spin on it in its window.
    assert_eq!(
        short(
            "w one; .; arrive; OpMemoryBarrier %group %both; wait; OpMemoryBarrier %group %both
            atomic two"
        ),
        "| wone A . m W m a"
    );
}

#[test]
fn what_orders_itself_stops() {
    assert_eq!(
        short(".; rv two; .; arrive; wait; .; rv two; ."),
        "| . rtwo A . . W rtwo ."
    );
    assert_eq!(
        short(".; barrier; .; arrive; wait; .; barrier; ."),
        "| . B A . . W B ."
    );
    assert_eq!(
        short(".; arrive; wait; .; arrive; wait; ."),
        "| A . . W A . W"
    );
    assert_eq!(short("subgroup; arrive; wait; subgroup"), "| A . . W");
    assert_eq!(short("workgroup; arrive; wait; workgroup"), "| . A W .");
    assert_eq!(
        short("arrive.sub; wait.sub; .; arrive; wait; .; arrive.sub; wait.sub"),
        "| A W A . . W A W"
    );
}

#[test]
fn the_next_kernel_reads_what_this_one_wrote() {
    assert_eq!(
        short("w data; .; arrive.all; wait.all; ."),
        "| wdata A . . W"
    );
}

/// A branch on a value that is the same everywhere, around `then`.
pub(in crate::transform) fn branch(then: &str) -> String {
    format!(
        "%v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0
        OpSelectionMerge %end 0; OpBranchConditional %c %then %end
        %then = OpLabel; {then}; OpBranch %end; %end = OpLabel"
    )
}

#[test]
fn across_branches() {
    let around = |then: &str| short(&format!("w one; {}; arrive; wait; .; r one", branch(then)));
    assert_eq!(around(".; w two"), "| wone A rcond | . wtwo | . W rone");
    assert_eq!(around(".; w one"), "| wone rcond | . wone | A . W rone");
    assert_eq!(around("atomic two"), "| wone rcond | a | A . W rone");
    let behind = |then: &str| short(&format!("w one; arrive; wait; {}; r one", branch(then)));
    assert_eq!(behind(".; w two"), "| wone A rcond | . wtwo | W rone");
    assert_eq!(behind(".; r one"), "| wone A rcond W | . rone | rone");
}

#[test]
fn a_barrier_in_a_branch_stays_there() {
    assert_eq!(
        short(&format!(".; {}; .", branch(".; arrive; wait; ."))),
        "| . rcond | A . . W | ."
    );
}

#[test]
fn an_early_end_is_a_wall() {
    let text = "
        .; %v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0
        OpSelectionMerge %end 0; OpBranchConditional %c %then %end
        %then = OpLabel; OpReturn; %end = OpLabel
        .; arrive; wait; .";
    assert_eq!(short(text), "| . rcond | | A . . W");
}

/// A loop with `head` in its header and `work` in its body, whose condition is the same everywhere.
pub(in crate::transform) fn around(before: &str, head: &str, work: &str, behind: &str) -> String {
    format!(
        "{before}; OpBranch %head; %head = OpLabel
        %v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0; {head}
        OpLoopMerge %end %next 0; OpBranchConditional %c %work %end
        %work = OpLabel; {work}; OpBranch %next
        %next = OpLabel; OpBranch %head
        %end = OpLabel; {behind}"
    )
}

#[test]
fn over_a_loop_and_not_into_it() {
    assert_eq!(
        short(&around("w one", "", ".; w two", ".; arrive; wait; r one")),
        "| wone A | rcond | . wtwo | | . W rone"
    );
    assert_eq!(
        short(&around("w one", "", "atomic two", "arrive; wait; r one")),
        "| wone | rcond | a | | A W rone"
    );
    assert_eq!(
        short(&around("w one; arrive; wait; .", "", "r one", "")),
        "| wone A . W | rcond | rone | |"
    );
}

const EIGHT: &str = ".; .; .; .; .; .; .; .";

#[test]
fn a_wait_goes_around_the_back_edge() {
    // Load, barrier, store: the store of the next iteration comes behind its first work.
    let work = format!("{EIGHT}; w one; r one; arrive; wait; .");
    assert_eq!(
        short(&around("", "", &work, "")),
        "| A | rcond | . . . . . . . . W wone rone A . | | W"
    );
    // Little to gain: the extra barrier is not worth it.
    assert_eq!(
        short(&around("", "", "w one; r one; arrive; wait; .", "")),
        "| | rcond | wone rone A . | W |"
    );
}

#[test]
fn a_loop_that_ends_with_its_condition() {
    let text = format!(
        "OpBranch %head; %head = OpLabel
        {EIGHT}; w one; r one; arrive; wait; .; %v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0
        OpLoopMerge %end %head 0; OpBranchConditional %c %head %end
        %end = OpLabel; r two"
    );
    assert_eq!(
        short(&text),
        "| A | . . . . . . . . W wone rone A . rcond | W rtwo"
    );
}

#[test]
fn not_into_a_loop_with_two_ways_in() {
    let around = |inside: &str, behind: &str| {
        short(&format!(
            ".; %v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0
            OpBranchConditional %c %left %right
            %left = OpLabel; {inside}; OpBranch %right
            %right = OpLabel; .; OpBranchConditional %c %left %end
            %end = OpLabel; .; arrive; wait; {behind}"
        ))
    };
    assert_eq!(
        around("w one", "r one"),
        "| . rcond | wone | . | A . W rone"
    );
    assert_eq!(
        around("w one", "r two"),
        "| A . rcond | wone | . | . rtwo W"
    );
}

#[test]
fn a_loop_that_lanes_leave_by_different_exits_is_not_rotated() {
    // In the last iteration some return and the others go on behind the loop: two waits, and no
    // wave comes to both with all of its lanes.
    let leave = |condition: &str| {
        format!(
            "{EIGHT}; w one; r one; arrive; wait; {condition}
            OpSelectionMerge %go 0; OpBranchConditional %d %leave %go
            %leave = OpLabel; OpReturn; %go = OpLabel"
        )
    };
    let by_lane = leave("%l = OpLoad %uint %lane; %d = OpIEqual %bool %l %u0");
    let iterations = "%n = OpLoad %uint %data; keep cond n";
    assert_eq!(short_lane(&around(iterations, "", &by_lane, "")), "AW");
    let all = leave("%d = OpIEqual %bool %u1 %u2");
    assert_eq!(
        short(&around(iterations, "", &all, "")),
        "| rdata wcond A | rcond | . . . . . . . . W wone rone A | W | | | W"
    );
}

#[test]
fn not_into_an_inner_loop() {
    let inner = "%d = OpIEqual %bool %u1 %u2; OpBranch %inner; %inner = OpLabel; .
        OpLoopMerge %done %inner 0; OpBranchConditional %d %inner %done
        %done = OpLabel";
    let work = format!("arrive; wait; w one; r one; {inner}; {EIGHT}");
    assert_eq!(
        short(&around("", "", &work, "")),
        "| A | rcond | W wone rone A | . | . . . . . . . . | | W"
    );
    let work = format!("{EIGHT}; {inner}; w one; r one; arrive; wait; .");
    assert_eq!(
        short(&around("", "", &work, "")),
        "| A | rcond | . . . . . . . . | . | W wone rone A . | | W"
    );
}

#[test]
fn a_barrier_that_some_iterations_leave_out_is_not_rotated() {
    let work = format!(
        "{EIGHT}; OpSelectionMerge %join 0; OpBranchConditional %c %with %join
        %with = OpLabel; w one; r one; arrive; wait; OpBranch %join; %join = OpLabel; ."
    );
    assert_eq!(
        short(&around("", "", &work, "")),
        "| | rcond | . . . . . . . . | wone rone A W | . | |"
    );
}

#[test]
fn an_arrive_goes_around_the_back_edge() {
    let work = format!("arrive; wait; w one; r one; {EIGHT}");
    assert_eq!(
        short(&around("", "", &work, "")),
        "| A | rcond | W wone rone A . . . . . . . . | | W"
    );
}

#[test]
fn a_wait_behind_the_loop_orders_what_the_loop_left_open() {
    // A loop without an iteration had no barrier between the write and the read; now it has one.
    let work = format!("{EIGHT}; w one; r one; arrive; wait; .");
    let inner = around("", "", &work, "");
    assert_eq!(
        short(&format!("w two; arrive; wait; {inner}; r two")),
        "| A wtwo W A | rcond | . . . . . . . . W wone rone A . | | W rtwo"
    );
}

#[test]
fn a_loop_that_not_all_come_to_is_not_rotated() {
    // Nobody may execute the barrier here unless all do; but for the arrive in front of the loop
    // that is not known.
    let work = format!("{EIGHT}; w one; r one; arrive; wait; .");
    let inner = around("", "", &work, "")
        .replace("%end", "%out_of")
        .replace("%c ", "%in ");
    let inner = inner.replace("%c =", "%in =").replace("%v", "%w");
    let text = format!(
        "%v = OpLoad %uint %lane; %c = OpIEqual %bool %v %u0
        OpSelectionMerge %end 0; OpBranchConditional %c %then %end
        %then = OpLabel; {inner}; OpBranch %end; %end = OpLabel"
    );
    let found = short_lane(&text);
    assert_eq!(found.matches('A').count(), 1, "{found}");
}

/// As [`short`], for bodies that load a built-in.
fn short_lane(lines: &str) -> String {
    let text = body(lines);
    let assembled = module(&text);
    let (declarations, _) = declared(&assembled.module);
    let mut found = Diagnostics::new();
    let edited = run(
        &assembled.module,
        &declarations,
        &PassOptions::None,
        &mut found,
    )
    .unwrap();
    let new = edited
        .as_ref()
        .map_or(&assembled.module, |edited| &edited.module);
    let halves = new.instructions().filter_map(|inst| match inst.op() {
        Some(Op::ControlBarrierArriveINTEL) => Some('A'),
        Some(Op::ControlBarrierWaitINTEL) => Some('W'),
        _ => None,
    });
    halves.collect()
}

#[test]
fn pairs_that_are_no_simple_ones_stay() {
    // Two arrives of one wait.
    let text = format!("{}; .; wait; .", branch("arrive; .")).replace(
        "OpBranchConditional %c %then %end",
        "OpBranchConditional %c %then %else",
    );
    let text = text.replace(
        "%end = OpLabel",
        "%else = OpLabel; arrive; .; OpBranch %end; %end = OpLabel",
    );
    assert_eq!(short(&text), "| rcond | A . | A . | . W .");
}
