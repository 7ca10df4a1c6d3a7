//! The table put to a module: decorations of what kernels use, and bits of operands in what they
//! run.

use super::Outcome::{self, Refused};
use super::{decoration, operand};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::joint_matrix::CheckedAccess;
use crate::module::{Declarations, Id, Inst};
use rspirv::grammar::OperandKind;
use spirv::{Decoration, Op};
use std::collections::BTreeSet;

/// Refuses what the table refuses, of the functions `functions` and of all that they name.
pub fn check(declarations: &Declarations<'_>, functions: &[Id], diagnostics: &mut Diagnostics) {
    let mut tables = Tables::default();
    for function in functions.iter().filter_map(|id| declarations.function(*id)) {
        let own = declarations.module.at(function.offset);
        for inst in own.into_iter().chain(function.insts()) {
            operands(declarations, inst, &mut tables, diagnostics);
        }
    }
    decorations(declarations, functions, &mut tables, diagnostics);
}

/// The bits of one kind of operand.
type Bits = Vec<(u32, Outcome)>;

/// The rows of the kinds that have been met.
#[derive(Default)]
struct Tables(Vec<(OperandKind, Option<Bits>)>);

impl Tables {
    fn of(&mut self, kind: OperandKind) -> Option<&[(u32, Outcome)]> {
        let at = match self.0.iter().position(|(known, _)| *known == kind) {
            Some(at) => at,
            None => {
                self.0.push((kind, operand::bits(kind)));
                self.0.len() - 1
            }
        };
        self.0.get(at)?.1.as_deref()
    }
}

/// Returns true if instructions of this kind have operands with bits of the table.
fn has_bits(op: Op) -> bool {
    matches!(
        op,
        Op::Load
            | Op::Store
            | Op::CopyMemory
            | Op::CopyMemorySized
            | Op::LoopMerge
            | Op::SelectionMerge
            | Op::Function
            | Op::CooperativeMatrixLoadKHR
            | Op::CooperativeMatrixStoreKHR
            | Op::CooperativeVectorLoadNV
            | Op::CooperativeVectorStoreNV
            | Op::TensorReadARM
            | Op::TensorWriteARM
            | Op::CooperativeMatrixLoadTensorNV
            | Op::CooperativeMatrixStoreTensorNV
    ) || format!("{op:?}").starts_with("Image")
}

fn operands(
    declarations: &Declarations<'_>,
    inst: Inst<'_>,
    tables: &mut Tables,
    diagnostics: &mut Diagnostics,
) {
    if !inst.op().is_some_and(has_bits) && CheckedAccess::from_inst(inst).is_none() {
        return;
    }
    for operand in declarations.module.operands(inst) {
        let (Some(rows), Some(value)) = (tables.of(operand.kind), operand.words.first()) else {
            continue;
        };
        for bit in unlisted(rows, *value) {
            diagnostics.push(
                Diagnostic::error(
                    Code::UnsupportedOperand,
                    format!(
                        "{} has the {:?} {bit:#x}, which is not lowered",
                        inst.name(),
                        operand.kind
                    ),
                )
                .at_word(inst.offset)
                .because("no known version of the grammar defines it"),
            );
        }
    }
}

/// The bits of `value` that the table does not have. The lowering of the instruction reports the
/// bits that the table rejects.
fn unlisted(rows: &[(u32, Outcome)], value: u32) -> impl Iterator<Item = u32> {
    let known = rows.iter().fold(0, |all, (bit, _)| all | bit);
    let rest = value & !known;
    (0..32).map(|at| 1 << at).filter(move |bit| rest & bit != 0)
}

/// A decoration in the module's text.
struct Decorating<'m> {
    inst: Inst<'m>,
    target: Id,
    /// The decorated instruction.
    on: Option<Inst<'m>>,
    kind: u32,
    rest: &'m [u32],
}

fn decorating<'m>(declarations: &Declarations<'m>, inst: Inst<'m>) -> Option<Decorating<'m>> {
    let (target, kind, rest) = match (inst.op()?, inst.operands()) {
        (Op::Decorate | Op::DecorateId | Op::DecorateString, [target, kind, rest @ ..])
        | (
            Op::MemberDecorate | Op::MemberDecorateString | Op::MemberDecorateIdEXT,
            [target, _, kind, rest @ ..],
        ) => (*target, *kind, rest),
        _ => return None,
    };
    Some(Decorating {
        inst,
        target: Id(target),
        on: declarations.module.def(Id(target)),
        kind,
        rest,
    })
}

/// Returns true if a decoration for conversions decorates another instruction, where it would be
/// ignored.
fn is_misplaced(one: &Decorating<'_>, known: Option<Decoration>) -> bool {
    let to_nearest = Some(&(spirv::FPRoundingMode::RTE as u32));
    let to_integer = |op| {
        matches!(
            op,
            Op::ConvertFToU
                | Op::ConvertFToS
                | Op::UConvert
                | Op::SConvert
                | Op::SatConvertSToU
                | Op::SatConvertUToS
        )
    };
    let of_floats = |op| {
        matches!(
            op,
            Op::ConvertFToU | Op::ConvertFToS | Op::ConvertSToF | Op::ConvertUToF | Op::FConvert
        )
    };
    let op = one.on.and_then(|inst| inst.op());
    if op == Some(Op::DecorationGroup) {
        return false;
    }
    match known {
        Some(Decoration::SaturatedConversion) => !op.is_some_and(to_integer),
        Some(Decoration::FPRoundingMode) => {
            one.rest.first() != to_nearest && !op.is_some_and(of_floats)
        }
        Some(Decoration::SaturatedToLargestFloat8NormalConversionEXT) => {
            !op.is_some_and(|op| of_floats(op) && !to_integer(op))
        }
        _ => false,
    }
}

/// The problem of a decoration, if its target is used.
fn refusal(one: &Decorating<'_>, tables: &mut Tables) -> Option<Diagnostic> {
    let known = Decoration::from_u32(one.kind);
    let name = known.map_or_else(|| one.kind.to_string(), |kind| format!("{kind:?}"));
    let said = match known.map(decoration) {
        None => "no known version of the grammar defines it".to_owned(),
        Some(Refused(_)) => "its effect would be lost".to_owned(),
        Some(_) if is_misplaced(one, known) => {
            "it decorates something that is not a conversion".to_owned()
        }
        Some(_) => {
            let value = one.rest.first().copied().unwrap_or(0);
            let unknown = match known {
                Some(Decoration::FPFastMathMode) => {
                    let rows = tables.of(OperandKind::FPFastMathMode).unwrap_or(&[]);
                    unlisted(rows, value).next()
                }
                Some(Decoration::FPRoundingMode) => {
                    let mode = spirv::FPRoundingMode::from_u32(value);
                    mode.is_none().then_some(value)
                }
                Some(Decoration::FuncParamAttr) => {
                    let attribute = spirv::FunctionParameterAttribute::from_u32(value);
                    attribute.is_none().then_some(value)
                }
                _ => None,
            };
            format!("its operand {:#x} is not defined by the grammar", unknown?)
        }
    };
    let target = one.target;
    let message = format!("the decoration {name} of {target} is not lowered");
    Some(
        Diagnostic::error(Code::UnsupportedDecoration, message)
            .at_word(one.inst.offset)
            .because(said),
    )
}

fn decorations(
    declarations: &Declarations<'_>,
    functions: &[Id],
    tables: &mut Tables,
    diagnostics: &mut Diagnostics,
) {
    let annotations = declarations
        .module
        .instructions()
        .take_while(|inst| inst.op() != Some(Op::Function));
    let refused: Vec<(Id, Diagnostic)> = annotations
        .filter_map(|inst| decorating(declarations, inst))
        .filter_map(|one| Some((one.target, refusal(&one, tables)?)))
        .collect();
    // Few modules have one, and decorations of other stages do not concern kernels.
    if refused.is_empty() {
        return;
    }
    let used = used(declarations, functions);
    for (target, problem) in refused {
        let is_group = declarations
            .module
            .def(target)
            .is_some_and(|inst| inst.op() == Some(Op::DecorationGroup));
        if is_group || used.contains(&target) {
            diagnostics.push(problem);
        }
    }
}

/// The functions' own ids and all that they name, directly or through declarations.
fn used(declarations: &Declarations<'_>, functions: &[Id]) -> BTreeSet<Id> {
    let module = declarations.module;
    let mut used = BTreeSet::new();
    let mut work = Vec::new();
    for function in functions.iter().filter_map(|id| declarations.function(*id)) {
        work.push(function.id);
        work.extend(function.params.iter().map(|(id, _)| *id));
        for inst in function.insts() {
            work.extend(module.ids(inst).map(|(_, id)| id));
        }
    }
    while let Some(id) = work.pop() {
        if !used.insert(id) {
            continue;
        }
        let def = module.def(id);
        if let Some(inst) = def.filter(|inst| inst.op() != Some(Op::Label)) {
            work.extend(module.ids(inst).map(|(_, id)| id));
        }
    }
    used
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::check;
    use crate::diagnostic::Diagnostics;
    use crate::module::{Declarations, assemble};

    /// The messages for a kernel with this line among its decorations and this one in its body.
    fn said(decoration: &str, load: &str) -> Vec<String> {
        let text = format!(
            "OpCapability Shader
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\"
            OpExecutionMode %main LocalSize 1 1 1
            OpDecorate %block Block
            OpMemberDecorate %block 0 Offset 0
            {decoration}
            %void = OpTypeVoid
            %fn = OpTypeFunction %void
            %uint = OpTypeInt 32 0
            %u0 = OpConstant %uint 0
            %block = OpTypeStruct %uint
            %to_block = OpTypePointer StorageBuffer %block
            %to_uint = OpTypePointer StorageBuffer %uint
            %b = OpVariable %to_block StorageBuffer
            %unused = OpVariable %to_block StorageBuffer
            %main = OpFunction %void None %fn
            %start = OpLabel
            %at = OpAccessChain %to_uint %b %u0
            {load}
            OpReturn
            OpFunctionEnd"
        );
        let assembled = assemble(&text).unwrap();
        let module = assembled.module().unwrap();
        let mut diagnostics = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut diagnostics);
        check(&declarations, &[assembled.names["main"]], &mut diagnostics);
        diagnostics
            .iter()
            .map(|one| format!("{} {}", one.code, one.message))
            .collect()
    }

    const LOAD: &str = "%value = OpLoad %uint %at";

    #[test]
    fn what_is_listed_passes() {
        let decoration = "OpDecorate %b Coherent\nOpDecorate %value RelaxedPrecision";
        assert!(said(decoration, LOAD).is_empty());
        assert!(
            said(
                "",
                "%value = OpLoad %uint %at Volatile|Aligned|Nontemporal 4"
            )
            .is_empty()
        );
    }

    #[test]
    fn what_is_refused_or_unknown_has_a_code() {
        for decoration in [
            "OpDecorate %b BindlessImageNV",
            "OpDecorate %b !60000",
            "OpMemberDecorate %block 0 !60000",
            "OpMemberDecorate %block 0 MemberOffsetNV 4",
            "OpDecorate %value FPFastMathMode !0x80000000",
            "OpDecorate %value FPRoundingMode !9",
            "OpDecorate %value FPRoundingMode RTZ",
            "OpDecorate %value SaturatedConversion",
            "OpDecorate %g !60000\n%g = OpDecorationGroup\nOpGroupDecorate %g %b",
        ] {
            let said = said(decoration, LOAD);
            let [one] = said.as_slice() else {
                unreachable!("{decoration}: {said:?}");
            };
            assert!(one.starts_with("SB0370 the decoration"), "{one}");
        }
        let said = said("", "%value = OpLoad %uint %at !0x80");
        assert_eq!(
            said,
            ["SB0371 OpLoad has the MemoryAccess 0x80, which is not lowered"]
        );
    }

    #[test]
    fn what_no_kernel_uses_is_left_alone() {
        assert!(said("OpDecorate %unused BindlessImageNV", LOAD).is_empty());
    }
}
