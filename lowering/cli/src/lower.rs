//! `splitbar lower`.

use super::code::CodeArgs;
use super::emit::{self, Emit, Output};
use super::given;
use super::input::read;
use super::launch::{LaunchArgs, requiring};
use super::limits::in_process;
use super::options::{OptionArgs, SpecArgs, Takes};
use super::stop::Stop;
use super::values::{Format, parse_target};
use super::write::Places;
use super::{depfile, report, write};
use clap::{Arg, Args};
use splitbar::{
    Artefact, Choice, Failure, Isolated, Observer, OptionInfo, Options, Product, Source, Stage,
    Target, Worker, exit,
};
use splitbar_plan::target::Arch;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  splitbar lower k.spv --target gfx1201                        assembly to standard output
  splitbar lower k.spv --target sm_90 --emit plan              why each barrier is split or not
  splitbar lower k.spv --target sm_90 --emit ptx=k.ptx --emit reflect=k.json    PTX, and launch data
  splitbar lower k.spv --target gfx1100 --emit hsaco=k.co --emit reflect=k.json -MD -MF k.d
  splitbar lower k.spv --target sm_80 --spec 0=128 --spec 1=1.5 --strategy fused
  glslangValidator -V --quiet -o /dev/stdout k.comp | splitbar lower - --target gfx1201

Exit codes: 0 success, 1 invalid module, 2 wrong usage or a file that cannot be read or written,
3 unsupported by this target or build, or a limit was exceeded, 4 a bug in splitbar.";

/// `lower` takes every option.
#[derive(Clone, Debug)]
pub(super) struct Lower;

impl Takes for Lower {
    type Options = Options;

    fn takes(_: &OptionInfo<Options>) -> bool {
        true
    }
}

#[derive(Clone, Debug, Args)]
#[command(mut_args(of_launch))]
pub(crate) struct LowerArgs {
    /// The SPIR-V module; `-` is standard input
    pub(crate) input: PathBuf,
    /// More modules to link with the first one
    ///
    /// Each module can import functions that another one exports.
    #[arg(value_name = "MODULE")]
    pub(crate) linked: Vec<PathBuf>,
    /// The GPU, such as gfx1201 or sm_90a; `splitbar targets` lists all
    #[arg(long, value_parser = parse_target)]
    pub(crate) target: &'static Target,
    /// Uses the measurements in this profile to decide what to split
    ///
    /// A dump of `sim --profile`, or of an instrumented kernel: docs/profile.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Writes a dependency file for make and ninja (alias: -MD)
    ///
    /// The file is next to the output, with the extension d.
    #[arg(long)]
    pub(crate) write_dependencies: bool,
    /// Writes the dependencies to FILE (alias: -MF FILE)
    #[arg(long, value_name = "FILE", requires = "write_dependencies")]
    pub(crate) dependency_file: Option<PathBuf>,
    /// The target in the dependency file (alias: -MT NAME)
    ///
    /// Replaces the outputs as targets.
    #[arg(long, value_name = "NAME", requires = "write_dependencies")]
    pub(crate) dependency_target: Option<String>,
    /// Writes the result of each stage into this folder
    ///
    /// Each is written before the next stage starts. Without --emit, nothing else is written.
    #[arg(long, value_name = "DIR")]
    pub(crate) emit_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) launch: LaunchArgs,
    #[command(flatten)]
    pub(super) spec: SpecArgs,
    #[command(flatten)]
    pub(super) options: OptionArgs<Lower>,
    #[command(flatten)]
    pub(super) code: CodeArgs,
    /// Prints the time of each stage, and progress
    ///
    /// Every five seconds it prints the stage and, for large modules, the pass of LLVM.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// A launch says first how many workgroups it has.
fn of_launch(arg: Arg) -> Arg {
    requiring::<LaunchArgs>(arg, "groups")
}

/// Compiles as `args` ask and gives the exit code.
pub(super) fn run(args: &LowerArgs) -> u8 {
    if args.code.format != Format::Text {
        // A panic becomes a diagnostic; what Rust says about it besides is no such form.
        std::panic::set_hook(Box::new(|_| {}));
    }
    match lower(args) {
        Ok(code) => code,
        Err(Stop::Problems(failure)) => {
            let failure = args.code.warnings.failure(&failure);
            report::show(&failure.diagnostics, &args.input, args.code.format);
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => report::usage(&text, &args.input, args.code.format),
    }
}

fn lower(args: &LowerArgs) -> Result<u8, Stop> {
    let outputs = emit::outputs(
        &args.code.emit,
        args.code.output.as_deref(),
        args.emit_dir.is_some(),
    )?;
    fits(args.target, &outputs)?;
    let dependencies = dependencies(args, &outputs)?;
    check_places(
        args,
        &outputs,
        dependencies.as_ref().map(|(file, _)| &**file),
    )?;
    let request = request(args, &outputs)?;
    let mut watch = Watch::new(args)?;
    // This process writes the output, so that there is none without it.
    let mut worker = Worker::new(args.code.limits.isolation());
    let made = request.perform(&mut worker, &mut watch);
    watch.end();
    let made = made?;
    let warnings = args.code.warnings.judge(&made.warnings);
    if warnings.has_errors() {
        return Err(warnings.into());
    }
    report::show(&warnings, &args.input, args.code.format);
    watch.result?;
    for (output, product) in outputs.iter().zip(&made.products) {
        match &output.file {
            Some(path) => write::to_file(path, product)?,
            None => write::stdout(product)?,
        }
    }
    if let Some((file, text)) = dependencies {
        write::to_file(&file, text.as_bytes())?;
    }
    Ok(exit::DONE)
}

/// What is asked of a compilation.
pub(super) struct Request {
    pub(super) source: Source,
    pub(super) options: Options,
    pub(super) products: Vec<Product>,
}

impl Request {
    /// Compiles in the process of `worker`, or in this one for a debugger.
    ///
    /// # Errors
    /// As [`Worker::compile`].
    pub(super) fn perform(
        &self,
        worker: &mut Worker,
        observer: &mut dyn Observer,
    ) -> Result<Isolated, Failure> {
        if in_process() {
            let made = splitbar::perform(&self.source, &self.options, &self.products, observer);
            return made.map(|(products, warnings)| Isolated { products, warnings });
        }
        let source = self.source.clone();
        worker.compile(source, &self.options, &self.products, observer)
    }
}

/// Reads what `args` name; the products are those of `outputs`.
///
/// # Errors
/// Files that cannot be read, and a profile that decides nothing.
pub(super) fn request(args: &LowerArgs, outputs: &[Output]) -> Result<Request, Stop> {
    let source = Source::new(modules(args)?, args.spec.spec.clone());
    let mut options = options(args)?;
    if let Some(file) = &args.profile {
        options.profile = Some(profile(args, &options, file)?);
    }
    let products = outputs.iter().map(|one| one.kind.into()).collect();
    Ok(Request {
        source,
        options,
        products,
    })
}

/// That each of `outputs` is one of the target, and that no terminal gets binary data: asked ahead
/// of the work, which would be for nothing.
pub(super) fn fits(target: &Target, outputs: &[Output]) -> Result<(), String> {
    for output in outputs {
        if output.kind == Emit::Ptx && !matches!(target.arch, Arch::Nvptx(_)) {
            let name = target.name;
            return Err(format!("{name} has no PTX; its assembly is --emit asm"));
        }
        if output.file.is_none() && output.kind.is_binary() && !write::stdout_takes_binary() {
            let text = "the output is binary and the standard output is a terminal; name a file \
                        with -o";
            return Err(text.to_owned());
        }
    }
    Ok(())
}

/// The files that are read.
pub(super) fn inputs(args: &LowerArgs) -> Vec<&Path> {
    let modules = std::iter::once(&args.input).chain(&args.linked);
    let files = modules.chain(&args.profile).map(PathBuf::as_path);
    files.chain(args.launch.files()).collect()
}

/// The profile, where there is a choice that it could decide.
fn profile(args: &LowerArgs, options: &Options, file: &Path) -> Result<Vec<u8>, String> {
    if args.input == Path::new("-") && file == args.input {
        return Err("the module and the profile cannot both be standard input".to_owned());
    }
    if !args.linked.is_empty() {
        return Err("--profile belongs to one module, but linking creates another one".to_owned());
    }
    if options.strategy.is_some() || options.choice == Choice::AlwaysSplit {
        return Err(
            "--profile has no effect with this --strategy; remove one of the two".to_owned(),
        );
    }
    read(file)
}

/// The bytes of the module, and of those that it is linked with.
fn modules(args: &LowerArgs) -> Result<Vec<Vec<u8>>, Stop> {
    let modules = std::iter::once(&args.input).chain(&args.linked);
    modules.map(|file| given::module(file)).collect()
}

/// The dependency file that is asked for, and its text.
fn dependencies(args: &LowerArgs, outputs: &[Output]) -> Result<Option<(PathBuf, String)>, String> {
    if !args.write_dependencies {
        return Ok(None);
    }
    let first = outputs.iter().find_map(|output| output.file.as_deref());
    let file = args.dependency_file.clone();
    let file = file
        .or_else(|| first.map(depfile::beside))
        .ok_or("the dependency file has no name: name the output with -o, or the file with -MF")?;
    let outputs = outputs.iter().filter_map(|output| output.file.as_deref());
    let targets: Vec<&Path> = match &args.dependency_target {
        Some(name) => vec![Path::new(name)],
        None => outputs.collect(),
    };
    if targets.is_empty() {
        let text = "the dependency file has no target: name the output with -o, or use -MT";
        return Err(text.to_owned());
    }
    let mut read = inputs(args);
    read.retain(|input| *input != Path::new("-"));
    Ok(Some((file, depfile::text(&targets, &read)?)))
}

/// That the files to be written can be, and that none of them is one that is read, or another one.
fn check_places(
    args: &LowerArgs,
    outputs: &[Output],
    dependencies: Option<&Path>,
) -> Result<(), String> {
    let inputs = inputs(args);
    let mut places = Places::default();
    let outputs = outputs.iter().filter_map(|output| output.file.as_deref());
    for file in outputs.chain(dependencies) {
        write::check(file, &inputs)?;
        places.add(file)?;
    }
    // A folder that is not there yet is made, and holds no input.
    if let Some(folder) = args.emit_dir.as_deref().filter(|folder| folder.is_dir()) {
        for artefact in Artefact::ALL {
            let file = folder.join(artefact.file_name());
            write::check(&file, &inputs)?;
            places.add(&file)?;
        }
    }
    Ok(())
}

fn options(args: &LowerArgs) -> Result<Options, String> {
    let mut options = Options::new(args.target);
    options.choice = Choice::AUTO;
    args.options.set(&mut options)?;
    match (options.choice, args.launch.groups) {
        (Choice::Measured, _) => options.launch = Some(args.launch.deciding()?),
        (_, Some(_)) => {
            let text = "a launch has no effect with this --strategy; use auto=measured";
            return Err(text.to_owned());
        }
        (_, None) => {}
    }
    // Who asks for all stages gets code measured, where there is code.
    let all = args.code.reflects() || args.emit_dir.is_some();
    options.measure |= all && cfg!(feature = "llvm");
    Ok(options)
}

/// Takes the time of each stage, writes the stages' files, and says when one takes long.
struct Watch {
    folder: Option<PathBuf>,
    /// The first file that could not be written.
    result: Result<(), String>,
    verbose: bool,
    /// True if somebody wants to know that a stage takes long.
    patient: bool,
    running: Option<(Stage, Instant)>,
    total: Duration,
}

impl Watch {
    fn new(args: &LowerArgs) -> Result<Watch, String> {
        if let Some(folder) = &args.emit_dir {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(Watch {
            folder: args.emit_dir.clone(),
            result: Ok(()),
            verbose: args.verbose,
            patient: args.code.format == Format::Text
                && (args.verbose || std::io::stderr().is_terminal()),
            running: None,
            total: Duration::ZERO,
        })
    }

    fn lap(&mut self) {
        if let Some((stage, since)) = self.running.take() {
            let time = since.elapsed();
            self.total += time;
            if self.verbose {
                Watch::say(stage.name(), time);
            }
        }
    }

    fn end(&mut self) {
        self.lap();
        if self.verbose {
            Watch::say("all", self.total);
        }
    }

    /// Prints a line with the time that `name` took.
    fn say(name: &str, time: Duration) {
        let milliseconds = time.as_secs_f64() * 1e3;
        write::stderr(&format!("{name:>10} {milliseconds:>10.3} ms\n"));
    }
}

impl Observer for Watch {
    fn begin(&mut self, stage: Stage) {
        self.lap();
        self.running = Some((stage, Instant::now()));
    }

    fn waits(&mut self, stage: Stage, since: Duration, pass: Option<&str>) {
        if self.patient {
            let pass = pass.map_or_else(String::new, |pass| {
                format!("; LLVM's pass `{pass}` is running")
            });
            write::stderr(&format!(
                "note: stage `{stage}` has taken {} s so far{pass}\n",
                since.as_secs()
            ));
        }
    }

    fn wants_artefacts(&self) -> bool {
        self.folder.is_some()
    }

    fn produced(&mut self, artefact: Artefact, bytes: &[u8]) {
        if let (Some(folder), Ok(())) = (&self.folder, &self.result) {
            self.result = write::to_file(&folder.join(artefact.file_name()), bytes);
        }
    }
}
