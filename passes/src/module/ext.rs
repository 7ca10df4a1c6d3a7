//! Extended instruction sets: which set an OpExtInst names, and how its operands are laid out.

use super::strings::string_starts_with;
use rspirv::grammar::{
    ExtInstOp, InstructionTable, LogicalOperand, OperandKind, OperandQuantifier, ext_inst_table,
};
use std::sync::OnceLock;

/// An extended instruction set, as far as the layout of its operands goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum ExtSet {
    /// GLSL.std.450: ids only.
    Glsl450,
    /// OpenCL.std: ids, and a few literals.
    OpenCl,
    /// SPV_AMD_shader_ballot, SPV_AMD_gcn_shader, SPV_AMD_shader_trinary_minmax and
    /// SPV_AMD_shader_explicit_vertex_parameter: ids only.
    Amd,
    /// NonSemantic.*: ids only (SPV_KHR_non_semantic_info).
    NonSemantic,
    /// OpenCL.DebugInfo.100.
    OpenClDebugInfo,
    /// DebugInfo.
    DebugInfo,
    /// A set that nobody here knows: its operands count as literals.
    Unknown,
}

/// Names of sets; a zero byte at the end asks for the whole name.
const NAMES: [(&[u8], ExtSet); 6] = [
    (b"GLSL.std.450\0", ExtSet::Glsl450),
    (b"OpenCL.std\0", ExtSet::OpenCl),
    (b"SPV_AMD_", ExtSet::Amd),
    (b"NonSemantic.", ExtSet::NonSemantic),
    (b"OpenCL.DebugInfo.100\0", ExtSet::OpenClDebugInfo),
    (b"DebugInfo\0", ExtSet::DebugInfo),
];

/// Tables of an instruction's operands by its number in the set.
type Patterns = Vec<Option<&'static [LogicalOperand]>>;

const IDS: &[LogicalOperand] = &[LogicalOperand {
    kind: OperandKind::IdRef,
    quantifier: OperandQuantifier::ZeroOrMore,
}];

impl ExtSet {
    /// The set that the name in `words` (operands of OpExtInstImport) stands for.
    pub(super) fn named(words: &[u32]) -> ExtSet {
        NAMES
            .iter()
            .find(|(name, _)| string_starts_with(words, name))
            .map_or(ExtSet::Unknown, |(_, set)| *set)
    }

    /// Returns true if the operands of every instruction of the set are ids.
    pub(super) fn has_only_ids(self) -> bool {
        match self {
            ExtSet::Glsl450 | ExtSet::Amd | ExtSet::NonSemantic => true,
            ExtSet::OpenCl | ExtSet::OpenClDebugInfo | ExtSet::DebugInfo | ExtSet::Unknown => false,
        }
    }

    /// Returns true if the set has no effect on code.
    pub(super) fn is_debug(self) -> bool {
        match self {
            ExtSet::NonSemantic | ExtSet::OpenClDebugInfo | ExtSet::DebugInfo => true,
            ExtSet::Glsl450 | ExtSet::OpenCl | ExtSet::Amd | ExtSet::Unknown => false,
        }
    }

    /// Returns true if the instructions of the set compute values, in functions alone. Nothing is
    /// known of other sets: those of graphs stand outside of functions.
    pub(super) fn computes(self) -> bool {
        match self {
            ExtSet::Glsl450 | ExtSet::OpenCl | ExtSet::Amd => true,
            ExtSet::NonSemantic | ExtSet::OpenClDebugInfo | ExtSet::DebugInfo | ExtSet::Unknown => {
                false
            }
        }
    }

    /// The operands of instruction `number`, without result type, result, set and number.
    pub(super) fn pattern(self, number: u32) -> &'static [LogicalOperand] {
        static TABLES: OnceLock<[Patterns; 3]> = OnceLock::new();
        let [opencl, opencl_debug, debug] = TABLES.get_or_init(|| {
            ["OpenCL.std", "OpenCL.DebugInfo.100", "DebugInfo"]
                .map(|name| patterns(ext_inst_table(name)))
        });
        let table = match self {
            ExtSet::Glsl450 | ExtSet::Amd | ExtSet::NonSemantic => return IDS,
            ExtSet::Unknown => return &[],
            ExtSet::OpenCl => opencl,
            ExtSet::OpenClDebugInfo => opencl_debug,
            ExtSet::DebugInfo => debug,
        };
        usize::try_from(number)
            .ok()
            .and_then(|index| table.get(index).copied().flatten())
            .unwrap_or(&[])
    }
}

fn patterns(table: Option<&'static InstructionTable<ExtInstOp>>) -> Patterns {
    let mut all = Patterns::new();
    for inst in table.into_iter().flat_map(InstructionTable::iter) {
        let number: u32 = inst.opcode.into();
        let index = number as usize; // numbers of these sets are below 300
        if all.len() <= index {
            all.resize(index + 1, None);
        }
        if let Some(slot) = all.get_mut(index) {
            *slot = Some(inst.operands);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opencl_vector_loads_end_with_a_literal() {
        let vloadn = ExtSet::OpenCl.pattern(171);
        assert_eq!(
            vloadn.iter().map(|o| o.kind).collect::<Vec<_>>(),
            [
                OperandKind::IdRef,
                OperandKind::IdRef,
                OperandKind::LiteralInteger
            ]
        );
        assert_eq!(ExtSet::Unknown.pattern(1), &[]);
    }
}
