//! The instructions of final code that a signal or a wait may pass: those that access no memory
//! that the barrier orders, and that are known not to depend on the barrier in any other way.
//!
//! Sources: LLVM AMDGPUUsage, "Memory Model" and "Barrier Execution Model"; RDNA4 ISA, chapters on
//! program control and data dependency.

use super::operation::{Memory, operation};
use serde::{Deserialize, Serialize};
use splitbar_target::{Amdgpu, Counter, waits};

/// The memory that the barriers of a kernel order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ordered {
    /// Only workgroup memory.
    Local,
    /// Any.
    All,
}

/// The condition under which an instruction may be passed.
#[derive(Copy, Clone)]
enum Pass {
    Never,
    Always,
    /// Only registers, including EXEC: a signal or wait is executed by the wave, whichever lanes
    /// are active. The address of code is not one of them.
    Arithmetic,
    /// A wait, unless the barrier orders the operations that it waits for.
    Wait,
    /// An access, unless its memory is ordered.
    Access,
}

/// The conditions of mnemonics, by the text that they begin with. The first matching row counts; a
/// mnemonic without a row is never passed.
const PASSES: &[(&str, Pass)] = &[
    ("v_", Pass::Arithmetic),
    // These guard registers.
    ("s_wait_alu", Pass::Always),
    ("s_wait_xcnt", Pass::Always),
    ("s_wait_idle", Pass::Never),
    ("s_wait_", Pass::Wait),
    // About the instructions behind them, from which nothing comes between.
    ("s_delay_alu", Pass::Always),
    ("s_clause", Pass::Always),
    ("s_set_vgpr_msb", Pass::Always),
    ("s_mov", Pass::Arithmetic),
    ("s_cmov", Pass::Arithmetic),
    ("s_cselect", Pass::Arithmetic),
    ("s_cmp", Pass::Arithmetic),
    ("s_bitcmp", Pass::Arithmetic),
    ("s_add", Pass::Arithmetic),
    ("s_sub_", Pass::Arithmetic),
    ("s_mul", Pass::Arithmetic),
    ("s_fma", Pass::Arithmetic),
    ("s_min", Pass::Arithmetic),
    ("s_max", Pass::Arithmetic),
    ("s_abs", Pass::Arithmetic),
    ("s_cvt", Pass::Arithmetic),
    ("s_ceil", Pass::Arithmetic),
    ("s_floor", Pass::Arithmetic),
    ("s_trunc", Pass::Arithmetic),
    ("s_rndne", Pass::Arithmetic),
    ("s_and", Pass::Arithmetic),
    ("s_or", Pass::Arithmetic),
    ("s_xor", Pass::Arithmetic),
    ("s_nand", Pass::Arithmetic),
    ("s_nor", Pass::Arithmetic),
    ("s_xnor", Pass::Arithmetic),
    ("s_not", Pass::Arithmetic),
    ("s_lsh", Pass::Arithmetic),
    ("s_ashr", Pass::Arithmetic),
    ("s_bfe", Pass::Arithmetic),
    ("s_bfm", Pass::Arithmetic),
    ("s_bcnt", Pass::Arithmetic),
    ("s_brev", Pass::Arithmetic),
    ("s_bitset", Pass::Arithmetic),
    ("s_bitreplicate", Pass::Arithmetic),
    ("s_ctz", Pass::Arithmetic),
    ("s_clz", Pass::Arithmetic),
    ("s_cls", Pass::Arithmetic),
    ("s_sext", Pass::Arithmetic),
    ("s_pack", Pass::Arithmetic),
    ("ds_bpermute", Pass::Access),
    ("ds_permute", Pass::Access),
    ("ds_swizzle", Pass::Access),
    ("scratch_load", Pass::Access),
    ("scratch_store", Pass::Access),
    ("s_load_", Pass::Access),
    ("s_buffer_load_", Pass::Access),
    ("global_load", Pass::Access),
    ("global_store", Pass::Access),
    ("buffer_load", Pass::Access),
    ("buffer_store", Pass::Access),
    ("tbuffer_load", Pass::Access),
    ("tbuffer_store", Pass::Access),
    ("image_load", Pass::Access),
    ("image_store", Pass::Access),
    ("image_sample", Pass::Access),
    ("image_gather", Pass::Access),
];

/// The effect of an instruction on a signal or wait next to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// The signal or wait may pass it, in either direction.
    Free,
    /// It waits for accesses that the barrier orders: until so many are outstanding, by counter.
    Waits(Vec<(Counter, u32)>),
    /// The signal or wait stops at it.
    Stop,
}

impl Passage {
    /// The effect of an instruction on a signal or wait of a barrier that orders `ordered`.
    pub(super) fn classify(
        gpu: &Amdgpu,
        ordered: Ordered,
        mnemonic: &str,
        operands: &str,
    ) -> Passage {
        let mut rows = PASSES.iter();
        let pass = rows.find(|(start, _)| mnemonic.starts_with(start));
        let passes = match pass.map_or(Pass::Never, |(_, pass)| *pass) {
            Pass::Never => false,
            Pass::Always => true,
            // That counts from where it stands.
            Pass::Arithmetic => !operands.contains('@'),
            Pass::Access => is_free(gpu, ordered, mnemonic, operands),
            Pass::Wait => match waits(mnemonic, operands) {
                Some(waits) if waits.iter().any(|(of, _)| counts_ordered(*of, ordered)) => {
                    return Passage::Waits(waits);
                }
                waits => waits.is_some(),
            },
        };
        if passes { Passage::Free } else { Passage::Stop }
    }
}

/// Returns true if a counter may count accesses of ordered memory.
fn counts_ordered(counter: Counter, ordered: Ordered) -> bool {
    match counter {
        Counter::Loadcnt
        | Counter::Storecnt
        | Counter::Kmcnt
        | Counter::Samplecnt
        | Counter::Bvhcnt => ordered == Ordered::All,
        // LDS, and counters of other generations.
        _ => true,
    }
}

/// Returns true if an access touches no ordered memory. Volatile accesses, which have a scope, and
/// asynchronous accesses are never free; atomic accesses are not in the table.
fn is_free(gpu: &Amdgpu, ordered: Ordered, mnemonic: &str, operands: &str) -> bool {
    let Some(operation) = operation(gpu, mnemonic, operands) else {
        return false;
    };
    let plain = !operation.asynchronous && !operands.contains("scope:");
    match operation.memory {
        // Registers of other lanes and scratch.
        Memory::Own => plain,
        Memory::Global | Memory::Scalar => plain && ordered == Ordered::Local,
        Memory::Local | Memory::Both => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use splitbar_target::Target;

    /// Instructions, and the barriers that pass them freely.
    const CASES: &[(&str, &[Ordered])] = &[
        ("v_fma_f32 v0, v1, v2, v3", BOTH),
        (
            "v_dual_fmac_f32 v3, v27, v38 :: v_dual_fmac_f32 v2, v27, v37",
            BOTH,
        ),
        (
            "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]",
            BOTH,
        ),
        ("v_readfirstlane_b32 s4, v0", BOTH),
        ("s_add_co_i32 s11, s11, 8", BOTH),
        ("s_cmp_lt_u32 s11, s2", BOTH),
        // The lanes that go on.
        ("s_mov_b32 exec_lo, s0", BOTH),
        ("s_and_saveexec_b32 s0, vcc_lo", BOTH),
        ("s_and_not0_wrexec_b32 s0, s0", BOTH),
        ("v_cmpx_eq_u32_e32 0, v0", BOTH),
        ("s_delay_alu instid0(VALU_DEP_1)", BOTH),
        ("s_wait_alu depctr_sa_sdst(0)", BOTH),
        ("scratch_load_b32 v0, off, off offset:4", BOTH),
        ("ds_bpermute_b32 v0, v1, v2", BOTH),
        // Global memory, and waits for it.
        ("global_load_b32 v0, v1, s[0:1]", LOCAL),
        ("global_store_b32 v1, v0, s[0:1]", LOCAL),
        (
            "buffer_load_format_xyzw v[0:3], v0, s[0:3], null idxen",
            LOCAL,
        ),
        (
            "image_store v[0:3], [v4, v5], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D",
            LOCAL,
        ),
        ("s_load_b64 s[0:1], s[4:5], 0x8", LOCAL),
        ("s_wait_loadcnt 0x0", LOCAL),
        ("s_wait_storecnt 0x0", LOCAL),
        ("s_wait_kmcnt 0x0", LOCAL),
        // Workgroup memory, and waits for it.
        ("ds_load_b32 v0, v1", NONE),
        ("ds_store_b32 v0, v1", NONE),
        ("ds_add_u32 v0, v1", NONE),
        ("flat_load_b32 v0, v[1:2]", NONE),
        ("s_wait_dscnt 0x0", NONE),
        ("s_wait_loadcnt_dscnt 0x0", NONE),
        ("global_load_async_to_lds_b32 v0, v1, s[0:1]", NONE),
        ("s_wait_asynccnt 0x0", NONE),
        // Others may wait for it, or it is volatile.
        ("global_atomic_add_u32 v1, v0, s[0:1]", NONE),
        ("global_load_b32 v0, v1, s[0:1] scope:SCOPE_SYS", NONE),
        ("scratch_store_b32 off, v0, off scope:SCOPE_SYS", NONE),
        // Caches.
        ("global_inv scope:SCOPE_DEV", NONE),
        ("global_wb scope:SCOPE_DEV", NONE),
        // Control, clocks, messages, modes, hazards.
        ("s_barrier_signal -1", NONE),
        ("s_barrier_wait -1", NONE),
        ("s_barrier_join m0", NONE),
        ("s_cbranch_scc1 .LBB0_1", NONE),
        ("s_endpgm", NONE),
        ("s_getpc_b64 s[0:1]", NONE),
        ("s_add_co_u32 s0, s0, table@rel32@lo+8", NONE),
        ("s_swappc_b64 s[30:31], s[0:1]", NONE),
        ("s_getreg_b32 s0, hwreg(HW_REG_SHADER_CYCLES_LO)", NONE),
        ("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 2), 1", NONE),
        ("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", NONE),
        (
            "s_sendmsg_rtn_b64 s[0:1], sendmsg(MSG_RTN_GET_REALTIME)",
            NONE,
        ),
        ("s_wait_idle", NONE),
        ("s_sleep 1", NONE),
        ("s_nop 0", NONE),
        ("s_unheard_of s0", NONE),
        ("unheard_of v0", NONE),
    ];

    const NONE: &[Ordered] = &[];
    const LOCAL: &[Ordered] = &[Ordered::Local];
    const BOTH: &[Ordered] = &[Ordered::Local, Ordered::All];

    #[test]
    fn each_instruction_is_passed_by_whom_it_does_not_concern() {
        for target in ["gfx1201", "gfx1250"] {
            let gpu = Target::by_name(target).unwrap().amdgpu().unwrap();
            for (instruction, expected) in CASES {
                let (mnemonic, operands) = super::super::split_word(instruction);
                let passage =
                    |ordered: &Ordered| Passage::classify(gpu, *ordered, mnemonic, operands);
                let passes = |ordered: &&Ordered| passage(ordered) == Passage::Free;
                let by: Vec<Ordered> = BOTH.iter().filter(passes).copied().collect();
                assert_eq!(&by, expected, "{target}: {instruction}");
            }
        }
    }

    #[test]
    fn waits_for_ordered_accesses_are_known() {
        let gpu = Target::by_name("gfx1201").unwrap().amdgpu().unwrap();
        let passage = |ordered, mnemonic| Passage::classify(gpu, ordered, mnemonic, "0x1");
        let one = |counter| Passage::Waits(vec![(counter, 1)]);
        let (local, all) = (Ordered::Local, Ordered::All);
        assert_eq!(passage(local, "s_wait_dscnt"), one(Counter::Dscnt));
        assert_eq!(passage(all, "s_wait_loadcnt"), one(Counter::Loadcnt));
        assert_eq!(passage(local, "s_wait_loadcnt"), Passage::Free);
        let both = Passage::Waits(vec![(Counter::Loadcnt, 0), (Counter::Dscnt, 1)]);
        assert_eq!(passage(local, "s_wait_loadcnt_dscnt"), both);
        assert_eq!(passage(local, "s_wait_idle"), Passage::Stop);
    }
}
