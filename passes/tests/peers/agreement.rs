//! Scopes and semantics in all combinations where spirv-val has rules too, its verdict beside ours.
//!
//! It starts a process for each of some thousand modules. What only one of the two tools asks for
//! is explained in docs/validation.md.

use crate::fixtures::validated;
use crate::spirv_val::SpirvVal;
use splitbar_harness::Missing;
use splitbar_passes::diagnostic::Severity;
use splitbar_passes::module::assemble;
use splitbar_passes::validate::{Environment, Settings};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions with a memory scope `%m` and semantics `%s`, without and with the version of
/// spirv-val that checks split barriers.
const OPERATIONS: &[&str] = &[
    "OpControlBarrier %workgroup %m %s",
    "OpControlBarrier %m %workgroup %s",
    "OpMemoryBarrier %m %s",
    "%r = OpAtomicLoad %uint %shared %m %s",
    "OpAtomicStore %shared %m %s %one",
    "%r = OpAtomicIAdd %uint %shared %m %s %one",
    "%r = OpAtomicCompareExchange %uint %shared %m %s %none %one %none",
];

const SPLIT: &[&str] = &[
    "OpControlBarrierArriveEXT %workgroup %m %s\nOpControlBarrierWaitEXT %workgroup %workgroup %none",
    "OpControlBarrierArriveEXT %workgroup %workgroup %none\nOpControlBarrierWaitEXT %workgroup %m %s",
];

const SCOPES: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];
const SEMANTICS: &[u32] = &[
    0x0, 0x2, 0x4, 0x6, 0x8, 0x10, 0x40, 0x100, 0x102, 0x104, 0x108, 0x110, 0x142, 0x148, 0x202,
    0x208, 0x808, 0x1108, 0x2104, 0x4102, 0x8108,
];
const ENVIRONMENTS: &[&str] = &["universal", "vulkan1.0", "vulkan1.3", "opencl2.0"];

/// Rules that spirv-val does not have: bits without a meaning, and scopes and orders of OpenCL.
const OURS_ALONE: &[&str] = &[
    "SB1203", "SB1113", "SB1114", "SB1115", "SB1122", "SB1221", "SB1222",
];

fn module(environment: &str, operation: &str, scope: u32, semantics: u32) -> String {
    let kernel = environment.starts_with("opencl");
    let split = operation.contains("Arrive");
    let (capabilities, memory, model, mode, version) = match environment {
        "opencl2.0" => (
            "OpCapability Kernel\nOpCapability Addresses\n",
            "Physical64 OpenCL",
            "Kernel",
            "",
            "1.0",
        ),
        "vulkan1.0" => (
            "OpCapability Shader\n",
            "Logical GLSL450",
            "GLCompute",
            "OpExecutionMode %main LocalSize 64 1 1\n",
            "1.0",
        ),
        _ => (
            "OpCapability Shader\n",
            "Logical GLSL450",
            "GLCompute",
            "OpExecutionMode %main LocalSize 64 1 1\n",
            "1.3",
        ),
    };
    let (capability, extension) = if split {
        (
            "OpCapability SplitBarrierEXT\n",
            "OpExtension \"SPV_EXT_split_barrier\"\n",
        )
    } else {
        ("", "")
    };
    let name = if kernel { "main_" } else { "main" };
    format!(
        "; Version: {version}\n{capabilities}{capability}{extension}OpMemoryModel {memory}\nOpEntryPoint {model} %main \"{name}\"\n{mode}\
        %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n%one = OpConstant %uint 1\n%none = OpConstant %uint 0\n\
        %workgroup = OpConstant %uint 2\n%m = OpConstant %uint {scope}\n%s = OpConstant %uint {semantics}\n\
        %ptr = OpTypePointer Workgroup %uint\n%shared = OpVariable %ptr Workgroup\n\
        %main = OpFunction %void None %fn\n%entry = OpLabel\n{operation}\nOpReturn\nOpFunctionEnd\n"
    )
}

/// The name of an environment for spirv-val.
fn peer_environment(environment: &str) -> &str {
    match environment {
        "universal" => "spv1.3",
        other => other,
    }
}

/// Every operation, environment, scope and semantics.
pub(crate) fn verdicts_on_all_combinations_agree() -> Result<(), Missing> {
    let peer = SpirvVal::find()?;
    // Versions before June 2026 take everything in split barriers.
    let knows_split = peer.year >= 2026;
    let mut differences: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = 0;
    let operations = OPERATIONS
        .iter()
        .chain(SPLIT.iter().filter(|_| knows_split));
    for operation in operations {
        for environment in ENVIRONMENTS {
            for (scope, semantics) in SCOPES
                .iter()
                .flat_map(|scope| SEMANTICS.iter().map(move |semantics| (*scope, *semantics)))
            {
                let text = module(environment, operation, scope, semantics);
                let assembled =
                    assemble(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
                let module = assembled.module().unwrap();
                let settings = Settings::new(environment.parse::<Environment>().unwrap());
                let ours: BTreeSet<String> = validated(&module, &settings)
                    .iter()
                    .filter(|problem| problem.severity == Severity::Error)
                    .map(|problem| problem.code.to_string())
                    .filter(|code| !OURS_ALONE.contains(&code.as_str()))
                    .collect();
                let complaint = peer.complaint(&module, peer_environment(environment));
                count += 1;
                if complaint.is_none() != ours.is_empty() {
                    let theirs = complaint.unwrap_or_default();
                    let first = theirs.lines().next().unwrap_or("accepted");
                    let place = format!(
                        "{environment}: {operation} scope {scope} semantics {semantics:#x}: {ours:?}, spirv-val: {first}"
                    );
                    *differences.entry(place).or_default() += 1;
                }
            }
        }
    }
    println!("{count} combinations");
    assert!(
        differences.is_empty(),
        "{} of {count}: {differences:#?}",
        differences.len()
    );
    Ok(())
}
