//! Matrix products. The elements are small whole numbers, so that every order of summation gives the same floats.

use super::{Case, Element, input, noise, output};

pub(super) fn tiled_matmul() -> Case {
    product(64, [128, 64, 24])
}

pub(super) fn tiled_matmul_double_buffered() -> Case {
    product(32, [64, 96, 32])
}

/// Halves go in pairs, the first in the low half of a word.
pub(super) fn cooperative_matmul() -> Case {
    let [m, n, k] = [32, 128, 48];
    let mut case = product(16, [m, n, k]);
    case.groups = [(n / 64) as u32, (m / 16) as u32, 1];
    case.workgroup_size = [128, 1, 1];
    for buffer in case.buffers.iter_mut().take(2) {
        let halves: Vec<u32> = buffer
            .before
            .iter()
            .map(|bits| half(f32::from_bits(*bits)))
            .collect();
        buffer.before = halves
            .chunks_exact(2)
            .map(|pair| pair[0] | pair[1] << 16)
            .collect();
        buffer.element = Element::U32;
    }
    case
}

/// The bits of a half, for whole numbers of at most eleven bits.
fn half(value: f32) -> u32 {
    let bits = value.to_bits();
    if value == 0.0 {
        return 0;
    }
    let exponent = (bits >> 23 & 0xff) + 15 - 127;
    bits >> 16 & 0x8000 | exponent << 10 | bits >> 13 & 0x3ff
}

/// `c = a b` with `a` of m rows and k columns, `b` of k rows and n columns; one workgroup makes `tile` rows and columns of `c`.
fn product(tile: usize, [m, n, k]: [usize; 3]) -> Case {
    let small = |count: usize, salt: u32| -> Vec<f32> {
        noise(count)
            .iter()
            .map(|x| ((x ^ salt) >> 27) as f32 - 16.0)
            .collect()
    };
    let a = small(m * k, 0);
    let b = small(k * n, 0x5555_5555);
    let c: Vec<f32> = (0..m * n)
        .map(|at| {
            let (i, j) = (at / n, at % n);
            (0..k).map(|x| a[i * k + x] * b[x * n + j]).sum()
        })
        .collect();
    let mut buffers = vec![
        input(0, "a", bits(&a)),
        input(1, "b", bits(&b)),
        output(2, "c", bits(&c)),
    ];
    for buffer in &mut buffers {
        buffer.element = Element::F32 { tolerance: 0.0 };
    }
    Case {
        groups: [(n / tile) as u32, (m / tile) as u32, 1],
        workgroup_size: [16, 16, 1],
        push_constants: vec![m as u32, n as u32, k as u32],
        buffers,
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}
