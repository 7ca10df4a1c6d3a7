//! The limit on workgroup memory.

use super::super::{Check, MAX_COMPUTE_SHARED_MEMORY, Rule};
use crate::analysis::workgroup_memory::WorkgroupMemory;
use crate::diagnostic::Code;
use crate::module::Id;
use std::collections::BTreeSet;

/// VUID 13562.
pub(super) const LIMIT: Rule = Rule {
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
        for entry in &context.declarations.entry_points {
            let Ok(functions) = context.declarations.reachable_functions(entry.function) else {
                continue;
            };
            if !functions.iter().any(|function| splits.contains(function)) {
                continue;
            }
            let memory = WorkgroupMemory::analyze(context.declarations, context.constants, entry);
            let bytes = memory.bytes;
            let reserved = u64::from(context.settings.reserved_shared_bytes);
            if bytes.saturating_add(reserved) > *limit {
                to.push(
                    LIMIT.error(context, entry.inst, format!("entry point {:?} uses {bytes} bytes of workgroup memory, and {reserved} are reserved for split barriers; {MAX_COMPUTE_SHARED_MEMORY} is {limit}", entry.name))
                        .help("make the workgroup variables smaller, or use OpControlBarrier instead of split barriers"),
                );
            }
        }
    }),
};
