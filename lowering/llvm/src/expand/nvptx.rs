//! What a split barrier is on NVPTX, as far as the optimiser must not see it.
//!
//! ptxas and LLVM move arithmetic over an arrive and a wait until the two touch; a branch that
//! neither can fold keeps the window open (measured on sm_80 to sm_120). Every guard reads a
//! variable of its own: equal branches would be merged, and one that is behind an equal one would
//! be taken for passed.

use super::{Expansion, missing, pair};
use crate::emit::Result;
use crate::emit::barrier::names;
use crate::ffi::{self, AtomicOrdering, Func, IntPredicate, Linkage, Opcode, RmwOp, Ty, Value};
use crate::leaving::leaving;
use splitbar_plan::target::{Mbarrier, Nvptx};
use std::collections::HashMap;

/// Tests the phase and goes on.
const TEST_WAIT: &str = "llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta";
/// Tests the phase and may suspend the warp for a while (sm_90).
const TRY_WAIT: &str = "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta";

/// Nanoseconds between two polls of the counter: about one round of all warps of a full SM.
const SLEEP: u64 = 32;

impl<'c> Expansion<'c> {
    /// Gives every barrier function of the module a body. Whether there was one.
    pub(super) fn nvptx(&self, gpu: &Nvptx) -> Result<bool> {
        let mut any = false;
        for (name, variable) in [
            (names::OPEN, "splitbar_guard_open"),
            (names::CLOSE, "splitbar_guard_close"),
        ] {
            let Some(function) = ffi::declaration(self.module, name) else {
                continue;
            };
            let calls = function.value().users();
            let held = if name == names::CLOSE {
                leaving(&calls)
            } else {
                HashMap::new()
            };
            for (number, call) in calls.into_iter().enumerate() {
                let held = held.get(&call).map_or(&[][..], Vec::as_slice);
                self.end_of_window(call, held, name, &format!("{variable}_{number}"))?;
                any = true;
            }
        }
        if let Some(function) = self.begin(names::ARRIVE) {
            let barrier = self.mbarrier()?;
            let lane = |e: &Self| e.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[]);
            self.leader(
                function,
                |e| {
                    let zero = e.word().int(0);
                    Ok(e.b.icmp(IntPredicate::LLVMIntEQ, lane(e)?, zero))
                },
                |e| match gpu.mbarrier {
                    Mbarrier::TryWait => e.intrinsic(
                        "llvm.nvvm.mbarrier.arrive.scope.cta.space.cta",
                        &[barrier, e.word().int(1)],
                    ),
                    Mbarrier::TestWait | Mbarrier::None => {
                        e.intrinsic("llvm.nvvm.mbarrier.arrive.shared", &[barrier])
                    }
                },
            )?;
            any = true;
        }
        for (name, poll) in [(names::WAIT_TEST, TEST_WAIT), (names::WAIT_TRY, TRY_WAIT)] {
            if let Some(function) = self.begin(name) {
                let barrier = self.mbarrier()?;
                let parity = function.param(0).ok_or_else(|| missing("the parity"))?;
                self.poll(
                    function,
                    |e| e.intrinsic(poll, &[barrier, parity]),
                    |_| Ok(()),
                    |_| (),
                )?;
                any = true;
            }
        }
        if let Some(function) = self.begin(names::COUNTER_ARRIVE) {
            self.count(function)?;
            any = true;
        }
        if let Some(function) = self.begin(names::COUNTER_WAIT) {
            self.await_count(function)?;
            any = true;
        }
        Ok(any)
    }

    fn mbarrier(&self) -> Result<Value<'c>> {
        ffi::named_global(self.module, names::MBARRIER).ok_or_else(|| missing(names::MBARRIER))
    }

    /// Gives one end of a window its own guard. It holds the values that the window leaves: its
    /// dead end stores them. Otherwise LLVM's code sinking and ptxas would move their computation
    /// behind the guard, where it waits for the barrier.
    fn end_of_window(
        &self,
        call: Value<'c>,
        held: &[Value<'c>],
        name: &str,
        variable: &str,
    ) -> Result<()> {
        let types: Vec<Ty<'c>> = held.iter().map(|value| value.ty()).collect();
        let function = Func::add(
            self.module,
            &format!("{name}.{variable}"),
            ffi::void_type(self.context).function(&types),
        );
        function.set_internal();
        function.attribute(self.context, "alwaysinline");
        function.attribute(self.context, "convergent");
        function.attribute(self.context, "nounwind");
        self.guard(function, variable)?;
        self.b.position_before(call);
        self.b.call(function.ty(), function.value(), held);
        // What is built from now on does not come from this call.
        self.b.set_location(0, None);
        call.erase();
        Ok(())
    }

    /// `if (guard == 0) { store parameters; trap; exit; }` where `guard` is a constant-memory word
    /// that somebody outside could have changed.
    ///
    /// The dead end is one for ptxas alone: LLVM sees assembly that goes on. If it saw the end, its
    /// code sinking would take the way on for one that not every path reaches, and move the
    /// window's work behind the guard.
    fn guard(&self, function: Func<'c>, variable: &str) -> Result<()> {
        let guard = ffi::named_global(self.module, variable).unwrap_or_else(|| {
            let global = ffi::add_global(self.module, self.word(), 4, variable);
            global.set_initializer(self.word().int(1));
            global.set_externally_initialized();
            // Weak, so that modules of a kind can be linked together.
            global.set_linkage(Linkage::LLVMWeakODRLinkage);
            global.set_alignment(4);
            global
        });
        let [entry, dead, go] = self.blocks(function);
        self.b.position(entry);
        let value = self.b.load(self.word(), guard);
        value.set_alignment(4);
        self.b.cond_br(
            self.b
                .icmp(IntPredicate::LLVMIntNE, value, self.word().int(0)),
            go,
            dead,
        );
        self.b.position(dead);
        // Nobody gets here, so any shared address does.
        let nowhere = ffi::pointer_type(self.context, 3).zero();
        for value in (0..).map_while(|index| function.param(index)) {
            let store = self.b.store(value, nowhere);
            store.set_alignment(8);
            store.set_volatile();
        }
        let ty = ffi::void_type(self.context).function(&[]);
        // One line: of each further line LLVM says that it came from a source line later.
        self.b.call(
            ty,
            ffi::inline_assembly(ty, "trap; exit;", "~{memory}", true),
            &[],
        );
        self.b.br(go);
        self.b.position(go);
        self.b.ret_void();
        Ok(())
    }

    /// The warp syncs, which makes its accesses the leader's to release, and the leader arrives.
    fn leader(
        &self,
        function: Func<'c>,
        leads: impl Fn(&Self) -> Result<Value<'c>>,
        arrive: impl Fn(&Self) -> Result<Value<'c>>,
    ) -> Result<()> {
        let [entry, leader, on] = self.blocks(function);
        self.b.position(entry);
        let all = self.word().int(u64::from(u32::MAX));
        self.intrinsic("llvm.nvvm.bar.warp.sync", &[all])?;
        self.b.cond_br(leads(self)?, leader, on);
        self.b.position(leader);
        arrive(self)?;
        self.b.br(on);
        self.b.position(on);
        self.b.ret_void();
        Ok(())
    }

    /// Asks until the answer is yes, with a pause after each no.
    fn poll(
        &self,
        function: Func<'c>,
        ask: impl Fn(&Self) -> Result<Value<'c>>,
        pause: impl Fn(&Self) -> Result<()>,
        then: impl Fn(&Self),
    ) -> Result<()> {
        let [entry, again, no, done] = self.blocks(function);
        self.b.position(entry);
        self.b.br(again);
        self.b.position(again);
        self.b.cond_br(ask(self)?, done, no);
        self.b.position(no);
        pause(self)?;
        self.b.br(again);
        self.b.position(done);
        then(self);
        self.b.ret_void();
        Ok(())
    }

    fn block_scope(&self) -> u32 {
        ffi::sync_scope(self.context, "block")
    }

    /// The leader adds one to the counter. The release fence stands behind the warp's sync: it is
    /// the leader's, for the whole warp.
    fn count(&self, function: Func<'c>) -> Result<()> {
        let (counter, leads) = pair(function)?;
        self.leader(
            function,
            |_| Ok(leads),
            |e| {
                e.b.fence(AtomicOrdering::LLVMAtomicOrderingRelease, e.block_scope());
                Ok(e.b.rmw(
                    RmwOp::LLVMAtomicRMWBinOpAdd,
                    counter,
                    e.word().int(1),
                    AtomicOrdering::LLVMAtomicOrderingMonotonic,
                    e.block_scope(),
                ))
            },
        )
    }

    /// Polls until the counter is at the target or past it, and acquires what those released who
    /// added.
    fn await_count(&self, function: Func<'c>) -> Result<()> {
        let (counter, target) = pair(function)?;
        self.poll(
            function,
            |e| {
                let count = e.b.load(e.word(), counter);
                count.set_alignment(4);
                count.set_ordering(AtomicOrdering::LLVMAtomicOrderingMonotonic, e.block_scope());
                let ahead = e.b.binary(Opcode::LLVMSub, count, target);
                Ok(e.b.icmp(IntPredicate::LLVMIntSGE, ahead, e.word().int(0)))
            },
            |e| {
                e.intrinsic("llvm.nvvm.nanosleep", &[e.word().int(SLEEP)])
                    .map(|_| ())
            },
            |e| {
                e.b.fence(AtomicOrdering::LLVMAtomicOrderingAcquire, e.block_scope());
            },
        )
    }
}
