//! Replaces the predicated loads and stores of SPV_INTEL_predicated_io with branches around plain
//! loads and stores, so that analyses of accesses, control flow and uniformity apply to them.
//!
//! A block is cut where such an access stands. A loop's header keeps its phis and says where the
//! loop ends, and the rest of it is a block of the body.

use super::edit::{Edit, declaring};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::guarded::{
    self, PREDICATED_CAPABILITY, PREDICATED_EXTENSION, PREDICATED_LOAD, PREDICATED_STORE,
    Predicated,
};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Block, Declarations, Inst, Module};
use spirv::{Capability, Op, SelectionControl};
use std::collections::BTreeMap;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let blocks = declarations.functions.iter().flat_map(|f| &f.blocks);
    let cut: Vec<&Block<'_>> = blocks
        .filter(|block| block.insts.iter().any(|inst| is_predicated(*inst)))
        .collect();
    let declared = declaring(module, PREDICATED_CAPABILITY, PREDICATED_EXTENSION);
    if cut.is_empty() && declared.is_empty() {
        return Ok(None);
    }
    check(declarations)?;
    let mut pass = Branching {
        edit: Edit::new(declarations),
        structured: declarations.has_capability(Capability::Shader),
        ends: BTreeMap::new(),
    };
    for inst in declared {
        pass.edit.remove(inst.offset);
    }
    for block in &cut {
        pass.block(block)?;
    }
    for inst in declarations.functions.iter().flat_map(|f| f.insts()) {
        if inst.op() == Some(Op::Phi) {
            pass.phi(inst)?;
        }
    }
    pass.edit.finish()
}

fn is_predicated(inst: Inst<'_>) -> bool {
    matches!(inst.opcode(), PREDICATED_LOAD | PREDICATED_STORE)
}

/// That the accesses are what the rules SB1701 and SB1703 ask for.
///
/// # Errors
/// What these rules report.
fn check(declarations: &Declarations<'_>) -> Result<(), Diagnostics> {
    let mut found = Diagnostics::new();
    let problems = guarded::predicated(declarations);
    guarded::errors(Code::PredicatedAccess, problems, &mut found);
    let problems = guarded::undeclared_predicated(declarations);
    guarded::errors(Code::GuardedCapability, problems, &mut found);
    if found.has_errors() {
        Err(found)
    } else {
        Ok(())
    }
}

struct Branching<'d, 'm> {
    edit: Edit<'d, 'm>,
    /// True if branches say where they merge.
    structured: bool,
    /// The last part of each block that was cut.
    ends: BTreeMap<u32, u32>,
}

impl Branching<'_, '_> {
    fn block(&mut self, block: &Block<'_>) -> Result<(), Diagnostic> {
        let accesses = block
            .insts
            .iter()
            .copied()
            .filter_map(Predicated::from_inst);
        let accesses: Vec<Predicated<'_>> = accesses.collect();
        let mut labels = Vec::new();
        for _ in &accesses {
            labels.push([self.edit.fresh()?, self.edit.fresh()?]);
        }
        let Some([_, end]) = labels.last().copied() else {
            return Ok(());
        };
        self.ends.insert(block.label.0, end);
        let mut here = block.label.0;
        let merge = block
            .insts
            .iter()
            .find(|inst| inst.op() == Some(Op::LoopMerge));
        let body = block.after_phis();
        if let (Some(merge), Some(body)) = (merge, body) {
            here = self.edit.fresh()?;
            let mut operands = merge.operands().to_vec();
            // A loop of one block goes on where that now ends.
            if let Some(target) = operands.get_mut(1)
                && *target == block.label.0
            {
                *target = end;
            }
            self.edit.before(body.offset, Op::LoopMerge, &operands)?;
            self.edit.before(body.offset, Op::Branch, &[here])?;
            self.edit.before(body.offset, Op::Label, &[here])?;
            self.edit.remove(merge.offset);
        }
        for (access, [inside, behind]) in accesses.iter().zip(labels) {
            self.access(access, [here, inside, behind])?;
            here = behind;
        }
        Ok(())
    }

    /// Puts an access behind a branch, between the blocks `here` and `behind`.
    fn access(
        &mut self,
        access: &Predicated<'_>,
        [here, inside, behind]: [u32; 3],
    ) -> Result<(), Diagnostic> {
        let (at, pointer, predicate) = (access.inst.offset, access.pointer.0, access.predicate.0);
        let edit = &mut self.edit;
        if self.structured {
            let none = SelectionControl::NONE.bits();
            edit.before(at, Op::SelectionMerge, &[behind, none])?;
        }
        edit.before(at, Op::BranchConditional, &[predicate, inside, behind])?;
        edit.before(at, Op::Label, &[inside])?;
        let (ty, result) = (access.inst.result_type(), access.inst.result());
        let (Some(ty), Some(result)) = (ty, result) else {
            let mut operands = vec![pointer, access.value.0];
            operands.extend(access.inst.operands_from(Predicated::MEMORY));
            edit.before(at, Op::Store, &operands)?;
            edit.before(at, Op::Branch, &[behind])?;
            edit.before(at, Op::Label, &[behind])?;
            edit.remove(at);
            return Ok(());
        };
        let loaded = edit.fresh()?;
        let mut operands = vec![ty.0, loaded, pointer];
        operands.extend(access.inst.operands_from(Predicated::MEMORY));
        edit.before(at, Op::Load, &operands)?;
        edit.before(at, Op::Branch, &[behind])?;
        edit.before(at, Op::Label, &[behind])?;
        let phi = [ty.0, result.0, loaded, inside, access.value.0, here];
        edit.replace(at, Op::Phi, &phi)
    }

    /// Values that came from a block that was cut come from its last part.
    fn phi(&mut self, inst: Inst<'_>) -> Result<(), Diagnostic> {
        let mut words: Vec<u32> = inst.words.get(1..).unwrap_or_default().to_vec();
        let mut changed = false;
        // Result type, result, then values and their blocks.
        for label in words.iter_mut().skip(3).step_by(2) {
            if let Some(end) = self.ends.get(label) {
                *label = *end;
                changed = true;
            }
        }
        if changed {
            self.edit.replace(inst.offset, Op::Phi, &words)
        } else {
            Ok(())
        }
    }
}
