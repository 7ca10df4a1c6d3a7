//! Describes the features of each GPU as data. The crate uses neither LLVM nor SPIR-V. Read
//! [`Target::by_name`] first.
//!
//! The rows are generated from `fixtures/targets/*.toml` (`cargo xtask targets`), which names the
//! source of every fact. Code tests a capability of a row, such as split barriers, and never
//! compares names or versions, so a new GPU is a new row.
//!
//! ```
//! use splitbar_target::Target;
//!
//! let target = Target::by_name("gfx1201").ok_or("no such target")?;
//! assert!(target.amdgpu().is_some_and(|gpu| gpu.split_barrier));
//! assert_eq!(Target::by_name("gfx90a:xnack+").map(Target::gpu), Some("gfx90a"));
//! # Ok::<(), &str>(())
//! ```
#![cfg_attr(not(test), warn(clippy::indexing_slicing))] // input must never reach one

mod counter;
mod placement;
mod products;
pub mod residency;
mod scope;
mod spelling;
mod table;
mod target;
pub mod timing;

pub use counter::{Counter, waits};
pub use placement::Placement;
pub use products::{Product, UnknownTarget};
pub use scope::FenceScope;
pub use target::{
    Amdgpu, Arch, ByteDots, CacheOps, Cost, Execution, Field, Matrix, Mbarrier, Mma, Nvptx, Target,
    Waitcnt,
};

impl Target {
    /// The target of this exact name, if there is one, or a variant of one ([`Target::spelled`]).
    pub fn by_name(name: &str) -> Option<&'static Target> {
        Target::spelled(name).ok()
    }

    /// Every target, in the order of listings: AMD by generation, then NVIDIA by number.
    pub fn all() -> &'static [Target] {
        table::TARGETS
    }

    /// The targets whose names look most like `name`, best first, at most three: for "did you
    /// mean". Empty when nothing is near.
    ///
    /// Case and separators do not count (`SM90` finds `sm_90`), and a compute capability is that of
    /// its target (`8.9`, `compute_89`). Otherwise a name is near with one single-character edit,
    /// and with two replacements: what is shorter or longer by two was not meant.
    pub fn nearest(name: &str) -> Vec<&'static Target> {
        const MOST: usize = 3;
        const LONGEST: usize = 32; // no name is longer than half of this; a hostile argument must not cost time
        if name.len() > LONGEST {
            return Vec::new();
        }
        let wanted = as_target(squeeze(name));
        let mut ranked: Vec<(usize, &'static Target)> = table::TARGETS
            .iter()
            .map(|t| (squeeze(t.name), t))
            .map(|(known, t)| (distance(&wanted, &known), known.len(), t))
            .filter(|(d, length, _)| *d <= if wanted.len() == *length { 2 } else { 1 })
            .map(|(d, _, t)| (d, t))
            .collect();
        // The sort is stable, so equally near names keep the order of the table.
        ranked.sort_by_key(|(d, _)| *d);
        let best = ranked.first().map(|(d, _)| *d);
        ranked
            .into_iter()
            .filter(|(d, _)| Some(*d) == best)
            .take(MOST)
            .map(|(_, t)| t)
            .collect()
    }

    /// Default number of lanes per wave (warp).
    pub fn default_wave_size(&self) -> u32 {
        self.wave_sizes.first().copied().unwrap_or(32)
    }

    /// Workgroup memory that code can declare with a fixed size, in bytes: on NVIDIA GPUs, less
    /// than [`Target::lds_bytes`]. The rest is dynamic shared memory, which a launch requests.
    pub fn static_shared_bytes(&self) -> u32 {
        match &self.arch {
            Arch::Amdgpu(_) => self.lds_bytes,
            Arch::Nvptx(gpu) => gpu.static_shared_bytes,
        }
    }

    /// The LLVM target triple. A module must carry it before code generation.
    pub fn triple(&self) -> &'static str {
        match self.arch {
            Arch::Amdgpu(_) => "amdgcn-amd-amdhsa",
            Arch::Nvptx(_) => "nvptx64-nvidia-cuda",
        }
    }

    /// The processor name for LLVM (`-mcpu`).
    pub fn cpu(&self) -> &'static str {
        match self.arch {
            Arch::Amdgpu(a) => a.cpu,
            Arch::Nvptx(_) => self.name,
        }
    }

    /// The feature string for LLVM (`-mattr`) with the default wave size.
    pub fn features(&self) -> String {
        match self.arch {
            Arch::Amdgpu(_) => self.id_features().join(","),
            Arch::Nvptx(n) => format!("+ptx{}", n.ptx),
        }
    }

    /// Returns true if workgroups can be launched in clusters.
    pub fn has_clusters(&self) -> bool {
        match &self.arch {
            Arch::Amdgpu(gpu) => gpu.cluster_barrier,
            Arch::Nvptx(gpu) => gpu.cluster,
        }
    }

    /// The AMD facts, if this is an AMD target.
    pub fn amdgpu(&self) -> Option<&Amdgpu> {
        match &self.arch {
            Arch::Amdgpu(a) => Some(a),
            Arch::Nvptx(_) => None,
        }
    }

    /// The NVIDIA facts, if this is an NVIDIA target.
    pub fn nvptx(&self) -> Option<&Nvptx> {
        match &self.arch {
            Arch::Amdgpu(_) => None,
            Arch::Nvptx(n) => Some(n),
        }
    }
}

/// A name without what people vary in it: case, `_`, `-`, `.` and blanks.
fn squeeze(name: &str) -> Vec<char> {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

/// A squeezed compute capability (`89`, `compute89`, `cc89`) as the name of its target.
fn as_target(name: Vec<char>) -> Vec<char> {
    let text: String = name.iter().collect();
    let number = ["compute", "cc", ""].iter().find_map(|prefix| {
        let number = text.strip_prefix(prefix)?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number.then_some(number)
    });
    number.map_or(name, |number| format!("sm{number}").chars().collect())
}

/// The number of single-character insertions, deletions and replacements between two names.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for ((cb, diagonal), above) in b.iter().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or(i + 1);
            let replaced = diagonal + usize::from(ca != cb);
            next.push(replaced.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(found: &[&Target]) -> Vec<&'static str> {
        found.iter().map(|t| t.name).collect()
    }

    #[test]
    fn every_row_makes_sense() {
        for t in Target::all() {
            assert!(!t.wave_sizes.is_empty(), "{}", t.name);
            assert!(
                t.wave_sizes.iter().all(|w| [32, 64].contains(w)),
                "{}",
                t.name
            );
            assert!(
                t.max_workgroup_size.is_multiple_of(t.default_wave_size()),
                "{}",
                t.name
            );
            assert_eq!(
                Target::by_name(t.name),
                Some(t),
                "two rows are named {}",
                t.name
            );
            match t.arch {
                Arch::Amdgpu(a) => {
                    assert_eq!(a.cpu, t.name);
                    assert!(t.name.starts_with("gfx"));
                    assert!(!a.cluster_barrier || a.split_barrier, "{}", t.name);
                    assert!(a.named_barriers == 0 || a.split_barrier, "{}", t.name);
                    assert!(!a.async_counter || a.async_marks, "{}", t.name);
                    for (counter, most) in a.counters {
                        assert!((most + 1).is_power_of_two(), "{} {counter:?}", t.name);
                    }
                    if let Some(waitcnt) = a.waitcnt {
                        // The fields hold exactly the counters, and do not overlap.
                        let bits = |fields: &[Field]| fields.iter().map(|f| f.bits).sum::<u32>();
                        let fields = [
                            (bits(waitcnt.vm), Counter::Vmcnt),
                            (waitcnt.exp.bits, Counter::Expcnt),
                            (waitcnt.lgkm.bits, Counter::Lgkmcnt),
                        ];
                        for (bits, counter) in fields {
                            assert_eq!(a.most_outstanding(counter), Some((1 << bits) - 1));
                        }
                        let masks = waitcnt.vm.iter().chain([&waitcnt.exp, &waitcnt.lgkm]);
                        masks.fold(0u32, |seen, field| {
                            assert_eq!(seen & field.mask(), 0, "{}", t.name);
                            seen | field.mask()
                        });
                    }
                    assert_eq!(
                        a.waitcnt.is_some(),
                        a.most_outstanding(Counter::Loadcnt).is_none()
                    );
                    assert_eq!(
                        a.kmcnt,
                        a.most_outstanding(Counter::Kmcnt).is_some(),
                        "{}",
                        t.name
                    );
                }
                Arch::Nvptx(n) => {
                    assert_eq!(t.name, format!("sm_{}", n.sm));
                    assert_eq!(t.features(), format!("+ptx{}", n.ptx));
                    assert_eq!(n.cluster, n.mbarrier == Mbarrier::TryWait, "{}", t.name);
                    assert!(!n.bulk_copy || n.cp_async && n.ptx >= 86, "{}", t.name);
                }
            }
        }
    }

    #[test]
    fn split_barriers_are_in_hardware_from_gfx12_on() {
        let gpus = Target::all().iter().filter_map(Target::amdgpu);
        let mut with = 0;
        for gpu in gpus {
            let (major, _) = gpu
                .generation
                .split_once('.')
                .unwrap_or((gpu.generation, ""));
            let number: u32 = major.trim_start_matches("gfx").parse().unwrap();
            assert_eq!(gpu.split_barrier, number >= 12, "{}", gpu.cpu);
            with += u32::from(gpu.split_barrier);
        }
        assert!(with > 0);
    }

    /// LLVM AMDGPUUsage and the ISA manuals, "S_WAITCNT": the fields move from generation to
    /// generation.
    #[test]
    fn immediates_of_s_waitcnt() {
        for (name, nothing, vector_memory, lds) in [
            ("gfx600", 0xf7f, 0xf70, 0x07f),
            ("gfx803", 0xf7f, 0xf70, 0x07f),
            ("gfx906", 0xcf7f, 0x0f70, 0xc07f),
            ("gfx950", 0xcf7f, 0x0f70, 0xc07f),
            ("gfx1030", 0xff7f, 0x3f70, 0xc07f),
            ("gfx1100", 0xfff7, 0x03f7, 0xfc07),
        ] {
            let gpu = Target::by_name(name).and_then(Target::amdgpu);
            let waitcnt = gpu.and_then(|gpu| gpu.waitcnt).unwrap();
            let zero = [&[][..], &[Counter::Vmcnt], &[Counter::Lgkmcnt]];
            assert_eq!(
                zero.map(|counters| waitcnt.zero(counters)),
                [nothing, vector_memory, lds],
                "{name}"
            );
        }
        let gpu = Target::by_name("gfx1201").and_then(Target::amdgpu);
        assert!(gpu.is_some_and(|gpu| gpu.waitcnt.is_none()));
    }

    #[test]
    fn default_waves() {
        let size = |name| Target::by_name(name).map(Target::default_wave_size);
        assert_eq!(size("gfx906"), Some(64));
        assert_eq!(size("gfx1030"), Some(32));
        assert_eq!(size("sm_90"), Some(32));
        assert_eq!(size("gfx1399"), None);
    }

    #[test]
    fn near_names() {
        assert_eq!(names(&Target::nearest("SM90")), ["sm_90"]);
        assert_eq!(names(&Target::nearest("gfx1221")), ["gfx1201", "gfx1251"]);
        assert_eq!(names(&Target::nearest("gfx12_generic")), ["gfx12-generic"]);
        assert!(Target::nearest("banana").is_empty());
        assert!(Target::nearest(&"gfx1201".repeat(1000)).is_empty());
    }

    #[test]
    fn distances() {
        let d = |a, b| distance(&squeeze(a), &squeeze(b));
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("abc", ""), 3);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("sm_90", "SM-90"), 0);
    }
}
