//! Kernels that move tiles: transposition, stencil, histogram.

use super::case::{Case, input, output};
use super::noise::noise;

pub(super) fn transpose() -> Case {
    const WIDTH: usize = 64;
    const HEIGHT: usize = 96;
    let src = noise(WIDTH * HEIGHT);
    let dst = (0..WIDTH * HEIGHT)
        .map(|at| src[at % HEIGHT * WIDTH + at / HEIGHT])
        .collect();
    Case {
        groups: [WIDTH as u32 / 32, HEIGHT as u32 / 32, 1],
        workgroup_size: [32, 8, 1],
        push_constants: vec![WIDTH as u32, HEIGHT as u32],
        buffers: vec![input(0, "src", src), output(1, "dst", dst)],
    }
}

pub(super) fn stencil_halo() -> Case {
    const WEIGHTS: [u32; 4] = [8, 4, 2, 1];
    let src = noise(2 * 2 * 128);
    let last = src.len() - 1;
    let dst = (0..src.len())
        .map(|at| {
            let mut sum = src[at].wrapping_mul(WEIGHTS[0]);
            for (reach, weight) in WEIGHTS.iter().enumerate().skip(1) {
                let left = src[at.saturating_sub(reach)];
                let right = src[(at + reach).min(last)];
                sum = sum.wrapping_add(left.wrapping_add(right).wrapping_mul(*weight));
            }
            sum
        })
        .collect();
    Case {
        groups: [2, 1, 1],
        workgroup_size: [128, 1, 1],
        push_constants: Vec::new(),
        buffers: vec![input(0, "src", src), output(1, "dst", dst)],
    }
}

pub(super) fn histogram() -> Case {
    const GROUPS: usize = 2;
    let src = noise(GROUPS * 1024);
    let mut bins = vec![0u32; 64];
    for value in &src {
        bins[*value as usize % 64] += 1;
    }
    let sums = (0..GROUPS * 256)
        .map(|i| {
            let first = i / 256 * 1024 + i % 256;
            (0..4).fold(0, |sum, part| sum ^ src[first + part * 256])
        })
        .collect();
    let mut counted = output(1, "bins", bins);
    counted.before = vec![0; 64];
    Case {
        groups: [GROUPS as u32, 1, 1],
        workgroup_size: [256, 1, 1],
        push_constants: Vec::new(),
        buffers: vec![input(0, "src", src), counted, output(2, "sums", sums)],
    }
}
