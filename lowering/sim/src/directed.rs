//! Arithmetic of floats whose results are rounded once, in any direction (IEEE 754-2019, 4.3 and
//! 5.4.1). The host computes to the nearest; what is asked for in another direction comes through
//! here.

use rustc_apfloat::ieee::{BFloatS, DoubleS, HalfS, IeeeFloat, QuadS, Semantics, SingleS};
use rustc_apfloat::{Float, FloatConvert, Round};

/// Where a result goes that lies between two representable numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearer one; in the middle, to the even one.
    Nearest,
    /// Towards zero.
    Zero,
    /// Down.
    Down,
    /// Up.
    Up,
    /// To the nearer one; in the middle, away from zero.
    NearestAway,
}

impl Rounding {
    fn round(self) -> Round {
        match self {
            Rounding::Nearest => Round::NearestTiesToEven,
            Rounding::Zero => Round::TowardZero,
            Rounding::Down => Round::TowardNegative,
            Rounding::Up => Round::TowardPositive,
            Rounding::NearestAway => Round::NearestTiesToAway,
        }
    }
}

/// The format of a float.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// binary16
    Half,
    /// bfloat16
    Brain,
    /// binary32
    Single,
    /// binary64
    Double,
}

/// What is computed of up to three numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `a + b`
    Add,
    /// `a * b`
    Multiply,
    /// `a * b + c`
    MultiplyAdd,
    /// `a / b`
    Divide,
    /// The square root of `a`.
    Root,
    /// `a * 2^b`, where `b` is an integer in the low 32 bits.
    Scale,
}

/// The bits of a result, of the bits of its operands; operands that the step does not have do not
/// matter.
pub(crate) fn compute(step: Step, format: Format, rounding: Rounding, operands: [u64; 3]) -> u64 {
    match format {
        Format::Half => of::<HalfS>(step, rounding, operands),
        Format::Brain => of::<BFloatS>(step, rounding, operands),
        Format::Single => of::<SingleS>(step, rounding, operands),
        Format::Double => of::<DoubleS>(step, rounding, operands),
    }
}

fn of<S: Semantics>(step: Step, rounding: Rounding, operands: [u64; 3]) -> u64 {
    let [a, b, c] = operands.map(number::<S>);
    let round = rounding.round();
    // Beyond every exponent there is.
    let power = (operands[1] as u32 as i32).clamp(-10_000, 10_000);
    let result = match step {
        Step::Add => a.add_r(b, round).value,
        Step::Multiply => a.mul_r(b, round).value,
        Step::MultiplyAdd => a.mul_add_r(b, c, round).value,
        Step::Divide => a.div_r(b, round).value,
        Step::Root => root(a, rounding),
        Step::Scale => a.scalbn_r(power, round),
    };
    result.to_bits() as u64
}

/// The host's root is the nearest one, though a narrow one is rounded twice: 53 bits are enough for
/// that (Figueroa, "When is double rounding innocuous?", 1995). Its square is exact in 113 bits and
/// says on which side it lies.
fn root<S: Semantics>(a: IeeeFloat<S>, rounding: Rounding) -> IeeeFloat<S> {
    let host = f64::from_bits(exact::<S, DoubleS>(a).to_bits() as u64);
    let nearest: IeeeFloat<S> =
        exact::<DoubleS, S>(IeeeFloat::from_bits(host.sqrt().to_bits().into()));
    if !nearest.is_finite_non_zero() {
        return nearest;
    }
    let wide = exact::<S, QuadS>(a);
    let square = |root| {
        exact::<S, QuadS>(root)
            .mul_r(exact(root), Round::NearestTiesToEven)
            .value
    };
    let below = if square(nearest) > wide {
        nearest.next_down().value
    } else {
        nearest
    };
    match rounding {
        Rounding::Zero | Rounding::Down => below,
        Rounding::Up if square(below) < wide => below.next_up().value,
        Rounding::Up => below,
        // No root lies in the middle between two numbers.
        Rounding::Nearest | Rounding::NearestAway => nearest,
    }
}

/// A number by its bits; registers may hold something above them.
fn number<S: Semantics>(bits: u64) -> IeeeFloat<S> {
    IeeeFloat::from_bits(u128::from(bits) & u128::MAX >> (128 - S::BITS))
}

/// A number in another format, which is nearly always a wider one.
fn exact<S: Semantics, T: Semantics>(value: IeeeFloat<S>) -> IeeeFloat<T> {
    value.convert(&mut false).value
}

/// A float in another format.
pub(crate) fn convert(from: Format, to: Format, rounding: Rounding, bits: u64) -> u64 {
    let wide = match from {
        Format::Half => exact(number::<HalfS>(bits)),
        Format::Brain => exact(number::<BFloatS>(bits)),
        Format::Single => exact(number::<SingleS>(bits)),
        Format::Double => exact(number::<DoubleS>(bits)),
    };
    match to {
        Format::Half => narrow::<HalfS>(wide, rounding),
        Format::Brain => narrow::<BFloatS>(wide, rounding),
        Format::Single => narrow::<SingleS>(wide, rounding),
        Format::Double => narrow::<DoubleS>(wide, rounding),
    }
}

/// An integer as a float.
pub(crate) fn from_integer(to: Format, rounding: Rounding, value: i64) -> u64 {
    // Exact: the wide format has 113 bits.
    let wide = IeeeFloat::<QuadS>::from_i128(value.into()).value;
    match to {
        Format::Half => narrow::<HalfS>(wide, rounding),
        Format::Brain => narrow::<BFloatS>(wide, rounding),
        Format::Single => narrow::<SingleS>(wide, rounding),
        Format::Double => narrow::<DoubleS>(wide, rounding),
    }
}

fn narrow<S: Semantics>(value: IeeeFloat<QuadS>, rounding: Rounding) -> u64 {
    let narrow: IeeeFloat<S> = value.convert_r(rounding.round(), &mut false).value;
    narrow.to_bits() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        -3.0,
        2.0,
        1e300,
        -1e-300,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::INFINITY,
        9_007_199_254_740_993.0,
    ];

    fn in_all(step: Step, operands: [f64; 3]) -> [f64; 4] {
        let bits = operands.map(f64::to_bits);
        [
            Rounding::Nearest,
            Rounding::Zero,
            Rounding::Down,
            Rounding::Up,
        ]
        .map(|rounding| f64::from_bits(compute(step, Format::Double, rounding, bits)))
    }

    /// The nearest result is the host's, and either that or its neighbour is the one on each side.
    fn check(step: Step, operands: [f64; 3], host: f64) {
        let [nearest, zero, down, up] = in_all(step, operands);
        let what = || format!("{step:?} {operands:?}: {nearest} {zero} {down} {up}, host {host}");
        if host.is_nan() {
            assert!(
                [nearest, zero, down, up].iter().all(|x| x.is_nan()),
                "{}",
                what()
            );
            return;
        }
        if host != 0.0 {
            assert_eq!(nearest.to_bits(), host.to_bits(), "{}", what());
        }
        assert!(
            down <= host && host <= up && (host == down || host == up),
            "{}",
            what()
        );
        assert!(down == up || down.next_up() == up, "{}", what());
        assert_eq!(zero, if up > 0.0 { down } else { up }, "{}", what());
    }

    #[test]
    fn doubles_lie_beside_those_of_the_host() {
        for a in NUMBERS {
            check(Step::Root, [a, 0.0, 0.0], a.sqrt());
            for b in NUMBERS {
                check(Step::Add, [a, b, 0.0], a + b);
                check(Step::Multiply, [a, b, 0.0], a * b);
                check(Step::Divide, [a, b, 0.0], a / b);
                for c in NUMBERS {
                    check(Step::MultiplyAdd, [a, b, c], a.mul_add(b, c));
                }
            }
        }
    }

    #[test]
    fn what_is_lost_decides() {
        let tiny = f64::EPSILON / 4.0;
        let above = 1.0 + f64::EPSILON;
        assert_eq!(in_all(Step::Add, [1.0, tiny, 0.0]), [1.0, 1.0, 1.0, above]);
        assert_eq!(in_all(Step::Add, [1.0, 5e-324, 0.0])[3], above);
        assert_eq!(
            in_all(Step::MultiplyAdd, [above, above, -1.0])[2],
            in_all(Step::MultiplyAdd, [above, above, -1.0])[0]
        );
        assert_eq!(
            in_all(Step::Divide, [1.0, 3.0, 0.0])[3],
            (1.0f64 / 3.0).next_up()
        );
        assert_eq!(in_all(Step::Root, [2.0, 0.0, 0.0]), {
            let root = 2f64.sqrt();
            // Its square is above 2.
            [root, root.next_down(), root.next_down(), root]
        });
        assert_eq!(
            in_all(Step::Multiply, [5e-324, 0.5, 0.0])[2..],
            [0.0, 5e-324]
        );
        assert_eq!(
            in_all(Step::Multiply, [f64::MAX, 2.0, 0.0]),
            [f64::INFINITY, f64::MAX, f64::MAX, f64::INFINITY]
        );
        let zero = in_all(Step::Add, [1.0, -1.0, 0.0]);
        assert_eq!(zero.map(f64::is_sign_negative), [false, false, true, false]);
    }

    #[test]
    fn formats_become_each_other() {
        let third = (1.0f64 / 3.0).to_bits();
        let narrow = |to, rounding| convert(Format::Double, to, rounding, third);
        assert_eq!(narrow(Format::Half, Rounding::Zero), 0x3555);
        assert_eq!(narrow(Format::Half, Rounding::Up), 0x3556);
        assert_eq!(narrow(Format::Brain, Rounding::Up), 0x3eab);
        assert_eq!(narrow(Format::Single, Rounding::Down), 0x3eaa_aaaa);
        assert_eq!(
            convert(Format::Half, Format::Single, Rounding::Up, 0x7777_3c00),
            0x3f80_0000
        );
        assert_eq!(narrow(Format::Double, Rounding::Up), third);
    }
}
