//! The registers that instructions touch, compared with those that they declare.

use super::operand::{Register, Source};
use super::program::Coded;
#[cfg(debug_assertions)]
use super::roles::Role;

/// The registers that a warp has touched in one instruction. Without debug assertions it records
/// nothing and takes no space.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    #[cfg(debug_assertions)]
    registers: std::cell::RefCell<Vec<(Register, bool)>>,
}

impl Touched {
    /// Records that a register is read, or written.
    #[inline]
    pub(super) fn note(&self, register: Register, written: bool) {
        #[cfg(debug_assertions)]
        {
            let mut registers = self.registers.borrow_mut();
            if !registers.contains(&(register, written)) {
                registers.push((register, written));
            }
        }
        let _ = (register, written);
    }

    /// Forgets all registers; a debug assertion fails if one is not declared by `coded`.
    #[inline]
    pub(super) fn settle(&self, coded: Option<&Coded>, lists: &[Source]) {
        #[cfg(debug_assertions)]
        {
            let mut touched = self.registers.borrow_mut();
            let found = coded.and_then(|coded| undeclared(&touched, coded, lists));
            touched.clear();
            debug_assert!(found.is_none(), "{coded:?} does not declare {found:?}");
        }
        let _ = (coded, lists);
    }
}

/// The first register that is touched, and whether it is written, for which the instruction has no
/// role.
#[cfg(debug_assertions)]
fn undeclared(
    touched: &[(Register, bool)],
    coded: &Coded,
    lists: &[Source],
) -> Option<(Register, bool)> {
    let is_declared = |(register, written): (Register, bool)| {
        let mut found = false;
        coded.operands(lists, &mut |role, declared| {
            found |= declared == register && (role == Role::Definition) == written;
        });
        found
    };
    touched.iter().copied().find(|one| !is_declared(*one))
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// What the debug assertion of every step compares.
    #[test]
    fn a_register_without_a_role_is_found() {
        let coded = Coded {
            guard: None,
            op: crate::ptx::program::Op::ActiveMask { to: 4 },
            line: 1,
            source: None,
        };
        assert_eq!(undeclared(&[(4, true)], &coded, &[]), None);
        assert_eq!(undeclared(&[(4, false)], &coded, &[]), Some((4, false)));
        assert_eq!(
            undeclared(&[(4, true), (5, true)], &coded, &[]),
            Some((5, true))
        );
    }
}
