//! The distribution of measured values.

use serde::Serialize;

/// The spread of some values. Percentiles are values that were measured (nearest rank).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// The number of values, at least one.
    pub count: u64,
    /// The smallest.
    pub least: u64,
    /// The smallest that at least half of them do not exceed.
    pub median: u64,
    /// The smallest that at least nine of ten do not exceed.
    pub ninetieth: u64,
    /// The largest.
    pub most: u64,
}

impl Distribution {
    /// The spread of `values`; `None` of none.
    pub fn from_values(mut values: Vec<u64>) -> Option<Distribution> {
        values.sort_unstable();
        let last = values.len().checked_sub(1)?;
        let rank = |tenths: usize| {
            values
                .get((values.len() * tenths).div_ceil(10) - 1)
                .copied()
        };
        Some(Distribution {
            count: values.len() as u64,
            least: values.first().copied()?,
            median: rank(5)?,
            ninetieth: rank(9)?,
            most: values.get(last).copied()?,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn percentiles_are_values_by_nearest_rank() {
        let of = |values: &[u64]| {
            let spread = Distribution::from_values(values.to_vec()).unwrap();
            [spread.least, spread.median, spread.ninetieth, spread.most]
        };
        assert_eq!(Distribution::from_values(Vec::new()), None);
        assert_eq!(of(&[7]), [7; 4]);
        assert_eq!(of(&[9, 1]), [1, 1, 9, 9]);
        assert_eq!(of(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]), [1, 5, 9, 10]);
        assert_eq!(of(&[3, 1, 2]), [1, 2, 3, 3]);
        assert_eq!(of(&[u64::MAX; 11]), [u64::MAX; 4]);
    }
}
