//! The audit for people.

use super::{Audit, Barrier, InFlight, Place};
use splitbar_plan::Fence;
use std::collections::BTreeMap;
use std::fmt;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at instruction {}", self.mnemonic, self.position)?;
        match self.word {
            Some(word) => write!(f, " (word {word})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "kernel {}: {} barriers, {} waits, {} of them redundant",
            self.kernel,
            self.barriers.len(),
            self.waits,
            self.redundant_waits.len()
        )?;
        for barrier in &self.barriers {
            barrier.fmt(f)?;
        }
        for wait in &self.redundant_waits {
            writeln!(f, "  redundant: {wait}")?;
        }
        if self.calls {
            writeln!(
                f,
                "  calls are not followed: what they leave outstanding is not known"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.at)?;
        match self.demand.as_ref().map(|demand| demand.fences.as_slice()) {
            None => {}
            Some([]) => writeln!(f, "    releases nothing")?,
            Some(fences) => {
                let fences: Vec<String> = fences.iter().map(Fence::to_string).collect();
                writeln!(f, "    after {}", fences.join(", "))?;
            }
        }
        // Many of one kind say no more than their number.
        let mut allowed: BTreeMap<&str, usize> = BTreeMap::new();
        for flying in self
            .outstanding
            .iter()
            .filter(|flying| !self.violations.contains(&flying.at.position))
        {
            *allowed.entry(&flying.at.mnemonic).or_default() += 1;
        }
        for (mnemonic, count) in allowed {
            writeln!(f, "    in flight: {count} {mnemonic}")?;
        }
        let wrong = |flying: &&InFlight| self.violations.contains(&flying.at.position);
        for flying in self.outstanding.iter().filter(wrong) {
            writeln!(f, "    VIOLATION: {} may be outstanding", flying.at)?;
        }
        Ok(())
    }
}
