//! The walk over a body: its blocks in order, its phis, and what goes wrong in an instruction.
//!
//! A SPIR-V block becomes one LLVM block (or several, when an instruction needs branches of its
//! own). Blocks that the entry block does not reach are left out.

use super::function::FunctionEmitter;
use super::slots::Slot;
use super::state::Control;
use super::unroll::Hints;
use super::{Handled, Result, dispatch};
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{BlockIndex, BlockMap, Function, Id, Inst};

/// What control flow leaves behind the terminator `inst`: the labels of its targets.
fn targets(inst: Inst<'_>, selector_words: usize) -> Vec<Id> {
    let operands = inst.operands();
    match inst.op() {
        Some(Op::Branch) => operands.iter().take(1).map(|w| Id(*w)).collect(),
        Some(Op::BranchConditional) => operands.iter().skip(1).take(2).map(|w| Id(*w)).collect(),
        Some(Op::Switch) => {
            let default = operands.get(1).copied();
            let cases = operands
                .get(2..)
                .unwrap_or(&[])
                .chunks_exact(selector_words + 1)
                .filter_map(|c| c.last().copied());
            default.into_iter().chain(cases).map(Id).collect()
        }
        _ => Vec::new(),
    }
}

impl<'c, 'm> FunctionEmitter<'_, 'c, 'm> {
    /// Writes the body of `function`. The builder stands in the prologue; afterwards every block is
    /// ended.
    pub(super) fn body(&mut self, function: &'m Function<'m>, diagnostics: &mut Diagnostics) {
        let count = function.blocks.len();
        self.control = Control {
            heads: BlockMap::filled(count, None),
            incoming: BlockMap::filled(count, Vec::new()),
            done: BlockMap::filled(count, false),
            unroll: Hints::collect(
                self.module.declarations.module,
                function,
                self.module.target,
                self.module.optimization,
            )
            .nodes(self.b),
            ..Control::default()
        };
        for (index, block) in function.numbered() {
            self.set(block.label, Slot::Block(index));
        }
        self.mark_reachable(function);
        if let Err(problem) = self.begin_tangle(function) {
            diagnostics.push(*problem);
        }
        for index in BlockIndex::all(count) {
            if self.control.heads.get(index).is_some_and(Option::is_some) {
                let head = self.new_block();
                if let Some(slot) = self.control.heads.get_mut(index) {
                    *slot = Some(head);
                }
            }
        }
        if let Some(Some(first)) = self.control.heads.get(BlockIndex::ENTRY) {
            self.b.raw().br(*first);
        } else {
            self.b.raw().unreachable();
        }
        for (index, block) in function.numbered() {
            let Some(Some(head)) = self.control.heads.get(index).copied() else {
                continue; // control cannot reach it
            };
            self.b.position(head);
            self.control.current = Some(block.label);
            self.enter_block(index);
            for inst in &block.insts {
                self.instruction(*inst, index, diagnostics);
            }
            if let Some(done) = self.control.done.get_mut(index) {
                *done = true;
            }
            let open = self.b.block().is_ok_and(|b| !b.is_terminated());
            if open {
                // The terminator could not be lowered and has been reported; LLVM still wants one.
                self.b.raw().unreachable();
            }
        }
        self.finish_phis(diagnostics);
        self.joins(diagnostics);
    }

    /// Gives every reachable block a placeholder head. Iterative: a hostile module may chain as
    /// many blocks as it has words.
    fn mark_reachable(&mut self, function: &Function<'_>) {
        let mut stack = vec![BlockIndex::ENTRY];
        let mut reached = BlockMap::filled(function.blocks.len(), false);
        while let Some(index) = stack.pop() {
            let Some(block) = function.block(index) else {
                debug_assert!(false, "no block {index}");
                continue;
            };
            match reached.get_mut(index) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let Some(terminator) = block.terminator() else {
                continue; // its missing terminator has been reported
            };
            let words = self.selector_words(terminator);
            for label in targets(terminator, words) {
                if let Slot::Block(next) = self.slot(label) {
                    stack.push(next);
                }
            }
        }
        // A head is made later, in module order; the prologue stands for "reached" until then.
        for (slot, reached) in self.control.heads.values_mut().zip(reached.into_values()) {
            *slot = reached.then_some(self.prologue);
        }
    }

    /// Lowers one instruction and keeps what goes wrong.
    fn instruction(&mut self, inst: Inst<'m>, block: BlockIndex, diagnostics: &mut Diagnostics) {
        self.b.at.set(inst.offset);
        self.locate(inst.offset);
        self.b.fast_math.set(self.fast_math_of(inst));
        self.cascade.set(false);
        let result = match inst.op() {
            Some(Op::Phi) => self.phi(inst, block),
            _ => self
                .steps_before(inst)
                .and_then(|()| dispatch::emit(self, inst)),
        };
        let problem = match result {
            Ok(Handled::Yes) => return self.settle(inst),
            Ok(Handled::No) => {
                let name = inst.name();
                Box::new(
                    Diagnostic::error(
                        Code::UnsupportedInstruction,
                        format!("{name} is not lowered"),
                    )
                    .at_word(inst.offset),
                )
            }
            Err(problem) => problem,
        };
        self.bind_poison(inst);
        if !self.cascade.replace(false) {
            diagnostics.push(*problem);
        }
    }

    fn phi(&mut self, inst: Inst<'m>, block: BlockIndex) -> Result<Handled> {
        let ty = self.result_ty(inst)?;
        if let Some(slot) = self.phi_slot(inst, block) {
            let value = self.b.raw().load(ty, slot);
            self.bind(inst, value)?;
            return Ok(Handled::Yes);
        }
        let phi = self.b.raw().phi(ty);
        self.control.phis.push((block, inst, phi));
        self.bind(inst, phi)?;
        Ok(Handled::Yes)
    }

    /// Gives every phi its incoming values: one for each edge that was written.
    fn finish_phis(&mut self, diagnostics: &mut Diagnostics) {
        for (block, inst, phi) in std::mem::take(&mut self.control.phis) {
            self.b.at.set(inst.offset);
            let Some(incoming) = self.control.incoming.get(block).cloned() else {
                diagnostics.push(*self.b.internal("the block of an OpPhi does not exist"));
                continue;
            };
            for (from, exit) in incoming {
                let pair = inst
                    .operands()
                    .chunks_exact(2)
                    .find(|pair| pair.get(1) == Some(&from.0))
                    .and_then(|pair| pair.first().copied());
                let value = match pair {
                    Some(id) => self.value(Id(id)),
                    None => Err(Box::new(
                        Diagnostic::error(
                            Code::MalformedFunction,
                            format!("the phi has no value for the edge from {from}"),
                        )
                        .at_word(inst.offset)
                        .help("run spirv-val over the module"),
                    )),
                };
                let value = value.and_then(|v| {
                    if v.ty() == phi.ty() {
                        Ok(v)
                    } else {
                        Err(self.b.mismatch(format!(
                            "the type of the phi is {}, but its value from {from} is {}",
                            phi.ty().print(),
                            v.ty().print()
                        )))
                    }
                });
                match value {
                    Ok(value) => phi.add_incoming(value, exit),
                    Err(problem) => {
                        phi.add_incoming(phi.ty().poison(), exit);
                        if !self.cascade.replace(false) {
                            diagnostics.push(*problem);
                        }
                    }
                }
            }
        }
    }
}
