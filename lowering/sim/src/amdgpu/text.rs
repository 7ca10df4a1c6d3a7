//! A line of disassembly taken apart: mnemonic, operands, modifiers.

use super::number::number;
use super::operand::{Operand, parse_operand};

/// A disassembled instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its address.
    pub address: u64,
    /// Bytes that it takes.
    pub length: u32,
    /// The text of LLVM's disassembler for it.
    pub text: String,
}

/// An instruction's text, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Parts<'t> {
    /// Without the suffix of its encoding.
    pub mnemonic: &'t str,
    pub encoding: Encoding,
    pub operands: Vec<Operand>,
    pub modifiers: Modifiers<'t>,
    /// Everything after the mnemonic.
    pub rest: &'t str,
}

/// What the suffix of a mnemonic says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Sdwa,
    Dpp,
}

/// Words after the operands, such as `offset:16` or `glc`.
#[derive(Clone, Debug, Default)]
pub(super) struct Modifiers<'t>(Vec<(&'t str, &'t str)>);

impl<'t> Modifiers<'t> {
    /// The text after the colon; empty for a word without one.
    pub(super) fn get(&self, name: &str) -> Option<&'t str> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A number; 0 when it is not there.
    pub(super) fn number(&self, name: &str) -> i64 {
        self.get(name).and_then(number).unwrap_or(0)
    }

    /// A list such as `[0,1,1]`; `None` when it is not there.
    pub(super) fn list(&self, name: &str) -> Option<Vec<i64>> {
        let inner = self.get(name)?.strip_prefix('[')?.strip_suffix(']')?;
        inner.split(',').map(number).collect()
    }

    /// Bit `i` of a list of 0 and 1; `otherwise` where the list is not there or too short.
    pub(super) fn bits(&self, name: &str, otherwise: bool) -> u8 {
        let list = self.list(name).unwrap_or_default();
        (0..8).fold(0, |bits, i| {
            let set = list.get(i).map_or(otherwise, |v| *v != 0);
            bits | u8::from(set) << i
        })
    }
}

const SUFFIXES: [(&str, Encoding); 6] = [
    ("_e64_dpp", Encoding::Dpp),
    ("_e32", Encoding::Plain),
    ("_e64", Encoding::Plain),
    ("_dpp8", Encoding::Dpp),
    ("_dpp", Encoding::Dpp),
    ("_sdwa", Encoding::Sdwa),
];

/// Words that LLVM prints after the operands and that stand without a colon. (`a16` of images is
/// not among them: elsewhere it is a register.)
const WORDS: [&str; 25] = [
    "glc",
    "slc",
    "dlc",
    "sc0",
    "sc1",
    "nt",
    "nv",
    "scc",
    "lds",
    "gds",
    "clamp",
    "idxen",
    "offen",
    "addr64",
    "tfe",
    "lwe",
    "unorm",
    "da",
    "r128",
    "high",
    "row_mirror",
    "row_half_mirror",
    "scale_offset",
    "matrix_a_reuse",
    "matrix_b_reuse",
];

/// Takes a line apart. Operands that are not known become [`super::operand::Kind::Other`].
pub(super) fn parse(text: &str) -> Parts<'_> {
    let text = text.trim();
    let (full, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (mnemonic, encoding) = SUFFIXES
        .iter()
        .find_map(|(suffix, encoding)| Some((full.strip_suffix(suffix)?, *encoding)))
        .unwrap_or((full, Encoding::Plain));
    let mut operands = Vec::new();
    let mut modifiers = Modifiers::default();
    for piece in pieces(rest) {
        let mut words = words(piece);
        let first = words.next().unwrap_or("");
        if first.is_empty() {
            continue;
        }
        if is_modifier(first) && !(operands.is_empty() && first == "scc") {
            modifiers
                .0
                .push(first.split_once(':').unwrap_or((first, "")));
        } else {
            operands.push(parse_operand(first));
        }
        for word in words {
            if is_modifier(word) {
                modifiers.0.push(word.split_once(':').unwrap_or((word, "")));
            } else {
                operands.push(parse_operand(word));
            }
        }
    }
    Parts {
        mnemonic,
        encoding,
        operands,
        modifiers,
        rest: rest.trim(),
    }
}

fn is_modifier(word: &str) -> bool {
    // `s[0:3]` has its colon inside the bracket, `op_sel:[0,1]` before it.
    match (word.find(':'), word.find('[')) {
        (Some(colon), Some(bracket)) => colon < bracket,
        (Some(_), None) => true,
        (None, _) => WORDS.contains(&word),
    }
}

/// Operands are separated by commas outside of brackets.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |c| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {} // no bracket
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
}

/// Words of a piece, separated by spaces outside of brackets.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |c: char| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {} // no bracket
        }
        c.is_whitespace() && depth == 0
    })
    .filter(|w| !w.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::operand::Kind;
    use super::*;

    #[test]
    fn operands_and_modifiers_come_apart() {
        let parts = parse("buffer_store_dword v0, off, s[0:3], 0 offset:52 glc");
        assert_eq!(parts.mnemonic, "buffer_store_dword");
        assert_eq!(parts.operands.len(), 4);
        assert_eq!(parts.modifiers.number("offset"), 52);
        assert!(parts.modifiers.has("glc"));
        let parts = parse("v_pk_fma_f32 v[2:3], v[0:1], v[2:3], v[4:5] op_sel_hi:[0,1,1]");
        assert_eq!(parts.operands.len(), 4);
        assert_eq!(parts.modifiers.bits("op_sel_hi", true) & 7, 0b110);
        let parts = parse(
            "v_mul_lo_u16_sdwa v5, v5, s0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
        );
        assert_eq!(
            (parts.mnemonic, parts.encoding),
            ("v_mul_lo_u16", Encoding::Sdwa)
        );
        assert_eq!(parts.modifiers.get("src0_sel"), Some("WORD_1"));
        let parts = parse("v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf");
        assert_eq!(parts.modifiers.list("quad_perm").unwrap(), [1, 0, 3, 2]);
        let parts = parse("v_accvgpr_read_b32 v3, a16");
        assert_eq!(parts.operands.len(), 2);
        let parts = parse("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1");
        assert_eq!(parts.operands.len(), 2);
        assert_eq!(parts.operands[0].kind, Kind::Other);
    }
}
