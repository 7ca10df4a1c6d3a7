//! Tables of descriptors in the simulated memory, for kernels that reach resources through them.

use super::inputs::{Inputs, Refusal};
use super::job::Job;
use crate::launch::BufferName;
use splitbar_layout::abi::{DescriptorPlace, Reached, ResourceKind};
use splitbar_sim::memory::{Global, RegionId};
use std::collections::BTreeMap;

/// A table by its way from an argument: the argument's position and the loads that lead there.
type Way = (u32, Vec<u32>);

/// A table's bytes, and the tables whose addresses it holds.
#[derive(Default)]
struct Table {
    bytes: Vec<u8>,
    addresses: Vec<(u32, Way)>,
}

impl Table {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(slot) = self.bytes.get_mut(offset..end) {
            slot.copy_from_slice(bytes);
        }
    }
}

/// The position in the resource's array of descriptors that `place` names.
pub(super) fn element(resource: &Reached, place: BufferName) -> Option<u32> {
    let (own, element) = match place {
        BufferName::Binding(set, binding) => ((set, binding), 0),
        BufferName::Element(set, binding, element) => ((set, binding), element),
        BufferName::Argument(_) => return None,
    };
    let is = own == (resource.reach.set, resource.reach.binding);
    let is_there = resource
        .count
        .is_none_or(|count| u64::from(element) < count);
    (is && is_there).then_some(element)
}

impl Job {
    /// Writes all tables; the address of each by the position of its argument.
    ///
    /// # Errors
    /// A resource without a buffer, or an image or tensor whose buffer does not fit.
    pub(super) fn tables(
        &self,
        inputs: &Inputs,
        global: &mut Global,
        regions: &[RegionId],
    ) -> Result<BTreeMap<u32, u64>, Refusal> {
        let mut tables: BTreeMap<Way, Table> = BTreeMap::new();
        for resource in &self.resources {
            let Some(place) = &resource.reach.descriptor else {
                continue; // an argument of its own
            };
            let way = |loads: usize| {
                let taken = place.loads.iter().take(loads).copied().collect();
                (resource.reach.argument, taken)
            };
            for (number, offset) in place.loads.iter().enumerate() {
                let table = tables.entry(way(number)).or_default();
                table.addresses.push((*offset, way(number + 1)));
            }
            let mut descriptors = Vec::new();
            for ((name, bytes), region) in inputs.buffers.iter().zip(regions) {
                if let Some(element) = element(resource, *name) {
                    let base = global.base(*region);
                    let bytes = self.described_resource(
                        resource.kind,
                        place,
                        *name,
                        base,
                        bytes.len(),
                        global,
                    )?;
                    let step = u64::from(element) * u64::from(self.descriptor_bytes);
                    let offset = u64::from(place.offset) + step;
                    if descriptors.iter().any(|(other, _)| *other == offset) {
                        return Err(Refusal::Launch(format!("{name} is given twice")));
                    }
                    descriptors.push((offset, bytes));
                }
            }
            if resource.kind == ResourceKind::Sampler {
                for name in self.samplers.keys() {
                    if let Some(element) = element(resource, *name) {
                        let step = u64::from(element) * u64::from(self.descriptor_bytes);
                        let offset = u64::from(place.offset) + step;
                        descriptors.push((offset, self.sampler_bytes(*name)?));
                    }
                }
            }
            if descriptors.is_empty() {
                let place = BufferName::Binding(resource.reach.set, resource.reach.binding);
                return Err(self.no_buffer(place));
            }
            let table = tables.entry(way(place.loads.len())).or_default();
            for (offset, bytes) in descriptors {
                let end = offset + bytes.len() as u64;
                if end > inputs.limits.buffer_bytes as u64 {
                    return Err(Refusal::Launch(format!(
                        "a table of descriptors has {end} bytes; the limit is {}",
                        inputs.limits.buffer_bytes
                    )));
                }
                table.write(offset as usize, &bytes);
            }
        }
        Ok(place_all(tables, global))
    }

    /// The bytes of the descriptor of the resource `name`, whose `length` bytes lie at `base`.
    fn described_resource(
        &self,
        kind: ResourceKind,
        place: &DescriptorPlace,
        name: BufferName,
        base: u64,
        length: usize,
        global: &mut Global,
    ) -> Result<Vec<u8>, Refusal> {
        match kind {
            ResourceKind::Buffer => {
                let mut table = Table::default();
                table.write(0, &base.to_le_bytes());
                // A length that nothing asks for may lie elsewhere.
                let holds = |at: &u32| u64::from(*at) + 4 <= u64::from(self.descriptor_bytes);
                if let Some(at) = place.length.filter(holds) {
                    table.write(at as usize, &(length as u32).to_le_bytes());
                }
                Ok(table.bytes)
            }
            ResourceKind::Tensor => self.tensor(global, name, base, length),
            ResourceKind::Sampler => Err(Refusal::Launch(format!(
                "{name} is a sampler and has no bytes: set it with `Job::with_sampler`"
            ))),
            ResourceKind::Image => {
                let texels = self.images.get(&name).copied();
                let words = self.descriptor(texels, base, length, name)?;
                let mut bytes = self.described(global, name, &words);
                // The descriptor of a texel buffer is shorter.
                bytes.truncate(self.descriptor_bytes as usize);
                Ok(bytes)
            }
        }
    }
}

/// Puts the tables into memory, those that hold addresses of others after them; the address of each
/// that an argument names.
fn place_all(tables: BTreeMap<Way, Table>, global: &mut Global) -> BTreeMap<u32, u64> {
    let mut tables: Vec<(Way, Table)> = tables.into_iter().collect();
    tables.sort_by_key(|((_, loads), _)| std::cmp::Reverse(loads.len()));
    let mut placed: BTreeMap<Way, u64> = BTreeMap::new();
    for ((argument, loads), mut table) in tables {
        for (offset, way) in std::mem::take(&mut table.addresses) {
            debug_assert!(placed.contains_key(&way), "the table {way:?} is not placed");
            let address = placed.get(&way).copied().unwrap_or(0);
            table.write(offset as usize, &address.to_le_bytes());
        }
        let name = format!("table {argument} {loads:?}");
        let region = global.add(&name, table.bytes, false);
        placed.insert((argument, loads), global.base(region));
    }
    let first = placed
        .into_iter()
        .filter(|((_, loads), _)| loads.is_empty());
    first
        .map(|((argument, _), address)| (argument, address))
        .collect()
}
