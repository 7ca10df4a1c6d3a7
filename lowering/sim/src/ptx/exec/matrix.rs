//! Matrix instructions of a warp: products, and loads of 8x8 matrices. Which lane holds what: PTX
//! ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and its like, and "ldmatrix".

use super::agents::agent;
use super::lanes::{Lanes, each};
use super::warp::{FragmentState, Meeting, Warp};
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::lane::Lane;
use crate::matrix::{Element, Product};
use crate::memory::Space;
use crate::program::Step;
use crate::ptx::operand::{Address, List, Mma, Source, Where};
use crate::ptx::program::{Kernel, Op};

/// Columns of every product.
const COLUMNS: u32 = 8;

/// An element of one of the matrices, of one of the products.
struct Spot {
    product: usize,
    row: u32,
    column: u32,
}

impl Mma {
    /// Elements in a register; one of 64 bits has a register of 64 bits.
    fn packed(element: Element) -> u32 {
        (32 / element.bits()).max(1)
    }

    /// Products at once: m8n8k4 of 16-bit floats has four, each of the lanes from 4 * n on and of
    /// those 16 further on.
    fn products(&self) -> u32 {
        match (self.rows, self.depth, self.factors[0]) {
            (8, 4, Element::F16) => 4,
            _ => 1,
        }
    }

    /// Registers of A in each lane.
    pub(in crate::ptx) fn registers_of_a(&self) -> u32 {
        self.products() * self.rows * self.depth / 32 / Mma::packed(self.factors[0])
    }

    /// Registers of B in each lane.
    pub(in crate::ptx) fn registers_of_b(&self) -> u32 {
        self.products() * COLUMNS * self.depth / 32 / Mma::packed(self.factors[1])
    }

    /// Registers of sums of this type in each lane.
    pub(in crate::ptx) fn sums(&self, element: Element) -> u32 {
        self.products() * self.rows * COLUMNS / 32 / Mma::packed(element)
    }

    /// Of four products, the number of a lane's, and the lane's number among its eight.
    fn quarter(lane: Lane) -> (usize, u32) {
        let lane = lane.number();
        ((lane / 4 % 4) as usize, lane % 4 + lane / 16 * 4)
    }

    /// What a lane holds of A: registers alternate between the upper and the lower eight rows, if
    /// there are sixteen.
    fn a(&self, lane: Lane, index: u32) -> Spot {
        if self.products() == 4 {
            let (product, row) = Mma::quarter(lane);
            return Spot {
                product,
                row,
                column: index,
            };
        }
        let lane = lane.number();
        let packed = Mma::packed(self.factors[0]);
        let halves = self.rows / 8;
        let (register, part) = (index / packed, index % packed);
        Spot {
            product: 0,
            row: lane / 4 + 8 * (register % halves),
            column: lane % 4 * packed + part + 4 * packed * (register / halves),
        }
    }

    /// What a lane holds of B.
    fn b(&self, lane: Lane, index: u32) -> Spot {
        if self.products() == 4 {
            let (product, column) = Mma::quarter(lane);
            return Spot {
                product,
                row: index,
                column,
            };
        }
        let lane = lane.number();
        let packed = Mma::packed(self.factors[1]);
        let (register, part) = (index / packed, index % packed);
        Spot {
            product: 0,
            row: lane % 4 * packed + part + 4 * packed * register,
            column: lane / 4,
        }
    }

    /// What a lane holds of a sum.
    fn sum(&self, lane: Lane, index: u32) -> Spot {
        if self.products() == 4 {
            let (product, lane) = Mma::quarter(lane);
            return Spot {
                product,
                row: lane % 2 + index / 2 % 2 * 2 + lane / 4 * 4,
                column: index % 2 + lane / 2 % 2 * 2 + index / 4 * 4,
            };
        }
        let lane = lane.number();
        Spot {
            product: 0,
            row: lane / 4 + 8 * (index / 2),
            column: lane % 4 * 2 + index % 2,
        }
    }
}

impl Kernel {
    /// `Op::MultiplyAdd` or `Op::LoadMatrix`: one instruction of the whole warp. `active` are the
    /// lanes of the fragment for which its guard holds.
    pub(super) fn matrix(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        index: usize,
        active: Lanes,
        op: Op,
    ) -> Step {
        let Some(fragment) = warp.fragments.get(index) else {
            debug_assert!(false, "the warp has no fragment {index}");
            return Step::Blocked;
        };
        let (pc, guarded) = (fragment.pc, fragment.lanes & !active);
        let Some(lanes) = warp.gather(index, Meeting::At(pc, u32::MAX), u32::MAX) else {
            return Step::Ran(0); // it waits for the others
        };
        let missing = guarded | !lanes;
        if let Some(lane) = Lane::first(missing) {
            context.report(FindingKind::MatrixLanes, pc, Some(lane), || {
                format!("only the lanes {:#010x} of the warp execute it", !missing)
            });
        }
        match op {
            Op::MultiplyAdd { mma, to, from } => self.multiply_add(warp, mma, to, from),
            Op::LoadMatrix {
                transposed,
                space,
                to,
                address,
            } => self.load_matrix(warp, context, pc, transposed, space, to, address),
            _ => debug_assert!(false, "{op:?} is not of matrices"),
        }
        warp.advance(lanes, FragmentState::Ready);
        Step::Ran(lanes.count_ones())
    }

    fn multiply_add(&self, warp: &mut Warp, mma: Mma, to: List, from: [List; 3]) {
        let [a, b, c] = from;
        let mut products: Vec<Product> = (0..mma.products())
            .map(|_| Product::new(mma.rows, COLUMNS, mma.depth))
            .collect();
        let mut set = |spot: Spot, number, which: fn(&mut Product, u32, u32, f64)| {
            if let Some(product) = products.get_mut(spot.product) {
                which(product, spot.row, spot.column, number);
            }
        };
        self.each_element(warp, a, mma.factors[0], |lane, index, number| {
            set(mma.a(lane, index), number, Product::set_a);
        });
        self.each_element(warp, b, mma.factors[1], |lane, index, number| {
            set(mma.b(lane, index), number, Product::set_b);
        });
        self.each_element(warp, c, mma.addend, |lane, index, number| {
            set(mma.sum(lane, index), number, Product::set_sum);
        });
        products.iter_mut().for_each(Product::multiply);
        let packed = Mma::packed(mma.sum);
        for (register, destination) in (0..).zip(self.list(to)) {
            let Source::Register(destination) = *destination else {
                debug_assert!(false, "a result goes to no register");
                continue;
            };
            for lane in Lane::all(32) {
                let bits = (0..packed).fold(0, |bits, part| {
                    let spot = mma.sum(lane, register * packed + part);
                    let product = products.get(spot.product);
                    let mut number = product.map_or(0.0, |p| p.sum(spot.row, spot.column));
                    if mma.saturates {
                        number = number.clamp(i32::MIN.into(), i32::MAX.into());
                    }
                    bits | mma.sum.encode(number) << (part * mma.sum.bits() % 32)
                });
                warp.set(destination, lane, bits);
            }
        }
    }

    /// Calls `take` with each lane's elements in a list of registers: lane, number of the element
    /// in the lane, and what it is.
    fn each_element(
        &self,
        warp: &Warp,
        list: List,
        element: Element,
        mut take: impl FnMut(Lane, u32, f64),
    ) {
        let packed = Mma::packed(element);
        for (register, source) in (0..).zip(self.list(list)) {
            for (lane, bits) in Lane::all(32).zip(warp.read(self, *source)) {
                for part in 0..packed {
                    let bits = bits >> (part * element.bits() % 32);
                    take(lane, register * packed + part, element.number(bits));
                }
            }
        }
    }

    /// Lane 8 * n + r names the 16 bytes of row r of matrix n; each lane gets two neighbours of a
    /// row, or of a column.
    #[allow(clippy::too_many_arguments)] // the operands of one instruction
    fn load_matrix(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        pc: u32,
        transposed: bool,
        space: Where,
        to: List,
        address: Address,
    ) {
        for (matrix, destination) in (0..).zip(self.list(to)) {
            let mut elements = [[0u16; 8]; 8];
            for (row, elements) in (0..).zip(&mut elements) {
                let lane = Lane::new(8 * matrix + row);
                let at = At { pc, lane };
                let address = self.shared_address(warp, lane, space, address);
                if !address.is_multiple_of(16) {
                    context.report(FindingKind::Misaligned, pc, Some(at.lane), || {
                        format!("a row of 16 bytes at {address:#x} of shared memory")
                    });
                    continue;
                }
                let mut bytes = [0; 16];
                context.agent = agent(warp.index, lane);
                context.read(Space::Shared, address, &mut bytes, at, Access::PLAIN);
                for (element, pair) in elements.iter_mut().zip(bytes.as_chunks::<2>().0) {
                    *element = u16::from_le_bytes(*pair);
                }
            }
            let Source::Register(destination) = *destination else {
                debug_assert!(false, "a result goes to no register");
                continue;
            };
            for lane in each(u32::MAX) {
                let part = |n: usize| {
                    let (row, column) = (lane.index() / 4, lane.index() % 4 * 2 + n);
                    let (row, column) = if transposed {
                        (column, row)
                    } else {
                        (row, column)
                    };
                    let element = elements.get(row).and_then(|row| row.get(column));
                    u64::from(element.copied().unwrap_or(0))
                };
                warp.set(destination, lane, part(0) | part(1) << 16);
            }
        }
    }
}
