//! Reflection as JSON: the data that a launch of a kernel needs, and the lowering of its barriers.

use super::cost_model::SplitDecisions;
use super::entry::Entry;
use super::motion::BarrierMotion;
use super::places::PlanPlaces;
use super::unsplit::UnsplitBarrier;
use crate::usage::{Resident, ResidentEstimate, ResourceUsage};
use crate::window::Window;
use serde::Serialize;
use splitbar_audit::verdict::Audit;
use splitbar_layout::abi::{Argument, ArgumentKind, Combination, KernelAbi, Reached, ResourceKind};
use splitbar_passes::module::WordOffset;
use splitbar_passes::printf::{Call, Table};
use splitbar_plan::Target;
use std::borrow::Cow;

/// The version of the format (docs/schemas/reflection.json). It increases if a key is removed or
/// changes its meaning, but not if a key is added.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// One entry point.
#[derive(Debug, Serialize)]
struct Reflection<'o> {
    schema_version: u32,
    /// The version of splitbar that compiled the kernel.
    tool_version: &'static str,
    entry: &'o str,
    /// The symbol of the kernel in the code.
    symbol: &'o str,
    target: &'static str,
    /// Invocations in a wave or warp.
    wavefront_size: u32,
    /// Invocations in a subgroup, which is a wave or a part of one.
    subgroup_size: u32,
    /// The required workgroup size; null if the launch can choose it.
    workgroup_size: Option<[u32; 3]>,
    /// Workgroups in a cluster in x, y and z; null for a launch without clusters.
    cluster_size: Option<[u32; 3]>,
    /// Bytes of the module's workgroup variables.
    shared_memory_bytes: u32,
    /// The part of these bytes that the launch must add as dynamic workgroup memory.
    dynamic_shared_memory_bytes: u32,
    /// Bytes of additional workgroup memory that the barriers need (Vulkan:
    /// splitBarrierReservedSharedMemory).
    reserved_shared_memory_bytes: u32,
    /// True if the launch must add dynamic workgroup memory, for variables or for arguments that
    /// point to it.
    dynamic_shared_memory: bool,
    /// Size of the kernarg segment in bytes; its alignment follows.
    kernarg_segment_size: u32,
    kernarg_segment_align: u32,
    arguments: Vec<ArgumentReflection>,
    /// The sampler that the texture object of each image contains; absent if images and samplers
    /// are separate arguments.
    #[serde(skip_serializing_if = "<[Combination]>::is_empty")]
    combined_image_samplers: &'o [Combination],
    /// The form in which resources are passed; absent if each is an argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    abi: Option<FormReflection<'o>>,
    /// The format strings and string literals that records in the printf buffer refer to; null for
    /// a kernel without printf.
    printf: Option<PrintReflection<'o>>,
    pairs: Vec<PairReflection<'o>>,
    /// The resource usage of the kernel, on NVIDIA GPUs from ptxas; null if it was not measured.
    resource_usage: Option<ResourceUsage>,
    resident: Option<&'o Resident>,
    /// An estimate of the occupancy; only if `resident` is null because ptxas or data about the GPU
    /// are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    resident_estimate: Option<&'o ResidentEstimate>,
    /// The audit of the code; null if none was requested.
    audit: Option<&'o Audit>,
    /// The data that the strategies were chosen by; absent if there was no choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<&'o SplitDecisions>,
    /// The movement of each barrier that was split; absent if there is none.
    #[serde(skip_serializing_if = "<[BarrierMotion]>::is_empty")]
    moves: &'o [BarrierMotion],
    /// The full barriers that `--split-barriers` did not split; absent if there are none.
    #[serde(skip_serializing_if = "<[UnsplitBarrier]>::is_empty")]
    unsplit: &'o [UnsplitBarrier],
    /// The positions of the words in pairs, moves and unsplit barriers; absent for LLVM IR.
    #[serde(skip_serializing_if = "PlanPlaces::is_empty")]
    places: &'o PlanPlaces,
}

/// A kernel parameter. Sizes and offsets are in bytes.
#[derive(Debug, Serialize)]
struct ArgumentReflection {
    index: u32,
    kind: &'static str,
    set: Option<u32>,
    binding: Option<u32>,
    size: u32,
    offset: u32,
    align: u32,
    /// The alignment that the passed address must have; null for values.
    pointee_align: Option<u32>,
}

/// The form in which resources are passed (docs/abi.md).
#[derive(Debug, Serialize)]
struct FormReflection<'o> {
    form: &'static str,
    /// Size of a descriptor in bytes, which is also the stride of arrays of descriptors.
    descriptor_bytes: u32,
    resources: Vec<ResourceReflection<'o>>,
}

/// A resource that the kernel uses. Offsets are in bytes.
#[derive(Debug, Serialize)]
struct ResourceReflection<'o> {
    set: u32,
    binding: u32,
    kind: ResourceKind,
    /// The number of descriptors; null for a run-time array.
    count: Option<u64>,
    /// Index of the argument through which the kernel reaches the resource.
    argument: u32,
    /// The location of the first descriptor; null if the argument is the address of the resource or
    /// of its first descriptor.
    descriptor: Option<PlaceReflection<'o>>,
}

/// The location of the first descriptor of a resource.
#[derive(Debug, Serialize)]
struct PlaceReflection<'o> {
    /// Offsets of the addresses that the kernel loads, one after the other.
    loads: &'o [u32],
    /// Offset from the last address.
    offset: u32,
    /// Offset of the buffer's length in the descriptor; null if the descriptor has no length.
    length: Option<u32>,
}

/// The printf calls and the strings of a kernel; records refer to them by index. Bytes that are
/// not UTF-8 are replaced.
#[derive(Debug, Serialize)]
struct PrintReflection<'o> {
    calls: Vec<CallReflection<'o>>,
    strings: Vec<Cow<'o, str>>,
}

#[derive(Debug, Serialize)]
struct CallReflection<'o> {
    format: Cow<'o, str>,
    /// The types of the values in a record: `i32`, `i64`, `f32`, `f64`, for vectors followed by `x`
    /// and the number of components; `pointer` (64 bits); `string` (a 32-bit index).
    arguments: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PairReflection<'o> {
    id: u32,
    scope: String,
    strategy: &'static str,
    reason: &'o str,
    /// Word offsets of its arrives and waits in the input module; absent for LLVM IR.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    words: Vec<WordOffset>,
    /// The window in the final code; null if it was not measured.
    window: Option<Window>,
    /// The window in NVIDIA's machine code; null without ptxas and nvdisasm.
    machine_window: Option<Window>,
}

/// Returns pretty-printed JSON: an array with one object per entry point, and a final line feed.
pub(crate) fn json(entries: &[Entry], target: &'static Target) -> String {
    let reflections: Vec<Reflection<'_>> =
        entries.iter().map(|entry| reflect(entry, target)).collect();
    // Cannot fail: the structs contain no maps and no foreign implementations of Serialize.
    let mut text = serde_json::to_string_pretty(&reflections).unwrap_or_default();
    text.push('\n');
    text
}

fn reflect<'o>(entry: &'o Entry, target: &'static Target) -> Reflection<'o> {
    let plan = &entry.plan;
    Reflection {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION"),
        entry: &plan.entry,
        symbol: &entry.abi.symbol,
        target: target.name,
        wavefront_size: plan.wave_size,
        subgroup_size: plan.subgroup_size,
        workgroup_size: plan.workgroup_size,
        cluster_size: plan.cluster,
        shared_memory_bytes: entry.abi.shared_memory_bytes,
        dynamic_shared_memory_bytes: entry.abi.dynamic_shared_bytes,
        reserved_shared_memory_bytes: plan.reserved_shared_bytes,
        dynamic_shared_memory: entry.abi.wants_dynamic_shared_memory(),
        kernarg_segment_size: entry.abi.kernarg_segment_size(),
        kernarg_segment_align: entry.abi.kernarg_segment_align(),
        arguments: entry.abi.arguments.iter().map(argument).collect(),
        combined_image_samplers: &entry.abi.combined_image_samplers,
        abi: form(&entry.abi),
        printf: prints(&entry.abi.prints),
        pairs: plan
            .pairs
            .iter()
            .enumerate()
            .map(|(position, pair)| PairReflection {
                id: pair.id.0,
                scope: pair.scope.to_string().to_lowercase(),
                strategy: pair.strategy.name(),
                reason: &pair.reason,
                words: words(entry, position),
                window: at(&entry.windows, position),
                machine_window: at(&entry.machine_windows, position),
            })
            .collect(),
        resource_usage: entry.usage,
        resident: entry.resident.as_ref(),
        resident_estimate: entry.resident_estimate.as_ref(),
        audit: entry.audit.as_ref(),
        choice: entry.decisions.as_ref(),
        moves: &entry.motions,
        unsplit: &entry.unsplit,
        places: &entry.places,
    }
}

/// The word offsets of a pair that have a position in the input module.
fn words(entry: &Entry, position: usize) -> Vec<WordOffset> {
    let pair = entry.source_pairs.get(position);
    let words = pair.map_or(&[][..], |pair| &pair.words);
    let mut words: Vec<WordOffset> = words
        .iter()
        .copied()
        .filter(|word| entry.places.of_given(*word).is_some())
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn form(abi: &KernelAbi) -> Option<FormReflection<'_>> {
    fn resource(Reached { kind, count, reach }: &Reached) -> ResourceReflection<'_> {
        ResourceReflection {
            set: reach.set,
            binding: reach.binding,
            kind: *kind,
            count: *count,
            argument: reach.argument,
            descriptor: reach.descriptor.as_ref().map(|place| PlaceReflection {
                loads: &place.loads,
                offset: place.offset,
                length: place.length.filter(|_| *kind == ResourceKind::Buffer),
            }),
        }
    }
    Some(FormReflection {
        form: abi.form.name(),
        descriptor_bytes: abi.form.descriptor_bytes()?,
        resources: abi.resources.iter().map(resource).collect(),
    })
}

fn prints(table: &Table) -> Option<PrintReflection<'_>> {
    fn call(Call { format, arguments }: &Call) -> CallReflection<'_> {
        CallReflection {
            format: String::from_utf8_lossy(format),
            arguments: arguments.iter().map(ToString::to_string).collect(),
        }
    }
    (!table.calls().is_empty()).then(|| PrintReflection {
        calls: table.calls().iter().map(call).collect(),
        strings: table
            .strings()
            .iter()
            .map(|text| String::from_utf8_lossy(text))
            .collect(),
    })
}

fn at(windows: &Option<Vec<Window>>, position: usize) -> Option<Window> {
    windows.as_ref()?.get(position).copied()
}

fn argument(argument: &Argument) -> ArgumentReflection {
    ArgumentReflection {
        index: argument.index,
        kind: match argument.kind {
            ArgumentKind::GlobalBuffer => "global_buffer",
            ArgumentKind::Image => "image",
            ArgumentKind::Tensor => "tensor",
            ArgumentKind::Sampler => "sampler",
            ArgumentKind::PushConstant => "push_constant",
            ArgumentKind::ArrayLength => "array_length",
            ArgumentKind::ArrayLengths => "array_lengths",
            ArgumentKind::WorkDim => "work_dim",
            ArgumentKind::ByValue => "by_value",
            ArgumentKind::DynamicSharedPointer => "dynamic_shared_pointer",
            ArgumentKind::PrintfBuffer => "printf_buffer",
            ArgumentKind::Table => "table",
        },
        set: argument.set,
        binding: argument.binding,
        size: argument.size,
        offset: argument.offset,
        align: argument.align,
        pointee_align: argument.pointee_align,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};
    use splitbar_layout::abi::AbiForm;
    use splitbar_passes::analysis::pairing::PairId;
    use splitbar_passes::module::{Id, Scope};
    use splitbar_passes::printf::{Argument as Print, Shape};
    use splitbar_plan::{BarrierState, EntryPlan, PairPlan, Strategy};

    fn entry(windows: Option<Vec<Window>>) -> Entry {
        let pair = PairPlan {
            id: PairId(0),
            scope: Scope::Workgroup,
            strategy: Strategy::Native,
            reason: "it can".to_owned(),
            arrives: Vec::new(),
            waits: Vec::new(),
            window: Vec::new(),
        };
        let plan = EntryPlan {
            entry: "main".to_owned(),
            function: Id(4),
            target: "gfx1201",
            workgroup_size: Some([64, 2, 1]),
            wave_size: 32,
            subgroup_size: 32,
            placement: splitbar_plan::Placement::Default,
            pairs: vec![pair],
            sites: Vec::new(),
            at_entry: Vec::new(),
            at_instruction: Default::default(),
            before_instruction: Default::default(),
            copies: Default::default(),
            copied_loads: Default::default(),
            staged: Default::default(),
            at_return: Default::default(),
            at_end: Vec::new(),
            releases_cumulatively: false,
            cluster: None,
            state: BarrierState::default(),
            reserved_shared_bytes: 8,
            dynamic_shared_bytes: 0,
        };
        let argument = |index, kind, binding: Option<u32>, size, offset, align| Argument {
            index,
            kind,
            set: binding.and(Some(0)),
            binding,
            size,
            offset,
            align,
            pointee_align: (kind == ArgumentKind::GlobalBuffer).then_some(16),
        };
        let arguments = vec![
            argument(0, ArgumentKind::GlobalBuffer, Some(3), 8, 0, 8),
            argument(1, ArgumentKind::PushConstant, None, 12, 16, 4),
            argument(2, ArgumentKind::ArrayLength, Some(3), 4, 28, 4),
            argument(3, ArgumentKind::DynamicSharedPointer, None, 4, 32, 4),
        ];
        let abi = KernelAbi {
            entry: "main".to_owned(),
            symbol: "main".to_owned(),
            workgroup_size: Some([64, 2, 1]),
            shared_memory_bytes: 4096,
            dynamic_shared_bytes: 0,
            arguments,
            form: AbiForm::Arguments,
            resources: Vec::new(),
            combined_image_samplers: Vec::new(),
            prints: Table::default(),
        };
        Entry {
            plan,
            abi,
            windows,
            machine_windows: None,
            usage: None,
            resident: None,
            resident_between: None,
            resident_estimate: None,
            expected: None,
            audit: None,
            decisions: None,
            motions: Vec::new(),
            unsplit: Vec::new(),
            places: PlanPlaces::default(),
            source_pairs: Vec::new(),
            source_sites: Vec::new(),
        }
    }

    fn parsed(entry: Entry) -> Value {
        serde_json::from_str(&json(&[entry], Target::by_name("gfx1201").unwrap())).unwrap()
    }

    #[test]
    fn the_keys_are_these_and_no_others() {
        let expected = json!([{
            "schema_version": 2,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "entry": "main",
            "symbol": "main",
            "target": "gfx1201",
            "wavefront_size": 32,
            "subgroup_size": 32,
            "workgroup_size": [64, 2, 1],
            "cluster_size": null,
            "shared_memory_bytes": 4096,
            "dynamic_shared_memory_bytes": 0,
            "reserved_shared_memory_bytes": 8,
            "dynamic_shared_memory": true,
            "kernarg_segment_size": 36,
            "kernarg_segment_align": 8,
            "arguments": [
                {"index": 0, "kind": "global_buffer", "set": 0, "binding": 3, "size": 8, "offset": 0, "align": 8, "pointee_align": 16},
                {"index": 1, "kind": "push_constant", "set": null, "binding": null, "size": 12, "offset": 16, "align": 4, "pointee_align": null},
                {"index": 2, "kind": "array_length", "set": 0, "binding": 3, "size": 4, "offset": 28, "align": 4, "pointee_align": null},
                {"index": 3, "kind": "dynamic_shared_pointer", "set": null, "binding": null, "size": 4, "offset": 32, "align": 4, "pointee_align": null},
            ],
            "printf": null,
            "pairs": [{"id": 0, "scope": "workgroup", "strategy": "native", "reason": "it can", "window": {"source": 16, "kept": 15}, "machine_window": null}],
            "resource_usage": null,
            "resident": null,
            "audit": null,
        }]);
        assert_eq!(
            parsed(entry(Some(vec![Window {
                source: 16,
                kept: 15
            }]))),
            expected
        );
    }

    #[test]
    fn what_is_printed_is_listed() {
        let mut prints = entry(None);
        let argument = |shape, bits, lanes| Print { shape, bits, lanes };
        prints.abi.prints.string(b"odd".to_vec());
        prints.abi.prints.call(Call {
            format: b"%v4hlf %lu %s".to_vec(),
            arguments: vec![
                argument(Shape::Float, 32, 4),
                argument(Shape::Integer, 64, 1),
                argument(Shape::String, 32, 1),
            ],
        });
        let expected = json!({
            "calls": [{"format": "%v4hlf %lu %s", "arguments": ["f32x4", "i64", "string"]}],
            "strings": ["odd"],
        });
        assert_eq!(parsed(prints)[0]["printf"], expected);
    }

    #[test]
    fn what_is_not_known_is_null() {
        let mut open = entry(None);
        open.plan.workgroup_size = None;
        let value = parsed(open);
        assert_eq!(value[0]["workgroup_size"], Value::Null);
        assert_eq!(value[0]["pairs"][0]["window"], Value::Null);
    }
}
