//! Tensors in the simulated memory: their descriptors and shapes (docs/abi.md).

use super::inputs::{Elements, Refusal};
use super::job::Job;
use crate::launch::BufferName;
use splitbar_layout::abi::{ArgumentKind, ResourceKind};
use splitbar_layout::tensor::MOST_DIMENSIONS;
use splitbar_sim::memory::Global;

impl Elements {
    /// Elements that follow each other without gaps from the start of the buffer on.
    pub fn packed(bytes: u32, dimensions: &[u64]) -> Elements {
        Elements {
            bytes,
            dimensions: dimensions.to_vec(),
            strides: None,
            first: 0,
        }
    }

    /// The distances in bytes; `None` if one has more than 63 bits.
    fn strides(&self) -> Option<Vec<i64>> {
        if let Some(strides) = &self.strides {
            return Some(strides.clone());
        }
        let mut strides = Vec::new();
        let mut next = i64::from(self.bytes);
        for dimension in self.dimensions.iter().rev() {
            strides.push(next);
            next = next.checked_mul(i64::try_from(*dimension).ok()?)?;
        }
        strides.reverse();
        Some(strides)
    }

    /// The shape, for a buffer of `length` bytes.
    fn shape(&self, length: usize) -> Result<Vec<u8>, String> {
        let strides = self
            .strides()
            .ok_or("the tensor has more than 2^63 bytes".to_owned())?;
        let rank = self.dimensions.len();
        if rank == 0 || rank as u64 > MOST_DIMENSIONS || strides.len() != rank {
            return Err(format!(
                "a tensor has 1 to {MOST_DIMENSIONS} dimensions and as many strides, but {rank} and {} are given",
                strides.len()
            ));
        }
        if !matches!(self.bytes, 1 | 2 | 4 | 8) {
            return Err(format!("elements of {} bytes", self.bytes));
        }
        // The first and the last byte, where there are elements.
        let (mut least, mut most) = (i128::from(self.first), i128::from(self.first));
        for (dimension, stride) in self.dimensions.iter().zip(&strides) {
            if stride % i64::from(self.bytes) != 0 {
                return Err(format!(
                    "the stride {stride} is not a multiple of the element's {} bytes",
                    self.bytes
                ));
            }
            let reach = i128::from(*stride).checked_mul(i128::from(dimension.saturating_sub(1)));
            let reach = reach.ok_or("the tensor is larger than memory".to_owned())?;
            least = least.saturating_add(reach.min(0));
            most = most.saturating_add(reach.max(0));
        }
        let is_empty = self.dimensions.contains(&0);
        let end = most.saturating_add(self.bytes.into());
        if !is_empty && (least < 0 || end > length as i128) {
            return Err(format!(
                "the buffer has {length} bytes, but the tensor uses the bytes {least} to {end}"
            ));
        }
        let dimensions = self.dimensions.iter().flat_map(|one| one.to_le_bytes());
        let strides = strides.iter().flat_map(|one| one.to_le_bytes());
        Ok(dimensions.chain(strides).collect())
    }
}

impl Job {
    /// Says that the buffer at `place` is a tensor: the kernel gets a descriptor of it.
    #[must_use]
    pub fn with_tensor(mut self, place: BufferName, elements: Elements) -> Job {
        self.tensors.insert(place, elements);
        self
    }

    /// That the kernel has the tensors that it was said to have.
    pub(super) fn takes_tensors(&self) -> Result<(), Refusal> {
        let has = |place: &BufferName| {
            let mut arguments = self.arguments.iter();
            let mut resources = self.resources.iter();
            arguments.any(|one| {
                one.kind == ArgumentKind::Tensor && BufferName::from_argument(one) == *place
            }) || resources.any(|one| {
                one.kind == ResourceKind::Tensor && super::tables::element(one, *place).is_some()
            })
        };
        match self.tensors.keys().find(|place| !has(place)) {
            Some(place) => Err(Refusal::Launch(format!(
                "the kernel uses no tensor {place}"
            ))),
            None => Ok(()),
        }
    }

    /// The descriptor of the tensor at `place`, whose `length` bytes lie at `base`; its shape is
    /// put into memory.
    pub(super) fn tensor(
        &self,
        global: &mut Global,
        place: BufferName,
        base: u64,
        length: usize,
    ) -> Result<Vec<u8>, Refusal> {
        let elements = self.tensors.get(&place).ok_or_else(|| {
            Refusal::Launch(format!(
                "{place} is a tensor: set its elements and dimensions with `Job::with_tensor`"
            ))
        })?;
        let shape = elements
            .shape(length)
            .map_err(|why| Refusal::Launch(format!("{place}: {why}")))?;
        let shape = global.add(&format!("shape {place}"), shape, false);
        let first = base.wrapping_add(elements.first);
        Ok([first, global.base(shape)]
            .iter()
            .flat_map(|address| address.to_le_bytes())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_larger_than_memory_is_refused() {
        let mut elements = Elements::packed(4, &[2; 32]);
        for (dimension, stride) in [
            (u64::MAX, i64::MAX - 3),
            (u64::MAX, i64::MIN),
            (1 << 62, i64::MAX - 3),
            (1 << 62, i64::MIN),
        ] {
            elements.dimensions = vec![dimension; 32];
            elements.strides = Some(vec![stride; 32]);
            assert!(elements.shape(1 << 20).is_err(), "{dimension} {stride}");
        }
    }
}
