//! Sources that are found, and those that constants, ranges and stores exclude.

#![allow(clippy::unwrap_used)]

use super::{Cause, Undefined};
use crate::analysis::testing::{Assembled, assemble, declared};
use std::collections::BTreeMap;

/// What is found in %main with this body, and the module with its names.
fn found(body: &str) -> (Undefined, Assembled) {
    let text = format!(
        "%thirty = OpConstant %uint 30
        %five = OpConstant %uint 5
        %mask = OpConstant %uint 31
        %width = OpConstant %uint 32
        %two = OpTypeVector %uint 2
        %safe = OpConstantComposite %two %u1 %mask
        %beyond = OpConstantComposite %two %u1 %width
        %int = OpTypeInt 32 1
        %array = OpTypeArray %uint %u3
        %local = OpTypePointer 7 %array
        %nothing = OpConstantNull %array
        %main = OpFunction %void 0 %fn
        %entry = OpLabel
        {body}
        OpReturn
        OpFunctionEnd"
    );
    let assembled = assemble("", &text);
    let (declarations, constants) = declared(&assembled.module);
    let main = declarations.function(assembled.id("main")).unwrap();
    let found = Undefined::analyze(&declarations, &constants, main, &BTreeMap::new(), true);
    (found, assembled)
}

/// The cause of `%v` in %main with `%x` unknown.
fn cause(body: &str) -> Option<Cause> {
    let (found, assembled) = found(&format!("%x = OpLoad %uint %cond\n{body}"));
    found.cause(assembled.id("v"))
}

#[test]
fn shifts_by_amounts_below_the_width_are_defined() {
    let shift = Some(Cause::ShiftBeyondWidth);
    for (amount, expected) in [
        ("", shift),
        ("%a = OpBitwiseAnd %uint %x %mask", None),
        ("%a = OpBitwiseAnd %uint %x %width", shift),
        ("%a = OpUMod %uint %x %width", None),
        ("%a = OpISub %uint %mask %x", shift),
        (
            "%b = OpBitwiseAnd %uint %x %u7\n%a = OpISub %uint %mask %b",
            None,
        ),
        (
            "%b = OpBitwiseAnd %uint %x %u7\n%a = OpIMul %uint %b %u3",
            None,
        ),
        (
            "%b = OpBitwiseAnd %uint %x %u7\n%a = OpIMul %uint %b %five",
            shift,
        ),
        ("%a = OpShiftRightLogical %uint %x %thirty", None),
        ("%a = OpSelect %uint %true %mask %u1", None),
    ] {
        let name = if amount.is_empty() { "x" } else { "a" };
        let body = format!("{amount}\n%v = OpShiftLeftLogical %uint %x %{name}");
        assert_eq!(cause(&body), expected, "{body}");
    }
    let vector = |amount: &str| {
        cause(&format!(
            "%p = OpCompositeConstruct %two %x %x\n%v = OpShiftRightArithmetic %two %p %{amount}"
        ))
    };
    assert_eq!((vector("safe"), vector("beyond")), (None, shift));
}

#[test]
fn fields_end_within_the_width() {
    let field = |offset: &str, count: &str| {
        let masked = "%low = OpBitwiseAnd %uint %x %mask";
        cause(&format!(
            "{masked}\n%v = OpBitFieldInsert %uint %x %x %{offset} %{count}"
        ))
        .is_some()
    };
    assert!(!field("thirty", "u2"));
    assert!(field("thirty", "u3"));
    assert!(!field("low", "u1"));
    assert!(field("low", "u2"));
    assert!(field("x", "u0"));
}

#[test]
fn divisors_that_are_not_zero_are_defined() {
    let divide = |op: &str, divisor: &str| {
        let odd = "%odd = OpBitwiseOr %uint %x %u1\n%small = OpBitwiseAnd %uint %x %u7";
        cause(&format!("{odd}\n%v = {op} %uint %x %{divisor}"))
    };
    assert_eq!(divide("OpUDiv", "x"), Some(Cause::ZeroDivisor));
    assert_eq!(divide("OpUMod", "odd"), None);
    assert_eq!(divide("OpSRem", "u3"), None);
    // -1 is odd.
    assert_eq!(divide("OpSDiv", "odd"), Some(Cause::SignedQuotient));
    assert_eq!(divide("OpSDiv", "small"), Some(Cause::SignedQuotient));
}

#[test]
fn components_and_elements_that_are_not_there_are_found() {
    let component = |index: &str| {
        let body = format!(
            "%p = OpCompositeConstruct %two %x %x\n%one = OpBitwiseAnd %uint %x %u1\n%v = OpVectorExtractDynamic %uint %p %{index}"
        );
        cause(&body).is_some()
    };
    assert!(component("x") && component("u2"));
    assert!(!component("one") && !component("u1"));
    let element = |index: &str| {
        let body = format!(
            "%three = OpUMod %uint %x %u3\n%four = OpBitwiseAnd %uint %x %u3\n%p = OpAccessChain %ptr %memory %{index}\n%v = OpLoad %uint %p"
        );
        let body = format!("%memory = OpVariable %local 7\n{body}");
        cause(&body).is_some()
    };
    assert!(element("x") && element("u3") && element("four"));
    assert!(!element("three") && !element("u2"));
}

#[test]
fn variables_that_every_path_writes_are_written() {
    let unwritten = |body: &str| {
        let text = format!(
            "%v = OpVariable %ptr 7\n%x = OpLoad %uint %cond\n%c = OpINotEqual %bool %x %u0\n{body}"
        );
        let (found, assembled) = found(&text);
        found.is_read_unwritten(assembled.id("v"))
    };
    let branch = |yes: &str, no: &str, after: &str| {
        unwritten(&format!(
            "OpSelectionMerge %merge 0
            OpBranchConditional %c %yes %no
            %yes = OpLabel
            {yes}
            OpBranch %merge
            %no = OpLabel
            {no}
            OpBranch %merge
            %merge = OpLabel
            {after}"
        ))
    };
    let (store, load) = ("OpStore %v %x", "%y = OpLoad %uint %v");
    assert!(branch("", "", load));
    assert!(branch(store, "", load));
    assert!(!branch(store, store, load));
    assert!(!branch(store, "", ""));
    assert!(!branch(&format!("{store}\n{load}"), "", ""));
    assert!(branch(&format!("{load}\n{store}"), "", ""));
}

#[test]
fn loops_read_what_the_iteration_before_wrote_only_after_the_first() {
    let body = "%v = OpVariable %ptr 7
        %w = OpVariable %ptr 7
        %x = OpLoad %uint %cond
        OpBranch %head
        %head = OpLabel
        %old = OpLoad %uint %v
        %c = OpINotEqual %bool %x %u0
        OpLoopMerge %end %more 0
        OpBranchConditional %c %more %end
        %more = OpLabel
        OpStore %v %x
        OpStore %w %x
        %new = OpLoad %uint %w
        OpBranch %head
        %end = OpLabel";
    let (found, assembled) = found(body);
    assert!(found.is_read_unwritten(assembled.id("v")));
    assert!(!found.is_read_unwritten(assembled.id("w")));
}

#[test]
fn arrays_that_only_loads_and_stores_touch_need_no_contents() {
    let array = |body: &str| {
        let text = format!(
            "%v = OpVariable %local 7\n%x = OpLoad %uint %cond\n\
             %p = OpAccessChain %ptr %v %u2\nOpStore %p %x\n{body}"
        );
        let (found, assembled) = found(&text);
        let loads = |name| found.loads_unwritten(assembled.id(name));
        (loads("y"), found.is_read_unwritten(assembled.id("v")))
    };
    assert_eq!(array("%y = OpLoad %uint %p"), (true, false));
    assert_eq!(array("%y = OpLoad %array %v"), (true, false));
    // The copy may be read, too.
    let copied = "%w = OpVariable %local 7\nOpCopyMemory %w %v\n%y = OpLoad %uint %p";
    assert_eq!(array(copied), (false, true));
    let compared = "%q = OpCopyObject %ptr %p\n%y = OpLoad %uint %q";
    assert_eq!(array(compared), (false, true));
    let written = "OpStore %v %nothing\n%y = OpLoad %uint %p";
    assert_eq!(array(written), (false, false));
}

/// Each struct has the one before twice: the last has more parts than can be looked at one by one.
#[test]
fn types_with_shared_parts_are_looked_at_once() {
    let structs: String = (1..100)
        .map(|at| format!("%s{at} = OpTypeStruct %s{0} %s{0}\n", at - 1))
        .collect();
    let text = format!(
        "%s0 = OpTypeStruct %uint %uint\n{structs}%pointer = OpTypePointer 7 %s99
        %main = OpFunction %void 0 %fn
        %entry = OpLabel
        %v = OpVariable %pointer 7
        %y = OpLoad %s99 %v
        OpReturn
        OpFunctionEnd"
    );
    let assembled = assemble("", &text);
    let (declarations, constants) = declared(&assembled.module);
    let main = declarations.function(assembled.id("main")).unwrap();
    let found = Undefined::analyze(&declarations, &constants, main, &BTreeMap::new(), true);
    assert!(found.is_read_unwritten(assembled.id("v")));
}
