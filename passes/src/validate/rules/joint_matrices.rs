//! Rules of SPV_INTEL_joint_matrix, which adds to cooperative matrices: accesses that check bounds,
//! coordinates of elements, prefetches, the packed layout, and products of TF32 and bfloat16
//! elements.

use super::super::{Check, Context, Rule};
use super::matrices::{Matrix, differ};
use crate::diagnostic::{Code, Diagnostics};
use crate::module::joint_matrix::{
    APPLY_FUNCTION, BFLOAT16_CAPABILITY, CHECKED_CAPABILITY, CONSTRUCT_CHECKED, CheckedAccess,
    FACTORS_BFLOAT16, FACTORS_TF32, GET_ELEMENT_COORD, INVOCATION_CAPABILITY, LOAD_CHECKED, PACKED,
    PACKED_BYTES, PACKED_CAPABILITY, PREFETCH, PREFETCH_CAPABILITY, RESULT_BFLOAT16, STORE_CHECKED,
    SUMMAND_BFLOAT16, TF32_CAPABILITY,
};
use crate::module::{Id, Inst, Type};
use spirv::{CooperativeMatrixOperands as Operands, CooperativeMatrixUse as Use, Op};

/// Operands.
pub(super) const OPERANDS: Rule = Rule {
    code: Code::JointMatrixOperand,
    vuid: None,
    text: include_str!("explain/SB1507.md"),
    check: Check::Module(|context, to| {
        for inst in insts(context) {
            Checking { context, inst, to }.all();
        }
    }),
};

/// Capabilities.
pub(super) const CAPABILITY: Rule = Rule {
    code: Code::JointMatrixCapability,
    vuid: None,
    text: include_str!("explain/SB1508.md"),
    check: Check::Module(|context, to| {
        for inst in insts(context) {
            for (number, name) in needed(context, inst) {
                let declared = &context.declarations.capabilities;
                if declared.iter().any(|(other, _)| *other == number) {
                    continue;
                }
                let what = inst.name();
                let message = format!("{what} needs the capability {name} ({number})");
                let error = CAPABILITY.error(context, inst, message);
                to.push(error.declare(Some(name), Some("SPV_INTEL_joint_matrix")));
            }
        }
    }),
};

/// The instructions of all functions, if the module has a type of cooperative matrices or a
/// prefetch of one, which needs no type.
fn insts<'c, 'm>(context: &'c Context<'c, 'm>) -> impl Iterator<Item = Inst<'m>> + 'c {
    let is_matrix = |(_, ty): (Id, &Type)| matches!(ty, Type::CooperativeMatrix { .. });
    let declared = &context.declarations.capabilities;
    let has_matrices = context.declarations.types().any(is_matrix)
        || declared
            .iter()
            .any(|(number, _)| *number == PREFETCH_CAPABILITY);
    let functions = context.functions().filter(move |_| has_matrices);
    functions.flat_map(|function| function.insts())
}

/// The bits of a product's operands.
fn product_bits(inst: Inst<'_>) -> Option<u32> {
    let is_product = inst.op() == Some(Op::CooperativeMatrixMulAddKHR);
    is_product.then(|| inst.operands().get(3).copied())?
}

/// The layout of an access: the operand.
fn layout(inst: Inst<'_>) -> Option<Id> {
    let operand = match (inst.op(), inst.opcode()) {
        (Some(Op::CooperativeMatrixLoadKHR), _) => 1,
        (Some(Op::CooperativeMatrixStoreKHR), _) => 2,
        (_, PREFETCH) => 6,
        _ => CheckedAccess::from_inst(inst)?.layout,
    };
    inst.id(operand).ok()
}

/// Numbers and names of the extension's capabilities that an instruction needs.
fn needed(context: &Context<'_, '_>, inst: Inst<'_>) -> Vec<(u32, &'static str)> {
    let own = match inst.opcode() {
        LOAD_CHECKED | STORE_CHECKED | CONSTRUCT_CHECKED => Some((
            CHECKED_CAPABILITY,
            "CooperativeMatrixCheckedInstructionsINTEL",
        )),
        GET_ELEMENT_COORD | APPLY_FUNCTION => Some((
            INVOCATION_CAPABILITY,
            "CooperativeMatrixInvocationInstructionsINTEL",
        )),
        PREFETCH => Some((PREFETCH_CAPABILITY, "CooperativeMatrixPrefetchINTEL")),
        _ => None, // an instruction of another extension, whose operands may need one
    };
    let is_packed = layout(inst).and_then(|id| context.value(id)) == Some(PACKED);
    let bits = product_bits(inst).unwrap_or(0);
    let bfloat = FACTORS_BFLOAT16 | SUMMAND_BFLOAT16 | RESULT_BFLOAT16;
    let others = [
        (is_packed, PACKED_CAPABILITY, "PackedCooperativeMatrixINTEL"),
        (
            bits & FACTORS_TF32 != 0,
            TF32_CAPABILITY,
            "CooperativeMatrixTF32ComponentTypeINTEL",
        ),
        (
            bits & bfloat != 0,
            BFLOAT16_CAPABILITY,
            "CooperativeMatrixBFloat16ComponentTypeINTEL",
        ),
    ]
    .into_iter()
    .filter(|(needed, ..)| *needed)
    .map(|(_, number, name)| (number, name));
    own.into_iter().chain(others).collect()
}

/// The rest of the message about a matrix that is bfloat16.
const NOT_BFLOAT16: &str = "is bfloat16 but not a matrix of unsigned 16-bit integers";
/// What to change where a matrix is not bfloat16.
const BFLOAT16: &str =
    "use components that are 16-bit integers, without the bit for signed components";

/// One instruction and the problems that it has.
struct Checking<'c, 'p, 'm> {
    context: &'c Context<'c, 'm>,
    inst: Inst<'m>,
    to: &'p mut Diagnostics,
}

impl Checking<'_, '_, '_> {
    fn all(&mut self) {
        match self.inst.opcode() {
            LOAD_CHECKED | STORE_CHECKED => self.access(),
            CONSTRUCT_CHECKED => self.construct(),
            GET_ELEMENT_COORD => self.coordinates(),
            APPLY_FUNCTION => self.function(),
            PREFETCH => self.prefetch(),
            _ => {} // not one of the extension's
        }
        self.packed();
        if let Some(bits) = product_bits(self.inst) {
            self.product(bits);
        }
    }

    /// Reports a problem: `part` of the instruction is the subject of the sentence, `is` the rest.
    fn wrong(&mut self, part: &str, is: &str, help: &str) {
        let message = format!("{part} of {} {is}", self.inst.name());
        let error = OPERANDS.error(self.context, self.inst, message);
        self.to.push(error.help(help));
    }

    /// The type of operand `index`.
    fn ty(&self, index: usize) -> Option<Id> {
        self.context.declarations.type_of(self.inst.id(index).ok()?)
    }

    fn kind(&self, index: usize) -> Option<&Type> {
        self.context.declarations.ty(self.ty(index)?)
    }

    fn matrix(&self, index: usize) -> Option<Matrix> {
        Matrix::from_type(self.context, self.ty(index))
    }

    /// Reports operands that are not integers, or not 32-bit integers if `narrow`.
    fn integers(&mut self, operands: [usize; 2], narrow: bool, what: &str) {
        let fits = operands.iter().all(|index| match self.kind(*index) {
            Some(Type::Int { width, .. }) => !narrow || *width == 32,
            _ => false,
        });
        if !fits {
            let bits = if narrow { "32-bit " } else { "" };
            self.wrong(
                what,
                &format!("are not {bits}integers"),
                &format!("pass {bits}integers"),
            );
        }
    }

    fn pointer(&mut self) {
        let is_pointer = matches!(self.kind(0), Some(Type::Pointer { .. }));
        if !is_pointer {
            self.wrong("the first operand", "is not a pointer", "pass a pointer");
        }
    }

    /// A layout is a constant.
    fn layout(&mut self) {
        let is_constant = layout(self.inst)
            .and_then(|id| self.context.value(id))
            .is_some();
        if !is_constant {
            self.wrong("the layout", "is not a constant", "use a constant");
        }
    }

    fn access(&mut self) {
        let Some(access) = CheckedAccess::from_inst(self.inst) else {
            return; // operands are missing, which reading reports
        };
        let matrix = if access.is_store {
            self.matrix(access.layout - 1)
        } else {
            Matrix::from_type(self.context, self.inst.result_type())
        };
        if matrix.is_none() {
            let which = if access.is_store { "object" } else { "result" };
            self.wrong(
                &format!("the {which}"),
                "is not a cooperative matrix",
                "use a cooperative matrix",
            );
        }
        self.pointer();
        self.integers([1, 2], true, "the offsets");
        self.integers(
            [access.layout + 1, access.layout + 2],
            false,
            "height and width",
        );
        self.layout();
    }

    fn construct(&mut self) {
        let result = Matrix::from_type(self.context, self.inst.result_type());
        self.integers([0, 1], true, "the offsets");
        self.integers([2, 3], false, "height and width");
        let fits = result.is_some_and(|matrix| self.ty(4) == Some(matrix.component));
        if !fits {
            self.wrong(
                "the value",
                "does not have the component type of the result",
                "pass a value of the component type of the cooperative matrix",
            );
        }
    }

    fn coordinates(&mut self) {
        if self.matrix(0).is_none() {
            self.wrong(
                "the first operand",
                "is not a cooperative matrix",
                "pass a cooperative matrix",
            );
        }
        self.integers([1, 1], true, "the indices");
        let declarations = self.context.declarations;
        let result = self.inst.result_type().and_then(|ty| declarations.ty(ty));
        let fits = matches!(result, Some(Type::Vector { component, count: 2 })
            if matches!(declarations.ty(*component), Some(Type::Int { width: 32, .. })));
        if !fits {
            self.wrong(
                "the result",
                "is not a vector of two 32-bit integers",
                "use a vector of two 32-bit integers as the result type",
            );
        }
    }

    fn function(&mut self) {
        let to = Matrix::from_type(self.context, self.inst.result_type());
        let fits = to.zip(self.matrix(1)).is_some_and(|(to, from)| {
            !differ(to.scope, from.scope)
                && !differ(to.rows, from.rows)
                && !differ(to.columns, from.columns)
        });
        if !fits {
            self.wrong(
                "operand and result",
                "are not cooperative matrices of one scope and size",
                "use cooperative matrices of the same scope, rows and columns",
            );
        }
        let pointee = match self.kind(0) {
            Some(Type::Pointer { pointee, .. }) => *pointee,
            _ => None,
        };
        let pointee = pointee.and_then(|ty| self.context.declarations.ty(ty));
        if !matches!(pointee, Some(Type::Struct { .. })) {
            self.wrong(
                "the function object",
                "is not a pointer to a structure",
                "pass a pointer to a structure",
            );
        }
    }

    fn prefetch(&mut self) {
        self.pointer();
        self.integers([1, 2], true, "the offsets");
        self.integers([3, 4], true, "rows and columns");
        let is_constant = |index| {
            let id = self.inst.id(index).ok();
            id.and_then(|id| self.context.value(id)).is_some()
        };
        if !is_constant(3) || !is_constant(4) {
            self.wrong("rows and columns", "are not constants", "use constants");
        }
        self.layout();
    }

    /// The packed layout is for A and B; elements of 32 bits are not packed.
    fn packed(&mut self) {
        let is_packed = layout(self.inst).and_then(|id| self.context.value(id)) == Some(PACKED);
        if !is_packed || self.inst.opcode() == PREFETCH {
            return;
        }
        let matrix = match self.inst.result_type() {
            Some(ty) => Matrix::from_type(self.context, Some(ty)),
            None if self.inst.opcode() == STORE_CHECKED => self.matrix(3),
            None => self.matrix(1),
        };
        let Some(matrix) = matrix else { return };
        let is_small = match self.context.declarations.ty(matrix.component) {
            Some(Type::Int { width, .. } | Type::Float { width, .. }) => *width < PACKED_BYTES * 8,
            _ => false,
        };
        if is_small && matrix.role == Some(Use::MatrixAccumulatorKHR) {
            self.wrong(
                "the layout",
                "is PackedINTEL, which an accumulator of small elements cannot have",
                "use RowMajorKHR or ColumnMajorKHR",
            );
        }
    }

    fn product(&mut self, bits: u32) {
        let component = |matrix: Option<Matrix>| {
            let component = matrix?.component;
            self.context.declarations.ty(component)
        };
        let is_word = |matrix| matches!(component(matrix), Some(Type::Int { width: 16, .. }));
        let is_float = |matrix| matches!(component(matrix), Some(Type::Float { width: 32, .. }));
        let result = Matrix::from_type(self.context, self.inst.result_type());
        let signed = Operands::from_bits_truncate(bits);
        let factors =
            Operands::MATRIX_A_SIGNED_COMPONENTS_KHR | Operands::MATRIX_B_SIGNED_COMPONENTS_KHR;
        let summand = Operands::MATRIX_C_SIGNED_COMPONENTS_KHR;
        let own = Operands::MATRIX_RESULT_SIGNED_COMPONENTS_KHR;
        let wanted = [
            (
                FACTORS_TF32,
                is_float(self.matrix(0)) && is_float(self.matrix(1)),
                "A or B",
                "is TF32 but not a matrix of 32-bit floats",
                "use components that are 32-bit floats",
            ),
            (
                FACTORS_BFLOAT16,
                is_word(self.matrix(0)) && is_word(self.matrix(1)) && !signed.intersects(factors),
                "A or B",
                NOT_BFLOAT16,
                BFLOAT16,
            ),
            (
                SUMMAND_BFLOAT16,
                is_word(self.matrix(2)) && !signed.intersects(summand),
                "C",
                NOT_BFLOAT16,
                BFLOAT16,
            ),
            (
                RESULT_BFLOAT16,
                is_word(result) && !signed.intersects(own),
                "the result",
                NOT_BFLOAT16,
                BFLOAT16,
            ),
        ];
        for (bit, fits, part, is, help) in wanted {
            if bits & bit != 0 && !fits {
                self.wrong(part, is, help);
            }
        }
    }
}
