//! Barriers for front ends that write their own LLVM IR with inkwell: split barriers on every
//! target, and the barrier objects of AMD GPUs.
//!
//! [`arrive`] and [`wait`] stand for the halves of a barrier until [`finish`] has seen the whole
//! module: it pairs and plans them as those of a SPIR-V module, and writes what the target has.
//! What follows is of the objects, [`Barriers`], which are what they are on AMD GPUs alone.
//!
//! Every operation asks the target row first, because LLVM 23.1 ends the process on some operations
//! that a target lacks and silently encodes others. None orders memory: put a release fence before
//! an arrival and an acquire fence behind a wait. All of them are executed by whole waves, in
//! uniform control flow.
//!
//! The rules that the caller keeps (LLVM AMDGPUExecutionSynchronization, "Barriers"):
//!
//! - a named barrier is initialised once, by one wave, and a full barrier of the workgroup stands
//!   between that and any other use;
//! - a wave joins a named barrier before it waits for it, and before an arrival that takes part in
//!   what it waits for; it waits for the one that it joined last;
//! - a wave that has arrived leaves only after that phase is complete;
//! - on the cluster's barrier one wave of each workgroup arrives; [`Barriers::cluster_barrier`]
//!   sees to that.
//!
//! Producers and consumers, in a kernel that a front end of its own makes: waves 0 to 3 fill a tile
//! in LDS, waves 4 to 7 use it. A producer arrives at `full` and goes on at once; only when it
//! wants to fill the tile again it waits for `empty`. Both objects count all eight waves, since who
//! waits arrives too.
//!
//! ```
//! use inkwell::context::Context;
//! use inkwell::{AddressSpace, IntPredicate};
//! use splitbar_llvm::barriers::Barriers;
//! use splitbar_plan::{Fence, FenceMemory, FenceOrder, FenceScope, Target};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let target = Target::by_name("gfx1250").ok_or("no such target")?;
//! let context = Context::create();
//! let module = context.create_module("kernels");
//! let word = context.i32_type();
//! let lds = context.ptr_type(AddressSpace::from(3u16));
//! // The number of the wave in its workgroup comes as an argument here; a real kernel divides the work-item's number.
//! let ty = context.void_type().fn_type(&[lds.into(), word.into()], false);
//! let kernel = module.add_function("stages", ty, None);
//! let block = |name| context.append_basic_block(kernel, name);
//! let [entry, set_up, start, producer, consumer, end] =
//!     ["entry", "set_up", "start", "producer", "consumer", "end"].map(block);
//! let at = |block| Barriers::at_end_of(&context, &module, block, target);
//! let fence = |order| Fence { order, scope: FenceScope::Workgroup, memory: FenceMemory::Local };
//! let (release, acquire) = (fence(FenceOrder::Release), fence(FenceOrder::Acquire));
//! let builder = context.create_builder();
//! let argument = |n| kernel.get_nth_param(n).ok_or("no such parameter");
//! let (tile, wave) = (argument(0)?.into_pointer_value(), argument(1)?.into_int_value());
//!
//! // One wave initialises both objects, and the workgroup meets before anybody uses them.
//! builder.position_at_end(entry);
//! let first = builder.build_int_compare(IntPredicate::EQ, wave, word.const_zero(), "first")?;
//! builder.build_conditional_branch(first, set_up, start)?;
//! let (full, empty) = (at(set_up).named("full")?, at(set_up).named("empty")?);
//! let members = word.const_int(8, false);
//! at(set_up).init(full, members)?;
//! at(set_up).init(empty, members)?;
//! builder.position_at_end(set_up);
//! builder.build_unconditional_branch(start)?;
//! at(start).signal()?;
//! at(start).wait()?;
//! builder.position_at_end(start);
//! let fills = builder.build_int_compare(IntPredicate::ULT, wave, word.const_int(4, false), "fills")?;
//! builder.build_conditional_branch(fills, producer, consumer)?;
//!
//! // A producer fills the tile, says so, and waits until it may fill it again.
//! builder.position_at_end(producer);
//! builder.build_store(tile, wave)?;
//! at(producer).fence(release);
//! at(producer).arrive(full, None)?;
//! at(producer).join(empty)?;
//! at(producer).arrive(empty, None)?;
//! at(producer).wait_joined()?;
//! at(producer).fence(acquire);
//! at(producer).leave()?;
//! builder.position_at_end(producer);
//! builder.build_unconditional_branch(end)?;
//!
//! // A consumer waits for the tile, uses it, and says so.
//! at(consumer).join(full)?;
//! at(consumer).arrive(full, None)?;
//! at(consumer).wait_joined()?;
//! at(consumer).fence(acquire);
//! builder.position_at_end(consumer);
//! builder.build_load(word, tile, "used")?;
//! at(consumer).fence(release);
//! at(consumer).arrive(empty, None)?;
//! builder.position_at_end(consumer);
//! builder.build_unconditional_branch(end)?;
//!
//! builder.position_at_end(end);
//! builder.build_return(None)?;
//! module.verify().map_err(|problem| problem.to_string())?;
//! # Ok(())
//! # }
//! ```

mod split;

use crate::emit::barrier::write_fence;
use crate::emit::build::Build;
use crate::emit::objects::Objects;
use crate::ffi::{self, Value};
use inkwell::basic_block::BasicBlock;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::IntValue;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_plan::{Fence, Target};

pub use split::{Finish, arrive, expand, finish, finish_bitcode, wait};

/// What an operation gives, or why the target cannot do it (`UnsupportedOnTarget`) or the operand
/// is wrong (`TypeMismatch`).
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// A named barrier object of the workgroup. It takes no LDS.
#[derive(Copy, Clone, Debug)]
pub struct NamedBarrier<'c>(Value<'c>);

/// Writes barrier operations at the end of a block.
pub struct Barriers<'c> {
    build: Build<'c>,
    target: &'static Target,
}

impl<'c> Barriers<'c> {
    /// Operations for `target` at the end of `block`, which has no terminator yet. An inkwell
    /// builder that stands there too stays behind what is written.
    pub fn at_end_of(
        context: &'c Context,
        module: &Module<'c>,
        block: BasicBlock<'c>,
        target: &'static Target,
    ) -> Self {
        let build = Build::new(context, ffi::module_ref(module));
        build.position(ffi::block_ref(block));
        Barriers { build, target }
    }

    fn objects(&self) -> Objects<'_, 'c> {
        Objects {
            b: &self.build,
            target: self.target,
        }
    }

    /// A number of waves as an operand.
    fn members(&self, members: IntValue<'c>) -> Result<Value<'c>> {
        let value = ffi::int_value_ref(members);
        let right = value.ty() == self.build.int_type(32)
            && value.as_u64().is_none_or(|n| (1..=63).contains(&n));
        if right {
            Ok(value)
        } else {
            Err(Box::new(Diagnostic::error(
                Code::TypeMismatch,
                "the number of members of a named barrier is an i32 from 1 to 63",
            )))
        }
    }

    /// A fence with the scope and the kind of memory that it names, on any target: LLVM waits for
    /// no more than that.
    ///
    /// # Errors
    /// `Internal` when LLVM lacks an intrinsic.
    pub fn fence(&self, fence: Fence) -> Result<()> {
        write_fence(&self.build, self.target, fence)
    }

    /// Arrives at the workgroup's barrier (gfx12).
    ///
    /// # Errors
    /// `UnsupportedOnTarget` below gfx12.
    pub fn signal(&self) -> Result<()> {
        self.objects().signal()
    }

    /// As [`Barriers::signal`]; the result is true (`i1`) in the wave that is the first to arrive
    /// in the phase.
    ///
    /// # Errors
    /// `UnsupportedOnTarget` below gfx12.
    pub fn signal_is_first(&self) -> Result<IntValue<'c>> {
        self.objects().signal_is_first().map(ffi::int_value)
    }

    /// Waits for the workgroup's barrier (gfx12).
    ///
    /// # Errors
    /// `UnsupportedOnTarget` below gfx12.
    pub fn wait(&self) -> Result<()> {
        self.objects().wait()
    }

    /// All waves of all workgroups of the cluster meet (gfx12.5). One wave of each workgroup
    /// arrives for it.
    ///
    /// # Errors
    /// `UnsupportedOnTarget` where clusters have no barrier.
    pub fn cluster_barrier(&self) -> Result<()> {
        self.objects().cluster_barrier()
    }

    /// Arrives at the cluster's barrier for the workgroup: for callers who know that one wave of it
    /// does, for example because [`Barriers::signal_is_first`] said so.
    ///
    /// # Errors
    /// `UnsupportedOnTarget` where clusters have no barrier.
    pub fn cluster_signal(&self) -> Result<()> {
        self.objects().cluster_signal()
    }

    /// Waits for the cluster's barrier. Every wave may.
    ///
    /// # Errors
    /// `UnsupportedOnTarget` where clusters have no barrier.
    pub fn cluster_wait(&self) -> Result<()> {
        self.objects().cluster_wait()
    }

    /// The named barrier object of this name in the module (gfx12.5).
    ///
    /// # Errors
    /// `UnsupportedOnTarget` where there are none, or the module has as many as there are.
    pub fn named(&self, name: &str) -> Result<NamedBarrier<'c>> {
        self.objects().named_object(name).map(NamedBarrier)
    }

    /// Sets the number of waves (`i32`, uniform, 1 to 63) whose arrivals complete a phase.
    ///
    /// # Errors
    /// `UnsupportedOnTarget`; `TypeMismatch` for a number that is none.
    pub fn init(&self, barrier: NamedBarrier<'c>, members: IntValue<'c>) -> Result<()> {
        self.objects().init(barrier.0, self.members(members)?)
    }

    /// This wave waits for `barrier` from here on, and no longer for the one that it joined before.
    ///
    /// # Errors
    /// `UnsupportedOnTarget`.
    pub fn join(&self, barrier: NamedBarrier<'c>) -> Result<()> {
        self.objects().join(barrier.0)
    }

    /// Drops the barrier that was joined last: its phases need one arrival less.
    ///
    /// # Errors
    /// `UnsupportedOnTarget`.
    pub fn leave(&self) -> Result<()> {
        self.objects().leave()
    }

    /// Arrives at `barrier`; with `members`, sets the number of arrivals of a phase first.
    ///
    /// # Errors
    /// `UnsupportedOnTarget`; `TypeMismatch` for a number that is none.
    pub fn arrive(&self, barrier: NamedBarrier<'c>, members: Option<IntValue<'c>>) -> Result<()> {
        let members = match members {
            Some(members) => self.members(members)?,
            None => self.build.i32(0),
        };
        self.objects().named_signal(barrier.0, members)
    }

    /// Waits for the barrier that was joined last.
    ///
    /// # Errors
    /// `UnsupportedOnTarget`.
    pub fn wait_joined(&self) -> Result<()> {
        self.objects().named_wait()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Optimization, codegen};
    use inkwell::targets::FileType;

    /// The assembly of a kernel of 256 invocations that consists of what `write` writes.
    fn assembly(
        target: &str,
        write: impl for<'c> FnOnce(&Barriers<'c>, &'c Context) -> Result<()>,
    ) -> std::result::Result<Vec<String>, String> {
        let target = Target::by_name(target).unwrap();
        let context = Context::create();
        let module = context.create_module("m");
        let kernel = module.add_function("k", context.void_type().fn_type(&[], false), None);
        kernel.set_call_conventions(91);
        let sizes = context.create_string_attribute("amdgpu-flat-work-group-size", "256,256");
        kernel.add_attribute(inkwell::attributes::AttributeLoc::Function, sizes);
        let block = context.append_basic_block(kernel, "entry");
        let builder = context.create_builder();
        builder.position_at_end(block);
        write(
            &Barriers::at_end_of(&context, &module, block, target),
            &context,
        )
        .map_err(|problem| problem.message.clone())?;
        builder.build_return(None).unwrap();
        let machine = codegen::machine(target, Optimization::O2).unwrap();
        codegen::adopt(&module, &machine);
        module.verify().unwrap();
        let bitcode = module.write_bitcode_to_memory();
        let bytes = codegen::generate(
            bitcode.as_slice(),
            target,
            Optimization::O2,
            FileType::Assembly,
            false,
        )
        .unwrap();
        Ok(String::from_utf8_lossy(&bytes)
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("s_barrier"))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect())
    }

    #[test]
    fn a_named_barrier_from_init_to_leave() {
        let lines = assembly("gfx1250", |barriers, context| {
            let eight = context.i32_type().const_int(8, false);
            let (a, b) = (barriers.named("a")?, barriers.named("b")?);
            barriers.init(a, eight)?;
            barriers.init(b, eight)?;
            barriers.signal()?;
            barriers.wait()?;
            barriers.join(a)?;
            barriers.arrive(a, None)?;
            barriers.arrive(b, Some(eight))?;
            barriers.wait_joined()?;
            barriers.leave()
        })
        .unwrap();
        assert_eq!(
            lines,
            [
                "s_barrier_init m0",
                "s_barrier_init m0",
                "s_barrier_signal -1",
                "s_barrier_wait -1",
                "s_barrier_join m0",
                "s_barrier_signal 1",
                "s_barrier_signal m0",
                "s_barrier_wait 1",
                "s_barrier_leave",
            ]
        );
    }

    #[test]
    fn one_wave_arrives_at_the_cluster_for_its_workgroup() {
        let lines = assembly("gfx1251", |barriers, _| barriers.cluster_barrier()).unwrap();
        assert_eq!(
            lines,
            [
                "s_barrier_signal_isfirst -1",
                "s_barrier_wait -1",
                "s_barrier_signal -3",
                "s_barrier_wait -3"
            ]
        );
        let lines = assembly("gfx1250", |barriers, _| {
            barriers.cluster_signal()?;
            barriers.cluster_wait()
        });
        assert_eq!(lines.unwrap(), ["s_barrier_signal -3", "s_barrier_wait -3"]);
    }

    #[test]
    fn what_a_target_lacks_never_reaches_llvm() {
        for target in [
            "gfx600", "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1170", "sm_90",
        ] {
            for refused in [
                assembly(target, |barriers, _| barriers.signal()),
                assembly(target, |barriers, _| barriers.wait()),
                assembly(target, |barriers, _| barriers.signal_is_first().map(|_| ())),
            ] {
                assert_eq!(
                    refused.unwrap_err(),
                    format!("{target} has no split barrier")
                );
            }
        }
        for target in ["gfx1100", "gfx1201", "gfx1310"] {
            for refused in [
                assembly(target, |barriers, _| barriers.cluster_barrier()),
                assembly(target, |barriers, _| barriers.cluster_signal()),
                assembly(target, |barriers, _| barriers.cluster_wait()),
            ] {
                assert_eq!(
                    refused.unwrap_err(),
                    format!("{target} has no cluster barrier")
                );
            }
            for refused in [
                assembly(target, |barriers, _| barriers.named("a").map(|_| ())),
                assembly(target, |barriers, _| barriers.leave()),
                assembly(target, |barriers, _| barriers.wait_joined()),
            ] {
                assert_eq!(
                    refused.unwrap_err(),
                    format!("{target} has no named barriers")
                );
            }
        }
    }

    #[test]
    fn there_are_sixteen_and_a_count_is_a_count() {
        let seventeen = assembly("gfx1250", |barriers, _| {
            (0..17).try_for_each(|n| barriers.named(&format!("b{n}")).map(|_| ()))
        });
        assert_eq!(seventeen.unwrap_err(), "gfx1250 has no named barrier left");
        for members in [0, 64] {
            let wrong = assembly("gfx1250", |barriers, context| {
                let members = context.i32_type().const_int(members, false);
                barriers.init(barriers.named("a")?, members)
            });
            assert!(wrong.unwrap_err().contains("from 1 to 63"));
        }
    }
}
