//! Advice as an SVG picture: for each entry point and GPU a row per strategy, with bars for what it
//! takes, what fits at once, what is left in windows and what a phase costs. The strategy to take
//! is marked.

use super::remarks::{faster, improvements, not_estimated, split_barriers, unsplit};
use splitbar::{Advice, Candidate, Estimated};
use std::fmt::Write;

/// Width of the picture without the column of estimates.
const WIDTH: u32 = 1080;
/// Where the names of strategies end, and the first column of bars begins.
const NAMES: u32 = 170;
/// From one column of bars to the next.
const COLUMN: u32 = 225;
/// Longest bar.
const BAR: u32 = 120;
/// Height of a row.
const ROW: u32 = 24;
/// Characters of a line of reasons.
const LINE: usize = 150;

/// The title of a column, its colour, and the value with its words.
type Column = (&'static str, &'static str, fn(&Candidate) -> Option<Value>);

/// The columns; the last one is there where something was estimated.
const COLUMNS: [Column; 5] = [
    ("registers", "#4878a8", registers),
    ("resident workgroups", "#5a9a5a", workgroups),
    ("instructions left in windows", "#b08030", window),
    ("cycles of a phase, at most", "#a85050", cycles),
    ("estimated cycles", "#7a5aa0", estimated),
];

/// The columns of a picture of `advice`, and how wide it is.
fn columns(advice: &[Advice]) -> (&'static [Column], u32) {
    let mut candidates = advice.iter().flat_map(|one| &one.candidates);
    match (candidates.any(|one| one.estimate.is_some()), &COLUMNS[..]) {
        (false, [without @ .., _]) => (without, WIDTH),
        (_, all) => (all, WIDTH + COLUMN),
    }
}

/// A bar's value, and what stands beside it.
struct Value {
    /// Not negative.
    bar: u32,
    words: String,
}

fn registers(candidate: &Candidate) -> Option<Value> {
    let bar = candidate.version.usage?.registers;
    let words = bar.to_string();
    Some(Value { bar, words })
}

fn workgroups(candidate: &Candidate) -> Option<Value> {
    let version = &candidate.version;
    match (&version.resident, version.resident_between) {
        (Some(resident), _) => Some(Value {
            bar: resident.workgroups,
            words: format!("{} ({})", resident.workgroups, resident.limiter),
        }),
        (None, Some([least, most])) => Some(Value {
            bar: least,
            words: format!("{least} to {most}"),
        }),
        (None, None) => None,
    }
}

fn window(candidate: &Candidate) -> Option<Value> {
    let window = candidate.window;
    Some(Value {
        bar: window.kept,
        words: format!("{} of {}", window.kept, window.source),
    })
}

fn cycles(candidate: &Candidate) -> Option<Value> {
    let cost = candidate.phase_cycles?;
    Some(Value {
        bar: u32::try_from(cost.max).unwrap_or(0), // a negative cost has no bar
        words: if cost.min == cost.max {
            cost.max.to_string()
        } else {
            format!("{} to {}", cost.min, cost.max)
        },
    })
}

fn estimated(candidate: &Candidate) -> Option<Value> {
    let Some(Estimated::Cycles { cycles, .. }) = candidate.estimate else {
        return None;
    };
    Some(Value {
        bar: u32::try_from(cycles).unwrap_or(u32::MAX),
        words: super::remarks::cycles(candidate)?,
    })
}

/// The picture of all `advice`.
pub(super) fn svg(advice: &[Advice]) -> String {
    let (columns, width) = columns(advice);
    let mut body = String::new();
    let mut y = 10;
    if advice.is_empty() {
        y = text(&mut body, 10, y, "", "no workgroup barriers");
    }
    for one in advice {
        y = draw(&mut body, one, columns, width, y) + ROW / 2;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" viewBox=\"0 0 {width} {y}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{width}\" height=\"{y}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// Draws one advice from `y` on; where the next one may begin.
fn draw(body: &mut String, advice: &Advice, columns: &[Column], width: u32, mut y: u32) -> u32 {
    let waves = advice.waves.map_or_else(
        || "waves by the launch".to_owned(),
        |waves| format!("{waves} waves of {}", advice.wave_size),
    );
    let title = format!(
        "{} on {}, {waves}{}: {}",
        advice.entry,
        advice.target,
        split_barriers(advice),
        advice.choice
    );
    y = text(
        body,
        10,
        y,
        " font-weight=\"bold\" font-size=\"15\"",
        &title,
    );
    let mut x = NAMES;
    for (title, _, _) in columns {
        text(body, x, y, " fill=\"#555555\"", title);
        x += COLUMN;
    }
    y += ROW;
    for candidate in &advice.candidates {
        let is_chosen = candidate.strategy == advice.choice;
        let weight = if is_chosen {
            " font-weight=\"bold\""
        } else {
            ""
        };
        if is_chosen {
            let _ = writeln!(
                body,
                "<rect x=\"4\" y=\"{y}\" width=\"{}\" height=\"{ROW}\" fill=\"#e8f0e0\"/>",
                width - 8
            );
            let _ = writeln!(
                body,
                "<circle cx=\"14\" cy=\"{}\" r=\"4\" fill=\"#303030\"/>",
                y + ROW / 2
            );
        }
        text(body, 24, y, weight, candidate.strategy);
        let mut x = NAMES;
        for (_, colour, value) in columns {
            let most = advice.candidates.iter().filter_map(value);
            let most = most.map(|value| value.bar).max().unwrap_or(0);
            bar(body, (x, y), colour, value(candidate), most);
            x += COLUMN;
        }
        y += ROW;
    }
    for reason in &advice.reasons {
        for (number, line) in lines(reason).iter().enumerate() {
            let lead = if number == 0 { "because " } else { "" };
            y = text(body, 24, y, " fill=\"#333333\"", &format!("{lead}{line}"));
        }
    }
    if let Some(faster) = faster(advice) {
        y = text(body, 24, y, " fill=\"#333333\"", &faster);
    }
    for refused in &advice.refused {
        let why = format!("not {}: {}", refused.strategy, refused.reason);
        for line in lines(&why) {
            y = text(body, 24, y, " fill=\"#777777\"", &line);
        }
    }
    let outcomes = [not_estimated(advice), unsplit(advice), improvements(advice)];
    for why in outcomes.concat() {
        for line in lines(&why) {
            y = text(body, 24, y, " fill=\"#777777\"", &line);
        }
    }
    y
}

/// A bar with its words; a dash where the value is not known. `most` is the longest of the column.
fn bar(body: &mut String, (x, y): (u32, u32), colour: &str, value: Option<Value>, most: u32) {
    let Some(Value { bar, words }) = value else {
        text(body, x, y, " fill=\"#777777\"", "-");
        return;
    };
    let length = u64::from(bar) * u64::from(BAR) / u64::from(most.max(1));
    let _ = writeln!(
        body,
        "<rect x=\"{x}\" y=\"{}\" width=\"{length}\" height=\"{}\" fill=\"{colour}\"/>",
        y + 5,
        ROW - 10
    );
    let end = x + u32::try_from(length).unwrap_or(BAR) + 6;
    text(body, end, y, "", &words);
}

/// A line of text whose row begins at `y`; where the next one does.
fn text(body: &mut String, x: u32, y: u32, style: &str, words: &str) -> u32 {
    let words = words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    // XML has no way to write other control characters.
    let words: String = words
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let _ = writeln!(
        body,
        "<text x=\"{x}\" y=\"{}\"{style}>{words}</text>",
        y + 16
    );
    y + ROW
}

/// `words` in lines of at most [`LINE`] characters, or of one longer word.
fn lines(words: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > LINE {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn reasons_are_broken_between_words() {
        let long = format!("{} {}", "a".repeat(LINE), "b".repeat(LINE + 9));
        let broken = lines(&long);
        let lengths: Vec<usize> = broken.iter().map(String::len).collect();
        assert_eq!(lengths, [LINE, LINE + 9]);
        assert_eq!(lines("one two"), ["one two"]);
    }

    #[test]
    fn names_cannot_leave_their_element() {
        let mut body = String::new();
        text(&mut body, 1, 2, "", "</text><script>&\u{1}");
        let expected = "<text x=\"1\" y=\"18\">&lt;/text&gt;&lt;script&gt;&amp;\u{fffd}</text>\n";
        assert_eq!(body, expected);
        assert!(svg(&[]).ends_with("</svg>\n"));
    }
}
