//! A comparison of two readers of one fact: the memory that an instruction accesses and the
//! counters that count it, as decoded here, and as the audit reads them from assembly.

#![allow(clippy::panic)]

use super::Decoder;
use crate::accesses::Accesses;
use crate::amdgpu::counters::{class, counter};
use crate::amdgpu::inst::{Memories, Memory, Op};
use crate::amdgpu::isa::Isa;
use crate::amdgpu::text::Line;
use crate::memory::Space;
use crate::queue::Counters;
use pretty_assertions::assert_eq;
use splitbar_assembly::amdgpu::counter::Counter;
use splitbar_assembly::amdgpu::operation::{self, Operation, Order, operation};
use splitbar_target::{Arch, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Memory instructions of all generations. The decoder takes every spelling on every GPU.
const LINES: &[&str] = &[
    "s_load_dwordx2 s[0:1], s[4:5], 0x0",
    "s_load_b64 s[0:1], s[4:5], 0x0",
    "s_buffer_load_b32 s0, s[4:7], 0x0",
    "s_memtime s[0:1]",
    "global_load_dword v1, v[2:3], off",
    "global_load_b128 v[4:7], v1, s[0:1]",
    "global_load_ushort v1, v[2:3], off sc0",
    "global_load_d16_b16 v1, v[2:3], off",
    "global_load_lds_dword v[2:3], off",
    "global_store_dword v1, v2, s[0:1]",
    "global_store_b64 v[0:1], v[2:3], off",
    "global_atomic_add v[0:1], v2, off",
    "global_atomic_add v5, v[0:1], v2, off glc",
    "global_atomic_add v5, v[0:1], v2, off sc0",
    "global_atomic_add_u32 v[0:1], v2, off",
    "global_atomic_add_u32 v5, v[0:1], v2, off th:TH_ATOMIC_RETURN",
    "global_atomic_cmpswap_b32 v5, v[0:1], v[2:3], off th:TH_ATOMIC_RETURN",
    "global_load_async_to_lds_b32 v1, v[2:3], off",
    "global_store_async_from_lds_b64 v[2:3], v1, off",
    "flat_load_dword v1, v[2:3]",
    "flat_load_b32 v1, v[2:3]",
    "flat_store_b32 v[2:3], v1",
    "flat_atomic_add_u32 v[2:3], v1",
    "flat_atomic_add v5, v[2:3], v1 glc",
    "scratch_load_b32 v1, off, s0",
    "scratch_store_dword off, v1, s0",
    "buffer_load_dword v1, v2, s[0:3], 0 offen",
    "buffer_load_dword v2, s[0:3], 0 offen lds",
    "buffer_store_b32 v1, v2, s[0:3], 0 offen",
    "buffer_load_format_xyzw v[4:7], v2, s[0:3], 0 idxen",
    "buffer_store_format_xyzw v[4:7], v2, s[0:3], 0 idxen",
    "buffer_atomic_add_u32 v1, v2, s[0:3], 0 offen",
    "buffer_atomic_add v1, v2, s[0:3], 0 offen glc",
    "ds_read_b32 v1, v2",
    "ds_read2st64_b32 v[0:1], v2 offset1:1",
    "ds_load_u8 v1, v2",
    "ds_load_2addr_stride64_b64 v[0:3], v4 offset1:1",
    "ds_write_b64 v2, v[0:1]",
    "ds_write2_b32 v2, v0, v1 offset1:1",
    "ds_store_b128 v4, v[0:3]",
    "ds_add_u32 v1, v2",
    "ds_add_rtn_u32 v0, v1, v2",
    "ds_cmpst_rtn_b32 v0, v1, v2, v3",
    "ds_cmpstore_rtn_b32 v0, v1, v2, v3",
    "ds_storexchg_rtn_b32 v0, v1, v2",
    "ds_wrxchg_rtn_b32 v0, v1, v2",
    "ds_bpermute_b32 v0, v1, v2",
    "ds_permute_b32 v0, v1, v2",
    "ds_swizzle_b32 v0, v1 offset:5",
];

/// The memory that an access of assembly may read, and may write.
fn spaces(of: Operation) -> [BTreeSet<Space>; 2] {
    let memory = match of.memory {
        operation::Memory::Local => Accesses::SHARED,
        operation::Memory::Global | operation::Memory::Scalar => Accesses::GLOBAL,
        operation::Memory::Both => Accesses::ANY,
        operation::Memory::Own => &[],
    };
    [of.reads, of.writes].map(|is| memory.iter().copied().filter(|_| is).collect())
}

/// The same of a decoded instruction.
fn decoded(memory: &Memory) -> [BTreeSet<Space>; 2] {
    let Accesses { reads, writes } = memory.accesses();
    [reads, writes].map(|all| all.iter().copied().collect())
}

fn bit(counter: Counter) -> Counters {
    match counter {
        Counter::Load => counter::LOAD,
        Counter::Store => counter::STORE,
        Counter::Lgkm | Counter::Ds => counter::LDS,
        Counter::Km => counter::SCALAR,
        Counter::Sample => counter::SAMPLE,
        Counter::Async => counter::ASYNC,
        Counter::Tensor => counter::TENSOR,
        Counter::Bvh => 0,
    }
}

fn order(of: u8) -> Order {
    match of {
        class::LOADS => Order::Load,
        class::STORES => Order::Store,
        class::LDS => Order::Lds,
        class::ASYNC => Order::Async,
        _ => Order::None,
    }
}

#[test]
fn assembly_and_machine_code_agree_on_memory_and_counters() {
    let index = BTreeMap::new();
    let mut compared = 0;
    for target in Target::all() {
        let (Arch::Amdgpu(gpu), Some(isa)) = (&target.arch, Isa::by_name(target.name)) else {
            continue; // not simulated
        };
        let decoder = Decoder::new(isa, isa.wave_size, &index);
        for text in LINES {
            let what = format!("{} {text}", target.name);
            let line = Line {
                address: 0,
                length: 4,
                text: (*text).to_owned(),
            };
            let inst = decoder.decode_all(&[line]).next();
            let Some(Op::Memory(memory)) = inst.as_ref().map(|inst| &inst.op) else {
                panic!("{what} is not decoded");
            };
            let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
            let Some(read) = operation(gpu, mnemonic, operands) else {
                panic!("{what} is no operation of assembly");
            };
            let (ours, theirs) = (decoded(memory), spaces(read));
            match memory.memories {
                // The descriptor of a buffer may be one of scratch, or of no memory that is known.
                Memories::Buffer => {
                    assert_eq!(
                        ours.map(|one| !one.is_empty()),
                        [read.reads, read.writes],
                        "{what}"
                    );
                }
                // A copy reads the one memory and writes the other one, each of which the audit
                // takes for both.
                _ if theirs.iter().all(|one| one.len() == 2) && read.asynchronous
                    || mnemonic.contains("_lds_") =>
                {
                    let all: BTreeSet<Space> = ours.iter().flatten().copied().collect();
                    assert!(ours.iter().all(|one| one.len() == 1), "{what}");
                    assert_eq!(all, theirs[0], "{what}");
                }
                _ => assert_eq!(ours, theirs, "{what}"),
            }
            let counters = read.counted.iter().fold(0, |all, (one, _)| all | bit(*one));
            assert_eq!(memory.counters, counters, "{what}");
            // The audit does not rely on the order of flat accesses where there is one.
            if memory.memories != Memories::Flat {
                let orders: BTreeSet<Order> = read.counted.iter().map(|one| one.1).collect();
                assert_eq!(orders, [order(memory.class)].into(), "{what}");
            }
            compared += 1;
        }
    }
    assert!(compared > 8 * LINES.len(), "{compared} comparisons");
}
