//! Image operands: the instructions that allow each, and their types (SPIR-V 1.6, 3.14 "Image
//! Operands").

use super::super::{Check, Context, Rule};
use super::images::{ImageType, Sample, instructions, is_single, operand, parts};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::report::Report;
use crate::module::{Id, Inst, Type};
use spirv::{Dim, ImageOperands as O, Op};

/// The image operands of all accesses.
pub(super) const OPERANDS: Rule = Rule {
    code: Code::ImageOperand,
    vuid: None,
    text: include_str!("explain/SB1602.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (inst, op) in instructions(context) {
            let Some((access, first)) = access(op) else {
                continue;
            };
            for problem in wrong(context, inst, access, first) {
                report.push(problem);
            }
            if report.is_full() {
                return;
            }
        }
    }),
};

/// An instruction with image operands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Access {
    Sample(Sample),
    Fetch,
    /// OpImageRead and OpImageWrite.
    Storage,
}

/// The kind of `op`, and the number of the operand with the mask.
fn access(op: Op) -> Option<(Access, usize)> {
    Some(match op {
        Op::ImageFetch => (Access::Fetch, 2),
        Op::ImageRead => (Access::Storage, 2),
        Op::ImageWrite => (Access::Storage, 3),
        _ => {
            let sample = Sample::from_op(op)?;
            (Access::Sample(sample), sample.operands())
        }
    })
}

/// The problems of the image operands of `inst`.
fn wrong(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    access: Access,
    first: usize,
) -> Vec<Diagnostic> {
    let combined = matches!(access, Access::Sample(_));
    // Another rule reports an operand that is not an image.
    let Some(image) = ImageType::of_value(context, operand(inst, 0), combined) else {
        return Vec::new();
    };
    let bits = inst.operands().get(first).copied().unwrap_or(0); // without operands
    let mask = O::from_bits_retain(bits);
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut refuse = |number: usize, (is, help): Problem| {
        let message = format!("{}: {is}", inst.name());
        let error = OPERANDS.error(context, inst, message);
        problems.push(error.at_operand(number).help(help));
    };
    for problem in misplaced(context, mask, access, image) {
        refuse(first, problem);
    }
    let mut next = first;
    for bit in mask.iter() {
        let count = match bit {
            O::GRAD => 2,
            O::BIAS
            | O::LOD
            | O::CONST_OFFSET
            | O::OFFSET
            | O::CONST_OFFSETS
            | O::OFFSETS
            | O::SAMPLE
            | O::MIN_LOD => 1,
            O::MAKE_TEXEL_AVAILABLE | O::MAKE_TEXEL_VISIBLE => {
                next += 1; // a scope, which the rules for scopes check
                continue;
            }
            _ => continue,
        };
        for _ in 0..count {
            next += 1;
            let Ok(id) = inst.id(next) else {
                let is = "an image operand has no value";
                refuse(
                    first,
                    (is, "add an id for each bit of the mask that needs one"),
                );
                return problems;
            };
            if let Some(problem) = wrong_type(context, bit, id, access, image) {
                refuse(next, problem);
            }
        }
    }
    problems
}

/// A sentence about the operands, and what to change.
type Problem = (&'static str, &'static str);

/// The operands that the instruction does not allow, or not together.
fn misplaced(context: &Context<'_, '_>, mask: O, access: Access, image: ImageType) -> Vec<Problem> {
    let has = |bit: O| mask.contains(bit);
    let offsets = [O::CONST_OFFSET, O::OFFSET, O::CONST_OFFSETS, O::OFFSETS];
    let offsets = offsets.into_iter().filter(|bit| has(*bit)).count();
    let (implicit, gathers, samples) = match access {
        Access::Sample(sample) => (sample.implicit, sample.gathers, true),
        Access::Fetch | Access::Storage => (false, false, false),
    };
    let explicit = samples && !implicit && !gathers;
    let amd = |capability| context.has(capability);
    let level_of_gather = gathers && amd(spirv::Capability::ImageGatherBiasLodAMD);
    let level_of_storage =
        access == Access::Storage && amd(spirv::Capability::ImageReadWriteLodAMD);
    let has_levels = !image.has_samples && !matches!(image.dim, Dim::DimRect | Dim::DimBuffer);
    let mut wrong: Vec<Problem> = Vec::new();
    let mut check = |is_wrong: bool, is, help| {
        if is_wrong {
            wrong.push((is, help));
        }
    };
    check(
        has(O::BIAS) && !implicit && !level_of_gather,
        "Bias needs an implicit level of detail",
        "remove Bias, or use the ImplicitLod form of the instruction",
    );
    check(
        has(O::LOD)
            && !(explicit || access == Access::Fetch || level_of_gather || level_of_storage),
        "Lod needs an explicit level of detail or a fetch",
        "remove Lod, or use an instruction with ExplicitLod",
    );
    check(
        has(O::GRAD) && !explicit,
        "Grad needs an explicit level of detail",
        "remove Grad, or use an instruction with ExplicitLod",
    );
    check(
        has(O::GRAD) && has(O::LOD),
        "Lod and Grad are both set",
        "keep one of the two",
    );
    check(
        explicit && !has(O::LOD) && !has(O::GRAD),
        "an instruction with ExplicitLod has neither Lod nor Grad",
        "add Lod or Grad",
    );
    check(
        has(O::MIN_LOD) && !(implicit || has(O::GRAD)),
        "MinLod needs an implicit level of detail or Grad",
        "remove MinLod, or use it with ImplicitLod or Grad",
    );
    check(
        mask.intersects(O::LOD | O::BIAS | O::GRAD | O::MIN_LOD) && !has_levels,
        "the image has no mip levels",
        "remove Lod, Bias, Grad and MinLod",
    );
    check(
        offsets > 1,
        "several kinds of offsets are set",
        "keep one of ConstOffset, Offset, ConstOffsets and Offsets",
    );
    check(
        offsets > 0 && image.dim == Dim::DimCube,
        "a cube image does not allow offsets",
        "remove the offset",
    );
    check(
        mask.intersects(O::CONST_OFFSETS | O::OFFSETS) && !gathers,
        "ConstOffsets and Offsets need a gather",
        "use ConstOffset or Offset, or gather the texels",
    );
    check(
        has(O::SAMPLE) && (samples || !image.has_samples),
        "Sample needs a fetch, read or write of a multisampled image",
        "remove Sample",
    );
    check(
        !samples && image.has_samples && !has(O::SAMPLE),
        "the image is multisampled, but there is no Sample",
        "add the image operand Sample",
    );
    wrong
}

/// What to change where an offset has the wrong number of components.
const EACH_DIMENSION: &str = "pass a vector with one integer for each dimension";

/// The reason why the value `id` cannot be the operand of `bit`, and what to change.
fn wrong_type(
    context: &Context<'_, '_>,
    bit: O,
    id: Id,
    access: Access,
    image: ImageType,
) -> Option<Problem> {
    let is_integers =
        |count: u32| matches!(parts(context, id), Some((Type::Int { .. }, has)) if has == count);
    let is_constant = context.constants.get(id).is_some();
    let samples = matches!(access, Access::Sample(_));
    let dimensions = image.dimensions();
    match bit {
        O::LOD if !samples => (!is_integers(1)).then_some((
            "Lod of a fetch, read or write is not a scalar integer",
            "pass an integer",
        )),
        O::LOD | O::BIAS | O::MIN_LOD => (!is_single(context, id)).then_some((
            "a level of detail is not a floating-point scalar",
            "pass a floating-point scalar",
        )),
        O::GRAD => {
            let fits =
                matches!(parts(context, id), Some((Type::Float { .. }, has)) if has == dimensions);
            (!fits).then_some((
                "a gradient does not have one float for each dimension of the image",
                "pass a floating-point vector with one component for each dimension",
            ))
        }
        O::SAMPLE => {
            (!is_integers(1)).then_some(("Sample is not a scalar integer", "pass an integer"))
        }
        O::OFFSET if !is_integers(dimensions) => Some((
            "Offset does not have one integer for each dimension of the image",
            EACH_DIMENSION,
        )),
        O::CONST_OFFSET if !is_integers(dimensions) => Some((
            "ConstOffset does not have one integer for each dimension of the image",
            EACH_DIMENSION,
        )),
        O::CONST_OFFSET if !is_constant => Some((
            "ConstOffset is not a constant",
            "use a constant, or the image operand Offset",
        )),
        O::CONST_OFFSETS if !is_constant => Some((
            "ConstOffsets is not a constant",
            "use a constant, or the image operand Offsets",
        )),
        O::CONST_OFFSETS | O::OFFSETS => (!is_four_pairs(context, id)).then_some((
            "the offsets are not an array of four vectors of two integers",
            "pass an array of four vectors of two integers",
        )),
        _ => None,
    }
}

/// Returns true if `id` is an array of four vectors of two integers.
fn is_four_pairs(context: &Context<'_, '_>, id: Id) -> bool {
    let Some(Type::Array { element, length }) = context.type_of(id) else {
        return false;
    };
    let pair = match context.declarations.ty(*element) {
        Some(Type::Vector {
            component,
            count: 2,
        }) => context.declarations.ty(*component),
        _ => None,
    };
    let four = context.constants.as_u32(*length) == Some(4);
    four && matches!(pair, Some(Type::Int { .. }))
}
