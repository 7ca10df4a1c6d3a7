//! How much workgroup memory a module takes.

use super::super::{Check, Context, MAX_COMPUTE_SHARED_MEMORY, Rule};
use crate::diagnostic::Code;
use crate::module::{Id, Type};
use std::collections::{BTreeMap, BTreeSet};

/// VUID 13562.
pub const LIMIT: Rule = Rule {
    code: Code::SharedMemoryLimit,
    vuid: Some("VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13562"),
    text: include_str!("explain/SB1007.md"),
    check: Check::Module(|context, to| {
        let Some(limit) = context.settings.limits.get(MAX_COMPUTE_SHARED_MEMORY) else {
            return;
        };
        let splits: BTreeSet<Id> = context
            .operations()
            .iter()
            .filter(|operation| operation.is_split())
            .map(|operation| operation.function)
            .collect();
        let mut sizes = Sizes {
            context,
            known: BTreeMap::new(),
        };
        for entry in &context.declarations.entry_points {
            let Ok(functions) = context.declarations.reachable_functions(entry.function) else {
                continue;
            };
            if !functions.iter().any(|function| splits.contains(function)) {
                continue;
            }
            let used = used_variables(context, &functions);
            let (mut bytes, mut aliased) = (0u64, 0u64);
            for variable in context.declarations.variables.iter().filter(|variable| {
                variable.class == spirv::StorageClass::Workgroup && used.contains(&variable.id)
            }) {
                let Some(Type::Pointer {
                    pointee: Some(pointee),
                    ..
                }) = context.declarations.ty(variable.pointer_type)
                else {
                    continue;
                };
                let Some((size, align)) = sizes.of(*pointee) else {
                    continue;
                };
                if context
                    .declarations
                    .decoration(variable.id, spirv::Decoration::Aliased)
                    .is_some()
                {
                    aliased = aliased.max(size);
                } else {
                    bytes = bytes
                        .checked_next_multiple_of(align)
                        .unwrap_or(u64::MAX)
                        .saturating_add(size);
                }
            }
            let bytes = bytes.saturating_add(aliased);
            let reserved = u64::from(context.settings.reserved_shared_bytes);
            if bytes.saturating_add(reserved) > *limit {
                to.push(
                    LIMIT.error(context, entry.inst, format!("entry point {:?} needs {bytes} bytes of workgroup memory, and {reserved} are reserved for split barriers; {MAX_COMPUTE_SHARED_MEMORY} is {limit}", entry.name))
                        .help("make the workgroup variables smaller, or leave the barriers whole"),
                );
            }
        }
    }),
};

fn used_variables(context: &Context<'_, '_>, functions: &[Id]) -> BTreeSet<Id> {
    let insts = functions
        .iter()
        .filter_map(|function| context.declarations.function(*function))
        .flat_map(|function| function.insts());
    insts
        .flat_map(|inst| context.declarations.module.ids(inst))
        .map(|(_, id)| id)
        .filter(|id| context.declarations.variable(*id).is_some())
        .collect()
}

/// Sizes and alignments, each computed once. Types are nested at most [`crate::module::MOST_TYPE_DEPTH`] deep.
struct Sizes<'s, 'c, 'm> {
    context: &'s Context<'c, 'm>,
    known: BTreeMap<Id, Option<(u64, u64)>>,
}

impl Sizes<'_, '_, '_> {
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
        let declarations = self.context.declarations;
        match declarations.ty(id)? {
            Type::Bool => Some((4, 4)),
            Type::Int { width, .. } | Type::Float { width, .. } => {
                Some((u64::from(width.div_ceil(8)), u64::from(width.div_ceil(8))))
            }
            Type::Vector { component, count } => {
                let (size, align) = self.of(*component)?;
                Some((
                    size * u64::from(*count),
                    align * u64::from(count.next_power_of_two()),
                ))
            }
            Type::Matrix { column, count } => {
                let (size, align) = self.of(*column)?;
                Some((size.next_multiple_of(align) * u64::from(*count), align))
            }
            Type::Array { element, length } => {
                let (size, align) = self.of(*element)?;
                let length = self.context.constants.get(*length)?.as_u64()?;
                let stride = declarations
                    .decoration(id, spirv::Decoration::ArrayStride)
                    .map_or(size.checked_next_multiple_of(align)?, u64::from);
                Some((stride.saturating_mul(length), align))
            }
            Type::Struct { members } => {
                let (mut end, mut most) = (0u64, 1);
                for (member, number) in members.iter().zip(0..) {
                    let (size, align) = self.of(*member)?;
                    let natural = end.checked_next_multiple_of(align)?;
                    let offset = declarations
                        .member_decoration(id, number, spirv::Decoration::Offset)
                        .map_or(natural, u64::from);
                    end = end.max(offset.saturating_add(size));
                    most = most.max(align);
                }
                Some((end.checked_next_multiple_of(most)?, most))
            }
            Type::Pointer { .. } => Some((8, 8)),
            Type::Void
            | Type::RuntimeArray { .. }
            | Type::Function { .. }
            | Type::Event
            | Type::NamedBarrier
            | Type::CooperativeMatrix { .. }
            | Type::Other { .. } => None,
        }
    }
}
