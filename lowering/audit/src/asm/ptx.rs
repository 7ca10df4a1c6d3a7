//! Reads PTX as LLVM prints it: statements end with `;`, labels with `:`, `//` begins a comment,
//! and calls and jump tables go over several lines.

use super::{Builder, Function, Pending, Role};
use std::collections::BTreeMap;

/// What a mnemonic that begins with the text is; the first row that fits counts, and no row means
/// work.
///
/// Source: PTX ISA, "Parallel Synchronization and Communication Instructions" and "Control Flow
/// Instructions".
const ROLES: &[(&str, Role)] = &[
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

/// Reads the functions of `text`.
pub fn parse(text: &str) -> Vec<Function> {
    let mut reader = Reader::default();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or("").trim();
        // The comment of `.loc` counts.
        reader.line(if code.starts_with(".loc") {
            line.trim()
        } else {
            code
        });
    }
    reader.functions
}

#[derive(Default)]
struct Reader {
    functions: Vec<Function>,
    open: Option<Builder>,
    /// Symbol of a function whose `{` has not come yet.
    header: Option<String>,
    /// How many `{` are open.
    depth: u32,
    /// The statement that the lines so far have begun.
    statement: String,
    /// Targets of `brx.idx` tables.
    tables: BTreeMap<String, Vec<String>>,
}

impl Reader {
    fn line(&mut self, mut rest: &str) {
        if self.open.is_none() {
            self.outside(rest);
            return;
        }
        while !rest.is_empty() {
            if self.statement.is_empty() {
                if let Some(operands) = rest.strip_prefix(".loc") {
                    // Directive lines have no `;`.
                    if let Some(function) = &mut self.open {
                        function.location(operands);
                    }
                    return;
                }
                if let Some(after) = rest.strip_prefix('{') {
                    self.depth += 1;
                    rest = after.trim_start();
                    continue;
                }
                if let Some(after) = rest.strip_prefix('}') {
                    self.close();
                    rest = after.trim_start();
                    if self.open.is_none() {
                        return;
                    }
                    continue;
                }
                if let Some((label, after)) = label(rest) {
                    if let Some(targets) = after.strip_prefix(".branchtargets") {
                        self.statement = format!("{label}: .branchtargets ");
                        rest = targets.trim_start();
                    } else {
                        if let Some(function) = &mut self.open {
                            function.label(label);
                        }
                        rest = after;
                    }
                    continue;
                }
            }
            match rest.split_once(';') {
                Some((end, after)) => {
                    self.statement.push_str(end);
                    let statement = std::mem::take(&mut self.statement);
                    self.instruction(statement.trim());
                    rest = after.trim_start();
                }
                None => {
                    self.statement.push_str(rest);
                    self.statement.push(' ');
                    return;
                }
            }
        }
    }

    /// A line outside of functions: a function's header, or its first `{`, or nothing of interest.
    fn outside(&mut self, line: &str) {
        let words = || {
            line.split(|c: char| c.is_whitespace() || c == '(')
                .filter(|w| !w.is_empty())
        };
        if words().any(|w| w == ".entry" || w == ".func") {
            // `.visible .entry NAME(`, or `.func (.param ...) NAME(` with the result in front.
            let after = line
                .split_once(".entry")
                .or_else(|| line.split_once(".func"))
                .map_or("", |(_, after)| after.trim_start());
            let after = match after.strip_prefix('(') {
                Some(results) => results.split_once(')').map_or("", |(_, after)| after),
                None => after,
            };
            let name = after
                .trim()
                .split(|c: char| c.is_whitespace() || c == '(')
                .next()
                .unwrap_or("");
            self.header = Some(name.to_owned());
        }
        if line.contains('{')
            && let Some(name) = self.header.take()
        {
            self.open = Some(Builder::named(&name));
            self.depth = 1;
            self.tables.clear();
        } else if line.ends_with(';') {
            // A declaration.
            self.header = None;
        }
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.functions.extend(self.open.take().map(Builder::finish));
        }
    }

    fn instruction(&mut self, statement: &str) {
        if let Some((table, targets)) = statement.split_once(": .branchtargets") {
            self.tables.insert(
                table.to_owned(),
                targets.split(',').map(|t| t.trim().to_owned()).collect(),
            );
            return;
        }
        // Declarations of registers, shared memory and parameters.
        if statement.is_empty() || statement.starts_with('.') {
            return;
        }
        let (predicated, statement) = match statement.strip_prefix('@') {
            Some(rest) => (
                true,
                rest.split_once(char::is_whitespace)
                    .map_or("", |(_, instruction)| instruction.trim_start()),
            ),
            None => (false, statement),
        };
        let (mnemonic, operands) = statement
            .split_once(char::is_whitespace)
            .unwrap_or((statement, ""));
        let operands = operands.trim();
        let flow = match mnemonic {
            "bra" | "bra.uni" => {
                let target = vec![operands.to_owned()];
                if predicated {
                    Pending::Branch(target)
                } else {
                    Pending::Jump(target)
                }
            }
            "brx.idx" | "brx.idx.uni" => {
                let table = operands.rsplit(',').next().unwrap_or("").trim();
                Pending::Jump(self.tables.get(table).cloned().unwrap_or_default())
            }
            "ret" | "ret.uni" | "exit" | "trap" => {
                if predicated {
                    Pending::Next
                } else {
                    Pending::End
                }
            }
            _ => Pending::Next,
        };
        if let Some(function) = &mut self.open {
            function.push(mnemonic, operands, Role::of(mnemonic, ROLES), flow);
        }
    }
}

/// A label at the start of `text`, and what follows it.
fn label(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_$%.".contains(c)))?;
    let (name, rest) = text.split_at(end);
    // `::` is part of a mnemonic (`.shared::cta`).
    let after = rest.strip_prefix(':')?;
    (!name.is_empty() && !after.starts_with(':')).then(|| (name, after.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let functions = parse(KERNEL);
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
