//! Reads descriptors. Nobody writes them while a kernel runs, so every load of one is invariant,
//! and a scalar load on AMDGPU where the address is uniform.

use super::Result;
use super::function::FunctionEmitter;
use super::layout;
use super::uses::pointee;
use crate::ffi::{self, Opcode, Ty, Value};
use splitbar_layout::abi::{Access, Fetched, table_align};
use splitbar_layout::pointers;
use splitbar_passes::analysis::layout::{Alignment, BUFFER_ALIGN};
use splitbar_passes::module::Id;

/// LLVM's number of the global address space, on both targets.
const GLOBAL: u32 = 1;

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// What the address of a buffer of the type `pointee` is a multiple of.
    pub(super) fn buffer_align(&self, pointee: Option<Id>) -> Alignment {
        pointers::buffer_align(&self.module.types, self.module.target, pointee)
    }

    /// Loads an address that is a multiple of `align`.
    pub(super) fn load_address(
        &self,
        ty: Ty<'c>,
        place: Value<'c>,
        align: Alignment,
    ) -> Result<Value<'c>> {
        let address = self.load_constant(ty, place, layout::POINTER_BYTES as u32)?;
        let context = self.b.context();
        let align = ffi::meta_value(self.b.i64(align.bytes().into()));
        address.set_metadata(context, "align", ffi::meta_node(context, &[align]));
        Ok(address)
    }

    /// Loads the length of a buffer.
    pub(super) fn load_length(&self, place: Value<'c>) -> Result<Value<'c>> {
        self.load_constant(self.b.int_type(32), place, 4)
    }

    /// Loads a value that nobody writes while the kernel runs.
    pub(super) fn load_constant(
        &self,
        ty: Ty<'c>,
        place: Value<'c>,
        align: u32,
    ) -> Result<Value<'c>> {
        let value = self.b.load(ty, place, align)?;
        let context = self.b.context();
        for kind in ["invariant.load", "noundef"] {
            value.set_metadata(context, kind, ffi::meta_node(context, &[]));
        }
        Ok(value)
    }

    /// Reads what `access` asks for behind the address `table`, and binds its variables to it.
    pub(super) fn fetch(&mut self, table: Value<'c>, access: &Access) -> Result<()> {
        let global = ffi::pointer_type(self.b.context(), GLOBAL);
        let mut place = table;
        for offset in &access.loads {
            let entry = self.behind(place, *offset)?;
            place = self.load_address(table.ty(), entry, table_align(self.module.target))?;
        }
        place = self.behind(place, access.offset)?;
        let in_global = |e: &Self| match place.ty().address_space() {
            GLOBAL => Ok(place),
            _ => e.b.cast(Opcode::LLVMAddrSpaceCast, place, global),
        };
        let (value, is_length) = match access.value {
            Fetched::Buffer => {
                let aligns = access.variables.iter().map(|id| {
                    let variable = self.module.declarations.variable(*id);
                    self.buffer_align(
                        variable.and_then(|one| pointee(self.module.declarations, one)),
                    )
                });
                let align = aligns.max().unwrap_or(BUFFER_ALIGN); // nobody's
                (self.load_address(global, place, align)?, false)
            }
            Fetched::Buffers => (in_global(self)?, false),
            Fetched::Descriptor => (place, false),
            Fetched::Length => (self.load_length(place)?, true),
            Fetched::Lengths => (in_global(self)?, true),
        };
        for id in &access.variables {
            if is_length {
                self.arguments.lengths.push((*id, value));
            } else {
                let slot = self.variable_slot(*id, value);
                self.set(*id, slot);
            }
        }
        Ok(())
    }

    fn behind(&self, place: Value<'c>, bytes: u32) -> Result<Value<'c>> {
        self.b.offset(place, self.b.i64(bytes.into()), true)
    }
}
