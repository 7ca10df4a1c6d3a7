//! `splitbar-opt`: runs passes on a SPIR-V module, in the order of their flags.

mod arguments;
mod exit;
mod files;
mod windows;

use arguments::{Arguments, Asked, Refused};
use splitbar_passes::diagnostic::{Diagnostics, Kind, Severity, text};
use splitbar_passes::module::{Declarations, FileKind, Module, assemble};
use splitbar_passes::pipeline::{self, Outcome, Ran, Settings};
use splitbar_passes::transform::link;
use splitbar_passes::transform::registry::PASSES;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(match arguments::read() {
        Ok(Asked::Run(arguments)) => run(&arguments),
        Ok(Asked::ListPasses) => files::to_stdout(list().as_bytes()),
        Err(Refused::Values(message)) => usage(&message),
        Err(Refused::Parser(said)) => show_parsers(&said),
    })
}

/// Prints what the parser of the command line says, also the help and the version, and gives the
/// exit code for it.
fn show_parsers(said: &clap::Error) -> u8 {
    let printed = said.print();
    if said.use_stderr() {
        // Nobody is left to tell if the stream is closed or full.
        return exit::USAGE;
    }
    files::printed(printed.and_then(|()| io::stdout().flush()))
}

fn usage(message: &str) -> u8 {
    files::stderr(&format!(
        "error: {message}\n\nFor more information, try '--help'.\n"
    ));
    exit::USAGE
}

/// The passes, a line each.
fn list() -> String {
    let mut text = String::new();
    for pass in PASSES {
        let value = match (pass.value, pass.value_is_optional()) {
            (None, _) => String::new(),
            (Some(form), true) => format!("[={form}]"),
            (Some(form), false) => format!("={form}"),
        };
        let _ = writeln!(text, "--{}{value}\n    {}", pass.name, pass.about);
    }
    let _ = writeln!(text, "-O\n    {}", arguments::optimize_flags());
    text
}

/// The module that the bytes of a file are, or their text.
fn read(bytes: &[u8]) -> Result<Module<'static>, Diagnostics> {
    match FileKind::of(bytes) {
        FileKind::SpirvAssembly => assemble(&String::from_utf8_lossy(bytes))?.module(),
        _ => Module::parse(bytes).map(Module::into_owned),
    }
}

fn run(arguments: &Arguments) -> u8 {
    let mut modules = Vec::new();
    for path in std::iter::once(&arguments.input).chain(&arguments.linked) {
        let bytes = match files::read(path) {
            Ok(bytes) => bytes,
            Err(message) => return usage(&message),
        };
        match read(&bytes) {
            Ok(module) => modules.push(module),
            Err(problems) => return fail(problems, arguments, None),
        }
    }
    let module = match link(&modules) {
        Ok(module) => module,
        Err(problems) => return fail(problems, arguments, None),
    };
    let original = module.clone();
    if arguments.print_all {
        print_module("the module as it was read", &original);
    }
    let settings = Settings::default()
        .with_validation(arguments.validate_after_all)
        .with_fuel(arguments.fuel);
    let outcome = pipeline::run(
        module,
        &arguments.steps,
        settings,
        &mut |step, declarations| {
            if arguments.print_all {
                print(&format!("after --{}", step.pass.name), declarations);
            }
        },
    );
    match outcome {
        Ok(outcome) => finish(&outcome, &original, arguments),
        Err(problems) => fail(problems, arguments, Some(&original)),
    }
}

fn finish(outcome: &Outcome, original: &Module<'_>, arguments: &Arguments) -> u8 {
    show(outcome.diagnostics.clone(), arguments, Some(original));
    if arguments.time_report {
        files::stderr(&report(&outcome.ran));
    }
    if arguments.window_report {
        files::stderr(&windows::report(&outcome.module));
    }
    let bytes = outcome.module.to_bytes();
    match &arguments.output {
        None => files::to_stdout(&bytes),
        Some(path) => match files::write(path, &bytes) {
            Ok(()) => exit::DONE,
            Err(message) => usage(&message),
        },
    }
}

/// What the passes did and how long they took.
fn report(ran: &[Ran]) -> String {
    let mut text = format!("{:>12}  {:<11}  pass\n", "microseconds", "result");
    for one in ran {
        let result = match (one.out_of_fuel, one.changed) {
            (true, _) => "out of fuel",
            (false, true) => "changed",
            (false, false) => "unchanged",
        };
        let _ = writeln!(
            text,
            "{:>12}  {result:<11}  {}",
            one.time.as_micros(),
            one.name
        );
    }
    text
}

fn print_module(title: &str, module: &Module<'_>) {
    let mut ignored = Diagnostics::new();
    print(title, &Declarations::new(module, &mut ignored));
}

/// Prints the disassembly of a module to the standard error.
fn print(title: &str, declarations: &Declarations<'_>) {
    let mut text = format!("; {title}\n");
    for inst in declarations.module.instructions() {
        let _ = writeln!(text, "{}", declarations.disassemble(inst));
    }
    text.push('\n');
    files::stderr(&text);
}

fn fail(problems: Diagnostics, arguments: &Arguments, module: Option<&Module<'_>>) -> u8 {
    let has = |kind: Kind| {
        problems
            .iter()
            .any(|d| d.severity == Severity::Error && d.code.kind() == kind)
    };
    // The worst decides: a bug of ours makes whatever else was said doubtful, and what is
    // unsupported may only follow from what is invalid.
    let code = if has(Kind::Internal) {
        exit::BUG
    } else if has(Kind::Invalid) {
        exit::INVALID
    } else if has(Kind::Unsupported) || has(Kind::Limit) {
        exit::UNSUPPORTED
    } else {
        exit::BUG
    };
    show(problems, arguments, module);
    code
}

/// Prints problems to the standard error, with their places in `module`.
fn show(mut problems: Diagnostics, arguments: &Arguments, module: Option<&Module<'_>>) {
    if let Some(module) = module {
        let declarations = Declarations::new(module, &mut Diagnostics::new());
        declarations.locate_all(&mut problems);
    }
    let name = if arguments.input == "-" {
        "<standard input>".into()
    } else {
        arguments.input.to_string_lossy()
    };
    files::stderr(&text::render(&problems.sorted(), &*name));
}
