//! Asynchronous marks of any LLVM module: what has no effect is taken out, before functions are
//! inlined into each other.
//!
//! "Implementation notes" of LLVM's AMDGPU Asynchronous Operations: a mark that no later wait of
//! its function counts, and a wait that can never block, do nothing by themselves; but once a
//! callee is inlined its marks stand among the caller's, and make the caller wait for more. The
//! groups of PTX (cp.async.commit_group) are the same but for their sequence, which belongs to the
//! invocation: there a call may make and wait for some, and so may the callers of a function.

use crate::codegen;
use inkwell::context::Context;
use inkwell::values::{CallSiteValue, FunctionValue, InstructionValue, Operand};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::marks::{Tick, prune};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::BlockMap;

/// LLVM's number of the calling convention of NVPTX kernels.
const PTX_KERNEL: u32 = 71;

/// What was taken out of a module.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Eliminated {
    /// Marks that no wait counts.
    pub marks: usize,
    /// Waits that never block.
    pub waits: usize,
}

/// Takes the marks and waits without effect out of every function of the module in `bitcode`; gives
/// the module and what was taken out. To be called before the inliner. The bytes must be trusted:
/// LLVM reads them in this process, and takes a module that its verifier accepts for one of a
/// compiler.
///
/// # Errors
/// `LlvmFailed` when `bitcode` is none that this LLVM reads.
pub fn eliminate(bitcode: &[u8]) -> Result<(Vec<u8>, Eliminated), Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let module = codegen::parse(&context, bitcode)?;
        let mut eliminated = Eliminated::default();
        for function in module.get_functions() {
            in_function(function, &mut eliminated);
        }
        let bytes = module.write_bitcode_to_memory().as_slice().to_vec();
        Ok((bytes, eliminated))
    })
}

fn in_function(function: FunctionValue<'_>, eliminated: &mut Eliminated) {
    let blocks = function.get_basic_blocks();
    let mut edges = Vec::new();
    let mut found = BlockMap::default();
    let mut of_invocation = false;
    for (index, block) in blocks.iter().enumerate() {
        let mut in_block = Vec::new();
        for instruction in block.get_instructions() {
            if let Some(known) = tick(instruction) {
                of_invocation |= known.of_invocation;
                in_block.push((known.tick, instruction));
            }
        }
        found.push(in_block);
        let operands = block.get_terminator().into_iter().flat_map(|end| {
            (0..end.get_num_operands()).filter_map(move |operand| end.get_operand(operand))
        });
        for operand in operands {
            if let Operand::Block(target) = operand
                && let Some(target) = blocks.iter().position(|block| *block == target)
            {
                edges.push((index, target));
            }
        }
    }
    if !of_invocation {
        // Calls are not in the sequence of a function body.
        for in_block in found.values_mut() {
            in_block.retain(|(tick, _)| *tick != Tick::Unknown);
        }
    } else if function.get_call_conventions() != PTX_KERNEL {
        return; // the caller may count every mark, and have made some before every wait
    }
    if found.values().all(Vec::is_empty) {
        return;
    }
    let ticks: BlockMap<Vec<Tick>> = found
        .values()
        .map(|in_block| in_block.iter().map(|(tick, _)| *tick).collect())
        .collect();
    let pruned = prune(&Cfg::from_edges(blocks.len(), &edges), &ticks);
    eliminated.marks += pruned.marks.len();
    eliminated.waits += pruned.waits.len();
    for (block, index) in pruned.marks.into_iter().chain(pruned.waits) {
        let place = found.get(block).and_then(|in_block| in_block.get(index));
        if let Some((_, instruction)) = place {
            instruction.erase_from_basic_block();
        }
    }
}

/// What a call does to the sequence of marks.
struct Known {
    tick: Tick,
    /// The sequence belongs to the invocation, not to the function.
    of_invocation: bool,
}

fn tick(instruction: InstructionValue<'_>) -> Option<Known> {
    let call = CallSiteValue::try_from(instruction).ok()?;
    let known = |tick, of_invocation| {
        Some(Known {
            tick,
            of_invocation,
        })
    };
    let callee = call.get_called_fn_value();
    let name = callee.map(|callee| callee.get_name().to_string_lossy().into_owned());
    match name.as_deref() {
        Some("llvm.amdgcn.asyncmark") => known(Tick::Mark, false),
        Some("llvm.amdgcn.wait.asyncmark") => known(Tick::Wait(count(instruction)), false),
        Some("llvm.nvvm.cp.async.commit.group") => known(Tick::Mark, true),
        Some("llvm.nvvm.cp.async.wait.group") => known(Tick::Wait(count(instruction)), true),
        Some("llvm.nvvm.cp.async.wait.all") => known(Tick::Unknown, true),
        Some(name) if name.starts_with("llvm.") => None,
        // A function, a pointer to one, or inline assembly.
        Some(_) | None => known(Tick::Unknown, false),
    }
}

/// The constant that a wait takes; one that is larger than anything that is counted stays where it
/// is.
fn count(wait: InstructionValue<'_>) -> u8 {
    let operand = wait.get_operand(0).and_then(Operand::value);
    let constant = match operand {
        Some(value) if value.is_int_value() => value.into_int_value().get_zero_extended_constant(),
        Some(_) | None => None,
    };
    constant.map_or(0, |count| u8::try_from(count).unwrap_or(u8::MAX))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use inkwell::memory_buffer::MemoryBuffer;

    fn eliminated(text: &str) -> Eliminated {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "module");
        let module = context.create_module_from_ir(buffer).unwrap();
        let bitcode = module.write_bitcode_to_memory();
        let (again, eliminated) = eliminate(bitcode.as_slice()).unwrap();
        // Once is enough, and the result can be read back.
        assert_eq!(super::eliminate(&again).unwrap().1, Eliminated::default());
        eliminated
    }

    #[test]
    fn the_callee_of_the_document_loses_its_mark() {
        let text = "
            declare void @llvm.amdgcn.asyncmark()
            declare void @llvm.amdgcn.wait.asyncmark(i16 immarg)
            define void @foo() {
              call void @llvm.amdgcn.asyncmark()
              ret void
            }
            define void @bar(i1 %again) {
            entry:
              call void @llvm.amdgcn.wait.asyncmark(i16 3)
              br label %turn
            turn:
              call void @llvm.amdgcn.asyncmark()
              call void @llvm.amdgcn.asyncmark()
              call void @foo()
              call void @llvm.amdgcn.wait.asyncmark(i16 1)
              br i1 %again, label %turn, label %end
            end:
              call void @llvm.amdgcn.wait.asyncmark(i16 1)
              ret void
            }";
        assert_eq!(eliminated(text), Eliminated { marks: 1, waits: 2 });
    }

    #[test]
    fn groups_of_ptx_belong_to_the_invocation() {
        let text = |kernel: &str| {
            format!(
                "declare void @llvm.nvvm.cp.async.commit.group()
                 declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)
                 define {kernel} void @f() {{
                   call void @llvm.nvvm.cp.async.wait.group(i32 1)
                   call void @llvm.nvvm.cp.async.commit.group()
                   ret void
                 }}"
            )
        };
        assert_eq!(eliminated(&text("")), Eliminated::default());
        let kernel = eliminated(&text("ptx_kernel"));
        assert_eq!(kernel, Eliminated { marks: 1, waits: 1 });
    }
}
