//! Accesses under a predicate or a mask: predicated loads and stores (SPV_INTEL_predicated_io),
//! and masked gathers and scatters through vectors of pointers (SPV_INTEL_masked_gather_scatter).

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Declarations, Id, Inst, Type};
use spirv::{Capability, Op};

pub use crate::module::nameless::{PREDICATED_CAPABILITY, PREDICATED_LOAD, PREDICATED_STORE};

/// The extension of the three.
pub const PREDICATED_EXTENSION: &str = "SPV_INTEL_predicated_io";

/// MaskedGatherScatterINTEL.
pub const MASKED_CAPABILITY: u32 = Capability::MaskedGatherScatterINTEL as u32;
/// Its extension.
pub const MASKED_EXTENSION: &str = "SPV_INTEL_masked_gather_scatter";

/// The parts of a predicated access.
#[derive(Copy, Clone, Debug)]
pub struct Predicated<'m> {
    /// The instruction.
    pub inst: Inst<'m>,
    /// The address.
    pub pointer: Id,
    /// The condition under which it accesses memory.
    pub predicate: Id,
    /// The default value of a load, the object of a store.
    pub value: Id,
}

impl<'m> Predicated<'m> {
    /// The number of the memory operands' mask among the operands.
    pub const MEMORY: usize = 3;

    /// `None`: `inst` is another instruction, or operands are missing.
    pub fn from_inst(inst: Inst<'m>) -> Option<Predicated<'m>> {
        let id = |index: usize| inst.id(index).ok();
        let (predicate, value) = match inst.opcode() {
            PREDICATED_LOAD => (id(1)?, id(2)?),
            PREDICATED_STORE => (id(2)?, id(1)?),
            _ => return None,
        };
        Some(Predicated {
            inst,
            pointer: id(0)?,
            predicate,
            value,
        })
    }
}

/// The parts of a gather or a scatter.
#[derive(Copy, Clone, Debug)]
pub struct Masked<'m> {
    /// The instruction.
    pub inst: Inst<'m>,
    /// A vector of pointers.
    pub pointers: Id,
    /// The alignment of every address; 0 if unknown.
    pub alignment: u32,
    /// A vector of Booleans.
    pub mask: Id,
    /// The result of a gather in lanes that do not load; the values that a scatter stores.
    pub value: Id,
}

impl<'m> Masked<'m> {
    /// `None`: `inst` is another instruction, or operands are missing.
    pub fn from_inst(inst: Inst<'m>) -> Option<Masked<'m>> {
        let id = |index: usize| inst.id(index).ok();
        let (pointers, alignment, mask, value) = match inst.op()? {
            Op::MaskedGatherINTEL => (id(0)?, 1, id(2)?, id(3)?),
            Op::MaskedScatterINTEL => (id(1)?, 2, id(3)?, id(0)?),
            _ => return None,
        };
        Some(Masked {
            inst,
            pointers,
            alignment: *inst.operands().get(alignment)?,
            mask,
            value,
        })
    }
}

/// Component type and number of components of the type `ty`, if it is a vector of pointers.
pub fn pointer_vector(declarations: &Declarations<'_>, ty: Id) -> Option<(Id, u32)> {
    let Type::Vector { component, count } = declarations.ty(ty)? else {
        return None;
    };
    let is_pointer = matches!(declarations.ty(*component), Some(Type::Pointer { .. }));
    is_pointer.then_some((*component, *count))
}

/// The instructions of all functions.
fn insts<'d, 'm>(declarations: &'d Declarations<'m>) -> impl Iterator<Item = Inst<'m>> + 'd {
    declarations.functions.iter().flat_map(|f| f.insts())
}

/// An instruction, a message about it, and the change that solves the problem.
pub type Problem<'m> = (Inst<'m>, String, String);

/// Adds `problems` to `found` as errors with `code`.
pub fn errors(code: Code, problems: Vec<Problem<'_>>, found: &mut Diagnostics) {
    for (inst, message, help) in problems {
        let error = Diagnostic::error(code, message).at_word(inst.offset);
        found.push(advised(error, inst, help));
    }
}

/// A `problem` of `inst` with its `help`, and the declarations that are missing as a fix.
pub(crate) fn advised(problem: Diagnostic, inst: Inst<'_>, help: String) -> Diagnostic {
    let problem = problem.help(help);
    match problem.code {
        Code::PredicatedAccess | Code::MaskedAccess => problem,
        _ if Predicated::from_inst(inst).is_some() => {
            problem.declare(Some("PredicatedIOINTEL"), Some(PREDICATED_EXTENSION))
        }
        _ => problem.declare(Some("MaskedGatherScatterINTEL"), Some(MASKED_EXTENSION)),
    }
}

/// Predicated accesses whose predicate is not a Boolean, or whose pointer or value does not fit.
pub fn predicated<'m>(declarations: &Declarations<'m>) -> Vec<Problem<'m>> {
    let mut found = Vec::new();
    for access in insts(declarations).filter_map(Predicated::from_inst) {
        let inst = access.inst;
        let [pointee_of, use_pointee] = if inst.opcode() == PREDICATED_STORE {
            ["the stored value", "store a value of the pointee type"]
        } else {
            let both = "use the pointee type for the default value and the result";
            ["the result", both]
        };
        let mut wrong = |message: String, help: &str| found.push((inst, message, help.to_owned()));
        let name = inst.name();
        let ty = |id: Id| declarations.type_of(id);
        let kind = |id: Id| ty(id).and_then(|ty| declarations.ty(ty));
        if !matches!(kind(access.predicate), Some(Type::Bool)) {
            wrong(
                format!("{name} has a predicate that is not a Boolean"),
                "pass a Boolean",
            );
        }
        let accessed = match kind(access.pointer) {
            // For an untyped pointer, the type of the access counts.
            Some(Type::Pointer { pointee, .. }) => {
                pointee.or(inst.result_type()).or(ty(access.value))
            }
            _ => {
                let pointer = access.pointer;
                wrong(
                    format!("the operand Pointer ({pointer}) of {name} is not a pointer"),
                    &format!("pass a pointer to the type of {pointee_of}"),
                );
                continue;
            }
        };
        if ty(access.value) != accessed || inst.result_type().is_some_and(|r| Some(r) != accessed) {
            wrong(
                format!("{name} has a value or a result that does not have the pointee type"),
                use_pointee,
            );
        }
    }
    found
}

/// Gathers and scatters whose operands do not fit.
pub fn masked<'m>(declarations: &Declarations<'m>) -> Vec<Problem<'m>> {
    let mut found = Vec::new();
    for access in insts(declarations).filter_map(Masked::from_inst) {
        let inst = access.inst;
        let mut wrong = |what: &str, help: String| {
            found.push((inst, format!("{} {what}", inst.name()), help));
        };
        let ty = |id: Id| declarations.type_of(id);
        let vector = |id: Id| match declarations.ty(ty(id)?) {
            Some(Type::Vector { component, count }) => Some((*component, *count)),
            _ => None,
        };
        if access.alignment != 0 && !access.alignment.is_power_of_two() {
            wrong(
                "has an alignment that is neither 0 nor a power of two",
                "use 0 or a power of two".to_owned(),
            );
        }
        let pointers = ty(access.pointers).and_then(|ty| pointer_vector(declarations, ty));
        let Some((pointer, count)) = pointers else {
            wrong(
                "has an address operand that is not a vector of pointers",
                "pass a vector of pointers".to_owned(),
            );
            continue;
        };
        let is_bool = |(component, many): (Id, u32)| {
            many == count && matches!(declarations.ty(component), Some(Type::Bool))
        };
        if !vector(access.mask).is_some_and(is_bool) {
            wrong(
                "has a mask that is not a vector with one Boolean for each pointer",
                format!(
                    "use a mask with one Boolean for each pointer: a vector of {count} Booleans"
                ),
            );
        }
        let pointee = match declarations.ty(pointer) {
            Some(Type::Pointer { pointee, .. }) => *pointee,
            _ => None,
        };
        let fits = vector(access.value).is_some_and(|(component, many)| {
            many == count && pointee.is_none_or(|pointee| pointee == component)
        });
        if !fits {
            wrong(
                "has values that are not a vector with one value of the pointee type for each pointer",
                format!("use a vector of {count} values of the pointee type"),
            );
        }
        if inst
            .result_type()
            .is_some_and(|result| ty(access.value) != Some(result))
        {
            wrong(
                "has a result whose type is not the type of its fill value",
                "use the same type for the result and the fill value".to_owned(),
            );
        }
    }
    found
}

/// Predicated accesses without their capability.
pub fn undeclared_predicated<'m>(declarations: &Declarations<'m>) -> Vec<Problem<'m>> {
    let all = insts(declarations).filter(|inst| Predicated::from_inst(*inst).is_some());
    let capability = ("PredicatedIOINTEL", PREDICATED_CAPABILITY);
    undeclared(declarations, capability, PREDICATED_EXTENSION, all)
}

/// Vectors of pointers, gathers and scatters without their capability.
pub fn undeclared_masked<'m>(declarations: &Declarations<'m>) -> Vec<Problem<'m>> {
    let types = declarations
        .types()
        .map(|(id, _)| id)
        .filter(|id| pointer_vector(declarations, *id).is_some())
        .filter_map(|id| declarations.module.def(id));
    let accesses = insts(declarations).filter(|inst| Masked::from_inst(*inst).is_some());
    let capability = ("MaskedGatherScatterINTEL", MASKED_CAPABILITY);
    let all = types.chain(accesses);
    undeclared(declarations, capability, MASKED_EXTENSION, all)
}

fn undeclared<'m>(
    declarations: &Declarations<'m>,
    (name, number): (&str, u32),
    extension: &str,
    insts: impl Iterator<Item = Inst<'m>>,
) -> Vec<Problem<'m>> {
    let declared = declarations.capabilities.iter();
    if declared
        .map(|(other, _)| *other)
        .any(|other| other == number)
    {
        return Vec::new();
    }
    let needs = |inst: Inst<'_>| match inst.op() {
        Some(Op::TypeVector) => {
            format!("a vector of pointers needs the capability {name} ({number})")
        }
        _ => format!("{} needs the capability {name} ({number})", inst.name()),
    };
    let help = format!("declare OpCapability {name} and OpExtension \"{extension}\"");
    insts
        .map(|inst| (inst, needs(inst), help.clone()))
        .collect()
}
