//! Addresses of variables and parameters, and which functions a kernel reaches.

use super::{Callee, Decoder, MOST_LOCAL, MOST_REGISTERS, Symbol};
use crate::ptx::exec::window;
use crate::ptx::problem::Problem;
use crate::ptx::program::{Parameter, Region};
use crate::ptx::types::Type;
use splitbar_assembly::ptx::syntax::{
    Function as Text, Initial, Operand, StateSpace, Statement, Variable, What,
};
use std::collections::BTreeMap;

/// Bytes of variables of module scope, in all.
const MOST_GLOBAL: u64 = 1 << 28;

/// Bytes of a variable and its alignment.
fn size(variable: &Variable<'_>) -> Result<(u64, u64), Problem> {
    let kind = Type::named(variable.kind).ok_or_else(|| {
        Problem::unsupported(
            variable.line,
            format!("a variable of type .{}", variable.kind),
        )
    })?;
    let element = u64::from(kind.bits().max(8)) / 8 * u64::from(variable.vector);
    let bytes = element
        .checked_mul(variable.elements.unwrap_or(1))
        .filter(|bytes| *bytes <= MOST_GLOBAL);
    let bytes = bytes.ok_or_else(|| {
        Problem::limit(variable.line, format!("`{}` is too large", variable.name))
    })?;
    Ok((bytes, variable.align.unwrap_or(element).clamp(1, 4096)))
}

/// The functions that the statements call by name.
fn called<'t>(body: &[Statement<'t>]) -> Vec<&'t str> {
    let mut names = Vec::new();
    for statement in body {
        if let What::Instruction(instruction) = &statement.what
            && instruction.opcode.starts_with("call")
        {
            names.extend(
                instruction
                    .operands
                    .iter()
                    .filter_map(|operand| match operand {
                        Operand::Name(name, 0) => Some(*name),
                        _ => None,
                    }),
            );
        }
    }
    names
}

impl<'m, 't> Decoder<'m, 't> {
    /// The functions that `entry` can reach, itself first.
    ///
    /// # Errors
    /// Recursion: registers and local memory of a function exist once.
    pub(super) fn reached(&self, entry: &'m Text<'t>) -> Result<Vec<&'m Text<'t>>, Problem> {
        let mut reached = vec![entry];
        let mut callers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut next = 0;
        while let Some(function) = reached.get(next).copied() {
            next += 1;
            for name in called(&function.body) {
                let Some(callee) = self.module.functions.iter().find(|f| f.name == name) else {
                    continue; // `vprintf` and its like, or a parameter: the call itself is decoded later
                };
                *callers.entry(name).or_default() += 1;
                if !reached.iter().any(|f| f.name == name) {
                    reached.push(callee);
                }
            }
        }
        // Functions whose callers are all done, one after the other; a cycle is never done.
        let mut done = vec![entry];
        let mut at = 0;
        while let Some(function) = done.get(at).copied() {
            at += 1;
            for name in called(&function.body) {
                if let Some(count) = callers.get_mut(name) {
                    *count -= 1;
                    if *count == 0 {
                        done.extend(
                            reached
                                .iter()
                                .copied()
                                .filter(|f| f.name == name && !f.entry),
                        );
                    }
                }
            }
        }
        match reached
            .iter()
            .find(|f| !done.iter().any(|d| d.name == f.name))
        {
            None => Ok(reached),
            Some(f) => Err(Problem::unsupported(
                f.line,
                format!("`{}` calls itself, perhaps through others", f.name),
            )),
        }
    }

    /// Lays out what exists once: variables of the module, shared memory, parameters.
    pub(super) fn lay_out(
        &mut self,
        entry: &Text<'t>,
        reached: &[&'m Text<'t>],
    ) -> Result<(), Problem> {
        let module = self.module;
        for variable in &module.variables {
            match variable.space {
                StateSpace::Global | StateSpace::Const if !variable.external => {
                    self.add_region(variable)?
                }
                StateSpace::Shared if variable.elements != Some(0) => self.take_shared(variable)?,
                _ => {} // external, or of a function
            }
        }
        for function in reached {
            for statement in &function.body {
                if let What::Variable(variable) = &statement.what
                    && variable.space == StateSpace::Shared
                {
                    self.take_shared(variable)?;
                }
            }
        }
        for variable in &module.variables {
            if variable.space == StateSpace::Shared && variable.elements == Some(0) {
                // All of them begin where the others end.
                self.kernel.has_dynamic_shared = true;
                let align = variable.align.unwrap_or(16).clamp(16, 4096) as u32;
                self.kernel.shared_bytes = self.kernel.shared_bytes.next_multiple_of(align);
                self.name_address(variable, self.kernel.shared_bytes.into());
            }
        }
        for variable in &entry.parameters {
            let (bytes, align) = size(variable)?;
            let offset = (self.kernel.parameter_block.len() as u64).next_multiple_of(align);
            self.kernel
                .parameter_block
                .resize((offset + bytes).min(1 << 16) as usize, 0);
            self.kernel.parameters.push(Parameter {
                name: variable.name.to_owned(),
                offset: offset as u32,
                bytes: bytes as u32,
            });
        }
        for function in reached.iter().filter(|f| !f.entry) {
            let mut callee = Callee::default();
            for (variables, places) in [
                (&function.parameters, &mut callee.parameters),
                (&function.results, &mut callee.results),
            ] {
                for variable in variables {
                    places.push((self.take_local(variable)? as u32, size(variable)?.0 as u32));
                }
            }
            self.callees.insert(function.name, callee);
        }
        Ok(())
    }

    /// Names the parameters and results of a function inside of it.
    pub(super) fn name_parameters(&mut self, function: &Text<'t>) {
        let places: Vec<u64> = if function.entry {
            self.kernel
                .parameters
                .iter()
                .map(|p| p.offset.into())
                .collect()
        } else {
            debug_assert!(
                self.callees.contains_key(function.name),
                "{} has no frame",
                function.name
            );
            let callee = self.callees.get(function.name).cloned().unwrap_or_default();
            let all = callee.parameters.iter().chain(&callee.results);
            all.map(|(at, _)| window::PARAM_IN_LOCAL + u64::from(*at))
                .collect()
        };
        for (variable, value) in function
            .parameters
            .iter()
            .chain(&function.results)
            .zip(places)
        {
            self.name(variable.name, Symbol::Address(value));
        }
    }

    pub(super) fn name_address(&mut self, variable: &Variable<'t>, value: u64) {
        let value = if variable.space == StateSpace::Param {
            window::PARAM_IN_LOCAL + value
        } else {
            value
        };
        self.name(variable.name, Symbol::Address(value));
    }

    pub(super) fn declare_registers(&mut self, variable: &Variable<'t>) -> Result<(), Problem> {
        let kind =
            Type::named(variable.kind).filter(|kind| kind.bits() <= 64 && variable.vector == 1);
        let Some(kind) = kind else {
            // Instructions that name such a register are unknown ones.
            return Ok(());
        };
        let first = self.kernel.registers;
        let count = variable.family.unwrap_or(1);
        self.kernel.registers = first.saturating_add(count);
        if self.kernel.registers > MOST_REGISTERS {
            return Err(Problem::limit(
                variable.line,
                format!("more than {MOST_REGISTERS} registers"),
            ));
        }
        match variable.family {
            Some(count) => {
                if let Some(block) = self.blocks.get_mut(self.block) {
                    block
                        .families
                        .push((variable.name, first, count, kind.bits()));
                }
            }
            None => self.name(
                variable.name,
                Symbol::Register {
                    register: first,
                    bits: kind.bits(),
                },
            ),
        }
        Ok(())
    }

    /// Bytes of local memory for a variable.
    pub(super) fn take_local(&mut self, variable: &Variable<'t>) -> Result<u64, Problem> {
        let (bytes, align) = size(variable)?;
        let at = self.local.next_multiple_of(align);
        self.local = at + bytes;
        if self.local > MOST_LOCAL {
            return Err(Problem::limit(
                variable.line,
                format!("more than {MOST_LOCAL} bytes of local memory"),
            ));
        }
        self.kernel.local_bytes = self.local as u32;
        Ok(at)
    }

    fn take_shared(&mut self, variable: &Variable<'t>) -> Result<(), Problem> {
        let (bytes, align) = size(variable)?;
        let at = u64::from(self.kernel.shared_bytes).next_multiple_of(align);
        let end = u32::try_from(at + bytes)
            .map_err(|_| Problem::limit(variable.line, "too much shared memory"))?;
        self.kernel.shared_bytes = end;
        self.name_address(variable, at);
        Ok(())
    }

    pub(super) fn add_region(&mut self, variable: &Variable<'t>) -> Result<(), Problem> {
        let (bytes, _) = size(variable)?;
        let element = Type::named(variable.kind).map_or(1, |kind| kind.bits().max(8) as usize / 8);
        let mut contents = vec![0u8; bytes as usize];
        for (slot, initial) in contents.chunks_mut(element).zip(&variable.initial) {
            let bits = match initial {
                Initial::Bits(bits) | Initial::Double(bits) => *bits,
                Initial::Single(bits) => (*bits).into(),
                Initial::Address(name, offset) => match self.symbol(name) {
                    Some(Symbol::Address(value)) => value.wrapping_add_signed(*offset),
                    _ => {
                        return Err(Problem::unsupported(
                            variable.line,
                            format!("the address of `{name}`"),
                        ));
                    }
                },
            };
            for (to, from) in slot.iter_mut().zip(bits.to_le_bytes()) {
                *to = from;
            }
        }
        let base = window::VARIABLES + window::STRIDE * self.kernel.regions.len() as u64;
        self.name_address(variable, base);
        self.kernel.regions.push(Region {
            name: variable.name.to_owned(),
            base,
            bytes: contents,
            writable: variable.space == StateSpace::Global,
        });
        Ok(())
    }
}
