//! The kinds of files that people give to a reader of SPIR-V, told apart by their first bytes.

use std::borrow::Cow;

/// The kind of a file, by its first bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A SPIR-V module, in either byte order.
    Module,
    /// No bytes.
    Empty,
    /// SPIR-V as text, for `spirv-as` or [`super::assemble`].
    SpirvAssembly,
    /// LLVM IR as text.
    LlvmIr,
    /// LLVM IR as bitcode.
    LlvmBitcode,
    /// A relocatable object or code object for AMD GPUs.
    AmdgpuObject,
    /// Assembly of AMD GPUs.
    AmdgpuAssembly,
    /// PTX.
    Ptx,
    /// An ELF file for NVIDIA GPUs.
    Cubin,
    /// An ELF file for another machine.
    OtherElf,
    /// A bundle of code for several GPUs.
    OffloadBundle,
    /// DXIL or DXBC in a container of DirectX.
    DxContainer,
    /// A dump of the profile buffer of barriers.
    Profile,
    /// A ZIP archive, or a compressed file.
    Archive,
    /// GLSL.
    Glsl,
    /// HLSL.
    Hlsl,
    /// Slang.
    Slang,
    /// OpenCL C.
    OpenClC,
    /// CUDA or HIP.
    Cuda,
    /// WGSL.
    Wgsl,
    /// The Metal shading language.
    Metal,
    /// JSON.
    Json,
    /// Other text.
    Text,
    /// Other bytes.
    Data,
}

/// A kind, its name in a sentence, and how a module is made of such a file, with `{file}` for it.
type Row = (FileKind, &'static str, Option<&'static str>);

const ROWS: &[Row] = &[
    (FileKind::Module, "a SPIR-V module", None),
    (FileKind::Empty, "an empty file", None),
    (
        FileKind::SpirvAssembly,
        "SPIR-V assembly",
        Some("assemble it first: `spirv-as {file} -o {file}.spv`"),
    ),
    (FileKind::LlvmIr, "LLVM IR", None),
    (FileKind::LlvmBitcode, "LLVM bitcode", None),
    (FileKind::AmdgpuObject, "object code for AMD GPUs", None),
    (FileKind::AmdgpuAssembly, "assembly of AMD GPUs", None),
    (FileKind::Ptx, "PTX", None),
    (
        FileKind::Cubin,
        "a cubin, machine code for NVIDIA GPUs",
        None,
    ),
    (FileKind::OtherElf, "an ELF file for another machine", None),
    (
        FileKind::OffloadBundle,
        "a bundle of code for several GPUs",
        Some("take it apart first: `clang-offload-bundler --list --type=o --input={file}`"),
    ),
    (FileKind::DxContainer, "DXIL or DXBC of DirectX", None),
    (FileKind::Profile, "a profile of barriers", None),
    (
        FileKind::Archive,
        "an archive or a compressed file",
        Some("unpack it first"),
    ),
    (
        FileKind::Glsl,
        "GLSL source",
        Some("compile it first: `glslangValidator -V --target-env vulkan1.2 {file} -o {file}.spv`"),
    ),
    (
        FileKind::Hlsl,
        "HLSL source",
        Some(
            "compile it first: `dxc -T cs_6_0 -E main -spirv -fspv-target-env=vulkan1.2 {file} -Fo {file}.spv`",
        ),
    ),
    (
        FileKind::Slang,
        "Slang source",
        Some("compile it first: `slangc {file} -target spirv -O0 -o {file}.spv`"),
    ),
    (
        FileKind::OpenClC,
        "OpenCL C source",
        Some(
            "compile it first: `clang --target=spirv64 -cl-std=CL3.0 -O1 -c {file} -o {file}.spv`",
        ),
    ),
    (
        FileKind::Cuda,
        "CUDA or HIP source",
        Some("compile it to LLVM IR first, with `clang -S -emit-llvm --cuda-device-only {file}`"),
    ),
    (
        FileKind::Wgsl,
        "WGSL source",
        Some("compile it first: `naga {file} {file}.spv`"),
    ),
    (FileKind::Metal, "Metal source", None),
    (FileKind::Json, "JSON", None),
    (FileKind::Text, "text", None),
    (FileKind::Data, "of no kind that is known", None),
];

/// First bytes, and the kind of the file.
const MAGICS: &[(&[u8], FileKind)] = &[
    (b"\x03\x02\x23\x07", FileKind::Module),
    (b"\x07\x23\x02\x03", FileKind::Module),
    (b"BC\xc0\xde", FileKind::LlvmBitcode),
    (b"\xde\xc0\x17\x0b", FileKind::LlvmBitcode), // the wrapper
    (b"__CLANG_OFFLOAD_BUNDLE__", FileKind::OffloadBundle),
    (b"CCOB", FileKind::OffloadBundle),             // compressed
    (b"\x50\xed\x55\xba", FileKind::OffloadBundle), // a fat binary of NVIDIA
    (b"DXBC", FileKind::DxContainer),
    (b"SBSK", FileKind::Profile),
    (b"PK\x03\x04", FileKind::Archive),
    (b"PK\x05\x06", FileKind::Archive),
    (b"\x1f\x8b", FileKind::Archive),
    (b"\xfd7zXZ\0", FileKind::Archive),
    (b"BZh", FileKind::Archive),
    (b"\x28\xb5\x2f\xfd", FileKind::Archive),
    (b"7z\xbc\xaf\x27\x1c", FileKind::Archive),
    (b"!<arch>\n", FileKind::Archive),
];

/// How the first line of code begins, without comments.
const FIRST_LINES: &[(&str, FileKind)] = &[
    (".version", FileKind::Ptx),
    ("source_filename", FileKind::LlvmIr),
    ("target datalayout", FileKind::LlvmIr),
    ("target triple", FileKind::LlvmIr),
    ("define ", FileKind::LlvmIr),
    ("declare ", FileKind::LlvmIr),
    ("attributes #", FileKind::LlvmIr),
    ("@", FileKind::LlvmIr),
    ("!", FileKind::LlvmIr),
    ("#version", FileKind::Glsl),
    ("{", FileKind::Json),
];

/// Words in lines of code, in the order in which they decide.
const WORDS: &[(&str, FileKind)] = &[
    (".amdgcn_target", FileKind::AmdgpuAssembly),
    (".amdhsa_", FileKind::AmdgpuAssembly),
    ("s_endpgm", FileKind::AmdgpuAssembly),
    ("metal_stdlib", FileKind::Metal),
    ("[shader(", FileKind::Slang),
    ("spirv_asm", FileKind::Slang),
    ("[numthreads(", FileKind::Hlsl),
    ("[[vk::", FileKind::Hlsl),
    ("StructuredBuffer<", FileKind::Hlsl),
    ("__global__", FileKind::Cuda),
    ("@compute", FileKind::Wgsl),
    ("__kernel", FileKind::OpenClC),
    ("kernel void", FileKind::OpenClC),
    ("#version", FileKind::Glsl),
    ("#extension GL_", FileKind::Glsl),
    ("local_size_x", FileKind::Glsl),
];

/// The bytes that decide.
const READ: usize = 1 << 16;

impl FileKind {
    /// The kind of a file with these bytes.
    pub fn of(bytes: &[u8]) -> FileKind {
        if bytes.is_empty() {
            return FileKind::Empty;
        }
        if let Some((_, kind)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return *kind;
        }
        if bytes.starts_with(b"\x7fELF") {
            return of_elf(bytes);
        }
        let first = bytes.get(..READ).unwrap_or(bytes);
        let text = match std::str::from_utf8(first) {
            Ok(text) => text,
            // The last character may be cut off.
            Err(error) if error.error_len().is_none() && first.len() == READ => {
                let whole = first.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(whole).unwrap_or_default()
            }
            Err(_) => return FileKind::Data,
        };
        if text.contains('\0') {
            FileKind::Data
        } else {
            of_text(text)
        }
    }

    /// The kind in a sentence that begins with "this is".
    pub fn name(self) -> &'static str {
        row(self).map_or("of no kind that is known", |(_, name, _)| name)
    }

    /// The way to a module from `file`, which is of this kind; `None` where there is none.
    pub fn advice(self, file: &str) -> Option<String> {
        row(self)?.2.map(|advice| advice.replace("{file}", file))
    }
}

fn row(kind: FileKind) -> Option<&'static Row> {
    ROWS.iter().find(|(of, _, _)| *of == kind)
}

/// By `e_machine`: EM_AMDGPU and EM_CUDA.
fn of_elf(bytes: &[u8]) -> FileKind {
    match bytes.get(18..20) {
        Some([224, 0]) => FileKind::AmdgpuObject,
        Some([190, 0]) => FileKind::Cubin,
        _ => FileKind::OtherElf,
    }
}

fn of_text(text: &str) -> FileKind {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let code = without_comments(text);
    let mut lines = code
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with(';'));
    let Some(first) = lines.next() else {
        return FileKind::Text;
    };
    if is_spirv(first) {
        return FileKind::SpirvAssembly;
    }
    if first.starts_with('%') && first.contains("= type") {
        return FileKind::LlvmIr;
    }
    if is_json(first) {
        return FileKind::Json;
    }
    let begins = FIRST_LINES
        .iter()
        .find(|(begin, _)| first.starts_with(begin));
    let has = || WORDS.iter().find(|(word, _)| code.contains(word));
    match begins.or_else(has) {
        // WGSL begins with attributes too, and a module of LLVM with names.
        Some((begin, FileKind::LlvmIr)) if *begin == "@" && !first.contains(" = ") => {
            has().map_or(FileKind::Text, |(_, kind)| *kind)
        }
        Some((_, kind)) => *kind,
        None => FileKind::Text,
    }
}

/// An array, of objects, strings or nothing; it may go on in the next line.
fn is_json(line: &str) -> bool {
    let rest = line.strip_prefix('[').map(str::trim_start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['{', '"', ']']))
}

/// `OpName ...` or `%id = OpName ...`.
fn is_spirv(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_opcode = |word: Option<&str>| {
        word.and_then(|word| word.strip_prefix("Op"))
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    match words.next() {
        Some(id) if id.starts_with('%') => words.next() == Some("=") && is_opcode(words.next()),
        first => is_opcode(first),
    }
}

/// `text` without the comments of C.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once('/') {
        code.push_str(before);
        rest = if let Some(comment) = comment.strip_prefix('/') {
            comment
                .find('\n')
                .and_then(|end| comment.get(end..))
                .unwrap_or("")
        } else if let Some(comment) = comment.strip_prefix('*') {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            code.push('/');
            comment
        };
    }
    code.push_str(rest);
    Cow::Owned(code)
}

/// The kind of a file that is not a module, for the diagnostic that says so, and what to do.
pub(super) fn not_a_module(bytes: &[u8]) -> (String, String) {
    const GENERAL: &str = "give a binary module (.spv); assemble text with spirv-as first";
    let kind = FileKind::of(bytes);
    let because = match kind {
        FileKind::Empty => "the file is empty".to_owned(),
        FileKind::Text | FileKind::Data => {
            let first = bytes.iter().take(4).map(|byte| format!("{byte:02x}"));
            let first = first.collect::<Vec<_>>().join(" ");
            format!("the file starts with the bytes {first}")
        }
        kind => format!("it is {}", kind.name()),
    };
    let help = kind.advice("FILE").unwrap_or_else(|| GENERAL.to_owned());
    (because, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_their_first_bytes() {
        let cases: &[(&[u8], FileKind)] = &[
            (b"", FileKind::Empty),
            (b"\x03\x02\x23\x07\0", FileKind::Module),
            (b"\x07\x23\x02\x03", FileKind::Module),
            (
                b"; SPIR-V\n; Version: 1.3\nOpCapability Shader\n",
                FileKind::SpirvAssembly,
            ),
            (b"%1 = OpTypeVoid\n", FileKind::SpirvAssembly),
            (
                b"; ModuleID = 'x'\nsource_filename = \"x\"\n",
                FileKind::LlvmIr,
            ),
            (b"@g = global i32 0\n", FileKind::LlvmIr),
            (b"%t = type { i32 }\n", FileKind::LlvmIr),
            (b"\ndefine void @f() {\n", FileKind::LlvmIr),
            (b"BC\xc0\xde\x35", FileKind::LlvmBitcode),
            (
                b"// made by x\n\n.version 8.0\n.target sm_80\n",
                FileKind::Ptx,
            ),
            (
                b"\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx1201\"\n",
                FileKind::AmdgpuAssembly,
            ),
            (b"k:\n\ts_endpgm\n", FileKind::AmdgpuAssembly),
            (
                b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xe0\0",
                FileKind::AmdgpuObject,
            ),
            (
                b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xbe\0",
                FileKind::Cubin,
            ),
            (
                b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0",
                FileKind::OtherElf,
            ),
            (b"\x7fELF", FileKind::OtherElf),
            (b"PK\x03\x04", FileKind::Archive),
            (b"\x1f\x8b\x08", FileKind::Archive),
            (b"SBSK", FileKind::Profile),
            (
                b"/* #version */ // __global__\n#version 450\nvoid main() {}",
                FileKind::Glsl,
            ),
            (b"layout(local_size_x = 64) in;\n", FileKind::Glsl),
            (b"[numthreads(64, 1, 1)]\nvoid main() {}\n", FileKind::Hlsl),
            (
                b"[shader(\"compute\")]\n[numthreads(64, 1, 1)]\n",
                FileKind::Slang,
            ),
            (b"__kernel void k(__global int *a) {}\n", FileKind::OpenClC),
            (
                b"#include <cuda.h>\n__global__ void k() {}\n",
                FileKind::Cuda,
            ),
            (
                b"@compute @workgroup_size(64)\nfn main() {}\n",
                FileKind::Wgsl,
            ),
            (
                b"@group(0) @binding(0) var<storage> a: array<u32>;\n@compute\nfn m() {}",
                FileKind::Wgsl,
            ),
            (
                b"#include <metal_stdlib>\nkernel void k() {}\n",
                FileKind::Metal,
            ),
            (b"[{\"module\": \"a.spv\"}]\n", FileKind::Json),
            (b"[\n  {\"module\": \"a.spv\"}]\n", FileKind::Json),
            (b"[]", FileKind::Json),
            (b"# Read me\n\nSome words.\n", FileKind::Text),
            (b"// only a comment", FileKind::Text),
            (b"\0\0\0\0", FileKind::Data),
            (b"\xff\xfe\0x", FileKind::Data),
        ];
        for (bytes, kind) in cases {
            assert_eq!(FileKind::of(bytes), *kind, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn every_kind_has_a_row() {
        for (position, (kind, name, _)) in ROWS.iter().enumerate() {
            assert_eq!(row(*kind).map(|(_, name, _)| *name), Some(*name));
            assert!(
                ROWS.iter()
                    .skip(position + 1)
                    .all(|(other, _, _)| other != kind)
            );
        }
        assert!(ROWS.iter().all(|(kind, _, _)| kind.name() != ""));
    }

    #[test]
    fn a_long_text_is_read_in_part() {
        let mut text = "é".repeat(READ);
        assert_eq!(FileKind::of(text.as_bytes()), FileKind::Text);
        text.insert(0, 'x');
        assert_eq!(FileKind::of(text.as_bytes()), FileKind::Text);
        assert_eq!(FileKind::of("/*".repeat(READ).as_bytes()), FileKind::Text);
    }

    #[test]
    fn advice_names_the_file() {
        let advice = FileKind::Glsl.advice("k.comp");
        assert!(advice.is_some_and(|advice| advice.contains(" k.comp -o k.comp.spv`")));
    }
}
