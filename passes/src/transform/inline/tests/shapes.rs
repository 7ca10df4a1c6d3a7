//! Modules whose control flow stays structured when calls are inlined: for the tests of the pass,
//! and for a validator that is not ours.

/// The text around the types that these tests have in common.
pub(super) struct Shape {
    /// Names, decorations, strings.
    pub annotations: &'static str,
    /// Functions, a part behind the other.
    pub functions: &'static [&'static str],
}

/// All shapes, with what they are called.
#[allow(dead_code, reason = "each user of this file needs another part")]
pub(super) const ALL: &[(&str, Shape)] = &[
    ("handed_over", HANDED_OVER),
    ("early_return", EARLY_RETURN),
    ("loop_header", LOOP_HEADER),
    ("loop_of_one_block", LOOP_OF_ONE_BLOCK),
    ("nested", NESTED),
    ("never_returns", NEVER_RETURNS),
    ("names", NAMES),
    ("lines", LINES),
];

/// f(p): if (p == cond) { barrier; return 0; } arrive; wait; return p + 7.
const EARLY: &str = "
    %f = OpFunction %uint 0 %fn_uint
    %p = OpFunctionParameter %uint
    %fs = OpLabel
    %local = OpVariable %ptr 7 %u7
    %was = OpLoad %uint %local
    %sum = OpIAdd %uint %was %p
    OpStore %local %sum
    %limit = OpLoad %uint %cond
    %same = OpIEqual %bool %p %limit
    OpSelectionMerge %go_on 0
    OpBranchConditional %same %leave %go_on
    %leave = OpLabel
    barrier
    OpReturnValue %u0
    %go_on = OpLabel
    arrive
    wait
    %result = OpLoad %uint %local
    OpReturnValue %result
    OpFunctionEnd";

/// f(p): if (p == cond) barrier; arrive; wait; return p + 7 and which way it came.
const CONDITIONAL: &str = "
    %f = OpFunction %uint 0 %fn_uint
    %p = OpFunctionParameter %uint
    %fs = OpLabel
    %local = OpVariable %ptr 7 %u7
    %was = OpLoad %uint %local
    %sum = OpIAdd %uint %was %p
    OpStore %local %sum
    %limit = OpLoad %uint %cond
    %same = OpIEqual %bool %p %limit
    OpSelectionMerge %go_on 0
    OpBranchConditional %same %extra %go_on
    %extra = OpLabel
    barrier
    OpBranch %go_on
    %go_on = OpLabel
    %which = OpPhi %uint %u1 %extra %u2 %fs
    arrive
    wait
    %last = OpLoad %uint %local
    %result = OpIAdd %uint %last %which
    OpReturnValue %result
    OpFunctionEnd";

/// The arrive in one function, the wait in another.
pub(super) const HANDED_OVER: Shape = Shape {
    annotations: "",
    functions: &["
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    %r1 = OpFunctionCall %void %begin
    OpStore %out %u1
    %r2 = OpFunctionCall %void %end
    OpReturn
    OpFunctionEnd
    %begin = OpFunction %void 0 %fn
    %bs = OpLabel
    OpStore %out %u7
    arrive
    OpReturn
    OpFunctionEnd
    %end = OpFunction %void 0 %fn
    %es = OpLabel
    wait
    OpReturn
    OpFunctionEnd"],
};

/// A loop with a call whose callee returns early.
pub(super) const EARLY_RETURN: Shape = Shape {
    annotations: "",
    functions: &[
        "
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %uint %u0 %start %inc %body
    OpLoopMerge %end %body 0
    OpBranch %body
    %body = OpLabel
    %v = OpFunctionCall %uint %f %i
    OpStore %out %v
    %inc = OpIAdd %uint %i %u1
    %more = OpULessThan %bool %inc %u3
    OpBranchConditional %more %head %end
    %end = OpLabel
    OpReturn
    OpFunctionEnd",
        EARLY,
    ],
};

/// Two calls in the header of a loop.
pub(super) const LOOP_HEADER: Shape = Shape {
    annotations: "",
    functions: &[
        "
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %uint %u0 %start %inc %next
    %v = OpFunctionCall %uint %f %i
    %w = OpFunctionCall %uint %f %v
    OpStore %out %w
    %more = OpULessThan %bool %i %u3
    OpLoopMerge %end %next 0
    OpBranchConditional %more %next %end
    %next = OpLabel
    %inc = OpIAdd %uint %i %u1
    OpBranch %head
    %end = OpLabel
    OpReturn
    OpFunctionEnd",
        CONDITIONAL,
    ],
};

/// A call in a loop of one block.
pub(super) const LOOP_OF_ONE_BLOCK: Shape = Shape {
    annotations: "",
    functions: &[
        "
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %uint %u0 %start %inc %head
    %v = OpFunctionCall %uint %f %i
    OpStore %out %v
    %inc = OpIAdd %uint %i %u1
    %more = OpULessThan %bool %inc %u3
    OpLoopMerge %end %head 0
    OpBranchConditional %more %head %end
    %end = OpLabel
    %after = OpPhi %uint %v %head
    OpStore %out %after
    OpReturn
    OpFunctionEnd",
        CONDITIONAL,
    ],
};

/// Calls of calls under a condition.
pub(super) const NESTED: Shape = Shape {
    annotations: "",
    functions: &[
        "
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    %x = OpLoad %uint %cond
    %c = OpULessThan %bool %x %u2
    OpSelectionMerge %end 0
    OpBranchConditional %c %then %end
    %then = OpLabel
    %a = OpFunctionCall %uint %g %x
    %b = OpFunctionCall %uint %g %a
    OpBranch %end
    %end = OpLabel
    %r = OpPhi %uint %u0 %start %b %then
    OpStore %out %r
    barrier
    OpReturn
    OpFunctionEnd
    %g = OpFunction %uint 0 %fn_uint
    %q = OpFunctionParameter %uint
    %gs = OpLabel
    %g1 = OpFunctionCall %uint %f %q
    %g2 = OpFunctionCall %uint %h %g1
    %g3 = OpFunctionCall %uint %f %g2
    OpReturnValue %g3
    OpFunctionEnd
    %h = OpFunction %uint 0 %fn_uint
    %hp = OpFunctionParameter %uint
    %hs = OpLabel
    %hr = OpIAdd %uint %hp %u1
    OpReturnValue %hr
    OpFunctionEnd",
        CONDITIONAL,
    ],
};

/// A callee that does not return.
pub(super) const NEVER_RETURNS: Shape = Shape {
    annotations: "",
    functions: &["
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    %v = OpFunctionCall %uint %f %u1
    OpStore %out %v
    OpReturn
    OpFunctionEnd
    %f = OpFunction %uint 0 %fn_uint
    %p = OpFunctionParameter %uint
    %fs = OpLabel
    barrier
    OpUnreachable
    OpFunctionEnd"],
};

/// Names and decorations of what is copied.
pub(super) const NAMES: Shape = Shape {
    annotations: "
    OpName %local 'local'
    OpName %f 'f'
    OpName %r 'nothing'
    OpName %a 'first'
    OpDecorate %sum 0
    OpDecorate %relaxed 0
    %relaxed = OpDecorationGroup
    OpGroupDecorate %relaxed %was %limit
",
    functions: &[
        "
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    %a = OpFunctionCall %uint %f %u1
    %b = OpFunctionCall %uint %f %u2
    %r = OpFunctionCall %void %v
    OpReturn
    OpFunctionEnd
    %v = OpFunction %void 0 %fn
    %vs = OpLabel
    barrier
    OpReturn
    OpFunctionEnd",
        CONDITIONAL,
    ],
};

/// Line instructions that end and begin around calls.
pub(super) const LINES: Shape = Shape {
    annotations: "
    %file = OpString 'a.comp'
",
    functions: &["
    %main = OpFunction %void 0 %fn
    %start = OpLabel
    OpLine %file 10 0
    %a = OpFunctionCall %void %f
    OpStore %out %u1
    OpNoLine
    %b = OpFunctionCall %void %f
    OpStore %out %u2
    OpReturn
    OpFunctionEnd
    %f = OpFunction %void 0 %fn
    %fs = OpLabel
    OpLine %file 20 0
    barrier
    OpReturn
    OpFunctionEnd"],
};
