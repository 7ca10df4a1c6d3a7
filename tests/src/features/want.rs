//! Expected results, and the distance of a result from them.

use super::ty::Scalar;

/// The expected value of one component of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// These bits.
    Bits(u64),
    /// One of these.
    OneOf(Vec<u64>),
    /// A NaN.
    Nan,
    /// A number near this one. A result below the normal numbers may be 0, one beyond the largest
    /// an infinity or the largest.
    Near(f64, Limit),
    /// Anything: the specification leaves it undefined.
    Any,
}

/// The maximum distance of a result from the exact one.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Limit {
    /// In units of the last place of the exact result.
    Ulp(f64),
    /// An absolute bound.
    Absolute(f64),
}

/// The worst errors that were seen.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Worst {
    /// Among results with a limit in units of the last place.
    pub ulp: Option<f64>,
    /// Among results with an absolute limit.
    pub absolute: Option<f64>,
}

impl Worst {
    /// The worse of both.
    pub fn join(self, other: Worst) -> Worst {
        let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        Worst {
            ulp: larger(self.ulp, other.ulp),
            absolute: larger(self.absolute, other.absolute),
        }
    }
}

/// The rounded float, or a NaN.
pub fn float(scalar: Scalar, value: f64) -> Want {
    if value.is_nan() {
        Want::Nan
    } else {
        Want::Bits(scalar.bits_of(value))
    }
}

/// These bits; of a NaN any NaN.
pub fn float_or_bits(scalar: Scalar, bits: u64) -> Want {
    if scalar.is_float() && scalar.float(bits).is_nan() {
        Want::Nan
    } else {
        Want::Bits(bits)
    }
}

impl Want {
    /// Checks `bits`. Returns the error if the value is accepted.
    pub fn accepts(&self, scalar: Scalar, bits: u64) -> Option<Worst> {
        let fine = match self {
            Want::Any => true,
            Want::Bits(wanted) => *wanted == bits,
            Want::OneOf(wanted) => wanted.contains(&bits),
            Want::Nan => scalar.float(bits).is_nan(),
            Want::Near(value, limit) => return near(scalar, *value, *limit, scalar.float(bits)),
        };
        fine.then(Worst::default)
    }

    /// For people.
    pub fn show(&self, scalar: Scalar) -> String {
        match self {
            Want::Bits(bits) => show(scalar, *bits),
            Want::OneOf(bits) => {
                let all: Vec<String> = bits.iter().map(|b| show(scalar, *b)).collect();
                all.join(" or ")
            }
            Want::Nan => "NaN".to_owned(),
            Want::Near(value, Limit::Ulp(ulp)) => format!("{value:e} within {ulp} ULP"),
            Want::Near(value, Limit::Absolute(error)) => format!("{value:e} within {error:e}"),
            Want::Any => "anything".to_owned(),
        }
    }
}

/// A value as text: its bits, and their meaning.
pub fn show(scalar: Scalar, bits: u64) -> String {
    if scalar.is_float() {
        format!("{:#x} ({:e})", bits, scalar.float(bits))
    } else {
        format!("{bits:#x}")
    }
}

fn near(scalar: Scalar, wanted: f64, limit: Limit, found: f64) -> Option<Worst> {
    let none = Some(Worst::default());
    if wanted.is_nan() || found.is_nan() {
        return none.filter(|_| wanted.is_nan() && found.is_nan());
    }
    if wanted == found {
        return Some(error(limit, 0.0, 0.0));
    }
    let flushed = wanted.abs() < scalar.least_normal() && found == 0.0;
    let beyond = |v: f64| v.abs() >= scalar.most() * (1.0 - 8.0 * power(scalar));
    let overflow = beyond(wanted) && beyond(found) && wanted.signum() == found.signum();
    if flushed || overflow {
        return none;
    }
    let absolute = (wanted - found).abs();
    let ulp = absolute / scalar.ulp(wanted);
    let fine = match limit {
        Limit::Ulp(limit) => ulp <= limit,
        Limit::Absolute(limit) => absolute <= limit,
    };
    fine.then(|| error(limit, ulp, absolute))
}

/// The relative distance of neighbouring numbers.
fn power(scalar: Scalar) -> f64 {
    super::ty::power_of_two(1 - scalar.precision())
}

fn error(limit: Limit, ulp: f64, absolute: f64) -> Worst {
    match limit {
        Limit::Ulp(_) => Worst {
            ulp: Some(ulp),
            absolute: None,
        },
        Limit::Absolute(_) => Worst {
            ulp: None,
            absolute: Some(absolute),
        },
    }
}
