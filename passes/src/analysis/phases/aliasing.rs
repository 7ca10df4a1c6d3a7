//! Finds the buffers, images and pointers that do not alias others.
//!
//! SPIR-V 2.18.2, Aliasing: with the memory models Simple, GLSL450 and Vulkan, memory object
//! declarations that are not decorated Aliased may be taken not to overlap; with the model OpenCL
//! they may overlap, unless Restrict says that they do not. Two variables of one descriptor are one
//! memory in any case: compilers of GLSL write them without the decoration.

use super::memory_regions::MemoryRegions;
use crate::analysis::uniformity::memory::class_of;
use crate::module::{Declarations, Function, Id};
use spirv::{Decoration, FunctionParameterAttribute, MemoryModel, StorageClass};
use std::collections::BTreeMap;

/// The aliasing to assume for variables without a decoration.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Aliasing {
    /// Any two buffers, images and pointers may be the same memory.
    #[default]
    Possible,
    /// Those that SPIR-V 2.18.2 lets one take for separate memory are.
    Declared,
}

/// The part of memory of each variable and of each parameter of the entry function `entry` that
/// overlaps no other.
pub(super) fn separate(
    declarations: &Declarations<'_>,
    entry: &Function<'_>,
) -> BTreeMap<Id, MemoryRegions> {
    if declarations.memory_model == MemoryModel::OpenCL as u32 {
        let parameters = entry.params.iter().map(|(id, _)| *id);
        let restricted = parameters.filter(|id| {
            class_of(declarations, *id) == Some(StorageClass::CrossWorkgroup)
                && is_restricted(declarations, *id)
        });
        let places = restricted.zip(0..);
        return places
            .map(|(id, number)| (id, MemoryRegions::cross_workgroup(number)))
            .collect();
    }
    let mut descriptors: BTreeMap<(u32, u32), Descriptor> = BTreeMap::new();
    let mut variables = Vec::new();
    for variable in &declarations.variables {
        let is_image = match variable.class {
            StorageClass::StorageBuffer | StorageClass::Uniform => false,
            StorageClass::UniformConstant => true,
            _ => continue,
        };
        let decoration = |kind| declarations.decoration(variable.id, kind);
        let set = decoration(Decoration::DescriptorSet);
        let (Some(set), Some(binding)) = (set, decoration(Decoration::Binding)) else {
            continue;
        };
        let next = descriptors.len().try_into().unwrap_or(u32::MAX);
        let first = Descriptor {
            number: next,
            is_image,
            is_aliased: false,
        };
        let descriptor = descriptors.entry((set, binding)).or_insert(first);
        let is_aliased = decoration(Decoration::Aliased).is_some();
        descriptor.is_aliased |= is_aliased || descriptor.is_image != is_image;
        variables.push((variable.id, (set, binding)));
    }
    let place = |(id, key): (Id, (u32, u32))| {
        let descriptor = descriptors.get(&key)?;
        let place = if descriptor.is_image {
            MemoryRegions::image(descriptor.number)
        } else {
            MemoryRegions::buffer(descriptor.number)
        };
        (!descriptor.is_aliased).then_some((id, place))
    };
    variables.into_iter().filter_map(place).collect()
}

/// What the variables of a descriptor are.
struct Descriptor {
    number: u32,
    is_image: bool,
    is_aliased: bool,
}

/// Returns true if Restrict, or the attribute NoAlias of OpenCL, is on the parameter `id`.
fn is_restricted(declarations: &Declarations<'_>, id: Id) -> bool {
    let no_alias = FunctionParameterAttribute::NoAlias as u32;
    declarations.decorations(id).iter().any(|decoration| {
        decoration.kind == Decoration::Restrict as u32
            || decoration.kind == Decoration::FuncParamAttr as u32
                && decoration.operands.first() == Some(&no_alias)
    })
}
