//! Divisions of vectors under a mask, as divisions by what is never zero. LLVM 23.1's loop
//! vectoriser writes `llvm.masked.udiv` and its like on every target; AMDGPU's and NVPTX's code
//! generators cannot split them and abort (docs/llvm.md). A lane that the mask leaves out has any
//! value, so it is divided by 1 here.

use crate::codegen::{self, llvm_failed};
use inkwell::builder::{Builder, BuilderError};
use inkwell::module::Module;
use inkwell::values::{CallSiteValue, InstructionValue, Operand, VectorValue};
use splitbar_passes::diagnostic::Diagnostics;

/// Which division.
#[derive(Copy, Clone)]
enum Division {
    UnsignedQuotient,
    SignedQuotient,
    UnsignedRemainder,
    SignedRemainder,
}

/// The beginnings of the intrinsics' names; the type follows.
const INTRINSICS: [(&str, Division); 4] = [
    ("llvm.masked.udiv.", Division::UnsignedQuotient),
    ("llvm.masked.sdiv.", Division::SignedQuotient),
    ("llvm.masked.urem.", Division::UnsignedRemainder),
    ("llvm.masked.srem.", Division::SignedRemainder),
];

/// Puts a plain division in the place of each masked one. To be called when the optimiser has run.
///
/// # Errors
/// `LlvmFailed` when LLVM cannot build it.
pub(crate) fn expand(module: &Module<'_>) -> Result<(), Diagnostics> {
    let found: Vec<_> = codegen::instructions(module)
        .filter_map(|instruction| {
            let (division, result) = division(instruction)?;
            Some((instruction, division, result))
        })
        .collect();
    let builder = module.get_context().create_builder();
    for (masked, division, result) in found {
        builder.position_before(&masked);
        let plain = plain(&builder, masked, division).map_err(|problem| {
            llvm_failed("a masked division cannot be expanded", &problem.to_string())
        })?;
        result.replace_all_uses_with(plain);
        masked.erase_from_basic_block();
    }
    Ok(())
}

/// Which division a call is, and its result.
fn division(instruction: InstructionValue<'_>) -> Option<(Division, VectorValue<'_>)> {
    let call = CallSiteValue::try_from(instruction).ok()?;
    let called = call.get_called_fn_value()?;
    let name = called.get_name().to_bytes();
    let mut known = INTRINSICS.iter();
    let (_, division) = known.find(|(start, _)| name.starts_with(start.as_bytes()))?;
    let result = call.try_as_basic_value().basic()?;
    result
        .is_vector_value()
        .then(|| (*division, result.into_vector_value()))
}

fn plain<'c>(
    b: &Builder<'c>,
    masked: InstructionValue<'c>,
    division: Division,
) -> Result<VectorValue<'c>, BuilderError> {
    let operand = |index| {
        let value = masked.get_operand(index).and_then(Operand::value);
        let vector = value.filter(|value| value.is_vector_value());
        vector.ok_or(BuilderError::PointeeTypeMismatch)
    };
    let dividend = operand(0)?.into_vector_value();
    let divisor = operand(1)?.into_vector_value();
    let mask = operand(2)?.into_vector_value();
    let element = divisor.get_type().get_element_type().into_int_type();
    let ones = vec![element.const_int(1, false); divisor.get_type().get_size() as usize];
    let ones = inkwell::types::VectorType::const_vector(&ones);
    let divisor = b.build_select(mask, divisor, ones, "")?.into_vector_value();
    match division {
        Division::UnsignedQuotient => b.build_int_unsigned_div(dividend, divisor, ""),
        Division::SignedQuotient => b.build_int_signed_div(dividend, divisor, ""),
        Division::UnsignedRemainder => b.build_int_unsigned_rem(dividend, divisor, ""),
        Division::SignedRemainder => b.build_int_signed_rem(dividend, divisor, ""),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::expand;
    use crate::Optimization;
    use crate::codegen;
    use crate::ffi::{Lost, on_thread};
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use inkwell::targets::FileType;
    use splitbar_plan::Target;

    /// A function for each intrinsic. AMD's code generator aborts on all of them, NVIDIA's on those
    /// of small numbers.
    fn module(kind: &str, ty: &str) -> String {
        let (name, mask) = match ty {
            "<4 x i32>" => ("v4i32", "<4 x i1>"),
            "<3 x i64>" => ("v3i64", "<3 x i1>"),
            _ => ("v2i16", "<2 x i1>"),
        };
        format!(
            "declare {ty} @llvm.masked.{kind}.{name}({ty}, {ty}, {mask})
define void @f(ptr addrspace(1) %p, {ty} %x, {ty} %y, {mask} %m) {{
  %q = call {ty} @llvm.masked.{kind}.{name}({ty} %x, {ty} %y, {mask} %m)
  store {ty} %q, ptr addrspace(1) %p
  ret void
}}
"
        )
    }

    #[test]
    fn every_kind_becomes_a_division() {
        for target in ["gfx942", "gfx1201", "sm_90"] {
            let target = Target::by_name(target).unwrap();
            let machine = codegen::machine(target, Optimization::O2).unwrap();
            for kind in ["udiv", "sdiv", "urem", "srem"] {
                for ty in ["<4 x i32>", "<3 x i64>", "<2 x i16>"] {
                    let context = Context::create();
                    let text = module(kind, ty);
                    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m");
                    let module = context.create_module_from_ir(buffer).unwrap();
                    codegen::adopt(&module, &machine);
                    expand(&module).unwrap();
                    codegen::verify(&module, "expanded").unwrap();
                    let ir = module.print_to_string().to_string();
                    assert!(ir.contains(&format!("= {kind} {ty} %x, ")), "{ir}");
                    assert!(!ir.contains("= call"), "{ir}");
                    machine
                        .write_to_memory_buffer(&module, FileType::Assembly)
                        .unwrap();
                }
            }
        }
    }

    /// The guard can go when this fails.
    #[test]
    fn code_generators_still_give_up() {
        for target in ["gfx942", "gfx1201", "sm_90"] {
            let target = Target::by_name(target).unwrap();
            let given_up = on_thread(1 << 23, || {
                let machine = codegen::machine(target, Optimization::O2).unwrap();
                let context = Context::create();
                let text = module("udiv", "<2 x i16>");
                let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m");
                let module = context.create_module_from_ir(buffer).unwrap();
                codegen::adopt(&module, &machine);
                machine
                    .write_to_memory_buffer(&module, FileType::Assembly)
                    .is_ok()
            });
            let is_there = matches!(given_up, Err(Lost::GaveUp(_)));
            assert!(is_there, "{}: {given_up:?}", target.name);
        }
    }
}
