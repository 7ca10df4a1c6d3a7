//! SPIR-V compute modules with split barriers in, AMDGPU and NVPTX code out.
//!
//! [`compile`] takes the bytes of a module and [`Options`], and gives an [`Output`]: plan,
//! reflection, LLVM IR, assembly, object, code object. What is wrong comes back as a [`Failure`]
//! with every problem found, each with its code, its place and what to do about it; nothing panics
//! on input.
//!
//! Validation is part of compiling: a module that breaks a rule that `splitbar check` calls an
//! error is refused, and warnings are among [`Output::warnings`]. An application that has checked
//! its modules already says so by name, with [`Validation::Waived`] in [`Options::validation`].
//!
#![cfg_attr(feature = "llvm", doc = "```")]
#![cfg_attr(not(feature = "llvm"), doc = "```no_run")]
//! use splitbar::{Options, Target};
//!
//! let module = include_bytes!("../../../fixtures/kernels/tiled_matmul/tiled_matmul.spv");
//! let target = Target::by_name("gfx1201").ok_or("no such target")?;
//! let output = splitbar::compile(module, &Options::new(target))?;
//! let assembly = output.assembly()?;
//! let signal = assembly.find("s_barrier_signal -1").ok_or("no signal")?;
//! assert!(assembly[signal..].contains("s_barrier_wait -1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! LLVM ends the process on some inputs that it cannot handle. The tables in front of it keep all known ones away from it; a caller that must survive
//! the unknown ones too uses [`compile_isolated`], or a [`Worker`] for many modules: the command line does.
//!
//! # Features
//!
//! - `llvm`: code. Without it nothing links LLVM: [`check()`], [`plan`] and [`model()`] work as they do with it, and what needs code is refused with
//!   [`LlvmMissing`](diagnostic::Code::LlvmMissing). A [`Worker`] makes code all the same where [`Isolation::program`] was built with LLVM.
//! - `sim`: the simulator, in `simulate`.
//! - `cli`: the program `splitbar`. The library needs nothing of it.
//!
//! All are on by default.

#[cfg(feature = "llvm")]
use splitbar_llvm as llvm;
#[cfg(not(feature = "llvm"))]
use without_llvm as llvm;

mod advise;
mod check;
mod choose;
mod failure;
#[cfg(any(test, not(feature = "llvm")))]
mod interface;
mod ir;
mod isolate;
mod link;
mod link_modules;
mod llvm_missing;
pub mod machine_code;
mod measure;
mod model;
mod options;
mod output;
mod pairs;
mod pipeline;
mod prepare;
mod ptxas;
mod reflect;
mod scratch;
mod settings;
mod shape;
#[cfg(feature = "sim")]
pub mod simulate;
pub mod spec;
mod split;
mod stage;
mod store;
mod targets;
mod tool;
mod usage;
mod weigh;
#[cfg(not(feature = "llvm"))]
mod without_llvm;

pub use advise::{
    Advice, Candidate, Estimated, Estimator, Faster, Refused, advise, advise_estimated,
};
pub use check::{CheckOptions, check};
pub use failure::{Failure, exit};
pub use ir::{compile_ir, compile_ir_changed, compile_ir_observed, model_ir_changed, plan_ir};
pub use isolate::{
    Isolated, Isolation, Product, Source, Worker, compile_isolated, perform, run_isolated,
    serve_command, serve_isolated,
};
pub use link::{LINKER_VARIABLE, code_object as link_code_object};
pub use link_modules::link_modules;
pub use llvm_missing::{llvm_version, require_llvm};
pub use model::{Bounds, Explored, LeftOut, model, model_changed};
pub use options::{Choice, Options, SplitBarriers};
pub use output::{Entry, Output};
pub use pairs::{SplitPair, pairs};
pub use pipeline::{
    compile, compile_changed, compile_observed, compile_unguarded, translate, translate_with_calls,
};
pub use prepare::{Planned, plan};
pub use ptxas::{NVDISASM_VARIABLE, PTXAS_VARIABLE};
pub use split::Moved;
pub use splitbar_audit::{asm, fences, verdict, waits, window};
pub use splitbar_passes::diagnostic;
pub use splitbar_passes::module::SpecValues;
pub use splitbar_passes::validate::{Environment, Validation};
pub use splitbar_plan::{
    EntryPlan, FuseAt, Optimization, Overlap, PairPlan, PhaseCycles, Placement, Strategy, Target,
    Waits,
};
pub use splitbar_typed::abi::{
    AbiForm, AbiTable, Argument, ArgumentKind, BindingOffset, DescriptorPlace, DescriptorSets,
    DescriptorSize, KernelAbi, Reach, Reached, ResourceKind, TableArgument,
};
pub use stage::{Artefact, Observer, Stage};
pub use store::{Key, Store};
pub use targets::{TargetRow, targets};
pub use usage::{Resident, Usage};
pub use weigh::{Barrier, BarrierKind, Version, Weighed};

/// The examples of the guide, compiled. Its other blocks say to the suite how they are run.
#[cfg(doctest)]
#[allow(
    rustdoc::invalid_codeblock_attributes,
    reason = "`file=NAME` is for the suite"
)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
struct Guide;
