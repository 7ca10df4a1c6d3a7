//! PTX to machine code for NVIDIA GPUs, and back to text, with NVIDIA's own ptxas and nvdisasm
//! where they are installed.

use crate::scratch;
use crate::tool::Refusal;
use crate::usage::{self, ResourceUsage};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::Target;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the ptxas to use instead of the one on PATH, several separated as in PATH: each release
/// assembles for its own range of GPUs.
pub const PTXAS_VARIABLE: &str = "SPLITBAR_PTXAS";

/// Names the nvdisasm to use instead of the one on PATH.
pub const NVDISASM_VARIABLE: &str = "SPLITBAR_NVDISASM";

/// Assembles `ptx` for `target` into a cubin.
///
/// Tries `named` alone if it is there, else the programs of `SPLITBAR_PTXAS`, else those on PATH,
/// until one takes the PTX.
///
/// # Errors
/// `AssemblerMissing` when there is none; with the last one's words, `AssemblerFailed` when it
/// refuses the code and `ToolFailed` when it cannot be used.
pub(crate) fn cubin(
    ptx: &str,
    target: &Target,
    named: Option<&Path>,
    has_lines: bool,
) -> Result<Vec<u8>, Diagnostics> {
    let flags: &[&str] = if has_lines { &["-lineinfo"] } else { &[] };
    let (machine, _) = assemble(ptx, target, named, flags)?;
    Ok(machine)
}

/// What ptxas made of PTX.
pub(crate) struct Assembled {
    machine: Vec<u8>,
    /// What each kernel takes, by name.
    pub(crate) usages: Vec<(String, ResourceUsage)>,
}

/// Assembles `ptx`, which has debug lines, to be looked at: optimised all the same, and with lines
/// of its own.
///
/// # Errors
/// As [`cubin`].
pub(crate) fn assemble_lined(
    ptx: &str,
    target: &Target,
    named: Option<&Path>,
) -> Result<Assembled, Diagnostics> {
    // With `debug` in its `.target`, ptxas would not optimise.
    let lined: String = ptx
        .lines()
        .map(|line| match line.strip_suffix(", debug") {
            Some(rest) if line.starts_with(".target") => rest,
            _ => line,
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let (machine, said) = assemble(&lined, target, named, &["-lineinfo", "-v"])?;
    Ok(Assembled {
        machine,
        usages: usage::read(&said),
    })
}

/// The machine code as text, with its lines.
///
/// # Errors
/// As [`cubin`], of nvdisasm: each release knows its own range of GPUs.
pub(crate) fn disassemble(assembled: &Assembled, target: &Target) -> Result<String, Diagnostics> {
    let programs = programs(NVDISASM_VARIABLE, "nvdisasm", None);
    let mut refusal = None;
    for program in &programs {
        let arguments = ["-c", "-gi"];
        match run(
            program,
            &arguments,
            "kernel.cubin",
            &assembled.machine,
            None,
        ) {
            Ok((text, _)) => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(why) => refusal = Some((program, why)),
        }
    }
    Err(problem(
        "nvdisasm",
        NVDISASM_VARIABLE,
        None,
        target,
        refusal,
    ))
}

fn assemble(
    ptx: &str,
    target: &Target,
    named: Option<&Path>,
    more: &[&str],
) -> Result<(Vec<u8>, String), Diagnostics> {
    let programs = programs(PTXAS_VARIABLE, "ptxas", named);
    let arguments = [&["-arch", target.name], more].concat();
    let mut refusal = None;
    for program in &programs {
        match run(
            program,
            &arguments,
            "kernel.ptx",
            ptx.as_bytes(),
            Some("kernel.cubin"),
        ) {
            Ok(assembled) => return Ok(assembled),
            Err(why) => refusal = Some((program, why)),
        }
    }
    Err(problem("ptxas", PTXAS_VARIABLE, named, target, refusal))
}

/// The programs that decide what is known of machine code, and that make it.
pub(crate) fn tools(named: Option<&Path>) -> Vec<PathBuf> {
    let assemblers = programs(PTXAS_VARIABLE, "ptxas", named).into_iter();
    let all = assemblers.chain(programs(NVDISASM_VARIABLE, "nvdisasm", None));
    all.collect()
}

/// Returns true if there is a ptxas.
pub(crate) fn can_assemble(named: Option<&Path>) -> bool {
    !programs(PTXAS_VARIABLE, "ptxas", named).is_empty()
}

/// Returns true if there is an nvdisasm.
pub(crate) fn can_disassemble() -> bool {
    !programs(NVDISASM_VARIABLE, "nvdisasm", None).is_empty()
}

fn problem(
    name: &str,
    variable: &str,
    named: Option<&Path>,
    target: &Target,
    refusal: Option<(&PathBuf, Refusal)>,
) -> Diagnostics {
    let problem = match refusal {
        None => Diagnostic::error(Code::AssemblerMissing, format!("no {name} was found"))
            .because(match named {
                Some(named) => format!("{} is not a file", named.display()),
                None => format!("{variable} is not set, and PATH has none"),
            })
            .help("install NVIDIA's CUDA toolkit, or the packages nvidia-cuda-nvcc and nvidia-cuda-nvdisasm of PyPI; `Output::assembly` is PTX, which drivers can load"),
        Some((program, refusal)) => {
            let help = match named {
                Some(_) => "use a release of CUDA that supports the GPU; `Output::assembly` is PTX, which drivers can load".to_owned(),
                None => format!("use a release of CUDA that supports the GPU: set {variable} to its path"),
            };
            refusal.diagnostic(program, Code::AssemblerFailed, target.name, help)
        }
    };
    problem.into()
}

/// The programs to try, in order: `named`, else those that `variable` names, else those on PATH.
fn programs(variable: &str, name: &str, named: Option<&Path>) -> Vec<PathBuf> {
    let listed = std::env::var_os(variable).filter(|value| !value.is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default(); // unset: no folders
    let on_path = |file: &Path| -> Vec<PathBuf> {
        std::env::split_paths(&path)
            .map(|folder| folder.join(file))
            .collect()
    };
    let candidates: Vec<PathBuf> = match (named, &listed) {
        (Some(named), _) if named.components().count() == 1 => on_path(named),
        (Some(named), _) => vec![named.to_owned()],
        (None, Some(value)) => std::env::split_paths(value).collect(),
        (None, None) => on_path(Path::new(&format!(
            "{name}{}",
            std::env::consts::EXE_SUFFIX
        ))),
    };
    candidates
        .into_iter()
        .filter(|path| path.is_file())
        .collect()
}

/// Runs `program` on a file with `input`; the result is the file `output`, or what the program
/// prints, and what it says.
fn run(
    program: &Path,
    arguments: &[&str],
    input: &str,
    bytes: &[u8],
    output: Option<&str>,
) -> Result<(Vec<u8>, String), Refusal> {
    let folder = scratch::folder()?;
    let input = folder.path().join(input);
    std::fs::write(&input, bytes).map_err(|error| format!("{}: {error}", input.display()))?;
    let output = output.map(|name| folder.path().join(name));
    let mut command = Command::new(program);
    command.args(arguments).arg(&input);
    if let Some(output) = &output {
        command.arg("-o").arg(output);
    }
    let result = command
        .output()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let said = |parts: &[&[u8]]| {
        let said = parts.concat();
        String::from_utf8_lossy(&said).replace(&folder.path().display().to_string(), "")
    };
    if !result.status.success() {
        let said = said(&[&result.stdout, &result.stderr]);
        return Err(Refusal::new(&result, &said, is_about_code));
    }
    match output {
        Some(output) => {
            let written = std::fs::read(&output);
            let written = written.map_err(|error| format!("it wrote nothing: {error}"))?;
            Ok((written, said(&[&result.stdout, &result.stderr])))
        }
        None => {
            let said = said(&[&result.stderr]);
            Ok((result.stdout, said))
        }
    }
}

/// ptxas names the line of its input; an old one refuses the first, which says the version of PTX.
fn is_about_code(said: &str) -> bool {
    said.contains("kernel.ptx, line ") && !said.contains("Unsupported .version")
}

#[cfg(test)]
mod tests {
    use super::is_about_code;

    #[test]
    fn what_is_wrong_with_the_code_is_told_from_what_the_program_lacks() {
        for (said, expected) in [
            (
                "ptxas /kernel.ptx, line 7; error   : Unknown symbol 'x'",
                true,
            ),
            (
                "ptxas /kernel.ptx, line 5; fatal   : Unsupported .version 8.8; current version is '8.4'",
                false,
            ),
            (
                "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(is_about_code(said), expected, "{said}");
        }
    }
}
