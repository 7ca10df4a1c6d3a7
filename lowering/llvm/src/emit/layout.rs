//! Where the parts of a value lie in memory: sizes, alignments, offsets.
//!
//! A structure with Offset decorations, an array with ArrayStride, a matrix member with MatrixStride lie where these say. Anything else is laid out
//! naturally: OpenCL's rules in kernels (a vector of three has the size of four, structures are padded; CPacked: no padding), and the same in shaders
//! except that a vector of three has the size of three components (aligned as four), as in GLSL's std430.

use super::function::MatrixLayout;
use super::types::{Kind, Shape, TypeInfo, Types};
use splitbar_passes::module::{Declarations, Id};

/// Bytes of a pointer in memory: both back ends have 64-bit addressing; LDS pointers occupy as much.
pub(crate) const POINTER_BYTES: u64 = 8;

/// `value` rounded up to a multiple of `align`.
pub(crate) fn round_up(value: u64, align: u32) -> u64 {
    value
        .checked_next_multiple_of(u64::from(align.max(1)))
        .unwrap_or(u64::MAX)
}

/// The largest power of two that divides `offset` (0: as large as it gets), at most `limit`.
pub(crate) fn alignment_of_offset(limit: u32, offset: u64) -> u32 {
    let low = if offset == 0 {
        u64::MAX
    } else {
        offset & offset.wrapping_neg()
    };
    u64::from(limit).min(low) as u32
}

/// Size and alignment of a scalar or vector.
pub(crate) fn plain(shape: Shape, kernel: bool) -> (u64, u32) {
    let bytes = shape.scalar.bytes();
    let padded = shape.lanes.next_power_of_two();
    let lanes = if kernel { padded } else { shape.lanes };
    (u64::from(bytes) * u64::from(lanes), bytes * padded)
}

/// Bytes between the elements of the array type `id`.
pub(crate) fn array_stride(declarations: &Declarations<'_>, id: Id, element: &TypeInfo<'_>) -> u64 {
    match declarations.decoration(id, spirv::Decoration::ArrayStride) {
        Some(stride) if stride != 0 => u64::from(stride),
        _ => round_up(element.size, element.align),
    }
}

/// Bytes between the elements that a pointer of type `pointer_type` to `pointee` counts; `None` when `pointee` is no type with a size.
pub(crate) fn element_stride(
    types: &Types<'_>,
    declarations: &Declarations<'_>,
    pointer_type: Id,
    pointee: Id,
) -> Option<u64> {
    match declarations.decoration(pointer_type, spirv::Decoration::ArrayStride) {
        Some(stride) if stride != 0 => Some(u64::from(stride)),
        _ => {
            let info = types.get(pointee)?;
            Some(round_up(info.size, info.align))
        }
    }
}

/// Largest alignment that a variable is given, in bytes.
const MAX_ALIGN: u32 = 1 << 12;

/// The alignment of the variable `id`, whose memory wants `natural` at least: more where the decoration Alignment asks for it.
pub(crate) fn variable_align(declarations: &Declarations<'_>, id: Id, natural: u32) -> u32 {
    let asked = declarations
        .decoration(id, spirv::Decoration::Alignment)
        .filter(|align| align.is_power_of_two() && *align <= MAX_ALIGN);
    natural.max(asked.unwrap_or(1))
}

/// The layout of a matrix member, if it is decorated.
pub(crate) fn matrix_of_member(
    declarations: &Declarations<'_>,
    structure: Id,
    member: u32,
) -> Option<MatrixLayout> {
    let stride =
        declarations.member_decoration(structure, member, spirv::Decoration::MatrixStride)?;
    Some(MatrixLayout {
        stride,
        row_major: declarations
            .member_decoration(structure, member, spirv::Decoration::RowMajor)
            .is_some(),
    })
}

/// Bytes of a member of type `info` with matrix layout `matrix`.
pub(crate) fn member_size(info: &TypeInfo<'_>, matrix: Option<MatrixLayout>) -> u64 {
    match (&info.kind, matrix) {
        (Kind::Matrix { column, columns }, Some(layout)) => {
            u64::from(layout.stride)
                * u64::from(if layout.row_major {
                    column.lanes
                } else {
                    *columns
                })
        }
        _ => info.size,
    }
}

/// Size and alignment of the structure `id` with members `infos`.
pub(crate) fn structure(
    declarations: &Declarations<'_>,
    id: Id,
    infos: &[&TypeInfo<'_>],
) -> (u64, u32) {
    let mut end = 0u64;
    let mut align = 1;
    let packed = declarations
        .decoration(id, spirv::Decoration::CPacked)
        .is_some();
    let mut explicit = false;
    for (i, (info, offset)) in infos
        .iter()
        .zip(offsets(declarations, id, infos))
        .enumerate()
    {
        let matrix = matrix_of_member(declarations, id, i as u32);
        end = end.max(offset.saturating_add(member_size(info, matrix)));
        explicit |= declarations
            .member_decoration(id, i as u32, spirv::Decoration::Offset)
            .is_some();
        align = align.max(info.align);
    }
    if packed {
        return (end, 1);
    }
    (if explicit { end } else { round_up(end, align) }, align)
}

/// The offset of every member of the structure `id`.
pub(crate) fn offsets(
    declarations: &Declarations<'_>,
    id: Id,
    infos: &[&TypeInfo<'_>],
) -> Vec<u64> {
    let packed = declarations
        .decoration(id, spirv::Decoration::CPacked)
        .is_some();
    let mut next = 0u64;
    let mut offsets = Vec::with_capacity(infos.len());
    for (i, info) in infos.iter().enumerate() {
        let offset = match declarations.member_decoration(id, i as u32, spirv::Decoration::Offset) {
            Some(offset) => u64::from(offset),
            None if packed => next,
            None => round_up(next, info.align),
        };
        next = offset.saturating_add(info.size);
        offsets.push(offset);
    }
    offsets
}
