//! Contexts that functions share while they are written: the LLVM module that they go into, and
//! the kernel that they belong to.

use super::build::{Build, fast};
use super::check;
use super::state::{Callees, Shared, Tangled};
use super::types::Types;
use crate::ffi::Value;
use splitbar_layout::abi::DescriptorArrays;
use splitbar_layout::types::{self as typed, id_count};
use splitbar_passes::analysis::qualifiers::MemoryQualifiers;
use splitbar_passes::module::{Constants, Declarations, Id};
use splitbar_passes::printf::Table;
use splitbar_passes::transform::SourceMap;
use splitbar_plan::backend::LowerInput;
use splitbar_plan::{EntryPlan, Optimization, Target, waves};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Everything that one LLVM module has once.
pub(crate) struct ModuleContext<'c, 'm> {
    /// The declarations of the module.
    pub(crate) declarations: &'m Declarations<'m>,
    /// Constants, evaluated.
    pub(crate) constants: &'m Constants,
    /// The target row: what exists on it. Ask before you name a target intrinsic.
    pub(crate) target: &'static Target,
    /// The level of LLVM's optimisation.
    pub(super) optimization: Optimization,
    /// True if barriers stay calls.
    pub(super) calls: bool,
    /// True for modules of the OpenCL kind (capability Kernel).
    pub(crate) opencl: bool,
    /// The layout of arrays of descriptors of buffers in memory.
    pub(super) arrays: DescriptorArrays,
    /// The way back to the module that this one was made of: debug lines count the words of that
    /// one.
    pub(super) source_map: Option<&'m SourceMap>,
    /// Types with their LLVM types.
    pub(super) types: Types<'c>,
    /// The memory that is coherent, and that which is volatile.
    pub(super) qualifiers: MemoryQualifiers,
    /// The LLVM constants that were made so far, by id.
    pub(super) materialized: RefCell<Vec<Option<Value<'c>>>>,
    /// Objects that the barrier steps share.
    pub(super) barriers: Shared<'c>,
}

impl<'c, 'm> ModuleContext<'c, 'm> {
    /// The module of `lowering` before anything of it is written.
    pub(crate) fn new(lowering: &LowerInput<'m>, b: &Build<'c>) -> ModuleContext<'c, 'm> {
        let declarations = lowering.module.declarations();
        let constants = lowering.module.constants();
        let form = lowering.abi.of_module(declarations);
        let table = typed::Types::build(
            declarations,
            constants,
            lowering.target,
            waves(lowering.plans(), lowering.target),
            form.descriptor_bytes(),
        );
        ModuleContext {
            declarations,
            constants,
            target: lowering.target,
            optimization: lowering.optimization,
            calls: lowering.calls,
            opencl: declarations.has_capability(spirv::Capability::Kernel),
            arrays: form.arrays(),
            source_map: lowering.source_map,
            types: Types::build(table, lowering.target, b),
            qualifiers: MemoryQualifiers::analyze(declarations),
            materialized: RefCell::new(vec![None; id_count(declarations)]),
            barriers: Shared::default(),
        }
    }
}

/// Everything that the entry point and its copies of the functions that it reaches share.
pub(crate) struct KernelContext<'p, 'c> {
    /// The barrier plan of the entry point.
    pub(crate) plan: &'p EntryPlan,
    /// Fast-math flags of an instruction that says nothing about them.
    pub(super) default_fast_math: u32,
    /// Bytes of workgroup memory through which subgroups exchange elements of matrices.
    pub(super) exchange_bytes: u64,
    /// Meeting of lanes, by function, where there are joins or masks.
    pub(super) tangled: BTreeMap<Id, Tangled>,
    /// Functions that can be called, with the variables that each wants as hidden arguments.
    pub(super) callees: Callees<'c>,
    /// The calls of printf and the strings that the kernel has so far.
    pub(super) prints: RefCell<Table>,
}

impl<'p, 'c> KernelContext<'p, 'c> {
    /// The kernel of `plan` before anything of it is written, without exchanges and joins.
    pub(crate) fn new(
        declarations: &Declarations<'_>,
        plan: &'p EntryPlan,
    ) -> KernelContext<'p, 'c> {
        let float_controls = spirv::Capability::FloatControls2;
        let strict = declarations.has_capability(float_controls)
            || check::contraction_off(declarations, plan.function);
        KernelContext {
            plan,
            default_fast_math: if strict { 0 } else { fast::CONTRACT },
            exchange_bytes: 0,
            tangled: BTreeMap::new(),
            callees: Callees::default(),
            prints: RefCell::default(),
        }
    }
}
