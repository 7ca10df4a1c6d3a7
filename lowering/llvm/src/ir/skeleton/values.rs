//! The types and constants of the skeleton, and the memory that it reads and writes.

use super::words::Words;
use crate::ffi::{Opcode, Ty, Value};
use spirv::{Op, StorageClass};
use splitbar_plan::target::Arch;
use std::collections::HashMap;

/// What a value is in the skeleton.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A Boolean: `i1`.
    Bool,
    /// An integer of 8, 16, 32 or 64 bits.
    Int(u32),
    /// Anything else: a number of floating point, with which nobody calculates.
    Other,
}

impl Shape {
    /// What a value of an LLVM type is.
    pub(super) fn summarize(ty: Ty<'_>) -> Shape {
        match ty.int_width() {
            1 => Shape::Bool,
            width @ (8 | 16 | 32 | 64) => Shape::Int(width),
            _ => Shape::Other,
        }
    }
}

/// The types and constants of a skeleton.
#[derive(Default)]
pub(super) struct Values<'c> {
    /// A number of their own for constants that are no integers, and for operations: nothing is
    /// equal to another one that is not the same.
    tags: HashMap<String, u32>,
    next_tag: u32,
    /// Workgroup variables by the LLVM variable.
    pub(super) shared: HashMap<Value<'c>, u32>,
}

/// A type of the skeleton.
pub(super) fn ty(words: &mut Words, shape: Shape) -> u32 {
    match shape {
        Shape::Bool => words.ty(Op::TypeBool, &[]),
        Shape::Int(width) => words.ty(Op::TypeInt, &[width, 0]),
        Shape::Other => words.ty(Op::TypeFloat, &[32]),
    }
}

/// The integer constant of `width` bits.
pub(super) fn int(words: &mut Words, width: u32, bits: u64) -> u32 {
    let ty = ty(words, Shape::Int(width));
    match width {
        64 => words.constant(Op::Constant, ty, &[bits as u32, (bits >> 32) as u32]),
        32 => words.constant(Op::Constant, ty, &[bits as u32]),
        _ => words.constant(Op::Constant, ty, &[(bits & ((1 << width) - 1)) as u32]),
    }
}

/// The Boolean constant.
pub(super) fn boolean(words: &mut Words, value: bool) -> u32 {
    let ty = ty(words, Shape::Bool);
    let op = if value {
        Op::ConstantTrue
    } else {
        Op::ConstantFalse
    };
    words.constant(op, ty, &[])
}

/// `id` of `from` as a value of `to`, by operations through which nobody sees where they are not
/// exact.
pub(super) fn convert(words: &mut Words, id: u32, from: Shape, to: Shape) -> u32 {
    let result = ty(words, to);
    match (from, to) {
        _ if from == to => id,
        (Shape::Int(_), Shape::Int(_)) => words.result(Op::UConvert, result, &[id]),
        (Shape::Int(_), Shape::Other) => words.result(Op::ConvertUToF, result, &[id]),
        (Shape::Other, Shape::Int(_)) => words.result(Op::ConvertFToU, result, &[id]),
        (Shape::Bool, Shape::Int(width)) => {
            let (one, zero) = (int(words, width, 1), int(words, width, 0));
            words.result(Op::Select, result, &[id, one, zero])
        }
        (Shape::Int(width), Shape::Bool) => {
            let (one, zero) = (int(words, width, 1), int(words, width, 0));
            let integer = ty(words, from);
            let low = words.result(Op::BitwiseAnd, integer, &[id, one]);
            words.result(Op::INotEqual, result, &[low, zero])
        }
        (Shape::Bool, _) => {
            let (one, zero) = (number(words, 1), number(words, 0));
            words.result(Op::Select, result, &[id, one, zero])
        }
        (_, Shape::Bool) => {
            let zero = number(words, 0);
            words.result(Op::FUnordNotEqual, result, &[id, zero])
        }
        (Shape::Other, Shape::Other) => id,
    }
}

/// The constant that stands for number `tag`.
pub(super) fn number(words: &mut Words, tag: u32) -> u32 {
    let ty = ty(words, Shape::Other);
    words.constant(Op::Constant, ty, &[tag])
}

impl<'c> Values<'c> {
    /// The constant for whatever is called `name`.
    pub(super) fn tag(&mut self, words: &mut Words, name: String) -> u32 {
        let next = &mut self.next_tag;
        let tag = *self.tags.entry(name).or_insert_with(|| {
            *next += 1;
            *next + 1 // 0 and 1 are Booleans
        });
        number(words, tag)
    }

    /// A constant that is equal to no other.
    pub(super) fn unique(&mut self, words: &mut Words) -> u32 {
        self.next_tag += 1;
        number(words, self.next_tag + 1)
    }

    /// The constant for a constant of LLVM that is no integer.
    fn named(&mut self, words: &mut Words, value: Value<'c>) -> u32 {
        let name = value.name();
        let name = if name.is_empty() {
            value.print()
        } else {
            format!("@{name}")
        };
        self.tag(words, name)
    }

    /// A constant of LLVM, as what it is.
    pub(super) fn constant(&mut self, words: &mut Words, value: Value<'c>) -> u32 {
        let shape = Shape::summarize(value.ty());
        if value.is_undef() {
            let ty = ty(words, shape);
            return words.constant(Op::Undef, ty, &[]);
        }
        match (shape, value.as_u64()) {
            (Shape::Bool, Some(bits)) => boolean(words, bits != 0),
            (Shape::Int(width), Some(bits)) => int(words, width, bits),
            (Shape::Bool | Shape::Int(_), None) => {
                let tag = self.named(words, value);
                convert(words, tag, Shape::Other, shape)
            }
            (Shape::Other, _) => self.named(words, value),
        }
    }
}

/// The memory that a pointer leads to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Memory<'c> {
    /// A variable of the workgroup.
    Shared(Value<'c>),
    /// Memory of a class, which the address does not say more of.
    Class(StorageClass),
    /// Memory of the invocation.
    Private,
}

/// The memory that `pointer` leads to. Address spaces: LLVM AMDGPUUsage and NVPTXUsage, "Address
/// Spaces".
pub(super) fn memory<'c>(pointer: Value<'c>, arch: &Arch) -> Memory<'c> {
    const MOST_STEPS: usize = 64;
    let mut at = pointer;
    let mut class = None;
    for _ in 0..MOST_STEPS {
        let here = space(at.ty().address_space(), arch);
        if here != Memory::Class(StorageClass::Generic) || class.is_none() {
            class = Some(here);
        }
        if at.opcode() == Some(Opcode::LLVMAlloca) {
            return Memory::Private;
        }
        if at.is_global() && here == Memory::Class(StorageClass::Workgroup) {
            return Memory::Shared(at);
        }
        let passes = matches!(
            at.opcode().or_else(|| at.constant_opcode()),
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast)
        );
        match at.operands().first() {
            Some(base) if passes => at = *base,
            _ => break,
        }
    }
    class.unwrap_or(Memory::Class(StorageClass::Generic))
}

fn space<'c>(space: u32, arch: &Arch) -> Memory<'c> {
    Memory::Class(match (arch, space) {
        (_, 1) => StorageClass::CrossWorkgroup,
        (_, 3) => StorageClass::Workgroup,
        (Arch::Amdgpu(_), 4 | 6) | (Arch::Nvptx(_), 4 | 101) => StorageClass::UniformConstant,
        (_, 5) => return Memory::Private,
        (Arch::Amdgpu(_), 7..=9) => StorageClass::CrossWorkgroup,
        _ => StorageClass::Generic,
    })
}
