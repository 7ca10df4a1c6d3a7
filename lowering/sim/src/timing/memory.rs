//! When what an instruction touched is there: banks of shared memory, lines of caches, bandwidth.

use super::cache::Lines;
use crate::memory::Space;
use crate::trace::Touch;
use splitbar_target::timing::Timing;

/// Banks of shared memory, of four bytes each.
const BANKS: u64 = 32;
/// What moves between caches at a time.
const SECTOR: u64 = 32;

/// The memory of one unit.
#[derive(Debug)]
pub(super) struct Memory {
    timing: Timing,
    near: Lines,
    /// `None`: it holds all buffers.
    far: Option<Lines>,
    /// When the port for accesses, the way to the shared cache and the way to memory are free.
    port: u64,
    to_far: u64,
    to_memory: u64,
    /// Lines that loads found near, far, and in memory.
    pub(super) lines: [u64; 3],
}

/// When an access is over.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Its results are in registers, and shared memory has its stores.
    pub at: u64,
    /// Global memory has its stores.
    pub stored: u64,
}

impl Memory {
    /// That of a launch with so many bytes of global memory.
    pub(super) fn new(timing: Timing, bytes: u64) -> Memory {
        let lines = |bytes: u32| Lines::new((bytes / timing.line_bytes.max(1)) as usize);
        Memory {
            timing,
            near: lines(timing.near.bytes),
            far: (bytes > timing.far.bytes.into()).then(|| lines(timing.far.bytes)),
            port: 0,
            to_far: 0,
            to_memory: 0,
            lines: [0; 3],
        }
    }

    /// When the port takes another access.
    pub(super) fn free_at(&self) -> u64 {
        self.port
    }

    /// An instruction that is issued at `now` touches memory. Without touches it reads what no
    /// memory holds: the parameters, private memory.
    pub(super) fn access(&mut self, touches: &[Touch], now: u64) -> Done {
        let mut done = Done {
            at: now + u64::from(self.timing.integer.latency),
            stored: now,
        };
        let (shared, global): (Vec<Touch>, Vec<Touch>) =
            (touches.iter().copied()).partition(|touch| touch.space == Space::Shared);
        if !shared.is_empty() {
            let start = now.max(self.port);
            let times = conflicts(&shared);
            let pipe = self.timing.shared;
            self.port = start + times * u64::from(pipe.interval);
            let last = (times - 1) * u64::from(pipe.interval);
            done.at = done.at.max(start + u64::from(pipe.latency) + last);
        }
        if !global.is_empty() {
            self.global(&global, now, &mut done);
        }
        done
    }

    fn global(&mut self, touches: &[Touch], now: u64, done: &mut Done) {
        let line_bytes = u64::from(self.timing.line_bytes.max(1));
        let mut sectors: Vec<(u64, bool, bool)> = Vec::with_capacity(touches.len());
        for touch in touches {
            let first = touch.address / SECTOR;
            let last = touch
                .address
                .saturating_add(touch.bytes.saturating_sub(1).into())
                / SECTOR;
            let all = (first..=last).map(|sector| (sector, touch.write, touch.atomic));
            sectors.extend(all);
        }
        sectors.sort_unstable();
        // Each with the number of its sectors, whether something is stored, whether something is
        // atomic.
        let mut lines: Vec<(u64, u64, bool, bool)> = Vec::new();
        let mut before = None;
        for (sector, write, atomic) in sectors {
            let number = sector * SECTOR / line_bytes;
            if lines.last().is_none_or(|line| line.0 != number) {
                lines.push((number, 0, false, false));
            }
            if let Some(line) = lines.last_mut() {
                line.1 += u64::from(before.replace(sector) != Some(sector));
                line.2 |= write;
                line.3 |= atomic;
            }
        }
        let start = now.max(self.port);
        self.port = start + lines.len() as u64;
        for (line, sectors, write, atomic) in lines {
            let bytes = sectors * SECTOR;
            let stored_only = write && !atomic;
            if !write && !atomic && self.near.touch(line) {
                self.lines[0] += 1;
                done.at = done.at.max(start + u64::from(self.timing.near.latency));
                continue;
            }
            let at_far = start.max(self.to_far);
            self.to_far = at_far + bytes.div_ceil(self.timing.far_bandwidth.max(1).into());
            let found = self.far.as_mut().is_none_or(|far| far.touch(line)) || stored_only;
            let arrives = if found {
                self.to_far + u64::from(self.timing.far.latency)
            } else {
                let at_memory = self.to_far.max(self.to_memory);
                let bandwidth = u64::from(self.timing.memory_bandwidth.max(1));
                self.to_memory = at_memory + bytes.div_ceil(bandwidth);
                self.to_memory + u64::from(self.timing.memory)
            };
            if write {
                done.stored = done.stored.max(arrives);
            }
            if !stored_only {
                self.lines[if found { 1 } else { 2 }] += 1;
                done.at = done.at.max(arrives);
            }
        }
    }
}

/// How often shared memory is accessed for one instruction: the most different words of one bank,
/// or the most atomic updates of one word.
fn conflicts(touches: &[Touch]) -> u64 {
    let mut words: Vec<(u64, bool)> = Vec::with_capacity(touches.len());
    for touch in touches {
        let first = touch.address / 4;
        let last = touch
            .address
            .saturating_add(touch.bytes.saturating_sub(1).into())
            / 4;
        words.extend((first..=last).map(|word| (word, touch.atomic && touch.write)));
    }
    words.sort_unstable();
    let mut banks = [0u64; BANKS as usize];
    for same in words.chunk_by(|one, other| one.0 == other.0) {
        let updates = same.iter().filter(|(_, updates)| *updates).count() as u64;
        let bank = same.first().map_or(0, |(word, _)| word % BANKS);
        if let Some(bank) = banks.get_mut(bank as usize) {
            *bank += updates.max(1);
        }
    }
    banks.into_iter().max().unwrap_or(1).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use splitbar_target::Target;

    fn touch(space: Space, address: u64) -> Touch {
        Touch {
            pc: 0,
            space,
            address,
            bytes: 4,
            write: false,
            atomic: false,
        }
    }

    fn shared(addresses: impl Iterator<Item = u64>) -> Vec<Touch> {
        addresses
            .map(|address| touch(Space::Shared, address))
            .collect()
    }

    #[test]
    fn banks_conflict() {
        assert_eq!(conflicts(&shared((0..32).map(|lane| 4 * lane))), 1);
        assert_eq!(conflicts(&shared((0..32).map(|lane| 8 * lane))), 2);
        assert_eq!(conflicts(&shared((0..32).map(|lane| 128 * lane))), 32);
        // One word for all is one access, unless each lane changes it.
        let mut same = shared((0..32).map(|_| 64));
        assert_eq!(conflicts(&same), 1);
        for touch in &mut same {
            (touch.write, touch.atomic) = (true, true);
        }
        assert_eq!(conflicts(&same), 32);
        let vectors: Vec<Touch> = (0..32)
            .map(|lane| Touch {
                bytes: 16,
                ..touch(Space::Shared, 16 * lane)
            })
            .collect();
        assert_eq!(conflicts(&vectors), 4);
    }

    #[test]
    fn a_line_is_near_the_second_time() {
        let timing = *Timing::for_target(Target::by_name("sm_80").unwrap()).unwrap();
        let mut memory = Memory::new(timing, 4096);
        let line: Vec<Touch> = (0..32).map(|lane| touch(Space::Global, 4 * lane)).collect();
        let first = memory.access(&line, 0).at;
        assert!(first >= timing.far.latency.into());
        let second = memory.access(&line, first).at - first;
        assert_eq!(second, timing.near.latency.into());
        assert_eq!(memory.lines, [1, 1, 0]);
        // More than the shared cache holds: it is in memory.
        let mut large = Memory::new(timing, 1 << 40);
        assert!(large.access(&line, 0).at >= timing.memory.into());
        assert_eq!(large.lines, [0, 0, 1]);
    }
}
