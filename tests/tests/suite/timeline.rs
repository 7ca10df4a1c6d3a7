//! Timelines: the trace events of estimates and of schedules, read by a parser of the format that
//! is this file's own, and compared with profiles of the same kernels.

use crate::cli::{expect, path};
use crate::sim::inputs;
use crate::support::{compile_bytes, linkable, timed_matmul, trial};
use anyhow::{Context, Result, anyhow, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use splitbar::Strategy;
use splitbar::simulate::estimate::Estimate;
use splitbar::simulate::machine::{Clocks, Schedule};
use splitbar::simulate::timeline::{Origin, Timeline, TimelineUnit};
use splitbar::simulate::{Inputs, Job, profile};
use splitbar_passes::profile::Profile;
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference;
use splitbar_tests::schema::Schemas;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = vec![
        trial("timeline/command_line".to_owned(), command_line),
        trial("timeline/race".to_owned(), race),
        trial("timeline/deadlock".to_owned(), deadlock),
        trial("timeline/full".to_owned(), full),
    ];
    for on in ["gfx1201", "sm_90"] {
        let fixtures = fixtures.to_vec();
        let name = format!("timeline/fixtures/{on}");
        trials.push(trial(name, move || every_kernel(&fixtures, on)));
        let name = format!("timeline/strategies/{on}");
        trials.push(trial(name, move || strategies(on)));
    }
    trials
}

/// A slice of a trace.
#[derive(Clone, Debug)]
struct Slice {
    from: u64,
    until: u64,
    name: String,
    word: Option<u64>,
}

impl Slice {
    fn is_barrier(&self) -> bool {
        ["arrive", "window", "wait", "full barrier"].contains(&self.name.as_str())
    }
}

/// The contents of a trace.
#[derive(Debug, Default)]
struct Trace {
    /// The slices of each thread that is a wave, in their order in the file.
    threads: BTreeMap<u64, Vec<Slice>>,
    names: BTreeMap<u64, String>,
    /// Both ends of each flow: kind, thread and time.
    flows: Vec<(String, [(u64, u64); 2])>,
    counters: BTreeMap<String, Vec<(u64, u64)>>,
    marks: Vec<(u64, u64, String)>,
    /// True if it covers the whole launch.
    is_whole: bool,
    cut_off: Option<u64>,
}

impl Trace {
    /// The end of the last slice.
    fn end(&self) -> Option<u64> {
        let slices = self.threads.values().flatten();
        slices.map(|slice| slice.until).max()
    }

    /// Reads trace events, and checks the rules of the format: slices of a thread nest and begin in
    /// order, flows have both ends, in slices, the first not after the second.
    fn read(bytes: &[u8]) -> Result<Trace> {
        let json: Value = serde_json::from_slice(bytes)?;
        Schemas::read()?.check("trace.json", &json)?;
        let mut trace = Trace {
            cut_off: json["otherData"]["cut_off_at"].as_u64(),
            ..Trace::default()
        };
        let mut ends: BTreeMap<u64, [Option<(u64, u64)>; 2]> = BTreeMap::new();
        let mut kinds: BTreeMap<u64, String> = BTreeMap::new();
        for event in json["traceEvents"].as_array().context("events")? {
            let number = |key: &str| {
                event[key]
                    .as_u64()
                    .with_context(|| format!("{key}: {event}"))
            };
            let name = event["name"].as_str().context("name")?.to_owned();
            let ts = number("ts")?;
            match event["ph"].as_str().context("ph")? {
                "M" if name == "thread_name" => {
                    let thread = event["args"]["name"].as_str().context("name")?;
                    let old = trace.names.insert(number("tid")?, thread.to_owned());
                    ensure!(old.is_none(), "two names: {event}");
                }
                "M" => {}
                "X" => {
                    let slice = Slice {
                        from: ts,
                        until: ts + number("dur")?,
                        name,
                        word: event["args"]["word"].as_u64(),
                    };
                    trace.threads.entry(number("tid")?).or_default().push(slice);
                }
                "C" => {
                    let count = event["args"]["count"].as_u64().context("count")?;
                    trace.counters.entry(name).or_default().push((ts, count));
                }
                "i" => {
                    if let Some(thread) = event["tid"].as_u64() {
                        trace.marks.push((thread, ts, name));
                    }
                }
                end @ ("s" | "f") => {
                    let id = number("id")?;
                    let place = &mut ends.entry(id).or_default()[usize::from(end == "f")];
                    ensure!(place.is_none(), "twice: {event}");
                    *place = Some((number("tid")?, ts));
                    kinds.insert(id, name);
                }
                other => bail!("{other}"),
            }
        }
        for (id, ends) in ends {
            let [Some(from), Some(to)] = ends else {
                bail!("flow {id} has one end");
            };
            ensure!(from.1 <= to.1, "flow {id} goes back in time");
            trace.flows.push((kinds[&id].clone(), [from, to]));
        }
        trace.is_whole = trace.cut_off.is_none() && trace.marks.is_empty();
        trace.check()?;
        Ok(trace)
    }

    fn check(&self) -> Result<()> {
        for (thread, slices) in &self.threads {
            ensure!(
                self.names.contains_key(thread),
                "thread {thread} has no name"
            );
            let mut open: Vec<&Slice> = Vec::new();
            let mut last = 0;
            for slice in slices {
                ensure!(
                    last <= slice.from,
                    "{slice:?} begins before the one before it"
                );
                last = slice.from;
                open.retain(|outer| outer.until > slice.from);
                if let Some(outer) = open.last() {
                    ensure!(slice.until <= outer.until, "{slice:?} leaves {outer:?}");
                    ensure!(outer.is_barrier(), "{slice:?} is in {outer:?}");
                }
                open.push(slice);
            }
        }
        for (kind, ends) in &self.flows {
            for (thread, at) in ends {
                let slices = self
                    .threads
                    .get(thread)
                    .context("a flow without a thread")?;
                let around = slices.iter().filter(|of| of.from <= *at && *at < of.until);
                let fits = |slice: &Slice| match kind.as_str() {
                    "completes" => slice.is_barrier() && slice.name != "window",
                    _ => true,
                };
                let fits = around.into_iter().any(fits);
                ensure!(fits, "{kind} at {at} of thread {thread} is in no slice");
            }
        }
        for (name, samples) in &self.counters {
            let times = samples.windows(2).all(|pair| pair[0].0 < pair[1].0);
            ensure!(times, "{name}: times do not grow");
            ensure!(
                !self.is_whole || samples.last().is_some_and(|last| last.1 == 0),
                "{name} does not end at 0"
            );
        }
        Ok(())
    }

    /// The number of waits of all waves at barriers, by the words of the barriers.
    fn phases(&self) -> BTreeMap<u64, u64> {
        let mut phases = BTreeMap::new();
        for slice in self.threads.values().flatten() {
            if let ("wait" | "full barrier", Some(word)) = (slice.name.as_str(), slice.word) {
                *phases.entry(word).or_default() += 1;
            }
        }
        phases
    }
}

fn events(timeline: &Timeline) -> Vec<u8> {
    timeline.trace_events(&Origin {
        unit: TimelineUnit::Cycles,
        process: "unit",
        target: "target",
        schedule: None,
        source: &|_| None,
    })
}

/// All values of an estimate, as text.
fn whole(estimate: &Estimate) -> String {
    format!("{estimate:?}")
}

/// Estimates a job with a timeline, which changes nothing.
fn recorded(job: &Job, inputs: &Inputs, resident: u32, module: &[u8]) -> Result<Trace> {
    let plain = job.estimate(inputs, Some(resident))?;
    let (estimate, timeline) =
        job.estimate_recorded(inputs, Some(resident), Some(module), &mut |_| ())?;
    ensure!(
        whole(&plain) == whole(&estimate),
        "the recorder changes the estimate"
    );
    let bytes = events(&timeline);
    let (_, again) = job.estimate_recorded(inputs, Some(resident), Some(module), &mut |_| ())?;
    ensure!(events(&again) == bytes, "two timelines of one run");
    let trace = Trace::read(&bytes)?;
    let waves = u64::from(estimate.workgroups * estimate.waves);
    let named = trace.names.values().filter(|name| !name.contains("cross"));
    ensure!(named.count() as u64 == waves, "{waves} waves");
    let most = trace.counters["resident waves"].iter().map(|of| of.1).max();
    let at_once = resident.min(estimate.workgroups) * estimate.waves;
    ensure!(
        most == Some(at_once.into()),
        "{most:?} of {at_once} resident waves"
    );
    let end = trace.end();
    ensure!(
        end >= Some(estimate.cycles),
        "{end:?} of {}",
        estimate.cycles
    );
    Ok(trace)
}

/// The number of times that the waves pass each barrier, by the words of arrive and wait. It is
/// counted by the clocks that a profile inserts around them. `None` if the module has no workgroup
/// barrier.
fn counted(module: &[u8], inputs: &Inputs, on: &str) -> Result<Option<BTreeMap<[u64; 2], u64>>> {
    let Ok(measured) = profile::instrument(module) else {
        return Ok(None);
    };
    let output = compile_bytes(&measured.module, on, |options| options.lines = true)?;
    let job = Job::compiled(&output, 0)?;
    let mut inputs = inputs.clone();
    inputs
        .buffers
        .push((measured.place, profile::empty_buffer(1 << 14)));
    inputs.clocks = Clocks::Wave;
    let outcome = job.run(&inputs, Schedule::nth(0, 1))?;
    let buffer = outcome.buffers.last().context("no profile")?;
    let dump = profile::dump(buffer, &job).map_err(|problem| anyhow!("{problem:?}"))?;
    let profile = Profile::read(&dump).map_err(|problem| anyhow!("{problem:?}"))?;
    ensure!(profile.lost == 0, "{} records are lost", profile.lost);
    let sites = profile.sites.iter().map(|site| {
        let words = [site.arrive, site.wait].map(|word| u64::from(word.get()));
        (words, site.phases * u64::from(site.subgroups))
    });
    Ok(Some(sites.collect()))
}

/// Every phase that the profile counts is in the trace. Sites that share an arrive or a wait are
/// counted together.
fn has_all_phases(trace: &Trace, counted: &BTreeMap<[u64; 2], u64>) -> Result<()> {
    let mut groups: Vec<(BTreeSet<u64>, u64)> = Vec::new();
    for (words, count) in counted {
        let mut group = (BTreeSet::from(*words), *count);
        groups.retain(|(others, more)| {
            let is_apart = group.0.is_disjoint(others);
            if !is_apart {
                group.0.extend(others);
                group.1 += more;
            }
            is_apart
        });
        groups.push(group);
    }
    let phases = trace.phases();
    for (words, count) in groups {
        let seen: u64 = words.iter().filter_map(|word| phases.get(word)).sum();
        ensure!(seen == count, "{words:?}: {seen} of {count} phases");
    }
    Ok(())
}

/// Kernels whose machine code has fewer barriers than the module, and why.
const FEWER: [(&str, &str); 2] = [
    ("one_wave", "a workgroup of one wave needs no barrier"),
    (
        "arrive_barrier_wait",
        "a barrier between the arrive and the wait completes the split one where there is one object",
    ),
];

/// The trace of every kernel keeps to the format and has every phase.
fn every_kernel(fixtures: &[Fixture], on: &str) -> Result<()> {
    linkable(on)?;
    let (mut problems, mut compared) = (Vec::new(), 0);
    for fixture in fixtures {
        let name = &fixture.name;
        let module = fixture.module()?;
        let output = compile_bytes(&module, on, |options| options.lines = true)?;
        let case = reference::case(name).context("no host reference")?;
        let inputs = inputs(&case);
        let job = Job::compiled(&output, 0)?;
        let trace = recorded(&job, &inputs, 2, &module).with_context(|| name.clone());
        let checked = trace.and_then(|trace| match counted(&module, &inputs, on)? {
            Some(counted) if FEWER.iter().all(|(kernel, _)| kernel != name) => {
                compared += 1;
                has_all_phases(&trace, &counted)
            }
            _ => Ok(()),
        });
        if let Err(problem) = checked {
            problems.push(format!("{name}: {problem:#}"));
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    ensure!(
        2 * compared > fixtures.len(),
        "only {compared} kernels were compared"
    );
    Ok(())
}

/// Windows and completions of the tiled product with each strategy that the GPU has.
fn strategies(on: &str) -> Result<()> {
    linkable(on)?;
    let fixture = Fixture::load("tiled_matmul")?;
    let module = fixture.module()?;
    let case = reference::case(&fixture.name).context("no host reference")?;
    let inputs = inputs(&case);
    let counted = counted(&module, &inputs, on)?.context("no barriers")?;
    let split: u64 = counted
        .iter()
        .filter(|([arrive, wait], _)| arrive != wait)
        .map(|(_, count)| count)
        .sum();
    ensure!(split > 0, "{counted:?}");
    let [native, mbarrier] = [Strategy::Native, Strategy::Mbarrier];
    let own = if on.starts_with("gfx") {
        native
    } else {
        mbarrier
    };
    for strategy in [own, Strategy::Counter, Strategy::Fused] {
        let output = compile_bytes(&module, on, |options| {
            options.lines = true;
            options.strategy = Some(strategy);
        })?;
        let job = Job::compiled(&output, 0)?;
        let trace = recorded(&job, &inputs, 1, &module).with_context(|| strategy.to_string())?;
        has_all_phases(&trace, &counted).with_context(|| strategy.to_string())?;
        let count = |name: &str| {
            let slices = trace.threads.values().flatten();
            slices.filter(|slice| slice.name == name).count() as u64
        };
        if strategy != Strategy::Fused {
            let seen = [count("arrive"), count("window"), count("wait")];
            ensure!(
                seen == [split; 3],
                "{strategy}: {seen:?}, and {split} are split"
            );
        }
        // All waves but the last one of each phase go on because of that.
        let phases: u64 = counted.values().sum();
        let waves = trace.names.len() as u64;
        let flows = trace.flows.len() as u64;
        ensure!(
            flows <= phases - phases / waves,
            "{strategy}: {flows} completions"
        );
        ensure!(
            2 * flows > phases,
            "{strategy}: {flows} completions of {phases}"
        );
        let loads = &trace.counters["outstanding loads"];
        ensure!(
            loads.iter().any(|(_, count)| *count > 1),
            "{strategy}: no loads"
        );
    }
    Ok(())
}

/// Two waves write to one byte: the trace of the first failing schedule ends there, and leads from
/// one to the other.
fn race() -> Result<()> {
    let text = kernel("st.global.u32 [%out], %t;");
    let trace = failing(&text, "SB3004")?;
    let marks: Vec<&str> = trace.marks.iter().map(|mark| mark.2.as_str()).collect();
    ensure!(marks == ["finding", "finding: against"], "{marks:?}");
    let conflicts = trace.flows.iter().filter(|flow| flow.0 == "conflicts");
    let [(_, [from, to])] = conflicts.collect::<Vec<_>>()[..] else {
        bail!("{:?}", trace.flows);
    };
    ensure!(from.0 != to.0, "{:?}", trace.flows);
    let end = trace.end();
    ensure!(
        end == Some(to.1 + 1),
        "{end:?}: the trace goes on after {to:?}"
    );
    Ok(())
}

/// Two waves wait for a third one: the trace shows both waiting until the end.
fn deadlock() -> Result<()> {
    let trace = failing(&kernel("bar.sync 0, 96;"), "SB3009")?;
    let mut ends = Vec::new();
    for slices in trace.threads.values() {
        let stalled = slices
            .iter()
            .rfind(|slice| slice.name == "waiting at a barrier");
        ends.push(stalled.context("a wave does not wait")?.until);
    }
    ensure!(ends.len() == 2 && ends[0] == ends[1], "{ends:?}");
    Ok(())
}

/// A kernel of two warps of which the second one does something after the first one or with it.
fn kernel(statement: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_out)\n{{\n\
         .reg .b64 %out;\n.reg .b32 %t;\n.reg .b32 %lane;\n.reg .pred %rest;\n\
         ld.param.u64 %out, [k_out];\nmov.u32 %t, %tid.x;\nand.b32 %lane, %t, 31;\n\
         bar.sync 0;\nsetp.ne.u32 %rest, %lane, 0;\n{}{statement}\nret;\n}}\n",
        if statement.starts_with("bar") {
            ""
        } else {
            "@%rest ret;\n"
        }
    )
}

/// The trace of a kernel that has a finding with this code.
fn failing(text: &str, code: &str) -> Result<Trace> {
    let file = std::env::temp_dir().join(format!("splitbar-trace-{code}-{}", std::process::id()));
    let to = file.to_str().context("the path is no text")?;
    let arguments = [
        "sim",
        "-",
        "--target",
        "sm_80",
        "--groups",
        "1,1,1",
        "--workgroup-size",
        "64,1,1",
        "--buffer",
        "0=zeros:4",
        "--schedules",
        "2",
        "--trace",
        to,
    ];
    let said = expect(&arguments, text.as_bytes(), 1)?;
    let said = String::from_utf8(said.stdout)?;
    ensure!(said.contains(code), "{said}");
    let bytes = std::fs::read(&file)?;
    std::fs::remove_file(&file)?;
    let json: Value = serde_json::from_slice(&bytes)?;
    ensure!(json["otherData"]["unit"] == "step", "{}", json["otherData"]);
    let schedule = json["otherData"]["schedule"]
        .as_str()
        .context("no schedule")?;
    ensure!(
        said.contains(&format!("first: {schedule}")),
        "{schedule}: {said}"
    );
    Trace::read(&bytes)
}

/// `splitbar sim --timing --trace`, and options that exclude each other.
fn command_line() -> Result<()> {
    let module = path("tiled_matmul")?;
    let file = std::env::temp_dir().join(format!("splitbar-trace-{}", std::process::id()));
    let to = file.to_str().context("the path is no text")?;
    let launch = timed_matmul(&module);
    let plain = expect(&launch, b"", 0)?.stdout;
    let with = expect(&[&launch[..], &["--trace", to]].concat(), b"", 0)?.stdout;
    ensure!(plain == with, "--trace changes the answer");
    let bytes = std::fs::read(&file)?;
    std::fs::remove_file(&file)?;
    let trace = Trace::read(&bytes)?;
    ensure!(
        trace
            .names
            .values()
            .next()
            .is_some_and(|name| name == "workgroup 0 wave 0")
    );
    let json: Value = serde_json::from_slice(&bytes)?;
    ensure!(json["otherData"]["one_microsecond_is"] == "one cycle");
    expect(
        &[&launch[..], &["--compare", "--trace", to]].concat(),
        b"",
        2,
    )?;
    expect(&[&launch[..], &["--trace", &module]].concat(), b"", 2)?;
    Ok(())
}

/// A full timeline shows where it ends, and the rest conforms to the format.
fn full() -> Result<()> {
    // Each iteration has a barrier, a load and a store: 8 waves of 12,000 fill it.
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_out)\n{\n\
         .reg .b64 %out;\n.reg .b32 %i;\n.reg .b32 %v;\n.reg .pred %more;\n\
         ld.param.u64 %out, [k_out];\nmov.u32 %i, 0;\n$again:\nbar.sync 0;\n\
         ld.global.u32 %v, [%out];\nadd.u32 %v, %v, 1;\nadd.u32 %i, %i, 1;\n\
         setp.lt.u32 %more, %i, 12000;\n@%more bra $again;\nret;\n}\n";
    let target = crate::support::target("sm_80")?;
    let job = Job::ptx(text, target, None)?;
    let buffers = vec![(splitbar::simulate::BufferName::Argument(0), vec![0; 4])];
    let mut inputs = Inputs::new([1, 1, 1], buffers);
    inputs.workgroup_size = Some([256, 1, 1]);
    let (estimate, timeline) = job.estimate_recorded(&inputs, Some(1), None, &mut |_| ())?;
    let at = timeline.cut_off.context("the timeline is not full")?;
    ensure!(
        0 < at && at < estimate.cycles,
        "{at} of {}",
        estimate.cycles
    );
    let trace = Trace::read(&events(&timeline))?;
    ensure!(trace.cut_off == Some(at), "{:?}", trace.cut_off);
    ensure!(trace.threads.len() == 8, "{} waves", trace.threads.len());
    Ok(())
}
