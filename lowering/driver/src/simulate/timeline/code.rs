//! Maps the instructions of a kernel to its barriers.

use splitbar_passes::module::Module;
use splitbar_sim::CodeLocation;
use splitbar_sim::timing::{Timed, Unit};
use std::collections::BTreeMap;

/// The part of a barrier that an instruction is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Role {
    /// The barrier instruction of the module by its word, else the instruction of the code.
    pub barrier: u32,
    /// The part.
    pub kind: Kind,
}

/// The kind of a barrier instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Arrive,
    Wait,
    Full,
}

impl Kind {
    /// The kind of an instruction with this opcode, if it is a barrier.
    fn of_opcode(opcode: u16) -> Option<Kind> {
        match opcode {
            224 => Some(Kind::Full),
            6142 => Some(Kind::Arrive),
            6143 => Some(Kind::Wait),
            _ => None,
        }
    }

    /// The word that tables have.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Arrive => "arrive",
            Kind::Wait => "wait",
            Kind::Full => "full",
        }
    }
}

/// The barrier instructions of a module by their word offsets. What is no module has none.
pub(crate) fn barrier_words(module: &[u8]) -> BTreeMap<u32, Kind> {
    let module = Module::parse(module).ok();
    let instructions = module.iter().flat_map(|module| module.instructions());
    let barriers = instructions.filter_map(|instruction| {
        let kind = Kind::of_opcode(instruction.opcode())?;
        Some((instruction.offset.get(), kind))
    });
    barriers.collect()
}

/// A kernel's instructions by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub places: Vec<CodeLocation>,
    roles: Vec<Option<Role>>,
    /// True for each that comes from no instruction of the module: it belongs to what is around it.
    neutral: Vec<bool>,
}

impl Code {
    /// The code of a program. `words` has the barrier instructions of its module; without it
    /// the program's own barrier instructions count.
    pub(crate) fn new<P: Timed>(program: &P, words: Option<&BTreeMap<u32, Kind>>) -> Code {
        let mut code = Code::default();
        for (pc, cost) in (0..).zip(program.costs()) {
            let place = program.place(pc);
            let role = match words {
                Some(words) => place.word.and_then(|word| {
                    let (barrier, kind) = (word, *words.get(&word)?);
                    Some(Role { barrier, kind })
                }),
                None => {
                    let waits = match cost.unit {
                        Unit::Barrier { waits }
                        | Unit::Object {
                            suspends: waits, ..
                        } => Some(waits),
                        _ => None,
                    };
                    waits.map(|waits| Role {
                        barrier: pc,
                        kind: if waits { Kind::Wait } else { Kind::Arrive },
                    })
                }
            };
            code.neutral.push(words.is_some() && place.word.is_none());
            code.roles.push(role);
            code.places.push(place);
        }
        code
    }

    /// The barrier of instruction `pc`.
    pub(super) fn role(&self, pc: u32) -> Option<Role> {
        self.roles.get(pc as usize).copied().flatten()
    }

    /// Returns true if instruction `pc` belongs to what was issued before it.
    pub(super) fn is_neutral(&self, pc: u32) -> bool {
        self.neutral.get(pc as usize) == Some(&true)
    }
}
