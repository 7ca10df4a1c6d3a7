//! Module-scope variables that every function can name: workgroup memory, and program-scope data with an initializer. They become LLVM globals.

use super::constant;
use super::function::{Pointer, Slot};
use super::module::Emission;
use super::types::{self, Types};
use super::uses::{self, Uses};
use crate::ffi::{self, Linkage};
use spirv::StorageClass;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::Declarations;

impl Emission<'_, '_, '_> {
    /// Workgroup variables and initialised program-scope data become LLVM globals.
    pub(super) fn make_globals(&mut self, uses: &Uses, diagnostics: &mut Diagnostics) {
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
