//! Random functions: copies, reads, barriers, loops over a counter or a stage of a ring, branches.

use super::{copy, read};
use std::fmt::Write;

/// Writes a function body from bytes: each decides something, and none left decides for the simplest.
pub(super) struct Program<'b> {
    bytes: std::slice::Iter<'b, u8>,
    text: String,
    ids: usize,
    /// Statements that may still be written.
    left: usize,
}

impl Program<'_> {
    /// The body.
    pub(super) fn of(bytes: &[u8]) -> String {
        let mut program = Program {
            bytes: bytes.iter(),
            text: String::new(),
            ids: 0,
            left: 24,
        };
        program.line("OpStore %i %u0");
        program.line("OpStore %stage %u0");
        program.statements(0, false);
        program.text
    }

    fn choose(&mut self, ways: u8) -> u8 {
        self.bytes.next().map_or(0, |byte| byte % ways)
    }

    fn tag(&mut self) -> String {
        self.ids += 1;
        self.ids.to_string()
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").unwrap();
    }

    fn statements(&mut self, depth: u8, is_open: bool) {
        while self.left > 0 {
            self.left -= 1;
            match self.choose(10) {
                0 => return,
                1..=3 => {
                    let (tag, place) = (self.tag(), self.place());
                    self.text.push_str(&copy(&tag, &place));
                }
                4 | 5 => {
                    let (tag, place) = (self.tag(), self.place());
                    self.text.push_str(&read(&tag, &place));
                }
                6 if !is_open => {
                    self.line("arrive");
                    self.statements(depth, true);
                    self.line("wait");
                }
                6 | 7 => self.line("barrier"),
                8 if depth < 2 => self.repeat(depth, is_open),
                9 if depth < 2 => self.branch(depth, is_open),
                _ => self.line("OpMemoryBarrier %group %both"),
            }
        }
    }

    /// A row: the single one, a constant one of the ring, or one that a counter gives.
    fn place(&mut self) -> String {
        let tag = self.tag();
        let constant = ["%u0", "%u1", "%u2", "%u3"][usize::from(self.choose(4))];
        match self.choose(4) {
            0 => "%single".to_owned(),
            1 => format!("%ring {constant}"),
            2 => {
                self.line(&format!("%counter{tag} = OpLoad %uint %i"));
                self.line(&format!(
                    "%sum{tag} = OpIAdd %uint %counter{tag} {constant}"
                ));
                self.line(&format!("%row{tag} = OpUMod %uint %sum{tag} %u4"));
                format!("%ring %row{tag}")
            }
            _ => {
                self.line(&format!("%row{tag} = OpLoad %uint %stage"));
                format!("%ring %row{tag}")
            }
        }
    }

    /// A condition that nobody knows.
    fn condition(&mut self, tag: &str) {
        self.line(&format!(
            "%input{tag} = OpAccessChain %global_uint %source %u0 %u7"
        ));
        self.line(&format!("%number{tag} = OpLoad %uint %input{tag}"));
        self.line(&format!("%holds{tag} = OpULessThan %bool %number{tag} %u7"));
    }

    fn branch(&mut self, depth: u8, is_open: bool) {
        let tag = self.tag();
        self.condition(&tag);
        self.line(&format!("OpSelectionMerge %end{tag} 0"));
        self.line(&format!(
            "OpBranchConditional %holds{tag} %then{tag} %end{tag}"
        ));
        self.line(&format!("%then{tag} = OpLabel"));
        self.statements(depth + 1, is_open);
        self.line(&format!("OpBranch %end{tag}"));
        self.line(&format!("%end{tag} = OpLabel"));
    }

    /// A loop: the counter grows by one, the stage goes around in a ring of three.
    fn repeat(&mut self, depth: u8, is_open: bool) {
        let tag = self.tag();
        let is_counted = self.choose(3) == 0;
        self.line("OpStore %i %u0");
        self.line(&format!("OpBranch %header{tag}"));
        self.line(&format!("%header{tag} = OpLabel"));
        self.line(&format!("OpLoopMerge %exit{tag} %next{tag} 0"));
        self.line(&format!("OpBranch %test{tag}"));
        self.line(&format!("%test{tag} = OpLabel"));
        if is_counted {
            self.line(&format!("%count{tag} = OpLoad %uint %i"));
            self.line(&format!("%holds{tag} = OpULessThan %bool %count{tag} %u3"));
        } else {
            self.condition(&tag);
        }
        self.line(&format!(
            "OpBranchConditional %holds{tag} %body{tag} %exit{tag}"
        ));
        self.line(&format!("%body{tag} = OpLabel"));
        self.statements(depth + 1, is_open);
        self.line(&format!("OpBranch %next{tag}"));
        self.line(&format!("%next{tag} = OpLabel"));
        self.line(&format!("%old{tag} = OpLoad %uint %i"));
        self.line(&format!("%new{tag} = OpIAdd %uint %old{tag} %u1"));
        self.line(&format!("OpStore %i %new{tag}"));
        self.line(&format!("%was{tag} = OpLoad %uint %stage"));
        self.line(&format!("%more{tag} = OpIAdd %uint %was{tag} %u1"));
        self.line(&format!("%full{tag} = OpIEqual %bool %more{tag} %u3"));
        self.line(&format!(
            "%turn{tag} = OpSelect %uint %full{tag} %u0 %more{tag}"
        ));
        self.line(&format!("OpStore %stage %turn{tag}"));
        self.line(&format!("OpBranch %header{tag}"));
        self.line(&format!("%exit{tag} = OpLabel"));
    }
}
