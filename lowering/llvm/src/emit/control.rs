//! Control flow: branches, switches, calls, returns.
//!
//! Any control-flow graph is accepted: merge instructions carry no obligation here. What they say
//! of unrolling is in `unroll.rs`.

use super::function::FunctionEmitter;
use super::slots::Slot;
use super::types::Kind;
use super::{Handled, Result};
use crate::ffi::{self, Block, Meta, Value};
use spirv::Op;
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Constant, Id, Inst};

impl<'c, 'm> FunctionEmitter<'_, 'c, 'm> {
    /// Words of a case literal of an OpSwitch.
    pub(super) fn selector_words(&self, inst: Inst<'_>) -> usize {
        let width = inst
            .operands()
            .first()
            .and_then(|id| self.module.declarations.type_of(Id(*id)))
            .and_then(|ty| self.module.types.get(ty))
            .map_or(32, |info| {
                if let Kind::ScalarOrVector(shape) = info.kind {
                    shape.scalar.bits()
                } else {
                    32
                }
            });
        (width as usize).div_ceil(32).max(1)
    }

    /// The LLVM block of `label`, noting that the current block jumps there once more.
    fn jump_target(&mut self, label: Id) -> Result<Block<'c>> {
        let Slot::Block(index) = self.slot(label) else {
            return Err(Box::new(
                Diagnostic::error(
                    Code::MissingTerminator,
                    format!("{label} is not a block of this function"),
                )
                .at_word(self.b.at.get())
                .help("run spirv-val over the module"),
            ));
        };
        let exit = self.b.block()?;
        let from = self
            .control
            .current
            .ok_or_else(|| self.b.internal("a jump outside of a block"))?;
        let head = self
            .control
            .heads
            .get(index)
            .copied()
            .flatten()
            .ok_or_else(|| {
                self.b
                    .internal("a jump to a block that was thought unreachable")
            })?;
        if let Some(incoming) = self.control.incoming.get_mut(index) {
            incoming.push((from, exit));
        }
        self.tangled_target(index, head)
    }

    /// The metadata of a jump back to `label`.
    fn back_edge_hint(&self, label: Id) -> Option<Meta<'c>> {
        let Slot::Block(index) = self.slot(label) else {
            return None;
        };
        let back =
            self.control.current == Some(label) || self.control.done.get(index) == Some(&true);
        if back {
            self.control.unroll.get(&label).copied()
        } else {
            None
        }
    }

    fn hint(&self, branch: Value<'c>, labels: &[Id]) {
        if let Some(hint) = labels.iter().find_map(|label| self.back_edge_hint(*label)) {
            branch.set_metadata(self.b.context(), "llvm.loop", hint);
        }
    }

    fn call(&mut self, inst: Inst<'m>) -> Result<()> {
        let id = inst.id(0).map_err(Box::new)?;
        let mut arguments = self.operands(inst, 1)?;
        let function = self.module.declarations.function(id);
        let params = function.map_or(&[][..], |function| &function.params);
        for ((param, _), (argument, word)) in params
            .iter()
            .zip(arguments.iter_mut().zip(inst.operands().iter().skip(1)))
        {
            if self.is_by_value(*param) {
                *argument = self.copy_for_callee(inst, *param, Id(*word))?;
            }
        }
        let value = self.call_function(inst, id, &arguments)?;
        if !matches!(self.kind(self.result_type(inst)?)?, Kind::Void) {
            self.bind(inst, value)?;
        }
        Ok(())
    }

    /// Returns true if the callee gets a copy of what the argument points to (SPIR-V 3.19, ByVal).
    fn is_by_value(&self, param: Id) -> bool {
        const BY_VALUE: u32 = spirv::FunctionParameterAttribute::ByVal as u32;
        let decorations = self.module.declarations.decorations(param).iter();
        let attribute = spirv::Decoration::FuncParamAttr as u32;
        let mut attributes = decorations.filter(|one| one.kind == attribute);
        attributes.any(|one| one.operands.first() == Some(&BY_VALUE))
    }

    /// A copy of what `argument` points to, for the parameter `param`.
    fn copy_for_callee(&mut self, inst: Inst<'_>, param: Id, argument: Id) -> Result<Value<'c>> {
        let from = self.pointer(argument)?;
        let ty = self.type_of(param)?;
        let Kind::Pointer {
            class: spirv::StorageClass::Function,
            pointee: Some(pointee),
        } = *self.kind(ty)?
        else {
            return Err(self.unsupported(
                inst,
                "a parameter passed by value is not a pointer of storage class Function",
            ));
        };
        let info = self.type_info(pointee)?;
        let (size, align) = (info.size, info.align.max(Alignment::WORD).bytes());
        let slot = self.declared_slot(pointee, size, align)?;
        self.b
            .raw()
            .memcpy(slot, align, from.address, from.align, self.b.i64(size));
        Ok(slot)
    }

    /// Calls the function `id` of the module with `arguments`.
    pub(super) fn call_function(
        &self,
        inst: Inst<'_>,
        id: Id,
        arguments: &[Value<'c>],
    ) -> Result<Value<'c>> {
        let Some(callee) = self.kernel.callees.get(id) else {
            return match self.module.declarations.function(id) {
                Some(function) if function.blocks.is_empty() => {
                    let name = self
                        .module
                        .declarations
                        .name(id)
                        .map_or_else(|| id.to_string(), str::to_owned);
                    Err(Box::new(
                        Diagnostic::error(
                            Code::UnsupportedLinkage,
                            format!("{name} is imported, but no linked module exports it"),
                        )
                        .at_word(inst.offset)
                        .help("link it with the module that exports it: `link_modules`"),
                    ))
                }
                Some(_) => {
                    // Its own lowering was refused, and that has been reported.
                    self.cascade.set(true);
                    Err(self.b.internal("a call of a function that was not lowered"))
                }
                None => Err(self.undefined(id)),
            };
        };
        let mut args = Vec::new();
        if callee.masked {
            args.push(match self.tangle_mask() {
                Some(mask) => mask,
                None => self.active_lanes()?,
            });
        }
        for hidden in &callee.hidden {
            args.push(self.hidden(*hidden)?);
        }
        args.extend(arguments);
        self.b.call(callee.function, &args)
    }

    fn switch(&mut self, inst: Inst<'m>) -> Result<()> {
        let selector = self.operand(inst, 0)?;
        let ty = selector.ty();
        if !ty.is_int() || ty.is_vector() {
            return Err(self.b.mismatch(format!("a switch on {}", ty.print())));
        }
        let words = self.selector_words(inst);
        self.part_switch(inst, selector, words)?;
        let default = self.jump_target(inst.id(1).map_err(Box::new)?)?;
        let cases = inst.operands_from(2);
        let switch = self
            .b
            .raw()
            .switch(selector, default, (cases.len() / (words + 1)) as u32);
        let mut seen = std::collections::BTreeSet::new();
        for case in cases.chunks_exact(words + 1) {
            let (low, high, label) = match *case {
                [low, label] => (low, 0, label),
                [low, high, label] => (low, high, label),
                _ => return Err(self.b.internal("a switch on a selector of other words")),
            };
            let literal = ty.int(u64::from(low) | u64::from(high) << 32);
            if !seen.insert(literal.as_u64()) {
                return Err(self.mismatch(inst, "two cases of the switch have the same value"));
            }
            let target = self.jump_target(Id(label))?;
            switch.add_case(literal, target);
        }
        Ok(())
    }

    /// Parts the mask of the tangle at the switch `inst`.
    fn part_switch(&mut self, inst: Inst<'m>, selector: Value<'c>, words: usize) -> Result<()> {
        if self.convergence.mask.is_none() {
            return Ok(());
        }
        let (b, ty) = (self.b, selector.ty());
        let default = inst.id(1).map_err(Box::new)?;
        let mut targets: Vec<(Id, Option<Value<'c>>)> = Vec::new();
        for case in inst.operands_from(2).chunks_exact(words + 1) {
            let (low, high, label) = match *case {
                [low, label] => (low, 0, label),
                [low, high, label] => (low, high, label),
                _ => continue, // reported where the switch is written
            };
            if Id(label) == default {
                continue;
            }
            let literal = ty.int(u64::from(low) | u64::from(high) << 32);
            let is_case = b.icmp(ffi::IntPredicate::LLVMIntEQ, selector, literal)?;
            match targets.iter_mut().find(|(target, _)| *target == Id(label)) {
                Some((_, Some(known))) => *known = b.or(*known, is_case)?,
                _ => targets.push((Id(label), Some(is_case))),
            }
        }
        self.part_mask(&targets)
    }

    /// Fast-math flags of one instruction. Vulkan and OpenCL allow contraction unless the module
    /// says no (NoContraction, ContractionOff); anything more only where FPFastMathMode grants it
    /// (SPIR-V 1.6 sections 3.15, 3.20).
    pub(super) fn fast_math_of(&self, inst: Inst<'_>) -> u32 {
        use super::build::fast::CONTRACT;
        use super::grants::FAST_MATH;
        let (Some(result), Some(ty)) = (inst.result(), inst.result_type()) else {
            return 0;
        };
        if !self
            .module
            .types
            .value(ty)
            .is_some_and(|t| t.element().element().is_float())
        {
            return 0;
        }
        let mut flags = self.kernel.default_fast_math;
        for decoration in self.module.declarations.decorations(result) {
            if decoration.kind == spirv::Decoration::NoContraction as u32 {
                flags &= !CONTRACT;
            } else if decoration.kind == spirv::Decoration::FPFastMathMode as u32 {
                let bits = decoration.operands.first().copied().unwrap_or(0);
                flags |= FAST_MATH
                    .iter()
                    .filter(|(bit, _)| bits & bit != 0)
                    .fold(0, |sum, (_, flag)| sum | flag);
            }
        }
        flags
    }
}

/// Lowers terminators, calls and merge instructions.
pub(crate) fn emit<'c, 'm>(e: &mut FunctionEmitter<'_, 'c, 'm>, inst: Inst<'m>) -> Result<Handled> {
    let id = |index: usize| inst.id(index).map_err(Box::new);
    match inst.op() {
        Some(
            Op::SelectionMerge
            | Op::LoopMerge
            | Op::Nop
            | Op::LifetimeStart
            | Op::LifetimeStop
            | Op::NoLine
            | Op::Line
            | Op::AssumeTrueKHR
            | Op::LoopControlINTEL,
        ) => {}
        Some(Op::Branch) => {
            let label = id(0)?;
            let target = e.jump_target(label)?;
            let branch = e.b.raw().br(target);
            e.hint(branch, &[label]);
        }
        Some(Op::BranchConditional) => {
            let condition = e.operand(inst, 0)?;
            if condition.ty() != e.b.int_type(1) {
                return Err(e
                    .b
                    .mismatch(format!("a branch on {}", condition.ty().print())));
            }
            let labels = [id(1)?, id(2)?];
            if labels[0] != labels[1] {
                e.part_mask(&[(labels[0], Some(condition)), (labels[1], None)])?;
            }
            let (yes, no) = (e.jump_target(id(1)?)?, e.jump_target(id(2)?)?);
            let branch = e.b.raw().cond_br(condition, yes, no);
            e.hint(branch, &labels);
        }
        Some(Op::Switch) => e.switch(inst)?,
        Some(Op::Return) => {
            e.before_return(inst)?;
            let returned = e.tangled_return(None);
            match e.end {
                _ if returned => {}
                Some(end) => e.b.br(end),
                None => {
                    let returned = ffi::return_type(e.function.ty());
                    if returned != ffi::void_type(e.b.context()) {
                        return Err(e.mismatch(
                            inst,
                            format!("OpReturn in a function that returns {}", returned.print()),
                        ));
                    }
                    e.b.raw().ret_void();
                }
            }
        }
        Some(Op::ReturnValue) => {
            let value = e.operand(inst, 0)?;
            e.before_return(inst)?;
            if ffi::return_type(e.function.ty()) != value.ty() {
                return Err(
                    e.mismatch(inst, format!("the function returns {}", value.ty().print()))
                );
            }
            if !e.tangled_return(Some(value)) {
                e.b.raw().ret(value);
            }
        }
        Some(Op::Unreachable) => {
            e.b.raw().unreachable();
        }
        Some(Op::FunctionCall) => e.call(inst)?,
        Some(Op::ExpectKHR) => {
            let value = e.operand(inst, 0)?;
            e.bind(inst, value)?;
        }
        Some(Op::Undef) => {
            // A type without values has no unknown one either; whatever uses it is refused.
            let ty = e.result_type(inst)?;
            if !matches!(e.kind(ty)?, Kind::RuntimeArray { .. }) {
                let value = e.constant_of_type(&Constant::Undef, ty)?;
                e.bind(inst, value)?;
            }
        }
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}
