//! Samplers of a launch: descriptors of their own, and those that images have in them.

use super::inputs::Refusal;
use super::job::{Code, Job};
use crate::launch::BufferName;
use splitbar_layout::abi::{Place, SamplerState};
use splitbar_sim::memory::Global;
use splitbar_sim::sampler::Sampler;

/// The sampler that an OpConstantSampler describes.
fn literal(state: SamplerState) -> Option<Sampler> {
    let filter = if state.linear { "linear" } else { "nearest" };
    let outside = match state.addressing {
        "repeat" => "repeat",
        "repeat_mirrored" => "mirror",
        "clamp" => "border",
        _ => "edge",
    };
    let rest = if state.normalized {
        ""
    } else {
        ",unnormalized"
    };
    Sampler::by_name(&format!("{filter},{outside}{rest}"))
}

/// What a job calls a place of the interface; `None`: a sampler that the module has.
fn named(place: Place) -> Option<BufferName> {
    match place {
        Place::Binding { set, binding } => Some(BufferName::Binding(set, binding)),
        Place::Argument { argument } => Some(BufferName::Argument(argument)),
        Place::Literal(_) => None,
    }
}

impl Job {
    /// The sampler that the image at `place` has in its descriptor: its own, or the one that the
    /// kernel combines it with.
    pub(super) fn sampler_of(&self, place: BufferName) -> Option<Sampler> {
        // All elements of an array are combined with one sampler.
        let whole = match place {
            BufferName::Element(set, binding, _) => BufferName::Binding(set, binding),
            place => place,
        };
        let mut combined_image_samplers = self.combined_image_samplers.iter();
        let combined = combined_image_samplers.find(|one| named(one.image) == Some(whole));
        match combined.map(|one| one.sampler) {
            Some(Place::Literal(state)) => literal(state),
            Some(sampler) => named(sampler).and_then(|name| self.samplers.get(&name).copied()),
            None => self.samplers.get(&place).copied(),
        }
    }

    /// The descriptor of the sampler at `place`. NVIDIA's code reads none.
    pub(super) fn sampler_bytes(&self, place: BufferName) -> Result<Vec<u8>, Refusal> {
        let sampler = self.samplers.get(&place).ok_or_else(|| {
            Refusal::Launch(format!(
                "{place} is a sampler: set it with `Job::with_sampler`"
            ))
        })?;
        Ok(match self.code {
            Code::Amdgpu(_) => {
                let words = sampler.descriptor();
                words.iter().flat_map(|word| word.to_le_bytes()).collect()
            }
            Code::Nvptx(_) => vec![0; 8],
        })
    }

    /// The bytes of an argument that is the address of a sampler's descriptor.
    pub(super) fn sampler_argument(
        &self,
        global: &mut Global,
        place: BufferName,
    ) -> Result<Vec<u8>, Refusal> {
        let bytes = self.sampler_bytes(place)?;
        let region = global.add(&format!("sampler {place}"), bytes, false);
        Ok(global.base(region).to_le_bytes().to_vec())
    }
}
