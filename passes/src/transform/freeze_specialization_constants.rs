//! Puts the values of specialization constants in the place of their uses in functions, so that
//! passes see them. The constants themselves stay in the module, with their SpecIds: whoever gives
//! them values must give those that were frozen.
//!
//! Truth values and integers of 32 bits, and those that OpCompositeExtract takes from a composite,
//! as WorkgroupSize.

use super::edit::Edit;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constant, Constants, Declarations, Id, Inst, Module, SpecValues};
use spirv::Op;

pub(super) fn run(
    _: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut found = Diagnostics::new();
    let constants = match options {
        PassOptions::Values {
            spec,
            workgroup_size,
        } => declarations.specialized(spec, *workgroup_size, &mut found),
        _ => declarations.specialized(&SpecValues::default(), None, &mut found),
    };
    if found.has_errors() {
        return Err(found);
    }
    let mut freezing = Freezing {
        edit: Edit::new(declarations),
        constants: &constants,
    };
    for function in &declarations.functions {
        for inst in function.insts() {
            freezing.instruction(inst)?;
        }
    }
    freezing.edit.finish()
}

struct Freezing<'f, 'd, 'm> {
    edit: Edit<'d, 'm>,
    constants: &'f Constants,
}

impl<'m> Freezing<'_, '_, 'm> {
    fn instruction(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let Some(op) = inst.op() else {
            return Ok(());
        };
        if let (Op::CompositeExtract, Some(ty), Some(result)) =
            (op, inst.result_type(), inst.result())
            && let Some(part) = self.part(inst)
            && let Some(constant) = self.constant(ty, &part)?
        {
            let operands = [ty.0, result.0, constant];
            return self.edit.replace(inst.offset, Op::CopyObject, &operands);
        }
        let mut words = inst.words.to_vec();
        for (index, id) in self.edit.module().ids(inst) {
            if let Some(frozen) = self.frozen(id)?
                && let Some(word) = words.get_mut(index)
            {
                *word = frozen;
            }
        }
        if words != inst.words {
            let operands = words.get(1..).unwrap_or(&[]);
            self.edit.replace(inst.offset, op, operands)?;
        }
        Ok(())
    }

    /// What OpCompositeExtract takes from a specialization constant.
    fn part(&self, inst: Inst<'m>) -> Option<Constant> {
        let composite = inst.id(0).ok().filter(|id| self.is_special(*id))?;
        let Constant::Composite(parts) = self.constants.get(composite)? else {
            return None;
        };
        match inst.operands_from(1) {
            [index] => parts.get(usize::try_from(*index).ok()?).cloned(),
            _ => None, // from inside of a part
        }
    }

    /// The constant that stands for `id`, if that is a specialization constant.
    fn frozen(&mut self, id: Id) -> Result<Option<u32>, Diagnostic> {
        let value = self.constants.get(id).filter(|_| self.is_special(id));
        match (self.edit.declarations.type_of(id), value) {
            (Some(ty), Some(value)) => self.constant(ty, &value.clone()),
            _ => Ok(None),
        }
    }

    fn is_special(&self, id: Id) -> bool {
        let def = self.edit.module().def(id);
        let op = def.and_then(|def| def.op());
        matches!(
            op,
            Some(
                Op::SpecConstant
                    | Op::SpecConstantTrue
                    | Op::SpecConstantFalse
                    | Op::SpecConstantComposite
                    | Op::SpecConstantOp
            )
        )
    }

    fn constant(&mut self, ty: Id, value: &Constant) -> Result<Option<u32>, Diagnostic> {
        let constant = match *value {
            Constant::Bool(true) => self.edit.constant(Op::ConstantTrue, ty.0, &[])?,
            Constant::Bool(false) => self.edit.constant(Op::ConstantFalse, ty.0, &[])?,
            Constant::Int { bits, width: 32 } => match u32::try_from(bits) {
                Ok(bits) => self.edit.constant(Op::Constant, ty.0, &[bits])?,
                Err(_) => return Ok(None), // it would not have 32 bits
            },
            Constant::Int { .. }
            | Constant::Float { .. }
            | Constant::Composite(_)
            | Constant::Null
            | Constant::Undef => return Ok(None),
        };
        Ok(Some(constant))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::analysis::testing::{assemble, declared};

    #[test]
    fn uses_in_functions_are_frozen() {
        let assembled = assemble(
            "OpDecorate %n 1 3
            OpDecorate %flag 1 4\n",
            "%v3 = OpTypeVector %uint 3
            %n = OpSpecConstant %uint 5
            %flag = OpSpecConstantTrue %bool
            %twice = OpSpecConstantOp %uint 128 %n %n
            %size = OpSpecConstantComposite %v3 %n %u1 %u2
            %main = OpFunction %void 0 %fn
            %entry = OpLabel
            %a = OpIAdd %uint %n %twice
            %b = OpSelect %uint %flag %a %u1
            %c = OpCompositeExtract %uint %size 0
            %d = OpCompositeExtract %uint %size 2
            OpReturn
            OpFunctionEnd",
        );
        let (declarations, _) = declared(&assembled.module);
        let mut found = Diagnostics::new();
        let options = PassOptions::Values {
            spec: SpecValues([(3, 9)].into()),
            workgroup_size: None,
        };
        let edited = run(&assembled.module, &declarations, &options, &mut found);
        let edited = edited.unwrap().unwrap();
        let (frozen, values) = declared(&edited.module);
        let def = |name| edited.module.def(assembled.id(name)).unwrap();
        let operand = |name, index| {
            let id = def(name).id(index).unwrap();
            let op = edited.module.def(id).unwrap().op();
            assert_ne!(op, Some(Op::SpecConstant), "{name}");
            (values.as_u32(id), values.get(id).unwrap().as_bool())
        };
        assert_eq!(operand("a", 0), (Some(9), None));
        assert_eq!(operand("a", 1), (Some(18), None));
        assert_eq!(operand("b", 0), (None, Some(true)));
        assert_eq!(operand("c", 0), (Some(9), None));
        assert_eq!(operand("d", 0), (Some(2), None));
        // The constants are still there, with their SpecIds.
        assert_eq!(def("n").op(), Some(Op::SpecConstant));
        assert_eq!(values.as_u32(assembled.id("n")), Some(5));
        let again = run(&edited.module, &frozen, &options, &mut found);
        assert!(again.unwrap().is_none());
    }
}
