//! Matrix instructions (MFMA, WMMA): decoding, and what they do to a wave.
//!
//! They read and write all lanes whatever EXEC says, or demand that it be full; so a lane that is
//! off is a finding in both cases: what its registers hold was not made for this product.

use super::bits::Ty;
use super::inst::Op;
use super::isa::Isa;
use super::matrix_inst::Matrix;
use super::operand::{Kind, Operand};
use super::table::matrix::{Family, Shape, mfma, wmma};
use super::text::Parts;
use super::wave::Wave;
use crate::context::Context;
use crate::finding::FindingKind;
use crate::lane::Lane;
use crate::matrix::{Element, Product};

/// The instruction, if its name is that of a matrix instruction whose shape is known; sparse ones,
/// scaled ones and modifiers that change the operands are not.
pub(super) fn decode(parts: &Parts<'_>, isa: Isa, wave_size: u32) -> Option<Op> {
    let (name, float8) = float8(parts.mnemonic);
    let (shape, family) = match (name.strip_prefix("v_mfma_"), name.strip_prefix("v_wmma_")) {
        (Some(rest), _) if wave_size == 64 => (mfma(rest)?, Family::Mfma),
        (_, Some(rest)) if isa.copied_factors => (wmma(rest)?, Family::Copied),
        (_, Some(rest)) => (wmma(rest)?, Family::Halved),
        _ => return None,
    };
    // The 16-bit sums of gfx11 lie in one half of their registers.
    if family == Family::Copied && shape.sum.bits() < 32 {
        return None;
    }
    let modifiers = &parts.modifiers;
    let changes = ["cbsz", "abid", "blgp", "neg_hi", "op_sel", "op_sel_hi"];
    if changes.iter().any(|modifier| modifiers.has(modifier)) {
        return None;
    }
    let signs = modifiers.bits("neg_lo", false);
    let integers = name.ends_with("_iu8");
    if signs != 0 && !integers {
        return None;
    }
    let factor = |position: u8| match float8.and_then(|f| f.get(usize::from(position)).copied()) {
        Some(element) => element,
        None if !integers => shape.factor,
        None if signs >> position & 1 == 0 => Element::U8,
        None => Element::I8,
    };
    let [dst, a, b, addend] = parts.operands.as_slice() else {
        return None;
    };
    let register = |operand: &Operand| match operand.kind {
        Kind::Vgpr(first) => Some(first),
        _ => None,
    };
    if addend.kind == Kind::Other {
        return None;
    }
    Some(Op::Matrix(Box::new(Matrix {
        shape,
        family,
        factors: [factor(0), factor(1)],
        clamp: modifiers.has("clamp"),
        dst: register(dst)?,
        sources: [register(a)?, register(b)?],
        addend: *addend,
    })))
}

/// The mnemonic without the formats of 8-bit floats, of which it has two, and these.
fn float8(name: &str) -> (&str, Option<[Element; 2]>) {
    use Element::{E4M3, E5M2};
    [
        ("_fp8_fp8", [E4M3, E4M3]),
        ("_bf8_fp8", [E5M2, E4M3]),
        ("_fp8_bf8", [E4M3, E5M2]),
        ("_bf8_bf8", [E5M2, E5M2]),
    ]
    .into_iter()
    .find_map(|(suffix, elements)| Some((name.strip_suffix(suffix)?, Some(elements))))
    .unwrap_or((name, None))
}

impl Matrix {
    /// The registers that the instruction touches: reports operand, how many, whether written.
    pub(super) fn uses(&self, size: u32, touch: &mut impl FnMut(&Operand, u16, bool)) {
        let Matrix {
            shape,
            family,
            dst,
            sources,
            addend,
            factors: _,
            clamp: _,
        } = self;
        let sums = registers(shape.sum, shape.sums(size));
        touch(&Operand::new(Kind::Vgpr(*dst), sums), sums, true);
        let factors = registers(shape.factor, shape.factors(*family, size));
        for first in sources {
            touch(&Operand::new(Kind::Vgpr(*first), factors), factors, false);
        }
        touch(addend, sums, false);
    }

    /// Computes all products of the wave.
    pub(super) fn run(&self, wave: &mut Wave, pc: u32, cx: &mut Context<'_>) {
        let off = wave.all() & !wave.exec();
        if let Some(lane) = Lane::first(off) {
            cx.report(FindingKind::MatrixLanes, pc, Some(lane), || {
                format!("EXEC is {:#x}: some lanes are inactive", wave.exec())
            });
        }
        let Shape {
            side,
            depth,
            blocks,
            sum,
            ..
        } = self.shape;
        let size = wave.size;
        let mut products: Vec<Product> = (0..blocks)
            .map(|_| Product::new(side, side, depth))
            .collect();
        self.read_factors(wave, &mut products, pc, cx);
        self.read_addend(wave, &mut products);
        products.iter_mut().for_each(Product::multiply);
        let sums = self.shape.sums(size);
        for lane in Lane::all(size) {
            let mut packed = [0; 32];
            for index in 0..sums {
                let spot = self.shape.sum(self.family, size, lane, index);
                let number = products
                    .get(spot.block as usize)
                    .map_or(0.0, |p| p.sum(spot.other, spot.side));
                sum.pack(&mut packed, index, self.clamped(number));
            }
            let to = wave.vgpr.iter_mut().skip(self.dst.into());
            for (register, bits) in to.zip(packed).take(registers(sum, sums).into()) {
                if let Some(slot) = register.get_mut(lane.index()) {
                    *slot = bits;
                }
            }
        }
    }

    fn clamped(&self, number: f64) -> f64 {
        if self.clamp && self.shape.sum == Element::I32 {
            number.clamp(i32::MIN.into(), i32::MAX.into())
        } else {
            number
        }
    }

    fn read_factors(&self, wave: &Wave, products: &mut [Product], pc: u32, cx: &mut Context<'_>) {
        let (size, count) = (wave.size, self.shape.factors(self.family, wave.size));
        for (which, (first, element)) in self.sources.into_iter().zip(self.factors).enumerate() {
            let held = Held::capture(wave, first, registers(element, count));
            for lane in Lane::all(size) {
                let original = Lane::new(lane.number() % self.shape.side);
                if self.family == Family::Copied && !held.same(lane, original) {
                    let matrix = if which == 0 { "A" } else { "B" };
                    cx.report(FindingKind::MatrixLanes, pc, Some(lane), || {
                        format!("its part of {matrix} is not a copy of what lane {original} holds")
                    });
                }
                for index in 0..count {
                    let spot = self.shape.factor(self.family, size, lane, index);
                    let number = element.unpack(|n| held.word(n, lane), index);
                    if let Some(product) = products.get_mut(spot.block as usize) {
                        match which {
                            0 => product.set_a(spot.side, spot.other, number),
                            _ => product.set_b(spot.other, spot.side, number),
                        }
                    }
                }
            }
        }
    }

    fn read_addend(&self, wave: &Wave, products: &mut [Product]) {
        let (size, sum) = (wave.size, self.shape.sum);
        let count = self.shape.sums(size);
        let held = match self.addend.kind {
            Kind::Vgpr(first) => Some(Held::capture(wave, first, registers(sum, count))),
            _ => None,
        };
        let constant = constant(wave, &self.addend, sum);
        for lane in Lane::all(size) {
            for index in 0..count {
                let number = held
                    .as_ref()
                    .map_or(constant, |held| sum.unpack(|n| held.word(n, lane), index));
                let spot = self.shape.sum(self.family, size, lane, index);
                if let Some(product) = products.get_mut(spot.block as usize) {
                    product.set_sum(spot.other, spot.side, number);
                }
            }
        }
    }
}

/// Registers of 32 bits that `count` elements take.
fn registers(element: Element, count: u32) -> u16 {
    (element.bits() * count).div_ceil(32) as u16
}

/// What a constant operand means as an element.
fn constant(wave: &Wave, operand: &Operand, element: Element) -> f64 {
    element.number(match element {
        Element::F16 => wave.scalar(operand, Ty::F16),
        Element::BF16 => wave.scalar(operand, Ty::F32) >> 16,
        Element::F64 => wave.scalar(operand, Ty::F64),
        Element::TF32
        | Element::F32
        | Element::E4M3
        | Element::E5M2
        | Element::I8
        | Element::U8
        | Element::I32 => wave.scalar(operand, Ty::F32),
    })
}

/// Consecutive vector registers.
struct Held(Vec<[u32; 64]>);

impl Held {
    fn capture(wave: &Wave, first: u16, count: u16) -> Held {
        Held((first..).take(count.into()).map(|n| wave.v(n)).collect())
    }

    /// What a lane has in one of them.
    fn word(&self, register: u32, lane: Lane) -> u32 {
        let lanes = self.0.get(register as usize);
        lanes
            .and_then(|lanes| lanes.get(lane.index()))
            .copied()
            .unwrap_or(0)
    }

    /// Returns true if two lanes hold the same.
    fn same(&self, lane: Lane, other: Lane) -> bool {
        (0..self.0.len() as u32).all(|n| self.word(n, lane) == self.word(n, other))
    }
}
