//! Assembly with what its instructions came from: debug information that leads to the source of
//! the module, lines of the source between the instructions, and comments on barriers, fences and
//! waits. The instructions are those of the code without any of it: everything is written into
//! that text, by the lines that the same code with debug lines has.

mod comments;
mod dwarf;
mod line_table;
mod placed;
mod quoted;
mod reading;
mod scopes;

use crate::asm;
use comments::Comments;
pub(crate) use comments::{KernelComments, SiteComments};
use line_table::Files;
use placed::{Place, Placed};
use reading::{Chain, FunctionLines};
use scopes::Scopes;
use splitbar_passes::module::{FilePosition, Frame, SourceFile};
use splitbar_plan::target::Arch;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The additions to assembly that the options ask for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Additions {
    /// Debug information that leads to the source.
    pub(crate) debug_info: bool,
    /// The lines of the source.
    pub(crate) source: bool,
    /// The meaning of barriers, fences and waits.
    pub(crate) comments: bool,
}

impl Additions {
    /// Returns true if there is one.
    pub(crate) fn any(self) -> bool {
        self != Additions::default()
    }
}

/// A kernel whose assembly is annotated.
#[derive(Clone, Debug)]
pub(crate) struct KernelPlaces {
    /// Its symbol.
    pub(crate) symbol: String,
    /// The name of its function in the source.
    pub(crate) name: Arc<str>,
    /// The position of the function; `None` if the module does not say it.
    pub(crate) at: Option<FilePosition>,
}

/// The places of the code of one compilation.
#[derive(Clone, Debug)]
pub(crate) struct Annotations {
    /// The additions that are wanted.
    pub(crate) additions: Additions,
    /// The kernels.
    pub(crate) kernels: Vec<KernelPlaces>,
    /// The frames of the instructions of the module that was lowered, by word, the innermost
    /// first. Instructions without a position in the source have none.
    pub(crate) frames: BTreeMap<u32, Arc<[Frame]>>,
    /// The language of the source, as DWARF numbers it.
    pub(crate) language: u16,
    /// The texts that the module carries.
    pub(crate) sources: Vec<SourceFile>,
}

impl Annotations {
    /// The text `plain` with the additions; `lined` is the same code with debug lines, whose
    /// numbers are words plus 1. `comments` has the comments on the barriers of each kernel, in
    /// the order of the kernels.
    pub(crate) fn apply(
        &self,
        plain: &str,
        lined: &str,
        arch: &Arch,
        comments: &[KernelComments],
    ) -> String {
        let is_amd = matches!(arch, Arch::Amdgpu(_));
        let text: Vec<&str> = plain.lines().collect();
        let lined: Vec<&str> = lined.lines().collect();
        let functions = reading::functions(&text, &lined, is_amd);
        let functions: Vec<Placed> = functions
            .into_iter()
            .map(|lines| self.placed(lines))
            .collect();
        let mut files = Files::new(is_amd);
        if self.additions.debug_info {
            for function in &functions {
                let places = function.places.values().flat_map(|place| &place.frames);
                places.for_each(|frame| files.add(&frame.at.file));
            }
            let kernels = self.kernels.iter().filter_map(|kernel| kernel.at.as_ref());
            kernels.for_each(|at| files.add(&at.file));
        }
        let mut writer = Writer {
            annotations: self,
            comments,
            files: &files,
            arch,
            is_amd,
            out: String::with_capacity(2 * plain.len()),
            scopes: Scopes::new(is_amd, plain),
        };
        let mut next = 0;
        for (index, function) in functions.iter().enumerate() {
            let begin = function.lines.begin;
            writer.copy(text.get(next..begin));
            if index == 0 && is_amd {
                files.write(&mut writer.out, &self.sources);
            }
            writer.copy(text.get(begin..=begin));
            writer.function(function, &text);
            next = function.lines.end;
        }
        writer.copy(text.get(next..));
        if !files.is_empty() {
            if is_amd {
                let ends: Vec<&str> = functions
                    .iter()
                    .filter_map(|function| text.get(function.lines.end)?.strip_suffix(':'))
                    .collect();
                let scopes = writer.scopes;
                dwarf::write(
                    &mut writer.out,
                    self.language,
                    &functions,
                    &ends,
                    &scopes,
                    &files,
                );
            } else {
                files.write(&mut writer.out, &[]);
                writer.scopes.write_names(&mut writer.out);
            }
        }
        writer.out
    }

    fn placed(&self, lines: FunctionLines) -> Placed {
        let kernel = self.kernel(&lines.symbol);
        let first = lines
            .chains
            .values()
            .find_map(|chain| self.outermost(chain));
        let name = match (kernel, first) {
            (Some(kernel), _) => Arc::clone(&kernel.name),
            (None, Some(frame)) => Arc::clone(&frame.function),
            (None, None) => Arc::from(lines.symbol.as_str()),
        };
        let mut places: BTreeMap<usize, Place> = BTreeMap::new();
        let mut last = None;
        for (at, chain) in &lines.chains {
            if last != Some(chain) {
                places.insert(*at, self.place(chain, &name));
                last = Some(chain);
            }
        }
        Placed {
            lines,
            name,
            at: kernel.and_then(|kernel| kernel.at.clone()),
            places,
        }
    }

    fn kernel(&self, symbol: &str) -> Option<&KernelPlaces> {
        self.kernels.get(self.number(symbol)?)
    }

    /// The number of a kernel.
    fn number(&self, symbol: &str) -> Option<usize> {
        let symbol = symbol.trim_matches('"');
        let mut kernels = self.kernels.iter();
        kernels.position(|kernel| kernel.symbol == symbol)
    }

    fn outermost(&self, chain: &Chain) -> Option<&Frame> {
        let word = reading::words(chain).last()?;
        self.frames.get(&word)?.last()
    }

    /// The place of a chain in the function `name`.
    fn place(&self, chain: &Chain, name: &str) -> Place {
        let mut frames: Vec<Frame> = Vec::new();
        let words: Vec<u32> = reading::words(chain).collect();
        let known: Vec<_> = words
            .iter()
            .map_while(|word| self.frames.get(word))
            .collect();
        for more in &known {
            frames.extend(more.iter().cloned());
        }
        let is_all = known.len() == chain.len() && !chain.is_empty();
        let ends_here = frames.last().is_some_and(|frame| &*frame.function == name);
        Place {
            frames,
            is_whole: is_all && ends_here,
        }
    }

    /// The text of a line of the source.
    fn source_line(&self, at: &FilePosition) -> Option<&str> {
        let file = self.sources.iter().find(|file| *file.name == *at.file)?;
        let index = usize::try_from(at.line).ok()?.checked_sub(1)?;
        file.lines.get(index).map(String::as_str)
    }
}

/// Text that grows.
struct Writer<'a> {
    annotations: &'a Annotations,
    comments: &'a [KernelComments],
    files: &'a Files,
    arch: &'a Arch,
    is_amd: bool,
    out: String,
    scopes: Scopes,
}

impl Writer<'_> {
    fn copy(&mut self, lines: Option<&[&str]>) {
        for line in lines.unwrap_or_default() {
            self.out.extend([line, "\n"]);
        }
    }

    /// The body of a function, up to the line that ends it.
    fn function(&mut self, function: &Placed, text: &[&str]) {
        let (annotations, is_amd) = (self.annotations, self.is_amd);
        let additions = annotations.additions;
        let of_kernel = annotations.number(&function.lines.symbol);
        let of_kernel = of_kernel.and_then(|number| self.comments.get(number));
        let of_kernel = of_kernel.filter(|_| additions.comments);
        let mut comments = Comments::new(of_kernel, is_amd);
        let mut shown: Option<(Arc<str>, u32)> = None;
        self.scopes.begin(&function.name);
        for at in function.lines.begin + 1..function.lines.end {
            let Some(line) = text.get(at) else {
                continue;
            };
            let chain = function.lines.chains.get(&at);
            let site = chain.and_then(|chain| reading::words(chain).last());
            if additions.comments && chain.is_some() {
                comments.enter(site, &mut self.out);
            }
            if let Some(place) = function.places.get(&at) {
                if additions.source
                    && let Some(position) = place.at()
                    && shown.as_ref() != Some(&(Arc::clone(&position.file), position.line))
                {
                    self.source(position);
                    shown = Some((Arc::clone(&position.file), position.line));
                }
                if additions.debug_info && !self.files.is_empty() {
                    self.scopes.change(place, self.files, &mut self.out);
                }
            }
            self.out.push_str(line);
            if additions.comments && chain.is_some() {
                let role = |mnemonic: &str| asm::role(mnemonic, self.arch);
                comments.note(line, site, &role, &mut self.out);
            }
            self.out.push('\n');
        }
        self.scopes.end();
    }

    fn source(&mut self, at: &FilePosition) {
        let mark = quoted::mark(self.is_amd);
        let file = quoted::plain(&at.file, self.is_amd);
        // Writing to a string cannot fail.
        let _ = match self.annotations.source_line(at) {
            Some(text) => {
                let text = quoted::plain(text.trim_end(), self.is_amd);
                writeln!(self.out, "{mark} {file}:{}: {text}", at.line)
            }
            None => writeln!(self.out, "{mark} {file}:{}", at.line),
        };
    }
}
