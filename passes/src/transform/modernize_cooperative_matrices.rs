//! Writes the cooperative matrices of SPV_NV_cooperative_matrix as those of
//! SPV_KHR_cooperative_matrix.
//!
//! The older matrices have no use (SPIR-V, "Cooperative Matrix Use"), which says how a matrix lies
//! in the registers of a subgroup. A type that is only multiplied from one side gets that use; any
//! other is an accumulator, which operands of products are converted from
//! (OpCooperativeMatrixConvertNV). An operand that was loaded right before is loaded a second time
//! instead, for its use; the first load goes where nothing else reads it.

use super::edit::{Edit, string};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Declarations, Id, Inst, Module, Type};
use spirv::{
    Capability, CooperativeMatrixLayout, CooperativeMatrixOperands, CooperativeMatrixUse, Op,
};
use std::collections::{BTreeMap, BTreeSet};

const OLD_EXTENSION: &str = "SPV_NV_cooperative_matrix";
const NEW_EXTENSION: &str = "SPV_KHR_cooperative_matrix";
const CONVERSIONS: &str = "SPV_NV_cooperative_matrix2";

/// The uses in the order of a product's operands.
const USES: [CooperativeMatrixUse; 3] = [
    CooperativeMatrixUse::MatrixAKHR,
    CooperativeMatrixUse::MatrixBKHR,
    CooperativeMatrixUse::MatrixAccumulatorKHR,
];

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let types = declarations.other_types(&[Op::TypeCooperativeMatrixNV]);
    let types: Vec<Inst<'_>> = types.map(|(inst, _)| inst).collect();
    let Some(first) = types.first() else {
        return Ok(None);
    };
    check(declarations, &types)?;
    let mut pass = Modernizing {
        declarations,
        edit: Edit::new(declarations),
        types: BTreeMap::new(),
        uses: [0; 3],
        with_use: BTreeMap::new(),
        loaded: BTreeMap::new(),
        converts: false,
    };
    pass.constants(*first)?;
    let wanted = wanted_uses(declarations);
    for ty in types {
        pass.declare(ty, &wanted)?;
    }
    pass.head(module)?;
    for function in &declarations.functions {
        for inst in function.insts() {
            pass.instruction(inst)?;
        }
    }
    if pass.converts {
        let capability = Capability::CooperativeMatrixConversionsNV;
        if !declarations.has_capability(capability) {
            pass.edit.capability(capability as u32)?;
        }
        if !declarations
            .extensions
            .iter()
            .any(|name| name == CONVERSIONS)
        {
            pass.edit.extension(CONVERSIONS)?;
        }
    }
    pass.edit.finish()
}

/// That what the pass moves into other instructions is what the older ones ask for: sizes and
/// scopes are constants, and so is whether a matrix lies by columns.
///
/// # Errors
/// `TypeMismatch` for each that is not.
fn check(declarations: &Declarations<'_>, types: &[Inst<'_>]) -> Result<(), Diagnostics> {
    let module = declarations.module;
    let functions = declarations.functions.first().map(|first| first.offset);
    let constant = |id: Id| {
        let def = module.def(id)?;
        let is_outside = functions.is_none_or(|first| def.offset < first);
        declarations.ty(def.result_type()?).filter(|_| is_outside)
    };
    let mut found = Diagnostics::new();
    let mut ask = |inst: Inst<'_>, operand: usize, is_number: bool| {
        let ty = inst.id(operand).ok().and_then(constant);
        let (fits, what) = if is_number {
            (matches!(ty, Some(Type::Int { .. })), "an integer")
        } else {
            (matches!(ty, Some(Type::Bool)), "a Boolean")
        };
        if !fits {
            let message = format!("{} needs {what} constant", inst.name());
            let error = Diagnostic::error(Code::TypeMismatch, message).at_word(inst.offset);
            found.push(error.at_operand(operand));
        }
    };
    for ty in types {
        (1..4).for_each(|operand| ask(*ty, operand, true));
    }
    for inst in declarations.functions.iter().flat_map(|f| f.insts()) {
        match inst.op() {
            Some(Op::CooperativeMatrixLoadNV) => ask(inst, 2, false),
            Some(Op::CooperativeMatrixStoreNV) => ask(inst, 3, false),
            _ => {} // has no such operand
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    Ok(())
}

/// For each type the uses that products ask of its values, as places in [`USES`].
fn wanted_uses(declarations: &Declarations<'_>) -> BTreeMap<Id, BTreeSet<usize>> {
    let mut wanted: BTreeMap<Id, BTreeSet<usize>> = BTreeMap::new();
    for inst in declarations.functions.iter().flat_map(|f| f.insts()) {
        if inst.op() != Some(Op::CooperativeMatrixMulAddNV) {
            continue;
        }
        let accumulator = USES.len() - 1;
        let result = inst.result_type().map(|ty| (ty, accumulator));
        let operands = (0..USES.len()).filter_map(|at| {
            let ty = declarations.type_of(inst.id(at).ok()?)?;
            Some((ty, at))
        });
        for (ty, at) in operands.chain(result) {
            wanted.entry(ty).or_default().insert(at);
        }
    }
    wanted
}

struct Modernizing<'d, 'm> {
    declarations: &'d Declarations<'m>,
    edit: Edit<'d, 'm>,
    /// The older types: their components, and the place of their use in [`USES`].
    types: BTreeMap<Id, (Id, usize)>,
    /// The constants of the uses.
    uses: [u32; 3],
    /// A type with another use, by the older type and that use.
    with_use: BTreeMap<(Id, usize), u32>,
    /// A second load of what an instruction loads, by its result and the use.
    loaded: BTreeMap<(Id, usize), u32>,
    /// True if operands are converted.
    converts: bool,
}

impl<'m> Modernizing<'_, 'm> {
    /// Constants for the uses, in front of the first type, of the type that its scope has.
    fn constants(&mut self, first: Inst<'m>) -> Result<(), Diagnostic> {
        let scope = self.declarations.module.def(first.id(1)?);
        let Some(ty) = scope.and_then(Inst::result_type) else {
            return Err(Diagnostic::bug("a scope without a type").at_word(first.offset));
        };
        for (slot, number) in self.uses.iter_mut().zip(USES) {
            *slot = self.edit.fresh()?;
            let operands = [ty.0, *slot, number as u32];
            self.edit.before(first.offset, Op::Constant, &operands)?;
        }
        Ok(())
    }

    fn declare(
        &mut self,
        inst: Inst<'m>,
        wanted: &BTreeMap<Id, BTreeSet<usize>>,
    ) -> Result<(), Diagnostic> {
        let (Some(id), [component, scope, rows, columns, ..]) = (inst.result(), inst.operands())
        else {
            return Err(Diagnostic::bug("a matrix type without its operands").at_word(inst.offset));
        };
        let uses = wanted.get(&id);
        let accumulator = USES.len() - 1;
        let own = match uses.map(|uses| (uses.len(), uses.first())) {
            Some((1, Some(one))) => *one,
            _ => accumulator,
        };
        self.types.insert(id, (Id(*component), own));
        let describe = |edit: &mut Edit<'_, '_>, place: usize, result: u32| {
            let number = self.uses.get(place).copied().unwrap_or_default();
            let operands = [result, *component, *scope, *rows, *columns, number];
            if place == own {
                edit.replace(inst.offset, Op::TypeCooperativeMatrixKHR, &operands)
            } else {
                edit.after(inst.offset, Op::TypeCooperativeMatrixKHR, &operands)
            }
        };
        describe(&mut self.edit, own, id.0)?;
        for place in uses.into_iter().flatten().filter(|place| **place != own) {
            let other = self.edit.fresh()?;
            describe(&mut self.edit, *place, other)?;
            self.with_use.insert((id, *place), other);
        }
        Ok(())
    }

    /// Capability, extension, and constants that ask for the length of a matrix.
    fn head(&mut self, module: &Module<'m>) -> Result<(), Diagnostic> {
        let declarations = self.declarations;
        for inst in module.instructions() {
            match inst.op() {
                Some(Op::Capability)
                    if inst.operand(0) == Ok(Capability::CooperativeMatrixNV as u32) =>
                {
                    let new = Capability::CooperativeMatrixKHR;
                    if declarations.has_capability(new) {
                        self.edit.remove(inst.offset);
                    } else {
                        self.edit
                            .replace(inst.offset, Op::Capability, &[new as u32])?;
                    }
                }
                Some(Op::Extension) if inst.string(0) == OLD_EXTENSION => {
                    if declarations
                        .extensions
                        .iter()
                        .any(|name| name == NEW_EXTENSION)
                    {
                        self.edit.remove(inst.offset);
                    } else {
                        let name = string(NEW_EXTENSION);
                        self.edit.replace(inst.offset, Op::Extension, &name)?;
                    }
                }
                Some(Op::SpecConstantOp)
                    if inst.operand(0) == Ok(Op::CooperativeMatrixLengthNV as u32) =>
                {
                    let mut operands = inst.words.get(1..).unwrap_or_default().to_vec();
                    if let Some(operation) = operands.get_mut(2) {
                        *operation = Op::CooperativeMatrixLengthKHR as u32;
                    }
                    self.edit
                        .replace(inst.offset, Op::SpecConstantOp, &operands)?;
                }
                Some(Op::Function) => break,
                _ => {} // nothing about matrices
            }
        }
        Ok(())
    }

    fn instruction(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let result = [inst.result_type(), inst.result()];
        let result: Vec<u32> = result.into_iter().flatten().map(|id| id.0).collect();
        let (op, operands) = match (inst.op(), inst.operands()) {
            (Some(Op::CooperativeMatrixLoadNV), [pointer, stride, column, memory @ ..]) => {
                let layout = self.layout(Id(*column))?;
                let mut operands = vec![*pointer, layout, *stride];
                operands.extend(memory);
                (Op::CooperativeMatrixLoadKHR, operands)
            }
            (
                Some(Op::CooperativeMatrixStoreNV),
                [pointer, object, stride, column, memory @ ..],
            ) => {
                let layout = self.layout(Id(*column))?;
                let mut operands = vec![*pointer, *object, layout, *stride];
                operands.extend(memory);
                (Op::CooperativeMatrixStoreKHR, operands)
            }
            (Some(Op::CooperativeMatrixLengthNV), [ty]) => {
                (Op::CooperativeMatrixLengthKHR, vec![*ty])
            }
            (Some(Op::CooperativeMatrixMulAddNV), [_, _, _]) => {
                (Op::CooperativeMatrixMulAddKHR, self.product(inst)?)
            }
            _ => return Ok(()), // not one of the extension's
        };
        let all: Vec<u32> = result.into_iter().chain(operands).collect();
        self.edit.replace(inst.offset, op, &all)
    }

    /// The operands of a product: matrices of the right uses, and which of them are signed.
    fn product(&mut self, inst: Inst<'m>) -> Result<Vec<u32>, Diagnostic> {
        let mut operands = Vec::new();
        let mut signs = CooperativeMatrixOperands::empty();
        let flags = [
            CooperativeMatrixOperands::MATRIX_A_SIGNED_COMPONENTS_KHR,
            CooperativeMatrixOperands::MATRIX_B_SIGNED_COMPONENTS_KHR,
            CooperativeMatrixOperands::MATRIX_C_SIGNED_COMPONENTS_KHR,
        ];
        for (place, flag) in flags.into_iter().enumerate() {
            let id = inst.id(place)?;
            let ty = self.declarations.type_of(id);
            if ty.is_some_and(|ty| self.is_signed(ty)) {
                signs |= flag;
            }
            operands.push(self.as_operand(inst, id, ty, place)?);
        }
        if inst.result_type().is_some_and(|ty| self.is_signed(ty)) {
            signs |= CooperativeMatrixOperands::MATRIX_RESULT_SIGNED_COMPONENTS_KHR;
        }
        if !signs.is_empty() {
            operands.push(signs.bits());
        }
        Ok(operands)
    }

    fn is_signed(&self, matrix: Id) -> bool {
        let component = self.types.get(&matrix);
        let component = component.and_then(|(component, _)| self.declarations.ty(*component));
        matches!(component, Some(Type::Int { signed: true, .. }))
    }

    /// The matrix `id` for the use at `place`.
    fn as_operand(
        &mut self,
        inst: Inst<'m>,
        id: Id,
        ty: Option<Id>,
        place: usize,
    ) -> Result<u32, Diagnostic> {
        let Some(other) = ty.and_then(|ty| self.with_use.get(&(ty, place)).copied()) else {
            return Ok(id.0);
        };
        if let Some(again) = self.loaded.get(&(id, place)) {
            return Ok(*again);
        }
        let fresh = self.edit.fresh()?;
        let load = self.declarations.module.def(id);
        let load = load.filter(|load| load.op() == Some(Op::CooperativeMatrixLoadNV));
        if let (Some(load), Some([pointer, stride, column, memory @ ..])) =
            (load, load.map(Inst::operands))
        {
            let layout = self.layout(Id(*column))?;
            let mut operands = vec![other, fresh, *pointer, layout, *stride];
            operands.extend(memory);
            self.edit
                .after(load.offset, Op::CooperativeMatrixLoadKHR, &operands)?;
            self.loaded.insert((id, place), fresh);
            return Ok(fresh);
        }
        let operands = [other, fresh, id.0];
        self.edit
            .before(inst.offset, Op::CooperativeMatrixConvertNV, &operands)?;
        self.converts = true;
        Ok(fresh)
    }

    /// The constant for the layout that the Boolean constant `column` says.
    fn layout(&mut self, column: Id) -> Result<u32, Diagnostic> {
        let rows = self
            .edit
            .number(CooperativeMatrixLayout::RowMajorKHR as u32)?;
        let columns = self
            .edit
            .number(CooperativeMatrixLayout::ColumnMajorKHR as u32)?;
        let constant = self.declarations.module.def(column).and_then(Inst::op);
        match constant {
            Some(Op::ConstantTrue) => Ok(columns),
            Some(Op::ConstantFalse) => Ok(rows),
            // A specialization constant chooses.
            _ => {
                let uint = self.edit.uint()?;
                let operands = [uint, 0, Op::Select as u32, column.0, columns, rows];
                self.edit.global(Op::SpecConstantOp, &operands, 1)
            }
        }
    }
}
