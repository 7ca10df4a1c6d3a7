//! OpSpecConstantOp: the operations that can be evaluated when the specialization constants are
//! known (SPIR-V 3.49.7).

use super::scalar::Stop;
use super::scalar::{Scalar, arity, evaluate, number, numeric_width};
use super::{Constant, Constants, Declarations, Id, Inst, Type};
use crate::diagnostic::{Code, Diagnostic};

/// The value of the OpSpecConstantOp `inst`; `None` when it has none here, or when a null composite
/// would have to be written out as more than `room` scalars. A value always has the shape of its
/// type, so it is nested no deeper.
///
/// # Errors
/// `BadConstant` when an index is outside of its composite, `TypeMismatch` when operands do not fit
/// the operation, `MissingOperand`.
pub(super) fn operation(
    declarations: &Declarations<'_>,
    constants: &Constants,
    inst: Inst<'_>,
    room: usize,
) -> Result<Option<Constant>, Diagnostic> {
    match (Folder {
        declarations,
        constants,
        inst,
        room,
    })
    .run()
    {
        Ok(value) => Ok(Some(value)),
        Err(Stop::NoValue) => Ok(None),
        Err(Stop::Undefined) => Ok(Some(Constant::Undef)),
        Err(Stop::Wrong(diagnostic)) => Err(diagnostic),
    }
}

struct Folder<'f, 'm> {
    declarations: &'f Declarations<'m>,
    constants: &'f Constants,
    inst: Inst<'m>,
    room: usize,
}

impl<'f> Folder<'f, '_> {
    fn run(&self) -> Result<Constant, Stop> {
        use spirv::Op;
        let op = spirv::Op::from_u32(self.inst.operand(0)?).ok_or(Stop::NoValue)?;
        match op {
            Op::CompositeExtract => self.extract(),
            Op::CompositeInsert => self.insert(),
            Op::VectorShuffle => self.shuffle(),
            Op::Select => self.select(),
            Op::Bitcast => self.bitcast(),
            _ => self.by_lane(op), // scalars, and vectors one component at a time
        }
    }

    fn wrong(&self, code: Code, message: impl Into<String>) -> Stop {
        Stop::Wrong(Diagnostic::error(code, message))
    }

    /// Operand `index` of the operation (0 is the first after its opcode).
    fn argument(&self, index: usize) -> Result<(&'f Constant, Id), Stop> {
        let id = self.inst.id(index + 1)?;
        let value = self.constants.get(id).ok_or(Stop::NoValue)?;
        Ok((value, self.declarations.type_of(id).ok_or(Stop::NoValue)?))
    }

    fn result_type(&self) -> Result<Id, Stop> {
        self.inst.result_type().ok_or(Stop::NoValue)
    }

    /// The scalar type and the number of components of `ty`; a scalar has `None`.
    fn shape(&self, ty: Id) -> Result<(&'f Type, Option<u32>), Stop> {
        match self.declarations.ty(ty) {
            Some(Type::Vector { component, count }) => Ok((
                self.declarations.ty(*component).ok_or(Stop::NoValue)?,
                Some(*count),
            )),
            Some(scalar) if scalar.is_scalar() => Ok((scalar, None)),
            _ => Err(Stop::NoValue), // an operation on pointers or matrices
        }
    }

    fn by_lane(&self, op: spirv::Op) -> Result<Constant, Stop> {
        let arity = arity(op).ok_or(Stop::NoValue)?;
        let (result, count) = self.shape(self.result_type()?)?;
        let arguments: Vec<(&Constant, Id)> = (0..arity)
            .map(|index| self.argument(index))
            .collect::<Result<_, _>>()?;
        let mut shapes = Vec::with_capacity(arity);
        for (_, ty) in &arguments {
            let (scalar, lanes) = self.shape(*ty)?;
            if lanes != count {
                return Err(self.wrong(
                    Code::TypeMismatch,
                    format!(
                        "the operands and the result of Op{op:?} differ in their number of components"
                    ),
                ));
            }
            shapes.push(scalar);
        }
        let lane = |index: u32| -> Result<Constant, Stop> {
            let scalars: Vec<Scalar<'_>> = arguments
                .iter()
                .zip(&shapes)
                .map(|((value, _), ty)| {
                    Ok(Scalar {
                        value: component(value, index, count)?,
                        ty,
                    })
                })
                .collect::<Result<_, Stop>>()?;
            evaluate(op, result, &scalars).map_err(|stop| match stop {
                Stop::Wrong(_) | Stop::Undefined => stop,
                Stop::NoValue => self.wrong(
                    Code::TypeMismatch,
                    format!("the operands of Op{op:?} have the wrong types"),
                ),
            })
        };
        let Some(count) = count else { return lane(0) };
        let lanes = (0..count).map(|index| match lane(index) {
            Err(Stop::Undefined) => Ok(Constant::Undef),
            other => other,
        });
        Ok(Constant::Composite(lanes.collect::<Result<_, _>>()?))
    }

    fn select(&self) -> Result<Constant, Stop> {
        let [(condition, condition_type), (yes, yes_type), (no, no_type)] =
            [self.argument(0)?, self.argument(1)?, self.argument(2)?];
        self.is_result(yes_type)?;
        self.is_result(no_type)?;
        let (_, lanes) = self.shape(condition_type)?;
        let pick = |condition: &Constant, yes: &Constant, no: &Constant| match condition {
            Constant::Undef => Err(Stop::Undefined),
            other => other
                .as_bool()
                .map(|is| if is { yes.clone() } else { no.clone() })
                .ok_or_else(|| {
                    self.wrong(
                        Code::TypeMismatch,
                        "the condition of OpSelect is not Boolean",
                    )
                }),
        };
        if lanes.is_none() {
            return pick(condition, yes, no);
        }
        let count = lanes.unwrap_or(0);
        let parts = (0..count).map(|index| {
            pick(
                component(condition, index, lanes)?,
                component(yes, index, lanes)?,
                component(no, index, lanes)?,
            )
        });
        Ok(Constant::Composite(parts.collect::<Result<_, _>>()?))
    }

    /// The literal indices from operand `from` on.
    fn literals(&self, from: usize) -> &[u32] {
        self.inst.operands().get(from + 1..).unwrap_or(&[])
    }

    fn extract(&self) -> Result<Constant, Stop> {
        let (mut value, mut ty) = self.argument(0)?;
        for index in self.literals(1) {
            (_, ty) = self.parts(ty, *index)?;
            value = match value {
                Constant::Composite(parts) => parts
                    .get(*index as usize)
                    .ok_or_else(|| self.outside(*index))?,
                Constant::Null | Constant::Undef => value,
                Constant::Bool(_) | Constant::Int { .. } | Constant::Float { .. } => {
                    return Err(self.outside(*index));
                }
            };
        }
        self.is_result(ty)?;
        Ok(value.clone())
    }

    fn insert(&self) -> Result<Constant, Stop> {
        let [(object, object_type), (composite, composite_type)] =
            [self.argument(0)?, self.argument(1)?];
        self.is_result(composite_type)?;
        let mut result = composite.clone();
        let mut slot = &mut result;
        let mut ty = composite_type;
        let mut room = self.room;
        for index in self.literals(2) {
            let (count, part) = self.parts(ty, *index)?;
            if matches!(slot, Constant::Null | Constant::Undef) {
                room = room.checked_sub(count).ok_or(Stop::NoValue)?;
                *slot = Constant::Composite(vec![slot.clone(); count]);
            }
            let Constant::Composite(list) = slot else {
                return Err(self.outside(*index));
            };
            slot = list
                .get_mut(*index as usize)
                .ok_or_else(|| self.outside(*index))?;
            ty = part;
        }
        if ty != object_type {
            return Err(self.wrong(
                Code::TypeMismatch,
                "the object of OpCompositeInsert does not have the type of the part that it replaces",
            ));
        }
        *slot = object.clone();
        Ok(result)
    }

    /// Checks that the type `ty` of an operand that becomes the result is the result type.
    fn is_result(&self, ty: Id) -> Result<(), Stop> {
        if self.inst.result_type() == Some(ty) {
            Ok(())
        } else {
            Err(self.wrong(
                Code::TypeMismatch,
                format!("the type {ty} of an operand is not the result type"),
            ))
        }
    }

    /// The number of parts of the composite type `ty`, and the type of part `index`.
    fn parts(&self, ty: Id, index: u32) -> Result<(usize, Id), Stop> {
        let index = index as usize;
        let (count, part) = match self.declarations.ty(ty) {
            Some(
                Type::Vector {
                    component: part,
                    count,
                }
                | Type::Matrix {
                    column: part,
                    count,
                },
            ) => (*count as usize, Some(part)),
            Some(Type::Struct { members }) => (members.len(), members.get(index)),
            Some(Type::Array { element, length }) => (
                self.constants.as_u32(*length).ok_or(Stop::NoValue)? as usize,
                Some(element),
            ),
            _ => (0, None), // not a composite
        };
        part.filter(|_| index < count)
            .map(|part| (count, *part))
            .ok_or_else(|| self.outside(index as u32))
    }

    fn outside(&self, index: u32) -> Stop {
        self.wrong(
            Code::BadConstant,
            format!("the index {index} is outside of the composite"),
        )
    }

    fn shuffle(&self) -> Result<Constant, Stop> {
        let [(first, first_type), (second, second_type)] = [self.argument(0)?, self.argument(1)?];
        let [(_, first_lanes), (_, second_lanes)] =
            [self.shape(first_type)?, self.shape(second_type)?];
        let (Some(in_first), Some(in_second)) = (first_lanes, second_lanes) else {
            return Err(self.wrong(
                Code::TypeMismatch,
                "an operand of OpVectorShuffle is not a vector",
            ));
        };
        if self.shape(self.result_type()?)?.1 != u32::try_from(self.literals(2).len()).ok() {
            return Err(self.wrong(
                Code::TypeMismatch,
                "the components of OpVectorShuffle are not as many as those of its result type",
            ));
        }
        let pick = |index: &u32| match *index {
            u32::MAX => Ok(Constant::Undef),
            index if index < in_first => component(first, index, first_lanes).cloned(),
            index if index - in_first < in_second => {
                component(second, index - in_first, second_lanes).cloned()
            }
            index => Err(self.outside(index)),
        };
        Ok(Constant::Composite(
            self.literals(2)
                .iter()
                .map(pick)
                .collect::<Result<_, _>>()?,
        ))
    }

    /// The same bits as another type: the lowest component holds the lowest bits (SPIR-V 3.49.11,
    /// OpBitcast).
    fn bitcast(&self) -> Result<Constant, Stop> {
        let (value, from) = self.argument(0)?;
        let (from, from_lanes) = self.shape(from)?;
        let (to, to_lanes) = self.shape(self.result_type()?)?;
        let (from_width, to_width) = (
            numeric_width(from).ok_or(Stop::NoValue)?,
            numeric_width(to).ok_or(Stop::NoValue)?,
        );
        if from_width * from_lanes.unwrap_or(1) != to_width * to_lanes.unwrap_or(1) {
            return Err(self.wrong(Code::TypeMismatch, "the types of OpBitcast differ in size"));
        }
        let mut stream = Vec::new();
        for index in 0..from_lanes.unwrap_or(1) {
            let bits = Scalar {
                value: component(value, index, from_lanes)?,
                ty: from,
            }
            .bits()?;
            stream.extend((0..from_width).map(|bit| bits >> bit & 1));
        }
        let mut lanes: Vec<Constant> = stream
            .chunks(to_width as usize)
            .map(|bits| number(to, bits.iter().rev().fold(0, |all, bit| all << 1 | bit)))
            .collect();
        if to_lanes.is_some() {
            Ok(Constant::Composite(lanes))
        } else {
            lanes.pop().ok_or(Stop::NoValue)
        }
    }
}

/// Component `index` of a vector; a scalar is its own.
fn component(value: &Constant, index: u32, lanes: Option<u32>) -> Result<&Constant, Stop> {
    match value {
        Constant::Composite(parts) => parts.get(index as usize).ok_or(Stop::NoValue),
        Constant::Null | Constant::Undef => Ok(value),
        Constant::Bool(_) | Constant::Int { .. } | Constant::Float { .. } if lanes.is_none() => {
            Ok(value)
        }
        Constant::Bool(_) | Constant::Int { .. } | Constant::Float { .. } => Err(Stop::NoValue),
    }
}
