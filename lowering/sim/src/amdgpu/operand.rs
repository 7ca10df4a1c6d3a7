//! Operands: registers, constants, and what is read in their place.

use super::number::number;

/// Scalar registers by the number that this simulator gives them: `s0` to `s105` are 0 to 105.
pub(super) mod sgpr {
    pub(crate) const VCC: u16 = 106;
    pub(crate) const TTMP: u16 = 108;
    pub(crate) const NULL: u16 = 124;
    pub(crate) const M0: u16 = 125;
    pub(crate) const EXEC: u16 = 126;
    pub(crate) const FLAT_SCRATCH: u16 = 128;
    pub(crate) const XNACK_MASK: u16 = 130;
    /// How many there are.
    pub(crate) const COUNT: usize = 132;
}

/// Accumulation registers follow the vector registers. GPUs that have them have at most 256 vector
/// registers (gfx9).
pub(super) const AGPR: u16 = 256;

/// What an operand names.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Vector registers from this one on.
    Vgpr(u16),
    /// Scalar registers from this one on.
    Sgpr(u16),
    /// An inline integer.
    Integer(i64),
    /// A literal of 32 bits.
    Literal(u32),
    /// A literal of 64 bits.
    Literal64(u64),
    /// An inline float.
    Float(f64),
    /// The scalar condition code.
    Scc,
    /// Whether the mask VCC or EXEC is zero.
    VccZero,
    ExecZero,
    /// The high half of the address range of shared memory (flat addressing).
    SharedBase,
    /// The high half of the address range of private memory (flat addressing).
    PrivateBase,
    /// Where the private memory of the first lane begins in flat addresses (gfx12.5).
    ScratchBase,
    /// The high half of that.
    ScratchBaseHigh,
    /// The size of an aperture, less one.
    ApertureLimit,
    /// No register.
    Off,
    /// Something that is not a value: `hwreg(...)`, `vmcnt(0)`.
    Other,
}

/// Which half of a register.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Half {
    /// The whole; for 16-bit values the low half.
    Whole,
    Low,
    High,
}

/// One operand.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Operand {
    pub kind: Kind,
    /// Registers.
    pub count: u16,
    pub negated: bool,
    pub absolute: bool,
    /// Sign-extended (SDWA).
    pub extended: bool,
    pub half: Half,
}

impl Operand {
    pub(super) const fn new(kind: Kind, count: u16) -> Operand {
        Operand {
            kind,
            count,
            negated: false,
            absolute: false,
            extended: false,
            half: Half::Whole,
        }
    }

    pub(super) fn is_register(&self) -> bool {
        matches!(self.kind, Kind::Vgpr(_) | Kind::Sgpr(_))
    }
}

const NAMES: [(&str, Kind, u16); 29] = [
    ("vcc", Kind::Sgpr(sgpr::VCC), 2),
    ("vcc_lo", Kind::Sgpr(sgpr::VCC), 1),
    ("vcc_hi", Kind::Sgpr(sgpr::VCC + 1), 1),
    ("exec", Kind::Sgpr(sgpr::EXEC), 2),
    ("exec_lo", Kind::Sgpr(sgpr::EXEC), 1),
    ("exec_hi", Kind::Sgpr(sgpr::EXEC + 1), 1),
    ("m0", Kind::Sgpr(sgpr::M0), 1),
    ("null", Kind::Sgpr(sgpr::NULL), 1),
    ("flat_scratch", Kind::Sgpr(sgpr::FLAT_SCRATCH), 2),
    ("flat_scratch_lo", Kind::Sgpr(sgpr::FLAT_SCRATCH), 1),
    ("flat_scratch_hi", Kind::Sgpr(sgpr::FLAT_SCRATCH + 1), 1),
    ("xnack_mask", Kind::Sgpr(sgpr::XNACK_MASK), 2),
    ("xnack_mask_lo", Kind::Sgpr(sgpr::XNACK_MASK), 1),
    ("xnack_mask_hi", Kind::Sgpr(sgpr::XNACK_MASK + 1), 1),
    ("off", Kind::Off, 0),
    ("scc", Kind::Scc, 0),
    ("src_scc", Kind::Scc, 0),
    ("src_vccz", Kind::VccZero, 0),
    ("src_execz", Kind::ExecZero, 0),
    ("src_shared_base", Kind::SharedBase, 0),
    ("src_shared_base_lo", Kind::SharedBase, 0),
    ("src_private_base", Kind::PrivateBase, 0),
    ("src_private_base_lo", Kind::PrivateBase, 0),
    ("src_shared_limit", Kind::ApertureLimit, 0),
    ("src_shared_limit_lo", Kind::ApertureLimit, 0),
    ("src_private_limit", Kind::ApertureLimit, 0),
    ("src_private_limit_lo", Kind::ApertureLimit, 0),
    ("src_flat_scratch_base_lo", Kind::ScratchBase, 0),
    ("src_flat_scratch_base_hi", Kind::ScratchBaseHigh, 0),
];

/// The operand that a piece of text names.
pub(super) fn parse_operand(text: &str) -> Operand {
    let mut text = text.trim();
    let mut negated = false;
    let mut absolute = false;
    let mut extended = false;
    if let Some(inner) = between(text, "sext(", ")") {
        (extended, text) = (true, inner);
    }
    if let Some(inner) = between(text, "neg(", ")") {
        (negated, text) = (true, inner);
    } else if let Some(inner) = text.strip_prefix('-')
        && inner.starts_with(|c: char| !c.is_ascii_digit())
    {
        (negated, text) = (true, inner);
    }
    if let Some(inner) = between(text, "|", "|").or_else(|| between(text, "abs(", ")")) {
        (absolute, text) = (true, inner);
    }
    let (half, text) = match (text.strip_suffix(".l"), text.strip_suffix(".h")) {
        (Some(text), _) => (Half::Low, text),
        (_, Some(text)) => (Half::High, text),
        (None, None) => (Half::Whole, text),
    };
    let (kind, count) = kind(text);
    Operand {
        kind,
        count,
        negated,
        absolute,
        extended,
        half,
    }
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    text.strip_prefix(begin)?.strip_suffix(end)
}

fn kind(text: &str) -> (Kind, u16) {
    if let Some((_, kind, count)) = NAMES.iter().find(|(name, ..)| *name == text) {
        return (*kind, *count);
    }
    if let Some(register) = register(text) {
        return register;
    }
    let kind = if let Some(inner) = between(text, "lit64(", ")") {
        number(inner).map(|n| Kind::Literal64(n as u64))
    } else {
        let text = between(text, "lit(", ")").unwrap_or(text);
        match number(text) {
            Some(n) if text.contains("0x") => match u32::try_from(n) {
                Ok(n) => Some(Kind::Literal(n)),
                Err(_) => Some(Kind::Literal64(n as u64)),
            },
            Some(n) => Some(Kind::Integer(n)),
            None => text
                .parse::<f64>()
                .ok()
                .filter(|_| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
                .map(Kind::Float),
        }
    };
    (kind.unwrap_or(Kind::Other), 0)
}

/// `v3`, `s[4:7]`, `ttmp9`, `a[0:3]`.
fn register(text: &str) -> Option<(Kind, u16)> {
    let digits = text.find(|c: char| c == '[' || c.is_ascii_digit())?;
    let (file, index) = text.split_at_checked(digits)?;
    let (first, last) = match between(index, "[", "]") {
        Some(range) => {
            let (first, last) = range.split_once(':').unwrap_or((range, range));
            (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?)
        }
        None => {
            let index = index.parse::<u16>().ok()?;
            (index, index)
        }
    };
    let count = last.checked_sub(first)?.checked_add(1)?;
    // No GPU has more; a hostile text must not make the register file large.
    let kind = match file {
        "v" if last < 1024 => Kind::Vgpr(first),
        "a" if last < 256 => Kind::Vgpr(AGPR + first),
        "s" if last < sgpr::VCC => Kind::Sgpr(first),
        "ttmp" if last < 16 => Kind::Sgpr(sgpr::TTMP + first),
        _ => return None,
    };
    Some((kind, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_constants() {
        let kind = |text| {
            let operand = parse_operand(text);
            (operand.kind, operand.count)
        };
        assert_eq!(kind("v[4:7]"), (Kind::Vgpr(4), 4));
        assert_eq!(kind("a2"), (Kind::Vgpr(AGPR + 2), 1));
        assert_eq!(kind("ttmp9"), (Kind::Sgpr(117), 1));
        assert_eq!(kind("vcc"), (Kind::Sgpr(106), 2));
        assert_eq!(kind("-16"), (Kind::Integer(-16), 0));
        assert_eq!(kind("0xffffffff"), (Kind::Literal(u32::MAX), 0));
        assert_eq!(kind("-4.0"), (Kind::Float(-4.0), 0));
        assert_eq!(kind("0.15915494"), (Kind::Float(0.15915494), 0));
        assert_eq!(kind("s[4294967295:0]"), (Kind::Other, 0));
        assert_eq!(kind("v9999"), (Kind::Other, 0));
    }

    #[test]
    fn signs() {
        let operand = parse_operand("-|v1|");
        assert!(operand.negated && operand.absolute && operand.kind == Kind::Vgpr(1));
        assert_eq!(parse_operand("v3.h").half, Half::High);
        assert!(parse_operand("neg(0x40)").negated);
    }
}
