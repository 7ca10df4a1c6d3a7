//! The table as text, and its freshness.

use super::{FAULTS, Fault, Guard, Kind};
use expect_test::expect_file;
use std::collections::BTreeSet;

const HEAD: &str = "\
# Faults of LLVM 23.1, and the guards against them

Use this page to find out whether a crash or wrong code is a known fault of LLVM 23.1.1, and how splitbar guards against it. All faults were found in practice. The table is
`lowering/plan/src/faults/table.rs`; `cargo xtask bless faults` writes this page. [Code generation](code_generation.md) describes other differences from LLVM's defaults.

Tests disable guards with `Compiler::without_guards`. The test in the last column of a row fails when LLVM no longer has the fault. Then the guard and the row can be removed. If a row has no
such test, its guard cannot be disabled, or no known module shows the fault reliably. Tests named `llvm_traps/NAME` are rows of one table (`cargo test -p splitbar-tests --test suite -- llvm_traps/`). Each row has
a kernel that comes near the fault, and text that must not appear in its outputs.

The cost of a guard is the number of additional instructions at -O2, with all other guards in place. The sample is every 8th module of the corpus with less than 1,500 instructions:
`SPLITBAR_GUARD_COSTS=1 cargo test --release -p splitbar-tests --test suite -- faults/costs`. On sm_80 guards cost nothing. All guards together cost -0.23 % on gfx1201, 0.21 % on gfx942 and 0.44 % on
gfx1250. The registers change from 1,620 to 1,661, from 1,742 to 1,780 and from 1,980 to 1,974.
";

const END: &str = "
The command line compiles in a child process. A crash that is not in these tables becomes a diagnostic (exit code 4) with a request to report it.

The audit of waits found `dropped_wait` in a kernel of a published package, in which the path happens to be impossible. `rotating_buffers` is the smallest
race-free kernel that the fault breaks.
";

fn section(title: &str, kind: Kind) -> String {
    let mut text = format!(
        "\n## {title}\n\n| fault | behaviour of LLVM | where | guard | cost | tests that find the fault | test that fails when it is fixed |\n|---|---|---|---|---|---|---|\n"
    );
    for fault in FAULTS.iter().filter(|fault| fault.kind == kind) {
        text += &row(fault);
    }
    text
}

fn row(fault: &Fault) -> String {
    let source = fault.source.map(|source| format!(" ({source})"));
    format!(
        "| `{}` | {}{} | {} | {} | {} | {} | {} |\n",
        fault.id,
        fault.what,
        source.unwrap_or_default(),
        fault.on,
        fault.cure,
        fault.cost.unwrap_or_default(),
        fault.notices,
        fault.gone.unwrap_or_default()
    )
}

#[test]
fn the_page_is_fresh() {
    let text = HEAD.to_owned()
        + &section("Wrong code", Kind::WrongCode)
        + &section("Crashes", Kind::Crash)
        + END;
    expect_file!["../../../../docs/llvm.md"].assert_eq(&text);
}

#[test]
fn rows_are_told_apart_and_guards_have_rows() {
    let ids: BTreeSet<_> = FAULTS.iter().map(|fault| fault.id).collect();
    assert_eq!(ids.len(), FAULTS.len());
    for guard in Guard::ALL {
        assert!(
            FAULTS.iter().any(|fault| fault.guard == Some(guard)),
            "{guard:?} has no row"
        );
    }
    for fault in FAULTS {
        // A bar ends a cell.
        for text in [fault.what, fault.on, fault.cure, fault.notices] {
            assert!(!text.replace("\\|", "").contains('|'), "{}", fault.id);
        }
    }
}
