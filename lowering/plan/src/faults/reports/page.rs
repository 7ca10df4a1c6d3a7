//! The table as text, and its freshness.

use super::{Folder, Origin, REPORTS, Report, UNLISTED, Verdict, listed};
use expect_test::expect_file;
use std::fmt::Write as _;

const HEAD: &str = "\
# Public reports of LLVM miscompiles, tried

Use this page to check if your kernel is safe from a published miscompile of LLVM. It lists the reports that a SPIR-V module can reach, with the behaviour of splitbar for each, and counts the others with the
reasons. The reports are those of [FuzzX](https://github.com/SemiAnalysisAI/FuzzX), a collection of findings from fuzzing LLVM and ptxas, and of LLVM's issue tracker, as
known in autumn 2026. The table is `lowering/plan/src/faults/reports/`; `cargo xtask bless faults` writes this page.

Verdicts are for LLVM 23.1.1 and the modules that were tried, at the levels and on the GPUs of the row. Kernels ran on the simulator, and their results were compared with independently computed
values. \"Right\" does not mean that no other module triggers the fault.

- **guarded**: LLVM is wrong, and splitbar avoids the fault: see the [table of faults](llvm.md)
- **right**: the code that was tried is correct
- **free**: SPIR-V does not define the result
- **fixed**: LLVM was fixed before 23.1
- **not tried**: nothing is known
";

fn folders() -> [Option<Folder>; 4] {
    [
        Some(Folder::Amdgpu),
        Some(Folder::X86),
        Some(Folder::Ptx),
        None,
    ]
}

fn title(folder: Option<Folder>) -> String {
    folder.map_or_else(
        || "LLVM's issue tracker".to_owned(),
        |folder| format!("FuzzX, folder `{}`", folder.name()),
    )
}

fn counts() -> String {
    let mut text = "\n## Counts\n\n| source | reports | listed | guarded | right | free | fixed | not tried |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    let mut all = [0; 7];
    for folder in folders() {
        let mut row = [0; 7];
        for report in listed(folder) {
            row[1] += 1;
            row[column(&report.verdict)] += 1;
        }
        row[0] = row[1] + unlisted(folder);
        text += &line(&title(folder), row);
        for (sum, count) in all.iter_mut().zip(row) {
            *sum += count;
        }
    }
    text + &line("all", all)
}

fn line(title: &str, counts: [usize; 7]) -> String {
    let mut text = format!("| {title} |");
    for count in counts {
        let _ = write!(text, " {count} |");
    }
    text + "\n"
}

fn column(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Guarded(_) => 2,
        Verdict::Right(_) => 3,
        Verdict::Free(_) => 4,
        Verdict::Fixed { .. } => 5,
        Verdict::NotTried(_) => 6,
    }
}

fn unlisted(folder: Option<Folder>) -> usize {
    let rows = UNLISTED.iter().filter(|row| row.folder == folder);
    rows.map(|row| row.count).sum()
}

fn section(folder: Option<Folder>) -> String {
    let mut text = format!("\n## {}\n\n", title(folder));
    if listed(folder).next().is_some() {
        text += "| report | what goes wrong | GPUs | verdict |\n|---|---|---|---|\n";
    }
    for report in listed(folder) {
        text += &row(report);
    }
    if unlisted(folder) > 0 {
        text += "\nNot listed:\n\n";
    }
    for row in UNLISTED.iter().filter(|row| row.folder == folder) {
        let _ = writeln!(text, "- {}: {}", row.count, row.reason);
    }
    text.replace("\n\n\n", "\n\n")
}

fn row(report: &Report) -> String {
    let origin = match report.origin {
        Origin::FuzzX { number, .. } => number.to_string(),
        Origin::Llvm(number) => link(number),
    };
    let verdict = match report.verdict {
        Verdict::Guarded(fault) => format!("**guarded**: `{fault}`"),
        Verdict::Right(how) => format!("**right**: {how}"),
        Verdict::Free(why) => format!("**free**: {why}"),
        Verdict::Fixed { pull, tried } => format!(
            "**fixed** by {}; {}",
            link(pull),
            tried.unwrap_or("not tried")
        ),
        Verdict::NotTried(why) => format!("**not tried**: {why}"),
    };
    format!(
        "| {origin} | {} | {} | {verdict} |\n",
        report.what, report.gpus
    )
}

fn link(number: u32) -> String {
    format!("[{number}](https://github.com/llvm/llvm-project/issues/{number})")
}

#[test]
fn the_page_is_fresh() {
    let rows: usize = REPORTS.into_iter().map(<[Report]>::len).sum();
    let counted: usize = folders().map(|folder| listed(folder).count()).iter().sum();
    assert_eq!(rows, counted);
    let mut text = HEAD.to_owned() + &counts();
    for folder in folders() {
        text += &section(folder);
    }
    expect_file!["../../../../../docs/llvm_reports.md"].assert_eq(&text);
}
