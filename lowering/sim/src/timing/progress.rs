//! The progress of a launch over time, to compare versions of one kernel whose runs are cut off.
//!
//! Versions of a kernel differ in their instructions and barriers, but they load and store the same
//! data. The bytes that their lanes have touched so far are therefore a measure of the work that is
//! done, in all of them.

/// Bytes that lanes have touched, by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Times with all bytes until then; both grow.
    points: Vec<(u64, u64)>,
}

/// Cycles between two points, at least.
const APART: u64 = 8;

impl Progress {
    /// Lanes touch so many bytes more.
    pub(super) fn add(&mut self, now: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let all = self.bytes() + bytes;
        match self.points.last_mut() {
            Some(last) if now < last.0 + APART => last.1 = all,
            _ => self.points.push((now, all)),
        }
    }

    fn bytes(&self) -> u64 {
        self.points.last().map_or(0, |(_, bytes)| *bytes)
    }

    /// Times in cycles, each with all bytes that are touched until then. Both grow.
    pub fn points(&self) -> &[(u64, u64)] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_apart() {
        let mut progress = Progress::default();
        for (now, bytes) in [(0, 64), (3, 64), (100, 128), (300, 0), (400, 256)] {
            progress.add(now, bytes);
        }
        assert_eq!(progress.points(), [(0, 128), (100, 256), (400, 512)]);
    }
}
