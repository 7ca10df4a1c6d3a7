//! Values that LLVM combines with others into something else: ids under masks, constants of
//! comparisons, differences of zero, products, minima.

use super::hide::{Register, hide};
use crate::ffi::{self, Func, Opcode, RawBuilder, RealPredicate, Value};
use inkwell::context::Context;
use inkwell::module::Module;

/// Hides ids under masks in all functions of `module`, before a pass that asks what is uniform.
pub(crate) fn hide_masked_ids(context: &Context, module: &Module<'_>) {
    let builder = RawBuilder::new(context);
    for function in ffi::functions(ffi::module_ref(module)) {
        hide_ids(&builder, function);
    }
}

/// Hides invocation ids in `id & mask` where the mask is no constant. LLVM takes such a value for
/// uniform where the mask has no bit below the size of a wave, though the mask may differ.
pub(super) fn hide_ids<'c>(builder: &RawBuilder<'c>, function: Func<'c>) {
    for masked in function.instructions() {
        if masked.opcode() != Some(Opcode::LLVMAnd) {
            continue;
        }
        let [a, b] = masked.operands()[..] else {
            continue;
        };
        let is_id = |value: Value<'c>| {
            let callee = value.callee().map(Func::name);
            callee.is_some_and(|name| name.starts_with("llvm.amdgcn.workitem.id"))
        };
        for (id, mask) in [(a, b), (b, a)] {
            if is_id(id) && !mask.is_constant() {
                replace(builder, masked, id, Register::Vector);
            }
        }
    }
}

/// Hides the constant K in selects between K and something else by a comparison with K that is
/// true, or false, for NaN: LLVM gives the compared value instead, which may be NaN.
pub(super) fn hide_selected<'c>(builder: &RawBuilder<'c>, function: Func<'c>) {
    for select in function.instructions() {
        if select.opcode() != Some(Opcode::LLVMSelect) {
            continue;
        }
        let [mut condition, yes, no] = select.operands()[..] else {
            continue;
        };
        while let (Some(Opcode::LLVMXor | Opcode::LLVMFreeze), Some(inner)) =
            (condition.opcode(), condition.operands().first().copied())
        {
            condition = inner;
        }
        let compares = matches!(
            condition.real_predicate(),
            Some(RealPredicate::LLVMRealONE | RealPredicate::LLVMRealUEQ)
        );
        if !compares {
            continue;
        }
        let compared = condition.operands();
        for arm in [yes, no] {
            let is_compared = compared.iter().any(|value| shares(*value, arm));
            if arm.is_constant() && is_compared {
                replace(builder, select, arm, Register::Vector);
            }
        }
    }
}

/// Returns true if two constants are the same or, if they are vectors, may be so in a part.
fn shares(a: Value<'_>, b: Value<'_>) -> bool {
    a.is_constant() && (a == b || a.ty() == b.ty() && a.ty().is_vector())
}

/// Hides `0 - x` where zeros have signs: LLVM takes it for `-x` as an operand of other
/// instructions.
pub(super) fn hide_differences<'c>(builder: &RawBuilder<'c>, function: Func<'c>) {
    for difference in function.instructions() {
        let from_zero = difference.opcode() == Some(Opcode::LLVMFSub)
            && !difference.has_unsigned_zeros()
            && difference.operands().first().is_some_and(has_zero);
        if from_zero {
            hide_result(builder, difference);
        }
    }
}

/// Returns true for +0 and for constant vectors, which may have it.
fn has_zero(value: &Value<'_>) -> bool {
    value.is_constant() && (*value == value.ty().zero() || value.ty().is_vector())
}

/// Hides products of integers that are added to something.
pub(super) fn hide_products<'c>(builder: &RawBuilder<'c>, function: Func<'c>) {
    for product in function.instructions() {
        if product.opcode() != Some(Opcode::LLVMMul) || product.ty().scalar_bits() > 32 {
            continue;
        }
        hide_result(builder, product);
    }
}

/// Hides minima and maxima of vectors of 16-bit integers, and what becomes one: absolute values,
/// and selects by comparisons.
pub(super) fn hide_packed_extremes<'c>(builder: &RawBuilder<'c>, function: Func<'c>) {
    const NAMES: [&str; 5] = ["smin", "smax", "umin", "umax", "abs"];
    for extreme in function.instructions() {
        if !extreme.ty().is_vector() || extreme.ty().scalar_bits() != 16 {
            continue;
        }
        let callee = extreme.callee().map(Func::name);
        let is_called = callee
            .as_deref()
            .and_then(|name| name.strip_prefix("llvm.")?.split_once('.'))
            .is_some_and(|(name, _)| NAMES.contains(&name));
        if is_called || extreme.opcode() == Some(Opcode::LLVMSelect) {
            hide_result(builder, extreme);
        }
    }
}

/// Puts a statement between `user` and its operand `value`.
fn replace<'c>(builder: &RawBuilder<'c>, user: Value<'c>, value: Value<'c>, register: Register) {
    builder.position_before(user);
    if let Some(hidden) = hide(builder, value, register) {
        user.replace_operand(value, hidden);
    }
}

/// Puts a statement between `value` and all that uses it.
fn hide_result<'c>(builder: &RawBuilder<'c>, value: Value<'c>) {
    let users = value.users();
    let all = value.block().instructions();
    let at = all.iter().position(|one| *one == value);
    let Some(next) = at.and_then(|at| all.get(at + 1)) else {
        return;
    };
    builder.position_before(*next);
    if let Some(hidden) = hide(builder, value, Register::Vector) {
        for user in users {
            user.replace_operand(value, hidden);
        }
    }
}
