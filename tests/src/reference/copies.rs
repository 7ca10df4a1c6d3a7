//! Kernels that copy asynchronously between global and workgroup memory.

use super::case::{Buffer, BufferName, Case, input, output};
use super::noise::noise;

/// Workgroups of every launch here.
const GROUPS: usize = 3;

/// A launch in which each workgroup turns `words` words of `src` into a part of `dst`, by
/// `formula`.
fn launch(size: usize, words: usize, formula: impl Fn(&[u32]) -> Vec<u32>) -> Case {
    let src = noise(GROUPS * words);
    let dst = src.chunks(words).flat_map(formula).collect();
    Case {
        groups: [GROUPS as u32, 1, 1],
        workgroup_size: [size as u32, 1, 1],
        push_constants: Vec::new(),
        buffers: vec![
            Buffer {
                place: BufferName::Argument(0),
                ..input(0, "src", src)
            },
            Buffer {
                place: BufferName::Argument(1),
                ..output(1, "dst", dst)
            },
        ],
    }
}

/// Two workgroups of 128 that fold five tiles of 300 words each.
pub(super) fn async_fill() -> Case {
    const TILES: usize = 5;
    let src = noise(2 * TILES * 300);
    let fold = |tiles: &[u32], i: usize| {
        let turn = |r: u32, tile: &[u32]| {
            r.wrapping_mul(5)
                .wrapping_add(tile[i] ^ tile[299 - i].wrapping_mul(3))
        };
        tiles.chunks(300).fold(0, turn)
    };
    let groups = src.chunks(TILES * 300);
    let dst = groups.flat_map(|tiles| (0..128).map(move |i| fold(tiles, i)));
    let dst = dst.collect();
    Case {
        groups: [2, 1, 1],
        workgroup_size: [128, 1, 1],
        push_constants: vec![TILES as u32],
        buffers: vec![input(0, "src", src), output(1, "dst", dst)],
    }
}

/// A matrix that tiles of `lanes` columns and two rows do not divide.
pub fn async_bounds(lanes: usize) -> Case {
    const WIDTH: usize = 150;
    const ROWS: usize = 9;
    const WEIGHTS: usize = 120;
    const FACTOR: u32 = 5;
    let src = noise(WIDTH * ROWS);
    let weights: Vec<u32> = noise(4 * WEIGHTS).iter().map(|x| !x).collect();
    let cell = |row: usize, column: usize| {
        if column < WIDTH && row < ROWS {
            src[row * WIDTH + column]
        } else {
            0
        }
    };
    let weight = |place: usize| match weights.get(4 * place..4 * place + 4) {
        Some(&[x, y, z, w]) => x.wrapping_add(y.wrapping_mul(3)) ^ z.wrapping_add(w),
        _ => 0,
    };
    let fold = |column: usize| {
        let (first, lane) = (column / lanes * lanes, column % lanes);
        let mirrored = lanes - 1 - lane;
        (0..ROWS.div_ceil(2)).fold(0u32, |r, tile| {
            let even = cell(2 * tile, column) ^ cell(2 * tile, first + mirrored).wrapping_mul(3);
            let odd = cell(2 * tile + 1, first + mirrored).wrapping_mul(7);
            r.wrapping_mul(FACTOR)
                .wrapping_add(even)
                .wrapping_add(odd)
                .wrapping_add(weight(tile * lanes + first + mirrored))
        })
    };
    let dst = (0..WIDTH).map(fold).collect();
    Case {
        groups: [WIDTH.div_ceil(lanes) as u32, 1, 1],
        workgroup_size: [lanes as u32, 1, 1],
        push_constants: vec![WIDTH as u32, ROWS as u32, WEIGHTS as u32, FACTOR],
        buffers: vec![
            input(0, "src", src.clone()),
            input(1, "weights", weights.clone()),
            output(2, "dst", dst),
        ],
    }
}

pub(super) fn opencl_async_copy() -> Case {
    launch(64, 512, |x| {
        let half = |j: usize| x[j / 2] >> (j % 2 * 16) & 0xffff;
        let sum = |i: usize| {
            x[3 * i]
                .wrapping_add(x[3 * (127 - i)].wrapping_mul(3))
                .wrapping_add(x[64 + 4 * (i % 40) + 1])
                .wrapping_add(half(63 - i))
        };
        // Every second word stays what it was.
        (0..128)
            .map(|at| {
                if at % 2 == 0 {
                    sum(at / 2)
                } else {
                    0xdead_beef
                }
            })
            .collect()
    })
}

pub(super) fn opencl_async_pipeline() -> Case {
    launch(128, 2048, |x| {
        let turn = |r: u32, tile: &[u32], i: usize| {
            r.wrapping_mul(5)
                .wrapping_add(tile[i] ^ tile[255 - i].wrapping_mul(3))
        };
        (0..128)
            .map(|i| x.chunks(256).take(6).fold(0, |r, tile| turn(r, tile, i)))
            .collect()
    })
}

pub(super) fn opencl_async_calls() -> Case {
    launch(64, 384, |x| {
        (0..64)
            .map(|i| {
                x[i].wrapping_add(x[64 + 63 - i])
                    ^ x[128 + i].wrapping_add(x[319 - i])
                    ^ x[320 + 63 - i]
            })
            .collect()
    })
}
