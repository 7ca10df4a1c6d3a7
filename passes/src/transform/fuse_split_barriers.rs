//! Makes one OpControlBarrier out of an arrive and the wait that belongs to it: at the wait, or at
//! the arrive.
//!
//! Needs: arrives and waits that alternate (VUIDs 13559 to 13561). Functions with barriers are
//! inlined first. Gives: entry functions without arrive and wait; the capability and the extension
//! go with the last of them.
//!
//! Why it is right. At the wait, every access before the arrive is before the barrier and every
//! access after the wait behind it; the window's accesses, which the pair left unordered, come
//! before it too. At the arrive they come behind it. The barrier's semantics are the union of both
//! sides: the order that releases and acquires as they did, all their storage classes, the wider
//! memory scope. What the vanished side did alone, as a fence between it and an atomic, a call or
//! another barrier in the window, stays as an OpMemoryBarrier in its place; so do the
//! OpMemoryBarriers of the module. An arrive that no wait follows completes nothing and goes, but
//! for its fence. Exported functions are treated as entry functions when their pairs are their own;
//! one that waits for an arrive of its caller, or leaves one, stays.
//!
//! What changes: an invocation that spins in the window until another one has got past its arrive,
//! or its wait, may spin for ever. SPIR-V promises no such progress, yet programs may count on it.

use super::edit::Edit;
use super::inlined::{each_paired, inlined};
use super::operands::{
    CAPABILITY, EXTENSION_EXT, EXTENSION_INTEL, Fence, barrier_operands, is_ordered, is_split,
    known_fence,
};
use super::options::FuseAt;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::pairing::{Open, Pair, Pairing, Site, SiteId, SiteKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::facts::Class;
use crate::module::{Declarations, Inst, Module, Scope};
use spirv::Op;
use std::collections::BTreeSet;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let at = match options {
        PassOptions::Fuse(at) => *at,
        _ => FuseAt::Wait,
    };
    if !module.instructions().any(is_split) {
        return Ok(None);
    }
    inlined(module, declarations, |declarations| {
        fuse(declarations, at, |_| true)
    })
}

/// Fuses the pairs that `wanted` wants, and takes away halves that control cannot reach.
pub(super) fn fuse(
    declarations: &Declarations<'_>,
    at: FuseAt,
    wanted: impl Fn(&Pair) -> bool,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut edit = Edit::new(declarations);
    let mut gone = BTreeSet::new();
    each_paired(declarations, |_, pairing| {
        let mut work = Fuse {
            pairing,
            edit: &mut edit,
            at,
        };
        let mut kept: BTreeSet<SiteId> = BTreeSet::new();
        for pair in &pairing.pairs {
            if wanted(pair) {
                work.pair(pair)?;
            } else {
                kept.extend(pair.arrives.iter().chain(&pair.waits));
            }
        }
        for site in pairing
            .sites
            .iter()
            .filter(|site| matches!(site.kind, SiteKind::Arrive | SiteKind::Wait))
            .filter(|site| !kept.contains(&site.id))
        {
            if !site.reachable {
                edit.remove(site.offset);
            }
            gone.insert(site.offset);
        }
        Ok(())
    })?;
    // Exported functions that leave pairs open, or wait for arrives of their callers, keep theirs.
    let is_left = |inst: Inst<'_>| is_split(inst) && !gone.contains(&inst.offset);
    if !declarations.module.instructions().any(is_left) {
        undeclare(&mut edit);
    }
    edit.finish()
}

/// Takes the capability and the extension away.
fn undeclare(edit: &mut Edit<'_, '_>) {
    for inst in edit.module().instructions() {
        let is_ours = match inst.op() {
            Some(Op::Capability) => inst.operand(0) == Ok(CAPABILITY),
            Some(Op::Extension) => {
                [EXTENSION_EXT, EXTENSION_INTEL].contains(&inst.string(0).as_str())
            }
            // Wherever they stand: a module may have them inside of its functions, which no rule of
            // barriers forbids.
            _ => false,
        };
        if is_ours {
            edit.remove(inst.offset);
        }
    }
}

struct Fuse<'w, 'd, 'm> {
    pairing: &'w Pairing,
    edit: &'w mut Edit<'d, 'm>,
    at: FuseAt,
}

impl Fuse<'_, '_, '_> {
    fn pair(&mut self, pair: &Pair) -> Result<(), Diagnostic> {
        let arrives: Vec<&Site> = sites(self.pairing, &pair.arrives);
        let waits: Vec<&Site> = sites(self.pairing, &pair.waits);
        let (stay, go) = match self.at {
            FuseAt::Wait => (&waits, &arrives),
            FuseAt::Arrive => (&arrives, &waits),
        };
        let is_seen = self.is_window_seen(pair);
        for site in go {
            let fence = self.fence(site)?;
            self.vanish(site, fence, is_seen && is_ordered(fence))?;
        }
        for site in stay {
            let mut fence = self.fence(site)?;
            let mut partners = 0;
            for other in go {
                if self.is_partner(site, other) {
                    partners += 1;
                    fence = fence
                        .union(self.fence(other)?)
                        .ok_or_else(|| incomparable(site))?;
                }
            }
            if partners == 0 {
                // An arrive that no wait follows.
                self.vanish(site, fence, is_ordered(fence))?;
                continue;
            }
            let execution = match pair.scope {
                Scope::Subgroup => super::operands::SUBGROUP,
                Scope::Workgroup
                | Scope::Invocation
                | Scope::QueueFamily
                | Scope::Device
                | Scope::CrossDevice
                | Scope::ShaderCall => super::operands::WORKGROUP, // pairs have no other scope
            };
            let operands = barrier_operands(self.edit, execution, fence)?;
            self.edit
                .replace(site.offset, Op::ControlBarrier, &operands)?;
        }
        Ok(())
    }

    fn fence(&self, site: &Site) -> Result<Fence, Diagnostic> {
        let Some(inst) = self.edit.module().at(site.offset) else {
            return Err(Diagnostic::bug("a barrier is not where it was found").at_word(site.offset));
        };
        known_fence(self.edit.declarations, inst)
    }

    /// Returns true if an arrive and a wait (in either order) belong together.
    fn is_partner(&self, one: &Site, other: &Site) -> bool {
        self.pairing.reaching_arrives(one.id).contains(&other.id) && one.kind == SiteKind::Wait
            || self.pairing.reaching_arrives(other.id).contains(&one.id)
                && other.kind == SiteKind::Wait
    }

    /// Takes a barrier away, or leaves its fence.
    fn vanish(&mut self, site: &Site, fence: Fence, keep_fence: bool) -> Result<(), Diagnostic> {
        if keep_fence {
            let operands = [
                self.edit.number(fence.scope)?,
                self.edit.number(fence.bits)?,
            ];
            self.edit.replace(site.offset, Op::MemoryBarrier, &operands)
        } else {
            self.edit.remove(site.offset);
            Ok(())
        }
    }

    /// Returns true if something in the window can meet the fence of a side: an atomic, a call, or
    /// a control barrier.
    fn is_window_seen(&self, pair: &Pair) -> bool {
        let module = self.edit.module();
        pair.window
            .iter()
            .any(|offset| module.at(*offset).is_none_or(meets_fences))
            || self.pairing.sites.iter().any(|site| {
                site.kind != SiteKind::MemoryBarrier
                    && !(site.execution == Some(pair.scope)
                        && matches!(site.kind, SiteKind::Arrive | SiteKind::Wait))
                    && self.pairing.open_before(pair.scope, site.offset) != Open::Never
            })
    }
}

fn sites<'p>(pairing: &'p Pairing, ids: &[SiteId]) -> Vec<&'p Site> {
    ids.iter().filter_map(|id| pairing.site(*id)).collect()
}

/// Returns true if a fence can synchronise through `inst`: atomics do, and a callee, or an
/// instruction that no row describes, may. No extended instruction is atomic.
fn meets_fences(inst: Inst<'_>) -> bool {
    let facts = inst.facts();
    let is_open = !facts.is_described() && facts.class != Class::Extended;
    facts.is_atomic() || facts.calls.any() || is_open
}

fn incomparable(site: &Site) -> Diagnostic {
    Diagnostic::error(
        Code::UnsupportedInstruction,
        "arrive and wait cannot become one barrier",
    )
    .at_word(site.offset)
    .because(
        "one has the memory scope ShaderCallKHR and the other does not, and neither scope contains the other",
    )
    .help("use one memory scope for both")
}
