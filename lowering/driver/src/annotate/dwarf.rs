//! The debug information of AMDGPU code, as text for the assembler: one unit, its functions, and
//! the calls that were inlined (DWARF 5).

use super::line_table::Files;
use super::placed::Placed;
use super::quoted;
use super::scopes::{Scope, Scopes, label};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The form of an entry: its tag, and its attributes, each with its form.
type Shape = (u32, &'static [(u32, u32)]);

/// Forms of values: DW_FORM_addr, data2, data8, string, data1, udata, ref4 and sec_offset.
const ADDRESS: u32 = 0x01;
const TWO_BYTES: u32 = 0x05;
const EIGHT_BYTES: u32 = 0x07;
const STRING: u32 = 0x08;
const BYTE: u32 = 0x0b;
const NUMBER: u32 = 0x0f;
const ENTRY: u32 = 0x13;
const SECTION_OFFSET: u32 = 0x17;

/// DW_AT_name, DW_AT_low_pc, DW_AT_high_pc and DW_AT_abstract_origin.
const NAME: (u32, u32) = (0x03, STRING);
const LOW: (u32, u32) = (0x11, ADDRESS);
const SIZE: (u32, u32) = (0x12, EIGHT_BYTES);
const ORIGIN: (u32, u32) = (0x31, ENTRY);

/// DW_TAG_compile_unit, with DW_AT_producer, DW_AT_language and DW_AT_stmt_list.
const UNIT: usize = 0;
/// DW_TAG_subprogram with code, with DW_AT_linkage_name, DW_AT_decl_file and DW_AT_decl_line.
const FUNCTION: usize = 1;
/// The same without a known line.
const UNPLACED_FUNCTION: usize = 2;
/// DW_TAG_subprogram that is inlined, with DW_AT_inline.
const ABSTRACT: usize = 3;
/// DW_TAG_inlined_subroutine, with DW_AT_call_file, DW_AT_call_line and DW_AT_call_column.
const CALL: usize = 4;
/// The same whose call is not known.
const UNKNOWN_CALL: usize = 5;

const SHAPES: [Shape; 6] = [
    (
        0x11,
        &[
            (0x25, STRING),
            (0x13, TWO_BYTES),
            NAME,
            (0x10, SECTION_OFFSET),
            LOW,
            SIZE,
        ],
    ),
    (
        0x2e,
        &[
            NAME,
            (0x6e, STRING),
            LOW,
            SIZE,
            (0x3a, NUMBER),
            (0x3b, NUMBER),
        ],
    ),
    (0x2e, &[NAME, (0x6e, STRING), LOW, SIZE]),
    (0x2e, &[NAME, (0x20, BYTE)]),
    (
        0x1d,
        &[
            ORIGIN,
            LOW,
            SIZE,
            (0x58, NUMBER),
            (0x59, NUMBER),
            (0x57, NUMBER),
        ],
    ),
    (0x1d, &[ORIGIN, LOW, SIZE]),
];

/// The number of the abbreviation for an entry of a shape.
fn abbreviation(shape: usize, has_children: bool) -> usize {
    2 * shape + usize::from(has_children) + 1
}

/// Writes the abbreviations.
fn write_abbreviations(out: &mut String) {
    out.push_str("\t.section\t.debug_abbrev,\"\",@progbits\n.Lsplitbar_abbreviations:\n");
    for (shape, (tag, attributes)) in SHAPES.iter().enumerate() {
        for has_children in [false, true] {
            let number = abbreviation(shape, has_children);
            let children = u8::from(has_children);
            // Writing to a string cannot fail.
            let _ = writeln!(out, "\t.uleb128 {number}, {tag}, {children}");
            for (attribute, form) in *attributes {
                let _ = writeln!(out, "\t.uleb128 {attribute}, {form}");
            }
            out.push_str("\t.uleb128 0, 0\n");
        }
    }
    out.push_str("\t.byte 0\n");
}

/// Writes the sections of code in `language`. `ends` are the labels that end `functions`; their
/// scopes are in the same order.
pub(super) fn write(
    out: &mut String,
    language: u16,
    functions: &[Placed],
    ends: &[&str],
    scopes: &Scopes,
    files: &Files,
) {
    let (Some(first), Some(last)) = (functions.first(), ends.last()) else {
        return;
    };
    let mut inlined = Vec::new();
    for scopes in &scopes.functions {
        names(scopes, &mut inlined);
    }
    let origins: BTreeMap<Arc<str>, usize> = inlined.iter().cloned().zip(0..).collect();
    let begin = &first.lines.symbol;
    let name = quoted::string(files.first().unwrap_or_default());
    write_abbreviations(out);
    let unit = abbreviation(UNIT, true);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "\t.section\t.debug_info,\"\",@progbits
.Lsplitbar_unit:
\t.long .Lsplitbar_unit_end-.Lsplitbar_unit_begin
.Lsplitbar_unit_begin:
\t.short 5
\t.byte 1, 8
\t.long .Lsplitbar_abbreviations
\t.uleb128 {unit}
\t.asciz \"splitbar\"
\t.short {language}
\t.asciz {name}
\t.long .Lsplitbar_lines
\t.quad {begin}
\t.quad {last}-{begin}
"
    );
    let kind = abbreviation(ABSTRACT, false);
    for (name, number) in inlined.iter().zip(0..) {
        let name = quoted::string(name);
        let _ = write!(
            out,
            ".Lsplitbar_origin{number}:\n\t.uleb128 {kind}\n\t.asciz {name}\n\t.byte 1\n"
        );
    }
    for ((function, end), scopes) in functions.iter().zip(ends).zip(&scopes.functions) {
        let at = function.at.as_ref();
        let begin = &function.lines.symbol;
        let name = quoted::string(&function.name);
        let linkage = quoted::string(function.lines.symbol.trim_matches('"'));
        let shape = if at.is_some() {
            FUNCTION
        } else {
            UNPLACED_FUNCTION
        };
        let kind = abbreviation(shape, !scopes.is_empty());
        let _ = write!(
            out,
            "\t.uleb128 {kind}\n\t.asciz {name}\n\t.asciz {linkage}\n\t.quad {begin}\n\t.quad {end}-{begin}\n"
        );
        if let Some(at) = at {
            let [file, line, _] = files.position(Some(at));
            let _ = writeln!(out, "\t.uleb128 {file}, {line}");
        }
        for scope in scopes {
            inlined_call(out, scope, end, &origins, files);
        }
        if !scopes.is_empty() {
            out.push_str("\t.byte 0\n");
        }
    }
    out.push_str("\t.byte 0\n.Lsplitbar_unit_end:\n");
    out.push_str("\t.section\t.debug_line,\"\",@progbits\n.Lsplitbar_lines:\n");
}

/// The names of the functions of `scopes`, each once, in order.
fn names(scopes: &[Scope], known: &mut Vec<Arc<str>>) {
    for scope in scopes {
        if !known.contains(&scope.name) {
            known.push(Arc::clone(&scope.name));
        }
        names(&scope.inner, known);
    }
}

fn inlined_call(
    out: &mut String,
    scope: &Scope,
    end: &str,
    origins: &BTreeMap<Arc<str>, usize>,
    files: &Files,
) {
    let low = label(scope.low);
    let high = scope.high.map_or_else(|| end.to_owned(), label);
    let origin = origins.get(&scope.name).copied().unwrap_or_default();
    let shape = if scope.call.is_some() {
        CALL
    } else {
        UNKNOWN_CALL
    };
    let kind = abbreviation(shape, !scope.inner.is_empty());
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "\t.uleb128 {kind}\n\t.long .Lsplitbar_origin{origin}-.Lsplitbar_unit\n\t.quad {low}\n\t.quad {high}-{low}\n"
    );
    if let Some(call) = &scope.call {
        let [file, line, column] = files.position(Some(call));
        let _ = writeln!(out, "\t.uleb128 {file}, {line}, {column}");
    }
    for inner in &scope.inner {
        inlined_call(out, inner, end, origins, files);
    }
    if !scope.inner.is_empty() {
        out.push_str("\t.byte 0\n");
    }
}
