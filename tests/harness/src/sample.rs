//! A sample of a suite: some trials of each family, chosen by a seed.
//!
//! The family of a trial is its name up to the first `/`.

use fastrand::Rng;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::str::FromStr;

/// The sample to take, and its size.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Another seed is another sample.
    pub seed: u64,
    /// One of so many trials of a family is taken.
    one_of: usize,
    /// Of each family, at least so many are taken.
    at_least: usize,
}

impl FromStr for Sample {
    type Err = String;

    /// Reads `SEED` or `SEED,ONE_OF,AT_LEAST`.
    fn from_str(text: &str) -> Result<Sample, String> {
        let bad = || format!("{text:?} is not SEED or SEED,ONE_OF,AT_LEAST");
        let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
        let sample = |seed, one_of, at_least| Sample {
            seed,
            one_of,
            at_least,
        };
        match *numbers.map_err(|_| bad())? {
            [seed] => Ok(sample(seed, 8, 2)),
            [seed, one_of, at_least] if one_of > 0 => {
                Ok(sample(seed, one_of as usize, at_least as usize))
            }
            _ => Err(bad()),
        }
    }
}

/// The tests of `sample`, in their original order. Every family has some.
pub(crate) fn sample(trials: Vec<Trial>, sample: Sample) -> Vec<Trial> {
    let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, trial) in trials.iter().enumerate() {
        let family = trial.name().split('/').next().unwrap_or_default();
        families.entry(family.to_owned()).or_default().push(index);
    }
    let mut taken = vec![false; trials.len()];
    let mut rng = Rng::with_seed(sample.seed);
    for mut family in families.into_values() {
        rng.shuffle(&mut family);
        let count = family.len().div_ceil(sample.one_of).max(sample.at_least);
        for index in family.into_iter().take(count) {
            taken[index] = true;
        }
    }
    let mut taken = taken.into_iter();
    let mut trials = trials;
    trials.retain(|_| taken.next() == Some(true));
    trials
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let named = |name: String| Trial::test(name, || Ok(()));
        let large = (0..400).map(|n| named(format!("large/{n:03}")));
        let small = (0..3).map(|n| named(format!("small/{n}")));
        let trials = sample(large.chain(small).collect(), text.parse().unwrap());
        trials.iter().map(|trial| trial.name().to_owned()).collect()
    }

    #[test]
    fn every_family_has_its_share() {
        for seed in 0..20 {
            let names = names(&format!("{seed}"));
            let of = |family: &str| names.iter().filter(|n| n.starts_with(family)).count();
            assert_eq!((of("large/"), of("small/")), (50, 2));
            assert!(names.is_sorted());
        }
    }

    #[test]
    fn a_share_of_large_families_and_all_of_small_ones() {
        let names = names("7,4,10");
        let of = |family: &str| names.iter().filter(|n| n.starts_with(family)).count();
        assert_eq!((of("large/"), of("small/")), (100, 3));
    }

    #[test]
    fn other_texts_name_no_sample() {
        for text in ["", "x", "1,2", "1,0,2", "1,2,3,4", "-1"] {
            assert!(text.parse::<Sample>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_seed_names_a_sample() {
        assert_eq!(names("7"), names("7"));
        assert_ne!(names("7"), names("8"));
    }
}
