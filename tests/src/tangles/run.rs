//! Executes a program on sets of invocations. Each statement is executed by a tangle, and returns
//! the invocations that continue and the targets of the others.

use super::{
    Condition, Form, Group, ITERATIONS, MOST_CONTINUES, Program, Statement, Times, first_word,
};

/// A set of invocations of a subgroup: bit i for invocation i.
type Set = u64;

/// The words of all invocations in the end, in subgroups of `subgroup`.
pub fn run(program: &Program, subgroup: u32) -> Vec<u32> {
    let mut words: Vec<u32> = (0..program.size).map(first_word).collect();
    for (number, words) in words.chunks_mut(subgroup as usize).enumerate() {
        let all = u64::MAX >> (64 - words.len());
        let first = number as u32 * subgroup;
        let mut run = Run {
            program,
            first,
            words,
            counters: Vec::new(),
        };
        run.list(&program.main, all);
    }
    words
}

/// The successors of the invocations of a tangle after a statement.
#[derive(Copy, Clone, Default)]
struct Ways {
    next: Set,
    breaks: Set,
    continues: Set,
}

struct Run<'r> {
    program: &'r Program,
    /// The number of the subgroup's first invocation.
    first: u32,
    words: &'r mut [u32],
    /// Of the loops around, innermost last.
    counters: Vec<(u32, Form)>,
}

fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| set >> lane & 1 == 1)
}

fn has_bit(word: u32, bit: u32) -> bool {
    word >> bit & 1 == 1
}

impl Run<'_> {
    /// The invocations of `set` whose word satisfies `is`.
    fn those(&self, set: Set, is: impl Fn(u32) -> bool) -> Set {
        let those = members(set).filter(|lane| is(self.words[*lane]));
        those.fold(0, |set, lane| set | 1 << lane)
    }

    fn change(&mut self, set: Set, to: impl Fn(usize, u32) -> u32) {
        for lane in members(set) {
            self.words[lane] = to(lane, self.words[lane]);
        }
    }

    fn list(&mut self, list: &[Statement], set: Set) -> Ways {
        let mut ways = Ways {
            next: set,
            ..Ways::default()
        };
        for statement in list {
            if ways.next == 0 {
                break;
            }
            let after = self.statement(statement, ways.next);
            ways.next = after.next;
            ways.breaks |= after.breaks;
            ways.continues |= after.continues;
        }
        ways
    }

    fn statement(&mut self, statement: &Statement, set: Set) -> Ways {
        let mut ways = Ways {
            next: set,
            ..Ways::default()
        };
        match statement {
            Statement::Mix(number) => {
                self.change(set, |_, word| word.wrapping_mul(33).wrapping_add(*number));
            }
            Statement::Group(group) => self.group(*group, set),
            Statement::If {
                when,
                yes,
                no,
                phi,
                header,
                bare: _,
            } => {
                let taken = self.taken(*when, set);
                let before = self.words.to_vec();
                let mut yes = self.list(yes, taken);
                if taken == 0 {
                    yes = Ways::default();
                }
                let mut no = self.list(no, set & !taken);
                if set & !taken == 0 {
                    no = Ways::default();
                }
                if *phi {
                    self.change(yes.next, |_, word| word.wrapping_add(5));
                    self.change(no.next, |_, word| word.wrapping_add(11));
                }
                ways = Ways {
                    next: yes.next | no.next,
                    breaks: yes.breaks | no.breaks,
                    continues: yes.continues | no.continues,
                };
                if *header {
                    self.change(ways.next, |lane, word| {
                        word.wrapping_add(before[lane].wrapping_mul(3))
                    });
                }
            }
            Statement::Loop {
                form,
                times,
                body,
                again,
            } => ways.next = self.repeat(*form, *times, body, again, set),
            Statement::Switch { bit, branches } => {
                ways.next = 0;
                let words = self.words.to_vec();
                for (number, branch) in branches.iter().enumerate() {
                    let is_last = number + 1 == branches.len();
                    let chosen = members(set)
                        .filter(|lane| {
                            let case = (words[*lane] >> bit & 7) as usize / 2;
                            case == number || is_last && case > number
                        })
                        .fold(0, |set, lane| set | 1 << lane);
                    let after = self.list(branch, chosen);
                    ways.next |= after.next | after.breaks;
                    ways.continues |= after.continues;
                }
            }
            Statement::Break => {
                ways = Ways {
                    breaks: set,
                    ..Ways::default()
                };
            }
            Statement::Continue => {
                if let Some((MOST_CONTINUES.., Form::Tail)) = self.counters.last() {
                    return ways;
                }
                ways = Ways {
                    continues: set,
                    ..Ways::default()
                };
            }
            Statement::Return => ways.next = 0,
            Statement::Call(function) => {
                if let Some(body) = self.program.functions.get(*function) {
                    let counters = std::mem::take(&mut self.counters);
                    self.list(body, set);
                    self.counters = counters;
                }
            }
        }
        ways
    }

    /// The invocations that get to the merge block.
    fn repeat(
        &mut self,
        form: Form,
        times: Times,
        body: &[Statement],
        again: &[Statement],
        set: Set,
    ) -> Set {
        let limits: Vec<u32> = self
            .words
            .iter()
            .map(|word| match times {
                Times::Constant(count) => count,
                Times::Bits(bit) => word >> bit & 3,
            })
            .collect();
        let done = |set: Set, count: u32| {
            let done = members(set).filter(|lane| count >= limits[*lane]);
            done.fold(0u64, |set, lane| set | 1 << lane)
        };
        let (mut active, mut left) = (set, 0);
        for count in 0..=ITERATIONS {
            self.counters.push((count, form));
            let mut leaving = 0;
            if matches!(form, Form::Header | Form::Body) {
                leaving |= done(active, count);
                active &= !leaving;
            }
            let ways = self.list(body, active);
            let ways = if active == 0 { Ways::default() } else { ways };
            leaving |= ways.breaks;
            active = ways.next;
            if form == Form::Tail {
                self.change(active, |_, word| word.wrapping_add(7));
                let tail = done(active, count + 1) | self.those(active, |word| has_bit(word, 9));
                active &= !tail;
                leaving |= tail;
                self.change(tail, |_, word| word.wrapping_add(word.wrapping_mul(5)));
            }
            active |= ways.continues;
            let ways = self.list(again, active);
            active = if active == 0 { 0 } else { ways.next };
            if form == Form::Latch {
                let latch = done(active, count + 1);
                active &= !latch;
                leaving |= latch;
            }
            self.change(leaving, |_, word| word.wrapping_add(count));
            left |= leaving;
            self.counters.pop();
            if active == 0 {
                break;
            }
        }
        left
    }

    fn taken(&self, when: Condition, set: Set) -> Set {
        match when {
            Condition::Bit(bit) => self.those(set, |word| has_bit(word, bit)),
            Condition::Lane { mask, value } => {
                let is = |lane: &usize| (self.first + *lane as u32) & mask == value;
                members(set).filter(is).fold(0, |set, lane| set | 1 << lane)
            }
            Condition::Odd => match self.counters.last() {
                Some((count, _)) if count % 2 == 1 => set,
                _ => 0,
            },
        }
    }

    fn group(&mut self, group: Group, set: Set) {
        let words: Vec<(usize, u32)> = members(set).map(|lane| (lane, self.words[lane])).collect();
        let fold = |set: Set| (set as u32).wrapping_add(((set >> 32) as u32).wrapping_mul(7));
        let sum = |lane: usize| {
            let before = words.iter().filter(|(other, _)| *other < lane);
            before.fold(0u32, |sum, (_, word)| sum.wrapping_add(*word))
        };
        let first = words.first().copied().unwrap_or_default();
        let result = |lane: usize| match group {
            Group::Count => set.count_ones(),
            Group::Ballot(bit) => fold(self.those(set, |word| has_bit(word, bit))),
            Group::Add => sum(64),
            Group::ExclusiveAdd => sum(lane),
            Group::Max => words.iter().map(|(_, word)| *word).max().unwrap_or(0),
            Group::Elect => u32::from(first.0 == lane),
            Group::First => first.1,
            Group::All(bit) => u32::from(words.iter().all(|(_, word)| has_bit(*word, bit))),
            Group::Any(bit) => u32::from(words.iter().any(|(_, word)| has_bit(*word, bit))),
        };
        let results: Vec<u32> = words.iter().map(|(lane, _)| result(*lane)).collect();
        for ((lane, word), result) in words.iter().zip(results) {
            self.words[*lane] = word.wrapping_mul(33).wrapping_add(result);
        }
    }
}
