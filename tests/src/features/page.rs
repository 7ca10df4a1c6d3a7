//! The page of `docs/` with the errors of functions that are not exact.

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

/// A section of the page: its subject, and the instructions that belong to it.
type Section = (&'static str, &'static str, fn(&str) -> bool);

const SECTIONS: [Section; 3] = [
    (
        "GLSL.std.450",
        "The required error is that of Vulkan (appendix \"Precision and Operation of SPIR-V Instructions\"). \"As\" a formula means the error of the formula with the \
         bounds of its operations. For these functions the tests require smaller bounds, a few ULP.",
        |op| op.starts_with("GLSL.std.450 "),
    ),
    (
        "OpenCL.std",
        "The required error is that of OpenCL C, full profile (section \"Relative Error as ULPs\"). It has no bound for `native_` functions; the tests require 2^-10.",
        |op| op.starts_with("OpenCL.std "),
    ),
    (
        "Instructions of the core",
        "The required error is that of Vulkan.",
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
         This page lists the error of every function that is not exact. `tests/src/features` has a snippet for each instruction and type that is lowered, with a function on the host that computes its results.\n\
         The suite compiles it and runs the code for {} on the simulator (`cargo test -p splitbar-tests --test suite -- features/`).\n\
         The table in `tests/src/features/coverage.rs` lists the instructions without such a test, with reasons; a test compares both with `docs/instructions.md`.\n\n\
         Most results are compared bit by bit. The functions below have a bound instead. The tables show the worst error among {INVOCATIONS} sampled operands, in units of the last place (ULP) of the exact\n\
         result, or absolute if the bound is absolute (`abs`). If hardware approximates (reciprocal, roots, exponentials, logarithms, sines), the simulator returns the correctly rounded\n\
         result: add about one ULP for the error of such an instruction. The reference for doubles is the host's library, which rounds too: the tables show a whole number of ULP, at least 1.\n\n\
         `cargo xtask bless features/page` writes this page.\n",
        targets.join(", ")
    );
    for (title, about, belongs) in SECTIONS {
        let _ = write!(text, "\n## {title}\n\n{about}\n\n");
        let _ = writeln!(
            text,
            "| function | type | required | {} |",
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

/// The error as text: two digits for ULP, and the next power of two for absolute errors.
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
