//! Products of small matrices, as the matrix instructions of both vendors compute them; which lane
//! holds which element is the front ends' business.
//!
//! Every element type is exact in `f64`, and so is every product of two factors that are not `f64`
//! themselves. A sum is rounded once, at the end: hardware is free in the order of its additions
//! and in what it drops on the way, so a kernel whose result depends on that has none that can be
//! relied on.

use crate::float8::Float8;
use half::{bf16, f16};

/// The type of an element in registers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    BF16,
    /// `f32` without the 13 lowest bits of its significand (NVIDIA's tf32).
    TF32,
    F32,
    F64,
    /// The 8-bit floats of OCP: four bits of exponent, no infinity; five.
    E4M3,
    E5M2,
    I8,
    U8,
    I32,
}

impl Element {
    /// How many bits it takes.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Element::I8 | Element::U8 | Element::E4M3 | Element::E5M2 => 8,
            Element::F16 | Element::BF16 => 16,
            Element::TF32 | Element::F32 | Element::I32 => 32,
            Element::F64 => 64,
        }
    }

    /// The number that the bits mean.
    pub(crate) fn number(self, bits: u64) -> f64 {
        match self {
            Element::F16 => f16::from_bits(bits as u16).to_f64(),
            Element::BF16 => bf16::from_bits(bits as u16).to_f64(),
            Element::TF32 => f32::from_bits(bits as u32 & !0x1fff).into(),
            Element::F32 => f32::from_bits(bits as u32).into(),
            Element::F64 => f64::from_bits(bits),
            Element::E4M3 => Float8::E4M3.number(bits as u8),
            Element::E5M2 => Float8::E5M2.number(bits as u8),
            Element::I8 => (bits as u8 as i8).into(),
            Element::U8 => (bits as u8).into(),
            Element::I32 => (bits as u32 as i32).into(),
        }
    }

    /// The bits of a number: floats are rounded to nearest, integers wrap.
    pub(crate) fn encode(self, number: f64) -> u64 {
        match self {
            Element::F16 => f16::from_f64(number).to_bits().into(),
            Element::BF16 => bf16::from_f64(number).to_bits().into(),
            Element::TF32 | Element::F32 => (number as f32).to_bits().into(),
            Element::F64 => number.to_bits(),
            Element::E4M3 => Float8::E4M3.code(number, true).into(),
            Element::E5M2 => Float8::E5M2.code(number, true).into(),
            Element::I8 | Element::U8 => (number as i64 as u8).into(),
            Element::I32 => (number as i64 as u32).into(),
        }
    }

    /// The element at `index` of registers of 32 bits that hold elements of this type one after the
    /// other.
    pub(crate) fn unpack(self, register: impl Fn(u32) -> u32, index: u32) -> f64 {
        let bit = index * self.bits();
        let word = |n: u32| u64::from(register(bit / 32 + n));
        self.number(match self.bits() {
            64 => word(0) | word(1) << 32,
            _ => word(0) >> (bit % 32),
        })
    }

    /// Puts an element where [`Element::unpack`] finds it; the bits there have to be 0.
    pub(crate) fn pack(self, registers: &mut [u32], index: u32, number: f64) {
        let (bit, bits) = (index * self.bits(), self.encode(number));
        let mut put = |n: u32, part: u32| {
            if let Some(register) = registers.get_mut((bit / 32 + n) as usize) {
                *register |= part;
            }
        };
        match self.bits() {
            64 => {
                put(0, bits as u32);
                put(1, (bits >> 32) as u32);
            }
            _ => put(0, (bits as u32) << (bit % 32)),
        }
    }
}

/// The matrices of one product: A has `rows` x `depth` elements, B `depth` x `columns`, the sum
/// `rows` x `columns`.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    rows: usize,
    columns: usize,
    depth: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    sum: Vec<f64>,
}

impl Product {
    /// All zero.
    pub(crate) fn new(rows: u32, columns: u32, depth: u32) -> Product {
        let [rows, columns, depth] = [rows, columns, depth].map(|n| n as usize);
        Product {
            rows,
            columns,
            depth,
            a: vec![0.0; rows * depth],
            b: vec![0.0; columns * depth],
            sum: vec![0.0; rows * columns],
        }
    }

    /// An element of A.
    pub(crate) fn set_a(&mut self, row: u32, k: u32, number: f64) {
        if let Some(slot) = self.a.get_mut(row as usize * self.depth + k as usize) {
            *slot = number;
        }
    }

    /// An element of B.
    pub(crate) fn set_b(&mut self, k: u32, column: u32, number: f64) {
        // Column after column: both factors are read along k.
        if let Some(slot) = self.b.get_mut(column as usize * self.depth + k as usize) {
            *slot = number;
        }
    }

    /// An element of what is added to.
    pub(crate) fn set_sum(&mut self, row: u32, column: u32, number: f64) {
        if let Some(slot) = self
            .sum
            .get_mut(row as usize * self.columns + column as usize)
        {
            *slot = number;
        }
    }

    /// An element of the sum.
    pub(crate) fn sum(&self, row: u32, column: u32) -> f64 {
        let index = row as usize * self.columns + column as usize;
        self.sum.get(index).copied().unwrap_or(0.0)
    }

    /// Adds A times B to the sum.
    pub(crate) fn multiply(&mut self) {
        let depth = self.depth.max(1);
        for (row, sums) in self
            .a
            .chunks_exact(depth)
            .zip(self.sum.chunks_exact_mut(self.columns.max(1)))
            .take(self.rows)
        {
            for (column, sum) in self.b.chunks_exact(depth).zip(sums) {
                *sum = row
                    .iter()
                    .zip(column)
                    .fold(*sum, |sum, (a, b)| a.mul_add(*b, sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_packed_one_after_the_other() {
        for (element, numbers) in [
            (Element::F16, [1.5, -2.0, 65504.0, 0.25]),
            (Element::BF16, [1.5, -2.0, 3.0, 0.25]),
            (Element::E4M3, [448.0, -0.001953125, 1.125, -2.0]),
            (Element::E5M2, [57344.0, -0.0000152587890625, 1.25, -2.0]),
            (Element::I8, [1.0, -128.0, 127.0, -1.0]),
            (Element::U8, [1.0, 255.0, 127.0, 0.0]),
            (Element::I32, [-1.0, 2147483647.0, 0.0, 7.0]),
            (Element::F64, [0.1, -0.2, 1e300, 0.0]),
        ] {
            let mut registers = [0; 8];
            for (index, number) in (0..).zip(numbers) {
                element.pack(&mut registers, index, number);
            }
            for (index, number) in (0..).zip(numbers) {
                let register = |n: u32| registers[n as usize];
                assert_eq!(element.unpack(register, index), number, "{element:?}");
            }
        }
        assert_eq!(Element::I32.encode(2147483648.0), 0x8000_0000, "it wraps");
    }

    #[test]
    fn a_product_adds_rows_times_columns() {
        let mut product = Product::new(2, 3, 2);
        for (row, k, number) in [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0), (1, 1, 4.0)] {
            product.set_a(row, k, number);
        }
        for column in 0..3 {
            product.set_b(0, column, f64::from(column));
            product.set_b(1, column, 10.0);
        }
        product.set_sum(1, 2, 0.5);
        product.multiply();
        assert_eq!(product.sum(0, 0), 20.0);
        assert_eq!(product.sum(0, 2), 22.0);
        assert_eq!(product.sum(1, 2), 46.5);
    }
}
