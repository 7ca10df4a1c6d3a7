//! The fields of a block, and the comparison of two blocks by their fields.

use splitbar_passes::module::{Constants, Declarations, FloatFormat, Id, Type};

/// A number in memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// An integer of so many bytes: 1, 2, 4 or 8.
    Int(usize),
    /// An IEEE number of so many bytes: 2, 4 or 8.
    Float(usize),
}

impl Scalar {
    /// Its bytes.
    pub fn bytes(self) -> usize {
        match self {
            Scalar::Int(bytes) | Scalar::Float(bytes) => bytes,
        }
    }
}

/// A number and where it begins.
pub type Field = (usize, Scalar);

/// The stride of the columns or rows of a matrix.
#[derive(Copy, Clone)]
struct MatrixLayout {
    stride: usize,
    is_row_major: bool,
}

/// The numbers in the first `bytes` bytes of a block of type `ty`, as the decorations Offset,
/// ArrayStride and MatrixStride place them. A run-time array extends to the end.
///
/// # Errors
/// It holds what is no number (a physical pointer), or one of a format that the host does not have.
pub fn fields(
    declarations: &Declarations<'_>,
    constants: &Constants,
    ty: Id,
    bytes: usize,
) -> Result<Vec<Field>, String> {
    let mut walk = Walk {
        declarations,
        constants,
        bytes,
        found: Vec::new(),
    };
    walk.visit(ty, 0, None)?;
    Ok(walk.found)
}

struct Walk<'w> {
    declarations: &'w Declarations<'w>,
    constants: &'w Constants,
    bytes: usize,
    found: Vec<Field>,
}

impl Walk<'_> {
    /// Types are nested finitely deep (`MOST_TYPE_DEPTH`).
    fn visit(&mut self, ty: Id, at: usize, matrix: Option<MatrixLayout>) -> Result<(), String> {
        use spirv::Decoration;
        if at >= self.bytes {
            return Ok(());
        }
        let declared = self.declarations.ty(ty).ok_or("a type that is unknown")?;
        match declared {
            Type::Vector { component, count } => {
                let scalar = self.scalar(*component)?;
                for index in 0..*count as usize {
                    self.add(at + index * scalar.bytes(), scalar);
                }
            }
            Type::Matrix { column, count } => self.matrix(*column, *count, at, matrix)?,
            Type::Array { element, .. } | Type::RuntimeArray { element } => {
                let stride = self.declarations.decoration(ty, Decoration::ArrayStride);
                let stride = stride.filter(|stride| *stride > 0);
                let stride = stride.ok_or("an array without a stride")? as usize;
                let count = match declared {
                    Type::Array { length, .. } => self.constants.as_u32(*length).unwrap_or(0),
                    _ => u32::MAX,
                };
                let starts = (0..count as usize).map(|index| at + index * stride);
                let bytes = self.bytes;
                for start in starts.take_while(|start| *start < bytes) {
                    self.visit(*element, start, matrix)?;
                }
            }
            Type::Struct { members } => {
                for (member, index) in members.iter().zip(0..) {
                    let of = |kind| self.declarations.member_decoration(ty, index, kind);
                    let offset = of(Decoration::Offset).ok_or("a member without an offset")?;
                    let matrix = of(Decoration::MatrixStride).map(|stride| MatrixLayout {
                        stride: stride as usize,
                        is_row_major: of(Decoration::RowMajor).is_some(),
                    });
                    self.visit(*member, at + offset as usize, matrix)?;
                }
            }
            _ => {
                let scalar = self.scalar(ty)?;
                self.add(at, scalar);
            }
        }
        Ok(())
    }

    fn matrix(
        &mut self,
        column: Id,
        columns: u32,
        at: usize,
        layout: Option<MatrixLayout>,
    ) -> Result<(), String> {
        let layout = layout.ok_or("a matrix without a stride")?;
        let Some(Type::Vector { component, count }) = self.declarations.ty(column) else {
            return Err("a matrix that is not made of vectors".to_owned());
        };
        let scalar = self.scalar(*component)?;
        for column in 0..columns as usize {
            for row in 0..*count as usize {
                let (outer, inner) = if layout.is_row_major {
                    (row, column)
                } else {
                    (column, row)
                };
                self.add(at + outer * layout.stride + inner * scalar.bytes(), scalar);
            }
        }
        Ok(())
    }

    fn scalar(&self, ty: Id) -> Result<Scalar, String> {
        match self.declarations.ty(ty) {
            Some(Type::Int { width, .. }) => Ok(Scalar::Int(*width as usize / 8)),
            Some(Type::Float {
                width,
                format: FloatFormat::Ieee,
            }) => Ok(Scalar::Float(*width as usize / 8)),
            Some(Type::Pointer { .. }) => Err("it holds physical pointers".to_owned()),
            other => Err(format!("it holds {other:?}")),
        }
    }

    fn add(&mut self, at: usize, scalar: Scalar) {
        if at + scalar.bytes() <= self.bytes {
            self.found.push((at, scalar));
        }
    }
}

/// The first number in which two blocks differ. Integers must be the same bit for bit, floats
/// within [`tolerance`].
pub fn difference(fields: &[Field], one: &[u8], other: &[u8]) -> Option<String> {
    fields.iter().find_map(|(at, scalar)| {
        let (a, b) = (bits(one, *at, *scalar)?, bits(other, *at, *scalar)?);
        let agree = match scalar {
            Scalar::Int(_) => a == b,
            Scalar::Float(bytes) => a == b || is_close(*bytes, a, b),
        };
        let show = |bits| match scalar {
            Scalar::Int(_) => format!("{bits:#x}"),
            Scalar::Float(bytes) => format!("{:?}", value(*bytes, bits)),
        };
        (!agree).then(|| format!("byte {at}: {} and {}", show(a), show(b)))
    })
}

/// The maximum difference between the floats of two correct implementations: a share of the larger
/// one, and an absolute part.
///
/// Vulkan ("Precision of Core SPIR-V Instructions") gives sines and cosines an absolute error of
/// 2^-11, and pow that of exp2(y * log2(x)), which is a relative one of some 2^-16 here; sums in
/// another order come on top. Half precision has a step of 2^-11 and may be rounded at every
/// operation. Double precision goes through the same functions in single precision on neither side,
/// but keeps the wide margin of a sum that cancels.
pub fn tolerance(bytes: usize) -> (f64, f64) {
    match bytes {
        2 => (1.0 / 128.0, 1.0 / 256.0),
        4 => (1.0 / 1024.0, 1.0 / 2048.0),
        _ => (1e-9, 1e-9),
    }
}

fn is_close(bytes: usize, a: u64, b: u64) -> bool {
    let (a, b) = (value(bytes, a), value(bytes, b));
    let (relative, absolute) = tolerance(bytes);
    // Infinities differ by a NaN, which is close to nothing, unless they are the same.
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).abs() <= absolute + relative * a.abs().max(b.abs())
            && a.is_finite()
            && b.is_finite()
}

fn value(bytes: usize, bits: u64) -> f64 {
    match bytes {
        2 => half::f16::from_bits(bits as u16).to_f64(),
        4 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

fn bits(block: &[u8], at: usize, scalar: Scalar) -> Option<u64> {
    let mut bits = [0; 8];
    let from = block.get(at..at + scalar.bytes())?;
    bits.get_mut(..from.len())?.copy_from_slice(from);
    Some(u64::from_le_bytes(bits))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use splitbar_passes::diagnostic::Diagnostics;
    use splitbar_passes::module::{Module, SpecValues, assemble};

    const BLOCK: &str = "\
OpCapability Shader
OpMemoryModel Logical GLSL450
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 8
OpMemberDecorate %block 1 MatrixStride 16
OpMemberDecorate %block 1 RowMajor
OpMemberDecorate %block 2 Offset 40
OpDecorate %array ArrayStride 6
%half = OpTypeFloat 16
%float = OpTypeFloat 32
%uint = OpTypeInt 32 0
%pair = OpTypeVector %float 2
%matrix = OpTypeMatrix %pair 2
%array = OpTypeRuntimeArray %half
%block = OpTypeStruct %uint %matrix %array
";

    #[test]
    fn numbers_stand_where_the_decorations_say() {
        let assembled = assemble(BLOCK).unwrap();
        let module = Module::from_words(assembled.words).unwrap();
        let mut problems = Diagnostics::default();
        let declarations = Declarations::new(&module, &mut problems);
        let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
        let is_struct = |(_, ty): &(Id, &Type)| matches!(ty, Type::Struct { .. });
        let (block, _) = declarations.types().find(is_struct).unwrap();
        let found = fields(&declarations, &constants, block, 54).unwrap();
        let (int, float, half) = (Scalar::Int(4), Scalar::Float(4), Scalar::Float(2));
        let mut matrix = vec![(8, float), (24, float), (12, float), (28, float)];
        let mut expected = vec![(0, int)];
        expected.append(&mut matrix);
        expected.extend([(40, half), (46, half), (52, half)]);
        assert_eq!(found, expected);
    }

    #[test]
    fn integers_agree_bit_for_bit_and_floats_within_the_tolerance() {
        let fields = [(0, Scalar::Int(4)), (4, Scalar::Float(4))];
        let block = |int: u32, float: f32| [int.to_le_bytes(), float.to_le_bytes()].concat();
        let differ = |a: Vec<u8>, b: Vec<u8>| difference(&fields, &a, &b).is_some();
        assert!(!differ(block(1, 1000.0), block(1, 1000.5)));
        assert!(differ(block(1, 1000.0), block(1, 1002.0)));
        assert!(differ(block(1, 1.0), block(2, 1.0)));
        assert!(!differ(block(1, f32::NAN), block(1, -f32::NAN)));
        assert!(differ(block(1, f32::NAN), block(1, 1.0)));
        assert!(differ(block(1, f32::INFINITY), block(1, f32::MAX)));
    }
}
