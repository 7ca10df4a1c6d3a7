//! The page of `docs/` that says how near to the exact results the functions come.

use super::feature::Feature;
use super::launch::INVOCATIONS;
use super::ty;
use super::want::Worst;
use std::collections::BTreeMap;
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
        "Asked for is what OpenCL C asks for in its full profile (section \"Relative Error as ULPs\"). The tests hold `native_` functions, of which nothing is asked, to 2^-10.",
        |op| op.starts_with("OpenCL.std "),
    ),
    (
        "Instructions of the core",
        "Asked for is what Vulkan asks for.",
        |op| op.starts_with("Op"),
    ),
];

/// A line of the page: an instruction and the width of its result.
type Line<'a> = (&'a str, Option<ty::Scalar>);

/// The page: a line for each function and width, with the worst of all shapes.
pub fn page(targets: &[&str], rows: &[Row<'_>]) -> String {
    let mut lines: BTreeMap<Line<'_>, (&str, Vec<Worst>)> = BTreeMap::new();
    for row in rows {
        let feature = row.feature;
        let width = feature.results.first().map(|ty| ty.scalar);
        let (_, worst) = lines
            .entry((feature.op.as_str(), width))
            .or_insert_with(|| (feature.requirement, vec![Worst::default(); targets.len()]));
        for (worst, other) in worst.iter_mut().zip(&row.worst) {
            *worst = worst.join(*other);
        }
    }
    let mut text = format!(
        "# Features\n\n\
         Every instruction that is lowered is executed: `tests/src/features` has a snippet for each instruction and type, with a function of the host that says its results, and the\n\
         suite runs it as code for {} on the simulator (`cargo test -p splitbar-tests --test suite -- features/`).\n\
         What has no such test, and why, is the table in `tests/src/features/coverage.rs`; a test holds both against `docs/instructions.md`.\n\n\
         Most results are compared bit by bit. These have a bound instead. Shown is the worst error among {INVOCATIONS} sampled operands, in units of the last place (ULP) of the exact\n\
         result, or absolute where the bound is (`abs`). The simulator gives the correctly rounded result where hardware approximates (reciprocal, roots, exponentials, logarithms,\n\
         sines): the error of such an instruction, about one ULP, comes on top. The reference for doubles is the host's library, itself rounded: shown is a whole number of ULP, 1 at least.\n\n\
         Written by `cargo xtask bless features/page`.\n",
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
        for ((op, width), (requirement, worst)) in &lines {
            if !belongs(op) {
                continue;
            }
            let name = op.rsplit(' ').next().unwrap_or_default();
            let worst: Vec<String> = worst.iter().map(|worst| show(*width, worst)).collect();
            let _ = writeln!(
                text,
                "| {name} | {} | {} | {} |",
                width.map_or("", ty::Scalar::name),
                requirement.replace('|', "\\|"),
                worst.join(" | ")
            );
        }
    }
    text
}

/// Two digits are enough for ULP, and the next power of two for what is absolute.
fn show(width: Option<ty::Scalar>, worst: &Worst) -> String {
    let mut parts = Vec::new();
    if let Some(ulp) = worst.ulp {
        parts.push(if width == Some(ty::F64) {
            format!("<= {:.0}", ulp.ceil().max(1.0))
        } else if ulp == 0.0 {
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
