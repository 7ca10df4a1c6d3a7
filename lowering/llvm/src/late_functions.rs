//! Functions that become a part of their kernels only after the mid-level optimiser has run.
//!
//! A function that is not to be inlined (DontInline), takes values and returns nothing leaves the
//! block that calls it in one piece until then. If its branches came earlier, code sinking would
//! move what a window computes behind them, and so behind the wait that stands before the call. In
//! the code generator the same is prevented by a use of these values before the call.

use crate::emit::Result;
use crate::ffi::{self, Func, Opcode, RawBuilder, Value};
use crate::leaving::leaving;
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_passes::diagnostic::Diagnostic;

/// Marks such a function.
const MARK: &str = "splitbar-late";

/// The use that becomes no instruction.
const USE: &str = "llvm.fake.use";

/// Makes `function` one that comes late.
pub(crate) fn mark<'c>(context: &'c Context, function: Func<'c>) {
    function.attribute(context, "noinline");
    function.string_attribute(context, MARK, "");
}

/// Has the marked functions inlined by the next pass that inlines what has to be. Returns true if
/// there was one.
///
/// # Errors
/// `Internal` when this LLVM lacks the use.
pub(crate) fn release<'c>(context: &'c Context, module: &Module<'c>) -> Result<bool> {
    let module = ffi::module_ref(module);
    let functions = ffi::functions(module);
    let late = functions
        .into_iter()
        .filter(|function| function.string_attribute_value(MARK).is_some());
    let late: Vec<Func<'c>> = late.collect();
    let b = RawBuilder::new(context);
    for function in &late {
        let calls = function.value().users();
        let calls = calls
            .into_iter()
            .filter(|user| user.callee() == Some(*function));
        let calls: Vec<Value<'c>> = calls.collect();
        let left = leaving(&calls);
        for call in calls {
            b.position_before(call);
            let mut values = Vec::new();
            for value in left.get(&call).into_iter().flatten() {
                add_parts(*value, &mut values);
            }
            for value in values {
                let (id, _) = ffi::intrinsic_id(USE)
                    .ok_or_else(|| Box::new(Diagnostic::bug(format!("{USE} is not there"))))?;
                let intrinsic = ffi::intrinsic(module, id, &[]);
                b.call(intrinsic.ty(), intrinsic.value(), &[value]);
            }
        }
        function.remove_string_attribute(MARK);
        function.remove_attribute("noinline");
        function.remove_attribute_of_calls("noinline");
        function.attribute(context, "alwaysinline");
    }
    Ok(!late.is_empty())
}

/// Most parts of a vector that are looked at.
const MOST_PARTS: usize = 256;

/// Adds `value` to `values` if it is arithmetic; for a vector, the parts that are.
fn add_parts<'c>(value: Value<'c>, values: &mut Vec<Value<'c>>) {
    let mut todo = vec![value];
    for _ in 0..MOST_PARTS {
        let Some(value) = todo.pop() else { return };
        match (value.opcode(), &value.operands()[..]) {
            (Some(Opcode::LLVMInsertElement), [vector, part, _]) => todo.extend([*vector, *part]),
            (Some(Opcode::LLVMShuffleVector), [one, other, ..]) => todo.extend([*one, *other]),
            (Some(Opcode::LLVMFreeze | Opcode::LLVMBitCast), [of]) if value.ty().is_vector() => {
                todo.push(*of);
            }
            _ if is_computed(value) && !values.contains(&value) => values.push(value),
            _ => {} // from elsewhere, or loaded
        }
    }
}

/// Returns true for arithmetic: a use of a loaded value would wait for it, and parts of vectors may
/// be parts of loaded ones.
fn is_computed(value: Value<'_>) -> bool {
    match value.opcode() {
        Some(Opcode::LLVMCall) => {
            let pure = |function: Func<'_>| function.is_pure();
            value.callee().is_some_and(pure)
        }
        Some(
            Opcode::LLVMFreeze
            | Opcode::LLVMBitCast
            | Opcode::LLVMTrunc
            | Opcode::LLVMZExt
            | Opcode::LLVMSExt,
        ) => {
            let operands = value.operands();
            operands.first().is_some_and(|of| is_computed(*of))
        }
        Some(opcode) => matches!(
            opcode,
            Opcode::LLVMAdd
                | Opcode::LLVMSub
                | Opcode::LLVMMul
                | Opcode::LLVMShl
                | Opcode::LLVMLShr
                | Opcode::LLVMAShr
                | Opcode::LLVMAnd
                | Opcode::LLVMOr
                | Opcode::LLVMXor
                | Opcode::LLVMFAdd
                | Opcode::LLVMFSub
                | Opcode::LLVMFMul
                | Opcode::LLVMFDiv
                | Opcode::LLVMFNeg
                | Opcode::LLVMSelect
        ),
        None => false,
    }
}
