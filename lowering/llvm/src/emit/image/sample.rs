//! Images with samplers: texels by coordinates between 0 and 1, filtered as the sampler says, at a
//! level of detail that the instruction or the invocations of its quad say, and the four texels
//! that a linear filter takes (SPIR-V 1.6, section 3.52.10).
//!
//! Image and sampler come in one descriptor, of an OpTypeSampledImage, or OpSampledImage brings
//! them together. On AMD GPUs they are two resources in either case. NVIDIA's instructions are
//! those of the unified mode (PTX ISA, "Texturing Modes"): a texture object has the state of its
//! sampler in it, and [`splitbar_layout::abi::Combination`] says which.

use super::super::function::FunctionEmitter;
use super::super::types::Kind;
use super::super::{Result, derivative};
use super::sampling::{Gradients, Level, Sampled, Sampling, coordinates, directions};
use super::{Image, Shape, amdgpu_sample, nvptx_sample};
use crate::ffi::{Opcode, Value};
use spirv::{ImageOperands, Op};
use splitbar_passes::module::{Id, Inst};
use splitbar_plan::target::Arch;

/// What an opcode says.
#[derive(Copy, Clone, Default)]
struct Form {
    /// The level of detail comes from the differences in the quad.
    implicit: bool,
    /// Depths are compared.
    compares: bool,
    /// The last coordinate divides the others.
    projects: bool,
    /// Four texels are gathered.
    gathers: bool,
}

/// `None`: another instruction.
fn form(op: Op) -> Option<Form> {
    let of = |implicit, compares, projects| Form {
        implicit,
        compares,
        projects,
        gathers: false,
    };
    Some(match op {
        Op::ImageSampleImplicitLod => of(true, false, false),
        Op::ImageSampleExplicitLod => of(false, false, false),
        Op::ImageSampleDrefImplicitLod => of(true, true, false),
        Op::ImageSampleDrefExplicitLod => of(false, true, false),
        Op::ImageSampleProjImplicitLod => of(true, false, true),
        Op::ImageSampleProjExplicitLod => of(false, false, true),
        Op::ImageSampleProjDrefImplicitLod => of(true, true, true),
        Op::ImageSampleProjDrefExplicitLod => of(false, true, true),
        Op::ImageGather => Form {
            gathers: true,
            ..Form::default()
        },
        Op::ImageDrefGather => Form {
            gathers: true,
            compares: true,
            ..Form::default()
        },
        _ => return None,
    })
}

/// The image operands of a sampling instruction, as values.
#[derive(Default)]
struct Operands<'c> {
    bias: Option<Value<'c>>,
    level: Option<Value<'c>>,
    gradients: Option<(Value<'c>, Value<'c>)>,
    offset: Option<Value<'c>>,
    /// An offset for each of the four texels that are gathered.
    offsets: Option<Value<'c>>,
    least: Option<Value<'c>>,
}

impl<'c> Operands<'c> {
    /// Reads those from operand `first` on.
    fn decode(
        e: &FunctionEmitter<'_, 'c, '_>,
        inst: Inst<'_>,
        first: usize,
    ) -> Result<Operands<'c>> {
        use ImageOperands as O;
        let mut found = Operands::default();
        let Some(bits) = inst.operands().get(first).copied() else {
            return Ok(found);
        };
        let mask = O::from_bits_retain(bits);
        let mut next = first;
        let mut take = || -> Result<Value<'c>> {
            next += 1;
            e.operand(inst, next)
        };
        // In the order of their bits.
        for bit in mask.iter() {
            match bit {
                O::BIAS => found.bias = Some(take()?),
                O::LOD => found.level = Some(take()?),
                O::GRAD => found.gradients = Some((take()?, take()?)),
                O::CONST_OFFSET | O::OFFSET => found.offset = Some(take()?),
                O::CONST_OFFSETS | O::OFFSETS => found.offsets = Some(take()?),
                O::MIN_LOD => found.least = Some(take()?),
                O::NON_PRIVATE_TEXEL | O::SIGN_EXTEND | O::ZERO_EXTEND | O::NONTEMPORAL => {}
                _ => return Err(e.mismatch(inst, "an image operand that samples do not have")),
            }
        }
        if O::from_bits(bits).is_none() {
            return Err(e.unsupported(inst, "an unknown image operand"));
        }
        Ok(found)
    }
}

impl Operands<'_> {
    /// Returns true if there is one source of the level of detail, and the others fit it.
    fn go_with(&self, form: Form) -> bool {
        let (level, gradients) = (self.level.is_some(), self.gradients.is_some());
        let one_source = if form.implicit {
            !level && !gradients
        } else {
            !(level && gradients) && self.bias.is_none()
        };
        let least = self.least.is_none() || form.implicit || gradients;
        let one_offset = self.offset.is_none() || self.offsets.is_none();
        one_source && least && one_offset
    }
}

/// `value` as one `float`.
fn single<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    value: Value<'c>,
) -> Result<Value<'c>> {
    if value.ty().is_float() && !value.ty().is_vector() {
        e.b.float_resize(value, e.b.float_type(32))
    } else {
        Err(e.mismatch(inst, "an operand that is not a floating-point number"))
    }
}

/// The first `count` components of `value` as `float` each.
fn singles<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    value: Value<'c>,
    count: u32,
) -> Result<Vec<Value<'c>>> {
    if value.ty().lanes() < count {
        return Err(e.mismatch(inst, "an operand with fewer components than the image has"));
    }
    let each = (0..count).map(|index| single(e, inst, e.b.lane(value, index)?));
    each.collect()
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The image with a sampler that operand 0 of `inst` is: a combined descriptor, or what an
    /// OpSampledImage brings together, whose result is no value of its own.
    pub(super) fn sampled(&self, inst: Inst<'_>) -> Result<Sampled<'c>> {
        let id = inst.id(0).map_err(Box::new)?;
        let Kind::SampledImage(image) = *self.kind(self.type_of(id)?)? else {
            return Err(self.mismatch(inst, format!("{id} is not an image with a sampler")));
        };
        Ok(match self.combined(id) {
            Some(combined) => Sampled {
                image,
                descriptor: self.operand(combined, 0)?,
                sampler: Some(self.sampler(combined)?),
            },
            None => Sampled {
                image,
                descriptor: self.value(id)?,
                sampler: None,
            },
        })
    }

    /// The OpSampledImage whose result `id` is.
    pub(super) fn combined(&self, id: Id) -> Option<Inst<'_>> {
        let inst = self.module.declarations.module.def(id)?;
        (inst.op() == Some(Op::SampledImage)).then_some(inst)
    }

    /// The sampler of an OpSampledImage.
    fn sampler(&self, inst: Inst<'_>) -> Result<Value<'c>> {
        let id = inst.id(1).map_err(Box::new)?;
        match self.kind(self.type_of(id)?)? {
            Kind::Sampler => self.value(id),
            _ => Err(self.mismatch(inst, format!("{id} is not a sampler"))),
        }
    }
}

/// The coordinates of `inst` in operand 1, and what divides them.
fn place<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    image: Image,
    form: Form,
) -> Result<(Vec<Value<'c>>, Option<Value<'c>>)> {
    let mut place = e.operand(inst, 1)?;
    // Integers count texels, for samplers of OpenCL that do so, too.
    if place.ty().is_int() {
        let float = e.b.float_type(32).vector(place.ty().lanes());
        place = e.b.cast(Opcode::LLVMSIToFP, place, float)?;
    }
    let count = coordinates(image.shape);
    if !place.ty().is_float() || place.ty().lanes() < count + u32::from(form.projects) {
        return Err(e.mismatch(inst, "coordinates that do not fit the image"));
    }
    let mut coordinates = singles(e, inst, place, count)?;
    if !form.projects {
        return Ok((coordinates, None));
    }
    // SPIR-V has the divisor behind the coordinates.
    let divisor = single(e, inst, e.b.lane(place, count)?)?;
    for coordinate in &mut coordinates {
        *coordinate = e.b.fdiv(*coordinate, divisor)?;
    }
    Ok((coordinates, Some(divisor)))
}

/// An offset as an integer for each direction.
fn moved<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    image: Image,
    offset: Value<'c>,
) -> Result<Vec<Value<'c>>> {
    let count = directions(image.shape);
    let is_cube = matches!(image.shape, Shape::Cube | Shape::CubeArray);
    if !offset.ty().is_int() || offset.ty().lanes() < count || is_cube {
        return Err(e.mismatch(inst, "an offset that does not fit the image"));
    }
    let word = e.b.int_type(32);
    let each = (0..count).map(|index| e.b.int_resize(e.b.lane(offset, index)?, word, true));
    each.collect()
}

/// The coordinates of OpImageQueryLod, which have no layer.
pub(super) fn place_of_query<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    image: Image,
) -> Result<Vec<Value<'c>>> {
    let place = e.operand(inst, 1)?;
    if !place.ty().is_float() {
        return Err(e.mismatch(inst, "coordinates that do not fit the image"));
    }
    singles(e, inst, place, directions(image.shape))
}

/// The gradients of an instruction that names none: the differences in the quad, and of those a
/// multiple, which a bias of the level is.
fn implicit<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    place: &[Value<'c>],
    operands: &Operands<'c>,
) -> Result<Gradients<'c>> {
    let (mut x, mut y) = derivative::differences(e, inst, place)?;
    if let Some(bias) = operands.bias {
        let bias = single(e, inst, bias)?;
        let factor = e.b.intrinsic("llvm.exp2", &[bias.ty()], &[bias])?;
        for difference in x.iter_mut().chain(&mut y) {
            *difference = e.b.fmul(*difference, factor)?;
        }
    }
    let least = operands.least.map(|least| single(e, inst, least));
    Ok(Gradients {
        x,
        y,
        least: least.transpose()?,
    })
}

/// Decodes a sampling instruction; beside it an offset for each texel of a gather.
fn sampling<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Op,
    inst: Inst<'_>,
    form: Form,
) -> Result<(Sampling<'c>, Option<Value<'c>>)> {
    let sampled = e.sampled(inst)?;
    let image = sampled.image;
    if matches!(
        image.shape,
        Shape::Buffer | Shape::D2Samples | Shape::D2ArraySamples
    ) {
        return Err(e.mismatch(inst, "an image that cannot be sampled"));
    }
    let (coordinates, divisor) = place(e, inst, image, form)?;
    let reference = match (form.compares, divisor) {
        (false, _) => None,
        (true, None) => Some(single(e, inst, e.operand(inst, 2)?)?),
        (true, Some(divisor)) => {
            let reference = single(e, inst, e.operand(inst, 2)?)?;
            Some(e.b.fdiv(reference, divisor)?)
        }
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
    let first = if form.gathers || form.compares { 3 } else { 2 };
    let operands = Operands::decode(e, inst, first)?;
    if !operands.go_with(form) {
        return Err(e.mismatch(inst, "image operands that do not go together"));
    }
    let offset = match operands.offset {
        Some(offset) => Some(moved(e, inst, image, offset)?),
        None => None,
    };
    let count = directions(image.shape);
    let place = coordinates.get(..count as usize).unwrap_or(&[]);
    let level = match (operands.level, operands.gradients) {
        (Some(level), _) => Level::Of(single(e, inst, level)?),
        (None, Some((x, y))) => Level::Gradients(Gradients {
            x: singles(e, inst, x, count)?,
            y: singles(e, inst, y, count)?,
            least: match operands.least {
                Some(least) => Some(single(e, inst, least)?),
                None => None,
            },
        }),
        (None, None) if form.gathers && operands.bias.is_none() => Level::Zero,
        (None, None) if form.implicit => Level::Gradients(implicit(e, inst, place, &operands)?),
        (None, None) => return Err(e.mismatch(inst, "neither a level of detail nor gradients")),
    };
    let component = match image.component {
        Some(component) => component,
        None => e.texel_component(inst, e.result_type(inst)?)?,
    };
    let sampling = Sampling {
        sampled,
        coordinates,
        level,
        offset,
        reference,
        gathered,
        component,
    };
    Ok((sampling, operands.offsets))
}

/// Four components of what `sampling` finds; of a comparison at least the first.
fn texel<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    sampling: &Sampling<'c>,
) -> Result<Value<'c>> {
    match &e.module.target.arch {
        Arch::Amdgpu(_) => amdgpu_sample::sample(e, inst, sampling),
        Arch::Nvptx(_) => nvptx_sample::sample(e, inst, sampling),
    }
}

/// Gathers with an offset for each texel: of four gathers the texel that has the lower coordinates,
/// which comes last (Vulkan, "Texel Gathering").
fn with_offsets<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    mut sampling: Sampling<'c>,
    offsets: Value<'c>,
) -> Result<Value<'c>> {
    const LOWEST: u32 = 3;
    let mut texels = Vec::new();
    for index in 0..4 {
        let offset = e.b.member(offsets, index)?;
        sampling.offset = Some(moved(e, inst, sampling.sampled.image, offset)?);
        texels.push(e.b.lane(texel(e, inst, &sampling)?, LOWEST)?);
    }
    e.b.vector(&texels)
}

/// Lowers a sampling instruction. `false`: it is another one.
pub(super) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<bool> {
    let Some(form) = form(op) else {
        return Ok(false);
    };
    let (sampling, offsets) = sampling(e, op, inst, form)?;
    let texel = match offsets {
        Some(offsets) if form.gathers => with_offsets(e, inst, sampling, offsets)?,
        Some(_) => return Err(e.mismatch(inst, "four offsets of something that is not a gather")),
        None => texel(e, inst, &sampling)?,
    };
    let ty = e.result_ty(inst)?;
    let value = if ty.is_vector() {
        e.components(texel, ty.lanes())?
    } else {
        e.b.lane(texel, 0)?
    };
    let value = if ty.is_float() {
        e.b.float_resize(value, ty)?
    } else {
        value
    };
    e.bind(inst, value)?;
    Ok(true)
}
