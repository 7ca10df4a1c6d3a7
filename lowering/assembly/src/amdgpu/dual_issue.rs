//! Separates pairs of dual issue (VOPD) that gfx11 may execute with old operands.
//!
//! On gfx11, if both instructions of a pair read vector registers of the same parity as the same
//! operand, the second read may not wait for an instruction that still writes its register
//! (llvm-project pull request 220348 no longer pairs such registers; LLVM 23.1 does). Each such
//! pair becomes two instructions. Distances in `s_delay_alu` are no longer exact then; they only
//! save time.

use super::Statement;
use splitbar_target::Target;
use std::borrow::Cow;

/// Returns true if `target` is of gfx11. Of the GPUs whose instructions of three operands take
/// constants, GPUs before gfx11 have copies to LDS that pass no register, and gfx12 and later have
/// a separate wait for each counter.
pub fn is_affected(target: &Target) -> bool {
    let gpu = target.amdgpu();
    gpu.is_some_and(|gpu| {
        gpu.vop3_literals && gpu.lds_dma_bytes.is_empty() && gpu.waitcnt.is_some()
    })
}

/// Returns `text` for `target` without such pairs.
///
/// # Errors
/// A pair that this module cannot read, or of which each instruction reads the result of the other.
pub fn separate<'t>(text: &'t str, target: &Target) -> Result<Cow<'t, str>, String> {
    if !is_affected(target) || !text.contains(PREFIX) {
        return Ok(Cow::Borrowed(text));
    }
    let mut separated = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        match two(line)? {
            Some([first, second]) => {
                for single in [first, second] {
                    separated.push('\t');
                    separated.push_str(&single);
                    separated.push('\n');
                }
            }
            None => {
                separated.push_str(line);
                separated.push('\n');
            }
        }
    }
    Ok(Cow::Owned(separated))
}

/// The beginning of both names of a pair.
const PREFIX: &str = "v_dual_";

/// Instructions that also read the register that they write.
const ACCUMULATING: [&str; 3] = ["fmac_f32", "dot2acc_f32_f16", "dot2acc_f32_bf16"];

/// Instructions of which LLVM prints one form without a suffix.
const WITHOUT_FORM: [&str; 4] = [
    "fmaak_f32",
    "fmamk_f32",
    "dot2acc_f32_f16",
    "dot2acc_f32_bf16",
];

/// The two instructions of `line` in an order that keeps their results, if it is a pair that may
/// read old operands.
fn two(line: &str) -> Result<Option<[String; 2]>, String> {
    let Statement::Instruction(mnemonic, operands) = Statement::parse(line) else {
        return Ok(None);
    };
    let Some(name) = mnemonic.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    let unknown = || format!("a pair of instructions is not known: {}", line.trim());
    let (operands, second) = operands.split_once("::").ok_or_else(unknown)?;
    let (second, others) = second
        .trim()
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once(' '))
        .ok_or_else(unknown)?;
    let x = Half::parse(name, operands).ok_or_else(unknown)?;
    let y = Half::parse(second, others).ok_or_else(unknown)?;
    let mut sources = x.sources.iter().zip(&y.sources);
    if !sources.any(|(x, y)| matches!((x, y), (Some(x), Some(y)) if x % 2 == y % 2)) {
        return Ok(None);
    }
    // Both read before one writes.
    match (y.reads(x.written), x.reads(y.written)) {
        (false, _) => Ok(Some([x.single(), y.single()])),
        (true, false) => Ok(Some([y.single(), x.single()])),
        (true, true) => Err(format!(
            "each instruction of a pair reads the result of the other: {}",
            line.trim()
        )),
    }
}

/// One of the two instructions.
struct Half<'t> {
    /// Its name without the prefix.
    name: &'t str,
    operands: &'t str,
    /// The vector register that it writes.
    written: u32,
    /// Its first and its second source, where they are vector registers.
    sources: [Option<u32>; 2],
}

impl<'t> Half<'t> {
    fn parse(name: &'t str, operands: &'t str) -> Option<Half<'t>> {
        let mut parts = operands.split(',').map(str::trim);
        let written = vector_register(parts.next()?)?;
        let first = vector_register(parts.next()?);
        let mut rest = parts.map(vector_register);
        // The constant of `fmamk` precedes its second source, that of `fmaak` follows it.
        let second = if name == "fmamk_f32" {
            rest.nth(1)
        } else {
            rest.next()
        };
        Some(Half {
            name,
            operands: operands.trim(),
            written,
            sources: [first, second.flatten()],
        })
    }

    fn reads(&self, register: u32) -> bool {
        self.sources.contains(&Some(register))
            || (ACCUMULATING.contains(&self.name) && self.written == register)
    }

    /// The instruction by itself, as LLVM prints it: readers of the object compare both.
    fn single(&self) -> String {
        // The text of a pair leaves out the mask.
        let mask = match self.name {
            "cndmask_b32" if !self.operands.ends_with("vcc_lo") => ", vcc_lo",
            _ => "",
        };
        let form = if WITHOUT_FORM.contains(&self.name) {
            ""
        } else {
            "_e32"
        };
        format!("v_{}{form} {}{mask}", self.name, self.operands)
    }
}

fn vector_register(operand: &str) -> Option<u32> {
    operand.strip_prefix('v')?.parse().ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{is_affected, separate};
    use pretty_assertions::assert_eq;
    use splitbar_target::Target;

    fn on(gpu: &str, text: &str) -> Result<String, String> {
        let target = Target::by_name(gpu).unwrap();
        separate(text, target).map(|text| text.into_owned())
    }

    #[test]
    fn pairs_that_read_one_parity_are_separated() {
        let cases = [
            (
                "\tv_dual_fmac_f32 v54, v25, v172 :: v_dual_mov_b32 v27, v59 ; both odd\n",
                "\tv_fmac_f32_e32 v54, v25, v172\n\tv_mov_b32_e32 v27, v59\n",
            ),
            (
                "\tv_dual_mul_f32 v1, s0, v4 :: v_dual_add_f32 v2, 1.0, v6\n",
                "\tv_mul_f32_e32 v1, s0, v4\n\tv_add_f32_e32 v2, 1.0, v6\n",
            ),
            // One second source follows the constant, the other precedes it.
            (
                "\tv_dual_fmamk_f32 v1, v2, 0x40490fdb, v4 :: v_dual_fmaak_f32 v2, v3, v6, 0x40490fdb\n",
                "\tv_fmamk_f32 v1, v2, 0x40490fdb, v4\n\tv_fmaak_f32 v2, v3, v6, 0x40490fdb\n",
            ),
            (
                "\tv_dual_cndmask_b32 v1, v2, v3 :: v_dual_mov_b32 v4, v8\n",
                "\tv_cndmask_b32_e32 v1, v2, v3, vcc_lo\n\tv_mov_b32_e32 v4, v8\n",
            ),
        ];
        for (pair, singles) in cases {
            assert_eq!(on("gfx1100", pair).unwrap(), singles);
            assert_eq!(on("gfx1150", pair).unwrap(), singles);
            for gpu in ["gfx1201", "gfx1250", "gfx942", "gfx1030"] {
                assert_eq!(on(gpu, pair).unwrap(), pair, "{gpu}");
            }
        }
    }

    #[test]
    fn an_instruction_that_reads_the_result_of_the_other_comes_first() {
        let reads = "\tv_dual_mov_b32 v1, v4 :: v_dual_add_f32 v2, v6, v1\n";
        assert_eq!(
            on("gfx1100", reads).unwrap(),
            "\tv_add_f32_e32 v2, v6, v1\n\tv_mov_b32_e32 v1, v4\n"
        );
        let swap = "\tv_dual_mov_b32 v1, v4 :: v_dual_mov_b32 v4, v1\n";
        // Registers of different parity: the pair is right as it is.
        assert_eq!(on("gfx1100", swap).unwrap(), swap);
        let swap = "\tv_dual_mov_b32 v2, v4 :: v_dual_mov_b32 v4, v2\n";
        assert!(
            on("gfx1100", swap)
                .unwrap_err()
                .contains("the result of the other")
        );
    }

    #[test]
    fn gfx11_is_affected_and_no_other() {
        for target in Target::all() {
            let is_gfx11 = target.name.starts_with("gfx11");
            assert_eq!(is_affected(target), is_gfx11, "{}", target.name);
        }
    }

    #[test]
    fn other_pairs_stay() {
        let kept = "\tv_dual_fmac_f32 v54, v25, v172 :: v_dual_mov_b32 v27, v60\n\
            \tv_dual_mov_b32 v1, s2 :: v_dual_mov_b32 v2, v4\n\
            \tv_dual_mul_f32 v1, v2, v3 :: v_dual_add_f32 v4, v5, v6\n\
            \tv_add_f32_e32 v1, v3, v5\n; v_dual_mov_b32\n";
        assert_eq!(on("gfx1100", kept).unwrap(), kept);
    }

    #[test]
    fn pairs_in_another_notation_are_reported() {
        let unknown = on("gfx1100", "\tv_dual_mov_b32 v1, v2\n").unwrap_err();
        assert!(unknown.contains("v_dual_mov_b32 v1, v2"), "{unknown}");
    }
}
