//! An issued memory operation, and how others stand to it.

use super::inst::{Action, Components, Memories, Registers};
use super::labelled::OfLanes;
use super::masks::each;
use super::table::memory::Extend;
use crate::clock::Time;
use crate::context::Access;
use crate::image::Format;
use crate::queue::Work;
use crate::sampler::{Compare, Tap};

/// An issued memory operation.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub pc: u32,
    pub memories: Memories,
    pub action: Action,
    pub bytes: u8,
    pub extend: Extend,
    pub places: u8,
    /// Of a load: the registers whose values may be read, of each place.
    pub used: u16,
    /// The meaning of the registers, and the format of the texels.
    pub texels: Option<(Components, Format)>,
    /// The texels that a sampler reads for each lane.
    pub taps: Vec<Vec<Tap>>,
    /// The comparison of depths, and the bits of each lane's reference.
    pub comparison: Option<(Compare, [u32; 64])>,
    /// Lanes that take part.
    pub lanes: u64,
    /// Lanes beyond the bounds of a buffer: they load zeros and store nothing.
    pub beyond: u64,
    /// Its relation to the accesses of others, including its caches.
    pub access: Access,
    /// The waves of the workgroup see it in the order of issue, whatever is waited for.
    pub in_order: bool,
    /// The wave's time when it took effect, of what takes effect in order.
    pub time: Time,
    /// The addresses of each lane's bytes, for each place.
    pub addresses: [[u64; 64]; 2],
    /// Shared addresses of a copy, and how many bytes of a lane it touches there.
    pub shared: [u64; 64],
    pub shared_bytes: u8,
    /// The stored or loaded data: consecutive registers.
    pub data: Vec<[u32; 64]>,
    /// The dependences of the data; none after the end of the list.
    pub labels: Vec<OfLanes>,
    pub dst: Option<Registers>,
}

impl Default for Operation {
    fn default() -> Operation {
        Operation {
            pc: 0,
            memories: Memories::Global,
            action: Action::Hint,
            bytes: 0,
            extend: Extend::Zero,
            places: 1,
            used: u16::MAX,
            texels: None,
            taps: Vec::new(),
            comparison: None,
            lanes: 0,
            beyond: 0,
            access: Access::PLAIN,
            in_order: false,
            time: 0,
            addresses: [[0; 64]; 2],
            shared: [0; 64],
            shared_bytes: 0,
            data: Vec::new(),
            labels: Vec::new(),
            dst: None,
        }
    }
}

impl Operation {
    /// Returns true if it is a copy between global and shared memory.
    pub(super) fn copies(&self) -> bool {
        matches!(self.action, Action::ToShared | Action::FromShared)
    }

    /// Where it touches shared memory: address and bytes, for each lane and place. Flat accesses
    /// are left out: they are waited for as global ones are.
    pub(super) fn shared_ranges(&self) -> Vec<(u64, u64)> {
        if self.copies() {
            let bytes = u64::from(self.shared_bytes);
            return each(self.lanes)
                .map(|lane| (self.shared[lane], bytes))
                .collect();
        }
        if self.memories != Memories::Shared {
            return Vec::new();
        }
        let places = self.addresses.iter().take(self.places.into());
        places
            .flat_map(|place| each(self.lanes).map(|lane| (place[lane], self.bytes.into())))
            .collect()
    }

    /// Whether, on hardware, a younger operation of the same wave may overtake this one in shared
    /// memory to bad effect: LDS instructions and copies go different ways, and order themselves
    /// only among their own kind. What a copy into shared memory has yet to write is looked after
    /// by its marks.
    pub(super) fn may_be_overtaken_by(&self, younger: &Operation) -> bool {
        let reads = |operation: &Operation| matches!(operation.action, Action::Load);
        let moves = |operation: &Operation| {
            operation.memories == Memories::Shared
                && matches!(
                    operation.action,
                    Action::Load | Action::Store | Action::Atomic { .. }
                )
        };
        match (self.action, younger.action) {
            (_, Action::ToShared) => moves(self),
            (_, Action::FromShared) => moves(self) && !reads(self),
            (Action::FromShared, _) => moves(younger) && !reads(younger),
            _ => false,
        }
    }
}

impl Work for Box<Operation> {
    fn matters(&self) -> bool {
        !matches!(self.action, Action::Hint)
    }

    /// What tells others of the wave's work is kept behind that work by waits alone; bytes that
    /// both touch are touched in order all the same.
    fn follows(&self, older: &Box<Operation>) -> bool {
        !self.tells() || self.may_overlap(older)
    }

    fn tells(&self) -> bool {
        self.memories != Memories::Shared && self.action.publishes(self.access)
    }
}

impl Operation {
    /// Returns true if the two may touch a common byte by their addresses.
    pub(super) fn may_overlap(&self, other: &Operation) -> bool {
        let elsewhere = [self, other].map(|o| o.texels.is_some() || o.copies());
        if elsewhere.contains(&true) {
            return true;
        }
        let (mine, its) = (self.ranges(), other.ranges());
        let span = |ranges: &[(u64, u64)]| {
            // Without lanes there are no ranges, and nothing overlaps 0..0.
            let first = ranges.iter().map(|r| r.0).min().unwrap_or(0);
            let end = ranges.iter().map(|r| r.1).max().unwrap_or(0);
            (first, end)
        };
        let meet = |a: (u64, u64), b: (u64, u64)| a.0 < b.1 && b.0 < a.1;
        meet(span(&mine), span(&its)) && mine.iter().any(|a| its.iter().any(|b| meet(*a, *b)))
    }

    /// The first address and the end of what each lane touches at each place.
    pub(super) fn ranges(&self) -> Vec<(u64, u64)> {
        let bytes = u64::from(self.bytes);
        let places = self.addresses.iter().take(self.places.into());
        let lanes = self.lanes & !self.beyond;
        places
            .flat_map(|place| each(lanes).map(|lane| place[lane]))
            .map(|first| (first, first.saturating_add(bytes)))
            .collect()
    }
}
