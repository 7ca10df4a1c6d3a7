//! A SPIR-V module: its words, an index over them, and its declarations.
//!
//! [`Module`] holds the words themselves; an [`Inst`] is a slice of them, unknown instructions are
//! kept as they are. [`Declarations`] decodes what stands outside of function bodies and where
//! functions and blocks begin and end. [`Constants`] gives every constant its value once the
//! specialization constants are known.

mod assemble;
mod callee;
mod calls;
mod constant;
mod constants;
mod declarations;
mod declare;
mod decorations;
mod disassemble;
mod evaluate;
mod ext;
pub mod facts;
mod file_kind;
mod float;
mod fold;
mod frames;
mod functions;
mod grammar;
mod id_filter;
mod id_map;
mod ids;
mod index;
mod inst;
pub mod joint_matrix;
pub(crate) mod locate;
pub mod nameless;
mod names;
mod operands;
mod reader;
pub(crate) mod report;
#[cfg(feature = "rspirv")]
mod rspirv_interop;
mod scalar;
mod semantics;
mod signatures;
mod source;
mod strings;
mod table;
mod tensor;
mod tensor_access;
mod types;
mod uses;
mod workgroup;

pub use crate::diagnostic::WordOffset;
pub use assemble::{Assembled, AssemblyText, assemble};
pub use callee::{called, called_for_elements, callee};
pub use constant::Constant;
pub use constants::{Constants, SpecValues};
pub use declarations::{Declarations, EntryPoint, ExtInstSet, SplitBarrierExtension, Variable};
pub use decorations::Decoration;
pub use file_kind::FileKind;
pub use frames::{FilePosition, Frame};
pub use functions::{Block, BlockIndex, BlockMap, Function, synchronizes, targets};
pub(crate) use id_filter::IdFilter;
pub(crate) use id_map::IdMap;
pub use ids::Ids;
pub use inst::{Id, Inst};
pub use operands::{Operand, Operands};
pub use reader::{Endianness, Header, Module};
pub(crate) use scalar::folded;
pub use semantics::{Classes, Order, Scope, Semantics};
pub use source::SourceFile;
pub use table::{Key, Table};
pub use tensor::TensorType;
pub use tensor_access::TensorAccess;
pub(crate) use types::is_terminator;
pub use types::{FloatFormat, MOST_COMPONENTS, MOST_TYPE_DEPTH, Type};
