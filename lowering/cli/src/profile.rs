//! `splitbar profile`: what a dump of barrier clocks says of each barrier.

use super::given;
use super::limits::LimitArgs;
use super::stop::Stop;
use super::table::columns;
use super::values::{DataFormat, Format};
use super::{report, write};
use clap::Args;
use serde::Serialize;
use splitbar::diagnostic::Diagnostics;
use splitbar_passes::diagnostic::Location;
use splitbar_passes::diagnostic::json::Place;
use splitbar_passes::module::{Declarations, Module, WordOffset};
use splitbar_passes::profile::{Distribution, Profile, Site, SiteKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The end of the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  splitbar-opt --instrument-barrier-skew=set:3,binding:0,target:sm_90,wave:32 k.spv -o measured.spv
  splitbar profile dump.bin k.spv         dump.bin is buffer 3:0 after a launch of measured.spv
  splitbar profile dump.bin k.spv --format json

Each row of the table is a barrier. In one execution of it, `skew` is the time between the first
and the last arrive, `window` is the time between the arrive and the wait of a subgroup, and
`waiting` is the duration of the wait. A split barrier can hide the smaller of skew and window.
Times are in units of the subgroup's clock (docs/profile.md).
Exit codes: 0 success, 1 invalid dump or module, 2 wrong usage or a file that cannot be read,
3 a version of the dump that this build does not support, or a limit was exceeded.";

/// What the command line says.
#[derive(Debug, Args)]
pub(super) struct ProfileArgs {
    /// The buffer that the instrumented kernel wrote; `-` is standard input
    dump: PathBuf,
    /// The SPIR-V module before instrumentation; `-` is standard input
    #[arg(value_name = "MODULE.spv")]
    module: PathBuf,
    /// Format of the profile
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
    /// The earlier form of `--format json`
    #[arg(long, hide = true, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

impl ProfileArgs {
    /// The form of the profile, and of what is wrong.
    fn form(&self) -> DataFormat {
        if self.json {
            DataFormat::Json
        } else {
            self.format
        }
    }

    /// What limits the command, the file that its problems are about, and how they are printed.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        (&self.limits, &self.dump, self.form().into())
    }
}

/// Prints the profile that `args` name and gives the exit code.
pub(super) fn run(args: &ProfileArgs) -> u8 {
    let module = match module(&args.module, &args.dump) {
        Ok(module) => module,
        Err(stop) => return stopped(stop, &args.module, args.form().into()),
    };
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    match profile(&args.dump, &declarations) {
        Ok(profile) => {
            let words = profile.sites.iter();
            let words = words.flat_map(|site| [site.arrive, site.wait]);
            let words: BTreeSet<WordOffset> = words.collect();
            let words: Vec<WordOffset> = words.into_iter().collect();
            let places = declarations.locations(&words);
            let report = Report::from_parts(&profile, &places);
            let printed = match args.form() {
                DataFormat::Text => report.text(),
                DataFormat::Json => format!("{}\n", serde_json::json!(report)),
            };
            write::to_stdout(printed.as_bytes())
        }
        Err(stop) => stopped(stop, &args.dump, args.form().into()),
    }
}

/// Says what is wrong with `input` and gives the exit code.
fn stopped(stop: Stop, input: &Path, format: Format) -> u8 {
    match stop {
        Stop::Problems(failure) => {
            report::show(&failure.diagnostics, input, format);
            failure.exit_code()
        }
        Stop::Usage(text) => report::usage(&text, input, format),
    }
}

fn module(input: &Path, dump: &Path) -> Result<Module<'static>, Stop> {
    if input == Path::new("-") && dump == input {
        return Err("the dump and the module cannot both be standard input"
            .to_owned()
            .into());
    }
    let bytes = given::module(input)?;
    let module = Module::parse(&bytes)?.into_owned();
    let mut problems = Diagnostics::new();
    Declarations::new(&module, &mut problems);
    if problems.has_errors() {
        Err(problems.into())
    } else {
        Ok(module)
    }
}

fn profile(input: &Path, declarations: &Declarations<'_>) -> Result<Profile, Stop> {
    let profile = Profile::read(&given::profile(input)?)?;
    profile.check(declarations)?;
    Ok(profile)
}

/// What is printed.
#[derive(Serialize)]
struct Report<'p> {
    /// Hexadecimal: most readers of JSON have no numbers of 64 bits.
    module_hash: String,
    /// What it was recorded on, where the dump says it.
    target: Option<Recorded>,
    capacity: u32,
    written: u32,
    lost: u32,
    sites: Vec<Row<'p>>,
}

/// A GPU.
#[derive(Serialize)]
struct Recorded {
    name: String,
    #[serde(rename = "wavefront_size")]
    wave_size: u32,
}

/// A barrier with its place in the source.
#[derive(Serialize)]
struct Row<'p> {
    function: Option<String>,
    /// File and line of the wait.
    source: Option<String>,
    /// The places of the arrive and of the wait.
    arrive_place: Option<Place<'p>>,
    wait_place: Option<Place<'p>>,
    #[serde(flatten)]
    site: &'p Site,
    gain_at_most: Option<u64>,
}

impl<'p> Report<'p> {
    fn from_parts(profile: &'p Profile, places: &'p BTreeMap<WordOffset, Location>) -> Report<'p> {
        let rows = profile.sites.iter().map(|site| {
            let wait = places.get(&site.wait);
            let source = wait.and_then(|wait| wait.source.as_ref());
            Row {
                function: wait.and_then(|wait| wait.function.clone()),
                source: source.map(|source| format!("{}:{}", source.file, source.line)),
                arrive_place: places.get(&site.arrive).map(Place::from),
                wait_place: wait.map(Place::from),
                site,
                gain_at_most: site.gain_at_most(),
            }
        });
        Report {
            module_hash: format!("{:#018x}", profile.hash),
            target: profile.gpu.map(|gpu| Recorded {
                name: gpu.name(),
                wave_size: gpu.wave_size(),
            }),
            capacity: profile.capacity,
            written: profile.written,
            lost: profile.lost,
            sites: rows.collect(),
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![
            [
                "words",
                "place",
                "phases",
                "left out",
                "skew",
                "window",
                "waiting",
                "gain at most",
            ]
            .map(str::to_owned),
        ];
        lines.extend(self.sites.iter().map(Row::line));
        let target = self.target.as_ref().map_or_else(
            || "a target that the dump does not name".to_owned(),
            |Recorded { name, wave_size }| format!("{name}, waves of {wave_size}"),
        );
        format!(
            "{} records, {} of them overwritten, from {target}; median / 90th percentile / largest, in units of the subgroup's clock\n{}",
            self.written,
            self.lost,
            columns(&lines)
        )
    }
}

impl Row<'_> {
    /// A dash: not known, or there is none.
    fn line(&self) -> [String; 8] {
        let site = self.site;
        let dash = || "-".to_owned();
        let spread = |values: &Option<Distribution>| {
            values.map_or_else(dash, |d| {
                format!("{} / {} / {}", d.median, d.ninetieth, d.most)
            })
        };
        let place = [&self.function, &self.source];
        let place: Vec<&str> = place.into_iter().flatten().map(String::as_str).collect();
        let left_out = [
            (site.incomplete, "incomplete"),
            (site.contradictory, "contradictory"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect::<Vec<_>>()
        .join(", ");
        [
            match site.kind {
                SiteKind::Split => format!("{} to {}", site.arrive, site.wait),
                SiteKind::Full => site.wait.to_string(),
            },
            place.join(" "),
            site.phases.to_string(),
            if left_out.is_empty() {
                dash()
            } else {
                left_out
            },
            spread(&site.skew),
            spread(&site.window),
            spread(&site.waiting),
            self.gain_at_most.map_or_else(dash, |gain| gain.to_string()),
        ]
    }
}
