//! The plan as text: what `--emit plan` prints.

use crate::plan::EntryPlan;
use crate::step::Step;
use splitbar_passes::analysis::pairing::{Site, SiteId, SiteKind};
use splitbar_passes::module::WordOffset;
use std::fmt;

impl fmt::Display for EntryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|_| None)
    }
}

impl EntryPlan {
    /// The plan as text. `place` gives the place in the source of the instruction at a word of the
    /// planned module; barriers and copies with one have a line for it.
    pub fn text(&self, place: &dyn Fn(WordOffset) -> Option<String>) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, place);
        text
    }

    fn write(
        &self,
        f: &mut dyn fmt::Write,
        source: &dyn Fn(WordOffset) -> Option<String>,
    ) -> fmt::Result {
        write!(f, "entry {} for {}: workgroup ", self.entry, self.target)?;
        match self.workgroup_size {
            Some([x, y, z]) => write!(f, "{x}x{y}x{z}")?,
            None => f.write_str("of the launch")?,
        }
        write!(f, ", wave {}", self.wave_size)?;
        if self.subgroup_size != self.wave_size {
            write!(f, ", subgroup {}", self.subgroup_size)?;
        }
        writeln!(f, ", {} bytes reserved", self.reserved_shared_bytes)?;
        if self.dynamic_shared_bytes > 0 {
            writeln!(
                f,
                "  dynamic shared memory of {} bytes",
                self.dynamic_shared_bytes
            )?;
        }
        if let Some([x, y, z]) = self.cluster {
            writeln!(f, "  in clusters of {x}x{y}x{z}")?;
        }
        for pair in &self.pairs {
            writeln!(
                f,
                "  pair {} ({}, arrive {}, wait {}): {}, because {}",
                pair.id.0,
                pair.scope,
                list(&pair.arrives),
                list(&pair.waits),
                pair.strategy,
                pair.reason
            )?;
        }
        place(f, "entry", None, &self.at_entry)?;
        for site in &self.sites {
            let steps = self
                .at_instruction
                .get(&site.offset)
                .map_or(&[][..], Vec::as_slice);
            place(f, &describe(site), source(site.offset), steps)?;
        }
        for (offset, copy) in &self.copies {
            writeln!(f, "  copy at word {offset}: {copy}")?;
            if let Some(source) = source(*offset) {
                writeln!(f, "    at {source}")?;
            }
            for step in self.before_instruction.get(offset).into_iter().flatten() {
                writeln!(f, "    before: {step}")?;
            }
            for step in self.at_instruction.get(offset).into_iter().flatten() {
                writeln!(f, "    behind: {step}")?;
            }
        }
        for (offset, steps) in &self.before_instruction {
            if !self.copies.contains_key(offset) {
                let site = self.sites.iter().find(|site| site.offset == *offset);
                let name = site.map_or(format!("word {offset}"), |site| format!("#{}", site.id.0));
                place(f, &format!("before {name}"), source(*offset), steps)?;
            }
        }
        for (offset, steps) in &self.at_instruction {
            let named = self.copies.contains_key(offset)
                || self.sites.iter().any(|site| site.offset == *offset);
            if !named {
                let name = format!("wait for copies at word {offset}");
                place(f, &name, source(*offset), steps)?;
            }
        }
        for (offset, steps) in &self.at_return {
            let name = format!("return at word {offset}");
            place(f, &name, source(*offset), steps)?;
        }
        if !self.at_end.is_empty() {
            place(f, "end of a wave", None, &self.at_end)?;
        }
        Ok(())
    }
}

fn list(sites: &[SiteId]) -> String {
    if sites.is_empty() {
        return "never".to_owned();
    }
    sites
        .iter()
        .map(|site| format!("#{}", site.0))
        .collect::<Vec<_>>()
        .join(" ")
}

/// `#2 wait Workgroup, Workgroup Acquire|WorkgroupMemory`: execution scope, then memory scope and
/// semantics.
fn describe(site: &Site) -> String {
    let kind = match site.kind {
        SiteKind::Arrive => "arrive",
        SiteKind::Wait => "wait",
        SiteKind::ControlBarrier => "barrier",
        SiteKind::MemoryBarrier => "memory barrier",
    };
    let execution = site
        .execution
        .map_or(String::new(), |scope| format!(" {scope},"));
    format!(
        "#{} {kind}{execution} {} {}",
        site.id.0, site.memory, site.semantics
    )
}

fn place(
    f: &mut dyn fmt::Write,
    name: &str,
    source: Option<String>,
    steps: &[Step],
) -> fmt::Result {
    if name == "entry" && steps.is_empty() {
        return Ok(());
    }
    writeln!(f, "  {name}:")?;
    if let Some(source) = source {
        writeln!(f, "    at {source}")?;
    }
    if steps.is_empty() {
        writeln!(f, "    nothing")?;
    }
    for step in steps {
        writeln!(f, "    {step}")?;
    }
    Ok(())
}
