//! The functions of PTX text, as windows and audits look at them.

use super::error::SyntaxError;
use super::syntax::{self, Instruction, What};
use crate::{Builder, Function, Pending, Role};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The roles of mnemonics, by the text that they begin with. The first matching row counts; a
/// mnemonic without a row is work.
///
/// Source: PTX ISA, "Parallel Synchronization and Communication Instructions" and "Control Flow
/// Instructions".
pub(crate) const ROLES: &[(&str, Role)] = &[
    ("mbarrier.arrive", Role::Arrive),
    ("mbarrier.try_wait", Role::Wait),
    ("mbarrier.test_wait", Role::Wait),
    ("mbarrier.", Role::Housekeeping),
    ("barrier.cluster.arrive", Role::Arrive),
    ("barrier.cluster.wait", Role::Wait),
    ("bar.warp.sync", Role::Housekeeping),
    ("bar.arrive", Role::Arrive),
    ("bar.cta.arrive", Role::Arrive),
    ("barrier.arrive", Role::Arrive),
    ("barrier.cta.arrive", Role::Arrive),
    ("bar.", Role::ArriveAndWait),
    ("barrier.", Role::ArriveAndWait),
    ("fence", Role::Housekeeping),
    ("membar", Role::Housekeeping),
    ("nanosleep", Role::Housekeeping),
    // Control transfer.
    ("bra", Role::Housekeeping),
    ("brx", Role::Housekeeping),
    ("ret", Role::Housekeeping),
    ("exit", Role::Housekeeping),
    ("trap", Role::Housekeeping),
    // A copy between virtual registers, which the assembler's register allocation takes away.
    ("mov", Role::Housekeeping),
];

/// The functions of `text` that have a body, in order.
///
/// # Errors
/// The first place where the text is not PTX.
pub fn functions(text: &str) -> Result<Vec<Function>, SyntaxError> {
    let module = super::module(text)?;
    Ok(module.functions.iter().map(function).collect())
}

/// The targets of jump tables by their names.
type Tables<'t> = BTreeMap<&'t str, &'t [&'t str]>;

fn function(function: &syntax::Function<'_>) -> Function {
    let mut builder = Builder::named(function.name);
    let mut tables = Tables::new();
    for statement in &function.body {
        match &statement.what {
            What::Open | What::Close | What::Variable(_) => {}
            What::Label(label) => builder.label(label),
            What::Location(place) => builder.location(place),
            What::BranchTargets(table, targets) => {
                tables.insert(table, targets);
            }
            What::Instruction(instruction) => builder.push(
                instruction.opcode,
                &on_one_line(instruction.text),
                Role::from_mnemonic(instruction.opcode, ROLES),
                flow(instruction, &tables),
            ),
        }
    }
    builder.finish()
}

fn flow(instruction: &Instruction<'_>, tables: &Tables<'_>) -> Pending {
    let predicated = instruction.guard.is_some();
    match instruction.opcode {
        "bra" | "bra.uni" => {
            let target = vec![instruction.text.to_owned()];
            if predicated {
                Pending::Branch(target)
            } else {
                Pending::Jump(target)
            }
        }
        "brx.idx" | "brx.idx.uni" => {
            let table = instruction.text.rsplit(',').next().unwrap_or("").trim();
            // ptxas refuses a jump through a table that is not declared above it.
            let targets = tables.get(table).copied().unwrap_or(&[]);
            Pending::Jump(targets.iter().map(|&label| label.to_owned()).collect())
        }
        "ret" | "ret.uni" | "exit" | "trap" if !predicated => Pending::End,
        _ => Pending::Next,
    }
}

/// Operands, which calls have on several lines, without comments.
fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '/']) {
        return Cow::Borrowed(text);
    }
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or("").trim());
    Cow::Owned(lines.collect::<Vec<_>>().join(" ").trim_end().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Role;
    use pretty_assertions::assert_eq;

    const KERNEL: &str = "\
.version 8.0
.target sm_90, debug
.extern .func  (.param .b64 func_retval0) helper
(
\t.param .b64 helper_param_0
)
;
.visible .entry k(
\t.param .u64 .ptr .global .align 1 k_param_0,
\t.param .u32 k_param_1
)
.reqntid 1024, 1, 1
{
\t.reg .pred \t%p<6>;
\t.shared .align 8 .u64 mb;
$L__func_begin0:
// %bb.0:
\t.loc\t1 8 0
\tmov.u32 \t%r4, %tid.x;
\t@%p1 bra \t$L__BB0_2;
\t.loc\t1 10 0
\tmbarrier.arrive.shared::cta.b64 %rd11, [mb], %r11;
$L__BB0_2:                              // %join
\t.loc\t1 12 0, function_name $L__info_string0, inlined_at 1 30 0
\t{ // callseq 0, 0
\t.param .b64 param0;
\tcall.uni (retval0),
\thelper,
\t(
\tparam0
\t);
\t} // callseq 0
\t$L_brx_0: .branchtargets
\t\t$L__BB0_2,
\t\t$L__BB0_3;
\tbrx.idx \t%r6, $L_brx_0;
$L__BB0_3:
\t// begin inline asm
\t{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [mb], %r21; selp.b32 %r1, 1, 0, p; }
\t// end inline asm
\tret;
}
.func  (.param .b32 func_retval0) second(
\t.param .b32 second_param_0
)                                       // @second
{
\tbar.sync \t0;
\tret;
$L__func_end1:
}
";

    #[test]
    fn functions_lines_roles_and_targets() {
        let functions = super::functions(KERNEL).unwrap();
        assert_eq!(
            functions
                .iter()
                .map(|f| (f.name.as_str(), f.instructions.len()))
                .collect::<Vec<_>>(),
            [("k", 8), ("second", 2)]
        );
        let seen: Vec<_> = functions[0]
            .instructions
            .iter()
            .map(|i| (i.mnemonic.as_str(), i.word, i.role))
            .collect();
        assert_eq!(
            seen,
            [
                ("mov.u32", Some(7), Role::Housekeeping),
                ("bra", Some(7), Role::Housekeeping),
                ("mbarrier.arrive.shared::cta.b64", Some(9), Role::Arrive),
                ("call.uni", Some(29), Role::Work),
                ("brx.idx", Some(29), Role::Housekeeping),
                ("mbarrier.try_wait.parity.shared.b64", Some(29), Role::Wait),
                ("selp.b32", Some(29), Role::Work),
                ("ret", Some(29), Role::Housekeeping),
            ]
        );
        assert_eq!(functions[0].successors(1), [2, 3]);
        assert_eq!(functions[0].successors(4), [3, 5]);
        assert_eq!(functions[0].successors(7), Vec::<usize>::new());
        assert_eq!(functions[1].instructions[0].role, Role::ArriveAndWait);
    }
}
