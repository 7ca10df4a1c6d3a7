//! The solution at both levels.

use super::memory::Memory;
use super::{Level, Model, Uniformity};
use crate::analysis::cfg::Cfg;
use crate::analysis::testing::{assemble, declared};
use crate::module::BlockIndex;

const ANNOTATIONS: &str = "
    OpDecorate %index 11 29
    OpDecorate %number 11 40
    OpDecorate %lane_in_subgroup 11 41
";
const GLOBALS: &str = "
    %in_uint = OpTypePointer 1 %uint
    %index = OpVariable %in_uint 1
    %number = OpVariable %in_uint 1
    %lane_in_subgroup = OpVariable %in_uint 1
    %u64 = OpConstant %uint 64
";

/// Whether a block under a comparison of `%x`, which `code` computes, is uniform, at both levels.
fn levels(code: &str) -> [bool; 2] {
    let text = format!(
        "{GLOBALS}
        %main = OpFunction %void 0 %fn
        %start = OpLabel
        {code}
        %q = OpULessThan %bool %x %u7
        OpSelectionMerge %end 0
        OpBranchConditional %q %then %end
        %then = OpLabel
        OpBranch %end
        %end = OpLabel
        OpReturn
        OpFunctionEnd"
    );
    let assembled = assemble(ANNOTATIONS, &text);
    let (declarations, constants) = declared(&assembled.module);
    let entry = &declarations.entry_points[0];
    let size = declarations.workgroup_size(entry, &constants);
    let memory = Memory::analyze(&declarations);
    let function = declarations.function(entry.function).unwrap();
    let cfg = Cfg::analyze(declarations.module, function);
    let [then, end] = ["then", "end"].map(|name| cfg.index_of(assembled.id(name)).unwrap());
    let model = Model::analyze(
        &declarations,
        &constants,
        &memory,
        function,
        size,
        cfg,
        &[then, end],
    );
    [Level::Workgroup, Level::Subgroup].map(|level| {
        let uniformity = Uniformity::analyze(&model, level, size);
        assert_eq!(
            uniformity.block(BlockIndex::ENTRY),
            None,
            "all enter together"
        );
        assert_eq!(uniformity.block(end), None, "all meet again");
        uniformity.block(then).is_none()
    })
}

#[test]
fn built_ins_differ_by_level() {
    assert_eq!(levels("%x = OpLoad %uint %index"), [false, false]);
    assert_eq!(levels("%x = OpLoad %uint %number"), [false, true]);
    assert_eq!(
        levels("%x = OpLoad %uint %lane_in_subgroup"),
        [false, false]
    );
}

#[test]
fn group_instructions_give_their_scope_one_value() {
    let first = "%l = OpLoad %uint %lane_in_subgroup\n";
    assert_eq!(
        levels(&format!(
            "{first}%x = OpGroupNonUniformBroadcastFirst %uint %subgroup %l"
        )),
        [false, true]
    );
    assert_eq!(
        levels(&format!(
            "{first}%x = OpGroupNonUniformIAdd %uint %subgroup 0 %l"
        )),
        [false, true]
    );
    assert_eq!(
        levels(&format!(
            "{first}%x = OpGroupNonUniformIAdd %uint %subgroup 1 %l"
        )),
        [false, false],
        "an inclusive scan"
    );
    assert_eq!(
        levels(&format!("{first}%x = OpGroupIAdd %uint %group 0 %l")),
        [true, true]
    );
}

#[test]
fn private_variables_are_followed() {
    assert_eq!(
        levels("OpStore %cond %u3\n%x = OpLoad %uint %cond"),
        [true, true]
    );
    assert_eq!(
        levels("%l = OpLoad %uint %index\nOpStore %cond %l\n%x = OpLoad %uint %cond"),
        [false, false]
    );
}

#[test]
fn atomics_and_undefined_values_differ() {
    assert_eq!(
        levels("%x = OpAtomicIAdd %uint %cond %group %none %u1"),
        [false, false]
    );
    assert_eq!(levels("%x = OpUndef %uint"), [false, false]);
}

#[test]
fn what_cancels_out_is_a_constant() {
    assert_eq!(
        levels("%l = OpLoad %uint %index\n%x = OpUDiv %uint %l %u64"),
        [true, true]
    );
}
