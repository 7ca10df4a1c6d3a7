//! Matrix instructions: `mma.sync` with dense factors, and `ldmatrix`.

use super::opcode::Opcode;
use super::{Decoded, Decoder, Unknown};
use crate::matrix::Element;
use crate::ptx::operand::{List, Mma, Source};
use crate::ptx::program::Op;
use splitbar_assembly::ptx::syntax::Operand;

/// Shapes of `mma.sync` with eight columns: name, rows, depth. (PTX ISA, "Matrix
/// multiply-accumulate operation using mma instruction".)
const SHAPES: &[(&str, (u32, u32))] = &[
    ("m8n8k4", (8, 4)),
    ("m8n8k16", (8, 16)),
    ("m16n8k4", (16, 4)),
    ("m16n8k8", (16, 8)),
    ("m16n8k16", (16, 16)),
    ("m16n8k32", (16, 32)),
];

const ELEMENTS: &[(&str, Element)] = &[
    ("f16", Element::F16),
    ("bf16", Element::BF16),
    ("tf32", Element::TF32),
    ("f32", Element::F32),
    ("f64", Element::F64),
    ("e4m3", Element::E4M3),
    ("e5m2", Element::E5M2),
    ("s8", Element::I8),
    ("u8", Element::U8),
    ("s32", Element::I32),
];

impl<'t> Decoder<'_, 't> {
    pub(super) fn multiply_add(
        &mut self,
        op: &mut Opcode<'_>,
        operands: &[Operand<'t>],
    ) -> Decoded<()> {
        let together = op.flag("sync") && op.flag("aligned");
        let (rows, depth) = op.one_of(SHAPES).ok_or(Unknown)?;
        let ordered = op.flag("row") && op.flag("col");
        let saturates = op.flag("satfinite");
        let mut element = || op.one_of(ELEMENTS).ok_or(Unknown);
        let mma = Mma {
            rows,
            depth,
            sum: element()?,
            factors: [element()?, element()?],
            addend: element()?,
            saturates,
        };
        let known = match (mma.factors, mma.sum) {
            // The oldest shape holds sums of 16 bits in another way than those of 32.
            ([Element::F16, Element::F16], Element::F16) => depth >= 8,
            ([Element::F16, Element::F16], Element::F32) => {
                depth >= 8 || mma.addend == Element::F32
            }
            ([Element::BF16, Element::BF16], Element::F32)
            | ([Element::TF32, Element::TF32], Element::F32)
            | ([Element::F64, Element::F64], Element::F64) => true,
            ([Element::I8 | Element::U8, Element::I8 | Element::U8], Element::I32) => true,
            ([Element::E4M3 | Element::E5M2, Element::E4M3 | Element::E5M2], Element::F32) => {
                mma.addend == Element::F32
            }
            _ => false,
        };
        let [to, a, b, c] = operands else {
            return Err(Unknown);
        };
        if !together || !ordered || !known || !op.is_empty() {
            return Err(Unknown);
        }
        let to = self.destinations(to, mma.sums(mma.sum))?;
        let from = [
            self.sources(a, mma.registers_of_a())?,
            self.sources(b, mma.registers_of_b())?,
            self.sources(c, mma.sums(mma.addend))?,
        ];
        self.emit(Op::MultiplyAdd { mma, to, from });
        Ok(())
    }

    pub(super) fn load_matrix(
        &mut self,
        op: &mut Opcode<'_>,
        operands: &[Operand<'t>],
    ) -> Decoded<()> {
        let known = op.flag("sync") && op.flag("aligned") && op.flag("m8n8") && op.flag("b16");
        let count = op
            .one_of(&[("x1", 1), ("x2", 2), ("x4", 4)])
            .ok_or(Unknown)?;
        let transposed = op.flag("trans");
        let space = op.space();
        let [to, address] = operands else {
            return Err(Unknown);
        };
        if !known || !op.is_empty() {
            return Err(Unknown);
        }
        let to = self.destinations(to, count)?;
        let address = self.address(address)?;
        self.emit(Op::LoadMatrix {
            transposed,
            space,
            to,
            address,
        });
        Ok(())
    }

    /// `count` registers that are written.
    fn destinations(&mut self, operand: &Operand<'t>, count: u32) -> Decoded<List> {
        let parts = parts(operand, count)?;
        let mut list = Vec::new();
        for part in parts {
            list.push(Source::Register(self.destination(part)?.0));
        }
        Ok(self.list(&list))
    }

    /// `count` operands that are read.
    fn sources(&mut self, operand: &Operand<'t>, count: u32) -> Decoded<List> {
        let parts = parts(operand, count)?;
        let mut list = Vec::new();
        for part in parts {
            list.push(self.word(part)?);
        }
        Ok(self.list(&list))
    }
}

fn parts<'o, 't>(operand: &'o Operand<'t>, count: u32) -> Decoded<&'o [Operand<'t>]> {
    let parts = match operand {
        Operand::List(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    if parts.len() == count as usize {
        Ok(parts)
    } else {
        Err(Unknown)
    }
}
