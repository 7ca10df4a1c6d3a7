//! The program `splitbar` in a build without LLVM: what needs no code works, and the rest is
//! refused with `LlvmMissing`.
#![cfg(not(feature = "llvm"))]
#![expect(clippy::unwrap_used, reason = "tests")]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use splitbar_passes::module::Module;
use splitbar_passes::profile::layout::{MAGIC, VERSION};
use splitbar_passes::profile::{Gpu, module_hash};
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
    assert_eq!(entry["arguments"][0]["kind"], json!("global_buffer"));
    assert_eq!(entry["pairs"][0]["strategy"], json!("native"));
    assert_eq!(entry["pairs"][0]["window"], Value::Null);
}

#[test]
fn code_is_refused() {
    refused(&["report", MODULE], b"");
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
    // The header of a code object: 64 bits, little-endian, EM_AMDGPU.
    let mut elf = [0; 64];
    elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
    elf[18] = 224;
    refused(
        &["sim", "-", "--target", "gfx1201", "--groups", "1,1,1"],
        &elf,
    );
    let audit = ["audit", "-", "--target", "gfx1201", "--release", "local"];
    refused(&audit, &elf);
}

/// A dump of one phase of two subgroups at the full barrier of [`MODULE`], whose word offset this
/// gives too.
fn dump() -> (Vec<u8>, u32) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(MODULE);
    let bytes = std::fs::read(path).unwrap();
    let module = Module::parse(&bytes).unwrap();
    let barrier = module.instructions().find(|inst| inst.opcode() == 224);
    let barrier = barrier.unwrap().offset.get();
    let hash = module_hash(&module);
    let mut words = vec![MAGIC, VERSION, hash as u32, (hash >> 32) as u32, 3, 2, 0, 0];
    for (subgroup, arrived, passed) in [(0, 100, 190), (1, 170, 195)] {
        let number = subgroup + 1;
        let mut record = vec![number, barrier, barrier, 0, 0, 0, 0, subgroup, 2];
        record.extend([arrived, 0, arrived, 0, passed, 0]);
        record.push(record.iter().fold(0, |sum, word| sum ^ word));
        words.extend(record);
    }
    words.extend([0; 16]);
    let bytes = words.into_iter().flat_map(u32::to_le_bytes).collect();
    (bytes, barrier)
}

#[test]
fn a_profile_is_a_table_or_json() {
    let (dump, barrier) = dump();
    let text = done(&["profile", "-", MODULE], &dump);
    assert!(
        text.starts_with(
            "2 records, 0 of them overwritten, from a target that the dump does not name;"
        ),
        "{text}"
    );
    let mut named = dump.clone();
    for (at, word) in [24, 28]
        .into_iter()
        .zip(Gpu::new("sm_90", 32).unwrap().words())
    {
        named[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    let text = done(&["profile", "-", MODULE], &named);
    assert!(text.contains(", from sm_90, waves of 32; "), "{text}");
    let json = done(&["profile", "-", MODULE, "--format", "json"], &named);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["target"],
        json!({"name": "sm_90", "wavefront_size": 32})
    );
    let text = done(&["profile", "-", MODULE], &dump);
    let row: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
    let figures = "main 1 - 70 / 70 / 70 - 25 / 90 / 90 70";
    assert_eq!(row.join(" "), format!("{barrier} {figures}"));
    let json: Value =
        serde_json::from_str(&done(&["profile", "-", MODULE, "--format", "json"], &dump)).unwrap();
    assert_eq!(json["target"], Value::Null);
    let site = &json["sites"][0];
    assert_eq!((&json["written"], &json["lost"]), (&json!(2), &json!(0)));
    assert_eq!(
        (&site["kind"], &site["wait"]),
        (&json!("full"), &json!(barrier))
    );
    let skew = json!({"count": 1, "least": 70, "median": 70, "ninetieth": 70, "most": 70});
    assert_eq!((&site["skew"], &site["window"]), (&skew, &Value::Null));
    assert_eq!(site["gain_at_most"], json!(70));
}

#[test]
fn a_wrong_profile_is_refused() {
    let (dump, _) = dump();
    let other = "fixtures/kernels/scan/scan.spv";
    let mut damaged = dump.clone();
    damaged[40] ^= 1;
    let mut newer = dump.clone();
    newer[4] = 3;
    let mut nothing = dump.clone();
    nothing[24] = 9;
    for (module, dump, exit, code) in [
        (other, &dump[..], 1, "SB3105"),
        (MODULE, &dump[..dump.len() - 1], 1, "SB3102"),
        (MODULE, &damaged, 1, "SB3103"),
        (MODULE, &newer, 3, "SB3101"),
        (MODULE, &nothing, 1, "SB3103"),
        (MODULE, &[0; 96], 1, "SB3100"),
        ("README.md", &dump, 1, "SB0001"),
        ("no/such/file.spv", &dump, 2, "no/such/file.spv"),
        ("-", &dump, 2, "standard input"),
    ] {
        let output = run(&["profile", "-", module], dump);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{said}");
        assert!(
            said.contains(code) && output.stdout.is_empty(),
            "{code}: {said}"
        );
    }
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
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skew.bin");
    let mut sim = vec!["sim", "-", "--target", "sm_80", "--groups", "1,1,1"];
    sim.extend(["--profile", file.to_str().unwrap()]);
    let output = run(&sim, PTX.as_bytes());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--profile is for modules"), "{said}");
    let audit = ["audit", "-", "--target", "sm_80", "--release", "all"];
    assert!(done(&audit, PTX.as_bytes()).contains('k'));
}

#[test]
fn two_dumps_into_one_file_are_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("dump.bin");
    let other = folder.join(".").join("dump.bin");
    let sim = "sim - --target sm_80 --groups 1,1,1 --buffer 0=zeros:4 --buffer 1=zeros:4";
    for flag in ["--dump", "--profile"] {
        let written = match flag {
            "--dump" => format!("1={}", other.display()),
            _ => other.display().to_string(),
        };
        let dump = format!("0={}", file.display());
        let mut arguments: Vec<&str> = sim.split(' ').collect();
        arguments.extend(["--dump", &dump, flag, &written]);
        let output = run(&arguments, PTX.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flag}: {said}");
        assert!(said.contains("are the same file"), "{flag}: {said}");
        assert!(!file.exists(), "{flag}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error_and_no_panic() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full");
    let ended = |arguments: &[&str], is_error: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_splitbar"));
        command
            .args(arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .stdin(Stdio::null());
        if is_error {
            command.stderr(full().unwrap())
        } else {
            command.stdout(full().unwrap())
        };
        command.output().unwrap()
    };
    let (check, plan) = (["model", MODULE, "--target", "gfx1201"], "plan");
    let lower = ["lower", MODULE, "--target", "gfx1201", "--emit", plan];
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["help", "lower"],
        &["sim", "--help"],
        &["targets"],
        &["explain", "SB0205"],
        &["completions", "bash"],
        &check,
        &lower,
    ] {
        let output = ended(arguments, false);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("error: standard output: "),
            "{arguments:?}: {said}"
        );
    }
    // What cannot be said changes no exit code.
    for (arguments, code) in [
        (&["explain", "SB9999"][..], 2),
        (&["check", "/dev/null"], 1),
        (&["--no-such-flag"], 2),
        (&["lower", "/no/such/file", "--target", "gfx1201"], 2),
        (&["lower", "/dev/null", "--target", "gfx1201"], 1),
    ] {
        let output = ended(arguments, true);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
}

/// A loop with a barrier, after which a value of its last iteration is used that is not defined on
/// every path.
const UNDEFINED: &str =
    include_str!("../../../fixtures/invalid/definitions/barrier_loop_at_exit.spvasm");

#[test]
fn rules_come_before_passes() {
    let words = splitbar_passes::module::assemble(UNDEFINED).unwrap().words;
    let module: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let unroll = "--split-barriers always --unroll-barrier-loops 64";
    for options in [
        "--split-barriers always",
        unroll,
        &format!("--no-validate {unroll}"),
    ] {
        let lower = "lower - --target gfx1201 --emit plan";
        let arguments: Vec<&str> = lower.split(' ').chain(options.split(' ')).collect();
        let output = run(&arguments, &module);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{options}: {said}");
        assert!(said.contains("SB0190"), "{options}: {said}");
        assert!(said.contains("OpStore"), "{options}: {said}");
        assert!(!said.contains("SB0900"), "{options}: {said}");
    }
}

/// The body of the loop, which never runs, alone reads the first buffer.
#[test]
fn arguments_are_those_of_the_module() {
    let text = UNDEFINED
        .replace(
            "OpDecorate %buffer Binding 0\n",
            "OpDecorate %buffer Binding 0\nOpDecorate %other DescriptorSet 0\nOpDecorate %other Binding 1\n",
        )
        .replace(
            "%buffer = OpVariable %p_block StorageBuffer\n",
            "%buffer = OpVariable %p_block StorageBuffer\n%other = OpVariable %p_block StorageBuffer\n",
        )
        .replace("OpULessThan %bool %i %u3", "OpULessThan %bool %i %u0")
        .replace("%value = OpIAdd %uint %i %u1", "%value = OpLoad %uint %place")
        .replace(
            "OpStore %place %value",
            "%second = OpAccessChain %p_uint %other %u0\nOpStore %second %u1",
        );
    let words = splitbar_passes::module::assemble(&text).unwrap().words;
    let module: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let arguments = |options: &[&str]| {
        let reflect = ["lower", "-", "--target", "gfx1201", "--emit", "reflect"];
        let reflected = done(&[&reflect[..], options].concat(), &module);
        let reflected: Value = serde_json::from_str(&reflected).unwrap();
        reflected[0]["arguments"].clone()
    };
    let given = arguments(&[]);
    let unrolled = ["--split-barriers", "always", "--unroll-barrier-loops", "64"];
    assert_eq!(arguments(&unrolled), given);
    let buffers = given.as_array().unwrap().iter();
    let buffers = buffers.filter(|argument| argument["kind"] == "global_buffer");
    assert_eq!(buffers.count(), 2, "{given:#}");
}
