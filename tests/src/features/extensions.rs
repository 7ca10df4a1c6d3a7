//! Instructions of extensions that correspond to core instructions: integer functions, fused
//! multiplication, bfloat16, clocks.

use super::feature::{Feature, Memory};
use super::float_rules;
use super::launch::INVOCATIONS;
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

/// SPV_INTEL_shader_integer_functions2: the opcode, true if its operands are signed, and the exact
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

/// Products with 16-bit operands, functions of three operands by their table, and arithmetic
/// fences.
fn rare(all: &mut Vec<Feature>) {
    for lanes in [1, 3] {
        let ty = Ty::vector(U32, lanes);
        type Product = fn(u64, u64) -> u64;
        let products: [(&str, Product); 2] = [
            ("OpIMul32x16INTEL", |x, y| x.wrapping_mul(y as i16 as u64)),
            ("OpUMul32x16INTEL", |x, y| x.wrapping_mul(y & 0xffff)),
        ];
        for (op, product) in products {
            let body = format!("$r = {op} %{} $a $b", ty.name());
            let feature = Feature::new(op, &[ty, ty], &[ty], &body, move |row| {
                let (x, y) = row.split_at(lanes);
                let parts = x.iter().zip(y);
                parts
                    .map(|(x, y)| Bits(product(*x, *y) & 0xffff_ffff))
                    .collect()
            });
            all.push(feature.needing(&["IntegerFunctions2INTEL"]));
        }
    }
    // All functions of the kinds that instructions exist for, some others, and the constant ones.
    for table in [
        0, 0x01, 0x08, 0x1b, 0x2d, 0x3c, 0x56, 0x5a, 0x69, 0x6a, 0x80, 0x96, 0xaa, 0xac, 0xc0,
        0xca, 0xcc, 0xe8, 0xf0, 0xfe, 0xff,
    ] {
        let widths: &[Scalar] = if table == 0xca { &INTEGERS } else { &[U32] };
        for s in widths.iter().copied() {
            let ty = Ty::from(s);
            let op = "OpBitwiseFunctionINTEL";
            let body = format!("$r = {op} %{} $a $b $c %u32_{table}", s.name());
            let feature = Feature::new(op, &[ty, ty, ty], &[ty], &body, move |row| {
                let bit = |at: u32| {
                    let [a, b, c] = [row[0], row[1], row[2]].map(|word| word >> at & 1);
                    u64::from(table >> (a + 2 * b + 4 * c) & 1u32) << at
                };
                vec![Bits((0..s.bits()).map(bit).sum())]
            });
            let feature = feature.called(&format!("{}.{table:#04x}", s.name()));
            all.push(feature.needing(&["TernaryBitwiseFunctionINTEL"]));
        }
    }
    for s in FLOATS {
        for lanes in [1, 2] {
            let ty = Ty::vector(s, lanes);
            let body = format!("$r = OpArithmeticFenceEXT %{} $a", ty.name());
            let feature = Feature::new("OpArithmeticFenceEXT", &[ty], &[ty], &body, move |row| {
                let same = |bits: &u64| super::want::float_or_bits(s, *bits);
                row.iter().map(same).collect()
            });
            all.push(feature.needing(&["ArithmeticFenceEXT"]));
        }
    }
    let body = "$r = OpRoundFToTF32INTEL %f32 $a";
    let feature = Feature::new(
        "OpRoundFToTF32INTEL",
        &[F32.into()],
        &[F32.into()],
        body,
        |row| {
            let x = F32.float(row[0]);
            if !x.is_finite() || x == 0.0 {
                return vec![super::want::float_or_bits(F32, row[0])];
            }
            // Units of the last of ten bits; subnormal floats have those of the least normal one.
            let exponent = super::ty::exponent(x).max(F32.least_exponent());
            let step = super::ty::power_of_two(exponent - 10);
            let rounded = (x / step).round_ties_even() * step;
            vec![super::want::float(F32, rounded.copysign(x))]
        },
    );
    all.push(feature.needing(&["TensorFloat32RoundingINTEL"]));
}

/// Vectors of as many components as nothing else has (SPV_EXT_long_vector), and of one: made, taken
/// apart, computed with, kept in variables, shuffled.
fn long_vectors(all: &mut Vec<Feature>) {
    let word = Ty::from(U32);
    for lanes in [1usize, 5, 32, 64, 100] {
        // Component i is a + i * b.
        let mut body = String::new();
        let mut parts = String::new();
        for lane in 0..lanes {
            body += &format!(
                "$m{lane} = OpIMul %u32 $b %u32_{lane}\n$p{lane} = OpIAdd %u32 $a $m{lane}\n"
            );
            parts += &format!(" $p{lane}");
        }
        body += &format!(
            "$v = OpCompositeConstruct %u32V{lanes}{parts}\n$w = OpIMul %u32V{lanes} $v $v\n\
             OpStore $place $w\n$at = OpUMod %u32 $c %u32_{lanes}\n\
             $where = OpAccessChain %p_Function_u32 $place $at\n$x = OpLoad %u32 $where\n\
             $whole = OpLoad %u32V{lanes} $place\n$y = OpVectorExtractDynamic %u32 $whole $at\n\
             $with = OpVectorInsertDynamic %u32V{lanes} $whole $a $at\n\
             $last = OpCompositeExtract %u32 $with {last}\n\
             $turned = OpVectorShuffle %u32v2 $with $whole {last} {lanes}\n\
             $r = OpIAdd %u32 $x $y\n$s = OpCopyObject %u32 $last\n\
             $t = OpCompositeExtract %u32 $turned 0\n$u = OpCompositeExtract %u32 $turned 1",
            last = lanes - 1
        );
        let feature = Feature::new(
            "OpCompositeConstruct",
            &[word, word, word],
            &[word, word, word, word],
            &body,
            move |row| {
                let part = |lane: u64| {
                    let value = row[0].wrapping_add(lane.wrapping_mul(row[1])) as u32;
                    u64::from(value.wrapping_mul(value))
                };
                let (at, last) = (row[2] % lanes as u64, lanes as u64 - 1);
                let end = if at == last { row[0] } else { part(last) };
                [part(at).wrapping_mul(2) & 0xffff_ffff, end, end, part(0)]
                    .map(Bits)
                    .to_vec()
            },
        );
        all.push(
            feature
                .called(&format!("u32.long{lanes}"))
                .needing(&["LongVectorEXT"])
                .with_variables(format!(
                    "$place = OpVariable %p_Function_u32V{lanes} Function\n"
                )),
        );
    }
    let body = "$v = OpCompositeConstruct %f32V7 $a $b $c $a $b $c $a\n\
                $w = OpExtInst %f32V7 %glsl Fma $v $v $v\n$x = OpExtInst %f32V7 %glsl FMax $w $v\n\
                $r = OpCompositeExtract %f32 $x 5";
    let f = Ty::from(F32);
    let feature = Feature::new("GLSL.std.450 Fma", &[f, f, f], &[f], body, |row| {
        let x = F32.float(row[2]);
        if !x.is_finite() || x.abs() > 1e15 || x.abs() < 1e-15 {
            return vec![Want::Any];
        }
        let fused = (x as f32).mul_add(x as f32, x as f32);
        vec![super::want::float(F32, f64::from(fused.max(x as f32)))]
    });
    all.push(feature.called("f32.long7").needing(&["LongVectorEXT"]));
}

/// Pointers to where bytes of a buffer are, whatever its type: a word of a record, and a vector.
fn raw_chains(all: &mut Vec<Feature>) {
    const RECORDS: u64 = 16;
    const STRIDE: u64 = 20;
    let bytes: Vec<u8> = (0..RECORDS * STRIDE)
        .map(|at| (at * 37 + 11) as u8)
        .collect();
    let word = |bytes: &[u8], at: u64| {
        let at = at as usize;
        u64::from(u32::from_le_bytes([
            bytes[at],
            bytes[at + 1],
            bytes[at + 2],
            bytes[at + 3],
        ]))
    };
    for robust in ["", " RobustnessPerElementNV", " RobustnessPerComponentNV"] {
        let body = format!(
            "$i = OpUMod %u32 $a %u32_{RECORDS}\n\
             $p = OpRawAccessChainNV %p_StorageBuffer_f32 $m %u32_{STRIDE} $i %u32_8{robust}\n\
             $x = OpLoad %f32 $p Aligned 4\n$r = OpBitcast %u32 $x\n\
             $q = OpRawAccessChainNV %p_StorageBuffer_u32v2 $m %u32_{STRIDE} $i %u32_12{robust}\n\
             $y = OpLoad %u32v2 $q Aligned 4\n$s = OpCompositeExtract %u32 $y 1"
        );
        let given = bytes.clone();
        let u32s = [U32.into(), U32.into()];
        let feature = Feature::new(
            "OpRawAccessChainNV",
            &[U32.into()],
            &u32s,
            &body,
            move |row| {
                let at = row[0] % RECORDS * STRIDE;
                let float = word(&given, at + 8);
                vec![
                    super::want::float_or_bits(F32, float),
                    Bits(word(&given, at + 16)),
                ]
            },
        );
        all.push(
            feature
                .called(&format!("u32{}", robust.replace(' ', ".")))
                .needing(&["RawAccessChainsNV"])
                .with_globals("$ra = OpTypeRuntimeArray %u32\n$block = OpTypeStruct $ra\n$pb = OpTypePointer StorageBuffer $block\n")
                .decorated("OpDecorate $ra ArrayStride 4\nOpDecorate $block Block\nOpMemberDecorate $block 0 Offset 0\n")
                .with_memory(Memory {
                    name: "m",
                    pointer: "$pb".to_owned(),
                    before: bytes.clone(),
                    after: None,
                    links: Vec::new(),
                }),
        );
    }
    // Stores of every invocation's own record.
    let body = "$n = OpBitcast %u32 %gid\n$p = OpRawAccessChainNV %p_StorageBuffer_u16 $m %u32_8 $n %u32_6\n\
                OpStore $p $a Aligned 2\n$r = OpCopyObject %u32 %u32_0";
    let mut feature = Feature::new(
        "OpRawAccessChainNV",
        &[super::ty::U16.into()],
        &[U32.into()],
        body,
        |_| vec![Bits(0)],
    );
    let mut after = vec![0; 8 * INVOCATIONS];
    for (row, record) in feature.inputs.iter().zip(after.chunks_exact_mut(8)) {
        record[6..].copy_from_slice(&(row[0] as u16).to_le_bytes());
    }
    feature.variant = "u16.store".to_owned();
    all.push(
        feature
            .needing(&["RawAccessChainsNV"])
            .with_globals("$ra = OpTypeRuntimeArray %u32\n$block = OpTypeStruct $ra\n$pb = OpTypePointer StorageBuffer $block\n")
            .decorated("OpDecorate $ra ArrayStride 4\nOpDecorate $block Block\nOpMemberDecorate $block 0 Offset 0\n")
            .with_memory(Memory {
                name: "m",
                pointer: "$pb".to_owned(),
                before: vec![0; 8 * INVOCATIONS],
                after: Some(after),
                links: Vec::new(),
            }),
    );
}

/// The nearest bfloat16, rounded to even; subnormal ones may be zero. Its bits are the upper 16
/// bits of the float.
pub(super) fn brain(value: f64) -> Want {
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

/// A clock is read twice by `read`, whose result is a `time`: the later time must be the larger
/// one. The host cannot predict more, nor the bits beyond the twentieth, which gfx11 does not have.
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

/// Predicated loads and stores: half of the addresses are outside the buffer, and must not be read.
/// A loop of one block has both.
fn predicated(all: &mut Vec<Feature>) {
    const BLOCK: &str = "$ra = OpTypeRuntimeArray %u32\n$block = OpTypeStruct $ra\n\
                         $pb = OpTypePointer StorageBuffer $block\n";
    const LAYOUT: &str = "OpDecorate $ra ArrayStride 4\nOpDecorate $block Block\n\
                          OpMemberDecorate $block 0 Offset 0\n";
    const PLACE: &str =
        "$n = OpBitcast %u32 %gid\n$p = OpAccessChain %p_StorageBuffer_u32 $m %u32_0 $n\n";
    let buffer = |before: Vec<u8>, after: Option<Vec<u8>>| Memory {
        name: "m",
        pointer: "$pb".to_owned(),
        before,
        after,
        links: Vec::new(),
    };
    let number = |at: usize| (at as u32).wrapping_mul(0x9e37_79b9);
    let half = INVOCATIONS / 2;
    let body = format!(
        "{PLACE}$in = OpULessThan %bool $n %u32_{half}\n\
         $r = OpPredicatedLoadINTEL %u32 $p $in $a Aligned 4"
    );
    let load = Feature::new(
        "OpPredicatedLoadINTEL",
        &[U32.into()],
        &[U32.into()],
        &body,
        |_| Vec::new(),
    )
    .collectively(move |_, rows| {
        let value = |(at, row): (usize, &Vec<u64>)| {
            if at < half {
                vec![Bits(number(at).into())]
            } else {
                vec![Bits(row[0])]
            }
        };
        rows.iter().enumerate().map(value).collect()
    });
    let before = (0..half).flat_map(|at| number(at).to_le_bytes()).collect();
    all.push(
        load.needing(&["!6257"])
            .with_globals(BLOCK)
            .decorated(LAYOUT)
            .with_memory(buffer(before, None)),
    );
    let body = format!(
        "{PLACE}$o = OpBitwiseAnd %u32 $a %u32_1\n$w = OpIEqual %bool $o %u32_1\n\
         OpPredicatedStoreINTEL $p $a $w Aligned 4\n$r = OpCopyObject %u32 $o"
    );
    let store = Feature::new(
        "OpPredicatedStoreINTEL",
        &[U32.into()],
        &[U32.into()],
        &body,
        |row| vec![Bits(row[0] & 1)],
    );
    let after = store.inputs.iter().flat_map(|row| match row[0] & 1 {
        1 => (row[0] as u32).to_le_bytes(),
        _ => [0x5a; 4],
    });
    let after = after.collect();
    all.push(
        store
            .needing(&["!6257"])
            .with_globals(BLOCK)
            .decorated(LAYOUT)
            .with_memory(buffer(vec![0x5a; 4 * INVOCATIONS], Some(after))),
    );
    let body = "OpStore $v $a\nOpBranch $before\n$before = OpLabel\nOpBranch $h\n$h = OpLabel\n\
                $i = OpPhi %u32 %u32_0 $before $j $h\n$o = OpBitwiseAnd %u32 $i %u32_1\n\
                $q = OpIEqual %bool $o %u32_1\n$x = OpPredicatedLoadINTEL %u32 $v $q $i\n\
                $y = OpIMul %u32 $x %u32_7\n$z = OpIAdd %u32 $y $i\n\
                OpPredicatedStoreINTEL $v $z $q\n$j = OpIAdd %u32 $i %u32_1\n\
                $c = OpULessThan %bool $j %u32_5\nOpLoopMerge $e $h None\n\
                OpBranchConditional $c $h $e\n$e = OpLabel\n$k = OpLoad %u32 $v\n\
                $r = OpIAdd %u32 $k $x";
    let looped = Feature::new(
        "OpPredicatedLoadINTEL",
        &[U32.into()],
        &[U32.into()],
        body,
        |row| {
            let mut kept = row[0] as u32;
            let mut last = 0;
            for i in 0..5 {
                last = if i % 2 == 1 { kept } else { i };
                if i % 2 == 1 {
                    kept = last.wrapping_mul(7).wrapping_add(i);
                }
            }
            vec![Bits(kept.wrapping_add(last).into())]
        },
    );
    all.push(
        looped
            .needing(&["!6257"])
            .called("u32.loop")
            .with_variables("$v = OpVariable %p_Function_u32 Function\n"),
    );
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    clocks(&mut all);
    integers(&mut all);
    brains(&mut all);
    rare(&mut all);
    raw_chains(&mut all);
    long_vectors(&mut all);
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
    predicated(&mut all);
    all
}
