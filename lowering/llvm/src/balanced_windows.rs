//! Leaves work for the first loads after a barrier. If a window holds all independent work, nothing
//! hides the latency of these loads: `s_barrier_wait`, `ds_load`, `s_wait_dscnt`. A wait may always
//! move up past work that its barrier does not order. So the wait of such a window moves up until
//! enough work for the latency follows it, but past at most half of the window. The scheduler then
//! starts the loads right after the wait.

use crate::ffi::{self, Block, Func, Opcode, RawBuilder, Value};
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_plan::Target;
use splitbar_plan::target::timing::Timing;

/// Cycles of a load of workgroup memory that one instruction hides: the next one that depends on it
/// cannot start earlier, and other waves issue between the two.
const CYCLES: u32 = 2;

/// The address space of workgroup memory (LLVM AMDGPUUsage, "Address Spaces").
const WORKGROUP: u32 = 3;

/// Moves the waits of all functions. To be called when the optimiser has run, on GPUs whose
/// barriers are split.
pub(crate) fn balance(context: &Context, module: &Module<'_>, target: &Target) {
    // No code depends on figures that are taken from another GPU.
    let Some(timing) = Timing::for_target(target).filter(|timing| !timing.estimated) else {
        return;
    };
    let builder = RawBuilder::new(context);
    for function in ffi::functions(ffi::module_ref(module)) {
        for block in Func::blocks(function) {
            balance_in(&builder, block, timing.shared.latency / CYCLES);
        }
    }
}

fn balance_in<'c>(builder: &RawBuilder<'c>, block: Block<'c>, enough: u32) {
    let instructions = block.instructions();
    let is = |at: usize, holds: &dyn Fn(Value<'c>) -> bool| {
        instructions.get(at).is_some_and(|one| holds(*one))
    };
    for wait in 0..instructions.len() {
        if !is(wait, &|one| calls(one, "llvm.amdgcn.s.barrier.wait")) {
            continue;
        }
        // The guards on both sides of the wait, and its fences, belong to it.
        let belongs = |one: Value<'c>| is_guard(one) || one.opcode() == Some(Opcode::LLVMFence);
        let first = (0..wait)
            .rev()
            .take_while(|at| is(*at, &is_guard))
            .last()
            .unwrap_or(wait);
        let end = (wait + 1..instructions.len())
            .find(|at| !is(*at, &belongs))
            .unwrap_or(instructions.len());
        if !loads_first(instructions.get(end..).unwrap_or_default()) {
            continue;
        }
        let window = (0..first).rev().take_while(|at| is(*at, &is_work)).count();
        let is_whole = first
            .checked_sub(window + 1)
            .is_some_and(|at| is(at, &is_guard));
        let passed = (enough as usize).min(if is_whole { window / 2 } else { window });
        let Some(place) = instructions.get(first - passed).filter(|_| passed > 0) else {
            continue;
        };
        builder.position_before(*place);
        for moved in instructions.get(first..end).unwrap_or_default() {
            moved.move_to(builder);
        }
    }
}

/// Returns true if the first accesses of workgroup memory in `rest` are loads.
fn loads_first(rest: &[Value<'_>]) -> bool {
    for one in rest {
        match one.opcode() {
            Some(Opcode::LLVMLoad) => {
                let pointer = one.operands().first().copied();
                if pointer.is_some_and(|pointer| pointer.ty().address_space() == WORKGROUP) {
                    return true;
                }
            }
            Some(Opcode::LLVMCall) if !is_work(*one) && !is_guard(*one) => return false,
            Some(Opcode::LLVMStore | Opcode::LLVMFence) => return false,
            _ => {}
        }
    }
    false
}

/// Returns true for an instruction that computes and touches no memory.
fn is_work(one: Value<'_>) -> bool {
    match one.opcode() {
        Some(
            Opcode::LLVMAdd
            | Opcode::LLVMSub
            | Opcode::LLVMMul
            | Opcode::LLVMUDiv
            | Opcode::LLVMSDiv
            | Opcode::LLVMURem
            | Opcode::LLVMSRem
            | Opcode::LLVMShl
            | Opcode::LLVMLShr
            | Opcode::LLVMAShr
            | Opcode::LLVMAnd
            | Opcode::LLVMOr
            | Opcode::LLVMXor
            | Opcode::LLVMFNeg
            | Opcode::LLVMFAdd
            | Opcode::LLVMFSub
            | Opcode::LLVMFMul
            | Opcode::LLVMFDiv
            | Opcode::LLVMICmp
            | Opcode::LLVMFCmp
            | Opcode::LLVMSelect
            | Opcode::LLVMTrunc
            | Opcode::LLVMZExt
            | Opcode::LLVMSExt
            | Opcode::LLVMFPToUI
            | Opcode::LLVMFPToSI
            | Opcode::LLVMUIToFP
            | Opcode::LLVMSIToFP
            | Opcode::LLVMFPTrunc
            | Opcode::LLVMFPExt
            | Opcode::LLVMBitCast
            | Opcode::LLVMFreeze
            | Opcode::LLVMGetElementPtr
            | Opcode::LLVMExtractElement
            | Opcode::LLVMInsertElement
            | Opcode::LLVMShuffleVector
            | Opcode::LLVMExtractValue
            | Opcode::LLVMInsertValue,
        ) => true,
        Some(Opcode::LLVMCall) => ARITHMETIC.iter().any(|name| calls(one, name)),
        _ => false, // memory, control, or an intrinsic that may touch either
    }
}

/// Beginnings of the names of intrinsics that only compute.
const ARITHMETIC: [&str; 12] = [
    "llvm.fma.",
    "llvm.fmuladd.",
    "llvm.fshl.",
    "llvm.fshr.",
    "llvm.umin.",
    "llvm.umax.",
    "llvm.smin.",
    "llvm.smax.",
    "llvm.minnum.",
    "llvm.maxnum.",
    "llvm.fabs.",
    "llvm.sqrt.",
];

/// Returns true for what keeps instructions on their side of a barrier, and for what keeps fences
/// apart.
fn is_guard(one: Value<'_>) -> bool {
    calls(one, "llvm.amdgcn.sched.barrier") || calls(one, "llvm.sideeffect")
}

/// Returns true for a call of a function whose name begins so.
fn calls(one: Value<'_>, name: &str) -> bool {
    one.opcode() == Some(Opcode::LLVMCall)
        && one
            .callee()
            .is_some_and(|callee| callee.name().starts_with(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::balance;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use splitbar_plan::Target;
    use std::fmt::Write;

    const DECLARATIONS: &str = "
declare void @llvm.amdgcn.s.barrier.signal(i32 immarg)
declare void @llvm.amdgcn.s.barrier.wait(i16 immarg)
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
";

    /// The numbers of additions in the window and after it, of `count` in the window before; `then`
    /// follows the barrier.
    fn balanced(target: &str, count: u32, then: &str) -> [usize; 2] {
        let mut text = format!(
            "{DECLARATIONS}
define i32 @f(i32 %x0, ptr addrspace(3) %p) {{
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.sched.barrier(i32 0)
"
        );
        for at in 0..count {
            writeln!(text, "  %x{} = add i32 %x{at}, {at}", at + 1).unwrap();
        }
        write!(
            text,
            "  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  fence syncscope(\"workgroup\") acquire
  {then}
  ret i32 %x{count}
}}
\0"
        )
        .unwrap();
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        balance(&context, &module, Target::by_name(target).unwrap());
        module.verify().unwrap();
        let text = module.print_to_string().to_string();
        let [window, rest] = ["call void @llvm.amdgcn.s.barrier.wait", "fence "].map(|mark| {
            let at = text.find(mark).unwrap();
            (
                text[..at].matches(" = add ").count(),
                text[at..].matches(" = add ").count(),
            )
        });
        // The fence goes with the wait.
        assert_eq!(window, rest);
        [window.0, window.1]
    }

    #[test]
    fn loads_after_a_barrier_have_work_that_hides_them() {
        let load = "%v = load i32, ptr addrspace(3) %p";
        let [window, rest] = balanced("gfx1201", 200, load);
        assert!(window > 100 && rest > 10 && window + rest == 200);
        assert_eq!(balanced("gfx1201", 8, load), [4, 4]);
        let store = "store i32 0, ptr addrspace(3) %p";
        assert_eq!(balanced("gfx1201", 200, store), [200, 0]);
        // Figures of this GPU are taken from others.
        assert_eq!(balanced("gfx1250", 200, load), [200, 0]);
    }
}
