//! Loads, stores, atomics, address conversion and asynchronous copies.

use super::opcode::Opcode;
use super::{Decoded, Decoder, Unknown};
use crate::clock::{Order, Scope};
use crate::context::Access;
use crate::ptx::arith::{self, Function, Mode, float, integer};
use crate::ptx::exec::window;
use crate::ptx::operand::{Register, Source, Where};
use crate::ptx::program::Op;
use crate::ptx::roles::Role;
use crate::ptx::types::Type;
use splitbar_assembly::ptx::syntax::Operand;

/// Read-modify-write operations: name, function for integers, function for floating point.
const ATOMICS: &[(&str, (Function, Option<Function>))] = &[
    ("exch", (window::second, Some(window::second))),
    ("add", (integer::add, Some(float::add))),
    ("and", (integer::and, None)),
    ("or", (integer::or, None)),
    ("xor", (integer::xor, None)),
    ("min", (integer::min, Some(float::min))),
    ("max", (integer::max, Some(float::max))),
    ("inc", (window::increment, None)),
    ("dec", (window::decrement, None)),
];

impl<'t> Decoder<'_, 't> {
    pub(super) fn memory(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        match op.root {
            "ld" | "ldu" => self.load(op, operands),
            "st" => self.store(op, operands),
            "atom" | "red" => self.atomic(op, operands),
            "cvta" | "isspacep" => self.convert_address(op, operands),
            "prefetch" | "prefetchu" => Ok(()),
            _ => self.copy(op, operands),
        }
    }

    /// The modifiers that loads and stores share.
    fn access(&mut self, op: &mut Opcode<'_>) -> Access {
        op.flag("weak");
        let volatile = op.flag("volatile") | op.flag("mmio");
        match op.order() {
            Some(order) => Access::atomic(order, op.scope().unwrap_or(Scope::Device)),
            // "Treated as relaxed, with system scope" (PTX ISA, `ld`), except that it does not
            // promise to be one access.
            None if volatile => Access::atomic(Order::Relaxed, Scope::Device),
            None => Access::PLAIN,
        }
    }

    fn load(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let access = self.access(op);
        let space = op.space();
        op.skip_cache_hints();
        let vector = op.vector();
        let kind = op.kind().filter(|kind| kind.bits() <= 64).ok_or(Unknown)?;
        let (to, address) = match operands {
            [to, address] if op.is_empty() => (to, address),
            _ => return Err(Unknown),
        };
        let parts = match to {
            Operand::List(parts) if parts.len() == vector as usize => parts.as_slice(),
            one if vector == 1 => std::slice::from_ref(one),
            _ => return Err(Unknown),
        };
        let mut registers = Vec::new();
        let mut width = 64;
        for part in parts {
            let (register, bits) = self.destination(part)?;
            if *part != Operand::Nothing {
                width = bits;
            }
            registers.push(Source::Register(register));
        }
        let to = self.list(&registers);
        let address = self.address(address)?;
        let extend = (kind.is_signed() && width > kind.bits()).then_some(width);
        let bytes = kind.bits() / 8;
        self.emit(Op::Load {
            space,
            bytes,
            extend,
            to,
            address,
            access,
            used: u8::MAX,
        });
        Ok(())
    }

    /// Narrows vector loads to the registers that some instruction reads; to be called when all are
    /// decoded.
    pub(super) fn narrow_loads(&mut self) {
        let lists = &self.kernel.lists;
        let mut read = vec![false; self.kernel.registers as usize];
        for coded in &self.kernel.code {
            coded.operands(lists, &mut |role, register| match role {
                Role::Use | Role::Address | Role::Guard => {
                    if let Some(read) = read.get_mut(register as usize) {
                        *read = true;
                    }
                }
                Role::Definition => {}
            });
        }
        let is_read = |register: &Register| read.get(*register as usize) == Some(&true);
        for coded in &mut self.kernel.code {
            let Op::Load {
                to, access, used, ..
            } = &mut coded.op
            else {
                continue; // not a load
            };
            if to.count == 1 || *access != Access::PLAIN {
                continue;
            }
            let all = (0u32..to.count.min(8)).zip(lists.iter().skip(to.start as usize));
            let mask = all.fold(0u8, |mask, (at, source)| match source {
                Source::Register(register) if is_read(register) => mask | 1 << at,
                Source::Register(_) | Source::Constant(_) => mask,
            });
            // What is loaded in vain is loaded all the same.
            if mask != 0 {
                *used = mask;
            }
        }
    }

    fn store(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let access = self.access(op);
        let space = op.space();
        op.skip_cache_hints();
        let vector = op.vector();
        let kind = op.kind().filter(|kind| kind.bits() <= 64).ok_or(Unknown)?;
        let (address, from) = match operands {
            [address, from] if op.is_empty() => (address, from),
            _ => return Err(Unknown),
        };
        let parts = match from {
            Operand::List(parts) if parts.len() == vector as usize => parts.as_slice(),
            one if vector == 1 => std::slice::from_ref(one),
            _ => return Err(Unknown),
        };
        let mut sources = Vec::new();
        for part in parts {
            sources.push(self.source(part, kind)?);
        }
        let from = self.list(&sources);
        let address = self.address(address)?;
        self.emit(Op::Store {
            space,
            bytes: kind.bits() / 8,
            from,
            address,
            access,
        });
        Ok(())
    }

    fn atomic(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let access = op.atomic_access();
        let space = op.space();
        op.skip_cache_hints();
        op.flag("noftz");
        let exchange = op.flag("cas");
        let functions = if exchange {
            None
        } else {
            Some(op.one_of(ATOMICS).ok_or(Unknown)?)
        };
        let kind = op.kind().filter(|kind| kind.bits() <= 64).ok_or(Unknown)?;
        if !op.is_empty() {
            return Err(Unknown);
        }
        let (to, operands) = if op.root == "atom" {
            let (to, rest) = operands.split_first().ok_or(Unknown)?;
            (Some(self.destination(to)?.0), rest)
        } else {
            (None, operands)
        };
        let (address, from) = operands.split_first().ok_or(Unknown)?;
        let address = self.address(address)?;
        let mut sources = [self.constant(0); 2];
        if from.len() != 1 + usize::from(exchange) {
            return Err(Unknown);
        }
        for (source, operand) in sources.iter_mut().zip(from) {
            *source = self.source(operand, kind)?;
        }
        let mut mode = Mode::from_kind(kind);
        let mut function = match functions {
            None => arith::first,
            Some((_, on_floats)) if kind.is_float() => on_floats.ok_or(Unknown)?,
            Some((on_integers, _)) => on_integers,
        };
        if kind.count > 1 {
            mode.each = function;
            function = arith::packed;
        }
        self.emit(Op::Atomic {
            space,
            bytes: kind.bits() / 8,
            function,
            mode,
            exchange,
            to,
            address,
            from: sources,
            access,
        });
        Ok(())
    }

    fn convert_address(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let [to, from] = operands else {
            return Err(Unknown);
        };
        let back = op.flag("to");
        let constant_space = op.flag("const");
        let space = if constant_space {
            Where::Global
        } else {
            op.space()
        };
        let (base, length) = match space {
            Where::Shared => (window::SHARED, window::LENGTH),
            Where::Local => (window::LOCAL, window::LENGTH),
            Where::Param => (window::PARAM, window::LENGTH),
            Where::Global => (0, window::SHARED),
            Where::Generic => return Err(Unknown),
        };
        let test = op.root == "isspacep";
        if !test && op.kind().is_none_or(|kind| kind.bits() != 64) || !op.is_empty() {
            return Err(Unknown);
        }
        let from = self.source(from, Type::U64)?;
        let (to, _) = self.destination(to)?;
        let (base, zero) = (self.constant(base), self.constant(0));
        if test {
            let length = self.constant(length);
            self.compute(
                window::contains,
                Mode::from_kind(Type::U64),
                to,
                [from, base, length, zero],
            );
        } else {
            let function: Function = if back { integer::sub } else { integer::add };
            self.compute(
                function,
                Mode::from_kind(Type::U64),
                to,
                [from, base, zero, zero],
            );
        }
        Ok(())
    }

    /// `cp.async` and what closes and awaits its groups, and bulk copies to shared memory. Tensor
    /// copies are not known.
    fn copy(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        if !op.flag("async") {
            return Err(Unknown);
        }
        op.skip_cache_hints();
        if op.flag("commit_group") {
            return self.done(op, Op::CopyCommit);
        }
        if op.flag("wait_all") {
            return self.done(op, Op::CopyWait { left: None });
        }
        if op.flag("wait_group") {
            let [Operand::Integer(left)] = operands else {
                return Err(Unknown);
            };
            let left = Some(u32::try_from(*left).unwrap_or(u32::MAX));
            return self.done(op, Op::CopyWait { left });
        }
        if op.flag("bulk") {
            let counted = op.flag("mbarrier::complete_tx::bytes");
            let spaces = (op.space(), op.space());
            let [to, from, bytes, barrier] = operands else {
                return Err(Unknown);
            };
            if !counted || spaces != (Where::Shared, Where::Global) {
                return Err(Unknown);
            }
            let (to, from) = (self.address(to)?, self.address(from)?);
            let (bytes, barrier) = (self.word(bytes)?, self.address(barrier)?);
            return self.done(
                op,
                Op::CopyBulk {
                    to,
                    from,
                    bytes,
                    barrier,
                },
            );
        }
        if op.flag("mbarrier") {
            let counted = !op.flag("noinc");
            let (arrives, kind, space) = (op.flag("arrive"), op.kind(), op.space());
            let [address] = operands else {
                return Err(Unknown);
            };
            if !arrives || kind != Some(Type::B64) {
                return Err(Unknown);
            }
            let address = self.address(address)?;
            return self.done(
                op,
                Op::CopyArrive {
                    address,
                    space,
                    counted,
                },
            );
        }
        if op.space() != Where::Shared || op.space() != Where::Global {
            return Err(Unknown);
        }
        let (to, from, bytes, filled) = match operands {
            [to, from, Operand::Integer(bytes)] => (to, from, *bytes, None),
            [to, from, Operand::Integer(bytes), filled] => {
                (to, from, *bytes, Some(self.word(filled)?))
            }
            _ => return Err(Unknown),
        };
        if !matches!(bytes, 4 | 8 | 16) {
            return Err(Unknown);
        }
        let (to, from) = (self.address(to)?, self.address(from)?);
        self.done(
            op,
            Op::CopyAsync {
                to,
                from,
                bytes: bytes as u32,
                filled,
            },
        )
    }

    pub(super) fn done(&mut self, op: &Opcode<'_>, what: Op) -> Decoded<()> {
        if !op.is_empty() {
            return Err(Unknown);
        }
        self.emit(what);
        Ok(())
    }
}
