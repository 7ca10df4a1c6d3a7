//! A SPIR-V module as words, in the order of its sections.

use spirv::Op;
use splitbar_passes::module::WordOffset;
use std::collections::BTreeMap;

/// SPIR-V 1.4: the first in which an entry point lists all its variables.
const VERSION: u32 = 0x0001_0400;
const HEADER_WORDS: usize = 5;

/// A module that is being written.
#[derive(Default)]
pub(super) struct Words {
    bound: u32,
    head: Vec<u32>,
    entries: Vec<u32>,
    modes: Vec<u32>,
    strings: Vec<u32>,
    names: Vec<u32>,
    decorations: Vec<u32>,
    globals: Vec<u32>,
    body: Vec<u32>,
    /// Types, constants and strings that are there, by their words.
    known: BTreeMap<Vec<u32>, u32>,
}

/// Appends an instruction.
fn put(section: &mut Vec<u32>, op: Op, operands: &[u32]) {
    let count = operands.len() as u32 + 1;
    section.push(count << 16 | op as u32);
    section.extend_from_slice(operands);
}

/// The words of a literal string.
fn string(text: &str) -> Vec<u32> {
    let mut bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = bytes
        .chunks_exact(4)
        .filter_map(|four| four.try_into().ok());
    words.map(u32::from_le_bytes).collect()
}

/// Texts are for people: what is longer is cut off.
fn shortened(text: &str) -> String {
    const MOST: usize = 1000;
    text.chars().take(MOST).collect()
}

impl Words {
    /// A new id.
    pub(super) fn fresh(&mut self) -> u32 {
        self.bound += 1;
        self.bound
    }

    /// An instruction of the first sections: capabilities, extensions, memory model.
    pub(super) fn head(&mut self, op: Op, operands: &[u32]) {
        put(&mut self.head, op, operands);
    }

    /// An extension.
    pub(super) fn extension(&mut self, name: &str) {
        put(&mut self.head, Op::Extension, &string(name));
    }

    /// A kernel, and the variables that it names.
    pub(super) fn entry(&mut self, function: u32, name: &str, variables: &[u32]) {
        let mut operands = vec![spirv::ExecutionModel::Kernel as u32, function];
        operands.extend(string(name));
        operands.extend_from_slice(variables);
        put(&mut self.entries, Op::EntryPoint, &operands);
    }

    /// The size of a kernel's workgroups.
    pub(super) fn local_size(&mut self, function: u32, [x, y, z]: [u32; 3]) {
        let mode = spirv::ExecutionMode::LocalSize as u32;
        put(
            &mut self.modes,
            Op::ExecutionMode,
            &[function, mode, x, y, z],
        );
    }

    /// What people call `id`.
    pub(super) fn name(&mut self, id: u32, name: &str) {
        if !name.is_empty() {
            let mut operands = vec![id];
            operands.extend(string(&shortened(name)));
            put(&mut self.names, Op::Name, &operands);
        }
    }

    /// The built-in that variable `id` is.
    pub(super) fn built_in(&mut self, id: u32, built_in: spirv::BuiltIn) {
        let decoration = spirv::Decoration::BuiltIn as u32;
        put(
            &mut self.decorations,
            Op::Decorate,
            &[id, decoration, built_in as u32],
        );
    }

    /// A string for debug lines.
    pub(super) fn string(&mut self, text: &str) -> u32 {
        let words = string(&shortened(text));
        let key = [vec![Op::String as u32], words.clone()].concat();
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.fresh();
        put(&mut self.strings, Op::String, &[vec![id], words].concat());
        self.known.insert(key, id);
        id
    }

    /// The type with these operands, made once.
    pub(super) fn ty(&mut self, op: Op, operands: &[u32]) -> u32 {
        self.once(op, None, operands)
    }

    /// The constant with these operands, made once.
    pub(super) fn constant(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        self.once(op, Some(ty), operands)
    }

    fn once(&mut self, op: Op, ty: Option<u32>, operands: &[u32]) -> u32 {
        let mut key = vec![op as u32];
        key.extend(ty);
        key.extend_from_slice(operands);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.fresh();
        let mut words: Vec<u32> = ty.into_iter().collect();
        words.push(id);
        words.extend_from_slice(operands);
        put(&mut self.globals, op, &words);
        self.known.insert(key, id);
        id
    }

    /// A variable of the module, in a storage class.
    pub(super) fn variable(&mut self, pointer: u32, class: spirv::StorageClass) -> u32 {
        let id = self.fresh();
        put(
            &mut self.globals,
            Op::Variable,
            &[pointer, id, class as u32],
        );
        id
    }

    /// An instruction of a function, without result; gives its place among the words of functions.
    pub(super) fn put(&mut self, op: Op, operands: &[u32]) -> usize {
        let place = self.body.len();
        put(&mut self.body, op, operands);
        place
    }

    /// An instruction of a function whose result is `id`.
    pub(super) fn define(&mut self, op: Op, ty: u32, id: u32, operands: &[u32]) -> usize {
        self.put(op, &[&[ty, id], operands].concat())
    }

    /// An instruction of a function with a new result.
    pub(super) fn result(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.fresh();
        self.define(op, ty, id, operands);
        id
    }

    /// Where the next instruction of a function will stand among the words of functions.
    pub(super) fn here(&self) -> usize {
        self.body.len()
    }

    /// The bytes of the module, and a way from places among the words of functions to words of the
    /// module.
    pub(super) fn finish(self) -> (Vec<u8>, impl Fn(usize) -> WordOffset) {
        let bound = self.bound + 1;
        let mut words = vec![spirv::MAGIC_NUMBER, VERSION, 0, bound, 0];
        debug_assert_eq!(words.len(), HEADER_WORDS);
        for section in [
            &self.head,
            &self.entries,
            &self.modes,
            &self.strings,
            &self.names,
            &self.decorations,
            &self.globals,
        ] {
            words.extend_from_slice(section);
        }
        let start = words.len();
        words.extend_from_slice(&self.body);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let place = move |place: usize| WordOffset::new((start + place) as u32);
        (bytes, place)
    }
}
