//! The roles of operands: which registers an operation defines and which it uses.
//!
//! Each field of an operation has its role where the operation is declared ([`operations`]), so a
//! field without one does not compile. All who need registers of an operation visit them by
//! [`Coded::operands`](super::program::Coded::operands). While instructions execute with debug
//! assertions, [`Touched`](super::touched::Touched) compares what they touch with what is declared.

use super::arith::{Function, Mode};
use super::operand::{
    Address, Answer, List, Mma, Reduction, Register, ShuffleKind, Source, TexelAction, Where,
};
use crate::clock::{Order, Scope};
use crate::context::Access;
use crate::memory::Space;

/// The role of a register in an instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Is written.
    Definition,
    /// Is read.
    Use,
    /// Is read as the base of an address.
    Address,
    /// Is read as the predicate of the instruction.
    Guard,
}

/// An operand, or several.
pub(super) trait Operand {
    /// Calls `visit` with each register; lists of operands lie in `lists`.
    fn registers(&self, lists: &[Source], visit: &mut dyn FnMut(Register));
}

impl Operand for Register {
    fn registers(&self, _: &[Source], visit: &mut dyn FnMut(Register)) {
        visit(*self);
    }
}

impl Operand for Source {
    fn registers(&self, _: &[Source], visit: &mut dyn FnMut(Register)) {
        match self {
            Source::Register(register) => visit(*register),
            Source::Constant(_) => {}
        }
    }
}

impl Operand for Address {
    fn registers(&self, lists: &[Source], visit: &mut dyn FnMut(Register)) {
        let Address { base, offset: _ } = self;
        base.registers(lists, visit);
    }
}

impl Operand for List {
    fn registers(&self, lists: &[Source], visit: &mut dyn FnMut(Register)) {
        let start = self.start as usize;
        let all = lists.get(start..start + self.count as usize);
        debug_assert!(all.is_some(), "the kernel has no list {self:?}");
        for source in all.unwrap_or_default() {
            source.registers(lists, visit);
        }
    }
}

impl<T: Operand> Operand for Option<T> {
    fn registers(&self, lists: &[Source], visit: &mut dyn FnMut(Register)) {
        self.iter().for_each(|one| one.registers(lists, visit));
    }
}

impl<T: Operand, const N: usize> Operand for [T; N] {
    fn registers(&self, lists: &[Source], visit: &mut dyn FnMut(Register)) {
        self.iter().for_each(|one| one.registers(lists, visit));
    }
}

/// What has no register. Not every type is: a source that is declared so does not compile.
pub(super) trait Plain {}

macro_rules! plain {
    ($($type:ty)*) => { $(impl Plain for $type {})* };
}
plain!(u8 u32 bool Option<u32> Function Mode Access Where Scope Order Option<Space>);
plain!(Mma Reduction Answer ShuffleKind TexelAction);

/// A part of an operation that declares roles itself.
pub(super) trait Roles {
    /// Calls `visit` with each register and its role.
    fn each_role(&self, lists: &[Source], visit: &mut dyn FnMut(Role, Register));
}

impl<T: Roles> Roles for Option<T> {
    fn each_role(&self, lists: &[Source], visit: &mut dyn FnMut(Role, Register)) {
        self.iter().for_each(|one| one.each_role(lists, visit));
    }
}

/// One function for each word that may stand before a field's type.
pub(super) mod word {
    use super::{Operand, Plain, Register, Role, Roles, Source};

    type Visit<'v> = &'v mut dyn FnMut(Role, Register);

    /// Registers that are written.
    pub(in crate::ptx) fn def(of: &impl Operand, lists: &[Source], visit: Visit<'_>) {
        of.registers(lists, &mut |register| visit(Role::Definition, register));
    }

    /// Registers and constants that are read.
    pub(in crate::ptx) fn uses(of: &impl Operand, lists: &[Source], visit: Visit<'_>) {
        of.registers(lists, &mut |register| visit(Role::Use, register));
    }

    /// An address.
    pub(in crate::ptx) fn address(of: &impl Operand, lists: &[Source], visit: Visit<'_>) {
        of.registers(lists, &mut |register| visit(Role::Address, register));
    }

    /// A part that declares roles itself.
    pub(in crate::ptx) fn part(of: &impl Roles, lists: &[Source], visit: Visit<'_>) {
        of.each_role(lists, visit);
    }

    /// No operand.
    pub(in crate::ptx) fn plain(_: &impl Plain, _: &[Source], _: Visit<'_>) {}
}

/// Declares an enumeration or a structure whose fields have roles: a word of [`word`] before each
/// type. Variants have named fields, or one field, which then has a name too.
macro_rules! operations {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident
                $({ $( $(#[$field_doc:meta])* $field:ident : $role:ident $type:ty ),* $(,)? })?
                $(( $only:ident : $only_role:ident $only_type:ty ))?
            ),* $(,)?
        }
    ) => {
        $(#[$about])*
        $vis enum $name {
            $(
                $(#[$doc])*
                $variant $({ $( $(#[$field_doc])* $field: $type ),* })? $(( $only_type ))?,
            )*
        }

        impl $crate::ptx::roles::Roles for $name {
            fn each_role(
                &self,
                lists: &[$crate::ptx::operand::Source],
                visit: &mut dyn FnMut(
                    $crate::ptx::roles::Role,
                    $crate::ptx::operand::Register,
                ),
            ) {
                match self {
                    $(
                        $name::$variant $({ $( $field ),* })? $(( $only ))? => {
                            $( $( $crate::ptx::roles::word::$role($field, lists, visit); )* )?
                            $( $crate::ptx::roles::word::$only_role($only, lists, visit); )?
                        }
                    )*
                }
            }
        }
    };
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$doc:meta])* $field_vis:vis $field:ident : $role:ident $type:ty ),* $(,)?
        }
    ) => {
        $(#[$about])*
        $vis struct $name { $( $(#[$doc])* $field_vis $field: $type ),* }

        impl $crate::ptx::roles::Roles for $name {
            fn each_role(
                &self,
                lists: &[$crate::ptx::operand::Source],
                visit: &mut dyn FnMut(
                    $crate::ptx::roles::Role,
                    $crate::ptx::operand::Register,
                ),
            ) {
                let $name { $( $field ),* } = self;
                $( $crate::ptx::roles::word::$role($field, lists, visit); )*
            }
        }
    };
}
pub(super) use operations;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ptx::kernel;
    use pretty_assertions::assert_eq;

    /// The definitions, uses, addresses and guards of an instruction, without the carry.
    fn roles(line: &str) -> (Vec<u32>, Vec<u32>, Vec<u32>, Vec<u32>) {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
             .reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .pred %p<20>;\n{line}\nret;\n}}\n"
        );
        let kernel = kernel(&text, None).unwrap();
        let mut all = (vec![], vec![], vec![], vec![]);
        let coded = kernel.code.first().unwrap();
        coded.operands(&kernel.lists, &mut |role, register| {
            // The carry is register 0, those of the text follow.
            let list = match role {
                Role::Definition => &mut all.0,
                Role::Use => &mut all.1,
                Role::Address => &mut all.2,
                Role::Guard => &mut all.3,
            };
            list.push(register - 1);
        });
        all
    }

    #[test]
    fn operands_have_the_roles_of_the_isa() {
        // Of the text, `%rN` is N, `%rdN` is 20 + N and `%pN` is 40 + N.
        for (line, definitions, uses, addresses, guards) in [
            (
                "@%p3 add.s32 %r1, %r2, %r3;",
                vec![1],
                vec![2, 3],
                vec![],
                vec![43],
            ),
            (
                "ld.global.v2.b32 {%r1, %r2}, [%rd3+8];",
                vec![1, 2],
                vec![],
                vec![23],
                vec![],
            ),
            (
                "st.shared.v2.b32 [%r9], {%r1, %r2};",
                vec![],
                vec![1, 2],
                vec![9],
                vec![],
            ),
            (
                "atom.global.cas.b32 %r1, [%rd2], %r3, %r4;",
                vec![1],
                vec![3, 4],
                vec![22],
                vec![],
            ),
            (
                "red.global.add.u32 [%rd2], %r3;",
                vec![],
                vec![3],
                vec![22],
                vec![],
            ),
            (
                "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, %r4, %r5;",
                vec![1, 41],
                vec![2, 3, 4, 5],
                vec![],
                vec![],
            ),
            (
                "bar.red.popc.u32 %r1, %r2, %p3;",
                vec![1],
                vec![2, 43],
                vec![],
                vec![],
            ),
            ("bar.sync %r1, %r2;", vec![], vec![1, 2], vec![], vec![]),
            (
                "mbarrier.init.shared.b64 [%r1], %r2;",
                vec![],
                vec![2],
                vec![1],
                vec![],
            ),
            (
                "mbarrier.arrive.shared.b64 %rd1, [%r2], %r3;",
                vec![21],
                vec![3],
                vec![2],
                vec![],
            ),
            (
                "mbarrier.test_wait.parity.shared.b64 %p1, [%r2], %r3;",
                vec![41],
                vec![3],
                vec![2],
                vec![],
            ),
            (
                "cp.async.ca.shared.global [%r1], [%rd2], 4, %r3;",
                vec![],
                vec![3],
                vec![1, 22],
                vec![],
            ),
            (
                "sust.p.2d.b32.trap [%rd1, {%r2, %r3}], {%r4};",
                vec![],
                vec![2, 3, 4, 21],
                vec![],
                vec![],
            ),
            (
                "suld.b.2d.b32.zero {%r4}, [%rd1, {%r2, %r3}];",
                vec![4],
                vec![2, 3, 21],
                vec![],
                vec![],
            ),
            (
                "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 \
                 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6}, {%r7, %r8, %r9, %r10};",
                vec![0, 1, 2, 3],
                vec![4, 5, 6, 7, 8, 9, 10],
                vec![],
                vec![],
            ),
        ] {
            let mut found = roles(line);
            for list in [&mut found.0, &mut found.1, &mut found.2, &mut found.3] {
                list.sort_unstable();
            }
            assert_eq!(found, (definitions, uses, addresses, guards), "{line}");
        }
    }
}
