//! Host references: for every kernel one launch with fixed inputs, and what its buffers hold
//! afterwards.
//!
//! Plain Rust without barriers: each function states the result as a formula over the inputs, not
//! as the kernel computes it.

mod copies;
mod exchanges;
pub mod products;
mod tiles;
mod trees;

pub use copies::async_bounds;
pub use exchanges::{volume, votes};

use serde::{Deserialize, Serialize};

/// One launch of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// Invocations of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// The words of the push-constant block.
    pub push_constants: Vec<u32>,
    /// The buffers, in the order of the kernel's arguments.
    pub buffers: Vec<Buffer>,
}

/// A buffer of a launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer {
    /// How the kernel names it.
    pub place: BufferName,
    /// Its name in the source.
    pub name: String,
    /// What its words are.
    pub element: Element,
    /// The words before the launch.
    pub before: Vec<u32>,
    /// The words after the launch; `None` for a buffer that is only read.
    pub after: Option<Vec<u32>>,
}

/// How a kernel names a buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BufferName {
    /// Descriptor set and binding.
    Binding(u32, u32),
    /// A parameter of the kernel.
    Argument(u32),
}

/// What a word of a buffer is.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Element {
    /// An unsigned number; results are compared exactly.
    U32,
    /// The bits of a float; results may differ by this share of the expected value.
    F32 {
        /// The greatest relative error.
        tolerance: f32,
    },
}

/// The launch of the kernel of this name; `None` if there is no such kernel.
pub fn case(kernel: &str) -> Option<Case> {
    Some(match kernel {
        "async_bounds" => async_bounds(64),
        "async_double_buffer" => products::async_double_buffer()?,
        "async_fill" => copies::async_fill(),
        "async_overlap" => products::async_overlap()?,
        "async_pipeline" => products::async_pipeline()?,
        "async_uneven" => products::async_uneven()?,
        "arrive_barrier_wait" => exchanges::arrive_barrier_wait(),
        "buffer_exchange" => exchanges::buffer_exchange(),
        "cooperative_matmul" => products::cooperative_matmul()?,
        "cooperative_tensors" => products::cooperative_tensors()?,
        "dangling_arrive" => exchanges::dangling_arrive(),
        "histogram" => tiles::histogram(),
        "message_passing" => trees::message_passing(),
        "odd_workgroup" => exchanges::odd_workgroup(),
        "one_wave" => exchanges::one_wave(),
        "opencl_async_bulk" => copies::opencl_async_pipeline(),
        "opencl_async_calls" => copies::opencl_async_calls(),
        "opencl_async_copy" => copies::opencl_async_copy(),
        "opencl_async_pipeline" => copies::opencl_async_pipeline(),
        "opencl_exchange" => exchanges::opencl_exchange(),
        "plain_matmul" => products::plain_matmul()?,
        "reduction" => trees::reduction(),
        "relaxed_pair" => exchanges::relaxed_pair(),
        "rotating_buffers" => exchanges::rotating_buffers(),
        "scan" => trees::scan(),
        "softmax" => trees::softmax(),
        "spec_size" => exchanges::spec_size(),
        "split_functions" => exchanges::split_functions(),
        "stencil_halo" => tiles::stencil_halo(),
        "subgroup_and_workgroup" => exchanges::subgroup_and_workgroup(),
        "tiled_matmul" => products::tiled_matmul()?,
        "tiled_matmul_double_buffered" => products::tiled_matmul_double_buffered()?,
        "transpose" => tiles::transpose(),
        "uniform_ifs" => exchanges::uniform_ifs(),
        "volume" => volume([2, 1, 2], [5, 7, 3]),
        _ => return None,
    })
}

impl Case {
    /// Compares what a launch left in the buffers (one slice per buffer, in their order) with what
    /// is expected.
    ///
    /// # Errors
    /// The first word that differs, with buffer, index, expected and found value.
    pub fn compare(&self, found: &[&[u32]]) -> Result<(), String> {
        if found.len() != self.buffers.len() {
            return Err(format!(
                "{} buffers instead of {}",
                found.len(),
                self.buffers.len()
            ));
        }
        for (buffer, found) in self.buffers.iter().zip(found) {
            let expected = buffer.after.as_ref().unwrap_or(&buffer.before);
            if expected.len() != found.len() {
                return Err(format!(
                    "{}: {} words instead of {}",
                    buffer.name,
                    found.len(),
                    expected.len()
                ));
            }
            for (index, (&want, &got)) in expected.iter().zip(*found).enumerate() {
                if !buffer.element.accepts(want, got) {
                    return Err(format!(
                        "{}[{index}]: {} expected, {} found",
                        buffer.name,
                        buffer.element.show(want),
                        buffer.element.show(got)
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Element {
    fn accepts(self, want: u32, got: u32) -> bool {
        match self {
            Element::U32 => want == got,
            Element::F32 { tolerance } => {
                let (want, got) = (f32::from_bits(want), f32::from_bits(got));
                // Written so that a NaN is never accepted.
                (got - want).abs() <= tolerance * want.abs()
            }
        }
    }

    fn show(self, word: u32) -> String {
        match self {
            Element::U32 => format!("{word:#010x}"),
            Element::F32 { .. } => format!("{:?}", f32::from_bits(word)),
        }
    }
}

/// A buffer that is only read.
fn input(binding: u32, name: &'static str, before: Vec<u32>) -> Buffer {
    Buffer {
        place: BufferName::Binding(0, binding),
        name: name.to_owned(),
        element: Element::U32,
        before,
        after: None,
    }
}

/// A buffer that is written in full; before the launch it holds a pattern that no result has.
fn output(binding: u32, name: &'static str, after: Vec<u32>) -> Buffer {
    Buffer {
        place: BufferName::Binding(0, binding),
        name: name.to_owned(),
        element: Element::U32,
        before: vec![0xdead_beef; after.len()],
        after: Some(after),
    }
}

/// `count` words that look random and are the same in every run (a multiplicative hash of the
/// index).
fn noise(count: usize) -> Vec<u32> {
    (0u32..)
        .take(count)
        .map(|i| {
            let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9);
            (x ^ (x >> 15)).wrapping_mul(0x85eb_ca6b)
        })
        .collect()
}

/// The generator's step that some kernels take in their windows.
fn lcg(x: u32) -> u32 {
    x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn comparison_notices_one_wrong_word() {
        let case = case("reduction").unwrap();
        let mut words: Vec<Vec<u32>> = case
            .buffers
            .iter()
            .map(|b| b.after.clone().unwrap_or_else(|| b.before.clone()))
            .collect();
        let compare =
            |words: &[Vec<u32>]| case.compare(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(compare(&words), Ok(()));
        words[1][1] ^= 1;
        assert!(compare(&words).unwrap_err().starts_with("total[1]: "));
        words[1][1] ^= 1;
        words[0][3] ^= 1;
        assert!(
            compare(&words).unwrap_err().starts_with("src[3]: "),
            "an input that was written"
        );
    }

    #[test]
    fn floats_have_a_tolerance_and_nan_has_none() {
        let near = Element::F32 { tolerance: 1e-3 };
        assert!(near.accepts(1.0f32.to_bits(), 1.0005f32.to_bits()));
        assert!(!near.accepts(1.0f32.to_bits(), 1.01f32.to_bits()));
        assert!(!near.accepts(1.0f32.to_bits(), f32::NAN.to_bits()));
    }

    #[test]
    fn results_differ_from_what_stood_there_before() {
        // Otherwise a kernel that writes nothing would pass.
        for name in ["tiled_matmul", "softmax", "scan", "histogram"] {
            for buffer in case(name).unwrap().buffers {
                if let Some(after) = buffer.after {
                    assert_ne!(after, buffer.before, "{name} {}", buffer.name);
                }
            }
        }
    }
}
