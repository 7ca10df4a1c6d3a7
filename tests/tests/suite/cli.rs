//! The command line: exit codes, files and pipes.

use crate::support::{assembled, linkable, ptxas, run, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture::Fixture;
use splitbar_tests::tools;
use std::process::Command;

/// A test of the command line.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 21] = [
        ("done_is_0", done_is_0),
        ("invalid_is_1", invalid_is_1),
        ("usage_is_2", usage_is_2),
        ("unsupported_is_3", unsupported_is_3),
        ("other_stages_are_left_out", other_stages_are_left_out),
        ("pipes_and_files_agree", pipes_and_files_agree),
        ("every_emit_works", every_emit_works),
        ("cubins_come_from_ptxas", cubins_come_from_ptxas),
        ("emit_dir_has_the_stages", emit_dir_has_the_stages),
        ("spec_changes_the_workgroup", spec_changes_the_workgroup),
        ("check_knows_the_target", check_knows_the_target),
        (
            "check_decides_what_it_is_told",
            check_decides_what_it_is_told,
        ),
        ("levels_are_accepted", levels_are_accepted),
        ("reflect_is_an_array", reflect_is_an_array),
        ("targets_are_listed", targets_are_listed),
        ("processes_agree", processes_agree),
        ("errors_leave_no_output", errors_leave_no_output),
        ("model_proves_or_says_why_not", model_proves_or_says_why_not),
        ("tools_that_fail_are_named", tools_that_fail_are_named),
        ("outputs_are_asked_for_first", outputs_are_asked_for_first),
        ("json_says_what_the_text_says", json_says_what_the_text_says),
    ];
    tests
        .into_iter()
        .map(|(name, test)| trial(format!("cli/{name}"), test))
        .collect()
}

pub(crate) fn path(kernel: &str) -> Result<String> {
    Ok(Fixture::load(kernel)?.module_path().display().to_string())
}

pub(crate) fn expect(arguments: &[&str], stdin: &[u8], code: i32) -> Result<crate::support::Ran> {
    let ran = run(arguments, stdin, false)?;
    ensure!(
        ran.code == Some(code),
        "splitbar {}: exit code {:?} instead of {code}\n{}",
        arguments.join(" "),
        ran.code,
        ran.stderr
    );
    Ok(ran)
}

fn done_is_0() -> Result<()> {
    let ran = expect(
        &["lower", &path("reduction")?, "--target", "gfx1201"],
        b"",
        0,
    )?;
    let text = String::from_utf8(ran.stdout)?;
    ensure!(
        text.contains("s_barrier_signal -1"),
        "assembly is what comes by default:\n{text}"
    );
    ensure!(ran.stderr.is_empty(), "nothing to say: {}", ran.stderr);
    Ok(())
}

fn invalid_is_1() -> Result<()> {
    let module = Fixture::load("reduction")?.module()?;
    let mut no_words = module.clone();
    // The first instruction claims to have no words.
    no_words[22..24].fill(0);
    let mut magic = module.clone();
    magic[0] ^= 1;
    let truncated = &module[..module.len() - 6];
    for (what, bytes) in [
        ("nothing", &[][..]),
        ("no SPIR-V", b"#version 460\n"),
        ("truncated", truncated),
        ("word count 0", &no_words),
        ("wrong magic", &magic),
    ] {
        let ran = expect(&["lower", "-", "--target", "sm_90"], bytes, 1)?;
        ensure!(
            ran.stderr.contains("SB"),
            "{what}: no code in `{}`",
            ran.stderr
        );
        ensure!(
            ran.stdout.is_empty(),
            "{what}: output in spite of the error"
        );
    }
    Ok(())
}

fn usage_is_2() -> Result<()> {
    let module = path("reduction")?;
    expect(&["lower", &module, "--target", "gfx9999"], b"", 2)?;
    expect(&["lower", &module], b"", 2)?;
    expect(
        &["lower", &module, "--target", "gfx1201", "--emit", "poetry"],
        b"",
        2,
    )?;
    expect(
        &["lower", "no/such/file.spv", "--target", "gfx1201"],
        b"",
        2,
    )?;
    expect(
        &[
            "lower",
            &module,
            "--target",
            "gfx1201",
            "-o",
            "no/such/folder/out.s",
        ],
        b"",
        2,
    )?;
    expect(&["frobnicate"], b"", 2)?;
    let ran = expect(&["lower", &module, "--target", "gfx1202"], b"", 2)?;
    ensure!(
        ran.stderr.contains("gfx1201"),
        "near names are offered: {}",
        ran.stderr
    );
    Ok(())
}

fn unsupported_is_3() -> Result<()> {
    let module = path("reduction")?;
    // gfx1100 has no split barrier in hardware.
    let ran = expect(
        &[
            "lower",
            &module,
            "--target",
            "gfx1100",
            "--strategy",
            "native",
        ],
        b"",
        3,
    )?;
    ensure!(
        ran.stderr.contains("SB") && ran.stderr.contains("native"),
        "{}",
        ran.stderr
    );
    // LLVM stops at PTX.
    let object = ["lower", &module, "--target", "sm_90", "--emit", "obj"];
    let ran = expect(&object, b"", 3)?;
    ensure!(
        ran.stderr.contains("SB") && ran.stdout.is_empty(),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// A module with the stages of a whole pipeline: the kernels are compiled, and a note names the
/// other stages.
fn other_stages_are_left_out() -> Result<()> {
    let module = |kernel: &str| {
        crate::support::assembled(&format!(
            "OpCapability Shader
             OpMemoryModel Logical GLSL450
             {kernel}
             OpEntryPoint Fragment %2 \"shade\"
             OpExecutionMode %2 OriginUpperLeft
             %3 = OpTypeVoid
             %4 = OpTypeFunction %3
             %1 = OpFunction %3 None %4
             %5 = OpLabel
             OpReturn
             OpFunctionEnd
             %2 = OpFunction %3 None %4
             %6 = OpLabel
             OpKill
             OpFunctionEnd"
        ))
    };
    let lower = ["lower", "-", "--target", "sm_80"];
    let both = module("OpEntryPoint GLCompute %1 \"work\"\nOpExecutionMode %1 LocalSize 1 1 1")?;
    let ran = expect(&lower, &both, 0)?;
    let code = String::from_utf8_lossy(&ran.stdout);
    ensure!(
        code.contains(".entry work") && !code.contains("shade"),
        "{code}"
    );
    ensure!(
        ran.stderr.contains("SB0306") && ran.stderr.contains("`shade`"),
        "{}",
        ran.stderr
    );
    let ran = expect(&lower, &module("")?, 3)?;
    ensure!(ran.stderr.contains("SB0306"), "{}", ran.stderr);
    Ok(())
}

fn pipes_and_files_agree() -> Result<()> {
    let fixture = Fixture::load("scan")?;
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("scan.s");
    let out_name = out.display().to_string();
    let module = path("scan")?;
    expect(
        &["lower", &module, "--target", "gfx1100", "-o", &out_name],
        b"",
        0,
    )?;
    let file = std::fs::read(&out)?;
    let piped = expect(
        &["lower", "-", "--target", "gfx1100", "-o", "-"],
        &fixture.module()?,
        0,
    )?;
    ensure!(
        !file.is_empty() && file == piped.stdout,
        "the file and the pipe differ"
    );
    Ok(())
}

fn every_emit_works() -> Result<()> {
    let module = path("tiled_matmul")?;
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out").display().to_string();
    let expected: [(&str, &str, &[u8]); 7] = [
        ("llvm-ir", "gfx1201", b";"),
        ("bitcode", "gfx1201", b"BC"),
        ("asm", "sm_90", b"//"),
        ("obj", "gfx1201", b"\x7fELF"),
        ("plan", "sm_90", b"entry main for sm_90"),
        ("reflect", "sm_90", b"["),
        ("hsaco", "gfx1201", b"\x7fELF"),
    ];
    for (emit, target, first) in expected {
        // It is the last one.
        if emit == "hsaco" {
            linkable(target)?;
        }
        expect(
            &[
                "lower", &module, "--target", target, "--emit", emit, "-o", &out,
            ],
            b"",
            0,
        )?;
        let bytes = std::fs::read(&out)?;
        let start = bytes.trim_ascii_start();
        ensure!(
            start.starts_with(first),
            "{emit} begins with {:?}",
            start.get(..8)
        );
    }
    Ok(())
}

/// With ptxas, a cubin is an ELF file; without ptxas, it is a diagnostic. AMD GPUs have no cubins.
fn cubins_come_from_ptxas() -> Result<()> {
    let module = path("reduction")?;
    let cubin = |target, ptxas: &str, code| {
        expect(
            &[
                "lower", &module, "--target", target, "--emit", "cubin", "--ptxas", ptxas,
            ],
            b"",
            code,
        )
    };
    for gpu in ["sm_75", "sm_90"] {
        let missing = cubin(gpu, "/no/ptxas/is/here", 3)?;
        ensure!(missing.stderr.contains("ptxas"), "{}", missing.stderr);
    }
    let refused = cubin("gfx1201", "/no/ptxas/is/here", 3)?;
    ensure!(
        refused.stderr.contains("cubins are for NVIDIA GPUs"),
        "{}",
        refused.stderr
    );
    for gpu in ["sm_75", "sm_90"] {
        let made = cubin(gpu, &ptxas(gpu)?.program().display().to_string(), 0)?;
        ensure!(made.stdout.starts_with(b"\x7fELF"), "{gpu}: no ELF");
    }
    Ok(())
}

fn emit_dir_has_the_stages() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let stages = folder.path().join("stages");
    let name = stages.display().to_string();
    expect(
        &[
            "lower",
            &path("reduction")?,
            "--target",
            "gfx1201",
            "--emit-dir",
            &name,
        ],
        b"",
        0,
    )?;
    for file in [
        "input.spv",
        "plan.txt",
        "unoptimized.ll",
        "out.ll",
        "out.s",
        "out.o",
        "reflect.json",
    ] {
        ensure!(
            std::fs::metadata(stages.join(file)).is_ok_and(|file| file.len() > 0),
            "no {file}"
        );
    }
    ensure!(
        std::fs::read(stages.join("input.spv"))? == Fixture::load("reduction")?.module()?,
        "the module was changed"
    );
    Ok(())
}

fn spec_changes_the_workgroup() -> Result<()> {
    let module = path("spec_size")?;
    let size = |arguments: &[&str]| -> Result<serde_json::Value> {
        let mut all = vec!["lower", &module, "--target", "sm_90", "--emit", "reflect"];
        all.extend(arguments);
        let reflection: serde_json::Value = serde_json::from_slice(&expect(&all, b"", 0)?.stdout)?;
        Ok(serde_json::json!([
            reflection[0]["workgroup_size"],
            reflection[0]["shared_memory_bytes"]
        ]))
    };
    ensure!(
        size(&[])? == serde_json::json!([[64, 1, 1], 512]),
        "default: {}",
        size(&[])?
    );
    let other = size(&["--spec", "0=96"])?;
    ensure!(
        other == serde_json::json!([[96, 1, 1], 768]),
        "SIZE = 96: {other}"
    );
    let arguments = ["lower", &module, "--target", "sm_90", "--spec", "77=1"];
    let unknown = run(&arguments, b"", false)?;
    ensure!(
        unknown.code == Some(2) && unknown.stderr.contains("SB0108"),
        "{unknown:?}"
    );
    Ok(())
}

fn check_knows_the_target() -> Result<()> {
    let module = path("spec_size")?;
    let check = |arguments: &[&str], code: i32, said: &str| -> Result<()> {
        let ran = expect(&[&["check", &module], arguments].concat(), b"", code)?;
        ensure!(
            ran.stderr.contains(said),
            "{arguments:?}: {said} is not in\n{}",
            ran.stderr
        );
        Ok(())
    };
    // 512 bytes of workgroup memory; an mbarrier takes eight more, a fused barrier none.
    let limit = "--limit=maxComputeSharedMemorySize=512";
    check(&["--target", "sm_90", limit], 1, "SB1007")?;
    check(&["--target", "sm_90", limit, "--strategy=fused"], 0, "")?;
    check(
        &["--target", "sm_90", limit, "--spec", "0=96"],
        1,
        "768 bytes",
    )?;
    check(&["--target", "sm_90", "--spec", "0=4096"], 1, "SB0401")?;
    check(&["--target", "gfx1100", "--strategy=native"], 1, "SB0308")?;
    check(&["--spec", "77=1"], 2, "SB0108")?;
    check(&["--spec", "0=1.5", "--format=json"], 2, "SB0112")
}

/// A split barrier under a branch on a specialization constant, and one whose scope a kernel
/// computes: undecided, an error in strict checks.
fn check_decides_what_it_is_told() -> Result<()> {
    let (branch, scope) = (assembled(SPEC_BRANCH)?, assembled(COMPUTED_SCOPE)?);
    let check = |module: &[u8], options: &[&str], said: Option<&str>| -> Result<()> {
        let is_error = said.is_some_and(|said| said.starts_with("error"));
        let arguments = [&["check", "-"], options].concat();
        let ran = expect(&arguments, module, is_error.into())?;
        let problems: Vec<&str> = ran
            .stderr
            .lines()
            .filter(|line| line.starts_with("error") || line.starts_with("warning"))
            .collect();
        ensure!(
            said.map_or(problems.is_empty(), |said| {
                !problems.is_empty() && problems.iter().all(|line| line.starts_with(said))
            }),
            "{options:?}: {}",
            ran.stderr
        );
        Ok(())
    };
    check(&branch, &[], Some("warning[SB2000]"))?;
    check(&branch, &["--strict"], Some("error[SB2000]"))?;
    check(&branch, &["--assume-default-spec"], None)?;
    check(&branch, &["--strict", "--assume-default-spec"], None)?;
    check(&branch, &["--strict", "--spec", "7=128"], None)?;
    check(&branch, &["--spec", "7=1"], Some("error[SB2000]"))?;
    check(&scope, &[], Some("warning[SB0195]"))?;
    check(&scope, &["--strict"], Some("error[SB0195]"))
}

const SPEC_BRANCH: &str = "\
OpCapability Shader
OpCapability SplitBarrierEXT
OpExtension \"SPV_EXT_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %lane
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %lane BuiltIn LocalInvocationIndex
OpDecorate %count SpecId 7
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%to_uint = OpTypePointer Input %uint
%lane = OpVariable %to_uint Input
%count = OpSpecConstant %uint 64
%workgroup = OpConstant %uint 2
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%private = OpTypePointer Function %uint
%main = OpFunction %void None %fn
%start = OpLabel
%own = OpVariable %private Function
%index = OpLoad %uint %lane
%sum = OpIAdd %uint %index %count
%far = OpULessThan %bool %index %count
OpSelectionMerge %end None
OpBranchConditional %far %then %end
%then = OpLabel
OpControlBarrierArriveEXT %workgroup %workgroup %release
OpStore %own %sum
OpControlBarrierWaitEXT %workgroup %workgroup %acquire
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
";

const COMPUTED_SCOPE: &str = "\
OpCapability Kernel
OpCapability Addresses
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main_\"
OpExecutionMode %main LocalSize 64 1 1
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%fn = OpTypeFunction %void %uint
%workgroup = OpConstant %uint 2
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%main = OpFunction %void None %fn
%given = OpFunctionParameter %uint
%start = OpLabel
%scope = OpBitwiseOr %uint %given %workgroup
OpControlBarrierArriveINTEL %scope %workgroup %release
%more = OpIAdd %uint %given %scope
OpControlBarrierWaitINTEL %scope %workgroup %acquire
OpReturn
OpFunctionEnd
";

fn levels_are_accepted() -> Result<()> {
    let module = path("transpose")?;
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        expect(&["lower", &module, "--target", "gfx1250", level], b"", 0)?;
    }
    expect(&["lower", &module, "--target", "gfx1250", "-O9"], b"", 2)?;
    Ok(())
}

fn reflect_is_an_array() -> Result<()> {
    let module = path("tiled_matmul_double_buffered")?;
    let reflect = ["lower", &module, "--target", "gfx1201", "--emit", "reflect"];
    let ran = expect(&reflect, b"", 0)?;
    let reflection: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
    let entry = reflection.get(0).context("an array with one entry")?;
    ensure!(
        entry["pairs"][0]["window"]["kept"].as_u64() > Some(0),
        "the window is measured: {entry}"
    );
    let mut named = reflect.to_vec();
    named.extend(["--entry", "main"]);
    ensure!(
        expect(&named, b"", 0)?.stdout == ran.stdout,
        "--entry main is the only one"
    );
    let mut wrong = reflect.to_vec();
    wrong.extend(["--entry", "nobody"]);
    let refused = run(&wrong, b"", false)?;
    ensure!(
        matches!(refused.code, Some(1 | 2)) && refused.stderr.contains("nobody"),
        "{refused:?}"
    );
    Ok(())
}

fn targets_are_listed() -> Result<()> {
    let text = String::from_utf8(expect(&["targets"], b"", 0)?.stdout)?;
    for target in splitbar_tests::fixture::GRID {
        let lines = text
            .lines()
            .filter(|line| line.split_whitespace().next() == Some(target))
            .count();
        ensure!(lines == 1, "{lines} lines for {target}");
    }
    Ok(())
}

/// Two processes write the same bytes, whatever their environment and folder.
fn processes_agree() -> Result<()> {
    let module = path("tiled_matmul")?;
    for target in ["gfx1201", "sm_90"] {
        for emit in ["asm", "obj", "bitcode", "reflect"] {
            if emit == "obj" && target == "sm_90" {
                continue;
            }
            let arguments = ["lower", &module, "--target", target, "--emit", emit];
            let first = expect(&arguments, b"", 0)?;
            let second = expect(&arguments, b"", 0)?;
            ensure!(
                !first.stdout.is_empty() && first.stdout == second.stdout,
                "{target} {emit}: two runs differ"
            );
        }
    }
    Ok(())
}

fn errors_leave_no_output() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out.s");
    let name = out.display().to_string();
    expect(
        &["lower", "-", "--target", "gfx1201", "-o", &name],
        b"\x03\x02\x23\x07",
        1,
    )?;
    ensure!(!out.exists(), "a file in spite of the error");
    Ok(())
}

fn model_proves_or_says_why_not() -> Result<()> {
    let module = path("tiled_matmul")?;
    let native = [
        "model",
        &module,
        "--target",
        "gfx1201",
        "--strategy",
        "native",
    ];
    let ran = expect(&native, b"", 0)?;
    let text = String::from_utf8(ran.stdout)?;
    ensure!(
        text.starts_with("entry main, native, 3 waves: proved ("),
        "{text}"
    );
    let arguments = [
        "model",
        &module,
        "--target",
        "sm_90",
        "--strategy",
        "mbarrier",
        "--waves",
        "2",
        "--unroll",
        "1",
        "--format",
        "json",
    ];
    let ran = expect(&arguments, b"", 0)?;
    let json: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
    ensure!(
        json[0]["verdict"] == "proved" && json[0]["strategies"][0] == "mbarrier",
        "{json}"
    );
    ensure!(json[0]["waves"] == 2, "{json}");
    // Two workgroups that meet at the barrier of their cluster; more waves than can be explored are
    // refused.
    for (target, size, code, says) in [
        (
            "gfx1250",
            "2,1,1",
            0,
            "entry main, cluster, 2 waves in each of 2 workgroups: proved (",
        ),
        (
            "sm_90",
            "2,1,1",
            0,
            "entry main, cluster, 2 waves in each of 2 workgroups: proved (",
        ),
        (
            "gfx1250",
            "3,3,1",
            3,
            "with 2 waves each is too large to explore",
        ),
        ("gfx1201", "2,1,1", 3, "has no clusters of workgroups"),
    ] {
        let arguments = [
            "model",
            &module,
            "--target",
            target,
            "--strategy",
            "cluster",
            "--cluster-size",
            size,
            "--waves",
            "2",
            "--unroll",
            "1",
        ];
        let ran = expect(&arguments, b"", code)?;
        let text = String::from_utf8(ran.stdout)? + &ran.stderr;
        ensure!(text.contains(says), "{text}");
    }
    let few = ["model", &module, "--target", "gfx1201", "--states", "5"];
    let ran = expect(&few, b"", 3)?;
    let text = String::from_utf8(ran.stdout)?;
    ensure!(text.contains("limit: more than 5 states"), "{text}");
    expect(&["model", "-", "--target", "gfx1201"], b"x", 1)?;
    expect(
        &["model", &module, "--target", "gfx1201", "--waves", "17"],
        b"",
        2,
    )?;
    Ok(())
}

/// A program that is not a ptxas or a linker is not a bug of splitbar: the diagnostic names it,
/// with its output.
fn tools_that_fail_are_named() -> Result<()> {
    let module = path("reduction")?;
    let folder = tempfile::tempdir()?;
    let script = |name: &str, says: &str| -> Result<String> {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho \"{says}\" >&2\nexit 1\n"))?;
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(path.display().to_string())
    };
    let silent = "/bin/false".to_owned();
    let old = script("old", "ptxas fatal : Value 'sm_90' is not defined")?;
    let strict = script("strict", "ptxas $3, line 3; error : what is this")?;
    for (tool, code, says) in [
        (&silent, 3, "SB0385"),
        (&silent, 3, "no message"),
        (&old, 3, "Value 'sm_90' is not defined"),
        // The code itself: that would be a bug.
        (&strict, 4, "SB0906"),
        (&strict, 4, "what is this"),
    ] {
        let cubin = [
            "lower", &module, "--target", "sm_90", "--emit", "cubin", "--ptxas", tool,
        ];
        let ran = expect(&cubin, b"", code)?;
        ensure!(
            ran.stderr.contains(says) && ran.stderr.contains(tool.as_str()),
            "{tool}: {}",
            ran.stderr
        );
        ensure!(ran.stdout.is_empty(), "{tool}: output");
    }
    // What is measured besides is only a warning.
    let reflect = [
        "lower", &module, "--target", "sm_90", "--emit", "reflect", "--ptxas", &silent,
    ];
    let ran = expect(&reflect, b"", 0)?;
    ensure!(ran.stderr.contains("warning[SB0385]"), "{}", ran.stderr);
    // A linker that is too old for the object, where the simulator needs one.
    let linker = script("ld.lld-3", "error: unknown abi version")?;
    let arguments = ["sim", &module, "--target", "gfx1201", "--groups", "1,1,1"];
    let ran = Command::new(tools::splitbar()?)
        .args(arguments)
        .env("SPLITBAR_LLD", linker)
        .output()?;
    let said = String::from_utf8(ran.stderr)?;
    ensure!(ran.status.code() == Some(3), "{said}");
    let whole = ["SB0385", "unknown abi version", "path of a newer lld"];
    ensure!(whole.iter().all(|part| said.contains(part)), "{said}");
    Ok(())
}

/// Errors about outputs are reported before the module is read, which is damaged here.
fn outputs_are_asked_for_first() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (module, linked, stage) = (file("k.spv"), file("l.spv"), file("out.s"));
    for path in [&module, &linked, &stage] {
        std::fs::write(path, b"not a module")?;
    }
    let here = folder.path().display().to_string();
    let around = format!("{here}/./k.spv");
    for (arguments, says) in [
        (&["-o", &module][..], "would replace the input"),
        (&["-o", &around], "would replace the input"),
        (&[&linked, "-o", &linked], "would replace the input"),
        (&["-o", &here], "this is a folder"),
        (&["-o", &file("none/out.s")], "there is no folder"),
    ] {
        let all = [&["lower", &module, "--target", "gfx1201"], arguments].concat();
        let ran = expect(&all, b"", 2)?;
        ensure!(ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
    }
    let stages = ["lower", &stage, "--target", "gfx1201", "--emit-dir", &here];
    let ran = expect(&stages, b"", 2)?;
    ensure!(
        ran.stderr.contains("would replace the input"),
        "{}",
        ran.stderr
    );
    for path in [&module, &linked, &stage] {
        ensure!(
            std::fs::read(path)? == b"not a module",
            "{path} was changed"
        );
    }
    Ok(())
}

/// Every key, for problems of the module, of files and of arguments alike.
fn json_says_what_the_text_says() -> Result<()> {
    // A copy, which a program without the check would replace.
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("k.spv");
    std::fs::write(&module, Fixture::load("reduction")?.module()?)?;
    let module = module.display().to_string();
    let lines = |arguments: &[&str], stdin: &[u8], code| -> Result<Vec<serde_json::Value>> {
        let ran = expect(arguments, stdin, code)?;
        ran.stderr
            .lines()
            .map(|line| {
                serde_json::from_str(line).with_context(|| format!("{arguments:?}: {line:?}"))
            })
            .collect()
    };
    let json = ["--format", "json"];
    let usage: [&[&str]; 8] = [
        &["lower", "no/such/file.spv", "--target", "gfx1201"],
        &["lower", &module, "--target", "gfx1201", "-o", &module],
        &["lower", &module, "--target", "gfx9999"],
        &["lower", &module, "--target", "gfx1201", "--emit", "poetry"],
        &["lower", &module],
        &["lower"],
        &["check", "no/such/file.spv"],
        &["check", &module, "--limit", "x=1"],
    ];
    for arguments in usage {
        let said = lines(&[arguments, &json].concat(), b"", 2)?;
        ensure!(
            said.len() == 1 && said[0]["code"] == "SB0386" && said[0]["severity"] == "error",
            "{arguments:?}: {said:?}"
        );
        ensure!(
            said[0]["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{arguments:?}: {said:?}"
        );
    }
    let one = lines(&["lower", "--format=json"], b"", 2)?;
    ensure!(one.len() == 1 && one[0]["code"] == "SB0386", "{one:?}");
    // A wait without its arrive, and one that releases: a path for the one, an operand for the
    // other.
    let mut said = Vec::new();
    for semantics in [258, 260] {
        let text = LINES.replace("uint 258", &format!("uint {semantics}"));
        let invalid = assembled(&text)?;
        let check = [&["check", "-", "--target-env", "vulkan1.3"][..], &json].concat();
        said.extend(lines(&check, &invalid, 1)?);
    }
    let any = |key: &str| said.iter().any(|problem| !problem[key].is_null());
    for key in [
        "help",
        "word",
        "instruction",
        "function",
        "block",
        "source",
        "file",
    ] {
        ensure!(any(key), "no problem has {key}: {said:?}");
    }
    ensure!(
        said.iter()
            .any(|problem| problem["witness"][1]["instruction"].is_string()),
        "no place of a path: {said:?}"
    );
    ensure!(
        said.iter().any(|problem| problem["source"]["column"] == 3),
        "no column: {said:?}"
    );
    ensure!(
        said.iter()
            .any(|problem| problem["operand"].is_u64() && problem["span"][1].is_u64()),
        "no operand: {said:?}"
    );
    Ok(())
}

/// A wait without its arrive at a line of its source.
pub(crate) const LINES: &str = "OpCapability Shader
OpCapability SplitBarrierEXT
OpExtension \"SPV_EXT_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %1 \"main\"
OpExecutionMode %1 LocalSize 64 1 1
%file = OpString \"k.comp\"
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%two = OpConstant %uint 2
%semantics = OpConstant %uint 258
%1 = OpFunction %void None %fn
%5 = OpLabel
OpLine %file 7 3
OpControlBarrierWaitEXT %two %two %semantics
OpReturn
OpFunctionEnd";
