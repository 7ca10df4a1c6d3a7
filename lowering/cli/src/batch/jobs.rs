//! What a batch compiles: jobs of a file, or the modules of a folder, for each of their targets.

use super::args::BatchArgs;
use crate::emit::{self, EmitArg, Output};
use crate::given;
use crate::input::modules_of_folder;
use crate::limits::LimitArgs;
use crate::lower::{self, LowerArgs};
use crate::values::{Format, parse_target};
use clap::Parser;
use serde::Deserialize;
use splitbar::Target;
use splitbar_plan::target::Arch;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The most jobs of one batch.
const MOST: usize = 1 << 20;

/// One module for one target.
pub(super) struct Job {
    /// The outputs' path below the target's folder, without an extension.
    pub(super) name: String,
    /// The module as the jobs name it.
    pub(super) module: String,
    pub(super) target: &'static Target,
    pub(super) lower: LowerArgs,
    pub(super) outputs: Vec<Output>,
}

/// A job as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobEntry {
    module: PathBuf,
    name: Option<String>,
    targets: Option<Vec<String>>,
    #[serde(default)]
    arguments: Vec<String>,
}

/// The jobs, in order, and the files that they are made of.
///
/// # Errors
/// What is wrong with the file, a name, a target, or the arguments of a job.
pub(super) fn all(args: &BatchArgs) -> Result<(Vec<Job>, Vec<PathBuf>), String> {
    let (folder, written) = if args.jobs.is_dir() {
        (args.jobs.as_path(), of_folder(&args.jobs)?)
    } else {
        let folder = args.jobs.parent().unwrap_or(Path::new(""));
        (folder, of_file(&args.jobs)?)
    };
    let mut parser = LowerParser::new(args);
    let (mut jobs, mut names) = (Vec::new(), BTreeSet::new());
    let mut files = BTreeSet::new();
    if !args.jobs.is_dir() && args.jobs != Path::new("-") {
        files.insert(args.jobs.clone());
    }
    for one in written {
        let module = one.module.display().to_string();
        let name = name(&one).map_err(|text| format!("{module}: {text}"))?;
        let of_job: Result<Vec<_>, String> = one.targets.as_ref().map_or_else(
            || Ok(args.targets.clone()),
            |names| names.iter().map(|name| target(name)).collect(),
        );
        let of_job = of_job.map_err(|text| format!("{module}: {text}"))?;
        if of_job.is_empty() {
            let text = "the job has no target; name some with --targets, or in the job";
            return Err(format!("{module}: {text}"));
        }
        for target in of_job {
            if !names.insert((target.name, name.clone())) {
                let target = target.name;
                return Err(format!(
                    "{module}: two jobs for {target} have the name {name}; rename one of them"
                ));
            }
            let (lower, outputs) = parser
                .parse(folder.join(&one.module), &name, target, &one.arguments)
                .map_err(|text| format!("{module}: {text}"))?;
            files.extend(lower::inputs(&lower).into_iter().map(Path::to_owned));
            jobs.push(Job {
                name: name.clone(),
                module: module.clone(),
                target,
                lower,
                outputs,
            });
        }
        if jobs.len() > MOST {
            return Err(format!("there are more than {MOST} jobs"));
        }
    }
    if jobs.is_empty() {
        return Err(format!("{}: there are no jobs", args.jobs.display()));
    }
    Ok((jobs, files.into_iter().collect()))
}

fn of_file(file: &Path) -> Result<Vec<JobEntry>, String> {
    let text = given::jobs(file)?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The modules below `top`, sorted.
fn of_folder(top: &Path) -> Result<Vec<JobEntry>, String> {
    let modules = modules_of_folder(top)?;
    let written = modules.into_iter().map(|module| JobEntry {
        module,
        name: None,
        targets: None,
        arguments: Vec::new(),
    });
    Ok(written.collect())
}

fn target(name: &str) -> Result<&'static Target, String> {
    parse_target(name).map_err(|text| format!("{name}: {text}"))
}

/// The name of a job, which no output outside of its folder can have. One path has one name.
fn name(job: &JobEntry) -> Result<String, String> {
    let path = match &job.name {
        Some(name) => PathBuf::from(name),
        None => job.module.with_extension(""),
    };
    let is_inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let plain: PathBuf = path.components().collect();
    match plain.to_str() {
        Some(text) if is_inside && !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!(
            "{:?} cannot be the name of outputs; set `name` of the job to a relative path without ..",
            path.display().to_string()
        )),
    }
}

/// Parses the arguments of `splitbar lower`; the same ones only once.
struct LowerParser<'a> {
    args: &'a BatchArgs,
    parsed: BTreeMap<(&'static str, Vec<String>), LowerArgs>,
}

impl<'a> LowerParser<'a> {
    fn new(args: &'a BatchArgs) -> Self {
        LowerParser {
            args,
            parsed: BTreeMap::new(),
        }
    }

    /// The arguments and outputs of the job `name`.
    fn parse(
        &mut self,
        module: PathBuf,
        name: &str,
        target: &'static Target,
        arguments: &[String],
    ) -> Result<(LowerArgs, Vec<Output>), String> {
        let key = (target.name, arguments.to_vec());
        let mut lower = match self.parsed.get(&key) {
            Some(lower) => lower.clone(),
            None => {
                let lower = parse(self.args, target, arguments)?;
                self.parsed.insert(key, lower.clone());
                lower
            }
        };
        lower.input = module;
        let ptx = matches!(target.arch, Arch::Nvptx(_));
        let place = |one: &EmitArg| EmitArg {
            kind: one.kind,
            file: Some(self.args.output.join(format!(
                "{}/{name}.{}",
                target.name,
                one.kind.extension(ptx)
            ))),
        };
        let asked: Vec<EmitArg> = if self.args.check {
            // Plans go nowhere: a job is done when there is one for every entry point.
            vec![EmitArg {
                kind: emit::Emit::Plan,
                file: None,
            }]
        } else {
            lower.code.emit.iter().map(place).collect()
        };
        let outputs = emit::outputs(&asked, None, false)?;
        lower::fits(lower.target, &outputs)?;
        Ok((lower, outputs))
    }
}

/// A command line of `splitbar lower`.
#[derive(Debug, Parser)]
#[command(name = "splitbar lower")]
struct JobLine {
    #[command(flatten)]
    lower: LowerArgs,
    #[command(flatten)]
    colour: colorchoice_clap::Color,
}

/// Parses the arguments of all jobs, and of one, as those of `splitbar lower`.
fn parse(args: &BatchArgs, target: &Target, of_one: &[String]) -> Result<LowerArgs, String> {
    let (of_all, is_check) = (&args.lower, args.check);
    let first = ["splitbar lower", "--target", target.name];
    let of_one = of_one.iter().map(OsString::from);
    let all = first.map(OsString::from).into_iter();
    let all = all.chain(of_all.iter().cloned()).chain(of_one);
    // The module comes last: it is set for each job.
    let parsed = JobLine::try_parse_from(all.chain([OsString::from("module")]));
    let lower = match parsed {
        Ok(line) => line.lower,
        Err(error) => {
            let said = error.to_string();
            let first = said.lines().next().unwrap_or("wrong arguments");
            return Err(first.trim_start_matches("error: ").to_owned());
        }
    };
    // What the batch decides for all jobs.
    let refused = [
        ("--output", lower.code.output.is_some()),
        ("--emit-dir", lower.emit_dir.is_some()),
        ("--write-dependencies", lower.write_dependencies),
        ("--format", lower.code.format != Format::Text),
        ("--verbose", lower.verbose),
        ("the limits", lower.code.limits != LimitArgs::default()),
        ("a module", lower.input != Path::new("module")),
        ("--emit", is_check && !lower.code.emit.is_empty()),
        (
            "the file of --emit",
            lower.code.emit.iter().any(|one| one.file.is_some()),
        ),
        (
            "the standard input",
            lower::inputs(&lower).contains(&Path::new("-")),
        ),
    ];
    let batch = if is_check {
        "a batch with --check"
    } else {
        "a batch"
    };
    if let Some((what, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(format!("{what} cannot be an argument of a job in {batch}"));
    }
    let mut lower = lower;
    if lower.code.emit.is_empty() {
        lower.code.emit = vec![EmitArg {
            kind: emit::Emit::Asm,
            file: None,
        }];
    }
    Ok(lower)
}
