//! The steps of the plans in kernels that somebody else wrote: state at the entry, steps in front
//! of each barrier call, which then goes.

use super::IrModule;
use super::arguments::arguments;
use super::calls;
use super::kernels::IrKernel;
use crate::emit::Result;
use crate::emit::attributes::target_features;
use crate::emit::context::KernelContext;
use crate::emit::function::FunctionEmitter;
use crate::emit::module::{self, Emission};
use crate::ffi::{self, Block, Func, Opcode, Value};
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_layout::abi::KernelAbi;
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_plan::EntryPlan;
use splitbar_plan::backend::{DebugLines, LowerInput, LowerKernel};
use splitbar_plan::target::Arch;

/// Writes the steps of all plans into the kernels of `module`, which is that of `ir`.
pub(crate) fn insert<'c>(
    context: &'c Context,
    module: &Module<'c>,
    lowering: &LowerInput<'_>,
    ir: &IrModule,
    diagnostics: &mut Diagnostics,
) -> Vec<KernelAbi> {
    if lowering.lines != DebugLines::None {
        module.strip_debug_info();
    }
    module::with(context, module, lowering, |emission| {
        let mut abis = Vec::new();
        for LowerKernel { kernel, plan } in lowering.kernels {
            let shared_bytes = kernel.shared_bytes;
            let kernel = ir.kernels.iter().find(|kernel| kernel.name == plan.entry);
            let done = kernel
                .ok_or_else(|| missing(&plan.entry))
                .and_then(|kernel| in_kernel(emission, shared_bytes, plan, kernel));
            match done {
                Ok(abi) => abis.push(abi),
                Err(problem) => diagnostics.push(*problem),
            }
        }
        let functions = ffi::functions(emission.b.module()).into_iter();
        let barriers = functions.filter(|function| calls::known(*function).is_some());
        barriers.for_each(ffi::delete_unused);
        abis
    })
}

fn missing(what: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::bug(format!("`{what}` does not exist")))
}

fn in_kernel<'e, 'c>(
    emission: &mut Emission<'e, 'c, '_>,
    shared_bytes: u32,
    plan: &EntryPlan,
    kernel: &IrKernel,
) -> Result<KernelAbi> {
    let (b, target) = (emission.b, emission.module.target);
    let function = ffi::named_function(b.module(), &kernel.name);
    let function = function.ok_or_else(|| missing(&kernel.name))?;
    let instructions = function.instructions();
    if instructions.len() != kernel.words.len() {
        return Err(Box::new(Diagnostic::bug(format!(
            "the instructions of `{}` have changed since it was read",
            kernel.name
        ))));
    }
    attributes(emission, plan, function);
    let first = function.blocks().first().copied();
    let first = first.ok_or_else(|| missing("the first block"))?;
    let prologue = function.append(b.context());
    let start = function.append(b.context());
    start.move_before(first);
    prologue.move_before(start);
    let shared = KernelContext::new(emission.module.declarations, plan);
    let entry = kernel.words.first().copied().flatten();
    let entry = entry.ok_or_else(|| missing("the first instruction"))?;
    let mut e = emission.emitter_at(&shared, function, &kernel.name, entry, prologue, start);
    let done = (|| {
        if let Some(scope) = e.scope {
            for (instruction, word) in instructions.iter().zip(&kernel.words) {
                if let Some(word) = word {
                    instruction.set_line(b.context(), word.next().get(), scope);
                }
            }
        }
        move_slots(&e, first, prologue);
        e.b.position(start);
        e.set_barriers_up()?;
        e.b.br(first);
        for number in &kernel.calls {
            let (call, word) = (instructions[*number], kernel.words[*number]);
            let word = word.ok_or_else(|| missing("the place of a call"))?;
            e.b.at.set(word);
            let steps = plan.at_instruction.get(&word);
            let steps = steps.ok_or_else(|| e.b.internal("a call has no place in the plan"))?;
            let tail = call.block();
            split_before(&e, function, call);
            e.locate(word);
            e.steps(steps)?;
            e.b.br(tail);
            call.erase();
        }
        for (number, (instruction, word)) in instructions.iter().zip(&kernel.words).enumerate() {
            if kernel.calls.binary_search(&number).is_ok() {
                continue; // it is gone
            }
            let Some(word) = word else {
                // Control never comes here, and nothing defines what is called.
                if calls::of(*instruction).is_some_and(|known| !known.is_of_target()) {
                    instruction.erase();
                }
                continue;
            };
            if instruction.opcode() == Some(Opcode::LLVMRet) {
                let steps = plan.at_return.get(word).map_or(&[][..], Vec::as_slice);
                e.b.at.set(*word);
                // What a wave does at its end belongs to no barrier.
                e.locate(*word);
                end(&mut e, function, *instruction, steps)?;
            }
        }
        e.wave_end()
    })();
    emission.recycle(e);
    done?;
    Ok(KernelAbi {
        entry: kernel.name.clone(),
        symbol: kernel.name.clone(),
        workgroup_size: plan.workgroup_size,
        shared_memory_bytes: shared_bytes,
        dynamic_shared_bytes: plan.dynamic_shared_bytes,
        arguments: arguments(b.module(), function, &kernel.name, &target.arch)?,
        form: emission.form.clone(),
        resources: Vec::new(),
        combined_image_samplers: Vec::new(),
        prints: Default::default(),
    })
}

/// What the kernel says of its launch: what the plan relies on, and no more that a value of the
/// launch is not asked for.
fn attributes<'c>(emission: &Emission<'_, 'c, '_>, plan: &EntryPlan, function: Func<'c>) {
    /// What the steps may need from the launch. LLVM finds out again what is not needed.
    const ASKED: &[&str] = &[
        "amdgpu-no-workitem-id-x",
        "amdgpu-no-workitem-id-y",
        "amdgpu-no-workitem-id-z",
        "amdgpu-no-implicitarg-ptr",
    ];
    let (b, target) = (emission.b, emission.module.target);
    let context = b.context();
    match (&target.arch, plan.workgroup_size) {
        (Arch::Amdgpu(_), size) => {
            for key in ASKED {
                function.remove_string_attribute(key);
            }
            if let Some(size) = size {
                let total: u64 = size.iter().map(|n| u64::from(*n)).product();
                let key = "amdgpu-flat-work-group-size";
                function.string_attribute(context, key, &format!("{total},{total}"));
                let parts = size.map(|n| ffi::meta_value(b.i32(n)));
                let node = ffi::meta_node(context, &parts);
                function.set_metadata(context, "reqd_work_group_size", node);
            }
            if let Some(own) = target_features(target, plan) {
                let key = "target-features";
                let given = function
                    .string_attribute_value(key)
                    .filter(|all| !all.is_empty());
                let all = given.map_or(own.clone(), |given| format!("{given},{own}"));
                function.string_attribute(context, key, &all);
            }
        }
        (Arch::Nvptx(_), Some([x, y, z])) => {
            function.string_attribute(context, "nvvm.reqntid", &format!("{x},{y},{z}"));
        }
        (Arch::Nvptx(_), None) => {}
    }
}

/// Stack slots of the first block go where they still are in the first.
fn move_slots<'c>(e: &FunctionEmitter<'_, 'c, '_>, first: Block<'c>, prologue: Block<'c>) {
    for instruction in first.instructions() {
        let is_slot = instruction.opcode() == Some(Opcode::LLVMAlloca)
            && instruction
                .operands()
                .iter()
                .all(|count| count.is_constant());
        if is_slot {
            e.b.raw().position_before_terminator(prologue);
            instruction.move_to(e.b.raw());
        }
    }
}

/// Moves what stands before `call` in its block into one of its own, where the builder is then.
/// What follows keeps the block, so that phis behind it need no change.
fn split_before<'c>(e: &FunctionEmitter<'_, 'c, '_>, function: Func<'c>, call: Value<'c>) {
    let tail = call.block();
    let head = function.append(e.b.context());
    head.move_before(tail);
    for block in tail.predecessors() {
        block.redirect(tail, head);
    }
    e.b.position(head);
    while let Some(instruction) = tail.first_instruction()
        && instruction != call
    {
        instruction.move_to(e.b.raw());
    }
}

/// What stands before a return, and where a kernel whose waves have something to do at their end
/// goes instead.
fn end<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    function: Func<'c>,
    instruction: Value<'c>,
    steps: &[splitbar_plan::Step],
) -> Result<()> {
    if steps.is_empty() && e.end.is_none() {
        return Ok(());
    }
    split_before(e, function, instruction);
    let tail = instruction.block();
    e.steps(steps)?;
    match e.end {
        Some(end) => {
            e.b.br(end);
            e.b.position(tail);
            instruction.erase();
            e.b.raw().unreachable();
        }
        None => {
            e.b.br(tail);
        }
    }
    Ok(())
}
