//! Images with samplers on the simulator: samples and gathers of compiled kernels have the results
//! of the host.

use crate::support::{
    all_ptxas, assembled, assembles, compile_bytes, is_nvptx, linkable, run, told, trial,
};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::Optimization;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::machine::image::Format;
use splitbar::simulate::machine::sampler::Sampler;
use splitbar::simulate::{BufferName, Inputs, Job, Texels};

/// AMD GPUs whose image instructions are simulated, one of each generation, and NVIDIA's.
const TARGETS: [&str; 6] = ["gfx1030", "gfx1100", "gfx1200", "gfx1201", "sm_75", "sm_90"];

/// Invocations of the launch.
const LANES: usize = 64;

/// An image by its shape.
struct Shape {
    name: &'static str,
    /// Dim, depth, arrayed, multisampled of OpTypeImage.
    image: &'static str,
    extent: [u32; 3],
    /// Directions that are filtered.
    directions: usize,
    layered: bool,
}

#[rustfmt::skip]
const SHAPES: [Shape; 5] = [
    Shape { name: "line", image: "Dim1D 0 0 0", extent: [8, 1, 1], directions: 1, layered: false },
    Shape { name: "plane", image: "Dim2D 0 0 0", extent: [8, 4, 1], directions: 2, layered: false },
    Shape { name: "volume", image: "Dim3D 0 0 0", extent: [4, 8, 2], directions: 3, layered: false },
    Shape { name: "lines", image: "Dim1D 0 1 0", extent: [8, 3, 1], directions: 1, layered: true },
    Shape { name: "planes", image: "Dim2D 0 1 0", extent: [4, 8, 3], directions: 2, layered: true },
];

const FILTERS: [&str; 2] = ["nearest", "linear"];
const OUTSIDE: [&str; 4] = ["repeat", "mirror", "edge", "border"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in TARGETS {
        for shape in &SHAPES {
            for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
                let name = format!("samplers/{}/{target}/O{level}", shape.name);
                trials.push(trial(name, move || agrees(shape, target, optimization)));
            }
        }
        if is_nvptx(target) {
            trials.push(trial(format!("samplers/ptxas/{target}"), move || {
                taken_by_ptxas(target)
            }));
        }
    }
    trials.push(trial("samplers/command_line".to_owned(), command_line));
    trials
}

impl Shape {
    fn coordinates(&self) -> usize {
        self.directions + usize::from(self.layered)
    }

    /// Returns true if both vendors gather from it.
    fn gathers(&self) -> bool {
        self.name == "plane"
    }

    fn module(&self) -> String {
        let count = self.coordinates();
        let image = self.image;
        let (place, vector) = match count {
            1 => ("float", String::new()),
            _ => ("place", format!("%place = OpTypeVector %float {count}")),
        };
        let mut body = "%base = OpIMul %uint %x %three\n".to_owned();
        for number in 0..count {
            body += &format!(
                "%at{number} = OpIAdd %uint %base %n{number}
%to{number} = OpAccessChain %to_float %places %zero %at{number}
%p{number} = OpLoad %float %to{number}\n"
            );
        }
        let list: String = (0..count).map(|number| format!(" %p{number}")).collect();
        body += &match count {
            1 => "%where = OpCopyObject %float %p0\n".to_owned(),
            _ => format!("%where = OpCompositeConstruct %place{list}\n"),
        };
        let gather = if self.gathers() {
            "%gathered = OpImageGather %vec4 %loaded %where %n2"
        } else {
            "%gathered = OpCopyObject %vec4 %sampled"
        };
        format!(
            "OpCapability Shader
OpCapability Sampled1D
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %id
OpExecutionMode %main LocalSize {LANES} 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %image DescriptorSet 0
OpDecorate %image Binding 0
OpDecorate %places DescriptorSet 0
OpDecorate %places Binding 1
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 2
OpDecorate %floats ArrayStride 4
OpDecorate %vectors ArrayStride 16
OpDecorate %numbers Block
OpMemberDecorate %numbers 0 Offset 0
OpDecorate %results Block
OpMemberDecorate %results 0 Offset 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%uint3 = OpTypeVector %uint 3
%vec4 = OpTypeVector %float 4
{vector}
%zero = OpConstant %uint 0
%three = OpConstant %uint 3
%two = OpConstant %uint 2
%n0 = OpConstant %uint 0
%n1 = OpConstant %uint 1
%n2 = OpConstant %uint 2
%level = OpConstant %float 0
%to_uint3 = OpTypePointer Input %uint3
%id = OpVariable %to_uint3 Input
%floats = OpTypeRuntimeArray %float
%numbers = OpTypeStruct %floats
%to_numbers = OpTypePointer StorageBuffer %numbers
%to_float = OpTypePointer StorageBuffer %float
%places = OpVariable %to_numbers StorageBuffer
%vectors = OpTypeRuntimeArray %vec4
%results = OpTypeStruct %vectors
%to_results = OpTypePointer StorageBuffer %results
%to_vec4 = OpTypePointer StorageBuffer %vec4
%out = OpVariable %to_results StorageBuffer
%image_type = OpTypeImage %float {image} 1 Unknown
%combined = OpTypeSampledImage %image_type
%to_combined = OpTypePointer UniformConstant %combined
%image = OpVariable %to_combined UniformConstant
%main = OpFunction %void None %function
%start = OpLabel
%ids = OpLoad %uint3 %id
%x = OpCompositeExtract %uint %ids 0
{body}%loaded = OpLoad %combined %image
%sampled = OpImageSampleExplicitLod %vec4 %loaded %where Lod %level
{gather}
%first = OpIMul %uint %x %two
%second = OpIAdd %uint %first %n1
%to_first = OpAccessChain %to_vec4 %out %zero %first
OpStore %to_first %sampled
%to_second = OpAccessChain %to_vec4 %out %zero %second
OpStore %to_second %gathered
OpReturn
OpFunctionEnd"
        )
        .replace(
            "%where = OpCopyObject %float",
            &format!("%where = OpCopyObject %{place}"),
        )
    }

    /// The coordinates that each invocation samples: multiples of 1/64 from -2 to 3, so that all
    /// weights and sums are exact; layers from -1 to beyond the last one.
    fn places(&self) -> Vec<[f32; 3]> {
        let mut state = 99u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) % below
        };
        let one = |_| {
            let mut place = [0.0; 3];
            for (index, to) in place.iter_mut().enumerate() {
                *to = if index == self.directions && self.layered {
                    random(24) as f32 / 4.0 - 1.0
                } else {
                    random(320) as f32 / 64.0 - 2.0
                };
            }
            place
        };
        (0..LANES).map(one).collect()
    }

    /// The components of a texel: whole numbers.
    fn texel(&self, at: [i64; 3]) -> [f32; 4] {
        let [x, y, z] = at;
        let number = x + 10 * y + 100 * z;
        [
            number as f32,
            -2.0 * number as f32,
            (number % 7) as f32,
            1.0,
        ]
    }

    fn bytes(&self) -> Vec<u8> {
        let [width, height, depth] = self.extent.map(i64::from);
        let rows = (0..depth).flat_map(|z| (0..height).map(move |y| (y, z)));
        let texels = rows.flat_map(|(y, z)| (0..width).map(move |x| [x, y, z]));
        let components = texels.flat_map(|at| self.texel(at));
        components.flat_map(f32::to_le_bytes).collect()
    }

    /// The texel at these numbers, wrapped.
    fn wrapped(&self, at: [i64; 3], outside: &str) -> [f32; 4] {
        let mut texel = at;
        for (index, at) in texel.iter_mut().enumerate().take(self.directions) {
            let size = i64::from(self.extent[index]);
            if !(0..size).contains(at) {
                *at = match outside {
                    "repeat" => (*at + 16 * size) % size,
                    "edge" => *at.min(&mut (size - 1)).max(&mut 0),
                    "mirror" => {
                        let within = (*at + 16 * size) % (2 * size);
                        if within < size {
                            within
                        } else {
                            2 * size - 1 - within
                        }
                    }
                    _ => return [0.0; 4],
                };
            }
        }
        self.texel(texel)
    }

    /// The result of a sample and of a gather at a place.
    fn expected(&self, place: [f32; 3], filter: &str, outside: &str) -> [[f32; 4]; 2] {
        let mut base = [0i64; 3];
        let mut corner = [0i64; 3];
        let mut share = [0f32; 3];
        for index in 0..self.directions {
            let at = place[index] * self.extent[index] as f32;
            base[index] = at.floor() as i64;
            corner[index] = (at - 0.5).floor() as i64;
            share[index] = at - 0.5 - (at - 0.5).floor();
        }
        if self.layered {
            let last = self.extent[self.directions] as f32 - 1.0;
            let layer = place[self.directions].round_ties_even().clamp(0.0, last);
            base[self.directions] = layer as i64;
            corner[self.directions] = layer as i64;
        }
        let mut sampled = [0f32; 4];
        if filter == "nearest" {
            sampled = self.wrapped(base, outside);
        } else {
            for number in 0..1 << self.directions {
                let (mut at, mut weight) = (corner, 1.0);
                for index in 0..self.directions {
                    let upper = number >> index & 1;
                    at[index] += upper;
                    weight *= if upper == 1 {
                        share[index]
                    } else {
                        1.0 - share[index]
                    };
                }
                let texel = self.wrapped(at, outside);
                for (sum, component) in sampled.iter_mut().zip(texel) {
                    *sum += weight * component;
                }
            }
        }
        if !self.gathers() {
            return [sampled, sampled];
        }
        let [x, y, z] = corner;
        let around = [[x, y + 1, z], [x + 1, y + 1, z], [x + 1, y, z], [x, y, z]];
        [sampled, around.map(|at| self.wrapped(at, outside)[2])]
    }
}

fn agrees(shape: &Shape, target: &str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let module = assembled(&shape.module())?;
    let places = shape.places();
    let coordinates: Vec<u8> = places
        .iter()
        .flatten()
        .flat_map(|c| c.to_le_bytes())
        .collect();
    let image = BufferName::Binding(0, 0);
    let buffers = vec![
        (image, shape.bytes()),
        (BufferName::Binding(0, 1), coordinates),
        (BufferName::Binding(0, 2), vec![0; LANES * 32]),
    ];
    let inputs = Inputs::new([1, 1, 1], buffers);
    let texels = Texels {
        format: Format::by_name("rgba32f").context("no such format")?,
        extent: shape.extent,
        is_buffer: false,
        levels: Default::default(),
    };
    for filter in FILTERS {
        for outside in OUTSIDE {
            let output = compile_bytes(&module, target, |options| {
                options.optimization = optimization;
            })?;
            let name = format!("{filter},{outside}");
            let sampler = Sampler::by_name(&name).context("no such sampler")?;
            let job = Job::compiled(&output, 0)?
                .with_image(image, texels)
                .with_sampler(image, sampler);
            job.takes(&inputs)?;
            let outcome = job.run(&inputs, Schedule::nth(1, 1))?;
            if let Some(finding) = outcome.report.findings.first() {
                bail!("{name}:\n{finding}");
            }
            let got = outcome.buffers.get(2).context("no buffer")?;
            let (got, _) = got.as_chunks::<4>();
            let got: Vec<f32> = got.iter().map(|word| f32::from_le_bytes(*word)).collect();
            for (lane, (place, got)) in places.iter().zip(got.chunks(8)).enumerate() {
                let want = shape.expected(*place, filter, outside).concat();
                ensure!(
                    got == want,
                    "{name}: lane {lane} at {place:?} gets {got:?}, not {want:?}"
                );
            }
        }
    }
    Ok(())
}

fn taken_by_ptxas(target: &str) -> Result<()> {
    let tools = all_ptxas(target)?;
    for shape in &SHAPES {
        let output = compile_bytes(&assembled(&shape.module())?, target, |_| {})?;
        let text = told(output.assembly())?;
        for tool in &tools {
            assembles(tool, &text, target).with_context(|| shape.name)?;
        }
    }
    Ok(())
}

/// `--sampler` sets the sampler of an image; an image without one is a finding.
fn command_line() -> Result<()> {
    let module = assembled(&SHAPES[1].module())?;
    let run = |sampler: &[&str]| {
        let arguments = [
            &["sim", "-", "--target", "sm_90", "--groups", "1,1,1"][..],
            &["--buffer", "0:0=zeros:512", "--image", "0:0=rgba32f:8x4"],
            &["--buffer", "0:1=zeros:768", "--buffer", "0:2=zeros:2048"],
            sampler,
        ];
        run(&arguments.concat(), &module, true)
    };
    for (sampler, code) in [
        (&["--sampler", "0:0=linear,edge"][..], 0),
        (&[], 1),
        (&["--sampler", "0:0=linear"], 2),
        (&["--sampler", "0:0=cubic,edge"], 2),
        (&["--sampler", "0:1=linear,edge"], 2),
    ] {
        let ran = run(sampler)?;
        ensure!(
            ran.code == Some(code),
            "{sampler:?}: {:?} {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}
