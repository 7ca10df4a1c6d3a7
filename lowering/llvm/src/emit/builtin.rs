//! Built-in variables. Each is computed once at the kernel's entry and kept in a stack slot that
//! the optimiser removes, so that its address can go anywhere.
//!
//! AMDGPU: LLVM AMDGPUUsage, "Kernel Argument" (the implicit arguments of code object version 5 and
//! later: block counts at 0, 4, 8; group sizes at 12, 14, 16; global offsets at 40, 48, 56; grid
//! dimensions at 64). NVPTX: PTX ISA chapter 10, special registers. The number of a warp is
//! computed from the linear invocation index: `%warpid` may change while a warp runs (PTX ISA
//! 10.4).

use super::function::FunctionEmitter;
use super::types::Kind;
use super::{Result, lanes};
use crate::ffi::{IntPredicate, Opcode, Value};
use spirv::BuiltIn;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::enumerants::{Outcome, built_in};
use splitbar_passes::module::Id;
use splitbar_plan::target::Arch;

const LOCAL_ID: [[&str; 3]; 2] = [
    [
        "llvm.amdgcn.workitem.id.x",
        "llvm.amdgcn.workitem.id.y",
        "llvm.amdgcn.workitem.id.z",
    ],
    [
        "llvm.nvvm.read.ptx.sreg.tid.x",
        "llvm.nvvm.read.ptx.sreg.tid.y",
        "llvm.nvvm.read.ptx.sreg.tid.z",
    ],
];
const GROUP_ID: [[&str; 3]; 2] = [
    [
        "llvm.amdgcn.workgroup.id.x",
        "llvm.amdgcn.workgroup.id.y",
        "llvm.amdgcn.workgroup.id.z",
    ],
    [
        "llvm.nvvm.read.ptx.sreg.ctaid.x",
        "llvm.nvvm.read.ptx.sreg.ctaid.y",
        "llvm.nvvm.read.ptx.sreg.ctaid.z",
    ],
];
const GROUP_SIZE: [&str; 3] = [
    "llvm.nvvm.read.ptx.sreg.ntid.x",
    "llvm.nvvm.read.ptx.sreg.ntid.y",
    "llvm.nvvm.read.ptx.sreg.ntid.z",
];
const GROUP_COUNT: [&str; 3] = [
    "llvm.nvvm.read.ptx.sreg.nctaid.x",
    "llvm.nvvm.read.ptx.sreg.nctaid.y",
    "llvm.nvvm.read.ptx.sreg.nctaid.z",
];

fn vendor(e: &FunctionEmitter<'_, '_, '_>) -> usize {
    match e.module.target.arch {
        Arch::Amdgpu(_) => 0,
        Arch::Nvptx(_) => 1,
    }
}

fn by_name<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    table: &[[&'static str; 3]; 2],
    dimension: usize,
) -> Result<Value<'c>> {
    let name = table
        .get(vendor(e))
        .and_then(|names| names.get(dimension))
        .copied()
        .ok_or_else(|| e.b.internal("a fourth dimension"))?;
    e.b.intrinsic(name, &[], &[])
}

/// A field of AMDGPU's implicit kernel arguments, widened to `i32` or narrowed from `i64` as it is.
fn implicit<'c>(e: &FunctionEmitter<'_, 'c, '_>, offset: u64, bits: u32) -> Result<Value<'c>> {
    let base = e.b.intrinsic("llvm.amdgcn.implicitarg.ptr", &[], &[])?;
    let place = e.b.offset(base, e.b.i64(offset), true)?;
    let value = e.b.load(e.b.int_type(bits), place, (bits / 8).min(4))?;
    value.set_metadata(
        e.b.context(),
        "invariant.load",
        crate::ffi::meta_node(e.b.context(), &[]),
    );
    e.b.int_resize(value, e.b.int_type(bits.max(32)), false)
}

fn known_size(e: &FunctionEmitter<'_, '_, '_>, dimension: usize) -> Option<u32> {
    e.kernel
        .plan
        .workgroup_size
        .and_then(|size| size.get(dimension).copied())
}

/// This invocation's id in its workgroup along one dimension (0 to 2), `i32`.
pub(crate) fn local_id<'c>(e: &FunctionEmitter<'_, 'c, '_>, dimension: usize) -> Result<Value<'c>> {
    if known_size(e, dimension) == Some(1) {
        Ok(e.b.i32(0))
    } else {
        by_name(e, &LOCAL_ID, dimension)
    }
}

fn group_size<'c>(e: &FunctionEmitter<'_, 'c, '_>, dimension: usize) -> Result<Value<'c>> {
    match (known_size(e, dimension), GROUP_SIZE.get(dimension)) {
        (Some(size), _) => Ok(e.b.i32(size)),
        (None, Some(name)) if vendor(e) == 1 => e.b.intrinsic(name, &[], &[]),
        (None, _) => implicit(e, 12 + 2 * dimension as u64, 16),
    }
}

fn group_count<'c>(e: &FunctionEmitter<'_, 'c, '_>, dimension: usize) -> Result<Value<'c>> {
    match GROUP_COUNT.get(dimension) {
        Some(name) if vendor(e) == 1 => e.b.intrinsic(name, &[], &[]),
        _ => implicit(e, 4 * dimension as u64, 32),
    }
}

/// The global offset of a dimension, `i64`: a launch on NVIDIA has none.
fn global_offset<'c>(e: &FunctionEmitter<'_, 'c, '_>, dimension: usize) -> Result<Value<'c>> {
    if vendor(e) == 1 || !e.module.opencl {
        Ok(e.b.i64(0))
    } else {
        implicit(e, 40 + 8 * dimension as u64, 64)
    }
}

fn group_base<'c>(e: &FunctionEmitter<'_, 'c, '_>, dimension: usize) -> Result<Value<'c>> {
    e.b.add(
        e.b.mul(by_name(e, &GROUP_ID, dimension)?, group_size(e, dimension)?)?,
        local_id(e, dimension)?,
    )
}

/// GlobalInvocationId of a dimension, `i32` in shaders, `i64` with the global offset in kernels.
fn global_id<'c>(e: &FunctionEmitter<'_, 'c, '_>, dimension: usize) -> Result<Value<'c>> {
    let id = group_base(e, dimension)?;
    if e.module.opencl {
        e.b.add(
            e.b.int_resize(id, e.b.int_type(64), false)?,
            global_offset(e, dimension)?,
        )
    } else {
        Ok(id)
    }
}

/// The linear index of an invocation in its workgroup, `i32`.
pub(crate) fn local_invocation_index<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    let mut index = local_id(e, 0)?;
    let mut below = group_size(e, 0)?;
    for dimension in 1..3 {
        if known_size(e, dimension) != Some(1) {
            index = e.b.add(index, e.b.mul(local_id(e, dimension)?, below)?)?;
        }
        below = e.b.mul(below, group_size(e, dimension)?)?;
    }
    Ok(index)
}

pub(crate) fn invocations<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    e.b.mul(
        e.b.mul(group_size(e, 0)?, group_size(e, 1)?)?,
        group_size(e, 2)?,
    )
}

/// How many waves a workgroup has, `i32`.
pub(crate) fn num_waves<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    parts(e, e.wave_size())
}

/// How many subgroups a workgroup has, `i32`.
fn num_subgroups<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    parts(e, e.subgroup_size())
}

/// How many parts of `size` invocations a workgroup has, the last one included that has fewer.
fn parts<'c>(e: &FunctionEmitter<'_, 'c, '_>, size: u32) -> Result<Value<'c>> {
    let rounded = e.b.add(invocations(e)?, e.b.i32(size.max(1) - 1))?;
    e.b.binary(Opcode::LLVMUDiv, rounded, e.b.i32(size.max(1)))
}

/// The number of this invocation's part of the workgroup, in parts of `size` invocations.
fn part<'c>(e: &FunctionEmitter<'_, 'c, '_>, size: u32) -> Result<Value<'c>> {
    let index = local_invocation_index(e)?;
    e.b.binary(Opcode::LLVMUDiv, index, e.b.i32(size.max(1)))
}

/// The number of this invocation's subgroup in its workgroup, `i32`.
fn subgroup_id<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    if e.subgroup_size() == e.wave_size() {
        wave_id(e)
    } else {
        part(e, e.subgroup_size())
    }
}

/// The number of this invocation's wave in its workgroup, `i32`.
pub(crate) fn wave_id<'c>(e: &FunctionEmitter<'_, 'c, '_>) -> Result<Value<'c>> {
    let id = part(e, e.wave_size())?;
    match e.module.target.arch {
        // Every lane of a wave has the same number: tell LLVM, which cannot see it from the
        // invocation index.
        Arch::Amdgpu(_) => {
            e.b.intrinsic("llvm.amdgcn.readfirstlane", &[e.b.int_type(32)], &[id])
        }
        Arch::Nvptx(_) => Ok(id),
    }
}

/// A Subgroup*Mask as four words: bits of the lanes whose number compares to this lane's as
/// `predicate` says (the other lane is the left operand).
fn mask<'c>(e: &FunctionEmitter<'_, 'c, '_>, built_in: BuiltIn) -> Result<Value<'c>> {
    let b = e.b;
    let wide = b.int_type(64);
    let one = wide.int(1);
    let lane = b.int_resize(lanes::place(e)?, wide, false)?;
    let bit = b.shl(one, lane)?;
    let below = b.sub(bit, one)?;
    let all = wide.int(lanes::ones(e.subgroup_size()));
    let value = match built_in {
        BuiltIn::SubgroupEqMask => bit,
        BuiltIn::SubgroupLtMask => below,
        BuiltIn::SubgroupLeMask => b.or(below, bit)?,
        BuiltIn::SubgroupGeMask => b.and(b.not(below)?, all)?,
        _ => b.and(b.not(b.or(below, bit)?)?, all)?,
    };
    let low = b.int_resize(value, b.int_type(32), false)?;
    let high = b.int_resize(b.lshr(value, wide.int(32))?, b.int_type(32), false)?;
    b.vector(&[low, high, b.i32(0), b.i32(0)])
}

fn three<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    f: impl Fn(&FunctionEmitter<'_, 'c, '_>, usize) -> Result<Value<'c>>,
) -> Result<Value<'c>> {
    e.b.vector(&[f(e, 0)?, f(e, 1)?, f(e, 2)?])
}

/// The value of the built-in `number`, in whatever integer type it comes in; `None` when it is not
/// lowered on this target.
fn compute<'c>(e: &FunctionEmitter<'_, 'c, '_>, number: u32) -> Result<Option<Value<'c>>> {
    let Some(built_in) = BuiltIn::from_u32(number) else {
        return Ok(None);
    };
    let b = e.b;
    Ok(Some(match built_in {
        BuiltIn::WorkgroupId => three(e, |e, d| by_name(e, &GROUP_ID, d))?,
        BuiltIn::LocalInvocationId => three(e, local_id)?,
        BuiltIn::GlobalInvocationId => three(e, global_id)?,
        BuiltIn::NumWorkgroups => three(e, group_count)?,
        BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => three(e, group_size)?,
        BuiltIn::GlobalSize => three(e, |e, d| e.b.mul(group_size(e, d)?, group_count(e, d)?))?,
        BuiltIn::GlobalOffset => three(e, global_offset)?,
        BuiltIn::LocalInvocationIndex => local_invocation_index(e)?,
        BuiltIn::GlobalLinearId => {
            let wide = b.int_type(64);
            let mut index = wide.int(0);
            for d in (0..3).rev() {
                let size =
                    b.int_resize(b.mul(group_size(e, d)?, group_count(e, d)?)?, wide, false)?;
                index = b.add(
                    b.mul(index, size)?,
                    b.int_resize(group_base(e, d)?, wide, false)?,
                )?;
            }
            index
        }
        BuiltIn::WorkDim => match (&e.module.target.arch, e.arguments.work_dim) {
            (Arch::Amdgpu(_), _) => implicit(e, 64, 16)?,
            (Arch::Nvptx(_), Some(dimensions)) => dimensions,
            (Arch::Nvptx(_), None) => return Ok(None),
        },
        // Every launch is to one device.
        BuiltIn::DeviceIndex => b.i32(0),
        BuiltIn::SubgroupSize | BuiltIn::SubgroupMaxSize => {
            if e.module.opencl && built_in == BuiltIn::SubgroupSize {
                // OpenCL: the last subgroup of a workgroup may be smaller.
                let start = b.mul(subgroup_id(e)?, b.i32(e.subgroup_size()))?;
                let rest = b.sub(invocations(e)?, start)?;
                let full = b.i32(e.subgroup_size());
                b.select(b.icmp(IntPredicate::LLVMIntULT, rest, full)?, rest, full)?
            } else {
                b.i32(e.subgroup_size())
            }
        }
        BuiltIn::NumSubgroups | BuiltIn::NumEnqueuedSubgroups => num_subgroups(e)?,
        BuiltIn::SubgroupId => subgroup_id(e)?,
        BuiltIn::SubgroupLocalInvocationId => lanes::place(e)?,
        BuiltIn::SubgroupEqMask
        | BuiltIn::SubgroupGeMask
        | BuiltIn::SubgroupGtMask
        | BuiltIn::SubgroupLeMask
        | BuiltIn::SubgroupLtMask => mask(e, built_in)?,
        _ => return Ok(None),
    }))
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The value of the built-in input variable `variable`, of the variable's type.
    pub(super) fn built_in(&self, variable: Id, pointee: Id) -> Result<Value<'c>> {
        let declared = self
            .module
            .declarations
            .decoration(variable, spirv::Decoration::BuiltIn);
        let name = declared.and_then(BuiltIn::from_u32).map_or_else(
            || "an input that is not a built-in".to_owned(),
            |b| format!("the built-in {b:?}"),
        );
        let unsupported = || {
            let offset = self
                .module
                .declarations
                .variable(variable)
                .map(|v| v.inst.offset);
            Box::new(
                Diagnostic::error(
                    Code::UnsupportedBuiltIn,
                    format!("{name} is not lowered for {}", self.module.target.name),
                )
                .at_word(offset),
            )
        };
        let listed = declared.and_then(BuiltIn::from_u32).map(built_in);
        let Some(Outcome::Honoured(_)) = listed else {
            return Err(unsupported());
        };
        let value = compute(self, declared.ok_or_else(unsupported)?)?.ok_or_else(unsupported)?;
        let Kind::ScalarOrVector(shape) = self.kind(pointee)? else {
            return Err(unsupported());
        };
        if value.ty().lanes() != shape.lanes {
            return Err(self.b.mismatch(format!(
                "{name} is declared with {} components",
                shape.lanes
            )));
        }
        self.b.int_resize(value, self.ty(pointee)?, false)
    }
}
