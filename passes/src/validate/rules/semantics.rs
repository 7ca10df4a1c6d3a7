//! Memory semantics: bits, orders, and what Vulkan adds.

use super::super::context::{Kind, Operation};
use super::super::{Check, Context, Rule};
use super::constants;
use crate::diagnostic::{Code, Diagnostics};

const ACQUIRE: u32 = 0x2;
const RELEASE: u32 = 0x4;
const ACQUIRE_RELEASE: u32 = 0x8;
const SEQUENTIALLY_CONSISTENT: u32 = 0x10;
const ORDERS: u32 = 0x1e;
const UNIFORM_MEMORY: u32 = 0x40;
const OUTPUT_MEMORY: u32 = 0x1000;
/// Storage classes that count in Vulkan: UniformMemory, WorkgroupMemory, ImageMemory, OutputMemory.
const VULKAN_CLASSES: u32 = 0x40 | 0x100 | 0x800 | OUTPUT_MEMORY;
const MAKE_AVAILABLE: u32 = 0x2000;
const MAKE_VISIBLE: u32 = 0x4000;
const VOLATILE_BIT: u32 = 0x8000;
const KNOWN: u32 = ORDERS | 0xffc0;

/// Calls `wrong` with each semantics operand of `operation` that has a value, and reports what it
/// says.
fn each(
    rule: &Rule,
    context: &Context<'_, '_>,
    operation: &Operation<'_>,
    to: &mut Diagnostics,
    wrong: impl Fn(u32) -> Option<String>,
) {
    for (what, operand) in operation.all_semantics() {
        if let Some(problem) = context.value(operand.id).and_then(&wrong) {
            to.push(rule.error_at(
                context,
                operation,
                Some(operand),
                format!("the {what} of {} {problem}", context.name(operation)),
            ));
        }
    }
}

/// The type of semantics.
pub(super) const TYPE: Rule = Rule {
    code: Code::SemanticsType,
    vuid: None,
    text: include_str!("explain/SB1201.md"),
    check: Check::Operation(|context, operation, to| {
        constants::typed(
            &TYPE,
            context,
            operation,
            operation.all_semantics(),
            "are",
            to,
        );
    }),
};

/// Shaders have constant semantics.
pub(super) const CONSTANT: Rule = Rule {
    code: Code::SemanticsNotConstant,
    vuid: None,
    text: include_str!("explain/SB1202.md"),
    check: Check::Operation(|context, operation, to| {
        constants::fit(
            &CONSTANT,
            context,
            operation,
            operation.all_semantics(),
            "are",
            "they",
            to,
        );
    }),
};

/// Bits that nobody has defined.
pub(super) const UNKNOWN: Rule = Rule {
    code: Code::UnknownSemanticsBits,
    vuid: None,
    text: include_str!("explain/SB1203.md"),
    check: Check::Operation(|context, operation, to| {
        each(&UNKNOWN, context, operation, to, |bits| {
            (bits & !KNOWN != 0).then(|| {
                format!(
                    "have bits that no specification knows: {:#x}",
                    bits & !KNOWN
                )
            })
        });
    }),
};

/// VUID 10865.
pub(super) const SEVERAL: Rule = Rule {
    code: Code::SeveralOrders,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10865"),
    text: include_str!("explain/SB1204.md"),
    check: Check::Operation(|context, operation, to| {
        each(&SEVERAL, context, operation, to, |bits| {
            ((bits & ORDERS).count_ones() > 1)
                .then(|| format!("have more than one order: {:#x}", bits & ORDERS))
        });
    }),
};

/// VUID 10866.
pub(super) const SEQUENTIAL: Rule = Rule {
    code: Code::SequentiallyConsistentVulkan,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10866"),
    text: include_str!("explain/SB1205.md"),
    check: Check::Operation(|context, operation, to| {
        if context.vulkan_semantics() {
            each(&SEQUENTIAL, context, operation, to, |bits| {
                (bits & SEQUENTIALLY_CONSISTENT != 0)
                    .then(|| "are SequentiallyConsistent, which Vulkan does not have".to_owned())
            });
        }
    }),
};

/// VUID 10867.
pub(super) const STORE: Rule = Rule {
    code: Code::StoreAcquires,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10867"),
    text: include_str!("explain/SB1206.md"),
    check: Check::Operation(|context, operation, to| {
        if operation.kind == Kind::AtomicStore {
            each(&STORE, context, operation, to, |bits| {
                (bits & (ACQUIRE | ACQUIRE_RELEASE) != 0)
                    .then(|| "acquire, and a store reads nothing".to_owned())
            });
        }
    }),
};

/// VUID 10868.
pub(super) const LOAD: Rule = Rule {
    code: Code::LoadReleases,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10868"),
    text: include_str!("explain/SB1207.md"),
    check: Check::Operation(|context, operation, to| {
        if operation.kind == Kind::AtomicLoad {
            each(&LOAD, context, operation, to, |bits| {
                (bits & (RELEASE | ACQUIRE_RELEASE) != 0)
                    .then(|| "release, and a load writes nothing".to_owned())
            });
        }
    }),
};

/// VUID 10869.
pub(super) const RELAXED: Rule = Rule {
    code: Code::RelaxedMemoryBarrier,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10869"),
    text: include_str!("explain/SB1208.md"),
    check: Check::Operation(|context, operation, to| {
        if context.vulkan_semantics() && operation.kind == Kind::MemoryBarrier {
            each(&RELAXED, context, operation, to, |bits| {
                (bits & ORDERS == 0)
                    .then(|| "have no memory order, so that it does nothing".to_owned())
            });
        }
    }),
};

/// VUID 10870.
pub(super) const NO_CLASS: Rule = Rule {
    code: Code::OrderWithoutClass,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10870"),
    text: include_str!("explain/SB1209.md"),
    check: Check::Operation(|context, operation, to| {
        if context.vulkan_semantics() {
            each(&NO_CLASS, context, operation, to, |bits| {
                (bits & ORDERS != 0 && bits & VULKAN_CLASSES == 0).then(|| {
                    "have a memory order and no storage class that it applies to".to_owned()
                })
            });
        }
    }),
};

/// VUID 10871.
pub(super) const NO_ORDER: Rule = Rule {
    code: Code::ClassWithoutOrder,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10871"),
    text: include_str!("explain/SB1210.md"),
    check: Check::Operation(|context, operation, to| {
        if context.vulkan_semantics() {
            each(&NO_ORDER, context, operation, to, |bits| {
                (bits & ORDERS == 0 && bits & VULKAN_CLASSES != 0)
                    .then(|| "name a storage class and no memory order".to_owned())
            });
        }
    }),
};

/// VUID 10872.
pub(super) const AVAILABLE: Rule = Rule {
    code: Code::AvailableWithoutRelease,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10872"),
    text: include_str!("explain/SB1211.md"),
    check: Check::Operation(|context, operation, to| {
        each(&AVAILABLE, context, operation, to, |bits| {
            (bits & MAKE_AVAILABLE != 0 && bits & (RELEASE | ACQUIRE_RELEASE) == 0)
                .then(|| "have MakeAvailable and do not release".to_owned())
        });
    }),
};

/// VUID 10873.
pub(super) const VISIBLE: Rule = Rule {
    code: Code::VisibleWithoutAcquire,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-10873"),
    text: include_str!("explain/SB1212.md"),
    check: Check::Operation(|context, operation, to| {
        each(&VISIBLE, context, operation, to, |bits| {
            (bits & MAKE_VISIBLE != 0 && bits & (ACQUIRE | ACQUIRE_RELEASE) == 0)
                .then(|| "have MakeVisible and do not acquire".to_owned())
        });
    }),
};

/// Bits that came with Vulkan's memory model.
pub(super) const NEEDS_MODEL: Rule = Rule {
    code: Code::SemanticsNeedVulkanModel,
    vuid: None,
    text: include_str!("explain/SB1213.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.has(spirv::Capability::VulkanMemoryModel) {
            each(&NEEDS_MODEL, context, operation, to, |bits| {
                let names: Vec<&str> = [
                    (OUTPUT_MEMORY, "OutputMemory"),
                    (MAKE_AVAILABLE, "MakeAvailable"),
                    (MAKE_VISIBLE, "MakeVisible"),
                    (VOLATILE_BIT, "Volatile"),
                ]
                .into_iter()
                .filter_map(|(bit, name)| (bits & bit != 0).then_some(name))
                .collect();
                (!names.is_empty()).then(|| {
                    format!(
                        "have {} without the capability VulkanMemoryModel",
                        names.join(" and ")
                    )
                })
            });
        }
    }),
};

/// VUID 13551.
pub(super) const VOLATILE: Rule = Rule {
    code: Code::VolatileBarrier,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-13551"),
    text: include_str!("explain/SB1214.md"),
    check: Check::Operation(|context, operation, to| {
        if !operation.is_atomic() {
            each(&VOLATILE, context, operation, to, |bits| {
                (bits & VOLATILE_BIT != 0).then(|| "have Volatile, which is for atomics".to_owned())
            });
        }
    }),
};

/// UniformMemory belongs to shaders.
pub(super) const UNIFORM: Rule = Rule {
    code: Code::UniformMemoryCapability,
    vuid: None,
    text: include_str!("explain/SB1215.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.has(spirv::Capability::Shader) {
            each(&UNIFORM, context, operation, to, |bits| {
                (bits & UNIFORM_MEMORY != 0)
                    .then(|| "have UniformMemory without the capability Shader".to_owned())
            });
        }
    }),
};

/// VUID 13556.
pub(super) const ARRIVE: Rule = Rule {
    code: Code::ArriveOrder,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-13556"),
    text: include_str!("explain/SB1216.md"),
    check: Check::Operation(|context, operation, to| {
        if context.vulkan_semantics() && operation.kind == Kind::Arrive {
            each(&ARRIVE, context, operation, to, |bits| {
                (bits & ORDERS & !RELEASE != 0)
                    .then(|| "have a memory order other than Release".to_owned())
            });
        }
    }),
};

/// VUID 13557.
pub(super) const WAIT: Rule = Rule {
    code: Code::WaitOrder,
    vuid: Some("VUID-StandaloneSpirv-MemorySemantics-13557"),
    text: include_str!("explain/SB1217.md"),
    check: Check::Operation(|context, operation, to| {
        if context.vulkan_semantics() && operation.kind == Kind::Wait {
            each(&WAIT, context, operation, to, |bits| {
                (bits & ORDERS & !ACQUIRE != 0)
                    .then(|| "have a memory order other than Acquire".to_owned())
            });
        }
    }),
};

/// The bits of the operands Equal and Unequal.
fn both(context: &Context<'_, '_>, operation: &Operation<'_>) -> Option<(u32, u32)> {
    Some((
        context.value_of(operation.semantics)?,
        context.value_of(operation.unequal)?,
    ))
}

/// VUID 10875.
pub(super) const UNEQUAL_RELEASES: Rule = Rule {
    code: Code::UnequalReleases,
    vuid: Some("VUID-StandaloneSpirv-UnequalMemorySemantics-10875"),
    text: include_str!("explain/SB1218.md"),
    check: Check::Operation(|context, operation, to| {
        if both(context, operation)
            .is_some_and(|(_, unequal)| unequal & (RELEASE | ACQUIRE_RELEASE) != 0)
        {
            to.push(UNEQUAL_RELEASES.error_at(
                context,
                operation,
                operation.unequal,
                format!(
                    "the memory semantics Unequal of {} release",
                    context.name(operation)
                ),
            ));
        }
    }),
};

/// VUID 10876.
pub(super) const UNEQUAL_STRONGER: Rule = Rule {
    code: Code::UnequalStronger,
    vuid: Some("VUID-StandaloneSpirv-UnequalMemorySemantics-10876"),
    text: include_str!("explain/SB1219.md"),
    check: Check::Operation(|context, operation, to| {
        let Some((equal, unequal)) = both(context, operation) else {
            return;
        };
        // Neither of Acquire and Release is stronger than the other.
        let stronger = (unequal & SEQUENTIALLY_CONSISTENT != 0
            && equal & SEQUENTIALLY_CONSISTENT == 0)
            || (unequal & ACQUIRE != 0 && equal & ORDERS == 0);
        if stronger {
            to.push(UNEQUAL_STRONGER.error_at(
                context,
                operation,
                operation.unequal,
                format!(
                    "the memory semantics Unequal of {} are stronger than Equal",
                    context.name(operation)
                ),
            ));
        }
    }),
};

/// VUIDs 10877, 10878 and 10879.
pub(super) const UNEQUAL_CLASSES: Rule = Rule {
    code: Code::UnequalClasses,
    vuid: Some("VUID-StandaloneSpirv-UnequalMemorySemantics-10877"),
    text: include_str!("explain/SB1220.md"),
    check: Check::Operation(|context, operation, to| {
        let Some((equal, unequal)) =
            both(context, operation).filter(|_| context.vulkan_semantics())
        else {
            return;
        };
        let parts = [
            (
                "VUID-StandaloneSpirv-UnequalMemorySemantics-10877",
                unequal & !equal & VULKAN_CLASSES != 0,
                "name a storage class that Equal does not",
            ),
            (
                "VUID-StandaloneSpirv-UnequalMemorySemantics-10878",
                unequal & !equal & MAKE_VISIBLE != 0,
                "have MakeVisible, which Equal does not have",
            ),
            (
                "VUID-StandaloneSpirv-UnequalMemorySemantics-10879",
                (unequal ^ equal) & VOLATILE_BIT != 0,
                "differ from Equal in Volatile",
            ),
        ];
        for (vuid, broken, why) in parts {
            if broken {
                let mut problem = UNEQUAL_CLASSES.error_at(
                    context,
                    operation,
                    operation.unequal,
                    format!(
                        "the memory semantics Unequal of {} {why}",
                        context.name(operation)
                    ),
                );
                problem.vuid = problem.vuid.map(|_| vuid);
                to.push(problem);
            }
        }
    }),
};
