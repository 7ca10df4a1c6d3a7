//! Cooperative matrices (SPV_KHR_cooperative_matrix, and of SPV_NV_cooperative_matrix2 the conversions, reductions and per-element operations).
//!
//! | room | what it does |
//! |---|---|
//! | [`layout`] | which invocation holds which element |
//! | [`element`] | coordinates at run time, and elements that another invocation holds |
//! | [`transfer`] | loads and stores |
//! | [`product`] | multiply-add: by instructions of the target, or by subgroup shuffles |
//! | [`instructions`], [`native`] | which targets have which instructions; their use |
//! | [`whole`] | what is done to all elements: conversions, functions, reductions, transposition |
//!
//! A matrix of workgroup scope is cut into blocks of rows, one for each subgroup, and every subgroup holds all of a second factor: then each multiplies by itself.
//!
//! A matrix is a vector of the elements that the invocation holds (one element: a scalar), so that arithmetic, selections and phis need nothing of their own.
//! Every invocation of the subgroup executes these instructions together, as the extension demands; so lanes are read without asking who is active.

mod element;
mod instructions;
pub(crate) mod layout;
mod native;
mod product;
mod transfer;
mod whole;

pub(crate) use whole::as_result;

use super::builtin;
use super::function::FunctionEmitter;
use super::types::{Kind, Scalar, Shape, Types};
use super::{Handled, Result};
use crate::ffi::{Func, Ty, Value};
use layout::Layout;
use spirv::{CooperativeMatrixUse, Op};
use splitbar_passes::module::{Constants, FloatFormat, Id, Inst, Scope};
use splitbar_plan::Target;

/// Most elements that one invocation may hold.
const MAX_SLOTS: u32 = 1 << 10;

/// A cooperative matrix type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Matrix {
    /// The elements.
    pub(crate) component: Scalar,
    /// Rows, of one block.
    pub(crate) rows: u32,
    /// Columns.
    pub(crate) columns: u32,
    /// Which invocation holds which element of a block.
    pub(crate) layout: Layout,
    /// A power of two: the matrix is cut into so many blocks of rows. Subgroup `n` holds block `n % blocks`.
    pub(crate) blocks: u32,
    /// Subgroups that hold the matrix together: those of the workgroup, or the one alone.
    pub(crate) subgroups: u32,
}

/// Fewest rows of a block, unless the matrix has fewer: what the instructions of all targets take.
const BLOCK_ROWS: u32 = 16;

/// The number of blocks of a matrix of so many rows.
fn blocks(rows: u32, subgroups: u32) -> u32 {
    let mut blocks = 1;
    while blocks * 2 <= subgroups && rows.is_multiple_of(blocks * 2 * BLOCK_ROWS) {
        blocks *= 2;
    }
    blocks
}

impl Matrix {
    /// Decodes the operands of OpTypeCooperativeMatrixKHR: scope, rows, columns, use. `None`: it is not lowered (another scope than Subgroup and Workgroup, a
    /// workgroup whose number of subgroups is not known, or too large).
    pub(crate) fn of(
        component: Scalar,
        operands: [Id; 4],
        constants: &Constants,
        target: &Target,
        (wave, subgroups): (u32, Option<u32>),
    ) -> Option<Matrix> {
        let [scope, rows, columns, role] = operands.map(|id| constants.as_u32(id));
        let (rows, columns) = (rows?, columns?);
        let limits = 1..=MAX_SLOTS;
        let subgroups = match Scope::from_u32(scope?)? {
            Scope::Subgroup => 1,
            Scope::Workgroup => subgroups?,
            _ => return None,
        };
        if component == Scalar::Bool || !limits.contains(&rows) || !limits.contains(&columns) {
            return None;
        }
        let role = CooperativeMatrixUse::from_u32(role?)?;
        // A block of the result takes the same rows of A and all of B.
        let blocks = match role {
            CooperativeMatrixUse::MatrixAKHR | CooperativeMatrixUse::MatrixAccumulatorKHR => {
                blocks(rows, subgroups)
            }
            CooperativeMatrixUse::MatrixBKHR => 1,
        };
        let rows = rows / blocks;
        let layout = native::layout(target, wave, role, component, rows, columns)
            .unwrap_or_else(|| Layout::striped(rows, columns, wave));
        (layout.slots <= MAX_SLOTS).then_some(Matrix {
            component,
            rows,
            columns,
            layout,
            blocks,
            subgroups,
        })
    }

    /// The elements of one invocation.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            scalar: self.component,
            lanes: self.layout.slots,
        }
    }

    /// What an element is called in the name of a function.
    fn mangled(&self) -> String {
        let component = match self.component {
            Scalar::Bool => "i1".to_owned(),
            Scalar::Int { width, .. } => format!("i{width}"),
            Scalar::Float { width, format } => match format {
                FloatFormat::Ieee => format!("f{width}"),
                FloatFormat::BFloat16 => "bf16".to_owned(),
                FloatFormat::Float8E4M3 => "e4m3".to_owned(),
                FloatFormat::Float8E5M2 => "e5m2".to_owned(),
            },
        };
        format!("{}x{}{component}", self.rows, self.columns)
    }
}

/// Makes the value type of a matrix.
pub(crate) fn value_type<'c>(scalar: Ty<'c>, matrix: &Matrix) -> Ty<'c> {
    scalar.vector(matrix.layout.slots)
}

/// The matrix type `id`, if the table of types has it.
pub(crate) fn get<'t>(types: &'t Types<'_>, id: Id) -> Option<&'t Matrix> {
    match &types.get(id)?.kind {
        Kind::Cooperative(matrix) => Some(matrix),
        _ => None,
    }
}

impl<'e, 'c> FunctionEmitter<'e, 'c, '_> {
    /// The first row of the block that this invocation's subgroup holds, `i32`; `None`: it holds all rows.
    fn first_row(&self, matrix: &Matrix) -> Result<Option<Value<'c>>> {
        if matrix.blocks == 1 {
            return Ok(None);
        }
        let mask = self.b.i32(matrix.blocks - 1);
        let block = self.b.and(builtin::subgroup_id(self)?, mask)?;
        self.b.mul(block, self.b.i32(matrix.rows)).map(Some)
    }

    /// The matrix type `ty`.
    fn matrix(&self, ty: Id) -> Result<&'e Matrix> {
        match self.kind(ty)? {
            Kind::Cooperative(matrix) => Ok(matrix),
            _ => Err(self
                .b
                .mismatch(format!("{ty} is no cooperative matrix type"))),
        }
    }

    /// Operand `index` of `inst`: a matrix, and its type.
    fn matrix_operand(&self, inst: Inst<'_>, index: usize) -> Result<(Value<'c>, &'e Matrix)> {
        let id = inst.id(index).map_err(Box::new)?;
        Ok((self.value(id)?, self.matrix(self.type_of(id)?)?))
    }

    /// The function `name` of the kernel that is being written, which `body` fills when it is asked for first: it is given the function and its
    /// parameters, and its value is returned. It is not inlined: products by shuffles are thousands of instructions.
    fn helper(
        &self,
        name: &str,
        ty: Ty<'c>,
        body: impl FnOnce(Func<'c>, &[Value<'c>]) -> Result<Value<'c>>,
    ) -> Result<Func<'c>> {
        let name = format!("{}.{name}", self.plan.entry);
        self.b.defined(&name, ty, |function| {
            let context = self.b.context();
            function.set_internal();
            for attribute in ["nounwind", "convergent", "noinline"] {
                function.attribute(context, attribute);
            }
            super::module::target_attributes(self.b, self.target, self.plan, function);
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
        Op::CooperativeMatrixReduceNV => whole::reduce(e, inst)?,
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}
