//! Samples and gathers on AMDGPU: `llvm.amdgcn.image.sample.*` and `llvm.amdgcn.image.gather4.*`
//! with image and sampler in scalar registers. Source: IntrinsicsAMDGPU.td, whose names these are:
//! `.c` compares, `.d` takes gradients, `.l` a level of detail, `.lz` level 0, `.cl` the least
//! level, `.o` an offset. Operands stand in this order: offset, reference, gradients, coordinates,
//! level.

use super::super::function::FunctionEmitter;
use super::super::{Result, derivative};
use super::Shape;
use super::amdgpu::{require_sampling, resource};
use super::cube::OnFace;
use super::sampling::{Gradients, Level, Sampled, Sampling, coordinates};
use crate::ffi::{self, Value};
use spirv::ExecutionMode;
use splitbar_passes::module::Inst;

/// All four components.
const ALL: u32 = 15;

/// What LLVM calls images of this shape, which has a filter.
fn dimension(e: &FunctionEmitter<'_, '_, '_>, shape: Shape) -> Result<&'static str> {
    Ok(match shape {
        Shape::D1 => "1d",
        Shape::D2 => "2d",
        Shape::D3 => "3d",
        Shape::Cube | Shape::CubeArray => "cube",
        Shape::D1Array => "1darray",
        Shape::D2Array => "2darray",
        Shape::D2Samples | Shape::D2ArraySamples | Shape::Buffer => {
            return Err(e.b.internal("a sample of an image without a filter"));
        }
    })
}

/// Coordinates and level as the instruction wants them: of cubes, places on a face.
fn placed<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    sampling: &Sampling<'c>,
) -> Result<(Vec<Value<'c>>, Level<'c>)> {
    let (at, level) = (&sampling.coordinates, &sampling.level);
    if !matches!(sampling.shape(), Shape::Cube | Shape::CubeArray) {
        return Ok((at.clone(), level.clone()));
    }
    let [x, y, z, ref layer @ ..] = at[..] else {
        return Err(e.b.internal("a direction without three components"));
    };
    let face = OnFace::new(e.b, [x, y, z])?;
    let level = match level {
        Level::Gradients(gradients) => Level::Gradients(face.gradients(e.b, gradients)?),
        other => other.clone(),
    };
    Ok((face.coordinates(e.b, layer.first().copied())?, level))
}

/// Samples an image, or gathers from it: four components, of a comparison the first.
pub(super) fn sample<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    sampling: &Sampling<'c>,
) -> Result<Value<'c>> {
    let shape = sampling.shape();
    require_sampling(e, inst, shape)?;
    let b = e.b;
    let (float, zero) = (b.float_type(32), b.i32(0));
    let gathers = sampling.gathered.is_some();
    if gathers && !matches!(dimension(e, shape)?, "2d" | "2darray" | "cube") {
        return Err(e.mismatch(inst, "a gather from this image"));
    }
    let (place, level) = placed(e, sampling)?;
    let (kind, least) = match &level {
        Level::Of(_) => (".l", None),
        Level::Zero => (".lz", None),
        Level::Gradients(Gradients { least, .. }) => (".d", *least),
    };
    if gathers && kind == ".d" {
        return Err(e.mismatch(inst, "a gather with gradients"));
    }
    let name = format!(
        "llvm.amdgcn.image.{}{}{kind}{}{}.{}",
        if gathers { "gather4" } else { "sample" },
        if sampling.reference.is_some() {
            ".c"
        } else {
            ""
        },
        if least.is_some() { ".cl" } else { "" },
        if sampling.offset.is_some() { ".o" } else { "" },
        dimension(e, shape)?,
    );
    let is_compared = sampling.reference.is_some() && !gathers;
    // Of what is gathered the mask says the component; a comparison has one.
    let mask = match sampling.gathered {
        Some(component) => 1 << component,
        None if is_compared => 1,
        None => ALL,
    };
    let mut arguments = vec![b.i32(mask)];
    if let Some(offset) = &sampling.offset {
        arguments.push(packed_offset(e, offset)?);
    }
    arguments.extend(sampling.reference);
    if let Level::Gradients(Gradients { x, y, .. }) = &level {
        arguments.extend(x.iter().chain(y));
    }
    arguments.extend(place);
    match level {
        Level::Of(level) => arguments.push(level),
        Level::Zero => {}
        Level::Gradients(_) => arguments.extend(least),
    }
    let (resource, sampler) = resources(e, shape, sampling.sampled)?;
    arguments.extend([resource, sampler, b.bool(false), zero, zero]);
    let ty = if is_compared { float } else { float.vector(4) };
    let mut types = vec![ty, float, resource.ty(), sampler.ty()];
    if kind == ".d" {
        types.insert(1, float); // of the gradients
    }
    let texel = b.intrinsic(&name, &types, &arguments)?;
    if is_compared {
        b.vector(&[texel])
    } else {
        b.bitcast(texel, sampling.component_type(e).vector(4))
    }
}

/// The level of detail that a sample at these coordinates takes, and the one before it is clamped:
/// of quads of four lanes that follow each other, which the hardware takes the differences of.
pub(super) fn level<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    sampled: Sampled<'c>,
    at: &[Value<'c>],
) -> Result<Value<'c>> {
    let b = e.b;
    // The level of an array is that of a layer.
    let shape = match sampled.image.shape {
        Shape::D1Array => Shape::D1,
        Shape::D2Array => Shape::D2,
        Shape::CubeArray => Shape::Cube,
        shape => shape,
    };
    require_sampling(e, inst, shape)?;
    if !derivative::has_group(e, ExecutionMode::DerivativeGroupLinearKHR) {
        let problem =
            e.unsupported_on_target(inst, "an instruction for OpImageQueryLod in square quads");
        return Err(Box::new(
            problem
                .because("in the hardware, four consecutive lanes are a quad")
                .help("use the execution mode DerivativeGroupLinearKHR"),
        ));
    }
    let place = match (shape, at) {
        (Shape::Cube, &[x, y, z]) => OnFace::new(b, [x, y, z])?.coordinates(b, None)?,
        _ => at.to_vec(),
    };
    debug_assert_eq!(place.len(), coordinates(shape) as usize);
    let (resource, sampler) = resources(e, shape, sampled)?;
    let (pair, zero) = (b.float_type(32).vector(2), b.i32(0));
    let mut arguments = vec![b.i32(3)];
    arguments.extend(place);
    arguments.extend([resource, sampler, b.bool(false), zero, zero]);
    let types = [pair, b.float_type(32), resource.ty(), sampler.ty()];
    let name = format!("llvm.amdgcn.image.getlod.{}", dimension(e, shape)?);
    b.intrinsic(&name, &types, &arguments)
}

/// The image resource, eight words, and the sampler resource, four; those of a combined descriptor
/// follow each other.
fn resources<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    shape: Shape,
    sampled: Sampled<'c>,
) -> Result<(Value<'c>, Value<'c>)> {
    let place = match sampled.sampler {
        Some(place) => place,
        None => e.b.offset(sampled.descriptor, e.b.i64(32), true)?,
    };
    let sampler = e.b.load(e.b.int_type(32).vector(4), place, 16)?;
    let context = e.b.context();
    sampler.set_metadata(context, "invariant.load", ffi::meta_node(context, &[]));
    Ok((resource(e, shape, sampled.descriptor)?, sampler))
}

/// Offsets of texels in one word: six bits with a sign in each byte, x the lowest.
fn packed_offset<'c>(e: &FunctionEmitter<'_, 'c, '_>, offset: &[Value<'c>]) -> Result<Value<'c>> {
    let b = e.b;
    let mut packed = b.i32(0);
    for (shift, one) in [0, 8, 16].into_iter().zip(offset) {
        let bits = b.and(*one, b.i32(0x3f))?;
        packed = b.or(packed, b.shl(bits, b.i32(shift))?)?;
    }
    Ok(packed)
}
