//! Pairs arrives and waits, and computes the outstanding arrives at each place.
//!
//! Vulkan pairs arrives and waits by time, per invocation and execution scope alone (VUIDs 13559 to
//! 13561); memory scope and semantics of the two sides may differ, the pair may stand under two
//! equal conditions, and an OpControlBarrier between them closes nothing. So a static pair is a
//! set: arrives and waits that some path connects with no other arrive or wait of the scope on the
//! way, and what such connections chain together. Workgroup and Subgroup are two independent
//! problems.
//!
//! An arrive while another is outstanding replaces it here; whether that is a mistake is a question
//! for validation.

mod flow;
mod lattice;
mod separation;
mod sites;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod window;

pub use lattice::Open;
pub use sites::{Site, SiteId, SiteKind};

use crate::analysis::cfg::{self, Cfg};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::facts::Class;
use crate::module::{
    BlockIndex, BlockMap, Constants, Declarations, EntryPoint, Function, Id, Inst, Module, Scope,
    Semantics, WordOffset, called_for_elements, is_terminator,
};
use flow::Event;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use window::Groups;

/// Bound on the sets of arrives that reach the blocks of one execution scope, all of them together;
/// equal sets of blocks in a row count once. It bounds memory (128 MiB of numbers) and time.
const MAX_FACTS: usize = if cfg!(test) { 1 << 20 } else { 1 << 25 };

/// The scopes that pairs can have.
const SCOPES: [Scope; 2] = [Scope::Workgroup, Scope::Subgroup];

/// Names a [`Pair`]: its index in [`Pairing::pairs`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId(pub u32);

/// Arrives and waits that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its name.
    pub id: PairId,
    /// The execution scope of all its sites: Workgroup or Subgroup.
    pub scope: Scope,
    /// Its arrives, in module order; never empty.
    pub arrives: Vec<SiteId>,
    /// Its waits, in module order; none when the arrive is never waited for.
    pub waits: Vec<SiteId>,
    /// Word offsets of the instructions on some path strictly between an arrive and a wait of the
    /// pair, sorted; barriers of any kind are left out, terminators are not.
    pub window: Vec<WordOffset>,
}

impl Pair {
    /// The length of the window: its instructions without branches, merges, phis and variables.
    pub fn operations(&self, module: &Module<'_>) -> usize {
        let window = self.window.iter().filter_map(|offset| module.at(*offset));
        window.filter(|inst| !is_structure(*inst)).count()
    }
}

/// Returns true if `inst` only says where control goes or what is declared.
fn is_structure(inst: Inst<'_>) -> bool {
    matches!(
        inst.op(),
        Some(Op::Phi | Op::Variable | Op::LoopMerge | Op::SelectionMerge)
    ) || is_terminator(inst)
}

/// The barriers of one entry point and how they belong together.
///
/// ```
/// use splitbar_passes::analysis::pairing::Pairing;
/// use splitbar_passes::diagnostic::Diagnostics;
/// use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
///
/// let bytes = include_bytes!("../../../../fixtures/kernels/message_passing/message_passing.spv");
/// let module = Module::parse(bytes)?;
/// let mut problems = Diagnostics::new();
/// let declarations = Declarations::new(&module, &mut problems);
/// let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
/// for entry in &declarations.entry_points {
///     let pairing = Pairing::analyse(&declarations, &constants, entry, &mut problems);
///     for pair in &pairing.pairs {
///         println!("{}: {} arrives, {} waits", entry.name, pair.arrives.len(), pair.waits.len());
///     }
/// }
/// # Ok::<(), Diagnostics>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    /// Every barrier that the entry point reaches through calls, function by function (callees
    /// first), in module order within each. Those in blocks that control cannot reach are among
    /// them, marked so.
    pub sites: Vec<Site>,
    /// The pairs, in the order of their first arrives. Every arrive is in exactly one; a wait that
    /// no arrive reaches is in none.
    pub pairs: Vec<Pair>,
    /// Word offsets of the instructions that end the entry function (returns and kills, not
    /// OpUnreachable), in module order.
    pub returns: Vec<WordOffset>,
    /// True if an instruction that the entry point reaches may release memory to more than the
    /// workgroup. What others of the workgroup have released to its invocation before is then
    /// released with it.
    pub releases_beyond_workgroup: bool,
    /// Per scope of [`SCOPES`].
    scopes: [ScopeFacts; 2],
    /// First and last word offset of each block of the entry function and its index, by first.
    blocks: BTreeMap<WordOffset, (WordOffset, BlockIndex)>,
    /// Arrives that reach a site; sets that are equal are stored once.
    sets: Vec<Vec<SiteId>>,
    /// Index into `sets`, by site; sites that nothing reaches have none.
    reaching: BTreeMap<SiteId, usize>,
}

/// What is known of one execution scope.
#[derive(Clone, Debug, Default)]
struct ScopeFacts {
    /// Verdict at the start of each block of the entry function; empty when the scope has no arrive
    /// and no wait.
    at_start: BlockMap<Open>,
    /// Verdict after each arrive and wait, by word offset.
    after: BTreeMap<WordOffset, Open>,
    /// Some path leads from a wait to the next arrive with no full barrier on it.
    phases_touch: bool,
}

impl Pairing {
    /// Analyses the barriers of `entry`.
    ///
    /// Arrives, waits and OpControlBarriers must stand in the entry function itself;
    /// [`crate::transform::inline::inline_barrier_functions`] sees to it. OpMemoryBarriers may
    /// stand anywhere.
    ///
    /// # Errors
    /// To `diagnostics`: `BadScope`, `BadSemantics`, `BadExecutionScope`,
    /// `UnsupportedExecutionScope` for operands, `WaitWithoutArrive`, `RecursiveCall` and
    /// `UndefinedId` for calls, `ModuleTooLarge` when arrives and blocks are too many to analyse,
    /// `UnsupportedInstruction` for a control barrier in a function that an instruction calls for
    /// each element of a cooperative matrix, `Internal` for one in any other function. The sites
    /// concerned are left out.
    pub fn analyse(
        declarations: &Declarations<'_>,
        constants: &Constants,
        entry: &EntryPoint<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Pairing {
        let function = declarations.function(entry.function);
        let cfg = function.map(|function| Cfg::analyze(declarations.module, function));
        let cfg = cfg.unwrap_or_default();
        Pairing::analyse_in(declarations, constants, entry, &cfg, diagnostics)
    }

    /// As [`Pairing::analyse`], with the graph of the entry function.
    pub(crate) fn analyse_in(
        declarations: &Declarations<'_>,
        constants: &Constants,
        entry: &EntryPoint<'_>,
        cfg: &Cfg,
        diagnostics: &mut Diagnostics,
    ) -> Pairing {
        let mut pairing = Pairing::default();
        let reached = match declarations.reachable_functions(entry.function) {
            Ok(reached) => reached,
            Err(problem) => {
                diagnostics.push(problem);
                return pairing;
            }
        };
        for &id in &reached {
            let Some(function) = declarations.function(id) else {
                debug_assert!(false, "{id} is reached and not a function");
                continue;
            };
            pairing.releases_beyond_workgroup |= releases_beyond_workgroup(function, constants);
            let is_entry = id == entry.function;
            if !is_entry && !has_barrier(function) {
                continue;
            }
            let own;
            let cfg = if is_entry {
                cfg
            } else {
                own = Cfg::analyze(declarations.module, function);
                &own
            };
            let first = pairing.sites.len();
            sites::collect(
                declarations.module,
                function,
                cfg,
                is_entry,
                constants,
                &mut pairing.sites,
                diagnostics,
            );
            if is_entry {
                pairing.connect(function, cfg, first, diagnostics);
            } else {
                let caller = caller_for_elements(declarations, &reached, id);
                pairing.refuse_control_barriers(first, caller, diagnostics);
            }
        }
        debug_assert!(
            (0..)
                .zip(&pairing.sites)
                .all(|(at, site)| site.id == SiteId(at)),
            "sites are named by their places"
        );
        pairing
    }

    /// The site that `id` names; `None` for a name of another entry point's that is too large.
    pub fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.get(id.0 as usize)
    }

    /// The state of `scope` before the instruction that starts at word `offset`. Only a wait
    /// completes an arrive.
    ///
    /// Outside of the entry function nothing is known: the answer is `Sometimes` if the entry
    /// function has an arrive of the scope at all.
    pub fn open_before(&self, scope: Scope, offset: WordOffset) -> Open {
        let Some((_, facts)) = SCOPES.iter().zip(&self.scopes).find(|(s, _)| **s == scope) else {
            return Open::Never;
        };
        let block = self
            .blocks
            .range(..=offset)
            .next_back()
            .filter(|(_, (last, _))| offset <= *last);
        let Some((first, (_, block))) = block else {
            let any = facts.after.values().any(|open| *open != Open::Never);
            return if any { Open::Sometimes } else { Open::Never };
        };
        match facts.after.range(*first..offset).next_back() {
            Some((_, open)) => *open,
            None => facts.at_start.get(*block).copied().unwrap_or(Open::Never),
        }
    }

    /// Returns true if every path from a wait of `scope` to the next arrive of `scope` has an
    /// OpControlBarrier of `scope`, so that no invocation arrives for a phase before all have
    /// waited for the previous one. Also true if there is no such path.
    pub fn barrier_between_phases(&self, scope: Scope) -> bool {
        SCOPES
            .iter()
            .zip(&self.scopes)
            .all(|(s, facts)| *s != scope || !facts.phases_touch)
    }

    /// The arrives of the execution scope of `site` that reach it with no other arrive or wait of
    /// that scope on the way, in module order. None for OpMemoryBarrier.
    pub fn reaching_arrives(&self, site: SiteId) -> &[SiteId] {
        self.reaching
            .get(&site)
            .and_then(|set| self.sets.get(*set))
            .map_or(&[], Vec::as_slice)
    }

    /// The arrives that an OpControlBarrier of the same execution scope follows, with no other
    /// arrive or wait of the scope between.
    pub fn arrives_before_barriers(&self) -> BTreeSet<SiteId> {
        let barriers = self
            .sites
            .iter()
            .filter(|site| site.kind == SiteKind::ControlBarrier);
        let sets: BTreeSet<usize> = barriers
            .filter_map(|site| self.reaching.get(&site.id).copied())
            .collect();
        sets.into_iter()
            .filter_map(|set| self.sets.get(set))
            .flatten()
            .copied()
            .collect()
    }

    /// Finds pairs, verdicts and reaching arrives in the entry function, whose sites start at index
    /// `first`.
    fn connect(
        &mut self,
        function: &Function<'_>,
        cfg: &Cfg,
        first: usize,
        diagnostics: &mut Diagnostics,
    ) {
        for (index, block) in function.numbered() {
            let last = block.terminator().map_or(block.offset, |inst| inst.offset);
            self.blocks.insert(block.offset, (last, index));
            self.returns.extend(
                block
                    .terminator()
                    .filter(|inst| cfg::is_exit(*inst))
                    .map(|inst| inst.offset),
            );
        }
        let mut sets = BTreeMap::new();
        let mut pairs = Vec::new();
        for (slot, scope) in SCOPES.into_iter().enumerate() {
            let sites: Vec<Site> = self
                .sites
                .iter()
                .skip(first)
                .filter(|site| site.execution == Some(scope))
                .cloned()
                .collect();
            let arrives = window::ids(&sites, |site| site.kind == SiteKind::Arrive);
            let problem = ScopeProblem {
                function,
                cfg,
                scope,
                sites,
                arrives,
            };
            match problem.solve(self, slot, &mut sets, diagnostics) {
                Ok(solved) => pairs.extend(solved),
                Err(limit) => diagnostics.push(limit),
            }
        }
        let mut by_index = vec![Vec::new(); sets.len()];
        for (set, index) in sets {
            by_index[index] = set;
        }
        self.sets = by_index;
        pairs.sort_by_key(|pair: &Pair| pair.arrives.first().copied());
        for (pair, number) in pairs.iter_mut().zip(0..) {
            pair.id = PairId(number);
        }
        self.pairs = pairs;
    }

    /// Reports the control barriers among the sites from index `first` on, and takes them out.
    /// `caller` calls their function for each element of a matrix.
    fn refuse_control_barriers(
        &mut self,
        first: usize,
        caller: Option<Inst<'_>>,
        diagnostics: &mut Diagnostics,
    ) {
        for site in self
            .sites
            .iter()
            .skip(first)
            .filter(|site| site.execution.is_some())
        {
            let problem = match caller {
                Some(caller) => Diagnostic::error(
                    Code::UnsupportedInstruction,
                    format!("{} calls a function with a control barrier", caller.name()),
                )
                .because("such a function runs once for each element of a matrix, in an undefined order and not equally often in each invocation")
                .help("move the barrier out of the function"),
                None => Diagnostic::error(
                    Code::Internal,
                    "a function with a control barrier was not inlined",
                )
                .help("inline functions that contain barriers before the analysis; if this is from a splitbar program, please report it"),
            };
            diagnostics.push(problem.at_word(site.offset));
        }
        let mut number = 0;
        self.sites.retain_mut(|site| {
            let keep = (site.id.0 as usize) < first || site.execution.is_none();
            if keep {
                site.id = SiteId(number);
                number += 1;
            }
            keep
        });
    }
}

/// One scope of one function.
struct ScopeProblem<'p, 'm> {
    function: &'p Function<'m>,
    cfg: &'p Cfg,
    scope: Scope,
    /// Sites of this execution scope, OpControlBarrier among them.
    sites: Vec<Site>,
    /// The arrives among them; an arrive's number is its index here.
    arrives: Vec<SiteId>,
}

impl ScopeProblem<'_, '_> {
    fn too_many(&self) -> Diagnostic {
        let (arrives, blocks) = (self.arrives.len(), self.cfg.len());
        let message = format!(
            "{arrives} arrives of scope {} in {blocks} blocks exceed the limit of the pairing analysis",
            self.scope
        );
        Diagnostic::error(Code::ModuleTooLarge, message)
            .at_word(self.function.offset)
            .because(format!(
                "the sets of arrives that reach each block can have {MAX_FACTS} members in total"
            ))
            .help("split the kernel, or unroll fewer loops")
    }

    /// Stores verdicts and reaching arrives in `pairing`, reports waits without arrive, returns the
    /// pairs (not yet numbered).
    ///
    /// # Errors
    /// When there is more to store than [`MAX_FACTS`] allows.
    fn solve(
        self,
        pairing: &mut Pairing,
        slot: usize,
        sets: &mut BTreeMap<Vec<SiteId>, usize>,
        diagnostics: &mut Diagnostics,
    ) -> Result<Vec<Pair>, Diagnostic> {
        if self.arrives.is_empty() && !self.sites.iter().any(|site| site.kind == SiteKind::Wait) {
            return Ok(Vec::new());
        }
        let events = self.events();
        let bare: BlockMap<Vec<Event>> = events
            .values()
            .map(|events| events.iter().map(|(_, event)| *event).collect())
            .collect();
        let flow = flow::flow(self.cfg, &bare, MAX_FACTS).ok_or_else(|| self.too_many())?;
        let facts = &mut pairing.scopes[slot];
        facts.phases_touch = !separation::separated(self.cfg, &self.sites);
        facts.at_start = flow
            .at_start
            .values()
            .map(lattice::OpenArrives::verdict)
            .collect();
        for (block, events) in events.iter() {
            for (offset, event) in events {
                let open = if self.cfg.is_reachable(block) {
                    event.after().verdict()
                } else {
                    Open::Never
                };
                facts.after.insert(*offset, open);
            }
        }
        let mut groups = Groups::new(self.arrives.len());
        let mut first_arrive: BTreeMap<SiteId, usize> = BTreeMap::new(); // by wait: an arrive that reaches it
        let mut known = HashMap::new(); // sets of blocks that have a number; looked up, never iterated
        let mut joined = HashSet::new(); // those whose arrives are in one group
        for site in self.sites.iter().filter(|site| site.reachable) {
            let Some(block) = self.cfg.index_of(site.block) else {
                debug_assert!(false, "a site in no block of the graph");
                continue;
            };
            let behind = events[block].partition_point(|(offset, _)| *offset < site.offset);
            let before = behind
                .checked_sub(1)
                .and_then(|last| events[block].get(last));
            let state = match before {
                Some((_, event)) => &event.after(),
                None => &flow.at_start[block],
            };
            let first = state.arrives().next();
            if let (SiteKind::Wait, Some(first)) = (site.kind, first) {
                first_arrive.insert(site.id, first);
            } else if site.kind == SiteKind::Wait {
                diagnostics.push(without_arrive(site, self.scope));
            }
            let Some(first) = first else { continue };
            // A set that many blocks share is looked at once, and once for waits.
            let shared = before.is_none().then(|| state.set());
            let index = match shared.and_then(|set| known.get(&set)) {
                Some(index) => *index,
                None => {
                    let set = state.arrives().map(|arrive| self.arrives[arrive]).collect();
                    let next = sets.len();
                    *sets.entry(set).or_insert(next)
                }
            };
            known.extend(shared.map(|set| (set, index)));
            pairing.reaching.insert(site.id, index);
            if site.kind == SiteKind::Wait && shared.is_none_or(|set| joined.insert(set)) {
                state
                    .arrives()
                    .for_each(|arrive| groups.union(first, arrive));
            }
        }
        let mut windows = window::windows(self.function, self.cfg, &events, &flow, &mut groups);
        let mut pairs: BTreeMap<usize, Pair> = BTreeMap::new();
        for (arrive, site) in self.arrives.iter().enumerate() {
            let group = groups.find(arrive);
            let pair = pairs.entry(group).or_insert_with(|| Pair {
                id: PairId(0),
                scope: self.scope,
                arrives: Vec::new(),
                waits: Vec::new(),
                window: std::mem::take(&mut windows[group]),
            });
            pair.arrives.push(*site);
        }
        for (wait, arrive) in first_arrive {
            if let Some(pair) = pairs.get_mut(&groups.find(arrive)) {
                pair.waits.push(wait);
            }
        }
        Ok(pairs.into_values().collect())
    }

    /// Arrives and waits of each block with their word offsets.
    fn events(&self) -> BlockMap<Vec<(WordOffset, Event)>> {
        let mut events = BlockMap::filled(self.cfg.len(), Vec::new());
        let mut arrives = 0;
        for site in &self.sites {
            let event = match site.kind {
                SiteKind::Arrive => {
                    arrives += 1;
                    Event::Arrive(arrives - 1)
                }
                SiteKind::Wait => Event::Wait,
                SiteKind::ControlBarrier | SiteKind::MemoryBarrier => continue,
            };
            if let Some(block) = self.cfg.index_of(site.block) {
                events[block].push((site.offset, event));
            }
        }
        events
    }
}

/// Returns true if a barrier or an atomic operation may release to more than the workgroup. What
/// cannot be told may.
fn releases_beyond_workgroup(function: &Function<'_>, constants: &Constants) -> bool {
    function.syncs.iter().any(|inst| {
        let inst = *inst;
        let operands = inst.sync_operands();
        let orders = match inst.facts().class {
            Class::Barrier(_) | Class::Fence | Class::Atomic(_) => {
                operands.memory.zip(operands.semantics)
            }
            _ => None, // named barriers are of the workgroup, group operations order no memory
        };
        orders.is_some_and(|(scope, semantics)| {
            let scope = inst
                .id(scope.into())
                .and_then(|id| Scope::evaluate(id, inst, constants));
            let semantics = inst
                .id(semantics.into())
                .and_then(|id| Semantics::evaluate(id, inst, constants));
            let within = scope.is_ok_and(|scope| {
                matches!(
                    scope,
                    Scope::Workgroup | Scope::Subgroup | Scope::Invocation
                )
            });
            !within && semantics.map_or(true, |semantics| semantics.order.releases())
        })
    })
}

fn has_barrier(function: &Function<'_>) -> bool {
    let mut syncs = function.syncs.iter();
    syncs.any(|inst| SiteKind::from_inst(*inst).is_some())
}

/// The instruction of the functions `reached` that calls `function` for each element of a
/// cooperative matrix: such a call cannot be inlined.
fn caller_for_elements<'m>(
    declarations: &Declarations<'m>,
    reached: &[Id],
    function: Id,
) -> Option<Inst<'m>> {
    let callers = reached.iter().filter_map(|id| declarations.function(*id));
    callers
        .flat_map(Function::insts)
        .find(|inst| called_for_elements(*inst) == Some(function))
}

fn without_arrive(site: &Site, scope: Scope) -> Diagnostic {
    Diagnostic::error(Code::WaitWithoutArrive, format!("no path to this wait has an outstanding arrive of scope {scope}"))
        .at_word(site.offset)
        .because("a wait needs an earlier arrive of the same execution scope, with no other wait between them (VUIDs 13559 and 13560)")
        .help("add the arrive, or use the same execution scope for both")
}
