//! A slot for the result of a stage that later stages borrow.
//!
//! A stage's value borrows from what the stages before it made: declarations borrow the module, the
//! program borrows the declarations. Each such thing stands in a slot of its own, which one stage
//! fills and later ones read.

use std::cell::OnceCell;

/// Puts `value` into an empty slot.
pub(super) fn fill<T>(slot: &OnceCell<T>, value: T) -> &T {
    debug_assert!(slot.get().is_none(), "a stage runs once over its slots");
    slot.get_or_init(|| value)
}
