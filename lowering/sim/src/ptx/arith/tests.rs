//! Edge values of every family, against arithmetic of the host.

use super::round::{Rounding, narrow, widen};
use super::{
    Arguments, Compare, Function, Mode, convert, float, integer, mask, packed, sign_extend,
};
use crate::ptx::types::{Class, Type};
use pretty_assertions::assert_eq;

const INTEGERS: [u64; 9] = [
    0,
    1,
    2,
    31,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];
const SINGLES: [f32; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    3.0,
    1e-40,
    f32::MIN_POSITIVE,
    f32::MAX,
    -f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    1.000_000_1,
    16_777_217.0,
];

fn mode(name: &str) -> Mode {
    Mode::from_kind(Type::named(name).unwrap_or(Type::B64))
}

fn of(function: Function, m: &Mode, arguments: &[u64]) -> u64 {
    let mut all: Arguments = [0; 4];
    for (to, from) in all.iter_mut().zip(arguments) {
        *to = *from;
    }
    function(m, all)
}

#[test]
fn integers_wrap_as_the_hosts_do() {
    let (u32_, s32, u64_, s64, s16) = (
        mode("u32"),
        mode("s32"),
        mode("u64"),
        mode("s64"),
        mode("s16"),
    );
    for a in INTEGERS {
        for b in INTEGERS {
            let (x, y) = (a as u32, b as u32);
            let (i, j) = (x as i32, y as i32);
            let low = [a & mask(32), b & mask(32)];
            assert_eq!(of(integer::add, &u32_, &low), x.wrapping_add(y).into());
            assert_eq!(of(integer::sub, &s32, &low), x.wrapping_sub(y).into());
            assert_eq!(of(integer::mad_low, &u32_, &low), x.wrapping_mul(y).into());
            assert_eq!(
                of(integer::mad_high, &u32_, &low),
                (u64::from(x) * u64::from(y)) >> 32
            );
            let product = i64::from(i) * i64::from(j);
            assert_eq!(
                of(integer::mad_high, &s32, &low),
                (product >> 32) as u64 & mask(32)
            );
            assert_eq!(of(integer::mad_wide, &s32, &low), product as u64);
            assert_eq!(of(integer::mad_low, &u64_, &[a, b]), a.wrapping_mul(b));
            let wide = u128::from(a) * u128::from(b);
            assert_eq!(of(integer::mad_high, &u64_, &[a, b]), (wide >> 64) as u64);
            assert_eq!(of(integer::min, &s32, &low), i.min(j) as u32 as u64);
            assert_eq!(
                of(integer::max, &s64, &[a, b]),
                (a as i64).max(b as i64) as u64
            );
            assert_eq!(of(integer::abs, &s32, &low), i.wrapping_abs() as u32 as u64);
            if let Some(quotient) = x.checked_div(y) {
                assert_eq!(
                    of(integer::div, &s32, &low),
                    i.wrapping_div(j) as u32 as u64
                );
                assert_eq!(
                    of(integer::rem, &s32, &low),
                    i.wrapping_rem(j) as u32 as u64
                );
                assert_eq!(of(integer::div, &u32_, &low), quotient.into());
            }
            let shift = y.min(63);
            assert_eq!(
                of(integer::shl, &u32_, &low),
                u64::from(x).checked_shl(y).unwrap_or(0) & mask(32)
            );
            assert_eq!(
                of(integer::shr, &s32, &low),
                (i64::from(i) >> shift) as u64 & mask(32)
            );
            let saturating = Mode {
                saturate: true,
                ..s32
            };
            assert_eq!(
                of(integer::add, &saturating, &low),
                i.saturating_add(j) as u32 as u64
            );
            assert_eq!(
                of(integer::sub, &saturating, &low),
                i.saturating_sub(j) as u32 as u64
            );
            let (sum, over) = a.overflowing_add(b);
            assert_eq!(of(integer::add_carry, &u64_, &[a, b]), sum);
            assert_eq!(of(integer::carry, &u64_, &[a, b]), over.into());
            assert_eq!(of(integer::borrow, &u64_, &[a, b]), (a < b).into());
        }
        assert_eq!(of(integer::popc, &u64_, &[a]), a.count_ones().into());
        assert_eq!(
            of(integer::clz, &u32_, &[a & mask(32)]),
            (a as u32).leading_zeros().into()
        );
        assert_eq!(
            of(integer::brev, &u32_, &[a & mask(32)]),
            (a as u32).reverse_bits().into()
        );
        assert_eq!(
            of(integer::neg, &s16, &[a & mask(16)]),
            (a as i16).wrapping_neg() as u16 as u64
        );
    }
    assert_eq!(
        of(integer::div, &s32, &[5, 0]),
        mask(32),
        "not specified, but it does not panic"
    );
    assert_eq!(
        of(integer::bfind, &s32, &[mask(32)]),
        mask(32),
        "-1 has no bit that says something"
    );
    assert_eq!(of(integer::bfind, &u32_, &[0x10]), 4);
}

#[test]
fn fields_and_bytes() {
    let (u32_, s32) = (mode("u32"), mode("s32"));
    assert_eq!(of(integer::bfe, &u32_, &[0xabcd_1234, 8, 8]), 0x12);
    assert_eq!(of(integer::bfe, &s32, &[0x0000_f000, 12, 4]), mask(32));
    assert_eq!(of(integer::bfe, &s32, &[0x8000_0000, 28, 8]), 0xffff_fff8);
    assert_eq!(of(integer::bfe, &u32_, &[5, 0, 0]), 0);
    assert_eq!(of(integer::bfe, &mode("u64"), &[u64::MAX, 0, 64]), u64::MAX);
    assert_eq!(of(integer::bfi, &u32_, &[0xff, 0, 4, 8]), 0xff0);
    assert_eq!(of(integer::bfi, &u32_, &[1, 0xffff_ffff, 0, 32]), 1);
    assert_eq!(of(integer::bfi, &u32_, &[1, 7, 200, 8]), 7);
    let table = |table, m: Mode| Mode { table, ..m };
    // a & b | c, as the table 0xea.
    assert_eq!(
        of(integer::lop3, &table(0xea, u32_), &[0b1100, 0b1010, 0b0001]),
        0b1001
    );
    assert_eq!(
        of(integer::prmt, &u32_, &[0x3322_1100, 0x7766_5544, 0x7531]),
        0x7755_3311
    );
    assert_eq!(
        of(integer::prmt, &u32_, &[0x0000_0080, 0, 0x0008]),
        0x8080_80ff
    );
    assert_eq!(
        of(
            integer::prmt,
            &table(1, u32_),
            &[0x3322_1100, 0x7766_5544, 1]
        ),
        0x4433_2211
    );
    assert_eq!(of(integer::funnel_left, &u32_, &[0x8000_0000, 1, 1]), 3);
    assert_eq!(of(integer::funnel_right, &u32_, &[2, 1, 1]), 0x8000_0001);
    assert_eq!(
        of(integer::funnel_right, &u32_, &[2, 7, 40]),
        7,
        "clamped to 32"
    );
    assert_eq!(
        of(integer::funnel_right, &table(1, u32_), &[0x100, 7, 40]),
        0x0700_0001,
        "40 wraps to 8"
    );
    let signs = Mode {
        other: Type::new(Class::Unsigned, 32),
        ..s32
    };
    assert_eq!(
        of(integer::dp4a, &signs, &[0xff, 0xff, 1]),
        (1i64 - 255) as u64 & mask(32)
    );
}

#[test]
fn single_precision_to_the_nearest_is_the_hosts() {
    let m = mode("f32");
    let bits = |x: f32| u64::from(x.to_bits());
    let same = |found: u64, want: f32| {
        let found = f32::from_bits(found as u32);
        assert!(
            found.to_bits() == want.to_bits() || found.is_nan() && want.is_nan(),
            "{found:?} {want:?}"
        );
    };
    for a in SINGLES {
        for b in SINGLES {
            same(of(float::add, &m, &[bits(a), bits(b)]), a + b);
            same(of(float::sub, &m, &[bits(a), bits(b)]), a - b);
            same(of(float::mul, &m, &[bits(a), bits(b)]), a * b);
            same(of(float::div, &m, &[bits(a), bits(b)]), a / b);
            for c in SINGLES {
                same(
                    of(float::fma, &m, &[bits(a), bits(b), bits(c)]),
                    a.mul_add(b, c),
                );
            }
        }
        same(of(float::sqrt, &m, &[bits(a)]), a.sqrt());
        same(of(float::neg, &m, &[bits(a)]), -a);
    }
    assert_eq!(of(float::min, &m, &[bits(0.0), bits(-0.0)]), bits(-0.0));
    assert_eq!(of(float::max, &m, &[bits(f32::NAN), bits(2.0)]), bits(2.0));
    let propagates = Mode { nan: true, ..m };
    assert_eq!(
        of(float::max, &propagates, &[bits(f32::NAN), bits(2.0)]),
        0x7fff_ffff
    );
    let flushes = Mode { flush: true, ..m };
    assert_eq!(of(float::add, &flushes, &[bits(1e-40), bits(-0.0)]), 0);
    let clamps = Mode {
        saturate: true,
        ..m
    };
    assert_eq!(of(float::add, &clamps, &[bits(3.0), bits(1.0)]), bits(1.0));
    assert_eq!(of(float::add, &clamps, &[bits(f32::NAN), bits(1.0)]), 0);
}

/// A directed result is the exact one or its neighbour on the right side.
#[test]
fn directed_roundings_enclose_the_exact_result() {
    let bits = |x: f32| u64::from(x.to_bits());
    let round = |f: Function, rounding, arguments: &[u64]| {
        f32::from_bits(of(
            f,
            &Mode {
                rounding,
                ..mode("f32")
            },
            arguments,
        ) as u32)
    };
    let cases: [(Function, &[f32]); 4] = [
        (float::add, &[1.0, 1e-10]),
        (float::mul, &[0.1, -0.3]),
        (float::div, &[1.0, 3.0]),
        (float::fma, &[0.1, 0.1, 1e-30]),
    ];
    for (function, arguments) in cases {
        let arguments: Vec<u64> = arguments.iter().map(|x| bits(*x)).collect();
        let down = round(function, Rounding::Down, &arguments);
        let up = round(function, Rounding::Up, &arguments);
        let zero = round(function, Rounding::Zero, &arguments);
        let near = round(function, Rounding::Nearest, &arguments);
        assert_eq!(down.next_up(), up, "{arguments:x?}");
        assert!(near == down || near == up);
        assert_eq!(zero, if down >= 0.0 { down } else { up });
    }
    assert_eq!(
        round(
            float::add,
            Rounding::Zero,
            &[bits(f32::MAX), bits(f32::MAX)]
        ),
        f32::MAX
    );
    assert_eq!(
        round(
            float::add,
            Rounding::Down,
            &[bits(f32::MAX), bits(f32::MAX)]
        ),
        f32::MAX
    );
    assert_eq!(
        round(float::mul, Rounding::Up, &[bits(1e-40), bits(1e-40)]),
        f32::from_bits(1)
    );
}

#[test]
fn every_half_is_itself() {
    for (class, most) in [(Class::Half, 0x7c00u64), (Class::Brain, 0x7f80)] {
        for magnitude in 0..=most {
            for sign in [0, 0x8000] {
                let bits = magnitude | sign;
                assert_eq!(
                    narrow(class, widen(class, bits), Rounding::Nearest),
                    bits,
                    "{class:?}"
                );
            }
            if magnitude < most {
                // Halfway between two neighbours lies the even one; a little off, the nearer one.
                let (low, high) = (widen(class, magnitude), widen(class, magnitude + 1));
                if high.is_finite() {
                    let middle = f64::midpoint(low, high);
                    assert_eq!(
                        narrow(class, middle, Rounding::Nearest),
                        magnitude + (magnitude & 1)
                    );
                    assert_eq!(
                        narrow(class, middle.next_up(), Rounding::Nearest),
                        magnitude + 1
                    );
                    assert_eq!(
                        narrow(class, middle.next_down(), Rounding::Nearest),
                        magnitude
                    );
                    assert_eq!(narrow(class, middle, Rounding::NearestAway), magnitude + 1);
                    assert_eq!(narrow(class, middle, Rounding::Zero), magnitude);
                    assert_eq!(narrow(class, middle, Rounding::Up), magnitude + 1);
                }
            }
        }
    }
    assert_eq!(narrow(Class::Half, 65_520.0, Rounding::Nearest), 0x7c00);
    assert_eq!(narrow(Class::Half, 65_519.9, Rounding::Nearest), 0x7bff);
}

#[test]
fn conversions() {
    let convert = |to: &str, from: &str, rounding, saturate, function: Function, bits: u64| {
        let other = Type::named(from).unwrap_or(Type::B64);
        of(
            function,
            &Mode {
                rounding,
                saturate,
                other,
                ..mode(to)
            },
            &[bits],
        )
    };
    let single = |x: f32| u64::from(x.to_bits());
    let near = Rounding::Nearest;
    for x in SINGLES {
        let found = convert(
            "s32",
            "f32",
            Rounding::Zero,
            false,
            convert::to_integer,
            single(x),
        );
        assert_eq!(found as i64, i64::from(x as i32), "{x}");
        let found = convert(
            "u64",
            "f32",
            Rounding::Zero,
            false,
            convert::to_integer,
            single(x),
        );
        assert_eq!(found, x as u64, "{x}");
    }
    assert_eq!(
        convert("s32", "f32", near, false, convert::to_integer, single(2.5)),
        2
    );
    assert_eq!(
        convert(
            "s32",
            "f32",
            Rounding::Up,
            false,
            convert::to_integer,
            single(2.1)
        ),
        3
    );
    assert_eq!(
        convert(
            "s32",
            "f32",
            near,
            false,
            convert::to_integer,
            single(f32::NAN)
        ),
        0
    );
    for a in INTEGERS {
        let (near_s, near_u) = (a as i64 as f32, a as f32);
        assert_eq!(
            convert("f32", "s64", near, false, convert::from_integer, a),
            single(near_s)
        );
        assert_eq!(
            convert("f32", "u64", near, false, convert::from_integer, a),
            single(near_u)
        );
        assert_eq!(
            convert("f64", "u64", near, false, convert::from_integer, a),
            (a as f64).to_bits()
        );
        assert_eq!(
            convert("s8", "s32", near, false, convert::integer, a) as i64,
            i64::from(a as i8)
        );
        assert_eq!(
            convert("u8", "u32", near, false, convert::integer, a),
            u64::from(a as u8)
        );
        let clamped = (a as u32 as i32).clamp(-128, 127);
        assert_eq!(
            convert("s8", "s32", near, true, convert::integer, a) as i64,
            i64::from(clamped)
        );
    }
    let down = convert(
        "f64",
        "u64",
        Rounding::Zero,
        false,
        convert::from_integer,
        u64::MAX,
    );
    assert!(f64::from_bits(down) < u64::MAX as f64);
    let third = (1.0f64 / 3.0).to_bits();
    assert_eq!(
        convert("f32", "f64", near, false, convert::float, third),
        single(1.0 / 3.0)
    );
    assert_eq!(
        convert("f16", "f32", near, false, convert::float, single(1.0 / 3.0)),
        0x3555
    );
    assert_eq!(
        convert("f32", "f16", near, false, convert::float, 0x3555),
        single(0.333_251_95)
    );
    let pair = Mode {
        other: Type::new(Class::Single, 32),
        ..mode("f16x2")
    };
    assert_eq!(
        of(convert::pack, &pair, &[single(1.0), single(-2.0)]),
        0x3c00_c000
    );
}

#[test]
fn directed_results_are_not_the_hosts() {
    let m = |name, rounding| Mode {
        rounding,
        ..mode(name)
    };
    let (down, up, zero) = (Rounding::Down, Rounding::Up, Rounding::Zero);
    let (one, three) = (1f64.to_bits(), 3f64.to_bits());
    let third = (1.0f64 / 3.0).to_bits();
    assert_eq!(of(float::div, &m("f64", down), &[one, three]), third);
    assert_eq!(of(float::div, &m("f64", up), &[one, three]), third + 1);
    assert_eq!(of(float::rcp, &m("f64", up), &[three]), third + 1);
    let root = 2f64.sqrt().to_bits();
    assert_eq!(
        of(float::sqrt, &m("f64", zero), &[2f64.to_bits()]),
        root - 1
    );
    let tiny = 1e-300f64.to_bits();
    assert_eq!(of(float::add, &m("f64", up), &[one, tiny]), one + 1);
    assert_eq!(of(float::sub, &m("f64", zero), &[one, tiny]), one - 1);
    assert_eq!(of(float::fma, &m("f64", down), &[one, one, tiny]), one);
    assert_eq!(of(float::mul, &m("f64", up), &[tiny, tiny]), 1);
    // The sum of opposites is a zero whose sign is the direction's.
    let opposites = [1f32, -1.0].map(|x| u64::from(x.to_bits()));
    assert_eq!(of(float::add, &m("f32", down), &opposites), 1 << 31);
    assert_eq!(of(float::add, &m("f32", up), &opposites), 0);
    let nan = of(float::div, &m("f64", up), &[0, 0]);
    assert_eq!(nan, 0x7ff8_0000_0000_0000);
}

#[test]
fn packed_types_are_computed_element_by_element() {
    let m = Mode {
        each: float::add,
        ..mode("f16x2")
    };
    assert_eq!(of(packed, &m, &[0x3c00_4000, 0x3c00_c000]), 0x4000_0000);
    let m = Mode {
        each: integer::add,
        ..mode("u16x2")
    };
    assert_eq!(of(packed, &m, &[0x0001_ffff, 0x0001_0001]), 0x0002_0000);
    let m = Mode {
        each: float::fma,
        ..mode("f32x2")
    };
    let pair = |a: f32, b: f32| u64::from(b.to_bits()) << 32 | u64::from(a.to_bits());
    assert_eq!(
        of(
            packed,
            &m,
            &[pair(2.0, 3.0), pair(4.0, 5.0), pair(1.0, -1.0)]
        ),
        pair(9.0, 14.0)
    );
}

#[test]
fn comparisons_know_signs_and_nans() {
    let ask = |name: &str, compare, a, b| {
        of(
            super::compare,
            &Mode {
                compare,
                other: Type::PREDICATE,
                ..mode(name)
            },
            &[a, b],
        )
    };
    assert_eq!(ask("s32", Compare::Less, mask(32), 0), 1);
    assert_eq!(ask("u32", Compare::Less, mask(32), 0), 0);
    let nan = u64::from(f32::NAN.to_bits());
    for (name, compare) in Compare::NAMES {
        let unordered = name.len() == 3 && *name != "num";
        assert_eq!(ask("f32", *compare, nan, 0), u64::from(unordered), "{name}");
    }
    assert_eq!(ask("f32", Compare::Equal, 0, 1 << 31), 1, "0 and -0");
    assert_eq!(sign_extend(0x80, 8), -128);
}
