//! The instructions that are lowered but have no feature, with the reasons. The suite compares the
//! list with `docs/instructions.md` and the extended instruction sets.

use super::Family;
use std::collections::BTreeSet;

/// The reason why instructions need no feature; their names have no `Op` or set.
pub struct Exempt {
    /// The reason.
    pub why: &'static str,
    /// The instructions, as the features call them.
    pub ops: &'static [&'static str],
}

/// All of them.
pub const EXEMPT: &[Exempt] = &[
    Exempt {
        why: "barriers and fences: the kernels of fixtures/ run under hostile schedules (suite sim/), fixtures/fences has the code of each",
        ops: &[
            "OpControlBarrier",
            "OpControlBarrierArriveINTEL",
            "OpControlBarrierWaitINTEL",
            "OpMemoryBarrier",
        ],
    },
    Exempt {
        why: "named barriers: only gfx12.5 has them; lowering/llvm/src/emit/family_tests",
        ops: &["OpNamedBarrierInitialize", "OpMemoryNamedBarrier"],
    },
    Exempt {
        why: "images: lowering/llvm/src/emit/family_tests/images.rs and samplers.rs, tests/tests/suite/images.rs, samplers.rs and sampling.rs",
        ops: &[
            "OpImage",
            "OpImageDrefGather",
            "OpImageFetch",
            "OpImageGather",
            "OpImageQueryFormat",
            "OpImageQueryLevels",
            "OpImageQueryLod",
            "OpImageQueryOrder",
            "OpImageQuerySamples",
            "OpImageQuerySize",
            "OpImageQuerySizeLod",
            "OpImageRead",
            "OpImageSampleDrefExplicitLod",
            "OpImageSampleDrefImplicitLod",
            "OpImageSampleExplicitLod",
            "OpImageSampleImplicitLod",
            "OpImageSampleProjDrefExplicitLod",
            "OpImageSampleProjDrefImplicitLod",
            "OpImageSampleProjExplicitLod",
            "OpImageSampleProjImplicitLod",
            "OpImageTexelPointer",
            "OpImageWrite",
            "OpSampledImage",
        ],
    },
    Exempt {
        why: "tensors: tests/tests/suite/tensors.rs, lowering/llvm/src/emit/family_tests/tensors.rs",
        ops: &[
            "OpTensorQuerySizeARM",
            "OpTensorReadARM",
            "OpTensorWriteARM",
        ],
    },
    Exempt {
        why: "tensor layouts and views: tests/tests/suite/tensor_layouts.rs, fixtures/kernels/cooperative_tensors",
        ops: &[
            "OpCooperativeMatrixLoadTensorNV",
            "OpCooperativeMatrixStoreTensorNV",
            "OpCreateTensorLayoutNV",
            "OpCreateTensorViewNV",
            "OpTensorLayoutSetBlockSizeNV",
            "OpTensorLayoutSetClampValueNV",
            "OpTensorLayoutSetDimensionNV",
            "OpTensorLayoutSetStrideNV",
            "OpTensorLayoutSliceNV",
            "OpTensorViewSetClipNV",
            "OpTensorViewSetDimensionNV",
            "OpTensorViewSetStrideNV",
        ],
    },
    Exempt {
        why: "cooperative matrices: fixtures/kernels/cooperative_matmul against its reference, and lowering/llvm/src/emit/family_tests/matrices.rs",
        ops: &[
            "OpCooperativeMatrixConvertNV",
            "OpCooperativeMatrixLengthKHR",
            "OpCooperativeMatrixLoadKHR",
            "OpCooperativeMatrixMulAddKHR",
            "OpCooperativeMatrixPerElementOpNV",
            "OpCooperativeMatrixReduceNV",
            "OpCooperativeMatrixStoreKHR",
            "OpCooperativeMatrixTransposeNV",
        ],
    },
    Exempt {
        why: "a hint to the optimiser, without a result",
        ops: &["OpLoopControlINTEL"],
    },
    Exempt {
        why: "the door to the extended sets, whose instructions are looked for one by one",
        ops: &["OpExtInst", "OpExtInstWithForwardRefsKHR"],
    },
    Exempt {
        why: "of fragment shaders",
        ops: &[
            "GLSL.std.450 InterpolateAtCentroid",
            "GLSL.std.450 InterpolateAtOffset",
            "GLSL.std.450 InterpolateAtSample",
        ],
    },
    Exempt {
        why: "reserved, without a meaning",
        ops: &["GLSL.std.450 IMix"],
    },
];

/// The instructions that `docs/instructions.md` lists as lowered.
pub fn lowered(page: &str) -> Vec<&str> {
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            [_, number, name, outcome, _] if number.parse::<u32>().is_ok() => Some((name, outcome)),
            _ => None,
        }
    });
    rows.filter(|(_, outcome)| !outcome.starts_with("refused"))
        .map(|(name, _)| name)
        .collect()
}

/// The gaps and errors in the coverage of `wanted`: instructions without a feature and without a
/// reason, reasons for instructions that have a feature or are not wanted, and features whose code
/// does not have their instruction.
pub fn problems(families: &[Family], wanted: &[String]) -> Vec<String> {
    let features = || families.iter().flat_map(|f| &f.features);
    let tested: BTreeSet<&str> = features().map(|f| f.op.as_str()).collect();
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    let exempt: BTreeSet<&str> = EXEMPT.iter().flat_map(|e| e.ops.iter().copied()).collect();
    let mut problems = Vec::new();
    for op in wanted
        .difference(&tested)
        .filter(|op| !exempt.contains(**op))
    {
        problems.push(format!(
            "{op} has neither a feature nor a place in coverage.rs"
        ));
    }
    for op in &exempt {
        if tested.contains(op) {
            problems.push(format!("{op} has a feature: coverage.rs need not name it"));
        } else if !wanted.contains(op) {
            problems.push(format!("{op} is not lowered: coverage.rs need not name it"));
        }
    }
    for feature in features() {
        let name = feature.op.rsplit(' ').next().unwrap_or_default();
        let texts = [
            &feature.body,
            &feature.globals,
            &feature.variables,
            &feature.imports,
            &feature.functions,
        ];
        let word = |text: &String| text.split_whitespace().any(|word| word == name);
        if !texts.into_iter().any(word) {
            problems.push(format!("the code of {} has no {name}", feature.name()));
        }
    }
    problems
}
