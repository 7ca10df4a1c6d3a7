//! Finds the origins of events: copies, phis, and variables that hold them.

use crate::analysis::cfg::Cfg;
use crate::analysis::marks::{Group, Move};
use crate::module::facts::Class;
use crate::module::{BlockIndex, Constants, Declarations, Function, Id, Inst, Type};
use spirv::{Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Most values that are looked at for all waits and phis of a function together; a question beyond
/// it has the answer "any event".
const MAX_LOOKED_AT: usize = 1 << 22;
/// Most links of a chain of pointers.
const MAX_CHAIN: usize = 64;
/// Most elements of a list of events that are looked at one by one.
const MAX_LIST: u64 = 256;

/// Where an event comes from.
#[derive(Clone, Debug)]
enum Source {
    /// A copy, with the event operand that it shares.
    Copy(Id),
    /// A phi: predecessors and values.
    Phi(BlockIndex, Vec<(BlockIndex, Id)>),
    /// One of these values.
    Same(Vec<Id>),
    /// A place of a variable.
    Load(ElementPlace),
    /// From somewhere else.
    Unknown,
}

/// A place of a variable that holds events, by element; `None`: an element that is not known.
type ElementPlace = (Id, Option<u64>);

/// A store of an event: place, value, and where the instruction stands.
struct Stored {
    place: ElementPlace,
    value: Id,
    at: (BlockIndex, usize),
}

/// What an event may be.
#[derive(Clone, Debug, Default)]
struct Origin {
    /// Values that name copies.
    names: BTreeSet<Id>,
    /// Any event of the function may be meant.
    any: bool,
}

/// The events of one function.
pub(super) struct Events<'e> {
    constants: &'e Constants,
    declarations: &'e Declarations<'e>,
    sources: BTreeMap<Id, Source>,
    stores: Vec<Stored>,
    /// By variable, places in `stores`.
    stores_of: BTreeMap<Id, Vec<usize>>,
    /// Variables that are used in other ways than these.
    escaped: BTreeSet<Id>,
    /// Values that share a name with another one: those that a shared event connects.
    merged: BTreeMap<Id, Id>,
    /// Values that may yet be looked at.
    left: std::cell::Cell<usize>,
}

impl<'e> Events<'e> {
    /// Reads them from `function`, whose graph is `cfg`.
    pub(super) fn analyze<'m>(
        declarations: &'e Declarations<'m>,
        constants: &'e Constants,
        function: &Function<'_>,
        cfg: &Cfg,
    ) -> Events<'e>
    where
        'm: 'e,
    {
        let mut events = Events {
            constants,
            declarations,
            sources: BTreeMap::new(),
            stores: Vec::new(),
            stores_of: BTreeMap::new(),
            escaped: BTreeSet::new(),
            merged: BTreeMap::new(),
            left: std::cell::Cell::new(MAX_LOOKED_AT),
        };
        for (block, body) in function.numbered() {
            for (index, inst) in body.insts.iter().enumerate() {
                events.read(*inst, (block, index), cfg);
            }
        }
        events.merge();
        events
    }

    fn is_event(&self, value: Id) -> bool {
        let ty = self.declarations.type_of(value);
        ty.and_then(|ty| self.declarations.ty(ty)) == Some(&Type::Event)
    }

    fn read(&mut self, inst: Inst<'_>, at: (BlockIndex, usize), cfg: &Cfg) {
        let ids = |first: usize| inst.operands().get(first..).unwrap_or_default();
        // A variable whose address goes where nobody follows it.
        let escapes = |events: &mut Self, operand: usize| {
            if let Some((variable, _)) = inst.id(operand).ok().and_then(|id| events.place(id)) {
                events.escaped.insert(variable);
            }
        };
        match inst.op() {
            _ if matches!(
                inst.facts().class,
                Class::Address(_) | Class::WaitEvents | Class::Marker | Class::Declaration
            ) => {}
            Some(Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::Bitcast | Op::Load) => {}
            Some(Op::CopyObject) if !inst.result().is_some_and(|id| self.is_event(id)) => {}
            Some(Op::Store) => {
                escapes(self, 1);
                self.store(inst, at);
            }
            _ => (0..inst.operands().len()).for_each(|operand| escapes(self, operand)),
        }
        let Some(result) = inst.result().filter(|id| self.is_event(*id)) else {
            return;
        };
        let source = match inst.op() {
            Some(Op::GroupAsyncCopy) => inst.id(5).map_or(Source::Unknown, Source::Copy),
            Some(Op::Phi) => {
                let pairs = inst.operands().chunks_exact(2);
                let incoming = pairs.filter_map(|pair| match pair {
                    [value, label] => Some((cfg.index_of(Id(*label))?, Id(*value))),
                    _ => None,
                });
                Source::Phi(at.0, incoming.collect())
            }
            Some(Op::CopyObject) => Source::Same(ids(0).iter().copied().map(Id).collect()),
            Some(Op::Select) => Source::Same(ids(1).iter().copied().map(Id).collect()),
            Some(Op::Undef) => Source::Same(Vec::new()),
            Some(Op::Load) => match inst.id(0).ok().and_then(|id| self.place(id)) {
                Some(place) => Source::Load(place),
                None => Source::Unknown,
            },
            _ => Source::Unknown,
        };
        self.sources.insert(result, source);
    }

    fn store(&mut self, inst: Inst<'_>, at: (BlockIndex, usize)) {
        let (Ok(pointer), Ok(value)) = (inst.id(0), inst.id(1)) else {
            return;
        };
        let Some(place) = self.place(pointer) else {
            return; // what is loaded from there is not known either
        };
        if self.is_event(value) {
            self.stores_of
                .entry(place.0)
                .or_default()
                .push(self.stores.len());
            self.stores.push(Stored { place, value, at });
        } else {
            self.escaped.insert(place.0);
        }
    }

    /// The place that a pointer points to, if it is one of a variable of the function that holds
    /// events.
    fn place(&self, pointer: Id) -> Option<ElementPlace> {
        let mut pointer = pointer;
        let mut element = Some(0u64);
        for _ in 0..MAX_CHAIN {
            let def = self.declarations.module.def(pointer)?;
            if let Some(chain) = def.chain() {
                let element_index = chain.element.into_iter();
                let indexes = chain.indexes.iter().map(|index| Id(*index));
                for index in element_index.chain(indexes) {
                    let index = self.constants.get(index).and_then(|c| c.as_u64());
                    element = element.zip(index).and_then(|(a, b)| a.checked_add(b));
                }
                pointer = chain.base;
                continue;
            }
            match def.op()? {
                Op::Variable => return self.holds_events(def).then_some((pointer, element)),
                Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::Bitcast | Op::CopyObject => {}
                _ => return None,
            }
            pointer = def.id(0).ok()?;
        }
        None
    }

    /// Returns true if a variable is an event or an array of events of the invocation's own.
    fn holds_events(&self, variable: Inst<'_>) -> bool {
        let ty = variable
            .result_type()
            .and_then(|ty| self.declarations.ty(ty));
        let Some(Type::Pointer {
            class: StorageClass::Function,
            pointee: Some(pointee),
        }) = ty
        else {
            return false;
        };
        match self.declarations.ty(*pointee) {
            Some(Type::Array { element, .. }) => {
                self.declarations.ty(*element) == Some(&Type::Event)
            }
            ty => ty == Some(&Type::Event),
        }
    }

    /// Gives values one name where a copy shares the event of another: it is one event, and who
    /// waits for it by one name waits for all its copies.
    fn merge(&mut self) {
        let mut neighbours: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
        let mut shared = Vec::new();
        let mut all = false;
        for (value, source) in &self.sources {
            let inputs: Vec<Id> = match source {
                // A null event shares nothing.
                Source::Copy(event) if self.constants.get(*event).is_some() => continue,
                Source::Copy(event) => {
                    shared.push(*value);
                    vec![*event]
                }
                Source::Phi(_, incoming) => incoming.iter().map(|(_, id)| *id).collect(),
                Source::Same(_) | Source::Load(_) | Source::Unknown => continue,
            };
            for input in inputs {
                let origin = self.origin(input);
                // An event that nobody can follow may be that of any copy.
                all |= origin.any && matches!(source, Source::Copy(_));
                for name in origin.names {
                    neighbours.entry(*value).or_default().insert(name);
                    neighbours.entry(name).or_default().insert(*value);
                }
            }
        }
        if all {
            let name = self.sources.keys().next().copied();
            let names = self
                .sources
                .keys()
                .filter_map(|value| Some((*value, name?)));
            self.merged = names.collect();
            return;
        }
        for start in shared {
            let mut work = vec![start];
            while let Some(value) = work.pop() {
                if let std::collections::btree_map::Entry::Vacant(new) = self.merged.entry(value) {
                    new.insert(start);
                    work.extend(neighbours.get(&value).into_iter().flatten());
                }
            }
        }
    }

    /// The name of an event value.
    pub(super) fn name(&self, value: Id) -> Group {
        Group(self.merged.get(&value).unwrap_or(&value).0)
    }

    /// The values that name the copies of `value`: copies and phis.
    fn origin(&self, value: Id) -> Origin {
        let mut origin = Origin::default();
        let mut seen = BTreeSet::new();
        let mut work = vec![(value, true)];
        while let Some((value, direct)) = work.pop() {
            if !seen.insert((value, direct)) {
                continue;
            }
            let left = self.left.get();
            if left == 0 {
                origin.any = true;
                break;
            }
            self.left.set(left - 1);
            match self.sources.get(&value) {
                Some(Source::Copy(event)) => {
                    if direct {
                        origin.names.insert(value);
                    }
                    work.push((*event, false));
                }
                Some(Source::Phi(_, incoming)) => {
                    if direct {
                        origin.names.insert(value);
                    }
                    // Behind a phi only the question is left whether something cannot be followed.
                    work.extend(incoming.iter().map(|(_, id)| (*id, false)));
                }
                Some(Source::Same(values)) => {
                    work.extend(values.iter().map(|id| (*id, direct)));
                }
                Some(Source::Load(place)) => match self.stored(*place) {
                    Some(values) => work.extend(values.into_iter().map(|id| (id, direct))),
                    None => origin.any = true,
                },
                Some(Source::Unknown) => origin.any = true,
                // No instruction of the function: null and undefined constants are no copy.
                None => origin.any |= self.constants.get(value).is_none(),
            }
        }
        origin
    }

    /// All that is ever stored at a place; `None` when nobody knows.
    fn stored(&self, (variable, element): ElementPlace) -> Option<Vec<Id>> {
        if self.escaped.contains(&variable) {
            return None;
        }
        let stores = self.stores_of.get(&variable).into_iter().flatten();
        let stores = stores.filter_map(|index| self.stores.get(*index));
        Some(
            stores
                .filter(|stored| {
                    element.is_none() || stored.place.1.is_none() || stored.place.1 == element
                })
                .map(|stored| stored.value)
                .collect(),
        )
    }

    /// What stands at a place before instruction `index` of `block`, when a store of the block says
    /// so.
    fn stored_before(&self, place: ElementPlace, block: BlockIndex, index: usize) -> Option<Id> {
        if self.escaped.contains(&place.0) {
            return None;
        }
        let stores = self.stores_of.get(&place.0)?;
        let mut before = stores.iter().rev().filter_map(|at| self.stores.get(*at));
        let last = before.find(|stored| {
            stored.at.0 == block
                && stored.at.1 < index
                && (stored.place.1.is_none() || stored.place.1 == place.1)
        })?;
        last.place.1.is_some().then_some(last.value)
    }

    /// The events that the OpGroupWaitEvents `inst` is for; `None`: all.
    pub(super) fn waited_for(
        &self,
        block: BlockIndex,
        index: usize,
        inst: Inst<'_>,
    ) -> Option<Vec<Group>> {
        let count = self.constants.get(inst.id(1).ok()?)?.as_u64()?;
        let (variable, first) = self.place(inst.id(2).ok()?)?;
        let values = match first {
            Some(first) if count <= MAX_LIST => {
                let mut values = Vec::new();
                for element in first..first.saturating_add(count) {
                    let place = (variable, Some(element));
                    match self.stored_before(place, block, index) {
                        Some(value) => values.push(value),
                        None => values.extend(self.stored(place)?),
                    }
                }
                values
            }
            _ => self.stored((variable, None))?,
        };
        let mut groups = BTreeSet::new();
        for value in values {
            let origin = self.origin(value);
            if origin.any {
                return None;
            }
            groups.extend(origin.names.into_iter().map(|value| self.name(value)));
        }
        Some(groups.into_iter().collect())
    }

    /// The phis, but for those whose event has one name everywhere.
    pub(super) fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for (value, source) in &self.sources {
            let Source::Phi(block, incoming) = source else {
                continue;
            };
            if self.merged.contains_key(value) {
                continue;
            }
            let mut from = Vec::new();
            for (pred, id) in incoming {
                // What cannot be followed is waited for with all the others.
                let names = self.origin(*id).names;
                from.extend(names.into_iter().map(|name| (*pred, self.name(name))));
            }
            moves.push(Move {
                block: *block,
                to: self.name(*value),
                from,
            });
        }
        moves
    }
}
