//! The request of one compilation.

use crate::options::Options;
use splitbar_plan::EntryPlan;
use splitbar_plan::backend::{IrModule, Lower};
use splitbar_plan::faults::Guards;

/// Changes plans before they are lowered.
pub(crate) type ChangePlans<'r> = dyn Fn(&mut [EntryPlan]) + 'r;

/// A module and what is wanted of it.
#[derive(Copy, Clone)]
pub(crate) struct Request<'r> {
    /// The SPIR-V module.
    pub(crate) bytes: &'r [u8],
    /// How it is compiled.
    pub(crate) options: &'r Options,
    /// The back end that lowers its kernels.
    pub(crate) lower: &'r dyn Lower,
    /// True if the module is the skeleton of one in LLVM IR.
    pub(crate) is_ir: bool,
    /// The guards against faults of LLVM.
    pub(crate) guards: Guards,
    /// For tests that ask what a missing step does. The audit goes by the plans as they were.
    pub(crate) change_plans: Option<&'r ChangePlans<'r>>,
    /// How much of the code is measured, if its options request measuring.
    pub(crate) extent: Extent,
}

/// How much of the code is measured.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything that the options name.
    Whole,
    /// The resource usage of the kernels. The code needs no debug lines for it.
    Usage,
}

impl<'r> Request<'r> {
    /// To compile a SPIR-V module.
    pub(crate) fn spirv(bytes: &'r [u8], options: &'r Options) -> Request<'r> {
        Request {
            bytes,
            options,
            lower: crate::backend::current(),
            is_ir: false,
            guards: Guards::default(),
            change_plans: None,
            extent: Extent::Whole,
        }
    }

    /// To compile the kernels of a module in LLVM IR by its skeleton.
    pub(crate) fn of_ir(ir: &'r dyn IrModule, options: &'r Options) -> Request<'r> {
        Request {
            lower: ir.as_lower(),
            is_ir: true,
            ..Request::spirv(ir.skeleton(), options)
        }
    }

    /// The same with other guards, and changed plans.
    pub(crate) fn with_hooks<'s>(
        self,
        guards: Guards,
        change_plans: &'s ChangePlans<'s>,
    ) -> Request<'s>
    where
        'r: 's,
    {
        Request {
            guards,
            change_plans: Some(change_plans),
            ..self
        }
    }

    /// The same of the same module with other options.
    pub(crate) fn with<'s>(self, options: &'s Options) -> Request<'s>
    where
        'r: 's,
    {
        Request { options, ..self }
    }

    /// The same request, with another extent of measuring.
    pub(crate) fn measuring(self, extent: Extent) -> Request<'r> {
        Request { extent, ..self }
    }
}
