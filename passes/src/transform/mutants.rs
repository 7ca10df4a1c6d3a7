//! Each rule of motion left out: a litmus test notices. The program comes out another one, or the
//! checks that follow a pass refuse it.

use super::Fill;
use super::registry::{Pass, PassOptions};
use super::short::{around, body, module, short_of};
use crate::analysis::phases::mutant::{Rule, without};

/// Returns true if a pass gives the same program with the rule and without it.
fn is_noticed(rule: Rule, pass: &str, lines: &str) -> bool {
    let options = match pass {
        "fill-split-barrier-windows" => PassOptions::Fill(Fill::default()),
        _ => PassOptions::None,
    };
    let pass = Pass::named(pass).unwrap();
    let assembled = module(&body(lines));
    let right = short_of(pass, &assembled, &options).unwrap();
    match without(rule, || short_of(pass, &assembled, &options)) {
        Ok(found) => found != right,
        Err(refused) => refused.has_errors(),
    }
}

const MOVE: &str = "move-split-barriers";
const FILL: &str = "fill-split-barrier-windows";
const STAGE: &str = "prefetch-barrier-loop-loads";

/// A loop that loads a tile, stores it to shared memory, and reads it.
fn tiles(work: &str) -> String {
    format!(
        "OpBranch %head; %head = OpLabel; %i = OpPhi %uint %u0 %entry %j %next
        %c = OpULessThan %bool %i %u7
        OpLoopMerge %end %next 0; OpBranchConditional %c %work %end
        %work = OpLabel; %x = OpLoad %uint %data; keep one x; barrier; r one; {work}; barrier
        OpBranch %next; %next = OpLabel; %j = OpIAdd %uint %i %u1; OpBranch %head
        %end = OpLabel"
    )
}

#[test]
fn every_rule_is_needed() {
    let eight = ".; .; .; .; .; .; .; .";
    let inner = around(
        "",
        "",
        &format!("{eight}; w one; r one; arrive; wait; ."),
        "",
    );
    let inner = inner
        .replace("%end", "%out_of")
        .replace("%c ", "%in ")
        .replace("%v", "%w");
    let some = format!(
        "%v = OpLoad %uint %lane; %c = OpIEqual %bool %v %u0
        OpSelectionMerge %end 0; OpBranchConditional %c %then %end
        %then = OpLabel; {inner}; OpBranch %end; %end = OpLabel"
    );
    let bounded = tiles(".").replace(
        "%x = OpLoad %uint %data",
        "%in = OpULessThan %bool %i %u3; OpSelectionMerge %met 0
        OpBranchConditional %in %yes %met; %yes = OpLabel; %v = OpLoad %uint %data
        OpBranch %met; %met = OpLabel; %x = OpPhi %uint %u0 %work %v %yes",
    );
    let litmus = [
        (
            Rule::Neighbours,
            MOVE,
            "arrive; wait; r one; arrive; wait; w one".to_owned(),
        ),
        (
            Rule::MemoryBarriers,
            MOVE,
            "w data; OpMemoryBarrier %group %buffers; .; arrive.none; wait.none; .; r data"
                .to_owned(),
        ),
        (
            Rule::Publishes,
            MOVE,
            "w one; .; arrive; wait; .; release two".to_owned(),
        ),
        (
            Rule::Stops,
            MOVE,
            ".; rv two; .; arrive; wait; .; rv two; .".to_owned(),
        ),
        (
            Rule::Conflicts,
            MOVE,
            "r one; arrive; wait; w one".to_owned(),
        ),
        (
            Rule::Conflicts,
            FILL,
            "r one; w two; arrive; wait; w one; r two".to_owned(),
        ),
        (Rule::UniformFront, MOVE, some),
        (
            Rule::Values,
            FILL,
            "%x = OpLoad %uint %data; keep one x; arrive; wait; r one".to_owned(),
        ),
        (
            Rule::Values,
            FILL,
            "w one; arrive; wait; %x = OpLoad %uint %one; use x; .".to_owned(),
        ),
        (
            Rule::Shared,
            FILL,
            "w data; %x = OpLoad %uint %data; keep one x; arrive; wait; r one".to_owned(),
        ),
        (
            Rule::Own,
            FILL,
            "keep out u2; %x = OpLoad %uint %out; keep one x; arrive; wait; r one".to_owned(),
        ),
        (Rule::Unchanged, STAGE, tiles("w data")),
        (Rule::Guarded, STAGE, tiles(".")),
        (Rule::Arms, STAGE, bounded),
    ];
    for (rule, pass, lines) in litmus {
        assert!(
            is_noticed(rule, pass, &lines),
            "{rule:?} of {pass}: {lines}"
        );
    }
}
