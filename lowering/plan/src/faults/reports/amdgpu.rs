//! Reports of FuzzX's folder `amdgpu`.

use super::Verdict::{Fixed, Free, Guarded, Right};
use super::{Folder, Origin, Report, Verdict};

/// Arithmetic of the reduced form, compiled from LLVM IR.
const HOST: Verdict = Right(
    "the same arithmetic in LLVM IR, gfx950 and gfx1250 at -O0 and -O2, gives what a processor gives",
);

/// Functions of three words, which gfx950 and gfx12.5 compute by one instruction.
const LOGIC: Verdict = Right(
    "the same arithmetic in LLVM IR as on a processor; all 256 functions of three words of 32 and 16 bits, each in one of three forms; gfx950 and gfx1250 at -O0 and -O2",
);

/// Functions of three words, where only kernels were tried.
const LOGIC_KERNELS: Verdict = Right(
    "all 256 functions of three words of 32 and 16 bits, each in one of three forms; gfx950 and gfx1250 at -O0 and -O2. The report's own form was not tried",
);

/// Two words that are shifted as one.
const FUNNEL: Verdict = Right(
    "a kernel with shifts by 0, 1, 8, 31 and variable amounts, scalar and of vectors in a loop; eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 and -O2",
);

/// Private arrays.
const ARRAYS: Verdict = Right(
    "a kernel with two private arrays and variable indices; eight AMD GPUs at -O0 and -O2. The simulator does not lose stores, as the report says that hardware did",
);

/// Products, maxima and carries.
const MIXED: Verdict = Right(
    "a kernel of such products, maxima, conditions and carries; eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 and -O2",
);

/// Quotients and remainders.
const DIVISION: Verdict = Right(
    "the same arithmetic in LLVM IR as on a processor, gfx950 and gfx1250; kernels with divisions of 24-bit values; -O0 and -O2",
);

/// Bytes that are put together.
const BYTES: Verdict = Right(
    "96 ways to put bytes of 16-bit and 32-bit values together, with and without signs; eight AMD GPUs and sm_90 at -O0 and -O2",
);

/// Scans with known bits.
const SCANS: Verdict = Right(
    "kernels with scans of values with known bits in divergent branches, gfx906 to gfx1250: inactive lanes' values are opaque (`lowering/llvm/src/emit/whole_wave.rs`)",
);

/// Quotients of 64 bits.
const WIDE_DIVISION: Verdict =
    Right("kernels with 64-bit quotients and remainders, scalar and of vectors, gfx906 to gfx1250");

/// Small numbers.
const DENORMAL: Verdict = Free(
    "a module without a denormal mode may keep or flush denormals; DenormFlushToZero is refused (`SB0310`)",
);

/// The sign of what is not a number.
const SIGN: Verdict = Free("the sign of a NaN is open");

/// The bits of what is not a number.
const PAYLOAD: Verdict = Free("the bits of a NaN, and whether it signals, are open");

/// Components without a value.
const UNDEFINED: Verdict = Free("the component that changes has no defined value");

const AMD: &str = "AMD";
const LOGIC_GPUS: &str = "gfx950, gfx12.5";
const DOT4: &str = "gfx906 and later";

const fn row(number: u32, what: &'static str, gpus: &'static str, verdict: Verdict) -> Report {
    Report {
        origin: Origin::FuzzX {
            folder: Folder::Amdgpu,
            number,
        },
        what,
        gpus,
        verdict,
    }
}

/// The reports, by number.
#[rustfmt::skip] // One report is one line of the page.
pub(super) const REPORTS: &[Report] = &[
    row(1, "A 16-bit value that was shifted right with its sign has ones above bit 15 where the program requires zeros.", "gfx9", HOST),
    row(2, "A byte that is xored with itself is not zero.", LOGIC_GPUS, LOGIC),
    row(3, "All lanes get the first lane's sum of shifted terms.", AMD, HOST),
    row(4, "The first component of a vector changes in an operation that should leave it alone, before a xor.", LOGIC_GPUS, LOGIC),
    row(5, "As 3, with shifts by one bit.", AMD, HOST),
    row(6, "As 2, for a byte between other bytes.", LOGIC_GPUS, LOGIC),
    row(7, "As 4, where the operation is a shift by 0.", LOGIC_GPUS, LOGIC),
    row(8, "As 2, where sums with 0 come between.", LOGIC_GPUS, LOGIC),
    row(9, "As 2, for 16 bits.", LOGIC_GPUS, LOGIC),
    row(10, "As 2, for 16 bits that are widened with their sign.", LOGIC_GPUS, LOGIC),
    row(11, "As 2, for a byte that is widened with its sign.", LOGIC_GPUS, LOGIC),
    row(12, "As 3, where sums and shifts alternate.", AMD, HOST),
    row(13, "A private array at times gives something else than was stored.", AMD, ARRAYS),
    row(14, "As 3, for a sum whose bits are counted.", AMD, HOST),
    row(15, "Two words that are shifted as one by 0 bits give 0.", AMD, FUNNEL),
    row(16, "Two words that are shifted as one by one bit give a single bit.", AMD, FUNNEL),
    row(17, "A component of a vector keeps bits that a mask clears, before a xor.", AMD, HOST),
    row(18, "Two private arrays at times give old contents.", AMD, ARRAYS),
    row(19, "A value with its high bit set, xored with the value, has wrong bits.", LOGIC_GPUS, LOGIC),
    row(20, "A bit that `(a or b) xor b` clears is set after `and (a or b)`.", LOGIC_GPUS, LOGIC),
    row(21, "`(a or b) xor a` has wrong bits where `a` comes from a shift of two words.", LOGIC_GPUS, LOGIC),
    row(22, "`(x xor C) and x` has a wrong low bit.", LOGIC_GPUS, LOGIC),
    row(23, "`(x and y) xor x` has wrong bits.", LOGIC_GPUS, LOGIC),
    row(24, "The quotient of a widened 16-bit value by `x or 1` is off by one.", AMD, DIVISION),
    row(25, "The remainder of a widened 16-bit value by `x or 1` is wrong.", AMD, DIVISION),
    row(26, "The high bit of a maximum, xored and masked, ignores the xor.", LOGIC_GPUS, LOGIC),
    row(27, "`(y xor x) and x or base` has a wrong bit where `x` contains `base`.", LOGIC_GPUS, LOGIC),
    row(28, "A value masked with `x` and with its complement is not zero.", LOGIC_GPUS, LOGIC),
    row(29, "A select by the sign of a masked value takes the wrong side.", LOGIC_GPUS, LOGIC),
    row(30, "A bit is ored in from a value before its mask.", LOGIC_GPUS, LOGIC),
    row(31, "The difference of two components uses one component twice.", AMD, HOST),
    row(32, "After a loop lanes that left early store a value of other lanes.", AMD, HOST),
    row(33, "A difference with a condition is one too small where the condition is false.", AMD, HOST),
    row(34, "A sum with the product of two ids, shifted as one of two words, is a dot product of bytes: -1 comes out.", DOT4, Guarded("byte_products")),
    row(37, "A square plus its own low bit has something else added.", DOT4, Guarded("byte_products")),
    row(38, "A loop that masks floats as integers adds 1023 to 0.", DOT4, HOST),
    row(39, "Bytes that repeat the sign of a byte are zero when four bytes are put together.", AMD, BYTES),
    row(40, "A quotient of numbers of 24 bits is one too large where bit 23 of the dividend is set.", AMD, DIVISION),
    row(41, "The highest byte of a shifted word is another byte when four bytes are put together.", AMD, BYTES),
    row(42, "A value ored with itself, shifted by 0, has wrong bits.", LOGIC_GPUS, LOGIC),
    row(43, "A widened byte xored with itself is not zero.", LOGIC_GPUS, LOGIC),
    row(44, "A vector masked with itself has a wrong component.", LOGIC_GPUS, LOGIC),
    row(45, "The remainder of an even x by `x or 1` is not x, for x of 24 bits.", AMD, DIVISION),
    row(46, "A loop that counts zeros below the lowest one of 16-bit components gives wrong values.", AMD, HOST),
    row(47, "A loop that shifts eight bytes and multiplies them gives 4 in lanes where less is right.", DOT4, HOST),
    row(48, "A loop that adds bytes up to 255 at most has wrong low bits.", AMD, HOST),
    row(49, "As 15, for vectors.", AMD, FUNNEL),
    row(50, "The bits of a value masked with itself are counted wrong.", LOGIC_GPUS, LOGIC),
    row(51, "Lanes that left a loop earlier get the last shift of two words that others computed.", AMD, Guarded("loop_exits")),
    row(52, "The amount of a shift, blended of two words, lacks one of them.", LOGIC_GPUS, LOGIC),
    row(53, "The high bit of a sum of products of bytes is lost before a xor.", LOGIC_GPUS, HOST),
    row(54, "A 64-bit sum whose halves both contain x lacks x in the upper one.", AMD, HOST),
    row(55, "A constant is ored into the wrong half of a word next to a 16-bit value.", "gfx11 and later", Guarded("packed_high")),
    row(56, "A branch by the low bit of a product of halves goes the wrong way.", AMD, HOST),
    row(57, "A chain of rotations and counts of bits ends in a wrong value.", AMD, HOST),
    row(58, "A byte chosen by four bits has a wrong high bit.", AMD, HOST),
    row(59, "A loop with two exits leaves out an active lane when a remainder decides.", AMD, HOST),
    row(60, "A sum of three products of bytes takes a wrong byte or addend.", DOT4, Guarded("byte_products")),
    row(61, "A mask of which additions overflow has wrong bits.", LOGIC_GPUS, LOGIC),
    row(62, "A count of bytes has a wrong low byte.", LOGIC_GPUS, LOGIC),
    row(63, "A carry that is used twice has a wrong bit.", LOGIC_GPUS, MIXED),
    row(64, "All lanes get the first lane's carries in a loop.", AMD, HOST),
    row(65, "The low bit of a xor after a borrow is wrong.", LOGIC_GPUS, LOGIC),
    row(66, "A loop that multiplies 16-bit components ends in a wrong value.", LOGIC_GPUS, MIXED),
    row(67, "A condition that is false selects as if it were true when it is anded with itself.", AMD, MIXED),
    row(68, "A loop in a loop with maxima ends in a wrong value.", LOGIC_GPUS, MIXED),
    row(69, "A chain of maxima ends in a wrong value.", LOGIC_GPUS, MIXED),
    row(70, "Two words that are shifted left as one by 8 are shifted right instead.", AMD, FUNNEL),
    row(71, "A function of three words has a wrong bit.", LOGIC_GPUS, LOGIC),
    row(72, "A function of three words that is always 0 is not.", LOGIC_GPUS, LOGIC),
    row(73, "A function of three words with two shared parts has a bit too many.", LOGIC_GPUS, LOGIC),
    row(75, "The reciprocal of a large constant is a denormal where the kernel flushes them.", AMD, DENORMAL),
    row(76, "The highest bit of -1 is -1 where a minimum says otherwise.", AMD, Right("kernel with FindSMsb and UMin, gfx942, gfx1201 and gfx1250 at -O0 and -O2")),
    row(77, "The reciprocal of a denormal constant is finite where the kernel flushes it.", AMD, DENORMAL),
    row(86, "Bits of inactive lanes are taken for those of active ones, and are lost.", AMD, SCANS),
    row(92, "A select between a constant and another value gives NaN instead of the constant.", AMD, Guarded("nan_select")),
    row(99, "An id under a mask that differs between lanes counts as equal in all of them.", AMD, Guarded("masked_id")),
    row(100, "A sum of products of halves flushes denormal floats.", AMD, Right("kernel with DenormPreserve: its code has no dot product")),
    row(101, "The carry of a sum of three operands is that of another sum.", AMD, Fixed { pull: 204362, tried: Some("kernels with chains of OpIAddCarry and OpISubBorrow are right") }),
    row(102, "The logarithm of a double does not compile.", AMD, Right("OpenCL kernel with `log` of 64 doubles, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 and -O2: at most 1 ulp off. The function is splitbar's own")),
    row(103, "The quotient of the smallest 32-bit integer and -1 has the wrong sign in 64 bits.", AMD, WIDE_DIVISION),
    row(104, "As 75 and 77, at another place.", AMD, DENORMAL),
    row(105, "A bfloat16 is clamped to 32 bits when it becomes a 64-bit integer.", AMD, Right("kernels with OpConvertFToS and OpConvertFToU, saturating and not, eight AMD GPUs at -O0 and -O2. Saturating ones widen to 32 bits first; LLVM's own operation is wrong")),
    row(106, "0 - x is -0 for x = 0.", AMD, Guarded("zero_minus")),
    row(107, "A negated product that is NaN has the other sign.", AMD, SIGN),
    row(109, "A 64-bit constant that moves to a scalar register loses its upper half.", AMD, Right("kernels with 64-bit constants in uniform phis and selects")),
    row(110, "The negative of a clamped value is the wrong bound where the value is NaN.", AMD, Right("kernel with NClamp, OpFNegate and NaN, gfx906, gfx942, gfx950, gfx1201 and gfx1250")),
    row(111, "The negative of a widened half that is NaN has the other sign.", AMD, SIGN),
    row(115, "An undefined component is not a quiet value after it was made canonical.", AMD, UNDEFINED),
    row(118, "What some functions return counts as quiet though it may signal.", AMD, PAYLOAD),
    row(120, "A product by one of two negative powers of two that is NaN has the other sign.", AMD, SIGN),
    row(124, "Two undefined components become 0.", AMD, UNDEFINED),
    row(127, "A difference with a doubled value that is NaN has the other sign.", AMD, SIGN),
    row(128, "A sum of products of halves that is NaN has the other sign.", AMD, SIGN),
    row(131, "As 86, where the value differs between lanes.", AMD, SCANS),
    row(132, "As 103, for vectors.", AMD, WIDE_DIVISION),
    row(133, "A constant NaN loses its bits when it is made canonical.", AMD, PAYLOAD),
    row(134, "A function of three words has wrong bits after an operand was replaced.", LOGIC_GPUS, LOGIC_KERNELS),
    row(137, "A double that is NaN loses its bits when it becomes a half.", AMD, PAYLOAD),
    row(138, "A function of three words has wrong bits after a combination was given up.", LOGIC_GPUS, LOGIC_KERNELS),
    row(139, "A negated fused product that is NaN has the other sign.", AMD, SIGN),
    row(140, "A negated sum that is NaN has the other sign.", AMD, SIGN),
    row(141, "A value counts as quiet after its type was reinterpreted.", AMD, PAYLOAD),
    row(147, "A clamped constant NaN still signals.", AMD, PAYLOAD),
    row(148, "Two doubles that become halves are rounded twice.", AMD, Right("kernel with values next to ties, against exact arithmetic, gfx906 to gfx1250")),
    row(154, "A product by a negative power of two that is NaN has the other sign.", AMD, SIGN),
    row(156, "Bytes of a 16-bit and a 32-bit value are mixed up when they are put together.", AMD, BYTES),
    row(158, "A half takes the sign of a wrong bit of a float, in vectors of two.", AMD, Right("kernel with signs moved by bit operations, gfx950, gfx1100 and gfx1250")),
    row(159, "An undefined component of bfloat16 changes when it is made canonical.", AMD, UNDEFINED),
    row(160, "The quotient of the smallest 24-bit integer and -1 has the wrong sign.", AMD, Right("kernels with 24-bit quotients, by constants and by variables")),
];
