//! The program `splitbar` in a build without LLVM: what needs no code works, and the rest is
//! refused with `LlvmMissing`.
#![cfg(not(feature = "llvm"))]
#![expect(clippy::unwrap_used, reason = "tests")]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const MODULE: &str = "fixtures/kernels/tiled_matmul/tiled_matmul.spv";

/// A kernel that does nothing, in a form that both vendors' readers take as it is.
const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k()
{
\tret;
}
";

/// Runs the program in the root of the repository, with `input` on its standard input.
fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_splitbar"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that reads nothing closes its end.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// What a command that has to succeed writes to its standard output.
fn done(arguments: &[&str], input: &[u8]) -> String {
    let output = run(arguments, input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// That a command writes nothing, ends with exit code 3 and says `SB0389` with what to do.
fn refused(arguments: &[&str], input: &[u8]) {
    let output = run(arguments, input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    for words in ["SB0389", "this build has no LLVM", "feature `llvm`"] {
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn what_needs_no_code_works() {
    done(&["check", MODULE, "--target", "gfx1201"], b"");
    let plan = done(
        &["lower", MODULE, "--target", "gfx1201", "--emit", "plan"],
        b"",
    );
    assert!(plan.contains("native"), "{plan}");
    let explored = done(&["model", MODULE, "--target", "gfx1201"], b"");
    assert!(explored.contains("proved"), "{explored}");
    assert!(done(&["targets"], b"").contains("gfx1201"));
    assert!(done(&["explain", "SB0389"], b"").contains("no LLVM"));
}

#[test]
fn a_reflection_has_what_is_known_without_code() {
    let command = ["lower", MODULE, "--target", "gfx1201", "--emit", "reflect"];
    let reflected: Value = serde_json::from_str(&done(&command, b"")).unwrap();
    let entry = &reflected[0];
    assert_eq!(entry["shared_memory_bytes"], json!(4096));
    assert_eq!(entry["workgroup_size"], json!([16, 16, 1]));
    assert_eq!(entry["arguments"][0]["kind"], json!("buffer"));
    assert_eq!(entry["pairs"][0]["strategy"], json!("native"));
    assert_eq!(entry["pairs"][0]["window"], Value::Null);
}

#[test]
fn code_is_refused() {
    for emit in ["asm", "obj", "llvm-ir", "bitcode", "hsaco"] {
        let lower = [
            "lower", MODULE, "--target", "gfx1201", "--emit", emit, "-o", "-",
        ];
        refused(&lower, b"");
    }
    let measured = [
        "lower",
        MODULE,
        "--target",
        "gfx1201",
        "--emit",
        "plan",
        "--measure",
    ];
    refused(&measured, b"");
    let sim = ["sim", MODULE, "--target", "gfx1201", "--groups", "1,1,1"];
    refused(&sim, b"");
    let elf = b"\x7fELF";
    refused(
        &["sim", "-", "--target", "gfx1201", "--groups", "1,1,1"],
        elf,
    );
    let audit = ["audit", "-", "--target", "gfx1201", "--release", "local"];
    refused(&audit, elf);
}

#[test]
fn an_invalid_module_is_invalid_first() {
    let output = run(&["lower", "-", "--target", "gfx1201"], b"no module");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_stages_before_code_are_written() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stages");
    let shown = folder.to_str().unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    refused(
        &["lower", MODULE, "--target", "gfx1201", "--emit-dir", shown],
        b"",
    );
    let plan = std::fs::read_to_string(folder.join("plan.txt")).unwrap();
    assert!(plan.contains("native"), "{plan}");
}

#[test]
fn code_that_is_text_already_is_simulated_and_audited() {
    let ran = done(
        &[
            "sim",
            "-",
            "--target",
            "sm_80",
            "--groups",
            "1,1,1",
            "--workgroup-size",
            "32,1,1",
        ],
        PTX.as_bytes(),
    );
    assert!(ran.contains("0 findings"), "{ran}");
    let audit = ["audit", "-", "--target", "sm_80", "--release", "all"];
    assert!(done(&audit, PTX.as_bytes()).contains('k'));
}
