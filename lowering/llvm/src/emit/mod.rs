//! SPIR-V bodies to LLVM IR.
//!
//! | room | what it does |
//! |---|---|
//! | [`build`] | the builder façade: checked, uniform over scalars and vectors |
//! | [`types`] | SPIR-V types as LLVM types |
//! | [`constant`], [`address`] | constants as LLVM constants; those that hold addresses |
//! | [`state`] | what the families keep of a function and a module |
//! | [`slots`] | what the ids of the module stand for in a function |
//! | [`context`] | what the functions of a module share, and what those of a kernel |
//! | [`function`] | the state of one function's lowering, and the interface that instruction families use |
//! | [`body`] | the walk over blocks and instructions |
//! | [`dispatch`] | the table from opcode to family: the one place to add an opcode |
//! | [`memory`], [`place`], [`pointer`], [`control`], [`barrier`], [`counter`], [`objects`], [`named`], [`waits`], [`builtin`], [`clock`] | families that touch the emitter's core |
//! | [`arith`], [`bits`], [`compare`], [`casts`], [`convert`], [`composite`], [`linear`] | scalars, vectors, matrices |
//! | [`async_copy`], [`promoted_copy`], [`bulk_copy`], [`held`] | asynchronous copies between global and workgroup memory: of groups, of plain stores, by one invocation; those that stay in registers on their way |
//! | [`image`] | storage images, texel buffers, fetches |
//! | [`matrix`] | cooperative matrices |
//! | [`atomic`], [`lanes`], [`scan`], [`subgroup`], [`group`], [`collective`], [`derivative`] | what invocations do together |
//! | [`ext`], [`ext_amd`], [`ext_glsl`], [`ext_opencl`], [`ext_opencl_integer`], [`ext_opencl_memory`], [`ext_opencl_printf`], [`numeric`], [`math`], [`library`] | extended instruction sets |
//! | [`small_float`], [`float8`] | floats of at most 8 bits; those of OCP by instructions |
//! | [`facts`] | facts about targets beyond the target row |
//! | [`abi`], [`attributes`] | the parameters of kernels: types, attributes; what functions say of their launch |
//! | [`check`] | what is refused before any body is lowered |
//! | [`globals`], [`prologue`] | module-scope variables; what a kernel does before its first instruction |
//! | [`module`] | one LLVM module: kernels and their functions, in order |
//!
//! A problem in one instruction is recorded, its result becomes poison, and the walk goes on, so
//! that one run reports all of them; with any error no IR leaves the crate.

pub(crate) mod abi;
mod address;
pub(crate) mod arith;
pub(crate) mod async_copy;
pub(crate) mod atomic;
pub(crate) mod attributes;
pub(crate) mod barrier;
pub(crate) mod bits;
mod body;
pub(crate) mod build;
pub(crate) mod builtin;
mod bulk_copy;
pub(crate) mod casts;
pub(crate) mod check;
pub(crate) mod clock;
pub(crate) mod collective;
pub(crate) mod compare;
pub(crate) mod composite;
pub(crate) mod constant;
pub(crate) mod context;
pub(crate) mod control;
pub(crate) mod convert;
mod cooperative_vector;
#[cfg(test)]
pub(crate) mod core_tests;
pub(crate) mod counter;
pub(crate) mod derivative;
mod descriptor;
pub(crate) mod dispatch;
pub(crate) mod ext;
pub(crate) mod ext_amd;
pub(crate) mod ext_glsl;
pub(crate) mod ext_opencl;
pub(crate) mod ext_opencl_integer;
pub(crate) mod ext_opencl_memory;
mod ext_opencl_printf;
pub(crate) mod facts;
#[cfg(test)]
mod family_tests;
mod float8;
pub(crate) mod function;
pub(crate) mod globals;
mod grants;
pub(crate) mod group;
mod groups;
pub(crate) mod image;
pub(crate) mod lanes;
pub(crate) mod library;
pub(crate) mod linear;
pub(crate) mod math;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod named;
pub(crate) mod numeric;
pub(crate) mod objects;
pub(crate) mod place;
pub(crate) mod pointer;
pub(crate) mod prologue;
#[cfg(test)]
mod promise_tests;
mod promoted_copy;
mod scan;
mod slots;
mod small_float;
pub(crate) mod staged;
pub(crate) mod state;
pub(crate) mod subgroup;
mod subgroup_product;
mod tangle;
mod tangle_facts;
pub(crate) mod tensor;
pub(crate) mod types;
mod undefined;
mod unroll;
pub(crate) mod waits;
mod whole_wave;

pub(crate) use splitbar_layout::Result;
use splitbar_passes::analysis::{layout, uses};

/// Index of an OpExtInst's first argument: the set and the number come before it.
pub(crate) const EXT_ARGS: usize = 2;

/// Whether an instruction family knows an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Handled {
    /// Lowered; its result is bound.
    Yes,
    /// Not lowered: the caller reports `UnsupportedInstruction`.
    No,
}
