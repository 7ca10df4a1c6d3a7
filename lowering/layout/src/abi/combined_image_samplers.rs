//! The pairs of images and samplers that a kernel combines, for GPUs whose image descriptors
//! contain the state of a sampler.
//!
//! A texture object of an NVIDIA GPU is an image with one sampler. PTX knows samplers of their own
//! (`.samplerref`, PTX ISA, "Texturing Modes") only as variables of the module, at most 16 of them,
//! which a driver binds by name: descriptors cannot lead to them, and the driver interface of CUDA
//! has no call for it. So the host makes the texture object of an image with the sampler that the
//! kernel combines it with, and this analysis says which that is. An image that is combined with
//! two samplers is refused.

use super::parameter::{Parameter, Role};
use super::resources::binding;
use serde::Serialize;
use spirv::{Op, SamplerAddressingMode, SamplerFilterMode};
use splitbar_passes::analysis::uses::Reached;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, Function, Id, Inst, called};
use splitbar_target::Target;
use std::collections::{BTreeMap, BTreeSet};

/// The source of an image or a sampler.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// A variable, by its descriptor set and binding.
    Binding {
        /// The set.
        set: u32,
        /// The binding.
        binding: u32,
    },
    /// A parameter of an OpenCL kernel.
    Argument {
        /// Its position among the arguments.
        argument: u32,
    },
    /// OpConstantSampler: a sampler that the module has.
    Literal(SamplerState),
}

/// The state of an OpConstantSampler (SPIR-V 1.6, 3.7 and 3.8).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SamplerState {
    /// The name of the addressing mode.
    pub addressing: &'static str,
    /// True if coordinates are between 0 and 1.
    pub normalized: bool,
    /// True if texels are mixed; else the nearest one is taken.
    pub linear: bool,
}

impl SamplerState {
    /// The state that the OpConstantSampler `inst` describes; `None` for numbers that SPIR-V does
    /// not have.
    pub fn from_inst(inst: Inst<'_>) -> Option<SamplerState> {
        let [addressing, normalized, filter] = *inst.operands() else {
            return None;
        };
        Some(SamplerState {
            addressing: match SamplerAddressingMode::from_u32(addressing)? {
                SamplerAddressingMode::None => "none",
                SamplerAddressingMode::ClampToEdge => "clamp_to_edge",
                SamplerAddressingMode::Clamp => "clamp",
                SamplerAddressingMode::Repeat => "repeat",
                SamplerAddressingMode::RepeatMirrored => "repeat_mirrored",
            },
            normalized: normalized != 0,
            linear: SamplerFilterMode::from_u32(filter)? == SamplerFilterMode::Linear,
        })
    }
}

/// An image, and the sampler that its descriptor must have in it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Combination {
    /// The image, or an array of them.
    pub image: Place,
    /// The sampler.
    pub sampler: Place,
}

/// How many instructions are followed back from one OpSampledImage.
const MOST_STEPS: usize = 1024;

/// The combined image samplers of the kernel of `entry`. `UnsupportedOnTarget` goes to
/// `diagnostics` for images with several samplers, and for what cannot be followed to an image or
/// a sampler of the interface.
pub(super) fn of(
    declarations: &Declarations<'_>,
    target: &Target,
    entry: &Function<'_>,
    parameters: &[Parameter],
    reached: &Reached,
    diagnostics: &mut Diagnostics,
) -> Vec<Combination> {
    let functions = || {
        reached
            .order
            .iter()
            .filter_map(|id| declarations.function(*id))
    };
    let sampled: Vec<Inst<'_>> = functions()
        .flat_map(Function::insts)
        .filter(|inst| inst.op() == Some(Op::SampledImage))
        .collect();
    if sampled.is_empty() {
        return Vec::new();
    }
    let mut tracer = Tracer {
        declarations,
        entry,
        parameters,
        formal: BTreeMap::new(),
        calls: BTreeMap::new(),
    };
    for function in functions() {
        for (index, (id, _)) in function.params.iter().enumerate() {
            tracer.formal.insert(*id, (function.id, index));
        }
        for call in &function.calls {
            if let Some(callee) = called(*call) {
                tracer.calls.entry(callee).or_default().push(*call);
            }
        }
    }
    let mut found: BTreeMap<Place, Place> = BTreeMap::new();
    for inst in sampled {
        let refuse = |why: &str| {
            let message = format!("{} does not have separate samplers", target.name);
            Diagnostic::error(Code::UnsupportedOnTarget, message)
                .at_word(inst.offset)
                .because(format!("a texture object contains one sampler, but {why}"))
                .help("combine each image with one sampler that is not in an array")
        };
        let traced = (inst.id(0).ok(), inst.id(1).ok());
        let (Some(images), Some(samplers)) = (
            traced.0.and_then(|id| tracer.places(id, true)),
            traced.1.and_then(|id| tracer.places(id, false)),
        ) else {
            let why = "the image and the sampler here are not known at compile time";
            diagnostics.push(refuse(why));
            continue;
        };
        let mut samplers = samplers.into_iter();
        let (Some(sampler), None) = (samplers.next(), samplers.next()) else {
            diagnostics.push(refuse("several samplers are possible here"));
            continue;
        };
        for image in images {
            if *found.entry(image).or_insert(sampler) != sampler {
                diagnostics.push(refuse("this image is also combined with another sampler"));
                break;
            }
        }
    }
    let combination = |(image, sampler)| Combination { image, sampler };
    found.into_iter().map(combination).collect()
}

/// Follows values back to where a kernel gets them.
struct Tracer<'t, 'm> {
    declarations: &'t Declarations<'m>,
    entry: &'t Function<'m>,
    parameters: &'t [Parameter],
    /// Which parameter of which function an id is.
    formal: BTreeMap<Id, (Id, usize)>,
    /// The calls of each function.
    calls: BTreeMap<Id, Vec<Inst<'m>>>,
}

impl Tracer<'_, '_> {
    /// All places that the value `id` can come from; `None` where one of them is not of the
    /// interface, or an element of an array though there must be one (`elements`).
    fn places(&self, id: Id, elements: bool) -> Option<BTreeSet<Place>> {
        let mut places = BTreeSet::new();
        let mut seen = BTreeSet::from([id]);
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if seen.len() > MOST_STEPS {
                return None;
            }
            let mut follow = |id: Id| {
                if seen.insert(id) {
                    todo.push(id);
                }
            };
            if self.declarations.variable(id).is_some() {
                let (set, binding) = binding(self.declarations, id);
                places.insert(Place::Binding { set, binding });
                continue;
            }
            if let Some((function, index)) = self.formal.get(&id) {
                if *function == self.entry.id {
                    places.insert(self.argument(*index)?);
                } else {
                    for call in self.calls.get(function)? {
                        follow(call.id(index + 1).ok()?);
                    }
                }
                continue;
            }
            let inst = self.declarations.module.def(id)?;
            match inst.op()? {
                Op::AccessChain | Op::InBoundsAccessChain if !elements => return None,
                // The image of a combined descriptor has its sampler already.
                Op::Image => {
                    let combined = self.declarations.module.def(inst.id(0).ok()?)?;
                    if combined.op() != Some(Op::SampledImage) {
                        return None;
                    }
                    follow(combined.id(0).ok()?);
                }
                Op::Load | Op::CopyObject | Op::AccessChain | Op::InBoundsAccessChain => {
                    follow(inst.id(0).ok()?);
                }
                Op::Select => {
                    follow(inst.id(1).ok()?);
                    follow(inst.id(2).ok()?);
                }
                Op::Phi => {
                    for value in inst.operands().iter().step_by(2) {
                        follow(Id(*value));
                    }
                }
                Op::ConstantSampler => {
                    places.insert(Place::Literal(SamplerState::from_inst(inst)?));
                }
                _ => return None, // a variable of a function, say
            }
        }
        Some(places)
    }

    /// The argument that parameter `index` of the kernel is.
    fn argument(&self, index: usize) -> Option<Place> {
        let own = |one: &&Parameter| matches!(one.role, Role::Own(own) if own == index);
        let parameter = self.parameters.iter().find(own)?;
        Some(Place::Argument {
            argument: parameter.argument.index,
        })
    }
}
