//! Cooperative vectors: products with matrices in memory, sums into memory, loads and stores.

use super::feature::{Feature, Memory};
use super::launch::{INVOCATIONS, WORKGROUP};
use super::ty::{F32, Scalar, U8, U32};
use super::want::Want::{self, Bits};
use super::want::float;

/// Rows and columns of the matrices.
const ROWS: usize = 5;
const COLUMNS: usize = 7;
/// The number of bytes before a matrix, and the stride of rows or columns.
const BEGIN: usize = 16;
const STRIDE: usize = 48;

/// Interpretations (SPV_NV_cooperative_vector, "Component Type").
const FLOAT16: u32 = 0;
const FLOAT32: u32 = 1;
const INT8: u32 = 3;
const INT32: u32 = 5;
const INT8_PACKED: u32 = 1_000_491_000;
const E4M3: u32 = 1_000_491_002;

/// A small whole number.
fn number(at: usize) -> i32 {
    (at * 7 % 5) as i32 - 2
}

/// The bytes of a whole number by its interpretation.
fn bytes_of(number: i32, as_type: u32) -> Vec<u8> {
    match as_type {
        FLOAT16 => half::f16::from_f32(number as f32).to_le_bytes().to_vec(),
        FLOAT32 => (number as f32).to_le_bytes().to_vec(),
        INT32 => number.to_le_bytes().to_vec(),
        // Sign, exponent with the bias 7, three bits: 1 is 0x38, 2 is 0x40.
        E4M3 => {
            let code = [0, 0x38, 0x40][number.unsigned_abs() as usize];
            vec![code | if number < 0 { 0x80 } else { 0 }]
        }
        _ => vec![number as i8 as u8],
    }
}

/// A buffer with a matrix, followed by a bias.
fn memory(row_major: bool, of_matrix: u32, of_bias: u32) -> (Vec<u8>, usize) {
    let size = bytes_of(0, of_matrix).len();
    let lines = if row_major { ROWS } else { COLUMNS };
    let behind = BEGIN + lines * STRIDE;
    let mut bytes = vec![0; behind + ROWS * 4];
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let (line, place) = if row_major {
                (row, column)
            } else {
                (column, row)
            };
            let at = BEGIN + line * STRIDE + place * size;
            let value = bytes_of(number(row * COLUMNS + column), of_matrix);
            bytes[at..at + size].copy_from_slice(&value);
        }
    }
    let size = bytes_of(0, of_bias).len();
    for row in 0..ROWS {
        let at = behind + row * size;
        bytes[at..at + size].copy_from_slice(&bytes_of(row as i32 - 1, of_bias));
    }
    (bytes, behind)
}

/// A product, of floats or of integers, with a bias or without.
fn product(row_major: bool, floats: bool, bias: bool, [of_input, of_matrix]: [u32; 2]) -> Feature {
    let of_bias = if floats { FLOAT32 } else { INT32 };
    let (bytes, behind) = memory(row_major, of_matrix, of_bias);
    let scalar = if floats { F32 } else { U32 };
    let name = scalar.name();
    let op = if bias {
        "OpCooperativeVectorMatrixMulAddNV"
    } else {
        "OpCooperativeVectorMatrixMulNV"
    };
    let layout = u32::from(!row_major);
    // The operand is a small whole number n; component i of the input is n + i mod 3.
    let mut body = "$n = OpBitwiseAnd %u32 $a %u32_1\n".to_owned();
    let mut parts = String::new();
    for column in 0..COLUMNS {
        body += &format!("$j{column} = OpIAdd %u32 $n %u32_{}\n", column % 3);
        if floats {
            body += &format!("$i{column} = OpConvertUToF %f32 $j{column}\n");
            parts += &format!(" $i{column}");
        } else {
            parts += &format!(" $j{column}");
        }
    }
    let (input, columns) = if of_input == INT8_PACKED {
        // Four numbers in each word.
        for word in 0..2 {
            body += &format!("$w{word}0 = OpCopyObject %u32 %u32_0\n");
            for place in 0..4 {
                let column = word * 4 + place;
                let part = if column < COLUMNS {
                    format!("$j{column}")
                } else {
                    "%u32_0".to_owned()
                };
                body += &format!(
                    "$s{word}{place} = OpShiftLeftLogical %u32 {part} %u32_{}\n\
                     $w{word}{} = OpBitwiseOr %u32 $w{word}{place} $s{word}{place}\n",
                    8 * place,
                    place + 1
                );
            }
        }
        (" $w04 $w14".to_owned(), 2)
    } else {
        (parts, COLUMNS)
    };
    body += &format!("$x = OpCompositeConstruct %{name}V{columns}{input}\n");
    let with_bias = if bias {
        format!("$array %u32_{behind} %u32_{of_bias} ")
    } else {
        String::new()
    };
    let signed = if floats {
        ""
    } else {
        " MatrixBSignedComponentsKHR"
    };
    body += &format!(
        "$array = OpAccessChain $pa $m %u32_0\n\
         $y = {op} %{name}V{ROWS} $x %u32_{of_input} $array %u32_{BEGIN} %u32_{of_matrix} {with_bias}\
         %u32_{ROWS} %u32_{COLUMNS} %u32_{layout} %false %u32_{STRIDE}{signed}\n\
         $r = OpCompositeExtract %{name} $y 0\n$s = OpCompositeExtract %{name} $y 3\n\
         $t = OpCompositeExtract %{name} $y 4"
    );
    let answer = move |row: &[u64]| {
        let n = (row[0] & 1) as i32;
        let one = |at: usize| {
            let terms = (0..COLUMNS).map(|k| number(at * COLUMNS + k) * (n + (k % 3) as i32));
            let start = if bias { at as i32 - 1 } else { 0 };
            let value = terms.sum::<i32>() + start;
            if floats {
                float(F32, f64::from(value))
            } else {
                Bits(u64::from(value as u32))
            }
        };
        [0, 3, 4].map(one).to_vec()
    };
    let results = [scalar.into(); 3];
    let feature = Feature::new(op, &[U32.into()], &results, &body, answer).called(&format!(
        "{}.{of_input}.{of_matrix}",
        if row_major { "rows" } else { "columns" }
    ));
    on_words(feature, bytes, None)
}

/// The feature with a buffer of words.
fn on_words(feature: Feature, before: Vec<u8>, after: Option<Vec<u8>>) -> Feature {
    feature
        .needing(&["CooperativeVectorNV", "CooperativeVectorTrainingNV", "Int8"])
        .with_globals(
            "$ra = OpTypeRuntimeArray %u32\n$block = OpTypeStruct $ra\n$pb = OpTypePointer StorageBuffer $block\n\
             $pa = OpTypePointer StorageBuffer $ra\n",
        )
        .decorated("OpDecorate $ra ArrayStride 4\nOpDecorate $block Block\nOpMemberDecorate $block 0 Offset 0\n")
        .with_memory(Memory {
            name: "m",
            pointer: "$pb".to_owned(),
            before,
            after,
            links: Vec::new(),
        })
}

/// Five bytes and five words at any multiple of their size, loaded and stored again elsewhere.
fn transfers(all: &mut Vec<Feature>) {
    for s in [U8, U32] {
        let size = s.bits() / 8;
        let part = Scalar::name(s);
        let bytes: Vec<u8> = (0..160u32).map(|at| (at * 29 + 3) as u8).collect();
        let body = format!(
            "$array = OpAccessChain $pa $m %u32_0\n$k = OpUMod %u32 $a %u32_8\n\
             $at = OpIMul %u32 $k %u32_{size}\n\
             $v = OpCooperativeVectorLoadNV %{part}V5 $array $at\n\
             $r = OpCompositeExtract %{part} $v 0\n$s = OpCompositeExtract %{part} $v 4"
        );
        let given = bytes.clone();
        let answer = move |row: &[u64]| {
            let part = |index: u64| {
                let at = ((row[0] % 8 + index) * u64::from(size)) as usize;
                let word = given[at..at + size as usize].iter().rev();
                Bits(word.fold(0, |word, byte| word << 8 | u64::from(*byte)))
            };
            vec![part(0), part(4)]
        };
        let results = [s.into(), s.into()];
        let op = "OpCooperativeVectorLoadNV";
        let feature = Feature::new(op, &[U32.into()], &results, &body, answer).called(part);
        all.push(on_words(feature, bytes, None));
    }
    // Every invocation stores three words of its own.
    let body = "$array = OpAccessChain $pa $m %u32_0\n$n = OpBitcast %u32 %gid\n$at = OpIMul %u32 $n %u32_12\n\
                $v = OpCompositeConstruct %u32V3 $a $b $a\nOpCooperativeVectorStoreNV $array $at $v\n\
                $r = OpCopyObject %u32 $a";
    let word = U32.into();
    let op = "OpCooperativeVectorStoreNV";
    let feature = Feature::new(op, &[word, word], &[word], body, |row| vec![Bits(row[0])]);
    let after = feature.inputs.iter().flat_map(|row| {
        [row[0], row[1], row[0]]
            .into_iter()
            .flat_map(|word| (word as u32).to_le_bytes())
    });
    let after: Vec<u8> = after.collect();
    all.push(on_words(feature, vec![0; after.len()], Some(after)));
}

/// The invocations of each workgroup add to one matrix and to one array; the sums are whole
/// numbers. Workgroups have their own: where the target has no such addition, LLVM's loop begins
/// with a plain load, which may find what another workgroup has replaced.
fn sums(all: &mut Vec<Feature>) {
    const REGION: usize = 64;
    let place = |offset: u32| {
        format!(
            "$array = OpAccessChain $pa $m %u32_0\n$n = OpBitcast %u32 %gid\n\
             $group = OpUDiv %u32 $n %u32_{WORKGROUP}\n$region = OpIMul %u32 $group %u32_{REGION}\n\
             $at = OpIAdd %u32 $region %u32_{offset}\n\
             $one = OpConvertUToF %f32 %u32_1\n$two = OpConvertUToF %f32 %u32_2\n"
        )
    };
    // What one invocation adds, from the beginning of a region.
    let after = |values: &[f32]| -> Vec<u8> {
        let mut region: Vec<f32> = values.iter().map(|v| v * WORKGROUP as f32).collect();
        region.resize(REGION / 4, 0.0);
        let regions = (0..INVOCATIONS / WORKGROUP).flat_map(|_| region.clone());
        regions.flat_map(f32::to_le_bytes).collect()
    };
    let same = |row: &[u64]| -> Vec<Want> { vec![Bits(row[0])] };
    let mut add = |op: &str, offset: u32, code: &str, values: &[f32]| {
        let body = format!("{}{code}$r = OpCopyObject %u32 $a", place(offset));
        let feature = Feature::new(op, &[U32.into()], &[U32.into()], &body, same);
        let bytes = after(values);
        all.push(on_words(feature, vec![0; bytes.len()], Some(bytes)));
    };
    add(
        "OpCooperativeVectorOuterProductAccumulateNV",
        8,
        "$v = OpCompositeConstruct %f32V2 $one $two\n$w = OpCompositeConstruct %f32V3 $two $one $two\n\
         OpCooperativeVectorOuterProductAccumulateNV $array $at $v $w %u32_0 %u32_1 %u32_16\n",
        &[0.0, 0.0, 2.0, 1.0, 2.0, 0.0, 4.0, 2.0, 4.0],
    );
    add(
        "OpCooperativeVectorReduceSumAccumulateNV",
        4,
        "$v = OpCompositeConstruct %f32V3 $one $two $one\n\
         OpCooperativeVectorReduceSumAccumulateNV $array $at $v\n",
        &[0.0, 1.0, 2.0, 1.0],
    );
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for row_major in [true, false] {
        for bias in [true, false] {
            for types in [[FLOAT32, FLOAT32], [FLOAT16, FLOAT16], [FLOAT32, E4M3]] {
                all.push(product(row_major, true, bias, types));
            }
            for types in [[INT8, INT8], [INT8_PACKED, INT8]] {
                all.push(product(row_major, false, bias, types));
            }
        }
    }
    transfers(&mut all);
    sums(&mut all);
    all
}
