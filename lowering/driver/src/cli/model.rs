//! `splitbar model`: the barriers of a module, lowered for a target and explored in every
//! interleaving.

use super::input::read;
use super::stop::Stop;
use super::{Format, ModelArgs, report, write};
use serde_json::{Value, json};
use splitbar::{Bounds, Explored, Options, exit, spec};
use splitbar_passes::model::{Line, Verdict};

/// Explores as `args` ask and gives the exit code: 0 proved, 1 refuted (or an invalid module), 3
/// too much for the bounds.
pub(super) fn run(args: &ModelArgs) -> u8 {
    match explore(args) {
        Ok(explored) => {
            let text = match args.format {
                Format::Text => explored.iter().map(text).collect(),
                Format::Json => format!("{:#}\n", explored.iter().map(value).collect::<Value>()),
            };
            match write::to_stdout(text.as_bytes()) {
                exit::DONE => code(&explored),
                failed => failed,
            }
        }
        Err(Stop::Problems(failure)) => {
            let failure = args.warnings.failure(&failure);
            report::show(&failure.diagnostics, &args.input, Format::Text);
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => {
            eprintln!("error: {text}");
            exit::USAGE
        }
    }
}

/// A refutation counts more than a question that stays open.
fn code(explored: &[Explored]) -> u8 {
    let any = |is: fn(&Verdict) -> bool| explored.iter().any(|one| is(&one.report.verdict));
    if any(Verdict::is_refutation) {
        exit::INVALID
    } else if any(|verdict| *verdict != Verdict::Proved) {
        exit::UNSUPPORTED
    } else {
        exit::DONE
    }
}

fn explore(args: &ModelArgs) -> Result<Vec<Explored>, Stop> {
    let bytes = read(&args.input)?;
    let mut options = Options::new(args.target);
    options.entry.clone_from(&args.entry);
    options.strategy = args.strategy.0;
    options.fuse_at = args.fuse_at.into();
    options.wave_size = args.wave;
    options.subgroup_size = args.subgroup_size;
    options.cluster = args.cluster_size;
    options.workgroup_size = args.workgroup_size;
    args.split.set(&mut options);
    options.validation = args.validation.validation();
    options.spec = spec::resolve_for(&bytes, &args.spec)?;
    let mut bounds = Bounds::default();
    bounds.waves = args.waves;
    bounds.unroll = args.unroll;
    bounds.most_states = args.states;
    let (explored, warnings) = splitbar::model(&bytes, &options, bounds)?;
    let warnings = args.warnings.judge(&warnings);
    if warnings.has_errors() {
        return Err(warnings.into());
    }
    report::show(&warnings, &args.input, Format::Text);
    Ok(explored)
}

fn strategies(explored: &Explored) -> Vec<&'static str> {
    explored
        .strategies
        .iter()
        .map(|strategy| strategy.name())
        .collect()
}

fn text(explored: &Explored) -> String {
    let strategies = strategies(explored).join(", ");
    let strategies = if strategies.is_empty() {
        "no split barrier"
    } else {
        &strategies
    };
    let partial = if explored.is_partial {
        "paths on which arrives and waits do not alternate were left out (`splitbar check` looks for them)\n"
    } else {
        ""
    };
    let waves = if explored.waves == 1 { "wave" } else { "waves" };
    let cluster = match explored.workgroups {
        1 => String::new(),
        workgroups => format!(" in each of {workgroups} workgroups"),
    };
    format!(
        "entry {}, {strategies}, {} {waves}{cluster}: {}{partial}",
        explored.entry, explored.waves, explored.report
    )
}

fn value(explored: &Explored) -> Value {
    let report = &explored.report;
    let lines = |lines: &[Line]| -> Vec<Value> {
        let line =
            |line: &Line| json!({ "wave": line.thread, "text": line.text, "origin": line.origin });
        lines.iter().map(line).collect()
    };
    json!({
        "entry": explored.entry,
        "strategies": strategies(explored),
        "waves": explored.waves,
        "workgroups": explored.workgroups,
        "verdict": report.verdict.name(),
        "text": report.verdict.to_string(),
        "partial": explored.is_partial,
        "states": report.states,
        "steps": report.steps,
        "trace": report.trace.as_ref().map(|trace| lines(&trace.lines)),
        "next": report.trace.as_ref().map(|trace| lines(&trace.next)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbar_passes::model::Report;

    fn explored(verdict: Verdict) -> Explored {
        Explored {
            entry: "main".to_owned(),
            strategies: vec![],
            waves: 1,
            workgroups: 1,
            is_partial: true,
            report: Report {
                verdict,
                states: 1,
                steps: 0,
                trace: None,
            },
        }
    }

    #[test]
    fn a_refutation_decides() {
        let proved = || explored(Verdict::Proved);
        let limit = || explored(Verdict::Limit("x".to_owned()));
        let refuted = || explored(Verdict::Deadlock { waiting: vec![0] });
        assert_eq!(code(&[proved(), proved()]), exit::DONE);
        assert_eq!(code(&[proved(), limit()]), exit::UNSUPPORTED);
        assert_eq!(code(&[limit(), refuted()]), exit::INVALID);
    }

    #[test]
    fn the_text_says_what_was_left_out() {
        let text = text(&explored(Verdict::Proved));
        assert!(
            text.starts_with("entry main, no split barrier, 1 wave: proved (1 states, 0 steps)\n"),
            "{text}"
        );
        assert!(text.contains("were left out"), "{text}");
    }

    #[test]
    fn the_text_counts_the_workgroups_of_a_cluster() {
        let two = Explored {
            waves: 3,
            workgroups: 2,
            ..explored(Verdict::Proved)
        };
        let text = text(&two);
        assert!(
            text.contains(", 3 waves in each of 2 workgroups: proved ("),
            "{text}"
        );
    }
}
