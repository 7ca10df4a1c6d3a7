//! Needs of a program for Linux: the libraries and the release of glibc, from its dynamic section.

use anyhow::{Context, Result};
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _};

/// Libraries that a wheel for manylinux may use: those of every system with glibc (PEP 600).
const OF_MANYLINUX: &[&str] = &[
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
];

/// Needs of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The shared libraries, as the program names them.
    pub(super) libraries: Vec<String>,
    /// The minor version of the oldest glibc that has all symbols: 34 for 2.34.
    pub(super) glibc: u32,
}

impl Needs {
    /// Reads them from a 64-bit ELF file.
    pub(super) fn read(bytes: &[u8]) -> Result<Needs> {
        let header = FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let mut needs = Needs::default();
        if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            for entry in entries {
                if entry.tag(endian) == elf::DT_NEEDED {
                    let name = entry.string(endian, strings)?;
                    needs
                        .libraries
                        .push(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
        if let Some((mut files, link)) = sections.gnu_verneed(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            while let Some((_, mut versions)) = files.next()? {
                while let Some(version) = versions.next()? {
                    let name = version.name(endian, strings)?;
                    let minor = glibc(&String::from_utf8_lossy(name));
                    needs.glibc = needs.glibc.max(minor.unwrap_or(0));
                }
            }
        }
        Ok(needs)
    }

    /// The libraries that not every system has.
    pub(super) fn foreign(&self) -> Vec<&str> {
        let names = self.libraries.iter().map(String::as_str);
        names.filter(|name| !OF_MANYLINUX.contains(name)).collect()
    }
}

/// 34 of `GLIBC_2.34`; 2 of `GLIBC_2.2.5`.
fn glibc(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("GLIBC_2.")?;
    rest.split('.').next()?.parse().ok()
}

/// 34 of the name of a wheel for `manylinux_2_34`, the lowest one if it has several.
pub(super) fn promised(wheel: &str) -> Result<Option<u32>> {
    let tags = wheel.split("manylinux_2_").skip(1);
    let minors = tags.map(|tag| {
        let digits = tag.split('_').next().unwrap_or_default();
        digits
            .parse::<u32>()
            .with_context(|| format!("the tag of {wheel}"))
    });
    let minors: Vec<u32> = minors.collect::<Result<_>>()?;
    Ok(minors.into_iter().min())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_versions_are_minor_numbers() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some(2));
        assert_eq!(glibc("GLIBC_2.34"), Some(34));
        assert_eq!(glibc("GCC_3.0"), None);
        let promise = |tag| promised(&format!("splitbar-0.1.0-cp310-abi3-{tag}.whl"));
        assert_eq!(promise("manylinux_2_34_x86_64").unwrap(), Some(34));
        let both = "manylinux_2_17_x86_64.manylinux_2_28_x86_64";
        assert_eq!(promise(both).unwrap(), Some(17));
        assert_eq!(promise("macosx_11_0_arm64").unwrap(), None);
        assert!(promise("manylinux_2_x").is_err());
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn this_program_needs_the_c_library() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = Needs::read(&program).unwrap();
        assert!(needs.libraries.iter().any(|name| name == "libc.so.6"));
        // Rust's own floor.
        assert!(needs.glibc >= 17 && needs.glibc < 100, "{needs:?}");
        assert_eq!(needs.foreign(), [""; 0]);
        assert!(Needs::read(b"#!/bin/sh\n").is_err());
    }
}
