//! Functions, their blocks and attributes, and what is called: intrinsics, inline assembly.

use super::*;

pub(super) fn enum_attribute(context: &Context, name: &str, value: u64) -> LLVMAttributeRef {
    let (name, length) = text(name);
    // SAFETY: the name is a valid slice; an attribute is owned by its context.
    unsafe {
        LLVMCreateEnumAttribute(
            context.as_ctx_ref(),
            LLVMGetEnumAttributeKindForName(name, length),
            value,
        )
    }
}

impl<'c> Block<'c> {
    /// The block as a place that has a terminator already.
    pub(crate) fn is_terminated(self) -> bool {
        // SAFETY: self is a live block.
        unsafe { !LLVMGetBasicBlockTerminator(self.0).is_null() }
    }

    /// Its instructions, in order.
    pub(crate) fn instructions(self) -> Vec<Value<'c>> {
        let mut all = Vec::new();
        // SAFETY: self is a live block, which is not changed while it is walked.
        unsafe {
            let mut at = LLVMGetFirstInstruction(self.0);
            while !at.is_null() {
                all.push(Value::wrap(at));
                at = LLVMGetNextInstruction(at);
            }
        }
        all
    }
}

impl<'c> Func<'c> {
    /// Adds a function to a module.
    pub(crate) fn add(module: ModuleRef<'c>, name: &str, ty: Ty<'c>) -> Func<'c> {
        let name = c_name(name);
        // SAFETY: a live module and a function type of its context.
        Func::wrap(unsafe { LLVMAddFunction(module.0, name.as_ptr(), ty.0) })
    }

    /// The function as a value, to call it.
    pub(crate) fn value(self) -> Value<'c> {
        Value::wrap(self.0)
    }

    /// Its function type.
    pub(crate) fn ty(self) -> Ty<'c> {
        // SAFETY: self is a live function.
        Ty::wrap(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    /// Parameter `index`.
    pub(crate) fn param(self, index: u32) -> Option<Value<'c>> {
        // SAFETY: the index is checked first.
        unsafe {
            (index < LLVMCountParams(self.0)).then(|| Value::wrap(LLVMGetParam(self.0, index)))
        }
    }

    calls! { self
        /// Calling convention, by LLVM's number.
        // SAFETY: self is a live function.
        set_call_convention(number: u32) = LLVMSetFunctionCallConv(self.0, number);
        /// Adds an enum attribute (`convergent`, `nounwind`, `alwaysinline`, ...).
        // SAFETY: a function attribute on a live function.
        attribute(context: &'c Context, name: &str) = LLVMAddAttributeAtIndex(self.0, inkwell::llvm_sys::LLVMAttributeFunctionIndex, enum_attribute(context, name, 0));
    }

    /// Adds a string attribute.
    pub(crate) fn string_attribute(self, context: &'c Context, key: &str, value: &str) {
        let ((k, kl), (v, vl)) = (text(key), text(value));
        // SAFETY: both slices are valid; LLVM copies them.
        unsafe {
            let attribute =
                LLVMCreateStringAttribute(context.as_ctx_ref(), k, kl as c_uint, v, vl as c_uint);
            LLVMAddAttributeAtIndex(
                self.0,
                inkwell::llvm_sys::LLVMAttributeFunctionIndex,
                attribute,
            );
        }
    }

    calls! { self
        /// Adds an attribute with a number (`align`, `dereferenceable`) or without (`noalias`) to
        /// parameter `index`.
        // SAFETY: a parameter attribute on a live function; index 0 is the return value.
        param_attribute(context: &'c Context, index: u32, name: &str, value: u64) = LLVMAddAttributeAtIndex(self.0, index + 1, enum_attribute(context, name, value));
    }

    /// Adds a string attribute to parameter `index`.
    pub(crate) fn param_string_attribute(self, context: &'c Context, index: u32, key: &str) {
        let (k, kl) = text(key);
        // SAFETY: as `string_attribute`.
        unsafe {
            let attribute =
                LLVMCreateStringAttribute(context.as_ctx_ref(), k, kl as c_uint, NO_NAME, 0);
            LLVMAddAttributeAtIndex(self.0, index + 1, attribute);
        }
    }

    /// Adds an attribute that carries a type (`byval`, `byref`) to parameter `index`.
    pub(crate) fn param_type_attribute(
        self,
        context: &'c Context,
        index: u32,
        name: &str,
        ty: Ty<'c>,
    ) {
        let (name, length) = text(name);
        // SAFETY: a type attribute on a live function's parameter.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name, length);
            LLVMAddAttributeAtIndex(
                self.0,
                index + 1,
                LLVMCreateTypeAttribute(context.as_ctx_ref(), kind, ty.0),
            );
        }
    }

    /// Appends a block.
    pub(crate) fn append(self, context: &'c Context) -> Block<'c> {
        // SAFETY: a live function of this context.
        Block::wrap(unsafe { LLVMAppendBasicBlockInContext(context.as_ctx_ref(), self.0, NO_NAME) })
    }

    /// Returns true if it has a body.
    pub(crate) fn has_body(self) -> bool {
        // SAFETY: self is a live function.
        unsafe { LLVMCountBasicBlocks(self.0) != 0 }
    }

    calls! { self
        /// Internal linkage.
        // SAFETY: self is a live function.
        set_internal() = LLVMSetLinkage(self.0, Linkage::LLVMInternalLinkage);
    }

    /// Metadata of kind `kind` on the function.
    pub(crate) fn set_metadata(self, context: &'c Context, kind: &str, node: Meta<'c>) {
        let (name, length) = text(kind);
        // SAFETY: self is a global object of `context`; the name is a valid slice.
        unsafe {
            LLVMGlobalSetMetadata(
                self.0,
                LLVMGetMDKindIDInContext(context.as_ctx_ref(), name, length as c_uint),
                node.0,
            )
        }
    }

    calls! { self
        /// Attaches a debug subprogram.
        // SAFETY: the metadata is a DISubprogram of the same context.
        set_subprogram(subprogram: Meta<'c>) = inkwell::llvm_sys::debuginfo::LLVMSetSubprogram(self.0, subprogram.0);
    }
}

/// The number of the intrinsic `name` (without overload suffix) and whether it is overloaded;
/// `None` if this LLVM has none.
pub(crate) fn intrinsic_id(name: &str) -> Option<(u32, bool)> {
    let (name, length) = text(name);
    // SAFETY: a valid slice.
    unsafe {
        let id = LLVMLookupIntrinsicID(name, length);
        (id != 0).then(|| (id, LLVMIntrinsicIsOverloaded(id) != 0))
    }
}

/// The declaration of intrinsic `id` with overload types `types`.
pub(crate) fn intrinsic<'c>(module: ModuleRef<'c>, id: u32, types: &[Ty<'c>]) -> Func<'c> {
    let mut raw: Vec<LLVMTypeRef> = types.iter().map(|t| t.0).collect();
    // SAFETY: a live module, an existing intrinsic, and as many types as the caller knows it to be
    // overloaded by.
    Func::wrap(unsafe { LLVMGetIntrinsicDeclaration(module.0, id, raw.as_mut_ptr(), raw.len()) })
}

/// Inline assembly as a callee of type `ty`. Without `side_effects` it may be moved, and left out
/// where nobody uses its result.
pub(crate) fn inline_assembly<'c>(
    ty: Ty<'c>,
    assembly: &str,
    constraints: &str,
    side_effects: bool,
) -> Value<'c> {
    let ((a, al), (c, cl)) = (text(assembly), text(constraints));
    // SAFETY: a function type and two valid slices, which LLVM copies.
    Value::wrap(unsafe {
        LLVMGetInlineAsm(
            ty.0,
            a,
            al,
            c,
            cl,
            i32::from(side_effects),
            0,
            inkwell::llvm_sys::LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
            0,
        )
    })
}

/// The function called `name` that has no body yet, if the module still has it.
pub(crate) fn declaration<'c>(module: ModuleRef<'c>, name: &str) -> Option<Func<'c>> {
    named_function(module, name).filter(|function| !function.has_body())
}

/// The handle of an inkwell block.
pub(crate) fn block_ref<'c>(block: inkwell::basic_block::BasicBlock<'c>) -> Block<'c> {
    Block::wrap(block.as_mut_ptr())
}
