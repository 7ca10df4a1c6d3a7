//! Bodies for the barrier functions, given after the mid-level optimiser has run and inlined at once. Here those of NVPTX; `counter.rs` has AMDGPU's.
//!
//! ptxas and LLVM move arithmetic over an arrive and a wait until the two touch; a branch that neither can fold keeps the window open (measured on sm_80 to
//! sm_120). The guards of the two ends read different variables, because equal branches would be merged.

mod counter;

use crate::emit::Result;
use crate::emit::barrier::names;
use crate::ffi::{self, Func, IntPredicate, Linkage, RawBuilder, Ty, Value};
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_plan::Target;
use splitbar_plan::target::{Arch, Mbarrier};
use std::collections::HashSet;

/// Most values that one guard holds.
const MAX_HELD: usize = 256;

/// The passes that inline the bodies and drop what is left of them.
pub(crate) fn passes(target: &Target) -> &'static str {
    match target.arch {
        // What a kernel does not ask its launch for is found out once more: before, there were calls in it that might have asked.
        Arch::Amdgpu(_) => "always-inline,globaldce,amdgpu-attributor",
        Arch::Nvptx(_) => "always-inline,globaldce",
    }
}

/// Tests the phase and goes on.
const TEST_WAIT: &str = "llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta";
/// Tests the phase and may suspend the warp for a while (sm_90).
const TRY_WAIT: &str = "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta";

struct Expansion<'c> {
    context: &'c Context,
    module: ffi::ModuleRef<'c>,
    b: RawBuilder<'c>,
}

/// Gives every barrier function of the module a body. Whether there was one.
///
/// # Errors
/// `Internal` when LLVM or the module lacks what a body needs.
pub(crate) fn expand<'c>(
    context: &'c Context,
    module: &Module<'c>,
    target: &Target,
) -> Result<bool> {
    let expansion = Expansion {
        context,
        module: ffi::module_ref(module),
        b: RawBuilder::new(context),
    };
    let gpu = match &target.arch {
        Arch::Nvptx(gpu) => gpu,
        Arch::Amdgpu(_) => return expansion.counter(),
    };
    let mut any = false;
    if let Some(function) = expansion.begin(names::OPEN) {
        expansion.guard(function, "splitbar_guard_open")?;
        any = true;
    }
    if let Some(function) = ffi::declaration(expansion.module, names::CLOSE) {
        for (number, call) in function.value().users().into_iter().enumerate() {
            expansion.close(call, number)?;
            any = true;
        }
    }
    if let Some(function) = expansion.begin(names::ARRIVE) {
        expansion.arrive(function, gpu.mbarrier)?;
        any = true;
    }
    for (name, poll) in [(names::WAIT_TEST, TEST_WAIT), (names::WAIT_TRY, TRY_WAIT)] {
        if let Some(function) = expansion.begin(name) {
            expansion.wait(function, poll)?;
            any = true;
        }
    }
    Ok(any)
}

fn missing(name: &str) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(Code::Internal, format!("{name} is not there"))
            .help("please report this with the module"),
    )
}

/// What was computed before `call` in its block and is used behind it: the values that a window leaves.
fn leaving<'c>(call: Value<'c>) -> Vec<Value<'c>> {
    let earlier = call.earlier_in_block();
    let inside: HashSet<Value<'c>> = earlier.iter().copied().collect();
    let leaves = |value: &Value<'c>| {
        let ty = value.ty();
        (ty.is_int() || ty.is_float())
            && matches!(ty.scalar_bits(), 16 | 32 | 64)
            && !value.is_phi()
            && value
                .users()
                .iter()
                .any(|user| user.is_phi() || !inside.contains(user))
    };
    earlier
        .iter()
        .copied()
        .filter(leaves)
        .take(MAX_HELD)
        .collect()
}

impl<'c> Expansion<'c> {
    /// The declared function, made internal and always inlined; `None` when nothing calls it.
    fn begin(&self, name: &str) -> Option<Func<'c>> {
        let function = ffi::declaration(self.module, name)?;
        function.set_internal();
        function.attribute(self.context, "alwaysinline");
        Some(function)
    }

    fn word(&self) -> Ty<'c> {
        ffi::int_type(self.context, 32)
    }

    fn intrinsic(&self, name: &str, args: &[Value<'c>]) -> Result<Value<'c>> {
        let (id, _) = ffi::intrinsic_id(name).ok_or_else(|| missing(name))?;
        let function = ffi::intrinsic(self.module, id, &[]);
        Ok(self.b.call(function.ty(), function.value(), args))
    }

    fn mbarrier(&self) -> Result<Value<'c>> {
        ffi::named_global(self.module, names::MBARRIER).ok_or_else(|| missing(names::MBARRIER))
    }

    /// Gives one end of a window its own guard, which holds the values that the window leaves: its dead end stores them. Otherwise LLVM's code sinking and
    /// ptxas would move their computation behind the guard, where it waits for the barrier.
    fn close(&self, call: Value<'c>, number: usize) -> Result<()> {
        let held = leaving(call);
        let types: Vec<Ty<'c>> = held.iter().map(|value| value.ty()).collect();
        let function = Func::add(
            self.module,
            &format!("{}.{number}", names::CLOSE),
            ffi::void_type(self.context).function(&types),
        );
        function.set_internal();
        function.attribute(self.context, "alwaysinline");
        function.attribute(self.context, "convergent");
        function.attribute(self.context, "nounwind");
        self.guard(function, "splitbar_guard_close")?;
        self.b.position_before(call);
        self.b.call(function.ty(), function.value(), &held);
        call.erase();
        Ok(())
    }

    /// `if (guard == 0) { store parameters; trap; exit; }` where `guard` is a constant-memory word that somebody outside could have changed.
    ///
    /// The dead end is one for ptxas alone: LLVM sees assembly that goes on. If it saw the end, its code sinking would take the way on for one that not
    /// every path reaches, and move the window's work behind the guard.
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
        let (entry, dead, go) = (
            function.append(self.context),
            function.append(self.context),
            function.append(self.context),
        );
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
        self.b.call(
            ty,
            ffi::inline_assembly(ty, "trap;\n\texit;", "~{memory}"),
            &[],
        );
        self.b.br(go);
        self.b.position(go);
        self.b.ret_void();
        Ok(())
    }

    /// The warp syncs, which makes its accesses the leader's to release, and its first lane arrives.
    fn arrive(&self, function: Func<'c>, level: Mbarrier) -> Result<()> {
        let (entry, leader, on) = (
            function.append(self.context),
            function.append(self.context),
            function.append(self.context),
        );
        let barrier = self.mbarrier()?;
        self.b.position(entry);
        self.intrinsic(
            "llvm.nvvm.bar.warp.sync",
            &[self.word().int(u64::from(u32::MAX))],
        )?;
        let lane = self.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[])?;
        self.b.cond_br(
            self.b
                .icmp(IntPredicate::LLVMIntEQ, lane, self.word().int(0)),
            leader,
            on,
        );
        self.b.position(leader);
        match level {
            Mbarrier::TryWait => self.intrinsic(
                "llvm.nvvm.mbarrier.arrive.scope.cta.space.cta",
                &[barrier, self.word().int(1)],
            )?,
            Mbarrier::TestWait | Mbarrier::None => {
                self.intrinsic("llvm.nvvm.mbarrier.arrive.shared", &[barrier])?
            }
        };
        self.b.br(on);
        self.b.position(on);
        self.b.ret_void();
        Ok(())
    }

    /// Polls until the phase of the given parity is complete.
    fn wait(&self, function: Func<'c>, poll: &str) -> Result<()> {
        let (entry, again, done) = (
            function.append(self.context),
            function.append(self.context),
            function.append(self.context),
        );
        let (barrier, parity) = (
            self.mbarrier()?,
            function.param(0).ok_or_else(|| missing("the parity"))?,
        );
        self.b.position(entry);
        self.b.br(again);
        self.b.position(again);
        let complete = self.intrinsic(poll, &[barrier, parity])?;
        self.b.cond_br(complete, done, again);
        self.b.position(done);
        self.b.ret_void();
        Ok(())
    }
}
