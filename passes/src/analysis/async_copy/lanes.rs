//! Checks that the invocations of a subgroup copy to consecutive addresses.

use super::Input;
use super::address::Address;
use super::expression::Expression;
use super::sum::Sum;
use crate::analysis::uniformity::graph::{NodeId, Op};
use crate::analysis::uniformity::{Model, Uniformity, lanes};
use crate::module::{Constants, Declarations, Id, Type};

/// The number of elements that a step of each index is worth, for indices that lead from `ty` to an
/// element of type `element`; `None` when they do not go through arrays alone.
fn strides(
    declarations: &Declarations<'_>,
    constants: &Constants,
    ty: Id,
    element: Id,
    indices: usize,
) -> Option<Vec<u64>> {
    let mut lengths = Vec::new();
    let mut at = ty;
    for _ in 0..indices {
        let Type::Array { element, length } = declarations.ty(at)? else {
            return None;
        };
        lengths.push(constants.as_u32(*length)?);
        at = *element;
    }
    if at != element {
        return None;
    }
    let mut strides = vec![1u64; indices];
    for place in (1..indices).rev() {
        let inner = *strides.get(place)?;
        let length = u64::from(*lengths.get(place)?);
        *strides.get_mut(place - 1)? = inner.checked_mul(length)?;
    }
    Some(strides)
}

/// Whether the destination `address`, of type `element` in `variable`, is that of the first
/// invocation plus LocalInvocationIndex elements: the part of the index that differs in a subgroup
/// is computed for every invocation of the workgroup.
pub(super) fn is_linear(
    input: Input<'_, '_>,
    model: &Model,
    subgroup: &Uniformity,
    address: &Address,
    element: Id,
) -> bool {
    linear(input, model, subgroup, address, element).unwrap_or(false)
}

fn linear(
    input: Input<'_, '_>,
    model: &Model,
    subgroup: &Uniformity,
    address: &Address,
    element: Id,
) -> Option<bool> {
    let (declarations, constants) = (input.declarations, input.constants);
    let size = input.size?;
    let count = lanes::count(size).filter(|count| *count <= lanes::MOST_LANES)?;
    let variable = declarations.variable(address.variable?)?;
    let Type::Pointer { pointee, .. } = declarations.ty(variable.pointer_type)? else {
        return None;
    };
    let strides = strides(
        declarations,
        constants,
        (*pointee)?,
        element,
        address.nodes.len(),
    )?;
    let mut terms: Vec<(u64, Term)> = Vec::new();
    for (node, stride) in address.nodes.iter().zip(strides) {
        for term in Sum::analyze(model, *node).terms {
            if subgroup.value(term).is_some() {
                terms.push((stride, Term::analyze(model, term)));
            }
        }
    }
    let at = |lane: u32| -> Option<u64> {
        terms.iter().try_fold(0u64, |sum, (stride, term)| {
            Some(sum.wrapping_add(stride.wrapping_mul(term.at(model, size, lane)?)))
        })
    };
    let first = at(0)?;
    Some((0..count).all(|lane| at(lane) == Some(first.wrapping_add(u64::from(lane)))))
}

/// A part of an index.
enum Term {
    /// GlobalInvocationId, which is LocalInvocationId and something that is the same for the
    /// workgroup.
    Global(u32),
    Other(Expression),
}

impl Term {
    fn analyze(model: &Model, node: NodeId) -> Term {
        const GLOBAL_ID: u32 = spirv::BuiltIn::GlobalInvocationId as u32;
        match model.graph.node(node).op {
            Op::Input(GLOBAL_ID, component) => Term::Global(component),
            _ => Term::Other(Expression::analyze(&model.graph, node)),
        }
    }

    fn at(&self, model: &Model, size: [u32; 3], lane: u32) -> Option<u64> {
        const LOCAL_ID: u32 = spirv::BuiltIn::LocalInvocationId as u32;
        match self {
            Term::Global(component) => lanes::input(size, lane, LOCAL_ID, *component),
            Term::Other(expression) => expression.at_lane(&model.graph, size, lane),
        }
    }
}
