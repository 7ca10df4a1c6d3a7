//! Other forms of the binary interface on the simulator: kernels have the same results as with the
//! default form, and the audit has no findings.

use crate::images;
use crate::sim;
use crate::support::{always_split, assembled, compile_bytes, is_nvptx, linkable, run, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::machine::image::Format;
use splitbar::simulate::{BufferName, Inputs, Job, Texels};
use splitbar::{
    AbiForm, AbiTable, BindingOffset, DescriptorPlace, DescriptorSets, DescriptorSize,
    Optimization, Reach, TableArgument,
};
use splitbar_tests::fixture::Fixture;

const TARGETS: [&str; 4] = ["gfx942", "gfx1201", "sm_80", "sm_90"];
const LEVELS: [(u32, Optimization); 2] = [(0, Optimization::O0), (2, Optimization::O2)];
const SCHEDULES: u32 = 8;

/// Push constants, lengths of runtime arrays, read-only buffers, asynchronous copies, functions
/// that are called, workgroups of odd sizes, and two OpenCL kernels, whose parameters stay.
const FIXTURES: [&str; 14] = [
    "arrive_barrier_wait",
    "async_bounds",
    "async_pipeline",
    "buffer_exchange",
    "histogram",
    "message_passing",
    "odd_workgroup",
    "opencl_async_copy",
    "opencl_exchange",
    "softmax",
    "split_functions",
    "stencil_halo",
    "tiled_matmul",
    "volume",
];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in TARGETS {
        for (level, optimization) in LEVELS {
            // Each size of descriptors at one of the levels.
            let form = sets(match level {
                0 => DescriptorSize::Bytes16,
                _ => DescriptorSize::Bytes32,
            });
            let chosen = fixtures
                .iter()
                .filter(|fixture| FIXTURES.contains(&fixture.name.as_str()));
            for fixture in chosen.cloned() {
                let name = format!("abi/{}/{target}/O{level}", fixture.name);
                let form = form.clone();
                trials.push(trial(name, move || {
                    linkable(target)?;
                    let module = fixture.module()?;
                    let output = compile_bytes(&module, target, |options| {
                        options.optimization = optimization;
                        options.audit = true;
                        options.abi = form;
                    })?;
                    sim::agrees(&fixture, &output, SCHEDULES)
                }));
            }
            for (name, form) in forms() {
                let name = format!("abi/buffers/{name}/{target}/O{level}");
                trials.push(trial(name, move || buffers(&form, target, optimization)));
            }
            let with_images = target != "gfx942";
            for size in [DescriptorSize::Bytes16, DescriptorSize::Bytes32] {
                let bytes = size.bytes();
                if with_images && (is_nvptx(target) || size == DescriptorSize::Bytes32) {
                    let name = format!("abi/images/{bytes}/{target}/O{level}");
                    trials.push(trial(name, move || {
                        images::in_form(&sets(size), target, optimization)
                    }));
                }
                {
                    let name = format!("abi/texel_buffers/{bytes}/{target}/O{level}");
                    trials.push(trial(name, move || {
                        texel_buffers(&sets(size), target, optimization)
                    }));
                }
            }
        }
    }
    for (target, (level, optimization)) in TARGETS
        .into_iter()
        .flat_map(|target| LEVELS.map(|level| (target, level)))
    {
        let name = format!("abi/texel_buffers/own/{target}/O{level}");
        trials.push(trial(name, move || {
            texel_buffers(&own_texels(target), target, optimization)
        }));
    }
    for target in TARGETS {
        trials.push(trial(format!("abi/loads/{target}"), move || loads(target)));
    }
    trials.push(trial("abi/too_small_for_images".to_owned(), too_small));
    trials.push(trial("abi/reflection".to_owned(), reflection));
    trials.push(trial("abi/command_line".to_owned(), command_line));
    trials
}

fn sets(size: DescriptorSize) -> AbiForm {
    AbiForm::DescriptorSets(DescriptorSets {
        size,
        offsets: Vec::new(),
    })
}

/// The forms that [`BUFFERS`] is run in.
fn forms() -> Vec<(&'static str, AbiForm)> {
    let offset = |binding, offset| BindingOffset {
        set: 0,
        binding,
        offset,
    };
    let placed = DescriptorSets {
        size: DescriptorSize::Bytes16,
        offsets: vec![offset(0, 0x100), offset(1, 0x40), offset(5, 0)],
    };
    vec![
        ("16", sets(DescriptorSize::Bytes16)),
        ("32", sets(DescriptorSize::Bytes32)),
        ("offsets", AbiForm::DescriptorSets(placed)),
        ("own", AbiForm::Table(own())),
    ]
}

/// An interface of an embedder's own: a root table that leads to another one, a buffer that is an
/// argument, and an argument without use.
fn own() -> AbiTable {
    let at = |loads: &[u32], offset| {
        Some(DescriptorPlace {
            loads: loads.to_vec(),
            offset,
            length: Some(16),
        })
    };
    let reach = |set, binding, argument, descriptor| Reach {
        set,
        binding,
        argument,
        descriptor,
    };
    AbiTable {
        arguments: vec![TableArgument::default(); 3],
        bindings: vec![
            reach(0, 0, 1, at(&[], 8)),
            reach(0, 1, 1, at(&[40, 16], 48)),
            reach(0, 5, 1, at(&[40], 64)),
            reach(0, 9, 1, at(&[48], 0)),
            reach(1, 2, 2, None),
        ],
        stride: 24,
    }
}

/// Each invocation reads three values: from the buffer of an array with its number, and that
/// buffer's length; its own result through another variable of the same binding; and a buffer that
/// is only read.
const BUFFERS: &str = "\
OpCapability Shader
OpCapability ShaderNonUniform
OpCapability RuntimeDescriptorArray
OpCapability StorageBufferArrayNonUniformIndexing
OpExtension \"SPV_EXT_descriptor_indexing\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %index
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %constants Block
OpMemberDecorate %constants 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
OpDecorate %table DescriptorSet 0
OpDecorate %table Binding 1
OpDecorate %one_name DescriptorSet 0
OpDecorate %one_name Binding 5
OpDecorate %one_name Aliased
OpDecorate %other_name DescriptorSet 0
OpDecorate %other_name Binding 5
OpDecorate %other_name Aliased
OpDecorate %read DescriptorSet 1
OpDecorate %read Binding 2
OpDecorate %read NonWritable
OpDecorate %row NonUniform
OpDecorate %column NonUniform
OpDecorate %chosen NonUniform
OpDecorate %from_table NonUniform
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%three = OpConstant %uint 3
%thousand = OpConstant %uint 1000
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%constants = OpTypeStruct %uint
%pair = OpTypeArray %block %two
%pairs = OpTypeArray %pair %two
%pin = OpTypePointer Input %uint
%pword = OpTypePointer StorageBuffer %uint
%pblock = OpTypePointer StorageBuffer %block
%ppairs = OpTypePointer StorageBuffer %pairs
%pconstants = OpTypePointer PushConstant %constants
%pconstant = OpTypePointer PushConstant %uint
%index = OpVariable %pin Input
%out = OpVariable %pblock StorageBuffer
%table = OpVariable %ppairs StorageBuffer
%one_name = OpVariable %pblock StorageBuffer
%other_name = OpVariable %pblock StorageBuffer
%read = OpVariable %pblock StorageBuffer
%push = OpVariable %pconstants PushConstant
%main = OpFunction %void None %function
%entry = OpLabel
%i = OpLoad %uint %index
%half = OpShiftRightLogical %uint %i %one
%row = OpBitwiseAnd %uint %half %one
%column = OpBitwiseAnd %uint %i %one
%quarter = OpShiftRightLogical %uint %i %two
%chosen = OpAccessChain %pblock %table %row %column
%length = OpArrayLength %uint %chosen 0
%thousands = OpIMul %uint %length %thousand
%from_table = OpAccessChain %pword %table %row %column %zero %quarter
%a = OpLoad %uint %from_table
%tripled = OpIMul %uint %i %three
%place = OpAccessChain %pword %one_name %zero %i
OpStore %place %tripled
%same_place = OpAccessChain %pword %other_name %zero %i
%b = OpLoad %uint %same_place
%read_place = OpAccessChain %pword %read %zero %i
%c = OpLoad %uint %read_place
%push_place = OpAccessChain %pconstant %push %zero
%d = OpLoad %uint %push_place
%ab = OpIAdd %uint %a %b
%cd = OpIAdd %uint %c %d
%abcd = OpIAdd %uint %ab %cd
%sum = OpIAdd %uint %abcd %thousands
%out_place = OpAccessChain %pword %out %zero %i
OpStore %out_place %sum
OpReturn
OpFunctionEnd
";

/// So many words, computed by `word`.
fn words(count: u32, word: impl Fn(u32) -> u32) -> Vec<u8> {
    (0..count).flat_map(|i| word(i).to_le_bytes()).collect()
}

/// The launch of [`BUFFERS`]. The elements of the array have different lengths.
fn launch_of_buffers() -> Inputs {
    let mut buffers = vec![
        (BufferName::Binding(0, 0), vec![0; 256]),
        (BufferName::Binding(0, 5), vec![0; 256]),
        (BufferName::Binding(1, 2), words(64, |i| 7 * i)),
    ];
    for element in 0..4 {
        let bytes = words(16 + element, |i| (element << 16) + i);
        buffers.push((BufferName::Element(0, 1, element), bytes));
    }
    let mut inputs = Inputs::new([1, 1, 1], buffers);
    inputs.push = 1_000_000u32.to_le_bytes().to_vec();
    inputs
}

fn expected(i: u32) -> u32 {
    let element = i & 3;
    ((element << 16) + (i >> 2)) + 1000 * (16 + element) + 3 * i + 7 * i + 1_000_000
}

fn buffers(form: &AbiForm, target: &str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let output = compile_bytes(&assembled(BUFFERS)?, target, |options| {
        options.optimization = optimization;
        options.audit = true;
        options.abi = form.clone();
    })?;
    let job = Job::compiled(&output, 0)?;
    let inputs = launch_of_buffers();
    job.takes(&inputs)?;
    for index in 0..SCHEDULES {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        let out = outcome.buffers.first().context("no buffer")?;
        ensure!(*out == words(64, expected), "{schedule}: {out:?}");
    }
    Ok(())
}

/// An array of texel buffers: each invocation adds a texel of element 0 and one of an element whose
/// number is computed (1 for all of them).
const TEXELS: &str = "\
OpCapability Shader
OpCapability ImageBuffer
OpCapability ShaderNonUniform
OpCapability StorageTexelBufferArrayNonUniformIndexing
OpExtension \"SPV_EXT_descriptor_indexing\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %index
OpExecutionMode %main LocalSize 32 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %from DescriptorSet 0
OpDecorate %from Binding 1
OpDecorate %to DescriptorSet 0
OpDecorate %to Binding 4
OpDecorate %last_number NonUniform
OpDecorate %last_place NonUniform
OpDecorate %last NonUniform
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%four = OpTypeVector %uint 4
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%three = OpConstant %uint 3
%five = OpConstant %uint 5
%image = OpTypeImage %uint DimBuffer 0 0 0 2 R32ui
%images = OpTypeArray %image %three
%pin = OpTypePointer Input %uint
%pimage = OpTypePointer UniformConstant %image
%pimages = OpTypePointer UniformConstant %images
%index = OpVariable %pin Input
%from = OpVariable %pimages UniformConstant
%to = OpVariable %pimage UniformConstant
%main = OpFunction %void None %function
%entry = OpLabel
%i = OpLoad %uint %index
%first_place = OpAccessChain %pimage %from %zero
%first = OpLoad %image %first_place
%first_texel = OpImageRead %four %first %i
%above = OpShiftRightLogical %uint %i %five
%last_number = OpIAdd %uint %above %one
%last_place = OpAccessChain %pimage %from %last_number
%last = OpLoad %image %last_place
%last_texel = OpImageRead %four %last %i
%sum = OpIAdd %four %first_texel %last_texel
%result = OpLoad %image %to
OpImageWrite %result %i %sum
OpReturn
OpFunctionEnd
";

/// The descriptors of [`TEXELS`] without gaps, at an address in a root table.
fn own_texels(target: &str) -> AbiForm {
    let stride = if is_nvptx(target) { 8 } else { 16 };
    let reach = |binding, offset| Reach {
        set: 0,
        binding,
        argument: 0,
        descriptor: Some(DescriptorPlace {
            loads: vec![16],
            offset,
            length: None,
        }),
    };
    AbiForm::Table(AbiTable {
        arguments: vec![TableArgument::default()],
        bindings: vec![reach(1, 0), reach(4, 3 * stride)],
        stride,
    })
}

fn texel_buffers(form: &AbiForm, target: &str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let output = compile_bytes(&assembled(TEXELS)?, target, |options| {
        options.optimization = optimization;
        options.audit = true;
        options.abi = form.clone();
    })?;
    let mut job = Job::compiled(&output, 0)?;
    let places = [
        BufferName::Element(0, 1, 0),
        BufferName::Element(0, 1, 1),
        BufferName::Binding(0, 4),
    ];
    for place in places {
        let texels = Texels {
            format: Format::by_name("r32ui").context("no such format")?,
            extent: [32, 1, 1],
            is_buffer: true,
            levels: Default::default(),
        };
        job = job.with_image(place, texels);
    }
    let contents = [words(32, |i| i), words(32, |i| 100 * i), words(32, |_| 0)];
    let inputs = Inputs::new([1, 1, 1], places.into_iter().zip(contents).collect());
    job.takes(&inputs)?;
    for index in 0..SCHEDULES {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        let out = outcome.buffers.get(2).context("no buffer")?;
        ensure!(*out == words(32, |i| 101 * i), "{schedule}: {out:?}");
    }
    Ok(())
}

/// Each descriptor is read once, by loads that are invariant, scalar on AMD GPUs; nothing is
/// claimed of the buffers but their alignment.
fn loads(target: &str) -> Result<()> {
    let fixture = Fixture::load("stencil_halo")?;
    let output = compile_bytes(&fixture.module()?, target, |options| {
        options.abi = sets(DescriptorSize::Bytes32);
    })?;
    let ir = output.ir();
    let space = if is_nvptx(target) { 1 } else { 4 };
    let addresses = format!("load ptr addrspace(1), ptr addrspace({space})");
    let length = format!("load i32, ptr addrspace({space})");
    let lines = |what: &str| -> Vec<&str> {
        let all = ir.lines().filter(|line| line.contains(what));
        all.filter(|line| line.contains("!invariant.load"))
            .collect()
    };
    let (addresses, lengths) = (lines(&addresses), lines(&length));
    ensure!((addresses.len(), lengths.len()) == (2, 1), "{ir}");
    ensure!(addresses.iter().all(|line| line.contains("!align")), "{ir}");
    let mut all = addresses.iter().chain(&lengths);
    ensure!(all.all(|line| line.contains("!noundef")), "{ir}");
    ensure!(!ir.contains("noalias"), "{ir}");
    let assembly = output.assembly()?;
    if is_nvptx(target) {
        ensure!(assembly.matches("ld.global.nc").count() == 3, "{assembly}");
    } else {
        // The kernel's own loads have 32 bits each; an address has 64.
        let vector = ["global_load_b64", "global_load_dwordx2", "flat_load"];
        ensure!(
            !vector.iter().any(|load| assembly.contains(load)),
            "{assembly}"
        );
        ensure!(assembly.matches("s_load").count() >= 4, "{assembly}");
    }
    Ok(())
}

/// An image of an AMD GPU needs 32 bytes.
fn too_small() -> Result<()> {
    let refused = |target, size| -> Result<bool> {
        let mut options = always_split(target)?;
        options.abi = sets(size);
        let module = assembled(&images::a_module())?;
        Ok(match splitbar::Compiler::new(&options).compile(&module) {
            Ok(_) => false,
            Err(failure) => failure.to_string().contains("SB0313"),
        })
    };
    ensure!(refused("gfx1201", DescriptorSize::Bytes16)?);
    ensure!(!refused("gfx1201", DescriptorSize::Bytes32)?);
    ensure!(!refused("sm_90", DescriptorSize::Bytes16)?);
    Ok(())
}

/// The reflection has the data that a host needs to write the sets.
fn reflection() -> Result<()> {
    let output = compile_bytes(&assembled(BUFFERS)?, "sm_90", |options| {
        options.abi = sets(DescriptorSize::Bytes16);
    })?;
    let all: serde_json::Value = serde_json::from_str(&output.reflect())?;
    let kernel = &all[0];
    let resource = |set, binding, count, argument, offset| {
        serde_json::json!({
            "set": set, "binding": binding, "kind": "buffer", "count": count,
            "argument": argument,
            "descriptor": {"loads": [], "offset": offset, "length": 8},
        })
    };
    let abi = serde_json::json!({
        "form": "descriptor-sets",
        "descriptor_bytes": 16,
        "resources": [
            resource(0, 0, 1, 0, 0),
            resource(0, 1, 4, 0, 16),
            resource(0, 5, 1, 0, 80),
            resource(1, 2, 1, 1, 32),
        ],
    });
    ensure!(kernel["abi"] == abi, "{:#}", kernel["abi"]);
    let argument = |index, kind, set: Option<u32>, size, offset| {
        serde_json::json!({
            "index": index, "kind": kind, "set": set, "binding": null, "size": size,
            "offset": offset, "align": size, "pointee_align": set.and(Some(8)),
        })
    };
    let arguments = serde_json::json!([
        argument(0, "table", Some(0), 8, 0),
        argument(1, "table", Some(1), 8, 8),
        argument(2, "push_constant", None, 4, 16),
    ]);
    ensure!(
        kernel["arguments"] == arguments,
        "{:#}",
        kernel["arguments"]
    );
    Ok(())
}

/// `splitbar sim` fills the sets from its buffers.
fn command_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (module, out) = (folder.path().join("k.spv"), folder.path().join("out.bin"));
    std::fs::write(&module, assembled(BUFFERS)?)?;
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let dump = format!("0:0={}", path(&out));
    let launched = format!(
        "sim {} --target sm_90 --abi descriptor-sets:16 --groups 1,1,1 --push 00000000 --dump {dump}",
        path(&module)
    );
    let mut arguments: Vec<&str> = launched.split(' ').collect();
    for buffer in [
        "0:0=zeros:256",
        "0:5=zeros:256",
        "1:2=seq:u32:64",
        "0:1:0=seq:u32:16",
        "0:1:1=seq:u32:16",
        "0:1:2=seq:u32:16",
        "0:1:3=seq:u32:16",
    ] {
        arguments.extend(["--buffer", buffer]);
    }
    let ran = run(&arguments, &[], true)?;
    ensure!(ran.code == Some(0), "{}", ran.stderr);
    let wanted = words(64, |i| (i >> 2) + 16_000 + 3 * i + i);
    ensure!(std::fs::read(&out)? == wanted);
    Ok(())
}
