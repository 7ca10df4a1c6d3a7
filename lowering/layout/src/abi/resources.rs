//! The resources of a kernel by descriptor set and binding.

use super::alignment::table_align;
use crate::image;
use crate::pointers::is_descriptor_array;
use crate::tensor;
use crate::types::{Kind, Types};
use spirv::{Decoration, StorageClass};
use splitbar_passes::analysis::layout;
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::analysis::uses::{self, Uses};
use splitbar_passes::module::{Declarations, Id, WordOffset};
use splitbar_target::Target;

/// The kind of a resource.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// A storage or uniform buffer.
    Buffer,
    /// An image or texel buffer.
    Image,
    /// A tensor.
    Tensor,
    /// A sampler.
    Sampler,
}

/// The buffer, image, tensor or sampler of one (set, binding), or an array of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The set.
    pub set: u32,
    /// The binding.
    pub binding: u32,
    /// The kind.
    pub kind: ResourceKind,
    /// The variables that name it: several alias each other.
    pub variables: Vec<Id>,
    /// Those whose length is used.
    pub lengths: Vec<Id>,
    /// Those that are arrays of descriptors of buffers.
    pub arrays: Vec<Id>,
    /// The number of descriptors; `None` for an array without a length.
    pub count: Option<u64>,
    /// Bytes that a descriptor takes at least; of a buffer, without its length.
    pub descriptor_bytes: u64,
    /// Alignment of a descriptor.
    pub descriptor_align: Alignment,
    /// The word of the module at which its first variable is declared.
    pub declared: WordOffset,
}

/// What the variable type `ty` is, or is an array of, if it has descriptors of a kind of its own.
pub(super) fn described(types: &Types, ty: Id) -> Option<ResourceKind> {
    match elements(types, Some(ty)).1? {
        Kind::Image(_) | Kind::SampledImage(_) => Some(ResourceKind::Image),
        Kind::Tensor(_) => Some(ResourceKind::Tensor),
        Kind::Sampler => Some(ResourceKind::Sampler),
        _ => None, // a buffer, or nothing that has a descriptor
    }
}

/// The set and binding of `variable`; 0 for one that it does not name, which validation refuses.
pub(super) fn binding(declarations: &Declarations<'_>, variable: Id) -> (u32, u32) {
    let get = |decoration| declarations.decoration(variable, decoration).unwrap_or(0);
    (get(Decoration::DescriptorSet), get(Decoration::Binding))
}

/// The resources that a kernel touches, ordered by set, binding and kind.
pub(super) fn resources(
    types: &Types,
    declarations: &Declarations<'_>,
    target: &Target,
    uses: &Uses,
) -> Vec<Resource> {
    let mut found: Vec<(u32, u32, ResourceKind, Id)> = uses
        .variables
        .iter()
        .chain(&uses.lengths)
        .filter_map(|id| {
            let variable = declarations.variable(*id)?;
            let kind = match variable.class {
                StorageClass::StorageBuffer | StorageClass::Uniform => ResourceKind::Buffer,
                StorageClass::UniformConstant => {
                    described(types, uses::pointee(declarations, variable)?)?
                }
                _ => return None,
            };
            let (set, binding) = binding(declarations, *id);
            Some((set, binding, kind, *id))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    // Variables of one binding are one thing, but for those of several kinds that an unshifted
    // translation from HLSL numbers alike.
    found
        .chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2))
        .filter_map(|group| {
            let (set, binding, kind, first) = *group.first()?;
            let variable = declarations.variable(first)?;
            let pointee = uses::pointee(declarations, variable);
            let variables: Vec<Id> = group.iter().map(|one| one.3).collect();
            let lengths = variables.iter().filter(|id| uses.lengths.contains(id));
            let is_array = |id: &&Id| {
                declarations.variable(**id).is_some_and(|variable| {
                    let pointee = uses::pointee(declarations, variable);
                    is_descriptor_array(types, declarations, variable.class, pointee)
                })
            };
            let arrays: Vec<Id> = variables.iter().filter(is_array).copied().collect();
            // The array says how many there are, where another variable names its first element.
            let counted = arrays.first().and_then(|id| declarations.variable(*id));
            let counted = counted.and_then(|variable| uses::pointee(declarations, variable));
            let (count, leaf) = elements(types, counted.or(pointee));
            let (descriptor_bytes, descriptor_align) = match (kind, leaf) {
                (ResourceKind::Image, Some(Kind::Image(image) | Kind::SampledImage(image))) => {
                    let sampler = matches!(leaf, Some(Kind::SampledImage(_)));
                    let bytes = image.descriptor_bytes(target, sampler);
                    (bytes, table_align(target))
                }
                (ResourceKind::Sampler, _) => (image::sampler_bytes(target), table_align(target)),
                (ResourceKind::Tensor, _) => (tensor::DESCRIPTOR_BYTES, tensor::DESCRIPTOR_ALIGN),
                _ => (layout::POINTER_BYTES, Alignment::POINTER),
            };
            Some(Resource {
                set,
                binding,
                kind,
                lengths: lengths.copied().collect(),
                count,
                arrays,
                variables,
                descriptor_bytes,
                descriptor_align,
                declared: variable.inst.offset,
            })
        })
        .collect()
}

/// The number of elements of nested arrays, `None` without a length, and the kind of each.
fn elements(types: &Types, ty: Option<Id>) -> (Option<u64>, Option<&Kind>) {
    let (mut ty, mut count) = (ty, Some(1u64));
    // Types are nested finitely.
    loop {
        match ty.and_then(|ty| types.get(ty)).map(|info| &info.kind) {
            Some(Kind::Array { element, length }) => {
                count = count.and_then(|count| count.checked_mul(*length));
                ty = Some(*element);
            }
            Some(Kind::RuntimeArray { element }) => {
                count = None;
                ty = Some(*element);
            }
            kind => return (count, kind),
        }
    }
}
