//! The scope and semantics operands of barriers, fences, atomics and group operations.

use super::Class;
use rspirv::grammar::{LogicalOperand, OperandKind};

/// The numbers of these operands, counted from 0 without result type and result; `None` for those
/// that the instruction does not have. They come from the grammar.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncOperands {
    /// The execution scope of a barrier or a group operation.
    pub execution: Option<u8>,
    /// The memory scope.
    pub memory: Option<u8>,
    /// The memory semantics; of a compare-exchange, those named Equal.
    pub semantics: Option<u8>,
    /// The memory semantics named Unequal.
    pub unequal: Option<u8>,
}

impl SyncOperands {
    /// The operands of an instruction of `class` with the operands `pattern`, result type and
    /// result included.
    pub(in crate::module) fn from_pattern(
        class: Class,
        pattern: &[LogicalOperand],
    ) -> SyncOperands {
        let of_kind = |kind: OperandKind| {
            let operands = pattern.iter().filter(|operand| {
                !matches!(
                    operand.kind,
                    OperandKind::IdResultType | OperandKind::IdResult
                )
            });
            operands
                .zip(0u8..)
                .filter(move |(operand, _)| operand.kind == kind)
                .map(|(_, number)| number)
        };
        let mut scopes = of_kind(OperandKind::IdScope);
        let mut semantics = of_kind(OperandKind::IdMemorySemantics);
        let (execution, memory) = match class {
            Class::Barrier(_) => (scopes.next(), scopes.next()),
            Class::Group(_) | Class::AsyncCopy | Class::WaitEvents => (scopes.next(), None),
            Class::Atomic(_) | Class::Fence | Class::NamedBarrierWait => (None, scopes.next()),
            _ => return SyncOperands::default(), // a clock's scope synchronises nothing
        };
        SyncOperands {
            execution,
            memory,
            semantics: semantics.next(),
            unequal: semantics.next(),
        }
    }
}
