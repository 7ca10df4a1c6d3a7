//! Compiles SPIR-V compute modules with split barriers to AMDGPU and NVPTX code.
//!
//! [`Compiler::compile`] compiles a module to an [`Output`], which provides the plan, the
//! reflection, LLVM IR, assembly, the object and the code object. If the module cannot be compiled,
//! the [`Failure`] contains every problem, each with its code, its place and advice. No input
//! causes a panic. Read [`Compiler`], [`Options`] and [`Output`] first.
//!
//! Compiling includes validation: a module with an error of `splitbar check` is rejected, and its
//! warnings are in [`Output::warnings`]. An application that has already checked its modules can
//! skip this with [`Validation::Waived`] in [`Options::validation`].
//!
#![cfg_attr(feature = "llvm", doc = "```")]
#![cfg_attr(not(feature = "llvm"), doc = "```no_run")]
//! use splitbar::{Compiler, Options, Target};
//!
//! let module = include_bytes!("../../../fixtures/kernels/tiled_matmul/tiled_matmul.spv");
//! let target = Target::by_name("gfx1201").ok_or("no such target")?;
//! let output = Compiler::new(&Options::new(target)).compile(module)?;
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
//! - `llvm`: code. Without it nothing links LLVM: [`check()`], [`Compiler::plan`] and [`Compiler::model`] work as they do with it, and what needs code is refused with
//!   [`LlvmMissing`](diagnostic::Code::LlvmMissing). It brings the simulator along, by whose estimates of time `auto` decides. A [`Worker`] makes code all the same where [`Isolation::program`] was built with LLVM.
//! - `sim`: the simulator, in `simulate`.
//! - `cli`: the program `splitbar`. The library needs nothing of it.
//!
//! All are on by default.

mod advise;
mod annotate;
mod backend;
mod check;
mod compile;
mod compiler;
mod expect;
mod explain;
mod failure;
mod foreign_ir;
#[cfg(any(test, not(feature = "llvm")))]
mod interface;
mod internal_error;
mod isolate;
mod launch;
mod link;
mod link_modules;
mod llvm_missing;
pub mod machine_code;
mod model;
#[cfg(all(test, feature = "llvm"))]
mod once;
mod options;
mod pairs;
mod planned;
mod ptxas;
mod refusal;
#[cfg(feature = "sim")]
pub mod report;
mod scratch;
mod shown;
#[cfg(feature = "sim")]
pub mod simulate;
#[cfg(all(feature = "llvm", not(feature = "sim")))]
#[expect(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "only estimates are used without the feature `sim`"
)]
mod simulate;
pub mod spec;
mod stage;
mod store;
mod targets;
mod tool;
mod usage;
#[cfg(not(feature = "llvm"))]
mod without_llvm;

pub use advise::{Advice, Candidate, Estimated, Estimator, Faster, Refused, advise};
pub use backend::llvm_version;
pub use check::{CheckOptions, check};
pub use compile::{
    Barrier, BarrierKind, BarrierMotion, Entry, Expected, ExpectedCycles, Output, PlanPlaces,
    Reasons, SplitDecisions, UnsplitBarrier, Version,
};
pub use compiler::{BarrierForm, Compiler, Input};
pub use failure::{Failure, exit};
pub use isolate::{
    Isolated, Isolation, Product, Source, Worker, compile_isolated, perform, run_isolated,
    serve_command, serve_isolated,
};
pub use launch::{BufferName, Launch};
pub use link::{LINKER_VARIABLE, code_object as link_code_object};
pub use link_modules::link_modules;
pub use llvm_missing::require_llvm;
pub use model::{Bounds, Explorations, Explored, LeftOut};
pub use options::{
    Choice, DeclaredOptions, Heading, NarrowBarriers, OptionInfo, Options, Part, PipelineLoops,
    SplitBarriers, ValueForm, parse_size,
};
pub use pairs::{SplitPair, pairs};
pub use planned::{Planned, PlannedEntry};
pub use ptxas::{NVDISASM_VARIABLE, PTXAS_VARIABLE};
pub use splitbar_audit::{asm, fences, verdict, waits, window};
pub use splitbar_layout::abi::{
    AbiForm, AbiTable, Argument, ArgumentKind, BindingOffset, DescriptorPlace, DescriptorSets,
    DescriptorSize, KernelAbi, Reach, Reached, ResourceKind, TableArgument,
};
pub use splitbar_passes::diagnostic;
pub use splitbar_passes::module::SpecValues;
pub use splitbar_passes::validate::{Environment, Validation};
pub use splitbar_plan::{
    EntryPlan, FuseAt, Optimization, Overlap, PairPlan, PhaseCycles, Placement, Strategy, Target,
    UnknownTarget, Waits,
};
pub use stage::{Artefact, Observer, Stage};
pub use store::{Key, Store};
pub use targets::{TargetRow, targets};
pub use usage::{Resident, ResidentEstimate, ResourceUsage};

/// The examples of the guide, compiled. Its other blocks say to the suite how they are run.
#[cfg(doctest)]
#[allow(
    rustdoc::invalid_codeblock_attributes,
    reason = "`file=NAME` is for the suite"
)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
struct Guide;
