//! SPIR-V types: what each is, its place in memory.
//!
//! The table is built once, in module order, without recursion.

use crate::Result;
use crate::image::{self, Image};
use crate::matrix::Matrix;
use crate::pointers::address_space;
use crate::tensor::{self, Tensor};
use crate::tensor_layout::TensorObject;
use spirv::{Op, StorageClass};
use splitbar_passes::analysis::layout::{self, Extent, MemberPlace};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::joint_matrix::BFLOAT16_CAPABILITY;
use splitbar_passes::module::{Constants, Declarations, FloatFormat, Id, Type};
use splitbar_target::Target;

/// Deepest nesting of composite types that is lowered: LLVM walks types recursively.
pub const MAX_DEPTH: u32 = 64;

/// Most scalars and vectors in a value (a variable may have more).
pub const MAX_PARTS: u64 = 1 << 12;

/// A scalar type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Scalar {
    /// `i1` as a value, one byte in memory.
    Bool,
    /// An integer.
    Int {
        /// Bits: 8, 16, 32 or 64.
        width: u32,
        /// The signedness operand of OpTypeInt (it has no meaning for most instructions).
        signed: bool,
    },
    /// A floating-point number.
    Float {
        /// Bits: 8, 16, 32 or 64. Values of 8 bits are integers in LLVM.
        width: u32,
        /// Encoding.
        format: FloatFormat,
    },
}

impl Scalar {
    /// Bits; a Boolean has 1.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int { width, .. } | Scalar::Float { width, .. } => width,
        }
    }

    /// Bytes in memory; a Boolean has 1.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

/// A scalar or a vector of them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The component.
    pub scalar: Scalar,
    /// Number of components: 1 for a scalar.
    pub lanes: u32,
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// OpTypeVoid.
    Void,
    /// A scalar or vector.
    Plain(Shape),
    /// A matrix.
    Matrix {
        /// A column.
        column: Shape,
        /// Number of columns.
        columns: u32,
    },
    /// An array of known length.
    Array {
        /// Element type.
        element: Id,
        /// Number of elements.
        length: u64,
    },
    /// An array whose length the launch decides.
    RuntimeArray {
        /// Element type.
        element: Id,
    },
    /// A structure.
    Struct {
        /// Member types.
        members: Vec<Id>,
    },
    /// A cooperative matrix.
    Cooperative(Matrix),
    /// A tensor layout or a tensor view.
    TensorObject(TensorObject),
    /// An image: as a value the address of its descriptor.
    Image(Image),
    /// An image with a sampler.
    SampledImage(Image),
    /// A sampler: as a value the address of its descriptor.
    Sampler,
    /// A tensor: as a value the address of its descriptor.
    Tensor(Tensor),
    /// A pointer.
    Pointer {
        /// Storage class.
        class: StorageClass,
        /// What it points to; `None` for untyped pointers.
        pointee: Option<Id>,
    },
    /// A named barrier of OpenCL: the address of its object.
    NamedBarrier,
    /// A function type.
    Function,
    /// A type that is not lowered: its opcode.
    Other(u16),
}

/// A type.
#[derive(Clone, Debug)]
pub struct TypeInfo {
    /// What it is.
    pub kind: Kind,
    /// Whether there are values of it: not of void, runtime arrays, functions, and what is not
    /// lowered.
    pub is_value: bool,
    /// Bytes in memory.
    pub size: u64,
    /// Natural alignment in bytes.
    pub align: u32,
    /// Scalars and vectors in it.
    pub leaves: u64,
    /// Nesting depth; a scalar has 0.
    pub depth: u32,
    /// Bytes between elements of an array, between columns of a matrix without a layout of its own.
    pub stride: u64,
    /// Offset and matrix layout of each member of a structure.
    pub places: Vec<MemberPlace>,
}

impl TypeInfo {
    /// Size and alignment.
    pub fn extent(&self) -> Extent {
        Extent {
            size: self.size,
            align: self.align,
        }
    }

    fn not_a_value(kind: Kind) -> Self {
        TypeInfo {
            kind,
            is_value: false,
            size: 0,
            align: 1,
            leaves: 0,
            depth: 0,
            stride: 0,
            places: Vec::new(),
        }
    }
}

/// How a workgroup is divided into subgroups.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Waves {
    /// Invocations of a subgroup.
    pub size: u32,
    /// Subgroups of a workgroup, if that is known.
    pub subgroups: Option<u32>,
}

/// All types of a module.
#[derive(Debug)]
pub struct Types {
    index: Vec<u32>,
    infos: Vec<(Id, TypeInfo)>,
}

impl Types {
    /// Builds the table. `descriptors`: bytes from one descriptor of an array of images or tensors
    /// to the next, where the kernel's binary interface has one distance for all
    /// ([`crate::abi::AbiForm::descriptor_bytes`]).
    pub fn of(
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

    /// The type `id`; `None` when it is not one.
    pub fn get(&self, id: Id) -> Option<&TypeInfo> {
        let (_, info) = self.infos.get(*self.index.get(id.0 as usize)? as usize)?;
        Some(info)
    }

    /// All types, parts before what they are parts of. A pointer that is named before its
    /// definition comes twice.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &TypeInfo)> {
        self.infos.iter().map(|(id, info)| (*id, info))
    }
}

/// One more than the greatest result id.
pub fn id_count(declarations: &Declarations<'_>) -> usize {
    declarations
        .module
        .instructions()
        .filter_map(|inst| inst.result())
        .map(|id| id.0 as usize + 1)
        .max()
        .unwrap_or(0)
}

/// A table that is being built.
struct Table<'a, 'm> {
    declarations: &'a Declarations<'m>,
    constants: &'a Constants,
    target: &'a Target,
    waves: Waves,
    /// Bytes that a descriptor of an image or a tensor takes at least.
    descriptors: u64,
    /// Whether vectors lie as OpenCL has them.
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
            ..TypeInfo::not_a_value(Kind::Plain(Shape { scalar, lanes }))
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
    fn address(&self, kind: Kind, size: u64, align: u32) -> TypeInfo {
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
                Kind::Plain(Shape { scalar, lanes: 1 }) => self.plain(scalar, *count),
                _ => return None,
            },
            Type::Matrix { column, count } => {
                let info = self.get(*column)?;
                let Kind::Plain(shape) = info.kind else {
                    return None;
                };
                if !matches!(count, 2..=4) {
                    return None;
                }
                let (column, columns) = (info.extent(), u64::from(*count));
                let extent = column.times(columns, column.stride());
                TypeInfo {
                    is_value: true,
                    size: extent.size,
                    align: extent.align,
                    leaves: columns,
                    depth: 2,
                    stride: column.stride(),
                    ..TypeInfo::not_a_value(Kind::Matrix {
                        column: shape,
                        columns: *count,
                    })
                }
            }
            Type::Array { element, length } => {
                let info = self.part(*element)?;
                let length = u64::from(self.constants.as_u32(*length)?);
                let stride = layout::stride(self.declarations, id, info.extent());
                let extent = info.extent().times(length, stride);
                TypeInfo {
                    is_value: info.is_value,
                    size: extent.size,
                    align: extent.align,
                    leaves: info.leaves.saturating_mul(length),
                    depth: info.depth + 1,
                    stride,
                    ..TypeInfo::not_a_value(Kind::Array {
                        element: *element,
                        length,
                    })
                }
            }
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
            Type::Struct { members } => {
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
                TypeInfo {
                    is_value: infos.iter().all(|info| info.is_value),
                    size: extent.size,
                    align: extent.align,
                    leaves: infos
                        .iter()
                        .fold(0, |sum, info| info.leaves.saturating_add(sum)),
                    depth: infos.iter().map(|info| info.depth).max().unwrap_or(0) + 1,
                    places,
                    ..TypeInfo::not_a_value(Kind::Struct {
                        members: members.clone(),
                    })
                }
            }
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
            } => {
                let Kind::Plain(Shape { scalar, lanes: 1 }) = self.get(*component)?.kind else {
                    return None;
                };
                let factor = self.factor(scalar);
                let (constants, target) = (self.constants, self.target);
                let matrix = Matrix::of(scalar, factor, *operands, constants, target, self.waves)?;
                let (element, slots) = (Extent::scalar(scalar.bits()), matrix.layout.slots.into());
                TypeInfo {
                    is_value: true,
                    size: element.size.saturating_mul(slots),
                    align: element.align,
                    leaves: slots,
                    depth: 1,
                    stride: element.size,
                    ..TypeInfo::not_a_value(Kind::Cooperative(matrix))
                }
            }
            Type::Other { .. } => {
                let inst = self.declarations.module.def(id)?;
                let described = |kind: fn(Image) -> Kind, image: Image, sampler| {
                    let bytes = image.descriptor_bytes(self.target, sampler);
                    self.address(kind(image), bytes.max(self.descriptors), 8)
                };
                match inst.op()? {
                    Op::TypeImage => described(Kind::Image, Image::of(inst, &self.types)?, false),
                    Op::TypeSampledImage => {
                        let image = image::sampled(inst, &self.types)?;
                        described(Kind::SampledImage, image, true)
                    }
                    Op::TypeSampler => {
                        let bytes = image::sampler_bytes(self.target).max(self.descriptors);
                        self.address(Kind::Sampler, bytes, 8)
                    }
                    Op::TypeTensorARM => {
                        let tensor = Tensor::of(inst, &self.types, self.constants)?;
                        let bytes = tensor::DESCRIPTOR_BYTES.max(self.descriptors);
                        self.address(Kind::Tensor(tensor), bytes, 8)
                    }
                    Op::TypeTensorLayoutNV | Op::TypeTensorViewNV => {
                        let tensor = TensorObject::of(inst, self.constants)?;
                        let Shape { scalar, lanes } = tensor.shape();
                        TypeInfo {
                            kind: Kind::TensorObject(tensor),
                            align: scalar.bytes(),
                            size: u64::from(lanes * scalar.bytes()),
                            ..self.plain(scalar, lanes)
                        }
                    }
                    _ => return None,
                }
            }
            // The address of its object.
            Type::NamedBarrier => {
                let has = self
                    .target
                    .amdgpu()
                    .is_some_and(|gpu| gpu.named_barriers > 0);
                has.then(|| TypeInfo {
                    depth: 1,
                    stride: 4,
                    ..self.address(Kind::NamedBarrier, 4, 4)
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

    /// The type of a part of an array or a structure; `None`: what has it is not lowered.
    fn part(&self, id: Id) -> Option<&TypeInfo> {
        let info = self.get(id)?;
        let has_parts = !matches!(info.kind, Kind::Other(_) | Kind::Void | Kind::Function);
        (has_parts && info.depth < MAX_DEPTH).then_some(info)
    }
}

/// The diagnostic for the use of a type that is not lowered; the same at every use, so that one
/// remains.
fn unsupported_type(types: &Types, declarations: &Declarations<'_>, id: Id) -> Box<Diagnostic> {
    let refused = |id: &Id| {
        types
            .get(*id)
            .is_some_and(|info| matches!(info.kind, Kind::Other(_)))
    };
    // Name the innermost type that is to blame, not what holds it.
    let mut id = id;
    for _ in 0..=MAX_DEPTH {
        let part = match declarations.ty(id) {
            Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => Some(*element),
            Some(Type::Vector { component, .. }) => Some(*component),
            Some(Type::Matrix { column, .. }) => Some(*column),
            Some(Type::Struct { members }) => members.iter().copied().find(|m| refused(m)),
            _ => None,
        };
        match part.filter(|part| refused(part)) {
            Some(part) => id = part,
            None => break,
        }
    }
    let inst = declarations.module.def(id);
    let name = inst.map_or_else(|| "the type".to_owned(), |inst| inst.name());
    Box::new(
        Diagnostic::error(Code::UnsupportedType, format!("{name} {id} is not lowered"))
            .at_word(inst.map(|inst| inst.offset))
            .help("lowered are Booleans, integers of 8, 16, 32 and 64 bits, IEEE floats of 16, 32 and 64 bits, bfloat16, and vectors, matrices, arrays, structures and pointers of them"),
    )
}

/// The diagnostic for a value of a composite type with too many parts.
pub fn too_many_parts(declarations: &Declarations<'_>, id: Id, parts: u64) -> Box<Diagnostic> {
    let offset = declarations.module.def(id).map(|inst| inst.offset);
    Box::new(
        Diagnostic::error(
            Code::UnsupportedType,
            format!("a value of the type {id} has {parts} parts; at most {MAX_PARTS} are lowered"),
        )
        .at_word(offset)
        .help("access its elements, or copy it with OpCopyMemory"),
    )
}

/// A type that must be there.
pub fn require<'t>(
    types: &'t Types,
    declarations: &Declarations<'_>,
    id: Id,
) -> Result<&'t TypeInfo> {
    match types.get(id) {
        Some(info) if matches!(info.kind, Kind::Other(_)) => {
            Err(unsupported_type(types, declarations, id))
        }
        Some(info) => Ok(info),
        None => Err(Box::new(
            Diagnostic::error(
                Code::WrongDefinition,
                format!("{id} is used as a type and is none"),
            )
            .help("run spirv-val over the module"),
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use splitbar_passes::analysis::layout::Extents;

    /// The table and the check of limits compose the same rules: what both know has one size.
    #[test]
    fn sizes_are_those_of_the_rules() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kernels");
        let mut compared = 0;
        for folder in std::fs::read_dir(root).unwrap() {
            let name = folder.unwrap().file_name().into_string().unwrap();
            if !std::path::Path::new(&format!("{root}/{name}/{name}.spv")).exists() {
                continue;
            }
            fixture(&name, |declarations, constants| {
                let waves = Waves {
                    size: 32,
                    subgroups: None,
                };
                for target in ["gfx1201", "sm_90"] {
                    let target = Target::by_name(target).unwrap();
                    let mut extents = Extents::new(declarations, constants);
                    for (id, info) in Types::of(declarations, constants, target, waves, None).iter()
                    {
                        let of_rules = extents.of(id).filter(|_| info.is_value);
                        if let Some(extent) = of_rules {
                            assert_eq!(info.extent(), extent, "{name}, {id}");
                            compared += 1;
                        }
                    }
                }
            });
        }
        assert!(compared > 500, "only {compared} types");
    }
}
