//! `splitbar-opt` as a person meets it.

use super::support::kernels;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn opt(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_splitbar-opt"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input); // a refused command line reads nothing
    child.wait_with_output().unwrap()
}

fn kernel(name: &str) -> Vec<u8> {
    kernels()
        .into_iter()
        .find(|input| input.path.ends_with(name))
        .unwrap()
        .bytes
}

#[test]
fn streams_and_flags_in_order() {
    let module = kernel("reduction.spv");
    let fused = opt(&["--fuse-split-barriers", "-", "-o", "-"], &module);
    assert_eq!(
        fused.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&fused.stderr)
    );
    assert_ne!(fused.stdout, module);
    let again = opt(
        &[
            "--time-report",
            "--fuse-split-barriers",
            "--fuse-split-barriers=arrive",
            "-",
            "-o",
            "-",
        ],
        &fused.stdout,
    );
    assert_eq!(again.stdout, fused.stdout);
    assert_eq!(
        String::from_utf8_lossy(&again.stderr)
            .matches("unchanged")
            .count(),
        2
    );
    let none = opt(&["-", "-o", "-"], &module);
    assert_eq!(none.stdout, module, "no pass, no change");
}

#[test]
fn fuel_stops_and_printing_shows() {
    let module = kernel("reduction.spv");
    let flags = [
        "--split-control-barriers",
        "--fuse-split-barriers",
        "--time-report",
        "--print-all",
        "-",
        "-o",
        "-",
    ];
    let one = opt(&[&["--fuel", "1"], &flags[..]].concat(), &module);
    let text = String::from_utf8_lossy(&one.stderr).into_owned();
    assert!(
        text.contains("out of fuel") || text.matches("; after --").count() == 1,
        "{text}"
    );
    let zero = opt(&[&["--fuel=0"], &flags[..]].concat(), &module);
    assert_eq!(zero.stdout, module);
    assert!(String::from_utf8_lossy(&zero.stderr).contains("OpControlBarrierArrive"));
}

#[test]
fn optimizing_is_sound_for_all_kernels() {
    for input in kernels() {
        let output = opt(
            &["-O", "--validate-after-all", "-", "-o", "-"],
            &input.bytes,
        );
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}: {}",
            input.path,
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.stdout.get(..4), input.bytes.get(..4));
    }
}

#[test]
fn exit_codes() {
    let module = kernel("reduction.spv");
    let code = |arguments: &[&str], input: &[u8]| opt(arguments, input).status.code();
    assert_eq!(code(&["-", "-o", "-"], b"no module at all"), Some(1));
    assert_eq!(code(&["-", "-o", "-", "--no-such-pass"], &module), Some(2));
    assert_eq!(
        code(
            &["-", "-o", "-", "--strip-split-barrier-alias=khr"],
            &module
        ),
        Some(2)
    );
    assert_eq!(code(&["/no/such/file.spv", "-o", "-"], &module), Some(2));
    assert_eq!(
        code(&["-", "-o", "/no/such/folder/out.spv"], &module),
        Some(2)
    );
    let opencl = kernel("opencl_exchange.spv");
    assert_eq!(
        code(
            &[
                "-",
                "-o",
                "-",
                "--instrument-split-barriers=set:0,binding:0"
            ],
            &opencl
        ),
        Some(3)
    );
    assert_eq!(code(&["--list-passes"], &[]), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn an_input_without_an_end_is_refused() {
    let module = kernel("reduction.spv");
    for arguments in [
        &["/dev/zero", "-o", "-"][..],
        &["-", "--link", "/dev/zero", "-o", "-"],
    ] {
        let output = opt(arguments, &module);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = "/dev/zero: the file has more than 268435456 bytes";
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error_and_no_panic() {
    let module = kernel("reduction.spv");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.spv");
    std::fs::write(&file, module).unwrap();
    let file = file.to_str().unwrap();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full");
    let program = || Command::new(env!("CARGO_BIN_EXE_splitbar-opt"));
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["--list-passes"],
        &[file, "-o", "-"],
    ] {
        let output = program().args(arguments).stdout(full().unwrap()).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("error: standard output: "),
            "{arguments:?}: {said}"
        );
    }
    // What cannot be said changes no exit code.
    for (arguments, code) in [
        (
            &[file, "-o", "/dev/null", "--print-all", "--time-report"][..],
            0,
        ),
        (&["/dev/null", "-o", "/dev/null"], 1),
        (&["--no-such-flag"], 2),
        (&["/no/such/file", "-o", "/dev/null"], 2),
    ] {
        let ended = program().args(arguments).stderr(full().unwrap()).status();
        assert_eq!(ended.unwrap().code(), Some(code), "{arguments:?}");
    }
}

/// A loop with a barrier, after which a value of its last iteration is used that is not defined on
/// every path.
const UNDEFINED: &str =
    include_str!("../../../fixtures/invalid/definitions/barrier_loop_at_exit.spvasm");

#[test]
fn what_is_wrong_with_the_module_is_no_bug() {
    let words = splitbar_passes::module::assemble(UNDEFINED).unwrap().words;
    let module: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let flags = ["--unroll-barrier-loops=64", "-", "-o", "-"];
    let output = opt(&flags, &module);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("SB0190"), "{said}");
    assert!(said.contains("OpStore"), "{said}");
    // To test the passes: whatever they do.
    let close = [&["--validate-after-all"], &flags[..]].concat();
    assert_eq!(opt(&close, &module).status.code(), Some(4));
}
