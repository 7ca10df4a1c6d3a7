//! Control flow: branches, jump tables, calls, and the end of lanes.

use super::opcode::Opcode;
use super::{Decoded, Decoder, Symbol, Unknown, join};
use crate::ptx::operand::List;
use crate::ptx::problem::Problem;
use crate::ptx::program::Op;
use splitbar_assembly::ptx::syntax::Operand;

impl<'t> Decoder<'_, 't> {
    pub(super) fn control(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        op.flag("uni");
        let indexed = op.root == "brx" && op.flag("idx");
        if !op.is_empty() {
            return Err(Unknown);
        }
        match (op.root, operands) {
            ("bra", [Operand::Name(label, 0)]) => {
                self.jumps.push((self.kernel.code.len(), self.block, label));
                self.emit(Op::Branch {
                    target: join::NOWHERE,
                    join: join::NOWHERE,
                });
            }
            ("brx", [index, Operand::Name(table, 0)]) if indexed => {
                let index = self.word(index)?;
                let Some(Symbol::Table(table)) = self.symbol(table) else {
                    return Err(Unknown);
                };
                self.indexed.push((self.kernel.code.len(), table));
                self.emit(Op::BranchIndexed {
                    index,
                    targets: List { start: 0, count: 0 },
                    join: join::NOWHERE,
                });
            }
            ("call", operands) => self.call(operands)?,
            ("ret", []) => self.emit(Op::Return),
            ("exit", []) => self.emit(Op::Exit),
            ("trap" | "brkpt", []) => self.emit(Op::Trap),
            _ => return Err(Unknown),
        }
        Ok(())
    }

    /// `call (result), function, (arguments)`: copies in, jumps, copies out.
    fn call(&mut self, operands: &[Operand<'t>]) -> Decoded<()> {
        let (results, name, arguments) = match operands {
            [
                Operand::List(results),
                Operand::Name(name, 0),
                Operand::List(arguments),
            ] => (results.as_slice(), *name, arguments.as_slice()),
            [Operand::List(results), Operand::Name(name, 0)] => {
                (results.as_slice(), *name, &[][..])
            }
            [Operand::Name(name, 0), Operand::List(arguments)] => {
                (&[][..], *name, arguments.as_slice())
            }
            [Operand::Name(name, 0)] => (&[][..], *name, &[][..]),
            _ => return Err(Unknown),
        };
        let callee = self.callees.get(name).cloned().ok_or(Unknown)?;
        if callee.parameters.len() != arguments.len() || callee.results.len() != results.len() {
            return Err(Unknown);
        }
        for (argument, (to, bytes)) in arguments.iter().zip(&callee.parameters) {
            let from = self.place_of(argument)?;
            self.emit(Op::CopyLocal {
                from,
                to: *to,
                bytes: *bytes,
            });
        }
        self.calls.push((self.kernel.code.len(), name));
        self.emit(Op::Call {
            target: join::NOWHERE,
        });
        for (result, (from, bytes)) in results.iter().zip(&callee.results) {
            let to = self.place_of(result)?;
            self.emit(Op::CopyLocal {
                from: *from,
                to,
                bytes: *bytes,
            });
        }
        Ok(())
    }

    /// The local address of a `.param` variable of a call.
    fn place_of(&mut self, operand: &Operand<'t>) -> Decoded<u32> {
        use crate::ptx::exec::window::PARAM_IN_LOCAL;
        let Operand::Name(name, 0) = operand else {
            return Err(Unknown);
        };
        match self.symbol(name) {
            Some(Symbol::Address(value)) if value >= PARAM_IN_LOCAL => {
                Ok((value - PARAM_IN_LOCAL) as u32)
            }
            _ => Err(Unknown),
        }
    }

    /// The position of a label that is visible in a block.
    fn label(&self, block: usize, label: &str) -> Option<u32> {
        let mut at = Some(block);
        while let Some(block) = at.and_then(|at| self.blocks.get(at)) {
            if let Some(position) = block.labels.get(label) {
                return Some(*position);
            }
            at = block.parent;
        }
        None
    }

    /// Gives the jumps of a function their targets.
    pub(super) fn connect_jumps(&mut self) -> Result<(), Problem> {
        for (at, block, label) in std::mem::take(&mut self.jumps) {
            let line = self.kernel.code.get(at).map_or(0, |c| c.line);
            let position = self
                .label(block, label)
                .ok_or_else(|| Problem::syntax(line, format!("no label `{label}`")))?;
            if let Some(Op::Branch { target, .. }) = self.kernel.code.get_mut(at).map(|c| &mut c.op)
            {
                *target = position;
            }
        }
        for (at, table) in std::mem::take(&mut self.indexed) {
            let line = self.kernel.code.get(at).map_or(0, |c| c.line);
            debug_assert!(
                self.tables.get(table).is_some(),
                "there is no table {table}"
            );
            let (block, labels) = self.tables.get(table).cloned().unwrap_or_default();
            let mut positions = Vec::new();
            for label in labels {
                let position = self
                    .label(block, label)
                    .ok_or_else(|| Problem::syntax(line, format!("no label `{label}`")))?;
                positions.push(self.constant(position.into()));
            }
            let list = self.list(&positions);
            if let Some(Op::BranchIndexed { targets, .. }) =
                self.kernel.code.get_mut(at).map(|c| &mut c.op)
            {
                *targets = list;
            }
        }
        Ok(())
    }

    /// Gives the calls their targets, once all functions have a place.
    pub(super) fn connect_calls(&mut self) {
        for (at, name) in std::mem::take(&mut self.calls) {
            let entry = self.callees.get(name).map_or(join::NOWHERE, |c| c.entry);
            if let Some(Op::Call { target }) = self.kernel.code.get_mut(at).map(|c| &mut c.op) {
                *target = entry;
            }
        }
    }
}
