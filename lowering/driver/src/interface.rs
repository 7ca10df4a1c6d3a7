//! The launch interface of kernels, as far as it is known without their code: for reflections in a
//! build without LLVM.

use crate::compile::{Candidate, Entry, Request, Slots, candidate};
use crate::expect::expect;
use crate::failure::Failure;
use crate::internal_error::{guarded, internal};
use crate::llvm_missing::llvm_missing;
use crate::options::Options;
use crate::stage::Observer;
use splitbar_layout::abi::{Abi, AbiInput, ArgumentKind, KernelAbi, symbol};
use splitbar_layout::types::Types;
use splitbar_passes::analysis::qualifiers::MemoryQualifiers;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::printf::Table;
use splitbar_plan::waves;

/// Plan and binary interface of each entry point of the module in `bytes`, with nothing measured,
/// and what else was noticed.
///
/// # Errors
/// As [`crate::Compiler::plan`]; those of [`Abi::plan`]; and `LlvmMissing` for a kernel that
/// prints, since its strings are numbered as its code is made.
pub(crate) fn interfaces(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<(Vec<Entry>, Diagnostics), Failure> {
    guarded(options, || {
        let slots = Slots::default();
        let request = Request::spirv(bytes, options);
        let mut candidate = candidate(&slots, request, expect, observer)?;
        let abis = abis(&mut candidate, options)?;
        let entries = candidate.kernels.into_iter().zip(abis);
        let mut problems = candidate.problems;
        let entries = entries.map(|(kernel, abi)| Entry::planned(kernel, abi, &problems));
        let entries = entries.collect();
        Ok((entries, problems.take_all()))
    })
}

/// The binary interface of each kernel. The emitter of code plans it in the same way.
fn abis(candidate: &mut Candidate<'_, '_>, options: &Options) -> Result<Vec<KernelAbi>, Failure> {
    let module = candidate.prepared.module;
    let (declarations, constants) = (module.declarations(), module.constants());
    let target = options.target;
    let form = options.abi.of_module(declarations);
    let types = Types::build(
        declarations,
        constants,
        target,
        waves(candidate.kernels.iter().map(|kernel| &kernel.plan), target),
        form.descriptor_bytes(),
    );
    let qualifiers = MemoryQualifiers::analyze(declarations);
    let mut found = Diagnostics::new();
    let mut symbols = Vec::new();
    let mut abis = Vec::new();
    for planned in &candidate.kernels {
        let (kernel, plan) = (&planned.prepared.kernel, &planned.plan);
        let (entry, reached) = (kernel.entry, &kernel.reached);
        let Some(function) = declarations.function(plan.function) else {
            let problem = internal(format!("entry point `{}` has no function", plan.entry));
            return Err(candidate.problems.and(problem.into()));
        };
        let input = AbiInput {
            declarations,
            types: &types,
            qualifiers: &qualifiers,
            target,
            form,
        };
        let abi = Abi::plan(input, function, reached, &mut found);
        let parameters = abi.parameters.into_iter();
        let arguments: Vec<_> = parameters.map(|one| one.argument).collect();
        if arguments
            .iter()
            .any(|argument| argument.kind == ArgumentKind::PrintfBuffer)
        {
            let what = format!("the strings that entry point `{}` prints", plan.entry);
            found.push(llvm_missing(&what).at_word(entry.inst.offset));
        }
        let symbol = symbol(&plan.entry, &symbols);
        symbols.push(symbol.clone());
        abis.push(KernelAbi {
            entry: plan.entry.clone(),
            symbol,
            workgroup_size: plan.workgroup_size,
            shared_memory_bytes: kernel.shared_bytes,
            dynamic_shared_bytes: plan.dynamic_shared_bytes,
            arguments,
            form: form.clone(),
            resources: abi.resources,
            combined_image_samplers: abi.combined_image_samplers,
            prints: Table::default(),
        });
    }
    candidate.problems.take(found)?;
    Ok(abis)
}

#[cfg(all(test, feature = "llvm"))]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use splitbar_plan::Target;

    #[test]
    fn they_are_those_of_the_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kernels");
        let mut compared = 0;
        for kernel in std::fs::read_dir(folder).unwrap() {
            let path = kernel.unwrap().path();
            let module = path.join(path.file_name().unwrap()).with_extension("spv");
            let Ok(bytes) = std::fs::read(&module) else {
                continue;
            };
            for target in ["gfx1201", "sm_90"] {
                let mut options = Options::new(Target::by_name(target).unwrap());
                options.optimization = splitbar_plan::Optimization::O0;
                let (Ok((entries, _)), Ok(compiled)) = (
                    interfaces(&bytes, &options, &mut ()),
                    crate::Compiler::new(&options).compile(&bytes),
                ) else {
                    continue;
                };
                let abis = |entries: &[Entry]| -> Vec<KernelAbi> {
                    entries.iter().map(|entry| entry.abi.clone()).collect()
                };
                let shown = module.display();
                assert_eq!(abis(&entries), abis(compiled.entries()), "{shown} {target}");
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared}");
    }
}
