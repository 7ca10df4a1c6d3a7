//! Detects the data races of a memory: the last accesses of each byte, and whether the next access
//! is ordered after them.
//!
//! One cell per dword, in pages that come with the first access. A cell remembers its last write
//! and the reads since. An access that covers part of a dword splits the cell into four. Reads of
//! one agent replace each other; of the reads by other clusters the first and the last are kept.

use crate::clock::{Clock, Time};
use crate::finding::Site;
use std::collections::HashMap;

/// The relation of an access to others of the same byte.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Races with every unordered access that conflicts.
    Plain,
    /// Cannot be told from an atomic access (machine code has one instruction for both): races with
    /// what is not atomic.
    Unknown,
    /// Never races with atomic accesses.
    Atomic,
}

/// One access, as it is remembered.
#[derive(Copy, Clone, Debug)]
pub struct Stamp {
    /// The agent and the place.
    pub site: Site,
    /// The cluster whose clocks count.
    pub cluster: u32,
    /// Whose clock counts: the wave, or one of its lanes where the program says that lanes have
    /// clocks ([`crate::Program::agents`]).
    pub agent: u16,
    /// The agent's own time; 0: no access at all.
    pub time: Time,
    /// Its relation to others.
    pub sharing: Sharing,
    /// True if it writes.
    pub write: bool,
}

const NOBODY: Stamp = Stamp {
    site: Site {
        pc: 0,
        group: 0,
        wave: 0,
        lane: None,
    },
    cluster: 0,
    agent: 0,
    time: 0,
    sharing: Sharing::Plain,
    write: false,
};

impl Stamp {
    fn same_agent(&self, other: &Stamp) -> bool {
        self.cluster == other.cluster && self.agent == other.agent
    }

    /// Returns true if this access and a later one by `next` may race: they are of different
    /// agents, not both atomic, and not ordered by what `next` knows.
    fn races(&self, next: &Stamp, known: &Clock) -> bool {
        if self.time == 0 || self.same_agent(next) {
            return false;
        }
        let tolerated = matches!(
            (self.sharing, next.sharing),
            (Sharing::Atomic, Sharing::Atomic | Sharing::Unknown)
                | (Sharing::Unknown, Sharing::Atomic)
        );
        !tolerated
            && self.time
                > if self.cluster == next.cluster {
                    known.of(self.agent)
                } else {
                    known.of_cluster(self.cluster, self.agent)
                }
    }
}

/// A race of an access with earlier ones.
#[derive(Copy, Clone, Debug)]
pub struct Race {
    /// One of the earlier accesses: a write of the byte, if one races.
    pub earlier: Stamp,
    /// True if one of the earlier accesses is a read.
    pub with_read: bool,
}

impl Race {
    /// Both races of one access, `self` with the first bytes.
    fn and(self, other: Race) -> Race {
        Race {
            with_read: self.with_read || other.with_read,
            ..self
        }
    }

    /// As [`Race::and`], where there may be none.
    fn join(one: Option<Race>, other: Option<Race>) -> Option<Race> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        }
    }
}

#[derive(Copy, Clone, Debug)]
struct Cell {
    write: Stamp,
    /// The only read since the write, when `readers` is 0.
    read: Stamp,
    /// 1 more than the index of the list of reads, or [`SPLIT`].
    readers: u32,
}

const EMPTY: Cell = Cell {
    write: NOBODY,
    read: NOBODY,
    readers: 0,
};
const SPLIT: u32 = u32::MAX;
/// Dwords of a page.
const PAGE: usize = 256;
/// Reads by other clusters that are remembered for one cell, beside those of the cluster itself.
const FOREIGN: usize = 2;

/// The shadow of one memory.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    pages: Vec<Option<Box<[Cell; PAGE]>>>,
    split: HashMap<usize, [Cell; 4]>,
    lists: Lists,
}

/// Lists of reads, for cells that several waves read.
#[derive(Clone, Debug, Default)]
struct Lists {
    lists: Vec<Vec<Stamp>>,
    free: Vec<u32>,
}

impl Shadow {
    /// A shadow of `bytes` bytes.
    pub fn new(bytes: usize) -> Shadow {
        Shadow {
            pages: vec![None; bytes.div_ceil(4 * PAGE)],
            ..Shadow::default()
        }
    }

    /// The last writes of `bytes` bytes at `offset`, by other agents than that of `stamp`.
    pub fn writes_by_others(
        &self,
        offset: usize,
        bytes: usize,
        stamp: Stamp,
    ) -> impl Iterator<Item = Stamp> {
        let end = offset.saturating_add(bytes);
        let dwords = offset / 4..end.div_ceil(4);
        dwords
            .filter_map(move |dword| {
                let page = self.pages.get(dword / PAGE)?.as_ref()?;
                let cell = page.get(dword % PAGE)?;
                let writes = match self.split.get(&dword) {
                    Some(parts) => parts.map(|part| part.write),
                    None => [cell.write; 4],
                };
                let bytes = (dword * 4..).zip(writes);
                Some(bytes.filter(move |(byte, _)| (offset..end).contains(byte)))
            })
            .flatten()
            .map(|(_, write)| write)
            .filter(move |write| write.time > 0 && !write.same_agent(&stamp))
    }

    /// Records an access to `bytes` bytes at `offset` and gives its race with earlier ones, if
    /// there is one.
    pub fn access(
        &mut self,
        offset: usize,
        bytes: usize,
        stamp: Stamp,
        known: &Clock,
    ) -> Option<Race> {
        let mut race = None;
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        while at < end {
            let dword = at / 4;
            let next = ((dword + 1) * 4).min(end);
            let whole = at.is_multiple_of(4) && next - at == 4;
            let found = self.dword(dword, whole, at % 4..at % 4 + (next - at), stamp, known);
            race = Race::join(race, found);
            at = next;
        }
        race
    }

    fn dword(
        &mut self,
        dword: usize,
        whole: bool,
        bytes: std::ops::Range<usize>,
        stamp: Stamp,
        known: &Clock,
    ) -> Option<Race> {
        let page = self.pages.get_mut(dword / PAGE)?;
        let cell = page
            .get_or_insert_with(|| Box::new([EMPTY; PAGE]))
            .get_mut(dword % PAGE)?;
        if whole && cell.readers != SPLIT {
            return access(cell, &mut self.lists, stamp, known);
        }
        if cell.readers != SPLIT {
            // Each byte goes on alone with what the dword knows.
            let mut parts = [*cell; 4];
            for part in parts.iter_mut().skip(1) {
                part.readers = self.lists.copy(part.readers);
            }
            cell.readers = SPLIT;
            self.split.insert(dword, parts);
        }
        let parts = self.split.get_mut(&dword)?;
        let mut race = None;
        for part in parts.get_mut(bytes)? {
            race = Race::join(race, access(part, &mut self.lists, stamp, known));
        }
        race
    }
}

fn access(cell: &mut Cell, lists: &mut Lists, stamp: Stamp, known: &Clock) -> Option<Race> {
    let write = cell.write.races(&stamp, known).then_some(cell.write);
    let mut read = None;
    if stamp.write {
        let reads = lists.get(cell.readers);
        let races = |read: &&Stamp| read.races(&stamp, known);
        read = [&cell.read].into_iter().chain(reads).find(races).copied();
        lists.give_back(cell.readers);
        *cell = Cell {
            write: stamp,
            read: NOBODY,
            readers: 0,
        };
    } else if cell.readers == 0 {
        let same = cell.read.time == 0 || cell.read.same_agent(&stamp);
        if !same {
            cell.readers = lists.take(cell.read);
            lists.remember(cell.readers, stamp);
            cell.read = NOBODY;
        } else {
            cell.read = stamp;
        }
    } else {
        lists.remember(cell.readers, stamp);
    }
    write.or(read).map(|earlier| Race {
        earlier,
        with_read: read.is_some(),
    })
}

impl Lists {
    fn get(&self, readers: u32) -> &[Stamp] {
        let index = (readers as usize).wrapping_sub(1);
        self.lists.get(index).map_or(&[], Vec::as_slice)
    }

    fn take(&mut self, first: Stamp) -> u32 {
        let readers = match self.free.pop() {
            Some(readers) => readers,
            None => {
                self.lists.push(Vec::new());
                self.lists.len() as u32
            }
        };
        if let Some(list) = self.lists.get_mut(readers as usize - 1) {
            list.push(first);
        }
        readers
    }

    fn copy(&mut self, readers: u32) -> u32 {
        if readers == 0 {
            return 0;
        }
        let list = self.get(readers).to_vec();
        self.lists.push(list);
        self.lists.len() as u32
    }

    fn give_back(&mut self, readers: u32) {
        if let Some(list) = self.lists.get_mut((readers as usize).wrapping_sub(1)) {
            list.clear();
            self.free.push(readers);
        }
    }

    fn remember(&mut self, readers: u32, stamp: Stamp) {
        let Some(list) = self.lists.get_mut((readers as usize).wrapping_sub(1)) else {
            debug_assert!(false, "there is no list {readers}");
            return;
        };
        if let Some(own) = list.iter_mut().find(|s| s.same_agent(&stamp)) {
            *own = stamp;
            return;
        }
        let foreign = |s: &Stamp| s.cluster != stamp.cluster;
        if list.iter().filter(|s| foreign(s)).count() > FOREIGN {
            // The first stays, the last goes.
            if let Some(last) = list.iter().rposition(foreign) {
                list.remove(last);
            }
        }
        list.push(stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Order, Scope, WaveClock};

    fn stamp(wave: u16, clock: &WaveClock, sharing: Sharing, write: bool) -> Stamp {
        Stamp {
            site: Site {
                pc: 0,
                group: 0,
                wave,
                lane: None,
            },
            cluster: 0,
            agent: wave,
            time: clock.now.of(wave),
            sharing,
            write,
        }
    }

    #[test]
    fn unordered_conflicts_race_and_ordered_ones_do_not() {
        let mut shadow = Shadow::new(64);
        let (mut a, mut b) = (WaveClock::start(0, 2), WaveClock::start(1, 2));
        assert!(
            shadow
                .access(8, 4, stamp(0, &a, Sharing::Plain, true), &a.now)
                .is_none()
        );
        let mut racing = shadow.clone();
        assert!(
            racing
                .access(8, 4, stamp(1, &b, Sharing::Plain, false), &b.now)
                .is_some()
        );
        assert!(
            racing
                .access(12, 4, stamp(1, &b, Sharing::Plain, false), &b.now)
                .is_none()
        );
        let published = a.publish(0, Order::Release);
        b.learn(&published, Order::Acquire, Scope::Workgroup);
        assert!(
            shadow
                .access(8, 4, stamp(1, &b, Sharing::Plain, false), &b.now)
                .is_none()
        );
        // Write after read: nothing orders wave 0 after wave 1's read.
        assert!(
            shadow
                .access(8, 4, stamp(0, &a, Sharing::Plain, true), &a.now)
                .is_some()
        );
    }

    #[test]
    fn bytes_of_a_dword_are_told_apart() {
        let mut shadow = Shadow::new(64);
        let (a, b) = (WaveClock::start(0, 2), WaveClock::start(1, 2));
        assert!(
            shadow
                .access(0, 1, stamp(0, &a, Sharing::Plain, true), &a.now)
                .is_none()
        );
        assert!(
            shadow
                .access(1, 2, stamp(1, &b, Sharing::Plain, true), &b.now)
                .is_none()
        );
        assert!(
            shadow
                .access(0, 4, stamp(1, &b, Sharing::Plain, false), &b.now)
                .is_some()
        );
    }

    #[test]
    fn writes_beside_the_bytes_are_not_seen() {
        let mut shadow = Shadow::new(64);
        let (a, b) = (WaveClock::start(0, 2), WaveClock::start(1, 2));
        shadow.access(9, 1, stamp(0, &a, Sharing::Plain, true), &a.now);
        let reader = stamp(1, &b, Sharing::Plain, false);
        let seen = |offset, bytes| shadow.writes_by_others(offset, bytes, reader).count();
        assert_eq!(seen(10, 2), 0);
        assert_eq!(seen(8, 1), 0);
        assert_eq!(seen(8, 2), 1);
        assert_eq!(seen(8, 4), 1);
    }

    #[test]
    fn a_write_races_with_each_of_many_readers() {
        let mut shadow = Shadow::new(64);
        let clocks: Vec<WaveClock> = (0..4).map(|w| WaveClock::start(w, 4)).collect();
        for (wave, clock) in (0..).zip(&clocks) {
            assert!(
                shadow
                    .access(0, 8, stamp(wave, clock, Sharing::Plain, false), &clock.now)
                    .is_none()
            );
        }
        // Wave 3 knows of 0 and 1 only.
        let mut writer = clocks[3].clone();
        for (wave, clock) in (0..2).zip(&clocks) {
            let published = clock.clone().publish(wave, Order::Release);
            writer.learn(&published, Order::Acquire, Scope::Workgroup);
        }
        let race = shadow.access(4, 4, stamp(3, &writer, Sharing::Plain, true), &writer.now);
        assert_eq!(race.map(|r| r.earlier.site.wave), Some(2));
    }

    #[test]
    fn atomics_race_with_plain_accesses_only() {
        let (a, b) = (WaveClock::start(0, 2), WaveClock::start(1, 2));
        for (second, races) in [
            (Sharing::Atomic, false),
            (Sharing::Unknown, false),
            (Sharing::Plain, true),
        ] {
            let mut shadow = Shadow::new(8);
            shadow.access(0, 4, stamp(0, &a, Sharing::Atomic, true), &a.now);
            assert_eq!(
                shadow
                    .access(0, 4, stamp(1, &b, second, true), &b.now)
                    .is_some(),
                races,
                "{second:?}"
            );
        }
    }
}
