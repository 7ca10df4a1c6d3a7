//! A random program as a module in text form.

use super::sizes::{ARRAY, GROUPS, SHARED, VARIABLES};
use super::statement::{Leave, Statement};
use super::tree::{Combine, Dialect, Function, Program, Top};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The module. Binding 0 has two words of each invocation, binding 1 takes its variables. Bindings
/// 2 and 3 are the slots that are buffers; 4 has a word that counts workgroups, 5 what they leave
/// for the last one, and 6 what that one makes of it. The push constants are the program's counts.
pub fn text(program: &Program) -> String {
    let mut writer = Writer {
        code: String::new(),
        variables: String::new(),
        functions: String::new(),
        frame: String::new(),
        loops: Vec::new(),
        contracted: Vec::new(),
        semantics: BTreeSet::new(),
        dialect: program.dialect,
        size: program.size,
        next: 0,
    };
    for (number, function) in program.functions.iter().enumerate() {
        let function = writer.function(number, function);
        writer.functions.push_str(&function);
    }
    writer.frame = String::new();
    writer.prologue();
    writer.tops(&program.tops);
    if let Some(last) = program.last {
        writer.last(last);
    }
    writer.epilogue();
    let slots: Vec<String> = (0..SHARED).map(|slot| format!("%slot{slot}")).collect();
    let mut text = String::from(CAPABILITIES);
    text.push_str(if program.dialect.has_vulkan_model() {
        "OpCapability VulkanMemoryModel\nOpCapability VulkanMemoryModelDeviceScope\n"
    } else {
        ""
    });
    let model = match program.dialect {
        Dialect::Glsl | Dialect::Universal => "GLSL450",
        Dialect::VulkanAccess | Dialect::VulkanBarrier => "Vulkan",
    };
    let buffers = BUFFERS.map(|name| format!("%{name}")).join(" ");
    let _ = write!(
        text,
        "OpExtension \"SPV_EXT_split_barrier\"\nOpMemoryModel Logical {model}\n\
         OpEntryPoint GLCompute %main \"main\" %gids %lids %wids %push {buffers} {} %ticket\n\
         OpExecutionMode %main LocalSize {} 1 1\n",
        slots.join(" "),
        program.size
    );
    text.push_str(DECORATIONS);
    for (binding, name) in BUFFERS.iter().enumerate() {
        let _ = writeln!(
            text,
            "OpDecorate %{name} DescriptorSet 0\nOpDecorate %{name} Binding {binding}"
        );
    }
    for id in writer.contracted {
        let _ = writeln!(text, "OpDecorate {id} NoContraction");
    }
    text.push_str(TYPES);
    for name in BUFFERS {
        let _ = writeln!(text, "%{name} = OpVariable %p_block StorageBuffer");
    }
    for n in 0..=GROUPS * program.size.max(64) {
        let _ = writeln!(text, "%c{n} = OpConstant %u32 {n}");
    }
    for bits in writer.semantics {
        let _ = writeln!(text, "%bits{bits} = OpConstant %u32 {bits}");
    }
    let _ = write!(
        text,
        "%array = OpTypeArray %u32 %c{ARRAY}\n%p_array = OpTypePointer Function %array\n%zeros = OpConstantNull %array\n\
         %of_pointers = OpTypeFunction %void{} %p_array\n\
         %shared_t = OpTypeArray %u32 %c{}\n%p_shared = OpTypePointer Workgroup %shared_t\n\
         %ticket = OpVariable %p_element Workgroup\n%threes = OpConstantComposite %u32v4 %c3 %c3 %c3 %c3\n",
        " %p_local".repeat(VARIABLES),
        program.size
    );
    for slot in slots {
        let _ = writeln!(text, "{slot} = OpVariable %p_shared Workgroup");
    }
    let _ = write!(
        text,
        "%main = OpFunction %void None %function\n%entry = OpLabel\n{}{}OpReturn\nOpFunctionEnd\n{}",
        writer.variables, writer.code, writer.functions
    );
    text
}

/// The buffers, in the order of their bindings.
const BUFFERS: [&str; 7] = ["in", "out", "both", "last", "finished", "published", "sums"];

const CAPABILITIES: &str = "OpCapability Shader
OpCapability Int8
OpCapability Int16
OpCapability Int64
OpCapability GroupNonUniform
OpCapability GroupNonUniformArithmetic
OpCapability GroupNonUniformShuffle
OpCapability GroupNonUniformBallot
OpCapability SplitBarrierEXT
";

const DECORATIONS: &str = "OpDecorate %gids BuiltIn GlobalInvocationId
OpDecorate %lids BuiltIn LocalInvocationIndex
OpDecorate %wids BuiltIn WorkgroupId
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %push_t Block
OpMemberDecorate %push_t 0 Offset 0
OpMemberDecorate %push_t 1 Offset 4
OpMemberDecorate %push_t 2 Offset 8
OpMemberDecorate %push_t 3 Offset 12
";

const TYPES: &str = "%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%u8 = OpTypeInt 8 0
%u16 = OpTypeInt 16 0
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%f32 = OpTypeFloat 32
%u32v2 = OpTypeVector %u32 2
%u32v3 = OpTypeVector %u32 3
%u32v4 = OpTypeVector %u32 4
%p_in3 = OpTypePointer Input %u32v3
%p_in1 = OpTypePointer Input %u32
%gids = OpVariable %p_in3 Input
%lids = OpVariable %p_in1 Input
%wids = OpVariable %p_in3 Input
%words = OpTypeRuntimeArray %u32
%block = OpTypeStruct %words
%p_block = OpTypePointer StorageBuffer %block
%p_word = OpTypePointer StorageBuffer %u32
%push_t = OpTypeStruct %u32 %u32 %u32 %u32
%p_push_t = OpTypePointer PushConstant %push_t
%p_push = OpTypePointer PushConstant %u32
%push = OpVariable %p_push_t PushConstant
%p_local = OpTypePointer Function %u32
%p_element = OpTypePointer Workgroup %u32
%c65535 = OpConstant %u32 65535
%positive = OpConstant %u32 2147483647
%of_two = OpTypeFunction %u32 %u32 %u32
%wide32 = OpConstant %u64 32
";

/// A module in the making.
pub(super) struct Writer {
    pub(super) code: String,
    pub(super) variables: String,
    /// All functions but the first.
    pub(super) functions: String,
    /// The prefix of the names of the function's variables.
    pub(super) frame: String,
    /// The targets of the enclosing loops, the innermost last: the merge block and the continue
    /// target.
    pub(super) loops: Vec<(String, String)>,
    /// Results that must not be fused with others.
    pub(super) contracted: Vec<String>,
    /// Values that are needed for memory semantics.
    pub(super) semantics: BTreeSet<u32>,
    pub(super) dialect: Dialect,
    /// Invocations of a workgroup.
    pub(super) size: usize,
    next: u32,
}

impl Writer {
    /// A new id with this definition.
    pub(super) fn id(&mut self, definition: &str) -> String {
        let id = format!("%x{}", self.next);
        self.next += 1;
        let _ = writeln!(self.code, "{id} = {definition}");
        id
    }

    pub(super) fn line(&mut self, text: &str) {
        self.code.push_str(text);
        self.code.push('\n');
    }

    pub(super) fn label(&mut self) -> String {
        self.next += 1;
        format!("%l{}", self.next)
    }

    pub(super) fn get(&mut self, variable: usize) -> String {
        self.id(&format!("OpLoad %u32 %{}v{variable}", self.frame))
    }

    pub(super) fn set(&mut self, variable: usize, value: &str) {
        self.line(&format!("OpStore %{}v{variable} {value}", self.frame));
    }

    /// The variables of a function, which begin with two operands.
    fn begin(&mut self, words: [&str; 2]) {
        for variable in 0..VARIABLES {
            let _ = writeln!(
                self.variables,
                "%{}v{variable} = OpVariable %p_local Function",
                self.frame
            );
        }
        let _ = writeln!(
            self.variables,
            "%{}own = OpVariable %p_array Function %zeros",
            self.frame
        );
        for variable in 0..VARIABLES {
            let value = self.id(&format!("OpIAdd %u32 {} %c{variable}", words[variable % 2]));
            self.set(variable, &value);
        }
    }

    /// The text of a function.
    fn function(&mut self, number: usize, function: &Function) -> String {
        self.frame = format!("f{number}_");
        self.begin([&format!("%f{number}_a"), &format!("%f{number}_b")]);
        function.body.iter().for_each(|s| self.statement(s));
        let result = self.get(function.result);
        self.line(&format!("OpReturnValue {result}"));
        let (variables, code) = (
            std::mem::take(&mut self.variables),
            std::mem::take(&mut self.code),
        );
        format!(
            "%f{number} = OpFunction %u32 None %of_two\n%f{number}_a = OpFunctionParameter %u32\n%f{number}_b = OpFunctionParameter %u32\n\
             %f{number}_begin = OpLabel\n{variables}{code}OpFunctionEnd\n"
        )
    }

    fn prologue(&mut self) {
        self.line("%gid3 = OpLoad %u32v3 %gids\n%gid = OpCompositeExtract %u32 %gid3 0\n%local = OpLoad %u32 %lids\n%wid3 = OpLoad %u32v3 %wids\n%wid = OpCompositeExtract %u32 %wid3 0");
        self.line("%first = OpIMul %u32 %gid %c2\n%second = OpIAdd %u32 %first %c1");
        let words = ["%first", "%second"].map(|at| {
            let pointer = self.id(&format!("OpAccessChain %p_word %in %c0 {at}"));
            self.id(&format!("OpLoad %u32 {pointer}"))
        });
        self.begin([&words[0], &words[1]]);
    }

    fn epilogue(&mut self) {
        for variable in 0..VARIABLES {
            let value = self.get(variable);
            let row = self.id(&format!("OpIMul %u32 %gid %c{VARIABLES}"));
            let at = self.id(&format!("OpIAdd %u32 {row} %c{variable}"));
            let pointer = self.id(&format!("OpAccessChain %p_word %out %c0 {at}"));
            self.line(&format!("OpStore {pointer} {value}"));
        }
    }

    pub(super) fn tops(&mut self, tops: &[Top]) {
        for top in tops {
            match top {
                Top::Local(statement) => self.statement(statement),
                Top::Reduce {
                    with,
                    scan,
                    to,
                    from,
                } => {
                    let op = match with {
                        Combine::Add => "IAdd",
                        Combine::Xor => "BitwiseXor",
                        Combine::Max => "UMax",
                    };
                    let form = if *scan { "InclusiveScan" } else { "Reduce" };
                    let value = self.get(*from);
                    let result = self.id(&format!("OpGroupNonUniform{op} %u32 %c3 {form} {value}"));
                    self.set(*to, &result);
                }
                Top::ShuffleXor { to, from, mask } => {
                    let value = self.get(*from);
                    let result = self.id(&format!(
                        "OpGroupNonUniformShuffleXor %u32 %c3 {value} %c{mask}"
                    ));
                    self.set(*to, &result);
                }
                Top::Broadcast { to, from, lane } => {
                    let value = self.get(*from);
                    let result = self.id(&format!(
                        "OpGroupNonUniformBroadcast %u32 %c3 {value} %c{lane}"
                    ));
                    self.set(*to, &result);
                }
                Top::Count {
                    to,
                    from,
                    bit,
                    before,
                } => {
                    let set = self.bit(*from, *bit);
                    let ballot = self.id(&format!("OpGroupNonUniformBallot %u32v4 %c3 {set}"));
                    let form = if *before { "ExclusiveScan" } else { "Reduce" };
                    let count = self.id(&format!(
                        "OpGroupNonUniformBallotBitCount %u32 %c3 {form} {ballot}"
                    ));
                    self.set(*to, &count);
                }
                Top::ByGroup(even, odd) => {
                    let is_odd = self.is_odd();
                    let [left, right, out] = std::array::from_fn(|_| self.label());
                    self.line(&format!(
                        "OpSelectionMerge {out} None\nOpBranchConditional {is_odd} {left} {right}"
                    ));
                    for (label, tops) in [(left, odd), (right, even)] {
                        self.line(&format!("{label} = OpLabel"));
                        self.tops(tops);
                        self.line(&format!("OpBranch {out}"));
                    }
                    self.line(&format!("{out} = OpLabel"));
                }
                Top::Repeat(count, body) => {
                    let times = self.times(*count);
                    let control = match count.unroll {
                        None => "None",
                        Some(true) => "Unroll",
                        Some(false) => "DontUnroll",
                    };
                    self.repeat(&times, control, |writer| writer.tops(body));
                }
                Top::Inline(body) => self.outlined(body),
                Top::EndOdd => {
                    let is_odd = self.is_odd();
                    let [end, out] = std::array::from_fn(|_| self.label());
                    self.line(&format!(
                        "OpSelectionMerge {out} None\nOpBranchConditional {is_odd} {end} {out}\n{end} = OpLabel"
                    ));
                    self.epilogue();
                    self.line(&format!("OpReturn\n{out} = OpLabel"));
                }
                shared => self.shared(shared),
            }
        }
    }

    /// A loop with a counter in a variable.
    fn repeat(&mut self, count: &str, control: &str, body: impl FnOnce(&mut Writer)) {
        let counter = self.label().replace("%l", "%n");
        let _ = writeln!(self.variables, "{counter} = OpVariable %p_local Function");
        let [head, test, inside, again, out] = std::array::from_fn(|_| self.label());
        self.line(&format!("OpStore {counter} %c0\nOpBranch {head}\n{head} = OpLabel\nOpLoopMerge {out} {again} {control}\nOpBranch {test}\n{test} = OpLabel"));
        let at = self.id(&format!("OpLoad %u32 {counter}"));
        let more = self.id(&format!("OpULessThan %bool {at} {count}"));
        self.line(&format!(
            "OpBranchConditional {more} {inside} {out}\n{inside} = OpLabel"
        ));
        self.loops.push((out.clone(), again.clone()));
        body(self);
        self.loops.pop();
        self.line(&format!("OpBranch {again}\n{again} = OpLabel"));
        let at = self.id(&format!("OpLoad %u32 {counter}"));
        let next = self.id(&format!("OpIAdd %u32 {at} %c1"));
        self.line(&format!(
            "OpStore {counter} {next}\nOpBranch {head}\n{out} = OpLabel"
        ));
    }

    fn element(&mut self, index: usize) -> String {
        let value = self.get(index);
        let index = self.id(&format!("OpUMod %u32 {value} %c{ARRAY}"));
        self.id(&format!(
            "OpAccessChain %p_local %{}own {index}",
            self.frame
        ))
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Set(to, expression) => {
                let value = self.expression(*expression);
                self.set(*to, &value);
            }
            Statement::Put { index, from } => {
                let value = self.get(*from);
                let element = self.element(*index);
                self.line(&format!("OpStore {element} {value}"));
            }
            Statement::Get { to, index } => {
                let element = self.element(*index);
                let value = self.id(&format!("OpLoad %u32 {element}"));
                self.set(*to, &value);
            }
            Statement::If {
                variable,
                bit,
                yes,
                no,
            } => {
                let taken = self.bit(*variable, *bit);
                let [left, right, out] = std::array::from_fn(|_| self.label());
                self.line(&format!(
                    "OpSelectionMerge {out} None\nOpBranchConditional {taken} {left} {right}"
                ));
                for (label, branch) in [(&left, yes), (&right, no)] {
                    self.branch(label, branch, &out);
                }
                self.line(&format!("{out} = OpLabel"));
            }
            Statement::Loop { variable, body } => {
                let value = self.get(*variable);
                let count = self.id(&format!("OpBitwiseAnd %u32 {value} %c3"));
                self.repeat(&count, "None", |writer| {
                    body.iter().for_each(|s| writer.statement(s))
                });
            }
            Statement::Switch(variable, width, branches) => {
                let value = self.get(*variable);
                let low = self.id(&format!("OpBitwiseAnd %u32 {value} %c3"));
                let case = match width {
                    32 => low,
                    width => self.id(&format!("OpUConvert %u{width} {low}")),
                };
                let [zero, one, other, out] = std::array::from_fn(|_| self.label());
                self.line(&format!(
                    "OpSelectionMerge {out} None\nOpSwitch {case} {other} 0 {zero} 1 {one}"
                ));
                for (label, branch) in [&zero, &one, &other].into_iter().zip(branches) {
                    self.branch(label, branch, &out);
                }
                self.line(&format!("{out} = OpLabel"));
            }
            Statement::Leave { how, variable, bit } => {
                let taken = self.bit(*variable, *bit);
                let [leave, stay] = std::array::from_fn(|_| self.label());
                self.line(&format!(
                    "OpSelectionMerge {stay} None\nOpBranchConditional {taken} {leave} {stay}\n{leave} = OpLabel"
                ));
                let way = match (how, self.loops.last()) {
                    (Leave::Break, Some((out, _))) => format!("OpBranch {out}"),
                    (Leave::Continue, Some((_, again))) => format!("OpBranch {again}"),
                    (Leave::Break | Leave::Continue, None) => format!("OpBranch {stay}"),
                    (Leave::Return, _) => format!("OpReturnValue {}", self.get(*variable)),
                };
                self.line(&format!("{way}\n{stay} = OpLabel"));
            }
            Statement::Call { to, function, a, b } => {
                let (a, b) = (self.get(*a), self.get(*b));
                let result = self.id(&format!("OpFunctionCall %u32 %f{function} {a} {b}"));
                self.set(*to, &result);
            }
        }
    }

    /// The condition that a bit of a variable is set.
    pub(super) fn bit(&mut self, variable: usize, bit: u32) -> String {
        let value = self.get(variable);
        let shifted = self.id(&format!("OpShiftRightLogical %u32 {value} %c{bit}"));
        let last = self.id(&format!("OpBitwiseAnd %u32 {shifted} %c1"));
        self.id(&format!("OpINotEqual %bool {last} %c0"))
    }

    fn branch(&mut self, label: &str, body: &[Statement], out: &str) {
        self.line(&format!("{label} = OpLabel"));
        body.iter().for_each(|s| self.statement(s));
        self.line(&format!("OpBranch {out}"));
    }
}
