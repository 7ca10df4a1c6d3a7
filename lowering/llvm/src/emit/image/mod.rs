//! Images: storage images and texel buffers, fetches from sampled images, and samples (SPIR-V 1.6,
//! section 3.52.10).
//!
//! What descriptors are: [`splitbar_layout::image`].
//!
//! What is visible to whom: a texel that is made available is followed by a release fence, one that
//! is made visible follows an acquire fence. Images that are decorated Coherent or Volatile make
//! all their texels available and visible.

mod access;
mod amdgpu;
mod amdgpu_sample;
pub(crate) mod atomic;
mod cube;
mod format;
mod literal;
mod nvptx;
mod nvptx_sample;
mod sample;
mod sampling;

use super::function::FunctionEmitter;
use super::types::{self, Kind, Scalar};
use super::{Handled, Result, barrier, memory};
use crate::ffi::{self, Value};
use access::{Access, Extra};
use spirv::{ImageOperands, Op};
use splitbar_layout::image::{Image, Shape, texel_scalar};
use splitbar_passes::module::{Id, Inst, Scope};
use splitbar_plan::target::Arch;
use splitbar_plan::{Fence, FenceMemory, FenceOrder};

impl<'c> Extra<'c> {
    /// Decodes the image operands that begin at operand `first`.
    fn decode(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>, first: usize) -> Result<Extra<'c>> {
        let mut extra = Extra::default();
        let Some(bits) = inst.operands().get(first).copied() else {
            return Ok(extra);
        };
        let mask = ImageOperands::from_bits_retain(bits);
        let known = ImageOperands::LOD
            | ImageOperands::CONST_OFFSET
            | ImageOperands::OFFSET
            | ImageOperands::SAMPLE
            | ImageOperands::MAKE_TEXEL_AVAILABLE
            | ImageOperands::MAKE_TEXEL_VISIBLE
            | ImageOperands::NON_PRIVATE_TEXEL
            | ImageOperands::VOLATILE_TEXEL
            | ImageOperands::SIGN_EXTEND
            | ImageOperands::ZERO_EXTEND
            | ImageOperands::NONTEMPORAL;
        if !known.contains(mask) {
            return Err(e.unsupported(inst, "an image operand that only samplers have"));
        }
        let mut next = first + 1;
        let mut id = |bit: ImageOperands| -> Result<Option<Id>> {
            if !mask.contains(bit) {
                return Ok(None);
            }
            next += 1;
            inst.id(next - 1).map(Some).map_err(Box::new)
        };
        if let Some(level) = id(ImageOperands::LOD)? {
            let level = e.value(level)?;
            extra.level = Some(level).filter(|level| level.as_u64() != Some(0));
        }
        for bit in [ImageOperands::CONST_OFFSET, ImageOperands::OFFSET] {
            if let Some(offset) = id(bit)? {
                extra.offset = Some(e.value(offset)?);
            }
        }
        if let Some(sample) = id(ImageOperands::SAMPLE)? {
            extra.sample = Some(e.value(sample)?);
        }
        let scope = |id: Option<Id>| -> Result<Option<Scope>> {
            id.map(|id| Scope::evaluate(id, inst, e.module.constants).map_err(Box::new))
                .transpose()
        };
        extra.available = scope(id(ImageOperands::MAKE_TEXEL_AVAILABLE)?)?;
        extra.visible = scope(id(ImageOperands::MAKE_TEXEL_VISIBLE)?)?;
        extra.volatile = mask.contains(ImageOperands::VOLATILE_TEXEL);
        Ok(extra)
    }
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The image type of operand `index`.
    fn image_type(&self, inst: Inst<'_>, index: usize) -> Result<Image> {
        let id = inst.id(index).map_err(Box::new)?;
        match self.kind(self.type_of(id)?)? {
            Kind::Image(image) => Ok(*image),
            _ => Err(self.mismatch(inst, format!("{id} is not an image"))),
        }
    }

    /// What the components of a texel of type `ty`, which `inst` reads or writes, are on their way.
    fn texel_component(&self, inst: Inst<'_>, ty: Id) -> Result<Scalar> {
        match self.kind(ty)? {
            Kind::ScalarOrVector(shape) => texel_scalar(shape.scalar),
            _ => None,
        }
        .ok_or_else(|| {
            self.unsupported(
                inst,
                "texels of components other than 32 bits or half floats",
            )
        })
    }

    /// Decodes image, coordinate, and the image operands from operand `extra` on.
    fn image_access(&self, inst: Inst<'_>, extra: usize) -> Result<(Access<'c>, Extra<'c>)> {
        let image = self.image_type(inst, 0)?;
        let mut extra = Extra::decode(self, inst, extra)?;
        let id = inst.id(0).map_err(Box::new)?;
        let qualifiers = self.module.qualifiers.get(self.module.declarations, id);
        extra.volatile |= qualifiers.volatile;
        // The fences that coherence takes keep accesses apart, too.
        if qualifiers.coherent || extra.volatile {
            extra.available = Some(memory::coherent_scope(extra.available));
            extra.visible = Some(memory::coherent_scope(extra.visible));
        }
        let access = Access {
            image,
            descriptor: self.operand(inst, 0)?,
            coordinates: self.texel_coordinates(inst, image, &extra)?,
            level: extra.level,
            sample: extra.sample,
        };
        Ok((access, extra))
    }

    /// The coordinates in operand 1, `i32` each.
    fn texel_coordinates(
        &self,
        inst: Inst<'_>,
        image: Image,
        extra: &Extra<'c>,
    ) -> Result<Vec<Value<'c>>> {
        let place = self.operand(inst, 1)?;
        if !place.ty().is_int() || place.ty().lanes() < image.shape.coordinates() {
            return Err(self.mismatch(inst, "coordinates that do not fit the image"));
        }
        let word = self.b.int_type(32);
        let mut coordinates = Vec::new();
        for index in 0..image.shape.coordinates() {
            let mut coordinate = self.b.int_resize(self.b.lane(place, index)?, word, true)?;
            // Layers have no offset.
            if let Some(offset) = extra.offset.filter(|offset| index < offset.ty().lanes()) {
                coordinate = self.b.add(coordinate, self.b.lane(offset, index)?)?;
            }
            coordinates.push(coordinate);
        }
        Ok(coordinates)
    }

    fn texel_fence(&self, scope: Option<Scope>, order: FenceOrder) -> Result<()> {
        match scope {
            Some(scope) => self.fence(Fence {
                order,
                scope: barrier::fence_scope(scope),
                memory: FenceMemory::All,
            }),
            None => Ok(()),
        }
    }

    /// Lets an empty line of assembly read `texel`, so that nobody leaves out the access that it
    /// comes from.
    fn keep_texel(&self, texel: Value<'c>) -> Result<()> {
        let word = self.b.int_type(32);
        let first = self.b.bitcast(self.b.lane(texel, 0)?, word)?;
        let register = match self.module.target.arch {
            Arch::Amdgpu(_) => "v",
            Arch::Nvptx(_) => "r",
        };
        let ty = ffi::void_type(self.b.context()).function(&[word]);
        let assembly = ffi::inline_assembly(ty, "", register, true);
        self.b.raw().call(ty, assembly, &[first]);
        Ok(())
    }

    /// `count` of the components in `texel`, of the type that the instruction gives.
    fn components(&self, texel: Value<'c>, count: u32) -> Result<Value<'c>> {
        let lanes = (0..count)
            .map(|lane| self.b.lane(texel, lane))
            .collect::<Result<Vec<_>>>()?;
        self.b.vector(&lanes)
    }
}

/// Lowers OpImageFetch and OpImageRead.
fn read(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (access, extra) = e.image_access(inst, 2)?;
    let component = match access.image.component {
        Some(component) => component,
        None => e.texel_component(inst, e.result_type(inst)?)?,
    };
    e.texel_fence(extra.visible, FenceOrder::Acquire)?;
    let texel = match &e.module.target.arch {
        Arch::Amdgpu(_) => amdgpu::read(e, inst, &access, component)?,
        Arch::Nvptx(_) => nvptx::read(e, inst, &access, component)?,
    };
    if extra.volatile {
        e.keep_texel(texel)?;
    }
    let ty = e.result_ty(inst)?;
    let value = e.components(texel, ty.lanes())?;
    let value = e.b.float_resize(value, ty)?;
    e.bind(inst, value)
}

/// Lowers OpImageWrite.
fn write(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (access, extra) = e.image_access(inst, 3)?;
    let texel = e.operand(inst, 2)?;
    let zero = texel.ty().element_if_vector().zero();
    let lanes = (0..4)
        .map(|lane| {
            if lane < texel.ty().lanes() {
                e.b.lane(texel, lane)
            } else {
                Ok(zero)
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let texel = e.b.vector(&lanes)?;
    let ty = e.type_of(inst.id(2).map_err(Box::new)?)?;
    let component = types::scalar(e.b, e.texel_component(inst, ty)?);
    let texel = e.b.float_resize(texel, component.vector(4))?;
    match &e.module.target.arch {
        Arch::Amdgpu(_) => amdgpu::write(e, inst, &access, texel)?,
        Arch::Nvptx(_) => nvptx::write(e, inst, &access, texel)?,
    }
    e.texel_fence(extra.available, FenceOrder::Release)
}

/// Lowers the image instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    match op {
        // Those that sample take it apart: its result is no value of its own.
        Op::SampledImage => {}
        // A combined descriptor begins with the image's own.
        Op::Image => {
            let descriptor = e.sampled(inst)?.descriptor;
            e.bind(inst, descriptor)?;
        }
        Op::ImageQueryLod => {
            let sampled = e.sampled(inst)?;
            let place = sample::place_of_query(e, inst, sampled.image)?;
            let levels = match &e.module.target.arch {
                Arch::Amdgpu(_) => amdgpu_sample::level(e, inst, sampled, &place)?,
                Arch::Nvptx(_) => return Err(nvptx_sample::no_level(e, inst)),
            };
            let levels = e.b.float_resize(levels, e.result_ty(inst)?)?;
            e.bind(inst, levels)?;
        }
        Op::ImageFetch | Op::ImageRead => read(e, inst)?,
        Op::ImageWrite => write(e, inst)?,
        Op::ImageQuerySize | Op::ImageQuerySizeLod => {
            let image = e.image_type(inst, 0)?;
            let descriptor = e.operand(inst, 0)?;
            let level = match op {
                Op::ImageQuerySizeLod => Some(e.operand(inst, 1)?),
                _ => None,
            };
            let size = match &e.module.target.arch {
                Arch::Amdgpu(_) => amdgpu::size(e, inst, image, descriptor, level)?,
                Arch::Nvptx(_) => nvptx::size(e, inst, image, descriptor, level)?,
            };
            let ty = e.result_ty(inst)?;
            let size = e.components(size, ty.lanes())?;
            let value = e.b.int_resize(size, ty, false)?;
            e.bind(inst, value)?;
        }
        Op::ImageQueryLevels | Op::ImageQuerySamples => {
            let image = e.image_type(inst, 0)?;
            let descriptor = e.operand(inst, 0)?;
            let count = match &e.module.target.arch {
                Arch::Amdgpu(_) => amdgpu::count(e, op, inst, image, descriptor)?,
                Arch::Nvptx(_) => nvptx::count(e, op, descriptor)?,
            };
            let value = e.b.int_resize(count, e.result_ty(inst)?, false)?;
            e.bind(inst, value)?;
        }
        Op::ImageQueryFormat | Op::ImageQueryOrder => {
            let image = e.image_type(inst, 0)?;
            let descriptor = e.operand(inst, 0)?;
            let number = match &e.module.target.arch {
                Arch::Amdgpu(_) => return Err(amdgpu::no_channels(e, inst)),
                Arch::Nvptx(_) => nvptx::channels(e, op, image, descriptor)?,
            };
            let value = e.b.int_resize(number, e.result_ty(inst)?, false)?;
            e.bind(inst, value)?;
        }
        // The atomic instructions take it apart.
        Op::ImageTexelPointer => {}
        _ if sample::emit(e, op, inst)? => {}
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}
