//! `splitbar model`: the barriers of a module, lowered for a target and explored in every
//! interleaving.

use super::given;
use super::limits::LimitArgs;
use super::options::{OptionArgs, SpecArgs, Takes};
use super::places::Places;
use super::stop::Stop;
use super::values::{DataFormat, Format, parse_target};
use super::warnings::WarningArgs;
use super::{report, write};
use clap::Args;
use serde_json::{Value, json};
use splitbar::{Bounds, Explored, LeftOut, OptionInfo, Options, Part, Target, exit};
use splitbar_passes::model::{Line, Verdict};
use splitbar_passes::module::WordOffset;
use std::path::{Path, PathBuf};

/// The end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  splitbar model kernel.spv --target gfx1201                          the default strategy
  splitbar model kernel.spv --target gfx1100 --strategy counter --waves 4 --unroll 2
  splitbar model kernel.spv --target gfx1250 --strategy cluster --cluster-size 2,1,1 --waves 2
  splitbar model kernel.spv --target sm_90 --format json

The model covers only barriers, not loads or stores. It assumes that all waves take the same path at
a branch around barriers, and explores each path. If uniform control flow cannot be proved, the
verdict is \"undecided\". A loop repeats at most --unroll times. The output lists what was not
explored.

Exit codes: 0 proved, 1 refuted (with a shortest counterexample) or invalid module, 2 wrong usage or
a file that cannot be read, 3 undecided, too many states, or unsupported by this target, 4 a bug in
splitbar.";

/// `model` ends with the plan, in which `auto` is the best strategy that splits.
#[derive(Clone, Debug)]
struct Model;

impl Takes for Model {
    type Options = Options;

    fn takes(option: &OptionInfo<Options>) -> bool {
        option.part <= Part::Plan
    }

    fn offers(option: &OptionInfo<Options>, value: &str) -> bool {
        option.name != "strategy" || !value.starts_with("auto=")
    }
}

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The SPIR-V module; `-` is standard input
    input: PathBuf,
    /// The GPU to lower the barriers for
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    /// Number of waves to explore: 1 to 16, and no more than a workgroup has
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=16))]
    waves: u8,
    /// Limit on the iterations of a loop
    #[arg(long, value_name = "N", default_value_t = 3)]
    unroll: u8,
    /// Stops the exploration without a verdict after this many states
    #[arg(long, value_name = "N", default_value_t = splitbar::Bounds::default().most_states)]
    states: usize,
    /// Format of the verdicts
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
    #[command(flatten)]
    warnings: WarningArgs,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    options: OptionArgs<Model>,
    #[command(flatten)]
    limits: LimitArgs,
}

impl ModelArgs {
    /// What limits the command, its input, and how problems are printed.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        (&self.limits, &self.input, self.format.into())
    }
}

/// Explores as `args` ask and gives the exit code: 0 proved, 1 refuted (or an invalid module), 3
/// undecided, or too much for the bounds.
pub(super) fn run(args: &ModelArgs) -> u8 {
    match explore(args) {
        Ok((explored, places)) => {
            let text = match args.format {
                DataFormat::Text => explored.iter().map(|one| text(one, &places)).collect(),
                DataFormat::Json => {
                    format!(
                        "{:#}\n",
                        explored
                            .iter()
                            .map(|one| value(one, &places))
                            .collect::<Value>()
                    )
                }
            };
            match write::to_stdout(text.as_bytes()) {
                exit::DONE => code(&explored),
                failed => failed,
            }
        }
        Err(Stop::Problems(failure)) => {
            let failure = args.warnings.failure(&failure);
            report::show(&failure.diagnostics, &args.input, args.format.into());
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => report::usage(&text, &args.input, args.format.into()),
    }
}

/// A refutation counts more than a question that stays open; so does a rule that every execution
/// breaks.
fn code(explored: &[Explored]) -> u8 {
    let is_invalid = |left_out: &LeftOut| {
        matches!(
            left_out,
            LeftOut::Finding {
                is_refuted: true,
                ..
            }
        )
    };
    let is_wrong =
        |one: &Explored| one.report.verdict.is_refutation() || one.left_out.iter().any(is_invalid);
    if explored.iter().any(is_wrong) {
        exit::INVALID
    } else if explored.iter().all(Explored::is_proved) {
        exit::DONE
    } else {
        exit::UNSUPPORTED
    }
}

fn explore(args: &ModelArgs) -> Result<(Vec<Explored>, Places), Stop> {
    let bytes = given::module(&args.input)?;
    let mut options = Options::new(args.target);
    args.options.set(&mut options)?;
    options.spec = args.spec.resolve(&bytes)?;
    let mut bounds = Bounds::default();
    bounds.waves = args.waves;
    bounds.unroll = args.unroll;
    bounds.most_states = args.states;
    let explored = splitbar::Compiler::new(&options).model(&bytes, bounds)?;
    let warnings = args.warnings.judge(&explored.warnings);
    if warnings.has_errors() {
        return Err(warnings.into());
    }
    report::show(&warnings, &args.input, args.format.into());
    let left_out = explored.entries.iter().flat_map(|entry| &entry.left_out);
    let words = left_out.filter_map(word);
    let places = Places::of(Some(&bytes), words);
    Ok((explored.entries, places))
}

fn strategies(explored: &Explored) -> Vec<&'static str> {
    explored
        .strategies
        .iter()
        .map(|strategy| strategy.name())
        .collect()
}

/// The verdict as one word, and for people.
fn verdict(explored: &Explored) -> (&'static str, String) {
    let verdict = &explored.report.verdict;
    if *verdict != Verdict::Proved || explored.is_proved() {
        (verdict.name(), verdict.to_string())
    } else {
        ("undecided", "undecided".to_owned())
    }
}

/// What a proof depends on, after the verdict.
fn bound(explored: &Explored) -> String {
    let most = explored.left_out.iter().find_map(|one| match one {
        LeftOut::Loops { most } => Some(*most),
        _ => None, // named elsewhere
    });
    match most {
        Some(most) if explored.report.verdict == Verdict::Proved => {
            format!(" with at most {most} iterations of loops around barriers")
        }
        Some(_) | None => String::new(),
    }
}

/// The word of the instruction that breaks a rule.
fn word(left_out: &LeftOut) -> Option<u32> {
    match left_out {
        LeftOut::Finding { word, .. } => word.map(WordOffset::get),
        _ => None,
    }
}

fn text(explored: &Explored, places: &Places) -> String {
    let (report, left_out) = (&explored.report, &explored.left_out);
    let strategies = strategies(explored).join(", ");
    let strategies = if strategies.is_empty() {
        "no split barrier"
    } else {
        &strategies
    };
    let waves = if explored.waves == 1 { "wave" } else { "waves" };
    let cluster = match explored.workgroups {
        1 => String::new(),
        workgroups => format!(" in each of {workgroups} workgroups"),
    };
    let (_, verdict) = verdict(explored);
    let mut text = format!(
        "entry {}, {strategies}, {} {waves}{cluster}: {verdict} ({} states, {} steps){}\n",
        explored.entry,
        explored.waves,
        report.states,
        report.steps,
        bound(explored)
    );
    text.extend(report.trace.as_ref().map(ToString::to_string));
    match explored.control_barriers {
        0 => {}
        1 => text += "  explored with 1 control barrier\n",
        count => text += &format!("  explored with {count} control barriers\n"),
    }
    let is_open = report.verdict == Verdict::Proved && !explored.is_proved();
    if is_open {
        text += "  no fault was found if all waves take the same path at each branch, but the rules for control flow report:\n";
    }
    let is_finding = |one: &&LeftOut| matches!(one, LeftOut::Finding { .. });
    for finding in left_out.iter().filter(is_finding) {
        text += &format!("  {finding}\n");
        if let Some(place) = word(finding).and_then(|word| places.text(word)) {
            text += &format!("    at {place}\n");
        }
    }
    let rest: Vec<String> = left_out
        .iter()
        .filter(|one| !is_finding(one))
        .map(ToString::to_string)
        .collect();
    if !rest.is_empty() {
        text += &format!("  not explored: {}\n", rest.join("; "));
    }
    text
}

fn value(explored: &Explored, places: &Places) -> Value {
    let report = &explored.report;
    let (name, text) = verdict(explored);
    let left_out: Vec<Value> = explored
        .left_out
        .iter()
        .map(|one| match one {
            LeftOut::Finding { code, word, .. } => json!({
                "what": one.name(),
                "code": code.to_string(),
                "word": word.map(|word| word.get()),
                "place": places.json(word.map(|word| word.get())),
                "text": one.to_string(),
            }),
            _ => json!({ "what": one.name(), "text": one.to_string() }),
        })
        .collect();
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
        "control_barriers": explored.control_barriers,
        "verdict": name,
        "text": text + &bound(explored),
        "left_out": left_out,
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
    use splitbar_passes::diagnostic::Code;
    use splitbar_passes::model::Report;

    fn explored(verdict: Verdict) -> Explored {
        Explored {
            entry: "main".to_owned(),
            strategies: vec![],
            waves: 1,
            workgroups: 1,
            is_partial: true,
            control_barriers: 0,
            left_out: vec![LeftOut::Paths, LeftOut::Memory],
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
        let text = text(&explored(Verdict::Proved), &Places::default());
        assert!(
            text.starts_with("entry main, no split barrier, 1 wave: proved (1 states, 0 steps)\n"),
            "{text}"
        );
        assert!(text.contains("not explored: paths on which"), "{text}");
        assert!(text.contains("; loads, stores"), "{text}");
    }

    /// A proof is one of what was looked at.
    #[test]
    fn proved_stands_beside_what_was_proved() {
        let finding = || LeftOut::Finding {
            code: Code::NonUniformBarrier,
            is_refuted: false,
            word: None,
            message: "OpControlBarrier may not be in uniform control flow".to_owned(),
        };
        let open = || Explored {
            control_barriers: 1,
            left_out: vec![finding(), LeftOut::Memory],
            ..explored(Verdict::Proved)
        };
        assert_eq!(code(&[open()]), exit::UNSUPPORTED);
        let shown = text(&open(), &Places::default());
        assert!(!shown.contains("proved"), "{shown}");
        assert!(shown.contains("explored with 1 control barrier"), "{shown}");
        assert!(
            shown.contains("SB2004: OpControlBarrier may not"),
            "{shown}"
        );
        assert_eq!(value(&open(), &Places::default())["verdict"], "undecided");
        assert_eq!(
            value(&open(), &Places::default())["left_out"][0]["code"],
            "SB2004"
        );
        let invalid = Explored {
            left_out: vec![LeftOut::Finding {
                code: Code::NonUniformBarrier,
                is_refuted: true,
                word: None,
                message: String::new(),
            }],
            ..explored(Verdict::Proved)
        };
        assert_eq!(code(std::slice::from_ref(&invalid)), exit::INVALID);
        assert_eq!(value(&invalid, &Places::default())["verdict"], "undecided");
        let bounded = Explored {
            left_out: vec![LeftOut::Loops { most: 3 }],
            ..explored(Verdict::Proved)
        };
        assert_eq!(code(std::slice::from_ref(&bounded)), exit::DONE);
        let shown = text(&bounded, &Places::default());
        assert!(shown.contains("steps) with at most 3"), "{shown}");
        // A refutation stays one.
        let refuted = Explored {
            left_out: vec![finding()],
            ..explored(Verdict::Deadlock { waiting: vec![0] })
        };
        assert_eq!(code(std::slice::from_ref(&refuted)), exit::INVALID);
        assert!(
            text(&refuted, &Places::default()).contains("deadlock"),
            "{}",
            text(&refuted, &Places::default())
        );
    }

    #[test]
    fn the_text_counts_the_workgroups_of_a_cluster() {
        let two = Explored {
            waves: 3,
            workgroups: 2,
            ..explored(Verdict::Proved)
        };
        let text = text(&two, &Places::default());
        assert!(
            text.contains(", 3 waves in each of 2 workgroups: proved ("),
            "{text}"
        );
    }
}
