//! Rules of OpenCL's SPIR-V environment and of its split barriers. SPIRV-Tools checks none of them.

use super::super::context::{Kind, Operand, Operation};
use super::super::{Check, Context, Environment, Rule};
use crate::diagnostic::Code;
use crate::module::Scope;

const ORDERS: u32 = 0x1e;

fn scope(context: &Context<'_, '_>, operand: Option<Operand>) -> Option<Scope> {
    context
        .value_of(operand)
        .and_then(Scope::from_u32)
        .filter(|_| context.settings.environment.is_opencl())
}

fn order(context: &Context<'_, '_>, operation: &Operation<'_>) -> Option<u32> {
    context
        .value_of(operation.semantics)
        .map(|bits| bits & ORDERS)
        .filter(|_| context.settings.environment.is_opencl())
}

fn is_barrier(kind: Kind) -> bool {
    matches!(kind, Kind::ControlBarrier | Kind::MemoryBarrier)
}

/// Execution scopes of split barriers: only Workgroup.
pub(super) const SPLIT_SCOPE: Rule = Rule {
    code: Code::OpenClSplitScope,
    vuid: None,
    text: include_str!("explain/SB1113.md"),
    check: Check::Operation(|context, operation, to| {
        if let Some(scope) = scope(context, operation.execution)
            .filter(|scope| operation.is_split() && *scope != Scope::Workgroup)
        {
            to.push(SPLIT_SCOPE.error_at(context, operation, operation.execution, format!("the execution scope of {} is {scope}; OpenCL allows only Workgroup for split barriers", context.name(operation))).help("use the execution scope Workgroup (2)").set_to([2]));
        }
    }),
};

/// Execution scopes of control barriers: Workgroup and Subgroup.
pub(super) const EXECUTION: Rule = Rule {
    code: Code::OpenClExecutionScope,
    vuid: None,
    text: include_str!("explain/SB1114.md"),
    check: Check::Operation(|context, operation, to| {
        let subgroups = context.settings.environment >= Environment::OpenCl21
            || context.has(spirv::Capability::SubgroupDispatch);
        if let Some(scope) =
            scope(context, operation.execution).filter(|_| operation.kind == Kind::ControlBarrier)
            && !(scope == Scope::Workgroup || subgroups && scope == Scope::Subgroup)
        {
            to.push(EXECUTION.warning_or_error(context, operation, scope));
        }
    }),
};

impl Rule {
    /// A warning for a sub-group barrier before OpenCL 2.1, since the module does not show whether
    /// the device has cl_khr_subgroups; otherwise an error.
    fn warning_or_error(
        &self,
        context: &Context<'_, '_>,
        operation: &Operation<'_>,
        scope: Scope,
    ) -> crate::diagnostic::Diagnostic {
        let message = format!(
            "the execution scope of {} is {scope}",
            context.name(operation)
        );
        if scope == Scope::Subgroup {
            self.warning(context, operation.inst, message)
                .because(format!(
                    "{} has sub-groups only with the extension cl_khr_subgroups",
                    context.settings.environment
                ))
                .help("use OpenCL 2.1 or later, or check that every device has cl_khr_subgroups")
        } else {
            self.error_at(context, operation, operation.execution, message)
                .because("OpenCL allows only Workgroup and Subgroup")
                .help("use the execution scope Workgroup (2) or Subgroup (3)")
                .set_to([2])
        }
    }
}

/// OpenCL's memory scopes.
pub(super) const MEMORY: Rule = Rule {
    code: Code::OpenClMemoryScope,
    vuid: None,
    text: include_str!("explain/SB1115.md"),
    check: Check::Operation(|context, operation, to| {
        if let Some(scope) = scope(context, operation.memory)
            .filter(|scope| matches!(scope, Scope::QueueFamily | Scope::ShaderCall))
        {
            let message = format!(
                "the memory scope of {} is {scope}, which OpenCL does not have",
                context.name(operation)
            );
            to.push(
                MEMORY
                    .error_at(context, operation, operation.memory, message)
                    .help("use CrossDevice, Device, Workgroup, Subgroup or Invocation"),
            );
        }
    }),
};

/// barrier() of OpenCL 1.2.
pub(super) const BARRIER_12: Rule = Rule {
    code: Code::OpenCl12Barrier,
    vuid: None,
    text: include_str!("explain/SB1116.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.is_opencl12() || !is_barrier(operation.kind) {
            return;
        }
        if let Some(scope) =
            scope(context, operation.memory).filter(|scope| *scope != Scope::Workgroup)
        {
            let message = format!(
                "the memory scope of {} is {scope}; OpenCL 1.2 allows only Workgroup for barriers",
                context.name(operation)
            );
            to.push(
                BARRIER_12
                    .error_at(context, operation, operation.memory, message)
                    .help("use the memory scope Workgroup (2)")
                    .set_to([2]),
            );
        }
        if order(context, operation).is_some_and(|order| order != 0x10) {
            to.push(BARRIER_12.error_at(context, operation, operation.semantics, format!("the memory order of {} is not SequentiallyConsistent; OpenCL 1.2 allows no other for barriers", context.name(operation))).help("use SequentiallyConsistent (0x10)"));
        }
    }),
};

/// The atomics of OpenCL 1.2.
pub(super) const ATOMIC_12: Rule = Rule {
    code: Code::OpenCl12Atomic,
    vuid: None,
    text: include_str!("explain/SB1117.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.is_opencl12() || !operation.is_atomic() {
            return;
        }
        if let Some(scope) =
            scope(context, operation.memory).filter(|scope| *scope != Scope::Device)
        {
            let message = format!(
                "the memory scope of {} is {scope}; OpenCL 1.2 allows only Device for atomics",
                context.name(operation)
            );
            to.push(
                ATOMIC_12
                    .error_at(context, operation, operation.memory, message)
                    .help("use the memory scope Device (1)")
                    .set_to([1]),
            );
        }
        if order(context, operation).is_some_and(|order| order != 0) {
            let message = format!(
                "{} has a memory order; OpenCL 1.2 allows only relaxed atomics",
                context.name(operation)
            );
            to.push(
                ATOMIC_12
                    .error_at(context, operation, operation.semantics, message)
                    .help("use memory semantics without a memory order, such as 0 (None)")
                    .set_to([0]),
            );
        }
    }),
};

/// The memory scope of barriers that order images.
pub(super) const IMAGES: Rule = Rule {
    code: Code::OpenClImageScope,
    vuid: None,
    text: include_str!("explain/SB1122.md"),
    check: Check::Operation(|context, operation, to| {
        const IMAGE_MEMORY: u32 = 0x800;
        let is_barrier = operation.is_split() || operation.kind == Kind::ControlBarrier;
        let images = context
            .value_of(operation.semantics)
            .is_some_and(|bits| bits & IMAGE_MEMORY != 0);
        if let Some(scope) = scope(context, operation.memory)
            .filter(|scope| is_barrier && images && *scope != Scope::Workgroup)
        {
            let message = format!(
                "{} orders images with the memory scope {scope}; OpenCL allows only Workgroup",
                context.name(operation)
            );
            to.push(
                IMAGES
                    .error_at(context, operation, operation.memory, message)
                    .help("use the memory scope Workgroup (2), or clear ImageMemory (0x800)")
                    .set_to([2]),
            );
        }
    }),
};

/// The memory order of an arrive.
pub(super) const ARRIVE: Rule = Rule {
    code: Code::OpenClArriveOrder,
    vuid: None,
    text: include_str!("explain/SB1221.md"),
    check: Check::Operation(|context, operation, to| {
        if operation.kind == Kind::Arrive
            && order(context, operation).is_some_and(|order| order != 0x4)
        {
            let message = format!(
                "the memory order of {} is not Release",
                context.name(operation)
            );
            to.push(
                ARRIVE
                    .error_at(context, operation, operation.semantics, message)
                    .help("use Release (0x4)"),
            );
        }
    }),
};

/// The memory order of a wait.
pub(super) const WAIT: Rule = Rule {
    code: Code::OpenClWaitOrder,
    vuid: None,
    text: include_str!("explain/SB1222.md"),
    check: Check::Operation(|context, operation, to| {
        if operation.kind == Kind::Wait
            && order(context, operation).is_some_and(|order| order != 0x2)
        {
            let message = format!(
                "the memory order of {} is not Acquire",
                context.name(operation)
            );
            to.push(
                WAIT.error_at(context, operation, operation.semantics, message)
                    .help("use Acquire (0x2)"),
            );
        }
    }),
};
