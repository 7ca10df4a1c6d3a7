//! Written dumps through the reader: good ones, and each kind of damage.
#![allow(clippy::unwrap_used)]

use super::layout::{MAGIC, RECORD_WORDS, VERSION, header, record};
use super::{Distribution, Gpu, Profile, SiteKind, module_hash, retime};
use crate::diagnostic::{Code, Diagnostics};
use crate::module::{Declarations, Module, WordOffset, assemble};
use pretty_assertions::assert_eq;

const HASH: u64 = 0x0123_4567_89ab_cdef;

/// A record of a workgroup of two subgroups at the pair of words 100 and 120: phase, subgroup, and
/// the three clocks.
type Row = (u32, u32, [u64; 3]);

fn record(row: Row) -> [u32; RECORD_WORDS as usize] {
    let (phase, subgroup, clocks) = row;
    let mut words = [
        0, 100, 120, phase, 3, 0, 1, subgroup, 2, 0, 0, 0, 0, 0, 0, 0,
    ];
    for (clock, at) in clocks.into_iter().zip([9, 11, 13]) {
        words[at] = clock as u32;
        words[at + 1] = (clock >> 32) as u32;
    }
    words
}

/// What a kernel leaves in a ring of `capacity` that is zeros at first.
fn dump_of(records: &[[u32; RECORD_WORDS as usize]], capacity: u32) -> Vec<u8> {
    let mut words = vec![MAGIC, VERSION, HASH as u32, (HASH >> 32) as u32];
    words.extend([capacity, records.len() as u32, 0, 0]);
    let mut ring = vec![[0; RECORD_WORDS as usize]; capacity as usize];
    for (number, record) in records.iter().enumerate() {
        let mut record = *record;
        record[record::NUMBER as usize] = number as u32 + 1;
        record[record::CHECK as usize] = record.iter().fold(0, |sum, word| sum ^ word);
        ring[number % capacity as usize] = record;
    }
    words.extend(ring.concat());
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn dump(rows: &[Row], capacity: u32) -> Vec<u8> {
    let records: Vec<_> = rows.iter().copied().map(record).collect();
    dump_of(&records, capacity)
}

fn code(bytes: &[u8]) -> Code {
    Profile::read(bytes).unwrap_err().code
}

const HIGH: u64 = 1 << 40;

/// Two phases of two subgroups, in the order in which they ended.
const ROWS: [Row; 4] = [
    (0, 1, [HIGH + 30, HIGH + 40, HIGH + 50]),
    (0, 0, [HIGH + 10, HIGH + 15, HIGH + 49]),
    (1, 0, [HIGH + 60, HIGH + 66, HIGH + 70]),
    (1, 1, [HIGH + 61, HIGH + 69, HIGH + 69]),
];

#[test]
fn phases_give_skew_window_and_waiting() {
    let profile = Profile::read(&dump(&ROWS, 8)).unwrap();
    assert_eq!(
        (
            profile.hash,
            profile.capacity,
            profile.written,
            profile.lost
        ),
        (HASH, 8, 4, 0)
    );
    assert_eq!(profile.sites.len(), 1);
    let site = &profile.sites[0];
    assert_eq!(
        (site.kind, site.arrive.get(), site.wait.get()),
        (SiteKind::Split, 100, 120)
    );
    assert_eq!(
        (site.phases, site.incomplete, site.contradictory),
        (2, 0, 0)
    );
    let spread = |count, least, median, ninetieth, most| {
        Some(Distribution {
            count,
            least,
            median,
            ninetieth,
            most,
        })
    };
    assert_eq!(site.skew, spread(2, 1, 1, 20, 20));
    assert_eq!(site.window, spread(4, 5, 6, 10, 10));
    assert_eq!(site.waiting, spread(4, 0, 4, 34, 34));
    assert_eq!(site.gain_at_most(), Some(1), "of a window of 6");
}

#[test]
fn a_full_barrier_has_no_window() {
    let mut records = ROWS.map(record);
    for words in &mut records {
        words[record::WAIT as usize] = 100;
        words[11] = words[9];
        words[12] = words[10];
    }
    let profile = Profile::read(&dump_of(&records, 4)).unwrap();
    let site = &profile.sites[0];
    assert_eq!((site.kind, site.window), (SiteKind::Full, None));
    assert_eq!(site.waiting.unwrap().most, 39);
    assert_eq!(site.gain_at_most(), Some(1));
    records[1][11] += 1;
    assert_eq!(code(&dump_of(&records, 4)), Code::DamagedProfile);
}

#[test]
fn sites_are_told_apart_and_sorted() {
    let mut records = ROWS.map(record);
    for words in records.iter_mut().take(2) {
        words[record::WAIT as usize] = 200;
    }
    let profile = Profile::read(&dump_of(&records, 4)).unwrap();
    let sites: Vec<_> = profile
        .sites
        .iter()
        .map(|s| (s.arrive.get(), s.wait.get(), s.phases))
        .collect();
    assert_eq!(sites, [(100, 120, 1), (100, 200, 1)]);
}

#[test]
fn what_the_ring_has_lost_is_counted_and_its_phase_has_no_skew() {
    let profile = Profile::read(&dump(&ROWS, 3)).unwrap();
    assert_eq!((profile.written, profile.lost), (4, 1));
    let site = &profile.sites[0];
    assert_eq!(
        (site.phases, site.incomplete, site.contradictory),
        (1, 1, 0)
    );
    assert_eq!(site.skew.unwrap().most, 1);
    assert_eq!(site.window.unwrap().count, 3);
}

#[test]
fn clocks_that_contradict_the_barrier_count_nowhere() {
    // Subgroup 0 has passed before subgroup 1 arrived; the clock of subgroup 1 runs backwards.
    for (row, clocks) in [
        (1, [HIGH, HIGH + 1, HIGH + 29]),
        (0, [HIGH + 30, HIGH + 29, HIGH + 50]),
    ] {
        let mut rows = ROWS;
        rows[row].2 = clocks;
        let site = Profile::read(&dump(&rows, 4)).unwrap().sites.remove(0);
        assert_eq!(
            (site.phases, site.incomplete, site.contradictory),
            (1, 0, 1)
        );
        assert_eq!(site.window.unwrap().count, 2);
    }
}

#[test]
fn every_beginning_of_a_dump_is_too_short() {
    let whole = dump(&ROWS, 4);
    for length in 0..whole.len() {
        assert_eq!(code(&whole[..length]), Code::TruncatedProfile, "{length}");
    }
    let mut longer = whole.clone();
    longer.extend([0xff; 99]);
    assert_eq!(
        Profile::read(&longer).unwrap(),
        Profile::read(&whole).unwrap()
    );
}

/// The hash cannot be known to be wrong without the module; all else is noticed.
#[test]
fn every_flipped_bit_is_noticed() {
    let whole = dump(&ROWS, 6);
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let read = Profile::read(&bytes);
        match bit / 32 {
            0 => assert_eq!(read.unwrap_err().code, Code::NotAProfile, "{bit}"),
            1 => assert_eq!(read.unwrap_err().code, Code::ProfileVersion, "{bit}"),
            2 | 3 => assert_ne!(read.unwrap().hash, HASH, "{bit}"),
            // A smaller ring that holds them all reads the same.
            4 => assert!(read.is_err() || bit == 32 * 4 + 1, "{bit}"),
            _ => assert_eq!(read.unwrap_err().code, Code::DamagedProfile, "{bit}"),
        }
    }
}

/// The dump with other words in its header.
fn with_words(dump: &[u8], words: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = dump.to_vec();
    for (index, value) in words {
        let at = 4 * *index as usize;
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn the_header_names_a_gpu_or_none() {
    let whole = dump(&ROWS, 4);
    assert_eq!(Profile::read(&whole).unwrap().gpu, None);
    let gpu = Gpu::new("gfx90a", 64).unwrap();
    let [kind, number] = gpu.words();
    let words = [(header::GPU, kind), (header::GPU + 1, number)];
    let named = with_words(&whole, &words);
    assert_eq!(Profile::read(&named).unwrap().gpu, Some(gpu));
    // Half a name, and no GPU.
    for words in [&words[..1], &words[1..], &[(6, 0x2003), (7, 90)]] {
        assert_eq!(code(&with_words(&whole, words)), Code::DamagedProfile);
    }
    // Version 1 has zeros there.
    let old = with_words(&whole, &[(header::VERSION, 1)]);
    assert_eq!(Profile::read(&old), Profile::read(&whole));
    let both = with_words(&named, &[(header::VERSION, 1)]);
    assert_eq!(code(&both), Code::DamagedProfile);
    for version in [0, VERSION + 1, u32::MAX] {
        let other = with_words(&whole, &[(header::VERSION, version)]);
        assert_eq!(code(&other), Code::ProfileVersion);
    }
    // One time for each workgroup is in a dump of the newest version.
    let rows =
        ROWS.map(|(phase, subgroup, _)| (phase, subgroup, [1, 1, 1].map(|n| n + u64::from(phase))));
    let own = dump(&rows, 4);
    let other = Gpu::new("sm_90", 32).unwrap();
    for (bytes, given, left) in [
        (&own, None, None),
        (&with_words(&own, &words), None, Some(gpu)),
        (&with_words(&own, &words), Some(other), Some(other)),
        (
            &with_words(&own, &[(header::VERSION, 1)]),
            Some(other),
            Some(other),
        ),
    ] {
        let timed = retime(bytes, given).unwrap();
        assert_eq!(Profile::read(&timed).unwrap().gpu, left);
    }
}

#[test]
fn hostile_sizes_end_at_once() {
    let whole = dump(&ROWS, 4);
    let with = |index, value| code(&with_words(&whole, &[(index, value)]));
    assert_eq!(with(4, u32::MAX), Code::TruncatedProfile);
    assert_eq!(with(4, 5), Code::TruncatedProfile);
    assert_eq!(with(4, 0), Code::DamagedProfile);
    assert_eq!(with(5, u32::MAX), Code::DamagedProfile);
    assert_eq!(with(5, 0), Code::DamagedProfile);
    assert_eq!(
        with(5, 3),
        Code::DamagedProfile,
        "the last one was not written"
    );
    assert_eq!(code(&[0; 1 << 10]), Code::NotAProfile);
    assert_eq!(code(&[0xff; 1 << 10]), Code::NotAProfile);
    // Every record says that it is of another barrier, and of one of many subgroups.
    let records: Vec<_> = (0..5000)
        .map(|number| {
            let mut words = record((number, u32::MAX - 1, [u64::MAX; 3]));
            words[1..3].copy_from_slice(&[number, u32::MAX - number]);
            words[record::SUBGROUPS as usize] = u32::MAX;
            words
        })
        .collect();
    let profile = Profile::read(&dump_of(&records, 5000)).unwrap();
    assert_eq!(profile.sites.len(), 5000);
    assert!(profile.sites.iter().all(|site| site.incomplete == 1));
}

#[test]
fn two_launches_in_one_buffer_are_refused() {
    let rows = [ROWS[0], ROWS[1], ROWS[1]];
    assert_eq!(code(&dump(&rows, 4)), Code::RepeatedLaunch);
}

#[test]
fn subgroups_of_one_phase_are_at_one_barrier() {
    for (at, value) in [(record::WAIT, 121), (record::SUBGROUPS, 3)] {
        let mut records = ROWS.map(record);
        records[0][at as usize] = value;
        assert_eq!(code(&dump_of(&records, 4)), Code::DamagedProfile);
    }
    let mut records = ROWS.map(record);
    records[0][record::SUBGROUP as usize] = 2;
    assert_eq!(
        code(&dump_of(&records, 4)),
        Code::DamagedProfile,
        "subgroup 2 of 2"
    );
}

/// A shader with one pair, and the word offsets of its sides.
fn shader() -> (Module<'static>, WordOffset, WordOffset) {
    let text = "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 64 1 1
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %group = OpConstant %uint 2
        %none = OpConstant %uint 0
        %main = OpFunction %void None %fn
        %start = OpLabel
        OpControlBarrierArriveEXT %group %group %none
        OpControlBarrierWaitEXT %group %group %none
        OpReturn
        OpFunctionEnd";
    let module = assemble(text).unwrap().module().unwrap().into_owned();
    let at = |opcode: u16| {
        let mut all = module.instructions();
        all.find(|inst| inst.opcode() == opcode).unwrap().offset
    };
    let (arrive, wait) = (at(6142), at(6143));
    (module, arrive, wait)
}

#[test]
fn a_dump_is_held_against_its_module() {
    let (module, arrive, wait) = shader();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    let mut profile = Profile::read(&dump(&ROWS, 4)).unwrap();
    let failed = |profile: &Profile| profile.check(&declarations).unwrap_err().code;
    assert_eq!(failed(&profile), Code::ForeignProfile);
    profile.hash = module_hash(&module);
    assert_eq!(failed(&profile), Code::DamagedProfile, "words 100 and 120");
    let site = &mut profile.sites[0];
    (site.arrive, site.wait) = (arrive, wait);
    profile.check(&declarations).unwrap();
    profile.sites[0].kind = SiteKind::Full;
    assert_eq!(failed(&profile), Code::DamagedProfile);
}

/// Clocks of a dump, in its order.
fn clocks(bytes: &[u8]) -> Vec<[u64; 3]> {
    let dump = super::dump::Dump::read(bytes).unwrap();
    let clocks = |record: &super::dump::Record| [record.arrived, record.waited, record.passed];
    dump.records.iter().map(clocks).collect()
}

/// Subgroup 1 has 30 instructions more in front of the first barrier; in the second phase both do
/// the same, however long they polled.
#[test]
fn own_instructions_become_one_time() {
    let rows = [
        (0, 0, [10, 15, 400]),
        (0, 1, [40, 42, 43]),
        (1, 0, [405, 410, 900]),
        (1, 1, [48, 53, 54]),
    ];
    let timed = retime(&dump(&rows, 8), None).unwrap();
    let expected = [[10, 15, 40], [40, 42, 42], [45, 50, 50], [47, 52, 52]];
    assert_eq!(clocks(&timed), expected);
    let profile = Profile::read(&timed).unwrap();
    assert_eq!(
        (profile.hash, profile.capacity, profile.written),
        (HASH, 8, 4)
    );
    assert_eq!(profile.sites[0].contradictory, 0);
    let skew = profile.sites[0].skew.unwrap();
    assert_eq!((skew.least, skew.most), (2, 30));
}

/// A full barrier stands in the window: the arrive keeps the time that it had.
#[test]
fn an_arrive_before_another_barrier_has_the_time_of_then() {
    let mut records = [
        (0, 0, [20, 20, 21]),
        (0, 1, [50, 50, 51]),
        (1, 0, [10, 30, 31]),
        (1, 1, [12, 60, 61]),
    ]
    .map(record);
    for words in records.iter_mut().take(2) {
        words[record::ARRIVE as usize] = 120;
    }
    let timed = retime(&dump_of(&records, 4), None).unwrap();
    let expected = [[20, 20, 50], [50, 50, 50], [10, 59, 59], [12, 59, 59]];
    assert_eq!(clocks(&timed), expected);
}

#[test]
fn what_has_no_time_is_refused() {
    let failed = |bytes: &[u8]| retime(bytes, None).unwrap_err().code;
    assert_eq!(failed(&dump(&ROWS, 3)), Code::LaunchTooLarge);
    assert_eq!(failed(&dump(&ROWS, 4)[..99]), Code::TruncatedProfile);
    for clocks in [[9, 8, 10], [8, 10, 9], [1, 2, 3]] {
        let rows = [(0, 0, [4, 5, 6]), (1, 0, clocks)];
        assert_eq!(failed(&dump(&rows, 4)), Code::UnsupportedOnTarget);
    }
    let mut rows = [(0, 0, [0, 1, 1]), (0, 1, [u64::MAX; 3]), (1, 0, [1; 3])];
    assert!(retime(&dump(&rows, 4), None).is_ok());
    rows[2].2 = [2; 3];
    assert_eq!(failed(&dump(&rows, 4)), Code::LaunchTooLarge, "2^64");
}

/// Words are swapped or replaced, and check words made right again.
#[test]
fn damage_never_panics() {
    let mut numbers = 0x5eed_u64; // xorshift, Marsaglia 2003
    let mut below = |end: usize| {
        numbers ^= numbers << 13;
        numbers ^= numbers >> 7;
        numbers ^= numbers << 17;
        (numbers % end as u64) as usize
    };
    let whole = dump(&ROWS, 4);
    let (mut read, mut timed) = (0, 0);
    for _ in 0..20_000 {
        let mut words: Vec<u32> = whole
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        for _ in 0..1 + below(3) {
            let (at, other) = (2 + below(words.len() - 2), below(words.len()));
            match below(3) {
                0 => words[at] = words[other],
                1 => words[at] = [0, 1, u32::MAX, 1 << 31][below(4)],
                _ => words[at] = words[at].wrapping_add(1),
            }
        }
        for record in words[8..].chunks_exact_mut(RECORD_WORDS as usize) {
            record[15] = record[..15].iter().fold(0, |sum, word| sum ^ word);
        }
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        if let Ok(profile) = Profile::read(&bytes) {
            read += 1;
            let phases = profile.sites.iter();
            let phases = phases.map(|site| site.phases + site.incomplete + site.contradictory);
            assert!((1..=4).contains(&phases.sum::<u64>()));
        }
        timed += usize::from(retime(&bytes, None).is_ok());
    }
    assert!(read > 2000 && timed > 1000, "{read} {timed}");
}
