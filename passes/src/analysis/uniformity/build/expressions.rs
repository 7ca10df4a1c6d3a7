//! From an instruction to the node of its result.

use super::{Builder, MOST_INDICES, MOST_PARTS, Undo};
use crate::analysis::uniformity::graph::{NodeId, Op, Source};
use crate::analysis::uniformity::{memory, scalar_width};
use crate::module::facts::{Address, Class, Group};
use crate::module::{Constants, Id, Inst, Scope};

impl<'m> Builder<'_, 'm> {
    pub(super) fn inst(&mut self, inst: Inst<'m>, undo: &mut Undo) {
        use spirv::Op as S;
        let Some(op) = inst.op() else {
            self.opaque(inst, Source::Other(inst.opcode()));
            return;
        };
        let operands = inst.operands();
        if let ([base, indices @ ..], Some(form)) = (operands, typed_chain(inst)) {
            self.chain(inst, form, Id(*base), indices);
            return;
        }
        match (op, operands) {
            (S::Variable | S::Phi | S::Branch | S::BranchConditional | S::Switch, _) => {}
            (S::Load, [pointer, ..]) => self.load(inst, Id(*pointer)),
            (S::Store, [pointer, value, ..]) => self.store(Id(*pointer), Id(*value), undo),
            (S::CompositeExtract, [whole, path @ ..]) => {
                let mut node = self.value(Id(*whole));
                let width = inst
                    .result_type()
                    .map_or(0, |ty| scalar_width(self.input.declarations, ty));
                for (place, index) in path.iter().enumerate() {
                    let width = if place + 1 == path.len() { width } else { 0 };
                    node = self.graph.extract(node, *index, width);
                }
                self.keep(inst, node);
            }
            (S::CompositeInsert, [part, whole, index]) => {
                let (part, whole) = (self.value(Id(*part)), self.value(Id(*whole)));
                let node = self.graph.insert(whole, *index, part);
                self.keep(inst, node);
            }
            (S::CompositeConstruct, parts) => self.construct(inst, parts),
            (S::VectorShuffle, [a, b, selected @ ..]) if selected.len() <= MOST_PARTS => {
                self.shuffle(inst, Id(*a), Id(*b), selected);
            }
            (S::FunctionCall, [function, arguments @ ..]) => {
                self.call(inst, Id(*function), arguments, undo)
            }
            (S::ExtInst, [set, number, arguments @ ..]) => {
                self.extended(inst, *set, *number, arguments);
            }
            // The expected value is a hint.
            (S::ExpectKHR, [value, ..]) => {
                let node = self.value(Id(*value));
                self.keep(inst, node);
            }
            (S::ArrayLength, [base, member]) => {
                let args = vec![self.value(Id(*base))];
                let width = inst
                    .result_type()
                    .map_or(0, |ty| scalar_width(self.input.declarations, ty));
                let node = self
                    .graph
                    .make(Op::Pure(inst.opcode(), vec![*member]), args, width);
                self.keep(inst, node);
            }
            _ if inst.facts().is_atomic() => self.opaque(inst, Source::Atomic),
            _ if inst.result().is_none() => {}
            _ if inst.facts().is_pure() => self.pure(inst),
            _ => match group(inst, self.input.constants) {
                Some(scope) => self.opaque(inst, Source::Group(scope)),
                None => self.opaque(inst, Source::Other(inst.opcode())),
            },
        }
    }

    /// The address that an access chain of the form `form` leads to.
    fn chain(&mut self, inst: Inst<'m>, form: spirv::Op, base: Id, indices: &[u32]) {
        let base = self.value(base);
        let mut args = vec![base];
        let node = self.graph.node(base);
        // An index of members goes on where the chain of its base ends.
        let is_chain = node.op == Op::Pure(spirv::Op::AccessChain as u16, Vec::new());
        if is_chain && form == spirv::Op::AccessChain {
            args.clone_from(&node.args);
        }
        if args.len() + indices.len() > MOST_INDICES {
            self.opaque(inst, Source::Other(inst.opcode()));
            return;
        }
        for index in indices {
            args.push(self.value(Id(*index)));
        }
        let node = self.graph.make(Op::Pure(form as u16, Vec::new()), args, 0);
        self.keep(inst, node);
    }

    /// The components that are selected from two vectors.
    fn shuffle(&mut self, inst: Inst<'m>, a: Id, b: Id, selected: &[u32]) {
        let Some(first) = self.components(a) else {
            return self.opaque(inst, Source::Other(inst.opcode())); // invalid: no vector
        };
        let width = inst
            .result_type()
            .and_then(|ty| self.component(ty))
            .map_or(0, |(width, _)| width);
        let (a, b) = (self.value(a), self.value(b));
        let mut parts = Vec::new();
        for index in selected {
            parts.push(match index {
                &u32::MAX => self.graph.number(0, width), // any value will do
                index if *index < first => self.graph.extract(a, *index, width),
                index => self.graph.extract(b, *index - first, width),
            });
        }
        let node = self.graph.make(Op::Composite, parts, 0);
        self.keep(inst, node);
    }

    /// An extended instruction, which is a function of its arguments if none is a pointer.
    fn extended(&mut self, inst: Inst<'m>, set: u32, number: u32, arguments: &[u32]) {
        let pointer = arguments
            .iter()
            .any(|id| memory::class_of(self.input.declarations, Id(*id)).is_some());
        if pointer || !self.input.declarations.ext_inst_sets.contains_key(&Id(set)) {
            self.opaque(inst, Source::Other(inst.opcode()));
        } else {
            let args = arguments.iter().map(|id| self.value(Id(*id))).collect();
            let width = inst
                .result_type()
                .map_or(0, |ty| scalar_width(self.input.declarations, ty));
            let node = self
                .graph
                .make(Op::Pure(inst.opcode(), vec![set, number]), args, width);
            self.keep(inst, node);
        }
    }

    pub(super) fn keep(&mut self, inst: Inst<'m>, node: NodeId) {
        if let Some(id) = inst.result() {
            self.values.insert(id, node);
        }
    }

    pub(super) fn opaque(&mut self, inst: Inst<'m>, source: Source) {
        if let Some(id) = inst.result() {
            let (width, at) = (self.width_of_value(id), self.at);
            let node = self.graph.leaf(source, Vec::new(), width, at);
            self.values.insert(id, node);
        }
    }

    pub(super) fn construct(&mut self, inst: Inst<'m>, parts: &[u32]) {
        let vector = inst.result_type().and_then(|ty| self.component(ty));
        let mut nodes = Vec::new();
        for part in parts {
            let value = self.value(Id(*part));
            match vector.zip(self.components(Id(*part))) {
                Some(((width, _), count)) => {
                    for index in 0..count {
                        nodes.push(self.graph.extract(value, index, width));
                    }
                }
                None => nodes.push(value),
            }
        }
        let node = self.graph.make(Op::Composite, nodes, 0);
        self.keep(inst, node);
    }

    /// An instruction without effects; on vectors whose parts are known, one node for each
    /// component.
    pub(super) fn pure(&mut self, inst: Inst<'m>) {
        let module = self.input.declarations.module;
        let mut args = Vec::new();
        let mut literals = Vec::new();
        let skip = usize::from(inst.result_type().is_some());
        for operand in module.operands(inst).skip(skip + 1) {
            match operand.id() {
                Some(id) => args.push(self.value(id)),
                None => literals.extend(operand.words.iter().copied()),
            }
        }
        // Without a type there is no result to keep.
        let ty = inst.result_type().unwrap_or(Id(0));
        let split = inst.facts().by_component
            && args
                .iter()
                .any(|arg| self.graph.node(*arg).op == Op::Composite);
        let node = match self.component(ty).filter(|_| split) {
            Some((width, count)) => {
                let operand_type = |id: Id| {
                    self.input
                        .declarations
                        .type_of(id)
                        .and_then(|ty| self.component(ty))
                };
                let widths: Vec<u32> = inst
                    .operands()
                    .iter()
                    .map(|id| operand_type(Id(*id)).map_or(0, |(width, _)| width))
                    .collect();
                // A scalar condition chooses between whole vectors.
                let whole: Vec<bool> = inst
                    .operands()
                    .iter()
                    .map(|id| operand_type(Id(*id)).is_none())
                    .collect();
                let mut parts = Vec::new();
                for index in 0..count {
                    let mut of = Vec::new();
                    for (place, arg) in args.iter().enumerate() {
                        of.push(if whole.get(place).copied().unwrap_or(true) {
                            *arg
                        } else {
                            self.graph
                                .extract(*arg, index, widths.get(place).copied().unwrap_or(0))
                        });
                    }
                    parts.push(self.graph.pure(inst.opcode(), literals.clone(), of, width));
                }
                self.graph.make(Op::Composite, parts, 0)
            }
            None => {
                let width = scalar_width(self.input.declarations, ty);
                self.graph.pure(inst.opcode(), literals, args, width)
            }
        };
        self.keep(inst, node);
    }
}

/// The opcode that names the form of an address that `inst` makes from a typed pointer.
fn typed_chain(inst: Inst<'_>) -> Option<spirv::Op> {
    let facts = inst.facts();
    let Class::Address(form) = facts.class else {
        return None;
    };
    let is_typed = facts.accesses.iter().any(|access| access.operand == 0);
    match form {
        _ if !is_typed => None,
        Address::Members => Some(spirv::Op::AccessChain),
        Address::Element => Some(spirv::Op::PtrAccessChain),
        Address::Bytes => Some(spirv::Op::RawAccessChainNV),
        Address::Texel => None,
    }
}

/// For group operations: the scope in which all invocations get one value; the inner `None` when
/// each gets its own.
fn group(inst: Inst<'_>, constants: &Constants) -> Option<Option<Scope>> {
    let Class::Group(result) = inst.facts().class else {
        return None;
    };
    let operand = inst.sync_operands().execution;
    let scope = match operand {
        None => Some(Scope::Subgroup), // the extensions without a scope operand
        Some(operand) => {
            let id = inst.id(operand.into()).ok();
            id.and_then(|id| constants.as_u32(id))
                .and_then(Scope::from_u32)
        }
    };
    let reduces = || inst.operand(1).ok() == Some(spirv::GroupOperation::Reduce as u32);
    Some(match result {
        Group::Same => scope,
        Group::Reduction => scope.filter(|_| reduces()),
        Group::Own => None,
    })
}
