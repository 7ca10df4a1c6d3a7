//! A program as a module in text form.

use super::{INVOCATIONS, Operation, Program, Statement, VARIABLES};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A module that writes its invocations' numbers to binding 1 under a condition on `%id`: an
/// instruction, without its result.
pub fn guarded(condition: &str) -> String {
    let code = format!(
        "%id = OpLoad %uint %ids
%condition = {condition}
OpSelectionMerge %end None
OpBranchConditional %condition %yes %end
%yes = OpLabel
%place = OpAccessChain %word %results %c0 %id
OpStore %place %id
OpBranch %end
%end = OpLabel
"
    );
    module("%c0 = OpConstant %uint 0\n", "", &code)
}

/// A module in which each invocation fills the first elements of a private array in a loop, as many
/// as its number, and writes one of them to binding 1.
pub fn filled() -> String {
    let code = "%id = OpLoad %uint %ids
OpBranch %head
%head = OpLabel
%at = OpPhi %uint %c0 %entry %next %more
OpLoopMerge %end %more None
OpBranch %test
%test = OpLabel
%less = OpULessThan %bool %at %id
OpBranchConditional %less %more %end
%more = OpLabel
%square = OpIMul %uint %at %at
%element = OpAccessChain %local %elements %at
OpStore %element %square
%next = OpIAdd %uint %at %c1
OpBranch %head
%end = OpLabel
%half = OpShiftRightLogical %uint %id %c1
%taken = OpAccessChain %local %elements %half
%value = OpLoad %uint %taken
%place = OpAccessChain %word %results %c0 %id
OpStore %place %value
";
    let constants = "%c0 = OpConstant %uint 0\n%c1 = OpConstant %uint 1\n\
                     %many = OpConstant %uint 64\n%uints64 = OpTypeArray %uint %many\n\
                     %locals64 = OpTypePointer Function %uints64\n";
    module(
        constants,
        "%elements = OpVariable %locals64 Function\n",
        code,
    )
}

/// The module. Binding 0 has the inputs; the results are stored in binding 1.
pub fn text(program: &Program) -> String {
    let mut writer = Writer {
        code: String::new(),
        numbers: BTreeSet::from([0, 1, 2, 3, 31, 40, INVOCATIONS as u32, VARIABLES as u32 - 1]),
        next: 0,
    };
    writer.begin();
    writer.all(&program.statements);
    let numbers: String = (writer.numbers.iter())
        .map(|number| format!("%c{number} = OpConstant %uint {number}\n"))
        .collect();
    let variables: String = (0..VARIABLES)
        .map(|at| format!("%v{at} = OpVariable %local Function\n"))
        .collect();
    let variables = format!(
        "{variables}%unwritten = OpVariable %local Function\n\
         %elements = OpVariable %locals Function\n"
    );
    module(&numbers, &variables, &writer.code)
}

/// A module with these constants, and a function of these variables and this code.
fn module(numbers: &str, variables: &str, code: &str) -> String {
    format!(
        "OpCapability Shader
OpExtension \"SPV_KHR_storage_buffer_storage_class\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %ids
OpExecutionMode %main LocalSize {INVOCATIONS} 1 1
OpDecorate %ids BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %inputs DescriptorSet 0
OpDecorate %inputs Binding 0
OpDecorate %results DescriptorSet 0
OpDecorate %results Binding 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%int = OpTypeInt 32 1
%float = OpTypeFloat 32
%uvec2 = OpTypeVector %uint 2
%uvec4 = OpTypeVector %uint 4
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%buffer = OpTypePointer StorageBuffer %block
%word = OpTypePointer StorageBuffer %uint
%input = OpTypePointer Input %uint
%local = OpTypePointer Function %uint
%inputs = OpVariable %buffer StorageBuffer
%results = OpVariable %buffer StorageBuffer
%ids = OpVariable %input Input
{numbers}%four = OpConstant %uint 4
%uints = OpTypeArray %uint %four
%locals = OpTypePointer Function %uints
%main = OpFunction %void None %function
%entry = OpLabel
{variables}{code}OpReturn
OpFunctionEnd
"
    )
}

struct Writer {
    code: String,
    numbers: BTreeSet<u32>,
    next: u32,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.code, "{line}");
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("%t{}", self.next)
    }

    /// A new result of `instruction`, which is written without it.
    fn result(&mut self, instruction: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {instruction}"));
        name
    }

    fn number(&mut self, number: u32) -> String {
        self.numbers.insert(number);
        format!("%c{number}")
    }

    fn load(&mut self, variable: usize) -> String {
        self.result(&format!("OpLoad %uint %v{variable}"))
    }

    fn begin(&mut self) {
        self.line("%id = OpLoad %uint %ids");
        let own = VARIABLES - 1;
        self.line(&format!("%first = OpIMul %uint %id %c{own}"));
        for at in 0..own {
            let offset = self.number(at as u32);
            let index = self.result(&format!("OpIAdd %uint %first {offset}"));
            let place = self.result(&format!("OpAccessChain %word %inputs %c0 {index}"));
            let value = self.result(&format!("OpLoad %uint {place}"));
            self.line(&format!("OpStore %v{at} {value}"));
        }
        self.line(&format!("OpStore %v{own} %id"));
    }

    fn all(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.one(statement);
        }
    }

    fn one(&mut self, statement: &Statement) {
        match statement {
            Statement::Set {
                to,
                operation,
                a,
                b,
                number,
            } => {
                let (a, b) = (self.load(*a), self.load(*b));
                let value = self.value(*operation, &a, &b, *number);
                self.line(&format!("OpStore %v{to} {value}"));
            }
            Statement::If {
                variable,
                bit,
                yes,
                no,
            } => {
                let labels = [self.name(), self.name(), self.name()];
                let value = self.load(*variable);
                let bit = self.number(*bit);
                let shifted = self.result(&format!("OpShiftRightLogical %uint {value} {bit}"));
                let lowest = self.result(&format!("OpBitwiseAnd %uint {shifted} %c1"));
                let is_set = self.result(&format!("OpINotEqual %bool {lowest} %c0"));
                let [taken, other, end] = &labels;
                self.line(&format!("OpSelectionMerge {end} None"));
                self.line(&format!("OpBranchConditional {is_set} {taken} {other}"));
                for (label, body) in [(taken, yes), (other, no)] {
                    self.line(&format!("{label} = OpLabel"));
                    self.all(body);
                    self.line(&format!("OpBranch {end}"));
                }
                self.line(&format!("{end} = OpLabel"));
            }
            Statement::Loop { variable, body } => {
                let [head, test, inside, more, end] = std::array::from_fn(|_| self.name());
                // Loops may stand in each other, so each has a count of its own.
                let before = self.name();
                let next = self.name();
                let value = self.load(*variable);
                let times = self.result(&format!("OpBitwiseAnd %uint {value} %c3"));
                let from = self.name();
                self.line(&format!("OpBranch {from}"));
                self.line(&format!("{from} = OpLabel"));
                self.line(&format!("OpBranch {head}"));
                self.line(&format!("{head} = OpLabel"));
                self.line(&format!("{before} = OpPhi %uint %c0 {from} {next} {more}"));
                self.line(&format!("OpLoopMerge {end} {more} None"));
                self.line(&format!("OpBranch {test}"));
                self.line(&format!("{test} = OpLabel"));
                let goes_on = self.result(&format!("OpULessThan %bool {before} {times}"));
                self.line(&format!("OpBranchConditional {goes_on} {inside} {end}"));
                self.line(&format!("{inside} = OpLabel"));
                self.all(body);
                self.line(&format!("OpBranch {more}"));
                self.line(&format!("{more} = OpLabel"));
                self.line(&format!("{next} = OpIAdd %uint {before} %c1"));
                self.line(&format!("OpBranch {head}"));
                self.line(&format!("{end} = OpLabel"));
            }
            Statement::Write { place, from } => {
                let value = self.load(*from);
                let first = self.number((place * INVOCATIONS) as u32);
                let index = self.result(&format!("OpIAdd %uint {first} %id"));
                let word = self.result(&format!("OpAccessChain %word %results %c0 {index}"));
                self.line(&format!("OpStore {word} {value}"));
            }
        }
    }

    fn value(&mut self, operation: Operation, a: &str, b: &str, number: u32) -> String {
        use Operation::*;
        let both = |op: &str| format!("{op} %uint {a} {b}");
        let count = number % 33;
        let instruction = match operation {
            Number => return self.number(number),
            Add => both("OpIAdd"),
            Mul => both("OpIMul"),
            And => both("OpBitwiseAnd"),
            Or => both("OpBitwiseOr"),
            Xor => both("OpBitwiseXor"),
            Small => format!("OpUMod %uint {a} %c40"),
            ShiftLeft => both("OpShiftLeftLogical"),
            ShiftRight => both("OpShiftRightLogical"),
            ShiftArithmetic => both("OpShiftRightArithmetic"),
            ShiftByNumber => format!("OpShiftLeftLogical %uint {a} {}", self.number(number)),
            Divide => both("OpUDiv"),
            Modulo => both("OpUMod"),
            DivideSigned => both("OpSDiv"),
            Remainder => both("OpSRem"),
            ModuloSigned => both("OpSMod"),
            FloatToUnsigned | FloatToSigned => {
                let float = self.result(&format!("OpBitcast %float {a}"));
                match operation {
                    FloatToUnsigned => format!("OpConvertFToU %uint {float}"),
                    _ => format!("OpConvertFToS %uint {float}"),
                }
            }
            Insert => format!("OpBitFieldInsert %uint {a} {a} {b} {}", self.number(count)),
            Extract => format!("OpBitFieldUExtract %uint {a} {b} {}", self.number(count)),
            ExtractSigned => format!("OpBitFieldSExtract %uint {a} {b} {}", self.number(count)),
            Component => {
                let vector = self.vector();
                format!("OpVectorExtractDynamic %uint {vector} {b}")
            }
            InsertComponent => {
                let vector = self.vector();
                let with = self.result(&format!("OpVectorInsertDynamic %uvec4 {vector} {a} {b}"));
                format!("OpCompositeExtract %uint {with} 0")
            }
            Shuffle => {
                let pair = self.result(&format!("OpCompositeConstruct %uvec2 {a} {a}"));
                let shuffled = self.result(&format!(
                    "OpVectorShuffle %uvec2 {pair} {pair} 0 4294967295"
                ));
                format!("OpCompositeExtract %uint {shuffled} {}", number % 2)
            }
            Undefined => "OpUndef %uint".to_owned(),
            Unwritten => "OpLoad %uint %unwritten".to_owned(),
            Element => {
                let at = self.number(number & 3);
                let place = self.result(&format!("OpAccessChain %local %elements {at}"));
                self.line(&format!("OpStore {place} {a}"));
                let low = self.result(&format!("OpBitwiseAnd %uint {b} %c3"));
                let place = self.result(&format!("OpAccessChain %local %elements {low}"));
                format!("OpLoad %uint {place}")
            }
        };
        self.result(&instruction)
    }

    fn vector(&mut self) -> String {
        let parts: Vec<String> = (0..4).map(|at| self.load(at)).collect();
        self.result(&format!("OpCompositeConstruct %uvec4 {}", parts.join(" ")))
    }
}
