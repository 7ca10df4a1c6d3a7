//! The audit for people.

use super::{Audit, Barrier, InFlight};
use crate::fences::{Finding, FindingKind};
use std::collections::BTreeMap;
use std::fmt;

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
        for finding in &self.findings {
            writeln!(f, "  VIOLATION: {finding}")?;
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing.join(", ");
        let (access, sync) = (&self.access, &self.sync);
        match self.kind {
            FindingKind::Invalidation => write!(
                f,
                "{access} may read stale data from a cache after {sync}: {missing} is missing"
            ),
            FindingKind::WriteBack => write!(
                f,
                "the data of {access} may still be in a cache at {sync}: {missing} is missing"
            ),
            FindingKind::Fence => write!(
                f,
                "nothing orders {access} with {sync}: {missing}, or a stronger fence, is missing"
            ),
            FindingKind::Wait => write!(
                f,
                "{access} and {sync} may overtake each other: {missing} is missing"
            ),
        }
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.at)?;
        if let Some(required) = &self.required_ordering {
            for (requirements, side) in
                [(&required.release, "after"), (&required.acquire, "before")]
            {
                let mut fences: Vec<String> = requirements
                    .iter()
                    .map(|requirement| requirement.fence.to_string())
                    .collect();
                fences.sort();
                fences.dedup();
                if !fences.is_empty() {
                    writeln!(f, "    {side} {}", fences.join(", "))?;
                }
            }
            if required.is_empty() {
                writeln!(f, "    orders nothing")?;
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
