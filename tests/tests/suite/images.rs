//! Storage images and texel buffers on the simulator: compiled kernels have the results of the
//! host.

use crate::support::{
    all_ptxas, assembled, assembles, compile_bytes, is_nvptx, linkable, run, told, trial,
};
use anyhow::{Context, Result, bail, ensure};
use half::f16;
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::machine::image::Format;
use splitbar::simulate::{BufferName, Inputs, Job, Texels};
use splitbar::{AbiForm, Optimization};

/// AMD GPUs that have image instructions, one of each generation (code for gfx9 does not say the
/// shape of its images), and NVIDIA's.
const AMD: [&str; 4] = ["gfx1030", "gfx1100", "gfx1200", "gfx1201"];
const NVIDIA: [&str; 3] = ["sm_60", "sm_80", "sm_90"];

/// A kernel with images, its launch, and its results.
struct Case {
    module: String,
    groups: [u32; 3],
    /// In the order of the bindings: format, extent, true for a texel buffer, bytes before.
    images: Vec<(&'static str, [u32; 3], bool, Vec<u8>)>,
    /// The bytes afterwards of those that are written, by binding.
    after: Vec<(usize, Vec<u8>)>,
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let both = AMD.into_iter().chain(NVIDIA);
    let reads = both.map(|target| ("reads", read_kernel as fn() -> Case, target));
    // PTX has no atomic operations with a result.
    let writes = AMD.map(|target| ("writes", write_kernel as fn() -> Case, target));
    let stores = NVIDIA
        .into_iter()
        .map(|target| ("stores", store_kernel as fn() -> Case, target));
    for (name, case, target) in reads.chain(writes).chain(stores) {
        for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
            let name = format!("sim_images/{name}/{target}/O{level}");
            trials.push(trial(name, move || agrees(&case(), target, optimization)));
        }
    }
    for target in NVIDIA {
        trials.push(trial(format!("sim_images/queries/{target}"), move || {
            queries(target)
        }));
    }
    for target in AMD.into_iter().chain(NVIDIA) {
        for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
            for (shape, extent) in EDGES {
                let name = format!("sim_images/edges/{shape}/{target}/O{level}");
                trials.push(trial(name, move || {
                    agrees(&edges(shape, extent, ""), target, optimization)
                }));
                if is_nvptx(target) {
                    continue;
                }
                let name = format!("sim_images/atomic_edges/{shape}/{target}/O{level}");
                trials.push(trial(name, move || {
                    agrees(&edges(shape, extent, "atomic"), target, optimization)
                }));
            }
        }
    }
    for target in NVIDIA {
        let name = format!("sim_images/ptxas/{target}");
        trials.push(trial(name, move || taken_by_ptxas(target)));
    }
    trials.push(trial("sim_images/trap".to_owned(), trap));
    trials.push(trial("sim_images/refusals".to_owned(), refusals));
    trials.push(trial("sim_images/command_line".to_owned(), command_line));
    trials
}

/// Checks the results of the kernels that the target has instructions for, with images passed in
/// this form.
pub(crate) fn in_form(form: &AbiForm, target: &str, optimization: Optimization) -> Result<()> {
    let cases = if is_nvptx(target) {
        [read_kernel(), store_kernel()]
    } else {
        [read_kernel(), write_kernel()]
    };
    cases
        .iter()
        .try_for_each(|case| agrees_in(form, case, target, optimization))
}

/// A module with images and a texel buffer, as text.
pub(crate) fn a_module() -> String {
    read_kernel().module
}

fn job(case: &Case, target: &str, optimization: Optimization) -> Result<(Job, Inputs)> {
    job_in(&AbiForm::Arguments, case, target, optimization)
}

fn job_in(
    form: &AbiForm,
    case: &Case,
    target: &str,
    optimization: Optimization,
) -> Result<(Job, Inputs)> {
    let module = assembled(&case.module)?;
    let output = compile_bytes(&module, target, |options| {
        options.optimization = optimization;
        options.abi.clone_from(form);
    })?;
    let inputs = Inputs::new(
        case.groups,
        (0..)
            .zip(&case.images)
            .map(|(binding, image)| (BufferName::Binding(0, binding), image.3.clone()))
            .collect(),
    );
    Ok((Job::compiled(&output, 0)?, inputs))
}

fn agrees(case: &Case, target: &str, optimization: Optimization) -> Result<()> {
    agrees_in(&AbiForm::Arguments, case, target, optimization)
}

fn agrees_in(form: &AbiForm, case: &Case, target: &str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let (mut job, inputs) = job_in(form, case, target, optimization)?;
    for (binding, (format, extent, is_buffer, _)) in (0..).zip(&case.images) {
        let texels = Texels {
            format: Format::by_name(format).context("no such format")?,
            extent: *extent,
            is_buffer: *is_buffer,
            levels: Default::default(),
        };
        job = job.with_image(BufferName::Binding(0, binding), texels);
    }
    for index in 0..8 {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        for (binding, want) in &case.after {
            let got = outcome.buffers.get(*binding).context("no buffer")?;
            let differs = got.iter().zip(want).position(|(a, b)| a != b);
            ensure!(
                got == want,
                "{schedule}: binding {binding} differs from byte {differs:?} on"
            );
        }
    }
    Ok(())
}

/// An image without an extent, or with a buffer that is too small for it, is refused.
fn refusals() -> Result<()> {
    let case = read_kernel();
    let (job, inputs) = job(&case, "sm_80", Optimization::O0)?;
    let said = |job: &Job| match job.run(&inputs, Schedule::nth(0, 1)) {
        Ok(_) => String::new(),
        Err(refusal) => refusal.to_string(),
    };
    ensure!(said(&job).contains("0:0 is an image"), "{}", said(&job));
    let texels = Texels {
        format: Format::by_name("rgba32f").context("no such format")?,
        extent: [99, 99, 1],
        is_buffer: false,
        levels: Default::default(),
    };
    let job = job.with_image(BufferName::Binding(0, 0), texels);
    ensure!(said(&job).contains("too few"), "{}", said(&job));
    Ok(())
}

/// `--image` declares that a buffer is an image; anything that is not a format or an extent is
/// wrong usage.
fn command_line() -> Result<()> {
    let module = assembled(READS)?;
    let run = |first: &str| {
        let arguments = [
            &["sim", "-", "--target", "sm_80", "--groups", "1,1,1"][..],
            &["--buffer", "0:0=zeros:512", "--image", first],
            &["--buffer", "0:1=zeros:512", "--image", "0:1=r32f:16x8"],
            &[
                "--buffer",
                "0:2=seq:u32:16",
                "--image",
                "0:2=r32ui:buffer:16",
            ],
        ];
        run(&arguments.concat(), &module, true)
    };
    let ran = run("0:0=rgba8:16x8")?;
    ensure!(ran.code == Some(0), "{}", ran.stderr);
    for wrong in [
        "0:0=rgba9:16x8",
        "0:0=rgba8:16x",
        "0:0=rgba8:buffer:16x8",
        "0:0=rgba8",
    ] {
        let ran = run(wrong)?;
        ensure!(
            ran.code == Some(2),
            "{wrong}: {:?} {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

/// Invocations of the launch of [`READS`].
const WIDTH: u32 = 16;
const HEIGHT: u32 = 8;

/// Each texel of an `rgba8` image to an `r32f` image: red, twice the alpha, a number of a table,
/// the width.
fn read_kernel() -> Case {
    let texels = WIDTH * HEIGHT;
    let source: Vec<u8> = (0..4 * texels).map(|n| (n * 37 % 251) as u8).collect();
    let table: Vec<u32> = (0..WIDTH).map(|n| n * n + 1).collect();
    let part = |byte: u8| f32::from(byte) / 255.0;
    let after = (0..texels).flat_map(|n| {
        let texel = &source[4 * n as usize..];
        let number = table[(n % WIDTH) as usize] as f32;
        let value = part(texel[0]) + 2.0 * part(texel[3]) + number + WIDTH as f32;
        value.to_le_bytes()
    });
    let after: Vec<u8> = after.collect();
    Case {
        module: READS.to_owned(),
        groups: [WIDTH / 8, HEIGHT / 4, 1],
        images: vec![
            ("rgba8", [WIDTH, HEIGHT, 1], false, source.clone()),
            ("r32f", [WIDTH, HEIGHT, 1], false, vec![0; after.len()]),
            ("r32ui", [WIDTH, 1, 1], true, words(&table)),
        ],
        after: vec![(0, source), (1, after)],
    }
}

/// Sums in an `r32ui` image by atomic additions, an `rgba16f` texel buffer, and a layer of an
/// `rg32i` image from another one, with its components exchanged.
fn write_kernel() -> Case {
    let invocations = 64u32;
    let mut bins = [0u32; 8];
    for i in 0..invocations {
        bins[(i % 4 + 4 * (i % 2)) as usize] += i;
    }
    let halves = (0..invocations).flat_map(|i| {
        // Half precision has no 70000.
        let texel = [i as f32, i as f32 * 0.5, -1.0, f32::INFINITY];
        texel.map(|value| f16::from_f32(value).to_le_bytes())
    });
    let halves: Vec<u8> = halves.flatten().collect();
    let first: Vec<u32> = (0..128).map(|n| n * 3).collect();
    let second = first.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]);
    let layers = [words(&first), words(&second.collect::<Vec<_>>())].concat();
    let before = [words(&first), vec![0; 512]].concat();
    Case {
        module: WRITES.to_owned(),
        groups: [invocations / 64, 1, 1],
        images: vec![
            ("r32ui", [4, 2, 1], false, vec![0; 32]),
            ("rgba16f", [invocations, 1, 1], true, vec![0; halves.len()]),
            ("rg32i", [8, 8, 2], false, before),
        ],
        after: vec![(0, words(&bins)), (1, halves), (2, layers)],
    }
}

/// As [`write_kernel`], for the sums, whose image is only read.
fn store_kernel() -> Case {
    let case = write_kernel();
    let [sums, buffer, layers] = case
        .after
        .try_into()
        .unwrap_or_else(|_| panic!("three images"));
    Case {
        module: WRITES
            .replace(
                "%32 = OpImageTexelPointer %31 %20 %28 %13",
                "%32 = OpLoad %18 %20",
            )
            .replace(
                "%34 = OpAtomicIAdd %9 %32 %33 %13 %30",
                "%34 = OpImageRead %10 %32 %28",
            ),
        after: vec![(sums.0, vec![0; sums.1.len()]), buffer, layers],
        ..case
    }
}

/// Every ptxas that supports the GPU accepts the code of reads and stores, for each shape.
fn taken_by_ptxas(target: &str) -> Result<()> {
    let tools = all_ptxas(target)?;
    let edges = EDGES.map(|(shape, extent)| edges(shape, extent, ""));
    let mut stores = 0;
    for case in [read_kernel(), store_kernel()].iter().chain(&edges) {
        let output = compile_bytes(&assembled(&case.module)?, target, |_| {})?;
        let text = told(output.assembly())?;
        stores += text.matches("sust.p").count();
        for tool in &tools {
            assembles(tool, &text, target)?;
        }
    }
    ensure!(stores > edges.len(), "only {stores} stores");
    Ok(())
}

/// Foreign code may trap at a store outside: that is a finding.
fn trap() -> Result<()> {
    let case = edges("Dim2D 0 0", [12, 12, 1], "");
    let output = compile_bytes(&assembled(&case.module)?, "sm_80", |_| {})?;
    let text = output
        .assembly()
        .map_err(|problems| anyhow::anyhow!("{problems}"))?;
    let trapping = text.replace(".b32.zero", ".b32.trap");
    ensure!(trapping != text && !text.contains("trap"), "{text}");
    for (text, wanted) in [(&text, 0), (&trapping, 1)] {
        let (job, inputs) = job(&case, "sm_80", Optimization::O2)?;
        let mut job = job.with_ptx(text, "main")?;
        for (binding, (format, extent, is_buffer, _)) in (0..).zip(&case.images) {
            let texels = Texels {
                format: Format::by_name(format).context("no such format")?,
                extent: *extent,
                is_buffer: *is_buffer,
                levels: Default::default(),
            };
            job = job.with_image(BufferName::Binding(0, binding), texels);
        }
        let outcome = job.run(&inputs, Schedule::nth(0, 1))?;
        let found = outcome.report.findings.len().min(1);
        ensure!(found == wanted, "{:?}", outcome.report.findings);
    }
    Ok(())
}

/// Images whose edges are looked at: shape, extent.
const EDGES: [(&str, [u32; 3]); 5] = [
    ("Dim1D 0 0", [7, 1, 1]),
    ("Dim2D 0 0", [12, 12, 1]),
    ("Dim3D 0 0", [5, 4, 3]),
    ("Dim2D 0 1", [5, 4, 3]),
    ("DimBuffer 0 0", [7, 1, 1]),
];

/// Coordinates at the edges of an extent, and far outside, where a number of bytes would wrap.
fn edge_values(extent: u32) -> Vec<u32> {
    vec![
        0,
        extent - 1,
        extent,
        u32::MAX,
        1 << 30,
        i32::MAX as u32,
        1 << 31,
    ]
}

/// Every combination of coordinates at the edges: each invocation stores the value of its texel,
/// and then writes the texel, or adds to it. Outside the image, reads return 0 and other operations
/// have no effect (Vulkan, "Robust Image Access"; undefined in OpenCL).
fn edges(shape: &'static str, extent: [u32; 3], how: &str) -> Case {
    let along = |direction: usize| match extent[direction] {
        1 => vec![0],
        extent => edge_values(extent),
    };
    let mut coordinates = Vec::new();
    for z in along(2) {
        for y in along(1) {
            coordinates.extend(along(0).into_iter().map(|x| [x, y, z, 0]));
        }
    }
    let [width, height, _] = extent;
    let mut texels: Vec<u32> = (0..extent.iter().product()).map(|n| n * 5 + 1).collect();
    let before = words(&texels);
    let mut seen = Vec::new();
    for (at, number) in coordinates.iter().zip(1000u32..) {
        let inside = at.iter().zip(extent).all(|(at, extent)| *at < extent);
        if !inside {
            seen.push(0);
            continue;
        }
        let texel = &mut texels[((at[2] * height + at[1]) * width + at[0]) as usize];
        seen.push(*texel);
        *texel = match how {
            "atomic" => *texel + number,
            _ => number,
        };
    }
    let count = coordinates.len() as u32;
    let dimensions = match shape.split(' ').next() {
        Some("Dim1D" | "DimBuffer") => 1,
        Some("Dim2D") if shape.ends_with('0') => 2,
        _ => 3,
    };
    let module = EDGE
        .replace("SHAPE", shape)
        .replace(
            "COORDINATES",
            match dimensions {
                1 => "%place = OpCompositeExtract %int %all 0",
                2 => "%place = OpVectorShuffle %int2 %all %all 0 1",
                _ => "%place = OpVectorShuffle %int3 %all %all 0 1 2",
            },
        )
        .replace(
            "ACCESS",
            match how {
                "atomic" => {
                    "%pointer = OpImageTexelPointer %to_texel %image %place %u0
                    %value = OpAtomicIAdd %uint %pointer %u1 %u0 %number"
                }
                _ => {
                    "%whole = OpLoad %image_type %image
                    %texel = OpImageRead %uint4 %whole %place
                    %value = OpCompositeExtract %uint %texel 0
                    %new = OpCompositeConstruct %uint4 %number %u0 %u0 %u0
                    OpImageWrite %whole %place %new"
                }
            },
        );
    let after = words(&texels);
    Case {
        module,
        groups: [count, 1, 1],
        images: vec![
            ("r32ui", extent, shape.starts_with("DimBuffer"), before),
            (
                "rgba32i",
                [count, 1, 1],
                true,
                words(coordinates.as_flattened()),
            ),
            ("r32ui", [count, 1, 1], true, vec![0; 4 * count as usize]),
        ],
        after: vec![(0, after), (2, words(&seen))],
    }
}

const EDGE: &str = "\
OpCapability Shader
OpCapability Sampled1D
OpCapability Image1D
OpCapability ImageBuffer
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %group_id
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %group_id BuiltIn WorkgroupId
OpDecorate %image DescriptorSet 0
OpDecorate %image Binding 0
OpDecorate %places DescriptorSet 0
OpDecorate %places Binding 1
OpDecorate %places NonWritable
OpDecorate %seen DescriptorSet 0
OpDecorate %seen Binding 2
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%int = OpTypeInt 32 1
%int2 = OpTypeVector %int 2
%int3 = OpTypeVector %int 3
%int4 = OpTypeVector %int 4
%uint3 = OpTypeVector %uint 3
%uint4 = OpTypeVector %uint 4
%to_uint3 = OpTypePointer Input %uint3
%group_id = OpVariable %to_uint3 Input
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u1000 = OpConstant %uint 1000
%image_type = OpTypeImage %uint SHAPE 0 2 R32ui
%places_type = OpTypeImage %int DimBuffer 0 0 0 2 Rgba32i
%seen_type = OpTypeImage %uint DimBuffer 0 0 0 2 R32ui
%to_image = OpTypePointer UniformConstant %image_type
%to_places = OpTypePointer UniformConstant %places_type
%to_seen = OpTypePointer UniformConstant %seen_type
%to_texel = OpTypePointer Image %uint
%image = OpVariable %to_image UniformConstant
%places = OpVariable %to_places UniformConstant
%seen = OpVariable %to_seen UniformConstant
%main = OpFunction %void None %fn
%start = OpLabel
%id = OpLoad %uint3 %group_id
%x = OpCompositeExtract %uint %id 0
%number = OpIAdd %uint %x %u1000
%list = OpLoad %places_type %places
%all = OpImageRead %int4 %list %x
COORDINATES
ACCESS
%out = OpLoad %seen_type %seen
%result = OpCompositeConstruct %uint4 %value %u0 %u0 %u0
OpImageWrite %out %x %result
OpReturn
OpFunctionEnd
";

/// The channel types and orders of an image that is written and one that is read, as SPIR-V numbers
/// them (3.12, 3.13).
fn queries(target: &str) -> Result<()> {
    let output = compile_bytes(&assembled(QUERIES)?, target, |_| {})?;
    let inputs = Inputs::new(
        [1, 1, 1],
        (0..3)
            .map(|index| (BufferName::Argument(index), vec![0; 16]))
            .collect(),
    );
    for (format, channels, order) in [
        ("rgba8_snorm", 0, 5),
        ("r16_snorm", 1, 0),
        ("rg8", 2, 2),
        ("rgba16", 3, 5),
        ("r8i", 7, 0),
        ("rgba32i", 9, 5),
        ("rg8ui", 10, 2),
        ("r32ui", 12, 0),
        ("rg16f", 13, 2),
        ("rgba32f", 14, 5),
    ] {
        let texels = |format| Texels {
            format,
            extent: [1, 1, 1],
            is_buffer: false,
            levels: Default::default(),
        };
        let format_of = |name: &str| Format::by_name(name).context("no such format");
        let job = Job::compiled(&output, 0)?
            .with_image(BufferName::Argument(0), texels(format_of(format)?))
            .with_image(BufferName::Argument(1), texels(format_of("r32f")?));
        let outcome = job.run(&inputs, Schedule::nth(0, 1))?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{finding}");
        }
        let want = words(&[channels, order, 14, 0]);
        ensure!(
            outcome.buffers[2] == want,
            "{format}: {:?}",
            outcome.buffers[2]
        );
    }
    Ok(())
}

const QUERIES: &str = "\
OpCapability Kernel
OpCapability Addresses
OpCapability ImageBasic
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%v4uint = OpTypeVector %uint 4
%written = OpTypeImage %void Dim2D 0 0 0 0 Unknown WriteOnly
%read = OpTypeImage %void Dim2D 0 0 0 0 Unknown ReadOnly
%pointer = OpTypePointer CrossWorkgroup %v4uint
%kernel = OpTypeFunction %void %written %read %pointer
%main = OpFunction %void None %kernel
%first = OpFunctionParameter %written
%second = OpFunctionParameter %read
%out = OpFunctionParameter %pointer
%start = OpLabel
%first_format = OpImageQueryFormat %uint %first
%first_order = OpImageQueryOrder %uint %first
%second_format = OpImageQueryFormat %uint %second
%second_order = OpImageQueryOrder %uint %second
%all = OpCompositeConstruct %v4uint %first_format %first_order %second_format %second_order
OpStore %out %all Aligned 16
OpReturn
OpFunctionEnd
";

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

const READS: &str = "\
OpCapability Shader
OpCapability SampledBuffer
OpCapability ImageQuery
%1 = OpExtInstImport \"GLSL.std.450\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %4 \"main\" %13
OpExecutionMode %4 LocalSize 8 4 1
OpDecorate %13 BuiltIn GlobalInvocationId
OpDecorate %24 DescriptorSet 0
OpDecorate %24 Binding 0
OpDecorate %24 NonWritable
OpDecorate %33 DescriptorSet 0
OpDecorate %33 Binding 2
OpDecorate %45 DescriptorSet 0
OpDecorate %45 Binding 1
OpDecorate %45 NonReadable
OpDecorate %69 BuiltIn WorkgroupSize
%2 = OpTypeVoid
%3 = OpTypeFunction %2
%6 = OpTypeInt 32 1
%7 = OpTypeVector %6 2
%10 = OpTypeInt 32 0
%11 = OpTypeVector %10 3
%12 = OpTypePointer Input %11
%13 = OpVariable %12 Input
%14 = OpTypeVector %10 2
%18 = OpTypeFloat 32
%19 = OpTypeVector %18 4
%22 = OpTypeImage %18 Dim2D 0 0 0 2 Rgba8
%23 = OpTypePointer UniformConstant %22
%24 = OpVariable %23 UniformConstant
%30 = OpTypeImage %10 DimBuffer 0 0 0 1 Unknown
%31 = OpTypeSampledImage %30
%32 = OpTypePointer UniformConstant %31
%33 = OpVariable %32 UniformConstant
%40 = OpTypeVector %10 4
%43 = OpTypeImage %18 Dim2D 0 0 0 2 R32f
%44 = OpTypePointer UniformConstant %43
%45 = OpVariable %44 UniformConstant
%51 = OpConstant %18 2
%66 = OpConstant %10 8
%67 = OpConstant %10 4
%68 = OpConstant %10 1
%69 = OpConstantComposite %11 %66 %67 %68
%4 = OpFunction %2 None %3
%5 = OpLabel
%15 = OpLoad %11 %13
%16 = OpVectorShuffle %14 %15 %15 0 1
%17 = OpBitcast %7 %16
%25 = OpLoad %22 %24
%27 = OpImageRead %19 %25 %17
%34 = OpLoad %31 %33
%38 = OpCompositeExtract %6 %17 0
%39 = OpImage %30 %34
%41 = OpImageFetch %40 %39 %38
%42 = OpCompositeExtract %10 %41 0
%46 = OpLoad %43 %45
%50 = OpCompositeExtract %18 %27 0
%54 = OpCompositeExtract %18 %27 3
%55 = OpFMul %18 %51 %54
%56 = OpFAdd %18 %50 %55
%58 = OpConvertUToF %18 %42
%59 = OpFAdd %18 %56 %58
%60 = OpLoad %22 %24
%61 = OpImageQuerySize %7 %60
%62 = OpCompositeExtract %6 %61 0
%63 = OpConvertSToF %18 %62
%64 = OpFAdd %18 %59 %63
%65 = OpCompositeConstruct %19 %64 %64 %64 %64
OpImageWrite %46 %17 %65
OpReturn
OpFunctionEnd
";

const WRITES: &str = "\
OpCapability Shader
OpCapability ImageBuffer
OpCapability StorageImageExtendedFormats
%1 = OpExtInstImport \"GLSL.std.450\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %4 \"main\" %12
OpExecutionMode %4 LocalSize 64 1 1
OpDecorate %12 BuiltIn GlobalInvocationId
OpDecorate %20 DescriptorSet 0
OpDecorate %20 Binding 0
OpDecorate %38 DescriptorSet 0
OpDecorate %38 Binding 1
OpDecorate %38 NonReadable
OpDecorate %56 DescriptorSet 0
OpDecorate %56 Binding 2
OpDecorate %82 BuiltIn WorkgroupSize
%2 = OpTypeVoid
%3 = OpTypeFunction %2
%6 = OpTypeInt 32 1
%9 = OpTypeInt 32 0
%10 = OpTypeVector %9 3
%11 = OpTypePointer Input %10
%12 = OpVariable %11 Input
%13 = OpConstant %9 0
%14 = OpTypePointer Input %9
%18 = OpTypeImage %9 Dim2D 0 0 0 2 R32ui
%19 = OpTypePointer UniformConstant %18
%20 = OpVariable %19 UniformConstant
%22 = OpConstant %6 4
%25 = OpConstant %6 2
%27 = OpTypeVector %6 2
%31 = OpTypePointer Image %9
%33 = OpConstant %9 1
%35 = OpTypeFloat 32
%36 = OpTypeImage %35 DimBuffer 0 0 0 2 Rgba16f
%37 = OpTypePointer UniformConstant %36
%38 = OpVariable %37 UniformConstant
%45 = OpConstant %35 0.5
%47 = OpConstant %35 -1
%48 = OpConstant %35 70000
%49 = OpTypeVector %35 4
%51 = OpTypeVector %6 4
%54 = OpTypeImage %6 Dim2D 0 1 0 2 Rg32i
%55 = OpTypePointer UniformConstant %54
%56 = OpVariable %55 UniformConstant
%59 = OpConstant %6 8
%64 = OpConstant %6 0
%65 = OpTypeVector %6 3
%74 = OpConstant %6 1
%81 = OpConstant %9 64
%82 = OpConstantComposite %10 %81 %33 %33
%4 = OpFunction %2 None %3
%5 = OpLabel
%15 = OpAccessChain %14 %12 %13
%16 = OpLoad %9 %15
%17 = OpBitcast %6 %16
%23 = OpSMod %6 %17 %22
%26 = OpSMod %6 %17 %25
%28 = OpCompositeConstruct %27 %23 %26
%30 = OpBitcast %9 %17
%32 = OpImageTexelPointer %31 %20 %28 %13
%34 = OpAtomicIAdd %9 %32 %33 %13 %30
%39 = OpLoad %36 %38
%42 = OpConvertSToF %35 %17
%46 = OpFMul %35 %42 %45
%50 = OpCompositeConstruct %49 %42 %46 %47 %48
OpImageWrite %39 %17 %50
%57 = OpLoad %54 %56
%60 = OpSMod %6 %17 %59
%62 = OpSDiv %6 %17 %59
%63 = OpSMod %6 %62 %59
%66 = OpCompositeConstruct %65 %60 %63 %64
%67 = OpImageRead %51 %57 %66
%68 = OpLoad %54 %56
%75 = OpCompositeConstruct %65 %60 %63 %74
%77 = OpCompositeExtract %6 %67 1
%79 = OpCompositeExtract %6 %67 0
%80 = OpCompositeConstruct %51 %77 %79 %64 %64
OpImageWrite %68 %75 %80
OpReturn
OpFunctionEnd
";
