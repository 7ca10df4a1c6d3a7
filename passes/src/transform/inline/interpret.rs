//! A little interpreter for the tests of passes: runs one invocation and lists what it does to
//! barriers and to %out.

use crate::module::{BlockIndex, Declarations, Function, Id, Inst, Module, targets};
use spirv::Op;
use std::collections::BTreeMap;

/// What a run does, in order.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::transform) enum Deed {
    Barrier(u16),
    /// A store to module-scope memory.
    Store(u32),
}

pub(in crate::transform) struct Machine<'m> {
    module: &'m Module<'m>,
    declarations: &'m Declarations<'m>,
    /// Values of ids that are not constants, of the running function; `None` is an undefined value.
    values: BTreeMap<Id, Option<u32>>,
    memory: Vec<Option<u32>>,
    globals: usize,
    pub(in crate::transform) deeds: Vec<Deed>,
    steps: usize,
}

impl<'m> Machine<'m> {
    /// Runs the entry point with `cond` as the value of the module-scope variable `%cond`.
    pub(in crate::transform) fn run(
        declarations: &'m Declarations<'m>,
        cond: Id,
        value: u32,
    ) -> Vec<Deed> {
        let mut machine = Machine {
            module: declarations.module,
            declarations,
            values: BTreeMap::new(),
            memory: Vec::new(),
            globals: 0,
            deeds: Vec::new(),
            steps: 0,
        };
        for variable in &declarations.variables {
            let initial = variable.initializer.and_then(|id| machine.value(id));
            machine.memory.push(if variable.id == cond {
                Some(value)
            } else {
                initial
            });
            machine
                .values
                .insert(variable.id, Some(machine.memory.len() as u32 - 1));
        }
        machine.globals = machine.memory.len();
        let main = declarations
            .function(declarations.entry_points[0].function)
            .unwrap();
        machine.call(main, &[]);
        machine.deeds
    }

    fn value(&self, id: Id) -> Option<u32> {
        if let Some(value) = self.values.get(&id) {
            return *value;
        }
        let def = self.module.def(id)?;
        match def.op()? {
            Op::Constant => def.operand(0).ok(),
            Op::ConstantTrue => Some(1),
            Op::ConstantFalse => Some(0),
            _ => None,
        }
    }

    fn call(&mut self, function: &Function<'m>, arguments: &[Option<u32>]) -> Option<u32> {
        let outer = self.values.clone();
        self.values.extend(
            function
                .params
                .iter()
                .zip(arguments)
                .map(|((id, _), value)| (*id, *value)),
        );
        let blocks: BTreeMap<Id, BlockIndex> = function
            .numbered()
            .map(|(index, block)| (block.label, index))
            .collect();
        let (mut at, mut from) = (BlockIndex::ENTRY, None);
        let result = loop {
            let block = function.block(at).unwrap();
            let phis: Vec<_> = block
                .insts
                .iter()
                .filter(|inst| inst.op() == Some(Op::Phi))
                .map(|inst| self.phi(*inst, from))
                .collect();
            self.values.extend(phis);
            for inst in &block.insts {
                self.steps += 1;
                assert!(self.steps < 10_000, "the program does not end");
                self.step(*inst);
            }
            let last = block.terminator().unwrap();
            if let Op::Return | Op::ReturnValue = last.op().unwrap() {
                break last.id(0).ok().and_then(|id| self.value(id));
            }
            let next: Vec<Id> = targets(self.module, last).collect();
            let choice = match last.op().unwrap() {
                Op::Branch | Op::Switch => 0, // only switches of one case occur
                Op::BranchConditional => usize::from(
                    self.value(last.id(0).unwrap())
                        .expect("a defined condition")
                        == 0,
                ),
                other => panic!("{other:?}"),
            };
            from = Some(block.label);
            at = blocks[&next[choice]];
        };
        self.values = outer;
        result
    }

    fn phi(&self, inst: Inst<'m>, from: Option<Id>) -> (Id, Option<u32>) {
        let pair = inst
            .operands()
            .chunks(2)
            .find(|pair| Some(Id(pair[1])) == from)
            .expect("a phi names the block that control comes from");
        (inst.result().unwrap(), self.value(Id(pair[0])))
    }

    fn step(&mut self, inst: Inst<'m>) {
        let operand = |index| inst.id(index).unwrap();
        let value = |machine: &Self, index| machine.value(operand(index));
        let both = |machine: &Self| value(machine, 0).zip(value(machine, 1));
        let result = match inst.op().unwrap() {
            Op::ControlBarrier | Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL => {
                return self.deeds.push(Deed::Barrier(inst.opcode()));
            }
            Op::Store => return self.store(value(self, 0).unwrap(), value(self, 1)),
            Op::CopyMemory => {
                return self.store(
                    value(self, 0).unwrap(),
                    self.memory[value(self, 1).unwrap() as usize],
                );
            }
            Op::Variable => {
                // One place per execution, so a second run of a body sees no old value unless the
                // pass keeps one.
                let initial = inst.id(1).ok().and_then(|id| self.value(id));
                self.memory.push(initial);
                Some(self.memory.len() as u32 - 1)
            }
            Op::Load => self.memory[value(self, 0).unwrap() as usize],
            Op::IAdd => both(self).map(|(a, b)| a.wrapping_add(b)),
            Op::ULessThan => both(self).map(|(a, b)| u32::from(a < b)),
            Op::IEqual => both(self).map(|(a, b)| u32::from(a == b)),
            Op::CopyObject => value(self, 0),
            Op::Undef => None,
            Op::FunctionCall => {
                let arguments: Vec<_> = inst.operands()[1..]
                    .iter()
                    .map(|id| self.value(Id(*id)))
                    .collect();
                let callee = self.declarations.function(operand(0)).unwrap();
                self.call(callee, &arguments)
            }
            Op::Phi
            | Op::MemoryBarrier
            | Op::LoopMerge
            | Op::SelectionMerge
            | Op::Switch
            | Op::Branch
            | Op::BranchConditional
            | Op::Return
            | Op::ReturnValue => return,
            other => panic!("{other:?}"),
        };
        self.values.insert(inst.result().unwrap(), result);
    }

    fn store(&mut self, address: u32, value: Option<u32>) {
        if (address as usize) < self.globals {
            self.deeds
                .push(Deed::Store(value.expect("a defined value")));
        }
        self.memory[address as usize] = value;
    }
}
