//! Module-scope variables that every function can name: workgroup memory, and program-scope data
//! with an initializer. They become LLVM globals.

use super::Result;
use super::constant;
use super::layout;
use super::module::Emission;
use super::slots::{Pointer, Slot};
use super::types::{self, TypeInfo};
use super::uses::{self, Uses};
use crate::ffi::{self, Linkage, Value};
use crate::shared_contents;
use spirv::{Op, StorageClass};
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::analysis::workgroup_memory::{VARIABLE_ALIGN, WorkgroupMemory};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Id, Inst, Variable};
use splitbar_plan::EntryPlan;

/// What dynamic shared memory is called in the module.
const DYNAMIC: &str = "splitbar_dynamic";

/// Where the workgroup variables of a kernel are.
struct Shared<'w, 'c> {
    memory: &'w WorkgroupMemory,
    /// The dynamic memory that holds all of them.
    dynamic: Option<Value<'c>>,
    /// The memory that all blocks share.
    block: Option<Value<'c>>,
}

impl<'c> Emission<'_, 'c, '_> {
    /// Workgroup variables and program-scope data become LLVM globals, in the order of the module:
    /// initializers name what stands before them.
    pub(super) fn make_globals(
        &mut self,
        plan: &EntryPlan,
        uses: &Uses,
        memory: &WorkgroupMemory,
        diagnostics: &mut Diagnostics,
    ) {
        let declarations = self.module.declarations;
        self.globals.clear();
        let mut shared = Shared {
            memory,
            dynamic: (plan.dynamic_shared_bytes > 0).then(|| self.dynamic_memory()),
            block: None,
        };
        let mut wanted: Vec<Inst<'_>> = uses
            .variables
            .iter()
            .chain(&uses.addresses)
            .filter_map(|id| declarations.module.def(*id))
            .collect();
        wanted.sort_by_key(|inst| inst.offset);
        for inst in wanted {
            let Some(id) = inst.result() else { continue };
            let made = match declarations.variable(id) {
                Some(variable) if !uses::is_global(variable) => continue,
                Some(variable) if variable.class == StorageClass::Workgroup => {
                    self.workgroup_variable(id, variable, &mut shared)
                }
                Some(variable) => match self.program.get(&id) {
                    Some(slot) => Ok(*slot),
                    None => self.program_variable(id, variable),
                },
                None if inst.op() == Some(Op::SpecConstantOp) => self.address_operation(inst),
                None => continue, // a composite: made where it is used
            };
            let slot = made.unwrap_or_else(|problem| {
                diagnostics.push(*problem);
                Slot::Bad
            });
            if declarations
                .variable(id)
                .is_some_and(|variable| variable.class != StorageClass::Workgroup)
            {
                self.program.insert(id, slot);
            }
            self.globals.insert(id, slot);
        }
    }

    /// What `variable` points to.
    fn pointee(&self, id: Id, variable: &Variable<'_>) -> Result<(Id, &TypeInfo)> {
        let declarations = self.module.declarations;
        let ty = uses::pointee(declarations, variable).ok_or_else(|| {
            Diagnostic::error(
                Code::UnsupportedType,
                format!("the variable {id} is untyped"),
            )
            .at_word(variable.inst.offset)
        })?;
        Ok((ty, types::require(&self.module.types, declarations, ty)?))
    }

    fn workgroup_variable(
        &self,
        id: Id,
        variable: &Variable<'_>,
        shared: &mut Shared<'_, 'c>,
    ) -> Result<Slot<'c>> {
        let declarations = self.module.declarations;
        let (ty, info) = self.pointee(id, variable)?;
        let align = self.align(id, info);
        let name = self.global_name(id);
        let is_block = uses::is_shared_block(declarations, variable);
        let address = match (shared.dynamic, is_block) {
            (Some(dynamic), true) => dynamic,
            (Some(dynamic), false) => {
                let place = shared.memory.places.get(&id);
                let place = place.ok_or_else(|| self.b.internal(format!("{id} has no place")))?;
                self.b.offset(
                    dynamic,
                    self.b.i32(u32::try_from(*place).unwrap_or(u32::MAX)),
                    true,
                )?
            }
            (None, true) => {
                let bytes = shared.memory.block_bytes;
                let block = &mut shared.block;
                *block.get_or_insert_with(|| self.workgroup_memory(&name, bytes, VARIABLE_ALIGN))
            }
            (None, false) => self.workgroup_memory(&name, info.size, align),
        };
        Ok(global_slot(variable, ty, address, align))
    }

    /// Data that lives as long as the program, with its initializer or zeros.
    fn program_variable(&self, id: Id, variable: &Variable<'_>) -> Result<Slot<'c>> {
        let (ty, info) = self.pointee(id, variable)?;
        let align = self.align(id, info);
        let value = self.initial_value(variable, ty, info.size)?;
        let class = variable.class;
        let space = types::address_space(self.module.target, class).ok_or_else(|| {
            self.b
                .internal(format!("a variable of storage class {class:?}"))
        })?;
        let name = self.global_name(id);
        let global = ffi::add_global(self.b.module(), value.ty(), space, &name);
        global.set_initializer(value);
        global.set_linkage(Linkage::LLVMInternalLinkage);
        global.set_alignment(align.bytes());
        if class == StorageClass::UniformConstant {
            global.set_constant();
        }
        Ok(global_slot(variable, ty, global, align))
    }

    fn initial_value(&self, variable: &Variable<'_>, ty: Id, size: u64) -> Result<Value<'c>> {
        let bytes = match variable.initializer {
            None => usize::try_from(size)
                .ok()
                .filter(|size| *size <= constant::MAX_BYTES)
                .map(|size| vec![0; size]),
            Some(id) => match self.module.constants.get(id) {
                Some(constant) => {
                    constant::bytes(&self.module.types, self.module.declarations, constant, ty)
                }
                None => return self.initializer_with_addresses(id, ty),
            },
        };
        bytes
            .map(|bytes| ffi::const_bytes(self.b.context(), &bytes))
            .ok_or_else(|| {
                Box::new(
                    Diagnostic::error(
                        Code::BadConstant,
                        "the initial value of a variable is not lowered",
                    )
                    .at_word(variable.inst.offset)
                    .because("it is too large, or has no size"),
                )
            })
    }

    /// No kernel's symbol has a dot, so no global takes one's name.
    fn global_name(&self, id: Id) -> String {
        format!("{}.{}", self.symbol(), id.0)
    }

    /// Shared memory whose size the launch says, one for all kernels of the module.
    fn dynamic_memory(&self) -> Value<'c> {
        ffi::named_global(self.b.module(), DYNAMIC).unwrap_or_else(|| {
            let declarations = self.module.declarations;
            let variables = declarations.variables.iter();
            let aligns = variables
                .filter(|variable| variable.class == StorageClass::Workgroup)
                .filter_map(|variable| {
                    let (_, info) = self.pointee(variable.id, variable).ok()?;
                    Some(self.align(variable.id, info))
                });
            let ty = self.b.int_type(8).array(0);
            let global = ffi::add_global(self.b.module(), ty, 3, DYNAMIC);
            global.set_alignment(aligns.max().unwrap_or(VARIABLE_ALIGN).bytes());
            global
        })
    }

    /// The alignment of the variable `id`, of a type with `info`.
    fn align(&self, id: Id, info: &TypeInfo) -> Alignment {
        let declarations = self.module.declarations;
        layout::variable_align(declarations, id, info.align.max(VARIABLE_ALIGN))
    }

    fn workgroup_memory(&self, name: &str, bytes: u64, align: Alignment) -> Value<'c> {
        let ty = self.b.int_type(8).array(bytes);
        let global = ffi::add_global(self.b.module(), ty, 3, name);
        global.set_initializer(ty.poison());
        global.set_linkage(Linkage::LLVMInternalLinkage);
        shared_contents::open(global);
        global.set_alignment(align.bytes());
        global
    }
}

fn global_slot<'c>(
    variable: &Variable<'_>,
    pointee: Id,
    address: Value<'c>,
    align: Alignment,
) -> Slot<'c> {
    Slot::Pointer(Pointer {
        address,
        pointee: Some(pointee),
        class: variable.class,
        align: align.bytes(),
        matrix: None,
        qualifiers: Default::default(),
    })
}
