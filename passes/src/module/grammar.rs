//! The SPIR-V grammar of each opcode: whether it has a result, which words are ids, and its tail.
//!
//! The instruction table comes from the `rspirv` crate; [`OWN`] adds the opcodes that it does not
//! know yet. From both, one dense table of [`Shape`]s is made on first use, small enough for the
//! reader to look at for every instruction.

use super::facts::{self, Calls, Class, Facts, SyncOperands};
use super::nameless;
use rspirv::dr;
use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind, OperandQuantifier, reflect};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

/// What the reader asks of an opcode for every instruction. The default is an opcode that no table
/// knows.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Shape {
    /// Of [`Tail::Bits`]: the bits, of [`Tail::Number`]: the values below 64 (bit `v` for the value
    /// `v`), that are followed by plain literals at the most.
    pub plain: u64,
    /// Bit `i`: word `i + 1` of the instruction is an id (words before the tail only).
    pub ids: u32,
    /// Words before the tail, the opcode word included.
    pub fixed: u8,
    /// Least number of words, the opcode word included.
    pub least: u8,
    /// True if the first operand is a result type.
    pub has_type: bool,
    /// True if there is a result id.
    pub has_result: bool,
    /// True if it declares a type.
    pub is_type: bool,
    /// True if it ends a block.
    pub is_terminator: bool,
    /// True if it is a branch or a merge instruction.
    pub is_jump: bool,
    /// True if it may name labels.
    pub takes_labels: bool,
    /// True if it only names or decorates.
    pub is_note: bool,
    /// True if it synchronizes or works on a group.
    pub is_sync: bool,
    /// True if a block may have it and nothing but its place in the block has to be known.
    pub is_plain: bool,
    /// The words after the fixed ones.
    pub tail: Tail,
    /// The opcode as the `spirv` crate names it: its own search goes over some ninety ranges.
    pub op: Option<spirv::Op>,
    /// Its row in the table of facts.
    pub facts: &'static Facts,
    /// Its scope and semantics operands.
    pub sync: SyncOperands,
}

impl Shape {
    /// Returns true if no table knows the opcode: whether it has a result, and which words are ids,
    /// cannot be said.
    pub(super) fn is_unknown(&self) -> bool {
        self.least == 0 // every other counts its opcode word
    }
}

/// What follows the fixed words of an instruction.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Tail {
    /// Literals, or nothing, or nobody knows.
    #[default]
    Literals,
    /// Ids only.
    Ids,
    /// One literal string.
    Text,
    /// A mask and the parameters of its bits.
    Bits,
    /// An enumerant and its parameters.
    Number,
    /// The number of an extended instruction and its operands.
    Ext,
    /// The opcode of an operation and its operands without result type and result: see
    /// [`Shapes::operation`].
    Operation,
    /// Anything else: [`super::operands::Operands`] tells.
    Mixed,
}

/// An opcode that `rspirv` does not know.
struct Own {
    opcode: u16,
    name: &'static str,
    operands: &'static [LogicalOperand],
}

const fn one(kind: OperandKind) -> LogicalOperand {
    LogicalOperand {
        kind,
        quantifier: OperandQuantifier::One,
    }
}

/// Result type, result, two vectors, an accumulator.
const DOT_ACCUMULATE: &[LogicalOperand] = &[
    one(OperandKind::IdResultType),
    one(OperandKind::IdResult),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
];

/// Result type, result, and two ids.
const TWO_IDS: &[LogicalOperand] = &[
    one(OperandKind::IdResultType),
    one(OperandKind::IdResult),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
];

/// Result type, result, pointer, predicate, default value, memory operands.
const PREDICATED_LOAD: &[LogicalOperand] = &[
    one(OperandKind::IdResultType),
    one(OperandKind::IdResult),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    LogicalOperand {
        kind: OperandKind::MemoryAccess,
        quantifier: OperandQuantifier::ZeroOrOne,
    },
];

/// Pointer, object, predicate, memory operands.
const PREDICATED_STORE: &[LogicalOperand] = &[
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    LogicalOperand {
        kind: OperandKind::MemoryAccess,
        quantifier: OperandQuantifier::ZeroOrOne,
    },
];

/// An id that may be left out.
const OPTIONAL_ID: LogicalOperand = LogicalOperand {
    kind: OperandKind::IdRef,
    quantifier: OperandQuantifier::ZeroOrOne,
};

/// Result type, result, pointer, offsets along x and y, layout, height, width, stride, memory
/// operands.
const LOAD_CHECKED: &[LogicalOperand] = &[
    one(OperandKind::IdResultType),
    one(OperandKind::IdResult),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    OPTIONAL_ID,
    LogicalOperand {
        kind: OperandKind::MemoryAccess,
        quantifier: OperandQuantifier::ZeroOrOne,
    },
];

/// Pointer, offsets along x and y, object, layout, height, width, stride, memory operands.
const STORE_CHECKED: &[LogicalOperand] = &[
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    OPTIONAL_ID,
    LogicalOperand {
        kind: OperandKind::MemoryAccess,
        quantifier: OperandQuantifier::ZeroOrOne,
    },
];

/// Result type, result, offsets along x and y, height, width, value.
const CONSTRUCT_CHECKED: &[LogicalOperand] = &[
    one(OperandKind::IdResultType),
    one(OperandKind::IdResult),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
];

/// Pointer, offsets along x and y, rows, columns, cache level, layout, stride.
const PREFETCH: &[LogicalOperand] = &[
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::IdRef),
    one(OperandKind::LiteralInteger),
    one(OperandKind::IdRef),
    OPTIONAL_ID,
];

/// Opcodes newer than the grammar of `rspirv` 0.13 (SDK 1.4.341): [`nameless`].
const OWN: &[Own] = &[
    Own {
        opcode: nameless::BITCAST_EXTRACT,
        name: "OpBitcastExtractEXT",
        operands: TWO_IDS,
    },
    Own {
        opcode: nameless::LOAD_CHECKED,
        name: "OpCooperativeMatrixLoadCheckedINTEL",
        operands: LOAD_CHECKED,
    },
    Own {
        opcode: nameless::STORE_CHECKED,
        name: "OpCooperativeMatrixStoreCheckedINTEL",
        operands: STORE_CHECKED,
    },
    Own {
        opcode: nameless::CONSTRUCT_CHECKED,
        name: "OpCooperativeMatrixConstructCheckedINTEL",
        operands: CONSTRUCT_CHECKED,
    },
    Own {
        opcode: nameless::PREDICATED_LOAD,
        name: "OpPredicatedLoadINTEL",
        operands: PREDICATED_LOAD,
    },
    Own {
        opcode: nameless::PREDICATED_STORE,
        name: "OpPredicatedStoreINTEL",
        operands: PREDICATED_STORE,
    },
    Own {
        opcode: nameless::GET_ELEMENT_COORD,
        name: "OpCooperativeMatrixGetElementCoordINTEL",
        operands: TWO_IDS,
    },
    Own {
        opcode: nameless::APPLY_FUNCTION,
        name: "OpCooperativeMatrixApplyFunctionINTEL",
        operands: TWO_IDS,
    },
    Own {
        opcode: nameless::PREFETCH,
        name: "OpCooperativeMatrixPrefetchINTEL",
        operands: PREFETCH,
    },
    Own {
        opcode: nameless::DOT2_MIX_ACC32,
        name: "OpFDot2MixAcc32VALVE",
        operands: DOT_ACCUMULATE,
    },
    Own {
        opcode: nameless::DOT2_MIX_ACC16,
        name: "OpFDot2MixAcc16VALVE",
        operands: DOT_ACCUMULATE,
    },
    Own {
        opcode: nameless::DOT4_MIX_ACC32,
        name: "OpFDot4MixAcc32VALVE",
        operands: DOT_ACCUMULATE,
    },
];

/// Opcodes whose name in the `spirv` crate is an older alias of today's name.
const RENAMED: &[(u16, &str)] = &[
    (6142, "OpControlBarrierArriveEXT"),
    (6143, "OpControlBarrierWaitEXT"),
];

/// The shapes of all opcodes.
pub(super) struct Shapes {
    /// By opcode.
    known: Vec<Shape>,
    unknown: Shape,
}

impl Shapes {
    /// As [`shape`].
    #[inline]
    pub(super) fn of(&self, opcode: u16) -> &Shape {
        match self.known.get(usize::from(opcode)) {
            Some(shape) => shape,
            None => self.unknown(),
        }
    }

    #[cold]
    fn unknown(&self) -> &Shape {
        &self.unknown
    }

    /// The shape of an OpSpecConstantOp with the opcode of its operation, `operation`, among the
    /// fixed words. The tail stays what it is where the operation's is not ids or literals only.
    pub(super) fn operation(&self, shape: Shape, operation: u32) -> Shape {
        let own = u16::try_from(operation).map_or(&self.unknown, |opcode| self.of(opcode));
        let is_simple = own.has_type && matches!(own.tail, Tail::Ids | Tail::Literals);
        if !is_simple || !own.has_result {
            return shape;
        }
        // Result type and result stand where they do in the operation itself, the opcode comes
        // after them.
        let heads = 0b11;
        Shape {
            ids: own.ids & heads | (own.ids & !heads) << 1,
            fixed: own.fixed + 1,
            tail: own.tail,
            ..shape
        }
    }
}

struct Grammar {
    shapes: Shapes,
    patterns: BTreeMap<u16, (&'static str, &'static [LogicalOperand])>,
    /// Those of masks, and of enumerants below [`COMMON`].
    parameters: Parameters,
}

/// Parameters of an enumerant or of one bit of a mask, by the number of its kind and its value.
type Parameters = BTreeMap<(u8, u32), &'static [LogicalOperand]>;

/// Kinds whose values or bits take parameters, in the order of their number in
/// [`Grammar::parameters`].
const WITH_PARAMETERS: [(OperandKind, Values); 7] = [
    (OperandKind::ImageOperands, Values::Bits),
    (OperandKind::LoopControl, Values::Bits),
    (OperandKind::MemoryAccess, Values::Bits),
    (OperandKind::TensorAddressingOperands, Values::Bits),
    (OperandKind::TensorOperands, Values::Bits),
    (OperandKind::ExecutionMode, Values::Numbers),
    (OperandKind::Decoration, Values::Numbers),
];

/// How the values of an enumerated operand kind are formed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// A mask: parameters of its bits follow in the order of the bits, lowest first (SPIR-V 2.3,
    /// "mask").
    Bits,
    /// One value of many.
    Numbers,
}

/// Enumerants from here on are extensions' own. Looking for all of them takes longer than reading a
/// small module, so it is left until one is met.
const COMMON: u32 = 64;

/// Enumerants are numbered below this in every extension so far.
const LARGEST_ENUMERANT: u32 = 8192;

/// Number and form of a kind whose values take parameters.
pub(super) fn parameter_class(kind: OperandKind) -> Option<(u8, Values)> {
    WITH_PARAMETERS
        .iter()
        .zip(0..)
        .find(|((k, _), _)| *k == kind)
        .map(|((_, values), number)| (number, *values))
}

/// Parameters that follow the enumerant (or the bit) `value` of the kind with number `class`.
pub(super) fn parameters(class: u8, value: u32) -> &'static [LogicalOperand] {
    static RARE: OnceLock<Parameters> = OnceLock::new();
    let known = grammar().parameters.get(&(class, value));
    let rare = || RARE.get_or_init(|| numbers(COMMON..LARGEST_ENUMERANT).collect());
    match known {
        None if value >= COMMON => rare().get(&(class, value)),
        known => known,
    }
    .copied()
    .unwrap_or(&[])
}

#[inline]
fn grammar() -> &'static Grammar {
    static GRAMMAR: OnceLock<Grammar> = OnceLock::new();
    GRAMMAR.get_or_init(make)
}

#[cold]
fn make() -> Grammar {
    let own = OWN.iter().map(|own| (own.opcode, (own.name, own.operands)));
    let known = INSTRUCTION_TABLE.iter().filter_map(|known| {
        let opcode = u16::try_from(known.opcode as u32).ok()?;
        Some((opcode, (known.opname, known.operands)))
    });
    let patterns: BTreeMap<_, _> = own.chain(known).collect();
    let parameters: Parameters = masks().chain(numbers(0..COMMON)).collect();
    let len = patterns
        .last_key_value()
        .map_or(0, |(opcode, _)| usize::from(*opcode) + 1);
    let nameless = Shape {
        is_plain: true,
        ..Shape::default()
    };
    let mut shapes = vec![nameless; len];
    for (opcode, (_, operands)) in &patterns {
        if let Some(slot) = shapes.get_mut(usize::from(*opcode)) {
            *slot = with_facts(shape_of(operands, &parameters), *opcode, operands);
        }
    }
    Grammar {
        shapes: Shapes {
            known: shapes,
            unknown: Shape::default(),
        },
        patterns,
        parameters,
    }
}

/// The shape of `opcode` with what its name says.
fn with_facts(mut shape: Shape, opcode: u16, pattern: &[LogicalOperand]) -> Shape {
    let facts = facts::of_opcode(opcode);
    shape.op = spirv::Op::from_u32(opcode.into());
    shape.is_type = shape
        .op
        .is_some_and(|op| op != spirv::Op::TypeForwardPointer && op.is_type());
    shape.is_terminator = shape.op.is_some_and(reflect::is_block_terminator);
    shape.is_jump = shape.op.is_some_and(reflect::is_branch)
        || matches!(
            shape.op,
            Some(spirv::Op::LoopMerge | spirv::Op::SelectionMerge)
        );
    shape.takes_labels =
        shape.is_jump || matches!(shape.op, Some(spirv::Op::Label | spirv::Op::Phi));
    shape.is_note = shape.op.is_some_and(|op| op.is_annotation())
        || matches!(shape.op, Some(spirv::Op::Name | spirv::Op::MemberName));
    shape.facts = facts;
    shape.sync = SyncOperands::from_pattern(facts.class, pattern);
    shape.is_sync = facts.is_synchronizing();
    shape.is_plain =
        !(shape.is_terminator || shape.is_jump || shape.is_sync || is_noted(shape.op, facts));
    shape
}

/// The parameters of the bits of masks.
fn masks() -> impl Iterator<Item = ((u8, u32), &'static [LogicalOperand])> {
    of_kinds(Values::Bits).flat_map(|(kind, number)| {
        (0..32).filter_map(move |bit| with_parameters(kind, number, 1 << bit))
    })
}

/// The parameters of the enumerants with these `values`.
fn numbers(values: Range<u32>) -> impl Iterator<Item = ((u8, u32), &'static [LogicalOperand])> {
    of_kinds(Values::Numbers).flat_map(move |(kind, number)| {
        let values = values.clone();
        values.filter_map(move |value| with_parameters(kind, number, value))
    })
}

/// The kinds of one form, with their numbers.
fn of_kinds(form: Values) -> impl Iterator<Item = (OperandKind, u8)> {
    let kinds = WITH_PARAMETERS.into_iter().zip(0..);
    kinds.filter_map(move |((kind, values), number)| (values == form).then_some((kind, number)))
}

/// The parameters of `value`, if it has some. They are kept for as long as the process runs: each
/// is asked for once.
fn with_parameters(
    kind: OperandKind,
    number: u8,
    value: u32,
) -> Option<((u8, u32), &'static [LogicalOperand])> {
    let list = concrete(kind, value)?.additional_operands();
    (!list.is_empty()).then(|| ((number, value), &*list.leak()))
}

fn shape_of(operands: &[LogicalOperand], parameters: &Parameters) -> Shape {
    let mut shape = Shape {
        fixed: 1,
        least: 1,
        ..Shape::default()
    };
    let mut in_tail = false;
    for (index, operand) in operands.iter().enumerate() {
        if operand.quantifier == OperandQuantifier::One {
            shape.least += 1;
        }
        shape.has_type |= operand.kind == OperandKind::IdResultType;
        shape.has_result |= operand.kind == OperandKind::IdResult;
        if in_tail {
            continue;
        }
        let repeated = operand.quantifier == OperandQuantifier::ZeroOrMore;
        match word_class(operand.kind) {
            WordClass::Id if repeated => (shape.tail, in_tail) = (Tail::Ids, true),
            WordClass::Literal if repeated => in_tail = true,
            WordClass::IdPair => (shape.tail, in_tail) = (Tail::Ids, true),
            WordClass::Mixed => {
                in_tail = true;
                (shape.tail, shape.plain) =
                    mixed_tail(operand.kind, index + 1 == operands.len(), parameters);
            }
            WordClass::Id => {
                shape.ids |= 1 << (shape.fixed - 1);
                shape.fixed += 1;
            }
            WordClass::Literal => shape.fixed += 1,
            WordClass::Number => in_tail = true,
        }
    }
    shape
}

/// Returns true if the reader of functions looks at the instruction, beside terminators, jumps and
/// what synchronizes: it begins or ends something, is a phi, calls, or is left out of blocks.
fn is_noted(op: Option<spirv::Op>, facts: &Facts) -> bool {
    use spirv::Op;
    facts.class == Class::Extended
        || facts.calls != Calls::None
        || matches!(
            op,
            Some(
                Op::Function
                    | Op::FunctionParameter
                    | Op::FunctionEnd
                    | Op::Label
                    | Op::Phi
                    | Op::Line
                    | Op::NoLine
            )
        )
}

/// What a tail that starts with `kind` is, and which of its values are plain.
fn mixed_tail(kind: OperandKind, last: bool, parameters: &Parameters) -> (Tail, u64) {
    let is_plain = |class: u8, value: u32| {
        parameters.get(&(class, value)).is_none_or(|list| {
            list.iter()
                .all(|operand| matches!(word_class(operand.kind), WordClass::Literal))
        })
    };
    match (kind, parameter_class(kind)) {
        (OperandKind::LiteralString, _) if last => (Tail::Text, 0),
        (OperandKind::LiteralExtInstInteger, _) => (Tail::Ext, 0),
        (OperandKind::LiteralSpecConstantOpInteger, _) => (Tail::Operation, 0),
        (_, Some((class, Values::Bits))) if last => (
            Tail::Bits,
            (0..32)
                .filter(|bit| is_plain(class, 1 << bit))
                .fold(0, |all, bit| all | 1 << bit),
        ),
        (_, Some((class, Values::Numbers))) if last => (
            Tail::Number,
            (0..COMMON)
                .filter(|value| is_plain(class, *value))
                .fold(0, |all, value| all | 1 << value),
        ),
        _ => (Tail::Mixed, 0), // more follows, or pairs
    }
}

enum WordClass {
    Id,
    IdPair,
    Literal,
    Number,
    Mixed,
}

fn word_class(kind: OperandKind) -> WordClass {
    use OperandKind as K;
    match kind {
        K::IdResultType | K::IdResult | K::IdMemorySemantics | K::IdScope | K::IdRef => {
            WordClass::Id
        }
        K::PairIdRefIdRef => WordClass::IdPair,
        K::LiteralContextDependentNumber => WordClass::Number,
        K::LiteralString
        | K::LiteralSpecConstantOpInteger
        | K::LiteralExtInstInteger
        | K::PairLiteralIntegerIdRef
        | K::PairIdRefLiteralInteger => WordClass::Mixed,
        other if parameter_class(other).is_some() => WordClass::Mixed,
        _ => WordClass::Literal, // every other kind is one word that is no id
    }
}

/// Returns true if a word of operand kind `kind` is an id.
pub(super) fn is_id(kind: OperandKind) -> bool {
    matches!(word_class(kind), WordClass::Id)
}

/// The table that [`shape`] reads, for loops that look at every instruction.
#[inline]
pub(super) fn shapes() -> &'static Shapes {
    &grammar().shapes
}

/// The shape of `opcode`; one that no table knows has neither result nor ids.
#[inline]
pub(super) fn shape(opcode: u16) -> &'static Shape {
    shapes().of(opcode)
}

/// The operands of `opcode` in order, result type and result included; `None` when no table knows
/// it.
pub(super) fn pattern(opcode: u16) -> Option<&'static [LogicalOperand]> {
    grammar()
        .patterns
        .get(&opcode)
        .map(|(_, operands)| *operands)
}

/// The name of `opcode` with its `Op` prefix, today's alias preferred; `Op` and the number when no
/// table knows it.
pub(super) fn name(opcode: u16) -> String {
    if let Some((_, name)) = RENAMED.iter().find(|(renamed, _)| *renamed == opcode) {
        return (*name).to_owned();
    }
    match grammar().patterns.get(&opcode) {
        Some((name, _)) if name.starts_with("Op") => (*name).to_owned(),
        Some((name, _)) => format!("Op{name}"),
        None => format!("Op{opcode}"),
    }
}

/// Calls `$callback` with the names of all operand kinds that `rspirv` enumerates: those with one
/// value of many, and masks.
macro_rules! enumerated {
    ($callback:ident) => {
        $callback! {
            values: SourceLanguage ExecutionModel AddressingModel MemoryModel ExecutionMode StorageClass Dim SamplerAddressingMode
                SamplerFilterMode ImageFormat ImageChannelOrder ImageChannelDataType FPRoundingMode FPDenormMode QuantizationModes
                FPOperationMode OverflowModes LinkageType AccessQualifier HostAccessQualifier FunctionParameterAttribute Decoration
                BuiltIn Scope GroupOperation KernelEnqueueFlags Capability RayQueryIntersection RayQueryCommittedIntersectionType
                RayQueryCandidateIntersectionType PackedVectorFormat CooperativeMatrixLayout CooperativeMatrixUse TensorClampMode
                InitializationModeQualifier LoadCacheControl StoreCacheControl NamedMaximumNumberOfRegisters FPEncoding
                CooperativeVectorMatrixLayout ComponentType;
            masks: ImageOperands FPFastMathMode SelectionControl LoopControl FunctionControl MemorySemantics MemoryAccess
                KernelProfilingInfo RayFlags FragmentShadingRate RawAccessChainOperands CooperativeMatrixOperands
                CooperativeMatrixReduce TensorAddressingOperands MatrixMultiplyAccumulateOperands TensorOperands
        }
    };
}

/// The word `word` as an operand of the enumerated kind `kind`; `None` for other kinds, and for
/// values that `rspirv` does not know.
pub(super) fn concrete(kind: OperandKind, word: u32) -> Option<dr::Operand> {
    macro_rules! by_kind {
        (values: $($value:ident)*; masks: $($mask:ident)*) => {
            match kind {
                $(OperandKind::$value => rspirv::spirv::$value::from_u32(word).map(dr::Operand::$value),)*
                $(OperandKind::$mask => rspirv::spirv::$mask::from_bits(word).map(dr::Operand::$mask),)*
                _ => None, // ids, literals and pairs are no enumerants
            }
        };
    }
    enumerated!(by_kind)
}

/// Names of capabilities that the `spirv` crate does not have.
const CAPABILITIES: [(&str, u32); 8] = [
    (
        "SplitBarrierEXT",
        rspirv::spirv::Capability::SplitBarrierINTEL as u32,
    ),
    (
        "CooperativeMatrixCheckedInstructionsINTEL",
        nameless::CHECKED_CAPABILITY,
    ),
    (
        "CooperativeMatrixPrefetchINTEL",
        nameless::PREFETCH_CAPABILITY,
    ),
    ("PackedCooperativeMatrixINTEL", nameless::PACKED_CAPABILITY),
    (
        "CooperativeMatrixInvocationInstructionsINTEL",
        nameless::INVOCATION_CAPABILITY,
    ),
    (
        "CooperativeMatrixTF32ComponentTypeINTEL",
        nameless::TF32_CAPABILITY,
    ),
    (
        "CooperativeMatrixBFloat16ComponentTypeINTEL",
        nameless::BFLOAT16_CAPABILITY,
    ),
    ("PredicatedIOINTEL", nameless::PREDICATED_CAPABILITY),
];

/// The number of the enumerant, or of the one bit of a mask, that the specification calls `name`;
/// aliases count. `None` for kinds that are not enumerated, and for names that nobody knows.
pub(super) fn enumerant(kind: OperandKind, name: &str) -> Option<u32> {
    use rspirv::binary::Disassemble;
    if kind == OperandKind::Capability
        && let Some((_, number)) = CAPABILITIES.iter().find(|(known, _)| *known == name)
    {
        return Some(*number);
    }
    macro_rules! by_kind {
        (values: $($value:ident)*; masks: $($mask:ident)*) => {
            match kind {
                $(OperandKind::$value => name.parse::<rspirv::spirv::$value>().ok().map(|value| value as u32),)*
                $(OperandKind::$mask => {
                    // Bits lost their vendor's suffix when they went into the core; both spellings
                    // are one bit.
                    let plain = |name: &str| name.strip_suffix("KHR").unwrap_or(name).to_owned();
                    (name == "None").then_some(0).or_else(|| (0..32).map(|bit| 1 << bit).find(|bit| {
                        rspirv::spirv::$mask::from_bits(*bit).is_some_and(|mask| plain(&mask.disassemble()) == plain(name))
                    }))
                })*
                _ => None, // ids, literals and pairs are no enumerants
            }
        };
    }
    enumerated!(by_kind)
}

/// The opcode that the specification calls `name` (without its `Op`); 6142 and 6143 have two names.
pub(super) fn opcode(name: &str) -> Option<u16> {
    static OPCODES: OnceLock<BTreeMap<&'static str, u16>> = OnceLock::new();
    let opcodes = OPCODES.get_or_init(|| {
        let patterns = grammar().patterns.iter();
        patterns
            .map(|(opcode, (name, _))| (name.strip_prefix("Op").unwrap_or(name), *opcode))
            .collect()
    });
    let renamed = RENAMED
        .iter()
        .find(|(_, new)| new.strip_prefix("Op") == Some(name));
    renamed
        .map(|(opcode, _)| *opcode)
        .or_else(|| opcodes.get(name).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_know_results_ids_and_tails() {
        let add = shape(rspirv::spirv::Op::IAdd as u16);
        assert_eq!(
            (
                add.ids,
                add.fixed,
                add.least,
                add.has_type,
                add.has_result,
                add.tail
            ),
            (0b1111, 5, 5, true, true, Tail::Literals)
        );
        let load = shape(rspirv::spirv::Op::Load as u16);
        assert_eq!(
            (load.ids, load.fixed, load.least, load.tail),
            (0b111, 4, 4, Tail::Bits)
        );
        assert_eq!(
            (load.plain & 0x2, load.plain & 0x10),
            (0x2, 0),
            "Aligned takes a literal, MakePointerVisible an id"
        );
        assert_eq!(shape(rspirv::spirv::Op::Decorate as u16).tail, Tail::Number);
        assert_eq!(
            shape(rspirv::spirv::Op::CopyMemory as u16).tail,
            Tail::Mixed,
            "two masks"
        );
        assert_eq!(shape(rspirv::spirv::Op::Name as u16).tail, Tail::Text);
        let arrive = shape(6142);
        assert_eq!(
            (arrive.ids, arrive.least, arrive.has_type, arrive.has_result),
            (0b111, 4, false, false)
        );
        let dot = shape(6916);
        assert_eq!(
            (dot.ids, dot.least, dot.has_type, dot.has_result),
            (0b11111, 6, true, true)
        );
        assert_eq!(shape(u16::MAX).least, 0);
    }

    #[test]
    fn every_opcode_with_a_name_has_a_shape() {
        for opcode in 0..=u16::MAX {
            let named = spirv::Op::from_u32(opcode.into());
            assert_eq!(shape(opcode).op, named, "{opcode}");
        }
    }

    #[test]
    fn rare_enumerants_have_parameters() {
        let class = |kind| parameter_class(kind).map_or(u8::MAX, |(class, _)| class);
        let user = rspirv::spirv::Decoration::UserSemantic as u32;
        assert!(user >= COMMON);
        assert_eq!(parameters(class(OperandKind::Decoration), user).len(), 1);
        assert_eq!(
            parameters(class(OperandKind::MemoryAccess), 1 << 31).len(),
            0
        );
    }

    #[test]
    fn names_prefer_the_alias_of_today() {
        assert_eq!(name(6142), "OpControlBarrierArriveEXT");
        assert_eq!(name(128), "OpIAdd");
        assert_eq!(name(6916), "OpFDot2MixAcc32VALVE");
        assert_eq!(name(60000), "Op60000");
    }

    #[test]
    fn bits_of_masks_have_their_own_parameters() {
        let (class, values) = parameter_class(OperandKind::MemoryAccess).unzip();
        assert_eq!(values, Some(Values::Bits));
        let class = class.unwrap_or(u8::MAX);
        assert_eq!(parameters(class, 0x2).len(), 1, "Aligned takes a literal");
        assert_eq!(parameters(class, 0x1).len(), 0, "Volatile takes nothing");
    }
}
