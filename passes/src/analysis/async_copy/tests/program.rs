//! Random functions: copies, reads, barriers, loops over a counter or a stage of a ring, branches.

use super::{copy, read};
use std::fmt::Write;

/// Writes a function body from bytes: each decides something, and none left decides for the
/// simplest.
pub(super) struct Program<'b> {
    bytes: std::slice::Iter<'b, u8>,
    text: String,
    ids: usize,
    /// Statements that may still be written.
    left: usize,
}

impl Program<'_> {
    /// The body.
    pub(super) fn from_bytes(bytes: &[u8]) -> String {
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
            match self.choose(11) {
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
                10 if depth < 2 => self.fill(),
                _ => self.line("OpMemoryBarrier %group %both"),
            }
        }
    }

    /// A row: the single one, a constant one of the ring, or one that a counter is or gives.
    fn place(&mut self) -> String {
        let tag = self.tag();
        let constant = ["%u0", "%u1", "%u2", "%u3"][usize::from(self.choose(4))];
        match self.choose(5) {
            0 => "%single".to_owned(),
            1 => format!("%ring {constant}"),
            2 => {
                self.line(&format!("%counter{tag} = OpLoad %uint %i"));
                self.line(&format!(
                    "%row{tag} = OpIAdd %uint %counter{tag} {constant}"
                ));
                format!("%ring %row{tag}")
            }
            3 => {
                let rows = ["%u4", "%u3"][usize::from(self.choose(2))];
                self.line(&format!("%counter{tag} = OpLoad %uint %i"));
                self.line(&format!(
                    "%sum{tag} = OpIAdd %uint %counter{tag} {constant}"
                ));
                self.line(&format!("%row{tag} = OpUMod %uint %sum{tag} {rows}"));
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

    /// A loop that fills rows, once or again and again.
    fn fill(&mut self) {
        if self.choose(2) == 0 {
            return self.fill_once();
        }
        let tag = self.tag();
        self.line(&format!(
            "OpBranch %outer{tag}
            %outer{tag} = OpLabel
            OpLoopMerge %end{tag} %again{tag} 0
            OpBranch %inside{tag}
            %inside{tag} = OpLabel"
        ));
        self.fill_once();
        let place = self.place();
        match self.choose(4) {
            0 => self.text += &read(&format!("b{tag}"), &place),
            1 => self.line("barrier"),
            2 => {
                let row = read(&format!("b{tag}"), &place);
                self.line(&format!("barrier\n{row}barrier"));
            }
            _ => {} // nothing between the one and the next
        }
        self.line(&format!("OpBranch %again{tag}\n%again{tag} = OpLabel"));
        self.condition(&tag);
        self.line(&format!(
            "OpBranchConditional %holds{tag} %outer{tag} %end{tag}\n%end{tag} = OpLabel"
        ));
    }

    /// A loop that fills rows: from some row on, some rows further in each iteration, or the same
    /// again where a division brings it there.
    fn fill_once(&mut self) {
        let tag = self.tag();
        let number = |choice: u8| ["%u1", "%u2", "%u3", "%u4"][usize::from(choice)];
        let (step, divisor, ahead) = (self.choose(4), self.choose(4), self.choose(2));
        let (step, divisor) = (number(step), number(divisor));
        let ahead = ["%u0", "%u3"][usize::from(ahead)];
        let (is_published, is_bounded) = (self.choose(3) == 0, self.choose(3) > 0);
        let mut text = format!(
            "%input{tag} = OpAccessChain %global_uint %source %u0 %u7
            %any{tag} = OpLoad %uint %input{tag}
            %few{tag} = OpUDiv %uint %any{tag} %u2
            OpStore %i {ahead}
            OpBranch %header{tag}
            %header{tag} = OpLabel
            OpLoopMerge %exit{tag} %next{tag} 0
            OpBranch %test{tag}
            %test{tag} = OpLabel
            %count{tag} = OpLoad %uint %i
            %holds{tag} = OpULessThan %bool %count{tag} {}
            OpBranchConditional %holds{tag} %body{tag} %exit{tag}
            %body{tag} = OpLabel
            %row{tag} = OpUDiv %uint %count{tag} {divisor}\n",
            if is_bounded {
                format!("%few{tag}")
            } else {
                format!("%any{tag}")
            }
        );
        text += &copy(&tag, &format!("%ring %row{tag}"));
        if is_published {
            text += "barrier\n";
        }
        text += &format!(
            "OpBranch %next{tag}
            %next{tag} = OpLabel
            %more{tag} = OpIAdd %uint %count{tag} {step}
            OpStore %i %more{tag}
            OpBranch %header{tag}
            %exit{tag} = OpLabel\n"
        );
        self.text.push_str(&text);
    }

    /// A loop: the counter grows by one, the stage goes around in a ring of three.
    fn repeat(&mut self, depth: u8, is_open: bool) {
        let tag = self.tag();
        let limit = self.choose(3);
        self.line("OpStore %i %u0");
        self.line(&format!("OpBranch %header{tag}"));
        self.line(&format!("%header{tag} = OpLabel"));
        self.line(&format!("OpLoopMerge %exit{tag} %next{tag} 0"));
        self.line(&format!("OpBranch %test{tag}"));
        self.line(&format!("%test{tag} = OpLabel"));
        if limit == 2 {
            self.condition(&tag);
        } else {
            self.line(&format!("%count{tag} = OpLoad %uint %i"));
            let most = if limit == 0 {
                "%u3".to_owned()
            } else {
                self.line(&format!(
                    "%input{tag} = OpAccessChain %global_uint %source %u0 %u7"
                ));
                self.line(&format!("%most{tag} = OpLoad %uint %input{tag}"));
                format!("%most{tag}")
            };
            self.line(&format!(
                "%holds{tag} = OpULessThan %bool %count{tag} {most}"
            ));
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
