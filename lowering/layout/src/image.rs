//! Images, with samplers and without, and what describes them.
//!
//! An image is the address of its descriptor. A kernel gets it as an argument: a pointer to the
//! descriptor of each (set, binding), or to the first one of an array of them, which follow each
//! other without gaps; other forms of the interface place them otherwise (docs/abi.md). What a
//! descriptor is, is up to the vendor:
//!
//! | | image | combined with a sampler | sampler | texel buffer |
//! |---|---|---|---|---|
//! | AMDGPU | image resource, 32 bytes | image resource, sampler resource, 48 bytes | sampler resource, 16 bytes | buffer resource, 16 bytes, its size in elements |
//! | NVPTX | surface object (storage) or texture object, 8 bytes | texture object, 8 bytes | not read | surface object of one dimension (storage) or texture object, 8 bytes |
//!
//! A texture object has the state of a sampler in it, so on NVIDIA GPUs an image has the sampler
//! that the kernel combines it with: [`crate::abi::Combination`].

mod decode;

pub use decode::sampled;

use crate::scalar::Scalar;
use splitbar_passes::module::FloatFormat;
use splitbar_target::{Arch, Target};

/// The dimensions of an image.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shape {
    /// One dimension.
    D1,
    /// Two (and rectangles).
    D2,
    /// Three.
    D3,
    /// Six faces.
    Cube,
    /// Layers of six faces; the third coordinate counts faces.
    CubeArray,
    /// Layers of one dimension.
    D1Array,
    /// Layers of two.
    D2Array,
    /// Samples.
    D2Samples,
    /// Layers of samples.
    D2ArraySamples,
    /// A texel buffer.
    Buffer,
}

impl Shape {
    /// Coordinates, the layer included and the sample not.
    pub fn coordinates(self) -> u32 {
        match self {
            Shape::D1 | Shape::Buffer => 1,
            Shape::D2 | Shape::D1Array | Shape::D2Samples => 2,
            Shape::D3 | Shape::Cube | Shape::CubeArray | Shape::D2Array | Shape::D2ArraySamples => {
                3
            }
        }
    }
}

/// An image type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// The type of a texel's components; `None` if the instruction determines it, as in OpenCL,
    /// whose image types do not.
    pub component: Option<Scalar>,
    /// Its dimensions.
    pub shape: Shape,
    /// The format, if the module has one.
    pub format: Option<spirv::ImageFormat>,
    /// True if it is a storage image (or storage texel buffer), not one that is sampled or fetched
    /// from.
    pub storage: bool,
}

impl Image {
    /// Bytes of a descriptor; `sampler`: of one with a sampler.
    pub fn descriptor_bytes(self, target: &Target, sampler: bool) -> u64 {
        match (&target.arch, self.shape, sampler) {
            (Arch::Nvptx(_), _, _) => 8,
            (Arch::Amdgpu(_), Shape::Buffer, _) => 16,
            (Arch::Amdgpu(_), _, false) => 32,
            (Arch::Amdgpu(_), _, true) => 48,
        }
    }
}

/// Bytes of the descriptor of a sampler, and from one to the next in an array.
pub fn sampler_bytes(target: &Target) -> u64 {
    match &target.arch {
        Arch::Amdgpu(_) => 16,
        Arch::Nvptx(_) => 8, // nobody reads them
    }
}

/// The type of a component during an access: half floats are converted from and to floats (OpenCL
/// C, `read_imageh`).
pub fn texel_scalar(scalar: Scalar) -> Option<Scalar> {
    match scalar {
        Scalar::Float {
            width: 16,
            format: FloatFormat::Ieee,
        } => Some(Scalar::Float {
            width: 32,
            format: FloatFormat::Ieee,
        }),
        Scalar::Int { .. } | Scalar::Float { .. } if scalar.bits() == 32 => Some(scalar),
        Scalar::Bool | Scalar::Int { .. } | Scalar::Float { .. } => None,
    }
}
