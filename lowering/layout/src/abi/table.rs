//! A table of an embedder's own, or of descriptor sets, put to the resources of a kernel: what the
//! kernel reads of each pointer argument, and what the host has to know.

use super::form::{AbiTable, DescriptorPlace, Reach};
use super::resources::{Resource, ResourceKind};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::Id;

/// A read through a pointer argument at the start of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// For which variables.
    pub variables: Vec<Id>,
    /// The value that it reads.
    pub value: Fetched,
    /// Addresses that are loaded on the way ([`DescriptorPlace::loads`]).
    pub loads: Vec<u32>,
    /// Bytes from the last of them.
    pub offset: u32,
}

/// The result of an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The address of a buffer, which is loaded.
    Buffer,
    /// The place itself: the first descriptor of an array of buffers.
    Buffers,
    /// The place itself: the first descriptor of an image, a tensor or a sampler, or of an array of
    /// them.
    Descriptor,
    /// The length of a buffer in bytes, 32 bits, which is loaded.
    Length,
    /// The place itself: the first length of an array of buffers.
    Lengths,
}

/// A resource as the host of a table sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The kind.
    pub kind: ResourceKind,
    /// The number of descriptors; `None` for an array without a length.
    pub count: Option<u64>,
    /// The way to reach it.
    pub reach: Reach,
}

/// What a pointer argument is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Use<'r> {
    /// It is the address of this resource, or of its first descriptor.
    Resource(&'r Resource),
    /// It is the address of a table.
    Table(Vec<Access>),
}

/// How `table` reaches a resource.
fn reach<'t>(table: &'t AbiTable, resource: &Resource) -> Result<&'t Reach, String> {
    let (set, binding) = (resource.set, resource.binding);
    let mut reaches = table
        .bindings
        .iter()
        .filter(|reach| (reach.set, reach.binding) == (set, binding));
    let one = match (reaches.next(), reaches.next()) {
        (Some(one), None) => one,
        (None, _) => return Err(format!("the interface has no place for {set}:{binding}")),
        (Some(_), Some(_)) => {
            return Err(format!("the interface has two places for {set}:{binding}"));
        }
    };
    if one.argument as usize >= table.arguments.len() {
        return Err(format!(
            "{set}:{binding} is reached from argument {}, but the interface has {}",
            one.argument,
            table.arguments.len()
        ));
    }
    fits(table, resource, one.descriptor.as_ref())?;
    Ok(one)
}

/// Whether the descriptors of `resource` have their size and alignment at `place`, and its length
/// can be asked for.
fn fits(
    table: &AbiTable,
    resource: &Resource,
    place: Option<&DescriptorPlace>,
) -> Result<(), String> {
    let (set, binding) = (resource.set, resource.binding);
    let align = resource.descriptor_align;
    if !align.divides(table.stride.into()) || table.stride == 0 {
        return Err(format!(
            "descriptors of {} bytes; those of {set}:{binding} must be aligned to {align}",
            table.stride
        ));
    }
    let is_array = resource.count != Some(1) || !resource.arrays.is_empty();
    let Some(place) = place else {
        return match resource.lengths.is_empty() {
            true if is_array && resource.descriptor_bytes > u64::from(table.stride) => {
                Err(too_large(table, resource, resource.descriptor_bytes))
            }
            true => Ok(()),
            false => Err(format!("the interface has no length of {set}:{binding}")),
        };
    };
    let end = match (place.length, resource.lengths.is_empty()) {
        (Some(length), false) => {
            if length < resource.descriptor_bytes as u32 || !length.is_multiple_of(4) {
                return Err(format!(
                    "the length of {set}:{binding} cannot lie at byte {length} of its descriptor"
                ));
            }
            u64::from(length) + 4
        }
        (None, false) => return Err(format!("the interface has no length of {set}:{binding}")),
        (_, true) => resource.descriptor_bytes,
    };
    if end > u64::from(table.stride) {
        return Err(too_large(table, resource, end));
    }
    if place.offset.checked_add(table.stride).is_none() {
        return Err(format!(
            "the descriptor of {set}:{binding} has no 32-bit offset"
        ));
    }
    let misplaced = |offset: &u32| !offset.is_multiple_of(8);
    if !align.divides(place.offset.into()) || place.loads.iter().any(misplaced) {
        return Err(format!(
            "the offset {} of {set}:{binding} is not a multiple of {align}, or an address on the way is not aligned to 8",
            place.offset
        ));
    }
    Ok(())
}

fn too_large(table: &AbiTable, resource: &Resource, bytes: u64) -> String {
    format!(
        "a descriptor of {}:{} has {bytes} bytes on this target, but the interface has {}",
        resource.set, resource.binding, table.stride
    )
}

/// What the kernel reads of one resource.
fn accesses(resource: &Resource, place: &DescriptorPlace) -> Vec<Access> {
    let access = |ids: &[Id], of_arrays: bool, value: Fetched, offset: u32| {
        let chosen = ids
            .iter()
            .filter(|id| resource.arrays.contains(id) == of_arrays);
        let variables: Vec<Id> = chosen.copied().collect();
        (!variables.is_empty()).then(|| Access {
            variables,
            value,
            loads: place.loads.clone(),
            offset: place.offset + offset,
        })
    };
    // `fits` has found a place for the length where one is asked for.
    let (all, lengths) = (&resource.variables, &resource.lengths);
    let length = |of_arrays, value| access(lengths, of_arrays, value, place.length?);
    let found = match resource.kind {
        ResourceKind::Image | ResourceKind::Tensor | ResourceKind::Sampler => {
            vec![access(all, false, Fetched::Descriptor, 0)]
        }
        ResourceKind::Buffer => vec![
            access(all, false, Fetched::Buffer, 0),
            access(all, true, Fetched::Buffers, 0),
            length(false, Fetched::Length),
            length(true, Fetched::Lengths),
        ],
    };
    found.into_iter().flatten().collect()
}

/// What each of the table's arguments is good for, and how each resource is reached.
///
/// `UnsupportedAbi` goes to `diagnostics` for every resource that the table does not reach.
pub(super) fn uses<'r>(
    table: &AbiTable,
    resources: &'r [Resource],
    diagnostics: &mut Diagnostics,
) -> (Vec<Use<'r>>, Vec<Reached>) {
    let mut uses: Vec<Option<Use<'r>>> = table.arguments.iter().map(|_| None).collect();
    let mut reached: Vec<Reached> = Vec::new();
    for resource in resources {
        let (set, binding) = (resource.set, resource.binding);
        let mut refuse = |message: String| {
            diagnostics.push(
                Diagnostic::error(Code::UnsupportedAbi, message)
                    .at_word(resource.declared)
                    .help("choose another form or another layout of descriptors (docs/abi.md)"),
            );
        };
        let shares = |other: &Reached| (other.reach.set, other.reach.binding) == (set, binding);
        if reached.iter().any(shares) {
            refuse(format!(
                "{set}:{binding} is more than one of a buffer, an image, a tensor and a sampler"
            ));
            continue;
        }
        let reach = match reach(table, resource) {
            Ok(reach) => reach,
            Err(message) => {
                refuse(message);
                continue;
            }
        };
        reached.push(Reached {
            kind: resource.kind,
            count: resource.count,
            reach: reach.clone(),
        });
        let Some(slot) = uses.get_mut(reach.argument as usize) else {
            diagnostics.push(Diagnostic::bug(format!(
                "{set}:{binding} has argument {}, which the interface does not have",
                reach.argument
            )));
            continue;
        };
        match (&reach.descriptor, slot) {
            (None, slot @ None) => *slot = Some(Use::Resource(resource)),
            (Some(place), slot @ None) => *slot = Some(Use::Table(accesses(resource, place))),
            (Some(place), Some(Use::Table(found))) => found.extend(accesses(resource, place)),
            (None, Some(_)) | (Some(_), Some(Use::Resource(_))) => refuse(format!(
                "argument {} is the address of a resource and has another use: {set}:{binding}",
                reach.argument
            )),
        }
    }
    // An argument that reaches nothing is a table without descriptors.
    let uses = uses
        .into_iter()
        .map(|one| one.unwrap_or(Use::Table(Vec::new())))
        .collect();
    (uses, reached)
}
