//! The builder façade: one way to write an LLVM instruction, the same for scalars and vectors, that reports a type mismatch instead of handing
//! LLVM operands that it would crash on.
//!
//! Every method checks what LLVM leaves to its caller. A mismatch can only come from an invalid module (its operand types disagree) or from a bug in
//! an instruction family, so it is a `TypeMismatch` diagnostic at the instruction that is being lowered.

use super::Result;
use crate::ffi::{
    self, AtomicOrdering, Block, Func, IntPredicate, ModuleRef, Opcode, RawBuilder, RealPredicate,
    RmwOp, Ty, TypeKind, Value,
};
use inkwell::context::Context;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Fast-math flags, as LLVM-C numbers them.
pub(crate) mod fast {
    /// `reassoc`.
    pub(crate) const REASSOC: u32 = 1 << 0;
    /// `nnan`.
    pub(crate) const NO_NAN: u32 = 1 << 1;
    /// `ninf`.
    pub(crate) const NO_INF: u32 = 1 << 2;
    /// `nsz`.
    pub(crate) const NO_SIGNED_ZEROS: u32 = 1 << 3;
    /// `arcp`.
    pub(crate) const RECIPROCAL: u32 = 1 << 4;
    /// `contract`.
    pub(crate) const CONTRACT: u32 = 1 << 5;
    /// `afn`.
    pub(crate) const APPROXIMATE: u32 = 1 << 6;
}

/// Intrinsics whose first overload must be an integer (or a vector of them), whatever a damaged module says.
#[rustfmt::skip]
const INTEGERS: &[&str] = &[
    "llvm.abs", "llvm.bitreverse", "llvm.ctlz", "llvm.ctpop", "llvm.cttz", "llvm.fptosi.sat", "llvm.fptoui.sat", "llvm.fshl", "llvm.sadd.sat", "llvm.smax",
    "llvm.smin", "llvm.ssub.sat", "llvm.uadd.sat", "llvm.umax", "llvm.umin", "llvm.usub.sat",
];

/// Intrinsics whose first overload must be a floating-point number.
#[rustfmt::skip]
const FLOATS: &[&str] = &[
    "llvm.ceil", "llvm.copysign", "llvm.cos", "llvm.exp", "llvm.exp10", "llvm.exp2", "llvm.fabs", "llvm.floor", "llvm.fma", "llvm.fmuladd", "llvm.frexp",
    "llvm.ldexp", "llvm.log", "llvm.log10", "llvm.log2", "llvm.maxnum", "llvm.minnum", "llvm.rint", "llvm.round", "llvm.roundeven", "llvm.sin", "llvm.sqrt",
    "llvm.trunc",
];

/// The builder. Positioned by [`crate::emit::function::FunctionEmitter`].
pub(crate) struct Build<'c> {
    raw: RawBuilder<'c>,
    module: ModuleRef<'c>,
    /// The word offset of the instruction that is being lowered: where diagnostics point.
    pub(crate) at: Cell<u32>,
    /// Fast-math flags given to every floating-point instruction that is built (see [`fast`]); set per instruction by the emitter.
    pub(crate) fast_math: Cell<u32>,
    /// How many parts the loads and stores written so far have (see memory.rs).
    pub(crate) parts: Cell<u64>,
    intrinsics: RefCell<HashMap<(u32, Vec<usize>), Func<'c>>>,
    names: RefCell<HashMap<&'static str, Option<(u32, bool)>>>,
    declared: RefCell<Vec<(String, Func<'c>)>>,
}

impl<'c> Build<'c> {
    pub(crate) fn new(context: &'c Context, module: ModuleRef<'c>) -> Self {
        Build {
            raw: RawBuilder::new(context),
            module,
            at: Cell::new(0),
            fast_math: Cell::new(0),
            parts: Cell::new(0),
            intrinsics: RefCell::default(),
            names: RefCell::default(),
            declared: RefCell::default(),
        }
    }

    /// The LLVM context.
    pub(crate) fn context(&self) -> &'c Context {
        self.raw.context()
    }

    /// The LLVM module.
    pub(crate) fn module(&self) -> ModuleRef<'c> {
        self.module
    }

    /// The unchecked builder, for the emitter's own control flow.
    pub(crate) fn raw(&self) -> &RawBuilder<'c> {
        &self.raw
    }

    /// A `TypeMismatch` at the current instruction.
    pub(crate) fn mismatch(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(Code::TypeMismatch, message)
                .at_word(self.at.get())
                .help("run spirv-val over the module: an operand has the wrong type"),
        )
    }

    /// An `Internal` diagnostic at the current instruction.
    pub(crate) fn internal(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(Code::Internal, message)
                .at_word(self.at.get())
                .help("please report this with the module"),
        )
    }

    fn same(&self, what: &str, a: Value<'c>, b: Value<'c>) -> Result<()> {
        if a.ty() == b.ty() {
            Ok(())
        } else {
            Err(self.mismatch(format!(
                "{what} of {} and {}",
                a.ty().print(),
                b.ty().print()
            )))
        }
    }

    // Types.

    /// `i1`, `i8`, ... of `bits` bits.
    pub(crate) fn int_type(&self, bits: u32) -> Ty<'c> {
        ffi::int_type(self.context(), bits)
    }

    /// `half`, `float` or `double`.
    pub(crate) fn float_type(&self, bits: u32) -> Ty<'c> {
        ffi::float_type(self.context(), bits)
    }

    /// `bfloat`.
    pub(crate) fn bfloat_type(&self) -> Ty<'c> {
        ffi::bfloat_type(self.context())
    }

    /// `ptr addrspace(space)`.
    pub(crate) fn pointer_type(&self, space: u32) -> Ty<'c> {
        ffi::pointer_type(self.context(), space)
    }

    /// `{ members }`.
    pub(crate) fn struct_type(&self, members: &[Ty<'c>]) -> Ty<'c> {
        ffi::struct_type(self.context(), members)
    }

    // Constants.

    /// `i32 value`.
    pub(crate) fn i32(&self, value: u32) -> Value<'c> {
        self.int_type(32).int(u64::from(value))
    }

    /// `i64 value`.
    pub(crate) fn i64(&self, value: u64) -> Value<'c> {
        self.int_type(64).int(value)
    }

    /// `i1 value`.
    pub(crate) fn bool(&self, value: bool) -> Value<'c> {
        self.int_type(1).int(u64::from(value))
    }

    /// An integer constant of type `ty` (integer or vector of integers: a splat), the low bits of `bits`.
    pub(crate) fn int(&self, ty: Ty<'c>, bits: u64) -> Result<Value<'c>> {
        if ty.is_int() {
            Ok(ty.int(bits))
        } else {
            Err(self.mismatch(format!("an integer constant of type {}", ty.print())))
        }
    }

    /// A floating-point constant of type `ty` (or a splat), rounded to it.
    pub(crate) fn float(&self, ty: Ty<'c>, value: f64) -> Result<Value<'c>> {
        if ty.is_float() {
            Ok(ty.float(value))
        } else {
            Err(self.mismatch(format!("a floating-point constant of type {}", ty.print())))
        }
    }

    // Arithmetic.

    /// A two-operand instruction: operands of one type, integer or floating-point as the opcode asks for. Floating-point ones carry [`Build::fast_math`].
    pub(crate) fn binary(&self, op: Opcode, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        use Opcode::*;
        self.same("arithmetic", a, b)?;
        let float = matches!(op, LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem);
        let ty = a.ty();
        if !(if float { ty.is_float() } else { ty.is_int() }) {
            return Err(self.mismatch(format!("{op:?} of {}", ty.print())));
        }
        let result = self.raw.binary(op, a, b);
        if float {
            result.set_fast_math(self.fast_math.get());
        }
        Ok(result)
    }

    /// `a + b`, integers, wrapping.
    pub(crate) fn add(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMAdd, a, b)
    }
    /// `a - b`, integers, wrapping.
    pub(crate) fn sub(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMSub, a, b)
    }
    /// `a * b`, integers, wrapping.
    pub(crate) fn mul(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMMul, a, b)
    }
    /// Bitwise and.
    pub(crate) fn and(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMAnd, a, b)
    }
    /// Bitwise or.
    pub(crate) fn or(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMOr, a, b)
    }
    /// Bitwise exclusive or.
    pub(crate) fn xor(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMXor, a, b)
    }
    /// `a << b`; poison when b is not below the width.
    pub(crate) fn shl(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMShl, a, b)
    }
    /// Logical shift right; poison when b is not below the width.
    pub(crate) fn lshr(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMLShr, a, b)
    }
    /// Arithmetic shift right; poison when b is not below the width.
    pub(crate) fn ashr(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMAShr, a, b)
    }
    /// `a + b`, floating-point.
    pub(crate) fn fadd(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMFAdd, a, b)
    }
    /// `a - b`, floating-point.
    pub(crate) fn fsub(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMFSub, a, b)
    }
    /// `a * b`, floating-point.
    pub(crate) fn fmul(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMFMul, a, b)
    }
    /// `a / b`, floating-point.
    pub(crate) fn fdiv(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.binary(Opcode::LLVMFDiv, a, b)
    }

    /// `-a`, floating-point.
    pub(crate) fn fneg(&self, a: Value<'c>) -> Result<Value<'c>> {
        if a.ty().is_float() {
            Ok(self.raw.fneg(a))
        } else {
            Err(self.mismatch(format!("negation of {}", a.ty().print())))
        }
    }

    /// `-a`, integers, wrapping.
    pub(crate) fn neg(&self, a: Value<'c>) -> Result<Value<'c>> {
        self.sub(a.ty().zero(), a)
    }

    /// `~a`.
    pub(crate) fn not(&self, a: Value<'c>) -> Result<Value<'c>> {
        let ones = self.int(a.ty(), u64::MAX)?;
        self.xor(a, ones)
    }

    /// Integer or pointer comparison: `i1` or a vector of them.
    pub(crate) fn icmp(
        &self,
        predicate: IntPredicate,
        a: Value<'c>,
        b: Value<'c>,
    ) -> Result<Value<'c>> {
        self.same("comparison", a, b)?;
        if !(a.ty().is_int() || a.ty().is_pointer()) {
            return Err(self.mismatch(format!("integer comparison of {}", a.ty().print())));
        }
        Ok(self.raw.icmp(predicate, a, b))
    }

    /// Floating-point comparison: `i1` or a vector of them.
    pub(crate) fn fcmp(
        &self,
        predicate: RealPredicate,
        a: Value<'c>,
        b: Value<'c>,
    ) -> Result<Value<'c>> {
        self.same("comparison", a, b)?;
        if !a.ty().is_float() {
            return Err(self.mismatch(format!("floating-point comparison of {}", a.ty().print())));
        }
        Ok(self.raw.fcmp(predicate, a, b))
    }

    /// `condition ? yes : no`; the condition is `i1`, or a vector of `i1` with as many lanes as the operands.
    pub(crate) fn select(
        &self,
        condition: Value<'c>,
        yes: Value<'c>,
        no: Value<'c>,
    ) -> Result<Value<'c>> {
        self.same("selection", yes, no)?;
        let c = condition.ty();
        let fits = c.scalar_bits() == 1
            && c.is_int()
            && (!c.is_vector() || (yes.ty().is_vector() && yes.ty().lanes() == c.lanes()));
        if fits {
            Ok(self.raw.select(condition, yes, no))
        } else {
            Err(self.mismatch(format!(
                "selection by {} among {}",
                c.print(),
                yes.ty().print()
            )))
        }
    }

    /// A cast, checked. Equal types come back as they are for bitcasts and address space casts.
    pub(crate) fn cast(&self, op: Opcode, a: Value<'c>, to: Ty<'c>) -> Result<Value<'c>> {
        use Opcode::*;
        let from = a.ty();
        let lanes = from.lanes() == to.lanes();
        let (f, t) = (from.scalar_bits(), to.scalar_bits());
        let ok = match op {
            LLVMTrunc => lanes && from.is_int() && to.is_int() && f > t,
            LLVMZExt | LLVMSExt => lanes && from.is_int() && to.is_int() && f < t,
            LLVMFPTrunc => lanes && from.is_float() && to.is_float() && f > t,
            LLVMFPExt => lanes && from.is_float() && to.is_float() && f < t,
            LLVMFPToUI | LLVMFPToSI => lanes && from.is_float() && to.is_int(),
            LLVMUIToFP | LLVMSIToFP => lanes && from.is_int() && to.is_float(),
            LLVMPtrToInt => lanes && from.is_pointer() && to.is_int(),
            LLVMIntToPtr => lanes && from.is_int() && to.is_pointer(),
            LLVMAddrSpaceCast => {
                if from == to {
                    return Ok(a);
                }
                lanes && from.is_pointer() && to.is_pointer()
            }
            LLVMBitCast => {
                if from == to {
                    return Ok(a);
                }
                f != 0
                    && t != 0
                    && u64::from(f) * u64::from(from.lanes())
                        == u64::from(t) * u64::from(to.lanes())
            }
            _ => false,
        };
        if ok {
            Ok(self.raw.cast(op, a, to))
        } else {
            Err(self.mismatch(format!("{op:?} from {} to {}", from.print(), to.print())))
        }
    }

    /// Integer to integer of any width: truncation, sign or zero extension, or nothing.
    pub(crate) fn int_resize(&self, a: Value<'c>, to: Ty<'c>, signed: bool) -> Result<Value<'c>> {
        match a.ty().scalar_bits().cmp(&to.scalar_bits()) {
            std::cmp::Ordering::Equal if a.ty() == to => Ok(a),
            std::cmp::Ordering::Equal => Err(self.mismatch(format!(
                "{} where {} is asked for",
                a.ty().print(),
                to.print()
            ))),
            std::cmp::Ordering::Greater => self.cast(Opcode::LLVMTrunc, a, to),
            std::cmp::Ordering::Less => self.cast(
                if signed {
                    Opcode::LLVMSExt
                } else {
                    Opcode::LLVMZExt
                },
                a,
                to,
            ),
        }
    }

    /// Floating-point to floating-point of any width (IEEE types; round to nearest even).
    pub(crate) fn float_resize(&self, a: Value<'c>, to: Ty<'c>) -> Result<Value<'c>> {
        match a.ty().scalar_bits().cmp(&to.scalar_bits()) {
            std::cmp::Ordering::Equal if a.ty() == to => Ok(a),
            std::cmp::Ordering::Equal => Err(self.mismatch(format!(
                "{} where {} is asked for",
                a.ty().print(),
                to.print()
            ))),
            std::cmp::Ordering::Greater => self.cast(Opcode::LLVMFPTrunc, a, to),
            std::cmp::Ordering::Less => self.cast(Opcode::LLVMFPExt, a, to),
        }
    }

    /// The same bits as another type of the same size.
    pub(crate) fn bitcast(&self, a: Value<'c>, to: Ty<'c>) -> Result<Value<'c>> {
        self.cast(Opcode::LLVMBitCast, a, to)
    }

    // Vectors and aggregates.

    /// Element `index` of a vector; of a scalar, the scalar itself for index 0.
    pub(crate) fn lane(&self, vector: Value<'c>, index: u32) -> Result<Value<'c>> {
        if !vector.ty().is_vector() {
            return if index == 0 {
                Ok(vector)
            } else {
                Err(self.mismatch("a component of a scalar"))
            };
        }
        if index >= vector.ty().lanes() {
            return Err(self.mismatch(format!("component {index} of {}", vector.ty().print())));
        }
        Ok(self.raw.extract_element(vector, self.i32(index)))
    }

    /// Element at a run-time index.
    pub(crate) fn lane_dynamic(&self, vector: Value<'c>, index: Value<'c>) -> Result<Value<'c>> {
        if vector.ty().is_vector() && index.ty().is_int() && !index.ty().is_vector() {
            Ok(self.raw.extract_element(vector, index))
        } else {
            Err(self.mismatch(format!("a component of {}", vector.ty().print())))
        }
    }

    /// The vector with one element replaced, at a constant or run-time index.
    pub(crate) fn with_lane(
        &self,
        vector: Value<'c>,
        element: Value<'c>,
        index: Value<'c>,
    ) -> Result<Value<'c>> {
        let ty = vector.ty();
        if ty.is_vector()
            && ty.element() == element.ty()
            && index.ty().is_int()
            && !index.ty().is_vector()
        {
            Ok(self.raw.insert_element(vector, element, index))
        } else {
            Err(self.mismatch(format!(
                "{} as a component of {}",
                element.ty().print(),
                ty.print()
            )))
        }
    }

    /// A vector of these scalars; one scalar comes back as it is.
    pub(crate) fn vector(&self, elements: &[Value<'c>]) -> Result<Value<'c>> {
        match elements {
            [] => Err(self.mismatch("a vector without components")),
            [one] => Ok(*one),
            [first, ..] => {
                let mut result = first.ty().vector(elements.len() as u32).poison();
                for (i, element) in elements.iter().enumerate() {
                    result = self.with_lane(result, *element, self.i32(i as u32))?;
                }
                Ok(result)
            }
        }
    }

    /// The scalar in every lane of a vector of `lanes`; for one lane the scalar itself.
    pub(crate) fn splat(&self, scalar: Value<'c>, lanes: u32) -> Result<Value<'c>> {
        if lanes == 1 {
            return Ok(scalar);
        }
        let one = self.with_lane(scalar.ty().vector(lanes).poison(), scalar, self.i32(0))?;
        self.shuffle(one, one, &vec![Some(0); lanes as usize])
    }

    /// Shuffle of two vectors of one type; `None` in the mask: that lane does not matter.
    pub(crate) fn shuffle(
        &self,
        a: Value<'c>,
        b: Value<'c>,
        mask: &[Option<u32>],
    ) -> Result<Value<'c>> {
        self.same("shuffle", a, b)?;
        let limit = a.ty().lanes() * 2;
        if !a.ty().is_vector()
            || mask.is_empty()
            || mask.iter().flatten().any(|&lane| lane >= limit)
        {
            return Err(self.mismatch(format!("shuffle of {}", a.ty().print())));
        }
        let mask: Vec<Value<'c>> = mask
            .iter()
            .map(|lane| lane.map_or_else(|| self.int_type(32).poison(), |lane| self.i32(lane)))
            .collect();
        Ok(self.raw.shuffle(a, b, Value::vector(&mask)))
    }

    /// Applies `f` to every lane of vectors with equal lane counts (or to scalars) and puts the results together.
    pub(crate) fn each_lane(
        &self,
        operands: &[Value<'c>],
        mut f: impl FnMut(&[Value<'c>]) -> Result<Value<'c>>,
    ) -> Result<Value<'c>> {
        let lanes = operands.first().map_or(1, |v| v.ty().lanes());
        if lanes == 1 {
            return f(operands);
        }
        let mut results = Vec::with_capacity(lanes as usize);
        for lane in 0..lanes {
            let scalars = operands
                .iter()
                .map(|v| self.lane(*v, lane))
                .collect::<Result<Vec<_>>>()?;
            results.push(f(&scalars)?);
        }
        self.vector(&results)
    }

    /// Member `index` of an array or structure value, or lane of a vector.
    pub(crate) fn member(&self, aggregate: Value<'c>, index: u32) -> Result<Value<'c>> {
        let ty = aggregate.ty();
        if ty.is_vector() || ty.is_int() || ty.is_float() {
            return self.lane(aggregate, index);
        }
        match aggregate.ty().member(index) {
            Some(_) => Ok(self.raw.extract_value(aggregate, index)),
            None => Err(self.mismatch(format!("member {index} of {}", aggregate.ty().print()))),
        }
    }

    /// The aggregate (or vector) with member `index` replaced.
    pub(crate) fn with_member(
        &self,
        aggregate: Value<'c>,
        member: Value<'c>,
        index: u32,
    ) -> Result<Value<'c>> {
        // A vector of one element is a scalar.
        let scalar = aggregate.ty().is_int() || aggregate.ty().is_float();
        if index == 0 && scalar && aggregate.ty() == member.ty() && !aggregate.ty().is_vector() {
            return Ok(member);
        }
        match aggregate.ty().member(index) {
            Some(ty) if ty == member.ty() => Ok(if aggregate.ty().is_vector() {
                self.raw.insert_element(aggregate, member, self.i32(index))
            } else {
                self.raw.insert_value(aggregate, member, index)
            }),
            _ => Err(self.mismatch(format!(
                "{} as member {index} of {}",
                member.ty().print(),
                aggregate.ty().print()
            ))),
        }
    }

    // Memory. The emitter's memory.rs is the usual caller; families use it for atomics and element access.

    /// Loads a scalar or vector with `align` bytes of alignment.
    pub(crate) fn load(&self, ty: Ty<'c>, pointer: Value<'c>, align: u32) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        let load = self.raw.load(ty, pointer);
        load.set_alignment(align);
        Ok(load)
    }

    /// Stores a scalar or vector with `align` bytes of alignment; gives the store.
    pub(crate) fn store(
        &self,
        value: Value<'c>,
        pointer: Value<'c>,
        align: u32,
    ) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        let store = self.raw.store(value, pointer);
        store.set_alignment(align);
        Ok(store)
    }

    /// `pointer + bytes`; `bytes` is an integer.
    pub(crate) fn offset(
        &self,
        pointer: Value<'c>,
        bytes: Value<'c>,
        in_bounds: bool,
    ) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        if bytes.as_u64() == Some(0) {
            return Ok(pointer);
        }
        if !bytes.ty().is_int() || bytes.ty().is_vector() {
            return Err(self.mismatch(format!("an offset of type {}", bytes.ty().print())));
        }
        Ok(self.raw.offset(pointer, bytes, in_bounds))
    }

    fn want_pointer(&self, value: Value<'c>) -> Result<()> {
        if value.ty().kind() == TypeKind::LLVMPointerTypeKind {
            Ok(())
        } else {
            Err(self.mismatch(format!(
                "{} where a pointer is asked for",
                value.ty().print()
            )))
        }
    }

    /// `fence ordering` in the synchronisation scope with number `scope`; gives the fence (to hang metadata on).
    pub(crate) fn fence(&self, ordering: AtomicOrdering, scope: u32) -> Value<'c> {
        self.raw.fence(ordering, scope)
    }

    /// Atomic read-modify-write; the old value.
    pub(crate) fn rmw(
        &self,
        op: RmwOp,
        pointer: Value<'c>,
        value: Value<'c>,
        ordering: AtomicOrdering,
        scope: u32,
    ) -> Result<Value<'c>> {
        use RmwOp::*;
        self.want_pointer(pointer)?;
        let ty = value.ty();
        let float = matches!(
            op,
            LLVMAtomicRMWBinOpFAdd
                | LLVMAtomicRMWBinOpFSub
                | LLVMAtomicRMWBinOpFMax
                | LLVMAtomicRMWBinOpFMin
        );
        let ok = if op == LLVMAtomicRMWBinOpXchg {
            ty.is_int() || ty.is_float()
        } else if float {
            ty.is_float()
        } else {
            ty.is_int()
        };
        if !ok || ty.is_vector() {
            return Err(self.mismatch(format!("{op:?} of {}", ty.print())));
        }
        Ok(self.raw.rmw(op, pointer, value, ordering, scope))
    }

    /// Atomic compare and exchange of integers: `{ old, i1 success }`.
    pub(crate) fn cmpxchg(
        &self,
        pointer: Value<'c>,
        expected: Value<'c>,
        new: Value<'c>,
        success: AtomicOrdering,
        failure: AtomicOrdering,
        scope: u32,
    ) -> Result<Value<'c>> {
        self.want_pointer(pointer)?;
        self.same("compare and exchange", expected, new)?;
        if !expected.ty().is_int() || expected.ty().is_vector() {
            return Err(self.mismatch(format!("compare and exchange of {}", expected.ty().print())));
        }
        Ok(self
            .raw
            .cmpxchg(pointer, expected, new, success, failure, scope))
    }

    // Calls.

    /// Calls `callee`; arguments are checked against its type.
    pub(crate) fn call(&self, callee: Func<'c>, args: &[Value<'c>]) -> Result<Value<'c>> {
        let ty = callee.ty();
        let params = ffi::param_types(ty);
        if params.len() != args.len() || params.iter().zip(args).any(|(p, a)| *p != a.ty()) {
            let given: Vec<String> = args.iter().map(|a| a.ty().print()).collect();
            return Err(self.mismatch(format!(
                "a call of a function of type {} with ({})",
                ty.print(),
                given.join(", ")
            )));
        }
        let call = self.raw.call(ty, callee.value(), args);
        if ffi::return_type(ty).is_float() {
            call.set_fast_math(self.fast_math.get());
        }
        Ok(call)
    }

    /// Calls an LLVM intrinsic. `name` without overload suffix (`llvm.umin`); `overloads`: the types that it is overloaded by, none when it is not;
    /// get their number right, LLVM does not check it.
    ///
    /// Never name one that the target cannot select: code generation would end the process. Ask the target row first.
    pub(crate) fn intrinsic(
        &self,
        name: &'static str,
        overloads: &[Ty<'c>],
        args: &[Value<'c>],
    ) -> Result<Value<'c>> {
        let known = *self
            .names
            .borrow_mut()
            .entry(name)
            .or_insert_with(|| ffi::intrinsic_id(name));
        let Some((id, overloaded)) = known else {
            return Err(self.internal(format!("LLVM has no intrinsic {name}")));
        };
        if overloaded == overloads.is_empty() {
            return Err(self.internal(format!(
                "{name} is {}overloaded",
                if overloaded { "" } else { "not " }
            )));
        }
        if let Some(ty) = overloads.first()
            && ((INTEGERS.contains(&name) && !ty.is_int())
                || (FLOATS.contains(&name) && !ty.is_float()))
        {
            return Err(self.mismatch(format!("{name} of {}", ty.print())));
        }
        let key = (id, overloads.iter().map(|t| t.number()).collect::<Vec<_>>());
        let callee = *self
            .intrinsics
            .borrow_mut()
            .entry(key)
            .or_insert_with(|| ffi::intrinsic(self.module, id, overloads));
        self.call(callee, args)
    }

    /// The function `name` of type `ty`, which `define` fills when it is asked for first.
    pub(crate) fn defined(
        &self,
        name: &str,
        ty: Ty<'c>,
        define: impl FnOnce(Func<'c>) -> Result<()>,
    ) -> Result<Func<'c>> {
        if let Some(function) = self.known(name) {
            return Ok(function);
        }
        let function = Func::add(self.module, name, ty);
        self.declared.borrow_mut().push((name.to_owned(), function));
        define(function)?;
        Ok(function)
    }

    fn known(&self, name: &str) -> Option<Func<'c>> {
        self.declared
            .borrow()
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, function)| *function)
    }

    /// Calls the function `name` of type `ty`, which is declared in the module on its first call.
    pub(crate) fn declared_call(
        &self,
        name: &str,
        ty: Ty<'c>,
        args: &[Value<'c>],
    ) -> Result<Value<'c>> {
        let callee = self.known(name).unwrap_or_else(|| {
            let function = Func::add(self.module, name, ty);
            self.declared.borrow_mut().push((name.to_owned(), function));
            function
        });
        self.call(callee, args)
    }

    // Blocks in the middle of a SPIR-V block (loops and branches that an instruction needs).

    /// The block that is being written.
    pub(crate) fn block(&self) -> Result<Block<'c>> {
        self.raw
            .block()
            .ok_or_else(|| self.internal("no block is being written"))
    }

    /// Goes on writing at the end of `block`.
    pub(crate) fn position(&self, block: Block<'c>) {
        self.raw.position(block);
    }

    /// Ends the block with a jump.
    pub(crate) fn br(&self, to: Block<'c>) {
        self.raw.br(to);
    }

    /// Ends the block with a branch on an `i1`.
    pub(crate) fn cond_br(
        &self,
        condition: Value<'c>,
        yes: Block<'c>,
        no: Block<'c>,
    ) -> Result<()> {
        if condition.ty() != self.int_type(1) {
            return Err(self.mismatch(format!("a branch on {}", condition.ty().print())));
        }
        self.raw.cond_br(condition, yes, no);
        Ok(())
    }

    /// A phi of values by the block that each comes from.
    pub(crate) fn phi(&self, incoming: &[(Value<'c>, Block<'c>)]) -> Result<Value<'c>> {
        let Some((first, _)) = incoming.first() else {
            return Err(self.internal("a phi without incoming values"));
        };
        let phi = self.raw.phi(first.ty());
        for (value, block) in incoming {
            self.same("phi", *first, *value)?;
            phi.add_incoming(*value, *block);
        }
        Ok(phi)
    }
}
