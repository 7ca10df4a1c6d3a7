//! What a kernel takes of a multiprocessor, as `ptxas -v` says it.

use serde::Serialize;

/// One kernel after ptxas.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Hardware barriers that are reserved, of the sixteen that there are.
    pub barriers: u32,
    /// Static shared memory of a workgroup, in bytes.
    pub shared_memory_bytes: u32,
    /// Bytes of registers that a thread stores to local memory because there are too few.
    pub spilled_bytes: u32,
}

/// The kernels that ptxas speaks of, by name.
///
/// `Compiling entry function 'NAME' for 'sm_90'`, then `... N bytes spill stores, ...` and
/// `Used N registers, used N barriers, N bytes smem, ...`; what is zero is left out.
pub(crate) fn read(said: &str) -> Vec<(String, Usage)> {
    let mut kernels: Vec<(String, Usage)> = Vec::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '")
            && let Some((name, _)) = rest.split_once('\'')
        {
            kernels.push((name.to_owned(), Usage::default()));
        }
        let Some((_, usage)) = kernels.last_mut() else {
            continue;
        };
        let before = |what: &str| -> Option<u32> {
            let (number, _) = line.split_once(what)?;
            number.split_whitespace().last()?.parse().ok()
        };
        for (what, field) in [
            (" registers", &mut usage.registers),
            (" barriers", &mut usage.barriers),
            (" bytes smem", &mut usage.shared_memory_bytes),
            (" bytes spill stores", &mut usage.spilled_bytes),
        ] {
            *field = before(what).unwrap_or(*field);
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_has_its_own() {
        let said = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'first' for 'sm_90'\n\
            ptxas info    : Function properties for first\n\
            \u{20}   16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 97 registers, used 16 barriers, 16 bytes cumulative stack size, 4096 bytes smem\n\
            ptxas info    : Compiling entry function 'second' for 'sm_90'\n\
            ptxas info    : Used 8 registers, 360 bytes cmem[0]\n";
        let first = Usage {
            registers: 97,
            barriers: 16,
            shared_memory_bytes: 4096,
            spilled_bytes: 12,
        };
        let second = Usage {
            registers: 8,
            ..Usage::default()
        };
        let expected = [("first".to_owned(), first), ("second".to_owned(), second)];
        assert_eq!(read(said), expected);
    }
}
