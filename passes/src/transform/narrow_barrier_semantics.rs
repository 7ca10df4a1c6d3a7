//! Takes classes of memory out of the semantics of the workgroup's barriers that order nothing of
//! them: no two invocations can conflict there around the barrier
//! ([`crate::analysis::phases::Narrowed`]). Other compilers then wait for less, too.
//!
//! Buffers and images that are not decorated Aliased are taken for separate memory (SPIR-V 2.18.2);
//! with the value `aliased` any two may be the same.
//!
//! In entry functions; functions with barriers are inlined first.

use super::edit::Edit;
use super::inlined::{entries, inlined};
use super::operands::{self, CLASSES};
use super::registry::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::cfg::Cfg;
use crate::analysis::pairing::{Pairing, SiteKind};
use crate::analysis::phases::{Aliasing, Narrowed};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, Module, Semantics, SpecValues};
use spirv::Capability;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    if !module
        .instructions()
        .any(|inst| SiteKind::from_inst(inst).is_some())
    {
        return Ok(None);
    }
    let aliasing = match options {
        PassOptions::Aliased => Aliasing::Possible,
        _ => Aliasing::Declared,
    };
    inlined(module, declarations, |declarations| {
        let mut diagnostics = Diagnostics::new();
        let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
        let mut edit = Edit::new(declarations);
        for (entry, function) in entries(declarations) {
            let pairing = Pairing::analyse(declarations, &constants, entry, &mut diagnostics);
            if diagnostics.has_errors() {
                return Err(diagnostics);
            }
            let cfg = Cfg::analyze(declarations.module, function);
            let narrowed =
                Narrowed::analyze(declarations, &constants, function, &cfg, &pairing, aliasing)?;
            write(&mut edit, &pairing, &narrowed)?;
        }
        edit.finish()
    })
}

/// Gives each barrier that was narrowed its new semantics.
fn write(
    edit: &mut Edit<'_, '_>,
    pairing: &Pairing,
    narrowed: &Narrowed,
) -> Result<(), Diagnostics> {
    // OpenCL gives each half an order, also without memory (cl_intel_split_work_group_barrier).
    let is_opencl = edit.declarations.has_capability(Capability::Kernel);
    for site in &pairing.sites {
        let semantics = narrowed.semantics(site);
        if semantics == site.semantics {
            continue;
        }
        let inst = edit.module().at(site.offset);
        let known = inst.and_then(|inst| {
            let fence = operands::fence(edit.declarations, inst)?;
            Some((
                inst.op()?,
                operands::execution(edit.declarations, inst)?,
                fence,
            ))
        });
        let Some((op, execution, fence)) = known else {
            let lost = Diagnostic::bug("a barrier that was narrowed has no constant operands");
            return Err(lost.at_word(site.offset).into());
        };
        let is_half = matches!(site.kind, SiteKind::Arrive | SiteKind::Wait);
        let bits = if semantics == Semantics::NONE && !(is_half && is_opencl) {
            0
        } else {
            fence.bits & !CLASSES | semantics.classes.bits()
        };
        let fence = operands::Fence { bits, ..fence };
        let words = operands::barrier_operands(edit, execution, fence)?;
        edit.replace(site.offset, op, &words)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::analysis::testing::{accessing, assemble, declared};
    use pretty_assertions::assert_eq;

    /// Buffers `a` (set 0, binding 0), `again` (the same), `b` (binding 1), `any` (binding 2,
    /// Aliased), and the Workgroup variables `one` and `two`.
    const GLOBALS: &str = "
        OpCapability 4
        OpDecorate %a 34 0
        OpDecorate %a 33 0
        OpDecorate %again 34 0
        OpDecorate %again 33 0
        OpDecorate %b 34 0
        OpDecorate %b 33 1
        OpDecorate %any 34 0
        OpDecorate %any 33 2
        OpDecorate %any 20
        %shared_ptr = OpTypePointer 4 %uint
        %one = OpVariable %shared_ptr 4
        %two = OpVariable %shared_ptr 4
        %buffer_ptr = OpTypePointer 12 %uint
        %a = OpVariable %buffer_ptr 12
        %again = OpVariable %buffer_ptr 12
        %b = OpVariable %buffer_ptr 12
        %any = OpVariable %buffer_ptr 12
        %everything = OpConstant %uint 328
        %of_buffers = OpConstant %uint 72
        %device = OpConstant %uint 1
        %everything_released = OpConstant %uint 324
        %everything_acquired = OpConstant %uint 322
    ";

    const ALL: u32 = 328;
    const BUFFERS: u32 = 72;
    const SHARED: u32 = 264;

    /// The semantics of the barriers of a body once it was narrowed; a line `r x` reads a
    /// variable and `w x` writes one.
    fn narrowed(body: &str, options: &PassOptions) -> Vec<u32> {
        narrowed_with(GLOBALS, body, options)
    }

    /// As [`narrowed`], with declarations of the caller's.
    fn narrowed_with(globals: &str, body: &str, options: &PassOptions) -> Vec<u32> {
        let lines = body
            .replace("barrier.all", "OpControlBarrier %group %group %everything")
            .replace(
                "barrier.device",
                "OpControlBarrier %group %device %everything",
            );
        let assembled = assemble(globals, &accessing(&lines));
        let (declarations, _) = declared(&assembled.module);
        let mut found = Diagnostics::new();
        let edited = run(&assembled.module, &declarations, options, &mut found).unwrap();
        let new = edited
            .as_ref()
            .map_or(&assembled.module, |edited| &edited.module);
        let (again, constants) = declared(new);
        assert!(
            run(new, &again, options, &mut found).unwrap().is_none(),
            "{body}: a second run changes it"
        );
        let barriers = new.instructions().filter(|inst| {
            let kind = SiteKind::from_inst(*inst);
            kind.is_some_and(|kind| kind != SiteKind::MemoryBarrier)
        });
        barriers
            .map(|inst| constants.as_u32(inst.id(2).unwrap()).unwrap())
            .collect()
    }

    fn left(body: &str) -> Vec<u32> {
        narrowed(body, &PassOptions::None)
    }

    #[test]
    fn memory_without_conflicts_is_not_named() {
        assert_eq!(left("r a; w one; barrier.all; r one; w b"), [SHARED]);
        assert_eq!(left("w a; barrier.all; r a"), [BUFFERS]);
        assert_eq!(left("r a; w one; barrier.all; r one; w a"), [ALL]);
        assert_eq!(left("r a; r one; barrier.all; r one; r a"), [0]);
        // The end of the kernel makes what it wrote known, without any barrier.
        assert_eq!(left("w a; barrier.all"), [0]);
    }

    #[test]
    fn what_may_be_one_memory_is() {
        assert_eq!(left("r a; barrier.all; w again"), [BUFFERS]);
        assert_eq!(left("r a; barrier.all; w any"), [BUFFERS]);
        let aliased = |body| narrowed(body, &PassOptions::Aliased);
        assert_eq!(aliased("r a; barrier.all; w b"), [BUFFERS]);
        assert_eq!(aliased("r a; barrier.all; r b"), [0]);
    }

    #[test]
    fn of_two_barriers_one_goes_on_ordering() {
        let both = "w a; w one; barrier.all; r one; barrier.all; r a";
        assert_eq!(left(both), [SHARED, BUFFERS]);
        let each = "w a; barrier.all; r a; w b; barrier.all; r b";
        assert_eq!(left(each), [BUFFERS, BUFFERS]);
    }

    #[test]
    fn both_halves_of_a_pair_lose_a_class() {
        let arrive = "OpControlBarrierArriveINTEL %group %group %everything_released";
        let wait = "OpControlBarrierWaitINTEL %group %group %everything_acquired";
        let pair = format!("r a; w one; {arrive}; r b; {wait}; r one");
        assert_eq!(left(&pair), [260, 258]);
        // What stands in the window of the pair before is not ordered by it.
        let two = format!("{arrive}; w a; {wait}; {arrive}; {wait}; r a");
        assert_eq!(left(&two), [0, 0, 68, 66]);
        // A barrier in a window orders what stands there, and the pair does not.
        let inside = format!("r b; {arrive}; r a; barrier.all; {wait}; w a; w b");
        assert_eq!(left(&inside), [68, ALL, 66]);
    }

    #[test]
    fn halves_keep_their_order_in_opencl() {
        let globals = format!("OpCapability 6\n{GLOBALS}");
        let arrive = "OpControlBarrierArriveINTEL %group %group %everything_released";
        let wait = "OpControlBarrierWaitINTEL %group %group %everything_acquired";
        let body = format!("r a; {arrive}; {wait}; r a; barrier.all; r one");
        let options = PassOptions::None;
        assert_eq!(narrowed(&body, &options), [0, 0, 0]);
        assert_eq!(narrowed_with(&globals, &body, &options), [4, 2, 0]);
    }

    #[test]
    fn loops_lead_around_to_the_barrier() {
        let looped = |body: &str| {
            format!(
                "OpBranch %head; %head = OpLabel; OpLoopMerge %end %next 0; \
                 OpBranchConditional %true %work %end; %work = OpLabel; {body}; OpBranch %next; \
                 %next = OpLabel; OpBranch %head; %end = OpLabel; w b"
            )
        };
        let tile = "r a; w one; barrier.all; r one; barrier.all";
        assert_eq!(left(&looped(tile)), [SHARED, SHARED]);
        // What is written in one turn is read in the next: one of the two keeps it.
        let carried = "r a; w one; barrier.all; r one; w a; barrier.all";
        assert_eq!(left(&looped(carried)), [ALL, ALL]);
        assert_eq!(
            left(&looped("w a; barrier.all; r one; barrier.all; r a")),
            [0, BUFFERS]
        );
    }

    #[test]
    fn what_an_atomic_operation_publishes_stays_ordered() {
        let count = "%c = OpAtomicIAdd %uint %b %device %release %u1";
        assert_eq!(left(&format!("w a; barrier.all; {count}")), [BUFFERS]);
        assert_eq!(left(&format!("{count}; barrier.all; r a")), [BUFFERS]);
        // The fence of the device may be the one that the atomic operation counts on.
        let wide = format!("w a; barrier.device; r one; barrier.all; {count}");
        assert_eq!(left(&wide), [ALL, SHARED]);
        assert_eq!(left("r a; w one; barrier.device; r one"), [SHARED]);
    }

    #[test]
    fn memory_barriers_stay() {
        let fence = "OpMemoryBarrier %device %everything";
        assert_eq!(left(&format!("w a; {fence}; barrier.all; r b")), [0]);
        assert_eq!(left(&format!("w a; {fence}; barrier.all; r a")), [BUFFERS]);
    }
}
