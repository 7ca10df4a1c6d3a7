//! Finds the values of a function that may be undefined at their origin (SPIR-V 1.6, section 2.2.1:
//! an undefined value is still one value of its type). All other instructions compute from values,
//! so only the origins are found, and code generators choose a value for each of them.

mod range;
mod source;
#[cfg(test)]
mod tests;
mod unwritten;

pub use source::{Cause, cause};

use crate::analysis::uses::Uses;
use crate::module::{Constant, Constants, Declarations, Function, Id, Inst, Type};
use range::{Range, Ranges, ones};
use spirv::StorageClass;
use std::collections::BTreeMap;
use unwritten::Unwritten;

/// The possibly undefined values of one function.
#[derive(Clone, Debug, Default)]
pub struct Undefined {
    results: BTreeMap<Id, Cause>,
    unwritten: Unwritten,
}

impl Undefined {
    /// Finds the possibly undefined values of `function`. `uses` are the module-scope variables
    /// that functions use. In the function of an entry point (`is_entry`), Private variables begin
    /// without a value.
    pub fn analyze(
        declarations: &Declarations<'_>,
        constants: &Constants,
        function: &Function<'_>,
        uses: &BTreeMap<Id, Uses>,
        is_entry: bool,
    ) -> Undefined {
        let ranges = Ranges {
            declarations,
            constants,
        };
        let sources = function.insts().filter_map(|inst| {
            let cause = cause(inst)?;
            may_be_undefined(&ranges, inst, cause).then_some((inst.result()?, cause))
        });
        Undefined {
            results: sources.collect(),
            unwritten: unwritten::unwritten(declarations, constants, function, uses, is_entry),
        }
    }

    /// Why the result `id` may be undefined where it is computed; `None` if it cannot be.
    pub fn cause(&self, id: Id) -> Option<Cause> {
        self.results.get(&id).copied()
    }

    /// Returns true if the variable `id` of class Function or Private may be read before all of it
    /// is written, by others than [loads of what nothing has written](Self::loads_unwritten).
    pub fn is_read_unwritten(&self, id: Id) -> bool {
        self.unwritten.variables.contains(&id)
    }

    /// Returns true if the load `id` may read parts of a variable that nothing has written.
    pub fn loads_unwritten(&self, id: Id) -> bool {
        self.unwritten.loads.contains(&id)
    }
}

fn may_be_undefined(ranges: &Ranges<'_, '_>, inst: Inst<'_>, cause: Cause) -> bool {
    let range = |index| {
        inst.id(index).map_or(
            Range {
                low: 0,
                high: u64::MAX,
            },
            |id| ranges.of(id),
        )
    };
    let width = || {
        inst.result_type()
            .and_then(|ty| ranges.width_of_type(ty))
            .unwrap_or(0)
    };
    match cause {
        Cause::Unspecified | Cause::NumberDoesNotFit => true,
        Cause::ShiftBeyondWidth => range(1).high >= width().into(),
        Cause::FieldBeyondWidth { offset } => range(offset)
            .high
            .checked_add(range(offset + 1).high)
            .is_none_or(|end| end > width().into()),
        Cause::ComponentBeyondVector { index } => {
            let vector = inst
                .id(0)
                .ok()
                .and_then(|id| ranges.declarations.type_of(id));
            let count = match vector.and_then(|ty| ranges.declarations.ty(ty)) {
                Some(Type::Vector { count, .. }) => *count,
                _ => 0,
            };
            range(index).high >= count.into()
        }
        Cause::PlaceBeyondArray => inst.id(0).is_ok_and(|id| may_leave_array(ranges, id)),
        Cause::ZeroDivisor => range(1).low == 0,
        Cause::SignedQuotient => {
            let width = width();
            let least = ones(width) - ones(width.saturating_sub(1));
            let overflows = range(1).high == ones(width) && range(0).high >= least;
            range(1).low == 0 || overflows
        }
        Cause::BitBeyondBallot { index } => range(index).high >= 64,
    }
}

/// Returns true if the place `pointer` may be beyond an array in a variable of one invocation.
fn may_leave_array(ranges: &Ranges<'_, '_>, pointer: Id) -> bool {
    let declarations = ranges.declarations;
    let Some(chain) = declarations.module.def(pointer).and_then(Inst::chain) else {
        return false;
    };
    let base = declarations.type_of(chain.base);
    let Some(Type::Pointer {
        class: StorageClass::Function | StorageClass::Private,
        pointee: Some(pointee),
    }) = base.and_then(|ty| declarations.ty(ty))
    else {
        return false;
    };
    if chain.element.is_some() || may_leave_array(ranges, chain.base) {
        return true;
    }
    let mut ty = *pointee;
    for index in chain.indexes.iter().map(|word| Id(*word)) {
        let (part, count) = match declarations.ty(ty) {
            Some(Type::Array { element, length }) => (
                *element,
                ranges.constants.get(*length).and_then(Constant::as_u64),
            ),
            Some(Type::Vector { component, count }) => (*component, Some((*count).into())),
            Some(Type::Matrix { column, count }) => (*column, Some((*count).into())),
            Some(Type::Struct { members }) => {
                let member = ranges.constants.as_u32(index);
                match member.and_then(|member| members.get(member as usize)) {
                    Some(member) => (*member, None),
                    None => return true,
                }
            }
            _ => return false,
        };
        if count.is_some_and(|count| ranges.of(index).high >= count) {
            return true;
        }
        ty = part;
    }
    false
}
