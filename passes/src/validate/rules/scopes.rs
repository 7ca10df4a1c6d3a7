//! Rules for scopes: those of SPIR-V for every module, and those of Vulkan.

use super::super::context::{Kind, Operand, Operation};
use super::super::{Check, Context, Environment, Rule};
use super::constants;
use crate::diagnostic::Code;
use crate::module::Scope;

/// The scope that the operand names.
fn scope(context: &Context<'_, '_>, operand: Option<Operand>) -> Option<Scope> {
    context.value_of(operand).and_then(Scope::from_u32)
}

/// The type of a scope.
pub(super) const TYPE: Rule = Rule {
    code: Code::ScopeType,
    vuid: None,
    text: include_str!("explain/SB1101.md"),
    check: Check::Operation(|context, operation, to| {
        constants::typed(&TYPE, context, operation, operation.scopes(), "is", to);
    }),
};

/// Shaders have constant scopes.
pub(super) const CONSTANT: Rule = Rule {
    code: Code::ScopeNotConstant,
    vuid: None,
    text: include_str!("explain/SB1102.md"),
    check: Check::Operation(|context, operation, to| {
        constants::fit(&CONSTANT, context, operation, operation.scopes(), "is", to);
    }),
};

/// 0 to 6.
pub(super) const VALUE: Rule = Rule {
    code: Code::ScopeValue,
    vuid: None,
    text: include_str!("explain/SB1103.md"),
    check: Check::Operation(|context, operation, to| {
        for (what, operand) in operation.scopes() {
            if let Some(value) = context
                .value(operand.id)
                .filter(|value| Scope::from_u32(*value).is_none())
            {
                to.push(
                    VALUE
                        .error_at(
                            context,
                            operation,
                            Some(operand),
                            format!(
                                "the {what} of {} is {value}, which is not a scope",
                                context.name(operation)
                            ),
                        )
                        .help("use a scope from 0 to 6: Workgroup is 2, Subgroup is 3"),
                );
            }
        }
    }),
};

/// VUID 13553.
pub(super) const SPLIT_EXECUTION: Rule = Rule {
    code: Code::SplitExecutionScope,
    vuid: Some("VUID-StandaloneSpirv-OpControlBarrierArriveEXT-13553"),
    text: include_str!("explain/SB1104.md"),
    check: Check::Operation(|context, operation, to| {
        let Some(scope) = scope(context, operation.execution)
            .filter(|_| context.settings.environment.is_vulkan() && operation.is_split())
        else {
            return;
        };
        if !matches!(scope, Scope::Workgroup | Scope::Subgroup) {
            to.push(SPLIT_EXECUTION.error_at(context, operation, operation.execution, format!("the execution scope of {} is {scope}; Vulkan allows only Workgroup and Subgroup", context.name(operation))).help("use the execution scope Workgroup (2) or Subgroup (3)").set_to([2, 3]));
        }
    }),
};

/// VUID 04636.
pub(super) const EXECUTION: Rule = Rule {
    code: Code::VulkanExecutionScope,
    vuid: Some("VUID-StandaloneSpirv-None-04636"),
    text: include_str!("explain/SB1105.md"),
    check: Check::Operation(|context, operation, to| {
        let Some(scope) = scope(context, operation.execution).filter(|_| {
            context.settings.environment.is_vulkan() && operation.kind == Kind::ControlBarrier
        }) else {
            return;
        };
        if !matches!(scope, Scope::Workgroup | Scope::Subgroup) {
            to.push(EXECUTION.error_at(context, operation, operation.execution, format!("the execution scope of OpControlBarrier is {scope}; Vulkan allows only Workgroup and Subgroup")).help("use the execution scope Workgroup (2) or Subgroup (3)").set_to([2, 3]));
        }
    }),
};

/// Execution models that have workgroups: tessellation control, compute, task and mesh of EXT
/// and of NV.
const WITH_WORKGROUPS: [u32; 6] = [1, 5, 5267, 5268, 5364, 5365];

fn without_workgroups(
    rule: &Rule,
    context: &Context<'_, '_>,
    operation: &Operation<'_>,
    operand: Option<Operand>,
    (what, other): (&str, &str),
    to: &mut crate::diagnostic::Diagnostics,
) {
    if !context.settings.environment.is_vulkan()
        || scope(context, operand) != Some(Scope::Workgroup)
    {
        return;
    }
    for (_, entry) in context
        .models(operation.function)
        .filter(|(model, _)| !WITH_WORKGROUPS.contains(model))
    {
        let name = context.name(operation);
        to.push(rule.error_at(context, operation, operand, format!("{name} with the {what} Workgroup is reached from the entry point {entry:?}, whose execution model has no workgroups"))
            .help(format!("use the {what} {other}, or use {name} only in compute, task, mesh and tessellation control shaders")));
    }
}

/// VUID 04637.
pub(super) const WORKGROUP_EXECUTION: Rule = Rule {
    code: Code::WorkgroupExecutionModel,
    vuid: Some("VUID-StandaloneSpirv-None-04637"),
    text: include_str!("explain/SB1106.md"),
    check: Check::Operation(|context, operation, to| {
        without_workgroups(
            &WORKGROUP_EXECUTION,
            context,
            operation,
            operation.execution,
            ("execution scope", "Subgroup"),
            to,
        )
    }),
};

/// VUID 04638.
pub(super) const MEMORY: Rule = Rule {
    code: Code::VulkanMemoryScope,
    vuid: Some("VUID-StandaloneSpirv-None-04638"),
    text: include_str!("explain/SB1107.md"),
    check: Check::Operation(|context, operation, to| {
        if context.settings.environment.is_vulkan()
            && scope(context, operation.memory) == Some(Scope::CrossDevice)
        {
            to.push(
                MEMORY
                    .error_at(
                        context,
                        operation,
                        operation.memory,
                        format!(
                            "the memory scope of {} is CrossDevice, which Vulkan does not have",
                            context.name(operation)
                        ),
                    )
                    .help("use Device, QueueFamily, Workgroup, Subgroup or Invocation"),
            );
        }
    }),
};

/// VUID 07321.
pub(super) const WORKGROUP_MEMORY: Rule = Rule {
    code: Code::WorkgroupMemoryModel,
    vuid: Some("VUID-StandaloneSpirv-None-07321"),
    text: include_str!("explain/SB1108.md"),
    check: Check::Operation(|context, operation, to| {
        without_workgroups(
            &WORKGROUP_MEMORY,
            context,
            operation,
            operation.memory,
            ("memory scope", "Device"),
            to,
        )
    }),
};

/// VUID 07951.
pub(super) const SUBGROUP_VULKAN10: Rule = Rule {
    code: Code::SubgroupMemoryVulkan10,
    vuid: Some("VUID-StandaloneSpirv-SubgroupVoteKHR-07951"),
    text: include_str!("explain/SB1109.md"),
    check: Check::Operation(|context, operation, to| {
        use spirv::Capability as C;
        if context.settings.environment == Environment::Vulkan10
            && scope(context, operation.memory) == Some(Scope::Subgroup)
            && !context.has(C::SubgroupBallotKHR)
            && !context.has(C::SubgroupVoteKHR)
        {
            to.push(SUBGROUP_VULKAN10.error_at(context, operation, operation.memory, format!("the memory scope of {} is Subgroup, which Vulkan 1.0 allows only with SubgroupBallotKHR or SubgroupVoteKHR", context.name(operation))).help("declare OpCapability SubgroupBallotKHR or SubgroupVoteKHR with its extension, or use the memory scope Workgroup").set_to([2]));
        }
    }),
};

/// The scope QueueFamily needs the memory model Vulkan.
pub(super) const QUEUE_FAMILY: Rule = Rule {
    code: Code::QueueFamilyScope,
    vuid: None,
    text: include_str!("explain/SB1110.md"),
    check: Check::Operation(|context, operation, to| {
        if scope(context, operation.memory) == Some(Scope::QueueFamily)
            && !context.has(spirv::Capability::VulkanMemoryModel)
        {
            to.push(QUEUE_FAMILY.error_at(context, operation, operation.memory, format!("the memory scope of {} is QueueFamily, but the module does not declare VulkanMemoryModel", context.name(operation))).help("declare OpCapability VulkanMemoryModel and the memory model Vulkan, or use the memory scope Device").set_to([1]));
        }
    }),
};

/// The scope Device is optional under the memory model Vulkan.
pub(super) const DEVICE: Rule = Rule {
    code: Code::DeviceScope,
    vuid: None,
    text: include_str!("explain/SB1111.md"),
    check: Check::Operation(|context, operation, to| {
        use spirv::Capability as C;
        if scope(context, operation.memory) == Some(Scope::Device)
            && context.has(C::VulkanMemoryModel)
            && !context.has(C::VulkanMemoryModelDeviceScope)
        {
            to.push(DEVICE.error_at(context, operation, operation.memory, format!("the memory scope of {} is Device, but the module does not declare VulkanMemoryModelDeviceScope", context.name(operation))).help("declare OpCapability VulkanMemoryModelDeviceScope, or use the memory scope QueueFamily").declare(Some("VulkanMemoryModelDeviceScope"), None).set_to([5]));
        }
    }),
};

/// VUID 04641.
pub(super) const INVOCATION: Rule = Rule {
    code: Code::InvocationOrder,
    vuid: Some("VUID-StandaloneSpirv-None-04641"),
    text: include_str!("explain/SB1112.md"),
    check: Check::Operation(|context, operation, to| {
        let ordered = operation.all_semantics().any(|(_, operand)| {
            context
                .value(operand.id)
                .is_some_and(|bits| bits & 0x1e != 0)
        });
        if context.settings.environment.is_vulkan()
            && scope(context, operation.memory) == Some(Scope::Invocation)
            && ordered
        {
            to.push(
                INVOCATION
                    .error_at(
                        context,
                        operation,
                        operation.memory,
                        format!(
                            "{} has a memory order, but its memory scope is Invocation",
                            context.name(operation)
                        ),
                    )
                    .help("use memory semantics 0 (None), or a larger memory scope"),
            );
        }
    }),
};

/// VUID 04640.
pub(super) const SHADER_CALL: Rule = Rule {
    code: Code::ShaderCallScope,
    vuid: Some("VUID-StandaloneSpirv-None-04640"),
    text: include_str!("explain/SB1118.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.settings.environment.is_vulkan()
            || scope(context, operation.memory) != Some(Scope::ShaderCall)
        {
            return;
        }
        for (_, entry) in context
            .models(operation.function)
            .filter(|(model, _)| !(5313..=5318).contains(model))
        {
            to.push(SHADER_CALL.error_at(context, operation, operation.memory, format!("{} with the memory scope ShaderCallKHR is reached from the entry point {entry:?}, which is not a ray tracing shader", context.name(operation))).help("use the memory scope Device, or use the instruction only in ray tracing shaders").set_to([1]));
        }
    }),
};

/// VUID 04642.
pub(super) const GROUP: Rule = Rule {
    code: Code::GroupScope,
    vuid: Some("VUID-StandaloneSpirv-None-04642"),
    text: include_str!("explain/SB1119.md"),
    check: Check::Operation(|context, operation, to| {
        let Some(scope) =
            scope(context, operation.execution).filter(|_| operation.kind == Kind::Group)
        else {
            return;
        };
        let environment = context.settings.environment;
        let fits = scope == Scope::Subgroup
            || (scope == Scope::Workgroup && !environment.is_vulkan())
            || environment == Environment::Vulkan10; // has no rule, and these by extension only
        if !fits {
            let allowed = if environment.is_vulkan() {
                "Subgroup"
            } else {
                "Subgroup or Workgroup"
            };
            let name = context.name(operation);
            let message = format!("the execution scope of {name} is {scope}, not {allowed}");
            to.push(
                GROUP
                    .error_at(context, operation, operation.execution, message)
                    .help("use the execution scope Subgroup (3)")
                    .set_to([3]),
            );
        }
    }),
};

/// Vertex, tessellation evaluation, geometry, fragment; ray generation to miss.
const GRAPHICS_AND_RAYS: [u32; 9] = [0, 2, 3, 4, 5313, 5314, 5315, 5316, 5317];

/// VUID 04682.
pub(super) const GRAPHICS: Rule = Rule {
    code: Code::GraphicsBarrierScope,
    vuid: Some("VUID-StandaloneSpirv-OpControlBarrier-04682"),
    text: include_str!("explain/SB1120.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.settings.environment.is_vulkan() || operation.kind != Kind::ControlBarrier {
            return;
        }
        let scope = scope(context, operation.execution);
        let Some(scope) = scope.filter(|scope| *scope != Scope::Subgroup) else {
            return;
        };
        for (_, entry) in context
            .models(operation.function)
            .filter(|(model, _)| GRAPHICS_AND_RAYS.contains(model))
        {
            to.push(GRAPHICS.error_at(context, operation, operation.execution, format!("OpControlBarrier with the execution scope {scope} is reached from the entry point {entry:?}, a graphics or ray tracing shader")).because("Vulkan allows only the execution scope Subgroup in these shaders").help("use the execution scope Subgroup (3), or use the barrier only in compute shaders").set_to([3]));
        }
    }),
};

/// VUID 07320.
pub(super) const TESSELLATION: Rule = Rule {
    code: Code::TessellationMemoryScope,
    vuid: Some("VUID-StandaloneSpirv-ExecutionModel-07320"),
    text: include_str!("explain/SB1121.md"),
    check: Check::Operation(|context, operation, to| {
        use spirv::{ExecutionModel, MemoryModel};
        if !context.settings.environment.is_vulkan()
            || context.declarations.memory_model != MemoryModel::GLSL450 as u32
            || scope(context, operation.memory) != Some(Scope::Workgroup)
        {
            return;
        }
        for (_, entry) in context
            .models(operation.function)
            .filter(|(model, _)| *model == ExecutionModel::TessellationControl as u32)
        {
            to.push(
                TESSELLATION
                    .error_at(context, operation, operation.memory, format!("{} with the memory scope Workgroup is reached from the tessellation control shader {entry:?} under the memory model GLSL450", context.name(operation)))
                    .help("use the memory scope Device, or the memory model Vulkan")
                    .set_to([1]),
            );
        }
    }),
};
