//! `splitbar lower`.

use super::input::read;
use super::{Emit, Format, LowerArgs, check, child, report, write};
use splitbar::diagnostic::Diagnostics;
use splitbar::{Artefact, Observer, Options, Output, Placement, Stage, exit, spec};
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::validate::{Environment, Settings};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why the command did not do what it was asked to.
enum Stop {
    /// Something about the module or the target.
    Problems(splitbar::Failure),
    /// Something about the command line or the files.
    Usage(String),
}

impl From<Diagnostics> for Stop {
    fn from(problems: Diagnostics) -> Self {
        Stop::Problems(problems.into())
    }
}

impl From<String> for Stop {
    fn from(text: String) -> Self {
        Stop::Usage(text)
    }
}

/// Compiles as `args` ask and gives the exit code.
pub fn run(args: &LowerArgs) -> u8 {
    if args.diagnostics == Format::Json {
        // A panic becomes a diagnostic; what Rust says about it besides is no JSON.
        std::panic::set_hook(Box::new(|_| {}));
    }
    match lower(args) {
        Ok(code) => code,
        Err(Stop::Problems(failure)) => {
            report::print(&failure.diagnostics, args);
            failure.exit_code()
        }
        Err(Stop::Usage(text)) => {
            eprintln!("error: {text}");
            exit::USAGE
        }
    }
}

fn lower(args: &LowerArgs) -> Result<u8, Stop> {
    let emit = match (args.emit, &args.emit_dir) {
        (None, Some(_)) => None,
        (emit, _) => Some(emit.unwrap_or(Emit::Asm)),
    };
    let to_stdout = output_file(args).is_none();
    // Ahead of the work, which would be for nothing.
    if to_stdout && emit.is_some_and(Emit::is_binary) && !write::stdout_takes_binary() {
        return Err(
            "the output is binary and the standard output is a terminal; name a file with -o"
                .to_owned()
                .into(),
        );
    }
    let bytes = modules(args)?;
    let options = options(args, &bytes)?;
    if !args.no_validate {
        let problems = check::check(&bytes, &options.spec, |declarations| {
            Settings::new(
                args.target_env
                    .unwrap_or_else(|| Environment::for_lowering(declarations)),
            )
        });
        if problems.has_errors() {
            return Err(problems.into());
        }
        report::print(&problems, args);
    }
    let mut watch = Watch::new(args)?;
    if emit == Some(Emit::Plan) && !options.measure && !options.audit {
        let planned = splitbar::plan(&bytes, &options, &mut watch).map_err(Stop::Problems)?;
        watch.end();
        report::print(&planned.warnings, args);
        return deliver(args, planned.to_string().as_bytes());
    }
    let output = match splitbar::compile_observed(&bytes, &options, &mut watch) {
        Ok(output) => output,
        Err(failure) => {
            watch.end();
            return Err(Stop::Problems(failure));
        }
    };
    report::print(output.warnings(), args);
    watch.begin(Stage::Generate);
    if watch.wants_artefacts() {
        watch.produced(Artefact::Assembly, output.assembly()?.as_bytes());
        if let Ok(object) = output.object() {
            watch.produced(Artefact::Object, &object);
        }
        watch.produced(Artefact::Reflect, output.reflect().as_bytes());
    }
    let mut code = exit::DONE;
    if let Some(emit) = emit {
        if emit == Emit::Hsaco {
            watch.begin(Stage::Link);
        }
        code = deliver(args, &emit.bytes(&output)?)?;
    }
    watch.end();
    watch.result?;
    Ok(code)
}

/// The bytes of the module, or of what the modules are linked to.
fn modules(args: &LowerArgs) -> Result<Vec<u8>, Stop> {
    let mut files = vec![read(&args.input)?];
    for more in &args.linked {
        files.push(read(more)?);
    }
    match files.as_slice() {
        [one] => Ok(one.clone()),
        files => {
            let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
            Ok(splitbar::link_modules(&files)?)
        }
    }
}

/// The file that the output goes to; `None` is the standard output.
fn output_file(args: &LowerArgs) -> Option<&Path> {
    args.output
        .as_deref()
        .filter(|path| *path != Path::new("-"))
}

/// Writes the output where `args` want it.
fn deliver(args: &LowerArgs, bytes: &[u8]) -> Result<u8, Stop> {
    match output_file(args) {
        Some(path) => Ok(write::to_file(path, bytes).map(|()| exit::DONE)?),
        None => Ok(write::to_stdout(bytes)),
    }
}

impl Emit {
    fn is_binary(self) -> bool {
        match self {
            Emit::Bitcode | Emit::Obj | Emit::Hsaco | Emit::Cubin => true,
            Emit::LlvmIr | Emit::Asm | Emit::Plan | Emit::Reflect => false,
        }
    }

    fn bytes(self, output: &Output) -> Result<Vec<u8>, Diagnostics> {
        Ok(match self {
            Emit::LlvmIr => output.ir().into_bytes(),
            Emit::Bitcode => output.bitcode(),
            Emit::Asm => output.assembly()?.into_bytes(),
            Emit::Obj => output.object()?,
            Emit::Hsaco => output.hsaco()?,
            Emit::Cubin => output.cubin()?,
            Emit::Plan => output.plan().into_bytes(),
            Emit::Reflect => output.reflect().into_bytes(),
        })
    }
}

fn options(args: &LowerArgs, bytes: &[u8]) -> Result<Options, Stop> {
    let mut options = Options::new(args.target);
    options.entry.clone_from(&args.entry);
    options.strategy = args.strategy.0;
    options.fuse_at = args.fuse_at.into();
    options.window_guards = !args.no_window_guards;
    options.optimization = args.optimization;
    options.wave_size = args.wave;
    options.waits = args.waits.into();
    options.placement = match (args.cu_mode, args.tgsplit) {
        (true, _) => Placement::CuMode,
        (false, true) => Placement::ThreadgroupSplit,
        (false, false) => Placement::Default,
    };
    options.cluster = args.cluster_size;
    options.ptxas.clone_from(&args.ptxas);
    options.promote_async_copies = args.promote_async_copies;
    options.workgroup_size = args.workgroup_size;
    options.audit = args.audit;
    options.measure = args.emit == Some(Emit::Reflect) || args.measure || args.emit_dir.is_some();
    options.spec = spec::resolve_for(bytes, &args.spec)?;
    // The rules are checked before the compilation does the same. Whatever is wrong with the module itself, both report.
    if let (Some(size), Ok(module)) = (args.workgroup_size, Module::parse(bytes)) {
        Declarations::of(&module, &mut Diagnostics::new())
            .specialize_workgroup_size(size, &mut options.spec);
    }
    Ok(options)
}

/// Takes the time of each stage, writes the stages' files, and keeps the parent informed.
struct Watch {
    folder: Option<PathBuf>,
    /// The first file that could not be written.
    result: Result<(), String>,
    verbose: bool,
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
            running: None,
            total: Duration::ZERO,
        })
    }

    fn lap(&mut self) {
        if let Some((stage, since)) = self.running.take() {
            let time = since.elapsed();
            self.total += time;
            if self.verbose {
                eprintln!("{:>10} {:>10.3} ms", stage.name(), time.as_secs_f64() * 1e3);
            }
        }
    }

    fn end(&mut self) {
        self.lap();
        if self.verbose {
            eprintln!("{:>10} {:>10.3} ms", "all", self.total.as_secs_f64() * 1e3);
        }
    }
}

impl Observer for Watch {
    fn begin(&mut self, stage: Stage) {
        self.lap();
        child::begin(stage);
        self.running = Some((stage, Instant::now()));
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
