//! A builder of instructions.

use super::*;

/// An instruction builder: appends to a block.
pub(crate) struct RawBuilder<'c> {
    pub(super) raw: LLVMBuilderRef,
    context: &'c Context,
}

impl Drop for RawBuilder<'_> {
    fn drop(&mut self) {
        // SAFETY: made by LLVMCreateBuilderInContext, disposed of once.
        unsafe { LLVMDisposeBuilder(self.raw) }
    }
}

macro_rules! build {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $call:ident($($pass:expr),*)) => {
        $(#[$doc])*
        pub(crate) fn $name(&self, $($arg: $ty),*) -> Value<'c> {
            // SAFETY: the builder stands at a live block; the façade checked the operands' types.
            Value::wrap(unsafe { $call(self.raw, $($pass),*) })
        }
    };
}

impl<'c> RawBuilder<'c> {
    /// A builder that stands nowhere.
    pub(crate) fn new(context: &'c Context) -> Self {
        RawBuilder {
            // SAFETY: a live context.
            raw: unsafe { LLVMCreateBuilderInContext(context.as_ctx_ref()) },
            context,
        }
    }

    /// The context.
    pub(crate) fn context(&self) -> &'c Context {
        self.context
    }

    /// Moves to the end of `block`.
    pub(crate) fn position(&self, block: Block<'c>) {
        // SAFETY: a live block.
        unsafe { LLVMPositionBuilderAtEnd(self.raw, block.0) }
    }

    /// Moves before the terminator of `block`, or to its end when it has none.
    pub(crate) fn position_before_terminator(&self, block: Block<'c>) {
        // SAFETY: a live block; the terminator is an instruction in it.
        unsafe {
            let terminator = LLVMGetBasicBlockTerminator(block.0);
            if terminator.is_null() {
                LLVMPositionBuilderAtEnd(self.raw, block.0);
            } else {
                LLVMPositionBuilderBefore(self.raw, terminator);
            }
        }
    }

    /// Moves before an instruction, and takes over its debug location.
    pub(crate) fn position_before(&self, instruction: Value<'c>) {
        // SAFETY: a live instruction in a block.
        unsafe { LLVMPositionBuilderBefore(self.raw, instruction.0) }
    }

    /// The block that it stands in.
    pub(crate) fn block(&self) -> Option<Block<'c>> {
        // SAFETY: a live builder.
        let block = unsafe { LLVMGetInsertBlock(self.raw) };
        (!block.is_null()).then(|| Block::wrap(block))
    }

    /// The debug location of what is built from now on.
    pub(crate) fn set_location(&self, line: u32, scope: Option<Meta<'c>>) {
        // SAFETY: a live subprogram of the context, or none.
        unsafe {
            let location = match scope {
                Some(scope) => inkwell::llvm_sys::debuginfo::LLVMDIBuilderCreateDebugLocation(
                    self.context.as_ctx_ref(),
                    line,
                    0,
                    scope.0,
                    std::ptr::null_mut(),
                ),
                None => std::ptr::null_mut(),
            };
            LLVMSetCurrentDebugLocation2(self.raw, location);
        }
    }

    build!(/// Any two-operand instruction.
        binary(op: Opcode, a: Value<'c>, b: Value<'c>) = LLVMBuildBinOp(op, a.0, b.0, NO_NAME));
    build!(/// Floating-point negation.
        fneg(a: Value<'c>) = LLVMBuildFNeg(a.0, NO_NAME));
    build!(/// Any cast.
        cast(op: Opcode, a: Value<'c>, to: Ty<'c>) = LLVMBuildCast(op, a.0, to.0, NO_NAME));
    build!(/// Integer or pointer comparison.
        icmp(predicate: IntPredicate, a: Value<'c>, b: Value<'c>) = LLVMBuildICmp(predicate, a.0, b.0, NO_NAME));
    build!(/// Floating-point comparison.
        fcmp(predicate: RealPredicate, a: Value<'c>, b: Value<'c>) = LLVMBuildFCmp(predicate, a.0, b.0, NO_NAME));
    build!(/// Select.
        select(condition: Value<'c>, yes: Value<'c>, no: Value<'c>) = LLVMBuildSelect(condition.0, yes.0, no.0, NO_NAME));
    build!(/// Element of a vector.
        extract_element(vector: Value<'c>, index: Value<'c>) = LLVMBuildExtractElement(vector.0, index.0, NO_NAME));
    build!(/// A vector with one element replaced.
        insert_element(vector: Value<'c>, element: Value<'c>, index: Value<'c>) = LLVMBuildInsertElement(vector.0, element.0, index.0, NO_NAME));
    build!(/// Shuffle; the mask is a constant vector of i32, poison where the result does not matter.
        shuffle(a: Value<'c>, b: Value<'c>, mask: Value<'c>) = LLVMBuildShuffleVector(a.0, b.0, mask.0, NO_NAME));
    build!(/// Member of an array or structure.
        extract_value(aggregate: Value<'c>, index: u32) = LLVMBuildExtractValue(aggregate.0, index, NO_NAME));
    build!(/// An aggregate with one member replaced.
        insert_value(aggregate: Value<'c>, member: Value<'c>, index: u32) = LLVMBuildInsertValue(aggregate.0, member.0, index, NO_NAME));
    build!(/// Load.
        load(ty: Ty<'c>, pointer: Value<'c>) = LLVMBuildLoad2(ty.0, pointer.0, NO_NAME));
    build!(/// Store.
        store(value: Value<'c>, pointer: Value<'c>) = LLVMBuildStore(value.0, pointer.0));
    build!(/// The same value, or one and the same at every use if it is undefined.
        freeze(value: Value<'c>) = LLVMBuildFreeze(value.0, NO_NAME));
    build!(/// Stack slot.
        alloca(ty: Ty<'c>) = LLVMBuildAlloca(ty.0, NO_NAME));
    build!(/// Unconditional branch.
        br(to: Block<'c>) = LLVMBuildBr(to.0));
    build!(/// Conditional branch.
        cond_br(condition: Value<'c>, yes: Block<'c>, no: Block<'c>) = LLVMBuildCondBr(condition.0, yes.0, no.0));
    build!(/// Switch.
        switch(selector: Value<'c>, default: Block<'c>, cases: u32) = LLVMBuildSwitch(selector.0, default.0, cases));
    build!(/// Return without value.
        ret_void() = LLVMBuildRetVoid());
    build!(/// Return.
        ret(value: Value<'c>) = LLVMBuildRet(value.0));
    build!(/// Unreachable.
        unreachable() = LLVMBuildUnreachable());
    build!(/// Phi without incoming values.
        phi(ty: Ty<'c>) = LLVMBuildPhi(ty.0, NO_NAME));
    build!(/// Fence.
        fence(ordering: AtomicOrdering, scope: u32) = LLVMBuildFenceSyncScope(ordering, scope, NO_NAME));
    build!(/// Atomic read-modify-write.
        rmw(op: RmwOp, pointer: Value<'c>, value: Value<'c>, ordering: AtomicOrdering, scope: u32) = LLVMBuildAtomicRMWSyncScope(op, pointer.0, value.0, ordering, scope));
    build!(/// Compare and exchange: `{ old, success }`.
        cmpxchg(pointer: Value<'c>, expected: Value<'c>, new: Value<'c>, success: AtomicOrdering, failure: AtomicOrdering, scope: u32) =
            LLVMBuildAtomicCmpXchgSyncScope(pointer.0, expected.0, new.0, success, failure, scope));
    build!(/// Copies `size` bytes between places that do not overlap.
        memcpy(to: Value<'c>, to_align: u32, from: Value<'c>, from_align: u32, size: Value<'c>) = LLVMBuildMemCpy(to.0, to_align, from.0, from_align, size.0));
    build!(/// Sets `size` bytes.
        memset(to: Value<'c>, byte: Value<'c>, size: Value<'c>, align: u32) = LLVMBuildMemSet(to.0, byte.0, size.0, align));

    /// `pointer + bytes`. `in_bounds`: the result stays inside the object.
    pub(crate) fn offset(
        &self,
        pointer: Value<'c>,
        bytes: Value<'c>,
        in_bounds: bool,
    ) -> Value<'c> {
        let mut index = bytes.0;
        let i8 = int_type(self.context, 8);
        // SAFETY: one index over a byte type.
        Value::wrap(unsafe {
            if in_bounds {
                LLVMBuildInBoundsGEP2(self.raw, i8.0, pointer.0, &mut index, 1, NO_NAME)
            } else {
                LLVMBuildGEP2(self.raw, i8.0, pointer.0, &mut index, 1, NO_NAME)
            }
        })
    }

    /// Calls a function of type `ty`.
    pub(crate) fn call(&self, ty: Ty<'c>, callee: Value<'c>, args: &[Value<'c>]) -> Value<'c> {
        let mut raw: Vec<LLVMValueRef> = args.iter().map(|a| a.0).collect();
        // SAFETY: the façade checked the arguments against the function type.
        Value::wrap(unsafe {
            LLVMBuildCall2(
                self.raw,
                ty.0,
                callee.0,
                raw.as_mut_ptr(),
                raw.len() as c_uint,
                NO_NAME,
            )
        })
    }
}
