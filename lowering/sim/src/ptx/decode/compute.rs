//! Instructions on registers alone: those of the table ([`super::arithmetic`]), additions with a
//! carry, moves.

use super::super::arith::{self, Function, Mode};
use super::super::operand::{Register, Source};
use super::super::program::Op;
use super::super::types::{Class, Type};
use super::opcode::Opcode;
use super::{Decoded, Decoder, Unknown, arithmetic};
use splitbar_assembly::ptx::syntax::Operand;

impl<'t> Decoder<'_, 't> {
    pub(super) fn arithmetic(
        &mut self,
        op: &mut Opcode<'_>,
        operands: &[Operand<'t>],
    ) -> Decoded<()> {
        let root = op.root;
        let computed = arithmetic::computed(op).ok_or(Unknown)?;
        let mut mode = computed.mode;
        let (to, mut from) = operands.split_first().ok_or(Unknown)?;
        if root == "lop3" {
            let (table, rest) = from.split_last().ok_or(Unknown)?;
            let Operand::Integer(table) = table else {
                return Err(Unknown);
            };
            mode.table = u8::try_from(*table).map_err(|_| Unknown)?;
            from = rest;
        }
        if from.len() != computed.from.len() {
            return Err(Unknown);
        }
        let mut sources = [self.constant(0); 4];
        for ((source, operand), kind) in sources.iter_mut().zip(from).zip(&computed.from) {
            *source = self.source(operand, *kind)?;
        }
        if root == "setp" && mode.kind.count == 2 {
            return self.packed_comparison(mode, to, sources);
        }
        if root == "setp"
            && let Operand::Pair(yes, no) = to
        {
            let (yes, no) = (self.register(yes)?.0, self.register(no)?.0);
            // The first result may be an operand of the second.
            let held = self.new_register();
            self.compute(computed.function, mode, held, sources);
            self.compute(arith::compare_not, mode, no, sources);
            let held = [Source::Register(held), sources[1], sources[2], sources[3]];
            self.compute(arith::first, Mode::from_kind(Type::PREDICATE), yes, held);
            return Ok(());
        }
        let (to, width) = self.destination(to)?;
        self.compute(computed.function, mode, to, sources);
        // A conversion to a small number with a sign fills the whole register with the sign.
        if root == "cvt" && computed.to.is_signed() && width < 64 {
            let low = Mode::from_kind(Type::new(Class::Bits, width));
            let zero = self.zero();
            self.compute(
                arith::integer::or,
                low,
                to,
                [Source::Register(to), zero, zero, zero],
            );
        }
        Ok(())
    }

    /// `setp.f16x2` and `.bf16x2`: a predicate for each half.
    fn packed_comparison(
        &mut self,
        mode: Mode,
        to: &Operand<'t>,
        sources: [Source; 4],
    ) -> Decoded<()> {
        let Operand::Pair(low, high) = to else {
            return Err(Unknown);
        };
        let (low, high) = (self.register(low)?.0, self.register(high)?.0);
        let half = Mode {
            kind: Type::new(mode.kind.class, 16),
            ..mode
        };
        let bits = Mode::from_kind(Type::new(Class::Bits, 32));
        let zero = self.zero();
        let (mask, shift) = (self.constant(0xffff), self.constant(16));
        let halves: [(Register, Function, Source); 2] = [
            (low, arith::integer::and, mask),
            (high, arith::integer::shr, shift),
        ];
        for (to, part, by) in halves {
            let [a, b, ..] = sources;
            let parts = [a, b].map(|source| {
                let register = self.new_register();
                self.compute(part, bits, register, [source, by, zero, zero]);
                Source::Register(register)
            });
            self.compute(arith::compare, half, to, [parts[0], parts[1], zero, zero]);
        }
        Ok(())
    }

    pub(super) fn zero(&mut self) -> Source {
        self.constant(0)
    }

    /// `add.cc`, `addc`, `mad.lo.cc` and so on: the carry is a register of its own.
    pub(super) fn carrying(
        &mut self,
        op: &mut Opcode<'_>,
        operands: &[Operand<'t>],
    ) -> Decoded<()> {
        let sets = op.flag("cc");
        let reads = op.root.ends_with('c') && op.root != "mad";
        let low = op.flag("lo");
        let high = op.flag("hi");
        let kind = op.kind().ok_or(Unknown)?;
        if !op.is_empty() || kind.is_float() {
            return Err(Unknown);
        }
        let (to, from) = operands.split_first().ok_or(Unknown)?;
        let (to, _) = self.destination(to)?;
        let mode = Mode::from_kind(kind);
        let mut sources = Vec::new();
        for operand in from {
            sources.push(self.source(operand, kind)?);
        }
        let zero = self.zero();
        let (a, b) = match (op.root, sources.as_slice()) {
            ("mad" | "madc", [a, b, c]) if low || high => {
                let product = self.new_register();
                let function: Function = if low {
                    arith::integer::mad_low
                } else {
                    arith::integer::mad_high
                };
                self.compute(function, mode, product, [*a, *b, zero, zero]);
                (Source::Register(product), *c)
            }
            (_, [a, b]) => (*a, *b),
            _ => return Err(Unknown),
        };
        let (sum, over): (Function, Function) = match op.root {
            "sub" | "subc" => (arith::integer::sub_borrow, arith::integer::borrow),
            _ => (arith::integer::add_carry, arith::integer::carry),
        };
        let carry = if reads {
            Source::Register(self.carry)
        } else {
            zero
        };
        let held = self.new_register();
        self.compute(sum, mode, held, [a, b, carry, zero]);
        if sets {
            self.compute(over, mode, self.carry, [a, b, carry, zero]);
        }
        self.compute(
            arith::first,
            mode,
            to,
            [Source::Register(held), zero, zero, zero],
        );
        Ok(())
    }

    /// `mov`, between registers, from addresses and special registers, and to and from vectors.
    pub(super) fn move_(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let kind = op.kind().ok_or(Unknown)?;
        let [to, from] = operands else {
            return Err(Unknown);
        };
        if !op.is_empty() || kind.bits() > 64 {
            return Err(Unknown);
        }
        let zero = self.zero();
        let mode = Mode::from_kind(Type::new(Class::Bits, kind.bits()));
        match (to, from) {
            (Operand::List(parts), from) => {
                let whole = self.source(from, kind)?;
                let bits = kind.bits() / parts.len().max(1) as u32;
                for (index, part) in (0u32..)
                    .zip(parts)
                    .filter(|(_, part)| **part != Operand::Nothing)
                {
                    let (to, _) = self.destination(part)?;
                    let position = self.constant((index * bits).into());
                    let length = self.constant(bits.into());
                    let mode = Mode::from_kind(Type::new(Class::Unsigned, kind.bits()));
                    self.compute(
                        arith::integer::bfe,
                        mode,
                        to,
                        [whole, position, length, zero],
                    );
                }
            }
            (to, Operand::List(parts)) => {
                let (to, _) = self.destination(to)?;
                let bits = kind.bits() / parts.len().max(1) as u32;
                let part_kind = Type::new(Class::Bits, bits);
                let mut whole = zero;
                let held = self.new_register();
                for (index, part) in (0u32..).zip(parts) {
                    let part = self.source(part, part_kind)?;
                    let position = self.constant((index * bits).into());
                    let length = self.constant(bits.into());
                    self.compute(
                        arith::integer::bfi,
                        mode,
                        held,
                        [part, whole, position, length],
                    );
                    whole = Source::Register(held);
                }
                self.compute(arith::first, mode, to, [whole, zero, zero, zero]);
            }
            (to, Operand::Name("%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo", 0)) => {
                let (to, _) = self.destination(to)?;
                self.emit(Op::Clock { to, shift: 0 });
            }
            (to, Operand::Name("%clock_hi" | "%globaltimer_hi", 0)) => {
                let (to, _) = self.destination(to)?;
                self.emit(Op::Clock { to, shift: 32 });
            }
            (to, from) => {
                let from = self.source(from, kind)?;
                let (to, _) = self.destination(to)?;
                self.compute(arith::first, mode, to, [from, zero, zero, zero]);
            }
        }
        Ok(())
    }
}
