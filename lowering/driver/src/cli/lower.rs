//! `splitbar lower`.

use super::input::read;
use super::limits::in_process;
use super::stop::Stop;
use super::strategy::StrategyArg;
use super::{Emit, Format, LowerArgs, report, write};
use splitbar::{Artefact, Observer, Options, Product, Source, Stage, Worker, exit};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Compiles as `args` ask and gives the exit code.
pub(super) fn run(args: &LowerArgs) -> u8 {
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
        Err(Stop::Usage(text)) => report::usage(&text, &args.input, args.diagnostics),
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
    outputs(args)?;
    let source = Source::new(modules(args)?, args.spec.clone());
    let mut options = options(args);
    if let Some(file) = &args.profile {
        options.profile = Some(profile(args, file)?);
    }
    let mut watch = Watch::new(args)?;
    let products: Vec<Product> = emit.into_iter().map(Product::from).collect();
    let made = if in_process() {
        splitbar::perform(&source, &options, &products, &mut watch)
    } else {
        // This process writes the output, so that there is none without it.
        let mut worker = Worker::new(args.limits.isolation());
        let made = worker.compile(source, &options, &products, &mut watch);
        made.map(|made| (made.products, made.warnings))
    };
    watch.end();
    let (products, warnings) = made?;
    report::print(&warnings, args);
    watch.result?;
    match products.first() {
        Some(product) => deliver(args, product),
        None => Ok(exit::DONE),
    }
}

/// The profile, where there is a choice that it could decide.
fn profile(args: &LowerArgs, file: &Path) -> Result<Vec<u8>, String> {
    if args.input == Path::new("-") && file == args.input {
        return Err("the module and the profile cannot both be the standard input".to_owned());
    }
    if !args.linked.is_empty() {
        return Err("--profile is of one module, and --link makes another one".to_owned());
    }
    match args.strategy {
        StrategyArg::Chosen(splitbar::Choice::AlwaysSplit) | StrategyArg::Named(_) => {
            Err("--profile decides nothing with this --strategy; leave that out".to_owned())
        }
        StrategyArg::Chosen(_) => read(file),
    }
}

/// The bytes of the module, and of those that it is linked with.
fn modules(args: &LowerArgs) -> Result<Vec<Vec<u8>>, String> {
    std::iter::once(&args.input)
        .chain(&args.linked)
        .map(|file| read(file))
        .collect()
}

/// The file that the output goes to; `None` is the standard output.
fn output_file(args: &LowerArgs) -> Option<&Path> {
    args.output
        .as_deref()
        .filter(|path| *path != Path::new("-"))
}

/// That the files to be written can be, and that none of them is one that is read.
fn outputs(args: &LowerArgs) -> Result<(), String> {
    let inputs: Vec<&Path> = std::iter::once(&args.input)
        .chain(&args.linked)
        .map(PathBuf::as_path)
        .collect();
    if let Some(file) = output_file(args) {
        write::check(file, &inputs)?;
    }
    // A folder that is not there yet is made, and holds no input.
    if let Some(folder) = args.emit_dir.as_deref().filter(|folder| folder.is_dir()) {
        for artefact in Artefact::ALL {
            write::check(&folder.join(artefact.file_name()), &inputs)?;
        }
    }
    Ok(())
}

/// Writes the output where `args` want it.
fn deliver(args: &LowerArgs, bytes: &[u8]) -> Result<u8, Stop> {
    match output_file(args) {
        Some(path) => write::to_file(path, bytes)?,
        None => write::stdout(bytes)?,
    }
    Ok(exit::DONE)
}

impl Emit {
    fn is_binary(self) -> bool {
        match self {
            Emit::Bitcode | Emit::Obj | Emit::Hsaco | Emit::Cubin => true,
            Emit::LlvmIr | Emit::Asm | Emit::Plan | Emit::Reflect => false,
        }
    }
}

impl From<Emit> for Product {
    fn from(emit: Emit) -> Product {
        match emit {
            Emit::LlvmIr => Product::Ir,
            Emit::Bitcode => Product::Bitcode,
            Emit::Asm => Product::Assembly,
            Emit::Obj => Product::Object,
            Emit::Hsaco => Product::CodeObject,
            Emit::Cubin => Product::Cubin,
            Emit::Plan => Product::Plan,
            Emit::Reflect => Product::Reflect,
        }
    }
}

fn options(args: &LowerArgs) -> Options {
    let mut options = Options::new(args.target);
    options.entry.clone_from(&args.entry);
    args.strategy.set(&mut options);
    options.fuse_at = args.fuse_at.into();
    options.window_guards = !args.no_window_guards;
    options.optimization = args.optimization;
    options.wave_size = args.wave;
    options.waits = args.waits.into();
    options.placement = super::placement(args.cu_mode, args.tgsplit);
    options.cluster = args.cluster_size;
    options.ptxas.clone_from(&args.ptxas);
    options.promote_async_copies = args.promote_async_copies;
    options.workgroup_size = args.workgroup_size;
    options.audit = args.audit;
    args.split.set(&mut options);
    options.validation = args.validation.validation();
    options.abi.clone_from(&args.abi);
    // Whoever asks for all of it gets it measured, where there is code to measure.
    let all = args.emit == Some(Emit::Reflect) || args.emit_dir.is_some();
    options.measure = args.measure || all && cfg!(feature = "llvm");
    options
}

/// Takes the time of each stage, writes the stages' files, and says when one takes long.
struct Watch {
    folder: Option<PathBuf>,
    /// The first file that could not be written.
    result: Result<(), String>,
    verbose: bool,
    /// Whether somebody wants to know that a stage takes long.
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
            patient: args.diagnostics == Format::Text
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
        self.running = Some((stage, Instant::now()));
    }

    fn waits(&mut self, stage: Stage, since: Duration, pass: Option<&str>) {
        if self.patient {
            let pass = pass.map_or_else(String::new, |pass| {
                format!("; LLVM's pass `{pass}` is running")
            });
            eprintln!(
                "note: stage `{stage}` has taken {} s so far{pass}",
                since.as_secs()
            );
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
