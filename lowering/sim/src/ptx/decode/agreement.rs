//! Comparisons of two readers of one fact: the memory that an instruction accesses and the
//! registers that it uses and defines, as decoded here, and as they are read from the text.

#![allow(clippy::unwrap_used)]

use super::super::kernel;
use super::super::roles::Role;
use crate::accesses::Accesses;
use crate::memory::Space;
use pretty_assertions::assert_eq;
use splitbar_assembly::ptx::syntax::What;
use splitbar_assembly::ptx::{self, access};
use std::collections::BTreeSet;

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

/// More instructions, of each kind of operand. Left out: `add.cc`, whose carry is a register of the
/// decoder, and `nanosleep`, whose time the simulator does not look at.
const MORE_LINES: &[&str] = &[
    "@%p1 add.s32 %r1, %r2, %r3",
    "mad.lo.s32 %r1, %r2, %r3, %r4",
    "mul.wide.u32 %rd1, %r1, %r2",
    "setp.lt.s32 %p1, %r1, 7",
    "setp.lt.and.s32 %p1, %r1, %r2, %p2",
    "selp.b32 %r1, %r2, %r3, %p1",
    "cvt.u64.u32 %rd1, %r1",
    "mov.b64 %rd1, {%r1, %r2}",
    "mov.b64 {%r1, %r2}, %rd1",
    "not.b32 %r1, %r2",
    "lop3.b32 %r1, %r2, %r3, %r4, 0x96",
    "prmt.b32 %r1, %r2, %r3, 0x5410",
    "shf.l.wrap.b32 %r1, %r2, %r3, %r4",
    "bfe.u32 %r1, %r2, %r3, 8",
    "fma.rn.f32 %r1, %r2, %r3, %r4",
    "vote.sync.ballot.b32 %r1, %p1, %r2",
    "vote.sync.any.pred %p1, %p2, -1",
    "match.any.sync.b32 %r1, %r2, %r3",
    "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1",
    "activemask.b32 %r1",
    "redux.sync.add.s32 %r1, %r2, %r3",
    "bar.sync %r1, 64",
    "bar.arrive 1, %r1",
    "bar.red.popc.u32 %r1, 2, 64, %p1",
    "bar.red.or.pred %p1, 0, %p2",
    "bar.warp.sync %r1",
    "barrier.sync 1, 64",
    "mbarrier.init.shared.b64 [s], %r1",
    "mbarrier.arrive.shared.b64 %rd1, [s]",
    "mbarrier.test_wait.shared.b64 %p1, [s], %rd1",
    "mbarrier.try_wait.shared.b64 %p1, [s], %rd1",
    "cp.async.ca.shared.global [%rd1], [%rd2], 4",
    "cp.async.commit_group",
    "cp.async.wait_group 0",
    "membar.gl",
    "setmaxnreg.inc.sync.aligned.u32 64",
    "exit",
    "@%p1 trap",
];

fn module(text: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 k_out)\n{{\n.reg .pred %p<4>;\n.reg .b16 %rs<4>;\n\
         .reg .b32 %r<5>;\n.reg .b64 %rd<4>;\n.shared .align 16 .b8 s[64];\n\
         .local .align 16 .b8 l[64];\n{text};\n}}\n"
    )
}

/// How many registers are defined, and how many are used.
type Registers = (usize, usize);

#[test]
fn text_and_decoded_operations_agree_on_registers() {
    let mut differ = Vec::new();
    for text in LINES.iter().chain(MORE_LINES) {
        let module = module(text);
        let kernel = kernel(&module, None).unwrap();
        let (mut defined, mut used) = (BTreeSet::new(), BTreeSet::new());
        for coded in &kernel.code {
            coded.operands(&kernel.lists, &mut |role, register| {
                let of = match role {
                    Role::Definition => &mut defined,
                    Role::Use | Role::Address | Role::Guard => &mut used,
                };
                of.insert(register);
            });
        }
        // No line defines what it uses: such a register is the decoder's own.
        let own: BTreeSet<_> = defined.intersection(&used).copied().collect();
        let specials = kernel.specials.iter().map(|(register, _)| *register);
        let hidden: BTreeSet<_> = own.into_iter().chain(specials).collect();
        let decoded: Registers = (
            defined.difference(&hidden).count(),
            used.difference(&hidden).count(),
        );
        let parsed = ptx::module(&module).unwrap();
        let (mut defined, mut used) = (BTreeSet::new(), BTreeSet::new());
        for statement in &parsed.functions[0].body {
            let What::Instruction(inst) = &statement.what else {
                continue;
            };
            ptx::each_register(inst, &mut |name, role| {
                let of = match role {
                    ptx::Role::Definition => &mut defined,
                    ptx::Role::Use => &mut used,
                };
                let is_declared = ["%p", "%r"].iter().any(|file| name.starts_with(file));
                if is_declared {
                    of.insert(name);
                }
            });
        }
        let read: Registers = (defined.len(), used.len());
        if read != decoded {
            differ.push(format!("{text}: {read:?} in the text, {decoded:?} decoded"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn text_and_decoded_operations_agree_on_memory() {
    for text in LINES {
        let kernel = kernel(&module(text), None).unwrap();
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
