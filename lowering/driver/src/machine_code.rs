//! AMDGPU objects, relocatable or linked, back to the functions that [`crate::asm`] reads from
//! assembly text.

use crate::asm::{Function, amdgpu};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SymbolKind};
use splitbar_plan::Target;
use splitbar_plan::backend::Disassembled;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The functions of the ELF file `bytes`, in the order of its symbols. No instruction has an
/// origin, because machine code does not contain it.
///
/// # Errors
/// A sentence: no ELF file of 64 bits, no function in it, or no disassembler for `target`.
pub fn functions(bytes: &[u8], target: &Target) -> Result<Vec<Function>, String> {
    let file = ElfFile64::<LittleEndian>::parse(bytes)
        .map_err(|error| format!("not a 64-bit ELF file: {error}"))?;
    let mut text = String::new();
    for symbol in file.symbols() {
        if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
            continue;
        }
        let Some(section) = symbol.section_index() else {
            continue; // an absolute address
        };
        let name = symbol
            .name()
            .map_err(|error| format!("the name of a function cannot be read: {error}"))?;
        let code = file
            .section_by_index(section)
            .and_then(|section| section.data_range(symbol.address(), symbol.size()))
            .map_err(|error| format!("the code of {name} cannot be read: {error}"))?
            .ok_or_else(|| format!("the code of {name} is not in its section"))?;
        let lines = crate::backend::current()
            .disassemble(target, target.default_wave_size(), code, symbol.address())
            .map_err(|problems| problems.to_string())?;
        write_function(&mut text, name, &lines);
    }
    let functions = amdgpu::parse(&text);
    if functions.is_empty() {
        return Err("it has no functions".to_owned());
    }
    Ok(functions)
}

/// Assembly text of disassembled code: branches, whose operand is a distance in machine code, get
/// labels.
fn write_function(text: &mut String, name: &str, lines: &[Disassembled]) {
    let targets: BTreeSet<usize> = lines.iter().filter_map(branch_target).collect();
    let _ = write!(text, "\t.type\t\"{name}\",@function\n\"{name}\":\n");
    for line in lines {
        if targets.contains(&line.offset) {
            let _ = writeln!(text, "L{}:", line.offset);
        }
        let _ = match (branch_target(line), line.text.split_whitespace().next()) {
            (Some(target), Some(mnemonic)) => writeln!(text, "\t{mnemonic} L{target}"),
            _ => writeln!(text, "\t{}", line.text.trim()),
        };
    }
}

/// Where a branch leads, in bytes from the beginning of the code: its operand counts dwords from
/// the next instruction, 16 bits and signed (RDNA4 ISA, SOPP: S_BRANCH).
fn branch_target(line: &Disassembled) -> Option<usize> {
    let (mnemonic, operand) = line.text.trim().split_once(char::is_whitespace)?;
    if !(mnemonic == "s_branch" || mnemonic.starts_with("s_cbranch")) {
        return None;
    }
    let distance = operand.trim().parse::<u16>().ok()? as i16;
    let next = i64::try_from(line.offset.checked_add(line.length)?).ok()?;
    usize::try_from(next + i64::from(distance) * 4).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_get_labels() {
        let line = |offset, text: &str| Disassembled {
            offset,
            length: 4,
            text: text.to_owned(),
        };
        let lines = [
            line(0, "\ts_nop 0"),
            line(4, "\ts_barrier"),
            line(8, "\ts_cbranch_scc1 65534"),
            line(12, "\ts_endpgm"),
        ];
        let mut text = String::new();
        write_function(&mut text, "k", &lines);
        let functions = amdgpu::parse(&text);
        let successors: Vec<_> = functions
            .iter()
            .flat_map(|function| (0..4).map(|position| function.successors(position)))
            .collect();
        assert_eq!(successors, [vec![1], vec![2], vec![3, 1], vec![]]);
    }
}
