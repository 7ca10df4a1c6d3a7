//! Operands: what a name or a number of the text stands for.

use super::super::arith::{self, Mode, mask};
use super::super::exec::special::Special;
use super::super::operand::{Address, Register, Source};
use super::super::types::{Class, Type};
use super::{Decoded, Decoder, Symbol, Unknown};
use splitbar_assembly::ptx::syntax::{Base, Operand};

impl<'t> Decoder<'_, 't> {
    pub(super) fn source(&mut self, operand: &Operand<'t>, kind: Type) -> Decoded<Source> {
        let bits = match operand {
            Operand::Name("WARP_SZ", 0) => 32,
            Operand::Name(name, offset) => match self.symbol(name) {
                Some(Symbol::Register { register, .. }) if *offset == 0 => {
                    return Ok(Source::Register(register));
                }
                Some(Symbol::Address(value)) => value.wrapping_add_signed(*offset),
                _ => return Err(Unknown),
            },
            Operand::Not(name) => {
                let (register, _) = self.register(name)?;
                let not = self.new_register();
                let zero = self.zero();
                self.compute(
                    arith::integer::not,
                    Mode::from_kind(Type::PREDICATE),
                    not,
                    [Source::Register(register), zero, zero, zero],
                );
                return Ok(Source::Register(not));
            }
            Operand::Integer(value) => *value,
            Operand::Single(bits) if kind.class == Class::Double => {
                f64::from(f32::from_bits(*bits)).to_bits()
            }
            Operand::Single(bits) => (*bits).into(),
            Operand::Double(bits) if kind.class == Class::Single => {
                (f64::from_bits(*bits) as f32).to_bits().into()
            }
            Operand::Double(bits) => *bits,
            Operand::Pair(..)
            | Operand::Nothing
            | Operand::Address(..)
            | Operand::Texel(..)
            | Operand::List(_)
            | Operand::Other => {
                return Err(Unknown);
            }
        };
        // A predicate may be given as any number but 0.
        let bits = if kind == Type::PREDICATE {
            u64::from(bits != 0)
        } else {
            bits & mask(kind.bits())
        };
        Ok(self.constant(bits))
    }

    pub(super) fn predicate(&mut self, operand: &Operand<'t>) -> Decoded<Source> {
        self.source(operand, Type::PREDICATE)
    }

    pub(super) fn word(&mut self, operand: &Operand<'t>) -> Decoded<Source> {
        self.source(operand, Type::B32)
    }

    pub(super) fn address(&mut self, operand: &Operand<'t>) -> Decoded<Address> {
        let Operand::Address(base, offset) = operand else {
            return Err(Unknown);
        };
        Ok(match base {
            Base::Number => Address {
                base: self.constant(*offset as u64),
                offset: 0,
            },
            Base::Name(name) => match self.symbol(name).ok_or(Unknown)? {
                Symbol::Register { register, .. } => Address {
                    base: Source::Register(register),
                    offset: *offset,
                },
                Symbol::Address(value) => Address {
                    base: self.constant(value),
                    offset: *offset,
                },
                Symbol::Table(_) => return Err(Unknown),
            },
        })
    }

    /// A register that is written, and its bits.
    pub(super) fn destination(&mut self, operand: &Operand<'t>) -> Decoded<(Register, u32)> {
        match operand {
            Operand::Name(name, 0) => self.register(name),
            Operand::Nothing => Ok((self.new_register(), 64)),
            _ => Err(Unknown),
        }
    }

    /// `d|p` or `d`.
    pub(super) fn pair(
        &mut self,
        operand: &Operand<'t>,
    ) -> Decoded<(Option<Register>, Option<Register>)> {
        match operand {
            Operand::Pair(a, b) => {
                let mut one = |name: &str| {
                    if name == "_" {
                        Ok(None)
                    } else {
                        self.register(name).map(|r| Some(r.0))
                    }
                };
                Ok((one(a)?, one(b)?))
            }
            other => Ok((Some(self.destination(other)?.0), None)),
        }
    }

    pub(super) fn register(&mut self, name: &str) -> Decoded<(Register, u32)> {
        match self.symbol(name) {
            Some(Symbol::Register { register, bits }) => Ok((register, bits)),
            _ => Err(Unknown),
        }
    }

    pub(super) fn symbol(&mut self, name: &str) -> Option<Symbol> {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at_checked(name.len() - digits)?;
        let number: Option<u32> = number.parse().ok();
        let mut at = Some(self.block);
        while let Some(block) = at.and_then(|at| self.blocks.get(at)) {
            if let Some(symbol) = block.names.get(name) {
                return Some(*symbol);
            }
            let family = block
                .families
                .iter()
                .find(|f| f.0 == prefix && number.is_some_and(|n| n < f.2));
            if let (Some((_, first, _, bits)), Some(number)) = (family, number) {
                return Some(Symbol::Register {
                    register: first + number,
                    bits: *bits,
                });
            }
            at = block.parent;
        }
        let special = Special::named(name)?;
        let known = self
            .kernel
            .specials
            .iter()
            .find(|(_, s)| *s == special)
            .map(|(register, _)| *register);
        let register = known.unwrap_or_else(|| {
            let register = self.new_register();
            self.kernel.specials.push((register, special));
            register
        });
        Some(Symbol::Register { register, bits: 64 })
    }
}
