//! Chooses between two of LLVM's schedulers on AMDGPU, by what comes out.
//!
//! The default one puts loads early and fills the registers that cost no wave: below that number it
//! sees no reason to save any. Waves of other kernels take what is left, so a kernel that gets by
//! with less is better beside others. LLVM's scheduler `iterative-minreg` saves registers, and
//! sometimes puts every load right in front of its use. Its code is taken where it has
//!
//! - fewer registers in a kernel, in the units in which hardware gives them out, and more in none,
//! - no more spills, instructions and waits for memory,
//! - no loop, or as many instructions between loads and the waits for them. Without a loop a wave
//!   loses some tens of cycles at the most; in a loop it would lose them in every iteration.
//!
//! Both are function attributes, so nothing is set for the process. Kernels with windows are left
//! alone: how the default scheduler keeps them open is what the tests measure.

use crate::codegen;
use crate::debug;
use crate::ffi::{self, Func};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::FileType;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::target::residency::Residency;
use splitbar_plan::{EntryPlan, Optimization, Target};
use std::collections::HashSet;

/// The function attribute that names a scheduler.
const ATTRIBUTE: &str = "amdgpu-sched-strategy";
/// The scheduler that saves registers.
const SAVING: &str = "iterative-minreg";
/// A module with more instructions than this has its code generated once.
const MOST_INSTRUCTIONS: usize = 4000;

/// What a kernel's code has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Figures {
    /// Vector registers of each kernel, in units of the hardware.
    registers: Vec<u32>,
    /// Registers that are spilled.
    spills: u32,
    /// Instructions.
    instructions: u32,
    /// Instructions that wait for memory.
    waits: u32,
    /// For every wait the instructions behind the last load in front of it, all together: what
    /// goes on while loads are in flight.
    covered: u32,
    /// Whether a branch leads back.
    loops: bool,
}

/// How instructions that load begin.
const LOADS: [&str; 9] = [
    "global_load",
    "buffer_load",
    "flat_load",
    "scratch_load",
    "image_",
    "s_load",
    "s_buffer_load",
    "ds_read",
    "ds_load",
];

impl Figures {
    /// Those of `assembly`, of which a wave gets `granule` registers at once.
    fn of(assembly: &str, granule: u32) -> Figures {
        let mut figures = Figures::default();
        let (mut since_load, mut labels) = (None, HashSet::new());
        for line in assembly.lines() {
            let number = |key: &str| {
                let rest = line.trim_start().strip_prefix(key)?;
                rest.trim().parse::<u32>().ok()
            };
            if let Some(registers) = number(".vgpr_count:") {
                figures.registers.push(registers.div_ceil(granule));
            } else if let Some(spilled) = number(".vgpr_spill_count:") {
                figures.spills += spilled;
            } else if let Some(spilled) = number(".sgpr_spill_count:") {
                figures.spills += spilled;
            } else if let Some(instruction) = line.strip_prefix('\t')
                && instruction.starts_with(|first: char| first.is_ascii_lowercase())
                && !instruction.starts_with("s_code_end")
            {
                let is = |kinds: &[&str]| kinds.iter().any(|it| instruction.starts_with(it));
                figures.instructions += 1;
                since_load = since_load.map(|since| since + 1);
                if is(&LOADS) {
                    since_load = Some(0);
                } else if is(&["s_waitcnt", "s_wait_"]) {
                    figures.waits += 1;
                    figures.covered += since_load.unwrap_or_default();
                } else if is(&["s_branch", "s_cbranch"]) {
                    let target = instruction.split_whitespace().nth(1);
                    figures.loops |= target.is_some_and(|target| labels.contains(target));
                }
            } else if let Some((label, _)) = line.split_once(':') {
                labels.insert(label);
            }
        }
        figures
    }

    /// Whether code with these figures saves registers against `other`, for nothing.
    fn saves(&self, other: &Figures) -> bool {
        let kernels = || self.registers.iter().zip(&other.registers);
        self.registers.len() == other.registers.len()
            && kernels().all(|(new, old)| new <= old)
            && kernels().any(|(new, old)| new < old)
            && self.spills <= other.spills
            && self.instructions <= other.instructions
            && self.waits <= other.waits
            && (!self.loops || self.covered >= other.covered)
    }
}

/// Names the scheduler that saves registers in all functions of `module`, if its code is better.
/// Gives the assembly of the choice; none where nothing was chosen. To be called on AMDGPU, last of
/// all.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason.
pub(crate) fn choose(
    context: &Context,
    module: &Module<'_>,
    target: &Target,
    plans: &[EntryPlan],
    optimization: Optimization,
) -> Result<Option<String>, Diagnostics> {
    let functions: Vec<Func<'_>> = ffi::functions(ffi::module_ref(module))
        .into_iter()
        .filter(|function| function.has_body())
        .collect();
    let is_split = |plan: &EntryPlan| plan.pairs.iter().any(|pair| pair.strategy.is_split());
    let asked = |function: &Func<'_>| function.string_attribute_value(ATTRIBUTE).is_some();
    if !matches!(optimization, Optimization::O2 | Optimization::O3)
        || plans.iter().any(is_split)
        || functions.iter().any(asked)
        || codegen::instructions(module)
            .nth(MOST_INSTRUCTIONS)
            .is_some()
    {
        return Ok(None);
    }
    let granule = Residency::of(target).and_then(|row| {
        let wave = plans.first()?.wave_size;
        let known = row.granules.iter().find(|(size, _)| *size == wave);
        known.map(|(_, granule)| *granule)
    });
    let granule = granule.unwrap_or(8).max(1);
    let generate = || -> Result<(String, Figures), Diagnostics> {
        let bitcode = debug::without_lines(module).write_bitcode_to_memory();
        let file = FileType::Assembly;
        let bytes = codegen::generate(bitcode.as_slice(), target, optimization, file, false)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\0').to_owned();
        let figures = Figures::of(&text, granule);
        Ok((text, figures))
    };
    let (usual, figures) = generate()?;
    if figures.registers.iter().all(|registers| *registers <= 1) {
        return Ok(Some(usual));
    }
    for function in &functions {
        function.string_attribute(context, ATTRIBUTE, SAVING);
    }
    let (saving, saved) = generate()?;
    if saved.saves(&figures) {
        return Ok(Some(saving));
    }
    for function in &functions {
        function.remove_string_attribute(ATTRIBUTE);
    }
    Ok(Some(usual))
}

#[cfg(test)]
mod tests {
    use super::Figures;
    use pretty_assertions::assert_eq;

    fn code(registers: u32, lines: &[&str]) -> String {
        let lines: Vec<String> = lines.iter().map(|line| format!("\t{line}\n")).collect();
        format!(
            "k:\n{}\t.section\n    .vgpr_count:     {registers}\n    .vgpr_spill_count: 0\n",
            lines.concat()
        )
    }

    #[test]
    fn figures_are_read_from_the_assembly() {
        let text = code(
            17,
            &[
                "s_waitcnt vmcnt(0)",
                "v_add_f32_e32 v0, v1, v2",
                "s_code_end",
            ],
        );
        let expected = Figures {
            registers: vec![3],
            spills: 0,
            instructions: 2,
            waits: 1,
            covered: 0,
            loops: false,
        };
        assert_eq!(Figures::of(&text, 8), expected);
    }

    #[test]
    fn registers_are_saved_for_nothing_or_not_at_all() {
        let add = "v_add_f32_e32 v0, v1, v2";
        let usual = Figures::of(&code(17, &[add, "s_waitcnt vmcnt(0)"]), 8);
        let of = |registers, lines: &[&str]| Figures::of(&code(registers, lines), 8);
        assert!(of(16, &["s_waitcnt vmcnt(0)", add]).saves(&usual));
        assert!(!of(17, &["s_waitcnt vmcnt(0)", add]).saves(&usual));
        assert!(!of(16, &["s_waitcnt vmcnt(0)", add, add]).saves(&usual));
        assert!(!of(16, &["s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)"]).saves(&usual));
    }

    #[test]
    fn in_a_loop_loads_stay_as_early_as_they_are() {
        let (load, add) = (
            "global_load_dword v0, v1, s[0:1]",
            "v_add_f32_e32 v2, v3, v4",
        );
        let (wait, back) = ("s_waitcnt vmcnt(0)", "s_cbranch_scc0 k");
        let of = |registers, lines: &[&str]| Figures::of(&code(registers, lines), 8);
        let early = of(17, &[load, add, wait, back]);
        let late = [add, load, wait, back];
        assert_eq!((early.covered, early.loops), (2, true));
        assert!(!of(16, &late).saves(&early));
        assert!(of(16, &late[..3]).saves(&of(17, &[load, add, wait])));
    }
}
