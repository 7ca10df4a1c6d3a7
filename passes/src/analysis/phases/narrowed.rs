//! Memory that a barrier of the workgroup names and orders nothing of.
//!
//! Semantics name classes of memory. A class is needed where an access to it on the one side of the
//! barrier conflicts with any access on the other ([`Zones`]): then the order can be told. Where
//! none does, the barrier with and the one without the class let the same results come about, but
//! the one with it waits, on many GPUs, for loads of what nobody writes.
//!
//! Barriers are asked one after another, in the order of [`Body::barriers`]. One that has lost a
//! class no longer ends the zones of others for it, so these are worked out anew: what two barriers
//! order together one of them goes on ordering.
//!
//! What invocations of other workgroups may learn. They learn it by atomic operations, which
//! conflict with everything in the zones ([`Effect::publishes`]), and so do volatile accesses here.
//! A barrier whose memory scope is wider than the workgroup may be the fence of an atomic operation
//! behind the barrier that follows it; it keeps its classes wherever there are such operations.
//!
//! Left alone: barriers with operands from specialization constants or marked Volatile, those with
//! a side outside of the entry function, and an OpControlBarrier in the window of a pair: the pair
//! does not order what stands between its arrive and that barrier, so its wait ends no zone there.

use super::aliasing::Aliasing;
use super::body::{Barrier, Body, Role};
use super::effects::{Effect, Effects};
use super::memory_regions::MemoryRegions;
use super::openness::Openness;
use super::ordered::still_ordered;
use super::zones::Zones;
use crate::analysis::cfg::Cfg;
use crate::analysis::pairing::{Pairing, Site};
use crate::diagnostic::{Diagnostic, WitnessStep};
use crate::module::{Classes, Constants, Declarations, Function, Scope, Semantics, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that are looked at in one function; barriers that were not asked then keep all
/// classes.
const MOST_WORK: usize = 1 << 26;

/// The classes that barriers of a function keep, where they lose some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// By the place of an arrive, a wait or an OpControlBarrier.
    classes: BTreeMap<WordOffset, Classes>,
}

impl Narrowed {
    /// Analyses the entry function `function`, whose graph is `cfg` and whose barriers are in
    /// `pairing`.
    ///
    /// # Errors
    /// `Internal`, in debug builds, if accesses have lost their order.
    pub fn analyze<'m>(
        declarations: &Declarations<'m>,
        constants: &Constants,
        function: &Function<'m>,
        cfg: &Cfg,
        pairing: &Pairing,
        aliasing: Aliasing,
    ) -> Result<Narrowed, Diagnostic> {
        let names_memory = |site: &Site| parts(site.semantics.classes).next().is_some();
        if !pairing.sites.iter().any(names_memory) {
            return Ok(Narrowed::default());
        }
        let effects = Effects::analyze(declarations, constants, function, aliasing);
        let given = Body::analyze(declarations, function, &effects, pairing, false);
        let sites = pairing.sites.iter().map(|site| (site.offset, site));
        let sites: BTreeMap<WordOffset, &Site> = sites.collect();
        let (narrowed, barriers) = narrow(&given, cfg, &sites);
        if cfg!(debug_assertions) && !narrowed.classes.is_empty() {
            let after = Body {
                barriers,
                blocks: given.blocks.clone(),
            };
            let lost = still_ordered((&given, cfg), (&after, cfg), &Some).unwrap_or_default();
            if let Some((one, other)) = lost.first() {
                let what = "narrowed barriers do not order this access and another one";
                let other = WitnessStep::at(*other, "the other access");
                return Err(Diagnostic::bug(what).at_word(*one).passing(other));
            }
        }
        Ok(narrowed)
    }

    /// The semantics of `site` without what they order nothing of. Without a class no order is
    /// left.
    pub fn semantics(&self, site: &Site) -> Semantics {
        match self.classes.get(&site.offset) {
            None => site.semantics,
            Some(classes) if *classes == Classes::default() => Semantics::NONE,
            Some(classes) => Semantics {
                classes: *classes,
                ..site.semantics
            },
        }
    }
}

/// Takes classes away from the barriers of `given`: what they keep, and the barriers afterwards.
fn narrow(
    given: &Body,
    cfg: &Cfg,
    sites: &BTreeMap<WordOffset, &Site>,
) -> (Narrowed, Vec<Barrier>) {
    let mut body = given.noticed();
    let publishes = body.publishes();
    let halves: BTreeSet<WordOffset> = given
        .blocks
        .values()
        .flatten()
        .filter(|item| matches!(item.role, Role::Half(..)))
        .map(|item| item.offset)
        .collect();
    let openness = Openness::analyze(given, cfg);
    let mut narrowed = Narrowed::default();
    // Of the barriers as they are now; `None` once one has lost a class.
    let mut zones = None;
    let mut work = 0;
    for (number, barrier) in given.barriers.iter().enumerate() {
        let places = || barrier.arrives.iter().chain(&barrier.waits);
        let is_inside = places().all(|place| halves.contains(place));
        let own: Vec<&Site> = places().filter_map(|at| sites.get(at).copied()).collect();
        let is_fence = publishes && own.iter().any(|site| is_wide(site));
        if !barrier.is_known || !is_inside || is_fence || openness.is_in_a_window(number) {
            continue;
        }
        work += 5 * body.len();
        if work > MOST_WORK {
            break;
        }
        let around = zones.get_or_insert_with(|| Zones::analyze(&body, cfg));
        let gone = unneeded(&own, around.before(number), around.behind(number));
        if gone.is_empty() {
            continue;
        }
        let changed = own.iter().filter(|site| {
            let named = MemoryRegions::from_classes(site.semantics.classes);
            !(named & gone).is_empty()
        });
        let kept = changed.map(|site| (site.offset, without(site.semantics.classes, gone)));
        narrowed.classes.extend(kept);
        if let Some(barrier) = body.barriers.get_mut(number) {
            barrier.orders = barrier.orders.without(gone);
            barrier.may_order = barrier.may_order.without(gone);
        }
        zones = None;
    }
    (narrowed, body.barriers)
}

/// Returns true if the memory scope of a barrier is wider than the workgroup.
fn is_wide(site: &Site) -> bool {
    match site.memory {
        Scope::Workgroup | Scope::Subgroup | Scope::Invocation => false,
        Scope::CrossDevice | Scope::Device | Scope::QueueFamily | Scope::ShaderCall => true,
    }
}

/// What the sites of a barrier name and order nothing of, between accesses `before` and `behind`.
fn unneeded(sites: &[&Site], before: Effect, behind: Effect) -> MemoryRegions {
    let named = sites.iter().flat_map(|site| parts(site.semantics.classes));
    let is_needed = |part: &MemoryRegions| {
        before.within(*part).conflicts(behind) || behind.within(*part).conflicts(before)
    };
    named
        .filter(|part| !is_needed(part))
        .fold(MemoryRegions::NONE, |all, part| all | part)
}

/// The memory of each class.
fn parts(classes: Classes) -> impl Iterator<Item = MemoryRegions> {
    let one = |named: bool, places| named.then_some(places);
    [
        one(classes.uniform, MemoryRegions::BUFFERS),
        one(classes.workgroup, MemoryRegions::WORKGROUP),
        one(classes.cross_workgroup, MemoryRegions::CROSS_WORKGROUP),
        one(classes.image, MemoryRegions::IMAGES),
    ]
    .into_iter()
    .flatten()
}

/// The classes but for those whose memory is `gone`. SubgroupMemory, AtomicCounterMemory and
/// OutputMemory name memory that kernels do not have; they go with the last of the others.
fn without(classes: Classes, gone: MemoryRegions) -> Classes {
    let left = |named: bool, places: MemoryRegions| named && (places & gone).is_empty();
    let kept = Classes {
        uniform: left(classes.uniform, MemoryRegions::BUFFERS),
        workgroup: left(classes.workgroup, MemoryRegions::WORKGROUP),
        cross_workgroup: left(classes.cross_workgroup, MemoryRegions::CROSS_WORKGROUP),
        image: left(classes.image, MemoryRegions::IMAGES),
        ..classes
    };
    match parts(kept).next() {
        Some(_) => kept,
        None => Classes::default(),
    }
}
