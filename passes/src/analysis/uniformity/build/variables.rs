//! Loads, stores and calls: variables that are followed have values, other memory gives leaves.

use super::{Builder, Undo};
use crate::analysis::uniformity::graph::{Graph, NodeId, Op, Source};
use crate::analysis::uniformity::{memory, scalar_width};
use crate::module::{Id, Inst, callee};
use spirv::StorageClass;

impl<'m> Builder<'_, 'm> {
    /// The variable that the address `pointer` starts at, and the indices after it.
    pub(super) fn address(&self, pointer: NodeId) -> (Option<Id>, Vec<NodeId>) {
        let node = self.graph.node(pointer);
        match (&node.op, node.args.split_first()) {
            (Op::Variable(id), _) => (Some(*id), Vec::new()),
            (Op::Pure(opcode, _), Some((base, indices)))
                if *opcode == spirv::Op::AccessChain as u16 =>
            {
                match self.graph.node(*base).op {
                    Op::Variable(id) => (Some(id), indices.to_vec()),
                    _ => (None, Vec::new()), // an address from elsewhere
                }
            }
            _ => (None, Vec::new()), // an address from elsewhere
        }
    }

    pub(super) fn part(&mut self, mut value: NodeId, path: &[NodeId], width: u32) -> NodeId {
        for (place, index) in path.iter().enumerate() {
            let width = if place + 1 == path.len() { width } else { 0 };
            value = match self
                .graph
                .number_of(*index)
                .and_then(|index| u32::try_from(index).ok())
            {
                Some(index) => self.graph.extract(value, index, width),
                None => self.graph.make(
                    Op::Pure(spirv::Op::VectorExtractDynamic as u16, Vec::new()),
                    vec![value, *index],
                    width,
                ),
            };
        }
        value
    }

    pub(super) fn load(&mut self, inst: Inst<'m>, pointer_id: Id) {
        let declarations = self.input.declarations;
        let width = inst
            .result_type()
            .map_or(0, |ty| scalar_width(self.input.declarations, ty));
        let pointer = self.value(pointer_id);
        let (variable, path) = self.address(pointer);
        let volatile = inst.operands().get(1).is_some_and(|access| access & 1 != 0);
        let class = memory::class_of(declarations, pointer_id);
        let node = if let Some(index) = variable.and_then(|id| self.promoted.index(id)) {
            self.part(self.current[index], &path, width)
        } else if let (Some(StorageClass::Input), Some(variable)) = (class, variable) {
            let value = self.built_in(variable);
            self.part(value, &path, width)
        } else if !volatile
            && self
                .input
                .memory
                .is_constant(declarations, pointer_id, variable)
        {
            self.graph.make(Op::Constantly, vec![pointer], width)
        } else {
            let source = match (class, variable) {
                (Some(StorageClass::Workgroup), Some(variable)) => {
                    let bit = self.input.memory.workgroup_bit(Some(variable));
                    let qualified = self.input.memory.qualifiers(declarations, pointer_id);
                    let own = !self.is_in_callee(); // the places of barriers are the caller's
                    if own && self.quiet.is_quiet(inst.offset, bit) && !volatile && !qualified.any()
                    {
                        Source::QuietWorkgroup(variable)
                    } else {
                        Source::Workgroup(variable)
                    }
                }
                _ => Source::Memory(variable), // others may write it
            };
            let at = self.at;
            self.graph.leaf(source, vec![pointer], width, at)
        };
        self.keep(inst, node);
    }

    pub(super) fn store(&mut self, pointer: Id, value: Id, undo: &mut Undo) {
        let pointer = self.value(pointer);
        let (variable, path) = self.address(pointer);
        let Some(index) = variable.and_then(|id| self.promoted.index(id)) else {
            return;
        };
        let mut value = self.value(value);
        // From the innermost part outwards.
        for depth in (0..path.len()).rev() {
            let whole = self.part(self.current[index], path.get(..depth).unwrap_or(&[]), 0);
            let Some(at) = path.get(depth) else { continue };
            value = match self
                .graph
                .number_of(*at)
                .and_then(|at| u32::try_from(at).ok())
            {
                Some(at) => self.graph.insert(whole, at, value),
                None => self.graph.make(
                    Op::Pure(spirv::Op::VectorInsertDynamic as u16, Vec::new()),
                    vec![whole, value, *at],
                    0,
                ),
            };
        }
        self.assign(index, value, undo);
    }

    pub(super) fn call(
        &mut self,
        inst: Inst<'m>,
        function: Id,
        arguments: &[u32],
        undo: &mut Undo,
    ) {
        if let Some(followed) = self.follow(function, arguments, undo) {
            if let Some(result) = followed.result {
                self.keep(inst, result);
            }
            return;
        }
        let pure = self.input.memory.is_pure(function) && callee(inst).is_some();
        let mut args = Vec::new();
        let mut changed = Vec::new();
        let mut known = true;
        for argument in arguments {
            let node = self.value(Id(*argument));
            let (variable, path) = self.address(node);
            match variable.and_then(|id| self.promoted.index(id)) {
                Some(index) => {
                    args.push(self.part(self.current[index], &path, 0));
                    changed.push(index);
                }
                None => {
                    // What an address outside of the promoted variables leads to is not an
                    // argument's value.
                    known &= memory::class_of(self.input.declarations, Id(*argument))
                        .is_none_or(|class| class == StorageClass::UniformConstant);
                    args.push(node);
                }
            }
        }
        let width = inst
            .result_type()
            .map_or(0, |ty| scalar_width(self.input.declarations, ty));
        let at = self.at;
        let output = |graph: &mut Graph, number: u32, width: u32| {
            if pure && known {
                graph.make(Op::Call(function, number), args.clone(), width)
            } else {
                graph.leaf(Source::Call(function), Vec::new(), width, at)
            }
        };
        let result = output(&mut self.graph, 0, width);
        let mut outputs = Vec::new();
        for (number, index) in (1u32..).zip(changed) {
            let width = self.promoted.widths[index];
            outputs.push((index, output(&mut self.graph, number, width)));
        }
        if !pure {
            for index in self.promoted.shared.clone() {
                let value = self.graph.leaf(Source::Call(function), Vec::new(), 0, at);
                outputs.push((index, value));
            }
        }
        for (index, value) in outputs {
            self.assign(index, value, undo);
        }
        self.keep(inst, result);
    }
}
