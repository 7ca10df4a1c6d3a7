//! Memory operations of AMD machine code: which memory they touch, and under which counter they are
//! outstanding.
//!
//! Sources: LLVM AMDGPUUsage, "Memory Model" and "Asynchronous Operations"; the ISA documents'
//! chapters on data dependency. Operations of one [`Order`] finish in the order of issue; between
//! two orders that share a counter nothing is promised.

use super::counter::Counter;
use serde::{Deserialize, Serialize};
use splitbar_target::Amdgpu;

/// The memory that an operation touches.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// LDS.
    Local,
    /// Global memory, through the vector memory units.
    Global,
    /// Global memory, through the scalar cache.
    Scalar,
    /// Either of LDS and global memory (flat addressing), or both (copies between them).
    Both,
    /// The wave's own scratch, registers of other lanes, clocks and messages: nothing that another
    /// wave can see.
    Own,
}

/// A class of operations that finish in order of issue.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Vector memory loads, and stores that share their counter.
    Load,
    /// Vector memory stores.
    Store,
    /// LDS operations.
    Lds,
    /// Asynchronous copies.
    Async,
    /// Nothing: operations of this kind overtake each other (scalar loads, flat accesses, samples,
    /// tensor copies).
    None,
}

/// A memory operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The memory.
    pub memory: Memory,
    /// True if it writes memory.
    pub writes: bool,
    /// True if it reads memory.
    pub reads: bool,
    /// True if it is asynchronous: marks and their waits complete it, and fences do not.
    pub asynchronous: bool,
    /// The counters that count it, each with the operations that it stays in order with. Never
    /// empty.
    pub counted: &'static [(Counter, Order)],
}

/// The kind of an outstanding operation.
#[derive(Copy, Clone)]
enum Kind {
    Lds,
    Scalar,
    VectorLoad,
    VectorStore,
    /// A load if it returns the old value, otherwise a store.
    VectorAtomic,
    FlatLoad,
    FlatStore,
    FlatAtomic,
    Sample,
    Bvh,
    AsyncLoad,
    AsyncStore,
    Tensor,
    /// A cache write-back, in addition to the other operations that the counter of loads counts.
    WriteBack,
}

/// The operations of mnemonics, by the text that they begin with. The first matching row counts.
/// `reads` and `writes` come from the table unless the kind determines them.
const OPERATIONS: &[(&str, Kind, Memory)] = &[
    // Lanes exchange registers through the LDS hardware; no LDS byte is touched, the counter
    // counts.
    ("ds_bpermute", Kind::Lds, Memory::Own),
    ("ds_permute", Kind::Lds, Memory::Own),
    ("ds_swizzle", Kind::Lds, Memory::Own),
    ("ds_nop", Kind::Lds, Memory::Own),
    ("ds_", Kind::Lds, Memory::Local),
    ("s_load_", Kind::Scalar, Memory::Scalar),
    ("s_buffer_load_", Kind::Scalar, Memory::Scalar),
    ("s_scratch_load_", Kind::Scalar, Memory::Own),
    ("s_memtime", Kind::Scalar, Memory::Own),
    ("s_memrealtime", Kind::Scalar, Memory::Own),
    ("s_sendmsg", Kind::Scalar, Memory::Own),
    ("global_load_async_to_lds", Kind::AsyncLoad, Memory::Both),
    ("cluster_load_async_to_lds", Kind::AsyncLoad, Memory::Both),
    (
        "global_store_async_from_lds",
        Kind::AsyncStore,
        Memory::Both,
    ),
    ("ds_atomic_async_barrier", Kind::AsyncStore, Memory::Local),
    ("tensor_", Kind::Tensor, Memory::Both),
    // Counted since gfx12, in order with what else is (llvm-project pull request 135340).
    ("global_inv", Kind::VectorLoad, Memory::Own),
    ("global_wb", Kind::VectorStore, Memory::Global),
    ("buffer_wbl2", Kind::WriteBack, Memory::Global),
    ("global_load", Kind::VectorLoad, Memory::Global),
    ("global_store", Kind::VectorStore, Memory::Global),
    ("global_atomic", Kind::VectorAtomic, Memory::Global),
    ("buffer_load", Kind::VectorLoad, Memory::Global),
    ("buffer_store", Kind::VectorStore, Memory::Global),
    ("buffer_atomic", Kind::VectorAtomic, Memory::Global),
    ("tbuffer_load", Kind::VectorLoad, Memory::Global),
    ("tbuffer_store", Kind::VectorStore, Memory::Global),
    ("scratch_load", Kind::VectorLoad, Memory::Own),
    ("scratch_store", Kind::VectorStore, Memory::Own),
    ("flat_load", Kind::FlatLoad, Memory::Both),
    ("flat_store", Kind::FlatStore, Memory::Both),
    ("flat_atomic", Kind::FlatAtomic, Memory::Both),
    ("image_bvh", Kind::Bvh, Memory::Global),
    ("image_load", Kind::VectorLoad, Memory::Global),
    ("image_store", Kind::VectorStore, Memory::Global),
    ("image_atomic", Kind::VectorAtomic, Memory::Global),
    ("image_get_resinfo", Kind::VectorLoad, Memory::Own),
    ("image_", Kind::Sample, Memory::Global),
];

/// The memory operation of an instruction; `None` if it is none.
pub fn operation(gpu: &Amdgpu, mnemonic: &str, operands: &str) -> Option<Operation> {
    let (_, kind, memory) = OPERATIONS
        .iter()
        .find(|(prefix, _, _)| mnemonic.starts_with(prefix))?;
    let returns = returns_old_value(operands);
    // Older DMA loads write LDS instead of a register: `buffer_load_dword ... lds`,
    // `global_load_lds_dword`.
    let to_lds = matches!(kind, Kind::VectorLoad)
        && (mnemonic.contains("_lds_") || operands.split_whitespace().any(|word| word == "lds"));
    // A write-back of no scope writes nothing back: every kernel of gfx12.5 begins with one, around
    // a hazard.
    let idle = mnemonic == "global_wb" && !operands.contains("scope:");
    let memory = match (to_lds, idle) {
        (true, _) => Memory::Both,
        (false, true) => Memory::Own,
        (false, false) => *memory,
    };
    let (reads, writes) = match kind {
        Kind::Lds => lds_access(mnemonic),
        Kind::Scalar | Kind::Sample | Kind::Bvh | Kind::FlatLoad => (true, false),
        Kind::VectorLoad => (true, to_lds),
        Kind::VectorStore | Kind::FlatStore | Kind::WriteBack => (false, true),
        Kind::VectorAtomic
        | Kind::FlatAtomic
        | Kind::AsyncLoad
        | Kind::AsyncStore
        | Kind::Tensor => (true, true),
    };
    Some(Operation {
        memory,
        writes,
        reads,
        asynchronous: matches!(kind, Kind::AsyncLoad | Kind::AsyncStore | Kind::Tensor),
        counted: counted(gpu, *kind, returns),
    })
}

/// Returns true if an atomic returns the old value, which makes it a load to the counters. The
/// notation differs between generations.
fn returns_old_value(operands: &str) -> bool {
    operands.split_whitespace().any(|word| {
        matches!(word, "glc" | "sc0" | "th:TH_ATOMIC_RETURN")
            || word.starts_with("th:TH_ATOMIC_RT_RETURN")
            || word.starts_with("th:TH_ATOMIC_NT_RETURN")
    })
}

fn lds_access(mnemonic: &str) -> (bool, bool) {
    let name = mnemonic.trim_start_matches("ds_");
    let begins = |words: [&str; 2]| words.iter().any(|word| name.starts_with(word));
    let exchanges = name.starts_with("storexchg");
    match (begins(["read", "load"]), begins(["write", "store"])) {
        (true, _) => (true, false),
        (_, true) if !exchanges => (false, true),
        _ => (true, true), // an atomic: `cmpstore` is one too
    }
}

fn counted(gpu: &Amdgpu, kind: Kind, returns: bool) -> &'static [(Counter, Order)] {
    let lds: &[_] = if gpu.kmcnt {
        &[(Counter::Ds, Order::Lds)]
    } else {
        &[(Counter::Lgkm, Order::Lds)]
    };
    let load: &[_] = &[(Counter::Load, Order::Load)];
    let store: &[_] = if gpu.counts_stores_apart() {
        &[(Counter::Store, Order::Store)]
    } else {
        load
    };
    // A flat access is counted as both kinds and is in order with none.
    let flat = |stores: bool| -> &'static [_] {
        match (gpu.kmcnt, gpu.counts_stores_apart() && stores) {
            (true, true) => &[(Counter::Store, Order::None), (Counter::Ds, Order::None)],
            (true, false) => &[(Counter::Load, Order::None), (Counter::Ds, Order::None)],
            (false, true) => &[(Counter::Store, Order::None), (Counter::Lgkm, Order::None)],
            (false, false) => &[(Counter::Load, Order::None), (Counter::Lgkm, Order::None)],
        }
    };
    match kind {
        Kind::Lds => lds,
        Kind::Scalar if gpu.kmcnt => &[(Counter::Km, Order::None)],
        Kind::Scalar => &[(Counter::Lgkm, Order::None)],
        Kind::VectorLoad => load,
        Kind::VectorStore => store,
        Kind::VectorAtomic if returns => load,
        Kind::VectorAtomic => store,
        Kind::FlatLoad => flat(false),
        Kind::FlatStore => flat(true),
        Kind::FlatAtomic => flat(!returns),
        Kind::Sample if gpu.kmcnt => &[(Counter::Sample, Order::None)],
        Kind::Bvh if gpu.kmcnt => &[(Counter::Bvh, Order::None)],
        Kind::Sample | Kind::Bvh | Kind::WriteBack => &[(Counter::Load, Order::None)],
        Kind::AsyncLoad | Kind::AsyncStore => &[(Counter::Async, Order::Async)],
        Kind::Tensor => &[(Counter::Tensor, Order::None)],
    }
}
