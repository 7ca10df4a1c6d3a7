//! Atomic instructions on texels: OpImageTexelPointer (SPIR-V 1.6, section 3.52.8) and what is done
//! through it.
//!
//! A texel has no address. So OpImageTexelPointer writes nothing, and an atomic instruction takes
//! image, coordinate and sample from its operands. AMDGPU has an instruction for each operation on
//! 32-bit integers; floats are compared and exchanged in a loop. PTX has reductions without a
//! result alone, which LLVM does not select. The operations are relaxed; fences stand around them.

use super::super::atomic::Ordering;
use super::super::function::FunctionEmitter;
use super::super::{Handled, Result, memory};
use super::access::{Access, Extra};
use super::{Shape, amdgpu};
use crate::ffi::{IntPredicate, RealPredicate, Value};
use spirv::Op;
use splitbar_passes::module::Inst;
use splitbar_plan::target::Arch;

/// The intrinsics of one operation, one for each shape.
struct Names {
    d1: &'static str,
    d2: &'static str,
    d3: &'static str,
    cube: &'static str,
    d1_array: &'static str,
    d2_array: &'static str,
    samples: &'static str,
    array_samples: &'static str,
    buffer: &'static str,
}

macro_rules! names {
    ($op:literal) => {
        Names {
            d1: concat!("llvm.amdgcn.image.atomic.", $op, ".1d"),
            d2: concat!("llvm.amdgcn.image.atomic.", $op, ".2d"),
            d3: concat!("llvm.amdgcn.image.atomic.", $op, ".3d"),
            cube: concat!("llvm.amdgcn.image.atomic.", $op, ".cube"),
            d1_array: concat!("llvm.amdgcn.image.atomic.", $op, ".1darray"),
            d2_array: concat!("llvm.amdgcn.image.atomic.", $op, ".2darray"),
            samples: concat!("llvm.amdgcn.image.atomic.", $op, ".2dmsaa"),
            array_samples: concat!("llvm.amdgcn.image.atomic.", $op, ".2darraymsaa"),
            buffer: concat!("llvm.amdgcn.struct.buffer.atomic.", $op),
        }
    };
}

impl Names {
    fn of(&self, shape: Shape) -> &'static str {
        match shape {
            Shape::D1 => self.d1,
            Shape::D2 => self.d2,
            Shape::D3 => self.d3,
            Shape::Cube | Shape::CubeArray => self.cube,
            Shape::D1Array => self.d1_array,
            Shape::D2Array => self.d2_array,
            Shape::D2Samples => self.samples,
            Shape::D2ArraySamples => self.array_samples,
            Shape::Buffer => self.buffer,
        }
    }
}

/// The operation of an instruction on 32-bit integers.
fn names(op: Op) -> Option<Names> {
    Some(match op {
        Op::AtomicExchange | Op::AtomicStore => names!("swap"),
        Op::AtomicIAdd | Op::AtomicIIncrement => names!("add"),
        Op::AtomicISub | Op::AtomicIDecrement => names!("sub"),
        Op::AtomicSMin => names!("smin"),
        Op::AtomicUMin => names!("umin"),
        Op::AtomicSMax => names!("smax"),
        Op::AtomicUMax => names!("umax"),
        Op::AtomicAnd => names!("and"),
        // A load leaves the texel as it is.
        Op::AtomicOr | Op::AtomicLoad => names!("or"),
        Op::AtomicXor => names!("xor"),
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => names!("cmpswap"),
        _ => return None,
    })
}

/// Returns true if operand 0 of `inst` points to a texel.
pub(crate) fn is_texel(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> bool {
    texel_pointer(e, inst).is_some()
}

fn texel_pointer<'m>(e: &FunctionEmitter<'_, '_, 'm>, inst: Inst<'_>) -> Option<Inst<'m>> {
    let pointer = e.module.declarations.module.def(inst.id(0).ok()?)?;
    (pointer.op() == Some(Op::ImageTexelPointer)).then_some(pointer)
}

/// A texel of an image that AMDGPU's instructions can change.
struct Texel<'c> {
    shape: Shape,
    /// Coordinates and what follows them.
    place: Vec<Value<'c>>,
}

impl<'c> Texel<'c> {
    /// From OpImageTexelPointer: pointer to the image, coordinate, sample.
    fn decode(e: &mut FunctionEmitter<'_, 'c, '_>, pointer: Inst<'_>) -> Result<Texel<'c>> {
        let place = e.pointer(pointer.id(0).map_err(Box::new)?)?;
        let kind = place.pointee.map(|ty| e.kind(ty)).transpose()?;
        let (ty, image) = match (place.pointee, kind) {
            (Some(ty), Some(super::Kind::Image(image))) => (ty, *image),
            _ => return Err(e.mismatch(pointer, "a texel of something that is not an image")),
        };
        let descriptor = e.load_with(&place, ty, memory::Access::default())?;
        let sample = e.operand(pointer, 2)?;
        let access = Access {
            image,
            descriptor,
            coordinates: e.texel_coordinates(pointer, image, &Extra::default())?,
            level: None,
            sample: Some(sample),
        };
        amdgpu::require(e, pointer, image.shape)?;
        let mut place = amdgpu::address(e, pointer, &access)?;
        let (resource, zero) = (
            amdgpu::resource(e, image.shape, access.descriptor)?,
            e.b.i32(0),
        );
        match image.shape {
            Shape::Buffer => {
                place.insert(0, resource);
                place.extend([zero, zero, zero]);
            }
            _ => place.extend([resource, zero, zero]),
        }
        Ok(Texel {
            shape: image.shape,
            place,
        })
    }

    /// The 32-bit integer that was in the texel before; `values`: the new value, and what it is
    /// compared with.
    fn change(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        names: &Names,
        values: &[Value<'c>],
    ) -> Result<Value<'c>> {
        let word = e.b.int_type(32);
        let mut arguments = values.to_vec();
        arguments.extend(&self.place);
        let name = names.of(self.shape);
        match self.shape {
            Shape::Buffer => e.b.intrinsic(name, &[word], &arguments),
            _ => {
                let resource = word.vector(8);
                e.b.intrinsic(name, &[word, word, resource], &arguments)
            }
        }
    }

    /// Puts `new(old)` in place of `old`, again and again until nobody came between; gives `old`.
    fn retry(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        new: impl FnOnce(Value<'c>) -> Result<Value<'c>>,
    ) -> Result<Value<'c>> {
        let b = e.b;
        let zero = b.i32(0);
        let first = self.change(e, &names!("or"), &[zero])?;
        let (before, again, done) = (b.block()?, e.new_block(), e.new_block());
        b.br(again);
        b.position(again);
        let old = b.phi(&[(first, before)])?;
        let seen = self.change(e, &names!("cmpswap"), &[new(old)?, old])?;
        let changed = b.icmp(IntPredicate::LLVMIntEQ, seen, old)?;
        old.add_incoming(seen, b.block()?);
        b.cond_br(changed, done, again)?;
        b.position(done);
        Ok(old)
    }
}

/// Lowers an atomic instruction on a texel.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let Some(pointer) = texel_pointer(e, inst) else {
        return Ok(Handled::No);
    };
    if matches!(e.module.target.arch, Arch::Nvptx(_)) {
        let problem = e.unsupported_on_target(inst, format!("{} on a texel", inst.name()));
        return Err(Box::new(
            problem
                .because(
                    "PTX has only atomics on texels without a result (sured), and a surface object has no addresses",
                )
                .help("keep these texels in a storage buffer"),
        ));
    }
    let b = e.b;
    let texel = Texel::decode(e, pointer)?;
    let ordering = Ordering::from_semantics(e, inst, 1, 2, true)?;
    let word = b.int_type(32);
    let operand = |index| b.bitcast(e.operand(inst, index)?, word);
    let values = match op {
        Op::AtomicLoad => vec![b.i32(0)],
        Op::AtomicIIncrement | Op::AtomicIDecrement => vec![b.i32(1)],
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
            vec![operand(4)?, operand(5)?]
        }
        _ => vec![operand(3)?],
    };
    ordering.before(e)?;
    let old = match (names(op), op) {
        (Some(names), _) => texel.change(e, &names, &values)?,
        (None, Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT) => {
            let float = b.float_type(32);
            let value = e.operand(inst, 3)?;
            texel.retry(e, |old| {
                let old = b.bitcast(old, float)?;
                let new = match op {
                    Op::AtomicFAddEXT => b.fadd(old, value)?,
                    Op::AtomicFMinEXT => {
                        let keep = b.fcmp(RealPredicate::LLVMRealOLE, old, value)?;
                        b.select(keep, old, value)?
                    }
                    _ => {
                        let keep = b.fcmp(RealPredicate::LLVMRealOGE, old, value)?;
                        b.select(keep, old, value)?
                    }
                };
                b.bitcast(new, word)
            })?
        }
        (None, _) => return Ok(Handled::No),
    };
    ordering.after(e)?;
    if op != Op::AtomicStore {
        let old = b.bitcast(old, e.result_ty(inst)?)?;
        e.bind(inst, old)?;
    }
    Ok(Handled::Yes)
}
