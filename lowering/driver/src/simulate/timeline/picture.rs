//! A timeline as a picture: for each wave a row with the spans of barriers, and below it what the
//! wave did. The picture has a fixed number of columns; a column shows the kind that takes most of
//! its time.

use super::{Origin, Slice, SliceKind, Timeline};
use crate::shown::Text;
use std::fmt::Write;

/// Columns, each a unit of the picture wide.
const COLUMNS: usize = 800;
/// Where they begin: the names of waves are before them.
const LEFT: usize = 150;
/// Space at the other sides.
const MARGIN: usize = 10;
/// Height of a row of spans, of a row of doings, and of both with the space between waves.
const SPANS: usize = 10;
const DOINGS: usize = 6;
const ROW: usize = 22;
/// Height of the lines of text above and below the waves.
const LINE: usize = 18;
/// The most waves that are shown.
const MOST_WAVES: usize = 64;

/// The kinds in the order of the legend, with their colours.
const COLOURS: [(SliceKind, &str); 8] = [
    (SliceKind::Arrive, "#d08a1d"),
    (SliceKind::Window, "#7cc48a"),
    (SliceKind::Wait, "#d0605a"),
    (SliceKind::Full, "#8a62b0"),
    (SliceKind::Issue, "#4878a8"),
    (SliceKind::Memory, "#b8c4d0"),
    (SliceKind::Stalled, "#f0b0aa"),
    (SliceKind::Sleep, "#e4e4e4"),
];

/// The place of a kind in [`COLOURS`].
fn colour(kind: SliceKind) -> usize {
    let kind = match kind {
        SliceKind::CrossingWindow => SliceKind::Window,
        kind => kind,
    };
    let at = COLOURS.iter().position(|(of, _)| *of == kind);
    at.unwrap_or_default() // each kind has one
}

impl Timeline {
    /// The timeline of a `run` as an SVG picture of a fixed width.
    pub fn svg(&self, run: &Origin<'_>) -> String {
        let end = self.slices.iter().map(|slice| slice.until).max();
        let end = end.unwrap_or(1).max(1);
        let shown = self.tracks.len().min(MOST_WAVES);
        let hidden = self.tracks.len() - shown;
        let width = LEFT + COLUMNS + MARGIN;
        let top = MARGIN + 2 * LINE;
        let height = top + shown * ROW + 2 * LINE + MARGIN;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" \
             role=\"img\" aria-label=\"{label}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
            label = Text(&format!("Timeline of waves on {}", run.process)),
        );
        let title = match hidden {
            0 => format!("{}: {end} {}s", run.process, run.unit.name()),
            _ => format!(
                "{}: {end} {}s; {hidden} more waves are not shown",
                run.process,
                run.unit.name()
            ),
        };
        text(&mut out, MARGIN, MARGIN + 12, &title);
        let mut used = [false; COLOURS.len()];
        let mut rows = String::new();
        for (index, track) in self.tracks.iter().take(shown).enumerate() {
            let y = top + index * ROW;
            let name = format!("workgroup {} wave {}", track.wave.group, track.wave.wave);
            text(&mut rows, MARGIN, y + SPANS + 2, &name);
            let of_track = self.slices.iter();
            let of_track = of_track.filter(|slice| slice.track as usize == index);
            let (spans, doings): (Vec<&Slice>, Vec<&Slice>) =
                of_track.partition(|slice| slice.kind.is_span());
            row(&mut rows, &spans, end, y, SPANS, &mut used);
            row(&mut rows, &doings, end, y + SPANS + 1, DOINGS, &mut used);
        }
        let mut x = MARGIN;
        for ((kind, colour), _) in COLOURS.iter().zip(used).filter(|(_, used)| *used) {
            let y = MARGIN + LINE;
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>"
            );
            text(&mut out, x + 16, y + 11, kind.name());
            x += 34 + 7 * kind.name().len();
        }
        out.push_str(&rows);
        axis(&mut out, end, top + shown * ROW);
        out.push_str("</svg>\n");
        out
    }
}

/// One row of a wave: columns of the same kind are one rectangle.
fn row(
    out: &mut String,
    slices: &[&Slice],
    end: u64,
    y: usize,
    height: usize,
    used: &mut [bool; COLOURS.len()],
) {
    let mut times = vec![[0u64; COLOURS.len()]; COLUMNS];
    let columns = COLUMNS as u64;
    for slice in slices {
        // In parts of a cycle, so many that a column begins and ends at a whole one.
        let (from, until) = (slice.from * columns, slice.until * columns);
        for column in from / end..until.div_ceil(end).min(columns) {
            let part = until.min((column + 1) * end) - from.max(column * end);
            let time = usize::try_from(column)
                .ok()
                .and_then(|at| times.get_mut(at));
            if let Some(time) = time.and_then(|time| time.get_mut(colour(slice.kind))) {
                *time += part;
            }
        }
    }
    let kind = |time: &[u64; COLOURS.len()]| {
        let most = time
            .iter()
            .enumerate()
            .max_by_key(|(at, time)| (**time, COLOURS.len() - at));
        most.filter(|(_, time)| **time > 0).map(|(at, _)| at)
    };
    let kinds: Vec<Option<usize>> = times.iter().map(kind).collect();
    let mut x = LEFT;
    for same in kinds.chunk_by(|one, other| one == other) {
        let width = same.len();
        if let Some(Some(at)) = same.first()
            && let Some((_, colour)) = COLOURS.get(*at)
        {
            if let Some(used) = used.get_mut(*at) {
                *used = true;
            }
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
            );
        }
        x += width;
    }
}

/// The times below the rows.
fn axis(out: &mut String, end: u64, y: usize) {
    let step = [1, 2, 5]
        .into_iter()
        .cycle()
        .zip(0u32..)
        .map(|(digit, number)| 10u64.saturating_pow(number / 3).saturating_mul(digit));
    let step = step.take(60).find(|step| end / step <= 8).unwrap_or(end);
    let mut time = 0;
    while time <= end {
        let at = u128::from(time) * COLUMNS as u128 / u128::from(end);
        let x = LEFT + usize::try_from(at).unwrap_or(COLUMNS);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<path d=\"M{x} {y}v4\" stroke=\"#555\"/>\n\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{time}</text>",
            y + 16
        );
        time = match time.checked_add(step) {
            Some(next) => next,
            None => return,
        };
    }
}

fn text(out: &mut String, x: usize, y: usize, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\">{}</text>", Text(text));
}
