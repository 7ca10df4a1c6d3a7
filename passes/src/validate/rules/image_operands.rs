//! Image operands: which go with which instruction, and of what types they are (SPIR-V 1.6, 3.14
//! "Image Operands").

use super::super::{Check, Context, Rule};
use super::images::{ImageType, Sample, instructions, is_single, operand, parts};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::report::Report;
use crate::module::{Id, Inst, Type};
use spirv::{Dim, ImageOperands as O, Op};

/// All of them.
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

/// What has image operands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Access {
    Sample(Sample),
    Fetch,
    /// OpImageRead and OpImageWrite.
    Storage,
}

/// What `op` is, and the operand with the bits.
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

/// What is wrong with the image operands of `inst`.
fn wrong(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    access: Access,
    first: usize,
) -> Vec<Diagnostic> {
    let combined = matches!(access, Access::Sample(_));
    // An operand that is no image is another rule's.
    let Some(image) = ImageType::of_value(context, operand(inst, 0), combined) else {
        return Vec::new();
    };
    let bits = inst.operands().get(first).copied().unwrap_or(0); // without operands
    let mask = O::from_bits_retain(bits);
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut refuse = |number: usize, what: String| {
        let message = format!("{}: {what}", inst.name());
        problems.push(OPERANDS.error(context, inst, message).at_operand(number));
    };
    for what in misplaced(context, mask, access, image) {
        refuse(first, what);
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
                next += 1; // a scope, which the rules of scopes look at
                continue;
            }
            _ => continue,
        };
        for _ in 0..count {
            next += 1;
            let Ok(id) = inst.id(next) else {
                refuse(first, "an image operand has no value".to_owned());
                return problems;
            };
            if let Some(what) = wrong_type(context, bit, id, access, image) {
                refuse(next, what.to_owned());
            }
        }
    }
    problems
}

/// What does not go with the instruction, or not together.
fn misplaced(context: &Context<'_, '_>, mask: O, access: Access, image: ImageType) -> Vec<String> {
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
    let mut wrong: Vec<&str> = Vec::new();
    let mut check = |is_wrong: bool, what| {
        if is_wrong {
            wrong.push(what);
        }
    };
    check(
        has(O::BIAS) && !implicit && !level_of_gather,
        "Bias goes with an implicit level of detail",
    );
    check(
        has(O::LOD)
            && !(explicit || access == Access::Fetch || level_of_gather || level_of_storage),
        "Lod goes with an explicit level of detail or a fetch",
    );
    check(
        has(O::GRAD) && !explicit,
        "Grad goes with an explicit level of detail",
    );
    check(has(O::GRAD) && has(O::LOD), "Lod and Grad stand together");
    check(
        explicit && !has(O::LOD) && !has(O::GRAD),
        "an explicit level of detail is neither Lod nor Grad",
    );
    check(
        has(O::MIN_LOD) && !(implicit || has(O::GRAD)),
        "MinLod goes with an implicit level of detail or with Grad",
    );
    check(
        mask.intersects(O::LOD | O::BIAS | O::GRAD | O::MIN_LOD) && !has_levels,
        "the image has no mip levels",
    );
    check(offsets > 1, "several offsets stand together");
    check(
        offsets > 0 && image.dim == Dim::DimCube,
        "texels of cubes have no offset",
    );
    check(
        mask.intersects(O::CONST_OFFSETS | O::OFFSETS) && !gathers,
        "four offsets go with a gather",
    );
    check(
        has(O::SAMPLE) && (samples || !image.has_samples),
        "Sample goes with a fetch, read or write of an image with several samples",
    );
    check(
        !samples && image.has_samples && !has(O::SAMPLE),
        "the image has several samples, and none is named",
    );
    wrong.into_iter().map(str::to_owned).collect()
}

/// Why the value `id` cannot be the operand of `bit`.
fn wrong_type(
    context: &Context<'_, '_>,
    bit: O,
    id: Id,
    access: Access,
    image: ImageType,
) -> Option<&'static str> {
    let is_integers =
        |count: u32| matches!(parts(context, id), Some((Type::Int { .. }, has)) if has == count);
    let is_constant = context.constants.get(id).is_some();
    let samples = matches!(access, Access::Sample(_));
    let directions = image.directions();
    match bit {
        O::LOD if !samples => (!is_integers(1)).then_some("Lod of texels is not one integer"),
        O::LOD | O::BIAS | O::MIN_LOD => (!is_single(context, id))
            .then_some("a level of detail is not one floating-point number"),
        O::GRAD => {
            let fits =
                matches!(parts(context, id), Some((Type::Float { .. }, has)) if has == directions);
            (!fits).then_some("a gradient is not a floating-point number for each direction")
        }
        O::SAMPLE => (!is_integers(1)).then_some("Sample is not one integer"),
        O::OFFSET if !is_integers(directions) => {
            Some("Offset is not an integer for each direction")
        }
        O::CONST_OFFSET if !is_integers(directions) => {
            Some("ConstOffset is not an integer for each direction")
        }
        O::CONST_OFFSET if !is_constant => Some("ConstOffset is not a constant"),
        O::CONST_OFFSETS if !is_constant => Some("ConstOffsets is not a constant"),
        O::CONST_OFFSETS | O::OFFSETS => (!is_four_pairs(context, id))
            .then_some("the offsets are not an array of four pairs of integers"),
        _ => None,
    }
}

/// Whether `id` is an array of four vectors of two integers.
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
