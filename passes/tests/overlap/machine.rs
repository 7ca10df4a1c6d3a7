//! One invocation of a kernel, executed on expressions.
//!
//! A branch whose condition is not known goes a way that the condition and a seed decide: in two
//! modules that ask the same question the answer is the same, so that they go through the same
//! iterations if they are the same program. What comes out is what others can see: effects on
//! memory that is not shared, and accesses to shared memory between barriers.

use super::term::{Term, Terms, head};
use anyhow::{Context, Result, bail, ensure};
use spirv::{Op, StorageClass};
use splitbar_passes::module::facts::Class;
use splitbar_passes::module::{Declarations, Function, Id, Inst, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions of a run of a module as it is. One with pipelined loops may take more: a stage more
/// for each loop.
pub(crate) const MOST_STEPS: usize = 60_000;

/// Something that others may see, or that orders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An access to memory that several invocations have. `buffer`: which one, of those that an
    /// array has.
    Access {
        root: Term,
        buffer: u64,
        is_store: bool,
    },
    Arrive,
    Wait,
}

/// The events and effects of a run.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    /// Effects on other memory, in order.
    pub(crate) effects: Vec<Term>,
}

impl Trace {
    pub(crate) fn barriers(&self) -> usize {
        let is_wait = |event: &&Event| **event == Event::Wait;
        self.events.iter().filter(is_wait).count()
    }
}

#[derive(Clone)]
enum Value {
    Plain(Term),
    Pointer(Term, StorageClass, Vec<Term>),
}

/// How branches are decided.
#[derive(Copy, Clone)]
pub(crate) struct Decisions {
    pub(crate) seed: u64,
    /// Of 16, how many conditions are true.
    pub(crate) true_of_16: u64,
}

impl Decisions {
    fn hash(self, term: Term) -> u64 {
        let mut x = self.seed ^ (u64::from(term.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 31;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 29;
        x.wrapping_mul(0x94d0_49bb_1331_11eb) >> 32
    }
}

/// Executes a kernel of `declarations`. `buffered` are the workgroup variables that have a leading
/// dimension more than in the original.
pub(crate) struct Machine<'a, 'm> {
    pub(crate) declarations: &'a Declarations<'m>,
    pub(crate) terms: &'a mut Terms,
    pub(crate) decisions: Decisions,
    pub(crate) buffered: &'a BTreeSet<Id>,
    /// Of variables of the invocation.
    own: BTreeMap<Term, Term>,
    /// Of shared memory: by variable and buffer, the values by place.
    shared: BTreeMap<(Term, u64), BTreeMap<Vec<Term>, Term>>,
    /// Of other memory: what stores have made of it.
    stored: BTreeMap<Term, Term>,
    trace: Trace,
    steps: usize,
    most_steps: usize,
    frames: u32,
}

impl<'a, 'm> Machine<'a, 'm> {
    pub(crate) fn new(
        declarations: &'a Declarations<'m>,
        terms: &'a mut Terms,
        decisions: Decisions,
        buffered: &'a BTreeSet<Id>,
    ) -> Self {
        Machine {
            declarations,
            terms,
            decisions,
            buffered,
            own: BTreeMap::new(),
            shared: BTreeMap::new(),
            stored: BTreeMap::new(),
            trace: Trace::default(),
            steps: 0,
            most_steps: MOST_STEPS,
            frames: 0,
        }
    }

    /// The same, with another limit on the instructions of a run.
    pub(crate) fn within(self, most_steps: usize) -> Self {
        Machine { most_steps, ..self }
    }

    /// The events and effects of the entry point `function`; `None` where it does not come to an
    /// end.
    pub(crate) fn run(mut self, function: Id) -> Result<Option<Trace>> {
        let function = self
            .declarations
            .function(function)
            .context("no such function")?;
        let is_done = self.call(function, vec![])?.is_some();
        Ok(is_done.then_some(self.trace))
    }

    /// The value that a function returns; the outer `None`: it was not done in time.
    fn call(
        &mut self,
        function: &Function<'m>,
        arguments: Vec<Value>,
    ) -> Result<Option<Option<Value>>> {
        self.frames += 1;
        let frame = self.frames;
        let mut values: BTreeMap<Id, Value> = BTreeMap::new();
        for ((id, _), value) in function.params.iter().zip(arguments) {
            values.insert(*id, value);
        }
        let block_of = |label: Id| function.blocks.iter().find(|block| block.label == label);
        let mut block = function
            .blocks
            .first()
            .context("a function without blocks")?;
        let mut from: Option<Id> = None;
        loop {
            let mut phis = Vec::new();
            for inst in &block.insts {
                if inst.op() != Some(Op::Phi) {
                    break;
                }
                let from = from.context("a phi in the first block")?;
                let mut pairs = inst.operands().chunks_exact(2);
                let pair = pairs.find(|pair| pair[1] == from.0);
                let value = Id(pair.context("a phi does not name a block that leads to it")?[0]);
                phis.push((
                    inst.result().context("a phi without result")?,
                    self.value(&values, value)?,
                ));
            }
            values.extend(phis);
            let mut next = None;
            for inst in &block.insts {
                self.steps += 1;
                if self.steps > self.most_steps {
                    return Ok(None);
                }
                match inst.op() {
                    Some(Op::Phi | Op::LoopMerge | Op::SelectionMerge) => {}
                    Some(Op::Branch) => next = Some(inst.id(0)?),
                    Some(Op::BranchConditional) => {
                        let condition = self.plain(&values, inst.id(0)?)?;
                        let way = if self.is_true(condition) { 1 } else { 2 };
                        next = Some(inst.id(way)?);
                    }
                    Some(Op::Switch) => next = Some(self.switch(&values, *inst)?),
                    Some(Op::Return) => return Ok(Some(None)),
                    Some(Op::ReturnValue) => {
                        return Ok(Some(Some(self.value(&values, inst.id(0)?)?)));
                    }
                    Some(Op::Unreachable | Op::Kill | Op::TerminateInvocation) => return Ok(None),
                    Some(Op::FunctionCall) => {
                        let callee = self
                            .declarations
                            .function(inst.id(0)?)
                            .context("no callee")?;
                        let arguments = inst.operands()[1..].iter();
                        let arguments: Result<Vec<Value>> =
                            arguments.map(|id| self.value(&values, Id(*id))).collect();
                        let Some(returned) = self.call(callee, arguments?)? else {
                            return Ok(None);
                        };
                        if let (Some(id), Some(value)) = (inst.result(), returned) {
                            values.insert(id, value);
                        }
                    }
                    _ => {
                        if let Some(value) = self.instruction(&values, frame, *inst)? {
                            values.insert(inst.result().context("a value without id")?, value);
                        }
                    }
                }
            }
            from = Some(block.label);
            let next = next.context("a block without a way on")?;
            block = block_of(next).context("a branch that leads nowhere")?;
        }
    }

    fn is_true(&self, condition: Term) -> bool {
        if let Some([first, then, otherwise]) = self.terms.as_selection(condition) {
            let chosen = if self.is_true(first) { then } else { otherwise };
            return self.is_true(chosen);
        }
        let known = self.terms.as_truth(condition);
        known.unwrap_or_else(|| self.decisions.hash(condition) % 16 < self.decisions.true_of_16)
    }

    fn switch(&mut self, values: &BTreeMap<Id, Value>, inst: Inst<'m>) -> Result<Id> {
        let selector = self.plain(values, inst.id(0)?)?;
        let cases: Vec<Id> =
            splitbar_passes::module::targets(self.declarations.module, inst).collect();
        let (bits, _) = self.terms.as_number(selector).unwrap_or((32, 0));
        ensure!(bits <= 32, "a switch on {bits} bits");
        if let Some((_, number)) = self.terms.as_number(selector) {
            let words = &inst.operands()[2..];
            let case = words
                .chunks_exact(2)
                .find(|case| u64::from(case[0]) == number);
            return Ok(case.map_or(Id(inst.operands()[1]), |case| Id(case[1])));
        }
        let way = self.decisions.hash(selector) as usize % cases.len();
        Ok(cases[way])
    }

    fn value(&mut self, values: &BTreeMap<Id, Value>, id: Id) -> Result<Value> {
        if let Some(value) = values.get(&id) {
            return Ok(value.clone());
        }
        let Some(def) = self.declarations.module.def(id) else {
            return Ok(Value::Plain(self.terms.make(vec![head::ID, id.0], vec![])));
        };
        let term = match def.op() {
            Some(Op::Variable) => {
                let class = def.operands()[0];
                let class = StorageClass::from_u32(class).context("an unknown storage class")?;
                let root = self.terms.make(vec![head::ID, id.0], vec![]);
                return Ok(Value::Pointer(root, class, vec![]));
            }
            Some(Op::Constant) => {
                let bits = self.bits(def.result_type());
                let words = def.operands();
                let high = words.get(1).copied().unwrap_or(0);
                match bits {
                    Some(bits) => self
                        .terms
                        .number(bits, u64::from(words[0]) | u64::from(high) << 32),
                    None => {
                        let ty = self.ty(def.result_type());
                        self.terms
                            .make([&[Op::Constant as u32], words].concat(), vec![ty])
                    }
                }
            }
            Some(Op::ConstantTrue) => self.terms.truth(true),
            Some(Op::ConstantFalse) => self.terms.truth(false),
            Some(Op::ConstantNull) => match self.bits(def.result_type()) {
                Some(bits) => self.terms.number(bits, 0),
                None => {
                    let ty = self.ty(def.result_type());
                    self.terms.make(vec![Op::ConstantNull as u32], vec![ty])
                }
            },
            Some(Op::ConstantComposite) => {
                let mut parts = Vec::new();
                for part in def.operands() {
                    parts.push(self.plain(values, Id(*part))?);
                }
                self.terms.make(vec![head::CONSTRUCT], parts)
            }
            Some(Op::Undef) => {
                let ty = self.ty(def.result_type());
                self.terms.make(vec![head::UNDEFINED], vec![ty])
            }
            // Specialization constants, strings, sets of instructions: the same in both modules.
            _ => self.terms.make(vec![head::ID, id.0], vec![]),
        };
        Ok(Value::Plain(term))
    }

    /// A value as an expression; a pointer as one that leads there.
    fn plain(&mut self, values: &BTreeMap<Id, Value>, id: Id) -> Result<Term> {
        Ok(match self.value(values, id)? {
            Value::Plain(term) => term,
            Value::Pointer(root, class, path) => {
                let class = self
                    .terms
                    .make(vec![head::ID, u32::MAX, class as u32], vec![]);
                let root = self.terms.make(vec![head::ID], vec![root, class]);
                self.terms
                    .make(vec![head::POINTER], [&[root][..], &path].concat())
            }
        })
    }

    /// The width of an integer type.
    fn bits(&self, ty: Option<Id>) -> Option<u32> {
        match self.declarations.ty(ty?)? {
            Type::Int { width, .. } => Some(*width),
            _ => None,
        }
    }

    /// A type by its id, which both modules share, but for integers of one width.
    fn ty(&mut self, ty: Option<Id>) -> Term {
        let word = ty.map_or(0, |ty| ty.0);
        match self.bits(ty) {
            Some(bits) => self.terms.make(vec![head::ID, u32::MAX - 1, bits], vec![]),
            None => self.terms.make(vec![head::ID, word], vec![]),
        }
    }

    fn pointer(
        &mut self,
        values: &BTreeMap<Id, Value>,
        id: Id,
    ) -> Result<(Term, StorageClass, Vec<Term>)> {
        match self.value(values, id)? {
            Value::Pointer(root, class, path) => Ok((root, class, path)),
            Value::Plain(term) => {
                ensure!(
                    self.terms.as_pointer(term).is_none(),
                    "a pointer to a variable was stored"
                );
                let ty = self
                    .declarations
                    .type_of(id)
                    .context("a pointer without type")?;
                match self.declarations.ty(ty) {
                    Some(Type::Pointer { class, .. }) => Ok((term, *class, vec![])),
                    other => bail!("%{} is no pointer, but of type {ty:?} {other:?}", id.0),
                }
            }
        }
    }

    /// Returns true if memory of a class is of the invocation alone.
    fn is_own(class: StorageClass) -> bool {
        matches!(class, StorageClass::Function | StorageClass::Private)
    }

    /// The buffer that a path into shared memory begins with, and the rest of it.
    fn buffer(&mut self, root: Term, path: &[Term]) -> Result<(u64, Vec<Term>)> {
        let is_buffered = self.buffered.iter().any(|id| {
            let id = self.terms.make(vec![head::ID, id.0], vec![]);
            id == root
        });
        if !is_buffered {
            return Ok((0, path.to_vec()));
        }
        let (first, rest) = path
            .split_first()
            .context("an array of buffers is used as a whole")?;
        let (_, buffer) = self
            .terms
            .as_number(*first)
            .context("the number of a buffer is not known")?;
        Ok((buffer, rest.to_vec()))
    }

    fn load(&mut self, (root, class, path): (Term, StorageClass, Vec<Term>)) -> Result<Term> {
        if Self::is_own(class) {
            let state = self.own_state(root);
            return Ok(self.terms.extract(state, &path));
        }
        if class == StorageClass::Workgroup {
            let (buffer, path) = self.buffer(root, &path)?;
            self.trace.events.push(Event::Access {
                root,
                buffer,
                is_store: false,
            });
            let contents = self.contents(root, buffer);
            return Ok(self
                .terms
                .make(vec![head::LOAD], [&[root, contents][..], &path].concat()));
        }
        let before = self.stored.get(&root).copied();
        self.trace.events.push(Event::Access {
            root,
            buffer: 0,
            is_store: false,
        });
        Ok(self.terms.make(
            vec![head::LOAD, u32::from(before.is_some())],
            [&[root][..], before.as_slice(), &path].concat(),
        ))
    }

    /// The contents of shared memory, as far as this invocation has stored it.
    fn contents(&mut self, root: Term, buffer: u64) -> Term {
        let contents = self.shared.entry((root, buffer)).or_default();
        let mut operands = Vec::new();
        let mut words = vec![head::CONTENTS];
        for (place, value) in contents.iter() {
            words.push(u32::try_from(place.len()).unwrap_or(u32::MAX));
            operands.extend(place.iter().chain([value]));
        }
        self.terms.make(words, operands)
    }

    /// The contents of a variable of the invocation. Another one that holds nothing yet is as good.
    fn own_state(&mut self, root: Term) -> Term {
        let known = self.own.get(&root).copied();
        known.unwrap_or_else(|| self.terms.make(vec![head::UNDEFINED], vec![]))
    }

    fn store(
        &mut self,
        (root, class, path): (Term, StorageClass, Vec<Term>),
        value: Term,
    ) -> Result<()> {
        if Self::is_own(class) {
            let state = self.own_state(root);
            let state = self.terms.insert(state, &path, value);
            self.own.insert(root, state);
        } else if class == StorageClass::Workgroup {
            let (buffer, path) = self.buffer(root, &path)?;
            self.trace.events.push(Event::Access {
                root,
                buffer,
                is_store: true,
            });
            self.shared
                .entry((root, buffer))
                .or_default()
                .insert(path, value);
        } else {
            self.trace.events.push(Event::Access {
                root,
                buffer: 0,
                is_store: true,
            });
            let before = self.stored.get(&root).copied();
            let operands = [&[root][..], before.as_slice(), &path, &[value]].concat();
            let effect = self
                .terms
                .make(vec![head::STORED, u32::from(before.is_some())], operands);
            self.stored.insert(root, effect);
            self.trace.effects.push(effect);
        }
        Ok(())
    }

    /// Executes an instruction that is no branch: its value, if it has one.
    fn instruction(
        &mut self,
        values: &BTreeMap<Id, Value>,
        frame: u32,
        inst: Inst<'m>,
    ) -> Result<Option<Value>> {
        match inst.op().unwrap_or(Op::Nop) {
            Op::Variable => {
                let id = inst.result().context("a variable without id")?;
                let root = self.terms.make(vec![head::ID, id.0, frame], vec![]);
                self.own.remove(&root);
                if let Some(value) = inst.operands().get(1) {
                    let value = self.plain(values, Id(*value))?;
                    self.own.insert(root, value);
                }
                return Ok(Some(Value::Pointer(root, StorageClass::Function, vec![])));
            }
            Op::AccessChain | Op::InBoundsAccessChain => {
                let (root, class, mut path) = self.pointer(values, inst.id(0)?)?;
                for index in &inst.operands()[1..] {
                    path.push(self.index(values, Id(*index))?);
                }
                return Ok(Some(Value::Pointer(root, class, path)));
            }
            Op::CopyObject => return Ok(Some(self.value(values, inst.id(0)?)?)),
            Op::Load => {
                let pointer = self.pointer(values, inst.id(0)?)?;
                return Ok(Some(Value::Plain(self.load(pointer)?)));
            }
            Op::Store => {
                let (pointer, value) = (
                    self.pointer(values, inst.id(0)?)?,
                    self.plain(values, inst.id(1)?)?,
                );
                self.store(pointer, value)?;
                return Ok(None);
            }
            Op::CooperativeMatrixStoreKHR => {
                let (root, class, mut path) = self.pointer(values, inst.id(0)?)?;
                let value = self.plain(values, inst.id(1)?)?;
                if class == StorageClass::Workgroup {
                    // All places of a matrix are one: layout and stride say which.
                    let mut matrix = Vec::new();
                    for id in inst.operands().iter().skip(2).take(2) {
                        matrix.push(self.plain(values, Id(*id))?);
                    }
                    path.push(self.terms.make(vec![head::MATRIX], matrix));
                    self.store((root, class, path), value)?;
                    return Ok(None);
                }
            }
            Op::ControlBarrier => {
                self.trace.events.extend([Event::Arrive, Event::Wait]);
                return Ok(None);
            }
            Op::ControlBarrierArriveINTEL => {
                self.trace.events.push(Event::Arrive);
                return Ok(None);
            }
            Op::ControlBarrierWaitINTEL => {
                self.trace.events.push(Event::Wait);
                return Ok(None);
            }
            Op::CompositeExtract => {
                let whole = self.plain(values, inst.id(0)?)?;
                let path: Vec<Term> = inst.operands()[1..]
                    .iter()
                    .map(|index| self.terms.number(32, u64::from(*index)))
                    .collect();
                return Ok(Some(Value::Plain(self.terms.extract(whole, &path))));
            }
            Op::VectorExtractDynamic => {
                let (whole, index) = (
                    self.plain(values, inst.id(0)?)?,
                    self.index(values, inst.id(1)?)?,
                );
                return Ok(Some(Value::Plain(self.terms.extract(whole, &[index]))));
            }
            Op::CompositeInsert => {
                let (value, whole) = (
                    self.plain(values, inst.id(0)?)?,
                    self.plain(values, inst.id(1)?)?,
                );
                let path: Vec<Term> = inst.operands()[2..]
                    .iter()
                    .map(|index| self.terms.number(32, u64::from(*index)))
                    .collect();
                return Ok(Some(Value::Plain(self.terms.insert(whole, &path, value))));
            }
            _ => {}
        }
        self.other(values, inst)
    }

    /// An index of an access chain: the sign of its type does not matter.
    fn index(&mut self, values: &BTreeMap<Id, Value>, id: Id) -> Result<Term> {
        let index = self.plain(values, id)?;
        Ok(match self.terms.as_number(index) {
            Some((_, number)) => self.terms.number(32, number),
            None => index,
        })
    }

    /// An instruction that is what its words and operands say.
    fn other(&mut self, values: &BTreeMap<Id, Value>, inst: Inst<'m>) -> Result<Option<Value>> {
        let facts = self.declarations.facts(inst);
        if matches!(facts.class, Class::Marker) {
            return Ok(None);
        }
        let mut words = inst.words[1..].to_vec();
        let mut operands = Vec::new();
        for (at, id) in self.declarations.module.ids(inst) {
            let is_type = Some(id) == inst.result_type();
            if Some(id) == inst.result() {
                words[at - 1] = 0;
                continue;
            }
            operands.push(if is_type {
                self.ty(Some(id))
            } else {
                self.plain(values, id)?
            });
            words[at - 1] = 0;
        }
        words.insert(0, u32::from(inst.opcode()));
        if inst.op() == Some(Op::CompositeConstruct)
            && self.parts(inst.result_type()) == Some(operands.len() - 1)
        {
            let parts = operands.split_off(1);
            return Ok(Some(Value::Plain(
                self.terms.make(vec![head::CONSTRUCT], parts),
            )));
        }
        if let Some(bits) = self.bits(inst.result_type()).or(Some(1)) {
            let numbers: Vec<Term> = operands.iter().skip(1).copied().collect();
            if let Some(folded) = self
                .terms
                .fold(inst.op().unwrap_or(Op::Nop), bits, &numbers)
            {
                return Ok(Some(Value::Plain(folded)));
            }
        }
        let (mut reads, mut is_effect) = (
            Vec::new(),
            !facts.touches_no_memory() && facts.class != Class::Memory,
        );
        let mut accesses = Vec::new();
        self.declarations
            .accesses(inst, |id, access| accesses.push((id, access.role)));
        for (id, role) in accesses {
            if !role.reads() && !role.writes() {
                continue;
            }
            let Ok((root, class, path)) = self.pointer(values, id) else {
                is_effect |= role.writes();
                continue;
            };
            ensure!(
                !Self::is_own(class),
                "{} of a variable of the invocation",
                inst.name()
            );
            let buffer = match class {
                StorageClass::Workgroup => self.buffer(root, &path)?.0,
                _ => 0,
            };
            self.trace.events.push(Event::Access {
                root,
                buffer,
                is_store: role.writes(),
            });
            if class == StorageClass::Workgroup {
                reads.push(self.contents(root, buffer));
                is_effect |= role.writes();
            } else {
                reads.extend(self.stored.get(&root));
                is_effect |= role.writes();
            }
        }
        operands.extend(reads);
        if facts.active_lanes || is_effect {
            let number = u32::try_from(self.trace.effects.len()).unwrap_or(u32::MAX);
            operands.push(self.terms.make(vec![head::EFFECT, number], vec![]));
        }
        // The buffer is no part of what an instruction does.
        let operands = self.without_buffers(operands)?;
        let term = self.terms.make(words, operands);
        if is_effect {
            self.trace.effects.push(term);
        }
        Ok(inst.result().map(|_| Value::Plain(term)))
    }

    /// Pointers among `operands` without the numbers of buffers.
    fn without_buffers(&mut self, operands: Vec<Term>) -> Result<Vec<Term>> {
        let mut plain = Vec::new();
        for term in operands {
            plain.push(match self.terms.as_pointer(term) {
                Some((root, path)) => {
                    let inner = self.terms.root(root);
                    let path = self.buffer(inner, &path)?.1;
                    self.terms
                        .make(vec![head::POINTER], [&[root][..], &path].concat())
                }
                None => term,
            });
        }
        Ok(plain)
    }

    /// How many parts a type has.
    fn parts(&self, ty: Option<Id>) -> Option<usize> {
        match self.declarations.ty(ty?)? {
            Type::Vector { count, .. } | Type::Matrix { count, .. } => usize::try_from(*count).ok(),
            Type::Struct { members } => Some(members.len()),
            _ => None,
        }
    }
}
