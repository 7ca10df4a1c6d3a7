//! A comparison of two readers of one fact: the memory that an instruction accesses, as decoded
//! here, and as the audit reads it from the text.

#![allow(clippy::unwrap_used)]

use super::super::kernel;
use crate::accesses::Accesses;
use crate::memory::Space;
use pretty_assertions::assert_eq;
use splitbar_assembly::ptx::access;

/// Instructions with memory, and some without.
const LINES: &[&str] = &[
    "ld.b32 %r1, [%rd1]",
    "ld.global.b32 %r1, [%rd1]",
    "ld.global.nc.b32 %r1, [%rd1]",
    "ld.shared.v2.b32 {%r1, %r2}, [s]",
    "ld.shared::cta.b32 %r1, [s]",
    "ld.volatile.global.b32 %r1, [%rd1]",
    "ld.relaxed.gpu.global.b32 %r1, [%rd1]",
    "ld.acquire.cta.shared.b32 %r1, [s]",
    "ld.local.b32 %r1, [l]",
    "ld.param.b64 %rd1, [k_out]",
    "st.b32 [%rd1], %r1",
    "st.global.v4.b32 [%rd1], {%r1, %r1, %r1, %r1}",
    "st.shared.b8 [s], %rs1",
    "st.release.gpu.global.b32 [%rd1], %r1",
    "st.local.b32 [l], %r1",
    "atom.global.add.u32 %r1, [%rd1], %r2",
    "atom.shared.cas.b32 %r1, [s], %r2, %r3",
    "atom.acq_rel.gpu.exch.b32 %r1, [%rd1], %r2",
    "red.global.add.u32 [%rd1], %r1",
    "red.relaxed.cta.shared.max.s32 [s], %r1",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [s]",
    "add.s32 %r1, %r2, %r3",
    "mov.u32 %r1, %tid.x",
    "bar.sync 0",
    "fence.acq_rel.gpu",
    "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1",
];

/// Shared and global memory, each as read and as written.
type Memories = [bool; 4];

fn of(accesses: Accesses) -> Memories {
    let Accesses { reads, writes } = accesses;
    let has = |all: &[Space], space| all.contains(&space);
    [
        has(reads, Space::Shared),
        has(reads, Space::Global),
        has(writes, Space::Shared),
        has(writes, Space::Global),
    ]
}

#[test]
fn text_and_decoded_operations_agree_on_memory() {
    for text in LINES {
        let module = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 k_out)\n{{\n.reg .b16 %rs<4>;\n.reg .b32 %r<4>;\n\
             .reg .b64 %rd<4>;\n.shared .align 16 .b8 s[64];\n.local .align 16 .b8 l[64];\n\
             {text};\n}}\n"
        );
        let kernel = kernel(&module, None).unwrap();
        let decoded = kernel.code.iter().map(|coded| of(coded.op.accesses()));
        // What is beside the instruction has no memory.
        let decoded = decoded.fold([false; 4], |all, one| {
            std::array::from_fn(|at| all[at] || one[at])
        });
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
        let read = access(mnemonic, operands).map_or([false; 4], |access| {
            // The audit asks what a register gets: of a reduction, nothing.
            let reads = access.reads || mnemonic.starts_with("red");
            [
                reads && access.local,
                reads && access.global,
                access.writes && access.local,
                access.writes && access.global,
            ]
        });
        // A load of memory that is never written orders nothing: the audit leaves it out.
        if mnemonic.contains(".nc.") {
            assert_eq!((read, decoded), ([false; 4], [false, true, false, false]));
            continue;
        }
        assert_eq!(decoded, read, "{text}");
    }
}
