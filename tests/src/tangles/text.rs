//! A program as a module in text form.

use super::{Condition, Form, Group, MOST_CONTINUES, Program, Statement, Times};
use std::fmt::Write;

/// The module. The words of all invocations are stored in binding 0.
pub fn text(program: &Program) -> String {
    let mut functions = String::new();
    for (number, body) in program.functions.iter().enumerate() {
        let mut writer = Writer::new(false, 1000 * (number + 1));
        writer.line(&format!("OpStore %w{} %a{number}", writer.frame));
        if writer.list(body) {
            writer.end();
        }
        let frame = writer.frame;
        let _ = write!(
            functions,
            "%f{number} = OpFunction %u32 None %of_word\n%a{number} = OpFunctionParameter %u32\n\
             %begin{frame} = OpLabel\n%w{frame} = OpVariable %p_local Function\n{}OpFunctionEnd\n",
            writer.code
        );
    }
    let mut writer = Writer::new(true, 0);
    writer.line("%id = OpLoad %u32 %lids");
    let mixed = writer.id("OpIMul %u32 %id %prime");
    let first = writer.id(&format!("OpBitwiseXor %u32 {mixed} %salt"));
    writer.line(&format!("OpStore %w0 {first}"));
    if writer.list(&program.main) {
        writer.end();
    }
    let mut text = String::from(
        "OpCapability Shader\nOpCapability GroupNonUniform\nOpCapability GroupNonUniformVote\n\
         OpCapability GroupNonUniformArithmetic\nOpCapability GroupNonUniformBallot\n",
    );
    let mode = if program.maximal {
        text += "OpExtension \"SPV_KHR_maximal_reconvergence\"\n";
        "OpExecutionMode %main MaximallyReconvergesKHR\n"
    } else {
        ""
    };
    let _ = write!(
        text,
        "OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\" %lids %out\n\
         OpExecutionMode %main LocalSize {} 1 1\n{mode}{TYPES}",
        program.size
    );
    for number in 0..64 {
        let _ = writeln!(text, "%c{number} = OpConstant %u32 {number}");
    }
    let _ = write!(
        text,
        "%main = OpFunction %void None %function\n%begin0 = OpLabel\n%w0 = OpVariable %p_local Function\n\
         {}OpFunctionEnd\n{functions}",
        writer.code
    );
    text
}

const TYPES: &str = "OpDecorate %lids BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%true = OpConstantTrue %bool
%u32 = OpTypeInt 32 0
%u32v4 = OpTypeVector %u32 4
%of_word = OpTypeFunction %u32 %u32
%p_local = OpTypePointer Function %u32
%p_input = OpTypePointer Input %u32
%lids = OpVariable %p_input Input
%words = OpTypeRuntimeArray %u32
%block = OpTypeStruct %words
%p_block = OpTypePointer StorageBuffer %block
%p_word = OpTypePointer StorageBuffer %u32
%out = OpVariable %p_block StorageBuffer
%prime = OpConstant %u32 2654435761
%salt = OpConstant %u32 1540483477
";

/// A loop around.
#[derive(Clone)]
struct Loop {
    target: String,
    count: String,
    form: Form,
}

struct Writer {
    code: String,
    is_main: bool,
    /// The number of the function's variable.
    frame: usize,
    next: usize,
    /// Merge blocks that a break leads to.
    breaks: Vec<String>,
    loops: Vec<Loop>,
    /// The label of the block that is being written.
    at: String,
}

impl Writer {
    fn new(is_main: bool, frame: usize) -> Writer {
        Writer {
            code: String::new(),
            is_main,
            frame,
            next: frame * 1000,
            breaks: Vec::new(),
            loops: Vec::new(),
            at: format!("%begin{frame}"),
        }
    }

    fn line(&mut self, line: &str) {
        self.code.push_str(line);
        self.code.push('\n');
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("%n{}", self.next)
    }

    fn id(&mut self, instruction: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {instruction}"));
        name
    }

    fn begin(&mut self, label: &str) {
        self.line(&format!("{label} = OpLabel"));
        label.clone_into(&mut self.at);
    }

    fn word(&mut self) -> String {
        self.id(&format!("OpLoad %u32 %w{}", self.frame))
    }

    fn add(&mut self, value: &str) {
        let word = self.word();
        let sum = self.id(&format!("OpIAdd %u32 {word} {value}"));
        self.line(&format!("OpStore %w{} {sum}", self.frame));
    }

    fn bits(&mut self, bit: u32, mask: u32) -> String {
        let word = self.word();
        let shifted = self.id(&format!("OpShiftRightLogical %u32 {word} %c{bit}"));
        self.id(&format!("OpBitwiseAnd %u32 {shifted} %c{mask}"))
    }

    fn bit(&mut self, bit: u32) -> String {
        let last = self.bits(bit, 1);
        self.id(&format!("OpINotEqual %bool {last} %c0"))
    }

    /// The end of the function.
    fn end(&mut self) {
        let word = self.word();
        if !self.is_main {
            self.line(&format!("OpReturnValue {word}"));
            return;
        }
        let place = self.id("OpAccessChain %p_word %out %c0 %id");
        self.line(&format!("OpStore {place} {word}\nOpReturn"));
    }

    /// Writes `list`; returns true if control reaches what follows it.
    fn list(&mut self, list: &[Statement]) -> bool {
        list.iter().all(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::Mix(number) => {
                let word = self.word();
                let product = self.id(&format!("OpIMul %u32 {word} %c33"));
                self.line(&format!("OpStore %w{} {product}", self.frame));
                self.add(&format!("%c{number}"));
            }
            Statement::Group(group) => self.group(*group),
            Statement::If {
                bare: true,
                when,
                yes,
                ..
            } => {
                let mut condition = self.condition(*when);
                let stay = self.name();
                let around = self.loops.last().cloned();
                let target = match (yes.first(), around, self.breaks.last().cloned()) {
                    (Some(Statement::Continue), Some(around), _) => {
                        if let Some(early) = self.may_continue(&around) {
                            condition = self.id(&format!("OpLogicalAnd %bool {condition} {early}"));
                        }
                        around.target
                    }
                    (_, _, Some(out)) => out,
                    _ => return true, // nothing is around it
                };
                self.line(&format!("OpBranchConditional {condition} {target} {stay}"));
                self.begin(&stay);
            }
            Statement::If {
                when,
                yes,
                no,
                phi,
                header,
                bare: false,
            } => {
                let condition = self.condition(*when);
                let word = self.word();
                let triple = self.id(&format!("OpIMul %u32 {word} %c3"));
                let [left, right, out] = std::array::from_fn(|_| self.name());
                self.line(&format!(
                    "OpSelectionMerge {out} None\nOpBranchConditional {condition} {left} {right}"
                ));
                let mut ends = Vec::new();
                for (label, list, number) in [(left, yes, 5), (right, no, 11)] {
                    self.begin(&label);
                    if self.list(list) {
                        ends.push((self.at.clone(), number));
                        self.line(&format!("OpBranch {out}"));
                    }
                }
                self.begin(&out);
                if ends.is_empty() {
                    self.line("OpUnreachable");
                    return false;
                }
                if *phi {
                    let pairs: Vec<String> = ends
                        .iter()
                        .map(|(at, number)| format!("%c{number} {at}"))
                        .collect();
                    let value = self.id(&format!("OpPhi %u32 {}", pairs.join(" ")));
                    self.add(&value);
                }
                if *header {
                    self.add(&triple);
                }
            }
            Statement::Loop {
                form,
                times,
                body,
                again,
            } => {
                self.repeat(*form, *times, body, again);
            }
            Statement::Switch { bit, branches } => {
                let selector = self.bits(*bit, 7);
                let out = self.name();
                let labels: Vec<String> = branches.iter().map(|_| self.name()).collect();
                let default = labels.last().cloned().unwrap_or_default();
                let mut cases = String::new();
                for (number, label) in labels.iter().enumerate().take(labels.len() - 1) {
                    let _ = write!(cases, " {} {label} {} {label}", 2 * number, 2 * number + 1);
                }
                self.line(&format!(
                    "OpSelectionMerge {out} None\nOpSwitch {selector} {default}{cases}"
                ));
                self.breaks.push(out.clone());
                let mut reached = false;
                for (label, branch) in labels.iter().zip(branches) {
                    self.begin(label);
                    reached |= has_break(branch);
                    if self.list(branch) {
                        reached = true;
                        self.line(&format!("OpBranch {out}"));
                    }
                }
                self.breaks.pop();
                self.begin(&out);
                if !reached {
                    self.line("OpUnreachable");
                    return false;
                }
            }
            Statement::Break => match self.breaks.last().cloned() {
                Some(out) => {
                    self.line(&format!("OpBranch {out}"));
                    return false;
                }
                None => return true,
            },
            Statement::Continue => match self.loops.last().cloned() {
                Some(around) => match self.may_continue(&around) {
                    Some(early) => {
                        let stay = self.name();
                        let target = around.target;
                        self.line(&format!("OpBranchConditional {early} {target} {stay}"));
                        self.begin(&stay);
                    }
                    None => {
                        self.line(&format!("OpBranch {}", around.target));
                        return false;
                    }
                },
                None => return true,
            },
            Statement::Return => {
                self.end();
                return false;
            }
            Statement::Call(function) => {
                let word = self.word();
                let result = self.id(&format!("OpFunctionCall %u32 %f{function} {word}"));
                self.line(&format!("OpStore %w{} {result}", self.frame));
            }
        }
        true
    }

    fn repeat(&mut self, form: Form, times: Times, body: &[Statement], again: &[Statement]) {
        let limit = match times {
            Times::Constant(count) => format!("%c{count}"),
            Times::Bits(bit) => self.bits(bit, 3),
        };
        let [head, first, inside, target, out, count, next] = std::array::from_fn(|_| self.name());
        let before = self.at.clone();
        self.line(&format!("OpBranch {head}"));
        self.begin(&head);
        // The block that leads back is known when the continue construct is written.
        let phi = self.code.len();
        if form == Form::Header {
            let more = self.id(&format!("OpULessThan %bool {count} {limit}"));
            self.line(&format!(
                "OpLoopMerge {out} {target} None\nOpBranchConditional {more} {inside} {out}"
            ));
        } else {
            self.line(&format!(
                "OpLoopMerge {out} {target} None\nOpBranch {first}"
            ));
            self.begin(&first);
            if form == Form::Body {
                let more = self.id(&format!("OpULessThan %bool {count} {limit}"));
                self.line(&format!("OpBranchConditional {more} {inside} {out}"));
            } else {
                self.line(&format!("OpBranch {inside}"));
            }
        }
        self.begin(&inside);
        self.breaks.push(out.clone());
        self.loops.push(Loop {
            target: target.clone(),
            count: count.clone(),
            form,
        });
        let mut after = None;
        if self.list(body) {
            if form == Form::Tail {
                self.add("%c7");
                let word = self.word();
                let value = self.id(&format!("OpIMul %u32 {word} %c5"));
                let set = self.bit(9);
                let counted = self.id(&format!("OpIAdd %u32 {count} %c1"));
                let done = self.id(&format!("OpUGreaterThanEqual %bool {counted} {limit}"));
                let leave = self.id(&format!("OpLogicalOr %bool {set} {done}"));
                self.line(&format!("OpBranchConditional {leave} {out} {target}"));
                after = Some(value);
            } else {
                self.line(&format!("OpBranch {target}"));
            }
        }
        self.breaks.pop();
        self.begin(&target);
        let is_reached = self.list(again);
        debug_assert!(is_reached, "a continue construct that leaves");
        self.line(&format!("{next} = OpIAdd %u32 {count} %c1"));
        let back = self.at.clone();
        self.loops.pop();
        if form == Form::Latch {
            let more = self.id(&format!("OpULessThan %bool {next} {limit}"));
            self.line(&format!("OpBranchConditional {more} {head} {out}"));
        } else {
            self.line(&format!("OpBranch {head}"));
        }
        self.code.insert_str(
            phi,
            &format!("{count} = OpPhi %u32 %c0 {before} {next} {back}\n"),
        );
        self.begin(&out);
        if let Some(value) = after {
            self.add(&value);
        }
        self.add(&count);
    }

    fn condition(&mut self, when: Condition) -> String {
        match when {
            Condition::Bit(bit) => self.bit(bit),
            Condition::Lane { mask, value } => {
                let id = self.id("OpLoad %u32 %lids");
                let low = self.id(&format!("OpBitwiseAnd %u32 {id} %c{mask}"));
                self.id(&format!("OpIEqual %bool {low} %c{value}"))
            }
            Condition::Odd => match self.loops.last().cloned() {
                Some(Loop { count, .. }) => {
                    let low = self.id(&format!("OpBitwiseAnd %u32 {count} %c1"));
                    self.id(&format!("OpINotEqual %bool {low} %c0"))
                }
                None => self.id("OpINotEqual %bool %c0 %c0"),
            },
        }
    }

    /// A condition on which a continue leaves its iteration; `None` where it always does.
    fn may_continue(&mut self, around: &Loop) -> Option<String> {
        let count = &around.count;
        let early = format!("OpULessThan %bool {count} %c{MOST_CONTINUES}");
        (around.form == Form::Tail).then(|| self.id(&early))
    }

    fn group(&mut self, group: Group) {
        let word = self.word();
        let result = match group {
            Group::Count => {
                let ballot = self.id("OpGroupNonUniformBallot %u32v4 %c3 %true");
                self.id(&format!(
                    "OpGroupNonUniformBallotBitCount %u32 %c3 Reduce {ballot}"
                ))
            }
            Group::Ballot(bit) => {
                let bit = self.bit(bit);
                let ballot = self.id(&format!("OpGroupNonUniformBallot %u32v4 %c3 {bit}"));
                let low = self.id(&format!("OpCompositeExtract %u32 {ballot} 0"));
                let high = self.id(&format!("OpCompositeExtract %u32 {ballot} 1"));
                let scaled = self.id(&format!("OpIMul %u32 {high} %c7"));
                self.id(&format!("OpIAdd %u32 {low} {scaled}"))
            }
            Group::Add => self.id(&format!("OpGroupNonUniformIAdd %u32 %c3 Reduce {word}")),
            Group::ExclusiveAdd => self.id(&format!(
                "OpGroupNonUniformIAdd %u32 %c3 ExclusiveScan {word}"
            )),
            Group::Max => self.id(&format!("OpGroupNonUniformUMax %u32 %c3 Reduce {word}")),
            Group::First => self.id(&format!("OpGroupNonUniformBroadcastFirst %u32 %c3 {word}")),
            Group::Elect | Group::All(_) | Group::Any(_) => {
                let truth = match group {
                    Group::All(bit) | Group::Any(bit) => {
                        let bit = self.bit(bit);
                        let name = if matches!(group, Group::All(_)) {
                            "All"
                        } else {
                            "Any"
                        };
                        self.id(&format!("OpGroupNonUniform{name} %bool %c3 {bit}"))
                    }
                    _ => self.id("OpGroupNonUniformElect %bool %c3"),
                };
                self.id(&format!("OpSelect %u32 {truth} %c1 %c0"))
            }
        };
        let product = self.id(&format!("OpIMul %u32 {word} %c33"));
        self.line(&format!("OpStore %w{} {product}", self.frame));
        self.add(&result);
    }
}

/// Returns true if a break in `list` leaves what is around it.
fn has_break(list: &[Statement]) -> bool {
    list.iter().any(|statement| match statement {
        Statement::Break => true,
        Statement::If { yes, no, .. } => has_break(yes) || has_break(no),
        _ => false,
    })
}
