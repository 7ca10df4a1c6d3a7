//! Images with samplers: texels by coordinates between 0 and 1, filtered as the sampler says, at a
//! level of detail that the instruction names, and the four texels that a linear filter takes
//! (SPIR-V 1.6, section 3.52.10).
//!
//! Image and sampler come in one descriptor, of an OpTypeSampledImage: on AMD GPUs the image
//! resource and behind it the sampler resource, on NVIDIA GPUs a texture object, which has the
//! state of its sampler in it. So the instructions of NVIDIA GPUs are those of the unified mode
//! (PTX ISA, "Texturing Modes"), and a sampler of its own, OpTypeSampler, is not lowered.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::types::{self, Kind, Scalar};
use super::{Image, Shape, amdgpu, nvptx};
use crate::ffi::Value;
use spirv::{ImageOperands, Op};
use splitbar_passes::module::{Id, Inst};
use splitbar_plan::target::Arch;

/// A sampling instruction.
pub(super) struct Sampling<'c> {
    pub(super) image: Image,
    /// The address of the descriptor.
    pub(super) descriptor: Value<'c>,
    /// `float` each; the layer is the last.
    pub(super) coordinates: Vec<Value<'c>>,
    /// The level of detail, `float`.
    pub(super) level: Value<'c>,
    /// Texels that are added to the coordinates, an integer for each direction.
    pub(super) offset: Option<Value<'c>>,
    /// What depths are compared with, `float`.
    pub(super) reference: Option<Value<'c>>,
    /// The component that is gathered; `None`: the texels are filtered.
    pub(super) gathered: Option<u32>,
    /// What the components are.
    pub(super) component: Scalar,
}

/// Reads the image operands from operand `first` on: level and offset.
fn operands<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    first: usize,
) -> Result<(Option<Value<'c>>, Option<Value<'c>>)> {
    let Some(bits) = inst.operands().get(first).copied() else {
        return Ok((None, None));
    };
    let mask = ImageOperands::from_bits_retain(bits);
    let known = ImageOperands::LOD
        | ImageOperands::CONST_OFFSET
        | ImageOperands::OFFSET
        | ImageOperands::NON_PRIVATE_TEXEL
        | ImageOperands::SIGN_EXTEND
        | ImageOperands::ZERO_EXTEND
        | ImageOperands::NONTEMPORAL;
    if !known.contains(mask) {
        return Err(e.unsupported(inst, "an image operand other than a level and an offset"));
    }
    let mut next = first;
    let mut id = |bit: ImageOperands| -> Result<Option<Id>> {
        if !mask.contains(bit) {
            return Ok(None);
        }
        next += 1;
        inst.id(next).map(Some).map_err(Box::new)
    };
    let level = id(ImageOperands::LOD)?;
    let constant = id(ImageOperands::CONST_OFFSET)?;
    let offset = id(ImageOperands::OFFSET)?.or(constant);
    let value = |id: Option<Id>| id.map(|id| e.value(id)).transpose();
    Ok((value(level)?, value(offset)?))
}

/// Decodes a sampling instruction.
fn sampling<'c>(e: &FunctionEmitter<'_, 'c, '_>, op: Op, inst: Inst<'_>) -> Result<Sampling<'c>> {
    let id = inst.id(0).map_err(Box::new)?;
    let Kind::SampledImage(image) = *e.kind(e.type_of(id)?)? else {
        return Err(e.mismatch(inst, format!("{id} is not an image with a sampler")));
    };
    let float = e.b.float_type(32);
    let place = e.operand(inst, 1)?;
    if place.ty().is_int() {
        return Err(e.unsupported(inst, "coordinates that are integers"));
    }
    if !place.ty().is_float() || place.ty().lanes() < image.shape.coordinates() {
        return Err(e.mismatch(inst, "coordinates that do not fit the image"));
    }
    let single = |value: Value<'c>| match value.ty().is_float() && !value.ty().is_vector() {
        true => e.b.float_resize(value, float),
        false => Err(e.mismatch(inst, "an operand that is not a floating-point number")),
    };
    let coordinates = (0..image.shape.coordinates())
        .map(|index| single(e.b.lane(place, index)?))
        .collect::<Result<_>>()?;
    let gathers = matches!(op, Op::ImageGather | Op::ImageDrefGather);
    let compares = matches!(op, Op::ImageSampleDrefExplicitLod | Op::ImageDrefGather);
    let third = gathers || compares;
    let reference = match compares {
        true => Some(single(e.operand(inst, 2)?)?),
        false => None,
    };
    let gathered = match op {
        Op::ImageDrefGather => Some(0),
        Op::ImageGather => {
            let component = e.constant_u32(inst.id(2).map_err(Box::new)?);
            let component = component.filter(|component| *component < 4);
            let wrong = || e.mismatch(inst, "a component that is not a constant from 0 to 3");
            Some(component.ok_or_else(wrong)?)
        }
        _ => None,
    };
    let (level, offset) = operands(e, inst, if third { 3 } else { 2 })?;
    if offset.is_some_and(|offset| !offset.ty().is_int()) {
        return Err(e.mismatch(inst, "an offset that is not of integers"));
    }
    let level = match level {
        Some(_) if gathers => return Err(e.unsupported(inst, "a level of detail")),
        Some(level) => single(level)?,
        None if gathers => float.zero(),
        None => return Err(e.unsupported(inst, "gradients")),
    };
    let component = match image.component {
        Some(component) => component,
        None => e.texel_component(inst, e.result_type(inst)?)?,
    };
    Ok(Sampling {
        image,
        descriptor: e.value(id)?,
        coordinates,
        level,
        offset,
        reference,
        gathered,
        component,
    })
}

/// Lowers a sampling instruction.
pub(super) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<()> {
    let sampling = sampling(e, op, inst)?;
    if matches!(
        sampling.image.shape,
        Shape::Buffer | Shape::D2Samples | Shape::D2ArraySamples
    ) {
        return Err(e.mismatch(inst, "an image that cannot be sampled"));
    }
    let texel = match &e.target.arch {
        Arch::Amdgpu(_) => amdgpu::sample(e, inst, &sampling)?,
        Arch::Nvptx(_) => nvptx::sample(e, inst, &sampling)?,
    };
    let ty = e.result_ty(inst)?;
    let value = match ty.is_vector() {
        true => e.components(texel, ty.lanes())?,
        false => e.b.lane(texel, 0)?,
    };
    let value = match ty.is_float() {
        true => e.b.float_resize(value, ty)?,
        false => value,
    };
    e.bind(inst, value)
}

/// The component type of what the vendors' instructions give.
pub(super) fn component_type<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    sampling: &Sampling<'c>,
) -> crate::ffi::Ty<'c> {
    types::scalar(e.b, sampling.component)
}
