//! Which windows of final code may be widened, and for what memory: [`splitbar_assembly`] does it.
//!
//! It is done on the text, since no pass of ours can reach machine instructions behind the
//! scheduler, and what guides the scheduler costs registers and is not kept by it.

use splitbar_assembly::amdgpu::late_windows::Ordered;
use splitbar_plan::backend::LateWindows;
use splitbar_plan::{AmdgpuStep, EntryPlan, Fence, FenceMemory, Step, Strategy, Target};

/// What the barriers of a kernel order; `None` where its code stays as it is. A kernel with full
/// barriers that shall stay whole is one, since machine code does not tell them from pairs, and so
/// is one whose pairs were fused.
pub(crate) fn ordered(target: &Target, plan: &EntryPlan, wanted: LateWindows) -> Option<Ordered> {
    target.amdgpu().filter(|gpu| gpu.split_barrier)?;
    let is = |kinds: &[Step]| any(plan, &|step| kinds.contains(step));
    let full = is(&[Step::Amdgpu(AmdgpuStep::WorkgroupBarrier)]);
    let fused = plan
        .pairs
        .iter()
        .any(|pair| pair.strategy == Strategy::Fused);
    let has_any = is(&[
        Step::Amdgpu(AmdgpuStep::Signal),
        Step::Amdgpu(AmdgpuStep::WaitSignal),
    ]) || full;
    if !has_any || fused || full && !wanted.full_barriers {
        return None;
    }
    // A fence of an OpMemoryBarrier counts for the barriers beside it.
    let beyond_local = |step: &Step| match step {
        Step::Fence(Fence { memory, .. }) => *memory != FenceMemory::Local,
        _ => false,
    };
    Some(if wanted.all_memory || any(plan, &beyond_local) {
        Ordered::All
    } else {
        Ordered::Local
    })
}

/// Returns true if something holds for a step of the plan.
fn any(plan: &EntryPlan, holds: &dyn Fn(&Step) -> bool) -> bool {
    let places = [
        &plan.at_instruction,
        &plan.before_instruction,
        &plan.at_return,
    ];
    let lists = places.into_iter().flat_map(|place| place.values());
    let mut lists = lists.chain([&plan.at_entry, &plan.at_end]);
    lists.any(|steps| any_of(steps, holds))
}

fn any_of(steps: &[Step], holds: &dyn Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| match step {
        Step::IfFirst(steps) | Step::IfOutstanding(steps) => any_of(steps, holds),
        step => holds(step),
    })
}
