//! SPIR-V types: what each is, its LLVM value type, its place in memory.
//!
//! Value types: bool `i1`, integers `iN`, floats `half`/`bfloat`/`float`/`double`, vectors `<n x T>`, matrices `[columns x <rows x T>]`,
//! arrays `[n x T]`, structures `{ ... }`, pointers `ptr addrspace(n)`. The table is built once, in module order, without recursion.

use super::function::MatrixLayout;
use super::image::{self, Image};
use super::layout;
use super::matrix::{self, Matrix};
use super::{Result, build::Build};
use crate::ffi::Ty;
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Constants, Declarations, FloatFormat, Id, Type};
use splitbar_plan::Target;
use splitbar_plan::target::Arch;

/// Deepest nesting of composite types that is lowered: LLVM walks types recursively.
pub(crate) const MAX_DEPTH: u32 = 64;

/// Most scalars and vectors in a value (a variable may have more).
pub(crate) const MAX_PARTS: u64 = 1 << 12;

/// A scalar type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
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
        /// Bits: 8, 16, 32 or 64. Values of 8 bits are `i8` (see float8.rs).
        width: u32,
        /// Encoding.
        format: FloatFormat,
    },
}

impl Scalar {
    /// Bits; a Boolean has 1.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int { width, .. } | Scalar::Float { width, .. } => width,
        }
    }

    /// The LLVM type of a value.
    pub(crate) fn value_type<'c>(self, b: &Build<'c>) -> Ty<'c> {
        match self {
            Scalar::Bool => b.int_type(1),
            Scalar::Int { width, .. } => b.int_type(width),
            Scalar::Float {
                format: FloatFormat::BFloat16,
                ..
            } => b.bfloat_type(),
            Scalar::Float { width: 8, .. } => b.int_type(8),
            Scalar::Float { width, .. } => b.float_type(width),
        }
    }

    /// Bytes in memory; a Boolean has 1.
    pub(crate) fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

/// A scalar or a vector of them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// The component.
    pub(crate) scalar: Scalar,
    /// Number of components: 1 for a scalar.
    pub(crate) lanes: u32,
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
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
    /// An image: as a value the address of its descriptor.
    Image(Image),
    /// An image with a sampler.
    SampledImage(Image),
    /// A pointer.
    Pointer {
        /// Storage class.
        class: spirv::StorageClass,
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
pub(crate) struct TypeInfo<'c> {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its LLVM value type; `None` for what is not a value (void, runtime arrays, functions, what is not lowered).
    pub(crate) value: Option<Ty<'c>>,
    /// Bytes in memory.
    pub(crate) size: u64,
    /// Natural alignment in bytes.
    pub(crate) align: u32,
    /// Scalars and vectors in it.
    pub(crate) leaves: u64,
    /// Nesting depth; a scalar has 0.
    pub(crate) depth: u32,
    /// Bytes between elements of an array, between columns of a matrix without a layout of its own.
    pub(crate) stride: u64,
    /// Offset and matrix layout of each member of a structure.
    pub(crate) places: Vec<(u64, Option<MatrixLayout>)>,
}

impl TypeInfo<'_> {
    fn not_a_value(kind: Kind) -> Self {
        TypeInfo {
            kind,
            value: None,
            size: 0,
            align: 1,
            leaves: 0,
            depth: 0,
            stride: 0,
            places: Vec::new(),
        }
    }
}

/// All types of a module.
pub(crate) struct Types<'c> {
    index: Vec<u32>,
    infos: Vec<TypeInfo<'c>>,
}

impl<'c> Types<'c> {
    /// Builds the table. `ids`: one more than the greatest id; `waves`: invocations of a subgroup, and subgroups of a workgroup if that is known.
    pub(crate) fn of(
        declarations: &Declarations<'_>,
        constants: &Constants,
        target: &Target,
        b: &Build<'c>,
        ids: usize,
        waves: (u32, Option<u32>),
    ) -> Types<'c> {
        let mut types = Types {
            index: vec![u32::MAX; ids],
            infos: Vec::new(),
        };
        let kernel = declarations.has_capability(spirv::Capability::Kernel);
        for inst in declarations.module.instructions() {
            if inst.op() == Some(spirv::Op::Function) {
                break;
            }
            // A structure may hold a pointer to itself: OpTypeForwardPointer names it before its OpTypePointer.
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
            let info = types.one(
                id,
                ty,
                opcode,
                declarations,
                constants,
                target,
                b,
                kernel,
                waves,
            );
            if let Some(slot) = types.index.get_mut(id.0 as usize) {
                *slot = types.infos.len() as u32;
                types.infos.push(info);
            }
        }
        types
    }

    /// The type `id`; `None` when it is not one.
    pub(crate) fn get(&self, id: Id) -> Option<&TypeInfo<'c>> {
        self.infos.get(*self.index.get(id.0 as usize)? as usize)
    }

    #[expect(clippy::too_many_arguments, reason = "one call, from the loop above")]
    fn one(
        &self,
        id: Id,
        ty: &Type,
        opcode: u16,
        declarations: &Declarations<'_>,
        constants: &Constants,
        target: &Target,
        b: &Build<'c>,
        kernel: bool,
        waves: (u32, Option<u32>),
    ) -> TypeInfo<'c> {
        let other = || TypeInfo::not_a_value(Kind::Other(opcode));
        let plain = |shape: Shape| {
            let scalar = shape.scalar.value_type(b);
            let (size, align) = layout::plain(shape, kernel);
            TypeInfo {
                kind: Kind::Plain(shape),
                value: Some(scalar.vector(shape.lanes)),
                size,
                align,
                leaves: 1,
                depth: u32::from(shape.lanes > 1),
                stride: u64::from(shape.scalar.bytes()),
                places: Vec::new(),
            }
        };
        match ty {
            Type::Void => TypeInfo::not_a_value(Kind::Void),
            Type::Bool => plain(Shape {
                scalar: Scalar::Bool,
                lanes: 1,
            }),
            Type::Int {
                width: width @ (8 | 16 | 32 | 64),
                signed,
            } => plain(Shape {
                scalar: Scalar::Int {
                    width: *width,
                    signed: *signed,
                },
                lanes: 1,
            }),
            Type::Float {
                width: width @ (16 | 32 | 64),
                format: FloatFormat::Ieee,
            } => plain(Shape {
                scalar: Scalar::Float {
                    width: *width,
                    format: FloatFormat::Ieee,
                },
                lanes: 1,
            }),
            Type::Float {
                width: width @ (8 | 16),
                format:
                    format @ (FloatFormat::BFloat16 | FloatFormat::Float8E4M3 | FloatFormat::Float8E5M2),
            } => plain(Shape {
                scalar: Scalar::Float {
                    width: *width,
                    format: *format,
                },
                lanes: 1,
            }),
            Type::Int { .. } | Type::Float { .. } => other(),
            Type::Vector { component, count } => match self.get(*component).map(|c| &c.kind) {
                Some(Kind::Plain(Shape { scalar, lanes: 1 }))
                    if matches!(count, 2 | 3 | 4 | 8 | 16) =>
                {
                    plain(Shape {
                        scalar: *scalar,
                        lanes: *count,
                    })
                }
                _ => other(),
            },
            Type::Matrix { column, count } => match self.get(*column) {
                Some(TypeInfo {
                    kind: Kind::Plain(shape),
                    value: Some(value),
                    size,
                    align,
                    ..
                }) if matches!(count, 2..=4) => TypeInfo {
                    kind: Kind::Matrix {
                        column: *shape,
                        columns: *count,
                    },
                    value: Some(value.array(u64::from(*count))),
                    size: layout::round_up(*size, *align).saturating_mul(u64::from(*count)),
                    align: *align,
                    leaves: u64::from(*count),
                    depth: 2,
                    stride: layout::round_up(*size, *align),
                    places: Vec::new(),
                },
                _ => other(),
            },
            Type::Array { element, length } => {
                let (Some(info), Some(length)) = (self.get(*element), constants.as_u32(*length))
                else {
                    return other();
                };
                let length = u64::from(length);
                if info.depth >= MAX_DEPTH
                    || matches!(info.kind, Kind::Other(_) | Kind::Void | Kind::Function)
                {
                    return other();
                }
                let stride = layout::array_stride(declarations, id, info);
                TypeInfo {
                    kind: Kind::Array {
                        element: *element,
                        length,
                    },
                    value: info.value.map(|v| v.array(length)),
                    size: stride.saturating_mul(length),
                    align: info.align,
                    leaves: info.leaves.saturating_mul(length),
                    depth: info.depth + 1,
                    stride,
                    places: Vec::new(),
                }
            }
            Type::RuntimeArray { element } => match self.get(*element) {
                Some(info) if !matches!(info.kind, Kind::Other(_)) => TypeInfo {
                    align: info.align,
                    depth: info.depth + 1,
                    stride: layout::array_stride(declarations, id, info),
                    ..TypeInfo::not_a_value(Kind::RuntimeArray { element: *element })
                },
                _ => other(),
            },
            Type::Struct { members } => {
                let infos: Option<Vec<&TypeInfo<'c>>> =
                    members.iter().map(|m| self.get(*m)).collect();
                let Some(infos) = infos else { return other() };
                let depth = infos.iter().map(|i| i.depth).max().unwrap_or(0);
                if depth >= MAX_DEPTH
                    || infos
                        .iter()
                        .any(|i| matches!(i.kind, Kind::Other(_) | Kind::Void | Kind::Function))
                {
                    return other();
                }
                let (size, align) = layout::structure(declarations, id, &infos);
                let values: Option<Vec<Ty<'c>>> = infos.iter().map(|i| i.value).collect();
                TypeInfo {
                    kind: Kind::Struct {
                        members: members.clone(),
                    },
                    value: values.map(|v| b.struct_type(&v)),
                    size,
                    align,
                    leaves: infos
                        .iter()
                        .fold(0u64, |sum, i| sum.saturating_add(i.leaves)),
                    depth: depth + 1,
                    stride: 0,
                    places: layout::offsets(declarations, id, &infos)
                        .into_iter()
                        .enumerate()
                        .map(|(i, offset)| {
                            (offset, layout::matrix_of_member(declarations, id, i as u32))
                        })
                        .collect(),
                }
            }
            Type::Pointer { class, pointee } => match address_space(target, *class) {
                Some(space) => TypeInfo {
                    kind: Kind::Pointer {
                        class: *class,
                        pointee: *pointee,
                    },
                    value: Some(b.pointer_type(space)),
                    size: layout::POINTER_BYTES,
                    align: layout::POINTER_BYTES as u32,
                    leaves: 1,
                    depth: 0,
                    stride: 0,
                    places: Vec::new(),
                },
                None => other(),
            },
            Type::Function { .. } => TypeInfo::not_a_value(Kind::Function),
            Type::CooperativeMatrix {
                component,
                operands,
            } => {
                let matrix = match self.get(*component).map(|c| &c.kind) {
                    Some(Kind::Plain(Shape { scalar, lanes: 1 })) => {
                        Matrix::of(*scalar, *operands, constants, target, waves)
                    }
                    _ => None,
                };
                let Some(matrix) = matrix else {
                    return other();
                };
                let (scalar, slots) = (matrix.component, u64::from(matrix.layout.slots));
                TypeInfo {
                    value: Some(matrix::value_type(scalar.value_type(b), &matrix)),
                    size: u64::from(scalar.bytes()).saturating_mul(slots),
                    align: scalar.bytes(),
                    leaves: slots,
                    depth: 1,
                    stride: u64::from(scalar.bytes()),
                    ..TypeInfo::not_a_value(Kind::Cooperative(matrix))
                }
            }
            Type::Other { .. } => {
                let described = |kind: Kind, image: Image, sampler: bool| {
                    let bytes = image.descriptor_bytes(target, sampler);
                    let space = address_space(target, spirv::StorageClass::UniformConstant);
                    TypeInfo {
                        value: space.map(|space| b.pointer_type(space)),
                        size: bytes,
                        align: 8,
                        leaves: 1,
                        ..TypeInfo::not_a_value(kind)
                    }
                };
                let inst = declarations.module.def(id);
                match inst.and_then(|inst| inst.op().map(|op| (inst, op))) {
                    Some((inst, spirv::Op::TypeImage)) => Image::of(inst, self)
                        .map_or_else(other, |image| described(Kind::Image(image), image, false)),
                    Some((inst, spirv::Op::TypeSampledImage)) => image::sampled(inst, self)
                        .map_or_else(other, |image| {
                            described(Kind::SampledImage(image), image, true)
                        }),
                    _ => other(),
                }
            }
            // The address of its object.
            Type::NamedBarrier if target.amdgpu().is_some_and(|gpu| gpu.named_barriers > 0) => {
                TypeInfo {
                    value: Some(b.pointer_type(3)),
                    size: 4,
                    align: 4,
                    leaves: 1,
                    depth: 1,
                    stride: 4,
                    ..TypeInfo::not_a_value(Kind::NamedBarrier)
                }
            }
            // Nothing is kept of an event at run time: which copies it stands for is known to the plan.
            Type::Event => plain(Shape {
                scalar: Scalar::Int {
                    width: 32,
                    signed: false,
                },
                lanes: 1,
            }),
            Type::NamedBarrier => other(),
        }
    }
}

/// The LLVM address space of a storage class; `None` when the class is not lowered.
///
/// AMDGPU: global 1, LDS 3, constant 4, private 5 (LLVM AMDGPUUsage, "Address Spaces"). NVPTX: global 1, shared 3, and 0 (generic) for
/// the stack, whose allocas LLVM makes local by itself; read-only data stays in global memory there because a host passes global addresses.
pub(crate) fn address_space(target: &Target, class: spirv::StorageClass) -> Option<u32> {
    use spirv::StorageClass as S;
    let amdgpu = matches!(target.arch, Arch::Amdgpu(_));
    Some(match class {
        S::Function | S::Private | S::Input => {
            if amdgpu {
                5
            } else {
                0
            }
        }
        S::Workgroup => 3,
        S::StorageBuffer | S::Uniform | S::CrossWorkgroup | S::PhysicalStorageBuffer => 1,
        S::UniformConstant => {
            if amdgpu {
                4
            } else {
                1
            }
        }
        S::PushConstant => {
            if amdgpu {
                4
            } else {
                0
            }
        }
        S::Generic => 0,
        _ => return None,
    })
}

/// The diagnostic for the use of a type that is not lowered; the same at every use, so that one remains.
fn unsupported_type(types: &Types<'_>, declarations: &Declarations<'_>, id: Id) -> Box<Diagnostic> {
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
    let (name, offset) = inst.map_or_else(|| ("the type".to_owned(), 0), |i| (i.name(), i.offset));
    Box::new(
        Diagnostic::error(Code::UnsupportedType, format!("{name} {id} is not lowered"))
            .at_word(offset)
            .help("lowered are Booleans, integers of 8, 16, 32 and 64 bits, IEEE floats of 16, 32 and 64 bits, bfloat16, and vectors, matrices, arrays, structures and pointers of them"),
    )
}

/// The diagnostic for a value of a composite type with too many parts.
pub(crate) fn too_many_parts(
    declarations: &Declarations<'_>,
    id: Id,
    parts: u64,
) -> Box<Diagnostic> {
    let offset = declarations.module.def(id).map_or(0, |inst| inst.offset);
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
pub(crate) fn require<'t, 'c>(
    types: &'t Types<'c>,
    declarations: &Declarations<'_>,
    id: Id,
) -> Result<&'t TypeInfo<'c>> {
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
