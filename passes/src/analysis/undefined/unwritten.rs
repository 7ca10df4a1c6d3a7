//! Variables of one invocation that may be read before they are written: a dataflow over the
//! control-flow graph. Only stores of whole variables count as written.
//!
//! So an array that a loop fills counts as unwritten. To give it contents first would cost stores
//! in most kernels that have arrays. Where only plain loads and stores access it, the loads are
//! found instead: to make a value of what a load gives costs nothing.

use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Analysis, Direction, solve};
use crate::analysis::uses::Uses;
use crate::module::{
    BlockIndex, Constant, Constants, Declarations, Function, Id, Inst, Type, called,
};
use spirv::{Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Bits of all states together, at most. The variables of a larger function count as unwritten.
const MOST_BITS: usize = 1 << 26;

/// One bit for each variable.
type Bits = Vec<u64>;

/// Variables and loads that need a value, because they may be read before they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Unwritten {
    /// Variables that need contents before the function begins.
    pub(super) variables: BTreeSet<Id>,
    /// Loads that may read what nothing has written, from all other variables.
    pub(super) loads: BTreeSet<Id>,
}

/// What may be read before it is written: of the variables of class Function of `function`, and
/// with `private` of the module's Private ones that it touches, those that have no initial value.
/// `uses` says what callees touch.
pub(super) fn unwritten(
    declarations: &Declarations<'_>,
    constants: &Constants,
    function: &Function<'_>,
    uses: &BTreeMap<Id, Uses>,
    private: bool,
) -> Unwritten {
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
        return Unwritten::default();
    }
    if numbers.len().saturating_mul(function.blocks.len()) > MOST_BITS {
        return Unwritten {
            variables: numbers.into_keys().collect(),
            loads: BTreeSet::new(),
        };
    }
    let cfg = Cfg::analyze(declarations.module, function);
    let flow = Flow {
        function,
        numbers: &numbers,
        words: numbers.len().div_ceil(64),
    };
    let before = solve(&cfg, &flow);
    let arrays = Arrays::analyze(declarations, function, &numbers, uses);
    let mut found = Unwritten::default();
    for (index, block) in function.numbered() {
        let Some(Some(mut written)) = before.get(index).cloned() else {
            continue; // control cannot reach it
        };
        for inst in &block.insts {
            let unwritten = |id: &Id| numbers.get(id).is_some_and(|at| !has(&written, *at));
            let read = reads(declarations, *inst, uses).into_iter();
            let read = read.filter(|id| unwritten(id) && !arrays.plain.contains(id));
            found.variables.extend(read);
            if inst.op() == Some(Op::Load)
                && let Some(array) = inst.id(0).ok().and_then(|id| arrays.of.get(&id))
                && arrays.plain.contains(array)
                && unwritten(array)
            {
                found.loads.extend(inst.result());
            }
            flow.write(*inst, &mut written);
        }
    }
    found
}

/// Variables with arrays.
struct Arrays {
    /// Those of numbers that only access chains, loads and stores touch.
    plain: BTreeSet<Id>,
    /// The variable of each pointer that is one or that access chains make of one.
    of: BTreeMap<Id, Id>,
}

impl Arrays {
    fn analyze(
        declarations: &Declarations<'_>,
        function: &Function<'_>,
        numbers: &BTreeMap<Id, usize>,
        uses: &BTreeMap<Id, Uses>,
    ) -> Arrays {
        let mut contents = Contents {
            declarations,
            known: BTreeMap::new(),
        };
        let mut plain: BTreeSet<Id> = numbers
            .keys()
            .filter(|id| {
                let content = declarations.pointee_of(**id).map(|ty| contents.of(ty));
                content.is_some_and(|content| content.has_array && content.is_numbers)
            })
            .copied()
            .collect();
        let mut of: BTreeMap<Id, Id> = plain.iter().map(|id| (*id, *id)).collect();
        if plain.is_empty() {
            return Arrays { plain, of };
        }
        for inst in function.insts() {
            let chain = inst.chain();
            let touched = match inst.op() {
                Some(Op::Load | Op::Store) => inst.id(0).ok(),
                Some(Op::Variable | Op::LifetimeStart | Op::LifetimeStop) => continue,
                _ => chain.as_ref().map(|chain| chain.base),
            };
            let named = declarations.module.ids(inst).map(|(_, id)| id);
            let mut others: Vec<Id> = named.filter(|id| inst.result() != Some(*id)).collect();
            if let Some(at) = others.iter().position(|id| Some(*id) == touched) {
                others.remove(at);
            }
            for array in others.iter().filter_map(|id| of.get(id)) {
                plain.remove(array);
            }
            if let Some(callee) = called(inst).and_then(|id| uses.get(&id)) {
                for variable in &callee.variables {
                    plain.remove(variable);
                }
            }
            if let (Some(result), Some(chain)) = (inst.result(), chain)
                && let Some(array) = of.get(&chain.base)
            {
                of.insert(result, *array);
            }
        }
        Arrays { plain, of }
    }
}

/// Properties of a type.
#[derive(Copy, Clone)]
struct Content {
    /// It is an array or a struct with one.
    has_array: bool,
    /// All its parts are numbers or bools.
    is_numbers: bool,
}

/// The properties of types. Each type is visited once: a struct whose members share types can have
/// exponentially many parts.
struct Contents<'d> {
    declarations: &'d Declarations<'d>,
    known: BTreeMap<Id, Content>,
}

impl Contents<'_> {
    fn of(&mut self, ty: Id) -> Content {
        if let Some(known) = self.known.get(&ty) {
            return *known;
        }
        let content = match self.declarations.ty(ty) {
            Some(Type::Bool | Type::Int { .. } | Type::Float { .. } | Type::Matrix { .. }) => {
                Content {
                    has_array: false,
                    is_numbers: true,
                }
            }
            Some(Type::Vector { component, .. }) => self.of(*component),
            Some(Type::Array { element, .. }) => Content {
                has_array: true,
                is_numbers: self.of(*element).is_numbers,
            },
            Some(Type::Struct { members }) => {
                let mut whole = Content {
                    has_array: false,
                    is_numbers: true,
                };
                for member in members {
                    let part = self.of(*member);
                    whole.has_array |= part.has_array;
                    whole.is_numbers &= part.is_numbers;
                }
                whole
            }
            _ => Content {
                has_array: false,
                is_numbers: false,
            },
        };
        self.known.insert(ty, content);
        content
    }
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
