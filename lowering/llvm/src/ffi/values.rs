//! Values: what they are, and constants.

use super::functions::enum_attribute;
use super::*;

impl<'c> Value<'c> {
    /// Its type.
    pub(crate) fn ty(self) -> Ty<'c> {
        // SAFETY: self is a live value.
        Ty::wrap(unsafe { LLVMTypeOf(self.0) })
    }

    /// The bits of an integer constant of at most 64 bits.
    pub(crate) fn as_u64(self) -> Option<u64> {
        // SAFETY: the value is read only if it is a ConstantInt of at most 64 bits.
        unsafe {
            (!LLVMIsAConstantInt(self.0).is_null() && self.ty().int_width() <= 64)
                .then(|| LLVMConstIntGetZExtValue(self.0))
        }
    }

    pub(super) fn splat_constant(self, lanes: u32) -> Value<'c> {
        if lanes == 1 {
            self
        } else {
            Value::vector(&vec![self; lanes as usize])
        }
    }

    /// A constant vector.
    pub(crate) fn vector(values: &[Value<'c>]) -> Value<'c> {
        let mut raw: Vec<LLVMValueRef> = values.iter().map(|v| v.0).collect();
        // SAFETY: constants of one scalar type, at least one; LLVM copies the list.
        Value::wrap(unsafe { LLVMConstVector(raw.as_mut_ptr(), raw.len() as c_uint) })
    }

    /// A constant array.
    pub(crate) fn array(element: Ty<'c>, values: &[Value<'c>]) -> Value<'c> {
        let mut raw: Vec<LLVMValueRef> = values.iter().map(|v| v.0).collect();
        // SAFETY: constants of type `element`; LLVM copies the list.
        Value::wrap(unsafe { LLVMConstArray2(element.0, raw.as_mut_ptr(), raw.len() as u64) })
    }

    /// Metadata of kind `kind` on this instruction; a constant that it was folded to has none.
    pub(crate) fn set_metadata(self, context: &'c Context, kind: &str, node: Meta<'c>) {
        let (name, length) = text(kind);
        // SAFETY: self is checked to be an instruction, of `context`; the name is a valid slice.
        unsafe {
            if LLVMIsAInstruction(self.0).is_null() {
                return;
            }
            let c = context.as_ctx_ref();
            let id = LLVMGetMDKindIDInContext(c, name, length as c_uint);
            LLVMSetMetadata(self.0, id, LLVMMetadataAsValue(c, node.0));
        }
    }

    calls! { self
        /// Sets the alignment in bytes of a load, store, alloca or global.
        // SAFETY: called on those four only; `bytes` is a power of two.
        set_alignment(bytes: u32) = LLVMSetAlignment(self.0, bytes);
        /// Marks a load, a store or an atomic operation volatile.
        // SAFETY: called on these only.
        set_volatile() = LLVMSetVolatile(self.0, 1);
        /// Marks a copy of memory volatile.
        // SAFETY: called on calls of llvm.memcpy only, whose fourth argument is a constant Boolean.
        set_volatile_copy() = LLVMSetOperand(self.0, 3, LLVMConstInt(LLVMTypeOf(LLVMGetOperand(self.0, 3)), 1, 0));
    }

    /// Makes a load or store atomic.
    pub(crate) fn set_ordering(self, ordering: AtomicOrdering, scope: u32) {
        // SAFETY: called on loads and stores only.
        unsafe {
            LLVMSetOrdering(self.0, ordering);
            LLVMSetAtomicSyncScopeID(self.0, scope);
        }
    }

    /// Adds an incoming value to a phi.
    pub(crate) fn add_incoming(self, value: Value<'c>, block: Block<'c>) {
        let (mut v, mut b) = (value.0, block.0);
        // SAFETY: self is a phi, value has its type; LLVM copies one element of each list.
        unsafe { LLVMAddIncoming(self.0, &mut v, &mut b, 1) }
    }

    calls! { self
        /// Adds a case to a switch.
        // SAFETY: self is a switch, value a constant of its selector's type.
        add_case(value: Value<'c>, block: Block<'c>) = LLVMAddCase(self.0, value.0, block.0);
    }

    calls! { self
        /// Adds an enum attribute (`convergent`) to a call.
        // SAFETY: called on calls only, with function attributes.
        set_call_attribute(context: &'c Context, name: &str) = LLVMAddCallSiteAttribute(self.0, inkwell::llvm_sys::LLVMAttributeFunctionIndex, enum_attribute(context, name, 0));
    }

    /// Sets the fast-math flags (LLVM-C `LLVMFastMathFlags`) of an instruction that can have them.
    pub(crate) fn set_fast_math(self, flags: u32) {
        // SAFETY: LLVM is asked first whether the instruction takes the flags (a folded constant
        // does not).
        unsafe {
            if !LLVMIsAInstruction(self.0).is_null() && LLVMCanValueUseFastMathFlags(self.0) != 0 {
                LLVMSetFastMathFlags(self.0, flags);
            }
        }
    }

    /// Makes a call convergent: it stays where control flow put it. No effect on what is no call.
    pub(crate) fn set_convergent(self, context: &'c Context) {
        // SAFETY: an enum attribute on a call, which is checked first.
        unsafe {
            if !LLVMIsACallInst(self.0).is_null() {
                LLVMAddCallSiteAttribute(
                    self.0,
                    inkwell::llvm_sys::LLVMAttributeFunctionIndex,
                    enum_attribute(context, "convergent", 0),
                );
            }
        }
    }

    /// The instructions that use this value, each once per use.
    pub(crate) fn users(self) -> Vec<Value<'c>> {
        let mut users = Vec::new();
        // SAFETY: self is a live value; its use list is not changed while it is walked.
        unsafe {
            let mut at = LLVMGetFirstUse(self.0);
            while !at.is_null() {
                users.push(Value::wrap(LLVMGetUser(at)));
                at = LLVMGetNextUse(at);
            }
        }
        users
    }

    /// The block of this instruction.
    pub(crate) fn block(self) -> Block<'c> {
        // SAFETY: self is an instruction in a block.
        Block::wrap(unsafe { LLVMGetInstructionParent(self.0) })
    }

    /// Returns true if this instruction is a phi.
    pub(crate) fn is_phi(self) -> bool {
        // SAFETY: self is a live value.
        unsafe { !LLVMIsAPHINode(self.0).is_null() }
    }

    calls! { self
        /// Takes an instruction that nobody uses out of its block and deletes it. The handle is
        /// dead afterwards.
        // SAFETY: the callers erase calls of void functions, once, and drop the handle.
        erase() = LLVMInstructionEraseFromParent(self.0);
        /// Initialiser of a global variable.
        // SAFETY: self is a global variable of value's type.
        set_initializer(value: Value<'c>) = LLVMSetInitializer(self.0, value.0);
        /// Linkage of a global.
        // SAFETY: self is a global.
        set_linkage(linkage: Linkage) = LLVMSetLinkage(self.0, linkage);
        /// Marks a global variable constant.
        // SAFETY: self is a global variable.
        set_constant() = LLVMSetGlobalConstant(self.0, 1);
        /// Marks a global variable as one whose value somebody outside may change before the
        /// program starts.
        // SAFETY: self is a global variable.
        set_externally_initialized() = LLVMSetExternallyInitialized(self.0, 1);
    }
}

/// A constant structure; `packed`: without padding.
pub(crate) fn const_struct<'c>(
    context: &'c Context,
    values: &[Value<'c>],
    packed: bool,
) -> Value<'c> {
    let mut raw: Vec<LLVMValueRef> = values.iter().map(|v| v.0).collect();
    // SAFETY: a live context, constants; LLVM copies the list.
    Value::wrap(unsafe {
        LLVMConstStructInContext(
            context.as_ctx_ref(),
            raw.as_mut_ptr(),
            raw.len() as c_uint,
            packed.into(),
        )
    })
}

/// A constant pointer or integer as a constant of another pointer or integer type; `None` for other
/// types, and for integers of two widths.
pub(crate) fn const_cast<'c>(value: Value<'c>, to: Ty<'c>) -> Option<Value<'c>> {
    let from = value.ty();
    let cast = match (from.is_pointer(), to.is_pointer()) {
        _ if from == to => return Some(value),
        (true, true) => LLVMConstAddrSpaceCast,
        (true, false) if to.is_int() && !to.is_vector() => LLVMConstPtrToInt,
        (false, true) if from.is_int() && !from.is_vector() => LLVMConstIntToPtr,
        _ => return None,
    };
    // SAFETY: a constant, and a cast that its two types allow.
    Some(Value::wrap(unsafe { cast(value.0, to.0) }))
}

/// The sum of two constant integers of one type, or, with `minus`, their difference; `None` for
/// others.
pub(crate) fn const_sum<'c>(a: Value<'c>, b: Value<'c>, minus: bool) -> Option<Value<'c>> {
    let combine = if minus { LLVMConstSub } else { LLVMConstAdd };
    // SAFETY: two constants of one integer type.
    (a.ty() == b.ty() && a.ty().is_int()).then(|| Value::wrap(unsafe { combine(a.0, b.0) }))
}

/// The constant `pointer` and `bytes` more; `None` when it is not a pointer.
pub(crate) fn const_offset<'c>(pointer: Value<'c>, bytes: Value<'c>) -> Option<Value<'c>> {
    let mut index = bytes.0;
    pointer.ty().is_pointer().then(|| {
        // SAFETY: a constant pointer and one constant index over a byte type of the same context.
        Value::wrap(unsafe {
            let i8 = LLVMInt8TypeInContext(LLVMGetTypeContext(pointer.ty().0));
            LLVMConstGEP2(i8, pointer.0, &mut index, 1)
        })
    })
}

/// A constant array of bytes.
pub(crate) fn const_bytes<'c>(context: &'c Context, bytes: &[u8]) -> Value<'c> {
    // SAFETY: a live context and a valid slice, which LLVM copies.
    Value::wrap(unsafe {
        LLVMConstStringInContext2(context.as_ctx_ref(), bytes.as_ptr().cast(), bytes.len(), 1)
    })
}

/// The handle of an inkwell integer.
pub(crate) fn int_value_ref<'c>(value: inkwell::values::IntValue<'c>) -> Value<'c> {
    Value::wrap(inkwell::values::AsValueRef::as_value_ref(&value))
}

/// An integer as inkwell has it.
pub(crate) fn int_value<'c>(value: Value<'c>) -> inkwell::values::IntValue<'c> {
    // SAFETY: a live value of an integer type, which the caller knows it to be.
    unsafe { inkwell::values::IntValue::new(value.0) }
}
