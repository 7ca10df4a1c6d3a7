//! Parts of Workgroup variables, and whether two of them may overlap.

use super::expression::Expression;
use super::scan::Access;
use super::split::Split;
use super::sum::Sum;
use super::value::Value;
use crate::analysis::uniformity::Model;
use crate::analysis::uniformity::graph::{NodeId, Op};
use crate::module::{BlockIndex, Id};

/// An address as expressions.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// The variable; `None`: any.
    pub(super) variable: Option<Id>,
    /// The indices; none stand for the whole variable.
    pub(super) indices: Vec<Expression>,
    /// Their nodes.
    pub(super) nodes: Vec<NodeId>,
}

/// What an address can be, for all invocations, in one node of the split graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressValue {
    pub(super) variable: Option<Id>,
    pub(super) indices: Vec<Value>,
}

impl Address {
    /// The address `pointer` in `variable`.
    pub(super) fn analyze(model: &Model, variable: Option<Id>, pointer: Option<Id>) -> Address {
        let nodes = pointer
            .and_then(|pointer| model.value(pointer))
            .map_or(Vec::new(), |pointer| indices(model, pointer, variable));
        Address {
            variable,
            indices: nodes
                .iter()
                .map(|node| Expression::analyze(&model.graph, *node))
                .collect(),
            nodes,
        }
    }

    /// The address of an access. One of a row ends with its last index not known.
    pub(super) fn of_access(model: &Model, access: &Access) -> Address {
        let mut address = Address::analyze(model, access.variable, access.pointer);
        if access.is_row {
            address.indices.pop();
            address.nodes.pop();
        }
        address
    }

    /// The place in node `node` of `split`.
    pub(super) fn place(
        &self,
        model: &Model,
        size: Option<[u32; 3]>,
        split: &Split,
        node: BlockIndex,
    ) -> AddressValue {
        AddressValue {
            variable: self.variable,
            indices: self
                .indices
                .iter()
                .map(|index| split.evaluate(model, size, node, index))
                .collect(),
        }
    }
}

/// The indices of the address `pointer`, which is in `variable`; none when they are not known.
fn indices(model: &Model, pointer: NodeId, variable: Option<Id>) -> Vec<NodeId> {
    let node = model.graph.node(pointer);
    match (&node.op, node.args.split_first()) {
        (Op::Pure(opcode, _), Some((base, indices)))
            if *opcode == spirv::Op::AccessChain as u16
                && matches!(model.graph.node(*base).op, Op::Variable(id) if Some(id) == variable) =>
        {
            indices.to_vec()
        }
        _ => Vec::new(), // the variable itself, or an address from elsewhere
    }
}

impl AddressValue {
    /// Returns true if some invocation's part of the one and some invocation's part of the other
    /// may have bytes in common. An index that is out of bounds is undefined behaviour for
    /// Workgroup variables, so parts with different indices of one array do not overlap.
    pub(super) fn may_overlap(&self, other: &AddressValue) -> bool {
        match (self.variable, other.variable) {
            (Some(a), Some(b)) if a != b => false,
            (Some(_), Some(_)) => {
                let mut indices = self.indices.iter().zip(&other.indices);
                !indices.any(|(a, b)| a.is_apart_from(*b))
            }
            _ => true, // one of them may be anywhere
        }
    }
}

/// Returns true if the addresses, taken in one run of a block, cannot be equal for one invocation:
/// the same sum, with different constants.
pub(super) fn differ_by_a_constant(model: &Model, a: &Address, b: &Address) -> bool {
    a.variable == b.variable
        && a.nodes.len() == b.nodes.len()
        && a.nodes.iter().zip(&b.nodes).any(|(a, b)| {
            let (a, b) = (Sum::analyze(model, *a), Sum::analyze(model, *b));
            a.width == b.width && a.terms == b.terms && a.constant != b.constant
        })
}
