//! Support for tests of the run-time rules: entry points from text.

use super::check;
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::diagnostic::Diagnostics;
use crate::module::WordOffset;
use crate::validate::{Environment, Settings};

const ANNOTATIONS: &str = "
    %glsl = OpExtInstImport 'GLSL.std.450'
    %cl = OpExtInstImport 'OpenCL.std'
    OpDecorate %index 11 29
    OpDecorate %spec 1 5
    OpDecorate %local 11 27
    OpDecorate %global 11 28
    OpDecorate %group_id 11 26
    OpDecorate %constants_struct 2
    OpDecorate %buffer_struct 2
";

/// Names for the entry points of the tests: %glsl and %cl (extended sets), %index
/// (LocalInvocationIndex), %local, %global, %group_id (vectors), %constants (push constants, four
/// numbers), %buffer (a storage buffer of numbers), %shared and %tile (workgroup memory), %i and
/// %flag (in functions).
const GLOBALS: &str = "
    %u4 = OpConstant %uint 4
    %uniform_release = OpConstant %uint 68
    %u16 = OpConstant %uint 16
    %spec = OpSpecConstantTrue %bool
    %u48 = OpConstant %uint 48
    %u63 = OpConstant %uint 63
    %u64 = OpConstant %uint 64
    %v3 = OpTypeVector %uint 3
    %in_uint = OpTypePointer 1 %uint
    %in_v3 = OpTypePointer 1 %v3
    %index = OpVariable %in_uint 1
    %local = OpVariable %in_v3 1
    %global = OpVariable %in_v3 1
    %group_id = OpVariable %in_v3 1
    %constants_struct = OpTypeStruct %uint %uint %uint %uint
    %constants_ptr = OpTypePointer 9 %constants_struct
    %constants = OpVariable %constants_ptr 9
    %constant_ptr = OpTypePointer 9 %uint
    %array = OpTypeRuntimeArray %uint
    %buffer_struct = OpTypeStruct %array
    %buffer_ptr = OpTypePointer 12 %buffer_struct
    %buffer = OpVariable %buffer_ptr 12
    %element_ptr = OpTypePointer 12 %uint
    %shared_ptr = OpTypePointer 4 %uint
    %shared = OpVariable %shared_ptr 4
    %tile_array = OpTypeArray %uint %u64
    %tile_ptr = OpTypePointer 4 %tile_array
    %tile = OpVariable %tile_ptr 4
";

/// A module whose entry point has `body`, in a workgroup of 64.
pub(in crate::validate) fn module(body: &str) -> Assembled {
    module_with(body, "")
}

/// As [`module`], with more functions.
pub(in crate::validate) fn module_with(body: &str, functions: &str) -> Assembled {
    let main = format!("%main = OpFunction %void 0 %fn\n%start = OpLabel\n{body}\nOpFunctionEnd\n");
    assemble(ANNOTATIONS, &[GLOBALS, &main, functions].concat())
}

/// What the run-time rules say, sorted.
pub(in crate::validate) fn problems(module: &Assembled) -> Diagnostics {
    problems_with(module, true)
}

/// As [`problems`]; `defaults` says whether specialization constants have them.
pub(in crate::validate) fn problems_with(module: &Assembled, defaults: bool) -> Diagnostics {
    let (declarations, constants) = declared(&module.module);
    let mut diagnostics = Diagnostics::new();
    let settings = Settings {
        assume_default_spec: defaults,
        ..Settings::new(Environment::from_declarations(&declarations))
    };
    check(&declarations, &constants, &settings, &mut diagnostics);
    diagnostics.sorted()
}

/// Severity, code and how manieth arrive or wait of the module it is at, notes left out.
pub(in crate::validate) fn summary(module: &Assembled) -> Vec<String> {
    let sites: Vec<WordOffset> = module
        .module
        .instructions()
        .filter(|inst| matches!(inst.opcode(), 6142 | 6143))
        .map(|inst| inst.offset)
        .collect();
    problems(module)
        .iter()
        .filter(|problem| problem.severity != crate::diagnostic::Severity::Note)
        .map(|problem| {
            let site = sites
                .iter()
                .position(|site| Some(*site) == problem.location.word);
            let place = site.map_or_else(|| "?".to_owned(), |site| site.to_string());
            format!("{} {} {place}", problem.severity, problem.code)
        })
        .collect()
}

/// [`summary`] of a body that starts with loads: %lane is LocalInvocationIndex, %pc and %qc are
/// push constants, %c and %d say that they are not 0.
pub(in crate::validate) fn of(body: &str) -> Vec<String> {
    summary(&module(&[LOADS, body].concat()))
}

/// See [`of`].
pub(in crate::validate) const LOADS: &str = "
    %i = OpVariable %ptr 7
    %flag = OpVariable %ptr 7
    %lane = OpLoad %uint %index
    %pc_address = OpAccessChain %constant_ptr %constants %u0
    %pc = OpLoad %uint %pc_address
    %qc_address = OpAccessChain %constant_ptr %constants %u1
    %qc = OpLoad %uint %qc_address
    %c = OpINotEqual %bool %pc %u0
    %d = OpINotEqual %bool %qc %u0
";
