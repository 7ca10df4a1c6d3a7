//! Rules for images and samplers: the operands and uses of OpSampledImage, and the image,
//! coordinates and result of a sample (SPIR-V 1.6, section 3.52.10).

use super::super::{Check, Context, Rule};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::report::Report;
use crate::module::{Constant, Id, Inst, Type};
use spirv::{Dim, ExecutionMode, ExecutionModel, Op};
use std::collections::{BTreeMap, BTreeSet};

/// The operands of OpTypeImage.
#[derive(Copy, Clone, Debug)]
pub(super) struct ImageType {
    /// The type of a texel's components.
    pub(super) component: Id,
    pub(super) dim: Dim,
    pub(super) is_arrayed: bool,
    pub(super) has_samples: bool,
    /// 1: with a sampler; 2: without; 0: unknown.
    pub(super) sampled: u32,
}

impl ImageType {
    fn from_type(context: &Context<'_, '_>, ty: Id) -> Option<ImageType> {
        let inst = context.declarations.module.def(ty)?;
        let &[component, dim, _, arrayed, samples, sampled, ..] = inst.operands() else {
            return None;
        };
        (inst.op() == Some(Op::TypeImage)).then_some(ImageType {
            component: Id(component),
            dim: Dim::from_u32(dim)?,
            is_arrayed: arrayed == 1,
            has_samples: samples == 1,
            sampled,
        })
    }

    /// The image type of the value `id`, which may have a sampler (`combined`).
    pub(super) fn of_value(context: &Context<'_, '_>, id: Id, combined: bool) -> Option<ImageType> {
        let ty = context.declarations.type_of(id)?;
        match (context.declarations.module.def(ty)?, combined) {
            (inst, true) if inst.op() == Some(Op::TypeSampledImage) => {
                ImageType::from_type(context, inst.id(0).ok()?)
            }
            (_, true) => None,
            (_, false) => ImageType::from_type(context, ty),
        }
    }

    /// The number of components of gradients and offsets.
    pub(super) fn dimensions(self) -> u32 {
        match self.dim {
            Dim::Dim1D | Dim::DimBuffer => 1,
            Dim::Dim3D | Dim::DimCube => 3,
            _ => 2,
        }
    }
}

/// The kind of a sampling instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// The level of detail comes from the quad.
    pub(super) implicit: bool,
    /// Depths are compared.
    pub(super) compares: bool,
    /// The last coordinate divides the others.
    pub(super) projects: bool,
    /// Four texels are gathered.
    pub(super) gathers: bool,
}

impl Sample {
    pub(super) fn from_op(op: Op) -> Option<Sample> {
        let of = |implicit, compares, projects, gathers| Sample {
            implicit,
            compares,
            projects,
            gathers,
        };
        Some(match op {
            Op::ImageSampleImplicitLod => of(true, false, false, false),
            Op::ImageSampleExplicitLod => of(false, false, false, false),
            Op::ImageSampleDrefImplicitLod => of(true, true, false, false),
            Op::ImageSampleDrefExplicitLod => of(false, true, false, false),
            Op::ImageSampleProjImplicitLod => of(true, false, true, false),
            Op::ImageSampleProjExplicitLod => of(false, false, true, false),
            Op::ImageSampleProjDrefImplicitLod => of(true, true, true, false),
            Op::ImageSampleProjDrefExplicitLod => of(false, true, true, false),
            Op::ImageGather => of(false, false, false, true),
            Op::ImageDrefGather => of(false, true, false, true),
            _ => return None, // it does not sample
        })
    }

    /// The operand with the bits of the image operands.
    pub(super) fn operands(self) -> usize {
        if self.compares || self.gathers { 3 } else { 2 }
    }
}

/// Operand `index`; no id where it is missing, which the reader has reported.
pub(super) fn operand(inst: Inst<'_>, index: usize) -> Id {
    inst.id(index).unwrap_or(Id(0))
}

/// The component type of a scalar or vector, and how many there are.
pub(super) fn components<'c>(context: &'c Context<'_, '_>, ty: Id) -> Option<(Id, &'c Type, u32)> {
    match context.declarations.ty(ty)? {
        Type::Vector { component, count } => {
            Some((*component, context.declarations.ty(*component)?, *count))
        }
        scalar => scalar.is_scalar().then_some((ty, scalar, 1)),
    }
}

/// The same of the value `id`.
pub(super) fn parts<'c>(context: &'c Context<'_, '_>, id: Id) -> Option<(&'c Type, u32)> {
    let (_, ty, count) = components(context, context.declarations.type_of(id)?)?;
    Some((ty, count))
}

/// Returns true if `id` is a scalar float.
pub(super) fn is_single(context: &Context<'_, '_>, id: Id) -> bool {
    matches!(parts(context, id), Some((Type::Float { .. }, 1)))
}

/// The instructions of all functions, if the module has images.
pub(super) fn instructions<'c>(
    context: &'c Context<'_, '_>,
) -> impl Iterator<Item = (Inst<'c>, Op)> {
    let module = context.declarations.module;
    let has_images = module
        .instructions()
        .take_while(|inst| inst.op() != Some(Op::Function))
        .any(|inst| inst.op() == Some(Op::TypeImage));
    let functions = context.functions().filter(move |_| has_images);
    functions.flat_map(|function| function.insts().filter_map(|inst| Some((inst, inst.op()?))))
}

/// OpSampledImage and the uses of its result.
pub(super) const SAMPLED_IMAGE: Rule = Rule {
    code: Code::SampledImage,
    vuid: None,
    text: include_str!("explain/SB1601.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        let of = |(inst, op): (Inst<'_>, Op)| (op == Op::SampledImage).then(|| inst.result())?;
        let results: BTreeSet<Id> = instructions(context).filter_map(of).collect();
        if results.is_empty() {
            return;
        }
        for block in context.functions().flat_map(|function| &function.blocks) {
            let mut here = BTreeSet::new();
            for inst in &block.insts {
                for problem in taken(context, *inst, &results, &here) {
                    report.push(problem);
                }
                if inst.op() == Some(Op::SampledImage) {
                    if let Some((part, is, help)) = wrong_combination(context, *inst) {
                        let message = format!("the {part} of OpSampledImage {is}");
                        report.push(SAMPLED_IMAGE.error(context, *inst, message).help(help));
                    }
                    here.extend(inst.result());
                }
                if report.is_full() {
                    return;
                }
            }
        }
    }),
};

/// The problems of the uses in `inst` of results of OpSampledImage. The results in `here` are from
/// its block.
fn taken(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    results: &BTreeSet<Id>,
    here: &BTreeSet<Id>,
) -> Vec<Diagnostic> {
    let takes = |op: Op| {
        Sample::from_op(op).is_some()
            || matches!(op, Op::Image | Op::ImageQueryLod)
            || format!("{op:?}").starts_with("ImageSparse")
    };
    let mut problems = Vec::new();
    for (index, id) in context.declarations.module.ids(inst) {
        if !results.contains(&id) || inst.result() == Some(id) {
            continue;
        }
        let what = context.show(id);
        let is_taken = inst.op().is_some_and(takes) && inst.id(0).ok() == Some(id);
        let wrong = match (is_taken, here.contains(&id)) {
            (true, true) => continue,
            (false, _) => format!(
                "{} cannot use {what}, the result of an OpSampledImage",
                inst.name()
            ),
            (true, false) => {
                format!("{what}, the result of an OpSampledImage, is used in another block")
            }
        };
        let problem = SAMPLED_IMAGE.error(context, inst, wrong).at_operand(index);
        problems.push(
            problem.help("put the OpSampledImage right before each instruction that samples"),
        );
    }
    problems
}

/// The reason why an OpSampledImage cannot combine its operands, and what to change.
fn wrong_combination(context: &Context<'_, '_>, inst: Inst<'_>) -> Option<Wrong> {
    let def = |id: Id| context.declarations.module.def(id);
    let of_value = |id: Id| context.declarations.type_of(id);
    let (image, sampler) = (of_value(operand(inst, 0)), of_value(operand(inst, 1)));
    let Some(ty) = image.and_then(|ty| ImageType::from_type(context, ty)) else {
        return wrong(("first operand", "is not an image"), "pass an image");
    };
    if ty.sampled == 2 || matches!(ty.dim, Dim::DimSubpassData | Dim::DimBuffer) {
        return wrong(
            ("image", "cannot be used with a sampler"),
            "use an image with Sampled 1 that is neither a buffer nor subpass data",
        );
    }
    if sampler.and_then(def).and_then(|inst| inst.op()) != Some(Op::TypeSampler) {
        return wrong(("second operand", "is not a sampler"), "pass a sampler");
    }
    let result = inst.result_type().and_then(def)?;
    let fits = result.op() == Some(Op::TypeSampledImage) && result.id(0).ok() == image;
    if fits {
        return None;
    }
    let is = "is not an OpTypeSampledImage of the type of the image operand";
    let help = "use an OpTypeSampledImage of the image's type";
    wrong(("result type", is), help)
}

/// The image, coordinates, reference and result of a sample.
pub(super) const SAMPLE: Rule = Rule {
    code: Code::ImageSample,
    vuid: None,
    text: include_str!("explain/SB1603.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (inst, op) in instructions(context) {
            let problem = match (Sample::from_op(op), op) {
                (Some(sample), _) => wrong_sample(context, inst, op, sample),
                (None, Op::ImageQueryLod) => wrong_query(context, inst),
                _ => None, // it does not sample
            };
            if let Some((part, is, help)) = problem {
                let message = format!("the {part} of {} {is}", inst.name());
                report.push(SAMPLE.error(context, inst, message).help(help));
            }
            if report.is_full() {
                return;
            }
        }
    }),
};

/// The part of an instruction that is wrong, its problem, and what to change.
type Wrong = (&'static str, String, String);

fn wrong((part, is): (&'static str, impl Into<String>), help: impl Into<String>) -> Option<Wrong> {
    Some((part, is.into(), help.into()))
}

/// The problem of a sampling instruction, if it has one.
fn wrong_sample(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    op: Op,
    sample: Sample,
) -> Option<Wrong> {
    let Some(image) = ImageType::of_value(context, operand(inst, 0), true) else {
        return wrong(
            ("first operand", "is not an image with a sampler"),
            "pass the result of OpSampledImage",
        );
    };
    if image.has_samples || matches!(image.dim, Dim::DimBuffer | Dim::DimSubpassData) {
        return wrong(
            ("image", "cannot be sampled"),
            "use OpImageFetch for multisampled images and buffers",
        );
    }
    if sample.projects && (image.is_arrayed || image.dim == Dim::DimCube) {
        return wrong(
            (
                "image",
                "is arrayed or a cube, which projection does not allow",
            ),
            "divide the coordinates first, and sample without projection",
        );
    }
    if sample.gathers && !matches!(image.dim, Dim::Dim2D | Dim::DimCube | Dim::DimRect) {
        return wrong(
            ("image", "is not a 2D, Rect or Cube image"),
            "sample each texel instead of gathering four",
        );
    }
    let count = image.dimensions() + u32::from(image.is_arrayed) + u32::from(sample.projects);
    match parts(context, operand(inst, 1)) {
        Some((Type::Float { .. }, has)) if has >= count => {}
        Some((Type::Int { .. }, has)) if has >= count && op == Op::ImageSampleExplicitLod => {}
        Some((Type::Float { .. }, has)) => {
            return wrong(
                (
                    "coordinate",
                    format!("has {has} components, but needs {count}"),
                ),
                format!("pass {count} coordinates"),
            );
        }
        _ => {
            return wrong(
                ("coordinates", "are not floating-point numbers"),
                format!("pass {count} floats as coordinates"),
            );
        }
    }
    if sample.compares && !is_single(context, operand(inst, 2)) {
        return wrong(
            ("depth reference", "is not a floating-point scalar"),
            "pass a 32-bit float as the depth reference",
        );
    }
    if op == Op::ImageGather
        && let Some(problem) = wrong_component(context, operand(inst, 2))
    {
        return Some(problem);
    }
    let (component, _, count) = components(context, inst.result_type()?)?;
    let wanted = if sample.compares && !sample.gathers {
        1
    } else {
        4
    };
    let untyped = context.declarations.ty(image.component) == Some(&Type::Void);
    if count != wanted || component != image.component && !untyped {
        let what = if wanted == 1 {
            "the image's sampled type"
        } else {
            "a vector with four components of the image's sampled type"
        };
        return wrong(
            ("result type", format!("is not {what}")),
            format!("change the result type to {what}"),
        );
    }
    None
}

fn wrong_component(context: &Context<'_, '_>, id: Id) -> Option<Wrong> {
    let number = context.constants.get(id).and_then(Constant::as_u64);
    let is_int = matches!(context.type_of(id), Some(Type::Int { width: 32, .. }));
    match number.filter(|_| is_int) {
        Some(0..=3) => None,
        Some(number) => wrong(
            ("component", format!("is {number}, not 0 to 3")),
            "use a component from 0 to 3",
        ),
        // VUID-StandaloneSpirv-OpImageGather-04664
        None if context.settings.environment.is_vulkan() => wrong(
            ("component", "is not a 32-bit integer constant"),
            "use a 32-bit integer constant from 0 to 3",
        ),
        None => None,
    }
}

fn wrong_query(context: &Context<'_, '_>, inst: Inst<'_>) -> Option<Wrong> {
    let Some(image) = ImageType::of_value(context, operand(inst, 0), true) else {
        return wrong(
            ("first operand", "is not an image with a sampler"),
            "pass the result of OpSampledImage",
        );
    };
    let count = image.dimensions();
    if image.has_samples || matches!(image.dim, Dim::DimBuffer | Dim::DimRect) {
        return wrong(
            ("image", "has no mip levels"),
            "use an image that is neither multisampled, Rect nor a buffer",
        );
    }
    if !matches!(parts(context, operand(inst, 1)), Some((Type::Float { .. }, has)) if has >= count)
    {
        return wrong(
            (
                "coordinates",
                format!("are not {count} floating-point numbers"),
            ),
            format!("pass {count} floats as coordinates"),
        );
    }
    match components(context, inst.result_type()?) {
        Some((_, Type::Float { .. }, 2)) => None,
        _ => wrong(
            ("result", "is not a vector of two floats"),
            "use a vector of two floats as the result type",
        ),
    }
}

/// Implicit levels of detail.
pub(super) const IMPLICIT: Rule = Rule {
    code: Code::ImplicitLevel,
    vuid: None,
    text: include_str!("explain/SB1604.md"),
    check: Check::Module(|context, to| {
        let implicit = |op| {
            Sample::from_op(op).is_some_and(|sample| sample.implicit) || op == Op::ImageQueryLod
        };
        // Few modules have any.
        if !instructions(context).any(|(_, op)| implicit(op)) {
            return;
        }
        let mut report = Report::new(to);
        let mut without: BTreeMap<Id, String> = BTreeMap::new();
        for entry in &context.declarations.entry_points {
            let is_compute = matches!(
                entry.model,
                Some(ExecutionModel::GLCompute | ExecutionModel::Kernel)
            );
            let modes = [
                ExecutionMode::DerivativeGroupLinearKHR,
                ExecutionMode::DerivativeGroupQuadsKHR,
            ];
            let has_quads = modes.into_iter().any(|mode| entry.mode(mode).is_some());
            if is_compute && !has_quads {
                let reached = context.declarations.reachable_functions(entry.function);
                for function in reached.unwrap_or_default() {
                    without.insert(function, entry.name.clone());
                }
            }
        }
        for function in context.functions() {
            let Some(entry) = without.get(&function.id) else {
                continue;
            };
            for inst in function.insts() {
                if !inst.op().is_some_and(implicit) {
                    continue;
                }
                let message = format!(
                    "{} needs derivatives for its level of detail, but the entry point `{entry}` declares no derivative group",
                    inst.name()
                );
                report.push(IMPLICIT.error(context, inst, message).help(
                    "use an explicit level of detail (OpImageSampleExplicitLod), or declare the execution mode DerivativeGroupLinearKHR",
                ));
                if report.is_full() {
                    return;
                }
            }
        }
    }),
};
