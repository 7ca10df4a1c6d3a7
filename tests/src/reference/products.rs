//! Matrix products. The elements are small integers, so every order of summation has the same
//! result.

use super::case::{Case, Element, input, output};
use super::noise::noise;

/// The kernels that multiply matrices.
pub const KERNELS: &[&str] = &[
    "tiled_matmul",
    "plain_matmul",
    "tiled_matmul_double_buffered",
    "async_double_buffer",
    "async_overlap",
    "async_pipeline",
    "async_uneven",
    "cooperative_matmul",
    "cooperative_tensors",
];

/// A launch of `c = a b` with `a` of m rows and k columns, `b` of k rows and n columns, all
/// row-major. The result is not computed, because that takes long for large matrices;
/// [`Product::element`] computes single elements.
#[derive(Clone, Debug)]
pub struct Product {
    /// m, n and k.
    pub size: [u32; 3],
    /// True if the elements of `a` and `b` are 16-bit floats; each word holds two, the first in its
    /// lower 16 bits. Otherwise all elements have 32 bits.
    pub halves: bool,
    /// The launch; its buffers are `a`, `b` and `c`.
    pub case: Case,
    a: Vec<f32>,
    b: Vec<f32>,
}

impl Product {
    /// A product of this size by the kernel of this name; `None` for other kernels, and where tiles
    /// do not divide the size and the kernel does not clamp them.
    pub fn from_parts(kernel: &str, size: [u32; 3]) -> Option<Product> {
        // Rows and columns of c that a workgroup makes, how deep it goes in one iteration, and its
        // size.
        let (tile, workgroup_size, halves) = match kernel {
            "tiled_matmul" | "plain_matmul" => ([64, 64, 8], [16, 16, 1], false),
            "tiled_matmul_double_buffered" => ([32, 32, 8], [16, 16, 1], false),
            "async_double_buffer" | "async_overlap" | "async_pipeline" => {
                ([16, 16, 16], [16, 16, 1], false)
            }
            "async_uneven" => ([16, 32, 16], [16, 16, 1], false),
            "cooperative_matmul" => ([16, 64, 16], [128, 1, 1], true),
            "cooperative_tensors" => ([32, 32, 16], [128, 1, 1], true),
            _ => return None,
        };
        let clamps = kernel == "cooperative_tensors";
        if !clamps && size.iter().zip(tile).any(|(size, tile)| size % tile != 0) {
            return None;
        }
        let [m, n, k] = size;
        let a = small(m * k, 0);
        let b = small(k * n, 0x5555_5555);
        let mut buffers = vec![
            input(0, "a", if halves { pairs(&a) } else { bits(&a) }),
            input(1, "b", if halves { pairs(&b) } else { bits(&b) }),
            output(2, "c", vec![0; m as usize * n as usize]),
        ];
        for buffer in &mut buffers {
            if !halves || buffer.after.is_some() {
                buffer.element = Element::F32 { tolerance: 0.0 };
            }
            buffer.after = None;
        }
        let case = Case {
            groups: [n.div_ceil(tile[1]), m.div_ceil(tile[0]), 1],
            workgroup_size,
            push_constants: size.to_vec(),
            buffers,
        };
        Some(Product {
            size,
            halves,
            case,
            a,
            b,
        })
    }

    /// The element of the result in row `i` and column `j`, which lie in it.
    pub fn element(&self, i: u32, j: u32) -> f32 {
        let [_, n, k] = self.size.map(|x| x as usize);
        let row = &self.a[i as usize * k..][..k];
        let column = self.b[j as usize..].iter().step_by(n);
        row.iter().zip(column).map(|(a, b)| a * b).sum()
    }
}

pub(super) fn plain_matmul() -> Option<Case> {
    whole("plain_matmul", [128, 64, 24])
}

pub(super) fn tiled_matmul() -> Option<Case> {
    whole("tiled_matmul", [128, 64, 24])
}

pub(super) fn tiled_matmul_double_buffered() -> Option<Case> {
    whole("tiled_matmul_double_buffered", [64, 96, 32])
}

pub(super) fn async_double_buffer() -> Option<Case> {
    whole("async_double_buffer", [32, 48, 80])
}

pub(super) fn async_overlap() -> Option<Case> {
    whole("async_overlap", [32, 48, 80])
}

pub(super) fn async_pipeline() -> Option<Case> {
    whole("async_pipeline", [32, 48, 80])
}

pub(super) fn async_uneven() -> Option<Case> {
    whole("async_uneven", [32, 64, 96])
}

pub(super) fn cooperative_matmul() -> Option<Case> {
    whole("cooperative_matmul", [32, 128, 48])
}

pub(super) fn cooperative_tensors() -> Option<Case> {
    whole("cooperative_tensors", [40, 56, 36])
}

/// The product with its result.
fn whole(kernel: &str, size: [u32; 3]) -> Option<Case> {
    let mut product = Product::from_parts(kernel, size)?;
    let [m, n, _] = size;
    let elements = (0..m * n).map(|at| product.element(at / n, at % n).to_bits());
    let result = elements.collect();
    product.case.buffers.last_mut()?.after = Some(result);
    Some(product.case)
}

/// Small whole numbers.
fn small(count: u32, salt: u32) -> Vec<f32> {
    noise(count as usize)
        .iter()
        .map(|x| ((x ^ salt) >> 27) as f32 - 16.0)
        .collect()
}

/// The values as 16-bit floats, two in a word.
fn pairs(values: &[f32]) -> Vec<u32> {
    values
        .chunks_exact(2)
        .map(|pair| half(pair[0]) | half(pair[1]) << 16)
        .collect()
}

/// The bits of a 16-bit float, for integers of at most eleven bits.
fn half(value: f32) -> u32 {
    let bits = value.to_bits();
    if value == 0.0 {
        return 0;
    }
    let exponent = (bits >> 23 & 0xff) + 15 - 127;
    bits >> 16 & 0x8000 | exponent << 10 | bits >> 13 & 0x3ff
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}
