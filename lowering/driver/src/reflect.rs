//! The kernel's outside as JSON: how to launch it, and how its barriers were lowered.

use crate::output::Entry;
use crate::window::Window;
use serde::Serialize;
use splitbar_llvm::{Argument, ArgumentKind};
use splitbar_plan::Target;

/// One entry point.
#[derive(Debug, Serialize)]
struct Reflection<'o> {
    entry: &'o str,
    target: &'static str,
    /// Null when only the launch knows.
    workgroup_size: Option<[u32; 3]>,
    /// Bytes of the module's workgroup variables.
    shared_memory_bytes: u32,
    /// Bytes that the barriers take on top (Vulkan: splitBarrierReservedSharedMemory).
    reserved_shared_memory_bytes: u32,
    arguments: Vec<ArgumentReflection>,
    pairs: Vec<PairReflection<'o>>,
}

/// A kernel parameter. Sizes and offsets are bytes.
#[derive(Debug, Serialize)]
struct ArgumentReflection {
    index: u32,
    kind: &'static str,
    set: Option<u32>,
    binding: Option<u32>,
    size: u32,
    offset: u32,
}

#[derive(Debug, Serialize)]
struct PairReflection<'o> {
    id: u32,
    scope: String,
    strategy: &'static str,
    reason: &'o str,
    /// Null when it was not measured.
    window: Option<Window>,
}

/// Pretty-printed JSON: an array with one object per entry point, a line feed at the end.
pub(crate) fn json(entries: &[Entry], target: &'static Target) -> String {
    let reflections: Vec<Reflection<'_>> =
        entries.iter().map(|entry| reflect(entry, target)).collect();
    // Serialising plain structs to a string has no way to fail: no maps, no foreign impls.
    let mut text = serde_json::to_string_pretty(&reflections).unwrap_or_default();
    text.push('\n');
    text
}

fn reflect<'o>(entry: &'o Entry, target: &'static Target) -> Reflection<'o> {
    let plan = &entry.plan;
    Reflection {
        entry: &plan.entry,
        target: target.name,
        workgroup_size: plan.workgroup_size,
        shared_memory_bytes: entry.abi.shared_memory_bytes,
        reserved_shared_memory_bytes: plan.reserved_shared_bytes,
        arguments: entry.abi.arguments.iter().map(argument).collect(),
        pairs: plan
            .pairs
            .iter()
            .enumerate()
            .map(|(position, pair)| PairReflection {
                id: pair.id.0,
                scope: pair.scope.to_string().to_lowercase(),
                strategy: pair.strategy.name(),
                reason: &pair.reason,
                window: entry
                    .windows
                    .as_ref()
                    .and_then(|windows| windows.get(position).copied()),
            })
            .collect(),
    }
}

fn argument(argument: &Argument) -> ArgumentReflection {
    ArgumentReflection {
        index: argument.index,
        kind: match argument.kind {
            ArgumentKind::Buffer => "buffer",
            ArgumentKind::PushConstant => "push_constant",
            ArgumentKind::ArrayLength => "array_length",
            ArgumentKind::Value => "value",
        },
        set: argument.set,
        binding: argument.binding,
        size: argument.size,
        offset: argument.offset,
    }
}
