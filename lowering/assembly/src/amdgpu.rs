//! Reads AMDGPU assembly as LLVM prints it: one instruction, label or directive on a line, `;`
//! begins a comment.

pub mod counter;
pub mod dual_issue;
pub mod late_windows;
pub mod metadata;
pub mod operation;
mod passable;

use super::{Builder, Function, Pending, Role};

/// The roles of mnemonics, by the text that they begin with. The first matching row counts; a
/// mnemonic without a row is work.
///
/// Sources: LLVM AMDGPUUsage ("Barrier Execution Model", "Memory Model"), RDNA4 ISA chapter 5
/// (program control).
pub(crate) const ROLES: &[(&str, Role)] = &[
    ("s_barrier_signal", Role::Arrive),
    ("s_barrier_wait", Role::Wait),
    ("s_barrier_init", Role::Housekeeping),
    ("s_barrier_join", Role::Housekeeping),
    ("s_barrier_leave", Role::Housekeeping),
    ("s_barrier", Role::ArriveAndWait),
    // Waits for counters and hazards, hints to the instruction fetch and the scheduler.
    ("s_wait", Role::Housekeeping),
    ("s_nop", Role::Housekeeping),
    ("v_nop", Role::Housekeeping),
    ("s_delay_alu", Role::Housekeeping),
    ("s_clause", Role::Housekeeping),
    ("s_sleep", Role::Housekeeping),
    ("s_setprio", Role::Housekeeping),
    ("s_inst_prefetch", Role::Housekeeping),
    ("s_set_inst_prefetch_distance", Role::Housekeeping),
    ("s_set_vgpr_msb", Role::Housekeeping),
    ("s_sendmsg", Role::Housekeeping),
    ("s_code_end", Role::Housekeeping),
    // Cache maintenance, which fences ask for.
    ("buffer_wb", Role::Housekeeping),
    ("buffer_inv", Role::Housekeeping),
    ("buffer_gl", Role::Housekeeping),
    ("global_inv", Role::Housekeeping),
    ("global_wb", Role::Housekeeping),
    ("s_dcache", Role::Housekeeping),
    // Control transfer.
    ("s_branch", Role::Housekeeping),
    ("s_cbranch", Role::Housekeeping),
    ("s_endpgm", Role::Housekeeping),
    ("s_setpc", Role::Housekeeping),
    ("s_trap", Role::Housekeeping),
];

/// The content of a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Statement<'t> {
    /// Nothing, or a comment.
    Nothing,
    /// A label, without quotes.
    Label(&'t str),
    /// A directive without its dot, and its operands.
    Directive(&'t str, &'t str),
    /// A mnemonic and its operands.
    Instruction(&'t str, &'t str),
}

impl<'t> Statement<'t> {
    fn parse(line: &'t str) -> Self {
        let statement = line.split(';').next().unwrap_or("").trim();
        let (word, operands) = split_word(statement);
        match (statement.strip_suffix(':'), word.strip_prefix('.')) {
            (Some(label), _) => Statement::Label(unquote(label)),
            (None, Some(directive)) => Statement::Directive(directive, operands),
            (None, None) if word.is_empty() => Statement::Nothing,
            (None, None) => Statement::Instruction(word, operands),
        }
    }

    /// The function that `.type NAME,@function` announces: its label begins it.
    fn announced(self) -> Option<&'t str> {
        match self {
            Statement::Directive("type", operands) => {
                Some(unquote(operands.strip_suffix(",@function")?.trim()))
            }
            _ => None,
        }
    }

    /// Returns true if the open function ends at this statement.
    fn ends_function(self) -> bool {
        matches!(self, Statement::Label(label) if label.starts_with(".Lfunc_end"))
    }
}

/// Reads the functions of `text`.
pub fn parse(text: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut open: Option<Builder> = None;
    let mut announced = None;
    for line in text.lines() {
        let statement = Statement::parse(line);
        match statement {
            Statement::Nothing => {}
            Statement::Label(label) if announced == Some(label) => {
                functions.extend(open.take().map(Builder::finish));
                open = Some(Builder::named(label));
                announced = None;
            }
            Statement::Label(_) if statement.ends_function() => {
                functions.extend(open.take().map(Builder::finish));
            }
            Statement::Label(label) => {
                if let Some(function) = &mut open {
                    function.label(label);
                }
            }
            Statement::Directive("type", _) => announced = statement.announced(),
            Statement::Directive("loc", _) => {
                // The comment says where it was inlined.
                if let (Some(function), Some((_, operands))) = (&mut open, line.split_once(".loc"))
                {
                    function.location(operands);
                }
            }
            Statement::Directive(..) => {}
            Statement::Instruction(mnemonic, operands) => {
                if let Some(function) = &mut open {
                    let role = Role::from_mnemonic(mnemonic, ROLES);
                    function.push(mnemonic, operands, role, flow(mnemonic, operands));
                }
            }
        }
    }
    functions.extend(open.take().map(Builder::finish));
    functions
}

fn flow(mnemonic: &str, operands: &str) -> Pending {
    let target = || vec![operands.trim().to_owned()];
    if mnemonic == "s_branch" {
        Pending::Jump(target())
    } else if mnemonic.starts_with("s_cbranch") {
        Pending::Branch(target())
    } else if mnemonic.starts_with("s_endpgm") || mnemonic.starts_with("s_setpc") {
        Pending::End
    } else {
        Pending::Next
    }
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_once(char::is_whitespace)
        .map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn unquote(symbol: &str) -> &str {
    symbol
        .strip_prefix('"')
        .and_then(|s| s.strip_suffix('"'))
        .unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flow;
    use pretty_assertions::assert_eq;

    const LOOP: &str = "\
\t.globl\tk
\t.type\tk,@function
k:                                      ; @k
.Lfunc_begin0:
; %bb.0:
\t.file\t1 \"/\" \"k\"
\t.loc\t1 11 0 prologue_end              ; k:11:0
\ts_load_b32 s4, s[4:5], 0x10
\t.loc\t1 0 0 is_stmt 0
\tv_mov_b32_e32 v18, 0
.LBB0_1:                                ; %loop
\t.loc\t1 21 0 is_stmt 1
\ts_barrier_signal -1
\tv_fma_f32 v0, v1, v2, v3
\ts_wait_dscnt 0x0
\ts_cbranch_scc1 .LBB0_1
; %bb.2:
\ts_branch .LBB0_3
.LBB0_3:
\ts_barrier_wait -1
\ts_endpgm
.Lfunc_end0:
\t.size\tk, .Lfunc_end0-k
\t.type\t\"other name\",@function
\"other name\":
\ts_barrier
\ts_endpgm
";

    #[test]
    fn functions_lines_roles_and_targets() {
        let functions = parse(LOOP);
        assert_eq!(
            functions
                .iter()
                .map(|f| (f.name.as_str(), f.instructions.len()))
                .collect::<Vec<_>>(),
            [("k", 9), ("other name", 2)]
        );
        let seen: Vec<_> = functions[0]
            .instructions
            .iter()
            .map(|i| (i.mnemonic.as_str(), i.word, i.role))
            .collect();
        assert_eq!(
            seen,
            [
                ("s_load_b32", Some(10), Role::Work),
                ("v_mov_b32_e32", None, Role::Work),
                ("s_barrier_signal", Some(20), Role::Arrive),
                ("v_fma_f32", Some(20), Role::Work),
                ("s_wait_dscnt", Some(20), Role::Housekeeping),
                ("s_cbranch_scc1", Some(20), Role::Housekeeping),
                ("s_branch", Some(20), Role::Housekeeping),
                ("s_barrier_wait", Some(20), Role::Wait),
                ("s_endpgm", Some(20), Role::Housekeeping),
            ]
        );
        assert_eq!(functions[0].successors(5), [6, 2]);
        assert_eq!(functions[0].successors(6), [7]);
        assert_eq!(functions[0].instructions[8].flow, Flow::End);
        assert_eq!(functions[1].instructions[0].role, Role::ArriveAndWait);
    }
}
