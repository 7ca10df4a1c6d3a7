//! The GPU that a profile was recorded on, as two words of the header.

use std::fmt;

/// Of [`Processor::Amd`] and [`Processor::AmdGeneric`], in the lowest byte of the first word.
const AMD: u32 = 1;
/// Of [`Processor::Nvidia`].
const NVIDIA: u32 = 2;
/// Set in the third byte of the first word for [`Processor::AmdGeneric`].
const GENERIC: u32 = 1 << 16;

/// A GPU with the size of its waves.
///
/// ```
/// use splitbar_passes::profile::Gpu;
///
/// let gpu = Gpu::new("gfx1201", 32).ok_or("not a GPU")?;
/// assert_eq!(gpu.words(), [0x2001, 0x0c_00_01]);
/// assert_eq!(Gpu::from_parts(gpu.words()), Some(gpu));
/// assert_eq!(gpu.to_string(), "gfx1201, waves of 32");
/// # Ok::<(), &str>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    processor: Processor,
    wave_size: u32,
}

/// What its name says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Processor {
    /// `gfx90a`: version 9, 0, 10.
    Amd {
        major: u32,
        minor: u32,
        stepping: u32,
    },
    /// Code for several GPUs of AMD: `gfx9-4-generic`; the second number is 0 where there is none.
    AmdGeneric { major: u32, minor: u32 },
    /// `sm_90`, by the compute capability as one number.
    Nvidia(u32),
}

impl Gpu {
    /// The GPU with the LLVM name `name`, without features and suffixes after it (`gfx90a:xnack+`,
    /// `sm_90a`), with waves of `wave_size` lanes. `None` for other names and sizes.
    pub fn new(name: &str, wave_size: u32) -> Option<Gpu> {
        let gpu = Gpu {
            processor: Processor::named(name)?,
            wave_size,
        };
        // Spellings with more zeros are none.
        (gpu.name() == name && Gpu::from_parts(gpu.words()) == Some(gpu)).then_some(gpu)
    }

    /// The GPU of two words; `None` where they are not what [`Gpu::words`] gives for one.
    pub fn from_parts([kind, number]: [u32; 2]) -> Option<Gpu> {
        let [vendor, wave_size, ..] = kind.to_le_bytes().map(u32::from);
        let [stepping, minor, major, _] = number.to_le_bytes().map(u32::from);
        let is_version = (1..100).contains(&major) && minor < 16 && stepping < 16;
        let processor = match vendor {
            AMD if kind & GENERIC != 0 && is_version => Processor::AmdGeneric { major, minor },
            AMD if is_version => Processor::Amd {
                major,
                minor,
                stepping,
            },
            NVIDIA if (1..1000).contains(&number) => Processor::Nvidia(number),
            _ => return None,
        };
        let is_size = match processor {
            Processor::Amd { .. } | Processor::AmdGeneric { .. } => matches!(wave_size, 32 | 64),
            Processor::Nvidia(_) => wave_size == 32,
        };
        let gpu = Gpu {
            processor,
            wave_size,
        };
        // Bits without a meaning are zeros.
        (is_size && gpu.words() == [kind, number]).then_some(gpu)
    }

    /// Two words that are not both zeros: the vendor, the lanes of a wave and whether the code is
    /// generic, a byte each; and the version.
    pub fn words(self) -> [u32; 2] {
        let version = |major, minor, stepping| major << 16 | minor << 8 | stepping;
        let (kind, number) = match self.processor {
            Processor::Amd {
                major,
                minor,
                stepping,
            } => (AMD, version(major, minor, stepping)),
            Processor::AmdGeneric { major, minor } => (AMD | GENERIC, version(major, minor, 0)),
            Processor::Nvidia(sm) => (NVIDIA, sm),
        };
        [kind | (self.wave_size & 0xff) << 8, number]
    }

    /// Its name, as LLVM spells it.
    pub fn name(self) -> String {
        match self.processor {
            Processor::Amd {
                major,
                minor,
                stepping,
            } => format!("gfx{major}{minor:x}{stepping:x}"),
            Processor::AmdGeneric { major, minor: 0 } => format!("gfx{major}-generic"),
            Processor::AmdGeneric { major, minor } => format!("gfx{major}-{minor}-generic"),
            Processor::Nvidia(sm) => format!("sm_{sm}"),
        }
    }

    /// Lanes of a wave.
    pub fn wave_size(self) -> u32 {
        self.wave_size
    }
}

impl Processor {
    /// What `name` says, without a look at how large its numbers are.
    fn named(name: &str) -> Option<Processor> {
        if let Some(sm) = name.strip_prefix("sm_") {
            return Some(Processor::Nvidia(sm.parse().ok()?));
        }
        let rest = name.strip_prefix("gfx")?;
        if let Some(version) = rest.strip_suffix("-generic") {
            let (major, minor) = version.split_once('-').unwrap_or((version, "0"));
            let byte = |text: &str| text.parse::<u8>().ok().map(u32::from);
            return Some(Processor::AmdGeneric {
                major: byte(major)?,
                minor: byte(minor)?,
            });
        }
        let (major, last) = rest.split_at_checked(rest.len().checked_sub(2)?)?;
        let mut digits = last.chars().map(|digit| digit.to_digit(16));
        Some(Processor::Amd {
            major: u32::from(major.parse::<u8>().ok()?),
            minor: digits.next()??,
            stepping: digits.next()??,
        })
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, waves of {}", self.name(), self.wave_size)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_become_words_and_words_names() {
        for (name, wave_size, words) in [
            ("gfx600", 64, [0x4001, 0x06_00_00]),
            ("gfx90a", 64, [0x4001, 0x09_00_0a]),
            ("gfx1150", 32, [0x2001, 0x0b_05_00]),
            ("gfx1201", 64, [0x4001, 0x0c_00_01]),
            ("gfx9-generic", 64, [0x0001_4001, 0x09_00_00]),
            ("gfx9-4-generic", 64, [0x0001_4001, 0x09_04_00]),
            ("gfx12-generic", 32, [0x0001_2001, 0x0c_00_00]),
            ("sm_90", 32, [0x2002, 90]),
            ("sm_121", 32, [0x2002, 121]),
        ] {
            let gpu = Gpu::new(name, wave_size).unwrap();
            assert_eq!(
                (gpu.words(), Gpu::from_parts(words)),
                (words, Some(gpu)),
                "{name}"
            );
            assert_eq!((gpu.name().as_str(), gpu.wave_size()), (name, wave_size));
        }
    }

    #[test]
    fn others_are_none() {
        for (name, wave_size) in [
            ("", 32),
            ("gfx", 32),
            ("gfx1", 32),
            ("gfx12", 32),
            ("gfx1201", 0),
            ("gfx1201", 16),
            ("gfx1201", 288),
            ("gfx01201", 32),
            ("gfx-1201", 32),
            ("gfx12345", 32),
            ("gfx90A", 64),
            ("gfx90a:xnack+", 64),
            ("gfx12-0-generic", 32),
            ("gfx012-generic", 32),
            ("gfx-generic", 32),
            ("gfx9-16-generic", 64),
            ("gfx1é", 32),
            ("sm_90", 64),
            ("sm_90a", 32),
            ("sm_090", 32),
            ("sm_+90", 32),
            ("sm_0", 32),
            ("sm_4294967295", 32),
            ("SM_90", 32),
        ] {
            assert_eq!(Gpu::new(name, wave_size), None, "{name} {wave_size}");
        }
        for words in [
            [0, 0],
            [0, 1],
            [0x2001, 0],
            [0x2003, 90],
            [0x2002, 0],
            [0x2002, 1000],
            [0x4002, 90],
            [0x1001, 0x0c_00_01],
            [0x2001, 0x0c_10_01],
            [0x2001, 0x0c_00_10],
            [0x2001, 0x64_00_00],
            [0x2001, 0x010c_0001],
            [0x0101_2001, 0x0c_00_01],
            [0x0002_2001, 0x0c_00_01],
            [0x0001_2001, 0x0c_00_01],
            [0x0001_2002, 90],
            [u32::MAX, u32::MAX],
        ] {
            assert_eq!(Gpu::from_parts(words), None, "{words:x?}");
        }
    }
}
