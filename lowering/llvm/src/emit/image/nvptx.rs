//! Images without a sampler on NVPTX: fetches are `tex` with integer coordinates; storage images
//! are surfaces, read as bytes (`suld.b`, so the module must name the format) and written with the
//! surface's own format (`sust.p`). Source: PTX ISA, "Texture Instructions" and "Surface
//! Instructions".
//!
//! Outside of a surface loads give zeros and stores do nothing (`.zero`), as Vulkan asks of every
//! implementation for images ("Texel Replacement", "Texel Output Coordinate Validation"); OpenCL
//! leaves it open. LLVM's `sust.p` can only trap, so that stores are assembly.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::types::{self, Scalar};
use super::access::Access;
use super::format::{self, Format, Meaning};
use super::{Image, Shape};
use crate::ffi::{self, IntPredicate, Opcode, Ty, Value};
use spirv::Op;
use splitbar_passes::diagnostic::Diagnostic;
use splitbar_passes::module::Inst;

/// The intrinsics for images of one shape.
struct Names {
    fetch_float: &'static str,
    fetch_signed: &'static str,
    fetch_unsigned: &'static str,
    /// By components (1, 2, 4) and bits (8, 16, 32).
    load: [[&'static str; 3]; 3],
}

macro_rules! load {
    ($shape:literal, $type:literal) => {
        concat!("llvm.nvvm.suld.", $shape, ".", $type, ".zero")
    };
}

macro_rules! names {
    ($shape:literal) => {
        Names {
            fetch_float: concat!("llvm.nvvm.tex.unified.", $shape, ".v4f32.s32"),
            fetch_signed: concat!("llvm.nvvm.tex.unified.", $shape, ".v4s32.s32"),
            fetch_unsigned: concat!("llvm.nvvm.tex.unified.", $shape, ".v4u32.s32"),
            load: [
                [
                    load!($shape, "i8"),
                    load!($shape, "i16"),
                    load!($shape, "i32"),
                ],
                [
                    load!($shape, "v2i8"),
                    load!($shape, "v2i16"),
                    load!($shape, "v2i32"),
                ],
                [
                    load!($shape, "v4i8"),
                    load!($shape, "v4i16"),
                    load!($shape, "v4i32"),
                ],
            ],
        }
    };
}

fn names(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>, image: Image) -> Result<Names> {
    let storage = image.storage;
    Ok(match image.shape {
        Shape::D1 | Shape::Buffer => names!("1d"),
        Shape::D2 => names!("2d"),
        Shape::D3 => names!("3d"),
        Shape::D1Array => names!("1d.array"),
        Shape::D2Array => names!("2d.array"),
        // The faces of a surface are its layers.
        Shape::Cube | Shape::CubeArray if storage => names!("2d.array"),
        Shape::Cube | Shape::CubeArray | Shape::D2Samples | Shape::D2ArraySamples => {
            return Err(no_integers(e, inst));
        }
    })
}

fn no_integers(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Box<Diagnostic> {
    e.unsupported_on_target(
        inst,
        format!(
            "accesses of cubes and samples by integers ({})",
            inst.name()
        ),
    )
}

/// The texture or surface object, by a load of its own. LLVM knows no others: an undefined one must
/// not come into being either (docs/llvm.md).
pub(super) fn handle<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    descriptor: Value<'c>,
) -> Result<Value<'c>> {
    let descriptor = e.b.raw().freeze(descriptor);
    e.b.load(e.b.int_type(64), descriptor, 8)
}

/// Returns true if the last coordinate is a layer for PTX.
fn is_layered(shape: Shape) -> bool {
    matches!(
        shape,
        Shape::D1Array | Shape::D2Array | Shape::Cube | Shape::CubeArray
    )
}

/// Coordinates in PTX's order: the layer first.
fn coordinates<'c>(access: &Access<'c>) -> Vec<Value<'c>> {
    let mut coordinates = access.coordinates.clone();
    if is_layered(access.image.shape) {
        coordinates.rotate_right(1);
    }
    coordinates
}

/// Reads a texel.
pub(super) fn read<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    access: &Access<'c>,
    component: Scalar,
) -> Result<Value<'c>> {
    if let (Some(geometry), false) = (samples_geometry(access.image.shape), access.image.storage) {
        return fetch_sample(e, inst, geometry, component, access);
    }
    let names = names(e, inst, access.image)?;
    let mut arguments = vec![handle(e, access.descriptor)?];
    arguments.extend(coordinates(access));
    if let Some(level) = access.level {
        if access.image.storage {
            return Err(e.unsupported(inst, "a read from a mip level other than 0"));
        }
        return fetch_level(e, access.image.shape, component, arguments, level);
    }
    if !access.image.storage {
        let name = match component {
            Scalar::Int { signed: true, .. } => names.fetch_signed,
            Scalar::Int { signed: false, .. } => names.fetch_unsigned,
            Scalar::Float { .. } | Scalar::Bool => names.fetch_float,
        };
        let texel = e.b.intrinsic(name, &[], &arguments)?;
        return members(e, texel, 4);
    }
    let Some(format) = access.image.format.and_then(format::format) else {
        return Err(e.unsupported_on_target(
            inst,
            format!(
                "reads from storage images of packed or unknown format ({})",
                inst.name()
            ),
        ));
    };
    let bytes = format.components * format.bits / 8;
    // Behind the handle, and the layer.
    let x = 1 + usize::from(is_layered(access.image.shape));
    if let Some(x) = arguments.get_mut(x) {
        // A product that wraps would come back inside.
        let most = e.b.i32(i32::MAX as u32 / bytes);
        let is_far = e.b.icmp(IntPredicate::LLVMIntUGT, *x, most)?;
        let scaled = e.b.mul(*x, e.b.i32(bytes))?;
        *x = e.b.select(is_far, e.b.i32(1 << 31), scaled)?;
    }
    let row = format.components.trailing_zeros() as usize;
    let column = (format.bits / 8).trailing_zeros() as usize;
    let name = names.load.get(row).and_then(|row| row.get(column)).copied();
    let name = name.ok_or_else(|| e.b.internal("a format without a load"))?;
    let raw = e.b.intrinsic(name, &[], &arguments)?;
    let raw = if format.components == 1 {
        raw
    } else {
        members(e, raw, format.components)?
    };
    decoded(e, component, format, raw)
}

/// What PTX calls textures with several samples.
fn samples_geometry(shape: Shape) -> Option<&'static str> {
    match shape {
        Shape::D2Samples => Some("2dms"),
        Shape::D2ArraySamples => Some("a2dms"),
        _ => None, // another texture
    }
}

/// Fetches one of several samples, for which LLVM has no intrinsic. Coordinates stand behind the
/// number of the sample, and that behind the layer (PTX ISA, "tex").
fn fetch_sample<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    geometry: &str,
    component: Scalar,
    access: &Access<'c>,
) -> Result<Value<'c>> {
    if access.level.is_some() {
        return Err(e.mismatch(inst, "a mip level of a multisampled image"));
    }
    let missing = || e.mismatch(inst, "a multisampled image without a sample");
    let sample = access.sample.ok_or_else(missing)?;
    let mut arguments = vec![handle(e, access.descriptor)?];
    arguments.extend(access.coordinates.get(2));
    arguments.push(e.b.int_resize(sample, e.b.int_type(32), true)?);
    arguments.extend(access.coordinates.iter().take(2));
    assembled(e, &format!("tex.{geometry}"), component, arguments, None)
}

/// Fetches a texel from a mip level. LLVM has no intrinsic for that with integers as coordinates
/// (PTX ISA, "tex": the level is of their type then). `arguments`: the object and the coordinates
/// in PTX's order.
fn fetch_level<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    shape: Shape,
    component: Scalar,
    arguments: Vec<Value<'c>>,
    level: Value<'c>,
) -> Result<Value<'c>> {
    let Some(geometry) = geometry(shape) else {
        return Err(e.b.internal("a texture without levels"));
    };
    let level = e.b.int_resize(level, e.b.int_type(32), true)?;
    assembled(
        e,
        &format!("tex.level.{geometry}"),
        component,
        arguments,
        Some(level),
    )
}

/// The fetch `opcode` by integers as assembly.
fn assembled<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    opcode: &str,
    component: Scalar,
    mut arguments: Vec<Value<'c>>,
    level: Option<Value<'c>>,
) -> Result<Value<'c>> {
    let (ty, output) = match component {
        Scalar::Int { signed: true, .. } => ("s32", "=r"),
        Scalar::Int { signed: false, .. } => ("u32", "=r"),
        Scalar::Float { .. } | Scalar::Bool => ("f32", "=f"),
    };
    // Behind the four components and the object.
    let count = arguments.len() - 1;
    let place = listed(5, count);
    let behind = match level {
        Some(_) => format!(", ${}", 5 + count),
        None => String::new(),
    };
    arguments.extend(level);
    let text = format!("{opcode}.v4.{ty}.s32 {{$0, $1, $2, $3}}, [$4, {{{place}}}]{behind};");
    let constraints = [vec![output; 4], vec!["l"], vec!["r"; arguments.len() - 1]].concat();
    let texel = e.b.struct_type(&[types::scalar(e.b, component); 4]);
    let types: Vec<Ty<'c>> = arguments.iter().map(|argument| argument.ty()).collect();
    let callee = texel.function(&types);
    let assembly = ffi::inline_assembly(callee, &text, &constraints.join(","), false);
    members(e, e.b.raw().call(callee, assembly, &arguments), 4)
}

/// The members of a structure as a vector.
pub(super) fn members<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    structure: Value<'c>,
    count: u32,
) -> Result<Value<'c>> {
    let members = (0..count)
        .map(|index| e.b.member(structure, index))
        .collect::<Result<Vec<_>>>()?;
    e.b.vector(&members)
}

/// Four components from the bits of a texel; those that the format lacks are 0, 0, 1.
fn decoded<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    component: Scalar,
    format: Format,
    raw: Value<'c>,
) -> Result<Value<'c>> {
    let b = e.b;
    let to = types::scalar(b, component);
    let bits = b.int_type(format.bits);
    let largest = |bits: u32| f64::from(u32::MAX >> (32 - bits));
    let mut components = Vec::new();
    for index in 0..4 {
        if index >= format.components {
            let one = u32::from(index == 3);
            components.push(if to.is_float() {
                b.float(to, f64::from(one))?
            } else {
                b.int(to, u64::from(one))?
            });
            continue;
        }
        // LLVM passes 8-bit components in wider registers.
        let word = b.int_resize(b.lane(raw, index)?, bits, false)?;
        components.push(match format.meaning {
            Meaning::Float if format.bits == 32 => b.bitcast(word, to)?,
            Meaning::Float => b.float_resize(b.bitcast(word, b.float_type(format.bits))?, to)?,
            Meaning::Unorm => {
                let number = b.cast(Opcode::LLVMUIToFP, word, to)?;
                b.binary(Opcode::LLVMFDiv, number, b.float(to, largest(format.bits))?)?
            }
            Meaning::Snorm => {
                let number = b.cast(Opcode::LLVMSIToFP, word, to)?;
                let share = b.binary(
                    Opcode::LLVMFDiv,
                    number,
                    b.float(to, largest(format.bits - 1))?,
                )?;
                b.intrinsic("llvm.maxnum", &[to], &[share, b.float(to, -1.0)?])?
            }
            Meaning::Signed => b.int_resize(word, to, true)?,
            Meaning::Unsigned => b.int_resize(word, to, false)?,
        });
    }
    b.vector(&components)
}

/// What PTX calls the shape of a surface.
pub(super) fn geometry(shape: Shape) -> Option<&'static str> {
    Some(match shape {
        Shape::D1 | Shape::Buffer => "1d",
        Shape::D2 => "2d",
        Shape::D3 => "3d",
        Shape::D1Array => "a1d",
        // The faces of a surface are its layers.
        Shape::D2Array | Shape::Cube | Shape::CubeArray => "a2d",
        Shape::D2Samples | Shape::D2ArraySamples => return None,
    })
}

/// The coordinates in a list of operands, from number `first` on: a vector of three has four
/// elements, the last of which is ignored.
pub(super) fn listed(first: usize, count: usize) -> String {
    let mut names: Vec<String> = (first..first + count).map(|n| format!("${n}")).collect();
    if count == 3 {
        names.extend(names.last().cloned());
    }
    names.join(", ")
}

/// Writes a texel of four components, or nothing where the coordinates lie outside.
pub(super) fn write<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    access: &Access<'c>,
    texel: Value<'c>,
) -> Result<()> {
    let Some(geometry) = geometry(access.image.shape).filter(|_| access.image.storage) else {
        return Err(no_integers(e, inst));
    };
    if access.level.is_some() {
        return Err(e.unsupported(inst, "a write to a mip level other than 0"));
    }
    let mut arguments = vec![handle(e, access.descriptor)?];
    arguments.extend(coordinates(access));
    let count = arguments.len() - 1;
    let texel = e.b.bitcast(texel, e.b.int_type(32).vector(4))?;
    for index in 0..4 {
        arguments.push(e.b.lane(texel, index)?);
    }
    let data: Vec<String> = (1 + count..5 + count).map(|n| format!("${n}")).collect();
    let text = format!(
        "sust.p.{geometry}.v4.b32.zero [$0, {{{}}}], {{{}}};",
        listed(1, count),
        data.join(", ")
    );
    let constraints = [vec!["l"], vec!["r"; count + 4], vec!["~{memory}"]].concat();
    let types: Vec<Ty<'c>> = arguments.iter().map(|argument| argument.ty()).collect();
    let callee = ffi::void_type(e.b.context()).function(&types);
    let assembly = ffi::inline_assembly(callee, &text, &constraints.join(","), true);
    e.b.raw().call(callee, assembly, &arguments);
    Ok(())
}

/// The size: a vector of as many components as the image has coordinates.
pub(super) fn size<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    image: Image,
    descriptor: Value<'c>,
    level: Option<Value<'c>>,
) -> Result<Value<'c>> {
    let level = level.filter(|level| level.as_u64() != Some(0) && !image.storage);
    const SURFACE: [&str; 4] = [
        "llvm.nvvm.suq.width",
        "llvm.nvvm.suq.height",
        "llvm.nvvm.suq.depth",
        "llvm.nvvm.suq.array.size",
    ];
    const TEXTURE: [&str; 4] = [
        "llvm.nvvm.txq.width",
        "llvm.nvvm.txq.height",
        "llvm.nvvm.txq.depth",
        "llvm.nvvm.txq.array.size",
    ];
    let [width, height, depth, layers] = if image.storage { SURFACE } else { TEXTURE };
    let queries: &[&'static str] = match image.shape {
        Shape::D1 | Shape::Buffer => &[width],
        Shape::D2 | Shape::D2Samples | Shape::Cube => &[width, height],
        Shape::D3 => &[width, height, depth],
        Shape::D1Array => &[width, layers],
        Shape::D2Array | Shape::D2ArraySamples => &[width, height, layers],
        // PTX does not say whether it counts cubes or faces.
        Shape::CubeArray => {
            let what = format!("the size of an array of cubes ({})", inst.name());
            return Err(e.unsupported_on_target(inst, what));
        }
    };
    let handle = handle(e, descriptor)?;
    let sizes = queries
        .iter()
        .map(|name| match level {
            Some(level) if *name != layers => size_of_level(e, name, handle, level),
            _ => e.b.intrinsic(name, &[], &[handle]),
        })
        .collect::<Result<Vec<_>>>()?;
    e.b.vector(&sizes)
}

/// What `query` says of a mip level, for which LLVM has no intrinsic (PTX ISA, "txq").
fn size_of_level<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    query: &str,
    handle: Value<'c>,
    level: Value<'c>,
) -> Result<Value<'c>> {
    let word = e.b.int_type(32);
    let level = e.b.int_resize(level, word, true)?;
    let what = query.rsplit('.').next().unwrap_or(query);
    let text = format!("txq.level.{what}.b32 $0, [$1], $2;");
    let callee = word.function(&[handle.ty(), word]);
    let assembly = ffi::inline_assembly(callee, &text, "=r,l,r", false);
    Ok(e.b.raw().call(callee, assembly, &[handle, level]))
}

/// What the channels of an image are, or their order. PTX gives OpenCL's numbers (PTX ISA, 5.3.3
/// "Channel Data Type and Channel Order Fields"), which begin where clCreateImage has them;
/// SPIR-V's begin at 0 (3.12 "Image Channel Order", 3.13 "Image Channel Data Type").
pub(super) fn channels<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Op,
    image: Image,
    descriptor: Value<'c>,
) -> Result<Value<'c>> {
    const CL_SNORM_INT8: u32 = 0x10d0;
    const CL_R: u32 = 0x10b0;
    let (name, first) = match (op, image.storage) {
        (Op::ImageQueryFormat, true) => ("llvm.nvvm.suq.channel.data.type", CL_SNORM_INT8),
        (Op::ImageQueryFormat, false) => ("llvm.nvvm.txq.channel.data.type", CL_SNORM_INT8),
        (_, true) => ("llvm.nvvm.suq.channel.order", CL_R),
        (_, false) => ("llvm.nvvm.txq.channel.order", CL_R),
    };
    let number = e.b.intrinsic(name, &[], &[handle(e, descriptor)?])?;
    e.b.sub(number, e.b.i32(first))
}

/// The number of mip levels or samples.
pub(super) fn count<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Op,
    descriptor: Value<'c>,
) -> Result<Value<'c>> {
    let name = match op {
        Op::ImageQuerySamples => "llvm.nvvm.txq.num.samples",
        _ => "llvm.nvvm.txq.num.mipmap.levels",
    };
    e.b.intrinsic(name, &[], &[handle(e, descriptor)?])
}
