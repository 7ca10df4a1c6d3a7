//! A dump as records: each is checked by itself, and the header is not trusted.

use super::Gpu;
use super::layout::{HEADER_WORDS, MAGIC, OLDEST_VERSION, RECORD_WORDS, VERSION, header, record};
use crate::diagnostic::{Code, Diagnostic};

/// What one subgroup measured at one barrier. Clocks are in the subgroup's own unit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// WorkgroupId.
    pub(super) workgroup: [u32; 3],
    /// Measured barriers that the subgroup passed before.
    pub(super) phase: u32,
    /// SubgroupId, less than `subgroups`.
    pub(super) subgroup: u32,
    /// NumSubgroups.
    pub(super) subgroups: u32,
    /// Word offsets of arrive and wait.
    pub(super) site: (u32, u32),
    /// The clock before the arrive.
    pub(super) arrived: u64,
    /// The clock before the wait.
    pub(super) waited: u64,
    /// The clock behind the wait.
    pub(super) passed: u64,
}

/// The parts of a dump.
pub(super) struct Dump {
    pub(super) hash: u64,
    /// What the kernel ran on, if the dump says it.
    pub(super) gpu: Option<Gpu>,
    pub(super) capacity: u32,
    pub(super) written: u32,
    /// The records that are there, in the order of the ring.
    pub(super) records: Vec<Record>,
}

impl Dump {
    /// Reads a dump, as [`super::Profile::read`].
    pub(super) fn read(bytes: &[u8]) -> Result<Dump, Diagnostic> {
        let (words, _) = bytes.as_chunks::<4>();
        let Some((head, ring)) = words.split_at_checked(HEADER_WORDS as usize) else {
            return Err(truncated(format!(
                "it has {} bytes, and the header alone has {}",
                bytes.len(),
                4 * HEADER_WORDS
            )));
        };
        let [capacity, written] = [header::CAPACITY, header::COUNT].map(|at| word(head, at));
        check_header(head)?;
        let gpu = gpu(head)?;
        let (records, _) = ring.as_chunks::<{ RECORD_WORDS as usize }>();
        let Some(ring) = records.get(..capacity as usize) else {
            return Err(truncated(format!(
                "its header says {capacity} records, and there are bytes of {}",
                records.len()
            )));
        };
        let mut found = Vec::with_capacity(ring.len().min(written as usize));
        for (slot, words) in (0..capacity).zip(ring) {
            found.extend(Record::read(words, slot, capacity, written)?);
        }
        Ok(Dump {
            hash: long(head, header::HASH),
            gpu,
            capacity,
            written,
            records: found,
        })
    }
}

impl Dump {
    /// The dump again, in the newest version, of a ring that has lost nothing.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![MAGIC, VERSION, self.hash as u32, (self.hash >> 32) as u32];
        words.extend([self.capacity, self.written]);
        words.extend(self.gpu.map_or([0; 2], Gpu::words));
        for (record, number) in self.records.iter().zip(1..) {
            words.extend(record.words(number));
        }
        let whole = HEADER_WORDS as usize + self.capacity as usize * RECORD_WORDS as usize;
        words.resize(whole, 0);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

fn check_header(head: &[[u8; 4]]) -> Result<(), Diagnostic> {
    match word(head, header::MAGIC) {
        MAGIC => {}
        0 => {
            return Err(
                Diagnostic::error(Code::NotAProfile, "the dump has no header yet")
                    .because("the first record writes the header, and its first word is 0")
                    .help("launch the instrumented kernel with room for a record, and read the buffer when it has ended"),
            );
        }
        other => {
            return Err(Diagnostic::error(
                Code::NotAProfile,
                "this is not a dump of barrier clocks",
            )
            .because(format!(
                "its first word is {other:#010x}, and not {MAGIC:#010x}"
            ))
            .help("give the buffer as the kernel left it, from its first byte on"));
        }
    }
    let version = word(head, header::VERSION);
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return Err(Diagnostic::error(
            Code::ProfileVersion,
            format!("the dump has version {version}"),
        )
        .because(format!(
            "this build reads versions {OLDEST_VERSION} to {VERSION}"
        ))
        .help("instrument the module again with this build"));
    }
    // Records begin, and write the header, only where one fits.
    if word(head, header::CAPACITY) == 0 || word(head, header::COUNT) == 0 {
        return Err(damaged("its header says no records"));
    }
    Ok(())
}

/// What the header names; version 1 has zeros there.
fn gpu(head: &[[u8; 4]]) -> Result<Option<Gpu>, Diagnostic> {
    let words = [word(head, header::GPU), word(head, header::GPU + 1)];
    let [kind, number] = words;
    match (words, word(head, header::VERSION)) {
        ([0, 0], _) => Ok(None),
        (_, OLDEST_VERSION) => Err(damaged("the last words of its header are not zeros")),
        _ => Gpu::from_parts(words).map(Some).ok_or_else(|| {
            damaged(format!(
                "the words {kind:#x} and {number:#x} of its header name no GPU"
            ))
        }),
    }
}

impl Record {
    /// The record in `slot` of a ring of `capacity`, to which `written` records went; `None` if
    /// none went there.
    fn read(
        words: &[[u8; 4]; RECORD_WORDS as usize],
        slot: u32,
        capacity: u32,
        written: u32,
    ) -> Result<Option<Record>, Diagnostic> {
        let at = |what: &str| damaged(format!("the record in slot {slot} {what}"));
        if slot >= written {
            return if words.iter().all(|word| *word == [0; 4]) {
                Ok(None)
            } else {
                Err(at("is not zeros, and was not written"))
            };
        }
        // The newest of those that went to this slot.
        let rounds = (written - 1 - slot) / capacity;
        let number = u64::from(rounds) * u64::from(capacity) + u64::from(slot) + 1;
        if u64::from(word(words, record::NUMBER)) != number {
            return Err(at(&format!(
                "has the number {}, and not {number}",
                word(words, record::NUMBER)
            )));
        }
        let all = words.iter().map(|word| u32::from_le_bytes(*word));
        if all.fold(0, |sum, word| sum ^ word) != 0 {
            return Err(at("does not agree with its check word"));
        }
        let [subgroup, subgroups] = [record::SUBGROUP, record::SUBGROUPS].map(|at| word(words, at));
        if subgroup >= subgroups {
            return Err(at(&format!("is of subgroup {subgroup} of {subgroups}")));
        }
        let site = (word(words, record::ARRIVE), word(words, record::WAIT));
        let [arrived, waited, passed] =
            [record::ARRIVED, record::WAITED, record::PASSED].map(|at| long(words, at));
        if site.0 == site.1 && arrived != waited {
            return Err(at("is of a full barrier and has a window"));
        }
        Ok(Some(Record {
            workgroup: [0, 1, 2].map(|axis| word(words, record::WORKGROUP + axis)),
            phase: word(words, record::PHASE),
            subgroup,
            subgroups,
            site,
            arrived,
            waited,
            passed,
        }))
    }
}

impl Record {
    fn words(&self, number: u32) -> [u32; RECORD_WORDS as usize] {
        let ((arrive, wait), [x, y, z]) = (self.site, self.workgroup);
        let [arrived, waited, passed] = [self.arrived, self.waited, self.passed]
            .map(|clock| [clock as u32, (clock >> 32) as u32]);
        let mut words = [
            number,
            arrive,
            wait,
            self.phase,
            x,
            y,
            z,
            self.subgroup,
            self.subgroups,
            arrived[0],
            arrived[1],
            waited[0],
            waited[1],
            passed[0],
            passed[1],
            0,
        ];
        words[record::CHECK as usize] = words.iter().fold(0, |sum, word| sum ^ word);
        words
    }
}

fn truncated(why: String) -> Diagnostic {
    Diagnostic::error(Code::TruncatedProfile, "the dump ends too early")
        .because(why)
        .help("read the whole buffer back")
}

/// What is wrong with a dump that the instrumentation cannot have left so.
pub(super) fn damaged(why: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::DamagedProfile, "the dump is damaged")
        .because(why)
        .help("fill the buffer with zeros before the launch, and read it back when the kernel has ended")
}

/// The word `index` of `words`, which has as many.
fn word(words: &[[u8; 4]], index: u32) -> u32 {
    words
        .get(index as usize)
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The words `index` and the one behind it as one number.
fn long(words: &[[u8; 4]], index: u32) -> u64 {
    u64::from(word(words, index + 1)) << 32 | u64::from(word(words, index))
}
