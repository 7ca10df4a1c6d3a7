//! Facts about values from the ids of an invocation and the workgroup size: a part that is uniform
//! in the workgroup, and a part of each invocation in a range.
//!
//! With a workgroup of 64, GlobalInvocationId.x is a multiple of 64 and 0 to 63. Its quotient by 64
//! is so the same for the workgroup, and its comparison with any multiple of 64. All arithmetic is
//! modulo two to the width, so that the shared part is a multiple of a power of two: no other
//! factor outlasts a wrap-around, and no specification rules out that the ids wrap around.
//!
//! Vulkan defines GlobalInvocationId as WorkgroupId x WorkgroupSize + LocalInvocationId (Built-In
//! Variables), with the base of vkCmdDispatchBase in WorkgroupId. OpenCL adds the offset of the
//! enqueue, of which nothing is known: there the shared part is a multiple of nothing.

use super::Uniformity;
use super::graph::{Graph, Node, NodeId, NodeMap, Op};
use spirv::BuiltIn;

/// A value of some width: a part that all invocations of the workgroup share, a multiple of two to
/// the `align`, plus one of `least` to `most`. With `align` of the width, the shared part is 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Form {
    align: u32,
    least: u64,
    most: u64,
}

/// The low `width` bits.
fn mask(width: u32) -> u64 {
    1u64.checked_shl(width).map_or(u64::MAX, |bit| bit - 1)
}

impl Form {
    /// One value for all, a multiple of two to the `align`.
    fn same(align: u32) -> Form {
        Form {
            align,
            least: 0,
            most: 0,
        }
    }

    /// One of a range that does not depend on the workgroup.
    fn range(least: u64, most: u64, width: u32) -> Form {
        Form {
            align: width,
            least,
            most,
        }
    }

    fn is_same(self) -> bool {
        self.least == self.most
    }

    /// Its value, if that is known.
    fn constant(self, width: u32) -> Option<u64> {
        (self.is_same() && self.align == width).then_some(self.least)
    }

    /// A power of two that divides the value, when it is one for all.
    fn trailing(self) -> u32 {
        match self.least {
            0 => self.align,
            least => self.align.min(least.trailing_zeros()),
        }
    }

    /// The same value with its own part below two to the `align`, of which at most `most` is taken:
    /// nothing carries from the one part into the other.
    fn block(self, most: u32) -> Option<Form> {
        let align = self.align.min(most);
        let above = |bits: u64| bits.checked_shr(align).unwrap_or(0);
        (above(self.least) == above(self.most)).then_some(Form {
            align,
            least: self.least & mask(align),
            most: self.most & mask(align),
        })
    }

    fn add(self, other: Form, width: u32) -> Option<Form> {
        let align = self.align.min(other.align);
        let ends = |a: u64, b: u64| u128::from(a) + u128::from(b);
        let (least, most) = (ends(self.least, other.least), ends(self.most, other.most));
        let modulus = 1u128 << width;
        if most < modulus || least >= modulus {
            let cut = |sum: u128| u64::try_from(sum % modulus).unwrap_or(0);
            return Some(Form {
                align,
                least: cut(least),
                most: cut(most),
            });
        }
        // A number goes to the shared part.
        let (one, rest) = if other.is_same() {
            (other, self)
        } else {
            (self, other)
        };
        one.is_same().then_some(Form {
            align: rest.align.min(one.trailing()),
            ..rest
        })
    }

    fn sub(self, other: Form, width: u32) -> Option<Form> {
        // The negative of the other: its own part is counted down from a power of two that is not
        // below it.
        let bits = 64 - other.most.leading_zeros();
        if bits >= width {
            return None;
        }
        let top = if other.most == 0 { 0 } else { 1 << bits };
        let align = if top == 0 {
            other.align
        } else {
            other.align.min(bits)
        };
        let negative = Form {
            align,
            least: top - other.most,
            most: top - other.least,
        };
        let exact = self.least.checked_sub(other.most);
        match exact.zip(self.most.checked_sub(other.least)) {
            Some((least, most)) => Some(Form {
                align: self.align.min(other.align),
                least,
                most,
            }),
            None => self.add(negative, width),
        }
    }

    /// Times a number.
    fn times(self, factor: u64, width: u32) -> Option<Form> {
        if factor == 0 {
            return Some(Form::range(0, 0, width));
        }
        let most = self.most.checked_mul(factor);
        Some(Form {
            align: width.min(self.align.saturating_add(factor.trailing_zeros())),
            least: self.least.checked_mul(factor)?,
            most: most.filter(|most| *most <= mask(width))?,
        })
    }

    fn shifted_right(self, by: u32, width: u32, signed: bool) -> Option<Form> {
        if by >= width {
            return None; // undefined
        }
        let at_most = if signed && self.most > mask(width - 1) {
            width - 1
        } else {
            width
        };
        match self.block(at_most) {
            // Nothing of its own is left.
            Some(block) if by >= block.align => Some(Form::same(0)),
            Some(block) => Some(Form {
                align: if block.align == width {
                    width
                } else {
                    block.align - by
                },
                least: block.least >> by,
                most: block.most >> by,
            }),
            None if self.align >= by && self.least >> by == self.most >> by => Some(Form::same(0)),
            None => None,
        }
    }

    fn quotient(self, by: u64, width: u32) -> Option<Form> {
        if by.is_power_of_two() {
            return self.shifted_right(by.trailing_zeros(), width, false);
        }
        let block = self.block(width).filter(|_| by != 0)?;
        if block.align == width {
            return Some(Form::range(block.least / by, block.most / by, width));
        }
        // A multiple of the divisor is one of the block: none lies inside of it.
        (by.trailing_zeros() >= block.align).then_some(Form::same(0))
    }

    fn rest(self, by: u64, width: u32) -> Option<Form> {
        if by.is_power_of_two() {
            return self.masked(by - 1, width);
        }
        let block = self.block(width).filter(|_| by != 0)?;
        if block.align == width {
            return Some(if block.least / by == block.most / by {
                Form::range(block.least % by, block.most % by, width)
            } else {
                Form::range(0, by - 1, width)
            });
        }
        (by.trailing_zeros() >= block.align).then_some(block)
    }

    fn masked(self, bits: u64, width: u32) -> Option<Form> {
        // Low bits alone: the shared part has none of them, also where its own part carries into
        // it.
        let low = |least: u64, most: u64, bits: u64| match bits.checked_add(1) {
            _ if bits == 0 => (0, 0),
            Some(size) if size.is_power_of_two() && least / size == most / size => {
                (least % size, most % size)
            }
            None => (least, most),
            Some(_) => (0, bits.min(most)),
        };
        let is_low = bits.checked_add(1).is_none_or(u64::is_power_of_two);
        if is_low && bits <= mask(self.align.min(width)) {
            let (least, most) = low(self.least, self.most, bits);
            return Some(Form::range(least, most, width));
        }
        let block = self.block(width)?;
        let (least, most) = low(block.least, block.most, bits & mask(block.align));
        let shared = bits & !mask(block.align) & mask(width);
        Some(Form {
            align: if shared == 0 { width } else { block.align },
            least,
            most,
        })
    }

    /// OpBitwiseOr or OpBitwiseXor.
    fn joined(self, other: Form, width: u32) -> Option<Form> {
        for (a, b) in [(self, other), (other, self)] {
            let is_apart = a.is_same() && b.align == width && b.most <= mask(a.trailing());
            if is_apart {
                return a.add(b, width);
            }
            if let (Some(block), Some(bits)) = (a.block(width), b.constant(width)) {
                let low = bits & mask(block.align);
                let reach = 64 - (block.most | low).leading_zeros();
                let (least, most) = match low {
                    0 => (block.least, block.most),
                    _ => (0, mask(reach)),
                };
                return Some(Form {
                    least,
                    most,
                    ..block
                });
            }
        }
        None
    }

    /// Returns true if `self < other` is the same for the workgroup.
    fn less_is_same(self, other: Form, width: u32, signed: bool) -> bool {
        // The sign is part of what is shared.
        let limit = if signed { width - 1 } else { width };
        let below = |varies: Form, one: Form| {
            let block = varies.block(limit)?;
            let reaches = one.align >= block.align;
            reaches.then_some((block, one.least & mask(block.align)))
        };
        match (self.is_same(), other.is_same()) {
            (true, true) => true,
            (false, true) => {
                below(self, other).is_some_and(|(block, at)| block.most < at || block.least >= at)
            }
            (true, false) => {
                below(other, self).is_some_and(|(block, at)| block.least > at || block.most <= at)
            }
            (false, false) => {
                let in_range = |form: Form| form.align == width && form.most <= mask(limit);
                in_range(self)
                    && in_range(other)
                    && (self.most < other.least || self.least >= other.most)
            }
        }
    }

    /// Returns true if `self == other` is.
    fn equal_is_same(self, other: Form, width: u32) -> bool {
        let (one, varies) = match (self.is_same(), other.is_same()) {
            (true, true) => return true,
            (true, false) => (self, other),
            (false, true) => (other, self),
            (false, false) => {
                return self.align == width
                    && other.align == width
                    && (self.most < other.least || other.most < self.least);
            }
        };
        varies.block(width).is_some_and(|block| {
            let at = one.least & mask(block.align);
            one.align >= block.align && !(block.least..=block.most).contains(&at)
        })
    }

    fn converted(self, from: u32, width: u32, signed: bool) -> Option<Form> {
        if width <= from {
            let align = if self.align == from {
                width
            } else {
                self.align.min(width)
            };
            return (self.most <= mask(width)).then_some(Form { align, ..self });
        }
        let limit = if signed && self.most > mask(from - 1) {
            from - 1
        } else {
            from
        };
        let block = self.block(limit)?;
        let align = if block.align == from {
            width
        } else {
            block.align
        };
        // The sign of a value whose shared part is not 0 goes into that part.
        Some(Form { align, ..block })
    }
}

/// What tells the invocations apart.
#[derive(Copy, Clone, Debug)]
pub(super) struct Ids {
    /// Size of the workgroup.
    pub(super) size: [u32; 3],
    /// True if GlobalInvocationId is counted from 0.
    pub(super) without_offset: bool,
}

impl Ids {
    fn input(self, built_in: u32, component: u32, width: u32) -> Option<Form> {
        const LOCAL_ID: u32 = BuiltIn::LocalInvocationId as u32;
        const LOCAL_INDEX: u32 = BuiltIn::LocalInvocationIndex as u32;
        const GLOBAL_ID: u32 = BuiltIn::GlobalInvocationId as u32;
        let last = |count: u64| count.checked_sub(1).filter(|last| *last <= mask(width));
        let extent = || self.size.get(component as usize).copied();
        let own = match built_in {
            LOCAL_INDEX => last(super::lanes::count(self.size)?.into())?,
            LOCAL_ID | GLOBAL_ID => last(extent()?.into())?,
            _ => return None,
        };
        let align = match built_in {
            GLOBAL_ID if self.without_offset => extent()?.trailing_zeros().min(width),
            GLOBAL_ID => 0,
            _ => width,
        };
        Some(Form {
            align,
            least: 0,
            most: own,
        })
    }
}

/// The nodes that are the same for the workgroup though they are computed from some that are not,
/// by node. `solution` says what is the same at the least.
pub(super) fn same_for_all(graph: &Graph, solution: &Uniformity, ids: Ids) -> NodeMap<bool> {
    let mut forms: NodeMap<Option<Form>> = NodeMap::with_capacity(graph.nodes().len());
    for (id, node) in graph.nodes().iter() {
        let form = form(graph, &forms, node, ids);
        forms.push(match solution.value(id) {
            None => Some(form.filter(|form| form.is_same()).unwrap_or(Form::same(0))),
            Some(_) => form,
        });
    }
    let is_found = |(id, form): (NodeId, &Option<Form>)| {
        solution.value(id).is_some() && form.is_some_and(Form::is_same)
    };
    forms.iter().map(is_found).collect()
}

fn form(graph: &Graph, forms: &NodeMap<Option<Form>>, node: &Node, ids: Ids) -> Option<Form> {
    match &node.op {
        Op::Number(bits) => Some(Form::range(*bits, *bits, node.width)),
        Op::Input(built_in, component) if node.width > 1 => {
            ids.input(*built_in, *component, node.width)
        }
        Op::Pure(opcode, _) if node.width > 0 => {
            let of = |arg: &NodeId| {
                let width = graph.node(*arg).width;
                Some(((*forms.get(*arg)?)?, width)).filter(|_| width > 0)
            };
            let args: Vec<(Form, u32)> = node.args.iter().map(of).collect::<Option<_>>()?;
            pure(spirv::Op::from_u32(u32::from(*opcode))?, node.width, &args)
        }
        _ => None, // memory, a phi, or more than a scalar
    }
}

/// The result, of `width` bits, of an instruction on values with their widths.
fn pure(op: spirv::Op, width: u32, args: &[(Form, u32)]) -> Option<Form> {
    use spirv::Op as S;
    let same = |is: bool| is.then_some(Form::same(0));
    match (op, args) {
        (S::Bitcast, [(a, from)]) if *from == width => Some(*a),
        (S::UConvert | S::SConvert, [(a, from)]) => a.converted(*from, width, op == S::SConvert),
        (S::Select, [(condition, _), (yes, _), (no, _)]) if condition.is_same() => Some(Form {
            align: yes.align.min(no.align),
            least: yes.least.min(no.least),
            most: yes.most.max(no.most),
        }),
        (S::ULessThan | S::SLessThan, [(a, from), (b, _)]) => {
            same(a.less_is_same(*b, *from, op == S::SLessThan))
        }
        (S::IEqual, [(a, from), (b, _)]) => same(a.equal_is_same(*b, *from)),
        (S::ShiftLeftLogical | S::ShiftRightLogical | S::ShiftRightArithmetic, [a, (by, of)]) => {
            let by = u32::try_from(by.constant(*of)?)
                .ok()
                .filter(|by| *by < width)?;
            match op {
                S::ShiftLeftLogical => a.0.times(1 << by, width),
                _ => a.0.shifted_right(by, width, op == S::ShiftRightArithmetic),
            }
        }
        (_, [(a, of_a), (b, of_b)]) if *of_a == width && *of_b == width && width > 1 => {
            let number = || b.constant(width);
            // As signed numbers, only those that are known not to be negative.
            let positive = || {
                let limit = mask(width - 1);
                (a.align == width && a.most <= limit)
                    .then(|| number().filter(|by| *by <= limit))
                    .flatten()
            };
            match op {
                S::IAdd => a.add(*b, width),
                S::ISub => a.sub(*b, width),
                S::IMul => match (a.constant(width), number()) {
                    (Some(factor), _) => b.times(factor, width),
                    (_, Some(factor)) => a.times(factor, width),
                    _ if a.is_same() && b.is_same() => {
                        let align = a.trailing().saturating_add(b.trailing());
                        Some(Form::same(align.min(width)))
                    }
                    _ => None,
                },
                S::UDiv => a.quotient(number()?, width),
                S::UMod => a.rest(number()?, width),
                S::SDiv => a.quotient(positive()?, width),
                S::SRem | S::SMod => a.rest(positive()?, width),
                S::BitwiseAnd => match (a.constant(width), number()) {
                    (Some(bits), _) => b.masked(bits, width),
                    (_, Some(bits)) => a.masked(bits, width),
                    _ => None,
                },
                S::BitwiseOr | S::BitwiseXor => a.joined(*b, width),
                _ => None,
            }
        }
        // Of Booleans.
        _ => same(args.iter().all(|(form, _)| form.is_same())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
