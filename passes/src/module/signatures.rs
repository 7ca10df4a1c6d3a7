//! Functions agree with their types, and calls with functions (SPIR-V 3.42.9). Inlining and the
//! lowering rely on it.

use super::callee::callee;
use super::declarations::Declarations;
use super::functions::Function;
use super::inst::Inst;
use super::report::Report;
use super::types::Type;
use crate::diagnostic::{Code, Diagnostic};

/// Reports every function whose type is another than its result and parameters say, and every call
/// with too few or too many arguments.
pub(super) fn check(declarations: &Declarations<'_>, report: &mut Report<'_>) {
    for function in &declarations.functions {
        if let Some(problem) = of_function(declarations, function) {
            report.push(problem.at_word(function.offset));
        }
        for inst in &function.calls {
            if let Some(problem) = of_call(declarations, *inst) {
                report.push(problem.at_word(inst.offset));
            }
        }
    }
}

fn of_function(declarations: &Declarations<'_>, function: &Function<'_>) -> Option<Diagnostic> {
    let id = function.id;
    // What has no definition, or is not supported, was reported.
    let def = declarations.module.def(function.type_id)?;
    if def.op() != Some(spirv::Op::TypeFunction) {
        let of = function.type_id;
        let message = format!("the type {of} of the function {id} is not an OpTypeFunction");
        let problem = Diagnostic::error(Code::WrongDefinition, message);
        return Some(problem.because(format!("{of} is defined by {}", def.name())));
    }
    let Some(Type::Function { result, params }) = declarations.ty(function.type_id) else {
        return None;
    };
    let message = if *result != function.result_type {
        let has = function.result_type;
        format!("the function {id} returns {has}, but its type returns {result}")
    } else if params.len() != function.params.len() {
        let (has, says) = (function.params.len(), params.len());
        format!("the function {id} has {has} parameters, but its type has {says}")
    } else {
        let mut pairs = function.params.iter().zip(params);
        let ((parameter, has), says) = pairs.find(|((_, has), says)| has != *says)?;
        format!("the parameter {parameter} has the type {has}, but the type of {id} has {says}")
    };
    Some(Diagnostic::error(Code::TypeMismatch, message))
}

fn of_call(declarations: &Declarations<'_>, inst: Inst<'_>) -> Option<Diagnostic> {
    let function = declarations.function(callee(inst)?)?;
    let (given, asked) = (
        inst.operands().len().saturating_sub(1),
        function.params.len(),
    );
    (given != asked).then(|| {
        let message =
            format!("the call has {given} arguments, but the function has {asked} parameters");
        Diagnostic::error(Code::TypeMismatch, message)
    })
}
