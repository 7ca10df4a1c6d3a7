//! Rules for memory semantics: their bits, their memory orders, and the rules that Vulkan adds.

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
const WORKGROUP_MEMORY: u32 = 0x100;
const CROSS_WORKGROUP_MEMORY: u32 = 0x200;
const OUTPUT_MEMORY: u32 = 0x1000;
/// Storage classes that count in Vulkan: UniformMemory, WorkgroupMemory, ImageMemory, OutputMemory.
const VULKAN_CLASSES: u32 = 0x40 | 0x100 | 0x800 | OUTPUT_MEMORY;
const MAKE_AVAILABLE: u32 = 0x2000;
const MAKE_VISIBLE: u32 = 0x4000;
const VOLATILE_BIT: u32 = 0x8000;
const KNOWN: u32 = ORDERS | 0xffc0;

/// A problem of an operand.
struct Wrong {
    /// The rest of a sentence whose subject is the operand.
    is: String,
    /// The instruction to the user.
    help: String,
    /// Values of the operand that do not have the problem.
    values: Vec<u32>,
}

fn wrong(
    is: impl Into<String>,
    help: impl Into<String>,
    values: impl IntoIterator<Item = u32>,
) -> Wrong {
    Wrong {
        is: is.into(),
        help: help.into(),
        values: values.into_iter().collect(),
    }
}

/// The strongest memory order that the instruction can have in Vulkan, and its bit.
fn strongest(kind: Kind) -> (&'static str, u32) {
    match kind {
        Kind::Arrive | Kind::AtomicStore => ("Release", RELEASE),
        Kind::Wait | Kind::AtomicLoad => ("Acquire", ACQUIRE),
        Kind::ControlBarrier
        | Kind::MemoryBarrier
        | Kind::MemoryNamedBarrier
        | Kind::NamedBarrierInitialize
        | Kind::AtomicUpdate
        | Kind::AtomicCompare
        | Kind::Group => ("AcquireRelease", ACQUIRE_RELEASE),
    }
}

/// The memory semantics `bits` with another memory order.
fn with_order(bits: u32, order: u32) -> u32 {
    bits & !ORDERS | order
}

/// The memory semantics `bits` with each memory order that an instruction of this kind can have,
/// and that includes `order`, Acquire or Release. An order that `bits` have is kept.
fn including(kind: Kind, bits: u32, order: u32) -> impl Iterator<Item = u32> {
    let orders: &[u32] = match strongest(kind) {
        (_, ACQUIRE_RELEASE) if bits & ORDERS == 0 => &[order, ACQUIRE_RELEASE],
        (_, ACQUIRE_RELEASE) => &[ACQUIRE_RELEASE],
        (_, only) if only == order => &[order],
        (_, _) => &[],
    };
    let values: Vec<u32> = orders
        .iter()
        .map(|order| with_order(bits, *order))
        .collect();
    values.into_iter()
}

/// Calls `check` with each semantics operand of `operation` that has a value, and reports the
/// problem that it returns.
fn each(
    rule: &Rule,
    context: &Context<'_, '_>,
    operation: &Operation<'_>,
    to: &mut Diagnostics,
    check: impl Fn(u32) -> Option<Wrong>,
) {
    for (what, operand) in operation.all_semantics() {
        if let Some(wrong) = context.value(operand.id).and_then(&check) {
            let message = format!("the {what} of {} {}", context.name(operation), wrong.is);
            to.push(
                rule.error_at(context, operation, Some(operand), message)
                    .help(wrong.help)
                    .set_to(wrong.values),
            );
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
            to,
        );
    }),
};

/// Bits that no specification defines.
pub(super) const UNKNOWN: Rule = Rule {
    code: Code::UnknownSemanticsBits,
    vuid: None,
    text: include_str!("explain/SB1203.md"),
    check: Check::Operation(|context, operation, to| {
        each(&UNKNOWN, context, operation, to, |bits| {
            (bits & !KNOWN != 0).then(|| {
                wrong(
                    format!("have undefined bits: {:#x}", bits & !KNOWN),
                    format!("clear these bits: use {:#x}", bits & KNOWN),
                    [bits & KNOWN],
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
            ((bits & ORDERS).count_ones() > 1).then(|| {
                wrong(
                    format!("have more than one memory order: {:#x}", bits & ORDERS),
                    "set one memory order; acquire and release together are AcquireRelease (0x8)",
                    [with_order(bits, strongest(operation.kind).1)],
                )
            })
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
                let (name, order) = strongest(operation.kind);
                (bits & SEQUENTIALLY_CONSISTENT != 0).then(|| {
                    wrong(
                        "are SequentiallyConsistent, which Vulkan does not have",
                        format!(
                            "use a weaker memory order, such as {name}: {:#x}",
                            with_order(bits, order)
                        ),
                        [with_order(bits, order)],
                    )
                })
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
                (bits & (ACQUIRE | ACQUIRE_RELEASE) != 0).then(|| {
                    wrong(
                        "include an acquire, but a store reads nothing",
                        format!("use Release: {:#x}", with_order(bits, RELEASE)),
                        [with_order(bits, RELEASE)],
                    )
                })
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
                (bits & (RELEASE | ACQUIRE_RELEASE) != 0).then(|| {
                    wrong(
                        "include a release, but a load writes nothing",
                        format!("use Acquire: {:#x}", with_order(bits, ACQUIRE)),
                        [with_order(bits, ACQUIRE)],
                    )
                })
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
                (bits & ORDERS == 0).then(|| {
                    wrong(
                        "have no memory order, so the instruction has no effect",
                        "set a memory order, such as AcquireRelease (0x8), or remove the instruction",
                        [with_order(bits, ACQUIRE_RELEASE)],
                    )
                })
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
                    wrong(
                        "have a memory order but no storage class that it applies to",
                        "add the storage classes to order, such as WorkgroupMemory (0x100)",
                        [bits | WORKGROUP_MEMORY],
                    )
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
                let (name, order) = strongest(operation.kind);
                (bits & ORDERS == 0 && bits & VULKAN_CLASSES != 0).then(|| {
                    wrong(
                        "name a storage class but no memory order",
                        format!("add a memory order, such as {name} ({order:#x}), or use 0 (None)"),
                        [with_order(bits, order), 0],
                    )
                })
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
            (bits & MAKE_AVAILABLE != 0 && bits & (RELEASE | ACQUIRE_RELEASE) == 0).then(|| {
                let help = match strongest(operation.kind) {
                    (_, ACQUIRE) => "clear MakeAvailable (0x2000)",
                    (_, RELEASE) => "use Release (0x4), or clear MakeAvailable (0x2000)",
                    (_, _) => {
                        "use Release (0x4) or AcquireRelease (0x8), or clear MakeAvailable (0x2000)"
                    }
                };
                let ordered = including(operation.kind, bits, RELEASE);
                let values = ordered.chain([bits & !MAKE_AVAILABLE]);
                wrong("include MakeAvailable but no release", help, values)
            })
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
            (bits & MAKE_VISIBLE != 0 && bits & (ACQUIRE | ACQUIRE_RELEASE) == 0).then(|| {
                let help = match strongest(operation.kind) {
                    (_, RELEASE) => "clear MakeVisible (0x4000)",
                    (_, ACQUIRE) => "use Acquire (0x2), or clear MakeVisible (0x4000)",
                    (_, _) => {
                        "use Acquire (0x2) or AcquireRelease (0x8), or clear MakeVisible (0x4000)"
                    }
                };
                let ordered = including(operation.kind, bits, ACQUIRE);
                let values = ordered.chain([bits & !MAKE_VISIBLE]);
                wrong("include MakeVisible but no acquire", help, values)
            })
        });
    }),
};

/// Bits that need the memory model Vulkan.
pub(super) const NEEDS_MODEL: Rule = Rule {
    code: Code::SemanticsNeedVulkanModel,
    vuid: None,
    text: include_str!("explain/SB1213.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.has(spirv::Capability::VulkanMemoryModel) {
            each(&NEEDS_MODEL, context, operation, to, |bits| {
                let found: Vec<(u32, &str)> = [
                    (OUTPUT_MEMORY, "OutputMemory"),
                    (MAKE_AVAILABLE, "MakeAvailable"),
                    (MAKE_VISIBLE, "MakeVisible"),
                    (VOLATILE_BIT, "Volatile"),
                ]
                .into_iter()
                .filter(|(bit, _)| bits & bit != 0)
                .collect();
                (!found.is_empty()).then(|| {
                    let names: Vec<&str> = found.iter().map(|(_, name)| *name).collect();
                    let names = names.join(" and ");
                    let rest = found.iter().fold(bits, |rest, (bit, _)| rest & !bit);
                    wrong(
                        format!(
                            "include {names}, but the module does not declare VulkanMemoryModel"
                        ),
                        format!(
                            "declare OpCapability VulkanMemoryModel and the memory model Vulkan, or clear {names}: use {rest:#x}"
                        ),
                        [rest],
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
                (bits & VOLATILE_BIT != 0).then(|| {
                    wrong(
                        "include Volatile, which is allowed only on atomic instructions",
                        format!("clear Volatile: use {:#x}", bits & !VOLATILE_BIT),
                        [bits & !VOLATILE_BIT],
                    )
                })
            });
        }
    }),
};

/// UniformMemory needs the capability Shader.
pub(super) const UNIFORM: Rule = Rule {
    code: Code::UniformMemoryCapability,
    vuid: None,
    text: include_str!("explain/SB1215.md"),
    check: Check::Operation(|context, operation, to| {
        if !context.has(spirv::Capability::Shader) {
            each(&UNIFORM, context, operation, to, |bits| {
                (bits & UNIFORM_MEMORY != 0).then(|| {
                    wrong(
                        "include UniformMemory, but the module does not declare Shader",
                        "use CrossWorkgroupMemory (0x200) for the global memory of a kernel",
                        [bits & !UNIFORM_MEMORY | CROSS_WORKGROUP_MEMORY],
                    )
                })
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
                (bits & ORDERS & !RELEASE != 0).then(|| {
                    wrong(
                        "have a memory order other than Release",
                        format!("use Release: {:#x}", with_order(bits, RELEASE)),
                        [with_order(bits, RELEASE)],
                    )
                })
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
                (bits & ORDERS & !ACQUIRE != 0).then(|| {
                    wrong(
                        "have a memory order other than Acquire",
                        format!("use Acquire: {:#x}", with_order(bits, ACQUIRE)),
                        [with_order(bits, ACQUIRE)],
                    )
                })
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
        let unequal = both(context, operation).map(|(_, unequal)| unequal);
        if let Some(bits) = unequal.filter(|bits| bits & (RELEASE | ACQUIRE_RELEASE) != 0) {
            let message = format!(
                "the Unequal memory semantics of {} include a release, but a failed comparison writes nothing",
                context.name(operation)
            );
            to.push(
                UNEQUAL_RELEASES
                    .error_at(context, operation, operation.unequal, message)
                    .help("use Acquire (0x2) or no memory order for Unequal")
                    .set_to([with_order(bits, ACQUIRE), 0]),
            );
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
            let message = format!(
                "the Unequal memory semantics of {} are stronger than its Equal memory semantics",
                context.name(operation)
            );
            to.push(
                UNEQUAL_STRONGER
                    .error_at(context, operation, operation.unequal, message)
                    .help("make the memory order of Equal at least as strong as the memory order of Unequal"),
            );
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
                "name a storage class that Equal does not name",
                "add the storage classes of Unequal to Equal",
            ),
            (
                "VUID-StandaloneSpirv-UnequalMemorySemantics-10878",
                unequal & !equal & MAKE_VISIBLE != 0,
                "include MakeVisible, but Equal does not include it",
                "also set MakeVisible (0x4000) in Equal, or clear it in Unequal",
            ),
            (
                "VUID-StandaloneSpirv-UnequalMemorySemantics-10879",
                (unequal ^ equal) & VOLATILE_BIT != 0,
                "differ from Equal in Volatile",
                "set Volatile (0x8000) in both or in neither",
            ),
        ];
        for (vuid, broken, why, help) in parts {
            if broken {
                let mut problem = UNEQUAL_CLASSES.error_at(
                    context,
                    operation,
                    operation.unequal,
                    format!(
                        "the Unequal memory semantics of {} {why}",
                        context.name(operation)
                    ),
                );
                problem.vuid = problem.vuid.map(|_| vuid);
                to.push(problem.help(help));
            }
        }
    }),
};
