//! Reports: the page in a browser, driven as a reader drives it; markup in the strings of modules;
//! the schema of the JSON; differences between reports.
//!
//! The browser runs without a driver: the page gets a script that clicks and presses keys, and the
//! browser prints the page that comes of it.

use crate::cli::{expect, path};
use crate::support::{assembled, done, linkable, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use splitbar_tests::corpus::modules;
use splitbar_tests::fixture::root;
use splitbar_tests::harness::{self, Missing};
use splitbar_tests::schema::Schemas;
use splitbar_tests::tools::GLSLANG_VARIABLE;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A test of reports.
type Test = fn() -> Result<()>;

/// Ten kernels of the fixtures.
const KERNELS: [&str; 10] = [
    "async_pipeline",
    "opencl_exchange",
    "reduction",
    "rotating_buffers",
    "scan",
    "softmax",
    "split_functions",
    "stencil_halo",
    "tiled_matmul",
    "transpose",
];

/// Three modules of the corpus, from two languages.
const CORPUS: [&str; 3] = [
    "kernel/73fcfb4d37ae3e7d.spv",
    "glcompute/dc61c6fe7d4f7ebf.spv",
    "glcompute/bd8a62e495efd7cb.spv",
];

/// The most bytes of a page.
const MOST_BYTES: usize = 2 << 20;

/// The GPUs of most tests.
const TARGETS: &str = "gfx1201,sm_90";

/// Ways to open a page: width, height, and more arguments of the browser.
const LIGHT: View = View("1400,1000", &[]);
const DARK: View = View("1400,1000", &["--blink-settings=preferredColorScheme=0"]);
const NARROW: View = View("500,900", &[]);

/// A way to open a page: the size of the window, and more arguments.
#[derive(Copy, Clone)]
struct View(&'static str, &'static [&'static str]);

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = KERNELS
        .into_iter()
        .map(|name| {
            trial(format!("report/browser/{name}"), move || {
                let page = page(&[&path(name)?, "--targets", TARGETS], b"")?;
                browse(&page, LIGHT)?;
                if name == "tiled_matmul" {
                    browse(&page, DARK)?;
                    browse(&page, NARROW)?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    trials.extend(CORPUS.into_iter().map(|name| {
        trial(format!("report/browser/{name}"), move || {
            let mut modules = modules()?.iter();
            let module = modules.find(|(other, _)| other.ends_with(name));
            let (_, bytes) = module.with_context(|| format!("the corpus has no {name}"))?;
            browse(&page(&["-", "--targets", TARGETS], bytes)?, LIGHT)
        })
    }));
    let tests: [(&str, Test); 9] = [
        ("schema", schema),
        ("reasons", reasons),
        ("source", source),
        ("markup", markup),
        ("against", against),
        ("launch", launch),
        ("forms_agree", forms_agree),
        ("refused", refused),
        ("types", types),
    ];
    trials.extend(tests.map(|(name, test)| trial(format!("report/{name}"), test)));
    trials
}

/// The page for these arguments.
fn page(arguments: &[&str], stdin: &[u8]) -> Result<String> {
    let all = [&["report"], arguments, &["--format", "html"]].concat();
    let page = String::from_utf8(expect(&all, stdin, 0)?.stdout)?;
    ensure!(page.len() < MOST_BYTES, "the page has {} bytes", page.len());
    for outside in [
        "<script src",
        "@import",
        "url(",
        "<link",
        "<base",
        "<iframe",
    ] {
        ensure!(!page.contains(outside), "the page has {outside}");
    }
    Ok(page)
}

fn json(arguments: &[&str], stdin: &[u8]) -> Result<Value> {
    let all = [&["report"], arguments, &["--format", "json"]].concat();
    let report = serde_json::from_slice(&expect(&all, stdin, 0)?.stdout)?;
    Schemas::read()?.check("report.json", &report)?;
    Ok(report)
}

/// The file with axe-core, which `cargo xtask page` fetches.
fn axe() -> Result<PathBuf, Missing> {
    let named = std::env::var_os("SPLITBAR_AXE").map(PathBuf::from);
    let own = root().join(".llvm/axe/axe.min.js");
    let mut files = named.into_iter().chain([own]);
    files
        .find(|file| file.is_file())
        .ok_or_else(|| Missing::new("no axe-core (name its file in SPLITBAR_AXE)"))
}

/// Opens the page and drives it; nothing may fail.
fn browse(page: &str, View(size, more): View) -> Result<()> {
    let browser = harness::program("SPLITBAR_CHROMIUM", "chromium")?;
    let axe = std::fs::read_to_string(axe()?)?;
    let before = format!(
        "<head><script>{}</script>",
        include_str!("report/before.js")
    );
    let after = format!(
        "<script>{axe}</script><script>{}</script></body>",
        include_str!("report/drive.js")
    );
    ensure!(page.matches("<head>").count() == 1, "the page has one head");
    let page = page.replacen("<head>", &before, 1);
    let (start, end) = page.rsplit_once("</body>").context("no end of the body")?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("page.html");
    std::fs::write(&file, format!("{start}{after}{end}"))?;
    let mut command = Command::new(browser);
    command
        .args([
            "--headless=new",
            "--disable-gpu",
            "--no-sandbox",
            "--no-first-run",
        ])
        .args(["--dump-dom", "--virtual-time-budget=30000"])
        .arg(format!("--window-size={size}"))
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .args(more)
        .arg(format!("file://{}", file.display()));
    let dom = String::from_utf8_lossy(&done(&mut command)?.stdout).into_owned();
    let results = dom
        .rsplit_once("RESULTS:")
        .and_then(|(_, rest)| rest.split_once(":END"));
    let (results, _) = results.context("the script did not come to its end")?;
    let results: Value = serde_json::from_slice(&decoded(results)?)?;
    let failed = results["failed"].as_array().context("no results")?;
    ensure!(failed.is_empty(), "{failed:#?}");
    let seen = results["seen"].as_array().context("no results")?;
    for wanted in [
        "axe",
        "click links SPIR-V",
        "explained in place",
        "hover",
        "printed whole",
    ] {
        ensure!(
            seen.iter().any(|one| one == wanted),
            "{wanted} was not tried"
        );
    }
    Ok(())
}

/// Base64.
fn decoded(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => bail!("no base64"),
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Ok(bytes)
}

/// Every kernel's report fits the schema, and its parts hold together.
fn schema() -> Result<()> {
    for name in KERNELS {
        let report = json(&[&path(name)?, "--targets", TARGETS], b"")?;
        let results = report["results"].as_array().context("no results")?;
        ensure!(results.len() >= 2, "{name}: {} results", results.len());
        for result in results {
            let versions = result["versions"].as_array().context("no versions")?;
            ensure!(versions[0]["name"] == "full", "{name}");
            let verdict = &result["verdict"];
            let mut versions = versions.iter();
            ensure!(
                versions.any(|version| version["name"] == verdict["version"]),
                "{name}: {verdict}"
            );
            let skipped = result["not_looked_at"].as_array().context("no list")?;
            let mut skipped = skipped.iter().filter_map(|one| one["part"].as_str());
            ensure!(skipped.any(|part| part.starts_with("races")), "{name}");
            let shown = result["shown"].as_array().context("nothing is shown")?;
            let code = shown[0]["assembly"].as_array().context("no code")?;
            ensure!(code.len() > 5, "{name}: {} lines", code.len());
        }
    }
    Ok(())
}

/// A verdict names the versions that its reasons compare.
fn reasons() -> Result<()> {
    let module = root().join("docs/examples/matmul.spv");
    let module = module.to_str().context("the path is not text")?;
    let report = json(&[module, "--targets", TARGETS], b"")?;
    let mut pipelined = 0;
    for result in report["results"].as_array().context("no results")? {
        let verdict = &result["verdict"];
        let because = verdict["because"].as_array().context("no reasons")?;
        let because: Vec<&str> = because.iter().filter_map(Value::as_str).collect();
        let has = |start: &str| because.iter().any(|why| why.starts_with(start));
        if verdict["outcome"] == "pipeline" {
            ensure!(has("without pipelined loops, "), "{verdict}");
            ensure!(has("the barriers of the pipelined loop are "), "{verdict}");
            pipelined += 1;
        }
        for version in result["versions"].as_array().context("no versions")? {
            let is_known = version["of_full"].is_number() && version["registers"].is_number();
            ensure!(is_known, "{version}");
        }
    }
    ensure!(pipelined > 0, "{}", report["results"]);
    Ok(())
}

/// A module that carries its source: lines of source, SPIR-V and assembly are linked.
fn source() -> Result<()> {
    let glslang = harness::program(GLSLANG_VARIABLE, "glslangValidator")?;
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("transpose.spv");
    let source = root().join("fixtures/kernels/transpose/transpose.comp");
    let mut compiler = Command::new(glslang);
    compiler.args(["--target-env", "vulkan1.2", "-gVS"]);
    done(compiler.arg(&source).arg("-o").arg(&module))?;
    let module = module.display().to_string();
    let report = json(&[&module, "--targets", "gfx1201"], b"")?;
    let lines = report["source"][0]["lines"]
        .as_array()
        .context("no source")?;
    let spirv = report["spirv"].as_array().context("no SPIR-V")?;
    let located: Vec<u64> = spirv
        .iter()
        .filter_map(|one| one["source"][1].as_u64())
        .collect();
    ensure!(
        located.len() * 2 > spirv.len(),
        "{} of {}",
        located.len(),
        spirv.len()
    );
    ensure!(located.iter().all(|line| *line as usize <= lines.len()));
    browse(&page(&[&module, "--targets", "gfx1201"], b"")?, LIGHT)
}

/// Text that no string of a module may inject as markup.
const MARKUP: &str =
    "</script><img src=x onerror=window.pwned=1>\\\"'<!--]]>&lt;\u{2028}\u{2029}\u{202e}";

/// A module with markup in every string, whose two waves store the same value.
fn hostile() -> Result<Vec<u8>> {
    let name = |number: u32| format!("{MARKUP}{number}");
    let text = format!(
        r#"
            OpCapability Shader
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %1 "{entry}"
            OpExecutionMode %1 LocalSize 64 1 1
       %2 = OpString "{file}"
            OpSource GLSL 450 %2 "{line}"
            OpSourceExtension "{extension}"
            OpName %1 "{function}"
            OpName %9 "{variable}"
            OpMemberName %20 0 "{member}"
            OpModuleProcessed "{processed}"
            OpDecorate %20 Block
            OpMemberDecorate %20 0 Offset 0
            OpDecorate %22 DescriptorSet 0
            OpDecorate %22 Binding 0
       %3 = OpTypeVoid
       %4 = OpTypeFunction %3
       %5 = OpTypeInt 32 0
       %6 = OpConstant %5 64
       %7 = OpTypeArray %5 %6
       %8 = OpTypePointer Workgroup %7
       %9 = OpVariable %8 Workgroup
      %10 = OpTypePointer Workgroup %5
      %11 = OpConstant %5 2
      %12 = OpConstant %5 264
      %13 = OpConstant %5 0
      %20 = OpTypeStruct %5
      %21 = OpTypePointer StorageBuffer %20
      %22 = OpVariable %21 StorageBuffer
      %23 = OpTypePointer StorageBuffer %5
       %1 = OpFunction %3 None %4
      %14 = OpLabel
            OpLine %2 1 1
      %15 = OpAccessChain %10 %9 %13
            OpStore %15 %11
            OpControlBarrier %11 %11 %12
      %16 = OpLoad %5 %15
      %24 = OpAccessChain %23 %22 %13
            OpStore %24 %16
            OpReturn
            OpFunctionEnd
        "#,
        entry = name(0),
        file = name(1),
        line = name(2),
        extension = name(3),
        function = name(4),
        variable = name(5),
        member = name(6),
        processed = name(7),
    );
    assembled(&text)
}

/// Markup in every string of a module is text.
fn markup() -> Result<()> {
    let module = hostile()?;
    let folder = tempfile::tempdir()?;
    let file = folder
        .path()
        .join("<img src=x onerror=window.pwned=1>&'.spv");
    std::fs::write(&file, &module)?;
    let file = file.display().to_string();
    let arguments = [file.as_str(), "--targets", "gfx1201"];
    let report = json(&arguments, b"")?;
    // The strings are there, so that there is something to escape.
    let (entry, line) = (
        &report["results"][0]["entry"],
        &report["source"][0]["lines"][0],
    );
    for text in [
        entry,
        line,
        &report["source"][0]["name"],
        &report["module"]["name"],
    ] {
        let text = text.as_str().context("no string")?;
        ensure!(
            text.contains("<img src=x onerror=window.pwned=1>"),
            "{text}"
        );
    }
    let page = page(&arguments, b"")?;
    for (what, count) in [("<img", 0), ("</script", 2), ("<script", 2), ("<!--", 0)] {
        let found = page.matches(what).count();
        ensure!(found == count, "{found} of {what} instead of {count}");
    }
    let hidden = ['\u{2028}', '\u{2029}', '\u{202e}', '\0', '\u{1b}'];
    ensure!(!page.contains(hidden), "a character that is not shown");
    let text = expect(&["report", &file, "--targets", "gfx1201"], b"", 0)?.stdout;
    ensure!(!String::from_utf8(text)?.contains(['\0', '\u{1b}']));
    browse(&page, LIGHT)
}

/// The differences of two modules, and of a module and itself.
fn against() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let old = folder.path().join("old.json").display().to_string();
    let plain = path("plain_matmul")?;
    let targets = ["--targets", "gfx1201"];
    expect(
        &[&["report", &plain, "-o", &old], &targets[..]].concat(),
        b"",
        0,
    )?;
    let compared = |kernel: &str| {
        let kernel = path(kernel)?;
        json(&[&[&kernel, "--against", &old], &targets[..]].concat(), b"")
    };
    let same = compared("plain_matmul")?;
    ensure!(same["against"]["same_module"] == true && same["against"]["same_launch"] == true);
    ensure!(
        same["against"]["differences"] == Value::Array(Vec::new()),
        "{}",
        same["against"]
    );
    let other = compared("reduction")?;
    ensure!(other["against"]["same_module"] == false);
    let all = other["against"]["differences"]
        .as_array()
        .context("no list")?;
    for what in [
        "cycles of full",
        "instructions of full",
        "registers of full",
    ] {
        ensure!(all.iter().any(|one| one["what"] == what), "{all:#?}");
    }
    let other = path("reduction")?;
    let arguments = [&[&other, "--against", &old], &targets[..]].concat();
    ensure!(page(&arguments, b"")?.contains("Differences from an older report"));
    let text = expect(&[&["report"], &arguments[..]].concat(), b"", 0)?.stdout;
    ensure!(String::from_utf8(text)?.contains("main on gfx1201: cycles of full: "));
    // What is no report.
    std::fs::write(&old, "{\"schema_version\": 1}")?;
    let ran = expect(&[&["report"], &arguments[..]].concat(), b"", 2)?;
    ensure!(
        ran.stderr.contains("not a report in JSON"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// With a launch the simulator looks for races.
fn launch() -> Result<()> {
    linkable("gfx1201")?;
    let module = root()
        .join("docs/examples/rounds.spv")
        .display()
        .to_string();
    let launch = [
        "--groups",
        "2,1,1",
        "--buffer",
        "0:0=seq:u32:256",
        "--buffer",
        "0:1=zeros:1024",
    ];
    let all = [&[module.as_str(), "--targets", TARGETS], &launch[..]].concat();
    let report = json(&all, b"")?;
    ensure!(report["launch"]["made_up"] == false);
    for result in report["results"].as_array().context("no results")? {
        let skipped = result["not_looked_at"].as_array().context("no list")?;
        let mut skipped = skipped.iter().filter_map(|one| one["part"].as_str());
        ensure!(skipped.all(|part| !part.starts_with("races")), "{result}");
        ensure!(
            result["versions"][0]["cycles"].is_u64(),
            "{}",
            result["versions"][0]
        );
        ensure!(result["shown"][0]["timeline"].is_object());
    }
    // Findings of the simulator are there.
    let small = ["--groups", "1,1,1", "--buffer", "0:0=zeros:4"];
    let all = [&["-", "--targets", "gfx1201"], &small[..]].concat();
    let found = json(&all, &hostile()?)?;
    let found = found["results"][0]["findings"].as_array();
    let found = found.context("no list")?;
    ensure!(
        found.iter().any(|one| one["code"] == "SB3040"),
        "{found:#?}"
    );
    Ok(())
}

/// The three forms have the same verdict, and every run has the same bytes.
fn forms_agree() -> Result<()> {
    let module = path("reduction")?;
    let arguments = [module.as_str(), "--targets", TARGETS];
    let report = json(&arguments, b"")?;
    let first = page(&arguments, b"")?;
    ensure!(first == page(&arguments, b"")?, "two runs differ");
    let text = expect(&[&["report"], &arguments[..]].concat(), b"", 0)?.stdout;
    let text = String::from_utf8(text)?;
    for result in report["results"].as_array().context("no results")? {
        let sentence = result["verdict"]["sentence"]
            .as_str()
            .context("no sentence")?;
        ensure!(
            text.contains(sentence) && first.contains(sentence),
            "{sentence}"
        );
    }
    Ok(())
}

/// A GPU that cannot have the module is named; a module that none can have is an error.
fn refused() -> Result<()> {
    let module = path("async_pipeline")?;
    let report = json(
        &[&module, "--targets", TARGETS, "--wavefront-size", "64"],
        b"",
    )?;
    ensure!(
        report["failed"][0]["target"] == "sm_90",
        "{}",
        report["failed"]
    );
    ensure!(
        report["results"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    let ran = expect(&["report", "-"], b"no module", 1)?;
    ensure!(ran.stdout.is_empty());
    expect(&["report", &module, "--buffer", "0:0=zeros:16"], b"", 2)?;
    Ok(())
}

/// The page's code has the types of its annotations.
fn types() -> Result<()> {
    let tsc = harness::program("SPLITBAR_TSC", "tsc")?;
    let folder: &Path = &root().join("lowering/driver/src/report/page");
    let ran = Command::new(tsc).arg("--project").arg(folder).output()?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    ensure!(ran.status.success(), "{said}");
    Ok(())
}
