//! Random kernels whose invocations exchange words through a workgroup array, with their results
//! on the host: reductions, rows of subgroups and permutations, with guards of all kinds. Some have
//! their steps in a loop or in a branch that the whole workgroup takes.
//!
//! In a step, each invocation that the guard admits reads words of the array; after a barrier it
//! writes a word that no other invocation writes. Without the barriers invocations race, so the
//! simulator finds missing ones.

use fastrand::Rng;
use std::fmt::Write;

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Invocations of the workgroup, in x and y.
    pub size: [u32; 2],
    /// Its steps, one after the other.
    pub steps: Vec<Step>,
    /// True if places and guards are in variables.
    pub has_variables: bool,
    /// What is around the steps.
    pub around: Around,
}

/// The control flow around the steps.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// None.
    Nothing,
    /// A branch on the number of the workgroup: all take it.
    Branch,
    /// A loop of two iterations.
    Loop,
}

/// A step.
#[derive(Copy, Clone, Debug)]
pub struct Step {
    /// The invocations that read.
    pub reads: Guard,
    /// The word that they read.
    pub from: Index,
    /// The invocations that write their own word.
    pub writes: Guard,
    /// True if there is a barrier between reads and writes. Without one, an invocation reads its
    /// own word.
    pub meets: bool,
}

/// The invocations that take part.
#[derive(Copy, Clone, Debug)]
pub enum Guard {
    /// All.
    All,
    /// Those before this one.
    Below(u32),
    /// Those from this one on.
    From(u32),
    /// Those whose place divided by the first number is the second.
    Row(u32, u32),
    /// Those whose place has none of these bits.
    Without(u32),
}

/// The index of a word, of the place `t` of an invocation.
#[derive(Copy, Clone, Debug)]
pub enum Index {
    /// `t ^ n`, around the end.
    Flipped(u32),
    /// `t + n`, around the end.
    Plus(u32),
    /// In the row of so many words of the invocation, so many further, around its end and that of
    /// the array.
    InRow(u32, u32),
    /// This word.
    Fixed(u32),
    /// `t / n`.
    Divided(u32),
}

impl Guard {
    fn holds(self, t: u32) -> bool {
        match self {
            Guard::All => true,
            Guard::Below(n) => t < n,
            Guard::From(n) => t >= n,
            Guard::Row(size, row) => t / size == row,
            Guard::Without(bits) => t & bits == 0,
        }
    }
}

impl Kernel {
    /// Its invocations, and the words of the array.
    pub fn invocations(&self) -> u32 {
        self.size.iter().product()
    }
}

impl Index {
    fn at(self, t: u32, words: u32) -> u32 {
        match self {
            Index::Flipped(n) => (t ^ n) % words,
            Index::Plus(n) => (t + n) % words,
            Index::InRow(size, n) => (t / size * size + (t + n) % size) % words,
            Index::Fixed(n) => n,
            Index::Divided(n) => t / n,
        }
    }
}

/// The kernel of `seed`.
pub fn kernel(seed: u64) -> Kernel {
    let mut rng = Rng::with_seed(seed);
    let sizes = [
        [64, 1],
        [128, 1],
        [256, 1],
        [16, 8],
        [32, 4],
        [100, 1],
        [48, 3],
    ];
    let size = sizes[rng.usize(..sizes.len())];
    let words: u32 = size.iter().product();
    let power = |rng: &mut Rng, least: u32, most: u32| 1 << rng.u32(least..=most);
    let top = words.ilog2();
    let guard = |rng: &mut Rng| match rng.u32(..6) {
        0 => Guard::All,
        1 | 2 => Guard::Below(power(rng, 0, top)),
        3 => Guard::From(words - power(rng, 0, top)),
        4 => {
            let size = power(rng, 4, top);
            Guard::Row(size, rng.u32(..words / size))
        }
        _ => Guard::Without(power(rng, 0, top) - 1),
    };
    let index = |rng: &mut Rng| match rng.u32(..8) {
        0..=2 => {
            let most = power(rng, 0, top);
            Index::Flipped(rng.u32(..most))
        }
        3 => Index::Plus(rng.u32(..words)),
        4 | 5 => {
            let size = power(rng, 2, top);
            Index::InRow(size, rng.u32(..size))
        }
        6 => Index::Fixed(rng.u32(..words)),
        _ => Index::Divided(power(rng, 0, top)),
    };
    let step = |rng: &mut Rng| {
        let meets = rng.u32(..5) > 0;
        Step {
            reads: guard(rng),
            from: if meets { index(rng) } else { Index::Flipped(0) },
            writes: guard(rng),
            meets,
        }
    };
    let count = rng.usize(2..9);
    Kernel {
        size,
        steps: (0..count).map(|_| step(&mut rng)).collect(),
        has_variables: rng.bool(),
        around: [Around::Nothing, Around::Branch, Around::Loop][rng.usize(..3)],
    }
}

/// The results of the kernel: a word of each invocation.
pub fn run(kernel: &Kernel) -> Vec<u32> {
    let words = kernel.invocations();
    let mut array: Vec<u32> = (0..words).map(|t| t.wrapping_mul(0x9e37_79b9)).collect();
    let mut sums = vec![0u32; words as usize];
    let times = if kernel.around == Around::Loop { 2 } else { 1 };
    for step in (0..times).flat_map(|_| &kernel.steps) {
        for t in (0..words).filter(|t| step.reads.holds(*t)) {
            let read = array[step.from.at(t, words) as usize];
            let sum = &mut sums[t as usize];
            *sum = sum.wrapping_mul(3).wrapping_add(read);
        }
        for t in (0..words).filter(|t| step.writes.holds(*t)) {
            array[t as usize] = sums[t as usize] ^ t;
        }
    }
    sums
}

/// The kernel as the text of a module. It writes its results to the storage buffer 0:0.
pub fn text(kernel: &Kernel) -> String {
    let words = kernel.invocations();
    let mut writing = Writing {
        kernel,
        body: String::new(),
        constants: vec![0, 1, 2, 3, 264, 0x9e37_79b9, words],
        names: 0,
    };
    writing.main();
    let Writing {
        body,
        mut constants,
        ..
    } = writing;
    constants.sort_unstable();
    constants.dedup();
    let [x, y] = kernel.size;
    let mut text = HEAD.replace("SIZE", &format!("{x} {y} 1"));
    for constant in constants {
        let _ = writeln!(text, "%c{constant} = OpConstant %uint {constant}");
    }
    let _ = writeln!(text, "%array_t = OpTypeArray %uint %c{words}");
    text + TAIL + &body
}

const HEAD: &str = "; Version: 1.3
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %id %group
OpExecutionMode %main LocalSize SIZE
OpDecorate %id BuiltIn LocalInvocationId
OpDecorate %group BuiltIn WorkgroupId
OpDecorate %words ArrayStride 4
OpDecorate %block BufferBlock
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%triple = OpTypeVector %uint 3
%input_ptr = OpTypePointer Input %triple
%id = OpVariable %input_ptr Input
%group = OpVariable %input_ptr Input
%cell_ptr = OpTypePointer Workgroup %uint
%own_ptr = OpTypePointer Function %uint
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%block_ptr = OpTypePointer Uniform %block
%word_ptr = OpTypePointer Uniform %uint
%out = OpVariable %block_ptr Uniform
";

const TAIL: &str = "%array_ptr = OpTypePointer Workgroup %array_t
%array = OpVariable %array_ptr Workgroup
";

struct Writing<'k> {
    kernel: &'k Kernel,
    body: String,
    constants: Vec<u32>,
    names: u32,
}

impl Writing<'_> {
    fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn constant(&mut self, value: u32) -> String {
        self.constants.push(value);
        format!("%c{value}")
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%x{}", self.names)
    }

    /// The result of `op` on `a` and a constant.
    fn with(&mut self, op: &str, a: &str, value: u32) -> String {
        let (name, constant) = (self.name(), self.constant(value));
        let ty = if matches!(op, "ULessThan" | "UGreaterThanEqual" | "IEqual") {
            "bool"
        } else {
            "uint"
        };
        self.line(&format!("{name} = Op{op} %{ty} {a} {constant}"));
        name
    }

    fn barrier(&mut self) {
        self.line("OpControlBarrier %c2 %c2 %c264");
    }

    /// The place of the invocation.
    fn place(&mut self) -> String {
        if !self.kernel.has_variables {
            return "%t".to_owned();
        }
        let name = self.name();
        self.line(&format!("{name} = OpLoad %uint %place"));
        name
    }

    fn main(&mut self) {
        let [x, _] = self.kernel.size;
        self.line("%main = OpFunction %void None %fn\n%entry = OpLabel");
        self.line("%place = OpVariable %own_ptr Function\n%sum = OpVariable %own_ptr Function");
        self.line("%counter = OpVariable %own_ptr Function");
        self.line("%ids = OpLoad %triple %id\n%tx = OpCompositeExtract %uint %ids 0");
        self.line("%ty = OpCompositeExtract %uint %ids 1");
        let row = self.with("IMul", "%ty", x);
        self.line(&format!("%t = OpIAdd %uint %tx {row}"));
        self.line("OpStore %place %t\nOpStore %sum %c0");
        let first = self.with("IMul", "%t", 0x9e37_79b9);
        self.line("%own = OpAccessChain %cell_ptr %array %t");
        self.line(&format!("OpStore %own {first}"));
        self.barrier();
        match self.kernel.around {
            Around::Nothing => self.steps(),
            Around::Branch => {
                self.line("%groups = OpLoad %triple %group");
                self.line("%number = OpCompositeExtract %uint %groups 0");
                let is_first = self.with("IEqual", "%number", 0);
                self.branch(&is_first, Self::steps);
            }
            Around::Loop => self.repeated(Self::steps),
        }
        self.line("%result = OpLoad %uint %sum");
        self.line("%to = OpAccessChain %word_ptr %out %c0 %t");
        self.line("OpStore %to %result\nOpReturn\nOpFunctionEnd");
    }

    fn steps(&mut self) {
        for step in self.kernel.steps.clone() {
            self.guarded(step.reads, |writing| {
                let place = writing.place();
                let index = writing.index(step.from, &place);
                let [cell, read, sum, scaled, new] = std::array::from_fn(|_| writing.name());
                writing.line(&format!(
                    "{cell} = OpAccessChain %cell_ptr %array {index}\n\
                     {read} = OpLoad %uint {cell}\n\
                     {sum} = OpLoad %uint %sum\n\
                     {scaled} = OpIMul %uint {sum} %c3\n\
                     {new} = OpIAdd %uint {scaled} {read}\n\
                     OpStore %sum {new}"
                ));
            });
            if step.meets {
                self.barrier();
            }
            self.guarded(step.writes, |writing| {
                let place = writing.place();
                let [cell, sum, new] = std::array::from_fn(|_| writing.name());
                writing.line(&format!(
                    "{cell} = OpAccessChain %cell_ptr %array {place}\n\
                     {sum} = OpLoad %uint %sum\n\
                     {new} = OpBitwiseXor %uint {sum} {place}\n\
                     OpStore {cell} {new}"
                ));
            });
            self.barrier();
        }
    }

    /// Two iterations of `inside`.
    fn repeated(&mut self, inside: impl FnOnce(&mut Self)) {
        self.line(
            "OpStore %counter %c0\nOpBranch %head\n\
             %head = OpLabel\nOpLoopMerge %after %next None\nOpBranch %test\n\
             %test = OpLabel\n%count = OpLoad %uint %counter",
        );
        let goes_on = self.with("ULessThan", "%count", 2);
        self.line(&format!(
            "OpBranchConditional {goes_on} %iteration %after\n%iteration = OpLabel"
        ));
        inside(self);
        self.line("OpBranch %next\n%next = OpLabel\n%old = OpLoad %uint %counter");
        let new = self.with("IAdd", "%old", 1);
        self.line(&format!(
            "OpStore %counter {new}\nOpBranch %head\n%after = OpLabel"
        ));
    }

    fn guarded(&mut self, guard: Guard, inside: impl FnOnce(&mut Self)) {
        let place = self.place();
        let condition = match guard {
            Guard::All => return inside(self),
            Guard::Below(n) => self.with("ULessThan", &place, n),
            Guard::From(n) => self.with("UGreaterThanEqual", &place, n),
            Guard::Row(size, row) => {
                let of = self.with("UDiv", &place, size);
                self.with("IEqual", &of, row)
            }
            Guard::Without(bits) => {
                let left = self.with("BitwiseAnd", &place, bits);
                self.with("IEqual", &left, 0)
            }
        };
        self.branch(&condition, inside);
    }

    fn branch(&mut self, condition: &str, inside: impl FnOnce(&mut Self)) {
        let [yes, end] = std::array::from_fn(|_| self.name());
        self.line(&format!(
            "OpSelectionMerge {end} None\nOpBranchConditional {condition} {yes} {end}\n{yes} = OpLabel"
        ));
        inside(self);
        self.line(&format!("OpBranch {end}\n{end} = OpLabel"));
    }

    /// The index, reduced to one of the array if it may be larger.
    fn around_the_end(&mut self, index: String) -> String {
        let words = self.kernel.invocations();
        if words.is_power_of_two() {
            index
        } else {
            self.with("UMod", &index, words)
        }
    }

    fn index(&mut self, index: Index, place: &str) -> String {
        let words = self.kernel.invocations();
        match index {
            Index::Flipped(n) => {
                let flipped = self.with("BitwiseXor", place, n);
                self.around_the_end(flipped)
            }
            Index::Plus(n) => {
                let sum = self.with("IAdd", place, n);
                self.with("UMod", &sum, words)
            }
            Index::InRow(size, n) => {
                let row = self.with("UDiv", place, size);
                let begin = self.with("IMul", &row, size);
                let sum = self.with("IAdd", place, n);
                let lane = self.with("UMod", &sum, size);
                let name = self.name();
                self.line(&format!("{name} = OpIAdd %uint {begin} {lane}"));
                self.around_the_end(name)
            }
            Index::Fixed(n) => self.constant(n),
            Index::Divided(n) => self.with("UDiv", place, n),
        }
    }
}
