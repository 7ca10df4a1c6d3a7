//! Module-scope variables that every function can name: workgroup memory, and program-scope data with an initializer. They become LLVM globals.

use super::constant;
use super::function::{Pointer, Slot};
use super::layout;
use super::module::Emission;
use super::types::{self, Types};
use super::uses::{self, Uses};
use crate::ffi::{self, Linkage, Value};
use spirv::StorageClass;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::Declarations;

/// Alignment of the memory that blocks share.
const BLOCK_ALIGN: u32 = 16;

impl<'c> Emission<'_, 'c, '_> {
    /// Workgroup variables and initialised program-scope data become LLVM globals.
    pub(super) fn make_globals(&mut self, uses: &Uses, diagnostics: &mut Diagnostics) {
        let declarations = self.lowering.declarations;
        self.globals.clear();
        // The memory that all blocks in workgroup memory share.
        let mut block = None;
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
                StorageClass::Workgroup if uses::is_shared_block(declarations, variable) => {
                    let bytes = block_bytes(declarations, self.types, uses);
                    *block.get_or_insert_with(|| self.workgroup_memory(&name, bytes, BLOCK_ALIGN))
                }
                StorageClass::Workgroup => self.workgroup_memory(&name, info.size, align),
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

    fn workgroup_memory(&self, name: &str, bytes: u64, align: u32) -> Value<'c> {
        let ty = self.b.int_type(8).array(bytes);
        let global = ffi::add_global(self.b.module(), ty, 3, name);
        global.set_initializer(ty.poison());
        global.set_linkage(Linkage::LLVMInternalLinkage);
        global.set_alignment(align);
        global
    }
}

/// The workgroup variables among `uses` that are blocks, or that are not: size and alignment of each.
fn workgroup_sizes(
    declarations: &Declarations<'_>,
    types: &Types<'_>,
    uses: &Uses,
    blocks: bool,
) -> impl Iterator<Item = (u64, u32)> {
    uses.variables.iter().filter_map(move |id| {
        let variable = declarations.variable(*id)?;
        if variable.class != StorageClass::Workgroup
            || uses::is_shared_block(declarations, variable) != blocks
        {
            return None;
        }
        let info = types.get(uses::pointee(declarations, variable)?)?;
        Some((info.size, info.align.max(16)))
    })
}

/// Bytes of the memory that the blocks in workgroup memory share.
fn block_bytes(declarations: &Declarations<'_>, types: &Types<'_>, uses: &Uses) -> u64 {
    workgroup_sizes(declarations, types, uses, true)
        .map(|(size, _)| size)
        .max()
        .unwrap_or(0)
}

/// Bytes of the workgroup variables among `uses`, each aligned to 16.
pub(crate) fn shared_bytes(declarations: &Declarations<'_>, types: &Types<'_>, uses: &Uses) -> u32 {
    let shared = block_bytes(declarations, types, uses);
    let total = workgroup_sizes(declarations, types, uses, false)
        .fold(shared, |total, (size, align)| {
            layout::round_up(total, align).saturating_add(size)
        });
    u32::try_from(total).unwrap_or(u32::MAX)
}
