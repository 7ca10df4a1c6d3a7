//! The layout of values in memory: sizes, alignments, offsets.
//!
//! A structure with Offset decorations, an array with ArrayStride, a matrix member with
//! MatrixStride lie where these say. Anything else is laid out naturally: OpenCL's rules in kernels
//! (a vector of three has the size of four, structures are padded; CPacked: no padding), and the
//! same in shaders except that a vector of three has the size of three components (aligned as
//! four), as in GLSL's std430.

use crate::module::{Constants, Declarations, Id, Type};
use spirv::{Capability, Decoration};
use std::collections::BTreeMap;

/// Bytes of a pointer in memory: both vendors have 64-bit addressing; pointers into workgroup
/// memory occupy as much.
pub const POINTER_BYTES: u64 = 8;

/// An alignment: addresses are multiples of it. A power of two.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alignment(u32);

impl Alignment {
    /// The alignment of a byte, which every address has.
    pub const BYTE: Alignment = Alignment(1);

    /// The alignment of a 32-bit word.
    pub const WORD: Alignment = Alignment(4);

    /// The alignment of a pointer.
    pub const POINTER: Alignment = Alignment(POINTER_BYTES as u32);

    /// The alignment of a vector of four words, which one access can read or write.
    pub const QUAD: Alignment = Alignment(16);

    /// An alignment to so many bytes; `None` where that is not a power of two.
    pub fn new(bytes: u32) -> Option<Alignment> {
        bytes.is_power_of_two().then_some(Alignment(bytes))
    }

    /// The alignment of the address that is `offset` bytes after one with this alignment.
    pub fn at_offset(self, offset: u64) -> Alignment {
        Alignment(alignment_of_offset(self.0, offset))
    }

    /// Its bytes.
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// `value` rounded up to a multiple of it, or `u64::MAX` where there is none.
    pub fn round_up(self, value: u64) -> u64 {
        value
            .checked_next_multiple_of(u64::from(self.0))
            .unwrap_or(u64::MAX)
    }

    /// Returns true if `offset` is a multiple of it.
    pub fn divides(self, offset: u64) -> bool {
        offset.is_multiple_of(u64::from(self.0))
    }
}

impl Default for Alignment {
    fn default() -> Alignment {
        Alignment::BYTE
    }
}

impl std::fmt::Display for Alignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The most that a kernel takes for granted of a buffer's address.
pub const BUFFER_ALIGN: Alignment = Alignment::QUAD;

/// The alignment that a kernel can assume for the address of a buffer whose content has the
/// alignment `natural`: at least a word.
pub fn buffer_align(natural: Alignment) -> Alignment {
    natural.clamp(Alignment::WORD, BUFFER_ALIGN)
}

/// Size and alignment of a type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Bytes.
    pub size: u64,
    /// Natural alignment.
    pub align: Alignment,
}

/// A pointer.
pub const POINTER: Extent = Extent {
    size: POINTER_BYTES,
    align: Alignment::POINTER,
};

impl Extent {
    /// A scalar of so many bits; a Boolean has one byte. It is aligned to its size, or where that
    /// is not a power of two, so that one can follow the other.
    pub fn scalar(bits: u32) -> Extent {
        let size = u64::from(bits.div_ceil(8));
        Extent {
            size,
            align: Alignment(1 << 31).at_offset(size.max(1)),
        }
    }

    /// A vector of so many of these scalars; `kernel`: by OpenCL's rules.
    pub fn vector(self, lanes: u32, kernel: bool) -> Extent {
        let padded = lanes.next_power_of_two();
        let align = self.align.bytes().saturating_mul(padded);
        let sized = if kernel { padded } else { lanes };
        Extent {
            size: self.size.saturating_mul(u64::from(sized)),
            align: Alignment::new(align).unwrap_or(self.align),
        }
    }

    /// Bytes from one of these to the next.
    pub fn stride(self) -> u64 {
        self.align.round_up(self.size)
    }

    /// `count` of these, `stride` bytes apart.
    pub fn times(self, count: u64, stride: u64) -> Extent {
        Extent {
            size: stride.saturating_mul(count),
            ..self
        }
    }
}

/// The largest power of two that divides `offset` (0: as large as it gets), at most `limit`.
pub fn alignment_of_offset(limit: u32, offset: u64) -> u32 {
    let low = if offset == 0 {
        u64::MAX
    } else {
        offset & offset.wrapping_neg()
    };
    u64::from(limit).min(low) as u32
}

/// Bytes between the elements of the array type, or that a pointer of the type counts: `id` is the
/// type.
pub fn stride(declarations: &Declarations<'_>, id: Id, element: Extent) -> u64 {
    match declarations.decoration(id, Decoration::ArrayStride) {
        Some(stride) if stride != 0 => u64::from(stride),
        _ => element.stride(),
    }
}

/// Largest alignment that a variable is given.
const MAX_ALIGN: Alignment = Alignment(1 << 12);

/// The alignment of the variable `id`: at least `natural`, and more if the decoration Alignment
/// requires it.
pub fn variable_align(declarations: &Declarations<'_>, id: Id, natural: Alignment) -> Alignment {
    let asked = declarations
        .decoration(id, Decoration::Alignment)
        .and_then(Alignment::new)
        .filter(|align| *align <= MAX_ALIGN);
    natural.max(asked.unwrap_or(Alignment::BYTE))
}

/// Layout of a matrix in memory (decorations MatrixStride, RowMajor, ColMajor of a structure
/// member).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MatrixLayout {
    /// Bytes between columns, or between rows when row-major.
    pub stride: u32,
    /// Row-major.
    pub row_major: bool,
}

impl MatrixLayout {
    /// The layout of a member of a structure, if it is decorated.
    fn analyze(
        declarations: &Declarations<'_>,
        structure: Id,
        member: u32,
    ) -> Option<MatrixLayout> {
        let decoration = |kind| declarations.member_decoration(structure, member, kind);
        Some(MatrixLayout {
            stride: decoration(Decoration::MatrixStride)?,
            row_major: decoration(Decoration::RowMajor).is_some(),
        })
    }

    /// Bytes of a member of the type `ty` that is laid out so; `None` when it is no matrix.
    fn bytes(self, declarations: &Declarations<'_>, ty: Id) -> Option<u64> {
        let Type::Matrix { column, count } = declarations.ty(ty)? else {
            return None;
        };
        let vectors = match declarations.ty(*column)? {
            Type::Vector { count: rows, .. } if self.row_major => *rows,
            _ => *count,
        };
        Some(u64::from(self.stride) * u64::from(vectors))
    }
}

/// Offset and matrix layout of a member of a structure.
pub type MemberPlace = (u64, Option<MatrixLayout>);

/// The structure `id`, and where its members lie, of which each is a type and its extent.
pub fn structure(
    declarations: &Declarations<'_>,
    id: Id,
    members: &[(Id, Extent)],
) -> (Extent, Vec<MemberPlace>) {
    let packed = declarations.decoration(id, Decoration::CPacked).is_some();
    let (mut next, mut end, mut align, mut explicit) = (0u64, 0u64, Alignment::BYTE, false);
    let mut places = Vec::with_capacity(members.len());
    for ((ty, member), number) in members.iter().zip(0..) {
        let offset = match declarations.member_decoration(id, number, Decoration::Offset) {
            Some(offset) => {
                explicit = true;
                u64::from(offset)
            }
            None if packed => next,
            None => member.align.round_up(next),
        };
        let matrix = MatrixLayout::analyze(declarations, id, number);
        let size = matrix
            .and_then(|matrix| matrix.bytes(declarations, *ty))
            .unwrap_or(member.size);
        next = offset.saturating_add(member.size);
        end = end.max(offset.saturating_add(size));
        align = align.max(member.align);
        places.push((offset, matrix));
    }
    let extent = match (packed, explicit) {
        (true, _) => Extent {
            size: end,
            align: Alignment::BYTE,
        },
        (false, true) => Extent { size: end, align },
        (false, false) => Extent {
            size: align.round_up(end),
            align,
        },
    };
    (extent, places)
}

/// Extents of types, each computed once. Types are nested at most
/// [`crate::module::MOST_TYPE_DEPTH`] deep.
pub struct Extents<'s, 'm> {
    declarations: &'s Declarations<'m>,
    constants: &'s Constants,
    known: BTreeMap<Id, Option<Extent>>,
}

impl<'s, 'm> Extents<'s, 'm> {
    /// Those of a module, of which none is known yet.
    pub fn new(declarations: &'s Declarations<'m>, constants: &'s Constants) -> Self {
        Extents {
            declarations,
            constants,
            known: BTreeMap::new(),
        }
    }

    /// The extent of the type `id`; `None` for one without a size, or with one that the target
    /// decides.
    pub fn of(&mut self, id: Id) -> Option<Extent> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let found = self.compute(id);
        self.known.insert(id, found);
        found
    }

    fn compute(&mut self, id: Id) -> Option<Extent> {
        let declarations = self.declarations;
        match declarations.ty(id)? {
            Type::Bool => Some(Extent::scalar(1)),
            Type::Int { width, .. } | Type::Float { width, .. } => Some(Extent::scalar(*width)),
            Type::Vector { component, count } => {
                let kernel = declarations.has_capability(Capability::Kernel);
                Some(self.of(*component)?.vector(*count, kernel))
            }
            Type::Matrix { column, count } => {
                let column = self.of(*column)?;
                Some(column.times(u64::from(*count), column.stride()))
            }
            Type::Array { element, length } => {
                let element = self.of(*element)?;
                let length = u64::from(self.constants.as_u32(*length)?);
                Some(element.times(length, stride(declarations, id, element)))
            }
            Type::Struct { members } => {
                let parts: Option<Vec<_>> = members
                    .iter()
                    .map(|member| Some((*member, self.of(*member)?)))
                    .collect();
                Some(structure(declarations, id, &parts?).0)
            }
            Type::Pointer { .. } => Some(POINTER),
            Type::Event => Some(Extent::scalar(32)),
            Type::Void
            | Type::RuntimeArray { .. }
            | Type::Function { .. }
            | Type::NamedBarrier
            | Type::CooperativeMatrix { .. }
            | Type::Other { .. } => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::module::{SpecValues, assemble};

    #[test]
    fn alignments_are_powers_of_two() {
        assert_eq!([0, 3, 12].map(Alignment::new), [None; 3]);
        let page = Alignment::new(4096).unwrap();
        assert!(Alignment::BYTE < Alignment::WORD && Alignment::QUAD < page);
        assert_eq!(
            [0, 1, 4096, 4097].map(|at| page.round_up(at)),
            [0, 4096, 4096, 8192]
        );
        assert_eq!(page.round_up(u64::MAX), u64::MAX);
        assert!(page.divides(0) && page.divides(8192) && !page.divides(2048));
        assert_eq!(
            [0, 12, 8192].map(|at| page.at_offset(at).bytes()),
            [4096, 4, 4096]
        );
    }

    #[test]
    fn scalars_of_odd_sizes_can_follow_each_other() {
        for (bits, size, align) in [(1, 1, 1), (24, 3, 1), (48, 6, 2), (64, 8, 8)] {
            let extent = Extent::scalar(bits);
            assert_eq!((extent.size, extent.align.bytes()), (size, align));
            assert_eq!(extent.stride(), size);
        }
    }

    /// Size and alignment of `%t`, by the rules of shaders and of kernels.
    fn extents(types: &str, decorations: &str) -> [(u64, u32); 2] {
        ["Shader", "Kernel"].map(|capability| {
            let text = format!(
                "; Version: 1.6\nOpCapability {capability}\nOpMemoryModel Logical GLSL450\nOpName %t \"t\"\n{decorations}
%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n%float = OpTypeFloat 32\n%double = OpTypeFloat 64
%uint3 = OpTypeVector %uint 3\n%float3 = OpTypeVector %float 3\n%n = OpConstant %uint 100\n{types}"
            );
            let assembled = assemble(&text).unwrap();
            let module = assembled.module().unwrap();
            let mut problems = Diagnostics::new();
            let declarations = Declarations::new(&module, &mut problems);
            let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
            assert!(!problems.has_errors(), "{types}");
            let t = module.instructions().filter_map(|inst| inst.result()).last().unwrap();
            let extent = Extents::new(&declarations, &constants).of(t).unwrap();
            (extent.size, extent.align.bytes())
        })
    }

    #[test]
    fn natural_layouts() {
        for (types, expected) in [
            ("%t = OpTypeArray %bool %n", [(100, 1), (100, 1)]),
            ("%t = OpTypeVector %uint 3", [(12, 16), (16, 16)]),
            ("%t = OpTypeArray %uint3 %n", [(1600, 16), (1600, 16)]),
            ("%t = OpTypeMatrix %float3 3", [(48, 16), (48, 16)]),
            ("%t = OpTypeStruct %uint %double %uint", [(24, 8), (24, 8)]),
            ("%t = OpTypeStruct %uint3 %uint", [(16, 16), (32, 16)]),
        ] {
            assert_eq!(extents(types, ""), expected, "{types}");
        }
    }

    #[test]
    fn decorations_say_where_things_lie() {
        let m = "%m = OpTypeMatrix %float3 2\n%t = OpTypeStruct %m";
        let at = "OpMemberDecorate %t 0 Offset 0\nOpMemberDecorate %t 0 MatrixStride 64";
        for (types, decorations, expected) in [
            (
                "%t = OpTypeStruct %uint %uint",
                "OpMemberDecorate %t 0 Offset 0\nOpMemberDecorate %t 1 Offset 60",
                (64, 4),
            ),
            (
                "%t = OpTypeArray %uint %n",
                "OpDecorate %t ArrayStride 12",
                (1200, 4),
            ),
            (m, at, (128, 16)),
            (
                m,
                &format!("{at}\nOpMemberDecorate %t 0 RowMajor"),
                (192, 16),
            ),
            (
                "%t = OpTypeStruct %uint %double",
                "OpDecorate %t CPacked",
                (12, 1),
            ),
        ] {
            assert_eq!(extents(types, decorations), [expected; 2], "{types}");
        }
    }
}
