//! Files of every kind as inputs of every command: each command accepts the file, or reports its
//! kind and the command that accepts it.

use crate::cli::path;
use crate::support::{run, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::path::Path;

/// A command, with `FILE` in place of the file, and the kinds that it accepts.
type Command = (&'static str, &'static [&'static str], &'static [Kind]);

/// A file: its name, its bytes, the name of its kind in diagnostics, and a part of the help.
struct File {
    kind: Kind,
    name: &'static str,
    bytes: &'static [u8],
    called: &'static str,
    advice: &'static str,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    BigEndian,
    SpirvText,
    Ir,
    Bitcode,
    Ptx,
    Object,
    Assembly,
    Jobs,
    Profile,
    Other,
}

const fn file(
    kind: Kind,
    name: &'static str,
    bytes: &'static [u8],
    called: &'static str,
    advice: &'static str,
) -> File {
    File {
        kind,
        name,
        bytes,
        called,
        advice,
    }
}

const SPIRV_TEXT: &str = "; SPIR-V\nOpCapability Shader\nOpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\nOpExecutionMode %main LocalSize 64 1 1\n%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%main = OpFunction %void None %fn\n%entry = OpLabel\nOpReturn\nOpFunctionEnd\n";

const FILES: [File; 17] = [
    file(
        Kind::BigEndian,
        "big.spv",
        b"",
        "a SPIR-V module",
        "splitbar lower big.spv",
    ),
    file(
        Kind::SpirvText,
        "k.spvasm",
        SPIRV_TEXT.as_bytes(),
        "SPIR-V assembly",
        "splitbar lower k.spvasm",
    ),
    file(
        Kind::Ir,
        "k.ll",
        b"source_filename = \"k\"\ntarget triple = \"amdgcn-amd-amdhsa\"\n",
        "LLVM IR",
        "splitbar lower-ir k.ll",
    ),
    file(
        Kind::Bitcode,
        "k.bc",
        b"BC\xc0\xde5\x14\0\0",
        "LLVM bitcode",
        "splitbar lower-ir k.bc",
    ),
    file(
        Kind::Ptx,
        "k.ptx",
        b"// x\n.version 8.0\n.target sm_90\n",
        "PTX",
        "splitbar audit k.ptx",
    ),
    file(
        Kind::Object,
        "k.o",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xe0\0",
        "object code for AMD GPUs",
        "splitbar sim k.o",
    ),
    file(
        Kind::Assembly,
        "k.s",
        b"\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx1201\"\n",
        "assembly of AMD GPUs",
        "splitbar audit k.s",
    ),
    file(
        Kind::Jobs,
        "jobs.json",
        b"[]",
        "JSON",
        "splitbar batch jobs.json",
    ),
    file(
        Kind::Profile,
        "dump.bin",
        b"SBSK\x02\0\0\0",
        "a profile of barriers",
        "splitbar profile dump.bin",
    ),
    file(
        Kind::Other,
        "k.comp",
        b"#version 450\nvoid main() {}\n",
        "GLSL source",
        "glslangValidator -V",
    ),
    file(
        Kind::Other,
        "k.hlsl",
        b"[numthreads(64, 1, 1)]\nvoid main() {}\n",
        "HLSL source",
        "dxc -T cs_6_0",
    ),
    file(
        Kind::Other,
        "k.cl",
        b"__kernel void k(__global int *a) {}\n",
        "OpenCL C source",
        "clang --target=spirv64",
    ),
    file(
        Kind::Other,
        "k.cu",
        b"__global__ void k() {}\n",
        "CUDA or HIP source",
        "-emit-llvm",
    ),
    file(
        Kind::Other,
        "k.cubin",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xbe\0",
        "a cubin",
        "cuobjdump -ptx k.cubin",
    ),
    file(
        Kind::Other,
        "k.zip",
        b"PK\x03\x04xxxx",
        "an archive",
        "unpack it",
    ),
    file(
        Kind::Other,
        "k.dxil",
        b"DXBCxxxx",
        "DXIL or DXBC",
        "dxc -spirv",
    ),
    file(
        Kind::Other,
        "host.o",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0",
        "an ELF file for another machine",
        "",
    ),
];

const MODULES: &[Kind] = &[Kind::BigEndian, Kind::SpirvText];

const COMMANDS: [Command; 11] = [
    ("lower", &["lower", "FILE", "--target", "gfx1201"], MODULES),
    (
        "lower_linked",
        &["lower", "MODULE", "FILE", "--target", "gfx1201"],
        MODULES,
    ),
    ("check", &["check", "FILE"], MODULES),
    ("model", &["model", "FILE", "--target", "gfx1201"], MODULES),
    (
        "advise",
        &["advise", "FILE", "--targets", "gfx1201"],
        MODULES,
    ),
    (
        "report",
        &["report", "FILE", "--targets", "gfx1201", "--format", "text"],
        MODULES,
    ),
    (
        "sim",
        &["sim", "FILE", "--target", "sm_90", "--groups", "1,1,1"],
        &[Kind::BigEndian, Kind::SpirvText, Kind::Ptx],
    ),
    (
        "lower_ir",
        &["lower-ir", "FILE", "--target", "gfx1201"],
        &[Kind::Ir, Kind::Bitcode],
    ),
    (
        "audit",
        &["audit", "FILE", "--target", "gfx1201"],
        &[Kind::Object, Kind::Assembly],
    ),
    ("profile", &["profile", "FILE", "MODULE"], &[Kind::Profile]),
    (
        "batch",
        &["batch", "FILE", "--targets", "gfx1201", "-o", "out"],
        &[Kind::Jobs],
    ),
];

pub(crate) fn trials() -> Vec<Trial> {
    let commands = COMMANDS
        .iter()
        .map(|command| trial(format!("inputs/{}", command.0), move || of_command(command)));
    commands.collect()
}

fn of_command((_, arguments, takes): &Command) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let module = std::fs::read(path("one_wave")?)?;
    std::fs::write(folder.path().join("module.spv"), &module)?;
    std::fs::create_dir(folder.path().join("folder"))?;
    let swapped: Vec<u8> = module
        .chunks(4)
        .flat_map(|word| word.iter().rev().copied())
        .collect();
    for file in &FILES {
        let bytes = if file.kind == Kind::BigEndian {
            &swapped
        } else {
            file.bytes
        };
        std::fs::write(folder.path().join(file.name), bytes)?;
        let (said, code) = given(arguments, folder.path(), file.name)?;
        let said_kind = said.contains(file.called) && said.contains("this command needs")
            || said.contains("this is not a SPIR-V module");
        ensure!(
            !said.contains("panicked") && code != Some(4),
            "{}: {said}",
            file.name
        );
        if takes.contains(&file.kind) {
            ensure!(!said_kind, "{}: {said}", file.name);
            continue;
        }
        // Code of another vendor's GPUs is what the command takes, but not for this target.
        let is_code = said.contains("use the GPU of the code");
        ensure!(said.contains(file.called), "{}: {said}", file.name);
        ensure!(
            is_code || said_kind && said.contains(file.advice),
            "{}: {said}",
            file.name
        );
        ensure!(
            code == Some(1) || code == Some(2),
            "{}: {code:?}",
            file.name
        );
    }
    std::fs::write(folder.path().join("empty"), b"")?;
    let (said, code) = given(arguments, folder.path(), "empty")?;
    ensure!(
        said.contains("empty file") || said.contains("the file is empty"),
        "{said}"
    );
    ensure!(code == Some(1) || code == Some(2), "{code:?}");
    let (said, code) = given(arguments, folder.path(), "folder")?;
    let is_of_folders = said.contains("there are no jobs") || said.contains("there are no modules");
    ensure!(
        is_of_folders || said.contains("splitbar batch folder"),
        "{said}"
    );
    ensure!(code == Some(2), "{code:?}");
    Ok(())
}

/// The output of the command about the file on both streams, and its exit code. Names of files are
/// without the folder.
fn given(arguments: &[&str], folder: &Path, file: &str) -> Result<(String, Option<i32>)> {
    let place = |name: &str| folder.join(name).display().to_string();
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| match *argument {
            "FILE" => place(file),
            "MODULE" => place("module.spv"),
            "out" => place("out"),
            other => other.to_owned(),
        })
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = run(&arguments, b"", false)?;
    let said = format!("{}{}", ran.stderr, String::from_utf8_lossy(&ran.stdout));
    let prefix = format!("{}/", folder.display());
    Ok((said.replace(&prefix, ""), ran.code))
}
