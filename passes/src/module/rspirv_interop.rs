//! From and to the modules of the `rspirv` crate, for programs that build or edit SPIR-V with it.
//! The feature `rspirv` has it.

use super::{Inst, Module, grammar};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::grammar::{LogicalOperand, OperandKind};

impl TryFrom<&dr::Module> for Module<'static> {
    type Error = Diagnostics;

    /// Assembles `module` and reads the words.
    ///
    /// # Errors
    /// As [`Module::from_words`]: `rspirv` lets a module have no header, ids above its bound, or
    /// ids that are defined twice.
    fn try_from(module: &dr::Module) -> Result<Self, Diagnostics> {
        Module::from_words(module.assemble())
    }
}

impl TryFrom<&Module<'_>> for dr::Module {
    type Error = Diagnostics;

    /// Loads the words with `rspirv`, and keeps the generator number, which its loader replaces
    /// with its own.
    ///
    /// # Errors
    /// `RspirvRefused` when the loader of `rspirv` does not accept the module: it stops at opcodes
    /// and enumerants that it does not know, and at instructions that it does not expect where they
    /// stand.
    fn try_from(module: &Module<'_>) -> Result<Self, Diagnostics> {
        if let Some(inst) = module.instructions().find(|inst| would_stop(*inst)) {
            let reason = format!(
                "the operation of {} is not allowed in a constant",
                inst.name()
            );
            return Err(refused(reason).at_word(inst.offset).into());
        }
        let mut loaded =
            dr::load_words(module.words()).map_err(|state| refused(state.to_string()))?;
        if let Some(header) = &mut loaded.header {
            header.generator = module.header().generator;
        }
        Ok(loaded)
    }
}

fn refused(reason: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::RspirvRefused, "rspirv does not accept the module").because(reason)
}

/// Returns true if the loader of `rspirv` 0.13 would panic: it does not expect literals of another
/// type's width in OpSpecConstantOp.
fn would_stop(inst: Inst<'_>) -> bool {
    let operation = inst
        .operands()
        .first()
        .and_then(|op| u16::try_from(*op).ok());
    let unexpected = |operand: &LogicalOperand| {
        matches!(
            operand.kind,
            OperandKind::LiteralContextDependentNumber
                | OperandKind::LiteralSpecConstantOpInteger
                | OperandKind::PairLiteralIntegerIdRef
        )
    };
    inst.op() == Some(spirv::Op::SpecConstantOp)
        && operation
            .and_then(grammar::pattern)
            .is_some_and(|list| list.iter().any(unexpected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Result, anyhow};
    use rspirv::spirv;

    fn built() -> Result<dr::Module> {
        let mut b = dr::Builder::new();
        b.capability(spirv::Capability::Shader);
        b.memory_model(spirv::AddressingModel::Logical, spirv::MemoryModel::GLSL450);
        let void = b.type_void();
        let ty = b.type_function(void, vec![]);
        let main = b.begin_function(void, None, spirv::FunctionControl::NONE, ty)?;
        b.begin_block(None)?;
        b.ret()?;
        b.end_function()?;
        b.entry_point(spirv::ExecutionModel::GLCompute, main, "main", vec![]);
        Ok(b.module())
    }

    #[test]
    fn there_and_back_is_the_same_module() -> Result<()> {
        let before = built()?;
        let module = Module::try_from(&before).map_err(|problems| anyhow!("{problems}"))?;
        let after = dr::Module::try_from(&module).map_err(|problems| anyhow!("{problems}"))?;
        assert_eq!(before.assemble(), after.assemble());
        Ok(())
    }

    #[test]
    fn what_rspirv_lets_pass_is_checked_at_the_door() -> Result<()> {
        let mut module = built()?;
        if let Some(header) = &mut module.header {
            header.bound = 2;
        }
        let problems = Module::try_from(&module).err().unwrap_or_default();
        assert!(
            problems
                .iter()
                .any(|problem| problem.code == Code::IdOutOfBound)
        );
        module.header = None;
        let problems = Module::try_from(&module).err().unwrap_or_default();
        assert!(
            problems
                .iter()
                .any(|problem| problem.code == Code::BadMagic)
        );
        Ok(())
    }

    #[test]
    fn an_opcode_that_rspirv_does_not_know_is_said_so() -> Result<()> {
        let mut words = built()?.assemble();
        words.push(1 << 16 | 60_000);
        let module = Module::from_words(words).map_err(|problems| anyhow!("{problems}"))?;
        let problems = dr::Module::try_from(&module).err().unwrap_or_default();
        assert!(problems.iter().any(|problem| {
            problem.code == Code::RspirvRefused
                && problem
                    .reasons
                    .iter()
                    .any(|reason| reason.contains("60000"))
        }));
        Ok(())
    }

    #[test]
    fn what_would_make_rspirv_panic_does_not_reach_it() -> Result<()> {
        for operation in [
            spirv::Op::Constant,
            spirv::Op::SpecConstantOp,
            spirv::Op::Switch,
        ] {
            let mut words = built()?.assemble();
            words.truncate(5);
            words.extend([
                4 << 16 | 21,
                1,
                32,
                0,
                6 << 16 | 52,
                1,
                2,
                operation as u32,
                1,
                1,
            ]);
            let module = Module::from_words(words).map_err(|problems| anyhow!("{problems}"))?;
            let problems = dr::Module::try_from(&module).err().unwrap_or_default();
            assert!(
                problems
                    .iter()
                    .any(|problem| problem.code == Code::RspirvRefused)
            );
        }
        Ok(())
    }
}
