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

use crate::types::{Kind, Scalar, Types};
use spirv::Dim;
use splitbar_passes::module::{FloatFormat, Id, Inst};
use splitbar_target::{Arch, Target};

/// How an image is addressed.
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
    /// What a texel's components are read as; `None`: what the instruction says, as in OpenCL,
    /// whose image types do not.
    pub component: Option<Scalar>,
    /// How it is addressed.
    pub shape: Shape,
    /// The format, if the module says it.
    pub format: Option<spirv::ImageFormat>,
    /// Whether it is a storage image (or storage texel buffer), not one that is sampled or fetched
    /// from.
    pub storage: bool,
}

impl Image {
    /// Decodes OpTypeImage: sampled type, Dim, depth, arrayed, multisampled, sampled, format,
    /// access. `None`: it is not lowered.
    pub fn of(inst: Inst<'_>, types: &Types) -> Option<Image> {
        let [
            sampled_type,
            dim,
            _,
            arrayed,
            samples,
            sampled,
            format,
            ref access @ ..,
        ] = *inst.operands()
        else {
            return None;
        };
        let component = match types.get(Id(sampled_type))?.kind {
            Kind::Void => None,
            Kind::Plain(shape) if shape.lanes == 1 => Some(texel_scalar(shape.scalar)?),
            _ => return None,
        };
        let shape = match (Dim::from_u32(dim)?, arrayed, samples) {
            (Dim::Dim1D, 0, 0) => Shape::D1,
            (Dim::Dim2D | Dim::DimRect, 0, 0) => Shape::D2,
            (Dim::Dim3D, 0, 0) => Shape::D3,
            (Dim::DimCube, 0, 0) => Shape::Cube,
            (Dim::DimCube, 1, 0) => Shape::CubeArray,
            (Dim::Dim1D, 1, 0) => Shape::D1Array,
            (Dim::Dim2D, 1, 0) => Shape::D2Array,
            (Dim::Dim2D, 0, 1) => Shape::D2Samples,
            (Dim::Dim2D, 1, 1) => Shape::D2ArraySamples,
            (Dim::DimBuffer, 0, 0) => Shape::Buffer,
            _ => return None,
        };
        let format = spirv::ImageFormat::from_u32(format)?;
        // OpenCL says by the access qualifier whether an image can be written.
        let read_only = access.first() == Some(&(spirv::AccessQualifier::ReadOnly as u32));
        Some(Image {
            component,
            shape,
            format: (format != spirv::ImageFormat::Unknown).then_some(format),
            storage: sampled == 2 || sampled == 0 && !read_only && !access.is_empty(),
        })
    }

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

/// The image that the OpTypeSampledImage `inst` combines with a sampler.
pub fn sampled(inst: Inst<'_>, types: &Types) -> Option<Image> {
    match types.get(inst.id(0).ok()?)?.kind {
        Kind::Image(image) => Some(image),
        _ => None,
    }
}

/// What a component is while it is on its way to or from an image: texels of half floats are those
/// of floats, converted (OpenCL C, `read_imageh`).
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
