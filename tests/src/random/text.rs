//! A random program as a module in text form.

use super::{ARRAY, Combine, Expression, Operation, Program, Statement, Top, VARIABLES, WORKGROUP};
use std::fmt::Write;

/// The module. Binding 0 has two words of each invocation, binding 1 takes its variables.
pub fn text(program: &Program) -> String {
    let mut writer = Writer::default();
    writer.prologue();
    writer.tops(&program.0);
    writer.epilogue();
    let Writer {
        code,
        variables,
        contracted,
        ..
    } = writer;
    let mut text = String::from(HEAD);
    for id in contracted {
        let _ = writeln!(text, "OpDecorate {id} NoContraction");
    }
    text.push_str(TYPES);
    for n in 0..=64 {
        let _ = writeln!(text, "%c{n} = OpConstant %u32 {n}");
    }
    let _ = write!(
        text,
        "%array = OpTypeArray %u32 %c{ARRAY}\n%p_array = OpTypePointer Function %array\n%zeros = OpConstantNull %array\n\
         %shared_t = OpTypeArray %u32 %c{WORKGROUP}\n%p_shared = OpTypePointer Workgroup %shared_t\n%shared = OpVariable %p_shared Workgroup\n\
         %main = OpFunction %void None %function\n%entry = OpLabel\n{variables}{code}OpReturn\nOpFunctionEnd\n"
    );
    text
}

const HEAD: &str = "OpCapability Shader
OpCapability Int16
OpCapability Int64
OpCapability GroupNonUniform
OpCapability GroupNonUniformArithmetic
OpCapability GroupNonUniformShuffle
OpCapability SplitBarrierEXT
OpExtension \"SPV_EXT_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %gids %lids %in %out %shared
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %gids BuiltIn GlobalInvocationId
OpDecorate %lids BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
";

const TYPES: &str = "%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%u16 = OpTypeInt 16 0
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%f32 = OpTypeFloat 32
%u32v3 = OpTypeVector %u32 3
%p_in3 = OpTypePointer Input %u32v3
%p_in1 = OpTypePointer Input %u32
%gids = OpVariable %p_in3 Input
%lids = OpVariable %p_in1 Input
%words = OpTypeRuntimeArray %u32
%block = OpTypeStruct %words
%p_block = OpTypePointer StorageBuffer %block
%p_word = OpTypePointer StorageBuffer %u32
%in = OpVariable %p_block StorageBuffer
%out = OpVariable %p_block StorageBuffer
%p_local = OpTypePointer Function %u32
%p_element = OpTypePointer Workgroup %u32
%c65535 = OpConstant %u32 65535
%release = OpConstant %u32 260
%acquire = OpConstant %u32 258
%both = OpConstant %u32 264
%wide32 = OpConstant %u64 32
";

#[derive(Default)]
struct Writer {
    code: String,
    variables: String,
    /// Results that must not be fused with others.
    contracted: Vec<String>,
    next: u32,
}

impl Writer {
    /// A new id with this definition.
    fn id(&mut self, definition: &str) -> String {
        let id = format!("%x{}", self.next);
        self.next += 1;
        let _ = writeln!(self.code, "{id} = {definition}");
        id
    }

    fn line(&mut self, text: &str) {
        self.code.push_str(text);
        self.code.push('\n');
    }

    fn label(&mut self) -> String {
        self.next += 1;
        format!("%l{}", self.next)
    }

    fn get(&mut self, variable: usize) -> String {
        self.id(&format!("OpLoad %u32 %v{variable}"))
    }

    fn set(&mut self, variable: usize, value: &str) {
        self.line(&format!("OpStore %v{variable} {value}"));
    }

    fn prologue(&mut self) {
        for variable in 0..VARIABLES {
            let _ = writeln!(
                self.variables,
                "%v{variable} = OpVariable %p_local Function"
            );
        }
        self.variables
            .push_str("%own = OpVariable %p_array Function %zeros\n");
        self.line("%gid3 = OpLoad %u32v3 %gids\n%gid = OpCompositeExtract %u32 %gid3 0\n%local = OpLoad %u32 %lids");
        self.line("%first = OpIMul %u32 %gid %c2\n%second = OpIAdd %u32 %first %c1");
        let mut words = Vec::new();
        for at in ["%first", "%second"] {
            let pointer = self.id(&format!("OpAccessChain %p_word %in %c0 {at}"));
            words.push(self.id(&format!("OpLoad %u32 {pointer}")));
        }
        for variable in 0..VARIABLES {
            let value = self.id(&format!("OpIAdd %u32 {} %c{variable}", words[variable % 2]));
            self.set(variable, &value);
        }
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

    fn tops(&mut self, tops: &[Top]) {
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
                Top::Exchange {
                    to,
                    from,
                    distance,
                    between,
                } => {
                    let value = self.get(*from);
                    let own = self.id("OpAccessChain %p_element %shared %local");
                    self.line(&format!("OpStore {own} {value}"));
                    self.line("OpControlBarrierArriveEXT %c2 %c2 %release");
                    between.iter().for_each(|s| self.statement(s));
                    self.line("OpControlBarrierWaitEXT %c2 %c2 %acquire");
                    let sum = self.id(&format!("OpIAdd %u32 %local %c{distance}"));
                    let index = self.id(&format!("OpUMod %u32 {sum} %c{WORKGROUP}"));
                    let other = self.id(&format!("OpAccessChain %p_element %shared {index}"));
                    let value = self.id(&format!("OpLoad %u32 {other}"));
                    self.set(*to, &value);
                    // Nobody writes again before all have read.
                    self.line("OpControlBarrier %c2 %c2 %both");
                }
                Top::Repeat(count, body) => {
                    let count = format!("%c{count}");
                    self.repeat(&count, |writer| writer.tops(body));
                }
            }
        }
    }

    /// A loop with a counter in a variable.
    fn repeat(&mut self, count: &str, body: impl FnOnce(&mut Writer)) {
        let counter = self.label().replace("%l", "%n");
        let _ = writeln!(self.variables, "{counter} = OpVariable %p_local Function");
        let [head, test, inside, again, out] = std::array::from_fn(|_| self.label());
        self.line(&format!("OpStore {counter} %c0\nOpBranch {head}\n{head} = OpLabel\nOpLoopMerge {out} {again} None\nOpBranch {test}\n{test} = OpLabel"));
        let at = self.id(&format!("OpLoad %u32 {counter}"));
        let more = self.id(&format!("OpULessThan %bool {at} {count}"));
        self.line(&format!(
            "OpBranchConditional {more} {inside} {out}\n{inside} = OpLabel"
        ));
        body(self);
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
        self.id(&format!("OpAccessChain %p_local %own {index}"))
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
                let value = self.get(*variable);
                let shifted = self.id(&format!("OpShiftRightLogical %u32 {value} %c{bit}"));
                let last = self.id(&format!("OpBitwiseAnd %u32 {shifted} %c1"));
                let taken = self.id(&format!("OpINotEqual %bool {last} %c0"));
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
                self.repeat(&count, |writer| {
                    body.iter().for_each(|s| writer.statement(s))
                });
            }
            Statement::Switch(variable, branches) => {
                let value = self.get(*variable);
                let case = self.id(&format!("OpBitwiseAnd %u32 {value} %c3"));
                let [zero, one, other, out] = std::array::from_fn(|_| self.label());
                self.line(&format!(
                    "OpSelectionMerge {out} None\nOpSwitch {case} {other} 0 {zero} 1 {one}"
                ));
                for (label, branch) in [&zero, &one, &other].into_iter().zip(branches) {
                    self.branch(label, branch, &out);
                }
                self.line(&format!("{out} = OpLabel"));
            }
        }
    }

    fn branch(&mut self, label: &str, body: &[Statement], out: &str) {
        self.line(&format!("{label} = OpLabel"));
        body.iter().for_each(|s| self.statement(s));
        self.line(&format!("OpBranch {out}"));
    }

    fn expression(&mut self, Expression { op, a, b }: Expression) -> String {
        let (a, b) = (self.get(a), self.get(b));
        let simple = match op {
            Operation::Add => "OpIAdd",
            Operation::Sub => "OpISub",
            Operation::Mul => "OpIMul",
            Operation::And => "OpBitwiseAnd",
            Operation::Or => "OpBitwiseOr",
            Operation::Xor => "OpBitwiseXor",
            Operation::ShiftLeft | Operation::ShiftRight => {
                let amount = self.id(&format!("OpBitwiseAnd %u32 {b} %c31"));
                let name = if op == Operation::ShiftLeft {
                    "OpShiftLeftLogical"
                } else {
                    "OpShiftRightArithmetic"
                };
                return self.id(&format!("{name} %u32 {a} {amount}"));
            }
            Operation::Divide | Operation::Remainder => {
                let divisor = self.id(&format!("OpBitwiseOr %u32 {b} %c1"));
                let name = if op == Operation::Divide {
                    "OpUDiv"
                } else {
                    "OpUMod"
                };
                return self.id(&format!("{name} %u32 {a} {divisor}"));
            }
            Operation::Reverse => return self.id(&format!("OpBitReverse %u32 {a}")),
            Operation::Count => return self.id(&format!("OpBitCount %u32 {a}")),
            Operation::Least => {
                let less = self.id(&format!("OpULessThan %bool {a} {b}"));
                return self.id(&format!("OpSelect %u32 {less} {a} {b}"));
            }
            Operation::MulHigh => {
                let [a, b] = [a, b].map(|v| self.id(&format!("OpUConvert %u64 {v}")));
                let product = self.id(&format!("OpIMul %u64 {a} {b}"));
                let high = self.id(&format!("OpShiftRightLogical %u64 {product} %wide32"));
                return self.id(&format!("OpUConvert %u32 {high}"));
            }
            Operation::Add16 => {
                let [a, b] = [a, b].map(|v| self.id(&format!("OpUConvert %u16 {v}")));
                let sum = self.id(&format!("OpIAdd %u16 {a} {b}"));
                return self.id(&format!("OpUConvert %u32 {sum}"));
            }
            Operation::Float => {
                let [x, y] = [a, b].map(|v| {
                    let low = self.id(&format!("OpBitwiseAnd %u32 {v} %c65535"));
                    self.id(&format!("OpConvertUToF %f32 {low}"))
                });
                let product = self.id(&format!("OpFMul %f32 {x} {y}"));
                let sum = self.id(&format!("OpFAdd %f32 {product} {x}"));
                self.contracted.extend([product, sum.clone()]);
                return self.id(&format!("OpBitcast %u32 {sum}"));
            }
        };
        self.id(&format!("{simple} %u32 {a} {b}"))
    }
}
