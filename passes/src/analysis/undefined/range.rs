//! Unsigned ranges of integers, from constants and operations on them.

use crate::module::{Constant, Constants, Declarations, Id, Type};
use spirv::Op;

/// Operations that are followed from a value to its operands.
const MOST_STEPS: u32 = 6;

/// The least and the greatest number that any component may be, both without sign.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) low: u64,
    pub(super) high: u64,
}

impl Range {
    fn one(number: u64) -> Range {
        Range {
            low: number,
            high: number,
        }
    }

    fn or(self, other: Range) -> Range {
        Range {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// What ranges are found in.
#[derive(Copy, Clone)]
pub(super) struct Ranges<'d, 'm> {
    pub(super) declarations: &'d Declarations<'m>,
    pub(super) constants: &'d Constants,
}

impl Ranges<'_, '_> {
    /// Bits of the components of the value `id`; `None` for what is no integer.
    pub(super) fn width(&self, id: Id) -> Option<u32> {
        self.width_of_type(self.declarations.type_of(id)?)
    }

    /// Bits of the components of the type `ty`; `None` for what is no integer.
    pub(super) fn width_of_type(&self, ty: Id) -> Option<u32> {
        match self.declarations.ty(ty)? {
            Type::Int { width, .. } => Some(*width),
            Type::Vector { component, .. } => match self.declarations.ty(*component)? {
                Type::Int { width, .. } => Some(*width),
                _ => None,
            },
            _ => None,
        }
    }

    /// The range of the components of `id`: all that its type has, if nothing more is known.
    pub(super) fn of(&self, id: Id) -> Range {
        self.find(id, MOST_STEPS)
    }

    fn find(&self, id: Id, steps: u32) -> Range {
        let most = ones(self.width(id).unwrap_or(64));
        let all = Range { low: 0, high: most };
        if let Some(constant) = self.constants.get(id) {
            return of_constant(constant).unwrap_or(all);
        }
        let Some(inst) = self.declarations.module.def(id) else {
            return all;
        };
        let (Some(op), Some(steps)) = (inst.op(), steps.checked_sub(1)) else {
            return all;
        };
        let operand = |index| inst.id(index).map_or(all, |id| self.find(id, steps));
        // One table: a rule for each opcode, of the ranges of its operands.
        let found = match op {
            Op::CopyObject | Op::Bitcast if self.same_width(id, inst.id(0).ok()) => operand(0),
            Op::UConvert => operand(0),
            Op::BitwiseAnd => Range {
                low: 0,
                high: operand(0).high.min(operand(1).high),
            },
            Op::BitwiseOr => Range {
                low: operand(0).low.max(operand(1).low),
                high: filled(operand(0).high | operand(1).high),
            },
            Op::UMod => match operand(1).high {
                0 => all,
                divisor => Range {
                    low: 0,
                    high: operand(0).high.min(divisor - 1),
                },
            },
            Op::UDiv => match operand(1).low {
                0 => all,
                divisor => Range {
                    low: 0,
                    high: operand(0).high / divisor,
                },
            },
            Op::ShiftRightLogical => match operand(1) {
                Range { low, high } if low == high && high < 64 => Range {
                    low: operand(0).low >> low,
                    high: operand(0).high >> low,
                },
                _ => Range {
                    low: 0,
                    high: operand(0).high,
                },
            },
            Op::IAdd => match operand(0).high.checked_add(operand(1).high) {
                Some(high) if high <= most => Range {
                    low: operand(0).low.saturating_add(operand(1).low),
                    high,
                },
                _ => all,
            },
            Op::IMul => match operand(0).high.checked_mul(operand(1).high) {
                Some(high) if high <= most => Range {
                    low: operand(0).low.saturating_mul(operand(1).low),
                    high,
                },
                _ => all,
            },
            // A constant that no operand of the subtraction goes below.
            Op::ISub => {
                let (from, less) = (operand(0), operand(1));
                match from.low.checked_sub(less.high) {
                    Some(low) => Range {
                        low,
                        high: from.high - less.low,
                    },
                    None => all,
                }
            }
            Op::Select => operand(1).or(operand(2)),
            Op::CompositeConstruct => inst
                .operands()
                .iter()
                .map(|part| self.find(Id(*part), steps))
                .reduce(Range::or)
                .unwrap_or(all),
            Op::BitCount => Range {
                low: 0,
                high: inst
                    .id(0)
                    .ok()
                    .and_then(|id| self.width(id))
                    .unwrap_or(64)
                    .into(),
            },
            Op::CompositeExtract | Op::VectorExtractDynamic
                if inst.id(0).is_ok_and(|id| self.width(id).is_some()) =>
            {
                operand(0)
            }
            _ => all,
        };
        Range {
            low: found.low.min(most),
            high: found.high.min(most),
        }
    }

    fn same_width(&self, id: Id, other: Option<Id>) -> bool {
        let width = self.width(id);
        width.is_some() && width == other.and_then(|other| self.width(other))
    }
}

/// The lowest `width` bits set.
pub(super) fn ones(width: u32) -> u64 {
    match width {
        0 => 0,
        width => u64::MAX >> 64u32.saturating_sub(width),
    }
}

/// The least number of ones that is not below `number`.
fn filled(number: u64) -> u64 {
    ones(64 - number.leading_zeros())
}

fn of_constant(constant: &Constant) -> Option<Range> {
    match constant {
        Constant::Composite(parts) => {
            let ranges: Option<Vec<Range>> = parts.iter().map(of_constant).collect();
            ranges?.into_iter().reduce(Range::or)
        }
        // The emitter gives it this value.
        Constant::Undef => Some(Range::one(0)),
        other => other.as_u64().map(Range::one),
    }
}
