//! A random program on the host.

use super::{
    ARRAY, Combine, Expression, GROUPS, Operation, Program, Statement, Top, VARIABLES, WORKGROUP,
};

/// What an invocation has.
#[derive(Clone, Debug)]
struct State {
    variables: [u32; VARIABLES],
    array: [u32; ARRAY as usize],
}

/// The variables of all invocations in the end, one invocation after the other.
pub fn run(program: &Program, inputs: &[u32], subgroup: usize) -> Vec<u32> {
    let mut results = Vec::new();
    for group in 0..GROUPS {
        let first = group * WORKGROUP;
        let mut states: Vec<State> = (first..first + WORKGROUP)
            .map(|id| {
                let (a, b) = (inputs[2 * id], inputs[2 * id + 1]);
                State {
                    variables: std::array::from_fn(|v| {
                        if v % 2 == 0 { a } else { b }.wrapping_add(v as u32)
                    }),
                    array: [0; ARRAY as usize],
                }
            })
            .collect();
        together(&program.0, &mut states, subgroup);
        results.extend(states.iter().flat_map(|s| s.variables));
    }
    results
}

fn together(program: &[Top], states: &mut [State], subgroup: usize) {
    for top in program {
        match top {
            Top::Local(statement) => states.iter_mut().for_each(|s| alone(statement, s)),
            Top::Reduce {
                with,
                scan,
                to,
                from,
            } => {
                for lanes in states.chunks_mut(subgroup) {
                    let values: Vec<u32> = lanes.iter().map(|s| s.variables[*from]).collect();
                    for (lane, state) in lanes.iter_mut().enumerate() {
                        let end = if *scan { lane + 1 } else { values.len() };
                        let combined = values[..end]
                            .iter()
                            .fold(0, |sum, v| combine(*with, sum, *v));
                        state.variables[*to] = combined;
                    }
                }
            }
            Top::ShuffleXor { to, from, mask } => {
                let values: Vec<u32> = states.iter().map(|s| s.variables[*from]).collect();
                for (lane, state) in states.iter_mut().enumerate() {
                    state.variables[*to] = values[lane ^ *mask as usize];
                }
            }
            Top::Exchange {
                to,
                from,
                distance,
                between,
            } => {
                let left: Vec<u32> = states.iter().map(|s| s.variables[*from]).collect();
                for (id, state) in states.iter_mut().enumerate() {
                    between.iter().for_each(|s| alone(s, state));
                    state.variables[*to] = left[(id + *distance as usize) % WORKGROUP];
                }
            }
            Top::Repeat(count, body) => (0..*count).for_each(|_| together(body, states, subgroup)),
        }
    }
}

fn combine(with: Combine, a: u32, b: u32) -> u32 {
    match with {
        Combine::Add => a.wrapping_add(b),
        Combine::Xor => a ^ b,
        Combine::Max => a.max(b),
    }
}

fn alone(statement: &Statement, s: &mut State) {
    let all = |list: &[Statement], s: &mut State| list.iter().for_each(|st| alone(st, s));
    match statement {
        Statement::Set(to, expression) => s.variables[*to] = value(*expression, s),
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
            let branch = if s.variables[*variable] >> bit & 1 == 1 {
                yes
            } else {
                no
            };
            all(branch, s);
        }
        Statement::Loop { variable, body } => {
            let count = s.variables[*variable] & 3;
            (0..count).for_each(|_| all(body, s));
        }
        Statement::Switch(variable, branches) => {
            let case = s.variables[*variable] & 3;
            all(branches.get(case as usize).unwrap_or(&branches[2]), s);
        }
    }
}

fn value(Expression { op, a, b }: Expression, s: &State) -> u32 {
    let (a, b) = (s.variables[a], s.variables[b]);
    match op {
        Operation::Add => a.wrapping_add(b),
        Operation::Sub => a.wrapping_sub(b),
        Operation::Mul => a.wrapping_mul(b),
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
        Operation::ShiftLeft => a << (b & 31),
        Operation::ShiftRight => ((a as i32) >> (b & 31)) as u32,
        Operation::Divide => a / (b | 1),
        Operation::Remainder => a % (b | 1),
        Operation::Reverse => a.reverse_bits(),
        Operation::Count => a.count_ones(),
        Operation::Least => a.min(b),
        Operation::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Operation::Add16 => u32::from((a as u16).wrapping_add(b as u16)),
        Operation::Float => {
            let (x, y) = ((a & 0xffff) as f32, (b & 0xffff) as f32);
            (x * y + x).to_bits()
        }
    }
}
