//! Builds the table of the types of a module.

use super::{Kind, MAX_DEPTH, TypeInfo, Types, id_count};
use crate::image::{self, Image};
use crate::matrix::Matrix;
use crate::pointers::address_space;
use crate::scalar::{Scalar, VectorType};
use crate::tensor::{self, Tensor};
use crate::tensor_layout::TensorObject;
use crate::waves::Waves;
use spirv::Op;
use splitbar_passes::analysis::layout::{self, Alignment, Extent};
use splitbar_passes::module::joint_matrix::BFLOAT16_CAPABILITY;
use splitbar_passes::module::{Constants, Declarations, FloatFormat, Id, Type};
use splitbar_target::Target;

impl Types {
    /// Builds the table. `descriptors`: bytes from one descriptor of an array of images or tensors
    /// to the next, where the kernel's binary interface has one distance for all
    /// ([`crate::abi::AbiForm::descriptor_bytes`]).
    pub fn build(
        declarations: &Declarations<'_>,
        constants: &Constants,
        target: &Target,
        waves: Waves,
        descriptors: Option<u32>,
    ) -> Types {
        let mut table = Table {
            declarations,
            constants,
            target,
            waves,
            descriptors: descriptors.map_or(0, u64::from),
            kernel: declarations.has_capability(spirv::Capability::Kernel),
            types: Types {
                index: vec![u32::MAX; id_count(declarations)],
                infos: Vec::new(),
            },
        };
        for inst in declarations.module.instructions() {
            if inst.op() == Some(Op::Function) {
                break;
            }
            // A structure may hold a pointer to itself: OpTypeForwardPointer names it before its
            // OpTypePointer.
            let (id, opcode) = match (inst.op(), inst.result()) {
                (Some(Op::TypeForwardPointer), _) => match inst.id(0) {
                    Ok(id) => (id, Op::TypePointer as u16),
                    Err(_) => continue,
                },
                (_, Some(id)) => (id, inst.opcode()),
                (_, None) => continue,
            };
            let Some(ty) = declarations.ty(id) else {
                continue;
            };
            let info = table.one(id, ty, opcode);
            let types = &mut table.types;
            if let Some(slot) = types.index.get_mut(id.0 as usize) {
                *slot = types.infos.len() as u32;
                types.infos.push((id, info));
            }
        }
        table.types
    }
}

/// A table that is being built.
struct Table<'a, 'm> {
    declarations: &'a Declarations<'m>,
    constants: &'a Constants,
    target: &'a Target,
    waves: Waves,
    /// Bytes that a descriptor of an image or a tensor takes at least.
    descriptors: u64,
    /// True if vectors lie as OpenCL has them.
    kernel: bool,
    types: Types,
}

impl Table<'_, '_> {
    fn get(&self, id: Id) -> Option<&TypeInfo> {
        self.types.get(id)
    }

    /// A scalar or vector.
    fn plain(&self, scalar: Scalar, lanes: u32) -> TypeInfo {
        let element = Extent::scalar(scalar.bits());
        let extent = element.vector(lanes, self.kernel);
        TypeInfo {
            is_value: true,
            size: extent.size,
            align: extent.align,
            leaves: 1,
            depth: u32::from(lanes > 1),
            stride: element.size,
            ..TypeInfo::not_a_value(Kind::ScalarOrVector(VectorType { scalar, lanes }))
        }
    }

    /// What products read elements of cooperative matrices as: SPV_INTEL_joint_matrix has bfloat16
    /// in integers.
    fn factor(&self, component: Scalar) -> Scalar {
        let capabilities = &self.declarations.capabilities;
        match component {
            Scalar::Int { width: 16, .. }
                if capabilities
                    .iter()
                    .any(|(number, _)| *number == BFLOAT16_CAPABILITY) =>
            {
                Scalar::Float {
                    width: 16,
                    format: FloatFormat::BFloat16,
                }
            }
            other => other,
        }
    }

    /// The address of something, or of its descriptor: `size` bytes in memory.
    fn address(&self, kind: Kind, size: u64, align: Alignment) -> TypeInfo {
        TypeInfo {
            is_value: true,
            size,
            align,
            leaves: 1,
            ..TypeInfo::not_a_value(kind)
        }
    }

    /// The type `id`, which the instruction with this opcode declares. Its parts are in the table.
    fn one(&self, id: Id, ty: &Type, opcode: u16) -> TypeInfo {
        self.lowered(id, ty)
            .unwrap_or_else(|| TypeInfo::not_a_value(Kind::Other(opcode)))
    }

    /// `None`: it is not lowered.
    fn lowered(&self, id: Id, ty: &Type) -> Option<TypeInfo> {
        Some(match ty {
            Type::Void => TypeInfo::not_a_value(Kind::Void),
            Type::Bool => self.plain(Scalar::Bool, 1),
            Type::Int { width, signed } => {
                let (width, signed) = (*width, *signed);
                matches!(width, 8 | 16 | 32 | 64)
                    .then(|| self.plain(Scalar::Int { width, signed }, 1))?
            }
            Type::Float { width, format } => {
                use FloatFormat::Ieee;
                let (width, format) = (*width, *format);
                let known = match format {
                    Ieee => matches!(width, 16 | 32 | 64),
                    _ => width <= 16, // as wide as the format says
                };
                known.then(|| self.plain(Scalar::Float { width, format }, 1))?
            }
            Type::Vector { component, count } => match self.get(*component)?.kind {
                Kind::ScalarOrVector(VectorType { scalar, lanes: 1 }) => self.plain(scalar, *count),
                _ => return None,
            },
            Type::Matrix { column, count } => self.matrix(*column, *count)?,
            Type::Array { element, length } => self.array(id, *element, *length)?,
            Type::RuntimeArray { element } => {
                let info = self.get(*element)?;
                if matches!(info.kind, Kind::Other(_)) {
                    return None;
                }
                TypeInfo {
                    align: info.align,
                    depth: info.depth + 1,
                    stride: layout::stride(self.declarations, id, info.extent()),
                    ..TypeInfo::not_a_value(Kind::RuntimeArray { element: *element })
                }
            }
            Type::Struct { members } => self.structure(id, members)?,
            Type::Pointer { class, pointee } => {
                address_space(self.target, *class)?;
                let Extent { size, align } = layout::POINTER;
                let (class, pointee) = (*class, *pointee);
                self.address(Kind::Pointer { class, pointee }, size, align)
            }
            Type::Function { .. } => TypeInfo::not_a_value(Kind::Function),
            Type::CooperativeMatrix {
                component,
                operands,
            } => self.cooperative_matrix(*component, *operands)?,
            Type::Other { .. } => self.other(id)?,
            // The address of its object.
            Type::NamedBarrier => {
                let has = self
                    .target
                    .amdgpu()
                    .is_some_and(|gpu| gpu.named_barriers > 0);
                has.then(|| TypeInfo {
                    depth: 1,
                    stride: 4,
                    ..self.address(Kind::NamedBarrier, 4, Alignment::WORD)
                })?
            }
            // Nothing is kept of an event at run time: which copies it stands for is known to the
            // plan.
            Type::Event => self.plain(
                Scalar::Int {
                    width: 32,
                    signed: false,
                },
                1,
            ),
        })
    }

    fn matrix(&self, column: Id, count: u32) -> Option<TypeInfo> {
        let info = self.get(column)?;
        let Kind::ScalarOrVector(shape) = info.kind else {
            return None;
        };
        if !matches!(count, 2..=4) {
            return None;
        }
        let (column, columns) = (info.extent(), u64::from(count));
        let extent = column.times(columns, column.stride());
        Some(TypeInfo {
            is_value: true,
            size: extent.size,
            align: extent.align,
            leaves: columns,
            depth: 2,
            stride: column.stride(),
            ..TypeInfo::not_a_value(Kind::Matrix {
                column: shape,
                columns: count,
            })
        })
    }

    fn array(&self, id: Id, element: Id, length: Id) -> Option<TypeInfo> {
        let info = self.part(element)?;
        let length = u64::from(self.constants.as_u32(length)?);
        let stride = layout::stride(self.declarations, id, info.extent());
        let extent = info.extent().times(length, stride);
        Some(TypeInfo {
            is_value: info.is_value,
            size: extent.size,
            align: extent.align,
            leaves: info.leaves.saturating_mul(length),
            depth: info.depth + 1,
            stride,
            ..TypeInfo::not_a_value(Kind::Array { element, length })
        })
    }

    fn structure(&self, id: Id, members: &[Id]) -> Option<TypeInfo> {
        let infos: Vec<&TypeInfo> = members
            .iter()
            .map(|member| self.part(*member))
            .collect::<Option<_>>()?;
        let parts: Vec<(Id, Extent)> = members
            .iter()
            .zip(&infos)
            .map(|(member, info)| (*member, info.extent()))
            .collect();
        let (extent, places) = layout::structure(self.declarations, id, &parts);
        Some(TypeInfo {
            is_value: infos.iter().all(|info| info.is_value),
            size: extent.size,
            align: extent.align,
            leaves: infos
                .iter()
                .fold(0, |sum, info| info.leaves.saturating_add(sum)),
            depth: infos.iter().map(|info| info.depth).max().unwrap_or(0) + 1,
            places,
            ..TypeInfo::not_a_value(Kind::Struct {
                members: members.to_vec(),
            })
        })
    }

    fn cooperative_matrix(&self, component: Id, operands: [Id; 4]) -> Option<TypeInfo> {
        let Kind::ScalarOrVector(VectorType { scalar, lanes: 1 }) = self.get(component)?.kind
        else {
            return None;
        };
        let factor = self.factor(scalar);
        let (constants, target) = (self.constants, self.target);
        let matrix = Matrix::from_type(scalar, factor, operands, constants, target, self.waves)?;
        let (element, slots) = (Extent::scalar(scalar.bits()), matrix.layout.slots.into());
        Some(TypeInfo {
            is_value: true,
            size: element.size.saturating_mul(slots),
            align: element.align,
            leaves: slots,
            depth: 1,
            stride: element.size,
            ..TypeInfo::not_a_value(Kind::Cooperative(matrix))
        })
    }

    /// Types that the module's declarations keep as instructions: images, samplers, tensors.
    fn other(&self, id: Id) -> Option<TypeInfo> {
        let inst = self.declarations.module.def(id)?;
        let described = |kind: fn(Image) -> Kind, image: Image, sampler| {
            let bytes = image.descriptor_bytes(self.target, sampler);
            self.address(kind(image), bytes.max(self.descriptors), Alignment::POINTER)
        };
        Some(match inst.op()? {
            Op::TypeImage => described(Kind::Image, Image::decode(inst, &self.types)?, false),
            Op::TypeSampledImage => {
                let image = image::sampled(inst, &self.types)?;
                described(Kind::SampledImage, image, true)
            }
            Op::TypeSampler => {
                let bytes = image::sampler_bytes(self.target).max(self.descriptors);
                self.address(Kind::Sampler, bytes, Alignment::POINTER)
            }
            Op::TypeTensorARM => {
                let tensor = Tensor::decode(inst, &self.types, self.constants)?;
                let bytes = tensor::DESCRIPTOR_BYTES.max(self.descriptors);
                self.address(Kind::Tensor(tensor), bytes, Alignment::POINTER)
            }
            Op::TypeTensorLayoutNV | Op::TypeTensorViewNV => {
                let tensor = TensorObject::decode(inst, self.constants)?;
                let VectorType { scalar, lanes } = tensor.shape();
                TypeInfo {
                    kind: Kind::TensorObject(tensor),
                    align: Extent::scalar(scalar.bits()).align,
                    size: u64::from(lanes * scalar.bytes()),
                    ..self.plain(scalar, lanes)
                }
            }
            _ => return None,
        })
    }

    /// The type of a part of an array or a structure; `None`: what has it is not lowered.
    fn part(&self, id: Id) -> Option<&TypeInfo> {
        let info = self.get(id)?;
        let has_parts = !matches!(info.kind, Kind::Other(_) | Kind::Void | Kind::Function);
        (has_parts && info.depth < MAX_DEPTH).then_some(info)
    }
}
