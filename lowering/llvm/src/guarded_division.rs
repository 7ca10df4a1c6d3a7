//! Turns divisions by `max(d, 1)` into divisions by d, after the optimiser.
//!
//! The emitter guards every divisor that may be 0, because the optimiser deletes what leads to a
//! division by 0. Code generators only make instructions of it, which give some number for 0, as
//! drivers do, and recognise `x - x / d * d` where the divisor is d in both places.

use crate::ffi::{self, Opcode, Value};
use inkwell::module::Module;

/// Takes the guards away. To be called when the optimiser has run.
pub(crate) fn release(module: &Module<'_>) {
    for function in ffi::functions(ffi::module_ref(module)) {
        for division in function.instructions() {
            if let Some(Opcode::LLVMUDiv | Opcode::LLVMURem) = division.opcode()
                && let Some(guard) = division.operands().get(1).copied()
                && let Some(divisor) = guarded(guard)
            {
                division.replace_operand(guard, divisor);
            }
        }
    }
}

/// The operand d of `llvm.umax(d, 1)`, if it is not a constant.
fn guarded(guard: Value<'_>) -> Option<Value<'_>> {
    let name = guard.callee()?.name();
    match guard.arguments()[..] {
        [divisor, least]
            if name.starts_with("llvm.umax.i")
                && least.as_u64() == Some(1)
                && !divisor.is_constant() =>
        {
            Some(divisor)
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::release;
    use crate::codegen;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn divisors_lose_their_guards() {
        let text = "declare i32 @llvm.umax.i32(i32, i32)
define void @f(ptr %p, i32 %x, i32 %d) {
  %one = call i32 @llvm.umax.i32(i32 %d, i32 1)
  %two = call i32 @llvm.umax.i32(i32 %d, i32 2)
  %a = udiv i32 %x, %one
  %b = urem i32 %a, %two
  %c = sdiv i32 %b, %one
  store i32 %c, ptr %p
  ret void
}
";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m");
        let module = context.create_module_from_ir(buffer).unwrap();
        release(&module);
        codegen::verify(&module, "released").unwrap();
        let text = module.print_to_string().to_string();
        assert!(text.contains("udiv i32 %x, %d"), "{text}");
        assert!(text.contains("urem i32 %a, %two"), "{text}");
        // The number that signed division gives for 0 would be the machine's as well, but nothing
        // is won: LLVM has more guards there.
        assert!(text.contains("sdiv i32 %b, %one"), "{text}");
    }
}
