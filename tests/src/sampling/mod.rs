//! Samples of every form: cases with their results, for a machine that executes a kernel.

mod cases;
mod host;

pub use cases::all;
pub use host::{Host, Levels};

use anyhow::{Result, ensure};

/// Invocations of the launch, in one workgroup of 8 by 8.
pub const LANES: usize = 64;

/// The expected texel for the coordinates and the number of an invocation.
pub type Expected = fn(&Host<'_>, [f32; 4], usize) -> [f32; 4];

/// A way to sample: the code, the coordinates, and the expected result.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Dim, depth, arrayed, multisampled of OpTypeImage.
    pub image: &'static str,
    /// Texels in each dimension, then layers.
    pub extent: [u32; 3],
    /// Mip levels and samples.
    pub levels: Levels,
    /// A filter, an address mode, and other differences from the defaults, separated by commas.
    pub sampler: &'static str,
    /// Capabilities and extensions; after `|`, the execution modes that need them.
    pub modes: &'static str,
    /// Sets `%value`, four floats, by `%s` (image and sampler), `%i` (the image), `%p` (four floats
    /// of the invocation) and its first ones `%p2` and `%p3`.
    pub body: &'static str,
    /// The place of an invocation.
    pub places: fn(&Case, usize) -> [f32; 4],
    /// The expected result.
    pub expected: Expected,
    /// The reason why NVIDIA GPUs do not support it: words of the diagnostic.
    pub amd_only: Option<&'static str>,
}

impl<'c> Host<'c> {
    /// The host of a case.
    pub fn from_case(case: &'c Case) -> Host<'c> {
        Host::new(case.extent, case.levels, case.sampler)
    }
}

impl Case {
    /// A shader as text, with its own image (0:0) and sampler (0:3), the coordinates of its
    /// invocations (0:1), and the results (0:2).
    pub fn module(&self) -> String {
        let (image, modes, body) = (self.image, self.modes, self.body);
        let (capabilities, modes) = modes.split_once('|').unwrap_or((modes, ""));
        format!(
            "; Version: 1.3
OpCapability Shader
OpCapability Sampled1D
OpCapability ImageQuery
OpCapability ImageGatherExtended
{capabilities}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %id
OpExecutionMode %main LocalSize 8 8 1
{modes}
OpDecorate %id BuiltIn LocalInvocationIndex
OpDecorate %image DescriptorSet 0
OpDecorate %image Binding 0
OpDecorate %sampler DescriptorSet 0
OpDecorate %sampler Binding 3
OpDecorate %places DescriptorSet 0
OpDecorate %places Binding 1
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 2
OpDecorate %vectors ArrayStride 16
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%int = OpTypeInt 32 1
%float = OpTypeFloat 32
%int2 = OpTypeVector %int 2
%int3 = OpTypeVector %int 3
%float2 = OpTypeVector %float 2
%float3 = OpTypeVector %float 3
%float4 = OpTypeVector %float 4
%zero = OpConstant %uint 0
%i0 = OpConstant %int 0
%i1 = OpConstant %int 1
%i2 = OpConstant %int 2
%i3 = OpConstant %int 3
%m2 = OpConstant %int -2
%u1 = OpConstant %uint 1
%u4 = OpConstant %uint 4
%f0 = OpConstant %float 0
%f1 = OpConstant %float 1
%f2 = OpConstant %float 2
%quarter = OpConstant %float 0.25
%off2 = OpConstantComposite %int2 %i1 %m2
%off3 = OpConstantComposite %int3 %i1 %m2 %i1
%four = OpTypeArray %int2 %u4
%o0 = OpConstantComposite %int2 %i0 %i0
%o1 = OpConstantComposite %int2 %i1 %m2
%o2 = OpConstantComposite %int2 %m2 %i1
%o3 = OpConstantComposite %int2 %i3 %i3
%offs = OpConstantComposite %four %o0 %o1 %o2 %o3
%x4 = OpConstantComposite %float2 %quarter %f0
%y2 = OpConstantComposite %float2 %f0 %quarter
%to_uint = OpTypePointer Input %uint
%id = OpVariable %to_uint Input
%vectors = OpTypeRuntimeArray %float4
%block = OpTypeStruct %vectors
%to_block = OpTypePointer StorageBuffer %block
%to_float4 = OpTypePointer StorageBuffer %float4
%places = OpVariable %to_block StorageBuffer
%out = OpVariable %to_block StorageBuffer
%image_type = OpTypeImage %float {image} 1 Unknown
%sampler_type = OpTypeSampler
%combined = OpTypeSampledImage %image_type
%to_image = OpTypePointer UniformConstant %image_type
%to_sampler = OpTypePointer UniformConstant %sampler_type
%image = OpVariable %to_image UniformConstant
%sampler = OpVariable %to_sampler UniformConstant
%main = OpFunction %void None %function
%start = OpLabel
%x = OpLoad %uint %id
%i = OpLoad %image_type %image
%t = OpLoad %sampler_type %sampler
%s = OpSampledImage %combined %i %t
%from = OpAccessChain %to_float4 %places %zero %x
%p = OpLoad %float4 %from
%p1 = OpCompositeExtract %float %p 0
%p2 = OpVectorShuffle %float2 %p %p 0 1
%p3 = OpVectorShuffle %float3 %p %p 0 1 2
%pw = OpCompositeExtract %float %p 3
{body}
%to = OpAccessChain %to_float4 %out %zero %x
OpStore %to %value
OpReturn
OpFunctionEnd"
        )
        // An image with several samples has no sampler.
        .replace(
            "%s = OpSampledImage %combined %i %t\n",
            if self.levels.samples > 1 {
                ""
            } else {
                "%s = OpSampledImage %combined %i %t\n"
            },
        )
    }

    /// The places of all invocations.
    pub fn given(&self) -> Vec<f32> {
        let places = (0..LANES).flat_map(|lane| (self.places)(self, lane));
        places.collect()
    }

    /// Checks that `got` is the expected result, four floats of each invocation.
    ///
    /// # Errors
    /// The first invocation that has something else.
    pub fn compare(&self, got: &[f32]) -> Result<()> {
        ensure!(got.len() == 4 * LANES, "{} floats", got.len());
        let host = Host::from_case(self);
        for (lane, got) in got.chunks(4).enumerate() {
            let place = (self.places)(self, lane);
            let want = (self.expected)(&host, place, lane);
            ensure!(
                got == want,
                "lane {lane} at {place:?} gets {got:?}, not {want:?}"
            );
        }
        Ok(())
    }
}
