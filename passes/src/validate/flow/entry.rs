//! The analyses of one entry point that its rules need.

use crate::analysis::pairing::{Pairing, Site, SiteKind};
use crate::analysis::program::Program;
use crate::analysis::uniformity::memory::Memory;
use crate::analysis::uniformity::{Level, Model, Uniformity};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::module::{
    BlockIndex, BlockMap, Constants, Declarations, EntryPoint, Function, Inst, Scope, WordOffset,
};
use crate::transform::SourceMap;

/// An arrive, a wait, or a control barrier of scope Workgroup.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Word offset.
    pub(crate) offset: WordOffset,
    /// The block.
    pub(crate) block: BlockIndex,
    /// [`SiteKind::Arrive`], [`SiteKind::Wait`] or [`SiteKind::ControlBarrier`].
    pub(crate) kind: SiteKind,
    /// Execution scope: Workgroup or Subgroup.
    pub(crate) scope: Scope,
    /// The number of arrives and waits of the scope before it in its block.
    pub(crate) rank: usize,
}

impl Event {
    /// Returns true if it is an arrive or a wait: only these pair.
    pub(crate) fn pairs(&self) -> bool {
        self.kind != SiteKind::ControlBarrier
    }

    /// Returns true if it is an arrive.
    pub(crate) fn arrives(&self) -> bool {
        self.kind == SiteKind::Arrive
    }

    /// Returns true if it is a wait.
    pub(crate) fn waits(&self) -> bool {
        self.kind == SiteKind::Wait
    }
}

/// The scopes that split barriers can have.
pub(crate) const SCOPES: [Scope; 2] = [Scope::Workgroup, Scope::Subgroup];

/// One entry point.
pub(crate) struct Entry<'e, 'm> {
    /// The module with barrier functions inlined.
    pub(crate) declarations: &'e Declarations<'m>,
    /// The module that was given.
    pub(crate) original: &'e Declarations<'e>,
    source_map: Option<&'e SourceMap>,
    /// The function.
    pub(crate) function: &'e Function<'m>,
    /// Size of the workgroup.
    pub(crate) size: Option<[u32; 3]>,
    /// Values and control flow.
    pub(crate) model: Model,
    /// At workgroup level.
    pub(crate) uniformity: Uniformity,
    /// Sites and pairs.
    pub(crate) pairing: &'e Pairing,
    /// True if every arrive and wait has a scope that it can have; else none can be said to lack
    /// its other side.
    pub(crate) has_all_events: bool,
    /// Word offsets of arrives and waits whose scope is known at run time only.
    pub(super) open_scopes: Vec<WordOffset>,
    /// True if the operands of all barriers are right, so that [`Entry::pairing`] has all of them.
    pub(crate) has_all_sites: bool,
    /// Values of constants in this run, with which [`Entry::model`] need not have been built.
    pub(crate) constants: &'e Constants,
    /// Arrives, waits, and control barriers of scope Workgroup that control can reach, in module
    /// order.
    pub(crate) events: Vec<Event>,
    /// Indices into `events` by block.
    pub(crate) by_block: BlockMap<Vec<usize>>,
}

impl<'e, 'm> Entry<'e, 'm> {
    /// A place in the module that was given.
    pub(crate) fn word(&self, offset: WordOffset) -> WordOffset {
        source_of(self.source_map, offset)
    }

    pub(super) fn open_scope(&self, offset: WordOffset) -> Diagnostic {
        let word = self.word(offset);
        let inst = self.original.module.at(word);
        let name = inst.map_or_else(String::new, |inst| self.original.op_name(inst));
        let message = format!("the execution scope of {name} is not a constant");
        Diagnostic::error(Code::UndecidedScope, message)
            .at_word(word)
            .because("the pairing of arrives and waits depends on it, so it is undecided for this entry point")
            .help("use the constant Workgroup (2) or Subgroup (3)")
    }

    /// The instructions before and after a site of the function, in its block.
    pub(crate) fn around(&self, site: &Site) -> Option<(&'e [Inst<'m>], &'e [Inst<'m>])> {
        let block = self.model.cfg.index_of(site.block)?;
        let insts = &self.function.block(block)?.insts;
        let place = insts.partition_point(|inst| inst.offset < site.offset);
        let (before, from) = insts.split_at_checked(place)?;
        let (_, after) = from
            .split_first()
            .filter(|(inst, _)| inst.offset == site.offset)?;
        Some((before, after))
    }

    pub(super) fn analyze(
        program: &'e Program<'m>,
        fixed: &'e Constants,
        original: &'e Declarations<'e>,
        source_map: Option<&'e SourceMap>,
        memory: &Memory,
        entry: &EntryPoint<'m>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Entry<'e, 'm>> {
        let (declarations, constants) = (program.declarations(), program.constants());
        let function = declarations.function(entry.function)?;
        let (pairing, undecoded) = program.pairing(entry).ok()?;
        if !function.syncs.iter().any(|inst| is_split_barrier(*inst))
            && !pairing.sites.iter().any(may_be_uneven)
        {
            return None;
        }
        let places: Vec<BlockIndex> = function
            .by_block(&function.syncs)
            .filter_map(|(block, syncs)| {
                let mut syncs = syncs.iter();
                let counts = |inst: &Inst<'_>| SiteKind::from_inst(*inst).is_some_and(stops);
                syncs.any(counts).then_some(block)
            })
            .collect();
        let size = declarations.workgroup_size(entry, fixed);
        let cfg = program.cfg(entry).ok()?.clone();
        let model = Model::analyze(declarations, fixed, memory, function, size, cfg, &places);
        let uniformity = Uniformity::analyze(&model, Level::Workgroup, size);
        // Operands that cannot be decoded are for the static rules to report, a wait without an
        // arrive is for SB2001.
        let has_all_sites = undecoded
            .iter()
            .all(|problem| problem.code == Code::WaitWithoutArrive);
        for limit in undecoded
            .iter()
            .filter(|problem| problem.code == Code::ModuleTooLarge)
        {
            // The rules are checked all the same; the lowering will refuse the entry point, and the
            // lints are left out.
            let word = limit.location.word.unwrap_or(function.offset);
            diagnostics.push(Diagnostic {
                severity: Severity::Note,
                ..limit.clone().at_word(source_of(source_map, word))
            });
        }
        let events = Events::collect(declarations, constants, function, &model);
        Some(Entry {
            declarations,
            original,
            source_map,
            function,
            size,
            model,
            uniformity,
            pairing,
            has_all_events: events.are_all,
            open_scopes: events.open_scopes,
            has_all_sites,
            constants,
            events: events.list,
            by_block: events.by_block,
        })
    }
}

/// The events of an entry point: see the fields of [`Entry`].
struct Events {
    /// [`Entry::has_all_events`]
    are_all: bool,
    open_scopes: Vec<WordOffset>,
    list: Vec<Event>,
    by_block: BlockMap<Vec<usize>>,
}

impl Events {
    fn collect(
        declarations: &Declarations<'_>,
        constants: &Constants,
        function: &Function<'_>,
        model: &Model,
    ) -> Events {
        let mut found = Events {
            are_all: true,
            open_scopes: Vec::new(),
            list: Vec::new(),
            by_block: BlockMap::filled(model.cfg.len(), Vec::new()),
        };
        for (block, syncs) in function.by_block(&function.syncs) {
            let mut ranks = [0; 2];
            for inst in syncs {
                let Some(kind) = SiteKind::from_inst(*inst).filter(|kind| stops(*kind)) else {
                    continue;
                };
                let is_split = kind != SiteKind::ControlBarrier;
                let scope = inst
                    .id(0)
                    .ok()
                    .and_then(|id| constants.as_u32(id))
                    .and_then(Scope::from_u32);
                if !is_split && scope != Some(Scope::Workgroup) {
                    continue; // the API defines those of a subgroup in any control flow
                }
                let Some(scope) = scope.filter(|scope| SCOPES.contains(scope)) else {
                    found.are_all = false;
                    if scope_is_open(declarations, constants, *inst) {
                        found.open_scopes.push(inst.offset);
                    }
                    continue;
                };
                if model.cfg.is_reachable(block) {
                    found.by_block[block].push(found.list.len());
                    let count = &mut ranks[usize::from(scope != Scope::Workgroup)];
                    let rank = *count;
                    *count += usize::from(is_split);
                    found.list.push(Event {
                        offset: inst.offset,
                        block,
                        kind,
                        scope,
                        rank,
                    });
                }
            }
        }
        found
    }
}

/// Returns true if invocations wait for each other at a barrier of `kind`.
pub(super) fn stops(kind: SiteKind) -> bool {
    match kind {
        SiteKind::Arrive | SiteKind::Wait | SiteKind::ControlBarrier => true,
        SiteKind::MemoryBarrier => false,
    }
}

/// Returns true if some invocations may execute a control barrier of scope Workgroup less often
/// than others, as far as its place tells.
pub(super) fn may_be_uneven(site: &Site) -> bool {
    site.kind == SiteKind::ControlBarrier
        && site.execution == Some(Scope::Workgroup)
        && site.reachable
        && (site.conditional || site.repeats)
}

/// Returns true if the execution scope of a split barrier is known at run time only. Shaders have
/// constant scopes, and a static rule for it.
pub(super) fn scope_is_open(
    declarations: &Declarations<'_>,
    constants: &Constants,
    inst: Inst<'_>,
) -> bool {
    let is_computed = |id| {
        let def = declarations.module.def(id);
        constants.get(id).is_none()
            && def.is_some_and(|def| declarations.function_at(def.offset).is_some())
    };
    declarations.has_capability(spirv::Capability::Kernel) && inst.id(0).is_ok_and(is_computed)
}

/// The place in the module that was given of one in the module with inlined functions.
pub(super) fn source_of(source_map: Option<&SourceMap>, offset: WordOffset) -> WordOffset {
    source_map.map_or(offset, |source_map| source_map.of(offset).unwrap_or(offset))
}

pub(super) fn is_split_barrier(inst: Inst<'_>) -> bool {
    let kind = SiteKind::from_inst(inst);
    matches!(kind, Some(SiteKind::Arrive | SiteKind::Wait))
}
