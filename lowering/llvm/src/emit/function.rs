//! The state of one function's lowering, and the interface that the instruction families are
//! written against.
//!
//! A family is a function `fn emit(e: &mut FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) ->
//! Result<Handled>`: it reads operands ([`FunctionEmitter::value`], [`FunctionEmitter::pointer`]),
//! builds with `e.b`, and binds the result ([`FunctionEmitter::bind`]). What it returns as an error
//! is recorded by the caller, the result becomes poison and the walk goes on.

use super::Result;
use super::build::Build;
use super::context::{KernelContext, ModuleContext};
use super::slots::{Pointer, Slot, Slots};
use super::state::{Arguments, Control, Convergence, StateSlots};
use super::types::{self, Kind, TypeInfo};
use crate::debug::line_of;
use crate::ffi::{Block, Func, Meta, Ty, Value};
use splitbar_passes::analysis::qualifiers::Qualifiers;
use splitbar_passes::analysis::undefined::Undefined;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Id, Inst, WordOffset};
use std::cell::Cell;

/// The lowering of one function.
pub(crate) struct FunctionEmitter<'e, 'c, 'm> {
    /// The builder; it stands at the end of the block that is being written.
    pub(crate) b: &'e Build<'c>,
    /// The part that all functions of the LLVM module share.
    pub(crate) module: &'e ModuleContext<'c, 'm>,
    /// The part that all functions of the kernel share: this copy belongs to it alone.
    pub(crate) kernel: &'e KernelContext<'e, 'c>,
    /// The LLVM function that is being written.
    pub(crate) function: Func<'c>,
    /// The block for stack slots: the function's first one, ended when the body is done.
    pub(super) prologue: Block<'c>,
    /// The block where a kernel whose waves have something to do when they end does it: all returns
    /// lead there.
    pub(crate) end: Option<Block<'c>>,
    /// The subprogram that debug locations name, when lines are asked for.
    pub(crate) scope: Option<Meta<'c>>,
    /// Meanings of ids.
    pub(super) slots: Slots<'c>,
    /// True while the error that is on its way only follows from one that has been reported.
    pub(super) cascade: Cell<bool>,
    /// Values that may be undefined where they arise.
    pub(super) undefined: Undefined,
    /// Blocks by label.
    pub(super) control: Control<'c, 'm>,
    /// Meeting of lanes.
    pub(super) convergence: Convergence<'c>,
    /// Arguments that no id of the module stands for.
    pub(super) arguments: Arguments<'c>,
    /// Run-time state of barriers and copies; only the kernel itself has it.
    pub(super) barrier_state: StateSlots<'c>,
}

impl<'e, 'c, 'm> FunctionEmitter<'e, 'c, 'm> {
    /// The lowering of `function`, of which nothing is written but its block for stack slots.
    pub(super) fn new(
        b: &'e Build<'c>,
        module: &'e ModuleContext<'c, 'm>,
        kernel: &'e KernelContext<'e, 'c>,
        function: Func<'c>,
        prologue: Block<'c>,
        scope: Option<Meta<'c>>,
        slots: Slots<'c>,
    ) -> FunctionEmitter<'e, 'c, 'm> {
        FunctionEmitter {
            b,
            module,
            kernel,
            function,
            prologue,
            end: None,
            scope,
            slots,
            cascade: Cell::new(false),
            undefined: Undefined::default(),
            control: Control::default(),
            convergence: Convergence::default(),
            arguments: Arguments::default(),
            barrier_state: StateSlots::default(),
        }
    }

    /// Invocations of a wave or warp.
    pub(crate) fn wave_size(&self) -> u32 {
        self.kernel.plan.wave_size
    }

    /// Invocations of a subgroup: those of a wave, or a power of two of them.
    pub(crate) fn subgroup_size(&self) -> u32 {
        self.kernel.plan.subgroup_size
    }

    /// What is built from now on comes from the instruction at this word offset.
    pub(crate) fn locate(&self, offset: WordOffset) {
        let line = line_of(self.module.source_map, offset);
        self.b.raw().set_location(line, self.scope);
    }

    // Types.

    /// Everything about the type `ty`: LLVM type, size, alignment.
    pub(crate) fn type_info(&self, ty: Id) -> Result<&'e TypeInfo> {
        types::require(&self.module.types, self.module.declarations, ty)
    }

    /// What the type `ty` is.
    pub(crate) fn kind(&self, ty: Id) -> Result<&'e Kind> {
        Ok(&self.type_info(ty)?.kind)
    }

    /// The LLVM value type of the type `ty`.
    ///
    /// # Errors
    /// `UnsupportedType` for a composite of more than [`types::MAX_PARTS`] parts: LLVM takes every
    /// value apart into its parts.
    pub(crate) fn ty(&self, ty: Id) -> Result<Ty<'c>> {
        let info = self.type_info(ty)?;
        if info.leaves > types::MAX_PARTS {
            return Err(types::too_many_parts(
                self.module.declarations,
                ty,
                info.leaves,
            ));
        }
        self.module
            .types
            .value(ty)
            .ok_or_else(|| self.b.mismatch(format!("{ty} is not the type of a value")))
    }

    /// The type id of the value `id`.
    pub(crate) fn type_of(&self, id: Id) -> Result<Id> {
        self.module
            .declarations
            .type_of(id)
            .ok_or_else(|| self.undefined(id))
    }

    /// The result type of `inst`.
    pub(crate) fn result_type(&self, inst: Inst<'_>) -> Result<Id> {
        inst.result_type().ok_or_else(|| {
            self.b
                .internal(format!("{} has no result type", inst.name()))
        })
    }

    /// The LLVM type of the result of `inst`.
    pub(crate) fn result_ty(&self, inst: Inst<'_>) -> Result<Ty<'c>> {
        self.ty(self.result_type(inst)?)
    }

    // Values.

    /// The value of `id`: constant, parameter or earlier result. A pointer comes as its address.
    pub(crate) fn value(&self, id: Id) -> Result<Value<'c>> {
        match self.slot(id) {
            Slot::Value(value) => Ok(value),
            Slot::Pointer(pointer) => Ok(pointer.address),
            Slot::Bad => Err(self.follows()),
            Slot::Block(_) => Err(self.b.mismatch(format!("{id} is a block, not a value"))),
            Slot::Empty => self.constant(id),
        }
    }

    /// Operand `index` of `inst` (0 is the first after the result id) as a value.
    pub(crate) fn operand(&self, inst: Inst<'_>, index: usize) -> Result<Value<'c>> {
        self.value(inst.id(index).map_err(Box::new)?)
    }

    /// All operands of `inst` from `first` on, as values.
    pub(crate) fn operands(&self, inst: Inst<'_>, first: usize) -> Result<Vec<Value<'c>>> {
        inst.operands()
            .iter()
            .skip(first)
            .map(|word| self.value(Id(*word)))
            .collect()
    }

    /// The unsigned value of the constant `id`, if it is one of at most 32 bits.
    pub(crate) fn constant_u32(&self, id: Id) -> Option<u32> {
        self.module.constants.as_u32(id)
    }

    /// Binds the result of `inst`. `TypeMismatch` when `value` is not of the LLVM type of its
    /// result type.
    pub(crate) fn bind(&mut self, inst: Inst<'_>, value: Value<'c>) -> Result<()> {
        let ty = self.result_type(inst)?;
        let Some(result) = inst.result() else {
            return Err(self.b.internal(format!("{} has no result", inst.name())));
        };
        let info = self.type_info(ty)?;
        let expected = self.module.types.value(ty);
        if expected != Some(value.ty()) {
            let want = expected.map_or_else(|| "no value".to_owned(), Ty::print);
            return Err(self.b.mismatch(format!(
                "the result of {} is {}, but its type {ty} is {want}",
                inst.name(),
                value.ty().print()
            )));
        }
        if let Kind::Pointer { class, pointee } = info.kind {
            let pointer = self.unknown_place(value, class, pointee);
            self.set(result, Slot::Pointer(pointer));
        } else {
            self.set(result, Slot::Value(value));
        }
        Ok(())
    }

    /// Binds a pointer result.
    pub(crate) fn bind_pointer(&mut self, inst: Inst<'_>, pointer: Pointer<'c>) -> Result<()> {
        let Some(result) = inst.result() else {
            return Err(self.b.internal(format!("{} has no result", inst.name())));
        };
        let ty = self.result_ty(inst)?;
        if ty != pointer.address.ty() {
            return Err(self.b.mismatch(format!(
                "the result of {} is {}, but its type is {}",
                inst.name(),
                pointer.address.ty().print(),
                ty.print()
            )));
        }
        self.set(result, Slot::Pointer(pointer));
        Ok(())
    }

    /// A pointer of which only the type is known.
    pub(crate) fn unknown_place(
        &self,
        address: Value<'c>,
        class: spirv::StorageClass,
        pointee: Option<Id>,
    ) -> Pointer<'c> {
        Pointer {
            address,
            pointee,
            class,
            align: 1,
            matrix: None,
            qualifiers: Qualifiers::default(),
        }
    }

    /// `pointer`, which is called `id`, with what its memory asks.
    fn qualified(&self, id: Id, pointer: Pointer<'c>) -> Pointer<'c> {
        Pointer {
            qualifiers: self.module.qualifiers.get(self.module.declarations, id),
            ..pointer
        }
    }

    pub(super) fn slot(&self, id: Id) -> Slot<'c> {
        self.kept(id, self.slots.get(id))
    }

    pub(super) fn set(&mut self, id: Id, slot: Slot<'c>) {
        let slot = match slot {
            Slot::Pointer(pointer) => Slot::Pointer(self.qualified(id, pointer)),
            other => other,
        };
        if self.slots.set(id, slot) {
            self.keep(id, slot);
        }
    }

    /// Binds poison, or a mark that this result is not there, after an error in `inst`.
    pub(super) fn bind_poison(&mut self, inst: Inst<'_>) {
        let Some(result) = inst.result() else { return };
        let value = inst
            .result_type()
            .filter(|ty| {
                let info = self.module.types.get(*ty);
                info.is_some_and(|info| !matches!(info.kind, Kind::Pointer { .. }))
            })
            .and_then(|ty| self.module.types.value(ty));
        self.set(
            result,
            value.map_or(Slot::Bad, |ty| Slot::Value(ty.poison())),
        );
    }

    // Memory: see memory.rs for load, store and places.

    /// The pointer `id`.
    pub(crate) fn pointer(&self, id: Id) -> Result<Pointer<'c>> {
        match self.slot(id) {
            Slot::Pointer(pointer) => Ok(pointer),
            Slot::Bad => Err(self.follows()),
            Slot::Value(_) | Slot::Block(_) => {
                Err(self.b.mismatch(format!("{id} is not a pointer")))
            }
            Slot::Empty => {
                let address = self.constant(id)?;
                match self.kind(self.type_of(id)?)? {
                    Kind::Pointer { class, pointee } => {
                        let place = self.unknown_place(address, *class, *pointee);
                        Ok(self.qualified(id, place))
                    }
                    _ => Err(self.b.mismatch(format!("{id} is not a pointer"))),
                }
            }
        }
    }

    // Blocks.

    /// A new block at the end of the function; write on in it with `e.b.position`. A SPIR-V block
    /// may become several LLVM blocks.
    pub(crate) fn new_block(&self) -> Block<'c> {
        self.function.append(self.b.context())
    }

    /// Does `act` where `condition` holds, and goes on behind it.
    pub(crate) fn when(
        &mut self,
        condition: Value<'c>,
        act: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (yes, on) = (self.new_block(), self.new_block());
        self.b.cond_br(condition, yes, on)?;
        self.b.position(yes);
        act(self)?;
        self.b.br(on);
        self.b.position(on);
        Ok(())
    }

    /// A stack slot of LLVM type `ty` in the function's entry block: a pointer in the address space
    /// of Function variables.
    pub(crate) fn stack_slot(&mut self, ty: Ty<'c>, align: u32) -> Result<Value<'c>> {
        let here = self.b.block()?;
        self.b.raw().position_before_terminator(self.prologue);
        let slot = self.b.raw().alloca(ty);
        slot.set_alignment(align.max(1));
        self.b.position(here);
        Ok(slot)
    }

    // Decorations and diagnostics.

    /// The first operand of decoration `kind` on the result of `inst` (0 if it has none); `None`
    /// when it is not there.
    pub(crate) fn decoration(&self, inst: Inst<'_>, kind: spirv::Decoration) -> Option<u32> {
        self.module.declarations.decoration(inst.result()?, kind)
    }

    /// `UnsupportedInstruction`: `why` completes "OpX is not lowered: ".
    pub(crate) fn unsupported(&self, inst: Inst<'_>, why: impl Into<String>) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(
                Code::UnsupportedInstruction,
                format!("{} is not lowered: {}", inst.name(), why.into()),
            )
            .at_word(inst.offset),
        )
    }

    /// `UnsupportedOnTarget`: the target has no instruction for it; `what` is the object of "gfx906
    /// does not have ...".
    pub(crate) fn unsupported_on_target(
        &self,
        inst: Inst<'_>,
        what: impl Into<String>,
    ) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(
                Code::UnsupportedOnTarget,
                format!("{} does not have {}", self.module.target.name, what.into()),
            )
            .at_word(inst.offset),
        )
    }

    /// `TypeMismatch` at `inst`.
    pub(crate) fn mismatch(&self, inst: Inst<'_>, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(Code::TypeMismatch, message)
                .at_word(inst.offset)
                .help("run spirv-val over the module: an operand has the wrong type"),
        )
    }

    /// `UndefinedId` at the current instruction.
    pub(crate) fn undefined(&self, id: Id) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(
                Code::UndefinedId,
                format!("{id} is used before it is defined"),
            )
            .at_word(self.b.at.get())
            .help("run spirv-val over the module"),
        )
    }

    /// An error that only follows from one that has been reported: it is not shown.
    fn follows(&self) -> Box<Diagnostic> {
        self.cascade.set(true);
        self.b.internal("an operand was not lowered")
    }
}
