//! Findings of the machine, each with its place. The list of kinds is closed, and every kind has a
//! stable code.

use crate::lane::Lane;
use std::collections::BTreeSet;
use std::fmt;

macro_rules! kinds {
    ($($name:ident = $number:literal, $summary:literal;)*) => {
        /// The kind of problem.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingKind {
            $(#[doc = $summary] $name,)*
        }

        impl FindingKind {
            /// Every kind, in order of number.
            pub const ALL: &'static [FindingKind] = &[$(FindingKind::$name),*];

            /// The four digits of the code, printed as `SB3001`. A number is never given a second
            /// meaning.
            pub fn number(self) -> u16 {
                match self { $(FindingKind::$name => $number,)* }
            }

            /// One line that says what it means.
            pub fn summary(self) -> &'static str {
                match self { $(FindingKind::$name => $summary,)* }
            }
        }
    };
}

kinds! {
    MissingWait = 3001, "a register or a byte of workgroup memory is used while the operation that writes it is outstanding";
    SharedRace = 3003, "two waves, or two divergent lanes of one wave, access a byte of workgroup memory without ordering, and at least one writes";
    GlobalRace = 3004, "two waves, or two divergent lanes of one wave, access a byte of global memory without ordering, and at least one writes";
    UninitialisedShared = 3005, "a byte of workgroup memory is read before it is written";
    OutOfBounds = 3006, "an access is outside of all buffers, or outside of workgroup or private memory";
    Misaligned = 3007, "an address does not have the alignment that the access requires";
    WriteToReadOnly = 3008, "a store writes to read-only memory";
    Deadlock = 3009, "all remaining waves wait for each other";
    BarrierMisuse = 3010, "the use of a barrier object breaks its rules";
    UnsupportedInstruction = 3011, "the simulator does not know the instruction";
    BadProgramCounter = 3012, "control flow leaves the code of the program";
    StepLimit = 3013, "the launch exceeds the limit on steps";
    MemoryLimit = 3014, "the launch exceeds the limit on memory";
    Trap = 3015, "the program executes a trap";
    MatrixLanes = 3016, "a matrix instruction is executed without all lanes of its wave, or with wrong operands in some lanes";
    StaleRead = 3017, "a load may read a stale value from a cache that was not invalidated after the wave synchronised with the write";
    NotWrittenBack = 3018, "a load may miss a store of another workgroup, because the store's cache was not written back";
    MissingProxyFence = 3019, "a bulk copy accesses memory that a thread has written, without a fence.proxy.async for that memory in between";
    EqualWrites = 3040, "two waves, or two divergent lanes of one wave, write the same value to a byte without ordering";
}

impl FindingKind {
    /// Returns true for what is told and is no fault of the program: compilers write one value to
    /// one place by several lanes on purpose, and the result does not depend on the order.
    pub fn is_note(self) -> bool {
        self == FindingKind::EqualWrites
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SB{:04}", self.number())
    }
}

/// The place of a finding for the machine. It is small, because every access creates one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The program's own number for the instruction (an offset or an index).
    pub pc: u32,
    /// Linear index of the workgroup in the launch.
    pub group: u32,
    /// Index of the wave in its workgroup.
    pub wave: u16,
    /// The lane, when one lane is to blame.
    pub lane: Option<Lane>,
}

/// A program's description of one of its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeLocation {
    /// Address of the instruction in its code section, or line of the text.
    pub address: u64,
    /// The instruction as text.
    pub text: String,
    /// The word of the SPIR-V instruction that it came from, when debug lines say so.
    pub word: Option<u32>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of problem.
    pub kind: FindingKind,
    /// The wave that found it, and the place.
    pub site: Site,
    /// The instruction at [`Site::pc`]. Filled in when the run is over.
    pub place: CodeLocation,
    /// The other instruction, when two are involved: who issued what is outstanding, or accessed
    /// the byte before.
    pub other: Option<(Site, CodeLocation)>,
    /// The event, with addresses and names.
    pub message: String,
}

impl fmt::Display for Finding {
    /// `[SB3003] what: message`, then one line per place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|word| Some(format!("SPIR-V word {word}"))))
    }
}

impl Finding {
    /// The key by which equal findings are known: the kind, and the instructions by number.
    pub fn key(&self) -> (FindingKind, u32, Option<u32>) {
        let other = self.other.as_ref().map(|(site, _)| site.pc);
        (self.kind, self.site.pc, other)
    }

    /// The finding as text: what is wrong, then one line per place, with what `origin` says about
    /// the word of the SPIR-V instruction that the machine's came from.
    pub fn text(&self, origin: &dyn Fn(u32) -> Option<String>) -> String {
        let Finding { kind, message, .. } = self;
        let mut text = format!("[{kind}] {}: {message}\n", kind.summary());
        text.push_str(&shown("at", &self.site, &self.place, origin));
        if let Some((site, place)) = &self.other {
            text.push('\n');
            text.push_str(&shown("against", site, place, origin));
        }
        text
    }
}

fn shown(
    role: &str,
    site: &Site,
    place: &CodeLocation,
    origin: &dyn Fn(u32) -> Option<String>,
) -> String {
    let mut text = format!(
        "  {role} {:#06x} `{}`, workgroup {} wave {}",
        place.address, place.text, site.group, site.wave
    );
    if let Some(lane) = site.lane {
        text.push_str(&format!(" lane {lane}"));
    }
    if let Some(origin) = place.word.and_then(origin) {
        text.push_str(", ");
        text.push_str(&origin);
    }
    text
}

/// The most findings that a run keeps; what comes later is counted only.
const MOST: usize = 100;

/// Findings as they are made. One kind at one pair of instructions is kept once.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    known: BTreeSet<(FindingKind, u32, Option<u32>)>,
    more: u64,
}

impl Findings {
    /// Records a problem; `message` is made only when the problem is new.
    pub fn report(
        &mut self,
        kind: FindingKind,
        site: Site,
        other: Option<Site>,
        message: impl FnOnce() -> String,
    ) {
        let key = (kind, site.pc, other.map(|s| s.pc));
        if self.known.contains(&key) {
            return;
        }
        if self.list.len() >= MOST {
            self.more += 1;
            return;
        }
        self.known.insert(key);
        self.list.push(Finding {
            kind,
            site,
            place: CodeLocation::default(),
            other: other.map(|site| (site, CodeLocation::default())),
            message: message(),
        });
    }

    /// Returns true if nothing was found, beside notes.
    pub fn is_empty(&self) -> bool {
        self.list.iter().all(|finding| finding.kind.is_note())
    }

    /// How many findings are kept.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Those that were made after the first `known`: what is wrong, and where.
    pub(crate) fn after(&self, known: usize) -> Vec<(FindingKind, Site, Option<Site>)> {
        let made = self.list.iter().skip(known);
        made.map(|finding| {
            let other = finding.other.as_ref().map(|(site, _)| *site);
            (finding.kind, finding.site, other)
        })
        .collect()
    }

    /// The number of findings that were dropped because there were too many.
    pub fn not_kept(&self) -> u64 {
        self.more
    }

    /// The findings and the notes, with what `place` says about their instructions, in the order in
    /// which they were made.
    pub fn into_lists(self, place: impl Fn(u32) -> CodeLocation) -> (Vec<Finding>, Vec<Finding>) {
        let mut list = self.list;
        for finding in &mut list {
            finding.place = place(finding.site.pc);
            if let Some((site, at)) = &mut finding.other {
                *at = place(site.pc);
            }
        }
        list.into_iter()
            .partition(|finding| !finding.kind.is_note())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_of_instructions_is_reported_once() {
        let mut findings = Findings::default();
        let site = |pc, wave| Site {
            pc,
            group: 0,
            wave,
            lane: None,
        };
        for wave in 0..4 {
            findings.report(
                FindingKind::SharedRace,
                site(8, wave),
                Some(site(4, 0)),
                || format!("by {wave}"),
            );
        }
        findings.report(
            FindingKind::SharedRace,
            site(8, 0),
            Some(site(12, 0)),
            String::new,
        );
        let note = FindingKind::EqualWrites;
        findings.report(note, site(16, 0), Some(site(4, 0)), String::new);
        let (list, notes) = findings.into_lists(|pc| CodeLocation {
            address: pc.into(),
            ..CodeLocation::default()
        });
        assert_eq!((list.len(), notes.len()), (2, 1));
        assert_eq!(list[0].message, "by 0");
        assert_eq!(list[1].other.as_ref().map(|o| o.1.address), Some(12));
    }

    #[test]
    fn numbers_are_unique() {
        let numbers: BTreeSet<u16> = FindingKind::ALL.iter().map(|k| k.number()).collect();
        assert_eq!(numbers.len(), FindingKind::ALL.len());
    }
}
