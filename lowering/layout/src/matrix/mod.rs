//! Cooperative matrices: which invocation holds which element, and which instructions multiply
//! them.
//!
//! A matrix of workgroup scope is cut into blocks of rows, one for each subgroup, and every
//! subgroup holds all of a second factor: then each multiplies by itself.

pub mod instructions;
pub mod layout;
mod lookup;

pub use lookup::get;

use crate::scalar::{Scalar, VectorType};
use crate::waves::Waves;
use layout::Layout;
use spirv::CooperativeMatrixUse;
use splitbar_passes::module::{Constants, FloatFormat, Id, Scope};
use splitbar_target::Target;

/// Most elements that one invocation may hold.
const MAX_SLOTS: u32 = 1 << 10;

/// A cooperative matrix type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matrix {
    /// The elements.
    pub component: Scalar,
    /// Whose invocations hold it.
    pub scope: Scope,
    /// Rows, of one block.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// The distribution of the elements of a block over invocations.
    pub layout: Layout,
    /// A power of two: the matrix is cut into so many blocks of rows. Subgroup `n` holds block
    /// `n % blocks`.
    pub blocks: u32,
    /// Subgroups that hold the matrix together: those of the workgroup, or the one alone.
    pub subgroups: u32,
}

/// Fewest rows of a block, unless the matrix has fewer: what the instructions of all targets take.
pub(crate) const BLOCK_ROWS: u32 = 16;

/// The number of blocks of a matrix of so many rows.
fn blocks(rows: u32, subgroups: u32) -> u32 {
    let mut blocks = 1;
    while blocks * 2 <= subgroups && rows.is_multiple_of(blocks * 2 * BLOCK_ROWS) {
        blocks *= 2;
    }
    blocks
}

impl Matrix {
    /// Decodes the operands of OpTypeCooperativeMatrixKHR: scope, rows, columns, use; products read
    /// an element as `factor`. `None`: it is not lowered (another scope than Subgroup and
    /// Workgroup, a workgroup whose number of subgroups is not known, or too large).
    pub fn from_type(
        component: Scalar,
        factor: Scalar,
        operands: [Id; 4],
        constants: &Constants,
        target: &Target,
        waves: Waves,
    ) -> Option<Matrix> {
        let [scope, rows, columns, role] = operands.map(|id| constants.as_u32(id));
        let (rows, columns) = (rows?, columns?);
        let limits = 1..=MAX_SLOTS;
        let scope = Scope::from_u32(scope?)?;
        let subgroups = match scope {
            Scope::Subgroup => 1,
            Scope::Workgroup => waves.subgroups?,
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
        let layout = native_layout(target, waves.size, role, factor, rows, columns)
            .unwrap_or_else(|| Layout::striped(rows, columns, waves.size));
        (layout.slots <= MAX_SLOTS).then_some(Matrix {
            component,
            scope,
            rows,
            columns,
            layout,
            blocks,
            subgroups,
        })
    }

    /// The elements of one invocation.
    pub fn shape(&self) -> VectorType {
        VectorType {
            scalar: self.component,
            lanes: self.layout.slots,
        }
    }

    /// The name of an element type in the name of a function.
    pub fn mangled(&self) -> String {
        let component = match self.component {
            Scalar::Bool => "i1".to_owned(),
            Scalar::Int { width, .. } => format!("i{width}"),
            Scalar::Float { width, format } => match format {
                FloatFormat::Ieee => format!("f{width}"),
                FloatFormat::BFloat16 => "bf16".to_owned(),
                FloatFormat::Float8E4M3 => "e4m3".to_owned(),
                FloatFormat::Float8E5M2 => "e5m2".to_owned(),
                FloatFormat::Float6E2M3 => "e2m3".to_owned(),
                FloatFormat::Float6E3M2 => "e3m2".to_owned(),
                FloatFormat::Float4E2M1 => "e2m1".to_owned(),
                FloatFormat::Float8E8M0 => "e8m0".to_owned(),
                FloatFormat::MxInt8 => "mxint8".to_owned(),
            },
        };
        format!("{}x{}{component}", self.rows, self.columns)
    }
}

/// How the first instruction that takes such a matrix wants it.
fn native_layout(
    target: &Target,
    wave: u32,
    role: CooperativeMatrixUse,
    component: Scalar,
    rows: u32,
    columns: u32,
) -> Option<Layout> {
    instructions::of(target, wave)
        .iter()
        .filter(|instruction| instruction.takes(role, component))
        .find_map(|instruction| instruction.layout(role, rows, columns))
}
