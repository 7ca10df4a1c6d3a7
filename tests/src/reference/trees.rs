//! Kernels that combine all values of a workgroup, or of all: reduction, prefix sum, softmax,
//! message passing.

use super::case::{Buffer, Case, Element, input, output};
use super::noise::{lcg, noise};

/// Workgroups of every launch here.
const GROUPS: usize = 2;

/// Rounds of a tree over 128 values.
const ROUNDS: usize = 7;

/// The sum of each workgroup's 128 values.
fn sums(src: &[u32]) -> Vec<u32> {
    src.chunks(128).map(sum).collect()
}

fn sum(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum, x| sum.wrapping_add(*x))
}

pub(super) fn message_passing() -> Case {
    let src = noise(GROUPS * 128);
    let (sums, total) = (sums(&src), sum(&src));
    let done = Buffer {
        before: vec![0],
        ..output(2, "done", vec![GROUPS as u32])
    };
    case(
        128,
        vec![
            input(0, "src", src),
            output(1, "sum", sums),
            done,
            output(3, "total", vec![total]),
        ],
    )
}

pub(super) fn reduction() -> Case {
    let src = noise(GROUPS * 128);
    let total = sums(&src);
    let mixed = mixed(&src);
    case(
        128,
        vec![
            input(0, "src", src),
            output(1, "total", total),
            output(2, "mixed", mixed),
        ],
    )
}

pub(super) fn scan() -> Case {
    let src = noise(GROUPS * 128);
    let dst = src
        .chunks(128)
        .flat_map(|group| {
            group.iter().scan(0u32, |sum, x| {
                *sum = sum.wrapping_add(*x);
                Some(*sum)
            })
        })
        .collect();
    let mixed = mixed(&src);
    case(
        128,
        vec![
            input(0, "src", src),
            output(1, "dst", dst),
            output(2, "mixed", mixed),
        ],
    )
}

pub(super) fn softmax() -> Case {
    // Between -8 and 8, in steps of 1/16: exact floats, and exponentials of very different sizes.
    let src: Vec<f32> = noise(GROUPS * 64)
        .iter()
        .map(|x| (x >> 24) as f32 / 16.0 - 8.0)
        .collect();
    let dst: Vec<u32> = src
        .chunks(64)
        .flat_map(|row| {
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = row.iter().map(|x| f64::from(x - top).exp()).sum();
            row.iter()
                .map(|x| ((f64::from(x - top).exp() / sum) as f32).to_bits())
                .collect::<Vec<_>>()
        })
        .collect();
    let mut buffers = vec![
        input(0, "src", src.iter().map(|x| x.to_bits()).collect()),
        output(1, "dst", dst),
    ];
    for buffer in &mut buffers {
        // Vulkan allows exp an error of 3 + 2 |x| units in the last place and division 2.5; |x| is
        // at most 16.
        buffer.element = Element::F32 { tolerance: 1e-5 };
    }
    case(64, buffers)
}

fn case(size: u32, buffers: Vec<super::Buffer>) -> Case {
    Case {
        groups: [GROUPS as u32, 1, 1],
        workgroup_size: [size, 1, 1],
        push_constants: Vec::new(),
        buffers,
    }
}

fn mixed(src: &[u32]) -> Vec<u32> {
    src.iter()
        .map(|x| (0..ROUNDS).fold(*x, |mix, _| lcg(mix)))
        .collect()
}
