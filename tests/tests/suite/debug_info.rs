//! Debug information for the source, source lines and comments in assembly: the code is the same,
//! and the information is right.

use crate::places::{FORMS, compiled, glsl_kernels};
use crate::support::{assembled, assembles, compile_bytes, is_nvptx, linkable, ptxas, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use object::{Object as _, ObjectSection as _, SectionFlags};
use splitbar::{Choice, Options, Output, PipelineLoops, SplitBarriers};
use splitbar_tests::fixture::{Fixture, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The GPUs of the comparisons.
const TARGETS: [&str; 3] = ["gfx942", "gfx1201", "sm_90"];

/// The kernels with arrives whose wait is at a return.
const WAITS_AT_RETURN: [&str; 2] = ["dangling_arrive", "uniform_ifs"];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = vec![
        trial("debug_info/dwarf".to_owned(), dwarf),
        trial("debug_info/ptx".to_owned(), ptx),
        trial("debug_info/hostile".to_owned(), hostile),
        trial("debug_info/without_lines".to_owned(), without_lines),
        trial("debug_info/reasons".to_owned(), reasons),
    ];
    for target in TARGETS {
        for form in FORMS {
            let fixtures = fixtures.to_vec();
            let name = format!("debug_info/code/{form}/{target}");
            trials.push(trial(name, move || code(&fixtures, form, target)));
        }
    }
    trials
}

/// The code of the kernels in GLSL is the same with and without all additions, and the barriers in
/// it have lines of barriers; those without a line are counted.
fn code(fixtures: &[Fixture], form: &str, target: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut kernels, mut lines, mut without) = (0, 0, 0);
    let (mut barriers, mut unplaced) = (0, Vec::new());
    for (name, source) in glsl_kernels(fixtures) {
        let bytes = std::fs::read(compiled(&source, form, folder.path())?)?;
        let text = std::fs::read_to_string(&source)?;
        let source: Vec<&str> = text.lines().collect();
        let changes: [fn(&mut Options); 2] = [
            |_| {},
            |options| {
                options.split_barriers = SplitBarriers::Always;
                options.pipeline_loops = PipelineLoops::TwoBuffers;
            },
        ];
        for change in changes {
            let Ok(plain) = compile_bytes(&bytes, target, change) else {
                continue; // the fixture's own tests say what it needs
            };
            let annotated = compile_bytes(&bytes, target, |options| {
                change(options);
                (options.debug_info, options.source, options.comments) = (true, true, true);
            })?;
            let commented = compile_bytes(&bytes, target, |options| {
                change(options);
                (options.source, options.comments) = (true, true);
            })?;
            let expected = told(plain.assembly())?;
            let (with, comments) = (told(annotated.assembly())?, told(commented.assembly())?);
            for text in [&with, &comments] {
                ensure!(
                    instructions(text, target) == instructions(&expected, target),
                    "{name} on {target}: the code differs\n{text}"
                );
            }
            ensure!(
                comments.contains(".comp:") && !comments.contains(".loc"),
                "{name} on {target}: {comments}"
            );
            if !is_nvptx(target) {
                let loaded = told(plain.object())?;
                ensure!(
                    sections(&loaded)? == sections(&told(annotated.object())?)?
                        && sections(&loaded)? == sections(&told(commented.object())?)?,
                    "{name} on {target}: the objects differ"
                );
            }
            for (line, code) in placed(&with) {
                let is_barrier = code.starts_with("s_barrier") || code.contains("bar.sync");
                let is_barrier = is_barrier || code.starts_with("mbarrier.arrive");
                let text = line.and_then(|line| source.get(line - 1));
                lines += usize::from(line.is_some());
                without += usize::from(line.is_none());
                match text {
                    // What is outstanding at a return is waited for there.
                    Some(text) if is_barrier && !WAITS_AT_RETURN.contains(&name) => {
                        let is_right = text.to_lowercase().contains("barrier")
                            || text.chars().any(char::is_uppercase);
                        ensure!(is_right, "{name} on {target}: `{code}` at `{text}`");
                        barriers += 1;
                    }
                    None if is_barrier => unplaced.push(format!("{name}: {code}")),
                    _ => {} // other code
                }
            }
            kernels += 1;
        }
    }
    println!(
        "{form} on {target}: {kernels} modules, {lines} lines of code with a line of the source, \
         {without} without; {barriers} barriers, without a line: {unplaced:?}"
    );
    ensure!(
        kernels > 30 && lines > 3 * without && barriers > 60,
        "{kernels} modules, {lines} and {without}, {barriers} barriers"
    );
    Ok(())
}

/// Comments give the reason of each barrier after the choice, also of full barriers. Instructions
/// at which an arrive or a wait stops have their place in them, and their line if they have one.
fn reasons() -> Result<()> {
    let bytes = std::fs::read(root().join("docs/examples/matmul.spv"))?;
    let split = |options: &mut Options| {
        options.choice = Choice::Balanced;
        options.split_barriers = SplitBarriers::Auto;
        options.comments = true;
    };
    let text = told(compile_bytes(&bytes, "gfx1201", split)?.assembly())?;
    for part in [
        ";   a full barrier, because SPIR-V instructions in the window: ",
        "; the arrive is stopped by the access at `OpStore ",
        ";   native, because native: instructions left in the window: ",
        "; expected cycles: ",
    ] {
        ensure!(text.contains(part), "{part}\n{text}");
    }
    let folder = tempfile::tempdir()?;
    let source = root().join("fixtures/kernels/tiled_matmul/tiled_matmul.comp");
    for form in FORMS {
        let bytes = std::fs::read(compiled(&source, form, folder.path())?)?;
        let plan = compile_bytes(&bytes, "gfx1201", split)?.plan();
        ensure!(
            plan.contains(" by the access at tiled_matmul.comp:"),
            "{plan}"
        );
        ensure!(!plan.contains("access at word"), "{plan}");
    }
    Ok(())
}

/// The lines of assembly that are instructions or data, without comments and debug information.
fn instructions(text: &str, target: &str) -> Vec<String> {
    let mark = if is_nvptx(target) { "//" } else { ";" };
    let mut lines = Vec::new();
    let mut is_debug = false;
    for line in text.lines() {
        let directive = line.trim_start();
        if directive.starts_with(".section") {
            is_debug = directive.contains(".debug_");
        } else if directive.starts_with(".text") {
            is_debug = false;
        }
        let is_of_debuggers = [".loc", ".file", ".Lsplitbar_"]
            .iter()
            .any(|start| directive.starts_with(start));
        let code = line.split(mark).next().unwrap_or(line).trim_end();
        if !is_debug && !is_of_debuggers && !code.is_empty() {
            lines.push(code.to_owned());
        }
    }
    lines
}

/// The lines of code of annotated assembly, each with the line of the source in force.
fn placed(text: &str) -> Vec<(Option<usize>, &str)> {
    let mut placed = Vec::new();
    let mut line = None;
    for code in text.lines().map(str::trim) {
        if let Some(place) = code.strip_prefix(".loc") {
            let number = place.split_whitespace().nth(1);
            let number = number.and_then(|number| number.trim_end_matches(',').parse().ok());
            line = Some(number.filter(|number| *number > 0));
        } else if code.starts_with(".Lfunc_end") || code == "}" {
            line = None;
        } else if let Some(line) = line
            && !code.is_empty()
            && !code.starts_with(['.', '$', ';', '/'])
        {
            placed.push((line, code));
        }
    }
    placed
}

/// The sections of an object that a loader sees, by name.
fn sections(object: &[u8]) -> Result<BTreeMap<String, Vec<u8>>> {
    let file = object::File::parse(object)?;
    let loaded = file.sections().filter(|section| match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(object::elf::SHF_ALLOC),
        _ => false, // of other forms
    });
    loaded
        .map(|section| Ok((section.name()?.to_owned(), section.data()?.to_vec())))
        .collect()
}

/// A kernel whose functions are inlined, each in several places.
const INLINED: &str = "\
// Regenerate: glslangValidator -V --target-env vulkan1.2 inlined.comp -o inlined.spv
#version 460
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer A { float a[]; };
float square(float x) {
    return x * x + 1.5;
}
float twice(float x) {
    float y = square(x);
    return y + square(y);
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    float v = a[i];
    v = twice(v) +
        twice(v * 3.0);
    a[i] = v;
}
";

/// The calls of [`INLINED`]: the function, the line of the call, and the lines of the function.
const CALLS: [(&str, u64, std::ops::RangeInclusive<u64>); 4] = [
    ("twice", 15, 8..=11),
    ("twice", 16, 8..=11),
    ("square", 9, 5..=7),
    ("square", 10, 5..=7),
];

fn inlined(form: &str, target: &str, folder: &Path) -> Result<Output> {
    let source = folder.join("inlined.comp");
    std::fs::write(&source, INLINED)?;
    let bytes = std::fs::read(compiled(&source, form, folder)?)?;
    compile_bytes(&bytes, target, |options| options.debug_info = true)
}

type Slice<'d> = gimli::EndianSlice<'d, gimli::LittleEndian>;

/// DWARF of a code object: the line table, the embedded source, and the inlined calls.
fn dwarf() -> Result<()> {
    linkable("gfx1201")?;
    let folder = tempfile::tempdir()?;
    for (form, target) in FORMS
        .iter()
        .flat_map(|form| [(*form, "gfx90a"), (*form, "gfx1201")])
    {
        let output = inlined(form, target, folder.path())?;
        let bytes = told(output.hsaco())?;
        let file = object::File::parse(&*bytes)?;
        let load = |id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.data().ok());
            Ok(Slice::new(data.unwrap_or_default(), gimli::LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(load)?;
        let header = dwarf.units().next()?.context("no unit")?;
        ensure!(header.version() == 5, "DWARF {}", header.version());
        let unit = dwarf.unit(header)?;
        let text = |value: gimli::AttributeValue<Slice<'_>>| -> Result<String> {
            Ok(dwarf.attr_string(&unit, value)?.to_string()?.to_owned())
        };

        let program = unit.line_program.clone().context("no line table")?;
        let mut rows = Vec::new();
        let (program, sequences) = program.sequences()?;
        for sequence in &sequences {
            let mut steps = program.resume_from(sequence);
            while let Some((header, row)) = steps.next_row()? {
                let entry = row.file(header).context("no file")?;
                ensure!(text(entry.path_name())?.ends_with("inlined.comp"));
                let source = text(entry.source().context("no source")?)?;
                ensure!(source.trim() == INLINED.trim(), "{source}");
                rows.push((row.address(), row.line().map_or(0, |line| line.get())));
            }
        }
        ensure!(rows.len() > 6, "{form} on {target}: {rows:?}");

        let mut names = BTreeMap::new();
        let mut calls = BTreeSet::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let value = |name| entry.attr_value(name);
            if let Some(name) = value(gimli::DW_AT_name) {
                names.insert(entry.offset(), text(name)?);
            }
            let low = match value(gimli::DW_AT_low_pc) {
                Some(gimli::AttributeValue::Addr(low)) => low,
                _ => continue, // no code
            };
            let size = value(gimli::DW_AT_high_pc).and_then(|size| size.udata_value());
            let size = size.context("no end")?;
            let code = low..low + size;
            let inside = rows.iter().filter(|(address, _)| code.contains(address));
            if entry.tag() == gimli::DW_TAG_subprogram {
                ensure!(
                    names
                        .get(&entry.offset())
                        .is_some_and(|name| name == "main")
                );
                ensure!(inside.count() > 6, "{form} on {target}: {rows:?}");
            } else if entry.tag() == gimli::DW_TAG_inlined_subroutine {
                let origin = match value(gimli::DW_AT_abstract_origin) {
                    Some(gimli::AttributeValue::UnitRef(origin)) => origin,
                    other => anyhow::bail!("the origin is {other:?}"),
                };
                let name = names.get(&origin).context("no name")?;
                let line = value(gimli::DW_AT_call_line).and_then(|line| line.udata_value());
                let call = CALLS
                    .iter()
                    .find(|call| call.0 == name && Some(call.1) == line);
                let call = call.with_context(|| format!("{name} is not called at {line:?}"))?;
                calls.insert((call.0, call.1));
                // Code of inner calls belongs to it too.
                for (_, line) in inside.filter(|(_, line)| *line > 0) {
                    let of_calls = CALLS.iter().any(|call| call.2.contains(line));
                    ensure!(of_calls, "{name}: line {line}");
                }
            }
        }
        let expected: BTreeSet<_> = CALLS.iter().map(|call| (call.0, call.1)).collect();
        ensure!(calls == expected, "{form} on {target}: {calls:?}");
    }
    Ok(())
}

/// The directives of PTX, and the lines that NVIDIA's programs make of them.
fn ptx() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for form in FORMS {
        let output = inlined(form, "sm_90", folder.path())?;
        let text = told(output.assembly())?;
        let file = text.lines().find(|line| line.starts_with("\t.file\t1 "));
        ensure!(
            file.is_some_and(|file| file.ends_with("inlined.comp\"")),
            "{text}"
        );
        ensure!(
            !text.contains(", debug"),
            "ptxas would not optimise:\n{text}"
        );
        let calls: BTreeSet<(u64, u64)> = text
            .lines()
            .filter_map(|line| {
                let (own, call) = line.split_once(", function_name ")?;
                let (_, call) = call.split_once("inlined_at ")?;
                let line = |text: &str, at| text.split_whitespace().nth(at)?.parse().ok();
                Some((line(own, 2)?, line(call, 1)?))
            })
            .collect();
        for (line, at) in &calls {
            let is_call = CALLS
                .iter()
                .any(|call| call.1 == *at && call.2.contains(line));
            ensure!(is_call, "line {line} is inlined at {at}\n{text}");
        }
        ensure!(calls.len() >= 4, "{calls:?}");
        assembles(ptxas("sm_90")?, &text, "sm_90")?;
        told(output.cubin())?;
    }
    Ok(())
}

/// Names and texts of a module that look like assembly do not add instructions.
fn hostile() -> Result<()> {
    // The assembler of the tests has no notation for the end of a line.
    const END_OF_LINE: &[u8] = b"~END~";
    let names = [
        "a\\\"b; .globl x // y",
        "a~END~.globl b",
        "/* \u{202e}\u{e9}\r.globl c",
    ];
    for name in names {
        let text = format!(
            "OpCapability Shader
             OpMemoryModel Logical GLSL450
             OpEntryPoint GLCompute %main \"main\" %out
             OpExecutionMode %main LocalSize 32 1 1
             %file = OpString \"{name}\"
             OpSource GLSL 450 %file \"first~END~second \\\"\r; .globl y\\\\\"
             OpName %main \"{name}\"
             OpDecorate %block Block
             OpMemberDecorate %block 0 Offset 0
             OpDecorate %out DescriptorSet 0
             OpDecorate %out Binding 0
             %void = OpTypeVoid
             %uint = OpTypeInt 32 0
             %block = OpTypeStruct %uint
             %pointer = OpTypePointer StorageBuffer %block
             %member = OpTypePointer StorageBuffer %uint
             %zero = OpConstant %uint 0
             %type = OpTypeFunction %void
             %out = OpVariable %pointer StorageBuffer
             %main = OpFunction %void None %type
             %entry = OpLabel
             OpLine %file 2 3
             %place = OpAccessChain %member %out %zero
             OpStore %place %zero
             OpReturn
             OpFunctionEnd"
        );
        let mut bytes = assembled(&text)?;
        while let Some(at) = bytes.windows(5).position(|window| window == END_OF_LINE) {
            bytes[at..at + 5].copy_from_slice(b"    \n");
        }
        for target in ["gfx1201", "sm_90"] {
            let output = compile_bytes(&bytes, target, |options| {
                (options.debug_info, options.source, options.comments) = (true, true, true);
            })?;
            let text = told(output.assembly())?;
            let globals = text.lines().filter(|line| line.starts_with("\t.globl"));
            ensure!(globals.count() == usize::from(!is_nvptx(target)), "{text}");
            if is_nvptx(target) {
                assembles(ptxas(target)?, &text, target)?;
            } else {
                let plain = compile_bytes(&bytes, target, |_| {})?;
                let (plain, object) = (told(plain.object())?, told(output.object())?);
                ensure!(sections(&plain)? == sections(&object)?, "{name}");
            }
        }
    }
    Ok(())
}

/// A module without lines has nothing to lead to: the code is as without the option.
fn without_lines() -> Result<()> {
    let bytes = Fixture::load("tiled_matmul")?.module()?;
    for target in TARGETS {
        let plain = compile_bytes(&bytes, target, |_| {})?;
        let output = compile_bytes(&bytes, target, |options| {
            (options.debug_info, options.source) = (true, true);
        })?;
        ensure!(
            told(plain.assembly())? == told(output.assembly())?,
            "{target}"
        );
    }
    Ok(())
}
