//! `cargo xtask soak`: random programs with seeds that no other test takes, for as long as asked.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

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
}

/// A family of the suite that takes seeds.
struct Family {
    name: &'static str,
    /// Its environment variable for the number of programs.
    count: &'static str,
    /// Programs of one round: about a minute on two cores.
    programs: u64,
}

const FAMILIES: [Family; 6] = [
    Family {
        name: "random/",
        count: "SPLITBAR_SEEDS",
        programs: 300,
    },
    Family {
        name: "tangles/",
        count: "SPLITBAR_TANGLES",
        programs: 40,
    },
    Family {
        name: "undefined/",
        count: "SPLITBAR_UNDEFINED_SEEDS",
        programs: 100,
    },
    Family {
        name: "pipelines/",
        count: "SPLITBAR_PIPELINES",
        programs: 100,
    },
    Family {
        name: "exchanges/",
        count: "SPLITBAR_EXCHANGES",
        programs: 100,
    },
    Family {
        name: "faults/shapes",
        count: "SPLITBAR_SHAPES",
        programs: 6,
    },
];

/// Runs rounds until the time is over. Returns an error if a round found something; smaller
/// versions of the failing programs are in `target/soak`.
pub(crate) fn run(options: &Options) -> Result<()> {
    llvm::ensure()?;
    let found = shell::root().join("target/soak");
    std::fs::create_dir_all(&found).with_context(|| found.display().to_string())?;
    let chosen = |name: &str| {
        let only = options.only.as_deref();
        only.is_none_or(|only| name.contains(only))
    };
    if !FAMILIES.iter().any(|family| chosen(family.name)) && !chosen("fuzz") {
        let names = FAMILIES.map(|family| family.name).join(", ");
        bail!("no family has that name: {names}, fuzz");
    }
    // What does not build is no finding.
    shell::run(shell::cargo(&[
        "test",
        "--release",
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
                "--release",
                "--package=splitbar-tests",
                "--test=suite",
                "--",
                family.name,
            ]);
            command
                .env("SPLITBAR_FIRST_SEED", first.to_string())
                .env(family.count, family.programs.to_string())
                .env("TMPDIR", &found);
            nvidia::offer(&mut command);
            if shell::run(command).is_err() {
                failed.push(format!("{} from seed {first}", family.name));
            }
        }
        if chosen("fuzz") {
            let first = options.seed + round;
            let mut command = shell::cargo(&["test", "--release", "--package=splitbar-fuzz"]);
            command
                .env("SPLITBAR_FUZZ_SEED", first.to_string())
                .env("SPLITBAR_FUZZ_SECONDS", "20")
                .env("TMPDIR", &found);
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
    bail!(
        "found something (made smaller in {}): {}",
        found.display(),
        failed.join(", ")
    )
}
