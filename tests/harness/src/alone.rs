//! Tests that need a process of their own, in a program with other tests.

use std::process::Command;

/// Runs `test` in a process in which no other test runs: the program starts itself again with
/// `name`, the path of the test that calls this. In that process, and if this test alone was
/// selected with `--exact`, `test` runs here.
///
/// # Panics
/// If the test fails, or the process does not run exactly one test.
#[expect(clippy::panic, reason = "a test fails so")]
pub fn alone(name: &str, test: fn()) {
    if std::env::args().any(|argument| argument == "--exact") {
        return test();
    }
    let program = std::env::current_exe();
    let ran = program.and_then(|program| Command::new(program).args([name, "--exact"]).output());
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => panic!("{name} cannot be started: {error}"),
    };
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && printed.contains("1 passed"),
        "{name}: {}\n{printed}{}",
        ran.status,
        String::from_utf8_lossy(&ran.stderr)
    );
}
