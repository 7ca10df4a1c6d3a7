//! Variants of targets, by name: the features of AMD's target ids (LLVM AMDGPUUsage, "Target ID")
//! and NVIDIA's suffixes (PTX ISA, ".target").

use super::{Arch, Target, table};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The version from which on PTX has the suffix `f`, as [`super::Nvptx::ptx`] counts.
const FAMILY_PTX: u32 = 88;

impl Target {
    /// The target that `name` spells: that of a row, or a variant that its row allows.
    ///
    /// # Errors
    /// What the target does not have, in words; nothing where no target begins so.
    pub fn spelled(name: &str) -> Result<&'static Target, Option<String>> {
        let exact = |name: &str| table::TARGETS.iter().find(|t| t.name == name);
        if let Some(target) = exact(name) {
            return Ok(target);
        }
        if let Some((base, features)) = name.split_once(':') {
            let target = exact(base).ok_or(None)?;
            return with_features(target, features).map_err(Some);
        }
        let base = name.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let target = exact(base).ok_or(None)?;
        with_suffix(target, name.get(base.len()..).unwrap_or_default()).map_err(Some)
    }

    /// The name of the target that this one is a variant of, or its own.
    pub fn gpu(&self) -> &'static str {
        match &self.arch {
            Arch::Amdgpu(gpu) => gpu.cpu,
            Arch::Nvptx(_) => self.name.trim_end_matches(|c: char| c.is_ascii_lowercase()),
        }
    }

    /// The features of an AMD target id as LLVM takes them: `+xnack`.
    pub(crate) fn id_features(&self) -> Vec<String> {
        let asked = self.name.split(':').skip(1);
        let parts =
            asked.filter_map(|feature| feature.split_at_checked(feature.len().checked_sub(1)?));
        parts.map(|(name, sign)| format!("{sign}{name}")).collect()
    }
}

/// `target` with `features`: names with `+` or `-` behind them, separated by colons.
fn with_features(target: &'static Target, features: &str) -> Result<&'static Target, String> {
    let name = target.name;
    let mut asked = BTreeMap::new();
    for feature in features.split(':') {
        let (feature, is_on) = match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
            (Some(feature), _) => (feature, true),
            (None, Some(feature)) => (feature, false),
            (None, None) => {
                return Err(format!("{feature:?} is not a feature followed by + or -"));
            }
        };
        let known = target.variants.iter().find(|known| **known == feature);
        let known = match (known, &target.arch) {
            (Some(known), Arch::Amdgpu(_)) => known,
            _ => return Err(format!("{name} has no selectable feature {feature:?}")),
        };
        if asked.insert(*known, is_on).is_some() {
            return Err(format!("{feature} is given twice"));
        }
    }
    // Sorted, as LLVM writes them.
    let asked = asked.into_iter();
    let text: String = asked
        .map(|(feature, is_on)| format!(":{feature}{}", if is_on { '+' } else { '-' }))
        .collect();
    Ok(kept(
        Target {
            name: "",
            ..*target
        },
        format!("{name}{text}"),
    ))
}

/// `target` with `suffix` behind its name.
fn with_suffix(target: &'static Target, suffix: &str) -> Result<&'static Target, String> {
    let name = target.name;
    let mut variant = *target;
    match &mut variant.arch {
        Arch::Nvptx(gpu) if target.variants.contains(&suffix) => {
            if suffix == "f" {
                gpu.ptx = gpu.ptx.max(FAMILY_PTX);
            }
        }
        Arch::Nvptx(_) | Arch::Amdgpu(_) => return Err(format!("{name} has no suffix {suffix:?}")),
    }
    Ok(kept(variant, format!("{name}{suffix}")))
}

/// The one variant of this name. There are at most nine of a target, so they are kept for ever.
fn kept(variant: Target, name: String) -> &'static Target {
    static KEPT: Mutex<BTreeMap<String, &'static Target>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(name.clone()).or_insert_with(|| {
        Box::leak(Box::new(Target {
            name: name.leak(),
            ..variant
        }))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn variants_have_the_facts_of_their_gpu() {
        for (name, canonical, gpu, features) in [
            ("gfx90a:xnack+", "gfx90a:xnack+", "gfx90a", "+xnack"),
            (
                "gfx90a:xnack-:sramecc+",
                "gfx90a:sramecc+:xnack-",
                "gfx90a",
                "+sramecc,-xnack",
            ),
            (
                "gfx9-generic:xnack-",
                "gfx9-generic:xnack-",
                "gfx9-generic",
                "-xnack",
            ),
            ("sm_90a", "sm_90a", "sm_90", "+ptx86"),
            ("sm_100f", "sm_100f", "sm_100", "+ptx88"),
        ] {
            let target = Target::by_name(name).unwrap();
            assert_eq!(target.name, canonical);
            assert_eq!(target.gpu(), gpu);
            assert_eq!(target.features(), features);
            assert!(std::ptr::eq(target, Target::by_name(canonical).unwrap()));
            let row = Target::by_name(gpu).unwrap();
            assert_eq!((row.lds_bytes, row.costs), (target.lds_bytes, target.costs));
        }
    }

    #[test]
    fn others_are_refused_in_words() {
        for (name, why) in [
            (
                "gfx1100:xnack+",
                "gfx1100 has no selectable feature \"xnack\"",
            ),
            (
                "gfx90a:xnack",
                "\"xnack\" is not a feature followed by + or -",
            ),
            ("gfx90a:", "\"\" is not a feature followed by + or -"),
            ("gfx90a:+", "gfx90a has no selectable feature \"\""),
            ("gfx90a:xnack+:xnack-", "xnack is given twice"),
            ("sm_90:a+", "sm_90 has no selectable feature \"a\""),
            ("sm_80a", "sm_80 has no suffix \"a\""),
            ("sm_90f", "sm_90 has no suffix \"f\""),
            ("gfx1100xnack", "gfx1100 has no suffix \"xnack\""),
        ] {
            assert_eq!(Target::spelled(name).unwrap_err().unwrap(), why, "{name}");
        }
        for name in ["", ":", "gfx9999:xnack+", "sm_1a", "é:+"] {
            assert_eq!(Target::spelled(name).unwrap_err(), None, "{name}");
        }
    }
}
