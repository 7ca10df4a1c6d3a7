//! Barrier sites: every control and memory barrier that an entry point reaches, its operands
//! decoded.

use crate::analysis::cfg::Cfg;
use crate::analysis::components::strongly_connected;
use crate::analysis::dominance::PostDominators;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::facts::{Barrier, Class};
use crate::module::locate::is_shader_debug_info;
use crate::module::{
    BlockIndex, BlockMap, Constants, Function, Id, Inst, Module, Scope, Semantics, WordOffset,
};

/// Names a [`Site`]: its index in [`super::Pairing::sites`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// The kind of a site.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteKind {
    /// OpControlBarrierArriveEXT (6142).
    Arrive,
    /// OpControlBarrierWaitEXT (6143).
    Wait,
    /// OpControlBarrier (224).
    ControlBarrier,
    /// OpMemoryBarrier (225).
    MemoryBarrier,
}

impl SiteKind {
    /// The kind of barrier that `inst` is.
    pub fn from_inst(inst: Inst<'_>) -> Option<SiteKind> {
        match inst.facts().class {
            Class::Barrier(Barrier::Arrive) => Some(SiteKind::Arrive),
            Class::Barrier(Barrier::Wait) => Some(SiteKind::Wait),
            Class::Barrier(Barrier::Full) => Some(SiteKind::ControlBarrier),
            Class::Fence => Some(SiteKind::MemoryBarrier),
            _ => None, // no barrier
        }
    }
}

/// One barrier instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its name.
    pub id: SiteId,
    /// The kind.
    pub kind: SiteKind,
    /// Word offset of the instruction.
    pub offset: WordOffset,
    /// Its function: the entry function; for OpMemoryBarrier also a function that it calls.
    pub function: Id,
    /// The label of its block.
    pub block: Id,
    /// Execution scope; `None` for OpMemoryBarrier.
    pub execution: Option<Scope>,
    /// Memory scope.
    pub memory: Scope,
    /// Memory semantics.
    pub semantics: Semantics,
    /// True if a run of its function can end without it: its block does not post-dominate the
    /// function's first block.
    pub conditional: bool,
    /// True if control can reach it from its function's first block.
    pub reachable: bool,
    /// True if it can be executed more than once in one run of the entry point: it is in a loop, or
    /// in a function that the entry point calls.
    pub repeats: bool,
    /// True if an earlier site is in its block, and no instruction between the two accesses memory.
    pub adjoins: bool,
}

/// Adds the sites of `function` to `sites`, in module order. A site with an operand that cannot be
/// decoded, or a scope that it cannot have, goes to `diagnostics`.
pub(super) fn collect(
    module: &Module<'_>,
    function: &Function<'_>,
    cfg: &Cfg,
    is_entry: bool,
    constants: &Constants,
    sites: &mut Vec<Site>,
    diagnostics: &mut Diagnostics,
) {
    let mut post_dominators = None;
    let mut cycles = None;
    for (index, _) in function.by_block(&function.syncs) {
        let Some(block) = function.block(index) else {
            debug_assert!(false, "no block {index}");
            continue;
        };
        let mut adjoins = false;
        for inst in &block.insts {
            let Some(kind) = SiteKind::from_inst(*inst) else {
                adjoins = adjoins && touches_no_memory(module, *inst);
                continue;
            };
            let (execution, memory, semantics) = match operands(kind, *inst, constants) {
                Ok(operands) => operands,
                Err(problems) => {
                    diagnostics.extend(problems);
                    adjoins = false;
                    continue;
                }
            };
            let post_dominators =
                post_dominators.get_or_insert_with(|| PostDominators::analyze(cfg));
            sites.push(Site {
                id: SiteId(u32::try_from(sites.len()).unwrap_or(u32::MAX)),
                kind,
                offset: inst.offset,
                function: function.id,
                block: block.label,
                execution,
                memory,
                semantics,
                conditional: !post_dominators.post_dominates(index, BlockIndex::ENTRY),
                reachable: cfg.is_reachable(index),
                repeats: !is_entry
                    || cycles
                        .get_or_insert_with(|| Cycles::analyze(cfg))
                        .contain(cfg, index),
                adjoins: std::mem::replace(&mut adjoins, true),
            });
        }
    }
}

/// Returns true if an instruction neither reads nor writes memory nor changes control flow, so that
/// a fence may stand on either side of it.
fn touches_no_memory(module: &Module<'_>, inst: Inst<'_>) -> bool {
    let facts = inst.facts();
    match facts.class {
        // Debug information: code is the same with it and without.
        Class::Extended => inst
            .id(0)
            .is_ok_and(|set| is_shader_debug_info(set, module)),
        Class::Marker | Class::Undef | Class::Address(_) => true,
        _ => facts.is_arithmetic(),
    }
}

/// The strongly connected components of a graph.
struct Cycles {
    component: BlockMap<usize>,
    /// Blocks per component.
    sizes: Vec<u32>,
}

impl Cycles {
    fn analyze(cfg: &Cfg) -> Cycles {
        let component = strongly_connected(cfg.len(), |block| cfg.succs(block));
        let mut sizes = vec![0; cfg.len()];
        for of in component.values() {
            if let Some(size) = sizes.get_mut(*of) {
                *size += 1;
            }
        }
        Cycles { component, sizes }
    }

    fn contain(&self, cfg: &Cfg, block: BlockIndex) -> bool {
        let of = self.component.get(block);
        of.and_then(|of| self.sizes.get(*of))
            .is_some_and(|size| *size > 1)
            || cfg.succs(block).contains(&block)
    }
}

type Operands = (Option<Scope>, Scope, Semantics);

fn operands(
    kind: SiteKind,
    inst: Inst<'_>,
    constants: &Constants,
) -> Result<Operands, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut scope = |index| {
        keep(
            inst.id(index)
                .and_then(|id| Scope::evaluate(id, inst, constants)),
            &mut problems,
        )
    };
    let (execution, memory, next) = match kind {
        SiteKind::MemoryBarrier => (Some(None), scope(0), 1),
        SiteKind::Arrive | SiteKind::Wait | SiteKind::ControlBarrier => {
            (scope(0).map(Some), scope(1), 2)
        }
    };
    let semantics = keep(
        inst.id(next)
            .and_then(|id| Semantics::evaluate(id, inst, constants)),
        &mut problems,
    );
    if let Some(Some(execution)) = execution
        && let Some(problem) = refuse(kind, execution, inst)
    {
        problems.push(problem);
    }
    match (execution, memory, semantics) {
        (Some(execution), Some(memory), Some(semantics)) if problems.is_empty() => {
            Ok((execution, memory, semantics))
        }
        _ => Err(problems),
    }
}

fn keep<T>(result: Result<T, Diagnostic>, problems: &mut Diagnostics) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}

/// Why a barrier of `kind` cannot have `execution` as its execution scope.
fn refuse(kind: SiteKind, execution: Scope, inst: Inst<'_>) -> Option<Diagnostic> {
    match (kind, execution) {
        (SiteKind::MemoryBarrier, _) | (_, Scope::Workgroup | Scope::Subgroup) => None,
        (SiteKind::Arrive | SiteKind::Wait, _) => Some(
            Diagnostic::error(Code::BadExecutionScope, format!("the execution scope of {} is {execution}", inst.name()))
                .at_word(inst.offset)
                .because("split barriers synchronise a workgroup or a subgroup (VUID-StandaloneSpirv-OpControlBarrierArriveEXT-13553)")
                .help("use the scope Workgroup (2) or Subgroup (3)"),
        ),
        // One invocation has nobody to wait for.
        (SiteKind::ControlBarrier, Scope::Invocation) => None,
        (SiteKind::ControlBarrier, Scope::CrossDevice | Scope::Device | Scope::QueueFamily | Scope::ShaderCall) => Some(
            Diagnostic::error(Code::UnsupportedExecutionScope, format!("OpControlBarrier has execution scope {execution}"))
                .at_word(inst.offset)
                .because("a barrier across workgroups needs all workgroups to be resident at the same time")
                .help("split the work into two dispatches, or use the scope Workgroup (2)"),
        ),
    }
}
