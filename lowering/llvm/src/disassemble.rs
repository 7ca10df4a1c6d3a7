//! Machine code back to text, in this process.

use crate::codegen;
use crate::ffi::Disassembler;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::Target;

/// An instruction of machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// Bytes from the beginning of the code.
    pub offset: usize,
    /// Bytes that it takes.
    pub length: usize,
    /// As LLVM's disassembler prints it. Bytes that are no instruction are `.long` and their value.
    pub text: String,
}

/// Disassembles AMDGPU machine code that lies at `address`. `wave_size` is that of the kernel (it
/// decides how masks are printed).
///
/// # Errors
/// `UnsupportedOnTarget` for targets whose machine code LLVM does not know.
pub fn disassemble(
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
            .or_else(|| without_mask(target, &disassembler, rest, at))
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

/// Vector instructions of gfx10 and later whose mask goes nowhere: LLVM writes `v_mad_u64_u32` with
/// `null`, and does not read it back. With a register for the mask it reads them.
fn without_mask(
    target: &Target,
    disassembler: &Disassembler,
    rest: &[u8],
    at: u64,
) -> Option<(usize, String)> {
    const VCC: u32 = 0x6a;
    let null = if target.name.starts_with("gfx10") {
        0x7d
    } else {
        0x7c
    };
    // The longest one has a literal of four bytes.
    let mut bytes = rest.get(..rest.len().min(12))?.to_vec();
    let first = bytes.first_chunk_mut::<4>()?;
    let word = u32::from_le_bytes(*first);
    let is_vop3 = word >> 26 == 0b11_0101;
    if !is_vop3 || word >> 8 & 0x7f != null {
        return None;
    }
    *first = (word & !0x7f00 | VCC << 8).to_le_bytes();
    let (length, text) = disassembler.instruction(&mut bytes, at)?;
    let mut operands: Vec<&str> = text.split(", ").collect();
    let mask = operands.get_mut(1)?;
    if !matches!(*mask, "vcc" | "vcc_lo") {
        return None;
    }
    *mask = "null";
    Some((length, operands.join(", ")))
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
        for (target, wave, name) in [
            ("gfx1201", 32, "v_mad_co_u64_u32"),
            ("gfx1201", 64, "v_mad_co_u64_u32"),
            ("gfx1100", 32, "v_mad_u64_u32"),
        ] {
            let target = Target::by_name(target).unwrap();
            // The second source of the sum is 0.
            let code = [0xd6fe_7c0bu32, 0x0202_0b04, 0xbfb0_0000]
                .map(u32::to_le_bytes)
                .concat();
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
