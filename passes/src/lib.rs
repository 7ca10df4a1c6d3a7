//! Reads SPIR-V compute modules, analyses the split barriers in them, and transforms them.
//!
//! Data flows one way: bytes -> [`module::Module`] (the words and an index over them) ->
//! [`module::Declarations`] (types, decorations, entry points, functions) -> [`analysis`] ->
//! [`transform`] -> [`validate`], which inlines before it looks at control flow -> [`pipeline`],
//! which runs passes and validates between them. The crate does not use LLVM. Read
//! [`module::Module`], [`transform`] and [`pipeline::run`] first.
//!
//! This example finds the waits that belong to each arrive:
//!
//! ```
//! use splitbar_passes::analysis::pairing::Pairing;
//! use splitbar_passes::diagnostic::Diagnostics;
//! use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
//!
//! let bytes = include_bytes!("../../fixtures/kernels/reduction/reduction.spv");
//! let module = Module::parse(bytes)?;
//! let mut problems = Diagnostics::new();
//! let declarations = Declarations::new(&module, &mut problems);
//! let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
//! let entry = declarations.entry_points.first().ok_or("no entry point")?;
//! let pairing = Pairing::analyse(&declarations, &constants, entry, &mut problems);
//! assert!(!problems.has_errors(), "{problems}");
//! assert_eq!(pairing.pairs.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod analysis;
mod boundary;
pub mod diagnostic;
pub mod enumerants;
pub mod model;
pub mod module;
pub mod pipeline;
pub mod printf;
pub mod profile;
pub mod transform;
pub mod validate;
