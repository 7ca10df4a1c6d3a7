//! Images and samplers: what OpSampledImage brings together and who takes it, and what samples ask
//! of image, coordinates and result (SPIR-V 1.6, section 3.52.10).

use super::super::{Check, Context, Rule};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::report::Report;
use crate::module::{Constant, Id, Inst, Type};
use spirv::{Dim, ExecutionMode, ExecutionModel, Op};
use std::collections::{BTreeMap, BTreeSet};

/// What OpTypeImage says.
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

    /// Directions in which there are neighbours: components of gradients and offsets.
    pub(super) fn directions(self) -> u32 {
        match self.dim {
            Dim::Dim1D | Dim::DimBuffer => 1,
            Dim::Dim3D | Dim::DimCube => 3,
            _ => 2,
        }
    }
}

/// What a sampling instruction is.
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

/// Whether `id` is a scalar float.
pub(super) fn is_single(context: &Context<'_, '_>, id: Id) -> bool {
    matches!(parts(context, id), Some((Type::Float { .. }, 1)))
}

/// The instructions of functions, of a module that has images.
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

/// OpSampledImage and who takes its result.
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
                    if let Some(wrong) = wrong_combination(context, *inst) {
                        let message = format!("OpSampledImage: {wrong}");
                        report.push(SAMPLED_IMAGE.error(context, *inst, message));
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

/// What is wrong with how `inst` takes the results of OpSampledImage, of which those in `here`
/// stand before it in its block.
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
                "{what}, which OpSampledImage made, is taken by {}",
                inst.name()
            ),
            (true, false) => {
                format!("{what}, which OpSampledImage made, is taken in another block")
            }
        };
        let problem = SAMPLED_IMAGE.error(context, inst, wrong).at_operand(index);
        problems.push(
            problem.help("put the OpSampledImage right before each instruction that samples"),
        );
    }
    problems
}

/// Why an OpSampledImage cannot bring its operands together.
fn wrong_combination(context: &Context<'_, '_>, inst: Inst<'_>) -> Option<&'static str> {
    let def = |id: Id| context.declarations.module.def(id);
    let of_value = |id: Id| context.declarations.type_of(id);
    let (image, sampler) = (of_value(operand(inst, 0)), of_value(operand(inst, 1)));
    let Some(ty) = image.and_then(|ty| ImageType::from_type(context, ty)) else {
        return Some("its first operand is not an image");
    };
    if ty.sampled == 2 || matches!(ty.dim, Dim::DimSubpassData | Dim::DimBuffer) {
        return Some("its image cannot be used with a sampler");
    }
    if sampler.and_then(def).and_then(|inst| inst.op()) != Some(Op::TypeSampler) {
        return Some("its second operand is not a sampler");
    }
    let result = inst.result_type().and_then(def)?;
    let fits = result.op() == Some(Op::TypeSampledImage) && result.id(0).ok() == image;
    (!fits).then_some("its result type is not that of its image with a sampler")
}

/// Image, coordinates, references and results of samples.
pub(super) const SAMPLE: Rule = Rule {
    code: Code::ImageSample,
    vuid: None,
    text: include_str!("explain/SB1603.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (inst, op) in instructions(context) {
            let wrong = match (Sample::from_op(op), op) {
                (Some(sample), _) => wrong_sample(context, inst, op, sample),
                (None, Op::ImageQueryLod) => wrong_query(context, inst),
                _ => None, // it does not sample
            };
            if let Some(wrong) = wrong {
                let message = format!("{}: {wrong}", inst.name());
                report.push(SAMPLE.error(context, inst, message));
            }
            if report.is_full() {
                return;
            }
        }
    }),
};

/// What is wrong with a sampling instruction.
fn wrong_sample(
    context: &Context<'_, '_>,
    inst: Inst<'_>,
    op: Op,
    sample: Sample,
) -> Option<String> {
    let Some(image) = ImageType::of_value(context, operand(inst, 0), true) else {
        return Some("its first operand is not an image with a sampler".to_owned());
    };
    if image.has_samples || matches!(image.dim, Dim::DimBuffer | Dim::DimSubpassData) {
        return Some("its image has no filter".to_owned());
    }
    if sample.projects && (image.is_arrayed || image.dim == Dim::DimCube) {
        return Some("only images of one, two and three dimensions are projected".to_owned());
    }
    if sample.gathers && !matches!(image.dim, Dim::Dim2D | Dim::DimCube | Dim::DimRect) {
        return Some("only images of two dimensions and cubes are gathered from".to_owned());
    }
    let count = image.directions() + u32::from(image.is_arrayed) + u32::from(sample.projects);
    match parts(context, operand(inst, 1)) {
        Some((Type::Float { .. }, has)) if has >= count => {}
        Some((Type::Int { .. }, has)) if has >= count && op == Op::ImageSampleExplicitLod => {}
        Some((Type::Float { .. }, has)) => {
            return Some(format!("it has {has} coordinates; the image has {count}"));
        }
        _ => return Some("its coordinates are not floating-point numbers".to_owned()),
    }
    if sample.compares && !is_single(context, operand(inst, 2)) {
        return Some("its reference is not one floating-point number".to_owned());
    }
    if op == Op::ImageGather
        && let Some(wrong) = wrong_component(context, operand(inst, 2))
    {
        return Some(wrong);
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
            "one component"
        } else {
            "four components"
        };
        return Some(format!("its result is not {what} of the image's type"));
    }
    None
}

fn wrong_component(context: &Context<'_, '_>, id: Id) -> Option<String> {
    let number = context.constants.get(id).and_then(Constant::as_u64);
    let is_int = matches!(context.type_of(id), Some(Type::Int { width: 32, .. }));
    match number.filter(|_| is_int) {
        Some(0..=3) => None,
        Some(number) => Some(format!("its component is {number}; there are 0 to 3")),
        // VUID-StandaloneSpirv-OpImageGather-04664
        None if context.settings.environment.is_vulkan() => {
            Some("its component is not a constant integer of 32 bits".to_owned())
        }
        None => None,
    }
}

fn wrong_query(context: &Context<'_, '_>, inst: Inst<'_>) -> Option<String> {
    let Some(image) = ImageType::of_value(context, operand(inst, 0), true) else {
        return Some("its first operand is not an image with a sampler".to_owned());
    };
    let count = image.directions();
    if image.has_samples || matches!(image.dim, Dim::DimBuffer | Dim::DimRect) {
        return Some("its image has no levels".to_owned());
    }
    if !matches!(parts(context, operand(inst, 1)), Some((Type::Float { .. }, has)) if has >= count)
    {
        return Some(format!(
            "its coordinates are not {count} floating-point numbers"
        ));
    }
    match components(context, inst.result_type()?) {
        Some((_, Type::Float { .. }, 2)) => None,
        _ => Some("its result is not a vector of two floating-point numbers".to_owned()),
    }
}

/// Levels of detail that come from the quad.
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
                    "{} takes its level of detail from quads, and entry point `{entry}` has none",
                    inst.name()
                );
                report.push(IMPLICIT.error(context, inst, message).help(
                    "sample with an explicit level (OpImageSampleExplicitLod), or say how quads are made (DerivativeGroupLinearKHR)",
                ));
                if report.is_full() {
                    return;
                }
            }
        }
    }),
};
