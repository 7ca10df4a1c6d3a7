//! From the instructions of a function to its [`Graph`]: variables of class Function and Private become values.

use super::graph::{Graph, NodeId, Op, Source};
use super::memory::{self, Memory};
use super::promote::{self, Promoted};
use super::quiet::Quiet;
use super::{Branch, Model};
use crate::analysis::callgraph::callee;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::module::{Constant, Constants, Declarations, Function, Id, Inst, Scope, Type};
use spirv::{Decoration, StorageClass};
use std::collections::HashMap;

/// Most indices of one address.
const MOST_INDICES: usize = 64;
/// Largest composite that is taken apart.
const MOST_PARTS: usize = 16;

/// What a model is built from.
#[derive(Copy, Clone)]
pub(super) struct Input<'b, 'm> {
    pub(super) declarations: &'b Declarations<'m>,
    pub(super) constants: &'b Constants,
    pub(super) memory: &'b Memory,
    pub(super) function: &'b Function<'m>,
    /// Size of the workgroup, where the module fixes it.
    pub(super) size: Option<[u32; 3]>,
}

/// Builds the values of a function over `cfg`, which may be without branches that are never taken.
pub(super) fn build(input: Input<'_, '_>, cfg: Cfg) -> Model {
    let dominators = Dominators::of(&cfg);
    let promoted = promote::promote(input, &cfg, &dominators);
    let mut children = vec![Vec::new(); cfg.len()];
    for block in cfg.reverse_postorder() {
        if let Some(above) = dominators.immediate(*block) {
            children[above].push(*block);
        }
    }
    let quiet = Quiet::of(input.declarations, input.function, &cfg);
    let len = cfg.len();
    let mut builder = Builder {
        input,
        graph: Graph::default(),
        values: HashMap::new(),
        current: Vec::new(),
        quiet,
        at: 0,
        phis: vec![Vec::new(); len],
        variable_phis: vec![Vec::new(); len],
        branches: vec![Branch::None; len],
        computed: vec![Vec::new(); len],
        promoted,
        cfg,
    };
    builder.start();
    enum Step {
        Enter(usize),
        Leave(Vec<(usize, NodeId)>),
    }
    let mut steps = if len > 0 {
        vec![Step::Enter(0)]
    } else {
        Vec::new()
    };
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(block) => {
                let undo = builder.block(block);
                steps.push(Step::Leave(undo));
                steps.extend(
                    children[block]
                        .iter()
                        .rev()
                        .map(|child| Step::Enter(*child)),
                );
            }
            Step::Leave(undo) => {
                for (variable, value) in undo.into_iter().rev() {
                    builder.current[variable] = value;
                }
            }
        }
    }
    builder.finish()
}

struct Builder<'b, 'm> {
    input: Input<'b, 'm>,
    cfg: Cfg,
    graph: Graph,
    values: HashMap<Id, NodeId>, // looked up, never iterated
    promoted: Promoted,
    /// Value of each promoted variable at the place that is being read.
    current: Vec<NodeId>,
    quiet: Quiet,
    at: usize,
    phis: Vec<Vec<NodeId>>,
    variable_phis: Vec<Vec<(usize, NodeId)>>,
    branches: Vec<Branch>,
    computed: Vec<Vec<NodeId>>,
}

type Undo = Vec<(usize, NodeId)>;

impl<'m> Builder<'_, 'm> {
    fn start(&mut self) {
        for (id, _) in &self.input.function.params {
            let width = self.width_of_value(*id);
            let node = self.graph.leaf(Source::Parameter, Vec::new(), width, 0);
            self.values.insert(*id, node);
        }
        for index in 0..self.promoted.variables.len() {
            let variable = self.promoted.variables[index];
            let inst = self.input.declarations.module.def(variable);
            self.graph.at = inst.map_or(0, |inst| inst.offset);
            let initial = match inst.and_then(|inst| inst.operands().get(1).copied()) {
                Some(initializer) => self.value(Id(initializer)),
                None => self.graph.leaf(Source::Undefined, Vec::new(), 0, 0),
            };
            self.current.push(initial);
        }
        // Phis exist before anything names them.
        for block in self.cfg.reverse_postorder().to_vec() {
            for variable in self.promoted.phis[block].clone() {
                self.graph.at = self
                    .promoted
                    .variables
                    .get(variable)
                    .and_then(|id| self.input.declarations.module.def(*id))
                    .map_or(0, |inst| inst.offset);
                let width = self.promoted.widths[variable];
                let phi = self.graph.phi(width, block);
                self.phis[block].push(phi);
                self.variable_phis[block].push((variable, phi));
            }
            let input = self.input;
            for inst in input
                .function
                .blocks
                .get(block)
                .into_iter()
                .flat_map(|block| &block.insts)
            {
                if inst.op() == Some(spirv::Op::Phi)
                    && let Some(id) = inst.result()
                {
                    self.graph.at = inst.offset;
                    let width = self.width_of_value(id);
                    let phi = self.graph.phi(width, block);
                    self.phis[block].push(phi);
                    self.values.insert(id, phi);
                }
            }
        }
    }

    /// Reads a block; what to put back into `current` when the blocks under it are done.
    fn block(&mut self, block: usize) -> Undo {
        self.at = block;
        self.graph.asked.clear();
        let mut undo = Vec::new();
        for (variable, phi) in self.variable_phis[block].clone() {
            self.assign(variable, phi, &mut undo);
        }
        let input = self.input;
        self.quiet.enter(block);
        if let Some(code) = input.function.blocks.get(block) {
            for inst in &code.insts {
                self.graph.at = inst.offset;
                self.inst(*inst, &mut undo);
                self.quiet.pass(input.declarations, *inst);
            }
            self.branches[block] = self.branch(code.terminator());
        }
        for succ in self.cfg.succs(block).to_vec() {
            for (variable, phi) in self.variable_phis[succ].clone() {
                self.graph.add_incoming(phi, block, self.current[variable]);
            }
        }
        self.computed[block] = std::mem::take(&mut self.graph.asked);
        undo
    }

    fn assign(&mut self, variable: usize, value: NodeId, undo: &mut Undo) {
        undo.push((variable, self.current[variable]));
        self.current[variable] = value;
    }

    fn finish(mut self) -> Model {
        for block in self.cfg.reverse_postorder().to_vec() {
            let input = self.input;
            for inst in input
                .function
                .blocks
                .get(block)
                .into_iter()
                .flat_map(|block| &block.insts)
            {
                if inst.op() != Some(spirv::Op::Phi) {
                    continue;
                }
                let Some(phi) = inst.result().and_then(|id| self.values.get(&id).copied()) else {
                    continue;
                };
                for pair in inst.operands().chunks_exact(2) {
                    let [value, from] = *pair else { continue };
                    if let Some(from) = self.cfg.index_of(Id(from)).filter(|from| {
                        self.cfg.preds(block).contains(from) && self.cfg.is_reachable(*from)
                    }) {
                        let value = self.value(Id(value));
                        self.graph.add_incoming(phi, from, value);
                    }
                }
            }
        }
        Model {
            cfg: self.cfg,
            graph: self.graph,
            phis: self.phis,
            branches: self.branches,
            computed: self.computed,
        }
    }

    fn width_of_type(&self, ty: Id) -> u32 {
        match self.input.declarations.ty(ty) {
            Some(Type::Bool) => 1,
            Some(Type::Int { width, .. }) => *width,
            _ => 0, // not a scalar that is evaluated
        }
    }

    fn width_of_value(&self, id: Id) -> u32 {
        self.input
            .declarations
            .type_of(id)
            .map_or(0, |ty| self.width_of_type(ty))
    }

    fn value(&mut self, id: Id) -> NodeId {
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
            Some(_)
                if declarations
                    .function_at(def.map_or(0, |inst| inst.offset))
                    .is_none() =>
            {
                self.graph.make(Op::Constant(id), Vec::new(), 0)
            }
            _ => self.graph.leaf(Source::Undefined, Vec::new(), 0, at), // it does not dominate its use
        }
    }

    fn constant(&mut self, id: Id, constant: &Constant) -> NodeId {
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

    fn branch(&mut self, terminator: Option<Inst<'m>>) -> Branch {
        let Some(inst) = terminator else {
            return Branch::None;
        };
        let target = |cfg: &Cfg, word: Option<&u32>| word.and_then(|word| cfg.index_of(Id(*word)));
        match (inst.op(), inst.operands()) {
            (Some(spirv::Op::BranchConditional), [condition, yes, no, ..]) if yes != no => {
                let condition = self.value(Id(*condition));
                match (target(&self.cfg, Some(yes)), target(&self.cfg, Some(no))) {
                    (Some(yes), Some(no)) => Branch::If { condition, yes, no },
                    _ => Branch::None, // the reader has reported it
                }
            }
            (Some(spirv::Op::Switch), [selector, default, ..]) => {
                let selector = self.value(Id(*selector));
                let width = self.graph.node(selector).width;
                let Some(default) = target(&self.cfg, Some(default)) else {
                    return Branch::None;
                };
                let words = if width > 32 { 3 } else { 2 };
                let mut cases = Vec::new();
                for case in inst.operands().get(2..).unwrap_or(&[]).chunks_exact(words) {
                    let (bits, label) = match *case {
                        [low, label] => (u64::from(low), label),
                        [low, high, label] => (u64::from(high) << 32 | u64::from(low), label),
                        _ => continue, // chunks have two words or three
                    };
                    let bits = if width == 0 || width >= 64 {
                        bits
                    } else {
                        bits & ((1 << width) - 1)
                    };
                    if let Some(to) = self.cfg.index_of(Id(label)) {
                        let literal = self.graph.number(bits, width);
                        let is = self.graph.pure(
                            spirv::Op::IEqual as u16,
                            Vec::new(),
                            vec![selector, literal],
                            1,
                        );
                        cases.push((is, bits, to));
                    }
                }
                Branch::Switch {
                    selector,
                    cases,
                    default,
                }
            }
            _ => Branch::None, // one way to go, or none
        }
    }

    fn inst(&mut self, inst: Inst<'m>, undo: &mut Undo) {
        use spirv::Op as S;
        let Some(op) = inst.op() else {
            self.opaque(inst, Source::Other(inst.opcode()));
            return;
        };
        let operands = inst.operands();
        match (op, operands) {
            (S::Variable | S::Phi | S::Branch | S::BranchConditional | S::Switch, _) => {}
            (S::Load, [pointer, ..]) => self.load(inst, Id(*pointer)),
            (S::Store, [pointer, value, ..]) => self.store(Id(*pointer), Id(*value), undo),
            (S::AccessChain | S::InBoundsAccessChain, [base, indices @ ..]) => {
                let base = self.value(Id(*base));
                let mut args = vec![base];
                let node = self.graph.node(base);
                if node.op == Op::Pure(S::AccessChain as u16, Vec::new()) {
                    args.clone_from(&node.args);
                }
                if args.len() + indices.len() > MOST_INDICES {
                    self.opaque(inst, Source::Other(inst.opcode()));
                    return;
                }
                for index in indices {
                    args.push(self.value(Id(*index)));
                }
                let node = self
                    .graph
                    .make(Op::Pure(S::AccessChain as u16, Vec::new()), args, 0);
                self.keep(inst, node);
            }
            (S::CompositeExtract, [whole, path @ ..]) => {
                let mut node = self.value(Id(*whole));
                let width = inst.result_type().map_or(0, |ty| self.width_of_type(ty));
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
                let first = self.components(Id(*a)).unwrap_or(0);
                let width = inst
                    .result_type()
                    .and_then(|ty| self.component(ty))
                    .map_or(0, |(width, _)| width);
                let (a, b) = (self.value(Id(*a)), self.value(Id(*b)));
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
            (S::FunctionCall, [function, arguments @ ..]) => {
                self.call(inst, Id(*function), arguments, undo)
            }
            (S::ExtInst, [set, number, arguments @ ..]) => {
                let pointer = arguments
                    .iter()
                    .any(|id| memory::class_of(self.input.declarations, Id(*id)).is_some());
                if pointer
                    || !self
                        .input
                        .declarations
                        .ext_inst_sets
                        .contains_key(&Id(*set))
                {
                    self.opaque(inst, Source::Other(inst.opcode()));
                } else {
                    let args = arguments.iter().map(|id| self.value(Id(*id))).collect();
                    let width = inst.result_type().map_or(0, |ty| self.width_of_type(ty));
                    let node =
                        self.graph
                            .make(Op::Pure(inst.opcode(), vec![*set, *number]), args, width);
                    self.keep(inst, node);
                }
            }
            (S::ArrayLength, [base, member]) => {
                let args = vec![self.value(Id(*base))];
                let width = inst.result_type().map_or(0, |ty| self.width_of_type(ty));
                let node = self
                    .graph
                    .make(Op::Pure(inst.opcode(), vec![*member]), args, width);
                self.keep(inst, node);
            }
            _ if memory::is_atomic(op) => self.opaque(inst, Source::Atomic),
            _ if inst.result().is_none() => {}
            _ if memory::is_pure_op(op) => self.pure(inst),
            _ => match group(op, inst, self.input.constants) {
                Some(scope) => self.opaque(inst, Source::Group(scope)),
                None => self.opaque(inst, Source::Other(inst.opcode())),
            },
        }
    }

    fn keep(&mut self, inst: Inst<'m>, node: NodeId) {
        if let Some(id) = inst.result() {
            self.values.insert(id, node);
        }
    }

    fn opaque(&mut self, inst: Inst<'m>, source: Source) {
        if let Some(id) = inst.result() {
            let (width, at) = (self.width_of_value(id), self.at);
            let node = self.graph.leaf(source, Vec::new(), width, at);
            self.values.insert(id, node);
        }
    }

    /// Width of the components and their number, of a vector type.
    fn component(&self, ty: Id) -> Option<(u32, u32)> {
        match self.input.declarations.ty(ty)? {
            Type::Vector { component, count } => Some((self.width_of_type(*component), *count)),
            _ => None, // not a vector
        }
    }

    fn components(&self, id: Id) -> Option<u32> {
        Some(self.component(self.input.declarations.type_of(id)?)?.1)
    }

    fn construct(&mut self, inst: Inst<'m>, parts: &[u32]) {
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

    /// An instruction without effects; on vectors whose parts are known, one node for each component.
    fn pure(&mut self, inst: Inst<'m>) {
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
        let ty = inst.result_type().unwrap_or(Id(0));
        let op = u32::from(inst.opcode());
        let by_component = matches!(op, 113 | 114 | 126 | 128 | 130 | 132 | 134 | 135 | 137..=139 | 164..=179 | 194..=200);
        let split = by_component
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
                let width = self.width_of_type(ty);
                self.graph.pure(inst.opcode(), literals, args, width)
            }
        };
        self.keep(inst, node);
    }

    /// The variable that the address `pointer` starts at, and the indices after it.
    fn address(&self, pointer: NodeId) -> (Option<Id>, Vec<NodeId>) {
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

    fn part(&mut self, mut value: NodeId, path: &[NodeId], width: u32) -> NodeId {
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

    fn load(&mut self, inst: Inst<'m>, pointer_id: Id) {
        let declarations = self.input.declarations;
        let width = inst.result_type().map_or(0, |ty| self.width_of_type(ty));
        let pointer = self.value(pointer_id);
        let (variable, path) = self.address(pointer);
        let volatile = inst.operands().get(1).is_some_and(|access| access & 1 != 0);
        let class = memory::class_of(declarations, pointer_id);
        let node =
            if let Some(index) = variable.and_then(|id| self.promoted.index.get(&id).copied()) {
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
                        let bit = memory::workgroup_bit(declarations, Some(variable));
                        let coherent = declarations
                            .decoration(variable, Decoration::Volatile)
                            .is_some();
                        if self.quiet.is_quiet(bit) && !volatile && !coherent {
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

    /// The value of a variable of class Input.
    fn built_in(&mut self, variable: Id) -> NodeId {
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
                let width = self.width_of_type(pointee);
                self.input_part(built_in, 0, width)
            }
        }
    }

    fn input_part(&mut self, built_in: u32, index: u32, width: u32) -> NodeId {
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
            // Alike in the workgroup, but not the number of the workgroup where there is a global offset.
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

    fn store(&mut self, pointer: Id, value: Id, undo: &mut Undo) {
        let pointer = self.value(pointer);
        let (variable, path) = self.address(pointer);
        let Some(index) = variable.and_then(|id| self.promoted.index.get(&id).copied()) else {
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

    fn call(&mut self, inst: Inst<'m>, function: Id, arguments: &[u32], undo: &mut Undo) {
        let pure = self.input.memory.is_pure(function) && callee(inst).is_some();
        let mut args = Vec::new();
        let mut changed = Vec::new();
        let mut known = true;
        for argument in arguments {
            let node = self.value(Id(*argument));
            let (variable, path) = self.address(node);
            match variable.and_then(|id| self.promoted.index.get(&id).copied()) {
                Some(index) => {
                    args.push(self.part(self.current[index], &path, 0));
                    changed.push(index);
                }
                None => {
                    // What an address outside of the promoted variables leads to is not an argument's value.
                    known &= memory::class_of(self.input.declarations, Id(*argument))
                        .is_none_or(|class| class == StorageClass::UniformConstant);
                    args.push(node);
                }
            }
        }
        let width = inst.result_type().map_or(0, |ty| self.width_of_type(ty));
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

/// For group instructions: the scope in which all invocations get one value; the inner `None` when each gets its own.
fn group(op: spirv::Op, inst: Inst<'_>, constants: &Constants) -> Option<Option<Scope>> {
    let number = op as u32;
    let scope = || {
        inst.id(0)
            .ok()
            .and_then(|id| constants.as_u32(id))
            .and_then(Scope::from_u32)
    };
    let reduces = || inst.operand(1).ok() == Some(spirv::GroupOperation::Reduce as u32);
    match number {
        // Votes, broadcasts, ballots.
        261..=263 | 334..=339 => Some(scope()),
        342 | 349..=364 | 264..=271 | 6401..=6408 => Some(scope().filter(|_| reduces())),
        333 | 340 | 341 | 343..=348 | 365 | 366 => Some(None),
        // SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote.
        4421 | 4422 | 4428..=4430 => Some(Some(Scope::Subgroup)),
        _ => None, // not a group instruction that is known
    }
}
