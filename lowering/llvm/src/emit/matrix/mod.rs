//! Cooperative matrices (SPV_KHR_cooperative_matrix, SPV_NV_cooperative_matrix2,
//! SPV_INTEL_joint_matrix).
//!
//! | room | what it does |
//! |---|---|
//! | [`element`] | coordinates at run time, and elements that another invocation holds |
//! | [`transfer`] | loads and stores |
//! | [`tensor`] | tensor layouts and views, loads and stores through them |
//! | [`product`] | multiply-add: by instructions of the target, or by subgroup shuffles |
//! | [`native`] | the use of the target's instructions |
//! | [`whole`] | what is done to all elements: conversions, functions, transposition |
//! | [`reduce`] | reductions |
//! | [`exchange`] | elements that go to another subgroup |
//! | [`joint`] | what SPV_INTEL_joint_matrix has beside these |
//!
//! A matrix is a vector of the elements that the invocation holds (one element: a scalar), so that
//! arithmetic, selections and phis need nothing of their own. Every invocation of the subgroup
//! executes these instructions together, as the extension demands; so lanes are read without asking
//! who is active.

mod element;
mod exchange;
mod joint;
mod native;
mod product;
mod reduce;
mod shapes;
mod tensor;
mod transfer;
mod whole;

pub(crate) use joint::emit as emit_joint;
pub(crate) use whole::as_result;

use super::builtin;
use super::function::FunctionEmitter;
use super::types::Kind;
use super::{Handled, Result};
use crate::ffi::{Func, Ty, Value};
use spirv::Op;
pub(super) use splitbar_layout::matrix::{Matrix, layout};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::{Id, Inst, Scope};

impl<'e, 'c> FunctionEmitter<'e, 'c, '_> {
    /// The first row of the block that this invocation's subgroup holds, `i32`; `None`: it holds
    /// all rows.
    fn first_row(&self, matrix: &Matrix) -> Result<Option<Value<'c>>> {
        if matrix.blocks == 1 {
            return Ok(None);
        }
        let mask = self.b.i32(matrix.blocks - 1);
        let block = self.b.and(builtin::wave_id(self)?, mask)?;
        self.b.mul(block, self.b.i32(matrix.rows)).map(Some)
    }

    /// The row of the matrix that `row` of its block is, where that begins with row `first`.
    fn with_first(&self, first: Option<Value<'c>>, row: Value<'c>) -> Result<Value<'c>> {
        match first {
            Some(first) => self.b.add(first, row),
            None => Ok(row),
        }
    }

    /// The matrix type `ty`.
    fn matrix(&self, ty: Id) -> Result<&'e Matrix> {
        match self.kind(ty)? {
            Kind::Cooperative(matrix) if matrix.scope == Scope::Subgroup => {
                self.of_wave(matrix, ty)
            }
            Kind::Cooperative(matrix) => Ok(matrix),
            _ => Err(self
                .b
                .mismatch(format!("{ty} is not a cooperative matrix type"))),
        }
    }

    /// A matrix of subgroup scope is spread over the lanes of a wave.
    fn of_wave(&self, matrix: &'e Matrix, ty: Id) -> Result<&'e Matrix> {
        let (size, wave) = (self.subgroup_size(), self.wave_size());
        if size == wave {
            return Ok(matrix);
        }
        let inst = self
            .module
            .declarations
            .module
            .def(ty)
            .map(|inst| inst.offset);
        Err(Box::new(
            Diagnostic::error(
                Code::UnsupportedType,
                format!(
                    "a cooperative matrix of subgroups of {size} in waves of {wave} is not lowered"
                ),
            )
            .at_word(inst)
            .help(format!("compile the module for subgroups of {wave}")),
        ))
    }

    /// Operand `index` of `inst`: a matrix, and its type.
    fn matrix_operand(&self, inst: Inst<'_>, index: usize) -> Result<(Value<'c>, &'e Matrix)> {
        let id = inst.id(index).map_err(Box::new)?;
        Ok((self.value(id)?, self.matrix(self.type_of(id)?)?))
    }

    /// The function `name` of the kernel that is being written, which `body` fills when it is asked
    /// for first: it is given the function and its parameters, and its value is returned. It is not
    /// inlined: products by shuffles are thousands of instructions.
    fn helper(
        &self,
        name: &str,
        ty: Ty<'c>,
        body: impl FnOnce(Func<'c>, &[Value<'c>]) -> Result<Value<'c>>,
    ) -> Result<Func<'c>> {
        let name = format!("{}.{name}", self.kernel.plan.entry);
        self.b.defined(&name, ty, |function| {
            let context = self.b.context();
            function.set_internal();
            for attribute in ["nounwind", "convergent", "noinline"] {
                function.attribute(context, attribute);
            }
            super::attributes::target_attributes(
                self.b,
                self.module.target,
                self.kernel.plan,
                function,
            );
            let (here, at) = (self.b.block()?, self.b.at.get());
            self.b.raw().set_location(0, None);
            self.b.position(function.append(context));
            let mut params = Vec::new();
            while let Some(param) = function.param(params.len() as u32) {
                params.push(param);
            }
            let value = body(function, &params)?;
            self.b.raw().ret(value);
            self.b.position(here);
            self.locate(at);
            Ok(())
        })
    }
}

/// Lowers the instructions on cooperative matrices.
pub(crate) fn emit<'m>(
    e: &mut FunctionEmitter<'_, '_, 'm>,
    op: Op,
    inst: Inst<'m>,
) -> Result<Handled> {
    match op {
        Op::CooperativeMatrixLoadKHR => transfer::load(e, inst)?,
        Op::CooperativeMatrixStoreKHR => transfer::store(e, inst)?,
        Op::CooperativeMatrixMulAddKHR => product::multiply_add(e, inst)?,
        Op::CooperativeMatrixLengthKHR => {
            let slots = e.matrix(inst.id(0).map_err(Box::new)?)?.layout.slots;
            let value = e.b.int(e.result_ty(inst)?, u64::from(slots))?;
            e.bind(inst, value)?;
        }
        Op::CooperativeMatrixConvertNV => whole::change_use(e, inst)?,
        Op::CooperativeMatrixTransposeNV => whole::transpose(e, inst)?,
        Op::CooperativeMatrixPerElementOpNV => whole::per_element(e, inst)?,
        Op::CooperativeMatrixReduceNV => reduce::reduce(e, inst)?,
        _ => return tensor::emit(e, op, inst),
    }
    Ok(Handled::Yes)
}
