//! A random program on the host.

use super::expression::value;
use super::share::{Index, When};
use super::sizes::{ARRAY, GROUPS, SHARED, SLOTS, VARIABLES};
use super::statement::{Leave, Statement};
use super::tree::{Combine, Program, Top};

/// The registers of an invocation.
#[derive(Clone, Debug)]
struct Registers {
    variables: [u32; VARIABLES],
    array: [u32; ARRAY as usize],
}

impl Registers {
    /// Of two operands.
    fn new(a: u32, b: u32) -> Registers {
        Registers {
            variables: std::array::from_fn(|v| {
                if v % 2 == 0 { a } else { b }.wrapping_add(v as u32)
            }),
            array: [0; ARRAY as usize],
        }
    }
}

/// The control flow after a statement.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
    Return(u32),
}

/// The memory after a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The variables of all invocations in the end, one invocation after the other.
    pub variables: Vec<u32>,
    /// The slots that are buffers, one after the other: the elements of all workgroups.
    pub buffers: Vec<u32>,
    /// The sums of the last workgroup, one for each of its invocations.
    pub sums: Vec<u32>,
}

/// The memory after `program`, if its invocations have these `inputs` and the initial contents of
/// its slots are `buffers`.
pub fn run(program: &Program, inputs: &[u32], buffers: &[u32], subgroup: usize) -> Memory {
    let size = program.size;
    let mut memory = Memory {
        variables: Vec::new(),
        buffers: buffers.to_vec(),
        sums: vec![0; size],
    };
    for group in 0..GROUPS {
        let first = group * size;
        let mut states: Vec<Registers> = (first..first + size)
            .map(|id| Registers::new(inputs[2 * id], inputs[2 * id + 1]))
            .collect();
        let mut launch = Launch {
            program,
            subgroup,
            group,
            slots: std::array::from_fn(|slot| match slot.checked_sub(SHARED) {
                None => vec![0; size],
                Some(slot) => {
                    let first = (slot * GROUPS + group) * size;
                    buffers[first..first + size].to_vec()
                }
            }),
            ended: false,
        };
        launch.together(&program.tops, &mut states);
        for (slot, elements) in launch.slots[SHARED..].iter().enumerate() {
            let first = (slot * GROUPS + group) * size;
            memory.buffers[first..first + size].copy_from_slice(elements);
        }
        memory
            .variables
            .extend(states.iter().flat_map(|s| s.variables));
        if let Some(last) = program.last {
            for (sum, state) in memory.sums.iter_mut().zip(&states) {
                *sum = sum.wrapping_add(state.variables[last.from]);
            }
        }
    }
    memory
}

struct Launch<'p> {
    program: &'p Program,
    subgroup: usize,
    group: usize,
    /// Of this workgroup.
    slots: [Vec<u32>; SLOTS],
    /// True if it has ended.
    ended: bool,
}

/// The element that an invocation accesses.
fn element(index: Index, id: usize, state: &Registers, size: usize) -> usize {
    match index {
        Index::Own => id,
        Index::Shift(distance) => (id + distance as usize) % size,
        Index::Xor(mask) => id ^ mask as usize,
        Index::At(at) => at as usize,
        Index::By(variable) => state.variables[variable] as usize % size,
    }
}

fn is_chosen(when: When, id: usize, state: &Registers) -> bool {
    match when {
        When::Always => true,
        When::Bit(variable, bit) => state.variables[variable] >> bit & 1 == 1,
        When::Only(only) => id == only as usize,
    }
}

impl Launch<'_> {
    fn together(&mut self, tops: &[Top], states: &mut [Registers]) {
        let size = states.len();
        for top in tops {
            if self.ended {
                return;
            }
            match top {
                Top::Local(statement) => {
                    for state in &mut *states {
                        self.alone(statement, state);
                    }
                }
                Top::Reduce {
                    with,
                    scan,
                    to,
                    from,
                } => self.lanes(states, *to, *from, |values, lane| {
                    let end = if *scan { lane + 1 } else { values.len() };
                    let all = values[..end].iter();
                    all.fold(0, |sum, v| combine(*with, sum, *v))
                }),
                Top::ShuffleXor { to, from, mask } => {
                    self.lanes(states, *to, *from, |values, lane| {
                        values[lane ^ *mask as usize]
                    });
                }
                Top::Broadcast { to, from, lane } => {
                    self.lanes(states, *to, *from, |values, _| values[*lane as usize]);
                }
                Top::Count {
                    to,
                    from,
                    bit,
                    before,
                } => self.lanes(states, *to, *from, |values, lane| {
                    let end = if *before { lane } else { values.len() };
                    values[..end].iter().map(|v| v >> bit & 1).sum()
                }),
                Top::Put {
                    slot,
                    index,
                    from,
                    when,
                    access: _,
                } => {
                    for (id, state) in states.iter().enumerate() {
                        if is_chosen(*when, id, state) {
                            let at = element(*index, id, state, size);
                            self.slots[*slot][at] = state.variables[*from];
                        }
                    }
                }
                Top::Take {
                    slot,
                    index,
                    to,
                    when,
                    access: _,
                } => {
                    for (id, state) in states.iter_mut().enumerate() {
                        if is_chosen(*when, id, state) {
                            let at = element(*index, id, state, size);
                            state.variables[*to] = self.slots[*slot][at];
                        }
                    }
                }
                Top::Copy {
                    to,
                    from,
                    index,
                    access: _,
                } => {
                    for (id, state) in states.iter().enumerate() {
                        let at = element(*index, id, state, size);
                        self.slots[*to][id] = self.slots[*from][at];
                    }
                }
                Top::Atomic {
                    slot,
                    index,
                    from,
                    what,
                    fence: _,
                } => {
                    for (id, state) in states.iter().enumerate() {
                        let at = element(*index, id, state, size);
                        let word = &mut self.slots[*slot][at];
                        *word = what.apply(*word, state.variables[*from]);
                    }
                }
                Top::Fence(_) | Top::Barrier(..) | Top::Arrive(..) | Top::Wait(..) => {}
                Top::Inline(body) => self.together(body, states),
                Top::EndOdd => self.ended = self.group % 2 == 1,
                Top::ByGroup(even, odd) => {
                    let tops = if self.group.is_multiple_of(2) {
                        even
                    } else {
                        odd
                    };
                    self.together(tops, states);
                }
                Top::Repeat(count, body) => {
                    let count = count.value(self.program.counts);
                    (0..count).for_each(|_| self.together(body, states));
                }
            }
        }
    }

    /// `to` of each lane out of `from` of all lanes of its subgroup.
    fn lanes(
        &self,
        states: &mut [Registers],
        to: usize,
        from: usize,
        result: impl Fn(&[u32], usize) -> u32,
    ) {
        for lanes in states.chunks_mut(self.subgroup) {
            let values: Vec<u32> = lanes.iter().map(|s| s.variables[from]).collect();
            for (lane, state) in lanes.iter_mut().enumerate() {
                state.variables[to] = result(&values, lane);
            }
        }
    }

    fn all(&self, list: &[Statement], state: &mut Registers) -> Flow {
        for statement in list {
            let flow = self.alone(statement, state);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn alone(&self, statement: &Statement, s: &mut Registers) -> Flow {
        match statement {
            Statement::Set(to, expression) => s.variables[*to] = value(*expression, &s.variables),
            Statement::Put { index, from } => {
                s.array[(s.variables[*index] % ARRAY) as usize] = s.variables[*from];
            }
            Statement::Get { to, index } => {
                s.variables[*to] = s.array[(s.variables[*index] % ARRAY) as usize];
            }
            Statement::If {
                variable,
                bit,
                yes,
                no,
            } => {
                let taken = s.variables[*variable] >> bit & 1 == 1;
                return self.all(if taken { yes } else { no }, s);
            }
            Statement::Loop { variable, body } => {
                for _ in 0..s.variables[*variable] & 3 {
                    match self.all(body, s) {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        back @ Flow::Return(_) => return back,
                    }
                }
            }
            Statement::Switch(variable, _, branches) => {
                let case = s.variables[*variable] & 3;
                return self.all(branches.get(case as usize).unwrap_or(&branches[2]), s);
            }
            Statement::Leave { how, variable, bit } => {
                let value = s.variables[*variable];
                if value >> bit & 1 == 1 {
                    return match how {
                        Leave::Break => Flow::Break,
                        Leave::Continue => Flow::Continue,
                        Leave::Return => Flow::Return(value),
                    };
                }
            }
            Statement::Call { to, function, a, b } => {
                let called = &self.program.functions[*function];
                let mut own = Registers::new(s.variables[*a], s.variables[*b]);
                s.variables[*to] = match self.all(&called.body, &mut own) {
                    Flow::Return(value) => value,
                    Flow::Next | Flow::Break | Flow::Continue => own.variables[called.result],
                };
            }
        }
        Flow::Next
    }
}

fn combine(with: Combine, a: u32, b: u32) -> u32 {
    match with {
        Combine::Add => a.wrapping_add(b),
        Combine::Xor => a ^ b,
        Combine::Max => a.max(b),
    }
}
