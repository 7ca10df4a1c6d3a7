//! The part of a report about the kernels of a module on one GPU.

use super::code::{self, Places, plain};
use super::findings;
use super::model::{
    AsmLine, BarrierOutcome, Finding, KernelResult, NotLookedAt, Outcome, Refused, Shown, Verdict,
    VersionResult,
};
use super::room::{Room, SHOWN};
use super::time::{self, Estimated, Launch};
use super::verdict::{Weighed, verdict};
use super::versions::{AUTO, FULL, Version, pipelining, versions};
use crate::compile::{Entry, Expected, Output};
use crate::failure::{Failure, exit};
use crate::options::{Options, PipelineLoops};
use crate::window::Window;
use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::target::Arch;
use splitbar_plan::{Overlap, Target};

/// A module, compiled in several versions for one GPU.
pub(super) struct Compiled {
    target: &'static Target,
    /// The one with full barriers first.
    outputs: Vec<(Version, Output)>,
    refused: Vec<Refused>,
}

/// The facts about the module that all results share.
pub(super) struct Known<'k> {
    pub(super) launch: &'k Launch<'k>,
    pub(super) places: &'k Places,
    /// The findings of check, which are not told again.
    pub(super) checked: &'k Diagnostics,
    pub(super) has_source: bool,
    pub(super) room: Room,
    pub(super) cut: &'k mut Vec<String>,
}

/// A version of one kernel.
struct Candidate<'c> {
    version: &'c Version,
    output: &'c Output,
    entry: &'c Entry,
    /// Its code.
    assembly: Vec<AsmLine>,
    estimated: Estimated,
    facts: VersionResult,
}

impl Compiled {
    /// Compiles every version that fits.
    ///
    /// # Errors
    /// As [`Compiler::compile`](crate::Compiler::compile) with full barriers, and bugs.
    pub(super) fn new(
        bytes: &[u8],
        options: &Options,
        is_plain: bool,
    ) -> Result<Compiled, Failure> {
        let mut compiled = Compiled {
            target: options.target,
            outputs: Vec::new(),
            refused: Vec::new(),
        };
        for version in versions(options, is_plain) {
            match version.compile(bytes) {
                Ok(output) => compiled.outputs.push((version, output)),
                Err(failure) if version.name == FULL || failure.exit_code() == exit::BUG => {
                    return Err(failure);
                }
                Err(failure) => {
                    let first = failure.diagnostics.iter().next();
                    let message = first.map_or_else(String::new, |one| one.message.clone());
                    compiled.refused.push(Refused {
                        name: version.name.to_owned(),
                        reason: plain(&failure.of_strategy().unwrap_or(message)),
                    });
                }
            }
        }
        Ok(compiled)
    }

    /// The results of all kernels.
    pub(super) fn results(&self, mut known: Known<'_>) -> Vec<KernelResult> {
        let Some((_, full)) = self.outputs.first() else {
            return Vec::new();
        };
        let entries = 0..full.entries().len();
        entries
            .filter_map(|index| self.result(index, &mut known))
            .collect()
    }

    fn result(&self, index: usize, known: &mut Known<'_>) -> Option<KernelResult> {
        let mut refused = self.refused.clone();
        let candidates = self.candidates(index, known, &mut refused);
        let full = candidates.first()?;
        let reasons: Vec<Vec<String>> = candidates.iter().map(Candidate::reasons).collect();
        let weighed: Vec<Weighed<'_>> = candidates
            .iter()
            .zip(&reasons)
            .map(|(one, reasons)| Weighed {
                facts: &one.facts,
                expected: &one.estimated.expected,
                reasons,
                splits: {
                    let mut pairs = one.entry.plan.pairs.iter();
                    pairs.any(|pair| pair.strategy.is_split())
                },
                barriers: one.barriers(),
            })
            .collect();
        let has_barriers = candidates.iter().any(Candidate::has_barriers);
        let auto = self.outputs.iter();
        let auto = auto.filter(|(version, _)| version.name == AUTO);
        let auto = auto.filter_map(|(_, output)| output.entries().get(index));
        let barriers: Vec<BarrierOutcome> = auto
            .flat_map(|entry| barriers(entry, known.places))
            .collect();
        let verdict = verdict(&weighed, has_barriers, &barriers);
        let chosen = candidates
            .iter()
            .find(|one| Some(one.facts.name.as_str()) == verdict.version.as_deref())
            .unwrap_or(full);
        let mut not_looked_at = Vec::new();
        let mut found = self.found(chosen, known, index, &mut not_looked_at);
        for one in &candidates {
            let of_estimate = one.estimated.findings.iter();
            found.extend(findings::simulated("estimate", of_estimate, known.places));
        }
        found.dedup();
        let shown = shown(&candidates, &verdict);
        let shown: Vec<Shown> = shown
            .into_iter()
            .map(|one| one.shown(index, known, self.target, &mut not_looked_at))
            .collect();
        for one in &candidates {
            if let Some(why) = &one.facts.unknown {
                let part = format!("the time of {}", one.facts.name);
                not_looked_at.push(NotLookedAt {
                    part,
                    reason: why.clone(),
                });
            }
        }
        self.limits(full, known, &mut not_looked_at);
        Some(KernelResult {
            entry: plain(&full.entry.plan.entry),
            target: self.target.name,
            code: match self.target.arch {
                Arch::Amdgpu(_) => "amdgpu",
                Arch::Nvptx(_) => "ptx",
            },
            wavefront_size: full.entry.plan.wave_size,
            workgroup_size: full.entry.plan.workgroup_size,
            verdict,
            barriers,
            shown,
            findings: found,
            not_looked_at,
            refused,
            versions: candidates.into_iter().map(|one| one.facts).collect(),
        })
    }

    /// The versions of kernel number `index` that differ.
    fn candidates<'c>(
        &'c self,
        index: usize,
        known: &mut Known<'_>,
        refused: &mut Vec<Refused>,
    ) -> Vec<Candidate<'c>> {
        let mut different: Vec<(&Version, &Output, &Entry, Vec<AsmLine>, u32)> = Vec::new();
        for (version, output) in &self.outputs {
            let Some(entry) = output.entries().get(index) else {
                continue; // the entry points are the same in all versions
            };
            let text = output.assembly().unwrap_or_default();
            let arch = &self.target.arch;
            let (assembly, instructions) = code::assembly(&text, &entry.abi.symbol, arch);
            let mut others = different.iter();
            if let Some((same, ..)) = others.find(|(.., other, _)| is_same(other, &assembly)) {
                refused.push(Refused {
                    name: version.name.to_owned(),
                    reason: format!("its code is the same as that of {}", same.name),
                });
                continue;
            }
            different.push((version, output, entry, assembly, instructions));
        }
        let outputs: Vec<&Output> = different.iter().map(|one| one.1).collect();
        let estimates = known.launch.estimates(&outputs, index);
        let full = estimates.first().map(|full| full.expected.clone());
        let both = different.into_iter().zip(estimates);
        let candidates = both.map(
            |((version, output, entry, assembly, instructions), estimated)| {
                let full = full.as_ref().unwrap_or(&estimated.expected);
                let of_full = estimated.expected.over(full);
                let facts = facts(version, entry, &estimated, instructions, of_full);
                Candidate {
                    version,
                    output,
                    entry,
                    assembly,
                    estimated,
                    facts,
                }
            },
        );
        candidates.collect()
    }

    /// The findings about the version to take.
    fn found(
        &self,
        chosen: &Candidate<'_>,
        known: &Known<'_>,
        index: usize,
        not_looked_at: &mut Vec<NotLookedAt>,
    ) -> Vec<Finding> {
        let mut skip = |part: &str, reason: String| {
            not_looked_at.push(NotLookedAt {
                part: part.to_owned(),
                reason,
            });
        };
        let mut warnings = Diagnostics::new();
        for warning in chosen.output.warnings().iter() {
            let mut checked = known.checked.iter();
            let is_known = |other: &splitbar_passes::diagnostic::Diagnostic| {
                other.code == warning.code && other.message == warning.message
            };
            if !checked.any(is_known) {
                warnings.push(warning.clone());
            }
        }
        let mut found = findings::diagnostics("compile", &warnings, known.places);
        match &chosen.entry.audit {
            Some(audit) => found.extend(findings::audit(audit, &chosen.assembly, known.places)),
            None => skip(
                "the audit of the code",
                "the code cannot be read".to_owned(),
            ),
        }
        let races = "races, missing waits and accesses beyond buffers";
        match known.launch {
            Launch::MadeUp => skip(
                races,
                "no launch was given, and a synthetic launch cannot show them".to_owned(),
            ),
            Launch::Given(launch) => {
                match findings::run(launch, chosen.output, index, known.places) {
                    Ok(simulated) => found.extend(simulated),
                    Err(why) => skip(races, plain(&why)),
                }
            }
        }
        found
    }

    /// The limits of what was measured.
    fn limits(&self, full: &Candidate<'_>, known: &Known<'_>, all: &mut Vec<NotLookedAt>) {
        let mut skip = |part: &str, reason: &str| {
            all.push(NotLookedAt {
                part: part.to_owned(),
                reason: reason.to_owned(),
            });
        };
        if let Arch::Nvptx(_) = self.target.arch {
            if full.facts.is_estimated {
                skip(
                    "the registers that ptxas allocates",
                    "ptxas was not found: they are estimated from the PTX",
                );
            }
            if full.entry.machine_windows.is_none() {
                skip(
                    "the machine code",
                    "windows are counted in PTX; they are counted in machine code if ptxas and nvdisasm are installed and the kernel has pairs",
                );
            } else {
                skip(
                    "the machine code as text",
                    "the code is PTX; ptxas reorders the instructions",
                );
            }
        }
        if !known.has_source {
            skip(
                "the source",
                "the module does not contain its source text; compile the shader with debug information (`-g`, `-gVS`)",
            );
        }
        skip(
            "the time on a GPU",
            "cycles are estimates of a simulator; nothing ran on a GPU",
        );
    }
}

/// The versions to show: the one to take and full barriers; or full barriers and the best other
/// one.
fn shown<'c, 'o>(candidates: &'c [Candidate<'o>], verdict: &Verdict) -> Vec<&'c Candidate<'o>> {
    let rank = |one: &&Candidate<'_>| one.facts.of_full.unwrap_or(f64::INFINITY);
    let mut others: Vec<&Candidate<'_>> = candidates.iter().skip(1).collect();
    others.sort_by(|one, other| rank(one).total_cmp(&rank(other)));
    let chosen = others
        .iter()
        .position(|one| Some(one.facts.name.as_str()) == verdict.version.as_deref());
    let first = others.get(chosen.unwrap_or(0)).copied();
    let full = candidates.first();
    let mut shown: Vec<&Candidate<'_>> = match verdict.outcome {
        Outcome::Split | Outcome::Pipeline | Outcome::Change => {
            first.into_iter().chain(full).collect()
        }
        Outcome::Full | Outcome::NoBarrier | Outcome::Unknown => {
            full.into_iter().chain(first).collect()
        }
    };
    shown.truncate(SHOWN);
    shown
}

impl Candidate<'_> {
    /// The number of its pairs and full barriers.
    fn barriers(&self) -> usize {
        let sites = self.entry.plan.sites.iter();
        let full = sites.filter(|site| site.kind == SiteKind::ControlBarrier);
        full.count() + self.entry.plan.pairs.len()
    }

    fn has_barriers(&self) -> bool {
        let plan = &self.entry.plan;
        let mut sites = plan.sites.iter();
        !plan.pairs.is_empty() || sites.any(|site| site.execution.is_some())
    }

    /// The reasons of the compiler. It compares a version with pipelined loops with the same loops
    /// and full barriers, which no row of the table has.
    fn reasons(&self) -> Vec<String> {
        let pipelined = pipelining(self.version.name);
        let mut reasons: Vec<String> = Vec::new();
        reasons.extend(pipelined.map(|loops| {
            let barriers = if loops == PipelineLoops::OneBuffer {
                "two barriers"
            } else {
                "one barrier"
            };
            let ahead = match loops {
                PipelineLoops::ThreeBuffers | PipelineLoops::ThreeBuffersStage => "a later",
                _ => "the next",
            };
            format!("an iteration of a loop loads the data of {ahead} iteration while it works on its own, and has {barriers}")
        }));
        for pair in &self.entry.plan.pairs {
            let name = pair.strategy.name();
            let reason = match plain(&pair.reason) {
                reason if reason.starts_with(name) => reason,
                reason => format!("{name}: {reason}"),
            };
            let reason = match pipelined {
                Some(_) if pair.strategy.is_split() => {
                    format!(
                        "the barriers of the pipelined loop are split; compared with full barriers in the same loop: {reason}"
                    )
                }
                Some(_) => {
                    format!(
                        "the barriers of the pipelined loop are full; split in the same loop: {}",
                        plain(&pair.reason)
                    )
                }
                None => reason,
            };
            if self.version.name != FULL && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }

    fn shown(
        &self,
        index: usize,
        known: &mut Known<'_>,
        target: &Target,
        not_looked_at: &mut Vec<NotLookedAt>,
    ) -> Shown {
        let name = &self.facts.name;
        let title = format!("{name} on {}", target.name);
        let mut assembly = self.assembly.clone();
        code::shorten(&mut assembly, known.room.lines, &title, known.cut);
        let timeline = match known
            .launch
            .timeline(self.output, index, &self.estimated.expected)
        {
            Ok(timeline) => Some(time::facts(&timeline, known.room.slices)),
            Err(why) => {
                not_looked_at.push(NotLookedAt {
                    part: format!("the timeline of {name}"),
                    reason: plain(&why),
                });
                None
            }
        };
        if let Some(cycle) = timeline.as_ref().and_then(|timeline| timeline.cut_off) {
            known.cut.push(format!(
                "the timeline of {title} ends at cycle {cycle}; `splitbar sim --timing --trace` writes all of it"
            ));
        }
        Shown {
            version: name.clone(),
            plan: code::plan(self.entry),
            windows: code::windows(self.entry),
            assembly,
            timeline,
        }
    }
}

/// Returns true if two versions have the same code, wherever it came from.
fn is_same(one: &[AsmLine], other: &[AsmLine]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.text == b.text)
}

fn facts(
    version: &Version,
    entry: &Entry,
    estimated: &Estimated,
    instructions: u32,
    of_full: Option<f64>,
) -> VersionResult {
    let mut strategies = Vec::new();
    for pair in &entry.plan.pairs {
        if !strategies.contains(&pair.strategy.name()) {
            strategies.push(pair.strategy.name());
        }
    }
    let about = entry.resident_estimate.as_ref();
    let resident = entry.resident.as_ref();
    let split = entry
        .plan
        .pairs
        .iter()
        .zip(entry.final_windows().unwrap_or(&[]));
    let split = split.filter(|(pair, _)| pair.strategy.overlap() == Overlap::Split);
    let window = split
        .map(|(_, window)| *window)
        .reduce(|one, other| Window {
            source: one.source + other.source,
            kept: one.kept + other.kept,
        });
    let (cycles, is_complete, unknown) = match &estimated.expected {
        Expected::Cycles(cycles) => (Some(cycles.cycles), cycles.complete, None),
        Expected::Unknown { unknown } => (None, true, Some(plain(unknown))),
    };
    VersionResult {
        name: version.name.to_owned(),
        strategies,
        settings: version.settings.clone(),
        resource_usage: entry.usage,
        registers: entry
            .usage
            .map(|usage| usage.registers)
            .or(about.map(|about| about.registers)),
        workgroups: resident
            .map(|resident| resident.workgroups)
            .or(about.map(|about| about.workgroups)),
        occupancy: resident
            .map(|resident| resident.occupancy)
            .or(about.map(|about| about.occupancy)),
        limiter: resident
            .map(|resident| resident.limiter.clone())
            .or(about.map(|about| about.limiter.clone())),
        is_estimated: resident.is_none() && about.is_some(),
        window,
        instructions,
        cycles,
        running: estimated.running,
        is_complete,
        of_full,
        unknown,
    }
}

/// The decision about each barrier of `entry`.
fn barriers(entry: &Entry, places: &Places) -> Vec<BarrierOutcome> {
    let decided = entry.decisions.iter().flat_map(|one| &one.barriers);
    let split = decided
        .filter(|barrier| barrier.split)
        .map(|barrier| (barrier.word, "split", &barrier.reason));
    let unsplit = entry.unsplit.iter().map(|barrier| {
        let outcome = match (barrier.removed, barrier.narrowed) {
            (true, _) => "removed",
            (false, true) => "subgroup barrier",
            (false, false) => "full barrier",
        };
        (barrier.word, outcome, &barrier.reason)
    });
    let mut all: Vec<_> = split.chain(unsplit).collect();
    all.sort_by_key(|(word, ..)| *word);
    let outcomes = all
        .into_iter()
        .map(|(word, outcome, reason)| BarrierOutcome {
            place: places.of(word.get()),
            outcome,
            reason: plain(reason),
        });
    outcomes.collect()
}
