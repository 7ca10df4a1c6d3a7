//! A table of counts as a picture: groups of bars, one for each column, with a bar for each row.

use std::fmt::Write as _;

/// Colors of rows that can be read on light and on dark pages.
const COLORS: [&str; 4] = ["#2f7fd0", "#d9822b", "#3a9d5d", "#9a5bc4"];

const TEXT: &str = "#808890";
const BAR: usize = 26;
const GAP: usize = 22;
const HEIGHT: usize = 180;
const TOP: usize = 48;
const BOTTOM: usize = 30;

/// The table in `page` whose first column is named `first`: the other columns from the one with the
/// number `skipped` on, and its rows.
pub(super) fn counts<'p>(
    page: &'p str,
    first: &str,
    skipped: usize,
) -> (Vec<&'p str>, Vec<(&'p str, Vec<usize>)>) {
    let cells = |line: &'p str| -> Vec<&'p str> {
        let line = line.trim_matches(['|', ' ']);
        line.split('|').map(str::trim).collect()
    };
    let mut lines = page.lines().filter(|line| line.starts_with("| "));
    let head = lines.find(|line| cells(line).first() == Some(&first));
    let columns = head.map(cells).unwrap_or_default();
    let columns = columns.into_iter().skip(skipped).collect();
    let rows = lines.filter(|line| !line.starts_with("| ---")).map(|line| {
        let cells = cells(line);
        let counts = cells.iter().skip(skipped);
        let counts = counts.map(|cell| cell.parse().unwrap_or(0)).collect();
        (cells.first().copied().unwrap_or_default(), counts)
    });
    (columns, rows.collect())
}

/// An SVG with the counts of `rows`, each with its name, in `columns`.
pub(super) fn bars(title: &str, columns: &[&str], rows: &[(&str, Vec<usize>)]) -> String {
    let group = BAR * rows.len() + GAP;
    let step = group.max(92);
    let width = step * columns.len() + 2 * GAP;
    let height = TOP + HEIGHT + BOTTOM;
    let most = rows.iter().flat_map(|(_, counts)| counts).max();
    let most = most.copied().unwrap_or(0).max(1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"{TEXT}\">\n<title>{title}</title>\n"
    );
    // Writing to a string does not fail.
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = writeln!(svg, "{text}");
    };
    let mut at = GAP;
    for ((name, _), color) in rows.iter().zip(COLORS) {
        line(format_args!(
            "<rect x=\"{at}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{color}\"/><text x=\"{}\" y=\"18\">{name}</text>",
            at + 18
        ));
        at += 110;
    }
    let floor = TOP + HEIGHT;
    for (number, column) in columns.iter().enumerate() {
        let left = GAP + number * step;
        for (row, ((_, counts), color)) in rows.iter().zip(COLORS).enumerate() {
            let count = counts.get(number).copied().unwrap_or(0);
            let tall = count * HEIGHT / most;
            let x = left + (step - BAR * rows.len()) / 2 + row * BAR;
            line(format_args!(
                "<rect x=\"{x}\" y=\"{}\" width=\"{}\" height=\"{tall}\" fill=\"{color}\"/>",
                floor - tall,
                BAR - 2
            ));
            line(format_args!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{count}</text>",
                x + BAR / 2 - 1,
                floor - tall - 4
            ));
        }
        line(format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{column}</text>",
            left + step / 2,
            floor + 18
        ));
    }
    line(format_args!(
        "<path d=\"M{GAP} {floor}H{}\" stroke=\"{TEXT}\"/>\n</svg>",
        width - GAP
    ));
    svg
}
