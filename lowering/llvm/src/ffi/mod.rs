//! The door to LLVM's C interface: types, values, blocks, functions and a builder as small `Copy`
//! handles, and what inkwell's typed interface lacks (fences and atomics with a synchronisation
//! scope, MMRA metadata, attributes by name, intrinsics by name).
//!
//! This folder is the only place of the compiler with unsafe code. The rules that make it sound:
//! - a handle is only made from what LLVM returned, non-null, and carries the lifetime of the LLVM
//!   context that owns it;
//! - LLVM keeps values, types and blocks alive until their module or context is dropped; nothing
//!   here deletes one;
//! - handles are neither `Send` nor `Sync`, so a context is used by one thread.
//! - operand types are not checked here: LLVM asks its callers for it, and [`crate::emit::build`]
//!   is the one caller that does.
#![allow(unsafe_code)]

mod builder;
mod disassembler;
mod errors;
mod instructions;
mod reading;
mod reports;

pub(crate) use builder::RawBuilder;
pub(crate) use disassembler::{Disassembler, LLVMInitializeAMDGPUDisassembler};
pub(crate) use errors::Errors;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
pub(crate) use inkwell::llvm_sys::{
    LLVMAtomicOrdering as AtomicOrdering, LLVMAtomicRMWBinOp as RmwOp,
    LLVMIntPredicate as IntPredicate, LLVMLinkage as Linkage, LLVMOpcode as Opcode,
    LLVMRealPredicate as RealPredicate, LLVMTypeKind as TypeKind,
};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, InstructionValue};
pub(crate) use instructions::{access_facts, place_nowhere, scope_of_update, set_column};
pub(crate) use reading::{
    SourcePlace, align_of_type, annotations, delete_unused, functions, named_function, parse_ir,
    size_of_global, size_of_type,
};
pub(crate) use reports::{
    report_no_pass, report_passes, reports_passes, switch_reports, wants_reports,
};
use std::ffi::{CStr, CString, c_char, c_uint};
use std::marker::PhantomData;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ty) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        pub(crate) struct $name<'c>($raw, PhantomData<&'c Context>);

        impl<'c> $name<'c> {
            /// Wraps what LLVM returned. LLVM's constructors return non-null for the arguments that
            /// this crate gives them.
            fn wrap(raw: $raw) -> Self {
                debug_assert!(!raw.is_null());
                $name(raw, PhantomData)
            }
        }
    };
}

handle! {
    /// An LLVM type.
    Ty, LLVMTypeRef
}
handle! {
    /// An LLVM value: constant, instruction, argument, global.
    Value, LLVMValueRef
}
handle! {
    /// An LLVM basic block.
    Block, LLVMBasicBlockRef
}
handle! {
    /// An LLVM function.
    Func, LLVMValueRef
}
handle! {
    /// A metadata node or string.
    Meta, LLVMMetadataRef
}

handle! {
    /// A module. Whoever makes one keeps the inkwell module alive for as long as the handle is
    /// used.
    ModuleRef, LLVMModuleRef
}

/// The handle of `module`.
pub(crate) fn module_ref<'c>(module: &Module<'c>) -> ModuleRef<'c> {
    ModuleRef::wrap(module.as_mut_ptr())
}

macro_rules! calls {
    ($this:ident $($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $call:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name($this, $($arg: $ty),*) {
                // SAFETY: stated at the row.
                unsafe { $call }
            }
        )*
    };
}

fn text(bytes: &str) -> (*const c_char, usize) {
    (bytes.as_ptr().cast(), bytes.len())
}

const NO_NAME: *const c_char = c"".as_ptr();

impl<'c> Ty<'c> {
    /// A number that tells it from the context's other types.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// Its kind.
    pub(crate) fn kind(self) -> TypeKind {
        // SAFETY: self is a live type of its context.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    /// Whether it is the type of no value.
    pub(crate) fn is_void(self) -> bool {
        self.kind() == TypeKind::LLVMVoidTypeKind
    }

    /// Bits of an integer type; 0 for any other.
    pub(crate) fn int_width(self) -> u32 {
        if self.kind() == TypeKind::LLVMIntegerTypeKind {
            // SAFETY: it is an integer type.
            unsafe { LLVMGetIntTypeWidth(self.0) }
        } else {
            0
        }
    }

    /// Number of elements of a fixed vector; 1 for any other type.
    pub(crate) fn lanes(self) -> u32 {
        if self.is_vector() {
            // SAFETY: it is a vector type.
            unsafe { LLVMGetVectorSize(self.0) }
        } else {
            1
        }
    }

    /// Whether it is a fixed vector.
    pub(crate) fn is_vector(self) -> bool {
        self.kind() == TypeKind::LLVMVectorTypeKind
    }

    /// The element type of a vector or array; the type itself for any other.
    pub(crate) fn element(self) -> Ty<'c> {
        match self.kind() {
            TypeKind::LLVMVectorTypeKind | TypeKind::LLVMArrayTypeKind => {
                // SAFETY: vector and array types have an element type.
                Ty::wrap(unsafe { LLVMGetElementType(self.0) })
            }
            _ => self,
        }
    }

    /// Number of members of an array or structure, elements of a vector; 0 for any other.
    pub(crate) fn count(self) -> u64 {
        // SAFETY: each call is made on the kind of type that it is for.
        unsafe {
            match self.kind() {
                TypeKind::LLVMArrayTypeKind => LLVMGetArrayLength2(self.0),
                TypeKind::LLVMStructTypeKind => u64::from(LLVMCountStructElementTypes(self.0)),
                TypeKind::LLVMVectorTypeKind => u64::from(LLVMGetVectorSize(self.0)),
                _ => 0,
            }
        }
    }

    /// The type of member `index` of an array or structure; `None` when there is none.
    pub(crate) fn member(self, index: u32) -> Option<Ty<'c>> {
        if u64::from(index) >= self.count() {
            return None;
        }
        match self.kind() {
            TypeKind::LLVMStructTypeKind => {
                // SAFETY: the index was checked against the number of members.
                Some(Ty::wrap(unsafe { LLVMStructGetTypeAtIndex(self.0, index) }))
            }
            _ => Some(self.element()),
        }
    }

    /// Whether it is an integer or a vector of integers.
    pub(crate) fn is_int(self) -> bool {
        self.element_if_vector().kind() == TypeKind::LLVMIntegerTypeKind
    }

    /// Whether it is a floating-point type or a vector of them.
    pub(crate) fn is_float(self) -> bool {
        matches!(
            self.element_if_vector().kind(),
            TypeKind::LLVMHalfTypeKind
                | TypeKind::LLVMBFloatTypeKind
                | TypeKind::LLVMFloatTypeKind
                | TypeKind::LLVMDoubleTypeKind
        )
    }

    /// Whether it is a pointer or a vector of pointers.
    pub(crate) fn is_pointer(self) -> bool {
        self.element_if_vector().kind() == TypeKind::LLVMPointerTypeKind
    }

    /// The component type of a vector; the type itself for any other.
    pub(crate) fn element_if_vector(self) -> Ty<'c> {
        if self.is_vector() {
            self.element()
        } else {
            self
        }
    }

    /// Bits of a scalar integer or floating-point type, or of a vector's component; 0 for any
    /// other.
    pub(crate) fn scalar_bits(self) -> u32 {
        let scalar = self.element_if_vector();
        match scalar.kind() {
            TypeKind::LLVMIntegerTypeKind => scalar.int_width(),
            TypeKind::LLVMHalfTypeKind | TypeKind::LLVMBFloatTypeKind => 16,
            TypeKind::LLVMFloatTypeKind => 32,
            TypeKind::LLVMDoubleTypeKind => 64,
            _ => 0,
        }
    }

    /// The address space of a pointer (or of a vector's pointers); 0 for any other.
    pub(crate) fn address_space(self) -> u32 {
        let scalar = self.element_if_vector();
        if scalar.kind() == TypeKind::LLVMPointerTypeKind {
            // SAFETY: it is a pointer type.
            unsafe { LLVMGetPointerAddressSpace(scalar.0) }
        } else {
            0
        }
    }

    /// `<lanes x self>`, or the type itself for one lane.
    pub(crate) fn vector(self, lanes: u32) -> Ty<'c> {
        if lanes == 1 {
            self
        } else {
            // SAFETY: self is a live scalar type.
            Ty::wrap(unsafe { LLVMVectorType(self.0, lanes) })
        }
    }

    /// `[length x self]`.
    pub(crate) fn array(self, length: u64) -> Ty<'c> {
        // SAFETY: self is a live sized type.
        Ty::wrap(unsafe { LLVMArrayType2(self.0, length) })
    }

    /// All bits zero.
    pub(crate) fn zero(self) -> Value<'c> {
        // SAFETY: self is a live first-class type.
        Value::wrap(unsafe { LLVMConstNull(self.0) })
    }

    /// Poison.
    pub(crate) fn poison(self) -> Value<'c> {
        // SAFETY: as above.
        Value::wrap(unsafe { LLVMGetPoison(self.0) })
    }

    /// Undef.
    pub(crate) fn undef(self) -> Value<'c> {
        // SAFETY: as above.
        Value::wrap(unsafe { LLVMGetUndef(self.0) })
    }

    /// An integer constant, or a splat of it for a vector: the low bits of `bits`.
    pub(crate) fn int(self, bits: u64) -> Value<'c> {
        let scalar = self.element_if_vector();
        let masked = match scalar.int_width() {
            width @ 1..64 => bits & ((1u64 << width) - 1),
            _ => bits,
        };
        // SAFETY: called on integer types only (the façade checks); the bits fit the width.
        let one = Value::wrap(unsafe { LLVMConstInt(scalar.0, masked, 0) });
        one.splat_constant(self.lanes())
    }

    /// A floating-point constant, or a splat of it for a vector, rounded to the type.
    pub(crate) fn float(self, value: f64) -> Value<'c> {
        let scalar = self.element_if_vector();
        // SAFETY: called on floating-point types only.
        Value::wrap(unsafe { LLVMConstReal(scalar.0, value) }).splat_constant(self.lanes())
    }

    /// A floating-point constant from its bits.
    pub(crate) fn float_bits(self, bits: u64) -> Value<'c> {
        // SAFETY: called on floating-point types of at most 64 bits; LLVM reads one word.
        Value::wrap(unsafe { LLVMConstFPFromBits(self.0, &bits) })
    }

    /// A function type.
    pub(crate) fn function(self, params: &[Ty<'c>]) -> Ty<'c> {
        let mut raw: Vec<LLVMTypeRef> = params.iter().map(|p| p.0).collect();
        // SAFETY: LLVM copies the `raw.len()` parameter types.
        Ty::wrap(unsafe { LLVMFunctionType(self.0, raw.as_mut_ptr(), raw.len() as c_uint, 0) })
    }

    /// The textual form.
    pub(crate) fn print(self) -> String {
        // SAFETY: LLVM returns a string that we own and give back.
        unsafe { owned_text(LLVMPrintTypeToString(self.0)) }
    }
}

/// Copies a string that LLVM allocated, and frees it.
///
/// # Safety
/// `raw` is null or a string that LLVM says to free with `LLVMDisposeMessage`.
unsafe fn owned_text(raw: *mut c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: by contract a zero-terminated string, which stays alive until it is disposed of.
    unsafe {
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        LLVMDisposeMessage(raw);
        text
    }
}

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

    fn splat_constant(self, lanes: u32) -> Value<'c> {
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

    /// Whether this instruction is a phi.
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

fn enum_attribute(context: &Context, name: &str, value: u64) -> LLVMAttributeRef {
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

    /// Whether it has a body.
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

/// A name for LLVM: what follows a zero byte is cut off.
fn c_name(name: &str) -> CString {
    let clean: String = name.chars().take_while(|c| *c != '\0').collect();
    CString::new(clean).unwrap_or_default()
}

/// Integer type of `bits` bits (1 to 2^23).
pub(crate) fn int_type(context: &Context, bits: u32) -> Ty<'_> {
    // SAFETY: a live context.
    Ty::wrap(unsafe { LLVMIntTypeInContext(context.as_ctx_ref(), bits) })
}

/// IEEE type of 16, 32 or 64 bits; any other width is `float`.
pub(crate) fn float_type(context: &Context, bits: u32) -> Ty<'_> {
    // SAFETY: a live context.
    unsafe {
        Ty::wrap(match bits {
            16 => LLVMHalfTypeInContext(context.as_ctx_ref()),
            64 => LLVMDoubleTypeInContext(context.as_ctx_ref()),
            _ => LLVMFloatTypeInContext(context.as_ctx_ref()),
        })
    }
}

/// `bfloat`.
pub(crate) fn bfloat_type(context: &Context) -> Ty<'_> {
    // SAFETY: a live context.
    Ty::wrap(unsafe { LLVMBFloatTypeInContext(context.as_ctx_ref()) })
}

/// `void`.
pub(crate) fn void_type(context: &Context) -> Ty<'_> {
    // SAFETY: a live context.
    Ty::wrap(unsafe { LLVMVoidTypeInContext(context.as_ctx_ref()) })
}

/// `ptr addrspace(space)`.
pub(crate) fn pointer_type(context: &Context, space: u32) -> Ty<'_> {
    // SAFETY: a live context.
    Ty::wrap(unsafe { LLVMPointerTypeInContext(context.as_ctx_ref(), space) })
}

/// An unnamed structure type.
pub(crate) fn struct_type<'c>(context: &'c Context, members: &[Ty<'c>]) -> Ty<'c> {
    let mut raw: Vec<LLVMTypeRef> = members.iter().map(|m| m.0).collect();
    // SAFETY: a live context; LLVM copies the list.
    Ty::wrap(unsafe {
        LLVMStructTypeInContext(
            context.as_ctx_ref(),
            raw.as_mut_ptr(),
            raw.len() as c_uint,
            0,
        )
    })
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

/// The number of a synchronisation scope; the empty name is the whole system.
pub(crate) fn sync_scope(context: &Context, name: &str) -> u32 {
    let (name, length) = text(name);
    // SAFETY: a live context and a valid slice.
    unsafe { LLVMGetSyncScopeID(context.as_ctx_ref(), name, length) }
}

/// A constant array of bytes.
pub(crate) fn const_bytes<'c>(context: &'c Context, bytes: &[u8]) -> Value<'c> {
    // SAFETY: a live context and a valid slice, which LLVM copies.
    Value::wrap(unsafe {
        LLVMConstStringInContext2(context.as_ctx_ref(), bytes.as_ptr().cast(), bytes.len(), 1)
    })
}

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

/// Adds a global variable in address space `space`.
pub(crate) fn add_global<'c>(
    module: ModuleRef<'c>,
    ty: Ty<'c>,
    space: u32,
    name: &str,
) -> Value<'c> {
    let name = c_name(name);
    // SAFETY: a live module and a sized type of its context.
    Value::wrap(unsafe { LLVMAddGlobalInAddressSpace(module.0, ty.0, name.as_ptr(), space) })
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

/// The parameter types of a function type.
pub(crate) fn param_types<'c>(function: Ty<'c>) -> Vec<Ty<'c>> {
    // SAFETY: called on function types; the buffer has room for all parameters.
    unsafe {
        let count = LLVMCountParamTypes(function.0) as usize;
        let mut raw: Vec<LLVMTypeRef> = vec![std::ptr::null_mut(); count];
        LLVMGetParamTypes(function.0, raw.as_mut_ptr());
        raw.into_iter().map(Ty::wrap).collect()
    }
}

/// The return type of a function type.
pub(crate) fn return_type(function: Ty<'_>) -> Ty<'_> {
    // SAFETY: called on function types.
    Ty::wrap(unsafe { LLVMGetReturnType(function.0) })
}

/// The function called `name` that has no body yet, if the module still has it.
pub(crate) fn declaration<'c>(module: ModuleRef<'c>, name: &str) -> Option<Func<'c>> {
    named_function(module, name).filter(|function| !function.has_body())
}

/// The global variable called `name`, if the module still has it.
pub(crate) fn named_global<'c>(module: ModuleRef<'c>, name: &str) -> Option<Value<'c>> {
    let name = c_name(name);
    // SAFETY: a live module; null means that there is none.
    let global = unsafe { LLVMGetNamedGlobal(module.0, name.as_ptr()) };
    (!global.is_null()).then(|| Value::wrap(global))
}

/// The handle of an inkwell block.
pub(crate) fn block_ref<'c>(block: inkwell::basic_block::BasicBlock<'c>) -> Block<'c> {
    Block::wrap(block.as_mut_ptr())
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

/// The target's own type `name` with integer parameters.
pub(crate) fn target_type<'c>(context: &'c Context, name: &str, parameters: &[u32]) -> Ty<'c> {
    let (name, mut parameters) = (c_name(name), parameters.to_vec());
    // SAFETY: a live context, a valid name and as many parameters as are said; LLVM copies them.
    Ty::wrap(unsafe {
        LLVMTargetExtTypeInContext(
            context.as_ctx_ref(),
            name.as_ptr(),
            std::ptr::null_mut(),
            0,
            parameters.as_mut_ptr(),
            parameters.len() as c_uint,
        )
    })
}

/// The number of global variables of type `ty`.
pub(crate) fn globals_of_type(module: ModuleRef<'_>, ty: Ty<'_>) -> usize {
    let mut count = 0;
    // SAFETY: a live module; the list of its globals is not changed while it is walked.
    unsafe {
        let mut global = LLVMGetFirstGlobal(module.0);
        while !global.is_null() {
            count += usize::from(LLVMGlobalGetValueType(global) == ty.0);
            global = LLVMGetNextGlobal(global);
        }
    }
    count
}

/// The module as text.
pub(crate) fn module_text(module: &Module<'_>) -> String {
    // SAFETY: LLVM returns a string that we own and give back.
    unsafe { owned_text(LLVMPrintModuleToString(module.as_mut_ptr())) }
}
