//! Tensors on the simulator: compiled kernels have the results of the host, on GPUs of each vendor
//! that address memory differently.

use crate::support::{
    all_ptxas, assembled, assembles, compile_bytes, is_nvptx, linkable, run, told, trial,
};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Elements, Inputs, Job};
use splitbar::{AbiForm, DescriptorSets, DescriptorSize, Optimization};

const TARGETS: [&str; 7] = [
    "gfx906", "gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_90",
];

/// Invocations of the launch.
const LANES: u64 = 64;

/// Bytes before and after the elements of a tensor, which must not be accessed.
const GUARD: u64 = 64;

/// A kernel whose invocations read elements of one tensor and write them to another.
struct Case {
    name: &'static str,
    /// The type of the elements.
    element: &'static str,
    /// The type of the coordinates.
    coordinate: &'static str,
    dimensions: &'static [u64],
    /// Elements after each row, in both tensors.
    gap: u64,
    /// True if the first dimension has a negative stride.
    backwards: bool,
    /// Elements of the array that is read and written; 0: a scalar.
    count: u64,
    /// The constant that is read outside.
    outside: Option<&'static str>,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "bytes", element: "u8", coordinate: "u32", dimensions: &[37], gap: 0, backwards: false, count: 0, outside: None },
    Case { name: "halves", element: "i16", coordinate: "i32", dimensions: &[5, 9], gap: 3, backwards: false, count: 0, outside: Some("-7") },
    Case { name: "words", element: "u32", coordinate: "u32", dimensions: &[3, 4, 7], gap: 0, backwards: false, count: 4, outside: None },
    Case { name: "longs", element: "i64", coordinate: "i64", dimensions: &[2, 3, 2, 5], gap: 1, backwards: true, count: 3, outside: Some("-3") },
    Case { name: "half_floats", element: "f16", coordinate: "u64", dimensions: &[6, 11], gap: 5, backwards: true, count: 2, outside: Some("1.5") },
    Case { name: "floats", element: "f32", coordinate: "u32", dimensions: &[2, 2, 3, 4], gap: 2, backwards: false, count: 0, outside: None },
    Case { name: "doubles", element: "f64", coordinate: "u16", dimensions: &[4, 3, 3], gap: 0, backwards: true, count: 5, outside: Some("-2") },
    Case { name: "booleans", element: "bool", coordinate: "i32", dimensions: &[3, 13], gap: 4, backwards: false, count: 4, outside: Some("true") },
    Case { name: "signed_bytes", element: "i8", coordinate: "i16", dimensions: &[2, 1, 3, 2, 4], gap: 1, backwards: false, count: 0, outside: Some("-1") },
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in TARGETS {
        for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
            for case in CASES {
                let name = format!("tensors/elements/{}/{target}/O{level}", case.name);
                trials.push(trial(name, move || {
                    agrees(case, &AbiForm::Arguments, target, optimization)
                }));
            }
            let name = format!("tensors/arrays/{target}/O{level}");
            trials.push(trial(name, move || arrays(target, optimization)));
        }
        for (size, bytes) in SIZES {
            let name = format!("tensors/descriptor_sets_{bytes}/{target}");
            trials.push(trial(name, move || {
                agrees(&CASES[2], &sets(size), target, Optimization::O2)
            }));
        }
        trials.push(trial(format!("tensors/sizes/{target}"), move || {
            sizes(target)
        }));
        if is_nvptx(target) {
            trials.push(trial(format!("tensors/ptxas/{target}"), move || {
                taken_by_ptxas(target)
            }));
        }
    }
    trials.push(trial("tensors/reflection".to_owned(), reflection));
    trials.push(trial("tensors/refusals".to_owned(), refusals));
    trials.push(trial("tensors/command_line".to_owned(), command_line));
    trials
}

const SIZES: [(DescriptorSize, u32); 2] =
    [(DescriptorSize::Bytes16, 16), (DescriptorSize::Bytes32, 32)];

fn sets(size: DescriptorSize) -> AbiForm {
    AbiForm::DescriptorSets(DescriptorSets {
        size,
        offsets: Vec::new(),
    })
}

/// Declarations of the number types by which elements and coordinates are called.
const NUMBERS: &str = "%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%u8 = OpTypeInt 8 0
%i8 = OpTypeInt 8 1
%u16 = OpTypeInt 16 0
%i16 = OpTypeInt 16 1
%u32 = OpTypeInt 32 0
%i32 = OpTypeInt 32 1
%u64 = OpTypeInt 64 0
%i64 = OpTypeInt 64 1
%f16 = OpTypeFloat 16
%f32 = OpTypeFloat 32
%f64 = OpTypeFloat 64
%c0 = OpConstant %u32 0
%u3 = OpTypeVector %u32 3
%to_u3 = OpTypePointer Input %u3
%id = OpVariable %to_u3 Input
";

/// A module whose kernel has this body, after these declarations.
fn module(decorations: &str, declared: &str, body: &str) -> String {
    format!(
        "; Version: 1.5
OpCapability Shader
OpCapability Int8
OpCapability Int16
OpCapability Int64
OpCapability Float16
OpCapability Float64
OpCapability StorageBuffer16BitAccess
OpCapability TensorsARM
OpCapability StorageTensorArrayDynamicIndexingARM
OpExtension \"SPV_ARM_tensors\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %id
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %id BuiltIn GlobalInvocationId
{decorations}
{NUMBERS}{declared}
%main = OpFunction %void None %function
%start = OpLabel
%ids = OpLoad %u3 %id
%x = OpCompositeExtract %u32 %ids 0
{body}
OpReturn
OpFunctionEnd"
    )
}

/// Bytes of a number.
fn bytes_of(ty: &str) -> u64 {
    match ty.trim_start_matches(['u', 'i', 'f']) {
        "8" | "bool" => 1,
        "16" => 2,
        "32" => 4,
        _ => 8,
    }
}

impl Case {
    fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// Bytes of an element.
    fn size(&self) -> u64 {
        bytes_of(self.element)
    }

    /// The layout of the tensors.
    fn elements(&self) -> Elements {
        let mut strides = Vec::new();
        let mut next = self.size();
        for (at, dimension) in self.dimensions.iter().enumerate().rev() {
            strides.push(next as i64);
            next *= dimension;
            if at + 1 == self.rank() {
                next += self.gap * self.size();
            }
        }
        strides.reverse();
        let mut first = GUARD;
        if self.backwards {
            first += (self.dimensions[0] - 1) * strides[0] as u64;
            strides[0] = -strides[0];
        }
        Elements {
            bytes: self.size() as u32,
            dimensions: self.dimensions.to_vec(),
            strides: Some(strides),
            first,
        }
    }

    /// Bytes of each of the buffers.
    fn buffer_bytes(&self) -> u64 {
        let outer: u64 = self.dimensions[..self.rank() - 1].iter().product();
        let row = self.dimensions[self.rank() - 1] + self.gap;
        2 * GUARD + outer * row * self.size()
    }

    /// The offset of the element at `at` in a buffer, if it is inside.
    fn place(&self, at: &[i128]) -> Option<usize> {
        let elements = self.elements();
        let mut place = i128::from(elements.first);
        for ((at, dimension), stride) in at.iter().zip(self.dimensions).zip(elements.strides?) {
            if *at < 0 || *at >= i128::from(*dimension) {
                return None;
            }
            place += at * i128::from(stride);
        }
        Some(place as usize)
    }

    /// Coordinates outside of a dimension of `size` elements.
    fn beyond(&self, size: u64) -> Vec<i128> {
        let size = i128::from(size);
        let bits = 8 * bytes_of(self.coordinate) as u32;
        if self.coordinate.starts_with('i') {
            vec![
                size,
                -1,
                (1 << (bits - 1)) - 1,
                -(1 << (bits - 1)),
                size + 2,
            ]
        } else {
            vec![
                size,
                (1 << bits) - 1,
                1 << (bits - 1),
                size + 2,
                (1 << bits) - 2,
            ]
        }
    }

    /// The coordinates that each invocation reads.
    fn sources(&self) -> Vec<Vec<i128>> {
        let mut state = 12345u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            i128::from((state >> 33) % below)
        };
        (0..LANES as usize)
            .map(|lane| {
                let mut at: Vec<i128> = self.dimensions.iter().map(|size| random(*size)).collect();
                if lane % 2 == 1 {
                    let dimension = lane / 2 % self.rank();
                    let beyond = self.beyond(self.dimensions[dimension]);
                    at[dimension] = beyond[lane / 2 / self.rank() % beyond.len()];
                }
                at
            })
            .collect()
    }

    /// The coordinates that each invocation writes: all are different, and some are outside in each
    /// dimension.
    fn destinations(&self) -> Vec<Vec<i128>> {
        let count = self.count.max(1);
        let last = self.rank() - 1;
        (0..LANES)
            .map(|lane| {
                let mut number = lane;
                let mut at = vec![0; self.rank()];
                let blocks = self.dimensions[last].div_ceil(count);
                at[last] = i128::from(number % blocks * count);
                number /= blocks;
                for dimension in (0..last).rev() {
                    at[dimension] = i128::from(number % self.dimensions[dimension]);
                    number /= self.dimensions[dimension];
                }
                // What comes behind the last element, and some others.
                if number > 0 || lane % 5 == 3 {
                    let dimension = lane as usize / 5 % self.rank();
                    let beyond = self.beyond(self.dimensions[dimension]);
                    // An array from -1 on would come to the elements of others.
                    let from = beyond.iter().filter(|at| **at != -1);
                    let from: Vec<i128> = from.copied().collect();
                    at[dimension] = from[lane as usize % from.len()];
                }
                at
            })
            .collect()
    }

    /// The bytes of the constant that is read outside.
    fn outside(&self) -> Vec<u8> {
        let Some(text) = self.outside else {
            return vec![0; self.size() as usize];
        };
        match self.element {
            "bool" => vec![u8::from(text == "true")],
            "f16" => half::f16::from_f32(text.parse().unwrap())
                .to_le_bytes()
                .to_vec(),
            "f32" => text.parse::<f32>().unwrap().to_le_bytes().to_vec(),
            "f64" => text.parse::<f64>().unwrap().to_le_bytes().to_vec(),
            _ => {
                let number: i64 = text.parse().unwrap();
                number.to_le_bytes()[..self.size() as usize].to_vec()
            }
        }
    }

    fn module(&self) -> String {
        let (element, coordinate, rank) = (self.element, self.coordinate, self.rank());
        let size = bytes_of(coordinate);
        let decorations = format!(
            "OpDecorate %from DescriptorSet 0
OpDecorate %from Binding 0
OpDecorate %into DescriptorSet 0
OpDecorate %into Binding 1
OpDecorate %places DescriptorSet 0
OpDecorate %places Binding 2
OpDecorate %places NonWritable
OpDecorate %list ArrayStride {size}
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0"
        );
        let value = match self.count {
            0 => element.to_owned(),
            _ => "row".to_owned(),
        };
        let constant = match self.outside {
            None => String::new(),
            Some("true") => "%outside = OpConstantTrue %bool".to_owned(),
            Some(text) => format!("%outside = OpConstant %{element} {text}"),
        };
        let mut declared = format!(
            "%rank = OpConstant %u32 {rank}
%lanes = OpConstant %u32 {LANES}
%twice = OpConstant %u32 {}
%count = OpConstant %u32 {}
%row = OpTypeArray %{element} %count
%coordinates = OpTypeArray %{coordinate} %rank
%tensor = OpTypeTensorARM %{element} %rank
%to_tensor = OpTypePointer UniformConstant %tensor
%from = OpVariable %to_tensor UniformConstant
%into = OpVariable %to_tensor UniformConstant
%list = OpTypeRuntimeArray %{coordinate}
%block = OpTypeStruct %list
%to_block = OpTypePointer StorageBuffer %block
%to_coordinate = OpTypePointer StorageBuffer %{coordinate}
%places = OpVariable %to_block StorageBuffer
{constant}\n",
            2 * rank,
            self.count.max(1),
        );
        for number in 0..2 * rank {
            declared += &format!("%n{number} = OpConstant %u32 {number}\n");
        }
        let mut body = "%start_of = OpIMul %u32 %x %twice\n".to_owned();
        for number in 0..2 * rank {
            body += &format!(
                "%at{number} = OpIAdd %u32 %start_of %n{number}
%to{number} = OpAccessChain %to_coordinate %places %c0 %at{number}
%p{number} = OpLoad %{coordinate} %to{number}\n"
            );
        }
        let list = |numbers: std::ops::Range<usize>| {
            numbers
                .map(|number| format!(" %p{number}"))
                .collect::<String>()
        };
        let operands = self.outside.map_or("", |_| " OutOfBoundsValueARM %outside");
        body += &format!(
            "%source = OpCompositeConstruct %coordinates{}
%destination = OpCompositeConstruct %coordinates{}
%from_tensor = OpLoad %tensor %from
%into_tensor = OpLoad %tensor %into
%value = OpTensorReadARM %{value} %from_tensor %source{operands}
OpTensorWriteARM %into_tensor %destination %value",
            list(0..rank),
            list(rank..2 * rank),
        );
        module(&decorations, &declared, &body)
    }

    /// The buffers before: the tensors, and the coordinates.
    fn before(&self) -> [Vec<u8>; 3] {
        let bytes = self.buffer_bytes() as usize;
        let number = |n: usize| (n * 37 % 251) as u8;
        let from: Vec<u8> = match self.element {
            // Any byte that is not 0 is true.
            "bool" => (0..bytes)
                .map(|n| number(n) * u8::from(n % 3 > 0))
                .collect(),
            _ => (0..bytes).map(number).collect(),
        };
        let size = bytes_of(self.coordinate) as usize;
        let pairs = self.sources().into_iter().zip(self.destinations());
        let coordinates = pairs.flat_map(|(source, destination)| [source, destination].concat());
        let places = coordinates.flat_map(|at| at.to_le_bytes()[..size].to_vec());
        [from, vec![0xa5; bytes], places.collect()]
    }

    /// The second tensor afterwards.
    fn after(&self) -> Vec<u8> {
        let [from, mut into, _] = self.before();
        let size = self.size() as usize;
        for (source, destination) in self.sources().iter().zip(self.destinations()) {
            for number in 0..self.count.max(1) {
                let along = |at: &[i128]| {
                    let mut at = at.to_vec();
                    if let Some(last) = at.last_mut() {
                        *last += i128::from(number);
                    }
                    at
                };
                let mut element = match self.place(&along(source)) {
                    Some(at) => from[at..at + size].to_vec(),
                    None => self.outside(),
                };
                if self.element == "bool" {
                    element = vec![u8::from(element[0] != 0)];
                }
                if let Some(at) = self.place(&along(&destination)) {
                    into[at..at + size].copy_from_slice(&element);
                }
            }
        }
        into
    }
}

/// Runs `job` under several schedules, and compares the buffer at `number` with `want`.
fn leaves(job: &Job, inputs: &Inputs, number: usize, want: &[u8]) -> Result<()> {
    for index in 0..4 {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        let got = outcome.buffers.get(number).context("no buffer")?;
        let differs = got.iter().zip(want).position(|(a, b)| a != b);
        ensure!(
            got == want,
            "{schedule}: buffer {number} differs from byte {differs:?} on"
        );
    }
    Ok(())
}

fn job_of(text: &str, form: &AbiForm, target: &str, optimization: Optimization) -> Result<Job> {
    let output = compile_bytes(&assembled(text)?, target, |options| {
        options.optimization = optimization;
        options.abi.clone_from(form);
    })?;
    Ok(Job::compiled(&output, 0)?)
}

fn agrees(case: &Case, form: &AbiForm, target: &str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let mut job = job_of(&case.module(), form, target, optimization)?;
    let buffers = case.before().into_iter().zip(0..);
    let buffers = buffers.map(|(bytes, binding)| (BufferName::Binding(0, binding), bytes));
    let inputs = Inputs::new([1, 1, 1], buffers.collect());
    for binding in 0..2 {
        job = job.with_tensor(BufferName::Binding(0, binding), case.elements());
    }
    job.takes(&inputs)?;
    let after = case.after();
    ensure!(after != case.before()[1], "nothing is written");
    leaves(&job, &inputs, 1, &after)
}

/// Sizes of all dimensions, also of more than 32 bits, and of an empty tensor.
fn sizes(target: &str) -> Result<()> {
    linkable(target)?;
    let decorations = "OpDecorate %from DescriptorSet 0
OpDecorate %from Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
OpDecorate %list ArrayStride 8
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %rank SpecId 0";
    let mut declared = "%rank = OpSpecConstant %u32 3
%tensor = OpTypeTensorARM %f32 %rank
%to_tensor = OpTypePointer UniformConstant %tensor
%from = OpVariable %to_tensor UniformConstant
%list = OpTypeRuntimeArray %u64
%block = OpTypeStruct %list
%to_block = OpTypePointer StorageBuffer %block
%to_u64 = OpTypePointer StorageBuffer %u64
%out = OpVariable %to_block StorageBuffer
"
    .to_owned();
    let mut body = "%from_tensor = OpLoad %tensor %from
%first_lane = OpIEqual %bool %x %c0
OpSelectionMerge %end None
OpBranchConditional %first_lane %yes %end
%yes = OpLabel
"
    .to_owned();
    for at in 0..4 {
        declared += &format!("%d{at} = OpConstant %u32 {at}\n");
        // Of the last dimension in 32 bits, too.
        body += &match at {
            3 => "%short = OpTensorQuerySizeARM %u32 %from_tensor %d2
%size3 = OpUConvert %u64 %short\n"
                .to_owned(),
            _ => format!("%size{at} = OpTensorQuerySizeARM %u64 %from_tensor %d{at}\n"),
        };
        body += &format!(
            "%to{at} = OpAccessChain %to_u64 %out %c0 %d{at}
OpStore %to{at} %size{at}\n"
        );
    }
    body += "OpBranch %end\n%end = OpLabel";
    let text = module(decorations, &declared, &body);
    for dimensions in [[2, 3, 4], [0, 1 << 40, 9]] {
        let job = job_of(&text, &AbiForm::Arguments, target, Optimization::O2)?;
        let elements = Elements::packed(4, &dimensions);
        let job = job.with_tensor(BufferName::Binding(0, 0), elements);
        let buffers = vec![
            (BufferName::Binding(0, 0), vec![0; 96]),
            (BufferName::Binding(0, 1), vec![0; 32]),
        ];
        let [a, b, c] = dimensions;
        let want: Vec<u8> = [a, b, c, c].iter().flat_map(|n| n.to_le_bytes()).collect();
        leaves(&job, &Inputs::new([1, 1, 1], buffers), 1, &want)?;
    }
    Ok(())
}

/// Each workgroup reads from a separate tensor, by its number in an array of tensors.
fn arrays(target: &str, optimization: Optimization) -> Result<()> {
    linkable(target)?;
    let decorations = "OpDecorate %group BuiltIn WorkgroupId
OpDecorate %from DescriptorSet 0
OpDecorate %from Binding 1
OpDecorate %into DescriptorSet 0
OpDecorate %into Binding 0";
    let declared = "%three = OpConstant %u32 3
%one = OpConstant %u32 1
%two = OpConstant %u32 2
%line = OpTypeArray %u32 %one
%pair = OpTypeArray %u32 %two
%tensor = OpTypeTensorARM %u32 %one
%flat = OpTypeTensorARM %u32 %two
%tensors = OpTypeArray %tensor %three
%to_tensors = OpTypePointer UniformConstant %tensors
%to_tensor = OpTypePointer UniformConstant %tensor
%to_flat = OpTypePointer UniformConstant %flat
%from = OpVariable %to_tensors UniformConstant
%into = OpVariable %to_flat UniformConstant
%group = OpVariable %to_u3 Input";
    let body = "%groups = OpLoad %u3 %group
%g = OpCompositeExtract %u32 %groups 0
%lane = OpBitwiseAnd %u32 %x %sixty_three
%chosen = OpAccessChain %to_tensor %from %g
%from_tensor = OpLoad %tensor %chosen
%into_tensor = OpLoad %flat %into
%at = OpCompositeConstruct %line %lane
%place = OpCompositeConstruct %pair %g %lane
%value = OpTensorReadARM %u32 %from_tensor %at
OpTensorWriteARM %into_tensor %place %value";
    let declared = format!("{declared}\n%sixty_three = OpConstant %u32 63");
    let text = module(decorations, &declared, body).replace("\"main\" %id", "\"main\" %id %group");
    // The longest is one element too short.
    let lengths = [64u64, 10, 63];
    let words = |first: u32, count: u64| -> Vec<u8> {
        (0..count as u32)
            .flat_map(|n| (first + n).to_le_bytes())
            .collect()
    };
    let mut want = Vec::new();
    let mut buffers = vec![(BufferName::Binding(0, 0), vec![0xff; 3 * 256])];
    for (number, length) in (0u32..).zip(lengths) {
        let first = 1000 * (number + 1);
        let row = words(first, length);
        want.extend([row.clone(), vec![0; 256 - row.len()]].concat());
        let place = match number {
            0 => BufferName::Binding(0, 1),
            _ => BufferName::Element(0, 1, number),
        };
        buffers.push((place, row));
    }
    for (size, _) in SIZES {
        let mut job = job_of(&text, &sets(size), target, optimization)?;
        let flat = Elements::packed(4, &[3, 64]);
        job = job.with_tensor(BufferName::Binding(0, 0), flat);
        for ((place, _), length) in buffers.iter().skip(1).zip(lengths) {
            job = job.with_tensor(*place, Elements::packed(4, &[length]));
        }
        let inputs = Inputs::new([3, 1, 1], buffers.clone());
        job.takes(&inputs)?;
        leaves(&job, &inputs, 0, &want)?;
    }
    Ok(())
}

fn taken_by_ptxas(target: &str) -> Result<()> {
    let tools = all_ptxas(target)?;
    for case in CASES {
        let module = assembled(&case.module())?;
        let output = compile_bytes(&module, target, |options| {
            options.optimization = Optimization::O2;
        })?;
        let text = told(output.assembly())?;
        for tool in &tools {
            assembles(tool, &text, target).with_context(|| case.name)?;
        }
    }
    Ok(())
}

/// Reflections say where descriptors of tensors go.
fn reflection() -> Result<()> {
    let module = assembled(&CASES[0].module())?;
    let reflect = |form: &AbiForm| -> Result<serde_json::Value> {
        let output = compile_bytes(&module, "gfx1201", |options| options.abi.clone_from(form))?;
        Ok(serde_json::from_str(&output.reflect())?)
    };
    let kernels = reflect(&AbiForm::Arguments)?;
    let argument = &kernels[0]["arguments"][1];
    ensure!(argument["kind"] == "tensor", "{argument}");
    ensure!(argument["binding"] == 1, "{argument}");
    ensure!(argument["pointee_align"] == 8, "{argument}");
    let kernels = reflect(&sets(DescriptorSize::Bytes16))?;
    let resource = &kernels[0]["abi"]["resources"][1];
    ensure!(resource["kind"] == "tensor", "{resource}");
    ensure!(resource["descriptor"]["offset"] == 16, "{resource}");
    Ok(())
}

/// A tensor without dimensions, or with a buffer that is too small for it, is refused.
fn refusals() -> Result<()> {
    let case = &CASES[1];
    let buffers = case.before().into_iter().zip(0..);
    let buffers = buffers.map(|(bytes, binding)| (BufferName::Binding(0, binding), bytes));
    let inputs = Inputs::new([1, 1, 1], buffers.collect());
    let job = |elements: Option<Elements>| -> Result<Job> {
        let job = job_of(
            &case.module(),
            &AbiForm::Arguments,
            "sm_90",
            Optimization::O0,
        )?;
        Ok(match elements {
            Some(elements) => job.with_tensor(BufferName::Binding(0, 0), elements),
            None => job,
        })
    };
    let strides = |strides: &[i64]| Elements {
        strides: Some(strides.to_vec()),
        ..case.elements()
    };
    for (elements, wanted) in [
        (None, "0:0 is a tensor"),
        (Some(Elements::packed(2, &[])), "1 to 32 dimensions"),
        (Some(strides(&[2])), "as many strides"),
        (Some(strides(&[24, 3])), "not a multiple"),
        (Some(strides(&[240, 2])), "uses the bytes"),
        (Some(strides(&[-240, 2])), "uses the bytes"),
        (Some(Elements::packed(3, &[5, 9])), "elements of 3 bytes"),
        (Some(Elements::packed(2, &[1 << 62, 9])), "2^63"),
    ] {
        let said = match job(elements)?.run(&inputs, Schedule::nth(0, 1)) {
            Ok(_) => String::new(),
            Err(refusal) => refusal.to_string(),
        };
        ensure!(said.contains(wanted), "{wanted}: {said}");
    }
    let elsewhere = job(None)?.with_tensor(BufferName::Binding(0, 2), case.elements());
    let said = elsewhere.takes(&inputs).unwrap_err().to_string();
    ensure!(said.contains("uses no tensor 0:2"), "{said}");
    Ok(())
}

/// `--tensor` declares that a buffer is a tensor; anything that is not a type or a shape is wrong
/// usage.
fn command_line() -> Result<()> {
    let module = assembled(&CASES[1].module())?;
    let run = |tensor: &str, target: &str| {
        let arguments = [
            &["sim", "-", "--target", target, "--groups", "1,1,1"][..],
            &["--buffer", "0:0=zeros:512", "--tensor", "0:0=i16:5x9"],
            &["--buffer", "0:1=zeros:512", "--tensor", tensor],
            &["--buffer", "0:2=zeros:1024"],
        ];
        run(&arguments.concat(), &module, true)
    };
    // All invocations write 0 to the first element then.
    let ran = run("0:1=i16:5x9:32x2", "sm_90")?;
    ensure!(ran.code == Some(0), "{:?} {}", ran.code, ran.stderr);
    let said = String::from_utf8_lossy(&ran.stdout);
    ensure!(said.contains("note: [SB3040]"), "{said}");
    for wrong in [
        "0:1=i16",
        "0:1=i16:",
        "0:1=i17:5x9",
        "0:1=i16:5xa",
        "0:1=i16:5x9:2",
        "0:1=i16:5x-9",
        "0:3=i16:5x9",
        "0:0=i16:5x9",
        "0:1=i16:500x9",
    ] {
        let ran = run(wrong, "sm_90")?;
        ensure!(
            ran.code == Some(2),
            "{wrong}: {:?} {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}
