//! The mathematical library: functions that neither vendor's LLVM back end can select, as LLVM bitcode (`math/math.bc`; its README says where it comes
//! from and how precise it is). A call declares the function; [`link`] brings in the bodies of what was declared.

use super::Result;
use super::build::Build;
use crate::ffi::{Ty, Value};
use inkwell::attributes::AttributeLoc;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use splitbar_passes::diagnostic::{Code, Diagnostic};

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

/// Brings in the bodies of the library functions that `module` declares, compiled with the target `features` of their callers, and drops the others. To be called once,
/// after all functions are written.
///
/// # Errors
/// `LlvmFailed` when LLVM does not take the library.
pub(crate) fn link(module: &Module<'_>, features: Option<&str>) -> Result<()> {
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
            // Nothing calls it: the library's functions do not call each other.
            // Internal functions without callers go with the first clean-up pass; so do the tables that only they read.
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
        }
    }
    Ok(())
}
