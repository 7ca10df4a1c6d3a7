//! Reads a printf buffer back: its records in order, as text.

use super::format::{Conversion, Format, Piece, Style};
use super::{Argument, RECORD_HEADER_BYTES, Table, layout, value};

/// Bytes before the records.
pub const HEADER_BYTES: usize = 16;

/// The text of one buffer, about: a format may be much longer than the records of its calls.
const MOST_TEXT: usize = 1 << 24;

/// A printf buffer for records of `capacity` bytes (rounded up to a multiple of 8), as the host
/// gives it to a kernel.
pub fn empty_buffer(capacity: u32) -> Vec<u8> {
    let capacity = (capacity as usize).next_multiple_of(8);
    let mut bytes = vec![0; HEADER_BYTES + capacity];
    if let Some(first) = bytes.first_chunk_mut() {
        *first = (capacity as u64).to_le_bytes();
    }
    bytes
}

/// The output of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text of all records. C's strings need not be UTF-8.
    pub text: Vec<u8>,
    /// Bytes of records that found no room, or whose text would be more than 16 MiB.
    pub missed: u64,
    /// The offset in bytes, from the first record, of a record that does not match the table.
    /// Reading stops there.
    pub damaged: Option<usize>,
}

impl Printed {
    /// Reads the printf buffer `bytes` of a kernel with the calls of `table`.
    pub fn read(bytes: &[u8], table: &Table) -> Printed {
        let mut printed = Printed::default();
        let word = |at: usize| {
            let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let (capacity, written) = (word(0), word(8));
        printed.missed = written.saturating_sub(capacity);
        let records = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let end = usize::try_from(written.min(capacity)).unwrap_or(usize::MAX);
        let formats: Vec<Option<Format>> = table
            .calls()
            .iter()
            .map(|call| Format::parse(&call.format).ok())
            .collect();
        let mut at = 0;
        let all = records.get(..end).unwrap_or(records);
        while let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) {
            if printed.text.len() >= MOST_TEXT {
                printed.missed = printed.missed.saturating_add(rest.len() as u64);
                break;
            }
            match Record::at(rest, table, &formats) {
                // The call that did not fit left its place as the host had it.
                None if half_word(rest, 0) == Some(0) => break,
                None => {
                    printed.damaged = Some(at);
                    break;
                }
                Some(record) => {
                    record.print(table, &mut printed.text);
                    at += record.bytes.len();
                }
            }
        }
        printed
    }
}

fn half_word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

/// A record, and the format that its call has.
struct Record<'b> {
    bytes: &'b [u8],
    format: &'b Format,
    arguments: &'b [Argument],
    offsets: Vec<u32>,
}

impl<'b> Record<'b> {
    /// The record at the beginning of `bytes`; `None` when it is none of a call of the table.
    fn at(bytes: &'b [u8], table: &'b Table, formats: &'b [Option<Format>]) -> Option<Record<'b>> {
        let size = half_word(bytes, 0)?;
        let number = half_word(bytes, 4)? as usize;
        let (call, format) = (table.calls().get(number)?, formats.get(number)?.as_ref()?);
        let (offsets, wanted) = layout(&call.arguments);
        let is_one = size == wanted && size >= RECORD_HEADER_BYTES;
        is_one.then_some(Record {
            bytes: bytes.get(..size as usize)?,
            format,
            arguments: &call.arguments,
            offsets,
        })
    }

    fn print(&self, table: &Table, out: &mut Vec<u8>) {
        let mut arguments = self.arguments.iter();
        let mut offsets = self.offsets.iter();
        for piece in &self.format.pieces {
            if out.len() >= MOST_TEXT {
                return;
            }
            let conversion = match piece {
                Piece::Text(text) => {
                    out.extend_from_slice(text);
                    continue;
                }
                Piece::Conversion(conversion) => conversion,
            };
            let Some(argument) = arguments.next() else {
                return;
            };
            let lanes = offsets.by_ref().take(argument.lanes as usize);
            for (lane, offset) in lanes.enumerate() {
                if lane > 0 {
                    out.push(b',');
                }
                let bits = self.component(*offset, argument.bits);
                component(out, conversion, argument.bits, bits, table);
            }
        }
    }

    /// The bits of the component at `offset`, with zeros above.
    fn component(&self, offset: u32, bits: u32) -> u64 {
        let at = offset as usize;
        let low = half_word(self.bytes, at).unwrap_or(0);
        let high = match bits {
            64 => half_word(self.bytes, at + 4).unwrap_or(0),
            _ => 0,
        };
        u64::from(high) << 32 | u64::from(low)
    }
}

/// Writes one component of `width` bits.
fn component(out: &mut Vec<u8>, conversion: &Conversion, width: u32, bits: u64, table: &Table) {
    match conversion.style {
        Style::Signed | Style::Unsigned | Style::Octal | Style::Hexadecimal => {
            let extended = match (conversion.is_signed(), width) {
                (true, 32) => i64::from(bits as u32 as i32) as u64,
                _ => bits,
            };
            value::integer(out, conversion, extended);
        }
        Style::Fixed | Style::Exponent | Style::Shorter | Style::HexadecimalFloat => {
            let number = match width {
                64 => f64::from_bits(bits),
                _ => f64::from(f32::from_bits(bits as u32)),
            };
            value::float(out, conversion, number);
        }
        Style::Character => value::character(out, conversion, bits as u8),
        Style::Pointer => value::pointer(out, conversion, bits),
        Style::String => {
            let text = usize::try_from(bits).ok();
            let text = text.and_then(|number| table.strings().get(number));
            value::string(out, conversion, text.map_or(b"(null)", Vec::as_slice));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::printf::Call;
    use pretty_assertions::assert_eq;

    /// A call with these formats and components, as a kernel writes it.
    fn record(table: &mut Table, format: &str, float_bits: u32, components: &[u64]) -> Vec<u8> {
        let parsed = Format::parse(format.as_bytes()).unwrap();
        let arguments: Vec<Argument> = parsed
            .conversions()
            .map(|conversion| conversion.argument(float_bits))
            .collect();
        let (offsets, size) = layout(&arguments);
        let widths = arguments
            .iter()
            .flat_map(|a| std::iter::repeat_n(a.bits, a.lanes as usize));
        let number = table.call(Call {
            format: format.into(),
            arguments: arguments.clone(),
        });
        let mut bytes = vec![0xcc; size as usize];
        bytes[..4].copy_from_slice(&size.to_le_bytes());
        bytes[4..8].copy_from_slice(&number.to_le_bytes());
        for ((offset, bits), width) in offsets.iter().zip(components).zip(widths) {
            let (at, length) = (*offset as usize, width as usize / 8);
            bytes[at..at + length].copy_from_slice(&bits.to_le_bytes()[..length]);
        }
        bytes
    }

    /// A buffer with these records that asked for `missed` more bytes.
    fn buffer(records: &[Vec<u8>], room: u32, missed: u64) -> Vec<u8> {
        let all = records.concat();
        let mut buffer = empty_buffer(all.len() as u32 + room);
        let capacity = (buffer.len() - HEADER_BYTES) as u64;
        let written = match missed {
            0 => all.len() as u64,
            missed => capacity + missed,
        };
        buffer[8..16].copy_from_slice(&written.to_le_bytes());
        buffer[16..16 + all.len()].copy_from_slice(&all);
        buffer
    }

    fn text(buffer: &[u8], table: &Table) -> String {
        let printed = Printed::read(buffer, table);
        assert_eq!(printed.damaged, None);
        String::from_utf8(printed.text).unwrap()
    }

    #[test]
    fn records_become_lines() {
        let mut table = Table::default();
        let name = u64::from(table.string(b"odd".to_vec()));
        let one = record(&mut table, "%d is %s\n", 32, &[(-3i64) as u64, name]);
        let two = record(
            &mut table,
            "%v3hlf %lu %c\n",
            32,
            &[0x3f80_0000, 0xbf00_0000, 0, u64::MAX, b'w'.into()],
        );
        let three = record(&mut table, "%g%%\n", 64, &[0.1f64.to_bits()]);
        assert_eq!(table.calls().len(), 3);
        let all = buffer(&[one.clone(), two, three, one], 64, 0);
        assert_eq!(
            text(&all, &table),
            "-3 is odd\n1.000000,-0.500000,0.000000 18446744073709551615 w\n0.1%\n-3 is odd\n"
        );
    }

    #[test]
    fn what_found_no_room_is_counted() {
        let mut table = Table::default();
        let one = record(&mut table, "%d\n", 32, &[7]);
        let printed = Printed::read(&buffer(&[one], 8, 24), &table);
        assert_eq!(printed.text, b"7\n");
        assert_eq!(printed.missed, 24);
        assert_eq!(printed.damaged, None);
    }

    #[test]
    fn a_damaged_buffer_is_read_as_far_as_it_goes() {
        let mut table = Table::default();
        let one = record(&mut table, "%d\n", 32, &[7]);
        let mut unknown = one.clone();
        unknown[4] = 9;
        let mut long = one.clone();
        long[0] = 0xf0;
        for damaged in [unknown, long] {
            let printed = Printed::read(&buffer(&[one.clone(), damaged], 0, 0), &table);
            assert_eq!(printed.text, b"7\n");
            assert_eq!(printed.damaged, Some(16));
        }
        for length in 0..24 {
            let whole = buffer(std::slice::from_ref(&one), 0, 0);
            Printed::read(&whole[..length], &table);
        }
        Printed::read(&[0xff; 64], &table);
    }

    #[test]
    fn a_buffer_begins_empty() {
        assert_eq!(text(&empty_buffer(100), &Table::default()), "");
        assert_eq!(empty_buffer(100).len(), HEADER_BYTES + 104);
    }
}
