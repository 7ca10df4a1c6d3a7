//! Source, SPIR-V, plans and assembly as lines that know which instruction of the module they
//! belong to.

use super::model::{AsmLine, Place, PlanLine, SourceText, SpirvLine, WindowWords};
use crate::asm::{self, Function, Instruction, Role};
use crate::compile::Entry;
use crate::explain;
use splitbar_passes::diagnostic::{Diagnostics, Location};
use splitbar_passes::module::{Declarations, ExtInstSet, Id, Inst, Module, WordOffset};
use splitbar_plan::target::Arch;
use std::collections::{BTreeMap, BTreeSet};

/// The most lines of SPIR-V, and of source.
const MOST_LINES: usize = 5000;

/// The most instructions whose places are known.
const MOST_PLACES: usize = 1 << 16;

/// The places of a module's instructions.
pub(super) struct Places(BTreeMap<u32, Location>);

impl Places {
    /// The place of `word`, with the line of the source where the module carries it.
    pub(super) fn of(&self, word: u32) -> Place {
        let text = match self.0.get(&word) {
            None => format!("SPIR-V word {word}"),
            Some(location) => {
                let source = location.source.as_ref();
                match source.and_then(|source| source.text.as_ref()) {
                    Some(line) => format!("{location}: `{}`", line.trim()),
                    None => location.to_string(),
                }
            }
        };
        Place {
            text: plain(&text),
            word: Some(word),
        }
    }

    /// The place of a diagnostic.
    pub(super) fn located(&self, location: &Location) -> Option<Place> {
        let word = location.word?.get();
        Some(self.of(word))
    }
}

/// The text without hidden characters, and not too long.
pub(super) fn plain(text: &str) -> String {
    crate::shown::plain(text, |_| true)
}

/// The source files and instructions of `module`, the places of its instructions, and what is left
/// out.
pub(super) fn listing(
    module: &Module<'_>,
    cut: &mut Vec<String>,
) -> (Vec<SourceText>, Vec<SpirvLine>, Places) {
    let declarations = Declarations::new(module, &mut Diagnostics::new());
    let source = source(&declarations, cut);
    let instructions = declarations.functions.iter().flat_map(|function| {
        let from = module.instructions_from(function.offset);
        from.take_while(|inst| inst.offset <= function.end)
    });
    let is_shown = |inst: &Inst<'_>| match (inst.op(), inst.operands()) {
        (Some(spirv::Op::Line | spirv::Op::NoLine), _) => false,
        (Some(spirv::Op::ExtInst), [set, ..]) => {
            declarations.ext_inst_sets.get(&Id(*set)) != Some(&ExtInstSet::NonSemantic)
        }
        _ => true,
    };
    let words: Vec<WordOffset> = instructions.map(|inst| inst.offset).collect();
    let located = words.get(..MOST_PLACES).unwrap_or(&words);
    let locations = declarations.locations(located);
    let mut spirv = Vec::new();
    for word in &words {
        let Some(inst) = module.at(*word).filter(is_shown) else {
            continue;
        };
        if spirv.len() == MOST_LINES {
            cut.push(format!(
                "the SPIR-V ends after {MOST_LINES} of {} instructions",
                words.len()
            ));
            break;
        }
        let position = locations.get(word).and_then(|at| at.source.as_ref());
        spirv.push(SpirvLine {
            word: word.get(),
            text: plain(&declarations.disassemble(inst)),
            source: position.and_then(|position| {
                let name = plain(&position.file);
                let file = source.iter().position(|file| file.name == name)?;
                Some([u32::try_from(file).ok()?, position.line])
            }),
        });
    }
    let places = locations.into_iter().map(|(word, at)| (word.get(), at));
    (source, spirv, Places(places.collect()))
}

fn source(declarations: &Declarations<'_>, cut: &mut Vec<String>) -> Vec<SourceText> {
    let mut room = MOST_LINES;
    let mut all = Vec::new();
    for file in declarations.source_files() {
        let name = plain(&file.name);
        if file.lines.len() > room {
            cut.push(format!(
                "the source {name} ends after {room} of {} lines",
                file.lines.len()
            ));
        }
        let lines: Vec<String> = file
            .lines
            .iter()
            .take(room)
            .map(|line| plain(line))
            .collect();
        room -= lines.len();
        if !lines.is_empty() {
            all.push(SourceText { name, lines });
        }
    }
    all
}

/// The plan of an entry point by lines.
pub(super) fn plan(entry: &Entry) -> Vec<PlanLine> {
    let mut word = None;
    let text = entry.plan_text();
    let line = |line: &str| {
        let is_step = line.starts_with("    ");
        if !is_step {
            word = explain::site(line)
                .and_then(|site| (*entry.source_sites.get(site)?).map(WordOffset::get));
        }
        PlanLine {
            text: plain(line),
            word,
            note: is_step.then(|| explain::step(line)).flatten(),
        }
    };
    text.lines().map(line).collect()
}

/// The instructions of the module in the windows of an entry point.
pub(super) fn windows(entry: &Entry) -> Vec<WindowWords> {
    let pairs = entry.plan.pairs.iter().zip(&entry.source_pairs);
    let pairs = pairs.filter(|(pair, _)| pair.strategy.is_split());
    let windows = pairs.map(|(pair, source)| WindowWords {
        pair: pair.id.0,
        words: source.window.iter().map(|word| word.get()).collect(),
    });
    windows.collect()
}

/// The code of the kernel `symbol` by lines, with the number of its instructions, from assembly
/// with debug lines.
pub(super) fn assembly(text: &str, symbol: &str, arch: &Arch) -> (Vec<AsmLine>, u32) {
    let is_amd = matches!(arch, Arch::Amdgpu(_));
    let functions = asm::parse(text, arch).unwrap_or_default();
    let function = functions.iter().find(|function| function.name == symbol);
    let parts = function.map_or_else(Vec::new, parts);
    let instructions = function.map_or(&[][..], |function| &function.instructions);
    let mut parsed = instructions.iter().zip(&parts).peekable();
    let mut lines = Vec::new();
    let mut word = None;
    for line in body(text, symbol, is_amd) {
        let line = uncommented(line, is_amd);
        let trimmed = line.trim();
        if let Some(number) = trimmed.strip_prefix(".loc") {
            let number = number.split_whitespace().nth(1);
            let number = number.and_then(|number| number.parse::<u32>().ok());
            word = number.and_then(|number| number.checked_sub(1));
            continue;
        }
        let is_label = trimmed.ends_with(':') && !trimmed.contains(' ');
        if is_label && (trimmed.starts_with(".Lfunc") || trimmed.starts_with(".Ltmp")) {
            continue; // of debug lines
        }
        if trimmed.is_empty() || (trimmed.starts_with('.') && !is_label) {
            continue;
        }
        let of_line = |(instruction, _): &(&Instruction, &Option<&'static str>)| {
            !is_label && trimmed.contains(instruction.mnemonic.as_str())
        };
        let next = parsed.next_if(of_line);
        let mnemonic = next.map(|(instruction, _)| instruction.mnemonic.as_str());
        lines.push(AsmLine {
            text: plain(line.trim_end()),
            is_instruction: next.is_some(),
            word: word.filter(|_| next.is_some()),
            part: next.and_then(|(_, part)| *part),
            note: mnemonic.and_then(|mnemonic| explain::instruction(mnemonic, is_amd)),
        });
    }
    (lines, u32::try_from(instructions.len()).unwrap_or(u32::MAX))
}

/// Leaves out what is too much of the code of `version`, and says so.
pub(super) fn shorten(lines: &mut Vec<AsmLine>, most: usize, version: &str, cut: &mut Vec<String>) {
    if lines.len() > most {
        cut.push(format!(
            "the code of {version} ends after {most} of {} lines",
            lines.len()
        ));
        lines.truncate(most);
    }
}

/// The lines of a kernel's body.
fn body<'t>(text: &'t str, symbol: &str, is_amd: bool) -> impl Iterator<Item = &'t str> {
    let label = format!("{symbol}:");
    let entry = format!(".entry {symbol}(");
    let is_start = move |line: &&str| {
        if is_amd {
            line.starts_with(&label)
        } else {
            line.contains(&entry)
        }
    };
    let end = ["}", ".Lfunc_end"][usize::from(is_amd)];
    let mut lines = text.lines();
    let _ = lines.find(is_start);
    lines.take_while(move |line| !line.starts_with(end))
}

/// A line without its comment.
fn uncommented(line: &str, is_amd: bool) -> &str {
    let mark = ["//", ";"][usize::from(is_amd)];
    line.split(mark).next().unwrap_or(line)
}

/// The part of each instruction in barriers: an instruction is in a window if a path leads to it
/// from an arrive without a wait.
fn parts(function: &Function) -> Vec<Option<&'static str>> {
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let role = |position: usize| function.instructions.get(position).map(|inst| inst.role);
    let arrives = (0..function.instructions.len()).filter(|at| role(*at) == Some(Role::Arrive));
    let mut work: Vec<usize> = arrives.flat_map(|at| function.successors(at)).collect();
    while let Some(at) = work.pop() {
        let closes = matches!(role(at), None | Some(Role::Wait | Role::ArriveAndWait));
        if !closes && open.insert(at) {
            work.extend(function.successors(at));
        }
    }
    let part = |(position, inst): (usize, &Instruction)| match inst.role {
        Role::Arrive => Some("arrive"),
        Role::Wait => Some("wait"),
        Role::ArriveAndWait => Some("full"),
        Role::Work | Role::Housekeeping => open.contains(&position).then_some("window"),
    };
    function.instructions.iter().enumerate().map(part).collect()
}
