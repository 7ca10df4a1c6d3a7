//! Image types as the module declares them.

use super::{Image, Shape, texel_scalar};
use crate::types::{Kind, Types};
use spirv::Dim;
use splitbar_passes::module::{Id, Inst};

impl Image {
    /// Decodes OpTypeImage: sampled type, Dim, depth, arrayed, multisampled, sampled, format,
    /// access. `None`: it is not lowered.
    pub fn decode(inst: Inst<'_>, types: &Types) -> Option<Image> {
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
            Kind::ScalarOrVector(shape) if shape.lanes == 1 => Some(texel_scalar(shape.scalar)?),
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
}

/// The image that the OpTypeSampledImage `inst` combines with a sampler.
pub fn sampled(inst: Inst<'_>, types: &Types) -> Option<Image> {
    match types.get(inst.id(0).ok()?)?.kind {
        Kind::Image(image) => Some(image),
        _ => None,
    }
}
