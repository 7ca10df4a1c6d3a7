//! Diagnostics and findings in the forms that other programs read: SARIF, put to the schema of its
//! specification, and GitHub's. Checks of several files.

use crate::cli::{expect, path};
use crate::support::{assembled, trial};
use anyhow::{Context, Result, ensure};
use boon::{Compiler, SchemaIndex, Schemas};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use splitbar_tests::fixture::root;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A test without a fixture.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 7] = [
        ("sarif_of_diagnostics", sarif_of_diagnostics),
        ("sarif_of_findings", sarif_of_findings),
        ("sarif_of_everything", sarif_of_everything),
        ("github", github),
        (
            "assembly_text_has_ranges_and_fixes",
            assembly_text_has_ranges_and_fixes,
        ),
        ("check_takes_folders", check_takes_folders),
        ("batch_checks", batch_checks),
    ];
    let tests = tests.into_iter();
    tests
        .map(|(name, test)| trial(format!("formats/{name}"), test))
        .collect()
}

/// The schema of SARIF 2.1.0.
struct Sarif {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Sarif {
    fn read() -> Result<Sarif> {
        let file = root().join("fixtures/schemas/sarif-schema-2.1.0.json");
        let schema: Value = serde_json::from_slice(&fs::read(file)?)?;
        let name = schema["id"].as_str().context("no id")?.to_owned();
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let said = |error: boon::CompileError| anyhow::anyhow!("{error:#}");
        compiler.add_resource(&name, schema).map_err(said)?;
        let index = compiler.compile(&name, &mut schemas).map_err(said)?;
        Ok(Sarif { schemas, index })
    }

    /// The results of a log, which follows the schema; each names a rule that has a text.
    fn results(&self, text: &str) -> Result<Vec<Value>> {
        let log: Value = serde_json::from_str(text).context(text.to_owned())?;
        let valid = self.schemas.validate(&log, self.index);
        valid.map_err(|error| anyhow::anyhow!("{error:#}\n{text}"))?;
        let run = &log["runs"][0];
        let results = run["results"].as_array().context("no results")?;
        for result in results {
            let rule = result["ruleIndex"].as_u64().context("no rule")?;
            let rule = &run["tool"]["driver"]["rules"][rule as usize];
            ensure!(rule["id"] == result["ruleId"], "{result}");
            let text = rule["help"]["text"].as_str().context("no text")?;
            ensure!(text.starts_with('#'), "{text}");
        }
        Ok(results.clone())
    }
}

/// A race of all invocations, with debug lines: the module, and the launch that shows it.
const RACE: &str = r#"
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id
OpExecutionMode %main LocalSize 128 1 1
%file = OpString "shaders/race, 50%.comp"
OpSource GLSL 450 %file "    data = gl_LocalInvocationIndex;"
OpDecorate %id BuiltIn LocalInvocationIndex
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%block = OpTypeStruct %uint
%pointer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %uint
%buffer = OpVariable %pointer StorageBuffer
%input = OpTypePointer Input %uint
%id = OpVariable %input Input
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 1 5
%value = OpLoad %uint %id
%place = OpAccessChain %element %buffer %zero
OpStore %place %value
OpReturn
OpFunctionEnd
"#;

/// Writes the racing module into `folder`.
pub(crate) fn race(folder: &Path) -> Result<String> {
    let file = folder.join("race.spv");
    fs::write(&file, assembled(RACE)?)?;
    Ok(file.display().to_string())
}

/// A rule with a witness, on a line of a source.
fn invalid(folder: &Path) -> Result<String> {
    let file = folder.join("invalid.spv");
    fs::write(&file, assembled(crate::cli::LINES)?)?;
    Ok(file.display().to_string())
}

fn sarif_of_diagnostics() -> Result<()> {
    let sarif = Sarif::read()?;
    let folder = TempDir::new()?;
    let module = invalid(folder.path())?;
    let ran = expect(&["check", &module, "--strict", "--format", "sarif"], b"", 1)?;
    ensure!(ran.stderr.is_empty(), "{}", ran.stderr);
    let results = sarif.results(&String::from_utf8(ran.stdout)?)?;
    let plain = expect(&["check", &module, "--strict", "--format", "json"], b"", 1)?;
    let lines: Vec<Value> = plain
        .stderr
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    ensure!(!lines.is_empty() && lines.len() == results.len());
    for (line, result) in lines.iter().zip(&results) {
        ensure!(line["code"] == result["ruleId"] && line["severity"] == result["level"]);
        let message = result["message"]["text"].as_str().unwrap_or_default();
        ensure!(message.starts_with(line["message"].as_str().context("no message")?));
        let region = &result["locations"][0]["physicalLocation"]["region"];
        let source = &line["source"];
        ensure!(region["startLine"] == source["line"], "{result}");
        ensure!(region["startColumn"] == source["column"], "{result}");
        let steps = &result["codeFlows"][0]["threadFlows"][0]["locations"];
        let steps = steps.as_array().map_or(0, Vec::len);
        ensure!(Some(steps) == line["witness"].as_array().map(Vec::len));
    }
    // No problem: a log without results. A wrong file, a limit, wrong arguments: one with them.
    let kernel = path("reduction")?;
    let clean = expect(&["check", &kernel, "--format=sarif"], b"", 0)?;
    ensure!(sarif.results(&String::from_utf8(clean.stdout)?)?.is_empty());
    let missing = expect(&["check", "no/such.spv", "--format=sarif"], b"", 2)?;
    let missing = sarif.results(&String::from_utf8(missing.stdout)?)?;
    ensure!(missing[0]["ruleId"] == "SB0386", "{missing:?}");
    let late = ["check", &kernel, "--format=sarif", "--time-limit=0.000001"];
    let late = sarif.results(&String::from_utf8(expect(&late, b"", 3)?.stdout)?)?;
    ensure!(late[0]["ruleId"] == "SB0387", "{late:?}");
    let wrong = expect(&["check", "--format=sarif", "--no-such-flag"], b"", 2)?;
    ensure!(sarif.results(&wrong.stderr)?[0]["ruleId"] == "SB0386");
    // The code goes to the standard output, so the log goes to the other.
    let lower = ["lower", &module, "--target", "sm_90", "--format", "sarif"];
    ensure!(!sarif.results(&expect(&lower, b"", 1)?.stderr)?.is_empty());
    Ok(())
}

fn sarif_of_findings() -> Result<()> {
    let sarif = Sarif::read()?;
    let folder = TempDir::new()?;
    let module = race(folder.path())?;
    let sim = ["sim", &module, "--target", "gfx1201", "--groups", "1,1,1"];
    let more = ["--buffer", "0:0=zeros:4", "--schedules", "3"];
    let sim = [&sim[..], &more].concat();
    let ran = expect(&[&sim[..], &["--format", "sarif"]].concat(), b"", 1)?;
    let results = sarif.results(&String::from_utf8(ran.stdout)?)?;
    let found = &results[0];
    ensure!(found["ruleId"] == "SB3004" && found["level"] == "error");
    let place = &found["locations"][0]["physicalLocation"];
    ensure!(place["artifactLocation"]["uri"] == "shaders/race%2C%2050%25.comp");
    let region = json!({"startLine": 1, "startColumn": 5,
        "snippet": {"text": "    data = gl_LocalInvocationIndex;"}});
    ensure!(place["region"] == region, "{place}");
    ensure!(found["properties"]["target"] == "gfx1201", "{found}");
    ensure!(
        found["properties"]["schedules"] == json!([0, 1, 2]),
        "{found}"
    );
    let related = found["relatedLocations"].as_array().context("no places")?;
    let texts: Vec<&str> = related
        .iter()
        .filter_map(|place| place["message"]["text"].as_str())
        .collect();
    ensure!(
        texts[0].starts_with("against ") && texts[1].contains("OpStore"),
        "{texts:?}"
    );
    // Of final code, without and with the module that it was made of.
    let json = expect(&[&sim[..], &["--format", "json"]].concat(), b"", 1)?;
    let json: Value = serde_json::from_slice(&json.stdout)?;
    ensure!(json["findings"].as_array().map(Vec::len) == Some(results.len()));
    ensure!(json["findings"][0]["schedules"] == json!([0, 1, 2]));
    ensure!(json["schedules"].as_array().map(Vec::len) == Some(3));
    Ok(())
}

/// Every module that breaks a rule, checked in one run, with and without targets.
fn sarif_of_everything() -> Result<()> {
    let sarif = Sarif::read()?;
    let folder = TempDir::new()?;
    let modules = crate::validation::modules()?;
    for (number, (_, text)) in modules.iter().enumerate() {
        fs::write(
            folder.path().join(format!("{number:04}.spv")),
            assembled(text)?,
        )?;
    }
    let folder = folder.path().display().to_string();
    let check = ["check", &folder, "--strict", "--format"];
    let ran = expect(&[&check[..], &["sarif"]].concat(), b"", 1)?;
    let results = sarif.results(&String::from_utf8(ran.stdout)?)?;
    let lines = expect(&[&check[..], &["json"]].concat(), b"", 1)?.stderr;
    ensure!(results.len() == lines.lines().count() && results.len() > modules.len() / 2);
    // What only one GPU lacks names it; what both lack, and what has nothing to do with them, does
    // not.
    let kernels = root().join("fixtures/kernels").display().to_string();
    let targets = [
        "check",
        &kernels,
        "--format=sarif",
        "--targets=gfx900,gfx1201",
        "--strategy=native",
    ];
    let ran = crate::support::run(&targets, b"", false)?;
    let results = sarif.results(&String::from_utf8(ran.stdout)?)?;
    let of = |target: &str| {
        let results = results.iter();
        results
            .filter(|one| one["properties"]["target"] == target)
            .count()
    };
    ensure!(of("gfx900") > 0, "none is of one target");
    ensure!(
        of("gfx900") + of("gfx1201") < results.len(),
        "all are of one"
    );
    Ok(())
}

fn github() -> Result<()> {
    let folder = TempDir::new()?;
    let module = race(folder.path())?;
    let sim = ["sim", &module, "--target", "sm_90", "--groups", "1,1,1"];
    let more = ["--buffer", "0:0=zeros:4", "--format", "github"];
    let ran = expect(&[&sim[..], &more].concat(), b"", 1)?;
    let text = String::from_utf8(ran.stdout)?;
    let first = text.lines().next().context("no line")?;
    let start = "::error file=shaders/race%2C 50%25.comp,line=1,col=5,title=SB3004 (sm_90)::";
    ensure!(first.starts_with(start), "{text}");
    ensure!(text.lines().all(|line| line.starts_with("::")), "{text}");
    let invalid = invalid(folder.path())?;
    let ran = expect(&["check", &invalid, "--strict", "--format=github"], b"", 1)?;
    let json = expect(&["check", &invalid, "--strict", "--format=json"], b"", 1)?;
    ensure!(ran.stderr.lines().count() == json.stderr.lines().count());
    ensure!(ran.stderr.starts_with("::error file="), "{}", ran.stderr);
    Ok(())
}

/// A module given as assembly text has its places in the text, also on the standard input.
fn assembly_text_has_ranges_and_fixes() -> Result<()> {
    let file = root().join("fixtures/invalid/split_order/arrive_wrong_102.spvasm");
    let text = fs::read(&file)?;
    let name = file.display().to_string();
    let line = |ran: &crate::support::Ran| -> Result<Value> {
        let first = ran.stderr.lines().next().context("no diagnostic")?;
        Ok(serde_json::from_str(first)?)
    };
    let json = line(&expect(&["check", &name, "--format=json"], b"", 1)?)?;
    let piped = line(&expect(&["check", "-", "--format=json"], &text, 1)?)?;
    ensure!(json["source"]["line"] == piped["source"]["line"], "{piped}");
    ensure!(json["fixes"] == piped["fixes"], "{piped}");
    let (source, edits) = (&json["source"], &json["fixes"][0]["edits"]);
    let at = &edits[1];
    ensure!(source["file"] == json!(name), "{json}");
    for key in ["line", "column", "end_line", "end_column"] {
        ensure!(source[key].is_u64() && source[key] == at[key], "{json}");
    }
    let written = String::from_utf8(text.clone())?;
    let line_number = source["line"].as_u64().context("no line")? as usize;
    ensure!(source["text"].as_str() == written.lines().nth(line_number - 1));

    let ran = expect(&["check", &name, "--format=sarif"], b"", 1)?;
    let results = Sarif::read()?.results(&String::from_utf8(ran.stdout)?)?;
    let region = &results[0]["locations"][0]["physicalLocation"]["region"];
    ensure!(region["endColumn"] == source["end_column"], "{region}");
    let replacements = &results[0]["fixes"][0]["artifactChanges"][0]["replacements"];
    let deleted = &replacements[1]["deletedRegion"];
    ensure!(deleted["startColumn"] == at["column"], "{replacements}");
    let ran = expect(&["check", &name, "--format=github"], b"", 1)?;
    let range = format!("endLine={line_number},endColumn={}", source["end_column"]);
    ensure!(ran.stderr.contains(&range), "{}", ran.stderr);
    Ok(())
}

fn check_takes_folders() -> Result<()> {
    let folder = TempDir::new()?;
    fs::create_dir_all(folder.path().join("b/c"))?;
    let good = fs::read(path("reduction")?)?;
    let file = |name: &str| folder.path().join(name);
    fs::write(file("b/c/good.spv"), &good)?;
    fs::write(file("z.spv"), b"no module")?;
    fs::write(file("b/bad.spv"), &good[..good.len() - 6])?;
    fs::write(file("b/text.txt"), b"no module")?;
    let top = folder.path().display().to_string();
    let files = |ran: &crate::support::Ran| -> Result<Vec<String>> {
        let mut files = Vec::new();
        for line in ran.stderr.lines() {
            let line: Value = serde_json::from_str(line)?;
            let file = line["file"].as_str().context("no file")?;
            files.push(file.trim_start_matches(&top).to_owned());
        }
        files.dedup();
        Ok(files)
    };
    let ran = expect(&["check", &top, "--format=json"], b"", 1)?;
    let found = files(&ran)?;
    ensure!(found == ["/b/bad.spv", "/z.spv"], "{found:?}");
    let text = expect(&["check", &top], b"", 1)?.stderr;
    ensure!(
        text.contains("b/bad.spv") && text.contains("z.spv"),
        "{text}"
    );
    // In the order of the arguments, each once; the worst exit code of all.
    let (z, good) = (format!("{top}/z.spv"), format!("{top}/b/c/good.spv"));
    let ran = expect(&["check", &z, &good, &top, "--format=json"], b"", 1)?;
    ensure!(files(&ran)? == ["/z.spv", "/b/bad.spv"]);
    expect(&["check", &good, &good], b"", 0)?;
    let ran = expect(
        &["check", &good, "no/such.spv", &z, "--format=json"],
        b"",
        1,
    )?;
    ensure!(files(&ran)? == ["no/such.spv", "/z.spv"], "{}", ran.stderr);
    expect(&["check", &good, "no/such.spv"], b"", 2)?;
    fs::create_dir(file("empty"))?;
    let empty = format!("{top}/empty");
    let ran = expect(&["check", &empty], b"", 2)?;
    ensure!(ran.stderr.contains("no modules"), "{}", ran.stderr);
    Ok(())
}

fn batch_checks() -> Result<()> {
    let sarif = Sarif::read()?;
    let folder = TempDir::new()?;
    let (modules, out) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&modules)?;
    fs::copy(path("reduction")?, modules.join("good.spv"))?;
    invalid(&modules)?;
    let (modules, out) = (modules.display().to_string(), out.display().to_string());
    let batch = ["batch", &modules, "--targets", "gfx1201,sm_90", "-o", &out];
    let check = [&batch[..], &["--check", "--keep-going", "--format"]].concat();
    let ran = expect(&[&check[..], &["json"]].concat(), b"", 1)?;
    let summary: Value = serde_json::from_slice(&ran.stdout)?;
    let counts = &summary["counts"];
    ensure!(counts["done"] == 2 && counts["invalid"] == 2, "{counts}");
    for job in summary["jobs"].as_array().context("no jobs")? {
        ensure!(job["outputs"] == json!([]), "{job}");
        for diagnostic in job["diagnostics"].as_array().context("none")? {
            ensure!(diagnostic["target"] == job["target"], "{diagnostic}");
        }
    }
    ensure!(!Path::new(&out).join("gfx1201").exists());
    let ran = expect(&[&check[..], &["sarif"]].concat(), b"", 1)?;
    let results = sarif.results(&String::from_utf8(ran.stdout)?)?;
    let targets: Vec<&Value> = results
        .iter()
        .map(|result| &result["properties"]["target"])
        .collect();
    ensure!(targets.contains(&&json!("gfx1201")) && targets.contains(&&json!("sm_90")));
    // What is written is not chosen where nothing is written.
    let emit = [&check[..], &["text", "--", "--emit", "asm"]].concat();
    expect(&emit, b"", 2)?;
    Ok(())
}
