//! An opcode and its modifiers. A modifier is taken when it is understood; what is left at the end
//! makes the instruction an unknown one.

use crate::clock::{Order, Scope};
use crate::context::Access;
use crate::ptx::operand::Where;
use crate::ptx::types::Type;

/// `root.modifier.modifier`
#[derive(Clone, Debug)]
pub(super) struct Opcode<'t> {
    /// The first part.
    pub root: &'t str,
    modifiers: Vec<&'t str>,
}

impl<'t> Opcode<'t> {
    /// Splits an opcode.
    pub(super) fn new(text: &'t str) -> Opcode<'t> {
        let mut parts = text.split('.');
        Opcode {
            root: parts.next().unwrap_or(""),
            modifiers: parts.collect(),
        }
    }

    /// Takes a modifier, if it is there.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let at = self.modifiers.iter().position(|m| *m == name);
        if let Some(at) = at {
            self.modifiers.remove(at);
        }
        at.is_some()
    }

    /// Takes the first modifier that a table names.
    pub(super) fn one_of<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let (at, value) = self.modifiers.iter().enumerate().find_map(|(at, m)| {
            table
                .iter()
                .find(|(name, _)| name == m)
                .map(|(_, value)| (at, *value))
        })?;
        self.modifiers.remove(at);
        Some(value)
    }

    /// Takes the first type.
    pub(super) fn kind(&mut self) -> Option<Type> {
        let (at, kind) = self
            .modifiers
            .iter()
            .enumerate()
            .find_map(|(at, m)| Type::named(m).map(|kind| (at, kind)))?;
        self.modifiers.remove(at);
        Some(kind)
    }

    /// Takes the vector modifier: 1 if there is none.
    pub(super) fn vector(&mut self) -> u32 {
        self.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
    }

    /// Takes the state space.
    pub(super) fn space(&mut self) -> Where {
        self.one_of(&[
            ("global", Where::Global),
            ("const", Where::Global),
            ("shared", Where::Shared),
            ("shared::cta", Where::Shared),
            // A cluster of one workgroup has one shared memory.
            ("shared::cluster", Where::Shared),
            ("local", Where::Local),
            ("param", Where::Param),
            ("param::entry", Where::Param),
            ("param::func", Where::Param),
        ])
        .unwrap_or(Where::Generic)
    }

    /// Takes order and scope of an access that is atomic.
    pub(super) fn atomic_access(&mut self) -> Access {
        let order = self.order().unwrap_or(Order::Relaxed);
        Access::atomic(order, self.scope().unwrap_or(Scope::Device))
    }

    /// Takes a memory order.
    pub(super) fn order(&mut self) -> Option<Order> {
        self.one_of(&[
            ("relaxed", Order::Relaxed),
            ("acquire", Order::Acquire),
            ("release", Order::Release),
            ("acq_rel", Order::AcquireRelease),
            ("sc", Order::AcquireRelease),
        ])
    }

    /// Takes a scope. A cluster is one workgroup here.
    pub(super) fn scope(&mut self) -> Option<Scope> {
        self.one_of(&[
            ("cta", Scope::Workgroup),
            ("cluster", Scope::Workgroup),
            ("gpu", Scope::Device),
            ("gl", Scope::Device),
            ("sys", Scope::Device),
        ])
    }

    /// Takes what only concerns caches.
    pub(super) fn skip_cache_hints(&mut self) {
        self.modifiers.retain(|m| {
            !matches!(*m, "nc" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt")
                && !m.starts_with("L1::")
                && !m.starts_with("L2::")
        });
    }

    /// Returns true if every modifier was taken.
    pub(super) fn is_empty(&self) -> bool {
        self.modifiers.is_empty()
    }
}
