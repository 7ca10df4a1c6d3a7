//! Kernels of 32 small shapes each, with an evaluator on the host: arithmetic of every width,
//! floating-point selects and signs of zeros, indices that wrap around, values carried out of loops
//! that lanes leave at different times, and ids under masks.
//!
//! Each family begins with the shapes in which LLVM was seen to go wrong; the rest is random.
//! Nothing here knows LLVM.

mod expression;
mod float;

use expression::Operation::{Above, Add, And, Mul, Or, Shl, Xor};
use expression::Text;
pub use expression::{Expression, Operation};
use fastrand::Rng;
pub use float::Float;

/// Shapes of a kernel.
pub const SHAPES: usize = 32;
/// Invocations of a workgroup: several waves on every GPU.
pub const SIZE: usize = 128;
/// Workgroups.
pub const GROUPS: usize = 2;
/// Words of a workgroup's part of the buffer that is indexed.
const PART: u32 = 31;
/// The lane that others read.
const LANE: u32 = 5;

/// The subject of the shapes of a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Family {
    /// Arithmetic.
    Arithmetic,
    /// Indices that wrap around.
    Indices,
    /// Values carried out of loops, and ids under masks.
    Lanes,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 3] = [Family::Arithmetic, Family::Indices, Family::Lanes];
}

/// A computation of one word of each invocation.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Arithmetic on the invocation's four words.
    Words(Expression),
    /// Floating-point numbers; the result is a number.
    Float(Float),
    /// Invocations below `below` load element `(id + add) % PART` of their workgroup's part.
    Index {
        /// The first that loads nothing.
        below: u32,
        /// The distance of its element from its own.
        add: u32,
    },
    /// Two loops, one in the other, that lanes leave at different times. The environment of what
    /// happens in the inner one is what was carried so far, both counters and a word.
    Carried(Expression),
    /// `id & (word << shift)` of lane 5 of a wave.
    MaskedId {
        /// The number of low bits that are not in the mask.
        shift: u32,
    },
}

/// The shapes in which LLVM was seen to go wrong.
pub fn found(family: Family) -> Vec<Shape> {
    use Expression::{Input, Word};
    let binary = Expression::binary;
    let byte = |number, input| Expression::byte(number, Input(input));
    let product = |number| binary(Mul, byte(number, 0), byte(number, 1));
    match family {
        Family::Arithmetic => {
            let low = Expression::half(And, Input(0), Word(255));
            let above = Expression::half(Above, low, Word(1));
            let packed = |half, rest| binary(Or, binary(Shl, half, Word(16)), rest);
            let flipped = Expression::half(Xor, above, Word(1));
            vec![
                Shape::Words(binary(Add, product(0), binary(Or, product(0), byte(0, 0)))),
                Shape::Words(binary(
                    Add,
                    binary(Add, binary(Add, product(2), product(0)), product(2)),
                    product(1),
                )),
                Shape::Words(packed(flipped, Word(255))),
                Shape::Float(Float::SelectUnequal),
                Shape::Float(Float::ZeroMinus),
            ]
        }
        Family::Indices => vec![Shape::Index { below: 24, add: 21 }],
        Family::Lanes => {
            // Zero, but only the code generator sees it.
            let sum = Expression::ByteSum(Box::new(binary(Shl, Input(0), Word(24))));
            let carried = binary(Xor, binary(Xor, sum, Input(2)), Word(0x871c_1a66));
            let counted = binary(Xor, binary(Mul, Input(2), Word(0x9e37_79b9)), Input(1));
            vec![
                Shape::Carried(carried),
                Shape::Carried(counted),
                Shape::MaskedId { shift: 6 },
            ]
        }
    }
}

/// The shapes of a kernel. The shapes of kernel 0 begin with [`found`].
pub fn shapes(family: Family, seed: u64) -> Vec<Shape> {
    let mut rng = Rng::with_seed(seed ^ 0x5a9e_0000 ^ family as u64);
    let mut shapes = match seed {
        0 => found(family),
        _ => Vec::new(),
    };
    while shapes.len() < SHAPES {
        let depth = 2 + rng.u32(..3);
        shapes.push(match family {
            Family::Arithmetic if rng.u32(..4) == 0 => Shape::Float(Float::random(&mut rng)),
            Family::Arithmetic => Shape::Words(Expression::any(&mut rng, depth)),
            Family::Indices => Shape::Index {
                below: 1 + rng.u32(..SIZE as u32),
                add: rng.u32(..PART),
            },
            Family::Lanes if rng.u32(..4) == 0 => Shape::MaskedId {
                shift: 3 + rng.u32(..6),
            },
            Family::Lanes => Shape::Carried(Expression::random(&mut rng, depth)),
        });
    }
    shapes
}

/// The words that the invocations get, four each. Some of them are special as integers, some as
/// floating-point numbers.
pub fn inputs(seed: u64) -> Vec<u32> {
    let mut rng = Rng::with_seed(!seed);
    let special = [
        0,
        1,
        255,
        0xffff,
        0x8000_0000,
        !0,
        0x7fc0_0000,
        0x7f80_0000,
        0x3f80_0000,
        0xbfc0_0000,
        float::CONSTANT.to_bits(),
        0x0102_0304,
    ];
    let word = |_| match rng.u32(..3) {
        0 => special[rng.usize(..special.len())],
        _ => rng.u32(..),
    };
    (0..SIZE * GROUPS * 4).map(word).collect()
}

/// The content of the indexed buffer.
pub fn indexed() -> Vec<u32> {
    (0..PART * GROUPS as u32)
        .map(|at| at.wrapping_mul(0x0101_0503) + 7)
        .collect()
}

/// The result of an invocation for a shape.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Wanted {
    /// This word.
    Word(u32),
    /// This number; if it is NaN, any NaN.
    Number(f32),
}

impl Wanted {
    /// Returns true if `word` is it.
    pub fn is(self, word: u32) -> bool {
        match self {
            Wanted::Word(wanted) => word == wanted,
            Wanted::Number(wanted) if wanted.is_nan() => f32::from_bits(word).is_nan(),
            Wanted::Number(wanted) => word == wanted.to_bits(),
        }
    }
}

/// The result of invocation `at` for `shape`, in waves of `wave` invocations.
pub fn value(shape: &Shape, at: usize, words: &[u32], indexed: &[u32], wave: usize) -> Wanted {
    let of = |at: usize| std::array::from_fn(|number| words[4 * at + number]);
    let own: [u32; 4] = of(at);
    let (group, id) = (at / SIZE, (at % SIZE) as u32);
    Wanted::Word(match shape {
        Shape::Words(expression) => expression.value(own),
        Shape::Float(shape) => {
            return Wanted::Number(shape.value(own.map(f32::from_bits)));
        }
        Shape::Index { below, add } if id < *below => {
            indexed[group * PART as usize + ((id + add) % PART) as usize]
        }
        Shape::Index { .. } => 0,
        Shape::Carried(expression) => {
            let mut carried = own[0] >> 24;
            for outer in 0..=(own[0] >> 16 & 3) {
                let last = carried & 3;
                for inner in 0..=last {
                    carried = expression.value([carried, outer, inner, own[1]]);
                }
            }
            carried
        }
        Shape::MaskedId { shift } => {
            let lane = at - at % SIZE % wave + LANE as usize;
            (lane % SIZE) as u32 & (of(lane)[0] << shift)
        }
    })
}

/// The kernel as a module's text.
pub fn text(shapes: &[Shape]) -> String {
    let mut out = Text::default();
    let inputs: [String; 4] = std::array::from_fn(|number| {
        let four = out.constant(4);
        let first = out.push(&format!("OpIMul %u32 %at {four}"));
        let number = out.constant(number as u32);
        let index = out.push(&format!("OpIAdd %u32 {first} {number}"));
        load("%words", &index, &mut out)
    });
    for (number, shape) in shapes.iter().enumerate() {
        let word = shape_text(shape, &inputs, &mut out);
        let count = out.constant(SHAPES as u32);
        let first = out.push(&format!("OpIMul %u32 %at {count}"));
        let number = out.constant(number as u32);
        let index = out.push(&format!("OpIAdd %u32 {first} {number}"));
        let zero = out.constant(0);
        let place = out.push(&format!("OpAccessChain %pu32 %results {zero} {index}"));
        out.line(&format!("OpStore {place} {word}"));
    }
    let size = out.constant(SIZE as u32);
    out.constant(3);
    let constants: String = out
        .constants
        .iter()
        .map(|word| format!("%c{word} = OpConstant %u32 {word}\n"))
        .collect();
    let body = &out.lines;
    HEAD.replace("SIZE", &SIZE.to_string())
        + &constants
        + &format!(
            "%constant = OpConstant %f32 !{}\n%fzero = OpConstant %f32 0\n\
             %fhalf = OpConstant %f32 0.5\n{SIZED}%main = OpFunction %void None %fn\n%entry = OpLabel\n\
             %ids = OpLoad %v3 %local\n%id = OpCompositeExtract %u32 %ids 0\n\
             %groups = OpLoad %v3 %workgroup\n%group = OpCompositeExtract %u32 %groups 0\n\
             %before = OpIMul %u32 %group {size}\n%at = OpIAdd %u32 %before %id\n\
             {body}OpReturn\nOpFunctionEnd\n",
            float::CONSTANT.to_bits()
        )
}

fn load(buffer: &str, index: &str, out: &mut Text) -> String {
    let zero = out.constant(0);
    let place = out.push(&format!("OpAccessChain %pu32 {buffer} {zero} {index}"));
    out.push(&format!("OpLoad %u32 {place}"))
}

fn shape_text(shape: &Shape, inputs: &[String; 4], out: &mut Text) -> String {
    match shape {
        Shape::Words(expression) => expression.text(inputs, out),
        Shape::Float(shape) => shape.text(inputs, out),
        Shape::Index { below, add } => {
            let [below, add, part, zero] = [*below, *add, PART, 0].map(|word| out.constant(word));
            let less = out.push(&format!("OpULessThan %bool %id {below}"));
            let [yes, no, end] = [(); 3].map(|()| out.name());
            out.line(&format!("OpSelectionMerge {end} None"));
            out.line(&format!("OpBranchConditional {less} {yes} {no}"));
            out.line(&format!("{yes} = OpLabel"));
            let moved = out.push(&format!("OpIAdd %u32 %id {add}"));
            let moved = out.push(&format!("OpUMod %u32 {moved} {part}"));
            let first = out.push(&format!("OpIMul %u32 %group {part}"));
            let index = out.push(&format!("OpIAdd %u32 {first} {moved}"));
            let word = load("%indexed", &index, out);
            out.line(&format!("OpBranch {end}"));
            out.line(&format!("{no} = OpLabel"));
            out.line(&format!("OpBranch {end}"));
            out.line(&format!("{end} = OpLabel"));
            out.push(&format!("OpPhi %u32 {word} {yes} {zero} {no}"))
        }
        Shape::Carried(expression) => carried(expression, inputs, out),
        Shape::MaskedId { shift } => {
            let shift = out.constant(*shift);
            let mask = out.push(&format!("OpShiftLeftLogical %u32 {} {shift}", inputs[0]));
            let masked = out.push(&format!("OpBitwiseAnd %u32 %id {mask}"));
            let lane = out.constant(LANE);
            out.push(&format!(
                "OpGroupNonUniformBroadcast %u32 %c3 {masked} {lane}"
            ))
        }
    }
}

/// Two loops with their tests at the end.
fn carried(expression: &Expression, inputs: &[String; 4], out: &mut Text) -> String {
    let [zero, one, three, high, top] = [0, 1, 3, 16, 24].map(|word| out.constant(word));
    let begin = out.push(&format!("OpShiftRightLogical %u32 {} {top}", inputs[0]));
    let times = out.push(&format!("OpShiftRightLogical %u32 {} {high}", inputs[0]));
    let times = out.push(&format!("OpBitwiseAnd %u32 {times} {three}"));
    let [
        before,
        outer,
        outer_next,
        between,
        inner,
        inner_next,
        after,
        end,
    ] = [(); 8].map(|()| out.name());
    let [so_far, count, own, counter, next, carried, step] = [(); 7].map(|()| out.name());
    out.line(&format!("OpBranch {before}"));
    out.line(&format!("{before} = OpLabel"));
    out.line(&format!("OpBranch {outer}"));
    out.line(&format!("{outer} = OpLabel"));
    out.line(&format!(
        "{so_far} = OpPhi %u32 {begin} {before} {carried} {outer_next}"
    ));
    out.line(&format!(
        "{count} = OpPhi %u32 {zero} {before} {next} {outer_next}"
    ));
    out.line(&format!("OpLoopMerge {end} {outer_next} None"));
    out.line(&format!("OpBranch {between}"));
    out.line(&format!("{between} = OpLabel"));
    let last = out.push(&format!("OpBitwiseAnd %u32 {so_far} {three}"));
    out.line(&format!("OpBranch {inner}"));
    out.line(&format!("{inner} = OpLabel"));
    out.line(&format!(
        "{own} = OpPhi %u32 {so_far} {between} {carried} {inner_next}"
    ));
    out.line(&format!(
        "{counter} = OpPhi %u32 {zero} {between} {step} {inner_next}"
    ));
    out.line(&format!("OpLoopMerge {after} {inner_next} None"));
    out.line(&format!("OpBranch {inner_next}"));
    out.line(&format!("{inner_next} = OpLabel"));
    let names = [own, count.clone(), counter.clone(), inputs[1].clone()];
    let value = expression.text(&names, out);
    out.line(&format!("{carried} = OpCopyObject %u32 {value}"));
    out.line(&format!("{step} = OpIAdd %u32 {counter} {one}"));
    let again = out.push(&format!("OpULessThan %bool {counter} {last}"));
    out.line(&format!("OpBranchConditional {again} {inner} {after}"));
    out.line(&format!("{after} = OpLabel"));
    out.line(&format!("OpBranch {outer_next}"));
    out.line(&format!("{outer_next} = OpLabel"));
    out.line(&format!("{next} = OpIAdd %u32 {count} {one}"));
    let again = out.push(&format!("OpULessThan %bool {count} {times}"));
    out.line(&format!("OpBranchConditional {again} {outer} {end}"));
    out.line(&format!("{end} = OpLabel"));
    carried
}

const HEAD: &str = "OpCapability Shader
OpCapability Int8
OpCapability Int16
OpCapability Int64
OpCapability Float16
OpCapability Float64
OpCapability GroupNonUniform
OpCapability GroupNonUniformBallot
OpCapability SignedZeroInfNanPreserve
OpExtension \"SPV_KHR_float_controls\"
%glsl = OpExtInstImport \"GLSL.std.450\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %local %workgroup %words %results %indexed
OpExecutionMode %main LocalSize SIZE 1 1
OpExecutionMode %main SignedZeroInfNanPreserve 16
OpExecutionMode %main SignedZeroInfNanPreserve 32
OpDecorate %local BuiltIn LocalInvocationId
OpDecorate %workgroup BuiltIn WorkgroupId
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %words DescriptorSet 0
OpDecorate %words Binding 0
OpDecorate %words NonWritable
OpDecorate %results DescriptorSet 0
OpDecorate %results Binding 1
OpDecorate %indexed DescriptorSet 0
OpDecorate %indexed Binding 2
OpDecorate %indexed NonWritable
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%u32 = OpTypeInt 32 0
%i32 = OpTypeInt 32 1
%u8 = OpTypeInt 8 0
%u16 = OpTypeInt 16 0
%u64 = OpTypeInt 64 0
%f16 = OpTypeFloat 16
%f32 = OpTypeFloat 32
%f64 = OpTypeFloat 64
%u32v2 = OpTypeVector %u32 2
%f32v2 = OpTypeVector %f32 2
%v3 = OpTypeVector %u32 3
%bytes = OpTypeVector %u8 4
%pair = OpTypeStruct %u32 %u32
%array = OpTypeRuntimeArray %u32
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%pu32 = OpTypePointer StorageBuffer %u32
%pv3 = OpTypePointer Input %v3
%local = OpVariable %pv3 Input
%workgroup = OpVariable %pv3 Input
%words = OpVariable %pblock StorageBuffer
%results = OpVariable %pblock StorageBuffer
%indexed = OpVariable %pblock StorageBuffer
";

/// Constants of numbers that have not 32 bits, and powers of two.
const SIZED: &str = "%u8_1 = OpConstant %u8 1
%u8_7 = OpConstant %u8 7
%u16_1 = OpConstant %u16 1
%u16_15 = OpConstant %u16 15
%u64_1 = OpConstant %u64 1
%u64_32 = OpConstant %u64 32
%u64_63 = OpConstant %u64 63
%f16_0 = OpConstant %f16 1
%f16_1 = OpConstant %f16 0.5
%f16_2 = OpConstant %f16 0.25
%f16_3 = OpConstant %f16 0.125
%f16_4 = OpConstant %f16 0.0625
%f32_0 = OpConstant %f32 1
%f32_1 = OpConstant %f32 0.5
%f32_2 = OpConstant %f32 0.25
%f32_3 = OpConstant %f32 0.125
%f32_4 = OpConstant %f32 0.0625
%f64_0 = OpConstant %f64 1
%f64_1 = OpConstant %f64 0.5
%f64_2 = OpConstant %f64 0.25
%f64_3 = OpConstant %f64 0.125
%f64_4 = OpConstant %f64 0.0625
%f16_least = OpConstant %f16 -2
%f16_most = OpConstant %f16 3
%f16_constant = OpConstant %f16 2.75
%f32_least = OpConstant %f32 -2
%f32_most = OpConstant %f32 3
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_whole() {
        for family in Family::ALL {
            for seed in 0..8 {
                let shapes = shapes(family, seed);
                assert_eq!(shapes.len(), SHAPES);
                assert!(text(&shapes).ends_with("OpFunctionEnd\n"));
            }
        }
    }

    #[test]
    fn shapes_are_worth_what_the_specification_says() {
        let words = [0x0203_0405, 0x0607_0809, 0, 0];
        let found = found(Family::Arithmetic);
        let value = |at: usize| value(&found[at], 0, &words, &[], 32);
        assert_eq!(value(0), Wanted::Word(45 + (45 | 5)));
        assert_eq!(value(1), Wanted::Word(2 * (3 * 7) + 5 * 9 + 4 * 8));
        assert_eq!(value(2), Wanted::Word((5 ^ 1) << 16 | 255));
    }
}
