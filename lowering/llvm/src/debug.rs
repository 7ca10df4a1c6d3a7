//! Debug lines: the line of an LLVM instruction is the word offset of its SPIR-V instruction plus one, so that `.loc` directives in the assembly say which
//! machine instruction came from which SPIR-V instruction.

use crate::ffi::{Func, Meta, meta_from_raw};
use inkwell::context::ContextRef;
use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFile, DIFlagsConstants, DISubroutineType, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};

/// The debug information of a module.
pub(crate) struct Lines<'c> {
    builder: DebugInfoBuilder<'c>,
    unit: DICompileUnit<'c>,
    file: DIFile<'c>,
    signature: DISubroutineType<'c>,
}

impl<'c> Lines<'c> {
    /// A compile unit in `module` that holds line tables only.
    pub(crate) fn new(module: &Module<'c>) -> Self {
        let context: ContextRef<'c> = module.get_context();
        let word = context.i32_type();
        module.add_basic_value_flag(
            "Debug Info Version",
            FlagBehavior::Warning,
            word.const_int(3, false),
        );
        module.add_basic_value_flag(
            "Dwarf Version",
            FlagBehavior::Warning,
            word.const_int(4, false),
        );
        let (builder, unit) = module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::C,
            "module.spv",
            ".",
            "splitbar",
            true,
            "",
            0,
            "",
            DWARFEmissionKind::LineTablesOnly,
            0,
            false,
            false,
            "",
            "",
        );
        let file = unit.get_file();
        let signature =
            builder.create_subroutine_type(file, None, &[], inkwell::debug_info::DIFlags::ZERO);
        Lines {
            builder,
            unit,
            file,
            signature,
        }
    }

    /// The subprogram of `function`, attached to it.
    pub(crate) fn subprogram(&self, function: Func<'c>, name: &str, line: u32) -> Meta<'c> {
        let subprogram = self.builder.create_function(
            self.unit.as_debug_info_scope(),
            name,
            None,
            self.file,
            line,
            self.signature,
            true,
            true,
            line,
            inkwell::debug_info::DIFlags::ZERO,
            true,
        );
        let meta = meta_from_raw(subprogram.as_mut_ptr());
        function.set_subprogram(meta);
        meta
    }

    /// Resolves what is open. Called once, when all functions are written.
    pub(crate) fn finish(&self) {
        self.builder.finalize();
    }
}
