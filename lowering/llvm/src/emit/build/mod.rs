//! The builder façade: one way to write an LLVM instruction, the same for scalars and vectors, that
//! reports a type mismatch instead of handing LLVM operands that it would crash on.
//!
//! Every method checks what LLVM leaves to its caller. A mismatch can only come from an invalid
//! module (its operand types disagree) or from a bug in an instruction family, so it is a
//! `TypeMismatch` diagnostic at the instruction that is being lowered.

mod aggregate;
mod arithmetic;
mod division;
mod memory;
pub(crate) mod quotient;

use super::Result;
use super::facts::Float8Conversions;
use crate::ffi::{self, Block, Func, ModuleRef, RawBuilder, Ty, Value};
use inkwell::context::Context;
use quotient::Quotients;
use splitbar_passes::diagnostic::{Code, Diagnostic, WordOffset};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Fast-math flags, as LLVM-C numbers them. `nnan` and `ninf` are left out: nothing grants them
/// (`grants.rs`).
pub(crate) mod fast {
    /// `reassoc`.
    pub(crate) const REASSOC: u32 = 1 << 0;
    /// `nsz`.
    pub(crate) const NO_SIGNED_ZEROS: u32 = 1 << 3;
    /// `arcp`.
    pub(crate) const RECIPROCAL: u32 = 1 << 4;
    /// `contract`.
    pub(crate) const CONTRACT: u32 = 1 << 5;
    /// `afn`.
    pub(crate) const APPROXIMATE: u32 = 1 << 6;
}

/// Intrinsics whose first overload must be an integer (or a vector of them), whatever a damaged
/// module says.
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
    pub(crate) at: Cell<WordOffset>,
    /// Fast-math flags given to every floating-point instruction that is built (see [`fast`]); set
    /// per instruction by the emitter.
    pub(crate) fast_math: Cell<u32>,
    /// How exact divisions and square roots are; set per function by the emitter.
    pub(crate) quotients: Cell<Quotients>,
    /// Which conversions of 8-bit floats the target has; set per function by the emitter.
    pub(crate) float8: Cell<Float8Conversions>,
    /// How many parts the loads and stores written so far have (see memory.rs).
    pub(crate) parts: Cell<u64>,
    /// Stack bytes of one invocation that the kernel at hand has taken so far (see place.rs).
    pub(crate) stack_bytes: Cell<u64>,
    intrinsics: RefCell<HashMap<(u32, Vec<usize>), Func<'c>>>,
    names: RefCell<HashMap<String, Option<(u32, bool)>>>,
    declared: RefCell<Vec<(String, Func<'c>)>>,
}

impl<'c> Build<'c> {
    pub(crate) fn new(context: &'c Context, module: ModuleRef<'c>) -> Self {
        Build {
            raw: RawBuilder::new(context),
            module,
            at: Cell::new(WordOffset::default()),
            fast_math: Cell::new(0),
            quotients: Cell::default(),
            float8: Cell::default(),
            parts: Cell::new(0),
            stack_bytes: Cell::new(0),
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
        Box::new(Diagnostic::bug(message).at_word(self.at.get()))
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

    /// An integer constant of type `ty` (integer or vector of integers: a splat), the low bits of
    /// `bits`.
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

    /// Calls an LLVM intrinsic. `name` without overload suffix (`llvm.umin`); `overloads`: the
    /// types that it is overloaded by, none when it is not; get their number right, LLVM does not
    /// check it.
    ///
    /// Never name one that the target cannot select: code generation would end the process. Ask the
    /// target row first.
    pub(crate) fn intrinsic(
        &self,
        name: &str,
        overloads: &[Ty<'c>],
        args: &[Value<'c>],
    ) -> Result<Value<'c>> {
        let known = self.names.borrow().get(name).copied();
        let known = known.unwrap_or_else(|| {
            let found = ffi::intrinsic_id(name);
            self.names.borrow_mut().insert(name.to_owned(), found);
            found
        });
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

    /// Ends the block with a branch on an `i1`; gives the branch.
    pub(crate) fn cond_br(
        &self,
        condition: Value<'c>,
        yes: Block<'c>,
        no: Block<'c>,
    ) -> Result<Value<'c>> {
        if condition.ty() != self.int_type(1) {
            return Err(self.mismatch(format!("a branch on {}", condition.ty().print())));
        }
        Ok(self.raw.cond_br(condition, yes, no))
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
