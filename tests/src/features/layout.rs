//! Types with a layout: structures with offsets, arrays with strides, row-major and column-major
//! matrices, and the offset of each of their scalars in memory.

use super::ty::Scalar;
use std::fmt::Write;

/// A type in memory.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// A scalar.
    Scalar(Scalar),
    /// Components side by side.
    Vector(Scalar, u32),
    /// Columns, or rows, so many bytes apart. Only as a member of a structure, which has the
    /// decorations.
    Matrix {
        scalar: Scalar,
        columns: u32,
        rows: u32,
        stride: u32,
        row_major: bool,
    },
    /// So many elements, so many bytes apart.
    Array(Box<Layout>, u32, u32),
    /// Members and where they begin.
    Struct(Vec<(u32, Layout)>),
}

/// A scalar of a type: the way to it, its offset, and what it is.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Indices from the outside.
    pub path: Vec<u32>,
    /// Bytes from the beginning.
    pub offset: u32,
    /// The scalar at that place.
    pub scalar: Scalar,
}

impl Layout {
    /// Declares the type: its name after `$` or `%`, with lines to `types` and `decorate`. Names of
    /// its own begin with `prefix`.
    pub(super) fn declare(
        &self,
        prefix: &str,
        types: &mut String,
        decorate: &mut String,
    ) -> String {
        match self {
            Layout::Scalar(s) => format!("%{}", s.name()),
            Layout::Vector(s, lanes) => format!("%{}v{lanes}", s.name()),
            Layout::Matrix {
                scalar,
                columns,
                rows,
                ..
            } => format!("%{}m{columns}x{rows}", scalar.name()),
            Layout::Array(element, count, stride) => {
                let of = element.declare(&format!("{prefix}e"), types, decorate);
                let _ = writeln!(types, "${prefix} = OpTypeArray {of} %u32_{count}");
                let _ = writeln!(decorate, "OpDecorate ${prefix} ArrayStride {stride}");
                format!("${prefix}")
            }
            Layout::Struct(members) => {
                let mut names = String::new();
                for (at, (offset, member)) in members.iter().enumerate() {
                    let name = member.declare(&format!("{prefix}m{at}"), types, decorate);
                    let _ = write!(names, " {name}");
                    let _ = writeln!(decorate, "OpMemberDecorate ${prefix} {at} Offset {offset}");
                    if let Some((stride, row_major)) = member.matrix() {
                        let order = if row_major { "RowMajor" } else { "ColMajor" };
                        let _ = write!(
                            decorate,
                            "OpMemberDecorate ${prefix} {at} MatrixStride {stride}\nOpMemberDecorate ${prefix} {at} {order}\n"
                        );
                    }
                }
                let _ = writeln!(types, "${prefix} = OpTypeStruct{names}");
                format!("${prefix}")
            }
        }
    }

    /// Stride and order of the matrix that it is, or that its elements are.
    fn matrix(&self) -> Option<(u32, bool)> {
        match self {
            Layout::Matrix {
                stride, row_major, ..
            } => Some((*stride, *row_major)),
            Layout::Array(element, ..) => element.matrix(),
            _ => None,
        }
    }

    /// All scalars, in the order of their indices.
    pub(super) fn leaves(&self) -> Vec<Leaf> {
        let below = |index: u32, at: u32, layout: &Layout| {
            layout.leaves().into_iter().map(move |mut leaf| {
                leaf.path.insert(0, index);
                leaf.offset += at;
                leaf
            })
        };
        let leaf = |path: Vec<u32>, offset, scalar| Leaf {
            path,
            offset,
            scalar,
        };
        match self {
            Layout::Scalar(s) => vec![leaf(Vec::new(), 0, *s)],
            Layout::Vector(s, lanes) => (0..*lanes)
                .map(|i| leaf(vec![i], i * s.bits() / 8, *s))
                .collect(),
            Layout::Matrix {
                scalar,
                columns,
                rows,
                stride,
                row_major,
            } => (0..columns * rows)
                .map(|i| {
                    let (column, row) = (i / rows, i % rows);
                    let (line, at) = if *row_major {
                        (row, column)
                    } else {
                        (column, row)
                    };
                    let offset = line * stride + at * scalar.bits() / 8;
                    leaf(vec![column, row], offset, *scalar)
                })
                .collect(),
            Layout::Array(element, count, stride) => (0..*count)
                .flat_map(|i| below(i, i * stride, element))
                .collect(),
            Layout::Struct(members) => members
                .iter()
                .zip(0..)
                .flat_map(|((offset, member), at)| below(at, *offset, member))
                .collect(),
        }
    }
}

/// The scalar at `offset`.
pub(super) fn read(bytes: &[u8], offset: usize, scalar: Scalar) -> u64 {
    let mut word = [0; 8];
    let size = scalar.bits() as usize / 8;
    word[..size].copy_from_slice(&bytes[offset..offset + size]);
    u64::from_le_bytes(word)
}

/// Puts a scalar at `offset`.
pub(super) fn write(bytes: &mut [u8], offset: usize, scalar: Scalar, value: u64) {
    let size = scalar.bits() as usize / 8;
    bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
}
