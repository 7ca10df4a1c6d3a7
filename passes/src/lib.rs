//! Reads SPIR-V compute modules, analyses the split barriers in them, and transforms them.
//!
//! Data flows one way: bytes -> [`module::Module`] (the words and an index over them) ->
//! [`module::Declarations`] (types, decorations, entry points, functions) -> [`analysis`] ->
//! [`transform`] -> [`validate`], which inlines before it looks at control flow -> [`pipeline`],
//! which runs passes and validates between them. Nothing here knows LLVM.

pub mod analysis;
pub mod diagnostic;
pub mod enumerants;
pub mod model;
pub mod module;
pub mod pipeline;
pub mod printf;
pub mod profile;
pub mod transform;
pub mod validate;
