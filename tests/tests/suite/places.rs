//! Places in the source: modules that glslang compiles with debug lines, in both forms, and the
//! output of the commands that name words.

use crate::cli::expect;
use crate::support::{linkable, timed_matmul, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Module, WordOffset};
use splitbar_tests::fixture::{Fixture, root};
use splitbar_tests::harness;
use splitbar_tests::tools::GLSLANG_VARIABLE;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags for OpLine, and for NonSemantic.Shader.DebugInfo.100.
pub(crate) const FORMS: [&str; 2] = ["-g", "-gVS"];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = vec![trial("places/findings".to_owned(), findings)];
    for form in FORMS {
        let fixtures = fixtures.to_vec();
        let name = format!("places/barriers/{form}");
        let all = fixtures.clone();
        trials.push(trial(name, move || barriers(&all, form)));
        let fixtures = fixtures.clone();
        let name = format!("places/plans/{form}");
        trials.push(trial(name, move || plans(&fixtures, form)));
        let name = format!("places/estimates/{form}");
        trials.push(trial(name, move || estimates(form)));
    }
    trials
}

/// Compiles GLSL with debug lines, by the command that its source names.
pub(crate) fn compiled(source: &Path, form: &str, folder: &Path) -> Result<PathBuf> {
    let glslang = harness::program(GLSLANG_VARIABLE, "glslangValidator")?;
    let text = std::fs::read_to_string(source)?;
    let mut lines = text.lines();
    let command = lines.find_map(|line| line.strip_prefix("// Regenerate: glslangValidator "));
    let command = command.context("the source names no command")?;
    let name = source.file_name().context("no name")?;
    let to = folder.join(Path::new(name).with_extension("spv"));
    let mut arguments: Vec<&str> = Vec::new();
    let mut words = command.split(' ');
    while let Some(word) = words.next() {
        match word {
            "-o" => drop(words.next()),
            word => arguments.push(word),
        }
    }
    let mut compiler = Command::new(glslang);
    compiler.args(arguments).arg(form).arg("-o").arg(&to);
    compiler.current_dir(source.parent().context("no folder")?);
    crate::support::done(&mut compiler)?;
    Ok(to)
}

/// The kernels that are in GLSL: their names and files.
pub(crate) fn glsl_kernels(fixtures: &[Fixture]) -> impl Iterator<Item = (&str, PathBuf)> {
    let files = fixtures.iter().map(|fixture| {
        let name = fixture.name.as_str();
        let file = root().join(format!("fixtures/kernels/{name}/{name}.comp"));
        (name, file)
    });
    files.filter(|(_, file)| file.is_file())
}

/// Every barrier that a plan of the kernels in GLSL names has its line there if the module has one;
/// those without are counted, and there are none.
fn plans(fixtures: &[Fixture], form: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut named, mut without) = (0, Vec::new());
    for (name, source) in glsl_kernels(fixtures) {
        let bytes = std::fs::read(compiled(&source, form, folder.path())?)?;
        let module = Module::parse(&bytes).map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
        let declarations = Declarations::new(&module, &mut Diagnostics::new());
        for target in ["gfx1201", "sm_90"] {
            let options =
                splitbar::Options::new(splitbar::Target::by_name(target).context("none")?);
            let planned = splitbar::Compiler::new(&options).plan(&bytes[..]);
            let Ok(planned) = planned else {
                continue; // the fixture's own tests say what it needs
            };
            let text = planned.to_string();
            for entry in &planned.entries {
                for site in &entry.plan.sites {
                    let id = format!("{name} {target} #{}", site.id.0);
                    let word = entry.places.given_word(site.offset).context(id.clone())?;
                    match declarations.source_position(word) {
                        Some(position) => {
                            let line = format!("    at {}:{}", position.file, position.line);
                            ensure!(text.contains(&line), "{id}: {line}\n{text}");
                            named += 1;
                        }
                        None => without.push(id),
                    }
                }
            }
        }
    }
    println!("{form}: {named} barriers of plans have a line; without one: {without:?}");
    ensure!(named > 50 && without.is_empty(), "{named}, {without:?}");
    Ok(())
}

/// Every barrier of the kernels in GLSL has its line, with the text, and the text is a barrier's.
fn barriers(fixtures: &[Fixture], form: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut kernels, mut count) = (0, 0);
    for (name, source) in glsl_kernels(fixtures) {
        let module = compiled(&source, form, folder.path()).with_context(|| name.to_owned())?;
        let bytes = std::fs::read(module)?;
        let module = Module::parse(&bytes).map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
        let declarations = Declarations::new(&module, &mut Diagnostics::new());
        let barriers = module.instructions();
        let barriers = barriers.filter(|inst| matches!(inst.opcode(), 224 | 6142 | 6143));
        let words: Vec<WordOffset> = barriers.map(|inst| inst.offset).collect();
        for (word, place) in declarations.locations(&words) {
            let source = place
                .source
                .with_context(|| format!("{name}: word {word}"))?;
            let text = source
                .text
                .with_context(|| format!("{name}: no line {}", source.line))?;
            ensure!(
                text.to_lowercase().contains("barrier") || text.chars().any(char::is_uppercase),
                "{name}: {text}"
            );
            count += 1;
        }
        kernels += 1;
    }
    ensure!(
        kernels > 20 && count > 2 * kernels,
        "{count} barriers of {kernels} kernels"
    );
    Ok(())
}

/// The table of an estimate and its timeline name the lines of the source.
fn estimates(form: &str) -> Result<()> {
    linkable("gfx1201")?;
    let folder = tempfile::tempdir()?;
    let source = root().join("fixtures/kernels/tiled_matmul/tiled_matmul.comp");
    let module = compiled(&source, form, folder.path())?;
    let module = module.to_str().context("the path is no text")?;
    let trace = folder.path().join("trace.json");
    let to = trace.to_str().context("the path is no text")?;
    let launch = timed_matmul(module);
    let text = expect(&[&launch[..], &["--trace", to]].concat(), b"", 0)?.stdout;
    let text = String::from_utf8(text)?;
    let lines: Vec<&str> = text.lines().collect();
    let places = lines
        .iter()
        .filter(|line| line.contains("tiled_matmul.comp:"));
    ensure!(places.clone().count() == 3, "{text}");
    ensure!(places.clone().all(|line| line.contains("arrier")), "{text}");
    let json = expect(&[&launch[..], &["--format", "json"]].concat(), b"", 0)?.stdout;
    let json: Value = serde_json::from_slice(&json)?;
    for barrier in json["barriers"].as_array().context("barriers")? {
        let source = &barrier["place"]["source"];
        let file = source["file"].as_str().context("no file")?;
        ensure!(file.ends_with("tiled_matmul.comp"), "{barrier}");
        ensure!(source["column"].as_u64() > Some(1), "{barrier}");
        ensure!(barrier["place"]["function"].is_string(), "{barrier}");
    }
    let trace: Value = serde_json::from_slice(&std::fs::read(&trace)?)?;
    let events = trace["traceEvents"].as_array().context("events")?;
    let spans = events
        .iter()
        .filter(|event| event["ph"] == "X" && event["cat"] == "barrier");
    for span in spans {
        let source = span["args"]["source"].as_str().context("no source")?;
        ensure!(source.contains("tiled_matmul.comp:"), "{span}");
    }
    Ok(())
}

/// A kernel whose waves write to one place, on the line `race`.
const RACE: &str = "\
// Regenerate: glslangValidator -V --target-env vulkan1.2 race.comp -o race.spv
#version 460
layout(local_size_x = 128) in;
layout(set = 0, binding = 0, std430) buffer Out { uint data[]; };
void main() {
    if (gl_LocalInvocationIndex % 64 == 0)
        data[0] = gl_LocalInvocationIndex; // race
}
";

/// A finding names the line of both accesses; without debug lines it names function, block and
/// instruction.
fn findings() -> Result<()> {
    linkable("gfx942")?;
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("race.comp");
    std::fs::write(&source, RACE)?;
    for form in ["-g", "-gVS", "--quiet"] {
        let module = compiled(&source, form, folder.path())?;
        let module = module.to_str().context("the path is no text")?;
        let launch = [
            "sim",
            module,
            "--target",
            "gfx942",
            "--groups",
            "1,1,1",
            "--buffer",
            "0:0=zeros:64",
            "--schedules",
            "2",
        ];
        let text = String::from_utf8(expect(&launch, b"", 1)?.stdout)?;
        let json = expect(&[&launch[..], &["--format", "json"]].concat(), b"", 1)?.stdout;
        let json: Value = serde_json::from_slice(&json)?;
        let finding = &json["findings"][0];
        let has_lines = form.starts_with("-g");
        let places = text.matches("race.comp:7:9 (word").count();
        ensure!(places == if has_lines { 2 } else { 0 }, "{form}: {text}");
        ensure!(has_lines || text.contains("`OpStore "), "{form}: {text}");
        ensure!(
            has_lines || text.contains("` in function main, block %"),
            "{form}: {text}"
        );
        for role in ["at", "against"] {
            let place = &finding[role]["place"];
            let spirv = place["spirv"].as_str().context("no instruction")?;
            ensure!(spirv.starts_with("OpStore "), "{place}");
            let line = place["source"]["line"].as_u64();
            ensure!(line == has_lines.then_some(7), "{form}: {place}");
        }
    }
    Ok(())
}
