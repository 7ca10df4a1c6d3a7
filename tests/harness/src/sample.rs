//! A sample of a suite: some trials of each family, chosen by a seed.
//!
//! The family of a trial is its name up to the first `/`.

use fastrand::Rng;
use libtest_mimic::Trial;
use std::collections::BTreeMap;

/// One of so many trials of a family is taken.
const ONE_OF: usize = 8;

/// Of each family, at least so many are taken.
const AT_LEAST: usize = 2;

/// The trials of the sample `seed`, in the order in which they were given. Every family has some.
pub(crate) fn sample(trials: Vec<Trial>, seed: u64) -> Vec<Trial> {
    let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, trial) in trials.iter().enumerate() {
        let family = trial.name().split('/').next().unwrap_or_default();
        families.entry(family.to_owned()).or_default().push(index);
    }
    let mut taken = vec![false; trials.len()];
    let mut rng = Rng::with_seed(seed);
    for mut family in families.into_values() {
        rng.shuffle(&mut family);
        let count = family.len().div_ceil(ONE_OF).max(AT_LEAST);
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
mod tests {
    use super::*;

    fn names(seed: u64) -> Vec<String> {
        let named = |name: String| Trial::test(name, || Ok(()));
        let large = (0..400).map(|n| named(format!("large/{n:03}")));
        let small = (0..3).map(|n| named(format!("small/{n}")));
        let trials = sample(large.chain(small).collect(), seed);
        trials.iter().map(|trial| trial.name().to_owned()).collect()
    }

    #[test]
    fn every_family_has_its_share() {
        for seed in 0..20 {
            let names = names(seed);
            let of = |family: &str| names.iter().filter(|n| n.starts_with(family)).count();
            assert_eq!((of("large/"), of("small/")), (50, 2));
            assert!(names.is_sorted());
        }
    }

    #[test]
    fn a_seed_names_a_sample() {
        assert_eq!(names(7), names(7));
        assert_ne!(names(7), names(8));
    }
}
