//! How much workgroup memory an entry point takes: which variables it reaches, and where they lie.
//!
//! The check of limits, the plan and the lowering share this. Types lie where Offset, ArrayStride and MatrixStride say, and naturally without these: a Boolean is
//! one byte, a vector of three has the alignment of four, and in kernels their size.

use crate::module::{Constants, Declarations, EntryPoint, Id, Type, Variable};
use spirv::{Decoration, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Each variable is aligned to this, so that it can be accessed in 128 bits.
const VARIABLE_ALIGN: u64 = 16;

/// Bytes of an address, of workgroup memory too.
const POINTER_BYTES: u64 = 8;

/// Bytes of the workgroup variables that `entry` reaches, at most `u64::MAX`. Blocks share their bytes (SPV_KHR_workgroup_memory_explicit_layout: all begin at the same
/// place), the others follow, each aligned to 16. 0 for an entry point whose calls have no end.
pub fn workgroup_bytes(
    declarations: &Declarations<'_>,
    constants: &Constants,
    entry: &EntryPoint<'_>,
) -> u64 {
    let is_workgroup = |variable: &Variable<'_>| variable.class == StorageClass::Workgroup;
    if !declarations.variables.iter().any(is_workgroup) {
        return 0;
    }
    let Ok(functions) = declarations.reachable_functions(entry.function) else {
        return 0;
    };
    let mut sizes = Sizes {
        declarations,
        constants,
        known: BTreeMap::new(),
    };
    let (mut blocks, mut others) = (0u64, Vec::new());
    for variable in variables(declarations, constants, entry, &functions) {
        let Some((size, align)) = pointee(declarations, variable).and_then(|ty| sizes.of(ty))
        else {
            continue;
        };
        if is_block(declarations, variable) {
            blocks = blocks.max(size);
        } else {
            others.push((size, align.max(VARIABLE_ALIGN)));
        }
    }
    others.into_iter().fold(blocks, |total, (size, align)| {
        round_up(total, align).saturating_add(size)
    })
}

/// The workgroup variables that functions name, themselves or through constants that hold addresses, by id. A kernel that reaches a block also reaches the
/// blocks of its interface that start as zeros, whose bytes it clears.
fn variables<'d, 'm>(
    declarations: &'d Declarations<'m>,
    constants: &Constants,
    entry: &EntryPoint<'_>,
    functions: &[Id],
) -> Vec<&'d Variable<'m>> {
    let mut seen = BTreeSet::new();
    let mut todo: Vec<Id> = Vec::new();
    let bodies = functions
        .iter()
        .filter_map(|function| declarations.function(*function));
    for inst in bodies.flat_map(|function| function.insts()) {
        todo.extend(declarations.module.ids(inst).map(|(_, id)| id));
        while let Some(id) = todo.pop() {
            if let Some(variable) = declarations.variable(id) {
                if seen.insert(id) {
                    todo.extend(variable.initializer);
                }
            } else if constants.get(id).is_none()
                && let Some(inst) = declarations.module.def(id)
                && is_made_of_others(inst.op())
                && seen.insert(id)
            {
                todo.extend(declarations.module.ids(inst).map(|(_, id)| id));
            }
        }
    }
    let variable = |id: &Id| {
        let variable = declarations.variable(*id)?;
        (variable.class == StorageClass::Workgroup).then_some(variable)
    };
    let cleared = |id: &&Id| {
        variable(id).is_some_and(|v| is_block(declarations, v) && v.initializer.is_some())
    };
    let reaches_block = |id: &Id| variable(id).is_some_and(|v| is_block(declarations, v));
    if seen.iter().any(reaches_block) {
        seen.extend(entry.interface.iter().filter(cleared));
    }
    seen.iter().filter_map(variable).collect()
}

/// Whether `op` makes a constant of others: what addresses can be in.
fn is_made_of_others(op: Option<Op>) -> bool {
    matches!(
        op,
        Some(Op::SpecConstantOp | Op::ConstantComposite | Op::SpecConstantComposite)
    )
}

fn pointee(declarations: &Declarations<'_>, variable: &Variable<'_>) -> Option<Id> {
    match declarations.ty(variable.pointer_type)? {
        Type::Pointer { pointee, .. } => *pointee,
        _ => None,
    }
}

fn is_block(declarations: &Declarations<'_>, variable: &Variable<'_>) -> bool {
    pointee(declarations, variable)
        .is_some_and(|ty| declarations.decoration(ty, Decoration::Block).is_some())
}

fn round_up(value: u64, align: u64) -> u64 {
    value
        .checked_next_multiple_of(align.max(1))
        .unwrap_or(u64::MAX)
}

/// Sizes and alignments, each computed once. Types are nested at most [`crate::module::MOST_TYPE_DEPTH`] deep.
struct Sizes<'s, 'm> {
    declarations: &'s Declarations<'m>,
    constants: &'s Constants,
    known: BTreeMap<Id, Option<(u64, u64)>>,
}

impl Sizes<'_, '_> {
    /// Size and alignment in bytes of a type; `None` for one without a size.
    fn of(&mut self, id: Id) -> Option<(u64, u64)> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let found = self.compute(id);
        self.known.insert(id, found);
        found
    }

    fn compute(&mut self, id: Id) -> Option<(u64, u64)> {
        let declarations = self.declarations;
        match declarations.ty(id)? {
            Type::Bool => Some((1, 1)),
            Type::Int { width, .. } | Type::Float { width, .. } => {
                let bytes = u64::from(width.div_ceil(8));
                Some((bytes, bytes))
            }
            Type::Vector { component, count } => {
                let (size, _) = self.of(*component)?;
                let (count, padded) = (u64::from(*count), u64::from(count.next_power_of_two()));
                let kernel = declarations.has_capability(spirv::Capability::Kernel);
                let lanes = if kernel { padded } else { count };
                Some((size * lanes, size * padded))
            }
            Type::Matrix { column, count } => {
                let (size, align) = self.of(*column)?;
                Some((
                    round_up(size, align).saturating_mul(u64::from(*count)),
                    align,
                ))
            }
            Type::Array { element, length } => {
                let (size, align) = self.of(*element)?;
                let length = u64::from(self.constants.as_u32(*length)?);
                let stride = match declarations.decoration(id, Decoration::ArrayStride) {
                    Some(stride) if stride != 0 => u64::from(stride),
                    _ => round_up(size, align),
                };
                Some((stride.saturating_mul(length), align))
            }
            Type::Struct { members } => self.structure(id, members),
            Type::Pointer { .. } => Some((POINTER_BYTES, POINTER_BYTES)),
            Type::Event => Some((4, 4)),
            Type::Void
            | Type::RuntimeArray { .. }
            | Type::Function { .. }
            | Type::NamedBarrier
            | Type::CooperativeMatrix { .. }
            | Type::Other { .. } => None,
        }
    }

    fn structure(&mut self, id: Id, members: &[Id]) -> Option<(u64, u64)> {
        let declarations = self.declarations;
        let packed = declarations.decoration(id, Decoration::CPacked).is_some();
        let (mut next, mut end, mut most, mut explicit) = (0u64, 0u64, 1, false);
        for (member, number) in members.iter().zip(0..) {
            let (size, align) = self.of(*member)?;
            let offset = match declarations.member_decoration(id, number, Decoration::Offset) {
                Some(offset) => {
                    explicit = true;
                    u64::from(offset)
                }
                None if packed => next,
                None => round_up(next, align),
            };
            next = offset.saturating_add(size);
            end = end.max(offset.saturating_add(self.member_size(id, number, *member, size)));
            most = most.max(align);
        }
        Some(match (packed, explicit) {
            (true, _) => (end, 1),
            (false, true) => (end, most),
            (false, false) => (round_up(end, most), most),
        })
    }

    /// Bytes of a member: of a matrix with a stride, those of all its columns, or rows.
    fn member_size(&self, structure: Id, number: u32, member: Id, size: u64) -> u64 {
        let declarations = self.declarations;
        let decoration = |kind| declarations.member_decoration(structure, number, kind);
        let (Some(Type::Matrix { column, count }), Some(stride)) = (
            declarations.ty(member),
            decoration(Decoration::MatrixStride),
        ) else {
            return size;
        };
        let vectors = match declarations.ty(*column) {
            Some(Type::Vector { count: rows, .. })
                if decoration(Decoration::RowMajor).is_some() =>
            {
                *rows
            }
            _ => *count,
        };
        u64::from(stride) * u64::from(vectors)
    }
}
