//! The execution model: the lowering of every kernel is proved, and docs/model.md agrees with the
//! explorer.

use crate::support::{always_split, confirm, target, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::{Bounds, EntryPlan, FuseAt, Strategy};
use splitbar_passes::model::catalogue::{self, Known};
use splitbar_passes::model::explore;
use splitbar_passes::model::protocol::{Protocol, Usage};
use splitbar_passes::model::{Axiom, Report, Verdict};
use splitbar_plan::model::Modelled;
use splitbar_plan::{NvptxStep, Step};
use splitbar_tests::fixture::{self, Fixture};
use std::fmt::Write;

/// A strategy, a target that has it, and where it fuses.
const STRATEGIES: &[(Strategy, &str, FuseAt)] = &[
    (Strategy::Native, "gfx1201", FuseAt::Wait),
    (Strategy::Named, "gfx1250", FuseAt::Wait),
    (Strategy::Counter, "gfx1100", FuseAt::Wait),
    (Strategy::Mbarrier, "sm_90", FuseAt::Wait),
    (Strategy::Cluster, "sm_90", FuseAt::Wait),
    (Strategy::Cluster, "gfx1250", FuseAt::Wait),
    (Strategy::WarpNamed, "sm_70", FuseAt::Wait),
    (Strategy::WarpNamedSingle, "sm_70", FuseAt::Wait),
    (Strategy::GroupNamed, "sm_70", FuseAt::Wait),
    (Strategy::Fused, "gfx1100", FuseAt::Wait),
    (Strategy::Fused, "gfx1100", FuseAt::Arrive),
    (Strategy::Fused, "sm_60", FuseAt::Wait),
];

/// Waves and phases of the tables.
const SIZES: [(u8, u8); 3] = [(2, 4), (3, 3), (4, 2)];

/// The traces that the document shows: protocol, use, and explanation.
const TRACES: &[(Known, Usage, &str)] = &[
    (
        catalogue::SYMMETRIC_NAMED,
        Usage::Repeated,
        "A `bar.sync` is also an arrival, so a fast warp counts twice and returns before the others.",
    ),
    (
        catalogue::WARP_NAMED,
        Usage::Repeated,
        "A fast warp's arrive of the next phase lands on a barrier whose owner has not yet synced in this one. Two alternating sets of barriers prevent this, or a full barrier between the phases.",
    ),
    (
        catalogue::COUNTER_RESET,
        Usage::Repeated,
        "The first wave that returns resets the count that the others still read.",
    ),
    (
        catalogue::COUNTER_AT_WAIT,
        Usage::Overlapping,
        "With a second arrive before the first wait, two arrives of one wave count as arrives of two waves.",
    ),
    (
        catalogue::MBARRIER,
        Usage::Overlapping,
        "The same with an mbarrier: two arrivals of one wave complete a phase.",
    ),
    (
        catalogue::MBARRIER_UNFLIPPED,
        Usage::Repeated,
        "The parity of the previous phase is still complete, so the second wait returns immediately.",
    ),
    (
        catalogue::SIGNAL_WAIT,
        Usage::FullBarrierInside,
        "gfx12 has one workgroup barrier: the arrival at the full barrier completes the phase of the split barrier. The lowering completes the open phase first.",
    ),
    (
        catalogue::SIGNAL_WAIT,
        Usage::Dangling,
        "A wave that ends drops the barrier. It must not do so while its arrival is open. The lowering completes it before the return.",
    ),
    (
        catalogue::NAMED_OBJECT_UNPUBLISHED,
        Usage::Repeated,
        "Without a full barrier after the init, another wave can be faster.",
    ),
    (
        catalogue::FUSED_AT_WAIT,
        Usage::SpinAfterArrive,
        "A fused barrier waits for the wave that waits for it.",
    ),
    (
        catalogue::FUSED_AT_ARRIVE,
        Usage::SpinBeforeArrive,
        "The mirrored program, fused at the arrive.",
    ),
];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = vec![
        trial("model/document".to_owned(), document),
        trial("model/copies_arrive".to_owned(), copies_arrive),
    ];
    for fixture in fixtures {
        for (strategy, on, fuse_at) in STRATEGIES {
            let fixture = fixture.clone();
            let name = format!("model/{}/{on}/{strategy}/{fuse_at:?}", fixture.name);
            trials.push(trial(name, move || {
                kernel(&fixture, *strategy, on, *fuse_at)
            }));
        }
    }
    trials
}

/// The lowering of a kernel is proved: with the strategy if the planner accepts it, and with its
/// own choice in any case.
fn kernel(fixture: &Fixture, strategy: Strategy, on: &str, fuse_at: FuseAt) -> Result<()> {
    let bytes = fixture.module()?;
    let mut own = always_split(on)?;
    own.fuse_at = fuse_at;
    let mut forced = own.clone();
    forced.strategy = Some(strategy);
    let mut bounds = Bounds::default();
    bounds.unroll = 2;
    let own = splitbar::Compiler::new(&own).model(&bytes, bounds)?;
    let forced = splitbar::Compiler::new(&forced).model(&bytes, bounds).ok();
    for one in own
        .entries
        .iter()
        .chain(forced.iter().flat_map(|forced| &forced.entries))
    {
        ensure!(
            one.report.verdict == Verdict::Proved,
            "{} with {:?}: {}",
            one.entry,
            one.strategies,
            one.report
        );
    }
    Ok(())
}

/// Copies that the mbarrier waits for are arrivals that its phases count: with them every wait
/// returns, and without them none.
fn copies_arrive() -> Result<()> {
    let bytes = Fixture::load("async_overlap")?.module()?;
    let mut options = always_split("sm_80")?;
    options.promote_async_copies = true;
    let mut bounds = Bounds::default();
    bounds.unroll = 2;
    let is_proved = |mut change: fn(&mut [EntryPlan])| -> Result<bool> {
        let mut compiler = splitbar::Compiler::new(&options).with_changed_plans(&mut change);
        let explored = compiler.model(&bytes, bounds)?;
        let [one] = explored.entries.as_slice() else {
            anyhow::bail!("not one entry");
        };
        Ok(one.report.verdict == Verdict::Proved)
    };
    ensure!(is_proved(|_| ())?, "with the arrivals");
    let is_proved_without = is_proved(|plans| {
        let steps = plans.iter_mut().flat_map(|p| p.at_instruction.values_mut());
        steps.for_each(|steps| {
            steps.retain(|s| *s != Step::Nvptx(NvptxStep::CopiesArrive { noinc: true }))
        });
    })?;
    ensure!(!is_proved_without, "without the arrivals");
    Ok(())
}

/// The report of the smallest size with an error, otherwise of the largest.
fn report(protocol: &dyn Protocol, usage: Usage) -> Option<Report> {
    let mut last = None;
    for (waves, phases) in SIZES {
        let report = explore(&usage.system(protocol, waves, phases));
        let proved = report.verdict == Verdict::Proved;
        last = Some(report);
        if !proved {
            break;
        }
    }
    last
}

fn table<'p>(rows: impl IntoIterator<Item = (String, &'p dyn Protocol)>) -> Result<String> {
    let mut text = String::from("| |");
    for usage in Usage::ALL {
        write!(text, " {} |", usage.name())?;
    }
    text += "\n|---|";
    text += &"---|".repeat(Usage::ALL.len());
    text.push('\n');
    for (name, protocol) in rows {
        write!(text, "| {name} |")?;
        for usage in Usage::ALL {
            let report = report(protocol, *usage).context("no size")?;
            match report.verdict {
                Verdict::Proved => write!(text, " proved |")?,
                Verdict::Undefined { axiom, .. } => write!(text, " **{axiom}** |")?,
                other => write!(text, " **{}** |", other.name())?,
            }
        }
        text.push('\n');
    }
    Ok(text)
}

fn strategies() -> Result<String> {
    let mut rows = Vec::new();
    for (strategy, on, fuse_at) in STRATEGIES {
        let place = match (strategy, fuse_at) {
            (Strategy::Fused, FuseAt::Wait) => " at the wait",
            (Strategy::Fused, FuseAt::Arrive) => " at the arrive",
            _ => "",
        };
        let modelled = Modelled {
            strategy: *strategy,
            target: target(on)?,
            fuse_at: *fuse_at,
        };
        rows.push((format!("`{strategy}`{place} on {on}"), modelled));
    }
    table(
        rows.iter()
            .map(|(name, protocol)| (name.clone(), protocol as &dyn Protocol)),
    )
}

fn traces() -> Result<String> {
    let mut text = String::new();
    for (known, usage, lesson) in TRACES {
        let report = explore(&usage.system(known, 2, 2));
        let Report { verdict, trace, .. } = report;
        let trace =
            trace.with_context(|| format!("{} is right in use `{}`", known.name, usage.name()))?;
        write!(
            text,
            "### {}: {}\n\n{lesson}\n\n```text\n{trace}{verdict}\n```\n\n",
            known.name,
            usage.name()
        )?;
    }
    Ok(text)
}

fn rules() -> Result<String> {
    let mut text = String::from("| rule | demands | in LLVM's document under |\n|---|---|---|\n");
    for axiom in Axiom::ALL {
        writeln!(text, "| {axiom} | {} | {} |", axiom.text(), axiom.source())?;
    }
    Ok(text)
}

/// The page with the text between `<!-- name -->` and the next `<!-- end -->` replaced.
pub(crate) fn filled(page: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), "<!-- end -->");
    let (head, tail) = page
        .split_once(&begin)
        .with_context(|| format!("no place for {name}"))?;
    let (_, tail) = tail
        .split_once(end)
        .with_context(|| format!("no end of {name}"))?;
    Ok(format!("{head}{begin}\n{}\n\n{end}{tail}", text.trim()))
}

fn document() -> Result<()> {
    let path = fixture::root().join("docs/model.md");
    let before = std::fs::read_to_string(&path)?;
    let known = catalogue::ALL
        .iter()
        .map(|known| (known.name.to_owned(), known as &dyn Protocol));
    let page = filled(&before, "strategies", &strategies()?)?;
    let page = filled(&page, "catalogue", &table(known)?)?;
    let page = filled(&page, "traces", &traces()?)?;
    let page = filled(&page, "rules", &rules()?)?;
    confirm(&path, &page)
}
