//! A module as text, with the names that the file gives to ids.
//!
//! An id that a pass made has a name that does not depend on how many others there are: constants
//! and pointers are named after what they are, `%uint_264` and `%ptr_Function_bool`, copies that
//! have the OpName of what they are copies of `%local_1`, `%local_2` and so on, and all others
//! `%new_1`, `%new_2` and so on, from 1 in each function; outside of functions `%global_1`.

use super::case::Of;
use spirv::Op;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Assembled, Declarations, Id, Module};
use std::collections::{BTreeMap, BTreeSet};

/// The block of a function that is no longer there.
const GONE: &str = "nothing";

/// The text of a module.
pub(crate) struct Printed {
    /// All instructions.
    pub(crate) module: Vec<String>,
    /// Of each function the instructions between OpFunction and OpFunctionEnd.
    functions: BTreeMap<Id, Vec<String>>,
    ids: BTreeMap<String, Id>,
}

impl Printed {
    /// The text of `module`, which was made of `assembled`.
    pub(crate) fn new(module: &Module<'_>, assembled: &Assembled) -> Printed {
        let declarations = Declarations::new(module, &mut Diagnostics::new());
        let names = names(&declarations, assembled);
        let mut all = Vec::new();
        let mut functions: BTreeMap<Id, Vec<String>> = BTreeMap::new();
        let mut function = None;
        for inst in module.instructions() {
            let line = renamed(&declarations.disassemble(inst), &names);
            if inst.op() == Some(Op::FunctionEnd) {
                function = None;
            }
            if let Some(id) = function {
                functions.entry(id).or_default().push(line.clone());
            }
            if inst.op() == Some(Op::Function) {
                function = inst.result();
            }
            all.push(line);
        }
        Printed {
            module: all,
            functions,
            ids: assembled.names.clone(),
        }
    }

    /// The lines of what a block is about.
    pub(crate) fn lines(&self, of: &Of) -> Vec<String> {
        match of {
            Of::Module => self.module.clone(),
            Of::Function(name) => {
                let found = self.ids.get(name).and_then(|id| self.functions.get(id));
                found.cloned().unwrap_or_else(|| vec![GONE.to_owned()])
            }
        }
    }
}

/// The names of ids here, by those of the disassembler.
fn names(declarations: &Declarations<'_>, assembled: &Assembled) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (name, id) in &assembled.names {
        names.insert(declarations.display_id(*id), format!("%{name}"));
    }
    let mut taken: BTreeSet<String> = names.values().cloned().collect();
    // In a function, what is taken outside of it: each function has numbers of its own.
    let mut outside = None;
    for inst in declarations.module.instructions() {
        if inst.op() == Some(Op::FunctionEnd) {
            taken = outside.take().unwrap_or(taken);
        }
        if let Some(id) = inst.result()
            && let shown = declarations.display_id(id)
            && !names.contains_key(&shown)
        {
            let line = renamed(&declarations.disassemble(inst), &names);
            let new = if outside.is_some() { "%new" } else { "%global" };
            if let Some(name) = new_name(id, &shown, &line, new, &taken) {
                taken.insert(name.clone());
                names.insert(shown, name);
            }
        }
        if inst.op() == Some(Op::Function) {
            outside = Some(taken.clone());
        }
    }
    names
}

/// The name of an id that a pass made, out of what the disassembler calls it and the line that
/// defines it. `None` where it has an OpName, or the usual name of a type.
fn new_name(
    id: Id,
    shown: &str,
    line: &str,
    new: &str,
    taken: &BTreeSet<String>,
) -> Option<String> {
    if let Some(name) = what_it_is(line).filter(|name| !taken.contains(name)) {
        return Some(name);
    }
    // Several ids can have one OpName, and are then told apart by their numbers.
    let shared = shown.strip_suffix(&format!("_{}", id.0));
    if shared.is_none() && shown != id.to_string() {
        return None;
    }
    let numbered = (1..).map(|number| format!("{}_{number}", shared.unwrap_or(new)));
    numbered.into_iter().find(|name| !taken.contains(name))
}

/// A name for a constant or a pointer type, out of the line that declares it.
fn what_it_is(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().skip(2).collect();
    match words[..] {
        ["OpConstant", ty, value] => {
            let value = value.replace(['-', '.', '+'], "_");
            Some(format!("{ty}_{value}"))
        }
        ["OpConstantTrue", _] => Some("%true".to_owned()),
        ["OpConstantFalse", _] => Some("%false".to_owned()),
        ["OpConstantNull", ty] => Some(format!("{ty}_null")),
        ["OpTypePointer", class, ty] => Some(format!("%ptr_{class}_{}", &ty[1..])),
        _ => None,
    }
}

/// A line with its ids renamed, outside of quotes.
fn renamed(line: &str, names: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for (number, part) in line.split('"').enumerate() {
        if number > 0 {
            out.push('"');
        }
        if number % 2 == 1 {
            out.push_str(part);
            continue;
        }
        let words: Vec<&str> = part
            .split(' ')
            .map(|word| names.get(word).map_or(word, String::as_str))
            .collect();
        out.push_str(&words.join(" "));
    }
    out
}
