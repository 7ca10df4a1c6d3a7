//! SPIR-V constants as LLVM constants, made when they are first used, and as memory.

use super::Result;
use super::function::FunctionEmitter;
use super::layout::MatrixLayout;
use super::memory::INLINE_LEAVES;
use super::slots::Pointer;
use super::types::{Kind, Types};
use crate::ffi::{self, Linkage, Value};
use splitbar_layout::pointers::read_only_space;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Constant, Declarations, Id, Type};

/// Largest constant that is laid out in memory, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 24;

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// The LLVM constant for the module-scope constant `id`.
    pub(super) fn constant(&self, id: Id) -> Result<Value<'c>> {
        if let Some(Some(value)) = self.module.materialized.borrow().get(id.0 as usize) {
            return Ok(*value);
        }
        let Some(constant) = self.module.constants.get(id) else {
            if let Some(ty) = self.module.declarations.type_of(id) {
                self.type_info(ty)?;
            }
            return self.composite_of_addresses(id);
        };
        let value = self.constant_of_type(constant, self.type_of(id)?)?;
        if let Some(slot) = self.module.materialized.borrow_mut().get_mut(id.0 as usize) {
            *slot = Some(value);
        }
        Ok(value)
    }

    /// The composite constant `id`, which has no value because addresses are in it. Recursion
    /// follows the type, whose depth is limited: constituents that are not of their member's type
    /// were refused when the constants were evaluated.
    fn composite_of_addresses(&self, id: Id) -> Result<Value<'c>> {
        use spirv::Op;
        let definition = self.module.declarations.module.def(id);
        let inst = match definition.and_then(|inst| Some((inst, inst.op()?))) {
            Some((inst, Op::ConstantComposite | Op::SpecConstantComposite)) => inst,
            Some((inst, Op::Function | Op::ConstantFunctionPointerINTEL)) => {
                return Err(self.unsupported(inst, "its address is taken"));
            }
            Some((inst, Op::ConstantSampler)) => {
                return self.constant_sampler(inst, self.type_of(id)?);
            }
            Some((inst, Op::ConstantPipeStorage)) => {
                return Err(self.unsupported(inst, "these GPUs have no such object"));
            }
            Some((inst, Op::SpecConstantOp)) => {
                return Err(self.unsupported(inst, "its value is not known before the launch"));
            }
            _ => return Err(self.undefined(id)),
        };
        let ty = self.type_of(id)?;
        let llvm = self.ty(ty)?;
        let values = self.operands(inst, 0)?;
        let fits = values
            .iter()
            .enumerate()
            .all(|(index, value)| llvm.member(index as u32) == Some(value.ty()));
        match self.kind(ty)? {
            Kind::Struct { .. } if fits => Ok(ffi::const_struct(self.b.context(), &values, false)),
            Kind::Array { .. } if fits => Ok(Value::array(llvm.element(), &values)),
            _ => Err(self.mismatch(inst, "its constituents do not match its type")),
        }
    }

    /// `constant` as a value of the type `ty`. Recursion follows the type, whose depth is limited.
    pub(crate) fn constant_of_type(&self, constant: &Constant, ty: Id) -> Result<Value<'c>> {
        let info = self.type_info(ty)?;
        let llvm = self.ty(ty)?;
        let bad = || {
            Box::new(
                Diagnostic::error(
                    Code::BadConstant,
                    format!("a constant does not match its type {ty}"),
                )
                .at_word(self.b.at.get())
                .help("run spirv-val over the module"),
            )
        };
        let parts = match (constant, &info.kind) {
            (Constant::Undef, Kind::Tensor(_)) => return Ok(llvm.undef()),
            (_, Kind::Tensor(_)) => return Err(self.tensor_value(ty)),
            (Constant::Null | Constant::Undef, Kind::Pointer { .. }) => return self.null(llvm),
            // What is undefined is some value.
            (Constant::Null | Constant::Undef, _) => return Ok(llvm.zero()),
            (Constant::Bool(value), _) => return self.b.int(llvm, u64::from(*value)),
            (Constant::Int { bits, .. }, _) => return self.b.int(llvm, *bits),
            (Constant::Float { bits, .. }, _) if llvm.is_float() && !llvm.is_vector() => {
                return Ok(llvm.float_bits(*bits));
            }
            (Constant::Float { bits, width: ..=8 }, _) => return self.b.int(llvm, *bits),
            (Constant::Float { .. }, _) => return Err(bad()),
            (Constant::Composite(parts), _) => parts,
        };
        if let (Kind::Cooperative(matrix), [every], Some(part)) =
            (&info.kind, parts.as_slice(), self.component_type(ty))
        {
            let value = self.constant_of_type(every, part)?;
            return Ok(match matrix.layout.slots {
                1 => value,
                slots => Value::vector(&vec![value; slots as usize]),
            });
        }
        if parts.len() as u64 != llvm.count() {
            return Err(bad());
        }
        let part_type = |index: usize| -> Option<Id> {
            match &info.kind {
                Kind::Array { element, .. } => Some(*element),
                Kind::Struct { members } => members.get(index).copied(),
                _ => self.component_type(ty),
            }
        };
        let mut values = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let value = self.constant_of_type(part, part_type(index).ok_or_else(bad)?)?;
            if llvm.member(index as u32) != Some(value.ty()) {
                return Err(bad());
            }
            values.push(value);
        }
        Ok(match info.kind {
            Kind::ScalarOrVector(_) => Value::vector(&values),
            Kind::Struct { .. } => ffi::const_struct(self.b.context(), &values, false),
            _ => Value::array(llvm.element(), &values),
        })
    }

    /// The component type of a vector, the column type of a matrix.
    pub(crate) fn component_type(&self, ty: Id) -> Option<Id> {
        component_type(self.module.declarations, ty)
    }

    /// Stores the constant `id` of type `ty` to fresh memory at `pointer`: large ones are copied
    /// from constant memory.
    pub(crate) fn store_constant(&mut self, pointer: &Pointer<'c>, ty: Id, id: Id) -> Result<()> {
        if self.type_info(ty)?.leaves > INLINE_LEAVES
            && let Some(bytes) = self.module.constants.get(id).and_then(|constant| {
                bytes(&self.module.types, self.module.declarations, constant, ty)
            })
        {
            return self.copy_bytes(pointer, &bytes);
        }
        let value = self.value(id)?;
        self.store(pointer, ty, value)
    }

    fn copy_bytes(&mut self, pointer: &Pointer<'c>, bytes: &[u8]) -> Result<()> {
        let size = self.b.i64(bytes.len() as u64);
        if bytes.iter().all(|b| *b == 0) {
            self.b.raw().memset(
                pointer.address,
                self.b.int_type(8).zero(),
                size,
                pointer.align,
            );
            return Ok(());
        }
        let global = self.byte_global(bytes, 16, "splitbar_constant");
        self.b
            .raw()
            .memcpy(pointer.address, pointer.align, global, 16, size);
        Ok(())
    }

    /// A constant global that holds `bytes`, in the address space of read-only data.
    pub(crate) fn byte_global(&self, bytes: &[u8], align: u32, name: &str) -> Value<'c> {
        let value = ffi::const_bytes(self.b.context(), bytes);
        let space = read_only_space(self.module.target);
        let global = ffi::add_global(self.b.module(), value.ty(), space, name);
        global.set_initializer(value);
        global.set_constant();
        global.set_linkage(Linkage::LLVMPrivateLinkage);
        global.set_alignment(align);
        global
    }
}

pub(crate) fn component_type(declarations: &Declarations<'_>, ty: Id) -> Option<Id> {
    match declarations.ty(ty)? {
        Type::Vector { component, .. } | Type::CooperativeMatrix { component, .. } => {
            Some(*component)
        }
        Type::Matrix { column, .. } => Some(*column),
        _ => None,
    }
}

/// The bytes of a constant in the memory layout of its type; `None` when it holds what has no bytes
/// (addresses) or is larger than [`MAX_BYTES`].
pub(crate) fn bytes(
    types: &Types<'_>,
    declarations: &Declarations<'_>,
    constant: &Constant,
    ty: Id,
) -> Option<Vec<u8>> {
    let size = usize::try_from(types.get(ty)?.size)
        .ok()
        .filter(|size| *size <= MAX_BYTES)?;
    let mut bytes = vec![0; size];
    lay_out(types, declarations, constant, ty, None, &mut bytes)?;
    Some(bytes)
}

/// Writes `constant` of the type `ty` to the beginning of `bytes`; `None` as for [`bytes`].
/// Recursion follows the type, whose depth is limited.
pub(super) fn lay_out(
    types: &Types<'_>,
    declarations: &Declarations<'_>,
    constant: &Constant,
    ty: Id,
    matrix: Option<MatrixLayout>,
    bytes: &mut [u8],
) -> Option<()> {
    let info = types.get(ty)?;
    let parts = match constant {
        Constant::Null | Constant::Undef => return Some(()),
        Constant::Bool(value) => {
            *bytes.first_mut()? = u8::from(*value);
            return Some(());
        }
        Constant::Int { bits, width } | Constant::Float { bits, width } => {
            let count = (*width as usize).div_ceil(8).min(8);
            bytes
                .get_mut(..count)?
                .copy_from_slice(bits.to_le_bytes().get(..count)?);
            return Some(());
        }
        Constant::Composite(parts) => parts,
    };
    for (index, part) in parts.iter().enumerate() {
        let (offset, part_type, part_matrix) = match &info.kind {
            Kind::Struct { members } => {
                let (offset, matrix) = *info.places.get(index)?;
                (offset, *members.get(index)?, matrix)
            }
            Kind::Array { element, .. } => {
                (info.stride.checked_mul(index as u64)?, *element, matrix)
            }
            Kind::ScalarOrVector(_) | Kind::Matrix { .. } if matrix.is_none() => (
                info.stride.checked_mul(index as u64)?,
                component_type(declarations, ty)?,
                None,
            ),
            _ => return None,
        };
        lay_out(
            types,
            declarations,
            part,
            part_type,
            part_matrix,
            bytes.get_mut(usize::try_from(offset).ok()?..)?,
        )?;
    }
    Some(())
}
