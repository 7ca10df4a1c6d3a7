//! Debug lines: the line of an LLVM instruction is the word offset of its SPIR-V instruction plus
//! one, so that `.loc` directives in the assembly say which machine instruction came from which
//! SPIR-V instruction. The column of a load or a store says whether it is atomic ([`AccessMark`]),
//! which machine code does not.

use crate::codegen;
use crate::ffi::{self, AtomicOrdering, Func, Meta, meta_from_raw};
use inkwell::context::{Context, ContextRef};
use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFile, DIFlagsConstants, DISubroutineType, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};
use splitbar_passes::module::WordOffset;
use splitbar_passes::transform::SourceMap;
use splitbar_plan::AccessMark;

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

/// Declares the debug information of `module`, without which readers of bitcode drop it. To be
/// called last: LLVM has no way to take the declaration back, and what has no lines must not have
/// it.
pub(crate) fn declare_lines(module: &Module<'_>) {
    let context: ContextRef<'_> = module.get_context();
    let word = context.i32_type();
    for (name, version) in [("Debug Info Version", 3), ("Dwarf Version", 4)] {
        let version = word.const_int(version, false);
        module.add_basic_value_flag(name, FlagBehavior::Warning, version);
    }
}

/// A copy of `module` without debug lines.
pub(crate) fn without_lines<'c>(module: &Module<'c>) -> Module<'c> {
    let copy = module.clone();
    copy.strip_debug_info();
    copy
}

/// The debug line of what comes from the instruction at word `offset` of a module that `source_map`
/// leads to. 0, "no place", where it came from nowhere.
pub(crate) fn line_of(source_map: Option<&SourceMap>, offset: WordOffset) -> u32 {
    let word = source_map.map_or(Some(offset), |source_map| source_map.of(offset));
    word.map_or(0, |word| word.next().get())
}

/// Scopes that reach no further than the cluster of workgroups (LLVM AMDGPUUsage, "Memory Scopes";
/// NVPTX's `block`).
const NARROW: [&str; 9] = [
    "singlethread",
    "wavefront",
    "workgroup",
    "cluster",
    "singlethread-one-as",
    "wavefront-one-as",
    "workgroup-one-as",
    "cluster-one-as",
    "block",
];

/// Says of every instruction without a place that it has none, by line 0: in assembly it would have
/// that of the instruction before it. To be called when the optimiser has run.
pub(crate) fn place(context: &Context, module: &Module<'_>) {
    for function in module.get_functions() {
        let blocks = function.get_basic_block_iter();
        for instruction in blocks.flat_map(|block| block.get_instructions()) {
            ffi::place_nowhere(context, function, instruction);
        }
    }
}

/// Writes the mark of every load and store into its debug location. To be called when the optimiser
/// has run: it merges locations and makes accesses of its own.
pub(crate) fn mark_accesses(context: &Context, module: &Module<'_>) {
    let narrow = NARROW.map(|name| ffi::sync_scope(context, name));
    for instruction in codegen::instructions(module) {
        let Some(facts) = ffi::access_facts(instruction) else {
            continue;
        };
        let mark = match facts.ordering {
            _ if facts.is_volatile => AccessMark::Device,
            AtomicOrdering::LLVMAtomicOrderingNotAtomic => AccessMark::Plain,
            _ if narrow.contains(&facts.scope) => AccessMark::Workgroup,
            _ => AccessMark::Device,
        };
        ffi::set_column(context, instruction, mark.column());
    }
}
