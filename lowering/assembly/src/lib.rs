//! Reads final assembly text: functions, labels and instructions, with the SPIR-V instruction that
//! each machine instruction was generated from.
//!
//! The text must have been generated with debug lines whose number is a word offset plus one (`.loc
//! FILE LINE COLUMN` before the instructions that it applies to, in force until the next one). Each
//! notation has a separate reader, because the notations share nothing but `.loc`; all readers
//! return the same functions. PTX is also read as a whole module ([`ptx::module`]), which can be
//! executed. In AMDGPU text, windows are widened ([`amdgpu::late_windows`]) and
//! pairs of dual issue are separated that gfx11 may execute wrongly ([`amdgpu::dual_issue`]).
//!
//! ```
//! use splitbar_assembly::{Role, parse};
//! use splitbar_target::Target;
//!
//! let target = Target::by_name("gfx1201").ok_or("no such target")?;
//! let text = "\t.type k,@function\nk:\n\ts_barrier_signal -1\n\ts_barrier_wait -1\n\ts_endpgm\n";
//! let functions = parse(text, &target.arch).map_err(|error| error.to_string())?;
//! let roles: Vec<Role> = functions[0].instructions.iter().map(|inst| inst.role).collect();
//! assert_eq!(roles[..2], [Role::Arrive, Role::Wait]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), warn(clippy::indexing_slicing))] // input must never reach one

pub mod amdgpu;
mod function;
pub mod ptx;
pub mod sass;

use function::{Builder, Pending};
pub use function::{Flow, Function, Instruction, Role};
use ptx::SyntaxError;
use splitbar_target::Arch;

/// Reads assembly text of `arch`: its functions in order.
///
/// # Errors
/// The first place of what should be PTX and is not. In AMDGPU assembly every line is something.
pub fn parse(text: &str, arch: &Arch) -> Result<Vec<Function>, SyntaxError> {
    match arch {
        Arch::Amdgpu(_) => Ok(amdgpu::parse(text)),
        Arch::Nvptx(_) => ptx::functions(text),
    }
}

/// The part of an instruction of `arch` in barriers, by its mnemonic.
pub fn role(mnemonic: &str, arch: &Arch) -> Role {
    match arch {
        Arch::Amdgpu(_) => Role::from_mnemonic(mnemonic, amdgpu::ROLES),
        Arch::Nvptx(_) => Role::from_mnemonic(mnemonic, ptx::ROLES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(directives: &[&str]) -> Vec<Option<u32>> {
        let mut builder = Builder::named("k");
        for directive in directives {
            builder.location(directive);
            builder.push("x", "", Role::Work, Pending::Next);
        }
        builder
            .finish()
            .instructions
            .iter()
            .map(|i| i.word)
            .collect()
    }

    #[test]
    fn inlined_code_belongs_to_the_outermost_call() {
        assert_eq!(words(&["1 8 0", "1 0 0 is_stmt 0"]), [Some(7), None]);
        assert_eq!(
            words(&[
                "1 8 0",
                "1 90 0, function_name $L__info_string0, inlined_at 1 8 0"
            ]),
            [Some(7), Some(7)]
        );
        let nested = [
            "1 8 0",
            "1 50 0, function_name $a, inlined_at 1 8 0",
            "1 90 0, function_name $b, inlined_at 1 50 0",
            "1 9 0",
        ];
        assert_eq!(words(&nested), [Some(7), Some(7), Some(7), Some(8)]);
        assert_eq!(
            words(&["1 90 0 is_stmt 0   ; m.spv:90:0 @[ m.spv:50:0 @[ m.spv:8:0 ] ]"]),
            [Some(7)]
        );
        assert_eq!(
            words(&["1 90 2   ; m.spv:90:2 @[ m.spv:50:1 @[ m.spv:8 ] ]"]),
            [Some(7)]
        );
    }
}
