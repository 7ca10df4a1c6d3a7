//! The workgroup memory of an entry point: its variables and their offsets.
//!
//! The check of limits, the plan and the lowering share this.

use super::layout::{Alignment, Extents, variable_align};
use super::uses::{Reached, Uses, is_shared_block, pointee};
use crate::module::{Constants, Declarations, EntryPoint, Id};
use spirv::StorageClass;
use std::collections::BTreeMap;

/// Alignment of every variable at least, so that it can be accessed in 128 bits.
pub const VARIABLE_ALIGN: Alignment = Alignment::QUAD;

/// The workgroup variables that an entry point reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkgroupMemory {
    /// Bytes that all blocks share (SPV_KHR_workgroup_memory_explicit_layout: all begin at the same
    /// place).
    pub block_bytes: u64,
    /// Bytes of all of them, at most `u64::MAX`: first the blocks, then the others, each aligned to
    /// 16 or more.
    pub bytes: u64,
    /// The largest alignment of a variable.
    pub align: Alignment,
    /// The offset in bytes of each variable that is not a block.
    pub places: BTreeMap<Id, u64>,
}

impl WorkgroupMemory {
    /// Computes the workgroup memory of `entry`; none for an entry point with recursive calls.
    pub fn analyze(
        declarations: &Declarations<'_>,
        constants: &Constants,
        entry: &EntryPoint<'_>,
    ) -> WorkgroupMemory {
        if !declares_any(declarations) {
            return WorkgroupMemory::default();
        }
        Reached::analyze(declarations, constants, entry).map_or_else(
            |_| WorkgroupMemory::default(),
            |reached| WorkgroupMemory::touched(declarations, constants, &reached.own),
        )
    }

    /// Computes the workgroup memory of an entry point that uses `uses`.
    pub fn touched(
        declarations: &Declarations<'_>,
        constants: &Constants,
        uses: &Uses,
    ) -> WorkgroupMemory {
        let mut memory = WorkgroupMemory::default();
        if !declares_any(declarations) {
            return memory;
        }
        let mut extents = Extents::new(declarations, constants);
        let mut others = Vec::new();
        memory.align = VARIABLE_ALIGN;
        for variable in uses
            .variables
            .iter()
            .filter_map(|id| declarations.variable(*id))
            .filter(|variable| is_workgroup(variable.class))
        {
            let Some(extent) = pointee(declarations, variable).and_then(|ty| extents.of(ty)) else {
                continue;
            };
            if is_shared_block(declarations, variable) {
                memory.block_bytes = memory.block_bytes.max(extent.size);
            } else {
                let align = extent.align.max(VARIABLE_ALIGN);
                let align = variable_align(declarations, variable.id, align);
                memory.align = memory.align.max(align);
                others.push((variable.id, extent.size, align));
            }
        }
        memory.bytes = memory.block_bytes;
        for (id, size, align) in others {
            let place = align.round_up(memory.bytes);
            memory.places.insert(id, place);
            memory.bytes = place.saturating_add(size);
        }
        memory
    }
}

fn is_workgroup(class: StorageClass) -> bool {
    class == StorageClass::Workgroup
}

fn declares_any(declarations: &Declarations<'_>) -> bool {
    declarations.variables.iter().any(|v| is_workgroup(v.class))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::module::{SpecValues, assemble};

    /// Two variables of a structure of two words, both of which the entry point names.
    fn memory(decorations: &str) -> WorkgroupMemory {
        let text = format!(
            "; Version: 1.6
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %v %w
OpExecutionMode %main LocalSize 64 1 1
{decorations}
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%t = OpTypeStruct %uint %uint
%pt = OpTypePointer Workgroup %t
%v = OpVariable %pt Workgroup
%w = OpVariable %pt Workgroup
%main = OpFunction %void None %fn
%entry = OpLabel
%x = OpLoad %t %v
OpStore %w %x
OpReturn
OpFunctionEnd"
        );
        let assembled = assemble(&text).unwrap();
        let module = assembled.module().unwrap();
        let mut problems = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut problems);
        let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
        let entry = declarations.entry_points.first().unwrap();
        WorkgroupMemory::analyze(&declarations, &constants, entry)
    }

    #[test]
    fn variables_follow_each_other_and_blocks_share_their_bytes() {
        let size = |decorations| {
            let memory = memory(decorations);
            (memory.block_bytes, memory.bytes)
        };
        assert_eq!(size(""), (0, 24));
        assert_eq!(size("OpDecorate %w Alignment 256"), (0, 264));
        assert_eq!(
            size(
                "OpDecorate %t Block\nOpMemberDecorate %t 0 Offset 0\nOpMemberDecorate %t 1 Offset 28"
            ),
            (32, 32)
        );
    }
}
