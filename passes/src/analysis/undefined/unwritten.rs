//! Variables of one invocation that may be read before they are written: a dataflow over the
//! control-flow graph. Only stores of whole variables count as written.

use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Analysis, Direction, solve};
use crate::analysis::uses::Uses;
use crate::module::{BlockIndex, Constant, Constants, Declarations, Function, Id, Inst, called};
use spirv::{Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Bits of all states together, at most. The variables of a larger function count as unwritten.
const MOST_BITS: usize = 1 << 26;

/// One bit for each variable.
type Bits = Vec<u64>;

/// The variables of class Function of `function`, and with `private` the module's Private ones that
/// it touches, that have no initial value and may be read before they are written. `uses` says what
/// callees touch.
pub(super) fn unwritten(
    declarations: &Declarations<'_>,
    constants: &Constants,
    function: &Function<'_>,
    uses: &BTreeMap<Id, Uses>,
    private: bool,
) -> BTreeSet<Id> {
    let starts_undefined = |initializer: Option<Id>| {
        initializer.is_none_or(|id| matches!(constants.get(id), Some(Constant::Undef)))
    };
    let own = function
        .insts()
        .filter(|inst| inst.op() == Some(Op::Variable))
        .filter(|inst| starts_undefined(inst.operands().get(1).copied().map(Id)))
        .filter_map(|inst| inst.result());
    let shared = declarations
        .variables
        .iter()
        .filter(|variable| private && variable.class == StorageClass::Private)
        .filter(|variable| starts_undefined(variable.initializer))
        .map(|variable| variable.id)
        .filter(|id| {
            uses.get(&function.id)
                .is_none_or(|uses| uses.variables.contains(id))
        });
    let numbers: BTreeMap<Id, usize> = own.chain(shared).zip(0..).collect();
    if numbers.is_empty() {
        return BTreeSet::new();
    }
    if numbers.len().saturating_mul(function.blocks.len()) > MOST_BITS {
        return numbers.into_keys().collect();
    }
    let cfg = Cfg::of(declarations.module, function);
    let flow = Flow {
        function,
        numbers: &numbers,
        words: numbers.len().div_ceil(64),
    };
    let before = solve(&cfg, &flow);
    let mut read = BTreeSet::new();
    for (index, block) in function.numbered() {
        let Some(Some(mut written)) = before.get(index.index()).cloned() else {
            continue; // control cannot reach it
        };
        for inst in &block.insts {
            for id in reads(declarations, *inst, uses) {
                if numbers.get(&id).is_some_and(|at| !has(&written, *at)) {
                    read.insert(id);
                }
            }
            flow.write(*inst, &mut written);
        }
    }
    read
}

/// The variables that `inst` may read, or whose address it passes on.
fn reads(declarations: &Declarations<'_>, inst: Inst<'_>, uses: &BTreeMap<Id, Uses>) -> Vec<Id> {
    let target = target(inst);
    let named = declarations.module.ids(inst).map(|(_, id)| id);
    let mut read: Vec<Id> = match (inst.op(), target) {
        (Some(Op::Variable | Op::LifetimeStart | Op::LifetimeStop), _) => Vec::new(),
        // A target is not read; what is stored may be another address.
        (_, Some(target)) => {
            let value = inst.operands().get(1).copied().map(Id);
            named
                .filter(|id| *id != target || value == Some(*id))
                .collect()
        }
        _ => named.collect(),
    };
    if let Some(callee) = called(inst).and_then(|id| uses.get(&id)) {
        read.extend(&callee.variables);
    }
    read
}

/// The place that `inst` writes as a whole.
fn target(inst: Inst<'_>) -> Option<Id> {
    match inst.op() {
        Some(Op::Store | Op::CopyMemory) => inst.id(0).ok(),
        _ => None,
    }
}

fn has(bits: &Bits, at: usize) -> bool {
    bits.get(at / 64)
        .is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// Which variables have been written on all paths; `None`: no path leads here.
struct Flow<'f, 'm> {
    function: &'f Function<'m>,
    numbers: &'f BTreeMap<Id, usize>,
    words: usize,
}

impl Flow<'_, '_> {
    fn write(&self, inst: Inst<'_>, written: &mut Bits) {
        if let Some(at) = target(inst).and_then(|id| self.numbers.get(&id))
            && let Some(word) = written.get_mut(at / 64)
        {
            *word |= 1 << (at % 64);
        }
    }
}

impl Analysis for Flow<'_, '_> {
    type State = Option<Bits>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Self::State {
        None
    }

    fn boundary(&self) -> Self::State {
        Some(vec![0; self.words])
    }

    fn join(&self, state: &mut Self::State, other: &Self::State) -> bool {
        let Some(other) = other else { return false };
        let Some(state) = state else {
            *state = Some(other.clone());
            return true;
        };
        let mut changed = false;
        for (word, other) in state.iter_mut().zip(other) {
            changed |= *word & other != *word;
            *word &= other;
        }
        changed
    }

    fn transfer(&self, block: BlockIndex, state: Self::State) -> Self::State {
        let mut written = state?;
        for inst in self
            .function
            .block(block)
            .into_iter()
            .flat_map(|block| &block.insts)
        {
            self.write(*inst, &mut written);
        }
        Some(written)
    }
}
