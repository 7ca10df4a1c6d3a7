//! Images on AMDGPU: `llvm.amdgcn.image.*` with the image resource in scalar registers, and
//! formatted buffer accesses for texel buffers. Formats are in the descriptors. Source: LLVM
//! AMDGPUUsage, "LLVM IR Intrinsics"; IntrinsicsAMDGPU.td.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::types::{self, Scalar};
use super::access::Access;
use super::{Image, Shape};
use crate::ffi::{self, Opcode, Value};
use spirv::Op;
use splitbar_passes::diagnostic::Diagnostic;
use splitbar_passes::module::Inst;
use splitbar_plan::target::Arch;

/// All four components.
const ALL: u32 = 15;

/// The intrinsics for images of one shape.
struct Names {
    load: &'static str,
    /// With a mip level; `None` for shapes that have none.
    load_level: Option<&'static str>,
    store: &'static str,
    size: &'static str,
}

macro_rules! names {
    ($suffix:literal) => {
        Names {
            load: concat!("llvm.amdgcn.image.load.", $suffix),
            load_level: Some(concat!("llvm.amdgcn.image.load.mip.", $suffix)),
            store: concat!("llvm.amdgcn.image.store.", $suffix),
            size: concat!("llvm.amdgcn.image.getresinfo.", $suffix),
        }
    };
    ($suffix:literal, samples) => {
        Names {
            load_level: None,
            ..names!($suffix)
        }
    };
}

/// `None`: a texel buffer.
fn names(shape: Shape) -> Option<Names> {
    Some(match shape {
        Shape::D1 => names!("1d"),
        Shape::D2 => names!("2d"),
        Shape::D3 => names!("3d"),
        Shape::Cube | Shape::CubeArray => names!("cube"),
        Shape::D1Array => names!("1darray"),
        Shape::D2Array => names!("2darray"),
        Shape::D2Samples => names!("2dmsaa", samples),
        Shape::D2ArraySamples => names!("2darraymsaa", samples),
        Shape::Buffer => return None,
    })
}

/// Refuses an access that the GPU has no instruction for.
pub(super) fn require(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, shape: Shape) -> Result<()> {
    let there = match &e.module.target.arch {
        Arch::Amdgpu(gpu) if shape == Shape::Buffer => gpu.texel_buffers,
        Arch::Amdgpu(gpu) => gpu.images,
        Arch::Nvptx(_) => true,
    };
    if there {
        return Ok(());
    }
    let problem = e.unsupported_on_target(inst, format!("an instruction for {}", inst.name()));
    Err(Box::new(match shape {
        Shape::Buffer => problem
            .because("the hardware has no formatted buffer accesses")
            .help("keep the texels in a storage buffer"),
        _ => problem
            .because("the hardware has no image instructions")
            .help("keep the texels in a storage buffer, and compute their addresses"),
    }))
}

/// Refuses what samples, and the GPU has no instruction for.
pub(super) fn require_sampling(
    e: &FunctionEmitter<'_, '_, '_>,
    inst: Inst<'_>,
    shape: Shape,
) -> Result<()> {
    require(e, inst, shape)?;
    match &e.module.target.arch {
        Arch::Amdgpu(gpu) if gpu.sampler_max_lod.bits == 0 => {
            let what = format!("an instruction for {}", inst.name());
            let problem = e.unsupported_on_target(inst, what);
            Err(Box::new(
                problem
                    .because("the hardware samples only with implicit levels of detail")
                    .help("fetch texels (OpImageFetch), and filter them in the shader"),
            ))
        }
        _ => Ok(()),
    }
}

/// The descriptor: eight words, or four of a texel buffer.
pub(super) fn resource<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    shape: Shape,
    descriptor: Value<'c>,
) -> Result<Value<'c>> {
    let (words, align) = match shape {
        Shape::Buffer => (4, 16),
        _ => (8, 16),
    };
    let resource =
        e.b.load(e.b.int_type(32).vector(words), descriptor, align)?;
    let context = e.b.context();
    resource.set_metadata(context, "invariant.load", ffi::meta_node(context, &[]));
    Ok(resource)
}

pub(super) fn address<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    access: &Access<'c>,
) -> Result<Vec<Value<'c>>> {
    let mut address = access.coordinates.clone();
    match access.image.shape {
        Shape::D2Samples | Shape::D2ArraySamples => address.push(
            access
                .sample
                .ok_or_else(|| e.mismatch(inst, "a multisampled image without a sample"))?,
        ),
        _ => {}
    }
    Ok(address)
}

/// Reads a texel.
pub(super) fn read<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    access: &Access<'c>,
    component: Scalar,
) -> Result<Value<'c>> {
    require(e, inst, access.image.shape)?;
    let b = e.b;
    let ty = types::scalar(b, component).vector(4);
    let (word, zero) = (b.int_type(32), b.i32(0));
    let resource = resource(e, access.image.shape, access.descriptor)?;
    let mut arguments = address(e, inst, access)?;
    let Some(names) = names(access.image.shape) else {
        arguments.splice(0..0, [resource]);
        arguments.extend([zero, zero, zero]);
        // The intrinsic knows floats only.
        let float = b.float_type(32).vector(4);
        let texel = b.intrinsic(
            "llvm.amdgcn.struct.buffer.load.format",
            &[float],
            &arguments,
        )?;
        return b.bitcast(texel, ty);
    };
    let name = match (access.level, names.load_level) {
        (None, _) => names.load,
        (Some(level), Some(name)) => {
            arguments.push(b.int_resize(level, word, true)?);
            name
        }
        (Some(_), None) => return Err(e.mismatch(inst, "a mip level of a multisampled image")),
    };
    arguments.insert(0, b.i32(ALL));
    arguments.extend([resource, zero, zero]);
    b.intrinsic(name, &[ty, word, resource.ty()], &arguments)
}

/// Writes a texel of four components.
pub(super) fn write<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    access: &Access<'c>,
    texel: Value<'c>,
) -> Result<()> {
    require(e, inst, access.image.shape)?;
    let b = e.b;
    let zero = b.i32(0);
    let resource = resource(e, access.image.shape, access.descriptor)?;
    let mut arguments = address(e, inst, access)?;
    if access.level.is_some() {
        return Err(e.unsupported(inst, "a write to a mip level other than 0"));
    }
    // The intrinsics store floats only; the bits are what counts.
    let texel = b.bitcast(texel, b.float_type(32).vector(4))?;
    let Some(names) = names(access.image.shape) else {
        arguments.splice(0..0, [texel, resource]);
        arguments.extend([zero, zero, zero]);
        let name = "llvm.amdgcn.struct.buffer.store.format";
        b.intrinsic(name, &[texel.ty()], &arguments)?;
        return Ok(());
    };
    arguments.splice(0..0, [texel, b.i32(ALL)]);
    arguments.extend([resource, zero, zero]);
    let types = [texel.ty(), b.int_type(32), resource.ty()];
    b.intrinsic(names.store, &types, &arguments)?;
    Ok(())
}

/// The size: a vector of at least as many components as the image has coordinates.
pub(super) fn size<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    image: Image,
    descriptor: Value<'c>,
    level: Option<Value<'c>>,
) -> Result<Value<'c>> {
    require(e, inst, image.shape)?;
    let b = e.b;
    let (word, zero) = (b.int_type(32), b.i32(0));
    let resource = resource(e, image.shape, descriptor)?;
    let Some(names) = names(image.shape) else {
        return b.lane(resource, 2);
    };
    let level = match level {
        Some(level) => b.int_resize(level, word, true)?,
        None => zero,
    };
    let size = extent(e, &names, resource, level)?;
    match image.shape {
        // Faces are counted in the third component.
        Shape::CubeArray => {
            let cubes = b.binary(Opcode::LLVMUDiv, b.lane(size, 2)?, b.i32(6))?;
            b.with_lane(size, cubes, b.i32(2))
        }
        // Layers are counted in the third component.
        Shape::D1Array => b.vector(&[b.lane(size, 0)?, b.lane(size, 2)?]),
        _ => Ok(size),
    }
}

/// Width, height, depth or layers, and the number of mip levels.
fn extent<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    names: &Names,
    resource: Value<'c>,
    level: Value<'c>,
) -> Result<Value<'c>> {
    let b = e.b;
    let (word, zero) = (b.int_type(32), b.i32(0));
    let float = b.float_type(32).vector(4);
    let size = b.intrinsic(
        names.size,
        &[float, word, resource.ty()],
        &[b.i32(ALL), level, resource, zero, zero],
    )?;
    b.bitcast(size, word.vector(4))
}

/// The number of mip levels; there is no instruction for the number of samples.
pub(super) fn count<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Op,
    inst: Inst<'_>,
    image: Image,
    descriptor: Value<'c>,
) -> Result<Value<'c>> {
    require(e, inst, image.shape)?;
    match names(image.shape) {
        Some(names) if op == Op::ImageQueryLevels => {
            let resource = resource(e, image.shape, descriptor)?;
            e.b.lane(extent(e, &names, resource, e.b.i32(0))?, 3)
        }
        _ => Err(e.unsupported_on_target(inst, format!("an instruction for {}", inst.name()))),
    }
}

/// Why neither the channels of an image nor their order can be asked for: several of OpenCL's
/// formats are one format and one swizzle (DST_SEL) of a resource. R and Rx are read as (r, 0, 0,
/// 1), RG and RGx as (r, g, 0, 1), RGB and RGBx as (r, g, b, 1) (OpenCL C 3.0, 6.15.15, "Mapping
/// Image Channels").
pub(super) fn no_channels(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Box<Diagnostic> {
    let what = format!(
        "the format of an image as OpenCL names it ({})",
        inst.name()
    );
    let problem = e.unsupported_on_target(inst, what);
    Box::new(
        problem
            .because("a descriptor has the format of the hardware, which is the same for several formats of OpenCL")
            .help("pass the format to the kernel as an argument"),
    )
}
