//! One LLVM module from one SPIR-V module: per barrier plan a kernel and its own copies of the functions that it reaches.

use super::abi::{self, Abi, KernelAbi, Role};
use super::barrier::{Shared, StateSlots};
use super::build::Build;
use super::constant;
use super::control::Control;
use super::function::{FunctionEmitter, Pointer, Slot};
use super::types::{self, Kind, Types};
use super::uses::{self, Hidden, Uses};
use super::{Result, check};
use crate::Lowering;
use crate::debug::Lines;
use crate::ffi::{self, Func, IntPredicate, Linkage, Ty, Value};
use inkwell::context::Context;
use inkwell::module::Module;
use spirv::StorageClass;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, Function, Id};
use splitbar_plan::target::Arch;
use splitbar_plan::{EntryPlan, Placement, Target};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// A function that can be called.
pub(crate) struct Callee<'c> {
    pub(crate) function: Func<'c>,
    pub(crate) hidden: Vec<Hidden>,
}

/// The functions of one kernel that are written already.
#[derive(Default)]
pub(crate) struct Callees<'c>(BTreeMap<Id, Callee<'c>>);

impl<'c> Callees<'c> {
    pub(crate) fn get(&self, id: Id) -> Option<&Callee<'c>> {
        self.0.get(&id)
    }
}

/// Functions are inlined unless that would write more instructions than this.
const MAX_INLINED: u64 = 1 << 20;
/// LLVM's numbers of the kernel calling conventions.
const AMDGPU_KERNEL: u32 = 91;
const PTX_KERNEL: u32 = 71;

/// What the functions of one module share.
struct Emission<'e, 'c, 'm> {
    lowering: &'e Lowering<'m>,
    b: &'e Build<'c>,
    types: &'e Types<'c>,
    materialized: &'e RefCell<Vec<Option<Value<'c>>>>,
    barriers: &'e Shared<'c>,
    lines: Option<&'e Lines<'c>>,
    slots: Vec<Slot<'c>>,
    globals: Vec<(Id, Slot<'c>)>,
    kernel: bool,
    symbols: Vec<String>,
}

/// One more than the greatest result id.
pub(crate) fn id_count(declarations: &Declarations<'_>) -> usize {
    declarations
        .module
        .instructions()
        .filter_map(|inst| inst.result())
        .map(|id| id.0 as usize + 1)
        .max()
        .unwrap_or(0)
}

/// Writes the kernels of all plans into `module`.
pub(crate) fn emit<'c>(
    context: &'c Context,
    module: &Module<'c>,
    lowering: &Lowering<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<KernelAbi> {
    let declarations = lowering.declarations;
    check::check(lowering, diagnostics);
    let b = Build::new(context, ffi::module_ref(module));
    let ids = id_count(declarations);
    // The plans of one compilation have one wave size.
    let wave = lowering.plans.first().map_or_else(
        || lowering.target.default_wave_size(),
        |plan| plan.wave_size,
    );
    let types = Types::of(
        declarations,
        lowering.constants,
        lowering.target,
        &b,
        ids,
        wave,
    );
    let materialized = RefCell::new(vec![None; ids]);
    let barriers = Shared::default();
    let lines = lowering.lines.then(|| Lines::new(module));
    let mut emission = Emission {
        lowering,
        b: &b,
        types: &types,
        materialized: &materialized,
        barriers: &barriers,
        lines: lines.as_ref(),
        slots: vec![Slot::Empty; ids],
        globals: Vec::new(),
        kernel: declarations.has_capability(spirv::Capability::Kernel),
        symbols: Vec::new(),
    };
    let abis = lowering
        .plans
        .iter()
        .filter_map(|plan| emission.kernel(plan, diagnostics))
        .collect();
    if let Some(lines) = &lines {
        lines.finish();
    }
    abis
}

impl<'e, 'c, 'm> Emission<'e, 'c, 'm> {
    fn kernel(&mut self, plan: &'e EntryPlan, diagnostics: &mut Diagnostics) -> Option<KernelAbi> {
        let declarations = self.lowering.declarations;
        let order = match declarations.reachable_functions(plan.function) {
            Ok(order) => order,
            Err(problem) => {
                diagnostics.push(problem);
                return None;
            }
        };
        let uses = uses::uses(declarations, &order);
        let own = uses.get(&plan.function)?;
        let symbol = abi::symbol(&plan.entry, &self.symbols);
        self.symbols.push(symbol.clone());
        self.make_globals(own, diagnostics);
        let inline = inlined_size(declarations, &order) <= MAX_INLINED;
        let mut callees = Callees::default();
        for id in order.iter().filter(|id| **id != plan.function) {
            let (Some(function), Some(used)) = (declarations.function(*id), uses.get(id)) else {
                continue;
            };
            if function.blocks.is_empty() {
                continue;
            }
            if let Some(callee) = self.function(plan, function, used, &callees, inline, diagnostics)
            {
                callees.0.insert(*id, callee);
            }
        }
        let entry = declarations.function(plan.function)?;
        let abi = Abi::plan(
            self.b.context(),
            self.types,
            declarations,
            self.lowering.target,
            entry,
            own,
            diagnostics,
        );
        self.entry(plan, entry, own, &callees, &abi, diagnostics);
        Some(KernelAbi {
            entry: plan.entry.clone(),
            symbol,
            workgroup_size: plan.workgroup_size,
            shared_memory_bytes: super::group::with_scratch(
                shared_bytes(declarations, self.types, own),
                declarations,
                self.lowering.constants,
                &order,
            ),
            arguments: abi.parameters.into_iter().map(|p| p.argument).collect(),
        })
    }

    /// The symbol of the kernel that is being written.
    fn symbol(&self) -> &str {
        self.symbols.last().map_or("kernel", String::as_str)
    }

    /// Workgroup variables and initialised program-scope data become LLVM globals.
    fn make_globals(&mut self, uses: &Uses, diagnostics: &mut Diagnostics) {
        let declarations = self.lowering.declarations;
        self.globals.clear();
        for id in &uses.variables {
            let Some(variable) = declarations.variable(*id).filter(|v| uses::is_global(v)) else {
                continue;
            };
            let pointee = uses::pointee(declarations, variable);
            let info = match pointee.map(|ty| types::require(self.types, declarations, ty)) {
                Some(Ok(info)) => info,
                Some(Err(problem)) => {
                    diagnostics.push(*problem);
                    self.globals.push((*id, Slot::Bad));
                    continue;
                }
                None => {
                    diagnostics.push(
                        Diagnostic::error(
                            Code::UnsupportedType,
                            format!("the variable {id} is untyped"),
                        )
                        .at_word(variable.inst.offset),
                    );
                    self.globals.push((*id, Slot::Bad));
                    continue;
                }
            };
            let align = info.align.max(16);
            let name = format!("{}.{}", self.symbol(), id.0);
            let address = match variable.class {
                StorageClass::Workgroup => {
                    let ty = self.b.int_type(8).array(info.size);
                    let global = ffi::add_global(self.b.module(), ty, 3, &name);
                    global.set_initializer(ty.poison());
                    global.set_linkage(Linkage::LLVMInternalLinkage);
                    global.set_alignment(align);
                    global
                }
                class => {
                    let bytes = match (
                        variable
                            .initializer
                            .and_then(|id| self.lowering.constants.get(id)),
                        pointee,
                    ) {
                        (Some(constant), Some(ty)) => {
                            constant::bytes(self.types, declarations, constant, ty)
                        }
                        _ => usize::try_from(info.size)
                            .ok()
                            .filter(|size| *size <= constant::MAX_BYTES)
                            .map(|size| vec![0; size]),
                    };
                    let Some(bytes) = bytes else {
                        diagnostics.push(
                            Diagnostic::error(
                                Code::BadConstant,
                                format!("the initializer of {id} is not lowered"),
                            )
                            .at_word(variable.inst.offset)
                            .because("it holds addresses, or is too large"),
                        );
                        self.globals.push((*id, Slot::Bad));
                        continue;
                    };
                    let value = ffi::const_bytes(self.b.context(), &bytes);
                    let space = types::address_space(self.lowering.target, class).unwrap_or(1);
                    let global = ffi::add_global(self.b.module(), value.ty(), space, &name);
                    global.set_initializer(value);
                    global.set_linkage(Linkage::LLVMInternalLinkage);
                    global.set_alignment(align);
                    if class == StorageClass::UniformConstant {
                        global.set_constant();
                    }
                    global
                }
            };
            self.globals.push((
                *id,
                Slot::Pointer(Pointer {
                    address,
                    pointee,
                    class: variable.class,
                    align,
                    matrix: None,
                }),
            ));
        }
    }

    fn emitter<'f>(
        &mut self,
        plan: &'f EntryPlan,
        function: Func<'c>,
        callees: &'f Callees<'c>,
        name: &str,
        line: u32,
    ) -> FunctionEmitter<'f, 'c, 'm>
    where
        'e: 'f,
    {
        let prologue = function.append(self.b.context());
        let start = function.append(self.b.context());
        let scope = self
            .lines
            .map(|lines| lines.subprogram(function, name, line));
        self.b.at.set(line.saturating_sub(1));
        self.b.position(prologue);
        self.b.raw().set_location(line, scope);
        self.b.raw().br(start);
        self.b.position(start);
        let float_controls = spirv::Capability::FloatControls2;
        let strict = self.lowering.declarations.has_capability(float_controls)
            || check::contraction_off(self.lowering.declarations, plan.function);
        let mut emitter = FunctionEmitter {
            b: self.b,
            declarations: self.lowering.declarations,
            constants: self.lowering.constants,
            target: self.lowering.target,
            wave_size: plan.wave_size,
            function,
            plan,
            kernel: self.kernel,
            types: self.types,
            materialized: self.materialized,
            slots: std::mem::take(&mut self.slots),
            trail: Vec::new(),
            cascade: Cell::new(false),
            prologue,
            scope,
            control: Control::default(),
            callees,
            lengths: Vec::new(),
            barrier_state: StateSlots::default(),
            barriers: self.barriers,
            default_fast_math: if strict {
                0
            } else {
                super::build::fast::CONTRACT
            },
        };
        for (id, slot) in &self.globals {
            emitter.set(*id, *slot);
        }
        emitter
    }

    /// Takes the slot table back, empty again.
    fn recycle(&mut self, mut emitter: FunctionEmitter<'_, 'c, 'm>) {
        for id in std::mem::take(&mut emitter.trail) {
            if let Some(slot) = emitter.slots.get_mut(id.0 as usize) {
                *slot = Slot::Empty;
            }
        }
        self.slots = emitter.slots;
    }

    fn function(
        &mut self,
        plan: &'e EntryPlan,
        function: &'m Function<'m>,
        uses: &Uses,
        callees: &Callees<'c>,
        inline: bool,
        diagnostics: &mut Diagnostics,
    ) -> Option<Callee<'c>> {
        let declarations = self.lowering.declarations;
        let context = self.b.context();
        let hidden = uses.hidden(declarations);
        let signature = self.signature(function, &hidden);
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
        if inline {
            llvm.attribute(context, "alwaysinline");
        }
        target_attributes(self.b, self.lowering.target, plan, llvm);
        let mut emitter = self.emitter(
            plan,
            llvm,
            callees,
            &name,
            function.offset.saturating_add(1),
        );
        for (index, hidden) in hidden.iter().enumerate() {
            let Some(value) = llvm.param(index as u32) else {
                continue;
            };
            match hidden {
                Hidden::Variable(id) => {
                    let slot = emitter.variable_slot(*id, value);
                    emitter.set(*id, slot);
                }
                Hidden::Length(id) => emitter.lengths.push((*id, value)),
            }
        }
        for (index, (id, ty)) in function.params.iter().enumerate() {
            let Some(value) = llvm.param((hidden.len() + index) as u32) else {
                continue;
            };
            let slot = emitter.parameter_slot(*ty, value);
            emitter.set(*id, slot);
        }
        emitter.body(function, diagnostics);
        self.recycle(emitter);
        Some(Callee {
            function: llvm,
            hidden,
        })
    }

    fn signature(&self, function: &Function<'_>, hidden: &[Hidden]) -> Result<Ty<'c>> {
        let declarations = self.lowering.declarations;
        let value_type = |id: Id| -> Result<Ty<'c>> {
            let info = types::require(self.types, declarations, id)?;
            info.value.ok_or_else(|| {
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
        for hidden in hidden {
            params.push(match hidden {
                Hidden::Variable(id) => {
                    let class = declarations.variable(*id).map(|v| v.class);
                    let space =
                        class.and_then(|class| types::address_space(self.lowering.target, class));
                    self.b.pointer_type(space.unwrap_or(1))
                }
                Hidden::Length(_) => self.b.int_type(32),
            });
        }
        for (_, ty) in &function.params {
            params.push(value_type(*ty)?);
        }
        let result = match types::require(self.types, declarations, function.result_type)?.kind {
            Kind::Void => ffi::void_type(self.b.context()),
            _ => value_type(function.result_type)?,
        };
        Ok(result.function(&params))
    }

    fn entry(
        &mut self,
        plan: &'e EntryPlan,
        function: &'m Function<'m>,
        uses: &Uses,
        callees: &Callees<'c>,
        abi: &Abi<'c>,
        diagnostics: &mut Diagnostics,
    ) {
        let context = self.b.context();
        let params: Vec<Ty<'c>> = abi.parameters.iter().map(|p| p.ty).collect();
        let llvm = Func::add(
            self.b.module(),
            self.symbol(),
            ffi::void_type(context).function(&params),
        );
        llvm.attribute(context, "nounwind");
        llvm.attribute(context, "convergent");
        target_attributes(self.b, self.lowering.target, plan, llvm);
        abi::attributes(abi, llvm, context, self.lowering.target);
        match (&self.lowering.target.arch, plan.workgroup_size) {
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
                if plan.uses_cluster() {
                    // Printed as `.explicitcluster` too, without which ptxas makes a full barrier of the wait and nothing of the arrive.
                    llvm.string_attribute(context, "nvvm.cluster_dim", "1,1,1");
                }
            }
        }
        let mut emitter = self.emitter(
            plan,
            llvm,
            callees,
            &plan.entry,
            function.offset.saturating_add(1),
        );
        if let Err(problem) = emitter.kernel_prologue(function, uses, abi, diagnostics) {
            diagnostics.push(*problem);
        }
        emitter.cascade.set(false);
        emitter.body(function, diagnostics);
        self.recycle(emitter);
    }
}

/// What a function must say about waves and workgroups to be called by the kernel of `plan`.
pub(super) fn target_attributes<'c>(
    b: &Build<'c>,
    target: &Target,
    plan: &EntryPlan,
    function: Func<'c>,
) {
    let context = b.context();
    if let Arch::Amdgpu(_) = target.arch {
        let total = plan.workgroup_size.map(|size| {
            size.iter()
                .fold(1u64, |n, d| n.saturating_mul(u64::from(*d)))
        });
        let sizes = total.map_or_else(
            || format!("1,{}", target.max_workgroup_size),
            |n| format!("{n},{n}"),
        );
        function.string_attribute(context, "amdgpu-flat-work-group-size", &sizes);
        function.string_attribute(context, "uniform-work-group-size", "true");
        let mut features = Vec::new();
        if plan.wave_size != target.default_wave_size() {
            features.push(format!("+wavefrontsize{}", plan.wave_size));
        }
        match plan.placement {
            Placement::Default => {}
            Placement::CuMode => features.push("+cumode".to_owned()),
            // LLVM looks whether the attribute is there, not at its value.
            Placement::ThreadgroupSplit => {
                function.string_attribute(context, "amdgpu-tg-split", "")
            }
        }
        if !features.is_empty() {
            function.string_attribute(context, "target-features", &features.join(","));
        }
    }
}

/// Instructions that are written when every call is inlined.
fn inlined_size(declarations: &Declarations<'_>, order: &[Id]) -> u64 {
    let mut sizes: BTreeMap<Id, u64> = BTreeMap::new();
    let mut last = 0;
    for id in order {
        let Some(function) = declarations.function(*id) else {
            continue;
        };
        let mut size = 0u64;
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            let callee = if inst.op() == Some(spirv::Op::FunctionCall) {
                inst.id(0).ok().and_then(|id| sizes.get(&id).copied())
            } else {
                None
            };
            size = size.saturating_add(callee.unwrap_or(1));
        }
        sizes.insert(*id, size);
        last = size;
    }
    last
}

/// Bytes of the workgroup variables among `uses`, each aligned to 16.
pub(crate) fn shared_bytes(declarations: &Declarations<'_>, types: &Types<'_>, uses: &Uses) -> u32 {
    let mut total = 0u64;
    for id in &uses.variables {
        let Some(variable) = declarations
            .variable(*id)
            .filter(|v| v.class == StorageClass::Workgroup)
        else {
            continue;
        };
        let Some(info) = uses::pointee(declarations, variable).and_then(|ty| types.get(ty)) else {
            continue;
        };
        total = super::layout::round_up(total, info.align.max(16)).saturating_add(info.size);
    }
    u32::try_from(total).unwrap_or(u32::MAX)
}

impl<'c, 'm> FunctionEmitter<'_, 'c, 'm> {
    /// The slot of module-scope variable `id` at `address`.
    fn variable_slot(&self, id: Id, address: Value<'c>) -> Slot<'c> {
        let Some(variable) = self.declarations.variable(id) else {
            return Slot::Bad;
        };
        let pointee = uses::pointee(self.declarations, variable);
        let natural = pointee
            .and_then(|ty| self.types.get(ty))
            .map_or(1, |info| info.align);
        let align = match variable.class {
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PushConstant => {
                abi::BUFFER_ALIGN
            }
            _ => natural,
        };
        Slot::Pointer(Pointer {
            address,
            pointee,
            class: variable.class,
            align,
            matrix: None,
        })
    }

    /// The slot of a parameter of type `ty`.
    fn parameter_slot(&self, ty: Id, value: Value<'c>) -> Slot<'c> {
        match self.types.get(ty).map(|info| &info.kind) {
            Some(Kind::Pointer { class, pointee }) => {
                Slot::Pointer(self.unknown_place(value, *class, *pointee))
            }
            Some(_) => Slot::Value(value),
            None => Slot::Bad,
        }
    }

    /// What a call passes for a hidden parameter.
    pub(super) fn hidden(&self, hidden: Hidden) -> Result<Value<'c>> {
        match hidden {
            Hidden::Variable(id) => self.value(id),
            Hidden::Length(id) => self
                .lengths
                .iter()
                .find(|(v, _)| *v == id)
                .map(|(_, length)| *length)
                .ok_or_else(|| self.b.internal(format!("the length of {id} is not there"))),
        }
    }

    /// Binds arguments, private variables and built-ins, clears what starts as zero, and sets the barriers up.
    fn kernel_prologue(
        &mut self,
        function: &Function<'m>,
        uses: &Uses,
        abi: &Abi<'c>,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        for (index, parameter) in abi.parameters.iter().enumerate() {
            let Some(value) = self.function.param(index as u32) else {
                continue;
            };
            match &parameter.role {
                Role::Buffer(ids) => {
                    for id in ids {
                        let slot = self.variable_slot(*id, value);
                        self.set(*id, slot);
                    }
                }
                Role::PushConstant(id) => {
                    let slot = self.variable_slot(*id, value);
                    self.set(*id, slot);
                }
                Role::Length(ids) => {
                    let lengths: Vec<_> = ids.iter().map(|id| (*id, value)).collect();
                    self.lengths.extend(lengths);
                }
                Role::Own(own) => {
                    let Some((id, ty)) = function.params.get(*own) else {
                        continue;
                    };
                    let slot = self.parameter_slot(*ty, value);
                    self.set(*id, slot);
                }
                Role::OwnBlock(own, pointee) => {
                    let (Some((id, _)), Some((block, align))) =
                        (function.params.get(*own), parameter.block)
                    else {
                        continue;
                    };
                    let size = self.type_info(*pointee)?.size;
                    let copy = self.stack_slot(block, align)?;
                    self.b
                        .raw()
                        .memcpy(copy, align, value, align, self.b.i64(size));
                    self.set(
                        *id,
                        Slot::Pointer(Pointer {
                            address: copy,
                            pointee: Some(*pointee),
                            class: StorageClass::Function,
                            align,
                            matrix: None,
                        }),
                    );
                }
            }
        }
        for id in &uses.variables {
            if matches!(self.slot(*id), Slot::Empty) {
                // A class that has no arguments and no memory: reported when the arguments were planned, unless the next line knows it.
                self.set(*id, Slot::Bad);
            }
            if let Err(problem) = self.local_variable(*id) {
                self.set(*id, Slot::Bad);
                if !self.cascade.replace(false) {
                    diagnostics.push(*problem);
                }
            }
        }
        self.clear_workgroup_variables(uses)?;
        let word = self.b.int_type(32);
        let plan = self.plan;
        let wanted = plan.state;
        let mut slot = |wanted: bool| -> Result<Option<Value<'c>>> {
            if !wanted {
                return Ok(None);
            }
            let slot = self.stack_slot(word, 4)?;
            self.b.store(word.zero(), slot, 4)?;
            Ok(Some(slot))
        };
        self.barrier_state = StateSlots {
            parity: slot(wanted.parity)?,
            named_set: slot(wanted.named_set)?,
            counted: slot(wanted.counted)?,
            outstanding: slot(wanted.outstanding)?,
        };
        self.steps(&plan.at_entry)
    }

    /// A Private variable or a built-in: a stack slot of the kernel.
    fn local_variable(&mut self, id: Id) -> Result<()> {
        let Some(variable) = self.declarations.variable(id) else {
            return Ok(());
        };
        if !matches!(variable.class, StorageClass::Private | StorageClass::Input) {
            return Ok(());
        }
        self.b.at.set(variable.inst.offset);
        let pointee = uses::pointee(self.declarations, variable)
            .ok_or_else(|| self.b.mismatch(format!("the variable {id} has no type")))?;
        let info = self.type_info(pointee)?;
        let align = info.align.max(4);
        let address = self.stack_slot(self.b.int_type(8).array(info.size), align)?;
        let pointer = Pointer {
            address,
            pointee: Some(pointee),
            class: variable.class,
            align,
            matrix: None,
        };
        if variable.class == StorageClass::Input {
            let value = self.built_in(id, pointee)?;
            self.store(&pointer, pointee, value)?;
        } else if let Some(initializer) = variable.initializer {
            self.store_constant(&pointer, pointee, initializer)?;
        }
        self.set(id, Slot::Pointer(pointer));
        Ok(())
    }

    /// Workgroup variables with a null initializer: the invocations write zeros together, and a barrier makes that known.
    fn clear_workgroup_variables(&mut self, uses: &Uses) -> Result<()> {
        let mut any = false;
        for id in &uses.variables {
            let Some(variable) = self
                .declarations
                .variable(*id)
                .filter(|v| v.class == StorageClass::Workgroup && v.initializer.is_some())
            else {
                continue;
            };
            let Some(pointee) = uses::pointee(self.declarations, variable) else {
                continue;
            };
            let size = self.type_info(pointee)?.size;
            let pointer = self.pointer(*id)?;
            self.clear(pointer.address, size)?;
            any = true;
        }
        if !any {
            return Ok(());
        }
        self.publish()
    }

    /// `for (i = index; i < bytes; i += invocations) base[i] = 0`, in words where the size allows.
    fn clear(&mut self, base: Value<'c>, bytes: u64) -> Result<()> {
        let b = self.b;
        let unit: u32 = if bytes.is_multiple_of(4) { 4 } else { 1 };
        let count = u32::try_from(bytes / u64::from(unit))
            .map_err(|_| b.mismatch("a workgroup variable of more than 4 GiB"))?;
        let first = super::builtin::local_invocation_index(self)?;
        let step = super::builtin::invocations(self)?;
        let before = b.block()?;
        let (test, body, done) = (self.new_block(), self.new_block(), self.new_block());
        b.br(test);
        b.position(test);
        let index = b.phi(&[(first, before)])?;
        b.cond_br(
            b.icmp(IntPredicate::LLVMIntULT, index, b.i32(count))?,
            body,
            done,
        )?;
        b.position(body);
        let place = b.offset(base, b.mul(index, b.i32(unit))?, true)?;
        b.store(b.int_type(unit * 8).zero(), place, unit)?;
        index.add_incoming(b.add(index, step)?, body);
        b.br(test);
        b.position(done);
        Ok(())
    }
}
