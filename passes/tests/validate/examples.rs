//! Runs the examples in the texts of the rules: a bad one raises the rule's code, a good one does
//! not.
//!
//! An example is a fenced block. The words behind `spirv` say what it is and where it stands:
//!
//! | word | what it says |
//! |---|---|
//! | `bad`, `good` | whether the rule is broken |
//! | `vulkan1.0`, `opencl2.0`, ... | the environment; Vulkan 1.3 when there is none |
//! | `Fragment`, ... | the execution model; GLCompute when there is none, Kernel for OpenCL |
//! | `1.2` | the version of SPIR-V; 1.6 when there is none |
//! | `bare` | the module declares nothing about split barriers but what the example declares |
//! | `maxComputeSharedMemorySize=16` | a limit |
//! | `SB1104`, ... | a code that the example raises besides the rule's own |

use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, SpecValues, assemble};
use splitbar_passes::validate::rules::{LINTS, RULES, RUN_TIME_RULES};
use splitbar_passes::validate::{Environment, Rule, Settings, validate};
use std::collections::BTreeSet;

struct Example<'t> {
    bad: bool,
    environment: Environment,
    model: &'t str,
    version: &'t str,
    bare: bool,
    limit: Option<(&'t str, u64)>,
    also: BTreeSet<&'t str>,
    lines: Vec<&'t str>,
}

/// The examples of a text, in order.
fn examples(text: &str) -> Vec<Example<'_>> {
    let mut lines = text.lines();
    let mut all = Vec::new();
    while let Some(fence) = lines.find(|line| line.starts_with("```")) {
        let words = fence.strip_prefix("```spirv ").unwrap();
        let mut example = Example::from_words(words);
        example.lines = lines.by_ref().take_while(|line| *line != "```").collect();
        all.push(example);
    }
    all
}

impl<'t> Example<'t> {
    fn from_words(words: &'t str) -> Self {
        let mut example = Example {
            bad: false,
            environment: Environment::Vulkan13,
            model: "GLCompute",
            version: "1.6",
            bare: false,
            limit: None,
            also: BTreeSet::new(),
            lines: Vec::new(),
        };
        let mut kind = None;
        for word in words.split_whitespace() {
            if word == "bad" || word == "good" {
                kind = Some(word);
            } else if word == "bare" {
                example.bare = true;
            } else if let Ok(environment) = word.parse() {
                example.environment = environment;
                if environment.is_opencl() {
                    example.model = "Kernel";
                }
            } else if let Some((name, value)) = word.split_once('=') {
                example.limit = Some((name, value.parse().unwrap()));
            } else if word.starts_with("SB") {
                example.also.insert(word);
            } else if word.starts_with(|c: char| c.is_ascii_digit()) {
                example.version = word;
            } else {
                example.model = word;
            }
        }
        example.bad = kind.unwrap() == "bad";
        example
    }

    /// The example in a whole module: its lines go to the sections that their instructions belong
    /// to.
    fn module(&self) -> String {
        let kernel = self.model == "Kernel";
        let mut sections: [Vec<&str>; 8] = Default::default();
        let [
            capabilities,
            extensions,
            model,
            entries,
            annotations,
            globals,
            body,
            functions,
        ] = &mut sections;
        capabilities.extend(if kernel {
            ["OpCapability Kernel", "OpCapability Addresses"]
        } else {
            ["OpCapability Shader", ""]
        });
        if !self.bare {
            capabilities.push("OpCapability SplitBarrierEXT");
            extensions.push(if kernel {
                "OpExtension \"SPV_INTEL_split_barrier\""
            } else {
                "OpExtension \"SPV_EXT_split_barrier\""
            });
        }
        let entry = format!("OpEntryPoint {} %main \"main\" %lane_variable", self.model);
        entries.push(&entry);
        entries.push(match self.model {
            "Fragment" => "OpExecutionMode %main OriginUpperLeft",
            "GLCompute" | "Kernel" | "MeshEXT" | "TaskEXT" => {
                "OpExecutionMode %main LocalSize 64 1 1"
            }
            "TessellationControl" => "OpExecutionMode %main OutputVertices 4",
            _ => "",
        });
        annotations.push("OpDecorate %lane_variable BuiltIn LocalInvocationIndex");
        globals.extend(GLOBALS.lines());
        body.extend(BODY.lines());
        for line in &self.lines {
            let op = line
                .split_whitespace()
                .find(|word| word.starts_with("Op"))
                .unwrap_or("");
            let section = match op {
                _ if !functions.is_empty() || op == "OpFunction" => &mut *functions,
                "OpCapability" => &mut *capabilities,
                "OpExtension" => &mut *extensions,
                "OpMemoryModel" => &mut *model,
                "OpEntryPoint" | "OpExecutionMode" => &mut *entries,
                "OpDecorate" | "OpMemberDecorate" => &mut *annotations,
                "OpVariable" => &mut *globals,
                op if op.starts_with("OpType")
                    || op.starts_with("OpConstant")
                    || op.starts_with("OpSpecConstant") =>
                {
                    &mut *globals
                }
                _ => &mut *body,
            };
            section.push(line);
        }
        if model.is_empty() {
            model.push(if kernel {
                "OpMemoryModel Physical64 OpenCL"
            } else {
                "OpMemoryModel Logical GLSL450"
            });
        }
        body.extend(["OpReturn", "OpFunctionEnd"]);
        format!(
            "; Version: {}\n{}",
            self.version,
            sections.concat().join("\n")
        )
    }

    /// Codes that the checks raise.
    fn raised(&self) -> Result<BTreeSet<String>, Diagnostics> {
        let found = self.checked(false)?;
        Ok(found.iter().map(|d| d.code.to_string()).collect())
    }

    /// The diagnostics of the checks; `strict` makes an error of what is not proved.
    fn checked(&self, strict: bool) -> Result<Diagnostics, Diagnostics> {
        let assembled = assemble(&self.module())?;
        let module = assembled.module()?;
        let mut diagnostics = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut diagnostics);
        let constants =
            Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        let mut settings = Settings::new(self.environment);
        settings.strict = strict;
        if let Some((name, value)) = self.limit {
            settings.limits.insert(name.to_owned(), value);
        }
        validate(&declarations, &constants, &settings, &mut diagnostics);
        Ok(diagnostics)
    }
}

/// The ids that examples may use. The names of memory semantics are memory order and storage class.
const GLOBALS: &str = "\
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%cross_device = OpConstant %uint 0
%device = OpConstant %uint 1
%workgroup = OpConstant %uint 2
%subgroup = OpConstant %uint 3
%invocation = OpConstant %uint 4
%queue_family = OpConstant %uint 5
%shader_call = OpConstant %uint 6
%none = OpConstant %uint 0x0
%release_workgroup = OpConstant %uint 0x104
%acquire_workgroup = OpConstant %uint 0x102
%acquire_release_workgroup = OpConstant %uint 0x108
%sequentially_consistent_workgroup = OpConstant %uint 0x110
%release_uniform = OpConstant %uint 0x44
%acquire_release_uniform = OpConstant %uint 0x48
%c0 = OpConstant %uint 0
%c1 = OpConstant %uint 1
%c16 = OpConstant %uint 16
%c64 = OpConstant %uint 64
%one_half = OpConstant %float 0.5
%ptr_input = OpTypePointer Input %uint
%lane_variable = OpVariable %ptr_input Input
%array_64 = OpTypeArray %uint %c64
%ptr_array = OpTypePointer Workgroup %array_64
%ptr_workgroup = OpTypePointer Workgroup %uint
%tile = OpVariable %ptr_array Workgroup
%shared = OpVariable %ptr_workgroup Workgroup
%ptr_private = OpTypePointer Private %uint
%private = OpVariable %ptr_private Private";

/// How the entry point of an example begins: %mine and %theirs are two elements of %tile.
const BODY: &str = "\
%main = OpFunction %void None %fn
%start = OpLabel
%lane = OpLoad %uint %lane_variable
%next = OpBitwiseXor %uint %lane %c1
%mine = OpAccessChain %ptr_workgroup %tile %lane
%theirs = OpAccessChain %ptr_workgroup %tile %next";

fn complaints(rule: &Rule) -> Vec<String> {
    let code = rule.code.to_string();
    let examples = examples(rule.text);
    let mut wrong = Vec::new();
    if !(examples.iter().any(|example| example.bad) && examples.iter().any(|example| !example.bad))
    {
        wrong.push(format!("{code}: a bad and a good example are needed"));
    }
    for example in examples {
        let mut expected: BTreeSet<String> =
            example.also.iter().map(|code| (*code).to_owned()).collect();
        if example.bad {
            expected.insert(code.clone());
        }
        let text = example.lines.join("\n");
        match example.raised() {
            Ok(raised) if raised == expected => {}
            Ok(raised) => wrong.push(format!(
                "{code}: raises {raised:?}, not {expected:?}:\n{text}"
            )),
            Err(problems) => wrong.push(format!("{code}: {problems}:\n{text}")),
        }
    }
    wrong
}

/// Even strict checks report a lint as a warning or a note, and every other rule as an error.
#[test]
fn lints_are_the_rules_without_errors() {
    for rule in RULES.iter().chain(RUN_TIME_RULES) {
        let bad = examples(rule.text).into_iter().filter(|one| one.bad);
        let is_error = bad
            .flat_map(|one| {
                one.checked(true)
                    .unwrap_or_else(|problems| problems)
                    .errors()
                    .iter()
                    .map(|d| d.code)
                    .collect::<Vec<_>>()
            })
            .any(|code| code == rule.code);
        assert_eq!(is_error, !LINTS.contains(&rule.code), "{}", rule.code);
    }
}

#[test]
fn bad_examples_raise_their_rule_and_good_ones_do_not() {
    let wrong: Vec<String> = RULES
        .iter()
        .chain(RUN_TIME_RULES)
        .flat_map(|rule| complaints(rule))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
