//! Types, and those of constants and functions.

use super::*;

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

    /// Returns true if it is the type of no value.
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

    /// Returns true if it is a fixed vector.
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

    /// Returns true if it is an integer or a vector of integers.
    pub(crate) fn is_int(self) -> bool {
        self.element_if_vector().kind() == TypeKind::LLVMIntegerTypeKind
    }

    /// Returns true if it is a floating-point type or a vector of them.
    pub(crate) fn is_float(self) -> bool {
        matches!(
            self.element_if_vector().kind(),
            TypeKind::LLVMHalfTypeKind
                | TypeKind::LLVMBFloatTypeKind
                | TypeKind::LLVMFloatTypeKind
                | TypeKind::LLVMDoubleTypeKind
        )
    }

    /// Returns true if it is a pointer or a vector of pointers.
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
