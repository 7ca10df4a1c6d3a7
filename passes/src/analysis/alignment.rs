//! The known alignment of the memory that pointers point to.

use super::layout::{Alignment, Extent, Extents, buffer_align, stride, structure, variable_align};
use super::uses::{is_shared_block, pointee};
use super::workgroup_memory::VARIABLE_ALIGN;
use crate::module::facts::Chain;
use crate::module::{Constants, Declarations, Id, Inst, Type, Variable};
use spirv::{Decoration, MemoryAccess, Op, StorageClass};

/// Longest chain of address computations that is followed.
const MOST_STEPS: u32 = 64;

/// The known alignments of the pointers of a module.
pub struct Alignments<'s, 'm> {
    declarations: &'s Declarations<'m>,
    constants: &'s Constants,
    extents: Extents<'s, 'm>,
}

/// Where a walk through a type is.
#[derive(Copy, Clone)]
struct Walk {
    ty: Id,
    align: Alignment,
}

impl<'s, 'm> Alignments<'s, 'm> {
    /// Those of a module.
    pub fn new(declarations: &'s Declarations<'m>, constants: &'s Constants) -> Self {
        Alignments {
            declarations,
            constants,
            extents: Extents::new(declarations, constants),
        }
    }

    /// The alignment of what `access` touches through `pointer`, a value of type `ty`: by where the
    /// pointer leads, and by the memory operands from operand `operands` on. Without the operand
    /// Aligned a place is aligned as its components are.
    pub fn of_access(
        &mut self,
        access: Inst<'_>,
        pointer: Id,
        operands: usize,
        ty: Id,
    ) -> Alignment {
        let mask = access.operands().get(operands).copied().unwrap_or(0); // none: no operand
        let said = match mask & MemoryAccess::ALIGNED.bits() {
            0 => {
                let component = match self.declarations.ty(ty) {
                    Some(Type::Vector { component, .. }) => *component,
                    _ => ty,
                };
                self.extents.of(component).map(|extent| extent.align)
            }
            _ => access.operand(operands + 1).ok().and_then(Alignment::new),
        };
        self.of(pointer).max(said.unwrap_or(Alignment::BYTE))
    }

    /// The alignment of the place that `pointer` leads to; that of a byte where nothing is known.
    pub fn of(&mut self, pointer: Id) -> Alignment {
        self.followed(pointer, MOST_STEPS)
            .unwrap_or(Alignment::BYTE)
    }

    fn followed(&mut self, pointer: Id, steps: u32) -> Option<Alignment> {
        let steps = steps.checked_sub(1)?;
        if let Some(variable) = self.declarations.variable(pointer) {
            return self.of_variable(variable);
        }
        let inst = self.declarations.module.def(pointer)?;
        let id = |index| inst.id(index).ok();
        if let Some(chain) = inst.chain() {
            return self.chain(chain, steps);
        }
        match inst.op()? {
            Op::CopyObject => self.followed(id(0)?, steps),
            Op::Select => {
                let (yes, no) = (id(1)?, id(2)?);
                Some(self.followed(yes, steps)?.min(self.followed(no, steps)?))
            }
            _ => None, // an address from elsewhere
        }
    }

    fn chain(&mut self, chain: Chain<'_>, steps: u32) -> Option<Alignment> {
        if chain.base_type.is_some() {
            return None; // untyped pointers are not asked for yet
        }
        let mut align = self.followed(chain.base, steps)?;
        if let Some(element) = chain.element {
            let pointer = self.declarations.type_of(chain.base)?;
            let extent = self.extents.of(self.declarations.pointee_of(chain.base)?)?;
            let bytes = stride(self.declarations, pointer, extent);
            align = self.stepped(align, bytes, element);
        }
        self.walked(chain.base, align, chain.indexes)
    }

    fn of_variable(&mut self, variable: &Variable<'_>) -> Option<Alignment> {
        match variable.class {
            StorageClass::StorageBuffer | StorageClass::Uniform => {
                let content = pointee(self.declarations, variable)?;
                Some(buffer_align(self.natural(content)?))
            }
            StorageClass::Workgroup if is_shared_block(self.declarations, variable) => {
                Some(VARIABLE_ALIGN)
            }
            StorageClass::Workgroup => {
                let extent = self.extents.of(pointee(self.declarations, variable)?)?;
                let natural = extent.align.max(VARIABLE_ALIGN);
                Some(variable_align(self.declarations, variable.id, natural))
            }
            _ => None, // not asked for yet
        }
    }

    /// The natural alignment of `ty`, also where it has no size.
    fn natural(&mut self, ty: Id) -> Option<Alignment> {
        match self.declarations.ty(ty)? {
            Type::RuntimeArray { element } | Type::Array { element, .. } => self.natural(*element),
            Type::Struct { members } => {
                let members = members.iter().map(|member| self.natural(*member));
                let aligns: Option<Vec<Alignment>> = members.collect();
                Some(aligns?.into_iter().max().unwrap_or(Alignment::BYTE)) // an empty one
            }
            _ => Some(self.extents.of(ty)?.align),
        }
    }

    /// The alignment behind `indexes` into what `base`, aligned to `align`, points to.
    fn walked(&mut self, base: Id, align: Alignment, indexes: &[u32]) -> Option<Alignment> {
        let mut walk = Walk {
            ty: self.declarations.pointee_of(base)?,
            align,
        };
        for index in indexes {
            walk = self.part_of(walk, Id(*index))?;
        }
        Some(walk.align)
    }

    fn part_of(&mut self, walk: Walk, index: Id) -> Option<Walk> {
        let declarations = self.declarations;
        let (ty, align) = match declarations.ty(walk.ty)? {
            Type::Struct { members } => {
                let number = self.constants.as_u32(index)? as usize;
                let offset = self.offset(walk.ty, members, number)?;
                (*members.get(number)?, walk.align.at_offset(offset))
            }
            Type::Array { element, .. } | Type::RuntimeArray { element } => {
                // Each descriptor of an array has an address of its own.
                let align = if self.is_block(*element) {
                    walk.align
                } else {
                    let extent = self.extents.of(*element)?;
                    let bytes = stride(declarations, walk.ty, extent);
                    self.stepped(walk.align, bytes, index)
                };
                (*element, align)
            }
            Type::Vector { component, .. } => {
                let bytes = self.extents.of(*component)?.size;
                (*component, self.stepped(walk.align, bytes, index))
            }
            _ => return None, // parts of matrices lie as their structure says
        };
        Some(Walk { ty, align })
    }

    /// Returns true if the type is a buffer's block, or an array of those.
    fn is_block(&self, ty: Id) -> bool {
        match self.declarations.ty(ty) {
            Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
                self.is_block(*element)
            }
            _ => [Decoration::Block, Decoration::BufferBlock]
                .iter()
                .any(|block| self.declarations.decoration(ty, *block).is_some()),
        }
    }

    /// Bytes from the beginning of the structure to member `number`.
    fn offset(&mut self, structure_type: Id, members: &[Id], number: usize) -> Option<u64> {
        let mut extents = Vec::with_capacity(members.len());
        for member in members {
            let extent = match self.declarations.ty(*member)? {
                // It has no size of its own, and ends its structure.
                Type::RuntimeArray { element } => Extent {
                    size: 0,
                    ..self.extents.of(*element)?
                },
                _ => self.extents.of(*member)?,
            };
            extents.push((*member, extent));
        }
        let (_, places) = structure(self.declarations, structure_type, &extents);
        Some(places.get(number)?.0)
    }

    /// The alignment behind `index` steps of `bytes`.
    fn stepped(&self, align: Alignment, bytes: u64, index: Id) -> Alignment {
        let steps = self.constants.as_u32(index).map_or(1, u64::from);
        align.at_offset(bytes.saturating_mul(steps))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::module::{SpecValues, assemble};

    const MODULE: &str = "; Version: 1.6
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %buffer %buffers %shared
OpDecorate %block Block
OpDecorate %small Block
OpMemberDecorate %small 0 Offset 0
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 4
OpMemberDecorate %block 2 Offset 32
OpDecorate %words ArrayStride 4
OpDecorate %vectors ArrayStride 16
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%vector = OpTypeVector %uint 4
%c0 = OpConstant %uint 0
%c1 = OpConstant %uint 1
%c2 = OpConstant %uint 2
%c3 = OpConstant %uint 3
%n = OpConstant %uint 8
%words = OpTypeArray %uint %n
%vectors = OpTypeRuntimeArray %vector
%block = OpTypeStruct %uint %vector %vectors
%blocks = OpTypeArray %block %n
%small = OpTypeStruct %words
%bytes_pointer = OpTypePointer StorageBuffer %small
%buffer_pointer = OpTypePointer StorageBuffer %block
%buffers_pointer = OpTypePointer StorageBuffer %blocks
%shared_pointer = OpTypePointer Workgroup %words
%to_word = OpTypePointer StorageBuffer %uint
%to_vector = OpTypePointer StorageBuffer %vector
%to_shared = OpTypePointer Workgroup %uint
%buffer = OpVariable %buffer_pointer StorageBuffer
%buffers = OpVariable %buffers_pointer StorageBuffer
%bytes = OpVariable %bytes_pointer StorageBuffer
%shared = OpVariable %shared_pointer Workgroup
%main = OpFunction %void None %fn
%entry = OpLabel
%i = OpIAdd %uint %c1 %c2
%is = OpIEqual %bool %i %c0
";

    #[test]
    fn places_are_as_aligned_as_their_way() {
        for (way, expected) in [
            ("OpCopyObject %buffer_pointer %buffer", 16),
            ("OpAccessChain %to_word %buffer %c0", 16),
            // A buffer of words is aligned as they are.
            ("OpAccessChain %to_word %bytes %c0 %c0", 4),
            ("OpAccessChain %to_vector %buffer %c1", 4),
            ("OpAccessChain %to_vector %buffer %c2 %i", 16),
            ("OpAccessChain %to_word %buffer %c2 %i %c2", 8),
            ("OpAccessChain %to_word %buffer %c2 %i %i", 4),
            // Blocks of an array of descriptors are apart, whatever their size.
            ("OpAccessChain %buffer_pointer %buffers %i", 16),
            ("OpAccessChain %to_word %buffers %c3 %c0", 16),
            ("OpAccessChain %to_shared %shared %c2", 8),
            ("OpAccessChain %to_shared %shared %i", 4),
            ("OpSelect %to_vector %is %whole %part", 4),
            ("OpUndef %to_vector", 1),
        ] {
            let text = format!(
                "{}%whole = OpAccessChain %to_vector %buffer %c2 %c1
                %part = OpAccessChain %to_vector %buffer %c1
                %place = {way}\nOpReturn\nOpFunctionEnd",
                MODULE
            );
            let assembled = assemble(&text).unwrap();
            let module = assembled.module().unwrap();
            let mut problems = Diagnostics::new();
            let declarations = Declarations::new(&module, &mut problems);
            let constants =
                Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
            assert!(!problems.has_errors(), "{problems}");
            let place = assembled.names["place"];
            let known = Alignments::new(&declarations, &constants).of(place);
            assert_eq!(known.bytes(), expected, "{way}");
        }
    }
}
