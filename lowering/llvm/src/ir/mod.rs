//! The door for those who bring LLVM IR: a module for amdgcn or nvptx64 whose kernels call split
//! barriers by name.
//!
//! [`IrModule::read`] finds the calls and makes a SPIR-V module with the control flow of the
//! kernels (`skeleton/`): pairing, uniformity, plan and strategies work on that one. Lowering it
//! puts the steps of the plan in front of the calls, and takes the calls out (`insert.rs`).
//!
//! LLVM trusts a module that its verifier accepts: who does not trust the source of one reads it
//! in a process of its own.

mod arguments;
mod calls;
mod inline;
pub(crate) mod insert;
mod kernels;
mod located;
mod skeleton;

use crate::codegen;
use crate::ffi::{self, Errors, Func, Opcode, Value};
use crate::lowered::Lowered;
use crate::release;
use inkwell::context::Context;
use inkwell::module::Module;
use kernels::IrKernel;
use located::source;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics, SourcePosition, WordOffset};
use splitbar_plan::backend::{self, Lower};
use splitbar_plan::{Optimization, Target};
use std::collections::{BTreeMap, BTreeSet};

/// An LLVM module whose kernels have split barriers.
#[derive(Clone, Debug)]
pub struct IrModule {
    /// The module, functions with barriers inlined into the kernels.
    pub(crate) bitcode: Vec<u8>,
    /// The control flow of the kernels.
    skeleton: Vec<u8>,
    pub(crate) kernels: Vec<IrKernel>,
}

/// An instruction, as people know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrPlace {
    /// The kernel.
    pub function: String,
    /// The block; empty where it has no name.
    pub block: String,
    /// The instruction as text.
    pub instruction: String,
    /// Where its source stands, if the module says so.
    pub source: Option<SourcePosition>,
}

impl IrModule {
    /// Reads bitcode or the text of a module for `target`; `workgroup_size` is that of kernels that
    /// do not say it. `None` where no function calls a barrier: there is nothing to do then.
    ///
    /// # Errors
    /// `UnreadableIr` for what LLVM cannot read or verify, `ForeignIr` for a module that was made
    /// for another target, and what the calls of barriers ask and the module does not have.
    pub fn read(
        bytes: &[u8],
        target: &'static Target,
        workgroup_size: Option<[u32; 3]>,
    ) -> Result<Option<IrModule>, Diagnostics> {
        codegen::on_large_stack(|| {
            let context = Context::create();
            let module = parse(&context, bytes)?;
            IrModule::new(&context, &module, target, workgroup_size)
        })
    }

    /// As [`IrModule::read`], of a module that LLVM has read; functions with barriers go into its
    /// kernels.
    pub(crate) fn new<'c>(
        context: &'c Context,
        module: &Module<'c>,
        target: &'static Target,
        workgroup_size: Option<[u32; 3]>,
    ) -> Result<Option<IrModule>, Diagnostics> {
        kernels::check_target(module, target)?;
        if calls::all(ffi::module_ref(module)).is_empty() {
            return Ok(None);
        }
        let machine = codegen::machine(target, Optimization::O2)?;
        codegen::adopt(module, &machine);
        inline::inline(context, module, &machine)?;
        let found = kernels::kernels(context, module, target, workgroup_size)?;
        let (skeleton, kernels) = skeleton::write(context, module, &found, target)?;
        Ok(Some(IrModule {
            bitcode: module.write_bitcode_to_memory().as_slice().to_vec(),
            skeleton,
            kernels,
        }))
    }

    /// The instructions that stand behind words of the skeleton, by word; those that stand behind
    /// none are left out.
    pub fn places(&self, words: &BTreeSet<WordOffset>) -> BTreeMap<WordOffset, IrPlace> {
        let numbers: Vec<_> = words
            .iter()
            .filter_map(|word| Some((*word, self.number(*word)?)))
            .collect();
        if numbers.is_empty() {
            return BTreeMap::new();
        }
        let places = codegen::on_large_stack(|| {
            let context = Context::create();
            let module = codegen::parse(&context, &self.bitcode)?;
            let mut places = BTreeMap::new();
            for kernel in &self.kernels {
                let function = ffi::named_function(ffi::module_ref(&module), &kernel.name);
                let instructions = function.map_or_else(Vec::new, Func::instructions);
                let mine = numbers.iter().filter(|(_, (of, _))| of.name == kernel.name);
                for (word, (_, number)) in mine {
                    if let Some(instruction) = instructions.get(*number).copied() {
                        places.insert(*word, place(kernel, instruction));
                    }
                }
            }
            Ok(places)
        });
        places.unwrap_or_default()
    }

    /// The kernel and the number of the instruction that `word` belongs to.
    fn number(&self, word: WordOffset) -> Option<(&IrKernel, usize)> {
        self.kernels.iter().find_map(|kernel| {
            // Of several words of one instruction the first is known.
            let words = kernel.words.iter().enumerate();
            let words = words.filter_map(|(number, first)| Some((number, (*first)?)));
            let known = words.clone().filter(|(_, first)| *first <= word);
            let (number, _) = known.max_by_key(|(_, first)| *first)?;
            let (_, last) = words.max_by_key(|(_, first)| *first)?;
            (word <= last.next()).then_some((kernel, number))
        })
    }
}

impl backend::IrModule for IrModule {
    fn as_lower(&self) -> &dyn Lower {
        self
    }

    fn skeleton(&self) -> &[u8] {
        &self.skeleton
    }

    fn relocate(&self, diagnostics: &mut Diagnostics) {
        let words = |one: &Diagnostic| {
            let path = one.witness.iter().map(|step| step.word);
            path.chain([one.location.word])
                .flatten()
                .collect::<Vec<_>>()
        };
        let places = self.places(&diagnostics.iter().flat_map(words).collect());
        let place_of = |word: &mut Option<WordOffset>| places.get(&word.take()?);
        for diagnostic in diagnostics.iter_mut() {
            for step in &mut diagnostic.witness {
                step.instruction = None;
                step.source = None;
                if let Some(place) = place_of(&mut step.word) {
                    step.text = format!("{}, in block {}", place.instruction.trim(), place.block);
                    step.source = place.source.clone();
                }
            }
            let location = &mut diagnostic.location;
            let Some(place) = place_of(&mut location.word) else {
                continue;
            };
            location.operand = None;
            location.marked = None;
            location.function = Some(place.function.clone());
            location.block = Some(place.block.clone()).filter(|name| !name.is_empty());
            location.instruction = Some(place.instruction.clone());
            location.source = place.source.clone();
        }
    }
}

/// An instruction of `kernel`, as people know it.
fn place(kernel: &IrKernel, instruction: Value<'_>) -> IrPlace {
    IrPlace {
        function: kernel.name.clone(),
        block: instruction.block().name(),
        instruction: instruction.print(),
        source: source(instruction),
    }
}

/// The module in `bytes` as it is, for code to be made of it.
///
/// # Errors
/// As [`IrModule::read`].
pub(crate) fn unchanged(
    bytes: &[u8],
    target: &'static Target,
    optimization: Optimization,
) -> Result<Lowered, Diagnostics> {
    codegen::on_large_stack(|| {
        let context = Context::create();
        let module = parse(&context, bytes)?;
        kernels::check_target(&module, target)?;
        let bitcode = module.write_bitcode_to_memory().as_slice().to_vec();
        Ok(Lowered::of_bitcode(bitcode, target, optimization))
    })
}

/// Reads and verifies a module.
pub(crate) fn parse<'c>(context: &'c Context, bytes: &[u8]) -> Result<Module<'c>, Diagnostics> {
    let errors = Errors::collect(context);
    let refused = |what: &str, text: &str| {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or("no reason given");
        let refused = Diagnostic::error(Code::UnreadableIr, format!("{what}: {first}"));
        lines.take(4).fold(refused, Diagnostic::because)
    };
    let module = ffi::parse_ir(context, bytes).map_err(|reason| {
        let version = release::version();
        let more = errors.take();
        let reason = more.first().map_or(reason.as_str(), String::as_str);
        refused("LLVM cannot read the module", reason)
            .help(format!("use bitcode or text that LLVM {version} can read"))
    })?;
    upgrade(context, &module);
    module
        .verify()
        .map_err(|reason| refused("LLVM's verifier rejects the module", &reason.to_string()))?;
    Ok(module)
}

/// What LLVM's own upgrade of older modules leaves: clang 16 says of calls that ask for ids that
/// they are not undefined, which only loads say today.
fn upgrade(context: &Context, module: &Module<'_>) {
    for function in ffi::functions(ffi::module_ref(module)) {
        for instruction in function.instructions() {
            if instruction.opcode() != Some(Opcode::LLVMLoad)
                && instruction.has_metadata(context, "noundef")
            {
                instruction.remove_metadata(context, "noundef");
            }
        }
    }
}
