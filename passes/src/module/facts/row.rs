//! The facts about one instruction, and the notation of the tables for them.

/// Facts of one instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its kind.
    pub class: Class,
    /// The operands that lead to memory, images or tensors. Pointer operands that are not listed
    /// are neither read nor written through, unless [`Facts::is_described`] is false.
    pub accesses: &'static [Access],
    /// Cases in which the specification leaves the result or the behaviour undefined.
    pub undefined: &'static [Undefined],
    /// True if the result or the effect depends on which invocations of the subgroup execute the
    /// instruction together.
    pub active_lanes: bool,
    /// True if each component of the result is computed from the same component of the operands.
    pub by_component: bool,
    /// The functions that it calls.
    pub calls: Calls,
    /// Section of the SPIR-V specification (version 1.6, revision 2), or the extension.
    pub source: &'static str,
}

/// The kind of an instruction. The kinds exclude each other.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Types, constants, annotations, modes, names, and the instructions that begin and end
    /// functions and blocks: not executed.
    Declaration,
    /// No effect on what a program computes: OpNop, debug lines, lifetimes, assumptions,
    /// prefetches.
    Marker,
    /// Computes its result from the values of its operands: no memory, no descriptor.
    Value,
    /// OpUndef.
    Undef,
    /// Declares memory.
    Variable,
    /// Makes a pointer from a pointer.
    Address(Address),
    /// Reads properties of a descriptor, of a pointer or of a type, not the memory.
    Query,
    /// OpPhi.
    Phi,
    /// Reads or writes the memory that [`Facts::accesses`] names.
    Memory,
    /// Reads an image that is not written while the kernel runs: it has no memory semantics.
    Sample,
    /// Reads or writes memory atomically.
    Atomic(Atomic),
    /// Synchronises execution.
    Barrier(Barrier),
    /// OpMemoryBarrier: orders memory, not execution.
    Fence,
    /// OpNamedBarrierInitialize.
    NamedBarrier,
    /// OpMemoryNamedBarrier.
    NamedBarrierWait,
    /// Exchanges values between the invocations of a group.
    Group(Group),
    /// OpGroupAsyncCopy: starts a copy.
    AsyncCopy,
    /// OpGroupWaitEvents: waits for copies.
    WaitEvents,
    /// Calls the function that `Facts::calls` names.
    Call,
    /// Declares where control flow merges, or controls a loop.
    Merge,
    /// Ends a block and goes on in another block of the function.
    Branch,
    /// Ends the function or the invocation.
    Exit,
    /// Reads a clock.
    Clock,
    /// Has an effect outside of memory: the record of a printf.
    Print,
    /// OpExtInst: the extended set decides.
    Extended,
    /// The instruction is not lowered; the reason.
    Refused(&'static str),
    /// No row describes the instruction.
    Unknown,
}

/// The operands after the base of an instruction that makes a pointer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Members and elements, from the outermost type in.
    Members,
    /// An element of the array that the base points into, then members and elements.
    Element,
    /// A stride, an element and an offset, in bytes.
    Bytes,
    /// A coordinate and a sample of an image.
    Texel,
}

/// Operations of an atomic instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Reads.
    Load,
    /// Writes and has no result: OpAtomicStore, OpAtomicFlagClear.
    Store,
    /// Reads and writes.
    Update,
    /// Reads, and writes if the value is the expected one. The only kind with two semantics
    /// operands.
    CompareExchange,
}

/// Barriers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// OpControlBarrier.
    Full,
    /// OpControlBarrierArriveEXT.
    Arrive,
    /// OpControlBarrierWaitEXT.
    Wait,
}

/// The result of a group operation, for invocations that execute it together.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// All get the same value.
    Same,
    /// All get the same value if the Group Operation is Reduce.
    Reduction,
    /// Each gets its own value.
    Own,
}

/// The functions that an instruction calls.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Calls {
    /// None.
    None,
    /// The function that is this operand, once.
    Once(u8),
    /// The function that is this operand, for each element of a cooperative matrix, in any order.
    Elements(u8),
    /// The decode function among its tensor addressing operands, if it has one, for each element.
    Decode,
}

/// An operand that leads to memory. Operands are counted from 0, without result type and result;
/// those of an extended instruction, without its set and number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The operand.
    pub operand: u8,
    /// The use of the memory.
    pub role: Role,
    /// The kind of the operand.
    pub kind: Operand,
    /// The part of the memory.
    pub extent: Extent,
}

/// The use of memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written.
    Update,
    /// It is not accessed: the result points to it as well.
    Forward,
}

impl Role {
    /// Returns true if the memory is read.
    pub fn reads(self) -> bool {
        matches!(self, Role::Read | Role::Update)
    }

    /// Returns true if the memory is written.
    pub fn writes(self) -> bool {
        matches!(self, Role::Write | Role::Update)
    }
}

/// The operand that leads to memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A pointer.
    Pointer,
    /// A vector of pointers.
    Pointers,
    /// An image, or a sampled image.
    Image,
    /// A tensor.
    Tensor,
}

/// The bytes that an access touches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One object of the type that is loaded or stored, at the pointer.
    Object,
    /// One object, if the predicate holds.
    Predicated,
    /// As many bytes as this operand says, at the pointer.
    Bytes(u8),
    /// As many components as the vector that is loaded or stored has, at the pointer plus an
    /// offset in components.
    Components,
    /// As many elements as this operand says.
    Elements(u8),
    /// The elements of a matrix from the pointer on, at a stride.
    Matrix,
    /// One component for each invocation of the subgroup, one beside the other.
    Block,
    /// One texel, or the texels that a filter mixes.
    Texels,
    /// Any part of the memory object.
    Any,
}

/// A case that the specification leaves undefined.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// The consequence.
    pub what: Consequence,
    /// The condition.
    pub when: When,
}

/// The consequence of an undefined case.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The result, or a component of it, is any value.
    Value,
    /// The behaviour of the program is undefined by the letter of the specification.
    Behaviour,
}

/// The condition of an undefined case.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// The memory was not written.
    Unwritten,
    /// The pointer leads outside of its object, or is null.
    OutOfBounds,
    /// The shift amount is not below the width.
    ShiftBeyondWidth,
    /// The bit field is not within the width.
    FieldBeyondWidth,
    /// The divisor is 0.
    DivisorZero,
    /// The divisor is 0, or the quotient is not representable.
    QuotientOverflow,
    /// The converted value is not representable.
    NotRepresentable,
    /// The index is not below the number of components.
    IndexBeyondComponents,
    /// The bit is not one of the group's invocations.
    BitBeyondBallot,
    /// A component literal is 0xFFFFFFFF.
    ComponentLeftOut,
    /// The pointer is not one of the storage class.
    OtherStorageClass,
    /// The pointers do not point into one array.
    OtherArray,
    /// The operand is outside of the function's domain.
    OutsideDomain,
    /// An operand is a NaN: which operand is the result.
    NotANumber,
    /// The lower limit is above the upper one.
    LimitsReversed,
    /// The matrix is singular.
    Singular,
    /// The other invocation does not exist or is not active.
    OtherInvocationInactive,
    /// No bit is set.
    NoBitSet,
    /// Invocations of one quad or subgroup that do not execute it together.
    NotConverged,
    /// The condition is false.
    ConditionFalse,
    /// It is executed.
    Executed,
}

impl Facts {
    /// The facts of an instruction without a row.
    pub const UNKNOWN: Facts = facts(Class::Unknown, "");

    pub(super) const fn access(self, accesses: &'static [Access]) -> Facts {
        Facts { accesses, ..self }
    }

    pub(super) const fn undefined(self, undefined: &'static [Undefined]) -> Facts {
        Facts { undefined, ..self }
    }

    pub(super) const fn active_lanes(self) -> Facts {
        Facts {
            active_lanes: true,
            ..self
        }
    }

    pub(super) const fn by_component(self) -> Facts {
        Facts {
            by_component: true,
            ..self
        }
    }

    pub(super) const fn calls(self, calls: Calls) -> Facts {
        Facts { calls, ..self }
    }
}

impl Default for &'static Facts {
    fn default() -> Self {
        &Facts::UNKNOWN
    }
}

pub(super) const fn facts(class: Class, source: &'static str) -> Facts {
    Facts {
        class,
        accesses: &[],
        undefined: &[],
        active_lanes: false,
        by_component: false,
        calls: Calls::None,
        source,
    }
}

pub(super) const fn pointer(operand: u8, role: Role, extent: Extent) -> Access {
    Access {
        operand,
        role,
        kind: Operand::Pointer,
        extent,
    }
}

pub(super) const fn image(operand: u8, role: Role) -> Access {
    Access {
        operand,
        role,
        kind: Operand::Image,
        extent: Extent::Texels,
    }
}

pub(super) const fn tensor(operand: u8, role: Role) -> Access {
    Access {
        operand,
        role,
        kind: Operand::Tensor,
        extent: Extent::Components,
    }
}

pub(super) const fn value(when: When) -> Undefined {
    Undefined {
        what: Consequence::Value,
        when,
    }
}

pub(super) const fn behaviour(when: When) -> Undefined {
    Undefined {
        what: Consequence::Behaviour,
        when,
    }
}
