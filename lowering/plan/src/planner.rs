//! Plans from pairing and target: the steps at the entry, at every barrier instruction, and at
//! every return.

use crate::async_copies::{self, CopyPlan, Planned};
use crate::deferred;
use crate::fences::{self, Side};
use crate::neighbours;
use crate::options::PlanOptions;
use crate::plan::{BarrierState, EntryPlan, PairPlan};
use crate::protocol::{BesideFullBarrier, Protocol, Setup, Unwaited};
use crate::shape::SubgroupShape;
use crate::step::{AmdgpuStep, FenceMemory, NvptxStep, Step, WarpMask};
use crate::strategy::{MeetsAt, Overlap, Strategy, mbarrier};
use crate::strategy::{choice::choose, situation::Situation};
use crate::target::{Arch, FenceScope, Placement};
use crate::waits::Waiting;
use splitbar_layout::Kernel;
use splitbar_passes::analysis::pairing::{Open, Site, SiteId, SiteKind};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Scope, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// Plans the barriers of one entry point.
///
/// What cannot be done as asked goes to `diagnostics` (`UnsupportedStrategy`,
/// `UnsupportedOnTarget`, `TooMuchSharedMemory`, `WorkgroupTooLarge`); the plan is complete all the
/// same. A complete plan is checked ([`EntryPlan::check`]): `Internal` where a step cannot be done.
pub fn plan(kernel: &Kernel<'_>, options: PlanOptions, diagnostics: &mut Diagnostics) -> EntryPlan {
    let planner = Planner::new(kernel, options, diagnostics);
    planner.check_limits(diagnostics);
    let mut plan = planner.plan();
    if let Some(copies) = &kernel.copies {
        deferred::defer(&mut plan, copies);
    }
    neighbours::merge(&mut plan);
    // Where something is not supported, its steps are not either.
    if !diagnostics.has_errors()
        && let Err(bug) = plan.check(kernel.target)
    {
        diagnostics.push(*bug);
    }
    plan
}

struct Planner<'p> {
    kernel: &'p Kernel<'p>,
    options: PlanOptions,
    shape: SubgroupShape,
    /// The strategy of workgroup-scope pairs and the reason for it.
    workgroup: (Strategy, String),
    /// Arrives and waits of the pairs that are lowered as [`Strategy::Fused`] beside it: no phase
    /// of theirs is ever open, and of all pairs of the workgroup one at a time is.
    full: BTreeSet<SiteId>,
    situation: Situation,
    copies: Planned,
}

/// The strategy of the pairs that are split, and the sites of those that `options` want full
/// barriers for. Where no pair is left that is split, all are fused.
fn apart(
    kernel: &Kernel<'_>,
    options: &PlanOptions,
    workgroup: (Strategy, String),
) -> ((Strategy, String), BTreeSet<SiteId>) {
    let nothing = BTreeSet::new();
    if options.full.is_empty() || workgroup.0.overlap() != Overlap::Split {
        return (workgroup, nothing);
    }
    let sites = &kernel.pairing.sites;
    let named: BTreeSet<SiteId> = sites
        .iter()
        .filter(|site| options.full.contains(&site.offset))
        .map(|site| site.id)
        .collect();
    let pairs = kernel.pairing.pairs.iter();
    let (full, split): (Vec<_>, Vec<_>) = pairs
        .filter(|pair| pair.scope == Scope::Workgroup)
        .partition(|pair| pair.arrives.iter().any(|site| named.contains(site)));
    if split.is_empty() && !full.is_empty() {
        return ((Strategy::Fused, FULL.to_owned()), nothing);
    }
    let sites = full
        .iter()
        .flat_map(|pair| pair.arrives.iter().chain(&pair.waits));
    (workgroup, sites.copied().collect())
}

/// Why a pair is fused beside others that are not.
const FULL: &str = "a full barrier was requested";

impl<'p> Planner<'p> {
    fn new(
        kernel: &'p Kernel<'p>,
        options: PlanOptions,
        diagnostics: &mut Diagnostics,
    ) -> Planner<'p> {
        let target = kernel.target;
        let shape = SubgroupShape::choose(kernel, &options, diagnostics);
        // A workgroup of so many invocations is refused by its size.
        let waves = kernel.workgroup_size.map(|size| {
            invocations(size)
                .div_ceil(u64::from(shape.wave))
                .max(1)
                .try_into()
                .unwrap_or(u32::MAX)
        });
        let situation = Situation {
            target,
            waves,
            free_shared_bytes: free_shared_bytes(kernel),
            barrier_in_window: kernel.pairing.sites.iter().any(|site| {
                site.kind == SiteKind::ControlBarrier
                    && site.execution == Some(Scope::Workgroup)
                    && kernel.pairing.open_before(Scope::Workgroup, site.offset) != Open::Never
            }),
            barrier_between_phases: kernel.pairing.barrier_between_phases(Scope::Workgroup),
            cluster: options.cluster,
            is_asked_for: false,
        };
        // Where a strategy is asked for, the variables give way into dynamic memory.
        let asked = Situation {
            is_asked_for: true,
            free_shared_bytes: target.lds_bytes.saturating_sub(kernel.shared_bytes),
            ..situation
        };
        let chosen = choose(Scope::Workgroup, situation);
        let workgroup = match options.strategy {
            None => chosen,
            Some(forced) => match forced.fits(Scope::Workgroup, asked) {
                Ok(_) => (forced, "asked for".to_owned()),
                Err(why) => {
                    if kernel
                        .pairing
                        .pairs
                        .iter()
                        .any(|pair| pair.scope == Scope::Workgroup)
                    {
                        diagnostics.push(
                            Diagnostic::error(Code::UnsupportedStrategy, format!("strategy `{forced}` cannot lower the split barriers of entry point `{}` for {}", kernel.entry.name, target.name))
                                .at_word(kernel.entry.inst.offset)
                                .because(why)
                                .help(format!("use `auto`, which chooses `{}` here, or `fused`, which every target supports", chosen.0)),
                        );
                    }
                    chosen
                }
            },
        };
        let (workgroup, full) = apart(kernel, &options, workgroup);
        Planner {
            kernel,
            shape,
            workgroup,
            full,
            situation,
            copies: kernel
                .copies
                .as_ref()
                .map_or_else(Planned::default, |copies| {
                    let waiting = Waiting {
                        target,
                        waits: options.waits,
                        placement: options.placement,
                        repeats: true,
                        copies_in_flight: false,
                        releases_cumulatively: kernel.pairing.releases_beyond_workgroup,
                    };
                    async_copies::plan(
                        copies,
                        waiting,
                        shape,
                        kernel.workgroup_size.map(invocations),
                        situation.free_shared_bytes.saturating_sub(mbarrier::BYTES),
                    )
                }),
            options,
        }
    }

    fn check_limits(&self, diagnostics: &mut Diagnostics) {
        let target = self.kernel.target;
        let name = &self.kernel.entry.name;
        if let Some(size) = self.kernel.workgroup_size {
            let count = invocations(size);
            if count > u64::from(target.max_workgroup_size) {
                diagnostics.push(
                    Diagnostic::error(Code::WorkgroupTooLarge, format!("the workgroup of entry point `{name}` has {count} invocations; {} allows {}", target.name, target.max_workgroup_size))
                        .at_word(self.kernel.entry.inst.offset)
                        .help("use a smaller workgroup (`Options::spec`), or choose another target"),
                );
            }
        }
        let reserved = self.reserved_shared_bytes();
        self.check_placement(diagnostics);
        self.check_cluster(diagnostics);
        let needed = self.needed_shared_bytes();
        if needed > u64::from(target.lds_bytes) {
            let mut diagnostic = Diagnostic::error(
                Code::TooMuchSharedMemory,
                format!(
                    "entry point `{name}` needs {needed} bytes of workgroup memory; {} has {}",
                    target.name, target.lds_bytes
                ),
            )
            .at_word(self.kernel.entry.inst.offset);
            if reserved > 0 {
                diagnostic = diagnostic.because(format!(
                    "the strategy `{}` reserves {reserved} of them",
                    self.workgroup.0
                ));
            }
            diagnostics.push(diagnostic.help("make the workgroup variables smaller"));
        }
    }

    fn check_placement(&self, diagnostics: &mut Diagnostics) {
        let (target, placement) = (self.kernel.target, self.options.placement);
        let name = &self.kernel.entry.name;
        if !placement.exists_on(target) {
            diagnostics.push(
                Diagnostic::error(
                    Code::UnsupportedOnTarget,
                    format!("{} has no {}", target.name, placement.name()),
                )
                .help("remove the mode"),
            );
        }
        let needed = self
            .kernel
            .shared_bytes
            .saturating_add(self.reserved_shared_bytes());
        if placement == Placement::ThreadgroupSplit && needed > 0 {
            diagnostics.push(
                Diagnostic::error(
                    Code::UnsupportedOnTarget,
                    format!("entry point `{name}` uses {needed} bytes of workgroup memory, and a workgroup in {} has none", placement.name()),
                )
                .at_word(self.kernel.entry.inst.offset)
                .help("compile it without `Placement::ThreadgroupSplit`"),
            );
        }
    }

    fn check_cluster(&self, diagnostics: &mut Diagnostics) {
        let Some(size) = self.options.cluster else {
            return;
        };
        let name = self.kernel.target.name;
        let [x, y, z] = size;
        if !self.kernel.target.has_clusters() {
            diagnostics.push(
                Diagnostic::error(
                    Code::UnsupportedOnTarget,
                    format!("{name} has no clusters of workgroups"),
                )
                .help("do not set `Options::cluster`"),
            );
        } else if !(1..=MOST_OF_CLUSTER).contains(&invocations(size)) {
            diagnostics.push(
                Diagnostic::error(
                    Code::UnsupportedOnTarget,
                    format!("a cluster of {x}x{y}x{z} workgroups is not possible"),
                )
                .because(format!("a cluster has 1 to {MOST_OF_CLUSTER} workgroups"))
                .help("choose a smaller `Options::cluster`"),
            );
        }
    }

    fn has_workgroup_pairs(&self) -> bool {
        self.kernel
            .pairing
            .pairs
            .iter()
            .any(|pair| pair.scope == Scope::Workgroup)
    }

    fn reserved_shared_bytes(&self) -> u32 {
        let of_copies = self.copies.bulk_slots.unwrap_or(0) * mbarrier::BYTES;
        if self.has_workgroup_pairs() {
            of_copies + self.workgroup.0.shared_bytes()
        } else {
            of_copies
        }
    }

    /// Returns true if the workgroup variables are in dynamic shared memory: there is too much for
    /// static.
    fn is_dynamic(&self) -> bool {
        let target = self.kernel.target;
        let fixed = target.static_shared_bytes();
        fixed < target.lds_bytes && self.shared_bytes() > u64::from(fixed)
    }

    /// The workgroup memory of the kernel and of its barriers.
    fn shared_bytes(&self) -> u64 {
        u64::from(self.kernel.shared_bytes) + u64::from(self.reserved_shared_bytes())
    }

    /// The same with what lies between: dynamic memory begins behind the static, aligned.
    fn needed_shared_bytes(&self) -> u64 {
        let (variables, all) = (&self.kernel.variables, self.shared_bytes());
        if self.is_dynamic() {
            let fixed = all.saturating_sub(variables.bytes);
            variables
                .align
                .round_up(fixed)
                .saturating_add(variables.bytes)
        } else {
            all
        }
    }

    /// Waves of the workgroup, or of the largest one that a launch can ask for.
    fn most_waves(&self) -> u32 {
        let most = self.kernel.target.max_workgroup_size;
        self.situation
            .waves
            .unwrap_or_else(|| most.div_ceil(self.shape.wave))
    }

    /// The lanes that a sync of `scope` inside a warp names.
    fn lanes(&self, scope: Scope, conditional: bool) -> WarpMask {
        // Lanes that the workgroup does not have must not be named; in a workgroup of one warp they
        // are known. Those of a partial last warp that do not exist count as exited, and a sync
        // does not wait for exited lanes.
        let existing = match (self.situation.waves, self.kernel.workgroup_size) {
            (Some(1), Some(size)) => u32::MAX >> (32 - invocations(size).clamp(1, 32)),
            _ => u32::MAX,
        };
        let in_part = scope == Scope::Subgroup && !self.shape.is_wave();
        let is_shader = self.kernel.entry.is_shader();
        match conditional {
            // OpenCL has subgroup barriers only where all of the subgroup come; the warp's other
            // subgroups may be elsewhere.
            _ if in_part && !(conditional && is_shader) => WarpMask::Subgroup {
                size: self.shape.size,
                existing,
            },
            false => WarpMask::Lanes(existing),
            // Vulkan lets subgroup barriers stand in non-uniform control flow: who is here takes
            // part.
            true => WarpMask::Active,
        }
    }

    fn protocol(&self, strategy: Strategy, conditional: bool) -> Protocol {
        // A workgroup of one warp meets only in uniform control flow
        // (VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13558), so all of its lanes are there.
        let conditional = conditional && strategy.scope() == Scope::Subgroup;
        let protocol = strategy.protocol(Setup {
            arch: &self.kernel.target.arch,
            waves: self.most_waves(),
            fuse_at: self.options.fuse_at,
            lanes: self.lanes(strategy.scope(), conditional),
            barrier: self.workgroup_barrier(),
        });
        if self.options.scheduling_barriers {
            protocol
        } else {
            protocol.without_guards()
        }
    }

    fn waiting(&self, repeats: bool) -> Waiting {
        Waiting {
            target: self.kernel.target,
            waits: self.options.waits,
            placement: self.options.placement,
            repeats,
            copies_in_flight: self.copies.in_flight,
            releases_cumulatively: self.kernel.pairing.releases_beyond_workgroup,
        }
    }

    /// The full barrier of a workgroup of several waves.
    fn workgroup_barrier(&self) -> Step {
        self.waiting(false).workgroup_barrier()
    }

    /// The strategy of the pair of execution scope `scope` that `site` is of.
    fn strategy_of(&self, scope: Scope, site: Option<SiteId>) -> (Strategy, String) {
        if scope != Scope::Workgroup {
            choose(scope, self.situation)
        } else if site.is_some_and(|site| self.full.contains(&site)) {
            (Strategy::Fused, FULL.to_owned())
        } else {
            self.workgroup.clone()
        }
    }

    /// Whether an arrive of Workgroup scope can be outstanding before the instruction at `offset`.
    fn open(&self, offset: WordOffset) -> Open {
        self.kernel.pairing.open_before(Scope::Workgroup, offset)
    }

    fn plan(&self) -> EntryPlan {
        let pairing = &self.kernel.pairing;
        let workgroup = self.protocol(self.workgroup.0, false);
        let meets_full_barrier =
            workgroup.beside != BesideFullBarrier::Independent && self.situation.barrier_in_window;
        let returns = pairing.returns.iter();
        let returns: Vec<(WordOffset, Open)> =
            returns.map(|&offset| (offset, self.open(offset))).collect();
        let any_open = returns.iter().any(|(_, open)| *open != Open::Never);
        // The optimiser folds the run-time note wherever it is known after all.
        let outstanding = meets_full_barrier || self.needs_note(&workgroup, &returns);
        let complete = || {
            if outstanding {
                complete_noted(&workgroup)
            } else {
                workgroup.complete.clone()
            }
        };

        let at_end = if workgroup.unwaited == Unwaited::AtEnd && any_open {
            complete()
        } else {
            self.at_end(&workgroup)
        };
        let mut at_return = BTreeMap::new();
        if workgroup.unwaited == Unwaited::AtReturn {
            let open = returns.iter().filter(|(_, open)| *open != Open::Never);
            at_return.extend(open.map(|(offset, _)| (*offset, complete())));
        }
        let has_workgroup_pairs = self.has_workgroup_pairs();
        EntryPlan {
            entry: self.kernel.entry.name.clone(),
            function: self.kernel.entry.function,
            target: self.kernel.target.name,
            workgroup_size: self.kernel.workgroup_size,
            wave_size: self.shape.wave,
            subgroup_size: self.shape.size,
            placement: self.options.placement,
            cluster: self.cluster(),
            pairs: self.pair_plans(),
            sites: pairing.sites.clone(),
            at_entry: [
                self.copies.at_entry.clone(),
                if has_workgroup_pairs {
                    workgroup.at_entry.clone()
                } else {
                    Vec::new()
                },
            ]
            .concat(),
            at_instruction: self.at_instruction(outstanding, meets_full_barrier),
            before_instruction: self.copies.before.clone(),
            copied_loads: self
                .copies
                .copies
                .values()
                .filter_map(CopyPlan::replaced_load)
                .collect(),
            copies: self.copies.copies.clone(),
            staged: self.copies.staged.clone(),
            at_return,
            at_end,
            releases_cumulatively: pairing.releases_beyond_workgroup,
            state: BarrierState {
                word: has_workgroup_pairs && workgroup.keeps_word,
                outstanding,
                bulk_slots: self.copies.bulk_slots,
            },
            reserved_shared_bytes: self.reserved_shared_bytes(),
            dynamic_shared_bytes: if self.is_dynamic() {
                u32::try_from(self.kernel.variables.bytes).unwrap_or(u32::MAX) // refused
            } else {
                0
            },
        }
    }

    /// Returns true if the steps need a note at run time whether an arrive is outstanding, by what
    /// may be open at the `returns`.
    fn needs_note(&self, workgroup: &Protocol, returns: &[(WordOffset, Open)]) -> bool {
        let any_open = returns.iter().any(|(_, open)| *open != Open::Never);
        match workgroup.unwaited {
            Unwaited::Nowhere => false,
            // What is open at a return may be a pair that leaves nothing behind.
            Unwaited::AtReturn | Unwaited::AtEnd if !self.full.is_empty() => any_open,
            Unwaited::AtReturn => returns.iter().any(|(_, open)| *open == Open::Sometimes),
            Unwaited::AtEnd => any_open && returns.iter().any(|(_, open)| *open != Open::Always),
        }
    }

    /// Steps in the place of each barrier instruction.
    fn at_instruction(
        &self,
        outstanding: bool,
        meets_full_barrier: bool,
    ) -> BTreeMap<WordOffset, Vec<Step>> {
        let mut at_instruction: BTreeMap<WordOffset, Vec<Step>> = self
            .kernel
            .pairing
            .sites
            .iter()
            .map(|site| {
                (
                    site.offset,
                    [
                        self.waiting(site.repeats).before_barrier(),
                        self.steps(site, outstanding, meets_full_barrier),
                    ]
                    .concat(),
                )
            })
            .collect();
        at_instruction.extend(self.copies.after.clone());
        let waits = self.copies.waits.iter();
        at_instruction.extend(
            waits.map(|(offset, (wait, memory))| (*offset, self.wait_events(wait, *memory))),
        );
        at_instruction
    }

    /// Strategies of all pairs.
    fn pair_plans(&self) -> Vec<PairPlan> {
        self.kernel
            .pairing
            .pairs
            .iter()
            .map(|pair| {
                let (strategy, reason) =
                    self.strategy_of(pair.scope, pair.arrives.first().copied());
                PairPlan {
                    id: pair.id,
                    scope: pair.scope,
                    strategy,
                    reason,
                    arrives: pair.arrives.clone(),
                    waits: pair.waits.clone(),
                    window: pair.window.clone(),
                }
            })
            .collect()
    }

    /// What a wave does when it ends: it leaves what its end does not drop, where others may have
    /// phases left. None may be open there.
    fn at_end(&self, workgroup: &Protocol) -> Vec<Step> {
        let pairing = &self.kernel.pairing;
        let uneven = pairing.sites.iter().any(|site| {
            site.execution == Some(Scope::Workgroup)
                && matches!(site.kind, SiteKind::Arrive | SiteKind::Wait)
                && (site.conditional || site.repeats)
        });
        let open = |offset: &WordOffset| self.open(*offset) != Open::Never;
        if uneven && !pairing.returns.iter().any(open) {
            workgroup.leave.clone()
        } else {
            Vec::new()
        }
    }

    /// The cluster that the kernel is launched in: the one that is asked for, or the workgroup's
    /// own where its barrier is used.
    fn cluster(&self) -> Option<[u32; 3]> {
        let meets = self.workgroup.0.meets_at() == MeetsAt::ClusterBarrier;
        let uses = self.has_workgroup_pairs() && meets;
        self.options.cluster.or(uses.then_some([1; 3]))
    }

    /// The steps in place of one barrier instruction.
    fn steps(&self, site: &Site, outstanding: bool, meets_full_barrier: bool) -> Vec<Step> {
        let fences = |side, built_in| {
            fences::steps(
                self.kernel.narrowed.semantics(site),
                site.memory,
                side,
                built_in,
                self.waiting(site.repeats),
            )
        };
        // Nobody but the invocation takes part.
        let Some(scope) = site.execution.filter(|scope| *scope != Scope::Invocation) else {
            return fences(Side::Alone, None);
        };
        match site.kind {
            SiteKind::MemoryBarrier => fences(Side::Alone, None),
            SiteKind::Arrive | SiteKind::Wait => {
                let strategy = self.strategy_of(scope, Some(site.id)).0;
                let protocol = self.protocol(strategy, site.conditional);
                // Notes are kept only of the workgroup's sequence: no strategy for subgroups shares
                // an object with a full barrier, and one in place of a pair leaves nothing open.
                let is_full = self.full.contains(&site.id);
                let noted = outstanding && scope == Scope::Workgroup && !is_full;
                if site.kind == SiteKind::Arrive {
                    let note = noted.then_some(Step::SetOutstanding(true));
                    [
                        fences(Side::Before, protocol.orders),
                        protocol.arrive,
                        note.into_iter().collect(),
                    ]
                    .concat()
                } else {
                    let wait = match (noted, meets_full_barrier) {
                        (false, _) => protocol.wait,
                        // A wait follows an arrive (13559), and nothing in between completes it.
                        (true, false) => {
                            [protocol.wait, vec![Step::SetOutstanding(false)]].concat()
                        }
                        (true, true) => vec![Step::IfOutstanding(
                            [protocol.wait, vec![Step::SetOutstanding(false)]].concat(),
                        )],
                    };
                    [wait, fences(Side::After, protocol.orders)].concat()
                }
            }
            SiteKind::ControlBarrier => {
                let conditional = site.conditional && !self.options.joined.contains(&site.offset);
                let (barrier, built_in) = self.full_barrier(scope, conditional);
                let workgroup = self.protocol(self.workgroup.0, false);
                let meets = outstanding
                    && scope == Scope::Workgroup
                    && self.open(site.offset) != Open::Never;
                let (before, after) = match workgroup.beside {
                    BesideFullBarrier::CompleteFirst if meets => {
                        (complete_noted(&workgroup), Vec::new())
                    }
                    BesideFullBarrier::Satisfies if meets => {
                        (Vec::new(), vec![Step::SetOutstanding(false)])
                    }
                    BesideFullBarrier::CompleteFirst
                    | BesideFullBarrier::Satisfies
                    | BesideFullBarrier::Independent => (Vec::new(), Vec::new()),
                };
                [
                    before,
                    fences(Side::Before, built_in),
                    vec![barrier],
                    after,
                    fences(Side::After, built_in),
                ]
                .concat()
            }
        }
    }

    /// The steps in place of an OpGroupWaitEvents: the invocation's own copies, then those of the
    /// others. OpenCL C 6.15.10: what was copied is there for all work-items.
    fn wait_events(&self, wait: &[Step], memory: FenceMemory) -> Vec<Step> {
        let (barrier, built_in) = self.full_barrier(Scope::Workgroup, false);
        // Nobody has looked whether control comes here again.
        let waiting = self.waiting(true);
        let fences = |side| fences::of_workgroup(memory, side, built_in, waiting);
        [
            wait.to_vec(),
            waiting.before_barrier(),
            fences(Side::Before),
            vec![barrier],
            fences(Side::After),
        ]
        .concat()
    }

    /// The step of a full barrier of `execution` scope, and the widest memory scope that it orders
    /// by itself.
    fn full_barrier(&self, execution: Scope, conditional: bool) -> (Step, Option<FenceScope>) {
        let one_wave = execution == Scope::Subgroup || self.situation.waves == Some(1);
        match (&self.kernel.target.arch, one_wave) {
            (Arch::Amdgpu(_), true) => (Step::Amdgpu(AmdgpuStep::WaveBarrier), None),
            (Arch::Amdgpu(_), false) => (self.workgroup_barrier(), None),
            (Arch::Nvptx(_), false) => (self.workgroup_barrier(), Some(FenceScope::Workgroup)),
            (Arch::Nvptx(_), true) if execution == Scope::Subgroup => (
                Step::Nvptx(NvptxStep::WarpSync(self.lanes(execution, conditional))),
                Some(FenceScope::Subgroup),
            ),
            (Arch::Nvptx(_), true) => (
                Step::Nvptx(NvptxStep::WarpSync(self.lanes(execution, false))),
                Some(FenceScope::Workgroup),
            ),
        }
    }
}

/// Workgroup memory that is left for barriers: of what can be static, unless the kernel itself has
/// more than that.
fn free_shared_bytes(kernel: &Kernel<'_>) -> u32 {
    let target = kernel.target;
    let fixed = target.static_shared_bytes();
    let all = if kernel.shared_bytes <= fixed {
        fixed
    } else {
        target.lds_bytes
    };
    all.saturating_sub(kernel.shared_bytes)
}

/// Completes an arrive if the run-time note says that one is outstanding.
fn complete_noted(protocol: &Protocol) -> Vec<Step> {
    vec![Step::IfOutstanding(
        [protocol.complete.clone(), vec![Step::SetOutstanding(false)]].concat(),
    )]
}

/// Most workgroups of a cluster. CUDA C++ programming guide, "Thread Block Clusters": 8, and 16 on
/// GPUs that let a launch ask for more; LLVM 23 reads a workgroup's place in its cluster on AMDGPU
/// from four bits.
const MOST_OF_CLUSTER: u64 = 16;

/// Invocations of a workgroup of `size`, or workgroups of a cluster.
fn invocations(size: [u32; 3]) -> u64 {
    size.iter()
        .map(|&n| u64::from(n))
        .fold(1, u64::saturating_mul)
}
