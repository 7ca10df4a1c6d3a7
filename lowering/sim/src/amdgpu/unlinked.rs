//! Objects that are not linked: their sections get addresses, and what refers to them is filled in.
//! The relocations are those of AMDGPUUsage, "Relocation Records".

use super::loading::{LOAD, ObjectError};
use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, Relocation, RelocationFlags,
    RelocationTarget, SectionFlags, SectionIndex, SectionKind,
};
use std::collections::BTreeMap;

/// Distance of sections from each other, at least: a page.
const PAGE: u64 = 4096;

/// SHF_ALLOC: the section is in memory when the code runs.
const ALLOCATED: object::elf::SectionFlags = object::elf::SHF_ALLOC;

/// Sections with their addresses.
pub(super) struct Placed {
    sections: BTreeMap<usize, Section>,
}

struct Section {
    address: u64,
    bytes: Vec<u8>,
    is_code: bool,
}

/// The value that a relocation writes.
#[derive(Copy, Clone)]
enum Value {
    /// The address.
    Absolute,
    /// The distance from the place.
    Relative,
}

/// A row for each relocation of one file: its number, the value, the first bit of it that is
/// written, and the bytes.
const RELOCATIONS: [(u32, Value, u32, usize); 8] = [
    (1, Value::Absolute, 0, 4),
    (2, Value::Absolute, 32, 4),
    (3, Value::Absolute, 0, 8),
    (4, Value::Relative, 0, 4),
    (5, Value::Relative, 0, 8),
    (6, Value::Absolute, 0, 4),
    (10, Value::Relative, 0, 4),
    (11, Value::Relative, 32, 4),
];

impl Placed {
    /// The sections of `file`, of `most` bytes together, with all that they refer to.
    pub(super) fn new(
        file: &ElfFile64<'_, LittleEndian>,
        most: usize,
    ) -> Result<Placed, ObjectError> {
        let mut sections = BTreeMap::new();
        let mut end = LOAD;
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue; // not of an ELF file
            };
            if !sh_flags.contains(ALLOCATED) {
                continue;
            }
            let size = usize::try_from(section.size()).unwrap_or(usize::MAX);
            if size > most || end - LOAD > most as u64 {
                return Err(ObjectError::Limit(format!("a section of {size} bytes")));
            }
            let mut bytes = section.data()?.to_vec();
            bytes.resize(size, 0);
            let placed = Section {
                address: end,
                bytes,
                is_code: section.kind() == SectionKind::Text,
            };
            end = (end + size as u64 + 1).next_multiple_of(PAGE);
            sections.insert(section.index().0, placed);
        }
        let mut placed = Placed { sections };
        for section in file.sections() {
            for (offset, relocation) in section.relocations() {
                placed.fill_in(file, section.index(), offset, &relocation)?;
            }
        }
        Ok(placed)
    }

    /// The address of `symbol`; `None` if another file defines it.
    fn address<'s>(&self, symbol: &impl ObjectSymbol<'s>) -> Option<u64> {
        let section = self.sections.get(&symbol.section_index()?.0)?;
        section.address.checked_add(symbol.address())
    }

    fn fill_in(
        &mut self,
        file: &ElfFile64<'_, LittleEndian>,
        section: SectionIndex,
        offset: u64,
        relocation: &Relocation,
    ) -> Result<(), ObjectError> {
        let Some(into) = self.sections.get(&section.0) else {
            return Ok(()); // debug lines
        };
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            return Ok(()); // not of an ELF file
        };
        let unknown = || ObjectError::Limit(format!("a relocation of type {}", r_type.0));
        let row = RELOCATIONS.iter().find(|(number, ..)| *number == r_type.0);
        let (_, value, first, count) = row.ok_or_else(unknown)?;
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = file.symbol_by_index(index)?;
                let name = symbol.name().unwrap_or_default();
                let undefined = || ObjectError::Limit(format!("`{name}`, which is not defined"));
                self.address(&symbol).ok_or_else(undefined)?
            }
            RelocationTarget::Section(index) => {
                self.sections.get(&index.0).ok_or_else(unknown)?.address
            }
            _ => return Err(unknown()),
        };
        let place = into.address.wrapping_add(offset);
        let value = match value {
            Value::Absolute => target,
            Value::Relative => target.wrapping_sub(place),
        };
        let value = value.wrapping_add_signed(relocation.addend()) >> first;
        let slot = usize::try_from(offset).ok().and_then(|offset| {
            let section = self.sections.get_mut(&section.0)?;
            section.bytes.get_mut(offset..offset.checked_add(*count)?)
        });
        let beyond = || ObjectError::Limit(format!("a relocation of nothing, at {offset:#x}"));
        let bytes = value.to_le_bytes();
        slot.ok_or_else(beyond)?
            .copy_from_slice(bytes.get(..*count).unwrap_or_default());
        Ok(())
    }

    /// Executable bytes by their addresses.
    pub(super) fn code(&self) -> Vec<(u64, Vec<u8>)> {
        let code = self.sections.values().filter(|section| section.is_code);
        code.map(|section| (section.address, section.bytes.clone()))
            .collect()
    }

    /// The addresses of what has a name.
    pub(super) fn symbols(&self, file: &ElfFile64<'_, LittleEndian>) -> BTreeMap<String, u64> {
        let symbols = file.symbols();
        let named = symbols.filter_map(|symbol| {
            let name = symbol.name().ok()?.to_owned();
            Some((name, self.address(&symbol)?))
        });
        named.collect()
    }

    /// All bytes by their addresses.
    pub(super) fn into_segments(self) -> Vec<(u64, Vec<u8>)> {
        let sections = self.sections.into_values();
        sections
            .map(|section| (section.address, section.bytes))
            .collect()
    }
}
