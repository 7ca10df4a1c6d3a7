//! Types, decoded.

use super::id_map::IdMap;
use super::report::Report;
use super::{Id, Inst, Module, grammar};
use crate::diagnostic::{Code, Diagnostic};

/// Types can be nested this deep: the universal limit "structure nesting depth" of SPIR-V 2.17.
/// What walks over types may recurse.
pub const MOST_TYPE_DEPTH: u32 = 255;

/// Components of a vector: what shading languages with long vectors allow.
pub const MOST_COMPONENTS: u32 = 1024;

/// The format of a floating-point type.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum FloatFormat {
    /// IEEE 754 of the given width.
    Ieee,
    /// bfloat16 (SPV_KHR_bfloat16).
    BFloat16,
    /// 8 bits, 4 of exponent (SPV_EXT_float8).
    Float8E4M3,
    /// 8 bits, 5 of exponent (SPV_EXT_float8).
    Float8E5M2,
    /// 6 bits, 2 of exponent (SPV_EXT_ocp_microscaling_types).
    Float6E2M3,
    /// 6 bits, 3 of exponent (SPV_EXT_ocp_microscaling_types).
    Float6E3M2,
    /// 4 bits, 2 of exponent (SPV_EXT_ocp_microscaling_types).
    Float4E2M1,
    /// 8 bits, all of them exponent: a power of two (SPV_EXT_ocp_microscaling_types).
    Float8E8M0,
    /// A signed multiple of 1/64 (SPV_EXT_ocp_microscaling_types).
    MxInt8,
}

/// A type declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// OpTypeVoid.
    Void,
    /// OpTypeBool.
    Bool,
    /// OpTypeInt; `width` in bits, 1 to 64.
    Int {
        /// Bits.
        width: u32,
        /// Signedness operand.
        signed: bool,
    },
    /// OpTypeFloat; `width` in bits: 4, 6, 8, 16, 32 or 64.
    Float {
        /// Bits.
        width: u32,
        /// Encoding.
        format: FloatFormat,
    },
    /// OpTypeVector, or OpTypeVectorIdEXT (which is OpTypeCooperativeVectorNV, too) with a constant
    /// count.
    Vector {
        /// Component type.
        component: Id,
        /// 1 to [`MOST_COMPONENTS`].
        count: u32,
    },
    /// OpTypeMatrix.
    Matrix {
        /// Column type, a vector.
        column: Id,
        /// Number of columns.
        count: u32,
    },
    /// OpTypeArray; the length is the id of a constant.
    Array {
        /// Element type.
        element: Id,
        /// Id of the constant that gives the length.
        length: Id,
    },
    /// OpTypeRuntimeArray.
    RuntimeArray {
        /// Element type.
        element: Id,
    },
    /// OpTypeStruct.
    Struct {
        /// Member types.
        members: Vec<Id>,
    },
    /// OpTypePointer or OpTypeUntypedPointerKHR (without pointee).
    Pointer {
        /// Storage class, as the `spirv` crate numbers it.
        class: spirv::StorageClass,
        /// What it points to.
        pointee: Option<Id>,
    },
    /// OpTypeFunction.
    Function {
        /// Return type.
        result: Id,
        /// Parameter types.
        params: Vec<Id>,
    },
    /// OpTypeEvent.
    Event,
    /// OpTypeNamedBarrier.
    NamedBarrier,
    /// OpTypeCooperativeMatrixKHR; the operands after the component are ids of constants.
    CooperativeMatrix {
        /// Component type.
        component: Id,
        /// Scope, rows, columns, use.
        operands: [Id; 4],
    },
    /// Any other type: its opcode; the instruction is found by the type's id.
    Other {
        /// The opcode of the declaration.
        opcode: u16,
    },
}

impl Type {
    /// Returns true if it is a Boolean, an integer or a floating-point number.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Type::Bool | Type::Int { .. } | Type::Float { .. })
    }

    /// Types that it is made of, without what a pointer points to.
    fn parts(&self) -> impl Iterator<Item = Id> {
        let (one, more): (Option<Id>, &[Id]) = match self {
            Type::Vector { component: one, .. }
            | Type::CooperativeMatrix { component: one, .. }
            | Type::Matrix { column: one, .. }
            | Type::Array { element: one, .. }
            | Type::RuntimeArray { element: one } => (Some(*one), &[]),
            Type::Struct { members } => (None, members),
            Type::Function { result, params } => (Some(*result), params),
            Type::Void
            | Type::Bool
            | Type::Int { .. }
            | Type::Float { .. }
            | Type::Pointer { .. }
            | Type::Event
            | Type::NamedBarrier
            | Type::Other { .. } => (None, &[]),
        };
        one.into_iter().chain(more.iter().copied())
    }
}

/// Returns true if `inst` declares a type.
pub(super) fn is_type(inst: Inst<'_>) -> bool {
    grammar::shape(inst.opcode()).is_type
}

/// The types of a module.
#[derive(Clone, Debug)]
pub(super) struct Types {
    /// Each with the depth of its nesting.
    by_id: IdMap<(Type, u32)>,
}

impl Types {
    /// None, of a module of so many words.
    pub(super) fn new(words: usize) -> Types {
        Types {
            by_id: IdMap::new(words),
        }
    }

    pub(super) fn get(&self, id: Id) -> Option<&Type> {
        self.by_id.get(id).map(|(ty, _)| ty)
    }

    /// All of them in the order of their declarations.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Type)> {
        self.by_id.iter().map(|(id, (ty, _))| (id, ty))
    }

    /// Takes the declaration `inst`. A type whose parts are not sound is left out, so that what is
    /// in the table is nested finitely and at most [`MOST_TYPE_DEPTH`] deep (pointers start at 1
    /// again).
    pub(super) fn declare(&mut self, module: &Module<'_>, inst: Inst<'_>, report: &mut Report<'_>) {
        let Some(id) = inst.result() else { return };
        match decode(module, inst)
            .and_then(|ty| self.depth_of(module, inst, &ty).map(|depth| (ty, depth)))
        {
            Ok((ty, Some(depth))) => {
                self.by_id.insert(id, (ty, depth));
            }
            Ok((_, None)) => {} // a part is missing that was reported itself
            Err(diagnostic) => report.push(diagnostic),
        }
    }

    fn depth_of(
        &self,
        module: &Module<'_>,
        inst: Inst<'_>,
        ty: &Type,
    ) -> Result<Option<u32>, Diagnostic> {
        let mut deepest = 0;
        for part in ty.parts() {
            if let Some((found, depth)) = self.by_id.get(part) {
                deepest = deepest.max(*depth);
                check_part(inst, ty, part, found)?;
                continue;
            }
            let declared = module.def(part);
            match declared {
                Some(declared) if is_type(declared) && declared.offset < inst.offset => {
                    return Ok(None);
                }
                // A pointer type that was declared forward.
                Some(declared) if declared.op() == Some(spirv::Op::TypePointer) => {}
                Some(declared) if is_type(declared) => {
                    let message = format!(
                        "{} uses the type {part} before its declaration",
                        inst.name()
                    );
                    return Err(Diagnostic::error(Code::UndefinedId, message)
                        .at_word(inst.offset)
                        .because(format!("{part} is declared at word {}", declared.offset))
                        .help(format!(
                            "move the declaration of {part} before this instruction"
                        )));
                }
                Some(declared) => {
                    let message = format!("{} uses {part}, which is not a type", inst.name());
                    return Err(Diagnostic::error(Code::WrongDefinition, message)
                        .at_word(inst.offset)
                        .because(format!("{part} is defined by {}", declared.name()))
                        .help("use the id of a type"));
                }
                None if module.guess(part).is_some() => return Ok(None),
                None => {
                    return Err(Diagnostic::error(
                        Code::UndefinedId,
                        format!("{} uses the type {part}, which is not defined", inst.name()),
                    )
                    .at_word(inst.offset));
                }
            }
        }
        if deepest >= MOST_TYPE_DEPTH {
            let message = format!("the type is nested deeper than {MOST_TYPE_DEPTH} levels");
            return Err(Diagnostic::error(Code::NestingTooDeep, message)
                .at_word(inst.offset)
                .because("SPIR-V 2.17 limits the nesting depth of structures")
                .help("flatten the type"));
        }
        Ok(Some(deepest + 1))
    }
}

/// Components of vectors are scalars (SPIR-V 3.49.6) or pointers (SPV_INTEL_masked_gather_scatter),
/// columns of matrices are vectors.
fn check_part(inst: Inst<'_>, ty: &Type, part: Id, found: &Type) -> Result<(), Diagnostic> {
    let is_pointer = matches!(found, Type::Pointer { .. });
    let wanted = match ty {
        Type::Vector { .. } if !(found.is_scalar() || is_pointer) => "a scalar type",
        Type::Matrix { .. } if !matches!(found, Type::Vector { .. }) => "a vector type",
        _ => return Ok(()), // other types allow any part
    };
    Err(Diagnostic::error(
        Code::WrongDefinition,
        format!("{} uses {part}, which is not {wanted}", inst.name()),
    )
    .at_word(inst.offset)
    .help(format!("use {wanted}")))
}

/// Decodes one declaration.
fn decode(module: &Module<'_>, inst: Inst<'_>) -> Result<Type, Diagnostic> {
    use spirv::Op;
    let ids = |from: usize| {
        inst.operands()
            .get(from..)
            .unwrap_or(&[])
            .iter()
            .copied()
            .map(Id)
            .collect()
    };
    let Some(op) = inst.op() else {
        return Ok(Type::Other {
            opcode: inst.opcode(),
        });
    };
    Ok(match op {
        Op::TypeVoid => Type::Void,
        Op::TypeBool => Type::Bool,
        Op::TypeInt => Type::Int {
            width: width(inst, inst.operand(0)?, |bits| (1..=64).contains(&bits))?,
            signed: inst.operand(1)? != 0,
        },
        Op::TypeFloat => float(inst)?,
        Op::TypeVector => Type::Vector {
            component: inst.id(0)?,
            count: vector_count(inst, inst.operand(1)?, 2)?,
        },
        Op::TypeVectorIdEXT => Type::Vector {
            component: inst.id(0)?,
            count: vector_count(inst, literal_count(module, inst)?, 1)?,
        },
        Op::TypeMatrix => Type::Matrix {
            column: inst.id(0)?,
            count: columns(inst)?,
        },
        Op::TypeArray => Type::Array {
            element: inst.id(0)?,
            length: inst.id(1)?,
        },
        Op::TypeRuntimeArray => Type::RuntimeArray {
            element: inst.id(0)?,
        },
        Op::TypeStruct => Type::Struct { members: ids(0) },
        Op::TypePointer => Type::Pointer {
            class: storage_class(inst, inst.operand(0)?)?,
            pointee: Some(inst.id(1)?),
        },
        Op::TypeUntypedPointerKHR => Type::Pointer {
            class: storage_class(inst, inst.operand(0)?)?,
            pointee: None,
        },
        Op::TypeFunction => Type::Function {
            result: inst.id(0)?,
            params: ids(1),
        },
        Op::TypeEvent => Type::Event,
        Op::TypeNamedBarrier => Type::NamedBarrier,
        Op::TypeCooperativeMatrixKHR => Type::CooperativeMatrix {
            component: inst.id(0)?,
            operands: [inst.id(1)?, inst.id(2)?, inst.id(3)?, inst.id(4)?],
        },
        _ => Type::Other {
            opcode: inst.opcode(),
        }, // images, samplers, tensors and what is yet to come
    })
}

fn width(inst: Inst<'_>, bits: u32, known: impl Fn(u32) -> bool) -> Result<u32, Diagnostic> {
    if known(bits) {
        return Ok(bits);
    }
    Err(Diagnostic::error(
        Code::UnsupportedType,
        format!("{} with {bits} bits is not supported", inst.name()),
    )
    .at_word(inst.offset)
    .help("use 8, 16, 32 or 64 bits"))
}

/// FP encodings, with the width of each. The last five are of SPV_EXT_ocp_microscaling_types, which
/// the `spirv` crate does not know.
#[rustfmt::skip] // a table
const ENCODINGS: [(u32, u32, FloatFormat); 8] = [
    (spirv::FPEncoding::BFloat16KHR as u32, 16, FloatFormat::BFloat16),
    (spirv::FPEncoding::Float8E4M3EXT as u32, 8, FloatFormat::Float8E4M3),
    (spirv::FPEncoding::Float8E5M2EXT as u32, 8, FloatFormat::Float8E5M2),
    (4223, 6, FloatFormat::Float6E2M3),
    (4224, 6, FloatFormat::Float6E3M2),
    (4225, 4, FloatFormat::Float4E2M1),
    (4226, 8, FloatFormat::Float8E8M0),
    (4227, 8, FloatFormat::MxInt8),
];

fn float(inst: Inst<'_>) -> Result<Type, Diagnostic> {
    let width = width(inst, inst.operand(0)?, |bits| {
        [4, 6, 8, 16, 32, 64].contains(&bits)
    })?;
    let encoding = inst.operands().get(1).copied();
    let format = match (encoding, width) {
        (None, 16..) => Some(FloatFormat::Ieee),
        (Some(encoding), _) => ENCODINGS
            .iter()
            .find(|(number, bits, _)| (*number, *bits) == (encoding, width))
            .map(|(_, _, format)| *format),
        (None, _) => None,
    };
    let format = match format {
        Some(format) => format,
        None => {
            return Err(Diagnostic::error(
                Code::UnsupportedType,
                format!("a {width}-bit floating-point type with this encoding is not supported"),
            )
            .at_word(inst.offset));
        }
    };
    Ok(Type::Float { width, format })
}

/// The components of a vector: those of OpTypeVector are at least 2, those of OpTypeVectorIdEXT
/// (SPV_EXT_long_vector) at least 1.
fn vector_count(inst: Inst<'_>, count: u32, least: u32) -> Result<u32, Diagnostic> {
    if (least..=MOST_COMPONENTS).contains(&count) {
        return Ok(count);
    }
    let these = format!("{} can have {least} to {MOST_COMPONENTS}", inst.name());
    Err(unsupported_count(inst, count).because(these))
}

/// The count of an OpTypeVectorIdEXT, which is a cooperative vector's type too: an OpConstant.
fn literal_count(module: &Module<'_>, inst: Inst<'_>) -> Result<u32, Diagnostic> {
    let count = module.def(inst.id(1)?);
    let is_constant = count.is_some_and(|count| count.op() == Some(spirv::Op::Constant));
    match count.map(Inst::operands) {
        Some([count]) if is_constant => Ok(*count),
        _ => Err(Diagnostic::error(
            Code::UnsupportedType,
            "the number of components of a vector is not a 32-bit OpConstant",
        )
        .at_word(inst.offset)
        .because("types are evaluated before specialization constants have values")
        .help("use an OpConstant for the number of components")),
    }
}

fn columns(inst: Inst<'_>) -> Result<u32, Diagnostic> {
    let count = inst.operand(1)?;
    if (2..=16).contains(&count) {
        return Ok(count);
    }
    Err(unsupported_count(inst, count).because("a matrix can have 2 to 16"))
}

fn unsupported_count(inst: Inst<'_>, count: u32) -> Diagnostic {
    Diagnostic::error(
        Code::UnsupportedType,
        format!("{} with {count} components is not supported", inst.name()),
    )
    .at_word(inst.offset)
}

/// Decodes a storage class.
pub(super) fn storage_class(
    inst: Inst<'_>,
    number: u32,
) -> Result<spirv::StorageClass, Diagnostic> {
    spirv::StorageClass::from_u32(number).ok_or_else(|| {
        Diagnostic::error(
            Code::UnsupportedStorageClass,
            format!("the storage class {number} of {} is unknown", inst.name()),
        )
        .at_word(inst.offset)
    })
}

/// Returns true if `inst` ends a block.
pub(crate) fn is_terminator(inst: Inst<'_>) -> bool {
    grammar::shape(inst.opcode()).is_terminator
}
