//! Comments on barriers, windows, fences and waits.

use super::quoted::{self, mark};
use crate::asm::Role;
use crate::explain;
use std::collections::{BTreeMap, BTreeSet};

/// The comments on the barriers of a kernel, by the word of the barrier instruction.
pub(crate) type KernelComments = BTreeMap<u32, SiteComments>;

/// The comments on one barrier instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteComments {
    /// The instruction, and what became of it: one line.
    pub(crate) title: String,
    /// More lines, for the first machine instruction that came from it.
    pub(crate) details: Vec<String>,
    /// The name of the window that it bounds.
    pub(crate) window: Option<String>,
}

/// The column of notes.
const COLUMN: usize = 48;

/// The comments of a function while it is written.
pub(super) struct Comments<'a> {
    sites: Option<&'a KernelComments>,
    is_amd: bool,
    /// The site of the code before.
    current: Option<u32>,
    /// The sites whose details have been written.
    seen: BTreeSet<u32>,
}

impl<'a> Comments<'a> {
    pub(super) fn new(sites: Option<&'a KernelComments>, is_amd: bool) -> Comments<'a> {
        Comments {
            sites,
            is_amd,
            current: None,
            seen: BTreeSet::new(),
        }
    }

    /// Writes the lines before code that came from `word`, if that is a barrier's.
    pub(super) fn enter(&mut self, word: Option<u32>, out: &mut String) {
        let site = word.and_then(|word| Some((word, self.sites?.get(&word)?)));
        let entered = site.map(|(word, _)| word);
        if entered == self.current {
            return;
        }
        self.current = entered;
        let Some((word, site)) = site else {
            return;
        };
        let mark = mark(self.is_amd);
        out.extend([mark, " ", &quoted::plain(&site.title, self.is_amd), "\n"]);
        if self.seen.insert(word) {
            for detail in &site.details {
                out.extend([mark, "   ", &quoted::plain(detail, self.is_amd), "\n"]);
            }
        }
    }

    /// Writes the meaning of the instruction on `line` after it.
    pub(super) fn note(
        &self,
        line: &str,
        word: Option<u32>,
        role: &dyn Fn(&str) -> Role,
        out: &mut String,
    ) {
        let site = word.and_then(|word| self.sites?.get(&word));
        for mnemonic in mnemonics(line) {
            let Some(note) = explain::instruction(mnemonic, self.is_amd) else {
                continue;
            };
            let bound = match (role(mnemonic), site.and_then(|site| site.window.as_ref())) {
                (Role::Arrive, Some(window)) => format!("; {window} begins"),
                (Role::Wait, Some(window)) => format!("; {window} ends"),
                (Role::Arrive | Role::Wait | Role::ArriveAndWait, _) => String::new(),
                (Role::Work | Role::Housekeeping, _) => String::new(),
            };
            let width = line.chars().map(|c| if c == '\t' { 8 } else { 1 }).sum();
            let room = COLUMN.saturating_sub(width).max(1);
            out.extend(std::iter::repeat_n(' ', room));
            out.extend([
                mark(self.is_amd),
                " ",
                note,
                &quoted::plain(&bound, self.is_amd),
            ]);
            return;
        }
    }
}

/// The mnemonics of a line; inline assembly of PTX has several statements on one.
fn mnemonics(line: &str) -> impl Iterator<Item = &str> {
    line.split([';', '{']).filter_map(|statement| {
        let statement = statement.trim();
        let statement = match statement.strip_prefix('@') {
            Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
            None => statement,
        };
        statement.split_whitespace().next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn mnemonics_of_a_line() {
        let all = |line| mnemonics(line).collect::<Vec<_>>();
        assert_eq!(all("\ts_barrier_wait -1"), ["s_barrier_wait"]);
        assert_eq!(all("\t@%p1 bra \t$L;"), ["bra"]);
        let inline = "\t{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [mb]; }";
        assert_eq!(all(inline)[1], "mbarrier.try_wait.parity.shared.b64");
    }

    #[test]
    fn details_come_once() {
        let site = SiteComments {
            title: "#0 arrive".to_owned(),
            details: vec!["fence".to_owned()],
            window: Some("the window of pair 0".to_owned()),
        };
        let sites = KernelComments::from([(7, site)]);
        let mut comments = Comments::new(Some(&sites), true);
        let mut out = String::new();
        let words = [Some(7), None, Some(7)];
        for word in words {
            comments.enter(word, &mut out);
        }
        assert_eq!(out, "; #0 arrive\n;   fence\n; #0 arrive\n");
        let mut out = String::new();
        let role = |_: &str| Role::Arrive;
        comments.note("\ts_barrier_signal -1", Some(7), &role, &mut out);
        assert!(
            out.ends_with("continues; the window of pair 0 begins"),
            "{out}"
        );
    }
}
