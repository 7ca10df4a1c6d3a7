//! The parameter block of a launch: addresses, lengths and constants for the kernel's arguments.

use crate::bundle::Argument;
use anyhow::{Context, Result, bail};
use splitbar_tests::reference::{BufferName, Case};

/// The parameter block for a launch of `case` whose buffers, in their order, are at `addresses`.
///
/// # Errors
/// An argument that names no buffer of the case, one of a kind that is not known here (an image),
/// or too few push constants.
pub fn block(arguments: &[Argument], case: &Case, addresses: &[u64]) -> Result<Vec<u8>> {
    let constants: Vec<u8> = case
        .push_constants
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let mut constants = constants.as_slice();
    let mut block = Vec::new();
    for argument in arguments {
        let place = match (argument.set, argument.binding) {
            (Some(set), Some(binding)) => BufferName::Binding(set, binding),
            _ => BufferName::Argument(argument.index),
        };
        let buffer = case
            .buffers
            .iter()
            .zip(addresses)
            .find(|(buffer, _)| buffer.place == place);
        let missing = || format!("no buffer is given for {place:?}");
        let value = match argument.kind.as_str() {
            "global_buffer" => buffer.with_context(missing)?.1.to_le_bytes().to_vec(),
            "array_length" => {
                let words = buffer.with_context(missing)?.0.before.len();
                (words as u64 * 4).to_le_bytes().to_vec()
            }
            // A kernel with parameters of its own has pointers among them.
            "value" if buffer.is_some() => buffer.with_context(missing)?.1.to_le_bytes().to_vec(),
            "push_constant" | "by_value" => {
                let (value, rest) = constants
                    .split_at_checked(argument.size as usize)
                    .with_context(|| {
                        format!("too few push constants for argument {}", argument.index)
                    })?;
                constants = rest;
                value.to_vec()
            }
            other => bail!("argument {} is of the kind {other}", argument.index),
        };
        let (at, size) = (argument.offset as usize, argument.size as usize);
        block.resize(block.len().max(at + size), 0);
        let value = value.get(..size).context("an argument is too long")?;
        if let Some(to) = block.get_mut(at..at + size) {
            to.copy_from_slice(value);
        }
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn argument(kind: &str, binding: Option<u32>, size: u32, offset: u32) -> Argument {
        Argument {
            index: 0,
            kind: kind.to_owned(),
            set: binding.map(|_| 0),
            binding,
            size,
            offset,
        }
    }

    #[test]
    fn arguments_stand_at_their_offsets() {
        let mut case = splitbar_tests::reference::case("spec_size").unwrap();
        case.push_constants = vec![0x0403_0201];
        let arguments = [
            argument("global_buffer", Some(1), 8, 0),
            argument("push_constant", None, 4, 8),
            argument("array_length", Some(0), 4, 16),
        ];
        let block = block(&arguments, &case, &[0x1000, 0x2000]).unwrap();
        assert_eq!(block[..8], 0x2000u64.to_le_bytes());
        assert_eq!(block[8..12], [1, 2, 3, 4]);
        assert_eq!(block[12..16], [0; 4]);
        assert_eq!(block[16..], (192u32 * 4).to_le_bytes());
    }

    #[test]
    fn what_cannot_be_filled_is_said() {
        let case = splitbar_tests::reference::case("odd_workgroup").unwrap();
        for (kind, binding) in [
            ("global_buffer", Some(7)),
            ("push_constant", None),
            ("image", Some(0)),
        ] {
            assert!(block(&[argument(kind, binding, 8, 0)], &case, &[0, 0]).is_err());
        }
    }
}
