//! The page of `docs/` that says how near to the exact results the functions come.

use super::want::Worst;
use super::{Feature, INVOCATIONS, ty};
use std::fmt::Write;

/// A feature with an error bound, and the worst error on each target.
pub struct Row<'f> {
    /// The feature.
    pub feature: &'f Feature,
    /// One for each target.
    pub worst: Vec<Worst>,
}

/// A part of the page: what it is about, and which instructions belong to it.
type Section = (&'static str, &'static str, fn(&str) -> bool);

const SECTIONS: [Section; 3] = [
    (
        "GLSL.std.450",
        "Asked for is what Vulkan asks for (appendix \"Precision and Operation of SPIR-V Instructions\"). \"As\" a formula: the error that the formula has with the bounds \
         of its operations; the tests hold these functions to smaller bounds, a few ULP.",
        |op| op.starts_with("GLSL.std.450 "),
    ),
    (
        "OpenCL.std",
        "Asked for is what OpenCL C asks for in its full profile (section \"Relative Error as ULPs\"). For doubles the reference is rounded itself, which may count for one ULP.",
        |op| op.starts_with("OpenCL.std "),
    ),
    (
        "Instructions of the core",
        "Asked for is what Vulkan asks for.",
        |op| op.starts_with("Op"),
    ),
];

/// The page. `rows` stand in the order in which the families have them.
pub fn page(targets: &[&str], rows: &[Row<'_>]) -> String {
    let mut text = format!(
        "# Features\n\n\
         Every instruction that is lowered is executed: `tests/src/features` has a snippet for each instruction and type, with a function of the host that says its results, and the\n\
         suite runs it as code for {} on the simulator (`cargo test -p splitbar-tests --test suite -- features/`).\n\
         What has no such test, and why, is the table in `tests/src/features/coverage.rs`; a test holds both against `docs/instructions.md`.\n\n\
         Most results are compared bit by bit. These have a bound instead. Shown is the worst error among {INVOCATIONS} sampled operands, in units of the last place (ULP) of the exact\n\
         result, or absolute where the bound is (`abs`). The simulator gives the correctly rounded result where hardware approximates (reciprocal, roots, exponentials, logarithms,\n\
         sines): the error of such an instruction, about one ULP, comes on top.\n\n\
         Written by `SPLITBAR_BLESS=1 cargo test -p splitbar-tests --test suite -- features/page`.\n",
        targets.join(", ")
    );
    for (title, about, belongs) in SECTIONS {
        let _ = write!(text, "\n## {title}\n\n{about}\n\n");
        let _ = writeln!(
            text,
            "| function | type | asked for | {} |",
            targets.join(" | ")
        );
        let _ = writeln!(text, "|---|---|---|{}", "--:|".repeat(targets.len()));
        for row in rows.iter().filter(|row| belongs(&row.feature.op)) {
            let feature = row.feature;
            let name = feature.op.rsplit(' ').next().unwrap_or_default();
            let worst: Vec<String> = row.worst.iter().map(show).collect();
            let _ = writeln!(
                text,
                "| {name} | {} | {} | {} |",
                feature.variant,
                feature.requirement.replace('|', "\\|"),
                worst.join(" | ")
            );
        }
    }
    text
}

/// Two digits are enough, and what is exact is said in a word.
fn show(worst: &Worst) -> String {
    let mut parts = Vec::new();
    if let Some(ulp) = worst.ulp {
        parts.push(if ulp == 0.0 {
            "exact".to_owned()
        } else {
            format!("{ulp:.2}")
        });
    }
    if let Some(absolute) = worst.absolute.filter(|a| *a > 0.0) {
        parts.push(format!("abs 2^{}", ty::exponent(absolute) + 1));
    }
    if parts.is_empty() {
        parts.push("exact".to_owned());
    }
    parts.join(", ")
}
