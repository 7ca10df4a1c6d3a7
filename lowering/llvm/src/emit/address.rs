//! Constants that hold addresses of module-scope variables: OpSpecConstantOp on pointers (SPIR-V
//! 3.49.7; the Kernel capability has it), and initializers with such addresses in them. They have
//! no bytes before the program is loaded, so they become LLVM constants, which relocations fill in.

use super::Result;
use super::constant;
use super::layout;
use super::module::Emission;
use super::slots::{Pointer, Slot};
use super::types::{self, Kind};
use super::uses::is_made_of_others;
use crate::ffi::{self, Value};
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::facts::Chain;
use splitbar_passes::module::{Constant, Id, Inst};

/// Where an address lies in the bytes of an initializer.
struct Relocation<'c> {
    offset: u64,
    address: Value<'c>,
}

impl<'c> Emission<'_, 'c, '_> {
    /// The OpSpecConstantOp `inst`, which no evaluation could give a value because an operand is an
    /// address.
    ///
    /// # Errors
    /// `UnsupportedInstruction` for an operation that has no form as a relocation, `TypeMismatch`,
    /// `MissingOperand`.
    pub(super) fn address_operation(&self, inst: Inst<'_>) -> Result<Slot<'c>> {
        let ty = inst
            .result_type()
            .ok_or_else(|| self.b.internal("a constant without a type"))?;
        let info = types::require(&self.module.types, self.module.declarations, ty)?;
        let to = self
            .module
            .types
            .value(ty)
            .ok_or_else(|| self.b.mismatch(format!("{ty} is not the type of a value")))?;
        let op = inst.operand(0).ok().and_then(Op::from_u32);
        let argument = |index: usize| self.address_operand(inst, inst.id(index + 1)?);
        let is_null = |id: Id| matches!(self.module.constants.get(id), Some(Constant::Null));
        let chain = op.zip(inst.operands().get(1..));
        let chain = chain.and_then(|(op, operands)| Chain::decode(op, operands));
        let value = match op {
            _ if let Some(chain) = chain.filter(|chain| chain.base_type.is_none()) => {
                let bytes = self.constant_offset(inst, chain)?;
                ffi::const_offset(argument(0)?, self.b.i64(bytes as u64))
            }
            // Whatever null is where it comes from, it is 0 among generic addresses.
            Some(Op::PtrCastToGeneric) if inst.id(1).is_ok_and(is_null) => Some(to.zero()),
            Some(Op::Bitcast | Op::PtrCastToGeneric | Op::GenericCastToPtr) => {
                ffi::const_cast(argument(0)?, to)
            }
            Some(Op::ConvertPtrToU | Op::ConvertUToPtr) => ffi::const_cast(argument(0)?, to),
            Some(Op::IAdd) => ffi::const_sum(argument(0)?, argument(1)?, false),
            Some(Op::ISub) => ffi::const_sum(argument(0)?, argument(1)?, true),
            _ => None,
        };
        let Some(value) = value.filter(|value| value.ty() == to) else {
            let name = op.map_or_else(
                || "an unknown operation".to_owned(),
                |op| format!("Op{op:?}"),
            );
            return Err(Box::new(
                Diagnostic::error(
                    Code::UnsupportedInstruction,
                    format!("OpSpecConstantOp of {name} is not lowered: an operand is an address"),
                )
                .at_word(inst.offset)
                .because("the loader can only add a constant to an address"),
            ));
        };
        Ok(match info.kind {
            Kind::Pointer { class, pointee } => Slot::Pointer(Pointer {
                address: value,
                pointee,
                class,
                align: 1,
                matrix: None,
                qualifiers: Default::default(),
            }),
            _ => Slot::Value(value),
        })
    }

    /// A scalar or pointer constant as an LLVM constant.
    fn address_operand(&self, user: Inst<'_>, id: Id) -> Result<Value<'c>> {
        match self.globals.get(&id) {
            Some(Slot::Pointer(pointer)) => return Ok(pointer.address),
            Some(Slot::Value(value)) => return Ok(*value),
            _ => {}
        }
        let ty = self.module.declarations.type_of(id);
        let llvm = ty.and_then(|ty| self.module.types.value(ty));
        match (self.module.constants.get(id), llvm) {
            // Null is another address in workgroup and private memory, and no base of anything.
            (Some(Constant::Null), Some(ty))
                if !ty.is_pointer() || !matches!(ty.address_space(), 3 | 5) =>
            {
                Ok(ty.zero())
            }
            (Some(Constant::Int { bits, .. }), Some(ty)) if ty.is_int() => Ok(ty.int(*bits)),
            _ => Err(Box::new(
                Diagnostic::error(
                    Code::UnsupportedInstruction,
                    format!(
                        "{} is not lowered: {id} is not an address here",
                        user.name()
                    ),
                )
                .at_word(user.offset),
            )),
        }
    }

    /// Bytes from the base of an access chain with constant indexes to what it points to.
    fn constant_offset(&self, inst: Inst<'_>, chain: Chain<'_>) -> Result<i64> {
        let declarations = self.module.declarations;
        let bad = || {
            Box::new(
                Diagnostic::error(
                    Code::BadConstant,
                    "a constant access chain has an index outside of its base",
                )
                .at_word(inst.offset)
                .help("run spirv-val over the module"),
            )
        };
        let pointer = declarations.type_of(chain.base).ok_or_else(bad)?;
        let Some(Kind::Pointer {
            pointee: Some(pointee),
            ..
        }) = self.module.types.get(pointer).map(|info| &info.kind)
        else {
            return Err(bad());
        };
        let index = |id: Id| match self.module.constants.get(id) {
            Some(Constant::Int { bits, width }) => {
                let unused = 64_u32.saturating_sub(*width).min(63);
                Some(((*bits << unused) as i64) >> unused)
            }
            Some(Constant::Null) => Some(0),
            _ => None,
        };
        let mut offset = 0_i64;
        if let Some(element) = chain.element {
            let extent = self.module.types.get(*pointee).ok_or_else(bad)?.extent();
            let stride = layout::stride(declarations, pointer, extent);
            offset = index(element).ok_or_else(bad)?.wrapping_mul(stride as i64);
        }
        let mut ty = *pointee;
        for word in chain.indexes {
            let info = types::require(&self.module.types, declarations, ty)?;
            let number = index(Id(*word)).ok_or_else(bad)?;
            let bytes = if let Kind::Struct { members } = &info.kind {
                let member = usize::try_from(number).map_err(|_| bad())?;
                ty = *members.get(member).ok_or_else(bad)?;
                info.places.get(member).ok_or_else(bad)?.0 as i64
            } else {
                ty = match &info.kind {
                    Kind::Array { element, .. } | Kind::RuntimeArray { element } => *element,
                    _ => constant::component_type(declarations, ty).ok_or_else(bad)?,
                };
                number.wrapping_mul(info.stride as i64)
            };
            offset = offset.wrapping_add(bytes);
        }
        Ok(offset)
    }

    /// The bytes of the initializer `id` of type `ty` with addresses in them, as a packed structure
    /// of bytes and pointers.
    ///
    /// # Errors
    /// `UnsupportedInstruction` when it is too large, or holds an address that a loader cannot fill
    /// in.
    pub(super) fn initializer_with_addresses(&self, id: Id, ty: Id) -> Result<Value<'c>> {
        let size = types::require(&self.module.types, self.module.declarations, ty)?.size;
        let mut places = Vec::new();
        let bytes = usize::try_from(size)
            .ok()
            .filter(|size| *size <= constant::MAX_BYTES)
            .map(|size| vec![0; size]);
        let laid_out = bytes.and_then(|mut bytes| {
            self.lay_out(id, ty, 0, &mut bytes, &mut places)?;
            Some(bytes)
        });
        places.sort_by_key(|place| place.offset);
        let value = laid_out.and_then(|bytes| self.pack(&bytes, &places));
        value.ok_or_else(|| {
            let offset = self.module.declarations.module.def(id).map(|inst| inst.offset);
            Box::new(
                Diagnostic::error(
                    Code::UnsupportedInstruction,
                    format!("the initializer {id} is not lowered"),
                )
                .at_word(offset)
                .because(
                    "it is too large, or contains a value that a loader cannot set: only whole addresses of program-scope data are possible",
                ),
            )
        })
    }

    /// Recursion follows the type, whose depth is limited.
    fn lay_out(
        &self,
        id: Id,
        ty: Id,
        at: u64,
        bytes: &mut [u8],
        places: &mut Vec<Relocation<'c>>,
    ) -> Option<()> {
        let declarations = self.module.declarations;
        let info = self.module.types.get(ty)?;
        if let Some(constant) = self.module.constants.get(id) {
            let to = bytes.get_mut(usize::try_from(at).ok()?..)?;
            return constant::lay_out(&self.module.types, declarations, constant, ty, None, to);
        }
        let address = match self.globals.get(&id) {
            Some(Slot::Pointer(pointer)) => Some(pointer.address),
            Some(Slot::Value(value)) => Some(*value),
            _ => None,
        };
        if let Some(address) = address {
            let loadable = match info.kind {
                Kind::Pointer { class, .. } => class != spirv::StorageClass::Workgroup,
                _ => address.ty().is_int() && address.ty().int_width() == 64,
            };
            places.push(Relocation {
                offset: at,
                address,
            });
            return loadable.then_some(());
        }
        let inst = declarations
            .module
            .def(id)
            .filter(|inst| inst.op() != Some(Op::SpecConstantOp) && is_made_of_others(inst.op()))?;
        for (index, part) in inst.operands().iter().enumerate() {
            let (offset, part_type) = match &info.kind {
                Kind::Struct { members } => (info.places.get(index)?.0, *members.get(index)?),
                Kind::Array { element, .. } => (info.stride.checked_mul(index as u64)?, *element),
                _ => return None,
            };
            self.lay_out(Id(*part), part_type, at.checked_add(offset)?, bytes, places)?;
        }
        Some(())
    }

    /// `bytes` with `places` filled in; `None` when they overlap or lie outside.
    fn pack(&self, bytes: &[u8], places: &[Relocation<'c>]) -> Option<Value<'c>> {
        let context = self.b.context();
        let mut parts = Vec::with_capacity(places.len() * 2 + 1);
        let mut done = 0;
        for place in places {
            let start = usize::try_from(place.offset).ok()?;
            let between = bytes.get(done..start)?;
            if !between.is_empty() {
                parts.push(ffi::const_bytes(context, between));
            }
            parts.push(place.address);
            done = start.checked_add(layout::POINTER_BYTES as usize)?;
        }
        let rest = bytes.get(done..)?;
        if !rest.is_empty() {
            parts.push(ffi::const_bytes(context, rest));
        }
        Some(ffi::const_struct(context, &parts, true))
    }
}
