//! Host references: for every kernel one launch with fixed inputs, and the contents of its buffers
//! afterwards.
//!
//! Plain Rust without barriers: each function states the result as a formula over the inputs, not
//! as the kernel computes it.

mod case;
mod copies;
mod exchanges;
mod noise;
pub mod products;
mod tiles;
mod trees;

pub use case::{Buffer, BufferName, Case, Element};
pub use copies::async_bounds;
pub use exchanges::{volume, votes};

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
