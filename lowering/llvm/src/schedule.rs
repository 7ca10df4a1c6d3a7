//! Chooses between two of LLVM's schedulers on AMDGPU, by what comes out.
//!
//! The default one puts loads early and fills the registers that cost no wave: below that number it
//! sees no reason to save any. Waves of other kernels take what is left, so a kernel that gets by
//! with less is better beside others. LLVM's scheduler `iterative-minreg` saves registers, and
//! sometimes puts every load right in front of its use. Its code is taken where it has
//!
//! - fewer spilled registers; or as many of them, no more waits for memory, and fewer registers in
//!   a kernel, in the units in which hardware gives them out,
//! - in no kernel more registers, and no more instructions.
//!
//! To compare them the code is generated twice, which takes most of a compilation's time. So it is
//! tried only where it was seen to gain ([`Figures::may_save`]): in small code without loops that
//! has a few units of registers, and where registers are spilled. In other loops each shorter way
//! from a load to its wait would cost time in every iteration.
//!
//! Both are function attributes, so nothing is set for the process. Kernels with windows are left
//! alone: how the default scheduler keeps them open is what the tests measure.

use crate::codegen;
use crate::debug;
use crate::ffi::{self, Func};
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_assembly::amdgpu::{self, metadata};
use splitbar_assembly::{Flow, Function};
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_plan::backend::LowerInput;
use splitbar_plan::target::residency::Residency;
use splitbar_plan::{EntryPlan, Optimization};

/// The function attribute that names a scheduler.
const ATTRIBUTE: &str = "amdgpu-sched-strategy";
/// The scheduler that saves registers.
const SAVING: &str = "iterative-minreg";
/// Code with more instructions is not generated a second time (docs/code_generation.md,
/// "Schedules").
const MOST_INSTRUCTIONS: usize = 400;
/// Code in which a kernel has more units of registers is not generated a second time.
const MOST_UNITS: u32 = 4;

/// What code has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Figures {
    /// Vector registers of each kernel, in units of the hardware.
    units: Vec<u32>,
    /// Registers that are spilled.
    spills: u32,
    /// Instructions.
    instructions: usize,
    /// Instructions that wait for memory.
    waits: usize,
    /// True if a branch leads back.
    loops: bool,
}

impl Figures {
    /// Those of `assembly`, of which a wave gets `granule` registers at once.
    fn parse(assembly: &str, granule: u32) -> Figures {
        let mut figures = Figures::default();
        for kernel in metadata::kernels(assembly) {
            let units = kernel.vector_registers.div_ceil(granule);
            figures.units.push(units);
            figures.spills += kernel.spilled_vector_registers + kernel.spilled_scalar_registers;
        }
        for function in amdgpu::parse(assembly) {
            let waits = function.instructions.iter().filter(|instruction| {
                let name = &instruction.mnemonic;
                name.starts_with("s_waitcnt") || name.starts_with("s_wait_")
            });
            figures.instructions += function.instructions.len();
            figures.waits += waits.count();
            figures.loops |= goes_back(&function);
        }
        figures
    }

    /// Returns true if the other scheduler may save registers of code that has these figures.
    fn may_save(&self) -> bool {
        let small = !self.loops
            && self.instructions <= MOST_INSTRUCTIONS
            && self.units.iter().any(|units| *units > 1)
            && self.units.iter().all(|units| *units <= MOST_UNITS);
        small || self.spills > 0
    }

    /// Returns true if code with these figures saves registers against `other`, for nothing. A
    /// register that is spilled costs more than a wait.
    fn saves(&self, other: &Figures) -> bool {
        let kernels = || self.units.iter().zip(&other.units);
        let keeps = self.units.len() == other.units.len()
            && kernels().all(|(new, old)| new <= old)
            && self.instructions <= other.instructions;
        let registers = self.spills == other.spills
            && self.waits <= other.waits
            && kernels().any(|(new, old)| new < old);
        keeps && (registers || self.spills < other.spills)
    }
}

/// Returns true if a branch of `function` leads back.
fn goes_back(function: &Function) -> bool {
    let mut instructions = function.instructions.iter().enumerate();
    instructions.any(|(position, instruction)| match &instruction.flow {
        Flow::Jump(targets) | Flow::Branch(targets) => targets.iter().any(|to| *to <= position),
        Flow::Next | Flow::End => false,
    })
}

/// Names the scheduler that saves registers in all functions of `module`, if its code is better.
/// Gives the assembly of the choice; none where nothing was chosen: at -O0 and -O1, for kernels
/// with windows, and on GPUs whose units of registers are not known. To be called on AMDGPU, last
/// of all.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason.
pub(crate) fn choose(
    context: &Context,
    module: &Module<'_>,
    input: &LowerInput<'_>,
) -> Result<Option<String>, Diagnostics> {
    let (target, optimization) = (input.target, input.optimization);
    let functions: Vec<Func<'_>> = ffi::functions(ffi::module_ref(module))
        .into_iter()
        .filter(|function| function.has_body())
        .collect();
    let is_split = |plan: &EntryPlan| plan.pairs.iter().any(|pair| pair.strategy.is_split());
    let asked = |function: &Func<'_>| function.string_attribute_value(ATTRIBUTE).is_some();
    let (Some(first), Some(residency)) = (input.plans().next(), Residency::for_target(target))
    else {
        return Ok(None);
    };
    if !matches!(optimization, Optimization::O2 | Optimization::O3)
        || input.plans().any(is_split)
        || functions.iter().any(asked)
    {
        return Ok(None);
    }
    let granule = residency.granule(first.wave_size).ok_or_else(|| {
        let (size, name) = (first.wave_size, target.name);
        Diagnostic::bug(format!("waves of {size} on {name} get no registers"))
    })?;
    let generate = || -> Result<String, Diagnostics> {
        let bitcode = debug::without_lines(module).write_bitcode_to_memory();
        codegen::assembly(bitcode.as_slice(), target, optimization, false)
    };
    let usual = generate()?;
    let figures = Figures::parse(&usual, granule);
    if !figures.may_save() {
        return Ok(Some(usual));
    }
    for function in &functions {
        function.string_attribute(context, ATTRIBUTE, SAVING);
    }
    let saving = generate()?;
    if Figures::parse(&saving, granule).saves(&figures) {
        return Ok(Some(saving));
    }
    for function in &functions {
        function.remove_string_attribute(ATTRIBUTE);
    }
    Ok(Some(usual))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn figures(registers: u32, lines: &[&str]) -> Figures {
        let lines: Vec<String> = lines.iter().map(|line| format!("\t{line}\n")).collect();
        let text = format!(
            "\t.type k,@function\nk:\n.LBB0_1:\n{}.Lfunc_end0:\n\ts_code_end\n\
             amdhsa.kernels:\n  - .symbol: k.kd\n    .vgpr_count: {registers}\n    \
             .vgpr_spill_count: 0\n    .sgpr_spill_count: 0\n",
            lines.concat()
        );
        Figures::parse(&text, 8)
    }

    const ADD: &str = "v_add_f32_e32 v0, v1, v2";
    const WAIT: &str = "s_waitcnt vmcnt(0)";
    const BACK: &str = "s_cbranch_scc0 .LBB0_1";

    #[test]
    fn figures_are_read_from_the_assembly() {
        let expected = Figures {
            units: vec![3],
            spills: 0,
            instructions: 2,
            waits: 1,
            loops: false,
        };
        assert_eq!(figures(17, &[WAIT, ADD]), expected);
        assert!(figures(17, &[WAIT, BACK]).loops);
    }

    #[test]
    fn registers_are_saved_for_nothing_or_not_at_all() {
        let usual = figures(17, &[ADD, WAIT]);
        assert!(figures(16, &[WAIT, ADD]).saves(&usual));
        assert!(!figures(17, &[WAIT, ADD]).saves(&usual));
        assert!(!figures(16, &[WAIT, ADD, ADD]).saves(&usual));
        assert!(!figures(16, &[WAIT, WAIT]).saves(&usual));
        let spilling = Figures {
            spills: 1,
            ..usual.clone()
        };
        assert!(usual.saves(&spilling));
        assert!(!spilling.saves(&usual));
    }

    #[test]
    fn code_is_generated_again_where_that_may_gain() {
        assert!(figures(9, &[ADD, WAIT]).may_save());
        assert!(!figures(8, &[ADD, WAIT]).may_save(), "one unit");
        assert!(!figures(33, &[ADD, WAIT]).may_save(), "many registers");
        assert!(!figures(9, &[ADD, BACK]).may_save(), "a loop");
        assert!(!figures(9, &[ADD; MOST_INSTRUCTIONS + 1]).may_save());
        let spilling = Figures {
            spills: 1,
            ..figures(99, &[ADD, BACK])
        };
        assert!(spilling.may_save());
    }
}
