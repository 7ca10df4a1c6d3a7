//! Targets by what people call them: names of products and architectures, generations, and names
//! with mistakes in them.

mod product;
mod table;

pub use product::Product;

use super::{Arch, Target};
use std::fmt;

/// The reason why a name is not that of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownTarget {
    /// There is such a target, but not with this feature or suffix.
    Variant(String),
    /// Products with different GPUs have the name.
    Products(Vec<Product>),
    /// The name is that of a generation, or the beginning of the names of these targets.
    Several(Vec<&'static Target>),
    /// No target has the name; these have similar ones. Empty if none has.
    Unlike(Vec<&'static Target>),
}

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |targets: &[&'static Target]| -> Vec<&'static str> {
            targets.iter().map(|target| target.name).collect()
        };
        match self {
            UnknownTarget::Variant(why) => f.write_str(why),
            UnknownTarget::Products(products) => {
                let mut gpus: Vec<String> = Vec::new();
                for (position, product) in products.iter().enumerate() {
                    let is_first = |other: &&Product| other.target == product.target;
                    let first = products.iter().take(position).find(is_first);
                    if first.is_none() {
                        gpus.push(format!("{} ({})", product.target, product.name));
                    }
                }
                write!(f, "several GPUs have this name: {}", gpus.join(", "))
            }
            UnknownTarget::Several(targets) => {
                write!(
                    f,
                    "name one of these targets: {}",
                    names(targets).join(", ")
                )
            }
            UnknownTarget::Unlike(near) if near.is_empty() => f.write_str("no such target"),
            UnknownTarget::Unlike(near) => {
                let near = names(near).join(" or ");
                write!(f, "no such target; did you mean {near}?")
            }
        }
    }
}

impl std::error::Error for UnknownTarget {}

/// No name of a target, generation or product is half as long: a hostile argument must not cost
/// time.
const LONGEST: usize = 64;

/// Candidates that a message lists; more are no help.
const MOST_CANDIDATES: usize = 12;

impl Target {
    /// The target that people mean by `text`: its name or that of a variant ([`Target::spelled`]),
    /// or the name of a product or architecture, as its maker, a driver or people write it
    /// (`RX 9070 XT`, `rtx4090`, `NVIDIA H100 80GB HBM3`), if that has one GPU only.
    ///
    /// ```
    /// use splitbar_target::Target;
    ///
    /// assert_eq!(Target::named("Radeon RX 9070 XT").map(|target| target.name), Ok("gfx1201"));
    /// assert_eq!(Target::named("h100").map(|target| target.name), Ok("sm_90"));
    /// ```
    ///
    /// # Errors
    /// The candidates, if there are some.
    pub fn named(text: &str) -> Result<&'static Target, UnknownTarget> {
        match Target::spelled(text) {
            Ok(target) => return Ok(target),
            Err(Some(why)) => return Err(UnknownTarget::Variant(why)),
            Err(None) => {}
        }
        if text.len() > LONGEST {
            return Err(UnknownTarget::Unlike(Vec::new()));
        }
        let several = of_generation(text);
        if !several.is_empty() {
            return Err(UnknownTarget::Several(several));
        }
        let products = sold_as(text);
        let mut gpus: Vec<&str> = products.iter().map(|product| product.target).collect();
        gpus.dedup();
        match gpus.as_slice() {
            [] => Err(UnknownTarget::Unlike(Target::nearest(text))),
            [gpu] => Target::spelled(gpu).map_err(|_| UnknownTarget::Products(products)),
            _ if gpus.len() > MOST_CANDIDATES => Err(UnknownTarget::Unlike(Vec::new())),
            _ => Err(UnknownTarget::Products(products)),
        }
    }

    /// The names of the products with this GPU, and of its architecture.
    pub fn products(&self) -> impl Iterator<Item = &'static str> {
        let gpu = self.gpu();
        let of_gpu = table::PRODUCTS.iter().filter(move |row| row.target == gpu);
        of_gpu.map(|row| row.name)
    }
}

/// The targets of the generation `text` (`gfx12`), or those whose names begin so.
fn of_generation(text: &str) -> Vec<&'static Target> {
    const SHORTEST: usize = 4; // `sm_9`, `gfx9`
    let text = text.to_ascii_lowercase();
    let all = || Target::all().iter();
    let generation = |target: &&Target| match &target.arch {
        Arch::Amdgpu(gpu) => gpu.generation == text,
        Arch::Nvptx(_) => false,
    };
    let mut found: Vec<_> = all().filter(generation).collect();
    if found.is_empty() && text.len() >= SHORTEST {
        found = all()
            .filter(|target| target.name.starts_with(&text))
            .collect();
    }
    if found.len() > 2 * MOST_CANDIDATES {
        found.clear();
    }
    found
}

/// The products that `text` names, in the order of the table: those of exactly this name; else
/// those whose names contain it; else those with the longest name that it contains.
fn sold_as(text: &str) -> Vec<Product> {
    let wanted = words(text);
    let rows = || table::PRODUCTS.iter().map(|row| (row, words(row.name)));
    let chosen = |fits: &dyn Fn(&[String]) -> bool| -> Vec<Product> {
        let rows = rows().filter(|(_, name)| fits(name));
        rows.map(|(row, _)| *row).collect()
    };
    if wanted.is_empty() {
        return Vec::new();
    }
    let exact = chosen(&|name| name == wanted);
    if !exact.is_empty() {
        return exact;
    }
    // A short number alone is part of many names.
    let is_number = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
    if wanted
        .iter()
        .any(|word| is_number(word) && (word.len() > 2 || wanted.len() > 1))
    {
        let longer = chosen(&|name| contains(name, &wanted));
        if !longer.is_empty() {
            return longer;
        }
    }
    let within = |name: &[String]| name.iter().any(is_number) && contains(&wanted, name);
    let lengths = rows()
        .filter(|(_, name)| within(name))
        .map(|(_, name)| name.len());
    match lengths.max() {
        Some(longest) => chosen(&|name| name.len() == longest && within(name)),
        None => Vec::new(),
    }
}

/// Returns true if the words of `part` follow each other in `name`.
fn contains(name: &[String], part: &[String]) -> bool {
    name.windows(part.len().max(1)).any(|window| window == part)
}

/// The words and numbers of a name in lower case (`RX7900XTX`: `rx`, `7900`, `xtx`), without those
/// that tell no GPUs apart.
fn words(text: &str) -> Vec<String> {
    const OF_EVERY_GPU: [&str; 10] = [
        "amd",
        "nvidia",
        "geforce",
        "radeon",
        "instinct",
        "tesla",
        "gpu",
        "graphics",
        "generation",
        "tm",
    ];
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        let kind = (c.is_ascii_alphabetic(), c.is_ascii_digit());
        if c.is_ascii_alphanumeric() {
            match words.last_mut() {
                Some(word) if before == Some(kind) => word.push(c),
                _ => words.push(c.to_string()),
            }
        }
        before = Some(kind);
    }
    words.retain(|word| !OF_EVERY_GPU.contains(&word.as_str()));
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        match Target::named(text) {
            Ok(target) => target.name.to_owned(),
            Err(unknown) => unknown.to_string(),
        }
    }

    #[test]
    fn products_lead_to_their_gpu() {
        for (text, gpu) in [
            ("H100", "sm_90"),
            ("h100", "sm_90"),
            ("NVIDIA H100 80GB HBM3", "sm_90"),
            ("A100", "sm_80"),
            ("NVIDIA A100-SXM4-80GB", "sm_80"),
            ("Tesla V100", "sm_70"),
            ("L40", "sm_89"),
            ("L40S", "sm_89"),
            ("rtx4090", "sm_89"),
            ("4090", "sm_89"),
            ("GeForce RTX 5090", "sm_120"),
            ("NVIDIA GeForce RTX 4070 Laptop GPU", "sm_89"),
            ("B200", "sm_100"),
            ("hopper", "sm_90"),
            ("RX 9070 XT", "gfx1201"),
            ("rx9070xt", "gfx1201"),
            ("9070", "gfx1201"),
            ("Radeon RX 7900 XTX", "gfx1100"),
            ("AMD Radeon RX 7900 XTX", "gfx1100"),
            ("AMD Radeon(TM) 8060S Graphics", "gfx1151"),
            ("MI300X", "gfx942"),
            ("mi300", "gfx942"),
            ("AMD Instinct MI250X", "gfx90a"),
            ("Strix Halo", "gfx1151"),
            ("CDNA3", "gfx942"),
            ("gfx90a:xnack+", "gfx90a:xnack+"),
        ] {
            assert_eq!(said(text), gpu, "{text}");
        }
    }

    #[test]
    fn several_gpus_are_listed() {
        for (text, answer) in [
            (
                "gfx12",
                "name one of these targets: gfx1200, gfx1201, gfx12-generic",
            ),
            (
                "gfx12.5",
                "name one of these targets: gfx1250, gfx1251, gfx12-5-generic",
            ),
            ("sm_9", "name one of these targets: sm_90"),
            (
                "RTX 4000",
                "several GPUs have this name: sm_75 (Quadro RTX 4000), sm_89 (RTX 4000 Ada)",
            ),
            (
                "RDNA4",
                "several GPUs have this name: gfx1200 (RDNA 4), gfx1201 (RDNA 4)",
            ),
            (
                "Ampere",
                "several GPUs have this name: sm_80 (Ampere), sm_86 (Ampere), sm_87 (Ampere)",
            ),
            (
                "gfx1221",
                "no such target; did you mean gfx1201 or gfx1251?",
            ),
            ("SM90", "no such target; did you mean sm_90?"),
            ("compute_89", "no such target; did you mean sm_89?"),
            ("8.9", "no such target; did you mean sm_89?"),
        ] {
            assert_eq!(said(text), answer, "{text}");
        }
    }

    #[test]
    fn other_names_are_unknown() {
        for text in [
            "", " ", "-", "banana", "4", "rx", "rtx", "gfx", "gfx14", "H1000", "é",
        ] {
            assert_eq!(said(text), "no such target", "{text}");
        }
        assert_eq!(said(&"9070 ".repeat(1000)), "no such target");
        assert!(Target::named("sm_80a").is_err_and(|why| matches!(why, UnknownTarget::Variant(_))));
    }

    /// Every name of the table leads to its GPU, or to a list with it.
    #[test]
    fn every_product_is_found() {
        for row in table::PRODUCTS {
            assert!(Target::by_name(row.target).is_some(), "{row:?}");
            let is_found = match Target::named(row.name) {
                Ok(target) => target.name == row.target,
                Err(UnknownTarget::Products(products)) => products.contains(row),
                Err(_) => false,
            };
            assert!(is_found, "{row:?}");
        }
        let gpu = Target::by_name("gfx90a:xnack+").unwrap();
        assert!(gpu.products().any(|name| name == "Instinct MI250X"));
    }
}
