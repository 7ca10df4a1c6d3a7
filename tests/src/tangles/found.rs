//! Programs that went wrong once.

use super::{Condition, Form, Group, Program, Statement, Times};

/// The programs, each with a name.
pub fn found() -> Vec<(&'static str, Program)> {
    // All lanes leave the loop together, out of a selection inside of which lanes part.
    let selection = Statement::If {
        when: Condition::Odd,
        yes: vec![Statement::Switch {
            bit: 21,
            branches: vec![Vec::new(), vec![Statement::Group(Group::All(20))]],
        }],
        no: vec![Statement::Break],
        phi: false,
        header: false,
        bare: false,
    };
    let around = Statement::Loop {
        form: Form::Body,
        times: Times::Constant(3),
        body: vec![selection],
        again: Vec::new(),
    };
    let uniform_break = Program {
        size: 64,
        maximal: true,
        main: vec![around, Statement::Group(Group::Count)],
        functions: Vec::new(),
    };
    vec![("uniform_break", uniform_break)]
}
