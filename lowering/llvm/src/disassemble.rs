//! Machine code back to text, in this process.

use crate::codegen;
use crate::ffi::Disassembler;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::Target;
use splitbar_plan::backend::Disassembled;

/// Disassembles AMDGPU machine code that lies at `address`. `wave_size` is that of the kernel (it
/// decides how masks are printed).
///
/// # Errors
/// `UnsupportedOnTarget` for targets whose machine code LLVM does not know.
pub(crate) fn disassemble(
    target: &Target,
    wave_size: u32,
    code: &[u8],
    address: u64,
) -> Result<Vec<Disassembled>, Diagnostics> {
    codegen::initialize();
    let features = match target.wave_sizes {
        // Where there is a choice, it is a feature.
        [_, _, ..] => format!("+wavefrontsize{wave_size}"),
        _ => String::new(),
    };
    let disassembler = target
        .amdgpu()
        .and_then(|_| Disassembler::new(target.triple(), target.cpu(), &features))
        .ok_or_else(|| {
            let message = format!("there is no disassembler for {}", target.name);
            Diagnostics::from(Diagnostic::error(Code::UnsupportedOnTarget, message))
        })?;
    // LLVM asks for bytes that it could change.
    let mut code = code.to_vec();
    let mut instructions = Vec::new();
    let mut offset = 0;
    while let Some(rest) = code.get_mut(offset..).filter(|r| r.len() >= 4) {
        let at = address.wrapping_add(offset as u64);
        let (length, text) = disassembler
            .instruction(rest, at)
            .unwrap_or_else(|| (4, unknown(rest)));
        instructions.push(Disassembled {
            offset,
            length,
            text,
        });
        offset += length;
    }
    Ok(instructions)
}

fn unknown(bytes: &[u8]) -> String {
    match bytes {
        [a, b, c, d, ..] => format!(".long {:#010x}", u32::from_le_bytes([*a, *b, *c, *d])),
        _ => ".byte".to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn code_becomes_text_and_rubbish_does_not_stop_it() {
        let target = Target::by_name("gfx1201").unwrap();
        let code = [0xbf94ffffu32, 0xffff_ffff, 0xbfb0_0000]
            .map(u32::to_le_bytes)
            .concat();
        let texts: Vec<String> = disassemble(target, 32, &code, 0x1000)
            .unwrap()
            .into_iter()
            .map(|i| i.text)
            .collect();
        assert_eq!(texts[0], "s_barrier_wait 0xffff");
        assert!(texts[1].starts_with(".long"));
        assert_eq!(texts[2], "s_endpgm");
        assert!(disassemble(Target::by_name("sm_90").unwrap(), 32, &code, 0).is_err());
    }

    #[test]
    fn masks_that_go_nowhere_become_text() {
        let (mad, end) = (0xd6fe_7c0bu32, 0xbfb0_0000u32);
        for (target, wave, mad, end, name) in [
            ("gfx1201", 32, mad, end, "v_mad_co_u64_u32"),
            ("gfx1201", 64, mad, end, "v_mad_co_u64_u32"),
            ("gfx1100", 32, mad, end, "v_mad_u64_u32"),
            ("gfx1030", 32, 0xd576_7d0b, 0xbf81_0000, "v_mad_u64_u32"),
        ] {
            let target = Target::by_name(target).unwrap();
            // The second source of the sum is 0.
            let code = [mad, 0x0202_0b04, end].map(u32::to_le_bytes).concat();
            let lines = disassemble(target, wave, &code, 0).unwrap();
            let text = lines[0].text.trim();
            assert!(
                text.starts_with(name) && text.contains(" v[11:12], null, v4, v5, 0"),
                "{text}"
            );
            assert_eq!((lines[0].length, lines[1].text.as_str()), (8, "s_endpgm"));
        }
    }
}
