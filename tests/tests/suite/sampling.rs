//! Samples of every form on the simulator: separate samplers and constant samplers, mip levels,
//! gradients, quads, offsets, comparisons, gathers, cubes, several samples, queries. Compiled
//! kernels have the results of the host.

use crate::support::{
    all_ptxas, assembled, assembles, compile_bytes, is_nvptx, linkable, run, told, trial,
};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::machine::image::{Format, Levels};
use splitbar::simulate::machine::sampler::Sampler;
use splitbar::simulate::{BufferName, Inputs, Job, Texels};
use splitbar::{AbiForm, DescriptorSets, Optimization};
use splitbar_tests::sampling::{self, Case, Host, LANES};

/// AMD GPUs whose image instructions are simulated, one of each generation, and NVIDIA's.
const TARGETS: [&str; 5] = ["gfx1030", "gfx1100", "gfx1201", "sm_75", "sm_90"];

/// AMD GPUs that are not, one of each set of image instructions.
const OTHERS: [&str; 8] = [
    "gfx600", "gfx700", "gfx803", "gfx906", "gfx90a", "gfx942", "gfx1010", "gfx1250",
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (number, case) in sampling::all().into_iter().enumerate() {
        let case: &'static Case = Box::leak(Box::new(case));
        for target in TARGETS {
            // Each case is optimised for one half of the targets and not for the other.
            let optimization = match (number + target.len()) % 2 {
                0 => Optimization::O0,
                _ => Optimization::O2,
            };
            let name = format!("sampling/{}/{target}", case.name);
            trials.push(trial(name, move || agrees(case, target, optimization)));
        }
        trials.push(trial(format!("sampling/{}/ptxas", case.name), move || {
            taken_by_ptxas(case)
        }));
    }
    for target in TARGETS {
        let name = format!("sampling/literal/{target}");
        trials.push(trial(name, move || literal(target)));
    }
    for target in OTHERS {
        let name = format!("sampling/compiled_or_refused/{target}");
        trials.push(trial(name, move || compiled_or_refused(target)));
    }
    trials.push(trial("sampling/two_samplers".to_owned(), two_samplers));
    trials.push(trial("sampling/command_line".to_owned(), command_line));
    trials
}

fn inputs(case: &Case) -> Inputs {
    let places = case.given().into_iter().flat_map(f32::to_le_bytes);
    let buffers = vec![
        (BufferName::Binding(0, 0), Host::from_case(case).bytes()),
        (BufferName::Binding(0, 1), places.collect()),
        (BufferName::Binding(0, 2), vec![0; LANES * 16]),
    ];
    Inputs::new([1, 1, 1], buffers)
}

/// Runs `job`, and compares its results with those of the host.
fn compared(case: &Case, job: Job) -> Result<()> {
    let texels = Texels {
        format: Format::by_name("r32f").context("no such format")?,
        extent: case.extent,
        is_buffer: false,
        levels: Levels {
            count: case.levels.count,
            directions: case.levels.directions,
            samples: case.levels.samples,
        },
    };
    let sampler = Sampler::by_name(case.sampler).context("no such sampler")?;
    let job = job
        .with_image(BufferName::Binding(0, 0), texels)
        .with_sampler(BufferName::Binding(0, 3), sampler);
    let inputs = inputs(case);
    let outcome = job.run(&inputs, Schedule::nth(1, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        bail!("{finding}");
    }
    let got = outcome.buffers.get(2).context("no buffer")?;
    let (got, _) = got.as_chunks::<4>();
    let got: Vec<f32> = got.iter().map(|word| f32::from_le_bytes(*word)).collect();
    case.compare(&got)
}

fn agrees(case: &Case, target: &str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let module = assembled(&case.module())?;
    let compile = |form: AbiForm| {
        compile_bytes(&module, target, |options| {
            options.optimization = optimization;
            options.abi = form;
        })
    };
    if let Some(words) = case.amd_only
        && is_nvptx(target)
    {
        let Err(refused) = compile(AbiForm::Arguments) else {
            bail!("{target} has it");
        };
        let refused = format!("{refused:#}");
        ensure!(refused.contains(words), "{refused}");
        return Ok(());
    }
    for form in [
        AbiForm::Arguments,
        AbiForm::DescriptorSets(DescriptorSets::default()),
    ] {
        let name = form.name();
        let output = compile(form)?;
        compared(case, Job::compiled(&output, 0)?).context(name)?;
    }
    Ok(())
}

fn taken_by_ptxas(case: &Case) -> Result<()> {
    if case.amd_only.is_some() {
        return Ok(());
    }
    for target in ["sm_75", "sm_90"] {
        let tools = all_ptxas(target)?;
        let output = compile_bytes(&assembled(&case.module())?, target, |_| {})?;
        let text = told(output.assembly())?;
        for tool in &tools {
            assembles(tool, &text, target).with_context(|| case.name)?;
        }
    }
    Ok(())
}

/// OpConstantSampler and a sampler that is a parameter, in an OpenCL kernel.
fn literal(target: &str) -> Result<()> {
    linkable(target)?;
    const KERNEL: &str = "OpCapability Kernel
OpCapability Addresses
OpCapability ImageBasic
OpCapability LiteralSampler
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %id
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %id Constant
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%float = OpTypeFloat 32
%uint2 = OpTypeVector %uint 2
%ulong3 = OpTypeVector %ulong 3
%float2 = OpTypeVector %float 2
%float4 = OpTypeVector %float 4
%f0 = OpConstant %float 0
%u1 = OpConstant %uint 1
%u7 = OpConstant %uint 7
%u3 = OpConstant %uint 3
%half = OpConstant %float 0.5
%to_ulong3 = OpTypePointer Input %ulong3
%id = OpVariable %to_ulong3 Input
%image_type = OpTypeImage %void Dim2D 0 0 0 0 Unknown ReadOnly
%sampler_type = OpTypeSampler
%combined = OpTypeSampledImage %image_type
%literal = OpConstantSampler %sampler_type ClampToEdge 0 Nearest
%to_float4 = OpTypePointer CrossWorkgroup %float4
%kernel = OpTypeFunction %void %image_type %image_type %sampler_type %to_float4
%main = OpFunction %void None %kernel
%first = OpFunctionParameter %image_type
%second = OpFunctionParameter %image_type
%sampler = OpFunctionParameter %sampler_type
%out = OpFunctionParameter %to_float4
%start = OpLabel
%ids = OpLoad %ulong3 %id
%long = OpCompositeExtract %ulong %ids 0
%x = OpUConvert %uint %long
%right = OpIAdd %uint %x %u1
%column = OpBitwiseAnd %uint %right %u7
%row = OpShiftRightLogical %uint %x %u3
%at = OpCompositeConstruct %uint2 %column %row
%a = OpSampledImage %combined %first %literal
%one = OpImageSampleExplicitLod %float4 %a %at Lod %f0
%fx = OpConvertUToF %float %column
%fy = OpConvertUToF %float %row
%there = OpCompositeConstruct %float2 %fx %fy
%b = OpSampledImage %combined %second %sampler
%two = OpImageSampleExplicitLod %float4 %b %there Lod %f0
%sum = OpFAdd %float4 %one %two
%to = OpInBoundsPtrAccessChain %to_float4 %out %long
OpStore %to %sum Aligned 16
OpReturn
OpFunctionEnd";
    let output = compile_bytes(&assembled(KERNEL)?, target, |_| {})?;
    let texels = Texels {
        format: Format::by_name("r32f").context("no such format")?,
        extent: [8, 4, 1],
        is_buffer: false,
        levels: Levels::default(),
    };
    let bytes = |factor: f32| -> Vec<u8> {
        let texels = (0..32).map(|number| number as f32 * factor);
        texels.flat_map(f32::to_le_bytes).collect()
    };
    let inputs = Inputs::new(
        [1, 1, 1],
        vec![
            (BufferName::Argument(0), bytes(1.0)),
            (BufferName::Argument(1), bytes(64.0)),
            (BufferName::Argument(3), vec![0; LANES * 16]),
        ],
    );
    let linear = Sampler::by_name("linear,border,unnormalized").context("no such sampler")?;
    let job = Job::compiled(&output, 0)?
        .with_image(BufferName::Argument(0), texels)
        .with_image(BufferName::Argument(1), texels)
        .with_sampler(BufferName::Argument(2), linear);
    job.takes(&inputs)?;
    let outcome = job.run(&inputs, Schedule::nth(1, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        bail!("{finding}");
    }
    let (got, _) = outcome.buffers[2].as_chunks::<16>();
    let texel = |x: i32, y: i32| {
        if (0..8).contains(&x) && (0..4).contains(&y) {
            (8 * y + x) as f32
        } else {
            0.0
        }
    };
    for (lane, got) in got.iter().enumerate() {
        let (x, y) = ((lane as i32 + 1) & 7, lane as i32 / 8);
        // Rows beyond the last are the last; the border is linear, half a texel away.
        let nearest = texel(x, y.min(3));
        let around = [(x - 1, y - 1), (x, y - 1), (x - 1, y), (x, y)];
        let mixed: f32 = around.iter().map(|(x, y)| texel(*x, *y) * 16.0).sum();
        let (components, _) = got.as_chunks::<4>();
        let first = components.first().map(|word| f32::from_le_bytes(*word));
        ensure!(
            first == Some(nearest + mixed),
            "lane {lane}: {first:?}, not {}",
            nearest + mixed
        );
    }
    Ok(())
}

/// A texture object has one sampler: the reflection names it, and two samplers are rejected.
fn two_samplers() -> Result<()> {
    let case = sampling::all();
    let case = case.first().context("no case")?;
    let text = case.module();
    let output = compile_bytes(&assembled(&text)?, "sm_90", |_| {})?;
    let reflection: serde_json::Value = serde_json::from_str(&output.reflect())?;
    let combined_image_samplers = &reflection[0]["combined_image_samplers"];
    let wanted = serde_json::json!([
        {"image": {"set": 0, "binding": 0}, "sampler": {"set": 0, "binding": 3}}
    ]);
    ensure!(
        *combined_image_samplers == wanted,
        "{combined_image_samplers}"
    );
    let two = text
        .replace(
            "OpDecorate %sampler Binding 3",
            "OpDecorate %sampler Binding 3
OpDecorate %other DescriptorSet 0
OpDecorate %other Binding 4",
        )
        .replace(
            "%main = OpFunction",
            "%other = OpVariable %to_sampler UniformConstant
%main = OpFunction",
        )
        .replace(
            "%to = OpAccessChain",
            "%t2 = OpLoad %sampler_type %other
%s2 = OpSampledImage %combined %i %t2
%more = OpImageSampleExplicitLod %float4 %s2 %p2 Lod %f0
%to = OpAccessChain",
        );
    let module = assembled(&two)?;
    compile_bytes(&module, "gfx1201", |_| {})?;
    let Err(refused) = compile_bytes(&module, "sm_90", |_| {}) else {
        bail!("sm_90 takes two samplers");
    };
    let refused = format!("{refused:#}");
    ensure!(
        refused.contains("SB0307") && refused.contains("separate samplers"),
        "{refused}"
    );
    Ok(())
}

/// LLVM selects an instruction for every form, or the form is refused by name: that LLVM finds none
/// is a bug.
fn compiled_or_refused(target: &str) -> Result<()> {
    let mut wrong = Vec::new();
    let mut compiled = 0;
    for case in sampling::all() {
        match compile_bytes(&assembled(&case.module())?, target, |_| {}) {
            Ok(_) => compiled += 1,
            Err(why) => {
                let why = format!("{why:#}");
                let named = why.contains("SB0307") && why.contains("does not have an instruction");
                wrong.extend((!named).then(|| format!("{}: {why}", case.name)));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let has_none = ["gfx942", "gfx1250"].contains(&target);
    ensure!((compiled == 0) == has_none, "{compiled} are compiled");
    Ok(())
}

/// Levels and samplers of their own on the command line.
fn command_line() -> Result<()> {
    let cases = sampling::all();
    let case = cases.iter().find(|case| case.name == "levels_linear");
    let module = assembled(&case.context("no such case")?.module())?;
    for target in ["sm_90", "gfx1201"] {
        for (image, sampler, code) in [
            ("0:0=r32f:8x8:levels=4", "0:3=linear,edge,mip-linear", 0),
            ("0:0=r32f:8x8:levels=4", "0:3=linear,edge,cubic", 2),
            ("0:0=r32f:8x8:levels=17", "0:3=linear,edge", 2),
            ("0:0=r32f:8x8:levels=0", "0:3=linear,edge", 2),
            ("0:0=r32f:8x8:stairs=4", "0:3=linear,edge", 2),
            ("0:0=r32f:8x8:levels=4", "0:4=linear,edge", 2),
        ] {
            let arguments = [
                &["sim", "-", "--target", target, "--groups", "1,1,1"][..],
                &["--buffer", "0:0=zeros:340", "--image", image],
                &["--buffer", "0:1=zeros:1024", "--buffer", "0:2=zeros:1024"],
                &["--sampler", sampler],
            ];
            let ran = run(&arguments.concat(), &module, true)?;
            ensure!(
                ran.code == Some(code),
                "{target} {image} {sampler}: {:?} {}",
                ran.code,
                ran.stderr
            );
        }
    }
    Ok(())
}
