//! A program from a seed.

use super::{Condition, Form, Group, Program, Statement, Times};
use fastrand::Rng;

const MOST_DEPTH: u32 = 4;
const FUNCTIONS: usize = 2;

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut walk = Walk {
        rng: Rng::with_seed(seed),
        left: 0,
        functions: 0,
    };
    let mut functions = Vec::new();
    for _ in 0..walk.rng.usize(..=FUNCTIONS) {
        walk.left = walk.rng.u32(2..8);
        functions.push(walk.list(At::default()));
        walk.functions += 1;
    }
    walk.left = walk.rng.u32(4..20);
    let mut main = Vec::new();
    while walk.left > 0 {
        main.extend(walk.list(At::default()));
    }
    main.push(Statement::Group(Group::Count));
    Program {
        size: *[64, 64, 40].get(walk.rng.usize(..3)).unwrap_or(&64),
        maximal: walk.rng.bool(),
        main,
        functions,
    }
}

/// The surroundings of a statement.
#[derive(Copy, Clone, Default)]
struct At {
    depth: u32,
    breaks: bool,
    continues: bool,
    /// In a branch, the rest of whose construct may be left.
    leaves: bool,
}

struct Walk {
    rng: Rng,
    /// So many statements may follow.
    left: u32,
    functions: usize,
}

impl Walk {
    fn list(&mut self, at: At) -> Vec<Statement> {
        let mut list = Vec::new();
        for _ in 0..self.rng.u32(1..=3) {
            self.left = self.left.saturating_sub(1);
            list.push(self.statement(at));
        }
        if at.leaves && self.rng.u32(..5) < 2 {
            let mut ways = vec![Statement::Return];
            ways.extend(at.breaks.then_some(Statement::Break));
            ways.extend(at.breaks.then_some(Statement::Break));
            ways.extend(at.continues.then_some(Statement::Continue));
            let way = self.rng.usize(..ways.len());
            list.extend(ways.into_iter().nth(way));
        }
        list
    }

    fn statement(&mut self, at: At) -> Statement {
        let inner = At {
            depth: at.depth + 1,
            leaves: true,
            ..at
        };
        let deep = at.depth >= MOST_DEPTH || self.left == 0;
        match self.rng.u32(..12) {
            0..=2 if !deep => Statement::If {
                when: self.condition(),
                yes: self.list(inner),
                no: if self.rng.bool() {
                    self.list(inner)
                } else {
                    Vec::new()
                },
                phi: self.rng.bool(),
                header: self.rng.bool(),
                bare: false,
            },
            3 if !deep && at.breaks => Statement::If {
                when: self.condition(),
                yes: vec![if at.continues && self.rng.bool() {
                    Statement::Continue
                } else {
                    Statement::Break
                }],
                no: Vec::new(),
                phi: false,
                header: false,
                bare: true,
            },
            3..=5 if !deep => {
                let form = [Form::Header, Form::Body, Form::Tail, Form::Latch];
                let form = form.get(self.rng.usize(..4)).copied().unwrap_or(Form::Body);
                let body = self.list(At {
                    depth: at.depth + 1,
                    breaks: form != Form::Tail,
                    continues: true,
                    leaves: false,
                });
                let again = (0..self.rng.u32(..2)).map(|_| self.plain()).collect();
                Statement::Loop {
                    form,
                    times: if self.rng.bool() {
                        Times::Bits(self.rng.u32(..28))
                    } else {
                        Times::Constant(self.rng.u32(1..4))
                    },
                    body,
                    again,
                }
            }
            6 if !deep => Statement::Switch {
                bit: self.rng.u32(..28),
                branches: (0..self.rng.u32(2..4))
                    .map(|_| {
                        self.list(At {
                            breaks: true,
                            ..inner
                        })
                    })
                    .collect(),
            },
            7 if self.functions > 0 => Statement::Call(self.rng.usize(..self.functions)),
            _ => self.plain(),
        }
    }

    fn condition(&mut self) -> Condition {
        match self.rng.u32(..5) {
            0 | 1 => {
                let mask = self.rng.u32(1..32);
                let value = self.rng.u32(..32) & mask;
                Condition::Lane { mask, value }
            }
            2 | 3 => Condition::Bit(self.rng.u32(..32)),
            _ => Condition::Odd,
        }
    }

    fn plain(&mut self) -> Statement {
        let bit = self.rng.u32(..32);
        Statement::Group(match self.rng.u32(..12) {
            0..=2 => Group::Count,
            3 => Group::Ballot(bit),
            4 => Group::Add,
            5 => Group::ExclusiveAdd,
            6 => Group::Max,
            7 => Group::Elect,
            8 => Group::First,
            9 => Group::All(bit),
            10 => Group::Any(bit),
            _ => return Statement::Mix(bit),
        })
    }
}
