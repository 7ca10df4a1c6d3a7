//! AMDGPU: every target with every strategy, wave size and kind of workgroup; what LLVM would crash on or get wrong is never asked of it.

use crate::support::{assembled, compile_bytes, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::{Optimization, Strategy, Target};
use splitbar_tests::check::Check;
use splitbar_tests::fixture::Fixture;

/// Invocations of the workgroup: one wave, one and a bit, several, the most.
const SIZES: [u32; 4] = [32, 65, 256, 1024];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in Target::all().iter().filter(|t| t.amdgpu().is_some()) {
        trials.push(trial(format!("amdgpu/grid/{}", target.name), move || {
            grid(target)
        }));
    }
    trials.push(trial("amdgpu/named/opencl".to_owned(), named));
    trials.push(trial("amdgpu/named/refused".to_owned(), named_refused));
    trials
}

/// A kernel whose workgroup size is a specialization constant, with every combination that the target has.
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

/// A kernel of OpenCL 2.2 whose eight waves meet at a named barrier.
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

/// Elsewhere the instructions are refused before LLVM sees an intrinsic that it would encode, or crash on.
fn named_refused() -> Result<()> {
    let module = opencl()?;
    for target in ["gfx906", "gfx1100", "gfx1201", "gfx1310", "sm_90"] {
        let refusal = compile_bytes(&module, target, |_| {}).err();
        let text = format!("{:#}", refusal.context("it was lowered")?);
        ensure!(text.contains("has no named barriers"), "{target}: {text}");
    }
    Ok(())
}
