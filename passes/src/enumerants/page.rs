//! The table as text, and its freshness.
#![allow(clippy::unwrap_used)]

use super::Outcome::{self, Honoured, NoEffect, Refused};
use super::{
    built_in, capability, decoration, denorm_mode, execution_mode, operand, operation_mode,
    rounding_mode, storage_class,
};
use expect_test::expect_file;
use std::fmt::{Debug, Write};

fn line(number: u32, name: &str, outcome: Outcome) -> String {
    let (what, why) = match outcome {
        Honoured(place) => ("honoured", place.to_owned()),
        NoEffect(why) => ("without effect", why.to_owned()),
        Refused(code) => ("refused", code.to_string()),
    };
    format!("| {number} | {name} | {what} | {why} |\n")
}

/// The rows of an enumeration, whose numbers are below 2^13.
fn numbers<E: Debug + Copy>(
    title: &str,
    of: fn(u32) -> Option<E>,
    outcome: fn(E) -> Outcome,
) -> String {
    let rows: Vec<String> = (0..1 << 13)
        .filter_map(|number| {
            let one = of(number)?;
            Some(line(number, &format!("{one:?}"), outcome(one)))
        })
        .collect();
    section(title, &rows.concat())
}

fn section(title: &str, rows: &str) -> String {
    let mut text = String::new();
    write!(
        text,
        "\n## {title}\n\n| number | name | outcome | where or why |\n|--:|---|---|---|\n{rows}"
    )
    .unwrap();
    text
}

macro_rules! bits {
    ($title:literal, $table:ident, $type:ty) => {{
        let rows = operand::$table;
        let listed = rows
            .iter()
            .fold(<$type>::empty(), |all, (bit, _)| all | *bit);
        assert_eq!(listed, <$type>::all(), "{}", $title);
        let text: String = rows
            .iter()
            .map(|(bit, outcome)| {
                let (name, _) = bit.iter_names().next().unwrap();
                line(bit.bits(), name, *outcome)
            })
            .collect();
        section($title, &text)
    }};
}

#[test]
fn the_list_of_enumerants_is_fresh() {
    let mut text = String::from(
        "# Enumerants\n\n\
         This page lists how splitbar handles the decorations, execution modes, operands, built-in variables, storage classes and capabilities of a kernel, as the `spirv` crate names them.\n\
         *Honoured*: the code implements it. *Without effect*: the code is correct without it. *Refused*: a kernel that uses it is rejected with this code. Other numbers are rejected too:\n\
         SB0370 for decorations, SB0371 for bits of operands. The table is `passes/src/enumerants/`, and `compile` uses it. `cargo xtask bless enumerants`\n\
         writes this page.\n",
    );
    use spirv as s;
    text += &numbers("Decorations", s::Decoration::from_u32, decoration);
    text += &numbers(
        "Execution modes",
        s::ExecutionMode::from_u32,
        execution_mode,
    );
    text += &bits!("Memory operands", MEMORY, s::MemoryAccess);
    text += &bits!("Image operands", IMAGE, s::ImageOperands);
    text += &bits!("Tensor operands", TENSOR, s::TensorOperands);
    text += &bits!("Loop control", LOOP, s::LoopControl);
    text += &bits!("Selection control", SELECTION, s::SelectionControl);
    text += &bits!("Function control", FUNCTION, s::FunctionControl);
    text += &bits!("Fast-math modes", FAST_MATH, s::FPFastMathMode);
    text += &numbers("Rounding modes", s::FPRoundingMode::from_u32, rounding_mode);
    text += &numbers(
        "Modes for denormalized numbers",
        s::FPDenormMode::from_u32,
        denorm_mode,
    );
    text += &numbers(
        "Modes of operation",
        s::FPOperationMode::from_u32,
        operation_mode,
    );
    text += &numbers("Built-in variables", s::BuiltIn::from_u32, built_in);
    text += &numbers("Storage classes", s::StorageClass::from_u32, storage_class);
    text += &numbers("Capabilities", s::Capability::from_u32, capability);
    expect_file!["../../../docs/enumerants.md"].assert_eq(&text);
}
