//! A graph of the values of one function: equal expressions over equal leaves are one node.
//!
//! Vectors are taken apart into scalars where their parts are known, so that one component of an id
//! can be uniform while another is not. A node's value is a function of the leaves and phis under
//! it, and SSA dominance makes it the same at all places where the value is to be had in one
//! iteration: two branches on one node go the same way unless a leaf or phi under it has been
//! executed again in between.

use super::arithmetic;
use crate::module::{BlockIndex, Id, Key, Table, WordOffset};
use std::collections::HashMap;

/// Names a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl Key for NodeId {
    #[inline]
    fn new(index: usize) -> NodeId {
        NodeId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A table with an entry for each node.
pub type NodeMap<T> = Table<NodeId, T>;

/// The source of a leaf's value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A parameter of the entry point: an argument of the dispatch.
    Parameter,
    /// A variable of class Workgroup that nothing has written since a barrier; the argument is the
    /// address.
    QuietWorkgroup(Id),
    /// A variable of class Workgroup that may have been written since the last barrier.
    Workgroup(Id),
    /// Memory that the module or another invocation may write; the variable, when it is known.
    Memory(Option<Id>),
    /// An atomic instruction.
    Atomic,
    /// A group instruction: the scope of the operation when it gives all invocations of the scope
    /// one value.
    Group(Option<crate::module::Scope>),
    /// A call of a function that reads more than its arguments.
    Call(Id),
    /// A variable that nothing has been stored to, or OpUndef.
    Undefined,
    /// An instruction that this analysis does not know.
    Other(u16),
}

/// The operation of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// A scalar constant: zero-extended bits.
    Number(u64),
    /// Another constant.
    Constant(Id),
    /// Component of a built-in (its number in SPIR-V 3.21); 0 for scalars.
    Input(u32, u32),
    /// A variable: its address.
    Variable(Id),
    /// A SPIR-V instruction without effects, with its literals.
    Pure(u16, Vec<u32>),
    /// Part of a composite at a constant index.
    Extract(u32),
    /// A composite with one part replaced, at a constant index.
    Insert(u32),
    /// A composite of all its parts.
    Composite,
    /// A load from memory that no invocation writes; the argument is the address.
    Constantly,
    /// A result of a call that depends on its arguments alone: the function and which result.
    Call(Id, u32),
    /// A value that depends on where control comes from.
    Phi,
    /// A value from outside.
    Leaf(Source),
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The arguments. Those of a phi are in the order of its `from` blocks.
    pub args: Vec<NodeId>,
    /// Bits of a scalar integer, 1 for a Boolean, 0 for anything else.
    pub width: u32,
    /// Word offset of the first instruction that computes it; 0 when none does.
    pub at: WordOffset,
    /// The block of a phi or a leaf.
    pub block: Option<BlockIndex>,
    /// Of a phi: the blocks that its arguments come from.
    pub from: Vec<BlockIndex>,
}

/// The nodes of one function.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: NodeMap<Node>,
    known: HashMap<(Op, Vec<NodeId>, u32), NodeId>, // looked up, never iterated
    /// Word offset of the instruction that nodes are made for.
    pub(super) at: WordOffset,
    /// Every node asked for since this was emptied last.
    pub(super) asked: Vec<NodeId>,
}

impl Graph {
    /// All nodes; a node's arguments come before it, but for those of phis.
    pub fn nodes(&self) -> &NodeMap<Node> {
        &self.nodes
    }

    /// The node `id`.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    pub(super) fn number_of(&self, id: NodeId) -> Option<u64> {
        match self.node(id).op {
            Op::Number(bits) => Some(bits),
            _ => None, // not a constant scalar
        }
    }

    fn push(&mut self, op: Op, args: Vec<NodeId>, width: u32, block: Option<BlockIndex>) -> NodeId {
        let id = self.nodes.push(Node {
            op,
            args,
            width,
            at: self.at,
            block,
            from: Vec::new(),
        });
        self.asked.push(id);
        id
    }

    /// The node of an expression.
    pub(super) fn make(&mut self, op: Op, args: Vec<NodeId>, width: u32) -> NodeId {
        let key = (op, args, width);
        if let Some(id) = self.known.get(&key) {
            self.asked.push(*id);
            return *id;
        }
        let id = self.push(key.0.clone(), key.1.clone(), width, None);
        self.known.insert(key, id);
        id
    }

    pub(super) fn number(&mut self, bits: u64, width: u32) -> NodeId {
        self.make(Op::Number(bits), Vec::new(), width)
    }

    /// A node of its own in `block`.
    pub(super) fn leaf(
        &mut self,
        source: Source,
        args: Vec<NodeId>,
        width: u32,
        block: BlockIndex,
    ) -> NodeId {
        self.push(Op::Leaf(source), args, width, Some(block))
    }

    pub(super) fn phi(&mut self, width: u32, block: BlockIndex) -> NodeId {
        self.push(Op::Phi, Vec::new(), width, Some(block))
    }

    pub(super) fn add_incoming(&mut self, phi: NodeId, from: BlockIndex, value: NodeId) {
        let node = &mut self.nodes[phi];
        node.from.push(from);
        node.args.push(value);
    }

    /// Part `index` of `value`.
    pub(super) fn extract(&mut self, mut value: NodeId, index: u32, width: u32) -> NodeId {
        // Bounded, as a chain of insertions may be as long as the function.
        for _ in 0..64 {
            let node = self.node(value);
            match (&node.op, node.args.as_slice()) {
                (Op::Composite, parts) => {
                    return match parts.get(index as usize) {
                        Some(part) => *part,
                        None => self.make(Op::Extract(index), vec![value], width),
                    };
                }
                (Op::Insert(at), [_, part]) if *at == index => return *part,
                (Op::Insert(_), [whole, _]) => value = *whole,
                _ => break, // nothing is known of its parts
            }
        }
        self.make(Op::Extract(index), vec![value], width)
    }

    /// `value` with part `index` replaced by `part`.
    pub(super) fn insert(&mut self, value: NodeId, index: u32, part: NodeId) -> NodeId {
        let node = self.node(value);
        if node.op == Op::Composite && node.args.len() <= 16 {
            let mut parts = node.args.clone();
            if let Some(slot) = parts.get_mut(index as usize) {
                *slot = part;
                return self.make(Op::Composite, parts, 0);
            }
        }
        self.make(Op::Insert(index), vec![value, part], 0)
    }

    /// The node of an instruction without effects. Comparisons are brought into one form, so that a
    /// condition and its negation share a node; constants are folded.
    pub(super) fn pure(
        &mut self,
        opcode: u16,
        mut literals: Vec<u32>,
        mut args: Vec<NodeId>,
        width: u32,
    ) -> NodeId {
        use spirv::Op as S;
        let is = |op: S| u32::from(opcode) == op as u32;
        let of = |op: S| op as u16;
        if let [a, b] = *args.as_slice() {
            let (other, swap, negate) = match S::from_u32(u32::from(opcode)) {
                Some(S::INotEqual) => (S::IEqual, false, true),
                Some(S::LogicalNotEqual) => (S::LogicalEqual, false, true),
                Some(S::UGreaterThan) => (S::ULessThan, true, false),
                Some(S::SGreaterThan) => (S::SLessThan, true, false),
                Some(S::UGreaterThanEqual) => (S::ULessThan, false, true),
                Some(S::SGreaterThanEqual) => (S::SLessThan, false, true),
                Some(S::ULessThanEqual) => (S::ULessThan, true, true),
                Some(S::SLessThanEqual) => (S::SLessThan, true, true),
                _ => (S::Nop, false, false), // it has one form
            };
            if other != S::Nop {
                let args = if swap { vec![b, a] } else { vec![a, b] };
                let positive = self.pure(of(other), Vec::new(), args, width);
                return if negate {
                    self.pure(of(S::LogicalNot), Vec::new(), vec![positive], width)
                } else {
                    positive
                };
            }
            let commutes = [
                S::IEqual,
                S::LogicalEqual,
                S::LogicalAnd,
                S::LogicalOr,
                S::IAdd,
                S::IMul,
            ]
            .into_iter()
            .any(is);
            if commutes && b < a {
                args.swap(0, 1);
            }
            if a == b && width == 1 {
                match S::from_u32(u32::from(opcode)) {
                    Some(S::IEqual | S::LogicalEqual) => return self.number(1, 1),
                    Some(S::ULessThan | S::SLessThan) => return self.number(0, 1),
                    Some(S::LogicalAnd | S::LogicalOr) => return a,
                    _ => {} // floating-point numbers may be NaN
                }
            }
        }
        if is(S::LogicalNot)
            && let [a] = *args.as_slice()
        {
            let inner = self.node(a);
            if inner.op == Op::Pure(opcode, Vec::new())
                && let [positive] = *inner.args.as_slice()
            {
                return positive;
            }
        }
        if is(S::CopyObject)
            && let [a] = *args.as_slice()
        {
            return a;
        }
        if is(S::Select)
            && let [condition, yes, no] = *args.as_slice()
        {
            match (
                self.number_of(condition),
                self.number_of(yes),
                self.number_of(no),
            ) {
                (Some(0), ..) => return no,
                (Some(_), ..) => return yes,
                (None, Some(1), Some(0)) if width == 1 => return condition,
                _ if yes == no => return yes,
                _ => {} // a choice
            }
        }
        if let Some(value) = self.fold(opcode, &args, width) {
            return self.number(value, width);
        }
        literals.shrink_to_fit();
        self.make(Op::Pure(opcode, literals), args, width)
    }

    fn fold(&self, opcode: u16, args: &[NodeId], width: u32) -> Option<u64> {
        let from = args.first().map_or(0, |arg| self.node(*arg).width);
        arithmetic::evaluate(opcode, width, from, args.len(), |index| {
            args.get(index).and_then(|arg| self.number_of(*arg))
        })
    }
}
