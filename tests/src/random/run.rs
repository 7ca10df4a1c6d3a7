//! A random program on the host.

use super::expression::value;
use super::{
    ARRAY, Combine, Function, GROUPS, Leave, Program, Statement, Top, VARIABLES, WORKGROUP,
};

/// What an invocation has.
#[derive(Clone, Debug)]
struct State {
    variables: [u32; VARIABLES],
    array: [u32; ARRAY as usize],
}

impl State {
    /// Of two operands.
    fn new(a: u32, b: u32) -> State {
        State {
            variables: std::array::from_fn(|v| {
                if v % 2 == 0 { a } else { b }.wrapping_add(v as u32)
            }),
            array: [0; ARRAY as usize],
        }
    }
}

/// Where control goes after a statement.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
    Return(u32),
}

/// The variables of all invocations in the end, one invocation after the other.
pub fn run(program: &Program, inputs: &[u32], subgroup: usize) -> Vec<u32> {
    let mut results = Vec::new();
    for group in 0..GROUPS {
        let first = group * WORKGROUP;
        let mut states: Vec<State> = (first..first + WORKGROUP)
            .map(|id| State::new(inputs[2 * id], inputs[2 * id + 1]))
            .collect();
        let launch = Launch {
            functions: &program.functions,
            subgroup,
            group,
        };
        launch.together(&program.tops, &mut states);
        results.extend(states.iter().flat_map(|s| s.variables));
    }
    results
}

struct Launch<'p> {
    functions: &'p [Function],
    subgroup: usize,
    group: usize,
}

impl Launch<'_> {
    fn together(&self, tops: &[Top], states: &mut [State]) {
        for top in tops {
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
                Top::Exchange {
                    to,
                    from,
                    distance,
                    between,
                    split: _,
                } => {
                    let left: Vec<u32> = states.iter().map(|s| s.variables[*from]).collect();
                    for (id, state) in states.iter_mut().enumerate() {
                        self.all(between, state);
                        state.variables[*to] = left[(id + *distance as usize) % WORKGROUP];
                    }
                }
                Top::Sum { to, from } => {
                    let values = states.iter().map(|s| s.variables[*from]);
                    let sum = values.fold(0, u32::wrapping_add);
                    states.iter_mut().for_each(|s| s.variables[*to] = sum);
                }
                Top::ByGroup(even, odd) => {
                    let tops = if self.group.is_multiple_of(2) {
                        even
                    } else {
                        odd
                    };
                    self.together(tops, states);
                }
                Top::Repeat(count, body) => {
                    (0..*count).for_each(|_| self.together(body, states));
                }
            }
        }
    }

    /// `to` of each lane out of `from` of all lanes of its subgroup.
    fn lanes(
        &self,
        states: &mut [State],
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

    fn all(&self, list: &[Statement], state: &mut State) -> Flow {
        for statement in list {
            let flow = self.alone(statement, state);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn alone(&self, statement: &Statement, s: &mut State) -> Flow {
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
                let called = &self.functions[*function];
                let mut own = State::new(s.variables[*a], s.variables[*b]);
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
