//! A parameter of a kernel: what it is good for, what the kernel gets, what the host passes.

use super::table::Access;
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::module::Id;

/// The kind of an argument.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// A pointer to a buffer, or to a table of pointers to buffers.
    GlobalBuffer,
    /// A pointer to the descriptor of an image or texel buffer, or to the first one of an array of
    /// them.
    Image,
    /// A pointer to the descriptor of a tensor, or to the first one of an array of them.
    Tensor,
    /// A pointer to the descriptor of a sampler, or to the first one of an array of them. On NVIDIA
    /// GPUs nobody reads it.
    Sampler,
    /// The push-constant block, by value.
    PushConstant,
    /// The length of a buffer in bytes, 32 bits.
    ArrayLength,
    /// A pointer to a table of such lengths, one for each descriptor of an array.
    ArrayLengths,
    /// The number of dimensions of the launch (WorkDim of OpenCL), 32 bits, where the hardware does
    /// not say it.
    WorkDim,
    /// A parameter of an OpenCL kernel that is not a pointer to memory, by value.
    ByValue,
    /// A pointer parameter of an OpenCL kernel to workgroup memory that the launch adds: the
    /// address in the workgroup's memory, 32 bits on AMD GPUs, else 64.
    DynamicSharedPointer,
    /// A pointer to the printf buffer ([`splitbar_passes::printf`]), of kernels that can reach a
    /// printf.
    PrintfBuffer,
    /// A pointer to a table of descriptors: that of a set, or one of an embedder's own.
    Table,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Argument {
    /// Position, from 0.
    pub index: u32,
    /// The kind.
    pub kind: ArgumentKind,
    /// Descriptor set, for buffers and lengths of shaders, and for tables that belong to one.
    pub set: Option<u32>,
    /// Binding, for buffers and lengths of shaders.
    pub binding: Option<u32>,
    /// Bytes.
    pub size: u32,
    /// Offset in bytes in the kernel's argument block.
    pub offset: u32,
    /// Alignment of the argument itself, in bytes.
    pub align: u32,
    /// For an address: what it must be a multiple of, in bytes.
    pub pointee_align: Option<u32>,
}

/// The role of a kernel parameter for the variables.
#[derive(Clone, Debug)]
pub enum Role {
    /// The address of these variables.
    Buffer(Vec<Id>),
    /// The address of the push-constant block, in place.
    PushConstant(Id),
    /// The length of the buffers of these variables, or their table of lengths.
    Length(Vec<Id>),
    /// The address of a table, and what is read there at the kernel's start.
    Table(Vec<Access>),
    /// The number of dimensions of the launch.
    WorkDimensions,
    /// The address of the printf buffer.
    PrintBuffer,
    /// The entry point's own parameter number.
    Own(usize),
    /// The entry point's own parameter number: a block that is passed by value and wants a copy of
    /// its own.
    OwnBlock(usize, Id),
}

/// The way in which a parameter is passed to the kernel.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Passing {
    /// An address.
    Pointer {
        /// Its address space.
        space: u32,
    },
    /// A block that is passed by value: the kernel gets its address.
    Block {
        /// The address space.
        space: u32,
        /// Its size.
        bytes: u64,
        /// Its alignment.
        align: Alignment,
    },
    /// An integer of 32 bits.
    Word,
    /// A value of this type.
    Value(Id),
}

/// A parameter of the kernel.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its role.
    pub role: Role,
    /// The way in which it is passed.
    pub passing: Passing,
    /// The argument that the host passes.
    pub argument: Argument,
    /// True if the buffer does not change while the kernel runs.
    pub read_only: bool,
}

impl Parameter {
    /// The same as an address that is a multiple of `align`.
    pub(super) fn to(mut self, align: Alignment) -> Parameter {
        self.argument.pointee_align = Some(align.bytes());
        self
    }
}
