//! The check language of the fixtures: which lines a text has, in which order. `NAME.toml` of a
//! kernel has entries of it, and the files of `fixtures/passes` have them as comments.
//!
//! A check is a list of entries, each a regular expression with an optional prefix. An entry is
//! tried on one line at a time.
//!
//! | entry          | meaning                                                                                  |
//! |----------------|------------------------------------------------------------------------------------------|
//! | `re`           | the first line after the one matched before on which `re` is found                       |
//! | `next: re`     | the very next line that is not blank                                                     |
//! | `not: re`      | no line between its neighbours (the lines matched before and after it, or the ends)      |
//! | `count: N re`  | exactly N lines between its neighbours                                                   |
//! | `least: N re`  | at least N lines between its neighbours                                                  |
//!
//! `not`, `count` and `least` look at the lines between two matched ones, both excluded; they never
//! move the place.

use regex::Regex;
use std::fmt;

/// A parsed list of entries.
#[derive(Debug)]
pub struct Check {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    kind: Kind,
    pattern: Regex,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Moves the place to the first line that matches.
    Find,
    /// Moves the place to the next line that is not blank, which must match.
    Next,
    /// A number of lines between the neighbours.
    Between(Amount),
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Amount {
    Exactly(usize),
    AtLeast(usize),
}

impl Amount {
    fn holds(self, seen: usize) -> bool {
        match self {
            Amount::Exactly(n) => seen == n,
            Amount::AtLeast(n) => seen >= n,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Exactly(0) => f.write_str("no line"),
            Amount::Exactly(n) => write!(f, "exactly {n} lines"),
            Amount::AtLeast(n) => write!(f, "at least {n} lines"),
        }
    }
}

impl Check {
    /// Parses the entries.
    ///
    /// # Errors
    /// An empty list, a regular expression that does not parse, a count without a number, or
    /// `next:` after an entry that moves nothing.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Check, String> {
        if entries.is_empty() {
            return Err("a check without entries checks nothing".to_owned());
        }
        let entries: Vec<Entry> = entries
            .iter()
            .map(|entry| Entry::parse(entry.as_ref()))
            .collect::<Result<_, _>>()?;
        for pair in entries.windows(2) {
            if let [before, after] = pair
                && matches!(before.kind, Kind::Between(_))
                && after.kind == Kind::Next
            {
                return Err(format!(
                    "`next: {}` leaves no lines for the entry before it",
                    after.pattern
                ));
            }
        }
        Ok(Check { entries })
    }

    /// Runs the check over `text`.
    ///
    /// # Errors
    /// What the first entry that does not hold wanted, and the lines where it was looked for.
    pub fn run(&self, text: &str) -> Result<(), String> {
        let lines: Vec<&str> = text.lines().collect();
        let mut place = 0;
        let mut between: Vec<&Entry> = Vec::new();
        for entry in &self.entries {
            let rest = lines.get(place..).unwrap_or_default();
            let found = match entry.kind {
                Kind::Between(_) => {
                    between.push(entry);
                    continue;
                }
                Kind::Find => rest.iter().position(|line| entry.pattern.is_match(line)),
                Kind::Next => rest
                    .iter()
                    .position(|line| !line.trim().is_empty())
                    .filter(|at| {
                        rest.get(*at)
                            .is_some_and(|line| entry.pattern.is_match(line))
                    }),
            };
            let Some(found) = found else {
                let what = if entry.kind == Kind::Next {
                    "is not on the next line"
                } else {
                    "is not found"
                };
                return Err(format!(
                    "`{}` {what} after line {place}:\n{}",
                    entry.pattern,
                    excerpt(rest, place)
                ));
            };
            settle(&between, rest.get(..found).unwrap_or_default(), place)?;
            between.clear();
            place += found + 1;
        }
        settle(&between, lines.get(place..).unwrap_or_default(), place)
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Entry, String> {
        let amount = |rest: &str, make: fn(usize) -> Amount| {
            let (number, pattern) = rest
                .split_once(' ')
                .ok_or_else(|| format!("`{text}`: a number and a pattern are wanted"))?;
            let number = number
                .parse()
                .map_err(|_| format!("`{text}`: `{number}` is not a number"))?;
            Ok::<_, String>((Kind::Between(make(number)), pattern.to_owned()))
        };
        let (kind, pattern) = if let Some(rest) = text.strip_prefix("not: ") {
            (Kind::Between(Amount::Exactly(0)), rest.to_owned())
        } else if let Some(rest) = text.strip_prefix("count: ") {
            amount(rest, Amount::Exactly)?
        } else if let Some(rest) = text.strip_prefix("least: ") {
            amount(rest, Amount::AtLeast)?
        } else if let Some(rest) = text.strip_prefix("next: ") {
            (Kind::Next, rest.to_owned())
        } else {
            (Kind::Find, text.to_owned())
        };
        let pattern = Regex::new(&pattern).map_err(|error| format!("`{text}`: {error}"))?;
        Ok(Entry { kind, pattern })
    }
}

/// Compares the entries between two matches with the lines between them; `first` is the number of
/// lines before those.
fn settle(entries: &[&Entry], lines: &[&str], first: usize) -> Result<(), String> {
    for entry in entries {
        let Kind::Between(amount) = entry.kind else {
            continue;
        };
        let seen: Vec<usize> = (0..lines.len())
            .filter(|at| {
                lines
                    .get(*at)
                    .is_some_and(|line| entry.pattern.is_match(line))
            })
            .collect();
        if !amount.holds(seen.len()) {
            let numbers: Vec<String> = seen.iter().map(|at| (first + at + 1).to_string()).collect();
            return Err(format!(
                "`{}`: {amount} wanted between line {} and line {}, {} found [{}]:\n{}",
                entry.pattern,
                first,
                first + lines.len() + 1,
                seen.len(),
                numbers.join(" "),
                excerpt(lines, first)
            ));
        }
    }
    Ok(())
}

/// The first lines, numbered, for a message.
fn excerpt(lines: &[&str], first: usize) -> String {
    const MOST: usize = 120;
    let mut text = String::new();
    for (at, line) in lines.iter().take(MOST).enumerate() {
        text.push_str(&format!("{:>6} | {line}\n", first + at + 1));
    }
    if lines.len() > MOST {
        text.push_str(&format!("       | ... {} more\n", lines.len() - MOST));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str =
        "head\nstore\nwait 0\nsignal -1\nfma a\nfma b\n\nmul\nbarrier -1\nload\nend\n";

    fn run(entries: &[&str]) -> Result<(), String> {
        Check::parse(entries).unwrap().run(TEXT)
    }

    #[test]
    fn entries_match_in_order() {
        assert_eq!(run(&["store", r"signal -\d", "barrier", "end"]), Ok(()));
        let error = run(&["barrier", "signal"]).unwrap_err();
        assert!(
            error.contains("`signal` is not found after line 9"),
            "{error}"
        );
    }

    #[test]
    fn one_line_serves_one_entry() {
        assert_eq!(run(&["fma", "fma"]), Ok(()));
        assert!(run(&["fma", "fma", "fma"]).is_err());
    }

    #[test]
    fn next_skips_blank_lines_only() {
        assert_eq!(run(&["fma b", "next: mul", "next: barrier"]), Ok(()));
        let error = run(&["fma a", "next: mul"]).unwrap_err();
        assert!(error.contains("is not on the next line"), "{error}");
        assert!(run(&["end", "next: ."]).is_err());
    }

    #[test]
    fn not_looks_between_its_neighbours() {
        assert_eq!(run(&["signal", "not: load", "barrier"]), Ok(()));
        assert!(run(&["signal", "not: mul", "barrier"]).is_err());
        assert_eq!(run(&["not: signal", "signal"]), Ok(()));
        assert_eq!(
            run(&["barrier", "not: fma"]),
            Ok(()),
            "to the end of the text"
        );
        assert!(run(&["signal", "not: load"]).is_err());
    }

    #[test]
    fn counts_are_exact_or_a_floor() {
        assert_eq!(run(&["signal", "count: 2 ^fma", "barrier"]), Ok(()));
        for wrong in ["count: 1 ^fma", "count: 3 ^fma", "least: 3 ^fma"] {
            let error = run(&["signal", wrong, "barrier"]).unwrap_err();
            assert!(error.contains("2 found [5 6]"), "{error}");
        }
        assert_eq!(
            run(&[
                "signal",
                "least: 1 ^fma",
                "not: load",
                "count: 1 mul",
                "barrier"
            ]),
            Ok(())
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [&[][..], &["("], &["count: x fma"], &["count: 3"]] {
            assert!(Check::parse(wrong).is_err(), "{wrong:?}");
        }
        assert!(Check::parse(&["not: x", "next: y"]).is_err());
    }
}
