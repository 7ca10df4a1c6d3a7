//! One LLVM module from one SPIR-V module: per barrier plan a kernel and its own copies of the
//! functions that it reaches.

use super::abi;
use super::attributes::target_attributes;
use super::build::Build;
use super::build::quotient::Quotients;
use super::context::{KernelContext, ModuleContext};
use super::facts::Float8Conversions;
use super::function::FunctionEmitter;
use super::slots::{Slot, Slots};
use super::state::Callee;
use super::tangle_facts;
use super::types::{self, Kind};
use super::uses::{Hidden, Reached, Uses};
use super::{Result, check};
use crate::debug::Lines;
use crate::debug::line_of;
use crate::ffi::{self, Block, Func, Ty};
use crate::late_functions;
use inkwell::context::Context;
use inkwell::module::Module;
use spirv::{FunctionControl, StorageClass};
use splitbar_layout::Kernel;
use splitbar_layout::abi::{Abi, AbiForm, AbiInput, KernelAbi, Passing, length_passing, symbol};
use splitbar_layout::types::id_count;
use splitbar_passes::analysis::undefined::Undefined;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{
    Declarations, Function, Id, WordOffset, called, called_for_elements,
};
use splitbar_plan::backend::{DebugLines, LowerInput};
use splitbar_plan::target::Arch;
use splitbar_plan::{EntryPlan, Optimization};
use std::collections::BTreeMap;

/// Functions are inlined unless that would write more instructions than this.
const MAX_INLINED: u64 = 1 << 20;
/// How often an instruction on a cooperative matrix calls a function for its elements, about.
const CALLS_FOR_ELEMENTS: u64 = 64;
/// LLVM's numbers of the kernel calling conventions.
const AMDGPU_KERNEL: u32 = 91;
const PTX_KERNEL: u32 = 71;

/// What the functions of one module share.
pub(crate) struct Emission<'e, 'c, 'm> {
    pub(crate) lowering: &'e LowerInput<'m>,
    pub(crate) b: &'e Build<'c>,
    pub(crate) module: &'e ModuleContext<'c, 'm>,
    pub(crate) lines: Option<&'e Lines<'c>>,
    slots: Slots<'c>,
    /// The module-scope variables and addresses that the kernel at hand can name.
    pub(super) globals: BTreeMap<Id, Slot<'c>>,
    /// Program-scope data: one copy for all kernels, which pass values to one another in it.
    pub(super) program: BTreeMap<Id, Slot<'c>>,
    pub(crate) form: &'e AbiForm,
    symbols: Vec<String>,
}

/// Writes the kernels of all plans into `module`.
pub(crate) fn emit<'c>(
    context: &'c Context,
    module: &Module<'c>,
    lowering: &LowerInput<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<KernelAbi> {
    check::check(lowering, diagnostics);
    with(context, module, lowering, |emission| {
        let kernels = emission.lowering.kernels.iter();
        let abis = kernels.filter_map(|of| emission.kernel(of.kernel, of.plan, diagnostics));
        abis.collect()
    })
}

/// Does `work` with what the functions of `module` share.
pub(crate) fn with<'c, 'm, R>(
    context: &'c Context,
    module: &Module<'c>,
    lowering: &LowerInput<'m>,
    work: impl FnOnce(&mut Emission<'_, 'c, 'm>) -> R,
) -> R {
    let declarations = lowering.module.declarations();
    let b = Build::new(context, ffi::module_ref(module));
    let ids = id_count(declarations);
    let form = lowering.abi.of_module(declarations);
    let shared = ModuleContext::new(lowering, &b);
    let lines = (lowering.lines != DebugLines::None).then(|| Lines::new(module));
    let mut emission = Emission {
        lowering,
        b: &b,
        module: &shared,
        lines: lines.as_ref(),
        slots: Slots::new(ids),
        globals: BTreeMap::new(),
        program: BTreeMap::new(),
        form,
        symbols: Vec::new(),
    };
    let done = work(&mut emission);
    if let Some(lines) = &lines {
        lines.finish();
    }
    done
}

impl<'e, 'c, 'm> Emission<'e, 'c, 'm> {
    fn kernel(
        &mut self,
        kernel: &'e Kernel<'_>,
        plan: &'e EntryPlan,
        diagnostics: &mut Diagnostics,
    ) -> Option<KernelAbi> {
        let declarations = self.module.declarations;
        let Reached { order, uses, own } = &kernel.reached;
        let mut shared = KernelContext {
            exchange_bytes: kernel.exchange_bytes,
            tangled: tangle_facts::of_kernel(self.lowering, kernel, plan, &self.module.qualifiers),
            ..KernelContext::new(declarations, plan)
        };
        self.b.stack_bytes.set(0);
        let symbol = symbol(&plan.entry, &self.symbols);
        self.symbols.push(symbol.clone());
        self.make_globals(plan, own, &kernel.variables, diagnostics);
        let inline = inlined_size(declarations, order) <= MAX_INLINED;
        for id in order.iter().filter(|id| **id != plan.function) {
            let (Some(function), Some(used)) = (declarations.function(*id), uses.get(id)) else {
                diagnostics.push(*self.b.internal(format!("{id} is called but not defined")));
                continue;
            };
            if function.blocks.is_empty() {
                continue;
            }
            let undefined = self.undefined(function, uses, false);
            let made = self.function(&shared, function, used, undefined, inline, diagnostics);
            if let Some(callee) = made {
                shared.callees.0.insert(*id, callee);
            }
        }
        let function = declarations.function(plan.function)?;
        let abi = Abi::plan(
            AbiInput {
                declarations,
                types: &self.module.types,
                qualifiers: &self.module.qualifiers,
                target: self.module.target,
                form: self.form,
            },
            function,
            &kernel.reached,
            diagnostics,
        );
        let undefined = self.undefined(function, uses, true);
        self.entry(&shared, function, own, undefined, &abi, diagnostics);
        Some(KernelAbi {
            entry: plan.entry.clone(),
            symbol,
            workgroup_size: plan.workgroup_size,
            shared_memory_bytes: kernel.shared_bytes,
            dynamic_shared_bytes: plan.dynamic_shared_bytes,
            arguments: abi.parameters.into_iter().map(|p| p.argument).collect(),
            form: self.form.clone(),
            resources: abi.resources,
            combined_image_samplers: abi.combined_image_samplers,
            prints: shared.prints.take(),
        })
    }

    /// The symbol of the kernel that is being written.
    pub(super) fn symbol(&self) -> &str {
        self.symbols.last().map_or("kernel", String::as_str)
    }

    fn emitter<'f>(
        &mut self,
        kernel: &'f KernelContext<'f, 'c>,
        function: Func<'c>,
        name: &str,
        offset: WordOffset,
    ) -> FunctionEmitter<'f, 'c, 'm>
    where
        'e: 'f,
    {
        let prologue = function.append(self.b.context());
        let start = function.append(self.b.context());
        self.emitter_at(kernel, function, name, offset, prologue, start)
    }

    /// As [`Self::emitter`], with the blocks for stack slots and for what is written first.
    pub(crate) fn emitter_at<'f>(
        &mut self,
        kernel: &'f KernelContext<'f, 'c>,
        function: Func<'c>,
        name: &str,
        offset: WordOffset,
        prologue: Block<'c>,
        start: Block<'c>,
    ) -> FunctionEmitter<'f, 'c, 'm>
    where
        'e: 'f,
    {
        let line = line_of(self.module.source_map, offset);
        let scope = self
            .lines
            .map(|lines| lines.subprogram(function, name, line));
        self.b.at.set(offset);
        self.b.position(prologue);
        self.b.raw().set_location(line, scope);
        self.b.raw().br(start);
        self.b.position(start);
        self.b.quotients.set(Quotients::analyze(
            self.module.declarations,
            kernel.plan.function,
            &self.module.target.arch,
            self.lowering.correctly_rounded,
        ));
        self.b
            .float8
            .set(Float8Conversions::for_arch(&self.module.target.arch));
        let slots = std::mem::take(&mut self.slots);
        let mut emitter = FunctionEmitter::new(
            self.b,
            self.module,
            kernel,
            function,
            prologue,
            scope,
            slots,
        );
        for (id, slot) in &self.globals {
            emitter.set(*id, *slot);
        }
        emitter
    }

    /// Takes the slot table back, empty again.
    pub(crate) fn recycle(&mut self, emitter: FunctionEmitter<'_, 'c, 'm>) {
        self.slots = emitter.slots.emptied();
    }

    fn function(
        &mut self,
        kernel: &KernelContext<'_, 'c>,
        function: &'m Function<'m>,
        uses: &Uses,
        undefined: Undefined,
        inline: bool,
        diagnostics: &mut Diagnostics,
    ) -> Option<Callee<'c>> {
        let declarations = self.module.declarations;
        let context = self.b.context();
        let hidden = uses.hidden(declarations);
        let tangled = kernel.tangled.get(&function.id).cloned();
        let masked = tangled.as_ref().is_some_and(|tangled| tangled.masked);
        let signature = self.signature(function, masked, &hidden);
        let ty = match signature {
            Ok(ty) => ty,
            Err(problem) => {
                diagnostics.push(*problem);
                return None;
            }
        };
        let name = declarations
            .name(function.id)
            .map_or_else(|| format!("function.{}", function.id.0), str::to_owned);
        let llvm = Func::add(self.b.module(), &format!("{}.{name}", self.symbol()), ty);
        llvm.set_internal();
        llvm.attribute(context, "nounwind");
        llvm.attribute(context, "convergent");
        let values = function.params.len() as u32;
        let first_value = (usize::from(masked) + hidden.len()) as u32;
        let params = (first_value..first_value + values).filter_map(|index| llvm.param(index));
        let takes_values = params.into_iter().all(|param| !param.ty().is_pointer());
        let result = types::require(&self.module.types, declarations, function.result_type);
        let is_void = result.is_ok_and(|result| matches!(result.kind, Kind::Void));
        let optimizes = self.module.optimization != Optimization::O0;
        let is_procedure = takes_values && is_void;
        if inline && optimizes && is_procedure && may_come_late(declarations, function, &hidden) {
            late_functions::mark(context, llvm);
        } else if inline {
            llvm.attribute(context, "alwaysinline");
        }
        target_attributes(self.b, self.module.target, kernel.plan, llvm);
        let mut emitter = self.emitter(kernel, llvm, &name, function.offset);
        emitter.undefined = undefined;
        emitter.convergence.tangled = tangled;
        emitter.convergence.callers_mask = llvm.param(0).filter(|_| masked);
        let first = usize::from(masked);
        for (index, hidden) in hidden.iter().enumerate() {
            let Some(value) = llvm.param((first + index) as u32) else {
                diagnostics.push(*self.b.internal(format!("{name} lacks a hidden parameter")));
                return None;
            };
            match hidden {
                Hidden::Variable(id) => {
                    let slot = emitter.variable_slot(*id, value);
                    emitter.set(*id, slot);
                }
                Hidden::Length(id) => emitter.arguments.lengths.push((*id, value)),
                Hidden::PrintBuffer => emitter.arguments.printf_buffer = Some(value),
            }
        }
        for (index, (id, ty)) in function.params.iter().enumerate() {
            let Some(value) = llvm.param((first + hidden.len() + index) as u32) else {
                diagnostics.push(*self.b.internal(format!("{name} lacks the parameter {id}")));
                return None;
            };
            let slot = emitter.parameter_slot(*ty, value);
            emitter.set(*id, slot);
        }
        emitter.body(function, diagnostics);
        self.recycle(emitter);
        Some(Callee {
            function: llvm,
            hidden,
            masked,
        })
    }

    fn signature(
        &self,
        function: &Function<'_>,
        masked: bool,
        hidden: &[Hidden],
    ) -> Result<Ty<'c>> {
        let declarations = self.module.declarations;
        let value_type = |id: Id| -> Result<Ty<'c>> {
            types::require(&self.module.types, declarations, id)?;
            self.module.types.value(id).ok_or_else(|| {
                Box::new(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        format!("{id} is not the type of a value"),
                    )
                    .at_word(function.offset)
                    .help("run spirv-val over the module"),
                )
            })
        };
        let mut params = Vec::new();
        params.extend(masked.then(|| self.b.int_type(32)));
        for hidden in hidden {
            let passing = match hidden {
                Hidden::Variable(id) => {
                    let class = declarations.variable(*id).map(|v| v.class);
                    let space =
                        class.and_then(|class| types::address_space(self.module.target, class));
                    let space = space.ok_or_else(|| {
                        self.b.internal(format!("the argument {id} has no address"))
                    })?;
                    Passing::Pointer { space }
                }
                Hidden::Length(id) => length_passing(&self.module.types, declarations, *id),
                Hidden::PrintBuffer => Passing::Pointer { space: 1 },
            };
            params.extend(abi::parameter(
                self.b.context(),
                &self.module.types,
                passing,
            ));
        }
        for (_, ty) in &function.params {
            params.push(value_type(*ty)?);
        }
        let result =
            match types::require(&self.module.types, declarations, function.result_type)?.kind {
                Kind::Void => ffi::void_type(self.b.context()),
                _ => value_type(function.result_type)?,
            };
        Ok(result.function(&params))
    }

    /// What may be undefined in `function`.
    fn undefined(
        &self,
        function: &Function<'_>,
        uses: &BTreeMap<Id, Uses>,
        is_entry: bool,
    ) -> Undefined {
        Undefined::analyze(
            self.module.declarations,
            self.module.constants,
            function,
            uses,
            is_entry,
        )
    }

    fn entry(
        &mut self,
        kernel: &KernelContext<'_, 'c>,
        function: &'m Function<'m>,
        uses: &Uses,
        undefined: Undefined,
        abi: &Abi,
        diagnostics: &mut Diagnostics,
    ) {
        let plan = kernel.plan;
        let context = self.b.context();
        let params: Vec<Ty<'c>> = abi
            .parameters
            .iter()
            .filter_map(|p| abi::parameter(context, &self.module.types, p.passing))
            .collect();
        let llvm = Func::add(
            self.b.module(),
            self.symbol(),
            ffi::void_type(context).function(&params),
        );
        llvm.attribute(context, "nounwind");
        llvm.attribute(context, "convergent");
        target_attributes(self.b, self.module.target, plan, llvm);
        abi::attributes(abi, llvm, context, self.module.target);
        match (&self.module.target.arch, plan.workgroup_size) {
            (Arch::Amdgpu(_), size) => {
                llvm.set_call_convention(AMDGPU_KERNEL);
                if let Some(size) = size {
                    let parts = size.map(|d| ffi::meta_value(self.b.i32(d)));
                    llvm.set_metadata(
                        context,
                        "reqd_work_group_size",
                        ffi::meta_node(context, &parts),
                    );
                }
            }
            (Arch::Nvptx(_), size) => {
                llvm.set_call_convention(PTX_KERNEL);
                if let Some([x, y, z]) = size {
                    llvm.string_attribute(context, "nvvm.reqntid", &format!("{x},{y},{z}"));
                }
            }
        }
        if let Some([x, y, z]) = plan.cluster {
            let name = match self.module.target.arch {
                Arch::Amdgpu(_) => "amdgpu-cluster-dims",
                // Printed as `.explicitcluster` too, without which ptxas makes a full barrier of
                // the wait and nothing of the arrive.
                Arch::Nvptx(_) => "nvvm.cluster_dim",
            };
            llvm.string_attribute(context, name, &format!("{x},{y},{z}"));
        }
        let mut emitter = self.emitter(kernel, llvm, &plan.entry, function.offset);
        emitter.undefined = undefined;
        emitter.convergence.tangled = kernel.tangled.get(&function.id).cloned();
        if let Err(problem) = emitter.kernel_prologue(function, uses, abi, diagnostics) {
            diagnostics.push(*problem);
        }
        emitter.cascade.set(false);
        emitter.body(function, diagnostics);
        if let Err(problem) = emitter.wave_end() {
            diagnostics.push(*problem);
        }
        self.recycle(emitter);
    }
}

/// Returns true if `function` is not to be inlined and writes no variable of the invocation:
/// nothing is lost if the optimiser sees it apart from its callers.
fn may_come_late(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
    hidden: &[Hidden],
) -> bool {
    let inst = declarations.module.at(function.offset);
    let control = inst.and_then(|inst| inst.operand(0).ok());
    let control = control.map(FunctionControl::from_bits_retain);
    let is_own = |id: Id| {
        let class = declarations.variable(id).map(|variable| variable.class);
        !matches!(
            class,
            Some(
                StorageClass::StorageBuffer
                    | StorageClass::Uniform
                    | StorageClass::PushConstant
                    | StorageClass::Input
            )
        )
    };
    let touches_own = hidden.iter().any(|hidden| match hidden {
        Hidden::Variable(id) => is_own(*id),
        Hidden::Length(_) | Hidden::PrintBuffer => false,
    });
    control.is_some_and(|control| control.contains(FunctionControl::DONT_INLINE)) && !touches_own
}

/// Instructions that are written when every call is inlined.
fn inlined_size(declarations: &Declarations<'_>, order: &[Id]) -> u64 {
    let mut sizes: BTreeMap<Id, u64> = BTreeMap::new();
    let mut last = 0;
    for id in order {
        let Some(function) = declarations.function(*id) else {
            continue; // reported where it would be emitted
        };
        let mut size = 0u64;
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            let callee = called(*inst).and_then(|id| sizes.get(&id).copied());
            let times = match called_for_elements(*inst) {
                Some(_) => CALLS_FOR_ELEMENTS,
                None => 1,
            };
            size = size.saturating_add(callee.unwrap_or(1).saturating_mul(times));
        }
        sizes.insert(*id, size);
        last = size;
    }
    last
}
