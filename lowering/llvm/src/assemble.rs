//! AMDGPU assembly text to objects. LLVM-C does not reach the assembler, but a module may consist
//! of assembly alone. What LLVM adds to every module is taken out of the text or of the object, so
//! that this makes the same sections as code generation does.

use crate::Optimization;
use crate::codegen;
use crate::ffi::Errors;
use inkwell::context::Context;
use inkwell::targets::FileType;
use splitbar_passes::diagnostic::{Diagnostic, Diagnostics};
use splitbar_plan::Target;

/// Assembles what code generation printed for `target` with `features` beside the target's own.
///
/// # Errors
/// `LlvmFailed` with what LLVM says of the text.
pub(crate) fn assemble(
    text: &str,
    target: &Target,
    features: Option<&str>,
    optimization: Optimization,
) -> Result<Vec<u8>, Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let errors = Errors::collect(&context);
        let machine = codegen::machine_with(target, features, optimization)?;
        let module = context.create_module("");
        codegen::adopt(&module, &machine);
        module.set_inline_assembly(&accepted(text));
        let object = FileType::Object;
        let buffer = codegen::write(&module, &machine, object, false, "assembling failed")?;
        codegen::check(&errors)?;
        let mut object = buffer.as_slice().to_vec();
        drop_second_note(&mut object)
            .ok_or_else(|| Diagnostic::bug("the assembler's object cannot be read"))?;
        Ok(object)
    })
}

/// Instructions whose short form LLVM 23.1 prints without the half of the register that it reads,
/// and then takes only with it. Without the form's suffix it takes both (docs/llvm.md).
const WITHOUT_HALVES: [&str; 2] = ["\tv_cvt_pk_f32_fp8_e32 ", "\tv_cvt_pk_f32_bf8_e32 "];

/// The text as the assembler takes it, without what LLVM writes at the end of the code of every
/// module: room for the instruction fetch, and the largest numbers of registers.
fn accepted(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut before = "";
    for line in text.lines() {
        let is_room = line.starts_with("\t.fill") && before.starts_with("\t.p2alignl");
        if !is_room && !line.starts_with("\t.set amdgpu.max_num_") {
            match WITHOUT_HALVES.iter().find_map(|start| {
                let operands = line.strip_prefix(start)?;
                Some((start.trim_end().strip_suffix("_e32")?, operands))
            }) {
                Some((name, operands)) => kept.extend([name, " ", operands]),
                None => kept.push_str(line),
            }
            kept.push('\n');
        }
        before = line;
    }
    kept
}

const SECTION_HEADER_BYTES: usize = 64;
const SHT_NOTE: u32 = 7;

/// Shortens each section of notes to its first: the second is about a module without kernels. The
/// object is a little-endian ELF64 file; `None` if it is not.
fn drop_second_note(object: &mut [u8]) -> Option<()> {
    let headers = usize::try_from(number::<8>(object, 40)?).ok()?;
    let count = usize::try_from(number::<2>(object, 60)?).ok()?;
    for index in 0..count {
        let header = headers.checked_add(index.checked_mul(SECTION_HEADER_BYTES)?)?;
        if number::<4>(object, header.checked_add(4)?)? != u64::from(SHT_NOTE) {
            continue;
        }
        let start = usize::try_from(number::<8>(object, header.checked_add(24)?)?).ok()?;
        let size = header.checked_add(32)?;
        let name = number::<4>(object, start)?.next_multiple_of(4);
        let description = number::<4>(object, start.checked_add(4)?)?.next_multiple_of(4);
        let first = 12 + name + description;
        if first <= number::<8>(object, size)? {
            let field = object.get_mut(size..size.checked_add(8)?)?;
            field.copy_from_slice(&first.to_le_bytes());
        }
    }
    Some(())
}

/// The number of `N` bytes at `at`.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(N)?)?;
    let digits = field.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::emit::core_tests::lowered_at;
    use crate::lowered::Lowered;
    use splitbar_assembly::amdgpu::dual_issue;
    use splitbar_passes::module::Module;
    use splitbar_plan::backend::LoweredModule as _;

    /// Type, flags and contents of each section.
    fn sections(object: &[u8]) -> Vec<(u64, u64, &[u8])> {
        let at = |at: u64| number::<8>(object, at as usize).unwrap();
        let count = number::<2>(object, 60).unwrap();
        let headers = (0..count).map(|index| at(40) + index * SECTION_HEADER_BYTES as u64);
        let sections = headers.map(|header| {
            let (start, size) = (at(header + 24) as usize, at(header + 32) as usize);
            let kind = number::<4>(object, header as usize + 4).unwrap();
            (kind, at(header + 8), &object[start..start + size])
        });
        sections.collect()
    }

    /// The assembly of the module as LLVM prints it.
    fn raw_assembly(lowered: &Lowered) -> String {
        let (target, level) = (lowered.target, lowered.optimization);
        let file = FileType::Assembly;
        let bytes = codegen::generate(&lowered.bitcode, target, level, file, false).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        text.trim_end_matches('\0').to_owned()
    }

    /// The pairs of dual issue whose first or second sources are vector registers of one parity.
    fn pairs_of_one_parity(text: &str) -> usize {
        let sources = |half: &str| -> Vec<Option<u32>> {
            let (_, operands) = half.trim().split_once(' ').unwrap();
            let words = operands.split(',').skip(1).map(str::trim);
            // The constant of `fmamk` lies between the sources.
            let words = words.filter(|word| !half.contains("fmamk") || !word.starts_with("0x"));
            words
                .map(|word| word.strip_prefix('v')?.parse().ok())
                .collect()
        };
        let pairs = text.lines().filter_map(|line| line.split_once(" :: "));
        let is_affected = |(x, y): &(&str, &str)| {
            let (x, y) = (sources(x), sources(y));
            let mut both = x.into_iter().zip(y);
            both.any(|(x, y)| matches!((x, y), (Some(x), Some(y)) if x % 2 == y % 2))
        };
        pairs.filter(is_affected).count()
    }

    #[test]
    fn llvm_still_pairs_registers_of_one_parity() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/timing/by_hand/m64.spv"
        );
        let bytes = std::fs::read(path).unwrap();
        let module = Module::parse(&bytes).unwrap();
        for target in ["gfx1100", "gfx1150"] {
            let lowered = lowered_at(&module, target, false, Optimization::O2).unwrap();
            let raw = raw_assembly(&lowered);
            assert!(pairs_of_one_parity(&raw) > 0, "{target}");
            let text = lowered.assembly().unwrap();
            assert_eq!(pairs_of_one_parity(&text), 0, "{target}");
            assert!(text.contains("v_dual_"), "{target}");
            let assembled = lowered.assemble(text).unwrap();
            assert!(assembled == lowered.object().unwrap(), "{target}");
        }
    }

    #[test]
    fn the_assembler_makes_the_sections_of_code_generation() {
        let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kernels");
        let mut compared = 0;
        for name in [
            "tiled_matmul",
            "plain_matmul",
            "async_uneven",
            "buffer_exchange",
            "transpose",
        ] {
            let bytes = std::fs::read(format!("{kernels}/{name}/{name}.spv")).unwrap();
            let module = Module::parse(&bytes).unwrap();
            let targets = [
                "gfx900",
                "gfx90a",
                "gfx942",
                "gfx1030",
                "gfx1100",
                "gfx1201",
                "gfx1250",
                "gfx1310",
                "gfx12-generic",
            ];
            for (target, lines) in targets.into_iter().flat_map(|t| [(t, false), (t, true)]) {
                let lowered = lowered_at(&module, target, lines, Optimization::O2).unwrap();
                let target = Target::by_name(target).unwrap();
                // As LLVM makes it, also where pairs of instructions are separated.
                let text = if dual_issue::is_affected(target) {
                    raw_assembly(&lowered)
                } else {
                    lowered.assembly().unwrap()
                };
                let features = lowered.features.as_deref();
                let assembled = assemble(&text, target, features, Optimization::O2).unwrap();
                let generated = lowered.generated_object().unwrap();
                // Debuggers' tables come in another order, with another way to say the same.
                let loaded = |object| {
                    let sections = sections(object).into_iter();
                    let loaded = sections.filter(|(_, flags, _)| !lines || flags & 2 != 0);
                    loaded.collect::<Vec<_>>()
                };
                let (assembled, generated) = (loaded(&assembled), loaded(&generated));
                assert!(
                    assembled == generated,
                    "{name} on {}, lines: {lines}",
                    target.name
                );
                compared += generated.len();
            }
        }
        assert!(compared > 450, "{compared}");
    }

    #[test]
    fn what_is_no_assembly_is_refused() {
        let target = Target::by_name("gfx1201").unwrap();
        let refused = assemble("s_unheard_of s0", target, None, Optimization::O2).unwrap_err();
        assert!(refused.to_string().contains("SB"), "{refused}");
    }
}
