//! Integer and Boolean instructions on values of which some may be unknown.

/// The low `width` bits.
fn mask(width: u32) -> u64 {
    1u64.checked_shl(width).map_or(u64::MAX, |bit| bit - 1)
}

fn signed(bits: u64, width: u32) -> i64 {
    let unused = 64u32.saturating_sub(width).min(63);
    ((bits << unused) as i64) >> unused
}

/// The value of instruction `opcode`: `width` bits of result (1 for a Boolean), `from` bits of the
/// first operand, `count` operands whose values `arg` gives. `None` when it is not known: an
/// operand is not, SPIR-V leaves the result undefined, or the instruction is not evaluated here.
pub(in crate::analysis) fn evaluate(
    opcode: u16,
    width: u32,
    from: u32,
    count: usize,
    arg: impl Fn(usize) -> Option<u64>,
) -> Option<u64> {
    use spirv::Op;
    if width == 0 {
        return None;
    }
    let op = Op::from_u32(u32::from(opcode))?;
    match (op, count) {
        // One operand can decide alone.
        (Op::LogicalAnd, 2) => {
            return match (arg(0), arg(1)) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (Some(a), Some(b)) => Some(a & b),
                _ => None, // not decided
            };
        }
        (Op::LogicalOr, 2) => {
            return match (arg(0), arg(1)) {
                (Some(1), _) | (_, Some(1)) => Some(1),
                (Some(a), Some(b)) => Some(a | b),
                _ => None, // not decided
            };
        }
        (Op::Select, 3) => {
            return match arg(0) {
                Some(0) => arg(2),
                Some(_) => arg(1),
                None => arg(1).filter(|yes| arg(2) == Some(*yes)),
            };
        }
        (Op::BitwiseAnd | Op::IMul, 2) if arg(0) == Some(0) || arg(1) == Some(0) => return Some(0),
        _ => {} // all operands are needed
    }
    let value = match count {
        1 => unary(op, from, arg(0)?),
        2 => binary(op, from, arg(0)?, arg(1)?),
        _ => None, // no such instruction on integers is evaluated
    };
    value.map(|bits| bits & mask(width))
}

fn unary(op: spirv::Op, from: u32, a: u64) -> Option<u64> {
    use spirv::Op;
    Some(match op {
        Op::SNegate => a.wrapping_neg(),
        Op::Not => !a,
        Op::LogicalNot => a ^ 1,
        Op::UConvert => a,
        Op::SConvert => signed(a, from) as u64,
        Op::Bitcast => a, // callers ask for scalars only; scalar bitcasts keep the width
        Op::BitCount => u64::from(a.count_ones()),
        _ => return None, // not evaluated here
    })
}

fn binary(op: spirv::Op, from: u32, a: u64, b: u64) -> Option<u64> {
    use spirv::Op;
    if from == 0 {
        return None;
    }
    let (sa, sb) = (signed(a, from), signed(b, from));
    let shift = u32::try_from(b).ok().filter(|shift| *shift < from);
    Some(match op {
        Op::IAdd => a.wrapping_add(b),
        Op::ISub => a.wrapping_sub(b),
        Op::IMul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b)?,
        Op::UMod => a.checked_rem(b)?,
        Op::SDiv => sa.checked_div(sb)? as u64,
        Op::SRem => sa.checked_rem(sb)? as u64,
        Op::SMod => {
            let rest = sa.checked_rem(sb)?;
            if rest != 0 && (rest < 0) != (sb < 0) {
                rest.wrapping_add(sb) as u64
            } else {
                rest as u64
            }
        }
        Op::ShiftLeftLogical => a << shift?,
        Op::ShiftRightLogical => a >> shift?,
        Op::ShiftRightArithmetic => (sa >> shift?) as u64,
        Op::BitwiseAnd => a & b,
        Op::BitwiseOr => a | b,
        Op::BitwiseXor => a ^ b,
        Op::IEqual | Op::LogicalEqual => u64::from(a == b),
        Op::ULessThan => u64::from(a < b),
        Op::SLessThan => u64::from(sa < sb),
        _ => return None, // comparisons come in one form; floating-point numbers are not evaluated
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spirv::Op;

    fn of(op: Op, width: u32, from: u32, args: &[Option<u64>]) -> Option<u64> {
        evaluate(op as u16, width, from, args.len(), |index| {
            args.get(index).copied().flatten()
        })
    }

    #[test]
    fn results_are_cut_to_their_width() {
        assert_eq!(of(Op::ISub, 32, 32, &[Some(0), Some(1)]), Some(0xffff_ffff));
        assert_eq!(
            of(Op::SLessThan, 1, 32, &[Some(0xffff_ffff), Some(0)]),
            Some(1)
        );
        assert_eq!(
            of(Op::SConvert, 64, 8, &[Some(0x80)]),
            Some(0xffff_ffff_ffff_ff80)
        );
        assert_eq!(of(Op::UDiv, 32, 32, &[Some(5), Some(0)]), None);
    }

    #[test]
    fn one_operand_can_decide() {
        assert_eq!(of(Op::LogicalAnd, 1, 1, &[None, Some(0)]), Some(0));
        assert_eq!(of(Op::LogicalAnd, 1, 1, &[None, Some(1)]), None);
        assert_eq!(of(Op::LogicalOr, 1, 1, &[Some(1), None]), Some(1));
        assert_eq!(of(Op::IMul, 32, 32, &[None, Some(0)]), Some(0));
        assert_eq!(of(Op::Select, 32, 1, &[None, Some(4), Some(4)]), Some(4));
    }
}
