//! Where the tangles of a kernel's functions part and meet: what [`tangle`](super::tangle) is told
//! before a function is written.

use super::dispatch::{Family, family};
use super::facts::{self, ActiveMask};
use super::state::Tangled;
use spirv::Op;
use splitbar_layout::Kernel;
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::qualifiers::MemoryQualifiers;
use splitbar_passes::analysis::tangles::{Facts, Joined, Tangles, Unstructured};
use splitbar_passes::analysis::uniformity::graph::{Graph, NodeId};
use splitbar_passes::analysis::uniformity::memory::Memory;
use splitbar_passes::analysis::uniformity::{Level, Model, SlicingCriterion, Uniformity};
use splitbar_passes::module::{
    BlockIndex, BlockMap, Declarations, Function, Id, Inst, Scope, called, called_for_elements,
};
use splitbar_plan::EntryPlan;
use splitbar_plan::backend::LowerInput;
use splitbar_plan::target::Arch;
use std::collections::{BTreeMap, BTreeSet};

/// The functions of `kernel` that are not written as the module has them.
pub(crate) fn of_kernel(
    lowering: &LowerInput<'_>,
    kernel: &Kernel<'_>,
    plan: &EntryPlan,
    qualifiers: &MemoryQualifiers,
) -> BTreeMap<Id, Tangled> {
    let declarations = lowering.module.declarations();
    let functions: Vec<(Id, &Function<'_>)> = kernel
        .reached
        .order
        .iter()
        .filter_map(|id| Some((*id, declarations.function(*id)?)))
        .collect();
    let scan = Scan {
        lowering,
        // A wave of several subgroups is one tangle for the hardware.
        level: if plan.subgroup_size == plan.wave_size {
            Level::Subgroup
        } else {
            Level::Workgroup
        },
        declarations,
        qualifiers,
    };
    let mut found: BTreeMap<Id, BlockMap<Facts>> = BTreeMap::new();
    // Callees come first.
    for (id, function) in &functions {
        let facts = scan.own(function, &found);
        found.insert(*id, facts);
    }
    let depends =
        |facts: &BlockMap<Facts>| facts.values().any(|facts| facts.tangled || facts.observes);
    if !found.values().any(depends) {
        return BTreeMap::new();
    }
    let memory = Memory::analyze(declarations);
    // The parameters that all callers give one value, callers first.
    let mut uniform: BTreeMap<Id, Vec<bool>> = BTreeMap::new();
    for (id, function) in functions.iter().rev() {
        if let Some(facts) = found.get_mut(id).filter(|facts| depends(facts)) {
            let parameters = uniform.remove(id);
            let is_entry = *id == kernel.entry.function;
            let parameters = parameters.unwrap_or_else(|| vec![is_entry; function.params.len()]);
            let calls = scan.divergence(kernel, function, &memory, &parameters, facts);
            for (callee, arguments) in calls {
                let known = uniform.entry(callee).or_insert_with(|| arguments.clone());
                for (known, argument) in known.iter_mut().zip(arguments) {
                    *known &= argument;
                }
            }
        }
    }
    let masked = matches!(lowering.target.arch, Arch::Nvptx(_))
        && facts::active_mask(lowering.target) != ActiveMask::Missing
        && parted(&functions, &found);
    let joined = if masked { Joined::All } else { Joined::Loops };
    let mut tangled = BTreeMap::new();
    for (id, function) in functions {
        let Some(facts) = found.get(&id) else {
            continue;
        };
        let masked = masked && facts.values().any(|facts| facts.tangled);
        let joined = if masked { joined } else { Joined::Loops };
        let cfg = Cfg::analyze(declarations.module, function);
        let (tangles, masked) = match Tangles::analyze(function, &cfg, facts, joined) {
            Ok(tangles) => (tangles, masked),
            Err(Unstructured) => (None, false),
        };
        if tangles.is_some() || masked {
            let branches = facts.values().map(|facts| facts.branches).collect();
            tangled.insert(
                id,
                Tangled {
                    tangles,
                    masked,
                    branches,
                },
            );
        }
    }
    tangled
}

/// Returns true if a part of a subgroup may execute an instruction on the tangle.
fn parted(functions: &[(Id, &Function<'_>)], found: &BTreeMap<Id, BlockMap<Facts>>) -> bool {
    let mut apart: BTreeSet<Id> = BTreeSet::new();
    for (id, function) in functions.iter().rev() {
        let all = apart.contains(id);
        let facts = found.get(id).into_iter().flat_map(BlockMap::values);
        for (block, facts) in function.blocks.iter().zip(facts) {
            if !all && !facts.divergent {
                continue;
            }
            if facts.tangled {
                return true;
            }
            apart.extend(block.insts.iter().filter_map(|inst| called(*inst)));
        }
    }
    false
}

struct Scan<'s, 'm> {
    lowering: &'s LowerInput<'m>,
    level: Level,
    declarations: &'s Declarations<'m>,
    qualifiers: &'s MemoryQualifiers,
}

impl Scan<'_, '_> {
    /// What the blocks of `function` do, without what decides about their execution.
    fn own(
        &self,
        function: &Function<'_>,
        callees: &BTreeMap<Id, BlockMap<Facts>>,
    ) -> BlockMap<Facts> {
        let mut all = BlockMap::default();
        for block in &function.blocks {
            let mut facts = Facts::default();
            for inst in &block.insts {
                facts.tangled |= self.is_tangled(*inst);
                facts.observes |= self.observes(*inst);
                let called = [called(*inst), called_for_elements(*inst)];
                for callee in called.into_iter().flatten() {
                    for one in callees.get(&callee).into_iter().flat_map(BlockMap::values) {
                        facts.tangled |= one.tangled;
                        facts.observes |= one.observes;
                    }
                }
            }
            all.push(facts);
        }
        all
    }

    /// Returns true if the result of `inst` depends on which invocations are active.
    fn is_tangled(&self, inst: Inst<'_>) -> bool {
        let Some(op) = inst.op() else { return false };
        let scope = |index: usize| {
            let id = inst.id(index).ok();
            id.and_then(|id| self.lowering.module.constants().as_u32(id))
        };
        match op {
            Op::SubgroupBlockReadINTEL | Op::SubgroupBlockWriteINTEL => false,
            Op::ControlBarrier | Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL => {
                scope(0) == Some(Scope::Subgroup as u32)
            }
            Op::ExtInst => self
                .declarations
                .module
                .def(Id(inst.operands().first().copied().unwrap_or(0)))
                .is_some_and(|set| set.string(0) == "SPV_AMD_shader_ballot"),
            _ => matches!(family(op), Some(Family::Subgroup | Family::Derivative)),
        }
    }

    /// Returns true if `inst` reads what another invocation may write at the same time.
    fn observes(&self, inst: Inst<'_>) -> bool {
        /// Volatile, MakePointerVisible, NonPrivatePointer.
        const SHARED: u32 = 0x1 | 0x10 | 0x20;
        match inst.op() {
            Some(Op::MemoryBarrier) => true,
            Some(Op::Load) => {
                let asked = inst
                    .operands()
                    .get(1)
                    .is_some_and(|bits| bits & SHARED != 0);
                let pointer = inst.id(0).ok();
                asked
                    || pointer.is_some_and(|pointer| {
                        self.qualifiers.get(self.declarations, pointer).any()
                    })
            }
            Some(op) => family(op) == Some(Family::Atomic) && inst.result().is_some(),
            None => false,
        }
    }

    /// Finds the blocks and branches of `function` that may part a subgroup. Returns the functions
    /// that it calls, each with the arguments that are the same for all invocations of a subgroup.
    /// `uniform` has the function's parameters that are.
    fn divergence(
        &self,
        kernel: &Kernel<'_>,
        function: &Function<'_>,
        memory: &Memory,
        uniform: &[bool],
        facts: &mut BlockMap<Facts>,
    ) -> Vec<(Id, Vec<bool>)> {
        let cfg = Cfg::analyze(self.declarations.module, function);
        let many: Vec<bool> = cfg
            .blocks()
            .map(|block| cfg.succs(block).len() > 1)
            .collect();
        if !many.contains(&true) && function.calls.is_empty() {
            return Vec::new();
        }
        let constants = self.lowering.module.constants();
        let size = kernel.workgroup_size;
        let places: Vec<BlockIndex> = cfg.blocks().collect();
        let own = function.params.iter().map(|(id, _)| *id);
        let arguments = |inst: &Inst<'_>| {
            let words = inst.operands().iter().skip(1);
            words.map(|word| Id(*word)).collect::<Vec<Id>>()
        };
        let values = own
            .clone()
            .chain(function.calls.iter().flat_map(arguments))
            .collect::<Vec<Id>>();
        let model = Model::with_values(
            self.declarations,
            constants,
            memory,
            function,
            size,
            cfg,
            SlicingCriterion {
                places: &places,
                values: &values,
            },
        );
        let uniformity = Uniformity::analyze(&model, self.level, size);
        let any: BTreeSet<NodeId> = own
            .zip(uniform)
            .filter(|(_, uniform)| !**uniform)
            .filter_map(|(id, _)| model.value(id))
            .collect();
        let conditions = BlockIndex::all(model.branches.len());
        let conditions = conditions.filter_map(|block| model.condition(block));
        let apart = depends_on(&model.graph, conditions, &any);
        for ((block, facts), many) in facts.iter_mut().zip(many) {
            let decided = model.cfg.succs(block).len() < 2;
            let condition = model.condition(block);
            let same = condition.is_some_and(|node| uniformity.value(node).is_none());
            facts.branches = many && !decided && (apart || !same);
            facts.divergent = apart || uniformity.block(block).is_some();
        }
        let calls = function.calls.iter().filter_map(|inst| {
            let is_same = |id: &Id| {
                let constant = constants.get(*id).is_some();
                let node = model.value(*id);
                let same = node.is_some_and(|node| {
                    uniformity.value(node).is_none() && !depends_on(&model.graph, [node], &any)
                });
                constant || !apart && same
            };
            let arguments = arguments(inst);
            Some((called(*inst)?, arguments.iter().map(is_same).collect()))
        });
        calls.collect()
    }
}

/// Returns true if one of `nodes` is computed from one of `sources`.
fn depends_on(
    graph: &Graph,
    nodes: impl IntoIterator<Item = NodeId>,
    sources: &BTreeSet<NodeId>,
) -> bool {
    if sources.is_empty() {
        return false;
    }
    let mut work: Vec<NodeId> = nodes.into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(node) = work.pop() {
        if sources.contains(&node) {
            return true;
        }
        if seen.insert(node) {
            work.extend(&graph.node(node).args);
        }
    }
    false
}
