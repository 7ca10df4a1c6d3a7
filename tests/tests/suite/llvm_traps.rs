//! Faults of LLVM 23.1 that silently produce wrong code or crash (docs/llvm.md). Every fixture is
//! compiled for the affected GPUs with the options that come nearest to the fault, and its output
//! must not have the trap. A row also has LLVM's output for the trap, or the input that leads to
//! it, which the row's own check must reject.

use crate::support::{always_split_on, assembled, compile_bytes, linkable, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use regex::Regex;
use splitbar::asm::{self, Function};
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::waits::counter::{Counter, waits};
use splitbar::{
    EntryPlan, Environment, Optimization, Options, Placement, Strategy, Target, Validation, Waits,
};
use splitbar_plan::target::Amdgpu;
use splitbar_plan::{AmdgpuStep, Step};
use splitbar_tests::check::Check as Order;
use splitbar_tests::fixture::Fixture;

/// A trap, and the evidence that no output has it.
struct Trap {
    name: &'static str,
    /// The GPUs with the fault.
    on: fn(&Amdgpu) -> bool,
    /// The options that come nearest to it.
    options: fn(&mut Options),
    /// The kernels that come near it; empty: all.
    kernels: &'static [&'static str],
    /// The text to search.
    text: Text,
    /// The pattern that must not be in it.
    check: Check,
    /// A line that shows that the trap was near, in an output or in a diagnostic: without one,
    /// nothing was checked.
    near: &'static str,
    /// Text that the check refuses.
    hit: &'static str,
    /// Removes the step of a plan that keeps its code from the trap, if it is part of the plan:
    /// some output then has the trap.
    cure: Option<fn(&mut EntryPlan)>,
}

#[derive(Copy, Clone)]
enum Text {
    Ir,
    Assembly,
}

enum Check {
    /// No line matches.
    Never(&'static str),
    /// The line that is wrong.
    Order(fn(&str) -> Option<String>),
}

/// Kernels with asynchronous copies once they are promoted.
const COPIES: &[&str] = &[
    "async_pipeline",
    "async_uneven",
    "async_double_buffer",
    "opencl_async_copy",
    "opencl_async_pipeline",
    "tiled_matmul_double_buffered",
];

fn nothing(_: &mut Options) {}

fn promoted(options: &mut Options) {
    options.promote_async_copies = true;
}

const TRAPS: &[Trap] = &[
    // LLVM looks for the size of an instruction that the GPU does not have, and reads where nothing
    // is; in a workgroup of one wave it drops them before that.
    Trap {
        name: "split_barrier_before_gfx12",
        on: |gpu| !gpu.split_barrier,
        options: nothing,
        kernels: &[],
        text: Text::Ir,
        check: Check::Never(
            r"llvm\.amdgcn\.(s\.barrier\.(signal|wait|init|join|leave)|s\.(wakeup|cluster)\.barrier|s\.get\.(named\.)?barrier)",
        ),
        near: r"llvm\.amdgcn\.s\.barrier\(",
        hit: "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)",
        cure: None,
    },
    // LLVM 22 does not know the intrinsic and calls an external function of its name.
    Trap {
        name: "mark_as_a_call",
        on: |gpu| gpu.async_marks,
        options: promoted,
        kernels: COPIES,
        text: Text::Assembly,
        check: Check::Never(r"llvm\.amdgcn"),
        near: r"vmcnt\([1-9]|s_wait_asynccnt 0x[1-9]",
        hit: "\ts_add_u32 s4, s4, llvm.amdgcn.asyncmark@rel32@lo+4",
        cure: None,
    },
    // The wait for the counter of copies orders no memory: a load behind it may be hoisted in front
    // of it, unless something else stands between that orders.
    Trap {
        name: "wait_for_copies_that_orders_nothing",
        on: |gpu| gpu.async_counter,
        options: |options| {
            promoted(options);
            options.waits = Waits::Conservative;
        },
        kernels: COPIES,
        text: Text::Ir,
        check: Check::Order(access_behind_bare_wait),
        near: r"llvm\.amdgcn\.s\.wait\.asynccnt",
        hit: "  call void @llvm.amdgcn.s.wait.asynccnt(i16 0)\n  %v = load i32, ptr addrspace(3) %q",
        // The fences that follow, and barriers, which order all memory for the optimiser.
        cure: Some(|plan| {
            change(plan, |step| {
                matches!(
                    step,
                    Step::Amdgpu(AmdgpuStep::WaitZero(_)) | Step::AsyncMark
                )
            })
        }),
    },
    // Tensor copies have no pointer operand, so that LLVM removes the accesses of the bytes that
    // they read and write.
    Trap {
        name: "tensor_copy",
        on: |gpu| gpu.async_counter,
        options: promoted,
        kernels: COPIES,
        text: Text::Ir,
        check: Check::Never(r"llvm\.amdgcn\.tensor\.|tensorcnt"),
        near: r"async\.to\.lds",
        hit: "  call void @llvm.amdgcn.tensor.load.to.lds(<4 x i32> %a, <8 x i32> %b, <4 x i32> zeroinitializer, <4 x i32> zeroinitializer, i32 0)",
        cure: None,
    },
    // An immediate offset that does not fit its field wraps around.
    Trap {
        name: "offset_of_a_copy",
        on: |gpu| !gpu.lds_dma_bytes.is_empty(),
        options: promoted,
        kernels: COPIES,
        text: Text::Ir,
        check: Check::Never(
            r"@llvm\.amdgcn\.(load\.async\.to\.lds\.p1\(.*, i32 \d+, i32 -?[1-9]\d*, i32 -?\d+\)|global\.(load\.async\.to|store\.async\.from)\.lds\.b\d+\(.*, i32 -?[1-9]\d*, i32 -?\d+\))",
        ),
        near: r"async\.to\.lds",
        hit: "  call void @llvm.amdgcn.load.async.to.lds.p1(ptr addrspace(1) %p, ptr addrspace(3) @lds, i32 4, i32 4096, i32 0)",
        cure: None,
    },
    // Where the offset counts for both addresses, LLVM must not be let to fold what is added to one
    // of them.
    Trap {
        name: "offset_of_a_copy_in_the_code",
        on: |gpu| !gpu.lds_dma_bytes.is_empty() && !gpu.async_counter,
        options: promoted,
        kernels: COPIES,
        text: Text::Assembly,
        check: Check::Never(
            r"(global_load_lds_.*|buffer_load_.*\blds\b.*|global_load_.*\blds\b.*)offset:|offset:.*\blds\b",
        ),
        near: r"global_load_(lds_)?dword",
        hit: "\tglobal_load_dword v[0:1], off offset:-2048 lds",
        cure: None,
    },
    // LLVM waits for no LDS operation before a copy that reads or writes the same bytes; a release
    // fence of the workgroup between them does.
    Trap {
        name: "copy_behind_lds_access",
        on: |gpu| !gpu.lds_dma_bytes.is_empty(),
        options: promoted,
        kernels: COPIES,
        text: Text::Assembly,
        check: Check::Order(copy_behind_lds_access),
        near: r"\bds_",
        hit: "\t.type\tk,@function\nk:\n\tds_read_b32 v0, v1\n\tglobal_load_lds_dword v[2:3], off\n\ts_endpgm\n",
        cure: Some(|plan| {
            change(plan, |step| {
                !matches!(step, Step::Fence(_) | Step::Amdgpu(AmdgpuStep::WaitZero(_)))
            })
        }),
    },
    // The attribute's presence alone counts; and the subtarget feature of older releases is
    // ignored, so that fences would be too weak.
    Trap {
        name: "tg_split_unasked",
        on: |_| true,
        options: nothing,
        kernels: &[],
        text: Text::Ir,
        check: Check::Never(r"tg-?split"),
        near: r"attributes #",
        hit: r#"attributes #0 = { "amdgpu-tg-split"="false" }"#,
        cure: None,
    },
    Trap {
        name: "tg_split_feature",
        on: |gpu| gpu.tg_split,
        options: |options| options.placement = Placement::ThreadgroupSplit,
        kernels: &[],
        text: Text::Ir,
        check: Check::Never(r#"[+-]tgsplit|"amdgpu-tg-split"="(true|false)""#),
        near: r#""amdgpu-tg-split""#,
        hit: r#"attributes #0 = { "target-features"="+tgsplit" }"#,
        cure: None,
    },
    // Encoded for a GPU that has no such object.
    Trap {
        name: "named_barrier_on_gfx12_0",
        on: |gpu| gpu.split_barrier && gpu.named_barriers == 0,
        options: |options| options.strategy = Some(Strategy::Named),
        kernels: &["arrive_barrier_wait", "tiled_matmul"],
        text: Text::Assembly,
        check: Check::Never(
            r"s_barrier_(init|join|leave)|s_barrier_signal(_isfirst)? (m0|\d)|s_barrier_wait \d",
        ),
        near: "strategy `named` cannot lower",
        hit: "\ts_barrier_join m0",
        cure: None,
    },
    Trap {
        name: "cluster_barrier_on_gfx12_0",
        on: |gpu| gpu.split_barrier && !gpu.cluster_barrier,
        options: |options| {
            options.strategy = Some(Strategy::Cluster);
            options.cluster = Some([2, 1, 1]);
        },
        kernels: &["arrive_barrier_wait", "tiled_matmul"],
        text: Text::Assembly,
        check: Check::Never(r"s_barrier_(signal(_isfirst)?|wait) -[2-9]"),
        near: "has no clusters of workgroups",
        hit: "\ts_barrier_signal -3",
        cure: None,
    },
    // Copies of gfx12.5 on another GPU: a crash on gfx13, "cannot select" before.
    Trap {
        name: "copy_of_gfx12_5_elsewhere",
        on: |gpu| !gpu.async_counter,
        options: promoted,
        kernels: COPIES,
        text: Text::Ir,
        check: Check::Never(
            r"llvm\.amdgcn\.(global\.load\.async\.to|global\.store\.async\.from|cluster\.load\.async\.to)\.lds\.b|s\.wait\.(async|tensor)cnt",
        ),
        near: r"define amdgpu_kernel",
        hit: "  call void @llvm.amdgcn.global.load.async.to.lds.b32(ptr addrspace(1) %p, ptr addrspace(3) @lds, i32 0, i32 0)",
        cure: None,
    },
    Trap {
        name: "mark_without_a_counter",
        on: |gpu| !gpu.async_marks,
        options: promoted,
        kernels: COPIES,
        text: Text::Ir,
        check: Check::Never(r"asyncmark|async\.(to\.)?lds"),
        near: r"define amdgpu_kernel",
        hit: "  call void @llvm.amdgcn.asyncmark()",
        cure: None,
    },
    // A wait counts marks: a copy that no mark covers is not waited for.
    Trap {
        name: "copy_without_a_mark",
        on: |gpu| gpu.async_marks,
        options: promoted,
        kernels: COPIES,
        text: Text::Ir,
        check: Check::Order(copy_without_a_mark),
        near: r"llvm\.amdgcn\.wait\.asyncmark",
        hit: "  call void @llvm.amdgcn.load.async.to.lds.p1(ptr addrspace(1) %p, ptr addrspace(3) @lds, i32 4, i32 0, i32 0)\n  call void @llvm.amdgcn.wait.asyncmark(i16 0)",
        cure: Some(|plan| change(plan, |step| *step != Step::AsyncMark)),
    },
    // The waits of gfx11 are encoded for gfx12.0 too, which has others; LLVM does not account for
    // them, and they abort on gfx12.5.
    Trap {
        name: "legacy_waits",
        on: |gpu| gpu.split_barrier,
        options: |options| options.waits = Waits::Explicit,
        kernels: &[],
        text: Text::Assembly,
        check: Check::Never(r"^\s*s_waitcnt"),
        near: r"s_wait_dscnt",
        hit: "\ts_waitcnt vmcnt(0) lgkmcnt(0)",
        cure: None,
    },
    Trap {
        name: "legacy_conservative_waits",
        on: |gpu| gpu.split_barrier,
        options: |options| options.waits = Waits::Conservative,
        kernels: &[],
        text: Text::Assembly,
        check: Check::Never(r"^\s*s_waitcnt"),
        near: r"s_wait_dscnt|s_wait_loadcnt_dscnt",
        hit: "\ts_waitcnt vmcnt(0) lgkmcnt(0)",
        cure: None,
    },
];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let rows = TRAPS.iter().map(|trap| {
        let near = |fixture: &&Fixture| {
            trap.kernels.is_empty() || trap.kernels.contains(&fixture.name.as_str())
        };
        let fixtures: Vec<Fixture> = fixtures.iter().filter(near).cloned().collect();
        trial(format!("llvm_traps/{}", trap.name), move || {
            avoided(trap, &fixtures)
        })
    });
    let scalar = trial(
        "llvm_traps/scalar_load_over_a_barrier".to_owned(),
        scalar_load,
    );
    let shared = trial(
        "llvm_traps/value_of_a_shared_block".to_owned(),
        shared_block,
    );
    let extremes = trial(
        "llvm_traps/packed_extremes/still_there".to_owned(),
        packed_extremes_end_the_process,
    );
    let freed = trial(
        "llvm_traps/uniformity_of_freed_cycles".to_owned(),
        freed_cycles,
    );
    rows.chain([scalar, shared, extremes, freed]).collect()
}

impl Check {
    /// The first thing that is wrong.
    fn problem(&self, text: &str) -> Result<Option<String>> {
        Ok(match self {
            Check::Never(pattern) => {
                let never = Regex::new(pattern)?;
                let line = text.lines().find(|line| never.is_match(line));
                line.map(str::to_owned)
            }
            Check::Order(find) => find(text),
        })
    }
}

fn avoided(trap: &Trap, fixtures: &[Fixture]) -> Result<()> {
    ensure!(
        trap.check.problem(trap.hit)?.is_some(),
        "the check lets the trap itself pass"
    );
    let near = Regex::new(trap.near)?;
    let mut came_near = false;
    // One GPU of each row's kind is enough, but the trap is where the facts say, not where somebody
    // remembered.
    let targets = Target::all()
        .iter()
        .filter(|target| target.amdgpu().is_some_and(trap.on));
    for target in targets.step_by(3) {
        for fixture in fixtures {
            let compiled = compile_bytes(&fixture.module()?, target.name, trap.options);
            let output = match compiled {
                Ok(output) => output,
                // What the target lacks; a placement without LDS refuses most kernels.
                Err(refusal) => {
                    came_near |= near.is_match(&format!("{refusal:#}"));
                    continue;
                }
            };
            let text = match trap.text {
                Text::Ir => output.ir(),
                Text::Assembly => told(output.assembly())?,
            };
            came_near |= text.lines().any(|line| near.is_match(line));
            let problem = trap.check.problem(&text)?;
            ensure!(
                problem.is_none(),
                "{} on {}: {}",
                fixture.name,
                target.name,
                problem.unwrap_or_default()
            );
        }
    }
    ensure!(came_near, "nothing that was compiled comes near the trap");
    match trap.cure {
        Some(cure) => met_without(trap, cure, fixtures),
        None => Ok(()),
    }
}

/// Checks that some output has the fault after `cure` has changed the plans.
fn met_without(trap: &Trap, cure: fn(&mut EntryPlan), fixtures: &[Fixture]) -> Result<()> {
    let targets = Target::all()
        .iter()
        .filter(|target| target.amdgpu().is_some_and(trap.on));
    for target in targets.step_by(3) {
        for fixture in fixtures {
            let mut options = always_split_on(target);
            (trap.options)(&mut options);
            let compiled = splitbar::Compiler::new(&options)
                .with_changed_plans(&mut |plans| {
                    plans.iter_mut().for_each(cure);
                })
                .compile(&fixture.module()?);
            let Ok(output) = compiled else { continue };
            let text = match trap.text {
                Text::Ir => output.ir(),
                Text::Assembly => told(output.assembly())?,
            };
            if trap.check.problem(&text)?.is_some() {
                return Ok(());
            }
        }
    }
    bail!("without what keeps them from the trap, all outputs are the same to the check")
}

/// Keeps the steps of a plan for which `keep` returns true.
fn change(plan: &mut EntryPlan, keep: fn(&Step) -> bool) {
    let at = plan.at_instruction.values_mut();
    for steps in at.chain(plan.before_instruction.values_mut()) {
        steps.retain(keep);
    }
}

/// An access of memory after a wait for the counter of copies, without an instruction between them
/// that orders memory.
fn access_behind_bare_wait(ir: &str) -> Option<String> {
    let mut bare = false;
    for line in ir.lines() {
        if line.contains("call") && line.contains("@llvm.amdgcn.s.wait.asynccnt") {
            bare = true;
        } else if ["fence ", "s.barrier", "wait.asyncmark"]
            .iter()
            .any(|orders| line.contains(orders))
        {
            bare = false;
        } else if bare && (line.contains(" load ") || line.trim_start().starts_with("store ")) {
            return Some(line.to_owned());
        }
    }
    None
}

/// Checks the function after a copy: returns a wait or a return without a mark.
fn copy_without_a_mark(ir: &str) -> Option<String> {
    let mut unmarked = false;
    for line in ir.lines().filter(|line| !line.starts_with("declare")) {
        if line.contains("async.to.lds") || line.contains("async.from.lds") {
            unmarked = true;
        } else if line.contains("@llvm.amdgcn.asyncmark(") {
            unmarked = false;
        } else if unmarked && (line.contains("wait.asyncmark") || line.contains(" ret ")) {
            return Some(line.to_owned());
        }
    }
    None
}

/// A copy that control can come to with an operation on LDS outstanding.
fn copy_behind_lds_access(assembly: &str) -> Option<String> {
    asm::amdgpu::parse(assembly)
        .iter()
        .find_map(copy_behind_lds_access_in)
}

fn copy_behind_lds_access_in(function: &Function) -> Option<String> {
    let copies = |mnemonic: &str, operands: &str| {
        mnemonic.contains("async_to_lds")
            || mnemonic.contains("async_from_lds")
            || mnemonic.starts_with("global_load_lds")
            || mnemonic.contains("_load_") && operands.split_whitespace().any(|word| word == "lds")
    };
    // Whether an operation on LDS may be outstanding in front of each instruction; what is not
    // reached yet is `None`.
    let mut outstanding: Vec<Option<bool>> = vec![None; function.instructions.len()];
    let mut work = vec![(0, false)];
    while let Some((position, incoming)) = work.pop() {
        let (Some(here), Some(inst)) = (
            outstanding.get_mut(position),
            function.instructions.get(position),
        ) else {
            continue;
        };
        if *here == Some(true) || *here == Some(incoming) {
            continue;
        }
        *here = Some(incoming);
        if incoming && copies(&inst.mnemonic, &inst.operands) {
            return Some(format!("{} {}", inst.mnemonic, inst.operands));
        }
        let waited = waits(&inst.mnemonic, &inst.operands)
            .iter()
            .any(|wait| wait.at_most == 0 && matches!(wait.counter, Counter::Ds | Counter::Lgkm));
        let outgoing = !waited && (incoming || inst.mnemonic.starts_with("ds_"));
        work.extend(
            function
                .successors(position)
                .into_iter()
                .map(|next| (next, outgoing)),
        );
    }
    None
}

/// A load that LLVM makes scalar, an exchange through the buffer that it reads, and a store by
/// another wave after the barrier. Whatever the fence orders, the code waits for the load before
/// the wave arrives. LLVM 23.1 itself leaves it in flight on gfx12 and, for fences of only global
/// memory, on gfx90a and later. Without the wait, the audit reports it.
fn scalar_load() -> Result<()> {
    let module = assembled(SCALAR_LOAD)?;
    let older = [
        r"s_load_dword\b",
        r"s_waitcnt.*lgkmcnt\(0\)",
        r"s_barrier\b",
    ];
    let gfx11 = [r"s_load_b32\b", r"s_waitcnt.*lgkmcnt\(0\)", r"s_barrier\b"];
    let gfx12 = [r"s_load_b32\b", r"s_wait_kmcnt 0x0", r"s_barrier_signal -1"];
    for (name, order) in [
        ("gfx90a", older),
        ("gfx942", older),
        ("gfx1100", gfx11),
        ("gfx1200", gfx12),
        ("gfx1250", gfx12),
    ] {
        let output = compile_bytes(&module, name, |options| options.audit = true)?;
        let assembly = told(output.assembly())?;
        Order::parse(&order)
            .and_then(|check| check.run(&assembly))
            .map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
        missed(&output, &assembly, name)?;
    }
    Ok(())
}

/// A program whose block with two predecessors is the source of a bitcast in a phi, while a loop on
/// the path uses the same register. LLVM 23.1 loses that value without optimisation. The results
/// must be the same with and without optimisation.
fn shared_block() -> Result<()> {
    let module = assembled(include_str!("llvm_traps/shared_block.spvasm"))?;
    const INVOCATIONS: usize = 2 * 128;
    let words = |count: usize, of: fn(u32) -> u32| -> Vec<u8> {
        (0..count as u32)
            .map(of)
            .flat_map(u32::to_le_bytes)
            .collect()
    };
    let scrambled = |i: u32| i.wrapping_mul(0x9e37_79b9).rotate_left(7);
    let buffers = [
        words(16 * INVOCATIONS, scrambled),
        words(16 * INVOCATIONS, |_| 0),
        words(2 * INVOCATIONS, scrambled),
        words(INVOCATIONS, scrambled),
        words(1, |_| 0),
        words(INVOCATIONS, |_| 0),
        words(128, |_| 0),
    ];
    let places = (0..).map(|binding| BufferName::Binding(0, binding));
    let mut inputs = Inputs::new([2, 1, 1], places.zip(buffers).collect());
    inputs.push = [1_u32, 3, 1, 1].map(u32::to_le_bytes).concat();
    for name in ["gfx942", "gfx1030", "gfx1201"] {
        linkable(name)?;
        let run = |level: Optimization| -> Result<Vec<Vec<u8>>> {
            let output = compile_bytes(&module, name, |options| options.optimization = level)?;
            let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
            if let Some(finding) = outcome.report.findings.first() {
                bail!("{name}: {finding}");
            }
            Ok(outcome.buffers)
        };
        let optimised = run(Optimization::O2)?;
        ensure!(
            optimised[1].iter().any(|byte| *byte != 0),
            "{name}: the program leaves nothing"
        );
        ensure!(
            run(Optimization::O0)? == optimised,
            "{name}: other results at -O0"
        );
    }
    Ok(())
}

/// `lower-ir` has no guard against this fault: the worker that compiles the module for gfx13 dies.
/// The guard for SPIR-V can go when this fails.
fn packed_extremes_end_the_process() -> Result<()> {
    let text = include_str!("llvm_traps/packed_extremes.ll");
    let command = ["lower-ir", "-", "--target", "gfx1310", "--emit", "asm"];
    let ran = crate::cli::expect(&command, text.as_bytes(), 3)?;
    ensure!(ran.stderr.contains("SB0608"), "{}", ran.stderr);
    Ok(())
}

/// A program with reads of other lanes that LLVM 23.1 simplifies when it visits them twice: it then
/// uses a uniformity analysis that refers to freed cycles. Without the cure the process dies here.
fn freed_cycles() -> Result<()> {
    let module = assembled(include_str!("llvm_traps/freed_cycles.spvasm"))?;
    for name in ["gfx942", "gfx1030", "gfx1201"] {
        for level in [Optimization::O2, Optimization::O3] {
            let output = compile_bytes(&module, name, |options| {
                options.optimization = level;
                options.validation = Validation::Environment(Environment::Universal);
            })?;
            let assembly = told(output.assembly())?;
            ensure!(
                assembly.contains("v_readlane_b32") || assembly.contains("v_readfirstlane_b32"),
                "{name}: no lane is read any more"
            );
        }
    }
    Ok(())
}

/// The audit of the code without the last wait before the barrier.
fn missed(output: &splitbar::Output, assembly: &str, name: &str) -> Result<()> {
    let arch = &crate::support::target(name)?.arch;
    let entry = output.entries().first().context("no entry point")?;
    let clean = entry.audit.as_ref().context("there is no audit")?;
    ensure!(clean.is_clean(), "{name}: {clean}");
    let mut function = asm::amdgpu::parse(assembly)
        .into_iter()
        .find(|function| function.name == clean.kernel)
        .context("the kernel is not in the assembly")?;
    let barrier = clean.barriers.first().context("there is no barrier")?;
    let before = function
        .instructions
        .get_mut(..barrier.at.position)
        .context("the barrier is not in the code")?;
    let wait = before
        .iter_mut()
        .rfind(|inst| inst.mnemonic.starts_with("s_wait"))
        .context("nothing is waited for before the barrier")?;
    "s_nop".clone_into(&mut wait.mnemonic);
    let without = clean
        .of_changed(&function, arch)
        .map_err(anyhow::Error::msg)?;
    ensure!(
        !without.is_clean(),
        "{name}: nobody misses the wait for the scalar load"
    );
    Ok(())
}

/// See [`scalar_load`].
const SCALAR_LOAD: &str = "OpCapability Shader
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %buffer %index
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pin = OpTypePointer Input %uint
%buffer = OpVariable %pblock StorageBuffer
%index = OpVariable %pin Input
%zero = OpConstant %uint 0
%workgroup = OpConstant %uint 2
%release = OpConstant %uint 0x44
%acquire = OpConstant %uint 0x42
%main = OpFunction %void None %fn
%entry = OpLabel
%first = OpAccessChain %puint %buffer %zero %zero
%v = OpLoad %uint %first
OpControlBarrierArriveINTEL %workgroup %workgroup %release
OpControlBarrierWaitINTEL %workgroup %workgroup %acquire
%i = OpLoad %uint %index
%at = OpAccessChain %puint %buffer %zero %i
OpStore %at %v
OpReturn
OpFunctionEnd
";
