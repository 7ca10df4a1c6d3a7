//! The mathematical library: functions that neither vendor's LLVM back end can select, as LLVM
//! bitcode (`math/math.bc`; its README says where it comes from and how precise it is). A call
//! declares the function; [`link`] brings in the bodies of what was declared.

use super::Result;
use super::build::Build;
use crate::ffi::{Ty, Value};
use inkwell::attributes::AttributeLoc;
use inkwell::builder::BuilderError;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::values::{CallSiteValue, FunctionValue, InstructionOpcode, PointerValue};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_plan::Target;
use splitbar_plan::target::Arch;

/// The functions, compiled: `sb_NAME_f32` and `sb_NAME_f64`.
static BITCODE: &[u8] = include_bytes!("../../math/math.bc");

/// What every function of the library is called by.
const PREFIX: &str = "sb_";

/// Calls a function of the library.
pub(crate) fn call<'c>(
    b: &Build<'c>,
    name: &str,
    result: Ty<'c>,
    args: &[Value<'c>],
) -> Result<Value<'c>> {
    let params: Vec<Ty<'c>> = args.iter().map(|a| a.ty()).collect();
    b.declared_call(name, result.function(&params), args)
}

/// Brings in the bodies of the library functions that `module` declares, compiled with the target
/// `features` of their callers, and drops the others. To be called once, after all functions are
/// written.
///
/// # Errors
/// `LlvmFailed` when LLVM does not take the library.
pub(crate) fn link(module: &Module<'_>, target: &Target, features: Option<&str>) -> Result<()> {
    let declared = |m: &Module<'_>| {
        m.get_functions().any(|f| {
            f.count_basic_blocks() == 0 && f.get_name().to_bytes().starts_with(PREFIX.as_bytes())
        })
    };
    if !declared(module) {
        return Ok(());
    }
    let failed = |why: String| {
        Box::new(
            Diagnostic::error(
                Code::LlvmFailed,
                "the mathematical library could not be linked",
            )
            .because(why),
        )
    };
    let buffer = MemoryBuffer::create_from_memory_range_copy(BITCODE, "math");
    let library = Module::parse_bitcode_from_buffer(&buffer, module.get_context())
        .map_err(|error| failed(error.to_string()))?;
    for function in library.get_functions() {
        let wanted = function.count_basic_blocks() == 0
            || module
                .get_function(&function.get_name().to_string_lossy())
                .is_some();
        if !wanted {
            // Nothing calls it: the library's functions do not call each other. Internal functions
            // without callers go with the first clean-up pass; so do the tables that only they
            // read.
            function.set_linkage(Linkage::Internal);
        }
    }
    library.set_triple(&module.get_triple());
    library.set_data_layout(&module.get_data_layout());
    module
        .link_in_module(library)
        .map_err(|error| failed(error.to_string()))?;
    for function in module.get_functions() {
        if function.count_basic_blocks() != 0
            && function
                .get_name()
                .to_bytes()
                .starts_with(PREFIX.as_bytes())
        {
            function.set_linkage(Linkage::Internal);
            if let Some(features) = features {
                let features = module
                    .get_context()
                    .create_string_attribute("target-features", features);
                function.add_attribute(AttributeLoc::Function, features);
            }
            if matches!(target.arch, Arch::Nvptx(_)) {
                stack_as_generic(module, function).map_err(|e| failed(e.to_string()))?;
            }
        }
    }
    Ok(())
}

/// Gives stack slots generic addresses and casts them to where the code expects them. LLVM 23 takes
/// the generic address of a slot of NVPTX for its local one when the slot is in the local address
/// space from the start.
fn stack_as_generic(
    module: &Module<'_>,
    function: FunctionValue<'_>,
) -> std::result::Result<(), BuilderError> {
    let builder = module.get_context().create_builder();
    for block in function.get_basic_blocks() {
        let (slots, others): (Vec<_>, Vec<_>) = block
            .get_instructions()
            .partition(|i| i.get_opcode() == InstructionOpcode::Alloca);
        // A lifetime is that of a slot, not of a cast of its address.
        for call in others {
            let called = CallSiteValue::try_from(call)
                .ok()
                .and_then(|call| call.get_called_fn_value());
            if called.is_some_and(|f| f.get_name().to_bytes().starts_with(b"llvm.lifetime.")) {
                call.erase_from_basic_block();
            }
        }
        for slot in slots {
            let (Ok(ty), Ok(old)) = (slot.get_allocated_type(), PointerValue::try_from(slot))
            else {
                continue;
            };
            builder.position_before(&slot);
            let new = builder.build_alloca(ty, "slot")?;
            if let (Some(to), Ok(align)) = (new.as_instruction(), slot.get_alignment()) {
                // Every alignment of an alloca is one that an alloca can have.
                let _ = to.set_alignment(align);
            }
            let local = builder.build_address_space_cast(new, old.get_type(), "local")?;
            old.replace_all_uses_with(local);
            slot.erase_from_basic_block();
        }
    }
    Ok(())
}
