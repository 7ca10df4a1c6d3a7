//! Tests that need a process of their own. They are one program, because linking LLVM takes time
//! and a hundred megabytes; it starts itself again for each test.
#![expect(clippy::unwrap_used, reason = "tests")]

mod costs;
mod host;
mod residency;
mod support;

use std::process::Command;

/// Runs `test` in a process in which no other test runs. `name` is that of the test that calls
/// this, with its module.
fn alone(name: &str, test: fn()) {
    // So the process was started below, or by somebody who wants this test alone.
    if std::env::args().any(|argument| argument == "--exact") {
        return test();
    }
    let program = std::env::current_exe().unwrap();
    let ran = Command::new(program)
        .args([name, "--exact"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && said.contains("1 passed"),
        "{name}: {}\n{said}{}",
        ran.status,
        String::from_utf8_lossy(&ran.stderr)
    );
}
