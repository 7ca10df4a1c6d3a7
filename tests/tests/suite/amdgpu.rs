//! AMDGPU: every target with every strategy, wave size and kind of workgroup. LLVM never receives
//! code that it crashes on or miscompiles.

use crate::generations::kernels::{ARRIVE, LOAD, MULTIPLY, WAIT, exchange};
use crate::support::{assembled, compile_bytes, instruction, linkable, told, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::waits::counter::{self, Counter};
use splitbar::{Optimization, Strategy, Target, Waits};
use splitbar_tests::check::Check;
use splitbar_tests::fixture::Fixture;

/// Invocations of the workgroup: one wave, one and a bit, several, the most.
const SIZES: [u32; 4] = [32, 65, 256, 1024];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in Target::all().iter().filter(|t| t.amdgpu().is_some()) {
        trials.push(trial(format!("amdgpu/grid/{}", target.name), move || {
            grid(target)
        }));
    }
    trials.push(trial("amdgpu/named/opencl".to_owned(), named));
    trials.push(trial("amdgpu/named/refused".to_owned(), named_refused));
    trials.push(trial("amdgpu/named/halves".to_owned(), halves));
    trials.push(trial(
        "amdgpu/back-off-barrier".to_owned(),
        back_off_barrier,
    ));
    trials
}

/// A kernel whose workgroup size is a specialization constant, with every combination that the
/// target has.
fn grid(target: &'static Target) -> Result<()> {
    let module = Fixture::load("spec_size")?.module()?;
    let mut built = 0;
    for strategy in Strategy::ALL {
        for &wave in target.wave_sizes {
            for size in SIZES {
                let compiled = compile_bytes(&module, target.name, |options| {
                    options.strategy = Some(*strategy);
                    options.wave_size = Some(wave);
                    options.optimization = Optimization::O1;
                    options.spec.0.insert(0, size.into());
                });
                // A strategy that the target lacks is refused by name; nothing else is.
                match compiled {
                    Ok(output) => {
                        ensure!(told(output.assembly())?.contains("s_endpgm"), "no code");
                        built += 1;
                    }
                    Err(refusal) => ensure!(
                        format!("{refusal:#}").contains("cannot lower the split barriers"),
                        "{strategy}, waves of {wave}, {size} invocations: {refusal:#}"
                    ),
                }
            }
        }
    }
    // Fused and counter are everywhere.
    ensure!(built >= 2 * SIZES.len(), "only {built} combinations");
    Ok(())
}

/// An exchange through LDS with a load of global memory in its window. Without BackOffBarrier, LLVM
/// waits for that load at `s_barrier`; the explicit form does not, and without outstanding
/// operations there is no wait. With BackOffBarrier, the load stays in flight.
fn back_off_barrier() -> Result<()> {
    let (loading, idle) = (
        exchange(256, ARRIVE, LOAD, WAIT)?,
        exchange(256, ARRIVE, MULTIPLY, WAIT)?,
    );
    let targets = Target::all().iter();
    for (target, gpu) in targets.filter_map(|target| Some((target, target.amdgpu()?))) {
        // Counters of the waits between the exchange's store and the barrier at the wait.
        let waited = |module: &[u8], waits| -> Result<Vec<Counter>> {
            let output = compile_bytes(module, target.name, |options| {
                options.strategy = Some(Strategy::Fused);
                options.waits = waits;
            })?;
            let assembly = told(output.assembly())?;
            let code: Vec<String> = assembly.lines().map(instruction).collect();
            let is_barrier = |line: &String| line == "s_barrier" || line == "s_barrier_signal -1";
            let store = code.iter().position(|line| line.starts_with("ds_"));
            let barrier = code.iter().position(is_barrier);
            let (store, barrier) = store.zip(barrier).context("no exchange")?;
            let between = code
                .get(store..barrier)
                .context("the barrier comes first")?;
            Ok(between
                .iter()
                .filter_map(|line| line.split_once(' '))
                .flat_map(|(mnemonic, operands)| counter::waits(mnemonic, operands))
                .map(|wait| wait.counter)
                .collect())
        };
        let name = target.name;
        let vector = |module: &[u8], waits| -> Result<bool> {
            Ok(waited(module, waits)?.contains(&Counter::Load))
        };
        ensure!(
            vector(&loading, Waits::Auto)? != gpu.back_off_barrier,
            "{name}: what is outstanding"
        );
        ensure!(!vector(&loading, Waits::Explicit)?, "{name}: explicit");
        ensure!(
            vector(&loading, Waits::Conservative)?,
            "{name}: conservative"
        );
        ensure!(
            !vector(&idle, Waits::Auto)?,
            "{name}: nothing is outstanding"
        );
    }
    Ok(())
}

/// A kernel of OpenCL 2.2 whose eight waves synchronise at a named barrier.
fn opencl() -> Result<Vec<u8>> {
    assembled(
        "OpCapability NamedBarrier
OpCapability SubgroupDispatch
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
OpExecutionMode %main LocalSize 256 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%workgroup = OpConstant %uint 2
%count = OpConstant %uint 8
%semantics = OpConstant %uint 0x108
%named = OpTypeNamedBarrier
%main = OpFunction %void None %fn
%entry = OpLabel
%a = OpNamedBarrierInitialize %named %count
%b = OpNamedBarrierInitialize %named %count
OpMemoryNamedBarrier %a %workgroup %semantics
OpMemoryNamedBarrier %b %workgroup %semantics
OpReturn
OpFunctionEnd
",
    )
}

fn named() -> Result<()> {
    let module = opencl()?;
    let set_up = [
        "s_barrier_init m0",
        "s_barrier_signal -1",
        "s_barrier_wait -1",
    ];
    let order = [
        &set_up[..],
        &set_up[..],
        &[
            "s_barrier_join m0",
            "s_barrier_signal 1",
            "s_barrier_wait 1",
        ],
        &[
            "s_barrier_join m0",
            "s_barrier_signal 2",
            "s_barrier_wait 1",
        ],
        &["s_endpgm"],
    ]
    .concat();
    for target in ["gfx1250", "gfx1251"] {
        for level in [Optimization::O0, Optimization::O2] {
            let output = compile_bytes(&module, target, |o| o.optimization = level)?;
            let assembly = told(output.assembly())?;
            Check::parse(&order)
                .and_then(|check| check.run(&assembly))
                .map_err(|problem| anyhow::anyhow!("{target}: {problem}"))?;
        }
    }
    Ok(())
}

/// Elsewhere the instructions are refused before LLVM sees an intrinsic that it would encode, or
/// crash on.
fn named_refused() -> Result<()> {
    let module = opencl()?;
    for target in ["gfx906", "gfx1100", "gfx1201", "gfx1310", "sm_90"] {
        let refusal = compile_bytes(&module, target, |_| {}).err();
        let text = format!("{:#}", refusal.context("it was lowered")?);
        ensure!(text.contains("has no named barriers"), "{target}: {text}");
    }
    Ok(())
}

/// The two halves of a workgroup synchronise at separate named barriers, next to a split barrier of
/// all.
fn halves() -> Result<()> {
    linkable("gfx1250")?;
    let module = assembled(HALVES)?;
    for strategy in [Strategy::Native, Strategy::Named] {
        for level in [Optimization::O0, Optimization::O2] {
            let output = compile_bytes(&module, "gfx1250", |options| {
                options.strategy = Some(strategy);
                options.optimization = level;
            })?;
            let job = Job::compiled(&output, 0)?;
            for index in 0..8 {
                let inputs =
                    Inputs::new([1, 1, 1], vec![(BufferName::Argument(0), vec![0; 4 * 256])]);
                let outcome = job.run(&inputs, Schedule::nth(index, 5))?;
                if let Some(finding) = outcome.report.findings.first() {
                    bail!("{strategy} {level:?}: {finding}");
                }
                let out = outcome.buffers.first().context("no buffer")?;
                for (at, word) in (0u32..).zip(out.as_chunks::<4>().0) {
                    // What the neighbour in the half left, and what its neighbour in the other half
                    // made of that.
                    let expected = at ^ 64 ^ 128;
                    ensure!(
                        u32::from_le_bytes(*word) == expected,
                        "{strategy} {level:?}: word {at} is {word:?}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// See [`halves`]: 256 invocations in eight waves. Every invocation writes its number, synchronises
/// with its half of the workgroup, and reads the number of its neighbour there. Then it
/// synchronises with all, and reads the value of its neighbour in the other half.
const HALVES: &str = "OpCapability NamedBarrier
OpCapability SubgroupDispatch
OpCapability SplitBarrierINTEL
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %index %wave %tile %taken
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %wave BuiltIn SubgroupId
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%length = OpConstant %uint 256
%workgroup = OpConstant %uint 2
%four = OpConstant %uint 4
%near = OpConstant %uint 64
%far = OpConstant %uint 128
%both = OpConstant %uint 0x108
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%array = OpTypeArray %uint %length
%ptile = OpTypePointer Workgroup %array
%plocal = OpTypePointer Workgroup %uint
%pglobal = OpTypePointer CrossWorkgroup %uint
%pinput = OpTypePointer Input %ulong
%pword = OpTypePointer Input %uint
%named = OpTypeNamedBarrier
%fn = OpTypeFunction %void %pglobal
%index = OpVariable %pinput Input
%wave = OpVariable %pword Input
%tile = OpVariable %ptile Workgroup
%taken = OpVariable %ptile Workgroup
%main = OpFunction %void None %fn
%out = OpFunctionParameter %pglobal
%entry = OpLabel
%low = OpNamedBarrierInitialize %named %four
%high = OpNamedBarrierInitialize %named %four
%wide = OpLoad %ulong %index
%i = OpUConvert %uint %wide
%w = OpLoad %uint %wave
%mine = OpAccessChain %plocal %tile %i
OpStore %mine %i
%lower = OpULessThan %bool %w %four
OpSelectionMerge %on None
OpBranchConditional %lower %first %second
%first = OpLabel
OpMemoryNamedBarrier %low %workgroup %both
OpBranch %on
%second = OpLabel
OpMemoryNamedBarrier %high %workgroup %both
OpBranch %on
%on = OpLabel
%j = OpBitwiseXor %uint %i %near
%its = OpAccessChain %plocal %tile %j
%v = OpLoad %uint %its
%mine2 = OpAccessChain %plocal %taken %i
OpStore %mine2 %v
OpControlBarrierArriveINTEL %workgroup %workgroup %release
OpControlBarrierWaitINTEL %workgroup %workgroup %acquire
%k = OpBitwiseXor %uint %i %far
%its2 = OpAccessChain %plocal %taken %k
%x = OpLoad %uint %its2
%end = OpInBoundsPtrAccessChain %pglobal %out %i
OpStore %end %x
OpReturn
OpFunctionEnd
";
