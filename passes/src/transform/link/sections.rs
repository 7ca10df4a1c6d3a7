//! The sections of a module, in their order (SPIR-V 1.6, section 2.4).

use spirv::Op;

/// Sections, what stands between functions left out.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Section {
    Capabilities,
    Extensions,
    Imports,
    MemoryModel,
    EntryPoints,
    Modes,
    Strings,
    Names,
    Processed,
    Annotations,
    Globals,
    /// Functions without a body.
    Declared,
    /// Functions with one.
    Defined,
}

/// How many sections there are.
pub(super) const SECTIONS: usize = Section::Defined as usize + 1;

/// The section of a module-scope instruction; `None`: of one that the `spirv` crate has no name
/// for.
pub(super) fn section(op: Option<Op>) -> Section {
    match op {
        Some(Op::Capability) => Section::Capabilities,
        Some(Op::Extension) => Section::Extensions,
        Some(Op::ExtInstImport) => Section::Imports,
        Some(Op::MemoryModel) => Section::MemoryModel,
        Some(Op::EntryPoint) => Section::EntryPoints,
        Some(Op::ExecutionMode | Op::ExecutionModeId) => Section::Modes,
        Some(Op::String | Op::Source | Op::SourceExtension | Op::SourceContinued) => {
            Section::Strings
        }
        Some(Op::Name | Op::MemberName) => Section::Names,
        Some(Op::ModuleProcessed) => Section::Processed,
        Some(op) if op.is_annotation() => Section::Annotations,
        _ => Section::Globals,
    }
}
