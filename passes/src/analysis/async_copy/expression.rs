//! Expressions over the phis of a function, made once and evaluated for each state of these phis.

use super::value::{self, Value};
use crate::analysis::uniformity::graph::{Graph, NodeId, Op};
use crate::analysis::uniformity::lanes;
use spirv::Op as Opcode;
use std::collections::BTreeMap;

/// Larger expressions are taken for values of which nothing is known.
const MOST_NODES: usize = 256;

/// What a number is computed from: nodes, arguments first, down to phis and leaves.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    nodes: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    node: NodeId,
    /// Places of the arguments among the steps.
    args: Vec<usize>,
}

impl Expression {
    /// The expression of `root`.
    pub(super) fn analyze(graph: &Graph, root: NodeId) -> Expression {
        let mut found = vec![root];
        let mut seen = BTreeMap::from([(root, ())]);
        let mut next = 0;
        while let Some(at) = found.get(next) {
            let node = graph.node(*at);
            if has_arguments(&node.op) {
                for arg in &node.args {
                    if seen.insert(*arg, ()).is_none() {
                        found.push(*arg);
                    }
                }
            }
            next += 1;
            if found.len() > MOST_NODES {
                found = vec![root];
                break;
            }
        }
        found.sort_unstable(); // arguments are made before what uses them
        let place: BTreeMap<NodeId, usize> = found.iter().copied().zip(0..).collect();
        let step = |node: &NodeId| {
            let args = &graph.node(*node).args;
            let args = if has_arguments(&graph.node(*node).op) {
                args.iter()
                    .filter_map(|arg| place.get(arg).copied())
                    .collect()
            } else {
                Vec::new()
            };
            Step { node: *node, args }
        };
        Expression {
            nodes: found.iter().map(step).collect(),
        }
    }

    /// The phis in it.
    pub(super) fn phis<'e>(&'e self, graph: &'e Graph) -> impl Iterator<Item = NodeId> + 'e {
        self.nodes
            .iter()
            .map(|step| step.node)
            .filter(|node| graph.node(*node).op == Op::Phi)
    }

    /// What it is computed from and is not computed itself.
    pub(super) fn leaves(&self) -> impl Iterator<Item = NodeId> + '_ {
        let leaves = self.nodes.iter().filter(|step| step.args.is_empty());
        leaves.map(|step| step.node)
    }

    /// The constants that something in it is divided by for the rest, zero left out.
    pub(super) fn divisors<'e>(&'e self, graph: &'e Graph) -> impl Iterator<Item = u64> + 'e {
        const REST: [Opcode; 3] = [Opcode::UMod, Opcode::SRem, Opcode::SMod];
        self.nodes.iter().filter_map(|step| {
            let node = graph.node(step.node);
            let is_rest =
                matches!(node.op, Op::Pure(op, _) if REST.iter().any(|rest| *rest as u16 == op));
            let divisor = node.args.get(1).filter(|_| is_rest)?;
            match graph.node(*divisor).op {
                Op::Number(by) if by > 0 => Some(by),
                _ => None, // not a constant
            }
        })
    }

    /// Its value when `phi` gives those of the phis, in a workgroup of `size`: all that it can be
    /// for any invocation.
    pub(super) fn evaluate(
        &self,
        graph: &Graph,
        size: Option<[u32; 3]>,
        phi: impl Fn(NodeId) -> Option<Value>,
    ) -> Value {
        self.compute(graph, phi, |built_in, component, width| {
            input(built_in, component, width, size)
        })
    }

    /// Its value for the invocation with LocalInvocationIndex `lane` of a workgroup of `size`;
    /// `None` when something else decides about it.
    pub(super) fn at_lane(&self, graph: &Graph, size: [u32; 3], lane: u32) -> Option<u64> {
        let input = |built_in, component, width| {
            let known = lanes::input(size, lane, built_in, component);
            known.map_or(Value::any(width), |number| Value::exactly(number, width))
        };
        self.compute(graph, |_| None, input).number()
    }

    fn compute(
        &self,
        graph: &Graph,
        phi: impl Fn(NodeId) -> Option<Value>,
        input: impl Fn(u32, u32, u32) -> Value,
    ) -> Value {
        let mut values: Vec<Value> = Vec::with_capacity(self.nodes.len());
        for step in &self.nodes {
            let node = graph.node(step.node);
            let width = node.width;
            let value = match &node.op {
                _ if !(1..=64).contains(&width) => Value::any(64),
                Op::Number(bits) => Value::exactly(*bits, width),
                Op::Phi => phi(step.node).unwrap_or_else(|| Value::any(width)),
                Op::Input(built_in, component) => input(*built_in, *component, width),
                Op::Pure(opcode, literals) if literals.is_empty() => {
                    let args: Vec<Value> = step
                        .args
                        .iter()
                        .filter_map(|arg| values.get(*arg).copied())
                        .collect();
                    if args.len() == node.args.len() {
                        value::evaluate(*opcode, width, &args)
                    } else {
                        Value::any(width)
                    }
                }
                _ => Value::any(width), // memory, or part of a composite
            };
            values.push(value);
        }
        values.last().copied().unwrap_or_else(|| Value::any(64))
    }

    /// For each phi in it, how many of its low bits decide the low `count` bits of the expression.
    pub(super) fn demands(&self, graph: &Graph, count: u32) -> Vec<(NodeId, u32)> {
        let mut demands = vec![0; self.nodes.len()];
        if let Some(last) = demands.last_mut() {
            *last = count;
        }
        let mut phis = Vec::new();
        for (place, step) in self.nodes.iter().enumerate().rev() {
            let Some(count) = demands.get(place).copied().filter(|count| *count > 0) else {
                continue;
            };
            let node = graph.node(step.node);
            match &node.op {
                Op::Phi => phis.push((step.node, count)),
                Op::Pure(opcode, _) => {
                    let args = || step.args.iter().filter_map(|arg| self.nodes.get(*arg));
                    let widths: Vec<u32> = args().map(|arg| graph.node(arg.node).width).collect();
                    let numbers: Vec<Option<u64>> = args()
                        .map(|arg| match graph.node(arg.node).op {
                            Op::Number(bits) => Some(bits),
                            _ => None, // not a constant
                        })
                        .collect();
                    for (index, arg) in step.args.iter().enumerate() {
                        let needed = value::demand(*opcode, count, index, &widths, &numbers);
                        if let Some(slot) = demands.get_mut(*arg) {
                            *slot = needed.max(*slot);
                        }
                    }
                }
                _ => {} // leaves, and what is not followed
            }
        }
        phis
    }
}

/// Returns true if the value of a node is looked for in its arguments.
fn has_arguments(op: &Op) -> bool {
    matches!(op, Op::Pure(..))
}

/// A built-in, in a workgroup of `size`.
fn input(built_in: u32, component: u32, width: u32, size: Option<[u32; 3]>) -> Value {
    const LOCAL_ID: u32 = spirv::BuiltIn::LocalInvocationId as u32;
    const LOCAL_INDEX: u32 = spirv::BuiltIn::LocalInvocationIndex as u32;
    const GROUP_SIZE: u32 = spirv::BuiltIn::WorkgroupSize as u32;
    let Some(size) = size else {
        return Value::any(width);
    };
    let below = |end: u32| Value::between(0, u64::from(end.saturating_sub(1)), width);
    let dimension = size.get(component as usize).copied();
    match built_in {
        LOCAL_ID => dimension.map_or(Value::any(width), below),
        LOCAL_INDEX => lanes::count(size).map_or(Value::any(width), below),
        GROUP_SIZE => dimension.map_or(Value::any(width), |end| {
            Value::exactly(u64::from(end), width)
        }),
        _ => Value::any(width), // the dispatch decides it
    }
}
