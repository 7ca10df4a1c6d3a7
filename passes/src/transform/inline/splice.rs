//! Copies a callee's body into its caller at one call.

use super::code::{Code, Item};
use crate::analysis::pairing::SiteKind;
use crate::diagnostic::{Code as Problem, Diagnostic};
use crate::module::{Declarations, ExtInstSet, Id, IdMap, Inst, WordOffset};
use crate::transform::rewrite::{Writer, instruction};
use spirv::Op;
use std::collections::HashMap;

/// FuncParamAttr ByVal (SPIR-V 3.20): the callee has its own copy of what the pointer points to.
const BY_VALUE: u32 = 2;

/// Storage class Function (SPIR-V 3.7).
const FUNCTION_CLASS: u32 = 7;

/// What all calls of one run share.
pub(super) struct Shared<'d, 'm> {
    pub(super) declarations: &'d Declarations<'m>,
    pub(super) writer: Writer,
    /// Copied ids with a name or a decoration: from the copy to the id of the old module.
    pub(super) copies: HashMap<u32, u32>,
    /// Ids of the old module with a name or a decoration.
    pub(super) annotated: IdMap<()>,
    /// By id of a callee: the number of the last copy that renamed it, and its name there.
    pub(super) renames: IdMap<(u32, u32)>,
    /// How many copies were made.
    pub(super) copied: u32,
}

impl Shared<'_, '_> {
    fn copy_of(&mut self, old: u32) -> Result<u32, Diagnostic> {
        let new = self.writer.fresh()?.0;
        // An id that is not a copy itself is its own root.
        let root = self.copies.get(&old).copied().unwrap_or(old);
        if self.annotated.get(Id(root)).is_some() {
            self.copies.insert(new, root);
        }
        Ok(new)
    }
}

/// A callee whose own calls are expanded, ready to be copied.
#[derive(Debug)]
pub(super) struct Callee {
    pub(super) code: Code,
    params: Vec<u32>,
    /// One block that ends with a return: its copy needs no block of its own.
    pub(super) is_straight: bool,
    returns_value: bool,
    /// With several returns, in a module with structured control flow: an integer constant of the
    /// module.
    selector: Option<u32>,
    /// It has OpLine or OpNoLine.
    has_lines: bool,
}

impl Callee {
    pub(super) fn new(declarations: &Declarations<'_>, code: Code) -> Callee {
        let mut callee = Callee {
            params: Vec::new(),
            is_straight: false,
            returns_value: false,
            selector: None,
            has_lines: false,
            code,
        };
        let (mut labels, mut returns) = (0, 0);
        for item in callee.code.items() {
            match item.inst().op() {
                Some(Op::Function) => {
                    let void = item
                        .inst()
                        .result_type()
                        .and_then(|id| declarations.module.def(id));
                    callee.returns_value = void.is_none_or(|ty| ty.op() != Some(Op::TypeVoid));
                }
                Some(Op::FunctionParameter) => {
                    callee.params.extend(item.inst().result().map(|id| id.0))
                }
                Some(Op::Label) => labels += 1,
                Some(Op::Return | Op::ReturnValue) => returns += 1,
                Some(Op::Line | Op::NoLine) => callee.has_lines = true,
                _ => {} // copied as it is
            }
        }
        callee.is_straight = labels == 1 && returns == 1;
        if returns > 1 && declarations.has_capability(spirv::Capability::Shader) {
            callee.selector = constant(declarations, &callee.code);
        }
        callee
    }
}

/// An integer constant: the execution scope of the first control barrier, which is one in a valid
/// module. A function without barriers has that of another function.
fn constant(declarations: &Declarations<'_>, code: &Code) -> Option<u32> {
    let is_barrier = |inst: &Inst<'_>| {
        SiteKind::from_inst(*inst).is_some_and(|kind| kind != SiteKind::MemoryBarrier)
    };
    let own = code.items().map(Item::inst).find(is_barrier);
    let barrier = own.or_else(|| declarations.module.instructions().find(is_barrier))?;
    let scope = barrier.id(0).ok()?;
    let def = declarations.module.def(scope)?;
    matches!(def.op(), Some(Op::Constant | Op::SpecConstant)).then_some(scope.0)
}

/// Where a copy goes.
pub(super) struct Destination<'p> {
    /// The caller's new body, up to the call.
    pub(super) code: &'p mut Code,
    /// Variables that go to the start of the caller's first block.
    pub(super) variables: &'p mut Code,
    /// Label of the block that goes on after the call; not used when the callee is straight.
    pub(super) after: u32,
    /// The OpLine in force at the call.
    pub(super) line: Option<Inst<'p>>,
}

/// Copies `callee` in place of the OpFunctionCall `call`. For a callee that is not straight the
/// copy ends the current block and starts the block `place.after`.
pub(super) fn splice(
    shared: &mut Shared<'_, '_>,
    callee: &Callee,
    call: Inst<'_>,
    place: &mut Destination<'_>,
) -> Result<(), Diagnostic> {
    shared.copied += 1; // once for each call of the module at the most
    let mut copy = Copy {
        number: shared.copied,
        returns: Vec::new(),
        block: 0,
        origin: call.offset,
    };
    copy.bind(shared, callee, call, place)?;
    for item in callee.code.items() {
        if let Some(result) = item.inst().result()
            && !matches!(item.inst().op(), Some(Op::Function | Op::FunctionParameter))
        {
            let new = shared.copy_of(result.0)?;
            copy.rename(shared, result.0, new);
        }
    }
    if !callee.is_straight {
        copy.enter(shared, callee, place)?;
    }
    for item in callee.code.items() {
        copy.item(shared, callee, item, place)?;
    }
    if !callee.is_straight {
        place
            .code
            .push_ids(&instruction(Op::Label, &[place.after])?, call.offset);
    }
    if let Some(line) = place.line {
        place.code.push(line.words, line.offset, 1..2);
    } else if callee.is_straight && callee.has_lines {
        place.code.push(
            &instruction(Op::NoLine, &[])?,
            call.offset,
            std::iter::empty(),
        );
    }
    copy.result(callee, call, place)
}

/// One copy being made.
struct Copy {
    /// See [`Shared::renames`].
    number: u32,
    /// Value (0 if there is none) and label of every return.
    returns: Vec<(u32, u32)>,
    /// Label of the block that is being copied.
    block: u32,
    origin: WordOffset,
}

impl Copy {
    /// Gives the callee's id `old` the name `new` in this copy.
    fn rename(&self, shared: &mut Shared<'_, '_>, old: u32, new: u32) {
        shared.renames.insert(Id(old), (self.number, new));
    }

    fn renamed(&self, shared: &Shared<'_, '_>, id: u32) -> u32 {
        match shared.renames.get(Id(id)) {
            Some((number, new)) if *number == self.number => *new,
            _ => id, // module-scope ids stay
        }
    }

    /// Gives the parameters the arguments of the call.
    fn bind(
        &mut self,
        shared: &mut Shared<'_, '_>,
        callee: &Callee,
        call: Inst<'_>,
        place: &mut Destination<'_>,
    ) -> Result<(), Diagnostic> {
        let arguments = call.operands_from(1);
        debug_assert_eq!(
            arguments.len(),
            callee.params.len(),
            "the declarations were checked"
        );
        for (param, argument) in callee.params.iter().zip(arguments) {
            let decorations = shared.declarations.decorations(Id(*param));
            let by_value = decorations.iter().any(|d| {
                d.kind == spirv::Decoration::FuncParamAttr as u32
                    && d.operands.first() == Some(&BY_VALUE)
            });
            let value = if by_value {
                self.by_value(shared, *param, *argument, place)?
            } else {
                *argument
            };
            self.rename(shared, *param, value);
        }
        Ok(())
    }

    /// A variable of the caller with a copy of what `argument` points to.
    fn by_value(
        &self,
        shared: &mut Shared<'_, '_>,
        param: u32,
        argument: u32,
        place: &mut Destination<'_>,
    ) -> Result<u32, Diagnostic> {
        let ty = shared.declarations.type_of(Id(param)).map_or(0, |ty| ty.0);
        let class = shared
            .declarations
            .module
            .def(Id(ty))
            .and_then(|ty| ty.operand(0).ok());
        if class != Some(FUNCTION_CLASS) {
            return Err(Diagnostic::error(
                Problem::UnsupportedInstruction,
                "a parameter passed by value does not point to private memory of the function",
            )
            .at_word(self.origin)
            .because(
                "a function that contains barriers is inlined, and so is its copy of the argument",
            ));
        }
        let variable = shared.copy_of(param)?;
        place.variables.push(
            &instruction(Op::Variable, &[ty, variable, FUNCTION_CLASS])?,
            self.origin,
            1..3,
        );
        place.code.push_ids(
            &instruction(Op::CopyMemory, &[variable, argument])?,
            self.origin,
        );
        Ok(variable)
    }

    /// Branches to the copy of the entry block.
    ///
    /// Several returns become branches to one place out of constructs of the callee. Around a
    /// switch of one case those are breaks, which SPIR-V 2.11 allows from everything but loops and
    /// other switches. The switch has a block of its own: the current one may be the header of a
    /// loop.
    fn enter(
        &self,
        shared: &mut Shared<'_, '_>,
        callee: &Callee,
        place: &mut Destination<'_>,
    ) -> Result<(), Diagnostic> {
        let mut labels = callee
            .code
            .items()
            .map(Item::inst)
            .filter(|inst| inst.op() == Some(Op::Label));
        let entry = labels.next().and_then(Inst::result).ok_or_else(|| {
            Diagnostic::bug("a function without blocks is inlined").at_word(self.origin)
        })?;
        let entry = self.renamed(shared, entry.0);
        if let Some(selector) = callee.selector {
            let around = shared.writer.fresh()?.0;
            place
                .code
                .push_ids(&instruction(Op::Branch, &[around])?, self.origin);
            place
                .code
                .push_ids(&instruction(Op::Label, &[around])?, self.origin);
            place.code.push(
                &instruction(Op::SelectionMerge, &[place.after, 0])?,
                self.origin,
                1..2,
            );
            place
                .code
                .push_ids(&instruction(Op::Switch, &[selector, entry])?, self.origin);
        } else {
            place
                .code
                .push_ids(&instruction(Op::Branch, &[entry])?, self.origin);
        }
        Ok(())
    }

    /// Copies one instruction of the callee.
    fn item(
        &mut self,
        shared: &Shared<'_, '_>,
        callee: &Callee,
        item: Item<'_>,
        place: &mut Destination<'_>,
    ) -> Result<(), Diagnostic> {
        let inst = item.inst();
        match inst.op() {
            Some(Op::Function | Op::FunctionParameter | Op::FunctionEnd) => return Ok(()),
            Some(Op::Variable | Op::UntypedVariableKHR) => {
                return self.variable(shared, item, place);
            }
            Some(Op::Return | Op::ReturnValue) => {
                let value = if callee.returns_value {
                    self.renamed(shared, inst.id(0)?.0)
                } else {
                    0
                };
                self.returns.push((value, self.block));
                if !callee.is_straight {
                    place
                        .code
                        .push_ids(&instruction(Op::Branch, &[place.after])?, item.origin);
                }
                return Ok(());
            }
            Some(Op::Label) => {
                let label = inst.result().ok_or_else(|| no_result(inst))?;
                self.block = self.renamed(shared, label.0);
                if callee.is_straight {
                    return Ok(());
                }
            }
            // Debug information describes the callee as a function of its own.
            Some(Op::ExtInst | Op::ExtInstWithForwardRefsKHR)
                if is_debug(shared.declarations, inst) =>
            {
                return Ok(());
            }
            _ if !is_known(shared.declarations, inst) => {
                return Err(unknown(inst, self.origin));
            }
            _ => {} // renamed and copied
        }
        let words = self.copied(shared, item);
        place.code.push(&words, item.origin, item.ids());
        Ok(())
    }

    fn copied(&self, shared: &Shared<'_, '_>, item: Item<'_>) -> Vec<u32> {
        let mut words = item.words.to_vec();
        for position in item.ids() {
            if let Some(word) = words.get_mut(position) {
                *word = self.renamed(shared, *word);
            }
        }
        words
    }

    /// Moves a variable to the caller. Every call starts with the initial value: a store at the
    /// call gives it.
    fn variable(
        &self,
        shared: &Shared<'_, '_>,
        item: Item<'_>,
        place: &mut Destination<'_>,
    ) -> Result<(), Diagnostic> {
        let mut words = self.copied(shared, item);
        let initializer_at = if item.inst().op() == Some(Op::Variable) {
            4
        } else {
            5
        };
        if let (Some(initializer), Some(variable)) =
            (words.get(initializer_at).copied(), words.get(2).copied())
        {
            words.truncate(initializer_at);
            if let (Some(first), Ok(count)) = (words.first_mut(), u32::try_from(initializer_at)) {
                *first = count << 16 | (*first & 0xffff);
            }
            place.code.push_ids(
                &instruction(Op::Store, &[variable, initializer])?,
                item.origin,
            );
        }
        let ids = item.ids().filter(|position| *position < initializer_at);
        place.variables.push(&words, item.origin, ids);
        Ok(())
    }

    /// Defines the result of the call.
    fn result(
        &self,
        callee: &Callee,
        call: Inst<'_>,
        place: &mut Destination<'_>,
    ) -> Result<(), Diagnostic> {
        let (Some(ty), Some(result)) = (call.result_type(), call.result()) else {
            return Err(no_result(call));
        };
        if !callee.returns_value {
            return Ok(());
        }
        let words = match self.returns.as_slice() {
            [] => instruction(Op::Undef, &[ty.0, result.0])?, // never comes back
            [(value, _)] => instruction(Op::CopyObject, &[ty.0, result.0, *value])?,
            several => {
                let mut operands = vec![ty.0, result.0];
                operands.extend(several.iter().flat_map(|(value, block)| [*value, *block]));
                instruction(Op::Phi, &operands)?
            }
        };
        place.code.push_ids(&words, call.offset);
        Ok(())
    }
}

fn no_result(inst: Inst<'_>) -> Diagnostic {
    Diagnostic::bug(format!("{} has no result", inst.name())).at_word(inst.offset)
}

/// Returns true if the grammar tells which words of `inst` are ids.
fn is_known(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    match inst.op() {
        Some(Op::ExtInst | Op::ExtInstWithForwardRefsKHR) => {
            let set = inst
                .id(0)
                .ok()
                .and_then(|set| declarations.ext_inst_sets.get(&set));
            !matches!(set, None | Some(ExtInstSet::Other(_)))
        }
        Some(_) => true,
        None => inst.name() != format!("Op{}", inst.opcode()), // newer than the grammar of rspirv, and yet known
    }
}

fn unknown(inst: Inst<'_>, call: WordOffset) -> Diagnostic {
    Diagnostic::error(
        Problem::UnsupportedInstruction,
        format!("{} cannot be copied", inst.name()),
    )
    .at_word(inst.offset)
    .because(format!(
        "its function contains barriers, so it is inlined into its caller at word {call}"
    ))
    .because("the operands of this opcode are unknown, so its ids cannot be renumbered")
    .help("inline the function in the front end")
}

/// Returns true if `inst` is an OpExtInst of a set that only describes the program.
pub(super) fn is_debug(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    inst.id(0)
        .is_ok_and(|set| declarations.ext_inst_sets.get(&set) == Some(&ExtInstSet::NonSemantic))
}
