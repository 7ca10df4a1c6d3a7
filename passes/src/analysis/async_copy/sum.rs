//! Sums of nodes.

use crate::analysis::uniformity::Model;
use crate::analysis::uniformity::graph::{NodeId, Op};

/// Nodes that are added, and a constant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sum {
    /// The nodes, ascending.
    pub(super) terms: Vec<NodeId>,
    pub(super) constant: u64,
    pub(super) width: u32,
}

impl Sum {
    /// `node`, taken apart at its additions.
    pub(super) fn analyze(model: &Model, node: NodeId) -> Sum {
        const MOST_TERMS: usize = 32;
        let width = model.graph.node(node).width;
        let mut sum = Sum {
            terms: Vec::new(),
            constant: 0,
            width,
        };
        let mut work = vec![node];
        while let Some(at) = work.pop() {
            let node = model.graph.node(at);
            match &node.op {
                Op::Number(bits) => sum.constant = sum.constant.wrapping_add(*bits),
                Op::Pure(opcode, _)
                    if *opcode == spirv::Op::IAdd as u16
                        && node.width == width
                        && work.len() + sum.terms.len() < MOST_TERMS =>
                {
                    work.extend(&node.args);
                }
                _ => sum.terms.push(at), // a term
            }
        }
        if width < 64 {
            sum.constant &= (1 << width) - 1;
        }
        sum.terms.sort_unstable();
        sum
    }
}
