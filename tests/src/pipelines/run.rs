//! Executes a program on the host.

use super::{Fill, Program};

/// The results that `program` leaves for `inputs`.
pub fn run(program: &Program, inputs: &[u32]) -> Vec<u32> {
    let count = program.invocations as usize;
    let mut results = vec![0; program.results()];
    let mut sums = vec![0_u32; count];
    for _ in 0..if program.is_nested { 2 } else { 1 } {
        for i in 0..program.trips {
            let arrays: Vec<Vec<u32>> = (0..program.arrays.len())
                .map(|array| filled(program, inputs, array, i, &sums))
                .collect();
            for (lane, sum) in sums.iter_mut().enumerate() {
                for read in &program.reads {
                    for step in 0..read.often {
                        let elements = &arrays[read.array];
                        let at = lane * read.times as usize + (read.plus + step) as usize;
                        let value = elements[at % elements.len()];
                        *sum = sum.wrapping_mul(3).wrapping_add(value);
                    }
                }
            }
            if program.exchanges {
                let before = sums.clone();
                for (lane, sum) in sums.iter_mut().enumerate() {
                    *sum ^= before[lane ^ 5];
                }
            }
            if program.writes {
                let row = (i as usize + 1) * count;
                results[row..row + count].copy_from_slice(&sums);
            }
            if program.stops && arrays[0][0] & 3 == 0 {
                break;
            }
        }
    }
    results[..count].copy_from_slice(&sums);
    results
}

/// The values that the stage of iteration `i` stores in an array.
fn filled(program: &Program, inputs: &[u32], array: usize, i: u32, sums: &[u32]) -> Vec<u32> {
    let scale = program.arrays[array].scale;
    let element = |at: u32| {
        let source = program.source(array, i, at);
        let is_loaded = match program.arrays[array].fill {
            Fill::Guarded { bound } => source < bound,
            Fill::Straight | Fill::Loop | Fill::Strided => true,
        };
        if is_loaded {
            let carried = if program.carries {
                sums[(at % program.invocations) as usize]
            } else {
                0
            };
            let loaded = inputs[2 + source as usize].wrapping_add(scale * i);
            loaded.wrapping_add(carried)
        } else {
            77
        }
    };
    (0..program.length(array)).map(element).collect()
}
