//! The kinds of files that commands take, and where a file belongs that a command does not take.

use super::input;
use super::report;
use super::stop::Stop;
use super::texts;
use splitbar::Target;
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{AssemblyText, FileKind, assemble};
use splitbar_plan::target::Arch;
use std::path::Path;

/// Where files belong that have a command, with `{file}` for their name.
const BELONGS: &[(FileKind, &str)] = &[
    (
        FileKind::Module,
        "`splitbar lower {file} --target GPU` compiles it",
    ),
    (
        FileKind::SpirvAssembly,
        "`splitbar lower {file} --target GPU` compiles it",
    ),
    (
        FileKind::LlvmIr,
        "`splitbar lower-ir {file} --target GPU` compiles it",
    ),
    (
        FileKind::LlvmBitcode,
        "`splitbar lower-ir {file} --target GPU` compiles it",
    ),
    (
        FileKind::AmdgpuObject,
        "`splitbar sim {file} --target GPU --groups X,Y,Z` runs it, and `splitbar audit {file} --target GPU` audits it",
    ),
    (
        FileKind::Ptx,
        "`splitbar sim {file} --target GPU --groups X,Y,Z` runs it, and `splitbar audit {file} --target GPU` audits it",
    ),
    (
        FileKind::AmdgpuAssembly,
        "`splitbar audit {file} --target GPU` audits it; `clang --target=amdgcn-amd-amdhsa -mcpu=GPU -c {file} -o {file}.o` makes an object of it for `splitbar sim`",
    ),
    (
        FileKind::Cubin,
        "use its PTX instead: `cuobjdump -ptx {file}` may extract it",
    ),
    (
        FileKind::Profile,
        "`splitbar profile {file} MODULE` shows it",
    ),
    (
        FileKind::Json,
        "`splitbar batch {file}` runs a list of jobs",
    ),
    (
        FileKind::DxContainer,
        "compile the HLSL for SPIR-V, with `dxc -spirv`",
    ),
];

/// The command that takes `input`, which is of this kind, or the way to a module; `None` if there
/// is none.
fn advice(kind: FileKind, input: &Path) -> Option<String> {
    let file = input.display().to_string();
    let belongs = BELONGS.iter().find(|(of, _)| *of == kind);
    belongs
        .map(|(_, text)| text.replace("{file}", &file))
        .or_else(|| kind.advice(&file))
}

/// Reads the file `input`, or the standard input for `-`.
///
/// # Errors
/// As [`input::read`]; folders, with the commands that take them.
fn read(input: &Path) -> Result<Vec<u8>, String> {
    if input.is_dir() {
        let name = input.display();
        return Err(format!(
            "{name} is a folder; `splitbar check {name}` checks the modules in it, and `splitbar batch {name} --targets GPU,... -o OUT` compiles them"
        ));
    }
    input::read(input)
}

/// Refuses `input` as wrong usage of a command that takes `wanted`.
fn refused(kind: FileKind, input: &Path, wanted: &str) -> Stop {
    let advice = advice(kind, input).map_or_else(String::new, |advice| format!("; {advice}"));
    Stop::Usage(format!(
        "{} is {}, but this command needs {wanted}{advice}",
        report::name(input),
        kind.name()
    ))
}

/// Reads a module, or assembles one: `input` may be SPIR-V as text.
///
/// # Errors
/// As [`read`]; problems of the text; `BadMagic` for files of other kinds, with where they belong.
/// Files of no kind that is known are for the reader of modules to refuse.
pub(super) fn module(input: &Path) -> Result<Vec<u8>, Stop> {
    of_module(read(input)?, input)
}

fn of_module(bytes: Vec<u8>, input: &Path) -> Result<Vec<u8>, Stop> {
    let kind = FileKind::of(&bytes);
    match kind {
        FileKind::Module | FileKind::Empty | FileKind::Text | FileKind::Data => Ok(bytes),
        FileKind::SpirvAssembly => Ok(assembled(&bytes, input)?),
        kind => {
            let mut problem = Diagnostic::error(Code::BadMagic, "this is not a SPIR-V module");
            problem = problem.because(format!("{} is {}", report::name(input), kind.name()));
            if let Some(advice) = advice(kind, input) {
                problem = problem.help(advice);
            }
            Err(problem.into())
        }
    }
}

/// The bytes of the module that the text is.
fn assembled(text: &[u8], input: &Path) -> Result<Vec<u8>, Diagnostics> {
    let text = String::from_utf8_lossy(text);
    let assembled = assemble(&text).map_err(|mut problems| {
        for problem in problems.iter_mut() {
            if let Some(source) = &mut problem.location.source {
                source.file = report::name(input);
            }
        }
        problems
    })?;
    let kept = AssemblyText::new(report::name(input), &text, &assembled);
    texts::keep(kept);
    let words = assembled.words.iter();
    Ok(words.flat_map(|word| word.to_le_bytes()).collect())
}

/// Reads a module or the code of `target` that is to run.
///
/// # Errors
/// As [`module`]; code for GPUs of another vendor.
pub(super) fn job(input: &Path, target: &Target) -> Result<Vec<u8>, Stop> {
    let bytes = read(input)?;
    match FileKind::of(&bytes) {
        kind @ (FileKind::AmdgpuObject | FileKind::Ptx) => {
            fits(kind, input, target)?;
            Ok(bytes)
        }
        _ => of_module(bytes, input),
    }
}

/// Reads final code of `target`.
///
/// # Errors
/// As [`read`]; files of other kinds, and code for GPUs of another vendor.
pub(super) fn code(input: &Path, target: &Target) -> Result<Vec<u8>, Stop> {
    let bytes = read(input)?;
    match FileKind::of(&bytes) {
        kind @ (FileKind::AmdgpuObject | FileKind::AmdgpuAssembly | FileKind::Ptx) => {
            fits(kind, input, target)?;
            Ok(bytes)
        }
        // Assembly without directives is text.
        FileKind::Text | FileKind::Data => Ok(bytes),
        kind => Err(refused(kind, input, "an object, assembly or PTX")),
    }
}

/// Reads LLVM IR, as text or bitcode.
///
/// # Errors
/// As [`read`]; files of other kinds.
pub(super) fn llvm_ir(input: &Path) -> Result<Vec<u8>, Stop> {
    let bytes = read(input)?;
    match FileKind::of(&bytes) {
        FileKind::LlvmIr | FileKind::LlvmBitcode | FileKind::Text | FileKind::Data => Ok(bytes),
        kind => Err(refused(kind, input, "LLVM IR or bitcode")),
    }
}

/// Reads the dump of a profile.
///
/// # Errors
/// As [`read`]; files of other kinds.
pub(super) fn profile(input: &Path) -> Result<Vec<u8>, Stop> {
    let bytes = read(input)?;
    match FileKind::of(&bytes) {
        FileKind::Profile | FileKind::Text | FileKind::Data => Ok(bytes),
        kind => Err(refused(
            kind,
            input,
            "the dump of a profile, and a module after it",
        )),
    }
}

/// Reads a list of jobs.
///
/// # Errors
/// As [`read`]; files of other kinds.
pub(super) fn jobs(input: &Path) -> Result<Vec<u8>, String> {
    let bytes = read(input)?;
    match FileKind::of(&bytes) {
        FileKind::Json | FileKind::Text | FileKind::Data => Ok(bytes),
        kind => match refused(kind, input, "a list of jobs, or a folder of modules") {
            Stop::Usage(text) => Err(text),
            Stop::Problems(failure) => Err(failure.to_string()),
        },
    }
}

/// Checks that code of this kind is for GPUs of the vendor of `target`.
fn fits(kind: FileKind, input: &Path, target: &Target) -> Result<(), Stop> {
    let (is_right, vendor) = match &target.arch {
        Arch::Amdgpu(_) => (kind != FileKind::Ptx, "AMD"),
        Arch::Nvptx(_) => (kind == FileKind::Ptx, "NVIDIA"),
    };
    if is_right {
        return Ok(());
    }
    Err(Stop::Usage(format!(
        "{} is {}, but {} is a GPU of {vendor}; use the GPU of the code",
        report::name(input),
        kind.name(),
        target.name
    )))
}
