//! Random structured programs, the verdicts against what all their executions do.
//!
//! An execution has values of the push constants and of the storage buffer; every invocation of a
//! workgroup of 64 runs. Silence must mean that no execution breaks the rule at the site, an error
//! that all do.

use super::testing::{module_with, problems};
use crate::diagnostic::{Code, Severity};
use crate::module::WordOffset;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

#[derive(Clone, Debug)]
enum Cond {
    /// Push constant `.0` is `.1`.
    Constant(u32, u32),
    /// LocalInvocationIndex is below `.0`.
    Lane(u32),
    /// The element of the buffer for this invocation is not 0.
    Buffer,
    /// The variable has this value.
    Flag(u32),
    /// What [`QUOTIENTS`] makes of GlobalInvocationId.x is below push constant `.1`.
    Quotient(usize, u32),
    /// The counter of the innermost loop is not 0.
    NotFirst,
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
}

#[derive(Clone, Debug)]
enum Count {
    Fixed(u32),
    Constant(u32),
    /// LocalInvocationIndex / 16, 0 to 3.
    Lane,
}

/// An arrive or a wait: its number, and whether it is of scope Subgroup.
#[derive(Copy, Clone, Debug)]
struct Site {
    number: usize,
    subgroup: bool,
}

#[derive(Clone, Debug)]
enum Stmt {
    Arrive(Site),
    Wait(Site),
    SetFlag(u32),
    SetFlagToConstant(u32),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    Switch(u32, Vec<Vec<Stmt>>),
    Loop(Count, Vec<Stmt>),
    /// The test stands at the end.
    Rotated(Count, Vec<Stmt>),
    /// In a function of its own.
    Call(Vec<Stmt>),
    BreakIf(Cond),
    ContinueIf(Cond),
    ReturnIf(Cond),
}

/// Values of GlobalInvocationId.x, some of them the same for a workgroup: instructions and their
/// second operands, one after the other.
const QUOTIENTS: &[&[(&str, u32)]] = &[
    &[("OpUDiv", 64)],
    &[("OpUDiv", 16)],
    &[("OpShiftRightLogical", 7)],
    &[("OpBitwiseAnd", 64)],
    &[("OpIAdd", 1), ("OpUDiv", 64)],
    &[("OpUMod", 64), ("OpUDiv", 48)],
    &[("OpUMod", 16), ("OpShiftRightLogical", 4)],
    &[("OpISub", 63), ("OpShiftRightLogical", 7)],
];

fn quotient(steps: &[(&str, u32)], global: u32) -> u32 {
    steps.iter().fold(global, |value, (op, by)| match *op {
        "OpUDiv" => value / by,
        "OpUMod" => value % by,
        "OpShiftRightLogical" => value >> by,
        "OpBitwiseAnd" => value & by,
        "OpIAdd" => value.wrapping_add(*by),
        _ => value.wrapping_sub(*by),
    })
}

/// Numbers that look random and are the same every time (xorshift, Marsaglia 2003).
struct Numbers {
    state: u64,
    /// A function is being made: it does not see the variables of its caller.
    in_function: bool,
}

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 20) % u64::from(end)) as u32
    }

    fn cond(&mut self, loops: u32) -> Cond {
        match self.below(14) {
            0..=3 => Cond::Constant(self.below(2), self.below(2)),
            4 | 5 => Cond::Lane([0, 16, 48, 64][self.below(4) as usize]),
            6 => Cond::Buffer,
            7 | 8 if !self.in_function => Cond::Flag(self.below(2)),
            9 if loops > 0 => Cond::NotFirst,
            12 | 13 => Cond::Quotient(self.below(QUOTIENTS.len() as u32) as usize, self.below(2)),
            10 => Cond::And(Box::new(self.cond(loops)), Box::new(self.cond(loops))),
            _ => Cond::Not(Box::new(self.cond(loops))),
        }
    }

    fn body(&mut self, depth: u32, loops: u32, sites: &mut usize) -> Vec<Stmt> {
        let len = 1 + self.below(4);
        (0..len).map(|_| self.stmt(depth, loops, sites)).collect()
    }

    fn stmt(&mut self, depth: u32, loops: u32, sites: &mut usize) -> Stmt {
        let kind = self.below(if depth > 0 { 18 } else { 10 });
        let subgroup = self.below(8) == 0;
        let mut site = || {
            *sites += 1;
            Site {
                number: *sites - 1,
                subgroup,
            }
        };
        match kind {
            0..=2 => Stmt::Arrive(site()),
            3..=5 => Stmt::Wait(site()),
            6 | 7 if self.in_function => Stmt::Wait(site()),
            6 => Stmt::SetFlag(self.below(2)),
            7 => Stmt::SetFlagToConstant(self.below(2)),
            8 if loops > 0 && self.below(2) == 0 => Stmt::BreakIf(self.cond(loops)),
            8 if loops > 0 => Stmt::ContinueIf(self.cond(loops)),
            9 if self.below(3) == 0 => Stmt::ReturnIf(self.cond(loops)),
            8 | 9 if self.in_function => Stmt::Arrive(site()),
            8 | 9 => Stmt::SetFlag(0),
            10..=13 => {
                let cond = self.cond(loops);
                let yes = self.body(depth - 1, loops, sites);
                let no = if self.below(2) == 0 {
                    self.body(depth - 1, loops, sites)
                } else {
                    Vec::new()
                };
                Stmt::If(cond, yes, no)
            }
            14 => {
                let selector = self.below(2);
                Stmt::Switch(
                    selector,
                    (0..2 + self.below(2))
                        .map(|_| self.body(depth - 1, loops, sites))
                        .collect(),
                )
            }
            17 if !self.in_function => {
                self.in_function = true;
                let body = self.body(depth - 1, 0, sites);
                self.in_function = false;
                Stmt::Call(body)
            }
            _ => {
                let count = match self.below(5) {
                    0..=2 => Count::Fixed(self.below(4)),
                    3 => Count::Constant(self.below(2)),
                    _ => Count::Lane,
                };
                let rotated = self.below(3) == 0;
                let body = self.body(depth - 1, loops + 1, sites);
                if rotated {
                    Stmt::Rotated(count, body)
                } else {
                    Stmt::Loop(count, body)
                }
            }
        }
    }
}

/// Writes a program as assembly text.
#[derive(Default)]
struct Emitter {
    text: String,
    variables: String,
    /// Functions that are called.
    functions: String,
    /// Numbers of the sites in the order of the text: of the entry point, of the functions.
    order: [Vec<usize>; 2],
    in_function: bool,
    next: u32,
    /// Merge block, continue block and counter of the loops around.
    loops: Vec<(u32, u32, u32)>,
}

impl Emitter {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").unwrap();
    }

    fn constant(&mut self, member: u32) -> u32 {
        let (a, v) = (self.fresh(), self.fresh());
        self.line(format_args!(
            "%n{a} = OpAccessChain %constant_ptr %constants %u{member}"
        ));
        self.line(format_args!("%n{v} = OpLoad %uint %n{a}"));
        v
    }

    fn lane(&mut self) -> u32 {
        let v = self.fresh();
        self.line(format_args!("%n{v} = OpLoad %uint %index"));
        v
    }

    fn cond(&mut self, cond: &Cond) -> u32 {
        let c = self.fresh();
        match cond {
            Cond::Constant(member, value) => {
                let v = self.constant(*member);
                self.line(format_args!("%n{c} = OpIEqual %bool %n{v} %u{value}"));
            }
            Cond::Lane(end) => {
                let v = self.lane();
                self.line(format_args!("%n{c} = OpULessThan %bool %n{v} %u{end}"));
            }
            Cond::Buffer => {
                let (lane, a, v) = (self.lane(), self.fresh(), self.fresh());
                self.line(format_args!(
                    "%n{a} = OpAccessChain %element_ptr %buffer %u0 %n{lane}"
                ));
                self.line(format_args!("%n{v} = OpLoad %uint %n{a}"));
                self.line(format_args!("%n{c} = OpINotEqual %bool %n{v} %u0"));
            }
            Cond::Flag(value) => {
                let v = self.fresh();
                self.line(format_args!("%n{v} = OpLoad %uint %flag"));
                self.line(format_args!("%n{c} = OpIEqual %bool %n{v} %u{value}"));
            }
            Cond::Quotient(which, member) => {
                let (ids, mut x) = (self.fresh(), self.fresh());
                self.line(format_args!("%n{ids} = OpLoad %v3 %global"));
                self.line(format_args!("%n{x} = OpCompositeExtract %uint %n{ids} 0"));
                for (op, by) in QUOTIENTS[*which] {
                    let next = self.fresh();
                    self.line(format_args!("%n{next} = {op} %uint %n{x} %u{by}"));
                    x = next;
                }
                let v = self.constant(*member);
                self.line(format_args!("%n{c} = OpULessThan %bool %n{x} %n{v}"));
            }
            Cond::NotFirst => {
                let v = self.fresh();
                let (_, _, counter) = *self.loops.last().unwrap();
                self.line(format_args!("%n{v} = OpLoad %uint %counter{counter}"));
                self.line(format_args!("%n{c} = OpINotEqual %bool %n{v} %u0"));
            }
            Cond::Not(inner) => {
                let v = self.cond(inner);
                self.line(format_args!("%n{c} = OpLogicalNot %bool %n{v}"));
            }
            Cond::And(a, b) => {
                let (a, b) = (self.cond(a), self.cond(b));
                self.line(format_args!("%n{c} = OpLogicalAnd %bool %n{a} %n{b}"));
            }
        }
        c
    }

    fn label(&mut self, label: u32) {
        self.line(format_args!("%n{label} = OpLabel"));
    }

    fn jump(&mut self, label: u32) {
        self.line(format_args!("OpBranch %n{label}"));
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn leave_if(&mut self, cond: &Cond, to: u32) -> u32 {
        let (c, on) = (self.cond(cond), self.fresh());
        self.line(format_args!("OpSelectionMerge %n{on} 0"));
        self.line(format_args!("OpBranchConditional %n{c} %n{to} %n{on}"));
        on
    }

    fn site(&mut self, what: &str, site: Site) {
        self.order[usize::from(self.in_function)].push(site.number);
        let scope = if site.subgroup { ".sub" } else { "" };
        self.line(format_args!("{what}{scope}"));
    }

    fn call(&mut self, body: &[Stmt]) {
        let (result, function, entry) = (self.fresh(), self.fresh(), self.fresh());
        self.line(format_args!(
            "%n{result} = OpFunctionCall %void %n{function}"
        ));
        let text = std::mem::take(&mut self.text);
        let variables = std::mem::take(&mut self.variables);
        let loops = std::mem::take(&mut self.loops);
        self.in_function = true;
        self.body(body);
        self.in_function = false;
        let body = std::mem::replace(&mut self.text, text);
        let locals = std::mem::replace(&mut self.variables, variables);
        self.loops = loops;
        writeln!(self.functions, "%n{function} = OpFunction %void 0 %fn\n%n{entry} = OpLabel\n{locals}{body}OpReturn\nOpFunctionEnd").unwrap();
    }

    /// for (i = 0; i < n; i++) body, or do body while (++i < n).
    fn a_loop(&mut self, count: &Count, body: &[Stmt], rotated: bool) {
        let n = match count {
            Count::Fixed(n) => format!("%u{n}"),
            Count::Constant(member) => format!("%n{}", self.constant(*member)),
            Count::Lane => {
                let (lane, n) = (self.lane(), self.fresh());
                self.line(format_args!("%n{n} = OpUDiv %uint %n{lane} %u16"));
                format!("%n{n}")
            }
        };
        let counter = self.fresh();
        writeln!(self.variables, "%counter{counter} = OpVariable %ptr 7").unwrap();
        let [head, test, inside, next, end] = [(); 5].map(|()| self.fresh());
        let [v, c, w, x] = [(); 4].map(|()| self.fresh());
        self.line(format_args!("OpStore %counter{counter} %u0"));
        self.jump(head);
        self.label(head);
        self.line(format_args!("OpLoopMerge %n{end} %n{next} 0"));
        if rotated {
            self.jump(inside);
        } else {
            self.jump(test);
            self.label(test);
            self.line(format_args!("%n{v} = OpLoad %uint %counter{counter}"));
            self.line(format_args!("%n{c} = OpULessThan %bool %n{v} {n}"));
            self.line(format_args!("OpBranchConditional %n{c} %n{inside} %n{end}"));
        }
        self.label(inside);
        self.loops.push((end, next, counter));
        self.body(body);
        self.loops.pop();
        self.jump(next);
        self.label(next);
        self.line(format_args!("%n{w} = OpLoad %uint %counter{counter}"));
        self.line(format_args!("%n{x} = OpIAdd %uint %n{w} %u1"));
        self.line(format_args!("OpStore %counter{counter} %n{x}"));
        if rotated {
            self.line(format_args!("%n{c} = OpULessThan %bool %n{x} {n}"));
            self.line(format_args!("OpBranchConditional %n{c} %n{head} %n{end}"));
        } else {
            self.jump(head);
        }
        self.label(end);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Arrive(site) => self.site("arrive", *site),
            Stmt::Wait(site) => self.site("wait", *site),
            Stmt::SetFlag(value) => self.line(format_args!("OpStore %flag %u{value}")),
            Stmt::SetFlagToConstant(member) => {
                let v = self.constant(*member);
                self.line(format_args!("OpStore %flag %n{v}"));
            }
            Stmt::If(cond, yes, no) => {
                let (c, a, b, end) = (self.cond(cond), self.fresh(), self.fresh(), self.fresh());
                self.line(format_args!("OpSelectionMerge %n{end} 0"));
                self.line(format_args!("OpBranchConditional %n{c} %n{a} %n{b}"));
                for (label, body) in [(a, yes), (b, no)] {
                    self.label(label);
                    self.body(body);
                    self.jump(end);
                }
                self.label(end);
            }
            Stmt::Switch(member, bodies) => {
                let (v, end) = (self.constant(*member), self.fresh());
                let labels: Vec<u32> = bodies.iter().map(|_| self.fresh()).collect();
                let cases: String = labels
                    .iter()
                    .enumerate()
                    .skip(1)
                    .map(|(literal, label)| format!(" {} %n{label}", literal - 1))
                    .collect();
                self.line(format_args!("OpSelectionMerge %n{end} 0"));
                self.line(format_args!("OpSwitch %n{v} %n{}{cases}", labels[0]));
                for (label, body) in labels.iter().zip(bodies) {
                    self.label(*label);
                    self.body(body);
                    self.jump(end);
                }
                self.label(end);
            }
            Stmt::Loop(count, body) => self.a_loop(count, body, false),
            Stmt::Rotated(count, body) => self.a_loop(count, body, true),
            Stmt::Call(body) => self.call(body),
            Stmt::BreakIf(cond) => {
                let (end, _, _) = *self.loops.last().unwrap();
                let on = self.leave_if(cond, end);
                self.label(on);
            }
            Stmt::ContinueIf(cond) => {
                let (_, next, _) = *self.loops.last().unwrap();
                let on = self.leave_if(cond, next);
                self.label(on);
            }
            Stmt::ReturnIf(cond) => {
                let out = self.fresh();
                let on = self.leave_if(cond, out);
                self.label(out);
                self.line(format_args!("OpReturn"));
                self.label(on);
            }
        }
    }
}

/// One invocation of one execution.
struct Machine {
    constants: [u32; 2],
    buffer: bool,
    group: u32,
    lane: u32,
    flag: u32,
    counters: Vec<u32>,
    /// By scope.
    open: [bool; 2],
    /// Sites in the order of their execution, with the counters of the loops around.
    events: Vec<(usize, Vec<u32>)>,
    broken: BTreeSet<usize>,
}

#[derive(PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
    Return,
}

impl Machine {
    fn cond(&self, cond: &Cond) -> bool {
        match cond {
            Cond::Constant(member, value) => self.constants[*member as usize] == *value,
            Cond::Lane(end) => self.lane < *end,
            Cond::Buffer => self.buffer,
            Cond::Flag(value) => self.flag == *value,
            Cond::Quotient(which, member) => {
                let global = self.group * 64 + self.lane;
                quotient(QUOTIENTS[*which], global) < self.constants[*member as usize]
            }
            Cond::NotFirst => *self.counters.last().unwrap() != 0,
            Cond::Not(inner) => !self.cond(inner),
            Cond::And(a, b) => self.cond(a) && self.cond(b),
        }
    }

    fn run(&mut self, body: &[Stmt]) -> Flow {
        for stmt in body {
            let flow = self.step(stmt);
            if flow != Flow::On {
                return flow;
            }
        }
        Flow::On
    }

    fn site(&mut self, site: Site, arrives: bool) -> Flow {
        let open = &mut self.open[usize::from(site.subgroup)];
        if *open == arrives {
            self.broken.insert(site.number);
        }
        *open = arrives;
        if !site.subgroup {
            self.events.push((site.number, self.counters.clone()));
        }
        Flow::On
    }

    fn a_loop(&mut self, count: &Count, body: &[Stmt], rotated: bool) -> Flow {
        let n = match count {
            Count::Fixed(n) => *n,
            Count::Constant(member) => self.constants[*member as usize],
            Count::Lane => self.lane / 16,
        };
        self.counters.push(0);
        let mut flow = Flow::On;
        while rotated && *self.counters.last().unwrap() == 0 || *self.counters.last().unwrap() < n {
            match self.run(body) {
                Flow::On | Flow::Continue => {}
                Flow::Break => break,
                Flow::Return => {
                    flow = Flow::Return;
                    break;
                }
            }
            *self.counters.last_mut().unwrap() += 1;
        }
        self.counters.pop();
        flow
    }

    fn step(&mut self, stmt: &Stmt) -> Flow {
        let leave = |leaves, flow| if leaves { flow } else { Flow::On };
        match stmt {
            Stmt::Arrive(site) => self.site(*site, true),
            Stmt::Wait(site) => self.site(*site, false),
            Stmt::SetFlag(value) => {
                self.flag = *value;
                Flow::On
            }
            Stmt::SetFlagToConstant(member) => {
                self.flag = self.constants[*member as usize];
                Flow::On
            }
            Stmt::If(cond, yes, no) => {
                if self.cond(cond) {
                    self.run(yes)
                } else {
                    self.run(no)
                }
            }
            Stmt::Switch(member, bodies) => {
                let case = self.constants[*member as usize] as usize + 1;
                self.run(bodies.get(case).unwrap_or(&bodies[0]))
            }
            Stmt::Loop(count, body) => self.a_loop(count, body, false),
            Stmt::Rotated(count, body) => self.a_loop(count, body, true),
            Stmt::Call(body) => {
                self.run(body); // a return leaves the function alone
                Flow::On
            }
            Stmt::BreakIf(cond) => leave(self.cond(cond), Flow::Break),
            Stmt::ContinueIf(cond) => leave(self.cond(cond), Flow::Continue),
            Stmt::ReturnIf(cond) => leave(self.cond(cond), Flow::Return),
        }
    }
}

/// In how many of the executions each rule is broken at each site, and how many executions there
/// are.
fn executions(program: &[Stmt], sites: usize) -> (Vec<[usize; 2]>, usize) {
    let mut broken: Vec<[usize; 2]> = vec![[0; 2]; sites];
    let mut count = 0;
    for constants in [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
        [2, 0],
        [0, 2],
        [2, 1],
        [1, 2],
        [3, 3],
    ] {
        let buffers = [|_| false, |_| true, |lane: u32| lane % 2 == 1];
        for (group, buffer) in buffers.iter().flat_map(|buffer| [(0, buffer), (2, buffer)]) {
            count += 1;
            let mut first: Option<BTreeMap<usize, Vec<Vec<u32>>>> = None;
            let mut uneven = BTreeSet::new();
            let mut unpaired: BTreeSet<usize> = BTreeSet::new();
            // Lanes that differ in a condition.
            for lane in [0, 1, 15, 16, 17, 31, 32, 47, 48, 49, 62, 63] {
                let mut machine = Machine {
                    constants,
                    buffer: buffer(lane),
                    group,
                    lane,
                    flag: 0,
                    counters: Vec::new(),
                    open: [false; 2],
                    events: Vec::new(),
                    broken: BTreeSet::new(),
                };
                machine.run(program);
                unpaired.extend(&machine.broken);
                let mut by_site: BTreeMap<usize, Vec<Vec<u32>>> = BTreeMap::new();
                for (site, counters) in machine.events {
                    by_site.entry(site).or_default().push(counters);
                }
                match &first {
                    None => first = Some(by_site),
                    Some(first) => uneven
                        .extend((0..sites).filter(|site| first.get(site) != by_site.get(site))),
                }
            }
            uneven.iter().for_each(|site| broken[*site][0] += 1);
            unpaired.iter().for_each(|site| broken[*site][1] += 1);
        }
    }
    (broken, count)
}

/// Programs in a normal run, and where the numbers start; `SPLITBAR_SEEDS=N` goes through N starts.
const PROGRAMS: u32 = 3000;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[test]
fn verdicts_agree_with_all_executions() {
    let seeds = std::env::var("SPLITBAR_SEEDS").map_or(1, |count| count.parse().unwrap());
    for seed in 0..seeds {
        from_seed(SEED.wrapping_add(seed * 0x1234_5679));
    }
}

fn from_seed(seed: u64) {
    let mut numbers = Numbers {
        state: seed,
        in_function: false,
    };
    // Per rule: proved, refuted, unknown; and of the last those that all executions break, and
    // those that none does.
    let mut verdicts = [[0; 5]; 2];
    for round in 0..PROGRAMS {
        let mut sites = 0;
        let program = numbers.body(1 + round % 3, 0, &mut sites);
        let mut emitter = Emitter::default();
        emitter.body(&program);
        let text = format!(
            "%flag = OpVariable %ptr 7\n{}OpStore %flag %u0\n{}OpReturn",
            emitter.variables, emitter.text
        );
        let module = module_with(&text, &emitter.functions);
        let order = emitter.order.concat();
        let text = [text, emitter.functions].join("\n");
        let places: Vec<WordOffset> = module
            .module
            .instructions()
            .filter(|inst| matches!(inst.opcode(), 6142 | 6143))
            .map(|inst| inst.offset)
            .collect();
        assert_eq!(places.len(), sites);
        let mut said: BTreeMap<(usize, usize), Severity> = BTreeMap::new();
        for problem in problems(&module).iter() {
            let rule = match problem.code {
                Code::NonUniformSplitBarrier => 0,
                Code::UnarrivedWait | Code::RepeatedWait | Code::RepeatedArrive => 1,
                _ => continue, // a lint
            };
            let site = places
                .iter()
                .position(|place| Some(*place) == problem.location.word)
                .unwrap();
            let site = order[site];
            said.insert((site, rule), problem.severity);
        }
        let (broken, count) = executions(&program, sites);
        for (site, by_rule) in broken.iter().enumerate() {
            for (rule, bad) in by_rule.iter().copied().enumerate() {
                match said.get(&(site, rule)) {
                    None => {
                        assert_eq!(
                            bad, 0,
                            "rule {rule} is proved at site {site} and broken in {bad} of {count} executions\n{program:#?}\n{text}"
                        );
                        verdicts[rule][0] += 1;
                    }
                    Some(Severity::Error) => {
                        assert_eq!(
                            bad, count,
                            "rule {rule} is refuted at site {site} and broken in {bad} of {count} executions\n{program:#?}\n{text}"
                        );
                        verdicts[rule][1] += 1;
                    }
                    Some(_) => {
                        verdicts[rule][2] += 1;
                        verdicts[rule][3] += usize::from(bad == count);
                        verdicts[rule][4] += usize::from(bad == 0);
                    }
                }
            }
        }
    }
    println!("{verdicts:?}");
    for [proved, refuted, unknown, ..] in verdicts {
        assert!(
            proved > 1000 && refuted > 50 && unknown > 50,
            "too few of a verdict to test it: {verdicts:?}"
        );
    }
}
