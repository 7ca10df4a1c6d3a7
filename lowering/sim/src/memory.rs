//! Global and shared memory: bytes, bounds, and the shadow that finds races.

use crate::race::Shadow;
use std::collections::BTreeMap;

/// The memory of an address.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Buffers, constants, the kernel's arguments: the regions of [`Global`].
    Global,
    /// The workgroup's memory (LDS).
    Shared,
}

impl Space {
    /// As it is written in findings.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global memory",
            Space::Shared => "shared memory",
        }
    }
}

/// A piece of global memory with a name.
#[derive(Clone, Debug)]
pub struct Region {
    name: String,
    base: u64,
    bytes: Vec<u8>,
    writable: bool,
    shadow: Shadow,
    unfenced: Unfenced,
}

impl Region {
    /// As it is written in findings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Its contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Which bytes of a memory a thread has written since the last fence between its view of them and
/// that of the unit for bulk copies.
#[derive(Clone, Debug, Default)]
struct Unfenced(Vec<bool>);

impl Unfenced {
    fn new(bytes: usize) -> Unfenced {
        Unfenced(vec![false; bytes])
    }

    fn fill(&mut self, offset: usize, bytes: usize, unfenced: bool) {
        if let Some(part) = self.0.get_mut(offset..offset.saturating_add(bytes)) {
            part.fill(unfenced);
        }
    }

    fn any(&self, offset: usize, bytes: usize) -> bool {
        let part = self.0.get(offset..offset.saturating_add(bytes));
        part.is_some_and(|part| part.contains(&true))
    }
}

/// Global memory: regions that do not touch, so that an access beyond one is noticed.
#[derive(Clone, Debug, Default)]
pub struct Global {
    regions: Vec<Region>,
    last: usize,
    wraps: bool,
}

/// A region's index in [`Global`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RegionId(usize);

/// Distance of the regions that [`Global::add`] places: no kernel's index arithmetic with 32 bits
/// reaches the next region.
const STRIDE: u64 = 1 << 36;

impl Global {
    /// Adds a region at an address of its own choice (a multiple of 4096).
    pub fn add(&mut self, name: &str, bytes: Vec<u8>, writable: bool) -> RegionId {
        let base = STRIDE * (self.regions.len() as u64 + 1);
        self.add_at(name, base, bytes, writable)
    }

    /// Adds a region at a given address. A region that overlaps an earlier one is hidden by it.
    pub fn add_at(&mut self, name: &str, base: u64, bytes: Vec<u8>, writable: bool) -> RegionId {
        self.regions.push(Region {
            name: name.to_owned(),
            base,
            shadow: Shadow::new(bytes.len()),
            unfenced: Unfenced::new(bytes.len()),
            bytes,
            writable,
        });
        RegionId(self.regions.len() - 1)
    }

    /// The region.
    pub fn region(&self, id: RegionId) -> Option<&Region> {
        self.regions.get(id.0)
    }

    /// From now on every address is one of a buffer: beyond its end a buffer begins again. For
    /// launches whose sizes and indices are made up.
    pub fn wrap(&mut self) {
        self.wraps = true;
    }

    /// The region's first address; 0 when there is no such region.
    pub fn base(&self, id: RegionId) -> u64 {
        self.region(id).map_or(0, Region::base)
    }

    /// Bytes of all regions together.
    pub fn bytes(&self) -> u64 {
        self.regions.iter().map(|r| r.bytes.len() as u64).sum()
    }

    /// The region that an address lies in or, failing that, the one below it.
    pub fn nearest(&self, address: u64) -> Option<&Region> {
        self.regions
            .iter()
            .filter(|r| r.base <= address)
            .max_by_key(|r| r.base)
    }

    /// A thread has written these bytes.
    pub(crate) fn unfence(&mut self, address: u64, bytes: usize) {
        if let Some((region, offset)) = self.find(address, bytes) {
            region.unfenced.fill(offset, bytes, true);
        }
    }

    /// The unit for bulk copies sees all bytes as they are.
    pub(crate) fn fence_all_proxies(&mut self) {
        for region in &mut self.regions {
            region.unfenced.0.fill(false);
        }
    }

    /// Returns true if a thread has written one of these bytes, and no fence came since.
    pub(crate) fn is_unfenced(&mut self, address: u64, bytes: usize) -> bool {
        let found = self.find(address, bytes);
        found.is_some_and(|(region, offset)| region.unfenced.any(offset, bytes))
    }

    /// The region that holds all of `bytes` bytes at `address`, and their offset in it.
    fn find(&mut self, address: u64, bytes: usize) -> Option<(&mut Region, usize)> {
        let holds = |r: &Region| {
            address.checked_sub(r.base).is_some_and(|offset| {
                offset <= r.bytes.len() as u64 && (bytes as u64) <= r.bytes.len() as u64 - offset
            })
        };
        if !self.regions.get(self.last).is_some_and(holds) {
            match self.regions.iter().position(holds) {
                Some(found) => self.last = found,
                None if self.wraps => return self.find_wrapped(address, bytes),
                None => return None,
            }
        }
        let region = self.regions.get_mut(self.last)?;
        let offset = (address - region.base) as usize;
        Some((region, offset))
    }

    /// The buffer whose end is before `address`, or the first one, and where in it a buffer that
    /// begins again and again has the address.
    fn find_wrapped(&mut self, address: u64, bytes: usize) -> Option<(&mut Region, usize)> {
        let fits = |r: &&mut Region| r.writable && r.bytes.len() >= bytes.max(1);
        let buffers = self.regions.iter_mut().filter(fits);
        let region = buffers.min_by_key(|r| match address.checked_sub(r.base) {
            Some(beyond) => (false, beyond),
            None => (true, r.base),
        })?;
        let length = region.bytes.len() as u64;
        let offset = (address.wrapping_sub(region.base) % length) as usize;
        let offset = if offset + bytes > region.bytes.len() {
            0
        } else {
            offset
        };
        Some((region, offset))
    }
}

/// Shared memory of one workgroup.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    bytes: Vec<u8>,
    written: Vec<bool>,
    shadow: Shadow,
    unfenced: Unfenced,
    /// Bytes that an outstanding asynchronous copy will write: per dword, which instruction of
    /// which wave, as the program numbers them.
    pending: BTreeMap<usize, Vec<Pending>>,
}

/// An asynchronous copy into shared memory that is outstanding.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The wave that issued it.
    pub wave: u16,
    /// Its instruction.
    pub pc: u32,
}

impl Shared {
    /// Shared memory of `bytes` bytes, filled with `noise`: what a kernel reads without having
    /// written it is not 0.
    pub fn new(bytes: usize, mut noise: impl FnMut() -> u8) -> Shared {
        Shared {
            bytes: (0..bytes).map(|_| noise()).collect(),
            written: vec![false; bytes],
            shadow: Shadow::new(bytes),
            unfenced: Unfenced::new(bytes),
            pending: BTreeMap::new(),
        }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A thread has written these bytes.
    pub(crate) fn unfence(&mut self, offset: usize, bytes: usize) {
        self.unfenced.fill(offset, bytes, true);
    }

    /// The unit for bulk copies sees these bytes as they are.
    pub(crate) fn fence_proxies(&mut self, offset: usize, bytes: usize) {
        self.unfenced.fill(offset, bytes, false);
    }

    /// The unit for bulk copies sees all bytes as they are.
    pub(crate) fn fence_all_proxies(&mut self) {
        self.unfenced.0.fill(false);
    }

    /// Returns true if a thread has written one of these bytes, and no fence came since.
    pub(crate) fn is_unfenced(&self, offset: usize, bytes: usize) -> bool {
        self.unfenced.any(offset, bytes)
    }

    /// Marks bytes that an asynchronous copy has yet to write.
    pub fn mark(&mut self, offset: usize, bytes: usize, by: Pending) {
        for dword in dwords(offset, bytes) {
            self.pending.entry(dword).or_default().push(by);
        }
    }

    /// Takes one mark of `by` away again: the copy is waited for.
    pub fn unmark(&mut self, offset: usize, bytes: usize, by: Pending) {
        for dword in dwords(offset, bytes) {
            if let Some(marks) = self.pending.get_mut(&dword) {
                if let Some(at) = marks.iter().position(|m| *m == by) {
                    marks.remove(at);
                }
                if marks.is_empty() {
                    self.pending.remove(&dword);
                }
            }
        }
    }

    /// An outstanding copy into one of these bytes.
    pub fn pending(&self, offset: usize, bytes: usize) -> Option<Pending> {
        if self.pending.is_empty() {
            return None;
        }
        dwords(offset, bytes).find_map(|d| self.pending.get(&d)?.first().copied())
    }
}

fn dwords(offset: usize, bytes: usize) -> std::ops::Range<usize> {
    offset / 4..offset.saturating_add(bytes).div_ceil(4)
}

/// Bytes of a memory that an access may touch.
pub(crate) struct View<'m> {
    pub bytes: &'m mut [u8],
    pub shadow: &'m mut Shadow,
    /// Offset of the bytes in their memory.
    pub offset: usize,
    /// The bytes that were written; `None` if all count as written.
    pub written: Option<&'m mut [bool]>,
    pub writable: bool,
    pub region: &'m str,
}

impl Global {
    /// Returns true if the bytes at `address` lie in one region that the kernel may write: a
    /// buffer, not its arguments or constants.
    pub(crate) fn is_writable(&mut self, address: u64, bytes: usize) -> bool {
        let region = self.find(address, bytes);
        region.is_some_and(|(region, _)| region.writable)
    }

    /// The bytes at `address`, if they lie in one region.
    pub(crate) fn view(&mut self, address: u64, bytes: usize) -> Option<View<'_>> {
        let (region, offset) = self.find(address, bytes)?;
        Some(View {
            bytes: region.bytes.get_mut(offset..offset + bytes)?,
            shadow: &mut region.shadow,
            offset,
            written: None,
            writable: region.writable,
            region: &region.name,
        })
    }
}

impl Shared {
    /// The bytes at `address`, if they exist.
    pub(crate) fn view(&mut self, address: u64, bytes: usize) -> Option<View<'_>> {
        let offset = usize::try_from(address).ok()?;
        let end = offset.checked_add(bytes)?;
        Some(View {
            bytes: self.bytes.get_mut(offset..end)?,
            shadow: &mut self.shadow,
            offset,
            written: self.written.get_mut(offset..end),
            writable: true,
            region: "shared",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn buffers_that_wrap_have_every_address() {
        let mut global = Global::default();
        let constants = global.add("constants", vec![9; 16], false);
        let first = global.add("first", (0..16).collect(), true);
        let second = global.add("second", (16..32).collect(), true);
        let [constants, first, second] = [constants, first, second].map(|id| global.base(id));
        assert!(global.view(first + 16, 4).is_none());
        global.wrap();
        for (address, expected) in [
            (first, 0),
            (first + 20, 4),
            (first + 14, 0),
            (second - 12, 4),
            (second + (1 << 40), 16),
            (constants, 9),
            (8, 8),
            (constants + 16, 0),
            (u64::MAX, 16),
        ] {
            assert_eq!(
                global.view(address, 4).unwrap().bytes[0],
                expected,
                "{address:#x}"
            );
        }
        assert!(global.view(first, 17).is_none());
        assert!(Global::default().view(0, 4).is_none());
    }

    #[test]
    fn accesses_stay_inside_one_region() {
        let mut global = Global::default();
        let a = global.add("a", vec![1; 16], true);
        let b = global.add("b", vec![2; 16], false);
        let (a, b) = (global.base(a), global.base(b));
        assert_eq!(global.view(a + 12, 4).unwrap().bytes, [1; 4]);
        assert!(global.view(a + 13, 4).is_none());
        assert!(global.view(a - 1, 4).is_none());
        assert!(global.view(u64::MAX, 4).is_none());
        assert!(!global.view(b, 16).unwrap().writable);
        assert_eq!(global.nearest(a + 100).unwrap().name(), "a");
    }

    #[test]
    fn marks_are_counted() {
        let mut shared = Shared::new(64, || 0);
        let by = |wave| Pending { wave, pc: 4 };
        shared.mark(8, 8, by(0));
        shared.mark(12, 4, by(1));
        assert_eq!(shared.pending(12, 1), Some(by(0)));
        shared.unmark(8, 8, by(0));
        assert_eq!(shared.pending(8, 4), None);
        assert_eq!(shared.pending(10, 4), Some(by(1)));
    }
}
