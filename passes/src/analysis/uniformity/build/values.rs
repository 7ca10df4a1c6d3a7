//! Values that come from outside of the function's code: constants, undefined values, parameters,
//! built-ins.

use super::{Builder, MOST_PARTS};
use crate::analysis::uniformity::graph::{NodeId, Op, Source};
use crate::analysis::uniformity::scalar_width;
use crate::module::{Constant, Id, Type};
use spirv::Decoration;

impl<'m> Builder<'_, 'm> {
    pub(super) fn width_of_value(&self, id: Id) -> u32 {
        self.input
            .declarations
            .type_of(id)
            .map_or(0, |ty| scalar_width(self.input.declarations, ty))
    }

    pub(super) fn value(&mut self, id: Id) -> NodeId {
        if let Some(node) = self.values.get(&id) {
            return *node;
        }
        let constants = self.input.constants;
        if let Some(constant) = constants.get(id) {
            let node = self.constant(id, constant);
            self.values.insert(id, node);
            return node;
        }
        let (declarations, at) = (self.input.declarations, self.at);
        let def = declarations.module.def(id);
        match def.and_then(|inst| inst.op()) {
            Some(spirv::Op::Variable) => self.graph.make(Op::Variable(id), Vec::new(), 0),
            Some(spirv::Op::Undef) => {
                self.graph
                    .leaf(Source::Undefined, Vec::new(), self.width_of_value(id), at)
            }
            Some(_) if def.is_some_and(|inst| declarations.function_at(inst.offset).is_none()) => {
                let width = self.width_of_value(id);
                self.graph.make(Op::Constant(id), Vec::new(), width)
            }
            _ => self.graph.leaf(Source::Undefined, Vec::new(), 0, at), // it does not dominate its use
        }
    }

    pub(super) fn constant(&mut self, id: Id, constant: &Constant) -> NodeId {
        let width = self.width_of_value(id);
        match constant {
            Constant::Bool(value) => self.graph.number(u64::from(*value), 1),
            Constant::Int { bits, width } => self.graph.number(*bits, *width),
            Constant::Null if width > 0 => self.graph.number(0, width),
            Constant::Composite(parts) if parts.len() <= MOST_PARTS => {
                let mut nodes = Vec::with_capacity(parts.len());
                for part in parts {
                    match part {
                        Constant::Bool(value) => {
                            nodes.push(self.graph.number(u64::from(*value), 1))
                        }
                        Constant::Int { bits, width } => {
                            nodes.push(self.graph.number(*bits, *width))
                        }
                        Constant::Float { .. }
                        | Constant::Composite(_)
                        | Constant::Null
                        | Constant::Undef => break,
                    }
                }
                if nodes.len() == parts.len() {
                    self.graph.make(Op::Composite, nodes, 0)
                } else {
                    self.graph.make(Op::Constant(id), Vec::new(), 0)
                }
            }
            Constant::Undef => {
                let at = self.at;
                self.graph.leaf(Source::Undefined, Vec::new(), width, at)
            }
            Constant::Float { .. } | Constant::Composite(_) | Constant::Null => {
                self.graph.make(Op::Constant(id), Vec::new(), 0)
            }
        }
    }

    /// The value of a variable of class Input.
    pub(super) fn built_in(&mut self, variable: Id) -> NodeId {
        let declarations = self.input.declarations;
        let built_in = declarations
            .decoration(variable, Decoration::BuiltIn)
            .unwrap_or(u32::MAX);
        let pointee = match declarations
            .type_of(variable)
            .and_then(|ty| declarations.ty(ty))
        {
            Some(Type::Pointer {
                pointee: Some(pointee),
                ..
            }) => *pointee,
            _ => return self.graph.make(Op::Input(built_in, 0), Vec::new(), 0),
        };
        match self.component(pointee) {
            Some((width, count)) => {
                let parts = (0..count)
                    .map(|index| self.input_part(built_in, index, width))
                    .collect();
                self.graph.make(Op::Composite, parts, 0)
            }
            None => {
                let width = scalar_width(self.input.declarations, pointee);
                self.input_part(built_in, 0, width)
            }
        }
    }

    pub(super) fn input_part(&mut self, built_in: u32, index: u32, width: u32) -> NodeId {
        const GROUP_ID: u32 = spirv::BuiltIn::WorkgroupId as u32;
        const LOCAL_ID: u32 = spirv::BuiltIn::LocalInvocationId as u32;
        const GLOBAL_ID: u32 = spirv::BuiltIn::GlobalInvocationId as u32;
        let single = self
            .input
            .size
            .and_then(|size| size.get(index as usize).copied())
            == Some(1);
        match built_in {
            LOCAL_ID if single => self.graph.number(0, width),
            // Alike in the workgroup, but not the number of the workgroup where there is a global
            // offset.
            GLOBAL_ID if single => {
                let group = self
                    .graph
                    .make(Op::Input(GROUP_ID, index), Vec::new(), width);
                self.graph.make(
                    Op::Pure(spirv::Op::Nop as u16, Vec::new()),
                    vec![group],
                    width,
                )
            }
            _ => self
                .graph
                .make(Op::Input(built_in, index), Vec::new(), width),
        }
    }

    /// Width of the components and their number, of a vector type.
    pub(super) fn component(&self, ty: Id) -> Option<(u32, u32)> {
        match self.input.declarations.ty(ty)? {
            Type::Vector { component, count } => {
                Some((scalar_width(self.input.declarations, *component), *count))
            }
            _ => None, // not a vector
        }
    }

    pub(super) fn components(&self, id: Id) -> Option<u32> {
        Some(self.component(self.input.declarations.type_of(id)?)?.1)
    }
}
