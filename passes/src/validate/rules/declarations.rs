//! The declarations that split barriers need, and the entry points that may reach them.

use super::super::context::Kind;
use super::super::{Check, Context, Rule};
use crate::diagnostic::Code;
use crate::module::SplitBarrierExtension;

const CAPABILITY_NUMBER: u32 = spirv::Capability::SplitBarrierINTEL as u32;
const STRINGS: [&str; 2] = ["SPV_EXT_split_barrier", "SPV_INTEL_split_barrier"];

/// Extensions of the module that have split barriers.
fn declared(context: &Context<'_, '_>) -> Vec<&'static str> {
    STRINGS
        .into_iter()
        .filter(|name| {
            context
                .declarations
                .extensions
                .iter()
                .any(|extension| extension == name)
        })
        .collect()
}

/// The instructions 6142 and 6143 need the capability 6141.
pub(super) const CAPABILITY: Rule = Rule {
    code: Code::MissingSplitCapability,
    vuid: None,
    text: include_str!("explain/SB1001.md"),
    check: Check::Operation(|context, operation, to| {
        let declared = context
            .declarations
            .capabilities
            .iter()
            .any(|(number, _)| *number == CAPABILITY_NUMBER);
        if operation.is_split() && !declared {
            to.push(
                CAPABILITY
                    .error(
                        context,
                        operation.inst,
                        format!(
                            "{} needs the capability SplitBarrierEXT (6141)",
                            context.name(operation)
                        ),
                    )
                    .declare(Some("SplitBarrierEXT"), Some("SPV_EXT_split_barrier")),
            );
        }
    }),
};

/// The capability 6141 needs an extension.
pub(super) const EXTENSION: Rule = Rule {
    code: Code::MissingSplitExtension,
    vuid: None,
    text: include_str!("explain/SB1002.md"),
    check: Check::Module(|context, to| {
        if let Some((_, inst)) = context
            .declarations
            .capabilities
            .iter()
            .find(|(number, _)| *number == CAPABILITY_NUMBER)
            && declared(context).is_empty()
        {
            to.push(EXTENSION.error(context, *inst, "the capability SplitBarrierEXT (6141) needs the extension SPV_EXT_split_barrier or SPV_INTEL_split_barrier").declare(None, Some("SPV_EXT_split_barrier")));
        }
    }),
};

/// A module declares one of the two aliases.
pub(super) const BOTH_EXTENSIONS: Rule = Rule {
    code: Code::BothSplitExtensions,
    vuid: None,
    text: include_str!("explain/SB1003.md"),
    check: Check::Module(|context, to| {
        if let (true, Some(inst)) = (
            declared(context).len() > 1,
            extension(context, "SPV_INTEL_split_barrier"),
        ) {
            to.push(
                BOTH_EXTENSIONS
                    .warning(
                        context,
                        inst,
                        "the module declares both aliases of the split-barrier extension",
                    )
                    .help("keep SPV_EXT_split_barrier for Vulkan, or SPV_INTEL_split_barrier for OpenCL"),
            );
        }
    }),
};

/// The alias for Vulkan is EXT, for OpenCL INTEL.
pub(super) const FOREIGN_EXTENSION: Rule = Rule {
    code: Code::ForeignSplitExtension,
    vuid: None,
    text: include_str!("explain/SB1004.md"),
    check: Check::Module(|context, to| {
        let environment = context.settings.environment;
        let known = if environment.is_vulkan() {
            "SPV_EXT_split_barrier"
        } else {
            "SPV_INTEL_split_barrier"
        };
        if environment.is_vulkan() || environment.is_opencl() {
            let found = declared(context);
            if let [only] = found.as_slice()
                && *only != known
                && let Some(inst) = extension(context, only)
            {
                to.push(
                    FOREIGN_EXTENSION
                        .warning(
                            context,
                            inst,
                            format!("the name of the extension in {environment} is {known}"),
                        )
                        .help(format!(
                            "declare OpExtension \"{known}\" instead of \"{only}\""
                        )),
                );
            }
        }
    }),
};

fn extension<'c>(context: &Context<'c, '_>, name: &str) -> Option<crate::module::Inst<'c>> {
    let is = |inst: &crate::module::Inst<'_>| {
        inst.op() == Some(spirv::Op::Extension) && inst.string(0) == name
    };
    context
        .declarations
        .module
        .instructions()
        .take_while(|inst| inst.op() != Some(spirv::Op::Function))
        .find(is)
}

/// VUID 13552.
pub(super) const SPLIT_MODEL: Rule = Rule {
    code: Code::SplitExecutionModel,
    vuid: Some("VUID-StandaloneSpirv-SplitBarrierEXT-13552"),
    text: include_str!("explain/SB1005.md"),
    check: Check::Operation(|context, operation, to| {
        use spirv::ExecutionModel as M;
        if !operation.is_split() {
            return;
        }
        let kernels = !context.settings.environment.is_vulkan();
        let allowed = if kernels {
            "compute shader or kernel"
        } else {
            "compute shader"
        };
        for (model, entry) in context.models(operation.function) {
            if model != M::GLCompute as u32 && !(kernels && model == M::Kernel as u32) {
                let spelled = match context.declarations.split_barrier_extension() {
                    SplitBarrierExtension::Ext => "SplitBarrierEXT",
                    SplitBarrierExtension::Intel => "SplitBarrierINTEL",
                };
                to.push(SPLIT_MODEL.error(context, operation.inst, format!("{} is reached from the entry point {entry:?}, which is not a {allowed}", context.name(operation))).because(format!("only entry points of the execution model GLCompute{} can use {spelled}", if kernels { " or Kernel" } else { "" })).help(format!("use the split barrier only in a {allowed}, or use OpControlBarrier")));
            }
        }
    }),
};

/// Before SPIR-V 1.3, only a few execution models have OpControlBarrier.
pub(super) const CONTROL_MODEL: Rule = Rule {
    code: Code::ControlBarrierModel,
    vuid: None,
    text: include_str!("explain/SB1006.md"),
    check: Check::Operation(|context, operation, to| {
        use spirv::ExecutionModel as M;
        if operation.kind != Kind::ControlBarrier
            || context.declarations.module.header().version >= 0x0001_0300
        {
            return;
        }
        let have = [
            M::TessellationControl,
            M::GLCompute,
            M::Kernel,
            M::TaskNV,
            M::MeshNV,
        ]
        .map(|model| model as u32);
        for (_, entry) in context
            .models(operation.function)
            .filter(|(model, _)| !have.contains(model))
        {
            to.push(CONTROL_MODEL.error(context, operation.inst, format!("OpControlBarrier is reached from the entry point {entry:?}, whose execution model allows it only in SPIR-V 1.3 and later")).help("target SPIR-V 1.3 or later, or remove the barrier"));
        }
    }),
};
