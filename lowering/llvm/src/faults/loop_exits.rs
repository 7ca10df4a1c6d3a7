//! Latches values that leave a loop in which lanes leave at different times. What is the same for
//! all lanes in an iteration is in a scalar register, and a lane has to keep the value of its own
//! last iteration. LLVM copies it to a vector register inside of the loop, but later reads the
//! scalar register after the loop instead of the copy (SIFoldOperands).

use super::hide::{Register, hide as opaque};
use super::shape::Shape;
use crate::ffi::{Func, Opcode, RawBuilder, Value};

/// Puts a statement after each such value, inside of the loop.
pub(super) fn hide<'c>(builder: &RawBuilder<'c>, function: Func<'c>, shape: &Shape<'c>) {
    let Some(loops) = &shape.loops else {
        return;
    };
    // Inner loops first: a value latched there is so for the loops around.
    let mut loops: Vec<_> = loops.iter().filter(|one| shape.leaves_apart(one)).collect();
    loops.sort_by_key(|one| one.body.len());
    let entry = function.blocks();
    for one in loops {
        for block in shape.blocks_of(one) {
            for value in block.instructions() {
                // The masks of lanes are LLVM's own matter.
                if value.ty().is_void() || value.ty().scalar_bits() == 1 || is_latched(value) {
                    continue;
                }
                let outside: Vec<Value<'c>> = value.users();
                let outside: Vec<Value<'c>> = outside
                    .into_iter()
                    .filter(|user| !shape.is_in(user.block(), one))
                    .collect();
                if outside.is_empty() || entry.is_empty() {
                    continue;
                }
                let Some(next) = after(value) else { continue };
                builder.position_before(next);
                let Some(latched) = opaque(builder, value, Register::VectorHere) else {
                    continue;
                };
                for user in outside {
                    user.replace_operand(value, latched);
                }
            }
        }
    }
}

/// Returns true if a statement gives the value.
fn is_latched(value: Value<'_>) -> bool {
    value.opcode() == Some(Opcode::LLVMCall) && value.callee().is_none()
}

/// The first instruction after `value` that is not a phi.
fn after<'c>(value: Value<'c>) -> Option<Value<'c>> {
    let all = value.block().instructions();
    let at = all.iter().position(|one| *one == value)?;
    let mut rest = all.into_iter().skip(at + 1);
    rest.find(|one| !one.is_phi())
}
