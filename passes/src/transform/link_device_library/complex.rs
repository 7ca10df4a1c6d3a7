//! The complex functions of C (ISO C 9899:2011, 7.3 and Annex G) from those of real numbers.
//!
//! Special values are those of Annex G, but that the sign of a zero or infinity that it leaves open
//! is what the formula gives. The inverse functions follow W. Kahan, "Branch Cuts for Complex
//! Elementary Functions" (1987): they keep the sign of zero at the cuts, and cancel nowhere near
//! them. Far away from the origin, where squares overflow, they are logarithms. Nothing branches:
//! cases are chosen with OpSelect. Floats have 32 or 64 bits.

use super::float::Float;
use super::write::Result;
use spirv::OpenclStd100Op as Cl;
use std::f64::consts::{FRAC_PI_2, LN_2};

/// Real and imaginary part.
type Complex = [u32; 2];

/// A function of one number.
pub(super) type One = fn(&Float<'_, '_, '_, '_>, Complex) -> Result<Complex>;
/// A function of one number to a real one.
pub(super) type Real = fn(&Float<'_, '_, '_, '_>, Complex) -> Result<u32>;
/// A function of two numbers.
pub(super) type Two = fn(&Float<'_, '_, '_, '_>, Complex, Complex) -> Result<Complex>;

type F<'f, 'b, 'e, 'd, 'm> = &'f Float<'b, 'e, 'd, 'm>;

/// What a function takes and gives.
#[derive(Copy, Clone)]
pub(super) enum Kind {
    /// A complex number to one.
    One(One),
    /// A complex number to a real one.
    Real(Real),
    /// Two complex numbers to one.
    Two(Two),
    /// The same, whose parts are four parameters.
    Parts(Two),
    /// Two real numbers to a complex one.
    Polar(One),
}

/// The function that C calls so for doubles.
pub(super) fn named(name: &str) -> Option<Kind> {
    Some(match name {
        "creal" => Kind::Real(|_, [x, _]| Ok(x)),
        "cimag" => Kind::Real(|_, [_, y]| Ok(y)),
        "carg" => Kind::Real(arg),
        "cabs" => Kind::Real(abs),
        "cproj" => Kind::One(proj),
        "cexp" => Kind::One(exp),
        "clog" => Kind::One(log),
        "csqrt" => Kind::One(sqrt),
        "csinh" => Kind::One(sinh),
        "ccosh" => Kind::One(cosh),
        "ctanh" => Kind::One(tanh),
        "csin" => Kind::One(|f, z| turned(f, z, sinh)),
        "ccos" => Kind::One(|f, [x, y]| cosh(f, [f.neg(y)?, x])),
        "ctan" => Kind::One(|f, z| turned(f, z, tanh)),
        "cacos" => Kind::One(acos),
        "casin" => Kind::One(asin),
        "catan" => Kind::One(|f, z| turned(f, z, atanh)),
        "cacosh" => Kind::One(acosh),
        "casinh" => Kind::One(asinh),
        "catanh" => Kind::One(atanh),
        "cpolar" => Kind::Polar(polar),
        "cpow" => Kind::Two(|f, x, y| exp(f, mul(f, y, log(f, x)?)?)),
        _ => return None,
    })
}

/// The operators that compilers call by this name, and the width of their floats.
pub(super) fn operator(name: &str) -> Option<(Kind, u32)> {
    Some(match name {
        "__muldc3" => (Kind::Parts(mul), 64),
        "__divdc3" => (Kind::Parts(div), 64),
        "__mulsc3" => (Kind::Parts(mul), 32),
        "__divsc3" => (Kind::Parts(div), 32),
        _ => return None,
    })
}

fn arg(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<u32> {
    f.call(Cl::atan2, &[y, x])
}

fn abs(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<u32> {
    f.call(Cl::hypot, &[x, y])
}

/// Any infinity as the one of the Riemann sphere.
fn proj(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<Complex> {
    let far = f.either(f.is_inf(x)?, f.is_inf(y)?)?;
    Ok([
        f.select(far, f.number(f64::INFINITY)?, x)?,
        f.select(far, f.signed(f.number(0.0)?, y)?, y)?,
    ])
}

/// The product, and an infinity where NaNs hide one (G.5.1).
fn mul(f: F<'_, '_, '_, '_, '_>, [a, b]: Complex, [c, d]: Complex) -> Result<Complex> {
    let products = [f.mul(a, c)?, f.mul(b, d)?, f.mul(a, d)?, f.mul(b, c)?];
    let [ac, bd, ad, bc] = products;
    let (x, y) = (f.sub(ac, bd)?, f.add(ad, bc)?);
    let any_inf = |values: [u32; 4]| -> Result<u32> {
        let [p, q, r, s] = values;
        let (one, other) = (
            f.either(f.is_inf(p)?, f.is_inf(q)?)?,
            f.either(f.is_inf(r)?, f.is_inf(s)?)?,
        );
        f.either(one, other)
    };
    let hidden = f.either(any_inf([a, b, c, d])?, any_inf(products)?)?;
    let both_nan = f.both(f.is_nan(x)?, f.is_nan(y)?)?;
    let hidden = f.both(both_nan, hidden)?;
    // A factor with an infinite part goes to the edge of the unit square.
    let at_edge = |x: u32, y: u32| -> Result<Complex> {
        let far = f.either(f.is_inf(x)?, f.is_inf(y)?)?;
        Ok([
            f.without_nan(f.select(far, f.boxed(x)?, x)?)?,
            f.without_nan(f.select(far, f.boxed(y)?, y)?)?,
        ])
    };
    let ([a, b], [c, d]) = (at_edge(a, b)?, at_edge(c, d)?);
    let infinity = f.number(f64::INFINITY)?;
    let far_x = f.mul(infinity, f.sub(f.mul(a, c)?, f.mul(b, d)?)?)?;
    let far_y = f.mul(infinity, f.add(f.mul(a, d)?, f.mul(b, c)?)?)?;
    Ok([f.select(hidden, far_x, x)?, f.select(hidden, far_y, y)?])
}

/// The quotient with a divisor that is scaled to [1, 2), and an infinity or a zero where NaNs hide
/// one (G.5.1).
fn div(f: F<'_, '_, '_, '_, '_>, [a, b]: Complex, [c, d]: Complex) -> Result<Complex> {
    let int = f.body.uint()?;
    let size = f.call(Cl::fmax, &[f.abs(c)?, f.abs(d)?])?;
    let scales = f.both(f.is_finite(size)?, f.not(f.is_zero(size)?)?)?;
    let exponent = f.body.ext(Cl::ilogb, int, &[size])?;
    let zero = f.body.int(int, 32, 0)?;
    let back = f.body.value(spirv::Op::ISub, int, &[zero, exponent])?;
    let back = f
        .body
        .value(spirv::Op::Select, int, &[scales, back, zero])?;
    let scaled = |x: u32| f.call(Cl::ldexp, &[x, back]);
    let (c, d) = (scaled(c)?, scaled(d)?);
    let square = f.add(f.mul(c, c)?, f.mul(d, d)?)?;
    let dot = |a: u32, b: u32| f.add(f.mul(a, c)?, f.mul(b, d)?);
    let cross = |a: u32, b: u32| f.sub(f.mul(b, c)?, f.mul(a, d)?);
    let x = scaled(f.div(dot(a, b)?, square)?)?;
    let y = scaled(f.div(cross(a, b)?, square)?)?;

    let both_nan = f.both(f.is_nan(x)?, f.is_nan(y)?)?;
    let infinity = f.number(f64::INFINITY)?;
    // Anything by zero.
    let some_number = f.not(f.both(f.is_nan(a)?, f.is_nan(b)?)?)?;
    let by_zero = f.both(f.is_zero(square)?, some_number)?;
    let side = f.signed(infinity, c)?;
    let of_zero = [f.mul(side, a)?, f.mul(side, b)?];
    // An infinity by a number.
    let from_far = f.both(
        f.either(f.is_inf(a)?, f.is_inf(b)?)?,
        f.both(f.is_finite(c)?, f.is_finite(d)?)?,
    )?;
    let (far_a, far_b) = (f.boxed(a)?, f.boxed(b)?);
    let of_far = [
        f.mul(infinity, dot(far_a, far_b)?)?,
        f.mul(infinity, cross(far_a, far_b)?)?,
    ];
    // A number by an infinity.
    let to_far = f.both(f.is_inf(size)?, f.both(f.is_finite(a)?, f.is_finite(b)?)?)?;
    let (far_c, far_d) = (f.boxed(c)?, f.boxed(d)?);
    let nothing = f.number(0.0)?;
    let of_near = [
        f.mul(nothing, f.add(f.mul(a, far_c)?, f.mul(b, far_d)?)?)?,
        f.mul(nothing, f.sub(f.mul(b, far_c)?, f.mul(a, far_d)?)?)?,
    ];
    let mut result = [x, y];
    for (case, values) in [(to_far, of_near), (from_far, of_far), (by_zero, of_zero)] {
        let case = f.both(both_nan, case)?;
        for (slot, value) in result.iter_mut().zip(values) {
            *slot = f.select(case, value, *slot)?;
        }
    }
    Ok(result)
}

/// `rho * e^(i theta)`: `theta` infinite gives NaN, a negative `rho` too.
fn polar(f: F<'_, '_, '_, '_, '_>, [rho, theta]: Complex) -> Result<Complex> {
    let (nan, zero) = (f.number(f64::NAN)?, f.number(0.0)?);
    let wrong = f.either(f.is_nan(rho)?, f.less(rho, zero)?)?;
    let far = f.is_inf(rho)?;
    let without = |x: u32| f.select(f.is_nan(x)?, zero, x);
    // Where theta is a number, an infinite rho times a zero is a zero.
    let x = without(f.mul(rho, f.call(Cl::cos, &[theta])?)?)?;
    let y = without(f.mul(rho, f.call(Cl::sin, &[theta])?)?)?;
    let turns = f.is_finite(theta)?;
    let x = f.select(turns, x, f.select(far, rho, nan)?)?;
    let y = f.select(turns, y, nan)?;
    Ok([f.select(wrong, nan, x)?, f.select(wrong, nan, y)?])
}

fn exp(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<Complex> {
    let (zero, nan) = (f.number(0.0)?, f.number(f64::NAN)?);
    let size = f.call(Cl::exp, &[x])?;
    // Of minus infinity and no angle: zeros. Of infinity and no angle: infinity and NaN.
    let no_angle = f.not(f.is_finite(y)?)?;
    let far = f.is_inf(x)?;
    let shrinks = f.both(far, f.less(x, zero)?)?;
    let angle = f.select(f.both(shrinks, no_angle)?, f.number(1.0)?, y)?;
    let re = f.mul(size, f.call(Cl::cos, &[angle])?)?;
    let im = f.mul(size, f.call(Cl::sin, &[angle])?)?;
    let grows = f.both(f.both(far, f.not(shrinks)?)?, no_angle)?;
    let (re, im) = (f.select(grows, x, re)?, f.select(grows, nan, im)?);
    let real = f.is_zero(y)?;
    Ok([f.select(real, size, re)?, f.select(real, y, im)?])
}

/// Near the unit circle by the distance from it, of which the logarithm of the modulus keeps
/// nothing.
fn log(f: F<'_, '_, '_, '_, '_>, z: Complex) -> Result<Complex> {
    let [x, y] = z;
    let modulus = abs(f, z)?;
    let far = f.call(Cl::log, &[modulus])?;
    let one = f.number(1.0)?;
    let (large, small) = (
        f.call(Cl::fmax, &[f.abs(x)?, f.abs(y)?])?,
        f.call(Cl::fmin, &[f.abs(x)?, f.abs(y)?])?,
    );
    let square = f.mul(f.sub(large, one)?, f.add(large, one)?)?;
    let distance = f.call(Cl::fma, &[small, small, square])?;
    let near = f.mul(f.call(Cl::log1p, &[distance])?, f.number(0.5)?)?;
    let is_near = f.both(
        f.less(f.number(0.5)?, modulus)?,
        f.less(modulus, f.number(2.0)?)?,
    )?;
    Ok([f.select(is_near, near, far)?, arg(f, z)?])
}

/// With a scale that is a power of four, so that the modulus neither overflows nor loses bits.
fn sqrt(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<Complex> {
    // The scales for large and small numbers, their square roots, and what is large and small.
    let (most, least, up, root): (f64, f64, f64, f64) = match f.bits {
        64 => (1e307, 1e-290, 108.0, 54.0),
        _ => (1e37, 1e-30, 48.0, 24.0),
    };
    let (zero, infinity) = (f.number(0.0)?, f.number(f64::INFINITY)?);
    let size = f.call(Cl::fmax, &[f.abs(x)?, f.abs(y)?])?;
    let large = f.less(f.number(most)?, size)?;
    let small = f.less(size, f.number(least)?)?;
    let pick = |large_one: f64, small_one: f64| -> Result<u32> {
        let rest = f.select(small, f.number(small_one)?, f.number(1.0)?)?;
        f.select(large, f.number(large_one)?, rest)
    };
    let scale = pick(0.25, up.exp2())?;
    let unscale = pick(2.0, (-root).exp2())?;
    let (sx, sy) = (f.mul(x, scale)?, f.mul(y, scale)?);
    let modulus = f.call(Cl::hypot, &[sx, sy])?;
    let sum = f.add(f.abs(sx)?, modulus)?;
    let t = f.call(Cl::sqrt, &[f.mul(sum, f.number(0.5)?)?])?;
    let other = f.div(f.abs(sy)?, f.add(t, t)?)?;
    let other = f.select(f.is_zero(t)?, zero, other)?;
    let (t, other) = (f.mul(t, unscale)?, f.mul(other, unscale)?);
    let left = f.less(x, zero)?;
    let re = f.select(left, other, t)?;
    let im = f.signed(f.select(left, t, other)?, y)?;
    // Infinities (G.6.4.2).
    let far_x = f.is_inf(x)?;
    let keeps = f.is_nan(y)?;
    let right_im = f.select(keeps, y, f.signed(zero, y)?)?;
    let left_re = f.select(keeps, y, zero)?;
    let re = f.select(far_x, f.select(left, left_re, x)?, re)?;
    let im = f.select(far_x, f.select(left, f.signed(infinity, y)?, right_im)?, im)?;
    let far_y = f.is_inf(y)?;
    Ok([f.select(far_y, infinity, re)?, f.select(far_y, y, im)?])
}

/// `-i f(i z)`: the sine from the hyperbolic one, and so on.
fn turned(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex, of: One) -> Result<Complex> {
    let [re, im] = of(f, [f.neg(y)?, x])?;
    Ok([im, f.neg(re)?])
}

fn sinh(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<Complex> {
    let nan = f.number(f64::NAN)?;
    let re = f.mul(f.call(Cl::sinh, &[x])?, f.call(Cl::cos, &[y])?)?;
    let im = f.mul(f.call(Cl::cosh, &[x])?, f.call(Cl::sin, &[y])?)?;
    let no_angle = f.not(f.is_finite(y)?)?;
    let keeps = f.both(no_angle, f.either(f.is_inf(x)?, f.is_zero(x)?)?)?;
    let (re, im) = (f.select(keeps, x, re)?, f.select(keeps, nan, im)?);
    let real = f.both(f.is_zero(y)?, f.not(f.is_finite(x)?)?)?;
    Ok([f.select(real, x, re)?, f.select(real, y, im)?])
}

fn cosh(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<Complex> {
    let (zero, nan) = (f.number(0.0)?, f.number(f64::NAN)?);
    let re = f.mul(f.call(Cl::cosh, &[x])?, f.call(Cl::cos, &[y])?)?;
    let im = f.mul(f.call(Cl::sinh, &[x])?, f.call(Cl::sin, &[y])?)?;
    let no_angle = f.not(f.is_finite(y)?)?;
    let far = f.both(no_angle, f.is_inf(x)?)?;
    let (re, im) = (f.select(far, f.abs(x)?, re)?, f.select(far, nan, im)?);
    let at_zero = f.both(no_angle, f.is_zero(x)?)?;
    let (re, im) = (f.select(at_zero, nan, re)?, f.select(at_zero, zero, im)?);
    // On the real axis, where an infinity times a zero is a zero.
    let real = f.both(f.is_zero(y)?, f.not(f.is_finite(x)?)?)?;
    let side = f.mul(y, f.signed(f.number(1.0)?, x)?)?;
    Ok([f.select(real, f.abs(x)?, re)?, f.select(real, side, im)?])
}

/// From the tangent of the imaginary part and the hyperbolic sine of the real one; beyond a bound
/// the real part is 1, and the imaginary one what is left of `sin(2 y) / sinh(x)^2`.
fn tanh(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<Complex> {
    let bound = match f.bits {
        64 => 20.0,
        _ => 10.0,
    };
    let (one, zero) = (f.number(1.0)?, f.number(0.0)?);
    let t = f.call(Cl::tan, &[y])?;
    let beta = f.add(one, f.mul(t, t)?)?;
    let s = f.call(Cl::sinh, &[x])?;
    let rho = f.call(Cl::sqrt, &[f.add(one, f.mul(s, s)?)?])?;
    let below = f.add(one, f.mul(beta, f.mul(s, s)?)?)?;
    let re = f.div(f.mul(f.mul(beta, rho)?, s)?, below)?;
    let im = f.div(t, below)?;

    let beyond = f.less(f.number(bound)?, f.abs(x)?)?;
    let falls = f.call(Cl::exp, &[f.neg(f.abs(x)?)?])?;
    let (sin, cos) = (f.call(Cl::sin, &[y])?, f.call(Cl::cos, &[y])?);
    let wave = f.mul(f.mul(f.number(4.0)?, f.mul(sin, cos)?)?, falls)?;
    let far_im = f.mul(wave, falls)?;
    // Where the angle is none: a zero.
    let no_angle = f.both(f.is_inf(x)?, f.not(f.is_finite(y)?)?)?;
    let far_im = f.select(no_angle, f.signed(zero, y)?, far_im)?;
    let re = f.select(beyond, f.signed(one, x)?, re)?;
    let im = f.select(beyond, far_im, im)?;
    // A NaN on the real axis stays there.
    let real = f.both(f.is_zero(y)?, f.is_nan(x)?)?;
    Ok([re, f.select(real, y, im)?])
}

/// Beyond this size a number and its successor on the unit circle's scale are the same: the inverse
/// functions are logarithms there.
fn far(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<u32> {
    let bound = match f.bits {
        64 => 2f64.powi(30),
        _ => 2f64.powi(14),
    };
    let size = f.call(Cl::fmax, &[f.abs(x)?, f.abs(y)?])?;
    f.less(f.number(bound)?, size)
}

/// `log(2 |z|)`.
fn log_twice(f: F<'_, '_, '_, '_, '_>, z: Complex) -> Result<u32> {
    f.add(f.call(Cl::log, &[abs(f, z)?])?, f.number(LN_2)?)
}

/// The square roots of `1 - z` and `1 + z`.
fn roots(f: F<'_, '_, '_, '_, '_>, [x, y]: Complex) -> Result<[Complex; 2]> {
    let one = f.number(1.0)?;
    Ok([
        sqrt(f, [f.sub(one, x)?, f.neg(y)?])?,
        sqrt(f, [f.add(one, x)?, y])?,
    ])
}

fn acos(f: F<'_, '_, '_, '_, '_>, z: Complex) -> Result<Complex> {
    let [x, y] = z;
    let [[ax, ay], [bx, by]] = roots(f, z)?;
    let half = f.call(Cl::atan2, &[ax, bx])?;
    let near_re = f.add(half, half)?;
    // The imaginary part of conj(sqrt(1 + z)) sqrt(1 - z).
    let product = f.sub(f.mul(bx, ay)?, f.mul(by, ax)?)?;
    let near_im = f.call(Cl::asinh, &[product])?;
    let far = far(f, z)?;
    let far_re = f.call(Cl::atan2, &[f.abs(y)?, x])?;
    let far_im = f.signed(log_twice(f, z)?, f.neg(y)?)?;
    let re = f.select(far, far_re, near_re)?;
    // Of i NaN the real part is known.
    let axis = f.both(f.is_zero(x)?, f.is_nan(y)?)?;
    Ok([
        f.select(axis, f.number(FRAC_PI_2)?, re)?,
        f.select(far, far_im, near_im)?,
    ])
}

fn asin(f: F<'_, '_, '_, '_, '_>, z: Complex) -> Result<Complex> {
    let [x, y] = z;
    let [[ax, ay], [bx, by]] = roots(f, z)?;
    // The real part of sqrt(1 - z) sqrt(1 + z), and the imaginary one of
    // conj(sqrt(1 - z)) sqrt(1 + z).
    let below = f.sub(f.mul(ax, bx)?, f.mul(ay, by)?)?;
    let near_re = f.call(Cl::atan2, &[x, below])?;
    let product = f.sub(f.mul(ax, by)?, f.mul(ay, bx)?)?;
    let near_im = f.call(Cl::asinh, &[product])?;
    let far = far(f, z)?;
    let far_re = f.call(Cl::atan2, &[x, f.abs(y)?])?;
    let far_im = f.signed(log_twice(f, z)?, y)?;
    let re = f.select(far, far_re, near_re)?;
    let axis = f.both(f.is_zero(x)?, f.is_nan(y)?)?;
    Ok([f.select(axis, x, re)?, f.select(far, far_im, near_im)?])
}

/// `i acos(z)` or `-i acos(z)`, the one with a real part that is not negative.
fn acosh(f: F<'_, '_, '_, '_, '_>, z: Complex) -> Result<Complex> {
    let [re, im] = acos(f, z)?;
    let [_, y] = z;
    Ok([f.abs(im)?, f.signed(re, y)?])
}

/// `-i asin(i z)`.
fn asinh(f: F<'_, '_, '_, '_, '_>, z: Complex) -> Result<Complex> {
    turned(f, z, asin)
}

fn atanh(f: F<'_, '_, '_, '_, '_>, z: Complex) -> Result<Complex> {
    let [x, y] = z;
    let one = f.number(1.0)?;
    let square = f.mul(y, y)?;
    let size = f.abs(x)?;
    let gap = f.sub(one, size)?;
    let near = f.add(f.mul(gap, gap)?, square)?;
    let ratio = f.div(f.mul(f.number(4.0)?, size)?, near)?;
    let near_re = f.mul(f.call(Cl::log1p, &[ratio])?, f.number(0.25)?)?;
    let across = f.sub(f.mul(gap, f.add(one, size)?)?, square)?;
    let angle = f.call(Cl::atan2, &[f.add(y, y)?, across])?;
    let near_im = f.mul(angle, f.number(0.5)?)?;
    // The real part of 1 / z, in steps that do not overflow.
    let far = far(f, z)?;
    let modulus = abs(f, z)?;
    let far_re = f.div(f.div(size, modulus)?, modulus)?;
    let far_re = f.select(f.is_inf(modulus)?, f.number(0.0)?, far_re)?;
    let far_im = f.signed(f.number(FRAC_PI_2)?, y)?;
    let far_im = f.select(f.is_nan(y)?, y, far_im)?;
    let re = f.signed(f.select(far, far_re, near_re)?, x)?;
    let im = f.select(far, far_im, near_im)?;
    // Of i NaN the real part is known.
    let axis = f.both(f.is_zero(x)?, f.is_nan(y)?)?;
    Ok([f.select(axis, x, re)?, im])
}
