//! Instructions of extensions that stand beside those of the core: integer functions, fused
//! multiplication, bfloat16, clocks.

use super::Feature;
use super::float_rules;
use super::ty::{F16, F32, F64, FLOATS, INTEGERS, Scalar, Ty, U16, U32, U64};
use super::want::Want::{self, Bits};

fn value(s: Scalar, bits: u64, signed: bool) -> i128 {
    if signed {
        i128::from(s.signed(bits))
    } else {
        i128::from(bits)
    }
}

fn saturate(s: Scalar, value: i128, signed: bool) -> i128 {
    if signed {
        value.clamp(-(1i128 << (s.bits() - 1)), (1i128 << (s.bits() - 1)) - 1)
    } else {
        value.clamp(0, i128::from(s.mask()))
    }
}

type OfTwo = fn(Scalar, i128, i128, bool) -> i128;

/// SPV_INTEL_shader_integer_functions2: the opcode, whether its operands are signed, the exact
/// result.
#[rustfmt::skip] // a table
const TWO: [(&str, bool, OfTwo); 10] = [
    ("OpAbsISubINTEL", true, |_, a, b, _| (a - b).abs()),
    ("OpAbsUSubINTEL", false, |_, a, b, _| (a - b).abs()),
    ("OpIAddSatINTEL", true, |s, a, b, signed| saturate(s, a + b, signed)),
    ("OpUAddSatINTEL", false, |s, a, b, signed| saturate(s, a + b, signed)),
    ("OpISubSatINTEL", true, |s, a, b, signed| saturate(s, a - b, signed)),
    ("OpUSubSatINTEL", false, |s, a, b, signed| saturate(s, a - b, signed)),
    ("OpIAverageINTEL", true, |_, a, b, _| (a + b) >> 1),
    ("OpUAverageINTEL", false, |_, a, b, _| (a + b) >> 1),
    ("OpIAverageRoundedINTEL", true, |_, a, b, _| (a + b + 1) >> 1),
    ("OpUAverageRoundedINTEL", false, |_, a, b, _| (a + b + 1) >> 1),
];

fn integers(all: &mut Vec<Feature>) {
    for s in INTEGERS {
        let ty = Ty::from(s);
        for (op, signed, host) in TWO {
            let feature = Feature::simple(op, &[ty, ty], ty, move |row| {
                let result = host(
                    s,
                    value(s, row[0], signed),
                    value(s, row[1], signed),
                    signed,
                );
                Bits(result as u64 & s.mask())
            });
            all.push(feature.needing(&["IntegerFunctions2INTEL"]));
        }
        type One = fn(Scalar, u64) -> u32;
        let counts: [(&str, One); 2] = [
            ("OpUCountLeadingZerosINTEL", |s, v| {
                v.leading_zeros() - (64 - s.bits())
            }),
            ("OpUCountTrailingZerosINTEL", |s, v| {
                v.trailing_zeros().min(s.bits())
            }),
        ];
        for (op, host) in counts {
            let feature =
                Feature::simple(op, &[ty], ty, move |row| Bits(u64::from(host(s, row[0]))));
            all.push(feature.needing(&["IntegerFunctions2INTEL"]));
        }
    }
}

/// The nearest bfloat16, the even one of two; subnormal ones may be zero. Its bits are the upper
/// half of the float's.
fn brain(value: f64) -> Want {
    if value.is_nan() {
        return Want::Any;
    }
    let float = value as f32;
    let bits = float.to_bits();
    // What the first rounding did decides a tie of the second.
    let (lost, exact) = (f64::from(float), value);
    let low = bits & 0xffff;
    let up = match low.cmp(&0x8000) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal if exact.abs() > lost.abs() => true,
        std::cmp::Ordering::Equal if exact.abs() < lost.abs() => false,
        std::cmp::Ordering::Equal => bits >> 16 & 1 == 1,
    };
    Bits(u64::from((bits >> 16) + u32::from(up && float.is_finite())))
}

fn from_brain(bits: u64) -> f64 {
    f64::from(f32::from_bits((bits as u32) << 16))
}

fn brains(all: &mut Vec<Feature>) {
    let bits = Ty::from(U16);
    for lanes in [1, 4] {
        let (float, word) = (Ty::vector(F32, lanes), Ty::vector(U16, lanes));
        let body = format!("$r = OpConvertFToBF16INTEL %{} $a", word.name());
        let to = Feature::new("OpConvertFToBF16INTEL", &[float], &[word], &body, |row| {
            row.iter().map(|v| brain(F32.float(*v))).collect()
        });
        all.push(to.needing(&["BFloat16ConversionINTEL"]));
        let body = format!("$r = OpConvertBF16ToFINTEL %{} $a", float.name());
        let from = Feature::new("OpConvertBF16ToFINTEL", &[word], &[float], &body, |row| {
            let value = |v: &u64| super::want::float_or_bits(F32, v << 16);
            row.iter().map(value).collect()
        });
        all.push(from.needing(&["BFloat16ConversionINTEL"]));
    }
    for s in FLOATS {
        let ty = Ty::from(s);
        let to = Feature::new(
            "OpFConvert",
            &[ty],
            &[bits],
            "$x = OpFConvert %bf16 $a\n$r = OpBitcast %u16 $x",
            move |row| vec![brain(s.float(row[0]))],
        );
        all.push(
            to.called(&format!("{}.bf16", s.name()))
                .needing(&["BFloat16TypeKHR"]),
        );
        let body = format!("$x = OpBitcast %bf16 $a\n$r = OpFConvert %{} $x", s.name());
        let from = Feature::new("OpFConvert", &[bits], &[ty], &body, move |row| {
            vec![super::want::float(s, from_brain(row[0]))]
        });
        all.push(
            from.called(&format!("bf16.{}", s.name()))
                .needing(&["BFloat16TypeKHR"]),
        );
    }
}

/// A clock is read twice by `read`, which gives a `time`: the later time is the larger one. No host
/// knows more of it, and not even that of the bits beyond the twentieth, which gfx11 does not have.
pub(super) fn clock(op: &str, time: Ty, read: &str) -> Feature {
    let word = Ty::from(U32);
    let whole = if time.lanes == 1 {
        "OpCopyObject"
    } else {
        "OpBitcast"
    };
    let body = format!(
        "$x = {read}\n$y = {read}\n$before = {whole} %u64 $x\n$after = {whole} %u64 $y\n\
         $between = OpISub %u64 $after $before\n$low = OpBitwiseAnd %u64 $between %u64_1048575\n\
         $later = OpUGreaterThan %bool $low %u64_0\n$r = OpSelect %u32 $later $a %u32_0"
    );
    Feature::new(op, &[word], &[word], &body, |row| vec![Bits(row[0])]).called(&time.name())
}

fn clocks(all: &mut Vec<Feature>) {
    for (scope, name) in [(1, "device"), (3, "subgroup")] {
        for time in [Ty::from(U64), Ty::vector(U32, 2)] {
            let read = format!("OpReadClockKHR %{} %u32_{scope}", time.name());
            let mut feature = clock("OpReadClockKHR", time, &read).needing(&["ShaderClockKHR"]);
            feature.variant = format!("{}.{name}", feature.variant);
            all.push(feature);
        }
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    clocks(&mut all);
    integers(&mut all);
    brains(&mut all);
    for s in [F16, F32, F64] {
        let ty = Ty::from(s);
        let fma = Feature::simple("OpFmaKHR", &[ty, ty, ty], ty, move |row| {
            float_rules::fma(s, [row[0], row[1], row[2]])
        });
        all.push(fma.needing(&["FMAKHR"]));
    }
    for s in INTEGERS.into_iter().chain(FLOATS) {
        let vector = Ty::vector(s, 4);
        let body = format!(
            "$r = OpCompositeConstructReplicateEXT %{} $a",
            vector.name()
        );
        let op = "OpCompositeConstructReplicateEXT";
        let replicate = Feature::new(op, &[s.into()], &[vector], &body, move |row| {
            vec![super::want::float_or_bits(s, row[0]); 4]
        });
        all.push(replicate.needing(&["ReplicatedCompositesEXT"]));
    }
    all
}
