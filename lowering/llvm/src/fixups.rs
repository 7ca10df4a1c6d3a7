//! Changes to LLVM IR before and after the mid-level optimiser, in order: bodies of intrinsics that
//! LLVM lacks, facts for its code generators, and forms that avoid its known faults (docs/llvm.md).

use crate::{
    atomic_annotations, balanced_windows, codegen, constant_loops, dot_sums, expand, faults,
    guarded_division, lane_moves, masked_division, negative_zero, opaque_cross_lane,
    private_arrays, shared_blocks, shared_contents, shared_offsets,
};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::Optimization;
use splitbar_plan::backend::LowerInput;
use splitbar_plan::faults::Guard;
use splitbar_plan::target::Arch;

/// The module that is changed, and its input.
pub(crate) struct Work<'w, 'c> {
    pub(crate) context: &'c Context,
    pub(crate) module: &'w Module<'c>,
    pub(crate) machine: &'w TargetMachine,
    pub(crate) input: &'w LowerInput<'w>,
    /// True if the kernels' bodies are those of a module in LLVM IR.
    pub(crate) is_ir: bool,
    /// True if nothing else accesses the memory of the kernels while they run.
    pub(crate) owns_memory: bool,
}

/// One change.
pub(crate) struct FixUp {
    /// The file that has it.
    pub(crate) name: &'static str,
    /// The guard that it is part of, if it avoids a fault of LLVM: it can be removed with the
    /// fault.
    pub(crate) guard: Option<Guard>,
    /// Returns true if the target and the level need it.
    pub(crate) needed: fn(&Work<'_, '_>) -> bool,
    /// Does it.
    pub(crate) run: fn(&Work<'_, '_>) -> Result<(), Diagnostics>,
}

/// Before the optimiser.
pub(crate) const BEFORE_OPTIMISER: &[FixUp] = &[
    // Lanes that leave a loop at different times: no pass may move what they do out of it.
    FixUp {
        name: "opaque_cross_lane::wrap",
        guard: Some(Guard::HiddenLanes),
        needed: |work| work.hides_lanes(),
        run: |work| {
            opaque_cross_lane::wrap(work.module);
            Ok(())
        },
    },
    // What -O3 does by itself.
    FixUp {
        name: "constant_loops",
        guard: None,
        needed: |work| {
            let level = work.input.optimization;
            !work.is_amdgpu() && matches!(level, Optimization::O1 | Optimization::O2)
        },
        run: |work| constant_loops::unroll(work.module, work.machine),
    },
];

/// After the optimiser.
pub(crate) const AFTER_OPTIMISER: &[FixUp] = &[
    FixUp {
        name: "opaque_cross_lane::unwrap",
        guard: Some(Guard::HiddenLanes),
        needed: |work| work.hides_lanes(),
        run: |work| {
            if !opaque_cross_lane::unwrap(work.module) {
                return Ok(());
            }
            if work.input.guards.has(Guard::MaskedId) {
                faults::hide_masked_ids(work.context, work.module);
            }
            codegen::run(work.module, work.machine, opaque_cross_lane::PASSES)
        },
    },
    // Workgroup memory was open to writes of others until here.
    FixUp {
        name: "shared_contents",
        guard: None,
        needed: |_| true,
        run: |work| {
            shared_contents::close(work.module);
            Ok(())
        },
    },
    // Barriers spelled out after the optimiser, so that it cannot close the windows.
    FixUp {
        name: "expand",
        guard: None,
        needed: |_| true,
        run: |work| expand::expand(work.context, work.module, work.input.target, work.machine),
    },
    FixUp {
        name: "balanced_windows",
        guard: None,
        needed: |work| work.input.optimization != Optimization::O0 && work.splits_barriers(),
        run: |work| {
            balanced_windows::balance(work.context, work.module, work.input.target);
            Ok(())
        },
    },
    // No pass of the optimiser may see a division by what may be 0.
    FixUp {
        name: "guarded_division",
        guard: None,
        needed: |work| work.input.optimization != Optimization::O0 && !work.is_ir,
        run: |work| {
            guarded_division::release(work.module);
            Ok(())
        },
    },
    FixUp {
        name: "masked_division",
        guard: Some(Guard::MaskedDivision),
        needed: |_| true,
        run: |work| masked_division::expand(work.module),
    },
    // Offsets that several accesses have in common.
    FixUp {
        name: "shared_offsets",
        guard: None,
        needed: |work| work.input.optimization != Optimization::O0 && work.has_short_buffers(),
        run: |work| {
            shared_offsets::share(work.context, work.module);
            Ok(())
        },
    },
    FixUp {
        name: "negative_zero",
        guard: Some(Guard::RoundedProduct),
        needed: |work| work.is_amdgpu(),
        run: |work| negative_zero::preserve(work.context, work.module),
    },
    FixUp {
        name: "lane_moves",
        guard: Some(Guard::LaneMoves),
        needed: |work| work.is_amdgpu(),
        run: |work| lane_moves::keep(work.context, work.module),
    },
    // Atomics in memory that no host and no other GPU reaches need no fallback.
    FixUp {
        name: "atomic_annotations",
        guard: None,
        needed: |work| work.is_amdgpu() && work.owns_memory,
        run: |work| atomic_annotations::annotate(work.context, work.module),
    },
    FixUp {
        name: "private_arrays",
        guard: Some(Guard::PrivateArrays),
        needed: |work| work.is_amdgpu(),
        run: |work| private_arrays::keep(work.module, work.machine),
    },
    // Sums of products of bytes that one instruction computes.
    FixUp {
        name: "dot_sums",
        guard: None,
        needed: |work| work.is_amdgpu(),
        run: |work| {
            dot_sums::fold(work.context, work.module);
            Ok(())
        },
    },
    // Each rewrite asks for its own guard.
    FixUp {
        name: "faults::rewrite",
        guard: None,
        needed: |work| work.is_amdgpu(),
        run: |work| {
            let (target, guards) = (work.input.target, work.input.guards);
            faults::rewrite(work.context, work.module, target, guards);
            Ok(())
        },
    },
    FixUp {
        name: "shared_blocks",
        guard: Some(Guard::SharedBlocks),
        needed: |work| work.is_amdgpu(),
        run: |work| shared_blocks::keep(work.context, work.module),
    },
    // Each feature asks for its own guard.
    FixUp {
        name: "faults::set_features",
        guard: None,
        needed: |work| work.is_amdgpu(),
        run: |work| {
            let (target, guards) = (work.input.target, work.input.guards);
            faults::set_features(work.context, work.module, target, guards);
            Ok(())
        },
    },
];

/// Runs those of `fixups` that are needed and whose guards are wanted. A debug build has LLVM
/// verify the module after each.
///
/// # Errors
/// Those of the fix-ups.
pub(crate) fn run(fixups: &[FixUp], work: &Work<'_, '_>) -> Result<(), Diagnostics> {
    for fixup in fixups {
        let is_wanted = fixup.guard.is_none_or(|guard| work.input.guards.has(guard));
        if is_wanted && (fixup.needed)(work) {
            (fixup.run)(work)?;
            if cfg!(debug_assertions) {
                codegen::verify(work.module, &format!("after {}", fixup.name))?;
            }
        }
    }
    Ok(())
}

impl Work<'_, '_> {
    fn is_amdgpu(&self) -> bool {
        matches!(self.input.target.arch, Arch::Amdgpu(_))
    }

    /// Returns true if the GPU has an instruction for each half of a barrier, and the kernels are
    /// ours.
    fn splits_barriers(&self) -> bool {
        let gpu = self.input.target.amdgpu();
        gpu.is_some_and(|gpu| gpu.split_barrier) && !self.is_ir
    }

    /// Returns true if lanes are hidden from the optimiser.
    fn hides_lanes(&self) -> bool {
        self.is_amdgpu() && self.input.optimization != Optimization::O0
    }

    /// Returns true if all addresses with 32-bit offsets point into buffers, whose length
    /// docs/abi.md limits.
    fn has_short_buffers(&self) -> bool {
        use spirv::Capability::{Kernel, PhysicalStorageBufferAddresses};
        let declarations = self.input.module.declarations();
        let physical = [Kernel, PhysicalStorageBufferAddresses];
        !self.is_ir && !physical.iter().any(|it| declarations.has_capability(*it))
    }
}
