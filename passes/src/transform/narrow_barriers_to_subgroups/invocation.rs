//! The values that one invocation of a workgroup computes from its place in the workgroup, and the
//! blocks that it may come to: conditional constant propagation, once for each invocation.

use crate::analysis::cfg::Cfg;
use crate::module::{
    BlockIndex, BlockMap, Constant, Constants, Declarations, Function, Id, Inst, Type, folded,
};
use crate::transform::whole_variables::whole_variables;
use spirv::{BuiltIn, Decoration, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// A value in all executions of an instruction by one invocation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// This one in all of them.
    Always(Constant),
    /// Not known, or not the same in all of them.
    Varies,
}

impl Value {
    fn join(&mut self, other: &Value) {
        if self != other {
            *self = Value::Varies;
        }
    }
}

/// An entry function that invocations execute.
pub(super) struct Invocations<'i, 'm> {
    declarations: &'i Declarations<'m>,
    constants: &'i Constants,
    function: &'i Function<'m>,
    cfg: &'i Cfg,
    /// Variables of the class Function that are loaded and stored as a whole.
    variables: BTreeMap<Id, usize>,
    /// Inputs that the place of the invocation gives.
    places: BTreeMap<Id, BuiltIn>,
    size: [u32; 3],
}

/// The values and the blocks of one invocation.
pub(super) struct Invocation {
    values: BTreeMap<Id, Value>,
    /// True for each block that it may reach.
    reached: BlockMap<bool>,
}

impl Invocation {
    pub(super) fn value(&self, id: Id) -> Option<&Value> {
        self.values.get(&id)
    }

    pub(super) fn comes_to(&self, block: BlockIndex) -> bool {
        self.reached.get(block).copied().unwrap_or(true)
    }
}

impl<'i, 'm> Invocations<'i, 'm> {
    /// Those of a workgroup of `size`. `constants` are without the defaults of specialization
    /// constants.
    pub(super) fn new(
        declarations: &'i Declarations<'m>,
        constants: &'i Constants,
        function: &'i Function<'m>,
        cfg: &'i Cfg,
        size: [u32; 3],
    ) -> Self {
        let variables = whole_variables(declarations, function);
        let place = |id: Id| {
            let built_in = declarations.decoration(id, Decoration::BuiltIn)?;
            let known = [BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex];
            let known = known.into_iter().find(|one| *one as u32 == built_in)?;
            Some((id, known))
        };
        let inputs = declarations.variables.iter();
        let inputs = inputs.filter(|one| one.class == StorageClass::Input);
        Invocations {
            declarations,
            constants,
            function,
            cfg,
            variables: variables.into_keys().zip(0..).collect(),
            places: inputs.filter_map(|one| place(one.id)).collect(),
            size,
        }
    }

    /// The value of a constant that is an integer.
    pub(super) fn constant(&self, id: Id) -> Option<u64> {
        self.constants.get(id)?.as_u64()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.size.iter().map(|axis| *axis as usize).product()
    }

    /// Executes the invocation with this LocalInvocationIndex. Returns `None` if that takes more
    /// than `work` instructions, which it reduces.
    pub(super) fn run(&self, index: usize, work: &mut usize) -> Option<Invocation> {
        let [x, y, _] = self.size.map(|axis| (axis as usize).max(1));
        let mut run = Run {
            of: self,
            index,
            id: [index % x, index / x % y, index / (x * y)],
            values: BTreeMap::new(),
            entered: BlockMap::filled(self.cfg.len(), None),
            edges: BTreeSet::new(),
            changed: true,
        };
        *run.entered.get_mut(BlockIndex::ENTRY)? = Some(run.initial());
        while std::mem::replace(&mut run.changed, false) {
            for block in self.cfg.reverse_postorder() {
                let insts = &self.function.block(*block)?.insts;
                if let Some(held) = run.entered.get(*block).cloned().flatten() {
                    *work = work.checked_sub(insts.len())?;
                    run.block(*block, insts, held);
                }
            }
        }
        Some(Invocation {
            values: run.values,
            reached: run.entered.values().map(Option::is_some).collect(),
        })
    }
}

/// One invocation on its way to a fixed point.
struct Run<'r, 'm> {
    of: &'r Invocations<'r, 'm>,
    index: usize,
    id: [usize; 3],
    /// Results so far; those that are not there were not computed yet.
    values: BTreeMap<Id, Value>,
    /// The contents of variables at the beginning of each block that it reaches.
    entered: BlockMap<Option<Vec<Value>>>,
    edges: BTreeSet<(BlockIndex, BlockIndex)>,
    changed: bool,
}

impl<'m> Run<'_, 'm> {
    /// The contents of variables before the function: their initializers.
    fn initial(&self) -> Vec<Value> {
        let initial = |id: &Id| {
            let variable = self.of.declarations.module.def(*id)?;
            self.of.constants.get(variable.id(1).ok()?)
        };
        let variables = self.of.variables.keys();
        variables
            .map(|id| initial(id).map_or(Value::Varies, |value| Value::Always(value.clone())))
            .collect()
    }

    fn block(&mut self, block: BlockIndex, insts: &[Inst<'m>], mut held: Vec<Value>) {
        for inst in insts {
            if inst.op() == Some(Op::Store)
                && let (Ok(pointer), Ok(object)) = (inst.id(0), inst.id(1))
                && let Some(variable) = self.of.variables.get(&pointer)
                && let Some(slot) = held.get_mut(*variable)
            {
                *slot = self.operand(object);
            }
            let Some(result) = inst.result() else {
                continue;
            };
            let value = match inst.op() {
                Some(Op::Phi) => self.phi(block, *inst),
                Some(Op::Load) => self.load(*inst, &held),
                _ => self.computed(*inst),
            };
            match self.values.get_mut(&result) {
                None => {
                    self.values.insert(result, value);
                    self.changed = true;
                }
                Some(known) if *known != value && *known != Value::Varies => {
                    known.join(&value);
                    self.changed = true;
                }
                Some(_) => {}
            }
        }
        let target = insts.last().and_then(|inst| self.only_target(*inst));
        let label = |next: &BlockIndex| self.of.cfg.label(*next);
        let nexts = self.of.cfg.succs(block).iter();
        let nexts: Vec<BlockIndex> = nexts
            .filter(|next| target.is_none_or(|target| label(next) == target))
            .copied()
            .collect();
        for next in nexts {
            self.changed |= self.edges.insert((block, next));
            match self.entered.get_mut(next) {
                Some(Some(known)) => {
                    for (known, new) in known.iter_mut().zip(&held) {
                        if known != new && *known != Value::Varies {
                            known.join(new);
                            self.changed = true;
                        }
                    }
                }
                Some(entered @ None) => {
                    *entered = Some(held.clone());
                    self.changed = true;
                }
                None => {}
            }
        }
    }

    /// The value of an operand; one that was not computed yet varies.
    fn operand(&self, id: Id) -> Value {
        let constant = || self.of.constants.get(id).cloned().map(Value::Always);
        let value = self.values.get(&id).cloned();
        value.or_else(constant).unwrap_or(Value::Varies)
    }

    fn constant(&self, id: Id) -> Option<Constant> {
        match self.operand(id) {
            Value::Always(Constant::Undef) | Value::Varies => None,
            Value::Always(constant) => Some(constant),
        }
    }

    /// The value of a phi, from the edges that were taken so far.
    fn phi(&self, block: BlockIndex, inst: Inst<'m>) -> Value {
        let mut joined: Option<Value> = None;
        for pair in inst.operands().chunks_exact(2) {
            let &[value, label] = pair else {
                return Value::Varies;
            };
            let Some(from) = self.of.cfg.index_of(Id(label)) else {
                return Value::Varies;
            };
            if !self.edges.contains(&(from, block)) {
                continue;
            }
            let value = self.operand(Id(value));
            match &mut joined {
                None => joined = Some(value),
                Some(joined) => joined.join(&value),
            }
        }
        joined.unwrap_or(Value::Varies)
    }

    fn load(&self, inst: Inst<'m>, held: &[Value]) -> Value {
        let Ok(pointer) = inst.id(0) else {
            return Value::Varies;
        };
        if let Some(variable) = self.of.variables.get(&pointer) {
            return held.get(*variable).cloned().unwrap_or(Value::Varies);
        }
        let place = self.place(inst, pointer);
        place.map_or(Value::Varies, Value::Always)
    }

    /// The place of the invocation, or a component of it, that `inst` loads through `pointer`.
    fn place(&self, inst: Inst<'m>, pointer: Id) -> Option<Constant> {
        let width = |ty: Id| match self.of.declarations.ty(ty)? {
            Type::Int { width, .. } => Some(*width),
            Type::Vector { component, .. } => match self.of.declarations.ty(*component)? {
                Type::Int { width, .. } => Some(*width),
                _ => None, // not a built-in
            },
            _ => None, // not a built-in
        };
        let width = width(inst.result_type()?)?;
        let number = |value: usize| Constant::Int {
            bits: value as u64,
            width,
        };
        let built_in = |id: &Id| self.of.places.get(id).copied();
        if let Some(whole) = built_in(&pointer) {
            return match whole {
                BuiltIn::LocalInvocationIndex => Some(number(self.index)),
                _ => Some(Constant::Composite(self.id.map(number).to_vec())),
            };
        }
        let chain = self.of.declarations.module.def(pointer)?;
        let is_chain = matches!(chain.op(), Some(Op::AccessChain | Op::InBoundsAccessChain));
        let base = chain.id(0).ok().filter(|_| is_chain)?;
        if built_in(&base) != Some(BuiltIn::LocalInvocationId) || chain.operands().len() != 2 {
            return None;
        }
        let axis = self.constant(chain.id(1).ok()?)?.as_u32()?;
        self.id.get(axis as usize).copied().map(number)
    }

    /// The result of an operation on scalars, or of one that makes or takes apart a composite.
    fn computed(&self, inst: Inst<'m>) -> Value {
        let value = match inst.op() {
            Some(Op::CompositeExtract) => self.extracted(inst),
            Some(Op::CompositeConstruct) => {
                let parts = inst.operands().iter().map(|id| self.constant(Id(*id)));
                parts.collect::<Option<_>>().map(Constant::Composite)
            }
            Some(Op::CopyObject) => inst.id(0).ok().and_then(|id| self.constant(id)),
            Some(Op::Select) => self.selected(inst),
            Some(Op::Bitcast) => self.same_bits(inst),
            Some(op) => self.folded(op, inst),
            None => None,
        };
        value.map_or(Value::Varies, Value::Always)
    }

    fn extracted(&self, inst: Inst<'m>) -> Option<Constant> {
        let mut value = self.constant(inst.id(0).ok()?)?;
        for index in inst.operands().get(1..)? {
            value = match value {
                Constant::Composite(parts) => parts.into_iter().nth(*index as usize)?,
                Constant::Null => Constant::Null,
                Constant::Bool(_)
                | Constant::Int { .. }
                | Constant::Float { .. }
                | Constant::Undef => return None,
            };
        }
        Some(value)
    }

    fn selected(&self, inst: Inst<'m>) -> Option<Constant> {
        let condition = self.constant(inst.id(0).ok()?)?.as_bool()?;
        self.constant(inst.id(if condition { 1 } else { 2 }).ok()?)
    }

    /// The operand of a cast between integers of one width, whose bits stay.
    fn same_bits(&self, inst: Inst<'m>) -> Option<Constant> {
        let value = self.constant(inst.id(0).ok()?)?;
        let result = self.of.declarations.ty(inst.result_type()?)?;
        match (&value, result) {
            (Constant::Int { width, .. }, Type::Int { width: other, .. }) if width == other => {
                Some(value)
            }
            _ => None, // not between integers
        }
    }

    fn folded(&self, op: Op, inst: Inst<'m>) -> Option<Constant> {
        let declarations = self.of.declarations;
        let scalar = |id: Id| declarations.ty(id).filter(|ty| ty.is_scalar());
        let result = scalar(inst.result_type()?)?;
        let operand = |id: &u32| {
            let id = Id(*id);
            Some((self.constant(id)?, scalar(declarations.type_of(id)?)?))
        };
        let operands: Vec<_> = inst.operands().iter().map(operand).collect::<Option<_>>()?;
        let operands: Vec<_> = operands.iter().map(|(value, ty)| (value, *ty)).collect();
        folded(op, result, &operands)
    }

    /// Where the branch `inst` always goes.
    fn only_target(&self, inst: Inst<'m>) -> Option<Id> {
        match inst.op()? {
            Op::BranchConditional => {
                let condition = self.constant(inst.id(0).ok()?)?.as_bool()?;
                inst.id(if condition { 1 } else { 2 }).ok()
            }
            Op::Switch => {
                let selector = inst.id(0).ok()?;
                let ty = self.of.declarations.type_of(selector)?;
                // Wider literals have two words.
                let Some(Type::Int { width: 32, .. }) = self.of.declarations.ty(ty) else {
                    return None;
                };
                let selector = self.constant(selector)?.as_u32()?;
                let mut cases = inst.operands().get(2..)?.chunks_exact(2);
                let case = cases.find(|case| case.first() == Some(&selector));
                let label = case.and_then(|case| case.get(1)).map(|label| Id(*label));
                label.or_else(|| inst.id(1).ok())
            }
            _ => None, // all of its targets
        }
    }
}
