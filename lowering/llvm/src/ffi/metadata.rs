//! Metadata.

use super::*;

/// A metadata string.
pub(crate) fn meta_string<'c>(context: &'c Context, value: &str) -> Meta<'c> {
    let (value, length) = text(value);
    // SAFETY: a live context and a valid slice, which LLVM copies.
    Meta::wrap(unsafe { LLVMMDStringInContext2(context.as_ctx_ref(), value, length) })
}

/// A metadata node.
pub(crate) fn meta_node<'c>(context: &'c Context, operands: &[Meta<'c>]) -> Meta<'c> {
    let mut raw: Vec<LLVMMetadataRef> = operands.iter().map(|m| m.0).collect();
    // SAFETY: a live context; LLVM copies the list.
    Meta::wrap(unsafe { LLVMMDNodeInContext2(context.as_ctx_ref(), raw.as_mut_ptr(), raw.len()) })
}

/// A loop's own node: its first operand is itself, so that no two loops share it (LLVM LangRef,
/// `llvm.loop`).
pub(crate) fn meta_loop<'c>(context: &'c Context, hints: &[Meta<'c>]) -> Meta<'c> {
    let mut operands = vec![meta_string(context, "")];
    operands.extend(hints);
    let node = meta_node(context, &operands);
    // SAFETY: operand 0 exists; LLVM makes a node that names itself distinct.
    unsafe {
        LLVMReplaceMDNodeOperandWith(LLVMMetadataAsValue(context.as_ctx_ref(), node.0), 0, node.0)
    };
    node
}

/// A constant as metadata.
pub(crate) fn meta_value(value: Value<'_>) -> Meta<'_> {
    // SAFETY: a live constant.
    Meta::wrap(unsafe { LLVMValueAsMetadata(value.0) })
}

/// Takes the metadata of kind `kind` from an instruction.
pub(crate) fn forget_metadata(instruction: InstructionValue<'_>, kind: u32) {
    // SAFETY: a live instruction; without a node LLVM removes the kind.
    unsafe { LLVMSetMetadata(instruction.as_value_ref(), kind, std::ptr::null_mut()) }
}

/// Metadata that inkwell made.
pub(crate) fn meta_from_raw<'c>(raw: LLVMMetadataRef) -> Meta<'c> {
    Meta::wrap(raw)
}
