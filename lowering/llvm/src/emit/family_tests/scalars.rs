//! Arithmetic, bit fields, comparisons, conversions and composites at their edges.

use super::*;

#[test]
fn remainders_take_the_right_sign() {
    let mut s = Shader::new();
    let mut expected = Vec::new();
    for (x, y, rem, modulus) in [
        (7i32, 3i32, 1, 1),
        (-7, 3, -1, 2),
        (7, -3, 1, -2),
        (-7, -3, -1, -1),
        (6, -3, 0, 0),
    ] {
        let (a, b) = (
            s.b.constant_bit32(s.i32, x as u32),
            s.b.constant_bit32(s.i32, y as u32),
        );
        let r = s.b.s_rem(s.i32, None, a, b).unwrap();
        let m = s.b.s_mod(s.i32, None, a, b).unwrap();
        s.store_bits(r);
        s.store_bits(m);
        expected.extend([rem as u32, modulus as u32]);
        let (a, b) = (s.f(x as f32), s.f(y as f32));
        let r = s.b.f_rem(s.f32, None, a, b).unwrap();
        let m = s.b.f_mod(s.f32, None, a, b).unwrap();
        let (r, m) = (
            s.b.convert_f_to_s(s.i32, None, r).unwrap(),
            s.b.convert_f_to_s(s.i32, None, m).unwrap(),
        );
        s.store_bits(r);
        s.store_bits(m);
        expected.extend([rem as u32, modulus as u32]);
    }
    assert_eq!(folded(s, "gfx906"), expected);
}

#[test]
fn carries_and_extended_products() {
    let mut s = Shader::new();
    let pair = s.b.type_struct([s.u32, s.u32]);
    let (max, two, one) = (s.u(u32::MAX), s.u(2), s.u(1));
    let results = [
        s.b.i_add_carry(pair, None, max, two).unwrap(),
        s.b.i_sub_borrow(pair, None, one, two).unwrap(),
        s.b.u_mul_extended(pair, None, max, max).unwrap(),
        s.b.s_mul_extended(pair, None, max, two).unwrap(),
    ];
    for result in results {
        for member in 0..2 {
            let part =
                s.b.composite_extract(s.u32, None, result, [member])
                    .unwrap();
            s.store(part);
        }
    }
    assert_eq!(
        folded(s, "gfx906"),
        [1, 1, u32::MAX, 1, 1, u32::MAX - 1, (-2i32) as u32, u32::MAX]
    );
}

#[test]
fn bit_fields_with_every_edge() {
    let mut s = Shader::new();
    let mut expected = Vec::new();
    let (base, field) = (0x8765_4321u32, 0xffff_fff5u32);
    for (offset, count) in [(0u32, 0u32), (32, 0), (0, 32), (4, 8), (31, 1), (16, 16)] {
        let mask = if count == 32 {
            u32::MAX
        } else {
            ((1u64 << count) - 1) as u32
        };
        let (b, f, o, c) = (s.u(base), s.u(field), s.u(offset), s.u(count));
        let inserted = s.b.bit_field_insert(s.u32, None, b, f, o, c).unwrap();
        let unsigned = s.b.bit_field_u_extract(s.u32, None, b, o, c).unwrap();
        let signed = s.b.bit_field_s_extract(s.u32, None, b, o, c).unwrap();
        for value in [inserted, unsigned, signed] {
            s.store(value);
        }
        let shifted = |v: u32, by: u32| if by == 32 { 0 } else { v << by };
        let low = if offset == 32 { 0 } else { base >> offset } & mask;
        let sign = if count == 0 {
            0
        } else {
            (((low << (32 - count)) as i32) >> (32 - count)) as u32
        };
        expected.extend([
            (base & !shifted(mask, offset)) | (shifted(field, offset) & shifted(mask, offset)),
            low,
            sign,
        ]);
    }
    for value in [0u32, 1, 0x8000_0000, 0x0010_0200] {
        let x = s.u(value);
        let (reversed, count) = (
            s.b.bit_reverse(s.u32, None, x).unwrap(),
            s.b.bit_count(s.u32, None, x).unwrap(),
        );
        let (low, high, signed) = (
            s.ext(s.u32, Glsl::FindILsb, &[x]),
            s.ext(s.u32, Glsl::FindUMsb, &[x]),
            s.ext(s.u32, Glsl::FindSMsb, &[x]),
        );
        for word in [reversed, count, low, high, signed] {
            s.store(word);
        }
        let msb = |v: u32| {
            if v == 0 {
                u32::MAX
            } else {
                31 - v.leading_zeros()
            }
        };
        let lsb = if value == 0 {
            u32::MAX
        } else {
            value.trailing_zeros()
        };
        expected.extend([
            value.reverse_bits(),
            value.count_ones(),
            lsb,
            msb(value),
            msb(if (value as i32) < 0 { !value } else { value }),
        ]);
    }
    assert_eq!(folded(s, "gfx906"), expected);
}

#[test]
fn comparisons_with_nan() {
    let mut s = Shader::new();
    let (nan, one, infinity) = (s.f(f32::NAN), s.f(1.0), s.f(f32::INFINITY));
    let boolean = s.boolean;
    let results = [
        (s.b.f_ord_equal(boolean, None, nan, nan).unwrap(), 0),
        (s.b.f_unord_equal(boolean, None, nan, one).unwrap(), 1),
        (s.b.f_ord_not_equal(boolean, None, nan, one).unwrap(), 0),
        (s.b.f_unord_not_equal(boolean, None, nan, one).unwrap(), 1),
        (
            s.b.f_ord_less_than(boolean, None, one, infinity).unwrap(),
            1,
        ),
        (s.b.is_nan(boolean, None, nan).unwrap(), 1),
        (s.b.is_nan(boolean, None, infinity).unwrap(), 0),
        (s.b.is_inf(boolean, None, infinity).unwrap(), 1),
        (s.b.is_inf(boolean, None, nan).unwrap(), 0),
        (s.b.is_inf(boolean, None, one).unwrap(), 0),
    ];
    let mut expected = Vec::new();
    for (value, word) in results {
        s.store_bool(value);
        expected.push(word);
    }
    assert_eq!(folded(s, "gfx906"), expected);
}

/// FConvert to half in every rounding mode: ties, signs, subnormals, overflow.
#[test]
fn half_conversions_round_as_decorated() {
    use spirv::FPRoundingMode::{RTE, RTN, RTP, RTZ};
    let mut s = Shader::new();
    let mut expected = Vec::new();
    let u16 = s.b.type_int(16, 0);
    // 1 + 2^-11 lies between 0x3c00 and 0x3c01; 65520 between the largest half and infinity; 2^-25
    // between 0 and the smallest half.
    let cases: [(f32, [u16; 4]); 6] = [
        (1.000_488_3, [0x3c00, 0x3c00, 0x3c01, 0x3c00]),
        (-1.000_488_3, [0xbc00, 0xbc00, 0xbc00, 0xbc01]),
        (65520.0, [0x7c00, 0x7bff, 0x7c00, 0x7bff]),
        (-65520.0, [0xfc00, 0xfbff, 0xfbff, 0xfc00]),
        (2.980_232_2e-8, [0x0000, 0x0000, 0x0001, 0x0000]),
        (-2.980_232_2e-8, [0x8000, 0x8000, 0x8000, 0x8001]),
    ];
    for (value, halves) in cases {
        for (mode, half) in [RTE, RTZ, RTP, RTN].into_iter().zip(halves) {
            let x = s.f(value);
            let converted = s.b.f_convert(s.f16, None, x).unwrap();
            s.b.decorate(
                converted,
                Decoration::FPRoundingMode,
                [Operand::FPRoundingMode(mode)],
            );
            let bits = s.b.bitcast(u16, None, converted).unwrap();
            let word = s.b.u_convert(s.u32, None, bits).unwrap();
            s.store(word);
            expected.push(u32::from(half));
        }
    }
    assert_eq!(folded(s, "gfx906"), expected);
}

#[test]
fn composites_and_matrices() {
    let mut s = Shader::new();
    let v2 = s.b.type_vector(s.f32, 2);
    let v3 = s.b.type_vector(s.f32, 3);
    let m23 = s.b.type_matrix(v3, 2);
    let m32 = s.b.type_matrix(v2, 3);
    let m22 = s.b.type_matrix(v2, 2);
    let n: Vec<Word> = (1..=6).map(|i| s.f(i as f32)).collect();
    let (c0, c1) = (
        s.b.composite_construct(v3, None, [n[0], n[1], n[2]])
            .unwrap(),
        s.b.composite_construct(v3, None, [n[3], n[4], n[5]])
            .unwrap(),
    );
    // Columns (1,2,3) and (4,5,6).
    let a = s.b.composite_construct(m23, None, [c0, c1]).unwrap();
    let at = s.b.transpose(m32, None, a).unwrap();
    let product = s.b.matrix_times_matrix(m22, None, at, a).unwrap();
    let x = s.b.composite_construct(v2, None, [n[1], n[2]]).unwrap();
    let ax = s.b.matrix_times_vector(v3, None, a, x).unwrap();
    let xa = s.b.vector_times_matrix(v2, None, c0, a).unwrap();
    let shuffled = s.b.vector_shuffle(v2, None, c1, x, [2, 3]).unwrap();
    let outer = s.b.outer_product(m23, None, c0, x).unwrap();
    let determinant = s.ext(s.f32, Glsl::Determinant, &[product]);
    let inverse = s.ext(m22, Glsl::MatrixInverse, &[product]);
    let mut expected = Vec::new();
    let mut check = |s: &mut Shader, value: Word, path: &[u32], number: f32| {
        let scalar = if path.is_empty() {
            value
        } else {
            s.b.composite_extract(s.f32, None, value, path.iter().copied())
                .unwrap()
        };
        s.store_bits(scalar);
        expected.push(number.to_bits());
    };
    check(&mut s, at, &[2, 1], 6.0);
    check(&mut s, product, &[0, 0], 14.0);
    check(&mut s, product, &[0, 1], 32.0);
    check(&mut s, product, &[1, 1], 77.0);
    check(&mut s, ax, &[0], 14.0);
    check(&mut s, ax, &[2], 24.0);
    check(&mut s, xa, &[1], 32.0);
    check(&mut s, shuffled, &[0], 6.0);
    check(&mut s, shuffled, &[1], 2.0);
    check(&mut s, outer, &[1, 2], 9.0);
    check(&mut s, determinant, &[], 54.0);
    check(&mut s, inverse, &[0, 1], -32.0 / 54.0);
    assert_eq!(folded(s, "gfx906"), expected);
}
