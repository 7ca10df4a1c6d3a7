//! The distance of the choices from the best candidates, for each GPU.

use super::measure::{Measured, TARGETS};
use std::fmt::Write;

/// A line for each GPU, and one for all.
///
/// `of the best`: cycles of the choice divided by cycles of the best candidate, as geometric mean,
/// share of launches of at most 1.03, and maximum. `of full barriers`: the same divided by cycles
/// with full barriers, as geometric mean and maximum. `measured`: the first figures for
/// `auto=measured`, which knows the launch. `pipelined`: launches of which `--pipeline-loops auto`
/// pipelines a loop, divided by cycles with full barriers and loops as they are, with `auto` and
/// with `auto=measured`. `correlation`: Spearman's rank correlation between the expected and the
/// estimated ratio of split to full barriers, over the kernels for which `auto` compared times.
pub(super) fn text(rows: &[(String, &'static str, Measured)]) -> String {
    let mut text = String::new();
    for on in TARGETS {
        let of_gpu = rows.iter().filter(|(_, gpu, _)| *gpu == on);
        add(&mut text, on, of_gpu.map(|(_, _, measured)| measured));
    }
    let all = rows.iter().map(|(_, _, measured)| measured);
    add(&mut text, "all", all);
    text
}

fn add<'m>(text: &mut String, name: &str, rows: impl Iterator<Item = &'m Measured>) {
    let rows: Vec<&Measured> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let best: Vec<f64> = rows.iter().map(|one| one.of_best()).collect();
    let full: Vec<f64> = rows.iter().map(|one| one.of_full()).collect();
    let ratios: Vec<[f64; 2]> = rows.iter().filter_map(|one| one.ratios).collect();
    let measured: Vec<f64> = rows.iter().map(|one| one.measured_of_best()).collect();
    let pipelined = [
        Measured::pipelined_of_full,
        Measured::pipelined_measured_of_full,
    ];
    let pipelined = pipelined.map(|of| rows.iter().filter_map(|one| of(one)).collect());
    let [pipelined, pipelined_measured]: [Vec<f64>; 2] = pipelined;
    let _ = writeln!(
        text,
        "{name}: {}; of full barriers {:.4}, maximum {:.3}",
        spread(&best),
        geometric_mean(&full),
        greatest(&full),
    );
    let _ = writeln!(text, "  measured: {}", spread(&measured));
    for (what, ratios) in [("auto", pipelined), ("measured", pipelined_measured)] {
        if !ratios.is_empty() {
            let _ = writeln!(text, "  pipelined, {what}: {}", spread(&ratios));
        }
    }
    if let Some(rank) = spearman(&ratios) {
        let _ = writeln!(text, "  correlation {rank:.2} of {} kernels", ratios.len());
    }
}

/// The number of `ratios`, their mean, how many are at most 1.03, and the greatest.
fn spread(ratios: &[f64]) -> String {
    let close = ratios.iter().filter(|ratio| **ratio <= 1.03).count();
    format!(
        "{} launches; {:.4}, {:.1} % at most 1.03, maximum {:.3}",
        ratios.len(),
        geometric_mean(ratios),
        100.0 * number(close) / number(ratios.len()),
        greatest(ratios),
    )
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn number(count: usize) -> f64 {
    count as f64
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (sum / number(ratios.len().max(1))).exp()
}

fn greatest(ratios: &[f64]) -> f64 {
    ratios.iter().copied().fold(0.0, f64::max)
}

/// The correlation of the ranks of both numbers; `None` for fewer than three.
fn spearman(pairs: &[[f64; 2]]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    // Equal values share the mean of their ranks.
    let ranks = |of: usize| -> Vec<f64> {
        let rank = |one: &[f64; 2]| {
            let below = pairs.iter().filter(|other| other[of] < one[of]).count();
            let equal = pairs.iter().filter(|other| other[of] == one[of]).count();
            number(below) + (number(equal) - 1.0) / 2.0
        };
        pairs.iter().map(rank).collect()
    };
    let [expected, estimated] = [ranks(0), ranks(1)];
    let mean = (number(pairs.len()) - 1.0) / 2.0;
    let sum = |one: &[f64], other: &[f64]| -> f64 {
        let both = one.iter().zip(other);
        both.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let spread = (sum(&expected, &expected) * sum(&estimated, &estimated)).sqrt();
    (spread > 0.0).then(|| sum(&expected, &estimated) / spread)
}
