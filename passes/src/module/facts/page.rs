//! The table as text, and its freshness.
#![allow(clippy::unwrap_used)]

use super::SyncOperands;
use super::{Access, Class, Consequence, Extent, Facts, Operand, Role, Undefined, When};
use super::{amd, core, glsl, opencl};
use crate::module::grammar;
use expect_test::expect_file;
use std::fmt::Write;

/// The class as the page shows it.
fn class(class: Class) -> String {
    match class {
        Class::Refused(why) => format!("refused: {why}"),
        other => format!("{other:?}")
            .replace(['(', ')'], " ")
            .trim()
            .to_lowercase(),
    }
}

fn access(access: &Access) -> String {
    let role = match access.role {
        Role::Read => "reads",
        Role::Write => "writes",
        Role::Update => "updates",
        Role::Forward => "forwards",
    };
    let kind = match access.kind {
        Operand::Pointer => "",
        Operand::Pointers => " (pointers)",
        Operand::Image => " (image)",
        Operand::Tensor => " (tensor)",
    };
    let extent = match (access.role, access.extent) {
        (Role::Forward, _) | (_, Extent::Any) => String::new(),
        (_, Extent::Bytes(operand)) => format!(", bytes: {operand}"),
        (_, Extent::Elements(operand)) => format!(", elements: {operand}"),
        (_, other) => format!(", {}", format!("{other:?}").to_lowercase()),
    };
    format!("{role} {}{kind}{extent}", access.operand)
}

fn undefined(undefined: &Undefined) -> String {
    let what = match undefined.what {
        Consequence::Value => "value",
        Consequence::Behaviour => "behaviour",
    };
    let when = match undefined.when {
        When::Always => "always",
        When::Unwritten => "memory that was not written",
        When::OutOfBounds => "outside of the object",
        When::ShiftBeyondWidth => "shift amount not below the width",
        When::FieldBeyondWidth => "field not within the width",
        When::DivisorZero => "divisor 0",
        When::QuotientOverflow => "divisor 0, quotient not representable",
        When::NotRepresentable => "value not representable",
        When::IndexBeyondComponents => "index not below the number of components",
        When::BitBeyondBallot => "bit beyond the group",
        When::ComponentLeftOut => "component 0xFFFFFFFF",
        When::OtherStorageClass => "pointer of another storage class",
        When::OtherArray => "pointers into two arrays",
        When::OutsideDomain => "operand outside of the domain",
        When::NotANumber => "operand NaN",
        When::LimitsReversed => "lower limit above the upper one",
        When::Singular => "singular matrix",
        When::OtherInvocationInactive => "the other invocation is not active",
        When::NoBitSet => "no bit set",
        When::NotConverged => "not executed together",
        When::ConditionFalse => "condition false",
        When::Executed => "executed",
    };
    format!("{what}: {when}")
}

fn sync(operands: SyncOperands) -> String {
    let named = [
        ("execution", operands.execution),
        ("memory", operands.memory),
        ("semantics", operands.semantics),
        ("unequal", operands.unequal),
    ];
    let shown: Vec<String> = named
        .iter()
        .filter_map(|(name, operand)| Some(format!("{name} {}", (*operand)?)))
        .collect();
    shown.join(", ")
}

fn line(number: u32, name: &str, facts: &Facts, operands: SyncOperands) -> String {
    let accesses: Vec<String> = facts.accesses.iter().map(access).collect();
    let cases: Vec<String> = facts.undefined.iter().map(undefined).collect();
    let lanes = if facts.active_lanes { "yes" } else { "" };
    format!(
        "| {number} | {name} | {} | {} | {} | {} | {lanes} | {} |\n",
        class(facts.class),
        accesses.join("; "),
        sync(operands),
        cases.join("; "),
        facts.source
    )
}

fn section(text: &mut String, title: &str, rows: &str) {
    write!(
        text,
        "\n## {title}\n\n| number | name | class | memory | scopes and semantics | undefined | active lanes | source |\n|--:|---|---|---|---|---|---|---|\n{rows}"
    )
    .unwrap();
}

#[test]
fn the_page_of_facts_is_fresh() {
    let mut text = String::from(
        "# Facts of instructions\n\n\
         This page lists, for each instruction that a GLCompute or Kernel module can have, the facts that every analysis, rule and pass uses. *Memory* names the operands that lead to memory,\n\
         counted from 0 without result type and result. *Undefined* lists the cases that the specification leaves undefined. *Active lanes*: the result depends on the\n\
         invocations that execute the instruction together. An instruction without a row may access memory through each of its pointers. Sources are sections of the SPIR-V\n\
         specification, or extensions. The table is `passes/src/module/facts/`; `cargo xtask bless facts` writes this page.\n",
    );
    let mut opcodes: Vec<_> = core::rows().collect();
    opcodes.sort_by_key(|(opcode, _)| *opcode);
    let (refused, described): (Vec<_>, Vec<_>) = opcodes
        .into_iter()
        .partition(|(_, facts)| matches!(facts.class, Class::Refused(_)));
    let rows: String = described
        .iter()
        .map(|(opcode, facts)| {
            let shape = grammar::shape(*opcode);
            line((*opcode).into(), &grammar::name(*opcode), facts, shape.sync)
        })
        .collect();
    section(&mut text, "Instructions", &rows);
    let none = SyncOperands::default();
    let rows: String = (0..=u32::from(u8::MAX))
        .filter_map(|number| {
            let op = spirv::GlslStd450Op::from_u32(number)?;
            Some(line(number, &format!("{op:?}"), glsl::row(number), none))
        })
        .collect();
    section(&mut text, "GLSL.std.450", &rows);
    let rows: String = (0..=u32::from(u8::MAX))
        .filter_map(|number| {
            let op = spirv::OpenclStd100Op::from_u32(number)?;
            Some(line(number, &format!("{op:?}"), opencl::row(number), none))
        })
        .collect();
    section(&mut text, "OpenCL.std", &rows);
    let mut rows = String::new();
    for (set, names) in amd_names() {
        for (number, name) in names {
            rows += &line(number, &name, amd::row(set, number), none);
        }
    }
    section(&mut text, "Sets of AMD's extensions", &rows);
    text += "\n## Refused instructions\n\nThe lowering refuses these instructions by name.\n\n| number | name | part of | source |\n|--:|---|---|---|\n";
    for (opcode, facts) in refused {
        let Class::Refused(why) = facts.class else {
            continue;
        };
        let name = grammar::name(opcode);
        writeln!(text, "| {opcode} | {name} | {why} | {} |", facts.source).unwrap();
    }
    expect_file!["../../../../docs/facts.md"].assert_eq(&text);
}

/// The instructions of AMD's sets.
fn amd_names() -> [(&'static str, Vec<(u32, String)>); 3] {
    fn names<E: std::fmt::Debug>(of: fn(u32) -> Option<E>) -> Vec<(u32, String)> {
        let known = (0..64).filter_map(|number| Some((number, of(number)?)));
        known
            .map(|(number, op)| (number, format!("{op:?}")))
            .collect()
    }
    [
        (
            "SPV_AMD_shader_ballot",
            names(spirv::SpvAmdShaderBallotOp::from_u32),
        ),
        (
            "SPV_AMD_gcn_shader",
            names(spirv::SpvAmdGcnShaderOp::from_u32),
        ),
        (
            "SPV_AMD_shader_trinary_minmax",
            names(spirv::SpvAmdShaderTrinaryMinmaxOp::from_u32),
        ),
    ]
}
