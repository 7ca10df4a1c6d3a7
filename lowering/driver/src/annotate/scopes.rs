//! `.loc` directives, and the inlined calls that code lies in. AMD GPUs have these in the debug
//! information, by labels; PTX in the directives.

use super::line_table::Files;
use super::placed::Place;
use super::quoted;
use splitbar_passes::module::FilePosition;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// A function that was inlined, from one label to another.
#[derive(Debug)]
pub(super) struct Scope {
    /// Its name.
    pub(super) name: Arc<str>,
    /// The position of the call; `None` where it is not known.
    pub(super) call: Option<FilePosition>,
    /// The label of its first instruction.
    pub(super) low: usize,
    /// The label after its last instruction; `None`: the end of the function.
    pub(super) high: Option<usize>,
    /// The functions that were inlined into it.
    pub(super) inner: Vec<Scope>,
}

/// What is open: a scope that has no end yet.
type Open = Scope;

/// The first release of PTX whose directives say where code was inlined.
const INLINED_AT: (u32, u32) = (7, 2);

/// The directives and scopes of a text.
pub(super) struct Scopes {
    is_amd: bool,
    /// True if PTX can say where code was inlined.
    has_calls: bool,
    /// The scopes of the functions that have ended, in order.
    pub(super) functions: Vec<Vec<Scope>>,
    /// The function that is written.
    name: Arc<str>,
    /// Its scopes that have ended.
    closed: Vec<Scope>,
    /// Those that have not, the outermost first.
    open: Vec<Open>,
    /// The next label.
    label: usize,
    /// The directives in force.
    current: String,
    /// The labels of names in PTX.
    names: BTreeMap<Arc<str>, usize>,
}

impl Scopes {
    /// Those of `text`.
    pub(super) fn new(is_amd: bool, text: &str) -> Scopes {
        let version = text.lines().find_map(|line| line.strip_prefix(".version "));
        let version = version.and_then(|version| {
            let (major, minor) = version.trim().split_once('.')?;
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        });
        Scopes {
            is_amd,
            has_calls: version >= Some(INLINED_AT),
            functions: Vec::new(),
            name: Arc::from(""),
            closed: Vec::new(),
            open: Vec::new(),
            label: 0,
            current: String::new(),
            names: BTreeMap::new(),
        }
    }

    pub(super) fn begin(&mut self, name: &Arc<str>) {
        self.name = Arc::clone(name);
        self.current.clear();
    }

    pub(super) fn end(&mut self) {
        self.close(0, None);
        self.functions.push(std::mem::take(&mut self.closed));
    }

    /// From here on the code is at `place`.
    pub(super) fn change(&mut self, place: &Place, files: &Files, out: &mut String) {
        let directives = if self.is_amd {
            self.rescope(place, out);
            let [file, line, column] = files.position(place.at());
            format!("\t.loc\t{file} {line} {column}\n")
        } else {
            self.ptx(place, files)
        };
        if directives != self.current {
            out.push_str(&directives);
            self.current = directives;
        }
    }

    /// Closes the scopes that `place` is not in, and opens those that it is in.
    fn rescope(&mut self, place: &Place, out: &mut String) {
        let calls = self.calls(place);
        let is_same = |(open, (name, call)): &(&Open, &(Arc<str>, Option<FilePosition>))| {
            open.name == *name && open.call == *call
        };
        let same = self.open.iter().zip(&calls).take_while(is_same).count();
        if same == self.open.len() && same == calls.len() {
            return;
        }
        let label = self.label;
        self.label += 1;
        out.push_str(&self::label(label));
        out.push_str(":\n");
        self.close(same, Some(label));
        for (name, call) in calls.into_iter().skip(same) {
            self.open.push(Scope {
                name,
                call,
                low: label,
                high: None,
                inner: Vec::new(),
            });
        }
    }

    /// Closes all scopes but the `kept` outermost ones.
    fn close(&mut self, kept: usize, label: Option<usize>) {
        while self.open.len() > kept
            && let Some(scope) = self.open.pop()
        {
            let scope = Scope {
                high: label,
                ..scope
            };
            match self.open.last_mut() {
                Some(outer) => outer.inner.push(scope),
                None => self.closed.push(scope),
            }
        }
    }

    /// The inlined functions that `place` is in, the outermost first, each with its call.
    fn calls(&self, place: &Place) -> Vec<(Arc<str>, Option<FilePosition>)> {
        let frames = &place.frames;
        let inlined = frames.len() - usize::from(place.is_whole).min(frames.len());
        let calls = frames.iter().take(inlined).enumerate().map(|(at, frame)| {
            let call = frames.get(at + 1).map(|caller| caller.at.clone());
            (Arc::clone(&frame.function), call)
        });
        let mut calls: Vec<_> = calls.collect();
        calls.reverse();
        calls
    }

    /// The directives of PTX for `place`: of each call from the outermost on, then its own. A
    /// place whose calls are not all known has its own alone.
    fn ptx(&mut self, place: &Place, files: &Files) -> String {
        let mut text = String::new();
        let frames = &place.frames;
        let shown = if place.is_whole && self.has_calls {
            frames.len()
        } else {
            frames.len().min(1)
        };
        if shown == 0 {
            let [file, line, column] = files.position(None);
            let _ = writeln!(text, "\t.loc\t{file} {line} {column}");
        }
        for at in (0..shown).rev() {
            let Some(frame) = frames.get(at) else {
                continue;
            };
            let [file, line, column] = files.position(Some(&frame.at));
            // Writing to a string cannot fail.
            let _ = write!(text, "\t.loc\t{file} {line} {column}");
            if let Some(caller) = frames.get(at + 1).filter(|_| at + 1 < shown) {
                let next = self.names.len();
                let name = *self
                    .names
                    .entry(Arc::clone(&frame.function))
                    .or_insert(next);
                let [file, line, column] = files.position(Some(&caller.at));
                let _ = write!(
                    text,
                    ", function_name $L__splitbar_name{name}, inlined_at {file} {line} {column}"
                );
            }
            text.push('\n');
        }
        text
    }

    /// Writes the names that the directives of PTX lead to.
    pub(super) fn write_names(&self, out: &mut String) {
        if self.names.is_empty() {
            return;
        }
        out.push_str("\t.section\t.debug_str\n\t{\n");
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(_, number)| **number);
        for (name, number) in names {
            let bytes = quoted::bytes(name);
            // Writing to a string cannot fail.
            let _ = writeln!(out, "$L__splitbar_name{number}:\n\t.b8 {bytes}");
        }
        out.push_str("\t}\n");
    }
}

/// The label with a number.
pub(super) fn label(number: usize) -> String {
    format!(".Lsplitbar_scope{number}")
}
