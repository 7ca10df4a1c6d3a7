//! Values for each invocation of a workgroup whose size is constant.

use super::arithmetic;
use super::graph::{Graph, NodeId, Op};
use std::collections::HashMap;

/// Largest workgroup whose invocations are analysed one by one. Vulkan requires at least 128;
/// devices support up to 1024.
pub const MOST_LANES: u32 = 1024;

/// Bound on nodes times invocations that conditions of one function may cost.
const MOST_WORK: usize = 1 << 21;

/// The invocations of a workgroup.
#[derive(Clone, Debug)]
pub struct Lanes {
    size: Option<[u32; 3]>,
    left: usize,
}

/// The number of invocations of a workgroup.
pub fn count(size: [u32; 3]) -> Option<u32> {
    size[0].checked_mul(size[1])?.checked_mul(size[2])
}

/// The value of a built-in of invocation `lane` (LocalInvocationIndex), where the size of the
/// workgroup decides it.
pub fn input(size: [u32; 3], lane: u32, built_in: u32, component: u32) -> Option<u64> {
    const LOCAL_ID: u32 = spirv::BuiltIn::LocalInvocationId as u32;
    const LOCAL_INDEX: u32 = spirv::BuiltIn::LocalInvocationIndex as u32;
    const GROUP_SIZE: u32 = spirv::BuiltIn::WorkgroupSize as u32;
    let [x, y, _] = size;
    Some(u64::from(match (built_in, component) {
        (LOCAL_INDEX, 0) => lane,
        (LOCAL_ID, 0) => lane.checked_rem(x)?,
        (LOCAL_ID, 1) => lane.checked_div(x)?.checked_rem(y)?,
        (LOCAL_ID, 2) => lane.checked_div(x)?.checked_div(y)?,
        (GROUP_SIZE, index) => *size.get(index as usize)?,
        _ => return None, // the dispatch decides it
    }))
}

/// The value of a node that is neither phi nor leaf, for one invocation.
pub fn evaluate(
    graph: &Graph,
    node: NodeId,
    size: Option<[u32; 3]>,
    lane: u32,
    value: impl Fn(NodeId) -> Option<u64>,
) -> Option<u64> {
    let node = graph.node(node);
    match &node.op {
        Op::Number(bits) => Some(*bits),
        Op::Input(built_in, component) => input(size?, lane, *built_in, *component),
        Op::Pure(opcode, _) => {
            let from = node.args.first().map_or(0, |arg| graph.node(*arg).width);
            arithmetic::evaluate(*opcode, node.width, from, node.args.len(), |index| {
                node.args.get(index).and_then(|arg| value(*arg))
            })
        }
        _ => None, // memory, or more than a scalar
    }
}

impl Lanes {
    /// The invocations of a workgroup of `size`.
    pub fn from_size(size: Option<[u32; 3]>) -> Lanes {
        Lanes {
            size,
            left: MOST_WORK,
        }
    }

    /// The value of `node`, if it depends on constants and the ids inside of the workgroup alone
    /// and is the same for every invocation.
    pub fn same_for_all(&mut self, graph: &Graph, node: NodeId) -> Option<u64> {
        let size = self.size?;
        let lanes = count(size).filter(|lanes| *lanes > 0 && *lanes <= MOST_LANES)?;
        let order = expression(graph, node, &[])?;
        self.left = self.left.checked_sub(order.len())?;
        let first = value_of(graph, &order, Some(size), 0, &[])?;
        for lane in 1..lanes {
            self.left = self.left.checked_sub(order.len())?;
            if value_of(graph, &order, Some(size), lane, &[]) != Some(first) {
                return None;
            }
        }
        Some(first)
    }
}

/// A phi, and the value that it has.
pub type Fixed = (NodeId, u64);

/// The value of `node` for each invocation, if constants and the ids inside of a workgroup of
/// `size` decide it.
pub fn of_each(graph: &Graph, node: NodeId, size: [u32; 3]) -> Option<Vec<u64>> {
    of_each_where(graph, node, size, &[])
}

/// The same where some phis have these values.
pub fn of_each_where(
    graph: &Graph,
    node: NodeId,
    size: [u32; 3],
    fixed: &[Fixed],
) -> Option<Vec<u64>> {
    let lanes = count(size).filter(|lanes| *lanes > 0 && *lanes <= MOST_LANES)?;
    let order = expression(graph, node, fixed)?;
    let each = (0..lanes).map(|lane| value_of(graph, &order, Some(size), lane, fixed));
    each.collect()
}

/// The value of `node` where some phis have these values, if they and constants decide it.
pub fn of_all_where(graph: &Graph, node: NodeId, fixed: &[Fixed]) -> Option<u64> {
    let order = expression(graph, node, fixed)?;
    value_of(graph, &order, None, 0, fixed)
}

/// The nodes that `node` is computed from, arguments first; `None` when they are many or a phi that
/// is not `fixed` is among them.
fn expression(graph: &Graph, node: NodeId, fixed: &[Fixed]) -> Option<Vec<NodeId>> {
    const MOST: usize = 256;
    let mut found = vec![node];
    let mut next = 0;
    while let Some(id) = found.get(next) {
        let at = graph.node(*id);
        if fixed.iter().all(|(phi, _)| phi != id) {
            if at.op == Op::Phi || found.len() > MOST {
                return None;
            }
            found.extend(&at.args);
        }
        next += 1;
    }
    found.sort_unstable(); // arguments are made before what uses them
    found.dedup();
    Some(found)
}

fn value_of(
    graph: &Graph,
    order: &[NodeId],
    size: Option<[u32; 3]>,
    lane: u32,
    fixed: &[Fixed],
) -> Option<u64> {
    let mut values: HashMap<NodeId, u64> = fixed.iter().copied().collect(); // never iterated
    for node in order {
        if let Some(value) = evaluate(graph, *node, size, lane, |arg| values.get(&arg).copied()) {
            values.insert(*node, value);
        }
    }
    let last = order.last()?;
    values.get(last).copied()
}
