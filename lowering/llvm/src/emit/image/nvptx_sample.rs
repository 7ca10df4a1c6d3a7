//! Samples and gathers on NVPTX: `tex` and `tld4` of texture objects (PTX ISA, "Texture
//! Instructions").
//!
//! LLVM has intrinsics without offsets and without comparisons only, so all of them are assembly.
//! What a depth is compared by is the texture object's, as all of the sampler's state is.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::types::Scalar;
use super::Shape;
use super::nvptx::{handle, listed, members};
use super::sampling::{Gradients, Level, Sampling, is_layered};
use crate::ffi::{self, Ty, Value};
use splitbar_passes::diagnostic::Diagnostic;
use splitbar_passes::module::Inst;

/// What PTX calls the shape of a texture that has a filter.
fn geometry(e: &FunctionEmitter<'_, '_, '_>, shape: Shape) -> Result<&'static str> {
    Ok(match shape {
        Shape::D1 => "1d",
        Shape::D2 => "2d",
        Shape::D3 => "3d",
        Shape::Cube => "cube",
        Shape::D1Array => "a1d",
        Shape::D2Array => "a2d",
        Shape::CubeArray => "acube",
        Shape::D2Samples | Shape::D2ArraySamples | Shape::Buffer => {
            return Err(e.b.internal("a sample of an image without a filter"));
        }
    })
}

/// An instruction that is being written: operands behind the four results.
struct Text<'c> {
    text: String,
    constraints: Vec<&'static str>,
    values: Vec<Value<'c>>,
}

impl<'c> Text<'c> {
    /// Appends a list of operands in braces.
    fn list(&mut self, values: &[Value<'c>]) {
        const RESULTS: usize = 4;
        let first = RESULTS + self.values.len();
        self.text += &format!("{{{}}}", listed(first, values.len()));
        for value in values {
            self.constraints
                .push(if value.ty().is_float() { "f" } else { "r" });
            self.values.push(*value);
        }
    }

    /// Appends one operand.
    fn one(&mut self, value: Value<'c>, constraint: &'static str) {
        self.text += &format!("${}", 4 + self.values.len());
        self.constraints.push(constraint);
        self.values.push(value);
    }
}

/// Samples an image, or gathers from it: four components.
pub(super) fn sample<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    sampling: &Sampling<'c>,
) -> Result<Value<'c>> {
    let lacks = |what: &str, why: &'static str| {
        let problem =
            e.unsupported_on_target(inst, format!("an instruction for {} {what}", inst.name()));
        Err(Box::new(problem.because(why)))
    };
    let shape = sampling.shape();
    let geometry = geometry(e, shape)?;
    if shape == Shape::D3 && sampling.reference.is_some() {
        return lacks(
            "of a volume",
            "PTX compares depths only for other textures (tex)",
        );
    }
    let (ty, output) = match sampling.component {
        Scalar::Int { signed: true, .. } => ("s32", "=r"),
        Scalar::Int { signed: false, .. } => ("u32", "=r"),
        Scalar::Float { .. } | Scalar::Bool => ("f32", "=f"),
    };
    let opcode = match (sampling.gathered, &sampling.level) {
        (Some(_), _) if !matches!(geometry, "2d" | "a2d" | "cube" | "acube") => {
            return Err(e.mismatch(inst, "a gather from this image"));
        }
        (Some(component), Level::Zero) => {
            let component = ["r", "g", "b", "a"].get(component as usize).copied();
            format!("tld4.{}", component.unwrap_or("a"))
        }
        (Some(_), _) => return lacks("with a level of detail", "tld4 takes level 0"),
        (None, Level::Gradients(Gradients { least: Some(_), .. })) => {
            return lacks(
                "with a least level of detail",
                "tex.grad has no such operand",
            );
        }
        (None, Level::Gradients(_)) => "tex.grad".to_owned(),
        (None, _) => "tex.level".to_owned(),
    };
    let mut text = Text {
        text: format!("{opcode}.{geometry}.v4.{ty}.f32 {{$0, $1, $2, $3}}, ["),
        constraints: vec![output; 4],
        values: Vec::new(),
    };
    text.one(handle(e, sampling.sampled.descriptor)?, "l");
    text.text += ", ";
    let mut place = sampling.coordinates.clone();
    if is_layered(shape)
        && let Some(layer) = place.pop()
    {
        place.insert(0, layer_number(e, layer)?);
    }
    text.list(&place);
    text.text += "]";
    match &sampling.level {
        Level::Of(level) => {
            text.text += ", ";
            text.one(*level, "f");
        }
        Level::Zero if sampling.gathered.is_none() => {
            text.text += ", ";
            text.one(e.b.float_type(32).zero(), "f");
        }
        Level::Zero => {}
        Level::Gradients(gradients) => {
            for direction in [&gradients.x, &gradients.y] {
                text.text += ", ";
                text.list(direction);
            }
        }
    }
    if let Some(offset) = &sampling.offset {
        text.text += ", ";
        text.list(offset);
    }
    if let Some(reference) = sampling.reference {
        text.text += ", ";
        text.one(reference, "f");
    }
    text.text += ";";
    let texel = e.b.struct_type(&[sampling.component_type(e); 4]);
    let types: Vec<Ty<'c>> = text.values.iter().map(|value| value.ty()).collect();
    let callee = texel.function(&types);
    let constraints = text.constraints.join(",");
    let assembly = ffi::inline_assembly(callee, &text.text, &constraints, false);
    members(e, e.b.raw().call(callee, assembly, &text.values), 4)
}

/// Why the level that a sample would take cannot be asked for.
pub(super) fn no_level(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Box<Diagnostic> {
    let problem = e.unsupported_on_target(inst, format!("an instruction for {}", inst.name()));
    Box::new(
        problem
            .because("PTX can only query the size and the number of levels of a texture (txq)")
            .help("compute the level from the derivatives of the coordinates and the image's size"),
    )
}

/// The number of a layer: the nearest one, the first for what lies below it. What lies behind the
/// last one is that for the hardware (PTX ISA, "tex").
fn layer_number<'c>(e: &FunctionEmitter<'_, 'c, '_>, layer: Value<'c>) -> Result<Value<'c>> {
    let (float, word) = (layer.ty(), e.b.int_type(32));
    let nearest = e.b.intrinsic("llvm.rint", &[float], &[layer])?;
    let number =
        e.b.intrinsic("llvm.fptosi.sat", &[word, float], &[nearest])?;
    e.b.intrinsic("llvm.smax", &[word], &[number, e.b.i32(0)])
}
