//! `cargo xtask soak`: random programs with seeds that no other test takes, for as long as asked. A
//! program that fails becomes a case in `fixtures/found`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{llvm, nvidia, shell};

/// The options of `cargo xtask soak`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Ends after the round in which this many minutes have passed
    #[arg(long, value_name = "N", default_value_t = 60)]
    minutes: u64,
    /// The first seed: the same one runs the same programs again
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    seed: u64,
    /// Runs only the families whose names contain this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The profile that is built
    #[arg(long, default_value = "release")]
    profile: String,
}

/// A family of the suite that takes seeds.
struct Family {
    name: &'static str,
    /// Its environment variable for the first seed.
    first: &'static str,
    /// Its environment variable for the number of programs.
    count: &'static str,
    /// Programs of one round: about a minute on two cores.
    programs: u64,
}

/// The variable for the first seed of most families.
const SEED: &str = "SPLITBAR_FIRST_SEED";

const FAMILIES: [Family; 7] = [
    Family {
        name: "random/",
        first: SEED,
        count: "SPLITBAR_SEEDS",
        programs: 300,
    },
    Family {
        name: "tangles/",
        first: SEED,
        count: "SPLITBAR_TANGLES",
        programs: 40,
    },
    Family {
        name: "undefined/",
        first: SEED,
        count: "SPLITBAR_UNDEFINED_SEEDS",
        programs: 100,
    },
    Family {
        name: "pipelines/",
        first: SEED,
        count: "SPLITBAR_PIPELINES",
        programs: 100,
    },
    Family {
        name: "exchanges/",
        first: SEED,
        count: "SPLITBAR_EXCHANGES",
        programs: 100,
    },
    Family {
        name: "faults/shapes",
        first: SEED,
        count: "SPLITBAR_SHAPES",
        programs: 6,
    },
    Family {
        name: "damaged/",
        first: "SPLITBAR_FIRST_DAMAGE",
        count: "SPLITBAR_DAMAGED",
        programs: 500,
    },
];

/// The folder with the cases.
const FOUND: &str = "fixtures/found";

/// Runs rounds until the time is over. Returns an error if a round found something, and names the
/// cases that it wrote.
pub(crate) fn run(options: &Options) -> Result<()> {
    llvm::ensure()?;
    let found = shell::root().join(FOUND);
    let before = cases(&found)?;
    let chosen = |name: &str| {
        let only = options.only.as_deref();
        only.is_none_or(|only| name.contains(only))
    };
    if !FAMILIES.iter().any(|family| chosen(family.name)) && !chosen("fuzz") {
        let names = FAMILIES.map(|family| family.name).join(", ");
        bail!("no family has that name: {names}, fuzz");
    }
    let profile = format!("--profile={}", options.profile);
    // What does not build is no finding.
    shell::run(shell::cargo(&[
        "test",
        &profile,
        "--package=splitbar-tests",
        "--package=splitbar-fuzz",
        "--no-run",
    ]))?;
    let end = Instant::now() + Duration::from_secs(60 * options.minutes);
    let mut failed = Vec::new();
    let mut round = 0;
    while round == 0 || Instant::now() < end {
        for family in FAMILIES.iter().filter(|family| chosen(family.name)) {
            let first = options.seed + round * family.programs;
            let mut command = shell::cargo(&[
                "test",
                &profile,
                "--package=splitbar-tests",
                "--test=suite",
                "--",
                family.name,
            ]);
            command
                .env(family.first, first.to_string())
                .env(family.count, family.programs.to_string())
                .env("SPLITBAR_FOUND", &found);
            nvidia::offer(&mut command);
            if shell::run(command).is_err() {
                failed.push(format!("{} from seed {first}", family.name));
            }
        }
        if chosen("fuzz") {
            let first = options.seed + round;
            let mut command = shell::cargo(&[
                "test",
                &profile,
                // Both, so that nothing is built again with other features.
                "--package=splitbar-tests",
                "--package=splitbar-fuzz",
                "--test=seconds",
            ]);
            command
                .env("SPLITBAR_FUZZ_SEED", first.to_string())
                .env("SPLITBAR_FUZZ_SECONDS", "20")
                .env("SPLITBAR_FOUND", &found);
            if shell::run(command).is_err() {
                failed.push(format!("fuzz from seed {first}"));
            }
        }
        round += 1;
        println!("soak: {round} rounds, {} with findings", failed.len());
    }
    if failed.is_empty() {
        return Ok(());
    }
    for case in cases(&found)?.difference(&before) {
        println!("{FOUND}/{}\n  {}", case.display(), trial(case, &profile));
    }
    bail!("found something: {}", failed.join(", "))
}

/// The files of the cases in the folders of `found`.
fn cases(found: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for folder in found.read_dir().into_iter().flatten() {
        let folder = folder?.path();
        // The module of a table belongs to the case of the table.
        let has_table = |file: &Path| file.with_extension("toml").is_file();
        for file in folder.read_dir().into_iter().flatten() {
            let file = file?.path();
            let is_module = file.extension().is_some_and(|extension| extension == "spv");
            if !is_module || !has_table(&file) {
                files.insert(file.strip_prefix(found)?.to_owned());
            }
        }
    }
    Ok(files)
}

/// The command that runs a case alone.
fn trial(case: &Path, profile: &str) -> String {
    let name = case.file_stem().unwrap_or_default().to_string_lossy();
    let suite = format!("cargo test {profile} -p splitbar-tests --test suite --");
    match case.parent().and_then(Path::to_str) {
        Some("fuzz") => format!("cargo test {profile} -p splitbar-fuzz --test seconds -- found"),
        Some("damaged") => format!("{suite} damaged/found/{name}"),
        _ => format!("{suite} found/{name}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_one_file_with_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for kind in ["programs", "fuzz"] {
            std::fs::create_dir(at(kind)).unwrap();
        }
        for file in ["programs/a-1.spv", "programs/a-1.toml", "fuzz/load.2.spv"] {
            std::fs::write(at(file), b"").unwrap();
        }
        let found = cases(folder.path()).unwrap();
        let commands: Vec<String> = found
            .iter()
            .map(|case| trial(case, "--profile=release"))
            .collect();
        assert_eq!(commands.len(), 2, "{found:?}");
        assert!(commands[0].ends_with("splitbar-fuzz --test seconds -- found"));
        assert!(commands[1].ends_with("--test suite -- found/a-1"));
        assert!(cases(&at("no such folder")).unwrap().is_empty());
    }
}
