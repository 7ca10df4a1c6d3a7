//! The values that records print, beside what the C library of the machine prints.

use splitbar_harness::Missing;
use splitbar_passes::printf::{Call, Format, HEADER_BYTES, Printed, Table, empty_buffer, layout};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

const INTEGERS: [u64; 9] = [
    0,
    1,
    7,
    42,
    0x7fff_ffff,
    0xffff_ffff_8000_0000,
    u64::MAX,
    i64::MAX as u64,
    i64::MIN as u64,
];

const FLOATS: [f64; 28] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.5,
    2.5,
    0.25,
    0.125,
    9.5,
    99.5,
    0.1,
    1.0 / 3.0,
    123_456.789,
    999_999.5,
    9_999_995.0,
    0.000_123_456,
    0.000_099_999_95,
    1e15,
    1e17,
    1e100,
    1.797_693_134_862_315_7e308,
    2.225_073_858_507_201_4e-308,
    5e-324,
    6.103_515_625e-5,
    1.999_999_999,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Those that become a power of ten with few digits.
const GROWING: [f64; 5] = [9.5, 99.5, 999_999.5, 9_999_995.0, 0.000_099_999_95];

/// Flags, widths and precisions before a conversion.
fn forms() -> Vec<String> {
    let mut forms = Vec::new();
    for flags in ["", "-", "+", " ", "#", "0", "#0", "-#"] {
        for size in ["", "12", "25", ".", ".1", ".3", ".17", "14.2"] {
            forms.push(format!("%{flags}{size}"));
        }
    }
    forms
}

/// What a kernel's call with one argument of these bits prints.
fn printed(table: &mut Table, format: &str, bits: u64) -> String {
    let parsed = Format::parse(format.as_bytes()).unwrap();
    let argument = parsed.conversions().next().unwrap().argument(64);
    let (offsets, size) = layout(&[argument]);
    let number = table.call(Call {
        format: format.into(),
        arguments: vec![argument],
    });
    let mut buffer = empty_buffer(size);
    buffer[8..HEADER_BYTES].copy_from_slice(&u64::from(size).to_le_bytes());
    let record = &mut buffer[HEADER_BYTES..];
    record[..4].copy_from_slice(&size.to_le_bytes());
    record[4..8].copy_from_slice(&number.to_le_bytes());
    let (at, length) = (offsets[0] as usize, argument.bits as usize / 8);
    record[at..at + length].copy_from_slice(&bits.to_le_bytes()[..length]);
    let printed = Printed::read(&buffer, table);
    assert_eq!((printed.missed, printed.damaged), (0, None), "{format}");
    String::from_utf8(printed.text).unwrap()
}

/// Lines of C, and what they are to print.
fn cases() -> (String, Vec<(String, String)>) {
    let (mut program, mut wanted) = (String::new(), Vec::new());
    let mut case = |format: &str, argument: String, bits: u64| {
        // The calls of a table are all parsed when a buffer is read: a table for each.
        let mut table = Table::default();
        table.string(b"wave".to_vec());
        program.push_str(&format!("printf(\"{format}\\n\", {argument});\n"));
        let text = printed(&mut table, format, bits);
        wanted.push((format!("{format} of {argument}"), text));
    };
    for form in forms() {
        for letter in ["d", "u", "o", "x", "X"] {
            for bits in INTEGERS {
                case(
                    &format!("{form}l{letter}"),
                    format!("(long){bits:#x}ul"),
                    bits,
                );
            }
        }
        for letter in ["f", "F", "e", "E", "g", "G", "a", "A"] {
            for value in FLOATS {
                // Where rounding adds a digit, glibc loses the zeros that `#` keeps.
                if letter.eq_ignore_ascii_case("g")
                    && form.contains('#')
                    && GROWING.contains(&value)
                {
                    continue;
                }
                let bits = value.to_bits();
                case(&format!("{form}{letter}"), format!("of({bits:#x}ul)"), bits);
            }
        }
    }
    for form in ["%", "%5", "%-5", "%.2", "%7.0", "%-7.20"] {
        case(&format!("{form}s"), "\"wave\"".to_owned(), 0);
    }
    for format in ["%c", "%4c", "%-4c"] {
        case(format, "'w'".to_owned(), b'w'.into());
    }
    (program, wanted)
}

/// Compiles a program with the machine's C compiler.
fn compile(source: &Path, program: &Path) -> Result<(), Missing> {
    let compiled = Command::new("cc")
        .args(["-O0", "-w", "-o"])
        .args([program, source])
        .output();
    match compiled {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Missing::new("no cc on PATH")),
        compiled => {
            let output = compiled.unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            Ok(())
        }
    }
}

pub(crate) fn values_are_printed_as_c_prints_them() -> Result<(), Missing> {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("p.c"), folder.path().join("p"));
    let (lines, wanted) = cases();
    let of = "static double of(unsigned long bits) { double d; memcpy(&d, &bits, 8); return d; }";
    let text = format!(
        "#include <stdio.h>\n#include <string.h>\n{of}\nint main(void) {{\n{lines}return 0;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    compile(&source, &program)?;
    let output = Command::new(&program).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut lines = printed.lines();
    for (what, text) in &wanted {
        assert_eq!(lines.next(), Some(text.as_str()), "{what}");
    }
    assert_eq!(lines.next(), None);
    Ok(())
}
