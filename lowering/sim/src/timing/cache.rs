//! The lines of a cache: fully associative, with LRU replacement.

use std::collections::{BTreeMap, HashMap};

/// A cache of lines.
#[derive(Debug)]
pub(super) struct Lines {
    most: usize,
    stamps: HashMap<u64, u64>,
    oldest: BTreeMap<u64, u64>,
    time: u64,
}

impl Lines {
    /// An empty one with room for so many lines; at least one.
    pub(super) fn new(most: usize) -> Lines {
        Lines {
            most: most.max(1),
            stamps: HashMap::new(),
            oldest: BTreeMap::new(),
            time: 0,
        }
    }

    /// Uses a line; whether it was there. It is, from now on.
    pub(super) fn touch(&mut self, line: u64) -> bool {
        self.time += 1;
        let before = self.stamps.insert(line, self.time);
        if let Some(stamp) = before {
            self.oldest.remove(&stamp);
        } else if self.stamps.len() > self.most
            && let Some((_, oldest)) = self.oldest.pop_first()
        {
            self.stamps.remove(&oldest);
        }
        self.oldest.insert(self.time, line);
        before.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_line_goes() {
        let mut lines = Lines::new(2);
        assert!(!lines.touch(1));
        assert!(!lines.touch(2));
        assert!(lines.touch(1));
        assert!(!lines.touch(3)); // instead of 2
        assert!(lines.touch(1));
        assert!(!lines.touch(2)); // instead of 3
        assert!(!lines.touch(3));
    }
}
