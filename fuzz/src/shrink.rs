//! Makes a module that breaks a promise smaller.

/// Words of the header.
const HEADER: usize = 5;

/// `bytes` without instructions that `breaks` does not need: `breaks` is true of the result if it
/// is true of `bytes`. It drops runs of instructions, long ones first. Bytes that are not a header
/// with whole instructions are returned as they are.
pub fn shrink(bytes: &[u8], mut breaks: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let Some((header, mut code)) = instructions(bytes) else {
        return bytes.to_vec();
    };
    let joined = |code: &[&[u8]]| [header, &code.concat()].concat();
    let mut run = code.len().div_ceil(2);
    while run > 0 {
        let mut at = 0;
        while at < code.len() {
            let end = code.len().min(at + run);
            let mut rest = code.clone();
            rest.drain(at..end);
            if breaks(&joined(&rest)) {
                code = rest;
            } else {
                at = end;
            }
        }
        run /= 2;
    }
    joined(&code)
}

/// The header and the instructions of a module of little-endian words.
fn instructions(bytes: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (header, mut rest) = bytes.split_at_checked(4 * HEADER)?;
    let mut code = Vec::new();
    while !rest.is_empty() {
        // The number of words is in the upper half of an instruction's first word.
        let length = usize::from(u16::from_le_bytes(*rest.get(2..4)?.first_chunk()?));
        let (inst, after) = rest.split_at_checked(4 * length.max(1))?;
        code.push(inst);
        rest = after;
    }
    Some((header, code))
}

#[cfg(test)]
mod tests {
    use super::shrink;

    /// A module of instructions of one word each, with these opcodes.
    fn module(opcodes: &[u8]) -> Vec<u8> {
        let code = opcodes.iter().flat_map(|opcode| [*opcode, 0, 1, 0]);
        [0; 20].into_iter().chain(code).collect()
    }

    #[test]
    fn only_what_breaks_stays() {
        let all: Vec<u8> = (0..100).collect();
        let has = |bytes: &[u8], opcode| bytes.chunks(4).skip(5).any(|inst| inst[0] == opcode);
        let breaks = |bytes: &[u8]| has(bytes, 3) && has(bytes, 77);
        assert_eq!(shrink(&module(&all), breaks), module(&[3, 77]));
    }

    #[test]
    fn damaged_bytes_stay() {
        for bytes in [
            &[1, 2, 3][..],
            &[0; 22],
            &[&[0; 20][..], &[0, 0, 9, 0]].concat(),
        ] {
            assert_eq!(shrink(bytes, |_| true), bytes);
        }
    }
}
