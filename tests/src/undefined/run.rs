//! Executes a program on the host, on numbers that may be undefined: `None` is an arbitrary number.
//! Undefined behaviour of SPIR-V also counts as an undefined value, as in drivers.

use super::{INVOCATIONS, Operation, Program, Statement, VARIABLES};

/// A number; `None`: any.
type Number = Option<u32>;

/// The results of `program` for these inputs: `None` for words that may be anything. Words that are
/// not written stay 0.
pub fn run(program: &Program, inputs: &[u32]) -> Vec<Number> {
    let mut results = vec![Some(0); program.outputs * INVOCATIONS];
    for id in 0..INVOCATIONS {
        let own = &inputs[id * (VARIABLES - 1)..][..VARIABLES - 1];
        let mut invocation = Invocation {
            id,
            variables: std::array::from_fn(|at| Some(own.get(at).copied().unwrap_or(id as u32))),
            elements: [None; 4],
            results: &mut results,
        };
        invocation.all(&program.statements);
    }
    results
}

struct Invocation<'r> {
    id: usize,
    variables: [Number; VARIABLES],
    elements: [Number; 4],
    results: &'r mut [Number],
}

impl Invocation<'_> {
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
                let (a, b) = (self.variables[*a], self.variables[*b]);
                if *operation == Operation::Element {
                    self.elements[(number & 3) as usize] = a;
                    self.variables[*to] = b.and_then(|b| self.elements[(b & 3) as usize]);
                    return;
                }
                self.variables[*to] = value(*operation, a, b, *number, &self.variables);
            }
            Statement::If {
                variable,
                bit,
                yes,
                no,
            } => match self.variables[*variable] {
                Some(number) if number >> bit & 1 == 1 => self.all(yes),
                Some(_) => self.all(no),
                None => {
                    self.perhaps(yes);
                    self.perhaps(no);
                }
            },
            Statement::Loop { variable, body } => match self.variables[*variable] {
                Some(number) => (0..number & 3).for_each(|_| self.all(body)),
                None => self.perhaps(body),
            },
            Statement::Write { place, from } => {
                self.results[place * INVOCATIONS + self.id] = self.variables[*from];
            }
        }
    }

    /// Executes statements of which it is undefined whether they are executed.
    fn perhaps(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Set { to, .. } => {
                    self.variables[*to] = None;
                    self.elements = [None; 4];
                }
                Statement::If { yes, no, .. } => {
                    self.perhaps(yes);
                    self.perhaps(no);
                }
                Statement::Loop { body, .. } => self.perhaps(body),
                Statement::Write { place, .. } => {
                    self.results[place * INVOCATIONS + self.id] = None;
                }
            }
        }
    }
}

fn value(
    operation: Operation,
    a: Number,
    b: Number,
    number: u32,
    variables: &[Number; VARIABLES],
) -> Number {
    use Operation::*;
    match operation {
        // Some factors say the result without the other.
        And if a == Some(0) || b == Some(0) => return Some(0),
        Mul if a == Some(0) || b == Some(0) => return Some(0),
        Or if a == Some(u32::MAX) || b == Some(u32::MAX) => return Some(u32::MAX),
        Number => return Some(number),
        Shuffle if number.is_multiple_of(2) => return a,
        Shuffle | Undefined | Unwritten | Element => return None,
        Component => return *variables[..4].get(b? as usize)?,
        InsertComponent => {
            return match b? {
                0 => a,
                1..4 => variables[0],
                _ => None,
            };
        }
        Small => return Some(a? % 40),
        ShiftByNumber => return a?.checked_shl(number),
        FloatToUnsigned => {
            let float = f32::from_bits(a?);
            return (float > -1.0 && float < 4_294_967_296.0).then_some(float as u32);
        }
        FloatToSigned => {
            let float = f32::from_bits(a?);
            let fits = (-2_147_483_648.0..2_147_483_648.0).contains(&float);
            return fits.then_some(float as i32 as u32);
        }
        _ => {}
    }
    let (a, b) = (a?, b?);
    let signed = (a as i32, b as i32);
    let count = number % 33;
    let ends_beyond = b.checked_add(count).is_none_or(|end| end > 32);
    let mask = u32::MAX.checked_shr(32 - count).unwrap_or(0);
    match operation {
        Add => Some(a.wrapping_add(b)),
        Mul => Some(a.wrapping_mul(b)),
        And => Some(a & b),
        Or => Some(a | b),
        Xor => Some(a ^ b),
        ShiftLeft => a.checked_shl(b),
        ShiftRight => a.checked_shr(b),
        ShiftArithmetic => signed.0.checked_shr(b).map(|shifted| shifted as u32),
        Divide => a.checked_div(b),
        Modulo => a.checked_rem(b),
        DivideSigned => signed
            .0
            .checked_div(signed.1)
            .map(|quotient| quotient as u32),
        Remainder => signed.0.checked_rem(signed.1).map(|rest| rest as u32),
        ModuloSigned => signed.0.checked_rem(signed.1).map(|rest| {
            let other = rest != 0 && (rest < 0) != (signed.1 < 0);
            rest.wrapping_add(if other { signed.1 } else { 0 }) as u32
        }),
        Insert | Extract | ExtractSigned if ends_beyond => None,
        // Field and base are both `a`.
        Insert => {
            Some(a & !mask.checked_shl(b).unwrap_or(0) | (a & mask).checked_shl(b).unwrap_or(0))
        }
        Extract => Some(a.checked_shr(b).unwrap_or(0) & mask),
        ExtractSigned => match count {
            0 => Some(0),
            _ => Some(((a << (32 - count - b)) as i32 >> (32 - count)) as u32),
        },
        Number | Small | ShiftByNumber | FloatToUnsigned | FloatToSigned | Component
        | InsertComponent | Shuffle | Undefined | Unwritten | Element => None,
    }
}
