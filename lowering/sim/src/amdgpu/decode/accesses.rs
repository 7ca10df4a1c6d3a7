//! Decodes an access to memory or an image from its name and its cache bits: its data, its caches,
//! its order, its counters.

use super::super::counters::{class, counter};
use super::super::inst::{Action, Memories, Memory};
use super::super::isa::Isa;
use super::super::operand::{Kind, Operand};
use super::super::table::memory::{ATOMICS, Update};
use super::super::text::Parts;
use crate::cache::{FAR, Levels, NEAR, OWN};
use crate::clock::{Order, Scope};
use crate::context::Access;
use crate::queue::Counters;

pub(super) fn atomic(name: &str) -> Option<(u8, Update)> {
    ATOMICS
        .iter()
        .find(|(n, ..)| *n == name)
        .map(|(_, bytes, update)| (*bytes, *update))
}

/// Caches that the cache bits of a load let it pass by.
pub(super) fn passes_by(parts: &Parts<'_>) -> Levels {
    let modifiers = &parts.modifiers;
    if device(parts) {
        OWN | NEAR | FAR
    } else if modifiers.has("sc0") || modifiers.get("scope") == Some("SCOPE_SE") {
        OWN | NEAR
    } else {
        0
    }
}

/// Returns true if the cache bits ask for more than the workgroup.
fn device(parts: &Parts<'_>) -> bool {
    let modifiers = &parts.modifiers;
    modifiers.has("sc1")
        || modifiers
            .get("scope")
            .is_some_and(|s| s == "SCOPE_DEV" || s == "SCOPE_SYS")
        || modifiers.has("glc") && !modifiers.has("sc0")
}

/// How the instruction relates to the accesses of others, as far as its name and its cache bits
/// tell.
pub(super) fn access(parts: &Parts<'_>, action: Action, memories: Memories) -> Access {
    match (action, memories) {
        // Machine code orders an atomic by the waits and cache operations around it; it is taken as
        // both.
        (Action::Atomic { .. }, Memories::Shared) => {
            Access::atomic(Order::AcquireRelease, Scope::Workgroup)
        }
        (Action::Atomic { .. }, _) => Access::atomic(Order::AcquireRelease, Scope::Device),
        (Action::Load | Action::ToShared, _) => Access::UNKNOWN,
        (Action::Store, _) if device(parts) => Access::atomic(Order::Release, Scope::Device),
        _ => Access::PLAIN,
    }
}

/// The data of an atomic: of a compare-and-swap, the new value and behind it the one to compare
/// with.
pub(super) fn pair(data: Operand, bytes: u8, name: &str) -> [Option<Operand>; 2] {
    let registers = u16::from(bytes / 4);
    match data.kind {
        Kind::Vgpr(first) if name.contains("cmpswap") => [
            Some(Operand::new(Kind::Vgpr(first), registers)),
            Some(Operand::new(Kind::Vgpr(first + registers), registers)),
        ],
        _ => [Some(data), None],
    }
}

/// In which counters it counts, and in which order with the others.
pub(super) fn counted(memory: &Memory, name: &str, isa: Isa) -> (Counters, u8) {
    let writes = match memory.action {
        Action::Load
        | Action::ToShared
        | Action::Pull
        | Action::Push
        | Action::Swizzle
        | Action::Size
        | Action::Time
        | Action::Hint => false,
        Action::Store | Action::FromShared => true,
        Action::Atomic { returns, .. } => !returns,
    };
    let vector = if writes && isa.vscnt {
        (counter::STORE, class::STORES)
    } else {
        (counter::LOAD, class::LOADS)
    };
    match memory.memories {
        Memories::Shared => (counter::LDS, class::LDS),
        Memories::Scalar | Memories::ScalarBuffer if isa.kmcnt => (counter::SCALAR, class::SCALAR),
        Memories::Scalar | Memories::ScalarBuffer => (counter::LDS, class::SCALAR),
        Memories::Flat if isa.flat_in_order => (vector.0 | counter::LDS, vector.1),
        Memories::Flat => (vector.0 | counter::LDS, class::FLAT),
        Memories::Global if name.contains("async") => (counter::ASYNC, class::ASYNC),
        Memories::Image if memory.components.is_some_and(|one| one.sampled.is_some()) => {
            let counter = if isa.kmcnt {
                counter::SAMPLE
            } else {
                counter::LOAD
            };
            (counter, class::SAMPLES)
        }
        Memories::Global | Memories::Private | Memories::Buffer | Memories::Image => vector,
    }
}
