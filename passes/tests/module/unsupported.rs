//! What follows from an unsupported type or an unknown instruction is not reported: such a module
//! is unsupported, not invalid.

use splitbar_passes::diagnostic::{Diagnostics, Kind, Severity};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues, assemble};
use splitbar_passes::validate::{Environment, Settings, validate};

/// Opcodes that no table knows.
const UNKNOWN: [u32; 2] = [60_000, 60_001];

/// A compute shader with more globals and more of a body. OpTypeNamedBarrier, OpBitReverse and
/// OpNop become instructions that no table knows.
fn module(annotations: &str, globals: &str, body: &str) -> Module<'static> {
    let text = format!(
        "; Version: 1.6
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %private
OpExecutionMode %main LocalSize 64 1 1
{annotations}
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%uint3 = OpTypeVector %uint 3
%ptr_private = OpTypePointer Private %uint
%c1 = OpConstant %uint 1
%i1 = OpConstant %int 1
{globals}
%private = OpVariable %ptr_private Private
%main = OpFunction %void None %fn
%entry = OpLabel
{body}
OpReturn
OpFunctionEnd"
    );
    let mut words = assemble(&text).unwrap().words;
    let mut at = 5;
    while at < words.len() {
        let (count, opcode) = (words[at] >> 16, words[at] & 0xffff);
        match opcode {
            327 => words[at] = count << 16 | UNKNOWN[0],
            0 | 204 => words[at] = count << 16 | UNKNOWN[1],
            21 | 22 if words[at + 2] == 64 => words[at + 2] = if opcode == 22 { 4 } else { 128 },
            _ => {}
        }
        at += count as usize;
    }
    Module::from_words(words).unwrap()
}

/// What the declarations, the constants and the rules say.
fn said(module: &Module<'_>) -> Diagnostics {
    let mut found = Diagnostics::new();
    let declarations = Declarations::new(module, &mut found);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut found);
    if !found.has_errors() {
        let settings = Settings::new(Environment::for_lowering(&declarations));
        validate(&declarations, &constants, &settings, &mut found);
    }
    found
}

/// Name, globals, body. A 64-bit type becomes one of 4 bits (floats) or 128 bits (integers).
const UNSUPPORTED: &[(&str, &str, &str)] = &[
    ("a type", "%f = OpTypeFloat 64", ""),
    (
        "a constant",
        "%f = OpTypeFloat 64\n%fc = OpConstant %f 1.0",
        "",
    ),
    (
        "a specialization constant",
        "%f = OpTypeFloat 64\n%fc = OpSpecConstant %f 1.0\n%op = OpSpecConstantOp %uint ConvertFToU %fc",
        "",
    ),
    (
        "a composite",
        "%f = OpTypeFloat 64\n%fc = OpUndef %f\n%v = OpTypeVector %f 2\n%vc = OpConstantComposite %v %fc %fc\n%n = OpConstantNull %v",
        "",
    ),
    (
        "an array",
        "%f = OpTypeFloat 64\n%a = OpTypeArray %f %c1\n%p = OpTypePointer Workgroup %a\n%w = OpVariable %p Workgroup",
        "%x = OpLoad %a %w\nOpStore %w %x",
    ),
    (
        "a structure",
        "%f = OpTypeFloat 64\n%s = OpTypeStruct %f %uint\n%p = OpTypePointer Private %s\n%pf = OpTypePointer Private %f\n%w = OpVariable %p Private\n%c0 = OpConstant %uint 0",
        "%q = OpAccessChain %pf %w %c0\n%x = OpLoad %f %q\n%y = OpFAdd %f %x %x\nOpStore %q %y",
    ),
    (
        "a value",
        "%f = OpTypeFloat 64",
        "%x = OpConvertUToF %f %c1\n%y = OpFAdd %f %x %x\n%z = OpConvertFToU %uint %y\nOpStore %private %z",
    ),
    (
        "a length",
        "%i = OpTypeInt 64 0\n%l = OpConstant %i 4\n%a = OpTypeArray %uint %l\n%p = OpTypePointer Private %a\n%w = OpVariable %p Private",
        "%x = OpLoad %a %w\nOpStore %w %x",
    ),
    (
        "an operation",
        "%i = OpTypeInt 64 0\n%l = OpSpecConstant %i 4\n%sum = OpSpecConstantOp %i IAdd %l %l\n%is = OpSpecConstantOp %bool IEqual %sum %l",
        "",
    ),
    (
        "a function",
        "%f = OpTypeFloat 64\n%ff = OpTypeFunction %f %f",
        "%x = OpConvertUToF %f %c1\n%r = OpFunctionCall %f %g %x\nOpReturn\nOpFunctionEnd\n%g = OpFunction %f None %ff\n%a = OpFunctionParameter %f\n%start = OpLabel\nOpReturnValue %a\nOpFunctionEnd\n%h = OpFunction %void None %fn\n%h_start = OpLabel",
    ),
    ("an unknown type", "%t = OpTypeNamedBarrier", ""),
    (
        "an unknown type in use",
        "%t = OpTypeNamedBarrier\n%a = OpTypeArray %t %c1\n%s = OpTypeStruct %a %uint\n%p = OpTypePointer Private %t\n%w = OpVariable %p Private\n%n = OpConstantNull %t\n%u = OpUndef %t\n%cc = OpConstantComposite %a %u",
        "%x = OpLoad %t %w\nOpStore %w %x",
    ),
    (
        "an unknown function type",
        "%t = OpTypeNamedBarrier\n%ft = OpTypeFunction %t %t",
        "%u = OpUndef %t\n%r = OpFunctionCall %t %g %u\nOpReturn\nOpFunctionEnd\n%g = OpFunction %t None %ft\n%a = OpFunctionParameter %t\n%start = OpLabel\nOpReturnValue %a\nOpFunctionEnd\n%h = OpFunction %void None %fn\n%h_start = OpLabel",
    ),
    (
        "an unknown value",
        "",
        "%x = OpBitReverse %uint %c1\n%y = OpIAdd %uint %x %x\nOpStore %private %y",
    ),
    (
        "an unknown constant",
        "%x = OpBitReverse %uint %c1\n%v = OpConstantComposite %uint3 %x %c1 %x\n%a = OpTypeArray %uint %x\n%sum = OpSpecConstantOp %uint IAdd %x %c1",
        "OpStore %private %sum",
    ),
    ("an unknown instruction without operands", "OpNop", ""),
];

#[test]
fn what_follows_from_what_is_unsupported_is_not_reported() {
    for (name, globals, body) in UNSUPPORTED {
        let found = said(&module("", globals, body));
        let kinds: Vec<Kind> = found
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .map(|d| d.code.kind())
            .collect();
        assert!(
            !kinds.is_empty() && kinds.iter().all(|kind| *kind == Kind::Unsupported),
            "{name}: {found}"
        );
    }
}

#[test]
fn an_unknown_instruction_excuses_no_other_id() {
    let body = "%x = OpBitReverse %uint %c1\nOpStore %private %x\n%y = OpIAdd %uint %c1 %c1\nOpStore %private %y";
    let good = module("", "", body);
    let mut words = good.words().to_vec();
    // Nothing defines the id that OpIAdd adds any more.
    let sum = words
        .iter()
        .position(|word| *word == 5 << 16 | 128)
        .unwrap();
    words[3] += 1;
    words[sum + 3] = words[3] - 1;
    let bad = Module::from_words(words).unwrap();
    let kinds: Vec<Kind> = said(&bad).iter().map(|d| d.code.kind()).collect();
    assert!(kinds.contains(&Kind::Invalid), "{kinds:?}");
}

/// What drivers take is a warning: glslang writes gl_WorkGroupSize so when a dimension is a signed
/// specialization constant.
#[test]
fn a_constituent_of_the_other_sign_is_a_warning() {
    let annotations = "OpDecorate %s SpecId 0\nOpDecorate %wg BuiltIn WorkgroupSize";
    let globals = "%s = OpSpecConstant %int 8\n%wg = OpSpecConstantComposite %uint3 %s %c1 %i1";
    let module = module(annotations, globals, "");
    let found = said(&module);
    let warned: Vec<_> = found
        .iter()
        .map(|d| (d.severity, d.code.to_string()))
        .collect();
    assert_eq!(warned, [(Severity::Warning, "SB0106".to_owned())]);
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    let constants = Constants::evaluate(
        &declarations,
        &SpecValues([(0, 16)].into()),
        &mut Diagnostics::new(),
    );
    let entry = &declarations.entry_points[0];
    assert_eq!(
        declarations.workgroup_size(entry, &constants),
        Some([16, 1, 1])
    );
}

#[test]
fn a_constituent_of_another_type_is_an_error() {
    for globals in [
        "%s = OpSpecConstant %float 8\n%wg = OpSpecConstantComposite %uint3 %s %c1 %c1",
        "%s = OpSpecConstantTrue %bool\n%wg = OpSpecConstantComposite %uint3 %s %c1 %c1",
        "%wg = OpConstantComposite %uint3 %i1 %c1 %c1",
    ] {
        assert!(said(&module("", globals, "")).has_errors(), "{globals}");
    }
}
