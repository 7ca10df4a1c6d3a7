//! SPIR-V types: what each is, its place in memory.
//!
//! The table is built once, in module order, without recursion.

mod table;

pub use crate::scalar::{Scalar, VectorType};
pub use crate::waves::Waves;

use crate::Result;
use crate::image::Image;
use crate::matrix::Matrix;
use crate::tensor::Tensor;
use crate::tensor_layout::TensorObject;
use spirv::StorageClass;
use splitbar_passes::analysis::layout::{Alignment, Extent, MemberPlace};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Declarations, Id, Type};

/// Deepest nesting of composite types that is lowered: LLVM walks types recursively.
pub const MAX_DEPTH: u32 = 64;

/// Most scalars and vectors in a value (a variable may have more).
pub const MAX_PARTS: u64 = 1 << 12;

/// The kind of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// OpTypeVoid.
    Void,
    /// A scalar or vector.
    ScalarOrVector(VectorType),
    /// A matrix.
    Matrix {
        /// A column.
        column: VectorType,
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
    /// The kind.
    pub kind: Kind,
    /// True if there are values of it: not of void, runtime arrays, functions, and what is not
    /// lowered.
    pub is_value: bool,
    /// Bytes in memory.
    pub size: u64,
    /// Natural alignment.
    pub align: Alignment,
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
            align: Alignment::BYTE,
            leaves: 0,
            depth: 0,
            stride: 0,
            places: Vec::new(),
        }
    }
}

/// All types of a module.
#[derive(Debug)]
pub struct Types {
    index: Vec<u32>,
    infos: Vec<(Id, TypeInfo)>,
}

impl Types {
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
            .help("supported are Booleans, 8, 16, 32 and 64-bit integers, 16, 32 and 64-bit IEEE floats, bfloat16, and vectors, matrices, arrays, structures and pointers of them"),
    )
}

/// The diagnostic for a value of a composite type with too many parts.
pub fn too_many_parts(declarations: &Declarations<'_>, id: Id, parts: u64) -> Box<Diagnostic> {
    let offset = declarations.module.def(id).map(|inst| inst.offset);
    Box::new(
        Diagnostic::error(
            Code::UnsupportedType,
            format!("a value of the type {id} has {parts} parts; the limit is {MAX_PARTS}"),
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
                format!("{id} is used as a type but is not one"),
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
    use splitbar_target::Target;

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
                    for (id, info) in
                        Types::build(declarations, constants, target, waves, None).iter()
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
