//! Mutants of AMDGPU machine code: a counter of a wait, a barrier instruction or an instruction
//! that looks after caches is left out.

use super::mutant::{Fate, Mutant};
use super::subject::{Run, Subject};
use crate::support::{compile_bytes, linkable, told};
use anyhow::{Context, Result};
use splitbar::asm::{self, Function, Instruction};
use splitbar::simulate::amdgpu::Part;
use splitbar::simulate::machine::amdgpu::Line;
use splitbar::verdict::Audit;
use splitbar::{Output, Target};
use splitbar_plan::target::Arch;
use splitbar_tests::fixture::Fixture;
use std::collections::BTreeMap;

pub(super) const TARGETS: [&str; 7] = [
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250",
];

pub(super) fn mutants(fixture: &Fixture, target: &'static str) -> Result<Vec<Mutant>> {
    linkable(target)?;
    let output = compile_bytes(&fixture.module()?, target, |options| options.audit = true)?;
    let mut subject = Subject::new(fixture, &output)?;
    let binary = subject.job.amdgpu().context("no machine code")?;
    let lines = binary.lines().to_vec();
    // Behind the last end is padding.
    let end = lines.iter().rposition(|l| l.text.contains("s_endpgm"));
    let parts: Vec<Part> = binary
        .synchronising()
        .filter(|part| Some(part.instruction) < end)
        .collect();
    let audited = Audited::new(&output, target, &lines)?;
    parts
        .into_iter()
        .map(|part| {
            let text = words(&lines[part.instruction].text);
            let what = match part.part {
                0 => text,
                part => format!("{text}, field {}", part + 1),
            };
            Ok(Mutant {
                kernel: fixture.name.clone(),
                fate: fate(&mut subject, &audited, part)?,
                what,
            })
        })
        .collect()
}

fn fate(subject: &mut Subject, audited: &Audited, part: Part) -> Result<Fate> {
    let pc = u32::try_from(part.instruction)?;
    if !subject.covered.executed(pc) {
        return Ok(Fate::NotExecuted);
    }
    let binary = subject.job.amdgpu().context("no machine code")?;
    let text = words(&binary.lines()[part.instruction].text);
    let is_wait = text.starts_with("s_wait");
    let is_barrier = text.starts_with("s_barrier");
    binary.leave_out(Some(part));
    let covered = match subject.run(&subject.job)? {
        Run::Noticed(fate) => return Ok(fate),
        Run::Unnoticed(covered) => covered,
    };
    if is_wait && !audited.is_clean_without(part)? {
        return Ok(Fate::Audit);
    }
    if !is_barrier && !subject.covered.mattered(pc) {
        return Ok(Fate::Idle);
    }
    if is_wait && !covered.mattered(pc) {
        return Ok(Fate::MadeUpFor);
    }
    // Barriers keep accesses apart, but do nothing about caches.
    Ok(
        if (is_wait || is_barrier) && subject.is_separated(&subject.job)? {
            Fate::Separated
        } else {
            Fate::Survives
        },
    )
}

/// The same code as the audit sees it.
struct Audited {
    function: Function,
    audit: Audit,
    arch: &'static Arch,
    /// Positions in the function by those in the code object.
    positions: BTreeMap<usize, usize>,
}

impl Audited {
    fn new(output: &Output, target: &str, lines: &[Line]) -> Result<Audited> {
        let audit = output.entries()[0].audit.clone().context("no audit")?;
        let functions = asm::amdgpu::parse(&told(output.assembly())?);
        let function = functions
            .into_iter()
            .find(|function| function.name == audit.kernel)
            .context("the audited kernel is not in the assembly")?;
        // A kernel with preloaded arguments has instructions in front of its symbol's code.
        let positions = (0..lines.len())
            .find_map(|first| positions(&function, lines, first))
            .context("the assembly is not in the code object")?;
        Ok(Audited {
            function,
            audit,
            arch: &Target::by_name(target).context("no such target")?.arch,
            positions,
        })
    }

    fn is_clean_without(&self, part: Part) -> Result<bool> {
        let mut function = self.function.clone();
        // The audit does not follow calls.
        let Some(inst) = self
            .positions
            .get(&part.instruction)
            .and_then(|position| function.instructions.get_mut(*position))
        else {
            return Ok(true);
        };
        weaken(inst, part.part);
        let audit = self.audit.of_changed(&function, self.arch);
        let audit = audit.map_err(anyhow::Error::msg)?;
        Ok(audit.is_clean())
    }
}

/// The function's instructions among the lines from `first` on, if it begins there. The assembler
/// pads loops with `s_nop`.
fn positions(function: &Function, lines: &[Line], first: usize) -> Option<BTreeMap<usize, usize>> {
    let mut at = first;
    let mut found = BTreeMap::new();
    for (position, inst) in function.instructions.iter().enumerate() {
        let is = |at: usize, name: &str| {
            let line = lines.get(at);
            line.is_some_and(|line| line.text.trim().starts_with(name))
        };
        while is(at, "s_nop") && inst.mnemonic != "s_nop" {
            at += 1;
        }
        if inst.mnemonic.starts_with("s_") && !is(at, inst.mnemonic.trim_end_matches("_e32")) {
            return None;
        }
        found.insert(at, position);
        at += 1;
    }
    Some(found)
}

/// Removes counter number `part` from a wait.
fn weaken(inst: &mut Instruction, part: usize) {
    let pair = inst
        .mnemonic
        .strip_prefix("s_wait_")
        .and_then(|names| names.split_once('_'))
        .map(|(first, second)| [first, second].map(str::to_owned));
    if inst.mnemonic == "s_waitcnt" {
        let fields = inst.operands.split([' ', '&']).filter(|f| !f.is_empty());
        let (guards, counts): (Vec<&str>, Vec<&str>) =
            fields.partition(|field| field.starts_with("expcnt"));
        let kept = counts.iter().enumerate().filter(|(at, _)| *at != part);
        inst.operands = kept
            .map(|(_, f)| *f)
            .chain(guards)
            .collect::<Vec<_>>()
            .join(" ");
    } else if let Some([first, second]) = pair.filter(|[first, _]| first != "alu") {
        // The first counter's value in bits 13:8, the second one's in 5:0 (LLVM,
        // AMDGPUModifierSyntax).
        let digits = inst.operands.trim().trim_start_matches("0x");
        let packed = u32::from_str_radix(digits, 16).unwrap_or(0);
        let (kept, value) = match part {
            0 => (second, packed & 0x3f),
            _ => (first, packed >> 8 & 0x3f),
        };
        inst.mnemonic = format!("s_wait_{kept}");
        inst.operands = format!("{value:#x}");
    } else {
        "s_nop".clone_into(&mut inst.mnemonic);
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
