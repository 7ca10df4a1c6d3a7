//! Names that a module gives its ids: OpName, OpMemberName, OpString.

use super::{Id, Inst};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// All names of a module. They are for people: nothing is decoded before one is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Names<'m> {
    insts: Vec<Inst<'m>>,
    read: OnceLock<Read>,
}

impl<'m> Names<'m> {
    /// Takes `inst`, an OpName, OpMemberName or OpString.
    pub(super) fn take(&mut self, inst: Inst<'m>) {
        self.insts.push(inst);
    }

    /// The names, decoded.
    pub(super) fn read(&self) -> &Read {
        self.read.get_or_init(|| {
            let mut read = Read::default();
            self.insts.iter().for_each(|inst| read.read(*inst));
            read
        })
    }
}

/// Names that were decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Read {
    of_ids: BTreeMap<Id, String>,
    of_members: BTreeMap<(Id, u32), String>,
    strings: BTreeMap<Id, String>,
    /// Names of ids, and those that more than one id has.
    given: BTreeSet<String>,
    shared: BTreeSet<String>,
}

impl Read {
    /// Takes the name that `inst` gives. An empty name is none.
    fn read(&mut self, inst: Inst<'_>) {
        use spirv::Op;
        match (inst.op(), inst.operands()) {
            (Some(Op::Name), [id, ..]) => self.name(Id(*id), inst.string(1)),
            (Some(Op::MemberName), [id, member, ..]) => {
                insert(&mut self.of_members, (Id(*id), *member), inst.string(2))
            }
            (Some(Op::String), _) => {
                if let Some(id) = inst.result() {
                    self.strings.insert(id, inst.string(0));
                }
            }
            _ => {} // not a name
        }
    }

    fn name(&mut self, id: Id, name: String) {
        if !name.is_empty() && !self.of_ids.contains_key(&id) {
            if !self.given.insert(name.clone()) {
                self.shared.insert(name.clone());
            }
            self.of_ids.insert(id, name);
        }
    }

    /// Returns true if more than one id has this name.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        self.shared.contains(name)
    }

    pub(super) fn of_id(&self, id: Id) -> Option<&str> {
        self.of_ids.get(&id).map(String::as_str)
    }

    pub(super) fn of_member(&self, id: Id, member: u32) -> Option<&str> {
        self.of_members.get(&(id, member)).map(String::as_str)
    }

    pub(super) fn string(&self, id: Id) -> Option<&str> {
        self.strings.get(&id).map(String::as_str)
    }
}

fn insert<K: Ord>(map: &mut BTreeMap<K, String>, key: K, name: String) {
    if !name.is_empty() {
        map.entry(key).or_insert(name);
    }
}
