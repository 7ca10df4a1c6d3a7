//! Writes a program as a module.

use super::{Fill, Program};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The text of `program`.
pub fn text(program: &Program) -> String {
    let mut writing = Writing {
        program,
        body: String::new(),
        numbers: BTreeSet::new(),
        names: 0,
        block: "entry".to_owned(),
    };
    writing.main();
    let Writing { body, numbers, .. } = writing;
    let mut head = String::from(HEAD);
    let size = program.invocations;
    let mut line = |text: String| {
        head.push_str(&text);
        head.push('\n');
    };
    line(format!("OpExecutionMode %main LocalSize {size} 1 1"));
    line(TYPES.to_owned());
    for number in numbers {
        line(format!("%c{number} = OpConstant %uint {number}"));
    }
    let mut lengths: Vec<u32> = (0..program.arrays.len())
        .map(|at| program.length(at))
        .collect();
    if program.exchanges {
        lengths.push(program.invocations);
    }
    for (at, length) in lengths.iter().enumerate() {
        line(format!("%length{at} = OpConstant %uint {length}"));
        line(format!("%array{at}_t = OpTypeArray %uint %length{at}"));
        line(format!(
            "%array{at}_ptr = OpTypePointer Workgroup %array{at}_t"
        ));
        line(format!("%array{at} = OpVariable %array{at}_ptr Workgroup"));
    }
    head + &body
}

const HEAD: &str = "; Version: 1.3
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %id
";

const TYPES: &str = "OpDecorate %id BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpDecorate %block BufferBlock
OpMemberDecorate %block 0 Offset 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %in NonWritable
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%input_ptr = OpTypePointer Input %uint
%id = OpVariable %input_ptr Input
%cell_ptr = OpTypePointer Workgroup %uint
%own_ptr = OpTypePointer Function %uint
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%block_ptr = OpTypePointer Uniform %block
%word_ptr = OpTypePointer Uniform %uint
%in = OpVariable %block_ptr Uniform
%out = OpVariable %block_ptr Uniform";

struct Writing<'p> {
    program: &'p Program,
    body: String,
    numbers: BTreeSet<u32>,
    names: u32,
    /// The label of the block that is written.
    block: String,
}

/// A loop that is open.
struct Counted {
    name: String,
    counter: String,
    /// The block that leads to it.
    before: String,
}

impl Writing<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "{text}");
    }

    fn number(&mut self, number: u32) -> String {
        self.numbers.insert(number);
        format!("%c{number}")
    }

    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    /// Writes an instruction with a result of type `ty`: its id.
    fn value(&mut self, ty: &str, text: &str) -> String {
        let name = self.name("%v");
        let (op, operands) = text.split_once(' ').unwrap_or((text, ""));
        self.line(&format!("{name} = {op} %{ty} {operands}"));
        name
    }

    fn label(&mut self, name: &str) {
        self.line(&format!("%{name} = OpLabel"));
        self.block = name.to_owned();
    }

    fn barrier(&mut self) {
        let (group, both) = (self.number(2), self.number(264));
        self.line(&format!("OpControlBarrier {group} {group} {both}"));
    }

    /// The value of a word of the inputs.
    fn load(&mut self, index: &str) -> String {
        let zero = self.number(0);
        let pointer = self.value("word_ptr", &format!("OpAccessChain %in {zero} {index}"));
        self.value("uint", &format!("OpLoad {pointer}"))
    }

    /// Begins a loop that counts from `from` to `to` by `step`. Its body is written then, up to
    /// [`Writing::end_loop`].
    fn begin_loop(&mut self, from: &str, to: &str) -> Counted {
        let name = self.name("loop");
        let counter = format!("%{name}_i");
        let before = self.block.clone();
        self.line(&format!("OpBranch %{name}"));
        self.label(&name);
        self.line(&format!(
            "{counter} = OpPhi %uint {from} %{before} %{name}_j %{name}_next"
        ));
        self.line(&format!("%{name}_c = OpULessThan %bool {counter} {to}"));
        self.line(&format!("OpLoopMerge %{name}_end %{name}_next None"));
        self.line(&format!(
            "OpBranchConditional %{name}_c %{name}_body %{name}_end"
        ));
        self.label(&format!("{name}_body"));
        Counted {
            name,
            counter,
            before,
        }
    }

    fn end_loop(&mut self, counted: &Counted, step: &str) {
        let name = &counted.name;
        self.line(&format!("OpBranch %{name}_next"));
        self.label(&format!("{name}_next"));
        self.line(&format!(
            "%{name}_j = OpIAdd %uint {} {step}",
            counted.counter
        ));
        self.line(&format!("OpBranch %{name}"));
        self.label(&format!("{name}_end"));
    }

    fn main(&mut self) {
        let program = self.program;
        let zero = self.number(0);
        self.line("%main = OpFunction %void None %fn");
        self.label("entry");
        self.line("%sum_at = OpVariable %own_ptr Function");
        self.line("%lane = OpLoad %uint %id");
        self.line(&format!("OpStore %sum_at {zero}"));
        let outer = program.is_nested.then(|| {
            let two = self.number(2);
            self.begin_loop(&zero, &two)
        });
        let trips = if program.reads_trips {
            self.load(&zero)
        } else {
            self.number(program.trips)
        };
        self.pipelined(&trips);
        if let Some(outer) = outer {
            let one = self.number(1);
            self.end_loop(&outer, &one);
        }
        let sum = self.value("uint", "OpLoad %sum_at");
        let to = self.value("word_ptr", &format!("OpAccessChain %out {zero} %lane"));
        self.line(&format!("OpStore {to} {sum}"));
        self.line("OpReturn\nOpFunctionEnd");
    }

    /// The loop with the barriers.
    fn pipelined(&mut self, trips: &str) {
        let program = self.program;
        let (zero, one) = (self.number(0), self.number(1));
        let begun = self.value("uint", "OpLoad %sum_at");
        let before = self.block.clone();
        let has_phi = !program.has_variable;
        self.line("OpBranch %head");
        self.label("head");
        self.line(&format!("%i = OpPhi %uint {zero} %{before} %j %next"));
        if has_phi {
            self.line(&format!("%sum = OpPhi %uint {begun} %{before} %more %next"));
        }
        if program.asks_late {
            self.line("OpLoopMerge %end %next None\nOpBranch %work");
        } else {
            self.line(&format!("%c = OpULessThan %bool %i {trips}"));
            self.line("OpLoopMerge %end %next None\nOpBranchConditional %c %work %end");
        }
        self.label("work");
        for array in 0..program.arrays.len() {
            self.fill(array);
        }
        self.barrier();
        let sum = if has_phi {
            "%sum".to_owned()
        } else {
            self.value("uint", "OpLoad %sum_at")
        };
        let more = self.work(sum);
        self.line(&format!("%more = OpCopyObject %uint {more}"));
        if program.has_variable {
            self.line("OpStore %sum_at %more");
        }
        let stops = program.stops.then(|| self.stops());
        self.barrier();
        if let Some(stops) = stops {
            self.line("OpSelectionMerge %go_on None");
            self.line(&format!("OpBranchConditional {stops} %stop %go_on"));
            self.line("%stop = OpLabel\nOpBranch %end");
            self.label("go_on");
        }
        self.line("OpBranch %next");
        self.label("next");
        self.line(&format!("%j = OpIAdd %uint %i {one}"));
        if program.asks_late {
            self.line(&format!("%c = OpULessThan %bool %j {trips}"));
            self.line("OpBranchConditional %c %head %end");
        } else {
            self.line("OpBranch %head");
        }
        self.label("end");
        if has_phi {
            let last = if program.asks_late { "%more" } else { "%sum" };
            self.line(&format!("OpStore %sum_at {last}"));
        }
    }

    /// The condition by which the second branch leaves the loop: of the first element that the
    /// stage has stored.
    fn stops(&mut self) -> String {
        let (zero, three) = (self.number(0), self.number(3));
        let cell = self.value("cell_ptr", &format!("OpAccessChain %array0 {zero}"));
        let first = self.value("uint", &format!("OpLoad {cell}"));
        let low = self.value("uint", &format!("OpBitwiseAnd {first} {three}"));
        self.value("bool", &format!("OpIEqual {low} {zero}"))
    }

    /// Fills an array.
    fn fill(&mut self, array: usize) {
        let program = self.program;
        let Some(filled) = program.arrays.get(array) else {
            return;
        };
        let count = self.number(program.invocations);
        match filled.fill {
            Fill::Straight | Fill::Guarded { .. } => {
                for each in 0..filled.each {
                    let plus = self.number(each * program.invocations);
                    let at = self.value("uint", &format!("OpIAdd %lane {plus}"));
                    self.element(array, &at);
                }
            }
            Fill::Loop => {
                let (zero, one) = (self.number(0), self.number(1));
                let each = self.number(filled.each);
                let counted = self.begin_loop(&zero, &each);
                let plus = self.value("uint", &format!("OpIMul {} {count}", counted.counter));
                let at = self.value("uint", &format!("OpIAdd %lane {plus}"));
                self.element(array, &at);
                self.end_loop(&counted, &one);
            }
            Fill::Strided => {
                let one = self.number(1);
                let length = self.load(&one);
                let counted = self.begin_loop("%lane", &length);
                let at = counted.counter.clone();
                self.element(array, &at);
                self.end_loop(&counted, &count);
            }
        }
    }

    /// Loads and stores one element.
    fn element(&mut self, array: usize, at: &str) {
        let program = self.program;
        let Some(filled) = program.arrays.get(array) else {
            return;
        };
        let length = self.number(program.length(array));
        let seven = self.number(7 * array as u32);
        let row = self.value("uint", &format!("OpIMul %i {length}"));
        let index = self.value("uint", &format!("OpIAdd {row} {at}"));
        let source = self.value("uint", &format!("OpIAdd {index} {seven}"));
        let cell = self.value("cell_ptr", &format!("OpAccessChain %array{array} {at}"));
        let guard = match filled.fill {
            Fill::Guarded { bound } => {
                let bound = self.number(bound);
                let is_in = self.value("bool", &format!("OpULessThan {source} {bound}"));
                let name = self.name("if");
                self.line(&format!("OpSelectionMerge %{name}_met None"));
                self.line(&format!(
                    "OpBranchConditional {is_in} %{name}_then %{name}_else"
                ));
                self.label(&format!("{name}_then"));
                Some(name)
            }
            Fill::Straight | Fill::Loop | Fill::Strided => None,
        };
        let two = self.number(2);
        let word = self.value("uint", &format!("OpIAdd {source} {two}"));
        let loaded = self.load(&word);
        let scale = self.number(filled.scale);
        let scaled = self.value("uint", &format!("OpIMul %i {scale}"));
        let mut value = self.value("uint", &format!("OpIAdd {loaded} {scaled}"));
        if program.carries {
            let sum = if program.has_variable {
                self.value("uint", "OpLoad %sum_at")
            } else {
                "%sum".to_owned()
            };
            value = self.value("uint", &format!("OpIAdd {value} {sum}"));
        }
        self.line(&format!("OpStore {cell} {value}"));
        if let Some(name) = guard {
            let other = self.number(77);
            self.line(&format!("OpBranch %{name}_met"));
            self.label(&format!("{name}_else"));
            self.line(&format!("OpStore {cell} {other}"));
            self.line(&format!("OpBranch %{name}_met"));
            self.label(&format!("{name}_met"));
        }
    }

    /// Writes the work of an iteration between the barriers, and returns the new sum.
    fn work(&mut self, sum: String) -> String {
        let program = self.program;
        let mut sum = sum;
        for read in &program.reads {
            let (times, length) = (
                self.number(read.times),
                self.number(program.length(read.array)),
            );
            let scaled = self.value("uint", &format!("OpIMul %lane {times}"));
            let counted = if read.often > 1 {
                let (from, to) = (self.number(read.plus), self.number(read.plus + read.often));
                let counted = self.begin_loop(&from, &to);
                // The sum's phi follows that of the counter.
                let Counted { name, before, .. } = &counted;
                let phi = format!(
                    "%{name}_sum = OpPhi %uint {sum} %{before} %{name}_more %{name}_next\n"
                );
                let condition = format!("%{name}_c = ");
                if let Some(at) = self.body.find(&condition) {
                    self.body.insert_str(at, &phi);
                }
                sum = format!("%{name}_sum");
                Some(counted)
            } else {
                None
            };
            let plus = match &counted {
                Some(counted) => counted.counter.clone(),
                None => self.number(read.plus),
            };
            let moved = self.value("uint", &format!("OpIAdd {scaled} {plus}"));
            let at = self.value("uint", &format!("OpUMod {moved} {length}"));
            let array = read.array;
            let cell = self.value("cell_ptr", &format!("OpAccessChain %array{array} {at}"));
            let value = self.value("uint", &format!("OpLoad {cell}"));
            let three = self.number(3);
            let more = self.value("uint", &format!("OpIMul {sum} {three}"));
            sum = self.value("uint", &format!("OpIAdd {more} {value}"));
            if let Some(counted) = counted {
                let name = &counted.name;
                self.line(&format!("%{name}_more = OpCopyObject %uint {sum}"));
                let one = self.number(1);
                self.end_loop(&counted, &one);
                sum = format!("%{}_sum", counted.name);
            }
        }
        if program.exchanges {
            let own = program.arrays.len();
            let cell = self.value("cell_ptr", &format!("OpAccessChain %array{own} %lane"));
            self.line(&format!("OpStore {cell} {sum}"));
            self.barrier();
            let five = self.number(5);
            let other = self.value("uint", &format!("OpBitwiseXor %lane {five}"));
            let cell = self.value("cell_ptr", &format!("OpAccessChain %array{own} {other}"));
            let value = self.value("uint", &format!("OpLoad {cell}"));
            sum = self.value("uint", &format!("OpBitwiseXor {sum} {value}"));
        }
        if program.writes {
            let (zero, one) = (self.number(0), self.number(1));
            let count = self.number(program.invocations);
            let row = self.value("uint", &format!("OpIAdd %i {one}"));
            let row = self.value("uint", &format!("OpIMul {row} {count}"));
            let at = self.value("uint", &format!("OpIAdd {row} %lane"));
            let to = self.value("word_ptr", &format!("OpAccessChain %out {zero} {at}"));
            self.line(&format!("OpStore {to} {sum}"));
        }
        sum
    }
}
