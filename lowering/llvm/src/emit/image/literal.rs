//! Samplers that a module has: OpConstantSampler (SPIR-V 1.6, section 3.52.7).
//!
//! On AMD GPUs a sampler resource in constant memory; its fields: Southern Islands ISA, "Image
//! Sampler", and Mesa, `ac_descriptors.c`, for what later generations changed. On NVIDIA GPUs the
//! host has it in the texture objects ([`splitbar_layout::abi::Combination`]).

use super::super::Result;
use super::super::function::FunctionEmitter;
use crate::ffi::Value;
use spirv::{Op, SamplerAddressingMode as Mode, SamplerFilterMode as Filter};
use splitbar_passes::module::{Id, Inst};
use splitbar_plan::target::{Amdgpu, Arch};

/// CLAMP_X, CLAMP_Y and CLAMP_Z: what lies outside of the image. `none` promises that nothing
/// outside is asked for.
fn outside(mode: Mode) -> u32 {
    match mode {
        Mode::Repeat => 0,                   // SQ_TEX_WRAP
        Mode::RepeatMirrored => 1,           // SQ_TEX_MIRROR
        Mode::ClampToEdge | Mode::None => 2, // SQ_TEX_CLAMP_LAST_TEXEL
        Mode::Clamp => 6,                    // SQ_TEX_CLAMP_BORDER, with zeros
    }
}

/// The four words of a sampler resource. Between mip levels the nearest is taken, from the first to
/// the last one (OpenCL, cl_khr_mipmap_image).
fn resource(gpu: &Amdgpu, mode: Mode, normalized: bool, filter: Filter) -> [u32; 4] {
    let linear = u32::from(filter == Filter::Linear);
    let outside = outside(mode);
    let clamps = outside | outside << 3 | outside << 6;
    let unnormalized = u32::from(!normalized) << 15;
    // Else the nearest texel is that of rounded coordinates (TRUNC_COORD).
    let truncates = (1 - linear) << 27;
    let last = gpu.sampler_max_lod.mask();
    let (magnify, minify, mips) = (linear << 20, linear << 22, 1 << 26);
    [
        clamps | unnormalized | truncates,
        last,
        magnify | minify | mips,
        0,
    ]
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The address of the descriptor of the OpConstantSampler `inst`.
    pub(in crate::emit) fn constant_sampler(&self, inst: Inst<'_>, ty: Id) -> Result<Value<'c>> {
        debug_assert_eq!(inst.op(), Some(Op::ConstantSampler));
        let &[mode, normalized, filter] = inst.operands() else {
            return Err(self.mismatch(inst, "a sampler without its three operands"));
        };
        let (Some(mode), Some(filter)) = (Mode::from_u32(mode), Filter::from_u32(filter)) else {
            return Err(self.mismatch(inst, "a sampler of an unknown mode"));
        };
        match &self.module.target.arch {
            Arch::Amdgpu(gpu) => {
                let words = resource(gpu, mode, normalized != 0, filter);
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                Ok(self.byte_global(&bytes, 16, "splitbar_sampler"))
            }
            Arch::Nvptx(_) => Ok(self.ty(ty)?.zero()),
        }
    }
}
