//! The places of the code of an output, for assembly that shows them.

use super::entry::Entry;
use super::problems::Problems;
use crate::annotate::{Additions, Annotations, KernelComments, KernelPlaces, SiteComments};
use crate::explain;
use crate::options::Options;
use splitbar_passes::module::{Declarations, Frame, WordOffset};
use splitbar_plan::{Overlap, PairPlan};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The additions to assembly that `options` ask for.
pub(super) fn additions(options: &Options) -> Additions {
    if options.lines {
        return Additions::default();
    }
    Additions {
        debug_info: options.debug_info,
        source: options.source,
        comments: options.comments,
    }
}

/// The places of the code of `entries`, whose module is `planned`; `None` if the assembly shows
/// nothing of them.
pub(super) fn annotations(
    options: &Options,
    planned: &Declarations<'_>,
    problems: &Problems<'_>,
    entries: &[Entry],
) -> Option<Annotations> {
    let additions = additions(options);
    if !additions.any() {
        return None;
    }
    let given = problems.given();
    let kernels = entries.iter().map(|entry| {
        let function = entry.plan.function;
        let name = given.source_function_name(function);
        let begin = given.functions.iter().find(|of| of.id == function);
        let begin = begin.map(|function| function.offset);
        let at = begin.and_then(|begin| given.frames(&[begin]).remove(&begin));
        KernelPlaces {
            symbol: entry.abi.symbol.clone(),
            name: Arc::from(name.unwrap_or(&entry.plan.entry)),
            at: at
                .and_then(|frames| frames.into_iter().next())
                .map(|frame| frame.at),
        }
    });
    Some(Annotations {
        additions,
        kernels: kernels.collect(),
        frames: frames(planned, problems, entries),
        language: language(given),
        sources: given.source_files(),
    })
}

/// The frames of all instructions of the functions of `planned`, by word.
fn frames(
    planned: &Declarations<'_>,
    problems: &Problems<'_>,
    entries: &[Entry],
) -> BTreeMap<u32, Arc<[Frame]>> {
    let sites = entries.iter().flat_map(|entry| &entry.plan.sites);
    let sites: BTreeSet<WordOffset> = sites.map(|site| site.offset).collect();
    let source_word = |word| {
        if sites.contains(&word) {
            problems.source_barrier(word)
        } else {
            problems.source_word(word)
        }
    };
    let mut kept: BTreeSet<Arc<[Frame]>> = BTreeSet::new();
    let mut all = BTreeMap::new();
    for function in &planned.functions {
        let instructions = planned.module.instructions_from(function.offset);
        let instructions = instructions.take_while(|inst| inst.offset <= function.end);
        let words: Vec<(WordOffset, WordOffset)> = instructions
            .filter_map(|inst| Some((inst.offset, source_word(inst.offset)?)))
            .collect();
        let given: Vec<WordOffset> = words.iter().map(|(_, given)| *given).collect();
        let frames: BTreeMap<WordOffset, Arc<[Frame]>> = problems
            .given()
            .frames(&given)
            .into_iter()
            .map(|(word, frames)| (word, shared(frames, &mut kept)))
            .collect();
        let located = words
            .iter()
            .filter_map(|(word, given)| Some((word.get(), Arc::clone(frames.get(given)?))));
        all.extend(located);
    }
    all
}

/// The same frames once in memory.
fn shared(frames: Vec<Frame>, kept: &mut BTreeSet<Arc<[Frame]>>) -> Arc<[Frame]> {
    if let Some(known) = kept.get(&frames[..]) {
        return Arc::clone(known);
    }
    let frames: Arc<[Frame]> = Arc::from(frames);
    kept.insert(Arc::clone(&frames));
    frames
}

/// The source languages of OpSource as DWARF numbers them.
const LANGUAGES: [(u32, u16); 7] = [
    (1, 0x35), // ESSL
    (2, 0x34), // GLSL
    (3, 0x15), // OpenCL C
    (4, 0x37), // OpenCL C++
    (5, 0x36), // HLSL
    (6, 0x38), // C++ for OpenCL
    (7, 0x39), // SYCL
];

/// DW_LANG_C99, of which debuggers know most.
const OTHER_LANGUAGE: u16 = 0x0c;

/// The language of the source of a module, as DWARF numbers it.
fn language(given: &Declarations<'_>) -> u16 {
    let mut instructions = given.module.instructions();
    let source = instructions.find(|inst| inst.op() == Some(spirv::Op::Source));
    let number = source.and_then(|inst| inst.operands().first().copied());
    let row = LANGUAGES.iter().find(|(name, _)| Some(*name) == number);
    row.map_or(OTHER_LANGUAGE, |(_, language)| *language)
}

/// The comments on the barriers of `entry`, with the reasons of the choice that it has now.
pub(super) fn comments(entry: &Entry) -> KernelComments {
    let plan = &entry.plan;
    let mut sites: BTreeMap<usize, SiteComments> = BTreeMap::new();
    let mut current = None;
    let text = entry.plan_text();
    for line in text.lines() {
        if let Some(number) = explain::site(line) {
            let site = sites.entry(number).or_default();
            site.title = line.trim().trim_end_matches(':').to_owned();
            current = Some(number);
        } else if line.starts_with("    ") {
            let site = current.and_then(|number| sites.get_mut(&number));
            let detail = line.trim_start();
            let detail = match explain::step(line) {
                Some(note) => format!("{detail}: {note}"),
                None => detail.to_owned(),
            };
            if let Some(site) = site {
                site.details.push(detail);
            }
        } else {
            current = None;
        }
    }
    let mut comments = KernelComments::new();
    for (number, site) in plan.sites.iter().enumerate() {
        let Some(mut comment) = sites.remove(&number) else {
            continue;
        };
        let is_of = |pair: &&PairPlan| {
            let mut ends = pair.arrives.iter().chain(&pair.waits);
            ends.any(|end| end.0 as usize == number)
        };
        let pairs: Vec<&PairPlan> = plan.pairs.iter().filter(is_of).collect();
        for pair in &pairs {
            comment.title += &format!(" (pair {}: {})", pair.id.0, pair.strategy);
            if pair.arrives.iter().any(|end| end.0 as usize == number) {
                let reason = format!("{}, because {}", pair.strategy, pair.reason);
                comment.details.insert(0, reason);
            }
        }
        if pairs.is_empty()
            && let Some(why) = unsplit(entry, site.offset)
        {
            comment.details.insert(0, why);
        }
        let is_split = |pair: &&&PairPlan| pair.strategy.overlap() == Overlap::Split;
        comment.window = match pairs.iter().find(is_split) {
            Some(pair) => Some(format!("the window of pair {}", pair.id.0)),
            None => Some(format!("the window of barrier #{number}")),
        };
        comments.insert(site.offset.get(), comment);
    }
    comments
}

/// Why the barrier at word `planned` of the planned module is not split.
fn unsplit(entry: &Entry, planned: WordOffset) -> Option<String> {
    let given = entry.places.given_word(planned)?;
    let mut unsplit = entry.unsplit.iter();
    let barrier = unsplit.find(|barrier| barrier.word == given)?;
    Some(format!("{}, because {}", barrier.outcome(), barrier.reason))
}
