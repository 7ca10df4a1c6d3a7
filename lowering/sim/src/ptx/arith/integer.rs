//! Integer, logic and shift instructions (PTX ISA, "Integer Arithmetic Instructions", "Logic and
//! Shift Instructions").

use super::bits::{mask, sign_extend};
use super::mode::{Arguments, Mode};

/// The number that the bits stand for.
fn number(m: &Mode, x: u64) -> i128 {
    if m.kind.is_signed() {
        sign_extend(x, m.bits()).into()
    } else {
        m.low(x).into()
    }
}

/// The bits of a number; clamped first, if so asked.
fn result(m: &Mode, value: i128) -> u64 {
    let clamped = if m.saturate {
        let span = 1i128 << m.bits();
        let (least, most) = if m.kind.is_signed() {
            (-span / 2, span / 2 - 1)
        } else {
            (0, span - 1)
        };
        value.clamp(least, most)
    } else {
        value
    };
    m.low(if m.relu && clamped < 0 {
        0
    } else {
        clamped as u64
    })
}

/// `a + b`
pub(crate) fn add(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    if m.saturate {
        result(m, number(m, a) + number(m, b))
    } else {
        m.low(a.wrapping_add(b))
    }
}

/// `a - b`
pub(crate) fn sub(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    if m.saturate {
        result(m, number(m, a) - number(m, b))
    } else {
        m.low(a.wrapping_sub(b))
    }
}

/// `a + b + c`, where `c` is a carry.
pub(crate) fn add_carry(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    m.low(a.wrapping_add(b).wrapping_add(c & 1))
}

/// The carry out of `a + b + c`.
pub(crate) fn carry(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let sum = u128::from(m.low(a)) + u128::from(m.low(b)) + u128::from(c & 1);
    u64::from(sum >> m.bits() != 0)
}

/// `a - b - c`, where `c` is a borrow.
pub(crate) fn sub_borrow(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    m.low(a.wrapping_sub(b).wrapping_sub(c & 1))
}

/// The borrow out of `a - b - c`.
pub(crate) fn borrow(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    u64::from(u128::from(m.low(a)) < u128::from(m.low(b)) + u128::from(c & 1))
}

/// The low half of `a * b + c`; `mul.lo` has no `c`.
pub(crate) fn mad_low(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    m.low(a.wrapping_mul(b).wrapping_add(c))
}

/// The high half of `a * b`, plus `c`.
pub(crate) fn mad_high(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let high = if m.kind.is_signed() {
        (number(m, a).wrapping_mul(number(m, b)) >> m.bits()) as u64
    } else {
        ((u128::from(m.low(a)) * u128::from(m.low(b))) >> m.bits()) as u64
    };
    if m.saturate {
        result(m, number(m, high) + number(m, c))
    } else {
        m.low(high.wrapping_add(c))
    }
}

/// `a * b + c` in twice the width.
pub(crate) fn mad_wide(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let product = number(m, a).wrapping_mul(number(m, b)) as u64;
    product.wrapping_add(c) & mask(m.bits() * 2)
}

/// `c + |a - b|`
pub(crate) fn sad(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    m.low(((number(m, a) - number(m, b)).unsigned_abs() as u64).wrapping_add(c))
}

/// `a / b`. What a division by zero gives is not specified; here it is all ones.
pub(crate) fn div(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    number(m, a)
        .checked_div(number(m, b))
        .map_or(mask(m.bits()), |q| m.low(q as u64))
}

/// The remainder of `a / b`. What a division by zero gives is not specified; here it is `a`.
pub(crate) fn rem(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    number(m, a)
        .checked_rem(number(m, b))
        .map_or(m.low(a), |r| m.low(r as u64))
}

/// `|a|`
pub(crate) fn abs(m: &Mode, [a, ..]: Arguments) -> u64 {
    m.low(number(m, a).unsigned_abs() as u64)
}

/// `-a`
pub(crate) fn neg(m: &Mode, [a, ..]: Arguments) -> u64 {
    m.low(a.wrapping_neg())
}

/// The smaller one.
pub(crate) fn min(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    result(m, number(m, a).min(number(m, b)))
}

/// The greater one.
pub(crate) fn max(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    result(m, number(m, a).max(number(m, b)))
}

/// How many bits are set.
pub(crate) fn popc(m: &Mode, [a, ..]: Arguments) -> u64 {
    m.low(a).count_ones().into()
}

/// How many zeros stand before the first bit that is set.
pub(crate) fn clz(m: &Mode, [a, ..]: Arguments) -> u64 {
    (m.low(a).leading_zeros() - (64 - m.bits())).into()
}

/// Position of the highest bit that says something (in a negative number, the highest 0); all ones
/// if there is none. With a table of 1, how far that bit has to be shifted to become the highest.
pub(crate) fn bfind(m: &Mode, [a, ..]: Arguments) -> u64 {
    let a = if m.kind.is_signed() && sign_extend(a, m.bits()) < 0 {
        m.low(!a)
    } else {
        m.low(a)
    };
    match a.checked_ilog2() {
        None => mask(32),
        Some(position) if m.table == 1 => (m.bits() - 1 - position).into(),
        Some(position) => position.into(),
    }
}

/// The bits in the other order.
pub(crate) fn brev(m: &Mode, [a, ..]: Arguments) -> u64 {
    m.low(a).reverse_bits() >> (64 - m.bits())
}

/// `c` bits of `a` from bit `b`, extended with their sign if the type has one (PTX ISA, `bfe`:
/// positions and lengths are 8 bits).
pub(crate) fn bfe(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let (bits, position, length) = (m.bits(), b & 0xff, (c & 0xff) as u32);
    let last = u64::from(bits - 1);
    let fill = if m.kind.is_signed() && length > 0 {
        let highest = (position + u64::from(length) - 1).min(last);
        m.low(a) >> highest & 1
    } else {
        0
    };
    // A field that begins behind the last bit has none of them.
    let field = m.low(a).checked_shr(position as u32).unwrap_or(0) & mask(length);
    // Bits of the field beyond the highest bit of `a`, and all above the field, are copies of the
    // sign.
    let known = u64::from(length).min((u64::from(bits)).saturating_sub(position)) as u32;
    m.low(if fill == 1 {
        field | !mask(known)
    } else {
        field
    })
}

/// `a` put into `b` at bit `c`, `d` bits of it.
pub(crate) fn bfi(m: &Mode, [a, b, c, d]: Arguments) -> u64 {
    let (position, length) = ((c & 0xff) as u32, (d & 0xff) as u32);
    // A field that begins behind the last bit has none of them.
    let field = mask(length).checked_shl(position).unwrap_or(0);
    m.low(b & !field | a.checked_shl(position).unwrap_or(0) & field)
}

/// `b` bits set from bit `a` (`bmsk`); amounts are clamped, or wrap with a table of 1.
pub(crate) fn bmsk(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    let (from, length) = if m.table == 1 {
        ((a & 31) as u32, (b & 31) as u32)
    } else {
        (m.low(a).min(32) as u32, m.low(b).min(32) as u32)
    };
    m.low(mask(length) << from)
}

/// The low `b` bits of `a`, extended to the whole width (`szext`).
pub(crate) fn szext(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    let length = if m.table == 1 {
        (b & 31) as u32
    } else {
        m.low(b).min(32) as u32
    };
    match length {
        0 => 0,
        _ if m.kind.is_signed() => m.low(sign_extend(a, length) as u64),
        _ => m.low(a) & mask(length),
    }
}

/// `a & b`
pub(crate) fn and(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    m.low(a & b)
}

/// `a | b`
pub(crate) fn or(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    m.low(a | b)
}

/// `a ^ b`
pub(crate) fn xor(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    m.low(a ^ b)
}

/// `!a`
pub(crate) fn not(m: &Mode, [a, ..]: Arguments) -> u64 {
    m.low(!a)
}

/// 1 where `a` is 0, else 0.
pub(crate) fn cnot(m: &Mode, [a, ..]: Arguments) -> u64 {
    u64::from(m.low(a) == 0)
}

/// Any function of three bits: bit `4a + 2b + c` of the table.
pub(crate) fn lop3(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let mut out = 0;
    for row in 0..8u8 {
        if m.table >> row & 1 == 1 {
            let pick = |x: u64, bit: u8| if row >> bit & 1 == 1 { x } else { !x };
            out |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    m.low(out)
}

/// `a << b`; amounts are 32 bits wide, and those beyond the width give 0.
pub(crate) fn shl(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    m.low(m.low(a).checked_shl(amount(b)).unwrap_or(0))
}

/// `a >> b`, filled with the sign if the type has one; else amounts beyond the width give 0.
pub(crate) fn shr(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    if m.kind.is_signed() {
        m.low((sign_extend(a, m.bits()) >> amount(b).min(63)) as u64)
    } else {
        m.low(a).checked_shr(amount(b)).unwrap_or(0)
    }
}

fn amount(b: u64) -> u32 {
    (b & mask(32)) as u32
}

fn funnel_amount(m: &Mode, c: u64) -> u32 {
    if m.table == 1 {
        amount(c) & 31
    } else {
        amount(c).min(32)
    }
}

/// The high word of `b:a << c` (`shf.l`); the amount is clamped to 32, or wraps with a table of 1.
pub(crate) fn funnel_left(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let both = (b & mask(32)) << 32 | a & mask(32);
    (u128::from(both) << funnel_amount(m, c) >> 32) as u64 & mask(32)
}

/// The low word of `b:a >> c` (`shf.r`).
pub(crate) fn funnel_right(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let both = (b & mask(32)) << 32 | a & mask(32);
    both >> funnel_amount(m, c) & mask(32)
}

/// Modes of `prmt`, in the order of [`Mode::table`].
pub(crate) const PERMUTE_MODES: [&str; 6] = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];

/// Four bytes out of the eight of `b:a`, as `c` selects (PTX ISA, `prmt`). The table is 0 without a
/// mode, else 1 plus its index in [`PERMUTE_MODES`].
pub(crate) fn prmt(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let bytes = ((b & mask(32)) << 32 | a & mask(32)).to_le_bytes();
    let byte = |i: u64| u64::from(bytes[(i & 7) as usize]);
    let at = c & 3;
    let pick = |i: u64| match m.table {
        0 => {
            let selector = c >> (4 * i) & 15;
            let value = byte(selector & 7);
            if selector & 8 == 0 {
                value
            } else {
                0xff * (value >> 7)
            }
        }
        1 => byte(at + i),
        2 => byte(at.wrapping_sub(i)),
        3 => byte(at),
        4 => byte(at.max(i)),
        5 => byte(at.min(i)),
        _ => byte(2 * (at & 1) + (i & 1)),
    };
    (0..4).fold(0, |word, i| word | pick(i) << (8 * i))
}

/// `c` plus the products of the bytes of `a` and `b` (`dp4a`); the mode's types say which of the
/// two has a sign.
pub(crate) fn dp4a(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let element = |x: u64, i: u32, signed: bool| {
        let byte = x >> (8 * i) & 0xff;
        if signed {
            sign_extend(byte, 8)
        } else {
            byte as i64
        }
    };
    let sum: i64 = (0..4)
        .map(|i| element(a, i, m.kind.is_signed()) * element(b, i, m.other.is_signed()))
        .sum();
    c.wrapping_add(sum as u64) & mask(32)
}
