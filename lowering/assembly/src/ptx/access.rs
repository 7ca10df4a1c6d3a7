//! The memory that an instruction of PTX accesses, for those that other threads can see.
//!
//! Source: PTX ISA, the syntax of each instruction, and "State Spaces". The simulator's own reading
//! is compared with this one in its tests.

/// An access of memory that other threads can see.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// It may be shared memory.
    pub local: bool,
    /// It may be global memory.
    pub global: bool,
    /// True if it reads memory into registers. A reduction does not.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
}

/// Beginnings of mnemonics that access memory: does it read, does it write. The first row that
/// matches decides. Asynchronous copies have no row: their marks order them.
const ACCESSES: &[(&str, bool, bool)] = &[
    ("ldmatrix", true, false),
    ("ld.", true, false),
    ("ldu.", true, false),
    ("stmatrix", false, true),
    ("st.async", false, false),
    ("st.", false, true),
    ("atom.", true, true),
    ("red.async", false, false),
    ("red.", false, true),
    ("wmma.load", true, false),
    ("wmma.store", false, true),
    ("suld.", true, false),
    ("sust.", false, true),
    ("sured.", false, true),
];

/// The access of an instruction; `None` if it has none, or of memory that is the thread's own or
/// never written. LLVM's `%SP` and `%SPL` point to the thread's stack.
pub fn access(mnemonic: &str, operands: &str) -> Option<Access> {
    let (_, reads, writes) = ACCESSES
        .iter()
        .find(|(start, _, _)| mnemonic.starts_with(start))?;
    let is = |part: &str| mnemonic.split('.').any(|word| word == part);
    let own = ["local", "param", "const", "nc"]
        .iter()
        .any(|part| is(part));
    let stack = operands.contains("[%SP");
    if own || stack || is("param::entry") || is("param::func") || !(*reads || *writes) {
        return None;
    }
    let shared = mnemonic.contains(".shared");
    let global = is("global") || mnemonic.starts_with("su");
    Some(Access {
        local: shared || !global,
        global: global || !shared,
        reads: *reads,
        writes: *writes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_by_memory() {
        let show = |text: &str| {
            let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
            access(mnemonic, operands).map(|access| (access.local, access.global))
        };
        for (text, expected) in [
            ("ld.shared.b32", Some((true, false))),
            ("ld.shared::cta.b32", Some((true, false))),
            ("st.global.v4.b32", Some((false, true))),
            ("atom.add.u32", Some((true, true))),
            ("ld.b32", Some((true, true))),
            ("ld.b32 %r1, [%rd1]", Some((true, true))),
            ("ld.b32 %r1, [%SP+12]", None),
            ("st.local.b32 [%SPL], %r1", None),
            ("ld.param.b64", None),
            ("ld.global.nc.b32", None),
            ("st.local.b32", None),
            ("add.s32", None),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }
}
